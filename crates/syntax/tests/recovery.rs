//! One mistake gives one diagnostic, and never hides the next one.

use ein_base::{FileId, Idx};
use ein_syntax::{dump, parse};

/// Checks that a text gives exactly these diagnostics, as (code, line), in this order.
#[track_caller]
fn check(source: &str, expected: &[(&str, usize)]) {
    let parsed = parse(FileId::from_usize(0), source);
    let line = |lo: u32| source[..lo as usize].matches('\n').count() + 1;
    let found: Vec<(&str, usize)> =
        parsed.diagnostics.iter().map(|d| (d.code.as_str(), line(d.primary.span.lo()))).collect();
    assert_eq!(found, expected, "\n{source}\n{:#?}", parsed.diagnostics);
    for diagnostic in &parsed.diagnostics {
        assert!(
            !diagnostic.message.is_empty() && !diagnostic.primary.text.is_empty(),
            "{diagnostic:?}"
        );
        for help in &diagnostic.helps {
            if let Some((span, _)) = &help.edit {
                assert!(source.get(span.lo() as usize..span.hi() as usize).is_some(), "{help:?}");
            }
        }
    }
}

/// Checks that the first help that is an edit makes the program correct.
#[track_caller]
fn check_fix(source: &str, fixed: &str) {
    let parsed = parse(FileId::from_usize(0), source);
    let edits =
        parsed.diagnostics.iter().flat_map(|d| &d.helps).filter_map(|help| help.edit.as_ref());
    let fixes: Vec<String> = edits
        .map(|(span, text)| {
            format!("{}{text}{}", &source[..span.lo() as usize], &source[span.hi() as usize..])
        })
        .collect();
    assert!(fixes.iter().any(|fix| fix == fixed), "{fixes:#?}");
    assert!(parse(FileId::from_usize(0), fixed).diagnostics.is_empty(), "{fixed}");
}

#[test]
fn operands_are_missing() {
    check(
        "let a = 1 + ;\nlet b = 2;\nlet c = * 3;\nlet d = b + 1;\n",
        &[("E0101", 1), ("E0101", 3)],
    );
    check("fn f(x: f32) -> f32 {\n    x - / 2.0\n}\nlet ok = 3.0;\n", &[("E0101", 2)]);
    check("let b = ;\nlet c = b;", &[("E0101", 1)]);
    check("let k: [i32; || ?, 3] = 1;\nlet c = k;", &[("E0101", 1)]);
    check("let x = f(1, , 2);\nlet y = ;", &[("E0101", 1), ("E0101", 2)]);
    check(
        "let x = a && ;\nlet y = a |> ;\nlet z = try ;\nlet w = -;",
        &[("E0101", 1), ("E0101", 2), ("E0101", 3), ("E0101", 4)],
    );
    check("let p = P { x: 1 + , y: 2 };\nlet q = ;", &[("E0101", 1), ("E0101", 2)]);
    check("let r = 0..=;\nlet s = 1..2..3;", &[("E0101", 1), ("E0101", 2)]);
}

#[test]
fn brackets_are_not_closed() {
    check(
        "fn grow(x: f32) -> f32 {\n    let y = (x + 1.0;\n    y\n}\nlet ok = 3.0;\n",
        &[("E0104", 2)],
    );
    check(
        "let a = f(1, 2;\nlet b = [1, 2;\nlet c = x[0;\nlet d = ;",
        &[("E0104", 1), ("E0104", 2), ("E0104", 3), ("E0101", 4)],
    );
    check("let a = (1 + 2\nlet b = 3;\n", &[("E0104", 1)]);
    check("let v: [f32; 3 = [1.0];\nlet w = ;", &[("E0104", 1), ("E0101", 2)]);
    check("let A[i, j = 3;\nlet w = ;", &[("E0104", 1), ("E0101", 2)]);
    check(
        "fn f(x: f32 -> f32 {\n    x + \n}\nlet w = ;",
        &[("E0104", 1), ("E0101", 3), ("E0101", 4)],
    );
    check("fn f(x: f32) -> f32 {\n    x\n\nlet w = 1;", &[("E0104", 1)]);
    check("let p = P { x: 1.0, y: 2.0;\nlet q = 3;\nlet r = ;", &[("E0104", 1), ("E0101", 3)]);
    check("let x = \"a {b\";\nlet y = ;", &[("E0104", 1), ("E0101", 2)]);
    check("struct S { x: f32\nlet y = 2;\nlet z = ;", &[("E0104", 1), ("E0101", 3)]);
    check("let m = match n { 0 => 1,\nlet z = ;", &[("E0104", 1), ("E0101", 2)]);
    check("if c {\n    a;\n", &[("E0104", 1)]);
}

