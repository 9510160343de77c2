//! Contracts where several values may stand for one: branches, arms, clauses, rows.
//!
//! Values that one expression may have agree in layout as well as in type (rule 5), and where the
//! result is declared, each of them is held to that by itself: its names, and its extents under what
//! the conditions on the way to it say.

use super::state::{Build, Index, Report};
use super::symbolic::SizeRelation;
use super::{
    Cx, annotation, arms, binary, coerce, error, expr, fields, show, stmt, template, vars,
};
use crate::hir::{Dim, DimKind};
use ein_base::{Code, Symbol};
use ein_ir::size;
use ein_ir::tensor::{Axis, Coord, Expr, ExprKind, Pattern, Type};

/// What is declared of one axis.
pub(super) struct Stated {
    pub name: Option<Symbol>,
    pub size: Option<size::Expr>,
}

/// The first axis at which two layouts do not fit together.
pub(super) fn clashing_axis(ix: &Index, a: &[Axis], b: &[Axis]) -> Option<usize> {
    let has = |axes: &[Axis], at: usize, name: Symbol| {
        let mut others = axes.iter().enumerate().filter(|(other, _)| *other != at);
        others.any(|(_, axis)| axis.coord.is_some_and(|coord| coord.name == name))
    };
    a.iter().zip(b).enumerate().position(|(at, (p, q))| {
        let (Some(p), Some(q)) = (p.coord, q.coord) else { return false };
        if p.name == q.name {
            return false;
        }
        // The same names in another order.
        let swapped = has(a, at, q.name) && has(b, at, p.name);
        match (p.contract, q.contract) {
            (true, true) if p.root() != q.root() => true,
            // Roles that definitions gave to one coordinate may change places.
            (true, true) => swapped && is_declared_role(ix, p) && is_declared_role(ix, q),
            (true, false) | (false, true) => swapped,
            (false, false) => false,
        }
    })
}

fn is_declared_role(ix: &Index, coord: Coord) -> bool {
    coord.over.is_none() || ix.declared_roles.contains(&(coord.name, coord.root()))
}

/// The arrays at one place of two types whose layouts do not fit together, and the axis at which.
pub(super) fn clash<'t>(
    ix: &Index,
    a: &'t Type,
    b: &'t Type,
) -> Option<(&'t [Axis], &'t [Axis], usize)> {
    let any = |xs: &'t [Type], ys: &'t [Type]| xs.iter().zip(ys).find_map(|(x, y)| clash(ix, x, y));
    match (a, b) {
        (Type::Array(x), Type::Array(y)) if x.axes.len() == y.axes.len() => {
            let axis = clashing_axis(ix, &x.axes, &y.axes);
            let found = axis.map(|axis| (&x.axes[..], &y.axes[..], axis));
            found.or_else(|| clash(ix, &x.elem, &y.elem))
        }
        (Type::Tuple(x), Type::Tuple(y)) => any(x, y),
        (Type::Data(m, x), Type::Data(n, y)) if m == n => any(x, y),
        (Type::Jagged(x, _), Type::Jagged(y, _)) | (Type::AnyRank(x), Type::AnyRank(y)) => {
            clash(ix, x, y)
        }
        (Type::Signature(x), Type::Signature(y)) => {
            any(&x.params, &y.params).or_else(|| clash(ix, &x.ret, &y.ret))
        }
        _ => None,
    }
}

/// Holds two values that may stand for each other to one layout, the arrays inside of tuples and
/// structs as well; says whether they have one.
pub(super) fn agree_in_layout(
    ix: &Index,
    report: &mut Report,
    a: &Expr,
    b: &Expr,
    what: &str,
) -> bool {
    let Some((first, second, axis)) = clash(ix, &a.ty, &b.ty) else { return true };
    // What an `Err` says of the value that is not there is said by its context.
    if !holds_arrays(a) || !holds_arrays(b) {
        return true;
    }
    let (x, y) = (show::show_coords(first), show::show_coords(second));
    let name =
        |axes: &[Axis]| axes[axis].coord.map_or("_".to_string(), |coord| coord.name.to_string());
    let message = format!("{what} differ in layout: {x} and {y}");
    let d = error(Code::E0311, b.span, message)
        .here(format!("axis {axis} is `{}`", name(second)))
        .label(a.span, format!("axis {axis} is `{}`", name(first)))
        .help("give both the same coordinates in the same order, by indexing one by name");
    let d = ix.with_declaration(d, b);
    report.report_at(d);
    false
}

