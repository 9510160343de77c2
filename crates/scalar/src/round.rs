//! Rounding to a narrower float exactly once.
//!
//! A value is first rounded *to odd* (truncated, with the last bit set if anything was cut off),
//! which keeps the fact that it lay strictly between two narrower numbers; rounding that to
//! nearest gives the same as rounding the original. It works because each step keeps at least two
//! more bits than the last one.

use half::{bf16, f16};

/// `x` to nearest in `f16`, ties to even.
pub(crate) fn f64_to_f16(x: f64) -> f16 {
    f32_to_f16(f64_to_f32_odd(x))
}

/// `x` to nearest in `bf16`, ties to even.
pub(crate) fn f64_to_bf16(x: f64) -> bf16 {
    f32_to_bf16(f64_to_f32_odd(x))
}

/// `x` to nearest in `f16`, ties to even.
pub(crate) fn f32_to_f16(x: f32) -> f16 {
    if x.is_nan() { f16::NAN } else { f16::from_f32(x) }
}

/// `x` to nearest in `bf16`, ties to even.
pub(crate) fn f32_to_bf16(x: f32) -> bf16 {
    if x.is_nan() { bf16::NAN } else { bf16::from_f32(x) }
}

/// `x` to nearest in `bf16`, also where `x` needs more than the 53 bits of a double.
pub(crate) fn i128_to_bf16(x: i128) -> bf16 {
    let near = x as f64;
    let back = near as i128;
    f64_to_bf16(if back == x { near } else { to_odd_64(near, back.abs() > x.abs()) })
}

/// `x` as a single, rounded to odd.
fn f64_to_f32_odd(x: f64) -> f32 {
    let near = x as f32;
    let back = f64::from(near);
    if back == x || x.is_nan() {
        return near;
    }
    let magnitude = near.to_bits() - u32::from(back.abs() > x.abs());
    f32::from_bits(magnitude | 1)
}

/// Turns an inexact rounding to nearest into one to odd.
fn to_odd_64(near: f64, too_far: bool) -> f64 {
    f64::from_bits((near.to_bits() - u64::from(too_far)) | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_once() {
        // Just above the midpoint of 1 and 1 + 2^-10: through f32 it would become the midpoint.
        let above = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(f64_to_f16(above).to_bits(), f16::from_f32(1.0 + 2f32.powi(-10)).to_bits());
        let tie = 1.0 + 2f64.powi(-11);
        assert_eq!(f64_to_f16(tie).to_bits(), f16::ONE.to_bits());
        let above = 1.0 + 2f64.powi(-8) + 2f64.powi(-45);
        assert_eq!(f64_to_bf16(above).to_bits(), bf16::ONE.to_bits() + 1);
        assert_eq!(f64_to_f16(65519.99999999).to_bits(), f16::MAX.to_bits());
        assert_eq!(f64_to_f16(65520.0), f16::INFINITY);
        assert_eq!(f64_to_f16(1e300), f16::INFINITY);
        assert_eq!(f64_to_f16(-1e-300).to_bits(), 0x8000);
        assert_eq!(f64_to_bf16(f64::NEG_INFINITY), bf16::NEG_INFINITY);
        assert!(f64_to_bf16(f64::NAN).is_nan());
    }

    #[test]
    fn wide_integers_round_once() {
        // 2^62 + 2^54 is the midpoint of two bf16 values; one more must go up.
        let tie = (1i128 << 62) + (1 << 54);
        assert_eq!(i128_to_bf16(tie).to_f64(), 2f64.powi(62));
        assert_eq!(i128_to_bf16(tie + 1).to_f64(), 2f64.powi(62) + 2f64.powi(55));
        assert_eq!(i128_to_bf16(-tie - 1).to_f64(), -(2f64.powi(62) + 2f64.powi(55)));
        assert_eq!(i128_to_bf16(tie - 1).to_f64(), 2f64.powi(62));
    }

    #[test]
    fn every_f16_survives() {
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits);
            if !x.is_nan() {
                assert_eq!(f64_to_f16(x.to_f64()).to_bits(), bits);
            }
            let x = bf16::from_bits(bits);
            if !x.is_nan() {
                assert_eq!(f64_to_bf16(x.to_f64()).to_bits(), bits);
            }
        }
    }
}
