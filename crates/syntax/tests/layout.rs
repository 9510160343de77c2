//! The canonical layout, by example.

use ein_syntax::format;

/// Checks what a text is formatted to, and that this stays as it is.
#[track_caller]
fn check(source: &str, expected: &str) {
    let once = format(source).expect("it has no syntax errors");
    assert_eq!(once, expected, "\n{once}");
    assert_eq!(format(&once).expect("it has no syntax errors"), once);
}

#[test]
fn statements() {
    check(
        "let   x=1 ;\n\n\n\nlet (a,b:f32)=e;fn f( x:f32,q=2.0 )->f32{x*q}\nlet h[t in 1..n , 0,..s]=step(h[t-1],x[t]);",
        "let x = 1;\n\nlet (a, b: f32) = e;\nfn f(x: f32, q = 2.0) -> f32 { x * q }\nlet h[t in 1..n, 0, ..s] = step(h[t - 1], x[t]);\n",
    );
    check("", "");
    check(
        "use a::b::{c,d as e};pub use a :: *;use a as m;",
        "use a::b::{c, d as e};\npub use a::*;\nuse a as m;\n",
    );
    check(
        "struct P{x:f32,y:f32,}enum E<T>{A,B(T),C{x:T}}",
        "struct P { x: f32, y: f32 }\nenum E<T> { A, B(T), C { x: T } }\n",
    );
    check(
        "mod m { pub fn f() { 1 } let x = 2; }",
        "mod m {\n    pub fn f() { 1 }\n    let x = 2;\n}\n",
    );
    check("test \"t\" { assert(true); }", "test \"t\" {\n    assert(true);\n}\n");
    check("@fn f(x){2.0*x*@x}", "@fn f(x) { 2.0 * x * @x }\n");
}

#[test]
fn parentheses() {
    check(
        "let a = ((x) + ((y * z))) * (-(w)) ** 2;\nlet b = (try f(x)) !> g;\nlet c = (a < b) == c;\nlet d = (|x| x)(1) + (if a { b } else { c });",
        "let a = (x + y * z) * (-w) ** 2;\nlet b = (try f(x)) !> g;\nlet c = (a < b) == c;\nlet d = (|x| x)(1) + (if a { b } else { c });\n",
    );
    check(
        "let a = 0xff + 1_000 + 1e-5;\nlet s = \"{ x :.2f}\";",
        "let a = 0xff + 1_000 + 1e-5;\nlet s = \"{ x :.2f}\";\n",
    );
    check("if (P { x: 1 }) == p { a }", "if (P { x: 1 }) == p { a }\n");
}

#[test]
fn long_lines() {
    check(
        "let act[i, j] = out where z = sum[k](input_values[i, k] * weight_values[k, j]) + bias_values[j], out = if z > 0.0 { z } else { 0.0 } else -1.0;",
        "let act[i, j] = out
    where z = sum[k](input_values[i, k] * weight_values[k, j]) + bias_values[j],
          out = if z > 0.0 { z } else { 0.0 }
    else -1.0;
",
    );
    check(
        "fn attention[head, seq](queries: [f32; ..batch, head, seq], keys: [f32; ..batch, head, seq], scale = 0.125) -> [f32; ..batch, head] { queries }",
        "fn attention[head, seq](
    queries: [f32; ..batch, head, seq],
    keys: [f32; ..batch, head, seq],
    scale = 0.125,
) -> [f32; ..batch, head] {
    queries
}
",
    );
    check(
        "let total = first_quantity_in_the_sum * second_quantity + third_quantity_in_the_sum - fourth_quantity_in_it;",
        "let total = first_quantity_in_the_sum * second_quantity
    + third_quantity_in_the_sum
    - fourth_quantity_in_it;
",
    );
    check(
        "let x = some_value |> a_function_with_a_long_name(argument) ?> another_function_with_a_long_name else 0.0;",
        "let x = some_value
    |> a_function_with_a_long_name(argument)
    ?> another_function_with_a_long_name
    else 0.0;
",
    );
    let numbers = "1.5, ".repeat(40);
    let formatted = format(&format!("let a = [{numbers}];")).expect("it has no syntax errors");
    assert_eq!(formatted.lines().count(), 5, "{formatted}");
}

#[test]
fn blocks() {
    check(
        "fn f(n) { let a = 1; if n > 0 { print(n); } match n { 0 => 1, k where k > 3 => { k } _ => if a { 1 } else { 2 } } }",
        "fn f(n) {
    let a = 1;
    if n > 0 {
        print(n);
    }
    match n {
        0 => 1,
        k where k > 3 => { k }
        _ => if a { 1 } else { 2 },
    }
}
",
    );
    check("let f = |x| { let y = x; y };", "let f = |x| {\n    let y = x;\n    y\n};\n");
    check("let a = {};\nfn f() {}", "let a = {};\nfn f() {}\n");
}

#[test]
fn comments() {
    check(
        "//! file\n\n// first\n\n\n/// doc\nlet x = 1; // trailing\n/* block */ let y = f(a, // one\n b /* two */, /* three */ c);\nfn f() { // opens\n  // inside\n\n  x // tail\n  // last\n}\n// end",
        "//! file

// first

/// doc
let x = 1; // trailing
/* block */
let y = f(
    a, // one
    b /* two */,
    /* three */ c,
);
fn f() { // opens
    // inside

    x // tail
    // last
}
// end
",
    );
    check(
        "let a = b // why\n  + c;\nlet x = // value\n 5;\nmatch a {\n // zero\n 0 => 1, // one\n\n _ => 2,\n}",
        "let a = b // why
    + c;
let x =
    // value
    5;
match a {
    // zero
    0 => 1, // one

    _ => 2,
}
",
    );
    check(
        "struct S {\n  /// width\n  w: f32, // in metres\n}",
        "struct S {\n    /// width\n    w: f32, // in metres\n}\n",
    );
}
