//! Recurrences along two axes in tiles: those of one diagonal do not wait for each other.
//!
//! Before:  rows one after another, and in a row one cell after another
//! After:   diagonals of tiles one after another, the tiles of a diagonal in parallel
//!
//! This needs all cells in memory at once. Where only the last rows are kept, tiles would need rings
//! of their own and what they hand to each other, several times the rows that are to be kept.
//!
//! Failures: the same cells in another order; each is computed once.

use super::emit::{AxisPlace, Emit, Place};
use super::node_cost;
use super::plan::{Stepped, What, Why};
use super::recur::independent;
use super::view::View;
use crate::points::{Arr, Clause, Ix, Node, Step, Subst};
use ein_base::Symbol;
use ein_ir::loops::{ForKind, Op, Reg, Stmt};
use ein_scalar::BinaryOp;

/// How many tiles an axis must have, so that several can run at a time.
const LEAST_TILES: i64 = 4;

/// A recurrence that runs along diagonals.
struct Front {
    arr: Arr,
    /// The clause of which the cells depend on each other.
    main: Clause,
    /// Clauses that are filled before.
    edges: Vec<Clause>,
    /// The first position and one past the last along both axes.
    bounds: [(i64, i64); 2],
    /// Why that pays.
    why: Why,
}

impl Emit {
    /// Fills a recurrence along diagonals; `false` if it is not of that kind.
    pub(crate) fn wavefront(&mut self, arr: Arr, clauses: &[Clause], steps: &[Step]) -> bool {
        let Some(front) = front(&self.view(), arr, clauses, steps) else { return false };
        let how = Stepped::Wavefront(self.points.cost.table_tile());
        let what = What::Steps { of: self.points.arrs[arr].name, range: front.bounds[0], how };
        self.plan.begin(what, front.why.clone());
        for clause in &front.edges {
            let loops = clause.slots.iter().map(|slot| (slot.ix, slot.lo, slot.hi)).collect();
            let cell = self.cell(clause, arr);
            self.nest(arr, loops, vec![cell]);
        }
        self.diagonals(&front);
        self.plan.end();
        true
    }

    fn diagonals(&mut self, front: &Front) {
        let tile = self.points.cost.table_tile();
        let tiles = front.bounds.map(|(lo, hi)| (hi - lo + tile - 1) / tile);
        let diagonal = self.counter("diagonal", tiles[0] + tiles[1] - 1);
        let number = self.points.index(diagonal);
        let (zero, end) = (self.points.int(0), self.points.int(tiles[0] + tiles[1] - 1));
        let (lo, hi) = (self.bound_value(zero), self.bound_value(end));
        self.open(diagonal, lo, hi, ForKind::Serial);
        // The tiles whose numbers along both axes add up to that of the diagonal.
        let last = self.points.int(tiles[1] - 1);
        let first = self.points.binary(BinaryOp::Sub, number, last, None);
        let first = self.points.binary(BinaryOp::Max, first, zero, None);
        let one = self.points.int(1);
        let after = self.points.binary(BinaryOp::Add, number, one, None);
        let rows = self.points.int(tiles[0]);
        let after = self.points.binary(BinaryOp::Min, after, rows, None);
        let row = self.counter("tile", tiles[0]);
        let (lo, hi) = (self.bound_value(first), self.bound_value(after));
        self.open(row, lo, hi, ForKind::Parallel { grain: 1 });
        let row = self.points.index(row);
        let column = self.points.binary(BinaryOp::Sub, number, row, None);
        self.tile_of_cells(front, [row, column]);
        self.close();
        self.close();
    }

    /// An index that counts from zero.
    pub(crate) fn counter(&mut self, name: &str, count: i64) -> Ix {
        self.points.fresh(Symbol::intern(name), (0, i128::from(count - 1)))
    }

    /// The cells of one tile, row by row.
    fn tile_of_cells(&mut self, front: &Front, tile: [Node; 2]) {
        let ixs = [front.main.slots[0].ix, front.main.slots[1].ix];
        let (lo, hi) = self.tile_bounds(front, tile[0], 0);
        let (lo, hi) = (self.bound_value(lo), self.bound_value(hi));
        self.open(ixs[0], lo, hi, ForKind::Serial);
        let (first, after) = self.tile_bounds(front, tile[1], 1);
        self.stay_here(front.arr);
        match self.cell_before(front, first) {
            Some(before) => {
                let value = self.with_cell_last(front.main.value, before.0);
                let main = Clause { value, ..front.main.clone() };
                let rest = independent(&self.view(), value, before.0, ixs[1]);
                self.two_passes(front.arr, &main, (ixs[1], first, after), before, &rest);
            }
            // No cell waits for its neighbour in the row.
            None => {
                let cell = self.cell(&front.main, front.arr);
                self.nest(front.arr, vec![(ixs[1], first, after)], vec![cell]);
            }
        }
        self.close();
        self.floors.remove(&front.arr);
    }

