//! Texts with insertions, and array literals.

use super::literal::Class;
use super::state::{Build, Index, Infer, Report};
use super::symbolic::SizeRelation;
use super::{Cx, binary, choice, close, coerce, error, expr, layouts, literal, stmt, widen};
use crate::hir::{self, ExprId, ExprKind as H, StrPart};
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{Axis, Expr, ExprKind, FormatSpec, HostOp, Type};
use ein_scalar::Scalar;

// ---------------------------------------------------------------- texts

pub(super) fn string(cx: &mut Cx, parts: &[StrPart], span: Span) -> Expr {
    let texts: Option<String> = parts
        .iter()
        .map(|part| match part {
            StrPart::Text(text) => Some(text.as_str()),
            StrPart::Value(..) => None,
        })
        .collect();
    if let Some(text) = texts {
        return Expr::new(ExprKind::Str(Symbol::intern(&text)), Type::Str, span);
    }
    let mut specs = Vec::new();
    let mut args = Vec::new();
    for part in parts {
        match part {
            StrPart::Text(text) => {
                specs.push(None);
                args.push(Expr::new(ExprKind::Str(*text), Type::Str, span));
            }
            StrPart::Value(id, spec) => {
                let value = close::open_value(cx, *id, None, None);
                let spec = spec.as_ref().map(format_spec);
                if let Some(spec) = &spec {
                    check_format(&cx.ix, &mut cx.report, &value, spec);
                }
                specs.push(spec);
                args.push(value);
            }
        }
    }
    if args.iter().any(|arg| arg.ty == Type::Error) {
        return Expr::new(ExprKind::Error, Type::Str, span);
    }
    Expr::new(ExprKind::Host(HostOp::Format(specs), args), Type::Str, span)
}

/// Whether values of a type can be written in this format at all.
fn check_format(ix: &Index, report: &mut Report, value: &Expr, spec: &FormatSpec) {
    let elem = match &value.ty {
        Type::AnyRank(elem) | Type::Jagged(elem, _) => elem,
        ty => ty.elem(),
    };
    let tried = match elem {
        Type::Scalar(ty) => ein_scalar::format(Scalar::zero(*ty), spec),
        Type::Error => return,
        Type::Str
        | Type::Unit
        | Type::Tuple(_)
        | Type::Data(..)
        | Type::Template(..)
        | Type::Signature(_)
        | Type::Range
        | Type::Array(_)
        | Type::AnyRank(_)
        | Type::Jagged(..) => ein_scalar::format_str("", spec),
    };
    if let Err(reason) = tried {
        let have = ix.show(&value.ty);
        let d = error(Code::E0502, value.span, format!("this format does not fit: {reason}"))
            .here(format!("this is `{have}`"))
            .help("`f`, `e`, `g` and `%` write numbers, `d`, `x`, `b` and `o` integers, `s` texts");
        report.report_at(d);
    }
}

// ---------------------------------------------------------------- arrays

/// `[a, b]`: elements, or rows of one shape.
pub(super) fn array(cx: &mut Cx, items: &[ExprId], want: Option<&Type>, span: Span) -> Expr {
    if items.is_empty() {
        return empty_array(&cx.ix, want, span);
    }
    let row = want.map(wanted_row).filter(|row| *row != Type::Error);
    let mut items = self::items(cx, items, row.as_ref());
    widen::widen_all(&mut cx.ix, &mut cx.build, &mut cx.report, &mut items);
    if items.iter().any(|item| item.ty == Type::Error) {
        return Expr::error(span);
    }
    if let Some(Type::Jagged(elem, depth)) = want {
        return jagged_array(cx, items, elem, *depth, span);
    }
    let Cx { infer, ix, build, report, .. } = cx;
    let Some(items) = choice::choose_items(infer, ix, build, report, items) else {
        return Expr::error(span);
    };
    let rows: Vec<&Expr> = items.iter().collect();
    if !layouts::all_agree_in_layout(&cx.ix, &mut cx.report, &rows, "the rows of this array") {
        return Expr::error(span);
    }
    let Some(row) = common_row(&mut cx.ix, &mut cx.build, &mut cx.report, &items) else {
        return Expr::error(span);
    };
    let count = Axis::anonymous(size::Expr::constant(items.len() as i64));
    let ty = match &row {
        Type::Jagged(elem, depth) => Type::Jagged(elem.clone(), depth + 1),
        Type::AnyRank(elem) => Type::AnyRank(elem.clone()),
        _ => Type::array(row.clone(), vec![count]),
    };
    let items = items.into_iter().map(|item| super::arms::complete(item, &row)).collect();
    Expr::new(ExprKind::Array(items), ty, span)
}

impl Infer<'_> {
    /// Whether an expression is written `[]`, or is a name of that.
    pub(super) fn is_empty(&self, id: ExprId) -> bool {
        match &self.hir.exprs[id].kind {
            H::Array(items) => items.is_empty(),
            H::Local(local) => self.empties.contains(local),
            _ => false,
        }
    }
}

