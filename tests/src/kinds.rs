//! The kinds of test, one function each.

use crate::BLESS;
use crate::section::{Expected, Section, expectations};
use ein_driver::render::{Style, render};
use ein_driver::{CheckReport, Diagnostic, FileSources, Input, Options, Session, Severity};
use std::path::Path;

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

fn program_name(section: &Section) -> String {
    format!("{}.ein", section.name)
}

fn check(_: &Path, section: &Section) -> Result<(), String> {
    let mut missing = expectations(&section.text)?;
    let name = program_name(section);
    let (session, report) = checked(&name, &section.text, &section.files)?;

    let mut surplus = Vec::new();
    for diagnostic in report.diagnostics {
        match missing.iter().position(|wish| fits(&session, &name, wish, &diagnostic)) {
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
    session.files().file(span.file).name == name
        && severity == wish.severity
        && found.code.as_str() == wish.code
        && line == wish.line
        && wish.column.is_none_or(|it| it == column)
        && found.message.contains(&wish.text)
}

fn golden(path: &Path, section: &Section) -> Result<(), String> {
    let (session, report) = checked(&program_name(section), &section.text, &section.files)?;
    let shown = render(session.files(), &report.diagnostics, Style::Plain);
    let golden = path.with_file_name(format!("{}.stderr", section.name));
    if std::env::var_os(BLESS).is_some_and(|it| it == "1") {
        return std::fs::write(&golden, shown)
            .map_err(|error| format!("{}: {error}", golden.display()));
    }
    let expected = std::fs::read_to_string(&golden).unwrap_or_default();
    if shown == expected {
        return Ok(());
    }
    Err(format!(
        "the rendering is not that of {} (`cargo xtask bless` accepts it)\n\n\
         expected:\n{expected}\nfound:\n{shown}",
        golden.display()
    ))
}
