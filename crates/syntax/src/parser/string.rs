//! Strings: escapes, interpolations and format specifications.

use super::{Parse, Parser};
use crate::ast::*;
use crate::lexer;
use crate::token::TokenKind;
use ein_base::{Code, Diagnostic, Span, Symbol};

/// The widest field and the most digits that a format may ask for.
const MAX_FIELD: u32 = 10_000;

impl Parser<'_> {
    /// The string in the current token, which is taken.
    pub(super) fn string(&mut self) -> Parse<ExprId> {
        let span = self.span_here();
        self.bump();
        let (start, end) = (span.lo() as usize + 1, (span.hi() as usize).saturating_sub(1));
        let inside = self.text.get(start..end).unwrap_or("");
        let plain = !inside.bytes().any(|b| matches!(b, b'\\' | b'{' | b'}'));
        let parts = if inside.is_empty() {
            Vec::new()
        } else if plain {
            vec![StrPart::Text(Symbol::intern(inside))]
        } else {
            self.nested(|p| p.string_parts(start, end))?
        };
        self.expr(ExprKind::Str(parts.into()), span.lo())
    }

    fn string_parts(&mut self, start: usize, end: usize) -> Parse<Vec<StrPart>> {
        let text = self.text;
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut pos = start;
        while pos < end {
            let rest = &text[pos..end];
            let special = rest.find(['\\', '{', '}']).unwrap_or(rest.len());
            plain.push_str(&rest[..special]);
            pos += special;
            let rest = &text[pos..end];
            if rest.starts_with("{{") || rest.starts_with("}}") {
                plain.push_str(&rest[..1]);
                pos += 2;
            } else if rest.starts_with('\\') {
                pos += self.escape(pos, end, &mut plain);
            } else if rest.starts_with('}') {
                self.report_lone_brace(pos);
                plain.push('}');
                pos += 1;
            } else if rest.starts_with('{') {
                if !plain.is_empty() {
                    parts.push(StrPart::Text(Symbol::intern(&plain)));
                    plain.clear();
                }
                let (part, next) = self.interpolation(pos, end);
                parts.push(part);
                pos = next;
            }
        }
        if !plain.is_empty() {
            parts.push(StrPart::Text(Symbol::intern(&plain)));
        }
        Ok(parts)
    }

    fn report_lone_brace(&mut self, pos: usize) {
        let span = Span::new(self.file, pos as u32, pos as u32 + 1);
        self.report(
            Diagnostic::new(Code::E0105, span, "this `}` in a string closes nothing")
                .here("no `{` is open here")
                .fix("a brace in a string is written twice", span, "}}"),
        );
    }

    /// Appends what the escape at `pos` means and returns its length.
    fn escape(&mut self, pos: usize, end: usize, out: &mut String) -> usize {
        let rest = &self.text[pos..end];
        let after = rest[1..].chars().next();
        let simple = match after {
            Some('n') => Some('\n'),
            Some('t') => Some('\t'),
            Some('r') => Some('\r'),
            Some('0') => Some('\0'),
            Some('"') => Some('"'),
            Some('\\') => Some('\\'),
            _ => None,
        };
        if let Some(c) = simple {
            out.push(c);
            return 2;
        }
        if after == Some('u') {
            return self.unicode_escape(pos, rest, out);
        }
        let len = 1 + after.map_or(0, char::len_utf8);
        let span = Span::new(self.file, pos as u32, (pos + len) as u32);
        let shown = &rest[..len];
        let diagnostic = Diagnostic::new(Code::E0109, span, format!("`{shown}` is not an escape"))
            .here("unknown escape");
        self.report(match after {
            Some('{') | Some('}') => {
                let twice = shown[1..].repeat(2);
                diagnostic.fix("a brace in a string is written twice", span, twice)
            }
            Some('\'') => diagnostic.fix("`'` needs no escape", span, "'"),
            _ => diagnostic
                .help("the escapes are `\\n`, `\\t`, `\\r`, `\\0`, `\\\"`, `\\\\` and `\\u{3b1}`"),
        });
        if let Some(brace @ ('{' | '}')) = after {
            out.push(brace);
        }
        len
    }

    fn unicode_escape(&mut self, pos: usize, rest: &str, out: &mut String) -> usize {
        let digits = rest[2..]
            .strip_prefix('{')
            .map_or("", |r| &r[..r.bytes().take_while(u8::is_ascii_hexdigit).count()]);
        let braced = rest[2..].starts_with('{');
        let closed = braced && rest[3 + digits.len()..].starts_with('}');
        let len = if braced { 3 + digits.len() + usize::from(closed) } else { 2 };
        let value = u32::from_str_radix(digits, 16).ok().and_then(char::from_u32);
        match value {
            Some(c) if closed => out.push(c),
            _ => {
                let span = Span::new(self.file, pos as u32, (pos + len) as u32);
                let here = if !closed {
                    "expected hexadecimal digits in braces"
                } else if digits.is_empty() {
                    "there are no digits in the braces"
                } else {
                    "there is no such character"
                };
                self.report(
                    Diagnostic::new(
                        Code::E0109,
                        span,
                        format!("`{}` is not an escape", &rest[..len]),
                    )
                    .here(here)
                    .help("a character by its number is written `\\u{3b1}`, up to `\\u{10ffff}`"),
                );
            }
        }
        len
    }

    /// `{e:spec}` from the brace at `pos`; returns also where the text goes on.
    fn interpolation(&mut self, pos: usize, end: usize) -> (StrPart, usize) {
        let (tokens, diagnostics, stop) =
            lexer::lex_interpolation(self.file, self.text, pos + 1, end);
        let lexed_badly = !diagnostics.is_empty();
        for diagnostic in diagnostics {
            self.report(diagnostic);
        }
        let empty = tokens.len() == 1;
        // Parse these tokens, then return to those of the file.
        let outer = std::mem::replace(&mut self.tokens, tokens);
        let state = (self.pos, self.prev_end, self.prev_kind, self.anchor, self.quiet_eof);
        let flags = (self.no_struct, self.hole_ok, self.in_guard, self.blocks);
        (self.pos, self.prev_end, self.prev_kind, self.anchor) =
            (0, pos as u32 + 1, TokenKind::LBrace, 0);
        (self.quiet_eof, self.no_struct, self.hole_ok, self.in_guard, self.blocks) =
            (lexed_badly, false, false, false, 0);
        let expr = if empty {
            self.report_empty_interpolation(pos, stop);
            self.error_expr()
        } else {
            self.interpolated_expr()
        };
        self.tokens = outer;
        (self.pos, self.prev_end, self.prev_kind, self.anchor, self.quiet_eof) = state;
        (self.no_struct, self.hole_ok, self.in_guard, self.blocks) = flags;
        let rest = &self.text[stop..end];
        if let Some(spec) = rest.strip_prefix(':') {
            let Some(len) = spec.find('}') else {
                self.report_open_interpolation(pos);
                return (StrPart::Value { expr, spec: None }, end);
            };
            let spec = self.format_spec(&spec[..len], stop + 1);
            return (StrPart::Value { expr, spec }, stop + 1 + len + 1);
        }
        if rest.is_empty() {
            self.report_open_interpolation(pos);
            return (StrPart::Value { expr, spec: None }, end);
        }
        (StrPart::Value { expr, spec: None }, stop + 1)
    }

    fn interpolated_expr(&mut self) -> ExprId {
        let before = self.diagnostics.len();
        let Ok(expr) = self.expression() else { return self.error_expr() };
        if !self.at(TokenKind::Eof) && self.diagnostics.len() == before {
            self.unexpected("`}`");
            return self.error_expr();
        }
        expr
    }

    fn report_empty_interpolation(&mut self, pos: usize, stop: usize) {
        let span = Span::new(self.file, pos as u32, (stop as u32 + 1).min(self.text.len() as u32));
        self.report(
            Diagnostic::new(Code::E0101, span, "there is nothing to insert between these braces")
                .here("expected an expression")
                .help(
                    "braces in a string hold an expression; a brace itself is written twice: `{{`",
                ),
        );
    }

    fn report_open_interpolation(&mut self, pos: usize) {
        let span = Span::new(self.file, pos as u32, pos as u32 + 1);
        let already =
            self.diagnostics.iter().rev().take(2).any(|d| d.primary.span.lo() as usize >= pos);
        if already {
            return;
        }
        self.report(
            Diagnostic::new(Code::E0104, span, "this `{` in a string is not closed")
                .here("it inserts an expression")
                .fix("a brace in a string is written twice", span, "{{"),
        );
    }

    /// `[[fill]align][sign][0][width][.precision][type]`
    fn format_spec(&mut self, text: &str, at: usize) -> Option<FormatSpec> {
        match parse_spec(text) {
            Ok(spec) => Some(spec),
            Err(problem) => {
                let span = Span::new(self.file, at as u32, (at + text.len()) as u32);
                self.report(
                    Diagnostic::new(Code::E0114, span, format!("`{text}` is not a format"))
                        .here(problem)
                        .help("a format is `[[fill]align][+][0][width][.precision][type]`: `{x:.4f}`, `{x:>8}`, `{n:05d}`, `{x:e}`"),
                );
                None
            }
        }
    }
}

