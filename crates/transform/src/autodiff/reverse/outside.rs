//! Calls inside loops that do not mention what the loops bind, as bindings before them, and so definitions
//! that are read where they are written (a lifted call is one).
//!
//! Before:  `w[i] = smooth(x)[i] * y[i]`
//! After:   `t = smooth(x); w[i] = t[i] * y[i]`
//!
//! What flows back into such a call would be collected, and sent through its body, for every point
//! of the loops, though the points share one value: an adjoint of the function for each of them
//! instead of one (loop-invariant code motion). It is the same for sums, comprehensions and steps of
//! recurrences.
//!
//! Needs: a call that is made whatever the point is, which gives an array, several values, or a number
//! that takes a loop; or a definition of which a cell is read.
//! Refuses: calls beside conditions that no index decides: what is not made need not succeed. So it is in
//! branches that some points take, and in a loop that has points only beside some points of the loops
//! around it, unless the call cannot fail.

use super::fails::{Runs, runs_beside};
use super::{Done, Reverse, Seed, Step, replace_vars};
use crate::autodiff::let_stmt;
use crate::autodiff::loops::bound_in;
use ein_ir::size::Facts;
use ein_ir::tensor::walk::{any, each_child_mut, each_in_stmt_mut};
use ein_ir::tensor::{
    AtomDef, Binder, Clause, ClauseSlot, CompClause, Expr, ExprKind, Item, Stmt, StmtKind, Type,
    VarId,
};
use rustc_hash::FxHashSet;

/// The loops around a call that it need not be in.
#[derive(Clone)]
struct Crossed {
    /// The indices of these and of all loops around them.
    before: FxHashSet<VarId>,
    /// What all of them say about their indices.
    facts: Facts,
    /// How surely these have points; `None` if there are none.
    runs: Option<Runs>,
}

impl Reverse<'_, '_> {
    /// Pulls back through a loop, with its calls made before it, if there are such.
    pub(super) fn pull_outside(&mut self, e: &Expr, seed: &Seed, own: Option<&Expr>) -> Done<bool> {
        let Some((calls, rest)) = self.outside(e) else { return Ok(false) };
        let mut bound = Vec::new();
        for (var, call) in &calls {
            self.local(*var, call, &mut bound);
        }
        self.pull_value(&rest, seed.clone(), own.cloned())?;
        self.settle_all(&bound)?;
        Ok(true)
    }

    /// The calls that the loops in a value need not repeat, and the value that reads them instead.
    pub(super) fn outside(&mut self, e: &Expr) -> Option<(Vec<(VarId, Expr)>, Expr)> {
        if !has_calls_in_loops(e) {
            return None;
        }
        let mut bound = FxHashSet::default();
        bound_in(e, &mut bound);
        let mut copy = e.clone();
        let mut calls = Vec::new();
        let facts = self.path_facts();
        let before = path_indices(self);
        let crossed = Crossed { before, facts: facts.clone(), runs: None };
        self.take_calls(&mut copy, (&bound, &facts), &crossed, &mut calls);
        (!calls.is_empty()).then_some((calls, copy))
    }

    /// Names the calls in a clause that do not mention all its indices. Returns whether there are some.
    pub(super) fn name_calls(&mut self, clause: &mut Clause) -> bool {
        let mut inner = FxHashSet::default();
        bound_in(&clause.value, &mut inner);
        let mut calls = Vec::new();
        let (mut facts, mut before) = (self.path_facts(), path_indices(self));
        for (_, binder) in clause.indices() {
            self.loop_facts(binder, &mut facts);
            before.insert(binder.var);
        }
        let crossed = Crossed { before, facts: facts.clone(), runs: Some(Runs::Surely) };
        self.take_calls(&mut clause.value, (&inner, &facts), &crossed, &mut calls);
        if calls.is_empty() {
            return false;
        }
        let stmts = calls.into_iter().map(|(var, call)| let_stmt(var, call)).collect();
        let (ty, span) = (clause.value.ty.clone(), clause.value.span);
        let value = std::mem::replace(&mut clause.value, Expr::error(span));
        clause.value = Expr::new(ExprKind::Block { stmts, value }, ty, span);
        true
    }

