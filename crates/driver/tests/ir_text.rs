//! Real programs as tensor IR: what the checker accepts keeps the rules, and its text reads back.
//!
//! `EINLANG_PROGRAMS` names a further directory of programs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ein_base::{Diagnostic, SourceMap, Sources as _};
use ein_driver::{FileSources, guarded, program_files};
use ein_ir::tensor::parse::parse;
use ein_ir::tensor::print::print;
use ein_ir::tensor::spans::equal_without_spans;
use ein_ir::tensor::verify::{Violation, verify, verify_differentiated};
use ein_ir::tensor::{Program, Type};
use rustc_hash::FxHashSet;
use std::path::{Path, PathBuf};

/// All programs of the repository, and those that the environment names.
fn programs() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for dir in ["examples", "tests"] {
        files.extend(program_files(&root.join(dir)).unwrap());
    }
    if let Some(dir) = std::env::var_os("EINLANG_PROGRAMS") {
        files.extend(program_files(Path::new(&dir)).unwrap());
    }
    files
}

/// The program in a file; nothing if it is rejected.
fn compiled(path: &Path) -> Option<Program> {
    let sources = FileSources::on_disk();
    let text = sources.read(path).ok()?;
    let mut files = SourceMap::default();
    let root = files.add(path.display().to_string(), Some(path.to_owned()), text);
    let resolved = ein_sema::resolve::resolve(&mut files, root, &sources);
    let checked = ein_sema::check::check(&resolved.program, &FxHashSet::default());
    let mut diagnostics = resolved.diagnostics.iter().chain(&checked.diagnostics);
    (!diagnostics.any(Diagnostic::is_error)).then_some(checked.program)
}

/// What is wrong with a checked program, or with what `autodiff` makes of it.
fn problems(mut program: Program) -> Vec<String> {
    let mut found = broken_rules(verify(&program), "checked");
    found.extend(not_read_back(&program));
    if !ein_transform::autodiff::run(&mut program).diagnostics.iter().any(Diagnostic::is_error) {
        found.extend(broken_rules(verify_differentiated(&program), "differentiated"));
        found.extend(not_read_back(&program));
    }
    found
}

fn broken_rules(verified: Result<(), Vec<Violation>>, stage: &str) -> Vec<String> {
    let violations = verified.err().unwrap_or_default();
    violations.iter().map(|violation| format!("{stage}: {violation}")).collect()
}

fn not_read_back(program: &Program) -> Vec<String> {
    let mut found = Vec::new();
    let text = print(program);
    match parse(&text) {
        Err(error) => {
            let line = text.lines().nth(error.line as usize - 1).unwrap_or_default();
            found.push(format!("does not read back: {error}: {line}"));
        }
        Ok(read) => {
            let again = print(&read);
            if again != text {
                let mut lines = text.lines().zip(again.lines());
                let (a, b) = lines.find(|(a, b)| a != b).unwrap_or_default();
                found.push(format!("prints differently:\n    {a}\n    {b}"));
            }
            if !equal_without_spans(program, &read) {
                found.push("reads back as another program".into());
            }
        }
    }
    found
}

#[test]
fn checked_programs_keep_the_rules_and_read_back() {
    let (mut seen, mut failed) = (0, Vec::new());
    for path in programs() {
        let outcome = guarded(|| compiled(&path).map(problems));
        match outcome {
            Ok(None) => {}
            Ok(Some(found)) => {
                seen += 1;
                failed.extend(found.iter().map(|it| format!("{}: {it}", path.display())));
            }
            Err(bug) => failed.push(format!("{}: {bug} {}", path.display(), bug.detail)),
        }
    }
    let count = failed.len();
    assert!(count == 0, "{}\n{count} problems in {seen} programs", failed.join("\n"));
    assert!(seen > 10, "only {seen} programs were found");
}

/// A small generator of numbers, so that failures can be repeated.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

#[test]
fn no_text_makes_the_reader_or_the_verifier_panic() {
    let outcome = guarded(|| {
        let texts: Vec<String> = programs()
            .iter()
            .filter_map(|path| compiled(path))
            .map(|program| print(&program))
            .filter(|text| text.len() < 6000)
            .take(40)
            .collect();
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let mut read = 0;
        for text in &texts {
            for _ in 0..150 {
                let Ok(program) = parse(&mutated(text, &texts, &mut random)) else { continue };
                read += 1;
                let _ = verify(&program);
                // Whatever was read has a text, and that text reads back.
                let again = print(&program);
                let reread = parse(&again);
                assert!(reread.is_ok_and(|it| print(&it) == again), "{again}");
            }
        }
        (texts.len(), read)
    });
    let (texts, read) = outcome.unwrap_or_else(|bug| panic!("{bug}: {}", bug.detail));
    assert!(texts > 5 && read > 50, "{texts} texts, {read} read");
}

/// The text with some of its words deleted, doubled, swapped or replaced.
fn mutated(text: &str, others: &[String], random: &mut Random) -> String {
    let split = |text: &str| -> Vec<String> {
        text.split_inclusive([' ', ',', '(', ')', '[', ']', '\n']).map(str::to_owned).collect()
    };
    let mut words = split(text);
    let donor = split(&others[random.below(others.len())]);
    for _ in 0..=random.below(3) {
        let at = random.below(words.len());
        match random.below(5) {
            0 => {
                words.remove(at);
            }
            1 => words.insert(at, words[at].clone()),
            2 => {
                let other = random.below(words.len());
                words.swap(at, other);
            }
            3 => words[at] = donor[random.below(donor.len())].clone(),
            _ => words.truncate(at.max(1)),
        }
    }
    words.concat()
}

#[test]
fn deep_and_odd_texts_are_errors() {
    let deep = format!("var x_0: {}", "(".repeat(100_000));
    let block = format!("top {{ {}", "{".repeat(100_000));
    let expr = format!("top {{ {}1{};}}", "-(".repeat(50_000), ")".repeat(50_000));
    let size = format!("var x_0: [f32; {}", "min(".repeat(50_000));
    for text in [&deep, &block, &expr, &size, "var", "\"", "\"\\u{110000}\"", "atom n_1 = unknown"]
    {
        assert!(parse(text).is_err());
    }
    let one = parse("var \u{3b1}_0 \"\u{3b1}'\": f32 = global 0 // a comment").unwrap();
    assert_eq!(one.vars.iter().next().unwrap().ty, Type::F32);
}
