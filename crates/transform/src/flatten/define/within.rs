//! Recurrences inside steps of others: one recurrence of both.
//!
//! Before:  `s[t] = last(r) + x[t]`, where `r[0] = s[t - 1]`, `r[k] = f(r[k - 1])` is made anew in
//!          every step
//! After:   `u[0, t] = u[n, t - 1]`, `u[k, t] = f(u[k - 1, t])`, `u[n, t] = u[n - 1, t] + x[t]`, in the
//!          order of `t`, then of the first axis; `s` is the row `u[n]`
//!
//! Inner steps that run downward are counted from their end, so that all of them run upward. Axes of the
//! inner recurrence that are indices of the step are axes of the whole; its other ones share the
//! axes that it does not know, or get axes of their own.
//!
//! Needs: elements of types that one holds all of; inner steps whose number is known.
//! Refuses: what would be stored mostly as room between cells, where a condition ends the steps: otherwise
//! the schedule lays the parts one after another ([`crate::schedule`], `packed.rs`).
//!
//! Failures: as for recurrences inside loops ([`super::around`]): an inner recurrence is computed in
//! every step, also where a condition does not ask for it, and what fails there is an alarm that the
//! evaluator looks into.

use super::super::{Flat, declined};
use super::around::CELLS;
use crate::points::{
    Arr, ArrInfo, Body, Clause, Def, End, Ix, Node, Points, Slot, Source, Step, Subst, Until,
};
use crate::unzip::common_scalar;
use ein_base::{Span, Symbol};
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use rustc_hash::{FxHashMap, FxHashSet};

/// There may be so many times as many cells as are used, and so many in any case.
const SPARSE: i64 = 8;
const FEW: i64 = 1 << 20;

/// What stands inside of a step, in the order in which it was met.
#[derive(Clone, Debug)]
pub(crate) struct Within {
    arr: Arr,
    /// The first of its axes that are those of the loops around, and their indices.
    around: (usize, Vec<Ix>),
    /// The clause of the recurrence around in whose steps it stands.
    clause: usize,
}

impl Within {
    /// A recurrence that reads a step being computed is a part of the recurrence of that step.
    pub(super) fn new(arr: Arr, first: usize, around: &[Ix]) -> Within {
        Within { arr, around: (first, around.to_vec()), clause: 0 }
    }

    /// It is computed no longer.
    pub(super) fn leave(&self, pending: &mut FxHashSet<Arr>) {
        pending.remove(&self.arr);
    }

    /// It stands in a step of this clause.
    pub(super) fn stands_in(&mut self, clause: usize) {
        self.clause = clause;
    }
}

/// A recurrence that becomes a part of another one.
struct Member {
    arr: Arr,
    clauses: Vec<Clause>,
    axes: Vec<Axis>,
    /// Where it is along the axes that it does not have.
    at: Vec<i64>,
}

/// Where an axis of a member is in the whole.
#[derive(Clone, Copy)]
struct Axis {
    of: usize,
    /// Where its first position is, or its last one if it is counted from there.
    first: i64,
    reflected: bool,
}

/// Makes a recurrence and those that stand inside of its steps one: the array of both, and where the cells
/// of the outer one are along its leading axes. `own` are the indices of its clauses.
pub(super) fn joined(
    points: &mut Points,
    outer: Arr,
    own: &[Vec<Ix>],
    inner: &[Within],
    span: Span,
) -> Flat<(Arr, Vec<Node>)> {
    Join { points }.joined(outer, own, inner, span)
}

struct Join<'a> {
    points: &'a mut Points,
}

