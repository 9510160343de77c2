//! Reductions: what runs in vectors, what is written out and what takes one pass.

use crate::{lines, plan};

#[test]
fn integers_are_reduced_in_vectors() {
    let all = plan("let t: [i32; 4000000] = input(); let n = sum[i](t[i]);", &["n"]);
    assert!(all.contains("vector(add r"), "{all}");
    let rows = plan("let t: [i32; 64, 500] = input(); let n[i] = max[j](t[i, j]);", &["n"]);
    assert!(rows.contains("vector(max r"), "{rows}");
    // What surely fits 32 bits is added in them.
    let count =
        plan("let x: [f32; 64, 500] = input(); let n[i] = count[j](x[i, j] > 0.5);", &["n"]);
    assert!(count.contains(": i32 = 0i32") && !count.contains("i64 = cast"), "{count}");
    let long = plan("let t: [i32; 64, 500] = input(); let n[i] = sum[j](t[i, j]);", &["n"]);
    assert!(long.contains(": i64 = 0") && long.contains("vector(add"), "{long}");
    // Products are checked at each step, and a few terms have no use for lanes.
    for source in [
        "let t: [i32; 64, 500] = input(); let n[i] = prod[j](t[i, j]);",
        "let t: [i32; 64, 5] = input(); let n[i] = sum[j](t[i, j]);",
    ] {
        let checked = plan(source, &["n"]);
        assert!(!checked.contains("vector(add") && !checked.contains("vector(mul"), "{checked}");
    }
}

#[test]
fn integers_have_rows_of_accumulators() {
    let product = plan(
        "let A: [i32; 128, 128] = input();
         let B: [i32; 128, 128] = input();
         let C[i, j] = sum[k](A[i, k] * B[k, j]);",
        &["C"],
    );
    assert_eq!(lines(&product, "local row_").len(), 1, "{product}");
    assert_eq!(lines(&product, "for ").len() + 1, lines(&product, "vector() for ").len());
    let count =
        plan("let x: [f32; 500, 64] = input(); let n[j] = count[i](x[i, j] > 0.5);", &["n"]);
    assert!(count.contains("local row_2: i32[64]"), "{count}");
}

#[test]
fn points_are_counted_in_vectors() {
    for source in [
        "let x: [f32; 64, 500] = input(); let m[i] = mean[j](x[i, j] where x[i, j] > 0.0);",
        "let x: [i32; 64, 500] = input(); let m[i] = max[j](x[i, j] where x[i, j] < 9);",
    ] {
        let plan = plan(source, &["m"]);
        assert!(plan.contains("vector(") && plan.contains(", add r"), "{plan}");
    }
}

#[test]
fn addresses_of_integers_are_found_in_vectors() {
    let plan = plan("let x: [i32; 64, 500] = input(); let a[i] = argmax[j](x[i, j]);", &["a"]);
    assert!(plan.contains("vector(max r") && plan.contains("vector(min r"), "{plan}");
    assert!(!plan.contains("f32"), "{plan}");
}

