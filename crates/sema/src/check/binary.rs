//! Infix operators.

use super::arms::complete;
use super::consts::fold;
use super::literal::Class;
use super::state::{Build, Index, Report};
use super::{
    Cx, coerce, derivative, error, expr, fields, layouts, literal, pointwise, vars, widen,
};
use crate::hir::{BinaryOp as B, ExprId, ExprKind as H};
use ein_base::{Code, Diagnostic, Span};
use ein_ir::tensor::{Expr, ExprKind, HostOp, Type};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

pub(super) fn binary(
    cx: &mut Cx,
    op: B,
    a: ExprId,
    b: ExprId,
    want: Option<&Type>,
    span: Span,
) -> Expr {
    match op {
        B::And | B::Or => logical(cx, op, a, b, span),
        B::In => membership(cx, a, b, span),
        B::Div if derivative::is_request(cx.hir, a) || derivative::is_request(cx.hir, b) => {
            derivative::derivative(cx, a, b, span)
        }
        B::Eq | B::Ne | B::Lt | B::Gt | B::Le | B::Ge => {
            let (x, y) = operands(cx, op, a, b, None);
            let (x, y) = cx.report.completed(x, y);
            comparison(&mut cx.ix, &mut cx.build, &mut cx.report, op, x, y, span)
        }
        B::Pow => power(cx, a, b, want, span),
        B::Add | B::Sub | B::Mul | B::Div | B::Rem => {
            let (x, y) = operands(cx, op, a, b, want);
            if fields::is_record(&cx.ix, &x.ty) || fields::is_record(&cx.ix, &y.ty) {
                return fields::fieldwise(cx, op, (x, a), (y, b), span);
            }
            arithmetic(&mut cx.ix, &mut cx.build, &mut cx.report, op, x, y, span)
        }
    }
}

/// Both operands, literals and `[]` taking the type of the other side.
fn operands(cx: &mut Cx, op: B, a: ExprId, b: ExprId, want: Option<&Type>) -> (Expr, Expr) {
    match (cx.infer.is_nothing(a), cx.infer.is_nothing(b)) {
        (true, false) => {
            let y = expr::expr(cx, b, want);
            let like = Some(&y.ty).filter(|ty| ty.is_array());
            return (expr::expr(cx, a, like), y);
        }
        (false, true) => {
            let x = expr::expr(cx, a, want);
            let like = Some(&x.ty).filter(|ty| ty.is_array());
            let y = expr::expr(cx, b, like);
            return (x, y);
        }
        (true, true) | (false, false) => {}
    }
    match (literal::literal_class(cx.hir, a), literal::literal_class(cx.hir, b)) {
        (Some(x), Some(y)) => {
            let ty = Type::Scalar(literal::literal_type(x.max(y), want));
            (expr::expr(cx, a, Some(&ty)), expr::expr(cx, b, Some(&ty)))
        }
        (Some(class), None) => {
            let y = expr::expr(cx, b, want);
            let x = literal_beside(cx, op, a, class, &y);
            (x, y)
        }
        (None, Some(class)) => {
            let x = expr::expr(cx, a, want);
            let y = literal_beside(cx, op, b, class, &x);
            (x, y)
        }
        (None, None) => (expr::expr(cx, a, want), expr::expr(cx, b, want)),
    }
}

impl Report {
    /// Two values of one type, where each may say what the other leaves open.
    fn completed(&mut self, x: Expr, y: Expr) -> (Expr, Expr) {
        if !coerce::same_kind(&x.ty, &y.ty) {
            return (x, y);
        }
        let x = if y.ty.has_error() { x } else { complete(x, &y.ty) };
        let y = if x.ty.has_error() { y } else { complete(y, &x.ty) };
        let is_open = |e: &Expr| e.ty.has_error() && matches!(&*e.kind, ExprKind::Make { .. });
        if is_open(&x) && is_open(&y) {
            let message = "the type of the values that are compared here cannot be inferred";
            let d = error(Code::E0516, x.span.to(y.span), message)
                .here("nothing says what these variants hold")
                .help("bind one with its type first: `let none: Option<i32> = Option::None;`");
            return (self.fail(d), y);
        }
        (x, y)
    }
}

