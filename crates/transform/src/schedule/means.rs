//! Means for each value of a key, as sums and counts.
//!
//! Before:  `m[k] = mean(i where key[i] == k) v[i]`, which looks at all points for every key
//! After:   `m[k] = sum(i where key[i] == k) v[i] / count(i) key[i] == k`, of which each takes one pass
//!          ([`super::bins`]), and the counts of several means one
//!
//! Needs: floats. Refuses: means of which the sums do not take one pass.
//!
//! Failures: a mean over no point fails by its count as before.

use super::{bins, terms};
use crate::points::{Body, Clause, Ix, Kind, Node, Points, Reduction, Subst};
use ein_ir::tensor::ReduceOp;
use rustc_hash::FxHashMap;

/// Takes means apart.
pub(crate) fn run(points: &mut Points) {
    if points.exact {
        return;
    }
    let mut defs = std::mem::take(&mut points.defs);
    for def in &mut defs {
        let Body::Clauses(clauses, steps) = &mut def.body else { continue };
        for clause in clauses {
            let axes = steps.iter().flatten().map(|step| clause.slots[step.axis].ix);
            let steps: Vec<Ix> = axes.collect();
            clause.value = value(points, clause, &steps);
        }
    }
    points.defs = defs;
}

fn value(points: &mut Points, clause: &Clause, steps: &[Ix]) -> Node {
    let mut instead = FxHashMap::default();
    for node in points.below(&[clause.value]) {
        let Kind::Reduce(reduction) = points.nodes[node].kind.clone() else { continue };
        let sum = Reduction { op: ReduceOp::Sum, ..(*reduction).clone() };
        if reduction.op == ReduceOp::Mean && bins::is_one(points, clause, (node, &sum), steps) {
            let ty = points.nodes[node].ty;
            let mean = terms::quotient(points, &reduction, ty, |_, _| true);
            instead.extend(mean.map(|mean| (node, mean)));
        }
    }
    if instead.is_empty() {
        return clause.value;
    }
    Subst::nodes(instead).apply(points, clause.value)
}
