//! Conditions that say where an index of a reduction ends, as its end.
//!
//! Before:  `sum(j in 0..n where j <= i) x[j]`
//! After:   `sum(j in 0..i + 1) x[j]`
//!
//! The same for windows: `sum(i in 0..n where 0 <= p - 2 * i, p - 2 * i < 3)` goes over the few `i` for
//! which both hold. What is not below the greater of two, `max(i - 4, 0) <= p`, is not below either of them.
//!
//! Long rows that run along memory end where all of several conditions do: `sum(i in 0..n where 0 <= i + p - m)`
//! goes over `max(0, m - p)..n`, and what it reads there is known to be inside.
//!
//! Needs: a comparison of the index with what only indices before it change, and an end that is
//! surely not beyond the one that was stated.
//!
//! Failures: a condition that may fail becomes no end, nor does one that stands behind such a
//! condition: both are evaluated for every point, as written.

use super::super::Flatten;
use crate::points::{Ix, Kind, Linear, Node, Points};
use ein_scalar::{BinaryOp, Scalar};

/// From so many terms on ends that the run tells are better than a condition.
const LONG: f64 = 64.0;

impl Flatten<'_> {
    /// What is left of a condition when the ends of these indices say the rest of it.
    pub(super) fn narrowed(
        &mut self,
        binders: &mut [(Ix, Node, Node)],
        guard: Option<Node>,
        body: Node,
    ) -> Option<Node> {
        let mut parts = Vec::new();
        conjuncts(&self.points, guard?, &mut parts);
        let own: Vec<Ix> = binders.iter().map(|(ix, ..)| *ix).collect();
        let mut parts: Vec<Node> =
            parts.into_iter().flat_map(|part| with_each(&mut self.points, part, &own)).collect();
        let holds = |node: &Node| self.points.nodes[*node].kind == Kind::Const(Scalar::Bool(true));
        parts.retain(|part| !holds(part));
        let mut left = Vec::new();
        let mut fails = parts.len();
        for (at, part) in parts.into_iter().enumerate() {
            // What stands before a condition is evaluated for the points that it leaves out as well.
            if fails < at || !self.is_an_end(binders, part) {
                left.push(part);
            }
            if self.points.nodes[part].traps {
                fails = fails.min(at);
            }
        }
        if left.iter().all(|part| !self.points.nodes[*part].traps) {
            within_windows(&mut self.points, binders, &mut left);
            within_rows(&mut self.points, binders, &mut left, body);
        }
        left.into_iter().fold(None, |all, part| self.points.both(all, Some(part)))
    }

    /// Whether a condition has become an end of one of these indices.
    fn is_an_end(&mut self, binders: &mut [(Ix, Node, Node)], part: Node) -> bool {
        let Kind::Binary(op, a, b) = self.points.nodes[part].kind else { return false };
        // The index on the left.
        let turned = match op {
            BinaryOp::Lt => BinaryOp::Gt,
            BinaryOp::Le => BinaryOp::Ge,
            BinaryOp::Gt => BinaryOp::Lt,
            BinaryOp::Ge => BinaryOp::Le,
            _ => return false,
        };
        for (op, index, limit) in [(op, a, b), (turned, b, a)] {
            let Kind::Index(ix) = self.points.nodes[index].kind else { continue };
            let Some(at) = binders.iter().position(|(own, ..)| *own == ix) else { continue };
            let info = &self.points.nodes[limit];
            let later = &binders[at..];
            let free = later.iter().all(|(own, ..)| !self.points.depends(limit, *own));
            let constant = self.points.nodes[limit].free.is_empty();
            // A number that only the run knows is no end: loops have others.
            if !free
                || info.traps
                || info.reduces
                || (constant && self.points.as_int(limit).is_none())
            {
                continue;
            }
            let loads = !self.points.loads(&[limit]).is_empty();
            let (_, lo, hi) = binders[at];
            let (Some(first), Some(end), Some(of)) = (
                self.points.nodes[lo].range,
                self.points.nodes[hi].range,
                self.points.nodes[limit].range,
            ) else {
                continue;
            };
            let more = |it: &mut Self, by: i64| {
                let by = it.points.int(by);
                it.points.binary(BinaryOp::Add, limit, by, None)
            };
            match op {
                BinaryOp::Lt if !loads && of.1 <= end.0 => binders[at].2 = limit,
                BinaryOp::Le if !loads && of.1 < end.0 => binders[at].2 = more(self, 1),
                BinaryOp::Ge if !loads && of.0 >= first.1 => binders[at].1 = limit,
                BinaryOp::Gt if !loads && of.0 + 1 >= first.1 => binders[at].1 = more(self, 1),
                _ => continue,
            }
            return true;
        }
        false
    }
}

