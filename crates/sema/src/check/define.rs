//! Indexed definitions: clauses, their layout, shape and type.

use super::reduce::Bound;
use super::state::{Index, Report};
use super::{
    Binding, Cx, IndexId, causality, close, error, expr, fields, index, infer, layouts, literal,
    look, packs, ragged, ranges, reduce, regions, stmt, template, vars, wheres, widen,
};
use crate::hir::{self, ExprId, ExprKind as H, LeftSlotKind, LocalId};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::walk::{each_child_mut, each_in_clause_mut};
use ein_ir::tensor::{
    Axis, Clause, ClauseSlot, Coord, Expr, ExprKind, Item, Require, Tensor, Type, VarId,
};
use std::sync::Arc;

pub(in crate::check) mod element;
pub(in crate::check) mod reads;
pub(in crate::check) mod until;

pub(super) use element::with_scalar;

/// The clauses of a definition, as far as they were checked.
pub(super) type Drafts = Vec<Option<Draft>>;

/// A clause after checking, with the index variables of its slots.
pub(super) struct Draft {
    pub(super) clause: Clause,
    indices: Vec<Option<IndexId>>,
    requires: Vec<Require>,
}

pub(super) fn define(cx: &mut Cx, definition: &hir::Definition) {
    let local = definition.local;
    let name = cx.hir.locals[local].name;
    let clauses = &definition.clauses;
    let extents = cx.ix.f.extents.len();
    let span = clauses.iter().map(|clause| clause.span).reduce(Span::to).unwrap_or(name.span);
    let recursive: Vec<bool> =
        clauses.iter().map(|clause| reads_any(cx.hir, clause, &[local])).collect();
    if clauses
        .iter()
        .any(|clause| clause.slots.iter().any(|slot| matches!(slot.kind, LeftSlotKind::Error)))
    {
        stmt::bind_local(cx, local, Expr::error(span));
        return;
    }
    if let Some(d) = element::base_apart(cx, definition, &recursive) {
        cx.report.report_at(d);
        stmt::bind_local(cx, local, Expr::error(span));
        return;
    }
    let mut drafts: Drafts = clauses.iter().map(|_| None).collect();
    let mut self_var = None;
    if recursive.contains(&true) {
        self_var = Some(recurrence(cx, definition, &recursive, &mut drafts));
    } else {
        plain_clauses(cx, clauses, &recursive, None, &mut drafts);
    }
    let drafts: Option<Vec<Draft>> = drafts.into_iter().collect();
    let Some(drafts) = drafts else {
        let value = broken_definition(cx, definition, span);
        stmt::bind_local(cx, local, value);
        return;
    };
    if !cx.report.equal_ranks(name.sym, &drafts) {
        stmt::bind_local(cx, local, Expr::error(span));
        return;
    }
    let mut value = finish_definition(cx, name.sym, drafts, self_var, span);
    if let ExprKind::Tensor(tensor) = &mut *value.kind
        && self_var.is_some()
    {
        causality::order_recurrence(&mut cx.ix, &cx.build, &mut cx.report, tensor, name.sym, span);
    }
    let value = until::ended(&mut cx.ix, &cx.build, &mut cx.report, value);
    let end = until::end_of(&cx.ix, &value);
    if end.is_some() {
        cx.ix.f.extents.truncate(extents);
    }
    let var = stmt::bind_local(cx, local, value);
    until::note_end(&mut cx.ix, var, end);
}

