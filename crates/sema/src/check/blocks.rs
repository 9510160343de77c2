//! Splitting and joining: views with known sizes, no index arithmetic by the user.

use super::state::{Build, Index, Report};
use super::symbolic::SizeRelation;
use super::{Cx, binary, coerce, error, expr, index, show, vars, widen};
use crate::hir::{Arg, Builtin, CoordArg};
use ein_base::{Code, Span};
use ein_ir::size;
use ein_ir::tensor::{Axis, Bounds, Expr, ExprKind, Type};

/// `first last rest init take drop`
pub(super) fn split(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    op: Builtin,
    coords: &[CoordArg],
    args: Vec<Expr>,
    span: Span,
) -> Expr {
    let name = split_name(op);
    let wanted = if matches!(op, Builtin::Take | Builtin::Drop) { 2 } else { 1 };
    if args.len() != wanted {
        return report.wrong_count(name, wanted, args.len(), span);
    }
    let mut args = args.into_iter();
    let Some(base) = args.next() else { return Expr::error(span) };
    let count = args.next();
    if base.ty.is_broken() || count.as_ref().is_some_and(|count| count.ty.is_broken()) {
        return Expr::error(span);
    }
    let base = expr::settle_expr(ix, build, base);
    let Some(axis) = axis_argument(ix, report, name, coords, &base, span) else {
        return Expr::error(span);
    };
    let extent = base.ty.axes()[axis].size.clone();
    if wanted == 1 && !at_least(ix, report, &base, axis, &size::Expr::one(), name, span) {
        return Expr::error(span);
    }
    match op {
        Builtin::First | Builtin::Last => {
            let at = match op {
                Builtin::First => size::Expr::zero(),
                _ => extent.offset(-1),
            };
            let index = Expr::size(at, span);
            let base = index::permute_front(base, &[axis], span);
            expr::read(base, vec![index], Bounds::Checked, span)
        }
        Builtin::Rest => piece(base, axis, size::Expr::one(), extent, span),
        Builtin::Init => piece(base, axis, size::Expr::zero(), extent.offset(-1), span),
        _ => {
            let Some(count) = count else { return Expr::error(span) };
            let count = expr::expect_integer(ix, report, count, "the number of positions");
            let Some(at) = ix.to_size(&count) else {
                // A piece whose length only the run knows.
                let ends = match op {
                    Builtin::Take => (None, Some(count)),
                    _ => (Some(count), None),
                };
                return Expr { span, ..index::piece(base, axis, ends, ix.unknown_size(true)) };
            };
            if !at_least(ix, report, &base, axis, &at, name, span) {
                return Expr::error(span);
            }
            match op {
                Builtin::Take => piece(base, axis, size::Expr::zero(), at, span),
                _ => piece(base, axis, at, extent, span),
            }
        }
    }
}

/// A piece between two symbolic positions.
fn piece(base: Expr, axis: usize, lo: size::Expr, hi: size::Expr, span: Span) -> Expr {
    let size = hi.sub(&lo);
    let ends = (Some(Expr::size(lo, span)), Some(Expr::size(hi, span)));
    Expr { span, ..index::piece(base, axis, ends, size) }
}

/// Whether an axis is long enough: proved, or known only from outside.
fn at_least(
    ix: &Index,
    report: &mut Report,
    base: &Expr,
    axis: usize,
    count: &size::Expr,
    name: &str,
    span: Span,
) -> bool {
    let extent = &base.ty.axes()[axis].size;
    let spare = extent.sub(count);
    if ix.non_negative(&spare) && ix.non_negative(count) {
        return true;
    }
    let outside = spare.atoms().iter().any(|atom| ix.atoms[*atom].external);
    if outside && spare.as_constant().is_none() {
        return true;
    }
    let (have, want) = (ix.show_size(extent), ix.show_size(count));
    let axis_name = match base.ty.axes()[axis].coord {
        Some(coord) => format!("coordinate `{}`", coord.name),
        None => format!("axis {axis}"),
    };
    let d = error(
        Code::E0413,
        span,
        format!(
            "`{name}` needs at least {want} positions, but {axis_name} of {} has {have}",
            ix.quote(base)
        ),
    )
    .here(format!("more than the {have} that are there"))
    .label(base.span, format!("this is `{}`", ix.show(&base.ty)))
    .help("take less, or test the extent first: `if extent(…) > 0 { … } else { … }`");
    report.report_at(d);
    false
}

