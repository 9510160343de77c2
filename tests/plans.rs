//! What programs become: fusion, contractions, windows of storage and hoisting, by their plans.

use ein_driver::{DumpOptions, FileSources, Input, Options, Session, Show};

/// The plan of a program of which these bindings are observed.
fn plan(source: &str, observe: &[&str]) -> String {
    plan_within(source, observe, None)
}

/// The same, with so many bytes for histories that derivatives read.
fn plan_within(source: &str, observe: &[&str], ad_memory: Option<u64>) -> String {
    let input = Input::Text { name: "program.ein".into(), text: source.into() };
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let observe = Some(observe.iter().map(|name| (*name).to_owned()).collect());
    let options = DumpOptions { observe, ad_memory };
    let planned = session.dump_plan(&input, &options, Show::Plan);
    let (text, report) = planned.expect("the compiler does not break");
    assert!(!report.has_errors(), "{:?}", report.diagnostics);
    text
}

/// Programs whose plan differs in one thing: what flows back through steps decays.
const DECAY: &str = "use std::math::tanh;
     let R: [f32; 16, 16] = input();
     let x: [f32; 90, 16] = input();
     let h[0, j] = x[0, j];
     let h[t in 1..90, j] = tanh(sum[k](R[j, k] * h[t - 1, k]) + x[t, j]);
     let loss = sum[j](h[89, j] * h[89, j]);
     let g = @loss / @R;";

/// Lines of a plan that begin with a word.
fn lines<'a>(plan: &'a str, word: &str) -> Vec<&'a str> {
    plan.lines().filter(|line| line.trim_start().starts_with(word)).collect()
}

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

#[test]
fn contractions_are_found_in_every_order() {
    let products = [
        "let C[i, j] = sum[k](A[i, k] * B[k, j]);",
        "let C[j, i] = sum[k](A[i, k] * B[k, j]);",
        "let C[i, j] = sum[k](B[k, j] * A[i, k]);",
        "let C[i, j] = sum[k](A[k, i] * B[j, k]);",
        "fn dot(a: [f32; ?n], b: [f32; ?n]) -> f32 { sum[i](a[i] * b[i]) }
         let C[i, j] = dot(A[i], B[j]);",
        "let C[i, j] = 0.5 * sum[k](A[i, k] * B[k, j]) + 1.0;",
    ];
    for product in products {
        let source = format!(
            "let A: [f32; 32, 32] = input();
             let B: [f32; 32, 32] = input();
             {product}"
        );
        let plan = plan(&source, &["C"]);
        assert_eq!(plan.matches("gemm(32, 32, 32)").count(), 1, "{product}\n{plan}");
    }
}

