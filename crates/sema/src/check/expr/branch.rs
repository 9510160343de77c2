//! `if` expressions: their conditions, branches, and the type that both have.

use crate::check::{Cx, error};
use crate::hir::{ExprId, ExprKind as H};
use ein_base::{Code, Span};
use ein_ir::tensor::{Expr, ExprKind, Type};

impl Cx<'_> {
    pub(super) fn if_expr(
        &mut self,
        cond: ExprId,
        then: ExprId,
        otherwise: Option<ExprId>,
        want: Option<&Type>,
        span: Span,
    ) -> Expr {
        let statement = std::mem::take(&mut self.f.statement);
        if otherwise.is_none() && !statement {
            self.expr(cond, None);
            self.f.statement = true;
            self.scoped(|cx| cx.expr(then, None));
            let d = error(Code::E0505, span, "an `if` without `else` has no value")
                .here("nothing says what it is where the condition fails")
                .help("add `else { … }`, or use it as a statement");
            return self.fail(d);
        }
        let written = self.is_written(cond);
        let cond = self.expr(cond, None);
        if let Type::Array(array) = &cond.ty
            && array.elem == Type::BOOL
        {
            return self.select(cond, then, otherwise, want, span);
        }
        let cond = self.expect_bool(cond, "a condition");
        if let Some(known) = self.known_condition(&cond).filter(|_| !written) {
            // Rank tests are decided here; the branch that cannot run is not checked.
            self.f.statement = statement;
            return match (known, otherwise) {
                (true, None) => {
                    let then = self.scoped_branch(then, &cond, true, None);
                    self.discard(then)
                }
                (true, _) => self.scoped_branch(then, &cond, true, want),
                (false, Some(otherwise)) => self.scoped_branch(otherwise, &cond, false, want),
                (false, None) => Expr::new(ExprKind::Unit, Type::Unit, span),
            };
        }
        let (literal_then, literal_otherwise) =
            (self.literal_class(then), otherwise.and_then(|e| self.literal_class(e)));
        let Some(otherwise) = otherwise else {
            self.f.statement = true;
            let then = self.scoped_branch(then, &cond, true, None);
            let unit = Expr::new(ExprKind::Unit, Type::Unit, span);
            let then = self.discard(then);
            return Expr::new(ExprKind::If { cond, then, otherwise: unit }, Type::Unit, span);
        };
        // A branch of literals, or one without any elements, takes the type of the other one.
        let (empty_then, empty_otherwise) = (self.is_nothing(then), self.is_nothing(otherwise));
        if empty_then && !empty_otherwise {
            let b = self.branch(statement, otherwise, &cond, false, want);
            let a = self.branch(statement, then, &cond, true, Some(&b.ty));
            return self.join_branches(cond, a, b, span);
        }
        if empty_otherwise && !empty_then {
            let a = self.branch(statement, then, &cond, true, want);
            let b = self.branch(statement, otherwise, &cond, false, Some(&a.ty));
            return self.join_branches(cond, a, b, span);
        }
        let (a, b) = match (literal_then, literal_otherwise) {
            (Some(_), None) => {
                let b = self.branch(statement, otherwise, &cond, false, want);
                let hint = self.literal_hint(literal_then, &b, want);
                (self.branch(statement, then, &cond, true, hint.as_ref()), b)
            }
            (Some(x), Some(y)) => {
                let ty = Type::Scalar(self.literal_type(x.max(y), want));
                (
                    self.branch(statement, then, &cond, true, Some(&ty)),
                    self.branch(statement, otherwise, &cond, false, Some(&ty)),
                )
            }
            (None, _) => {
                let a = self.branch(statement, then, &cond, true, want);
                let hint = self.literal_hint(literal_otherwise, &a, want);
                let b = self.branch(statement, otherwise, &cond, false, hint.as_ref().or(want));
                (a, b)
            }
        };
        self.join_branches(cond, a, b, span)
    }

    /// What literals in one branch take from the other.
    pub(in crate::check) fn literal_hint(
        &self,
        class: Option<crate::check::literal::Class>,
        other: &Expr,
        want: Option<&Type>,
    ) -> Option<Type> {
        match (class, other.ty.scalar()) {
            (Some(class), Some(_)) => self.literal_like(class, &other.ty),
            _ => want.cloned(),
        }
    }

    pub(super) fn join_branches(&mut self, cond: Expr, a: Expr, b: Expr, span: Span) -> Expr {
        if let Some(choice) = self.choose_function(&a, &b, &cond, span) {
            return choice;
        }
        let (a, b) = self.functions_alike(a, b);
        let mut both = [a, b];
        self.widen_all(&mut both);
        let [a, b] = both;
        if !self.agree_in_layout(&a, &b, "the branches of this `if`") {
            return Expr::error(span);
        }
        match self.join_types(&a.ty, &b.ty) {
            Some(ty) => {
                let kind = ExprKind::If { cond, then: a, otherwise: b };
                Expr::new(kind, ty, span)
            }
            None => {
                let (x, y) = (self.show(&a.ty), self.show(&b.ty));
                let d = error(
                    Code::E0505,
                    b.span,
                    format!("the branches of this `if` disagree: `{x}` and `{y}`"),
                )
                .here(format!("this is `{y}`"))
                .label(a.span, format!("this is `{x}`"))
                .help("make both branches values of one type");
                let d = self.numeric_help(d, &a, &b);
                self.fail(d)
            }
        }
    }

    /// Whether an expression is `[]`, perhaps in braces.
    pub(in crate::check) fn is_nothing(&self, id: ExprId) -> bool {
        match &self.hir.exprs[id].kind {
            H::Block { stmts, tail: Some(tail) } if stmts.is_empty() => self.is_nothing(*tail),
            _ => self.is_empty(id),
        }
    }

    /// A branch that may be a statement.
    fn branch(
        &mut self,
        statement: bool,
        id: ExprId,
        cond: &Expr,
        holds: bool,
        want: Option<&Type>,
    ) -> Expr {
        self.f.statement = statement;
        self.scoped_branch(id, cond, holds, want)
    }

    /// A branch with what its condition says, its statements inside it.
    pub(in crate::check) fn scoped_branch(
        &mut self,
        id: ExprId,
        cond: &Expr,
        holds: bool,
        want: Option<&Type>,
    ) -> Expr {
        self.scoped(|cx| {
            let mut facts = std::mem::take(&mut cx.f.facts);
            cx.assume(cond, holds, &mut facts);
            cx.f.facts = facts;
            cx.expr(id, want)
        })
    }

    /// Whether a condition is made of literals and constants only. Nothing is specialised by it, so
    /// both its branches are checked.
    pub(super) fn is_written(&self, id: ExprId) -> bool {
        match &self.hir.exprs[id].kind {
            H::Bool(_) | H::Int(..) | H::Float(..) | H::Const(_) => true,
            H::Unary(_, a) => self.is_written(*a),
            H::Binary(_, a, b) => self.is_written(*a) && self.is_written(*b),
            _ => false,
        }
    }

    /// The value of a condition that sizes and types decide.
    pub(in crate::check) fn known_condition(&self, cond: &Expr) -> Option<bool> {
        match &*cond.kind {
            ExprKind::Const(value) => value.as_bool(),
            _ => None,
        }
    }

    /// A value that nobody takes.
    pub(in crate::check) fn discard(&mut self, value: Expr) -> Expr {
        if value.ty == Type::Unit || value.ty.is_broken() {
            return value;
        }
        let span = value.span;
        let stmt = ein_ir::tensor::Stmt { kind: ein_ir::tensor::StmtKind::Expr(value), span };
        let unit = Expr::new(ExprKind::Unit, Type::Unit, span);
        Expr::new(ExprKind::Block { stmts: vec![stmt], value: unit }, Type::Unit, span)
    }
}
