//! Where a value meets a type that was asked for: agreement, and messages that say what would
//! make it fit.

use super::matching::Cell;
use super::state::{Build, Index, Report};
use super::symbolic::SizeRelation;
use super::{Cx, error, fields, layouts, lift, show, template};
use ein_base::{Code, Diagnostic, Span, Symbol};
use ein_ir::tensor::{ArrayType, Expr, ExprKind, Require, StmtKind, Type};
use std::sync::Arc;

/// Whether two types agree but for sizes and coordinates.
pub(super) fn same_kind(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Error, _) | (_, Type::Error) => true,
        (Type::Array(a), Type::Array(b)) => {
            a.axes.len() == b.axes.len() && same_kind(&a.elem, &b.elem)
        }
        (Type::Tuple(a), Type::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_kind(a, b))
        }
        (Type::Data(a, xs), Type::Data(b, ys)) => {
            a == b && xs.iter().zip(ys).all(|(a, b)| same_kind(a, b))
        }
        (Type::AnyRank(a), Type::AnyRank(b)) => same_kind(a, b),
        (Type::Jagged(a, m), Type::Jagged(b, n)) => m == n && same_kind(a, b),
        (Type::Signature(a), Type::Signature(b)) => {
            a.params.len() == b.params.len()
                && a.params.iter().zip(&b.params).all(|(p, q)| same_kind(p, q))
                && same_kind(&a.ret, &b.ret)
        }
        _ => a == b,
    }
}

/// Makes a value agree with a type that an annotation asks for; sizes must be equal, layouts
/// are the business of the caller. `what` says who asks.
pub(super) fn expect_type(cx: &mut Cx, value: Expr, ty: &Type, what: &str) -> Expr {
    if value.ty.is_broken() || ty.has_error() {
        return value;
    }
    let value = super::arms::complete(value, ty);
    let value = fields::widened(cx, value, ty);
    if let (Type::Template(..), Type::Signature(wanted)) = (&value.ty, ty) {
        return template::signature::specialise_value(
            cx,
            value,
            wanted.params.clone(),
            wanted.ret.clone(),
        );
    }
    if let (Type::Array(have), Type::Array(wanted)) = (&value.ty, ty)
        && let (Type::Template(..), elem @ Type::Signature(_)) = (&have.elem, &wanted.elem)
        && have.axes.len() == wanted.axes.len()
    {
        expect_sizes(&mut cx.ix, &mut cx.build, &mut cx.report, &value, ty, what);
        return each_item(cx, value, elem, what);
    }
    let converts = match (ty, &value.ty) {
        (Type::Jagged(..), Type::Array(_)) => true,
        (Type::AnyRank(elem), Type::Array(array)) => same_kind(elem, &array.elem),
        _ => false,
    };
    if converts {
        let span = value.span;
        let kind = ExprKind::Host(ein_ir::tensor::HostOp::Convert, vec![value]);
        return Expr::new(kind, ty.clone(), span);
    }
    if !same_kind(&value.ty, ty) {
        let d = mismatch(&cx.ix, &value, ty, what);
        return cx.report.fail(d);
    }
    if let Type::Signature(wanted) = ty {
        return template::signature::hold_signature(&cx.ix, &mut cx.report, value, wanted);
    }
    if matches!(ty, Type::Tuple(_) | Type::Data(..)) {
        return layouts::hold_record(cx, value, ty, what);
    }
    match expect_sizes(&mut cx.ix, &mut cx.build, &mut cx.report, &value, ty, what) {
        true => value,
        false => Expr::new(ExprKind::Error, ty.clone(), value.span),
    }
}

/// Each function of an array in the signature that is asked for.
pub(super) fn each_item(cx: &mut Cx, value: Expr, elem: &Type, what: &str) -> Expr {
    let span = value.span;
    let cells = [Cell { frame: (0..value.ty.rank()).collect(), cell: Vec::new() }];
    lift::lift(cx, Symbol::intern(what), vec![value], &cells, span, |cx, mut cells| {
        expect_type(cx, cells.remove(0), elem, what)
    })
}

