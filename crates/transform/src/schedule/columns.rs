//! Values that the loops around would compute again and again, in a row before them.
//!
//! Before:  `s[i, j] = a[i, j] - m[i] * (r[j] / p)`, a division for every cell
//! After:   `row[j] = r[j] / p`, in vectors, and then `s[i, j] = a[i, j] - m[i] * row[j]`
//!
//! In the same way the terms of rows of accumulators: what no cell of the row changes is computed for
//! all terms before them, in vectors instead of one at a time.
//!
//! Needs: points that are independent of each other, as those of every nest are.
//! Refuses: what takes no more than reading it back, rows that the nearest cache does not hold, bounds
//! that the loops around change.
//!
//! Failures: what may fail stays where it is.

use super::emit::{AxisPlace, Emit};
use super::nest::{Cell, Loop};
use super::plan::{Change, What, Why};
use super::view::View;
use crate::points::{Ix, Kind, Node, Subst};
use ein_scalar::ScalarType;
use rustc_hash::{FxHashMap, FxHashSet};

/// A value that costs at least so much more than what it is made of is dear.
const DEAR: f64 = 4.0;

/// How often a value must be used, so that it is stored.
const OFTEN: f64 = 4.0;

/// At most so many rows at a time.
const MOST: usize = 4;

impl Emit {
    /// Cells that read what none of these loops changes from rows along the innermost loop, which are
    /// filled here.
    pub(crate) fn with_columns(
        &mut self,
        loops: &[Loop],
        inner: Loop,
        cells: Vec<Cell>,
    ) -> Vec<Cell> {
        let around: Vec<Ix> = loops.iter().map(|(ix, ..)| *ix).collect();
        let times: f64 = loops.iter().map(|(_, lo, hi)| self.points.trip_count(*lo, *hi)).product();
        let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
        if times < OFTEN {
            return cells;
        }
        let instead = self.columns(&values, inner, &around);
        if instead.is_empty() {
            return cells;
        }
        let (mut subst, points) = (Subst::nodes(instead), &mut self.points);
        cells.into_iter().map(|(at, value)| (at, subst.apply(points, value))).collect()
    }

    /// Fills rows along a loop with what these values need and none of the indices around changes:
    /// what stands for it.
    pub(crate) fn columns(
        &mut self,
        values: &[Node],
        along: Loop,
        around: &[Ix],
    ) -> FxHashMap<Node, Node> {
        let (ix, lo, hi) = along;
        let range = self.points.ixs[ix].range;
        let changes = |node: Node| around.iter().any(|ix| self.points.depends(node, *ix));
        if self.points.exact || range.0 < 0 || changes(lo) || changes(hi) {
            return FxHashMap::default();
        }
        let near = i128::from(self.points.cost.near_bytes());
        let fits = |ty: ScalarType| (range.1 + 1) * ty.size_bytes() as i128 <= near;
        let movable = |node: Node| {
            let info = &self.points.nodes[node];
            info.free.iter().all(|other| *other == ix || self.is_bound(*other))
                && self.points.depends(node, ix)
                && !changes(node)
                && !info.reduces
                && !info.traps
                && matches!(info.ty, ScalarType::F32 | ScalarType::F64)
                && fits(info.ty)
                && is_dear(&self.view(), node, ix)
        };
        // The largest of them: what is found is not looked into.
        let (mut found, mut met, mut open) = (Vec::new(), FxHashSet::default(), values.to_vec());
        while let Some(node) = open.pop() {
            if !met.insert(node) {
                continue;
            }
            match movable(node) {
                true => found.push(node),
                false => self.points.each_child(node, &mut |child| open.push(child)),
            }
        }
        if found.len() > MOST {
            return FxHashMap::default();
        }
        if !found.is_empty() {
            let why = Why::Since("they are dear, and no loop around changes them");
            self.plan.note(What::Change(Change::Columns(found.len())), why);
        }
        let place = self.points.index(ix);
        let mut instead = FxHashMap::default();
        for node in found {
            let ty = self.points.nodes[node].ty;
            let row = self.row(ty, range.1 as i64 + 1, AxisPlace::Strided(1));
            if !self.in_parallel {
                self.share_row(row);
            }
            self.vector(row, along, &[(vec![place], node)]);
            let here = self.here();
            self.floors.insert(row, here);
            let read = self.points.load(row, &[place]);
            instead.insert(node, read);
        }
        instead
    }
}

/// Whether something in a value that changes with an index takes long.
fn is_dear(view: &View<'_>, node: Node, ix: Ix) -> bool {
    let dear = |node: &Node| {
        let mut parts = 0.0;
        view.points.each_child(*node, &mut |child| parts += view.points.nodes[child].cost);
        let own = view.points.nodes[*node].cost - parts;
        let computes = matches!(view.points.nodes[*node].kind, Kind::Unary(..) | Kind::Binary(..));
        computes && own >= DEAR && view.points.depends(*node, ix)
    };
    view.points.below(&[node]).iter().any(dear)
}
