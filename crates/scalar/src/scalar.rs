//! One value of one scalar type.

use std::fmt;
use std::hash::{Hash, Hasher};

use half::{bf16, f16};

use crate::ScalarType;
use crate::round::{f64_to_bf16, f64_to_f16};

/// A value together with its type.
///
/// `==` and hashing are *structural*: same type and same bits, so that `0.0` and `-0.0` differ.
/// All NaNs of one type are one value, because their bits differ between machines.
/// The language's own `==` is [`BinaryOp::Eq`](crate::BinaryOp::Eq).
#[derive(Clone, Copy)]
pub enum Scalar {
    /// A `bool`.
    Bool(bool),
    /// An `i8`.
    I8(i8),
    /// An `i16`.
    I16(i16),
    /// An `i32`.
    I32(i32),
    /// An `i64`.
    I64(i64),
    /// A `u8`.
    U8(u8),
    /// A `u16`.
    U16(u16),
    /// A `u32`.
    U32(u32),
    /// A `u64`.
    U64(u64),
    /// An `f16`.
    F16(f16),
    /// A `bf16`.
    BF16(bf16),
    /// An `f32`.
    F32(f32),
    /// An `f64`.
    F64(f64),
}

impl Scalar {
    /// The type of the value.
    pub const fn ty(self) -> ScalarType {
        match self {
            Scalar::Bool(_) => ScalarType::Bool,
            Scalar::I8(_) => ScalarType::I8,
            Scalar::I16(_) => ScalarType::I16,
            Scalar::I32(_) => ScalarType::I32,
            Scalar::I64(_) => ScalarType::I64,
            Scalar::U8(_) => ScalarType::U8,
            Scalar::U16(_) => ScalarType::U16,
            Scalar::U32(_) => ScalarType::U32,
            Scalar::U64(_) => ScalarType::U64,
            Scalar::F16(_) => ScalarType::F16,
            Scalar::BF16(_) => ScalarType::BF16,
            Scalar::F32(_) => ScalarType::F32,
            Scalar::F64(_) => ScalarType::F64,
        }
    }

    /// `0`, `0.0` or `false`.
    pub fn zero(ty: ScalarType) -> Scalar {
        Scalar::from_bits(ty, 0)
    }

    /// `1`, `1.0` or `true`.
    pub fn one(ty: ScalarType) -> Scalar {
        match ty {
            ScalarType::F16 => Scalar::F16(f16::ONE),
            ScalarType::BF16 => Scalar::BF16(bf16::ONE),
            ScalarType::F32 => Scalar::F32(1.0),
            ScalarType::F64 => Scalar::F64(1.0),
            ScalarType::Bool => Scalar::Bool(true),
            ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64 => {
                Scalar::from_bits(ty, 1)
            }
            ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => {
                Scalar::from_bits(ty, 1)
            }
        }
    }

    /// The least value: `MIN` of an integer, −∞ of a float, `false`.
    pub fn lowest(ty: ScalarType) -> Scalar {
        match ty.int_range() {
            Some((min, _)) => Scalar::wrap_i128(min, ty),
            None => Scalar::from_f64(f64::NEG_INFINITY, ty).unwrap_or(Scalar::Bool(false)),
        }
    }

    /// The greatest value: `MAX` of an integer, +∞ of a float, `true`.
    pub fn highest(ty: ScalarType) -> Scalar {
        match ty.int_range() {
            Some((_, max)) => Scalar::wrap_i128(max, ty),
            None => Scalar::from_f64(f64::INFINITY, ty).unwrap_or(Scalar::Bool(true)),
        }
    }

    /// An integer of type `ty`, or `None` if it does not fit or `ty` is not an integer type.
    pub fn from_i128(value: i128, ty: ScalarType) -> Option<Scalar> {
        let (min, max) = ty.int_range()?;
        (min <= value && value <= max).then(|| Scalar::wrap_i128(value, ty))
    }

    /// The low bits of `value` as `ty`: integers wrap, a float gets their bit pattern.
    pub(crate) fn wrap_i128(value: i128, ty: ScalarType) -> Scalar {
        Scalar::from_bits(ty, value as u64)
    }

    /// A float of type `ty`, rounded to nearest once, or `None` if `ty` is not a float type.
    pub fn from_f64(value: f64, ty: ScalarType) -> Option<Scalar> {
        match ty {
            ScalarType::F16 => Some(Scalar::F16(f64_to_f16(value))),
            ScalarType::BF16 => Some(Scalar::BF16(f64_to_bf16(value))),
            ScalarType::F32 => Some(Scalar::F32(value as f32)),
            ScalarType::F64 => Some(Scalar::F64(value)),
            ScalarType::Bool => None,
            ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64 => None,
            ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => None,
        }
    }

    /// The value with these bits, of which only the lowest `size_bytes` count (for `bool`: bit 0).
    pub fn from_bits(ty: ScalarType, bits: u64) -> Scalar {
        match ty {
            ScalarType::Bool => Scalar::Bool(bits & 1 != 0),
            ScalarType::I8 => Scalar::I8(bits as i8),
            ScalarType::I16 => Scalar::I16(bits as i16),
            ScalarType::I32 => Scalar::I32(bits as i32),
            ScalarType::I64 => Scalar::I64(bits as i64),
            ScalarType::U8 => Scalar::U8(bits as u8),
            ScalarType::U16 => Scalar::U16(bits as u16),
            ScalarType::U32 => Scalar::U32(bits as u32),
            ScalarType::U64 => Scalar::U64(bits),
            ScalarType::F16 => Scalar::F16(f16::from_bits(bits as u16)),
            ScalarType::BF16 => Scalar::BF16(bf16::from_bits(bits as u16)),
            ScalarType::F32 => Scalar::F32(f32::from_bits(bits as u32)),
            ScalarType::F64 => Scalar::F64(f64::from_bits(bits)),
        }
    }

