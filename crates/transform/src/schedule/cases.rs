//! Choices that the steps of a recurrence decide, as clauses.
//!
//! Before:  `l[i in 0..n, j in 0..m] = if i == 0 || j == 0 { 0 } else { … l[i - 1, j - 1] … }`: every
//!          cell asks where it is, and its reads may be outside
//! After:   `l[0, j in 0..m] = 0`, `l[i in 1..n, 0] = 0` and `l[i in 1..n, j in 1..m] = … l[i - 1, j - 1] …`
//!
//! Needs: a choice between whole values, by comparisons of the indices of steps with constants.
//! Refuses: guards, domains that depend on an index, and what would be too many clauses.
//! Leaves: choices by other indices, which rows are cut for ([`edges`](super::edges)).
//!
//! Failures: each cell is computed by the clause that has it, from the same operands as before.

use crate::points::{Body, Clause, Def, Kind, Node, Points, Step};
use ein_scalar::{BinaryOp, UnaryOp};

/// A clause becomes at most so many.
const MOST: usize = 8;

/// Cuts the clauses of recurrences where their choices change.
pub(crate) fn run(points: &mut Points) {
    for at in 0..points.defs.len() {
        let def = points.defs[at].clone();
        if let Some(clauses) = cut(points, &def)
            && let Body::Clauses(old, _) = &mut points.defs[at].body
        {
            *old = clauses;
        }
    }
}

/// The clauses of a recurrence, cut; nothing if none is.
fn cut(points: &mut Points, def: &Def) -> Option<Vec<Clause>> {
    let Body::Clauses(clauses, Some(steps)) = &def.body else { return None };
    let mut all = Vec::new();
    for clause in clauses {
        let pieces = pieces(points, clause, steps).filter(|pieces| pieces.len() <= MOST);
        all.extend(pieces.unwrap_or_else(|| vec![clause.clone()]));
    }
    (all.len() > clauses.len()).then_some(all)
}

/// A clause in pieces in which nothing is left to choose by a step.
fn pieces(points: &mut Points, clause: &Clause, steps: &[Step]) -> Option<Vec<Clause>> {
    let whole = |slot: &crate::points::Slot| points.ixs[slot.ix].bounds.is_none();
    if clause.guard.is_some() || !clause.slots.iter().all(whole) {
        return None;
    }
    let (mut open, mut done) = (vec![clause.clone()], Vec::new());
    while let Some(piece) = open.pop() {
        let Some((axis, at)) = first_edge(points, &piece, steps) else {
            done.push(piece);
            continue;
        };
        let (lo, hi) = points.ixs[piece.slots[axis].ix].range;
        for part in [(at, hi), (lo, at - 1)] {
            open.push(points.restricted(&piece, axis, part));
        }
        if open.len() + done.len() > MOST {
            return None;
        }
    }
    Some(done)
}

/// An axis of steps and the first position at which a choice between whole values changes along it.
fn first_edge(points: &Points, clause: &Clause, steps: &[Step]) -> Option<(usize, i128)> {
    let mut conditions = Vec::new();
    choices(points, clause.value, &mut conditions);
    let mut axes = steps.iter().map(|step| step.axis);
    axes.find_map(|axis| {
        let (lo, hi) = points.ixs[clause.slots[axis].ix].range;
        let edges = conditions.iter().flat_map(|it| edges(points, *it, clause, axis));
        edges.filter(|at| lo < *at && *at <= hi).min().map(|at| (axis, at))
    })
}

/// The comparisons in the conditions of choices between whole values.
fn choices(points: &Points, value: Node, found: &mut Vec<Node>) {
    let Kind::Select(condition, yes, no) = points.nodes[value].kind else { return };
    comparisons(points, condition, found);
    choices(points, yes, found);
    choices(points, no, found);
}

fn comparisons(points: &Points, condition: Node, found: &mut Vec<Node>) {
    match points.nodes[condition].kind {
        Kind::Binary(BinaryOp::And | BinaryOp::Or, a, b) => {
            comparisons(points, a, found);
            comparisons(points, b, found);
        }
        Kind::Unary(UnaryOp::Not, a) => comparisons(points, a, found),
        _ => found.push(condition),
    }
}

/// Where a comparison of an index along an axis with a constant changes.
fn edges(points: &Points, comparison: Node, clause: &Clause, axis: usize) -> Vec<i128> {
    let Kind::Binary(op, a, b) = points.nodes[comparison].kind else { return Vec::new() };
    if !points.nodes[a].ty.is_int() {
        return Vec::new();
    }
    let between = points.linear(a).minus(&points.linear(b));
    let (place, factor) = match *between.terms {
        [(term, factor @ (1 | -1))] => (term, factor),
        _ => return Vec::new(),
    };
    if points.nodes[place].kind != Kind::Index(clause.slots[axis].ix) {
        return Vec::new();
    }
    // `i - at` or `at - i` is compared with zero.
    let at = i128::from(-factor * between.offset);
    let (below, after) = match (op, factor) {
        (BinaryOp::Eq | BinaryOp::Ne, _) => (true, true),
        (BinaryOp::Lt | BinaryOp::Ge, 1) | (BinaryOp::Gt | BinaryOp::Le, -1) => (true, false),
        (BinaryOp::Le | BinaryOp::Gt, 1) | (BinaryOp::Ge | BinaryOp::Lt, -1) => (false, true),
        _ => (false, false),
    };
    [(below, at), (after, at + 1)].into_iter().filter_map(|(is, at)| is.then_some(at)).collect()
}
