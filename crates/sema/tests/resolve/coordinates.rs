//! Free coordinates, coordinates of signatures, sizes and packs.

use crate::support::{check, check_all, check_tree};

#[test]
fn a_bare_name_in_an_index_may_be_a_coordinate() {
    check_tree(
        "let x: [f32; row: 3, col: 3] = input(); let route = [1]; let at = 0; const N: i32 = 1;\n\
         let a = x[row, col + 1];\nlet b = x[route[row], at];\nlet c = x[row, N];\n\
         let d = if row <= col { x[row, col] } else { 0.0 };\nlet e[row] = x[row, first];\n\
         let f = sum[row](x[row, col]);",
        &[
            "let x: [f32; @row: 3, @col: 3] = Input()",
            "let a = x[@row, (@col + 1)]",
            "let b = x[route[@row], at]",
            "let c = x[@row, const:N]",
            "let d = if (@row <= @col) { x[@row, @col] } else { 0.0 }",
            "define e[row] = x[row, @first]",
            "let f = sum[row'2](x[row'2, @col])",
        ],
    );
    check_all(&[
        (
            "let square[i in 0..4] = i * i;\nlet wrong = i + 1;\nlet total = sum[k in 0..4](square[k]) + k;",
            &["2 E0201 unknown name `i`", "3 E0201 unknown name `k`"],
        ),
        ("let x = [1];\nlet a = x[rout[i]];", &["2 E0201 unknown name `rout`"]),
        ("let x = [1];\nlet a = x[i] + 1;\nlet b = i;", &["3 E0201 unknown name `i`"]),
        ("let y[i in 0..n] = i;", &["1 E0201 unknown name `n`"]),
    ]);
}

#[test]
fn coordinates_of_a_signature_hide_globals() {
    check_tree(
        "let row = 5; let n = 2;\n\
         fn f[c](x: [f32; row, c]) -> f32 { max[row](x[row, c]) + (if c > 0 { x[row, n] } else { 0.0 }) }\n\
         fn g(row: i32, x: [f32; row]) -> f32 { x[row] }\n\
         fn h(x: [f32; query in seq, key in seq]) -> i32 { extent(seq) + sum[j in seq](1) }",
        &[
            "fn f[c](x: [f32; @row, @c]) -> f32 { (max[row'2](x[row'2, @c]) + if (@c > 0) { x[@row, n] } else { 0.0 }) }",
            "fn g(row'3: i32, x'2: [f32; row'3]) -> f32 { x'2[row'3] }",
            "fn h(x'3: [f32; @query in seq, @key in seq]) -> i32 { (extent(@seq) + sum[j in @seq](1)) }",
        ],
    );
}

#[test]
fn domains_are_ranges_coordinates_or_values() {
    check_tree(
        "let r = 0..3; let x: [f32; item: 3] = input();\nlet a[i in 0..=2, j in i, k in item, l in r] = 1;\n\
         fn f(x: [f32; item]) { let g[i in item, j in item] = x[i] * x[j]; g }",
        &[
            "define a[i in 0..=2, j in @i, k in @item, l over r] = 1",
            "fn f(x'2: [f32; @item]) { define g[i'2 in @item, j'2 in @item] = (x'2[i'2] * x'2[j'2]); g }",
        ],
    );
}

#[test]
fn sizes_are_one_per_function_and_one_per_scope() {
    check_tree(
        "const N: i32 = 4;\nlet ys: [f32; ?k] = input();\nlet zs: [f32; ?k, c: ?, N] = input();\nlet a[i in 0..?k] = ys[i];\n\
         fn f(x: [f32; ?n, 2 * ?m], y: [f32; ?n + 1]) -> some k. [f32; k, ?n] { let z: [f32; ?n, ?k] = x; z }",
        &[
            "let ys: [f32; ?k] = Input()",
            "let zs: [f32; ?k, @c, const:N] = Input()",
            "define a[i in 0..?k] = ys[i]",
            "fn f(x: [f32; ?n, (2 * ?m)], y: [f32; (?n + 1)]) -> some k'2. [f32; ?k'2, ?n] sizes n, m { let z: [f32; ?n, ?k'3] = x; z }",
        ],
    );
    check_all(&[
        ("let a = ?n;", &["1 E0201 | ?n"]),
        ("let x: [f32; ?k] = input();\nfn f() { ?k }", &["2 E0201 | ?k"]),
    ]);
}

#[test]
fn packs_are_one_per_function() {
    check_tree(
        "fn f[..s](x: [f32; ..s, ..t]) -> [f32; ..s] { sum[..t](x[..s, ..t]) }\n\
         fn g(x) { let y = x[..b] + x[..b]; y[..b] }",
        &[
            "fn f[..s](x: [f32; ..s, ..t]) -> [f32; ..s] packs s, t { sum[..t'2](x[..s, ..t'2]) }",
            "fn g(x'2) { let y = (x'2[..b] + x'2[..b]); y[..b'2] }",
        ],
    );
    check("fn f(x: [f32; ..s]) { s }", &["1 E0212 | pack | ..s"]);
}
