//! Rows whose reads or choices change at an edge, in pieces.
//!
//! Before:  `for j in 0..n { y[j] = x[(j + 1) % n] }`, with a division for each cell
//! After:   `for j in 0..n - 1 { y[j] = x[j + 1] }`, in vectors, and `y[n - 1] = x[0]`
//!
//! Where the pieces meet may depend on the loops around: `x[(i + j) % n]` wraps at `j = n - i`. An edge
//! that may be outside of the row is brought inside, and a piece may have no cells.
//!
//! The same for rows of which a condition says where they end, if one side of the choice is dear:
//! `if j < length[i] { exp(x[i, j]) } else { 0 }` takes functions for as many cells as the row is long.
//!
//! Needs: positions that follow the index of the row between the edges, constant bounds.
//! Refuses: rows in which an order of the edges is not known, or that have too many.
//!
//! Failures: choices of which a side may fail are left alone. A position that wraps or stops is inside in
//! every piece by construction, and what else
//! may fail is computed once for each cell, as before.

use super::emit::Emit;
use super::nest::{Cell, Loop};
use super::plan::{Change, What, Why};
use super::view::View;
use crate::points::{Arr, Ix, Kind, Linear, Node, Points};
use ein_scalar::{BinaryOp, ScalarType};

/// A row has at least so many cells.
const LEAST: i64 = 16;

/// A row that a condition cuts has at least so many cells: the last ones of each piece fill no vector.
const LEAST_CHOSEN: i64 = 64;

/// Sides of a choice differ by so much where it pays to compute one of them: by an elementary function.
const DEAR: f64 = 16.0;

/// The most edges of a row.
const EDGES: usize = 8;

impl Emit {
    /// The pieces of a row of cells, with the cells of each. One if nothing would be gained.
    pub(crate) fn between_edges(&mut self, row: Loop, cells: &[Cell]) -> Vec<(Loop, Vec<Cell>)> {
        let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
        let Some(pieces) = self.pieces(row, &values) else { return vec![(row, cells.to_vec())] };
        let why = Why::Since("reads or choices change at an edge");
        self.plan.note(What::Change(Change::Pieces(pieces.len())), why);
        pieces
            .into_iter()
            .map(|piece| {
                let place = self.points.index(piece.0);
                (piece, self.replaced(row.0, place, cells))
            })
            .collect()
    }

    /// The loop in pieces, if these read in vectors what all of it does not.
    pub(crate) fn pieces(&mut self, (ix, lo, hi): Loop, values: &[Node]) -> Option<Vec<Loop>> {
        if self.constant_extent(lo, hi)? < LEAST || self.points.exact {
            return None;
        }
        let loads = self.points.loads(values);
        let bent = |(arr, at): &(Arr, Box<[Node]>)| {
            self.stride(*arr, at, ix).is_none()
                && matches!(self.stride_between_edges(*arr, at, ix), Some(0 | 1))
        };
        let places: Vec<Node> =
            loads.iter().filter(|load| bent(load)).flat_map(|(_, at)| at.iter().copied()).collect();
        let ends = (self.points.linear(lo), self.points.linear(hi));
        let mut edges = Vec::new();
        for node in self.points.below(&places) {
            if self.points.depends(node, ix) {
                add_edges(&self.view(), &mut edges, node, ix, &ends)?;
            }
        }
        if self.constant_extent(lo, hi)? >= LEAST_CHOSEN {
            let mut more = edges.clone();
            if add_chosen(&self.view(), &mut more, values, ix, &ends).is_some() {
                edges = more;
            }
        }
        (!edges.is_empty() && edges.len() <= EDGES).then(|| self.cut((ix, lo, hi), &edges))
    }

    /// A loop in pieces that end at these edges, each with an index of its own.
    fn cut(&mut self, (ix, lo, hi): Loop, edges: &[Linear]) -> Vec<Loop> {
        let (name, own) = (self.points.ixs[ix].name, self.points.ixs[ix].range);
        let mut ends: Vec<(Node, Node)> =
            edges.iter().map(|edge| edge_of_row(&mut self.points, edge, (lo, hi))).collect();
        ends.push((hi, hi));
        let mut from = (lo, lo);
        let mut pieces = Vec::new();
        for to in ends {
            let range = |node: Node| self.points.nodes[node].range.unwrap_or(own);
            let first = range(from.0).0.max(own.0);
            let last = (range(to.0).1 - 1).min(own.1);
            let piece = self.points.fresh_between(name, (first, last.max(first)), from.0, to.0);
            pieces.push((piece, from.1, to.1));
            from = to;
        }
        pieces
    }
}

/// An edge, which bounds the cells of the pieces on both sides, and the place in the row where they
/// meet: the same, if the edge is surely there.
fn edge_of_row(points: &mut Points, edge: &Linear, (lo, hi): (Node, Node)) -> (Node, Node) {
    let inside = |more: Linear| points.reach(&more).is_some_and(|(least, _)| least >= 0);
    let ends = (points.linear(lo), points.linear(hi));
    if inside(edge.minus(&ends.0)) && inside(ends.1.minus(edge)) {
        let edge = points.sum_node(edge);
        return (edge, edge);
    }
    let edge = points.sum_node(edge);
    let [edge, lo, hi] = [edge, lo, hi].map(|place| points.cast(place, ScalarType::I64));
    let below = points.binary(BinaryOp::Min, edge, hi, None);
    (edge, points.binary(BinaryOp::Max, below, lo, None))
}