/// Checks the clauses of a recurrence; gives the variable that they read it by.
fn recurrence(
    cx: &mut Cx,
    definition: &hir::Definition,
    recursive: &[bool],
    drafts: &mut Drafts,
) -> VarId {
    let clauses = &definition.clauses;
    let number =
        infer::infer_elements(&cx.infer, &cx.ix, std::slice::from_ref(definition)).pop().flatten();
    // What does not read the tensor itself tells its type; literals take that of the others.
    let one = std::slice::from_ref(definition);
    let looked = |cx: &mut Cx, elem| {
        element::looked_at(cx, one, &[recursive.to_vec()], vec![elem], element::ROUNDS)
            .pop()
            .flatten()
    };
    let literal =
        looked(cx, None).or_else(|| element::wanted(&cx.ix, definition, recursive, number));
    let elem = match plain_clauses(cx, clauses, recursive, literal.as_ref(), drafts) {
        // What the steps make may be wider than what it begins with.
        Some(elem) if literal.is_none() => {
            let elem = infer::widened(&elem, number);
            looked(cx, Some(elem.clone())).unwrap_or(elem)
        }
        Some(elem) => literal
            .filter(|it| it.scalar().is_none())
            .unwrap_or_else(|| infer::widened(&elem, number)),
        None => element::guess_element(cx, definition, recursive, number),
    };
    recurrent_clauses(cx, definition, recursive, &elem, drafts)
}

/// Whether a clause reads one of these, or asks for them at its end.
pub(super) fn reads_any(hir: &hir::Program, clause: &hir::Clause, locals: &[LocalId]) -> bool {
    // What ends has an order, whatever it reads.
    clause.until.is_some() || mentions(hir, clause.body, locals)
}

impl Report {
    /// Whether all clauses have as many axes; where there are packs, their slots do not tell.
    fn equal_ranks(&mut self, name: Symbol, drafts: &[Draft]) -> bool {
        let rank = |draft: &Draft| draft.clause.slots.len();
        let first = &drafts[0];
        let Some(other) = drafts.iter().find(|draft| rank(draft) != rank(first)) else {
            return true;
        };
        let (a, b) = (rank(first), rank(other));
        let d = error(
            Code::E0417,
            other.clause.span,
            format!("the clauses of `{name}` have different ranks: {a} and {b}"),
        )
        .here(format!("of rank {b}"))
        .label(first.clause.span, format!("of rank {a}"))
        .help(format!("write all clauses of `{name}` with the same number of indices"));
        self.report_at(d);
        false
    }
}

/// What a definition with a mistake in it still says: its layout, and extents where they are
/// written. Its elements are of no type, so nothing is said of what is done with them.
fn broken_definition(cx: &mut Cx, definition: &hir::Definition, span: Span) -> Expr {
    if definition.clauses.iter().any(|clause| clause.slots.iter().any(is_pack)) {
        return Expr::error(span);
    }
    let rank = definition.clauses[0].slots.len();
    let axes: Vec<Axis> = (0..rank).map(|axis| self_axis(cx, definition, &[], axis)).collect();
    let elem = match definition.clauses.iter().any(|it| may_be_array(cx.hir, it.body)) {
        true => Type::AnyRank(Box::new(Type::Error)),
        false => Type::Error,
    };
    let array = ein_ir::tensor::ArrayType { elem, axes };
    Expr::new(ExprKind::Error, Type::Array(Arc::new(array)), span)
}

/// Whether the form of an expression leaves open that it has axes: calls, names, literals of arrays, and
/// what ends with one.
fn may_be_array(hir: &hir::Program, id: hir::ExprId) -> bool {
    match &hir.exprs[id].kind {
        H::Call { .. } | H::CoordCall { .. } | H::Array(_) | H::Comprehension { .. } => true,
        H::Local(_) | H::Index { .. } | H::Field(..) | H::TupleField(..) | H::Error => true,
        H::Block { tail, .. } => tail.is_some_and(|tail| may_be_array(hir, tail)),
        H::If { then, otherwise, .. } => {
            let mut sides = [Some(*then), *otherwise].into_iter().flatten();
            sides.any(|side| may_be_array(hir, side))
        }
        H::Match { arms, .. } => arms.iter().any(|arm| may_be_array(hir, arm.body)),
        _ => false,
    }
}

