//! Recurrences of which every so many steps are observed keep these beside their ring.
//!
//! Before:  `h[t] = f(h[t - 1])`, `s[k] = h[10 * k]`, and all of `h` is stored
//! After:   a ring of two steps, every tenth of which is copied: `s[k] = h.kept[k]`
//!
//! Needs: reads at sums of multiples of indices, the multiples with a common divisor.
//! Refuses: what would not be smaller, or is read elsewhere as well.
//!
//! Failures: steps between those that are kept are computed all the same.

use super::emit::{Emit, Use};
use super::nest::Loop;
use super::tidy;
use crate::points::{Arr, ArrInfo, Body, Ix, Kind, Linear, Node, Source, Subst};
use ein_ir::loops::{BufferKind, Stmt};
use ein_ir::size::gcd;
use ein_scalar::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// The steps of a recurrence that are copied.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    /// Where to.
    to: Arr,
    /// The first of them.
    first: i64,
    /// From one to the next.
    every: i64,
    /// How many.
    count: i64,
}

impl Emit {
    /// Finds the recurrences among these definitions of which every so many steps are read.
    pub(crate) fn find_samples(&mut self, defs: &[usize], wanted: &FxHashSet<Arr>) {
        for at in defs {
            let def = self.points.defs[*at].clone();
            let Body::Clauses(_, Some(steps)) = &def.body else { continue };
            let (Some(step), false) = (steps.first(), wanted.contains(&def.arr)) else { continue };
            if let Some((sample, reads)) = self.sampled(def.arr, step.axis) {
                let before = self.points.defs.clone();
                self.read_sample(def.arr, step.axis, sample, &reads);
                let extent = self.points.arrs[def.arr].shape[step.axis];
                let smaller =
                    self.points.window(&def).is_some_and(|(_, kept)| kept + sample.count < extent);
                if smaller {
                    self.whole(sample.to, BufferKind::Scratch, Use::Scratch);
                    self.samples.insert(def.arr, sample);
                } else {
                    self.points.defs = before;
                }
            }
        }
    }

    /// The steps that others read of a recurrence at multiples of something, and these reads.
    fn sampled(&mut self, arr: Arr, axis: usize) -> Option<(Sample, Vec<Node>)> {
        let mut reads: Vec<(Node, Linear)> = Vec::new();
        for def in self.points.defs.iter().filter(|def| def.arr != arr) {
            for node in self.points.below(&self.points.roots(def)) {
                if let Kind::Load(of, at) = &self.points.nodes[node].kind
                    && *of == arr
                {
                    let place = self.points.linear(at[axis]);
                    if self.common_factor(&place).is_some_and(|factor| factor > 1) {
                        reads.push((node, place));
                    }
                }
            }
        }
        let first = reads.iter().filter_map(|(_, place)| self.least(place)).min()?;
        let last = reads.iter().filter_map(|(_, place)| self.greatest(place)).max()?;
        let factors = reads.iter().map(|(_, place)| {
            let factor = self.common_factor(place).unwrap_or(1);
            gcd(factor, (self.least(place).unwrap_or(0) - first).abs())
        });
        let every = factors.fold(0, gcd);
        if every < 2 || first < 0 {
            return None;
        }
        let info = self.points.arrs[arr].clone();
        let (mut shape, count) = (info.shape, (last - first) / every + 1);
        shape[axis] = count;
        let source = Source::Defined(usize::MAX);
        let to = self.points.arrs.push(ArrInfo { shape, source, ..info });
        let reads = reads.into_iter().map(|(node, _)| node).collect();
        Some((Sample { to, first, every, count }, reads))
    }

    /// The greatest divisor of what indices are multiplied with; `None` if a position is no such
    /// sum, or has no index.
    fn common_factor(&self, place: &Linear) -> Option<i64> {
        let index = |node: Node| matches!(self.points.nodes[node].kind, Kind::Index(_));
        let indices = !place.terms.is_empty() && place.terms.iter().all(|(node, _)| index(*node));
        indices.then(|| place.terms.iter().map(|(_, factor)| factor.abs()).fold(0, gcd))
    }

