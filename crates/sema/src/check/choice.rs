//! Functions that a condition chooses: `if flag { double } else { |x| x + 1 }`.
//!
//! Function values have no types of their own until they are called, so two of them need not agree.
//! Where each alternative is a function or closure by itself, the value is a *choice*: the number of
//! the one that was chosen and what all of them captured. A call of it chooses among calls, each with
//! the code that these arguments ask for. Where an alternative is computed, all take the signature
//! that one of them declares.

use super::instance::{Key, Source};
use super::state::{Build, Index, Infer};
use super::template::Template;
use super::{Cx, function, layouts, template, types, vars, widen};
use crate::hir::{Arg, TypeKind};
use ein_base::{Name, Span, Symbol};
use ein_ir::tensor::{Arm, Expr, ExprKind, Signature, Type, VarId};
use ein_scalar::BinaryOp;

/// The two branches of an `if` as a choice between functions, if they are that.
pub(super) fn choose_function(
    infer: &mut Infer,
    ix: &mut Index,
    build: &mut Build,
    then: &Expr,
    otherwise: &Expr,
    cond: &Expr,
    span: Span,
) -> Option<Expr> {
    let values = [then, otherwise];
    if !are_different_functions(&values) {
        return None;
    }
    let number = |at: i64| Expr::int(at, span);
    let kind = ExprKind::If { cond: cond.clone(), then: number(0), otherwise: number(1) };
    let selector = Expr::new(kind, Type::I32, span);
    choice_value(infer, ix, build, &values, selector, span)
}

/// The arms of a `match` as a choice between functions, if they are that.
pub(super) fn choose_arm(
    infer: &mut Infer,
    ix: &mut Index,
    build: &mut Build,
    values: &[Expr],
    value: &Expr,
    arms: &[Arm],
    span: Span,
) -> Option<Expr> {
    let all: Vec<&Expr> = values.iter().collect();
    if !are_different_functions(&all) {
        return None;
    }
    let arms = arms
        .iter()
        .zip(0..)
        .map(|(arm, at)| Arm { value: Expr::int(at, span), ..arm.clone() })
        .collect();
    let kind = ExprKind::Match { value: value.clone(), arms };
    let selector = Expr::new(kind, Type::I32, span);
    choice_value(infer, ix, build, &all, selector, span)
}

/// Whether values are functions that do not have one type already.
fn are_different_functions(values: &[&Expr]) -> bool {
    let all = values.iter().all(|value| matches!(value.ty, Type::Template(..)));
    let first = values.first().map(|value| &value.ty);
    all && values.iter().any(|value| Some(&value.ty) != first)
}

fn choice_value(
    infer: &mut Infer,
    ix: &mut Index,
    build: &mut Build,
    values: &[&Expr],
    selector: Expr,
    span: Span,
) -> Option<Expr> {
    let mut ids = Vec::new();
    let mut captures = vec![vars::atomise(ix, build, selector)];
    for value in values {
        let Type::Template(id, _) = &value.ty else { return None };
        let ExprKind::Closure { func: None, captures: own } = &*plain(value).kind else {
            return None;
        };
        ids.push(*id);
        captures.extend(own.iter().cloned());
    }
    Some(infer.template_value(Template::Choice(ids), captures, span))
}

/// Functions of which one declares its types, all in its signature.
pub(super) fn functions_alike(cx: &mut Cx, a: Expr, b: Expr) -> (Expr, Expr) {
    let wanted = match (&a.ty, &b.ty) {
        (Type::Signature(of), Type::Template(..)) | (Type::Template(..), Type::Signature(of)) => {
            Some((**of).clone())
        }
        (Type::Template(x, _), Type::Template(y, _)) if a.ty != b.ty => {
            declared_signature(cx, *x).or_else(|| declared_signature(cx, *y))
        }
        _ => None,
    };
    let Some(Signature { params, ret }) = wanted else { return (a, b) };
    let mut take = |value: Expr| match value.ty {
        Type::Template(..) => {
            let (params, ret) = (params.clone(), ret.clone());
            vars::scoped(cx, |cx| template::signature::specialise_value(cx, value, params, ret))
        }
        _ => value,
    };
    (take(a), take(b))
}

/// The signature of a function that says all of it.
fn declared_signature(cx: &mut Cx, id: u32) -> Option<Signature> {
    let Some(Template::Fn(def)) = cx.infer.templates.get(id as usize).cloned() else { return None };
    let function = function::function(cx.hir, def)?;
    let plain = |ty: &crate::hir::Type| matches!(ty.kind, TypeKind::Scalar(_) | TypeKind::Str);
    let params: Option<Vec<Type>> = function
        .params
        .iter()
        .map(|param| {
            let ty = param.ty.as_deref().filter(|ty| plain(ty))?;
            Some(types::lower_type(cx, ty))
        })
        .collect();
    let ret = function.ret.as_ref().filter(|ty| plain(ty))?;
    let ret = types::lower_type(cx, ret);
    Some(Signature { params: params?, ret })
}