impl Join<'_> {
    fn joined(
        &mut self,
        outer: Arr,
        own: &[Vec<Ix>],
        inner: &[Within],
        span: Span,
    ) -> Flat<(Arr, Vec<Node>)> {
        let refused = || declined("a recurrence inside a step of another one", span);
        let (clauses, steps) = self.outer_of(outer).ok_or_else(refused)?;
        let mut whole = Whole::new(self.points.arrs[outer].shape.clone(), steps);
        let mut parts = Vec::new();
        for it in inner {
            let (clauses, steps) = self.member_of(it.arr).ok_or_else(refused)?;
            let info = &self.points.arrs[it.arr];
            let fixed = self.fixed_steps(&whole.steps, it, own).ok_or_else(refused)?;
            let first = whole.inner[0];
            let spots = whole.room_for(&info.shape, &steps, it, own);
            parts.push((it.arr, clauses, spots, fixed, first));
        }
        let first = whole.inner[0];
        parts.push((outer, clauses, whole.of_outer(), Vec::new(), first));
        let shape = whole.shape();
        let members: Vec<Member> = parts
            .into_iter()
            .map(|(arr, clauses, spots, fixed, first)| {
                let mut at = vec![0; shape.len()];
                at[0] = first;
                for (axis, position) in fixed {
                    at[whole.axis(Spot::Outer(axis)).of] = position;
                }
                let axes = spots.into_iter().map(|spot| whole.axis(spot)).collect();
                Member { arr, clauses, axes, at }
            })
            .collect();
        let used =
            members.iter().map(|it| whole.cells_of_step(&self.points.arrs[it.arr].shape, it));
        let used = used.fold(0, i64::saturating_add);
        let room = whole.room_of_step();
        // Members lie one after another, unless a condition ends the steps.
        let def = self.points.def_of(outer).ok_or_else(refused)?;
        let boxed = matches!(self.points.defs[def].body, Body::Until(_));
        let sparse = boxed && room > used.saturating_mul(SPARSE).max(FEW);
        if used > CELLS || sparse {
            let why = "a recurrence of quite another shape inside a step of one";
            return Err(declined(why, span));
        }
        let types: Vec<_> = members.iter().map(|it| self.points.arrs[it.arr].ty).collect();
        let truth = types.last() == Some(&ScalarType::Bool);
        let Some(ty) = common_scalar(&types).filter(|ty| !truth || *ty == ScalarType::Bool) else {
            let why = "a recurrence of numbers of quite another type inside a step of one";
            return Err(declined(why, span));
        };
        let all = (ty, shape, whole.steps());
        let arr = self.as_one(&members, all, span).ok_or_else(refused)?;
        let place = whole.place_of_outer().into_iter().map(|at| self.points.int(at)).collect();
        Ok((arr, place))
    }

    /// Where the step is in which an inner recurrence stands, along the axes of steps that are not
    /// among the loops around it; `None` if it is in several.
    fn fixed_steps(
        &self,
        steps: &[Step],
        inner: &Within,
        own: &[Vec<Ix>],
    ) -> Option<Vec<(usize, i64)>> {
        let clause = own.get(inner.clause)?;
        let open = steps.iter().filter(|step| !inner.around.1.contains(&clause[step.axis]));
        open.map(|step| {
            let (lo, hi) = self.points.ixs[clause[step.axis]].range;
            (lo == hi).then_some((step.axis, lo as i64))
        })
        .collect()
    }

    /// The clauses and steps of what stands inside of a step: a definition has none.
    fn member_of(&self, arr: Arr) -> Option<(Vec<Clause>, Vec<Step>)> {
        match &self.points.defs[self.points.def_of(arr)?].body {
            Body::Clauses(clauses, None) => Some((clauses.clone(), Vec::new())),
            Body::Clauses(_, Some(_))
            | Body::Scatter(_)
            | Body::InPlace(_)
            | Body::Until(_)
            | Body::Again(_) => self.recurrence_of(arr),
        }
    }

    /// The clauses and steps of a recurrence that no condition ends.
    fn recurrence_of(&self, arr: Arr) -> Option<(Vec<Clause>, Vec<Step>)> {
        match &self.points.defs[self.points.def_of(arr)?].body {
            Body::Clauses(clauses, Some(steps)) => Some((clauses.clone(), steps.clone())),
            Body::Clauses(_, None)
            | Body::Scatter(_)
            | Body::InPlace(_)
            | Body::Until(_)
            | Body::Again(_) => None,
        }
    }

    /// The same of an outer one, which a condition may end if no loop is around it.
    fn outer_of(&self, arr: Arr) -> Option<(Vec<Clause>, Vec<Step>)> {
        match &self.points.defs[self.points.def_of(arr)?].body {
            Body::Until(body) if body.around.is_empty() => {
                Some((body.clauses.clone(), body.steps.clone()))
            }
            Body::Clauses(..)
            | Body::Scatter(_)
            | Body::InPlace(_)
            | Body::Until(_)
            | Body::Again(_) => self.recurrence_of(arr),
        }
    }

    /// The body of the outer recurrence, with clauses and steps of the whole instead.
    fn body(
        &mut self,
        before: Body,
        (clauses, steps): (Vec<Clause>, Vec<Step>),
        reads: &mut Subst,
        def: usize,
    ) -> Body {
        let Body::Until(mut body) = before else { return Body::Clauses(clauses, Some(steps)) };
        *body.end.node_mut() = reads.apply(self.points, body.end.node());
        if let End::Asked { .. } = body.end {
            self.points.arrs[body.last].source = Source::Defined(def);
        }
        Body::Until(Until { clauses, steps, ..body })
    }

    /// The members, of which the last one is the outer recurrence, as one definition.
    fn as_one(
        &mut self,
        members: &[Member],
        (ty, shape, steps): (ScalarType, Vec<i64>, Vec<Step>),
        span: Span,
    ) -> Option<Arr> {
        let outer = members.last()?.arr;
        let Def { adjoint, body: before, .. } =
            self.points.defs[self.points.def_of(outer)?].clone();
        let name = self.points.arrs[outer].name;
        let cells = shape.iter().try_fold(1i64, |cells, extent| cells.checked_mul(*extent));
        let source = Source::Defined(self.points.defs.len());
        let arr = self.points.arrs.push(ArrInfo { name, ty, shape, source });
        let body = Body::Clauses(Vec::new(), None);
        self.points.defs.push(Def { arr, span, body, adjoint });
        let mut reads = self.reads_of(arr, members);
        let mut clauses: Vec<Clause> = Vec::new();
        for member in members {
            for clause in &member.clauses {
                clauses.push(self.moved(arr, member, clause, &mut reads));
            }
        }
        let roots = clauses.iter().flat_map(|clause| {
            let bounds = clause.slots.iter().flat_map(|slot| [slot.lo, slot.hi]);
            bounds.chain([clause.value]).chain(clause.guard).chain(clause.otherwise)
        });
        let loads = self.points.loads(&roots.collect::<Vec<Node>>());
        if loads.iter().any(|(read, _)| members.iter().any(|it| it.arr == *read)) {
            // A position that may fail is not taken apart.
            return None;
        }
        self.points.defs.retain(|def| members.iter().all(|it| it.arr != def.arr));
        for member in members {
            self.points.arrs[member.arr].source = Source::Defined(usize::MAX);
        }
        self.points.renumber();
        let at = self.points.def_of(arr)?;
        self.points.defs[at].body = self.body(before, (clauses, steps), &mut reads, at);
        let windowed = self.points.window(&self.points.defs[at]).is_ok();
        (windowed || cells.is_some_and(|cells| cells <= CELLS)).then_some(arr)
    }

    /// What stands for the cells of members.
    fn reads_of(&mut self, whole: Arr, members: &[Member]) -> Subst {
        let extents = self.points.arrs[whole].shape.clone();
        let mut cells = FxHashMap::default();
        for member in members {
            let mut at: Vec<Node> = member.at.iter().map(|at| self.points.int(*at)).collect();
            let mut ixs = Vec::new();
            let shape = self.points.arrs[member.arr].shape.clone();
            for (axis, extent) in member.axes.iter().zip(shape) {
                let range = (0, i128::from(extent - 1).max(0));
                let ix = self.points.fresh(Symbol::intern("i"), range);
                let place = self.points.index(ix);
                at[axis.of] = match (axis.reflected, self.points.int(axis.first)) {
                    (false, first) => self.points.binary(BinaryOp::Add, place, first, None),
                    (true, last) => self.points.binary(BinaryOp::Sub, last, place, None),
                };
                ixs.push(ix);
            }
            let inside = at.into_iter().zip(&extents);
            let at: Vec<Node> =
                inside.map(|(at, extent)| self.points.position(at, *extent, false, None)).collect();
            let cell = self.points.load(whole, &at);
            let cell = match self.points.arrs[member.arr].ty {
                ScalarType::Bool if self.points.nodes[cell].ty != ScalarType::Bool => {
                    let zero = self.points.constant(Scalar::zero(self.points.nodes[cell].ty));
                    self.points.binary(BinaryOp::Ne, cell, zero, None)
                }
                ty => self.points.cast(cell, ty),
            };
            cells.insert(member.arr, (ixs, cell));
        }
        Subst::cells(cells)
    }

    /// A clause of a member as one of the whole, with indices of its own.
    fn moved(&mut self, whole: Arr, member: &Member, clause: &Clause, reads: &mut Subst) -> Clause {
        let mut slots: Vec<Option<Slot>> = vec![None; self.points.arrs[whole].shape.len()];
        let mut names: Vec<(Ix, Node)> = Vec::new();
        for (slot, axis) in clause.slots.iter().zip(&member.axes) {
            let info = self.points.ixs[slot.ix].clone();
            let mut renamed = Subst::new(names.iter().copied());
            let lo = renamed.apply(self.points, slot.lo);
            let hi = renamed.apply(self.points, slot.hi);
            let known = self.points.as_int(lo).zip(self.points.as_int(hi));
            let first = i128::from(axis.first);
            let (ix, lo, hi) = match (axis.reflected, known) {
                // The bounds of steps are numbers.
                (true, _) | (false, Some(_)) => {
                    let (low, high) = match axis.reflected {
                        true => (first - info.range.1, first - info.range.0),
                        false => (first + info.range.0, first + info.range.1),
                    };
                    let ix = self.points.fresh(info.name, (low, high));
                    (ix, self.points.int(low as i64), self.points.int(high as i64 + 1))
                }
                (false, None) => (self.points.fresh_between(info.name, info.range, lo, hi), lo, hi),
            };
            let (place, first) = (self.points.index(ix), self.points.int(axis.first));
            let own = match axis.reflected {
                true => self.points.binary(BinaryOp::Sub, first, place, None),
                false => self.points.binary(BinaryOp::Sub, place, first, None),
            };
            names.push((slot.ix, own));
            slots[axis.of] = Some(Slot { ix, lo, hi });
        }
        let slots = slots
            .into_iter()
            .zip(&member.at)
            .map(|(slot, at)| slot.unwrap_or_else(|| super::point(self.points, *at)))
            .collect();
        let mut renamed = Subst::new(names);
        let mut here = |node: Node| {
            let node = renamed.apply(self.points, node);
            reads.apply(self.points, node)
        };
        let guard = clause.guard.map(&mut here);
        let (value, otherwise) = (here(clause.value), clause.otherwise.map(here));
        let ty = self.points.arrs[whole].ty;
        let value = self.points.cast(value, ty);
        let otherwise = otherwise.map(|side| self.points.cast(side, ty));
        Clause { slots, guard, value, otherwise }
    }
}