/// A dot product of two vectors, and two matrices and a vector to lift it over.
const DOT: &str = "fn dot(u: [f32; ?n], v: [f32; ?n]) -> f32 { sum[i](u[i] * v[i]) }
    let A: [f32; 32, 32] = input();
    let B: [f32; 32, 32] = input();
    let x: [f32; 32] = input();";

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
fn lifted_dot_products_are_matrix_products() {
    for product in [
        "let C[i, j] = dot(A[i], B[j]);",
        "let C = rerank(dot, 1, 2)(A, B);",
        "let C = rerank(|u, m| dot(u, m), 1, 2)(A, B);",
        "fn rows(u: [f32; ?n], m: [f32; ?k, ?n]) -> [f32; ?k] { dot(u, m) }
         let C = rows(A, B);",
    ] {
        let plan = plan(&format!("{DOT}\n{product}"), &["C"]);
        assert_eq!(plan.matches("gemm(32, 32, 32)").count(), 1, "{product}\n{plan}");
    }
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
fn work_before_and_after_a_call_needs_one_buffer_for_all_depths() {
    let plan = plan(
        "fn g(x: [f64; ?n]) -> [f64; ?n] {
             if ?n == 0 { x } else {
                 let t = rest[#0](x);
                 let p[i] = 1.0 + t[i];
                 let inner = g(p);
                 let q[i] = 1.0 + inner[i];
                 join[#0](first[#0](x), q)
             }
         }
         let x: [f64; 40] = input();
         let y = g(x);",
        &["y"],
    );
    assert!(plan.contains("# g (in place)"), "{plan}");
    assert!(lines(&plan, "scratch ").iter().all(|line| line.ends_with("f64[40]")), "{plan}");
}

#[test]
fn batches_and_convolutions_are_matrix_products() {
    let batched = plan(
        "let A: [f32; 8, 32, 16] = input();
         let B: [f32; 8, 16, 24] = input();
         let C[b, i, j] = sum[k](A[b, i, k] * B[b, k, j]);",
        &["C"],
    );
    assert!(batched.contains("gemm(32, 24, 16)"), "{batched}");
    let convolution = plan(
        "let X: [f32; 2, 8, 20, 20] = input();
         let W: [f32; 16, 8, 3, 3] = input();
         let Y[b, oc, oh, ow] = sum[ic, kh, kw](X[b, ic, oh + kh, ow + kw] * W[oc, ic, kh, kw]);",
        &["Y"],
    );
    assert!(convolution.contains("scratch matrix"), "{convolution}");
    assert_eq!(convolution.matches("gemm(").count(), 1, "{convolution}");
}

#[test]
fn a_recurrence_keeps_what_is_looked_at() {
    let two = plan(
        "let x: [f32; 500, 8] = input();
         let h[0, j] = x[0, j];
         let h[t in 1..500, j] = 0.5 * h[t - 1, j] + x[t, 7 - j];
         let last = h[499];",
        &["last"],
    );
    // Every cell depends on its own past only, so one tile of cells runs through all steps, in place.
    assert_eq!(lines(&two, "local "), ["local h_2: f32[64]"], "{two}");
    let mixed = plan(
        "let h0: [f32; 50] = input();
         let h[0, j] = h0[j];
         let h[1, j] = h0[j];
         let h[t in 2..400, j in 1..49] = h[t - 1, j - 1] + h[t - 2, j + 1];
         let last = h[399];",
        &["last"],
    );
    assert_eq!(lines(&mixed, "scratch "), ["scratch h_2: f32[150]"], "{mixed}");
    let wave = plan(
        "let h0: [f32; 50] = input();
         let h[0, j] = h0[j];
         let h[1, j] = h0[j];
         let h[t in 2..400, j in 1..49] = h[t - 1, j - 1] + h[t - 1, j + 1] - h[t - 2, j];
         let last = h[399];",
        &["last"],
    );
    // A new cell takes the place of the one it reads two steps back.
    assert_eq!(lines(&wave, "scratch "), ["scratch h_2: f32[100]"], "{wave}");
    let all = plan(
        "let h[0] = 1.0;
         let h[t in 1..100] = 0.5 * h[t - 1];",
        &["h"],
    );
    assert_eq!(lines(&all, "output "), ["output h_0: f32[100]"], "{all}");
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
fn gradients_share_one_sweep() {
    let plan = plan(
        "let X: [f32; n: 32, in: 24] = input();
         let W1: [f32; in: 24, h: 40] = input();
         let W2: [f32; h: 40, c: 16] = input();
         let z[n, h] = sum[in](X[n, in] * W1[in, h]);
         let a[n, h] = if z[n, h] > 0.0 { z[n, h] } else { 0.0 };
         let y[n, c] = sum[h](a[n, h] * W2[h, c]);
         let loss = sum[n, c](y[n, c] * y[n, c]);
         let g1 = @loss / @W1;
         let g2 = @loss / @W2;",
        &["g1", "g2"],
    );
    // Two products forward, and one for each of `a`, `W1` and `W2` backward.
    assert_eq!(plan.matches("gemm(").count(), 5, "{plan}");
}

/// LU factorisation by taking a row and a column away.
const LU: &str = "fn lu(a: [f64; row: ?n, col: ?n]) -> [f64; row: ?n, col: ?n] {
        if extent(row) <= 1 { a } else {
            let top = first[row](a);
            let below = rest[row](a);
            let pivot = first[col](top);
            let across = rest[col](top);
            let column = first[col](below);
            let body = rest[col](below);
            let m[row] = column[row] / pivot;
            let s[row, col] = body[row, col] - m[row] * across[col];
            join[row](top, join[col](m, lu(s)))
        }
    }";

#[test]
fn recursion_on_blocks_works_in_one_buffer() {
    let plan =
        plan(&format!("{LU}\nlet a: [f64; row: 20, col: 20] = input();\nlet f = lu(a);"), &["f"]);
    assert!(plan.contains("# lu (in place)"), "{plan}");
    assert!(lines(&plan, "scratch ").is_empty() && lines(&plan, "local ").is_empty(), "{plan}");
    assert_eq!(lines(&plan, "output ").len(), 1, "{plan}");
}

#[test]
fn updates_of_many_steps_are_made_in_one_pass() {
    let plan =
        plan(&format!("{LU}\nlet a: [f64; row: 64, col: 64] = input();\nlet f = lu(a);"), &["f"]);
    // Eight rows of factors and eight rows of the result for every cell that is read and written.
    let last = plan.rfind("vector() for").expect("the last steps are loops, too");
    let blocks = plan[..last].lines().filter(|line| line.contains("sub ")).count();
    assert!(blocks >= 8, "{plan}");
    assert!(lines(&plan, "scratch ").is_empty(), "{plan}");
}

#[test]
fn a_reversal_by_recursion_writes_each_element_once() {
    let plan = plan(
        "fn reversed(x: [f64; i: ?n]) -> [f64; i: ?n] {
             if extent(i) <= 1 { x } else { join[i](reversed(rest[i](x)), first[i](x)) }
         }
         let x: [f64; i: 1000000] = input();
         let r = reversed(x);",
        &["r"],
    );
    assert_eq!(lines(&plan, "store ").len(), 2, "{plan}");
    assert!(lines(&plan, "scratch ").is_empty(), "{plan}");
}

#[test]
fn back_substitution_reads_the_inner_result_where_it_is() {
    let plan = plan(
        "fn solve(u: [f64; row: ?n, col: ?n], b: [f64; row: ?n]) -> [f64; col: ?n] {
             if extent(row) == 0 { let none[col in 0..extent(row)] = 0.0 as f64; none } else {
                 let top = first[row](u);
                 let across = rest[col](top);
                 let inner = solve(rest[col](rest[row](u)), rest[row](b));
                 let known = sum[col](across[col] * inner[col]);
                 join[col]((first[row](b) - known) / first[col](top), inner)
             }
         }
         let u: [f64; row: 30, col: 30] = input();
         let b: [f64; row: 30] = input();
         let x = solve(u, b);",
        &["x"],
    );
    assert!(plan.contains("backward for"), "{plan}");
    assert!(lines(&plan, "scratch ").is_empty(), "{plan}");
}

