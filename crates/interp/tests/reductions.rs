//! Reductions: identities, exactness, NaN, addresses.

mod support;

use ein_base::Code;
use ein_ir::tensor::*;
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use support::*;

/// `op[k in 0..n](values[k]) where values[k] != skipped`.
fn over_values(op: ReduceOp, values: Expr, skipped: Option<Expr>) -> (Build, Expr) {
    let mut b = Build::new();
    let (k, v) = (b.idx("k"), b.local("v", values.ty.clone()));
    let count = match &*values.kind {
        ExprKind::Array(items) => items.len() as i32,
        _ => 0,
    };
    let element = index(b.get(v), vec![b.get(k)]);
    let items = match skipped {
        Some(skipped) => vec![Item::Guard(binary(BinaryOp::Ne, element.clone(), skipped))],
        None => Vec::new(),
    };
    let value = reduce(op, vec![binder(k, int(0), int(count))], items, element);
    let ty = value.ty.clone();
    let bound = Stmt { kind: StmtKind::Let(v, values), span: span() };
    (b, expr(ExprKind::Block { stmts: vec![bound], value }, ty))
}

fn reduced(op: ReduceOp, values: Expr) -> String {
    let (b, it) = over_values(op, values, None);
    value_of(b, it)
}

fn failed(op: ReduceOp, values: Expr) -> Code {
    let (b, it) = over_values(op, values, None);
    error_of(b, it).code
}

fn nothing(ty: Type) -> Expr {
    expr(ExprKind::Array(Vec::new()), array(ty, &[0]))
}

#[test]
fn integers_are_exact() {
    let big = i32::MAX;
    assert_eq!(reduced(ReduceOp::Sum, ints(&[big, big, -big, -5])), (big - 5).to_string());
    assert_eq!(failed(ReduceOp::Sum, ints(&[big, 1])), Code::E0802);
    assert_eq!(reduced(ReduceOp::Prod, ints(&[big, big, 0])), "0");
    assert_eq!(failed(ReduceOp::Prod, ints(&[big, 2])), Code::E0802);
    assert_eq!(reduced(ReduceOp::Sum, nothing(Type::I32)), "0");
    assert_eq!(reduced(ReduceOp::Prod, nothing(Type::I32)), "1");
}

#[test]
fn floats_accumulate_wider() {
    assert_eq!(reduced(ReduceOp::Sum, floats(&[1e8, 1.0, -1e8])), "1.0");
    assert_eq!(reduced(ReduceOp::Prod, floats(&[1e30, 1e30, 1e-30])), "1e+30");
    assert_eq!(reduced(ReduceOp::Mean, floats(&[1.0, 2.0, 4.5])), "2.5");
    assert_eq!(failed(ReduceOp::Mean, nothing(Type::F32)), Code::E0807);
}

#[test]
fn a_mean_counts_what_was_not_skipped() {
    let (b, it) = over_values(ReduceOp::Mean, floats(&[1.0, 9.0, 3.0]), Some(float(9.0)));
    assert_eq!(value_of(b, it), "2.0");
}

#[test]
fn extremes() {
    assert_eq!(reduced(ReduceOp::Max, ints(&[3, 7, 7, 1])), "7");
    assert_eq!(reduced(ReduceOp::Min, ints(&[3, 7, 1, 1])), "1");
    assert_eq!(reduced(ReduceOp::Argmax, ints(&[3, 7, 7, 1])), "1");
    assert_eq!(reduced(ReduceOp::Argmin, ints(&[3, 1, 7, 1])), "1");
    assert_eq!(reduced(ReduceOp::Max, floats(&[1.0, f32::NAN, 2.0])), "nan");
    assert_eq!(reduced(ReduceOp::Argmax, floats(&[1.0, f32::NAN, 2.0, f32::NAN])), "1");
    assert_eq!(reduced(ReduceOp::Argmin, floats(&[f32::NAN, -1.0])), "0");
    assert_eq!(reduced(ReduceOp::Max, nothing(Type::F32)), "-inf");
    assert_eq!(reduced(ReduceOp::Min, nothing(Type::F32)), "inf");
    for op in [ReduceOp::Max, ReduceOp::Min, ReduceOp::Argmax, ReduceOp::Argmin] {
        assert_eq!(failed(op, nothing(Type::I32)), Code::E0807);
    }
}

#[test]
fn truths() {
    let truths = |values: &[bool]| literal(values.iter().map(|value| truth(*value)).collect());
    assert_eq!(reduced(ReduceOp::Any, truths(&[false, true, false])), "true");
    assert_eq!(reduced(ReduceOp::All, truths(&[true, false])), "false");
    assert_eq!(reduced(ReduceOp::Any, nothing(Type::BOOL)), "false");
    assert_eq!(reduced(ReduceOp::All, nothing(Type::BOOL)), "true");
    assert_eq!(reduced(ReduceOp::Count, truths(&[true, false, true])), "2");
}

#[test]
fn every_type_sums() {
    for ty in ScalarType::ALL.into_iter().filter(|ty| ty.is_numeric()) {
        let ones = literal(vec![constant(Scalar::one(ty)), constant(Scalar::one(ty))]);
        let expected = if ty.is_int() { "2" } else { "2.0" };
        assert_eq!(reduced(ReduceOp::Sum, ones), expected, "{ty}");
    }
}

#[test]
fn domains_may_depend_on_earlier_indices() {
    // sum[i in 0..4, j in 0..i](10 * i + j), and the position of its greatest element.
    for (op, expected) in [(ReduceOp::Sum, "144"), (ReduceOp::Argmax, "5")] {
        let mut b = Build::new();
        let (i, j) = (b.idx("i"), b.idx("j"));
        let value = add(mul(int(10), b.get(i)), b.get(j));
        let binders = vec![binder(i, int(0), int(4)), binder(j, int(0), b.get(i))];
        let it = reduce(op, binders, vec![], value);
        assert_eq!(value_of(b, it), expected);
    }
}

/// `out[cells[k]] += values[k]` where `values[k] != 0.5`, into three cells.
fn scattered(cells: &[i32], values: &[f32]) -> (Build, Expr) {
    let mut b = Build::new();
    let k = b.idx("k");
    let at = index(ints(cells), vec![b.get(k)]);
    let value = index(floats(values), vec![b.get(k)]);
    let guard = Item::Guard(binary(BinaryOp::Ne, value.clone(), float(0.5)));
    let scatter = Scatter {
        shape: vec![ein_ir::size::Expr::constant(3)],
        binders: vec![binder(k, int(0), int(cells.len() as i32))],
        items: vec![guard],
        indices: vec![IndexArg { value: at, bounds: Bounds::Checked }],
        value,
    };
    (b, expr(ExprKind::Scatter(Box::new(scatter)), array(Type::F32, &[3])))
}

#[test]
fn scatters_add_in_order() {
    let check = |cells: &[i32], values: &[f32], expected: &str| {
        let (b, it) = scattered(cells, values);
        assert_eq!(value_of(b, it), expected);
    };
    check(&[2, 0, 2, 0], &[1.0, 2.0, 4.0, 0.5], "[2.0, 0.0, 5.0]");
    // In the element type, one after another: the small one is lost before the large ones cancel.
    check(&[1, 1, 1], &[1e8, 1.0, -1e8], "[0.0, 0.0, 0.0]");
    check(&[1, 1, 1], &[1e8, -1e8, 1.0], "[0.0, 1.0, 0.0]");
    let (b, it) = scattered(&[0, 3], &[1.0, 2.0]);
    assert_eq!(error_of(b, it).code, Code::E0801);
}