/// `[]`
pub(super) fn empty_array(ix: &Index, want: Option<&Type>, span: Span) -> Expr {
    let none = || Axis::anonymous(size::Expr::zero());
    let ty = match want {
        // Nothing says what it would hold.
        None => Type::array(Type::I32, vec![none()]),
        Some(Type::Error) => return Expr::error(span),
        Some(ty @ (Type::Jagged(..) | Type::AnyRank(_))) => ty.clone(),
        Some(Type::Array(array)) => {
            let mut axes = array.axes.clone();
            for axis in &mut axes[1..] {
                if ix.unsettled(&axis.size).is_some() {
                    axis.size = size::Expr::zero();
                }
                axis.coord = None;
            }
            axes[0] = none();
            Type::array(array.elem.clone(), axes)
        }
        Some(elem) => Type::array(elem.clone(), vec![none()]),
    };
    Expr::new(ExprKind::Array(Vec::new()), ty, span)
}

/// What is asked of one row where an array is asked for. A type that is not an array is that
/// of the elements, however deep.
pub(super) fn wanted_row(want: &Type) -> Type {
    match want {
        Type::Array(_) => stmt::without_axes(want, 1),
        Type::Jagged(elem, depth) if *depth > 2 => Type::Jagged(elem.clone(), depth - 1),
        Type::Jagged(elem, _) | Type::AnyRank(elem) => (**elem).clone(),
        other => other.clone(),
    }
}

/// All items: literals take the type of the others, empty arrays that of a row.
fn items(cx: &mut Cx, items: &[ExprId], want: Option<&Type>) -> Vec<Expr> {
    let classes: Vec<_> = items.iter().map(|item| literal::literal_class(cx.hir, *item)).collect();
    let record = |item: &ExprId| expr::branch::is_open_record(cx.hir, *item);
    let records = want.is_none() && !items.iter().all(record);
    let open = |item: &ExprId| cx.infer.is_empty(*item) || records && record(item);
    let empty: Vec<bool> = items.iter().map(open).collect();
    let mut checked: Vec<Option<Expr>> = items.iter().map(|_| None).collect();
    for (position, item) in items.iter().enumerate() {
        if classes[position].is_none() && !empty[position] {
            checked[position] = Some(self::item(cx, *item, want));
        }
    }
    let other = widest(checked.iter().flatten());
    let class: Option<Class> = classes.iter().copied().flatten().max();
    let literal = class.map(|class| Type::Scalar(literal::literal_type(class, want)));
    for (position, item) in items.iter().enumerate() {
        if classes[position].is_some() {
            let hint = match &other {
                Some(other) => expr::branch::literal_hint(classes[position], other, want),
                None => literal.clone(),
            };
            // Rows of a jagged array are jagged, whatever their elements are.
            let hint = match (want, hint) {
                (Some(Type::Jagged(_, depth)), Some(elem @ Type::Scalar(_))) => {
                    Some(Type::Jagged(Box::new(elem), *depth))
                }
                (_, hint) => hint,
            };
            checked[position] = Some(self::item(cx, *item, hint.as_ref()));
        }
    }
    let row = checked.iter().flatten().map(|item| item.ty.clone()).find(|ty| *ty != Type::Error);
    for (position, item) in items.iter().enumerate() {
        if empty[position] {
            checked[position] = Some(self::item(cx, *item, row.as_ref().or(want)));
        }
    }
    checked.into_iter().flatten().collect()
}

/// The number, or array of numbers, that is of the widest type among values that become one type.
pub(super) fn widest<'e>(values: impl Iterator<Item = &'e Expr>) -> Option<Expr> {
    let numbers = values.filter(|value| value.ty.scalar().is_some());
    let wider = |a: &'e Expr, b: &'e Expr| match (a.ty.scalar(), b.ty.scalar()) {
        (Some(x), Some(y)) if super::widen::holds(y, x) => b,
        _ => a,
    };
    numbers.reduce(wider).cloned()
}

/// One item; a function takes the signature that is asked for.
fn item(cx: &mut Cx, id: ExprId, want: Option<&Type>) -> Expr {
    let value = expr::expr(cx, id, want);
    match (want, &value.ty) {
        (Some(Type::Signature(..)), Type::Template(..)) => match want {
            Some(want) => coerce::expect_type(cx, value, want, "an item of this array"),
            None => value,
        },
        _ => value,
    }
}

/// The type that all items have, with equal sizes.
fn common_row(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    items: &[Expr],
) -> Option<Type> {
    let (first, others) = items.split_first()?;
    let mut row = first.ty.clone();
    for (position, item) in (1..).zip(others) {
        if !coerce::same_kind(&row, &item.ty) {
            another_type(ix, report, first, item, position);
            return None;
        }
        if !same_sizes(ix, build, report, first, item, position) {
            return None;
        }
        let joined = coerce::join_types(ix, &row, &item.ty)?;
        row = match (joined, &row) {
            // The sizes are equal: those of the first row stay.
            (Type::Array(joined), Type::Array(known)) => {
                let axes = known.axes.iter().zip(item.ty.axes()).map(|(a, b)| {
                    let same = a.coord.zip(b.coord).is_none_or(|(a, b)| a.name == b.name);
                    let coord = a.coord.or(b.coord).filter(|_| same);
                    Axis { coord, size: a.size.clone() }
                });
                Type::array(joined.elem.clone(), axes.collect())
            }
            (joined, _) => joined,
        };
    }
    Some(row)
}