#[test]
fn brackets_close_nothing() {
    check("let a = 1;\n}\nlet b = ;\nlet c = a;\n", &[("E0105", 2), ("E0101", 3)]);
    check("let y = x[0] + ];\nlet z = 1;", &[("E0105", 1)]);
    check("let y = f(1));\nlet z = ;", &[("E0105", 1), ("E0101", 2)]);
    check(");\nlet z = ;", &[("E0105", 1), ("E0101", 2)]);
    check("let a = 1 + };\nlet z = 2;", &[("E0105", 1)]);
    check("fn f() { 1 } }\nlet z = ;", &[("E0105", 1), ("E0101", 2)]);
    check("let s = \"a } b\";", &[("E0105", 1)]);
}

#[test]
fn words_of_other_languages() {
    check(
        "let total = 0;\nfor i in 0..3 { total; }\nlet mut y = 1;\nvar z = 2;\nwhile true { }\nlet w = y + z;",
        &[("E0106", 2), ("E0106", 3), ("E0106", 4), ("E0106", 5)],
    );
    check(
        "fn f(x) { return x + 1; }\nfn g(x) {\n    if x { return 1; }\n    2\n}\nloop { }",
        &[("E0106", 1), ("E0106", 3), ("E0106", 6)],
    );
    check("let a = for i in 0..3 { i };\nlet b = ;", &[("E0106", 1), ("E0101", 2)]);
    check(
        "fn f(var: f32) -> f32 { var + 1.0 }\nlet loop = 3;\nlet x = loop + 1;",
        &[("E0106", 1), ("E0106", 2)],
    );
    check("for (a, b) in pairs { print(a); }\nmut q = 3;", &[("E0106", 1), ("E0106", 2)]);
    let parsed = parse(FileId::from_usize(0), "fn f(x) { return x; }");
    assert!(dump(&parsed.ast).contains("(tail"), "the value of `return` is the value of the block");
    let parsed = parse(FileId::from_usize(0), "let mut y = 1;\nvar z = 2;");
    assert!(dump(&parsed.ast).contains("bind y") && dump(&parsed.ast).contains("bind z"));
}

#[test]
fn keywords_as_names() {
    check(
        "let match = 3;\nlet a = 4;\nfn if(x: i32) -> i32 { x }\nlet b = a + 1;\n",
        &[("E0107", 1), ("E0107", 3)],
    );
    check("let match = 3;\nlet a = match + 1;\nlet b = f(match);\n", &[("E0107", 1)]);
    check("fn f(let: i32) -> i32 { let + 1 }\nlet x = ;", &[("E0107", 1), ("E0101", 2)]);
    check(
        "struct fn { x: f32 }\nenum E { else, B }\nlet y = p.if;",
        &[("E0107", 1), ("E0107", 2), ("E0107", 3)],
    );
    check("let a = struct;\nlet b = 1;", &[("E0107", 1)]);
    check("let\nlet b = 3;\nfn\nlet c = ;", &[("E0101", 2), ("E0101", 4), ("E0101", 4)]);
}

