//! Conditions that are decided before the program runs: comparisons of extents that are known where a
//! function is called.

use ein_ir::tensor::{Expr, ExprKind};
use ein_scalar::{BinaryOp, Scalar, UnaryOp};

/// Whether a condition holds, if that is known. What it would read cannot fail.
pub(super) fn truth(e: &Expr) -> Option<bool> {
    match &*e.kind {
        ExprKind::Const(Scalar::Bool(truth)) => Some(*truth),
        ExprKind::Unary(UnaryOp::Not, a) => truth(a).map(|truth| !truth),
        ExprKind::And(a, b) => match truth(a)? {
            true => truth(b),
            false => Some(false),
        },
        ExprKind::Or(a, b) => match truth(a)? {
            true => Some(true),
            false => truth(b),
        },
        ExprKind::Binary(op, a, b) => {
            let (x, y) = (number(a)?, number(b)?);
            Some(match op {
                BinaryOp::Eq => x == y,
                BinaryOp::Ne => x != y,
                BinaryOp::Lt => x < y,
                BinaryOp::Le => x <= y,
                BinaryOp::Gt => x > y,
                BinaryOp::Ge => x >= y,
                _ => return None,
            })
        }
        _ => None,
    }
}

fn number(e: &Expr) -> Option<i64> {
    match &*e.kind {
        ExprKind::Const(value) => value.as_i64(),
        ExprKind::Size(size) => size.as_constant(),
        _ => None,
    }
}
