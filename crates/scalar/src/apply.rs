//! What each operation gives for each operand.
//!
//! Integers are computed in 128 bits and brought back to their type, so every rule about overflow
//! stands in one place. `f16` and `bf16` are widened to `f32`, computed there and rounded once.

use std::fmt;

use crate::math;
use crate::round::{f32_to_bf16, f32_to_f16};
use crate::{BinaryOp, Scalar, ScalarType, UnaryOp};

/// What happens when a sum, difference, product, power, negation or magnitude of integers does
/// not fit its type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Overflow {
    /// It is an [`ArithError::Overflow`].
    #[default]
    Trap,
    /// The low bits are the result, as `--wrapping` asks.
    Wrap,
}

/// Why an operation has no result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArithError {
    /// The result does not fit its type; also `MIN / -1`.
    Overflow,
    /// An integer was divided by zero.
    DivisionByZero,
    /// An integer was raised to a negative power.
    NegativeExponent,
    /// The operation does not take operands of these types: a fault of the caller.
    Operands,
}

impl fmt::Display for ArithError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArithError::Overflow => "integer overflow",
            ArithError::DivisionByZero => "division by zero",
            ArithError::NegativeExponent => "negative exponent of an integer",
            ArithError::Operands => "operation on operands of the wrong type",
        })
    }
}

impl std::error::Error for ArithError {}

/// `a op b`.
pub fn apply_binary(
    op: BinaryOp,
    a: Scalar,
    b: Scalar,
    overflow: Overflow,
) -> Result<Scalar, ArithError> {
    if op.result_type(a.ty(), b.ty()).is_none() {
        return Err(ArithError::Operands);
    }
    match (a, b) {
        (Scalar::Bool(a), Scalar::Bool(b)) => bool_binary(op, a, b).map(Scalar::Bool),
        (Scalar::F64(a), Scalar::F64(b)) => f64_binary(op, a, b),
        (Scalar::F32(a), Scalar::F32(b)) => f32_binary(op, a, b),
        (Scalar::F16(a), Scalar::F16(b)) => {
            f32_binary(op, a.to_f32(), b.to_f32()).map(|x| narrow(x, ScalarType::F16))
        }
        (Scalar::BF16(a), Scalar::BF16(b)) => {
            f32_binary(op, a.to_f32(), b.to_f32()).map(|x| narrow(x, ScalarType::BF16))
        }
        (a, b) => match (a.as_i128(), b.as_i128()) {
            (Some(x), Some(y)) => int_binary(op, x, y, a.ty(), overflow),
            (None, Some(n)) => float_to_int_power(a, n),
            _ => Err(ArithError::Operands),
        },
    }
}

/// `op a`.
pub fn apply_unary(op: UnaryOp, a: Scalar, overflow: Overflow) -> Result<Scalar, ArithError> {
    if op.result_type(a.ty()).is_none() {
        return Err(ArithError::Operands);
    }
    match a {
        Scalar::Bool(a) => Ok(Scalar::Bool(!a)),
        Scalar::F64(a) => f64_unary(op, a),
        Scalar::F32(a) => f32_unary(op, a),
        Scalar::F16(a) => f32_unary(op, a.to_f32()).map(|x| narrow(x, ScalarType::F16)),
        Scalar::BF16(a) => f32_unary(op, a.to_f32()).map(|x| narrow(x, ScalarType::BF16)),
        _ => match a.as_i128() {
            Some(x) => int_unary(op, x, a.ty(), overflow),
            None => Err(ArithError::Operands),
        },
    }
}

/// Rounds the result of an operation in `f32` to the half-width type it was for.
fn narrow(x: Scalar, ty: ScalarType) -> Scalar {
    match (x, ty) {
        (Scalar::F32(x), ScalarType::F16) => Scalar::F16(f32_to_f16(x)),
        (Scalar::F32(x), ScalarType::BF16) => Scalar::BF16(f32_to_bf16(x)),
        (x, _) => x,
    }
}

fn bool_binary(op: BinaryOp, a: bool, b: bool) -> Result<bool, ArithError> {
    match op {
        BinaryOp::And | BinaryOp::Min => Ok(a & b),
        BinaryOp::Or | BinaryOp::Max => Ok(a | b),
        BinaryOp::Eq => Ok(a == b),
        BinaryOp::Ne => Ok(a != b),
        BinaryOp::Lt => Ok(!a & b),
        BinaryOp::Le => Ok(a <= b),
        BinaryOp::Gt => Ok(a & !b),
        BinaryOp::Ge => Ok(a >= b),
        BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {
            Err(ArithError::Operands)
        }
        BinaryOp::Pow | BinaryOp::Atan2 | BinaryOp::FloorDiv | BinaryOp::FloorMod => {
            Err(ArithError::Operands)
        }
    }
}

