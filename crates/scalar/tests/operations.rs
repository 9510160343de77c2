//! What the operations give, by tables.

#![allow(clippy::unwrap_used, reason = "a test may stop at what it did not expect")]

use ein_scalar::{ArithError, BinaryOp, Overflow, Scalar, UnaryOp, apply_binary, apply_unary};
use ein_scalar::{ScalarType, bf16, f16};

#[track_caller]
fn check(op: BinaryOp, a: impl Into<Scalar>, b: impl Into<Scalar>, expected: impl Into<Scalar>) {
    let (a, b) = (a.into(), b.into());
    let got = apply_binary(op, a, b, Overflow::Trap);
    assert_eq!(got, Ok(expected.into()), "{a:?} {op} {b:?}");
    assert_eq!(got.map(Scalar::ty).ok(), op.result_type(a.ty(), b.ty()));
}

#[track_caller]
fn fails(op: BinaryOp, a: impl Into<Scalar>, b: impl Into<Scalar>, error: ArithError) {
    let (a, b) = (a.into(), b.into());
    assert_eq!(apply_binary(op, a, b, Overflow::Trap), Err(error), "{a:?} {op} {b:?}");
}

#[track_caller]
fn wraps(op: BinaryOp, a: impl Into<Scalar>, b: impl Into<Scalar>, expected: impl Into<Scalar>) {
    let (a, b) = (a.into(), b.into());
    fails(op, a, b, ArithError::Overflow);
    assert_eq!(apply_binary(op, a, b, Overflow::Wrap), Ok(expected.into()), "{a:?} {op} {b:?}");
}

#[track_caller]
fn unary(op: UnaryOp, a: impl Into<Scalar>, expected: impl Into<Scalar>) {
    let a = a.into();
    let got = apply_unary(op, a, Overflow::Trap);
    assert_eq!(got, Ok(expected.into()), "{op} {a:?}");
    assert_eq!(got.map(Scalar::ty).ok(), op.result_type(a.ty()));
}

#[test]
fn integer_division_truncates() {
    for (a, b, quotient, rest, down, modulo) in
        [(7, 3, 2, 1, 2, 1), (-7, 3, -2, -1, -3, 2), (7, -3, -2, 1, -3, -2), (-7, -3, 2, -1, 2, -1)]
    {
        check(BinaryOp::Div, a, b, quotient);
        check(BinaryOp::Rem, a, b, rest);
        check(BinaryOp::FloorDiv, a, b, down);
        check(BinaryOp::FloorMod, a, b, modulo);
    }
    for op in [BinaryOp::Div, BinaryOp::Rem, BinaryOp::FloorDiv, BinaryOp::FloorMod] {
        fails(op, 1, 0, ArithError::DivisionByZero);
        fails(op, 0u8, 0u8, ArithError::DivisionByZero);
    }
    for op in [BinaryOp::Div, BinaryOp::FloorDiv] {
        fails(op, i32::MIN, -1, ArithError::Overflow);
        fails(op, i64::MIN, -1i64, ArithError::Overflow);
        let wrapped = apply_binary(op, i8::MIN.into(), (-1i8).into(), Overflow::Wrap);
        assert_eq!(wrapped, Err(ArithError::Overflow));
    }
    check(BinaryOp::Rem, i64::MIN, -1i64, 0i64);
    check(BinaryOp::FloorMod, i32::MIN, -1, 0);
}

#[test]
fn overflow_traps_or_wraps() {
    wraps(BinaryOp::Add, i32::MAX, 1, i32::MIN);
    wraps(BinaryOp::Sub, 0u8, 1u8, 255u8);
    wraps(BinaryOp::Mul, u64::MAX, u64::MAX, 1u64);
    wraps(BinaryOp::Mul, i64::MIN, -1i64, i64::MIN);
    wraps(BinaryOp::Pow, 3i8, 5i8, -13i8);
    assert_eq!(
        apply_unary(UnaryOp::Neg, i8::MIN.into(), Overflow::Trap),
        Err(ArithError::Overflow)
    );
    assert_eq!(apply_unary(UnaryOp::Neg, 1u8.into(), Overflow::Wrap), Ok(Scalar::U8(255)));
    assert_eq!(apply_unary(UnaryOp::Abs, i8::MIN.into(), Overflow::Wrap), Ok(Scalar::I8(-128)));
    unary(UnaryOp::Neg, 0u8, 0u8);
}

