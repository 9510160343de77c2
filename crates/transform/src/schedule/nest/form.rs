//! How the cells of a nest are filled: decided before any of its loops is written.

use super::super::cross::crossed;
use super::super::node_cost;
use super::super::plan::{Form, How, Why};
use super::super::rows::{across, even_tile, slants_across, worth_a_row};
use super::super::view::View;
use super::super::windows::have_few_terms;
use super::inside;
use super::{COPIED_NODES, Cell, FEW, JAM, Loop, TILE, VECTOR};
use crate::points::{Arr, Ix, Kind, Node};
use ein_scalar::{BinaryOp, ScalarType};
use rustc_hash::FxHashSet;

/// The form of a nest in which these reductions change with the loops.
pub(super) fn of(view: &View<'_>, loops: &[Loop], cells: &[Cell], inner: &[Node]) -> (Form, Why) {
    let over = |(ix, ..): &Loop| inner.iter().any(|node| view.points.depends(*node, *ix));
    let reduced = loops.iter().rposition(over).map_or(loops.len(), |last| last + 1);
    let Some((_, lo, hi)) = loops.last().copied() else { return (Form::Point, Why::Only) };
    if reduced < loops.len() {
        let why = "the reductions are the same for all values of the other indices";
        return (Form::Around(reduced), Why::Since(why));
    }
    if inner.is_empty() {
        return (Form::Plain, Why::Since("no reduction changes with its loops"));
    }
    if have_few_terms(view, loops, inner) {
        return (Form::Plain, Why::Since("its reductions have few terms, which are written out"));
    }
    if !inside::rows(view, loops, inner).is_empty() {
        let cells = view.constant_extent(lo, hi).and_then(even_tile).unwrap_or(0);
        return (Form::AfterRows(cells), Why::Since("they are the same for all terms of those"));
    }
    if across(view, loops, inner, &[]).or_else(|| slants_across(view, loops, inner)).is_some() {
        let cells = view.most_values(lo, hi).unwrap_or(TILE).min(TILE);
        return (Form::Rows(cells), Why::Since("its reductions run across contiguous memory"));
    }
    if worth_a_row(view, loops, cells, inner) {
        let cells = view.constant_extent(lo, hi).and_then(even_tile).unwrap_or(0);
        return (Form::ThenRow(cells), Why::Since("what is done with its reductions is costly"));
    }
    jam(view, loops, cells)
}

/// The loop along which reductions run across contiguous memory, where the last one is less than a vector.
pub(super) fn row_loop(view: &View<'_>, loops: &[Loop], inner: &[Node]) -> Option<usize> {
    let (_, lo, hi) = loops.last()?;
    let short = view.constant_extent(*lo, *hi).is_some_and(|extent| extent < VECTOR);
    if inner.is_empty() || !short || !is_rectangular(view, loops) {
        return None;
    }
    let is_row = |at: &usize| {
        let (_, lo, hi) = loops[*at];
        let mut moved = loops.to_vec();
        let last = moved.remove(*at);
        moved.push(last);
        view.constant_extent(lo, hi).is_some_and(|extent| extent >= VECTOR)
            && across(view, &moved, inner, &[]).is_some()
    };
    (0..loops.len() - 1).rev().find(is_row).filter(|_| across(view, loops, inner, &[]).is_none())
}

/// Whether neighbouring cells with reductions of their own are computed together.
pub(super) fn jam(view: &View<'_>, loops: &[Loop], cells: &[Cell]) -> (Form, Why) {
    let extent = loops.last().and_then(|(_, lo, hi)| view.constant_extent(*lo, *hi));
    match extent {
        None => (Form::OneByOne, Why::Since("only the run tells how many there are")),
        Some(extent) if extent < JAM => (Form::OneByOne, Why::Count(extent, "cells are few")),
        Some(_) if cells.len() as i64 * JAM > 8 || !may_be_copied(view, cells, JAM) => {
            (Form::OneByOne, Why::Since("copies of the cells would be too much code"))
        }
        Some(_) => (Form::Jammed(JAM), Why::Since("they hide each other's latency")),
    }
}

/// Whether the last loop is written out, and how often it runs.
pub(super) fn short_last(
    view: &View<'_>,
    arr: Arr,
    loops: &[Loop],
    cells: &[Cell],
) -> Option<(i64, Why)> {
    let (_, lo, hi) = loops.last().copied()?;
    let extent = view.constant_extent(lo, hi)?;
    let written = extent <= FEW
        && worth_writing_out(view, arr, loops, cells)
        && cells.len() as i64 * extent <= 16
        && (extent == 1 || may_be_copied(view, cells, extent));
    written.then_some((extent, Why::Count(extent, "values are less than a vector")))
}

