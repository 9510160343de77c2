//! Recurrences that are no kernel as a whole: what a step computes once is one, and little is evaluated.

use ein_tests::engines::few_steps;

#[test]
fn parts_that_share_no_box() {
    // As one array these would be three thousand times larger.
    few_steps(
        "struct S { a: [f32; 100000], b: [f32; 300, 300], n: i32 }\n\
         fn step(s: S) -> S {\n\
             let a[i] = s.a[i] * 0.99 + 0.01;\n\
             let b[i, j] = s.b[i, j] * 0.5 + s.b[j, i] * 0.5;\n\
             S { a: a, b: b, n: s.n + 1 }\n\
         }\n\
         let a0[i in 0..100000] = i as f32;\n\
         let b0[i in 0..300, j in 0..300] = (i * 3 + j) as f32;\n\
         let s[0] = S { a: a0, b: b0, n: 0 };\n\
         let s[t in 1..50] = step(s[t - 1]);\n\
         print(s[49].n, sum[i](s[49].a[i]), sum[i, j](s[49].b[i, j]));",
        None,
        400,
    );
}

#[test]
fn recurrences_inside_steps() {
    // Particles on a grid: where they are, the field between, and where they go.
    few_steps(
        "use std::math::floor;\n\
         const P: i32 = 20000;\n\
         const G: i32 = 64;\n\
         struct S { x: [f64; P], v: [f64; P] }\n\
         fn step(s: S) -> S {\n\
             let cell[p] = floor(s.x[p]) as i32 % G;\n\
             let many[g in 0..G] = sum[p](1.0f64) where cell[p] == g;\n\
             let e[0] = 0.0f64;\n\
             let e[g in 1..G] = e[g - 1] - 0.001 * (many[g] - 312.5);\n\
             let v[p] = s.v[p] + e[cell[p]];\n\
             let x[p] = s.x[p] + 0.01 * v[p] + 64.0 - 64.0 * floor((s.x[p] + 0.01 * v[p] + 64.0) / 64.0);\n\
             S { x: x, v: v }\n\
         }\n\
         let x0[p in 0..P] = (p * 7 % 6400) as f64 / 100.0;\n\
         let v0[p in 0..P] = 0.0f64;\n\
         let s[0] = S { x: x0, v: v0 };\n\
         let s[t in 1..30] = step(s[t - 1]);\n\
         print(sum[p](s[29].v[p]) < 1e9);",
        None,
        100,
    );
}

#[test]
fn training_of_a_deep_model() {
    // A block of attention and the steps of its training, with all weights in structs.
    few_steps(
        "use std::math::{exp, log, sqrt, tanh};\n\
         const D: i32 = 16; const H: i32 = 4; const S: i32 = 12; const V: i32 = 20; const B: i32 = 3;\n\
         struct Block { wq: [f32; D, D], wk: [f32; D, D], wv: [f32; D, D], wo: [f32; D, D], w1: [f32; D, 64], w2: [f32; 64, D] }\n\
         struct Model { emb: [f32; V, D], block: Block, out: [f32; D, V] }\n\
         fn some(k: i32, r: i32, c: i32) -> [f32; r, c] {\n\
             let x[i in 0..r, j in 0..c] = (((i * 131 + j * 71 + k * 977) % 199) as f32 / 199.0 - 0.5) * 0.3;\n\
             x\n\
         }\n\
         fn norm(x: [f32; ?s, ?d]) -> [f32; ?s, ?d] {\n\
             let m[i] = mean[j](x[i, j]);\n\
             let v[i] = mean[j]((x[i, j] - m[i]) ** 2);\n\
             let y[i, j] = (x[i, j] - m[i]) / sqrt(v[i] + 1e-5);\n\
             y\n\
         }\n\
         fn block(p: Block, x: [f32; S, D]) -> [f32; S, D] {\n\
             let n = norm(x);\n\
             let q[s, j] = sum[i](n[s, i] * p.wq[i, j]);\n\
             let k[s, j] = sum[i](n[s, i] * p.wk[i, j]);\n\
             let v[s, j] = sum[i](n[s, i] * p.wv[i, j]);\n\
             let score[h in 0..H, a in 0..S, b in 0..S] = sum[d in 0..4](q[a, h * 4 + d] * k[b, h * 4 + d]) / 2.0 where b <= a else -1e9;\n\
             let most[h, a] = max[b](score[h, a, b]);\n\
             let e[h, a, b] = exp(score[h, a, b] - most[h, a]);\n\
             let total[h, a] = sum[b](e[h, a, b]);\n\
             let o[a in 0..S, j in 0..D] = sum[b](e[j / 4, a, b] * v[b, j]) / total[j / 4, a];\n\
             let y[s, j] = x[s, j] + sum[i](o[s, i] * p.wo[i, j]);\n\
             let m = norm(y);\n\
             let u[s, f] = tanh(sum[i](m[s, i] * p.w1[i, f]));\n\
             let r[s, j] = y[s, j] + sum[f](u[s, f] * p.w2[f, j]);\n\
             r\n\
         }\n\
         fn loss(m: Model, text: [i32; B, S], next: [i32; B, S]) -> f32 {\n\
             let x[b, s, d in 0..D] = m.emb[text[b, s], d];\n\
             let y[b in 0..B] = block(m.block, x[b]);\n\
             let logit[b, s, v] = sum[d](y[b, s, d] * m.out[d, v]);\n\
             let top[b, s] = max[v](logit[b, s, v]);\n\
             let all[b, s] = top[b, s] + log(sum[v](exp(logit[b, s, v] - top[b, s])));\n\
             mean[b, s](all[b, s] - logit[b, s, next[b, s]])\n\
         }\n\
         fn step(m: Model, text: [i32; B, S], next: [i32; B, S]) -> Model {\n\
             let l = loss(m, text, next);\n\
             let g = @l / @m;\n\
             m - 0.1 * g\n\
         }\n\
         let text[b in 0..B, s in 0..S] = (b * 7 + s * 3) % V;\n\
         let next[b in 0..B, s in 0..S] = (b * 7 + s * 3 + 3) % V;\n\
         let first = Block { wq: some(2, D, D), wk: some(3, D, D), wv: some(4, D, D), wo: some(5, D, D), w1: some(6, D, 64), w2: some(7, 64, D) };\n\
         let m[0] = Model { emb: some(1, V, D), block: first, out: some(8, D, V) };\n\
         let m[t in 1..10] = step(m[t - 1], text, next);\n\
         assert(loss(m[9], text, next) < loss(m[0], text, next));",
        None,
        100,
    );
}

