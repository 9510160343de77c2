//! Programs that are large enough for what is done only to large ones: rows of losses, sums of
//! products taken apart, tiles across memory, results over operands, samples of recurrences, tiles
//! that move with the steps.

use ein_driver::{Engine, PASSES, Passes};
use ein_tests::engines::{Agreement, Setting, compare};

/// Two matrices, two vectors and some addresses.
const DATA: &str = "use std::math::{exp, ln, tanh};
let x[i in 0..260, j in 0..130] = ((i * 7 + j * 13) % 23) as f32 * 0.1 - 1.0;
let y[i in 0..260, j in 0..130] = ((i * 5 + j * 11) % 19) as f32 * 0.1 - 0.8;
let v[j in 0..130] = ((j * 3) % 17) as f32 * 0.2 - 1.5;
let long[i in 0..70000] = ((i * 31) % 4099) as f64 * 0.001 - 2.0;
let place[i in 0..260] = (i * 37) % 130;
";

/// What is computed, and what is observed of it.
const PROGRAMS: &[(&str, &[&str])] = &[
    // Tables whose edges are choices, and steps that differ.
    (
        "let k[i in 0..130] = (i * 7) % 11 - 5;
         let l[i in 0..130, j in 0..120] = if i == 0 || j == 0 {
             0
         } else {
             if k[i - 1] == k[j + 3] { l[i - 1, j - 1] + 1 } else { max(l[i - 1, j], l[i, j - 1]) }
         };
         let u[t in 0..6, i in 0..40, j in 0..130] = if t == 0 {
             x[i, j]
         } else {
             if i < 1 || j == 0 || i >= 39 || j > 128 {
                 0.0
             } else {
                 0.25 * (u[t, i - 1, j] + u[t, i, j - 1] + u[t - 1, i + 1, j] + u[t - 1, i, j + 1])
             }
         };
         let s[t in 0..9, i in 0..130] = if t == 4 { v[i] } else { if t < 2 { 1.0 } else { 0.5 * s[t - 2, i] } };",
        &["l", "u", "s"],
    ),
    // Running reductions, along and across, from either end, inside others and inside recurrences.
    (
        "let k[i in 0..130] = (i * 7) % 11 - 5;
         let a[i in 0..130] = sum[j in 0..i + 1](v[j]);
         let b[i in 0..130] = sum[j in 0..i](v[j]) * 2.0 + 1.0;
         let c[i in 0..130] = max[j in i..130](k[j]);
         let d[i in 0..130] = mean[j in 0..i + 1](v[j]);
         let e[r in 0..26, i in 0..130] = sum[j in 0..i + 1](x[r, j] * v[j]);
         let f[r in 0..26, i in 0..130] = prod[q in 0..r + 1](x[q, i]);
         let g[r in 0..26, i in 0..130] = sum[q in 0..r + 1, j in 0..i + 1](x[q, j]);
         let h[i in 0..130] = count[j in 0..i + 1](k[j] > 0) + sum[j in i..130](k[j]);
         let l[i in 0..130] = any[j in 0..i + 1](k[j] == 5) || all[j in i..130](k[j] > -5);
         let m[i in 0..130] = min[j in 0..i + 1](v[j] where k[j] != 0);
         let n[i in 0..130] = sum[j in 0..130](v[j] where j <= i) - sum[j in 0..130](v[j] where i < j);
         let o = sum[i in 0..130](sum[j in 0..i + 1](v[j]) * v[i]);
         let p[0, i in 0..130] = v[i];
         let p[t in 1..5, i in 0..130] = p[t - 1, i] * 0.5 + sum[j in 0..i + 1](v[j]) * 0.01;
         let q[0, i in 0..130] = v[i];
         let q[t in 1..5, i in 0..130] = q[t - 1, i] * 0.5 + sum[j in 0..i + 1](q[t - 1, j]) * 0.01;
         let r[i in 0..120] = sum[j in 3..i + 5](v[j]);",
        &["a", "b", "c", "d", "e", "f", "g", "h", "l", "m", "n", "o", "p", "q", "r"],
    ),
    // What is said more than once: by definitions, by reductions, by a function that is called in every
    // step; copies, turned operands, bounds, lists.
    (
        "let top[i in 0..260] = max[j in 0..130](x[i, j]);
         let e[i in 0..260, j in 0..130] = exp(x[i, j] - max[k in 0..130](x[i, k]));
         let f[i in 0..260, j in 0..130] = exp(x[i, j] - top[i]);
         let p[i in 0..260, j in 0..130] = e[i, j] / sum[k in 0..130](f[i, k]);
         let at[i in 1..260] = argmax[j in 0..130](x[i, j]);
         fn step(s: [f32; 130], c: [f32; 130]) -> [f32; 130] {
             let z[i in 0..130] = tanh(sum[j](y[i, j] * s[j]) * 0.1 + c[i]);
             z
         }
         let h[0] = v;
         let h[t in 1..9] = step(h[t - 1], x[t]);
         let last = sum[i in 0..130](h[8, i] ** 2);
         let back = @last / @v;
         let turned[j in 0..130, i in 0..260] = x[i, j];
         let product[i in 0..40, j in 0..40] = sum[k in 0..130](y[i, k] * turned[k, j]);
         let copy[i in 0..40, j in 0..40] = product[i, j];
         let ones[i in 0..130, j in 0..130] = 1.0f32;
         let rows[i in 0..26, j in 0..130] = sum[k in 0..130](x[i, k] * ones[k, j]);
         let total = sum[i in 0..260](sum[j in 0..130](x[i, j] * y[i, j]));
         let clipped[i in 0..260, j in 0..130] =
             if x[i, j] > 0.5 { 0.5 } else if x[i, j] < -0.5 { -0.5 } else { x[i, j] };
         let folded = sum[i in 0..260, j in 0..130](clipped[i, j] ** 2 + max(min(x[i, j], 0.7), -0.7));
         let slope = @folded / @x;
         let scaled[i in 0..26, j in 0..130] = sum[k in 0..130](y[i, k] * x[i, j]);
         let listed = [value * 2.0 + 1.0 | value in v];
         let norms = [sum[j](row[j] ** 2) | row in x];",
        &[
            "p", "at", "last", "back", "copy", "rows", "total", "clipped", "slope", "scaled", "listed",
            "norms",
        ],
    ),
    // Domains of steps that depend on each other, and choices between reductions.
    (
        "use std::math::sqrt;
         let A[i in 0..37, j in 0..37] = (if i == j { 10.0f64 } else { 0.0 }) + ((i + j) % 5) as f64 * 0.1;
         let L[i in 0..37, j in 0..i + 1] = if i == j {
             sqrt(A[i, i] - sum[k in 0..i](L[i, k] ** 2))
         } else {
             (A[i, j] - sum[k in 0..j](L[i, k] * L[j, k])) / L[j, j]
         };
         let size[i in 0..30] = i * 7 % 11 + 1;
         let cost[i in 0..29, j in i..29] = if i == j {
             0
         } else {
             min[k in i..j](cost[i, k] + cost[k + 1, j] + size[i] * size[k + 1] * size[j + 1])
         };
         let paths[n in 0..20, k in 0..n + 1] =
             if k == 0 || k == n { 1 } else { paths[n - 1, k - 1] + paths[n - 1, k] };",
        &["L", "cost", "paths"],
    ),
    // Products of complex matrices, masked means, windows, addresses of some rows, keys with something
    // around them, and scans of rows.
    (
        "let re[i, u] = sum[k in 0..120](x[i, k] * y[k, u] - y[i, k] * x[k, u]);
         let im[i, u] = sum[k in 0..120](x[i, k] * x[k, u] + y[i, k] * y[k, u]) + 1.0;
         let ids[n in 0..20, p in 0..16] = (n * 7 + p * 3) % 260;
         let length[n in 0..20] = n % 16 + 1;
         let pooled[n in 0..20, d in 0..130] = mean[p in 0..16](x[ids[n, p], d] where p < length[n]);
         let w[i in 0..20, j in 0..120, a in 0..7, b in 0..7] =
             exp(-((x[i + a, j + b] - x[i + 3, j + 3]) ** 2));
         let near[i, j] = sum[a, b](w[i, j, a, b] * x[i + a, j + b]) / sum[a, b](w[i, j, a, b]);
         let half[i in 0..260, j in 0..130] = ((i * 7 + j * 13) % 23) as f32 * 0.5;
         let top[i in 1..260] = argmax[j in 0..130](half[i, j] - half[i - 1, 129 - j]);
         let keys[i in 0..260] = (i * 13) % 70;
         let bin[k in 0..70] = sum[i in 0..260](x[i, 0] where keys[i] == k) * 2.0 + 1.0;
         let ones[k in 0..70] = sum[i in 0..260](if keys[i] == k { 1 } else { 0 });
         fn smooth(u: [f32; ?n]) -> f32 {
             let s[0] = u[0];
             let s[t in 1..?n] = 0.9 * s[t - 1] + u[t];
             s[?n - 1]
         }
         let ends[r in 0..260] = smooth(x[r]) + smooth(v);",
        &["re", "im", "pooled", "near", "top", "bin", "ones", "ends"],
    ),
    // What flows back through bindings that need only some of the indices around them.
    (
        "fn softmax(x: [f32; ?n]) -> [f32; ?n] {
             let m = max[i](x[i]);
             let e[i] = exp(x[i] - m);
             let s = sum[i](e[i]);
             e[i] / s
         }
         let a = sum[i](softmax(v)[i] * v[i] ** 2);
         let da = @a / @v;
         let z[i in 0..26, j in 0..13] = x[i, j];
         let p[r in 0..26, c in 0..13] = {
             let high = max[k](z[r, k]);
             let e[k in 0..13] = exp(z[r, k] - high);
             e[c] / sum[k](e[k])
         };
         let b = sum[r, c](p[r, c] * p[r, c] * (r + c) as f32);
         let db = @b / @z;",
        &["a", "da", "b", "db"],
    ),
    // A loss, term by term and by address.
    (
        "let top[i] = max[j](x[i, j]);
         let e[i, j] = exp(x[i, j] - top[i]);
         let total[i] = sum[j](e[i, j]);
         let q[i, j] = ln(e[i, j] / total[i]);
         let loss = -sum[i, j](y[i, j] * q[i, j]);
         let picked = -mean[i](q[i, place[i]]);
         let extreme = max[i, j](q[i, j]) - min[i, j](e[i, j]);",
        &["loss", "picked", "extreme"],
    ),
    // The products of rows leave `f32`, that of all of them does not.
    (
        "let t[i, j] = tanh(x[i, j]) * 0.0 + (if i % 2 == 0 { 4.0 } else { 0.25 });
         let p = prod[i, j](t[i, j]);
         let high = max[j](prod[i in 0..2](t[i, j])) + sum[i, j](t[i, j]);",
        &["p", "high"],
    ),
    // What a reduction alone reads.
    ("let t[i, j] = tanh(x[i, j]); let s = sum[i, j](t[i, j]);", &["s"]),
    ("let t[i, j] = tanh(x[i, j]); let s[j] = prod[i in 0..9](t[i, j] + 1.5);", &["s"]),
    // Products of three and four, deviations, weights.
    (
        "let a[i in 0..40, j in 0..30] = x[i, j];
         let b[j in 0..30, k in 0..50] = y[j, k];
         let c[l in 0..20, k in 0..50] = x[l, k];
         let d[i, l] = sum[j, k](a[i, j] * b[j, k] * c[l, k] * 0.5);
         let s = sum[i, j, k, l](a[i, j] * b[j, k] * c[l, k] * (a[k % 40, 0] + 1.0));",
        &["d", "s"],
    ),
    (
        "let m[j] = mean[i](x[i, j]);
         let c[j, k] = sum[i]((x[i, j] - m[j]) * (x[i, k] - m[k]) * (y[i, 3] + 2.0)) / 259.0;
         let sd[j] = mean[i]((x[i, j] - m[j]) ** 2.0);",
        &["c", "sd"],
    ),
    // Two products in one definition, and results over operands.
    (
        "let z[i, j] = sum[k](x[i, k] * x[j, k]) + x[i, 0] + sum[k](y[i, k] * y[j, k]);
         let w[i, j] = tanh(z[i, j]) * 0.5;
         let u[i, j] = exp(w[i, j]) + w[i, j];
         let r[i] = max[j](u[i, j]);",
        &["u", "r"],
    ),
    // Across memory.
    (
        "let big[i in 0..300, j in 0..270] = ((i * 3 + j * 5) % 31) as f32;
         let turned[j, i] = big[i, j];
         let both[i in 0..270, j in 0..270] = big[i, j] + 0.5 * big[j, i];
         let cube[i in 0..70, j in 0..80, k in 0..90] = big[k, i] * 2.0 + big[j, k];",
        &["turned", "both", "cube"],
    ),
    // Addresses of extremes, along and across, ties and NaN.
    (
        "let tied[i, j] = (x[i, j] * 3.0) as i32 as f32;
         let odd[i, j] = if (i * j) % 97 == 5 { (x[i, j] - x[i, j]) / (x[i, j] - x[i, j]) } else { x[i, j] };
         let a[i] = argmax[j](tied[i, j]);
         let b[j] = argmin[i](tied[i, j]);
         let c[i] = argmax[j](odd[i, j]);
         let d = argmin[i](long[i]);
         let e[i] = x[i, argmax[j](y[i, j])];",
        &["a", "b", "c", "d", "e"],
    ),
    // Vectors that share an intermediate, and neighbours that read the same.
    (
        "let t[i] = exp(long[i]);
         let a[i] = t[i] + 1.0;
         let b[i] = t[i] * long[i];
         let big[i in 0..520, j in 0..512] = ((i + j) % 13) as f64;
         let p[i, j] = 0.9 * big[i, j] + 1.0;
         let q[i, j] = big[i, j] * big[i, j];",
        &["a", "b", "p", "q"],
    ),
    // Rows that wrap around, stop at an edge, or have a neighbour only inside.
    (
        "let g[i, j] = ((x[i, j] * 7.0) as i32) % 2;
         let n[i in 0..260, j in 0..130] = sum[a in 0..3, b in 0..3](g[(i + a + 259) % 260, (j + b + 129) % 130]);
         let near[i in 0..260, j in 0..130] = x[i, max(j - 2, 0)] + x[i, min(j + 3, 129)] - y[max(i - 1, 0), j];
         let side[i in 0..260, j in 0..130] = (if j > 0 { x[i, j - 1] } else { 0.5 }) * (if j < 129 { x[i, j + 1] } else { 2.0 });
         let turn[i in 0..130, j in 0..130] = v[(i + j) % 130] - v[(i - j + 130) % 130];
         let ring[i in 0..70000] = long[(i + 1) % 70000] - 2.0 * long[i] + long[(i + 69999) % 70000];",
        &["n", "near", "side", "turn", "ring"],
    ),
    // Sums of powers, powers of integers that vary, sums of long integers.
    (
        "let p[i] = sum[k in 0..12](long[k] * long[i] ** k);
         let q[i in 0..260, k in 0..9] = long[i] ** (k - 2) + (long[i] + 3.0) ** k;
         let w = sum[t in 0..130](long[t] * 0.97f64 ** t);
         let big[i in 0..70000] = (i as i64 - 35000) * 1000000007i64 * 90i64;
         let s = sum[i](big[i]);
         let high = max[i in 0..70](sum[j in 0..1000](big[1000 * i + j]) - i as i64);
         let t[i in 0..70] = sum[j in 0..1000](big[1000 * i + j] - i as i64);",
        &["p", "q", "w", "s", "high", "t"],
    ),
    // Sums for each pair of keys, and for each key of many points.
    (
        "let key[i in 0..70000] = (i * 7919) % 40 - 1;
         let pair[p in 0..9, q in 0..11] = count[i](key[i] == p && (i * 31) % 11 == q);
         let each[k in 0..70] = sum[i](long[i]) where key[i] == k, long[i] > -1.0;",
        &["pair", "each"],
    ),
    // Messages along edges, truths across memory, boundaries that meet, sums that cells share.
    (
        "let src[e in 0..9000] = (e * 37) % 260;
         let dst[e in 0..9000] = (e * 53) % 97 - 2;
         let heard[n in 0..90, j] = sum[e](x[src[e], j]) where dst[e] == n;
         let seen[j] = any[i](x[i, j] > 1.15 && y[i, j] > 0.6) || all[i](x[i, j] < 1.1);
         let L[0, j in 0..131] = 0;
         let L[i in 0..261, 0] = 0;
         let L[i in 1..261, j in 1..131] =
             if place[i - 1] % 5 == j % 5 { L[i - 1, j - 1] + 1 } else { max(L[i - 1, j], L[i, j - 1]) };
         let w[0, j in 0..130] = 0.0f32;
         let w[t in 1..9, j in 0..130] =
             w[t - 1, j] - 0.001 * sum[i](x[i, j] * tanh(sum[k](y[i, k] * w[t - 1, k]) - 0.5));",
        &["heard", "seen", "L", "w"],
    ),
    // Long rows of short sums.
    (
        "let act[i in 0..7000] = tanh(sum[k in 0..40](long[10 * i + k % 10] * long[k]));",
        &["act"],
    ),
    // A few sums over very many terms.
    (
        "let col[i in 0..70000, j in 0..4] = long[i] * (j + 1) as f64 + 0.001 * j as f64;
         let gram[i, j] = sum[k](col[k, i] * col[k, j]);",
        &["gram"],
    ),
    // Scans along rows, and samples of recurrences.
    (
        "let c[i, 0] = x[i, 0];
         let c[i, j in 1..130] = c[i, j - 1] + x[i, j];
         let h[0, j] = v[j];
         let h[t in 1..401, j] = 0.9 * h[t - 1, (j + 1) % 130] + 0.01;
         let s[k in 0..21, j] = h[20 * k, j];
         let w[k in 0..40] = h[10 * k + 5, 3] - h[10 * k, 4];
         let b[400] = 1.0;
         let b[t in 0..400] = 0.99 * b[t + 1] + 0.02;
         let back[k in 0..41] = b[400 - 10 * k];",
        &["c", "s", "w", "back"],
    ),
    // Reductions that do not mention the outer indices, alone and in the steps of a recurrence.
    (
        "let a[i in 0..60] = sum[k](x[i, k] * tanh(sum[l](y[l, k])));
         let b[i in 3..40, k in 5..90] = x[i, k] / (2.0 + max[l in 1..70](y[l, k]));
         let c[i in 0..9] = sum[k in 2..12](((i * k) % 5) * sum[l in k..15](l * k + 1));
         let w[0, i in 0..6, j in 0..5] = x[i, j];
         let w[t in 1..8, i in 0..6, j in 0..5] = {
             let h[n in 0..8, q in 0..5] = tanh(sum[k in 0..20](y[n, k] * w[t - 1, k % 6, q]));
             let p[n in 0..8] = sum[q in 0..5](h[n, q] * v[q]);
             w[t - 1, i, j] - 0.01 * sum[n in 0..8](y[n, i] * p[n] * (1.0 - h[n, j] * h[n, j]))
         };
         let last = w[7];",
        &["a", "b", "c", "last"],
    ),
    // A stencil whose ring is larger than a cache, in tiles that move, with an edge of its own.
    (
        "let u[0, i in 0..296, j in 0..296] = ((i * 7 + j * 3) % 11) as i64;
         let u[1, i in 0..296, j in 0..296] = ((i * 5 + j * 2) % 13) as i64;
         let u[t in 2..40, 0, j in 0..296] = u[t - 1, 1, j];
         let u[t in 2..40, i in 2..294, j in 1..295] =
             (u[t - 1, i - 2, j] + 3 * u[t - 2, i + 1, j - 1] + 5 * u[t - 1, i, j + 1]) % 10007;
         let late = u[39];
         let before = u[38];",
        &["late", "before"],
    ),
];