/// Checks the clauses that do not read the tensor itself, which are to be of this type; gives the
/// type of its elements.
pub(super) fn plain_clauses(
    cx: &mut Cx,
    clauses: &[hir::Clause],
    recursive: &[bool],
    want: Option<&Type>,
    drafts: &mut Drafts,
) -> Option<Type> {
    let mut elem = None;
    for at in by_literals(cx.hir, clauses, recursive, false) {
        let draft = clause(cx, &clauses[at], want.or(elem.as_ref()), None);
        if let Some(draft) = &draft
            && elem.is_none()
            && !draft.clause.value.ty.has_error()
        {
            elem = Some(draft.clause.value.ty.clone());
        }
        drafts[at] = draft;
    }
    elem
}

/// Checks the clauses that read the tensor itself, whose elements have the given type; gives
/// the variable that they read.
fn recurrent_clauses(
    cx: &mut Cx,
    definition: &hir::Definition,
    recursive: &[bool],
    elem: &Type,
    drafts: &mut Drafts,
) -> VarId {
    let clauses = &definition.clauses;
    let var = self_variable(cx, definition, drafts, elem.clone());
    cx.ix.f.env.insert(definition.local, Binding::Var(var));
    for at in by_literals(cx.hir, clauses, recursive, true) {
        drafts[at] = clause(cx, &clauses[at], Some(elem), Some(var));
    }
    var
}

/// The clauses that do (or do not) read the tensor itself, those made of literals last, so that
/// they take the type of the others.
pub(super) fn by_literals(
    hir: &hir::Program,
    clauses: &[hir::Clause],
    recursive: &[bool],
    which: bool,
) -> Vec<usize> {
    let mut order: Vec<usize> = (0..clauses.len()).filter(|at| recursive[*at] == which).collect();
    // A variant without parts says least: `None`.
    order.sort_by_key(|at| match &hir.exprs[clauses[*at].body].kind {
        H::Variant(..) => 2,
        _ => i32::from(literal::literal_class(hir, clauses[*at].body).is_some()),
    });
    order
}

pub(super) fn mentions(hir: &hir::Program, id: ExprId, locals: &[LocalId]) -> bool {
    if matches!(&hir.exprs[id].kind, H::Local(other) if locals.contains(other)) {
        return true;
    }
    let mut found = false;
    crate::visit::each_child(hir, id, &mut |child| {
        found = found || mentions(hir, child, locals);
    });
    found
}

/// What the clauses of a recurrence read: a variable of the type known so far.
pub(super) fn self_variable(
    cx: &mut Cx,
    definition: &hir::Definition,
    drafts: &[Option<Draft>],
    elem: Type,
) -> VarId {
    let name = cx.hir.locals[definition.local].name;
    let rank = drafts
        .iter()
        .flatten()
        .map(|draft| draft.indices.len())
        .next()
        .unwrap_or(definition.clauses[0].slots.len());
    let axes = reads::with_reads(cx, drafts.iter().flatten(), |cx| {
        (0..rank).map(|axis| self_axis(cx, definition, drafts, axis)).collect()
    });
    let var = cx.ix.new_var(name.sym, name.span, Type::Error);
    let ty = match elem {
        Type::Error => Type::Array(Arc::new(ein_ir::tensor::ArrayType { elem, axes })),
        elem => Type::array(elem, axes),
    };
    cx.ix.settle_type(var, ty.clone());
    let ty = cx.ix.vars[var].ty.clone();
    stmt::declare_extents(&mut cx.ix, name.sym, name.span, &ty);
    var
}

