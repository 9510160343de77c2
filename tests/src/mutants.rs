//! The square matrix test: annotated programs whose extents are all equal, each changed in one
//! place such that a coordinate stands where another one belongs. Every such mutant must be
//! rejected, at the place that was changed.
//!
//! A mutant is made only if it can be shown to be wrong from the declared layouts alone: [`layouts`]
//! says what is known of each name, [`operators`] what is changed and why that is a mistake.
//! Changes that mean the same, or that only rename a layout nobody reads, are not made.
//!
//! The programs are those of `mutants/`, which were written for it, and all others of the repository
//! that declare layouts: examples, library.
//!
//! What takes arrays of any rank is checked where it is called, so the examples in the documentation of a
//! file are checked with it ([`examples`]).
//!
//! Mutants that a program by its nature lets through stand in `mutants/EXCEPTIONS`, one a line with
//! the reason.

pub mod examples;
pub mod layouts;
pub mod operators;
mod walk;

use crate::kinds;
use ein_driver::{Diagnostic, Session};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A changed program.
#[derive(Clone, Debug)]
pub struct Mutant {
    /// What was done: `swap-indices`.
    pub operator: &'static str,
    /// The line that was changed, one-based.
    pub line: usize,
    /// What was changed: `x[row, col] -> x[col, row]`.
    pub what: String,
    /// The lines where an error may stand: those of the changed statement, or all if the change
    /// is legal there and wrong for those who read it.
    pub lines: Option<(usize, usize)>,
    /// Names of which an error mentions at least one.
    pub mentions: Vec<String>,
    /// The text.
    pub text: String,
}

impl Mutant {
    /// How exceptions name it.
    pub fn id(&self, program: &str) -> String {
        format!("{program}:{} {} {}", self.line, self.operator, self.what)
    }
}

/// What came of all mutants.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How many there were, by operator.
    pub made: Vec<(&'static str, usize)>,
    /// Those not rejected as they should: their id, and what was reported instead.
    pub survivors: Vec<(String, String)>,
    /// Originals that do not check clean.
    pub broken: Vec<String>,
}

impl Outcome {
    /// How many mutants there were.
    pub fn total(&self) -> usize {
        self.made.iter().map(|(_, count)| count).sum()
    }
}

/// The folder of the programs that were written for this.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("mutants")
}

/// The folders of the other programs, in the repository.
const OTHERS: [&str; 3] = ["examples", "library", "tests/library"];

/// Files that are judged without their examples, because these give values of types of the file to
/// functions of the library that is built in, which has such types of its own.
const ALONE: [&str; 1] = ["library/plot/mod.ein"];

/// The programs that were written for this, by name.
pub fn written() -> Result<Vec<(String, String)>, String> {
    let folder = folder();
    programs(&folder, &folder)
}

/// The other programs of the repository, by their path in it.
pub fn others() -> Result<Vec<(String, String)>, String> {
    let root = crate::repository();
    let mut found = Vec::new();
    for folder in OTHERS {
        found.extend(programs(&root, &root.join(folder))?);
    }
    Ok(found)
}

/// Mutates every program and checks all mutants.
pub fn run(programs: Vec<(String, String)>) -> Result<Outcome, String> {
    let mut outcome = Outcome::default();
    for (name, text) in &programs {
        let alone = ALONE.contains(&name.as_str());
        let calls = if alone { String::new() } else { examples::tests(text) };
        let beside: Vec<(String, String)> =
            programs.iter().filter(|(other, _)| other != name).cloned().collect();
        let (session, report) = kinds::checked(name, text, &beside)?;
        if !report.diagnostics.is_empty() {
            let shown = session.render(&report.diagnostics, ein_driver::render::Style::Plain);
            outcome.broken.push(format!("{name} does not check clean:\n{shown}"));
            continue;
        }
        let (session, report) = kinds::checked(name, &format!("{text}\n{calls}"), &beside)?;
        if report.diagnostics.iter().any(Diagnostic::is_error) {
            let shown = session.render(&report.diagnostics, ein_driver::render::Style::Plain);
            outcome.broken.push(format!("the examples of {name} do not check:\n{shown}"));
            continue;
        }
        for mutant in operators::mutants(text) {
            match outcome.made.iter_mut().find(|(operator, _)| *operator == mutant.operator) {
                Some((_, count)) => *count += 1,
                None => outcome.made.push((mutant.operator, 1)),
            }
            let called = format!("{}\n{calls}", mutant.text);
            let (session, report) = match kinds::checked(name, &called, &beside) {
                Ok(checked) => checked,
                Err(bug) => {
                    outcome.survivors.push((mutant.id(name), bug));
                    continue;
                }
            };
            if !report.diagnostics.iter().any(|it| rejects(&session, &mutant, it)) {
                let shown = session.render(&report.diagnostics, ein_driver::render::Style::Plain);
                outcome.survivors.push((mutant.id(name), shown));
            }
        }
    }
    Ok(outcome)
}

/// The programs of a folder and of those in it, by their path from `root`.
fn programs(root: &Path, folder: &Path) -> Result<Vec<(String, String)>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut files = Vec::new();
    crate::collect(folder, &mut files).map_err(failed)?;
    files.sort();
    let read = files.into_iter().map(|path| {
        let name = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        Ok((name, std::fs::read_to_string(&path).map_err(failed)?))
    });
    read.collect()
}

/// Whether a diagnostic is an error at the right place that speaks of what was changed.
fn rejects(session: &Session, mutant: &Mutant, found: &Diagnostic) -> bool {
    let line = session.files().position(found.primary.span).0;
    let here = mutant.lines.is_none_or(|(first, last)| (first..=last).contains(&line));
    let mut said = found.message.clone();
    for label in found.labels.iter().chain([&found.primary]) {
        let _ = write!(said, "\n{}", label.text);
    }
    let notes = found.notes.iter().chain(found.helps.iter().map(|help| &help.text));
    notes.for_each(|note| {
        let _ = write!(said, "\n{note}");
    });
    found.is_error() && here && mutant.mentions.iter().any(|name| says(&said, name))
}

/// Whether a text has a name as a whole word.
fn says(text: &str, name: &str) -> bool {
    text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

/// The exceptions of a folder: id and reason.
pub fn exceptions(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let path = folder.join("EXCEPTIONS");
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) => return Err(format!("{}: {error}", path.display())),
    };
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let (id, reason) = line
            .split_once(" -- ")
            .ok_or_else(|| format!("an exception is `ID -- reason`, not `{line}`"))?;
        found.push((id.trim().to_owned(), reason.trim().to_owned()));
    }
    Ok(found)
}
