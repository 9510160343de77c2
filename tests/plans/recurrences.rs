//! Recurrences: the order of their cells.

use crate::{lines, plan};

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

/// A stencil over so many rows of so many cells, for so many steps, reading this cell before.
fn stencil(rows: usize, cells: usize, steps: usize, read: &str) -> String {
    let (last, end) = (rows - 2, cells - 2);
    format!(
        "let start: [f32; {rows}, {cells}] = input();
         let u[0, i in 0..{rows}, j in 0..{cells}] = start[i, j];
         let u[t in 1..{steps}, 0, j in 0..{cells}] = 0.5 * u[t - 1, 1, j];
         let u[t in 1..{steps}, i in 2..{last}, j in 2..{end}] =
             u[t - 1, i - 1, j] + u[t - 1, i + 2, j] - {read};
         let h = u[{steps} - 1];"
    )
}

#[test]
fn steps_of_a_large_stencil_run_over_rows_that_move_back() {
    let large = plan(&stencil(600, 600, 100, "u[t - 1, i, j + 1]"), &["h"]);
    // Two steps by themselves fill the ring; then tiles that move by the reach of two rows.
    assert!(large.contains("floordiv"), "{large}");
    assert_eq!(lines(&large, "scratch "), ["scratch u_2: f32[720000]"], "{large}");
    let plain = |source: &str, observe: &[&str]| {
        let plan = plan(source, observe);
        assert!(!plan.contains("floordiv"), "{plan}");
    };
    // A small ring stays in the cache; a history is written once; few steps save nothing.
    plain(&stencil(100, 100, 100, "u[t - 1, i, j + 1]"), &["h"]);
    plain(&stencil(600, 600, 100, "u[t - 1, i, j + 1]"), &["u"]);
    plain(&stencil(600, 600, 12, "u[t - 1, i, j + 1]"), &["h"]);
    // Rows that are far away, or not known, or of the same step.
    plain(&stencil(600, 600, 100, "u[t - 1, 599 - i, j]"), &["h"]);
    plain(&stencil(600, 600, 100, "u[t - 1, (i + 5) % 600, j]"), &["h"]);
    plain(&stencil(600, 600, 100, "u[t, i, j - 1]"), &["h"]);
    plain(&stencil(600, 600, 100, "sum[k](u[t - 1, i, k])"), &["h"]);
}

#[test]
fn a_few_cells_are_carried_in_variables() {
    let system = "let u[0, i in 0..6] = i as f64;
         let u[t in 1..1000, i in 0..6] =
             if i < 3 { u[t - 1, i] + 0.1 * u[t - 1, i + 3] } else { u[t - 1, i] * 0.5 };
         let last = u[999];";
    let carried = plan(system, &["last"]);
    assert_eq!(lines(&carried, "var ").len(), 6, "{carried}");
    assert!(!carried.contains("select"), "{carried}");
    // Clause by clause, one of which reads another one of the same step.
    let clauses = "let u[0, i in 0..2] = i as f64;
         let u[t in 1..1000, 0] = u[t - 1, 0] + 0.1 * u[t - 1, 1];
         let u[t in 1..1000, 1] = u[t - 1, 1] - 0.1 * u[t, 0];
         let last = u[999];";
    let carried = plan(clauses, &["last"]);
    assert_eq!(lines(&carried, "var ").len(), 2, "{carried}");
    // Cells that look at nothing but themselves are better off in vectors, many anyway.
    for (cells, read) in [(8, "u[t - 1, i]"), (40, "u[t - 1, (i + 1) % 40]")] {
        let plain = plan(
            &format!(
                "let u[0, i in 0..{cells}] = i as f64;
                 let u[t in 1..1000, i in 0..{cells}] = 0.5 * {read};
                 let last = u[999];"
            ),
            &["last"],
        );
        assert!(plain.contains("vector()") && !plain.contains("var "), "{plain}");
    }
}

#[test]
fn clauses_that_overlap_are_taken_apart() {
    let subsequence = |first: &str| {
        format!(
            "let a: [i32; 300] = input();
             let b: [i32; 300] = input();
             let L[0, j in {first}..301] = 0;
             let L[i in 0..301, 0] = 0;
             let L[i in 1..301, j in 1..301] =
                 if a[i - 1] == b[j - 1] {{ L[i - 1, j - 1] + 1 }}
                 else {{ max(L[i - 1, j], L[i, j - 1]) }};
             let n = L[300, 300];"
        )
    };
    let overlapping = plan(&subsequence("0"), &["n"]);
    assert!(overlapping.contains("for r3 in 1..301"), "{overlapping}");
    // Two rows, as if the clauses had been written without the overlap.
    assert!(overlapping.contains("scratch L_3: i32[602]"), "{overlapping}");
    assert_eq!(overlapping, plan(&subsequence("1"), &["n"]));
}

#[test]
fn steps_that_end_by_themselves_are_a_loop_with_an_exit_over_a_window() {
    let root = "use std::math::abs;
        fn root(a: f64) -> f64 {
            let x[0] = a;
            let x[n in 1..1000] = 0.5 * (x[n - 1] + a / x[n - 1]) until abs(x[n] - x[n - 1]) < 1e-9;
            last[n](x)
        }
        let w: [f64; 50] = input();";
    // Two steps are kept of each row, and each ends by itself.
    let rows = plan(&format!("{root} let r[i] = root(w[i]);"), &["r"]);
    assert_eq!(rows.matches("until(").count(), 1, "{rows}");
    assert_eq!(
        lines(&rows, "scratch "),
        ["scratch x_2: f64[100]", "scratch last_3: i32[50]"],
        "{rows}"
    );
    // What goes back runs over the steps that were made: all of them are kept.
    let back = format!("{root} let s = sum[i](root(w[i])); let g = @s / @w;");
    let back = plan(&back, &["g"]);
    assert!(back.contains("until(") && back.contains("backward for"), "{back}");
    // As many steps forward as were made.
    let slope = format!("{root} let a = w[3]; let r = root(a); let d = @r / @a;");
    let slope = plan(&slope, &["d"]);
    assert!(slope.contains("until("), "{slope}");
}

#[test]
fn last_calls_are_loops_that_a_condition_ends() {
    let source = "fn gcd(a: i64, b: i64) -> i64 { if b == 0 { a } else { gcd(b, a % b) } }
         let g[i in 0..2000, j in 0..2000] = gcd(i as i64 + 1, j as i64 + 1);";
    let plan = plan(source, &["g"]);
    assert_eq!(plan.matches("until(").count(), 1, "{plan}");
    // The rows are shared by threads, and the states are registers.
    assert_eq!(plan.matches("parallel(1) for").count(), 1, "{plan}");
    assert_eq!(lines(&plan, "scratch "), Vec::<&str>::new(), "{plan}");
}
