//! Functions that generated code calls: what `ein-scalar` defines, behind a C interface.

use ein_scalar::math::{self, single};
use ein_scalar::{ArithError, BinaryOp, Overflow, Scalar, ScalarType, UnaryOp, apply_binary, cast};

/// One C function for each name, in both widths.
macro_rules! unary {
    ($($op:ident = $name:ident),*) => {
        /// The address of an elementary function of `f64` or `f32`.
        pub(crate) fn unary(op: UnaryOp, double: bool) -> usize {
            match op {
                $(UnaryOp::$op => {
                    extern "C" fn long(x: f64) -> f64 {
                        math::$name(x)
                    }
                    extern "C" fn short(x: f32) -> f32 {
                        single::$name(x)
                    }
                    if double { long as *const () as usize } else { short as *const () as usize }
                })*
                op => unreachable!("{op} is no call"),
            }
        }
    };
}

unary!(
    Exp = exp,
    Expm1 = expm1,
    Exp2 = exp2,
    Log = log,
    Log1p = log1p,
    Log2 = log2,
    Log10 = log10,
    Sin = sin,
    Cos = cos,
    Tan = tan,
    Asin = asin,
    Acos = acos,
    Atan = atan,
    Sinh = sinh,
    Cosh = cosh,
    Tanh = tanh,
    Asinh = asinh,
    Acosh = acosh,
    Atanh = atanh,
    Erf = erf
);

/// One C function for each operation, in both widths.
macro_rules! binary {
    ($($op:ident),*) => {
        /// The address of an operation on two `f64` or `f32`.
        pub(crate) fn binary(op: BinaryOp, double: bool) -> usize {
            match op {
                $(BinaryOp::$op => {
                    extern "C" fn long(x: f64, y: f64) -> f64 {
                        match apply_binary(BinaryOp::$op, x.into(), y.into(), Overflow::Wrap) {
                            Ok(Scalar::F64(x)) => x,
                            _ => f64::NAN,
                        }
                    }
                    extern "C" fn short(x: f32, y: f32) -> f32 {
                        match apply_binary(BinaryOp::$op, x.into(), y.into(), Overflow::Wrap) {
                            Ok(Scalar::F32(x)) => x,
                            _ => f32::NAN,
                        }
                    }
                    if double { long as *const () as usize } else { short as *const () as usize }
                })*
                op => unreachable!("{op} is no call"),
            }
        }
    };
}

binary!(Rem, FloorDiv, FloorMod, Pow, Atan2);

/// The address of the power of an `f64` or `f32` with an integer exponent of 64 bits.
pub(crate) fn power(double: bool, signed: bool) -> usize {
    extern "C" fn long_signed(x: f64, n: i64) -> f64 {
        math::powi(x, n.into())
    }
    extern "C" fn long_unsigned(x: f64, n: u64) -> f64 {
        math::powi(x, n.into())
    }
    extern "C" fn short_signed(x: f32, n: i64) -> f32 {
        single::powi(x, n.into())
    }
    extern "C" fn short_unsigned(x: f32, n: u64) -> f32 {
        single::powi(x, n.into())
    }
    match (double, signed) {
        (true, true) => long_signed as *const () as usize,
        (true, false) => long_unsigned as *const () as usize,
        (false, true) => short_signed as *const () as usize,
        (false, false) => short_unsigned as *const () as usize,
    }
}

/// The address of the wrapping power of integers of 64 bits; 0 for a negative exponent, which
/// only code whose result is thrown away has.
pub(crate) fn int_power(signed: bool) -> usize {
    extern "C" fn unsigned_exponent(x: u64, n: u64) -> u64 {
        let (mut result, mut square, mut rest) = (1u64, x, n);
        while rest > 0 {
            if rest & 1 == 1 {
                result = result.wrapping_mul(square);
            }
            square = square.wrapping_mul(square);
            rest >>= 1;
        }
        result
    }
    extern "C" fn signed_exponent(x: u64, n: i64) -> u64 {
        u64::try_from(n).map_or(0, |n| unsigned_exponent(x, n))
    }
    if signed {
        signed_exponent as *const () as usize
    } else {
        unsigned_exponent as *const () as usize
    }
}

/// The address of the test whether a power of integers, extended to 64 bits, leaves its type.
pub(crate) fn power_overflows(types: [ScalarType; 2]) -> usize {
    fn test(ty: ScalarType, x: u64, n: Scalar) -> u32 {
        let power = apply_binary(BinaryOp::Pow, Scalar::from_bits(ty, x), n, Overflow::Trap);
        u32::from(power == Err(ArithError::Overflow))
    }
    macro_rules! table {
        ($($ty:ident),*) => {
            match (types[0], types[1].is_signed()) {
                $((ScalarType::$ty, true) => {
                    extern "C" fn overflows(x: u64, n: i64) -> u32 {
                        test(ScalarType::$ty, x, n.into())
                    }
                    overflows as *const () as usize
                })*
                $((ScalarType::$ty, false) => {
                    extern "C" fn overflows(x: u64, n: u64) -> u32 {
                        test(ScalarType::$ty, x, n.into())
                    }
                    overflows as *const () as usize
                })*
                (ty, _) => unreachable!("{ty} is no integer type"),
            }
        };
    }
    table!(I8, I16, I32, I64, U8, U16, U32, U64)
}

/// The address of the conversion of an `f64`, `i64` or `u64` to a half, given as an `f32`.
pub(crate) fn to_half(from: ScalarType, to: ScalarType) -> usize {
    macro_rules! table {
        ($($from:ident $rust:ident $to:ident),*) => {
            match (from, to) {
                $((ScalarType::$from, ScalarType::$to) => {
                    extern "C" fn convert(x: $rust) -> f32 {
                        cast(x.into(), ScalarType::$to).as_f64() as f32
                    }
                    convert as *const () as usize
                })*
                (from, to) => unreachable!("{from} to {to} is no call"),
            }
        };
    }
    table!(F64 f64 F16, F64 f64 BF16, I64 i64 BF16, U64 u64 BF16)
}
