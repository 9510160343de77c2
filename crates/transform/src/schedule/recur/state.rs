//! Recurrences over a few cells, as systems of equations are: a step is written out, and the next
//! one finds its cells in variables.
//!
//! Before:  `for t { store u[t % 2, 0] = f(load u[(t - 1) % 2, 1], …) … }`
//! After:   `for t { a = f(u1, …); store u[t % 2, 0] = a; …; u0 = a … }`
//!
//! Needs: bounds that are known, no reduction with loops of its own, and cells that look at others
//! than themselves; those that do not are better off in vectors.
//!
//! Failures: a step that is written out computes what its loops would, failures included; the last
//! carried step computes nothing beyond the end.

use super::super::emit::{Emit, Place};
use super::super::nest::{Cell, FEW};
use super::At;
use super::carried::Carried;
use crate::points::{Arr, Clause, Ix, Kind, Node, Subst};
use crate::schedule::view::View;
use ein_ir::loops::{Op, Operand, Stmt};
use rustc_hash::FxHashMap;

/// The most cells of a step that is written out.
const CELLS: i64 = 16;

/// The most values of which the cells of a step may be made.
const VALUES: usize = 1000;

impl Emit {
    /// The cells of a step along the axis with this number, in an order in which they can be computed,
    /// if they are to be written out.
    pub(super) fn state(
        &mut self,
        at: &At<'_>,
        active: &[Clause],
        depth: usize,
        ix: Ix,
    ) -> Option<Vec<Cell>> {
        let stored = self.places.get(&at.arr).and_then(Place::buffer).is_some();
        if !stored || !at.shared.is_empty() {
            return None;
        }
        let steps = &at.steps[..=depth];
        let open = |axis: &usize| steps.iter().all(|step| step.axis != *axis);
        let open: Vec<usize> = (0..at.place.len()).filter(open).collect();
        let mut count = 0;
        for clause in active {
            let extents = open.iter().map(|axis| clause.slots[*axis]);
            let cells: i64 =
                extents.map(|it| self.constant_extent(it.lo, it.hi)).product::<Option<_>>()?;
            let whole = clause.guard.is_none() && clause.otherwise.is_none();
            let reduces = self.points.nodes[clause.value].reduces;
            if !whole || reduces || cells < 1 {
                return None;
            }
            count += cells;
        }
        let crossed = active.iter().any(|clause| looks_around(&self.view(), at, clause, &open));
        let fits = count <= FEW || (count <= CELLS && crossed);
        if count < 2 || !fits {
            return None;
        }
        let mut cells = Vec::new();
        for clause in active {
            let step = steps.iter().map(|step| (clause.slots[step.axis].ix, step.axis));
            let step: Vec<(Ix, Node)> = step
                .map(|(own, axis)| (own, at.place[axis].unwrap_or_else(|| self.points.index(ix))))
                .collect();
            cells.extend(self.written_cells(clause, &open, &step));
        }
        let outer: Vec<usize> = steps[..depth].iter().map(|step| step.axis).collect();
        let cells = self.without_own_reads(at, (steps[depth].axis, ix), &outer, cells)?;
        let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
        (self.points.below(&values).len() <= VALUES).then_some(cells)
    }

    /// The cells of a clause, with the indices of the steps replaced.
    fn written_cells(&mut self, clause: &Clause, open: &[usize], step: &[(Ix, Node)]) -> Vec<Cell> {
        let place = clause.slots.iter().map(|slot| self.points.index(slot.ix)).collect();
        let mut cells: Vec<Cell> = vec![(place, clause.value)];
        for axis in open {
            let slot = clause.slots[*axis];
            let extent = self.constant_extent(slot.lo, slot.hi).unwrap_or(0);
            cells = self.written_out(slot.ix, slot.lo, extent, &cells);
        }
        let mut subst = Subst::new(step.iter().copied());
        let points = &mut self.points;
        let mut moved = |node: &Node| subst.apply(points, *node);
        cells
            .iter()
            .map(|(at, value)| (at.iter().map(&mut moved).collect(), moved(value)))
            .collect()
    }

