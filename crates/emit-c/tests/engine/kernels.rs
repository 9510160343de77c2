//! Whole kernels: loops, local buffers, branches, traps, matrix products.

use std::path::Path;

use ein_emit_c::ahead::{Array, Buffer, Filled, Output, Program, Unit};
use ein_ir::loops::{BufferKind, ForKind, Gemm, Matrix, Op, Operand, Stmt};
use ein_scalar::{BinaryOp, Overflow, Scalar, ScalarType, UnaryOp, apply_binary};

use crate::builder::{Builder, Data, compiler, int, run, value, vector};
use crate::ops::{Random, samples};

const F32: ScalarType = ScalarType::F32;

fn floats(count: usize) -> Vec<f32> {
    let mut random = Random(11);
    (0..count).map(|_| random.unit() as f32).collect()
}

fn as_f32(data: &Data) -> Vec<f32> {
    data.values().iter().map(|x| x.as_f64() as f32).collect()
}

#[track_caller]
fn close(found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= tolerance * b.abs().max(1.0), "at {i}: {a}, not {b}");
    }
}

#[test]
fn reductions_of_every_type() {
    for ty in ScalarType::ALL {
        let mut values = samples(ty, 1000);
        values.truncate(1003);
        for &op in &[
            BinaryOp::Add,
            BinaryOp::Mul,
            BinaryOp::Min,
            BinaryOp::Max,
            BinaryOp::And,
            BinaryOp::Or,
        ] {
            if op.result_type(ty, ty) != Some(ty) {
                continue;
            }
            let sums = matches!(op, BinaryOp::Add | BinaryOp::Mul);
            // Sums of floats may be made in any order; whole numbers have one result.
            let values: Vec<Scalar> = if ty.is_float() && sums {
                let small = |i: usize| if sums && op == BinaryOp::Mul { 1 + i % 2 } else { i % 2 };
                (0..20).map(|i| Scalar::from_f64(small(i) as f64, ty).unwrap()).collect()
            } else if ty.is_float() {
                values.iter().copied().filter(|x| !x.is_nan()).collect()
            } else {
                values.clone()
            };
            let mut b = Builder::new();
            let (input, out) = (b.input(ty, values.len()), b.output(ty, 1));
            let var = b.var(Operand::Const(values[0]));
            b.for_(int(1), int(values.len() as i64), vector(&[(var, op)]), |b, i| {
                let x = b.load(input, &[(i, 1)], 0);
                b.reduce(var, op, x);
            });
            b.store(out, &[], 0, Operand::Reg(var));
            let kernel = b.finish();
            let mut result = Data::zeros(ty, 1);
            run(&kernel, &mut [&mut Data::new(ty, &values), &mut result]);
            let expected = values[1..]
                .iter()
                .fold(values[0], |sum, &x| apply_binary(op, sum, x, Overflow::Wrap).unwrap());
            assert_eq!(result.get(0), expected, "{op} of {ty}");
            // One NaN anywhere is the result of a minimum or maximum.
            if ty.is_float() && !sums {
                for sign in [f64::NAN, -f64::NAN] {
                    let mut values = values.clone();
                    values[17] = Scalar::from_f64(sign, ty).unwrap();
                    run(&kernel, &mut [&mut Data::new(ty, &values), &mut result]);
                    assert!(result.get(0).is_nan(), "{op} of {ty}");
                }
            }
        }
    }
}

#[test]
fn zeros_have_an_order() {
    for (op, expected) in [(BinaryOp::Max, 0.0f32), (BinaryOp::Min, -0.0)] {
        for first in [0.0f32, -0.0] {
            let mut b = Builder::new();
            let (input, out) = (b.input(F32, 40), b.output(F32, 1));
            let var = b.var(value(first));
            b.for_(int(0), int(40), vector(&[(var, op)]), |b, i| {
                let x = b.load(input, &[(i, 1)], 0);
                b.reduce(var, op, x);
            });
            b.store(out, &[], 0, Operand::Reg(var));
            let mut zeros = [-first; 40];
            zeros[3] = first;
            let mut result = Data::zeros(F32, 1);
            run(&b.finish(), &mut [&mut Data::floats(&zeros), &mut result]);
            assert_eq!(result.get(0), Scalar::F32(expected));
        }
    }
}

