//! Reductions and the domains of indices.

use super::state::{Build, Index, Report};
use super::{
    Binding, Cx, Declared, IndexId, close, error, expr, index, packs, pointwise, ragged, ranges,
    show, vars, wheres,
};
use crate::hir::{self, Domain, ExprId, ExprKind as H};
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::walk::any;
use ein_ir::tensor::{
    Axis, Binder, Bounds, Expr, ExprKind, Item, Reduce, ReduceOp, StmtKind, Type, VarId,
};
use ein_scalar::ScalarType;

/// An index of a reduction or a slot on the left, after its domain was checked.
pub(super) struct Bound {
    pub index: IndexId,
    /// The domain, if one is written.
    pub domain: Option<(Expr, Expr)>,
    pub span: Span,
}

pub(super) fn reduce(
    cx: &mut Cx,
    op: ReduceOp,
    op_span: Span,
    binders: &[hir::Binder],
    body: ExprId,
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let own: Vec<_> = binders.iter().filter(|b| b.pack).map(|b| b.local).collect();
    let saved: Vec<_> = own.iter().map(|pack| cx.ix.f.packs.get(pack).cloned()).collect();
    packs::solve_packs(cx, binders.iter().filter(|b| b.pack).map(|b| (b.local, b.name)), &[body]);
    let mut bounds = Vec::new();
    for binder in binders {
        bounds.extend(bind_indices(cx, binder));
    }
    let want = match op {
        ReduceOp::Any | ReduceOp::All | ReduceOp::Count => Some(Type::BOOL),
        ReduceOp::Argmax | ReduceOp::Argmin => None,
        _ => want.map(|want| want.elem().clone()),
    };
    cx.build.f.pending.push(Vec::new());
    cx.ix.f.loops += 1;
    let facts = cx.ix.f.facts.len();
    let (items, value) = guarded_body(cx, body, want.as_ref());
    cx.ix.f.facts.truncate(facts);
    cx.ix.f.loops -= 1;
    let stmts = cx.build.f.pending.pop().unwrap_or_default();
    // What the reduction bound ends with it; packs that are free in it stay what they are, for
    // what stands beside it.
    for (pack, before) in own.into_iter().zip(saved) {
        match before {
            Some(members) => cx.ix.f.packs.insert(pack, members),
            None => cx.ix.f.packs.remove(&pack),
        };
    }
    if value.ty.has_error() {
        return Expr::error(span);
    }
    if value.ty.is_array() {
        let inside = stmts.iter().any(|stmt| match &stmt.kind {
            StmtKind::Let(_, e) | StmtKind::Destructure(_, e) | StmtKind::Expr(e) => {
                let used = cx.ix.index_deps(e);
                bounds.iter().any(|bound| used.contains(&bound.index))
            }
            StmtKind::Require(_) => false,
        });
        let value = if inside {
            cx.ix.block(stmts, value)
        } else {
            stmts.into_iter().for_each(|stmt| cx.build.emit(stmt));
            value
        };
        let it = Reduction { op, op_span, bounds, items, value, span };
        return reduce_array(&mut cx.ix, &mut cx.build, &mut cx.report, it);
    }
    let value = cx.ix.block(stmts, value);
    check_consumed(&mut cx.ix, &mut cx.report, op, &bounds, &items, &value);
    let it = Reduction { op, op_span, bounds, items, value, span };
    reduction(&cx.ix, &mut cx.report, it)
}

/// A body with the bindings and guards of its `where`.
fn guarded_body(cx: &mut Cx, body: ExprId, want: Option<&Type>) -> (Vec<Item>, Expr) {
    let hir = cx.hir;
    match &hir.exprs[body].kind {
        H::Where { body, items, otherwise: None } => {
            let items = wheres::where_items(cx, items, want);
            let (more, value) = guarded_body(cx, *body, want);
            let mut items = items;
            items.extend(more);
            (items, value)
        }
        _ => (Vec::new(), expr::expr(cx, body, want)),
    }
}

/// What is combined, over which indices.
struct Reduction {
    op: ReduceOp,
    op_span: Span,
    bounds: Vec<Bound>,
    items: Vec<Item>,
    value: Expr,
    span: Span,
}

/// A reduction to a scalar.
fn reduction(ix: &Index, report: &mut Report, it: Reduction) -> Expr {
    let Reduction { op, op_span, bounds, items, value, span } = it;
    let Some(ty) = reduction_type(ix, report, op, op_span, &bounds, &value) else {
        return Expr::error(span);
    };
    if bounds.is_empty() && items.is_empty() && op != ReduceOp::Count {
        // A pack without axes: there is one value, and nothing to combine it with.
        return Expr { span, ..value };
    }
    let binders = bounds.into_iter().map(|bound| binder(ix, bound)).collect();
    let reduce = Reduce { op, binders, items, value, requires: Vec::new() };
    Expr::new(ExprKind::Reduce(reduce), ty, span)
}

