//! Plans of points on the reference machine: points in, plan out.
//!
//! `tests/plans/NAME.pts` holds points, a line `--- plan ---`, and the plan. The points have been through
//! the passes; `einlang dump points FILE` prints such. `EINLANG_BLESS=1` writes what is planned.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ein_transform::points::parse::parse;
use ein_transform::points::print::print;
use ein_transform::points::verify::verify;
use ein_transform::schedule::plan::{Decision, Plan, What, Where};
use ein_transform::schedule::planned;
use std::fmt::Write as _;
use std::path::PathBuf;

const BETWEEN: &str = "--- plan ---\n";

/// The files, each with its points and the plan that is expected.
fn files() -> Vec<(PathBuf, String, String)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/plans");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let (points, plan) = text.split_once(BETWEEN).unwrap_or((&text, ""));
        (path, points.to_owned(), plan.to_owned())
    };
    paths.into_iter().map(read).collect()
}

fn plan_of(points: &str) -> (Plan, String) {
    let (points, wanted) = parse(points).unwrap();
    verify(&points).unwrap();
    let text = print(&points, &wanted);
    let (plan, kernel) = planned(points, &wanted);
    assert_eq!(ein_ir::loops::verify::verify(&kernel), Vec::<String>::new());
    (plan, text)
}

#[test]
fn plans_are_those_of_their_files() {
    let bless = std::env::var_os("EINLANG_BLESS").is_some_and(|it| it == "1");
    let mut wrong = String::new();
    let files = files();
    assert!(files.len() >= 12, "there are few plans");
    for (path, points, expected) in files {
        let (plan, text) = plan_of(&points);
        let plan = plan.to_string();
        if bless {
            std::fs::write(&path, format!("{text}{BETWEEN}{plan}")).unwrap();
        } else if plan != expected {
            let name = path.file_name().unwrap().display();
            writeln!(wrong, "{name}: expected\n{expected}\nbut it is\n{plan}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Calls a function for each decision.
fn each(decisions: &[Decision], f: &mut impl FnMut(&Decision)) {
    for decision in decisions {
        f(decision);
        each(&decision.inside, f);
    }
}

#[test]
fn plans_together_show_each_kind_of_decision() {
    let mut seen = [false; 9];
    for (_, points, _) in files() {
        each(&plan_of(&points).0.decisions, &mut |decision| {
            let kind = match &decision.what {
                What::Group { shared, .. } if !shared.is_empty() => 0,
                What::Nest(..) => 1,
                What::Change(_) => 2,
                What::Reduction { .. } => 3,
                What::Product(_) => 4,
                What::Steps { .. } => 5,
                What::Place(placed) if matches!(placed.place, Where::Ring { .. }) => 6,
                What::Shares { .. } => 7,
                What::Loop { .. } => 8,
                _ => return,
            };
            seen[kind] = true;
        });
    }
    assert_eq!(seen, [true; 9]);
}