#[test]
fn dot_product_by_muladd() {
    let (x, y) = (floats(1001), floats(1001));
    let mut b = Builder::new();
    let (bx, by, out) = (b.input(F32, 1001), b.input(F32, 1001), b.output(F32, 1));
    let var = b.var(value(0.5f32));
    b.for_(int(0), int(1001), vector(&[(var, BinaryOp::Add)]), |b, i| {
        let (x, y) = (b.load(bx, &[(i, 1)], 0), b.load(by, &[(i, -1)], 1000));
        let next = b.let_(F32, Op::MulAdd(x, y, Operand::Reg(var)));
        b.set(var, next);
    });
    b.store(out, &[], 0, Operand::Reg(var));
    let mut result = Data::zeros(F32, 1);
    run(&b.finish(), &mut [&mut Data::floats(&x), &mut Data::floats(&y), &mut result]);
    let expected: f64 =
        x.iter().zip(y.iter().rev()).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
    close(&as_f32(&result), &[(expected + 0.5) as f32], 1e-5);
}

/// Row by row: the maximum, exponentials into a local row, their sum, the quotients.
#[test]
fn softmax_with_a_local_row() {
    let (rows, cols) = (37, 101);
    let x = floats(rows * cols);
    let mut b = Builder::new();
    let (input, out) = (b.input(F32, rows * cols), b.output(F32, rows * cols));
    let row = b.buffer(F32, cols, BufferKind::Local);
    let width = cols as i64;
    b.for_(int(0), int(rows as i64), ForKind::Parallel { grain: 2 }, |b, i| {
        let top = b.var(value(f32::NEG_INFINITY));
        b.for_(int(0), int(width), vector(&[(top, BinaryOp::Max)]), |b, j| {
            let x = b.load(input, &[(i, width), (j, 1)], 0);
            b.reduce(top, BinaryOp::Max, x);
        });
        let total = b.var(value(0.0f32));
        b.for_(int(0), int(width), vector(&[(total, BinaryOp::Add)]), |b, j| {
            let x = b.load(input, &[(i, width), (j, 1)], 0);
            let less = b.binary(BinaryOp::Sub, x, Operand::Reg(top));
            let e = b.unary(UnaryOp::Exp, less);
            b.store(row, &[(j, 1)], 0, e);
            b.reduce(total, BinaryOp::Add, e);
        });
        let inverse = b.binary(BinaryOp::Div, value(1.0f32), Operand::Reg(total));
        b.for_(int(0), int(width), vector(&[]), |b, j| {
            let e = b.load(row, &[(j, 1)], 0);
            let y = b.binary(BinaryOp::Mul, e, inverse);
            b.store(out, &[(i, width), (j, 1)], 0, y);
        });
    });
    let mut result = Data::zeros(F32, rows * cols);
    assert_eq!(run(&b.finish(), &mut [&mut Data::floats(&x), &mut result]), 0);
    let mut expected = Vec::new();
    for row in x.chunks(cols) {
        let top = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let total: f32 = row.iter().map(|x| (x - top).exp()).sum();
        expected.extend(row.iter().map(|x| (x - top).exp() / total));
    }
    close(&as_f32(&result), &expected, 1e-5);
}

/// A wave: the new state overwrites the one before the last, a parallel region for each step.
#[test]
fn stencil_over_time() {
    let (n, steps) = (33usize, 20);
    let start = floats(n * n);
    let mut b = Builder::new();
    let first = b.input(F32, n * n);
    let (one, two) = (b.output(F32, n * n), b.buffer(F32, n * n, BufferKind::Scratch));
    let (size, width) = (int((n * n) as i64), n as i64);
    b.for_(int(0), size, vector(&[]), |b, i| {
        let x = b.load(first, &[(i, 1)], 0);
        b.store(one, &[(i, 1)], 0, x);
        b.store(two, &[(i, 1)], 0, x);
    });
    b.for_(int(0), int(steps), ForKind::Serial, |b, _| {
        for (now, next) in [(one, two), (two, one)] {
            b.for_(int(1), int(width - 1), ForKind::Parallel { grain: 4 }, |b, i| {
                b.for_(int(1), int(width - 1), vector(&[]), |b, j| {
                    let at = [(i, width), (j, 1)];
                    let mid = b.load(now, &at, 0);
                    let mut sum = b.binary(BinaryOp::Mul, value(-4.0f32), mid);
                    for offset in [-width, width, -1, 1] {
                        let x = b.load(now, &at, offset);
                        sum = b.binary(BinaryOp::Add, sum, x);
                    }
                    let old = b.load(next, &at, 0);
                    let twice = b.let_(F32, Op::MulAdd(value(0.25f32), sum, mid));
                    let inertia = b.binary(BinaryOp::Sub, mid, old);
                    let new = b.binary(BinaryOp::Add, twice, inertia);
                    b.store(next, &at, 0, new);
                });
            });
        }
    });
    let kernel = b.finish();
    let (mut result, mut scratch) = (Data::zeros(F32, n * n), Data::zeros(F32, n * n));
    run(&kernel, &mut [&mut Data::floats(&start), &mut result, &mut scratch]);
    let (mut now, mut next) = (start.clone(), start.clone());
    for _ in 0..2 * steps {
        for i in 1..n - 1 {
            for j in 1..n - 1 {
                let at = i * n + j;
                let sum = now[at - n] + now[at + n] + now[at - 1] + now[at + 1] - 4.0 * now[at];
                next[at] = 2.0 * now[at] - next[at] + 0.25 * sum;
            }
        }
        std::mem::swap(&mut now, &mut next);
    }
    close(&as_f32(&result), &now, 1e-4);
}