fn parse_spec(text: &str) -> Result<FormatSpec, String> {
    let mut spec = FormatSpec::default();
    let mut chars = text.chars().peekable();
    let align = |c: char| match c {
        '<' => Some(Align::Left),
        '^' => Some(Align::Centre),
        '>' => Some(Align::Right),
        _ => None,
    };
    let mut two = text.chars();
    if let (Some(fill), Some(side)) = (two.next(), two.next().and_then(align)) {
        (spec.fill, spec.align) = (Some(fill), Some(side));
        chars.next();
        chars.next();
    } else if let Some(side) = text.chars().next().and_then(align) {
        spec.align = Some(side);
        chars.next();
    }
    spec.plus = chars.next_if_eq(&'+').is_some();
    spec.zero = chars.next_if_eq(&'0').is_some();
    spec.width = digits(&mut chars)?;
    if chars.next_if_eq(&'.').is_some() {
        spec.precision = digits(&mut chars)?;
        if spec.precision.is_none() {
            return Err("expected digits after the point".into());
        }
    }
    if let Some(kind) = chars.next() {
        if !"fedxbsg%".contains(kind) {
            return Err(format!("`{kind}` is not a type of format: those are `f e d x b s g %`"));
        }
        spec.kind = Some(kind);
    }
    match chars.next() {
        Some(extra) => Err(format!("`{extra}` does not belong here")),
        None if text.is_empty() => Err("nothing follows the `:`".into()),
        None => Ok(spec),
    }
}

fn digits(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Result<Option<u32>, String> {
    let mut value = None;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        chars.next();
        let next = value.unwrap_or(0) * 10 + digit;
        if next > MAX_FIELD {
            return Err(format!("no field may be wider than {MAX_FIELD}"));
        }
        value = Some(next);
    }
    Ok(value)
}
