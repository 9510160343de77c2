//! Numbers: from the text of a token to a value.

use super::Parser;
use crate::ast::{ExprId, ExprKind};
use crate::token::TokenKind;
use ein_base::{Code, Diagnostic, Span, Symbol};

const INTEGERS: [&str; 8] = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"];
const FLOATS: [&str; 4] = ["f16", "bf16", "f32", "f64"];

impl Parser<'_> {
    /// The number in the current token, which is taken.
    pub(super) fn number(&mut self) -> ExprId {
        let span = self.span_here();
        let float = self.at(TokenKind::Float);
        self.bump();
        let text = self.slice(span);
        let result = if float { float_kind(text) } else { int_kind(text) };
        let kind = match result {
            Ok(kind) => kind,
            Err(problem) => {
                self.report(problem.diagnostic(text, span));
                ExprKind::Error
            }
        };
        self.leaf(kind, span)
    }
}

/// What is wrong with a number.
enum Problem {
    TooLarge,
    NoDigits,
    Digit(char, &'static str),
    Suffix(String, bool),
}

impl Problem {
    fn diagnostic(self, text: &str, span: Span) -> Diagnostic {
        let message = format!("`{text}` is not a number");
        match self {
            Problem::TooLarge => Diagnostic::new(
                Code::E0108,
                span,
                format!("`{text}` is too large"),
            )
            .here("no integer type holds this value")
            .help(
                "the largest integer is 18446744073709551615 (u64); a float may be larger: `1e30`",
            ),
            Problem::NoDigits => Diagnostic::new(Code::E0108, span, message)
                .here("there are no digits after the prefix")
                .help("write digits, as in `0xff` or `0b1010`"),
            Problem::Digit(digit, base) => Diagnostic::new(Code::E0108, span, message)
                .here(format!("`{digit}` is not a {base} digit"))
                .help("the prefixes are `0x` for hexadecimal, `0o` for octal and `0b` for binary"),
            Problem::Suffix(suffix, float) => {
                let known = if float { FLOATS.join("`, `") } else { INTEGERS.join("`, `") };
                let what = if float { "a float" } else { "an integer" };
                Diagnostic::new(Code::E0108, span, message)
                    .here(format!("`{suffix}` is not a suffix of {what}"))
                    .help(format!("the suffixes are `{known}`"))
            }
        }
    }
}

fn int_kind(text: &str) -> Result<ExprKind, Problem> {
    let (radix, base, digits) = match text.as_bytes() {
        [b'0', b'x', ..] => (16, "hexadecimal", &text[2..]),
        [b'0', b'o', ..] => (8, "octal", &text[2..]),
        [b'0', b'b', ..] => (2, "binary", &text[2..]),
        _ => (10, "decimal", text),
    };
    let mut value = 0u64;
    let mut any = false;
    for (at, c) in digits.char_indices() {
        if c == '_' {
            continue;
        }
        let Some(digit) = c.to_digit(radix) else {
            if c.is_ascii_digit() {
                return Err(Problem::Digit(c, base));
            }
            if !any {
                return Err(Problem::NoDigits);
            }
            let suffix = &digits[at..];
            if !INTEGERS.contains(&suffix) {
                return Err(Problem::Suffix(suffix.into(), false));
            }
            return Ok(ExprKind::Int { value, suffix: Some(Symbol::intern(suffix)) });
        };
        any = true;
        value = value
            .checked_mul(u64::from(radix))
            .and_then(|v| v.checked_add(u64::from(digit)))
            .ok_or(Problem::TooLarge)?;
    }
    if !any {
        return Err(Problem::NoDigits);
    }
    Ok(ExprKind::Int { value, suffix: None })
}

fn float_kind(text: &str) -> Result<ExprKind, Problem> {
    let bytes = text.as_bytes();
    let at = |i: usize| bytes.get(i).copied().unwrap_or(0);
    let mut end = 0;
    while matches!(at(end), b'0'..=b'9' | b'_' | b'.') {
        end += 1;
    }
    if matches!(at(end), b'e' | b'E') {
        let sign = usize::from(matches!(at(end + 1), b'+' | b'-'));
        if at(end + 1 + sign).is_ascii_digit() {
            end += 1 + sign;
            while matches!(at(end), b'0'..=b'9' | b'_') {
                end += 1;
            }
        }
    }
    let (digits, suffix) = text.split_at(end);
    let suffix = match suffix {
        "" => None,
        suffix if FLOATS.contains(&suffix) => Some(Symbol::intern(suffix)),
        suffix => return Err(Problem::Suffix(suffix.into(), true)),
    };
    let text = if digits.contains('_') {
        Symbol::intern(&digits.replace('_', ""))
    } else {
        Symbol::intern(digits)
    };
    Ok(ExprKind::Float { text, suffix })
}
