//! What the reductions of several cells compute alike, computed once.
//!
//! Before:  `g[j] = sum(i) x[i, j] * f(sum(k) x[i, k] * w[k])`, with the inner sums again for every
//!          `j`
//! After:   `r[i] = f(sum(k) x[i, k] * w[k])`, then `g[j] = sum(i) x[i, j] * r[i]`
//!
//! Needs: constant bounds, one index of the outer reduction.
//! Refuses: code inside parallel loops, where every thread would need room for it.

use super::emit::{AxisPlace, Emit, Place, Use};
use super::nest::{Cell, Loop};
use super::node_cost;
use crate::points::{ArrInfo, Ix, Kind, Node, Reduction, Source, Subst};
use ein_ir::loops::BufferKind;
use rustc_hash::FxHashMap;

/// The least number of cells that share it.
const CELLS: f64 = 4.0;

/// The most elements that are stored.
const MOST: i64 = 1 << 24;

impl Emit {
    /// The cells with reads of what their reductions share, which is computed here.
    pub(crate) fn shared_terms(&mut self, loops: &[Loop], cells: Vec<Cell>) -> Vec<Cell> {
        let count = |(_, lo, hi): &Loop| self.points.trip_count(*lo, *hi);
        if self.any_parallel() || loops.iter().map(count).product::<f64>() < CELLS {
            return cells;
        }
        let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
        let mut instead = FxHashMap::default();
        for node in self.reductions_over(&values, loops) {
            let Kind::Reduce(reduction) = self.points.nodes[node].kind.clone() else { continue };
            let [binder] = *reduction.binders.as_slice() else { continue };
            for term in self.shared_by_cells(&reduction, binder, loops) {
                if let Some(load) = self.stored_for(term, binder) {
                    instead.insert(term, load);
                }
            }
        }
        if instead.is_empty() {
            return cells;
        }
        let mut subst = Subst::nodes(instead);
        let points = &mut self.points;
        cells.into_iter().map(|(at, value)| (at, subst.apply(points, value))).collect()
    }

    /// The largest parts of a reduction that reduce something themselves, for each value of its
    /// index, whatever the cell is.
    fn shared_by_cells(&self, reduction: &Reduction, binder: Loop, loops: &[Loop]) -> Vec<Node> {
        let own = |ix: Ix| ix == binder.0 || self.is_bound(ix);
        let shared = |node: Node| {
            let info = &self.points.nodes[node];
            let cell = loops.iter().any(|(ix, ..)| self.points.depends(node, *ix));
            let nested = info.reduces && self.points.depends(node, binder.0);
            nested && !cell && info.free.iter().all(|ix| own(*ix))
        };
        let mut found = Vec::new();
        let mut open = vec![reduction.body];
        while let Some(node) = open.pop() {
            if shared(node) && node != reduction.body {
                found.push(node);
            } else if !matches!(self.points.nodes[node].kind, Kind::Reduce(_)) {
                self.points.each_child(node, &mut |child| open.push(child));
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Computes a value for all values of an index, and reads it for one.
    fn stored_for(&mut self, node: Node, (ix, lo, hi): Loop) -> Option<Node> {
        let (first, end) = (self.points.as_int(lo)?, self.points.as_int(hi)?);
        if first < 0 || end > MOST || node_cost(&self.points, node) < CELLS {
            return None;
        }
        let ty = self.points.nodes[node].ty;
        let source = Source::Defined(usize::MAX);
        let arr = self.points.arrs.push(ArrInfo { name: None, ty, shape: vec![end], source });
        let buf = self.buffer("terms".into(), ty, end, BufferKind::Scratch, Use::Scratch);
        self.places.insert(arr, Place::Buffer(buf, vec![AxisPlace::Strided(1)]));
        let here = self.here();
        self.floors.insert(arr, here);
        // The index of the reduction is one of other reductions as well.
        let info = self.points.ixs[ix].clone();
        let own = self.points.fresh(info.name, info.range);
        let at = self.points.index(own);
        let value = Subst::one(ix, at).apply(&mut self.points, node);
        self.nest(arr, vec![(own, lo, hi)], vec![(vec![at], value)]);
        let place = self.points.index(ix);
        Some(self.points.load(arr, &[place]))
    }
}
