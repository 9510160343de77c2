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

pub(in crate::check) mod dependent;

use super::state::{Build, Index, Report};
use super::symbolic::SizeRelation;
use super::{CoordExtent, Ground, error, ragged};
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

/// A binder whose domain is not known yet.
pub(super) fn unsolved_binder(var: VarId, span: Span) -> Binder {
    Binder { var, lo: Expr::error(span), hi: Expr::error(span) }
}

/// Fills in the domains of the reductions in a value that is not a definition.
pub(super) fn solve_expr(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    stmts: &mut [Stmt],
    value: &mut Expr,
) {
    let mut found = Found::default();
    for stmt in stmts.iter() {
        collect_stmt(ix, stmt, false, &mut found);
    }
    collect(ix, value, false, &mut found);
    if found.unsolved.is_empty() {
        return;
    }
    let mut solved = solve(ix, build, report, found, &[]);
    for stmt in stmts.iter_mut() {
        each_in_stmt_mut(stmt, &mut |e| fill(e, &mut solved));
    }
    fill(value, &mut solved);
}

/// Fills in the domains of a clause and of the reductions in it. Returns what must be compared
/// at run time. `self_var` is the tensor being defined, whose extents are not known yet.
pub(super) fn solve_clause(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
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
                note_range(ix, binder);
                collect(ix, &binder.lo, false, &mut found);
                collect(ix, &binder.hi, false, &mut found);
            }
        }
    }
    let guarded = collect_items(ix, &clause.items, false, &mut found);
    collect(ix, &clause.value, guarded, &mut found);
    if let Some(otherwise) = &clause.otherwise {
        collect(ix, otherwise, true, &mut found);
    }
    if let Some(until) = &clause.until {
        collect(ix, &until.cond, true, &mut found);
    }
    drop_inner_reads(ix, &mut found, 0, &left, &clause.value);
    if let Some(self_var) = self_var {
        drop_self_reads(ix, &mut found, self_var);
    }
    if found.unsolved.is_empty() {
        return Vec::new();
    }
    let mut solved = solve(ix, build, report, found, &left);
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
fn drop_self_reads(ix: &Index, found: &mut Found, self_var: VarId) {
    found.reads.retain(|read| {
        ix.unsettled(&read.extent).is_none()
            && !ragged::depends(ix, &read.extent, &[self_var])
            && !ragged::depends(ix, &read.extent, &ix.open_names)
            && !is_shifted_read_of_a_system(ix, read)
    });
}

/// Another step of a name of the same system: as little a range as an earlier step of the name
/// itself.
fn is_shifted_read_of_a_system(ix: &Index, read: &Read) -> bool {
    read.index.as_atom().is_none()
        && read.tensor.is_some_and(|name| ix.system_names.contains(&name))
}

/// The extent of something that is bound inside a loop is not known where the loop begins.
fn drop_inner_reads(ix: &Index, found: &mut Found, from: usize, vars: &[VarId], body: &Expr) {
    let mut bound = Vec::new();
    bound_in(body, &mut bound);
    if bound.is_empty() {
        return;
    }
    let mut at = 0;
    found.reads.retain(|read| {
        at += 1;
        let inner = at > from && ragged::depends(ix, &read.extent, &bound);
        !(inner && ragged::depends(ix, &read.index, vars))
    });
}

/// Notes the domain of a variable. Gives the variable if only the run knows it.
fn note_range(ix: &mut Index, binder: &Binder) -> Option<Atom> {
    let atom = ix.var_sizes.get(&binder.var).and_then(size::Expr::as_atom)?;
    let (Some(lo), Some(hi)) = (ix.to_size(&binder.lo), ix.to_size(&binder.hi)) else {
        return Some(atom);
    };
    ix.ranges.insert(atom, (lo, hi));
    None
}

// ---------------------------------------------------------------- collecting

fn collect_stmt(ix: &mut Index, stmt: &Stmt, conditional: bool, found: &mut Found) {
    match &stmt.kind {
        StmtKind::Let(_, e) | StmtKind::Destructure(_, e) | StmtKind::Expr(e) => {
            collect(ix, e, conditional, found);
        }
        StmtKind::Require(_) => {}
    }
}

