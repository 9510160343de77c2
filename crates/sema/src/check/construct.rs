//! Values of structs and enums: constructors, and the type arguments they infer.

use super::state::Index;
use super::{Cx, annotation, close, coerce, data, error, expr, literal, stmt, vars, widen};
use crate::hir::{self, DefId, ExprId, LocalId, TypeKind, VariantShape};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::size::{self, Atom};
use ein_ir::tensor::{Expr, ExprKind, Type};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A variant that is mentioned without arguments.
pub(super) fn variant_value(
    cx: &mut Cx,
    def: DefId,
    index: usize,
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let Some(declared) = data::declared(cx.hir, def, index) else { return Expr::error(span) };
    if declared.shape == VariantShape::Unit {
        return construct_from(cx, def, index, &[], Vec::new(), want, span);
    }
    let message = format!("`{declared}` is not a value by itself: it carries {}", declared.count());
    let d = error(Code::E0510, span, message).here("nothing is given for what it carries").help(
        match declared.shape {
            VariantShape::Unit | VariantShape::Tuple => {
                format!(
                    "call it: `{}`, or write a closure: `|x| {declared}(x)`",
                    declared.written()
                )
            }
            VariantShape::Struct => format!("write its fields: `{}`", declared.written()),
        },
    );
    cx.report.fail(declared.point_at(d))
}

/// `Shape::Circle(1.0)`
pub(super) fn make_variant(
    cx: &mut Cx,
    def: DefId,
    index: usize,
    args: &[hir::Arg],
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let Some(declared) = data::declared(cx.hir, def, index) else {
        return check_args(cx, args, span);
    };
    if declared.shape != VariantShape::Tuple {
        let what = match declared.shape {
            VariantShape::Unit | VariantShape::Tuple => "carries nothing",
            VariantShape::Struct => "has named fields",
        };
        let d = error(Code::E0510, span, format!("`{declared}` {what} and cannot be called"))
            .here("a call")
            .help(format!("write `{}`", declared.written()));
        cx.report.report_at(declared.point_at(d));
        return check_args(cx, args, span);
    }
    if let Some(name) = args.iter().find_map(|arg| arg.name) {
        let d = error(Code::E0509, name.span, format!("the fields of `{declared}` have no names"))
            .here("a named argument")
            .help(format!("write `{}`", declared.written()));
        cx.report.report_at(declared.point_at(d));
        return check_args(cx, args, span);
    }
    if args.len() != declared.fields.len() {
        let message = format!(
            "`{declared}` carries {}, but {} given",
            declared.count(),
            if args.len() == 1 {
                "1 value is".into()
            } else {
                format!("{} values are", args.len())
            }
        );
        let d = error(Code::E0508, span, message)
            .here("a wrong number of arguments")
            .help(format!("write `{}`", declared.written()));
        cx.report.report_at(declared.point_at(d));
        return check_args(cx, args, span);
    }
    let values: Vec<_> = args.iter().map(|arg| arg.value).enumerate().collect();
    construct_from(cx, def, index, &values, Vec::new(), want, span)
}

/// Checks arguments for their own mistakes only.
fn check_args(cx: &mut Cx, args: &[hir::Arg], span: Span) -> Expr {
    for arg in args {
        close::open_value(cx, arg.value, None, None);
    }
    Expr::error(span)
}

/// `Point { x: 1.0, y: 2.0 }`
pub(super) fn struct_literal(
    cx: &mut Cx,
    def: DefId,
    variant: Option<usize>,
    fields: &[(Name, ExprId)],
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let index = variant.unwrap_or(0);
    let Some(declared) = data::declared(cx.hir, def, index) else { return Expr::error(span) };
    let mut values: Vec<(usize, ExprId)> = Vec::new();
    let mut rest = None;
    for (name, value) in fields {
        if name.sym.as_str() == ".." {
            rest = Some((*value, name.span));
            continue;
        }
        match declared.position(name.sym) {
            Some(position) => {
                // A field that is given twice was reported with the names.
                if values.iter().all(|(known, _)| *known != position) {
                    values.push((position, *value));
                }
            }
            None => {
                cx.report.report_at(declared.no_field(*name));
                close::open_value(cx, *value, None, None);
            }
        }
    }
    let missing: Vec<_> = (0..declared.fields.len())
        .filter(|position| values.iter().all(|(known, _)| known != position))
        .map(|position| format!("`{}`", declared.fields[position].name))
        .collect();
    let unknown = values.len() + usize::from(rest.is_some()) < fields.len();
    if let Some((rest, at)) = rest {
        return with_rest(cx, (def, index), &values, (rest, at), want, span);
    }
    if !missing.is_empty() && !unknown {
        let message = format!("`{declared}` is missing {}", missing.join(", "));
        let d = error(Code::E0508, span, message)
            .here(format!("no value for {}", missing.join(", ")))
            .help(format!("give every field a value: `{}`", declared.written()));
        cx.report.report_at(declared.point_at(d));
    }
    construct_from(cx, def, index, &values, Vec::new(), want, span)
}

