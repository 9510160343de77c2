//! Fills in the domains of index variables.
//!
//! Before:  `c[i: ?, j: ?] = sum(k: ?) a[i, k] * b[k, j]`
//! After:   `c[i: 0..n, j: 0..m] = sum(k: 0..l) a[i, k] * b[k, j]`
//!
//! Each variable without a domain collects candidates with the place they came from: bare reads
//! give `0..extent`, arithmetic reads are inverted. A variable that is used bare has one range
//! everywhere; arithmetic reads of it alone narrow that range; a variable that is only used in
//! arithmetic gets what is legal for all values of the other variables.
//!
//! Needs: a clause whose body has been elaborated. Refuses (E0401): variables that no read anchors.

mod dependent;

use super::symbolic::SizeRelation;
use super::{Cx, Ground, error};
use ein_base::{Code, Span, Symbol};
use ein_ir::size::{self, Atom};
use ein_ir::tensor::walk::{each_child, each_child_mut, each_in_clause_mut, each_in_stmt_mut};
use ein_ir::tensor::{
    Binder, Clause, ClauseSlot, Expr, ExprKind, Item, Require, Stmt, StmtKind, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// A read at one axis.
#[derive(Clone, Debug)]
pub(super) struct Read {
    /// The index.
    pub index: size::Expr,
    /// The extent of the axis.
    pub extent: size::Expr,
    /// What is read.
    pub tensor: Option<Symbol>,
    /// Where that was declared.
    pub declared: Option<Span>,
    /// Where the index stands.
    pub span: Span,
    /// Whether it happens only under a condition.
    pub conditional: bool,
}

/// What a walk found.
#[derive(Default)]
struct Found {
    unsolved: Vec<VarId>,
    reads: Vec<Read>,
    /// Variables whose value is used.
    mentioned: FxHashSet<VarId>,
    /// Variables with a domain that only the run knows, each with the number of those above that
    /// are bound before it.
    opaque: Vec<(Atom, usize)>,
}

impl Cx<'_> {
    /// A binder whose domain is not known yet.
    pub(super) fn unsolved_binder(&self, var: VarId, span: Span) -> Binder {
        Binder { var, lo: Expr::error(span), hi: Expr::error(span) }
    }

    /// Fills in the domains of the reductions in a value that is not a definition.
    pub(super) fn solve_expr(&mut self, stmts: &mut [Stmt], value: &mut Expr) {
        let mut found = Found::default();
        for stmt in stmts.iter() {
            self.collect_stmt(stmt, false, &mut found);
        }
        self.collect(value, false, &mut found);
        if found.unsolved.is_empty() {
            return;
        }
        let mut solved = self.solve(found, &[]);
        for stmt in stmts.iter_mut() {
            each_in_stmt_mut(stmt, &mut |e| fill(e, &mut solved));
        }
        fill(value, &mut solved);
    }

    /// Fills in the domains of a clause and of the reductions in it. Returns what must be compared
    /// at run time. `self_var` is the tensor being defined, whose extents are not known yet.
    pub(super) fn solve_clause(
        &mut self,
        clause: &mut Clause,
        self_var: Option<VarId>,
    ) -> Vec<Require> {
        let mut found = Found::default();
        let mut left = Vec::new();
        for slot in &clause.slots {
            if let ClauseSlot::Loop(binder) = slot {
                if is_unsolved(binder) {
                    found.unsolved.push(binder.var);
                    left.push(binder.var);
                } else {
                    self.note_range(binder);
                }
            }
        }
        let guarded = self.collect_items(&clause.items, false, &mut found);
        self.collect(&clause.value, guarded, &mut found);
        if let Some(otherwise) = &clause.otherwise {
            self.collect(otherwise, true, &mut found);
        }
        if let Some(until) = &clause.until {
            self.collect(&until.cond, true, &mut found);
        }
        self.drop_inner_reads(&mut found, 0, &left, &clause.value);
        if let Some(self_var) = self_var {
            self.drop_self_reads(&mut found, self_var);
        }
        if found.unsolved.is_empty() {
            return Vec::new();
        }
        let mut solved = self.solve(found, &left);
        for slot in &mut clause.slots {
            if let ClauseSlot::Loop(binder) = slot {
                fill_binder(binder, &solved);
            }
        }
        each_in_clause_mut(clause, &mut |e| fill(e, &mut solved));
        solved.requires.into_iter().map(|(_, require)| require).collect()
    }

    /// Reads of axes whose extent is still open, or that of the tensor being defined, say nothing
    /// about ranges.
    fn drop_self_reads(&self, found: &mut Found, self_var: VarId) {
        found.reads.retain(|read| {
            self.unsettled(&read.extent).is_none()
                && !self.depends(&read.extent, &[self_var])
                && !self.depends(&read.extent, &self.open_names)
                && !self.is_shifted_read_of_a_system(read)
        });
    }

    /// Another step of a name of the same system: as little a range as an earlier step of the name
    /// itself.
    fn is_shifted_read_of_a_system(&self, read: &Read) -> bool {
        read.index.as_atom().is_none()
            && read.tensor.is_some_and(|name| self.system_names.contains(&name))
    }

    /// The extent of something that is bound inside a loop is not known where the loop begins.
    fn drop_inner_reads(&self, found: &mut Found, from: usize, vars: &[VarId], body: &Expr) {
        let mut bound = Vec::new();
        bound_in(body, &mut bound);
        if bound.is_empty() {
            return;
        }
        let mut at = 0;
        found.reads.retain(|read| {
            at += 1;
            let inner = at > from && self.depends(&read.extent, &bound);
            !(inner && self.depends(&read.index, vars))
        });
    }

    /// Notes the domain of a variable. Gives the variable if only the run knows it.
    fn note_range(&mut self, binder: &Binder) -> Option<Atom> {
        let atom = self.var_sizes.get(&binder.var).and_then(size::Expr::as_atom)?;
        let (Some(lo), Some(hi)) = (self.to_size(&binder.lo), self.to_size(&binder.hi)) else {
            return Some(atom);
        };
        self.ranges.insert(atom, (lo, hi));
        None
    }

    // ---------------------------------------------------------------- collecting

    fn collect_stmt(&mut self, stmt: &Stmt, conditional: bool, found: &mut Found) {
        match &stmt.kind {
            StmtKind::Let(_, e) | StmtKind::Destructure(_, e) | StmtKind::Expr(e) => {
                self.collect(e, conditional, found);
            }
            StmtKind::Require(_) => {}
        }
    }

    /// Returns whether what follows is guarded.
    fn collect_items(&mut self, items: &[Item], conditional: bool, found: &mut Found) -> bool {
        let mut conditional = conditional;
        for item in items {
            match item {
                Item::Let(_, e) => self.collect(e, conditional, found),
                Item::Guard(e) => {
                    self.collect(e, conditional, found);
                    conditional = true;
                }
            }
        }
        conditional
    }

    fn collect(&mut self, e: &Expr, conditional: bool, found: &mut Found) {
        match &*e.kind {
            ExprKind::Index { base, indices } => {
                for (position, index) in indices.iter().enumerate() {
                    if let (Some(size), Some(axis)) =
                        (self.to_size(&index.value), base.ty.axes().get(position))
                    {
                        found.reads.push(Read {
                            index: size,
                            extent: axis.size.clone(),
                            tensor: self.show_name(base),
                            declared: self.declared_at(base),
                            span: index.value.span,
                            conditional,
                        });
                    }
                    self.collect(&index.value, conditional, found);
                }
                self.collect(base, conditional, found);
            }
            ExprKind::If { cond, then, otherwise } => {
                self.collect(cond, conditional, found);
                self.collect(then, true, found);
                self.collect(otherwise, true, found);
            }
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                self.collect(a, conditional, found);
                self.collect(b, true, found);
            }
            ExprKind::Match { value, arms } => {
                self.collect(value, conditional, found);
                for arm in arms {
                    arm.guard.iter().for_each(|guard| self.collect(guard, true, found));
                    self.collect(&arm.value, true, found);
                }
            }
            ExprKind::Reduce(reduce) => {
                for binder in &reduce.binders {
                    if is_unsolved(binder) {
                        found.unsolved.push(binder.var);
                    } else {
                        if let Some(atom) = self.note_range(binder) {
                            found.opaque.push((atom, found.unsolved.len()));
                        }
                        self.collect(&binder.lo, conditional, found);
                        self.collect(&binder.hi, conditional, found);
                    }
                }
                let before = found.reads.len();
                let guarded = self.collect_items(&reduce.items, conditional, found);
                self.collect(&reduce.value, guarded, found);
                let vars: Vec<VarId> = reduce.binders.iter().map(|binder| binder.var).collect();
                self.drop_inner_reads(found, before, &vars, &reduce.value);
            }
            ExprKind::Tensor(tensor) => {
                for clause in &tensor.clauses {
                    for slot in &clause.slots {
                        if let ClauseSlot::Loop(binder) = slot {
                            self.note_range(binder);
                        }
                    }
                    let guarded = self.collect_items(&clause.items, conditional, found);
                    self.collect(&clause.value, guarded, found);
                }
            }
            ExprKind::Var(var) => {
                found.mentioned.insert(*var);
            }
            ExprKind::Size(size) => {
                for atom in size.atoms() {
                    if let Some(index) = self.index_atoms.get(&atom) {
                        found.mentioned.insert(self.indices[*index].var);
                    }
                }
            }
            _ => each_child(e, &mut |child| self.collect(child, conditional, found)),
        }
    }

    // ---------------------------------------------------------------- solving

    fn solve(&mut self, mut found: Found, left: &[VarId]) -> Solved {
        // What has no name has an extent only when it is computed, and that is inside the loop.
        let settled = |read: &Read| self.unsettled(&read.extent).is_none();
        let reads = std::mem::take(&mut found.reads);
        let (reads, hidden): (Vec<Read>, Vec<Read>) = reads.into_iter().partition(settled);
        found.reads = reads;
        let mut open: Vec<(VarId, Atom)> = found
            .unsolved
            .iter()
            .filter_map(|var| Some((*var, self.var_sizes.get(var)?.as_atom()?)))
            .collect();
        let unknown: Vec<Atom> = open.iter().map(|(_, atom)| *atom).collect();
        let mut solved = Solved::default();
        // Bare uses fix a range; arithmetic in the variable alone narrows it.
        open.retain(|(var, atom)| {
            match self.direct_range(*var, *atom, &found.reads, &mut solved.requires) {
                Some(range) => {
                    let range = self.narrow(*atom, range, &found.reads);
                    self.ranges.insert(*atom, range.clone());
                    solved.ranges.insert(*var, range);
                    false
                }
                None => true,
            }
        });
        // The others take what is legal for all values of the variables known by now.
        loop {
            let before = open.len();
            open.retain(|(var, atom)| match self.arithmetic_range(*atom, &found, &unknown) {
                Some(range) => {
                    self.ranges.insert(*atom, range.clone());
                    solved.ranges.insert(*var, range);
                    false
                }
                None => true,
            });
            if open.is_empty() || open.len() == before {
                break;
            }
        }
        for (var, atom) in open {
            let range = match left.contains(&var) {
                true => self.domain_in_scope(var, atom, &found),
                false => None,
            };
            let range = range.unwrap_or_else(|| {
                self.cannot_infer(var, atom, left.contains(&var), &found.reads, &hidden);
                (size::Expr::zero(), size::Expr::zero())
            });
            self.ranges.insert(atom, range.clone());
            solved.ranges.insert(var, range);
        }
        solved
    }

    /// The range that bare reads give.
    fn direct_range(
        &mut self,
        var: VarId,
        atom: Atom,
        reads: &[Read],
        requires: &mut Vec<(VarId, Require)>,
    ) -> Option<(size::Expr, size::Expr)> {
        let mut direct = reads.iter().filter(|read| read.index.as_atom() == Some(atom));
        let first = direct.next()?;
        let mut hi = first.extent.clone();
        for other in direct {
            match self.compare_sizes(&hi, &other.extent) {
                SizeRelation::Equal => {}
                SizeRelation::AtRunTime => {
                    let name = self.out.vars[var].name;
                    let what = format!(
                        "index `{name}` over {} and {}",
                        quote(first.tensor),
                        quote(other.tensor)
                    );
                    self.f.facts.eq(&hi, &other.extent);
                    let require = Require {
                        left: hi.clone(),
                        right: other.extent.clone(),
                        what,
                        span: other.span,
                    };
                    self.f.assumed.push(require.clone());
                    requires.push((var, require));
                    // A constant says more than an unknown.
                    if other.extent.as_constant().is_some() {
                        hi = other.extent.clone();
                    }
                }
                SizeRelation::Different => {
                    self.two_extents(var, first, other);
                    return Some((size::Expr::zero(), hi));
                }
            }
        }
        Some((size::Expr::zero(), hi))
    }

    fn two_extents(&mut self, var: VarId, first: &Read, other: &Read) {
        let name = self.out.vars[var].name;
        let (p, q) = (self.show_size(&first.extent), self.show_size(&other.extent));
        let (a, b) = (quote(first.tensor), quote(other.tensor));
        let mut d = error(
            Code::E0402,
            other.span,
            format!("index `{name}` runs over {p} positions in {a}, but over {q} in {b}"),
        )
        .here(format!("the axis of {b} has extent {q}"))
        .label(first.span, format!("the axis of {a} has extent {p}"))
        .help(format!("make the extents equal, or give the index a domain: `{name} in 0..…`"));
        if let Some(at) = first.declared {
            d = d.label(at, format!("{a} is declared here"));
        }
        if let Some(at) = other.declared
            && first.declared != Some(at)
        {
            d = d.label(at, format!("{b} is declared here"));
        }
        self.report_at(d);
    }

    /// Narrows a range by arithmetic reads of the variable alone.
    fn narrow(
        &mut self,
        atom: Atom,
        range: (size::Expr, size::Expr),
        reads: &[Read],
    ) -> (size::Expr, size::Expr) {
        let (mut lo, mut hi) = range;
        for read in reads {
            let alone = !read.conditional
                && read.index.as_atom() != Some(atom)
                && read.index.mentions(atom)
                && read.index.atoms().iter().all(|a| *a == atom || !self.is_index(*a));
            if !alone {
                continue;
            }
            if let Some((l, h)) = size::solve_range(&read.index, atom, &read.extent, &|_| None) {
                lo = self.greater(&lo, &l);
                hi = self.smaller(&hi, &h);
            }
        }
        (lo, hi)
    }

    /// The range that all arithmetic reads allow, once the other variables in them are known.
    fn arithmetic_range(
        &self,
        atom: Atom,
        found: &Found,
        unknown: &[Atom],
    ) -> Option<(size::Expr, size::Expr)> {
        let reads = &found.reads;
        let own = unknown.iter().position(|other| *other == atom);
        let (mut start, mut end): dependent::Ends = (None, None);
        let mentions =
            |read: &Read| read.index.mentions(atom) || self.depends_through(&read.index, atom);
        let unconditional = reads.iter().any(|read| !read.conditional && mentions(read));
        for read in reads {
            if !mentions(read) || (read.conditional && unconditional) {
                continue;
            }
            let waiting = self.through(&read.index).into_iter().any(|other| {
                other != atom && unknown.contains(&other) && !self.ranges.contains_key(&other)
            });
            // A variable that is bound further inside has no value where this one begins.
            let inner = |(other, bound): &(Atom, usize)| {
                own.is_some_and(|own| *bound > own) && read.index.mentions(*other)
            };
            if waiting || found.opaque.iter().any(inner) {
                continue;
            }
            let (lo, hi) = if self.depends_through(&read.index, atom) {
                let Some(ends) = self.allowed_through(read, atom) else { continue };
                ends
            } else {
                let ranges = &self.ranges;
                let others = |a: Atom| ranges.get(&a).cloned();
                let range = size::solve_range(&read.index, atom, &read.extent, &others);
                let Some((lo, hi)) = range else { continue };
                (Some(lo), Some(hi))
            };
            if let Some(lo) = lo {
                let known = start.unwrap_or_else(size::Expr::zero);
                start = Some(self.greater(&known, &lo));
            }
            if let Some(hi) = hi {
                end = Some(end.map_or_else(|| hi.clone(), |known| self.smaller(&known, &hi)));
            }
        }
        Some((start.unwrap_or_else(size::Expr::zero), end?))
    }

    fn is_index(&self, atom: Atom) -> bool {
        self.index_atoms.contains_key(&atom)
    }

    /// `let ones[batch] = 1.0;`, `let member[cluster] = best == cluster;`: the domain of the one
    /// coordinate of that name in scope. A value that does depend on other indices, but not on
    /// this one, lacks it.
    fn domain_in_scope(
        &mut self,
        var: VarId,
        atom: Atom,
        found: &Found,
    ) -> Option<(size::Expr, size::Expr)> {
        let name = self.out.vars[var].name;
        let indexed = found.reads.iter().any(|read| read.index.as_constant().is_none());
        if indexed && !found.mentioned.contains(&var) {
            return None;
        }
        let size = self.coord_extent(name)?;
        let owner = self.f.extents.iter().find(|extent| extent.name == name && extent.contract);
        if let (Some(owner), Some(index)) = (owner, self.index_atoms.get(&atom)) {
            let coord = super::types::contract(name, owner.over);
            let ground = Ground { coord, tensor: Some(owner.owner), span: owner.span };
            self.indices[*index].ground.get_or_insert(ground);
        }
        Some((size::Expr::zero(), size))
    }

    fn cannot_infer(
        &mut self,
        var: VarId,
        atom: Atom,
        left: bool,
        reads: &[Read],
        hidden: &[Read],
    ) {
        let info = &self.out.vars[var];
        let (name, span) = (info.name, info.span);
        if self.index_atoms.get(&atom).is_some_and(|index| self.indices[*index].broken) {
            // A mistake with this index was reported already.
            return;
        }
        let known = self.f.extents.iter().any(|extent| extent.name == name && extent.contract);
        if left && known {
            let d = error(
                Code::E0309,
                span,
                format!("coordinate `{name}` is missing: the value does not depend on it"),
            )
            .here(format!("declared on the left, but nothing on the right carries `{name}`"))
            .help(format!(
                "leave `{name}` out, or repeat the value on purpose: `{name} in 0..extent({name})`"
            ));
            let owner = self.f.extents.iter().find(|it| it.name == name && it.contract);
            let d = match owner {
                Some(it) => d.label(it.span, format!("`{name}` is a coordinate of `{}`", it.owner)),
                None => d,
            };
            self.report_at(d);
            return;
        }
        let mut d = error(Code::E0401, span, format!("the range of `{name}` cannot be inferred"))
            .here("which values does it take?");
        let mut seen = 0;
        for read in hidden.iter().filter(|read| read.index.mentions(atom)) {
            d = d
                .label(read.span, "the extent here is known only when the value is computed")
                .help(format!("bind the value first: `let values = …;`, then `values[{name}]`"));
            seen += 1;
        }
        for read in reads.iter().filter(|read| read.index.mentions(atom)) {
            d = d.label(read.span, format!("this read of {} does not tell", quote(read.tensor)));
            seen += 1;
        }
        if seen == 0 {
            d = d.note(format!("no array is indexed by `{name}`"));
        }
        d = d.help(format!("write its domain: `{name} in 0..N`"));
        self.report_at(d);
    }

    /// The extent of a coordinate, if all values in scope that carry it agree.
    pub(super) fn coord_extent(&self, name: Symbol) -> Option<size::Expr> {
        let mut found: Option<&size::Expr> = None;
        let own = self.f.extents.iter().any(|extent| extent.name == name);
        for extent in &self.f.extents {
            let fits = if own { extent.name == name } else { extent.over == Some(name) };
            if !fits {
                continue;
            }
            match found {
                Some(size) if self.compare_sizes(size, &extent.size) != SizeRelation::Equal => {
                    return None;
                }
                Some(_) => {}
                None => found = Some(&extent.size),
            }
        }
        found.cloned()
    }
}

