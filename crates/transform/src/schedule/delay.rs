//! Delayed updates: several steps of an update in place in one pass over the array.
//!
//! Before:  for each step, a column of factors, then all cells right of and below it: `a[i, j] -=
//!          f[i] * a[step, j]`
//! After:   for every eight steps, one after another what these steps themselves read (some rows
//!          and columns); then all other cells, each read and written once for the eight steps
//!
//! This may be done if what an update reads besides the cell itself is final when it is read: no
//! later step writes it. What another write of the same step destroys (a row that becomes zeros) is
//! kept beside the array for the steps of a block.
//!
//! Failures: the same updates of the same cells in another order; those that may fail set the same
//! flag.

use crate::points::{
    Act, Arr, ArrInfo, Body, Ix, Kind, Linear, Node, Phase, Points, Region, Source, Steps, Subst,
    Write,
};
use ein_base::Symbol;
use ein_scalar::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// Steps in one pass.
const STEPS: i64 = 8;

/// Fewer steps are not worth the code.
const LEAST: i64 = 4 * STEPS;

/// Delays the updates of all definitions that allow it.
pub(crate) fn run(points: &mut Points) {
    for at in 0..points.defs.len() {
        let Body::InPlace(body) = &points.defs[at].body else { continue };
        let (mut phases, mut kept): (Vec<Phase>, Vec<Arr>) = (Vec::new(), Vec::new());
        for phase in body.phases.clone() {
            match Update::of(points, at, &phase) {
                Some(update) => {
                    kept.extend(&update.kept);
                    phases.extend(update.in_blocks(points));
                }
                None => phases.push(phase),
            }
        }
        if let Body::InPlace(body) = &mut points.defs[at].body {
            body.phases = phases;
            body.others.extend(kept);
        }
    }
}

/// A phase with one write that updates a shrinking region.
struct Update {
    steps: Steps,
    count: i64,
    update: Write,
    /// The cell before the update.
    own: Node,
    /// The other writes of a step, which come before the update.
    others: Vec<Write>,
    axes: Vec<Axis>,
    /// Arrays of a row for each step of a block: what the update needs and the other writes destroy.
    kept: Vec<Arr>,
}

/// An axis of the region that is updated: from `low`, a sum over the step, up to `end`.
struct Axis {
    /// Which loop runs along it.
    at: usize,
    low: Linear,
    end: i64,
}

impl Update {
    fn of(points: &mut Points, def: usize, phase: &Phase) -> Option<Update> {
        let steps = phase.steps.filter(|steps| !steps.backward)?;
        let count = points.as_int(steps.hi).filter(|count| *count >= LEAST)?;
        if points.as_int(steps.lo) != Some(0) {
            return None;
        }
        let mut others = Vec::new();
        for act in &phase.acts {
            match act {
                Act::Write(write) => others.push(write.clone()),
                Act::Phase(_) => return None,
            }
        }
        let main = (0..others.len()).max_by_key(|at| others[*at].loops.len())?;
        let update = others.remove(main);
        let least = update.loops.len().min(2);
        if least < 2 || others.iter().any(|other| other.loops.len() >= update.loops.len()) {
            return None;
        }
        let own = own_cell(points, &update)?;
        let axes = axes(points, &update, steps.ix)?;
        let mut found = Update { steps, count, update, own, others, axes, kept: Vec::new() };
        let read_again = found.read_what_was_written(points);
        let lost = found.lost(points, &read_again)?;
        if !lost.is_empty() {
            found.keep(points, def, &lost);
        }
        found.lost(points, &read_again).filter(Vec::is_empty).map(|_| found)
    }

    /// Keeps what is made of lost cells in rows that the update reads instead: for each the largest
    /// part of the value that depends on the step and one index at most.
    fn keep(&mut self, points: &mut Points, def: usize, lost: &[Node]) {
        let loops = self.update.loops.clone();
        let own = self.own;
        let indices = |points: &Points, node: Node| {
            loops.iter().filter(|(ix, ..)| points.depends(node, *ix)).count()
        };
        let (mut parts, mut open) = (Vec::new(), vec![self.update.value]);
        let mut seen = FxHashSet::default();
        while let Some(node) = open.pop() {
            let below = points.below(&[node]);
            if !seen.insert(node) || !below.iter().any(|node| lost.contains(node)) {
                continue;
            }
            if indices(points, node) <= 1 && !below.contains(&own) {
                parts.push(node);
            } else {
                points.each_child(node, &mut |child| open.push(child));
            }
        }
        let (step, turn) = (points.index(self.steps.ix), points.int(STEPS));
        let slot = points.binary(BinaryOp::Rem, step, turn, None);
        for part in parts {
            let along = loops.iter().find(|(ix, ..)| points.depends(part, *ix)).copied();
            let extent = along.map_or(1, |(ix, ..)| points.ixs[ix].range.1 as i64 + 1);
            let source = Source::Defined(def);
            let info = ArrInfo {
                name: None,
                ty: points.nodes[part].ty,
                shape: vec![STEPS, extent],
                source,
            };
            let arr = points.arrs.push(info);
            let place = match along {
                Some((ix, ..)) => points.index(ix),
                None => points.int(0),
            };
            let at = vec![slot, place];
            let read = points.load(arr, &at);
            let mut replace = Subst::nodes(FxHashMap::from_iter([(part, read)]));
            self.update.value = replace.apply(points, self.update.value);
            self.others
                .insert(0, Write { arr, loops: along.into_iter().collect(), at, value: part });
            self.kept.push(arr);
        }
    }

