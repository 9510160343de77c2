//! Definitions along one axis that stand for others: rows of sizes, and arrays of any rank by place.
//!
//! Before:  `y[at in 0..12] = x[at / 4 % 3] + w[at % 4]`
//! After:   `y[i in 0..3, j in 0..4] = x[i] + w[j]`, read as an array of twelve cells
//!
//! Needs: an end that is a constant, and divisors that divide it and each other.
//!
//! Failures: the same operations for the same cells.

use super::super::Flatten;
use super::super::extent::Extent;
use crate::points::{Clause, Kind, Node, Points, SHORT, Slot, Subst};
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use std::collections::BTreeSet;

impl Flatten<'_> {
    /// The cells of a short row of integers, if all of them are constants.
    pub(super) fn constant_row(
        &mut self,
        ty: ScalarType,
        shape: &[Extent],
        clauses: &[Clause],
    ) -> Option<Box<[Scalar]>> {
        let [extent] = shape else { return None };
        let count = extent.constant().filter(|count| ty.is_int() && *count <= SHORT)?;
        let mut row = Vec::new();
        for at in 0..count {
            let at = self.points.int(at);
            let cell = self.clause_element(clauses, ty, &[at]);
            let Kind::Const(cell) = self.points.nodes[cell].kind else { return None };
            row.push(cell);
        }
        Some(row.into())
    }
}

/// A definition by place as one over the axes that its divisions tell, with their extents.
pub(super) fn unfolded(
    points: &mut Points,
    shape: &[Extent],
    clauses: &[Clause],
) -> Option<(Vec<i64>, Clause)> {
    let ([extent], [clause]) = (shape, clauses) else { return None };
    let whole = extent.constant()?;
    let [slot] = *clause.slots.as_slice() else { return None };
    if points.as_int(slot.lo) != Some(0) || points.as_int(slot.hi) != Some(whole) {
        return None;
    }
    let mut extents = Vec::new();
    let mut rest = whole;
    for step in steps_of(points, slot, clause).into_iter().rev() {
        if rest % step != 0 {
            return None;
        }
        extents.push(rest / step);
        rest = step;
    }
    if extents.is_empty() {
        return None;
    }
    extents.push(rest);
    let name = points.ixs[slot.ix].name;
    let mut slots = Vec::new();
    let mut place = points.int(0);
    for extent in &extents {
        let ix = points.fresh(name, (0, i128::from(extent - 1)));
        let (lo, hi) = (points.int(0), points.int(*extent));
        place = points.binary(BinaryOp::Mul, place, hi, None);
        let index = points.index(ix);
        place = points.binary(BinaryOp::Add, place, index, None);
        slots.push(Slot { ix, lo, hi });
    }
    let mut there = Subst::one(slot.ix, place);
    let mut apply = |node: Node| there.apply(points, node);
    let value = apply(clause.value);
    let guard = clause.guard.map(&mut apply);
    let otherwise = clause.otherwise.map(&mut apply);
    Some((extents, Clause { slots, guard, value, otherwise }))
}

/// What the place of a cell is divided by.
fn steps_of(points: &mut Points, slot: Slot, clause: &Clause) -> BTreeSet<i64> {
    let index = points.index(slot.ix);
    let parts = [Some(clause.value), clause.guard, clause.otherwise];
    let parts: Vec<Node> = parts.into_iter().flatten().collect();
    let mut steps = BTreeSet::new();
    for node in points.below(&parts) {
        let (Kind::Binary(op, a, b) | Kind::Checked(op, a, b, _)) = points.nodes[node].kind else {
            continue;
        };
        if !matches!(op, BinaryOp::Div | BinaryOp::Rem) {
            continue;
        }
        let last = points.ixs[slot.ix].range.1;
        let Some(by) = points.as_int(b) else { continue };
        let sum = points.linear(a);
        if by > 1 && i128::from(by) <= last && sum.offset == 0 && sum.terms == [(index, 1)] {
            steps.insert(by);
        }
    }
    steps
}