/// A literal beside an operand of known type.
fn literal_beside(cx: &mut Cx, op: B, id: ExprId, class: Class, other: &Expr) -> Expr {
    match other.ty.scalar() {
        Some(ty) if ty.is_int() && class == Class::Int => {
            expr::expr(cx, id, Some(&Type::Scalar(ty)))
        }
        Some(ty) if ty.is_float() && class == Class::Float => {
            expr::expr(cx, id, Some(&Type::Scalar(ty)))
        }
        Some(ty) if ty.is_float() && class == Class::Int => {
            let value = expr::expr(cx, id, None);
            int_beside_float(&cx.ix, &mut cx.report, op, value, other)
        }
        _ => expr::expr(cx, id, None),
    }
}

/// `2 * x` with a float `x`.
fn int_beside_float(ix: &Index, report: &mut Report, op: B, value: Expr, other: &Expr) -> Expr {
    if value.ty.has_error() {
        return value;
    }
    let float = ix.show(other.ty.elem());
    let d = error(
        Code::E0503,
        value.span,
        format!("`{}` of an integer and `{float}`: there is no implicit conversion", op.as_str()),
    )
    .here("an integer literal")
    .label(other.span, format!("this is `{}`", ix.show(&other.ty)));
    let plain = match &*value.kind {
        ExprKind::Unary(UnaryOp::Neg, inner) => matches!(&*inner.kind, ExprKind::Const(_)),
        kind => matches!(kind, ExprKind::Const(_)),
    };
    let d = match fold(&value) {
        Some(number) if plain => {
            let text = format!("write it as a float: `{number}.0` instead of `{number}`");
            d.fix(text, value.span.end(), ".0")
        }
        _ => d.help("write its numbers as floats: `2.0` instead of `2`"),
    };
    report.fail(d)
}

pub(super) fn arithmetic(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    op: B,
    x: Expr,
    y: Expr,
    span: Span,
) -> Expr {
    if x.ty.has_error() || y.ty.has_error() {
        return Expr::error(span);
    }
    match (op, &x.ty, &y.ty) {
        (B::Add, Type::Str, Type::Str) => {
            return Expr::new(ExprKind::Host(HostOp::Concat, vec![x, y]), Type::Str, span);
        }
        (B::Mul, Type::Str, Type::Scalar(ty)) if ty.is_int() => {
            return Expr::new(ExprKind::Host(HostOp::Repeat, vec![x, y]), Type::Str, span);
        }
        _ => {}
    }
    let scalar_op = match op {
        B::Add => BinaryOp::Add,
        B::Sub => BinaryOp::Sub,
        B::Mul => BinaryOp::Mul,
        B::Div => BinaryOp::Div,
        _ => BinaryOp::Rem,
    };
    match (x.ty.scalar(), y.ty.scalar()) {
        (Some(s), Some(t)) if super::is_numeric(s) && super::is_numeric(t) => {
            let Some(to) = widen::meet(ix, build, report, &x, &y) else {
                let d = different_numbers(ix, op, &x, &y);
                return report.fail(d);
            };
            pointwise::pointwise(ix, build, report, vec![x, y], span, |ix, args| {
                let args = args.into_iter().map(|arg| super::widen::cast(arg, to)).collect();
                fold_scalars(ix, scalar_op, args, to, span)
            })
        }
        _ => no_operator(ix, report, op, &x, &y, span),
    }
}

/// A scalar operation, computed now if sizes decide it.
fn fold_scalars(ix: &Index, op: BinaryOp, mut args: Vec<Expr>, ty: ScalarType, span: Span) -> Expr {
    let b = args.pop().unwrap_or_else(|| Expr::error(span));
    let a = args.pop().unwrap_or_else(|| Expr::error(span));
    if let (ExprKind::Size(_), _) | (_, ExprKind::Size(_)) = (&*a.kind, &*b.kind)
        && ty == ScalarType::I32
    {
        let value = Expr::new(ExprKind::Binary(op, a, b), Type::Scalar(ty), span);
        if let Some(size) = ix.as_one_size(&value) {
            return Expr::size(size, span);
        }
        return value;
    }
    Expr::new(ExprKind::Binary(op, a, b), Type::Scalar(ty), span)
}

