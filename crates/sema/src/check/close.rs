//! Free coordinates: an expression that mentions coordinates bound nowhere is a tensor over them.
//!
//! `let c = sum[k](a[row, k] * b[k, col]);` has the free coordinates `row` and `col`; closing it
//! gives a definition with that layout.

use super::state::{Build, Index, Report};
use super::{Cx, Declared, IndexId, error, expr, index, packs, ragged, ranges};
use crate::hir::ExprId;
use ein_base::{Code, Name, Symbol};
use ein_ir::tensor::walk::each_child;
use ein_ir::tensor::{Axis, Clause, ClauseSlot, Coord, Expr, ExprKind, Tensor, Type, VarId};

/// The index variable of a free coordinate: the one bound by that name, or a new one if the
/// expression may be open here.
pub(super) fn free_coord(ix: &mut Index, report: &mut Report, name: Name) -> Option<IndexId> {
    if let Some((_, index)) = ix.f.coords.iter().rev().find(|(sym, _)| *sym == name.sym) {
        return Some(*index);
    }
    match ix.f.opens.last() {
        Some(Some(_)) => {
            let index = ix.new_index(name, Declared::Name);
            ix.indices[index].free = true;
            if let Some(Some(open)) = ix.f.opens.last_mut() {
                open.push(index);
            }
            ix.f.coords.push((name.sym, index));
            Some(index)
        }
        _ => {
            let d = error(
                Code::E0313,
                name.span,
                format!("coordinate `{name}` is free here: nothing on the left binds it"),
            )
            .here("not bound by the definition or by a reduction")
            .help(format!(
                "add it on the left: `let …[…, {name}] = …`, or reduce over it: `sum[{name}](…)`"
            ));
            report.report_at(d);
            None
        }
    }
}

/// Checks an expression that may have free coordinates, and closes it over them: in the order
/// of `layout` if one is declared, else in order of first appearance.
pub(super) fn open_value(
    cx: &mut Cx,
    id: ExprId,
    want: Option<&Type>,
    layout: Option<&[Symbol]>,
) -> Expr {
    let coords = cx.ix.f.coords.len();
    let packs = cx.ix.f.packs.clone();
    packs::solve_free_packs(cx, id);
    cx.ix.f.opens.push(Some(Vec::new()));
    cx.build.f.pending.push(Vec::new());
    let facts = cx.ix.f.facts.len();
    let extents = cx.ix.f.extents.len();
    let waiting = cx.build.f.computed.len();
    let value = expr::expr(cx, id, want);
    let stmts = cx.build.f.pending.pop().unwrap_or_default();
    let free = cx.ix.f.opens.pop().flatten().unwrap_or_default();
    index::coordinates::check_waiting(&mut cx.ix, &mut cx.build, &mut cx.report, waiting);
    if free.is_empty() {
        // Nothing is open: what it computed first stays visible outside.
        let mut value = value;
        let mut stmts = stmts;
        ranges::solve_expr(&mut cx.ix, &mut cx.build, &mut cx.report, &mut stmts, &mut value);
        for stmt in stmts {
            cx.build.emit(stmt);
        }
        cx.ix.f.coords.truncate(coords);
        cx.ix.f.packs = packs;
        return value;
    }
    cx.ix.f.facts.truncate(facts);
    cx.ix.f.extents.truncate(extents);
    let body = cx.ix.block(stmts, value);
    let closed = close(&mut cx.ix, &mut cx.build, &mut cx.report, free, body, layout);
    cx.ix.f.coords.truncate(coords);
    cx.ix.f.packs = packs;
    closed
}

/// A tensor over the given index variables, in this order.
pub(super) fn close_over(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    indices: Vec<IndexId>,
    value: Expr,
) -> Expr {
    close(ix, build, report, indices, value, None)
}

/// A tensor over free index variables.
fn close(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    free: Vec<IndexId>,
    value: Expr,
    layout: Option<&[Symbol]>,
) -> Expr {
    let span = value.span;
    if value.ty.is_broken() {
        return value;
    }
    let coords: Vec<Coord> = free.iter().map(|index| index_coord(ix, *index)).collect();
    if carried_twice(ix, report, &coords, &value) {
        return Expr::error(span);
    }
    let free = match layout {
        Some(layout) => match order_free(ix, report, free, layout, &value) {
            Some(free) => free,
            None => return Expr::error(span),
        },
        None => free,
    };
    let slots = free
        .iter()
        .map(|index| {
            let var = ix.indices[*index].var;
            ClauseSlot::Loop(ranges::unsolved_binder(var, span))
        })
        .collect();
    let mut clause = Clause { slots, items: Vec::new(), value, otherwise: None, until: None, span };
    let requires = ranges::solve_clause(ix, build, report, &mut clause, None);
    let mut axes = Vec::new();
    for (slot, index) in clause.slots.iter().zip(&free) {
        let size = match slot {
            ClauseSlot::Loop(binder) => ix.to_size(&binder.hi),
            ClauseSlot::Point(_) => None,
        };
        let Some(size) = size else { return Expr::error(span) };
        axes.push(Axis { coord: Some(index_coord(ix, *index)), size });
    }
    let bound: Vec<VarId> = free.iter().map(|index| ix.indices[*index].var).collect();
    if ragged::ragged_cells(ix, report, None, &clause.value, &bound) {
        return Expr::error(span);
    }
    let inner = ix.forget_vars(clause.value.ty.clone(), &|var| bound.contains(&var));
    let tensor = Tensor {
        name: None,
        self_var: None,
        shape: axes.iter().map(|axis| Some(axis.size.clone())).collect(),
        inner_rank: inner.rank(),
        clauses: vec![clause],
        recurrence: None,
        requires,
    };
    Expr::new(ExprKind::Tensor(tensor), Type::array(inner, axes), span)
}