/// One axis of a recurrence before all clauses are known.
pub(super) fn self_axis(
    cx: &mut Cx,
    definition: &hir::Definition,
    drafts: &[Option<Draft>],
    axis: usize,
) -> Axis {
    let mut size: Option<size::Expr> = None;
    let mut coord: Option<Coord> = None;
    let mut complete = true;
    for draft in drafts.iter().flatten() {
        if let Some(Some(index)) = draft.indices.get(axis) {
            coord = coord.or(Some(close::index_coord(&cx.ix, *index)));
        }
        let extent = match draft.clause.slots.get(axis) {
            Some(ClauseSlot::Point(at)) => Some(size::Expr::constant(at + 1)),
            Some(ClauseSlot::Loop(binder)) => {
                cx.ix.to_size(&binder.hi).and_then(|hi| largest(&cx.ix, &hi))
            }
            None => None,
        };
        size = join_extent(&cx.ix, size, extent, &mut complete);
    }
    for (at, clause) in definition.clauses.iter().enumerate() {
        if drafts.get(at).is_some_and(Option::is_some) || clause.slots.iter().any(is_pack) {
            continue;
        }
        match clause.slots.get(axis).map(|slot| &slot.kind) {
            Some(LeftSlotKind::Literal(at)) => {
                let extent = Some(size::Expr::constant(at + 1));
                size = join_extent(&cx.ix, size, extent, &mut complete);
            }
            Some(LeftSlotKind::Index(binder)) => {
                coord =
                    coord.or(Some(Coord { name: binder.name.sym, over: None, contract: false }));
                if let Some(hir::Domain::Range { hi, inclusive, .. }) = &binder.domain {
                    let extent = quiet_size(cx, *hi, *inclusive);
                    size = join_extent(&cx.ix, size, extent, &mut complete);
                }
            }
            Some(LeftSlotKind::Point(point)) => {
                let extent = quiet_size(cx, *point, true);
                size = join_extent(&cx.ix, size, extent, &mut complete);
            }
            Some(LeftSlotKind::Error) | None => {}
        }
    }
    let size = match size {
        Some(size) if complete => size,
        _ => cx.ix.unknown_size(true),
    };
    Axis { coord, size }
}

fn join_extent(
    ix: &Index,
    size: Option<size::Expr>,
    extent: Option<size::Expr>,
    complete: &mut bool,
) -> Option<size::Expr> {
    match (size, extent) {
        (Some(a), Some(b)) => Some(ix.greater(&a, &b)),
        (None, Some(b)) => Some(b),
        (size, None) => {
            *complete = false;
            size
        }
    }
}

/// The value of a bound that does not depend on index variables, without reporting anything.
fn quiet_size(cx: &mut Cx, id: ExprId, inclusive: bool) -> Option<size::Expr> {
    let value = look::quietly(cx, |cx| vars::scoped(cx, |cx| expr::expr(cx, id, Some(&Type::I32))));
    let size = cx.ix.to_size(&value)?;
    let size = if inclusive { size.offset(1) } else { size };
    largest(&cx.ix, &size)
}

/// Checks one clause.
pub(super) fn clause(
    cx: &mut Cx,
    clause: &hir::Clause,
    elem: Option<&Type>,
    self_var: Option<VarId>,
) -> Option<Draft> {
    let saved_packs = cx.ix.f.packs.clone();
    let facts = cx.ix.f.facts.len();
    let extents = cx.ix.f.extents.len();
    let packs = clause.slots.iter().filter_map(|slot| match &slot.kind {
        LeftSlotKind::Index(binder) if binder.pack => Some((binder.local, binder.name)),
        _ => None,
    });
    packs::solve_packs(cx, packs.collect::<Vec<_>>().into_iter(), &[clause.body]);
    cx.ix.f.opens.push(None);
    cx.ix.f.loops += 1;
    let mut slots = Vec::new();
    let mut indices = Vec::new();
    for slot in &clause.slots {
        match &slot.kind {
            LeftSlotKind::Index(binder) => {
                for bound in reduce::bind_indices(cx, binder) {
                    assume_domain(&mut cx.ix, &bound);
                    indices.push(Some(bound.index));
                    slots.push(ClauseSlot::Loop(reduce::binder(&cx.ix, bound)));
                }
            }
            LeftSlotKind::Literal(at) => {
                indices.push(None);
                slots.push(ClauseSlot::Point(*at));
            }
            LeftSlotKind::Point(point) => {
                indices.push(None);
                slots.push(point_slot(cx, *point, slot.span));
            }
            LeftSlotKind::Error => {}
        }
    }
    let waiting = cx.build.f.computed.len();
    let reported = cx.report.diagnostics.len();
    let (items, value, otherwise) = clause_body(cx, clause.body, elem);
    let until = clause.until.as_deref().map(|until| Box::new(until::until(cx, until)));
    index::coordinates::check_waiting(&mut cx.ix, &mut cx.build, &mut cx.report, waiting);
    cx.ix.f.opens.pop();
    cx.ix.f.loops -= 1;
    cx.ix.f.packs = saved_packs;
    let broken = value.ty.has_error() && elem.is_some();
    let draft = if value.ty.has_error() && (broken || self_var.is_none()) {
        None
    } else {
        let mut clause = Clause { slots, items, value, otherwise, until, span: clause.span };
        let told = cx.report.diagnostics.len();
        let requires =
            ranges::solve_clause(&mut cx.ix, &mut cx.build, &mut cx.report, &mut clause, self_var);
        // What a body with a mistake in it lacks may be part of the mistake.
        if cx.report.diagnostics[reported..told].iter().any(|d| d.code == Code::E0303) {
            let missing = cx.report.diagnostics.drain(told..).filter(|d| d.code != Code::E0309);
            let others: Vec<_> = missing.collect();
            cx.report.diagnostics.extend(others);
        }
        Some(Draft { clause, indices, requires })
    };
    cx.ix.f.facts.truncate(facts);
    cx.ix.f.extents.truncate(extents);
    draft
}