pub(super) fn binder(ix: &Index, bound: Bound) -> Binder {
    let var = ix.indices[bound.index].var;
    match bound.domain {
        Some((lo, hi)) => Binder { var, lo, hi },
        None => ranges::unsolved_binder(var, bound.span),
    }
}

fn reduction_type(
    ix: &Index,
    report: &mut Report,
    op: ReduceOp,
    op_span: Span,
    bounds: &[Bound],
    value: &Expr,
) -> Option<Type> {
    let scalar = value.ty.scalar();
    let name = op.as_str();
    match op {
        ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min => {
            if scalar.is_some_and(super::is_numeric) {
                return Some(value.ty.clone());
            }
        }
        ReduceOp::Mean => {
            if scalar.is_some_and(ScalarType::is_float) {
                return Some(value.ty.clone());
            }
            if scalar.is_some_and(ScalarType::is_int) {
                let d = error(Code::E0502, value.span, "`mean` needs floats")
                    .here(format!("this is `{}`", ix.show(&value.ty)))
                    .fix("convert the elements: `… as f32`", value.span.end(), " as f32");
                report.report_at(d);
                return None;
            }
        }
        ReduceOp::Any | ReduceOp::All | ReduceOp::Count => {
            if scalar == Some(ScalarType::Bool) {
                return Some(if op == ReduceOp::Count { Type::I32 } else { Type::BOOL });
            }
            let what = format!("the body of `{name}`");
            expr::expect_bool(ix, report, value.clone(), &what);
            return None;
        }
        ReduceOp::Argmax | ReduceOp::Argmin => {
            if bounds.len() != 1 {
                let d = error(Code::E0502, op_span, format!("`{name}` takes one index"))
                    .here(format!("{} indices", bounds.len()))
                    .help("find the positions one index at a time");
                report.report_at(d);
                return None;
            }
            if scalar.is_some_and(super::is_numeric) {
                return Some(Type::I32);
            }
        }
    }
    let d = error(
        Code::E0502,
        value.span,
        format!("`{name}` is not defined for `{}`", ix.show(&value.ty)),
    )
    .here("not a number")
    .help(format!("`{name}` reduces numbers"));
    report.report_at(d);
    None
}

/// Rule 2: a reduced index without a domain occurs in the body.
fn check_consumed(
    ix: &mut Index,
    report: &mut Report,
    op: ReduceOp,
    bounds: &[Bound],
    items: &[Item],
    value: &Expr,
) {
    // What a part that was refused mentions is not known.
    let refused = |e: &Expr| any(e, &mut |e| matches!(&*e.kind, ExprKind::Error));
    let mut used = ix.index_deps(value);
    let mut unknown = refused(value);
    for item in items {
        match item {
            Item::Let(_, e) | Item::Guard(e) => {
                used.extend(ix.index_deps(e));
                unknown |= refused(e);
            }
        }
    }
    for bound in bounds {
        if bound.domain.is_some() || used.contains(&bound.index) {
            continue;
        }
        ix.indices[bound.index].broken |= unknown;
        let info = &ix.indices[bound.index];
        if info.broken {
            continue;
        }
        let name = info.name;
        let d = error(
            Code::E0306,
            info.span,
            format!("`{}` reduces over `{name}`, but the body does not mention it", op.as_str()),
        )
        .here("nothing to reduce along")
        .label(value.span, format!("constant along `{name}`"))
        .help(format!(
            "take `{name}` out of the bracket, or say how often to repeat: `{}[{name} in 0..N](…)`",
            op.as_str()
        ));
        ix.indices[bound.index].broken = true;
        report.report_at(d);
    }
}

