//! Exponentials: `2^k e^r` with `|r| <= ln 2 / 2`, and a polynomial for `e^r`.

use std::f64::consts::{LN_2, LOG2_E};

use super::pair::Pair;
use super::polynomial;

/// The upper 32 bits of ln 2, so that its product with an exponent is exact.
pub const LN2_HI: f64 = 0.6931471803691238;
/// The rest of ln 2.
pub const LN2_LO: f64 = 1.9082149292705877e-10;
/// What the double `LN_2` lacks of ln 2.
const LN2_REST: f64 = 2.3190468138462996e-17;

/// `(e^r - 1 - r) / r^2`, for |r| <= ln 2 / 2.
pub const EXP: [f64; 11] = [
    0.5,
    0.1666666666666667,
    0.04166666666666667,
    0.008333333333326115,
    0.0013888888888881695,
    0.0001984126987489273,
    2.4801587331028466e-05,
    2.7557255308812516e-06,
    2.7557267771532297e-07,
    2.5105255016063825e-08,
    2.0916860635231786e-09,
];

/// e to the power of `x`.
pub fn exp(x: f64) -> f64 {
    exp_scaled(x, 0.0, 0)
}

/// 2 to the power of `x`.
pub fn exp2(x: f64) -> f64 {
    let x = x.clamp(-1200.0, 1200.0);
    let k = nearest(x);
    let fraction = x - k;
    let r = Pair::product(fraction, LN_2);
    let reduced = Reduced { k: k as i32, r: r.head, rest: r.tail + fraction * LN2_REST };
    scale(reduced.exp().value(), reduced.k)
}

/// `e^x - 1`, also where `e^x` is nearly 1.
pub fn expm1(x: f64) -> f64 {
    if x.abs() < 1e-17 {
        return x;
    }
    let (mantissa, k) = expm1_parts(x.clamp(-60.0, 1000.0));
    scale(mantissa.value(), k)
}

/// `2^shift e^(x + tail)`, where `tail` is small against `x`, without overflow on the way.
pub(super) fn exp_scaled(x: f64, tail: f64, shift: i32) -> f64 {
    let reduced = Reduced::of(x.clamp(-1000.0, 1000.0), tail);
    scale(reduced.exp().value(), reduced.k + shift)
}

/// `e^x - 1` for `|x| <= 50` as a pair.
pub(super) fn expm1_pair(x: f64) -> Pair {
    let (mantissa, k) = expm1_parts(x);
    mantissa.scaled(power_of_two(k))
}

/// `e^x - 1` as `mantissa * 2^k`.
fn expm1_parts(x: f64) -> (Pair, i32) {
    let reduced = Reduced::of(x, 0.0);
    let (k, r) = (reduced.k, reduced.r);
    if k == 0 {
        return (Pair::ordered_sum(r, reduced.beyond_linear()), 0);
    }
    // 2^k (1 + …) - 1 = 2^k ((1 - 2^-k) + …); the bracket is exact wherever its last bit counts.
    let ones = Pair::ordered_sum(1.0 - scale(1.0, -k), r);
    (Pair::ordered_sum(ones.head, ones.tail + reduced.beyond_linear()), k)
}

/// An argument as `k ln 2 + r + rest`, with `|r| <= ln 2 / 2` and a `rest` below its last bit.
struct Reduced {
    k: i32,
    r: f64,
    rest: f64,
}

impl Reduced {
    /// Reduces `x + tail`, for `|x| <= 1000`.
    fn of(x: f64, tail: f64) -> Reduced {
        let k = nearest(x * LOG2_E);
        let high = x - k * LN2_HI;
        let low = k * LN2_LO - tail;
        let r = high - low;
        Reduced { k: k as i32, r, rest: (high - r) - low }
    }

    /// `e^(r + rest) - 1 - r`.
    fn beyond_linear(&self) -> f64 {
        self.r * self.r * polynomial(&EXP, self.r) + (self.rest + self.rest * self.r)
    }

    /// `e^(r + rest)`.
    fn exp(&self) -> Pair {
        let linear = Pair::ordered_sum(1.0, self.r);
        Pair::ordered_sum(linear.head, linear.tail + self.beyond_linear())
    }
}

/// The integer nearest to `x`, for `|x| < 2^51`: adding this leaves no bits after the point.
pub(super) fn nearest(x: f64) -> f64 {
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    (x + SHIFT) - SHIFT
}

/// `x * 2^k` with one rounding, for `|k| < 2000` and `x` near 1.
fn scale(x: f64, k: i32) -> f64 {
    let half = k / 2;
    x * power_of_two(half) * power_of_two(k - half)
}

/// `2^k` for `-1022 <= k <= 1023`.
pub(super) fn power_of_two(k: i32) -> f64 {
    f64::from_bits(((k + 1023) as u64) << 52)
}