#[test]
fn only_adjoints_of_recurrences_are_flushed() {
    let gradient = plan(DECAY, &["g"]);
    // Once for each kind of segments: the first, the last, those between.
    assert_eq!(gradient.matches("flushed for ").count(), 3, "{gradient}");
    // What the program itself computes keeps its subnormal numbers.
    let flushed = gradient.find("flushed for ").unwrap_or(0);
    let tanh = gradient.rfind("tanh ").unwrap_or(usize::MAX);
    assert!(tanh < flushed, "{gradient}");
    let value = plan(DECAY, &["loss"]);
    assert!(!value.contains("flushed"), "{value}");
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
fn scratch_that_is_not_used_together_is_one_buffer() {
    let chain = plan(
        "let A: [f32; 64, 64] = input();
         let B[i, j] = sum[k](A[i, k] * A[k, j]);
         let C[i, j] = sum[k](B[i, k] * A[k, j]);
         let D[i, j] = sum[k](C[i, k] * A[k, j]);
         let E[i, j] = sum[k](D[i, k] * A[k, j]);",
        &["E"],
    );
    // `B` is of no use any more when `D` is made.
    let kept = ["scratch B_2: f32[4096]", "scratch C_3: f32[4096]"];
    assert_eq!(lines(&chain, "scratch "), kept, "{chain}");
}

#[test]
fn tables_are_filled_in_tiles_along_diagonals() {
    let table = |extent: usize| {
        let last = extent + 1;
        format!(
            "let D[0, j in 0..{last}] = j;
             let D[i in 1..{last}, 0] = i;
             let D[i in 1..{last}, j in 1..{last}] =
                 min(min(D[i - 1, j], D[i, j - 1]) + 1, D[i - 1, j - 1] + (i * j) % 3);"
        )
    };
    let large = plan(&table(2000), &["D"]);
    assert_eq!(large.matches("parallel(1) for").count(), 1, "{large}");
    // A small table is not worth the threads.
    let small = plan(&table(200), &["D"]);
    assert!(!small.contains("parallel"), "{small}");
}

#[test]
fn derivatives_say_how_they_are_computed() {
    let network = "use std::math::tanh;
         let x: [f64; 8, 4] = input();
         let w: [f64; 4, 3] = input();
         let b: [f64; 3] = input();
         let h[n, k] = tanh(sum[i](x[n, i] * w[i, k]) + b[k]);
         let loss = sum[n, k](h[n, k] * h[n, k]);";
    let derivatives = |rest: &str| -> Vec<String> {
        let plan = plan(&format!("{network}\n{rest}"), &["g"]);
        lines(&plan, "# derivative").iter().map(|line| line.to_string()).collect()
    };
    // Requests on one target share a sweep.
    assert_eq!(
        derivatives("let a = @loss / @w; let c = @loss / @b; let g = @loss / @x;"),
        ["# derivative @loss / @w, @b, @x: one reverse sweep; reads x, w, h"]
    );
    assert_eq!(
        derivatives("let g[n in 0..8] = @h[n, 1] / @b[1];"),
        ["# derivative @h / @b: a column: one tangent"]
    );
    assert_eq!(
        derivatives("let g[k in 0..3] = @h[2, k] / @b[k];"),
        ["# derivative @h / @b: an entry: only the points between; reads h"]
    );
    assert_eq!(
        derivatives("let g = vjp(h, w, h);"),
        ["# derivative @h / @w: a product: one reverse sweep; reads x, h"]
    );
    assert_eq!(
        derivatives("let g = jvp(h, w, w);"),
        ["# derivative @h / @w: a product: one tangent"]
    );
    assert_eq!(
        derivatives("let g[i in 0..4] = @h[2, 1] / @w[i, 0];"),
        ["# derivative @h / @w: a row: one reverse sweep; reads x, h"]
    );
    assert_eq!(
        derivatives(
            "fn again(n: i32, v: f64) -> f64 { if n <= 0 { v } else { 2.0 * again(n - 1, v) } }
             let s = sum[k](again(3, b[k])); let g = @s / @b;"
        ),
        ["# derivative @s / @b: all of it, by columns: a tangent for each element of the \
          parameter; no adjoints because of a recursive function"]
    );
}

#[test]
fn all_of_a_derivative_goes_the_cheaper_way() {
    let columns = "all of it, by columns: a tangent for each element of the parameter";
    let rows = "all of it, by rows: a reverse sweep for each element of the target";
    // A dense map from n numbers to m, as the function that asks knows them.
    for (m, n, way) in [
        ("3", "20", rows),
        ("20", "3", columns),
        ("8", "8", columns),
        ("3", "?n", rows),
        ("?m", "3", columns),
        ("?m", "?n", columns),
    ] {
        let known = |extent: &str| extent.parse().unwrap_or(10);
        let text = format!(
            "fn all(w: [f64; {m}, {n}], x: [f64; {n}]) -> f64 {{
                 let y[i] = sum[j](w[i, j] * x[j]);
                 let J = @y / @x;
                 max[i, j](J[i, j])
             }}
             let w: [f64; {0}, {1}] = input();
             let x: [f64; {1}] = input();
             let g = all(w, x);",
            known(m),
            known(n)
        );
        let plan = plan(&text, &["g"]);
        assert_eq!(
            lines(&plan, "# derivative"),
            [format!("# derivative @y / @x: {way}")],
            "{text}"
        );
    }
}

