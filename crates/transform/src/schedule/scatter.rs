//! Additions into cells that the points say: where each goes and what it adds is made first, in vectors.
//!
//! Before:  `for i { h[clamp(floor(64 x[i]))] += f(x[i]) }`
//! After:   `for tiles { for i in the tile, in vectors { place[i] = …; term[i] = … }; for i in the tile {
//!          h[place[i]] += term[i] } }`
//!
//! Needs: an inner loop of some length, and work that is worth a row in memory.
//! Refuses: reductions inside, and points of which no two are added to one cell: these run in vectors.
//!
//! Failures: what is computed for a point is computed as before, in the same order of additions.

use super::emit::{AxisPlace, Emit};
use super::plan::{Change, What, Why};
use super::recur::PASS;
use super::scatters_apart;
use super::view::View;
use crate::points::{Arr, Kind, Node, Scatter};
use ein_ir::loops::{ForKind, Op, Operand, Stmt};

/// The least arithmetic on floats that is done ahead for a point, and how many points there are at least.
/// Integers that are read and clamped are as soon made where they are needed.
const WORK: usize = 2;
const TURNS: i64 = 256;

/// The places and terms of a point that are made before it is added, if that pays.
pub(super) fn ahead(view: &View<'_>, scatter: &Scatter) -> Vec<Node> {
    let Some((ix, lo, hi)) = scatter.binders.last().copied() else { return Vec::new() };
    let points = view.points;
    let all = scatter.at.iter().chain(&scatter.guard).chain([&scatter.value]);
    let reduces = all.clone().any(|node| points.nodes[*node].reduces);
    let apart = scatters_apart(view, scatter, ix);
    let many = view.most_values(lo, hi).is_some_and(|count| count >= TURNS);
    if reduces || apart || points.exact || !many {
        return Vec::new();
    }
    let mut found: Vec<Node> = Vec::new();
    for node in scatter.at.iter().chain([&scatter.value]) {
        let info = &points.nodes[*node];
        let simple = matches!(info.kind, Kind::Index(_) | Kind::Load(..)) || info.cost < 2.0;
        let fits = points.depends(*node, ix) && !simple && !info.ty.is_bool();
        if fits && !found.contains(node) {
            found.push(*node);
        }
    }
    let computes = |node: &Node| {
        let info = &points.nodes[*node];
        let float = info.ty.is_float() && points.depends(*node, ix);
        float && matches!(info.kind, Kind::Unary(..) | Kind::Binary(..))
    };
    let work = points.below(&found).iter().filter(|node| computes(node)).count();
    if work >= WORK { found } else { Vec::new() }
}

/// The innermost loop in tiles of two passes.
pub(super) fn in_two_passes(emit: &mut Emit, arr: Arr, scatter: &Scatter, ahead: &[Node]) {
    let Some(inner) = scatter.binders.last().copied() else { return };
    let why = Why::Since("where points go is made in vectors");
    emit.plan.note(What::Change(Change::Columns(ahead.len())), why);
    let (tile, (ix, first, end)) = emit.tiles(inner, PASS);
    let (from, to) = (emit.bound_value(tile.1), emit.bound_value(tile.2));
    emit.open(tile.0, from, to, ForKind::Serial);
    let here = emit.here();
    let origin = emit.bound_value(first);
    let origin = emit.as_register(origin);
    let end = emit.bound_value(end);
    let place = emit.points.index(ix);
    let mut rows = Vec::new();
    for node in ahead {
        let ty = emit.points.nodes[*node].ty;
        let row = emit.row(ty, PASS, AxisPlace::From(1, origin));
        emit.floors.insert(row, here);
        rows.push((row, *node));
    }
    emit.open(ix, Operand::Reg(origin), end, ForKind::Vector { reductions: Vec::new() });
    for (row, node) in &rows {
        let value = emit.value(*node);
        emit.store(*row, &[place], value);
    }
    emit.close();
    emit.open(ix, Operand::Reg(origin), end, ForKind::Serial);
    for (row, node) in &rows {
        let ty = emit.points.nodes[*node].ty;
        let (addr, _) = emit.address(*row, &[place]);
        let value = emit.let_here(ty, Op::Load(addr));
        emit.remember(*node, value);
    }
    add(emit, arr, scatter);
    emit.close();
    emit.close();
}

/// One point.
pub(super) fn add(emit: &mut Emit, arr: Arr, scatter: &Scatter) {
    let ty = emit.points.arrs[arr].ty;
    let value = emit.value(scatter.value);
    let guard = scatter.guard.map(|guard| emit.value(guard));
    let (addr, _) = emit.address(arr, &scatter.at);
    let held = emit.let_here(ty, Op::Load(addr.clone()));
    let sum = emit.let_here(ty, Op::Binary(scatter.op, held, value));
    match guard {
        None => emit.push(Stmt::Store(addr, sum)),
        Some(guard) => {
            let kept = emit.let_here(ty, Op::Select(guard, sum, held));
            emit.push(Stmt::Store(addr, kept));
        }
    }
}
