//! Every scalar operation and conversion of every type against `ein-scalar`, in scalar code to the
//! bit, and in vector loops as far as they promise.

mod support;

use ein_scalar::{
    BinaryOp, Overflow, Scalar, ScalarType, UnaryOp, apply_binary, apply_unary, cast,
};
use std::fmt::Write;
use support::{Array, run, samples};

/// A kernel that applies operations `r1 -> r9` to each element.
fn kernel(
    types: [Option<ScalarType>; 2],
    results: &[(ScalarType, String)],
    len: usize,
    kind: &str,
) -> String {
    let mut text = String::from("kernel \"test\"\n");
    let mut body = String::new();
    let mut buf = 0;
    for (n, ty) in types.iter().enumerate() {
        if let Some(ty) = ty {
            let _ = writeln!(text, "input x_{buf}: {ty}[{len}]");
            let _ = writeln!(body, "r{}: {ty} = load x_{buf}[r0]", n + 1);
            buf += 1;
        }
    }
    for (n, (ty, op)) in results.iter().enumerate() {
        let _ = writeln!(text, "output y_{buf}: {ty}[{len}]");
        let _ = writeln!(body, "r{}: {ty} = {op}\nstore y_{buf}[r0] = r{}", n + 3, n + 3);
        buf += 1;
    }
    if types[1].is_none() {
        text.push_str("reg r2: i64\n");
    }
    let _ = write!(text, "{{ {kind} for r0 in 0..{len} {{\n{body}}} }}");
    text
}

/// How far a float may be from another, in units of the last place.
fn ulps(a: Scalar, b: Scalar) -> u64 {
    if a == b {
        return 0;
    }
    let order = |x: Scalar| {
        let bits = x.to_bits() as i64;
        let sign = 1i64 << (8 * x.ty().size_bytes() - 1);
        match x.ty() {
            ScalarType::F64 => {
                if bits < 0 {
                    i64::MIN - bits
                } else {
                    bits
                }
            }
            _ => {
                if bits & sign != 0 {
                    sign - bits
                } else {
                    bits
                }
            }
        }
    };
    if a.is_nan() || b.is_nan() { u64::MAX } else { order(a).abs_diff(order(b)) }
}

#[track_caller]
fn compare(
    what: &str,
    got: &Array,
    expected: &[Option<Scalar>],
    allowed: u64,
    show: &dyn Fn(usize) -> String,
) {
    for (n, expected) in expected.iter().enumerate() {
        let Some(expected) = expected else { continue };
        let got = got.get(n);
        let near = if expected.ty().is_float() {
            ulps(got, *expected) <= allowed
        } else {
            got == *expected
        };
        assert!(near, "{what}: {} is {got:?}, not {expected:?}", show(n));
    }
}

#[test]
fn unary() {
    for ty in ScalarType::ALL {
        let values = samples(ty);
        let ops: Vec<UnaryOp> =
            UnaryOp::ALL.iter().copied().filter(|op| op.result_type(ty).is_some()).collect();
        for kind in ["", "vector()"] {
            for op in &ops {
                let result = op.result_type(ty).unwrap();
                let text =
                    kernel([Some(ty), None], &[(result, format!("{op} r1"))], values.len(), kind);
                let (outputs, trapped) = run(&text, &[Array::of(ty, &values)]);
                assert!(!trapped);
                let expected: Vec<_> =
                    values.iter().map(|x| apply_unary(*op, *x, Overflow::Wrap).ok()).collect();
                let allowed = if kind.is_empty() { 0 } else { 2 };
                compare(&format!("{kind} {op} {ty}"), &outputs[0], &expected, allowed, &|n| {
                    format!("{:?}", values[n])
                });
            }
        }
    }
}