/// A point that a constant expression gives; one that only a size knows is a domain of one
/// point.
fn point_slot(cx: &mut Cx, point: ExprId, span: Span) -> ClauseSlot {
    let value = expr::integer(cx, point, "a slot");
    let size = cx.ix.to_size(&value);
    if let Some(at) = size.as_ref().and_then(size::Expr::as_constant) {
        // The extent, which is one more, has to be a number as well.
        if at < i64::MAX {
            return ClauseSlot::Point(at);
        }
        let d = error(Code::E0108, span, format!("{at} is too large for a position"))
            .here(format!("the largest is {}", i64::MAX - 1));
        cx.report.report_at(d.help("define a point that can be stored"));
        return ClauseSlot::Point(0);
    }
    let settled = size.filter(|size| cx.ix.unsettled(size).is_none());
    let Some(size) = settled else {
        if !value.ty.has_error() {
            let d = error(Code::E0113, span, "the point that this clause defines is no constant")
                .here("known only when the program runs")
                .help("use literals, constants and sizes here, or an index with a domain");
            cx.report.report_at(d);
        }
        return ClauseSlot::Point(0);
    };
    let name = Name { sym: Symbol::intern("$point"), span };
    let index = cx.ix.new_index(name, super::Declared::Any);
    let var = cx.ix.indices[index].var;
    let (lo, hi) = (Expr::size(size.clone(), span), Expr::size(size.offset(1), span));
    ClauseSlot::Loop(ein_ir::tensor::Binder { var, lo, hi })
}

/// Takes an explicit domain for granted in the body.
fn assume_domain(ix: &mut Index, bound: &Bound) {
    if let Some((lo, hi)) = &bound.domain
        && let (Some(lo), Some(hi)) = (ix.to_size(lo), ix.to_size(hi))
    {
        let atom = ix.indices[bound.index].atom;
        ix.f.facts.with_range(atom, &lo, &hi);
    }
}

