//! The canonical layout of a program.
//!
//! The tree is printed through documents ([`doc`]). Comments are not in the tree: they are taken
//! in source order, each where the next thing after it is printed, so that none is lost. Blank
//! lines between statements are kept, at most one in a row. Literals and strings are printed as
//! they were written.

mod comments;
mod control;
mod doc;
mod expr;
mod paren;
mod stmt;
mod types;

use crate::ast::*;
use crate::token::Token;
use crate::{Comment, lexer, parser};
use doc::{Doc, Printer, text};
use ein_base::{Diagnostic, FileId, Idx, Span};

/// The longest line.
const WIDTH: usize = 100;
/// How far the inside of a bracket is indented.
const INDENT: usize = 4;
/// How often a text is formatted until it stays as it is. Comments in odd places may move once.
const MAX_PASSES: usize = 6;

/// Formats a program. If it has syntax errors they are returned instead.
pub fn format(text: &str) -> Result<String, Vec<Diagnostic>> {
    let (mut out, mut odd) = pass(text)?;
    for _ in 1..MAX_PASSES {
        if !odd {
            break;
        }
        let (next, _) = pass(&out)?;
        odd = next != out;
        out = next;
    }
    Ok(out)
}

/// Formats once; says also whether a comment stood inside of a statement.
fn pass(text: &str) -> Result<(String, bool), Vec<Diagnostic>> {
    let file = FileId::from_usize(0);
    let parsed = parser::parse(file, text);
    if !parsed.diagnostics.is_empty() {
        return Err(parsed.diagnostics);
    }
    let tokens = if parsed.comments.is_empty() { Vec::new() } else { lexer::lex(file, text) };
    let mut formatter = Formatter {
        text,
        ast: &parsed.ast,
        comments: &parsed.comments,
        tokens,
        next: 0,
        odd: false,
        no_struct: false,
    };
    let mut printer = Printer::new(WIDTH);
    formatter.file(&mut printer);
    let mut out = printer.out;
    out.truncate(out.trim_end().len());
    if !out.is_empty() {
        out.push('\n');
    }
    Ok((out, formatter.odd))
}

struct Formatter<'a> {
    text: &'a str,
    ast: &'a Ast,
    comments: &'a [Comment],
    /// The tokens, if there are comments whose place must be found.
    tokens: Vec<Token>,
    /// The first comment that is not printed yet.
    next: usize,
    /// A comment stood inside of a statement.
    odd: bool,
    /// In the head of an `if` or `match`.
    no_struct: bool,
}

impl<'a> Formatter<'a> {
    /// The source text of a span.
    fn source(&self, span: Span) -> &'a str {
        self.text.get(span.lo() as usize..span.hi() as usize).unwrap_or("")
    }

    fn as_written(&self, span: Span) -> Doc {
        text(self.source(span))
    }

    fn expr_span(&self, id: ExprId) -> Span {
        self.ast.expr[id].span
    }

    fn kind(&self, id: ExprId) -> &'a ExprKind {
        &self.ast.expr[id].kind
    }
}