/// Whether a value may hold an array: a variant that is made here says it by its fields.
fn holds_arrays(value: &Expr) -> bool {
    match &*value.kind {
        ExprKind::Block { value, .. } => holds_arrays(value),
        ExprKind::Make { fields, .. } => fields.iter().any(holds_arrays),
        _ => !matches!(value.ty, Type::Scalar(_) | Type::Str | Type::Unit),
    }
}

/// The type of several values of which an expression has one: they agree in layout, and in type but
/// for extents. `what` says which they are.
pub(super) fn join_values<'e>(
    ix: &mut Index,
    report: &mut Report,
    values: impl IntoIterator<Item = &'e Expr>,
    what: &str,
) -> Option<Type> {
    let values: Vec<&Expr> = values.into_iter().collect();
    if !all_agree_in_layout(ix, report, &values, what) {
        return None;
    }
    let (first, others) = values.split_first()?;
    let mut ty = first.ty.clone();
    for other in others {
        let Some(joined) = coerce::join_types(ix, &ty, &other.ty) else {
            let (x, y) = (ix.show(&ty), ix.show(&other.ty));
            let against = values.iter().find(|value| value.ty == ty).unwrap_or(first);
            let d = error(Code::E0505, other.span, format!("{what} disagree: `{x}` and `{y}`"))
                .here(format!("this is `{y}`"))
                .label(against.span, format!("this is `{x}`"))
                .help("make all of them values of one type");
            let d = binary::numeric_help(ix, d, against, other);
            report.report_at(d);
            return None;
        };
        ty = joined;
    }
    Some(ty)
}

/// Holds several values that may stand for each other to one layout.
pub(super) fn all_agree_in_layout(
    ix: &Index,
    report: &mut Report,
    values: &[&Expr],
    what: &str,
) -> bool {
    let mut known = values.iter().filter(|value| !value.ty.is_broken());
    let Some(first) = known.next() else { return true };
    known.all(|other| agree_in_layout(ix, report, first, other, what))
}

/// What dimensions state of axes, as far as it is known before a value is there.
pub(super) fn stated(cx: &mut Cx, dims: &[Dim]) -> Vec<Stated> {
    dims.iter()
        .map(|dim| match &dim.kind {
            DimKind::Unknown | DimKind::Pack(_) => Stated { name: None, size: None },
            DimKind::Size(e) => Stated { name: None, size: stmt::constant_extent(cx, *e) },
            DimKind::Coord { name, extent: Some(e), .. } => {
                Stated { name: Some(name.sym), size: stmt::constant_extent(cx, *e) }
            }
            DimKind::Coord { name, extent: None, over } => {
                let size = cx.ix.f.coord_sizes.get(&over.unwrap_or(*name).sym).cloned();
                Stated { name: Some(name.sym), size }
            }
        })
        .collect()
}

/// Holds every value that an expression may have to what is declared of it. Says whether all is
/// well, and what is proved of its extents.
pub(super) fn check_paths(
    ix: &mut Index,
    report: &mut Report,
    value: &Expr,
    stated: &[Stated],
    what: &str,
) -> bool {
    match &*value.kind {
        ExprKind::Block { value, .. } => check_paths(ix, report, value, stated, what),
        ExprKind::If { .. } | ExprKind::Match { .. } => {
            check_path(ix, report, value, stated, what, false)
        }
        _ => true,
    }
}

/// The same for one of the values. `surely`: only what differs whatever is known on the way to it is
/// reported.
fn check_path(
    ix: &mut Index,
    report: &mut Report,
    value: &Expr,
    stated: &[Stated],
    what: &str,
    surely: bool,
) -> bool {
    let known = ix.f.facts.len();
    let mut fine = true;
    match &*value.kind {
        ExprKind::Block { value, .. } => check_path(ix, report, value, stated, what, surely),
        ExprKind::If { cond, then, otherwise } => {
            for (branch, holds) in [(then, true), (otherwise, false)] {
                ix.assume_here(cond, holds);
                fine &= check_path(ix, report, branch, stated, what, surely);
                ix.f.facts.truncate(known);
            }
            fine
        }
        ExprKind::Match { value: matched, arms } => {
            // How long an array is, an arm knows by its pattern, which is not known here: only
            // what differs anyway counts.
            let surely = surely || arms.iter().any(|arm| measures(&arm.pattern));
            for (at, arm) in arms.iter().enumerate() {
                let above = arms[..at].iter().map(|arm| (&arm.pattern, arm.guard.as_ref()));
                arms::assume_arm(ix, matched, above, (&arm.pattern, arm.guard.as_ref()));
                fine &= check_path(ix, report, &arm.value, stated, what, surely);
                ix.f.facts.truncate(known);
            }
            fine
        }
        _ => check_leaf(ix, report, value, stated, what, surely),
    }
}

