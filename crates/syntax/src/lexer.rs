//! Text to tokens, in one pass and without allocation per token.
//!
//! Comments are collected beside the tokens. What cannot be a token is reported and skipped; the
//! token after it is marked, so that the parser does not complain about the same place again.

mod string;

use crate::token::{Token, TokenKind, word};
use crate::{Comment, CommentKind};
use ein_base::{Code, Diagnostic, FileId, Span};

/// The byte order mark, which may stand at the start of a file.
const BOM: &str = "\u{feff}";

/// Cuts a whole file into tokens; the last one is `Eof`.
pub(crate) fn lex(file: FileId, text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    Lexer::of_file(file, text).cut(usize::MAX, &mut tokens);
    tokens
}

/// Cuts an interpolation into tokens: from `start` to the `}` that closes it, to the `:` of its
/// format specification, or to `end`. Returns also where it stopped.
pub(crate) fn lex_interpolation(
    file: FileId,
    text: &str,
    start: usize,
    end: usize,
) -> (Vec<Token>, Vec<Diagnostic>, usize) {
    let mut lexer = Lexer::new(file, text, start, end);
    let mut tokens = Vec::new();
    let mut depth = 0u32;
    loop {
        let mut token = lexer.next();
        match token.kind {
            TokenKind::LParen | TokenKind::LBracket | TokenKind::LBrace => depth += 1,
            TokenKind::RBrace | TokenKind::Colon if depth == 0 => {
                token.kind = TokenKind::Eof;
                token.end = token.start;
            }
            TokenKind::RParen | TokenKind::RBracket | TokenKind::RBrace => {
                depth = depth.saturating_sub(1);
            }
            _ => {}
        }
        tokens.push(token);
        if token.kind == TokenKind::Eof {
            return (tokens, lexer.diagnostics, token.start as usize);
        }
    }
}

