//! Loops that read across memory, in tiles.
//!
//! Before:  `for i { for j { y[i, j] = x[j, i] } }`
//! After:   `for i by 64 { for j by 16 { for i in its tile { for j in its tile { … } } } }`
//!
//! Every step along a row of `y` is in another row of `x`: of each piece of memory that is fetched
//! one element is used, and it is gone before its neighbour is wanted. In a tile the neighbours come
//! soon after.
//!
//! Needs: constant bounds, no reduction inside.
//! Refuses: arrays that fit into a cache.
//!
//! Failures: the same cells in another order; each is computed once.

use super::emit::Emit;
use super::nest::{Cell, Loop, outer_how};
use super::plan::{Change, How, What, Why};
use super::view::View;
use crate::points::Arr;

/// The least number of cells.
const LEAST: f64 = 65536.0;

impl Emit {
    /// The same loops, in tiles of the innermost one and the one that it goes across.
    pub(crate) fn crossed_loops(
        &mut self,
        arr: Arr,
        mut loops: Vec<Loop>,
        along: usize,
        cells: &[Cell],
    ) {
        let (how, why) = outer_how(&self.view(), &loops, cells);
        let Some(inner) = loops.pop() else { return };
        let tiles @ [along_tile, across_tile] = self.points.cost.crossed_tiles();
        let along = loops.remove(along);
        let change = Change::Crossed(self.points.ixs[along.0].name, tiles);
        self.plan.note(What::Change(change), Why::Since("what it reads is contiguous along that"));
        let (outer_tile, outer) = self.tiles(along, along_tile);
        let (inner_tile, inner) = self.tiles(inner, across_tile);
        let how = match how {
            How::Parallel { grain } if loops.is_empty() => {
                How::Parallel { grain: (grain / along_tile).max(1) }
            }
            how => how,
        };
        loops.extend([outer_tile, inner_tile, outer]);
        self.open_loops(&loops, (how, why));
        self.vector(arr, inner, cells);
        loops.iter().for_each(|_| self.close());
    }
}

/// The loop along which something is contiguous that the innermost loop goes across.
pub(crate) fn crossed(view: &View<'_>, loops: &[Loop], cells: &[Cell]) -> Option<usize> {
    let ((inner, lo, hi), outer) = loops.split_last()?;
    let wide = |(_, lo, hi): &Loop, least: i64| {
        view.constant_extent(*lo, *hi).is_some_and(|extent| extent >= least)
    };
    let all: f64 = loops.iter().map(|(_, lo, hi)| view.points.trip_count(*lo, *hi)).product();
    let [along_tile, across_tile] = view.points.cost.crossed_tiles();
    if all < LEAST || !wide(&(*inner, *lo, *hi), 4 * across_tile) {
        return None;
    }
    let values: Vec<_> = cells.iter().map(|(_, value)| *value).collect();
    let loads = view.points.loads(&values);
    let across = |(arr, at): &(Arr, Box<[_]>)| {
        let far = view.stride(*arr, at, *inner).is_some_and(|it| it.abs() >= across_tile);
        let along = |(ix, ..): &Loop| view.stride(*arr, at, *ix) == Some(1);
        outer.iter().position(along).filter(|_| far)
    };
    let found = loads.iter().find_map(across)?;
    wide(&outer[found], along_tile).then_some(found)
}