/// `sum[c](x)` with a whole array: reduces the axes that carry the names, keeps the others.
fn reduce_array(ix: &mut Index, build: &mut Build, report: &mut Report, it: Reduction) -> Expr {
    let Reduction { op, op_span, bounds, items, value, span } = it;
    let used = ix.index_deps(&value);
    let bare = bounds.iter().all(|bound| !used.contains(&bound.index));
    let value = if bare { vars::atomise(ix, build, value) } else { value };
    let mut reduced: Vec<Option<usize>> = Vec::new();
    for bound in &bounds {
        let name = ix.indices[bound.index].name;
        if used.contains(&bound.index) {
            if close::carried_twice(ix, report, &[close::index_coord(ix, bound.index)], &value) {
                return Expr::error(span);
            }
            reduced.push(None);
            continue;
        }
        let axis = value.ty.axes().iter().position(|axis| {
            axis.coord.is_some_and(|coord| coord.name == name || coord.root() == name)
        });
        match axis {
            Some(axis) => reduced.push(Some(axis)),
            None => {
                let tensor = ix.quote(&value);
                let layout = show::show_coords(value.ty.axes());
                let d = error(
                    Code::E0301,
                    ix.indices[bound.index].span,
                    format!("{tensor} has no coordinate `{name}`"),
                )
                .here(format!("not a coordinate of {tensor}"))
                .note(format!("{tensor} has the coordinates {layout}"))
                .help("index the array to say which axis is meant");
                let d = ix.with_declaration(d, &value);
                return report.fail(d);
            }
        }
    }
    let vars: Vec<VarId> = bounds.iter().map(|bound| ix.indices[bound.index].var).collect();
    if ragged::ragged_terms(ix, report, op, &value, &vars) {
        return Expr::error(span);
    }
    let kept: Vec<usize> =
        (0..value.ty.rank()).filter(|axis| !reduced.contains(&Some(*axis))).collect();
    let axes: Vec<Axis> = kept.iter().map(|axis| value.ty.axes()[*axis].clone()).collect();
    let it = Reduction { op, op_span, bounds, items, value, span };
    if axes.is_empty() {
        return reduce_point(ix, build, report, it, &reduced, &[]);
    }
    pointwise::tabulate(ix, build, axes, span, |ix, build, outer| {
        reduce_point(ix, build, report, it, &reduced, outer)
    })
}

/// One element of a reduced array.
fn reduce_point(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    mut it: Reduction,
    reduced: &[Option<usize>],
    outer: &[Expr],
) -> Expr {
    let span = it.span;
    let mut outer = outer.iter();
    let mut indices = Vec::new();
    for axis in 0..it.value.ty.rank() {
        let inner = reduced.iter().position(|at| *at == Some(axis));
        match inner {
            Some(position) => {
                let bound = &mut it.bounds[position];
                bound.domain.get_or_insert_with(|| {
                    let size = it.value.ty.axes()[axis].size.clone();
                    (Expr::int(0, span), Expr::size(size, span))
                });
                let at = ix.index_expr(bound.index, span);
                index::coordinates::check_coordinate(ix, build, report, &it.value, axis, &at);
                indices.push(at);
            }
            None => match outer.next() {
                Some(index) => indices.push(index.clone()),
                None => return Expr::error(span),
            },
        }
    }
    it.value = expr::read(it.value, indices, Bounds::Checked, span);
    reduction(ix, report, it)
}

// ---------------------------------------------------------------- index variables

/// Introduces the index variables of a binder: one, or the members of a pack.
pub(super) fn bind_indices(cx: &mut Cx, binder: &hir::Binder) -> Vec<Bound> {
    let span = binder.name.span;
    if binder.pack {
        return cx
            .ix
            .pack_members(binder.local)
            .into_iter()
            .map(|index| Bound { index, domain: None, span })
            .collect();
    }
    let (declared, domain) = match &binder.domain {
        Some(domain) => self::domain(cx, domain, binder.name.sym),
        None => (Declared::Name, None),
    };
    let index = cx.ix.new_index(binder.name, declared);
    cx.ix.f.env.insert(binder.local, Binding::Index(index));
    if let (Some((lo, hi)), atom) = (&domain, cx.ix.indices[index].atom)
        && let (Some(lo), Some(hi)) = (cx.ix.to_size(lo), cx.ix.to_size(hi))
    {
        cx.ix.ranges.insert(atom, (lo, hi));
    }
    vec![Bound { index, domain, span }]
}

