//! Sums of long integers as sums of their halves.
//!
//! Before:  `s = sum(i) x[i]` of `i64`, each step of which may overflow and is looked at
//! After:   `s = 2^32 sum(i) floor(x[i] / 2^32) + sum(i) x[i] mod 2^32`: neither sum can overflow, so
//!          both run in vectors, and only the result is looked at
//!
//! Needs: a known number of terms below 2^30.
//! Refuses: short sums, sums that surely fit, integers that wrap.
//!
//! Failures: that of the whole sum is looked at once, in the result, instead of at each step: the
//! halves cannot leave their type, so no failure is lost, and a sum that returns into its type does
//! not fail.

use super::tidy;
use crate::points::{Kind, Node, Points, Reduction, Subst};
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use rustc_hash::FxHashMap;

/// The numbers of terms for which it is done.
const TERMS: std::ops::RangeInclusive<i128> = 16..=1 << 30;

/// What a unit of the upper half is worth.
const UNIT: i64 = 1 << 32;

/// Replaces sums of long integers.
pub(crate) fn run(points: &mut Points) {
    if points.exact || points.wrapping {
        return;
    }
    for def in 0..points.defs.len() {
        while let Some(node) = long_sum(points, def) {
            let Kind::Reduce(sum) = points.nodes[node].kind.clone() else { break };
            let total = in_halves(points, &sum);
            let mut subst = Subst::nodes(FxHashMap::from_iter([(node, total)]));
            tidy::substitute(points, def, &mut subst);
        }
    }
}

/// A sum in a definition that may overflow.
fn long_sum(points: &Points, def: usize) -> Option<Node> {
    let roots = points.roots(&points.defs[def]);
    points.below(&roots).into_iter().find(|node| match &points.nodes[*node].kind {
        Kind::Reduce(reduction) => is_long(points, reduction),
        _ => false,
    })
}

fn is_long(points: &Points, reduction: &Reduction) -> bool {
    let body = &points.nodes[reduction.body];
    let extent = |(_, lo, hi): &(_, Node, Node)| {
        Some(i128::from(points.as_int(*hi)?) - i128::from(points.as_int(*lo)?))
    };
    let count = reduction.binders.iter().map(extent).product::<Option<i128>>();
    let fits = |count: i128| {
        let most = body.range.map(|(lo, hi)| lo.abs().max(hi.abs()));
        most.and_then(|most| most.checked_mul(count)).is_some_and(|sum| sum < 1 << 63)
    };
    reduction.op == ReduceOp::Sum
        && body.ty == ScalarType::I64
        && count.is_some_and(|count| TERMS.contains(&count) && !fits(count))
}

fn in_halves(points: &mut Points, sum: &Reduction) -> Node {
    let ty = ScalarType::I64;
    let unit = points.constant(Scalar::I64(UNIT));
    let [upper, lower] = [BinaryOp::FloorDiv, BinaryOp::FloorMod].map(|op| {
        let body = points.binary(op, sum.body, unit, None);
        points.reduce(Reduction { body, ..sum.clone() }, ty)
    });
    let upper = points.binary(BinaryOp::Mul, upper, unit, None);
    points.binary(BinaryOp::Add, upper, lower, None)
}
