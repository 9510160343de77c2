//! Structs and tuples as wholes: arithmetic field by field, and derivatives by them.
//!
//! `p - 0.1 * g` of two values of one struct type is the struct of the differences, and `@loss / @p`
//! the struct of the derivatives by its fields. What has no derivative (a text, an integer) is `()`
//! there, and `()` leaves what it is added to as it is. A derivative whose fields have other types
//! than those of the struct (of an array, or in another precision) is a struct of the same form.

use super::state::{Index, Infer};
use super::{
    Cx, binary, builtin, coerce, data, derivative, error, expr, is_numeric, literal, parts, vars,
    widen,
};
use crate::hir::{DefId, ExprId};
use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::{Data, DataId, Expr, ExprKind, ReduceOp, Type};
use ein_scalar::{BinaryOp, UnaryOp};
use ein_syntax::ast::BinaryOp as B;

/// A part of a struct or tuple, with its name.
type Part = (Symbol, Expr);

/// Whether values of a type have parts: a tuple or a struct, not an enum.
pub(super) fn is_record(ix: &Index, ty: &Type) -> bool {
    match ty {
        Type::Tuple(_) => true,
        Type::Data(id, _) => !ix.data[*id].is_enum,
        _ => false,
    }
}

/// The types of the fields of a struct.
pub(super) fn types_of_fields(cx: &mut Cx, id: DataId, def: DefId, args: &[Type]) -> Vec<Type> {
    match cx.infer.derived.contains_key(&id) {
        true => args.to_vec(),
        false => data::field_types(cx, def, 0, args),
    }
}

/// The types of the parts of a tuple or struct.
pub(super) fn part_types(cx: &mut Cx, ty: &Type) -> Vec<Type> {
    match ty {
        Type::Tuple(items) => items.to_vec(),
        Type::Data(id, args) => match cx.infer.data_def(*id) {
            Some(def) => types_of_fields(cx, *id, def, args),
            None => Vec::new(),
        },
        _ => Vec::new(),
    }
}

/// The parts of a value that costs nothing to read again.
pub(super) fn parts_of(cx: &mut Cx, value: &Expr) -> Vec<Part> {
    let (get, names): (fn(Expr, usize) -> ExprKind, Vec<Symbol>) = match &value.ty {
        Type::Tuple(items) => {
            let names = (0..items.len()).map(|at| Symbol::intern(&at.to_string()));
            (ExprKind::TupleGet, names.collect())
        }
        Type::Data(id, _) => (ExprKind::FieldGet, cx.ix.data[*id].variants[0].fields.clone()),
        _ => return Vec::new(),
    };
    let types = part_types(cx, &value.ty);
    let Cx { infer, ix, build, .. } = cx;
    let part = |(at, (name, ty))| {
        let part = Expr::new(get(value.clone(), at), ty, value.span);
        (name, parts::settle_part(infer, ix, build, part))
    };
    names.into_iter().zip(types).enumerate().map(part).collect()
}

/// A value of the form of `like` with other parts.
fn with_parts(cx: &mut Cx, like: &Type, parts: Vec<Expr>, span: Span) -> Expr {
    match like {
        Type::Tuple(_) => {
            let types = parts.iter().map(|part| part.ty.clone()).collect();
            Expr::new(ExprKind::Tuple(parts), Type::Tuple(types), span)
        }
        Type::Data(id, args) => {
            let Some(def) = cx.infer.data_def(*id) else { return Expr::error(span) };
            let own = match cx.infer.derived.contains_key(id) {
                true => None,
                false => Some(data::field_types(cx, def, 0, args)),
            };
            let fits = own.is_some_and(|own| {
                own.iter().zip(&parts).all(|(own, part)| {
                    own.rank() == part.ty.rank() && coerce::same_kind(own, &part.ty)
                })
            });
            let ty = match fits {
                true => like.clone(),
                false => {
                    let types = parts.iter().map(|part| part.ty.clone()).collect();
                    Type::Data(derived_form(&mut cx.infer, &mut cx.ix, def, *id), types)
                }
            };
            let Type::Data(data, _) = ty else { return Expr::error(span) };
            Expr::new(ExprKind::Make { data, variant: 0, fields: parts }, ty, span)
        }
        _ => Expr::error(span),
    }
}

/// A value with wider numbers where a type asks for them: of a struct, those in its fields.
pub(super) fn widened(cx: &mut Cx, value: Expr, ty: &Type) -> Expr {
    let wide = || widen::wider_type(&value.ty, ty).is_some_and(|it| coerce::same_kind(&it, ty));
    match (&value.ty, ty) {
        (Type::Data(id, _), Type::Data(other, _))
            if id == other
                && !coerce::same_kind(&value.ty, ty)
                && is_record(&cx.ix, ty)
                && wide() =>
        {
            let (data, span) = (*id, value.span);
            vars::scoped(cx, |cx| {
                let value = vars::atomise(&mut cx.ix, &mut cx.build, value);
                let parts = parts_of(cx, &value).into_iter().zip(part_types(cx, ty));
                let fields = parts.map(|((_, part), ty)| widened(cx, part, &ty)).collect();
                Expr::new(ExprKind::Make { data, variant: 0, fields }, ty.clone(), span)
            })
        }
        _ => widen::widen_to(&mut cx.ix, &mut cx.build, &mut cx.report, value, ty),
    }
}

