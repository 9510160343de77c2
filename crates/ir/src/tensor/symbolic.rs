//! From expressions to the symbolic algebra.

use super::{Expr, ExprKind, Type};
use crate::size;
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};

/// The value of an integer expression in the symbolic algebra, where it has one. `leaf` gives the
/// values of what is no arithmetic: variables, and calls where they are known. Arithmetic of the language traps on overflow, so a value that exists
/// equals the mathematical one.
pub fn to_size(e: &Expr, leaf: &dyn Fn(&Expr) -> Option<size::Expr>) -> Option<size::Expr> {
    match e.ty {
        Type::Scalar(ty) if ty.is_int() => {}
        _ => return None,
    }
    match &*e.kind {
        ExprKind::Const(value) => Some(size::Expr::constant(value.as_i64()?)),
        ExprKind::Size(size) => Some(size.clone()),
        ExprKind::Var(_) | ExprKind::Call { .. } => leaf(e),
        ExprKind::Unary(UnaryOp::Neg, a) => Some(to_size(a, leaf)?.neg()),
        ExprKind::Unary(UnaryOp::Abs, a) => {
            let a = to_size(a, leaf)?;
            Some(a.max(&a.neg()))
        }
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (to_size(a, leaf)?, to_size(b, leaf)?);
            match op {
                BinaryOp::Add => Some(a.add(&b)),
                BinaryOp::Sub => Some(a.sub(&b)),
                BinaryOp::Mul => Some(a.mul(&b)),
                BinaryOp::Div => Some(a.div_trunc(&b)),
                BinaryOp::Rem => Some(a.rem(&b)),
                BinaryOp::FloorDiv => Some(a.div_floor(&b)),
                BinaryOp::FloorMod => Some(a.mod_floor(&b)),
                BinaryOp::Min => Some(a.min(&b)),
                BinaryOp::Max => Some(a.max(&b)),
                _ => None,
            }
        }
        ExprKind::Cast(inner) => match (&inner.ty, &e.ty) {
            (Type::Scalar(from), Type::Scalar(to)) => {
                let size = to_size(inner, leaf)?;
                let fits = |value: i64| {
                    let (lo, hi) = to.int_range()?;
                    (lo..=hi).contains(&i128::from(value)).then_some(())
                };
                let same = widens(*from, *to) || size.as_constant().and_then(fits).is_some();
                same.then_some(size)
            }
            _ => None,
        },
        ExprKind::Block { stmts, value } if stmts.is_empty() => to_size(value, leaf),
        _ => None,
    }
}

/// Whether every value of one integer type is a value of the other.
fn widens(from: ScalarType, to: ScalarType) -> bool {
    match (from.int_range(), to.int_range()) {
        (Some((a, b)), Some((c, d))) => c <= a && b <= d,
        _ => false,
    }
}
