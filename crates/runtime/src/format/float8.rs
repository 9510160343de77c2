//! Floats of eight bits as elements of files.
//!
//! They are a way to store numbers, not a type of the language: every one of them is an `f32`
//! exactly, and that is what they are read as. Nothing is written in them.

use std::io::Read;

use ein_scalar::ScalarType;

use super::Fault;
use crate::{Memory, Tensor};

/// The two layouts in use (OCP 8-bit floating point specification, 1.0).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Float8 {
    /// Four bits of exponent, three of fraction; no infinities, one NaN of each sign.
    E4M3,
    /// Five bits of exponent, two of fraction; infinities and NaNs as `f16` has them.
    E5M2,
}

impl Float8 {
    /// The layout by its name in a `.safetensors` file.
    pub(super) fn of(dtype: &str) -> Option<Float8> {
        match dtype {
            "F8_E4M3" => Some(Float8::E4M3),
            "F8_E5M2" => Some(Float8::E5M2),
            _ => None,
        }
    }

    /// The number that a byte stands for.
    fn value(self, byte: u8) -> f32 {
        let (fraction_bits, bias, magnitude) = match self {
            Float8::E4M3 => (3, 7, byte & 0x7f),
            Float8::E5M2 => (2, 15, byte & 0x7f),
        };
        let special = match self {
            Float8::E4M3 => (magnitude == 0x7f).then_some(f32::NAN),
            Float8::E5M2 => match magnitude {
                0x7c => Some(f32::INFINITY),
                0x7d.. => Some(f32::NAN),
                _ => None,
            },
        };
        let exponent = i32::from(magnitude >> fraction_bits);
        let fraction = i32::from(magnitude & ((1 << fraction_bits) - 1));
        // A number below the smallest normal one has no hidden bit, and the smallest exponent.
        let digits = if exponent == 0 { fraction } else { fraction | 1 << fraction_bits };
        let power = exponent.max(1) - bias - fraction_bits;
        let value = special.unwrap_or_else(|| digits as f32 * power_of_two(power));
        if byte & 0x80 != 0 { -value } else { value }
    }

    /// An array whose bytes follow in `input`, as many as the shape needs.
    pub(super) fn read(
        self,
        input: &mut dyn Read,
        shape: &[usize],
        memory: &Memory,
    ) -> Result<Tensor, Fault> {
        let mut buffer = memory.allocate(ScalarType::F32, shape)?;
        let bytes = buffer.bytes_mut();
        // Read to the end of the buffer, then widen from its front: what is read next lies behind
        // what is written.
        let start = bytes.len() - bytes.len() / 4;
        input.read_exact(&mut bytes[start..])?;
        for at in 0..bytes.len() / 4 {
            let value = self.value(bytes[start + at]);
            bytes[4 * at..4 * at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        Ok(Tensor::over(ScalarType::F32, shape, buffer))
    }
}

/// `2^power`, for powers of normal floats.
fn power_of_two(power: i32) -> f32 {
    f32::from_bits(((power + 127) as u32) << 23)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_its_number() {
        for byte in 0..=255u8 {
            // E5M2 is the upper half of an `f16`.
            let half = ein_scalar::f16::from_bits(u16::from(byte) << 8).to_f32();
            let value = Float8::E5M2.value(byte);
            assert!(value.to_bits() == half.to_bits() || value.is_nan() && half.is_nan(), "{byte}");
        }
        let known = [
            (0x00, 0.0),
            (0x01, 0.001953125),
            (0x07, 0.013671875),
            (0x08, 0.015625),
            (0x38, 1.0),
            (0x39, 1.125),
            (0x7e, 448.0),
            (0xb8, -1.0),
            (0xfe, -448.0),
        ];
        for (byte, value) in known {
            assert_eq!(Float8::E4M3.value(byte), value, "{byte:#x}");
        }
        assert!(Float8::E4M3.value(0x7f).is_nan() && Float8::E4M3.value(0xff).is_nan());
        assert!(Float8::E4M3.value(0x80).is_sign_negative());
        let all: Vec<f32> = (0..0x7f).map(|byte| Float8::E4M3.value(byte)).collect();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
