//! Inverse trigonometric functions of `f64`, by the coefficients of `ein_scalar::math`.

use super::double::polynomial;
use super::pair::Pair;
use ein_scalar::math::{
    self,
    coefficients::{ASIN, ATAN},
};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// What a right and a straight angle lack as doubles.
const RIGHT_REST: f64 = 6.123233995736766e-17;
const STRAIGHT_REST: f64 = 1.2246467991473532e-16;

/// Arc tangent of `x + rest` for `0 <= x < 1e17`, as a sum of two.
#[inline(always)]
pub(super) fn first_quadrant<const F: bool>(x: f64, rest: f64) -> (f64, f64) {
    // tan(a - b) = (tan a - tan b) / (1 + tan a tan b), with b the nearest of five angles.
    let mut base = (FRAC_PI_2, RIGHT_REST);
    let (mut above, mut below, mut left) = (-1.0, x + rest, 0.0);
    if x < 39.0 / 16.0 {
        base = (0.982793723247329, 1.3903311031230998e-17);
        (above, below) = ((x - 1.5) + rest, 1.0 + 1.5 * x);
    }
    if x < 19.0 / 16.0 {
        base = (FRAC_PI_4, 3.061616997868383e-17);
        (above, below) = ((x - 1.0) + rest, 1.0 + x);
    }
    if x < 11.0 / 16.0 {
        base = (0.4636476090008061, 2.2698777452961687e-17);
        (above, below) = ((2.0 * x - 1.0) + 2.0 * rest, 2.0 + x);
    }
    if x < 7.0 / 16.0 {
        base = (0.0, 0.0);
        (above, below, left) = (x, 1.0, rest);
    }
    let t = above / below;
    let z = t * t;
    let tail = t * (z * polynomial::<F, 12>(&ATAN, z)) + left / (1.0 + z);
    let head = base.0 + t;
    (head, (t - (head - base.0)) + (tail + base.1))
}

/// Whether a number, if it is one, is so large that its angle is a right one.
#[inline(always)]
fn is_beyond(x: f64) -> bool {
    x.is_nan() || x.abs() >= 1e17
}

/// Arc tangents; those of what is too large to matter as they are defined.
#[inline(always)]
pub(super) fn atan<const F: bool, const N: usize>(from: &[f64; N], to: &mut [f64; N]) {
    let mut special = 0u64;
    for (to, x) in to.iter_mut().zip(from) {
        let (head, tail) = first_quadrant::<F>(x.abs(), 0.0);
        *to = (head + tail).copysign(*x);
        special |= u64::from(is_beyond(*x));
    }
    if special != 0 {
        for (to, x) in to.iter_mut().zip(from) {
            if is_beyond(*x) {
                *to = math::atan(*x);
            }
        }
    }
}

/// Whether neither coordinate is zero or so large or small that their quotient leaves the range.
#[inline(always)]
fn is_usual(y: f64, x: f64) -> bool {
    let (a, b) = (y.abs(), x.abs());
    a > 1e-100 && a < 1e100 && b > 1e-100 && b < 1e100 && a < 1e17 * b && b < 1e17 * a
}

/// The angles of points of ordinary size; the others as they are defined.
#[inline(always)]
pub(super) fn atan2<const F: bool, const N: usize>(y: &[f64; N], x: &[f64; N], to: &mut [f64; N]) {
    let mut special = u64::from(!F);
    if F {
        for ((to, y), x) in to.iter_mut().zip(y).zip(x) {
            let (a, b) = (y.abs(), x.abs());
            let quotient = a / b;
            let rest = (-quotient).mul_add(b, a) / b;
            let (head, tail) = first_quadrant::<F>(quotient, rest);
            let turned = PI - head;
            let turned_tail = ((PI - turned) - head) + (STRAIGHT_REST - tail);
            let (head, tail) = if *x < 0.0 { (turned, turned_tail) } else { (head, tail) };
            *to = (head + tail).copysign(*y);
            special |= u64::from(!is_usual(*y, *x));
        }
    }
    if special != 0 {
        for ((to, y), x) in to.iter_mut().zip(y).zip(x) {
            if !F || !is_usual(*y, *x) {
                *to = math::atan2(*y, *x);
            }
        }
    }
}

/// `asin(x) / x - 1` by `z = x^2`, for |x| <= 1/2.
#[inline(always)]
pub(super) fn beyond_sine<const F: bool>(z: f64) -> f64 {
    z * polynomial::<F, 14>(&ASIN, z)
}

/// `2 asin(sqrt((1 - x) / 2))` for `x` from 1/2 to 1, which is the arc cosine; NaN beyond 1.
#[inline(always)]
fn arc_of_rest(x: f64) -> Pair {
    let z = 0.5 * (1.0 - x);
    let root = Pair(z, 0.0).root();
    Pair::ordered(root.0, root.1 + root.0 * beyond_sine::<true>(z)).scaled(2.0)
}

#[inline(always)]
fn asin_one(x: f64) -> f64 {
    let magnitude = x.abs();
    let near = x + x * beyond_sine::<true>(x * x);
    let arc = arc_of_rest(magnitude);
    let angle = Pair::ordered(FRAC_PI_2, -arc.0);
    let far = (angle.0 + (angle.1 + (RIGHT_REST - arc.1))).copysign(x);
    let value = if magnitude < 0.5 { near } else { far };
    // Keeps the sign of zero.
    if x == 0.0 { x } else { value }
}

#[inline(always)]
fn acos_one(x: f64) -> f64 {
    let magnitude = x.abs();
    let right = Pair::ordered(FRAC_PI_2, -x);
    let near = right.0 + (right.1 + (RIGHT_REST - x * beyond_sine::<true>(x * x)));
    let arc = arc_of_rest(magnitude);
    let straight = Pair::ordered(PI, -arc.0);
    let left = straight.0 + (straight.1 + (STRAIGHT_REST - arc.1));
    let far = if x > 0.0 { arc.value() } else { left };
    if magnitude < 0.5 { near } else { far }
}

/// Arc sines; without a fused multiply-add as they are defined.
#[inline(always)]
pub(super) fn asin<const F: bool, const N: usize>(from: &[f64; N], to: &mut [f64; N]) {
    for (to, x) in to.iter_mut().zip(from) {
        *to = if F { asin_one(*x) } else { math::asin(*x) };
    }
}

/// Arc cosines; without a fused multiply-add as they are defined.
#[inline(always)]
pub(super) fn acos<const F: bool, const N: usize>(from: &[f64; N], to: &mut [f64; N]) {
    for (to, x) in to.iter_mut().zip(from) {
        *to = if F { acos_one(*x) } else { math::acos(*x) };
    }
}
