//! Sums whose terms come apart: several products as several sums, means as sums and counts.
//!
//! Before:  `c[i, j] = sum(k) (a[i, k] * x[k, j] - b[i, k] * y[k, j])`, a product of complex matrices
//! After:   `c[i, j] = sum(k) a[i, k] * x[k, j] - sum(k) b[i, k] * y[k, j]`, two matrix products
//!
//! Before:  `p[d] = mean(w where w < n) x[w, d]`, which counts the same points for every `d`
//! After:   `p[d] = sum(w where w < n) x[w, d] / count(w) w < n`
//!
//! Needs: floats. Refuses: sums of products that are not matrix products by themselves.
//!
//! Failures: none is lost or added: the same terms are computed, each in a sum of its own, and
//! floats do not fail. A mean over no point fails by its count as before.

use super::before;
use super::contract;
use crate::points::{Clause, Kind, Node, Points, Reduction, Slot, Subst};
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};
use rustc_hash::FxHashMap;

/// The most products that are taken apart.
const MOST: usize = 4;

/// Takes sums apart.
pub(crate) fn run(points: &mut Points) {
    if !points.exact {
        before::rewrite(points, |points, _, clause| value(points, clause));
    }
}

fn value(points: &mut Points, clause: &Clause) -> Node {
    let mut instead = FxHashMap::default();
    for node in points.below(&[clause.value]) {
        let Kind::Reduce(reduction) = points.nodes[node].kind.clone() else { continue };
        let free = &points.nodes[node].free;
        let slots: Vec<Slot> =
            clause.slots.iter().copied().filter(|slot| free.contains(&slot.ix)).collect();
        let inside = slots.len() == free.len();
        let apart = match reduction.op {
            ReduceOp::Sum if inside => products(points, node, &reduction, &slots),
            ReduceOp::Mean if inside => counted(points, node, &reduction),
            _ => None,
        };
        instead.extend(apart.map(|apart| (node, apart)));
    }
    if instead.is_empty() {
        return clause.value;
    }
    Subst::nodes(instead).apply(points, clause.value)
}

/// A sum of several products as sums of one product each.
fn products(
    points: &mut Points,
    node: Node,
    reduction: &Reduction,
    slots: &[Slot],
) -> Option<Node> {
    let ty = points.nodes[node].ty;
    let mut terms = Vec::new();
    if reduction.guard.is_some() || !collect(points, reduction.body, false, &mut terms) {
        return None;
    }
    if terms.len() < 2 {
        return None;
    }
    let mut total: Option<Node> = None;
    for (body, minus) in terms {
        let sum = points.reduce(Reduction { body, ..reduction.clone() }, ty);
        contract::contraction(points, sum, slots)?;
        total = Some(match (total, minus) {
            (None, false) => sum,
            (None, true) => points.unary(UnaryOp::Neg, sum, None),
            (Some(total), false) => points.binary(BinaryOp::Add, total, sum, None),
            (Some(total), true) => points.binary(BinaryOp::Sub, total, sum, None),
        });
    }
    total
}

/// The terms of a sum with their signs; whether there are few, and each is a product.
fn collect(points: &Points, node: Node, minus: bool, terms: &mut Vec<(Node, bool)>) -> bool {
    match points.nodes[node].kind {
        Kind::Binary(BinaryOp::Add, a, b) => {
            collect(points, a, minus, terms) && collect(points, b, minus, terms)
        }
        Kind::Binary(BinaryOp::Sub, a, b) => {
            collect(points, a, minus, terms) && collect(points, b, !minus, terms)
        }
        Kind::Binary(BinaryOp::Mul, ..) => {
            terms.push((node, minus));
            terms.len() <= MOST
        }
        _ => false,
    }
}

/// A mean over points that are counted, where the number of them is the same for many cells.
fn counted(points: &mut Points, node: Node, reduction: &Reduction) -> Option<Node> {
    let ty = points.nodes[node].ty;
    let guard = reduction.guard?;
    if !matches!(ty, ScalarType::F32 | ScalarType::F64) || points.nodes[guard].reduces {
        return None;
    }
    let free = points.nodes[node].free.len();
    quotient(points, reduction, ty, |points, count| points.nodes[count].free.len() < free)
}

/// A mean over points that are counted as a sum and their number, if that is worth it for the number.
pub(crate) fn quotient(
    points: &mut Points,
    reduction: &Reduction,
    ty: ScalarType,
    worth: impl Fn(&Points, Node) -> bool,
) -> Option<Node> {
    let guard = reduction.guard?;
    let count = Reduction { op: ReduceOp::Count, body: guard, guard: None, ..reduction.clone() };
    let count = points.reduce(count, ScalarType::I32);
    if !worth(points, count) {
        return None;
    }
    let sum = Reduction { op: ReduceOp::Sum, ..reduction.clone() };
    let sum = points.reduce(sum, ty);
    // A mean of nothing fails: a division by the number of its points does.
    let one = points.binary(BinaryOp::Div, count, count, None);
    let count = points.binary(BinaryOp::Mul, count, one, None);
    let wide = points.cast(sum, ScalarType::F64);
    let count = points.cast(count, ScalarType::F64);
    let mean = points.binary(BinaryOp::Div, wide, count, None);
    Some(points.cast(mean, ty))
}
