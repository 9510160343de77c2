//! Systems of recurrences: definitions of one list of statements that read each other.
//!
//! Before:  `let x[0] = …; let v[0] = …; let x[t in 1..n] = … v[t - 1] …; let v[t in 1..n] = … x[t] …;`
//! After:   one statement with the clauses of `x` and those of `v`
//!
//! A clause sees the names of its system, also those whose first clause stands below it. Statements
//! between the clauses that read the system come after it. What is no system without this reading is
//! left alone: a later `let` of a name that was read shadows it.

use super::Resolver;
use super::lower::Lower;
use super::order::Graph;
use super::scope::{Bound, Space};
use super::stmts::{List, has_pack};
use super::unknown::pattern_names;
use crate::hir::{self, LocalId, LocalKind, Stmt};
use crate::visit;
use ein_base::{Code, Diagnostic, Name, SourceMap, Span, Symbol};
use ein_syntax::ast::{self, LeftSlotKind, StmtId, StmtKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// The systems of a list of statements.
#[derive(Default)]
pub(super) struct Systems {
    all: Vec<System>,
    /// The system that a statement is a clause of.
    by_stmt: FxHashMap<usize, usize>,
}

/// One of them, as far as its clauses were resolved.
struct System {
    names: Vec<Name>,
    /// The number of its last clause among the statements.
    last: usize,
    /// Once the first clause is reached.
    locals: Vec<LocalId>,
    bound: Vec<bool>,
    clauses: Vec<Vec<hir::Clause>>,
    /// Where its first clause would stand among the resolved statements.
    start: usize,
    span: Option<Span>,
}

impl Systems {
    /// Whether a statement is a clause of a system.
    pub(super) fn contains(&self, stmt: usize) -> bool {
        self.by_stmt.contains_key(&stmt)
    }
}

/// All clauses of a list with one name and one number of slots, or several if they may be one definition
/// ([`super::padded`]).
struct Node {
    name: Name,
    /// The least number of slots.
    slots: usize,
    /// Their numbers among the statements.
    clauses: Vec<usize>,
    /// What they mention, each with the number of the clause.
    mentions: Vec<(usize, Symbol)>,
}

/// What the text of a list of statements says.
struct Written<'r> {
    ast: &'r ast::Ast,
    stmts: &'r [StmtId],
}

impl<'r> Written<'r> {
    /// Whether a `let` among these statements binds one of the names.
    fn binds_between(&self, between: std::ops::Range<usize>, names: &[Symbol]) -> bool {
        self.stmts[between].iter().any(|id| {
            let StmtKind::Let(decl) = &self.ast.stmt[*id].kind else { return false };
            let mut bound = Vec::new();
            pattern_names(self.ast, decl.pat, &mut bound);
            bound.iter().any(|name| names.contains(&name.sym))
        })
    }