#[test]
fn sums_for_each_key_take_one_pass() {
    let keys = "let t: [i32; 9000] = input(); let v: [f32; 9000] = input();";
    let rows = "let t: [i32; 40, 300] = input(); let v: [f32; 40, 300, 8] = input();";
    for (declared, sums) in [
        (keys, "let h[b in 0..100] = count[i](t[i] == b);"),
        (keys, "let h[b in 0..100] = count[i](b == t[i] && v[i] > 0.0);"),
        (keys, "let h[b in 0..100] = sum[i](v[i] where t[i] == b);"),
        (keys, "let h[b in 0..100] = sum[i](v[i] * b as f32 where t[i] == b);"),
        (keys, "let h[b in 0..100] = sum[i](if t[i] == b { v[i] * v[i] } else { 0.0 });"),
        (rows, "let h[r, b in 0..100] = count[i](t[r, i] == b);"),
        (rows, "let h[b in 0..100, d] = sum[r, i](v[r, i, d] where t[r, i] == b);"),
    ] {
        let plan = plan(&format!("{declared}\n{sums}"), &["h"]);
        assert!(!plan.contains("eq "), "{sums}\n{plan}");
    }
    // The cells of a key are filled in vectors.
    let filled = plan(
        &format!("{rows}\nlet h[b in 0..100, d] = sum[r, i](v[r, i, d] where t[r, i] == b);"),
        &["h"],
    );
    assert_eq!(lines(&filled, "vector() for").len(), 3, "{filled}");
    // Rows with keys of their own are shared by threads.
    let shared = plan(
        "let t: [i32; 64, 20000] = input(); let h[r, b in 0..100] = count[i](t[r, i] == b);",
        &["h"],
    );
    assert!(shared.contains("parallel(1) for r2 in 0..64"), "{shared}");
    for (declared, sums) in [
        // Few keys, a sum that may not fit, no zero.
        (keys, "let h[b in 0..10] = count[i](t[i] == b);"),
        (keys, "let h[b in 0..100] = sum[i](t[i] where t[i] == b);"),
        (keys, "let h[b in 0..100] = sum[i](if t[i] == b { v[i] } else { 1.0 });"),
    ] {
        let plan = plan(&format!("{declared}\n{sums}"), &["h"]);
        assert!(plan.contains("eq "), "{sums}\n{plan}");
    }
}

#[test]
fn windows_of_a_few_cells_are_written_out() {
    let window = |of: &str, op: &str, size: u32| {
        let source = format!(
            "let x: [{of}; 80, 80] = input();
             let y[i in 0..64, j in 0..64] =
                 {op}[a in 0..{size}, b in 0..{size}](x[i + a, j + b]);"
        );
        plan(&source, &["y"])
    };
    for (of, op) in [("f32", "sum"), ("f64", "mean"), ("i32", "max"), ("i32", "sum")] {
        let few = window(of, op, 3);
        assert!(!few.contains("var ") && few.contains("vector() for"), "{few}");
        // More of them are taken into a row of accumulators, which runs along memory.
        let many = window(of, op, 7);
        assert!(!many.contains("var ") && many.contains("local row"), "{many}");
    }
}

#[test]
fn windows_around_an_edge_are_cut_there() {
    let row = |at: &str| {
        let source = format!(
            "let x: [f32; 80, 80] = input();
             let y[i in 0..80, j in 0..80] = sum[a in 0..3](x[(i + a + 79) % 80, {at}]);"
        );
        plan(&source, &["y"])
    };
    // Between the edges nothing is divided for a cell; the row is known before the cells are.
    for at in ["(j + a + 79) % 80", "min(j + 1, 79)", "(i + j) % 80"] {
        let plan = row(at);
        let loops: Vec<&str> = plan.split("vector() for").skip(1).collect();
        assert!(!loops.is_empty(), "{at}\n{plan}");
        for body in loops {
            let body = body.split('}').next().unwrap_or_default();
            assert!(!body.contains("rem ") && !body.contains("min "), "{at}\n{plan}");
        }
    }
    // Too many edges, and one that data decide.
    for at in ["(7 * j) % 80", "(j + x[0, 0] as i32) % 80"] {
        assert!(row(at).contains("mod ") || row(at).contains("rem "), "{at}");
    }
}

#[test]
fn terms_that_all_cells_share_are_computed_once() {
    let steps = |inside: &str| {
        let source = format!(
            "use std::math::exp;
             let X: [f64; 500, 20] = input();
             let w[0, j in 0..20] = 0.0f64;
             let w[t in 1..9, j in 0..20] =
                 w[t - 1, j] - sum[i](X[i, j] * exp(-sum[k](X[i, k] * w[t - 1, {inside}])));
             let last[j] = w[8, j];"
        );
        plan(&source, &["last"])
    };
    assert!(steps("k").contains("f64[500]\n"), "{}", steps("k"));
    assert!(!steps("(j + k) % 20").contains("f64[500]\n"));
}