fn another_type(ix: &Index, report: &mut Report, first: &Expr, item: &Expr, position: usize) {
    let is_number = |ty: &Type| ty.scalar().is_some_and(super::is_numeric);
    let (x, y) = (ix.show(&first.ty), ix.show(&item.ty));
    let d = error(
        Code::E0501,
        item.span,
        format!("all items of an array have one type: item 0 is `{x}`, item {position} is `{y}`"),
    )
    .here(format!("this is `{y}`"))
    .label(first.span, format!("this is `{x}`"));
    let d = match (&first.ty, &item.ty) {
        (Type::Template(..) | Type::Signature(_), Type::Template(..) | Type::Signature(_)) => {
            d.help("say what the functions take and give: `let fs: [(f32) -> f32] = …`")
        }
        (a, b) if is_number(a) && is_number(b) && a.rank() == b.rank() => {
            binary::numeric_help(ix, d, first, item)
        }
        _ => d.help("use a tuple for values of different types: `(a, b)`"),
    };
    report.report_at(d);
}

/// Rows must have equal lengths: by their types, or compared at run time.
fn same_sizes(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    first: &Expr,
    item: &Expr,
    position: usize,
) -> bool {
    for (a, b) in first.ty.axes().iter().zip(item.ty.axes()) {
        match ix.compare_sizes(&a.size, &b.size) {
            SizeRelation::Equal => {}
            SizeRelation::AtRunTime if ix.unsettled(&b.size).is_some() => {}
            SizeRelation::AtRunTime => {
                let what = format!("rows 0 and {position} of an array");
                coerce::require(ix, build, a.size.clone(), b.size.clone(), what, item.span);
            }
            SizeRelation::Different => {
                let (x, y) = (ix.show_size(&a.size), ix.show_size(&b.size));
                let d = error(
                        Code::E0416,
                        item.span,
                        format!("the rows of an array have one length: row 0 has {x}, row {position} has {y}"),
                    )
                    .here(format!("{y} here"))
                    .label(first.span, format!("{x} here"))
                    .help("for rows of unequal lengths say so: `let x: jagged[f32] = …`");
                report.report_at(d);
                return false;
            }
        }
    }
    true
}

/// Rows of unequal lengths, where the context asks for that.
fn jagged_array(cx: &mut Cx, items: Vec<Expr>, elem: &Type, depth: u32, span: Span) -> Expr {
    // Where a type parameter is asked for, the rows say what it is.
    let elem = match items.first().map(|item| &item.ty) {
        Some(Type::Array(array)) if elem.has_error() => &array.elem.clone(),
        Some(Type::Jagged(found, _)) if elem.has_error() => &found.clone(),
        _ => elem,
    };
    let ty = Type::Jagged(Box::new(elem.clone()), depth);
    let mut rows = Vec::new();
    for item in items {
        let row = match &item.ty {
            Type::Array(array) if array.axes.len() == 1 && depth == 2 => {
                if coerce::same_kind(&array.elem, elem) {
                    item
                } else {
                    let open = cx.ix.unknown_size(true);
                    let row = Type::array(elem.clone(), vec![Axis::anonymous(open)]);
                    let d = coerce::mismatch(&cx.ix, &item, &row, "a row of this jagged array");
                    cx.report.fail(d)
                }
            }
            _ if depth > 2 => {
                let row = Type::Jagged(Box::new(elem.clone()), depth - 1);
                coerce::expect_type(cx, item, &row, "a row of this jagged array")
            }
            _ => {
                let have = cx.ix.show(&item.ty);
                let d = error(
                    Code::E0501,
                    item.span,
                    format!("a row of `{}` is an array, but this is `{have}`", cx.ix.show(&ty)),
                )
                .here("not a row")
                .help("write each row in brackets: `[[1, 2], [3]]`");
                cx.report.fail(d)
            }
        };
        if row.ty == Type::Error {
            return Expr::new(ExprKind::Error, ty, span);
        }
        rows.push(row);
    }
    Expr::new(ExprKind::Array(rows), ty, span)
}

/// A format specification as the run-time library knows it.
fn format_spec(spec: &hir::FormatSpec) -> FormatSpec {
    FormatSpec {
        fill: spec.fill,
        align: spec.align.map(|align| match align {
            hir::Align::Left => ein_scalar::Align::Left,
            hir::Align::Centre => ein_scalar::Align::Center,
            hir::Align::Right => ein_scalar::Align::Right,
        }),
        plus: spec.plus,
        zero: spec.zero,
        width: spec.width,
        precision: spec.precision,
        kind: spec.kind,
    }
}