#[test]
fn a_band_takes_as_many_sweeps_as_it_is_wide() {
    let program = |length: usize, read: &str| {
        let last = length - 1;
        let text = format!(
            "let x: [f64; {length}] = input();
             let h[i] = x[i] * x[i];
             let y[i in 1..{last}] = h[i - 1] * h[i + 1];
             let J = @y / @x;
             {read}"
        );
        plan(&text, &["g"])
    };
    for (read, cells) in [
        ("let g = sum[i, j](J[i, j] ** 2);", 0),
        ("let g = max[i, j](J[i, j]);", 0),
        ("let g = J;", 299 * 300),
    ] {
        let plan = program(300, read);
        assert_eq!(
            lines(&plan, "# derivative"),
            ["# derivative @y / @x: all of it, banded -1..1: 3 tangents"]
        );
        // Nothing has as many cells as the matrix but the matrix itself.
        for line in lines(&plan, "scratch ").iter().chain(&lines(&plan, "output ")) {
            let extents = line.split(['[', ']']).nth(1).unwrap_or("");
            let size: usize =
                extents.split(", ").filter_map(|it| it.parse::<usize>().ok()).product();
            assert!(size <= 900 || size == cells, "{line}\n{plan}");
        }
        let larger = program(3000, read);
        assert_eq!(plan.matches(" for ").count(), larger.matches(" for ").count(), "{larger}");
    }
    // Where there are no adjoints, a product is a sum over the band.
    let product = plan(
        "fn f(n: i32, v: f64) -> f64 { if n <= 0 { v } else { v * f(n - 1, v) } }
         let x: [f64; 300] = input();
         let y[i] = f(2, x[i]);
         let g = vjp(y, x, x);",
        &["g"],
    );
    assert_eq!(
        lines(&product, "# derivative"),
        ["# derivative @y / @x: all of it, diagonal: one tangent; no adjoints because of a \
          recursive function"]
    );
    // A sum over entries runs over the band only.
    let sum = program(300, "let g = sum[i, j](J[i, j] ** 2);");
    let inner = lines(&sum, "vector(add");
    assert!(inner.len() == 1 && !inner[0].contains("0..300"), "{sum}");
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
fn the_rim_of_a_ring_is_cleared_once_for_each_place() {
    let plan = plan(
        "let start: [f32; 40, 40] = input();
         let u[0, i in 0..40, j in 0..40] = start[i, j];
         let u[t in 1..100, i in 1..39, j in 1..39] =
             u[t - 1, i - 1, j] + u[t - 1, i + 1, j] - u[t - 1, i, j - 1] + u[t - 1, i, j + 1];
         let last = u[99];",
        &["last"],
    );
    // Two places, so two steps have something to clear.
    assert!(plan.contains(": bool = lt ") && plan.contains(", 3\n"), "{plan}");
    assert_eq!(lines(&plan, "if ").len(), 1, "{plan}");
}

/// A convolution of a stack of images, and its gradient by the image and by the kernel.
fn convolution(stride: usize, spread: usize, channels_last: bool) -> String {
    let extent = (32 - spread * 2) / stride + 1;
    let (y, x) = (format!("{stride} * y + {spread} * i"), format!("{stride} * x + {spread} * j"));
    let declared = if channels_last {
        format!(
            "let X: [f32; b: 4, y: 33, x: 33, c: 8] = input();
             let W: [f32; i: 3, j: 3, c: 8, o: 16] = input();
             let A[b, y in 0..{extent}, x in 0..{extent}, o] =
                 sum[i, j, c](W[i, j, c, o] * X[b, {y}, {x}, c]);
             let loss = mean[b, y, x, o](A[b, y, x, o] * A[b, y, x, o]);"
        )
    } else {
        format!(
            "let X: [f32; b: 4, c: 8, y: 33, x: 33] = input();
             let W: [f32; o: 16, c: 8, i: 3, j: 3] = input();
             let A[b, o, y in 0..{extent}, x in 0..{extent}] =
                 sum[c, i, j](X[b, c, {y}, {x}] * W[o, c, i, j]);
             let loss = mean[b, o, y, x](A[b, o, y, x] * A[b, o, y, x]);"
        )
    };
    format!("{declared}\nlet gx = @loss / @X;\nlet gw = @loss / @W;")
}

#[test]
fn gradients_of_convolutions_are_matrix_products() {
    for (stride, spread) in [(1, 1), (2, 1), (3, 1), (1, 2)] {
        for channels_last in [false, true] {
            let plan = plan(&convolution(stride, spread, channels_last), &["loss", "gx", "gw"]);
            let products = plan.lines().filter(|line| line.contains("(contraction)")).count();
            let what = format!("stride {stride}, spread {spread}, channels last: {channels_last}");
            assert_eq!(products, 3, "{what}\n{plan}");
        }
    }
}

#[test]
fn copies_of_convolutions_stay_in_the_cache() {
    let plan = plan(&convolution(1, 1, false), &["loss"]);
    // A matrix for one image, made again for the next one.
    assert_eq!(lines(&plan, "scratch matrix").len(), 1, "{plan}");
    let rows = 8 * 3 * 3 * 31 * 31;
    assert!(lines(&plan, "scratch matrix")[0].ends_with(&format!("f32[{rows}]")), "{plan}");
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

/// A gradient that reads the history of a recurrence.
const RETURN: &str = "use std::math::tanh;
     let R: [f32; 8, 8] = input();
     let h[0, j in 0..8] = 0.5;
     let h[t in 1..1000, j in 0..8] = tanh(sum[k](R[j, k] * h[t - 1, k]));
     let loss = sum[j](h[999, j] * h[999, j]);
     let g = @loss / @R;";

#[test]
fn a_history_is_stored_if_it_fits() {
    let plan = plan_within(RETURN, &["g"], Some(32_000));
    let note = "# h (history of 1000 steps stored, read back in segments of 32): 32000 bytes";
    assert!(plan.contains(note), "{plan}");
    // The history with one step before it; of the adjoint a segment with one step after it.
    assert_eq!(lines(&plan, "scratch h_"), ["scratch h_2: f32[8008]"], "{plan}");
    assert_eq!(lines(&plan, "scratch t_")[0], "scratch t_3: f32[328]", "{plan}");
}

#[test]
fn a_history_that_does_not_fit_is_checkpointed() {
    let plan = plan_within(RETURN, &["g"], Some(31_999));
    let note = "# h (checkpointed every 32 of 1000 steps, recomputed on the way back): the history \
                would take 32000 bytes of 31999";
    assert!(plan.contains(note), "{plan}");
    // A segment with one step before it; one step before each of the 31 segments.
    let kept = ["scratch h_2: f32[328]", "scratch h_3: f32[248]"];
    assert_eq!(lines(&plan, "scratch h_"), kept, "{plan}");
    // Forward through three kinds of segments, and through two of them again on the way back.
    assert_eq!(plan.matches(" = tanh ").count(), 5, "{plan}");
}

#[test]
fn a_few_steps_are_cut_if_they_are_large() {
    let text = |cells: i64| {
        format!(
            "use std::math::sin;
             let p: [f32; {cells}] = input();
             let u[0, i in 0..{cells}] = 0.5;
             let u[t in 1..50, i in 0..{cells}] = u[t - 1, i] + p[i] * sin(u[t - 1, i]);
             let loss = sum[i](u[49, i] * u[49, i]);
             let g = @loss / @p;"
        )
    };
    let large = plan_within(&text(10_000), &["g"], Some(1));
    assert!(large.contains("# u (checkpointed every 8 of 50 steps"), "{large}");
    let small = plan_within(&text(10), &["g"], Some(1));
    assert!(small.contains("# a history is stored whole: it has few steps"), "{small}");
}

#[test]
fn a_history_that_is_looked_at_is_stored() {
    let plan = plan_within(RETURN, &["g", "h"], Some(1));
    let note = "# a history is stored whole: it is an output, or there is none to read";
    assert!(plan.contains(note) && !plan.contains("checkpointed"), "{plan}");
}

#[test]
fn several_layers_and_depths_are_checkpointed() {
    let layers = "use std::math::{sin, tanh};
         let p: [f32; 2] = input();
         let a[0] = 0.1;
         let a[1] = p[0];
         let a[t in 2..400] = tanh(p[0] * a[t - 1] + p[1] * a[t - 2] + sin(0.1 * (t as f32)));
         let b[0, i in 0..3] = 0.2;
         let b[t in 1..400, i in 0..3] = tanh(b[t - 1, i] + p[1] * a[t]);
         let loss = sum[t, i](b[t, i] * b[t, i]);
         let g = @loss / @p;";
    let plan = plan_within(layers, &["g", "loss"], Some(100));
    let note = "# a, b (checkpointed every 32 of 400 steps, recomputed on the way back): the history \
                would take 6400 bytes of 100";
    assert!(plan.contains(note), "{plan}");
}

#[test]
fn the_storage_of_a_history_is_reported() {
    let input = Input::Text { name: "program.ein".into(), text: RETURN.into() };
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let mut report = |ad_memory| {
        let options = DumpOptions { observe: Some(vec!["g".into()]), ad_memory: Some(ad_memory) };
        let (text, report) = session.dump_storage(&input, &options).expect("no internal error");
        assert!(!report.has_errors(), "{:?}", report.diagnostics);
        text
    };
    let line =
        "h: checkpointed: checkpointed every 32 steps, recomputed where derivatives read it\n";
    let text = report(1000);
    assert!(text.contains(line), "{text}");
    let text = report(100_000);
    assert!(text.contains("h: full: derivatives read its history back\n"), "{text}");
}

#[test]
fn the_end_of_a_recurrence_may_be_a_slice() {
    let steps = "let h[0] = 1.0;
         let h[t in 1..100] = 0.5 * h[t - 1] + 1.0;
         let back[99] = 1.0;
         let back[t in 0..99] = 0.5 * back[t + 1] + 1.0;
         let x: [f64; ?] = input();
         let sums[0] = x[0];
         let sums[t in 1..len(x)] = sums[t - 1] + x[t];
         let total = sums[-1];
         let unread = h;
         let last = h[97..100];
         let end = drop[#0](h, 98);
         let first = back[0..4];";
    let input = Input::Text { name: "program.ein".into(), text: steps.into() };
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let mut report = |observe: &[&str]| {
        let observe = Some(observe.iter().map(|name| (*name).to_owned()).collect());
        let options = DumpOptions { observe, ad_memory: None };
        let (text, report) = session.dump_storage(&input, &options).expect("no internal error");
        assert!(!report.has_errors(), "{:?}", report.diagnostics);
        text
    };
    let text = report(&["last", "end", "first"]);
    assert!(text.contains("h: ring of 3"), "{text}");
    assert!(text.contains("back: ring of 4"), "{text}");
    let text = report(&["end", "total"]);
    assert!(text.contains("h: ring of 2"), "{text}");
    assert!(text.contains("sums: ring of 2"), "{text}");
    let text = report(&["unread"]);
    assert!(text.contains("h: full"), "{text}");
}

#[test]
fn positions_around_a_grid_of_any_size_are_loops() {
    let text = plan(
        "fn wave(x: [f64; ?n], steps: i32) -> [f64; ?n] {
             let v[0, i] = x[i];
             let v[t in 1..steps, i in 0..?n] = 0.5 * (v[t - 1, (i + 1) % ?n] + v[t - 1, i]);
             v[steps - 1]
         }
         let s[i in 0..64] = i as f64;
         let y = wave(s, 1000);",
        &["y"],
    );
    assert!(!text.contains("host"), "{text}");
}

#[test]
fn a_rule_that_calls_its_own_function_has_adjoints() {
    let text = plan(
        "fn grow(a: f64) -> f64 { 2.0 ** a }
         @fn grow(a) { 0.6931471805599453 * grow(a) * @a }
         let w[i in 0..30, j in 0..30] = ((i + j) % 7) as f64;
         let y[i] = grow(sum[j](w[i, j]));
         let loss = sum[i](y[i]);
         let g = @loss / @w;",
        &["g"],
    );
    assert!(!text.contains("by columns"), "{text}");
    assert!(!text.contains("recursive"), "{text}");
}
