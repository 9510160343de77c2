//! Rules of the house that a machine can check.

use crate::{layers, state};
use std::fs;
use std::path::{Path, PathBuf};

/// The most lines a file may have, tests left out.
const FILE_BUDGET: usize = 1000;

/// Files that may be longer, each with the reason.
const LONG_FILES: &[(&str, &str)] = &[];

/// What must not stand in source, and why. Split where this file would accuse itself.
const FORBIDDEN: &[(&str, &str)] = &[
    (concat!("todo", "!("), "unfinished code"),
    (concat!("unimplemented", "!("), "unfinished code"),
    (concat!("dbg", "!("), "a trace of debugging"),
    (concat!("/wo", "rk/"), "a path of one machine"),
    (concat!("/tm", "p/"), "a path of one machine"),
    (concat!("/ro", "ot/"), "a path of one machine"),
    (concat!("/ho", "me/"), "a path of one machine"),
    (concat!("index.crates", ".io"), "a registry"),
    (concat!("registry", "-1.docker"), "a registry"),
];

/// What is forbidden outside tests.
const FORBIDDEN_IN_CODE: &[(&str, &str)] =
    &[(concat!(".unwrap", "()"), "say with `expect` why it cannot fail, or handle it")];

/// Everything that breaks a rule, one line each.
pub fn check(root: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut problems = Vec::new();
    if let Err(error) = collect(root, &mut files) {
        problems.push(format!("{}: {error}", root.display()));
    }
    files.sort();
    for path in files {
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let extension = path.extension().unwrap_or_default().to_string_lossy();
        if name == "Cargo.toml" && !is_root_or_fuzz(&shown) {
            problems.extend(layers::check(&path));
        }
        if !matches!(&*extension, "rs" | "toml" | "md" | "ein" | "yml") {
            continue;
        }
        match fs::read_to_string(&path) {
            Ok(text) if extension == "rs" => check_rust(&shown, &text, &mut problems),
            Ok(text) => check_words(&shown, &text, FORBIDDEN, &mut problems),
            Err(error) => problems.push(format!("{shown}: {error}")),
        }
    }
    problems.extend(check_passes(root));
    problems.extend(state::check(root));
    problems
}

/// Passes over whole programs; those from points to loops stand in a table of the map.
const PASSES: &[&str] = &["guards.rs", "unzip.rs", "autodiff.rs", "flatten.rs", "points.rs"];

/// A pass that moves, merges, speculates or drops an operation says what becomes of its failure.
fn check_passes(root: &Path) -> Vec<String> {
    let map = fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    let table = map.split("### From tensor IR to loops").nth(1).unwrap_or_default();
    let table = table.split("\n### ").next().unwrap_or_default();
    let mut files: Vec<String> = PASSES.iter().map(|name| (*name).to_owned()).collect();
    for row in table.lines().filter(|line| line.starts_with("| ")) {
        let named = row.split('|').nth(2).unwrap_or_default().split('`').skip(1).step_by(2);
        files.extend(named.filter(|name| name.ends_with(".rs")).map(|name| match name {
            name if name.contains('/') => name.to_owned(),
            // Beside the first of its row.
            name => format!("schedule/{name}"),
        }));
    }
    let silent = |name: &&String| {
        let path = root.join("crates/transform/src").join(name);
        let text = fs::read_to_string(path).unwrap_or_default();
        let mut header = text.lines().take_while(|line| line.starts_with("//!"));
        !header.any(|line| line.starts_with("//! Failures:"))
    };
    let said = |name: &String| {
        format!("crates/transform/src/{name}: say in a line `//! Failures:` what becomes of them")
    };
    files.iter().filter(silent).map(said).collect()
}

/// The workspace's own manifest, and that of the fuzz targets, which stand outside it.
fn is_root_or_fuzz(shown: &str) -> bool {
    shown == "Cargo.toml" || shown.starts_with("fuzz")
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "out" {
                collect(&path, files)?;
            }
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn check_rust(shown: &str, text: &str, problems: &mut Vec<String>) {
    if !text.starts_with("//!") {
        problems.push(format!("{shown}:1: a file begins with `//!` and what it is for"));
    }
    let header = text.lines().take_while(|line| line.starts_with("//!"));
    let crate_root = shown.ends_with("src/lib.rs");
    if crate_root && !header.clone().any(|line| line.contains("Does not know:")) {
        problems.push(format!("{shown}:1: the header of a crate ends with `Does not know: …`"));
    }

    if crate_root || shown.ends_with("src/main.rs") {
        let says = |word: &str| header.clone().any(|line| line.contains(word));
        let forbids = text.contains("#![forbid(unsafe_code)]");
        if !forbids && !says("Unsafe:") && !shown.starts_with("benches") {
            problems.push(format!(
                "{shown}:1: write `#![forbid(unsafe_code)]`, or `Unsafe: …` and why into the header"
            ));
        }
    }

    // Tests stand at the end of a file, or in a file of their own.
    let only_tests = shown.ends_with("tests.rs") || shown.contains("/tests/");
    let code = if only_tests { "" } else { text.split("#[cfg(test)]\nmod ").next().unwrap_or("") };
    let lines = code.lines().count();
    let excused = LONG_FILES.iter().any(|(path, _)| *path == shown);
    if lines > FILE_BUDGET && !excused {
        problems.push(format!("{shown}: {lines} lines of code; split it (budget {FILE_BUDGET})"));
    }
    check_words(shown, text, FORBIDDEN, problems);
    check_words(shown, code, FORBIDDEN_IN_CODE, problems);
}

fn check_words(shown: &str, text: &str, words: &[(&str, &str)], problems: &mut Vec<String>) {
    for (i, line) in text.lines().enumerate() {
        for (word, why) in words {
            if line.contains(word) {
                problems.push(format!("{shown}:{}: `{word}`: {why}", i + 1));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_is_tidy() {
        let problems = check(&crate::root());
        assert!(problems.is_empty(), "\n{}", problems.join("\n"));
    }

    fn problems(shown: &str, text: &str) -> Vec<String> {
        let mut problems = Vec::new();
        check_rust(shown, text, &mut problems);
        problems
    }

    #[test]
    fn each_rule_catches_its_breach() {
        let clean = "//! A file.\n\nfn f() {}\n";
        assert_eq!(problems("a.rs", clean), [] as [&str; 0]);
        assert_eq!(problems("a.rs", "fn f() {}\n").len(), 1);
        // No word on what the crate does not know, and none on unsafe code.
        assert_eq!(problems("crates/x/src/lib.rs", clean).len(), 2);
        assert_eq!(problems("a.rs", &format!("//! x\n{}", "\n".repeat(1000))).len(), 1);
        for (word, _) in FORBIDDEN.iter().chain(FORBIDDEN_IN_CODE) {
            assert_eq!(problems("a.rs", &format!("{clean}// {word}\n")).len(), 1, "{word}");
        }
        let in_test = format!("{clean}#[cfg(test)]\nmod tests {{ x{} }}\n", FORBIDDEN_IN_CODE[0].0);
        assert_eq!(problems("a.rs", &in_test), [] as [&str; 0]);
    }
}
