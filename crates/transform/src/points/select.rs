//! Choices in a normal form: what their conditions say is used inside of them.
//!
//! * A choice by a negation is the other choice.
//! * Where a condition holds it is true in what is chosen, and false in the other side.
//! * A bound that a comparison has settled is gone: `if x <= 1 { min(x, 1) }` is `if x <= 1 { x }`, and
//!   `if x > 1 { 1 } else { x }` is `min(x, 1)`, also for a number that is none.
//! * A choice of the greater or the less of two integers at each value of an index is that: `if i == 0 { 0 }
//!   else { i - 1 }` is `max(0, i - 1)`. A position that wraps around is one modulo the extent: `if i == 0 { n - 1 }
//!   else { i - 1 }` is `(i - 1 + n) % n`.

use super::{Kind, Linear, Node, Points, Range, Subst};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};
use rustc_hash::FxHashMap;

/// Sides of more operations are taken as they are: to look through all of a large one for each
/// choice around it takes too long.
const SMALL: f64 = 200.0;

/// What a choice between two sums of an index is.
enum Chosen {
    /// The greater or the less of both.
    Extreme(BinaryOp, [Linear; 2]),
    /// One of them, with so much more that it is not negative, modulo an extent.
    Wrapped(Node, i64, i64),
}

impl Points {
    /// A choice.
    pub fn select(&mut self, cond: Node, a: Node, b: Node) -> Node {
        if let Kind::Unary(UnaryOp::Not, other) = self.nodes[cond].kind {
            return self.select(other, b, a);
        }
        match self.nodes[cond].kind {
            Kind::Const(Scalar::Bool(true)) => return a,
            Kind::Const(Scalar::Bool(false)) => return b,
            _ => {}
        }
        let (a, b) = (self.assuming(cond, true, a), self.assuming(cond, false, b));
        if a == b && !self.nodes[cond].traps {
            return a;
        }
        if let Some(bounded) = self.bounded(cond, a, b) {
            return bounded;
        }
        let ty = self.nodes[a].ty;
        match of_index(self, cond, [a, b]) {
            Some(Chosen::Extreme(op, sums)) => {
                let mut side = |node: Node, sum: &Linear| match sum.terms.is_empty() {
                    true => self.int(sum.offset),
                    false => node,
                };
                let (a, b) = (side(a, &sums[0]), side(b, &sums[1]));
                self.binary(op, a, b, None)
            }
            Some(Chosen::Wrapped(node, more, extent)) => {
                let (more, extent) = (self.int(more), self.int(extent));
                let above = self.binary(BinaryOp::Add, node, more, None);
                self.binary(BinaryOp::Rem, above, extent, None)
            }
            None => self.intern(Kind::Select(cond, a, b), ty),
        }
    }

    /// What holds where a comparison of integers does not, or a truth value that is denied twice.
    pub(super) fn opposite(&mut self, cond: Node) -> Option<Node> {
        match self.nodes[cond].kind {
            Kind::Unary(UnaryOp::Not, other) => Some(other),
            Kind::Binary(op, a, b) if self.nodes[a].ty.is_int() => {
                let opposite = match op {
                    BinaryOp::Lt => BinaryOp::Ge,
                    BinaryOp::Le => BinaryOp::Gt,
                    BinaryOp::Gt => BinaryOp::Le,
                    BinaryOp::Ge => BinaryOp::Lt,
                    BinaryOp::Eq => BinaryOp::Ne,
                    BinaryOp::Ne => BinaryOp::Eq,
                    _ => return None,
                };
                Some(self.binary(opposite, a, b, None))
            }
            _ => None,
        }
    }

    /// A side of a choice where its condition has a value.
    pub fn assuming(&mut self, cond: Node, holds: bool, side: Node) -> Node {
        let info = &self.nodes[side];
        if info.reduces || info.traps || self.nodes[cond].traps || info.cost > SMALL {
            return side;
        }
        let mut instead = FxHashMap::default();
        if let Some((op, x, bound)) = self.side_of(cond) {
            // `x > 1` is false where `x` is at most 1 or no number, and then `min(x, 1)` is `x`.
            let below = matches!((op, holds), (BinaryOp::Lt | BinaryOp::Le, true))
                || matches!((op, holds), (BinaryOp::Gt | BinaryOp::Ge, false));
            let settled = if below { BinaryOp::Min } else { BinaryOp::Max };
            let ty = self.nodes[x].ty;
            for (left, right) in [(x, bound), (bound, x)] {
                let known = self.shared.get(&(Kind::Binary(settled, left, right), ty));
                instead.extend(known.map(|node| (*node, x)));
            }
        }
        let truth = self.truth(holds);
        instead.insert(cond, truth);
        if let Some(opposite) = self.opposite(cond) {
            let truth = self.truth(!holds);
            instead.insert(opposite, truth);
        }
        let found = self.below(&[side]).iter().any(|node| instead.contains_key(node));
        if found { Subst::nodes(instead).apply(self, side) } else { side }
    }

    /// A comparison of a bounded number with a constant on the side of the bound that it says nothing
    /// of: `min(x, 1) >= -1` is `x >= -1`, also for a number that is none.
    pub(super) fn unbounded(&mut self, op: BinaryOp, a: Node, b: Node) -> Option<Node> {
        let number = |node: Node| match self.nodes[node].kind {
            Kind::Const(value) if value.ty().is_float() => Some(value.as_f64()),
            _ => None,
        };
        let Kind::Binary(bounds, x, bound) = self.nodes[a].kind else { return None };
        let (limit, bound) = (number(b)?, number(bound)?);
        let beyond = match (bounds, op) {
            (BinaryOp::Min, BinaryOp::Ge | BinaryOp::Lt) => bound >= limit,
            (BinaryOp::Min, BinaryOp::Gt | BinaryOp::Le) => bound > limit,
            (BinaryOp::Max, BinaryOp::Le | BinaryOp::Gt) => bound <= limit,
            (BinaryOp::Max, BinaryOp::Lt | BinaryOp::Ge) => bound < limit,
            _ => false,
        };
        beyond.then(|| self.binary(op, x, b, None))
    }