/// Returns whether what follows is guarded.
fn collect_items(ix: &mut Index, items: &[Item], conditional: bool, found: &mut Found) -> bool {
    let mut conditional = conditional;
    for item in items {
        match item {
            Item::Let(_, e) => collect(ix, e, conditional, found),
            Item::Guard(e) => {
                collect(ix, e, conditional, found);
                conditional = true;
            }
        }
    }
    conditional
}

fn collect(ix: &mut Index, e: &Expr, conditional: bool, found: &mut Found) {
    match &*e.kind {
        ExprKind::Index { base, indices } => {
            for (position, index) in indices.iter().enumerate() {
                if let (Some(size), Some(axis)) =
                    (ix.to_size(&index.value), base.ty.axes().get(position))
                {
                    found.reads.push(Read {
                        index: size,
                        extent: axis.size.clone(),
                        tensor: ix.show_name(base),
                        declared: ix.declared_at(base),
                        span: index.value.span,
                        conditional,
                    });
                }
                collect(ix, &index.value, conditional, found);
            }
            collect(ix, base, conditional, found);
        }
        ExprKind::If { cond, then, otherwise } => {
            collect(ix, cond, conditional, found);
            collect(ix, then, true, found);
            collect(ix, otherwise, true, found);
        }
        ExprKind::And(a, b) | ExprKind::Or(a, b) => {
            collect(ix, a, conditional, found);
            collect(ix, b, true, found);
        }
        ExprKind::Match { value, arms } => {
            collect(ix, value, conditional, found);
            for arm in arms {
                arm.guard.iter().for_each(|guard| collect(ix, guard, true, found));
                collect(ix, &arm.value, true, found);
            }
        }
        ExprKind::Reduce(reduce) => {
            for binder in &reduce.binders {
                if is_unsolved(binder) {
                    found.unsolved.push(binder.var);
                } else {
                    if let Some(atom) = note_range(ix, binder) {
                        found.opaque.push((atom, found.unsolved.len()));
                    }
                    collect(ix, &binder.lo, conditional, found);
                    collect(ix, &binder.hi, conditional, found);
                }
            }
            let before = found.reads.len();
            let guarded = collect_items(ix, &reduce.items, conditional, found);
            collect(ix, &reduce.value, guarded, found);
            let vars: Vec<VarId> = reduce.binders.iter().map(|binder| binder.var).collect();
            drop_inner_reads(ix, found, before, &vars, &reduce.value);
        }
        ExprKind::Tensor(tensor) => {
            for clause in &tensor.clauses {
                for slot in &clause.slots {
                    if let ClauseSlot::Loop(binder) = slot {
                        note_range(ix, binder);
                    }
                }
                let guarded = collect_items(ix, &clause.items, conditional, found);
                collect(ix, &clause.value, guarded, found);
            }
        }
        ExprKind::Var(var) => {
            found.mentioned.insert(*var);
        }
        ExprKind::Size(size) => {
            for atom in size.atoms() {
                if let Some(index) = ix.index_atoms.get(&atom) {
                    found.mentioned.insert(ix.indices[*index].var);
                }
            }
        }
        _ => each_child(e, &mut |child| collect(ix, child, conditional, found)),
    }
}

// ---------------------------------------------------------------- solving

fn solve(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    mut found: Found,
    left: &[VarId],
) -> Solved {
    // What has no name has an extent only when it is computed, and that is inside the loop.
    let settled = |read: &Read| ix.unsettled(&read.extent).is_none();
    let reads = std::mem::take(&mut found.reads);
    let (reads, hidden): (Vec<Read>, Vec<Read>) = reads.into_iter().partition(settled);
    found.reads = reads;
    let mut open: Vec<(VarId, Atom)> = found
        .unsolved
        .iter()
        .filter_map(|var| Some((*var, ix.var_sizes.get(var)?.as_atom()?)))
        .collect();
    let unknown: Vec<Atom> = open.iter().map(|(_, atom)| *atom).collect();
    let mut solved = Solved::default();
    // Bare uses fix a range; arithmetic in the variable alone narrows it.
    open.retain(|(var, atom)| {
        match direct_range(ix, build, report, *var, *atom, &found.reads, &mut solved.requires) {
            Some(range) => {
                let range = narrow(ix, *atom, range, &found.reads);
                ix.ranges.insert(*atom, range.clone());
                solved.ranges.insert(*var, range);
                false
            }
            None => true,
        }
    });
    // The others take what is legal for all values of the variables known by now. If none can be
    // solved, one end of a domain may still say something while the other one waits.
    let mut partly = false;
    loop {
        let before = open.len();
        open.retain(|(var, atom)| match arithmetic_range(ix, *atom, &found, &unknown, partly) {
            Some(range) => {
                ix.ranges.insert(*atom, range.clone());
                solved.ranges.insert(*var, range);
                false
            }
            None => true,
        });
        match open.len() < before {
            _ if open.is_empty() => break,
            true => partly = false,
            false if partly => break,
            false => partly = true,
        }
    }
    for (var, atom) in open {
        let range = match left.contains(&var) {
            true => domain_in_scope(ix, var, atom, &found),
            false => None,
        };
        let range = range.unwrap_or_else(|| {
            cannot_infer(ix, report, var, atom, left.contains(&var), &found.reads, &hidden);
            // Of what is read from it nothing is said.
            (size::Expr::zero(), ix.unknown_size(true))
        });
        ix.ranges.insert(atom, range.clone());
        solved.ranges.insert(var, range);
    }
    solved
}

