//! Functions of `f32`. The most frequent are computed in `f32`, the others in `f64`.

#![allow(clippy::excessive_precision, reason = "coefficients as they were fitted")]

use super::double::{self, exp_one as exp64, expm1_one as expm1_64, log_one as log64};
use ein_scalar::math::single as exact;

/// `a * b + c`, in one instruction if the machine has it.
#[inline(always)]
fn fma<const F: bool>(a: f32, b: f32, c: f32) -> f32 {
    if F { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn polynomial<const F: bool, const N: usize>(c: &[f32; N], x: f32) -> f32 {
    let mut sum = c[N - 1];
    for n in (0..N - 1).rev() {
        sum = fma::<F>(sum, x, c[n]);
    }
    sum
}

/// Adding and subtracting this rounds to an integer.
const SHIFT: f32 = 12_582_912.0;
/// The upper 9 bits of ln 2, so that products with exponents are exact, and the rest.
const LN2_HI: f32 = 0.693_359_375;
const LN2_LO: f32 = -2.12194440e-4;

/// `(e^r - 1 - r) / r^2` for |r| <= ln 2 / 2.
const EXP: [f32; 6] = [
    5.0000001201e-1,
    1.6666665459e-1,
    4.1665795894e-2,
    8.3334519073e-3,
    1.3981999507e-3,
    1.9875691500e-4,
];

#[inline(always)]
fn power_of_two(k: i32) -> f32 {
    f32::from_bits((k.wrapping_add(127) as u32) << 23)
}

#[inline(always)]
fn exp_one<const F: bool>(x: f32) -> f32 {
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let shifted = fma::<F>(x, std::f32::consts::LOG2_E, SHIFT);
    let k = (shifted.to_bits() as i32).wrapping_sub(SHIFT.to_bits() as i32);
    let kf = shifted - SHIFT;
    let r = fma::<F>(-kf, LN2_LO, fma::<F>(-kf, LN2_HI, x));
    let value = 1.0 + fma::<F>(r * r, polynomial::<F, 6>(&EXP, r), r);
    // Two factors, since one alone may leave the range.
    let half = k >> 1;
    value * power_of_two(half) * power_of_two(k.wrapping_sub(half))
}

/// `(log1p(f) - f + f^2/2) / f^3`.
const LOG: [f32; 9] = [
    3.3333331174e-1,
    -2.4999993993e-1,
    2.0000714765e-1,
    -1.6668057665e-1,
    1.4249322787e-1,
    -1.2420140846e-1,
    1.1676998740e-1,
    -1.1514610310e-1,
    7.0376836292e-2,
];

#[inline(always)]
fn log_one<const F: bool>(x: f32) -> f32 {
    let small = x < f32::MIN_POSITIVE;
    let bits = (if small { x * 8_388_608.0 } else { x }).to_bits();
    // The bits of the root of 1/2.
    let exponent = (bits.wrapping_sub(0x3f35_04f3) as i32) >> 23;
    let f = f32::from_bits(bits.wrapping_sub((exponent as u32) << 23)) - 1.0;
    let k = exponent as f32 - if small { 23.0 } else { 0.0 };
    let z = f * f;
    let tail = fma::<F>(f * z, polynomial::<F, 9>(&LOG, f), k * LN2_LO);
    let value = fma::<F>(k, LN2_HI, f + fma::<F>(-0.5, z, tail));
    let value = if x == f32::INFINITY { x } else { value };
    let value = if x == 0.0 { f32::NEG_INFINITY } else { value };
    // Also where `x` is NaN.
    if x >= 0.0 { value } else { f32::NAN }
}

/// `(tanh(x) - x) / x^3` in `x^2`, for |x| <= 0.625.
const TANH: [f32; 5] =
    [-3.33332819422e-1, 1.33314422036e-1, -5.37397155531e-2, 2.06390887954e-2, -5.70498872745e-3];

#[inline(always)]
fn tanh_one<const F: bool>(x: f32) -> f32 {
    let magnitude = x.abs();
    let z = x * x;
    let small = fma::<F>(x * z, polynomial::<F, 5>(&TANH, z), x);
    let bounded = if magnitude > 10.0 { 10.0 } else { magnitude };
    let large = (1.0 - 2.0 / (exp_one::<F>(2.0 * bounded) + 1.0)).copysign(x);
    if magnitude < 0.625 { small } else { large }
}

/// For |x| <= 0.93: `(erf(x) - x) / x` in `x^2`; beyond: the logarithm of `1 - erf(x)` in `x`.
const ERF: [f32; 6] =
    [1.28379166e-1, -3.76125336e-1, 1.12819925e-1, -2.67681349e-2, 4.99119423e-3, -5.96761703e-4];
const ERFC: [f32; 7] = [
    -1.28717512e-1,
    -6.34846687e-1,
    -1.06777877e-1,
    2.42546219e-2,
    -3.88396438e-3,
    3.83197126e-4,
    -1.72853470e-5,
];

#[inline(always)]
fn erf_one<const F: bool>(x: f32) -> f32 {
    let magnitude = x.abs();
    let small = fma::<F>(polynomial::<F, 6>(&ERF, x * x), x, x);
    // From 4 on it is 1.
    let bounded = if magnitude > 4.0 { 4.0 } else { magnitude };
    let log = fma::<F>(polynomial::<F, 7>(&ERFC, bounded), bounded, -bounded);
    let large = (1.0 - exp_one::<F>(log)).copysign(x);
    if magnitude <= 0.927_734_4 { small } else { large }
}

#[inline(always)]
fn sinh_one<const F: bool>(x: f32) -> f32 {
    // Beyond 100 it is infinite.
    let magnitude = f64::from(if x.abs() > 100.0 { 100.0 } else { x.abs() });
    let t = expm1_64::<F>(magnitude);
    ((0.5 * (t + t / (t + 1.0))) as f32).copysign(x)
}

#[inline(always)]
fn cosh_one<const F: bool>(x: f32) -> f32 {
    let power = exp64::<F>(f64::from(x));
    (0.5 * (power + 1.0 / power)) as f32
}

#[inline(always)]
fn exp2_one<const F: bool>(x: f32) -> f32 {
    exp64::<F>(f64::from(x) * std::f64::consts::LN_2) as f32
}

#[inline(always)]
fn expm1_in_f32<const F: bool>(x: f32) -> f32 {
    let value = expm1_64::<F>(f64::from(x)) as f32;
    if x == 0.0 { x } else { value }
}

#[inline(always)]
fn log1p_one<const F: bool>(x: f32) -> f32 {
    let wide = f64::from(x);
    let sum = 1.0 + wide;
    // What the sum lost, divided by it, is what the logarithm lacks.
    let value = log64::<F>(sum) + (wide - (sum - 1.0)) / sum;
    let value = if x == -1.0 { f64::NEG_INFINITY } else { value };
    let value = if x == f32::INFINITY { f64::INFINITY } else { value };
    if x == 0.0 { x } else { value as f32 }
}

#[inline(always)]
fn log2_one<const F: bool>(x: f32) -> f32 {
    (log64::<F>(f64::from(x)) * std::f64::consts::LOG2_E) as f32
}

#[inline(always)]
fn log10_one<const F: bool>(x: f32) -> f32 {
    (log64::<F>(f64::from(x)) * std::f64::consts::LOG10_E) as f32
}

#[inline(always)]
fn sin_one<const F: bool>(x: f32) -> f32 {
    let (turns, sin, cos) = double::sin_cos_parts::<F>(f64::from(x));
    if x == 0.0 { x } else { double::turned(turns, sin, cos) as f32 }
}

#[inline(always)]
fn cos_one<const F: bool>(x: f32) -> f32 {
    let (turns, sin, cos) = double::sin_cos_parts::<F>(f64::from(x));
    double::turned(turns.wrapping_add(1), sin, cos) as f32
}

#[inline(always)]
fn tan_one<const F: bool>(x: f32) -> f32 {
    let (turns, sin, cos) = double::sin_cos_parts::<F>(f64::from(x));
    let odd = turns & 1 == 1;
    let value = if odd { -cos / sin } else { sin / cos };
    if x == 0.0 { x } else { value as f32 }
}

/// Functions on blocks.
macro_rules! blocks {
    ($($name:ident = $one:ident),* $(,)?) => {$(
        #[inline(always)]
        pub(super) fn $name<const F: bool, const N: usize>(from: &[f32; N], to: &mut [f32; N]) {
            for (to, from) in to.iter_mut().zip(from) {
                *to = $one::<F>(*from);
            }
        }
    )*};
}

blocks!(
    exp = exp_one,
    exp2 = exp2_one,
    expm1 = expm1_in_f32,
    erf = erf_one,
    sinh = sinh_one,
    cosh = cosh_one,
    log = log_one,
    log1p = log1p_one,
    log2 = log2_one,
    log10 = log10_one,
    tanh = tanh_one,
    short_sin = sin_one,
    short_cos = cos_one,
    short_tan = tan_one,
);

/// Functions on blocks that leave large arguments to another.
macro_rules! turning {
    ($($name:ident = $block:ident, $other:path);*) => {$(
        #[inline(always)]
        pub(super) fn $name<const F: bool, const N: usize>(from: &[f32; N], to: &mut [f32; N]) {
            $block::<F, N>(from, to);
            let limit = double::TURNS as f32;
            let large = from.iter().fold(0u32, |any, x| any | u32::from(x.abs() > limit));
            if large != 0 {
                for (to, from) in to.iter_mut().zip(from) {
                    if from.abs() > limit {
                        *to = $other(*from);
                    }
                }
            }
        }
    )*};
}

turning!(sin = short_sin, exact::sin; cos = short_cos, exact::cos; tan = short_tan, exact::tan);

/// Powers of positive finite numbers with finite exponents by logarithm; the others as they are
/// defined.
#[inline(always)]
pub(super) fn pow<const F: bool, const N: usize>(a: &[f32; N], b: &[f32; N], to: &mut [f32; N]) {
    let mut special = 0u32;
    for ((to, x), y) in to.iter_mut().zip(a).zip(b) {
        *to = exp64::<F>(f64::from(*y) * log64::<F>(f64::from(*x))) as f32;
        special |= u32::from(!(*x > 0.0 && *x < f32::INFINITY && y.abs() < f32::INFINITY));
    }
    if special != 0 {
        for ((to, x), y) in to.iter_mut().zip(a).zip(b) {
            if !(*x > 0.0 && *x < f32::INFINITY && y.abs() < f32::INFINITY) {
                *to = exact::pow(*x, *y);
            }
        }
    }
}
