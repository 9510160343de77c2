//! Recognising contractions: sums of products of two arrays that are matrix products after
//! renaming, with batches, transposes and strides.

use crate::points::{Arr, Body, Clause, Ix, Kind, Node, Points, Slot};
use ein_ir::tensor::ReduceOp;
use ein_scalar::BinaryOp;

/// Products with fewer multiplications per matrix are left to plain loops.
const LEAST_WORK: i64 = 8192;

/// Results of at most so many cells are kept in registers while sums of at least so many terms run.
const IN_REGISTERS: (i64, i64) = (16, 4096);

/// A sum over `k` of `a[batch, m, k] * b[batch, k, n]`.
#[derive(Clone, Debug)]
pub struct Contraction {
    /// Axes of the result that both operands have, by number.
    pub batch: Vec<usize>,
    /// Axes of the result that only the left operand has.
    pub m: Vec<usize>,
    /// Axes of the result that only the right operand has.
    pub n: Vec<usize>,
    /// The indices that are summed over, with their bounds.
    pub k: Vec<(Ix, i64, i64)>,
    /// The slots of the result.
    pub slots: Vec<Slot>,
    /// The left operand and its positions.
    pub a: (Arr, Box<[Node]>),
    /// The right operand and its positions.
    pub b: (Arr, Box<[Node]>),
}

/// The contraction that a definition is.
pub fn recognise(points: &Points, clauses: &[Clause], shape: &[i64]) -> Option<Contraction> {
    let [clause] = clauses else { return None };
    if clause.guard.is_some() || !covers(points, &clause.slots, shape) {
        return None;
    }
    let value = clause.value;
    contraction(points, value, &clause.slots)
}

/// The contraction that a clause of constant bounds is, whatever part of its array it covers.
pub fn of_clause(points: &Points, clause: &Clause) -> Option<Contraction> {
    let whole = |slot: &Slot| {
        let (lo, hi) = points.ixs[slot.ix].range;
        let ends = points.as_int(slot.lo).zip(points.as_int(slot.hi));
        ends.is_some_and(|(first, end)| (first.into(), i128::from(end) - 1) == (lo, hi))
    };
    let known = clause.guard.is_none() && clause.slots.iter().all(whole);
    contraction(points, clause.value, &clause.slots).filter(|_| known)
}

/// The contraction that a reduction is, over these slots.
pub fn contraction(points: &Points, value: Node, slots: &[Slot]) -> Option<Contraction> {
    let Kind::Reduce(reduction) = &points.nodes[value].kind else { return None };
    if reduction.op != ReduceOp::Sum || reduction.guard.is_some() {
        return None;
    }
    let ty = points.nodes[value].ty;
    if !matches!(ty, ein_scalar::ScalarType::F32 | ein_scalar::ScalarType::F64) {
        return None;
    }
    let Kind::Binary(BinaryOp::Mul, left, right) = points.nodes[reduction.body].kind else {
        return None;
    };
    let (Kind::Load(a, at_a), Kind::Load(b, at_b)) =
        (&points.nodes[left].kind, &points.nodes[right].kind)
    else {
        return None;
    };
    if points.arrs[*a].ty != ty || points.arrs[*b].ty != ty {
        return None;
    }
    let mut k = Vec::new();
    for (ix, lo, hi) in &reduction.binders {
        k.push((*ix, points.as_int(*lo)?, points.as_int(*hi)?));
    }
    let all: Vec<Ix> = slots.iter().map(|slot| slot.ix).chain(k.iter().map(|k| k.0)).collect();
    if !is_affine(points, at_a, &all) || !is_affine(points, at_b, &all) {
        return None;
    }
    let mut found = Contraction {
        batch: Vec::new(),
        m: Vec::new(),
        n: Vec::new(),
        k: k.clone(),
        slots: slots.to_vec(),
        a: (*a, at_a.clone()),
        b: (*b, at_b.clone()),
    };
    for (axis, slot) in slots.iter().enumerate() {
        // An index with one value is in neither.
        let fixed = points.ixs[slot.ix].range.0 == points.ixs[slot.ix].range.1;
        match (mentions(points, at_a, slot.ix), mentions(points, at_b, slot.ix)) {
            (true, true) => found.batch.push(axis),
            (true, false) => found.m.push(axis),
            (false, true) => found.n.push(axis),
            (false, false) if fixed => found.batch.push(axis),
            (false, false) => return None,
        }
    }
    let both = |ix: &Ix| mentions(points, at_a, *ix) && mentions(points, at_b, *ix);
    let single = |ix: &Ix| points.ixs[*ix].range.0 == points.ixs[*ix].range.1;
    if !k.iter().all(|(ix, ..)| both(ix) || single(ix)) {
        return None;
    }
    let count =
        |axes: &[usize]| -> i64 { axes.iter().map(|axis| found.extent(points, *axis)).product() };
    let (m, n) = (count(&found.m), count(&found.n));
    let depth: i64 = k.iter().map(|(_, lo, hi)| hi - lo).product();
    if m * n <= IN_REGISTERS.0 && depth >= IN_REGISTERS.1 {
        return None;
    }
    let worth = m >= 4 && n >= 4 && depth >= 4 && m * n * depth >= LEAST_WORK;
    worth.then_some(found)
}

impl Contraction {
    /// The extent of an axis of the result.
    pub fn extent(&self, points: &Points, axis: usize) -> i64 {
        let (lo, hi) = points.ixs[self.slots[axis].ix].range;
        (hi - lo + 1) as i64
    }
}

/// Whether slots cover all of a shape, each with its whole axis.
pub fn covers(points: &Points, slots: &[Slot], shape: &[i64]) -> bool {
    slots.len() == shape.len()
        && slots.iter().zip(shape).all(|(slot, extent)| {
            points.as_int(slot.lo) == Some(0) && points.as_int(slot.hi) == Some(*extent)
        })
}

fn mentions(points: &Points, at: &[Node], ix: Ix) -> bool {
    at.iter().any(|node| points.depends(*node, ix))
}

fn is_affine(points: &Points, at: &[Node], ixs: &[Ix]) -> bool {
    at.iter().all(|node| ixs.iter().all(|ix| points.factor(*node, *ix).is_some()))
}

/// The one clause of a definition without recurrence, if it covers everything and has no guard.
pub fn only_clause<'a>(points: &Points, body: &'a Body, shape: &[i64]) -> Option<&'a Clause> {
    match body {
        Body::Clauses(clauses, None) => match clauses.as_slice() {
            [clause] if clause.guard.is_none() && covers(points, &clause.slots, shape) => {
                Some(clause)
            }
            _ => None,
        },
        _ => None,
    }
}
