//! Recurrences: orders, demand, cycles, array-valued steps.

mod support;

use ein_base::Code;
use ein_ir::tensor::*;
use support::*;

fn recurrent(t: &mut Tensor, own: VarId, axes: &[(usize, bool)]) {
    t.self_var = Some(own);
    let axes =
        axes.iter().map(|(axis, backward)| RecurrenceAxis { axis: *axis, backward: *backward });
    t.recurrence =
        Some(Box::new(Recurrence { axes: axes.collect(), lookback: None, adjoint: false }));
}

fn unknown(rank: usize) -> Type {
    array(Type::I32, &vec![0; rank])
}

/// `f[0] = 0; f[1] = 1; f[n in 2..count] = f[n - 1] + f[n - 2]`, with its clauses in some order.
fn fibonacci(b: &mut Build, count: i32, order: [usize; 3], axes: &[(usize, bool)]) -> Expr {
    let own = b.local("f", unknown(1));
    let n = b.idx("n");
    let back = |b: &Build, k| index(b.get(own), vec![sub(b.get(n), int(k))]);
    let step = add(back(b, 1), back(b, 2));
    let clauses = [
        clause(vec![ClauseSlot::Point(0)], int(0)),
        clause(vec![ClauseSlot::Point(1)], int(1)),
        clause(vec![over(n, 2, count)], step),
    ];
    let mut t = tensor("f", 1, order.map(|at| clauses[at].clone()).to_vec());
    recurrent(&mut t, own, axes);
    define(t)
}

#[test]
fn fibonacci_in_any_order() {
    let expected = "[0, 1, 1, 2, 3, 5, 8, 13, 21, 34]";
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        // The right order, none, and the wrong one.
        for axes in [&[(0, false)][..], &[], &[(0, true)]] {
            let mut b = Build::new();
            let it = fibonacci(&mut b, 10, order, axes);
            assert_eq!(value_of(b, it), expected);
        }
    }
}

#[test]
fn demand_goes_deep() {
    // Backward over a forward recurrence: each point demands the one before it.
    let mut b = Build::new();
    let own = b.local("h", unknown(1));
    let n = b.idx("n");
    let before = index(b.get(own), vec![sub(b.get(n), int(1))]);
    let value = choose(less(b.get(n), int(1)), int(1), add(before, int(1)));
    let mut t = tensor("h", 1, vec![clause(vec![over(n, 0, 10_000)], value)]);
    recurrent(&mut t, own, &[(0, true)]);
    let it = index(define(t), vec![int(9_999)]);
    assert_eq!(value_of(b, it), "10000");
}

#[test]
fn overflow_in_a_recurrence() {
    let mut b = Build::new();
    let it = fibonacci(&mut b, 60, [0, 1, 2], &[(0, false)]);
    let error = error_of(b, it);
    check_error(
        &error,
        Code::E0802,
        &["integer overflow in `f` at n = 47", "1836311903 + 1134903170"],
    );
}

#[test]
fn backward() {
    let mut b = Build::new();
    let own = b.local("v", unknown(1));
    let t = b.idx("t");
    let next = index(b.get(own), vec![add(b.get(t), int(1))]);
    let value = add(next, b.get(t));
    let clauses =
        vec![clause(vec![over(t, 0, 4)], value), clause(vec![ClauseSlot::Point(4)], int(100))];
    let mut v = tensor("v", 1, clauses);
    recurrent(&mut v, own, &[(0, true)]);
    assert_eq!(value_of(b, define(v)), "[106, 106, 105, 103, 100]");
}

#[test]
fn two_axes() {
    // Paths on a grid.
    let mut b = Build::new();
    let own = b.local("p", unknown(2));
    let (i, j) = (b.idx("i"), b.idx("j"));
    let up = index(b.get(own), vec![sub(b.get(i), int(1)), b.get(j)]);
    let left = index(b.get(own), vec![b.get(i), sub(b.get(j), int(1))]);
    let edge = less(mul(b.get(i), b.get(j)), int(1));
    let value = choose(edge, int(1), add(up, left));
    let mut p = tensor("p", 2, vec![clause(vec![over(i, 0, 3), over(j, 0, 4)], value)]);
    recurrent(&mut p, own, &[(0, false), (1, false)]);
    assert_eq!(value_of(b, define(p)), "[[1, 1, 1,  1],\n [1, 2, 3,  4],\n [1, 3, 6, 10]]");
}