/// Adds the values of an index at which a node bends, in order. `None` if they are not known.
fn add_edges(
    view: &View<'_>,
    edges: &mut Vec<Linear>,
    node: Node,
    ix: Ix,
    (lo, hi): &(Linear, Linear),
) -> Option<()> {
    let Some(bend) = view.points.bend(node) else { return Some(()) };
    let own = |(term, _): &(Node, i64)| view.points.nodes[*term].kind == Kind::Index(ix);
    let Some(at) = bend.of.terms.iter().position(own) else { return Some(()) };
    let mut rest = bend.of;
    let (_, factor) = rest.terms.remove(at);
    if rest.terms.iter().any(|(term, _)| view.points.depends(*term, ix)) {
        return None;
    }
    for from in bend.from {
        let mut edge = Linear { terms: Vec::new(), offset: from };
        edge.add(&rest, -1);
        let edge = match factor {
            1 => edge,
            // It comes from above: where both sums are the same, either will do.
            -1 => {
                let offset = i64::from(!bend.ties);
                let mut after = Linear { terms: Vec::new(), offset };
                after.add(&edge, -1);
                after
            }
            _ => return None,
        };
        for edge in first_and_last(view, &edge)? {
            let above = view.points.reach(&edge.minus(lo))?;
            let below = view.points.reach(&hi.minus(&edge))?;
            if above.1 <= 0 || below.1 <= 0 {
                continue;
            }
            insert_edge(view, edges, edge)?;
        }
    }
    Some(())
}

/// Adds the values of an index at which the conditions of dear choices change, in order.
fn add_chosen(
    view: &View<'_>,
    edges: &mut Vec<Linear>,
    values: &[Node],
    ix: Ix,
    (lo, hi): &(Linear, Linear),
) -> Option<()> {
    let points = view.points;
    for node in points.below(values) {
        let Kind::Select(mut left, a, b) = points.nodes[node].kind else { continue };
        let (a, b) = (&points.nodes[a], &points.nodes[b]);
        let plain = !a.traps && !b.traps && !a.reduces && !b.reduces;
        if !plain || (a.cost - b.cost).abs() < DEAR {
            continue;
        }
        let mut conditions = Vec::new();
        while let Kind::Binary(BinaryOp::And | BinaryOp::Or, more, last) = points.nodes[left].kind {
            conditions.push(last);
            left = more;
        }
        conditions.push(left);
        for condition in conditions {
            let Some(edge) = changes_at(points, condition, ix) else { continue };
            // Where it is must be known before the row begins.
            if !edge
                .terms
                .iter()
                .all(|(term, _)| points.nodes[*term].free.iter().all(|ix| view.is_bound(*ix)))
            {
                continue;
            }
            let above = points.reach(&edge.minus(lo))?;
            let below = points.reach(&hi.minus(&edge))?;
            if above.1 > 0 && below.1 > 0 {
                insert_edge(view, edges, edge)?;
            }
        }
    }
    Some(())
}

/// The value of an index from which on a comparison has another outcome than before.
fn changes_at(points: &Points, condition: Node, ix: Ix) -> Option<Linear> {
    let Kind::Binary(op, x, y) = points.nodes[condition].kind else { return None };
    if !points.nodes[x].ty.is_int() || points.nodes[x].traps || points.nodes[y].traps {
        return None;
    }
    let mut rest = points.linear(x).minus(&points.linear(y));
    let own = |(term, _): &(Node, i64)| points.nodes[*term].kind == Kind::Index(ix);
    let at = rest.terms.iter().position(own)?;
    let (_, factor) = rest.terms.remove(at);
    if rest.terms.iter().any(|(term, _)| points.depends(*term, ix)) || factor.abs() != 1 {
        return None;
    }
    let after = match op {
        BinaryOp::Lt | BinaryOp::Ge => factor < 0,
        BinaryOp::Le | BinaryOp::Gt => factor > 0,
        _ => return None,
    };
    let mut edge = Linear { terms: Vec::new(), offset: i64::from(after) };
    edge.add(&rest, -factor);
    Some(edge)
}

/// The first and the last place of an edge for all indices that have no value yet: those of
/// reductions that will be written out.
fn first_and_last(view: &View<'_>, edge: &Linear) -> Option<[Linear; 2]> {
    let [mut first, mut last] = [(); 2].map(|()| Linear { terms: Vec::new(), offset: edge.offset });
    for (term, factor) in &edge.terms {
        let info = &view.points.nodes[*term];
        if info.free.iter().all(|ix| view.is_bound(*ix)) {
            first.add_term(*term, *factor);
            last.add_term(*term, *factor);
            continue;
        }
        let (lo, hi) = info.range?;
        let ends = [lo, hi].map(|end| i64::try_from(end).ok()?.checked_mul(*factor));
        first.offset += ends[0]?.min(ends[1]?);
        last.offset += ends[0]?.max(ends[1]?);
    }
    Some([first, last])
}

/// Inserts an edge before the first one that is not before it.
fn insert_edge(view: &View<'_>, edges: &mut Vec<Linear>, edge: Linear) -> Option<()> {
    for at in 0..edges.len() {
        let (least, most) = view.points.reach(&edges[at].minus(&edge))?;
        if (least, most) == (0, 0) {
            return Some(());
        }
        if least >= 0 {
            edges.insert(at, edge);
            return Some(());
        }
        if most > 0 {
            return None;
        }
    }
    edges.push(edge);
    Some(())
}