/// A domain as written.
fn domain(cx: &mut Cx, domain: &Domain, name: Symbol) -> (Declared, Option<(Expr, Expr)>) {
    // How far it goes is not known: nothing is said of what depends on it.
    let broken = |ix: &mut Index, span| {
        let unknown = ix.unknown_size(true);
        (Declared::Range, Some((zero(span), Expr::size(unknown, span))))
    };
    match domain {
        Domain::Range { lo, hi, inclusive, span } => {
            let lo = vars::scoped(cx, |cx| expr::integer(cx, *lo, "the start of a domain"));
            let hi = vars::scoped(cx, |cx| {
                let hi = expr::integer(cx, *hi, "the end of a domain");
                if *inclusive { expr::plus_one(&cx.ix, hi) } else { hi }
            });
            if hi.ty.has_error() {
                let (_, ends) = broken(&mut cx.ix, *span);
                let lo = if lo.ty.has_error() { zero(*span) } else { lo };
                return (Declared::Range, ends.map(|(_, hi)| (lo, hi)));
            }
            if lo.ty.has_error() {
                return broken(&mut cx.ix, *span);
            }
            if cx.ix.to_size(&lo).and_then(|lo| lo.as_constant()).is_some_and(|lo| lo < 0) {
                let d =
                    error(Code::E0418, lo.span, format!("the domain of `{name}` starts below 0"))
                        .here("positions count from 0")
                        .help("shift the index in the body instead: `0..n` and `i - 1`");
                cx.report.report_at(d);
                return broken(&mut cx.ix, *span);
            }
            (Declared::Range, Some((lo, hi)))
        }
        Domain::Coord(coord) => {
            let span = coord.name.span;
            match coord_size(&cx.ix, &mut cx.report, coord, None, span) {
                Some(size) => {
                    (Declared::Over(coord.name.sym), Some((zero(span), Expr::size(size, span))))
                }
                None => broken(&mut cx.ix, span),
            }
        }
        Domain::Other(id) => {
            let span = cx.hir.exprs[*id].span;
            if !matches!(cx.hir.exprs[*id].kind, H::Error) {
                let d = error(Code::E0418, span, format!("the domain of `{name}` is not a range"))
                    .here("not a range and not a coordinate")
                    .help(format!(
                        "write `{name} in 0..n`, or `{name} in c` with a coordinate `c`"
                    ));
                cx.report.report_at(d);
            }
            broken(&mut cx.ix, span)
        }
    }
}

fn zero(span: Span) -> Expr {
    Expr::int(0, span)
}

/// `extent(c)`, `extent(x, c)`
pub(super) fn extent(cx: &mut Cx, of: Option<ExprId>, coord: hir::CoordRef, span: Span) -> Expr {
    let of = of.map(|of| expr::expr(cx, of, None));
    if of.as_ref().is_some_and(|of| of.ty.has_error()) {
        return Expr::new(ExprKind::Error, Type::I32, span);
    }
    let of = of.map(|of| expr::settle_expr(&mut cx.ix, &mut cx.build, of));
    match coord_size(&cx.ix, &mut cx.report, &coord, of.as_ref(), span) {
        Some(size) => Expr::size(size, span),
        None => Expr::new(ExprKind::Error, Type::I32, span),
    }
}

/// The extent of a coordinate: of one tensor, or of all values in scope if they agree.
fn coord_size(
    ix: &Index,
    report: &mut Report,
    coord: &hir::CoordRef,
    of: Option<&Expr>,
    span: Span,
) -> Option<size::Expr> {
    let name = coord.name.sym;
    if let Some(of) = of {
        let axis = of.ty.axes().iter().find(|axis| {
            axis.coord.is_some_and(|coord| coord.name == name || coord.root() == name)
        });
        if let Some(axis) = axis {
            return Some(axis.size.clone());
        }
        let tensor = ix.quote(of);
        let layout = show::show_coords(of.ty.axes());
        let d = error(Code::E0301, coord.name.span, format!("{tensor} has no coordinate `{name}`"))
            .here(format!("not a coordinate of {tensor}"))
            .note(format!("{tensor} has the coordinates {layout}"))
            .help("name one of its coordinates");
        let d = ix.with_declaration(d, of);
        report.report_at(d);
        return None;
    }
    if let Some(size) = ranges::coord_extent(ix, name) {
        return Some(size);
    }
    let owners: Vec<_> =
        ix.f.extents
            .iter()
            .filter(|extent| extent.name == name || extent.over == Some(name))
            .cloned()
            .collect();
    let d = if owners.is_empty() {
        let mut known: Vec<Symbol> = ix.f.extents.iter().map(|extent| extent.name).collect();
        known.dedup();
        let nearest = crate::suggest::nearest(name, known.iter().copied());
        let d = error(Code::E0301, span, format!("no value in scope has a coordinate `{name}`"))
            .here("unknown coordinate");
        match nearest {
            Some(nearest) => {
                d.fix(format!("did you mean `{nearest}`?"), coord.name.span, nearest.as_str())
            }
            None => {
                d.help(format!("declare it in a type: `[f32; {name}]`, or write a range: `0..n`"))
            }
        }
    } else {
        let mut d = error(
            Code::E0314,
            span,
            format!("the values in scope disagree about the extent of `{name}`"),
        )
        .here("which one is meant?");
        for owner in owners.iter().take(3) {
            d = d.label(
                owner.span,
                format!("`{}` has {} along `{name}`", owner.owner, ix.show_size(&owner.size)),
            );
        }
        let owner = owners[0].owner;
        d.help(format!("name the value: `extent({owner}, {name})`"))
    };
    report.report_at(d);
    None
}

// ---------------------------------------------------------------- where
