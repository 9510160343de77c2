//! Elementary functions at zeros, infinities, NaN, and where they are exact.

use ein_scalar::math;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
const TINIEST: f64 = 5e-324;

/// Equal by bits, with all NaNs the same, in `f64` and (where the numbers fit) in `f32`.
#[track_caller]
fn check(double: fn(f64) -> f64, single: fn(f32) -> f32, table: &[(f64, f64)]) {
    let same = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
    for &(x, y) in table {
        let got = double(x);
        assert!(same(got, y), "f64 at {x:e}: {got:e}, not {y:e}");
        if f64::from(x as f32) == x || x.is_nan() {
            let got = single(x as f32);
            assert!(same(got.into(), f64::from(y as f32)), "f32 at {x:e}: {got:e}, not {y:e}");
        }
    }
}

macro_rules! check {
    ($name:ident, $table:expr) => {
        check(math::$name, math::single::$name, &$table)
    };
}

#[test]
fn odd_functions_keep_zero_and_tiny_numbers() {
    macro_rules! odd {
        ($($name:ident),*) => {$(
            check!($name, [(0.0, 0.0), (-0.0, -0.0), (TINIEST, TINIEST), (-1e-300, -1e-300), (NAN, NAN)]);
            for x in [1e-3, 0.3, 0.7, 0.999, 2.0, 1e5, 1e300] {
                let (plus, minus) = (math::$name(x), math::$name(-x));
                assert!(plus == -minus || x > 1.0 && minus.is_nan(), "{} at {x}", stringify!($name));
            }
        )*};
    }
    odd!(sin, tan, asin, atan, sinh, tanh, asinh, atanh);
    check!(expm1, [(0.0, 0.0), (-0.0, -0.0), (TINIEST, TINIEST), (-1e-300, -1e-300)]);
    check!(log1p, [(0.0, 0.0), (-0.0, -0.0), (TINIEST, TINIEST), (-1e-300, -1e-300)]);
    check!(erf, [(0.0, 0.0), (-0.0, -0.0)]);
}

#[test]
fn exponentials() {
    check!(exp, [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (NAN, NAN), (710.0, INF)]);
    check!(exp, [(-746.0, 0.0), (1e300, INF), (-1e300, 0.0)]);
    check(math::exp, math::single::exp, &[(709.782712893384, 1.7976931348622732e308)]);
    assert_eq!(math::exp(-745.1), TINIEST);
    check!(expm1, [(INF, INF), (-INF, -1.0), (NAN, NAN), (-800.0, -1.0), (800.0, INF)]);
    check!(exp2, [(INF, INF), (-INF, 0.0), (NAN, NAN), (1024.0, INF), (-1080.0, 0.0)]);
    for k in -1074..1024 {
        let power = if k < -1022 { TINIEST * 2f64.powi(k + 1074) } else { 2f64.powi(k) };
        assert_eq!(math::exp2(f64::from(k)), power);
        assert_eq!(math::log2(power), f64::from(k));
    }
}

#[test]
fn logarithms() {
    let common = [(0.0, -INF), (-0.0, -INF), (-1.0, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)];
    check!(log, common);
    check!(log2, common);
    check!(log10, common);
    check!(log, [(1.0, 0.0)]);
    check!(log1p, [(-1.0, -INF), (-1.5, NAN), (INF, INF), (-INF, NAN), (NAN, NAN)]);
    for k in 0..=22 {
        assert_eq!(math::log10(10f64.powi(k)), f64::from(k));
    }
    for k in 0..=10 {
        assert_eq!(math::single::log10(10f32.powi(k)), k as f32);
    }
}