/// The axes of the whole: those of inner steps, those that only inner recurrences have, and those of
/// the outer one.
struct Whole {
    /// How many inner steps there are, one recurrence after another, along the first of these axes.
    inner: Vec<i64>,
    more: Vec<i64>,
    outer: Vec<i64>,
    steps: Vec<Step>,
}

/// An axis of the whole, with where it begins.
#[derive(Clone, Copy)]
enum Spot {
    /// Among inner steps: the first, or the last if they run downward.
    Inner(usize, i64, bool),
    More(usize),
    Outer(usize),
}

impl Whole {
    fn new(outer: Vec<i64>, steps: Vec<Step>) -> Whole {
        Whole { inner: vec![0], more: Vec::new(), outer, steps }
    }

    /// Where the axes of an inner recurrence are.
    fn room_for(
        &mut self,
        shape: &[i64],
        steps: &[Step],
        inner: &Within,
        own: &[Vec<Ix>],
    ) -> Vec<Spot> {
        let mut spots: Vec<Option<Spot>> = vec![None; shape.len()];
        let (first, around) = &inner.around;
        let clause = own.get(inner.clause).map(Vec::as_slice).unwrap_or_default();
        for (spot, ix) in spots[*first..].iter_mut().zip(around) {
            *spot = clause.iter().position(|own| own == ix).map(Spot::Outer);
        }
        let stepped: Vec<usize> = self.steps.iter().map(|step| step.axis).collect();
        let taken = |spots: &[Option<Spot>], axis: usize| {
            let is_it = |spot: &Option<Spot>| matches!(spot, Some(Spot::Outer(it)) if *it == axis);
            stepped.contains(&axis) || spots.iter().any(is_it)
        };
        let before = self.inner[0];
        if steps.is_empty() {
            // A definition takes a turn of its own.
            self.inner[0] += 1;
        }
        for (at, step) in steps.iter().enumerate() {
            let (count, first) = (shape[step.axis], if at == 0 { before } else { 0 });
            if self.inner.len() <= at {
                self.inner.push(0);
            }
            self.inner[at] = self.inner[at].max(first + count);
            let first = if step.backward { first + count - 1 } else { first };
            spots[step.axis] = Some(Spot::Inner(at, first, step.backward));
        }
        let mut more = 0;
        for axis in (0..shape.len()).rev() {
            if spots[axis].is_some() {
                continue;
            }
            let free = (0..self.outer.len()).rev().find(|it| !taken(&spots, *it));
            let (spot, extent) = match free {
                Some(of) => (Spot::Outer(of), &mut self.outer[of]),
                None => {
                    if self.more.len() <= more {
                        self.more.push(0);
                    }
                    more += 1;
                    (Spot::More(more - 1), &mut self.more[more - 1])
                }
            };
            *extent = (*extent).max(shape[axis]);
            spots[axis] = Some(spot);
        }
        spots.into_iter().flatten().collect()
    }

