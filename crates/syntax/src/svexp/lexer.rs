//! Text to tokens.

use ein_base::{Code, Diagnostic, FileId, Span};

/// A token.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: TokenKind,
    pub(super) text: &'a str,
    pub(super) span: Span,
    /// Whether nothing stands between it and the next one.
    pub(super) joined: bool,
}

/// The kinds of token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind {
    Number,
    Word,
    /// `+ - * / < > <= >= = ( ) [ ] ,`
    Sign,
    End,
}

/// All tokens of a text; the last one is its end.
pub(super) fn lex<'a>(
    file: FileId,
    text: &'a str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Token<'a>> {
    let span = |lo: usize, hi: usize| {
        let clip = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span::new(file, clip(lo), clip(hi))
    };
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..)
        && let Some(c) = rest.chars().next()
    {
        let (kind, len) = if c.is_whitespace() || c == '\u{feff}' {
            at += c.len_utf8();
            continue;
        } else if c == ';' || rest.starts_with("--") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        } else if c.is_ascii_digit() {
            (TokenKind::Number, number(rest))
        } else if c.is_alphabetic() || c == '_' {
            (TokenKind::Word, word(rest))
        } else if rest.starts_with("<=") || rest.starts_with(">=") {
            (TokenKind::Sign, 2)
        } else if "+-*/<>=()[],".contains(c) {
            (TokenKind::Sign, 1)
        } else {
            let place = span(at, at + c.len_utf8());
            let message = format!("`{c}` means nothing here");
            diagnostics.push(Diagnostic::new(Code::E0110, place, message));
            at += c.len_utf8();
            continue;
        };
        let end = at + len;
        let joined = text.get(end..).is_some_and(|it| !it.starts_with(char::is_whitespace));
        let piece = text.get(at..end).unwrap_or_default();
        tokens.push(Token { kind, text: piece, span: span(at, end), joined });
        at = end;
    }
    let end = span(text.len(), text.len());
    tokens.push(Token { kind: TokenKind::End, text: "", span: end, joined: false });
    tokens
}

/// The length of the number at the start: `12`, `1.5`, `1e-3`.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut at = digits(0);
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1);
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let end = digits(at + 1 + sign);
        if end > at + 1 + sign {
            at = end;
        }
    }
    at
}

/// The length of the word at the start; `-` joins letters: `scan-plus`.
fn word(text: &str) -> usize {
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let inside = c.is_alphanumeric() || c == '_' || c == '\'';
        let joins = c == '-' && chars.peek().is_some_and(|it| it.1.is_alphabetic());
        if !inside && !joins {
            return at;
        }
    }
    text.len()
}