/// The axis that a bracket names.
pub(super) fn axis_argument(
    ix: &Index,
    report: &mut Report,
    name: &str,
    coords: &[CoordArg],
    base: &Expr,
    span: Span,
) -> Option<usize> {
    let axes = base.ty.axes();
    match coords {
        [CoordArg::Coord(coord)] => {
            let sym = coord.name.sym;
            let at = axes.iter().position(|axis| axis.coord.is_some_and(|c| c.name == sym));
            let at = at.or_else(|| {
                axes.iter().position(|axis| axis.coord.is_some_and(|c| c.root() == sym))
            });
            if at.is_none() {
                let tensor = ix.quote(base);
                let layout = show::show_coords(axes);
                let d = error(
                    Code::E0301,
                    coord.name.span,
                    format!("{tensor} has no coordinate `{sym}`"),
                )
                .here(format!("not a coordinate of {tensor}"))
                .note(format!("{tensor} has the coordinates {layout}"))
                .help("name one of its coordinates, or an axis by position: `#0`");
                let d = ix.with_declaration(d, base);
                report.report_at(d);
            }
            at
        }
        [CoordArg::Axis(at, at_span)] => {
            let at = *at as usize;
            if at < axes.len() {
                return Some(at);
            }
            let d = error(
                Code::E0414,
                *at_span,
                format!(
                    "{} has {} {}, so there is no axis #{at}",
                    ix.quote(base),
                    axes.len(),
                    super::index::axes_word(axes.len())
                ),
            )
            .here("no such axis")
            .label(base.span, format!("this is `{}`", ix.show(&base.ty)))
            .help(match axes.len().checked_sub(1) {
                Some(last) => format!("axes count from 0, so the last one is `#{last}`"),
                None => "pass an array, or leave the bracket out".into(),
            });
            report.report_at(d);
            None
        }
        [] if axes.len() == 1 => Some(0),
        _ => {
            let d = error(Code::E0414, span, format!("`{name}` needs one axis in its bracket"))
                .here("which axis?")
                .help(format!("write `{name}[c](…)` or `{name}[#0](…)`"));
            report.report_at(d);
            None
        }
    }
}

impl Report {
    pub(super) fn wrong_count(&mut self, name: &str, want: usize, have: usize, span: Span) -> Expr {
        let d =
            error(Code::E0508, span, format!("`{name}` takes {want} arguments, but gets {have}"))
                .here(format!("{have} arguments"))
                .help("see the language's list of built-ins");
        self.fail(d)
    }
}

