//! Where a string ends: the part of the lexer that sees nested braces and strings.

use super::Lexer;
use crate::token::{Token, TokenKind};
use ein_base::{Code, Diagnostic};

impl Lexer<'_> {
    pub(super) fn string(&mut self, start: usize) -> Token {
        let nested = if start < self.flat_until { None } else { self.nested_end(start + 1) };
        let end = nested.or_else(|| self.flat_end(start + 1));
        match end {
            Some(end) => {
                self.pos = end;
                self.token(TokenKind::Str, start)
            }
            None => self.unterminated(start),
        }
    }

    /// The end of the string whose text starts at `pos`, braces and the strings in them seen.
    fn nested_end(&mut self, mut pos: usize) -> Option<usize> {
        // How many braces are open in each interpolation that we are in; between two entries
        // there is a string.
        let mut open: Vec<u32> = Vec::new();
        let mut in_text = true;
        loop {
            let byte = *self.bytes.get(pos).unwrap_or(&b'\n');
            match byte {
                b'\n' => {
                    self.flat_until = pos;
                    return None;
                }
                b'\\' if in_text => pos = self.escape_end(pos),
                b'"' if in_text => {
                    pos += 1;
                    if open.is_empty() {
                        return Some(pos);
                    }
                    in_text = false;
                }
                b'{' if in_text => {
                    if self.bytes.get(pos + 1) == Some(&b'{') {
                        pos += 2;
                    } else {
                        open.push(0);
                        in_text = false;
                        pos += 1;
                    }
                }
                b'"' => {
                    in_text = true;
                    pos += 1;
                }
                b'{' => {
                    if let Some(depth) = open.last_mut() {
                        *depth += 1;
                    }
                    pos += 1;
                }
                b'}' if !in_text => {
                    match open.last_mut() {
                        Some(0) => {
                            open.pop();
                            in_text = true;
                        }
                        Some(depth) => *depth -= 1,
                        None => in_text = true,
                    }
                    pos += 1;
                }
                _ => pos += 1,
            }
        }
    }

    /// The end of the string whose text starts at `pos`, at the first quote.
    fn flat_end(&self, mut pos: usize) -> Option<usize> {
        loop {
            match self.bytes.get(pos)? {
                b'\n' => return None,
                b'\\' => pos = self.escape_end(pos),
                b'"' => return Some(pos + 1),
                _ => pos += 1,
            }
        }
    }

    /// Past the escape at `pos`; the braces of `\u{…}` open nothing.
    fn escape_end(&self, pos: usize) -> usize {
        let rest = &self.bytes[pos..];
        if rest.starts_with(b"\\u{") {
            let digits = rest[3..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
            let closed = usize::from(rest.get(3 + digits) == Some(&b'}'));
            return pos + 3 + digits + closed;
        }
        match rest.get(1) {
            Some(b'\n') | None => pos + 1,
            Some(_) => pos + 2,
        }
    }

    /// Reports a string without an end. It is taken to stop before the punctuation that ends its
    /// line, so that the statement around it is still read.
    fn unterminated(&mut self, start: usize) -> Token {
        let rest = &self.bytes[start..];
        let mut line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        if let Some(comment) = memchr::memmem::rfind(line, b" //") {
            line = &line[..comment];
        }
        let line = line.trim_ascii_end();
        let tail = line
            .iter()
            .rev()
            .take_while(|b| matches!(b, b';' | b',' | b')' | b']' | b'}' | b' '))
            .count();
        let end = start + line.len().saturating_sub(tail).max(1);
        self.pos = end;
        let quote = self.span(start, start + 1);
        self.report(
            Diagnostic::new(Code::E0102, quote, "this string is not closed")
                .here("it starts here, and its line ends without a `\"`")
                .fix(
                    "close it; a string stays on one line (`\\n` is a line break)",
                    self.span(end, end),
                    "\"",
                ),
        );
        let token = self.token(TokenKind::BadStr, start);
        // The report is about this string, not about what comes before it.
        Token { after_error: false, ..token }
    }

    /// A string in single or curly quotes: one report, and the parser sees a string.
    pub(super) fn foreign_quote(&mut self, quote: char, start: usize) -> Token {
        let rest = self.text.get(self.pos..self.bytes.len()).unwrap_or("");
        let close =
            rest.char_indices().take_while(|(_, c)| *c != '\n').find(|(_, c)| match quote {
                '\'' => *c == '\'',
                '“' | '”' => matches!(c, '“' | '”'),
                _ => matches!(c, '‘' | '’'),
            });
        let inside = close.map_or("", |(at, _)| &rest[..at]);
        if let Some((at, c)) = close {
            self.pos += at + c.len_utf8();
        }
        let span = self.span(start, self.pos);
        let mut diagnostic =
            Diagnostic::new(Code::E0110, span, format!("`{quote}` does not quote a string"))
                .here("strings are written with `\"`");
        if close.is_some() {
            let fixed = format!("\"{inside}\"");
            diagnostic = diagnostic.fix(format!("write `{fixed}`"), span, fixed);
        } else {
            diagnostic = diagnostic.fix("write `\"`", span, "\"");
        }
        self.report(diagnostic);
        let token = self.token(TokenKind::BadStr, start);
        Token { after_error: false, ..token }
    }
}