    /// Where the update computes what another write of the step has just written, it reads that.
    /// The reads that were put in.
    fn read_what_was_written(&mut self, points: &mut Points) -> Vec<Node> {
        let mut put = Vec::new();
        for other in &self.others {
            let [(ix, lo, hi)] = other.loops.as_slice() else { continue };
            for (along, first, end) in &self.update.loops {
                let node = points.index(*along);
                let mut subst = Subst::one(*ix, node);
                let value = subst.apply(points, other.value);
                let computed = points.below(&[self.update.value]).contains(&value);
                let simple = matches!(points.nodes[value].kind, Kind::Load(..) | Kind::Const(_));
                if (first, end) != (lo, hi) || !computed || simple {
                    continue;
                }
                let at: Vec<Node> = other.at.iter().map(|at| subst.apply(points, *at)).collect();
                let read = points.load(other.arr, &at);
                let mut replace = Subst::nodes(FxHashMap::from_iter([(value, read)]));
                self.update.value = replace.apply(points, self.update.value);
                put.push(read);
                break;
            }
        }
        put
    }

    /// What the update reads that other writes of the step, or of later ones, have changed by then. None
    /// if the updates cannot wait at all.
    fn lost(&self, points: &mut Points, read_again: &[Node]) -> Option<Vec<Node>> {
        let step = self.steps.ix;
        let most = i128::from(self.count);
        let now_or_later = points.fresh(Symbol::intern("later"), (0, most));
        let later = points.fresh(Symbol::intern("later"), (1, most));
        let (now_or_later, later) = (points.index(now_or_later), points.index(later));
        let points = &*points;
        let region = |at: &[Node]| points.region(at, Some(step));
        let after = |at: &[Node], by: Node| shifted(points, &region(at), step, by);
        let updated = after(&self.update.at, now_or_later);
        let spared = |at: &[Node]| points.regions_apart(&region(at), &updated);
        let mut lost = Vec::new();
        for node in points.below(&[self.update.value]) {
            let Kind::Load(arr, at) = &points.nodes[node].kind else { continue };
            if node == self.own || self.kept.contains(arr) {
                continue;
            }
            // What the update reads is not updated any more, nor changed by others later.
            if *arr == self.update.arr && !spared(at) {
                return None;
            }
            let stays = self.others.iter().filter(|other| other.arr == *arr).all(|other| {
                let now = points.apart(at, &other.at, Some(step)) || read_again.contains(&node);
                now && points.regions_apart(&region(at), &after(&other.at, later))
            });
            if !stays {
                lost.push(node);
            }
        }
        let others = self.others.iter().all(|other| {
            let written = other.arr != self.update.arr || spared(&other.at);
            let mut reads = points.loads(&[other.value]).into_iter();
            written && reads.all(|(arr, at)| arr != self.update.arr || spared(&at))
        });
        others.then_some(lost)
    }

    /// The steps in blocks: the edges of the region step by step, then the rest at once.
    fn in_blocks(self, points: &mut Points) -> Vec<Phase> {
        let blocks = self.count / STEPS;
        let block = points.fresh(Symbol::intern("block"), (0, i128::from(blocks - 1)));
        let number = points.index(block);
        let mut base = Linear::default();
        base.add(&points.linear(number), STEPS);
        let (lo, mut after) = (points.sum_node(&base), base.clone());
        after.offset += STEPS;
        let hi = points.sum_node(&after);
        let mut acts: Vec<Act> = self.others.iter().cloned().map(Act::Write).collect();
        acts.extend(self.edges(points, &after).into_iter().map(Act::Write));
        let inner = Phase { steps: Some(Steps { lo, hi, ..self.steps }), acts };
        let rest = Act::Write(self.rest(points, &base, &after));
        let (zero, end) = (points.int(0), points.int(blocks));
        let steps = Steps { ix: block, lo: zero, hi: end, backward: false };
        let mut phases = vec![Phase { steps: Some(steps), acts: vec![Act::Phase(inner), rest] }];
        if blocks * STEPS < self.count {
            let lo = points.int(blocks * STEPS);
            let mut acts: Vec<Act> = self.others.into_iter().map(Act::Write).collect();
            acts.push(Act::Write(self.update));
            phases.push(Phase { steps: Some(Steps { lo, ..self.steps }), acts });
        }
        phases
    }

    /// Where the region of the last step before `after` begins along an axis.
    fn edge(&self, points: &Points, axis: &Axis, after: &Linear) -> Linear {
        let mut last = after.clone();
        last.offset -= 1;
        at_step(points, &axis.low, self.steps.ix, &last)
    }