    /// Takes out the calls that mention none of the names bound in the value; the facts are those of
    /// the place where they will stand.
    fn take_calls(
        &mut self,
        e: &mut Expr,
        place: (&FxHashSet<VarId>, &Facts),
        crossed: &Crossed,
        calls: &mut Vec<(VarId, Expr)>,
    ) {
        if let Some(runs) = crossed.runs {
            let read = in_place(e).is_some_and(|base| self.is_shared(base, place.0));
            let whole = match &mut *e.kind {
                ExprKind::Index { base, .. } if read => base,
                _ => &mut *e,
            };
            if (read || self.is_shared_call(whole, place.0))
                && may_leave(self, whole, runs, place.1)
            {
                let var = self.pass.local("$c", whole.ty.clone(), whole.span);
                let name = self.pass.var(var, whole.span);
                calls.push((var, std::mem::replace(whole, name)));
                if !read {
                    return;
                }
            }
        }
        if let ExprKind::Block { stmts, value } = &mut *e.kind
            && let Some(runs) = crossed.runs
        {
            self.take_bindings(stmts, value, place, runs, calls);
        }
        let inside;
        let mut crossed = crossed;
        if is_loop(e) {
            if !self.is_open_to_some(e, place.0) {
                return;
            }
            inside = crossing(self, e, crossed);
            crossed = &inside;
        }
        match &mut *e.kind {
            ExprKind::If { cond, then, otherwise } => {
                self.take_calls(cond, place, crossed, calls);
                // Where points decide, some of them take each branch.
                if crossed.runs.is_some() && self.mentions_one_of(cond, &crossed.before) {
                    let beside = Crossed { runs: Some(Runs::Perhaps), ..crossed.clone() };
                    self.take_calls(then, place, &beside, calls);
                    self.take_calls(otherwise, place, &beside, calls);
                }
            }
            ExprKind::And(first, _) | ExprKind::Or(first, _) => {
                self.take_calls(first, place, crossed, calls);
            }
            ExprKind::Match { value, .. } => self.take_calls(value, place, crossed, calls),
            ExprKind::Try(_) | ExprKind::Closure { .. } => {}
            _ => each_child_mut(e, &mut |child| self.take_calls(child, place, crossed, calls)),
        }
    }

    /// Takes out the arrays that a block binds and all points share, as what it reads of them would not be
    /// shared otherwise.
    fn take_bindings(
        &mut self,
        stmts: &mut Vec<Stmt>,
        value: &mut Expr,
        place: (&FxHashSet<VarId>, &Facts),
        runs: Runs,
        calls: &mut Vec<(VarId, Expr)>,
    ) {
        let mut at = 0;
        while let Some(stmt) = stmts.get(at) {
            at += 1;
            let StmtKind::Let(var, bound) = &stmt.kind else { continue };
            let (var, bound) = (*var, bound.clone());
            // A size that is an extent of it stays with its name.
            let sized = self.pass.program.atoms.iter().any(|atom| match atom.def {
                AtomDef::Var(of) | AtomDef::Extent(of, _) | AtomDef::Length(of) => of == var,
                AtomDef::Unknown => false,
            });
            if sized
                || !bound.ty.is_array()
                || !self.is_shared(&bound, place.0)
                || !may_leave(self, &bound, runs, place.1)
            {
                continue;
            }
            let new = self.pass.local("$c", bound.ty.clone(), bound.span);
            let with = [(var, self.pass.var(new, bound.span))].into_iter().collect();
            calls.push((new, bound));
            at -= 1;
            stmts.remove(at);
            for stmt in &mut stmts[at..] {
                each_in_stmt_mut(stmt, &mut |e| replace_vars(e, &with));
            }
            replace_vars(value, &with);
        }
    }

    /// Whether each condition of a loop depends on the point, so that it leaves some points.
    fn is_open_to_some(&self, e: &Expr, bound: &FxHashSet<VarId>) -> bool {
        let decided = |condition: &Expr| self.mentions_one_of(condition, bound);
        let items = |items: &[Item]| {
            items.iter().all(|item| match item {
                Item::Guard(condition) => decided(condition),
                Item::Let(..) => true,
            })
        };
        match &*e.kind {
            ExprKind::Reduce(reduce) => items(&reduce.items),
            ExprKind::Scatter(scatter) => items(&scatter.items),
            ExprKind::Tensor(tensor) => tensor.clauses.iter().all(|clause| items(&clause.items)),
            ExprKind::Comprehension { clauses, .. } => clauses.iter().all(|clause| match clause {
                CompClause::Condition(condition) => decided(condition),
                CompClause::Generator(..) | CompClause::Binding(..) => true,
            }),
            _ => true,
        }
    }

    /// Whether this is a call that all points share, and something flows back to it.
    fn is_shared_call(&self, e: &Expr, bound: &FxHashSet<VarId>) -> bool {
        let dear = match &*e.kind {
            ExprKind::Call { .. } | ExprKind::CallValue { .. } => {
                !matches!(e.ty, Type::Scalar(_)) || self.costly(e)
            }
            _ => false,
        };
        dear && self.is_shared(e, bound)
    }

