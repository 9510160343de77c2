//! Names of values, functions and types: what they mean, and what is said when they mean nothing.

use crate::support::{check, check_all, check_tree, run};

#[test]
fn unknown_names_are_reported_with_the_nearest() {
    check_all(&[
        (
            "let temperature = 21.5;\nlet d = temperture * 2.0;\nlet e = d;",
            &["2 E0201 | `temperture` | did you mean `temperature`?"],
        ),
        (
            "fn rescale(x) { x }\nlet rescale_by = 3;\nlet b = resacle(2.0);",
            &["3 E0201 | `rescale`?"],
        ),
        ("let a = b;", &["1 E0201 unknown name `b`"]),
        ("let x = zzz(1) + zzz(2);", &["1 E0201", "1 E0201"]),
        ("let x = pritn;\nprnt(1);", &["1 E0201", "2 E0201 | `print`"]),
        ("fn f(width: f32) -> f32 { widht * 2.0 }", &["1 E0201 | `width`"]),
        ("let Value = 1;\nlet b = value;", &["2 E0201 | `Value`"]),
    ]);
}

#[test]
fn an_error_is_reported_once() {
    check("let a = nowhere + 1;\nlet b = a * 2;\nlet c[i] = b[i] + a;", &["1 E0201"]);
    check("let p = nowhere(q = lost);", &["1 E0201 unknown function", "1 E0201 unknown name"]);
}

#[test]
fn far_names_are_not_suggested() {
    for program in
        ["let ab = 1;\nlet x = cd;", "let i = 1;\nlet x = j;", "let count1 = 1;\nlet x = quantity;"]
    {
        let (_, resolved) = run(program);
        // A suggestion replaces something; other help does not.
        assert!(resolved.diagnostics[0].helps.iter().all(|help| help.edit.is_none()), "{program}");
    }
}

#[test]
fn locals_follow_source_order() {
    check_all(&[
        (
            "let a = b + 1;\nlet b = 2;\nlet c = later(b);\nfn later(n: i32) -> i32 { n * LIMIT }\nconst LIMIT: i32 = 10;",
            &["1 E0202 `b` | 2: bound only here"],
        ),
        ("fn f() { let a = b; let b = 1; a + b }", &["1 E0202 `b`"]),
        (
            "fn f() { later + 1 }\nlet later = 2;",
            &["1 E0202 `later` | 2: bound here | a function sees the bindings above it"],
        ),
        ("let x = x + 1;", &["1 E0202 `x` | own definition"]),
        ("let y[i] = z[i];\nlet z = [1];", &["1 E0202 `z`"]),
    ]);
}

#[test]
fn functions_see_what_is_above_them() {
    check_tree(
        "let k = 1;\nfn f() { k }\nlet k = 2;\nfn g() { k + f() }\nlet a = g();",
        &["let k = 1", "let k'2 = 2", "fn f() { k }", "fn g() { (k'2 + fn:f()) }"],
    );
    check_all(&[
        (
            "let a = f();\nlet g = 1;\nfn f() { g }",
            &["1 E0202 | `f` | before `g` | 2: `g` is bound here"],
        ),
        (
            "let g = 0;\nlet a = outer;\nlet t[0] = 1;\nlet t[n in 1..3] = t[n - 1];\nfn inner() { t[2] }\nfn outer() { inner() + g }",
            &["2 E0202 | `outer` | before `t`"],
        ),
        ("let g = 1;\nlet a = f();\nfn f() { if g > 0 { f() } else { h() } }\nfn h() { f() }", &[]),
    ]);
}

#[test]
fn nested_functions_capture_and_constants_do_not() {
    check_all(&[
        (
            "let top = 1;\nfn f(x: i32) -> i32 {\n    let y = 2;\n    fn g(z: i32) -> i32 { z + y + top }\n    g(x)\n}",
            &[],
        ),
        ("fn f(x) { fn g() { h() + 1 } fn h() { 2 } g() + x }", &[]),
        ("let x = 1;\nconst C: i32 = x + 1;", &["2 E0212 `x` | const x"]),
        ("const C: i32 = x + 1;\nlet x = 1;", &["1 E0212 `x`"]),
    ]);
}

