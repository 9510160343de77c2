//! Storage: what recurrences, recursion and scratch keep.

use crate::{lines, plan};
use ein_driver::{DumpOptions, FileSources, Input, Options, Session};

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
fn scratch_that_is_not_used_together_is_one_buffer() {
    let chain = plan(
        "let A: [f32; 64, 64] = input();
         let B[i, j] = sum[k](A[i, k] * A[k, j]);
         let C[i, j] = sum[k](B[i, k] * A[k, j]);
         let D[i, j] = sum[k](C[i, k] * A[k, j]);
         let E[i, j] = sum[k](D[i, k] * A[k, j]);",
        &["E"],
    );
    // `B` is of no use any more when `D` is made, nor `C` when `E` is.
    let kept = ["scratch D_2: f32[4096]"];
    assert_eq!(lines(&chain, "scratch "), kept, "{chain}");
}

/// Matrices of the same size, and their product in between.
fn after_a_product(definitions: &str, observe: &str) -> String {
    let program = format!(
        "use std::math::tanh;
         let a: [f32; 200, 200] = input();
         let b: [f32; 200, 200] = input();
         let y[i, j] = sum[k](a[i, k] * b[k, j]);
         {definitions}"
    );
    plan(&program, &[observe])
}

#[test]
fn a_result_is_written_over_an_operand_that_ends_with_it() {
    let in_place = after_a_product("let z[i, j] = tanh(y[i, j]) + b[i, j];", "z");
    assert!(lines(&in_place, "scratch ").is_empty(), "{in_place}");
    let store = lines(&in_place, "store ");
    assert!(store.len() == 1 && store[0].contains("store z_"), "{in_place}");
    // The other half of a choice is also one store for each cell.
    let divided =
        after_a_product("let d[i] = max[j](b[i, j]); let z[i, j] = tanh(y[i, j]) / d[i];", "z");
    assert!(!divided.contains("scratch y"), "{divided}");
    // Two intermediates in a row.
    let chain = after_a_product(
        "let z[i, j] = tanh(y[i, j]);
         let w[i, j] = sum[k](z[i, k] * b[k, j]);
         let v[i, j] = tanh(w[i, j]) * z[i, j];",
        "v",
    );
    assert_eq!(lines(&chain, "scratch ").len(), 1, "{chain}");
}

#[test]
fn an_operand_that_is_read_elsewhere_keeps_its_place() {
    let kept = |definitions: &str, observe: &str| {
        let plan = after_a_product(definitions, observe);
        assert!(lines(&plan, "scratch y").len() == 1, "{plan}");
    };
    kept("let z[i, j] = tanh(y[j, i]);", "z");
    kept("let z[i in 0..199, j] = tanh(y[i, j]) + tanh(y[i + 1, j]);", "z");
    kept("let z[i, j] = tanh(y[i, j]) + y[i, 0];", "z");
    kept("let z[i, j] = tanh(y[i, j]) as f64;", "z");
    kept("let t[i, j] = tanh(y[i, j]); let z[i, j] = sum[k](y[i, k] * t[k, j]);", "z");
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
        let options = DumpOptions { observe, ..DumpOptions::default() };
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
fn every_tenth_step_is_kept_beside_the_ring() {
    let steps = |read: &str| {
        format!(
            "let h[0, i in 0..8] = 1.0f64;
             let h[t in 1..1001, i] = 0.9 * h[t - 1, (i + 1) % 8] + 0.1;
             {read}"
        )
    };
    let buffers = |read: &str, observe: &[&str]| {
        let plan = plan(&steps(read), observe);
        let kept = lines(&plan, "scratch ").into_iter().chain(lines(&plan, "output "));
        let cells = kept.filter_map(|line| line.rsplit_once('[')?.1.strip_suffix(']'));
        cells.map(|cells| cells.parse::<usize>().unwrap_or(usize::MAX)).sum::<usize>()
    };
    // The ring, and what is observed.
    assert_eq!(buffers("let s[k in 0..101, i] = h[10 * k, i];", &["s"]), 2 * 8 + 101 * 8);
    let both = "let s[k in 0..50, i] = h[20 * k + 3, i] - h[20 * k + 13, i];";
    assert!(buffers(both, &["s"]) <= 2 * 8 + 100 * 8 + 50 * 8);
    let end = "let s[k in 0..101, i] = h[1000 - 10 * k, i]; let e[i] = h[999, i];";
    assert!(buffers(end, &["s", "e"]) <= 3 * 8 + 2 * 101 * 8);
    // Every step is a multiple of one.
    assert!(buffers("let s[k in 0..90, i] = h[10 * k, i] + h[11 * k, i];", &["s"]) >= 1001 * 8);
}
