//! What several definitions compute is computed once.
//!
//! Before:  `e[i] = exp(x[i] - max(j) x[j])`, `m = max(j) x[j]`, `f[i] = exp(x[i] - m)`
//! After:   `m = max(j) x[j]`, `e[i] = exp(x[i] - m)`, and what read `f` reads `e`
//!
//! * A definition that says the same of its cells as an earlier one, or of cells a fixed distance away, is
//!   that one; a copy is what it copies, and where all cells are one number, that number is what is read.
//!   What is as cheap as to read it stays by itself, and counts as the same in what is made of it.
//! * A definition that says of its cells what a clause of a recurrence says of its own, a fixed number
//!   of steps away, reads them: derivatives through a function that was called in every step ask for
//!   what it computed.
//! * A reduction that several definitions hold is stored before the first of them.
//!
//! Needs: equal nodes to be one node.
//! Refuses: definitions with conditions; reductions that are cheap, or for more cells than are worth
//! storing, or that may fail: under a condition they would be an alarm.
//!
//! Failures: an operation that may fail is left out only where an equal one stays.

use super::before::Before;
use super::tidy::substitute;
use crate::points::{Arr, Body, Clause, Def, Ix, Kind, Node, Points, Slot, Subst};
use ein_base::Symbol;
use ein_scalar::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// Reductions of fewer operations are as well computed again.
const DEAR: f64 = 32.0;

/// The most cells that are stored for a reduction.
const CELLS: i128 = 1 << 24;

/// How often definitions are looked at again after some of them have become others.
const ROUNDS: usize = 8;

/// Shares what definitions have in common.
pub(crate) fn run(points: &mut Points) {
    if points.defs.len() < 2 {
        return;
    }
    let mut axes = Axes::default();
    for _ in 0..ROUNDS {
        let merged = merge(points, &mut axes);
        let stored = store(points, &mut axes);
        if !merged && !stored {
            return;
        }
    }
}

/// Indices that stand for those of definitions, so that equal values are equal nodes.
#[derive(Default)]
struct Axes(FxHashMap<(usize, i128, i128), Ix>);

impl Axes {
    /// A value over these indices, by number, each counted from its first.
    fn based(&mut self, points: &mut Points, ixs: &[Ix], value: Node) -> Node {
        let mut names = Vec::with_capacity(ixs.len());
        for (axis, ix) in ixs.iter().enumerate() {
            let (lo, hi) = points.ixs[*ix].range;
            let fresh = || points.fresh(Symbol::intern("i"), (0, hi - lo));
            let known = *self.0.entry((axis, 0, hi - lo)).or_insert_with(fresh);
            names.push((*ix, shifted(points, known, lo)));
        }
        Subst::new(names).apply(points, value)
    }

    /// A value over these indices, by number.
    fn value(&mut self, points: &mut Points, ixs: &[Ix], value: Node) -> Node {
        let mut names = Vec::with_capacity(ixs.len());
        for (axis, ix) in ixs.iter().enumerate() {
            let range = points.ixs[*ix].range;
            let fresh = || points.fresh(Symbol::intern("i"), range);
            let known = *self.0.entry((axis, range.0, range.1)).or_insert_with(fresh);
            names.push((*ix, points.index(known)));
        }
        Subst::new(names).apply(points, value)
    }
}

/// Makes definitions that say the same one; whether there were any.
fn merge(points: &mut Points, axes: &mut Axes) -> bool {
    // By extents and values, with the first index along each axis.
    let mut known: FxHashMap<(Vec<i128>, Node), (Arr, Vec<i128>)> = FxHashMap::default();
    // What is as cheap as to read it stays, but what is made of it may be dear.
    let mut alike: FxHashMap<Arr, (Vec<Ix>, Node)> = FxHashMap::default();
    let mut changed = false;
    for at in 0..points.defs.len() {
        let def = points.defs[at].clone();
        let Some(clause) = plain_clause(points, &def.body) else { continue };
        let constant = matches!(points.nodes[clause.value].kind, Kind::Const(_));
        if constant || is_copy(points, &clause) {
            changed |= instead(points, at, &clause, clause.value);
            continue;
        }
        let cheap = is_cheap(points, clause.value);
        if !cheap && let Some(read) = step_of(points, at, &clause) {
            instead(points, at, &clause, read);
            changed = true;
            continue;
        }
        let ixs: Vec<Ix> = clause.slots.iter().map(|slot| slot.ix).collect();
        let ranges: Vec<(i128, i128)> = ixs.iter().map(|ix| points.ixs[*ix].range).collect();
        let extents: Vec<i128> = ranges.iter().map(|(lo, hi)| hi - lo).collect();
        let value = match alike.is_empty() {
            true => clause.value,
            false => Subst::cells(alike.clone()).apply(points, clause.value),
        };
        let value = axes.based(points, &ixs, value);
        match known.get(&(extents.clone(), value)).cloned() {
            Some((first, starts)) if cheap => {
                let here = ixs.iter().map(|ix| points.index(*ix)).collect::<Vec<Node>>();
                let same = points.arrs[first].shape == points.arrs[def.arr].shape;
                if same && ranges.iter().zip(&starts).all(|((lo, _), start)| lo == start) {
                    let read = points.load(first, &here);
                    alike.insert(def.arr, (ixs, read));
                }
            }
            Some((first, starts)) => {
                let steps = ranges.iter().zip(&starts).map(|((lo, _), start)| start - lo);
                let steps: Vec<i128> = steps.collect();
                let here: Vec<Node> =
                    ixs.iter().zip(steps).map(|(ix, by)| shifted(points, *ix, by)).collect();
                let read = points.load(first, &here);
                instead(points, at, &clause, read);
                changed = true;
            }
            None => {
                let starts = ranges.iter().map(|(lo, _)| *lo).collect();
                known.insert((extents, value), (def.arr, starts));
            }
        }
    }
    changed
}

