//! Expressions.

use super::lower::{Found, Lower, Pos};
use super::patterns::Bindings;
use super::scope::Space;
use super::unknown::Want;
use super::{ItemKind, Target};
use crate::hir::{self, CompClause, ExprId, ExprKind, LocalKind, StrPart};
use ein_base::{Code, Diagnostic, Name, Span, Symbol};
use ein_scalar::ScalarType;
use ein_syntax::ast::{self, BinaryOp, UnaryOp};

impl<'r> Lower<'r, '_> {
    /// An expression.
    pub(super) fn expr(&mut self, id: ast::ExprId, pos: Pos) -> ExprId {
        let expr = &self.ast.expr[id];
        let span = expr.span;
        let kind = match &expr.kind {
            ast::ExprKind::Int { value, suffix } => ExprKind::Int(*value, self.suffix(*suffix)),
            ast::ExprKind::Float { text, suffix } => ExprKind::Float(*text, self.suffix(*suffix)),
            ast::ExprKind::Bool(value) => ExprKind::Bool(*value),
            ast::ExprKind::Path(path) => match path[..] {
                [name] => return self.name(name, pos),
                _ => self.path(path),
            },
            ast::ExprKind::Unary(op, a) => ExprKind::Unary(*op, self.expr(*a, pos)),
            ast::ExprKind::Binary(op, a, b) if self.is_scaled_request(*op, *a, *b) => {
                return self.scaled_request(*a, *b, pos);
            }
            ast::ExprKind::Binary(op, a, b) => {
                let a = self.expr(*a, pos);
                ExprKind::Binary(*op, a, self.expr(*b, pos))
            }
            ast::ExprKind::Index { base, slots } => {
                let base = self.base(*base);
                let slots = self.slots(slots);
                ExprKind::Index { base, slots: slots.into() }
            }
            ast::ExprKind::Call { callee, args } => self.call(*callee, None, args, pos),
            ast::ExprKind::BracketCall { callee, slots, args } => {
                self.bracket_call(id, *callee, slots, None, args, pos)
            }
            ast::ExprKind::Where { body, items, otherwise } => {
                return self.where_expr(*body, items, *otherwise, (span, pos));
            }
            ast::ExprKind::Error => ExprKind::Error,
            _ => self.compound(id, pos),
        };
        self.push(kind, span)
    }

    /// Whether a quotient is a derivative request with a factor before it: `0.1 * @loss / @w`, which
    /// reads as `0.1 * (@loss / @w)` and, from left to right, is `(0.1 * @loss) / @w`.
    fn is_scaled_request(&self, op: BinaryOp, a: ast::ExprId, b: ast::ExprId) -> bool {
        op == BinaryOp::Div
            && matches!(self.ast.expr[b].kind, ast::ExprKind::At(_))
            && !matches!(self.ast.expr[a].kind, ast::ExprKind::At(_))
            && self.ends_in_request(a)
    }

    fn ends_in_request(&self, id: ast::ExprId) -> bool {
        match &self.ast.expr[id].kind {
            ast::ExprKind::At(_) => true,
            ast::ExprKind::Binary(BinaryOp::Mul, _, last) => self.ends_in_request(*last),
            ast::ExprKind::Unary(UnaryOp::Neg, inner) => self.ends_in_request(*inner),
            _ => false,
        }
    }

    fn scaled_request(&mut self, scaled: ast::ExprId, by: ast::ExprId, pos: Pos) -> ExprId {
        let span = self.ast.expr[scaled].span.to(self.ast.expr[by].span);
        let kind = match &self.ast.expr[scaled].kind {
            ast::ExprKind::Binary(op, factor, last) => {
                let factor = self.expr(*factor, pos);
                ExprKind::Binary(*op, factor, self.scaled_request(*last, by, pos))
            }
            ast::ExprKind::Unary(op, inner) => {
                ExprKind::Unary(*op, self.scaled_request(*inner, by, pos))
            }
            _ => {
                let target = self.expr(scaled, pos);
                ExprKind::Binary(BinaryOp::Div, target, self.expr(by, pos))
            }
        };
        self.push(kind, span)
    }

    /// The expressions that are not among the most frequent; apart, to keep recursion shallow.
    #[inline(never)]
    fn compound(&mut self, id: ast::ExprId, pos: Pos) -> ExprKind {
        let expr = &self.ast.expr[id];
        match &expr.kind {
            ast::ExprKind::Str(parts) => self.string(parts, pos),
            ast::ExprKind::Size(name) => self.size_value(*name),
            ast::ExprKind::Hole => self.lone_hole(expr.span),
            ast::ExprKind::Range { lo, hi, inclusive } => ExprKind::Range {
                lo: lo.map(|e| self.expr(e, pos)),
                hi: hi.map(|e| self.expr(e, pos)),
                inclusive: *inclusive,
            },
            ast::ExprKind::Cast(e, ty) => {
                let e = self.expr(*e, pos);
                ExprKind::Cast(e, Box::new(self.ty(*ty)))
            }
            ast::ExprKind::At(e) => ExprKind::At(self.expr(*e, pos)),
            ast::ExprKind::Field(e, name) => ExprKind::Field(self.base(*e), *name),
            ast::ExprKind::TupleField(e, field, span) => {
                ExprKind::TupleField(self.base(*e), *field, *span)
            }
            ast::ExprKind::Array(elems) => ExprKind::Array(self.exprs(elems, pos.inner()).into()),
            ast::ExprKind::Tuple(elems) => ExprKind::Tuple(self.exprs(elems, pos.inner()).into()),
            ast::ExprKind::Comprehension { body, clauses } => {
                self.comprehension(*body, clauses, pos)
            }
            ast::ExprKind::Struct { path, fields } => self.struct_literal(path, fields, pos),
            ast::ExprKind::Block { stmts, tail } => self.block(stmts, *tail, pos.inner()),
            ast::ExprKind::If { cond, then, otherwise } => ExprKind::If {
                cond: self.expr(*cond, pos.inner()),
                then: self.expr(*then, pos),
                otherwise: otherwise.map(|e| self.expr(e, pos)),
            },
            ast::ExprKind::Match { scrutinee, arms } => self.match_expr(*scrutinee, arms, pos),
            ast::ExprKind::Closure { params, body } => self.closure(params, *body, pos),
            ast::ExprKind::Pipe(op, value, call) => self.pipe(*op, *value, *call, pos),
            ast::ExprKind::OrElse(e, other) => {
                let e = self.expr(*e, pos.inner());
                ExprKind::OrElse(e, self.expr(*other, pos.inner()))
            }
            ast::ExprKind::Catch { value, param, handler } => {
                let value = self.expr(*value, pos.inner());
                let mark = self.scopes.mark();
                let param = self.declare(*param, LocalKind::Param);
                let handler = self.expr(*handler, pos.inner());
                self.leave(mark);
                ExprKind::Catch { value, param, handler }
            }
            ast::ExprKind::Try(e) => ExprKind::Try(self.expr(*e, pos.inner())),
            ast::ExprKind::Int { .. }
            | ast::ExprKind::Float { .. }
            | ast::ExprKind::Bool(_)
            | ast::ExprKind::Path(_)
            | ast::ExprKind::Unary(..)
            | ast::ExprKind::Binary(..)
            | ast::ExprKind::Index { .. }
            | ast::ExprKind::Call { .. }
            | ast::ExprKind::BracketCall { .. }
            | ast::ExprKind::Where { .. }
            | ast::ExprKind::Error => ExprKind::Error,
        }
    }

    pub(super) fn exprs(&mut self, ids: &'r [ast::ExprId], pos: Pos) -> Vec<ExprId> {
        ids.iter().map(|e| self.expr(*e, pos)).collect()
    }

    fn suffix(&self, suffix: Option<Symbol>) -> Option<ScalarType> {
        self.r.builtins.scalars.get(&suffix?).copied()
    }

    /// A bare name as a value.
    fn name(&mut self, name: Name, pos: Pos) -> ExprId {
        let kind = match self.find(name.sym, true) {
            Found::Local(local, frame) => {
                self.use_local(local, frame);
                ExprKind::Local(local)
            }
            Found::Coord => ExprKind::Coord(name),
            // A function is no index, but a coordinate may have its name.
            Found::Target(Target::Known(_)) if pos == Pos::Slot => self.free_coord(name),
            Found::Target(Target::Item(item))
                if pos == Pos::Slot && self.r.items[item].kind != ItemKind::Const =>
            {
                self.free_coord(name)
            }
            Found::Target(target) => self.target_expr(target, name),
            Found::Nothing(hidden) => match pos {
                Pos::Slot | Pos::Deep => self.free_coord(name),
                Pos::Value => {
                    let expr = self.error(name.span);
                    if let Some(diagnostic) = self.unknown(name, hidden, Want::Value) {
                        self.region().deferred.push((expr, name, diagnostic));
                    }
                    return expr;
                }
            },
        };
        self.push(kind, name.span)
    }

    fn free_coord(&mut self, name: Name) -> ExprKind {
        self.region().coords.insert(name.sym);
        ExprKind::Coord(name)
    }

    fn path(&mut self, path: &[Name]) -> ExprKind {
        let target = self.path_target(path);
        match path.last() {
            Some(&last) => self.target_expr(target, last),
            None => ExprKind::Error,
        }
    }

    /// What is indexed, or has a field: never a coordinate.
    pub(super) fn base(&mut self, id: ast::ExprId) -> ExprId {
        self.operand(id, Want::Value)
    }

    /// An expression that no coordinate can be, even in an index.
    pub(super) fn operand(&mut self, id: ast::ExprId, want: Want) -> ExprId {
        let expr = &self.ast.expr[id];
        let ast::ExprKind::Path(path) = &expr.kind else { return self.expr(id, Pos::Value) };
        let [name] = path[..] else { return self.expr(id, Pos::Value) };
        let kind = match self.find(name.sym, false) {
            Found::Local(local, frame) => {
                self.use_local(local, frame);
                ExprKind::Local(local)
            }
            Found::Target(target) => self.target_expr(target, name),
            Found::Coord => ExprKind::Coord(name),
            Found::Nothing(hidden) => {
                self.report_unknown(name, hidden, want);
                ExprKind::Error
            }
        };
        self.push(kind, expr.span)
    }

    fn size_value(&mut self, name: Name) -> ExprKind {
        match self.known_size(name.sym, true) {
            Some(size) => ExprKind::Size(size),
            None => {
                self.report(
                    Diagnostic::new(
                        Code::E0201,
                        name.span,
                        format!("no type in scope names the size `?{name}`"),
                    )
                    .here("not known here")
                    .help(format!("name it where an array is declared: `x: [f32; ?{name}]`")),
                );
                ExprKind::Error
            }
        }
    }

    fn string(&mut self, parts: &'r [ast::StrPart], pos: Pos) -> ExprKind {
        ExprKind::Str(
            parts
                .iter()
                .map(|part| match part {
                    ast::StrPart::Text(text) => StrPart::Text(*text),
                    ast::StrPart::Value { expr, spec } => {
                        StrPart::Value(self.expr(*expr, pos.inner()), *spec)
                    }
                })
                .collect(),
        )
    }

    fn comprehension(
        &mut self,
        body: ast::ExprId,
        clauses: &'r [ast::CompClause],
        pos: Pos,
    ) -> ExprKind {
        let mark = self.scopes.mark();
        let pos = pos.inner();
        let mut lowered = Vec::with_capacity(clauses.len());
        for clause in clauses {
            lowered.push(match clause {
                ast::CompClause::Generator(pat, over) => {
                    let over = self.expr(*over, pos);
                    let pat = self.bound_pattern(*pat, false);
                    CompClause::Generator(pat, over)
                }
                ast::CompClause::Condition(cond) => CompClause::Condition(self.expr(*cond, pos)),
                ast::CompClause::Binding(name, value) => {
                    let value = self.expr(*value, pos);
                    CompClause::Binding(self.declare(*name, LocalKind::Let), value)
                }
            });
        }
        let body = self.expr(body, pos);
        self.leave(mark);
        ExprKind::Comprehension { body, clauses: lowered.into() }
    }

    /// A pattern whose names come into scope at once.
    fn bound_pattern(&mut self, pat: ast::PatId, refutable: bool) -> hir::Pat {
        let mut bindings = Bindings::default();
        let pat = self.pattern(pat, LocalKind::Let, refutable, &mut bindings);
        for (name, local) in bindings.names {
            self.bind(Space::Value, name, local);
        }
        pat
    }

    fn match_expr(&mut self, scrutinee: ast::ExprId, arms: &'r [ast::Arm], pos: Pos) -> ExprKind {
        let scrutinee = self.expr(scrutinee, pos.inner());
        let arms = arms
            .iter()
            .map(|arm| {
                let mark = self.scopes.mark();
                let pat = self.bound_pattern(arm.pat, true);
                let guard = arm.guard.map(|e| self.expr(e, pos.inner()));
                let body = self.expr(arm.body, pos);
                self.leave(mark);
                hir::Arm { pat, guard, body, span: arm.span }
            })
            .collect();
        ExprKind::Match { scrutinee, arms }
    }

    fn struct_literal(
        &mut self,
        path: &[Name],
        fields: &'r [(Name, ast::ExprId)],
        pos: Pos,
    ) -> ExprKind {
        let fields: Vec<(Name, ExprId)> =
            fields.iter().map(|(name, e)| (*name, self.expr(*e, pos.inner()))).collect();
        for (i, (name, _)) in fields.iter().enumerate() {
            if let Some((first, _)) = fields[..i].iter().find(|(f, _)| f.sym == name.sym) {
                self.r.defined_twice(*first, *name);
            }
        }
        let target = self.data_target(path);
        match self.data_of(target, path) {
            Some((def, variant)) => {
                // There are no more variants than bytes of text.
                let variant = variant.map(|number| number as u32);
                ExprKind::Struct { def, variant, fields: fields.into() }
            }
            None => ExprKind::Error,
        }
    }

    /// `x |> f`, `x ?> f`, `x !> f`
    fn pipe(
        &mut self,
        op: ast::PipeOp,
        value: ast::ExprId,
        call: ast::ExprId,
        pos: Pos,
    ) -> ExprKind {
        let value_span = self.ast.expr[value].span;
        let value = self.expr(value, pos.inner());
        if op == ast::PipeOp::Plain {
            return self.piped(value, call, pos);
        }
        let name = Name { sym: self.r.builtins.words.piped, span: value_span };
        let local = self.local(name, LocalKind::Let);
        self.r.program.locals[local].used = true;
        let inside = self.push(ExprKind::Local(local), value_span);
        let span = self.ast.expr[call].span;
        let kind = self.piped(inside, call, pos);
        let call = self.push(kind, span);
        match op {
            ast::PipeOp::Plain | ast::PipeOp::Option => ExprKind::OptionPipe { value, local, call },
            ast::PipeOp::Result => ExprKind::ResultPipe { value, local, call },
        }
    }

    /// A call whose first argument came through a pipeline.
    fn piped(&mut self, first: ExprId, call: ast::ExprId, pos: Pos) -> ExprKind {
        match &self.ast.expr[call].kind {
            ast::ExprKind::Call { callee, args } => self.call(*callee, Some(first), args, pos),
            ast::ExprKind::BracketCall { callee, slots, args } => {
                self.bracket_call(call, *callee, slots, Some(first), args, pos)
            }
            ast::ExprKind::Index { base, slots } => {
                self.bracket_call(call, *base, slots, Some(first), &[], pos)
            }
            _ => self.call(call, Some(first), &[], pos),
        }
    }

    /// The span of an expression of the tree.
    pub(super) fn span(&self, id: ast::ExprId) -> Span {
        self.ast.expr[id].span
    }
}
