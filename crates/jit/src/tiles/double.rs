//! Functions of `f64`, and what those of `f32` take from them.

use ein_scalar::math::{
    self,
    coefficients::{ERF_FAR, ERF_NEAR, EXP, LN2_HI, LN2_LO},
};

/// `a * b + c`, in one instruction if the machine has it.
#[inline(always)]
fn fma<const F: bool>(a: f64, b: f64, c: f64) -> f64 {
    if F { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
pub(super) fn polynomial<const F: bool, const N: usize>(c: &[f64; N], x: f64) -> f64 {
    let mut sum = c[N - 1];
    for n in (0..N - 1).rev() {
        sum = fma::<F>(sum, x, c[n]);
    }
    sum
}

/// Adding and subtracting this rounds to an integer.
pub(super) const SHIFT: f64 = 6_755_399_441_055_744.0;

/// `2^k` for the integer that [`SHIFT`] left in the low bits.
#[inline(always)]
pub(super) fn power_of_two(k: i64) -> f64 {
    f64::from_bits((k.wrapping_add(1023) as u64) << 52)
}

/// `e^x` for any `x`; for `x` beyond ±1000 that of ±1000.
#[inline(always)]
pub(super) fn exp_one<const F: bool>(x: f64) -> f64 {
    let (value, k) = exp_parts::<F>(x);
    scaled(value, k)
}

/// `e^(x + small)`, where the square of the second term is less than any digit.
#[inline(always)]
pub(super) fn exp_sum<const F: bool>(x: f64, small: f64) -> f64 {
    let (value, k) = exp_parts::<F>(x);
    scaled(fma::<F>(value, small, value), k)
}

/// `e^x` as a number by a power of two.
#[inline(always)]
pub(super) fn exp_parts<const F: bool>(x: f64) -> (f64, i64) {
    let x = if x > 1000.0 { 1000.0 } else { x };
    let x = if x < -1000.0 { -1000.0 } else { x };
    let shifted = fma::<F>(x, std::f64::consts::LOG2_E, SHIFT);
    let k = (shifted.to_bits() as i64).wrapping_sub(SHIFT.to_bits() as i64);
    let kf = shifted - SHIFT;
    let high = fma::<F>(-kf, LN2_HI, x);
    let r = fma::<F>(-kf, LN2_LO, high);
    let rest = fma::<F>(-kf, LN2_LO, high - r);
    let tail = fma::<F>(r * r, polynomial::<F, 11>(&EXP, r), rest);
    (1.0 + (r + tail), k)
}

/// A number by a power of two: two factors, since one alone may leave the range.
#[inline(always)]
pub(super) fn scaled(value: f64, k: i64) -> f64 {
    let half = k >> 1;
    value * power_of_two(half) * power_of_two(k.wrapping_sub(half))
}

/// `log1p(f) = f - f^2/2 + s (f^2/2 + R)`, with `s = f / (2 + f)`: the coefficients of R in `s^2`.
const LOG: [f64; 7] = [
    0.6666666666666735,
    0.3999999999940942,
    0.2857142874366239,
    0.22222198432149784,
    0.1818357216161805,
    0.15313837699209373,
    0.14798198605116586,
];

/// The natural logarithm, for any argument.
#[inline(always)]
pub(super) fn log_one<const F: bool>(x: f64) -> f64 {
    let (k, f) = split(x);
    let s = f / (2.0 + f);
    let z = s * s;
    let series = z * polynomial::<F, 7>(&LOG, z);
    let half = 0.5 * f * f;
    let inner = fma::<F>(s, half + series, k * LN2_LO);
    let value = fma::<F>(k, LN2_HI, f - (half - inner));
    log_special(x, value)
}

/// `log(1 + x)`: the logarithm of the rounded sum, and what the rounding lost.
#[inline(always)]
pub(super) fn log1p_one<const F: bool>(x: f64) -> f64 {
    let sum = 1.0 + x;
    let lost = if x > 1.0 { 1.0 - (sum - x) } else { x - (sum - 1.0) };
    let value = log_one::<F>(sum) + lost / sum;
    let value = if x == f64::INFINITY { x } else { value };
    let value = if x == -1.0 { f64::NEG_INFINITY } else { value };
    // Keeps the sign of zero.
    if x == 0.0 { x } else { value }
}

/// `x = 2^k (1 + f)` with `1 + f` between the roots of 1/2 and 2.
#[inline(always)]
pub(super) fn split(x: f64) -> (f64, f64) {
    let small = x < f64::MIN_POSITIVE;
    let bits = (if small { x * 18_014_398_509_481_984.0 } else { x }).to_bits();
    // The bits of the root of 1/2.
    let above = bits.wrapping_sub(0x3fe6_a09e_667f_3bcd);
    let exponent = (above as i64) >> 52;
    let mantissa = f64::from_bits(bits.wrapping_sub((exponent as u64) << 52));
    // Exponents are small: their bits behind those of 1.5 · 2^52 are the number.
    let k = f64::from_bits((SHIFT.to_bits() as i64).wrapping_add(exponent) as u64) - SHIFT;
    (if small { k - 54.0 } else { k }, mantissa - 1.0)
}

#[inline(always)]
pub(super) fn log_special(x: f64, value: f64) -> f64 {
    let value = if x == f64::INFINITY { x } else { value };
    let value = if x == 0.0 { f64::NEG_INFINITY } else { value };
    // Also where `x` is NaN.
    if x >= 0.0 { value } else { f64::NAN }
}

/// `(e^t - 1 - t - t^2/2) / t^3` for |t| <= 0.7: Taylor.
const EXPM1: [f64; 13] = [
    1.0 / 6.0,
    1.0 / 24.0,
    1.0 / 120.0,
    1.0 / 720.0,
    1.0 / 5040.0,
    1.0 / 40320.0,
    1.0 / 362_880.0,
    1.0 / 3_628_800.0,
    1.0 / 39_916_800.0,
    1.0 / 479_001_600.0,
    1.0 / 6_227_020_800.0,
    1.0 / 87_178_291_200.0,
    1.0 / 1_307_674_368_000.0,
];

/// `e^t - 1`.
#[inline(always)]
pub(super) fn expm1_one<const F: bool>(t: f64) -> f64 {
    let cubic = t * t * t * polynomial::<F, 13>(&EXPM1, t);
    let small = t + fma::<F>(0.5 * t, t, cubic);
    let large = exp_one::<F>(t) - 1.0;
    if t.abs() < 0.7 { small } else { large }
}

#[inline(always)]
fn tanh_one<const F: bool>(x: f64) -> f64 {
    let magnitude = x.abs();
    let magnitude = if magnitude > 22.0 { 22.0 } else { magnitude };
    let t = expm1_one::<F>(2.0 * magnitude);
    let value = t / (t + 2.0);
    value.copysign(x)
}

/// The hyperbolic cosine: `(e^x + e^-x) / 2`, of which only the first matters for large `x`.
#[inline(always)]
fn cosh_one<const F: bool>(x: f64) -> f64 {
    let magnitude = x.abs();
    let (value, k) = exp_parts::<F>(magnitude);
    let half = scaled(value, k - 1);
    if magnitude > 22.0 { half } else { half + 0.25 / half }
}

/// The error function: around 0 a polynomial, elsewhere 1 less what is small.
#[inline(always)]
fn erf_one<const F: bool>(x: f64) -> f64 {
    let magnitude = x.abs();
    let bounded = if magnitude > 6.0 { 6.0 } else { magnitude };
    let t = (bounded - 2.5) / (bounded + 2.5);
    let rest = exp_one::<F>(-(bounded * bounded));
    let far = fma::<F>(-rest, polynomial::<F, 15>(&ERF_FAR, t), 1.0).copysign(x);
    let near = fma::<F>(x, polynomial::<F, 12>(&ERF_NEAR, x * x), x);
    let value = if magnitude < 0.9375 { near } else { far };
    // Keeps the sign of zero.
    if x == 0.0 || x.is_nan() { x } else { value }
}

/// The largest argument that the reduction by three parts of π/2 takes.
pub(super) const TURNS: f64 = 1e5;

/// π/2 in parts of 33 bits, so that their products with a number of quarter turns are exact, and
/// the rest.
const PIO2_1: f64 = 1.5707963267341256;
const PIO2_2: f64 = 6.077100506303966e-11;
const PIO2_3: f64 = 2.0222662487959506e-21;

/// `sin r = r + r^3 S(r^2)` for |r| <= π/4.
const SIN: [f64; 6] = [
    -0.16666666666666632,
    0.00833333333332249,
    -0.0001984126982985795,
    2.7557313707070068e-06,
    -2.5050760253406863e-08,
    1.58969099521155e-10,
];

/// `cos r = 1 - r^2/2 + r^4 C(r^2)` for |r| <= π/4.
const COS: [f64; 6] = [
    0.0416666666666666,
    -0.001388888888887411,
    2.480158728947673e-05,
    -2.7557314351390663e-07,
    2.087572321298175e-09,
    -1.1359647557788195e-11,
];

/// The number of quarter turns, and the sine and cosine of the rest as sums of a number and a
/// smaller one, for |x| <= [`TURNS`].
#[inline(always)]
fn sin_cos_sums<const F: bool>(x: f64) -> (i64, (f64, f64), (f64, f64)) {
    let shifted = fma::<F>(x, std::f64::consts::FRAC_2_PI, SHIFT);
    let turns = shifted.to_bits() as i64;
    let n = shifted - SHIFT;
    let first = fma::<F>(-n, PIO2_1, x);
    let second = n * PIO2_2;
    let r = first - second;
    // What the subtraction and the product lost.
    let lost = (first - r) - second;
    let exact = if F { (-n).mul_add(PIO2_2, second) } else { 0.0 };
    let rest = fma::<F>(-n, PIO2_3, lost) + exact;
    let head = r + rest;
    let tail = (r - head) + rest;
    let z = head * head;
    let more = fma::<F>(head * z, polynomial::<F, 6>(&SIN, z), fma::<F>(-0.5 * z, tail, tail));
    let half = 0.5 * z;
    let one = 1.0 - half;
    let low = fma::<F>(z * z, polynomial::<F, 6>(&COS, z), -head * tail) + ((1.0 - one) - half);
    (turns, (head, more), (one, low))
}

/// The number of quarter turns, and the sine and cosine of the rest, for |x| <= [`TURNS`].
#[inline(always)]
pub(super) fn sin_cos_parts<const F: bool>(x: f64) -> (i64, f64, f64) {
    let (turns, sin, cos) = sin_cos_sums::<F>(x);
    (turns, sin.1 + sin.0, cos.0 + cos.1)
}

/// The tangent for |x| <= [`TURNS`], where there is a fused multiply-add: the quotient, and what it
/// lacks.
#[inline(always)]
fn tan_one(x: f64) -> f64 {
    let (turns, sin, cos) = sin_cos_sums::<true>(x);
    let odd = turns & 1 != 0;
    let ((a, a_rest), (b, b_rest)) = if odd { (cos, sin) } else { (sin, cos) };
    let (top, bottom) = (a + a_rest, b + b_rest);
    let (top_rest, bottom_rest) = ((a - top) + a_rest, (b - bottom) + b_rest);
    let quotient = top / bottom;
    let left = (-quotient).mul_add(bottom, top) + (-quotient).mul_add(bottom_rest, top_rest);
    let value = quotient + left / bottom;
    // Keeps the sign of zero.
    if x == 0.0 {
        x
    } else if odd {
        -value
    } else {
        value
    }
}

/// Sine or cosine after a number of quarter turns.
#[inline(always)]
pub(super) fn turned(turns: i64, sin: f64, cos: f64) -> f64 {
    let value = if turns & 1 == 0 { sin } else { cos };
    if turns & 2 == 0 { value } else { -value }
}

#[inline(always)]
fn sin_one<const F: bool>(x: f64) -> f64 {
    let (turns, sin, cos) = sin_cos_parts::<F>(x);
    // Keeps the sign of zero.
    if x == 0.0 { x } else { turned(turns, sin, cos) }
}

#[inline(always)]
fn cos_one<const F: bool>(x: f64) -> f64 {
    let (turns, sin, cos) = sin_cos_parts::<F>(x);
    turned(turns.wrapping_add(1), sin, cos)
}

/// Functions on blocks.
macro_rules! blocks {
    ($($name:ident = $one:ident),*) => {$(
        #[inline(always)]
        pub(super) fn $name<const F: bool, const N: usize>(from: &[f64; N], to: &mut [f64; N]) {
            for (to, from) in to.iter_mut().zip(from) {
                *to = $one::<F>(*from);
            }
        }
    )*};
}

blocks!(
    exp = exp_one,
    log = log_one,
    log1p = log1p_one,
    tanh = tanh_one,
    cosh = cosh_one,
    erf = erf_one,
    short_sin = sin_one,
    short_cos = cos_one
);

/// Functions on blocks that leave large arguments to another.
macro_rules! turning {
    ($($name:ident = $block:ident, $other:path);*) => {$(
        #[inline(always)]
        pub(super) fn $name<const F: bool, const N: usize>(from: &[f64; N], to: &mut [f64; N]) {
            $block::<F, N>(from, to);
            let large = from.iter().fold(0u64, |any, x| any | u64::from(x.abs() > TURNS));
            if large != 0 {
                for (to, from) in to.iter_mut().zip(from) {
                    if from.abs() > TURNS {
                        *to = $other(*from);
                    }
                }
            }
        }
    )*};
}

turning!(sin = short_sin, math::sin; cos = short_cos, math::cos);

/// Tangents; those of large numbers, and all without a fused multiply-add, as they are defined.
#[inline(always)]
pub(super) fn tan<const F: bool, const N: usize>(from: &[f64; N], to: &mut [f64; N]) {
    let mut special = u64::from(!F);
    if F {
        for (to, x) in to.iter_mut().zip(from) {
            *to = tan_one(*x);
            special |= u64::from(x.abs() > TURNS);
        }
    }
    if special != 0 {
        for (to, x) in to.iter_mut().zip(from) {
            if !F || x.abs() > TURNS {
                *to = math::tan(*x);
            }
        }
    }
}
