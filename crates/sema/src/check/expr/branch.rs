//! `if` expressions: their conditions, branches, and the type that both have.

use crate::check::state::Infer;
use crate::check::{Cx, choice, error, infer, layouts, literal, pointwise, vars, widen};
use crate::hir::{self, ExprId, ExprKind as H};
use ein_base::{Code, Span};
use ein_ir::tensor::{Expr, ExprKind, Type};

pub(super) fn if_expr(
    cx: &mut Cx,
    cond: ExprId,
    then: ExprId,
    otherwise: Option<ExprId>,
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let statement = std::mem::take(&mut cx.infer.f.statement);
    if otherwise.is_none() && !statement {
        super::expr(cx, cond, None);
        cx.infer.f.statement = true;
        vars::scoped(cx, |cx| super::expr(cx, then, None));
        let d = error(Code::E0505, span, "an `if` without `else` has no value")
            .here("nothing says what it is where the condition fails")
            .help("add `else { … }`, or use it as a statement");
        return cx.report.fail(d);
    }
    let written = is_written(cx.hir, cond);
    let cond = super::expr(cx, cond, None);
    if let Type::Array(array) = &cond.ty
        && array.elem == Type::BOOL
    {
        return pointwise::select(cx, cond, then, otherwise, want, span);
    }
    let cond = super::expect_bool(&cx.ix, &mut cx.report, cond, "a condition");
    if let Some(known) = known_condition(&cond).filter(|_| !written) {
        // Rank tests are decided here; the branch that cannot run is not checked.
        let (taken, other) = if known { (Some(then), otherwise) } else { (otherwise, Some(then)) };
        let like = match (want, taken.zip(other)) {
            (None, Some((taken, other))) => infer::nothing_like(&cx.infer, &cx.ix, taken, other),
            _ => None,
        };
        let want = want.or(like.as_ref());
        cx.infer.f.statement = statement;
        return match (known, otherwise) {
            (true, None) => {
                let then = scoped_branch(cx, then, &cond, true, None);
                discard(then)
            }
            (true, _) => scoped_branch(cx, then, &cond, true, want),
            (false, Some(otherwise)) => scoped_branch(cx, otherwise, &cond, false, want),
            (false, None) => Expr::new(ExprKind::Unit, Type::Unit, span),
        };
    }
    let (literal_then, literal_otherwise) = (
        literal::literal_class(cx.hir, then),
        otherwise.and_then(|e| literal::literal_class(cx.hir, e)),
    );
    let Some(otherwise) = otherwise else {
        cx.infer.f.statement = true;
        let then = scoped_branch(cx, then, &cond, true, None);
        let unit = Expr::new(ExprKind::Unit, Type::Unit, span);
        let then = discard(then);
        return Expr::new(ExprKind::If { cond, then, otherwise: unit }, Type::Unit, span);
    };
    // A branch of literals, or one without any elements, takes the type of the other one.
    let open = |id| want.is_none() && is_open_record(cx.hir, id);
    let (empty_then, empty_otherwise) =
        match (cx.infer.has_nothing(then), cx.infer.has_nothing(otherwise)) {
            (a, b) if a == b => (open(then), open(otherwise)),
            empty => empty,
        };
    if empty_then && !empty_otherwise {
        let b = branch(cx, statement, otherwise, &cond, false, want);
        let hint = infer::nothing_hint(&cx.infer, &cx.ix, then, otherwise, &b.ty);
        let a = branch(cx, statement, then, &cond, true, Some(&hint));
        return join_branches(cx, cond, a, b, span);
    }
    if empty_otherwise && !empty_then {
        let a = branch(cx, statement, then, &cond, true, want);
        let hint = infer::nothing_hint(&cx.infer, &cx.ix, otherwise, then, &a.ty);
        let b = branch(cx, statement, otherwise, &cond, false, Some(&hint));
        return join_branches(cx, cond, a, b, span);
    }
    let (a, b) = match (literal_then, literal_otherwise) {
        (Some(_), None) => {
            let b = branch(cx, statement, otherwise, &cond, false, want);
            let hint = literal_hint(literal_then, &b, want);
            (branch(cx, statement, then, &cond, true, hint.as_ref()), b)
        }
        (Some(x), Some(y)) => {
            let ty = Type::Scalar(literal::literal_type(x.max(y), want));
            (
                branch(cx, statement, then, &cond, true, Some(&ty)),
                branch(cx, statement, otherwise, &cond, false, Some(&ty)),
            )
        }
        (None, _) => {
            let a = branch(cx, statement, then, &cond, true, want);
            let hint = literal_hint(literal_otherwise, &a, want);
            let b = branch(cx, statement, otherwise, &cond, false, hint.as_ref().or(want));
            (a, b)
        }
    };
    join_branches(cx, cond, a, b, span)
}

/// What literals in one branch take from the other.
pub(in crate::check) fn literal_hint(
    class: Option<crate::check::literal::Class>,
    other: &Expr,
    want: Option<&Type>,
) -> Option<Type> {
    match (class, other.ty.scalar()) {
        (Some(class), Some(number)) => {
            // A literal keeps all of its digits where both become wider.
            let wider = want.filter(|it| it.scalar().is_some_and(|ty| widen::holds(ty, number)));
            literal::literal_like(class, wider.unwrap_or(&other.ty))
        }
        _ => want.cloned(),
    }
}

