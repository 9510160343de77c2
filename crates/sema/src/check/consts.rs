//! Constants: values known before anything runs.

use super::{Cx, annotation, close, look, vars};
use crate::hir::{DefId, DefKind};
use ein_base::Span;
use ein_ir::tensor::{Expr, ExprKind, Type};
use ein_scalar::{Overflow, Scalar, apply_binary, apply_unary, cast};

/// What is known of a constant.
#[derive(Clone, Debug)]
pub(super) enum ConstState {
    /// Being evaluated: a use of it now is a cycle, which resolution reported.
    Running,
    /// Its value: a literal, or a global that is bound before anything else.
    Done(Expr),
}

pub(super) fn const_value(cx: &mut Cx, def: DefId, span: Span) -> Expr {
    match cx.infer.consts.get(&def) {
        Some(ConstState::Running) => return Expr::error(span),
        Some(ConstState::Done(value)) => return Expr { span, ..value.clone() },
        None => {}
    }
    let (value, told) = look::look(cx, |cx| evaluate(cx, def, span));
    cx.report.keep(told);
    value
}

fn evaluate(cx: &mut Cx, def: DefId, span: Span) -> Expr {
    let hir = cx.hir;
    let DefKind::Const(constant) = &hir.defs[def].kind else { return Expr::error(span) };
    cx.infer.consts.insert(def, ConstState::Running);
    let outer = cx.enter_frame(true);
    let name = hir.defs[def].name;
    let value = match &constant.ty {
        Some(ty) => {
            let what = format!("the annotation of `{name}`");
            annotation::annotated(cx, constant.value, ty, &what)
        }
        None => close::open_value(cx, constant.value, None, None),
    };
    let value = match fold(&value) {
        Some(scalar) => Expr::new(ExprKind::Const(scalar), value.ty.clone(), value.span),
        None if value.ty.has_error() || matches!(&*value.kind, ExprKind::Str(_)) => value,
        None => {
            let at = value.span;
            let var = vars::bind(&mut cx.ix, &mut cx.build, name.sym, value);
            cx.ix.var_expr(var, at)
        }
    };
    let frame = cx.leave_frame(outer);
    cx.build.const_stmts.extend(frame.build.pending.into_iter().flatten());
    cx.infer.consts.insert(def, ConstState::Done(value.clone()));
    Expr { span, ..value }
}

/// The value of an expression of literals.
pub(super) fn fold(e: &Expr) -> Option<Scalar> {
    match &*e.kind {
        ExprKind::Const(value) => Some(*value),
        ExprKind::Size(size) => match &e.ty {
            Type::Scalar(ty) => Scalar::from_i128(i128::from(size.as_constant()?), *ty),
            _ => None,
        },
        ExprKind::Unary(op, a) => apply_unary(*op, fold(a)?, Overflow::Trap).ok(),
        ExprKind::Binary(op, a, b) => apply_binary(*op, fold(a)?, fold(b)?, Overflow::Trap).ok(),
        ExprKind::Cast(a) => match &e.ty {
            Type::Scalar(ty) => Some(cast(fold(a)?, *ty)),
            _ => None,
        },
        ExprKind::Block { stmts, value } if stmts.is_empty() => fold(value),
        ExprKind::If { cond, then, otherwise } => match fold(cond)?.as_bool()? {
            true => fold(then),
            false => fold(otherwise),
        },
        _ => None,
    }
}
