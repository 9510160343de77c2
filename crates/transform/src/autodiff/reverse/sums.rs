//! Sums over the steps on the way to a point, in the plainest form: conditions that no index of the
//! sum decides stand outside it, bindings that nothing needs are left out.
//!
//! Failures: what stands outside is asked for even where the sum has no points, or where another
//! condition does not hold. So only conditions that never fail are moved.

use super::pull::constant;
use super::{Reverse, Step};
use crate::autodiff::let_stmt;
use ein_ir::size::Facts;
use ein_ir::tensor::{Binder, Expr, ExprKind, Item, Reduce, ReduceOp, VarId};
use ein_scalar::{BinaryOp, Scalar};
use rustc_hash::FxHashSet;

impl Reverse<'_, '_> {
    /// The steps without bindings that neither the value nor `others` need.
    pub(super) fn needed(&self, steps: Vec<Step>, value: &Expr, others: &[&Expr]) -> Vec<Step> {
        let mut wanted = FxHashSet::default();
        self.variables(value, &mut wanted);
        others.iter().for_each(|e| self.variables(e, &mut wanted));
        let mut kept = Vec::new();
        for step in steps.into_iter().rev() {
            match &step {
                Step::Let(var, value) => {
                    if !wanted.contains(var) {
                        continue;
                    }
                    self.variables(value, &mut wanted);
                }
                Step::Guard(cond) => {
                    if matches!(&*cond.kind, ExprKind::Const(Scalar::Bool(true))) {
                        continue;
                    }
                    self.variables(cond, &mut wanted);
                }
                Step::Loop(binder) => {
                    self.variables(&binder.lo, &mut wanted);
                    self.variables(&binder.hi, &mut wanted);
                }
            }
            kept.push(step);
        }
        kept.reverse();
        kept
    }

    /// Puts bindings that are used once where they are used.
    fn without_single_uses(&self, steps: Vec<Step>, mut value: Expr) -> (Vec<Step>, Expr) {
        let mut steps = steps;
        let mut at = steps.len();
        while at > 0 {
            at -= 1;
            let Step::Let(var, bound) = &steps[at] else { continue };
            let mut uses = super::recurrence::count(&value, *var);
            for step in &steps[at + 1..] {
                uses += match step {
                    Step::Loop(binder) => {
                        super::recurrence::count(&binder.lo, *var)
                            + super::recurrence::count(&binder.hi, *var)
                    }
                    Step::Let(_, e) | Step::Guard(e) => super::recurrence::count(e, *var),
                };
            }
            let simple = super::pull::is_name(bound);
            let once =
                uses == 1 && matches!(bound.ty, ein_ir::tensor::Type::Scalar(s) if s.is_float());
            if !(once || simple && !bound.ty.is_array()) || bound.ty == ein_ir::tensor::Type::I32 {
                continue;
            }
            let mut with = rustc_hash::FxHashMap::default();
            with.insert(*var, bound.clone());
            steps.remove(at);
            for step in &mut steps[at..] {
                match step {
                    Step::Loop(_) => {}
                    Step::Let(_, e) | Step::Guard(e) => super::lift::replace_vars(e, &with),
                }
            }
            super::lift::replace_vars(&mut value, &with);
        }
        (steps, value)
    }

    /// The sum of a value over the points of the steps; `facts` are about the place it stands at.
    pub(super) fn sum_over(&mut self, steps: Vec<Step>, value: Expr, facts: &Facts) -> Expr {
        let steps = self.needed(steps, &value, &[]);
        let (steps, value) = self.without_single_uses(steps, value);
        self.sum_of(&steps, value, facts)
    }

