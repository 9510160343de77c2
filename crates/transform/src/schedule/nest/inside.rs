//! Reductions inside of the reductions of a row that are the same for all of their terms.
//!
//! Before:  `y[j] = sum(i) exp(x[i, j] - max(k) x[k, j])`, a column after another
//! After:   `m[j] = max(k) x[k, j]` for a row of cells, and `y[j] = sum(i) exp(x[i, j] - m[j])`, both in
//!          rows of accumulators, which run along memory
//!
//! Needs: reductions that run across contiguous memory if what is inside of them is known, and inside
//! of them others that do so as well.
//! Refuses: rows that do not fit into a tile or into some that are equal.
//!
//! Failures: what is computed before is computed for each cell of the row as it was. Terms that were
//! none (of a sum over nothing) may now raise an alarm.

use super::super::emit::{AxisPlace, Emit};
use super::super::rows::{across, even_tile};
use super::super::view::View;
use super::{Cell, Loop, outer_how};
use crate::points::{Arr, Kind, Node, Subst};
use rustc_hash::{FxHashMap, FxHashSet};

/// The reductions that have rows of their own before those of the cells; none if nothing is gained.
pub(super) fn rows(view: &View<'_>, loops: &[Loop], inner: &[Node]) -> Vec<Node> {
    let Some((ix, lo, hi)) = loops.last().copied() else { return Vec::new() };
    let tiles = view.constant_extent(lo, hi).is_some_and(|cells| even_tile(cells).is_some());
    let found = same_for_all_terms(view, inner);
    let row = |node: &Node| {
        view.points.depends(*node, ix) && across(view, loops, &[*node], &[]).is_some()
    };
    let rest: Vec<Node> = inner.iter().copied().filter(|node| !found.contains(node)).collect();
    let gains = tiles
        && !found.is_empty()
        && found.iter().all(row)
        && across(view, loops, &rest, &found).is_some();
    if gains { found } else { Vec::new() }
}

/// The outermost reductions inside of these that no index of theirs changes.
fn same_for_all_terms(view: &View<'_>, inner: &[Node]) -> Vec<Node> {
    let mut bound = FxHashSet::default();
    let mut open: Vec<Node> = Vec::new();
    for node in inner {
        let Kind::Reduce(reduction) = &view.points.nodes[*node].kind else { continue };
        bound.extend(reduction.binders.iter().map(|(ix, ..)| *ix));
        open.extend([Some(reduction.body), reduction.guard].into_iter().flatten());
    }
    let (mut met, mut found) = (FxHashSet::default(), Vec::new());
    while let Some(node) = open.pop() {
        let info = &view.points.nodes[node];
        if !info.reduces || !met.insert(node) {
            continue;
        }
        if matches!(info.kind, Kind::Reduce(_)) && !info.free.iter().any(|ix| bound.contains(ix)) {
            found.push(node);
            continue;
        }
        view.points.each_child(node, &mut |child| open.push(child));
    }
    found.sort_unstable();
    found
}

/// Rows of the reductions that others read, then the cells.
pub(super) fn fill(emit: &mut Emit, arr: Arr, mut loops: Vec<Loop>, mut cells: Vec<Cell>) {
    let how = outer_how(&emit.view(), &loops, &cells);
    let Some(along) = loops.pop() else { return };
    emit.open_loops(&loops, how);
    let inner = emit.inner_reductions(&[along], &cells);
    let size = emit.points.as_int(along.2).unwrap_or(0);
    let place = emit.points.index(along.0);
    let mut instead = FxHashMap::default();
    for node in rows(&emit.view(), &[along], &inner) {
        let ty = emit.points.nodes[node].ty;
        let row = emit.row(ty, size, AxisPlace::Strided(1));
        if !emit.in_parallel {
            // Threads may share the reductions.
            emit.share_row(row);
        }
        let here = emit.here();
        emit.floors.insert(row, here);
        emit.nest(row, vec![along], vec![(vec![place], node)]);
        instead.insert(node, emit.points.load(row, &[place]));
    }
    let mut subst = Subst::nodes(instead);
    for (_, value) in &mut cells {
        *value = subst.apply(&mut emit.points, *value);
    }
    emit.nest(arr, vec![along], cells);
    loops.iter().for_each(|_| emit.close());
}
