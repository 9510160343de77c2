//! Statements, blocks, and the bindings of `let`.

use super::mistakes::after_operand;
use super::{Parse, Parser, Reported};
use crate::ast::*;
use crate::token::TokenKind;
use ein_base::{Code, Diagnostic, Help, Span};
use thin_vec::thin_vec;

/// A statement, or what could be saved of a broken one: then the rest of it must be skipped.
pub(super) type Statement = Result<StmtKind, StmtKind>;

enum Step {
    Stmt(StmtId),
    Tail(ExprId, Vec<Doc>),
}

impl Parser<'_> {
    /// Gives each statement up to `}` or the end of the file to `each`, and returns the expression
    /// that ends them with its documentation.
    pub(super) fn statements(
        &mut self,
        mut each: impl FnMut(&mut Self, StmtId),
    ) -> Option<(ExprId, Vec<Doc>)> {
        loop {
            self.forget();
            match self.kind() {
                TokenKind::Eof | TokenKind::RBrace => return None,
                TokenKind::Semi => {
                    // Documentation before it is that of the next statement.
                    let end = self.prev_end;
                    self.bump();
                    self.prev_end = end;
                    continue;
                }
                _ => {}
            }
            let before = self.pos;
            match self.statement() {
                Step::Stmt(stmt) => each(self, stmt),
                Step::Tail(tail, docs) => return Some((tail, docs)),
            }
            if self.pos == before {
                self.bump();
            }
        }
    }

    /// `{ … }`
    pub(super) fn block(&mut self) -> Parse<ExprId> {
        let open = self.token();
        if !self.eat(TokenKind::LBrace) {
            return Err(self.unexpected("`{`"));
        }
        let outer = (self.no_struct, self.hole_ok, self.in_guard, self.anchor);
        (self.no_struct, self.hole_ok, self.in_guard) = (false, false, false);
        self.blocks += 1;
        let mut stmts = Vec::new();
        let tail = self.statements(|_, stmt| stmts.push(stmt)).map(|(tail, _)| tail);
        self.blocks -= 1;
        (self.no_struct, self.hole_ok, self.in_guard, self.anchor) = outer;
        let close = self.token();
        if self.eat(TokenKind::RBrace) {
            if self.suspect.is_none() && close.first && self.column(close) != self.indentation(open)
            {
                self.suspect = Some((self.token_span(open), self.token_span(close)));
            }
        } else {
            self.unclosed(open, TokenKind::RBrace);
        }
        self.expr(ExprKind::Block { stmts: stmts.into(), tail }, open.start)
    }

    fn statement(&mut self) -> Step {
        let docs = self.docs();
        let (start, lo) = (self.pos, self.lo());
        let outer = std::mem::replace(&mut self.anchor, start);
        (self.no_struct, self.hole_ok, self.angles) = (false, false, false);
        let list = self.in_list.take();
        if self.depth == 0 {
            self.deep = false;
        }
        let (result, item) = match self.kind() {
            _ if self.at_alias() => (self.alias_item(false), false),
            _ if self.is_name_here() => match self.expr_stmt() {
                Ok(step) => {
                    (self.anchor, self.in_list) = (outer, list);
                    return step;
                }
                Err(result) => (result, false),
            },
            TokenKind::Let => (self.let_stmt(), false),
            TokenKind::Var | TokenKind::Mut if self.at_foreign_let() => (self.foreign_let(), false),
            TokenKind::Const => (self.const_item(false), false),
            TokenKind::Use => (self.use_item(false), false),
            TokenKind::Mod if self.at_module() => (self.mod_item(false), true),
            TokenKind::Test if self.ahead(1) == TokenKind::Str => (self.test_item(), true),
            TokenKind::Fn => (self.fn_item(false), true),
            TokenKind::At if self.ahead(1) == TokenKind::Fn => (self.rule_item(), true),
            TokenKind::Struct => (self.struct_item(false), true),
            TokenKind::Enum => (self.enum_item(false), true),
            TokenKind::Pub => (self.pub_item(), true),
            _ => match self.expr_stmt() {
                Ok(Step::Tail(tail, _)) => {
                    (self.anchor, self.in_list) = (outer, list);
                    return Step::Tail(tail, docs);
                }
                Ok(Step::Stmt(stmt)) => {
                    (self.anchor, self.in_list) = (outer, list);
                    self.ast.stmt[stmt].docs = docs.into();
                    return Step::Stmt(stmt);
                }
                Err(kind) => (kind, false),
            },
        };
        let kind = match result {
            Ok(kind) => {
                // The value of a block whose `}` is missing: that is what will be reported.
                let token = self.token();
                let ends_block = matches!(kind, StmtKind::Expr(_))
                    && self.blocks > 0
                    && token.first
                    && self.starts_statement()
                    && self.column(token) < self.column(self.tokens[start]);
                if !ends_block {
                    self.end_statement(start);
                }
                kind
            }
            Err(kind) => {
                self.synchronise(start, item);
                kind
            }
        };
        (self.anchor, self.in_list) = (outer, list);
        Step::Stmt(self.stmt(kind, lo, docs))
    }

    /// Takes the `;` of a statement, or says that it is missing.
    fn end_statement(&mut self, start: usize) {
        if self.eat(TokenKind::Semi) || self.prev_kind == TokenKind::RBrace {
            return;
        }
        let token = self.token();
        if token.kind == TokenKind::RBrace && self.blocks == 0 {
            // A brace that closes nothing is reported on its own.
            return;
        }
        let next_starts = matches!(token.kind, TokenKind::Eof | TokenKind::RBrace)
            || token.first && (self.starts_statement() || token.kind.starts_expr());
        if next_starts {
            let prev = self.prev_span();
            let place = Span::new(self.file, self.prev_end, self.prev_end);
            self.fail(
                Diagnostic::new(Code::E0101, prev, "this statement has no `;` at its end")
                    .here("expected `;` after this")
                    .fix("add it", place, ";"),
            );
            return;
        }
        self.unexpected_after_expr();
        self.synchronise(start, false);
    }

    /// Reports a token that cannot follow an expression.
    pub(super) fn unexpected_after_expr(&mut self) -> Reported {
        let help = match self.kind() {
            TokenKind::Eq => Some(
                "`==` compares; bindings cannot be changed, but a new `let` may shadow an old one",
            ),
            TokenKind::Question => Some("a choice is written `if c { a } else { b }`"),
            TokenKind::Else => Some("`else` follows an `if`, a `where` or a pipeline"),
            TokenKind::LBrace => {
                Some("only `if`, `match`, `fn`, `mod` and `test` are followed by a block")
            }
            TokenKind::Colon => {
                Some("a type stands after a name that is being bound: `let x: f32 = …`")
            }
            TokenKind::Arrow | TokenKind::FatArrow => Some("a closure is written `|x| e`"),
            _ => None,
        };
        let help = help.map(str::to_owned).or_else(|| after_operand(self, None));
        let before = self.diagnostics.len();
        let reported = self.unexpected("`;` or an operator");
        if let Some(help) = help
            && self.diagnostics.len() > before
            && let Some(last) = self.diagnostics.last_mut()
        {
            last.helps.push(Help { text: help, edit: None });
        }
        reported
    }

    /// An expression as a statement, or as the value of the block it ends.
    fn expr_stmt(&mut self) -> Result<Step, Statement> {
        let (start, lo) = (self.pos, self.lo());
        let mark = self.mark();
        let reported = self.diagnostics.len();
        let blocky = matches!(self.kind(), TokenKind::If | TokenKind::Match | TokenKind::LBrace);
        let returns = self.at(TokenKind::Return) && !self.is_taken(TokenKind::Return);
        let result = if blocky {
            self.block_operand(true).and_then(|expr| self.where_rest(expr, lo))
        } else {
            self.expr_where()
        };
        let Ok(expr) = result else {
            if self.is_loop(start) && self.pos > start && self.prev_kind == TokenKind::RBrace {
                return Err(Ok(StmtKind::Error));
            }
            return Err(Err(StmtKind::Error));
        };
        if self.at(TokenKind::Eq) && self.is_assignable(expr) {
            // The target is read again, and what is wrong in it is reported then.
            self.diagnostics.truncate(reported);
            return Err(self.assignment(expr, start, mark));
        }
        if returns && self.at(TokenKind::Semi) && self.ahead(1) == TokenKind::RBrace {
            self.bump();
        }
        if matches!(self.kind(), TokenKind::RBrace | TokenKind::Eof) {
            return Ok(Step::Tail(expr, Vec::new()));
        }
        if self.is_block_like(expr) && !self.at(TokenKind::Semi) {
            return Ok(Step::Stmt(self.stmt(StmtKind::Expr(expr), lo, Vec::new())));
        }
        Err(Ok(StmtKind::Expr(expr)))
    }

    fn is_loop(&self, at: usize) -> bool {
        matches!(self.tokens[at].kind, TokenKind::For | TokenKind::While | TokenKind::Loop)
    }

    /// Whether the expression ends in the `}` of its own block.
    fn is_block_like(&self, expr: ExprId) -> bool {
        self.prev_kind == TokenKind::RBrace
            && matches!(
                self.ast.expr[expr].kind,
                ExprKind::If { .. } | ExprKind::Match { .. } | ExprKind::Block { .. }
            )
    }

    /// `if`, `match` or a block at the start of a statement or arm. It goes on as an operand only
    /// if the next token cannot start another one; `..` does that after a block, but not after
    /// the body of an arm, where it may start a pattern.
    pub(super) fn block_operand(&mut self, ranges: bool) -> Parse<ExprId> {
        let lo = self.lo();
        let expr = self.nested(Self::primary)?;
        let goes_on = match self.kind() {
            TokenKind::Minus | TokenKind::OrOr => false,
            TokenKind::DotDot | TokenKind::DotDotEq => ranges,
            TokenKind::Dot | TokenKind::In | TokenKind::As | TokenKind::Catch => true,
            kind => kind.is_infix(),
        };
        if !goes_on {
            return Ok(expr);
        }
        let expr = self.postfix_rest(expr, lo)?;
        let expr = self.binary_rest(expr, lo, 2)?;
        self.pipeline_rest(expr, lo)
    }

    /// Whether `=` after this expression looks like a forgotten `let`.
    fn is_assignable(&self, expr: ExprId) -> bool {
        match &self.ast.expr[expr].kind {
            ExprKind::Path(path) => path.len() == 1,
            ExprKind::Index { base, .. } => {
                matches!(&self.ast.expr[*base].kind, ExprKind::Path(path) if path.len() == 1)
            }
            ExprKind::Tuple(_) => true,
            _ => false,
        }
    }

    /// `x = e;`: reported, and read as the `let` it should have been.
    fn assignment(
        &mut self,
        expr: ExprId,
        start: usize,
        mark: (usize, usize, usize, usize),
    ) -> Statement {
        let span = self.span_here();
        let target = self.ast.expr[expr].span;
        let place = Span::new(self.file, self.tokens[start].start, self.tokens[start].start);
        let diagnostic = Diagnostic::new(Code::E0101, span, "there is no assignment in Einlang")
            .here("`=` binds only after `let`")
            .label(target, "this would be bound")
            .fix("bind it with `let`; a new `let` may shadow an old one", place, "let ");
        self.report(diagnostic);
        self.rewind(mark);
        self.go_back(start);
        self.let_rest()
    }

    // Bindings.

    fn at_foreign_let(&self) -> bool {
        let binds = self.ahead(1).is_name() || self.ahead(1) == TokenKind::LParen;
        let taken = self.is_taken(self.kind());
        binds
            && !taken
            && !matches!(self.ahead(1), TokenKind::In | TokenKind::As | TokenKind::Where)
    }

    /// `var x = 1;` and `mut x = 1;`
    fn foreign_let(&mut self) -> Statement {
        let span = self.span_here();
        let word = self.slice(span);
        let diagnostic =
            Diagnostic::new(Code::E0106, span, format!("`{word}` is not a word of Einlang"))
                .here("bindings are made with `let` and cannot be changed")
                .fix("write `let`; a later `let` of the same name shadows this one", span, "let");
        self.report(diagnostic);
        self.bump();
        self.let_rest()
    }

    pub(super) fn let_stmt(&mut self) -> Statement {
        self.bump();
        let binds = self.ahead(1).is_name()
            || matches!(self.ahead(1), TokenKind::LParen | TokenKind::Underscore);
        if self.at(TokenKind::Mut) && binds {
            let span = self.span_here();
            let next = self.tokens[self.pos + 1].start;
            let diagnostic = Diagnostic::new(Code::E0106, span, "`mut` is not a word of Einlang")
                .here("bindings cannot be changed")
                .fix(
                    "leave it out; a later `let` of the same name shadows this one",
                    Span::new(self.file, span.lo(), next),
                    "",
                );
            self.report(diagnostic);
            self.bump();
        }
        self.let_rest()
    }

    fn let_rest(&mut self) -> Statement {
        if self.ahead(1) == TokenKind::LBracket
            && !matches!(self.kind(), TokenKind::LParen | TokenKind::Eq)
        {
            let Ok(name) = self.name("the name of a tensor") else { return Err(StmtKind::Error) };
            return self.clause(name);
        }
        let start = self.anchor;
        let (pat, broken) = match self.let_pattern() {
            Ok(pat) => (pat, false),
            Err(Reported) => (self.error_pat(), true),
        };
        if broken && !self.skip_to(start, &[TokenKind::Eq], &[]) {
            return Err(StmtKind::Error);
        }
        let ty = match self.annotation() {
            Ok(ty) => ty,
            Err(ty) => {
                let value = self.error_expr();
                return Err(StmtKind::Let(Let { pat, ty: Some(ty), value }));
            }
        };
        match self.bound_value() {
            Ok(value) => Ok(StmtKind::Let(Let { pat, ty, value })),
            Err(value) => Err(StmtKind::Let(Let { pat, ty, value })),
        }
    }

    /// `: T`, if it is there. A broken type is reported and skipped; an error says that no `=`
    /// follows it.
    pub(super) fn annotation(&mut self) -> Result<Option<TypeId>, TypeId> {
        if !self.eat(TokenKind::Colon) {
            return Ok(None);
        }
        let start = self.pos;
        match self.type_expr() {
            Ok(ty) => Ok(Some(ty)),
            Err(Reported) => {
                let ty = self.error_ty();
                if self.skip_to(start, &[TokenKind::Eq], &[]) { Ok(Some(ty)) } else { Err(ty) }
            }
        }
    }

    /// `= e`; an error gives an expression to go on with.
    pub(super) fn bound_value(&mut self) -> Result<ExprId, ExprId> {
        if !self.eat(TokenKind::Eq) {
            self.unexpected("`=` and a value");
            return Err(self.error_expr());
        }
        match self.expr_where() {
            Ok(value) => Ok(value),
            Err(Reported) => Err(self.error_expr()),
        }
    }

    /// `A[i, j] = e`, from the bracket on.
    fn clause(&mut self, name: ein_base::Name) -> Statement {
        let start = self.anchor;
        let open = self.token();
        self.bump();
        let slots = match self.list(open, TokenKind::RBracket, Self::left_slot) {
            Ok(slots) => slots,
            Err(Reported) => {
                let broken = LeftSlot { kind: LeftSlotKind::Error, span: self.token_span(open) };
                let slots = thin_vec![broken];
                if !self.skip_to(start, &[TokenKind::Eq], &[]) {
                    let value = self.error_expr();
                    return Err(StmtKind::Clause(Clause { name, slots, value, until: None }));
                }
                slots
            }
        };
        if self.at(TokenKind::Colon) {
            let lo = self.lo();
            let found = self.annotation();
            let span = self.span_from(lo);
            if found.is_err() {
                let value = self.error_expr();
                return Err(StmtKind::Clause(Clause { name, slots, value, until: None }));
            }
            self.report(
                Diagnostic::new(Code::E0101, span, "an indexed definition takes no type")
                    .here("a type may not stand here")
                    .fix("its type follows from its body; `as` converts the body", span, ""),
            );
        }
        match self.bound_value() {
            Ok(value) if self.at_until() => match self.until(value) {
                Ok((value, until)) => Ok(StmtKind::Clause(Clause { name, slots, value, until })),
                Err(Reported) => Err(StmtKind::Clause(Clause { name, slots, value, until: None })),
            },
            Ok(value) => Ok(StmtKind::Clause(Clause { name, slots, value, until: None })),
            Err(value) => Err(StmtKind::Clause(Clause { name, slots, value, until: None })),
        }
    }

    /// Whether the word after a value is `until`, which is a word only there.
    fn at_until(&self) -> bool {
        self.kind().is_name() && self.slice(self.span_here()) == "until"
    }

    /// `until cond else error("…")`, perhaps with the `where` of the value after it.
    fn until(&mut self, value: ExprId) -> Parse<(ExprId, Option<Box<Until>>)> {
        let lo = self.lo();
        self.bump();
        let cond = self.nested(|p| p.binary(2))?;
        let otherwise = if self.eat(TokenKind::Else) { Some(self.until_error()?) } else { None };
        let span = self.span_from(lo);
        let first = &self.ast.expr[value];
        if self.at(TokenKind::Where) && matches!(first.kind, ExprKind::Where { .. }) {
            let (here, first) = (self.span_here(), first.span);
            return Err(self.fail(
                Diagnostic::new(
                    Code::E0101,
                    here,
                    "a clause has one `where`, and this is a second",
                )
                .here("the second one")
                .label(first, "ends with the first one")
                .help("write all items in one of them: `… where a, b until …`"),
            ));
        }
        let lo = self.ast.expr[value].span.lo();
        let value = self.where_rest(value, lo)?;
        Ok((value, Some(Box::new(Until { cond, otherwise, span }))))
    }

    /// `error("…")`: the message.
    fn until_error(&mut self) -> Parse<ExprId> {
        let is_error = self.kind().is_name() && self.slice(self.span_here()) == "error";
        if !is_error || self.ahead(1) != TokenKind::LParen {
            return Err(self.unexpected("`error(\"…\")`"));
        }
        self.bump();
        self.bump();
        let message = self.expression()?;
        self.expect(TokenKind::RParen)?;
        Ok(message)
    }

    fn left_slot(&mut self) -> Parse<LeftSlot> {
        let lo = self.lo();
        let ends = |kind| matches!(kind, TokenKind::Comma | TokenKind::RBracket);
        let minus = usize::from(self.at(TokenKind::Minus));
        let kind = if self.at(TokenKind::DotDot) && self.ahead(1).is_name() && ends(self.ahead(2)) {
            self.bump();
            LeftSlotKind::Pack(self.take_name())
        } else if self.kind().is_name() && self.ahead(1) == TokenKind::In {
            let name = self.take_name();
            self.bump();
            LeftSlotKind::Index { name, domain: Some(self.expression()?) }
        } else if self.kind().is_name() && (ends(self.ahead(1)) || self.ahead(1) == TokenKind::Eq) {
            LeftSlotKind::Index { name: self.take_name(), domain: None }
        } else if self.ahead(minus) == TokenKind::Int && ends(self.ahead(minus + 1)) {
            let expr = self.expression()?;
            self.literal_slot(expr)
        } else {
            let expr = self.expression()?;
            match &self.ast.expr[expr].kind {
                ExprKind::Error => LeftSlotKind::Error,
                ExprKind::Range { .. } => {
                    let span = self.span_from(lo);
                    self.report(left_expression(span, self.slice(span)));
                    LeftSlotKind::Error
                }
                _ => LeftSlotKind::Point(expr),
            }
        };
        Ok(LeftSlot { kind, span: self.span_from(lo) })
    }

    fn literal_slot(&mut self, expr: ExprId) -> LeftSlotKind {
        let (value, negative) = match &self.ast.expr[expr].kind {
            ExprKind::Unary(UnaryOp::Neg, inner) => match &self.ast.expr[*inner].kind {
                ExprKind::Int { value, .. } => (*value, true),
                _ => return LeftSlotKind::Error,
            },
            ExprKind::Int { value, .. } => (*value, false),
            _ => return LeftSlotKind::Error,
        };
        // The extent, which is one more, has to be a number as well.
        match i64::try_from(value).ok().filter(|value| *value < i64::MAX) {
            Some(value) => LeftSlotKind::Literal(if negative { -value } else { value }),
            None => {
                let span = self.ast.expr[expr].span;
                self.report(
                    Diagnostic::new(Code::E0108, span, "this number is too large for a position")
                        .here(format!("the largest is {}", i64::MAX - 1))
                        .help("write a smaller number"),
                );
                LeftSlotKind::Error
            }
        }
    }
}

/// A range where an index or a constant belongs.
fn left_expression(span: Span, text: &str) -> Diagnostic {
    Diagnostic::new(
        Code::E0113,
        span,
        format!("`{text}` is a range, and stands on the left of a definition without a name"),
    )
    .here("expected a name, a name with a domain, a constant, or a pack")
    .help(format!("name the index: `i in {text}`"))
}