    fn least(&self, place: &Linear) -> Option<i64> {
        self.extreme_place(place, |factor| factor < 0)
    }

    fn greatest(&self, place: &Linear) -> Option<i64> {
        self.extreme_place(place, |factor| factor > 0)
    }

    /// The position at one end of the ranges of its indices.
    fn extreme_place(&self, place: &Linear, at_end: impl Fn(i64) -> bool) -> Option<i64> {
        let mut total = i128::from(place.offset);
        for (node, factor) in &place.terms {
            let (lo, hi) = self.points.nodes[*node].range?;
            total += i128::from(*factor) * if at_end(*factor) { hi } else { lo };
        }
        i64::try_from(total).ok()
    }

    /// Makes these reads of a recurrence reads of its sample.
    fn read_sample(&mut self, arr: Arr, axis: usize, sample: Sample, reads: &[Node]) {
        let mut instead = FxHashMap::default();
        for node in reads {
            let Kind::Load(_, at) = self.points.nodes[*node].kind.clone() else { continue };
            let place = self.points.linear(at[axis]);
            let mut row = self.points.int((place.offset - sample.first) / sample.every);
            for (term, factor) in place.terms {
                let factor = self.points.int(factor / sample.every);
                let part = self.points.binary(BinaryOp::Mul, term, factor, None);
                row = self.points.binary(BinaryOp::Add, row, part, None);
            }
            let mut at = at.to_vec();
            at[axis] = self.points.position(row, sample.count, false, None);
            instead.insert(*node, self.points.load(sample.to, &at));
        }
        for def in 0..self.points.defs.len() {
            if self.points.defs[def].arr != arr {
                tidy::substitute(&mut self.points, def, &mut Subst::nodes(instead.clone()));
            }
        }
    }

    /// Copies the step of a recurrence that was just computed if it is one of those that are kept.
    /// `row` are its axes: a position, or what to loop over.
    pub(crate) fn copy_sample(&mut self, arr: Arr, axis: usize, step: Ix, row: &[RowAxis]) {
        let Some(sample) = self.samples.get(&arr).copied() else { return };
        let here = self.points.index(step);
        let first = self.points.int(sample.first);
        let from_first = self.points.binary(BinaryOp::Sub, here, first, None);
        let every = self.points.int(sample.every);
        let (zero, last) = (self.points.int(0), self.points.int((sample.count - 1) * sample.every));
        let rest = self.points.binary(BinaryOp::FloorMod, from_first, every, None);
        let is_kept = self.points.binary(BinaryOp::Eq, rest, zero, None);
        let not_before = self.points.binary(BinaryOp::Ge, from_first, zero, None);
        let not_after = self.points.binary(BinaryOp::Le, from_first, last, None);
        let is_kept = self.points.binary(BinaryOp::And, is_kept, not_before, None);
        let is_kept = self.points.binary(BinaryOp::And, is_kept, not_after, None);
        let condition = self.value(is_kept);
        let place = self.points.binary(BinaryOp::FloorDiv, from_first, every, None);
        let place = self.points.position(place, sample.count, false, None);
        let (mut from, mut to, mut loops) = (Vec::new(), Vec::new(), Vec::new());
        for (at, part) in row.iter().enumerate() {
            let (source, target) = match part {
                _ if at == axis => (here, place),
                RowAxis::At(node) => (*node, *node),
                RowAxis::Over(over) => {
                    loops.push(*over);
                    let node = self.points.index(over.0);
                    (node, node)
                }
            };
            from.push(source);
            to.push(target);
        }
        let value = self.points.load(arr, &from);
        self.open_block();
        self.nest(sample.to, loops, vec![(to, value)]);
        let copy = self.close_block();
        self.push(Stmt::If(condition, copy, Vec::new()));
    }
}

/// An axis of a step.
pub(crate) enum RowAxis {
    /// Loops around have chosen a position.
    At(Node),
    /// All positions of these are there.
    Over(Loop),
}
