//! Loops that ask for what they read later: strips and what is left of them, and what is asked for.

use ein_ir::loops::{BufferKind, ForKind, Kernel, Operand};
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};

use crate::builder::{Builder, Data, int, run, value, vector};

const F32: ScalarType = ScalarType::F32;

/// `x[i, j] - max_j x[i, j]`, and `f` of that if it is given.
fn rows(rows: i64, columns: i64, f: Option<UnaryOp>) -> Kernel {
    let mut b = Builder::new();
    let len = (rows * columns) as usize;
    let (input, out) = (b.input(F32, len), b.output(F32, len));
    let local = b.buffer(F32, columns as usize, BufferKind::Local);
    b.for_(int(0), int(rows), ForKind::Parallel { grain: 1 }, |b, i| {
        let top = b.var(value(f32::NEG_INFINITY));
        b.for_(int(0), int(columns), vector(&[(top, BinaryOp::Max)]), |b, j| {
            let x = b.load(input, &[(i, columns), (j, 1)], 0);
            b.reduce(top, BinaryOp::Max, x);
        });
        b.for_(int(0), int(columns), vector(&[]), |b, j| {
            let x = b.load(input, &[(i, columns), (j, 1)], 0);
            let x = b.binary(BinaryOp::Sub, x, Operand::Reg(top));
            let x = f.map_or(x, |f| b.unary(f, x));
            b.store(local, &[(j, 1)], 0, x);
        });
        b.for_(int(0), int(columns), vector(&[]), |b, j| {
            let x = b.load(local, &[(j, 1)], 0);
            b.store(out, &[(i, columns), (j, 1)], 0, x);
        });
    });
    b.finish()
}

fn values(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i * 7919 % 1009) as f32 / 8.0).collect()
}

fn requests(kernel: &Kernel) -> usize {
    ein_emit_c::source(kernel, "kernel").matches("__builtin_prefetch(").count()
}

#[test]
fn rows_are_asked_for_once() {
    // Whole strips, some left, and rows or arrays that are too short.
    let cases = [(1100, 256, 1), (1000, 300, 1), (700, 511, 1), (2000, 255, 0), (100, 300, 0)];
    for (count, columns, wanted) in cases {
        let kernel = rows(count, columns, None);
        assert_eq!(requests(&kernel), wanted, "{count} rows of {columns}");
        let given = values((count * columns) as usize);
        let mut result = Data::zeros(F32, given.len());
        assert_eq!(run(&kernel, &mut [&mut Data::floats(&given), &mut result]), 0);
        let expected = given.chunks(columns as usize).flat_map(|row| {
            let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            row.iter().map(move |x| f64::from(x - top))
        });
        assert!(result.values().iter().map(|x| x.as_f64()).eq(expected), "{count} x {columns}");
    }
}

#[test]
fn arrays_are_asked_for_where_functions_are_computed() {
    let chain = |f: Option<UnaryOp>, len: i64| {
        let mut b = Builder::new();
        let (input, out) = (b.input(F32, len as usize), b.output(F32, len as usize));
        b.for_(int(3), int(len), vector(&[]), |b, i| {
            let x = b.load(input, &[(i, 1)], 0);
            let x = f.map_or(x, |f| b.unary(f, x));
            b.store(out, &[(i, 1)], 0, x);
        });
        b.finish()
    };
    assert_eq!(requests(&chain(None, 300_000)), 0);
    assert_eq!(requests(&chain(Some(UnaryOp::Sqrt), 300_000)), 0);
    assert_eq!(requests(&chain(Some(UnaryOp::Exp), 1000)), 0);
    let kernel = chain(Some(UnaryOp::Exp), 300_001);
    assert_eq!(requests(&kernel), 1);
    // A row that was read before is there; only the next one is asked for.
    assert_eq!(requests(&rows(1000, 300, Some(UnaryOp::Exp))), 1);
    let given: Vec<f32> = values(300_001).iter().map(|x| -x / 16.0).collect();
    let mut result = Data::zeros(F32, given.len());
    assert_eq!(run(&kernel, &mut [&mut Data::floats(&given), &mut result]), 0);
    for (i, (found, x)) in result.values().iter().zip(&given).enumerate() {
        let expected = if i < 3 { 0.0 } else { f64::from(*x).exp() };
        assert!((found.as_f64() - expected).abs() <= 2e-7 * expected, "at {i}");
    }
}
