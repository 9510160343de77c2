//! Arc sine, arc cosine and arc tangent.

use std::f64::consts::{FRAC_PI_2, PI};

use super::pair::Pair;
use super::polynomial;

/// pi / 2 and pi as pairs.
const HALF_PI: Pair = Pair { head: FRAC_PI_2, tail: 6.123233995736766e-17 };
const WHOLE_PI: Pair = Pair { head: PI, tail: 1.2246467991473532e-16 };

/// The arc tangents of 1/2, 1 and 3/2 as pairs.
const ATAN_HALF: Pair = Pair { head: 0.4636476090008061, tail: 2.2698777452961687e-17 };
const ATAN_ONE: Pair = Pair { head: std::f64::consts::FRAC_PI_4, tail: 3.061616997868383e-17 };
const ATAN_THREE_HALVES: Pair = Pair { head: 0.982793723247329, tail: 1.3903311031230998e-17 };

/// `(asin(x) / x - 1) / x^2`, a polynomial in `x^2`, for |x| <= 1/2.
pub const ASIN: [f64; 14] = [
    0.16666666666666666,
    0.07500000000000119,
    0.04464285714255019,
    0.030381944475693704,
    0.022372157435623815,
    0.017352816768546473,
    0.013963775787848137,
    0.011566511821890942,
    0.00962140274734483,
    0.009322101501082774,
    0.0030350071727267623,
    0.019579201619744684,
    -0.019277545928584557,
    0.02963502626354855,
];

/// `(atan(x) / x - 1) / x^2`, a polynomial in `x^2`, for |x| <= 7/16.
pub const ATAN: [f64; 12] = [
    -0.3333333333333333,
    0.19999999999999404,
    -0.14285714285565465,
    0.111111110965279,
    -0.09090908350382436,
    0.07692285419714515,
    -0.06666239748865294,
    0.05876924062763387,
    -0.05216532007308444,
    0.044916556747777434,
    -0.033114228762660534,
    0.014759380407779155,
];

/// Arc sine.
pub fn asin(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude < 0.5 {
        return x + x * (x * x * polynomial(&ASIN, x * x));
    }
    let twice = twice_asin_of_root(magnitude);
    // pi / 2 less twice the angle whose sine is sqrt((1 - x) / 2).
    let angle = Pair::ordered_sum(HALF_PI.head, -twice.head);
    (angle.head + (angle.tail + (HALF_PI.tail - twice.tail))).copysign(x)
}

/// Arc cosine.
pub fn acos(x: f64) -> f64 {
    let magnitude = x.abs();
    if magnitude < 0.5 {
        let beyond = x * (x * x * polynomial(&ASIN, x * x));
        let angle = Pair::ordered_sum(HALF_PI.head, -x);
        return angle.head + (angle.tail + (HALF_PI.tail - beyond));
    }
    let twice = twice_asin_of_root(magnitude);
    if x > 0.0 {
        return twice.value();
    }
    let angle = Pair::ordered_sum(WHOLE_PI.head, -twice.head);
    angle.head + (angle.tail + (WHOLE_PI.tail - twice.tail))
}

/// `2 asin(sqrt((1 - x) / 2))` for `x` from 1/2 to 1, which is `acos(x)`; NaN beyond 1.
fn twice_asin_of_root(x: f64) -> Pair {
    if x > 1.0 || x.is_nan() {
        return Pair { head: f64::NAN, tail: f64::NAN };
    }
    let z = 0.5 * (1.0 - x);
    let root = Pair { head: z, tail: 0.0 }.sqrt();
    let beyond = root.head * (z * polynomial(&ASIN, z));
    Pair::ordered_sum(root.head, root.tail + beyond).scaled(2.0)
}

/// Arc tangent.
pub fn atan(x: f64) -> f64 {
    let angle = if x.abs() < 1e17 { atan_pair(x.abs(), 0.0) } else { limit(x) };
    angle.value().copysign(x)
}

/// The arc tangent of what is too large to matter.
fn limit(x: f64) -> Pair {
    if x.is_nan() { Pair { head: x, tail: x } } else { HALF_PI }
}

/// Arc tangent of `x + rest` for `0 <= x < 1e17`, where `rest` is small against `x`.
fn atan_pair(x: f64, rest: f64) -> Pair {
    // tan(a - b) = (tan a - tan b) / (1 + tan a tan b), with b the nearest of four angles.
    let (base, numerator, denominator) = if x < 7.0 / 16.0 {
        return around_zero(x, rest);
    } else if x < 11.0 / 16.0 {
        (ATAN_HALF, (2.0 * x - 1.0) + 2.0 * rest, 2.0 + x)
    } else if x < 19.0 / 16.0 {
        (ATAN_ONE, (x - 1.0) + rest, 1.0 + x)
    } else if x < 39.0 / 16.0 {
        (ATAN_THREE_HALVES, (x - 1.5) + rest, 1.0 + 1.5 * x)
    } else {
        (HALF_PI, -1.0, x + rest)
    };
    let angle = around_zero(numerator / denominator, 0.0);
    let sum = Pair::ordered_sum(base.head, angle.head);
    Pair::ordered_sum(sum.head, sum.tail + (angle.tail + base.tail))
}

/// Arc tangent of `t + rest` for `|t| <= 7/16`.
fn around_zero(t: f64, rest: f64) -> Pair {
    let z = t * t;
    Pair::ordered_sum(t, t * (z * polynomial(&ATAN, z)) + rest / (1.0 + z))
}

/// The angle of the point `(x, y)`, from -pi to pi, with the special cases of IEEE 754.
pub fn atan2(y: f64, x: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    let (a, b) = (y.abs(), x.abs());
    let angle = if a == b && (a == 0.0 || a == f64::INFINITY) {
        // Both zero is the axis, both infinite the diagonal.
        if a == 0.0 { Pair { head: 0.0, tail: 0.0 } } else { ATAN_ONE }
    } else {
        first_quadrant(a, b)
    };
    let angle = if x.is_sign_negative() { WHOLE_PI.plus(angle.scaled(-1.0)) } else { angle };
    angle.value().copysign(y)
}

/// The angle of a point with `a, b >= 0`, of which at most one is zero or infinite.
fn first_quadrant(a: f64, b: f64) -> Pair {
    let quotient = a / b;
    if quotient > 1e17 {
        return HALF_PI;
    }
    if quotient < 1e-17 {
        return Pair { head: quotient, tail: 0.0 };
    }
    // Both to the middle of the range, where the rest of the division is exact.
    let scale = if b > 1e100 {
        1e-200
    } else if b < 1e-100 {
        1e200
    } else {
        1.0
    };
    let power = f64::from_bits(f64::to_bits(scale) & 0xfff0_0000_0000_0000);
    let exact = Pair { head: a * power, tail: 0.0 }.over(Pair { head: b * power, tail: 0.0 });
    atan_pair(exact.head, exact.tail)
}