#[test]
fn what_is_done_with_long_rows_of_sums_runs_in_vectors() {
    let rows = |count: u32| {
        let source = format!(
            "use std::math::exp;
             let X: [f64; {count}, 20] = input();
             let w: [f64; 20] = input();
             let p[i] = 1.0 / (1.0 + exp(-sum[k](X[i, k] * w[k])));"
        );
        plan(&source, &["p"])
    };
    let in_vectors = |plan: &str| {
        let loops: Vec<&str> = plan.split("vector() for").skip(1).collect();
        loops.iter().any(|body| body.split('}').next().is_some_and(|body| body.contains("exp ")))
    };
    assert!(in_vectors(&rows(500)) && in_vectors(&rows(5000)), "{}", rows(5000));
    // A prime number of cells has no even tiles.
    assert!(!in_vectors(&rows(5003)), "{}", rows(5003));
}

#[test]
fn sums_for_keys_read_by_the_point_and_for_pairs_of_keys() {
    let source = "let s: [i32; 9000] = input();
        let d: [i32; 9000] = input();
        let h: [f32; 100, 4] = input();
        let y[v in 0..100, c] = sum[e](h[s[e], c]) where d[e] == v;
        let n[a in 0..10, b in 0..10] = count[e](s[e] == a && d[e] == b);";
    for (name, cells) in [("y", "y"), ("n", "n")] {
        let plan = plan(source, &[name]);
        assert!(!plan.contains("eq "), "{cells}\n{plan}");
    }
}

#[test]
fn truths_have_rows_of_accumulators() {
    let plan = plan("let a: [bool; 300, 400] = input(); let r[j] = any[i](a[i, j]);", &["r"]);
    assert!(plan.contains("local row") && plan.contains("or "), "{plan}");
}

#[test]
fn powers_in_a_sum_of_powers_are_products() {
    let sum = |exponent: &str| {
        let source = format!(
            "let x: [f64; 1000] = input();
             let c: [f64; 9] = input();
             let y[i] = sum[k](c[k] * x[i] ** ({exponent}));"
        );
        plan(&source, &["y"])
    };
    assert!(!sum("k").contains("pow "), "{}", sum("k"));
    // Here products would be further from the powers than the sum is from its terms.
    assert!(sum("k + 30").contains("pow "), "{}", sum("k + 30"));
}

#[test]
fn sums_of_long_integers_are_sums_of_halves() {
    let sum = |of: &str, length: u32| {
        let source = format!("let x: [{of}; 4, {length}] = input();\nlet s[i] = sum[j](x[i, j]);");
        plan(&source, &["s"])
    };
    let long = sum("i64", 1000);
    assert!(long.contains("floordiv") && long.contains("vector(add"), "{long}");
    for other in [sum("i64", 10), sum("i32", 1000), sum("f64", 1000)] {
        assert!(!other.contains("floordiv"), "{other}");
    }
}

#[test]
fn reductions_are_computed_once_for_the_indices_they_mention() {
    let data = "use std::math::tanh;
         let x: [f32; 300, 200] = input();
         let b: [f32; 200, 100] = input();";
    // Twenty million additions if every row did them again.
    let inner = plan(
        &format!("{data} let y[i in 0..300] = sum[k](x[i, k] * tanh(sum[l](b[k, l])));"),
        &["y"],
    );
    assert_eq!(lines(&inner, "vector(add").len(), 2, "{inner}");
    assert_eq!(inner.matches(" = tanh ").count(), 1, "{inner}");
    assert!(inner.find(" = tanh ") < inner.find("load x_0"), "{inner}");
    // A column of the result, and bounds that do not begin at zero.
    let column = plan(
        &format!("{data} let y[i in 0..300, k in 5..200] = x[i, k] * tanh(sum[l](b[k, l]));"),
        &["y"],
    );
    assert!(column.find(" = tanh ") < column.find("load x_0"), "{column}");
    // Inside a step of a recurrence, for the step.
    let step = plan(
        "use std::math::tanh;
         let x: [f32; 64, 20] = input();
         let w[0, i in 0..20, j in 0..32] = (i + j) as f32;
         let w[t in 1..100, i in 0..20, j in 0..32] =
             w[t - 1, i, j] - sum[b](x[b, i] * tanh(sum[k](x[b, k] * w[t - 1, k, j])));
         let last = w[99];",
        &["last"],
    );
    assert!(lines(&step, "scratch ").iter().any(|line| line.ends_with("f32[2048]")), "{step}");
}