/// A struct of the form of another one, whose fields may have any types.
fn derived_form(infer: &mut Infer, ix: &mut Index, def: DefId, id: DataId) -> DataId {
    let known = infer.derived.iter().find(|(_, own)| **own == def).map(|(id, _)| *id);
    if let Some(known) = known {
        return known;
    }
    let form = &ix.data[id];
    let form = Data { name: form.name, variants: form.variants.clone(), is_enum: false };
    let derived = ix.data.push(form);
    infer.derived.insert(derived, def);
    derived
}

impl Infer<'_> {
    /// The declaration of a struct, also of one that was derived from it.
    fn form_of(&self, ty: &Type) -> Option<DefId> {
        match ty {
            Type::Data(id, _) => self.data_def(*id),
            _ => None,
        }
    }
}

// ---------------------------------------------------------------- arithmetic

/// Arithmetic with a struct or tuple on one side at least; literals have the numbers of their
/// expressions.
pub(super) fn fieldwise(
    cx: &mut Cx,
    op: B,
    (x, a): (Expr, ExprId),
    (y, b): (Expr, ExprId),
    span: Span,
) -> Expr {
    if x.ty.has_error() || y.ty.has_error() {
        return Expr::error(span);
    }
    if !matches!(op, B::Add | B::Sub | B::Mul) {
        return binary::no_operator(&cx.ix, &mut cx.report, op, &x, &y, span);
    }
    let x = vars::atomise(&mut cx.ix, &mut cx.build, x);
    let y = vars::atomise(&mut cx.ix, &mut cx.build, y);
    let literal = |id: ExprId| literal::literal_class(cx.hir, id).map(|_| id);
    let literals = (literal(a), literal(b));
    combined(cx, op, x, y, literals, span)
}

/// Quotients and powers of parts, which only the library writes: `std::intrinsics::div(m, root)`.
pub(super) fn of_records(cx: &mut Cx, op: BinaryOp, x: Expr, y: Expr, span: Span) -> Expr {
    let op = match op {
        BinaryOp::Div => B::Div,
        BinaryOp::Pow => B::Pow,
        _ => {
            let Cx { ix, build, report, .. } = cx;
            return builtin::scalar_binary(ix, build, report, op, x, y, span);
        }
    };
    let x = vars::atomise(&mut cx.ix, &mut cx.build, x);
    let y = vars::atomise(&mut cx.ix, &mut cx.build, y);
    combined(cx, op, x, y, (None, None), span)
}

/// A function of one number for each part, which only the library writes: `std::intrinsics::sign(g)`.
pub(super) fn of_each(cx: &mut Cx, op: UnaryOp, x: Expr, span: Span) -> Expr {
    if !is_record(&cx.ix, &x.ty) {
        return match x.ty {
            Type::Unit => x,
            _ => builtin::scalar_unary(&mut cx.ix, &mut cx.build, &mut cx.report, op, x, span),
        };
    }
    let x = vars::atomise(&mut cx.ix, &mut cx.build, x);
    let mut parts = Vec::new();
    for (_, part) in parts_of(cx, &x) {
        let value = of_each(cx, op, part, span);
        if value.ty.is_broken() {
            return Expr::error(span);
        }
        parts.push(value);
    }
    with_parts(cx, &x.ty.clone(), parts, span)
}

/// The sum of all numbers in an array, or in all parts of a struct or tuple, which only the library
/// writes: `std::intrinsics::total(g * g)`. What has no derivative (`()`) adds nothing.
pub(super) fn total(cx: &mut Cx, x: Expr, span: Span) -> Expr {
    if !is_record(&cx.ix, &x.ty) {
        let Cx { ix, build, report, .. } = cx;
        return match x.ty.is_array() {
            true => builtin::arrays::whole_reduction(ix, build, report, ReduceOp::Sum, x, span),
            false => x,
        };
    }
    let x = vars::atomise(&mut cx.ix, &mut cx.build, x);
    let mut sum: Option<Expr> = None;
    for (_, part) in parts_of(cx, &x) {
        let value = match part.ty {
            Type::Unit => continue,
            _ => total(cx, part, span),
        };
        let Cx { ix, build, report, .. } = cx;
        sum = Some(match sum {
            Some(before) => binary::arithmetic(ix, build, report, B::Add, before, value, span),
            None => value,
        });
    }
    sum.unwrap_or_else(|| Expr::new(ExprKind::Unit, Type::Unit, span))
}

