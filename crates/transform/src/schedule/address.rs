//! Addresses of extremes, in vectors.
//!
//! Before:  `a[i] = argmax(j) x[i, j]`, which compares one value after another with the best so far
//! After:   `a[i] = min(j) if x[i, j] == m { j } else { 1000 }`, where `m` is `max(k) x[i, k]`
//!
//! The first NaN is the extreme: it equals nothing, and is asked for by itself.
//!
//! Under a condition the search is as well, and the place that it finds must be one: there may be none.
//!
//! Needs: constant bounds from zero on. Values that are reductions are stored first.
//! Refuses: several indices, values that are costly to compute twice, and extremes across
//! memory, which rows of accumulators find with their addresses ([`super::rows`]).
//!
//! Failures: values and conditions that may fail are refused; the search cannot fail where there is a
//! maximum, and where a condition leaves none it does as the reduction did.

use super::before::{self, Before};
use super::group::reduces_across;
use super::hoist;
use crate::points::{Clause, Info, Ix, Kind, Node, Points, Reduction, Subst};
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};
use rustc_hash::{FxHashMap, FxHashSet};

/// The extents for which it is done.
const EXTENTS: std::ops::RangeInclusive<i64> = 16..=1 << 30;

/// The most that computing a value and its condition may cost: twice in vectors is less than once without.
const CHEAP: f64 = 16.0;

/// Replaces addresses of extremes.
pub(crate) fn run(points: &mut Points) {
    if points.exact {
        return;
    }
    before::rewrite_clauses(points, |points, before, clause| {
        let mut clause = clause.clone();
        with_stored_terms(points, before, &mut clause);
        value(points, &clause)
    });
}

/// Stores terms that are reductions themselves, as [`hoist`] does with others later.
fn with_stored_terms(points: &mut Points, before: &mut Before, clause: &mut Clause) {
    let bodies = points.below(&[clause.value]).into_iter().filter_map(|node| {
        let Kind::Reduce(reduction) = &points.nodes[node].kind else { return None };
        let asked = matches!(reduction.op, ReduceOp::Argmax | ReduceOp::Argmin);
        (asked && points.nodes[reduction.body].reduces).then_some(reduction.body)
    });
    let bodies: Vec<Node> = bodies.collect();
    if !bodies.is_empty() {
        let inside: FxHashSet<Node> = points.below(&bodies).into_iter().collect();
        let loops: Vec<Ix> = clause.slots.iter().map(|slot| slot.ix).collect();
        let fits = |_: &Points, node: Node| inside.contains(&node);
        hoist::store_repeated(points, before, clause, (&loops, &[]), fits);
    }
}

fn value(points: &mut Points, clause: &Clause) -> Node {
    let slots: Vec<Ix> = clause.slots.iter().map(|slot| slot.ix).collect();
    // Rows of accumulators keep the addresses beside the extremes.
    if reduces_across(points, clause) {
        return clause.value;
    }
    let mut instead = FxHashMap::default();
    for node in points.below(&[clause.value]) {
        let Kind::Reduce(reduction) = points.nodes[node].kind.clone() else { continue };
        let free = points.nodes[node].free.clone();
        let ixs: Vec<Ix> = slots.iter().copied().filter(|ix| free.contains(ix)).collect();
        if ixs.len() == free.len()
            && let Some(extent) = extent(points, &reduction)
        {
            let extreme = extreme(points, &reduction);
            instead.insert(node, address(points, &reduction, extreme, extent));
        }
    }
    if instead.is_empty() {
        return clause.value;
    }
    Subst::nodes(instead).apply(points, clause.value)
}

/// Over how many values the address of an extreme is asked for, if it can be replaced.
fn extent(points: &Points, reduction: &Reduction) -> Option<i64> {
    let body = &points.nodes[reduction.body];
    let addresses = matches!(reduction.op, ReduceOp::Argmax | ReduceOp::Argmin);
    let [(_, lo, hi)] = *reduction.binders.as_slice() else { return None };
    let guard = reduction.guard.map(|guard| &points.nodes[guard]);
    let plain = |info: &Info| !info.reduces && !info.traps;
    let cost = body.cost + guard.map_or(0.0, |guard| guard.cost);
    let simple = plain(body) && guard.is_none_or(plain) && cost <= CHEAP;
    let wide = matches!(body.ty, ScalarType::F32 | ScalarType::F64 | ScalarType::I32);
    let extent = points.as_int(hi).filter(|_| points.as_int(lo) == Some(0))?;
    (addresses && simple && wide && EXTENTS.contains(&extent)).then_some(extent)
}

/// The extreme of which the address is asked for.
fn extreme(points: &mut Points, reduction: &Reduction) -> Node {
    let greatest = reduction.op == ReduceOp::Argmax;
    let op = if greatest { ReduceOp::Max } else { ReduceOp::Min };
    let ty = points.nodes[reduction.body].ty;
    points.reduce(Reduction { op, ..reduction.clone() }, ty)
}

/// The first address of an extreme.
fn address(points: &mut Points, reduction: &Reduction, extreme: Node, extent: i64) -> Node {
    let (ix, body) = (reduction.binders[0].0, reduction.body);
    let mut found = points.binary(BinaryOp::Eq, body, extreme, None);
    if points.nodes[body].ty.is_float() {
        let nan = points.unary(UnaryOp::IsNan, body, None);
        found = points.binary(BinaryOp::Or, found, nan, None);
    }
    if let Some(guard) = reduction.guard {
        found = points.binary(BinaryOp::And, guard, found, None);
    }
    let here = points.index(ix);
    let nowhere = points.int(extent);
    let place = points.select(found, here, nowhere);
    let first = Reduction { op: ReduceOp::Min, body: place, guard: None, ..reduction.clone() };
    let first = points.reduce(first, ScalarType::I32);
    points.position(first, extent, reduction.guard.is_some(), None)
}
