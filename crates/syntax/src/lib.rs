//! From text to trees: lexer, parser with recovery, formatter, and readers of two other notations that
//! give the same tree.
//!
//! Parsing cannot fail: it always gives a tree, and diagnostics beside it.
//!
//! Does not know: names, types, other files.

#![forbid(unsafe_code)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod ast;
mod dump;
mod format;
mod lexer;
mod notation;
mod parser;
mod remora;
mod svexp;
mod token;
mod unparse;

use ein_base::{Diagnostic, FileId, Span};

pub use dump::dump;
pub use format::format;
pub use notation::{Notation, parse_as};
pub use unparse::unparse;

/// How many diagnostics one file may give; more say nothing new and cost memory.
const MAX_DIAGNOSTICS: usize = 1000;

/// What parsing a file gives.
#[derive(Debug)]
pub struct Parsed {
    /// The tree; where something could not be parsed it holds `Error` nodes.
    pub ast: ast::Ast,
    /// All comments, in source order.
    pub comments: Vec<Comment>,
    /// What was wrong, in source order.
    pub diagnostics: Vec<Diagnostic>,
}

/// A comment of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comment {
    /// Which kind.
    pub kind: CommentKind,
    /// Where it stands, markers included, the end of the line not.
    pub span: Span,
}

/// The kinds of comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentKind {
    /// `// …`
    Line,
    /// `/* … */`
    Block,
    /// `/// …`: documentation of the statement below.
    Doc,
    /// `//! …`: documentation of the file.
    FileDoc,
}

/// Parses the text of a file. A byte order mark at its start is skipped.
pub fn parse(file: FileId, text: &str) -> Parsed {
    parser::parse(file, text)
}

/// Whether a word can be a name: no keyword but those that are words in some places only, such as `in`, and
/// no root of a path.
pub fn is_name(word: &str) -> bool {
    let roots = ["crate", "self", "super", "std", "python"];
    token::word(word.as_bytes()).is_name() && !roots.contains(&word)
}
