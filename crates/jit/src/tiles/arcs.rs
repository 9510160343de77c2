//! Inverse functions of `f32`, computed in `f64`, which has digits enough for what they cancel.

use super::angle::{beyond_sine, first_quadrant};
use super::double::log1p_one;
use ein_scalar::math::single as exact;
use std::f64::consts::{FRAC_PI_2, PI};

/// `2 asin(sqrt((1 - x) / 2))` for `x` from 1/2 to 1, which is the arc cosine; NaN beyond 1.
#[inline(always)]
fn arc_of_rest<const F: bool>(x: f64) -> f64 {
    let z = 0.5 * (1.0 - x);
    let root = z.sqrt();
    2.0 * (root + root * beyond_sine::<F>(z))
}

#[inline(always)]
fn asin_one<const F: bool>(narrow: f32) -> f32 {
    let x = f64::from(narrow);
    let near = x + x * beyond_sine::<F>(x * x);
    let far = (FRAC_PI_2 - arc_of_rest::<F>(x.abs())).copysign(x);
    let value = if x.abs() < 0.5 { near } else { far };
    // Keeps the sign of zero.
    if narrow == 0.0 { narrow } else { value as f32 }
}

#[inline(always)]
fn acos_one<const F: bool>(x: f32) -> f32 {
    let x = f64::from(x);
    let near = FRAC_PI_2 - (x + x * beyond_sine::<F>(x * x));
    let arc = arc_of_rest::<F>(x.abs());
    let far = if x > 0.0 { arc } else { PI - arc };
    (if x.abs() < 0.5 { near } else { far }) as f32
}

/// The angle of a slope that is not negative; from 1e17 on it is a right one.
#[inline(always)]
fn angle_of<const F: bool>(slope: f64) -> f64 {
    let (head, tail) = first_quadrant::<F>(if slope > 1e17 { 1e17 } else { slope }, 0.0);
    head + tail
}

#[inline(always)]
fn atan_one<const F: bool>(x: f32) -> f32 {
    (angle_of::<F>(f64::from(x.abs())) as f32).copysign(x)
}

#[inline(always)]
fn asinh_one<const F: bool>(x: f32) -> f32 {
    let magnitude = f64::from(x.abs());
    let square = magnitude * magnitude;
    let value = log1p_one::<F>(magnitude + square / (1.0 + (1.0 + square).sqrt()));
    // Also zero, and what is infinite.
    if x == 0.0 || x.is_infinite() { x } else { (value as f32).copysign(x) }
}

#[inline(always)]
fn acosh_one<const F: bool>(narrow: f32) -> f32 {
    let x = f64::from(narrow);
    let above = x - 1.0;
    let value = log1p_one::<F>(above + (above * (x + 1.0)).sqrt());
    if narrow >= 1.0 { value as f32 } else { f32::NAN }
}

#[inline(always)]
fn atanh_one<const F: bool>(x: f32) -> f32 {
    let magnitude = f64::from(x.abs());
    let value = 0.5 * log1p_one::<F>(2.0 * magnitude / (1.0 - magnitude));
    if x == 0.0 { x } else { (value as f32).copysign(x) }
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
    asin = asin_one,
    acos = acos_one,
    atan = atan_one,
    asinh = asinh_one,
    acosh = acosh_one,
    atanh = atanh_one,
);

/// Whether the quotient of two coordinates is a slope.
#[inline(always)]
fn has_a_slope(y: f32, x: f32) -> bool {
    !(y / x).is_nan()
}

/// The angles of points; those of the origin, and of what is infinite both ways or no number, as they are
/// defined.
#[inline(always)]
pub(super) fn atan2<const F: bool, const N: usize>(y: &[f32; N], x: &[f32; N], to: &mut [f32; N]) {
    let mut special = 0u32;
    for ((to, y), x) in to.iter_mut().zip(y).zip(x) {
        let angle = angle_of::<F>(f64::from(y.abs()) / f64::from(x.abs()));
        let angle = if *x < 0.0 { PI - angle } else { angle };
        *to = (angle as f32).copysign(*y);
        special |= u32::from(!has_a_slope(*y, *x));
    }
    if special != 0 {
        for ((to, y), x) in to.iter_mut().zip(y).zip(x) {
            if !has_a_slope(*y, *x) {
                *to = exact::atan2(*y, *x);
            }
        }
    }
}