    fn clause_at(&self, at: usize) -> Option<&'r ast::Clause> {
        match &self.ast.stmt[self.stmts[at]].kind {
            StmtKind::Clause(clause) => Some(clause),
            _ => None,
        }
    }

    /// Whether two clauses define the same points, as far as the text says.
    fn repeats_a_left_side(&self, files: &SourceMap, node: &Node) -> bool {
        let text = |at: &usize| -> Option<Vec<String>> {
            let clause = self.clause_at(*at)?;
            let slots = clause.slots.iter().map(|slot| match &slot.kind {
                LeftSlotKind::Literal(value) => value.to_string(),
                LeftSlotKind::Point(point) => files.text(self.ast.expr[*point].span).to_owned(),
                LeftSlotKind::Index { domain: Some(domain), .. } => {
                    files.text(self.ast.expr[*domain].span).to_owned()
                }
                LeftSlotKind::Index { domain: None, .. } => String::new(),
                LeftSlotKind::Pack(_) | LeftSlotKind::Error => "..".to_owned(),
            });
            let guarded = matches!(self.ast.expr[clause.value].kind, ast::ExprKind::Where { .. });
            (!guarded).then(|| slots.collect())
        };
        let texts: Vec<Vec<String>> = node.clauses.iter().filter_map(text).collect();
        (0..texts.len()).any(|at| texts[at + 1..].contains(&texts[at]))
    }

    /// Whether the text says that a point of one clause lies in the range of another.
    fn point_in_range(&self, node: &Node) -> bool {
        let clauses: Vec<&ast::Clause> =
            node.clauses.iter().filter_map(|at| self.clause_at(*at)).collect();
        let number = |id: Option<ast::ExprId>| match id.map(|id| &self.ast.expr[id].kind) {
            Some(ast::ExprKind::Int { value, .. }) => i64::try_from(*value).ok(),
            _ => None,
        };
        let meets = |point: &ast::LeftSlot, range: &ast::LeftSlot| {
            let (LeftSlotKind::Literal(point), LeftSlotKind::Index { domain: Some(domain), .. }) =
                (&point.kind, &range.kind)
            else {
                return false;
            };
            let ast::ExprKind::Range { lo, hi, inclusive: false } = &self.ast.expr[*domain].kind
            else {
                return false;
            };
            match (number(*lo), number(*hi)) {
                (Some(lo), Some(hi)) => lo <= *point && *point < hi,
                (Some(lo), None) => lo == *point,
                (None, _) => false,
            }
        };
        let same = |a: &ast::LeftSlot, b: &ast::LeftSlot| match (&a.kind, &b.kind) {
            (LeftSlotKind::Literal(a), LeftSlotKind::Literal(b)) => a == b,
            (LeftSlotKind::Index { .. }, LeftSlotKind::Index { .. }) => true,
            _ => false,
        };
        clauses.iter().any(|point| {
            clauses.iter().any(|range| {
                let mut slots = point.slots.iter().zip(&range.slots);
                slots.all(|(a, b)| meets(a, b) || same(a, b))
                    && point.slots.iter().zip(&range.slots).any(|(a, b)| meets(a, b))
            })
        })
    }

    /// Whether a slot holds a point in one clause and an index in another.
    fn begins_with_a_point(&self, node: &Node) -> bool {
        let clauses: Vec<&ast::Clause> =
            node.clauses.iter().filter_map(|at| self.clause_at(*at)).collect();
        (0..node.slots).any(|slot| {
            let is_index = |clause: &&ast::Clause| {
                matches!(clause.slots[slot].kind, LeftSlotKind::Index { .. })
            };
            let indices = clauses.iter().filter(|clause| is_index(clause)).count();
            indices > 0 && indices < clauses.len()
        })
    }
}

