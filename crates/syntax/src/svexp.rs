//! svexp (`.svx`): functions on matrices by splitting, joining and typical components, read as
//! Einlang.
//!
//! Before:  `times x y = Proj 7 0 (Proj 8 1 (inner (Typ 0 7 x) (Typ 1 8 y)))`
//! After:   `fn times(x, y) { let p[i, j] = inner(x[i], y[.., j]); p }`
//!
//! Three steps: [`lexer`], [`parser`], and [`translate`], which follows the axes of each value. A
//! value has *inner* axes, which are the axes of its array in order, and *outer* axes, each an
//! index variable: `Typ` indexes with it, `Proj` defines over it. Functions are translated once
//! for each combination of element types and inner axes they are used with.
//!
//! Limits: a function that is never called is not translated, for its axes are not known.

mod axes;
mod lexer;
mod parser;
mod pieces;
mod project;
mod translate;
mod tree;

use crate::{MAX_DIAGNOSTICS, Parsed};
use ein_base::FileId;

/// Parses a program in svexp.
pub(crate) fn parse(file: FileId, text: &str) -> Parsed {
    let mut diagnostics = Vec::new();
    let tokens = lexer::lex(file, text, &mut diagnostics);
    let program = parser::parse(file, &tokens, &mut diagnostics);
    let ast = translate::translate(file, &program, &mut diagnostics);
    diagnostics.sort_by_key(|it| (it.primary.span.lo(), it.primary.span.hi(), it.message.clone()));
    diagnostics.dedup();
    diagnostics.truncate(MAX_DIAGNOSTICS);
    Parsed { ast, comments: Vec::new(), diagnostics }
}