/// Numbers of two types.
fn different_numbers(ix: &Index, op: B, x: &Expr, y: &Expr) -> Diagnostic {
    let (a, b) = (ix.show(x.ty.elem()), ix.show(y.ty.elem()));
    let d = error(
        Code::E0503,
        x.span.to(y.span),
        format!("`{}` of `{a}` and `{b}`: there is no implicit conversion", op.as_str()),
    )
    .here("two types of number")
    .label(x.span, format!("this is `{a}`"))
    .label(y.span, format!("this is `{b}`"));
    numeric_help(ix, d, x, y)
}

/// Says which of two numbers to convert.
pub(super) fn numeric_help(ix: &Index, d: Diagnostic, x: &Expr, y: &Expr) -> Diagnostic {
    let (Some(s), Some(t)) = (x.ty.scalar(), y.ty.scalar()) else { return d };
    if s == t || !super::is_numeric(s) || !super::is_numeric(t) {
        return d;
    }
    if s.is_float() == t.is_float() {
        return widen::neither_help(d, s, t);
    }
    // Toward floats.
    let (value, target) = if t.is_float() { (x, t) } else { (y, s) };
    let read = if matches!(&*value.kind, ExprKind::Index { .. }) { "[…]" } else { "" };
    let name = ix.show_name(value).map_or("…".to_string(), |name| format!("{name}{read}"));
    let text = format!("convert one of them: `{name} as {}`", target.name());
    d.fix(text, value.span.end(), format!(" as {}", target.name()))
}

pub(super) fn no_operator(
    ix: &Index,
    report: &mut Report,
    op: B,
    x: &Expr,
    y: &Expr,
    span: Span,
) -> Expr {
    let (a, b) = (ix.show(&x.ty), ix.show(&y.ty));
    let d =
        error(Code::E0502, span, format!("`{}` is not defined for `{a}` and `{b}`", op.as_str()))
            .here("no such operator")
            .label(x.span, format!("this is `{a}`"))
            .label(y.span, format!("this is `{b}`"));
    let d = match op {
        B::Add if x.ty == Type::Str || y.ty == Type::Str => {
            d.help("insert the value into the string: `\"…{value}…\"`")
        }
        _ => d.help("arithmetic takes numbers of one type, or arrays of them"),
    };
    report.fail(d)
}

fn power(cx: &mut Cx, a: ExprId, b: ExprId, want: Option<&Type>, span: Span) -> Expr {
    let (class_a, class_b) = (literal::literal_class(cx.hir, a), literal::literal_class(cx.hir, b));
    let x = match (class_a, class_b) {
        (Some(p), Some(q)) => {
            // `2 ** 10` stays an integer, `2.0 ** -1` keeps its integer exponent.
            let class = if q == Class::Float { p.max(q) } else { p };
            let ty = Type::Scalar(literal::literal_type(class, want));
            expr::expr(cx, a, Some(&ty))
        }
        _ => expr::expr(cx, a, want),
    };
    let y = match class_b {
        Some(Class::Float) => expr::expr(cx, b, Some(x.ty.elem())),
        Some(Class::Int) => match x.ty.scalar() {
            Some(ty) if ty.is_int() => expr::expr(cx, b, Some(&Type::Scalar(ty))),
            _ => expr::expr(cx, b, None),
        },
        None => expr::expr(cx, b, None),
    };
    powers(&mut cx.ix, &mut cx.build, &mut cx.report, x, y, span)
}

