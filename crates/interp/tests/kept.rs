//! Values that loops would repeat are computed once for the indices on which they depend. These
//! programs would not end otherwise.

mod support;

use ein_ir::tensor::*;
use support::*;

const LEVELS: i32 = 12;
const EXTENT: i32 = 60;

/// Reductions inside each other, none of which mentions an index of another, around a value.
fn nested(b: &mut Build, value: Expr) -> Expr {
    (0..LEVELS).fold(value, |inner, level| {
        let k = b.idx(&format!("k{level}"));
        // The index is mentioned here, but not inside.
        let value = add(inner, mul(b.get(k), int(0)));
        reduce(ReduceOp::Max, vec![binder(k, int(0), int(EXTENT))], Vec::new(), value)
    })
}

#[test]
fn reductions_inside_reductions() {
    let mut b = Build::new();
    let it = nested(&mut b, int(7));
    assert_eq!(value_of(b, it), "7");
}

#[test]
fn reductions_of_one_index_of_two() {
    let mut b = Build::new();
    let (i, j) = (b.idx("i"), b.idx("j"));
    let row = b.get(i);
    let (across, column) = (nested(&mut b, row), b.get(j));
    let down = nested(&mut b, column);
    let value = add(mul(across, int(10)), down);
    let it = define(tensor("it", 2, vec![clause(vec![over(i, 0, 2), over(j, 0, 3)], value)]));
    assert_eq!(value_of(b, it), "[[ 0,  1,  2],\n [10, 11, 12]]");
}

#[test]
fn calls_through_local_variables() {
    let mut b = Build::new();
    let x = b.local("x", Type::I32);
    let body = b.get(x);
    let body = nested(&mut b, body);
    let slow = b.func("slow", vec![x], body);
    let call = |arg: Expr| {
        let kind = ExprKind::Call { func: slow, sizes: Vec::new(), closure: None, args: vec![arg] };
        expr(kind, Type::I32)
    };
    let (i, j) = (b.idx("i"), b.idx("j"));
    let half = b.local("half", Type::I32);
    let stmt = Stmt { kind: StmtKind::Let(half, call(b.get(i))), span: span() };
    let value = add(call(b.get(half)), b.get(j));
    let value = expr(ExprKind::Block { stmts: vec![stmt], value }, Type::I32);
    let it = define(tensor("it", 2, vec![clause(vec![over(i, 0, 2), over(j, 0, 2)], value)]));
    assert_eq!(value_of(b, it), "[[0, 1],\n [1, 2]]");
}