impl<'r> Lower<'r, '_> {
    /// Finds the definitions that read each other.
    pub(super) fn find_systems(&mut self, stmts: &'r [StmtId]) -> Systems {
        let text = Written { ast: self.ast, stmts };
        let mut nodes: Vec<Node> = Vec::new();
        let mut by_name: FxHashMap<(Symbol, usize), usize> = FxHashMap::default();
        for (at, id) in stmts.iter().enumerate() {
            if let StmtKind::Clause(clause) = &self.ast.stmt[*id].kind {
                let key = (clause.name.sym, clause.slots.len());
                let node = *by_name.entry(key).or_insert_with(|| {
                    let (clauses, mentions) = (Vec::new(), Vec::new());
                    nodes.push(Node { name: clause.name, slots: key.1, clauses, mentions });
                    nodes.len() - 1
                });
                nodes[node].clauses.push(at);
            }
        }
        if nodes.len() < 2 {
            return Systems::default();
        }
        // Where each name is first defined: above that, a `let` of the list may say what it is.
        let mut defined: FxHashMap<Symbol, usize> = FxHashMap::default();
        for node in &nodes {
            let first = defined.entry(node.name.sym).or_insert(node.clauses[0]);
            *first = node.clauses[0].min(*first);
        }
        for node in &mut nodes {
            for at in &node.clauses {
                let StmtKind::Clause(clause) = &self.ast.stmt[stmts[*at]].kind else { continue };
                let mut found = Vec::new();
                let own = clause.slots.iter().filter_map(|slot| match &slot.kind {
                    LeftSlotKind::Index { name, .. } | LeftSlotKind::Pack(name) => Some(name.sym),
                    LeftSlotKind::Literal(_) | LeftSlotKind::Point(_) | LeftSlotKind::Error => None,
                });
                let mut bound: Vec<Symbol> = own.collect();
                self.mentions(clause.value, &mut bound, &mut found);
                if let Some(until) = &clause.until {
                    self.mentions(until.cond, &mut bound, &mut found);
                }
                found.retain(|sym| {
                    defined
                        .get(sym)
                        .is_some_and(|first| first <= at || !text.binds_between(0..*at, &[*sym]))
                });
                node.mentions.extend(found.into_iter().map(|sym| (*at, sym)));
            }
        }
        let nodes = of_several_ranks(&text, nodes);
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for (from, node) in nodes.iter().enumerate() {
            for (_, sym) in &node.mentions {
                let to = nodes.iter().enumerate().filter(|(_, other)| other.name.sym == *sym);
                edges.extend(to.map(|(to, _)| (from, to)));
            }
        }
        // A name that is read between its clauses belongs to what reads it there.
        for (to, node) in nodes.iter().enumerate() {
            let (Some(first), Some(last)) = (node.clauses.first(), node.clauses.last()) else {
                continue;
            };
            if first == last || !text.begins_with_a_point(node) {
                continue;
            }
            for (from, other) in nodes.iter().enumerate().filter(|(from, _)| *from != to) {
                let mut reads = other.mentions.iter();
                if reads.any(|(at, sym)| *sym == node.name.sym && first < at && at < last) {
                    edges.push((to, from));
                }
            }
        }
        edges.sort_unstable();
        edges.dedup();
        let mut systems = Systems::default();
        for component in Graph::over(nodes.len(), &edges).components().iter() {
            let mut members: Vec<usize> = component.to_vec();
            members.sort_unstable();
            let members: Vec<&Node> = members.iter().map(|at| &nodes[*at]).collect();
            if members.len() > 1 && self.is_system(&text, &members) {
                systems.add(&members);
            }
        }
        systems
    }

    /// Whether definitions that mention each other mean one system, and not one after the other.
    fn is_system(&self, text: &Written, members: &[&Node]) -> bool {
        let mut names: Vec<Symbol> = members.iter().map(|node| node.name.sym).collect();
        names.sort_unstable();
        names.dedup();
        let first = members.iter().filter_map(|node| node.clauses.first()).min();
        let last = members.iter().filter_map(|node| node.clauses.last()).max();
        let (Some(first), Some(last)) = (first.copied(), last.copied()) else { return false };
        if names.len() < members.len() || text.binds_between(first..last + 1, &names) {
            return false;
        }
        // The same left side twice is a new definition.
        let twice =
            |node: &Node| text.repeats_a_left_side(self.r.files, node) || text.point_in_range(node);
        if members.iter().any(|node| twice(node)) {
            return false;
        }
        let ahead = |node: &Node| {
            node.mentions.iter().any(|(at, sym)| {
                let of = members.iter().find(|other| other.name.sym == *sym);
                let above = |at: usize| {
                    let clauses = (0..at).filter_map(|at| text.clause_at(at));
                    clauses.into_iter().any(|clause| clause.name.sym == *sym)
                };
                of.is_some_and(|of| of.clauses[0] > *at && !self.is_known(*sym) && !above(*at))
            })
        };
        // A name that is read between its clauses would be a new definition after that.
        let again = |node: &Node| {
            let reads = members.iter().filter(|other| other.name.sym != node.name.sym);
            let mut reads = reads.flat_map(|other| &other.mentions);
            let (Some(first), Some(last)) = (node.clauses.first(), node.clauses.last()) else {
                return false;
            };
            text.begins_with_a_point(node)
                && reads.any(|(at, sym)| *sym == node.name.sym && first < at && at < last)
        };
        members.iter().any(|node| ahead(node) || again(node))
    }

    /// Whether a name means something before the list binds it.
    fn is_known(&self, sym: Symbol) -> bool {
        self.scopes.entry(self.scopes.head(Space::Value, sym)).is_some()
    }

    /// One clause of a system; the last one makes the statement.
    pub(super) fn system_clause(
        &mut self,
        clause: &'r ast::Clause,
        span: Span,
        index: usize,
        list: &mut List,
    ) {
        let Some(number) = list.systems.by_stmt.get(&index).copied() else { return };
        let kind = if list.top { LocalKind::Global } else { LocalKind::Let };
        if list.systems.all[number].locals.is_empty() {
            let names = list.systems.all[number].names.clone();
            let locals: Vec<LocalId> =
                names.into_iter().map(|name| self.local(name, kind)).collect();
            list.systems.all[number].locals = locals;
            list.systems.all[number].start = list.stmts.len();
        }
        let system = &mut list.systems.all[number];
        let Some(member) = system.names.iter().position(|name| name.sym == clause.name.sym) else {
            return;
        };
        let locals = system.locals.clone();
        if !std::mem::replace(&mut system.bound[member], true) {
            self.bind_stmt(clause.name, locals[member], list.top);
        }
        let system = &mut list.systems.all[number];
        // What is bound further down is known in here already.
        let mark = self.scopes.mark();
        let frame = self.frame();
        for (at, name) in system.names.iter().enumerate() {
            if !system.bound[at] {
                let bound = Bound::Local(locals[at]);
                self.scopes.declare(Space::Value, name.sym, bound, frame, None);
            }
        }
        let clause = self.clause_body(clause, &locals[member..=member], span);
        self.leave(mark);
        let system = &mut list.systems.all[number];
        system.clauses[member].push(clause);
        system.span = Some(system.span.map_or(span, |whole| whole.to(span)));
        if index < system.last {
            return;
        }
        let clauses = std::mem::take(&mut system.clauses);
        let (start, span) = (system.start, system.span.unwrap_or(span));
        let definitions: Vec<hir::Definition> = locals
            .iter()
            .zip(clauses)
            .map(|(local, clauses)| hir::Definition {
                local: *local,
                clauses: self.of_one_rank(clauses),
            })
            .collect();
        if list.top {
            for local in &locals {
                self.r.facts.bound_at[*local] = self.stmt;
            }
        }
        for kind in self.in_order(definitions) {
            list.stmts.push(Stmt { kind, span });
        }
        let late = readers(self.r, &list.stmts[start..], &locals, start);
        list.move_last(&late);
    }

    /// The definitions, each after those that it reads; those that read each other in one.
    fn in_order(&self, definitions: Vec<hir::Definition>) -> Vec<hir::StmtKind> {
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for (from, definition) in definitions.iter().enumerate() {
            for (to, other) in definitions.iter().enumerate() {
                let one = FxHashSet::from_iter([other.local]);
                let mut reads = false;
                visit::each_in_definition(definition, &mut |e| {
                    reads |= read_of(&self.r.program, e, &one).is_some()
                });
                if reads {
                    edges.push((from, to));
                }
            }
        }
        let graph = Graph::over(definitions.len(), &edges);
        // A condition ends everything that reads what it ends, so that stays together.
        let ends = definitions.iter().any(|it| it.clauses.iter().any(|it| it.until.is_some()));
        let mut left: Vec<Option<hir::Definition>> = definitions.into_iter().map(Some).collect();
        if ends {
            return vec![hir::StmtKind::System(left.into_iter().flatten().collect())];
        }
        let mut kinds = Vec::new();
        for component in graph.components().iter() {
            let mut members: Vec<usize> = component.to_vec();
            members.sort_unstable();
            let mut found: Vec<hir::Definition> =
                members.into_iter().filter_map(|at| left[at].take()).collect();
            match found.len() {
                1 => kinds.extend(found.pop().map(hir::StmtKind::Define)),
                _ => kinds.push(hir::StmtKind::System(found)),
            }
        }
        kinds
    }
}