/// The body of a clause with its `where`.
fn clause_body(cx: &mut Cx, body: ExprId, elem: Option<&Type>) -> (Vec<Item>, Expr, Option<Expr>) {
    let hir = cx.hir;
    match &hir.exprs[body].kind {
        H::Where { body, items, otherwise } => {
            let before = cx.ix.f.facts.len();
            let written = items;
            let mut items = wheres::where_items(cx, written, elem);
            // A condition inside that has an `else` of its own is a value like any other.
            let chosen =
                |id: ExprId| matches!(hir.exprs[id].kind, H::Where { otherwise: Some(_), .. });
            let (more, value, _) = if chosen(*body) {
                (Vec::new(), vars::scoped(cx, |cx| expr::expr(cx, *body, elem)), None)
            } else {
                clause_body(cx, *body, elem)
            };
            cx.ix.f.facts.truncate(before);
            items.extend(more);
            match otherwise {
                Some(id) => {
                    let (value, otherwise) = wheres::else_value(cx, *body, written, value, *id);
                    (items, value, Some(otherwise))
                }
                None => (items, value, None),
            }
        }
        _ => (Vec::new(), vars::scoped(cx, |cx| expr::expr(cx, body, elem)), None),
    }
}

/// Puts the clauses together: layout, shape, type and order.
pub(super) fn finish_definition(
    cx: &mut Cx,
    name: Symbol,
    drafts: Vec<Draft>,
    self_var: Option<VarId>,
    span: Span,
) -> Expr {
    let rank = drafts[0].indices.len();
    let mut drafts = drafts;
    widen_clauses(cx, &mut drafts);
    let Some(inner) = common_value_type(&mut cx.ix, &mut cx.report, name, &drafts) else {
        return Expr::error(span);
    };
    if let Some(d) = self_var.and_then(|var| element::taken_otherwise(&cx.ix, var, &inner)) {
        return cx.report.fail(d);
    }
    for draft in &drafts {
        let coords: Vec<Coord> = draft
            .indices
            .iter()
            .flatten()
            .map(|index| close::index_coord(&cx.ix, *index))
            .collect();
        if close::carried_twice(&cx.ix, &mut cx.report, &coords, &draft.clause.value) {
            return Expr::error(span);
        }
    }
    let mut axes = Vec::new();
    let mut shape = Vec::new();
    for axis in 0..rank {
        let coord = drafts
            .iter()
            .filter_map(|draft| draft.indices.get(axis).copied().flatten())
            .map(|index| close::index_coord(&cx.ix, index))
            .max_by_key(|coord| coord.contract);
        let extent = reads::with_reads(cx, drafts.iter(), |cx| axis_extent(&cx.ix, &drafts, axis));
        let size = match &extent {
            Some(size) => size.clone(),
            None => cx.ix.unknown_size(true),
        };
        axes.push(Axis { coord: coord.filter(|coord| !is_generated(coord.name)), size });
        shape.push(extent);
    }
    let bound: Vec<VarId> = drafts
        .iter()
        .flat_map(|draft| draft.indices.iter().flatten())
        .map(|index| cx.ix.indices[*index].var)
        .collect();
    if drafts.iter().any(|draft| {
        ragged::ragged_cells(&cx.ix, &mut cx.report, Some(name), &draft.clause.value, &bound)
    }) {
        return Expr::error(span);
    }
    let inner = cx.ix.forget_vars(inner, &|var| bound.contains(&var));
    let ty = Type::array(inner.clone(), axes);
    let mut requires = Vec::new();
    let mut clauses = Vec::new();
    for draft in drafts {
        requires.extend(draft.requires);
        clauses.push(draft.clause);
    }
    if let Some(self_var) = self_var {
        let old = cx.ix.vars[self_var].ty.clone();
        for (old, new) in old.axes().iter().zip(ty.axes()) {
            cx.ix.f.facts.eq(&old.size, &new.size);
        }
        let settled = cx.ix.settle_type(self_var, ty.clone());
        for clause in &mut clauses {
            each_in_clause_mut(clause, &mut |e| retype(e, self_var, &settled));
        }
    }
    let tensor = Tensor {
        name: Some(name),
        self_var,
        shape,
        inner_rank: inner.rank(),
        clauses,
        recurrence: None,
        requires,
    };
    regions::check_regions(&mut cx.ix, &mut cx.report, &tensor, name);
    Expr::new(ExprKind::Tensor(tensor), ty, span)
}

