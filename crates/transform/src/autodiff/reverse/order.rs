//! The order of steps after loops were solved for.
//!
//! Before:  `i: 0..n; if even(i); k: 0..3`, where `i` is solved as `p - k`
//! After:   `k: 0..3; if even(p - k)`
//!
//! What mentioned a loop that is gone mentions what that is equal to, and so perhaps loops that
//! begin further in. Bindings and conditions move there. The domain of a loop cannot: a loop on
//! which the domain of another depends is not solved for by that other one.
//!
//! Failures: bindings and conditions keep their order, so that a condition still stands before what
//! it protects. A domain that reads an array is protected as well: no condition before its loop moves
//! behind it.

use super::{Reverse, Step};
use ein_ir::size;
use ein_ir::tensor::walk::any;
use ein_ir::tensor::{Binder, Expr, ExprKind, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

impl Reverse<'_, '_> {
    /// Whether the domain of every loop that is left depends only on loops before it.
    pub(super) fn domains_known(
        &self,
        steps: &[Step],
        loops: &[(usize, Binder)],
        solved: &FxHashMap<VarId, size::Expr>,
    ) -> bool {
        if !domains_protected(self, steps, loops, solved) {
            return false;
        }
        let mut before: FxHashSet<VarId> = FxHashSet::default();
        let left: FxHashSet<VarId> = loops.iter().map(|(_, binder)| binder.var).collect();
        loops.iter().all(|(_, binder)| {
            let mut used = FxHashSet::default();
            self.variables(&binder.lo, &mut used);
            self.variables(&binder.hi, &mut used);
            let reached = self.reached(used, steps, solved);
            let known = reached.iter().all(|var| !left.contains(var) || before.contains(var));
            before.insert(binder.var);
            known
        })
    }

    /// Everything that variables depend on: through bindings, and through what is solved.
    fn reached(
        &self,
        from: FxHashSet<VarId>,
        steps: &[Step],
        solved: &FxHashMap<VarId, size::Expr>,
    ) -> FxHashSet<VarId> {
        let mut reached = FxHashSet::default();
        let mut open: Vec<VarId> = from.into_iter().collect();
        while let Some(var) = open.pop() {
            if !reached.insert(var) {
                continue;
            }
            let mut more = FxHashSet::default();
            if let Some(value) = solved.get(&var) {
                self.size_variables(value, &mut more);
            }
            for step in steps {
                match step {
                    Step::Let(own, value) if *own == var => self.variables(value, &mut more),
                    Step::Let(..) | Step::Loop(_) | Step::Guard(_) => {}
                }
            }
            open.extend(more);
        }
        reached
    }

    /// The steps with bindings and conditions behind the loops that they mention.
    pub(super) fn in_order(&self, steps: Vec<Step>) -> Vec<Step> {
        let mut later: FxHashSet<VarId> = steps.iter().filter_map(loop_of).collect();
        let mut ordered = Vec::with_capacity(steps.len());
        let mut waiting: Vec<Step> = Vec::new();
        for step in steps {
            if let Some(var) = loop_of(&step) {
                later.remove(&var);
                ordered.push(step);
                // Each in its turn: what comes first protects the others.
                let ready = waiting.iter().take_while(|step| !self.mentions_any(step, &later));
                let ready = ready.count();
                ordered.extend(waiting.drain(..ready));
            } else if waiting.is_empty() && !self.mentions_any(&step, &later) {
                ordered.push(step);
            } else {
                waiting.push(step);
            }
        }
        ordered.extend(waiting);
        ordered
    }

    fn mentions_any(&self, step: &Step, vars: &FxHashSet<VarId>) -> bool {
        let mut used = FxHashSet::default();
        let mut look = |e: &Expr| self.variables(e, &mut used);
        match step {
            Step::Let(_, e) | Step::Guard(e) => look(e),
            Step::Loop(binder) => {
                look(&binder.lo);
                look(&binder.hi);
            }
        }
        !used.is_disjoint(vars)
    }
}

/// Whether the conditions before each loop whose domain may fail stay before it.
fn domains_protected(
    it: &Reverse<'_, '_>,
    steps: &[Step],
    loops: &[(usize, Binder)],
    solved: &FxHashMap<VarId, size::Expr>,
) -> bool {
    let reads = |e: &Expr| any(e, &mut |part| !is_arithmetic(part));
    let mut later: FxHashSet<VarId> = loops.iter().map(|(_, binder)| binder.var).collect();
    let mut waits = false;
    for step in steps {
        match step {
            Step::Loop(binder) => {
                if waits && later.contains(&binder.var) && (reads(&binder.lo) || reads(&binder.hi))
                {
                    return false;
                }
                later.remove(&binder.var);
            }
            Step::Guard(cond) => {
                let mut used = FxHashSet::default();
                it.variables(cond, &mut used);
                waits |= !it.reached(used, steps, solved).is_disjoint(&later);
            }
            Step::Let(..) => {}
        }
    }
    true
}

/// Whether an expression is made of integers alone.
fn is_arithmetic(e: &Expr) -> bool {
    matches!(
        &*e.kind,
        ExprKind::Const(_)
            | ExprKind::Var(_)
            | ExprKind::Size(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::Cast(_)
            | ExprKind::If { .. }
            | ExprKind::And(..)
            | ExprKind::Or(..)
    )
}

fn loop_of(step: &Step) -> Option<VarId> {
    match step {
        Step::Loop(binder) => Some(binder.var),
        Step::Let(..) | Step::Guard(_) => None,
    }
}
