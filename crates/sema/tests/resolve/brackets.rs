//! What brackets, calls, pipelines and `where` turn into.

use crate::support::{check_all, check_tree};

#[test]
fn reductions_bind_their_indices() {
    check_tree(
        "let x = [1.0]; let n = 3;\n\
         let a = sum[i](x[i]);\n\
         let b = max[i in 0..n, j in i](x[i] * x[j]);\n\
         let c = sum[..s](x[..s]);\n\
         let d = sum(x);\n\
         let e = sum[i](sum[i](x[i]) * x[i]);",
        &[
            "let a = sum[i](x[i])",
            "let b = max[i'2 in 0..n, j in @i'2]((x[i'2] * x[j]))",
            "let c = sum[..s](x[..s])",
            "let d = Reduction(Sum)(x)",
            "let e = sum[i'3]((sum[i'4](x[i'4]) * x[i'3]))",
        ],
    );
}

#[test]
fn a_plain_function_does_not_hide_the_reduction_of_its_name() {
    check_tree(
        "use std::math::*;\nfn sum[c](x: [f32; c]) -> f32 { 0.0 }\nlet x = [1.0];\n\
         let a = max[i](x[i]);\nlet b = max(1.0, 2.0);\nlet c = sum[i](x);",
        &["let a = max[i](x[i])", "let b = fn:max(1.0, 2.0)", "let c = fn:sum[@i](x)"],
    );
}

#[test]
fn coordinate_calls() {
    check_tree(
        "fn f[c, ..s](x: [f32; ..s, c]) -> f32 { 1.0 }\nlet x = [1.0];\n\
         let a = f[row](x);\nlet b[row] = f[row, (h, w)](x[row]);\nlet c = f[..rest, #0, n = 3](x[..rest]);\n\
         let d = first[row](x);\nlet e = |g| g[row](x);\nlet fs = [f];\nlet i = 0;\n\
         let g = fs[i](x);\nlet h = fs[0](x);\nlet k = [f][0](x);",
        &[
            "let a = fn:f[@row](x)",
            "define b[row] = fn:f[@row, (@h, @w)](x[row])",
            "let c = fn:f[..rest, #0, n = 3](x[..rest])",
            "let d = First[@row](x)",
            "let e = |g|<> g[@row](x)",
            "let g'2 = fs[i](x)",
            "let h = fs[0](x)",
            "let k = [fn:f][0](x)",
        ],
    );
}

#[test]
fn pipelines() {
    check_tree(
        "fn f(x, y = 1) { x }\nfn g[c](x) { x }\nlet x = [1];\nlet a = x |> f |> f(2);\n\
         let b = x |> g[c];\nlet c = x |> sum[i]();\nlet d = Some(1) ?> f(3) else 0;\n\
         let e = (try f(x)) !> f catch |err| 0;",
        &[
            "let a = fn:f(fn:f(x), 2)",
            "let b = fn:g[@c](x)",
            "let c = sum[i](x)",
            "let d = ((Option::Some(1) ?> it. fn:f(it, 3)) else 0)",
            "let e = ((try fn:f(x) !> it'2. fn:f(it'2)) catch |err| 0)",
        ],
    );
}

#[test]
fn extents_name_coordinates() {
    check_tree(
        "let x: [f32; row: 3] = input();\nlet a = extent(row);\nlet b[row] = extent(x, row);\n\
         fn extents(extent) { extent(1) }",
        &[
            "let a = extent(@row)",
            "define b[row] = extent(x, @row)",
            "fn extents(extent) { extent(1) }",
        ],
    );
    check_all(&[
        ("let a = extent();", &["1 E0508"]),
        ("let a = extent(1 + 2);", &["1 E0212 | coordinate"]),
        ("let a = extent;", &["1 E0212 | extent"]),
    ]);
}

#[test]
fn packs_and_slices() {
    check_tree(
        "let n = 3; let x = [1.0]; const K: i32 = 2;\nlet a = x[..n];\nlet b = x[..K];\nlet c = x[..s] + x[..s];\n\
         let d[..s] = x[..s];\nlet e = x[..s];",
        &[
            "let a = x[..n]",
            "let b = x[..const:K]",
            "let c = (x[..s] + x[..s])",
            "define d[..s'2] = x[..s'2]",
            "let e = x[..s'3]",
        ],
    );
}

#[test]
fn items_of_a_where_go_where_their_names_are() {
    check_tree(
        "let x = [1.0]; let w = [1.0];\n\
         let a[i] = x[i] * z where z = x[i] + 1.0, z > 0.0 else 2.0;\n\
         let b = sum[k](x[k]) where x[k] > 0.0;\n\
         let c[o] = sum[k](x[j] * w[k]) + w[o] where j = o + k, o > 1;\n\
         let d[o] = 2.0 * sum[k](x[j]) where j = m + k, m = o + 1;\n\
         let e = sum[k](x[k]) * sum[j](x[j]) where k > 0;\n\
         let f = sum[i](sum[j](x[j] * x[i])) where i > 0, i < j;\n\
         let g = sum[k](x[k] where x[k] > 1.0) where t = x[k], t < 9.0;\n\
         let h = sum[k](x[k]) * z where z = sum[k](w[k]);",
        &[
            "define a[i] = ((x[i] * z) where z = (x[i] + 1.0), (z > 0.0) else 2.0)",
            "let b = sum[k]((x[k] where (x[k] > 0.0)))",
            "define c[o] = ((sum[k'2](((x[j] * w[k'2]) where j = (o + k'2))) + w[o]) where (o > 1))",
            "let e = (sum[k'4]((x[k'4] where (k'4 > 0))) * sum[j'3](x[j'3]))",
            "let f = sum[i'2]((sum[j'4](((x[j'4] * x[i'2]) where (i'2 < j'4))) where (i'2 > 0)))",
            "let g = sum[k'5](((x[k'5] where (x[k'5] > 1.0)) where t = x[k'5], (t < 9.0)))",
            "let h = ((sum[k'7](x[k'7]) * z'2) where z'2 = sum[k'6](w[k'6]))",
        ],
    );
}

#[test]
fn errors_in_where() {
    check_all(&[
        ("let x = [1.0];\nlet y[i] = x[i] * b where b = a + 1.0, a = x[i];", &["2 E0202 `a`"]),
        (
            "let y[i] = i * 2 where i in 0..4;\nlet z = sum[k](k * k) where k in 0..3;",
            &["1 E0407 | `i` | y[i in 0..4]", "2 E0407 | `k` | sum[k in 0..3]"],
        ),
        ("let y[i in 0..4] = z where z = i + 1, z in 0..3;", &[]),
        ("let y = 1 where m in 0..4;", &["1 E0407 | `m`"]),
        (
            "let x = [1];\nlet y[i] = x[i] where x[i] > limit else 0;",
            &["2 E0201 unknown name `limit`"],
        ),
    ]);
}

#[test]
fn misuse_of_brackets() {
    check_all(&[
        ("let x = [1];\nlet a = sum[i](x[i], 2);", &["2 E0508 | one argument, not 2"]),
        ("let a = sum[i, i](1);", &["1 E0207 `i`"]),
        ("let x = [1];\nlet a = sum[i + 1](x[i]);", &["2 E0101 | names of indices"]),
        ("let x = [1];\nlet a = first[0](x);", &["2 E0302 | #"]),
        ("let x = [1];\nlet a = smu[i](x[i] * i);", &["2 E0201 unknown function `smu` | `sum`"]),
    ]);
}
