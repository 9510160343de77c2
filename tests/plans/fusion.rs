//! Loops: what runs together, what is computed once and in which order.

use crate::{DOT, lines, plan};

#[test]
fn softmax_keeps_one_row() {
    let plan = plan(
        "use std::math::exp;
         let X: [f32; row: 64, class: 32] = input();
         let top[row] = max[class](X[row, class]);
         let e[row, class] = exp(X[row, class] - top[row]);
         let total[row] = sum[class](e[row, class]);
         let Y[row, class] = e[row, class] / total[row];",
        &["Y"],
    );
    let fused = "# fused over [64]: top (loops), e (loops), total (loops), Y (loops)";
    assert!(plan.contains(fused), "{plan}");
    assert_eq!(lines(&plan, "local "), ["local e_2: f32[32]"], "{plan}");
    assert!(lines(&plan, "scratch ").is_empty(), "{plan}");
}

#[test]
fn a_chain_of_cheap_definitions_is_one_loop() {
    let plan = plan(
        "let x: [f64; 100] = input();
         let a[i] = 2.0 * x[i] + 1.0;
         let b[i] = a[i] * a[i];
         let s = sum[i](b[i] - a[i]);",
        &["s"],
    );
    assert_eq!(plan.matches(" for ").count(), 1, "{plan}");
    assert!(!plan.contains("scratch ") && !plan.contains("local "), "{plan}");
}

/// A plan without the names of its results, and without the order of its inputs.
fn nameless(plan: &str) -> String {
    let output = lines(plan, "output ").first().map_or("", |line| *line);
    let name = output.trim_start().trim_start_matches("output ").split(':').next();
    let name = name.filter(|name| !name.is_empty()).unwrap_or("output");
    let plan = plan.replace(name, "result").replace("_0", "").replace("_1", "").replace("_2", "");
    let (mut inputs, body): (Vec<&str>, Vec<&str>) = plan
        .lines()
        .filter(|line| !line.starts_with(['#', 'k']))
        .partition(|line| line.starts_with("input "));
    inputs.sort_unstable();
    format!("{}\n{}", inputs.join("\n"), body.join("\n"))
}

#[test]
fn what_a_reduction_reads_once_is_computed_there() {
    let program = |reader: &str| {
        format!(
            "use std::math::exp;
             let x: [f32; 300, 200] = input();
             let v[i, j] = exp(x[i, j]) / 2.0;
             {reader}"
        )
    };
    let all = plan(&program("let s = sum[i, j](v[i, j]);"), &["s"]);
    assert!(all.contains("kernel \"s\""), "{all}");
    let rows = plan(&program("let s[i] = sum[j](v[i, j]);"), &["s"]);
    assert!(rows.contains("kernel \"s\""), "{rows}");
    // Here each cell would be computed for every `k`.
    let again = plan(&program("let s[i, k in 0..9] = max[j](v[i, j] * k as f32);"), &["s"]);
    assert!(again.contains("v (loops)"), "{again}");
    // Rows of sums run in vectors, a sum of them would not.
    let sums = plan(&program("let r[i] = max[j](v[i, j]); let s = sum[i](r[i]);"), &["s"]);
    assert!(sums.contains("r (loops)"), "{sums}");
}

#[test]
fn a_loss_goes_row_by_row() {
    let program = |loss: &str| {
        format!(
            "use std::math::{{exp, ln}};
             let x: [f32; 256, 128] = input();
             let p: [f32; 256, 128] = input();
             let class: [i32; 256] = input();
             let top[i] = max[j](x[i, j]);
             let e[i, j] = exp(x[i, j] - top[i]);
             let total[i] = sum[j](e[i, j]);
             let q[i, j] = ln(e[i, j] / total[i]);
             {loss}"
        )
    };
    for loss in [
        "let loss = -sum[i, j](p[i, j] * q[i, j]);",
        "let loss = -mean[i](q[i, class[i]]);",
        "let loss = sum[i, j](q[i, j]) / max[i, j](e[i, j]);",
    ] {
        let plan = plan(&program(loss), &["loss"]);
        let stored = lines(&plan, "scratch ");
        let rows = |line: &&str| line.ends_with("[256]");
        assert!(!stored.is_empty() && stored.iter().all(rows), "{loss}\n{plan}");
    }
    // Of a sum of integers it matters where it overflows, and columns are not rows.
    let stored = |rest: &str, observe: &str| {
        let source = format!("let x: [i32; 256, 128] = input(); {rest}");
        plan(&source, &[observe])
    };
    let whole = stored("let y[i, j] = max[k](x[i, k] - x[i, j]); let s = sum[i, j](y[i, j]);", "s");
    assert!(whole.contains("scratch y_2: i32[32768]"), "{whole}");
}

#[test]
fn what_two_results_need_is_computed_once_and_in_vectors() {
    let plan = plan(
        "use std::math::exp;
         let x: [f32; 100000] = input();
         let y[i] = exp(x[i]);
         let a[i] = y[i] + 1.0;
         let b[i] = y[i] * 2.0;",
        &["a", "b"],
    );
    assert_eq!(plan.matches(" exp ").count(), 1, "{plan}");
    assert_eq!(lines(&plan, "vector()").len(), 1, "{plan}");
    assert!(lines(&plan, "scratch ").is_empty(), "{plan}");
}