/// `join[c](a, b)`: end to end along an axis; a value without it counts as one slice.
pub(super) fn join(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    coords: &[CoordArg],
    a: Expr,
    b: Expr,
    span: Span,
) -> Expr {
    if a.ty.is_broken() || b.ty.is_broken() {
        return Expr::error(span);
    }
    let (a, b) = (expr::settle_expr(ix, build, a), expr::settle_expr(ix, build, b));
    let (a, b) = match widen::meet(ix, build, report, &a, &b) {
        Some(to) => {
            (widen::widen(ix, build, report, a, to), widen::widen(ix, build, report, b, to))
        }
        None => (a, b),
    };
    if !coerce::same_kind(a.ty.elem(), b.ty.elem()) {
        let (p, q) = (ix.show(&a.ty), ix.show(&b.ty));
        let d = error(Code::E0501, span, format!("`join` of `{p}` and `{q}`: the elements differ"))
            .here("one array has one type of element")
            .label(a.span, format!("this is `{p}`"))
            .label(b.span, format!("this is `{q}`"))
            .help("join arrays of one element type");
        let d = binary::numeric_help(ix, d, &a, &b);
        return report.fail(d);
    }
    let (left, right) = match coords {
        [CoordArg::Coord(coord)] => {
            let find = |e: &Expr| {
                e.ty.axes()
                    .iter()
                    .position(|axis| axis.coord.is_some_and(|c| c.name == coord.name.sym))
            };
            (find(&a), find(&b))
        }
        _ => {
            let rank = a.ty.rank().max(b.ty.rank());
            let longer = if a.ty.rank() == rank { &a } else { &b };
            let Some(at) = axis_argument(ix, report, "join", coords, longer, span) else {
                return Expr::error(span);
            };
            ((a.ty.rank() == rank).then_some(at), (b.ty.rank() == rank).then_some(at))
        }
    };
    let axis = match (left, right) {
        (Some(at), _) | (None, Some(at)) => at,
        (None, None) => {
            let d = error(Code::E0301, span, "neither value has the coordinate to join along")
                .here("joined along a coordinate that is not there")
                .label(a.span, format!("this is `{}`", ix.show(&a.ty)))
                .label(b.span, format!("this is `{}`", ix.show(&b.ty)))
                .help("name a coordinate of one of them, or an axis by position: `#0`");
            return report.fail(d);
        }
    };
    let whole = if left.is_some() { &a } else { &b };
    let Some(rest) = fit_pieces(ix, build, report, whole, axis, &a, left, &b, right, span) else {
        return Expr::error(span);
    };
    let length = |e: &Expr, at: Option<usize>| match at {
        Some(at) => e.ty.axes()[at].size.clone(),
        None => size::Expr::one(),
    };
    let mut axes: Vec<Axis> = rest;
    axes[axis].size = length(&a, left).add(&length(&b, right));
    let ty = Type::array(whole.ty.elem().clone(), axes);
    let b = match (left, right) {
        (Some(p), Some(q)) if p != q => {
            let mut order: Vec<usize> = (0..b.ty.rank()).collect();
            let moved = order.remove(q);
            order.insert(p, moved);
            index::permute(b, order, span)
        }
        _ => b,
    };
    Expr::new(ExprKind::Join { axis, left: a, right: b }, ty, span)
}

/// The axes of the result, if the pieces fit in all others.
#[allow(clippy::too_many_arguments, reason = "a private step of `join`")]
fn fit_pieces(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    whole: &Expr,
    axis: usize,
    a: &Expr,
    left: Option<usize>,
    b: &Expr,
    right: Option<usize>,
    span: Span,
) -> Option<Vec<Axis>> {
    let without = |e: &Expr, at: Option<usize>| -> Vec<Axis> {
        e.ty.axes()
            .iter()
            .enumerate()
            .filter(|(position, _)| Some(*position) != at)
            .map(|(_, axis)| axis.clone())
            .collect()
    };
    let (p, q) = (without(a, left), without(b, right));
    let mut fits = p.len() == q.len();
    let mut axes = whole.ty.axes().to_vec();
    for (position, (x, y)) in p.iter().zip(&q).enumerate() {
        let named = match (x.coord, y.coord) {
            (Some(m), Some(n)) => {
                m.name == n.name || m.root() == n.root() || !(m.contract && n.contract)
            }
            _ => true,
        };
        fits &= named;
        match ix.compare_sizes(&x.size, &y.size) {
            SizeRelation::Equal => {}
            SizeRelation::AtRunTime => {
                coerce::require(
                    ix,
                    build,
                    x.size.clone(),
                    y.size.clone(),
                    "the pieces of `join`".into(),
                    span,
                );
            }
            SizeRelation::Different => fits = false,
        }
        let at = if position < axis { position } else { position + 1 };
        if let Some(axis) = axes.get_mut(at)
            && axis.coord.is_none()
        {
            axis.coord = y.coord.or(x.coord);
        }
    }
    if fits {
        return Some(axes);
    }
    let (m, n) = (ix.show(&a.ty), ix.show(&b.ty));
    let d = error(Code::E0415, span, format!("the pieces `{m}` and `{n}` do not fit together"))
        .here("joined here")
        .label(a.span, format!("this is `{m}`"))
        .label(b.span, format!("this is `{n}`"))
        .help("pieces must agree in every axis but the one that is joined");
    report.report_at(d);
    None
}