/// An outer loop of a few turns that decides choices among the values, and how many: each turn
/// by itself needs no choice, and all of them share what is common to the sides.
pub(super) fn decided_by_few(
    view: &View<'_>,
    loops: &[Loop],
    cells: &[Cell],
) -> Option<(usize, i64)> {
    let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
    if values.iter().any(|value| view.points.nodes[*value].reduces) {
        return None;
    }
    let below = view.points.below(&values);
    let decides = |(ix, ..): &Loop| {
        below.iter().any(|node| match view.points.nodes[*node].kind {
            Kind::Select(cond, ..) => *view.points.nodes[cond].free == [*ix],
            _ => false,
        })
    };
    let alone = |(ix, ..): &Loop| {
        let bounds =
            |(_, lo, hi): &Loop| !view.points.depends(*lo, *ix) && !view.points.depends(*hi, *ix);
        loops.iter().all(bounds)
    };
    let (_, outer) = loops.split_last()?;
    let mut outer = outer.iter().enumerate().filter(|(_, it)| decides(it) && alone(it));
    outer.find_map(|(at, (_, lo, hi))| {
        let extent = view.constant_extent(*lo, *hi)?;
        let few = extent <= 2 * FEW && cells.len() as i64 * extent <= 16;
        (few && may_be_copied(view, cells, extent)).then_some((at, extent))
    })
}

/// How the first of these loops runs, if the loop after it can wait.
pub(crate) fn outer_how(view: &View<'_>, loops: &[Loop], cells: &[Cell]) -> (How, Why) {
    let each = work_inside(view, loops, cells).max(1.0);
    let turns = view.points.trip_count(loops[0].1, loops[0].2);
    // Inside a loop the threads meet again and again.
    let least = view.points.cost.thread_work() * if view.here() == 0 { 1.0 } else { 8.0 };
    let work = each * turns;
    if view.in_parallel {
        return (How::Serial, Why::Since("threads share a loop around it"));
    }
    if work < least || turns < 2.0 {
        return (How::Serial, Why::LittleWork { work, least });
    }
    let grain = ((least / 2.0 / each).ceil() as i64).max(1);
    (How::Parallel { grain }, Why::Work { work, turns, least })
}

/// How the innermost loop of cells runs.
pub(crate) fn inner_how(view: &View<'_>) -> (How, Why) {
    match view.points.exact {
        true => (How::Serial, Why::Since("vectors may have other elementary functions")),
        false => (How::Vector, Why::Only),
    }
}

/// The loop along which a result is contiguous, if it is not the last and becomes it.
pub(super) fn contiguous(
    view: &View<'_>,
    arr: Arr,
    loops: &[Loop],
    cells: &[Cell],
) -> Option<usize> {
    let along = |ix: Ix| view.stride(arr, &cells[0].0, ix) == Some(1);
    if along(loops.last()?.0) || !is_rectangular(view, loops) {
        return None;
    }
    loops.iter().position(|(ix, lo, hi)| {
        along(*ix) && view.constant_extent(*lo, *hi).is_some_and(|n| n >= 8)
    })
}

/// Whether everything lies in memory as if the last two loops were one: the turns of both.
pub(super) fn merges(
    view: &View<'_>,
    arr: Arr,
    loops: &[Loop],
    cells: &[Cell],
) -> Option<(i64, i64)> {
    let [(place, value)] = cells else { return None };
    let [.., (outer, lo, end), (inner, first, hi)] = *loops else { return None };
    let (rows, width) = (view.constant_extent(lo, end)?, view.constant_extent(first, hi)?);
    let one = |arr: Arr, at: &[Node]| {
        let (outer, inner) = (view.stride(arr, at, outer), view.stride(arr, at, inner));
        outer.zip(inner).is_some_and(|(outer, inner)| outer == inner * width)
    };
    let loads = view.points.loads(&[*value]);
    let merges = one(arr, place)
        && loads.iter().all(|(arr, at)| one(*arr, at))
        && !uses_index(view, *value, &[outer, inner]);
    merges.then_some((rows, width))
}

/// How the loops of a plain nest are cut.
pub(super) enum Cut {
    /// Into tiles of the last one and of this one, which it goes across.
    Crossed(usize),
    /// A single loop into tiles of so many cells, which threads share.
    Tiled(i64, Why),
    /// Not at all; the first of them runs so.
    Not(How, Why),
}

