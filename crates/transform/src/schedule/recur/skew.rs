//! Many steps of a stencil over rows that stay in the cache.
//!
//! Before:  for t { for i { u[t, i] = f(u[t - 1, i - r ..= i + r]) } }
//! After:   blocks of steps; in a block, tiles of rows that move `r` rows back with every step
//!
//! A tile waits for the one before it in its block, and for the one after it in the block before:
//! tiles of which the number plus twice that of the block is the same run in parallel.
//!
//! The ring that the recurrence keeps suffices. Let a tile have `w` rows and a block at most `w / r`
//! steps. A cell is overwritten `k` steps later, where `k` is the length of the ring, by a tile that
//! has moved `k r` rows; all who read it are at most `r` rows away and at most `k - 1` steps later
//! (or are the one who overwrites it), so they come earlier in the same order. What runs in parallel is
//! at least two tiles apart, which is more than what tiles move in a block.
//!
//! Failures: the same cells in another order; each is computed once.

use super::super::emit::{AxisPlace, Emit, Place};
use super::super::node_cost;
use super::super::plan::Why;
use super::At;
use crate::points::{Clause, Node, Step};
use crate::schedule::view::View;
use ein_ir::loops::ForKind;
use ein_scalar::BinaryOp;

/// The fewest tiles and blocks: several tiles of a line run beside each other on several threads.
const TILES: i64 = 16;
const BLOCKS: i64 = 8;

/// The most steps of a block: more save no more.
const MOST: i64 = 32;

/// How the steps of a run are cut.
#[derive(Clone, Copy)]
pub(super) struct Skew {
    /// The axis of the rows.
    axis: usize,
    /// How many rows away cells are read at most.
    reach: i64,
    /// The first row that is filled and one past the last.
    rows: (i64, i64),
    /// The rows of a tile.
    pub(super) width: i64,
    /// The steps of a block.
    pub(super) block: i64,
    /// The bytes of the ring, and what stays in a cache.
    bytes: (i64, i64),
    /// The length of the ring.
    pub(super) kept: i64,
}

impl Skew {
    /// Why it is done.
    pub(super) fn why(&self) -> Why {
        let (size, limit) = self.bytes;
        Why::TooLarge { size, limit, of: "bytes of the ring stay in a cache" }
    }
}

impl Emit {
    /// How to cut a run of steps, if that pays and the cells that are read allow it.
    pub(super) fn skew(
        &self,
        at: &At<'_>,
        active: &[Clause],
        (lo, hi): (i64, i64),
    ) -> Option<Skew> {
        let [Step { axis: time, backward: false }] = *at.steps else { return None };
        let alone = at.shared.is_empty() && !self.in_parallel && !self.sweeping;
        let plain = !self.samples.contains_key(&at.arr) && !self.filled.contains_key(&at.arr);
        let Some(Place::Buffer(_, places)) = self.places.get(&at.arr) else { return None };
        let AxisPlace::Ring(step_cells, kept) = places[time] else { return None };
        let shape = &self.points.arrs[at.arr].shape;
        let axis = (0..shape.len()).find(|axis| *axis != time)?;
        if !alone || !plain || active.is_empty() {
            return None;
        }
        let mut reach = 0;
        for clause in active {
            reach = reach.max(reach_of(&self.view(), at, clause, time, axis)?);
        }
        let ranges = active.iter().map(|clause| self.points.ixs[clause.slots[axis].ix].range);
        let first = ranges.clone().map(|range| range.0).min()? as i64;
        let rows = (first, ranges.map(|range| range.1).max()? as i64 + 1);
        let size = self.points.arrs[at.arr].ty.size_bytes() as i64;
        let ring = step_cells.checked_mul(kept)?.checked_mul(size)?;
        let row = (ring / shape[axis].max(1)).max(1);
        let steps = hi - lo - kept;
        let each: f64 = active.iter().map(|clause| node_cost(&self.points, clause.value)).sum();
        let each = (row / (size * kept)) as f64 * (each + 1.0);
        let cut = self.points.cost.skewed_tiles().into_iter().find_map(|(touched, fewest)| {
            // While a tile moves, it touches about twice its rows.
            let width = (touched / (2 * row)).min((rows.1 - rows.0) / TILES);
            let block = (width / reach.max(1)).min(MOST).min(steps / BLOCKS);
            let pays =
                block >= fewest && (width * block) as f64 * each >= self.points.cost.thread_work();
            pays.then_some((width, block))
        });
        let limit = self.points.cost.ring_bytes();
        let (width, block) = cut.filter(|_| reach > 0 && ring > limit)?;
        Some(Skew { axis, reach, rows, width, block, bytes: (ring, limit), kept })
    }

