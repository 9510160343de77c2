//! Plans of larger extents: the same code with other numbers.

use crate::plan;

/// Programs in which `N` stands for an extent, with what is observed of them.
const PROGRAMS: [(&str, &[&str]); 8] = [
    ("let x: [f32; N] = input(); let s = sum[i](x[i] * x[i]);", &["s"]),
    ("let A: [f32; N, N] = input(); let C[i, j] = sum[k](A[i, k] * A[k, j]);", &["C"]),
    (
        "use std::math::exp;
         let x: [f32; N, N] = input();
         let e[i, j] = exp(x[i, j] - max[k](x[i, k]));
         let s[i, j] = e[i, j] / sum[k](e[i, k]);",
        &["s"],
    ),
    (
        "let u0: [f32; N] = input();
         let u[0, i] = u0[i];
         let u[t in 1..N, i in 1..N - 1] = u[t - 1, i - 1] + u[t - 1, i + 1];
         let last = u[N - 1];",
        &["last"],
    ),
    (
        "let a: [i32; N] = input();
         let H[0, j in 0..N] = -j;
         let H[i in 1..N, 0] = -i;
         let H[i in 1..N, j in 1..N] =
             max(H[i - 1, j - 1] + a[i] * a[j], max(H[i - 1, j] - 1, H[i, j - 1] - 1));",
        &["H"],
    ),
    (
        "let key: [i32; N] = input();
         let count[k in 0..N] = sum[i](if key[i] == k { 1 } else { 0 });",
        &["count"],
    ),
    ("let x: [f32; N] = input(); let y[i in 0..N - 8] = max[k in 0..9](x[i + k]);", &["y"]),
    (
        "let W: [f32; N, N] = input();
         let x: [f32; N] = input();
         let loss = sum[i](sum[j](W[i, j] * x[j]) ** 2);
         let g = @loss / @W;",
        &["g"],
    ),
];

/// A plan with every number left out.
fn shape_of(source: &str, extent: usize, observe: &[&str]) -> String {
    let plan = plan(&source.replace('N', &extent.to_string()), observe);
    plan.split(|c: char| c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("0")
}

#[test]
fn code_does_not_grow_with_extents() {
    for (source, observe) in PROGRAMS {
        let (one, two) = (shape_of(source, 4096, observe), shape_of(source, 8192, observe));
        assert_eq!(one, two, "{source}");
    }
}