/// A comparison with the greater of two that must not be above something, or with the smaller of two that
/// must not be below it, as one with each of them, an index of the reduction on the left if there is one.
fn with_each(points: &mut Points, part: Node, own: &[Ix]) -> Vec<Node> {
    let whole = vec![part];
    let Some(rest) = difference(points, part).filter(|_| !points.nodes[part].traps) else {
        return whole;
    };
    let found = rest.terms.iter().position(|(term, factor)| match points.nodes[*term].kind {
        Kind::Binary(BinaryOp::Max, ..) => *factor == -1,
        Kind::Binary(BinaryOp::Min, ..) => *factor == 1,
        _ => false,
    });
    let Some(place) = found else { return whole };
    let (term, factor) = rest.terms[place];
    let Kind::Binary(_, a, b) = points.nodes[term].kind else { return whole };
    let mut sides = Vec::new();
    for side in [a, b] {
        let mut one = rest.clone();
        one.terms.remove(place);
        one.add(&points.linear(side), factor);
        let side = not_negative(points, one, own);
        if points.nodes[side].traps {
            return whole;
        }
        sides.extend(with_each(points, side, own));
    }
    sides
}

/// `0 <= sum`, or what it says of an index that is in it once.
fn not_negative(points: &mut Points, mut sum: Linear, own: &[Ix]) -> Node {
    let found = sum.terms.iter().position(|(term, factor)| match points.nodes[*term].kind {
        Kind::Index(ix) => own.contains(&ix) && factor.abs() == 1,
        _ => false,
    });
    let Some(place) = found else {
        let (zero, sum) = (points.int(0), points.sum_node(&sum));
        return points.binary(BinaryOp::Le, zero, sum, None);
    };
    let (index, factor) = sum.terms.remove(place);
    let op = if factor > 0 { BinaryOp::Ge } else { BinaryOp::Le };
    let mut limit = Linear::default();
    limit.add(&sum, -factor);
    let limit = points.sum_node(&limit);
    points.binary(op, index, limit, None)
}

/// Takes conditions that leave a few neighbours of many positions as ends.
fn within_windows(points: &mut Points, binders: &mut [(Ix, Node, Node)], parts: &mut Vec<Node>) {
    for at in 0..binders.len() {
        let (ix, lo, hi) = binders[at];
        let (Some((first, _)), Some((_, end))) = (points.nodes[lo].range, points.nodes[hi].range)
        else {
            continue;
        };
        let later: Vec<Ix> = binders[at..].iter().map(|(ix, ..)| *ix).collect();
        let mut sides: Vec<(Option<Node>, i64, Linear)> = parts
            .iter()
            .filter_map(|part| {
                let (factor, rest) = side(points, *part, ix, &later)?;
                Some((Some(*part), factor, rest))
            })
            .collect();
        // Ends that say more than a number, of conditions before.
        for (limit, factor) in [(lo, 1), (hi, -1)] {
            let mut rest = Linear { offset: -i64::from(factor < 0), ..Linear::default() };
            rest.add(&points.linear(limit), -factor);
            if points.as_int(limit).is_none() && is_around(points, &rest, &later) {
                sides.push((None, factor, rest));
            }
        }
        let pairs = sides.iter().flat_map(|above| sides.iter().map(move |below| (above, below)));
        let found = pairs.filter_map(|(above, below)| {
            let new = above.0.is_some() || below.0.is_some();
            let same = new && above.1 < 0 && below.1 == -above.1;
            let width = opposite(&above.2, &below.2).filter(|width| same && *width >= 0)?;
            Some((above, below, width / below.1 + 1))
        });
        let few = |count: i64| first >= 0 && i128::from(count) * 4 <= end - first;
        let Some((above, below, _)) = found.min_by_key(|it| it.2).filter(|it| few(it.2)) else {
            continue;
        };
        let by = below.1;
        // `above - by * i >= 0` and `below + by * i >= 0`, divided with what is not negative.
        let mut highest = above.2.clone();
        highest.offset += by;
        let mut lowest = Linear { offset: by - 1 - below.2.offset, ..below.2.clone() };
        lowest.terms.iter_mut().for_each(|(_, factor)| *factor = -*factor);
        let (above, below) = (above.0, below.0);
        let [lowest, highest] = [lowest, highest].map(|side| quotient(points, &side, by));
        binders[at].1 = points.binary(BinaryOp::Max, lo, lowest, None);
        binders[at].2 = points.binary(BinaryOp::Min, hi, highest, None);
        parts.retain(|part| ![above, below].contains(&Some(*part)));
    }
}

