//! Reductions over all of what a kernel computes go row by row.
//!
//! Before:  `e[i, j] = …`, `l = -sum(i, j) p[i, j] * ln(e[i, j])`
//! After:   `e[i, j] = …`, `r[i] = sum(j) p[i, j] * ln(e[i, j])`, `l = -sum(i) r[i]`
//!
//! Rows of `r` run in the nest of `e`, which then needs one row of memory instead of all of them. So do
//! rows of recurrences whose steps go along other axes.
//!
//! Needs: definitions that are computed where they are read have been, and are gone.
//! Refuses: integers, whose sums may fail; products, whose rows may; conditions; arrays of which all
//! is wanted or little.
//!
//! Failures: sums that may fail are refused; terms are computed as often as before.

use super::before::{self, Before};
use super::contract::only_clause;
use super::group::still_axes;
use crate::points::{Arr, Body, Def, Kind, Node, Points, Reduction, Subst};
use ein_ir::tensor::ReduceOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// Smaller arrays stay in a cache anyway.
const LEAST: i64 = 1 << 14;

/// Shorter rows are not worth a loop of their own.
const ROW: i64 = 16;

/// Whether an array has many cells in rows that can be computed one after another.
fn has_rows(points: &Points, def: &Def) -> bool {
    let shape = &points.arrs[def.arr].shape;
    let cells: i64 = shape.iter().product();
    let large = shape.len() > 1 && cells >= LEAST && cells / shape[0] >= ROW;
    large
        && match &def.body {
            Body::Clauses(_, None) => only_clause(points, &def.body, shape).is_some(),
            Body::Clauses(_, Some(_)) => still_axes(points, def).first() == Some(&0),
            Body::Scatter(_) | Body::InPlace(_) | Body::Until(_) | Body::Again(_) => false,
        }
}

/// Peels rows off reductions; `wanted` are the arrays that matter outside.
pub(crate) fn run(points: &mut Points, wanted: &FxHashSet<Arr>) {
    if points.exact {
        return;
    }
    let rows = points.defs.iter().filter(|def| !wanted.contains(&def.arr) && has_rows(points, def));
    let made: FxHashSet<Arr> = rows.map(|def| def.arr).collect();
    before::rewrite(points, |points, before, clause| {
        match points.arrs[before.of].shape.is_empty() {
            true => peel(points, before, &made, clause.value),
            false => clause.value,
        }
    });
}

/// A value without indices, with the rows of its reductions apart.
fn peel(points: &mut Points, before: &mut Before, made: &FxHashSet<Arr>, value: Node) -> Node {
    let mut instead: FxHashMap<Node, Node> = FxHashMap::default();
    for node in points.below(&[value]) {
        if let Kind::Reduce(reduction) = points.nodes[node].kind.clone()
            && points.nodes[node].free.is_empty()
            && runs_over_rows(points, made, &reduction)
        {
            let total = in_rows(points, before, node, *reduction);
            instead.insert(node, total);
        }
    }
    if instead.is_empty() { value } else { Subst::nodes(instead).apply(points, value) }
}

/// Whether a reduction runs over all rows of an array that the kernel makes.
fn runs_over_rows(points: &Points, made: &FxHashSet<Arr>, reduction: &Reduction) -> bool {
    // The product of a row may leave the type of the result, though that of all rows does not.
    let known =
        matches!(reduction.op, ReduceOp::Sum | ReduceOp::Mean | ReduceOp::Max | ReduceOp::Min);
    let body = reduction.body;
    let Some((ix, lo, hi)) = reduction.binders.first().copied() else { return false };
    if !known || reduction.guard.is_some() || !points.nodes[body].ty.is_float() {
        return false;
    }
    // Means of means are the mean only if all rows are equally long.
    let fixed = |node: Node| points.as_int(node).is_some();
    let equal = reduction.binders.iter().all(|(_, lo, hi)| fixed(*lo) && fixed(*hi));
    let extent = points.as_int(hi).filter(|_| points.as_int(lo) == Some(0));
    let runs_over = |(arr, at): &(Arr, Box<[Node]>)| {
        made.contains(arr)
            && points.arrs[*arr].shape.first().copied() == extent
            && points.nodes[at[0]].kind == Kind::Index(ix)
    };
    equal && points.loads(&[body]).iter().any(runs_over)
}

/// The reduction of the rows of a reduction, which are stored.
fn in_rows(points: &mut Points, before: &mut Before, node: Node, reduction: Reduction) -> Node {
    let Reduction { op, mut binders, guard: _, body } = reduction;
    let (ix, lo, hi) = binders.remove(0);
    let ty = points.nodes[node].ty;
    let row = match binders.is_empty() {
        true => body,
        false => points.reduce(Reduction { op, binders, guard: None, body }, ty),
    };
    let body = before.stored(points, row, &[ix]);
    points.reduce(Reduction { op, binders: vec![(ix, lo, hi)], guard: None, body }, ty)
}
