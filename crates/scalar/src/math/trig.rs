//! Sine, cosine and tangent: the argument less the nearest multiple of pi / 2, then a polynomial.
//!
//! Up to about 1.6 million the multiple is taken off in four steps, the first three of them
//! exact. Beyond that (Payne and Hanek's method) the argument is multiplied by those bits of 2 / pi
//! that can reach the fraction of the quotient, in integers. Either way the rest is a pair of doubles,
//! right to about 2^-66 of itself even for the arguments nearest to a multiple.

use std::f64::consts::{FRAC_2_PI, FRAC_PI_2, FRAC_PI_4};

use super::exp::{nearest, power_of_two};
use super::pair::Pair;
use super::polynomial;

/// pi / 2 in three parts of 33 bits, whose products with 20 bits are exact, and the rest.
const PIO2_PARTS: [f64; 4] =
    [1.5707963267341256, 6.077100506303966e-11, 2.0222662487111665e-21, 8.4784276603689e-32];
/// What the double `FRAC_PI_2` lacks of pi / 2.
const PIO2_REST: f64 = 6.123233995736766e-17;

/// `(sin(x) / x - 1) / x^2`, a polynomial in `x^2`, for |x| <= pi / 4.
pub const SIN: [f64; 7] = [
    -0.16666666666666666,
    0.008333333333333331,
    -0.0001984126984126504,
    2.755731921932058e-06,
    -2.50521062259944e-08,
    1.6058530596645953e-10,
    -7.586636882825159e-13,
];

/// `(cos(x) - 1 + x^2 / 2) / x^4`, a polynomial in `x^2`, for |x| <= pi / 4.
pub const COS: [f64; 7] = [
    0.041666666666666664,
    -0.0013888888888888887,
    2.4801587301584632e-05,
    -2.755731922139249e-07,
    2.0876755787492604e-09,
    -1.1470460319209511e-11,
    4.745838412531023e-14,
];

/// The bits of 2 / pi after sixty-four zeros, so that a window may start before the point.
#[rustfmt::skip]
const TWO_OVER_PI: [u64; 20] = [
    0,
    0xa2f9_836e_4e44_1529, 0xfc27_57d1_f534_ddc0, 0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561, 0xb724_6e3a_424d_d2e0, 0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e, 0xe882_35f5_2ebb_4484, 0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4, 0x9c84_5f8b_bdf9_283b, 0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f, 0x6d36_7ecf_27cb_09b7, 0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b, 0x3d07_39f7_8a52_92ea, 0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// Sine.
pub fn sin(x: f64) -> f64 {
    if x.abs() < 1e-8 {
        return x;
    }
    let (quadrant, r) = reduce(x);
    match quadrant {
        0 => sin_pair(r).value(),
        1 => cos_pair(r).value(),
        2 => -sin_pair(r).value(),
        _ => -cos_pair(r).value(),
    }
}

/// Cosine.
pub fn cos(x: f64) -> f64 {
    let (quadrant, r) = reduce(x);
    match quadrant {
        0 => cos_pair(r).value(),
        1 => -sin_pair(r).value(),
        2 => -cos_pair(r).value(),
        _ => sin_pair(r).value(),
    }
}

/// Tangent.
pub fn tan(x: f64) -> f64 {
    if x.abs() < 1e-8 {
        return x;
    }
    let (quadrant, r) = reduce(x);
    let (sin, cos) = (sin_pair(r), cos_pair(r));
    if quadrant & 1 == 0 { sin.over(cos).value() } else { -cos.over(sin).value() }
}

/// Sine of a pair within pi / 4.
fn sin_pair(r: Pair) -> Pair {
    let (x, z) = (r.head, r.head * r.head);
    Pair::ordered_sum(x, x * z * polynomial(&SIN, z) + r.tail * (1.0 - 0.5 * z))
}

/// Cosine of a pair within pi / 4.
fn cos_pair(r: Pair) -> Pair {
    let square = Pair::product(r.head, r.head);
    let z = square.head;
    let start = Pair::ordered_sum(1.0, -0.5 * z);
    let rest = z * z * polynomial(&COS, z) - r.head * r.tail - 0.5 * square.tail;
    Pair::ordered_sum(start.head, start.tail + rest)
}

/// The quadrant (0 to 3) and the rest of `x` after the nearest multiple of pi / 2.
fn reduce(x: f64) -> (i32, Pair) {
    let magnitude = x.abs();
    if magnitude <= FRAC_PI_4 {
        return (0, Pair { head: x, tail: 0.0 });
    }
    if !magnitude.is_finite() {
        return (0, Pair { head: f64::NAN, tail: f64::NAN });
    }
    if magnitude < 1.6e6 {
        let k = nearest(x * FRAC_2_PI);
        let [first, second, third, fourth] = PIO2_PARTS;
        let near = Pair::sum(x - k * first, -(k * second));
        let nearer = Pair::sum(near.head, -(k * third));
        let rest = Pair::ordered_sum(nearer.head, near.tail + nearer.tail - k * fourth);
        return (k as i32 & 3, rest);
    }
    let (quadrant, rest) = reduce_huge(magnitude);
    if x < 0.0 { (-quadrant & 3, rest.scaled(-1.0)) } else { (quadrant, rest) }
}

/// The same for `x` from 2^20 up.
fn reduce_huge(x: f64) -> (i32, Pair) {
    let bits = x.to_bits();
    let exponent = (bits >> 52) as i32 - 1075;
    let mantissa = u128::from((bits & 0x000f_ffff_ffff_ffff) | 0x0010_0000_0000_0000);
    // Bits of 2 / pi that stand for multiples of 4 turns are left out; 192 others are enough.
    let start = (exponent + 62) as usize;
    let (word, shift) = (start / 64, start % 64);
    let window = |i: usize| {
        let at = |j: usize| u128::from(TWO_OVER_PI.get(j).copied().unwrap_or(0));
        let two = at(word + i) << 64 | at(word + i + 1);
        u128::from((two >> (64 - shift)) as u64)
    };
    // The product modulo 2^192, of which the first two bits are the quadrant.
    let low = mantissa * window(2);
    let middle = mantissa * window(1) + (low >> 64);
    let high = mantissa * window(0) + (middle >> 64);
    let top = (high as u64 as u128) << 64 | u128::from(middle as u64);
    let quadrant = (top >> 126) as i32;
    let fraction = (top << 2 | u128::from(low as u64) >> 62) as i128;
    let head = fraction as f64;
    let tail = fraction.wrapping_sub(head as i128) as f64;
    // 2^-128 turns the fraction into quarter turns.
    let turns = Pair { head, tail }.scaled(power_of_two(-128));
    let rest = turns.times(Pair { head: FRAC_PI_2, tail: PIO2_REST });
    ((quadrant + i32::from(fraction < 0)) & 3, rest)
}