/// The sizes of a value against those asked for; whether they may be equal.
pub(super) fn expect_sizes(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    value: &Expr,
    ty: &Type,
    what: &str,
) -> bool {
    let (Type::Array(have), Type::Array(want)) = (&value.ty, ty) else { return true };
    for (position, (have, want)) in have.axes.iter().zip(&want.axes).enumerate() {
        match ix.compare_sizes(&have.size, &want.size) {
            SizeRelation::Equal => {}
            SizeRelation::AtRunTime => {
                let what = format!("axis {position} of {}", ix.quote(value));
                require(ix, build, have.size.clone(), want.size.clone(), what, value.span);
            }
            SizeRelation::Different => {
                let axis = show::show_axis(want.coord.map(|coord| coord.name), position);
                let (have, want) = (ix.show_size(&have.size), ix.show_size(&want.size));
                let d = error(
                    Code::E0405,
                    value.span,
                    format!("{axis} has extent {have}, but {what} says {want}"),
                )
                .here(format!("this is `{}`", ix.show(&value.ty)))
                .help(format!("write `{want}` elements, or change the stated extent to `{have}`"));
                report.report_at(d);
                return false;
            }
        }
    }
    true
}

/// Compares two sizes at run time, and takes their equality for granted from here on.
pub(super) fn require(
    ix: &mut Index,
    build: &mut Build,
    left: ein_ir::size::Expr,
    right: ein_ir::size::Expr,
    what: String,
    span: Span,
) {
    ix.f.facts.eq(&left, &right);
    let require = Require { left, right, what, span };
    build.f.assumed.push(require.clone());
    build.emit(ein_ir::tensor::Stmt { kind: StmtKind::Require(Box::new(require)), span });
}

/// A value of another type than asked for.
pub(super) fn mismatch(ix: &Index, value: &Expr, ty: &Type, what: &str) -> Diagnostic {
    let (have, want) = (ix.show(&value.ty), ix.show(ty));
    let code = match (&value.ty, ty) {
        (Type::Array(a), Type::Array(b)) if same_kind(&a.elem, &b.elem) => Code::E0405,
        (Type::Array(a), b) if same_kind(&a.elem, b) => Code::E0405,
        (a, Type::Array(b)) if same_kind(a, &b.elem) => Code::E0405,
        _ => Code::E0501,
    };
    let message = match code {
        Code::E0405 => {
            format!("{what} has rank {}, but the value has rank {}", ty.rank(), value.ty.rank())
        }
        _ => format!("{what} is `{want}`, but the value is `{have}`"),
    };
    let mut d = error(code, value.span, message).here(format!("this is `{have}`"));
    if let (Some(a), Some(b)) = (value.ty.scalar(), ty.scalar())
        && a != b
        && value.ty.rank() == ty.rank()
        && super::is_numeric(a)
        && super::is_numeric(b)
    {
        let target = if ty.is_array() { want.clone() } else { b.name().to_string() };
        d = if super::widen::holds(a, b) {
            d.help(format!(
                "say `{}` in {what}; `… as {target}` would convert it, and lose what does not fit",
                a.name()
            ))
        } else {
            d.fix(format!("convert it: `… as {target}`"), value.span.end(), format!(" as {target}"))
        };
    } else {
        d = d.help(format!("give a value of type `{want}` here, or change {what}"));
    }
    d
}

/// The common type of two values that one expression may have, with sizes that differ left
/// open.
pub(super) fn join_types(ix: &mut Index, a: &Type, b: &Type) -> Option<Type> {
    match (a, b) {
        (Type::Error, other) | (other, Type::Error) => Some(other.clone()),
        (Type::Array(x), Type::Array(y)) if x.axes.len() == y.axes.len() => {
            let elem = join_types(ix, &x.elem, &y.elem)?;
            let mut axes = Vec::new();
            for (p, q) in x.axes.iter().zip(&y.axes) {
                let mut axis = p.clone();
                if axis.coord.is_none() {
                    axis.coord = q.coord;
                }
                if ix.compare_sizes(&p.size, &q.size) != SizeRelation::Equal {
                    axis.size = ix.unknown_size(true);
                }
                axes.push(axis);
            }
            Some(Type::Array(Arc::new(ArrayType { elem, axes })))
        }
        (Type::Tuple(x), Type::Tuple(y)) if x.len() == y.len() => {
            let items: Option<Vec<_>> =
                x.iter().zip(y).map(|(p, q)| join_types(ix, p, q)).collect();
            Some(Type::Tuple(items?.into()))
        }
        (Type::Data(m, x), Type::Data(n, y)) if m == n => {
            let args: Option<Vec<_>> = x.iter().zip(y).map(|(p, q)| join_types(ix, p, q)).collect();
            Some(Type::Data(*m, args?.into()))
        }
        _ => same_kind(a, b).then(|| a.clone()),
    }
}
