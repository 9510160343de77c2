//! What people write where an operand should stand, and what to tell them.

use super::{Parse, Parser, Reported};
use crate::ast::{ExprId, ExprKind};
use crate::token::TokenKind;
use ein_base::{Code, Diagnostic, Span};
use thin_vec::ThinVec;

/// Words that begin something in other languages and are names here, each with what is written instead.
/// They are meant so where another word follows, which nothing allows here.
const WORDS: &[(&str, &str)] = &[
    ("def", "a function is written `fn f(x) { x + 1.0 }`"),
    ("function", "a function is written `fn f(x) { x + 1.0 }`"),
    ("func", "a function is written `fn f(x) { x + 1.0 }`"),
    ("lambda", "a function without a name is a closure: `|x| x + 1.0`"),
    ("import", "a name is imported by its path: `use std::math::exp;`"),
    ("from", "a name is imported by its path: `use std::math::exp;`"),
    ("using", "a name is imported by its path: `use std::math::exp;`"),
    ("class", "a type with fields is a `struct P { x: f32 }`; functions stand beside it"),
    ("elif", "it is written `else if`"),
    ("elsif", "it is written `else if`"),
    ("elseif", "it is written `else if`"),
    ("not", "it is written `!`"),
    ("yield", "an array of values is written `[e | i in 0..n]`"),
    ("raise", "`assert(c, \"…\")` stops the program unless `c` holds"),
    ("throw", "`assert(c, \"…\")` stops the program unless `c` holds"),
];

/// Words that stand between two operands elsewhere, with the operator that is meant.
const OPERATORS: &[(&str, &str)] = &[("and", "&&"), ("or", "||"), ("is", "==")];

/// How slices are written.
const SLICES: &str = "a slice is written `a[lo..hi]`, by steps `a[lo..hi; step]`; \
                      either end may be left out";

/// A name that begins something in other languages, where another word follows it in the same line.
pub(super) fn foreign_name(parser: &mut Parser<'_>) -> Option<Reported> {
    let next = parser.tokens.get(parser.pos + 1)?;
    let value = matches!(
        next.kind,
        TokenKind::Int | TokenKind::Float | TokenKind::Str | TokenKind::True | TokenKind::False
    );
    if parser.kind() != TokenKind::Ident || next.first || !(next.kind.is_name() || value) {
        return None;
    }
    let span = parser.span_here();
    let word = parser.slice(span);
    let (word, help) = *WORDS.iter().find(|(it, _)| *it == word)?;
    let message = format!("Einlang has no `{word}`");
    Some(parser.fail(
        Diagnostic::new(Code::E0106, span, message).here("a word of other languages").help(help),
    ))
}

/// What to say about a token behind a whole operand that can follow none, inside of a bracket or
/// outside.
pub(super) fn after_operand(parser: &Parser<'_>, open: Option<TokenKind>) -> Option<String> {
    let token = parser.token();
    let help = match token.kind {
        TokenKind::Ident => {
            let word = parser.slice(parser.token_span(token));
            let (_, operator) = OPERATORS.iter().find(|(it, _)| *it == word)?;
            format!("`{word}` is written `{operator}`")
        }
        TokenKind::At => {
            "a product of matrices names what is summed: `sum[k](a[i, k] * b[k, j])`".to_owned()
        }
        TokenKind::If if !token.first => "a choice is written `if c { a } else { b }`".to_owned(),
        TokenKind::For if !token.first => {
            "an array of values is written `[e | i in 0..n]`".to_owned()
        }
        TokenKind::Colon if open == Some(TokenKind::LBracket) => SLICES.to_owned(),
        _ => return None,
    };
    Some(help)
}

/// Whether what follows an element is the rest of `[x; n]`: a count and the end of the brackets,
/// on the same line.
pub(super) fn is_repetition(parser: &Parser<'_>) -> bool {
    let mut depth = 0usize;
    for token in parser.tokens.get(parser.pos + 1..).unwrap_or_default() {
        match token.kind {
            TokenKind::RBracket if depth == 0 => {
                return parser.at(TokenKind::Semi) && parser.ahead(1).starts_expr();
            }
            _ if token.first => return false,
            TokenKind::Semi | TokenKind::Comma | TokenKind::Eq | TokenKind::Eof => {
                return false;
            }
            TokenKind::LBracket | TokenKind::LParen => depth += 1,
            TokenKind::RBracket | TokenKind::RParen => match depth.checked_sub(1) {
                Some(outer) => depth = outer,
                None => return false,
            },
            _ => {}
        }
    }
    false
}

/// `[x; n]` of other languages, from the `;` to the `]`.
pub(super) fn repetition(parser: &mut Parser<'_>, item: ExprId) -> Parse<()> {
    let semi = parser.span_here();
    parser.bump();
    let count = parser.expression()?;
    if !parser.eat(TokenKind::RBracket) {
        return Err(parser.unexpected("`]`"));
    }
    if matches!(parser.ast.expr[item].kind, ExprKind::Error) {
        return Ok(());
    }
    let (item, count) = (parser.ast.expr[item].span, parser.ast.expr[count].span);
    let (item, count) = (parser.slice(item), parser.slice(count));
    let diagnostic = Diagnostic::new(Code::E0101, semi, "expected `,` or `]`, found `;`")
        .here("an element is not repeated like this")
        .help(format!("give every position the value: `let a[i in 0..{count}] = {item};`"));
    parser.report(diagnostic);
    Ok(())
}

