//! Diagnostics as data: what went wrong, where, what else is involved, and what would make it
//! right. Rendering happens at the edge, in the driver.

use crate::{Code, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The program is rejected.
    Error,
    /// The program is accepted, and probably not what was meant.
    Warning,
}

/// A remark at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The remark.
    pub text: String,
}

/// What would make it right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Help {
    /// In words.
    pub text: String,
    /// As a replacement that a tool can apply.
    pub edit: Option<(Span, String)>,
}

/// One message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its code; the severity follows from it.
    pub code: Code,
    /// One plain sentence.
    pub message: String,
    /// The place at fault, with what is to be said there (may be empty).
    pub primary: Label,
    /// Other places involved.
    pub labels: Vec<Label>,
    /// Facts that have no place.
    pub notes: Vec<String>,
    /// Ways out.
    pub helps: Vec<Help>,
}

impl Diagnostic {
    /// A message at a place.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            primary: Label { span, text: String::new() },
            labels: Vec::new(),
            notes: Vec::new(),
            helps: Vec::new(),
        }
    }
    /// Says something right under the place at fault.
    pub fn here(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }
    /// Points at another place.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }
    /// Adds a fact.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }
    /// Adds a way out.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.helps.push(Help { text: text.into(), edit: None });
        self
    }
    /// Adds a way out that a tool can apply.
    pub fn fix(
        mut self,
        text: impl Into<String>,
        span: Span,
        replacement: impl Into<String>,
    ) -> Self {
        self.helps.push(Help { text: text.into(), edit: Some((span, replacement.into())) });
        self
    }
    /// Error or warning.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity() == Severity::Error
    }
}
