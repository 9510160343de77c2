//! Functions of `f64` between exponentials and logarithms: `expm1` and `exp2`, logarithms of other bases,
//! hyperbolic sines and the inverse hyperbolic functions, by the coefficients of `ein_scalar::math`.
//!
//! They cancel digits of what they are made of, and so are computed in pairs; without a fused
//! multiply-add, one element after another as they are defined.

use super::double::{SHIFT, exp_parts, log_special, polynomial, power_of_two, scaled, split};
use super::pair::Pair;
use ein_scalar::math::{
    self,
    coefficients::{EXP, LN2_HI, LN2_LO, LOG},
};

/// `e^(r + rest) - 1 - r` for |r| <= ln 2 / 2.
#[inline(always)]
fn beyond(r: f64, rest: f64) -> f64 {
    (r * r).mul_add(polynomial::<true, 11>(&EXP, r), rest.mul_add(r, rest))
}

/// `e^x - 1` as a pair by a power of two, for |x| <= 1000.
#[inline(always)]
fn expm1_parts(x: f64) -> (Pair, i64) {
    let shifted = x.mul_add(std::f64::consts::LOG2_E, SHIFT);
    let n = (shifted.to_bits() as i64).wrapping_sub(SHIFT.to_bits() as i64);
    let k = shifted - SHIFT;
    let (high, low) = (k.mul_add(-LN2_HI, x), k * LN2_LO);
    let r = high - low;
    let more = beyond(r, (high - r) - low);
    let around = Pair::ordered(r, more);
    let ones = Pair::ordered(1.0 - scaled(1.0, n.wrapping_neg()), r);
    let beside = Pair::ordered(ones.0, ones.1 + more);
    (if n == 0 { around } else { beside }, n)
}

#[inline(always)]
fn expm1_one(x: f64) -> f64 {
    let bounded = if x > 1000.0 { 1000.0 } else { x };
    let bounded = if bounded < -60.0 { -60.0 } else { bounded };
    let (mantissa, n) = expm1_parts(bounded);
    // Keeps the sign of zero.
    if x.abs() < 1e-17 { x } else { scaled(mantissa.value(), n) }
}

#[inline(always)]
fn exp2_one(x: f64) -> f64 {
    let bounded = if x > 1200.0 { 1200.0 } else { x };
    let bounded = if bounded < -1200.0 { -1200.0 } else { bounded };
    let shifted = bounded + SHIFT;
    let f = bounded - (shifted - SHIFT);
    let n = (shifted.to_bits() as i64).wrapping_sub(SHIFT.to_bits() as i64);
    let r = Pair::product(f, std::f64::consts::LN_2);
    let more = beyond(r.0, f.mul_add(2.3190468138462996e-17, r.1));
    scaled(1.0 + (r.0 + more), n)
}

#[inline(always)]
fn sinh_one(x: f64) -> f64 {
    let magnitude = x.abs();
    let bounded = if magnitude > 22.0 { 22.0 } else { magnitude };
    let (mantissa, n) = expm1_parts(bounded);
    let t = mantissa.scaled(power_of_two(n));
    let near = t.plus(t.over(t.plus(Pair(1.0, 0.0)))).scaled(0.5).value();
    let (value, k) = exp_parts::<true>(magnitude);
    let far = scaled(value, k.wrapping_sub(1));
    let value = if magnitude > 22.0 { far } else { near }.copysign(x);
    if magnitude < 1e-8 { x } else { value }
}

/// `f^2 / 2`, and what is to be added to `f - f^2 / 2` to give `log(1 + f)`.
#[inline(always)]
fn log_of_fraction(f: f64) -> (f64, f64) {
    let s = f / (2.0 + f);
    let (z, half) = (s * s, 0.5 * f * f);
    (half, s * z.mul_add(polynomial::<true, 7>(&LOG, z), half))
}

/// `k ln 2 + log(1 + f) + rest`.
#[inline(always)]
fn log_combined(k: f64, f: f64, rest: f64) -> f64 {
    let (half, more) = log_of_fraction(f);
    let low = more + k.mul_add(LN2_LO, rest);
    k.mul_add(LN2_HI, -((half - low) - f))
}

