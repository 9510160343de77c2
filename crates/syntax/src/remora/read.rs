//! Text to s-expressions.

use crate::notation::MAX_NESTING;
use ein_base::{Code, Diagnostic, FileId, Span};

/// An s-expression.
#[derive(Debug)]
pub(super) struct Sexp<'a> {
    pub(super) kind: SexpKind<'a>,
    pub(super) span: Span,
}

/// The kinds of s-expression.
#[derive(Debug)]
pub(super) enum SexpKind<'a> {
    /// `(a b)`
    List(Vec<Sexp<'a>>),
    /// `[a b]`
    Vector(Vec<Sexp<'a>>),
    /// Everything else.
    Atom(&'a str),
}

/// Reads all s-expressions of a text; brackets that are not closed are closed at its end.
pub(super) fn read<'a>(
    file: FileId,
    text: &'a str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Sexp<'a>> {
    let mut reader = Reader { file, text, at: 0, diagnostics, too_deep: false };
    let mut forms = Vec::new();
    loop {
        reader.skip();
        match reader.peek() {
            None => return forms,
            Some(close @ (')' | ']')) => {
                let span = reader.span_from(reader.at, reader.at + 1);
                let message = format!("this `{close}` closes nothing");
                reader.diagnostics.push(Diagnostic::new(Code::E0105, span, message));
                reader.at += 1;
            }
            Some(_) => forms.extend(reader.one(0)),
        }
    }
}

struct Reader<'a, 'd> {
    file: FileId,
    text: &'a str,
    at: usize,
    diagnostics: &'d mut Vec<Diagnostic>,
    too_deep: bool,
}

impl<'a> Reader<'a, '_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at..)?.chars().next()
    }

    fn span_from(&self, lo: usize, hi: usize) -> Span {
        let clip = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span::new(self.file, clip(lo), clip(hi))
    }

    /// Skips blanks and comments.
    fn skip(&mut self) {
        while let Some(c) = self.peek() {
            if c == ';' {
                let rest = self.text.get(self.at..).unwrap_or_default();
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if c.is_whitespace() || c == '\u{feff}' {
                self.at += c.len_utf8();
            } else {
                return;
            }
        }
    }

    fn one(&mut self, depth: u32) -> Option<Sexp<'a>> {
        let lo = self.at;
        match self.peek()? {
            open @ ('(' | '[') => {
                self.at += 1;
                let close = if open == '(' { ')' } else { ']' };
                let items = self.items(open, close, lo, depth + 1);
                let span = self.span_from(lo, self.at);
                let kind =
                    if open == '(' { SexpKind::List(items) } else { SexpKind::Vector(items) };
                Some(Sexp { kind, span })
            }
            _ => {
                let rest = self.text.get(lo..).unwrap_or_default();
                let ends = |c: char| c.is_whitespace() || "()[];".contains(c);
                self.at += rest.find(ends).unwrap_or(rest.len());
                let text = self.text.get(lo..self.at).unwrap_or_default();
                if text == "#A" {
                    return Some(self.flat_array(lo, depth));
                }
                Some(Sexp { kind: SexpKind::Atom(text), span: self.span_from(lo, self.at) })
            }
        }
    }

    /// `#A(2 3)(9 8 7 6 5 4)`: a shape and the elements in order, read as a call of `reshape`.
    fn flat_array(&mut self, lo: usize, depth: u32) -> Sexp<'a> {
        let start = self.span_from(lo, self.at);
        let mut parts = vec![Sexp { kind: SexpKind::Atom("reshape"), span: start }];
        for _ in 0..2 {
            self.skip();
            match self.peek() {
                Some('(') => {
                    let open = self.at;
                    self.at += 1;
                    let kind = SexpKind::Vector(self.items('(', ')', open, depth + 1));
                    parts.push(Sexp { kind, span: self.span_from(open, self.at) });
                }
                _ => {
                    let message = "the array lacks its shape or its elements";
                    let diagnostic = Diagnostic::new(Code::E0101, start, message)
                        .help("write `#A(2 2)(1 2 3 4)`");
                    self.diagnostics.push(diagnostic);
                    return Sexp { kind: SexpKind::Vector(Vec::new()), span: start };
                }
            }
        }
        Sexp { kind: SexpKind::List(parts), span: self.span_from(lo, self.at) }
    }

    fn items(&mut self, open: char, close: char, lo: usize, depth: u32) -> Vec<Sexp<'a>> {
        let mut items = Vec::new();
        if depth > MAX_NESTING {
            if !self.too_deep {
                self.too_deep = true;
                let span = self.span_from(lo, lo + 1);
                let message = format!("more than {MAX_NESTING} levels of brackets");
                self.diagnostics.push(Diagnostic::new(Code::E0115, span, message));
            }
            self.skip_balanced();
            return items;
        }
        loop {
            self.skip();
            match self.peek() {
                Some(c) if c == close => {
                    self.at += 1;
                    return items;
                }
                Some(')' | ']') | None => {
                    let span = self.span_from(lo, lo + 1);
                    let message = format!("this `{open}` is not closed");
                    let end = self.span_from(self.at, self.at);
                    self.diagnostics.push(
                        Diagnostic::new(Code::E0104, span, message)
                            .label(end, format!("`{close}` is missing here")),
                    );
                    return items;
                }
                Some(_) => items.extend(self.one(depth)),
            }
        }
    }

    /// Goes past the bracket that closes the current one.
    fn skip_balanced(&mut self) {
        let mut open = 1_usize;
        while open > 0 {
            self.skip();
            match self.peek() {
                None => return,
                Some('(' | '[') => open += 1,
                Some(')' | ']') => open -= 1,
                Some(_) => {}
            }
            self.at += self.peek().map_or(0, char::len_utf8);
        }
    }
}
