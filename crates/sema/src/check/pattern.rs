//! Patterns: what they match, and the variables they bind.

use super::consts::fold;
use super::data::plural;
use super::state::{Index, Report};
use super::symbolic::SizeRelation;
use super::{Cx, IndexId, coerce, consts, data, error, expr, layouts, stmt, types, vars};
use crate::hir::{self, DefId, ExprId, LocalId, Pat, PatKind, VariantShape};
use ein_base::{Code, Name, Span};
use ein_ir::size;
use ein_ir::tensor::{ArrayType, Axis, Expr, ExprKind, Pattern, Type, VarId};
use ein_scalar::Scalar;
use std::sync::Arc;

/// A pattern with what is known of it.
pub(super) struct Matched {
    /// The pattern.
    pub(super) pattern: Pattern,
    /// What it binds.
    pub(super) bound: Vec<VarId>,
    /// Whether a mistake in it was reported.
    pub(super) broken: bool,
    /// Whether the value of its arm is not used.
    pub(super) statement: bool,
}

/// The state of one pattern being checked.
#[derive(Default)]
struct Draft {
    /// What is bound so far: alternatives bind the same names once.
    bound: Vec<(LocalId, VarId)>,
    /// The index variables that the matched value depends on.
    deps: Vec<IndexId>,
    broken: bool,
}

/// A pattern for values of a type, perhaps for a known one; what it binds is in scope from here on.
pub(super) fn match_pattern(cx: &mut Cx, pat: &Pat, ty: &Type, value: Option<&Expr>) -> Matched {
    let deps = value.map(|value| cx.ix.index_deps(value)).unwrap_or_default();
    let mut draft = Draft { deps, ..Draft::default() };
    let pattern = part_pattern(cx, pat, ty, value, &mut draft);
    let bound = draft.bound.into_iter().map(|(_, var)| var).collect();
    Matched { pattern, bound, broken: draft.broken, statement: false }
}

fn part_pattern(
    cx: &mut Cx,
    pat: &Pat,
    ty: &Type,
    value: Option<&Expr>,
    draft: &mut Draft,
) -> Pattern {
    match &pat.kind {
        PatKind::Wild => Pattern::Wild,
        PatKind::Error => {
            draft.broken = true;
            Pattern::Wild
        }
        PatKind::Bind(local, None) => {
            Pattern::Bind(bind_pattern(cx, *local, ty.clone(), value, draft))
        }
        PatKind::Bind(local, Some(annotation)) => {
            let ty = annotated_pattern(cx, *local, annotation, ty, draft);
            Pattern::Bind(bind_pattern(cx, *local, ty, value, draft))
        }
        PatKind::Literal(id) => {
            let literal = pattern_value(cx, *id, ty);
            constant_pattern(&cx.ix, &mut cx.report, literal, ty, pat.span, draft)
        }
        PatKind::Const(def) => {
            let constant = consts::const_value(cx, *def, pat.span);
            constant_pattern(&cx.ix, &mut cx.report, constant, ty, pat.span, draft)
        }
        PatKind::Range { lo, hi, inclusive } => {
            range_pattern(cx, *lo, *hi, *inclusive, ty, pat.span, draft)
        }
        PatKind::Tuple(items) => tuple_pattern(cx, items, ty, value, pat.span, draft),
        PatKind::Array { before, rest, after } => {
            array_pattern(cx, before, *rest, after, ty, pat.span, draft)
        }
        PatKind::Data { def, variant, fields, rest } => {
            let place = (*def, variant.unwrap_or(0));
            data_pattern(cx, place, fields, *rest, ty, pat.span, draft)
        }
        PatKind::Or(items) => {
            let items = items.iter().map(|item| part_pattern(cx, item, ty, value, draft));
            Pattern::Or(items.collect())
        }
        PatKind::At(local, inner) => {
            let var = bind_pattern(cx, *local, ty.clone(), value, draft);
            Pattern::At(var, Box::new(part_pattern(cx, inner, ty, value, draft)))
        }
    }
}

// ---------------------------------------------------------------- names

/// Binds a name; in a second alternative the variable of the first one.
fn bind_pattern(
    cx: &mut Cx,
    local: LocalId,
    ty: Type,
    value: Option<&Expr>,
    draft: &mut Draft,
) -> VarId {
    if let Some((_, var)) = draft.bound.iter().find(|(known, _)| *known == local) {
        let var = *var;
        bind_again(cx, local, var, &ty, draft);
        return var;
    }
    let name = cx.hir.locals[local].name;
    let var = cx.ix.new_var(name.sym, name.span, ty.clone());
    let ty = cx.ix.settle_type(var, ty);
    cx.ix.size_variable(var, value, true);
    cx.build.bound_inside(var);
    if let Some(value) = value {
        cx.ix.note_address(var, value);
    }
    if !draft.deps.is_empty() {
        cx.ix.var_deps.insert(var, draft.deps.clone());
    }
    stmt::declare(cx, local, var, &ty);
    draft.bound.push((local, var));
    var
}