    /// The cells of a step that are not updated in all later steps of the block.
    fn edges(&self, points: &mut Points, after: &Linear) -> Vec<Write> {
        let mut writes = Vec::new();
        for (nth, axis) in self.axes.iter().enumerate() {
            let width = self.edge(points, axis, after).minus(&axis.low);
            if width == Linear::default() {
                continue;
            }
            let mut write = self.update.clone();
            for before in &self.axes[..nth] {
                let skip = self.edge(points, before, after).minus(&before.low);
                write.loops[before.at].1 = points.sum_node(&skip);
            }
            write.loops[axis.at].2 = points.sum_node(&width);
            writes.push(write);
        }
        writes
    }

    /// All steps of a block for the cells that are updated in all of them.
    fn rest(&self, points: &mut Points, base: &Linear, after: &Linear) -> Write {
        let mut loops = self.update.loops.clone();
        let mut at = vec![self.own; self.axes.len()];
        for (nth, axis) in self.axes.iter().enumerate() {
            let edge = self.edge(points, axis, after);
            let (lo, hi) = (points.sum_node(&edge), points.int(axis.end));
            let range = (0, i128::from(axis.end - 1));
            let ix = points.fresh_between(Symbol::intern("c"), range, lo, hi);
            loops[axis.at] = (ix, lo, hi);
            at[nth] = points.index(ix);
        }
        let mut value = points.load(self.update.arr, &at);
        for step in 0..STEPS {
            let mut here = base.clone();
            here.offset += step;
            // Blocks begin at multiples of their steps.
            let kept = self.own_row(points, step);
            let mut places = vec![(self.steps.ix, points.sum_node(&here))];
            for (axis, place) in self.axes.iter().zip(&at) {
                let low = at_step(points, &axis.low, self.steps.ix, &here);
                let place = points.linear(*place).minus(&low);
                places.push((self.update.loops[axis.at].0, points.sum_node(&place)));
            }
            let mut subst = Subst::new(places);
            let own = subst.apply(points, self.own);
            let updated = subst.apply(points, kept);
            value = Subst::nodes(FxHashMap::from_iter([(own, value)])).apply(points, updated);
        }
        Write { arr: self.update.arr, loops, at, value }
    }
}

impl Update {
    /// The value of the update in a step of a block, which reads the rows that are kept for it.
    fn own_row(&self, points: &mut Points, step: i64) -> Node {
        let (here, turn) = (points.index(self.steps.ix), points.int(STEPS));
        let slot = points.binary(BinaryOp::Rem, here, turn, None);
        let own = points.int(step);
        Subst::nodes(FxHashMap::from_iter([(slot, own)])).apply(points, self.update.value)
    }
}

/// The only read of the cell that a write is about to change.
fn own_cell(points: &Points, write: &Write) -> Option<Node> {
    let mut own = points.below(&[write.value]).into_iter().filter(|node| {
        matches!(&points.nodes[*node].kind,
            Kind::Load(arr, at) if *arr == write.arr && points.same_place(at, &write.at))
    });
    own.next().filter(|_| own.next().is_none())
}

/// The axes of the region of a write: one loop each, ending at the same place in every step and
/// beginning further in later ones.
fn axes(points: &Points, write: &Write, step: Ix) -> Option<Vec<Axis>> {
    if write.at.len() != write.loops.len() {
        return None;
    }
    let mut axes = Vec::new();
    for at in &write.at {
        let sum = points.linear(*at);
        let along = write.loops.iter().position(|(ix, ..)| points.depends(*at, *ix))?;
        let (ix, lo, _) = write.loops[along];
        let mut low = sum.clone();
        let (term, _) = *sum
            .terms
            .iter()
            .find(|(term, factor)| *factor == 1 && points.nodes[*term].kind == Kind::Index(ix))?;
        low.add_term(term, -1);
        let falls = low
            .terms
            .iter()
            .all(|(term, factor)| *factor > 0 && points.nodes[*term].kind == Kind::Index(step));
        let end = points.end(&sum, true, Some(step)).filter(|end| end.terms.is_empty())?;
        let again = axes.iter().any(|axis: &Axis| axis.at == along);
        if !falls || again || points.as_int(lo) != Some(0) {
            return None;
        }
        axes.push(Axis { at: along, low, end: end.offset + 1 });
    }
    Some(axes)
}

/// A sum over the step, at a step.
fn at_step(points: &Points, sum: &Linear, step: Ix, value: &Linear) -> Linear {
    let mut result = Linear { terms: Vec::new(), offset: sum.offset };
    for (term, factor) in &sum.terms {
        if points.nodes[*term].kind == Kind::Index(step) {
            result.add(value, *factor);
        } else {
            result.add_term(*term, *factor);
        }
    }
    result
}

/// A region so many steps later.
fn shifted(points: &Points, region: &Region, step: Ix, by: Node) -> Region {
    let later = |sum: &Linear| {
        let mut later = sum.clone();
        for (term, factor) in &sum.terms {
            if points.nodes[*term].kind == Kind::Index(step) {
                later.add_term(by, *factor);
            }
        }
        later
    };
    let axis = |ends: &Option<(Linear, Linear)>| {
        ends.as_ref().map(|(first, last)| (later(first), later(last)))
    };
    region.iter().map(axis).collect()
}