#[test]
fn neighbours_read_a_large_array_once() {
    let step = |shape: &str| {
        format!(
            "let m: [f32; {shape}] = input();
             let v: [f32; {shape}] = input();
             let g: [f32; {shape}] = input();
             let a[i, j] = 0.9 * m[i, j] + 0.1 * g[i, j];
             let b[i, j] = 0.99 * v[i, j] + 0.01 * g[i, j] * g[i, j];"
        )
    };
    let large = plan(&step("512, 512"), &["a", "b"]);
    assert!(large.contains("# fused over [512]: a (loops), b (loops)"), "{large}");
    // Rows as short as these are better one array.
    let narrow = plan(&step("200000, 3"), &["a", "b"]);
    assert!(!narrow.contains("fused"), "{narrow}");
}

#[test]
fn a_lifted_chain_is_one_loop() {
    let plan = plan(
        "fn up(x: f32) -> f32 { x + 1.0 }
         fn twice(x: f32) -> f32 { 2.0 * x }
         fn square(x: f32) -> f32 { x * x }
         let x: [f32; 100, 8] = input();
         let y = square(twice(up(x)));",
        &["y"],
    );
    assert_eq!(plan.matches(" for ").count(), 1, "{plan}");
    assert!(!plan.contains("scratch ") && !plan.contains("local "), "{plan}");
}

#[test]
fn a_frame_over_a_frame_needs_no_copy() {
    let plan = plan(&format!("{DOT}\nlet C = rerank(dot, 1, 2)(A, B);"), &["C"]);
    assert!(lines(&plan, "scratch ").is_empty() && lines(&plan, "store ").is_empty(), "{plan}");
}

#[test]
fn lifting_has_the_plan_of_the_indexed_definition() {
    let video = "fn lerp(lo: f32, hi: f32, a: f32) -> f32 { lo * (1.0 - a) + hi * a }
        let p: [f32; 11, 16, 24, 3] = input();
        let q: [f32; 11, 16, 24, 3] = input();
        let a: [f32; 11] = input();";
    let pairs = [
        (
            video,
            "let y = lerp(p, q, a);",
            "let y[t, r, s, c] = p[t, r, s, c] * (1.0 - a[t]) + q[t, r, s, c] * a[t];",
        ),
        (DOT, "let y = dot(A, x);", "let y[i] = sum[k](A[i, k] * x[k]);"),
        (DOT, "let y = dot(x, A);", "let y[i] = sum[k](x[k] * A[i, k]);"),
        (DOT, "let y = dot(A, B);", "let y[i] = sum[k](A[i, k] * B[i, k]);"),
        (DOT, "let y = rerank(dot, 1, 2)(A, B);", "let y[i, j] = sum[k](A[i, k] * B[j, k]);"),
    ];
    for (given, lifted, indexed) in pairs {
        let plan = |text: &str| nameless(&plan(&format!("{given}\n{text}"), &["y"]));
        assert_eq!(plan(lifted), plan(indexed), "{lifted}");
    }
}

#[test]
fn a_lifted_convolution_keeps_no_shifted_signals() {
    let plan = plan(
        "use std::ops::{add, mul};
         fn rotated(amount: i32, items: [f32; ?n]) -> [f32; ?n] { rotate(items, amount) }
         fn convolve(w: [f32; ?f], s: [f32; ?n]) -> [f32; ?n] {
             reduce(add, 0.0, mul(w, rotated(iota(len(w)), s)))
         }
         let w: [f32; 5] = input();
         let s: [f32; 1000] = input();
         let y = convolve(w, s);",
        &["y"],
    );
    assert!(lines(&plan, "scratch ").is_empty(), "{plan}");
    assert_eq!(lines(&plan, "local "), ["local t_3: f32[64]"], "{plan}");
}

#[test]
fn a_reduction_that_depends_on_rows_is_computed_once_per_row() {
    let plan = plan(
        "let X: [f32; 64, 32] = input();
         let Y[i, j] = X[i, j] - mean[k](X[i, k]);",
        &["Y"],
    );
    let inner: Vec<&str> = plan.lines().filter(|line| line.contains("vector(")).collect();
    assert_eq!(inner.len(), 2, "{plan}");
    // Both vector loops lie in the loop over rows, neither in the other.
    let depth = |line: &str| line.len() - line.trim_start().len();
    assert_eq!(depth(inner[0]), depth(inner[1]), "{plan}");
}

#[test]
fn equal_work_is_shared_between_neighbours() {
    let plan = plan(
        "let x: [f32; 64, 3] = input();
         let r2[i, j] = sum[e]((x[j, e] - x[i, e]) ** 2.0) + 0.01;
         let force[i, d] = sum[j]((x[j, d] - x[i, d]) / r2[i, j] ** 1.5);",
        &["force"],
    );
    assert_eq!(plan.matches("pow ").count(), 1, "{plan}");
}