#[test]
fn literals() {
    check(
        "let a = 0b12;\nlet b = 99999999999999999999;\nlet c = 1foo;\nlet d = 0x;\nlet e = 1.5i32;\nlet f = 1e;",
        &[("E0108", 1), ("E0108", 2), ("E0108", 3), ("E0108", 4), ("E0108", 5), ("E0108", 6)],
    );
    check(
        "let a = .5;\nlet b = 1.;\nlet c = 1. + 2.;",
        &[("E0108", 1), ("E0108", 2), ("E0108", 3), ("E0108", 3)],
    );
    check(
        "let a = \"\\q\";\nlet b = \"\\u{110000}\";\nlet c = \"\\u12\";\nlet d = \"\\{x\\}\";",
        &[("E0109", 1), ("E0109", 2), ("E0109", 3), ("E0109", 4), ("E0109", 4)],
    );
    check(
        "let a = \"{x:.f}\";\nlet b = \"{x:q}\";\nlet c = \"{x:}\";\nlet d = \"{x:5.2fz}\";\nlet e = \"{x:999999}\";",
        &[("E0114", 1), ("E0114", 2), ("E0114", 3), ("E0114", 4), ("E0114", 5)],
    );
    check(
        "let a = \"{}\";\nlet b = \"{1 + }\";\nlet c = \"{x y}\";\nlet d = ;",
        &[("E0101", 1), ("E0101", 2), ("E0101", 3), ("E0101", 4)],
    );
}

#[test]
fn strings_that_are_not_closed() {
    check("let s = \"abc;\nlet b = ;", &[("E0102", 1), ("E0101", 2)]);
    check("print(\"abc);\nlet b = ;", &[("E0102", 1), ("E0101", 2)]);
    check("let s = \"abc\nlet b = ;", &[("E0102", 1), ("E0101", 2)]);
    check("let xs = [\"abc,\n  \"def\"];\nlet b = ;", &[("E0102", 1), ("E0101", 3)]);
    check("let s = \"abc; // remark\nlet b = 1;", &[("E0102", 1)]);
    check("let s = \"", &[("E0102", 1)]);
    check("fn f() {\n    print(\"x {y);\n    let b = ;\n}", &[("E0102", 2), ("E0101", 3)]);
    check("let s = 'abc';\nlet t = “abc”;\nlet b = ;", &[("E0110", 1), ("E0110", 2), ("E0101", 3)]);
}

#[test]
fn comments_that_are_not_closed() {
    check("let a = 1;\n/* open\nlet b = ;", &[("E0103", 2)]);
    check("let a = /* open", &[("E0103", 1)]);
    check("fn f() { /* a /* b */", &[("E0103", 1)]);
}

#[test]
fn characters_that_mean_nothing() {
    check("let a = 3 $ 4;\nlet b = ;", &[("E0110", 1), ("E0101", 2)]);
    check("let a = 1;\0\nlet b = 2;", &[("E0110", 1)]);
    check(
        "let a\u{a0}= 1;\nlet b = a & a;\nlet c = a ^ 2;",
        &[("E0110", 1), ("E0110", 2), ("E0110", 3)],
    );
    check("let a = 😀;\nlet b = ;", &[("E0110", 1), ("E0101", 2)]);
}

#[test]
fn operators_that_readers_disagree_on() {
    check(
        "fn inside(x: f32) -> bool {\n    0.0 < x < 1.0\n}\nlet same = 1 <= n <= 5;\n",
        &[("E0111", 2), ("E0111", 4)],
    );
    check(
        "let a = x == y == z;\nlet b = a < b < c < d;\nlet c = (a < b) < c;",
        &[("E0111", 1), ("E0111", 2)],
    );
    check(
        "let a = -2 ** 2;\nlet b = -x ** 2;\nlet c = (-x) ** 2;\nlet d = 2.0 ** -1;\nlet e = 2 ** -x ** 2;",
        &[("E0112", 1), ("E0112", 2), ("E0112", 5)],
    );
    check_fix("let a = 0.0 < x < f(1);", "let a = 0.0 < x && x < f(1);");
    check_fix("let a = -x ** 2;", "let a = (-x) ** 2;");
    check_fix("let a = -x ** 2;", "let a = -(x ** 2);");
}

#[test]
fn definitions() {
    check("let h[0] = 1;\nlet h[1..4] = h[0];\nlet x = ;", &[("E0113", 2), ("E0101", 3)]);
    check("let h[..=2, j] = 1;", &[("E0113", 1)]);
    check("let h[i]: f32 = 1;\nlet b = ;", &[("E0101", 1), ("E0101", 2)]);
    check(
        "let x;\nlet y: f32;\nlet 3 = x;\nlet z = ;",
        &[("E0101", 1), ("E0101", 2), ("E0101", 3), ("E0101", 4)],
    );
}

