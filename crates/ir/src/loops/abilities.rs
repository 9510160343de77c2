//! What vectors of 128 bits can do without going through their lanes one by one: all that every machine
//! has, and what an engine without longer vectors counts on.

use super::Operand;
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};

/// Whether there are vector instructions for an operation. Elementary functions of floats have none: they
/// are computed on tiles.
pub fn has_unary(op: UnaryOp, ty: ScalarType) -> bool {
    !op.is_elementary() || !ty.is_float()
}

/// Whether there are vector instructions for an operation.
pub fn has_binary(op: BinaryOp, ty: ScalarType) -> bool {
    match op {
        BinaryOp::Div => ty.is_float(),
        BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod => false,
        BinaryOp::Pow | BinaryOp::Atan2 => false,
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max => true,
        BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le => true,
        BinaryOp::Gt | BinaryOp::Ge | BinaryOp::And | BinaryOp::Or => true,
    }
}

/// Whether there are vector instructions that tell an overflow.
pub fn has_overflow(op: BinaryOp, ty: ScalarType) -> bool {
    match op {
        BinaryOp::Pow => false,
        BinaryOp::Mul => ty.size_bytes() < 8,
        _ => true,
    }
}

/// Whether there are vector instructions for a conversion.
pub fn has_cast(from: ScalarType, to: ScalarType) -> bool {
    if from == to || from.is_bool() || to.is_bool() {
        return true;
    }
    match (from.is_float(), to.is_float()) {
        (true, true) => !(from == ScalarType::F64 && is_half(to)),
        (true, false) => !is_wide(from) && !is_wide(to),
        (false, true) => !is_wide(from) && (to != ScalarType::BF16 || from.size_bytes() < 4),
        (false, false) => true,
    }
}

/// The logarithm of a constant power of two by which integers are divided, rounding down: a shift.
pub fn shift(op: BinaryOp, divisor: Operand) -> Option<u32> {
    let divides = matches!(op, BinaryOp::FloorDiv | BinaryOp::FloorMod);
    match divisor {
        Operand::Const(n) if divides && n.ty().is_int() => {
            let n = n.as_i64().filter(|n| *n > 0 && n.count_ones() == 1)?;
            Some(n.trailing_zeros())
        }
        _ => None,
    }
}

/// A constant exponent for which a few multiplications, divisions and square roots are enough.
pub fn short_exponent(operand: Operand) -> Option<f64> {
    let Operand::Const(value) = operand else { return None };
    let short = [-1.0, -0.5, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0];
    short.into_iter().find(|it| *it == value.as_f64())
}

/// Whether elements have eight bytes: four of them take two vectors.
pub fn is_wide(ty: ScalarType) -> bool {
    ty.size_bytes() == 8
}

/// Whether the type is narrower than the `f32` that holds it.
pub fn is_half(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::F16 | ScalarType::BF16)
}