/// The same name in a further alternative: the types must agree.
fn bind_again(cx: &mut Cx, local: LocalId, var: VarId, ty: &Type, draft: &mut Draft) {
    let first = cx.ix.vars[var].ty.clone();
    let joined = match layouts::clash(&cx.ix, &first, ty) {
        Some(_) => None,
        None => coerce::join_types(&mut cx.ix, &first, ty),
    };
    match joined {
        Some(joined) if joined == first => {}
        Some(joined) => {
            let joined = cx.ix.settle_type(var, joined);
            stmt::declare(cx, local, var, &joined);
        }
        None => {
            let name = cx.hir.locals[local].name;
            let (x, y) = (cx.ix.show(&first), cx.ix.show(ty));
            let d = error(
                Code::E0501,
                name.span,
                format!("`{name}` is `{x}` in one alternative and `{y}` in another"),
            )
            .here("bound by several alternatives")
            .help("write an arm of its own for each type");
            cx.report.report_at(d);
            draft.broken = true;
        }
    }
}

/// `x: T`: the type of the value with the coordinates of the annotation.
fn annotated_pattern(
    cx: &mut Cx,
    local: LocalId,
    annotation: &hir::Type,
    ty: &Type,
    draft: &mut Draft,
) -> Type {
    let stated = types::lower_type(cx, annotation);
    let name = vars::local_name(cx.hir, local);
    if !coerce::same_kind(&stated, ty) {
        let place = Expr::new(ExprKind::Error, ty.clone(), annotation.span);
        let d = coerce::mismatch(&cx.ix, &place, &stated, &format!("the annotation of `{name}`"))
            .here(format!("the value is `{}`", cx.ix.show(ty)));
        cx.report.report_at(d);
        draft.broken = true;
        return stated;
    }
    let (Type::Array(have), Type::Array(array)) = (ty, &stated) else {
        return if stated.has_error() { ty.clone() } else { stated };
    };
    let place = Expr::new(ExprKind::Error, ty.clone(), annotation.span);
    let what = format!("the annotation of `{name}`");
    if !layouts::holds_names(&cx.ix, &mut cx.report, &place, array.axes.as_slice(), &what) {
        draft.broken = true;
        return Type::Array(array.clone());
    }
    let mut stated = ArrayType::clone(array);
    for (position, (stated, have)) in stated.axes.iter_mut().zip(&have.axes).enumerate() {
        let open = cx.ix.unsettled(&stated.size).is_some();
        if !open && cx.ix.compare_sizes(&have.size, &stated.size) == SizeRelation::Different {
            let (have, want) = (cx.ix.show_size(&have.size), cx.ix.show_size(&stated.size));
            let d = error(
                Code::E0405,
                annotation.span,
                format!(
                    "axis {position} has extent {have}, but the annotation of `{name}` says {want}"
                ),
            )
            .here(format!("the value is `{}`", cx.ix.show(ty)))
            .help(format!("state the extent that the value has: `{have}`"));
            cx.report.report_at(d);
            draft.broken = true;
        }
        stated.size = have.size.clone();
        if stated.coord.is_none() {
            stated.coord = have.coord;
        }
    }
    stated.elem = have.elem.clone();
    Type::Array(Arc::new(stated))
}

// ---------------------------------------------------------------- constants

/// A literal or constant in a pattern, read at the type of what is matched.
fn pattern_value(cx: &mut Cx, id: ExprId, ty: &Type) -> Expr {
    let want = matches!(ty, Type::Scalar(_)).then_some(ty);
    vars::scoped(cx, |cx| expr::expr(cx, id, want))
}

fn constant_pattern(
    ix: &Index,
    report: &mut Report,
    value: Expr,
    ty: &Type,
    span: Span,
    draft: &mut Draft,
) -> Pattern {
    if value.ty.has_error() || *ty == Type::Error {
        draft.broken = true;
        return Pattern::Wild;
    }
    if value.ty != *ty {
        return cannot_match(ix, report, span, &ix.show(&value.ty), ty, draft);
    }
    match (fold(&value), &*value.kind) {
        (Some(scalar), _) => Pattern::Literal(scalar),
        (None, ExprKind::Str(text)) => Pattern::Str(*text),
        _ => {
            report.not_constant(span, draft);
            Pattern::Wild
        }
    }
}

