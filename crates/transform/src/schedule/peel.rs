//! Reductions over all of what a kernel computes go row by row.
//!
//! Before:  `e[i, j] = …`, `l = -sum(i, j) p[i, j] * ln(e[i, j])`
//! After:   `e[i, j] = …`, `r[i] = sum(j) p[i, j] * ln(e[i, j])`, `l = -sum(i) r[i]`
//!
//! Rows of `r` run in the nest of `e`, which then needs one row of memory instead of all of them.
//!
//! Needs: definitions that are computed where they are read have been, and are gone.
//! Refuses: integers, whose sums may fail; conditions; arrays of which all is wanted or little.

use super::contract::only_clause;
use crate::points::{Arr, ArrInfo, Body, Clause, Def, Kind, Node, Points, Reduction, Slot};
use crate::points::{Source, Subst};
use ein_base::Span;
use ein_ir::tensor::ReduceOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// Smaller arrays stay in a cache anyway.
const LEAST: i64 = 1 << 14;

/// Shorter rows are not worth a loop of their own.
const ROW: i64 = 16;

/// Peels rows off reductions; `wanted` are the arrays that matter outside.
pub(crate) fn run(points: &mut Points, wanted: &FxHashSet<Arr>) {
    if points.exact {
        return;
    }
    let mut made: FxHashSet<Arr> = FxHashSet::default();
    let mut defs = Vec::with_capacity(points.defs.len());
    for mut def in std::mem::take(&mut points.defs) {
        let shape = &points.arrs[def.arr].shape;
        match &mut def.body {
            Body::Clauses(clauses, None) if shape.is_empty() => {
                for clause in clauses {
                    let (rows, value) = peel(points, &made, (def.arr, def.span), clause.value);
                    defs.extend(rows);
                    clause.value = value;
                }
            }
            body => {
                let cells: i64 = shape.iter().product();
                let large = shape.len() > 1 && cells >= LEAST && cells / shape[0] >= ROW;
                let plain = only_clause(points, body, shape).is_some();
                if large && plain && !wanted.contains(&def.arr) {
                    made.insert(def.arr);
                }
            }
        }
        defs.push(def);
    }
    points.defs = defs;
}

/// Takes the rows of reductions out of a value without indices: their definitions, and the value.
fn peel(
    points: &mut Points,
    made: &FxHashSet<Arr>,
    of: (Arr, Span),
    value: Node,
) -> (Vec<Def>, Node) {
    let nodes = points.below(&[value]);
    let mut rows = Vec::new();
    let mut instead: FxHashMap<Node, Node> = FxHashMap::default();
    for node in nodes {
        if let Kind::Reduce(reduction) = points.nodes[node].kind.clone()
            && points.nodes[node].free.is_empty()
            && let Some(extent) = rows_of(points, made, &reduction)
        {
            let (row, total) = in_rows(points, of, node, *reduction, extent);
            instead.insert(node, total);
            rows.push(row);
        }
    }
    (rows, Subst::nodes(instead).apply(points, value))
}

/// How many rows a reduction has, if it runs over all rows of an array that the kernel makes.
fn rows_of(points: &Points, made: &FxHashSet<Arr>, reduction: &Reduction) -> Option<i64> {
    let known = matches!(
        reduction.op,
        ReduceOp::Sum | ReduceOp::Mean | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min
    );
    let body = reduction.body;
    if !known || reduction.guard.is_some() || !points.nodes[body].ty.is_float() {
        return None;
    }
    // Means of means are the mean only if all rows are equally long.
    let fixed = |node: Node| points.as_int(node).is_some();
    let equal = reduction.binders.iter().all(|(_, lo, hi)| fixed(*lo) && fixed(*hi));
    let (ix, lo, hi) = *reduction.binders.first()?;
    let extent = points.as_int(hi).filter(|_| points.as_int(lo) == Some(0))?;
    let runs_over = |(arr, at): &(Arr, Box<[Node]>)| {
        let shape = &points.arrs[*arr].shape;
        made.contains(arr) && shape[0] == extent && points.nodes[at[0]].kind == Kind::Index(ix)
    };
    let found = equal && points.loads(&[body]).iter().any(runs_over);
    found.then_some(extent)
}

/// The definition of the rows of a reduction, and their reduction.
fn in_rows(
    points: &mut Points,
    (of, span): (Arr, Span),
    node: Node,
    reduction: Reduction,
    extent: i64,
) -> (Def, Node) {
    let Reduction { op, mut binders, guard: _, body } = reduction;
    let (ix, lo, hi) = binders.remove(0);
    let ty = points.nodes[node].ty;
    let range = (0, i128::from(extent - 1));
    let name = points.ixs[ix].name;
    let mut fresh = || points.fresh(name, range);
    let (row, of_all) = (fresh(), fresh());
    let here = points.index(row);
    let of_row = match binders.is_empty() {
        true => body,
        false => points.reduce(Reduction { op, binders, guard: None, body }, ty),
    };
    let value = Subst::one(ix, here).apply(points, of_row);
    let source = Source::Defined(usize::MAX);
    let info = ArrInfo { name: points.arrs[of].name, ty, shape: vec![extent], source };
    let arr = points.arrs.push(info);
    let slots = vec![Slot { ix: row, lo, hi }];
    let clause = Clause { slots, guard: None, value, otherwise: None };
    let body = Body::Clauses(vec![clause], None);
    let at = points.index(of_all);
    let body_of_all = points.load(arr, &[at]);
    let binders = vec![(of_all, lo, hi)];
    let total = points.reduce(Reduction { op, binders, guard: None, body: body_of_all }, ty);
    (Def { arr, span, body, adjoint: false }, total)
}
