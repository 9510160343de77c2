//! Derivative requests: what may be asked for, and the shape of the answer.

use super::state::{Build, Index, Report};
use super::{Cx, coerce, error, expr, fields, layouts, pointwise, rule, vars};
use crate::hir::{Arg, ExprId, ExprKind as H};
use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::{Axis, Coord, Derivative, Expr, ExprKind, Type};
use ein_scalar::BinaryOp;

/// Whether an expression is `@x`.
pub(super) fn is_request(hir: &crate::hir::Program, id: ExprId) -> bool {
    matches!(hir.exprs[id].kind, H::At(_))
}

/// `@y / @x`
pub(super) fn derivative(cx: &mut Cx, target: ExprId, parameter: ExprId, span: Span) -> Expr {
    let (H::At(y), H::At(x)) = (&cx.hir.exprs[target].kind, &cx.hir.exprs[parameter].kind) else {
        if is_request(cx.hir, parameter) && cx.infer.f.rule.is_none() {
            let d = error(Code::E0701, span, "what is divided by `@x` is not `@y`")
                .here("a derivative is a quotient of two names with `@` before them")
                .label(cx.hir.exprs[target].span, "not of the form `@y`")
                .help("put factors before it, `2.0 * @y / @x`, or name it first");
            return cx.report.fail(d);
        }
        // `@x / 2.0` in a rule is arithmetic on a tangent.
        let (a, b) = (expr::expr(cx, target, None), expr::expr(cx, parameter, None));
        return quotient(&mut cx.ix, &mut cx.build, &mut cx.report, a, b, span);
    };
    if cx.infer.f.rule.is_some() {
        let (a, b) = (expr::expr(cx, target, None), expr::expr(cx, parameter, None));
        return quotient(&mut cx.ix, &mut cx.build, &mut cx.report, a, b, span);
    }
    let (y, x) = (*y, *x);
    let y = operand(cx, y);
    let x = operand(cx, x);
    request(cx, y, x, span)
}

fn quotient(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    a: Expr,
    b: Expr,
    span: Span,
) -> Expr {
    let Some(ty) = a.ty.scalar() else { return Expr::error(span) };
    pointwise::pointwise(ix, build, report, vec![a, b], span, |_, mut args| {
        let b = args.pop().unwrap_or_else(|| Expr::error(span));
        let a = args.pop().unwrap_or_else(|| Expr::error(span));
        Expr::new(ExprKind::Binary(BinaryOp::Div, a, b), Type::Scalar(ty), span)
    })
}

pub(super) fn request(cx: &mut Cx, y: Expr, x: Expr, span: Span) -> Expr {
    if y.ty.has_error() || x.ty.has_error() {
        return Expr::error(span);
    }
    let differs = y.ty.scalar().is_some_and(|ty| ty.is_float());
    if differs && fields::is_record(&cx.ix, &x.ty) {
        return fields::request_by_parts(cx, y, &x, span);
    }
    for (value, role) in [(&y, "has"), (&x, "is no variable to")] {
        if !value.ty.scalar().is_some_and(|ty| ty.is_float()) {
            let have = cx.ix.show(&value.ty);
            let name = cx.ix.quote(value);
            let message = match role {
                "has" => format!("{name} is `{have}`, which has no derivative"),
                _ => format!("{name} is `{have}`: nothing can be differentiated by it"),
            };
            let d = error(Code::E0702, value.span, message)
                .here("a constant")
                .help("derivatives are between floats: convert with `as f32` before computing");
            return cx.report.fail(d);
        }
    }
    let mut axes = y.ty.axes().to_vec();
    for axis in x.ty.axes() {
        let taken = axis.coord.is_some_and(|coord| {
            axes.iter().any(|a| a.coord.is_some_and(|c| c.name == coord.name))
        });
        let coord = axis.coord.map(|coord| {
            if !taken {
                return coord;
            }
            // The second one is a role over the same domain.
            let name = Symbol::intern(&format!("{}'", coord.name));
            Coord { name, over: Some(coord.root()), contract: coord.contract }
        });
        axes.push(Axis { coord, size: axis.size.clone() });
    }
    let ty = Type::array(y.ty.elem().clone(), axes);
    let request = Derivative::Quotient { target: y, parameter: x };
    Expr::new(ExprKind::Derivative(request), ty, span)
}

/// Products of derivatives have a direction of one type.
fn two_precisions(ix: &Index, report: &mut Report, y: &Expr, x: &Expr, span: Span) -> Expr {
    let d = error(
        Code::E0702,
        span,
        format!(
            "{} is `{}` and {} is `{}`: a product with a derivative needs one element type",
            ix.quote(y),
            ix.show(&y.ty),
            ix.quote(x),
            ix.show(&x.ty)
        ),
    )
    .here("different precisions")
    .help("compute both in one element type, or ask for the derivative itself: `@y / @x`");
    report.fail(d)
}