/// `x ** y` of numbers and arrays of them.
pub(super) fn powers(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    x: Expr,
    y: Expr,
    span: Span,
) -> Expr {
    // An integer literal under a float exponent becomes a float.
    if x.ty.has_error() || y.ty.has_error() {
        return Expr::error(span);
    }
    let meet = match (x.ty.scalar(), y.ty.scalar()) {
        (Some(s), Some(t)) if s.is_float() == t.is_float() => {
            widen::meet(ix, build, report, &x, &y)
        }
        _ => None,
    };
    match (x.ty.scalar(), y.ty.scalar()) {
        (Some(s), Some(t)) if super::is_numeric(s) && (t.is_int() || s == t || meet.is_some()) => {
            let s = meet.unwrap_or(s);
            if s.is_int()
                && let ExprKind::Const(value) = &*y.kind
                && value.as_i128().is_some_and(|value| value < 0)
            {
                let d =
                    error(Code::E0502, y.span, "an integer cannot be raised to a negative power")
                        .here("negative exponent")
                        .label(x.span, format!("this is `{}`", ix.show(&x.ty)))
                        .help("use a float base: `2.0 ** -1`");
                return report.fail(d);
            }
            pointwise::pointwise(ix, build, report, vec![x, y], span, |_, mut args| {
                let b = args.pop().unwrap_or_else(|| Expr::error(span));
                let a = args.pop().unwrap_or_else(|| Expr::error(span));
                let b = if meet.is_some() { super::widen::cast(b, s) } else { b };
                let a = super::widen::cast(a, s);
                Expr::new(ExprKind::Binary(BinaryOp::Pow, a, b), Type::Scalar(s), span)
            })
        }
        (Some(s), Some(t)) if super::is_numeric(s) && super::is_numeric(t) => {
            let d = different_numbers(ix, B::Pow, &x, &y);
            report.fail(d)
        }
        _ => no_operator(ix, report, B::Pow, &x, &y, span),
    }
}

fn comparison(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    op: B,
    x: Expr,
    y: Expr,
    span: Span,
) -> Expr {
    if x.ty.has_error() || y.ty.has_error() {
        return Expr::error(span);
    }
    let scalar_op = match op {
        B::Eq => BinaryOp::Eq,
        B::Ne => BinaryOp::Ne,
        B::Lt => BinaryOp::Lt,
        B::Gt => BinaryOp::Gt,
        B::Le => BinaryOp::Le,
        _ => BinaryOp::Ge,
    };
    match (x.ty.scalar(), y.ty.scalar()) {
        (Some(s), Some(t)) if s == t || widen::meet(ix, build, report, &x, &y).is_some() => {
            let to = super::widen::wider(s, t).unwrap_or(s);
            if s == ScalarType::Bool && !matches!(op, B::Eq | B::Ne) {
                return no_operator(ix, report, op, &x, &y, span);
            }
            let point = |_: &Index, args: Vec<Expr>| {
                let args = args.into_iter().map(|arg| super::widen::cast(arg, to)).collect();
                decide(scalar_op, args, span)
            };
            return match op {
                B::Eq | B::Ne => {
                    pointwise::pointwise_equality(ix, build, report, vec![x, y], span, point)
                }
                _ => pointwise::pointwise(ix, build, report, vec![x, y], span, point),
            };
        }
        (Some(s), Some(t)) if super::is_numeric(s) && super::is_numeric(t) => {
            let d = different_numbers(ix, op, &x, &y);
            return report.fail(d);
        }
        _ => {}
    }
    match (x.ty.elem(), y.ty.elem(), op) {
        (Type::Str, Type::Str, B::Eq | B::Ne) => {
            pointwise::pointwise_equality(ix, build, report, vec![x, y], span, |_, args| {
                compare_strings(scalar_op, args, span)
            })
        }
        (Type::Str, Type::Str, _) => {
            pointwise::pointwise(ix, build, report, vec![x, y], span, |_, args| {
                compare_strings(scalar_op, args, span)
            })
        }
        (a, b, B::Eq | B::Ne)
            if coerce::same_kind(a, b)
                && !matches!(a, Type::Template(..) | Type::Signature(_) | Type::Range) =>
        {
            let what = "the values that are compared here";
            if !layouts::agree_in_layout(ix, report, &x, &y, what) {
                return Expr::error(span);
            }
            pointwise::pointwise_equality(ix, build, report, vec![x, y], span, |_, args| {
                let equal = Expr::new(ExprKind::Host(HostOp::Equal, args), Type::BOOL, span);
                negate_if(equal, op == B::Ne, span)
            })
        }
        _ => no_operator(ix, report, op, &x, &y, span),
    }
}