/// Whether the cells of a clause are those of another array at the same places.
fn is_copy(points: &Points, clause: &Clause) -> bool {
    let Kind::Load(_, at) = &points.nodes[clause.value].kind else { return false };
    let here = |(at, slot): (&Node, &Slot)| points.nodes[*at].kind == Kind::Index(slot.ix);
    at.len() == clause.slots.len() && at.iter().zip(&clause.slots).all(here)
}

/// What is about as cheap as to read it.
pub(super) fn is_cheap(points: &Points, value: Node) -> bool {
    points.nodes[value].cost <= 4.0 && !points.nodes[value].traps
}

/// The only clause of a definition that is no recurrence, if it has no condition and its cells are known.
pub(super) fn plain_clause(points: &Points, body: &Body) -> Option<Clause> {
    let Body::Clauses(clauses, None) = body else { return None };
    let [clause] = clauses.as_slice() else { return None };
    let known = |slot: &Slot| points.ixs[slot.ix].bounds.is_none();
    (clause.guard.is_none() && clause.slots.iter().all(known)).then(|| clause.clone())
}

/// Makes a definition a copy, and lets those that read it read what it is a copy of; whether any did.
pub(super) fn instead(points: &mut Points, at: usize, clause: &Clause, read: Node) -> bool {
    let arr = points.defs[at].arr;
    let shape = points.arrs[arr].shape.clone();
    let whole = super::contract::covers(points, &clause.slots, &shape);
    let ixs: Vec<Ix> = clause.slots.iter().map(|slot| slot.ix).collect();
    let cell = FxHashMap::from_iter([(arr, (ixs, read))]);
    let mut changed = false;
    for reader in at + 1..points.defs.len() {
        let roots = points.roots(&points.defs[reader]);
        let loads = points.loads(&roots);
        let mut reads = loads.iter().filter(|(of, _)| *of == arr).peekable();
        let reaches = reads.peek().is_some();
        // Cells that the clause does not cover are zero.
        if reaches && (whole || reads.all(|(_, at)| inside(points, clause, at))) {
            substitute(points, reader, &mut Subst::cells(cell.clone()));
            changed = true;
        }
    }
    let value = Clause { value: read, ..clause.clone() };
    points.defs[at].body = Body::Clauses(vec![value], None);
    changed
}

/// Whether positions are among those that a clause covers.
pub(super) fn inside(points: &Points, clause: &Clause, at: &[Node]) -> bool {
    clause.slots.iter().zip(at).all(|(slot, at)| {
        let (lo, hi) = points.ixs[slot.ix].range;
        points.nodes[*at].range.is_some_and(|(first, last)| lo <= first && last <= hi)
    })
}

/// The cells of an earlier recurrence that a clause computes again.
fn step_of(points: &mut Points, at: usize, clause: &Clause) -> Option<Node> {
    let loads = points.loads(&[clause.value]);
    let mut seen = FxHashSet::default();
    for (arr, _) in loads {
        let Some(def) = points.def_of(arr).filter(|def| *def < at && seen.insert(*def)) else {
            continue;
        };
        let Body::Clauses(clauses, Some(_)) = points.defs[def].body.clone() else { continue };
        for (number, other) in clauses.iter().enumerate() {
            if let Some(read) = cells_of(points, arr, other, &clauses[number + 1..], clause) {
                return Some(read);
            }
        }
    }
    None
}