pub(super) fn join_branches(cx: &mut Cx, cond: Expr, a: Expr, b: Expr, span: Span) -> Expr {
    let Cx { infer, ix, build, report, .. } = cx;
    let number = |mut at: Vec<Expr>| {
        let (then, otherwise) = (at.swap_remove(0), at.swap_remove(0));
        ExprKind::If { cond: cond.clone(), then, otherwise }
    };
    let both = [&a, &b];
    if let Some(chosen) = choice::choose_function(infer, ix, build, report, &both, number, span) {
        return chosen;
    }
    let (a, b) = choice::functions_alike(cx, a, b);
    let mut both = [a, b];
    widen::widen_all(&mut cx.ix, &mut cx.build, &mut cx.report, &mut both);
    let [a, b] = both;
    let what = "the branches of this `if`";
    match layouts::join_values(&mut cx.ix, &mut cx.report, [&a, &b], what) {
        Some(ty) => Expr::new(ExprKind::If { cond, then: a, otherwise: b }, ty, span),
        None => Expr::error(span),
    }
}

impl Infer<'_> {
    /// Whether an expression is `[]`, perhaps in braces.
    pub(in crate::check) fn is_nothing(&self, id: ExprId) -> bool {
        match &self.hir.exprs[id].kind {
            H::Block { stmts, tail: Some(tail) } if stmts.is_empty() => self.is_nothing(*tail),
            _ => self.is_empty(id),
        }
    }

    /// Whether an expression is `[]`, or a tuple, struct or variant with such a part: it takes its
    /// type from what stands in its place elsewhere.
    pub(in crate::check) fn has_nothing(&self, id: ExprId) -> bool {
        match &self.hir.exprs[id].kind {
            H::Block { tail: Some(tail), .. } => self.has_nothing(*tail),
            H::Tuple(items) => items.iter().any(|item| self.has_nothing(*item)),
            H::Struct { fields, .. } => fields.iter().any(|field| self.has_nothing(field.1)),
            H::Call { callee, args } if matches!(self.hir.exprs[*callee].kind, H::Variant(..)) => {
                args.iter().any(|arg| self.has_nothing(arg.value))
            }
            _ => self.is_empty(id),
        }
    }
}

/// Whether an expression is a tuple, struct or variant with a part that takes its type from what stands in
/// its place elsewhere: a literal, or nothing at all.
pub(in crate::check) fn is_open_record(hir: &hir::Program, id: ExprId) -> bool {
    let open = |id: ExprId| literal::literal_class(hir, id).is_some() || is_open_record(hir, id);
    match &hir.exprs[id].kind {
        H::Block { tail: Some(tail), .. } => is_open_record(hir, *tail),
        H::Where { body, .. } => is_open_record(hir, *body),
        H::Array(items) => items.iter().any(|item| is_open_record(hir, *item)),
        H::Tuple(items) => items.iter().any(|item| open(*item)),
        H::Struct { fields, .. } => fields.iter().any(|field| open(field.1)),
        H::Call { callee, args } if matches!(hir.exprs[*callee].kind, H::Variant(..)) => {
            args.iter().any(|arg| open(arg.value))
        }
        H::Variant(..) => true,
        _ => false,
    }
}

/// A branch that may be a statement.
fn branch(
    cx: &mut Cx,
    statement: bool,
    id: ExprId,
    cond: &Expr,
    holds: bool,
    want: Option<&Type>,
) -> Expr {
    cx.infer.f.statement = statement;
    scoped_branch(cx, id, cond, holds, want)
}

/// A branch with what its condition says, its statements inside it.
pub(in crate::check) fn scoped_branch(
    cx: &mut Cx,
    id: ExprId,
    cond: &Expr,
    holds: bool,
    want: Option<&Type>,
) -> Expr {
    vars::scoped(cx, |cx| {
        cx.ix.assume_here(cond, holds);
        super::expr(cx, id, want)
    })
}

/// Whether a condition is made of literals and constants only. Nothing is specialised by it, so
/// both its branches are checked.
pub(in crate::check) fn is_written(hir: &crate::hir::Program, id: ExprId) -> bool {
    match &hir.exprs[id].kind {
        H::Bool(_) | H::Int(..) | H::Float(..) | H::Str(_) | H::Const(_) => true,
        H::Unary(_, a) => is_written(hir, *a),
        H::Binary(_, a, b) => is_written(hir, *a) && is_written(hir, *b),
        _ => false,
    }
}

/// The value of a condition that sizes and types decide.
pub(in crate::check) fn known_condition(cond: &Expr) -> Option<bool> {
    match &*cond.kind {
        ExprKind::Const(value) => value.as_bool(),
        _ => None,
    }
}

/// A value that nobody takes.
pub(in crate::check) fn discard(value: Expr) -> Expr {
    if value.ty == Type::Unit || value.ty.is_broken() {
        return value;
    }
    let span = value.span;
    let stmt = ein_ir::tensor::Stmt { kind: ein_ir::tensor::StmtKind::Expr(value), span };
    let unit = Expr::new(ExprKind::Unit, Type::Unit, span);
    Expr::new(ExprKind::Block { stmts: vec![stmt], value: unit }, Type::Unit, span)
}
