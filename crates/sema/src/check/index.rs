//! Reads: what may stand at an axis, and what the read gives.
//!
//! Which names an axis accepts is the business of `coordinates`.

use super::state::{Build, Index, Report};
use super::{Cx, error, expr, packs, vars};
use crate::hir::{self, ExprId, ExprKind as H, LocalKind, Slot};
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{Axis, Bounds, Expr, ExprKind, HostOp, Type};

pub(in crate::check) mod coordinates;
pub(in crate::check) mod select;

/// A slot after checking.
enum Part {
    Point(Expr),
    Slice(Option<Expr>, Option<Expr>),
    /// A slice of which every so many positions count.
    Stepped(Option<Expr>, Option<Expr>, Expr),
    Gather(Expr),
    /// The positions at which an array of truths holds.
    Mask(Expr),
}

pub(super) fn index(cx: &mut Cx, base: Expr, slots: &[Slot], span: Span) -> Expr {
    for slot in slots {
        if let Slot::Pack(local, at) = slot
            && !packs::pack_is_bound(&cx.ix, &mut cx.report, *local, *at)
        {
            return Expr::error(span);
        }
    }
    if !base.ty.is_array() && reads_nothing(&mut cx.ix, slots) {
        // A definition over packs without axes is a scalar.
        return base;
    }
    match &base.ty {
        Type::Array(_) => {}
        Type::Str | Type::Jagged(..) => return element(cx, base, slots, span),
        Type::Tuple(_) => {
            let d = error(Code::E0512, span, "a tuple is not indexed with brackets")
                .here("indexed like an array")
                .label(base.span, format!("this is `{}`", cx.ix.show(&base.ty)))
                .help("components are reached by position: `t.0`");
            return cx.report.fail(d);
        }
        ty if ty.has_error() => {
            return Expr::error(span);
        }
        // A clause with fewer indices than others: its value is read at those that it lacks.
        ty if base.span == span => {
            let have = cx.ix.show(ty);
            let message = "the clauses of a definition have different numbers of indices";
            let d = error(Code::E0417, span, message)
                .here(format!("`{have}` has no axes for the indices that this clause lacks"))
                .help("write all clauses with the same number of indices, or an array here");
            return cx.report.fail(d);
        }
        ty => {
            let have = cx.ix.show(ty);
            let d = error(Code::E0404, span, format!("`{have}` cannot be indexed"))
                .here("indexed like an array")
                .label(base.span, format!("this is `{have}`"))
                .help("only arrays and strings have positions");
            return cx.report.fail(d);
        }
    }
    cx.ix.solve_pack_read(&base, slots, span);
    // What counts from the end needs an extent that has a value here.
    let base = if counts_back(cx.hir, slots) {
        expr::settle_expr(&mut cx.ix, &mut cx.build, base)
    } else {
        base
    };
    let mut parts = Vec::new();
    for slot in slots {
        match slot {
            Slot::Expr(id) => {
                let position = parts.len();
                match self::part(cx, &base, position, *id) {
                    Some(part) => parts.push(part),
                    None => return Expr::error(span),
                }
            }
            Slot::Stepped(range, step) => {
                let position = parts.len();
                match select::stepped_part(cx, &base, position, *range, *step) {
                    Some(part) => parts.push(part),
                    None => return Expr::error(span),
                }
            }
            Slot::Pack(local, at) => {
                for index in cx.ix.pack_members(*local) {
                    parts.push(Part::Point(cx.ix.index_expr(index, *at)));
                }
            }
        }
    }
    let Cx { ix, build, report, .. } = cx;
    coordinates::unswap(ix, report, &base, &mut parts);
    for (position, part) in parts.iter().enumerate() {
        if let Part::Point(value) = part {
            coordinates::check_coordinate(ix, build, report, &base, position, value);
        }
    }
    if parts.len() > base.ty.rank() {
        // Elements that a mistake left unknown may have the axes in question.
        if matches!(base.ty.elem(), Type::AnyRank(_)) {
            return Expr::error(span);
        }
        return too_many(&cx.ix, &mut cx.report, &base, parts.len(), span);
    }
    assemble(cx, base, parts, span)
}

/// Whether all indices are packs that stand for no axis.
fn reads_nothing(ix: &mut Index, slots: &[Slot]) -> bool {
    slots.iter().all(|slot| match slot {
        Slot::Pack(local, _) => ix.pack_members(*local).is_empty(),
        Slot::Expr(_) | Slot::Stepped(..) => false,
    })
}

