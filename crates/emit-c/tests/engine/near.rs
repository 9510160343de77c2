//! Loops with sines, which run again if a number is far from zero.

use ein_ir::loops::{BufferKind, Kernel, Operand};
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};

use crate::builder::{Builder, Data, int, run, value, vector};

const F64: ScalarType = ScalarType::F64;

/// `out[0] = 1 + sum(sin x)`, and `out[1 + i] = sin(x[i])`.
fn sums(len: usize) -> Kernel {
    let mut b = Builder::new();
    let (input, out) = (b.input(F64, len), b.output(F64, len + 1));
    let sum = b.var(value(1.0));
    b.for_(int(0), int(len as i64), vector(&[(sum, BinaryOp::Add)]), |b, i| {
        let x = b.load(input, &[(i, 1)], 0);
        let y = b.unary(UnaryOp::Sin, x);
        b.reduce(sum, BinaryOp::Add, y);
        b.store(out, &[(i, 1)], 1, y);
    });
    b.store(out, &[], 0, Operand::Reg(sum));
    b.finish()
}

/// `x = sin(x)` in place.
fn in_place(len: usize) -> Kernel {
    let mut b = Builder::new();
    let (input, out) = (b.input(F64, len), b.output(F64, len));
    let local = b.buffer(F64, len, BufferKind::Local);
    for (from, to) in [(input, local), (local, local), (local, out)] {
        b.for_(int(0), int(len as i64), vector(&[]), |b, i| {
            let x = b.load(from, &[(i, 1)], 0);
            let y = if from == to { b.unary(UnaryOp::Sin, x) } else { x };
            b.store(to, &[(i, 1)], 0, y);
        });
    }
    b.finish()
}

fn numbers(far: bool) -> Vec<f64> {
    let mut all: Vec<f64> = (0..1003).map(|n| f64::from(n) * 0.37 - 100.0).collect();
    if far {
        all[517] = 1e22;
        all[1002] = -3.2e15;
    }
    all
}

#[test]
fn far_numbers_are_found() {
    for far in [false, true] {
        let x = numbers(far);
        let source = ein_emit_c::source(&sums(x.len()), "kernel");
        assert_eq!(source.matches("ein_sin_near_f64(r").count(), 1, "{source}");
        let mut result = Data::zeros(F64, x.len() + 1);
        assert_eq!(run(&sums(x.len()), &mut [&mut Data::doubles(&x), &mut result]), 0);
        let result: Vec<f64> = result.values().iter().map(|it| it.as_f64()).collect();
        let exact: Vec<f64> = x.iter().map(|x| ein_scalar::math::sin(*x)).collect();
        for (found, exact) in result[1..].iter().zip(&exact) {
            assert!((found - exact).abs() <= 2.0 * f64::EPSILON * exact.abs(), "{found} {exact}");
        }
        assert!((result[0] - 1.0 - exact.iter().sum::<f64>()).abs() < 1e-12);
    }
}

#[test]
fn loops_in_place_set_aside_what_they_store() {
    for far in [false, true] {
        let x = numbers(far);
        let kernel = in_place(x.len());
        let source = ein_emit_c::source(&kernel, "kernel");
        assert_eq!(source.matches("ein_sin_near_f64(r").count(), 1, "{source}");
        let mut result = Data::zeros(F64, x.len());
        assert_eq!(run(&kernel, &mut [&mut Data::doubles(&x), &mut result]), 0);
        for (found, x) in result.values().iter().zip(&x) {
            let exact = ein_scalar::math::sin(*x);
            let bound = 2.0 * f64::EPSILON * exact.abs();
            assert!((found.as_f64() - exact).abs() <= bound, "{x}: {found} {exact}");
        }
    }
}