/// Brings an exact result into its type.
fn fit(value: i128, ty: ScalarType, overflow: Overflow) -> Result<Scalar, ArithError> {
    match overflow {
        Overflow::Trap => Scalar::from_i128(value, ty).ok_or(ArithError::Overflow),
        Overflow::Wrap => Ok(Scalar::wrap_i128(value, ty)),
    }
}

fn int_binary(
    op: BinaryOp,
    a: i128,
    b: i128,
    ty: ScalarType,
    overflow: Overflow,
) -> Result<Scalar, ArithError> {
    let divides =
        matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod);
    if divides && b == 0 {
        return Err(ArithError::DivisionByZero);
    }
    match op {
        BinaryOp::Add => fit(a + b, ty, overflow),
        BinaryOp::Sub => fit(a - b, ty, overflow),
        // Two 64-bit unsigned factors can pass 2^127; the low bits are right all the same.
        BinaryOp::Mul => match a.checked_mul(b) {
            Some(product) => fit(product, ty, overflow),
            None if overflow == Overflow::Trap => Err(ArithError::Overflow),
            None => fit(a.wrapping_mul(b), ty, overflow),
        },
        BinaryOp::Div => fit(a / b, ty, Overflow::Trap),
        BinaryOp::Rem => fit(a % b, ty, Overflow::Trap),
        BinaryOp::FloorDiv => {
            let down = a % b != 0 && (a < 0) != (b < 0);
            fit(a / b - i128::from(down), ty, Overflow::Trap)
        }
        BinaryOp::FloorMod => {
            let rest = a % b;
            let up = rest != 0 && (rest < 0) != (b < 0);
            fit(if up { rest + b } else { rest }, ty, Overflow::Trap)
        }
        BinaryOp::Pow => int_power(a, b, ty, overflow),
        BinaryOp::Min => fit(a.min(b), ty, overflow),
        BinaryOp::Max => fit(a.max(b), ty, overflow),
        BinaryOp::Eq => Ok(Scalar::Bool(a == b)),
        BinaryOp::Ne => Ok(Scalar::Bool(a != b)),
        BinaryOp::Lt => Ok(Scalar::Bool(a < b)),
        BinaryOp::Le => Ok(Scalar::Bool(a <= b)),
        BinaryOp::Gt => Ok(Scalar::Bool(a > b)),
        BinaryOp::Ge => Ok(Scalar::Bool(a >= b)),
        BinaryOp::And | BinaryOp::Or | BinaryOp::Atan2 => Err(ArithError::Operands),
    }
}

/// `a ** n` by squaring; the square is only taken while a further factor needs it.
fn int_power(a: i128, n: i128, ty: ScalarType, overflow: Overflow) -> Result<Scalar, ArithError> {
    if n < 0 {
        return Err(ArithError::NegativeExponent);
    }
    let (mut result, mut square, mut rest) = (Scalar::one(ty), fit(a, ty, overflow)?, n);
    while rest > 0 {
        if rest & 1 == 1 {
            result = apply_binary(BinaryOp::Mul, result, square, overflow)?;
        }
        rest >>= 1;
        if rest > 0 {
            square = apply_binary(BinaryOp::Mul, square, square, overflow)?;
        }
    }
    Ok(result)
}

fn int_unary(
    op: UnaryOp,
    a: i128,
    ty: ScalarType,
    overflow: Overflow,
) -> Result<Scalar, ArithError> {
    match op {
        UnaryOp::Neg => fit(-a, ty, overflow),
        UnaryOp::Abs => fit(a.abs(), ty, overflow),
        UnaryOp::Sign => fit(a.signum(), ty, overflow),
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => fit(a, ty, overflow),
        UnaryOp::IsNan | UnaryOp::IsInf => Ok(Scalar::Bool(false)),
        UnaryOp::IsFinite => Ok(Scalar::Bool(true)),
        UnaryOp::Not | UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Erf => Err(ArithError::Operands),
        UnaryOp::Exp | UnaryOp::Expm1 | UnaryOp::Exp2 => Err(ArithError::Operands),
        UnaryOp::Log | UnaryOp::Log1p | UnaryOp::Log2 | UnaryOp::Log10 => Err(ArithError::Operands),
        UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan => Err(ArithError::Operands),
        UnaryOp::Asin | UnaryOp::Acos | UnaryOp::Atan => Err(ArithError::Operands),
        UnaryOp::Sinh | UnaryOp::Cosh | UnaryOp::Tanh => Err(ArithError::Operands),
        UnaryOp::Asinh | UnaryOp::Acosh | UnaryOp::Atanh => Err(ArithError::Operands),
    }
}

/// `a ** n` for a float `a` and an integer `n` of any size.
fn float_to_int_power(a: Scalar, n: i128) -> Result<Scalar, ArithError> {
    match a {
        Scalar::F64(x) => Ok(Scalar::F64(math::powi(x, n))),
        Scalar::F32(x) => Ok(Scalar::F32(math::single::powi(x, n))),
        Scalar::F16(x) => Ok(Scalar::F16(f32_to_f16(math::single::powi(x.to_f32(), n)))),
        Scalar::BF16(x) => Ok(Scalar::BF16(f32_to_bf16(math::single::powi(x.to_f32(), n)))),
        _ => Err(ArithError::Operands),
    }
}