#[test]
fn binary() {
    for ty in ScalarType::ALL {
        let some = samples(ty);
        let pairs: Vec<(Scalar, Scalar)> =
            some.iter().flat_map(|a| some.iter().map(move |b| (*a, *b))).collect();
        let a: Vec<Scalar> = pairs.iter().map(|it| it.0).collect();
        let b: Vec<Scalar> = pairs.iter().map(|it| it.1).collect();
        let ops: Vec<BinaryOp> =
            BinaryOp::ALL.iter().copied().filter(|op| op.result_type(ty, ty).is_some()).collect();
        for kind in ["", "vector()"] {
            for op in &ops {
                let result = op.result_type(ty, ty).unwrap();
                let text = kernel(
                    [Some(ty), Some(ty)],
                    &[(result, format!("{op} r1, r2"))],
                    a.len(),
                    kind,
                );
                let (outputs, _) = run(&text, &[Array::of(ty, &a), Array::of(ty, &b)]);
                // What has no result may give anything.
                let expected: Vec<_> = pairs
                    .iter()
                    .map(|(a, b)| apply_binary(*op, *a, *b, Overflow::Wrap).ok())
                    .collect();
                let allowed = if kind.is_empty() { 0 } else { 2 };
                compare(&format!("{kind} {op} {ty}"), &outputs[0], &expected, allowed, &|n| {
                    format!("{:?}", pairs[n])
                });
            }
        }
    }
}

#[test]
fn overflows() {
    let ops = [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Pow, BinaryOp::Div];
    for ty in ScalarType::ALL.into_iter().filter(|ty| ty.is_int()) {
        let some = samples(ty);
        let pairs: Vec<(Scalar, Scalar)> =
            some.iter().flat_map(|a| some.iter().map(move |b| (*a, *b))).collect();
        let a: Vec<Scalar> = pairs.iter().map(|it| it.0).collect();
        let b: Vec<Scalar> = pairs.iter().map(|it| it.1).collect();
        for kind in ["", "vector()"] {
            for op in ops {
                let text = kernel(
                    [Some(ty), Some(ty)],
                    &[(ScalarType::Bool, format!("overflows {op} r1, r2"))],
                    a.len(),
                    kind,
                );
                let (outputs, _) = run(&text, &[Array::of(ty, &a), Array::of(ty, &b)]);
                let expected: Vec<_> = pairs
                    .iter()
                    .map(|(a, b)| match apply_binary(op, *a, *b, Overflow::Trap) {
                        Ok(_) => Some(Scalar::Bool(false)),
                        Err(ein_scalar::ArithError::Overflow) => Some(Scalar::Bool(true)),
                        Err(_) => None,
                    })
                    .collect();
                compare(&format!("{kind} overflows {op} {ty}"), &outputs[0], &expected, 0, &|n| {
                    format!("{:?}", pairs[n])
                });
            }
        }
    }
}

#[test]
fn casts() {
    for from in ScalarType::ALL {
        let values = samples(from);
        for kind in ["", "vector()"] {
            for to in ScalarType::ALL {
                let text =
                    kernel([Some(from), None], &[(to, "cast r1".to_owned())], values.len(), kind);
                let (outputs, _) = run(&text, &[Array::of(from, &values)]);
                let expected: Vec<_> = values.iter().map(|x| Some(cast(*x, to))).collect();
                compare(&format!("{kind} {from} as {to}"), &outputs[0], &expected, 0, &|n| {
                    format!("{:?}", values[n])
                });
            }
        }
    }
}

