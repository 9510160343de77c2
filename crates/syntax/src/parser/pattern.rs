//! Patterns of `let` and `match`.

use super::{Parse, Parser};
use crate::ast::*;
use crate::token::TokenKind;
use ein_base::{Code, Diagnostic};

impl Parser<'_> {
    /// What `let`, a closure or a generator may bind: a name, `_`, or a tuple or struct of these.
    pub(super) fn let_pattern(&mut self) -> Parse<PatId> {
        self.nested(|p| p.let_pattern_inner(false))
    }

    fn let_pattern_inner(&mut self, typed: bool) -> Parse<PatId> {
        let lo = self.lo();
        match self.kind() {
            TokenKind::Underscore => {
                self.bump();
                self.pat(PatKind::Wild, lo)
            }
            TokenKind::LParen => {
                let open = self.token();
                self.bump();
                let (mut items, mut tuple) = (Vec::new(), true);
                while !self.eat(TokenKind::RParen) {
                    items.push(self.nested(|p| p.let_pattern_inner(true))?);
                    tuple = self.eat(TokenKind::Comma);
                    if !tuple && !self.at(TokenKind::RParen) {
                        return Err(self.unclosed(open, TokenKind::RParen));
                    }
                }
                match items[..] {
                    [only] if !tuple => Ok(only),
                    _ => self.pat(PatKind::Tuple(items.into()), lo),
                }
            }
            TokenKind::Int
            | TokenKind::Float
            | TokenKind::Str
            | TokenKind::True
            | TokenKind::False
                if !self.token().first =>
            {
                let (span, found) = (self.span_here(), self.found());
                Err(self.fail(
                    Diagnostic::new(Code::E0101, span, format!("expected a name, found {found}"))
                        .here("expected a name, or a tuple of names")
                        .help("`let` always succeeds; `match` compares with literals"),
                ))
            }
            kind if kind.is_name()
                && matches!(self.ahead(1), TokenKind::LBrace | TokenKind::ColonColon) =>
            {
                let path = self.names()?;
                self.struct_pattern(path, lo, |p| p.nested(|p| p.let_pattern_inner(false)))
            }
            _ => {
                let name = self.name("a name, or a tuple of names")?;
                let ty = if typed && self.eat(TokenKind::Colon) {
                    Some(self.type_expr()?)
                } else {
                    None
                };
                self.pat(PatKind::Bind { name, ty }, lo)
            }
        }
    }

    /// What an arm of `match` may match, alternatives included.
    pub(super) fn pattern(&mut self) -> Parse<PatId> {
        let lo = self.lo();
        self.eat(TokenKind::Bar);
        let first = self.nested(Self::single_pattern)?;
        if !self.at(TokenKind::Bar) {
            return Ok(first);
        }
        let mut alternatives = vec![first];
        while self.eat(TokenKind::Bar) {
            alternatives.push(self.nested(Self::single_pattern)?);
        }
        self.pat(PatKind::Or(alternatives.into()), lo)
    }

    fn single_pattern(&mut self) -> Parse<PatId> {
        let lo = self.lo();
        match self.kind() {
            TokenKind::Underscore => {
                self.bump();
                self.pat(PatKind::Wild, lo)
            }
            TokenKind::LParen => self.tuple_pattern(),
            TokenKind::LBracket => self.array_pattern(),
            TokenKind::Int
            | TokenKind::Float
            | TokenKind::Str
            | TokenKind::BadStr
            | TokenKind::True
            | TokenKind::False
            | TokenKind::Minus => {
                let literal = self.literal()?;
                if matches!(self.kind(), TokenKind::DotDot | TokenKind::DotDotEq) {
                    return self.range_pattern(Some(literal), lo);
                }
                self.pat(PatKind::Literal(literal), lo)
            }
            TokenKind::DotDot | TokenKind::DotDotEq => self.range_pattern(None, lo),
            kind if kind.is_name() || self.is_taken(kind) => self.name_pattern(),
            _ => Err(self.missing_pattern()),
        }
    }

    fn missing_pattern(&mut self) -> super::Reported {
        let keyword = self.kind().is_keyword() && !self.token().first;
        if keyword || self.kind().is_closer() {
            return self.unexpected("a pattern");
        }
        let (span, found) = (self.span_here(), self.found());
        self.fail(
            Diagnostic::new(Code::E0101, span, format!("expected a pattern, found {found}"))
                .here("expected a pattern")
                .help("patterns are literals, ranges, names, `_`, tuples, arrays, and the variants of an enum"),
        )
    }

    fn name_pattern(&mut self) -> Parse<PatId> {
        let lo = self.lo();
        let path = self.names()?;
        match self.kind() {
            TokenKind::LParen => {
                let open = self.token();
                self.bump();
                let args = self.list(open, TokenKind::RParen, Self::pattern)?;
                self.pat(PatKind::Variant { path, args }, lo)
            }
            TokenKind::LBrace => self.struct_pattern(path, lo, Self::pattern),
            TokenKind::At if path.len() == 1 => {
                self.bump();
                let inner = self.nested(Self::single_pattern)?;
                self.pat(PatKind::At(path[0], inner), lo)
            }
            TokenKind::DotDot | TokenKind::DotDotEq => {
                let span = self.span_from(lo);
                let from = self.leaf(ExprKind::Path(path), span);
                self.range_pattern(Some(from), lo)
            }
            _ if path.len() == 1 => self.pat(PatKind::Bind { name: path[0], ty: None }, lo),
            _ => self.pat(PatKind::Path(path), lo),
        }
    }

    fn struct_pattern(
        &mut self,
        path: Path,
        lo: u32,
        field: impl Fn(&mut Self) -> Parse<PatId>,
    ) -> Parse<PatId> {
        let open = self.token();
        if !self.eat(TokenKind::LBrace) {
            return Err(self.unexpected("`{` and the fields of a struct"));
        }
        let mut rest = false;
        let fields = self.list(open, TokenKind::RBrace, |p| {
            if p.at(TokenKind::DotDot) && !rest {
                p.bump();
                rest = true;
                return Ok(None);
            }
            if rest {
                return Err(p.unexpected("`}` after `..`"));
            }
            let name = p.name("a field, or `..`")?;
            let pat = if p.eat(TokenKind::Colon) {
                field(p)?
            } else {
                p.pat(PatKind::Bind { name, ty: None }, name.span.lo())?
            };
            Ok(Some((name, pat)))
        })?;
        let fields = fields.into_iter().flatten().collect();
        self.pat(PatKind::Struct { path, fields, rest }, lo)
    }

    fn tuple_pattern(&mut self) -> Parse<PatId> {
        let open = self.token();
        self.bump();
        let (mut items, mut tuple) = (Vec::new(), true);
        while !self.eat(TokenKind::RParen) {
            items.push(self.pattern()?);
            tuple = self.eat(TokenKind::Comma);
            if !tuple && !self.at(TokenKind::RParen) {
                return Err(self.unclosed(open, TokenKind::RParen));
            }
        }
        match items[..] {
            [only] if !tuple => Ok(only),
            _ => self.pat(PatKind::Tuple(items.into()), open.start),
        }
    }

    fn array_pattern(&mut self) -> Parse<PatId> {
        let open = self.token();
        self.bump();
        let (mut before, mut after, mut rest) = (Vec::new(), Vec::new(), None);
        self.list(open, TokenKind::RBracket, |p| {
            let ends = |kind| matches!(kind, TokenKind::Comma | TokenKind::RBracket);
            let named = p.ahead(1).is_name() && ends(p.ahead(2));
            if p.at(TokenKind::DotDot) && (named || ends(p.ahead(1))) {
                let lo = p.lo();
                p.bump();
                let name = if named { Some(p.take_name()) } else { None };
                let span = p.span_from(lo);
                if let Some(RestPat { span: first, .. }) = rest {
                    p.report(
                        Diagnostic::new(
                            Code::E0101,
                            span,
                            "an array pattern has one rest, not two",
                        )
                        .here("the second rest")
                        .label(first, "the first rest")
                        .help("it could not be known where one ends and the other begins"),
                    );
                }
                rest = Some(RestPat { name, span });
                return Ok(());
            }
            let pat = p.pattern()?;
            if rest.is_some() {
                after.push(pat)
            } else {
                before.push(pat)
            }
            Ok(())
        })?;
        self.pat(
            PatKind::Array { before: before.into(), rest: rest.map(Box::new), after: after.into() },
            open.start,
        )
    }

    /// A literal, perhaps negated.
    fn literal(&mut self) -> Parse<ExprId> {
        let lo = self.lo();
        if self.eat(TokenKind::Minus) {
            if !matches!(self.kind(), TokenKind::Int | TokenKind::Float) {
                return Err(self.unexpected("a number after `-`"));
            }
            let number = self.number();
            return self.expr(ExprKind::Unary(UnaryOp::Neg, number), lo);
        }
        self.primary()
    }

    /// `..`, `..=` and the last value.
    fn range_pattern(&mut self, from: Option<ExprId>, lo: u32) -> Parse<PatId> {
        let inclusive = self.at(TokenKind::DotDotEq);
        self.bump();
        let hi = match self.kind() {
            TokenKind::Int | TokenKind::Float | TokenKind::Str | TokenKind::Minus => {
                Some(self.literal()?)
            }
            TokenKind::Ident => {
                let lo = self.lo();
                let mut path = vec![self.take_name()];
                while self.eat(TokenKind::ColonColon) {
                    path.push(self.name("a name after `::`")?);
                }
                let span = self.span_from(lo);
                Some(self.leaf(ExprKind::Path(path.into()), span))
            }
            _ => None,
        };
        if hi.is_none() && (inclusive || from.is_none()) {
            return Err(self.unexpected("the last value of the range"));
        }
        self.pat(PatKind::Range { lo: from, hi, inclusive }, lo)
    }
}