#[test]
fn sums_run_in_blocks_and_streams() {
    let long = plan(
        "use std::math::exp;
         let x: [f32; 2, 2048] = input();
         let s[i] = sum[j](exp(x[i, j]));",
        &["s"],
    );
    // The terms of a block are added as `f32`, the blocks as `f64`.
    assert_eq!(lines(&long, "for r2 in 0..2 ").len(), 1, "{long}");
    let terms = "vector(add r3, add r4) for r5 in 0..1024 {";
    assert_eq!(lines(&long, "vector"), [format!("    {terms}")], "{long}");
    let row = plan(
        "let x: [f32; 8, 768] = input();
         let m[i] = sum[j](x[i, j]);
         let y[i, j] = x[i, j] - m[i];",
        &["y"],
    );
    let streams = "vector(add r1, add r2, add r3, add r4) for r5 in 0..192 {";
    assert_eq!(lines(&row, "vector(add"), [format!("    {streams}")], "{row}");
}

#[test]
fn quotients_by_a_power_share_its_inverse() {
    let forces = |exponent: &str| {
        let source = format!(
            "let x: [f32; 96, 3] = input();
             let r2[i, j] = sum[e]((x[j, e] - x[i, e]) ** 2.0) + 0.01;
             let force[i, d] = sum[j]((x[j, d] - x[i, d]) / r2[i, j] ** {exponent});"
        );
        plan(&source, &["force"])
    };
    // Once by an estimate, and once as it was written, for divisors that are not ordinary.
    let known = forces("1.5");
    assert_eq!(known.matches("near_rsqrt ").count(), 1, "{known}");
    assert_eq!(known.matches("pow ").count(), 1, "{known}");
    let other = forces("1.25");
    assert_eq!((other.matches("near_rsqrt ").count(), other.matches("pow ").count()), (0, 1));
}

#[test]
fn a_matrix_that_leaves_the_cache_is_read_to_and_fro() {
    let steps = |width: i64| {
        let text = format!(
            "use std::math::tanh;
             let r: [f32; {width}, {width}] = input();
             let x: [f32; 50, {width}] = input();
             let h[0, j] = x[0, j];
             let h[t in 1..50, j] = tanh(sum[k](r[j, k] * h[t - 1, k]) + x[t, j]);
             let last = h[49];"
        );
        plan(&text, &["last"])
    };
    // 64 kilobytes are more than the nearest cache holds, 16 are not.
    let turns = |plan: &str| plan.contains(", -1, 1\n");
    assert!(turns(&steps(128)), "{}", steps(128));
    assert!(!turns(&steps(64)), "{}", steps(64));
}

#[test]
fn a_choice_that_no_cell_decides_is_made_outside_the_loops() {
    let plan = plan(
        "let x: [f32; 200, 100] = input();
         let w: [f32; 100] = input();
         let whole = all[k](w[k] > 0.0);
         let y[i] = if whole { x[i, 0] } else { sum[k](x[i, k] * w[k]) };",
        &["y"],
    );
    let choice = lines(&plan, "if ");
    assert_eq!(choice.len(), 1, "{plan}");
    let after = plan.split(choice[0]).nth(1).unwrap_or_default();
    assert!(after.contains(" for ") && !lines(&plan, "select").iter().any(|_| true), "{plan}");
}

#[test]
fn what_is_read_for_every_row_is_computed_once() {
    let source = "let x: [f32; 300, 200] = input();
         let w[j in 0..200] = ((j * 7 + j / 3) % 11) as f32;
         let y[i, j] = x[i, j] * w[j];
         let z[j in 0..200] = x[0, j] + w[j];";
    let rows = plan(source, &["y"]);
    assert_eq!(lines(&rows, "scratch "), ["scratch w_2: f32[200]"], "{rows}");
    // Once for each cell: nothing is gained by storing it.
    let cells = plan(source, &["z"]);
    assert!(lines(&cells, "scratch ").is_empty(), "{cells}");
    // The steps of a recurrence are the outermost loop, wherever they stand.
    let steps = plan(
        "let x[t in 0..5000] = ((t * 7 + t / 3) % 11) as f32;
         let h[j in 0..64, 0] = j as f32;
         let h[j in 0..64, t in 1..5000] = 0.5 * h[j, t - 1] + x[t];
         let last[j] = h[j, 4999];",
        &["last"],
    );
    assert!(!steps.contains("f32[5000]"), "{steps}");
}

#[test]
fn what_a_window_reads_again_and_again_is_stored() {
    let source = "let x[i in 0..300, j in 0..200] = ((i * 37 + j * 91) % 251) as f32;
         let low[i in 2..298, j in 2..198] = min[a in 0..5, b in 0..5](x[i + a - 2, j + b - 2]);
         let twice[i in 0..300, j in 0..200] = 2.0 * x[i, j];";
    let window = plan(source, &["low"]);
    assert_eq!(window.matches("rem ").count(), 1, "{window}");
    assert!(window.contains("f32[60000]"), "{window}");
    let cells = plan(source, &["twice"]);
    assert!(lines(&cells, "scratch ").is_empty(), "{cells}");
}