/// The ranges that were found, and the sizes that must be compared at run time for each variable.
#[derive(Default)]
struct Solved {
    ranges: FxHashMap<VarId, (size::Expr, size::Expr)>,
    requires: Vec<(VarId, Require)>,
}

/// The variables that statements inside an expression bind.
fn bound_in(e: &Expr, bound: &mut Vec<VarId>) {
    if let ExprKind::Block { stmts, .. } = &*e.kind {
        bound.extend(stmts.iter().filter_map(|stmt| match &stmt.kind {
            StmtKind::Let(var, _) => Some(*var),
            StmtKind::Destructure(..) | StmtKind::Expr(_) | StmtKind::Require(_) => None,
        }));
    }
    each_child(e, &mut |child| bound_in(child, bound));
}

/// Whether a binder still waits for its domain.
pub(super) fn is_unsolved(binder: &Binder) -> bool {
    matches!(&*binder.hi.kind, ExprKind::Error)
}

fn fill_binder(binder: &mut Binder, solved: &Solved) {
    if is_unsolved(binder)
        && let Some((lo, hi)) = solved.ranges.get(&binder.var)
    {
        let span = binder.lo.span;
        binder.lo = Expr::size(lo.clone(), span);
        binder.hi = Expr::size(hi.clone(), span);
    }
}

/// Gives the reductions in an expression their domains, and what they must compare first: the
/// extents may be of variables that are bound only on the way to them.
fn fill(e: &mut Expr, solved: &mut Solved) {
    if let ExprKind::Reduce(reduce) = &mut *e.kind {
        reduce.binders.iter_mut().for_each(|binder| fill_binder(binder, solved));
        let own = solved
            .requires
            .extract_if(.., |(var, _)| reduce.binders.iter().any(|binder| binder.var == *var));
        reduce.requires.extend(own.map(|(_, require)| require));
    }
    each_child_mut(e, &mut |child| fill(child, solved));
}

/// The name of a tensor in backquotes.
pub(super) fn quote(name: Option<Symbol>) -> String {
    match name {
        Some(name) => format!("`{name}`"),
        None => "an array".into(),
    }
}
