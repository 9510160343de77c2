//! Conversion between scalar types: the language's `as`.

use crate::round::{f32_to_bf16, f32_to_f16, f64_to_bf16, f64_to_f16, i128_to_bf16};
use crate::{Scalar, ScalarType};

/// `value as ty`.
///
/// Float to integer truncates toward zero and saturates, NaN gives 0. Integers wrap when they
/// narrow. Integer to float and float to float round to nearest once. `bool` is 0 or 1, and a
/// number is `true` unless it is zero.
pub fn cast(value: Scalar, ty: ScalarType) -> Scalar {
    if value.ty() == ty {
        return value;
    }
    match value {
        Scalar::Bool(x) => {
            if x {
                Scalar::one(ty)
            } else {
                Scalar::zero(ty)
            }
        }
        Scalar::F64(x) => from_float(x, ty),
        Scalar::F32(x) => match ty {
            // One rounding either way; this one is cheaper.
            ScalarType::F16 => Scalar::F16(f32_to_f16(x)),
            ScalarType::BF16 => Scalar::BF16(f32_to_bf16(x)),
            _ => from_float(f64::from(x), ty),
        },
        Scalar::F16(x) => from_float(f64::from(x.to_f32()), ty),
        Scalar::BF16(x) => from_float(f64::from(x.to_f32()), ty),
        Scalar::I8(x) => from_int(i128::from(x), ty),
        Scalar::I16(x) => from_int(i128::from(x), ty),
        Scalar::I32(x) => from_int(i128::from(x), ty),
        Scalar::I64(x) => from_int(i128::from(x), ty),
        Scalar::U8(x) => from_int(i128::from(x), ty),
        Scalar::U16(x) => from_int(i128::from(x), ty),
        Scalar::U32(x) => from_int(i128::from(x), ty),
        Scalar::U64(x) => from_int(i128::from(x), ty),
    }
}

fn from_float(x: f64, ty: ScalarType) -> Scalar {
    match ty {
        ScalarType::Bool => Scalar::Bool(x != 0.0),
        ScalarType::I8 => Scalar::I8(x as i8),
        ScalarType::I16 => Scalar::I16(x as i16),
        ScalarType::I32 => Scalar::I32(x as i32),
        ScalarType::I64 => Scalar::I64(x as i64),
        ScalarType::U8 => Scalar::U8(x as u8),
        ScalarType::U16 => Scalar::U16(x as u16),
        ScalarType::U32 => Scalar::U32(x as u32),
        ScalarType::U64 => Scalar::U64(x as u64),
        ScalarType::F16 => Scalar::F16(f64_to_f16(x)),
        ScalarType::BF16 => Scalar::BF16(f64_to_bf16(x)),
        ScalarType::F32 => Scalar::F32(x as f32),
        ScalarType::F64 => Scalar::F64(x),
    }
}

fn from_int(x: i128, ty: ScalarType) -> Scalar {
    match ty {
        ScalarType::Bool => Scalar::Bool(x != 0),
        ScalarType::F16 => Scalar::F16(f64_to_f16(x as f64)),
        ScalarType::BF16 => Scalar::BF16(i128_to_bf16(x)),
        ScalarType::F32 => Scalar::F32(x as f32),
        ScalarType::F64 => Scalar::F64(x as f64),
        ScalarType::I8 | ScalarType::I16 | ScalarType::I32 | ScalarType::I64 => {
            Scalar::wrap_i128(x, ty)
        }
        ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => {
            Scalar::wrap_i128(x, ty)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: impl Into<Scalar>, expected: impl Into<Scalar>) {
        let expected = expected.into();
        assert_eq!(cast(value.into(), expected.ty()), expected);
    }

    #[test]
    fn floats_truncate_and_saturate() {
        check(2.9f32, 2i32);
        check(-2.9f32, -2i32);
        check(1e20f32, i32::MAX);
        check(-1e20f64, i32::MIN);
        check(300.7f32, 255u8);
        check(-5.0f32, 0u8);
        check(f32::NAN, 0i64);
        check(f64::INFINITY, u64::MAX);
        check(-0.5f64, 0i8);
    }

    #[test]
    fn integers_wrap() {
        check(300i32, 44u8);
        check(-1i32, 255u8);
        check(-129i32, 127i8);
        check(-1i64, u64::MAX);
        check(u64::MAX, -1i64);
    }

    #[test]
    fn to_float_rounds_once() {
        check(16_777_217i32, 16_777_216.0f32);
        check(16_777_217i32, 16_777_217.0f64);
        check(u64::MAX, 18_446_744_073_709_551_616.0f64);
        check(i64::MAX, 9_223_372_036_854_775_807i64 as f32);
        check(2049i32, half::f16::from_f32(2048.0));
        check(65520i32, half::f16::INFINITY);
    }

    #[test]
    fn bools() {
        check(true, 1i32);
        check(true, 1.0f32);
        check(false, half::bf16::ZERO);
        check(2i32, true);
        check(0.0f64, false);
        check(-0.0f64, false);
        check(f64::NAN, true);
    }
}
