//! Widening: within a kind, a value is converted where it meets a type that holds all its values.
//!
//! `i32` with `i64`, `u8` with `i32`, `f16` and `bf16` with `f32`, `f32` with `f64`: in operators,
//! comparisons, arguments, clauses, branches, results and array literals. Nothing else is converted
//! unasked. Every widening is noted for `einlang check --widenings`.

use super::facts::Widening;
use super::state::{Build, Index, Report};
use super::{Cx, call, coerce, is_numeric, paths, pointwise, vars};
use crate::hir::{LocalId, Param, TypeKind};
use ein_base::{Diagnostic, Span};
use ein_ir::tensor::{Expr, ExprKind, Type};
use ein_scalar::ScalarType as S;
use rustc_hash::FxHashMap;

/// Whether every value of `narrow` is one of `wide`, a different type of the same kind.
pub(super) fn holds(wide: S, narrow: S) -> bool {
    if wide == narrow {
        return false;
    }
    if let (Some((lo, hi)), Some((low, high))) = (wide.int_range(), narrow.int_range()) {
        return wide.is_int() && narrow.is_int() && lo <= low && high <= hi;
    }
    matches!((wide, narrow), (S::F32 | S::F64, S::F16 | S::BF16) | (S::F64, S::F32))
}

/// The one of two types that holds the values of both, if one does.
pub(super) fn wider(a: S, b: S) -> Option<S> {
    if a == b || holds(a, b) { Some(a) } else { holds(b, a).then_some(b) }
}

/// The narrowest type that holds the values of two that do not hold each other's.
fn above(a: S, b: S) -> Option<S> {
    [S::I16, S::I32, S::I64, S::F32, S::F64].into_iter().find(|ty| holds(*ty, a) && holds(*ty, b))
}

/// The type that values of two types have in common, one of them widened if need be; with the
/// layout of the first.
pub(super) fn wider_type(a: &Type, b: &Type) -> Option<Type> {
    match (a, b) {
        (Type::Error, other) | (other, Type::Error) => Some(other.clone()),
        (Type::Scalar(a), Type::Scalar(b)) => wider(*a, *b).map(Type::Scalar),
        (Type::Array(x), Type::Array(y)) if x.axes.len() == y.axes.len() => {
            let elem = wider_type(&x.elem, &y.elem)?;
            Some(Type::array(elem, x.axes.clone()))
        }
        (Type::Tuple(x), Type::Tuple(y)) if x.len() == y.len() => {
            let items: Option<Vec<_>> = x.iter().zip(y).map(|(p, q)| wider_type(p, q)).collect();
            Some(Type::Tuple(items?.into()))
        }
        (Type::Data(m, x), Type::Data(n, y)) if m == n => {
            let args: Option<Vec<_>> = x.iter().zip(y).map(|(p, q)| wider_type(p, q)).collect();
            Some(Type::Data(*m, args?.into()))
        }
        _ => coerce::same_kind(a, b).then(|| a.clone()),
    }
}

/// Widens the numbers in a value where a type asks for wider ones; any other difference stays.
pub(super) fn widen_to(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    value: Expr,
    ty: &Type,
) -> Expr {
    if value.ty.is_broken() || !is_wider(ty, &value.ty) {
        return value;
    }
    match (&value.ty, ty) {
        (Type::Tuple(_), Type::Tuple(wanted)) => widen_tuple(ix, build, report, value, wanted),
        _ => match if let Type::AnyRank(elem) = ty { elem.scalar() } else { ty.scalar() } {
            Some(to) => widen(ix, build, report, value, to),
            None => value,
        },
    }
}

/// Whether a value of one type becomes one of another by widening, and not without.
pub(super) fn is_wider(wide: &Type, narrow: &Type) -> bool {
    match (wide, narrow) {
        (Type::Scalar(wide), Type::Scalar(narrow)) => holds(*wide, *narrow),
        (Type::Array(wide), Type::Array(narrow)) => {
            wide.axes.len() == narrow.axes.len() && is_wider(&wide.elem, &narrow.elem)
        }
        (Type::AnyRank(wide), Type::Array(narrow)) => is_wider(wide, &narrow.elem),
        (Type::Tuple(wide), Type::Tuple(narrow)) if wide.len() == narrow.len() => {
            let mut any = false;
            let fits = wide.iter().zip(narrow).all(|(wide, narrow)| {
                let wider = is_wider(wide, narrow);
                any |= wider;
                wider || coerce::same_kind(wide, narrow)
            });
            fits && any
        }
        _ => false,
    }
}

