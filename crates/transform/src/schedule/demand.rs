//! Arrays of which others read only what lies between bounds of theirs are computed between these.
//!
//! Before:  `e[i, j in 0..n] = exp(s[i, j])`, `t[i] = sum(j in 0..i + 1) e[i, j]`
//! After:   `e[i, j in 0..i + 1] = exp(s[i, j])`: of what a mask leaves out nothing is computed
//!
//! What a definition leaves out is zero, but where nobody reads it nothing is written there ([`is_partial`]):
//! such a definition shares loops with others as if it filled its array.
//!
//! Needs: reads at indices whose bounds depend on nothing but the axes before them.
//! Refuses: results; what would have to be computed for other bounds as well; products of matrices, unless
//! little of them is read.
//!
//! Failures: a value that may fail is computed everywhere as before.

use super::contract::only_clause;
use super::tidy::as_contraction;
use crate::points::{Arr, Body, Clause, Def, Ix, Kind, Node, Points, Slot, Subst};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// So many times fewer cells are worth a row of cells that only the run knows the length of.
const FEWER: f64 = 1.25;

/// A product of matrices computes so many cells in the time of one by itself.
const PRODUCT: f64 = 8.0;

/// The bounds of an index.
type Bounds = (Node, Node);

/// Narrows what is defined to what is read.
pub(crate) fn run(points: &mut Points, wanted: &FxHashSet<Arr>) {
    if points.ixs.iter().all(|info| info.bounds.is_none()) {
        return;
    }
    // What reads a definition comes after it.
    let mut reads: FxHashMap<Arr, Vec<Read>> = FxHashMap::default();
    for at in (0..points.defs.len()).rev() {
        let def = points.defs[at].clone();
        let own = reads.get(&def.arr).map_or(&[][..], Vec::as_slice);
        if let Some(clause) = narrowed(points, &def, own).filter(|_| !wanted.contains(&def.arr)) {
            points.defs[at].body = Body::Clauses(vec![clause], None);
        }
        for (arr, read) in reads_in(points, &points.defs[at], |_| true) {
            reads.entry(arr).or_default().push(read);
        }
    }
}

/// The only clause of a definition between the bounds in which it is read, if that leaves enough out.
fn narrowed(points: &mut Points, def: &Def, reads: &[Read]) -> Option<Clause> {
    let shape = points.arrs[def.arr].shape.clone();
    let clause = only_clause(points, &def.body, &shape)?;
    if points.nodes[clause.value].traps {
        return None;
    }
    let least = if as_contraction(points, def).is_some() { PRODUCT } else { FEWER };
    let (axis, bounds) = (1..shape.len()).rev().find_map(|axis| {
        let bounds = demanded(points, clause, reads, axis)?;
        let few = points.trip_count(bounds.0, bounds.1) * least <= shape[axis] as f64;
        few.then_some((axis, bounds))
    })?;
    Some(between(points, clause, axis, bounds))
}

/// Whether a definition fills the first axes of its array whole and of the others as much as its readers
/// read: how many axes are whole.
pub(crate) fn is_partial(points: &Points, def: &Def, wanted: &FxHashSet<Arr>) -> Option<usize> {
    let Body::Clauses(clauses, None) = &def.body else { return None };
    let [clause] = clauses.as_slice() else { return None };
    let shape = &points.arrs[def.arr].shape;
    let open = |axis: &usize| !is_whole(points, &clause.slots[*axis], shape[*axis]);
    let open: Vec<usize> = (0..shape.len()).filter(open).collect();
    let first = open.first().copied().filter(|at| *at > 0)?;
    if clause.guard.is_some() || wanted.contains(&def.arr) {
        return None;
    }
    let reads = reads_of(points, def.arr);
    let read = |read: &Read, axis: usize| {
        let (slot, bounds) = (clause.slots[axis], read.bounds_at(points, axis));
        bounds.is_some_and(|(lo, hi)| {
            alike(points, clause, read, slot.lo, lo) && alike(points, clause, read, slot.hi, hi)
        })
    };
    let all = open.iter().all(|axis| reads.iter().all(|it| read(it, *axis)));
    (!reads.is_empty() && all).then_some(first)
}

fn is_whole(points: &Points, slot: &Slot, extent: i64) -> bool {
    points.as_int(slot.lo) == Some(0) && points.as_int(slot.hi) == Some(extent)
}

/// A read of an array, with the bounds of the indices where it stands.
struct Read {
    at: Box<[Node]>,
    bounds: Rc<FxHashMap<Ix, Option<Bounds>>>,
}

