//! Conditions that say where an index of a reduction ends, as its end.
//!
//! Before:  `sum(j in 0..n where j <= i) x[j]`
//! After:   `sum(j in 0..i + 1) x[j]`
//!
//! The same for windows: `sum(i in 0..n where 0 <= p - 2 * i, p - 2 * i < 3)` goes over the few `i` for
//! which both hold.
//!
//! Needs: a comparison of the index with what only indices before it change, and an end that is
//! surely not beyond the one that was stated.
//!
//! Failures: a condition that may fail becomes no end, nor does one that stands behind such a
//! condition: both are evaluated for every point, as written.

use super::super::Flatten;
use crate::points::{Ix, Kind, Linear, Node, Points};
use ein_scalar::{BinaryOp, Scalar};

impl Flatten<'_> {
    /// What is left of a condition when the ends of these indices say the rest of it.
    pub(super) fn narrowed(
        &mut self,
        binders: &mut [(Ix, Node, Node)],
        guard: Option<Node>,
    ) -> Option<Node> {
        let mut parts = Vec::new();
        conjuncts(&self.points, guard?, &mut parts);
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

/// Takes conditions that leave a few neighbours of many positions as ends.
fn within_windows(points: &mut Points, binders: &mut [(Ix, Node, Node)], parts: &mut Vec<Node>) {
    for at in 0..binders.len() {
        let (ix, lo, hi) = binders[at];
        let (Some(first), Some(end)) = (points.as_int(lo), points.as_int(hi)) else {
            continue;
        };
        let later: Vec<Ix> = binders[at..].iter().map(|(ix, ..)| *ix).collect();
        let sides: Vec<(Node, i64, Linear)> = parts
            .iter()
            .filter_map(|part| {
                let (factor, rest) = side(points, *part, ix, &later)?;
                Some((*part, factor, rest))
            })
            .collect();
        let pairs = sides.iter().flat_map(|above| sides.iter().map(move |below| (above, below)));
        let found = pairs.filter_map(|(above, below)| {
            let same = above.1 < 0 && below.1 == -above.1;
            let width = opposite(&above.2, &below.2).filter(|width| same && *width >= 0)?;
            Some((above, below, width / below.1 + 1))
        });
        let few = |count: i64| first >= 0 && count.saturating_mul(4) <= end - first;
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
        parts.retain(|part| *part != above && *part != below);
    }
}

/// A condition as `factor * i + rest >= 0`, with a rest over indices around `i`.
fn side(points: &Points, part: Node, ix: Ix, later: &[Ix]) -> Option<(i64, Linear)> {
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
    let own = |node: Node| matches!(points.nodes[node].kind, Kind::Index(at) if at == ix);
    let place = rest.terms.iter().position(|(term, _)| own(*term))?;
    let (_, factor) = rest.terms.remove(place);
    let around = |(term, _): &(Node, i64)| match points.nodes[*term].kind {
        Kind::Index(at) => !later.contains(&at),
        _ => false,
    };
    rest.terms.iter().all(around).then_some((factor, rest))
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
