//! The broadcast ledger.
//!
//! Before:  `y[batch, class] = x[batch, class] * w[class]`
//! After:   the same, and the record: `w[class]` is repeated along `batch`
//!
//! At every operation on two values and at every call the index variables that the operands depend
//! on are compared; what one lacks and another has is its broadcast. Operands that depend on
//! nothing but constants are left out.
//!
//! Needs: statements in the order in which they run, and functions. Refuses (E0308): broadcasts of parameters that are marked `!`. Warns
//! (W0301): terms that the sum around them repeats.

use super::error;
use super::facts::Broadcast;
use super::state::{Build, Index, Report};
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::walk::each_child;
use ein_ir::tensor::{
    Binder, ClauseSlot, Expr, ExprKind, FuncId, Item, Pattern, Reduce, ReduceOp, StmtKind, Tensor,
    VarId,
};
use ein_scalar::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// What the value of an expression depends on.
#[derive(Clone, Debug, Default)]
struct Deps {
    /// Index variables, sorted.
    indices: Vec<VarId>,
    /// What it reads first, apart from index variables.
    name: Option<Symbol>,
    /// Parameters that must not broadcast and whose elements are in it.
    marked: Vec<VarId>,
    /// Where one of those is read.
    at: Option<Span>,
}

/// The state of the walk.
#[derive(Default)]
pub(super) struct Ledger {
    /// Index variables in scope.
    bound: FxHashSet<VarId>,
    /// What variables bound inside definitions depend on.
    vars: FxHashMap<VarId, Deps>,
    /// What was found.
    entries: Vec<Entry>,
    /// Terms that a sum repeats: where, and over what.
    repeated: Vec<(Span, Vec<VarId>)>,
}

/// Finds the broadcasts of a function.
pub(super) fn broadcasts_of_func(ix: &Index, build: &Build, func: FuncId, ledger: &mut Ledger) {
    deps(ix, &build.out.funcs[func].body, ledger);
}

/// Says what was found.
pub(super) fn note_broadcasts(ix: &Index, report: &mut Report, ledger: Ledger) {
    let Ledger { entries, repeated, .. } = ledger;
    // Parameters that something was said about.
    let mut reported = FxHashSet::default();
    for entry in entries {
        note_broadcast(ix, report, entry, &mut reported);
    }
    for (span, over) in repeated {
        warn_of_repeated(ix, report, span, &over);
    }
}

fn note_broadcast(ix: &Index, report: &mut Report, entry: Entry, reported: &mut FxHashSet<VarId>) {
    let Entry { deps, span, missing } = entry;
    let missing: Vec<Symbol> = missing.iter().map(|var| ix.vars[*var].name).collect();
    let operand = deps.name.map_or_else(|| "…".to_string(), |name| name.to_string());
    for param in &deps.marked {
        if !reported.insert(*param) {
            continue;
        }
        let name = ix.vars[*param].name;
        let along: Vec<String> = missing.iter().map(|name| format!("`{name}`")).collect();
        let along = along.join(", ");
        let d = error(
            Code::E0308,
            deps.at.unwrap_or(span),
            format!("`{name}` must not broadcast, but it is repeated along {along} here"),
        )
        .here(format!("does not depend on {along}"))
        .label(ix.vars[*param].span, format!("`{name}` is marked with `!`"))
        .help(format!(
            "give `{name}` the coordinate {along}, or take the `!` away to allow the broadcast"
        ));
        report.report_at(d);
    }
    report.ledger.push(Broadcast { span, operand, missing });
}

fn warn_of_repeated(ix: &Index, report: &mut Report, span: Span, over: &[VarId]) {
    let names: Vec<String> = over.iter().map(|var| format!("`{}`", ix.vars[*var].name)).collect();
    let names = names.join(", ");
    let d = error(
        Code::W0301,
        span,
        format!("this term does not depend on {names}: the sum adds it once for every point"),
    )
    .here("the same at every point of the sum")
    .help("move it out of the sum, or multiply it by the extent if that is meant");
    report.report_at(d);
}

// ---------------------------------------------------------------- walking

