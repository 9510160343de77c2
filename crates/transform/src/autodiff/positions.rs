//! Positions of every type of integer, as the derivative computes with them: in `i32`, which is the
//! type of index variables.

use ein_ir::tensor::walk::each_child_mut;
use ein_ir::tensor::{Binder, ClauseSlot, Expr, ExprKind, Type};
use ein_scalar::{BinaryOp, Scalar, ScalarType, cast};

/// Makes all positions and ends of domains of a copy `i32`. The original is evaluated before the
/// copy, and found each of them inside of its array, so no value changes.
pub(super) fn narrow(e: &mut Expr) {
    narrow_by(e, as_index);
}

/// The same for code that nothing is evaluated before: the body of a rule.
pub(super) fn narrow_unseen(e: &mut Expr) {
    narrow_by(e, checked);
}

fn narrow_by(e: &mut Expr, by: fn(Expr) -> Expr) {
    each_child_mut(e, &mut |child| narrow_by(child, by));
    let index = |e: &mut Expr| {
        if of_other_type(e).is_some() {
            let span = e.span;
            *e = by(std::mem::replace(e, Expr::error(span)));
        }
    };
    let binder = |binder: &mut Binder| {
        index(&mut binder.lo);
        index(&mut binder.hi);
    };
    match &mut *e.kind {
        ExprKind::Index { indices, .. } => {
            indices.iter_mut().for_each(|at| index(&mut at.value));
        }
        ExprKind::Slice { lo, hi, .. } => lo.iter_mut().chain(hi).for_each(index),
        ExprKind::Reduce(reduce) => reduce.binders.iter_mut().for_each(binder),
        ExprKind::Tensor(tensor) => {
            for slot in tensor.clauses.iter_mut().flat_map(|clause| &mut clause.slots) {
                if let ClauseSlot::Loop(range) = slot {
                    binder(range);
                }
            }
        }
        _ => {}
    }
}

/// A position that nothing has looked at yet, as `i32`: one that is too large stays too large.
pub(super) fn checked(e: Expr) -> Expr {
    let Some((lo, hi)) = of_other_type(&e).and_then(ScalarType::int_range) else { return e };
    let (span, ty) = (e.span, e.ty.clone());
    let within = |e: Expr, op: BinaryOp, limit: i32| {
        let Type::Scalar(scalar) = ty else { return e };
        let limit = Expr::new(ExprKind::Const(cast(Scalar::I32(limit), scalar)), ty.clone(), span);
        Expr::new(ExprKind::Binary(op, e, limit), ty.clone(), span)
    };
    let e = if hi > i128::from(i32::MAX) { within(e, BinaryOp::Min, i32::MAX) } else { e };
    let e = if lo < i128::from(i32::MIN) { within(e, BinaryOp::Max, -1) } else { e };
    as_index(e)
}

fn of_other_type(e: &Expr) -> Option<ScalarType> {
    match e.ty {
        Type::Scalar(ty) if ty.is_int() && ty != ScalarType::I32 => Some(ty),
        _ => None,
    }
}

fn as_index(e: Expr) -> Expr {
    let span = e.span;
    let kind = match &*e.kind {
        ExprKind::Const(value) => ExprKind::Const(cast(*value, ScalarType::I32)),
        _ => ExprKind::Cast(e),
    };
    Expr::new(kind, Type::I32, span)
}
