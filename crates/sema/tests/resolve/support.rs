//! Files in memory, and the two ways to look at a result.

use crate::print;
use ein_base::{Diagnostic, SourceError, SourceMap, Sources};
use ein_sema::resolve::{Resolved, resolve};
use std::path::Path;
use std::sync::Arc;

/// Files by path; one whose text is `UNREADABLE` cannot be read. The library is [`LIBRARY`].
pub struct Overlay(Vec<(String, String)>);

const LIBRARY: &[(&str, &str)] = &[
    (
        "math/mod.ein",
        "pub mod basic;\npub mod clamp;\npub use basic::*;\npub use self::clamp::clamp;\n",
    ),
    (
        "math/basic.ein",
        "use std::intrinsics::sqrt as root;\npub fn sqrt(x) { root(x) }\npub fn exp(x) { std::intrinsics::exp(x) }\n\
         @fn exp(x) { exp(x) * @x }\npub fn max(a, b) { if a > b { a } else { b } }\nfn hidden(x) { nowhere(x) }\n",
    ),
    (
        "math/clamp.ein",
        "pub fn clamp(x, lo, hi) { if x < lo { lo } else { limit(x, hi) } }\nfn limit(x, hi) { if x > hi { hi } else { x } }\n",
    ),
    ("io.ein", "pub use std::intrinsics::load_npy;\n"),
];

impl Overlay {
    fn find(&self, path: &str) -> Option<&str> {
        self.0.iter().find(|(p, _)| p == path).map(|(_, text)| text.as_str())
    }
}

impl Sources for Overlay {
    fn read(&self, path: &Path) -> Result<Arc<str>, SourceError> {
        match self.find(&path.display().to_string()) {
            None => Err(SourceError::Missing),
            Some("UNREADABLE") => Err(SourceError::NotUtf8(7)),
            Some(text) => Ok(text.into()),
        }
    }
    fn is_file(&self, path: &Path) -> bool {
        self.find(&path.display().to_string()).is_some()
    }
    fn library(&self, path: &str) -> Option<Arc<str>> {
        LIBRARY.iter().find(|(p, _)| *p == path).map(|(_, text)| (*text).into())
    }
}

/// A program as a text: `// file: path` starts a further file.
pub fn run(program: &str) -> (SourceMap, Resolved) {
    let mut parts = program.split("// file: ");
    let root = parts.next().unwrap_or_default();
    let others = parts.map(|part| {
        let (path, text) = part.split_once('\n').unwrap_or((part, ""));
        let text = if text.trim() == "UNREADABLE" { "UNREADABLE" } else { text };
        (path.trim().to_string(), text.to_string())
    });
    let overlay = Overlay(others.collect());
    let mut files = SourceMap::default();
    let root = files.add("main.ein".into(), Some("main.ein".into()), root.into());
    let resolved = resolve(&mut files, root, &overlay);
    (files, resolved)
}

/// One diagnostic as a line: file unless it is the root, line, code, and all its texts.
pub fn line(files: &SourceMap, d: &Diagnostic) -> String {
    let file = &files.file(d.primary.span.file()).name;
    let file = if file == "main.ein" { String::new() } else { format!("{file}:") };
    let mut text = format!("{file}{} {} {}", files.position(d.primary.span).0, d.code, d.message);
    let labels = d.labels.iter().map(|l| format!("{}: {}", files.position(l.span).0, l.text));
    let here = [d.primary.text.clone()].into_iter().filter(|text| !text.is_empty());
    for part in
        here.chain(labels).chain(d.notes.clone()).chain(d.helps.iter().map(|h| h.text.clone()))
    {
        text.push_str(" | ");
        text.push_str(&part);
    }
    text
}

/// All diagnostics, one per line.
pub fn diagnostics(program: &str) -> Vec<String> {
    let (files, resolved) = run(program);
    resolved.diagnostics.iter().map(|d| line(&files, d)).collect()
}

/// Checks that exactly these diagnostics come, each given as `LINE CODE` and texts it must
/// mention, separated by `|`.
#[track_caller]
pub fn check(program: &str, expected: &[&str]) {
    let got = diagnostics(program);
    assert_eq!(got.len(), expected.len(), "\n{program}\ngot: {got:#?}\nexpected: {expected:#?}");
    for (got, expected) in got.iter().zip(expected) {
        let mut parts = expected.split('|').map(str::trim);
        let start = parts.next().unwrap_or_default();
        let missing = parts.find(|part| !got.contains(part));
        assert!(got.starts_with(start), "\n{program}\ngot: {got}\nexpected: {expected}");
        assert_eq!(missing, None, "\n{program}\ngot: {got}");
    }
}

/// Checks a table of programs and what is said about them.
#[track_caller]
pub fn check_all(table: &[(&str, &[&str])]) {
    for (program, expected) in table {
        check(program, expected);
    }
}

/// Checks that a program has no errors and that its resolved root contains these lines.
#[track_caller]
pub fn check_tree(program: &str, expected: &[&str]) {
    let (files, resolved) = run(program);
    let errors: Vec<String> =
        resolved.diagnostics.iter().filter(|d| d.is_error()).map(|d| line(&files, d)).collect();
    assert_eq!(errors, Vec::<String>::new(), "\n{program}");
    let text = print::program(&resolved.program);
    let lines: Vec<&str> = text.lines().collect();
    for expected in expected {
        assert!(lines.contains(expected), "\n{program}\nmissing: {expected}\ngot:\n{text}");
    }
}