/// Finds the broadcasts of a statement.
pub(super) fn broadcasts_of_stmt(ix: &Index, stmt: &StmtKind, ledger: &mut Ledger) {
    match stmt {
        StmtKind::Let(var, e) => ledger_let(ix, *var, e, ledger),
        StmtKind::Destructure(pattern, e) => {
            let deps = self::deps(ix, e, ledger);
            spread(pattern, &deps, ledger);
        }
        StmtKind::Expr(e) => {
            self::deps(ix, e, ledger);
        }
        StmtKind::Require(_) => {}
    }
}

fn ledger_let(ix: &Index, var: VarId, e: &Expr, ledger: &mut Ledger) {
    let deps = self::deps(ix, e, ledger);
    if !deps.indices.is_empty() || !deps.marked.is_empty() {
        ledger.vars.insert(var, deps);
    }
}

fn spread(pattern: &Pattern, deps: &Deps, ledger: &mut Ledger) {
    if !deps.indices.is_empty() {
        for var in pattern.variables() {
            ledger.vars.insert(var, deps.clone());
        }
    }
}

/// What an expression depends on; notes the broadcasts inside it.
fn deps(ix: &Index, e: &Expr, ledger: &mut Ledger) -> Deps {
    match &*e.kind {
        ExprKind::Var(var) => var_deps_of(ix, *var, e, ledger),
        ExprKind::Size(size) => size_deps(ix, size, ledger),
        ExprKind::Binary(_, a, b) | ExprKind::And(a, b) | ExprKind::Or(a, b) => {
            let operands = [(a, self::deps(ix, a, ledger)), (b, self::deps(ix, b, ledger))];
            compare(&operands, &mut ledger.entries);
            operands.into_iter().fold(Deps::default(), |all, (_, deps)| all.join(deps))
        }
        ExprKind::Call { closure, args, .. } => {
            let mut all = Deps::default();
            if let Some(closure) = closure {
                all = self::deps(ix, closure, ledger);
            }
            let operands: Vec<(&Expr, Deps)> =
                args.iter().map(|arg| (arg, self::deps(ix, arg, ledger))).collect();
            compare(&operands, &mut ledger.entries);
            operands.into_iter().fold(all, |all, (_, deps)| all.join(deps))
        }
        ExprKind::Tensor(tensor) => tensor_deps(ix, tensor, ledger),
        ExprKind::Reduce(reduce) => reduce_deps(ix, reduce, ledger),
        ExprKind::Block { stmts, value } => {
            for stmt in stmts {
                broadcasts_of_stmt(ix, &stmt.kind, ledger);
            }
            self::deps(ix, value, ledger)
        }
        ExprKind::Index { base, indices } => {
            let mut all = self::deps(ix, base, ledger);
            if !all.marked.is_empty() {
                all.at = Some(e.span);
            }
            for index in indices {
                let deps = self::deps(ix, &index.value, ledger);
                // What chooses the element is not in it.
                all = all.join(Deps { marked: Vec::new(), ..deps });
            }
            all
        }
        _ => {
            let mut all = Deps::default();
            each_child(e, &mut |child| {
                let deps = self::deps(ix, child, ledger);
                all = std::mem::take(&mut all).join(deps);
            });
            all
        }
    }
}

fn var_deps_of(ix: &Index, var: VarId, e: &Expr, ledger: &Ledger) -> Deps {
    if ledger.bound.contains(&var) {
        return Deps { indices: vec![var], ..Deps::default() };
    }
    if let Some(deps) = ledger.vars.get(&var) {
        return deps.clone();
    }
    let marked = ix.no_broadcast.contains(&var);
    Deps {
        indices: Vec::new(),
        name: ix.show_name(e),
        marked: if marked { vec![var] } else { Vec::new() },
        at: marked.then_some(e.span),
    }
}

fn size_deps(ix: &Index, size: &size::Expr, ledger: &Ledger) -> Deps {
    let mut indices: Vec<VarId> = size
        .atoms()
        .into_iter()
        .filter_map(|atom| Some(ix.indices[*ix.index_atoms.get(&atom)?].var))
        .filter(|var| ledger.bound.contains(var))
        .collect();
    indices.sort_unstable();
    Deps { indices, ..Deps::default() }
}

fn bind_in(ix: &Index, binder: &Binder, ledger: &mut Ledger) {
    deps(ix, &binder.lo, ledger);
    deps(ix, &binder.hi, ledger);
    ledger.bound.insert(binder.var);
}