/// Rule 5: a coordinate that is an index around a value is not an axis of the value, too.
pub(super) fn carried_twice(
    ix: &Index,
    report: &mut Report,
    indices: &[Coord],
    value: &Expr,
) -> bool {
    let twice = value.ty.axes().iter().filter_map(|axis| axis.coord).find(|coord| {
        let same = |it: &Coord| it.name == coord.name && (it.contract || it.over.is_some());
        coord.contract && indices.iter().any(same)
    });
    let Some(Coord { name, .. }) = twice else { return false };
    let carrier = carrier(value, name);
    let tensor = ix.quote(carrier);
    let d = error(
        Code::E0312,
        carrier.span,
        format!("`{name}` is an index here, and {tensor} carries it as an axis, too"),
    )
    .here(format!("an array along `{name}`"))
    .note(format!("the result would have `{name}` on two axes"));
    let d = match ix.show_name(carrier) {
        Some(tensor) if carrier.ty.rank() == 1 => d.fix(
            format!("read it at `{name}`: `{tensor}[{name}]`"),
            carrier.span.end(),
            format!("[{name}]"),
        ),
        _ => d.help(format!("read {tensor} at `{name}`, too")),
    };
    let d = ix.with_declaration(d, carrier);
    report.report_at(d);
    true
}

/// The coordinate of the axis that an index variable gives to a definition.
pub(super) fn index_coord(ix: &Index, index: IndexId) -> Coord {
    let info = &ix.indices[index];
    match (info.declared, info.ground) {
        (Declared::Any, Some(ground)) => ground.coord,
        (_, Some(ground)) => super::types::contract(info.name, Some(ground.coord.root())),
        (Declared::Over(over), None) => {
            Coord { name: info.name, over: Some(over).filter(|o| *o != info.name), contract: false }
        }
        (_, None) => Coord { name: info.name, over: None, contract: false },
    }
}

/// The free coordinates in a declared order, which must be the same set.
fn order_free(
    ix: &Index,
    report: &mut Report,
    free: Vec<IndexId>,
    layout: &[Symbol],
    value: &Expr,
) -> Option<Vec<IndexId>> {
    let declared = layout.iter().map(|name| name.to_string()).collect::<Vec<_>>().join(", ");
    for index in &free {
        let name = ix.indices[*index].name;
        if !layout.contains(&name) {
            let d = error(
                Code::E0310,
                ix.indices[*index].span,
                format!(
                    "coordinate `{name}` is left over: the result is declared as {{{declared}}}"
                ),
            )
            .here("free here, and not among the declared coordinates")
            .help(format!("reduce over it, `sum[{name}](…)`, or declare it in the result"));
            let d = match ix.indices[*index].ground.and_then(|ground| ground.tensor) {
                Some(tensor) => d.note(format!("`{name}` is a coordinate of `{tensor}`")),
                None => d,
            };
            report.report_at(d);
            return None;
        }
    }
    let inner = value.ty.rank();
    let mut ordered = Vec::new();
    for name in &layout[..layout.len().saturating_sub(inner)] {
        match free.iter().find(|index| ix.indices[**index].name == *name) {
            Some(index) => ordered.push(*index),
            None => {
                let have: Vec<_> =
                    free.iter().map(|index| ix.indices[*index].name.to_string()).collect();
                let d = error(
                        Code::E0309,
                        value.span,
                        format!(
                            "coordinate `{name}` is missing: the result is declared as {{{declared}}}, the value has {{{}}}",
                            have.join(", ")
                        ),
                    )
                    .here(format!("does not depend on `{name}`"))
                    .help(format!("do not reduce over `{name}`, or take it out of the declared result"));
                report.report_at(d);
                return None;
            }
        }
    }
    Some(ordered)
}

/// The innermost part of a value that carries a coordinate.
fn carrier(value: &Expr, name: Symbol) -> &Expr {
    match &*value.kind {
        ExprKind::Var(_) => return value,
        ExprKind::Index { .. } if carried_at(value, name).is_some() => return value,
        ExprKind::Index { base, indices } => {
            // A read as it is written no longer carries it; one that an operator on whole
            // arrays made does.
            let at = carried_at(base, name).and_then(|at| indices.get(at));
            let written = at.is_none_or(|index| index.value.span.lo() >= base.span.hi());
            return if written { value } else { carrier(base, name) };
        }
        // What stands before the value is not part of it.
        ExprKind::Block { value, .. } => return carrier(value, name),
        _ => {}
    }
    let mut inner = None;
    each_child(value, &mut |child| {
        if inner.is_none() {
            let part = carrier(child, name);
            inner = carried_at(part, name).map(|_| part);
        }
    });
    inner.unwrap_or(value)
}

/// The axis along which a value carries a coordinate.
fn carried_at(e: &Expr, name: Symbol) -> Option<usize> {
    e.ty.axes().iter().position(|axis| axis.coord.is_some_and(|coord| coord.name == name))
}
