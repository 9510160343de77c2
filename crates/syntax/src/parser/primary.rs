//! Operands: literals, names, brackets, `if`, `match`, closures.

use super::mistakes::{foreign_name, is_repetition, repetition};
use super::{Parse, Parser, Reported};
use crate::ast::*;
use crate::token::TokenKind;
use ein_base::{Code, Diagnostic, Name, Span, Symbol};
use rustc_hash::FxHashSet;
use thin_vec::ThinVec;

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parse<ExprId> {
        let lo = self.lo();
        match self.kind() {
            TokenKind::Int | TokenKind::Float => Ok(self.number()),
            TokenKind::Str => self.string(),
            TokenKind::BadStr => {
                let span = self.span_here();
                self.bump();
                Ok(self.leaf(ExprKind::Error, span))
            }
            TokenKind::True | TokenKind::False => {
                let (span, value) = (self.span_here(), self.at(TokenKind::True));
                self.bump();
                Ok(self.leaf(ExprKind::Bool(value), span))
            }
            TokenKind::LParen => self.paren(),
            TokenKind::LBracket => self.array(),
            TokenKind::LBrace => self.block(),
            TokenKind::If if !self.is_name_here() => self.if_expr(),
            TokenKind::Match if !self.is_name_here() => self.match_expr(),
            TokenKind::Bar | TokenKind::OrOr => self.closure(Self::expression),
            TokenKind::Try if !self.is_name_here() => {
                self.bump();
                let outside = std::mem::replace(&mut self.hole_ok, false);
                let inner = self.nested(|p| p.binary(2));
                self.hole_ok = outside;
                self.expr(ExprKind::Try(inner?), lo)
            }
            TokenKind::Question => self.size(),
            TokenKind::Dot if self.ahead(1) == TokenKind::Int => Ok(self.float_without_zero()),
            kind if kind.is_name() => self.path(),
            kind if kind.is_foreign() => self.foreign(),
            kind if kind.is_keyword() => self.keyword_operand(),
            _ => Err(self.missing_operand()),
        }
    }

    /// Whether a keyword that the program took as a name stands where only a name can.
    pub(super) fn is_name_here(&self) -> bool {
        self.is_taken(self.kind()) && !self.ahead(1).starts_expr()
    }

    /// A name or path, and the fields of a struct if they follow.
    fn path(&mut self) -> Parse<ExprId> {
        if let Some(reported) = foreign_name(self) {
            return Err(reported);
        }
        let lo = self.lo();
        let path = self.names()?;
        if self.at(TokenKind::LBrace) && !self.no_struct && self.at_struct_fields(path.len()) {
            return self.struct_literal(path, lo);
        }
        let span = self.span_from(lo);
        Ok(self.leaf(ExprKind::Path(path), span))
    }

    /// `a::b::c`
    pub(super) fn names(&mut self) -> Parse<Path> {
        let first = self.take_name();
        if !self.at(TokenKind::ColonColon) {
            return Ok(first.into());
        }
        let mut names = vec![first];
        while self.eat(TokenKind::ColonColon) {
            names.push(self.name("a name after `::`")?);
        }
        Ok(names.into())
    }

    fn at_struct_fields(&self, segments: usize) -> bool {
        segments > 1
            || matches!(self.ahead(1), TokenKind::RBrace | TokenKind::DotDot)
            || self.ahead(1).is_name()
                && matches!(self.ahead(2), TokenKind::Colon | TokenKind::Comma | TokenKind::RBrace)
    }

    fn struct_literal(&mut self, path: Path, lo: u32) -> Parse<ExprId> {
        let open = self.token();
        self.bump();
        let fields = self.list(open, TokenKind::RBrace, |p| {
            if p.at(TokenKind::DotDot) {
                return p.other_fields();
            }
            let name = p.name("a field")?;
            let value = if p.eat(TokenKind::Colon) {
                p.expression()?
            } else {
                p.leaf(ExprKind::Path(name.into()), name.span)
            };
            Ok((name, value))
        })?;
        self.expr(ExprKind::Struct { path: path.into(), fields }, lo)
    }

    /// `..p`: the other fields are those of `p`; kept as a field of the name `..`.
    fn other_fields(&mut self) -> Parse<(Name, ExprId)> {
        let name = Name { sym: Symbol::intern(".."), span: self.span_here() };
        self.bump();
        let value = self.expression()?;
        if !matches!(self.kind(), TokenKind::RBrace | TokenKind::Comma)
            || self.at(TokenKind::Comma) && self.ahead(1) != TokenKind::RBrace
        {
            return Err(self.fail(
                Diagnostic::new(Code::E0101, name.span, "`..` comes after the fields")
                    .here("something follows it")
                    .help("write it last: `P { x: 1.0, ..p }`"),
            ));
        }
        Ok((name, value))
    }

    /// `?n`, and `?` in a type.
    fn size(&mut self) -> Parse<ExprId> {
        let lo = self.lo();
        self.bump();
        if self.kind().is_name() {
            let name = self.take_name();
            let span = self.span_from(lo);
            return Ok(self.leaf(ExprKind::Size(name), span));
        }
        let span = self.span_from(lo);
        if !self.hole_ok {
            return Err(self.fail(
                Diagnostic::new(
                    Code::E0101,
                    span,
                    "`?` stands for an unknown extent, and only in types",
                )
                .here("expected an expression")
                .help("a named size is written `?n`; a choice is written `if c { a } else { b }`"),
            ));
        }
        Ok(self.leaf(ExprKind::Hole, span))
    }

    /// `()`, `(e)`, `(a, b)`
    fn paren(&mut self) -> Parse<ExprId> {
        let open = self.token();
        self.bump();
        let outer = std::mem::replace(&mut self.no_struct, false);
        let hole_ok = std::mem::replace(&mut self.hole_ok, false);
        let in_guard = std::mem::replace(&mut self.in_guard, false);
        let mut items = Vec::new();
        let mut tuple = true;
        while !self.eat(TokenKind::RParen) {
            items.push(self.expr_where()?);
            tuple = self.eat(TokenKind::Comma);
            if !tuple && !self.at(TokenKind::RParen) {
                return Err(self.unclosed(open, TokenKind::RParen));
            }
        }
        self.no_struct = outer;
        (self.hole_ok, self.in_guard) = (hole_ok, in_guard);
        match items[..] {
            [only] if !tuple => Ok(only),
            _ => self.expr(ExprKind::Tuple(items.into()), open.start),
        }
    }

    /// `[a, b]` and `[e | x in xs]`
    fn array(&mut self) -> Parse<ExprId> {
        let open = self.token();
        self.bump();
        let outer = (
            std::mem::replace(&mut self.no_struct, false),
            std::mem::replace(&mut self.hole_ok, false),
            std::mem::replace(&mut self.in_guard, false),
        );
        let mut items = Vec::new();
        let kind = loop {
            if self.eat(TokenKind::RBracket) {
                break ExprKind::Array(items.into());
            }
            let item = self.expr_where()?;
            if items.is_empty() && self.eat(TokenKind::Bar) {
                let clauses = self.clauses(open)?;
                break ExprKind::Comprehension { body: item, clauses };
            }
            if items.is_empty() && is_repetition(self) {
                repetition(self, item)?;
                break ExprKind::Error;
            }
            items.push(item);
            if !self.eat(TokenKind::Comma) && !self.at(TokenKind::RBracket) {
                return Err(self.unclosed(open, TokenKind::RBracket));
            }
        };
        (self.no_struct, self.hole_ok, self.in_guard) = outer;
        self.expr(kind, open.start)
    }

    fn clauses(&mut self, open: crate::token::Token) -> Parse<ThinVec<CompClause>> {
        let mut bound = FxHashSet::default();
        let first = self.pos;
        let clauses =
            self.list(open, TokenKind::RBracket, |p| p.comprehension_clause(&mut bound))?;
        if clauses.is_empty() {
            let span = self.token_span(self.tokens[first]);
            return Err(self.fail(
                Diagnostic::new(Code::E0101, span, "expected a generator after `|`, found `]`")
                    .here("expected something like `x in xs`")
                    .help("a comprehension needs at least one generator: `[x * x | x in xs]`"),
            ));
        }
        Ok(clauses)
    }

    fn comprehension_clause(&mut self, bound: &mut FxHashSet<Symbol>) -> Parse<CompClause> {
        let kind = self.kind();
        if kind.is_name() && self.ahead(1) == TokenKind::Eq {
            let name = self.take_name();
            self.bump();
            bound.insert(name.sym);
            return Ok(CompClause::Binding(name, self.expression()?));
        }
        let generates = match kind {
            TokenKind::Underscore => true,
            TokenKind::LParen => self.at_tuple_generator(),
            _ => {
                kind.is_name()
                    && self.ahead(1) == TokenKind::In
                    && !bound.contains(&Symbol::intern(self.slice(self.span_here())))
            }
        };
        if !generates {
            return Ok(CompClause::Condition(self.expression()?));
        }
        let first_pat = self.ast.pat.len();
        let pat = self.let_pattern()?;
        for pat in self.ast.pat.iter().skip(first_pat) {
            if let PatKind::Bind { name, .. } = &pat.kind {
                bound.insert(name.sym);
            }
        }
        self.expect(TokenKind::In)?;
        Ok(CompClause::Generator(pat, self.expression()?))
    }

    /// Whether `(…)` here is a tuple of names followed by `in`.
    fn at_tuple_generator(&mut self) -> bool {
        let (mut at, mut depth, mut comma) = (0, 0u32, false);
        loop {
            match self.far_ahead(at) {
                TokenKind::LParen => depth += 1,
                TokenKind::RParen => depth -= 1,
                TokenKind::Comma => comma = true,
                TokenKind::Underscore => {}
                kind if kind.is_name() => {}
                _ => return false,
            }
            at += 1;
            if depth == 0 {
                return comma && self.far_ahead(at) == TokenKind::In;
            }
        }
    }

    /// An expression in the head of `if` or `match`.
    fn head(&mut self) -> Parse<ExprId> {
        let outer = std::mem::replace(&mut self.no_struct, true);
        let head = self.expression();
        self.no_struct = outer;
        head
    }

    fn if_expr(&mut self) -> Parse<ExprId> {
        let lo = self.lo();
        self.bump();
        if self.at(TokenKind::Let) {
            let span = self.span_here();
            return Err(self.fail(
                Diagnostic::new(Code::E0101, span, "expected a condition, found `let`")
                    .here("`let` is a statement")
                    .help("take a value apart with `match`: `match x { Option::Some(v) => …, Option::None => … }`"),
            ));
        }
        let cond = self.head()?;
        if !self.at(TokenKind::LBrace) {
            return Err(self.missing_block("the block of this `if`", lo, 2));
        }
        let then = self.block()?;
        let otherwise = if self.at(TokenKind::Else) {
            let else_lo = self.lo();
            self.bump();
            match self.kind() {
                TokenKind::If => Some(self.nested(Self::if_expr)?),
                TokenKind::LBrace => Some(self.block()?),
                _ => return Err(self.missing_block("the block of this `else`", else_lo, 4)),
            }
        } else {
            None
        };
        self.expr(ExprKind::If { cond, then, otherwise }, lo)
    }

    fn missing_block(&mut self, what: &str, lo: u32, len: u32) -> Reported {
        let span = self.span_here();
        let found = self.found();
        let mut diagnostic =
            Diagnostic::new(Code::E0101, span, format!("expected `{{`, found {found}"))
                .here("expected `{`")
                .label(Span::new(self.file, lo, lo + len), format!("{what} must be in braces"));
        diagnostic = if self.at(TokenKind::Eq) {
            diagnostic.fix("`==` compares", span, "==")
        } else {
            diagnostic.help("write `if c { a } else { b }`")
        };
        self.fail(diagnostic)
    }

    fn match_expr(&mut self) -> Parse<ExprId> {
        let lo = self.lo();
        self.bump();
        let scrutinee = self.head()?;
        let open = self.token();
        if !self.eat(TokenKind::LBrace) {
            return Err(self.unexpected("`{` and the arms of this `match`"));
        }
        let outer = (self.no_struct, self.hole_ok, self.in_guard, self.anchor, self.in_list);
        (self.no_struct, self.hole_ok, self.in_guard) = (false, false, false);
        self.in_list = Some(TokenKind::RBrace);
        let arms = self.arms(open);
        (self.no_struct, self.hole_ok, self.in_guard, self.anchor, self.in_list) = outer;
        self.expr(ExprKind::Match { scrutinee, arms: arms? }, lo)
    }

    fn arms(&mut self, open: crate::token::Token) -> Parse<ThinVec<Arm>> {
        let mut arms = Vec::new();
        loop {
            if self.eat(TokenKind::RBrace) {
                return Ok(arms.into());
            }
            if self.at(TokenKind::Eof) || self.token().first && self.starts_statement() {
                return Err(self.unclosed(open, TokenKind::RBrace));
            }
            let (start, lo) = (self.pos, self.lo());
            self.anchor = start;
            (self.no_struct, self.hole_ok, self.in_guard) = (false, false, false);
            let pat = self.pattern();
            let arm = match pat {
                Ok(pat) => self.arm_rest(pat, lo).map_err(|Reported| pat),
                Err(Reported) => Err(self.error_pat()),
            };
            let fine = arm.is_ok();
            arms.push(match arm {
                Ok(arm) => arm,
                Err(pat) => {
                    let body = self.error_expr();
                    Arm { pat, guard: None, body, span: self.span_from(lo) }
                }
            });
            let ends = self.prev_kind == TokenKind::RBrace || self.at(TokenKind::RBrace);
            if fine && (self.eat(TokenKind::Comma) || ends) {
                continue;
            }
            if fine && self.missing_comma() {
                continue;
            }
            if !self.skip_to(start, &[], &[TokenKind::Comma, TokenKind::RBrace]) {
                return Err(Reported);
            }
            self.eat(TokenKind::Comma);
        }
    }

    /// Reports what stands between two arms instead of a comma; whether the next arm follows.
    fn missing_comma(&mut self) -> bool {
        let token = self.token();
        let place = Span::new(self.file, self.prev_end, self.prev_end);
        if token.kind == TokenKind::Semi {
            let span = self.span_here();
            self.fail(
                Diagnostic::new(Code::E0101, span, "expected `,`, found `;`")
                    .here("arms are separated by commas")
                    .fix("write `,`", span, ","),
            );
            self.bump();
            return true;
        }
        if token.first && !self.starts_statement() && token.kind != TokenKind::Eof {
            let span = self.prev_span();
            self.fail(
                Diagnostic::new(Code::E0101, span, "this arm has no `,` at its end")
                    .here("expected `,` after this")
                    .fix("add it", place, ","),
            );
            return true;
        }
        self.unexpected("`,` or `}`");
        false
    }

    fn arm_rest(&mut self, pat: PatId, lo: u32) -> Parse<Arm> {
        let guard = if self.at(TokenKind::If) {
            let span = self.span_here();
            self.report(
                Diagnostic::new(Code::E0101, span, "expected `=>` or `where`, found `if`")
                    .here("a guard is written with `where`")
                    .fix("write `where`", span, "where"),
            );
            self.bump();
            Some(self.expression()?)
        } else if self.eat(TokenKind::Where) {
            Some(self.expression()?)
        } else {
            None
        };
        if !self.eat(TokenKind::FatArrow) {
            return Err(self.unexpected("`=>`"));
        }
        let blocky = matches!(self.kind(), TokenKind::If | TokenKind::Match | TokenKind::LBrace);
        let body = if blocky { self.block_operand(false)? } else { self.expression()? };
        Ok(Arm { pat, guard, body, span: self.span_from(lo) })
    }

    /// `|x, y: f32| e`
    pub(super) fn closure(
        &mut self,
        body: impl FnOnce(&mut Self) -> Parse<ExprId>,
    ) -> Parse<ExprId> {
        let open = self.token();
        let mut params = Vec::new();
        if !self.eat(TokenKind::OrOr) {
            self.bump();
            while !self.eat(TokenKind::Bar) && !self.split(TokenKind::OrOr, TokenKind::Bar) {
                let lo = self.lo();
                let pat = self.let_pattern()?;
                let ty = if self.eat(TokenKind::Colon) { Some(self.type_expr()?) } else { None };
                params.push(Param { pat, ty, default: None, span: self.span_from(lo) });
                let more = self.eat(TokenKind::Comma);
                if !more && !matches!(self.kind(), TokenKind::Bar | TokenKind::OrOr) {
                    return Err(self.unexpected("`,` or `|`"));
                }
            }
        }
        if self.at(TokenKind::Arrow) {
            let span = self.span_here();
            return Err(self.fail(
                Diagnostic::new(Code::E0101, span, "expected the body of the closure, found `->`")
                    .here("closures do not declare their result")
                    .help("write `|x| e`, or a `fn` with `-> T`"),
            ));
        }
        // A closure is no extent, so none of its parts is.
        let hole_ok = std::mem::replace(&mut self.hole_ok, false);
        let body = body(self);
        self.hole_ok = hole_ok;
        self.expr(ExprKind::Closure { params: params.into(), body: body? }, open.start)
    }
}