    /// Whether all points share a value, and something flows back to it.
    fn is_shared(&self, e: &Expr, bound: &FxHashSet<VarId>) -> bool {
        let numbers = matches!(e.ty.elem(), Type::Scalar(_) | Type::Tuple(_) | Type::Data(..));
        let sizes = e.ty.axes().iter().all(|axis| {
            let mut found = FxHashSet::default();
            self.size_variables(&axis.size, &mut found);
            found.is_disjoint(bound)
        });
        numbers && sizes && self.depends(e) && !self.mentions_one_of(e, bound)
    }

    fn mentions_one_of(&self, e: &Expr, vars: &FxHashSet<VarId>) -> bool {
        let (mut found, mut own) = (FxHashSet::default(), FxHashSet::default());
        self.variables(e, &mut found);
        bound_in(e, &mut own);
        found.iter().any(|var| vars.contains(var) && !own.contains(var))
    }
}

/// The definition, or the block with one, that a cell is read of where it is written.
fn in_place(e: &Expr) -> Option<&Expr> {
    match &*e.kind {
        ExprKind::Index { base, .. } => {
            let written = matches!(
                &*base.kind,
                ExprKind::Tensor(_)
                    | ExprKind::Scatter(_)
                    | ExprKind::Comprehension { .. }
                    | ExprKind::Block { .. }
            );
            written.then_some(base)
        }
        _ => None,
    }
}

fn has_calls_in_loops(e: &Expr) -> bool {
    any(e, &mut |part| {
        is_loop(part)
            && any(part, &mut |inner| {
                matches!(&*inner.kind, ExprKind::Call { .. } | ExprKind::CallValue { .. })
                    || in_place(inner).is_some()
            })
    })
}

fn is_loop(e: &Expr) -> bool {
    matches!(
        &*e.kind,
        ExprKind::Reduce(_)
            | ExprKind::Tensor(_)
            | ExprKind::Scatter(_)
            | ExprKind::Comprehension { .. }
    )
}

/// Whether a call may be made where the loops it is in have no points. Where that is so for all
/// points or for none, only its arguments are looked at: they are what the extents protect.
fn may_leave(it: &mut Reverse<'_, '_>, call: &Expr, runs: Runs, facts: &Facts) -> bool {
    match (runs, &*call.kind) {
        (Runs::Surely, _) => true,
        (Runs::Alike, ExprKind::Call { args, .. } | ExprKind::CallValue { args, .. }) => {
            args.iter().all(|arg| it.never_fails(arg, facts))
        }
        (Runs::Alike | Runs::Perhaps, _) => it.never_fails(call, facts),
    }
}

/// What is around the inside of a loop.
fn crossing(it: &mut Reverse<'_, '_>, e: &Expr, crossed: &Crossed) -> Crossed {
    let mut inside = crossed.clone();
    let mut runs = inside.runs.unwrap_or(Runs::Surely);
    let mut enter = |it: &mut Reverse<'_, '_>, binder: &Binder, inside: &mut Crossed| {
        runs = runs.and(runs_beside(it, binder, &inside.before, &inside.facts));
        inside.before.insert(binder.var);
        it.loop_facts(binder, &mut inside.facts);
    };
    let mut items: Vec<&Item> = Vec::new();
    match &*e.kind {
        ExprKind::Reduce(reduce) => {
            reduce.binders.iter().for_each(|one| enter(it, one, &mut inside));
            items.extend(&reduce.items);
        }
        ExprKind::Scatter(scatter) => {
            scatter.binders.iter().for_each(|one| enter(it, one, &mut inside));
            items.extend(&scatter.items);
        }
        ExprKind::Tensor(tensor) => {
            for clause in &tensor.clauses {
                for slot in &clause.slots {
                    if let ClauseSlot::Loop(binder) = slot {
                        enter(it, binder, &mut inside);
                    }
                }
                items.extend(&clause.items);
            }
        }
        _ => runs = runs.and(Runs::Alike),
    }
    for item in items {
        if let Item::Guard(condition) = item {
            let others = it.mentions_one_of(condition, &crossed.before);
            runs = runs.and(if others { Runs::Perhaps } else { Runs::Alike });
        }
    }
    inside.runs = Some(runs);
    inside
}

/// The indices of the loops on the way.
fn path_indices(it: &Reverse<'_, '_>) -> FxHashSet<VarId> {
    let index = |at: &usize| match &it.steps[*at] {
        Step::Loop(binder) => Some(binder.var),
        Step::Let(..) | Step::Guard(_) => None,
    };
    it.path.iter().filter_map(index).collect()
}