/// The names of a value's axes against those of a type.
pub(super) fn holds_names(
    ix: &Index,
    report: &mut Report,
    value: &Expr,
    axes: &[Axis],
    what: &str,
) -> bool {
    let names: Vec<Option<Symbol>> =
        axes.iter().map(|axis| axis.coord.map(|coord| coord.name)).collect();
    value.ty.rank() != names.len()
        || annotation::check_names(ix, report, value, &names, what, value.span)
}

/// Holds the arrays in a value to the names and extents of a type; gives the type that it has
/// then, or nothing if a mistake was reported.
pub(super) fn adopt_type(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    value: &Expr,
    ty: &Type,
    what: &str,
) -> Option<Type> {
    match (&value.ty, ty) {
        (Type::Array(have), Type::Array(want)) if have.axes.len() == want.axes.len() => {
            if !holds_names(ix, report, value, &want.axes, what) {
                return None;
            }
            let reported = report.diagnostics.len();
            coerce::expect_sizes(ix, build, report, value, &known_sizes(ix, ty, &value.ty), what);
            if report.diagnostics.len() > reported {
                return None;
            }
            let axes = have.axes.iter().zip(&want.axes).map(|(have, want)| Axis {
                coord: want.coord.or(have.coord),
                size: have.size.clone(),
            });
            Some(Type::array(have.elem.clone(), axes.collect()))
        }
        (Type::Tuple(have), Type::Tuple(want)) if have.len() == want.len() => {
            let mut items = Vec::with_capacity(have.len());
            for (position, (have, want)) in have.iter().zip(want).enumerate() {
                let item = match &*value.kind {
                    ExprKind::Tuple(items) => items[position].clone(),
                    _ => Expr::new(ExprKind::Error, have.clone(), value.span),
                };
                items.push(adopt_type(ix, build, report, &item, want, what)?);
            }
            Some(Type::Tuple(items.into()))
        }
        // What fields hold of it is said by the type arguments.
        (Type::Data(id, have), Type::Data(other, want)) if id == other => {
            let mut args = Vec::with_capacity(have.len());
            for (have, want) in have.iter().zip(want) {
                let arg = Expr::new(ExprKind::Error, have.clone(), value.span);
                args.push(match open_inside(ix, have) {
                    true => have.clone(),
                    false => adopt_type(ix, build, report, &arg, want, what)?,
                });
            }
            Some(Type::Data(*id, args.into()))
        }
        (have, _) => Some(have.clone()),
    }
}

/// Whether an extent in a type has no meaning at run time yet.
pub(super) fn open_inside(ix: &Index, ty: &Type) -> bool {
    match ty {
        Type::Array(array) => {
            array.axes.iter().any(|axis| ix.unsettled(&axis.size).is_some())
                || open_inside(ix, &array.elem)
        }
        Type::Tuple(items) | Type::Data(_, items) => items.iter().any(|item| open_inside(ix, item)),
        Type::AnyRank(_)
        | Type::Jagged(..)
        | Type::Template(..)
        | Type::Signature(_)
        | Type::Unit
        | Type::Scalar(_)
        | Type::Str
        | Type::Range
        | Type::Error => false,
    }
}

/// A tuple or struct whose parts are held to a type one by one, each in a variable where its
/// extents are known only when it is there.
pub(super) fn hold_record(cx: &mut Cx, value: Expr, ty: &Type, what: &str) -> Expr {
    let span = value.span;
    if let Some((path, code)) = other_on_a_path(&value, ty) {
        let (have, want) = (cx.ix.show(&path.ty), cx.ix.show(ty));
        let message = format!("{what} is `{want}`, but on this path it is `{have}`");
        let d = error(code, path.span, message)
            .here(format!("this is `{have}`"))
            .help(format!("make it `{want}` on every path"));
        return cx.report.fail(d);
    }
    let value = match open_inside(&cx.ix, &value.ty) && fields::is_record(&cx.ix, &value.ty) {
        true => match settle_record(cx, value, ty, what) {
            Some(value) => value,
            None => return Expr::error(span),
        },
        false => value,
    };
    match adopt_type(&mut cx.ix, &mut cx.build, &mut cx.report, &value, ty, what) {
        Some(ty) => Expr { ty, ..value },
        None => Expr::error(span),
    }
}

