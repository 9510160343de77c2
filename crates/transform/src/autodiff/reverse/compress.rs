//! Elements that a mask keeps: what flows back goes to where each of them was.
//!
//! Before:  `k = x[m]`, and `k'` flows back
//! After:   `at[i] = sum(j in 0..i) (if m[j] { 1 } else { 0 })`, `x'[i] = if m[i] { k'[at[i]] } else { 0 }`:
//!          the counts are a scan, so all of it is one pass
//!
//! Failures: a mask of another length has failed before, where the elements were kept; counts of a
//! position are less than its extent.

use super::lift::zero_of;
use super::{Done, Reverse, element, unsupported};
use crate::autodiff::tensor::defined;
use ein_base::Span;
use ein_ir::tensor::{Axis, Binder, ClauseSlot, Expr, ExprKind, Reduce, ReduceOp, Type};

/// The cotangent of the array of which a mask keeps elements, from that of those.
pub(super) fn spread(
    it: &mut Reverse<'_, '_>,
    inner: &Expr,
    mask: &Expr,
    bar: Expr,
    span: Span,
) -> Done<Expr> {
    let Some((axis, _)) = inner.ty.axes().split_first() else {
        return unsupported("a mask of an array whose rank is not known");
    };
    let extent = axis.size.clone();
    if !matches!(inner.ty.elem(), Type::Scalar(_)) {
        return unsupported("a mask of what holds no numbers");
    }
    if mask.ty.rank() != 1 || inner.ty.axes().len() != bar.ty.axes().len() {
        return unsupported("a mask whose rank is not known");
    }
    let bar = match &*bar.kind {
        ExprKind::Var(_) => bar,
        _ => it.bind("$bar", bar),
    };
    let mask = it.prim(mask);
    let mask = it.bind("$mask", mask);
    let binder = |it: &mut Reverse<'_, '_>, hi: Expr| {
        let var = it.pass.local("$i", Type::I32, span);
        (Binder { var, lo: Expr::int(0, span), hi }, it.pass.var(var, span))
    };
    // How many are kept before each.
    let (slot, here) = binder(it, Expr::size(extent.clone(), span));
    let (before, there) = binder(it, here);
    let kept = element(mask.clone(), &[there], span);
    let [one, none] = [1, 0].map(|count| Expr::int(count, span));
    let value = Expr::new(ExprKind::If { cond: kept, then: one, otherwise: none }, Type::I32, span);
    let (op, binders) = (ReduceOp::Sum, vec![before]);
    let count = Reduce { op, binders, items: Vec::new(), value, requires: Vec::new() };
    let count = Expr::new(ExprKind::Reduce(count), Type::I32, span);
    let ty = Type::array(Type::I32, vec![Axis::anonymous(extent)]);
    let counts = it.bind("$at", defined(vec![ClauseSlot::Loop(slot)], count, ty, span));
    let (mut slots, mut at) = (Vec::new(), Vec::new());
    for axis in inner.ty.axes() {
        let (slot, here) = binder(it, Expr::size(axis.size.clone(), span));
        slots.push(ClauseSlot::Loop(slot));
        at.push(here);
    }
    let cond = element(mask, &at[..1], span);
    let mut place = at.clone();
    place[0] = element(counts, &at[..1], span);
    let then = element(bar, &place, span);
    let elem = inner.ty.elem().clone();
    let otherwise = zero_of(&elem, span);
    let value = Expr::new(ExprKind::If { cond, then, otherwise }, elem, span);
    Ok(it.bind("$bar", defined(slots, value, inner.ty.clone(), span)))
}
