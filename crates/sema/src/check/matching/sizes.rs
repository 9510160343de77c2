//! The sizes of a signature, found from the extents of the arguments.

use super::super::symbolic::SizeRelation;
use super::super::{Cx, error};
use super::{Equation, Match};
use crate::check::state::{Build, Index, Report};
use crate::check::{coerce, types, vars};
use crate::hir::{self, Dim, DimKind, ExprId, ExprKind as H, Function, LocalId, TypeKind};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::size::{self, Atom};
use ein_ir::tensor::{AtomDef, Axis, Coord, Expr, Type};

/// An extent of the signature with placeholders for the sizes that are not known yet.
pub(super) fn pattern_size(cx: &mut Cx, m: &mut Match, id: ExprId) -> size::Expr {
    let hir = cx.hir;
    match &hir.exprs[id].kind {
        H::Size(local) => {
            if let Some(size) = m.sizes.get(local) {
                return size.clone();
            }
            let atom = match m.placeholders.get(local) {
                Some(atom) => *atom,
                None => {
                    let name = vars::local_name(cx.hir, *local);
                    let atom = cx.ix.new_atom(name, AtomDef::Unknown, false);
                    m.placeholders.insert(*local, atom);
                    atom
                }
            };
            size::Expr::atom(atom)
        }
        H::Binary(op, a, b) => {
            let (a, b) = (pattern_size(cx, m, *a), pattern_size(cx, m, *b));
            match op {
                hir::BinaryOp::Add => a.add(&b),
                hir::BinaryOp::Sub => a.sub(&b),
                hir::BinaryOp::Mul => a.mul(&b),
                hir::BinaryOp::Div => a.div_trunc(&b),
                _ => types::size_value(cx, id),
            }
        }
        _ => types::size_value(cx, id),
    }
}

/// Axes without names that share a size name over several arguments share a coordinate as well.
pub(super) fn bind_size_coord(
    ix: &Index,
    report: &mut Report,
    m: &mut Match,
    extent: ExprId,
    have: Option<Coord>,
    arg: &Expr,
    param: Symbol,
) -> Option<()> {
    let H::Size(local) = ix.hir.exprs[extent].kind else { return Some(()) };
    let Some(have) = have.filter(|coord| coord.contract) else { return Some(()) };
    let Some((known, first, span)) = m.size_coords.get(&local).copied() else {
        m.size_coords.insert(local, (have, param, arg.span));
        return Some(());
    };
    if first == param || known.name == have.name || known.root() == have.root() {
        return Some(());
    }
    let function = super::super::ranges::quote(m.function);
    let (a, b, size) = (known.name, have.name, vars::local_name(ix.hir, local));
    let d = error(
        Code::E0307,
        arg.span,
        format!("size `?{size}` of {function} joins two different coordinates: `{a}` and `{b}`"),
    )
    .here(format!("the axis for `{param}` is `{b}`"))
    .label(span, format!("the axis for `{first}` is `{a}`"))
    .note("their extents may be equal, but they are not the same thing")
    .help(format!("pass arrays that share `{a}`, or rename the coordinate where it is declared"));
    let d = ix.with_declaration(d, arg);
    report.report_at(d);
    None
}

/// The dimensions of arrays inside tuples and among the arguments of data types, with the axes that the
/// parts of an argument have there and the number of the first of them: several where a pack stands for
/// them.
pub(super) fn inside<'t>(ty: &'t hir::Type, have: &Type) -> Vec<(&'t Dim, Vec<Axis>, usize)> {
    match (&ty.kind, have) {
        (TypeKind::Tuple(items), Type::Tuple(parts))
        | (TypeKind::Data(_, items), Type::Data(_, parts)) => {
            let part = |(item, part): (&'t hir::Type, &Type)| {
                let mut found = Vec::new();
                if let TypeKind::Array { dims, .. } = &item.kind {
                    let packs = dims.iter().filter(|dim| matches!(dim.kind, DimKind::Pack(_)));
                    let (packs, mut axes) = (packs.count(), part.axes());
                    let rest = (part.rank() + packs).checked_sub(dims.len());
                    // Two packs may be split in more than one way.
                    if let Some(rest) = rest.filter(|rest| packs == 1 || packs + rest == 0) {
                        for dim in dims {
                            let pack = matches!(dim.kind, DimKind::Pack(_));
                            let at = part.rank() - axes.len();
                            let (own, others) = axes.split_at(if pack { rest } else { 1 });
                            found.push((dim, own.to_vec(), at));
                            axes = others;
                        }
                    }
                }
                found.extend(inside(item, part));
                found
            };
            items.iter().zip(parts.iter()).flat_map(part).collect()
        }
        (TypeKind::Array { elem, .. }, Type::Array(_)) => inside(elem, have.elem()),
        _ => Vec::new(),
    }
}