#[test]
fn adjoints_of_masks() {
    // Each kept element sends what flows back to where it was: no tangent for each of them.
    few_steps(
        "let x[i in 0..20000] = ((i % 17) as f64) * 0.2;\n\
         let k = x[x > 1.5];\n\
         let t = sum(k * k);\n\
         let g = @t / @x;\n\
         print(g[0], g[8], g[16]);",
        None,
        400,
    );
}

#[test]
fn steps_that_read_a_list_of_structures() {
    // Where the first row is given point by point, and each other one is the value of a call.
    few_steps(
        "struct Layer { w: [f32; 96, 96], b: [f32; 96] }\n\
         fn made(l: i32) -> Layer {\n\
             let w[i in 0..96, j in 0..96] = ((i * 7 + j * 3 + l) % 13) as f32 * 0.002;\n\
             let b[i in 0..96] = (i + l) as f32 * 0.01;\n\
             Layer { w, b }\n\
         }\n\
         fn layer(x: [f32; 300, 96], p: Layer) -> [f32; 300, 96] {\n\
             let y[r, i] = x[r, i] + sum[j](x[r, j] * p.w[i, j]) + p.b[i];\n\
             y\n\
         }\n\
         let layers = [made(l) | l in 0..6];\n\
         let x[0, r in 0..300, i in 0..96] = (r + i) as f32 * 0.001;\n\
         let x[l in 1..7] = layer(x[l - 1], layers[l - 1]);\n\
         let z[0, r in 0..300, i in 0..96] = 1.0;\n\
         let z[l in 1..7, r in 0..300, i in 0..96] = 2.0 * layer(x[l], layers[l - 1])[r, i] + z[l - 1, r, i];\n\
         print(sum[i](x[6, 5, i]) > 0.0, sum[i](z[6, 5, i]) > 0.0);",
        None,
        400,
    );
}

#[test]
fn texts_that_decide() {
    // Which side is meant says a text that stands in the library.
    few_steps(
        "use std::interp::{linear, smooth};\n\
         use std::sort::searchsorted;\n\
         let x[i in 0..20000] = ((i * 7919) % 1009) as f64 * 0.002 - 1.0;\n\
         let xs = [-1.0, -0.2, 0.5, 1.0];\n\
         let ys = [0.0, 1.0, 0.5, 2.0];\n\
         let y = linear(x, xs, ys);\n\
         let z = smooth(x, xs, ys);\n\
         let at = searchsorted(xs, x, \"right\");\n\
         let total = sum[i](y[i] * z[i]) + sum[i](at[i] as f64);\n\
         let slope = @total / @x;\n\
         print(total > 0.0, sum[i](slope[i]) > 0.0);",
        None,
        20,
    );
}

#[test]
fn adjoints_through_functions_of_the_host() {
    few_steps(
        "use std::linalg::{lstsq, qr, svd};\n\
         let a[i in 0..64, j in 0..48] = ((i * 37 + j * 101) % 97) as f64 * 0.01 + (if i == j { 3.0 } else { 0.0 });\n\
         let b[i in 0..64] = ((i * 29) % 31) as f64;\n\
         let (q, r) = qr(a);\n\
         let (_u, s, _v) = svd(a);\n\
         let x = lstsq(a, b);\n\
         let total = sum[i, j](q[i, j] * (i + j) as f64) + sum[j](r[j, 47] + s[j] ** 2 + x[j] ** 2);\n\
         let slope = @total / @a;\n\
         print(sum[i, j](slope[i, j] ** 2) > 0.0);",
        None,
        500,
    );
    few_steps(
        "let x[i in 0..4000] = ((i * 7919) % 1009) as f64 * 0.002 - 1.0;\n\
         let middle = [std::stats::median(x), std::stats::quantile(x, 0.3)];\n\
         let total = sum[i](middle[i] ** 2);\n\
         let slope = @total / @x;\n\
         print(sum[i](slope[i] ** 2) > 0.0);",
        None,
        400,
    );
}