/// `P { x: 1.0, ..p }`: the other fields are those of `p`.
fn with_rest(
    cx: &mut Cx,
    (def, index): (DefId, usize),
    values: &[(usize, ExprId)],
    (rest, at): (ExprId, Span),
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let Some(declared) = data::declared(cx.hir, def, index) else { return Expr::error(span) };
    let other = expr::expr(cx, rest, want);
    let id = data::data_id(&mut cx.infer, &mut cx.ix, def);
    let fits = matches!(&other.ty, Type::Data(own, _) if Some(*own) == id);
    if other.ty.is_broken() {
        return Expr::error(span);
    }
    if !fits || declared.parent.is_some() {
        let have = cx.ix.show(&other.ty);
        let message = format!("the other fields of `{declared}` cannot come from `{have}`");
        let d = error(Code::E0501, other.span, message)
            .here(format!("this is `{have}`"))
            .label(at, "fields are copied from a value of the same struct")
            .help(format!("write its fields: `{}`", declared.written()));
        return cx.report.fail(declared.point_at(d));
    }
    let other = vars::atomise(&mut cx.ix, &mut cx.build, other);
    let mut copied = Vec::new();
    for (position, field) in declared.fields.iter().enumerate() {
        if values.iter().all(|(known, _)| *known != position) {
            copied.push((position, data::struct_field(cx, other.clone(), field.name, span)));
        }
    }
    construct_from(cx, def, index, values, copied, want, span)
}

/// A value from the values of its fields, some of which are checked already; those that lack one were
/// reported.
fn construct_from(
    cx: &mut Cx,
    def: DefId,
    index: usize,
    values: &[(usize, ExprId)],
    given: Vec<(usize, Expr)>,
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let (Some(id), Some(declared)) =
        (data::data_id(&mut cx.infer, &mut cx.ix, def), data::declared(cx.hir, def, index))
    else {
        return Expr::error(span);
    };
    let generics = cx.hir.defs[def].kind.generics();
    let hints: FxHashMap<LocalId, Type> = match want {
        Some(Type::Data(wanted, args)) if *wanted == id => {
            let hints = generics.iter().copied().zip(args.iter().cloned());
            hints.filter(|(_, ty)| *ty != Type::Error).collect()
        }
        _ => FxHashMap::default(),
    };
    // Literals come last: they take the types that the other values give.
    let mut found = FxHashMap::default();
    let mut checked: Vec<Option<Expr>> = declared.fields.iter().map(|_| None).collect();
    for (position, value) in given {
        infer_args(&mut cx.ix, &declared.fields[position].ty, &value.ty, &mut found);
        checked[position] = Some(value);
    }
    for literals in [false, true] {
        let known = merge_args(&mut cx.ix, generics, &found, &hints);
        let types = data::lower_fields(cx, def, index, &known);
        for (position, value) in values {
            if literal::literal_class(cx.hir, *value).is_some() == literals {
                let want = types.get(*position).filter(|ty| **ty != Type::Error);
                let layout = want.and_then(layout);
                let value = close::open_value(cx, *value, want, layout.as_deref());
                infer_args(&mut cx.ix, &declared.fields[*position].ty, &value.ty, &mut found);
                checked[*position] = Some(value);
            }
        }
    }
    let known = merge_args(&mut cx.ix, generics, &found, &hints);
    let args: Vec<_> =
        generics.iter().map(|local| known.get(local).cloned().unwrap_or(Type::Error)).collect();
    let types = data::field_types(cx, def, index, &args);
    let mut sizes = Vec::new();
    let mut fields = Vec::new();
    for ((value, ty), field) in checked.into_iter().zip(types).zip(declared.fields) {
        let Some(value) = value else {
            return Expr::new(ExprKind::Error, Type::Data(id, args.into()), span);
        };
        let what = match declared.shape {
            VariantShape::Tuple => format!("field {} of `{declared}`", field.name),
            VariantShape::Unit | VariantShape::Struct => {
                format!("field `{}` of `{declared}`", field.name)
            }
        };
        fields.push(fit_field(cx, value, ty, &mut sizes, &what));
    }
    let kind = ExprKind::Make { data: id, variant: index, fields };
    Expr::new(kind, Type::Data(id, args.into()), span)
}

