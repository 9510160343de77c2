//! What is printed means what was read: over random programs that use the whole grammar.

mod support;

use ein_base::{FileId, Idx};
use ein_syntax::{CommentKind, dump, format, parse};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn file() -> FileId {
    FileId::from_usize(0)
}

/// The comments of a text without the whitespace that layout may change.
fn comments(text: &str) -> Vec<String> {
    let parsed = parse(file(), text);
    let mut all: Vec<String> = parsed
        .comments
        .iter()
        .map(|comment| {
            let source = &text[comment.span.lo() as usize..comment.span.hi() as usize];
            match comment.kind {
                CommentKind::Block => source.replace('\r', ""),
                _ => source.trim_end().to_string(),
            }
        })
        .collect();
    all.sort();
    all
}

#[track_caller]
fn check(source: &str) {
    let parsed = parse(file(), source);
    assert!(parsed.diagnostics.is_empty(), "rejected: {:?}\n{source}", parsed.diagnostics);
    let once = format(source).expect("it has no syntax errors");
    let again = parse(file(), &once);
    assert!(
        again.diagnostics.is_empty(),
        "broken by the formatter: {:?}\n{source}\n---\n{once}",
        again.diagnostics
    );
    assert_eq!(dump(&parsed.ast), dump(&again.ast), "another tree\n{source}\n---\n{once}");
    assert_eq!(comments(source), comments(&once), "other comments\n{source}\n---\n{once}");
    let twice = format(&once).expect("it has no syntax errors");
    assert_eq!(once, twice, "not idempotent\n{source}");
    assert!(
        once.lines()
            .all(|line| line.trim_end() == line || line.contains("*/") || once.contains("/*"))
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn programs(seed in any::<u64>()) {
        check(&support::program(seed, false));
    }

    #[test]
    fn programs_with_comments(seed in any::<u64>()) {
        check(&support::program(seed, true));
    }
}

/// The programs below a folder of the repository; a file of cases holds several.
fn programs_in(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        if path.is_dir() {
            programs_in(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "ein") {
            let text = fs::read_to_string(&path).expect("it is text");
            let mut program = String::new();
            for line in text.lines() {
                if line.starts_with("--- ") {
                    found.push(std::mem::take(&mut program));
                } else {
                    program.push_str(line);
                    program.push('\n');
                }
            }
            found.push(program);
        }
    }
}

#[test]
fn every_program_of_the_repository() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = Vec::new();
    for folder in ["examples", "library", "tests"] {
        programs_in(&root.join(folder), &mut found);
    }
    // Cases about syntax errors have no tree to keep.
    found.retain(|text| parse(file(), text).diagnostics.is_empty());
    assert!(found.len() > 200, "{}", found.len());
    found.iter().for_each(|text| check(text));
}