#[test]
fn branches_and_orders() {
    let n = 50;
    let x = floats(n);
    let mut b = Builder::new();
    let (input, out) = (b.input(F32, n), b.output(F32, n));
    // A running maximum from the end, twice the number where it is negative.
    let best = b.var(value(f32::NEG_INFINITY));
    b.for_(int(0), int(n as i64), ForKind::Backward, |b, i| {
        let x = b.load(input, &[(i, 1)], 0);
        b.reduce(best, BinaryOp::Max, x);
        let negative = b.binary(BinaryOp::Lt, Operand::Reg(best), value(0.5f32));
        b.if_(
            negative,
            |b| {
                let twice = b.binary(BinaryOp::Add, x, x);
                b.store(out, &[(i, 1)], 0, twice);
            },
            |b| b.store(out, &[(i, 1)], 0, Operand::Reg(best)),
        );
    });
    b.for_(int(0), int(3), ForKind::Unrolled, |b, i| {
        let x = b.load(out, &[(i, 2)], 1);
        let more = b.binary(BinaryOp::Add, x, value(1.0f32));
        b.store(out, &[(i, 2)], 1, more);
    });
    let mut result = Data::zeros(F32, n);
    run(&b.finish(), &mut [&mut Data::floats(&x), &mut result]);
    let mut expected = vec![0.0; n];
    let mut best = f32::NEG_INFINITY;
    for i in (0..n).rev() {
        best = best.max(x[i]);
        expected[i] = if best < 0.5 { 2.0 * x[i] } else { best };
    }
    [1, 3, 5].into_iter().for_each(|i: usize| expected[i] += 1.0);
    close(&as_f32(&result), &expected, 0.0);
}

/// Loops that run by themselves may stand in each other, and use the same buffers; only a flushed one
/// takes subnormal numbers for zeros, on whichever thread it runs.
#[test]
fn flushed_loops() {
    let rows = 40;
    let tiny = f32::MIN_POSITIVE;
    let mut b = Builder::new();
    let (kept, out) = (b.output(F32, 1), b.output(F32, rows * 8));
    let (all, own) = (b.buffer(F32, 8, BufferKind::Scratch), b.buffer(F32, 8, BufferKind::Local));
    let input = b.input(F32, 1);
    let x = b.load(input, &[], 0);
    b.for_(int(0), int(8), ForKind::Serial, |b, i| b.store(all, &[(i, 1)], 0, x));
    b.for_(int(0), int(1), ForKind::Flushed, |b, _| {
        b.for_(int(0), int(rows as i64), ForKind::Parallel { grain: 1 }, |b, row| {
            b.for_(int(0), int(1), ForKind::Flushed, |b, _| {
                b.for_(int(0), int(8), ForKind::Serial, |b, i| {
                    let x = b.load(all, &[(i, 1)], 0);
                    let half = b.binary(BinaryOp::Mul, x, value(0.5f32));
                    b.store(own, &[(i, 1)], 0, half);
                });
            });
            b.for_(int(0), int(8), ForKind::Serial, |b, i| {
                let x = b.load(own, &[(i, 1)], 0);
                let more = b.binary(BinaryOp::Add, x, value(1.0f32));
                b.store(out, &[(row, 8), (i, 1)], 0, more);
            });
        });
    });
    let half = b.binary(BinaryOp::Mul, x, value(0.5f32));
    b.store(kept, &[], 0, half);
    let kernel = b.finish();
    for (x, sum) in [(4.0, 3.0), (tiny, 1.0)] {
        let (mut half, mut result) = (Data::zeros(F32, 1), Data::zeros(F32, rows * 8));
        let (mut scratch, mut input) = (Data::zeros(F32, 8), Data::floats(&[x]));
        run(&kernel, &mut [&mut half, &mut result, &mut scratch, &mut input]);
        assert_eq!(as_f32(&half), [0.5 * x], "outside");
        close(&as_f32(&result), &vec![sum; rows * 8], 0.0);
    }
}

