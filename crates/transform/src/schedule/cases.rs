//! Choices that the steps of a recurrence decide, as clauses.
//!
//! Before:  `l[i in 0..n, j in 0..m] = if i == 0 || j == 0 { 0 } else { … l[i - 1, j - 1] … }`: every
//!          cell asks where it is, and its reads may be outside
//! After:   `l[0, j in 0..m] = 0`, `l[i in 1..n, 0] = 0` and `l[i in 1..n, j in 1..m] = … l[i - 1, j - 1] …`
//!
//! Where parts of unequal shapes share one array, a clause for all of them chooses between the parts and is
//! zero outside of each: it becomes one for each part, of the cells that the part has. What no clause fills
//! is zero.
//!
//! Needs: a choice between whole values, or whether an earlier cell is read, by comparisons of the indices of
//! steps with constants.
//! Refuses: guards, domains that depend on an index, and what would be too many clauses.
//! Leaves: choices by other indices, which rows are cut for ([`edges`](super::edges)).
//!
//! Failures: each cell is computed by the clause that has it, from the same operands as before.

use crate::points::{Arr, Body, Clause, Def, Kind, Node, Points, Step};
use ein_scalar::{BinaryOp, UnaryOp};

/// A clause becomes at most so many.
const MOST: usize = 8;

/// An axis of at most so many positions may tell parts apart; choices by more conditions are left alone.
const SHORT: i128 = 4;
const CONDITIONS: usize = 40;

/// A clause of more nodes is not written several times because of what is inside.
const LONG: usize = 200;

/// Parts must have so many times fewer cells together.
const LESS: i128 = 2;

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
    let (mut all, mut changed) = (Vec::new(), false);
    for clause in clauses {
        let pieces = pieces(points, def.arr, clause, steps).filter(|pieces| pieces.len() <= MOST);
        for piece in pieces.unwrap_or_else(|| vec![clause.clone()]) {
            let parts = parts(points, &piece);
            changed |= parts.is_some();
            all.extend(parts.unwrap_or_else(|| vec![piece]));
        }
    }
    (changed || all.len() > clauses.len()).then_some(all)
}

/// A clause as one for each part that it has along short axes, without what is zero around the parts;
/// nothing if that leaves nothing out.
fn parts(points: &mut Points, clause: &Clause) -> Option<Vec<Clause>> {
    let whole = |slot: &crate::points::Slot| points.ixs[slot.ix].bounds.is_none();
    let plain = clause.guard.is_none() && clause.slots.iter().all(whole);
    let extent = |points: &Points, clause: &Clause, axis: usize| {
        let (lo, hi) = points.ixs[clause.slots[axis].ix].range;
        hi - lo + 1
    };
    let cells = |points: &Points, clause: &Clause| {
        (0..clause.slots.len()).map(|axis| extent(points, clause, axis)).product::<i128>()
    };
    if !plain || !points.nodes[clause.value].ty.is_float() || decided(points, clause).is_empty() {
        return None;
    }
    let axes: Vec<usize> = (0..clause.slots.len()).collect();
    let (mut open, mut done) = (vec![clause.clone()], Vec::new());
    while let Some(piece) = open.pop() {
        let conditions = decided(points, &piece);
        let mut short =
            axes.iter().filter(|axis| (2..=SHORT).contains(&extent(points, &piece, **axis)));
        let edge = short.find_map(|axis| {
            let (lo, hi) = points.ixs[piece.slots[*axis].ix].range;
            let edges = conditions.iter().flat_map(|it| edges(points, *it, &piece, *axis));
            edges.filter(|at| lo < *at && *at <= hi).min().map(|at| (*axis, (lo, at, hi)))
        });
        match edge {
            None => done.push(piece),
            Some((axis, (lo, at, hi))) => {
                for part in [(at, hi), (lo, at - 1)] {
                    open.push(points.restricted(&piece, axis, part));
                }
            }
        }
        if open.len() + done.len() > MOST {
            return None;
        }
    }
    let before = cells(points, clause);
    let done: Vec<Clause> = done.iter().filter_map(|piece| without_zeros(points, piece)).collect();
    let after: i128 = done.iter().map(|piece| cells(points, piece)).sum();
    (!done.is_empty() && after * LESS <= before).then_some(done)
}

