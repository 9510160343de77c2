//! Points of whole programs: they keep their rules, and their text reads back.

use ein_driver::{DumpOptions, FileSources, Input, Options, Passes, Session, Show};
use ein_transform::points::parse::parse;
use ein_transform::points::print::print;
use ein_transform::points::verify::verify;
use std::path::{Path, PathBuf};

/// The points of a program's regions; none where it is rejected or all of it is evaluated.
fn regions(input: &Input, passes: Passes) -> Vec<String> {
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let options = DumpOptions { passes, ..DumpOptions::default() };
    let dumped = session.dump_plan(input, &options, Show::Points);
    let (text, _) = dumped.expect("the compiler does not break");
    let mut regions: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with("points") {
            regions.push(String::new());
        }
        if let Some(region) = regions.last_mut() {
            region.push_str(line);
            region.push('\n');
        }
    }
    regions
}

fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    paths.filter(|path| path.extension().is_some_and(|it| it == ending)).collect()
}

#[test]
fn texts_of_points_read_back() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let mut programs: Vec<Input> =
        files(&root.join("../../examples"), "ein").into_iter().map(Input::File).collect();
    for file in files(&root.join("../../tests/forms"), "forms") {
        let text = std::fs::read_to_string(file).expect("it can be read");
        for form in text.split("--- ").skip(1) {
            let Some((name, source)) = form.split_once(" ---\n") else { continue };
            programs.push(Input::Text { name: name.to_owned(), text: source.into() });
        }
    }
    let mut read = 0;
    for program in &programs {
        for passes in [Passes::none(), Passes::default()] {
            for text in regions(program, passes) {
                let (points, wanted) = parse(&text).unwrap_or_else(|it| panic!("{it}\n{text}"));
                verify(&points).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
                assert_eq!(print(&points, &wanted).trim_end(), text.trim_end());
                read += 1;
            }
        }
    }
    assert!(read > 200, "only {read} texts");
}

#[test]
fn texts_that_are_no_points_are_refused() {
    for (text, why) in [
        ("", "expected `points`"),
        ("points\narray y_1: f32[2]", "arrays are declared in order"),
        ("points\noutput y_0: f32[2]\ndefine y_0 { [i0 in 0..2] = 1.0f32 }", "not a known index"),
        ("points\nlet n0 = add(1, 1.0f32)", "operands of the wrong type"),
        ("points\nlet n0 = add(n1, 1)", "a value without a definition"),
        ("points\nlet n0 = nothing(1)", "`nothing` is not an operation"),
    ] {
        let error = parse(text).expect_err("it is none").to_string();
        assert!(error.contains(why), "{error}");
    }
    let deep = format!("points\nlet n0 = {}1.0f32{}", "neg(".repeat(500), ")".repeat(500));
    assert!(parse(&deep).expect_err("it is too deep").to_string().contains("nested too deeply"));
}

#[test]
fn broken_points_are_found() {
    let head = "points\ninput x_0: f32[4] by [1] of 0\noutput y_1: f32[4]\narray t_2: f32[4]\n\
                index i0 \"i\": 0..=3\nindex i1 \"j\": 0..=9\n";
    for (rest, why) in [
        ("define y_1 { [i0 in 0..4] = x_0[i1] }", "is in Some((0, 9)), the extent is 4"),
        ("define y_1 { [i0 in 0..4] = x_0[clamp 4 (i1)] }", "which nothing binds"),
        ("define y_1 { [i0 in 0..4] = 1 }", "a value of type i32 in a cell of type f32"),
        ("define y_1 { [i0 in 0..4] = y_1[i0] }", "reads itself without steps"),
        ("define y_1 { [i0 in 0..4] = t_2[i0] }", "which nothing fills"),
        (
            "define y_1 { [i0 in 0..4] = t_2[i0] }\ndefine t_2 { [i0 in 0..4] = x_0[i0] }",
            "which is filled after it",
        ),
        ("define y_1 { [i0 in 0..4] = x_0[i0, i0] }", "2 positions"),
        ("define y_1 { [i1 in 0..10] = 1.0f32 }", "cells 0..=9 along an axis of 4"),
        ("define y_1 { [i0 in 0..4] where i0 = 1.0f32 }", "is no condition"),
        (
            "let n0: i32 in 0..=9 = div(1, i0)\ndefine y_1 { [i0 in 0..4] = as f32(n0) }",
            "is not checked",
        ),
    ] {
        let (points, _) = parse(&format!("{head}{rest}")).unwrap_or_else(|it| panic!("{it}"));
        let fault = verify(&points).expect_err(rest);
        assert!(fault.contains(why), "{rest}: {fault}");
    }
}
