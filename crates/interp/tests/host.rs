//! What the run-time library does: texts, arrays, assertions, inputs, files.

mod support;

use std::path::PathBuf;

use ein_base::{Code, Symbol};
use ein_ir::size;
use ein_ir::tensor::*;
use ein_runtime::Memory;
use ein_scalar::Spec;
use support::*;

fn it(value: Expr) -> String {
    value_of(Build::new(), value)
}

fn failed(value: Expr) -> ein_base::Diagnostic {
    error_of(Build::new(), value)
}

#[test]
fn printing() {
    let mut b = Build::new();
    let pair = tuple(vec![int(1), text("x")]);
    let args = vec![int(5), float(0.1), text("plain"), pair, texts(&["a", "b\"c"])];
    b.run_expr(host(HostOp::Print, args, Type::Unit));
    let program = b.finish();
    let (_, lines) = execute(&program, &options());
    assert_eq!(lines, ["5 0.1 plain (1, \"x\") [\"a\", \"b\\\"c\"]"]);
}

#[test]
fn assertions() {
    assert_eq!(it(host(HostOp::Assert, vec![truth(true)], Type::Unit)), "()");
    let error = failed(host(HostOp::Assert, vec![truth(false), text("so sad")], Type::Unit));
    check_error(&error, Code::E0806, &["assertion failed: so sad"]);
    let some = literal(vec![truth(true), truth(false)]);
    let error = failed(host(HostOp::Assert, vec![some], Type::Unit));
    check_error(&error, Code::E0806, &["assertion failed", "it does not hold at [1]"]);
}

#[test]
fn texts_are_made_and_compared() {
    let spec = Spec { precision: Some(2), kind: Some('f'), ..Spec::default() };
    let format = HostOp::Format(vec![None, Some(spec)]);
    assert_eq!(it(host(format.clone(), vec![text("x = "), float(1.5)], Type::Str)), "x = 1.50");
    let values = vec![text("x = "), floats(&[1.0, 2.25])];
    assert_eq!(it(host(format.clone(), values, Type::Str)), "x = [1.00, 2.25]");
    assert_eq!(failed(host(format, vec![text("x = "), text("y")], Type::Str)).code, Code::E0809);

    assert_eq!(it(host(HostOp::Len, vec![text("größe")], Type::I32)), "5");
    assert_eq!(it(host(HostOp::CharAt, vec![text("größe"), int(2)], Type::Str)), "ö");
    assert_eq!(it(host(HostOp::CharAt, vec![text("größe"), int(4)], Type::Str)), "e");
    let error = failed(host(HostOp::CharAt, vec![text("abc"), int(3)], Type::Str));
    check_error(&error, Code::E0801, &["index 3", "extent 3"]);
    // The checker counts literals from the end; here a position is a position.
    let error = failed(host(HostOp::CharAt, vec![text("abc"), int(-1)], Type::Str));
    check_error(&error, Code::E0801, &["index -1", "extent 3"]);
    assert_eq!(it(host(HostOp::Compare, vec![text("a"), text("b")], Type::I32)), "-1");
    assert_eq!(it(host(HostOp::Concat, vec![text("a"), text("b")], Type::Str)), "ab");
    assert_eq!(it(host(HostOp::Repeat, vec![text("ab"), int(3)], Type::Str)), "ababab");
    assert_eq!(
        failed(host(HostOp::Repeat, vec![text("ab"), int(-1)], Type::Str)).code,
        Code::E0809
    );
}

#[test]
fn membership_and_equality() {
    let contains = |item, container| it(host(HostOp::Contains, vec![item, container], Type::BOOL));
    let range = || expr(ExprKind::Range(int(0), int(3)), Type::Range);
    assert_eq!(contains(text("ell"), text("hello")), "true");
    assert_eq!(contains(int(2), ints(&[1, 2])), "true");
    assert_eq!(contains(int(3), range()), "false");
    assert_eq!(contains(text("b"), texts(&["a", "b"])), "true");
    let equal = |a, b| it(host(HostOp::Equal, vec![a, b], Type::BOOL));
    assert_eq!(equal(tuple(vec![int(1), text("x")]), tuple(vec![int(1), text("x")])), "true");
    assert_eq!(equal(floats(&[0.0]), floats(&[-0.0])), "true");
    assert_eq!(equal(floats(&[f32::NAN]), floats(&[f32::NAN])), "false");
    assert_eq!(equal(ints(&[1]), ints(&[1, 2])), "false");
}