fn widen_tuple(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    value: Expr,
    wanted: &[Type],
) -> Expr {
    let span = value.span;
    let items: Vec<Expr> = match *value.kind {
        ExprKind::Tuple(items) => items,
        kind => {
            let value = vars::atomise(ix, build, Expr::new(kind, value.ty, span));
            let parts = value.ty.clone();
            let Type::Tuple(parts) = &parts else { return value };
            let part = |(at, ty): (usize, &Type)| {
                Expr::new(ExprKind::TupleGet(value.clone(), at), ty.clone(), span)
            };
            parts.iter().enumerate().map(part).collect()
        }
    };
    let items: Vec<Expr> = items
        .into_iter()
        .zip(wanted)
        .map(|(item, ty)| widen_to(ix, build, report, item, ty))
        .collect();
    let ty = Type::Tuple(items.iter().map(|item| item.ty.clone()).collect());
    Expr::new(ExprKind::Tuple(items), ty, span)
}

/// Widens a number, or every element of an array.
pub(super) fn widen(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    value: Expr,
    to: S,
) -> Expr {
    let Some(from) = value.ty.scalar() else { return value };
    if from == to {
        return value;
    }
    note_widening(ix, build, report, &value, to);
    widen_inside(ix, build, report, value, to)
}

/// The conversion stands inside the scope of the value: what a branch computes is computed there.
fn widen_inside(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    value: Expr,
    to: S,
) -> Expr {
    let (span, ty) = (value.span, value.ty.clone());
    if !ty.is_array() {
        return cast(value, to);
    }
    let mut scoped = |value| {
        let scope = vars::open_scope(ix, build);
        let value = widen_inside(ix, build, report, value, to);
        vars::close_scope(ix, build, scope, value)
    };
    match *value.kind {
        ExprKind::Block { stmts, value } => {
            let value = scoped(value);
            let ty = value.ty.clone();
            Expr::new(ExprKind::Block { stmts, value }, ty, span)
        }
        ExprKind::If { cond, then, otherwise } => {
            let (then, otherwise) = (scoped(then), scoped(otherwise));
            let ty = Type::array(Type::Scalar(to), ty.axes().to_vec());
            Expr::new(ExprKind::If { cond, then, otherwise }, ty, span)
        }
        ExprKind::Array(items) if ty.rank() == 1 => {
            let items = items.into_iter().map(|item| cast(item, to)).collect();
            let ty = Type::array(Type::Scalar(to), ty.axes().to_vec());
            Expr::new(ExprKind::Array(items), ty, span)
        }
        kind => pointwise::pointwise(
            ix,
            build,
            report,
            vec![Expr::new(kind, ty, span)],
            span,
            |_, mut args| cast(args.remove(0), to),
        ),
    }
}

/// Two operands as numbers of one type, if one of the types holds the values of the other: the
/// type, to which the cells of both are to be converted.
pub(super) fn meet(
    ix: &Index,
    build: &Build,
    report: &mut Report,
    x: &Expr,
    y: &Expr,
) -> Option<S> {
    let to = wider(x.ty.scalar()?, y.ty.scalar()?)?;
    for value in [x, y] {
        if value.ty.scalar() != Some(to) {
            note_widening(ix, build, report, value, to);
        }
    }
    Some(to)
}

/// Values that stand for each other, in one type as far as widening makes them so.
pub(super) fn widen_all(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    values: &mut [Expr],
) {
    let Some((first, others)) = values.split_first() else { return };
    let mut ty = first.ty.clone();
    for other in others {
        // What does not fit is told by whoever compares them.
        let Some(wide) = wider_type(&ty, &other.ty) else { return };
        ty = wide;
    }
    for value in values {
        let taken = std::mem::replace(value, Expr::error(value.span));
        *value = scoped_widening(ix, build, report, taken, &ty);
    }
}