impl Systems {
    fn add(&mut self, members: &[&Node]) {
        let number = self.all.len();
        for node in members {
            self.by_stmt.extend(node.clauses.iter().map(|at| (*at, number)));
        }
        let last = members.iter().filter_map(|node| node.clauses.last()).max();
        self.all.push(System {
            names: members.iter().map(|node| node.name).collect(),
            last: last.copied().unwrap_or(0),
            locals: Vec::new(),
            bound: vec![false; members.len()],
            clauses: members.iter().map(|_| Vec::new()).collect(),
            start: 0,
            span: None,
        });
    }
}

/// The nodes, those of one name together where a clause with another number of slots reads its own
/// name: then it continues the definition.
fn of_several_ranks(it: &Written, nodes: Vec<Node>) -> Vec<Node> {
    let reads_itself = |node: &Node| node.mentions.iter().any(|(_, sym)| *sym == node.name.sym);
    let plain = |node: &Node| {
        let mut clauses = node.clauses.iter().filter_map(|at| it.clause_at(*at));
        clauses.all(|clause| !has_pack(clause))
    };
    let numbers = |node: &Node| {
        let mut clauses = node.clauses.iter().filter_map(|at| it.clause_at(*at));
        clauses.any(|clause| {
            let value = match it.ast.expr[clause.value].kind {
                ast::ExprKind::Where { body, .. } => body,
                _ => clause.value,
            };
            let kind = &it.ast.expr[value].kind;
            matches!(
                kind,
                ast::ExprKind::Int { .. } | ast::ExprKind::Float { .. } | ast::ExprKind::Bool(_)
            )
        })
    };
    let mut merged: Vec<Node> = Vec::with_capacity(nodes.len());
    for node in nodes {
        let before = merged.iter().position(|it| it.name.sym == node.name.sym);
        let joins = |other: &Node| {
            let shorter = if other.slots < node.slots { other } else { &node };
            (reads_itself(&node) || reads_itself(other))
                && plain(&node)
                && plain(other)
                && !numbers(shorter)
        };
        match before.filter(|at| joins(&merged[*at])) {
            Some(at) => {
                let own = &mut merged[at];
                own.slots = own.slots.min(node.slots);
                own.clauses.extend(node.clauses);
                own.clauses.sort_unstable();
                own.mentions.extend(node.mentions);
            }
            None => merged.push(node),
        }
    }
    merged
}