    /// The bits of the value, zero-extended.
    pub fn to_bits(self) -> u64 {
        match self {
            Scalar::Bool(x) => u64::from(x),
            Scalar::I8(x) => u64::from(x as u8),
            Scalar::I16(x) => u64::from(x as u16),
            Scalar::I32(x) => u64::from(x as u32),
            Scalar::I64(x) => x as u64,
            Scalar::U8(x) => u64::from(x),
            Scalar::U16(x) => u64::from(x),
            Scalar::U32(x) => u64::from(x),
            Scalar::U64(x) => x,
            Scalar::F16(x) => u64::from(x.to_bits()),
            Scalar::BF16(x) => u64::from(x.to_bits()),
            Scalar::F32(x) => u64::from(x.to_bits()),
            Scalar::F64(x) => x.to_bits(),
        }
    }

    /// The value of an integer; `None` for `bool` and floats.
    pub fn as_i128(self) -> Option<i128> {
        match self {
            Scalar::I8(x) => Some(i128::from(x)),
            Scalar::I16(x) => Some(i128::from(x)),
            Scalar::I32(x) => Some(i128::from(x)),
            Scalar::I64(x) => Some(i128::from(x)),
            Scalar::U8(x) => Some(i128::from(x)),
            Scalar::U16(x) => Some(i128::from(x)),
            Scalar::U32(x) => Some(i128::from(x)),
            Scalar::U64(x) => Some(i128::from(x)),
            Scalar::Bool(_) => None,
            Scalar::F16(_) | Scalar::BF16(_) | Scalar::F32(_) | Scalar::F64(_) => None,
        }
    }

    /// The value of an integer that fits `i64`; `None` otherwise.
    pub fn as_i64(self) -> Option<i64> {
        self.as_i128().and_then(|x| i64::try_from(x).ok())
    }

    /// The value as a double: exact for floats, to nearest for integers, 0 or 1 for `bool`.
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::Bool(x) => f64::from(u8::from(x)),
            Scalar::I8(x) => f64::from(x),
            Scalar::I16(x) => f64::from(x),
            Scalar::I32(x) => f64::from(x),
            Scalar::I64(x) => x as f64,
            Scalar::U8(x) => f64::from(x),
            Scalar::U16(x) => f64::from(x),
            Scalar::U32(x) => f64::from(x),
            Scalar::U64(x) => x as f64,
            Scalar::F16(x) => f64::from(x.to_f32()),
            Scalar::BF16(x) => f64::from(x.to_f32()),
            Scalar::F32(x) => f64::from(x),
            Scalar::F64(x) => x,
        }
    }

    /// The value of a `bool`; `None` for every other type.
    pub fn as_bool(self) -> Option<bool> {
        if let Scalar::Bool(x) = self { Some(x) } else { None }
    }

    /// Whether this is a NaN.
    pub fn is_nan(self) -> bool {
        self.as_f64().is_nan()
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Scalar) -> bool {
        self.ty() == other.ty()
            && (self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan()))
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ty().hash(state);
        if self.is_nan() { u64::MAX.hash(state) } else { self.to_bits().hash(state) }
    }
}

impl fmt::Debug for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", crate::display(*self), self.ty())
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&crate::display(*self))
    }
}

/// Gives each Rust type its variant.
macro_rules! from {
    ($($rust:ty => $variant:ident),*) => {$(
        impl From<$rust> for Scalar {
            fn from(value: $rust) -> Scalar {
                Scalar::$variant(value)
            }
        }
    )*};
}

from!(bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64);
from!(u8 => U8, u16 => U16, u32 => U32, u64 => U64);
from!(f16 => F16, bf16 => BF16, f32 => F32, f64 => F64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equality_is_by_bits() {
        assert_ne!(Scalar::F64(0.0), Scalar::F64(-0.0));
        assert_ne!(Scalar::F64(1.0), Scalar::F32(1.0));
        assert_eq!(Scalar::F64(f64::NAN), Scalar::F64(-f64::NAN));
        assert_ne!(Scalar::I32(1), Scalar::I64(1));
    }

    #[test]
    fn bits_read_back() {
        for ty in ScalarType::ALL {
            for value in
                [Scalar::zero(ty), Scalar::one(ty), Scalar::lowest(ty), Scalar::highest(ty)]
            {
                assert_eq!(value.ty(), ty);
                assert_eq!(Scalar::from_bits(ty, value.to_bits()), value);
            }
        }
    }

    #[test]
    fn integers_are_checked() {
        assert_eq!(Scalar::from_i128(255, ScalarType::U8), Some(Scalar::U8(255)));
        assert_eq!(Scalar::from_i128(256, ScalarType::U8), None);
        assert_eq!(Scalar::from_i128(-1, ScalarType::U64), None);
        assert_eq!(Scalar::from_i128(1, ScalarType::F32), None);
        assert_eq!(Scalar::U64(u64::MAX).as_i64(), None);
    }
}