/// As `widen_to`, with everything that it takes inside the value.
pub(super) fn scoped_widening(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    value: Expr,
    ty: &Type,
) -> Expr {
    if !is_wider(ty, &value.ty) {
        return value;
    }
    let scope = vars::open_scope(ix, build);
    let value = widen_to(ix, build, report, value, ty);
    vars::close_scope(ix, build, scope, value)
}

/// Arguments in the types that parameters ask for. A type parameter is the widest of what is
/// passed for it.
pub(super) fn widen_args(cx: &mut Cx, params: &[Param], args: Vec<Expr>) -> Vec<Expr> {
    let mut generic: FxHashMap<LocalId, Option<S>> = FxHashMap::default();
    for (param, arg) in params.iter().zip(&args) {
        if let (Some(local), Some(have)) = (generic_of(param), arg.ty.scalar()) {
            let entry = generic.entry(local).or_insert(Some(have));
            *entry = entry.and_then(|known| wider(known, have));
        }
    }
    let mut widened = Vec::with_capacity(args.len());
    let mut params = params.iter();
    for arg in args {
        let param = params.next();
        let to = param.and_then(generic_of).and_then(|local| *generic.get(&local)?);
        let stated = param.and_then(|param| param.ty.as_deref()).map(|ty| &ty.kind);
        widened.push(match (to, stated) {
            (Some(to), _) => widen(&mut cx.ix, &mut cx.build, &mut cx.report, arg, to),
            (None, Some(TypeKind::Scalar(to))) => {
                widen_elements(&mut cx.ix, &mut cx.build, &mut cx.report, arg, *to)
            }
            (None, Some(TypeKind::Array { elem, .. })) => match &elem.kind {
                TypeKind::Scalar(to) => {
                    widen_elements(&mut cx.ix, &mut cx.build, &mut cx.report, arg, *to)
                }
                _ => arg,
            },
            (None, Some(TypeKind::Tuple(_) | TypeKind::AnyRank(_))) => {
                let stated = param.and_then(|param| param.ty.as_deref());
                match stated.and_then(|ty| call::args::wanted_by(cx, ty)) {
                    Some(ty) => widen_to(&mut cx.ix, &mut cx.build, &mut cx.report, arg, &ty),
                    None => arg,
                }
            }
            (None, _) => arg,
        });
    }
    widened
}

/// Widens the elements of an argument of any rank, if the type holds them.
fn widen_elements(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    arg: Expr,
    to: S,
) -> Expr {
    match arg.ty.scalar() {
        Some(from) if holds(to, from) => widen(ix, build, report, arg, to),
        _ => arg,
    }
}

fn note_widening(ix: &Index, build: &Build, report: &mut Report, value: &Expr, to: S) {
    let Some(from) = value.ty.scalar() else { return };
    // A literal has no type of its own to be widened.
    if matches!(&*value.kind, ExprKind::Const(_)) {
        return;
    }
    let operand = paths::text::show_expr(ix, build, value);
    report.widenings.push(Widening { span: value.span, operand, from, to });
}

/// Says how two numbers, of which neither type holds the other, are made of one type.
pub(super) fn neither_help(d: Diagnostic, s: S, t: S) -> Diagnostic {
    match above(s, t) {
        Some(both) => {
            let name = both.name();
            d.help(format!("`{name}` holds the values of both: convert them, `… as {name}`"))
        }
        None => d.help(format!(
            "no type holds all values of `{}` and of `{}`: convert the one whose values fit in \
                 the other type",
            s.name(),
            t.name()
        )),
    }
}

/// A number in a wider type.
pub(super) fn cast(value: Expr, to: S) -> Expr {
    let span: Span = value.span;
    if value.ty == Type::Scalar(to) {
        return value;
    }
    if let ExprKind::Const(known) = &*value.kind
        && is_numeric(known.ty())
    {
        let known = ein_scalar::cast(*known, to);
        return Expr::new(ExprKind::Const(known), Type::Scalar(to), span);
    }
    Expr::new(ExprKind::Cast(value), Type::Scalar(to), span)
}

/// The type parameter that the elements of a parameter are of.
fn generic_of(param: &Param) -> Option<LocalId> {
    let mut ty = param.ty.as_deref()?;
    loop {
        match &ty.kind {
            TypeKind::Param(local) => return Some(*local),
            TypeKind::Array { elem, .. } => ty = elem,
            _ => return None,
        }
    }
}