/// `log(1 + x)` for a finite `x > -1`; near 0, `x` itself is the fraction.
#[inline(always)]
fn log1p_pair(x: Pair) -> f64 {
    let near = x.0 > -0.29 && x.0 < 0.41;
    let sum = Pair::sum(1.0, x.0);
    let (k, f) = split(sum.0);
    let tail = if near { x.1 } else { sum.1 + x.1 };
    log_combined(if near { 0.0 } else { k }, if near { x.0 } else { f }, tail / sum.0)
}

/// `log(2 x)` for a large `x`.
#[inline(always)]
fn log_of_double(x: f64) -> f64 {
    let (k, f) = split(x);
    log_combined(k + 1.0, f, 0.0)
}

/// A logarithm by the inverse of that of the base and by that of two, each with what it lacks: the upper
/// bits of the logarithm first, so that products with them are exact.
#[inline(always)]
fn log_based(x: f64, inverse: Pair, unit: Pair) -> f64 {
    let (k, f) = split(x);
    let (half, more) = log_of_fraction(f);
    let high = f64::from_bits((f - half).to_bits() & 0xffff_ffff_0000_0000);
    let low = ((f - high) - half) + more;
    let rest = k * unit.1 + (low + high) * inverse.1 + low * inverse.0;
    let sum = Pair::sum(k * unit.0, high * inverse.0);
    log_special(x, sum.0 + (sum.1 + rest))
}

#[inline(always)]
fn log2_one(x: f64) -> f64 {
    log_based(x, Pair(1.4426946640014648, 3.768874985636099e-07), Pair(1.0, 0.0))
}

#[inline(always)]
fn log10_one(x: f64) -> f64 {
    let unit = Pair(0.30102999566361177, 3.694239077158931e-13);
    log_based(x, Pair(0.4342944622039795, 1.9699272335463627e-08), unit)
}

#[inline(always)]
fn asinh_one(x: f64) -> f64 {
    let magnitude = x.abs();
    let bounded = if magnitude > 1e9 { 1e9 } else { magnitude };
    let (square, one) = (Pair::product(bounded, bounded), Pair(1.0, 0.0));
    let beside = square.over(square.plus(one).root().plus(one));
    let near = log1p_pair(beside.plus(Pair(bounded, 0.0)));
    let value = if magnitude > 1e9 { log_of_double(magnitude) } else { near }.copysign(x);
    // Also what is infinite or no number.
    if (1e-8..f64::INFINITY).contains(&magnitude) { value } else { x }
}

#[inline(always)]
fn acosh_one(x: f64) -> f64 {
    let bounded = if x > 1e9 { 1e9 } else { x };
    let bounded = if bounded < 1.0 { 1.0 } else { bounded };
    let root = Pair::product(bounded, bounded).plus(Pair(-1.0, 0.0)).root();
    let near = log1p_pair(root.plus(Pair::sum(bounded, -1.0)));
    let far = if x < f64::INFINITY { log_of_double(x) } else { x };
    let value = if x > 1e9 { far } else { near };
    if x >= 1.0 { value } else { f64::NAN }
}

#[inline(always)]
fn atanh_one(x: f64) -> f64 {
    let magnitude = x.abs();
    let bounded = if magnitude < 1.0 { magnitude } else { 0.5 };
    let near = 0.5 * log1p_pair(Pair(2.0 * bounded, 0.0).over(Pair::sum(1.0, -bounded)));
    let far = if magnitude == 1.0 { f64::INFINITY } else { f64::NAN };
    let value = if magnitude < 1.0 { near } else { far }.copysign(x);
    if magnitude < 1e-8 { x } else { value }
}

/// Functions on blocks, and as they are defined.
macro_rules! blocks {
    ($($name:ident = $one:ident),* $(,)?) => {$(
        #[inline(always)]
        pub(super) fn $name<const F: bool, const N: usize>(from: &[f64; N], to: &mut [f64; N]) {
            for (to, from) in to.iter_mut().zip(from) {
                *to = if F { $one(*from) } else { math::$name(*from) };
            }
        }
    )*};
}

blocks!(
    expm1 = expm1_one,
    exp2 = exp2_one,
    sinh = sinh_one,
    log2 = log2_one,
    log10 = log10_one,
    asinh = asinh_one,
    acosh = acosh_one,
    atanh = atanh_one,
);