impl Parser<'_> {
    /// A word of another language where an expression should stand.
    pub(super) fn foreign(&mut self) -> Parse<ExprId> {
        let span = self.span_here();
        let next = self.ahead(1);
        let (message, help) = match self.kind() {
            TokenKind::For
                if next.is_name() || matches!(next, TokenKind::LParen | TokenKind::Underscore) =>
            {
                (
                    "Einlang has no `for`",
                    "build an array with `[e | i in 0..n]` or `let a[i in 0..n] = e;`, and reduce one with `sum[i in 0..n](e)`",
                )
            }
            TokenKind::While if next.starts_expr() => (
                "Einlang has no `while`",
                "repeat by recursion, or step by step with a recurrence: `let x[t in 1..n] = f(x[t - 1]);`",
            ),
            TokenKind::Loop if next == TokenKind::LBrace => (
                "Einlang has no `loop`",
                "repeat by recursion, or step by step with a recurrence: `let x[t in 1..n] = f(x[t - 1]);`",
            ),
            TokenKind::Return if !self.is_taken(TokenKind::Return) => return self.return_expr(),
            kind => {
                if !self.is_taken(kind) {
                    self.report_word_as_name();
                }
                return self.word_as_path();
            }
        };
        self.report(
            Diagnostic::new(Code::E0106, span, message)
                .here("a word of other languages")
                .help(help),
        );
        if self.skip_construct() && self.prev_kind == TokenKind::RBrace {
            let span = self.span_from(span.lo());
            return Ok(self.leaf(ExprKind::Error, span));
        }
        Err(Reported)
    }

    fn word_as_path(&mut self) -> Parse<ExprId> {
        let name = self.take_name();
        Ok(self.leaf(ExprKind::Path(name.into()), name.span))
    }

    /// `return e`, read as `e`.
    fn return_expr(&mut self) -> Parse<ExprId> {
        let span = self.span_here();
        self.bump();
        let next = self.lo();
        self.report(
            Diagnostic::new(Code::E0106, span, "Einlang has no `return`")
                .here("a word of other languages")
                .fix(
                    "the last expression of a block, without `;`, is its value",
                    Span::new(self.file, span.lo(), next),
                    "",
                ),
        );
        if self.kind().starts_expr() {
            self.expression()
        } else {
            self.expr(ExprKind::Tuple(ThinVec::new()), span.lo())
        }
    }

    /// A keyword that no expression starts with.
    pub(super) fn keyword_operand(&mut self) -> Parse<ExprId> {
        let token = self.token();
        if self.is_taken(token.kind) {
            return self.word_as_path();
        }
        let span = self.span_here();
        if token.kind == TokenKind::Fn && !token.first {
            return Err(self.fail(
                Diagnostic::new(Code::E0101, span, "expected an expression, found `fn`")
                    .here("`fn` declares a function and is not a value")
                    .help("a function without a name is a closure: `|x| e`"),
            ));
        }
        let glued = !token.first && !self.ahead(1).is_name() && !self.ahead(1).starts_expr();
        if glued && token.kind != TokenKind::Else {
            self.report_word_as_name();
            return self.word_as_path();
        }
        Err(self.missing_operand())
    }

    /// `.5`
    pub(super) fn float_without_zero(&mut self) -> ExprId {
        let lo = self.lo();
        self.bump();
        self.bump();
        let span = self.span_from(lo);
        let text = self.slice(span);
        let fixed = format!("0{text}");
        self.report(
            Diagnostic::new(Code::E0108, span, format!("`{text}` has no digit before its point"))
                .here("a float needs at least one digit on each side of the point")
                .fix(format!("write `{fixed}`"), span, fixed),
        );
        self.leaf(ExprKind::Error, span)
    }

    /// Reports that an expression should stand here.
    pub(super) fn missing_operand(&mut self) -> Reported {
        let span = self.span_here();
        let found = self.found();
        let prev = self.prev_kind;
        let token = self.token();
        if token.kind.is_closer() && !self.has_opener() {
            return self.unexpected("an expression");
        }
        let operator = self.slice(self.prev_span());
        if token.kind == TokenKind::Eq && prev.is_infix() && self.prev_end == token.start {
            let both = self.prev_span().to(span);
            return self.fail(
                Diagnostic::new(Code::E0101, both, format!("there is no `{operator}=` in Einlang"))
                    .here("bindings cannot be changed")
                    .help("bind a new value: `let x = x + 1;` shadows the old `x`"),
            );
        }
        let diagnostic = if prev.is_infix() {
            Diagnostic::new(
                Code::E0101,
                span,
                format!("expected an expression after `{operator}`, found {found}"),
            )
            .here("expected an expression")
            .label(self.prev_span(), "this operator needs something on its right")
            .help(format!("write the second operand of `{operator}`, or remove the operator"))
        } else if token.kind.is_infix() || matches!(token.kind, TokenKind::As | TokenKind::In) {
            Diagnostic::new(Code::E0101, span, format!("expected an expression before {found}"))
                .here("this operator needs something on its left")
                .help(format!("write the first operand of {found}, or remove the operator"))
        } else if prev == TokenKind::Eq {
            Diagnostic::new(Code::E0101, span, format!("expected a value after `=`, found {found}"))
                .here("expected an expression")
                .help("write the value to be bound")
        } else if token.kind == TokenKind::Colon && prev == TokenKind::LBracket {
            Diagnostic::new(Code::E0101, span, format!("expected an expression, found {found}"))
                .here("expected an expression")
                .help(SLICES)
        } else {
            Diagnostic::new(Code::E0101, span, format!("expected an expression, found {found}"))
                .here("expected an expression")
                .help("an expression is a literal, a name, a call, an operator with its operands, or something in brackets")
        };
        self.fail(diagnostic)
    }
}
