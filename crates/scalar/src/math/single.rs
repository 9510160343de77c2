//! The elementary functions for `f32`, computed in `f64` and rounded once.
//!
//! A double has 29 bits more than a single, so the rounding of the result is nearly the only one
//! that can be seen. Where the `f64` function works with pairs of doubles, the plain formula is
//! good enough here and is used instead.

use super::pow::{Exponent, power};

/// Functions that are the `f64` function, rounded.
macro_rules! rounded {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        pub fn $name(x: f32) -> f32 {
            super::$name(f64::from(x)) as f32
        }
    )*};
}

rounded! {
    /// e to the power of `x`.
    exp,
    /// 2 to the power of `x`.
    exp2,
    /// `e^x - 1`, also where `e^x` is nearly 1.
    expm1,
    /// The natural logarithm.
    log,
    /// `log(1 + x)`, also where `1 + x` is nearly 1.
    log1p,
    /// The logarithm to base 2.
    log2,
    /// The logarithm to base 10.
    log10,
    /// Sine.
    sin,
    /// Cosine.
    cos,
    /// Arc sine.
    asin,
    /// Arc cosine.
    acos,
    /// Arc tangent.
    atan,
    /// Inverse hyperbolic sine.
    asinh,
    /// Inverse hyperbolic cosine.
    acosh,
    /// Inverse hyperbolic tangent.
    atanh,
    /// The error function.
    erf,
}

/// `1 / sqrt(x)`: two roundings, as it is cheapest.
pub fn rsqrt(x: f32) -> f32 {
    1.0 / x.sqrt()
}

/// Tangent.
pub fn tan(x: f32) -> f32 {
    let x = f64::from(x);
    if x == 0.0 { x as f32 } else { (super::sin(x) / super::cos(x)) as f32 }
}

/// Hyperbolic sine.
pub fn sinh(x: f32) -> f32 {
    let t = super::expm1(f64::from(x.abs()));
    let value = 0.5 * (t + t / (t + 1.0));
    (if t == f64::INFINITY { t } else { value } as f32).copysign(x)
}

/// Hyperbolic cosine.
pub fn cosh(x: f32) -> f32 {
    let power = super::exp(f64::from(x.abs()));
    (0.5 * (power + 1.0 / power)) as f32
}

/// Hyperbolic tangent.
pub fn tanh(x: f32) -> f32 {
    let t = super::expm1(2.0 * f64::from(x.abs()).min(20.0));
    if x.is_nan() { x } else { ((t / (t + 2.0)) as f32).copysign(x) }
}

/// The angle of the point `(x, y)`, from -pi to pi.
pub fn atan2(y: f32, x: f32) -> f32 {
    super::atan2(f64::from(y), f64::from(x)) as f32
}

/// `x` to the power of `y`, with the special cases of IEEE 754.
pub fn pow(x: f32, y: f32) -> f32 {
    power(f64::from(x), Exponent::from_float(f64::from(y)), power_of_positive) as f32
}

/// `x` to the power of an integer.
pub fn powi(x: f32, n: i128) -> f32 {
    power(f64::from(x), Exponent::from_int(n), power_of_positive) as f32
}

/// The exponent magnifies the error of the logarithm to 2^-46 at most: not to be seen in 24 bits.
fn power_of_positive(x: f64, y: Exponent) -> f64 {
    super::exp(y.value * super::log(x))
}