/// A comparison, decided now where the values are known.
fn decide(op: BinaryOp, mut args: Vec<Expr>, span: Span) -> Expr {
    let b = args.pop().unwrap_or_else(|| Expr::error(span));
    let a = args.pop().unwrap_or_else(|| Expr::error(span));
    if let (ExprKind::Const(p), ExprKind::Const(q)) = (&*a.kind, &*b.kind)
        && let Ok(value) = ein_scalar::apply_binary(op, *p, *q, ein_scalar::Overflow::Trap)
    {
        return Expr::new(ExprKind::Const(value), Type::BOOL, span);
    }
    Expr::new(ExprKind::Binary(op, a, b), Type::BOOL, span)
}

fn compare_strings(op: BinaryOp, args: Vec<Expr>, span: Span) -> Expr {
    if let [a, b] = args.as_slice()
        && let (ExprKind::Str(p), ExprKind::Str(q)) = (&*a.kind, &*b.kind)
    {
        let known = match op {
            BinaryOp::Eq => Some(p == q),
            BinaryOp::Ne => Some(p != q),
            _ => None,
        };
        if let Some(known) = known {
            return Expr::new(ExprKind::Const(Scalar::Bool(known)), Type::BOOL, span);
        }
    }
    match op {
        BinaryOp::Eq | BinaryOp::Ne => {
            let equal = Expr::new(ExprKind::Host(HostOp::Equal, args), Type::BOOL, span);
            negate_if(equal, op == BinaryOp::Ne, span)
        }
        _ => {
            let order = Expr::new(ExprKind::Host(HostOp::Compare, args), Type::I32, span);
            let zero = Expr::int(0, span);
            Expr::new(ExprKind::Binary(op, order, zero), Type::BOOL, span)
        }
    }
}

fn logical(cx: &mut Cx, op: B, a: ExprId, b: ExprId, span: Span) -> Expr {
    let x = expr::expr(cx, a, None);
    let what = if op == B::And { "an operand of `&&`" } else { "an operand of `||`" };
    if x.ty.is_array() && x.ty.scalar() == Some(ScalarType::Bool) {
        let y = expr::expr(cx, b, None);
        if y.ty.scalar() == Some(ScalarType::Bool) {
            let scalar_op = if op == B::And { BinaryOp::And } else { BinaryOp::Or };
            let Cx { ix, build, report, .. } = cx;
            return pointwise::pointwise(ix, build, report, vec![x, y], span, |_, mut args| {
                let b = args.pop().unwrap_or_else(|| Expr::error(span));
                let a = args.pop().unwrap_or_else(|| Expr::error(span));
                Expr::new(ExprKind::Binary(scalar_op, a, b), Type::BOOL, span)
            });
        }
        return expr::expect_bool(&cx.ix, &mut cx.report, y, what);
    }
    let x = expr::expect_bool(&cx.ix, &mut cx.report, x, what);
    let known = expr::branch::known_condition(&x);
    match (op, known) {
        // Rank tests: what cannot run is not checked.
        (B::And, Some(false)) | (B::Or, Some(true)) => return x,
        _ => {}
    }
    let y = expr::branch::scoped_branch(cx, b, &x, op == B::And, None);
    let y = expr::expect_bool(&cx.ix, &mut cx.report, y, what);
    if x.ty.has_error() || y.ty.has_error() {
        return Expr::new(ExprKind::Error, Type::BOOL, span);
    }
    if known.is_some() {
        return y;
    }
    let kind = if op == B::And { ExprKind::And(x, y) } else { ExprKind::Or(x, y) };
    Expr::new(kind, Type::BOOL, span)
}