/// A loop apart captures what it uses, whatever stands in it.
#[test]
fn loops_apart() {
    let rows = 40;
    let mut b = Builder::new();
    let out = b.output(F32, rows * 8);
    let own = b.buffer(F32, 8, BufferKind::Local);
    let input = b.input(F32, 1);
    let x = b.load(input, &[], 0);
    b.for_(int(0), int(1), ForKind::Apart, |b, _| {
        b.for_(int(0), int(rows as i64), ForKind::Parallel { grain: 1 }, |b, row| {
            b.for_(int(0), int(8), ForKind::Apart, |b, i| b.store(own, &[(i, 1)], 0, x));
            b.for_(int(0), int(8), ForKind::Serial, |b, i| {
                let twice = b.load(own, &[(i, 1)], 0);
                let twice = b.binary(BinaryOp::Add, twice, x);
                b.store(out, &[(row, 8), (i, 1)], 0, twice);
            });
        });
    });
    let kernel = b.finish();
    let mut result = Data::zeros(F32, rows * 8);
    run(&kernel, &mut [&mut result, &mut Data::floats(&[1.5])]);
    close(&as_f32(&result), &vec![3.0; rows * 8], 0.0);
}

#[test]
fn traps_are_sticky() {
    let ty = ScalarType::I32;
    let kernel = |kind: ForKind| {
        let mut b = Builder::new();
        let (input, out) = (b.input(ty, 100), b.output(ty, 100));
        b.for_(int(0), int(100), kind, |b, i| {
            let x = b.load(input, &[(i, 1)], 0);
            let over = b.let_(ScalarType::Bool, Op::Overflows(BinaryOp::Add, x, value(1i32)));
            b.push(Stmt::Trap(over));
            let sum = b.binary(BinaryOp::Add, x, value(1i32));
            b.store(out, &[(i, 1)], 0, sum);
        });
        b.finish()
    };
    for kind in [ForKind::Serial, vector(&[]), ForKind::Parallel { grain: 1 }] {
        let kernel = kernel(kind);
        for (at, trap) in [(None, 0), (Some(0), 1), (Some(57), 1), (Some(99), 1)] {
            let number = |i| Scalar::I32(if Some(i) == at { i32::MAX } else { i });
            let values: Vec<Scalar> = (0..100).map(number).collect();
            let mut result = Data::zeros(ty, 100);
            assert_eq!(run(&kernel, &mut [&mut Data::new(ty, &values), &mut result]), trap);
            assert_eq!(result.get(98), Scalar::I32(99));
        }
    }
}

#[test]
fn matrix_products_in_and_out_of_loops() {
    let n = 40usize;
    let (x, y) = (floats(n * n), floats(n * n));
    for parallel in [false, true] {
        let mut b = Builder::new();
        let (bx, by, out) = (b.input(F32, n * n), b.input(F32, n * n), b.output(F32, n * n));
        let width = n as i64;
        let product = |b: &Builder, row: &[(Operand, i64)], m: i64| {
            let matrix = |addr| Matrix { addr, rows: width, cols: 1 };
            let turned = Matrix { addr: b.addr(by, &[], 0), rows: 1, cols: width };
            Stmt::Gemm(Box::new(Gemm {
                m: int(m),
                n: int(width),
                k: int(width),
                a: matrix(b.addr(bx, row, 0)),
                b: turned,
                c: matrix(b.addr(out, row, 0)),
                accumulate: false,
                parallel: !parallel,
            }))
        };
        if parallel {
            b.for_(int(0), int(width), ForKind::Parallel { grain: 1 }, |b, i| {
                let stmt = product(b, &[(i, width)], 1);
                b.push(stmt);
            });
        } else {
            let stmt = product(&b, &[], width);
            b.push(stmt);
        }
        let mut result = Data::zeros(F32, n * n);
        run(&b.finish(), &mut [&mut Data::floats(&x), &mut Data::floats(&y), &mut result]);
        let dot = |i: usize, j: usize| (0..n).map(|k| x[i * n + k] * y[j * n + k]).sum::<f32>();
        let expected: Vec<f32> = (0..n * n).map(|at| dot(at / n, at % n)).collect();
        close(&as_f32(&result), &expected, 1e-5);
    }
}

