//! Reductions that loops around them would compute again and again.
//!
//! Before:  `y[i] = sum(k) x[i, k] * tanh(sum(l) b[k, l])`
//! After:   `t[k] = tanh(sum(l) b[k, l])`, `y[i] = sum(k) x[i, k] * t[k]`
//!
//! A value is written before the innermost loop that it does not mention (see [`super::emit`]); that
//! is of no use where a loop further out is the one it does not mention. Such a reduction is stored
//! for all values of the indices that it does mention, with the elementary functions applied to it.
//!
//! A reduction for each term of a long one, `min(k) sum(d) (x[i, d] - c[k, d])²`, is stored as well: no loop
//! can stand in a loop in vectors, and the definitions share the loops around.
//!
//! In a recurrence, what reads earlier steps or belongs to a step is stored in every step
//! ([`super::recur`]); what does not is stored before the first one.
//!
//! Failures: what may fail is moved only out of loops that surely have points, and not out of
//! conditions; stored for points that the program never reads, it would be an alarm and not a loss.

use super::before::Before;
use super::node_cost;
use crate::points::reduction::without_only_points;
use crate::points::{Body, Clause, Ix, Kind, Node, Points, Step, Subst};
use ein_scalar::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// Operations from which storing a result is cheaper than computing it this many times.
const DEAR: f64 = 8.0;
const TIMES: f64 = 4.0;

/// So many terms of a reduction are worth a row of what is a reduction in each of them.
const LONG: i128 = 16;

/// The most cells that are stored.
const CELLS: i128 = 1 << 24;

/// The most parts of one clause that are stored.
const PARTS: usize = crate::flatten::MAX_PARTS;

/// Stores what definitions repeat, as far as it belongs to no step of a recurrence.
pub(crate) fn run(points: &mut Points) {
    let mut defs = Vec::with_capacity(points.defs.len());
    for mut def in std::mem::take(&mut points.defs) {
        let mut before = Before::new(&def);
        let arr = def.arr;
        let (clauses, steps) = match &mut def.body {
            Body::Clauses(clauses, steps) => {
                (clauses.as_mut_slice(), steps.as_deref().unwrap_or(&[]))
            }
            Body::Until(body) => (body.clauses.as_mut_slice(), body.steps.as_slice()),
            Body::Scatter(_) | Body::InPlace(_) | Body::Again(_) => (&mut [][..], &[][..]),
        };
        for clause in clauses {
            if steps.is_empty() && clause.guard.is_none() {
                store_rows(points, &mut before, clause);
            }
            let (loops, ordered) = loops_of(clause, steps);
            let fits = |points: &Points, node: Node| {
                !ordered.iter().any(|ix| points.depends(node, *ix))
                    && points.loads(&[node]).iter().all(|(of, _)| *of != arr)
            };
            store_repeated(points, &mut before, clause, (&loops, &[]), fits);
            if steps.is_empty() || !repeats_in_step(points, clause, steps) {
                clause.value = without_only_points(points, clause.value, true);
            }
        }
        defs.append(&mut before.take());
        defs.push(def);
    }
    points.defs = defs;
}

/// Stores the reductions that are the same for all cells of a row: definitions that the program gives them
/// and those that it does not are one form, and share their loops with what reads them.
fn store_rows(points: &mut Points, before: &mut Before, clause: &mut Clause) {
    let mut instead = FxHashMap::default();
    let slots: Vec<Ix> = clause.slots.iter().map(|slot| slot.ix).collect();
    let extent = |points: &Points, ix: &Ix| {
        let (lo, hi) = points.ixs[*ix].range;
        hi - lo + 1
    };
    // What is inside of others first, so that they read it.
    let mut nodes = always(points, clause.value);
    nodes.sort_by(|a, b| points.nodes[*a].cost.total_cmp(&points.nodes[*b].cost));
    for node in nodes {
        let free = points.nodes[node].free.clone();
        let Some(last) = slots.iter().rposition(|ix| free.contains(ix)) else { continue };
        let (ixs, row) = slots.split_at(last + 1);
        let cells: i128 = ixs.iter().map(|ix| extent(points, ix)).product();
        let times: i128 = row.iter().map(|ix| extent(points, ix)).product();
        let known = slots.iter().all(|ix| points.ixs[*ix].bounds.is_none());
        let all = ixs.len() == free.len() && ixs.iter().all(|ix| free.contains(ix));
        let dear = node_cost(points, node) >= DEAR;
        if known && all && dear && times as f64 >= TIMES && cells <= CELLS {
            let value = Subst::nodes(instead.clone()).apply(points, node);
            let read = before.stored(points, value, ixs);
            instead.insert(node, read);
        }
    }
    if !instead.is_empty() {
        clause.value = Subst::nodes(instead).apply(points, clause.value);
    }
}

