//! Before anything is scheduled: contractions are given definitions of their own, cheap
//! definitions are computed where they are read, and what nobody reads is dropped.
//!
//! Before:  `s[i, j] = 0.125 * sum(k) q[i, k] * k[j, k]`, read twice
//! After:   `s.sum[i, j] = sum(k) q[i, k] * k[j, k]`, and each reader multiplies
//!
//! Failures: a definition that may fail is neither dropped, though nobody reads it, nor computed
//! where it is read.

use super::contract::{self, Contraction};
use super::nest::FEW;
use crate::points::{
    Arr, ArrInfo, Body, Clause, Def, End, Ix, Kind, Node, Points, Reduction, Slot, Source, Subst,
    Until,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// From this cost on for each cell it is not computed again where it is read.
const REPEATED: f64 = 64.0;

/// A definition that is read once is computed there unless it costs more than this.
const LONG_FORMULA: f64 = 2000.0;

/// The most points of a window.
const WINDOW: f64 = 256.0;

/// As often as this is again and again.
const OFTEN: f64 = 16.0;

/// Gives every contraction inside a larger expression a definition of its own.
pub(crate) fn contractions(points: &mut Points) {
    let mut at = 0;
    while at < points.defs.len() {
        let def = points.defs[at].clone();
        let shape = points.arrs[def.arr].shape.clone();
        if let Some(clause) = contract::only_clause(points, &def.body, &shape)
            && !matches!(points.nodes[clause.value].kind, Kind::Reduce(_))
        {
            let clause = clause.clone();
            // A new definition stands before this one, which is looked at again.
            split(points, at, &def, &clause);
        }
        at += 1;
    }
}

/// Gives the first contraction inside a definition one of its own.
fn split(points: &mut Points, at: usize, def: &Def, clause: &Clause) {
    let reductions: Vec<Node> = points
        .below(&[clause.value])
        .into_iter()
        .filter(|node| matches!(points.nodes[*node].kind, Kind::Reduce(_)))
        .collect();
    for node in reductions {
        // Only over the indices that it mentions, and none of them that of a reduction around it.
        let free = points.nodes[node].free.clone();
        let slots: Vec<Slot> =
            clause.slots.iter().copied().filter(|slot| free.contains(&slot.ix)).collect();
        if slots.len() != free.len() || contract::contraction(points, node, &slots).is_none() {
            continue;
        }
        let shape: Vec<i64> =
            slots.iter().map(|slot| (points.ixs[slot.ix].range.1 + 1) as i64).collect();
        let ty = points.nodes[node].ty;
        let name = points.arrs[def.arr].name;
        let arr = points.arrs.push(ArrInfo { name, ty, shape, source: Source::Defined(at) });
        let positions: Vec<Node> = slots.iter().map(|slot| points.index(slot.ix)).collect();
        let load = points.load(arr, &positions);
        let instead = FxHashMap::from_iter([(node, load)]);
        let value = Subst::nodes(instead).apply(points, clause.value);
        let new = Clause { slots, guard: None, value: node, otherwise: None };
        let body = Body::Clauses(vec![new], None);
        let new = Def { arr, span: def.span, body, adjoint: false };
        points.defs[at].body = Body::Clauses(vec![Clause { value, ..clause.clone() }], None);
        points.defs.insert(at, new);
        points.renumber();
        return;
    }
}

/// Whether a definition is a contraction; its operands have to lie in memory.
pub fn as_contraction(points: &Points, def: &Def) -> Option<Contraction> {
    match &def.body {
        Body::Clauses(clauses, None) => {
            contract::recognise(points, clauses, &points.arrs[def.arr].shape)
        }
        _ => None,
    }
}

/// Computes cheap definitions, and those that are read once, where they are read.
pub(crate) fn inline(points: &mut Points, wanted: &FxHashSet<Arr>) {
    // What each definition reads, brought up to date where one is rewritten: to look at all of them
    // for each of them takes minutes where there are a thousand.
    let mut read: Vec<FxHashSet<Arr>> =
        points.defs.iter().map(|def| arrays_read(points, def)).collect();
    for at in 0..points.defs.len() {
        let def = points.defs[at].clone();
        let shape = points.arrs[def.arr].shape.clone();
        let Some(clause) = contract::only_clause(points, &def.body, &shape) else { continue };
        let info = &points.nodes[clause.value];
        if info.traps || as_contraction(points, &def).is_some() {
            continue;
        }
        let reads = |at: &usize| points.defs[*at].arr != def.arr && read[*at].contains(&def.arr);
        let readers: Vec<usize> = (0..points.defs.len()).filter(reads).collect();
        // A formula without an end is no faster, and every pass walks through it.
        let once = readers.len() == 1
            && !wanted.contains(&def.arr)
            && (info.cost <= LONG_FORMULA || matches!(info.kind, Kind::Reduce(_)))
            && reads_each_cell_once(points, readers[0], def.arr);
        let cost = info.cost;
        let read_cost = points.cost.as_cheap_as_a_read();
        let cheap = !info.reduces && cost <= points.cost.cheap();
        // Where fewer cells are read than there are, the others need not be computed.
        let few = !info.reduces
            && cost <= LONG_FORMULA
            && !wanted.contains(&def.arr)
            && readers.iter().map(|at| times_read(points, *at, def.arr)).sum::<f64>() < 1.0;
        if !cheap && !once && !few {
            continue;
        }
        let ixs = clause.slots.iter().map(|slot| slot.ix).collect();
        let cell = (def.arr, (ixs, clause.value));
        for reader in readers {
            let again = cost > read_cost
                && (reads_again(points, reader, def.arr)
                    || (times_read(points, reader, def.arr) - 1.0) * (cost - read_cost)
                        >= REPEATED);
            if !again && stays_a_product(points, reader, &clause.slots, clause.value) {
                rewrite(points, reader, &cell);
                read[reader] = arrays_read(points, &points.defs[reader]);
            }
        }
    }
    take_copies_for_what_they_copy(points, wanted);
}

/// Whether a definition may read, for the cells of one that it reads, what they are: a matrix product
/// reads from memory, in any order of axes, and one with a constant is none.
fn stays_a_product(points: &Points, reader: usize, slots: &[Slot], value: Node) -> bool {
    let is_slot = |node: &Node| match points.nodes[*node].kind {
        Kind::Index(ix) => slots.iter().any(|slot| slot.ix == ix),
        _ => false,
    };
    let turned = match &points.nodes[value].kind {
        Kind::Const(_) => true,
        Kind::Load(_, at) => at.len() == slots.len() && at.iter().all(is_slot),
        _ => false,
    };
    turned || as_contraction(points, &points.defs[reader]).is_none()
}

/// A copy that matters outside, of an array that does not, is that array.
fn take_copies_for_what_they_copy(points: &mut Points, wanted: &FxHashSet<Arr>) {
    for at in 0..points.defs.len() {
        let copy = points.defs[at].clone();
        let shape = points.arrs[copy.arr].shape.clone();
        let Some(clause) = contract::only_clause(points, &copy.body, &shape) else { continue };
        let Kind::Load(of, places) = points.nodes[clause.value].kind.clone() else { continue };
        let same = places.len() == clause.slots.len()
            && places
                .iter()
                .zip(&clause.slots)
                .all(|(place, slot)| points.nodes[*place].kind == Kind::Index(slot.ix));
        let Some(source) = points.def_of(of).filter(|_| same && !wanted.contains(&of)) else {
            continue;
        };
        let plain = match &points.defs[source].body {
            Body::Clauses(..) => true,
            Body::Again(body) => body.results.iter().any(|write| write.arr == of),
            Body::Scatter(_) | Body::InPlace(_) | Body::Until(_) => false,
        };
        if !plain || points.arrs[of].shape != shape || !wanted.contains(&copy.arr) {
            continue;
        }
        let ixs: Vec<Ix> = clause.slots.iter().map(|slot| slot.ix).collect();
        let read = points.load(copy.arr, &places);
        for reader in 0..points.defs.len() {
            rewrite(points, reader, &(of, (ixs.clone(), read)));
        }
        match &mut points.defs[source].body {
            Body::Again(body) => body.keep_in(of, copy.arr),
            Body::Clauses(..) | Body::Scatter(_) | Body::InPlace(_) | Body::Until(_) => {
                points.defs[source].arr = copy.arr;
            }
        }
        if let Some(facts) = points.facts.remove(&of) {
            points.facts.insert(copy.arr, facts);
        }
        points.defs.remove(at);
        points.renumber();
        return take_copies_for_what_they_copy(points, wanted);
    }
}

/// Whether a definition reads the same cells for many values of its outermost index, inside the loop
/// over it.
fn reads_again(points: &Points, reader: usize, arr: Arr) -> bool {
    let (clauses, steps) = match &points.defs[reader].body {
        Body::Clauses(clauses, steps) => (clauses, steps.as_deref()),
        Body::Until(body) => (&body.clauses, Some(body.steps.as_slice())),
        Body::Scatter(_) | Body::InPlace(_) => return false,
        Body::Again(body) => return body.loops_over(points, arr),
    };
    // The steps of a recurrence are around everything else.
    let axis = steps.and_then(|steps| steps.first()).map_or(0, |step| step.axis);
    clauses.iter().any(|clause| {
        let Some(outer) = clause.slots.get(axis) else { return false };
        let roots = [clause.value].into_iter().chain(clause.guard).chain(clause.otherwise);
        let loads = points.loads(&roots.collect::<Vec<_>>());
        points.trip_count(outer.lo, outer.hi) >= OFTEN
            && loads.iter().any(|(of, at)| {
                let varies = at.iter().any(|node| !points.nodes[*node].free.is_empty());
                *of == arr && varies && !at.iter().any(|node| points.depends(*node, outer.ix))
            })
    })
}

/// How often a definition computes each cell of another one where it reads it, in the mean: once for
/// every point of the loops around the innermost index that chooses the cell.
fn times_read(points: &Points, reader: usize, arr: Arr) -> f64 {
    let (clauses, steps) = match &points.defs[reader].body {
        Body::Clauses(clauses, steps) => (clauses, steps.as_deref().unwrap_or(&[])),
        Body::Until(body) => (&body.clauses, body.steps.as_slice()),
        Body::Scatter(_) | Body::InPlace(_) => return 1.0,
        Body::Again(body) if body.loops_over(points, arr) => return points.cost.usual_steps(),
        Body::Again(_) => return 1.0,
    };
    let extent = |ix: &Ix| {
        let (lo, hi) = points.ixs[*ix].range;
        (hi - lo + 1).max(1) as f64
    };
    let mut reads = 0.0;
    for clause in clauses {
        let roots = [clause.value].into_iter().chain(clause.guard).chain(clause.otherwise);
        let nodes = points.below(&roots.collect::<Vec<_>>());
        // The steps of a recurrence are around everything else.
        let mut slots: Vec<Ix> = steps.iter().map(|step| clause.slots[step.axis].ix).collect();
        let steps = slots.clone();
        slots.extend(clause.slots.iter().map(|slot| slot.ix).filter(|ix| !steps.contains(ix)));
        for read in &nodes {
            let Kind::Load(of, at) = &points.nodes[*read].kind else { continue };
            if *of != arr {
                continue;
            }
            let mut loops = slots.clone();
            loops.extend(sums_around(points, &nodes, *read).into_iter().rev());
            let chooses = |ix: &Ix| at.iter().any(|node| points.depends(*node, *ix));
            let count = loops.iter().rposition(chooses).map_or(0, |last| last + 1);
            let around: FxHashSet<Ix> = loops[..count].iter().copied().collect();
            reads += around.iter().map(extent).product::<f64>();
        }
    }
    reads / points.arrs[arr].shape.iter().map(|extent| (*extent).max(1) as f64).product::<f64>()
}

/// The arrays that a definition reads.
fn arrays_read(points: &Points, def: &Def) -> FxHashSet<Arr> {
    let roots = points.roots(def);
    points.loads(&roots).into_iter().map(|(arr, _)| arr).collect()
}

/// Whether a definition reads another at one place, and so that no cell is read twice.
fn reads_each_cell_once(points: &Points, reader: usize, arr: Arr) -> bool {
    let def = &points.defs[reader];
    let Body::Clauses(clauses, None) = &def.body else { return false };
    let [clause] = clauses.as_slice() else { return false };
    let roots = points.roots(def);
    let nodes = points.below(&roots);
    let is_read = |node: &Node| matches!(points.nodes[*node].kind, Kind::Load(of, _) if of == arr);
    let mut reads = nodes.iter().copied().filter(is_read);
    let (Some(read), None) = (reads.next(), reads.next()) else { return false };
    let Kind::Load(_, at) = &points.nodes[read].kind else { return false };
    if !at.iter().all(|node| matches!(points.nodes[*node].kind, Kind::Index(_))) {
        return false;
    }
    // Every loop around the read chooses another cell.
    let chooses = |ix: Ix| {
        let (lo, hi) = points.ixs[ix].range;
        lo == hi || at.iter().any(|node| points.depends(*node, ix))
    };
    // A short last axis is written out around reductions, so that its cells share what they read.
    let last = clause.slots.last().map(|slot| slot.ix);
    let written_out = |ix: Ix| {
        let (lo, hi) = points.ixs[ix].range;
        last == Some(ix) && hi - lo < i128::from(FEW) && points.nodes[clause.value].reduces
    };
    let reduced = sums_around(points, &nodes, read);
    let repeated = reduced.iter().enumerate().any(|(at, ix)| reduced[..at].contains(ix));
    let repeated = repeated && !run_together(points, &nodes, read);
    // A reduction of reductions leaves its vectors to the inner ones; and reductions over the same
    // indices may run one after the other.
    let source = points.defs.iter().find(|def| def.arr == arr);
    let reduces =
        source.is_some_and(|def| points.roots(def).iter().any(|root| points.nodes[*root].reduces));
    clause.slots.iter().all(|slot| written_out(slot.ix) || chooses(slot.ix))
        && reduced.iter().all(|ix| chooses(*ix))
        && (reduced.is_empty() || !reduces && !repeated || becomes_one(points, &nodes, read))
}

/// Whether what is read is a reduction, and reduced in the same way as it is: both are one then.
fn becomes_one(points: &Points, nodes: &[Node], read: Node) -> bool {
    let Kind::Load(arr, _) = points.nodes[read].kind else { return false };
    let Some(def) = points.def_of(arr) else { return false };
    let shape = &points.arrs[arr].shape;
    let Some(clause) = contract::only_clause(points, &points.defs[def].body, shape) else {
        return false;
    };
    let Kind::Reduce(inner) = &points.nodes[clause.value].kind else { return false };
    nodes.iter().all(|node| match &points.nodes[*node].kind {
        Kind::Reduce(outer) => {
            let holds = points.below(&[outer.body]).contains(&read);
            let ty = points.nodes[*node].ty;
            let joined = Reduction { body: clause.value, ..(**outer).clone() };
            !holds
                || outer.body == read
                    && points.in_one(joined, ty).binders.len()
                        == outer.binders.len() + inner.binders.len()
        }
        _ => true,
    })
}

/// Whether the reductions around a node share their loops: they have the same indices, and none waits
/// for another.
fn run_together(points: &Points, nodes: &[Node], inner: Node) -> bool {
    let holds = |node: &Node| match &points.nodes[*node].kind {
        Kind::Reduce(reduction) => {
            let inside = [reduction.body].into_iter().chain(reduction.guard).collect::<Vec<_>>();
            points.below(&inside).contains(&inner).then_some((&reduction.binders, inside))
        }
        _ => None,
    };
    let around: Vec<_> = nodes.iter().filter_map(holds).collect();
    let few = |binders: &[(Ix, Node, Node)]| {
        let extents = binders.iter().map(|(_, lo, hi)| points.trip_count(*lo, *hi));
        extents.product::<f64>() <= WINDOW
    };
    around.windows(2).all(|two| two[0].0 == two[1].0)
        && around.iter().all(|(binders, inside)| {
            few(binders) && !inside.iter().any(|node| points.nodes[*node].reduces)
        })
}

/// The indices of the reductions around a node, of all `nodes`, children first.
fn sums_around(points: &Points, nodes: &[Node], inner: Node) -> Vec<Ix> {
    let mut around = FxHashSet::from_iter([inner]);
    let mut found = Vec::new();
    for node in nodes {
        let mut holds = false;
        points.each_child(*node, &mut |child| holds |= around.contains(&child));
        if holds {
            around.insert(*node);
            if let Kind::Reduce(reduction) = &points.nodes[*node].kind {
                found.extend(reduction.binders.iter().map(|(ix, ..)| *ix));
            }
        }
    }
    found
}

/// Makes every read of an array in a definition what its cells are.
fn rewrite(points: &mut Points, reader: usize, cell: &(Arr, (Vec<Ix>, Node))) {
    let mut subst = Subst::cells(FxHashMap::from_iter([cell.clone()]));
    substitute(points, reader, &mut subst);
}

/// Replaces something everywhere in a definition.
pub(crate) fn substitute(points: &mut Points, def: usize, subst: &mut Subst) {
    let mut body = points.defs[def].body.clone();
    let mut apply = |node: &mut Node| *node = subst.apply(points, *node);
    let in_clauses = |clauses: &mut [Clause], apply: &mut dyn FnMut(&mut Node)| {
        for clause in clauses {
            for slot in &mut clause.slots {
                apply(&mut slot.lo);
                apply(&mut slot.hi);
            }
            clause.guard.iter_mut().for_each(&mut *apply);
            apply(&mut clause.value);
            clause.otherwise.iter_mut().for_each(&mut *apply);
        }
    };
    match &mut body {
        Body::Clauses(clauses, _) => in_clauses(clauses, &mut apply),
        Body::Until(body) => {
            in_clauses(&mut body.clauses, &mut apply);
            apply(body.end.node_mut());
        }
        Body::Scatter(scatter) => {
            for (_, lo, hi) in &mut scatter.binders {
                apply(lo);
                apply(hi);
            }
            scatter.guard.iter_mut().for_each(&mut apply);
            scatter.at.iter_mut().for_each(&mut apply);
            apply(&mut scatter.value);
        }
        Body::InPlace(body) => {
            body.phases.iter_mut().for_each(|phase| phase.each_node(&mut apply));
        }
        Body::Again(body) => body.each_node(&mut apply),
    }
    points.defs[def].body = body;
}

/// Drops definitions that nobody reads and that cannot fail.
pub(crate) fn drop_unread(points: &mut Points, wanted: &FxHashSet<Arr>) {
    let mut needed = wanted.clone();
    let mut kept = Vec::new();
    for def in std::mem::take(&mut points.defs).into_iter().rev() {
        let roots = points.roots(&def);
        let fails = roots.iter().any(|root| points.nodes[*root].traps)
            || matches!(&def.body, Body::Until(Until { end: End::Asked { fails: true, .. }, .. }));
        if fails || Points::filled(&def).iter().any(|arr| needed.contains(arr)) {
            needed.extend(points.loads(&roots).into_iter().map(|(arr, _)| arr));
            kept.push(def);
        }
    }
    kept.reverse();
    points.defs = kept;
    points.renumber();
}
