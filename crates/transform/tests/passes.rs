//! Every pass over points by itself: points in, points out, and points that it leaves alone.
//!
//! `tests/passes/PASS.pts` holds sections `--- NAME ---` with points, each followed by `--- becomes ---`
//! and what the pass makes of them, or by `--- stays ---`. `EINLANG_BLESS=1` writes what the passes
//! make.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ein_transform::pipeline::{self, PASSES, Passes};
use ein_transform::points::parse::parse;
use ein_transform::points::print::print;
use ein_transform::points::verify::verify;
use std::fmt::Write as _;
use std::path::PathBuf;

/// Points, and what is expected of them; nothing if they shall stay.
struct Section {
    name: String,
    before: String,
    after: Option<String>,
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in text.lines() {
        let title = line.strip_prefix("--- ").and_then(|rest| rest.strip_suffix(" ---"));
        match (title, sections.last_mut()) {
            (Some("stays"), Some(_)) => {}
            (Some("becomes"), Some(section)) => section.after = Some(String::new()),
            (Some(name), _) => {
                let (name, before) = (name.to_owned(), String::new());
                sections.push(Section { name, before, after: None });
            }
            (None, Some(section)) => {
                let part = section.after.as_mut().unwrap_or(&mut section.before);
                writeln!(part, "{line}").unwrap();
            }
            (None, None) => {}
        }
    }
    sections
}

fn path(pass: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/passes/{pass}.pts"))
}

#[test]
fn passes_do_what_their_tests_say() {
    let bless = std::env::var_os("EINLANG_BLESS").is_some_and(|it| it == "1");
    let mut wrong = String::new();
    for pass in PASSES {
        let text = std::fs::read_to_string(path(pass.name))
            .unwrap_or_else(|_| panic!("the pass `{}` has no tests", pass.name));
        let sections = sections(&text);
        let changed = sections.iter().filter(|section| section.after.is_some()).count();
        assert!(changed > 0, "`{}`: nothing that it changes", pass.name);
        assert!(changed < sections.len(), "`{}`: nothing that it leaves alone", pass.name);
        let mut blessed = String::new();
        for section in sections {
            let at = format!("`{}`, {}", pass.name, section.name);
            let (mut points, wanted) =
                parse(&section.before).unwrap_or_else(|it| panic!("{at}: {it}"));
            verify(&points).unwrap_or_else(|fault| panic!("{at}: {fault}"));
            let before = print(&points, &wanted);
            pipeline::run(&mut points, &wanted, Passes::only(pass.name).unwrap());
            let after = print(&points, &wanted);
            let expected = section.after.as_deref().unwrap_or(&before).trim();
            if after.trim() != expected && !(bless && section.after.is_some()) {
                writeln!(wrong, "{at}: expected\n{expected}\n\nbut it is\n{after}").unwrap();
            }
            write!(blessed, "--- {} ---\n{before}", section.name).unwrap();
            match section.after {
                None => blessed.push_str("--- stays ---\n"),
                Some(_) => {
                    assert_ne!(before, after, "{at}: nothing happens");
                    write!(blessed, "--- becomes ---\n{after}").unwrap();
                }
            }
        }
        if bless {
            std::fs::write(path(pass.name), blessed).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn there_are_no_tests_of_other_passes() {
    let folder = path("any").parent().unwrap().to_owned();
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(PASSES.iter().any(|pass| pass.name == name), "`{name}` is no pass");
    }
}