#[test]
fn powers() {
    check(BinaryOp::Pow, 2, 10, 1024);
    check(BinaryOp::Pow, -2i64, 63i64, i64::MIN);
    check(BinaryOp::Pow, -2i8, 7i8, -128i8);
    check(BinaryOp::Pow, 0, 0, 1);
    check(BinaryOp::Pow, -1, i64::MAX, -1);
    check(BinaryOp::Pow, 3u8, 2i64, 9u8);
    fails(BinaryOp::Pow, 2, -1, ArithError::NegativeExponent);
    fails(BinaryOp::Pow, 2i64, i64::MAX, ArithError::Overflow);
    check(BinaryOp::Pow, 2f32, -1, 0.5f32);
    check(BinaryOp::Pow, 9f32, 0.5f32, 3f32);
    check(BinaryOp::Pow, -2f64, 3, -8f64);
    check(BinaryOp::Pow, -2f64, 3f64, -8f64);
    check(BinaryOp::Pow, -2f64, 0.5f64, f64::NAN);
    check(BinaryOp::Pow, f64::NAN, 0, 1f64);
    check(BinaryOp::Pow, f16::from_f32(1.5), 2, f16::from_f32(2.25));
    // An odd exponent beyond 2^53 keeps its last bit.
    check(BinaryOp::Pow, -1f64, (1i64 << 60) + 1, -1f64);
    check(BinaryOp::Pow, -1f64, 1i64 << 60, 1f64);
    let x = 1.0 + f64::EPSILON;
    let got = apply_binary(BinaryOp::Pow, x.into(), ((1i64 << 58) + 3).into(), Overflow::Trap);
    // Rounding the exponent to a double would be off by some 10^-15.
    let near = 6.235149080811577e27;
    assert!((got.unwrap().as_f64() / near - 1.0).abs() < 2.0 * f64::EPSILON);
}

#[test]
fn floats_follow_ieee() {
    check(BinaryOp::Div, 1f32, 0f32, f32::INFINITY);
    check(BinaryOp::Div, 0f64, 0f64, f64::NAN);
    check(BinaryOp::Rem, -7.5f32, 2f32, -1.5f32);
    check(BinaryOp::Rem, 5.0, f64::INFINITY, 5.0);
    check(BinaryOp::FloorMod, -7.5f32, 2f32, 0.5f32);
    check(BinaryOp::FloorMod, 6.0, -3.0, -0.0);
    check(BinaryOp::FloorDiv, -7.5f32, 2f32, -4f32);
    check(BinaryOp::FloorDiv, 1.0, 0.1, 9.0);
    check(BinaryOp::FloorDiv, 1.0, 0.0, f64::INFINITY);
    check(BinaryOp::Eq, f64::NAN, f64::NAN, false);
    check(BinaryOp::Ne, f64::NAN, f64::NAN, true);
    check(BinaryOp::Ge, f64::NAN, 1.0, false);
    check(BinaryOp::Eq, 0.0, -0.0, true);
    for op in [BinaryOp::Min, BinaryOp::Max] {
        check(op, f32::NAN, 1f32, f32::NAN);
        check(op, 1f32, f32::NAN, f32::NAN);
    }
    for (a, b) in [(0.0, -0.0), (-0.0, 0.0)] {
        check(BinaryOp::Min, a, b, -0.0);
        check(BinaryOp::Max, a, b, 0.0);
    }
}

#[test]
fn halves_round_once_per_operation() {
    let half = f16::from_f32;
    check(BinaryOp::Add, half(65504.0), half(1.0), half(65504.0));
    check(BinaryOp::Add, half(65504.0), half(16.0), f16::INFINITY);
    check(BinaryOp::Add, half(2048.0), half(1.0), half(2048.0));
    check(BinaryOp::Div, bf16::ONE, bf16::from_f32(3.0), bf16::from_f32(1.0 / 3.0));
    unary(UnaryOp::Exp, f16::ZERO, f16::ONE);
    unary(UnaryOp::IsNan, bf16::NAN, true);
}

#[test]
fn signs_and_rounding() {
    for (x, floor, ceil, round, trunc) in [
        (2.5, 2.0, 3.0, 2.0, 2.0),
        (3.5, 3.0, 4.0, 4.0, 3.0),
        (-1.5, -2.0, -1.0, -2.0, -1.0),
        (-0.4, -1.0, -0.0, -0.0, -0.0),
        (1e300, 1e300, 1e300, 1e300, 1e300),
    ] {
        unary(UnaryOp::Floor, x, floor);
        unary(UnaryOp::Ceil, x, ceil);
        unary(UnaryOp::Round, x, round);
        unary(UnaryOp::Trunc, x, trunc);
    }
    unary(UnaryOp::Sign, -4f32, -1f32);
    unary(UnaryOp::Sign, -0.0, 0.0);
    unary(UnaryOp::Sign, f64::NAN, f64::NAN);
    unary(UnaryOp::Sign, -7i8, -1i8);
    unary(UnaryOp::Abs, -0.0, 0.0);
    unary(UnaryOp::Not, true, false);
    unary(UnaryOp::IsInf, f32::NEG_INFINITY, true);
    unary(UnaryOp::IsFinite, 1, true);
}

#[test]
fn wrong_operands_are_refused() {
    for a in ScalarType::ALL {
        for &op in UnaryOp::ALL {
            let got = apply_unary(op, Scalar::one(a), Overflow::Trap);
            match op.result_type(a) {
                Some(ty) => assert!(
                    got.is_err_and(|e| e == ArithError::Overflow)
                        || got.is_ok_and(|x| x.ty() == ty)
                ),
                None => assert_eq!(got, Err(ArithError::Operands), "{op} {a}"),
            }
        }
        for b in ScalarType::ALL {
            for &op in BinaryOp::ALL {
                let got = apply_binary(op, Scalar::one(a), Scalar::one(b), Overflow::Trap);
                match op.result_type(a, b) {
                    Some(ty) => assert_eq!(got.map(Scalar::ty), Ok(ty), "{a} {op} {b}"),
                    None => assert_eq!(got, Err(ArithError::Operands), "{a} {op} {b}"),
                }
            }
        }
    }
}
