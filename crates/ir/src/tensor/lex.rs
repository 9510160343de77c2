//! The tokens of the text of tensor IR.

use super::names::{in_word, starts_word};
use crate::text::ParseError;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name, a keyword or `_`.
    Word(String),
    /// A number without its sign, and the type after it, if any.
    Number(String, String),
    /// A string without its quotes and escapes.
    Text(String),
    /// Punctuation.
    Sign(&'static str),
    /// The end of the text.
    End,
}

/// Longer ones first.
const SIGNS: [&str; 35] = [
    "..=", "..", "==", "!=", "<=", ">=", "&&", "||", "**", "->", "=>", "(", ")", "[", "]", "{",
    "}", "<", ">", ",", ";", ":", ".", "=", "+", "-", "*", "/", "%", "!", "?", "|", "@", "#", "$",
];

/// All tokens with their lines, an end last.
pub(super) fn lex(text: &str) -> Result<Vec<(Token, u32)>, ParseError> {
    let mut lexer = Lexer { rest: text, line: 1, tokens: Vec::new() };
    while lexer.token()? {}
    lexer.tokens.push((Token::End, lexer.line));
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    rest: &'a str,
    line: u32,
    tokens: Vec<(Token, u32)>,
}

impl<'a> Lexer<'a> {
    fn error(&self, message: impl Into<String>) -> ParseError {
        ParseError { line: self.line, message: message.into() }
    }

    /// Takes `length` bytes, which end at a character.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, test: impl Fn(char) -> bool) -> &'a str {
        self.take(self.rest.find(|c| !test(c)).unwrap_or(self.rest.len()))
    }

    fn token(&mut self) -> Result<bool, ParseError> {
        self.skip();
        let Some(first) = self.rest.chars().next() else { return Ok(false) };
        let line = self.line;
        let token = if starts_word(first) {
            Token::Word(self.take_while(in_word).to_owned())
        } else if first.is_ascii_digit() {
            self.number()
        } else if first == '"' {
            self.text()?
        } else {
            match SIGNS.iter().find(|sign| self.rest.starts_with(**sign)) {
                Some(sign) => {
                    self.take(sign.len());
                    Token::Sign(sign)
                }
                None => return Err(self.error(format!("unexpected character {first:?}"))),
            }
        };
        self.tokens.push((token, line));
        Ok(true)
    }

    /// White space and comments.
    fn skip(&mut self) {
        loop {
            let space = self.take_while(char::is_whitespace);
            self.line += space.matches('\n').count() as u32;
            if !self.rest.starts_with("//") {
                return;
            }
            self.take_while(|c| c != '\n');
        }
    }

    fn number(&mut self) -> Token {
        let whole = self.rest;
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let mut length = digits(whole);
        // After a point stands the number of a component: `x.0.1`.
        let component = matches!(self.tokens.last(), Some((Token::Sign("."), _)));
        if !component {
            if whole[length..].starts_with('.') && digits(&whole[length + 1..]) > 0 {
                length += 1 + digits(&whole[length + 1..]);
            }
            if whole[length..].starts_with('e') {
                let exponent = &whole[length + 1..];
                let sign = usize::from(exponent.starts_with(['+', '-']));
                if digits(&exponent[sign..]) > 0 {
                    length += 1 + sign + digits(&exponent[sign..]);
                }
            }
        }
        let number = self.take(length).to_owned();
        Token::Number(number, self.take_while(in_word).to_owned())
    }

    fn text(&mut self) -> Result<Token, ParseError> {
        self.take(1);
        let mut text = String::new();
        let mut chars = self.rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.take(at + 1);
                    return Ok(Token::Text(text));
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('"' | '\\'))) => text.push(c),
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 'u')) => {
                        let code: String =
                            chars.by_ref().map(|(_, c)| c).take_while(|c| *c != '}').collect();
                        let code = code
                            .strip_prefix('{')
                            .and_then(|hex| u32::from_str_radix(hex, 16).ok());
                        match code.and_then(char::from_u32) {
                            Some(c) => text.push(c),
                            None => return Err(self.error("this escape is not a character")),
                        }
                    }
                    Some(_) | None => return Err(self.error("unknown escape")),
                },
                '\n' => return Err(self.error("a string ends at its line")),
                c => text.push(c),
            }
        }
        Err(self.error("a string is not closed"))
    }
}
