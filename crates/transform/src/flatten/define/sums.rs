//! Accumulations inside loops: an array of sums.
//!
//! Before:  `g[n, class[n]] += v[n]`, for every `n`, in each step of a recurrence
//! After:   `g[n, c] = if class[n] == c { v[n] } else { 0 }`; points that do not name their cell by
//!          an index stay: `g[c] = sum(n) v[n] where class[n] == c`
//!
//! Refuses: short floats, whose sums are rounded after every term.
//!
//! Failures: what a point computes may fail for a cell that it does not name: an alarm at most.

use super::super::extent::Extent;
use super::super::{Flat, Flatten, Val, declined};
use crate::points::subst::in_loops;
use crate::points::{Clause, Kind, Reduction, Scatter, Slot};
use ein_base::Span;
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, Scalar, ScalarType};

impl Flatten<'_> {
    /// The cells of an accumulation as sums.
    pub(super) fn sums(
        &mut self,
        points: Scatter,
        ty: ScalarType,
        shape: Vec<Extent>,
        span: Span,
    ) -> Flat<Val> {
        let Scatter { mut binders, mut guard, mut at, mut value, .. } = points;
        let slots: Vec<Slot> = shape.iter().map(|extent| self.whole_axis(*extent, "c")).collect();
        let mut inside = None;
        for (axis, slot) in slots.iter().enumerate() {
            let cell = self.points.index(slot.ix);
            // An index that names the cell by itself is the index of the cell.
            let own = match self.points.nodes[at[axis]].kind {
                Kind::Index(ix) => binders.iter().position(|(it, lo, hi)| {
                    let known =
                        self.points.as_int(*lo).is_some() && self.points.as_int(*hi).is_some();
                    *it == ix && known
                }),
                _ => None,
            };
            let Some(own) = own else { continue };
            let (ix, lo, hi) = binders.remove(own);
            let above = self.points.binary(BinaryOp::Ge, cell, lo, None);
            let below = self.points.binary(BinaryOp::Lt, cell, hi, None);
            inside = self.points.both(inside, Some(above));
            inside = self.points.both(inside, Some(below));
            let loops = binders.iter_mut().map(|(ix, lo, hi)| (ix, lo, hi));
            let mut here = in_loops(&mut self.points, vec![(ix, cell)], loops);
            for node in at.iter_mut().chain([&mut value]).chain(&mut guard) {
                *node = here.apply(&mut self.points, *node);
            }
        }
        for (slot, at) in slots.iter().zip(at) {
            let cell = self.points.index(slot.ix);
            if at != cell {
                let named = self.points.binary(BinaryOp::Eq, at, cell, None);
                guard = self.points.both(guard, Some(named));
            }
        }
        let zero = self.points.constant(Scalar::zero(ty));
        if binders.is_empty() && ty.is_float() && self.points.may_be_negative_zero(value) {
            // A sum begins with 0.0, so it is not -0.0.
            value = self.points.binary(BinaryOp::Add, value, zero, None);
        }
        let mut sum = match (binders.is_empty(), guard) {
            (true, Some(guard)) => self.points.select(guard, value, zero),
            (true, None) => value,
            (false, guard) => {
                if self.points.exact && ty.is_float() {
                    return Err(declined("a sum in a fixed order", span));
                }
                let sum = Reduction { op: ReduceOp::Sum, binders, guard, body: value };
                self.points.reduce(sum, ty)
            }
        };
        if let Some(inside) = inside {
            sum = self.points.select(inside, sum, zero);
        }
        let clause = Clause { slots, guard: None, value: sum, otherwise: None };
        self.place(None, ty, shape, vec![clause], span)
    }
}