#[test]
fn types_and_arms() {
    check(
        "let v: [f32 3] = [1.0, 2.0, 3.0];\nfn pick(n: i32) -> i32 {\n    match n {\n        0 10,\n        _ => 20,\n    }\n}\nlet w = 5;\n",
        &[("E0101", 1), ("E0101", 4)],
    );
    let source = "match n {\n    0 10,\n    1 => ,\n    2 => 3;\n    3 if x => 4,\n    4 => 5\n    => 6,\n    _ => 7,\n}\nlet z = ;";
    check(
        source,
        &[
            ("E0101", 2),
            ("E0101", 3),
            ("E0101", 4),
            ("E0101", 5),
            ("E0101", 6),
            ("E0101", 7),
            ("E0101", 10),
        ],
    );
    check(
        "fn f(a: , b: [f32, 2], c: f32) -> { a }\nlet z = ;",
        &[("E0101", 1), ("E0101", 1), ("E0101", 1), ("E0101", 2)],
    );
    check(
        "struct S { x f32, y: , z: f32 }\nenum E { A(, B }\nlet z = ;",
        &[("E0101", 1), ("E0101", 1), ("E0101", 2), ("E0101", 3)],
    );
    let parsed = parse(FileId::from_usize(0), "let v: [f32 3] = [1.0];\nfn f(a: , b: i32) { a }");
    let tree = dump(&parsed.ast);
    assert!(
        tree.contains("bind v") && tree.contains("bind a") && tree.contains("bind b"),
        "{tree}"
    );
    assert!(tree.contains("float 1.0"), "the value after a broken type is kept\n{tree}");
}

#[test]
fn statements_without_their_end() {
    check(
        "let a = 1\nlet b = 2;\nprint(a)\nprint(b);\nlet c = 3",
        &[("E0101", 1), ("E0101", 3), ("E0101", 5)],
    );
    check(
        "fn f() { let a = 1 }\nlet x = 3 4;\nlet z = ;",
        &[("E0101", 1), ("E0101", 2), ("E0101", 3)],
    );
    check(
        "x = 5;\nA[i, j] = 3;\nlet y = x + A[0, 0];\ny += 1;",
        &[("E0101", 1), ("E0101", 2), ("E0101", 4)],
    );
    check(
        "pub let x = 3;\nlet y = x ? 1 : 2;\nuse a.b;\nlet f = fn(x) { x };",
        &[("E0101", 1), ("E0101", 2), ("E0101", 3), ("E0101", 4)],
    );
    check_fix("let a = 1\nlet b = 2;", "let a = 1;\nlet b = 2;");
    check_fix("x = 5;", "let x = 5;");
    check_fix("let v: [f32 3] = y;", "let v: [f32; 3] = y;");
    check_fix("let y = (x + 1.0;", "let y = (x + 1.0);");
    let parsed = parse(FileId::from_usize(0), "A[i, j] = 3;");
    assert!(dump(&parsed.ast).contains("clause A"));
}

#[test]
fn ten_mistakes_give_ten_diagnostics() {
    let source = "let a = ;\nlet b = (1;\nfn f(x: ) { x }\nlet c = 1 < 2 < 3;\nlet d = -x ** 2;\nlet e = \"abc;\n\
                  let f = 3 $ 4;\nlet h[0..3] = 0;\nlet match = 1;\nfor i in x { }\nlet ok = 1;\n";
    check(
        source,
        &[
            ("E0101", 1),
            ("E0104", 2),
            ("E0101", 3),
            ("E0111", 4),
            ("E0112", 5),
            ("E0102", 6),
            ("E0110", 7),
            ("E0113", 8),
            ("E0107", 9),
            ("E0106", 10),
        ],
    );
}

#[test]
fn names_of_broken_statements_stay_bound() {
    let source = "let a = ;\nlet b: [f32 = 3;\nconst N = ;\nfn f(x) -> ] { x }\nlet t[i] = ;\nlet (p, q) = 1 +;\n";
    let tree = dump(&parse(FileId::from_usize(0), source).ast);
    for name in ["bind a", "bind b", "const N", "fn f", "clause t", "bind p", "bind q"] {
        assert!(tree.contains(name), "{name}\n{tree}");
    }
}