    fn of_outer(&self) -> Vec<Spot> {
        (0..self.outer.len()).map(Spot::Outer).collect()
    }

    /// All extents; the last inner step is that of the outer recurrence.
    fn shape(&self) -> Vec<i64> {
        let inner = self.inner.iter().enumerate().map(|(at, n)| if at == 0 { n + 1 } else { *n });
        inner.chain(self.more.iter().copied()).chain(self.outer.iter().copied()).collect()
    }

    fn axis(&self, spot: Spot) -> Axis {
        match spot {
            Spot::Inner(of, first, reflected) => Axis { of, first, reflected },
            Spot::More(at) => Axis { of: self.inner.len() + at, first: 0, reflected: false },
            Spot::Outer(at) => {
                let of = self.inner.len() + self.more.len() + at;
                Axis { of, first: 0, reflected: false }
            }
        }
    }

    fn steps(&self) -> Vec<Step> {
        let outer = self.steps.iter().map(|step| Step {
            axis: self.axis(Spot::Outer(step.axis)).of,
            backward: step.backward,
        });
        let inner = (0..self.inner.len()).map(|axis| Step { axis, backward: false });
        outer.chain(inner).collect()
    }

    fn place_of_outer(&self) -> Vec<i64> {
        let rest = self.inner.len() - 1 + self.more.len();
        [self.inner[0]].into_iter().chain(std::iter::repeat_n(0, rest)).collect()
    }

    /// How many cells a member has in a step of the outer recurrence.
    fn cells_of_step(&self, shape: &[i64], member: &Member) -> i64 {
        let axes = member.axes.iter().map(|axis| axis.of).zip(shape);
        let inside = axes.filter(|(of, _)| !self.is_step(*of));
        inside.fold(1, |cells, (_, extent)| cells.saturating_mul(*extent))
    }

    fn room_of_step(&self) -> i64 {
        let inside = self.shape().into_iter().enumerate().filter(|(of, _)| !self.is_step(*of));
        inside.fold(1, |cells, (_, extent)| cells.saturating_mul(extent))
    }

    /// Whether an axis is one of the outer recurrence's steps.
    fn is_step(&self, axis: usize) -> bool {
        self.steps.iter().any(|step| self.axis(Spot::Outer(step.axis)).of == axis)
    }
}
