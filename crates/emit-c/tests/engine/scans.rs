//! Loops that carry a greatest or least value along a row, against the same loops in Rust.

use ein_ir::loops::{Kernel, parse};
use ein_scalar::{Scalar, ScalarType};

use crate::builder::{Data, decided, run};
use crate::ops::Random;

const I32: ScalarType = ScalarType::I32;

/// `x = op(in[i], x + step)` over a row of so many.
fn kernel(op: &str, step: i32, len: usize, first: i32) -> Kernel {
    let text = format!(
        "kernel \"scan\"\ninput in_0: i32[{len}]\noutput out_1: i32[{len}]\noutput last_2: i32[1]\n{{\n\
         \x20 var r0: i32 = {first}i32\n\
         \x20 for r1 in 0..{len} {{\n\
         \x20   r2: i32 = load in_0[r1]\n\
         \x20   r3: bool = overflows add r0, {step}i32\n\
         \x20   trap r3\n\
         \x20   r4: i32 = add r0, {step}i32\n\
         \x20   r5: i32 = {op} r2, r4\n\
         \x20   store out_1[r1] = r5\n\
         \x20   set r0 = r5\n\
         \x20 }}\n\
         \x20 store last_2[0] = r0\n}}\n"
    );
    let kernel = parse::parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let kernel = decided(kernel);
    assert!(ein_emit_c::source(&kernel, "kernel").contains("= ein_scan_i32("), "it is a scan");
    kernel
}

/// What the loop gives one value after another, and whether it leaves the type.
fn expected(op: &str, step: i32, values: &[i32], mut carry: i32) -> (Vec<i32>, bool) {
    let mut outside = false;
    let row = values.iter().map(|value| {
        let (moved, left) = carry.overflowing_add(step);
        outside |= left;
        carry = if op == "max" { moved.max(*value) } else { moved.min(*value) };
        carry
    });
    (row.collect(), outside)
}

fn check(op: &str, step: i32, values: &[i32], first: i32) -> bool {
    let scalars: Vec<Scalar> = values.iter().map(|x| Scalar::I32(*x)).collect();
    let (mut row, mut last) = (Data::zeros(I32, values.len()), Data::zeros(I32, 1));
    let kernel = kernel(op, step, values.len(), first);
    let trap = run(&kernel, &mut [&mut Data::new(I32, &scalars), &mut row, &mut last]) != 0;
    let (wanted, outside) = expected(op, step, values, first);
    assert!(trap || !outside, "{op} {step}: a step out of the type went unseen");
    if !trap {
        let wanted: Vec<Scalar> = wanted.into_iter().map(Scalar::I32).collect();
        assert_eq!(row.values(), wanted, "{op} {step} from {first}");
        assert_eq!(last.get(0), *wanted.last().unwrap_or(&Scalar::I32(first)));
    }
    trap
}

#[test]
fn rows_are_what_one_value_after_another_gives() {
    let mut random = Random(5);
    for op in ["max", "min"] {
        for step in [0, -1, 1, -1000, 1000] {
            for len in [1, 7, 8, 9, 64, 203] {
                let values: Vec<i32> =
                    (0..len).map(|_| (random.unit() * 6e3) as i32 - 3000).collect();
                assert!(!check(op, step, &values, 17), "{op} {step}: nothing is out of the type");
            }
        }
    }
}

#[test]
fn the_ends_of_the_type_are_seen() {
    for (first, filler) in
        [(i32::MIN, i32::MIN), (i32::MAX, i32::MAX), (0, i32::MIN), (0, i32::MAX)]
    {
        for op in ["max", "min"] {
            for step in [-3, -1, 1, 3] {
                check(op, step, &[filler; 40], first);
            }
        }
    }
    // A value that nothing comes near is no reason to stop, wherever it lies.
    assert!(!check("max", -1, &[i32::MIN; 40], 0));
    assert!(!check("min", 1, &[i32::MAX; 40], 0));
}

/// `x = op(in[i], x)` over a row of floats.
fn of_floats(op: &str, ty: ScalarType, values: &[f64], first: f64) {
    let number = |x: f64| Scalar::from_f64(x, ty).expect("a type of floats");
    let (len, first) = (values.len(), number(first));
    let text = format!(
        "kernel \"scan\"\ninput in_0: {ty}[{len}]\ninput first_1: {ty}[1]\noutput out_2: {ty}[{len}]\n\
         output last_3: {ty}[1]\n{{\n\
         \x20 r6: {ty} = load first_1[0]\n\
         \x20 var r0: {ty} = r6\n\
         \x20 for r1 in 0..{len} {{\n\
         \x20   r2: {ty} = load in_0[r1]\n\
         \x20   r5: {ty} = {op} r2, r0\n\
         \x20   store out_2[r1] = r5\n\
         \x20   set r0 = r5\n\
         \x20 }}\n\
         \x20 store last_3[0] = r0\n}}\n"
    );
    let kernel = parse::parse(&text).unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    let kernel = decided(kernel);
    assert!(ein_emit_c::source(&kernel, "kernel").contains("= ein_scan_f"), "it is a scan");
    let scalars: Vec<Scalar> = values.iter().map(|x| number(*x)).collect();
    let (mut row, mut last) = (Data::zeros(ty, len), Data::zeros(ty, 1));
    let (mut from, mut start) = (Data::new(ty, &scalars), Data::new(ty, &[first]));
    assert_eq!(run(&kernel, &mut [&mut from, &mut start, &mut row, &mut last]), 0);
    let mut carry = first;
    let bits = |x: Scalar| if x.as_f64().is_nan() { None } else { Some(x.as_f64().to_bits()) };
    for (at, value) in scalars.iter().enumerate() {
        let (a, b) = (value.as_f64(), carry.as_f64());
        let first = match op {
            _ if a.is_nan() || b.is_nan() => a.is_nan(),
            "max" => a.total_cmp(&b).is_gt(),
            _ => a.total_cmp(&b).is_lt(),
        };
        carry = if first { *value } else { carry };
        assert_eq!(bits(row.get(at)), bits(carry), "{op} {ty} at {at}");
    }
    assert_eq!(bits(last.get(0)), bits(carry), "{op} {ty} at the end");
}

#[test]
fn rows_of_floats_keep_nan_and_the_signs_of_zeros() {
    let mut random = Random(7);
    for ty in [ScalarType::F32, ScalarType::F64] {
        for op in ["max", "min"] {
            for len in [1, 9, 203, 1024, 2500] {
                let mut values: Vec<f64> = (0..len).map(|_| random.unit() * 6e3 - 3e3).collect();
                of_floats(op, ty, &values, 17.0);
                of_floats(op, ty, &values, f64::NEG_INFINITY);
                values.iter_mut().for_each(|x| *x = if *x < 0.0 { -0.0 } else { 0.0 });
                of_floats(op, ty, &values, 0.0);
                of_floats(op, ty, &values, -0.0);
                values[len / 2] = -f64::NAN;
                of_floats(op, ty, &values, 1.0);
                of_floats(op, ty, &values, f64::NAN);
            }
        }
    }
}