/// The range that bare reads give.
fn direct_range(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    var: VarId,
    atom: Atom,
    reads: &[Read],
    requires: &mut Vec<(VarId, Require)>,
) -> Option<(size::Expr, size::Expr)> {
    let mut direct = reads.iter().filter(|read| read.index.as_atom() == Some(atom));
    let first = direct.next()?;
    let mut hi = first.extent.clone();
    for other in direct {
        match ix.compare_sizes(&hi, &other.extent) {
            SizeRelation::Equal => {}
            SizeRelation::AtRunTime => {
                let name = ix.vars[var].name;
                let what = format!(
                    "index `{name}` over {} and {}",
                    quote(first.tensor),
                    quote(other.tensor)
                );
                ix.f.facts.eq(&hi, &other.extent);
                let require = Require {
                    left: hi.clone(),
                    right: other.extent.clone(),
                    what,
                    span: other.span,
                };
                build.f.assumed.push(require.clone());
                requires.push((var, require));
                // A constant says more than an unknown.
                if other.extent.as_constant().is_some() {
                    hi = other.extent.clone();
                }
            }
            SizeRelation::Different => {
                if !is_broken(ix, atom) {
                    two_extents(ix, report, var, first, other);
                }
                // Which of them is meant, nobody knows.
                return Some((size::Expr::zero(), ix.unknown_size(true)));
            }
        }
    }
    Some((size::Expr::zero(), hi))
}

/// Whether a mistake with this index was reported already.
fn is_broken(ix: &Index, atom: Atom) -> bool {
    ix.index_atoms.get(&atom).is_some_and(|index| ix.indices[*index].broken)
}

fn two_extents(ix: &Index, report: &mut Report, var: VarId, first: &Read, other: &Read) {
    let name = ix.vars[var].name;
    let (p, q) = (ix.show_size(&first.extent), ix.show_size(&other.extent));
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
    report.report_at(d);
}

/// Narrows a range by arithmetic reads of the variable alone.
fn narrow(
    ix: &Index,
    atom: Atom,
    range: (size::Expr, size::Expr),
    reads: &[Read],
) -> (size::Expr, size::Expr) {
    let (mut lo, mut hi) = range;
    for read in reads {
        let alone = !read.conditional
            && read.index.as_atom() != Some(atom)
            && read.index.mentions(atom)
            && read.index.atoms().iter().all(|a| *a == atom || !is_index(ix, *a));
        if !alone {
            continue;
        }
        if let Some((l, h)) = size::solve_range(&read.index, atom, &read.extent, &|_| None) {
            lo = ix.greater(&lo, &l);
            hi = ix.smaller(&hi, &h);
        }
    }
    (lo, hi)
}