/// The cells of a clause of an array that another clause computes again, some steps away.
fn cells_of(
    points: &mut Points,
    arr: Arr,
    of: &Clause,
    later: &[Clause],
    clause: &Clause,
) -> Option<Node> {
    let known = |slot: &Slot| points.ixs[slot.ix].bounds.is_none();
    let alike = of.guard.is_none()
        && of.slots.len() == clause.slots.len()
        && of.slots.iter().all(known)
        && points.nodes[of.value].ty == points.nodes[clause.value].ty;
    if !alike {
        return None;
    }
    let range = |slot: &Slot| points.ixs[slot.ix].range;
    let pairs = || clause.slots.iter().zip(&of.slots);
    let shifts: Vec<i128> = pairs().map(|(here, there)| range(there).0 - range(here).0).collect();
    let fits = pairs().zip(&shifts).all(|((here, there), by)| range(here).1 + by <= range(there).1);
    // A later clause may replace some of the cells.
    let apart = |other: &Clause| {
        let mut sides = other.slots.iter().zip(&of.slots);
        sides.any(|(a, b)| range(a).1 < range(b).0 || range(b).1 < range(a).0)
    };
    if !fits || !later.iter().all(apart) {
        return None;
    }
    let mut names = Vec::new();
    let mut here = Vec::new();
    for ((slot, there), by) in clause.slots.iter().zip(&of.slots).zip(&shifts) {
        names.push((slot.ix, shifted(points, there.ix, -by)));
        here.push(shifted(points, slot.ix, *by));
    }
    let value = Subst::new(names).apply(points, clause.value);
    (value == of.value).then(|| points.load(arr, &here))
}

/// An index plus a constant.
fn shifted(points: &mut Points, ix: Ix, by: i128) -> Node {
    let (index, by) = (points.index(ix), points.int(by as i64));
    points.binary(BinaryOp::Add, index, by, None)
}

/// Where a reduction stands: the definition, the reduction itself, and the indices of the definition
/// that it mentions.
type Place = (usize, Node, Vec<Ix>);

/// Stores the reductions that several definitions hold; whether there were any.
fn store(points: &mut Points, axes: &mut Axes) -> bool {
    let mut places: FxHashMap<Node, Vec<Place>> = FxHashMap::default();
    let mut order: Vec<Node> = Vec::new();
    for at in 0..points.defs.len() {
        let Some(clause) = plain_clause(points, &points.defs[at].body) else { continue };
        for (node, ixs) in reductions(points, &clause) {
            let value = axes.value(points, &ixs, node);
            let known = places.entry(value).or_insert_with(|| {
                order.push(value);
                Vec::new()
            });
            known.push((at, node, ixs));
        }
    }
    order.retain(|value| places[value].iter().any(|(at, ..)| *at != places[value][0].0));
    // The dearest first: what is inside of it is then held once.
    order.sort_by(|a, b| points.nodes[*b].cost.total_cmp(&points.nodes[*a].cost));
    let mut made: Vec<(usize, Def)> = Vec::new();
    for value in order {
        made.extend(store_one(points, &places[&value]));
    }
    let changed = !made.is_empty();
    made.sort_by_key(|(at, _)| *at);
    for (at, def) in made.into_iter().rev() {
        points.defs.insert(at, def);
    }
    points.renumber();
    changed
}

/// Stores a reduction before the first of the definitions that hold it, and reads it in all of them: the
/// new definitions and where they stand.
fn store_one(points: &mut Points, places: &[Place]) -> Vec<(usize, Def)> {
    let (first, node, ixs) = &places[0];
    let mut before = Before::new(&points.defs[*first]);
    let read = before.stored(points, *node, ixs);
    let Kind::Load(arr, _) = points.nodes[read].kind else { return Vec::new() };
    let mut readers = 0;
    for (at, node, ixs) in places {
        let roots = points.roots(&points.defs[*at]);
        if !points.below(&roots).contains(node) {
            continue;
        }
        let starts: Vec<i128> = ixs.iter().map(|ix| points.ixs[*ix].range.0).collect();
        let here: Vec<Node> =
            ixs.iter().zip(starts).map(|(ix, lo)| shifted(points, *ix, -lo)).collect();
        let read = points.load(arr, &here);
        substitute(points, *at, &mut Subst::nodes(FxHashMap::from_iter([(*node, read)])));
        readers += 1;
    }
    if readers == 0 {
        return Vec::new();
    }
    before.take().into_iter().map(|def| (*first, def)).collect()
}

/// The reductions of a clause that are worth storing, each with the indices of the clause that it mentions.
fn reductions(points: &Points, clause: &Clause) -> Vec<(Node, Vec<Ix>)> {
    let mut found = Vec::new();
    for node in points.below(&[clause.value]) {
        let info = &points.nodes[node];
        let slots = clause.slots.iter().map(|slot| slot.ix);
        let ixs: Vec<Ix> = slots.filter(|ix| info.free.contains(ix)).collect();
        let cells = ixs.iter().map(|ix| {
            let (lo, hi) = points.ixs[*ix].range;
            (hi - lo + 1).max(1)
        });
        let worth = matches!(info.kind, Kind::Reduce(_))
            && info.cost >= DEAR
            && !info.traps
            && ixs.len() == info.free.len()
            && cells.product::<i128>() <= CELLS;
        if worth {
            found.push((node, ixs));
        }
    }
    found
}