/// A named value, or an entry of one.
fn operand(cx: &mut Cx, id: ExprId) -> Expr {
    let hir = cx.hir;
    let node = &hir.exprs[id];
    let named = match &node.kind {
        H::Local(_) => true,
        H::Index { base, .. } | H::Field(base, _) | H::TupleField(base, ..) => {
            is_part_of_a_name(cx.hir, *base)
        }
        H::Error => return Expr::error(node.span),
        _ => false,
    };
    if named {
        let value = expr::expr(cx, id, None);
        let plain = match &*value.kind {
            ExprKind::Error => true,
            ExprKind::Index { base, .. } => is_part(base),
            _ => is_part(&value),
        };
        if plain {
            return cx.build.as_part(value);
        }
    }
    let d = error(Code::E0701, node.span, "only a named value can be differentiated")
        .here("this has no name")
        .help("name it first: `let y = …;`, then `@y / @x`");
    cx.report.fail(d)
}

/// Whether an expression is a name, or a field of one.
fn is_part_of_a_name(hir: &crate::hir::Program, id: ExprId) -> bool {
    match &hir.exprs[id].kind {
        H::Local(_) => true,
        H::Field(base, _) | H::TupleField(base, ..) => is_part_of_a_name(hir, *base),
        _ => false,
    }
}

/// `@x`: inside a rule the tangent of a parameter, elsewhere ones in the shape of `x`.
pub(super) fn tangent(cx: &mut Cx, inner: ExprId, span: Span) -> Expr {
    if let Some(tangent) = rule::flowing_tangent(cx, inner, span) {
        return tangent;
    }
    let value = operand(cx, inner);
    if value.ty.has_error() {
        return value;
    }
    match value.ty.scalar() {
        Some(ty) if ty.is_float() => {
            let one = ein_scalar::Scalar::one(ty);
            let one = Expr::new(ExprKind::Const(one), Type::Scalar(ty), span);
            if value.ty.is_array() {
                let Cx { ix, build, .. } = cx;
                pointwise::tabulate(ix, build, value.ty.axes().to_vec(), span, |_, _, _| one)
            } else {
                one
            }
        }
        _ => {
            let have = cx.ix.show(&value.ty);
            let d = error(Code::E0702, value.span, format!("`{have}` has no tangent"))
                .here("a constant")
                .help("tangents are of floats");
            cx.report.fail(d)
        }
    }
}

/// `jvp(y, x, dx)`, `vjp(y, x, dy)` and `hessian(loss, w)`
pub(super) fn derivative_product(
    cx: &mut Cx,
    builtin: crate::hir::Builtin,
    args: &[Arg],
    span: Span,
) -> Expr {
    use crate::hir::Builtin;
    let wanted = if builtin == Builtin::Hessian { 2 } else { 3 };
    if args.len() != wanted {
        let name = match builtin {
            Builtin::Hessian => "hessian",
            Builtin::Jvp => "jvp",
            _ => "vjp",
        };
        return cx.report.wrong_count(name, wanted, args.len(), span);
    }
    let y = operand(cx, args[0].value);
    let x = operand(cx, args[1].value);
    if !y.ty.has_error() && !x.ty.has_error() && y.ty.scalar() != x.ty.scalar() {
        return two_precisions(&cx.ix, &mut cx.report, &y, &x, span);
    }
    let jacobian = request(cx, y.clone(), x.clone(), span);
    if jacobian.ty.has_error() {
        return jacobian;
    }
    if builtin == Builtin::Hessian {
        let var = vars::bind(&mut cx.ix, &mut cx.build, Symbol::intern("gradient"), jacobian);
        let gradient = cx.ix.var_expr(var, span);
        let value = request(cx, gradient, x, span);
        // It has a name by its word: `print` shows the numbers, not the text of the request.
        let ty = value.ty.clone();
        return Expr::new(ExprKind::Block { stmts: Vec::new(), value }, ty, span);
    }
    let direction = expr::expr(cx, args[2].value, Some(y.ty.elem()));
    let (kept, contracted) = match builtin {
        Builtin::Jvp => (y, x),
        _ => (x, y),
    };
    let direction = coerce::expect_type(cx, direction, &contracted.ty, "the direction");
    let what = format!("{} and its direction", cx.ix.quote(&contracted));
    let fits = !direction.ty.has_error()
        && layouts::agree_in_layout(&cx.ix, &mut cx.report, &contracted, &direction, &what);
    if !fits {
        return Expr::error(span);
    }
    let forward = builtin == Builtin::Jvp;
    let (target, parameter) = if forward { (kept, contracted) } else { (contracted, kept) };
    let ty = if forward { target.ty.clone() } else { parameter.ty.clone() };
    let product = Derivative::Product { target, parameter, direction, forward };
    Expr::new(ExprKind::Derivative(product), ty, span)
}

/// Whether a value is a variable, or a field of one.
fn is_part(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Var(_) => true,
        ExprKind::FieldGet(base, _) | ExprKind::TupleGet(base, _) => is_part(base),
        _ => false,
    }
}