/// The outermost reductions of a value that no choice leaves out.
fn always(points: &Points, value: Node) -> Vec<Node> {
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    let mut left = vec![value];
    while let Some(node) = left.pop() {
        if !points.nodes[node].reduces || !seen.insert(node) {
            continue;
        }
        match points.nodes[node].kind {
            Kind::Reduce(_) => found.push(node),
            Kind::Select(cond, ..) => left.push(cond),
            _ => points.each_child(node, &mut |child| left.push(child)),
        }
    }
    found
}

/// The indices of a clause in the order of its loops, and those of the steps among them.
pub(crate) fn loops_of(clause: &Clause, steps: &[Step]) -> (Vec<Ix>, Vec<Ix>) {
    let is_step = |axis: usize| steps.iter().any(|step| step.axis == axis);
    let ordered: Vec<Ix> = steps.iter().map(|step| clause.slots[step.axis].ix).collect();
    let inner = clause.slots.iter().enumerate().filter(|(axis, _)| !is_step(*axis));
    let loops = ordered.iter().copied().chain(inner.map(|(_, slot)| slot.ix)).collect();
    (loops, ordered)
}

/// Stores what the loops of a clause repeat, and reads it there.
pub(crate) fn store_repeated(
    points: &mut Points,
    before: &mut Before,
    clause: &mut Clause,
    (loops, given): (&[Ix], &[Ix]),
    fits: impl Fn(&Points, Node) -> bool,
) {
    for _ in 0..PARTS {
        let Some(found) = repeated(points, clause, (loops, given), &fits) else { return };
        let node = found.node;
        let free = points.nodes[node].free.iter().copied();
        let ixs: Vec<Ix> = free.filter(|ix| found.over.contains(ix)).collect();
        let read = before
            .known(points, node, &ixs)
            .unwrap_or_else(|| before.stored_between(points, node, &ixs));
        let instead = FxHashMap::from_iter([(node, read)]);
        let value = Subst::nodes(instead).apply(points, clause.value);
        clause.value = without_only_points(points, value, false);
    }
}

/// Reads what is stored already instead of computing it again.
pub(crate) fn read_stored(
    points: &mut Points,
    before: &mut Before,
    clause: &mut Clause,
    given: &[Ix],
) {
    let mut instead = FxHashMap::default();
    for node in points.below(&[clause.value]) {
        if !points.nodes[node].reduces {
            continue;
        }
        let free = points.nodes[node].free.iter().copied();
        let ixs: Vec<Ix> = free.filter(|ix| !given.contains(ix)).collect();
        if let Some(read) = before.known(points, node, &ixs) {
            instead.insert(node, read);
        }
    }
    if !instead.is_empty() {
        clause.value = Subst::nodes(instead).apply(points, clause.value);
    }
}

/// Whether the cells of a step of a recurrence compute something again and again.
pub(crate) fn repeats_in_step(points: &Points, clause: &Clause, steps: &[Step]) -> bool {
    let (loops, ordered) = loops_of(clause, steps);
    repeated(points, clause, (&loops[ordered.len()..], &ordered), &|_, _| true).is_some()
}

/// A part of a clause that its loops repeat; other indices are `given`.
fn repeated(
    points: &Points,
    clause: &Clause,
    (loops, given): (&[Ix], &[Ix]),
    fits: &dyn Fn(&Points, Node) -> bool,
) -> Option<Found> {
    let (around, conditional) = (loops.to_vec(), clause.guard.is_some());
    let outer = loops.len();
    Search { points, fits, around, outer, given, conditional, seen: FxHashSet::default() }
        .in_value(clause.value)
}

/// A part of a value that is worth storing.
struct Found {
    node: Node,
    /// The indices of the loops around it.
    over: Vec<Ix>,
    /// Whether what is around it may mention no more indices, and belong to it.
    grows: bool,
}

