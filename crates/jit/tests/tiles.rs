//! Elementary functions in vector loops, over many arguments, against `ein-scalar`.

mod support;

use ein_scalar::math;
use support::{Array, run};

/// A function of `f64`.
type Double = fn(f64) -> f64;

#[test]
fn singles() {
    let functions: [(&str, Double); 20] = [
        ("exp", math::exp),
        ("expm1", math::expm1),
        ("exp2", math::exp2),
        ("log", math::log),
        ("log1p", math::log1p),
        ("log2", math::log2),
        ("log10", math::log10),
        ("sin", math::sin),
        ("cos", math::cos),
        ("tan", math::tan),
        ("asin", math::asin),
        ("acos", math::acos),
        ("atan", math::atan),
        ("sinh", math::sinh),
        ("cosh", math::cosh),
        ("tanh", math::tanh),
        ("asinh", math::asinh),
        ("acosh", math::acosh),
        ("atanh", math::atanh),
        ("erf", math::erf),
    ];
    // Bits in equal steps: every exponent and sign, NaN and infinities among them.
    let mut values: Vec<f32> =
        (0..60_000u32).map(|n| f32::from_bits(n.wrapping_mul(71_583))).collect();
    values.extend((-40_000..40_000).map(|n| n as f32 * 0.0025));
    let x = Array::f32(&values);
    let len = values.len();
    for (name, exact) in functions {
        let text = format!(
            "kernel \"t\"\ninput x_0: f32[{len}]\noutput y_1: f32[{len}]\n{{ vector() for r0 in 0..{len} {{
            r1: f32 = load x_0[r0]\nr2: f32 = {name} r1\nstore y_1[r0] = r2 }} }}"
        );
        let (outputs, _) = run(&text, std::slice::from_ref(&x));
        let mut worst = (0.0, 0.0f32);
        for (x, y) in values.iter().zip(outputs[0].values()) {
            let expected = exact(f64::from(*x));
            let y = y.as_f64();
            let distance = ulps32(y, expected);
            if distance > worst.0 {
                worst = (distance, *x);
            }
            assert_eq!(
                (y == 0.0).then(|| y.is_sign_negative()),
                (expected as f32 == 0.0 && y == 0.0).then(|| expected.is_sign_negative()),
                "{name}({x:e})"
            );
        }
        println!("{name}: {} ulp at {:e}", worst.0, worst.1);
        assert!(worst.0 <= 2.0, "{name}({:e}) is wrong by {} ulp", worst.1, worst.0);
    }
}

/// The distance of a single from a value, in units in the last place of the single.
fn ulps32(y: f64, expected: f64) -> f64 {
    if y.is_nan() || expected.is_nan() {
        return if y.is_nan() && expected.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let near = expected as f32;
    if y == f64::from(near) {
        return 0.0;
    }
    if near.is_infinite() {
        return if y == f64::from(f32::MAX.copysign(near)) { 1.0 } else { f64::INFINITY };
    }
    let exponent = (near.abs().max(f32::MIN_POSITIVE).to_bits() >> 23) as i32 - 127;
    (y - expected).abs() / 2f64.powi(exponent - 23)
}

#[test]
fn doubles() {
    let functions: [(&str, Double); 8] = [
        ("exp", math::exp),
        ("log", math::log),
        ("tanh", math::tanh),
        ("sin", math::sin),
        ("cos", math::cos),
        ("log1p", math::log1p),
        ("erf", math::erf),
        ("expm1", math::expm1),
    ];
    let mut values: Vec<f64> =
        (0..60_000u64).map(|n| f64::from_bits(n.wrapping_mul(307_445_734_561_825))).collect();
    values.extend((-40_000..40_000).map(|n| f64::from(n) * 0.0203));
    values.extend((-40_000..40_000).map(|n| f64::from(n) * 0.000_103_7));
    values.extend((-1000..1000).map(|n| f64::from(n) * std::f64::consts::FRAC_PI_2));
    let x: Vec<_> = values.iter().map(|x| ein_scalar::Scalar::F64(*x)).collect();
    let x = Array::of(ein_scalar::ScalarType::F64, &x);
    let len = values.len();
    for (name, exact) in functions {
        let text = format!(
            "kernel \"t\"\ninput x_0: f64[{len}]\noutput y_1: f64[{len}]\n{{ vector() for r0 in 0..{len} {{
            r1: f64 = load x_0[r0]\nr2: f64 = {name} r1\nstore y_1[r0] = r2 }} }}"
        );
        let (outputs, _) = run(&text, std::slice::from_ref(&x));
        let mut worst = (0, 0.0);
        for (x, y) in values.iter().zip(outputs[0].values()) {
            let (y, expected) = (y.as_f64(), exact(*x));
            let distance = if y.is_nan() && expected.is_nan() {
                0
            } else if y.is_nan()
                || expected.is_nan()
                || y.is_sign_negative() != expected.is_sign_negative()
            {
                u64::MAX
            } else {
                y.abs().to_bits().abs_diff(expected.abs().to_bits())
            };
            if distance > worst.0 {
                worst = (distance, *x);
            }
        }
        println!("{name}: {} ulp at {:e}", worst.0, worst.1);
        // Both round; what they round is less than 2 ulp apart.
        assert!(worst.0 <= 2, "{name}({:e}) is wrong by {} ulp", worst.1, worst.0);
    }
}