/// The two float types differ only in the type: one text for both.
macro_rules! float_operations {
    ($float:ident, $variant:ident, $binary:ident, $unary:ident, $math:path) => {
        fn $binary(op: BinaryOp, a: $float, b: $float) -> Result<Scalar, ArithError> {
            use $math as math;
            let number = |x: $float| Ok(Scalar::$variant(x));
            let truth = |x: bool| Ok(Scalar::Bool(x));
            match op {
                BinaryOp::Add => number(a + b),
                BinaryOp::Sub => number(a - b),
                BinaryOp::Mul => number(a * b),
                BinaryOp::Div => number(a / b),
                BinaryOp::Rem => number(a % b),
                BinaryOp::FloorMod => {
                    let rest = a % b;
                    if rest == 0.0 {
                        number((0.0 as $float).copysign(b))
                    } else if (rest < 0.0) != (b < 0.0) {
                        number(rest + b)
                    } else {
                        number(rest)
                    }
                }
                BinaryOp::FloorDiv => {
                    let rest = a % b;
                    let down = rest != 0.0 && (rest < 0.0) != (b < 0.0);
                    let near = (a - rest) / b - if down { 1.0 } else { 0.0 };
                    let quotient = a / b;
                    // `a - rest` is nearly a multiple of `b`; rounding repairs the division.
                    number(if b == 0.0 || near == 0.0 {
                        quotient.floor()
                    } else {
                        near.round_ties_even()
                    })
                }
                BinaryOp::Pow => number(math::pow(a, b)),
                BinaryOp::Atan2 => number(math::atan2(a, b)),
                BinaryOp::Min | BinaryOp::Max if a.is_nan() || b.is_nan() => number($float::NAN),
                BinaryOp::Min => {
                    number(if a < b || (a == b && a.is_sign_negative()) { a } else { b })
                }
                BinaryOp::Max => {
                    number(if a > b || (a == b && a.is_sign_positive()) { a } else { b })
                }
                BinaryOp::Eq => truth(a == b),
                BinaryOp::Ne => truth(a != b),
                BinaryOp::Lt => truth(a < b),
                BinaryOp::Le => truth(a <= b),
                BinaryOp::Gt => truth(a > b),
                BinaryOp::Ge => truth(a >= b),
                BinaryOp::And | BinaryOp::Or => Err(ArithError::Operands),
            }
        }

        fn $unary(op: UnaryOp, a: $float) -> Result<Scalar, ArithError> {
            use $math as math;
            let sign = $float::from(i8::from(a > 0.0) - i8::from(a < 0.0));
            let number = match op {
                UnaryOp::Not => return Err(ArithError::Operands),
                UnaryOp::IsNan => return Ok(Scalar::Bool(a.is_nan())),
                UnaryOp::IsInf => return Ok(Scalar::Bool(a.is_infinite())),
                UnaryOp::IsFinite => return Ok(Scalar::Bool(a.is_finite())),
                UnaryOp::Neg => -a,
                UnaryOp::Abs => a.abs(),
                UnaryOp::Sign => {
                    if a.is_nan() {
                        a
                    } else {
                        sign
                    }
                }
                UnaryOp::Floor => a.floor(),
                UnaryOp::Ceil => a.ceil(),
                UnaryOp::Round => a.round_ties_even(),
                UnaryOp::Trunc => a.trunc(),
                UnaryOp::Sqrt => a.sqrt(),
                UnaryOp::Rsqrt => math::rsqrt(a),
                UnaryOp::Exp => math::exp(a),
                UnaryOp::Expm1 => math::expm1(a),
                UnaryOp::Exp2 => math::exp2(a),
                UnaryOp::Log => math::log(a),
                UnaryOp::Log1p => math::log1p(a),
                UnaryOp::Log2 => math::log2(a),
                UnaryOp::Log10 => math::log10(a),
                UnaryOp::Sin => math::sin(a),
                UnaryOp::Cos => math::cos(a),
                UnaryOp::Tan => math::tan(a),
                UnaryOp::Asin => math::asin(a),
                UnaryOp::Acos => math::acos(a),
                UnaryOp::Atan => math::atan(a),
                UnaryOp::Sinh => math::sinh(a),
                UnaryOp::Cosh => math::cosh(a),
                UnaryOp::Tanh => math::tanh(a),
                UnaryOp::Asinh => math::asinh(a),
                UnaryOp::Acosh => math::acosh(a),
                UnaryOp::Atanh => math::atanh(a),
                UnaryOp::Erf => math::erf(a),
            };
            Ok(Scalar::$variant(number))
        }
    };
}

float_operations!(f64, F64, f64_binary, f64_unary, crate::math);
float_operations!(f32, F32, f32_binary, f32_unary, crate::math::single);