    /// A comparison of a float with a constant that is not zero, whose sign would matter.
    fn side_of(&self, cond: Node) -> Option<(BinaryOp, Node, Node)> {
        let Kind::Binary(op, x, bound) = self.nodes[cond].kind else { return None };
        let compares = matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
        let Kind::Const(value) = self.nodes[bound].kind else { return None };
        let plain =
            self.nodes[x].ty.is_float() && value.as_f64() != 0.0 && !value.as_f64().is_nan();
        (compares && plain).then_some((op, x, bound))
    }

    /// `if x > 1 { 1 } else { x }`, and the same with a bound on the other side in between.
    fn bounded(&mut self, cond: Node, a: Node, b: Node) -> Option<Node> {
        let (op, x, bound) = self.side_of(cond).filter(|(_, _, bound)| *bound == a)?;
        let above = matches!(op, BinaryOp::Gt | BinaryOp::Ge);
        let (bounds, others) = match above {
            true => (BinaryOp::Min, BinaryOp::Max),
            false => (BinaryOp::Max, BinaryOp::Min),
        };
        let number = |points: &Points, node: Node| match points.nodes[node].kind {
            Kind::Const(value) => Some(value.as_f64()),
            _ => None,
        };
        let between = match self.nodes[b].kind {
            _ if b == x => true,
            Kind::Binary(op, of, other) if op == others && of == x => {
                let (limit, other) = (number(self, bound)?, number(self, other)?);
                if above { other <= limit } else { other >= limit }
            }
            _ => false,
        };
        between.then(|| self.binary(bounds, b, bound, None))
    }
}

/// What a choice between two sums of an index is, by what the index is where each of them is chosen.
fn of_index(points: &Points, cond: Node, sides: [Node; 2]) -> Option<Chosen> {
    let Kind::Binary(op, left, right) = points.nodes[cond].kind else { return None };
    let plain = |node: Node| points.nodes[node].ty == ScalarType::I32 && !points.nodes[node].traps;
    if ![left, right].into_iter().chain(sides).all(plain) {
        return None;
    }
    let asked = points.linear(left).minus(&points.linear(right));
    let [(index, 1)] = asked.terms.as_slice() else { return None };
    let (first, last) = points.nodes[*index].range?;
    let at = -i128::from(asked.offset);
    // The values of the index where it holds and where it does not.
    let parts = match op {
        BinaryOp::Lt => [(first, at - 1), (at, last)],
        BinaryOp::Le => [(first, at), (at + 1, last)],
        BinaryOp::Gt => [(at + 1, last), (first, at)],
        BinaryOp::Ge => [(at, last), (first, at - 1)],
        BinaryOp::Eq if at == first => [(at, at), (at + 1, last)],
        BinaryOp::Eq if at == last => [(at, at), (first, at - 1)],
        BinaryOp::Ne if at == first => [(at + 1, last), (at, at)],
        BinaryOp::Ne if at == last => [(first, at - 1), (at, at)],
        _ => return None,
    };
    let parts = parts.map(|(lo, hi)| (lo.max(first), hi.min(last)));
    let mut sums = sides.map(|side| points.linear(side));
    let alone = |sum: &Linear| sum.terms.iter().all(|(other, _)| other == index);
    if parts.iter().any(|(lo, hi)| lo > hi) || !sums.iter().all(alone) {
        return None;
    }
    let slope = |sum: &Linear| sum.terms.first().map_or(0, |(_, slope)| i128::from(*slope));
    let reach = |sum: &Linear, (lo, hi): Range| {
        let [a, b] = [lo, hi].map(|it| slope(sum) * it + i128::from(sum.offset));
        (a.min(b), a.max(b))
    };
    // One of them may be the other, a number of places further: positions that wrap around.
    for (own, other) in [(0, 1), (1, 0)] {
        let single = parts[other].0 == parts[other].1;
        let apart = reach(&sums[other].minus(&sums[own]), parts[other]);
        let extent = apart.0.abs();
        let inside = |(lo, hi): Range| 0 <= lo && hi < extent;
        let turns = slope(&sums[own]).abs() == 1 && (single || apart.0 == apart.1);
        if turns && inside(reach(&sums[0], parts[0])) && inside(reach(&sums[1], parts[1])) {
            let more = apart.0.max(0);
            let (more, extent) = (i64::try_from(more).ok()?, i64::try_from(extent).ok()?);
            return Some(Chosen::Wrapped(sides[own], more, extent));
        }
    }
    // A side that is chosen for one value of the index is a number.
    for (sum, part) in sums.iter_mut().zip(parts) {
        if part.0 == part.1 {
            let offset = i64::try_from(reach(sum, part).0).ok()?;
            *sum = Linear { terms: Vec::new(), offset };
        }
    }
    let gain = sums[0].minus(&sums[1]);
    match (reach(&gain, parts[0]), reach(&gain, parts[1])) {
        ((0.., _), (_, ..=0)) => Some(Chosen::Extreme(BinaryOp::Max, sums)),
        ((_, ..=0), (0.., _)) => Some(Chosen::Extreme(BinaryOp::Min, sums)),
        _ => None,
    }
}