fn agree(engine: Engine) {
    for (program, observe) in PROGRAMS {
        let text = format!("{DATA}{program}");
        let observe: Vec<String> = observe.iter().map(|name| (*name).to_owned()).collect();
        let setting = |threads: usize| Setting {
            threads,
            observe: Some(observe.clone()),
            ..Setting::new(engine)
        };
        let agreement = compare(&text, &[setting(1), setting(2)]);
        assert_eq!(agreement, Agreement::Same(true), "{program}");
    }
}

/// What a pass does is never more than a matter of speed.
#[test]
fn programs_agree_without_each_pass() {
    for (program, observe) in PROGRAMS {
        let text = format!("{DATA}{program}");
        let observe: Vec<String> = observe.iter().map(|name| (*name).to_owned()).collect();
        let without = |passes| Setting {
            observe: Some(observe.clone()),
            passes,
            ..Setting::new(Engine::Jit)
        };
        let each = PASSES.iter().filter_map(|pass| Passes::default().without(pass.name));
        let settings: Vec<Setting> = each.chain([Passes::none()]).map(without).collect();
        assert_eq!(compare(&text, &settings), Agreement::Same(true), "{program}");
    }
}

#[test]
fn large_programs_agree_on_jit() {
    agree(Engine::Jit);
}

#[test]
fn large_programs_agree_on_native() {
    agree(Engine::Native);
}
