//! Cells that wait for the one before: it is carried in a variable, and what does not wait for it is
//! computed first, in vectors.

use super::super::emit::{AxisPlace, Emit};
use super::At;
use crate::points::{Arr, Clause, Ix, Kind, Node, Subst};
use crate::schedule::view::View;
use ein_ir::loops::{ForKind, Op, Operand, Reg, Stmt};
use ein_scalar::BinaryOp;

/// Steps whose independent parts are computed together.
pub(crate) const PASS: i64 = 1024;

/// A cell that the next step reads again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Carried {
    /// What reads it.
    pub(super) cell: Node,
    /// Where it is kept.
    pub(super) var: Reg,
    /// What it is at the end of a step.
    pub(super) value: Node,
}

impl Emit {
    /// A value with every extreme of several values in it turned so that those that depend on the cell
    /// before are at its end: the others need not wait.
    pub(crate) fn with_cell_last(&mut self, value: Node, cell: Node) -> Node {
        let info = &self.points.nodes[value];
        if self.points.exact || value == cell || info.reduces {
            return value;
        }
        let waits = |it: &Emit, node: Node| it.points.below(&[node]).contains(&cell);
        if let Kind::Binary(op @ (BinaryOp::Max | BinaryOp::Min), ..) = info.kind {
            let mut parts = Vec::new();
            extremes(&self.view(), value, op, &mut parts);
            let (late, mut ordered): (Vec<Node>, Vec<Node>) =
                parts.into_iter().partition(|part| waits(self, *part));
            for part in late {
                ordered.push(self.with_cell_last(part, cell));
            }
            let Some((first, rest)) = ordered.split_first() else { return value };
            return rest.iter().fold(*first, |all, part| self.points.binary(op, all, *part, None));
        }
        let mut children = Vec::new();
        self.points.each_child(value, &mut |child| children.push(child));
        children.retain(|child| waits(self, *child));
        // What several parts share stays shared: only a chain is turned.
        let [child] = children[..] else { return value };
        let turned = self.with_cell_last(child, cell);
        if turned == child {
            return value;
        }
        Subst::nodes([(child, turned)].into_iter().collect()).apply(&mut self.points, value)
    }

    /// Steps of single cells in tiles: first in vectors what does not wait for the cell before,
    /// then the rest one after another.
    pub(super) fn in_two_passes(
        &mut self,
        at: &mut At<'_>,
        clause: &Clause,
        axis: usize,
        (lo, hi): (i64, i64),
        (cell, var): (Node, Reg),
        rest: &[Node],
    ) {
        let ix = clause.slots[axis].ix;
        let (first, end) = (self.points.int(lo), self.points.int(hi));
        let (tile, inner) = self.tiles((ix, first, end), PASS);
        let (from, to) = (self.bound_value(tile.1), self.bound_value(tile.2));
        self.open(tile.0, from, to, ForKind::Serial);
        self.two_passes(at.arr, clause, inner, (cell, var), rest);
        self.close();
    }

    /// The two passes over at most [`PASS`] steps.
    pub(crate) fn two_passes(
        &mut self,
        arr: Arr,
        clause: &Clause,
        (ix, first, end): (Ix, Node, Node),
        (cell, var): (Node, Reg),
        rest: &[Node],
    ) {
        // Nothing that is read here is filled by the steps of this axis but the cell before.
        let here = self.here();
        let origin = self.bound_value(first);
        let origin = self.as_register(origin);
        let end = self.bound_value(end);
        let place = self.points.index(ix);
        let mut rows = Vec::new();
        for node in rest {
            let ty = self.points.nodes[*node].ty;
            let row = self.row(ty, PASS, AxisPlace::From(1, origin));
            self.floors.insert(row, here);
            rows.push((row, *node));
        }
        self.open(ix, Operand::Reg(origin), end, ForKind::Vector { reductions: Vec::new() });
        for (row, node) in &rows {
            let value = self.value(*node);
            self.store(*row, &[place], value);
        }
        self.close();
        self.open(ix, Operand::Reg(origin), end, ForKind::Serial);
        for (row, node) in &rows {
            let ty = self.points.nodes[*node].ty;
            let (addr, _) = self.address(*row, &[place]);
            let value = self.let_here(ty, Op::Load(addr));
            self.remember(*node, value);
        }
        self.remember(cell, Operand::Reg(var));
        let value = self.value(clause.value);
        let cell_at: Vec<Node> =
            clause.slots.iter().map(|slot| self.points.index(slot.ix)).collect();
        self.store(arr, &cell_at, value);
        self.push(Stmt::Set(var, value));
        self.close();
    }

    /// A single cell that the next step reads again is kept in a variable.
    pub(super) fn carry(
        &mut self,
        at: &At<'_>,
        active: &[Clause],
        depth: usize,
        bounds: (i64, i64),
        backward: bool,
    ) -> Vec<Carried> {
        let [clause] = active else { return Vec::new() };
        let single =
            depth + 1 == at.steps.len() && at.steps.len() + at.shared.len() == at.place.len();
        let untiled = at.shared.iter().all(|(_, tile)| tile.is_none());
        if !single || !untiled || clause.guard.is_some() {
            return Vec::new();
        }
        let axis = at.steps[depth].axis;
        let cell = self.cell(clause, at.arr);
        self.carry_cells(at, &[cell], (axis, clause.slots[axis].ix), bounds, backward)
    }
}

/// Whether all cells of the same array that a clause reads, but for one, were complete before
/// the steps along an axis began.
pub(super) fn only_waits_for(
    view: &View<'_>,
    at: &At<'_>,
    clause: &Clause,
    cell: Node,
    axis: usize,
) -> bool {
    view.points.below(&[clause.value]).into_iter().all(|node| {
        let Kind::Load(arr, place) = &view.points.nodes[node].kind else { return true };
        *arr != at.arr
            || node == cell
            || at.steps.iter().any(|step| {
                let offset = view.points.offset_from(place[step.axis], clause.slots[step.axis].ix);
                step.axis != axis && offset.is_some_and(|offset| offset != 0)
            })
    })
}

/// The values of which a value is the extreme.
fn extremes(view: &View<'_>, value: Node, op: BinaryOp, parts: &mut Vec<Node>) {
    match view.points.nodes[value].kind {
        Kind::Binary(other, a, b) if other == op => {
            extremes(view, a, op, parts);
            extremes(view, b, op, parts);
        }
        _ if parts.contains(&value) => {}
        _ => parts.push(value),
    }
}

/// The largest parts of a value that do not depend on the cell before, but on the step.
pub(crate) fn independent(view: &View<'_>, value: Node, cell: Node, ix: Ix) -> Vec<Node> {
    let mut found = Vec::new();
    find_independent(view, value, cell, ix, &mut found);
    found
}

fn find_independent(view: &View<'_>, node: Node, cell: Node, ix: Ix, found: &mut Vec<Node>) {
    if node == cell || found.contains(&node) || !view.points.depends(node, ix) {
        return;
    }
    if !view.points.below(&[node]).contains(&cell) {
        let simple = matches!(view.points.nodes[node].kind, Kind::Index(_) | Kind::Load(..));
        let info = &view.points.nodes[node];
        if !simple && !info.reduces && !info.ty.is_bool() {
            found.push(node);
        }
        return;
    }
    let mut children = Vec::new();
    view.points.each_child(node, &mut |child| children.push(child));
    children.into_iter().for_each(|child| find_independent(view, child, cell, ix, found));
}