/// Integers in the type of those that are no constants, if that is one, else in the widest.
fn of_one_type<const N: usize>(ix: &Index, values: [Expr; N]) -> [Expr; N] {
    let constant = |e: &Expr| ix.to_size(e).and_then(|size| size.as_constant());
    let mut types = values.iter().filter(|e| constant(e).is_none()).map(|e| e.ty.scalar());
    let first = types.next().flatten().unwrap_or(ScalarType::I64);
    let fits = |e: &Expr| match (constant(e), first.int_range()) {
        (Some(value), Some((lo, hi))) => (lo..=hi).contains(&i128::from(value)),
        _ => e.ty.scalar() == Some(first),
    };
    let ty = Type::Scalar(if values.iter().all(fits) { first } else { ScalarType::I64 });
    values.map(|e| {
        let span = e.span;
        if e.ty == ty { e } else { Expr::new(ExprKind::Cast(e), ty.clone(), span) }
    })
}

/// `e in 0..n`, `e in array`, `"a" in "abc"`
fn membership(cx: &mut Cx, a: ExprId, b: ExprId, span: Span) -> Expr {
    let hir = cx.hir;
    let y = match &hir.exprs[b].kind {
        H::Range { .. } => expr::expr(cx, b, None),
        _ => match literal::literal_class(cx.hir, b) {
            Some(_) => {
                let x = expr::expr(cx, a, None);
                expr::expr(cx, b, Some(x.ty.elem()))
            }
            None => expr::expr(cx, b, None),
        },
    };
    let want = match &y.ty {
        Type::Array(array) => Some(array.elem.clone()),
        Type::Range => Some(Type::I32),
        _ => None,
    };
    let x = expr::expr(cx, a, want.as_ref());
    if x.ty.has_error() || y.ty.has_error() {
        return Expr::new(ExprKind::Error, Type::BOOL, span);
    }
    let (x, y) = match &y.ty {
        Type::Array(array) if array.axes.len() == 1 && x.ty.rank() == 0 => {
            match widen::meet(&cx.ix, &cx.build, &mut cx.report, &x, &y) {
                Some(to) => (
                    widen::widen(&mut cx.ix, &mut cx.build, &mut cx.report, x, to),
                    widen::widen(&mut cx.ix, &mut cx.build, &mut cx.report, y, to),
                ),
                None => (x, y),
            }
        }
        _ => (x, y),
    };
    match &y.ty {
        Type::Range => {
            let x =
                expr::expect_integer(&cx.ix, &mut cx.report, x, "what is looked for in a range");
            let x = vars::atomise(&mut cx.ix, &mut cx.build, x);
            let ExprKind::Range(lo, hi) = *y.kind else { return Expr::error(span) };
            // Positions may be of any type of integer, and so may what is compared with them.
            let [lo, x, hi] = of_one_type(&cx.ix, [lo, x, hi]);
            let below = Expr::new(ExprKind::Binary(BinaryOp::Le, lo, x.clone()), Type::BOOL, span);
            let above = Expr::new(ExprKind::Binary(BinaryOp::Lt, x, hi), Type::BOOL, span);
            Expr::new(ExprKind::And(below, above), Type::BOOL, span)
        }
        Type::Str if x.ty == Type::Str => {
            Expr::new(ExprKind::Host(HostOp::Contains, vec![x, y]), Type::BOOL, span)
        }
        Type::Array(array) if array.axes.len() == 1 && coerce::same_kind(&array.elem, &x.ty) => {
            Expr::new(ExprKind::Host(HostOp::Contains, vec![x, y]), Type::BOOL, span)
        }
        _ => {
            let (a, b) = (cx.ix.show(&x.ty), cx.ix.show(&y.ty));
            let d = error(Code::E0502, span, format!("`{a}` cannot be looked for in `{b}`"))
                .here("nothing of this type can be in there")
                .label(y.span, format!("this is `{b}`"))
                .help("`in` takes a range, an array of such values, or a string");
            cx.report.fail(d)
        }
    }
}

/// A truth value, or its opposite.
fn negate_if(value: Expr, negate: bool, span: Span) -> Expr {
    if !negate {
        return value;
    }
    Expr::new(ExprKind::Unary(UnaryOp::Not, value), Type::BOOL, span)
}
