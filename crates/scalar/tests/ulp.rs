//! Holds the elementary functions to their error budget against values of high precision.
//!
//! The references under `tests/data/` are made by `reference.py`, which describes their form. Run
//! with `--nocapture` for the worst error of each function.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use std::fs;
use std::path::Path;

use ein_scalar::math;

/// A function of one or two arguments; the second is not looked at by those of one.
type Function<T> = fn(T, T) -> T;

/// Every function with its `f64` and `f32` forms and the most ulp it may be off in `f64`.
fn functions() -> Vec<(&'static str, Function<f64>, Function<f32>, f64)> {
    macro_rules! unary {
        ($name:ident, $limit:literal) => {
            (
                stringify!($name),
                (|x, _| math::$name(x)) as Function<f64>,
                (|x, _| math::single::$name(x)) as Function<f32>,
                $limit,
            )
        };
    }
    vec![
        unary!(exp, 1.0),
        unary!(exp2, 1.0),
        unary!(expm1, 1.0),
        unary!(log, 1.0),
        unary!(log1p, 1.0),
        unary!(log2, 1.0),
        unary!(log10, 1.0),
        unary!(sin, 1.0),
        unary!(cos, 1.0),
        unary!(tan, 1.0),
        unary!(asin, 1.0),
        unary!(acos, 1.0),
        unary!(atan, 1.0),
        unary!(sinh, 1.0),
        unary!(cosh, 1.0),
        unary!(tanh, 1.0),
        unary!(asinh, 1.0),
        unary!(acosh, 1.0),
        unary!(atanh, 1.0),
        unary!(erf, 1.0),
        unary!(rsqrt, 1.5),
        ("atan2", math::atan2, math::single::atan2, 1.0),
        ("pow", math::pow, math::single::pow, 1.0),
    ]
}

/// A reference: arguments, nearest double, and what that lacks in its own ulp.
struct Reference {
    single: bool,
    args: [f64; 2],
    value: f64,
    rest: f64,
}

fn read(name: &str) -> Vec<Reference> {
    let folder = std::env::var("EIN_REFERENCE").unwrap_or_else(|_| "tests/data".to_owned());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(format!("{name}.txt"));
    let text = fs::read_to_string(&path).unwrap();
    let bits = |text: &str| f64::from_bits(u64::from_str_radix(text, 16).unwrap());
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let (first, second) = fields[1].split_once(',').unwrap_or((fields[1], "0"));
        let rest = fields.get(3).map_or(0.0, |text| text.parse::<f64>().unwrap() / 1000.0);
        let args = [bits(first), bits(second)];
        Reference { single: fields[0] == "s", args, value: bits(fields[2]), rest }
    };
    text.lines().map(line).collect()
}

fn f64_error(got: f64, reference: &Reference) -> f64 {
    if got == reference.value {
        return reference.rest.abs();
    }
    if got.is_infinite() || reference.value.is_infinite() || got.is_nan() {
        return f64::INFINITY;
    }
    let step = f64::from_bits(reference.value.abs().to_bits() + 1) - reference.value.abs();
    ((got - reference.value) / step - reference.rest).abs()
}

fn f32_error(got: f32, reference: &Reference) -> f64 {
    let near = reference.value as f32;
    if got == near && near.is_infinite() {
        return 0.0;
    }
    if got.is_infinite() || near.is_infinite() || got.is_nan() {
        return f64::INFINITY;
    }
    let step = f64::from(f32::from_bits(near.abs().to_bits() + 1)) - f64::from(near.abs());
    ((f64::from(got) - reference.value) / step).abs()
}

#[test]
fn every_function_is_within_its_budget() {
    let mut failed = Vec::new();
    for (name, double, single, limit) in functions() {
        let references = read(name);
        assert!(references.len() > 500, "{name}: too few references");
        let mut worst = [(0.0, 0.0), (0.0, 0.0)];
        for reference in &references {
            let [x, y] = reference.args;
            let error = if reference.single {
                f32_error(single(x as f32, y as f32), reference)
            } else {
                f64_error(double(x, y), reference)
            };
            let place = &mut worst[usize::from(reference.single)];
            if error > place.0 {
                *place = (error, x);
            }
        }
        let [(double, at), (single, at_single)] = worst;
        println!("{name:>6}  f64 {double:.3} at {at:e}   f32 {single:.4} at {at_single:e}");
        let single_limit = if name == "rsqrt" { 1.5 } else { 0.501 };
        if double > limit || single > single_limit {
            failed.push(name);
        }
    }
    assert!(failed.is_empty(), "beyond the budget: {failed:?}");
}