#[test]
fn arrays_are_rearranged() {
    let row = array(Type::I32, &[0]);
    let matrix = || literal(vec![ints(&[1, 2, 3]), ints(&[4, 5, 6])]);
    assert_eq!(it(host(HostOp::ArrayAppend, vec![ints(&[1]), int(2)], row.clone())), "[1, 2]");
    assert_eq!(it(host(HostOp::Iota, vec![int(4)], row.clone())), "[0, 1, 2, 3]");
    assert_eq!(failed(host(HostOp::Iota, vec![int(-4)], row.clone())).code, Code::E0809);
    let shape = array(Type::I32, &[3, 2]);
    let reshaped = host(HostOp::Reshape, vec![matrix(), ints(&[3, 2])], shape.clone());
    assert_eq!(it(reshaped), "[[1, 2],\n [3, 4],\n [5, 6]]");
    let bad = host(HostOp::Reshape, vec![matrix(), ints(&[4, 2])], shape.clone());
    check_error(&failed(bad), Code::E0804, &["[2, 3]", "[4, 2]"]);
    let mask = literal(vec![truth(false), truth(true)]);
    assert_eq!(it(host(HostOp::Compress, vec![matrix(), mask], shape.clone())), "[[4, 5, 6]]");
    let slice = ExprKind::Slice { base: matrix(), axis: 1, lo: Some(int(1)), hi: None };
    assert_eq!(it(expr(slice, shape.clone())), "[[2, 3],\n [5, 6]]");
    let slice = ExprKind::Slice { base: ints(&[1, 2]), axis: 0, lo: None, hi: Some(int(3)) };
    check_error(&failed(expr(slice, row.clone())), Code::E0801, &["0..3", "extent 2"]);
    let permute = ExprKind::Permute { base: matrix(), order: vec![1, 0] };
    assert_eq!(it(expr(permute, shape.clone())), "[[1, 4],\n [2, 5],\n [3, 6]]");
    let gather = |at: &[i32]| ExprKind::Gather {
        base: matrix(),
        axis: 1,
        indices: ints(at),
        name: Some(Symbol::intern("m")),
    };
    assert_eq!(it(expr(gather(&[2, 0]), shape.clone())), "[[3, 1],\n [6, 4]]");
    check_error(&failed(expr(gather(&[3]), shape)), Code::E0801, &["index 3", "`m`", "axis 1"]);
}

#[test]
fn arrays_of_texts_are_rearranged() {
    let words = || texts(&["a", "b", "c"]);
    let row = array(Type::Str, &[3]);
    let slice = ExprKind::Slice { base: words(), axis: 0, lo: Some(int(1)), hi: None };
    assert_eq!(it(expr(slice, row.clone())), "[\"b\", \"c\"]");
    assert_eq!(it(index(words(), vec![int(1)])), "b");
    let matrix = literal(vec![words(), words()]);
    let permute = ExprKind::Permute { base: matrix, order: vec![1, 0] };
    let tall = array(Type::Str, &[3, 2]);
    assert_eq!(it(expr(permute, tall)), "[[\"a\", \"a\"],\n [\"b\", \"b\"],\n [\"c\", \"c\"]]");
    let join = ExprKind::Join { axis: 0, left: words(), right: text("d") };
    assert_eq!(it(expr(join, row)), "[\"a\", \"b\", \"c\", \"d\"]");
}

#[test]
fn joining() {
    let join = |axis, left, right, ty| expr(ExprKind::Join { axis, left, right }, ty);
    let row = array(Type::I32, &[3]);
    assert_eq!(it(join(0, int(0), ints(&[1, 2]), row.clone())), "[0, 1, 2]");
    let matrix = || literal(vec![ints(&[1, 2]), ints(&[3, 4])]);
    let wide = array(Type::I32, &[2, 3]);
    assert_eq!(it(join(1, ints(&[8, 9]), matrix(), wide.clone())), "[[8, 1, 2],\n [9, 3, 4]]");
    let tall = array(Type::I32, &[3, 2]);
    assert_eq!(it(join(0, matrix(), ints(&[5, 6]), tall)), "[[1, 2],\n [3, 4],\n [5, 6]]");
    check_error(&failed(join(1, ints(&[1]), matrix(), wide)), Code::E0804, &["[1]", "[2, 2]"]);
}

#[test]
fn boundaries_are_checked() {
    let check = |value: Expr, extents: &[Option<i64>], ty: Type| {
        let extents = extents.iter().map(|n| n.map(size::Expr::constant)).collect();
        expr(ExprKind::Assert { value, extents, what: "`x`".to_owned() }, ty)
    };
    let ty = array(Type::F32, &[2]);
    assert_eq!(it(check(ints(&[1, 2]), &[Some(2)], ty.clone())), "[1.0, 2.0]");
    let error = failed(check(ints(&[1, 2, 3]), &[Some(2)], ty.clone()));
    check_error(&error, Code::E0804, &["`x` has shape [3], not [2]"]);
    let error = failed(check(literal(vec![ints(&[1])]), &[None], ty));
    check_error(&error, Code::E0804, &["`x` has shape [1, 1], not 1 axes"]);
}

#[test]
fn conversions() {
    let jagged =
        |rows: Vec<Expr>| expr(ExprKind::Array(rows), Type::Jagged(Box::new(Type::I32), 2));
    let rows = jagged(vec![ints(&[1, 2]), ints(&[3, 4])]);
    let matrix = host(HostOp::Convert, vec![rows], array(Type::F32, &[2, 2]));
    assert_eq!(it(matrix), "[[1.0, 2.0],\n [3.0, 4.0]]");
    let rows = jagged(vec![ints(&[1, 2]), ints(&[3])]);
    assert_eq!(
        failed(host(HostOp::Convert, vec![rows], array(Type::I32, &[2, 2]))).code,
        Code::E0804
    );
    let rows = jagged(vec![ints(&[1, 2]), ints(&[3])]);
    assert_eq!(it(host(HostOp::ElementAt, vec![rows, int(1)], array(Type::I32, &[1]))), "[3]");
}