/// `blocks(a, 1, 1)`: every axis split at its place, as nested tuples.
pub(super) fn split_blocks(cx: &mut Cx, args: &[Arg], span: Span) -> Expr {
    let Some((first, places)) = args.split_first() else {
        return cx.report.wrong_count("blocks", 2, 0, span);
    };
    let base = expr::expr(cx, first.value, None);
    if base.ty.is_broken() {
        return Expr::error(span);
    }
    let base = expr::settle_expr(&mut cx.ix, &mut cx.build, base);
    let base = vars::atomise(&mut cx.ix, &mut cx.build, base);
    if places.len() != base.ty.rank() {
        return cx.report.wrong_count("blocks", base.ty.rank() + 1, args.len(), span);
    }
    let mut sizes = Vec::new();
    for (axis, place) in places.iter().enumerate() {
        let at = expr::integer(cx, place.value, "a place to split at");
        let Some(at) = cx.ix.to_size(&at) else { return Expr::error(span) };
        if !at_least(&cx.ix, &mut cx.report, &base, axis, &at, "blocks", span) {
            return Expr::error(span);
        }
        sizes.push(at);
    }
    block_tuple(base, &sizes, 0, span)
}

fn block_tuple(base: Expr, places: &[size::Expr], axis: usize, span: Span) -> Expr {
    let Some((at, rest)) = places.split_first() else { return base };
    let extent = base.ty.axes()[axis].size.clone();
    let near = piece(base.clone(), axis, size::Expr::zero(), at.clone(), span);
    let far = piece(base, axis, at.clone(), extent, span);
    let items =
        vec![block_tuple(near, rest, axis + 1, span), block_tuple(far, rest, axis + 1, span)];
    let ty = Type::Tuple(items.iter().map(|item| item.ty.clone()).collect());
    Expr::new(ExprKind::Tuple(items), ty, span)
}

/// `unblocks(((a, b), (c, d)))`: the pieces put together again.
pub(super) fn join_blocks(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    value: Expr,
    span: Span,
) -> Expr {
    if value.ty.is_broken() {
        return value;
    }
    join_level(ix, build, report, value, 0, span)
}

fn join_level(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    value: Expr,
    axis: usize,
    span: Span,
) -> Expr {
    let Type::Tuple(items) = value.ty.clone() else { return value };
    let value = vars::atomise(ix, build, value);
    let mut joined: Option<Expr> = None;
    for (at, ty) in items.into_iter().enumerate() {
        let item = Expr::new(ExprKind::TupleGet(value.clone(), at), ty, span);
        let item = match &*value.kind {
            ExprKind::Tuple(items) => items[at].clone(),
            _ => item,
        };
        let item = join_level(ix, build, report, item, axis + 1, span);
        joined = Some(match joined {
            None => item,
            Some(before) => join_at(ix, build, report, axis, before, item, span),
        });
    }
    joined.unwrap_or_else(|| Expr::error(span))
}

/// Joins along an axis by position; a piece that lacks the axis counts as one slice.
fn join_at(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    axis: usize,
    a: Expr,
    b: Expr,
    span: Span,
) -> Expr {
    join(ix, build, report, &[CoordArg::Axis(axis as u32, span)], a, b, span)
}

/// The name of a splitting built-in.
fn split_name(op: Builtin) -> &'static str {
    match op {
        Builtin::First => "first",
        Builtin::Last => "last",
        Builtin::Rest => "rest",
        Builtin::Init => "init",
        Builtin::Take => "take",
        _ => "drop",
    }
}
