//! Operators: the precedence table of language.md, section 3.

use super::{Parse, Parser};
use crate::ast::*;
use crate::token::TokenKind;
use ein_base::{Code, Diagnostic, Span};
use thin_vec::ThinVec;

/// What an operator between two operands is.
#[derive(Clone, Copy)]
enum Infix {
    Binary(BinaryOp),
    Range,
    Cast,
}

/// The operator that a token is, with its level.
fn infix(kind: TokenKind) -> Option<(Infix, u8)> {
    let op = match kind {
        TokenKind::OrOr => BinaryOp::Or,
        TokenKind::AndAnd => BinaryOp::And,
        TokenKind::EqEq => BinaryOp::Eq,
        TokenKind::Ne => BinaryOp::Ne,
        TokenKind::Lt => BinaryOp::Lt,
        TokenKind::Gt => BinaryOp::Gt,
        TokenKind::Le => BinaryOp::Le,
        TokenKind::Ge => BinaryOp::Ge,
        TokenKind::In => BinaryOp::In,
        TokenKind::Plus => BinaryOp::Add,
        TokenKind::Minus => BinaryOp::Sub,
        TokenKind::Star => BinaryOp::Mul,
        TokenKind::Slash => BinaryOp::Div,
        TokenKind::Percent => BinaryOp::Rem,
        TokenKind::StarStar => BinaryOp::Pow,
        TokenKind::DotDot | TokenKind::DotDotEq => return Some((Infix::Range, RANGE)),
        TokenKind::As => return Some((Infix::Cast, 10)),
        _ => return None,
    };
    Some((Infix::Binary(op), op.level()))
}

/// The level of `..`.
const RANGE: u8 = 6;

/// The comparison that was just parsed, in case another one follows it.
#[derive(Clone, Copy)]
struct Comparison {
    op: BinaryOp,
    lhs: Span,
    rhs: Span,
}

