//! Indexed definitions: shapes, clauses, guards, inner axes.

mod support;

use ein_base::Code;
use ein_ir::size;
use ein_ir::tensor::*;
use ein_scalar::BinaryOp;
use support::*;

#[test]
fn one_clause() {
    let mut b = Build::new();
    let i = b.idx("i");
    let square = mul(b.get(i), b.get(i));
    let it = define(tensor("a", 1, vec![clause(vec![over(i, 2, 5)], square)]));
    assert_eq!(value_of(b, it), "[0, 0, 4, 9, 16]");
}

#[test]
fn a_domain_may_depend_on_an_index() {
    let mut b = Build::new();
    let (i, j) = (b.idx("i"), b.idx("j"));
    let inner = ClauseSlot::Loop(binder(j, int(0), add(b.get(i), int(1))));
    let value = add(b.get(j), int(1));
    let it = define(tensor("t", 2, vec![clause(vec![over(i, 0, 3), inner], value)]));
    assert_eq!(value_of(b, it), "[[1, 0, 0],\n [1, 2, 0],\n [1, 2, 3]]");
}

#[test]
fn empty_domains_give_empty_arrays() {
    let mut b = Build::new();
    let (i, j) = (b.idx("i"), b.idx("j"));
    let value = add(b.get(i), b.get(j));
    let slots = vec![over(i, 0, 2), over(j, 5, 3)];
    let it = define(tensor("t", 2, vec![clause(slots, value)]));
    assert_eq!(value_of(b, it), "[[],\n []]");
}

#[test]
fn a_later_clause_wins_and_the_earlier_is_not_computed_there() {
    let mut b = Build::new();
    let i = b.idx("i");
    let first = binary(BinaryOp::Div, int(12), b.get(i));
    let clauses = vec![
        clause(vec![over(i, 0, 4)], first),
        clause(vec![ClauseSlot::Point(0)], int(-1)),
        clause(vec![ClauseSlot::Point(5)], int(7)),
    ];
    let it = define(tensor("a", 1, clauses));
    assert_eq!(value_of(b, it), "[-1, 12, 6, 4, 0, 7]");
}

#[test]
fn guards_leave_zero_or_the_other_value() {
    for (otherwise, expected) in [(None, "[0, 0, 0, 3, 4]"), (Some(int(-1)), "[-1, -1, -1, 3, 4]")]
    {
        let mut b = Build::new();
        let (i, z) = (b.idx("i"), b.idx("z"));
        let mut one = clause(vec![over(i, 0, 5)], b.get(z));
        one.items = vec![Item::Let(z, b.get(i)), Item::Guard(less(int(2), b.get(z)))];
        one.otherwise = otherwise;
        let it = define(tensor("a", 1, vec![one]));
        assert_eq!(value_of(b, it), expected);
    }
}

#[test]
fn bodies_may_be_arrays() {
    let mut b = Build::new();
    let i = b.idx("i");
    let row = literal(vec![b.get(i), mul(b.get(i), int(10))]);
    let it = define(tensor("rows", 1, vec![clause(vec![over(i, 0, 3)], row)]));
    assert_eq!(value_of(b, it), "[[0,  0],\n [1, 10],\n [2, 20]]");

    // No point at all: the inner extent is that of the type.
    let mut b = Build::new();
    let i = b.idx("i");
    let row = literal(vec![b.get(i), b.get(i)]);
    let rows = define(tensor("rows", 1, vec![clause(vec![over(i, 0, 0)], row)]));
    let it = host(HostOp::Shape, vec![rows], array(Type::I32, &[2]));
    assert_eq!(value_of(b, it), "[0, 2]");
}

#[test]
fn elements_may_be_texts() {
    let mut b = Build::new();
    let i = b.idx("i");
    let name = host(HostOp::Format(vec![None, None]), vec![text("x"), b.get(i)], Type::Str);
    let it = define(tensor("names", 1, vec![clause(vec![over(i, 1, 3)], name)]));
    assert_eq!(value_of(b, it), "[\"\", \"x1\", \"x2\"]");
}

#[test]
fn stated_extents_hold_and_are_compared() {
    let mut b = Build::new();
    let a = b.global("a", array(Type::I32, &[3]));
    let n = b.atom("a.0", AtomDef::Extent(a, 0));
    b.stmt(StmtKind::Let(a, ints(&[1, 2, 3])));
    let i = b.idx("i");
    let body =
        clause(vec![ClauseSlot::Loop(binder(i, int(0), Expr::size(n.clone(), span())))], int(1));
    let mut t = tensor("t", 1, vec![body]);
    t.shape = vec![Some(n.add(&size::Expr::constant(1)))];
    b.output("ok", define(t.clone()));
    t.requires = vec![Require {
        left: n,
        right: size::Expr::constant(4),
        what: "index `i`: `a` and `b`".to_owned(),
        span: span(),
    }];
    b.output("bad", define(t));
    assert_eq!(
        b.show(),
        "ok = [1, 1, 1, 0]\nE0804: extents that must be equal are 3 and 4: index `i`: `a` and `b`"
    );
}

#[test]
fn the_memory_limit_speaks_before_anything_is_computed() {
    let mut b = Build::new();
    let (i, j) = (b.idx("i"), b.idx("j"));
    let one = clause(vec![over(i, 0, 1000), over(j, 0, 1000)], float(1.0));
    b.output("huge", define(tensor("huge", 2, vec![one])));
    let program = b.finish();
    let mut options = options();
    options.memory = ein_runtime::Memory::new(Some(1 << 20));
    let (outcome, _) = execute(&program, &options);
    let error = outcome.error.expect("too large");
    check_error(&error, Code::E0805, &["`huge`", "[1000, 1000]", "4000000 bytes", "1.0 MiB"]);
}

#[test]
fn reads_give_elements_rows_and_errors() {
    let mut b = Build::new();
    let m = b.output("m", literal(vec![ints(&[1, 2]), ints(&[3, 4])]));
    let get = |b: &Build, at: Vec<Expr>| index(b.get(m), at);
    let row = get(&b, vec![int(1)]);
    b.output("row", row);
    let last = get(&b, vec![int(1), int(1)]);
    b.output("last", last);
    let (i, k) = (b.idx("i"), b.idx("k"));
    let value = get(&b, vec![int(0), add(b.get(i), b.get(k))]);
    let sum = reduce(ReduceOp::Sum, vec![binder(k, int(0), int(2))], vec![], value);
    b.output("y", define(tensor("y", 1, vec![clause(vec![over(i, 0, 2)], sum)])));
    let error = b.error();
    check_error(
        &error,
        Code::E0801,
        &["index 2 is out of bounds for `m`: axis 1 has extent 2", "in `y` at i = 1, k = 1"],
    );
}

#[test]
fn overflow_names_the_definition_and_the_point() {
    let mut b = Build::new();
    let i = b.idx("i");
    let value = mul(b.get(i), int(1 << 30));
    let it = define(tensor("big", 1, vec![clause(vec![over(i, 0, 4)], value)]));
    let error = error_of(b, it);
    let message = "integer overflow in `big` at i = 2: 2 * 1073741824 in `i32`";
    check_error(&error, Code::E0802, &[message]);
}
