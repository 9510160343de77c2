//! Hyperbolic functions and their inverses, from exponentials and logarithms kept as pairs.

use super::exp::{exp_scaled, expm1_pair};
use super::log::{log_scaled, log1p_pair};
use super::pair::Pair;

/// Below this the first term of the series is the nearest double for all odd functions here.
const TINY: f64 = 1e-8;

/// From here on `e^-x` is lost against `e^x`, and 1 against `x^2` in the inverse functions.
const LARGE: f64 = 22.0;
const HUGE: f64 = 1e9;

/// Hyperbolic sine.
pub fn sinh(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude < TINY || x.is_nan() {
        return x;
    }
    if magnitude > LARGE {
        return exp_scaled(magnitude, 0.0, -1).copysign(x);
    }
    // With t = e^x - 1: e^-x = 1 - t / (t + 1).
    let t = expm1_pair(magnitude);
    t.plus(t.over(t.plus_one(1.0))).scaled(0.5).value().copysign(x)
}

/// Hyperbolic cosine.
pub fn cosh(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude > LARGE || x.is_nan() {
        return exp_scaled(magnitude, 0.0, -1);
    }
    let power = expm1_pair(magnitude).plus_one(1.0);
    let one = Pair { head: 1.0, tail: 0.0 };
    power.plus(one.over(power)).scaled(0.5).value()
}

/// Hyperbolic tangent.
pub fn tanh(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude < TINY || x.is_nan() {
        return x;
    }
    if magnitude > LARGE {
        return 1f64.copysign(x);
    }
    let t = expm1_pair(2.0 * magnitude);
    t.over(t.plus_one(2.0)).value().copysign(x)
}

/// Inverse hyperbolic sine.
pub fn asinh(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude < TINY || !x.is_finite() {
        return x;
    }
    if magnitude > HUGE {
        return log_scaled(magnitude, 0.0, 1).copysign(x);
    }
    // x + sqrt(x^2 + 1) - 1 = x + x^2 / (1 + sqrt(x^2 + 1)), without cancellation.
    let square = Pair::product(magnitude, magnitude);
    let root = square.plus_one(1.0).sqrt();
    log1p_pair(square.over(root.plus_one(1.0)).plus_one(magnitude)).copysign(x)
}

/// Inverse hyperbolic cosine; NaN below 1.
pub fn acosh(x: f64) -> f64 {
    if x.is_nan() || x < 1.0 {
        return f64::NAN;
    }
    if x > HUGE {
        return if x == f64::INFINITY { x } else { log_scaled(x, 0.0, 1) };
    }
    let root = Pair::product(x, x).plus_one(-1.0).sqrt();
    log1p_pair(root.plus(Pair::sum(x, -1.0)))
}

/// Inverse hyperbolic tangent; NaN beyond 1.
pub fn atanh(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude < TINY || x.is_nan() {
        return x;
    }
    if magnitude >= 1.0 {
        return if magnitude == 1.0 { f64::INFINITY.copysign(x) } else { f64::NAN };
    }
    let twice = Pair { head: 2.0 * magnitude, tail: 0.0 };
    (0.5 * log1p_pair(twice.over(Pair::sum(1.0, -magnitude)))).copysign(x)
}