impl Read {
    /// The bounds of its position along an axis, if that is an index.
    fn bounds_at(&self, points: &Points, axis: usize) -> Option<Bounds> {
        match points.nodes[self.at[axis]].kind {
            Kind::Index(ix) => self.bounds.get(&ix).copied().flatten(),
            _ => None,
        }
    }
}

/// All reads of an array.
fn reads_of(points: &Points, arr: Arr) -> Vec<Read> {
    let in_def = |def: &Def| reads_in(points, def, |of| of == arr);
    points.defs.iter().flat_map(in_def).map(|(_, read)| read).collect()
}

/// The reads of some arrays in a definition.
fn reads_in(points: &Points, def: &Def, asked: impl Fn(Arr) -> bool) -> Vec<(Arr, Read)> {
    let roots = points.roots(def);
    let mut loads = points.loads(&roots);
    loads.retain(|(of, _)| asked(*of));
    if loads.is_empty() {
        return Vec::new();
    }
    let bounds = Rc::new(bounds_in(points, def, &roots));
    loads.into_iter().map(|(of, at)| (of, Read { at, bounds: Rc::clone(&bounds) })).collect()
}

/// The bounds of the indices of a definition; nothing for one that has several.
fn bounds_in(points: &Points, def: &Def, roots: &[Node]) -> FxHashMap<Ix, Option<Bounds>> {
    let mut all: FxHashMap<Ix, Option<Bounds>> = FxHashMap::default();
    let mut add = |ix: Ix, bounds: Bounds| {
        let known = all.entry(ix).or_insert(Some(bounds));
        if *known != Some(bounds) {
            *known = None;
        }
    };
    if let Body::Clauses(clauses, None) = &def.body {
        let slots = clauses.iter().flat_map(|clause| &clause.slots);
        slots.for_each(|slot| add(slot.ix, (slot.lo, slot.hi)));
    }
    for node in points.below(roots) {
        if let Kind::Reduce(reduction) = &points.nodes[node].kind {
            reduction.binders.iter().for_each(|(ix, lo, hi)| add(*ix, (*lo, *hi)));
        }
    }
    all
}

/// The bounds that all reads have along an axis of an array, over the indices of its clause before it.
fn demanded(points: &mut Points, clause: &Clause, reads: &[Read], axis: usize) -> Option<Bounds> {
    let first = reads.first()?;
    let (lo, hi) = first.bounds_at(points, axis)?;
    let mut names = Vec::new();
    for (slot, at) in clause.slots[..axis].iter().zip(&first.at) {
        if let Kind::Index(ix) = points.nodes[*at].kind {
            names.push((ix, points.index(slot.ix)));
        }
    }
    let known =
        |node: Node| points.nodes[node].free.iter().all(|ix| names.iter().any(|(it, _)| it == ix));
    let open = [lo, hi].iter().any(|node| !points.nodes[*node].free.is_empty());
    if !open || !known(lo) || !known(hi) {
        return None;
    }
    let mut own = Subst::new(names);
    let (lo, hi) = (own.apply(points, lo), own.apply(points, hi));
    let all = reads.iter().all(|read| {
        read.bounds_at(points, axis).is_some_and(|(first, end)| {
            alike(points, clause, read, lo, first) && alike(points, clause, read, hi, end)
        })
    });
    all.then_some((lo, hi))
}

/// Whether a bound over the indices of a clause is a bound of a read of its array.
fn alike(points: &Points, clause: &Clause, read: &Read, own: Node, other: Node) -> bool {
    let same = |own: Node, other: Node| alike(points, clause, read, own, other);
    match (&points.nodes[own].kind, &points.nodes[other].kind) {
        (Kind::Index(ix), _) => {
            let axis = clause.slots.iter().position(|slot| slot.ix == *ix);
            axis.is_some_and(|axis| read.at[axis] == other)
        }
        (Kind::Binary(op, a, b), Kind::Binary(other, c, d)) => {
            op == other && same(*a, *c) && same(*b, *d)
        }
        (Kind::Cast(a), Kind::Cast(b)) => {
            points.nodes[own].ty == points.nodes[other].ty && same(*a, *b)
        }
        (Kind::Load(arr, at), Kind::Load(other, there)) => {
            arr == other && at.iter().zip(there).all(|(own, other)| same(*own, *other))
        }
        _ => own == other,
    }
}

/// A clause that covers its array, between bounds along an axis.
fn between(points: &mut Points, clause: &Clause, axis: usize, (lo, hi): Bounds) -> Clause {
    let mut clause = clause.clone();
    let info = points.ixs[clause.slots[axis].ix].clone();
    let ix = points.fresh_between(info.name, info.range, lo, hi);
    let index = points.index(ix);
    clause.value = Subst::one(clause.slots[axis].ix, index).apply(points, clause.value);
    clause.slots[axis] = Slot { ix, lo, hi };
    clause
}