/// Takes conditions that say where long rows along memory begin and end as ends: what is read in them is
/// inside, so that no position has to be brought there.
fn within_rows(
    points: &mut Points,
    binders: &mut [(Ix, Node, Node)],
    parts: &mut Vec<Node>,
    body: Node,
) {
    let Some((last, ..)) = binders.last().copied() else { return };
    if points.exact || !runs_along(points, body, last) {
        return;
    }
    for at in 0..binders.len() {
        let (ix, mut lo, mut hi) = binders[at];
        let later: Vec<Ix> = binders[at..].iter().map(|(ix, ..)| *ix).collect();
        let long = points.trip_count(lo, hi) >= LONG;
        let mut taken = Vec::new();
        for part in parts.iter().filter(|_| long) {
            let Some((factor, mut rest)) = side(points, *part, ix, &later) else { continue };
            // `i + rest >= 0` begins at `-rest`, `rest - i >= 0` ends behind `rest`.
            match factor {
                1 => {
                    rest.offset = -rest.offset;
                    rest.terms.iter_mut().for_each(|(_, factor)| *factor = -*factor);
                    lo = closer(points, BinaryOp::Max, lo, &rest);
                }
                -1 => {
                    rest.offset += 1;
                    hi = closer(points, BinaryOp::Min, hi, &rest);
                }
                _ => continue,
            }
            taken.push(*part);
        }
        if taken.is_empty() {
            continue;
        }
        parts.retain(|part| !taken.contains(part));
        binders[at] = (ix, lo, hi);
    }
}

/// The later of two beginnings or the earlier of two ends: one of them, if it is known which.
fn closer(points: &mut Points, op: BinaryOp, end: Node, other: &Linear) -> Node {
    let behind = points.reach(&other.minus(&points.linear(end)));
    let other = points.sum_node(other);
    match behind {
        Some((least, _)) if op == BinaryOp::Max && least >= 0 => other,
        Some((_, most)) if op == BinaryOp::Min && most <= 0 => other,
        _ => points.binary(op, end, other, None),
    }
}

/// Whether all that moves with an index runs along memory with it.
fn runs_along(points: &Points, body: Node, ix: Ix) -> bool {
    let loads = points.loads(&[body]);
    let mut moving =
        loads.iter().filter(|(_, at)| at.iter().any(|node| points.depends(*node, ix))).peekable();
    moving.peek().is_some()
        && moving.all(|(_, at)| {
            let Some((last, outer)) = at.split_last() else { return false };
            points.slope(*last, ix).is_some_and(|by| by.abs() == 1)
                && outer.iter().all(|node| !points.depends(*node, ix))
        })
}

/// What a comparison of integers asks not to be negative.
fn difference(points: &Points, part: Node) -> Option<Linear> {
    let Kind::Binary(op, a, b) = points.nodes[part].kind else { return None };
    let (least, most, strict) = match op {
        BinaryOp::Le => (a, b, 0),
        BinaryOp::Lt => (a, b, 1),
        BinaryOp::Ge => (b, a, 0),
        BinaryOp::Gt => (b, a, 1),
        _ => return None,
    };
    if !points.nodes[a].ty.is_int() {
        return None;
    }
    let mut rest = points.linear(most).minus(&points.linear(least));
    rest.offset -= strict;
    Some(rest)
}

/// A condition as `factor * i + rest >= 0`, with a rest over indices around `i`.
fn side(points: &Points, part: Node, ix: Ix, later: &[Ix]) -> Option<(i64, Linear)> {
    let mut rest = difference(points, part)?;
    let own = |node: Node| matches!(points.nodes[node].kind, Kind::Index(at) if at == ix);
    let place = rest.terms.iter().position(|(term, _)| own(*term))?;
    let (_, factor) = rest.terms.remove(place);
    is_around(points, &rest, later).then_some((factor, rest))
}

/// Whether a sum is over indices that are not among these.
fn is_around(points: &Points, sum: &Linear, later: &[Ix]) -> bool {
    sum.terms.iter().all(|(term, _)| match points.nodes[*term].kind {
        Kind::Index(at) => !later.contains(&at),
        _ => false,
    })
}

/// A sum, or zero if it is negative, divided.
fn quotient(points: &mut Points, sum: &Linear, by: i64) -> Node {
    let sum = points.sum_node(sum);
    let zero = points.int(0);
    let sum = points.binary(BinaryOp::Max, sum, zero, None);
    let by = points.int(by);
    points.binary(BinaryOp::Div, sum, by, None)
}

/// What two sums are together, if that is a constant.
fn opposite(a: &Linear, b: &Linear) -> Option<i64> {
    let mut sum = a.clone();
    sum.add(b, 1);
    sum.terms.is_empty().then_some(sum.offset)
}

/// The parts of a condition all of which hold where it does.
pub(super) fn conjuncts(points: &Points, node: Node, parts: &mut Vec<Node>) {
    match points.nodes[node].kind {
        Kind::Binary(BinaryOp::And, a, b) => {
            conjuncts(points, a, parts);
            conjuncts(points, b, parts);
        }
        _ => parts.push(node),
    }
}