/// The arguments of a call of a choice: literals take what the parameters of the first function
/// that declares them ask for.
pub(super) fn choice_args(cx: &mut Cx, ids: &[u32], args: &[Arg]) -> Vec<Expr> {
    let declares =
        |id: &&u32| matches!(cx.infer.templates.get(**id as usize), Some(Template::Fn(_)));
    match ids.iter().find(declares).or(ids.first()) {
        Some(id) => {
            let id = *id;
            template::reranked_args(cx, id, args)
        }
        None => Vec::new(),
    }
}

/// A call of a choice on checked arguments.
pub(super) fn call_choice(
    cx: &mut Cx,
    id: u32,
    ids: &[u32],
    callee: Expr,
    args: Vec<Expr>,
    span: Span,
) -> Expr {
    template::call_captured(cx, callee, args, span, |cx, captures, types| {
        choice_instance(cx, id, ids, captures, types, span)
    })
}

/// The code of a choice for arguments of some types.
pub(super) fn choice_instance(
    cx: &mut Cx,
    id: u32,
    ids: &[u32],
    captures: Vec<Type>,
    types: Vec<Type>,
    span: Span,
) -> Option<usize> {
    let key = Key::new(Source::Adapter(id), &captures, &types);
    let name = Name { sym: Symbol::intern("choice"), span };
    function::instance(cx, key, name, Some((name.sym, span)), |cx, at| {
        let own: Vec<VarId> =
            captures.iter().map(|ty| function::made_up(&mut cx.ix, "captured", ty, span)).collect();
        let args: Vec<VarId> =
            types.iter().map(|ty| function::made_up(&mut cx.ix, "argument", ty, span)).collect();
        cx.infer.instances.items[at].captures = own.clone();
        cx.infer.instances.items[at].params = args.clone();
        chosen_call(cx, ids, &own, &args, span)
    })
}

/// The call of the alternative that a selector names.
fn chosen_call(cx: &mut Cx, ids: &[u32], own: &[VarId], args: &[VarId], span: Span) -> Expr {
    let Some((selector, captured)) = own.split_first() else { return Expr::error(span) };
    let mut rest = captured;
    let mut values = Vec::new();
    for id in ids {
        let count = cx.infer.captures_of(*id, rest);
        let (mine, others) = rest.split_at(count.min(rest.len()));
        rest = others;
        let captures: Vec<Expr> = mine.iter().map(|var| cx.ix.var_expr(*var, span)).collect();
        let types = captures.iter().map(|capture| capture.ty.clone()).collect();
        let kind = ExprKind::Closure { func: None, captures };
        let callee = Expr::new(kind, Type::Template(*id, types), span);
        let args = args.iter().map(|var| cx.ix.var_expr(*var, span)).collect();
        values.push(vars::scoped(cx, |cx| template::apply_template(cx, *id, callee, args, span)));
    }
    widen::widen_all(&mut cx.ix, &mut cx.build, &mut cx.report, &mut values);
    let what = "the functions chosen here";
    let ty = layouts::join_values(&mut cx.ix, &mut cx.report, &values, what);
    let (Some(ty), Some(mut chosen)) = (ty, values.pop()) else { return Expr::error(span) };
    for (at, value) in values.into_iter().enumerate().rev() {
        let selector = cx.ix.var_expr(*selector, span);
        let cond = Expr::new(
            ExprKind::Binary(BinaryOp::Eq, selector, Expr::int(at as i64, span)),
            Type::BOOL,
            span,
        );
        let kind = ExprKind::If { cond, then: value, otherwise: chosen };
        chosen = Expr::new(kind, ty.clone(), span);
    }
    chosen
}

impl Infer<'_> {
    /// How many values a function of a choice captured.
    fn captures_of(&self, id: u32, left: &[VarId]) -> usize {
        match self.templates.get(id as usize) {
            Some(Template::Closure(closure)) => match &self.hir.exprs[*closure].kind {
                crate::hir::ExprKind::Closure { captures, .. } => captures.len(),
                _ => 0,
            },
            Some(Template::Fn(def)) => {
                function::function(self.hir, *def).map_or(0, |function| function.captures.len())
            }
            Some(Template::Choice(ids)) => {
                let mut rest = left.get(1..).unwrap_or_default();
                let mut count = 1;
                for id in ids {
                    let own = self.captures_of(*id, rest).min(rest.len());
                    count += own;
                    rest = &rest[own..];
                }
                count
            }
            Some(Template::Rerank(inner, _)) => self.captures_of(*inner, left),
            Some(Template::Builtin(_)) | None => 0,
        }
    }
}

/// The value of blocks without statements.
fn plain(e: &Expr) -> &Expr {
    match &*e.kind {
        ExprKind::Block { stmts, value } if stmts.is_empty() => plain(value),
        _ => e,
    }
}
