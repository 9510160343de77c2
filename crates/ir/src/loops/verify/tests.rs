//! Kernels that are refused, with what is said of them.

use super::*;
use crate::loops::Buffer;
use ein_scalar::{Scalar, UnaryOp};

const F32: ScalarType = ScalarType::F32;
const I64: ScalarType = ScalarType::I64;
const BOOL: ScalarType = ScalarType::Bool;

fn r(i: usize) -> Reg {
    Reg::from_usize(i)
}

fn reg(i: usize) -> Operand {
    Operand::Reg(r(i))
}

fn int(x: i64) -> Operand {
    Operand::Const(Scalar::I64(x))
}

fn at(buf: usize, terms: &[(usize, i64)]) -> Addr {
    let terms = terms.iter().map(|&(reg, factor)| (r(reg), factor)).collect();
    Addr { buf: Buf::from_usize(buf), terms, offset: 0 }
}

fn load(to: usize, buf: usize, terms: &[(usize, i64)]) -> Stmt {
    Stmt::Let(r(to), Op::Load(at(buf, terms)))
}

fn add(to: usize, a: usize, b: usize) -> Stmt {
    Stmt::Let(r(to), Op::Binary(BinaryOp::Add, reg(a), reg(b)))
}

fn for_loop(var: usize, kind: ForKind, body: Vec<Stmt>) -> Stmt {
    Stmt::For(Box::new(For { var: r(var), lo: int(0), hi: int(8), kind, body }))
}

/// Buffers: b0 an input, b1 an output, b2 local, all of 8 `f32`.
#[track_caller]
fn check(regs: &[ScalarType], body: Vec<Stmt>, expected: &[&str]) {
    let kinds = [BufferKind::Input, BufferKind::Output, BufferKind::Local];
    let buffer = |kind| Buffer { name: String::new(), ty: F32, len: 8, kind };
    let kernel = Kernel {
        name: String::new(),
        bufs: kinds.into_iter().map(buffer).collect(),
        regs: regs.iter().copied().collect(),
        body,
    };
    assert_eq!(verify(&kernel), expected);
}

fn sum(kind: ForKind) -> Vec<Stmt> {
    vec![
        Stmt::Var(r(0), Operand::Const(Scalar::F32(0.0))),
        for_loop(1, kind, vec![load(2, 0, &[(1, 1)]), add(3, 0, 2), Stmt::Set(r(0), reg(3))]),
        Stmt::Store(at(1, &[]), reg(0)),
    ]
}

#[test]
fn reductions() {
    let regs = [F32, I64, F32, F32];
    let vector = |reductions: &[(usize, BinaryOp)]| ForKind::Vector {
        reductions: reductions.iter().map(|&(i, op)| (r(i), op)).collect(),
    };
    check(&regs, sum(vector(&[(0, BinaryOp::Add)])), &[]);
    check(&regs, sum(ForKind::Serial), &[]);
    check(&regs, sum(vector(&[])), &["r0 is set but not reduced by r1"]);
    let other = "r0 is not reduced by max once and used nowhere else";
    check(&regs, sum(vector(&[(0, BinaryOp::Max)])), &[other]);
    let parallel = "r0 of outside is set in a parallel loop";
    check(&regs, sum(ForKind::Parallel { grain: 1 }), &[parallel]);
    check(
        &regs,
        sum(ForKind::Parallel { grain: 0 }),
        &["the grain of r1 is less than 1", parallel],
    );
}

#[test]
fn scopes_and_definitions() {
    let regs = [I64, F32, F32, BOOL];
    let body = |stmts: Vec<Stmt>| vec![for_loop(0, ForKind::Serial, stmts)];
    check(&regs, body(vec![load(1, 0, &[(0, 1)]), Stmt::Store(at(1, &[(0, 1)]), reg(1))]), &[]);
    check(&regs, body(vec![load(1, 0, &[(0, 1)]), load(1, 0, &[])]), &["r1 is defined twice"]);
    check(
        &regs,
        body(vec![Stmt::Set(r(1), reg(1))]),
        &["r1 is used where it is not visible", "r1 is used where it is not visible"],
    );
    check(
        &regs,
        body(vec![load(1, 0, &[]), Stmt::Set(r(1), reg(1))]),
        &["r1 is set but no variable"],
    );
    let mut after = body(vec![load(1, 0, &[(0, 1)])]);
    after.push(Stmt::Store(at(1, &[]), reg(1)));
    check(&regs, after, &["r1 is used where it is not visible"]);
    let until = |ends: usize| {
        let done = Stmt::Var(r(3), Operand::Const(Scalar::Bool(false)));
        vec![done, for_loop(0, ForKind::Until(r(ends)), vec![Stmt::Set(r(3), reg(3))])]
    };
    check(&regs, until(3), &[]);
    let other = ["r2 is used where it is not visible", "what ends a loop is not of type bool"];
    check(&regs, until(2), &other);
    check(
        &regs,
        body(vec![Stmt::If(reg(0), vec![], vec![])]),
        &["a condition is not of type bool"],
    );
}

