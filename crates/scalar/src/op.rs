//! The operations, their names in the textual IR, and the types they take and give.

use std::fmt;
use std::str::FromStr;

use crate::ScalarType;

/// Declares an enum of operations with stable names.
macro_rules! operations {
    ($(#[$meta:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// Every operation, in the order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// The stable lower-case name, as the textual IR writes it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }
        }

        impl FromStr for $name {
            type Err = UnknownOp;

            fn from_str(text: &str) -> Result<$name, UnknownOp> {
                match text {
                    $($text => Ok($name::$variant),)*
                    _ => Err(UnknownOp),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
}

operations! {
    /// An operation on two scalars.
    BinaryOp {
        /// `a + b`.
        Add = "add",
        /// `a - b`.
        Sub = "sub",
        /// `a * b`.
        Mul = "mul",
        /// `a / b`; integers truncate toward zero.
        Div = "div",
        /// `a % b`, with the sign of `a`; on floats the exact `fmod`.
        Rem = "rem",
        /// `a ** b`; the exponent of a float may be an integer of any type.
        Pow = "pow",
        /// The smaller one; NaN if either is, and −0 is smaller than +0.
        Min = "min",
        /// The greater one; NaN if either is, and +0 is greater than −0.
        Max = "max",
        /// `a == b`, by IEEE 754 on floats.
        Eq = "eq",
        /// `a != b`.
        Ne = "ne",
        /// `a < b`.
        Lt = "lt",
        /// `a <= b`.
        Le = "le",
        /// `a > b`.
        Gt = "gt",
        /// `a >= b`.
        Ge = "ge",
        /// `a && b` of two values that are both there already.
        And = "and",
        /// `a || b` of two values that are both there already.
        Or = "or",
        /// The angle of the point (b, a).
        Atan2 = "atan2",
        /// The quotient rounded down.
        FloorDiv = "floordiv",
        /// The remainder with the sign of the divisor.
        FloorMod = "floormod",
    }
}

operations! {
    /// An operation on one scalar.
    UnaryOp {
        /// `-a`.
        Neg = "neg",
        /// `!a` of a `bool`.
        Not = "not",
        /// The magnitude.
        Abs = "abs",
        /// −1, 0 or 1 in the type of the operand; NaN of NaN.
        Sign = "sign",
        /// Square root, correctly rounded.
        Sqrt = "sqrt",
        /// `1 / sqrt(a)`.
        Rsqrt = "rsqrt",
        /// e to the power of a.
        Exp = "exp",
        /// `exp(a) - 1` without cancellation.
        Expm1 = "expm1",
        /// 2 to the power of a.
        Exp2 = "exp2",
        /// Natural logarithm.
        Log = "log",
        /// `log(1 + a)` without cancellation.
        Log1p = "log1p",
        /// Logarithm to base 2.
        Log2 = "log2",
        /// Logarithm to base 10.
        Log10 = "log10",
        /// Sine.
        Sin = "sin",
        /// Cosine.
        Cos = "cos",
        /// Tangent.
        Tan = "tan",
        /// Arc sine.
        Asin = "asin",
        /// Arc cosine.
        Acos = "acos",
        /// Arc tangent.
        Atan = "atan",
        /// Hyperbolic sine.
        Sinh = "sinh",
        /// Hyperbolic cosine.
        Cosh = "cosh",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// Inverse hyperbolic sine.
        Asinh = "asinh",
        /// Inverse hyperbolic cosine.
        Acosh = "acosh",
        /// Inverse hyperbolic tangent.
        Atanh = "atanh",
        /// The error function.
        Erf = "erf",
        /// Rounded down.
        Floor = "floor",
        /// Rounded up.
        Ceil = "ceil",
        /// To nearest, ties to even.
        Round = "round",
        /// Toward zero.
        Trunc = "trunc",
        /// Whether it is a NaN.
        IsNan = "isnan",
        /// Whether it is an infinity.
        IsInf = "isinf",
        /// Whether it is neither.
        IsFinite = "isfinite",
    }
}

/// The text is not the name of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownOp;

impl fmt::Display for UnknownOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not the name of a scalar operation")
    }
}

impl std::error::Error for UnknownOp {}

impl BinaryOp {
    /// Whether the result is a `bool` that orders or equates two operands of one type.
    pub const fn is_comparison(self) -> bool {
        matches!(
            self,
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge
        )
    }

    /// The type of the result, or `None` if the operation does not take these types.
    pub fn result_type(self, a: ScalarType, b: ScalarType) -> Option<ScalarType> {
        let same = a == b;
        match self {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => {
                (same && a.is_numeric()).then_some(a)
            }
            BinaryOp::FloorDiv | BinaryOp::FloorMod => (same && a.is_numeric()).then_some(a),
            BinaryOp::Min | BinaryOp::Max => same.then_some(a),
            BinaryOp::Pow => (a.is_numeric() && (b.is_int() || same)).then_some(a),
            BinaryOp::Eq | BinaryOp::Ne | BinaryOp::Lt => same.then_some(ScalarType::Bool),
            BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => same.then_some(ScalarType::Bool),
            BinaryOp::And | BinaryOp::Or => (same && a.is_bool()).then_some(a),
            BinaryOp::Atan2 => (same && a.is_float()).then_some(a),
        }
    }
}

impl UnaryOp {
    /// The type of the result, or `None` if the operation does not take this type.
    ///
    /// Rounding and the tests for NaN and infinity also take integers, of which they say the
    /// obvious.
    pub fn result_type(self, a: ScalarType) -> Option<ScalarType> {
        match self {
            UnaryOp::Not => a.is_bool().then_some(a),
            UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sign => a.is_numeric().then_some(a),
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => {
                a.is_numeric().then_some(a)
            }
            UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => {
                a.is_numeric().then_some(ScalarType::Bool)
            }
            UnaryOp::Sqrt | UnaryOp::Rsqrt => a.is_float().then_some(a),
            UnaryOp::Exp | UnaryOp::Expm1 | UnaryOp::Exp2 => a.is_float().then_some(a),
            UnaryOp::Log | UnaryOp::Log1p | UnaryOp::Log2 => a.is_float().then_some(a),
            UnaryOp::Log10 | UnaryOp::Erf => a.is_float().then_some(a),
            UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan => a.is_float().then_some(a),
            UnaryOp::Asin | UnaryOp::Acos | UnaryOp::Atan => a.is_float().then_some(a),
            UnaryOp::Sinh | UnaryOp::Cosh | UnaryOp::Tanh => a.is_float().then_some(a),
            UnaryOp::Asinh | UnaryOp::Acosh | UnaryOp::Atanh => a.is_float().then_some(a),
        }
    }

    /// Whether it is an elementary function: a series of operations, where processors have one for
    /// each of the others.
    pub fn is_elementary(self) -> bool {
        match self {
            UnaryOp::Not | UnaryOp::Neg | UnaryOp::Abs | UnaryOp::Sign => false,
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => false,
            UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => false,
            UnaryOp::Sqrt | UnaryOp::Rsqrt => false,
            UnaryOp::Exp | UnaryOp::Expm1 | UnaryOp::Exp2 => true,
            UnaryOp::Log | UnaryOp::Log1p | UnaryOp::Log2 | UnaryOp::Log10 | UnaryOp::Erf => true,
            UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan => true,
            UnaryOp::Asin | UnaryOp::Acos | UnaryOp::Atan => true,
            UnaryOp::Sinh | UnaryOp::Cosh | UnaryOp::Tanh => true,
            UnaryOp::Asinh | UnaryOp::Acosh | UnaryOp::Atanh => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for &op in BinaryOp::ALL {
            assert_eq!(op.as_str().parse(), Ok(op));
        }
        for &op in UnaryOp::ALL {
            assert_eq!(op.as_str().parse(), Ok(op));
            assert!(op.as_str().parse::<BinaryOp>().is_err());
        }
    }
}