/// One of several values that an expression may have which is certainly of another type than is
/// wanted: what they have in common says no more of that extent.
fn other_on_a_path<'e>(value: &'e Expr, ty: &Type) -> Option<(&'e Expr, Code)> {
    let on = |path: &'e Expr| {
        let inner = other_on_a_path(path, ty);
        inner.or_else(|| template::signature::differs(&path.ty, ty).map(|code| (path, code)))
    };
    match &*value.kind {
        ExprKind::Block { value, .. } => other_on_a_path(value, ty),
        ExprKind::If { then, otherwise, .. } => on(then).or_else(|| on(otherwise)),
        ExprKind::Match { arms, .. } => arms.iter().find_map(|arm| on(&arm.value)),
        _ => None,
    }
}

/// The same value with its parts in variables, each of them held to its part of the type.
fn settle_record(cx: &mut Cx, value: Expr, ty: &Type, what: &str) -> Option<Expr> {
    let span = value.span;
    let parts = match &*value.kind {
        ExprKind::Tuple(items) => items.clone(),
        ExprKind::Make { fields, .. } => fields.clone(),
        _ => {
            let whole = vars::atomise(&mut cx.ix, &mut cx.build, value.clone());
            fields::parts_of(cx, &whole).into_iter().map(|(_, part)| part).collect()
        }
    };
    let wanted = fields::part_types(cx, ty);
    let mut held = Vec::with_capacity(parts.len());
    for (part, want) in parts.into_iter().zip(&wanted) {
        let part = match fields::is_record(&cx.ix, &part.ty) {
            true => hold_record(cx, part, want, what),
            false => {
                let part = expr::settle_expr(&mut cx.ix, &mut cx.build, part);
                let ty = adopt_type(&mut cx.ix, &mut cx.build, &mut cx.report, &part, want, what)?;
                Expr { ty, ..part }
            }
        };
        if part.ty.is_broken() {
            return None;
        }
        held.push(part);
    }
    Some(match ty {
        // Its fields are what the type says of them, where it says something.
        Type::Data(data, args) if !open_inside(&cx.ix, ty) => {
            let kind = ExprKind::Make { data: *data, variant: 0, fields: held };
            Expr::new(kind, Type::Data(*data, args.clone()), span)
        }
        Type::Data(..) => value,
        _ => {
            let types = held.iter().map(|part| part.ty.clone()).collect();
            Expr::new(ExprKind::Tuple(held), Type::Tuple(types), span)
        }
    })
}

/// A type with the extents of another one where it leaves its own open.
fn known_sizes(ix: &Index, ty: &Type, other: &Type) -> Type {
    let axes = ty.axes().iter().zip(other.axes()).map(|(axis, other)| {
        let open = ix.unsettled(&axis.size).is_some();
        Axis { coord: axis.coord, size: if open { &other.size } else { &axis.size }.clone() }
    });
    Type::array(ty.elem().clone(), axes.collect())
}

/// One value. `surely`: only what differs whatever is known on the way to it is reported.
pub(super) fn check_leaf(
    ix: &Index,
    report: &mut Report,
    value: &Expr,
    stated: &[Stated],
    what: &str,
    surely: bool,
) -> bool {
    if value.ty.has_error() || value.ty.rank() != stated.len() {
        return true;
    }
    let names: Vec<Option<Symbol>> = stated.iter().map(|stated| stated.name).collect();
    if !annotation::check_names(ix, report, value, &names, what, value.span) {
        return false;
    }
    for (position, stated) in stated.iter().enumerate() {
        let Some(wanted) = &stated.size else { continue };
        let have = value.ty.axes()[position].size.clone();
        let differs = match have.sub(wanted).as_constant() {
            Some(difference) => difference != 0,
            None => {
                !surely
                    && ix.unsettled(&have).is_none()
                    && ix.compare_sizes(&have, wanted) == SizeRelation::Different
            }
        };
        if !differs {
            continue;
        }
        let axis = show::show_axis(stated.name, position);
        let (have, want) = (ix.show_size(&have), ix.show_size(wanted));
        let d = error(
            Code::E0405,
            value.span,
            format!("{axis} has extent {have} on this path, but {what} says {want}"),
        )
        .here(format!("this is `{}`", ix.show(&value.ty)))
        .help(format!("make it {want} on every path, or state what it is: `some k. […; k]`"));
        report.report_at(d);
        return false;
    }
    true
}

/// Whether a pattern says how long an array is.
fn measures(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Array { .. } => true,
        Pattern::At(_, inner) => measures(inner),
        Pattern::Tuple(items) => items.iter().any(measures),
        Pattern::Data { fields, .. } => fields.iter().any(measures),
        Pattern::Or(items) => items.iter().any(measures),
        Pattern::Wild
        | Pattern::Bind(_)
        | Pattern::Literal(_)
        | Pattern::Str(_)
        | Pattern::Range { .. } => false,
    }
}
