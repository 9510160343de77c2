//! Derivatives: which way they go, and what they keep.

use crate::{lines, plan, plan_within};
use ein_driver::{DumpOptions, FileSources, Input, Options, Session};

/// Programs whose plan differs in one thing: what flows back through steps decays.
const DECAY: &str = "use std::math::tanh;
     let R: [f32; 16, 16] = input();
     let x: [f32; 90, 16] = input();
     let h[0, j] = x[0, j];
     let h[t in 1..90, j] = tanh(sum[k](R[j, k] * h[t - 1, k]) + x[t, j]);
     let loss = sum[j](h[89, j] * h[89, j]);
     let g = @loss / @R;";

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
    // Packs that stand for no axes make definitions of none.
    assert_eq!(
        derivatives(
            "fn share[j](v: [f64; ..l, j, ..r]) -> [f64; ..l, j, ..r] {
                 let total[..l, ..r] = sum[j](v[..l, j, ..r]);
                 v[..l, j, ..r] / total[..l, ..r]
             }
             let p[n, k] = share[k](h[n, k]); let s = sum[n](p[n, 0]); let g = @s / @b;"
        ),
        ["# derivative @s / @b: one reverse sweep; reads h"]
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
        let options = DumpOptions {
            observe: Some(vec!["g".into()]),
            ad_memory: Some(ad_memory),
            ..DumpOptions::default()
        };
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

#[test]
fn a_call_in_a_recurrence_is_pulled_back_for_all_elements_at_once() {
    let network = "use std::math::tanh;
         let w: [f64; 128, 128] = input();
         let x: [f64; 12] = input();
         let h0: [f64; 128] = input();
         fn cell(h: [f64; 128], x: f64, w: [f64; 128, 128]) -> [f64; 128] {
             let z[i] = tanh(sum[j](w[i, j] * h[j]) + x);
             let y[i] = tanh(sum[j](w[i, j] * z[j]));
             y
         }
         let h[0] = h0;
         let h[t in 1..12] = cell(h[t - 1], x[t], w);
         let l = sum[i](h[11, i] ** 2);
         let g = @l / @w;";
    let plan = plan(network, &["g"]);
    // Nothing is kept for each pair of elements and each step; the gradient is a sum of two products.
    let stored = lines(&plan, "scratch");
    // Rows of twelve steps, or of the eleven that are computed.
    let sizes = ["f64[1408]", "f64[1536]", "f64[16384]"];
    let fits = |line: &&str| sizes.iter().any(|size| line.ends_with(size));
    assert!(stored.iter().all(fits), "{plan}");
    assert!(stored.iter().filter(|line| line.ends_with("f64[16384]")).count() <= 2, "{plan}");
}

#[test]
fn what_flows_back_through_a_reshape_is_reshaped() {
    let text = plan(
        "fn flat(x: [f32; ?a, ?b], n: i32) { reshape(x, [n, ?a * ?b / n]) }
         let x: [f32; 24, 32] = input();
         let y = flat(x, 16);
         let loss = sum[i, j](y[i, j] ** 2);
         let g = (@loss / @x) + 0.0;",
        &["g"],
    );
    assert!(text.contains("one reverse sweep"), "{text}");
    assert!(!text.contains("by columns"), "{text}");
}
