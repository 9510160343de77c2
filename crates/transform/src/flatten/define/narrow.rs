//! Conditions that say where an index of a reduction ends, as its end.
//!
//! Before:  `sum(j in 0..n where j <= i) x[j]`
//! After:   `sum(j in 0..i + 1) x[j]`
//!
//! Needs: a comparison of the index with what only indices before it change, and an end that is
//! surely not beyond the one that was stated.
//!
//! Failures: a condition that may fail becomes no end, nor does one that stands behind such a
//! condition: both are evaluated for every point, as written.

use super::super::Flatten;
use crate::points::{Ix, Kind, Node, Points};
use ein_scalar::BinaryOp;

impl Flatten<'_> {
    /// What is left of a condition when the ends of these indices say the rest of it.
    pub(super) fn narrowed(
        &mut self,
        binders: &mut [(Ix, Node, Node)],
        guard: Option<Node>,
    ) -> Option<Node> {
        let mut parts = Vec::new();
        conjuncts(&self.points, guard?, &mut parts);
        let mut left = None;
        let mut fails = false;
        for part in parts {
            // What stands before a condition is evaluated for the points that it leaves out as well.
            if fails || !self.is_an_end(binders, part) {
                left = self.points.both(left, Some(part));
            }
            fails |= self.points.nodes[part].traps;
        }
        left
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