/// Looks for a reduction that loops repeat, innermost first.
struct Search<'a> {
    points: &'a Points,
    fits: &'a dyn Fn(&Points, Node) -> bool,
    /// The indices of the loops around, outermost first.
    around: Vec<Ix>,
    /// How many of them are loops of the clause; others are those of reductions.
    outer: usize,
    /// Indices that have a value wherever the part is stored.
    given: &'a [Ix],
    /// Whether some of the points of these loops are left out.
    conditional: bool,
    seen: FxHashSet<Node>,
}

impl Search<'_> {
    fn in_value(&mut self, node: Node) -> Option<Found> {
        if !self.points.nodes[node].reduces || !self.seen.insert(node) {
            return None;
        }
        let (depth, outside) = (self.around.len(), self.conditional);
        if let Kind::Reduce(reduction) = &self.points.nodes[node].kind {
            self.around.extend(reduction.binders.iter().map(|(ix, ..)| *ix));
            self.conditional |= reduction.guard.is_some();
        }
        let mut children = Vec::new();
        self.points.each_child(node, &mut |child| children.push(child));
        let inside = children.iter().find_map(|child| Some((*child, self.in_value(*child)?)));
        self.around.truncate(depth);
        self.conditional = outside;
        match inside {
            Some((child, found)) => {
                // Reductions beside it may be the same for more cells: each is stored by itself.
                let alone = |other: &Node| *other == child || !self.points.nodes[*other].reduces;
                let alone = children.iter().all(alone);
                Some(self.with(Found { grows: found.grows && alone, ..found }, node))
            }
            None => self.is_repeated(node).then(|| Found {
                node,
                over: self.around.clone(),
                grows: true,
            }),
        }
    }

    /// What was found, or what is computed from it alone at some expense.
    fn with(&self, mut found: Found, around: Node) -> Found {
        let (inner, outer) = (&self.points.nodes[found.node], &self.points.nodes[around]);
        found.grows &= inner.free == outer.free && !matches!(outer.kind, Kind::Reduce(_));
        let dear = match outer.kind {
            Kind::Unary(..) => outer.cost - inner.cost >= DEAR / 2.0,
            Kind::Binary(op, ..) => matches!(op, BinaryOp::Div | BinaryOp::Pow),
            _ => false,
        };
        if found.grows && dear && (self.fits)(self.points, around) {
            found.node = around;
        }
        found
    }

    /// Whether the bounds of an index are those of indices that have a value wherever a part is stored.
    fn known_there(&self, ix: Ix) -> bool {
        let info = &self.points.ixs[ix];
        let given = |node: Node| {
            let plain = self.points.loads(&[node]).is_empty() && !self.points.nodes[node].reduces;
            plain && self.points.nodes[node].free.iter().all(|it| self.given.contains(it))
        };
        info.range.0 >= 0
            && info.range.1 >= info.range.0
            && info.bounds.is_some_and(|(lo, hi)| given(lo) && given(hi))
    }

    /// Whether a reduction is computed again for values of an index that it does not mention, or for each
    /// term of a long one.
    fn is_repeated(&self, node: Node) -> bool {
        let info = &self.points.nodes[node];
        let dear = matches!(info.kind, Kind::Reduce(_)) && node_cost(self.points, node) >= DEAR;
        let Some(last) = self.around.iter().rposition(|ix| self.points.depends(node, *ix)) else {
            return false;
        };
        let (mut times, mut cells, mut terms) = (1.0, 1, 1);
        for (at, ix) in self.around[..=last].iter().enumerate() {
            let (lo, hi) = self.points.ixs[*ix].range;
            let extent = hi - lo + 1;
            // What is stored is stored for all points of the loops, so these must be known: at the latest
            // where it is stored, if it cannot fail.
            let known = self.points.ixs[*ix].bounds.is_none() && extent > 0;
            let mentioned = self.points.depends(node, *ix);
            if info.traps && !known || mentioned && !known && !self.known_there(*ix) {
                return false;
            }
            match mentioned {
                true => {
                    cells *= extent;
                    terms *= if at < self.outer { 1 } else { extent };
                }
                false => times *= extent as f64,
            }
        }
        let inside = info.free.iter().all(|ix| self.around.contains(ix) || self.given.contains(ix));
        let certain = !info.traps || !self.conditional;
        dear && (times >= TIMES || terms >= LONG)
            && cells <= CELLS
            && inside
            && certain
            && (self.fits)(self.points, node)
    }
}
