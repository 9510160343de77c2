//! What decisions may look at: the definitions, where arrays are, and which loops are open.
//!
//! A decision is a function of a view and of what is to be decided. It cannot write: a view holds
//! nothing that could be changed.

use super::emit::{AxisPlace, Place, Scope};
use crate::points::{Arr, Ix, Kind, Node, Points};
use ein_scalar::BinaryOp;
use rustc_hash::FxHashMap;

/// What is known where something is decided.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) points: &'a Points,
    pub(crate) places: &'a FxHashMap<Arr, Place>,
    /// The arrays that an open loop fills.
    pub(crate) floors: &'a FxHashMap<Arr, usize>,
    /// The open loops, outermost first, inside of the kernel itself.
    pub(crate) scopes: &'a [Scope],
    /// Whether one of them is parallel.
    pub(crate) in_parallel: bool,
}

impl View<'_> {
    /// The number of the innermost scope: zero outside of all loops.
    pub(crate) fn here(&self) -> usize {
        self.scopes.len() - 1
    }

    /// Whether a loop over an index is open.
    pub(crate) fn is_bound(&self, ix: Ix) -> bool {
        self.scopes.iter().any(|scope| scope.binds(ix))
    }

    /// Whether an array can be copied as a whole: all of it is there, in one box.
    pub(crate) fn can_be_copied(&self, arr: Arr) -> bool {
        let packed = self.places.get(&arr).and_then(Place::packed);
        packed.is_none() && !self.floors.contains_key(&arr)
    }

    /// How many values an index has, if that is a constant.
    pub(crate) fn constant_extent(&self, lo: Node, hi: Node) -> Option<i64> {
        Some(self.points.as_int(hi)? - self.points.as_int(lo)?)
    }

    /// The most values that an index has, if that is known: those of a tile, which may be the last one.
    pub(crate) fn most_values(&self, lo: Node, hi: Node) -> Option<i64> {
        if let Kind::Binary(BinaryOp::Min, a, b) = self.points.nodes[hi].kind {
            let ends = [self.most_values(lo, a), self.most_values(lo, b)];
            return ends.into_iter().flatten().min();
        }
        let mut count = self.points.linear(hi);
        count.add(&self.points.linear(lo), -1);
        count.terms.is_empty().then_some(count.offset)
    }

    /// How far apart in memory the cells are that a read reaches for two neighbouring values of an
    /// index; `None` if that varies.
    pub(crate) fn stride(&self, arr: Arr, at: &[Node], ix: Ix) -> Option<i64> {
        self.stride_by(arr, at, |node| self.points.factor(node, ix))
    }

    /// The same where positions do not wrap around or meet an edge.
    pub(crate) fn stride_between_edges(&self, arr: Arr, at: &[Node], ix: Ix) -> Option<i64> {
        self.stride_by(arr, at, |node| self.points.slope(node, ix))
    }

    fn stride_by(
        &self,
        arr: Arr,
        at: &[Node],
        factor: impl Fn(Node) -> Option<i64>,
    ) -> Option<i64> {
        // What is in a register has no axes.
        let (axes, _) = self.places.get(&arr)?.axes(self.points, at);
        let mut total = 0;
        for (node, axis) in at.iter().zip(axes.iter()) {
            let factor = factor(*node)?;
            match axis {
                AxisPlace::Fixed => {}
                AxisPlace::Strided(stride) | AxisPlace::From(stride, _) => total += factor * stride,
                AxisPlace::Ring(..) if factor != 0 => return None,
                AxisPlace::Ring(..) => {}
            }
        }
        Some(total)
    }
}