/// Gives sizes their explicit values: `f[n = 3](…)`.
pub(in crate::check) fn explicit_size(
    cx: &mut Cx,
    m: &mut Match,
    function: &Function,
    name: Name,
    value: ExprId,
) -> bool {
    let Some(local) =
        function.sizes.iter().find(|local| vars::local_name(cx.hir, **local) == name.sym)
    else {
        let d = error(
            Code::E0410,
            name.span,
            format!(
                "{} has no size `?{name}`",
                m.function.map_or("the function".into(), |f| format!("`{f}`"))
            ),
        )
        .here("no such size")
        .help("name a size of the signature");
        cx.report.report_at(d);
        return false;
    };
    let size = types::size_value(cx, value);
    m.sizes.insert(*local, size);
    true
}

/// Solves the equations between the extents of the signature and of the arguments.
pub(in crate::check) fn solve_sizes(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    m: &mut Match,
    function: &Function,
    span: Span,
) -> Option<()> {
    let mut open = std::mem::take(&mut m.equations);
    loop {
        let before = open.len();
        let mut waiting = Vec::new();
        for equation in open {
            if !solve_equation(ix, build, report, m, &equation, span)? {
                waiting.push(equation);
            }
        }
        if waiting.is_empty() {
            break;
        }
        if waiting.len() == before {
            break;
        }
        open = waiting;
    }
    for local in &function.sizes {
        if !m.sizes.contains_key(local) {
            let (name, size) = (m.function?, vars::local_name(ix.hir, *local));
            let d = error(
                Code::E0410,
                span,
                format!("size `?{size}` of `{name}` cannot be inferred from this call"),
            )
            .here("the arguments allow more than one answer")
            .label(function.header, "the signature")
            .help(format!("give it: `{name}[{size} = 3](…)`"));
            report.report_at(d);
            return None;
        }
    }
    Some(())
}

/// Whether an equation is settled; `None` after an error.
fn solve_equation(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    m: &mut Match,
    equation: &Equation,
    span: Span,
) -> Option<bool> {
    let known = |m: &Match, atom: Atom| {
        m.placeholders
            .iter()
            .find(|(_, placeholder)| **placeholder == atom)
            .and_then(|(local, _)| m.sizes.get(local).cloned())
    };
    let pattern = equation.pattern.substitute(&|atom| known(m, atom));
    let open: Vec<(LocalId, Atom)> = m
        .placeholders
        .iter()
        .filter(|(_, atom)| pattern.mentions(**atom))
        .map(|(local, atom)| (*local, *atom))
        .collect();
    match open.as_slice() {
        [] => match ix.compare_sizes(&pattern, &equation.actual) {
            SizeRelation::Equal => Some(true),
            SizeRelation::AtRunTime => {
                let what = format!(
                    "axis {} of {} in the call of {}",
                    equation.axis,
                    super::super::ranges::quote(equation.argument),
                    super::super::ranges::quote(m.function)
                );
                coerce::require(ix, build, equation.actual.clone(), pattern, what, equation.span);
                Some(true)
            }
            SizeRelation::Different => {
                unequal(ix, report, m, &pattern, equation, span);
                None
            }
        },
        [(local, atom)] => {
            let Some((coefficient, rest)) = pattern.affine_in(*atom) else {
                return Some(false);
            };
            let difference = equation.actual.sub(&rest);
            let value = if coefficient == 1 {
                difference
            } else {
                let factor = size::Expr::constant(coefficient);
                let quotient = difference.div_floor(&factor);
                if ix.compare_sizes(&quotient.scale(coefficient), &difference)
                    == SizeRelation::Different
                {
                    unequal(ix, report, m, &pattern, equation, span);
                    return None;
                }
                quotient
            };
            let outside = value.atoms().iter().any(|atom| ix.atoms[*atom].external);
            if !ix.non_negative(&value) && !outside {
                unequal(ix, report, m, &pattern, equation, span);
                return None;
            }
            m.sizes.insert(*local, value);
            Some(true)
        }
        _ => Some(false),
    }
}

fn unequal(
    ix: &Index,
    report: &mut Report,
    m: &Match,
    pattern: &size::Expr,
    equation: &Equation,
    span: Span,
) {
    let function = super::super::ranges::quote(m.function);
    let (have, want) = (ix.show_size(&equation.actual), ix.show_size(pattern));
    let axis = match equation.coord {
        Some(coord) => format!("along `{coord}`, axis {}", equation.axis),
        None => format!("at axis {}", equation.axis),
    };
    let d = error(
        Code::E0411,
        span,
        format!(
            "{function} wants extent {want} {axis} of {}, but it is {have}",
            match (equation.argument, equation.param) {
                (Some(name), _) => format!("`{name}`"),
                (None, Some(param)) => format!("argument `{param}`"),
                (None, None) => "this argument".into(),
            }
        ),
    )
    .here("called here")
    .label(equation.span, format!("extent {have}"))
    .help(format!(
        "pass extent {want} there: sizes of one name in a signature are equal in every call"
    ));
    report.report_at(d);
}

// ---------------------------------------------------------------- result
