//! Words, numbers and signs: what the texts of the forms between program and loops are made of.
//!
//! Loop IR ([`loops`](crate::loops)) and points (in the crate that makes loops) are written and read
//! in terms of this.

use std::fmt::{self, Write as _};

use ein_scalar::{BinaryOp, Scalar, ScalarType, parse_float, parse_int};

/// Why a text cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line, from 1.
    pub line: u32,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

/// What was read, or why it could not be.
pub type Result<T> = std::result::Result<T, ParseError>;

/// A piece of text.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// A word.
    Word(String),
    /// Without its sign, and the type after it.
    Number(String, String),
    /// What stands in quotes.
    Text(String),
    /// One of the [`SIGNS`].
    Sign(&'static str),
    /// There is no more.
    End,
}

/// The signs, longer ones before those they begin with.
pub const SIGNS: [&str; 16] =
    ["..=", "..", "+=", "(", ")", "[", "]", "{", "}", ",", ":", "=", "+", "-", "*", "?"];

fn lex(text: &str) -> Result<Vec<(Token, u32)>> {
    let (mut tokens, mut rest, mut line) = (Vec::new(), text, 1);
    loop {
        let trimmed = rest.trim_start();
        line += rest[..rest.len() - trimmed.len()].matches('\n').count() as u32;
        rest = trimmed;
        if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        }
        let Some(first) = rest.chars().next() else {
            tokens.push((Token::End, line));
            return Ok(tokens);
        };
        let fail = |message: String| ParseError { line, message };
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let word = |text: &str| text.find(|c| !is_word(c)).unwrap_or(text.len());
        let (token, length) = if first.is_ascii_digit() {
            let digits = number_length(rest);
            let end = digits + word(&rest[digits..]);
            (Token::Number(rest[..digits].to_owned(), rest[digits..end].to_owned()), end)
        } else if is_word(first) {
            let end = word(rest);
            (Token::Word(rest[..end].to_owned()), end)
        } else if first == '"' {
            let (text, length) =
                string(rest).ok_or_else(|| fail("a string is not well formed".to_owned()))?;
            (Token::Text(text), length)
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| fail(format!("unexpected character {first:?}")))?;
            (Token::Sign(sign), sign.len())
        };
        tokens.push((token, line));
        rest = &rest[length..];
    }
}

/// The length of the digits of a number, with fraction and exponent.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(text);
    if text[length..].starts_with('.') && digits(&text[length + 1..]) > 0 {
        length += 1 + digits(&text[length + 1..]);
    }
    if text[length..].starts_with('e') {
        let exponent = &text[length + 1..];
        let sign = usize::from(exponent.starts_with(['+', '-']));
        if digits(&exponent[sign..]) > 0 {
            length += 1 + sign + digits(&exponent[sign..]);
        }
    }
    length
}

/// A string in quotes without them, and its length in the text.
fn string(text: &str) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, at + 1)),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                'u' => {
                    let code: String =
                        chars.by_ref().map(|(_, c)| c).take_while(|c| *c != '}').collect();
                    let code = u32::from_str_radix(code.strip_prefix('{')?, 16).ok()?;
                    value.push(char::from_u32(code)?);
                }
                c @ ('"' | '\\') => value.push(c),
                _ => return None,
            },
            '\n' => return None,
            c => value.push(c),
        }
    }
    None
}

/// A text, and how far it has been read.
#[derive(Debug)]
pub struct Tokens {
    tokens: Vec<(Token, u32)>,
    at: usize,
    plain: ScalarType,
}

impl Tokens {
    /// The beginning of a text in which a number without a type is of the type `plain`.
    pub fn new(text: &str, plain: ScalarType) -> Result<Tokens> {
        Ok(Tokens { tokens: lex(text)?, at: 0, plain })
    }

    /// The next token, which stays.
    pub fn peek(&self) -> &Token {
        &self.tokens[self.at.min(self.tokens.len() - 1)].0
    }

    /// An error at the next token.
    pub fn error(&self, message: impl Into<String>) -> ParseError {
        let line = self.tokens[self.at.min(self.tokens.len() - 1)].1;
        ParseError { line, message: message.into() }
    }

    /// An error at the token before.
    pub fn wrong(&self, message: impl Into<String>) -> ParseError {
        let line = self.tokens[self.at.min(self.tokens.len()).saturating_sub(1)].1;
        ParseError { line, message: message.into() }
    }

