//! Element types of ONNX, and what they are in the language.

/// An element type of an ONNX tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of the format")]
pub enum Elem {
    F32,
    F64,
    F16,
    BF16,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    Bool,
    F8E4M3FN,
    F8E4M3FNUZ,
    F8E5M2,
    F8E5M2FNUZ,
    F8E8M0,
    F4E2M1,
    U4,
    I4,
    U2,
    I2,
}

/// How the bits of a small float are laid out.
#[derive(Clone, Copy, Debug)]
pub struct SmallFloat {
    /// Digits after the leading one.
    pub digits: i32,
    /// The exponent of the smallest normal number.
    pub lowest: i32,
    /// The largest number.
    pub largest: f64,
    /// Whether there are infinities.
    pub infinite: bool,
    /// Whether there is a NaN.
    pub nan: bool,
    /// Whether there is a negative zero.
    pub minus_zero: bool,
}

impl Elem {
    /// The type with this number in the format.
    pub fn of(code: i32) -> Option<Elem> {
        Some(match code {
            1 => Elem::F32,
            2 => Elem::U8,
            3 => Elem::I8,
            4 => Elem::U16,
            5 => Elem::I16,
            6 => Elem::I32,
            7 => Elem::I64,
            9 => Elem::Bool,
            10 => Elem::F16,
            11 => Elem::F64,
            12 => Elem::U32,
            13 => Elem::U64,
            16 => Elem::BF16,
            17 => Elem::F8E4M3FN,
            18 => Elem::F8E4M3FNUZ,
            19 => Elem::F8E5M2,
            20 => Elem::F8E5M2FNUZ,
            21 => Elem::U4,
            22 => Elem::I4,
            23 => Elem::F4E2M1,
            24 => Elem::F8E8M0,
            25 => Elem::U2,
            26 => Elem::I2,
            _ => return None,
        })
    }

    /// What the format calls a type that is no [`Elem`].
    pub fn name_of(code: i32) -> String {
        match code {
            0 => "undefined".into(),
            8 => "string".into(),
            14 => "complex64".into(),
            15 => "complex128".into(),
            other => format!("number {other}"),
        }
    }