#[test]
fn selects_and_muladds() {
    for ty in ScalarType::ALL {
        let a = samples(ty);
        let b: Vec<Scalar> = a.iter().rev().copied().collect();
        for kind in ["", "vector()"] {
            let text = kernel(
                [Some(ty), Some(ty)],
                &[(ScalarType::Bool, "lt r1, r2".to_owned()), (ty, "select r3, r1, r2".to_owned())],
                a.len(),
                kind,
            );
            let (outputs, _) = run(&text, &[Array::of(ty, &a), Array::of(ty, &b)]);
            let expected: Vec<_> = a
                .iter()
                .zip(&b)
                .map(|(a, b)| {
                    let less = apply_binary(BinaryOp::Lt, *a, *b, Overflow::Wrap).unwrap();
                    Some(if less == Scalar::Bool(true) { *a } else { *b })
                })
                .collect();
            compare(&format!("{kind} select {ty}"), &outputs[1], &expected, 0, &|n| {
                format!("{:?}", a[n])
            });
            if ty.is_float() {
                let text = kernel(
                    [Some(ty), Some(ty)],
                    &[(ty, "muladd r1, r2, r1".to_owned())],
                    a.len(),
                    kind,
                );
                let (outputs, _) = run(&text, &[Array::of(ty, &a), Array::of(ty, &b)]);
                for (n, (a, b)) in a.iter().zip(&b).enumerate() {
                    let (a, b) = (a.as_f64(), b.as_f64());
                    let twice = apply_binary(
                        BinaryOp::Mul,
                        Scalar::from_f64(a, ty).unwrap(),
                        Scalar::from_f64(b, ty).unwrap(),
                        Overflow::Wrap,
                    )
                    .and_then(|product| {
                        apply_binary(
                            BinaryOp::Add,
                            product,
                            Scalar::from_f64(a, ty).unwrap(),
                            Overflow::Wrap,
                        )
                    })
                    .unwrap();
                    let once = Scalar::from_f64(a.mul_add(b, a), ty).unwrap();
                    let got = outputs[0].get(n);
                    let singly = ty != ScalarType::F64
                        && cast(Scalar::F32((a as f32).mul_add(b as f32, a as f32)), ty) == got;
                    assert!(
                        got == once || got == twice || singly,
                        "{kind} muladd {ty} {a} {b}: {got:?}, {once:?}, {twice:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn short_powers() {
    for ty in [ScalarType::F16, ScalarType::BF16, ScalarType::F32, ScalarType::F64] {
        let values = samples(ty);
        for exponent in ["2.0", "3.0", "0.5", "1.5", "-0.5", "-1.0", "4.0", "1.0", "2.5", "-2.0"] {
            let text = kernel(
                [Some(ty), None],
                &[(ty, format!("pow r1, {exponent}{ty}"))],
                values.len(),
                "vector()",
            );
            let (outputs, _) = run(&text, &[Array::of(ty, &values)]);
            let power = Scalar::from_f64(exponent.parse().unwrap(), ty).unwrap();
            let expected: Vec<_> = values
                .iter()
                .map(|x| apply_binary(BinaryOp::Pow, *x, power, Overflow::Wrap).ok())
                .collect();
            compare(&format!("pow {exponent} {ty}"), &outputs[0], &expected, 2, &|n| {
                format!("{:?}", values[n])
            });
        }
        for exponent in ["2i32", "3", "-1i8", "5u8"] {
            for kind in ["", "vector()"] {
                let text = kernel(
                    [Some(ty), None],
                    &[(ty, format!("pow r1, {exponent}"))],
                    values.len(),
                    kind,
                );
                let (outputs, _) = run(&text, &[Array::of(ty, &values)]);
                let power: i64 = exponent
                    .trim_end_matches("i32")
                    .trim_end_matches("i8")
                    .trim_end_matches("u8")
                    .parse()
                    .unwrap();
                let expected: Vec<_> = values
                    .iter()
                    .map(|x| {
                        apply_binary(BinaryOp::Pow, *x, Scalar::I64(power), Overflow::Wrap).ok()
                    })
                    .collect();
                let allowed = if kind.is_empty() { 0 } else { 2 };
                compare(
                    &format!("{kind} pow {exponent} {ty}"),
                    &outputs[0],
                    &expected,
                    allowed,
                    &|n| format!("{:?}", values[n]),
                );
            }
        }
    }
}