fn range_pattern(
    cx: &mut Cx,
    lo: Option<ExprId>,
    hi: Option<ExprId>,
    inclusive: bool,
    ty: &Type,
    span: Span,
    draft: &mut Draft,
) -> Pattern {
    let (Ok(lo), Ok(hi)) = (range_end(cx, lo, ty, draft), range_end(cx, hi, ty, draft)) else {
        return Pattern::Wild;
    };
    match ty {
        Type::Scalar(scalar) if scalar.is_numeric() => {}
        Type::Error => {
            draft.broken = true;
            return Pattern::Wild;
        }
        _ => return cannot_match(&cx.ix, &mut cx.report, span, "a range of numbers", ty, draft),
    }
    if let (Some(lo), Some(hi)) = (lo, hi) {
        let full = match (lo.as_i128(), hi.as_i128()) {
            (Some(lo), Some(hi)) => lo < hi || inclusive && lo == hi,
            _ => lo.as_f64() < hi.as_f64() || inclusive && lo.as_f64() == hi.as_f64(),
        };
        if !full {
            let d = error(Code::E0514, span, "this range is empty, so it matches nothing")
                .here(format!("{lo} comes after the last value"))
                .help("write the smaller value first; `..=` includes the last one");
            cx.report.report_at(d);
            draft.broken = true;
        }
    }
    Pattern::Range { lo, hi, inclusive }
}

/// One end of a range pattern.
fn range_end(
    cx: &mut Cx,
    id: Option<ExprId>,
    ty: &Type,
    draft: &mut Draft,
) -> Result<Option<Scalar>, ()> {
    let Some(id) = id else { return Ok(None) };
    let value = pattern_value(cx, id, ty);
    let span = value.span;
    if value.ty.has_error() {
        draft.broken = true;
        return Err(());
    }
    if value.ty != *ty && matches!(ty, Type::Scalar(scalar) if scalar.is_numeric()) {
        cannot_match(&cx.ix, &mut cx.report, span, &cx.ix.show(&value.ty), ty, draft);
        return Err(());
    }
    match fold(&value) {
        Some(scalar) => Ok(Some(scalar)),
        // A range of texts: that no type has one is said of the whole.
        None if value.ty == Type::Str => Ok(None),
        None => {
            cx.report.not_constant(span, draft);
            Err(())
        }
    }
}

impl Report {
    fn not_constant(&mut self, span: Span, draft: &mut Draft) {
        let d = error(Code::E0514, span, "a pattern must be known before the program runs")
            .here("this is computed")
            .help("bind the value and compare it in a guard: `x where x == … => …`");
        self.report_at(d);
        draft.broken = true;
    }
}

/// A pattern for values of another type.
fn cannot_match(
    ix: &Index,
    report: &mut Report,
    span: Span,
    what: &str,
    ty: &Type,
    draft: &mut Draft,
) -> Pattern {
    if *ty != Type::Error {
        let have = ix.show(ty);
        let message = format!("a pattern for `{what}` cannot match a value of type `{have}`");
        let d = error(Code::E0514, span, message)
            .here(format!("the value is `{have}`"))
            .help(format!("write a pattern for `{have}`, or `_`"));
        report.report_at(d);
    }
    draft.broken = true;
    Pattern::Wild
}

// ---------------------------------------------------------------- structure

fn tuple_pattern(
    cx: &mut Cx,
    items: &[Pat],
    ty: &Type,
    value: Option<&Expr>,
    span: Span,
    draft: &mut Draft,
) -> Pattern {
    let parts: &[Expr] = match value.map(|value| &*value.kind) {
        Some(ExprKind::Tuple(parts)) => parts,
        _ => &[],
    };
    match ty {
        Type::Unit if items.is_empty() => Pattern::Wild,
        Type::Tuple(types) if types.len() == items.len() => {
            let items = items.iter().zip(types).enumerate();
            Pattern::Tuple(
                items
                    .map(|(at, (item, ty))| part_pattern(cx, item, ty, parts.get(at), draft))
                    .collect(),
            )
        }
        Type::Tuple(types) => {
            let have = cx.ix.show(ty);
            let message = format!(
                "a pattern of {} cannot match a tuple of {}",
                plural(items.len(), "component"),
                types.len()
            );
            let d = error(Code::E0514, span, message)
                .here(format!("the value is `{have}`"))
                .help(format!("write a pattern for each component of `{have}`"));
            cx.report.report_at(d);
            draft.broken = true;
            Pattern::Wild
        }
        _ => {
            let what = format!("({})", vec!["_"; items.len()].join(", "));
            cannot_match(&cx.ix, &mut cx.report, span, &what, ty, draft)
        }
    }
}