fn combined(
    cx: &mut Cx,
    op: B,
    x: Expr,
    y: Expr,
    literals: (Option<ExprId>, Option<ExprId>),
    span: Span,
) -> Expr {
    let (record_x, record_y) = (is_record(&cx.ix, &x.ty), is_record(&cx.ix, &y.ty));
    let scalar = |e: &Expr| matches!(e.ty, Type::Scalar(ty) if is_numeric(ty));
    let alike = match (record_x, record_y) {
        (true, true) => match (&x.ty, &y.ty) {
            (Type::Tuple(a), Type::Tuple(b)) => a.len() == b.len(),
            (a, b) => cx.infer.form_of(a).is_some() && cx.infer.form_of(a) == cx.infer.form_of(b),
        },
        (true, false) => scalar(&y),
        (false, _) => scalar(&x),
    };
    if !alike {
        return binary::no_operator(&cx.ix, &mut cx.report, op, &x, &y, span);
    }
    let left = if record_x { parts_of(cx, &x) } else { Vec::new() };
    let right = if record_y { parts_of(cx, &y) } else { Vec::new() };
    let mut parts = Vec::new();
    for at in 0..left.len().max(right.len()) {
        let (name, whole) = match left.get(at).or(right.get(at)) {
            Some((name, _)) => (*name, if record_x { &x } else { &y }),
            None => continue,
        };
        let part = |side: &[Part], other: &Expr| match side.get(at) {
            Some((_, part)) => part.clone(),
            None => other.clone(),
        };
        let (p, q) = (part(&left, &x), part(&right, &y));
        let Some(value) = of_parts(cx, op, (p, q, record_x && record_y), literals, span) else {
            let have = cx.ix.show(&whole.ty);
            let ty = match left.get(at).or(right.get(at)) {
                Some((_, part)) => cx.ix.show(&part.ty),
                None => String::new(),
            };
            let message = format!(
                "`{}` of `{have}` goes field by field, and `{name}` is `{ty}`",
                op.as_str()
            );
            let d = error(Code::E0502, span, message)
                .here(format!("`{name}` has no `{}`", op.as_str()))
                .label(whole.span, format!("this is `{have}`"))
                .help(format!(
                    "compute the other fields one by one, and copy `{name}`: `… {{ …, ..value }}`"
                ));
            return cx.report.fail(d);
        };
        if value.ty.is_broken() {
            return Expr::error(span);
        }
        parts.push(value);
    }
    // The form of the value that has types of its own.
    let like = match (&x.ty, &y.ty) {
        (Type::Data(id, _), _) if record_x && cx.infer.derived.contains_key(id) && record_y => {
            &y.ty
        }
        _ if record_x => &x.ty,
        _ => &y.ty,
    };
    let like = like.clone();
    with_parts(cx, &like, parts, span)
}

/// Two parts, if there is such an operation.
fn of_parts(
    cx: &mut Cx,
    op: B,
    (p, q, both): (Expr, Expr, bool),
    literals: (Option<ExprId>, Option<ExprId>),
    span: Span,
) -> Option<Expr> {
    // What has no derivative stays as it is.
    match (&p.ty, &q.ty) {
        (Type::Unit, Type::Unit) => return Some(p),
        (_, Type::Unit) => return Some(if both { p } else { q }),
        (Type::Unit, _) if !both => return Some(p),
        (Type::Unit, _) if matches!(op, B::Add) => return Some(q),
        (Type::Unit, _) => return None,
        _ => {}
    }
    if is_record(&cx.ix, &p.ty) || is_record(&cx.ix, &q.ty) {
        return Some(combined(cx, op, p, q, literals, span));
    }
    let number = |e: &Expr| e.ty.scalar().filter(|ty| is_numeric(*ty));
    let (Some(s), Some(t)) = (number(&p), number(&q)) else { return None };
    // A literal takes the type of each field.
    let typed = |cx: &mut Cx, e: Expr, id: Option<ExprId>, ty| match id {
        Some(id) => {
            let value = expr::expr(cx, id, Some(&Type::Scalar(ty)));
            if value.ty.has_error() { e } else { value }
        }
        None => e,
    };
    let p = typed(cx, p, literals.0, t);
    let q = typed(cx, q, literals.1, s);
    Some(match op {
        B::Pow => binary::powers(&mut cx.ix, &mut cx.build, &mut cx.report, p, q, span),
        _ => binary::arithmetic(&mut cx.ix, &mut cx.build, &mut cx.report, op, p, q, span),
    })
}

// ---------------------------------------------------------------- derivatives

/// The derivative by every part of a struct or tuple.
pub(super) fn request_by_parts(cx: &mut Cx, y: Expr, x: &Expr, span: Span) -> Expr {
    let mut parts = Vec::new();
    for (_, part) in parts_of(cx, x) {
        let moves = part.ty.scalar().is_some_and(|ty| ty.is_float());
        let value = match is_record(&cx.ix, &part.ty) {
            true => request_by_parts(cx, y.clone(), &part, span),
            false if moves => {
                let part = cx.build.as_part(part);
                derivative::request(cx, y.clone(), part, span)
            }
            false => Expr::new(ExprKind::Unit, Type::Unit, span),
        };
        if value.ty.is_broken() {
            return Expr::error(span);
        }
        parts.push(value);
    }
    with_parts(cx, &x.ty.clone(), parts, span)
}