/// The cells of a clause without those along its edges that are zero; nothing if all of them are.
fn without_zeros(points: &mut Points, clause: &Clause) -> Option<Clause> {
    let mut clause = clause.clone();
    if is_zero(points, clause.value) {
        return None;
    }
    let mut axis = 0;
    while axis < clause.slots.len() {
        let (lo, hi) = points.ixs[clause.slots[axis].ix].range;
        let conditions = decided(points, &clause);
        let edges = conditions.iter().flat_map(|it| edges(points, *it, &clause, axis));
        let mut edges: Vec<i128> = edges.filter(|at| lo < *at && *at <= hi).collect();
        edges.sort_unstable();
        edges.dedup();
        let mut cut = None;
        for at in edges.iter().copied().take(MOST) {
            let zero = |points: &mut Points, part| {
                let piece = points.restricted(&clause, axis, part);
                is_zero(points, piece.value)
            };
            let rest = match (zero(points, (at, hi)), zero(points, (lo, at - 1))) {
                (true, _) => (lo, at - 1),
                (_, true) => (at, hi),
                _ => continue,
            };
            cut = Some(points.restricted(&clause, axis, rest));
            break;
        }
        match cut {
            Some(smaller) => clause = smaller,
            None => axis += 1,
        }
    }
    Some(clause)
}

fn is_zero(points: &Points, node: Node) -> bool {
    match points.nodes[node].kind {
        Kind::Const(value) => value.as_f64() == 0.0 && value.as_f64().is_sign_positive(),
        _ => false,
    }
}

/// The comparisons that decide choices anywhere in the value of a clause; none if they are many.
fn decided(points: &Points, clause: &Clause) -> Vec<Node> {
    let mut found = Vec::new();
    for node in points.below(&[clause.value]) {
        if let Kind::Select(condition, ..) = points.nodes[node].kind {
            comparisons(points, condition, &mut found);
        }
    }
    found.sort_unstable();
    found.dedup();
    if found.len() <= CONDITIONS { found } else { Vec::new() }
}

/// A clause in pieces in which nothing is left to choose by a step.
fn pieces(points: &mut Points, arr: Arr, clause: &Clause, steps: &[Step]) -> Option<Vec<Clause>> {
    let whole = |slot: &crate::points::Slot| points.ixs[slot.ix].bounds.is_none();
    if clause.guard.is_some() || !clause.slots.iter().all(whole) {
        return None;
    }
    let (mut open, mut done) = (vec![clause.clone()], Vec::new());
    while let Some(piece) = open.pop() {
        let Some((axis, at)) = first_edge(points, arr, &piece, steps) else {
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

/// An axis of steps and the first position at which a choice between whole values, or whether an earlier cell
/// is read, changes along it.
fn first_edge(points: &Points, arr: Arr, clause: &Clause, steps: &[Step]) -> Option<(usize, i128)> {
    let mut conditions = Vec::new();
    choices(points, clause.value, &mut conditions);
    conditions.extend(reading(points, arr, clause));
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

/// The comparisons in the conditions under which a clause reads cells of its own array; none if it is long.
fn reading(points: &Points, arr: Arr, clause: &Clause) -> Vec<Node> {
    let (mut found, nodes) = (Vec::new(), points.below(&[clause.value]));
    for node in nodes.iter().filter(|_| nodes.len() <= LONG) {
        if let Kind::Select(condition, yes, no) = points.nodes[*node].kind
            && points.loads(&[yes, no]).iter().any(|(of, _)| *of == arr)
        {
            comparisons(points, condition, &mut found);
        }
    }
    found
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
