//! Logarithms: `x = 2^k (1 + f)` with `1 + f` in sqrt(1/2) .. sqrt(2), and a polynomial in
//! `s = f / (2 + f)`, since `log(1 + f) = 2 atanh(s)`.

use super::exp::{LN2_HI, LN2_LO};
use super::pair::Pair;
use super::polynomial;

/// `1 / ln 2` to 21 bits, so that its product with 32 bits is exact, and the rest of it.
const INV_LN2: (f64, f64) = (1.4426946640014648, 3.768874985636099e-07);
/// `1 / ln 10` to 21 bits and the rest of it.
const INV_LN10: (f64, f64) = (0.4342944622039795, 1.9699272335463627e-08);
/// `log10(2)` to 40 bits, so that its product with an exponent is exact, and the rest of it.
const LOG10_2: (f64, f64) = (0.30102999566361177, 3.694239077158931e-13);

/// `(log((1 + s) / (1 - s)) / s - 2) / s^2`, a polynomial in `s^2`, for 1 + f as above.
pub const LOG: [f64; 7] = [
    0.666666666666667,
    0.3999999999989889,
    0.28571428626253836,
    0.22222211089379496,
    0.1818289243253687,
    0.15331611722055008,
    0.14617807153417325,
];

/// The natural logarithm.
pub fn log(x: f64) -> f64 {
    match special(x) {
        Some(value) => value,
        None => log_scaled(x, 0.0, 0),
    }
}

/// `log(1 + x)`, also where `1 + x` is nearly 1.
pub fn log1p(x: f64) -> f64 {
    if x.is_nan() || x <= -1.0 || x == f64::INFINITY {
        return log(1.0 + x);
    }
    if x.abs() < 1e-17 {
        return x;
    }
    log1p_pair(Pair { head: x, tail: 0.0 })
}

/// The logarithm to base 2; exact for powers of two.
pub fn log2(x: f64) -> f64 {
    match special(x) {
        Some(value) => value,
        None => based(x, INV_LN2, (1.0, 0.0)),
    }
}

/// The logarithm to base 10; exact for powers of ten.
pub fn log10(x: f64) -> f64 {
    match special(x) {
        Some(value) => value,
        None => based(x, INV_LN10, LOG10_2),
    }
}

/// `log(2^shift (x + tail))` for a finite `x > 0` and a `tail` that is small against it.
pub(super) fn log_scaled(x: f64, tail: f64, shift: i32) -> f64 {
    let (k, m) = decompose(x);
    combine(f64::from(k + shift), m - 1.0, tail / x)
}

/// `log(1 + x)` for a finite pair `x > -1` that is not tiny.
pub(super) fn log1p_pair(x: Pair) -> f64 {
    // There 1 + x needs no reduction, and x itself is the f of the formula, without rounding.
    if -0.29 < x.head && x.head < 0.41 {
        return combine(0.0, x.head, x.tail / (1.0 + x.head));
    }
    let sum = Pair::sum(1.0, x.head);
    log_scaled(sum.head, sum.tail + x.tail, 0)
}

/// The logarithm of what is not a positive finite number.
fn special(x: f64) -> Option<f64> {
    if x == 0.0 {
        Some(f64::NEG_INFINITY)
    } else if x.is_nan() || x < 0.0 {
        Some(f64::NAN)
    } else if x == f64::INFINITY {
        Some(x)
    } else {
        None
    }
}

/// `x = 2^k m` with `m` in sqrt(1/2) .. sqrt(2), for a finite `x > 0`.
pub(super) fn decompose(x: f64) -> (i32, f64) {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    let subnormal = x < f64::MIN_POSITIVE;
    let x = if subnormal { x * 18_014_398_509_481_984.0 } else { x };
    let shifted = x.to_bits() + (ONE - SQRT_HALF);
    let k = (shifted >> 52) as i32 - 1023 - if subnormal { 54 } else { 0 };
    (k, f64::from_bits((shifted & 0x000f_ffff_ffff_ffff) + SQRT_HALF))
}

/// `f^2 / 2` and what is to be added to `f - f^2 / 2` to give `log(1 + f)`.
fn kernel(f: f64) -> (f64, f64) {
    let s = f / (2.0 + f);
    let z = s * s;
    let half_square = 0.5 * f * f;
    (half_square, s * (half_square + z * polynomial(&LOG, z)))
}

/// `k ln 2 + log(1 + f) + rest`.
fn combine(k: f64, f: f64, rest: f64) -> f64 {
    let (half_square, more) = kernel(f);
    k * LN2_HI - ((half_square - (more + (k * LN2_LO + rest))) - f)
}

/// `k unit + log(1 + f) inverse`: a logarithm to another base.
fn based(x: f64, inverse: (f64, f64), unit: (f64, f64)) -> f64 {
    let (k, m) = decompose(x);
    let (k, f) = (f64::from(k), m - 1.0);
    let (half_square, more) = kernel(f);
    // The upper 21 bits of the logarithm, then the rest: their products below are exact.
    let high = f64::from_bits((f - half_square).to_bits() & 0xffff_ffff_0000_0000);
    let low = (f - high) - half_square + more;
    let product = high * inverse.0;
    let rest = k * unit.1 + (low + high) * inverse.1 + low * inverse.0;
    let sum = Pair::sum(k * unit.0, product);
    sum.head + (sum.tail + rest)
}