/// How these loops are cut.
pub(super) fn cut(view: &View<'_>, loops: &[Loop], cells: &[Cell]) -> Cut {
    if let Some(along) = crossed(view, loops, cells) {
        return Cut::Crossed(along);
    }
    match outer_how(view, loops, cells) {
        (How::Parallel { grain }, why) if loops.len() == 1 && is_rectangular(view, loops) => {
            Cut::Tiled(grain.max(TILE), why)
        }
        (how, why) => Cut::Not(how, why),
    }
}

/// Whether so many copies of the cells are still little code.
pub(crate) fn may_be_copied(view: &View<'_>, cells: &[Cell], copies: i64) -> bool {
    let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
    let copies = usize::try_from(copies).unwrap_or(usize::MAX);
    view.points.below(&values).len().saturating_mul(copies) <= COPIED_NODES
}

/// Whether the loop before a short last one can run in vectors instead.
fn worth_writing_out(view: &View<'_>, arr: Arr, loops: &[Loop], cells: &[Cell]) -> bool {
    let (ix, ..) = loops[loops.len() - 1];
    let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
    let reduces = values.iter().any(|value| view.points.nodes[*value].reduces);
    let stored = view.stride(arr, &cells[0].0, ix);
    loops.len() == 1 || reduces || stored != Some(1) || view.points.below(&values).iter().any(|n| {
        matches!(view.points.nodes[*n].kind, Kind::Select(c, ..) if view.points.depends(c, ix))
    })
}

/// The outermost reductions that depend on these loops.
pub(crate) fn reductions_over(view: &View<'_>, values: &[Node], loops: &[Loop]) -> Vec<Node> {
    let nodes = view.points.below(values);
    let is = |node: &Node| matches!(view.points.nodes[*node].kind, Kind::Reduce(_));
    let over = |node: &Node| loops.iter().any(|(ix, ..)| view.points.depends(*node, *ix));
    let found: Vec<Node> = nodes.into_iter().filter(|node| is(node) && over(node)).collect();
    // Those that are met without passing through another one: one of them may also stand in the
    // bounds or the condition of another one.
    let (mut met, mut open) = (FxHashSet::default(), values.to_vec());
    while let Some(node) = open.pop() {
        if met.insert(node) && !found.contains(&node) {
            view.points.each_child(node, &mut |child| open.push(child));
        }
    }
    found.into_iter().filter(|node| met.contains(node)).collect()
}

/// The work of one iteration of the first of these loops.
fn work_inside(view: &View<'_>, loops: &[Loop], cells: &[Cell]) -> f64 {
    let inner: f64 =
        loops[1..].iter().map(|(_, lo, hi)| view.points.trip_count(*lo, *hi)).product();
    let each: f64 = cells.iter().map(|(_, value)| node_cost(view.points, *value) + 1.0).sum();
    inner * each
}

/// Whether a value depends on indices other than through the places that it reads.
fn uses_index(view: &View<'_>, node: Node, ixs: &[Ix]) -> bool {
    match &view.points.nodes[node].kind {
        Kind::Index(ix) => ixs.contains(ix),
        Kind::Load(_, at) => at.iter().any(|node| {
            let terms = view.points.linear(*node).terms;
            terms.iter().any(|(term, _)| {
                !matches!(view.points.nodes[*term].kind, Kind::Index(_))
                    && ixs.iter().any(|ix| view.points.depends(*term, *ix))
            })
        }),
        _ => {
            let mut children = Vec::new();
            view.points.each_child(node, &mut |child| children.push(child));
            children.into_iter().any(|child| uses_index(view, child, ixs))
        }
    }
}

pub(super) fn is_rectangular(view: &View<'_>, loops: &[Loop]) -> bool {
    loops.iter().all(|(_, lo, hi)| view.constant_extent(*lo, *hi).is_some())
}

/// Divisors that do not change in a loop, of what does.
pub(super) fn divisors(view: &View<'_>, ix: Ix, cells: &[Cell]) -> Vec<Node> {
    if view.points.exact {
        return Vec::new();
    }
    let roots: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
    let mut found = Vec::new();
    for node in view.points.below(&roots) {
        let info = &view.points.nodes[node];
        let Kind::Binary(BinaryOp::Div, a, b) = info.kind else { continue };
        let wide = matches!(info.ty, ScalarType::F32 | ScalarType::F64);
        let constant = matches!(view.points.nodes[b].kind, Kind::Const(_));
        let here = view.points.nodes[b].free.iter().all(|ix| view.is_bound(*ix));
        let varies = view.points.depends(a, ix) && here;
        if wide && !constant && varies && !found.contains(&b) {
            found.push(b);
        }
    }
    found
}