#[test]
fn closures_capture() {
    check_tree(
        "let top = 1;\nfn f(a, b) { |x| |y| x + y + a + top + a }\n\
         let g[i in 0..3] = (|x| x + i)(1);\nlet h = { let t = 2; |x| x * t };",
        &[
            "fn f(a, b) { |x'3|<a> |y|<x'3, a> ((((x'3 + y) + a) + top) + a) }",
            "define g[i in 0..3] = |x|<i> (x + i)(1)",
            "let h = { let t = 2; |x'2|<t> (x'2 * t) }",
        ],
    );
}

#[test]
fn shadowing() {
    check_tree(
        "let x = 1;\nlet x = x + 1;\nlet len = |v| v;\nlet a = len(x);\nlet y = { let x = x; x };\n\
         let s = sum[x in 0..3](x);\nfn sin(x) { x }\nlet b = sin(x);",
        &[
            "let x'2 = (x + 1)",
            "let a = len(x'2)",
            "let y = { let x'3 = x'2; x'3 }",
            "let s = sum[x'4 in 0..3](x'4)",
            "let b = fn:sin(x'2)",
        ],
    );
}

#[test]
fn duplicates() {
    check_all(&[
        ("fn f() { 1 }\nfn f() { 2 }", &["2 E0207 `f` | 1: first defined here"]),
        ("fn f() { 1 }\nconst f: i32 = 2;", &["2 E0207 `f`"]),
        ("fn f(a, b, a) { a + b }", &["1 E0207 `a`"]),
        ("struct S { x: f32, y: f32, x: f32 }", &["1 E0207 `x`"]),
        ("enum E { A, B, A }", &["1 E0207 `A`"]),
        ("let t[i, i] = i;", &["1 E0207 `i`"]),
        ("let (a, a) = (1, 2);", &["1 E0207 `a`"]),
        ("mod m { }\nmod m { }", &["2 E0207 `m`"]),
        ("fn f(x) { x }\n@fn f(x) { @x }\n@fn f(x) { @x }", &["3 E0207 `f` | two tangent rules"]),
        ("@fn missing(x) { @x }", &["1 E0201 there is no function `missing`"]),
        ("fn f<T, T>(x: T) { x }", &["1 E0207 `T`"]),
    ]);
}

#[test]
fn constants_that_depend_on_themselves() {
    check_all(&[
        (
            "const LEFT: i32 = RIGHT + 1;\nconst RIGHT: i32 = LEFT + 1;\nlet a = 3;",
            &["1 E0211 | `LEFT` and `RIGHT`"],
        ),
        ("const A: i32 = A;", &["1 E0211 | `A` depends on itself"]),
        ("const A: i32 = f();\nfn f() { g() }\nfn g() { A }", &["1 E0211 | `A`"]),
        (
            "const A: i32 = B;\nconst B: i32 = C;\nconst C: i32 = A;\nconst D: i32 = E;\nconst E: i32 = D;\nconst F: i32 = A;",
            &["1 E0211 | `A`, `B` and `C`", "4 E0211 | `D` and `E`"],
        ),
        ("fn f(n) { g(n) }\nfn g(n) { f(n) }\nconst N: i32 = f(1);", &[]),
    ]);
}

#[test]
fn unused_bindings() {
    check_all(&[
        (
            "fn area(w, h) {\n    let perimeter = 2.0 * (w + h);\n    w * h\n}",
            &["2 W0101 | `perimeter`"],
        ),
        ("fn f(w) { let _x = w; let (a, _b) = w; a }", &[]),
        ("let a = { let t = 1; 2 };", &["1 W0101 | `t`"]),
        (
            "let a = 1;\nfn g(unused) { let h[0] = 1; let h[i in 1..3] = h[i - 1]; 1 }",
            &["2 W0101 | `h`"],
        ),
        ("fn f(n) { match n { k => 1, _ => 2 } }\nlet s = [1 | x in [1, 2]];", &[]),
        ("fn f() { let value = 1; valeu }", &["1 E0201"]),
    ]);
}

