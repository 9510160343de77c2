//! Time grows with the length of a text, also when it is full of errors, and deep trees fit the
//! stack.

use crate::support::run;
use std::time::{Duration, Instant};

fn flat(lines: usize) -> String {
    let mut text = String::from("let m = [[1.0, 2.0], [2.0, 3.0]];\nlet a0 = 1.0;\n");
    for i in 1..lines / 3 {
        text.push_str(&format!("fn f{i}(x: f32) -> f32 {{ let t = x * 2.0; t + a{} }}\n", i - 1));
        text.push_str(&format!("let a{i} = f{i}({i}.0) + 2.5;\n"));
        text.push_str(&format!("let b{i}[i, j] = sum[k](m[i, k] * a{i}) where i < j;\n"));
    }
    text
}

fn time(text: &str) -> (Duration, usize) {
    let start = Instant::now();
    let (_, resolved) = run(text);
    (start.elapsed(), resolved.diagnostics.len())
}

#[test]
fn flat_programs_take_linear_time() {
    let (short, none) = time(&flat(10_000));
    assert_eq!(none, 0);
    let (long, none) = time(&flat(80_000));
    assert_eq!(none, 0);
    // Eight times the text, with room for a busy machine.
    assert!(long < short * 40 + Duration::from_secs(1), "{short:?} then {long:?}");
}

#[test]
fn many_errors_take_linear_time() {
    let mut text = String::new();
    for i in 0..10_000 {
        text.push_str(&format!("let value{i} = unknown{i} + value{};\n", i + 1));
    }
    let (taken, errors) = time(&text);
    assert_eq!(errors, 20_000);
    assert!(taken < Duration::from_secs(20), "{taken:?}");
}

#[test]
fn deep_trees_fit_the_stack() {
    let nests = [
        ("(", ")"),
        ("[", "]"),
        ("f(", ")"),
        ("sum[i in 0..1](", ")"),
        ("{ ", " }"),
        ("x[", "]"),
        ("1 + (", ")"),
        ("|y| ", ""),
        ("(1 where a = ", ")"),
        ("if true { ", " } else { 1 }"),
        ("match 1 { _ => ", " }"),
    ];
    for (open, close) in nests {
        for depth in [100, 250, 400, 600] {
            let nest = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            run(&format!("let x = [1];\nfn f(x) {{ x }}\nlet y = {nest};"));
        }
    }
}