/// Widens the values of clauses to the widest of their types.
fn widen_clauses(cx: &mut Cx, drafts: &mut [Draft]) {
    let values = drafts.iter().map(|draft| &draft.clause.value.ty);
    // What does not fit is told by whoever compares them.
    let wide = values.map(|ty| Some(ty.clone())).reduce(|a, b| widen::wider_type(&a?, &b?));
    let Some(wide) = wide.flatten() else { return };
    for draft in drafts {
        let Clause { value, otherwise, .. } = &mut draft.clause;
        for value in [value].into_iter().chain(otherwise) {
            let taken = std::mem::replace(value, Expr::error(value.span));
            *value = vars::scoped(cx, |cx| fields::widened(cx, taken, &wide));
        }
    }
}

/// The type of the values of all clauses.
fn common_value_type(
    ix: &mut Index,
    report: &mut Report,
    name: Symbol,
    drafts: &[Draft],
) -> Option<Type> {
    let values = drafts.iter().map(|draft| &draft.clause.value);
    let what = format!("the clauses of `{name}`");
    let ty = layouts::join_values(ix, report, values.clone(), &what)?;
    let first = &drafts[0].clause.value;
    let records = matches!(ty, Type::Tuple(_) | Type::Data(..));
    let differs =
        |value: &&Expr| !records && template::signature::differs(&first.ty, &value.ty).is_some();
    if let Some(value) = values.clone().find(differs) {
        let (a, b) = (ix.show(&first.ty), ix.show(&value.ty));
        let message = format!("the clauses of `{name}` differ in extent: `{a}` and `{b}`");
        let d = error(Code::E0405, value.span, message)
            .here(format!("this is `{b}`"))
            .label(first.span, format!("this is `{a}`"))
            .help("give all clauses values of one shape");
        report.report_at(d);
        return None;
    }
    if ty.has_error() { None } else { Some(ty) }
}

/// The extent of an axis: one past the largest position that a clause covers; `None` if only
/// the run knows.
fn axis_extent(ix: &Index, drafts: &[Draft], axis: usize) -> Option<size::Expr> {
    let mut extent: Option<size::Expr> = None;
    for draft in drafts {
        let hi = match &draft.clause.slots[axis] {
            ClauseSlot::Point(at) => size::Expr::constant(at + 1),
            ClauseSlot::Loop(binder) => {
                let hi = ix.to_size(&binder.hi)?;
                largest(ix, &hi)?
            }
        };
        extent = Some(match extent {
            None => hi,
            Some(extent) => ix.greater(&extent, &hi),
        });
    }
    let extent = extent?;
    if ix.non_negative(&extent) {
        Some(extent)
    } else {
        Some(ix.greater(&size::Expr::zero(), &extent))
    }
}

/// The largest value of a bound over the ranges of the index variables in it.
pub(super) fn largest(ix: &Index, bound: &size::Expr) -> Option<size::Expr> {
    let mut bound = bound.clone();
    for _ in 0..16 {
        let atom = bound.atoms().into_iter().find(|atom| ix.index_atoms.contains_key(atom));
        let Some(atom) = atom else { return Some(bound) };
        let (coefficient, rest) = bound.affine_in(atom)?;
        let (lo, hi) = ix.ranges.get(&atom)?;
        let extreme = if coefficient > 0 { hi.offset(-1) } else { lo.clone() };
        bound = rest.add(&extreme.scale(coefficient));
    }
    None
}

fn is_pack(slot: &hir::LeftSlot) -> bool {
    matches!(&slot.kind, LeftSlotKind::Index(binder) if binder.pack)
}

/// Names that the compiler made for members of packs, unless they met a coordinate.
fn is_generated(name: Symbol) -> bool {
    name.as_str().contains(['.', '$'])
}

/// Gives reads of the tensor itself its final type.
pub(super) fn retype(e: &mut Expr, var: VarId, ty: &Type) {
    if matches!(&*e.kind, ExprKind::Var(other) if *other == var) {
        e.ty = ty.clone();
    }
    each_child_mut(e, &mut |child| retype(child, var, ty));
}
