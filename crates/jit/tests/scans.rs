//! Loops that carry a greatest or least value along a row: in vectors as one value after another.

#![allow(clippy::unwrap_used, reason = "in a test")]

mod support;

use ein_ir::loops::parse::parse;
use ein_ir::target::{Target, Vectors};
use ein_scalar::{Scalar, ScalarType};
use support::{Array, run_with};

/// `x = op(in[i], x + step)` over a part of a row, and the last one.
fn text(op: &str, step: i32, len: usize, first: i32) -> String {
    format!(
        "kernel \"scan\" input in_0: i32[{len}] output out_1: i32[{len}] output last_2: i32[1] {{
           var r0: i32 = {first}i32
           for r1 in 1..{len} {{
             r2: i32 = load in_0[r1]
             r3: bool = overflows add r0, {step}i32
             trap r3
             r4: i32 = add r0, {step}i32
             r5: i32 = {op} r2, r4
             store out_1[r1] = r5
             set r0 = r5
           }}
           store last_2[0] = r0 }}"
    )
}

/// Runs a scan both ways. Gives whether the vectors trapped.
fn check(op: &str, step: i32, values: &[i32], first: i32) -> bool {
    let kernel = parse(&text(op, step, values.len(), first)).unwrap();
    let scalars: Vec<Scalar> = values.iter().map(|it| Scalar::I32(*it)).collect();
    let input = [Array::of(ScalarType::I32, &scalars)];
    let (plain, outside) = run_with(&kernel, &input, Vectors::Bits128);
    let (vectors, trapped) = run_with(&kernel, &input, Target::host().vectors);
    assert!(trapped || !outside, "{op} {step}: a step out of the type went unseen");
    for (a, b) in plain.iter().zip(&vectors).filter(|_| !trapped) {
        assert_eq!(a.values(), b.values(), "{op} {step} from {first}");
    }
    trapped
}

#[test]
fn rows_are_what_one_value_after_another_gives() {
    for op in ["max", "min"] {
        for step in [0, -1, 1, -1000, 1000] {
            for len in [1, 2, 8, 9, 10, 64, 203] {
                let values: Vec<i32> =
                    (0..len).map(|n: i32| n.wrapping_mul(-1_640_531_527) % 3000).collect();
                assert!(!check(op, step, &values, 17), "{op} {step}: nothing leaves the type");
            }
        }
    }
}

#[test]
fn the_ends_of_the_type_are_seen() {
    let ends = [i32::MIN, i32::MIN + 5, 0, i32::MAX - 5, i32::MAX];
    for op in ["max", "min"] {
        for step in [-3, 0, 3] {
            for (first, filler) in ends.iter().flat_map(|a| ends.map(|b| (*a, b))) {
                check(op, step, &[filler; 40], first);
            }
        }
    }
}

#[test]
fn rows_of_floats_keep_nan_and_the_signs_of_zeros() {
    let rows: [&[f64]; 4] = [
        &[3.0, -1.5, 2.0, 7.25, 7.0, f64::INFINITY],
        &[-0.0, 0.0, -0.0, 1e-300, -1e-300],
        &[0.0, -0.0, f64::NAN, -2.0, 5.0],
        &[f64::NEG_INFINITY, -f64::NAN, 4.0],
    ];
    for (ty, op) in [("f32", "max"), ("f32", "min"), ("f64", "max"), ("f64", "min")] {
        for row in rows {
            let len = row.len();
            let text = format!(
                "kernel \"scan\" input in_0: {ty}[{len}] output out_1: {ty}[{len}] {{
                   r3: {ty} = load in_0[0]
                   store out_1[0] = r3
                   var r0: {ty} = r3
                   for r1 in 1..{len} {{
                     r2: {ty} = load in_0[r1]
                     r5: {ty} = {op} r0, r2
                     store out_1[r1] = r5
                     set r0 = r5
                   }} }}"
            );
            let kernel = parse(&text).unwrap();
            let ty = if ty == "f32" { ScalarType::F32 } else { ScalarType::F64 };
            let scalars: Vec<Scalar> =
                row.iter().map(|it| Scalar::from_f64(*it, ty).unwrap()).collect();
            let input = [Array::of(ty, &scalars)];
            let (plain, _) = run_with(&kernel, &input, Vectors::Bits128);
            let (scanned, _) = run_with(&kernel, &input, Target::host().vectors);
            let bits = |arrays: &[Array]| -> Vec<Option<u64>> {
                let values = arrays[0].values().into_iter().map(|it| it.as_f64());
                values.map(|it| (!it.is_nan()).then_some(it.to_bits())).collect()
            };
            assert_eq!(bits(&plain), bits(&scanned), "{op} of {row:?}");
        }
    }
}