/// The statements that read a system, directly or through one another: they come after it, and no step
/// can read what they bind.
fn readers(r: &mut Resolver, stmts: &[Stmt], locals: &[LocalId], start: usize) -> Vec<usize> {
    let mut waiting: FxHashSet<LocalId> = locals.iter().copied().collect();
    let mut found = Vec::new();
    let belongs = |stmt: &&Stmt| match &stmt.kind {
        hir::StmtKind::System(all) => all.iter().any(|it| locals.contains(&it.local)),
        hir::StmtKind::Define(it) => locals.contains(&it.local),
        hir::StmtKind::Let { .. } | hir::StmtKind::Expr(_) => false,
    };
    for (at, stmt) in stmts.iter().enumerate().filter(|(_, stmt)| !belongs(stmt)) {
        if read_in(&r.program, stmt, &waiting).is_none() {
            continue;
        }
        found.push(start + at);
        match &stmt.kind {
            hir::StmtKind::Let { pat, .. } => pat.each_local(&mut |it| {
                waiting.insert(it);
            }),
            hir::StmtKind::Define(it) => {
                waiting.insert(it.local);
            }
            hir::StmtKind::System(all) => waiting.extend(all.iter().map(|it| it.local)),
            hir::StmtKind::Expr(_) => {}
        }
    }
    for local in locals {
        waiting.remove(local);
    }
    for stmt in stmts.iter().filter(belongs) {
        while let Some((read, local)) = read_in(&r.program, stmt, &waiting) {
            let name = r.program.locals[local].name;
            let message = format!("`{name}` and the recurrences that read it wait for each other");
            let d = Diagnostic::new(Code::E0605, r.program.exprs[read].span, message)
                .here("needed by a step")
                .label(name.span, "reads the recurrences, so it comes after them")
                .help(format!("let `{name}` have steps, too: `let {name}[…] = …`"));
            r.report(d);
            r.program.exprs[read].kind = hir::ExprKind::Error;
            // Read twice, it is one mistake.
            waiting.remove(&local);
        }
    }
    found
}

fn read_in(
    program: &hir::Program,
    stmt: &Stmt,
    locals: &FxHashSet<LocalId>,
) -> Option<(hir::ExprId, LocalId)> {
    let mut found = None;
    visit::each_in_stmt(stmt, &mut |e| found = found.or_else(|| read_of(program, e, locals)));
    found
}

/// The first read of one of these names, and the name.
fn read_of(
    program: &hir::Program,
    e: hir::ExprId,
    locals: &FxHashSet<LocalId>,
) -> Option<(hir::ExprId, LocalId)> {
    if let hir::ExprKind::Local(local) = &program.exprs[e].kind {
        return locals.contains(local).then_some((e, *local));
    }
    let mut found = None;
    visit::each_child(program, e, &mut |child| {
        found = found.or_else(|| read_of(program, child, locals));
    });
    found
}