#[test]
fn a_sum_that_may_overflow_is_computed_even_if_nobody_reads_it() {
    let source = |term: &str| {
        format!(
            "let x: [i8; 40, 20] = input();
             let s[j] = sum[i in 0..40]({term});
             let y = 1;"
        )
    };
    assert!(plan(&source("x[i, j]"), &["y"]).contains("trap"));
    // Forty of these cannot leave the type.
    let small = plan(&source("x[i, j] % 3"), &["y"]);
    assert!(!small.contains("trap"), "{small}");
}

#[test]
fn few_terms_from_anywhere_are_added_one_by_one() {
    let plan = plan(
        "let start: [i32; 1001] = input();
         let column: [i32; 9000] = input();
         let value: [f32; 9000] = input();
         let x: [f32; 1000] = input();
         let y[row in 0..1000] = sum[p in start[row]..start[row + 1]](value[p] * x[column[p]]);",
        &["y"],
    );
    assert!(!plan.contains("vector(add"), "{plan}");
}

/// The lines of the innermost loops of a plan.
fn innermost(plan: &str) -> Vec<&str> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let deepest = plan.lines().map(depth).max().unwrap_or(0);
    plan.lines().filter(|line| depth(line) == deepest).collect()
}

#[test]
fn what_outer_loops_would_repeat_is_stored_in_a_row() {
    let declared = "let A: [f64; 300, 200] = input(); let m: [f64; 300] = input();
        let r: [f64; 200] = input(); let p: [f64; 200] = input();";
    let update = plan(&format!("{declared} let B[i, j] = A[i, j] - m[i] * (r[j] / p[j]);"), &["B"]);
    assert_eq!(lines(&update, "scratch row_").len(), 1, "{update}");
    assert!(!innermost(&update).iter().any(|line| line.contains(" div ")), "{update}");
    // The weights of a sum across rows.
    let sums =
        plan(&format!("{declared} let s[j] = sum[i](A[i, j] * (m[i] / (1.0 + m[i])));"), &["s"]);
    assert!(!innermost(&sums).iter().any(|line| line.contains(" div ")), "{sums}");
    // What is cheap, and what every cell has for itself, is not.
    for cells in ["A[i, j] - m[i] * (r[j] * 2.0)", "A[i, j] / (m[i] + r[j])"] {
        let cells = plan(&format!("{declared} let B[i, j] = {cells};"), &["B"]);
        assert!(!cells.contains("row_"), "{cells}");
    }
}

#[test]
fn divisions_by_constants_are_multiplications_in_vectors() {
    for ty in ["f32", "f64"] {
        let x = format!("let x: [{ty}; 5000] = input();");
        for cells in ["x[i] / 3.0", "1.0 + x[i] / 0.7", "x[i] / -8.0"] {
            let cells = plan(&format!("{x} let y[i] = {cells};"), &["y"]);
            assert!(!cells.contains(" div "), "{cells}");
        }
        // Not by numbers the reciprocals of which are none of ordinary size, nor by variables.
        let divided = plan(&format!("{x} let y[i] = x[i] / 0.0;"), &["y"]);
        assert!(divided.contains(" div "), "{divided}");
    }
}