fn too_many(ix: &Index, report: &mut Report, base: &Expr, count: usize, span: Span) -> Expr {
    let rank = base.ty.rank();
    let name = ix.quote(base);
    let mut d = error(
        Code::E0404,
        span,
        format!("{name} has {rank} {}, but is read with {count} indices", axes_word(rank)),
    )
    .here(format!("{count} indices"))
    .help(format!("leave out {} of the indices", count - rank));
    if let Some(at) = ix.declared_at(base) {
        d = d.label(at, format!("{name} is `{}`", ix.show(&base.ty)));
    }
    report.fail(d)
}

/// One slot of a read.
fn part(cx: &mut Cx, base: &Expr, position: usize, id: ExprId) -> Option<Part> {
    let hir = cx.hir;
    let node = &hir.exprs[id];
    match &node.kind {
        H::Range { lo, hi, inclusive } => {
            let lo = match lo {
                Some(lo) => Some(slice_end(cx, base, position, *lo, "the start of a slice")?),
                None => None,
            };
            let hi = match hi {
                Some(hi) => Some(slice_end(cx, base, position, *hi, "the end of a slice")?),
                None => None,
            };
            let hi = hi.map(|hi| if *inclusive { expr::plus_one(&cx.ix, hi) } else { hi });
            return Some(Part::Slice(lo, hi));
        }
        _ => {
            if let Some(back) = back_from_end(cx.hir, id) {
                return index_from_end(&cx.ix, &mut cx.report, base, position, back, node.span)
                    .map(Part::Point);
            }
        }
    }
    let value = expr::expr(cx, id, Some(&Type::I32));
    if value.ty.has_error() {
        return None;
    }
    if let Type::Array(array) = &value.ty
        && array.axes.len() == 1
        && array.elem.scalar().is_some_and(|ty| ty.is_int())
    {
        return Some(Part::Gather(value));
    }
    if let Type::Array(array) = &value.ty
        && array.elem == Type::BOOL
    {
        return Some(Part::Mask(value));
    }
    let value = expr::expect_integer(&cx.ix, &mut cx.report, value, "an index");
    if value.ty.has_error() {
        return None;
    }
    warn_if_hidden(&cx.ix, &mut cx.report, base, position, id);
    Some(Part::Point(value))
}

/// Warns where a value stands in the place of the coordinate whose name it bears. A parameter
/// or a name of `where` was meant to be one.
fn warn_if_hidden(ix: &Index, report: &mut Report, base: &Expr, position: usize, id: ExprId) {
    let hir = ix.hir;
    let H::Local(local) = &hir.exprs[id].kind else { return };
    let local = &hir.locals[*local];
    let coord = base.ty.axes().get(position).and_then(|axis| axis.coord);
    let is_let = matches!(local.kind, LocalKind::Let | LocalKind::Global);
    if !is_let || !coord.is_some_and(|it| it.contract && it.name == local.name.sym) {
        return;
    }
    let name = local.name.sym;
    let d = error(
        Code::W0302,
        hir.exprs[id].span,
        format!("`{name}` is a value here and hides the coordinate `{name}`"),
    )
    .here("reads one position")
    .label(local.name.span, "bound here")
    .help(format!("give the value another name than `{name}`"));
    let d = ix.with_declaration(d, base);
    report.report_at(d);
}

/// An end of a slice; a negative literal counts from the end of the axis.
fn slice_end(cx: &mut Cx, base: &Expr, position: usize, id: ExprId, what: &str) -> Option<Expr> {
    match back_from_end(cx.hir, id) {
        Some(back) => {
            let span = cx.hir.exprs[id].span;
            index_from_end(&cx.ix, &mut cx.report, base, position, back, span)
        }
        None => Some(expr::integer(cx, id, what)),
    }
}

/// Whether an index, or an end of a slice, counts from the end.
fn counts_back(hir: &hir::Program, slots: &[Slot]) -> bool {
    let back = |id: &ExprId| back_from_end(hir, *id).is_some();
    slots.iter().any(|slot| match slot {
        Slot::Expr(id) | Slot::Stepped(id, _) => match &hir.exprs[*id].kind {
            H::Range { lo, hi, .. } => lo.iter().chain(hi).any(back),
            _ => back(id),
        },
        Slot::Pack(..) => false,
    })
}

/// The number of a negative literal, without its sign.
fn back_from_end(hir: &hir::Program, id: ExprId) -> Option<u64> {
    let H::Unary(hir::UnaryOp::Neg, inner) = &hir.exprs[id].kind else { return None };
    match hir.exprs[*inner].kind {
        H::Int(value, _) => Some(value),
        _ => None,
    }
}