/// A place in a text, and what was found beside the tokens before it.
pub(crate) struct Lexer<'t> {
    file: FileId,
    text: &'t str,
    bytes: &'t [u8],
    pos: usize,
    last: TokenKind,
    first: bool,
    after_error: bool,
    /// Up to here strings are taken without looking for nested ones: a try to do so failed.
    flat_until: usize,
    /// The comments so far, in source order.
    pub(crate) comments: Vec<Comment>,
    /// What was wrong so far.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl<'t> Lexer<'t> {
    /// The start of a file.
    pub(crate) fn of_file(file: FileId, text: &'t str) -> Self {
        let start = if text.starts_with(BOM) { BOM.len() } else { 0 };
        Self::new(file, text, start, text.len())
    }

    /// Appends the next tokens, at most so many; `Eof` is the last of all.
    pub(crate) fn cut(&mut self, most: usize, tokens: &mut Vec<Token>) {
        for _ in 0..most {
            let token = self.next();
            tokens.push(token);
            if token.kind == TokenKind::Eof {
                break;
            }
        }
    }

    fn new(file: FileId, text: &'t str, start: usize, end: usize) -> Self {
        Self {
            file,
            text,
            bytes: text.as_bytes().get(..end).unwrap_or_default(),
            pos: start,
            last: TokenKind::Eof,
            first: true,
            after_error: false,
            flat_until: 0,
            comments: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.bytes.get(self.pos + ahead).copied().unwrap_or(0)
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.file, start as u32, end as u32)
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.after_error = true;
        if self.diagnostics.len() < crate::MAX_DIAGNOSTICS {
            self.diagnostics.push(diagnostic);
        }
    }

    fn next(&mut self) -> Token {
        loop {
            let start = self.pos;
            let Some(&byte) = self.bytes.get(start) else {
                return self.token(TokenKind::Eof, start);
            };
            match byte {
                b'\n' => {
                    self.first = true;
                    self.pos += 1;
                }
                b' ' | b'\t' | b'\r' => self.pos += 1,
                b'a'..=b'z' | b'A'..=b'Z' | b'_' => return self.word(start),
                b'0'..=b'9' => return self.number(start),
                b'"' => return self.string(start),
                b'/' if self.byte(1) == b'/' => self.line_comment(start),
                b'/' if self.byte(1) == b'*' => self.block_comment(start),
                0x80.. => {
                    if let Some(token) = self.unicode(start) {
                        return token;
                    }
                }
                _ => match self.punctuation(byte) {
                    Some((kind, len)) => {
                        self.pos += len;
                        return self.token(kind, start);
                    }
                    None => {
                        if let Some(token) = self.junk(start) {
                            return token;
                        }
                    }
                },
            }
        }
    }

    fn token(&mut self, kind: TokenKind, start: usize) -> Token {
        let token = Token {
            kind,
            first: self.first,
            after_error: self.after_error,
            start: start as u32,
            end: self.pos as u32,
        };
        self.first = false;
        self.after_error = false;
        self.last = kind;
        token
    }

    fn word(&mut self, start: usize) -> Token {
        self.word_tail();
        let kind = word(&self.bytes[start..self.pos]);
        self.token(kind, start)
    }

    /// Moves past what may continue an identifier.
    fn word_tail(&mut self) {
        loop {
            match self.byte(0) {
                b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'0'..=b'9' => self.pos += 1,
                0x80.. => match self.char_here() {
                    Some(c) if unicode_ident::is_xid_continue(c) => self.pos += c.len_utf8(),
                    _ => return,
                },
                _ => return,
            }
        }
    }

    fn char_here(&self) -> Option<char> {
        self.text.get(self.pos..)?.chars().next()
    }

    fn unicode(&mut self, start: usize) -> Option<Token> {
        match self.char_here() {
            Some(c) if unicode_ident::is_xid_start(c) => {
                self.pos += c.len_utf8();
                Some(self.word(start))
            }
            _ => self.junk(start),
        }
    }

    fn number(&mut self, start: usize) -> Token {
        let mut kind = TokenKind::Int;
        if self.last == TokenKind::Dot {
            // `t.1.1`: a field, never a fraction.
            self.digits();
        } else if self.byte(0) == b'0' && matches!(self.byte(1), b'x' | b'b' | b'o') {
            self.pos += 2;
        } else {
            self.digits();
            if self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
                kind = TokenKind::Float;
                self.pos += 1;
                self.digits();
            } else if self.byte(0) == b'.' && self.ends_float() {
                kind = TokenKind::Float;
                self.pos += 1;
                let text = &self.text[start..self.pos];
                let span = self.span(start, self.pos);
                let fixed = format!("{text}0");
                self.report(
                    Diagnostic::new(
                        Code::E0108,
                        span,
                        format!("`{text}` has no digits after its point"),
                    )
                    .here("a float needs at least one digit on each side of the point")
                    .fix(format!("write `{fixed}`"), span, fixed),
                );
            }
            if matches!(self.byte(0), b'e' | b'E') {
                let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
                if self.byte(1 + sign).is_ascii_digit() {
                    kind = TokenKind::Float;
                    self.pos += 1 + sign;
                    self.digits();
                }
            }
            if self.bytes[self.pos..].starts_with(b"f") || self.bytes[self.pos..].starts_with(b"bf")
            {
                kind = TokenKind::Float;
            }
        }
        // The suffix, or whatever else is glued to the number.
        self.word_tail();
        self.token(kind, start)
    }

    fn digits(&mut self) {
        while matches!(self.byte(0), b'0'..=b'9' | b'_') {
            self.pos += 1;
        }
    }

    /// Whether the point here ends a float that lacks its digits (`1.`), rather than starting a
    /// range or a field.
    fn ends_float(&self) -> bool {
        !matches!(self.byte(1), b'.' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80..)
    }

    fn line_comment(&mut self, start: usize) {
        let rest = &self.bytes[start..];
        let mut end = start + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        self.pos = end;
        if end > start && self.bytes[end - 1] == b'\r' {
            end -= 1;
        }
        let kind = match (self.bytes.get(start + 2), self.bytes.get(start + 3)) {
            (Some(b'/'), Some(b'/')) => CommentKind::Line,
            (Some(b'/'), _) => CommentKind::Doc,
            (Some(b'!'), _) => CommentKind::FileDoc,
            _ => CommentKind::Line,
        };
        self.push_comment(kind, start, end);
    }

    fn block_comment(&mut self, start: usize) {
        let mut depth = 1u32;
        self.pos += 2;
        while depth > 0 {
            let Some(found) =
                memchr::memchr2(b'*', b'/', self.bytes.get(self.pos..).unwrap_or(&[]))
            else {
                self.pos = self.bytes.len();
                self.report(
                    Diagnostic::new(
                        Code::E0103,
                        self.span(start, start + 2),
                        "this comment is not closed",
                    )
                    .here("it starts here and runs to the end of the file")
                    .help(
                        "close it with `*/`; comments nest, so each `/*` inside needs its own `*/`",
                    ),
                );
                break;
            };
            self.pos += found;
            match (self.byte(0), self.byte(1)) {
                (b'*', b'/') => {
                    depth -= 1;
                    self.pos += 2;
                }
                (b'/', b'*') => {
                    depth += 1;
                    self.pos += 2;
                }
                _ => self.pos += 1,
            }
        }
        self.push_comment(CommentKind::Block, start, self.pos);
        if memchr::memchr(b'\n', &self.bytes[start..self.pos]).is_some() {
            self.first = true;
        }
    }

    fn push_comment(&mut self, kind: CommentKind, start: usize, end: usize) {
        let span = self.span(start, end);
        self.comments.push(Comment { kind, span });
    }

    fn punctuation(&self, byte: u8) -> Option<(TokenKind, usize)> {
        use TokenKind::*;
        let next = self.byte(1);
        Option::Some(match (byte, next) {
            (b'(', _) => (LParen, 1),
            (b')', _) => (RParen, 1),
            (b'[', _) => (LBracket, 1),
            (b']', _) => (RBracket, 1),
            (b'{', _) => (LBrace, 1),
            (b'}', _) => (RBrace, 1),
            (b',', _) => (Comma, 1),
            (b';', _) => (Semi, 1),
            (b':', b':') => (ColonColon, 2),
            (b':', _) => (Colon, 1),
            (b'.', b'.') if self.byte(2) == b'=' => (DotDotEq, 3),
            (b'.', b'.') => (DotDot, 2),
            (b'.', _) => (Dot, 1),
            (b'-', b'>') => (Arrow, 2),
            (b'-', _) => (Minus, 1),
            (b'=', b'>') => (FatArrow, 2),
            (b'=', b'=') => (EqEq, 2),
            (b'=', _) => (Eq, 1),
            (b'!', b'=') => (Ne, 2),
            (b'!', b'>') => (PipeResult, 2),
            (b'!', _) => (Bang, 1),
            (b'<', b'=') => (Le, 2),
            (b'<', _) => (Lt, 1),
            (b'>', b'=') => (Ge, 2),
            (b'>', _) => (Gt, 1),
            (b'+', _) => (Plus, 1),
            (b'*', b'*') => (StarStar, 2),
            (b'*', _) => (Star, 1),
            (b'/', _) => (Slash, 1),
            (b'%', _) => (Percent, 1),
            (b'&', b'&') => (AndAnd, 2),
            (b'|', b'|') => (OrOr, 2),
            (b'|', b'>') => (PipePlain, 2),
            (b'|', _) => (Bar, 1),
            (b'?', b'>') => (PipeOption, 2),
            (b'?', _) => (Question, 1),
            (b'@', _) => (At, 1),
            (b'#', _) => (Hash, 1),
            _ => return None,
        })
    }

    /// Reports characters that mean nothing here. Some stand for a token that was surely meant.
    fn junk(&mut self, start: usize) -> Option<Token> {
        let c = self.char_here().unwrap_or('\u{fffd}');
        self.pos += c.len_utf8();
        match c {
            '\'' | '‘' | '’' | '“' | '”' => return Some(self.foreign_quote(c, start)),
            '&' => {
                let span = self.span(start, self.pos);
                self.report(
                    Diagnostic::new(Code::E0110, span, "`&` means nothing in Einlang")
                        .here("not an operator")
                        .fix("`and` is written `&&`", span, "&&"),
                );
                return Some(self.token(TokenKind::AndAnd, start));
            }
            '^' => {
                let span = self.span(start, self.pos);
                self.report(
                    Diagnostic::new(Code::E0110, span, "`^` means nothing in Einlang")
                        .here("not an operator")
                        .fix("powers are written `**`", span, "**"),
                );
                return Some(self.token(TokenKind::StarStar, start));
            }
            _ => {}
        }
        // A run of such characters is one mistake.
        while let Some(next) = self.char_here() {
            let ascii_junk = next.is_ascii()
                && matches!(next, '$' | '~' | '`' | '\\' | '\0'..='\u{8}' | '\u{b}' | '\u{e}'..='\u{1f}' | '\u{7f}');
            let unicode_junk =
                !next.is_ascii() && !unicode_ident::is_xid_start(next) && !is_quote(next);
            if self.pos >= self.bytes.len() || !(ascii_junk || unicode_junk) {
                break;
            }
            self.pos += next.len_utf8();
        }
        let span = self.span(start, self.pos);
        let shown = describe_char(c);
        let mut diagnostic =
            Diagnostic::new(Code::E0110, span, format!("{shown} means nothing in Einlang"))
                .here("this is not part of the language");
        diagnostic = if c.is_whitespace() || c == '\u{feff}' || c == '\u{200b}' {
            diagnostic.fix("replace it with a plain space", span, " ")
        } else {
            diagnostic.fix("remove it", span, "")
        };
        self.report(diagnostic);
        None
    }
}

fn is_quote(c: char) -> bool {
    matches!(c, '\'' | '‘' | '’' | '“' | '”')
}

/// How a character is called in a message.
fn describe_char(c: char) -> String {
    let number = u32::from(c);
    match c {
        '\0' => "a NUL character".into(),
        '\u{a0}' => "a non-breaking space".into(),
        '\u{feff}' => "a byte order mark inside the text".into(),
        '\u{200b}' => "a zero-width space".into(),
        c if c.is_control() || c.is_whitespace() => format!("the character U+{number:04X}"),
        c if c.is_ascii() => format!("`{c}`"),
        c => format!("`{c}` (U+{number:04X})"),
    }
}