    /// Takes the next token.
    pub fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    /// Whether a sign is next.
    pub fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(it) if *it == sign)
    }

    /// Whether a word is next.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Word(it) if it == word)
    }

    /// Takes a sign if it is next.
    pub fn eat_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.at += usize::from(found);
        found
    }

    /// Takes a word if it is next.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        self.at += usize::from(found);
        found
    }

    /// Takes a sign.
    pub fn sign(&mut self, sign: &str) -> Result<()> {
        if self.eat_sign(sign) { Ok(()) } else { Err(self.error(format!("expected `{sign}`"))) }
    }

    /// Takes a word.
    pub fn word(&mut self, word: &str) -> Result<()> {
        if self.eat_word(word) { Ok(()) } else { Err(self.error(format!("expected `{word}`"))) }
    }

    /// Takes whatever word there is.
    pub fn any_word(&mut self) -> Result<String> {
        match self.peek() {
            Token::Word(word) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.error("expected a word")),
        }
    }

    /// Takes what stands in quotes.
    pub fn text(&mut self) -> Result<String> {
        match self.peek() {
            Token::Text(text) => {
                let text = text.clone();
                self.at += 1;
                Ok(text)
            }
            _ => Err(self.error("expected a string")),
        }
    }

    /// Takes an integer without a type.
    pub fn int(&mut self) -> Result<i64> {
        let sign = if self.eat_sign("-") { "-" } else { "" };
        match self.take() {
            Token::Number(digits, suffix) if suffix.is_empty() => {
                format!("{sign}{digits}").parse().map_err(|_| self.wrong("not an i64"))
            }
            _ => Err(self.wrong("expected an integer")),
        }
    }

    /// Takes the name of a type.
    pub fn ty(&mut self) -> Result<ScalarType> {
        let word = self.any_word()?;
        ScalarType::from_name(&word).ok_or_else(|| self.wrong("not a type"))
    }

    /// Takes the name of an operation on two scalars.
    pub fn binary_op(&mut self) -> Result<BinaryOp> {
        let word = self.any_word()?;
        word.parse().map_err(|_| self.wrong(format!("`{word}` is not an operation")))
    }

    /// Takes a number or truth value, if the next token is no other word.
    pub fn scalar(&mut self) -> Result<Option<Scalar>> {
        if self.eat_word("true") {
            return Ok(Some(Scalar::Bool(true)));
        }
        if self.eat_word("false") {
            return Ok(Some(Scalar::Bool(false)));
        }
        if self.eat_word("bits") {
            self.sign("(")?;
            let ty = self.ty()?;
            self.sign(",")?;
            let bits = match self.take() {
                Token::Number(digits, suffix) if suffix.is_empty() => digits.parse().ok(),
                _ => None,
            };
            let bits = bits.ok_or_else(|| self.wrong("not the bits of a number"))?;
            self.sign(")")?;
            return Ok(Some(Scalar::from_bits(ty, bits)));
        }
        if let Token::Word(_) = self.peek() {
            return Ok(None);
        }
        let sign = if self.eat_sign("-") { "-" } else { "" };
        let Token::Number(digits, suffix) = self.take() else {
            return Err(self.wrong("expected a number or a name"));
        };
        let ty = match suffix.as_str() {
            "" => Some(self.plain),
            name => ScalarType::from_name(name),
        };
        let text = format!("{sign}{digits}");
        let value = ty.and_then(|ty| {
            if ty.is_float() {
                parse_float(&text, ty)
            } else {
                parse_int(&text).and_then(|value| Scalar::from_i128(value, ty))
            }
        });
        value.map(Some).ok_or_else(|| self.wrong(format!("`{text}{suffix}` is no number")))
    }
}

/// A name and its number: `x_3`.
pub fn split(word: &str) -> Option<(&str, usize)> {
    let (name, number) = word.rsplit_once('_')?;
    Some((name, number.parse().ok()?))
}

/// Whether a name can stand as a word.
pub fn is_plain(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic())
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A constant. Floats that no digits give back exactly are written as bits.
pub fn scalar_text(value: Scalar, plain: ScalarType) -> String {
    let ty = value.ty();
    let text = match value {
        Scalar::Bool(truth) => return truth.to_string(),
        value => ein_scalar::display(value),
    };
    let digits = text.trim_start_matches('-').starts_with(|c: char| c.is_ascii_digit());
    let exact = !ty.is_float()
        || digits && parse_float(&text, ty).is_some_and(|read| read.to_bits() == value.to_bits());
    match ty {
        _ if !exact => format!("bits({ty}, {})", value.to_bits()),
        ty if ty == plain => text,
        ty => format!("{text}{ty}"),
    }
}

/// Writes a text in quotes, which [`Tokens::text`] reads back.
pub fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