#[test]
fn steps_that_are_arrays() {
    // p[0] = [1, 2]; p[t] = [p[t-1][1], p[t-1][0] + p[t-1, 1]]; and q reads whole rows.
    let mut b = Build::new();
    let own = b.local("p", array(Type::I32, &[5, 2]));
    let t = b.idx("t");
    let before = |b: &Build| sub(b.get(t), int(1));
    let row = index(b.get(own), vec![before(&b)]);
    let second = index(row.clone(), vec![int(1)]);
    let first = index(row, vec![int(0)]);
    let direct = index(b.get(own), vec![before(&b), int(1)]);
    let value = literal(vec![second, add(first, direct)]);
    let clauses =
        vec![clause(vec![ClauseSlot::Point(0)], ints(&[1, 2])), clause(vec![over(t, 1, 4)], value)];
    let mut p = tensor("p", 1, clauses);
    recurrent(&mut p, own, &[(0, false)]);
    assert_eq!(value_of(b, define(p)), "[[1, 2],\n [2, 3],\n [3, 5],\n [5, 8]]");
}

#[test]
fn rows_of_declared_axes_are_read_whole() {
    // h[0, j] = j; h[t, j] = sum over the row before.
    let mut b = Build::new();
    let own = b.local("h", array(Type::I32, &[3, 2]));
    let (t, j, k) = (b.idx("t"), b.idx("j"), b.idx("k"));
    let row = b.local("row", array(Type::I32, &[2]));
    let before = index(b.get(own), vec![sub(b.get(t), int(1))]);
    let element = index(b.get(row), vec![b.get(k)]);
    let sum = reduce(ReduceOp::Sum, vec![binder(k, int(0), int(2))], vec![], element);
    let mut step = clause(vec![over(t, 1, 3), over(j, 0, 2)], add(sum, b.get(j)));
    step.items = vec![Item::Let(row, before)];
    let base = clause(vec![ClauseSlot::Point(0), over(j, 0, 2)], b.get(j));
    let mut h = tensor("h", 2, vec![base, step]);
    recurrent(&mut h, own, &[(0, false)]);
    assert_eq!(value_of(b, define(h)), "[[0, 1],\n [1, 2],\n [3, 4]]");
}

#[test]
fn a_point_that_needs_itself() {
    let mut b = Build::new();
    let own = b.local("c", unknown(1));
    let n = b.idx("n");
    let other = index(b.get(own), vec![sub(int(3), b.get(n))]);
    let mut c = tensor("c", 1, vec![clause(vec![over(n, 0, 4)], other)]);
    recurrent(&mut c, own, &[(0, false)]);
    let error = error_of(b, define(c));
    check_error(&error, Code::E0601, &["`c[0]` depends on itself"]);
}

#[test]
fn a_slice_of_what_is_done() {
    // s[n] = number of elements before n, read as a slice.
    let mut b = Build::new();
    let own = b.local("s", unknown(1));
    let n = b.idx("n");
    let part = ExprKind::Slice { base: b.get(own), axis: 0, lo: None, hi: Some(b.get(n)) };
    let part = expr(part, array(Type::I32, &[0]));
    let value = host(HostOp::Len, vec![part], Type::I32);
    let mut s = tensor("s", 1, vec![clause(vec![over(n, 0, 4)], value)]);
    recurrent(&mut s, own, &[(0, false)]);
    assert_eq!(value_of(b, define(s)), "[0, 1, 2, 3]");
}

#[test]
fn reads_outside_are_errors() {
    let mut b = Build::new();
    let own = b.local("h", unknown(1));
    let n = b.idx("n");
    let before = index(b.get(own), vec![sub(b.get(n), int(1))]);
    let mut h = tensor("h", 1, vec![clause(vec![over(n, 0, 4)], before)]);
    recurrent(&mut h, own, &[(0, false)]);
    let error = error_of(b, define(h));
    check_error(
        &error,
        Code::E0801,
        &["index -1 is out of bounds for `h`: axis 0 has extent 4", "in `h` at n = 0"],
    );
}