fn array_pattern(
    cx: &mut Cx,
    before: &[Pat],
    rest: Option<Option<LocalId>>,
    after: &[Pat],
    ty: &Type,
    span: Span,
    draft: &mut Draft,
) -> Pattern {
    let count = before.len() + after.len();
    let (row, remaining) = match ty {
        Type::Array(array) => {
            let mut axes = array.axes.clone();
            if let Some(axis) = axes.first_mut() {
                axis.size = match axis.size.offset(-(count as i64)) {
                    size if size.as_constant().is_some_and(|size| size < 0) => size::Expr::zero(),
                    size => size,
                };
            }
            (stmt::without_axes(ty, 1), Type::array(array.elem.clone(), axes))
        }
        Type::Jagged(..) => (row_type(&mut cx.ix, ty).unwrap_or(Type::Error), ty.clone()),
        _ => return cannot_match(&cx.ix, &mut cx.report, span, "[…]", ty, draft),
    };
    let mut parts = |items: &[Pat], cx: &mut Cx| -> Vec<Pattern> {
        items.iter().map(|item| part_pattern(cx, item, &row, None, draft)).collect()
    };
    let before = parts(before, cx);
    let after = parts(after, cx);
    let rest = rest.map(|name| name.map(|local| bind_pattern(cx, local, remaining, None, draft)));
    Pattern::Array { before, rest, after }
}

/// What one step along an array, a jagged array or a text gives.
pub(super) fn row_type(ix: &mut Index, ty: &Type) -> Option<Type> {
    match ty {
        Type::Array(_) => Some(stmt::without_axes(ty, 1)),
        Type::Jagged(elem, depth) if *depth > 2 => Some(Type::Jagged(elem.clone(), depth - 1)),
        Type::Jagged(elem, _) => {
            let size = ix.unknown_size(false);
            Some(Type::array((**elem).clone(), vec![Axis::anonymous(size)]))
        }
        Type::Str => Some(Type::Str),
        Type::Range => Some(Type::I32),
        Type::Error => Some(Type::Error),
        Type::Unit
        | Type::Scalar(_)
        | Type::AnyRank(_)
        | Type::Tuple(_)
        | Type::Data(..)
        | Type::Template(..)
        | Type::Signature(_) => None,
    }
}

fn data_pattern(
    cx: &mut Cx,
    (def, variant): (DefId, usize),
    fields: &[(Name, Pat)],
    rest: bool,
    ty: &Type,
    span: Span,
    draft: &mut Draft,
) -> Pattern {
    let (Some(id), Some(declared)) =
        (data::data_id(&mut cx.infer, &mut cx.ix, def), data::declared(cx.hir, def, variant))
    else {
        draft.broken = true;
        return Pattern::Wild;
    };
    let args = match ty {
        Type::Data(have, args) if *have == id => args.clone(),
        _ => {
            let name = cx.ix.data[id].name;
            return cannot_match(&cx.ix, &mut cx.report, span, name.as_str(), ty, draft);
        }
    };
    let types = data::field_types(cx, def, variant, &args);
    let positional = declared.shape != VariantShape::Struct;
    let numbered = fields.iter().any(|(name, _)| name.sym.as_str().starts_with(char::is_numeric));
    let count_differs = positional && !rest && fields.len() != declared.fields.len();
    if count_differs || numbered && !positional {
        let message = format!(
            "`{declared}` has {}, but the pattern has {}",
            plural(declared.fields.len(), "field"),
            fields.len()
        );
        let d = error(Code::E0508, span, message)
            .here("a wrong number of fields")
            .help(format!("write `{}`", declared.written().replace('…', "_")));
        cx.report.report_at(declared.point_at(d));
        draft.broken = true;
        return Pattern::Wild;
    }
    let mut parts: Vec<Option<Pattern>> = declared.fields.iter().map(|_| None).collect();
    for (name, field) in fields {
        match declared.position(name.sym) {
            Some(at) => {
                let ty = types.get(at).cloned().unwrap_or(Type::Error);
                if ty == Type::Error && !matches!(field.kind, PatKind::Wild) {
                    cx.report.unknown_inside(&declared.to_string(), field.span);
                    draft.broken = true;
                }
                parts[at] = Some(part_pattern(cx, field, &ty, None, draft));
            }
            None => {
                cx.report.report_at(declared.no_field(*name));
                draft.broken = true;
            }
        }
    }
    let missing: Vec<_> = parts
        .iter()
        .zip(declared.fields)
        .filter(|(part, _)| part.is_none())
        .map(|(_, field)| format!("`{}`", field.name))
        .collect();
    if !missing.is_empty() && !rest && !draft.broken {
        let message = format!("the pattern does not mention {}", missing.join(", "));
        let d = error(Code::E0508, span, message)
            .here(format!("`{declared}` has {}", plural(declared.fields.len(), "field")))
            .help("match the field, or write `..` for the rest");
        cx.report.report_at(declared.point_at(d));
        draft.broken = true;
    }
    let fields = parts.into_iter().map(|part| part.unwrap_or(Pattern::Wild)).collect();
    Pattern::Data { variant, fields }
}