/// The range that all arithmetic reads allow, once the other variables in them are known.
fn arithmetic_range(
    ix: &Index,
    atom: Atom,
    found: &Found,
    unknown: &[Atom],
    partly: bool,
) -> Option<(size::Expr, size::Expr)> {
    let reads = &found.reads;
    let own = unknown.iter().position(|other| *other == atom);
    let (mut start, mut end): dependent::Ends = (None, None);
    let mentions = |read: &Read| {
        read.index.mentions(atom) || dependent::depends_through(ix, &read.index, atom)
    };
    let unconditional = reads.iter().any(|read| !read.conditional && mentions(read));
    for read in reads {
        if !mentions(read) || (read.conditional && unconditional) {
            continue;
        }
        let waiting = dependent::through(ix, &read.index).into_iter().any(|other| {
            other != atom && unknown.contains(&other) && !ix.ranges.contains_key(&other)
        });
        // A variable that is bound further inside has no value where this one begins.
        let inner = |(other, bound): &(Atom, usize)| {
            own.is_some_and(|own| *bound > own) && read.index.mentions(*other)
        };
        let through = dependent::depends_through(ix, &read.index, atom);
        if waiting && !(partly && through) || found.opaque.iter().any(inner) {
            continue;
        }
        let (lo, hi) = if through {
            let Some(ends) = dependent::allowed_through(ix, read, atom) else { continue };
            ends
        } else {
            let ranges = &ix.ranges;
            let others = |a: Atom| ranges.get(&a).cloned();
            let range = size::solve_range(&read.index, atom, &read.extent, &others);
            let Some((lo, hi)) = range else { continue };
            (Some(lo), Some(hi))
        };
        if let Some(lo) = lo {
            let known = start.unwrap_or_else(size::Expr::zero);
            start = Some(ix.greater(&known, &lo));
        }
        if let Some(hi) = hi {
            end = Some(end.map_or_else(|| hi.clone(), |known| ix.smaller(&known, &hi)));
        }
    }
    Some((start.unwrap_or_else(size::Expr::zero), end?))
}

fn is_index(ix: &Index, atom: Atom) -> bool {
    ix.index_atoms.contains_key(&atom)
}

/// `let ones[batch] = 1.0;`, `let member[cluster] = best == cluster;`: the domain of the one
/// coordinate of that name in scope. A value that does depend on other indices, but not on
/// this one, lacks it.
fn domain_in_scope(
    ix: &mut Index,
    var: VarId,
    atom: Atom,
    found: &Found,
) -> Option<(size::Expr, size::Expr)> {
    let name = ix.vars[var].name;
    let indexed = found.reads.iter().any(|read| read.index.as_constant().is_none());
    if indexed && !found.mentioned.contains(&var) {
        return None;
    }
    let size = coord_extent(ix, name)?;
    let owner = ix.f.extents.iter().find(|extent| extent.name == name && extent.contract);
    if let (Some(owner), Some(index)) = (owner, ix.index_atoms.get(&atom)) {
        let coord = super::types::contract(name, owner.over);
        let ground = Ground { coord, tensor: Some(owner.owner), span: owner.span };
        ix.indices[*index].ground.get_or_insert(ground);
    }
    Some((size::Expr::zero(), size))
}

fn cannot_infer(
    ix: &Index,
    report: &mut Report,
    var: VarId,
    atom: Atom,
    left: bool,
    reads: &[Read],
    hidden: &[Read],
) {
    let info = &ix.vars[var];
    let (name, span) = (info.name, info.span);
    if is_broken(ix, atom) {
        return;
    }
    let known = ix.f.extents.iter().any(|extent| extent.name == name && extent.contract);
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
        let owner = ix.f.extents.iter().find(|it| it.name == name && it.contract);
        let d = match owner {
            Some(it) => d.label(it.span, format!("`{name}` is a coordinate of `{}`", it.owner)),
            None => d,
        };
        report.report_at(d);
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
    report.report_at(d);
}

/// The extent of a coordinate, if all values in scope that carry it agree. What is still being defined has a
/// say only where nothing else has.
pub(super) fn coord_extent(ix: &Index, name: Symbol) -> Option<size::Expr> {
    let all = &ix.f.extents;
    let own = all.iter().any(|extent| extent.name == name);
    let fits = all.iter().filter(|it| if own { it.name == name } else { it.over == Some(name) });
    let named = |owner| ix.defining.iter().any(|local| ix.hir.locals[*local].name.sym == owner);
    let (open, known): (Vec<_>, Vec<_>) = fits.partition(|it| named(it.owner));
    let sizes = if known.is_empty() { open } else { known };
    let (first, others) = sizes.split_first()?;
    let agree = |it: &&CoordExtent| ix.compare_sizes(&first.size, &it.size) == SizeRelation::Equal;
    others.iter().all(agree).then(|| first.size.clone())
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
