//! One definition of a system: an axis for its names, right after the axis of the steps.
//!
//! Before:  `v[t] = …`, `x[t] = … v[t] …`
//! After:   `s[t, 0] = …`, `s[t, 1] = … s[t, 0] …`; `v = s[.., 0]`, `x = s[.., 1]`
//!
//! Names of different extents lie in the corner of a common box, those with fewer axes at position
//! 0 of the others; `order` says which axes of the box are theirs. What lies outside of a name is never read: its own bounds are proved before, and
//! where that is not possible the index is sent out of the box. Numbers of different types are kept
//! in one that holds them all, and converted where they are read and written.

use super::order::Order;
use super::{Cx, Member};
use crate::check::bounds::{Prover, Proving};
use crate::check::facts::Verdict;
use crate::check::paths::Path;
use crate::check::state::{Build, Index, Report};
use crate::check::{define, expr, index, paths, pointwise, stmt, system, vars, widen};
use ein_base::{Name, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::walk::each_child_mut;
use ein_ir::tensor::{
    AtomDef, Axis, Bounds, Clause, ClauseSlot, Expr, ExprKind, IndexArg, Recurrence, Tensor, Type,
    VarId,
};
use ein_scalar::{BinaryOp, Scalar, ScalarType as S};

/// Where the names of a system lie in its array.
pub(super) struct Layout {
    /// The variable that clauses read.
    pub(super) var: VarId,
    pub(super) ty: Type,
    /// The axis of the names.
    pub(super) axis: usize,
    /// How many axes the names declare at most.
    pub(super) rank: usize,
    /// The type of the elements, if they are numbers.
    pub(super) scalar: Option<S>,
    pub(super) names: Vec<Place>,
}

/// Where a name lies.
pub(super) struct Place {
    pub(super) var: VarId,
    /// How many axes it declares.
    pub(super) rank: usize,
    /// The axes of the box that they are, the axis of the names left out.
    pub(super) axes: Vec<usize>,
    pub(super) ty: Type,
    /// The axes along which it is smaller than the box.
    pub(super) smaller: Vec<bool>,
}

impl Layout {
    /// What belongs to the axes of a name, in the order of the box.
    pub(super) fn placed<T>(&self, at: usize, own: Vec<T>, none: impl Fn() -> T) -> Vec<T> {
        let mut placed: Vec<T> = (0..self.rank).map(|_| none()).collect();
        for (value, axis) in own.into_iter().zip(&self.names[at].axes) {
            placed[*axis] = value;
        }
        placed
    }
}

impl Place {
    /// Whether its axes are the first ones of the box.
    fn is_in_front(&self) -> bool {
        self.axes.iter().enumerate().all(|(own, axis)| own == *axis)
    }
}

/// Binds the names of a system. Gives whether that was possible.
pub(super) fn bind_system(cx: &mut Cx, mut members: Vec<Member>, extents: usize) -> bool {
    let Some(order) =
        system::order::order_system(&mut cx.ix, &cx.build, &mut cx.report, &mut members)
    else {
        return false;
    };
    if !members.iter_mut().all(|member| prove_member(&mut cx.ix, &cx.build, &mut cx.report, member))
    {
        return false;
    }
    let mut places: Vec<Vec<usize>> =
        order.names.iter().map(|at| order.places[*at].clone()).collect();
    let mut sorted: Vec<Option<Member>> = members.into_iter().map(Some).collect();
    let mut members: Vec<Member> = order.names.iter().filter_map(|at| sorted[*at].take()).collect();
    let scalar = common_scalar(&members);
    let inner = members[0].tensor.inner_rank;
    let rank = members[0].tensor.shape.len();
    let alike = scalar.is_some()
        && members.iter().all(|it| {
            it.tensor.inner_rank == inner
                && it.tensor.shape.len() == rank
                && it.ty.scalar() == scalar
        })
        && (0..inner).all(|axis| {
            let size = |it: &Member| it.ty.axes()[rank + axis].size.clone();
            let first = size(&members[0]);
            members.iter().all(|it| same_size(&cx.ix, &first, &size(it)))
        });
    if !alike && scalar.is_some() {
        members.iter_mut().for_each(|member| declare_inner(&mut cx.ix, member));
        place_inner(&members, &order, &mut places);
    }
    let value = stacked(&mut cx.ix, &mut members, &order, &places, scalar);
    let value = define::until::ended(&mut cx.ix, &cx.build, &mut cx.report, value);
    if value.ty.has_error() {
        return false;
    }
    let names: Vec<&str> = members.iter().map(|it| it.name.as_str()).collect();
    // A name that people do not see.
    let name = Symbol::intern(&format!("${}", names.join("_")));
    let ends = value.ty.clone();
    let end = define::until::end_of(&cx.ix, &value);
    if end.is_some() {
        cx.ix.f.extents.truncate(extents);
    }
    let var = vars::bind(&mut cx.ix, &mut cx.build, name, value);
    define::until::note_end(&mut cx.ix, var, end);
    let layout = layout_of(&cx.ix, &members, var, scalar, &order, &places);
    for (at, member) in members.iter().enumerate() {
        let Some(local) = member.local else { continue };
        let hidden = order.axes.first().and_then(|first| {
            let axis = if first.axis >= layout.axis { first.axis + 1 } else { first.axis };
            cx.ix.unsettled(&ends.axes().get(axis)?.size)?;
            let own = layout.names[at].axes.iter().position(|axis| *axis == first.axis)?;
            Some((own, cx.ix.vars[var].ty.axes().get(axis)?.size.clone()))
        });
        let view = view_of(&mut cx.ix, &layout, at, hidden, member.span);
        stmt::bind_local(cx, local, view);
    }
    true
}

fn same_size(ix: &Index, a: &size::Expr, b: &size::Expr) -> bool {
    a == b || size::prove_eq(&ix.f.facts, a, b).is_proved()
}

/// Proves the reads of a name while its clauses still know the extents of the others.
fn prove_member(ix: &mut Index, build: &Build, report: &mut Report, member: &mut Member) -> bool {
    let (errors, reads) = (report.error_count(), report.reads.len());
    let mut path = Path::new(ix.f.facts.clone());
    for require in &member.tensor.requires {
        path.facts.eq(&require.left, &require.right);
    }
    let mut prover = Prover::default();
    let mut proving = Proving { prover: &mut prover, report };
    for clause in &mut member.tensor.clauses {
        paths::walk::walk_clause(ix, build, clause, &mut path, &mut proving);
    }
    // What is open is looked at again, and told then.
    let mut at = 0;
    report.reads.retain(|read| {
        at += 1;
        at <= reads || read.verdict != Verdict::Checked
    });
    report.error_count() == errors
}

impl Report {
    fn error_count(&self) -> usize {
        self.diagnostics.iter().filter(|d| d.is_error()).count()
    }
}

/// Turns the axes of array-valued clauses into declared ones.
fn declare_inner(ix: &mut Index, member: &mut Member) {
    let (rank, inner) = (member.tensor.shape.len(), member.tensor.inner_rank);
    let sizes: Vec<size::Expr> =
        member.ty.axes()[rank..].iter().map(|axis| axis.size.clone()).collect();
    if inner == 0 {
        return;
    }
    for clause in &mut member.tensor.clauses {
        let span = clause.span;
        let (slots, at) = generated(ix, &sizes, span);
        clause.slots.extend(slots);
        let values = [&mut clause.value].into_iter().chain(&mut clause.otherwise);
        for value in values {
            let whole = std::mem::replace(value, Expr::error(span));
            *value = match whole.ty.rank() {
                0 => whole,
                _ => expr::read(whole, at.clone(), Bounds::Proved, span),
            };
        }
    }
    member.tensor.shape.extend(sizes.into_iter().map(Some));
    member.tensor.inner_rank = 0;
}

/// The axes of array-valued clauses are axes of the box as well, along which the system does not run.
fn place_inner(members: &[Member], order: &Order, places: &mut [Vec<usize>]) {
    for (member, own) in members.iter().zip(places) {
        let mut free = (0..).filter(|axis| order.axes.iter().all(|step| step.axis != *axis));
        while own.len() < member.tensor.shape.len() {
            own.extend(free.by_ref().find(|axis| !own.contains(axis)));
        }
    }
}

fn layout_of(
    ix: &Index,
    members: &[Member],
    var: VarId,
    scalar: Option<S>,
    order: &Order,
    places: &[Vec<usize>],
) -> Layout {
    let ty = ix.vars[var].ty.clone();
    let axis = usize::from(order.axes.first().is_some_and(|first| first.axis == 0));
    let sizes = box_sizes(ix, members, places);
    let names = members
        .iter()
        .zip(places)
        .map(|(member, axes)| {
            let same = |(own, axis): (usize, &usize)| {
                same_size(ix, &member.ty.axes()[own].size, &sizes[*axis])
            };
            let smaller = axes.iter().enumerate().map(|place| !same(place)).collect();
            let (rank, axes) = (axes.len(), axes.clone());
            Place { var: member.var, rank, axes, ty: member.ty.clone(), smaller }
        })
        .collect();
    Layout { var, ty, axis, rank: sizes.len(), scalar, names }
}

/// How many axes the box of all names has.
fn box_rank(places: &[Vec<usize>]) -> usize {
    places.iter().flatten().map(|axis| axis + 1).max().unwrap_or(0)
}

/// The extents of the box around all names. Names without an axis lie at its position 0, so there is
/// one even if the names that have the axis are empty.
fn box_sizes(ix: &Index, members: &[Member], places: &[Vec<usize>]) -> Vec<size::Expr> {
    let along = |(member, own): (&Member, &Vec<usize>), axis: usize| {
        let own = own.iter().position(|place| *place == axis);
        own.map_or(size::Expr::constant(1), |own| member.ty.axes()[own].size.clone())
    };
    (0..box_rank(places))
        .map(|axis| {
            let sizes = members.iter().zip(places).map(|member| along(member, axis));
            sizes.reduce(|a, b| ix.greater(&a, &b)).unwrap_or(size::Expr::constant(1))
        })
        .collect()
}

/// The definition of all names together.
fn stacked(
    ix: &mut Index,
    members: &mut [Member],
    order: &Order,
    places: &[Vec<usize>],
    scalar: Option<S>,
) -> Expr {
    let sizes = box_sizes(ix, members, places);
    let axis = usize::from(order.axes.first().is_some_and(|first| first.axis == 0));
    let count = size::Expr::constant(members.len() as i64);
    let mut axes: Vec<Axis> = sizes.iter().cloned().map(Axis::anonymous).collect();
    axes.insert(axis, Axis::anonymous(count.clone()));
    let mut shape: Vec<Option<size::Expr>> = Vec::new();
    for (at, size) in sizes.iter().enumerate() {
        let known = members.iter().zip(places).all(|(it, own)| {
            let own = own.iter().position(|place| *place == at);
            own.is_none_or(|own| it.tensor.shape[own].is_some())
        });
        shape.push(known.then(|| size.clone()));
    }
    shape.insert(axis, Some(count));
    let inner = if scalar.is_some() { members[0].tensor.inner_rank } else { 0 };
    if scalar.is_some() {
        let own = members[0].tensor.shape.len();
        axes.extend(members[0].ty.axes()[own..].iter().take(inner).cloned());
    }
    let elem = match scalar {
        Some(scalar) => Type::Scalar(scalar),
        None => system::boxes::box_type(ix, members),
    };
    let span = members.iter().map(|it| it.span).reduce(Span::to).unwrap_or(members[0].span);
    let first = members.iter().find_map(|it| it.local.map(|local| ix.hir.locals[local].name));
    let name = first.unwrap_or(Name { sym: members[0].name, span });
    let var = ix.new_var(name.sym, name.span, Type::Error);
    let ty = ix.settle_type(var, Type::array(elem, axes));
    let layout = layout_of(ix, members, var, scalar, order, places);
    move_extents(ix, &layout);
    let mut clauses = Vec::new();
    let mut requires = Vec::new();
    for (at, member) in members.iter_mut().enumerate() {
        requires.append(&mut member.tensor.requires);
        for clause in std::mem::take(&mut member.tensor.clauses) {
            clauses.push(stacked_clause(ix, &layout, at, clause));
        }
    }
    let moved = |axis: usize| if axis >= layout.axis { axis + 1 } else { axis };
    let mut steps: Vec<_> = order
        .axes
        .iter()
        .map(|step| ein_ir::tensor::RecurrenceAxis { axis: moved(step.axis), ..*step })
        .collect();
    if let Some(at) = order.within {
        let names = ein_ir::tensor::RecurrenceAxis { axis: layout.axis, backward: false };
        steps.insert(at, names);
    }
    let recurrence = Recurrence { axes: steps, lookback: order.lookback, adjoint: false };
    let tensor = Tensor {
        name: Some(name.sym),
        self_var: Some(var),
        shape,
        inner_rank: inner,
        clauses,
        recurrence: Some(Box::new(recurrence)),
        requires,
    };
    Expr::new(ExprKind::Tensor(tensor), ty, span)
}

/// Extents of the names that only the run knows are extents of the box.
fn move_extents(ix: &mut Index, layout: &Layout) {
    for info in ix.atoms.iter_mut() {
        if let AtomDef::Extent(var, axis) = info.def
            && let Some(place) = layout.names.iter().find(|place| place.var == var)
        {
            let inner = || axis + layout.rank - place.rank;
            let axis = place.axes.get(axis).copied().unwrap_or_else(inner);
            let axis = if axis >= layout.axis { axis + 1 } else { axis };
            info.def = AtomDef::Extent(layout.var, axis);
        }
    }
}

fn stacked_clause(ix: &mut Index, layout: &Layout, at: usize, mut clause: Clause) -> Clause {
    let span = clause.span;
    clause.slots = layout.placed(at, std::mem::take(&mut clause.slots), || ClauseSlot::Point(0));
    clause.slots.insert(layout.axis, ClauseSlot::Point(at as i64));
    ein_ir::tensor::walk::each_in_clause_mut(&mut clause, &mut |e| moved(ix, layout, e));
    let ty = layout.names[at].ty.clone();
    for value in [&mut clause.value].into_iter().chain(&mut clause.otherwise) {
        let plain = std::mem::replace(value, Expr::error(span));
        *value = match (layout.scalar, ty.scalar()) {
            (Some(to), Some(from)) if from != to => kept_as(ix, plain, from, to),
            (Some(_), _) => plain,
            (None, _) => system::boxes::boxed(layout, at, plain),
        };
    }
    clause
}

/// Reads of names become reads of the box.
fn moved(ix: &mut Index, layout: &Layout, e: &mut Expr) {
    let span = e.span;
    if let ExprKind::Index { base, indices } = &mut *e.kind
        && let ExprKind::Var(var) = &*base.kind
        && let Some(at) = layout.names.iter().position(|place| place.var == *var)
    {
        indices.iter_mut().for_each(|index| moved(ix, layout, &mut index.value));
        let indices = std::mem::take(indices);
        *e = read_of(ix, layout, at, indices, span);
        return;
    }
    if let ExprKind::Var(var) = &*e.kind
        && let Some(at) = layout.names.iter().position(|place| place.var == *var)
    {
        *e = view_of(ix, layout, at, None, span);
        return;
    }
    each_child_mut(e, &mut |child| moved(ix, layout, child));
}

/// A read of a name in the box.
fn read_of(
    ix: &mut Index,
    layout: &Layout,
    at: usize,
    mut indices: Vec<IndexArg>,
    span: Span,
) -> Expr {
    let place = &layout.names[at];
    let given = indices.len();
    let whole = given >= place.rank;
    if given < layout.axis || !(whole || place.is_in_front()) {
        let whole = view_of(ix, layout, at, None, span);
        return sub_array(whole, indices, span);
    }
    for (axis, index) in indices.iter_mut().enumerate().take(place.rank) {
        if place.smaller[axis] && index.bounds == Bounds::Checked {
            hold_inside(index, &place.ty.axes()[axis].size);
        }
    }
    if whole {
        let inner = indices.split_off(place.rank);
        indices = layout.placed(at, indices, || constant(0, span));
        indices.extend(inner);
    }
    indices.insert(layout.axis, constant(at as i64, span));
    let base = Expr::new(ExprKind::Var(layout.var), layout.ty.clone(), span);
    if layout.scalar.is_none() {
        return system::boxes::unboxed_read(ix, layout, at, base, indices, given, span);
    }
    let read = sub_array(base, indices, span);
    let read = match whole {
        true => read,
        false => trimmed(layout, at, read, given, None, span),
    };
    given_as(ix, read, layout.scalar, place.ty.scalar(), span)
}

/// Sends an index out of the box that is outside of its name.
fn hold_inside(index: &mut IndexArg, size: &size::Expr) {
    let span = index.value.span;
    let value = std::mem::replace(&mut index.value, Expr::error(span));
    let ty = value.ty.clone();
    let to = ty.scalar().unwrap_or(S::I32);
    let size = widen::cast(Expr::size(size.clone(), span), to);
    let below = Expr::new(ExprKind::Binary(BinaryOp::Lt, value.clone(), size), Type::BOOL, span);
    let outside = widen::cast(Expr::int(-1 << 30, span), to);
    index.value =
        Expr::new(ExprKind::If { cond: below, then: value, otherwise: outside }, ty, span);
}

/// A sub-array, or an element.
fn sub_array(base: Expr, indices: Vec<IndexArg>, span: Span) -> Expr {
    if indices.is_empty() {
        return base;
    }
    let ty = stmt::without_axes(&base.ty, indices.len());
    Expr::new(ExprKind::Index { base, indices }, ty, span)
}

/// A name as a whole; `hidden` is the extent of an axis that ended early.
fn view_of(
    ix: &mut Index,
    layout: &Layout,
    at: usize,
    hidden: Option<(usize, size::Expr)>,
    span: Span,
) -> Expr {
    let base = Expr::new(ExprKind::Var(layout.var), layout.ty.clone(), span);
    let base = to_front(base, &[layout.axis], span);
    if layout.scalar.is_none() {
        return system::boxes::unboxed_view(ix, layout, at, base, hidden, span);
    }
    let row = sub_array(base, vec![constant(at as i64, span)], span);
    let trimmed = self::trimmed(layout, at, row, 0, hidden, span);
    let place = &layout.names[at];
    given_as(ix, trimmed, layout.scalar, place.ty.scalar(), span)
}

/// Leaves out the axes that a name does not have, and what is outside of it along the others.
/// The first `given` axes are gone already; then they are the first ones of the box.
pub(super) fn trimmed(
    layout: &Layout,
    at: usize,
    part: Expr,
    given: usize,
    hidden: Option<(usize, size::Expr)>,
    span: Span,
) -> Expr {
    let place = &layout.names[at];
    let missing = (0..layout.rank).filter(|axis| !place.axes.contains(axis));
    let zeros: Vec<IndexArg> = missing.clone().map(|_| constant(0, span)).collect();
    let own = place.axes[given..].iter().copied();
    let order: Vec<usize> = missing.chain(own).map(|axis| axis - given).collect();
    let front = to_front(part, &order, span);
    let mut part = sub_array(front, zeros, span);
    for axis in given..place.rank {
        if place.smaller[axis] {
            let mut size = place.ty.axes()[axis].size.clone();
            if let Some((_, end)) = hidden.as_ref().filter(|(own, _)| *own == axis) {
                size = size.min(end);
            }
            let hi = Some(Expr::size(size.clone(), span));
            part = index::piece(part, axis - given, (None, hi), size);
        }
    }
    // The names of its axes are its own.
    if let Type::Array(array) = &mut part.ty {
        let own = place.ty.axes()[given.min(place.ty.rank())..].iter();
        let array = std::sync::Arc::make_mut(array);
        for (axis, own) in array.axes.iter_mut().zip(own) {
            axis.coord = own.coord;
        }
    }
    part
}

/// A number of the box as the name holds it.
fn given_as(ix: &mut Index, value: Expr, from: Option<S>, to: Option<S>, span: Span) -> Expr {
    let (Some(from), Some(to)) = (from, to) else { return value };
    if from == to {
        return value;
    }
    each_element(ix, value, span, |value| converted(value, from, to))
}

fn kept_as(ix: &mut Index, value: Expr, from: S, to: S) -> Expr {
    let span = value.span;
    each_element(ix, value, span, |value| converted(value, from, to))
}

/// The same array with every element changed.
pub(super) fn each_element(
    ix: &mut Index,
    value: Expr,
    span: Span,
    change: impl FnOnce(Expr) -> Expr,
) -> Expr {
    let axes = value.ty.axes().to_vec();
    if axes.is_empty() {
        return change(value);
    }
    let sizes: Vec<size::Expr> = axes.iter().map(|axis| axis.size.clone()).collect();
    let (slots, at) = generated(ix, &sizes, span);
    let value = change(expr::read(value, at, Bounds::Proved, span));
    pointwise::tensor(ix, None, axes, vec![(slots, value)], span)
}

/// The type that holds the elements of all names, if they are numbers and there is one.
fn common_scalar(members: &[Member]) -> Option<S> {
    let types: Option<Vec<S>> = members.iter().map(|it| it.ty.scalar()).collect();
    let types = types?;
    let first = types[0];
    if types.iter().all(|ty| *ty == first) {
        return Some(first);
    }
    let wide = |ty: &S| matches!(ty, S::I64 | S::U64);
    if types.iter().any(|ty| ty.is_float()) {
        return (!types.iter().any(wide)).then_some(S::F64);
    }
    (!types.contains(&S::U64)).then_some(S::I64)
}

/// A number in another type that holds it, or back.
fn converted(value: Expr, from: S, to: S) -> Expr {
    let span = value.span;
    let number = |ty: S, one: bool| {
        let value = if one { Scalar::one(ty) } else { Scalar::zero(ty) };
        Expr::new(ExprKind::Const(value), Type::Scalar(ty), span)
    };
    if from == S::Bool {
        let kind =
            ExprKind::If { cond: value, then: number(to, true), otherwise: number(to, false) };
        return Expr::new(kind, Type::Scalar(to), span);
    }
    if to == S::Bool {
        let kind = ExprKind::Binary(BinaryOp::Ne, value, number(from, false));
        return Expr::new(kind, Type::BOOL, span);
    }
    Expr::new(ExprKind::Cast(value), Type::Scalar(to), span)
}

/// A constant position that is inside.
pub(super) fn constant(at: i64, span: Span) -> IndexArg {
    IndexArg { value: Expr::int(at, span), bounds: Bounds::Proved }
}

/// Generated indices over axes of these extents: what binds them, and their values.
pub(super) fn generated(
    ix: &mut Index,
    sizes: &[size::Expr],
    span: Span,
) -> (Vec<ClauseSlot>, Vec<Expr>) {
    let index = |size| {
        let var = ix.new_local(Symbol::intern("$i"), span, Type::I32);
        let slot = ClauseSlot::Loop(pointwise::full_binder(var, size, span));
        (slot, Expr::new(ExprKind::Var(var), Type::I32, span))
    };
    sizes.iter().map(index).unzip()
}

/// The same array with some axes before the others.
fn to_front(base: Expr, axes: &[usize], span: Span) -> Expr {
    if axes.iter().enumerate().all(|(at, axis)| at == *axis) {
        return base;
    }
    let rank = base.ty.rank();
    let rest = (0..rank).filter(|axis| !axes.contains(axis));
    let order: Vec<usize> = axes.iter().copied().chain(rest).collect();
    let moved: Vec<Axis> = order.iter().map(|axis| base.ty.axes()[*axis].clone()).collect();
    let ty = Type::array(base.ty.elem().clone(), moved);
    Expr::new(ExprKind::Permute { base, order }, ty, span)
}
