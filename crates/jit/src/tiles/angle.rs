//! Arc tangents of `f64`, by the coefficients of `ein_scalar::math`.

use super::double::polynomial;
use ein_scalar::math::{self, coefficients::ATAN};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// Arc tangent of `x + rest` for `0 <= x < 1e17`, as a sum of two.
#[inline(always)]
fn first_quadrant<const F: bool>(x: f64, rest: f64) -> (f64, f64) {
    // tan(a - b) = (tan a - tan b) / (1 + tan a tan b), with b the nearest of five angles.
    let mut base = (FRAC_PI_2, 6.123233995736766e-17);
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
            let turned_tail = ((PI - turned) - head) + (1.2246467991473532e-16 - tail);
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