/// `a[-1]`: a negative literal counts from the end.
fn index_from_end(
    ix: &Index,
    report: &mut Report,
    base: &Expr,
    position: usize,
    value: u64,
    span: Span,
) -> Option<Expr> {
    let size = base.ty.axes().get(position)?.size.clone();
    let value = i64::try_from(value).unwrap_or(i64::MAX);
    if size.as_constant().is_some_and(|extent| value > extent) {
        let d = error(
            Code::E0403,
            span,
            format!(
                "index -{value} is out of bounds: axis {position} of {} has extent {}",
                ix.quote(base),
                ix.show_size(&size)
            ),
        )
        .here("counts from the end")
        .help(format!("the first element is `-{}`", ix.show_size(&size)));
        report.report_at(d);
        return None;
    }
    Some(Expr::size(size.offset(-value), span))
}

fn assemble(cx: &mut Cx, base: Expr, parts: Vec<Part>, span: Span) -> Expr {
    if parts.iter().all(|part| matches!(part, Part::Point(_))) {
        let indices = parts
            .into_iter()
            .filter_map(|part| match part {
                Part::Point(value) => Some(value),
                Part::Slice(..) | Part::Stepped(..) | Part::Gather(_) | Part::Mask(_) => None,
            })
            .collect();
        return read_merged(&cx.ix, base, indices, span);
    }
    let first = parts.iter().take_while(|part| matches!(part, Part::Point(_))).count();
    if first > 0 {
        // `c[n - 1, 0..2]` is `c[n - 1][0..2]`: a read of one step.
        let mut parts = parts;
        let rest = parts.split_off(first);
        let row = assemble(cx, base, parts, span);
        return match row.ty.has_error() {
            true => row,
            false => assemble(cx, row, rest, span),
        };
    }
    if let [Part::Mask(mask)] = parts.as_slice()
        && mask.ty.rank() > 1
    {
        return select::mask_of_rank(cx, base, mask.clone(), span);
    }
    let mut value = base;
    let mut points = Vec::new();
    for (axis, part) in parts.into_iter().enumerate() {
        if value.ty.has_error() {
            return value;
        }
        match part {
            Part::Point(index) => points.push((axis, index)),
            Part::Slice(lo, hi) => {
                value =
                    slice(&mut cx.ix, &mut cx.build, &mut cx.report, value, axis, (lo, hi), span)
            }
            Part::Stepped(lo, hi, step) => {
                value =
                    slice(&mut cx.ix, &mut cx.build, &mut cx.report, value, axis, (lo, hi), span);
                let Cx { ix, build, report, .. } = cx;
                value = select::every(ix, build, report, value, axis, step, span);
            }
            Part::Gather(indices) => value = gather(&cx.ix, value, axis, indices, span),
            Part::Mask(mask) => value = select::mask(cx, value, axis, mask, span),
        }
    }
    if points.is_empty() || value.ty.has_error() {
        return value;
    }
    let front: Vec<usize> = points.iter().map(|(axis, _)| *axis).collect();
    let value = permute_front(value, &front, span);
    let indices = points.into_iter().map(|(_, index)| index).collect();
    read_merged(&cx.ix, value, indices, span)
}

/// The given axes moved to the front.
pub(super) fn permute_front(value: Expr, front: &[usize], span: Span) -> Expr {
    let rank = value.ty.rank();
    let mut order = front.to_vec();
    order.extend((0..rank).filter(|axis| !front.contains(axis)));
    permute(value, order, span)
}

/// The axes in another order.
pub(super) fn permute(value: Expr, order: Vec<usize>, span: Span) -> Expr {
    if order.iter().enumerate().all(|(position, axis)| position == *axis) {
        return value;
    }
    let axes: Vec<Axis> = order.iter().map(|axis| value.ty.axes()[*axis].clone()).collect();
    let ty = Type::array(value.ty.elem().clone(), axes);
    Expr::new(ExprKind::Permute { base: value, order }, ty, span)
}

/// A read; `a[i][j]` is `a[i, j]`.
fn read_merged(ix: &Index, base: Expr, indices: Vec<Expr>, span: Span) -> Expr {
    if let ExprKind::Index { base: inner, indices: before } = &*base.kind {
        let mut all: Vec<Expr> = before.iter().map(|index| index.value.clone()).collect();
        all.extend(indices);
        return expr::read(inner.clone(), all, Bounds::Checked, span);
    }
    if let (ExprKind::Array(items), [index]) = (&*base.kind, indices.as_slice())
        && let Some(position) = ix.to_size(index).and_then(|size| size.as_constant())
        && let Some(item) = usize::try_from(position).ok().and_then(|at| items.get(at))
        && matches!(&*item.kind, ExprKind::Size(_) | ExprKind::Const(_))
    {
        // `x.shape[0]` is a size.
        return item.clone();
    }
    expr::read(base, indices, Bounds::Checked, span)
}

