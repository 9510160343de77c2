//! Products without one factor, for all factors at once.
//!
//! Before:  `prod[k](f[k])`, whose slope at `k` is `prod[j](f[j] where j != k)`
//! After:   `up[k] = up[k - 1] * f[k - 1]; down[k] = down[k + 1] * f[k + 1];`, the slope `up[k] * down[k]`
//!
//! Nothing is divided, so zeros and infinities are as right as in the product itself, and the work is
//! linear in the number of factors.
//!
//! Refuses: short products, domains that are not constant, guards inside (the plain form is used).

use super::{Reverse, Step, element};
use crate::autodiff::let_stmt;
use ein_ir::tensor::{
    Binder, Clause, ClauseSlot, Expr, ExprKind, Recurrence, RecurrenceAxis, Reduce, Tensor, Type,
};
use ein_scalar::BinaryOp;

/// Shorter products are written out.
const SHORT: i64 = 6;

impl Reverse<'_, '_> {
    /// The product of all other factors at the point of `reduce`, which is about to be entered, read
    /// from two running products.
    pub(super) fn running_products(&mut self, reduce: &Reduce) -> Option<Expr> {
        let [binder] = reduce.binders.as_slice() else { return None };
        let lo = self.pass.size_of(&binder.lo)?.as_constant()?;
        let hi = self.pass.size_of(&binder.hi)?.as_constant()?;
        if !reduce.items.is_empty() || hi - lo < SHORT {
            return None;
        }
        let mark = self.path.len();
        self.push(Step::Loop(binder.clone()));
        let factors = self.definition("$r", &reduce.value);
        self.path.truncate(mark);
        let factors = factors?;
        let ExprKind::Index { base, indices } = &*factors.kind else { return None };
        let last = indices.last()?;
        if !matches!(&*last.value.kind, ExprKind::Var(var) if *var == binder.var) {
            return None;
        }
        let at: Vec<Expr> = indices.iter().map(|index| index.value.clone()).collect();
        let up = self.running(base, (lo, hi), false);
        let down = self.running(base, (lo, hi), true);
        let span = reduce.value.span;
        let (up, down) = (element(up, &at, span), element(down, &at, span));
        Some(self.product(up, down))
    }

    /// The products of the factors before each one, or after it, along the last axis.
    fn running(&mut self, factors: &Expr, (lo, hi): (i64, i64), backward: bool) -> Expr {
        let (ty, span) = (factors.ty.clone(), factors.span);
        let own = self.pass.local("$s", ty.clone(), span);
        let (first, rest, step) =
            if backward { (hi - 1, (lo, hi - 1), 1) } else { (lo, (lo + 1, hi), -1) };
        let mut clauses = Vec::new();
        for start in [true, false] {
            let mut slots = Vec::new();
            let mut at = Vec::new();
            for axis in &ty.axes()[..ty.rank() - 1] {
                let var = self.pass.local("$i", Type::I32, span);
                let hi = Expr::size(axis.size.clone(), span);
                slots.push(ClauseSlot::Loop(Binder { var, lo: Expr::int(0, span), hi }));
                at.push(self.pass.var(var, span));
            }
            let value = if start {
                slots.push(ClauseSlot::Point(first));
                self.pass.number(&ty, 1.0, span)
            } else {
                let var = self.pass.local("$i", Type::I32, span);
                let (lo, hi) = (Expr::int(rest.0, span), Expr::int(rest.1, span));
                slots.push(ClauseSlot::Loop(Binder { var, lo, hi }));
                let here = self.pass.var(var, span);
                at.push(self.pass.arith(BinaryOp::Add, here, Expr::int(step, span)));
                let before = element(self.pass.var(own, span), &at, span);
                self.pass.times(before, element(factors.clone(), &at, span))
            };
            clauses.push(Clause {
                slots,
                items: Vec::new(),
                value,
                otherwise: None,
                until: None,
                span,
            });
        }
        let axis = ty.rank() - 1;
        let tensor = Tensor {
            name: None,
            self_var: Some(own),
            shape: ty.axes().iter().map(|axis| Some(axis.size.clone())).collect(),
            inner_rank: 0,
            clauses,
            recurrence: Some(Box::new(Recurrence {
                axes: vec![RecurrenceAxis { axis, backward }],
                lookback: Some(1),
                adjoint: false,
            })),
            requires: Vec::new(),
        };
        let var = self.pass.local("$r", ty.clone(), span);
        self.out.push(let_stmt(var, Expr::new(ExprKind::Tensor(tensor), ty, span)));
        self.pass.var(var, span)
    }
}
