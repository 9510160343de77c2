//! The thirteen element types and their ranges.

use std::fmt;

/// The type of a scalar, and of the elements of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum ScalarType {
    /// `false` or `true`, one byte.
    Bool,
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits; what an integer literal is by itself.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE binary16: 11 bits of precision, up to 65504.
    F16,
    /// The upper half of an `f32`: 8 bits of precision, the range of `f32`.
    BF16,
    /// IEEE binary32; what a float literal is by itself.
    F32,
    /// IEEE binary64.
    F64,
}

impl ScalarType {
    /// Every scalar type, in the order of declaration.
    pub const ALL: [ScalarType; 13] = [
        ScalarType::Bool,
        ScalarType::I8,
        ScalarType::I16,
        ScalarType::I32,
        ScalarType::I64,
        ScalarType::U8,
        ScalarType::U16,
        ScalarType::U32,
        ScalarType::U64,
        ScalarType::F16,
        ScalarType::BF16,
        ScalarType::F32,
        ScalarType::F64,
    ];

    /// The name in source text and in the textual IR.
    pub const fn name(self) -> &'static str {
        match self {
            ScalarType::Bool => "bool",
            ScalarType::I8 => "i8",
            ScalarType::I16 => "i16",
            ScalarType::I32 => "i32",
            ScalarType::I64 => "i64",
            ScalarType::U8 => "u8",
            ScalarType::U16 => "u16",
            ScalarType::U32 => "u32",
            ScalarType::U64 => "u64",
            ScalarType::F16 => "f16",
            ScalarType::BF16 => "bf16",
            ScalarType::F32 => "f32",
            ScalarType::F64 => "f64",
        }
    }

    /// The type that [`ScalarType::name`] names, if any.
    pub fn from_name(name: &str) -> Option<ScalarType> {
        ScalarType::ALL.into_iter().find(|ty| ty.name() == name)
    }

    /// Whether this is one of `i8` to `u64`; `bool` is not an integer.
    pub const fn is_int(self) -> bool {
        match self {
            ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64 => true,
            ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => true,
            ScalarType::Bool => false,
            ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 | ScalarType::F64 => false,
        }
    }

    /// Whether this is one of `f16`, `bf16`, `f32`, `f64`.
    pub const fn is_float(self) -> bool {
        !self.is_int() && !self.is_bool()
    }

    /// Whether this is `bool`.
    pub const fn is_bool(self) -> bool {
        matches!(self, ScalarType::Bool)
    }

    /// Whether this is an integer or a float: everything but `bool`.
    pub const fn is_numeric(self) -> bool {
        !self.is_bool()
    }

    /// Whether negative values exist: signed integers and floats.
    pub const fn is_signed(self) -> bool {
        match self {
            ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64 => true,
            ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 | ScalarType::F64 => true,
            ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => false,
            ScalarType::Bool => false,
        }
    }

    /// The size of one element in memory; also its alignment.
    pub const fn size_bytes(self) -> usize {
        match self {
            ScalarType::Bool | ScalarType::I8 | ScalarType::U8 => 1,
            ScalarType::I16 | ScalarType::U16 | ScalarType::F16 | ScalarType::BF16 => 2,
            ScalarType::I32 | ScalarType::U32 | ScalarType::F32 => 4,
            ScalarType::I64 | ScalarType::U64 | ScalarType::F64 => 8,
        }
    }

    /// The least and the greatest value of an integer type; `None` for `bool` and floats.
    pub const fn int_range(self) -> Option<(i128, i128)> {
        match self {
            ScalarType::I8 => Some((i8::MIN as i128, i8::MAX as i128)),
            ScalarType::I16 => Some((i16::MIN as i128, i16::MAX as i128)),
            ScalarType::I32 => Some((i32::MIN as i128, i32::MAX as i128)),
            ScalarType::I64 => Some((i64::MIN as i128, i64::MAX as i128)),
            ScalarType::U8 => Some((0, u8::MAX as i128)),
            ScalarType::U16 => Some((0, u16::MAX as i128)),
            ScalarType::U32 => Some((0, u32::MAX as i128)),
            ScalarType::U64 => Some((0, u64::MAX as i128)),
            ScalarType::Bool => None,
            ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 | ScalarType::F64 => None,
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for ty in ScalarType::ALL {
            assert_eq!(ScalarType::from_name(ty.name()), Some(ty));
            assert_eq!(
                [ty.is_bool(), ty.is_int(), ty.is_float()].iter().filter(|x| **x).count(),
                1
            );
        }
        assert_eq!(ScalarType::from_name("i128"), None);
    }
}
