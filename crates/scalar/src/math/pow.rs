//! Powers: `e^(y log x)`, with the logarithm as a pair of doubles because `y` magnifies its error.

use super::exp::{LN2_HI, LN2_LO, exp_scaled};
use super::log::decompose;
use super::pair::Pair;
use super::polynomial;

/// 2/3 and 2/5, the first coefficients of `2 atanh(s) / s - 2`, as pairs.
const TWO_THIRDS: Pair = Pair { head: 0.6666666666666666, tail: 3.700743415417188e-17 };
const TWO_FIFTHS: Pair = Pair { head: 0.4, tail: -2.2204460492503132e-17 };

/// The further coefficients, from 2/7 on.
pub const TAIL: [f64; 7] = [
    0.285714285714286,
    0.22222222222140214,
    0.18181818226283877,
    0.15384606355892447,
    0.13334204464506105,
    0.11721731747176209,
    0.11567351729591345,
];

/// An exponent: `value + rest`, and what is to be known of it as an integer.
#[derive(Clone, Copy)]
pub(super) struct Exponent {
    pub value: f64,
    rest: f64,
    is_integer: bool,
    is_odd: bool,
}

impl Exponent {
    /// A float exponent.
    pub fn from_float(y: f64) -> Exponent {
        // From 2^53 on every double is even.
        let is_integer = y == y.trunc();
        let is_odd = is_integer && y.abs() < 9_007_199_254_740_992.0 && (y as i64) & 1 == 1;
        Exponent { value: y, rest: 0.0, is_integer, is_odd }
    }

    /// An integer exponent of at most 64 bits.
    pub fn from_int(n: i128) -> Exponent {
        let value = n as f64;
        let rest = (n - value as i128) as f64;
        Exponent { value, rest, is_integer: true, is_odd: n & 1 == 1 }
    }
}

/// `x` to the power of `y`, with the special cases of IEEE 754.
pub fn pow(x: f64, y: f64) -> f64 {
    power(x, Exponent::from_float(y), power_of_positive)
}

/// `x` to the power of an integer, which is not rounded to a double first.
pub fn powi(x: f64, n: i128) -> f64 {
    power(x, Exponent::from_int(n), power_of_positive)
}

/// Signs and special cases; `positive` is asked for finite `x > 0`, not 1, and finite exponents.
pub(super) fn power(x: f64, y: Exponent, positive: fn(f64, Exponent) -> f64) -> f64 {
    if y.value == 0.0 || x == 1.0 {
        return 1.0;
    }
    if x.is_nan() || y.value.is_nan() {
        return f64::NAN;
    }
    if y.value == 2.0 && y.is_integer {
        // Rounded once, as the product is that engines make of it.
        return x * x;
    }
    let magnitude = x.abs();
    let sign = if y.is_odd && x.is_sign_negative() { -1.0 } else { 1.0 };
    let grows = y.value > 0.0;
    if magnitude == 0.0 || magnitude == f64::INFINITY {
        return sign * if (magnitude == 0.0) == grows { 0.0 } else { f64::INFINITY };
    }
    if magnitude == 1.0 && (y.is_integer || y.value.is_infinite()) {
        return sign;
    }
    if y.value.is_infinite() {
        return if (magnitude < 1.0) == grows { 0.0 } else { f64::INFINITY };
    }
    if x < 0.0 && !y.is_integer {
        return f64::NAN;
    }
    sign * positive(magnitude, y)
}

fn power_of_positive(x: f64, y: Exponent) -> f64 {
    // From 2^65 on any `x` but 1 overflows or vanishes; the bound keeps the products in range.
    let bounded = y.value.clamp(-3.7e19, 3.7e19);
    let log = log_pair(x);
    let product = Pair::product(bounded, log.head);
    exp_scaled(product.head, product.tail + (bounded * log.tail + y.rest * log.head), 0)
}

/// The natural logarithm of a finite `x > 0`, with a relative error below 2^-66.
fn log_pair(x: f64) -> Pair {
    let (k, m) = decompose(x);
    let (k, f) = (f64::from(k), m - 1.0);
    let s = Pair { head: f, tail: 0.0 }.over(Pair::sum(2.0, f));
    let z = s.times(s);
    let fifth = TWO_FIFTHS.plus_one(z.head * polynomial(&TAIL, z.head));
    let third = TWO_THIRDS.plus(z.times(fifth));
    let fraction = s.scaled(2.0).plus(s.times(z.times(third)));
    Pair { head: k * LN2_HI, tail: k * LN2_LO }.plus(fraction)
}