#[test]
fn inputs_are_held_to_their_type() {
    let input = |name, ty| host(HostOp::Input(Symbol::intern(name)), vec![], ty);
    assert_eq!(it(input("three", Type::I32)), "3");
    assert_eq!(it(input("grid", array(Type::F32, &[2, 2]))), "[[1.0, 2.0],\n [3.0, 4.0]]");
    assert_eq!(failed(input("three", Type::F32)).code, Code::E0904);
    assert_eq!(failed(input("grid", array(Type::F32, &[2, 3]))).code, Code::E0905);
    assert_eq!(failed(input("grid", array(Type::F32, &[4]))).code, Code::E0905);
    assert_eq!(failed(input("other", Type::F32)).code, Code::E0901);
}

/// A directory of its own for a test.
fn directory(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("ein-interp-{}-{name}", std::process::id()));
    std::fs::create_dir_all(path.join("own")).expect("a directory");
    std::fs::create_dir_all(path.join("out")).expect("a directory");
    path
}

fn io(op: IoOp, args: Vec<Expr>, ty: Type) -> Expr {
    host(HostOp::Io(op), args, ty)
}

fn run_io(dir: &std::path::Path, statements: Vec<Expr>) -> String {
    let mut b = Build::new();
    for (at, statement) in statements.into_iter().enumerate() {
        b.output(&format!("s{at}"), statement);
    }
    let program = b.finish();
    let mut options = ein_interp::Options::new(Memory::unlimited());
    options.script_dir = dir.join("own");
    options.allow_write = vec![dir.join("out")];
    let (outcome, _) = execute(&program, &options);
    shown(&program, &outcome)
}

#[test]
fn files_are_read_and_written_where_allowed() {
    let dir = directory("files");
    std::fs::write(dir.join("own/in.txt"), "hello").expect("a file");
    let out = dir.join("out").display().to_string();
    let there = |name: &str| text(&format!("{out}/{name}"));
    let statements = vec![
        io(IoOp::ReadFile, vec![text("in.txt")], Type::Str),
        io(IoOp::FileSize, vec![text("in.txt")], Type::I32),
        io(IoOp::ListDir, vec![text(".")], array(Type::Str, &[1])),
        io(IoOp::FileExists, vec![text("none")], Type::BOOL),
        io(IoOp::WriteFile, vec![there("a.txt"), text("one ")], Type::BOOL),
        io(IoOp::AppendFile, vec![there("a.txt"), text("two")], Type::BOOL),
        io(IoOp::SaveNpy, vec![there("x.npy"), floats(&[1.0, 2.0])], Type::BOOL),
        io(IoOp::CopyFile, vec![text("in.txt"), there("b.txt")], Type::BOOL),
    ];
    assert_eq!(
        run_io(&dir, statements),
        "s0 = hello\ns1 = 5\ns2 = [\"in.txt\"]\ns3 = false\n\
         s4 = true\ns5 = true\ns6 = true\ns7 = true"
    );
    assert_eq!(std::fs::read_to_string(dir.join("out/a.txt")).expect("written"), "one two");
    std::fs::rename(dir.join("out/x.npy"), dir.join("own/x.npy")).expect("moved");
    let loaded = io(IoOp::LoadNpy, vec![text("x.npy")], Type::AnyRank(Box::new(Type::F32)));
    assert_eq!(run_io(&dir, vec![loaded]), "s0 = [1.0, 2.0]");
    assert_eq!(std::fs::read_dir(dir.join("out")).expect("a directory").count(), 2);
    std::fs::remove_dir_all(dir).expect("removed");
}

#[test]
fn files_elsewhere_are_refused() {
    let dir = directory("refused");
    std::fs::write(dir.join("secret"), "x").expect("a file");
    std::os::unix::fs::symlink(dir.join("secret"), dir.join("own/link")).expect("a link");
    for path in ["../secret", "/etc/hostname", "link", "none/../../secret", "../own/../secret"] {
        let read = run_io(&dir, vec![io(IoOp::ReadFile, vec![text(path)], Type::Str)]);
        assert!(read.starts_with("E0906"), "{path}: {read}");
    }
    let out = dir.join("out").display().to_string();
    for path in ["a.txt", "../a.txt", &format!("{out}/../a.txt"), &format!("{out}/n/../../a.txt")] {
        let write = io(IoOp::WriteFile, vec![text(path), text("")], Type::BOOL);
        let written = run_io(&dir, vec![write]);
        assert!(written.starts_with("E0906"), "{path}: {written}");
    }
    let missing = run_io(&dir, vec![io(IoOp::ReadFile, vec![text("none")], Type::Str)]);
    assert!(missing.starts_with("E0902"), "{missing}");
    std::fs::remove_dir_all(dir).expect("removed");
}
