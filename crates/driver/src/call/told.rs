//! Diagnostics as callers get them: without ids, with their rendering.

use crate::render::Style;
use crate::{Diagnostic, Session, Severity};
use ein_base::Label;

/// A diagnostic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Its code: `E0311`.
    pub code: &'static str,
    /// One plain sentence.
    pub message: String,
    /// Whether it rejects the program.
    pub is_error: bool,
    /// The place at fault, then other places involved.
    pub places: Vec<Place>,
    /// Facts that have no place.
    pub notes: Vec<String>,
    /// Ways out.
    pub fixes: Vec<String>,
    /// What a terminal shows, without colours.
    pub text: String,
    /// The same with colours.
    pub coloured: String,
}

/// A place in a file, from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// What the file is called.
    pub file: String,
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// What is said there.
    pub label: String,
}

impl Told {
    /// All of them, with their renderings.
    pub fn all(session: &Session, diagnostics: &[Diagnostic]) -> Vec<Told> {
        diagnostics.iter().map(|it| Told::of(session, it)).collect()
    }

    /// An error of the caller's own making, which has no place in any text.
    pub fn alone(code: crate::Code, message: String, fixes: Vec<String>) -> Told {
        let mut text = format!("error[{code}]: {message}");
        for fix in &fixes {
            text.push_str(&format!("\n  = help: {fix}"));
        }
        Told {
            code: code.as_str(),
            message,
            is_error: true,
            places: Vec::new(),
            notes: Vec::new(),
            fixes,
            coloured: text.clone(),
            text,
        }
    }

    fn of(session: &Session, diagnostic: &Diagnostic) -> Told {
        let place = |label: &Label| {
            let (line, column) = session.files().position(label.span);
            let file = session.files().file(label.span.file()).name.clone();
            Place { file, line, column, label: label.text.clone() }
        };
        let labels = std::iter::once(&diagnostic.primary).chain(&diagnostic.labels);
        let alone = std::slice::from_ref(diagnostic);
        let shown = |style| session.render(alone, style).trim_end().to_owned();
        Told {
            code: diagnostic.code.as_str(),
            message: diagnostic.message.clone(),
            is_error: diagnostic.severity() == Severity::Error,
            places: labels.map(place).collect(),
            notes: diagnostic.notes.clone(),
            fixes: diagnostic.helps.iter().map(|help| help.text.clone()).collect(),
            text: shown(Style::Plain),
            coloured: shown(Style::Coloured),
        }
    }
}
