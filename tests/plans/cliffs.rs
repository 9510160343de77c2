//! Forms that once fell off a cliff: what they must become.

use crate::{lines, plan};

#[test]
fn steps_of_batched_layers_are_products() {
    let layer = |batch: usize, units: usize| {
        format!(
            "let w: [f32; {units}, {units}] = input();
             let h[0, n in 0..{batch}, j in 0..{units}] = 0.5;
             let h[t in 1..100, n in 0..{batch}, j in 0..{units}] =
                 std::math::tanh(sum[k](w[j, k] * h[t - 1, n, k]));
             let end = h[99];"
        )
    };
    let plan_of = |batch, units| plan(&layer(batch, units), &["end"]);
    let batched = plan_of(8, 64);
    assert_eq!(lines(&batched, "parallel gemm(").len(), 1, "{batched}");
    // One vector at a time, or a handful of cells: a call is worth more than the product.
    assert!(!plan_of(1, 64).contains("gemm("));
    assert!(!plan_of(8, 8).contains("gemm("));
}

#[test]
fn steps_back_through_batched_layers_are_products() {
    let source = "let w: [f32; 64, 64] = input();
         let x: [f32; 50, 8, 64] = input();
         let h[0, n in 0..8, j in 0..64] = 0.0;
         let h[t in 1..51, n in 0..8, j in 0..64] =
             std::math::tanh(x[t - 1, n, j] + sum[k](w[j, k] * h[t - 1, n, k]));
         let loss = sum[n, j](h[50, n, j]);
         let dw = @loss / @w;";
    let plan = plan(source, &["dw"]);
    // Forward, back, and the sum over all steps; none of them cell by cell.
    assert!(lines(&plan, "parallel gemm(").len() >= 3, "{plan}");
    assert!(!plan.contains("vector(add"), "{plan}");
}

#[test]
fn what_steps_before_hold_is_known_by_induction() {
    let life = |rule: &str| {
        format!(
            "let start: [i32; 64, 64] = input();
             let c[0, i in 0..64, j in 0..64] = start[i, j];
             let c[t in 1..20, i in 0..64, j in 0..64] = {{
                 let around = sum[di in 0..3, dj in 0..3](c[t - 1, (i + di + 63) % 64, (j + dj + 63) % 64]);
                 {rule}
             }};
             let end = c[19];"
        )
    };
    let settled = plan(&life("if around == 3 { 1 } else { 0 }"), &["end"]);
    let later = settled.split_once("in 2..20").expect("steps that read steps of the same clause").1;
    assert!(!later.contains("trap"), "{settled}");
    // Nothing is known of what grows.
    let grows = plan(&life("around"), &["end"]);
    assert!(!grows.contains("in 2..20"), "{grows}");
}

#[test]
fn tables_over_intervals_are_read_along_memory() {
    let source = "let s: [f64; 101] = input();
         let c[i in 0..100, j in i..100] =
             if i == j { 0.0 } else { min[k in i..j](c[i, k] + c[k + 1, j] + s[k]) };
         let best = c[0, 99];";
    let plan = plan(source, &["best"]);
    assert_eq!(lines(&plan, "store c").len(), 2, "the table and its mirror: {plan}");
}

#[test]
fn addresses_across_memory_take_one_pass() {
    let across = plan(
        "let x: [f32; 100, 64, 64] = input();
         let at[t, s] = argmax[p](x[t, p, s]);",
        &["at"],
    );
    assert!(!across.contains("scratch"), "{across}");
    // Extremes, where they are, and sums that tell whether a term is no number: only then there is
    // another pass.
    assert_eq!(lines(&across, "local row").len(), 3, "{across}");
    let reads: Vec<usize> = across.split("if r").map(|it| it.matches("load x_0").count()).collect();
    assert_eq!(reads, [1, 1], "{across}");
}

#[test]
fn bounds_that_are_read_are_checked_before_the_loop() {
    let plan = plan(
        "let start: [i32; 1001] = input();
         let value: [f32; 9000] = input();
         let y[row in 0..1000] = sum[p in start[row]..start[row + 1]](value[p]);",
        &["y"],
    );
    let inside: Vec<&str> = plan.split("vector(add").skip(1).collect();
    let trapped = |body: &&str| body.split('}').next().is_some_and(|body| body.contains("trap"));
    assert!(!inside.is_empty() && !inside.iter().any(trapped), "{plan}");
}

#[test]
fn what_definitions_of_one_loop_share_is_computed_once() {
    let plan = plan(
        "let x: [f64; 5000] = input();
         let a[i] = std::math::erf(x[i]) + 1.0;
         let b[i] = 2.0 * a[i] - std::math::erf(x[i]);
         let c[i] = a[i] * b[i];",
        &["a", "b", "c"],
    );
    assert_eq!(plan.matches("= erf ").count(), 1, "{plan}");
    assert_eq!(lines(&plan, "r").iter().filter(|it| it.contains("load")).count(), 1, "{plan}");
}

#[test]
fn extremes_by_key_take_one_pass() {
    let plan = plan(
        "let key: [i32; 5000] = input();
         let v: [f32; 5000] = input();
         let top[k in 0..64] = max[i](v[i] where key[i] == k);",
        &["top"],
    );
    assert!(
        lines(&plan, "for r").len() <= 3 && !plan.contains("in 0..64 {\n      vector"),
        "{plan}"
    );
    assert!(plan.contains("store top") && !plan.contains("vector(max"), "{plan}");
}

#[test]
fn choices_by_a_short_axis_are_made_by_writing_it_out() {
    let plan = plan(
        "let x: [f32; 100, 64] = input();
         let y[i in 0..100, g in 0..3, j in 0..64] =
             if g == 0 { std::math::exp(x[i, j]) } else if g == 1 { std::math::exp(x[i, j]) * 2.0 } else { 0.0 };",
        &["y"],
    );
    assert!(!plan.contains("select"), "{plan}");
    assert_eq!(plan.matches("= exp ").count(), 1, "{plan}");
}

#[test]
fn recursion_that_branches_is_not_written_out() {
    let program = |extent: usize| {
        format!(
            "fn halves(x: [f64; ?n]) -> f64 {{
                 if len(x) <= 1 {{
                     sum(x)
                 }} else {{
                     let h = len(x) / 2;
                     let y[i in 0..len(x)] = 0.5 * x[i] + 1.0;
                     halves(y[0..h]) - halves(y[h..len(y)])
                 }}
             }}
             let x: [f64; {extent}] = input();
             let r = halves(x);"
        )
    };
    let lines = |extent: usize| plan(&program(extent), &["r"]).lines().count();
    // A small one is one kernel; of a large one the calls are left to the host.
    assert!(lines(8) > 20);
    assert!(lines(4096) < lines(8), "{}", lines(4096));
}