fn slice(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    base: Expr,
    axis: usize,
    (lo, hi): (Option<Expr>, Option<Expr>),
    span: Span,
) -> Expr {
    let base = expr::settle_expr(ix, build, base);
    let extent = base.ty.axes()[axis].size.clone();
    let from = lo.as_ref().map_or(Some(size::Expr::zero()), |lo| ix.to_size(lo));
    let to = hi.as_ref().map_or(Some(extent.clone()), |hi| ix.to_size(hi));
    let size = match (&from, &to) {
        (Some(from), Some(to)) => {
            let negative = |size: &size::Expr| size.as_constant().is_some_and(|it| it < 0);
            if negative(from) || negative(&extent.sub(to)) || negative(&to.sub(from)) {
                let d = error(
                    Code::E0403,
                    span,
                    format!(
                        "the slice {}..{} leaves {}: axis {axis} has extent {}",
                        ix.show_size(from),
                        ix.show_size(to),
                        ix.quote(&base),
                        ix.show_size(&extent)
                    ),
                )
                .here("out of bounds")
                .help(format!("slice within 0..{}", ix.show_size(&extent)));
                return report.fail(d);
            }
            to.sub(from)
        }
        _ => ix.unknown_size(true),
    };
    Expr { span, ..piece(base, axis, (lo, hi), size) }
}

/// A slice of so many positions.
pub(super) fn piece(
    base: Expr,
    axis: usize,
    (lo, hi): (Option<Expr>, Option<Expr>),
    size: size::Expr,
) -> Expr {
    let span = base.span;
    let mut axes = base.ty.axes().to_vec();
    axes[axis].size = size;
    let ty = Type::array(base.ty.elem().clone(), axes);
    Expr::new(ExprKind::Slice { base, axis, lo, hi }, ty, span)
}

fn gather(ix: &Index, base: Expr, axis: usize, indices: Expr, span: Span) -> Expr {
    let mut axes = base.ty.axes().to_vec();
    axes[axis] = indices.ty.axes()[0].clone();
    let ty = Type::array(base.ty.elem().clone(), axes);
    let name = ix.show_name(&base);
    Expr::new(ExprKind::Gather { base, axis, indices, name }, ty, span)
}

/// A character of a string, or an element of a jagged array.
fn element(cx: &mut Cx, base: Expr, slots: &[Slot], span: Span) -> Expr {
    let mut value = base;
    for slot in slots {
        let Slot::Expr(id) = slot else {
            return cx.report.fail(
                error(Code::E0404, span, "a pack cannot index this value")
                    .here("not a rectangular array")
                    .help("use one index at a time"),
            );
        };
        let hir = cx.hir;
        let index = match &hir.exprs[*id].kind {
            H::Unary(hir::UnaryOp::Neg, inner) if matches!(hir.exprs[*inner].kind, H::Int(..)) => {
                let back = expr::integer(cx, *id, "an index");
                let value = vars::atomise(&mut cx.ix, &mut cx.build, value.clone());
                let length = Expr::new(ExprKind::Host(HostOp::Len, vec![value]), Type::I32, span);
                Expr::new(
                    ExprKind::Binary(ein_scalar::BinaryOp::Add, length, back),
                    Type::I32,
                    span,
                )
            }
            _ => expr::integer(cx, *id, "an index"),
        };
        if index.ty.has_error() {
            return Expr::error(span);
        }
        let (op, ty) = match &value.ty {
            Type::Str => (HostOp::CharAt, Type::Str),
            Type::Jagged(elem, 2) => {
                // Rows that an index chooses differ from one step to the next.
                let fixed = cx.ix.index_deps(&index).is_empty();
                let size = cx.ix.unknown_size(fixed);
                (HostOp::ElementAt, Type::array((**elem).clone(), vec![super::anonymous(size)]))
            }
            Type::Jagged(elem, depth) => (HostOp::ElementAt, Type::Jagged(elem.clone(), depth - 1)),
            Type::Array(_) => {
                let Cx { ix, build, .. } = cx;
                let var = vars::bind(ix, build, Symbol::intern(super::vars::TEMPORARY), value);
                let base = cx.ix.var_expr(var, span);
                value = expr::read(base, vec![index], Bounds::Checked, span);
                continue;
            }
            other => {
                let have = cx.ix.show(other);
                return cx.report.fail(
                    error(Code::E0404, span, format!("`{have}` cannot be indexed further"))
                        .here("too many indices")
                        .help("leave out the last index"),
                );
            }
        };
        value = Expr::new(ExprKind::Host(op, vec![value, index]), ty, span);
    }
    value
}

/// `axis` or `axes`.
pub(super) fn axes_word(rank: usize) -> &'static str {
    if rank == 1 { "axis" } else { "axes" }
}