#[test]
fn trigonometry() {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};
    let nowhere = [(INF, NAN), (-INF, NAN), (NAN, NAN)];
    check!(sin, nowhere);
    check!(cos, nowhere);
    check!(tan, nowhere);
    check!(cos, [(0.0, 1.0), (-0.0, 1.0), (1e-300, 1.0)]);
    check!(asin, [(1.0, FRAC_PI_2), (-1.0, -FRAC_PI_2), (1.5, NAN), (-INF, NAN)]);
    check!(acos, [(1.0, 0.0), (-1.0, PI), (0.0, FRAC_PI_2), (1.5, NAN), (NAN, NAN)]);
    check!(atan, [(INF, FRAC_PI_2), (-INF, -FRAC_PI_2), (1.0, FRAC_PI_4), (1e300, FRAC_PI_2)]);
    for (y, x, angle) in [
        (0.0, 1.0, 0.0),
        (-0.0, 1.0, -0.0),
        (0.0, -1.0, PI),
        (-0.0, -1.0, -PI),
        (0.0, 0.0, 0.0),
        (0.0, -0.0, PI),
        (-0.0, -0.0, -PI),
        (1.0, 0.0, FRAC_PI_2),
        (-1.0, -0.0, -FRAC_PI_2),
        (1.0, 1.0, FRAC_PI_4),
        (1.0, -1.0, 3.0 * FRAC_PI_4),
        (INF, INF, FRAC_PI_4),
        (INF, -INF, 3.0 * FRAC_PI_4),
        (-INF, 1.0, -FRAC_PI_2),
        (1.0, INF, 0.0),
        (-1.0, INF, -0.0),
        (1.0, -INF, PI),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
        (TINIEST, 1.0, TINIEST),
        (1.0, 1e308, 1e-308),
        (1e308, 1.0, FRAC_PI_2),
    ] {
        let got = math::atan2(y, x);
        assert!(
            got.to_bits() == angle.to_bits() || angle.is_nan() && got.is_nan(),
            "{y} {x}: {got}"
        );
    }
}

#[test]
fn hyperbolics() {
    check!(sinh, [(INF, INF), (-INF, -INF), (711.0, INF), (-1e300, -INF)]);
    check!(cosh, [(0.0, 1.0), (INF, INF), (-INF, INF), (NAN, NAN), (711.0, INF), (1e-300, 1.0)]);
    check!(tanh, [(INF, 1.0), (-INF, -1.0), (30.0, 1.0), (-1e300, -1.0)]);
    check!(asinh, [(INF, INF), (-INF, -INF)]);
    check!(acosh, [(1.0, 0.0), (0.5, NAN), (-INF, NAN), (INF, INF), (NAN, NAN)]);
    check!(atanh, [(1.0, INF), (-1.0, -INF), (1.5, NAN), (INF, NAN)]);
    check!(erf, [(INF, 1.0), (-INF, -1.0), (6.0, 1.0), (5.9999, 1.0), (1e300, 1.0), (NAN, NAN)]);
    check!(rsqrt, [(0.0, INF), (-0.0, -INF), (4.0, 0.5), (INF, 0.0), (-1.0, NAN)]);
}

#[test]
fn powers() {
    for (x, y, power) in [
        (0.0, 2.0, 0.0),
        (0.0, -2.0, INF),
        (-0.0, 3.0, -0.0),
        (-0.0, -3.0, -INF),
        (-0.0, 2.5, 0.0),
        (INF, 0.5, INF),
        (INF, -1.0, 0.0),
        (-INF, 3.0, -INF),
        (-INF, -3.0, -0.0),
        (-INF, 0.5, INF),
        (2.0, INF, INF),
        (0.5, INF, 0.0),
        (2.0, -INF, 0.0),
        (-1.0, INF, 1.0),
        (1.0, NAN, 1.0),
        (NAN, 0.0, 1.0),
        (NAN, 1.0, NAN),
        (2.0, NAN, NAN),
        (-8.0, 1.0 / 3.0, NAN),
        (-2.0, 1e300, INF),
        (0.5, 1e300, 0.0),
        (2.0, 0.5, std::f64::consts::SQRT_2),
        (10.0, 22.0, 1e22),
        (3.0, 2.0, 9.0),
        (2.0, -1074.0, TINIEST),
        (2.0, 1024.0, INF),
        (0.0, 0.0, 1.0),
    ] {
        let same = |got: f64, y: f64| got.to_bits() == y.to_bits() || (y.is_nan() && got.is_nan());
        let got = math::pow(x, y);
        assert!(same(got, power), "{x} ** {y}: {got:e}");
        if f64::from(y as f32) == y {
            let got = math::single::pow(x as f32, y as f32);
            assert!(same(got.into(), f64::from(power as f32)), "{x} ** {y} in f32: {got:e}");
        }
        if y == y.trunc() && y.abs() < 1e6 {
            assert!(same(math::powi(x, y as i128), power));
        }
    }
    for n in 0..20 {
        assert_eq!(math::pow(3.0, f64::from(n)), 3f64.powi(n));
        assert_eq!(math::single::powi(1.5, i128::from(n)), 1.5f32.powi(n));
    }
}
