//! Recurrences of which every so many steps are observed, or some cells of every step, keep these
//! beside their ring.
//!
//! Before:  `h[t] = f(h[t - 1])`, `s[k] = h[10 * k]`, and all of `h` is stored
//! After:   a ring of two steps, every tenth of which is copied: `s[k] = h.kept[k]`
//!
//! Before:  `u[j, t] = …`, `s[t] = u[7, t]`
//! After:   a ring of two steps, of which the cell `u[7, t]` is copied
//!
//! Needs: reads at sums of multiples of indices, the multiples with a common divisor.
//! Refuses: what would not be smaller, or is read elsewhere as well.
//!
//! Failures: steps between those that are kept are computed all the same.

use super::emit::Emit;
use super::home;
use super::nest::Loop;
use super::tidy;
use super::view::View;
use crate::points::{Arr, ArrInfo, Body, Ix, Kind, Linear, Node, Points, Source, Step, Subst};
use ein_ir::loops::{Operand, Stmt};
use ein_ir::size::gcd;
use ein_scalar::{BinaryOp, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};

/// The steps of a recurrence that are copied.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// Where to.
    to: Arr,
    /// The first of them.
    first: i64,
    /// From one to the next.
    every: i64,
    /// How many.
    count: i64,
    /// The axes along which only one position is kept, and which.
    fixed: Vec<(usize, i64)>,
}

/// Reads of a recurrence by others, with their steps.
type Reads = Vec<(Node, Linear)>;

impl Emit {
    /// Finds the recurrences among these definitions of which every so many steps are read.
    pub(crate) fn find_samples(&mut self, defs: &[usize], wanted: &FxHashSet<Arr>) {
        for at in defs {
            let def = self.points.defs[*at].clone();
            let Body::Clauses(_, Some(steps)) = &def.body else { continue };
            let (Some(step), false) = (steps.first(), wanted.contains(&def.arr)) else { continue };
            if let Some((sample, reads)) = self.sampled(def.arr, steps) {
                let before = self.points.defs.clone();
                self.read_sample(def.arr, step.axis, &sample, &reads);
                let cells = |arr: Arr, steps: Option<i64>| {
                    let shape = self.points.arrs[arr].shape.iter().enumerate();
                    let of = |(axis, n): (usize, &i64)| {
                        steps.filter(|_| axis == step.axis).unwrap_or(*n)
                    };
                    shape.map(of).fold(1, i64::saturating_mul)
                };
                let smaller = self.points.window(&def).is_ok_and(|(_, kept)| {
                    let kept = cells(def.arr, Some(kept.steps()));
                    kept.saturating_add(cells(sample.to, None)) < cells(def.arr, None)
                });
                if smaller {
                    home::settle(self, &home::sample(&self.points, sample.to, sample.every), None);
                    self.samples.insert(def.arr, sample);
                } else {
                    self.points.defs = before;
                }
            }
        }
    }

    /// The steps that others read of a recurrence at multiples of something, or in which they read
    /// only some cells, and these reads.
    fn sampled(&mut self, arr: Arr, steps: &[Step]) -> Option<(Sample, Vec<Node>)> {
        let (axis, inner) = steps.split_first().map(|(step, inner)| (step.axis, inner))?;
        let mut reads: Reads = Vec::new();
        for def in self.points.defs.iter().filter(|def| def.arr != arr) {
            for node in self.points.below(&self.points.roots(def)) {
                if let Kind::Load(of, at) = &self.points.nodes[node].kind
                    && *of == arr
                {
                    let place = self.points.linear(at[axis]);
                    if common_factor(&self.view(), &place).is_some() {
                        reads.push((node, place));
                    }
                }
            }
        }
        let fixed = fixed_positions(&self.points, arr, inner, &reads);
        if fixed.is_empty() {
            reads.retain(|(_, place)| {
                common_factor(&self.view(), place).is_some_and(|factor| factor > 1)
            });
        }
        let first = reads.iter().filter_map(|(_, place)| least(&self.view(), place)).min()?;
        let last = reads.iter().filter_map(|(_, place)| greatest(&self.view(), place)).max()?;
        let factors = reads.iter().map(|(_, place)| {
            let factor = common_factor(&self.view(), place).unwrap_or(1);
            gcd(factor, (least(&self.view(), place).unwrap_or(0) - first).abs())
        });
        let every = factors.fold(0, gcd);
        if every < 1 || every < 2 && fixed.is_empty() || first < 0 {
            return None;
        }
        let info = self.points.arrs[arr].clone();
        let (mut shape, count) = (info.shape, (last - first) / every + 1);
        shape[axis] = count;
        fixed.iter().for_each(|(axis, _)| shape[*axis] = 1);
        let source = Source::Defined(usize::MAX);
        let to = self.points.arrs.push(ArrInfo { shape, source, ..info });
        let reads = reads.into_iter().map(|(node, _)| node).collect();
        Some((Sample { to, first, every, count, fixed }, reads))
    }

