//! Positions of reads and writes, brought inside.
//!
//! Before:  `s[t] = … z[t - 1, class[i]] …`, where `class[i]` is looked at in every step
//! After:   `at[i] = class[i]`, which fails if it is outside, and `s[t] = … z[t - 1, at[i]] …`
//!
//! A step that may fail keeps much from being computed in another way. What it looks up that no step
//! changes is looked at once, before all steps; but for what moves along a row with it (`z[t - 1, i - k[t]]`),
//! of which the rows of a step are cut where it leaves the array ([`edges`](crate::schedule)).
//!
//! Failures: it is looked at also if there are no steps, or if they end before: an alarm, after which a
//! careful kernel looks at it in each step. So it is if only other indices would keep it from being asked for.

use super::super::extent::Extent;
use super::super::{Flat, Flatten, declined};
use crate::points::{Body, Clause, Ix, Kind, Node, Points};
use ein_base::Span;
use ein_ir::tensor::{Bounds, ExprKind, IndexArg};
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};

/// The most positions that are looked at before.
const CELLS: i64 = 1 << 22;

impl<'p> Flatten<'p> {
    /// The positions of a read or write, brought inside.
    pub(crate) fn positions(
        &mut self,
        indices: &'p [IndexArg],
        shape: &[Extent],
    ) -> Flat<Vec<Node>> {
        let mut at = Vec::with_capacity(indices.len());
        for (index, extent) in indices.iter().zip(shape) {
            let mut place = self.scalar(&index.value)?;
            // A negative literal counts from the end.
            let literal = matches!(&*index.value.kind, ExprKind::Const(_));
            if literal && self.points.as_int(place).is_some_and(|place| place < 0) {
                let extent = self.extent_node(*extent);
                place = self.points.binary(BinaryOp::Add, place, extent, None);
            }
            if extent.constant() == Some(0) {
                return Err(declined("a read of an empty array", index.value.span));
            }
            let proved = index.bounds == Bounds::Proved && !self.points.wrapping;
            place = in_full(&mut self.points, place, *extent, self.when);
            at.push(match extent.constant() {
                Some(extent) => {
                    let at = self.points.given_position(place, extent, !proved, self.when);
                    self.looked_at_before(at, extent, index.value.span)
                }
                None if extent.counted.is_some() => self.counted_position(place, *extent, !proved),
                None if proved => place,
                None => {
                    let why = "a position that is checked in a shrinking array";
                    return Err(declined(why, index.value.span));
                }
            });
        }
        Ok(at)
    }

    /// A position that may fail in a step of a recurrence, looked at before all steps if they do not
    /// decide it.
    fn looked_at_before(&mut self, at: Node, extent: i64, span: Span) -> Node {
        let moves = !self.points.careful && self.points.nodes[at].traps;
        if self.pending.is_empty() || self.descent.is_some() || !moves {
            return at;
        }
        let at = asked_for_sooner(&mut self.points, at, extent);
        let free = self.points.nodes[at].free.clone();
        let around: Vec<Ix> = self.loops.iter().copied().filter(|ix| free.contains(ix)).collect();
        let whole = |ix: &Ix| {
            let info = &self.points.ixs[*ix];
            info.bounds.is_none() && info.range.0 >= 0
        };
        let extents: Vec<i64> =
            around.iter().map(|ix| (self.points.ixs[*ix].range.1 + 1) as i64).collect();
        let cells = extents.iter().try_fold(1i64, |cells, extent| cells.checked_mul(*extent));
        let fits = around.len() == free.len()
            && !follows_the_row(&self.points, &self.loops, at, &around)
            && around.iter().all(whole)
            && cells.is_some_and(|cells| cells <= CELLS);
        let loads = self.points.loads(&[at]);
        if !fits || loads.iter().any(|(arr, _)| self.pending.contains(arr)) {
            return at;
        }
        let (slots, indices) = self.leading(&around);
        let clause = Clause { slots, guard: None, value: at, otherwise: None };
        let ty = self.points.nodes[at].ty;
        let arr = self.define(None, ty, extents, span, Body::Clauses(vec![clause], None));
        self.settled.push((arr, at));
        let place = self.points.load(arr, &indices);
        self.points.given_position(place, extent, false, None)
    }
}

/// A position whose last operation may overflow, computed with more bits: where it does not fit its
/// type it is outside of the array, and that is looked at under the same condition.
fn in_full(points: &mut Points, place: Node, extent: Extent, asked: Option<Node>) -> Node {
    let Kind::Checked(op, a, b, when) = points.nodes[place].kind else { return place };
    let narrow = points.nodes[place].ty == ScalarType::I32;
    let fits = extent.constant().is_some_and(|extent| i32::try_from(extent).is_ok());
    let sums = matches!(op, BinaryOp::Add | BinaryOp::Sub);
    if !narrow || !fits || !sums || when != asked {
        return place;
    }
    let [a, b] = [a, b].map(|side| points.cast(side, ScalarType::I64));
    points.binary(op, a, b, when)
}

/// The same position, looked at where those conditions hold that mention no more indices than it
/// does: an alarm at most, and a place for fewer of them.
fn asked_for_sooner(points: &mut Points, at: Node, extent: i64) -> Node {
    let mut clamp = at;
    while let Kind::Cast(inner) = points.nodes[clamp].kind {
        clamp = inner;
    }
    let Kind::Clamp { at: place, traps: true, when: Some(when), .. } = points.nodes[clamp].kind
    else {
        return at;
    };
    let mut parts = Vec::new();
    parts_of(points, when, false, &mut parts);
    let own = points.nodes[place].free.clone();
    let within = |part: &Node| points.nodes[*part].free.iter().all(|ix| own.contains(ix));
    if parts.iter().all(within) {
        return at;
    }
    parts.retain(within);
    let when = parts.into_iter().fold(None, |all, part| points.both(all, Some(part)));
    points.given_position(place, extent, true, when)
}

/// Whether a position follows the innermost index, from where the others say: rows read that in one
/// go, and it would take as many cells as they have.
fn follows_the_row(points: &Points, loops: &[Ix], at: Node, around: &[Ix]) -> bool {
    let mut place = at;
    while let Kind::Cast(inner) | Kind::Clamp { at: inner, .. } = points.nodes[place].kind {
        place = inner;
    }
    let Some(row) = loops.last().filter(|row| around.len() > 1 && around.contains(row)) else {
        return false;
    };
    let sum = points.linear(place);
    let (own, others): (Vec<_>, Vec<_>) =
        sum.terms.iter().partition(|(term, _)| points.nodes[*term].kind == Kind::Index(*row));
    matches!(*own, [(_, 1 | -1)]) && others.iter().all(|(term, _)| !points.depends(*term, *row))
}

/// The parts of a condition, or of its opposite, all of which hold where it does.
fn parts_of(points: &mut Points, condition: Node, opposite: bool, parts: &mut Vec<Node>) {
    match (points.nodes[condition].kind.clone(), opposite) {
        (Kind::Binary(BinaryOp::And, a, b), false) | (Kind::Binary(BinaryOp::Or, a, b), true) => {
            parts_of(points, a, opposite, parts);
            parts_of(points, b, opposite, parts);
        }
        (Kind::Unary(UnaryOp::Not, a), _) => parts_of(points, a, !opposite, parts),
        (_, false) => parts.push(condition),
        (_, true) => parts.push(points.unary(UnaryOp::Not, condition, None)),
    }
}