#[test]
fn a_broken_statement_still_binds_its_name() {
    let codes = |program: &str| -> Vec<String> {
        let (_, resolved) = run(program);
        resolved.diagnostics.iter().map(|d| d.code.to_string()).collect()
    };
    for program in
        ["let x = ;\nlet y = x + 1;", "let x = 1 + ;\nlet y = x;", "fn f(x) { x + }\nlet y = f(1);"]
    {
        let codes = codes(program);
        assert!(codes.iter().all(|c| c.starts_with("E01")), "{program}: {codes:?}");
    }
}

#[test]
fn types() {
    check_tree(
        "struct P<T> { x: T, at: [f32; 3] }\nenum E { A, B(f32), C { w: i32 } }\n\
         fn f<T>(p: P<T>, e: E, o: Option<str>) -> (T, (i32) -> bool) { p }\n\
         let p = P { x: 1, at: [1.0] };\nlet e = E::C { w: 2 };\nlet g = E::B;",
        &[
            "struct P { x: T, at: [f32; 3] }",
            "enum E { A(), B(0: f32), C(w: i32) }",
            "let p = P { x: 1, at: [1.0] }",
            "let e = E#2 { w: 2 }",
            "let g = E::B",
        ],
    );
    check_all(&[
        ("let x: f23 = 1.0;", &["1 E0517 | `f23` | `f32`"]),
        ("struct Point { x: f32 }\nfn f(p: Piont) { p }", &["2 E0517 | `Point`"]),
        ("struct Point { x: f32 }\nlet p = Point;", &["2 E0212 | Point {"]),
        ("struct Point { x: f32 }\nlet p = Pont { x: 1.0 };", &["2 E0517 | `Point`"]),
        ("enum E { Aaa }\nlet e = E::Aab;", &["2 E0204 | `Aab` | `Aaa`"]),
        ("fn f() { 1 }\nlet x: f = 1;", &["2 E0517 `f` is not a type"]),
        ("let x: [f32; ? + 1] = [1.0];", &["1 E0101 `?`"]),
    ]);
}

#[test]
fn patterns() {
    check_tree(
        "const LIMIT: i32 = 3;\nenum Shape { Dot, Circle(f32) }\n\
         fn f(n) { match n { LIMIT => 1, None => 2, Some(v) => v, k @ 1..=9 => k, other => other } }\n\
         fn g(s) { match s { Shape::Dot => 0.0, Shape::Circle(r) => r } }\n\
         fn h(p) { match p { (a, 1) | (1, a) => a, [x, ..rest, y] => x + y + len(rest) } }\n\
         let LIMIT = 4;",
        &[
            "fn f(n) { match n { const:LIMIT => 1, Option#0 {  } => 2, Option#1 { 0: v } => v, k @ 1..9 => k, other => other } }",
            "fn g(s) { match s { Shape#0 {  } => 0.0, Shape#1 { 0: r } => r } }",
            "fn h(p) { match p { (a, 1) | (1, a) => a, [x ..rest y] => ((x + y) + Len(rest)) } }",
            "let LIMIT = 4",
        ],
    );
    check_all(&[
        (
            "fn f(p) { match p { (a, 1) | (1, b) => 1, _ => 2 } }",
            &["1 E0201 | `b`", "1 E0201 | `a`"],
        ),
        ("fn f(p) { match p { Nope(a) => a, _ => 2 } }", &["1 E0517 | `Nope`"]),
        ("fn g() { 1 }\nfn f(p) { match p { g(a) => a, _ => 2 } }", &["2 E0212 | `g`"]),
    ]);
}

#[test]
fn main_is_called_unless_the_top_level_does() {
    let main = |program: &str| run(program).1.program.main.is_some();
    assert!(main("fn main() { 1 }"));
    assert!(main("fn main() { main() }\nlet a = 1;"));
    assert!(!main("fn main() { 1 }\nmain();"));
    assert!(!main("let main = 1;"));
}

#[test]
fn rules_belong_to_their_functions() {
    check_tree(
        "let k = 2.0;\nfn f(x, y) { x * y }\n@fn f(x, y) { @x * y * k }\ntest \"f\" { f(1.0, 2.0) }",
        &[
            "fn f(x, y) { (x * y) } @(x'2, y'2) { ((d(x'2) * y'2) * k) }",
            "test f: { fn:f(1.0, 2.0) }",
        ],
    );
}