fn item_deps(ix: &Index, items: &[Item], ledger: &mut Ledger) {
    for item in items {
        match item {
            Item::Let(var, e) => ledger_let(ix, *var, e, ledger),
            Item::Guard(e) => {
                deps(ix, e, ledger);
            }
        }
    }
}

fn tensor_deps(ix: &Index, tensor: &Tensor, ledger: &mut Ledger) -> Deps {
    let mut all = Deps::default();
    for clause in &tensor.clauses {
        let mut own = Vec::new();
        for slot in &clause.slots {
            if let ClauseSlot::Loop(binder) = slot {
                bind_in(ix, binder, ledger);
                own.push(binder.var);
            }
        }
        item_deps(ix, &clause.items, ledger);
        let mut deps = self::deps(ix, &clause.value, ledger);
        if let Some(otherwise) = &clause.otherwise {
            deps = deps.join(self::deps(ix, otherwise, ledger));
        }
        if let Some(until) = &clause.until {
            deps = deps.join(self::deps(ix, &until.cond, ledger));
        }
        all = all.join(deps.without(&own));
        own.iter().for_each(|var| {
            ledger.bound.remove(var);
        });
    }
    all
}

fn reduce_deps(ix: &Index, reduce: &Reduce, ledger: &mut Ledger) -> Deps {
    let mut own = Vec::new();
    for binder in &reduce.binders {
        bind_in(ix, binder, ledger);
        own.push(binder.var);
    }
    item_deps(ix, &reduce.items, ledger);
    let deps = self::deps(ix, &reduce.value, ledger);
    // Of one term the answer is known.
    let terms = matches!(*reduce.value.kind, ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, ..));
    if reduce.op == ReduceOp::Sum && terms && deps.mentions(&own) {
        repeated_terms(ix, &reduce.value, &own, ledger);
    }
    own.iter().for_each(|var| {
        ledger.bound.remove(var);
    });
    // The result is no longer the parameter.
    Deps { marked: Vec::new(), at: None, ..deps.without(&own) }
}

/// Notes the terms of a sum's body that do not depend on what the sum runs over.
fn repeated_terms(ix: &Index, e: &Expr, own: &[VarId], ledger: &mut Ledger) {
    if let ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b) = &*e.kind {
        repeated_terms(ix, a, own, ledger);
        repeated_terms(ix, b, own, ledger);
        return;
    }
    // The entries of this walk have been made already.
    let known = ledger.entries.len();
    let deps = self::deps(ix, e, ledger);
    ledger.entries.truncate(known);
    if deps.name.is_some() && !deps.mentions(own) {
        ledger.repeated.push((e.span, own.to_vec()));
    }
}

/// A broadcast that was seen.
struct Entry {
    deps: Deps,
    span: Span,
    missing: Vec<VarId>,
}

/// Notes the operands that lack an index of another one.
fn compare(operands: &[(&Expr, Deps)], entries: &mut Vec<Entry>) {
    let named = operands.iter().filter(|(_, deps)| deps.name.is_some());
    let mut all: Vec<VarId> = named.flat_map(|(_, deps)| deps.indices.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    for (operand, deps) in operands {
        let missing: Vec<VarId> =
            all.iter().copied().filter(|var| !deps.indices.contains(var)).collect();
        if deps.name.is_some() && !missing.is_empty() {
            entries.push(Entry { deps: deps.clone(), span: operand.span, missing });
        }
    }
}

impl Deps {
    fn join(mut self, other: Deps) -> Deps {
        self.indices.extend(other.indices);
        self.indices.sort_unstable();
        self.indices.dedup();
        self.name = self.name.or(other.name);
        for var in other.marked {
            if !self.marked.contains(&var) {
                self.marked.push(var);
            }
        }
        self.at = self.at.or(other.at);
        self
    }

    /// Whether it depends on one of these indices.
    fn mentions(&self, vars: &[VarId]) -> bool {
        vars.iter().any(|var| self.indices.contains(var))
    }

    fn without(mut self, vars: &[VarId]) -> Deps {
        self.indices.retain(|var| !vars.contains(var));
        self
    }
}