    /// The type that holds its values in a program. Floats below sixteen bits are `f32`, as they
    /// are when they are read from a file; integers below eight bits are bytes.
    pub fn lang(self) -> &'static str {
        match self {
            Elem::F32 => "f32",
            Elem::F64 => "f64",
            Elem::F16 => "f16",
            Elem::BF16 => "bf16",
            Elem::I8 | Elem::I4 | Elem::I2 => "i8",
            Elem::I16 => "i16",
            Elem::I32 => "i32",
            Elem::I64 => "i64",
            Elem::U8 | Elem::U4 | Elem::U2 => "u8",
            Elem::U16 => "u16",
            Elem::U32 => "u32",
            Elem::U64 => "u64",
            Elem::Bool => "bool",
            Elem::F8E4M3FN
            | Elem::F8E4M3FNUZ
            | Elem::F8E5M2
            | Elem::F8E5M2FNUZ
            | Elem::F8E8M0
            | Elem::F4E2M1 => "f32",
        }
    }

    /// Whether its values are floats.
    pub fn is_float(self) -> bool {
        matches!(self.lang(), "f32" | "f64" | "f16" | "bf16")
    }

    /// Whether its values are integers.
    pub fn is_int(self) -> bool {
        !self.is_float() && self != Elem::Bool
    }

    /// Whether its values are integers that are not negative.
    pub fn is_unsigned(self) -> bool {
        self.lang().starts_with('u')
    }

    /// Whether sums and products in it need a wider type than its own.
    pub fn is_half(self) -> bool {
        matches!(self, Elem::F16 | Elem::BF16)
    }

    /// The width of an integer in bits.
    pub fn bits(self) -> u32 {
        match self {
            Elem::U2 | Elem::I2 => 2,
            Elem::U4 | Elem::I4 | Elem::F4E2M1 => 4,
            Elem::I8
            | Elem::U8
            | Elem::Bool
            | Elem::F8E4M3FN
            | Elem::F8E4M3FNUZ
            | Elem::F8E5M2
            | Elem::F8E5M2FNUZ
            | Elem::F8E8M0 => 8,
            Elem::I16 | Elem::U16 | Elem::F16 | Elem::BF16 => 16,
            Elem::I32 | Elem::U32 | Elem::F32 => 32,
            Elem::I64 | Elem::U64 | Elem::F64 => 64,
        }
    }

    /// The least and greatest value of an integer type.
    pub fn limits(self) -> (i128, i128) {
        let bits = self.bits();
        if self.is_unsigned() {
            (0, (1 << bits) - 1)
        } else {
            (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        }
    }

    /// The layout of a float below sixteen bits.
    pub fn small_float(self) -> Option<SmallFloat> {
        let small = |digits, lowest, largest, infinite, nan, minus_zero| {
            Some(SmallFloat { digits, lowest, largest, infinite, nan, minus_zero })
        };
        match self {
            Elem::F8E4M3FN => small(3, -6, 448.0, false, true, true),
            Elem::F8E4M3FNUZ => small(3, -7, 240.0, false, true, false),
            Elem::F8E5M2 => small(2, -14, 57344.0, true, true, true),
            Elem::F8E5M2FNUZ => small(2, -15, 57344.0, false, true, false),
            Elem::F4E2M1 => small(1, 0, 6.0, false, false, true),
            Elem::F32
            | Elem::F64
            | Elem::F16
            | Elem::BF16
            | Elem::I8
            | Elem::I16
            | Elem::I32
            | Elem::I64
            | Elem::U8
            | Elem::U16
            | Elem::U32
            | Elem::U64
            | Elem::Bool
            | Elem::F8E8M0
            | Elem::U4
            | Elem::I4
            | Elem::U2
            | Elem::I2 => None,
        }
    }

    /// The number that bits of a float below sixteen bits stand for.
    pub fn small_value(self, bits: u8) -> f64 {
        if self == Elem::F8E8M0 {
            return if bits == 255 { f64::NAN } else { 2f64.powi(i32::from(bits) - 127) };
        }
        let Some(layout) = self.small_float() else { return 0.0 };
        let sign_bit = if self == Elem::F4E2M1 { 8 } else { 128 };
        let (sign, magnitude) = (bits & sign_bit != 0, bits & (sign_bit - 1));
        if !layout.minus_zero && bits == sign_bit {
            return f64::NAN;
        }
        let exponent = i32::from(magnitude >> layout.digits);
        let fraction = i32::from(magnitude & ((1 << layout.digits) - 1));
        let digits = if exponent == 0 { fraction } else { fraction | 1 << layout.digits };
        let value =
            f64::from(digits) * 2f64.powi(exponent.max(1) - 1 + layout.lowest - layout.digits);
        let value = match value > layout.largest {
            true if layout.infinite && fraction == 0 => f64::INFINITY,
            true => f64::NAN,
            false => value,
        };
        if sign { -value } else { value }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_floats_have_the_values_of_their_standards() {
        assert_eq!(Elem::F8E4M3FN.small_value(0x7e), 448.0);
        assert!(Elem::F8E4M3FN.small_value(0x7f).is_nan());
        assert_eq!(Elem::F8E5M2.small_value(0x7b), 57344.0);
        assert_eq!(Elem::F8E5M2.small_value(0xfc), f64::NEG_INFINITY);
        assert_eq!(Elem::F8E4M3FNUZ.small_value(0x7f), 240.0);
        assert!(Elem::F8E5M2FNUZ.small_value(0x80).is_nan());
        assert_eq!(Elem::F8E5M2FNUZ.small_value(0x7f), 57344.0);
        assert_eq!(Elem::F4E2M1.small_value(0x7), 6.0);
        assert_eq!(Elem::F4E2M1.small_value(0x9), -0.5);
        assert_eq!(Elem::F8E8M0.small_value(127), 1.0);
    }
}
