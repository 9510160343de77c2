//! Functions that a condition chooses: `if flag { double } else { |x| x + 1 }`.
//!
//! Function values have no types of their own until they are called, so two of them need not agree.
//! Where each alternative is a function, a closure or a name of one, the value is a *choice*: the number
//! of the one that was chosen, and all of them. A call of it chooses among calls, each with the code that
//! these arguments ask for. Where an alternative is computed, all take the signature that one of them
//! declares. The items of an array, `[double, |x| x + 1]`, are choices in the same way.

use super::instance::{Key, Source};
use super::state::{Build, Index, Infer, Report};
use super::template::Template;
use super::{Cx, error, function, layouts, template, vars, widen};
use crate::hir::TypeKind;
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::tensor::{Expr, ExprKind, Signature, Type, VarId};
use ein_scalar::BinaryOp;

/// The branches of an `if` or the arms of a `match` as a choice between functions, if they are that: what
/// is chosen is their number. An error where no call of it could have a type.
pub(super) fn choose_function(
    infer: &mut Infer,
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    values: &[&Expr],
    selector: impl FnOnce(Vec<Expr>) -> ExprKind,
    span: Span,
) -> Option<Expr> {
    if !are_different_functions(values) {
        return None;
    }
    if !results_agree(infer, ix, report, values) {
        return Some(Expr::error(span));
    }
    let numbers = (0..values.len() as i64).map(|at| Expr::int(at, span)).collect();
    let selector = Expr::new(selector(numbers), Type::I32, span);
    choice_value(infer, ix, build, values, selector, span)
}

/// Whether the results that functions declare can be one type; reports two that cannot.
fn results_agree(infer: &Infer, ix: &Index, report: &mut Report, values: &[&Expr]) -> bool {
    let mut declared = values.iter().filter_map(|value| {
        let Type::Template(id, _) = value.ty else { return None };
        Some((*value, declared_result(infer, id)?))
    });
    let Some((first, ty)) = declared.next() else { return true };
    let Some((other, given)) = declared.find(|(_, it)| widen::wider_type(&ty, it).is_none()) else {
        return true;
    };
    let (p, q) = (ix.show(&ty), ix.show(&given));
    let message = format!("one of these functions gives `{p}`, but this one gives `{q}`");
    let d = error(Code::E0505, other.span, message)
        .here(format!("gives `{q}`"))
        .label(first.span, format!("gives `{p}`"))
        .help("choose between functions whose results are of one type");
    report.report_at(d);
    false
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
        let (Type::Template(id, _), value) = (&value.ty, plain(value)) else { return None };
        // All of them are computed, whichever is chosen: so nothing may happen there.
        if !matches!(&*value.kind, ExprKind::Closure { func: None, .. } | ExprKind::Var(_)) {
            return None;
        }
        ids.push(*id);
        captures.push(value.clone());
    }
    Some(infer.template_value(Template::Choice(ids), captures, span))
}

/// The functions of an array as values of one type: each is the choice of itself among all of them.
pub(super) fn choose_items(
    infer: &mut Infer,
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    items: Vec<Expr>,
) -> Option<Vec<Expr>> {
    let all: Vec<&Expr> = items.iter().collect();
    if !are_different_functions(&all) {
        return Some(items);
    }
    let mut counts = all.iter().filter_map(|item| Some((item, infer.takes(&item.ty)?)));
    if let Some((first, p)) = counts.next()
        && let Some((other, q)) = counts.find(|(_, count)| *count != p)
    {
        let message =
            format!("the functions of an array take as many arguments: {p}, but {q} here");
        let d = error(Code::E0501, other.span, message)
            .here(format!("takes {q}"))
            .label(first.span, format!("takes {p}"))
            .help("use a tuple for functions that are called in different ways: `(f, g)`");
        report.report_at(d);
        return None;
    }
    if !results_agree(infer, ix, report, &all) {
        return None;
    }
    // What calls give is computed before the array in any case.
    let items: Vec<Expr> = items
        .into_iter()
        .map(|item| match &*plain(&item).kind {
            ExprKind::Closure { func: None, .. } => item,
            _ => vars::atomise(ix, build, item),
        })
        .collect();
    let all: Vec<&Expr> = items.iter().collect();
    let mut itself = |(item, at): (&Expr, i64)| {
        choice_value(infer, ix, build, &all, Expr::int(at, item.span), item.span)
    };
    let chosen: Option<Vec<Expr>> = items.iter().zip(0..).map(&mut itself).collect();
    Some(chosen.unwrap_or(items))
}

/// Functions of which one declares its types, all in its signature.
pub(super) fn functions_alike(cx: &mut Cx, a: Expr, b: Expr) -> (Expr, Expr) {
    let wanted = match (&a.ty, &b.ty) {
        (Type::Signature(of), Type::Template(..)) | (Type::Template(..), Type::Signature(of)) => {
            Some((**of).clone())
        }
        (Type::Template(x, _), Type::Template(y, _)) if a.ty != b.ty => {
            declared_signature(&cx.infer, *x).or_else(|| declared_signature(&cx.infer, *y))
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
fn declared_signature(infer: &Infer, id: u32) -> Option<Signature> {
    let ret = declared_result(infer, id)?;
    let Some(Template::Fn(def)) = infer.templates.get(id as usize) else { return None };
    let function = function::function(infer.hir, *def)?;
    let params: Option<Vec<Type>> =
        function.params.iter().map(|param| plain_type(param.ty.as_deref()?)).collect();
    Some(Signature { params: params?, ret })
}

/// The result that a function declares, if it is one value.
fn declared_result(infer: &Infer, id: u32) -> Option<Type> {
    let Some(Template::Fn(def)) = infer.templates.get(id as usize) else { return None };
    plain_type(function::function(infer.hir, *def)?.ret.as_ref()?)
}

/// A type that is one value, and means the same everywhere.
fn plain_type(ty: &crate::hir::Type) -> Option<Type> {
    match ty.kind {
        TypeKind::Scalar(scalar) => Some(Type::Scalar(scalar)),
        TypeKind::Str => Some(Type::Str),
        _ => None,
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
    let Some((selector, functions)) = own.split_first() else { return Expr::error(span) };
    let mut values = Vec::new();
    for (id, function) in ids.iter().zip(functions) {
        let callee = cx.ix.var_expr(*function, span);
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

/// The value of blocks without statements.
fn plain(e: &Expr) -> &Expr {
    match &*e.kind {
        ExprKind::Block { stmts, value } if stmts.is_empty() => plain(value),
        _ => e,
    }
}