    /// Cells in which what others of the same step are stands for the reads of these, those that
    /// are read first; `None` if one reads something else of this step. What is read of another step of
    /// one of the outer axes is there.
    fn without_own_reads(
        &mut self,
        at: &At<'_>,
        (axis, ix): (usize, Ix),
        outer: &[usize],
        mut cells: Vec<Cell>,
    ) -> Option<Vec<Cell>> {
        let mut known: FxHashMap<Node, Node> = FxHashMap::default();
        let mut ordered = Vec::new();
        while !cells.is_empty() {
            let mut found = None;
            for (number, (_, value)) in cells.iter().enumerate() {
                let value = Subst::nodes(known.clone()).apply(&mut self.points, *value);
                let elsewhere = |read: &[Node], axis: usize| {
                    let here = at.place[axis].map(|node| self.points.linear(node));
                    let mut apart = self.points.linear(read[axis]);
                    here.is_some_and(|here| {
                        apart.add(&here, -1);
                        apart.terms.is_empty() && apart.offset != 0
                    })
                };
                let before = |(arr, read): &(Arr, Box<[Node]>)| {
                    let offset = || self.points.offset_from(read[axis], ix);
                    *arr != at.arr
                        || offset().is_some_and(|it| it != 0)
                        || outer.iter().any(|axis| elsewhere(read, *axis))
                };
                if self.points.loads(&[value]).iter().all(before) {
                    found = Some((number, value));
                    break;
                }
            }
            let (number, value) = found?;
            let (place, _) = cells.remove(number);
            known.insert(self.points.load(at.arr, &place), value);
            ordered.push((place, value));
        }
        Some(ordered)
    }

    /// The cells that the next step reads again, each with a variable that keeps it.
    pub(super) fn carry_cells(
        &mut self,
        at: &At<'_>,
        cells: &[Cell],
        (axis, ix): (usize, Ix),
        (lo, hi): (i64, i64),
        backward: bool,
    ) -> Vec<Carried> {
        let back = if backward { 1 } else { -1 };
        let first = if backward { hi - 1 } else { lo };
        let inside = 0..self.points.arrs[at.arr].shape[axis];
        let mut carried = Vec::new();
        if !inside.contains(&(first + back)) {
            return carried;
        }
        let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
        for (arr, place) in self.points.loads(&values) {
            if arr != at.arr || self.points.offset_from(place[axis], ix) != Some(back) {
                continue;
            }
            let same = |(cell, _): &&Cell| {
                let mut axes = cell.iter().zip(&place).enumerate();
                axes.all(|(other, (own, read))| other == axis || own == read)
            };
            let Some((_, value)) = cells.iter().find(same) else { continue };
            let node = self.points.load(arr, &place);
            // Its first value is what stands before the first step.
            let start = self.points.int(first);
            let mut subst = Subst::one(ix, start);
            let place: Vec<Node> =
                place.iter().map(|node| subst.apply(&mut self.points, *node)).collect();
            let ty = self.points.arrs[arr].ty;
            let (addr, _) = self.address(arr, &place);
            let start = self.let_here(ty, Op::Load(addr));
            let var = self.reg(ty);
            self.push(Stmt::Var(var, start));
            carried.push(Carried { cell: node, var, value: *value });
        }
        carried
    }

    /// The step is over: what its cells are is what the next one finds.
    pub(super) fn pass_on(&mut self, carried: &[Carried]) {
        let mut values = Vec::new();
        for it in carried {
            let value = self.value(it.value);
            // A cell that moves has to be out of the way of the one that takes its place.
            let moves = carried.iter().any(|other| value == Operand::Reg(other.var));
            let ty = self.points.nodes[it.value].ty;
            values.push(if moves { self.let_here(ty, Op::Copy(value)) } else { value });
        }
        for (it, value) in carried.iter().zip(values) {
            self.push(Stmt::Set(it.var, value));
        }
    }
}

/// Whether the cells of a clause depend on others than themselves, or each in its own way.
fn looks_around(view: &View<'_>, at: &At<'_>, clause: &Clause, open: &[usize]) -> bool {
    view.points.below(&[clause.value]).iter().any(|node| match &view.points.nodes[*node].kind {
        Kind::Load(arr, place) => {
            let own = |axis: &usize| {
                view.points.offset_from(place[*axis], clause.slots[*axis].ix) == Some(0)
            };
            *arr == at.arr && !open.iter().all(own)
        }
        Kind::Select(cond, ..) => {
            open.iter().any(|axis| view.points.depends(*cond, clause.slots[*axis].ix))
        }
        _ => false,
    })
}
