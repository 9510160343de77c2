//! Casts, of scalars and of shapes.

use crate::check::state::{Build, Index, Report};
use crate::check::{Cx, annotation, coerce, error, literal, pointwise, types};
use crate::hir::{self, ExprId};
use ein_base::{Code, Span};
use ein_ir::tensor::{Expr, ExprKind, Type};

/// `e as T`
pub(super) fn cast(cx: &mut Cx, inner: ExprId, ty: &hir::Type, span: Span) -> Expr {
    let target = types::lower_type(cx, ty);
    let elem = target.scalar().map(Type::Scalar);
    // A float literal is read at the target's precision, and so is an integer one.
    let want = match (literal::literal_class(cx.hir, inner), &elem) {
        (Some(crate::check::literal::Class::Float), Some(Type::Scalar(s))) if s.is_float() => {
            elem.as_ref()
        }
        _ => None,
    };
    let value = super::expr(cx, inner, want);
    if value.ty.has_error() || target.has_error() {
        return Expr::new(ExprKind::Error, target, span);
    }
    match (&value.ty, &target) {
        (Type::Scalar(_), Type::Scalar(_)) => Expr::new(ExprKind::Cast(value), target, span),
        (Type::Array(from), Type::Array(to)) => {
            let fits = match from.elem.scalar().is_some() && to.elem.scalar().is_some() {
                true => from.axes.len() == to.axes.len(),
                false => coerce::same_kind(&from.elem, &to.elem),
            };
            if !fits {
                return bad_cast(&cx.ix, &mut cx.report, &value, &target, span);
            }
            cast_array(&mut cx.ix, &mut cx.build, &mut cx.report, value, target, span)
        }
        (Type::Array(from), Type::Scalar(to)) if from.elem.scalar().is_some() => {
            let to = *to;
            let Cx { ix, build, report, .. } = cx;
            pointwise::pointwise(ix, build, report, vec![value], span, |_, mut args| {
                Expr::new(ExprKind::Cast(args.remove(0)), Type::Scalar(to), span)
            })
        }
        (Type::AnyRank(from), Type::Array(_) | Type::Scalar(_))
            if from.scalar().is_some() && target.scalar().is_some() =>
        {
            assert_shape(&cx.ix, value, target, span)
        }
        (from, to) if coerce::same_kind(from, to) => value,
        _ => bad_cast(&cx.ix, &mut cx.report, &value, &target, span),
    }
}

pub(super) fn bad_cast(
    ix: &Index,
    report: &mut Report,
    value: &Expr,
    target: &Type,
    span: Span,
) -> Expr {
    let (have, want) = (ix.show(&value.ty), ix.show(target));
    let (message, here, help) = match (&value.ty, target) {
        (Type::Array(_), Type::Array(_)) if value.ty.scalar().and(target.scalar()).is_some() => (
            format!("a value of shape `{have}` cannot be cast to `{want}`: the ranks differ"),
            "another rank",
            "`as` on an array converts elements and asserts the shape; it does not reshape".into(),
        ),
        (from, _) => {
            let help = match from {
                Type::Tuple(_) => format!("convert a component: `….0 as {want}`"),
                _ => "`as` converts between numbers, and between arrays of numbers".into(),
            };
            (format!("`{have}` cannot be converted to `{want}`"), "no such conversion", help)
        }
    };
    let d = error(Code::E0507, span, message)
        .here(here)
        .label(value.span, format!("this is `{have}`"))
        .help(help);
    report.report_at(d);
    Expr::new(ExprKind::Error, target.clone(), span)
}

/// An array with other elements and a shape that is known or asserted.
pub(super) fn cast_array(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    value: Expr,
    target: Type,
    span: Span,
) -> Expr {
    let declared: Vec<_> =
        target.axes().iter().map(|axis| axis.coord.map(|coord| coord.name)).collect();
    if !annotation::check_names(ix, report, &value, &declared, "the cast", span) {
        return Expr::new(ExprKind::Error, target, span);
    }
    let mut axes = Vec::new();
    let mut assertion = false;
    let mut stated = Vec::new();
    for (position, (from, to)) in value.ty.axes().iter().zip(target.axes()).enumerate() {
        let mut axis = to.clone();
        if ix.unsettled(&to.size).is_some() {
            axis.size = from.size.clone();
            stated.push(None);
        } else {
            let relation = match ix.compare_sizes(&from.size, &to.size) {
                // A cast asserts what cannot be known here; only what is known to be wrong is.
                crate::check::symbolic::SizeRelation::Different
                    if from.size.add(&to.size.scale(-1)).as_constant().is_none() =>
                {
                    crate::check::symbolic::SizeRelation::AtRunTime
                }
                relation => relation,
            };
            match relation {
                crate::check::symbolic::SizeRelation::Equal => stated.push(None),
                crate::check::symbolic::SizeRelation::AtRunTime => {
                    assertion = true;
                    stated.push(Some(to.size.clone()));
                }
                crate::check::symbolic::SizeRelation::Different => {
                    let (have, want) = (ix.show(&value.ty), ix.show(&target));
                    let d = error(
                        Code::E0405,
                        span,
                        format!(
                            "axis {position} has extent {}, but the cast says {}",
                            ix.show_size(&from.size),
                            ix.show_size(&to.size)
                        ),
                    )
                    .here(format!("`{have}` is not `{want}`"))
                    .help("`as` asserts the shape; it does not reshape");
                    report.report_at(d);
                    return Expr::new(ExprKind::Error, target.clone(), span);
                }
            }
        }
        if axis.coord.is_none() {
            axis.coord = from.coord;
        }
        axes.push(axis);
    }
    let from = value.ty.elem().clone();
    let to = target.elem().clone();
    let value = if assertion {
        let ty = Type::array(from.clone(), axes.clone());
        let what = ix.quote(&value);
        Expr::new(ExprKind::Assert { value, extents: stated, what }, ty, span)
    } else {
        let mut value = value;
        value.ty = Type::array(from.clone(), axes.clone());
        value
    };
    if from == to {
        return value;
    }
    pointwise::pointwise(ix, build, report, vec![value], span, |_, mut args| {
        Expr::new(ExprKind::Cast(args.remove(0)), to, span)
    })
}

/// A value of unknown rank as an array of known rank, or as a number.
pub(in crate::check) fn assert_shape(ix: &Index, value: Expr, target: Type, span: Span) -> Expr {
    let extents = target
        .axes()
        .iter()
        .map(|axis| ix.unsettled(&axis.size).is_none().then(|| axis.size.clone()))
        .collect();
    let what = ix.quote(&value);
    Expr::new(ExprKind::Assert { value, extents, what }, target, span)
}