    /// What is read of an array is read in the innermost loop.
    fn stay_here(&mut self, arr: Arr) {
        let here = self.here();
        self.floors.insert(arr, here);
    }

    fn tile_bounds(&mut self, front: &Front, tile: Node, axis: usize) -> (Node, Node) {
        let (lo, hi) = front.bounds[axis];
        let extent = self.points.cost.table_tile();
        let [size, lo, hi] = [extent, lo, hi].map(|value| self.points.int(value));
        let skipped = self.points.binary(BinaryOp::Mul, tile, size, None);
        let first = self.points.binary(BinaryOp::Add, lo, skipped, None);
        let after = self.points.binary(BinaryOp::Add, first, size, None);
        (first, self.points.binary(BinaryOp::Min, after, hi, None))
    }

    /// The cell before the first one of a row, in a variable that follows the row.
    fn cell_before(&mut self, front: &Front, first: Node) -> Option<(Node, Reg)> {
        let slots = &front.main.slots;
        let (arr, at) = self.points.loads(&[front.main.value]).into_iter().find(|(arr, at)| {
            let offset = |axis: usize| self.points.offset_from(at[axis], slots[axis].ix);
            *arr == front.arr && offset(0) == Some(0) && offset(1) == Some(-1)
        })?;
        let cell = self.points.load(arr, &at);
        let mut subst = Subst::one(slots[1].ix, first);
        let place: Vec<Node> = at.iter().map(|at| subst.apply(&mut self.points, *at)).collect();
        let ty = self.points.arrs[arr].ty;
        let (addr, _) = self.address(arr, &place);
        let value = self.let_here(ty, Op::Load(addr));
        let var = self.reg(ty);
        self.push(Stmt::Var(var, value));
        Some((cell, var))
    }
}

/// How many cells a clause has, if that is a constant.
fn cells_of(view: &View<'_>, clause: &Clause) -> Option<i64> {
    clause.slots.iter().map(|slot| view.constant_extent(slot.lo, slot.hi)).product()
}

fn front(view: &View<'_>, arr: Arr, clauses: &[Clause], steps: &[Step]) -> Option<Front> {
    let shape = &view.points.arrs[arr].shape;
    let both = shape.len() == 2 && steps.len() == 2 && steps.iter().all(|step| !step.backward);
    let whole = match view.places.get(&arr)? {
        Place::Buffer(_, axes) => axes.iter().all(|axis| matches!(axis, AxisPlace::Strided(_))),
        Place::Packed(..) | Place::Register(_) => false,
    };
    if !both || !whole || view.in_parallel || clauses.iter().any(|c| c.guard.is_some()) {
        return None;
    }
    let reads_itself =
        |clause: &&Clause| view.points.loads(&[clause.value]).iter().any(|(of, _)| *of == arr);
    let (main, edges): (Vec<&Clause>, Vec<&Clause>) = clauses.iter().partition(reads_itself);
    let [main] = main.as_slice() else { return None };
    let covered: Option<i64> = clauses.iter().map(|clause| cells_of(view, clause)).sum();
    let waits_for_earlier = view.points.loads(&[main.value]).iter().all(|(of, at)| {
        let offset = |axis: usize| view.points.offset_from(at[axis], main.slots[axis].ix);
        *of != arr || (0..2).all(|axis| offset(axis).is_some_and(|offset| offset <= 0))
    });
    let bound = |axis: usize| {
        let slot = main.slots[axis];
        Some((view.points.as_int(slot.lo)?, view.points.as_int(slot.hi)?))
    };
    let bounds = [bound(0)?, bound(1)?];
    let tile = view.points.cost.table_tile();
    let tiles = bounds.iter().all(|(lo, hi)| hi - lo >= LEAST_TILES * tile);
    let work = (tile * tile) as f64 * (node_cost(view.points, main.value) + 1.0);
    let least = view.points.cost.thread_work();
    let pays = tiles && work >= least && !view.points.nodes[main.value].reduces;
    if !waits_for_earlier || !pays || covered != Some(shape.iter().product()) {
        return None;
    }
    let edges = edges.into_iter().cloned().collect();
    let turns = ((bounds[0].1 - bounds[0].0) / tile) as f64;
    let why = Why::Work { work: work * turns, turns, least };
    Some(Front { arr, main: (*main).clone(), edges, bounds, why })
}