/// The type arguments: those of the values, completed by what the context asks for.
fn merge_args(
    ix: &mut Index,
    generics: &[LocalId],
    found: &FxHashMap<LocalId, Type>,
    hints: &FxHashMap<LocalId, Type>,
) -> FxHashMap<LocalId, Type> {
    let mut merged = FxHashMap::default();
    for local in generics {
        let ty = match (found.get(local), hints.get(local)) {
            (Some(found), Some(hint)) if found.has_error() => {
                coerce::join_types(ix, found, hint).unwrap_or_else(|| found.clone())
            }
            (Some(found), Some(hint)) if becomes(found, hint) => hint.clone(),
            (Some(ty), _) | (None, Some(ty)) => ty.clone(),
            (None, None) => continue,
        };
        merged.insert(*local, ty);
    }
    merged
}

/// Whether a value of one type is converted where the other is asked for.
fn becomes(from: &Type, to: &Type) -> bool {
    match (from, to) {
        _ if widen::is_wider(to, from) => true,
        (Type::Template(..), Type::Signature(..)) => true,
        (Type::Array(array), Type::AnyRank(elem) | Type::Jagged(elem, _)) => {
            coerce::same_kind(&array.elem, elem)
        }
        _ => false,
    }
}

/// What a value of the declared type says about type parameters.
pub(super) fn infer_args(
    ix: &mut Index,
    ty: &hir::Type,
    have: &Type,
    found: &mut FxHashMap<LocalId, Type>,
) {
    match (&ty.kind, have) {
        (TypeKind::Param(local), _) => {
            let joined = match found.get(local) {
                Some(known) => {
                    coerce::join_types(ix, known, have).or_else(|| widen::wider_type(known, have))
                }
                None => Some(have.clone()),
            };
            if let Some(joined) = joined {
                found.insert(*local, joined);
            }
        }
        (TypeKind::Array { elem, dims, .. }, Type::Array(_)) => {
            let inner = stmt::without_axes(have, dims.len());
            infer_args(ix, elem, &inner, found);
        }
        (TypeKind::AnyRank(elem), Type::AnyRank(have))
        | (TypeKind::Jagged(elem, _), Type::Jagged(have, _)) => {
            infer_args(ix, elem, have, found);
        }
        (TypeKind::AnyRank(elem) | TypeKind::Jagged(elem, _), Type::Array(array)) => {
            infer_args(ix, elem, &array.elem, found);
        }
        (TypeKind::Tuple(items), Type::Tuple(have)) => {
            items.iter().zip(have).for_each(|(ty, have)| infer_args(ix, ty, have, found));
        }
        (TypeKind::Data(_, args), Type::Data(_, have)) => {
            args.iter().zip(have).for_each(|(ty, have)| infer_args(ix, ty, have, found));
        }
        (TypeKind::Function(params, ret), Type::Signature(have)) => {
            let params = params.iter().zip(&have.params);
            params.for_each(|(ty, have)| infer_args(ix, ty, have, found));
            infer_args(ix, ret, &have.ret, found);
        }
        (TypeKind::Some(_, body), _) => infer_args(ix, body, have, found),
        _ => {}
    }
}

/// The value of a field against its declared type. Sizes that the declaration leaves open are
/// those of the value; a named one is the same in all fields.
fn fit_field(
    cx: &mut Cx,
    value: Expr,
    ty: Type,
    sizes: &mut Vec<(Atom, size::Expr)>,
    what: &str,
) -> Expr {
    let Type::Array(mut array) = ty else { return coerce::expect_type(cx, value, &ty, what) };
    if value.ty.rank() != array.axes.len() || value.ty.has_error() {
        return coerce::expect_type(cx, value, &Type::Array(array), what);
    }
    let value = expr::settle_expr(&mut cx.ix, &mut cx.build, value);
    let declared: Vec<_> = array.axes.iter().map(|axis| axis.coord.map(|c| c.name)).collect();
    if !annotation::check_names(&cx.ix, &mut cx.report, &value, &declared, what, value.span) {
        return Expr::error(value.span);
    }
    for (axis, have) in Arc::make_mut(&mut array).axes.iter_mut().zip(value.ty.axes()) {
        let known = axis.size.substitute(&|atom| {
            sizes.iter().find(|(named, _)| *named == atom).map(|(_, size)| size.clone())
        });
        match (cx.ix.unsettled(&known), known.as_atom()) {
            (None, _) => axis.size = known,
            (Some(_), atom) => {
                sizes.extend(atom.map(|atom| (atom, have.size.clone())));
                axis.size = have.size.clone();
            }
        }
    }
    coerce::expect_type(cx, value, &Type::Array(array), what)
}

/// The coordinates of a type, if every axis has one.
fn layout(ty: &Type) -> Option<Vec<Symbol>> {
    if !ty.is_array() {
        return None;
    }
    ty.axes().iter().map(|axis| axis.coord.map(|coord| coord.name)).collect()
}
