//! The kinds of test, one function each.

use crate::answers;
use crate::section::{Expected, Section, expectations};
use ein_driver::render::{Style, render};
use ein_driver::{
    CheckReport, Diagnostic, Engine, FileSources, Input, Options, RunOptions, Session, Severity,
};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What stands before a line that a program prints.
const PRINTS: &str = "// prints: ";

/// A kind of test.
pub struct Kind {
    /// As it stands in headers.
    pub name: &'static str,
    /// Runs a test that stands in the suite file at this path.
    pub run: fn(&Path, &Section) -> Result<(), String>,
}

/// All kinds.
pub const ALL: &[Kind] = &[
    // Exactly what its comments say is reported; nothing without any.
    Kind { name: "check", run: check },
    // The rendered diagnostics are those of the golden file `NAME.stderr` beside the suite file.
    Kind { name: "render", run: golden },
    // As `check`, with what stops the run among what is reported; and it prints exactly the lines
    // of its `// prints:` comments: by the evaluator, and compiled.
    Kind { name: "run", run: runs },
];

/// Checks a program with files beside it, all of them in memory.
pub fn checked(
    name: &str,
    text: &str,
    files: &[(String, String)],
) -> Result<(Session, CheckReport), String> {
    let mut sources = FileSources::in_memory();
    sources.insert(name, text);
    for (path, text) in files {
        sources.insert(path, text.as_str());
    }
    let mut session = Session::new(Options::default(), sources);
    match session.check(&[Input::File(name.into())]) {
        Ok(report) => Ok((session, report)),
        Err(bug) => Err(format!("{bug}: {}", bug.detail)),
    }
}

/// Checks and runs a program with files beside it; gives all diagnostics, and what was printed.
pub fn ran(
    name: &str,
    text: &str,
    files: &[(String, String)],
    engine: Engine,
) -> Result<(Session, Vec<Diagnostic>, String), String> {
    ran_with(name, text, files, &RunOptions { engine, ..RunOptions::default() })
}

/// The same with other options.
pub(crate) fn ran_with(
    name: &str,
    text: &str,
    files: &[(String, String)],
    options: &RunOptions,
) -> Result<(Session, Vec<Diagnostic>, String), String> {
    let mut sources = FileSources::in_memory();
    sources.insert(name, text);
    for (path, text) in files {
        sources.insert(path, text.as_str());
    }
    let mut session = Session::new(Options::default(), sources);
    let mut printed = String::new();
    let mut print = |line: &str| {
        printed.push_str(line);
        printed.push('\n');
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    let input = Input::File(name.into());
    match session.run(&input, options, interrupted, &mut print) {
        Ok(report) => {
            let mut diagnostics = report.checked.diagnostics;
            diagnostics.extend(report.failure);
            Ok((session, diagnostics, printed))
        }
        Err(bug) => Err(format!("{bug}: {}", bug.detail)),
    }
}

fn program_name(section: &Section) -> String {
    format!("{}.ein", section.name)
}

fn check(_: &Path, section: &Section) -> Result<(), String> {
    let (session, report) = checked(&program_name(section), &section.text, &section.files)?;
    reported(&session, section, report.diagnostics)
}

fn runs(_: &Path, section: &Section) -> Result<(), String> {
    for engine in [Engine::Eval, Engine::Jit] {
        runs_on(engine, section).map_err(|why| format!("on `{}`: {why}", engine.as_str()))?;
    }
    Ok(())
}

fn runs_on(engine: Engine, section: &Section) -> Result<(), String> {
    let (session, diagnostics, printed) =
        ran(&program_name(section), &section.text, &section.files, engine)?;
    reported(&session, section, diagnostics)?;
    let lines = section.text.lines().filter_map(|line| line.trim_start().strip_prefix(PRINTS));
    let expected: String = lines.map(|line| format!("{line}\n")).collect();
    if printed == expected {
        return Ok(());
    }
    Err(format!(
        "it does not print what its comments say\n\nexpected:\n{expected}\nfound:\n{printed}"
    ))
}

/// Whether exactly what the comments of a program say was reported.
fn reported(
    session: &Session,
    section: &Section,
    diagnostics: Vec<Diagnostic>,
) -> Result<(), String> {
    answers::complete(session, &diagnostics)?;
    let mut missing = expectations(&section.text)?;
    let name = program_name(section);
    let mut surplus = Vec::new();
    for diagnostic in diagnostics {
        match missing.iter().position(|wish| fits(session, &name, wish, &diagnostic)) {
            Some(at) => {
                missing.remove(at);
            }
            None => surplus.push(diagnostic),
        }
    }
    if missing.is_empty() && surplus.is_empty() {
        return Ok(());
    }
    let mut why = String::new();
    for Expected { line, column, severity, code, text } in missing {
        let column = column.map(|column| format!(":{column}")).unwrap_or_default();
        let line = section.line + line - 1;
        why.push_str(&format!("not reported at line {line}{column}: {severity} {code} {text}\n"));
    }
    if !surplus.is_empty() {
        why.push_str("reported, but not expected:\n");
        why.push_str(&session.render(&surplus, Style::Plain));
    }
    Err(why)
}

fn fits(session: &Session, name: &str, wish: &Expected, found: &Diagnostic) -> bool {
    let severity = match found.severity() {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let span = found.primary.span;
    let (line, column) = session.files().position(span);
    session.files().file(span.file()).name == name
        && severity == wish.severity
        && found.code.as_str() == wish.code
        && line == wish.line
        && wish.column.is_none_or(|it| it == column)
        && found.message.contains(&wish.text)
}

fn golden(path: &Path, section: &Section) -> Result<(), String> {
    let (session, report) = checked(&program_name(section), &section.text, &section.files)?;
    answers::complete(&session, &report.diagnostics)?;
    let shown = render(session.files(), &report.diagnostics, Style::Plain);
    compare(&path.with_file_name(format!("{}.stderr", section.name)), &shown)
}

/// Compares a text with that of a golden file, or writes it there.
pub fn compare(golden: &Path, shown: &str) -> Result<(), String> {
    if crate::bless() {
        return std::fs::write(golden, shown)
            .map_err(|error| format!("{}: {error}", golden.display()));
    }
    let expected = std::fs::read_to_string(golden).unwrap_or_default();
    if shown == expected {
        return Ok(());
    }
    Err(format!(
        "the rendering is not that of {} (`cargo xtask bless` accepts it)\n\n\
         expected:\n{expected}\nfound:\n{shown}",
        golden.display()
    ))
}