    fn sum_of(&mut self, steps: &[Step], value: Expr, facts: &Facts) -> Expr {
        let (ty, span) = (value.ty.clone(), value.span);
        let Some((first, rest)) = steps.split_first() else { return value };
        match first {
            Step::Guard(cond) => {
                let then = self.sum_of(rest, value, facts);
                let otherwise = super::lift::zero_of(&ty, span);
                let kind = ExprKind::If { cond: cond.clone(), then, otherwise };
                return Expr::new(kind, ty, span);
            }
            Step::Let(var, bound) => {
                let value = self.sum_of(rest, value, facts);
                let stmts = vec![let_stmt(*var, bound.clone())];
                return Expr::new(ExprKind::Block { stmts, value }, ty, span);
            }
            Step::Loop(_) => {}
        }
        // As many loops as possible at once, then what stands between them and does not decide them.
        let mut binders: Vec<Binder> = Vec::new();
        let mut items: Vec<Item> = Vec::new();
        let mut inside: FxHashSet<VarId> = FxHashSet::default();
        let mut outside: Vec<Expr> = Vec::new();
        let mut after = steps.len();
        for (at, step) in steps.iter().enumerate() {
            match step {
                Step::Loop(binder) => {
                    let mut used = FxHashSet::default();
                    self.variables(&binder.lo, &mut used);
                    self.variables(&binder.hi, &mut used);
                    // A domain that is no size may fail, so conditions before it stay before it.
                    let safe = self.pass.size_of(&binder.lo).is_some()
                        && self.pass.size_of(&binder.hi).is_some();
                    let bound = items.iter().any(|item| match item {
                        Item::Let(var, _) => used.contains(var),
                        Item::Guard(_) => !safe,
                    });
                    if bound {
                        after = at;
                        break;
                    }
                    inside.insert(binder.var);
                    binders.push(binder.clone());
                }
                Step::Let(var, value) => {
                    inside.insert(*var);
                    items.push(Item::Let(*var, value.clone()));
                }
                Step::Guard(cond) => {
                    let mut used = FxHashSet::default();
                    self.variables(cond, &mut used);
                    if used.is_disjoint(&inside) && self.never_fails(cond, facts) {
                        outside.push(cond.clone());
                    } else {
                        items.push(Item::Guard(cond.clone()));
                    }
                }
            }
        }
        // Constant factors stand before the sum, so that a matrix product is seen as one.
        let (factor, value) = self.constant_factor(value);
        let value = self.sum_of(&steps[after..], value, facts);
        let reduce = Reduce { op: ReduceOp::Sum, binders, items, value, requires: Vec::new() };
        let mut result = Expr::new(ExprKind::Reduce(reduce), ty.clone(), span);
        if let Some(factor) = factor {
            result = self.product(factor, result);
        }
        for cond in outside.into_iter().rev() {
            let otherwise = super::lift::zero_of(&ty, span);
            let kind = ExprKind::If { cond, then: result, otherwise };
            result = Expr::new(kind, ty.clone(), span);
        }
        result
    }

    /// The constant factors of a product, and the rest.
    fn constant_factor(&self, value: Expr) -> (Option<Expr>, Expr) {
        let ExprKind::Binary(BinaryOp::Mul, a, b) = &*value.kind else { return (None, value) };
        match (constant(a), constant(b)) {
            (Some(_), Some(_)) => (None, value),
            (Some(_), None) => {
                let (inner, rest) = self.constant_factor(b.clone());
                let factor = inner.map_or(a.clone(), |inner| self.product(a.clone(), inner));
                (Some(factor), rest)
            }
            (None, Some(_)) => {
                let (inner, rest) = self.constant_factor(a.clone());
                let factor = inner.map_or(b.clone(), |inner| self.product(b.clone(), inner));
                (Some(factor), rest)
            }
            (None, None) => {
                let ((p, x), (q, y)) =
                    (self.constant_factor(a.clone()), self.constant_factor(b.clone()));
                let factor = match (p, q) {
                    (Some(p), Some(q)) => Some(self.product(p, q)),
                    (p, q) => p.or(q),
                };
                match factor {
                    Some(factor) => (Some(factor), self.product(x, y)),
                    None => (None, value),
                }
            }
        }
    }

    /// `a + b`, zero left out.
    pub(super) fn plus(&self, a: Option<Expr>, b: Expr) -> Expr {
        match a {
            None => b,
            Some(a) => match *b.kind {
                ExprKind::Unary(ein_scalar::UnaryOp::Neg, inner) => {
                    self.pass.arith(BinaryOp::Sub, a, inner)
                }
                _ => self.pass.arith(BinaryOp::Add, a, b),
            },
        }
    }
}

/// A value under bindings and guards.
pub(super) fn with_items(items: Vec<Item>, value: Expr, zero: impl Fn() -> Expr) -> Expr {
    let mut result = value;
    for item in items.into_iter().rev() {
        let (ty, span) = (result.ty.clone(), result.span);
        result = match item {
            Item::Let(var, value) => {
                let stmts = vec![let_stmt(var, value)];
                Expr::new(ExprKind::Block { stmts, value: result }, ty, span)
            }
            Item::Guard(cond) => {
                let kind = ExprKind::If { cond, then: result, otherwise: zero() };
                Expr::new(kind, ty, span)
            }
        };
    }
    result
}