#[test]
fn types_and_addresses() {
    let regs = [I64, F32, F32, BOOL];
    let one = |stmt: Stmt| vec![load(1, 0, &[]), for_loop(0, ForKind::Serial, vec![stmt])];
    let unary = |op| Stmt::Let(r(2), Op::Unary(op, reg(1)));
    check(&regs, one(unary(UnaryOp::Exp)), &[]);
    check(&regs, one(unary(UnaryOp::Not)), &["there is no not of f32"]);
    check(&regs, one(unary(UnaryOp::IsNan)), &["r2 is of type f32 but gets bool"]);
    check(&regs, one(Stmt::Let(r(3), Op::Overflows(BinaryOp::Add, reg(0), reg(0)))), &[]);
    check(
        &regs,
        one(Stmt::Let(r(3), Op::Overflows(BinaryOp::Add, reg(1), reg(1)))),
        &["there is no overflow of add of f32 and f32"],
    );
    check(&regs, one(load(2, 0, &[(0, 0)])), &["r0 in an address of b0 has factor 0"]);
    check(&regs, one(load(2, 0, &[(0, 1), (0, 2)])), &["r0 is twice in an address of b0"]);
    check(&regs, one(load(2, 0, &[(1, 1)])), &["r1 in an address of b0 is not of type i64"]);
    check(&regs, one(Stmt::Store(at(0, &[]), reg(1))), &["b0 is an input but written"]);
    check(
        &regs,
        one(Stmt::Store(at(1, &[]), reg(0))),
        &["a value of another type is stored to b1"],
    );
}

#[test]
fn parallel_loops_and_local_buffers() {
    let regs = [I64, I64, F32, F32];
    let parallel = || ForKind::Parallel { grain: 1 };
    let local = |to: usize| vec![load(to, 2, &[])];
    let two = |a, b| vec![for_loop(0, parallel(), local(2)), for_loop(1, a, b)];
    check(&regs, vec![for_loop(0, parallel(), local(2))], &[]);
    let shared = "b2 is local but not used in one function only";
    check(&regs, two(parallel(), local(3)), &[shared]);
    check(&regs, two(ForKind::Serial, local(3)), &[shared]);
    let nested = vec![for_loop(0, parallel(), vec![for_loop(1, parallel(), vec![])])];
    check(&regs, nested, &["the parallel loop of r1 is in another one"]);
    let vector = ForKind::Vector { reductions: vec![] };
    check(
        &regs,
        vec![for_loop(0, vector, vec![for_loop(1, ForKind::Serial, vec![])])],
        &["the vector loop of r0 has a statement of no vectors"],
    );
}

#[test]
fn matrix_products() {
    let matrix = |buf| Matrix { addr: at(buf, &[]), rows: 2, cols: 1 };
    let gemm = |c: usize, parallel: bool| {
        Stmt::Gemm(Box::new(Gemm {
            m: int(2),
            n: int(2),
            k: int(2),
            a: matrix(0),
            b: matrix(0),
            c: matrix(c),
            accumulate: false,
            parallel,
        }))
    };
    check(&[I64], vec![gemm(1, true)], &[]);
    check(&[I64], vec![gemm(0, false)], &["b0 is an input but written"]);
    let inside =
        |parallel| vec![for_loop(0, ForKind::Parallel { grain: 1 }, vec![gemm(1, parallel)])];
    check(&[I64], inside(false), &[]);
    check(&[I64], inside(true), &["a parallel matrix product is in a parallel loop"]);
}