impl Parser<'_> {
    /// An expression with its `where`, if it has one.
    pub(super) fn expr_where(&mut self) -> Parse<ExprId> {
        let lo = self.lo();
        let body = self.expression()?;
        self.where_rest(body, lo)
    }

    pub(super) fn where_rest(&mut self, body: ExprId, lo: u32) -> Parse<ExprId> {
        if !self.eat(TokenKind::Where) {
            return Ok(body);
        }
        let mut items = Vec::new();
        // An `else` after a guard is what holds where it fails.
        let outer = std::mem::replace(&mut self.in_guard, true);
        loop {
            let name = if self.kind().is_name() && self.ahead(1) == TokenKind::Eq {
                let name = self.take_name();
                self.bump();
                Some(name)
            } else {
                None
            };
            let value = self.expression();
            let value = value.inspect_err(|_| self.in_guard = outer)?;
            items.push(match name {
                Some(name) => WhereItem::Binding(name, value),
                None => WhereItem::Guard(value),
            });
            if !self.eat(TokenKind::Comma) || !self.kind().starts_expr() {
                break;
            }
        }
        self.in_guard = outer;
        let otherwise = if self.eat(TokenKind::Else) { Some(self.expression()?) } else { None };
        self.expr(ExprKind::Where { body, items: items.into(), otherwise }, lo)
    }

    /// Any expression, without `where`.
    pub(super) fn expression(&mut self) -> Parse<ExprId> {
        self.nested(|p| {
            let lo = p.lo();
            let lhs = p.binary(2)?;
            p.pipeline_rest(lhs, lo)
        })
    }

    /// What may follow the first operand of a pipeline: `|> f`, `else d`, `catch |err| d`.
    pub(super) fn pipeline_rest(&mut self, mut lhs: ExprId, lo: u32) -> Parse<ExprId> {
        loop {
            let op = match self.kind() {
                TokenKind::PipePlain => PipeOp::Plain,
                TokenKind::PipeOption => PipeOp::Option,
                TokenKind::PipeResult => PipeOp::Result,
                TokenKind::Else if !self.in_guard || self.may_fail(lhs) => {
                    self.bump();
                    let otherwise = self.nested(|p| p.binary(2))?;
                    lhs = self.expr(ExprKind::OrElse(lhs, otherwise), lo)?;
                    continue;
                }
                TokenKind::Catch => {
                    lhs = self.catch(lhs, lo)?;
                    continue;
                }
                _ => return Ok(lhs),
            };
            self.bump();
            let rhs = self.nested(|p| match p.kind() {
                // What follows its body goes on with the pipeline it stands in.
                TokenKind::Bar | TokenKind::OrOr => p.closure(|p| p.nested(|p| p.binary(2))),
                _ => p.binary(2),
            })?;
            lhs = self.expr(ExprKind::Pipe(op, lhs, rhs), lo)?;
        }
    }

    /// Whether `else` after this expression in a guard gives its value otherwise. What else a guard says
    /// has a value: an `else` after it belongs to the `where` around it.
    fn may_fail(&self, expr: ExprId) -> bool {
        matches!(
            self.ast.expr[expr].kind,
            ExprKind::Pipe(PipeOp::Option | PipeOp::Result, ..)
                | ExprKind::OrElse(..)
                | ExprKind::Catch { .. }
                | ExprKind::Try(_)
        )
    }

    fn catch(&mut self, value: ExprId, lo: u32) -> Parse<ExprId> {
        self.bump();
        if !self.eat(TokenKind::Bar) {
            return Err(self.unexpected("`|err|` after `catch`"));
        }
        let param = self.name("a name for the message")?;
        if !self.split(TokenKind::OrOr, TokenKind::Bar) {
            self.expect(TokenKind::Bar)?;
        }
        let handler = self.nested(|p| p.binary(2))?;
        self.expr(ExprKind::Catch { value, param, handler }, lo)
    }

    /// Operators of level `min` and tighter.
    pub(super) fn binary(&mut self, min: u8) -> Parse<ExprId> {
        let lo = self.lo();
        let open_range = matches!(self.kind(), TokenKind::DotDot | TokenKind::DotDotEq);
        let lhs = if open_range && min <= RANGE { self.range(None, lo)? } else { self.prefix()? };
        self.binary_rest(lhs, lo, min)
    }

    pub(super) fn binary_rest(&mut self, mut lhs: ExprId, lo: u32, min: u8) -> Parse<ExprId> {
        let mut last: Option<Comparison> = None;
        loop {
            let Some((op, level)) = infix(self.kind()) else { return Ok(lhs) };
            if level < min {
                return Ok(lhs);
            }
            match op {
                Infix::Cast => {
                    self.bump();
                    let ty = self.cast_type()?;
                    lhs = self.expr(ExprKind::Cast(lhs, ty), lo)?;
                }
                Infix::Range => {
                    // The span of a range in parentheses does not start with them.
                    let first = &self.ast.expr[lhs];
                    if matches!(first.kind, ExprKind::Range { .. }) && first.span.lo() == lo {
                        let span = self.span_here();
                        return Err(self.fail(
                            Diagnostic::new(Code::E0101, span, "a range has two ends, not three")
                                .here("this would be a range of ranges")
                                .help(
                                    "put one of the ranges in parentheses if that is what is meant",
                                ),
                        ));
                    }
                    lhs = self.range(Some(lhs), lo)?;
                }
                Infix::Binary(op) => {
                    let left = self.span_from(lo);
                    let signed = op == BinaryOp::Pow && self.is_signed(lhs, left);
                    self.bump();
                    let right_lo = self.lo();
                    let next = if op == BinaryOp::Pow { level } else { level + 1 };
                    let rhs = if op == BinaryOp::Pow {
                        self.nested(|p| p.binary(next))?
                    } else {
                        self.binary(next)?
                    };
                    let right = self.span_from(right_lo);
                    if signed {
                        self.report_signed_power(left, right);
                    }
                    let mut chained = false;
                    if level == 4 || level == 5 {
                        let first = last;
                        last = self.check_chain(first, op, left, right);
                        chained = last.is_none();
                    }
                    // What a chain would mean is not known: nothing is said about its types.
                    let kind =
                        if chained { ExprKind::Error } else { ExprKind::Binary(op, lhs, rhs) };
                    lhs = self.expr(kind, lo)?;
                }
            }
        }
    }

    /// `..` and what follows it. A word such as `in` after it is a name.
    fn range(&mut self, from: Option<ExprId>, lo: u32) -> Parse<ExprId> {
        let inclusive = self.at(TokenKind::DotDotEq);
        self.bump();
        let starts = (self.kind().starts_expr() || self.at(TokenKind::Plus))
            && !matches!(
                self.kind(),
                TokenKind::DotDot | TokenKind::DotDotEq | TokenKind::Bar | TokenKind::OrOr
            )
            && !(self.at(TokenKind::LBrace) && self.no_struct);
        let hi = if starts { Some(self.binary(RANGE + 1)?) } else { None };
        if inclusive && hi.is_none() {
            return Err(self.unexpected("the last value of the range"));
        }
        self.expr(ExprKind::Range { lo: from, hi, inclusive }, lo)
    }

    fn is_signed(&self, expr: ExprId, span: Span) -> bool {
        // In parentheses the text would start with `(`.
        matches!(self.ast.expr[expr].kind, ExprKind::Unary(UnaryOp::Neg, _))
            && self.ast.expr[expr].span.lo() == span.lo()
    }

    fn report_signed_power(&mut self, left: Span, right: Span) {
        // The operand with its parentheses, if it has any.
        let base_text = self.slice(left).strip_prefix('-').unwrap_or_default().trim_start();
        let exponent = self.slice(right);
        let whole = left.to(right);
        let before = format!("(-{base_text}) ** {exponent}");
        let after = format!("-({base_text} ** {exponent})");
        let sign = Span::new(self.file, left.lo(), left.lo() + 1);
        self.report(
            Diagnostic::new(Code::E0112, sign, "a sign before a power can be read in two ways")
                .here("does it belong to the base or to the power?")
                .fix(format!("`{before}` takes the power of the negative number"), whole, before)
                .fix(format!("`{after}` negates the power"), whole, after),
        );
    }

    /// Reports `a < b < c`, once for a chain.
    fn check_chain(
        &mut self,
        last: Option<Comparison>,
        op: BinaryOp,
        left: Span,
        right: Span,
    ) -> Option<Comparison> {
        match last {
            Some(first) if first.op.level() == op.level() => {
                let (a, b, c) = (self.slice(first.lhs), self.slice(first.rhs), self.slice(right));
                let (o1, o2) = (first.op.as_str(), op.as_str());
                let both = format!("{a} {o1} {b} && {b} {o2} {c}");
                let span = first.lhs.to(right);
                self.report(
                    Diagnostic::new(Code::E0111, span, "comparisons cannot be chained")
                        .here(format!(
                            "`{a} {o1} {b}` is a `bool`, and would be compared with `{c}`"
                        ))
                        .fix(format!("write `{both}`"), span, both),
                );
                None
            }
            _ => Some(Comparison { op, lhs: left, rhs: right }),
        }
    }

    /// `-x`, `+x`, `!x`, `@x`
    fn prefix(&mut self) -> Parse<ExprId> {
        let lo = self.lo();
        let op = match self.kind() {
            TokenKind::Minus => Some(UnaryOp::Neg),
            TokenKind::Plus => Some(UnaryOp::Pos),
            TokenKind::Bang => Some(UnaryOp::Not),
            TokenKind::At => None,
            _ => {
                let primary = self.primary()?;
                return self.postfix_rest(primary, lo);
            }
        };
        self.bump();
        let operand = self.nested(Self::prefix)?;
        let kind = match op {
            Some(op) => ExprKind::Unary(op, operand),
            None => ExprKind::At(operand),
        };
        self.expr(kind, lo)
    }

    /// Calls, indices and fields after an operand.
    pub(super) fn postfix_rest(&mut self, mut lhs: ExprId, lo: u32) -> Parse<ExprId> {
        loop {
            lhs = match self.kind() {
                TokenKind::LParen => {
                    let args = self.args()?;
                    self.expr(ExprKind::Call { callee: lhs, args }, lo)?
                }
                TokenKind::LBracket => {
                    let slots = self.slots()?;
                    if self.at(TokenKind::LParen) {
                        let args = self.args()?;
                        self.expr(ExprKind::BracketCall { callee: lhs, slots, args }, lo)?
                    } else {
                        self.expr(ExprKind::Index { base: lhs, slots }, lo)?
                    }
                }
                TokenKind::Dot => self.field(lhs, lo)?,
                _ => return Ok(lhs),
            };
        }
    }

    fn field(&mut self, base: ExprId, lo: u32) -> Parse<ExprId> {
        self.bump();
        if !self.at(TokenKind::Int) {
            let name = self.name("a field")?;
            return self.expr(ExprKind::Field(base, name), lo);
        }
        let span = self.span_here();
        let text = self.slice(span);
        self.bump();
        match text.parse::<u32>() {
            Ok(index) => self.expr(ExprKind::TupleField(base, index, span), lo),
            Err(_) => {
                self.report(
                    Diagnostic::new(
                        Code::E0108,
                        span,
                        format!("`{text}` is not the number of a field"),
                    )
                    .here("expected plain digits, as in `t.0`")
                    .help("the fields of a tuple are `.0`, `.1`, `.2` and so on"),
                );
                Ok(self.leaf(ExprKind::Error, span))
            }
        }
    }

    /// `(x, q = 2.0)`; `q: 2.0` is taken as well, and the formatter writes `=`.
    fn args(&mut self) -> Parse<ThinVec<Arg>> {
        let open = self.token();
        self.bump();
        let outer = (self.no_struct, self.hole_ok, self.in_guard);
        (self.no_struct, self.hole_ok, self.in_guard) = (false, false, false);
        let args = self.list(open, TokenKind::RParen, |p| {
            let joined = matches!(p.ahead(1), TokenKind::Eq | TokenKind::Colon);
            let named = p.kind().is_name() && joined;
            let name = if named {
                let name = p.take_name();
                p.bump();
                Some(name)
            } else {
                None
            };
            Ok(Arg { name, value: p.expr_where()? })
        });
        (self.no_struct, self.hole_ok, self.in_guard) = outer;
        args
    }

    /// `[i, ..rest]` after an operand.
    fn slots(&mut self) -> Parse<ThinVec<Slot>> {
        let open = self.token();
        self.bump();
        let outer = (self.no_struct, self.hole_ok, self.in_guard);
        (self.no_struct, self.hole_ok, self.in_guard) = (false, false, false);
        let slots = self.list(open, TokenKind::RBracket, Self::slot);
        (self.no_struct, self.hole_ok, self.in_guard) = outer;
        slots
    }

    fn slot(&mut self) -> Parse<Slot> {
        let lo = self.lo();
        let ends = |kind| matches!(kind, TokenKind::Comma | TokenKind::RBracket);
        let kind = match self.kind() {
            TokenKind::DotDot if self.ahead(1).is_name() && ends(self.ahead(2)) => {
                self.bump();
                SlotKind::Pack(self.take_name())
            }
            TokenKind::Hash => SlotKind::Axis(self.axis()?),
            TokenKind::LParen if self.at_group() => SlotKind::Group(self.group().into()),
            kind if kind.is_name() && self.ahead(1) == TokenKind::In => {
                let name = self.take_name();
                self.bump();
                SlotKind::Domain { name, domain: self.expression()? }
            }
            kind if kind.is_name() && self.ahead(1) == TokenKind::Eq => {
                let name = self.take_name();
                self.bump();
                SlotKind::Named { name, value: self.expression()? }
            }
            _ => {
                let index = self.expression()?;
                let range = matches!(self.ast.expr[index].kind, ExprKind::Range { .. });
                if range && self.eat(TokenKind::Semi) {
                    SlotKind::Stepped { range: index, step: self.expression()? }
                } else {
                    SlotKind::Expr(index)
                }
            }
        };
        Ok(Slot { kind, span: self.span_from(lo) })
    }

    /// `#0`
    fn axis(&mut self) -> Parse<u32> {
        self.bump();
        let text = self.slice(self.span_here());
        match (self.kind(), text.parse::<u32>()) {
            (TokenKind::Int, Ok(axis)) => {
                self.bump();
                Ok(axis)
            }
            _ => Err(self.unexpected("the number of an axis after `#`")),
        }
    }

    /// Whether a slot is `(a, b)`: names only, and not a single name in parentheses.
    fn at_group(&mut self) -> bool {
        let mut at = 1;
        let mut commas = 0;
        while self.far_ahead(at).is_name() && self.far_ahead(at + 1) == TokenKind::Comma {
            at += 2;
            commas += 1;
        }
        if self.far_ahead(at).is_name() && commas > 0 {
            at += 1;
        }
        self.far_ahead(at) == TokenKind::RParen
            && matches!(self.far_ahead(at + 1), TokenKind::Comma | TokenKind::RBracket)
    }

    fn group(&mut self) -> Vec<ein_base::Name> {
        let mut names = Vec::new();
        self.bump();
        while !self.eat(TokenKind::RParen) {
            names.push(self.take_name());
            self.eat(TokenKind::Comma);
        }
        names
    }
}