    /// Makes these reads of a recurrence reads of its sample.
    fn read_sample(&mut self, arr: Arr, axis: usize, sample: &Sample, reads: &[Node]) {
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
            sample.fixed.iter().for_each(|(axis, _)| at[*axis] = self.points.int(0));
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
        let Some(sample) = self.samples.get(&arr).cloned() else { return };
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
            let fixed = sample.fixed.iter().find(|(axis, _)| *axis == at);
            let (source, target) = match part {
                _ if at == axis => (here, place),
                _ if let Some((_, only)) = fixed => (self.points.int(*only), self.points.int(0)),
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
        match condition {
            Operand::Const(Scalar::Bool(true)) => copy.into_iter().for_each(|it| self.push(it)),
            condition => self.push(Stmt::If(condition, copy, Vec::new())),
        }
    }
}

/// An axis of a step.
pub(crate) enum RowAxis {
    /// Loops around have chosen a position.
    At(Node),
    /// All positions of these are there.
    Over(Loop),
}

/// The axes of inner steps along which all of these reads are at one position. (Loops around, which
/// may run in parallel, choose positions along others.)
fn fixed_positions(points: &Points, arr: Arr, inner: &[Step], reads: &Reads) -> Vec<(usize, i64)> {
    let shape = &points.arrs[arr].shape;
    let position = |node: Node, of: usize| match &points.nodes[node].kind {
        Kind::Load(_, at) => points.as_int(at[of]),
        _ => None,
    };
    let single = |of: usize| {
        let (first, rest) = reads.split_first()?;
        let at = position(first.0, of)?;
        rest.iter().all(|(node, _)| position(*node, of) == Some(at)).then_some((of, at))
    };
    inner.iter().map(|step| step.axis).filter(|of| shape[*of] > 1).filter_map(single).collect()
}

/// The greatest divisor of what indices are multiplied with; `None` if a position is no such
/// sum, or has no index.
fn common_factor(view: &View<'_>, place: &Linear) -> Option<i64> {
    let index = |node: Node| matches!(view.points.nodes[node].kind, Kind::Index(_));
    let indices = !place.terms.is_empty() && place.terms.iter().all(|(node, _)| index(*node));
    indices.then(|| place.terms.iter().map(|(_, factor)| factor.abs()).fold(0, gcd))
}

fn least(view: &View<'_>, place: &Linear) -> Option<i64> {
    extreme_place(view, place, |factor| factor < 0)
}

fn greatest(view: &View<'_>, place: &Linear) -> Option<i64> {
    extreme_place(view, place, |factor| factor > 0)
}

/// The position at one end of the ranges of its indices.
fn extreme_place(view: &View<'_>, place: &Linear, at_end: impl Fn(i64) -> bool) -> Option<i64> {
    let mut total = i128::from(place.offset);
    for (node, factor) in &place.terms {
        let (lo, hi) = view.points.nodes[*node].range?;
        total += i128::from(*factor) * if at_end(*factor) { hi } else { lo };
    }
    i64::try_from(total).ok()
}
