//! Reductions with an accumulator for each lane: every length around those of vectors, and terms that
//! were written just before.

use ein_ir::loops::{ForKind, Op, Operand};
use ein_scalar::{BinaryOp, Overflow, Scalar, ScalarType, apply_binary};

use crate::builder::{Builder, Data, int, run, value, vector};

const LENGTH: i64 = 50;

/// Whole numbers, the sums of which are exact in any order.
fn numbers(ty: ScalarType) -> Vec<Scalar> {
    let number = |i: i64| Scalar::from_f64(((i * 37) % 23 - 11) as f64, ty).expect("a float");
    (0..LENGTH).map(number).collect()
}

#[test]
fn every_length_is_reduced() {
    for ty in [ScalarType::F32, ScalarType::F64] {
        for op in [BinaryOp::Add, BinaryOp::Min, BinaryOp::Max] {
            for first in [0, 3] {
                let mut b = Builder::new();
                let len = LENGTH as usize;
                let (input, out) = (b.input(ty, len), b.output(ty, len));
                let values = numbers(ty);
                b.for_(int(0), int(LENGTH), ForKind::Serial, |b, n| {
                    let var = b.var(Operand::Const(values[7]));
                    b.for_(int(first), n, vector(&[(var, op)]), |b, i| {
                        let x = b.load(input, &[(i, 1)], 0);
                        b.reduce(var, op, x);
                    });
                    b.store(out, &[(n, 1)], 0, Operand::Reg(var));
                });
                let kernel = b.finish();
                let mut result = Data::zeros(ty, len);
                run(&kernel, &mut [&mut Data::new(ty, &values), &mut result]);
                for n in 0..len {
                    let terms = values.get(first as usize..n).unwrap_or_default();
                    let expected = terms.iter().fold(values[7], |all, x| {
                        apply_binary(op, all, *x, Overflow::Wrap).expect("floats")
                    });
                    assert_eq!(result.get(n), expected, "{op} of {n} {ty} from {first}");
                }
            }
        }
    }
}

#[test]
fn terms_written_one_by_one_are_reduced() {
    let mut b = Builder::new();
    let len = LENGTH as usize;
    let (input, out) = (b.input(ScalarType::F64, len), b.output(ScalarType::F64, len));
    b.for_(int(0), int(LENGTH), ForKind::Serial, |b, n| {
        let var = b.var(value(0.0));
        b.for_(int(0), n, vector(&[(var, BinaryOp::Add)]), |b, i| {
            let x = b.load(out, &[(i, 1)], 0);
            b.reduce(var, BinaryOp::Add, x);
        });
        let x = b.load(input, &[(n, 1)], 0);
        let next = b.binary(BinaryOp::Sub, x, Operand::Reg(var));
        b.store(out, &[(n, 1)], 0, next);
    });
    let values = numbers(ScalarType::F64);
    let mut result = Data::zeros(ScalarType::F64, len);
    run(&b.finish(), &mut [&mut Data::new(ScalarType::F64, &values), &mut result]);
    let mut total = 0.0;
    for (n, x) in values.iter().enumerate() {
        let Scalar::F64(x) = x else { unreachable!("numbers of this type") };
        let next = x - total;
        assert_eq!(result.get(n), Scalar::F64(next), "at {n}");
        total += next;
    }
}
#[test]
fn choices_by_truths_from_outside_are_masks() {
    for ty in [ScalarType::F32, ScalarType::F64] {
        let (rows, len) = (6_usize, LENGTH as usize);
        let mut b = Builder::new();
        let (input, out) = (b.input(ty, len), b.output(ty, rows * len));
        let truths = b.input(ScalarType::Bool, rows * 4);
        let zero = Operand::Const(Scalar::zero(ty));
        b.for_(int(0), int(rows as i64), ForKind::Serial, |b, n| {
            let chosen: Vec<Operand> = (0..4).map(|at| b.load(truths, &[(n, 4)], at)).collect();
            b.for_(int(0), int(LENGTH), vector(&[]), |b, i| {
                let x = b.load(input, &[(i, 1)], 0);
                let mut sum = zero;
                for truth in &chosen {
                    let term = b.let_(ty, Op::Select(*truth, x, zero));
                    sum = b.binary(BinaryOp::Add, sum, term);
                }
                b.store(out, &[(n, LENGTH), (i, 1)], 0, sum);
            });
        });
        let kernel = b.finish();
        let text = ein_emit_c::source(&kernel, "kernel");
        let loops = text.matches("#pragma omp simd").count();
        assert!(loops > 0, "{text}");
        assert_eq!(text.matches("_mask != 0 ?").count(), 4 * loops, "{text}");
        let values = numbers(ScalarType::F64);
        let values: Vec<Scalar> =
            values.iter().map(|x| Scalar::from_f64(x.as_f64(), ty).expect("a float")).collect();
        let truth = |n: usize, at: usize| (n * 3 + at * at) % 4 < 2;
        let all: Vec<Scalar> =
            (0..rows * 4).map(|at| Scalar::Bool(truth(at / 4, at % 4))).collect();
        let mut result = Data::zeros(ty, rows * len);
        let (mut x, mut chosen) = (Data::new(ty, &values), Data::new(ScalarType::Bool, &all));
        run(&kernel, &mut [&mut x, &mut result, &mut chosen]);
        for n in 0..rows {
            let times = (0..4).filter(|at| truth(n, *at)).count() as f64;
            for (i, x) in values.iter().enumerate() {
                assert_eq!(result.get(n * len + i).as_f64(), times * x.as_f64(), "{ty}: {n}, {i}");
            }
        }
    }
}