#[test]
fn a_changed_entry_of_the_cache_is_built_again() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("changed");
    let build = || {
        let compiler = ein_emit_c::Compiler::find().unwrap().with_cache(&folder).unwrap();
        let mut b = Builder::new();
        let out = b.output(F32, 1);
        b.store(out, &[], 0, value(3.25f32));
        let compiled = compiler.compile(&b.finish()).unwrap();
        let mut result = Data::zeros(F32, 1);
        let pool = ein_runtime::Pool::new(1);
        assert_eq!(
            unsafe {
                compiled
                    .run(&[result.pointer()], &ein_runtime::Run::new(&pool, &|| false).interface())
            },
            0
        );
        assert_eq!(result.get(0), Scalar::F32(3.25));
    };
    build();
    for entry in std::fs::read_dir(&folder).unwrap() {
        std::fs::write(entry.unwrap().path(), b"not a library").unwrap();
    }
    build();
    build();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_program_is_c_with_a_header() {
    let mut b = Builder::new();
    let (input, out) = (b.input(F32, 8), b.output(F32, 8));
    b.for_(int(0), int(8), vector(&[]), |b, i| {
        let x = b.load(input, &[(i, 1)], 0);
        let y = b.unary(UnaryOp::Tanh, x);
        b.store(out, &[(i, 1)], 0, y);
    });
    let kernel = b.finish();
    let array = |name: &str| Array { name: name.into(), ty: F32, shape: vec![2, 4] };
    let output = Output { array: array("int"), filled: Filled::Kernel };
    let (inputs, outputs) = ([array("x")], [output]);
    let squash = |name| Program {
        name,
        kernel: &kernel,
        buffers: &[Buffer::Input(0), Buffer::Output(0)],
        inputs: &inputs,
        outputs: &outputs,
        tables: &[],
    };
    let files = ein_emit_c::ahead::files(&Unit {
        name: "squash",
        made_from: "squash.ein",
        programs: vec![squash("squash"), squash("squash_again")],
    });
    assert!(files.header.contains("int squash(const float *x, float *int_);"));
    assert!(files.header.contains("int squash_again(const float *x, float *int_);"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ahead");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("squash.h"), files.header).unwrap();
    std::fs::write(folder.join("squash.c"), files.source).unwrap();
    let built = std::process::Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-c", "squash.c"])
        .args(["-Wno-unknown-pragmas", "-Wno-unused-parameter"])
        .current_dir(&folder)
        .status();
    assert!(built.unwrap().success());
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(!compiler().name().is_empty());
}

#[test]
fn numbers_out_of_bounds_are_seen() {
    let (low, high) = (1e-3f32, 1e3f32);
    let mut b = Builder::new();
    let (input, out) = (b.input(F32, 100), b.output(ScalarType::I32, 1));
    let odd = b.var(value(0i32));
    b.for_(int(0), int(100), vector(&[(odd, BinaryOp::Max)]), |b, i| {
        let x = b.load(input, &[(i, 1)], 0);
        let above = b.binary(BinaryOp::Ge, x, value(low));
        let below = b.binary(BinaryOp::Le, x, value(high));
        let both = b.binary(BinaryOp::And, above, below);
        let other = b.unary(UnaryOp::Not, both);
        let other = b.let_(ScalarType::I32, Op::Cast(other));
        b.reduce(odd, BinaryOp::Max, other);
    });
    b.store(out, &[], 0, Operand::Reg(odd));
    let kernel = b.finish();
    assert!(ein_emit_c::source(&kernel, "kernel").contains("_acc = 0;"), "it is a distance");
    let others = [low.next_down(), high.next_up(), 0.0, -0.0, -1.0, -low, f32::NAN, -f32::NAN];
    let others = others.into_iter().chain([f32::INFINITY, f32::NEG_INFINITY, 1e-40]);
    let inside = [low, high, 1.0, low.next_up(), high.next_down()].into_iter().map(|x| (x, 0));
    for (x, wanted) in others.map(|x| (x, 1)).chain(inside) {
        let mut values = vec![1.0; 100];
        values[41] = x;
        let mut result = Data::zeros(ScalarType::I32, 1);
        run(&kernel, &mut [&mut Data::floats(&values), &mut result]);
        assert_eq!(result.get(0), Scalar::I32(wanted), "{x}");
    }
}
