//! How operators bind: each text means the same as one with all its parentheses.

use ein_base::{FileId, Idx};
use ein_syntax::{dump, parse};

#[track_caller]
fn tree(source: &str) -> String {
    let parsed = parse(FileId::from_usize(0), source);
    assert!(parsed.diagnostics.is_empty(), "{source}\n{:#?}", parsed.diagnostics);
    dump(&parsed.ast)
}

#[test]
fn operators() {
    for (plain, explicit) in [
        ("a |> f |> g(1)", "((a |> f) |> (g(1)))"),
        ("1 + 2 |> f", "(1 + 2) |> f"),
        ("a || b && c == d", "a || (b && (c == d))"),
        ("a == b < c", "a == (b < c)"),
        ("a < b == c", "(a < b) == c"),
        ("2 + 3 in primes", "(2 + 3) in primes"),
        ("x in 0..n + 1", "x in (0..(n + 1))"),
        ("a - b - c", "(a - b) - c"),
        ("a + b * c ** d ** e", "a + (b * (c ** (d ** e)))"),
        ("-x as i32", "(-x) as i32"),
        ("-x as i32 * 2", "((-x) as i32) * 2"),
        ("a ** b as f32", "a ** (b as f32)"),
        ("2.0 ** -1", "2.0 ** (-1)"),
        ("@y[0] / @x", "(@(y[0])) / (@x)"),
        ("!a.b && c", "(!(a.b)) && c"),
        ("- - x", "-(-x)"),
        ("a ?> f else b", "(a ?> f) else b"),
        ("a ?> f else b |> g", "((a ?> f) else b) |> g"),
        ("(try f(x)) !> g catch |e| -1", "((try (f(x))) !> g) catch |e| (-1)"),
        ("try a + b |> f", "(try (a + b)) |> f"),
        ("|x| x + 1 |> f", "|x| ((x + 1) |> f)"),
        ("|x||y| x", "|x| (|y| x)"),
        ("7 as f32 / 2 as f32", "(7 as f32) / (2 as f32)"),
        ("n as f32 < 3.0", "(n as f32) < 3.0"),
        ("a[1..4][-1] + len(a[2..2])", "((a[1..4])[-1]) + (len(a[2..2]))"),
        ("t.1.1", "((t.1).1)"),
        ("f[c](x)(y)[i]", "(((f[c](x))(y))[i])"),
        ("{ { 5 } + 1 } * 2", "(({ ({ 5 }) + 1 }) * 2)"),
    ] {
        assert_eq!(
            tree(&format!("let v = {plain};")),
            tree(&format!("let v = {explicit};")),
            "{plain}"
        );
    }
}

#[test]
fn words_that_are_names_in_some_places() {
    for source in [
        "let y = sum[in](x[b, in]);",
        "let y = where(c, x, y);",
        "fn linear[in, out](x: [f32; ..b, in], w: [f32; out, in]) -> [f32; ..b, out] { sum[in](x[..b, in] * w[out, in]) }",
        "let z: [f32; batch, in] = x;",
        "fn f(x: [f32; batch: 4, in: 4]) { project[in, out](x, w) }",
        "let in = 3; let as = in as f32; let test = as; let some = test; let mod = some; let catch = mod;",
        "let a = in in in; let b = x where where > 0, in = 2 else as;",
        "let a = std::math::mod(-7, 3); use std::math::mod; use a as as;",
        "let a = [in | in in where, in > 2];",
        "let a = x[in in in, where, ..as];",
        "match x { in where in > 2 => in, where => as, test @ 1..=2 => mod(1), }",
        "test(1); mod(2); some + 1; catch;",
        "let f = |in, where| in + where;",
        "fn some(test: some n. [f32; n]) -> some k. [f32; k] { test }",
    ] {
        tree(source);
    }
}

#[test]
fn forms_that_look_alike() {
    let same = |a: &str, b: &str| assert_eq!(tree(a), tree(b), "{a}");
    let other = |a: &str, b: &str| assert_ne!(tree(a), tree(b), "{a}");
    same("let y = f[(a, b)](x);", "let y = f[(a, b,),](x);");
    other("let y = f[(a, b)](x);", "let y = f[((a, b))](x);");
    other("let y = x[..n];", "let y = x[..(n)];");
    other("let y = x[k in s];", "let y = x[(k in s)];");
    other("let y = a[i](x);", "let y = (a[i])(x);");
    other("let y = (a);", "let y = (a,);");
    other("let y: [f32; n] = x;", "let y: [f32; (n)] = x;");
    other("let y: [f32] = x;", "let y: [f32;] = x;");
    other("fn f() {}", "fn f[]() {}");
    other("fn f() { if a { b } }", "fn f() { if a { b }; }");
    other("let y = [x | x in a, x in b];", "let y = [x | x in a, z in b];");
    same("let y = P { x: x };", "let y = P { x };");
    same("fn f() { if a { b } -1 }", "fn f() { if a { b }; -1 }");
    same("let x: Option<Option<i32>>= y;", "let x : Option < Option < i32 > > = y ;");
    same("let x: Option<[i32]!>= y;", "let x: Option<[i32]! > = y;");
    same("\u{feff}let x = 1;\r\nlet y = 2;\r\n", "let x = 1; let y = 2;");
    same(
        "match a { 0 => { b } (1, 2) => c, 3 => { d } [x] => e }",
        "match a { 0 => { b }, (1, 2) => c, 3 => { d }, [x] => e, }",
    );
    same(
        "if Point { x: 1 }.x > 2 { a }".replace("Point { x: 1 }", "(Point { x: 1 })").as_str(),
        "if ((Point { x: 1 }).x > 2) { a }",
    );
}

#[test]
fn documentation() {
    let tree = tree(
        "//! file\n/// one\n/// two\nlet x = 1; /// not this\nlet y = 2;\n//// nor this\nlet z = 3;",
    );
    assert_eq!(tree.matches("(doc").count(), 3, "{tree}");
    assert!(tree.starts_with("(doc \"file\")\n(doc \"one\")\n(doc \"two\")\n(let"), "{tree}");
}

#[test]
fn spans_lie_in_strings() {
    let source = "let a = \"αβ {x + yy:.2f}\";";
    let parsed = parse(FileId::from_usize(0), source);
    let texts: Vec<&str> = parsed
        .ast
        .expr
        .iter()
        .map(|e| &source[e.span.lo() as usize..e.span.hi() as usize])
        .collect();
    assert!(texts.contains(&"yy") && texts.contains(&"x + yy"), "{texts:?}");
}