#[test]
fn a_recurrence_inside_a_definition() {
    // o[i in 0..3] = { h[0] = i; h[t in 1..4] = h[t - 1] * 2 + i; h[3] }, in the wrong order.
    let mut b = Build::new();
    let (i, t) = (b.idx("i"), b.idx("t"));
    let own = b.local("h", unknown(1));
    let h = b.local("h", unknown(1));
    let before = index(b.get(own), vec![sub(b.get(t), int(1))]);
    let step = add(mul(before, int(2)), b.get(i));
    let clauses =
        vec![clause(vec![ClauseSlot::Point(0)], b.get(i)), clause(vec![over(t, 1, 4)], step)];
    let mut inner = tensor("h", 1, clauses);
    recurrent(&mut inner, own, &[(0, true)]);
    let bound = Stmt { kind: StmtKind::Let(h, define(inner)), span: span() };
    let value = add(index(b.get(h), vec![int(3)]), mul(int(100), b.get(i)));
    let body = expr(ExprKind::Block { stmts: vec![bound], value }, Type::I32);
    let o = define(tensor("o", 1, vec![clause(vec![over(i, 0, 3)], body)]));
    assert_eq!(value_of(b, o), "[0, 115, 230]");
}

#[test]
fn a_closure_reads_the_definition_it_stands_in() {
    // h[n] = (|k| if n < 1 { 1 } else { h[n - k] + h[n - k] })(1), backward.
    let mut b = Build::new();
    let (own_inside, n_inside, k) = (b.local("h", unknown(1)), b.idx("n"), b.idx("k"));
    let before = index(b.get(own_inside), vec![sub(b.get(n_inside), b.get(k))]);
    let first = less(b.get(n_inside), int(1));
    let body = choose(first, int(1), add(before.clone(), before));
    let func = b.func("closure", vec![k], body);
    b.program.funcs[func].captures = vec![own_inside, n_inside];
    let own = b.local("h", unknown(1));
    let n = b.idx("n");
    let captures = vec![b.get(own), b.get(n)];
    let ty = Type::Template(0, Default::default());
    let made = expr(ExprKind::Closure { func: None, captures }, ty);
    let kind = ExprKind::Call { func, sizes: vec![], closure: Some(made), args: vec![int(1)] };
    let value = expr(kind, Type::I32);
    let mut h = tensor("h", 1, vec![clause(vec![over(n, 0, 6)], value)]);
    recurrent(&mut h, own, &[(0, true)]);
    assert_eq!(value_of(b, define(h)), "[1, 2, 4, 8, 16, 32]");
}

#[test]
fn an_error_while_a_point_is_demanded_can_be_caught() {
    // f[n] = f[n - 1] + 1 if that is there, else 0.
    let mut b = Build::new();
    let sym = ein_base::Symbol::intern;
    let variant = |name| DataVariant { name: sym(name), fields: vec![sym("0")], positional: true };
    let variants = vec![variant("Ok"), variant("Err")];
    let result = b.program.data.push(Data { name: sym("Result"), variants, is_enum: true });
    let own = b.local("f", unknown(1));
    let (n, x) = (b.idx("n"), b.idx("x"));
    let before = index(b.get(own), vec![sub(b.get(n), int(1))]);
    let tried = expr(ExprKind::Try(before), Type::Data(result, vec![Type::I32, Type::Str].into()));
    let there = Pattern::Data { variant: 0, fields: vec![Pattern::Bind(x)] };
    let arms = [(there, add(b.get(x), int(1))), (Pattern::Wild, int(0))];
    let arms = arms.map(|(pattern, value)| Arm { pattern, guard: None, value }).to_vec();
    let value = expr(ExprKind::Match { value: tried, arms }, Type::I32);
    let mut f = tensor("f", 1, vec![clause(vec![over(n, 0, 4)], value)]);
    recurrent(&mut f, own, &[(0, true)]);
    assert_eq!(value_of(b, define(f)), "[0, 1, 2, 3]");
}