    /// Fills the steps of a run in blocks and tiles. What no clause fills is in place already.
    pub(super) fn skewed(
        &mut self,
        at: &At<'_>,
        active: &[Clause],
        (lo, hi): (i64, i64),
        skew: Skew,
    ) {
        let blocks = (hi - lo + skew.block - 1) / skew.block;
        let moved = skew.reach * (skew.block - 1);
        let tiles = (skew.rows.1 - skew.rows.0 + moved + skew.width - 1) / skew.width;
        let lines = tiles + 2 * (blocks - 1);
        let line = self.counter("line", lines);
        let (zero, end) = (self.points.int(0), self.points.int(lines));
        let (from, to) = (self.bound_value(zero), self.bound_value(end));
        self.open(line, from, to, ForKind::Serial);
        let number = self.points.index(line);
        // The blocks of which this line has a tile: `0 <= line - 2 block < tiles`.
        let two = self.points.int(2);
        let before = self.plus(number, 2 - tiles);
        let before = self.points.binary(BinaryOp::Max, before, zero, None);
        let first = self.points.binary(BinaryOp::FloorDiv, before, two, None);
        let half = self.points.binary(BinaryOp::FloorDiv, number, two, None);
        let after = self.plus(half, 1);
        let count = self.points.int(blocks);
        let after = self.points.binary(BinaryOp::Min, after, count, None);
        let block = self.counter("block", blocks);
        let (from, to) = (self.bound_value(first), self.bound_value(after));
        self.open(block, from, to, ForKind::Parallel { grain: 1 });
        let block = self.points.index(block);
        let twice = self.points.binary(BinaryOp::Mul, block, two, None);
        let tile = self.points.binary(BinaryOp::Sub, number, twice, None);
        self.moving_tile(at, active, (lo, hi), skew, (block, tile));
        self.close();
        self.close();
    }

    /// One tile through the steps of one block.
    fn moving_tile(
        &mut self,
        at: &At<'_>,
        active: &[Clause],
        (lo, hi): (i64, i64),
        skew: Skew,
        (block, tile): (Node, Node),
    ) {
        let ([Step { axis: time, .. }], [clause, others @ ..]) = (at.steps, active) else { return };
        let skipped = self.times(block, skew.block);
        let start = self.plus(skipped, lo);
        let (end, last) = (self.plus(start, skew.block), self.points.int(hi));
        let end = self.points.binary(BinaryOp::Min, end, last, None);
        let ix = clause.slots[*time].ix;
        let (from, to) = (self.bound_value(start), self.bound_value(end));
        let var = self.open(ix, from, to, ForKind::Serial);
        for other in others {
            self.alias(other.slots[*time].ix, var);
        }
        let here = self.here();
        self.floors.insert(at.arr, here);
        let outer = self.step.replace(ix);
        // The rows of the tile at this step.
        let step = self.points.index(ix);
        let passed = self.points.binary(BinaryOp::Sub, step, start, None);
        let moved = self.times(passed, skew.reach);
        let place = self.times(tile, skew.width);
        let place = self.plus(place, skew.rows.0);
        let first = self.points.binary(BinaryOp::Sub, place, moved, None);
        let after = self.plus(first, skew.width);
        for clause in active {
            self.rows_of_clause(at, clause, (*time, skew.axis), (first, after));
        }
        self.step = outer;
        self.close();
        self.floors.remove(&at.arr);
    }

    /// The cells of a clause in some rows of one step.
    fn rows_of_clause(
        &mut self,
        at: &At<'_>,
        clause: &Clause,
        (time, axis): (usize, usize),
        (first, after): (Node, Node),
    ) {
        let mut loops = Vec::new();
        for (other, slot) in clause.slots.iter().enumerate().filter(|(other, _)| *other != time) {
            loops.push(if other == axis {
                let from = self.points.binary(BinaryOp::Max, slot.lo, first, None);
                (slot.ix, from, self.points.binary(BinaryOp::Min, slot.hi, after, None))
            } else {
                (slot.ix, slot.lo, slot.hi)
            });
        }
        let cell = self.cell(clause, at.arr);
        self.nest(at.arr, loops, vec![cell]);
    }

    fn plus(&mut self, node: Node, offset: i64) -> Node {
        let offset = self.points.int(offset);
        self.points.binary(BinaryOp::Add, node, offset, None)
    }

    fn times(&mut self, node: Node, factor: i64) -> Node {
        let factor = self.points.int(factor);
        self.points.binary(BinaryOp::Mul, node, factor, None)
    }
}

/// How many rows away a clause reads cells of earlier steps; `None` if that varies, if it reads
/// cells of its own step, or if there is more in it than cells.
fn reach_of(
    view: &View<'_>,
    at: &At<'_>,
    clause: &Clause,
    time: usize,
    axis: usize,
) -> Option<i64> {
    let roots: Vec<Node> =
        [clause.value].into_iter().chain(clause.guard).chain(clause.otherwise).collect();
    let constant = |node: Node| view.points.as_int(node).is_some();
    let fixed = clause.slots.iter().all(|slot| constant(slot.lo) && constant(slot.hi));
    if !fixed || roots.iter().any(|root| view.points.nodes[*root].reduces) {
        return None;
    }
    let mut reach = 0;
    for (arr, place) in view.points.loads(&roots) {
        if arr != at.arr {
            continue;
        }
        view.points.offset_from(place[time], clause.slots[time].ix).filter(|back| *back < 0)?;
        let slot = clause.slots[axis].ix;
        let (first, last) = view.points.ixs[slot].range;
        let away = match view.points.offset_from(place[axis], slot) {
            Some(away) => away,
            None if first == last => view.points.as_int(place[axis])? - first as i64,
            None => return None,
        };
        reach = reach.max(away.abs());
    }
    Some(reach)
}
