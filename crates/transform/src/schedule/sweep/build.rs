//! The definitions of a segment: those of the members, over the rows of windows.
//!
//! There are three kinds of segments, each with definitions of its own: the first, the last, and
//! those between, whose definitions mention the number of the segment. In each the bounds of all
//! loops are constants.

use super::find::{FARTHEST, Found, Member, Reader, Role, Sum, Why, clause_roots};
use crate::points::{
    Arr, ArrInfo, Body, Clause, Def, Ix, Kind, Node, Points, Reduction, Slot, Source, Subst, Window,
};
use ein_base::Symbol;
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The least number of steps of a segment.
const LEAST: i64 = 16;

/// How the steps are cut.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segments {
    /// The steps of all segments but the last.
    pub grain: i64,
    /// How many segments there are.
    pub count: i64,
    /// All steps.
    pub steps: i64,
}

impl Segments {
    /// About as many segments as they have steps; none for a few steps. It does not depend on the
    /// memory there is, and so neither do the results.
    pub(super) fn of(steps: i64) -> Option<Segments> {
        let root = (steps as f64).sqrt().ceil() as u64;
        let grain = (root.next_power_of_two() as i64).max(LEAST);
        let count = (steps + grain / 2) / grain;
        (count >= 4).then_some(Segments { grain, count, steps })
    }

    /// The first step of the last segment.
    pub(super) fn last(&self) -> i64 {
        (self.count - 1) * self.grain
    }

    /// The steps of the longest segment.
    pub(super) fn longest(&self) -> i64 {
        self.grain.max(self.steps - self.last())
    }
}

/// A kind of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    First,
    Between,
    Last,
}

/// Rows beside those of a segment that are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Halo {
    pub before: i64,
    pub after: i64,
}

impl Halo {
    fn widen(&mut self, of_reader: Halo, offset: i64) {
        self.before = self.before.max(of_reader.before - offset);
        self.after = self.after.max(of_reader.after + offset);
    }
}

/// The array that a recurrence has in a segment.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// The member.
    pub member: Member,
    /// The window.
    pub arr: Arr,
    /// The rows beside those of the segment.
    pub halo: Halo,
}

/// A single step that is kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Single {
    /// Where it is kept.
    pub arr: Arr,
    /// The array of the segment, and the row in it.
    pub from: (Arr, i64),
    /// The axis of time.
    pub axis: usize,
    /// The number of the segment.
    pub segment: i64,
}

/// What one pass does in a segment.
#[derive(Clone, Debug, Default)]
pub(super) struct Pass {
    /// The definitions, by number.
    pub defs: Vec<usize>,
    /// Parts of sums: the part and where it is added.
    pub sums: Vec<(Arr, Arr)>,
    /// Single steps to keep.
    pub singles: Vec<Single>,
    /// Arrays that are rows of results: the axis of time, and the result.
    pub results: Vec<(Arr, usize, Arr)>,
}

/// What happens in the segments of one kind.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// The kind.
    pub part: Part,
    /// How many steps they have.
    pub len: i64,
    /// The recurrences that run forward, with what they read.
    pub core: Vec<usize>,
    /// What else is done on the way forward.
    pub early: Pass,
    /// What is done on the way back.
    pub late: Pass,
}

/// A sweep, ready to be written.
#[derive(Clone, Debug)]
pub(super) struct Built {
    pub segments: Segments,
    /// The number of the segment.
    pub number: Ix,
    pub forward: Vec<Kept>,
    pub backward: Vec<Kept>,
    pub stages: [Stage; 3],
    /// Sums that are complete after the pass forward, and after the pass back.
    pub early_sums: Vec<Arr>,
    pub late_sums: Vec<Arr>,
}

/// Makes the definitions. Those outside the sweep are changed so that they read what it leaves.
pub(super) fn build(points: &mut Points, found: &Found) -> Result<Built, Why> {
    let segments = Segments::of(found.steps).ok_or("it has few steps")?;
    let between = (1, i128::from(segments.count - 2));
    let number = points.fresh(Symbol::intern("segment"), between);
    let needs = Needs::of(found)?;
    let mut builder = Builder {
        points,
        found,
        segments,
        number,
        needs,
        windows: BTreeMap::new(),
        singles: BTreeMap::new(),
        totals: Vec::new(),
    };
    builder.places();
    let stages = [
        builder.stage(Part::First)?,
        builder.stage(Part::Between)?,
        builder.stage(Part::Last)?,
    ];
    builder.outside()?;
    let kept = |role: Role| -> Vec<Kept> {
        let kept = builder.windows.iter().map(|(at, arr)| {
            let (member, halo) = (found.members[*at].clone(), builder.needs.window(*at));
            Kept { member, arr: *arr, halo }
        });
        kept.filter(|kept| kept.member.role == role).collect()
    };
    let totals = |late: bool| {
        let sums = found.sums.iter().zip(&builder.totals);
        sums.filter(|(sum, _)| sum.late == late).map(|(_, total)| *total).collect()
    };
    Ok(Built {
        segments,
        number,
        forward: kept(Role::Forward),
        backward: kept(Role::Backward),
        stages,
        early_sums: totals(false),
        late_sums: totals(true),
    })
}

/// What is computed in each pass, and how many rows of it.
struct Needs {
    /// Recurrences that run forward and what they read.
    core: BTreeSet<usize>,
    /// All that the pass forward computes, with the rows.
    early: BTreeMap<usize, Halo>,
    /// All that the pass back computes or reads, with the rows.
    late: BTreeMap<usize, Halo>,
}

impl Needs {
    fn of(found: &Found) -> Result<Needs, Why> {
        let members = || found.members.iter().enumerate();
        let forward = members().filter(|(_, member)| member.role == Role::Forward);
        let core = closure(found, forward.map(|(at, _)| at).collect(), true);
        let sums = |late: bool| {
            let reads = found.reads.iter();
            reads.filter(move |read| match read.reader {
                Reader::Sum(sum) => found.sums[sum].late == late,
                Reader::Member(_) => false,
            })
        };
        let mut first = core.clone();
        first.extend(sums(false).map(|read| read.member));
        first.extend(members().filter(|(_, it)| it.wanted && !it.late).map(|(at, _)| at));
        first.extend(found.singles.iter().map(|(at, _)| *at).filter(|at| !found.members[*at].late));
        let mut second: BTreeSet<usize> =
            members().filter(|(_, member)| member.late).map(|(at, _)| at).collect();
        second.extend(sums(true).map(|read| read.member));
        let early = rows(found, &closure(found, first, true), false);
        let late = rows(found, &closure(found, second, false), true);
        let needs = Needs { core, early, late };
        needs.check(found)?;
        Ok(needs)
    }

    fn check(&self, found: &Found) -> Result<(), Why> {
        for (at, member) in found.members.iter().enumerate() {
            let (early, late) = (self.early.get(&at), self.late.get(&at));
            let halos = || early.into_iter().chain(late);
            if halos().any(|halo| halo.before.max(halo.after) > FARTHEST) {
                return Err("its steps are read too far away");
            }
            let wrong = match member.role {
                Role::Forward => early.is_some_and(|halo| halo.after > 0),
                Role::Backward => late.is_some_and(|halo| halo.before > 0),
                Role::Plain => member.wanted && halos().any(|halo| *halo != Halo::default()),
            };
            if wrong {
                return Err("its steps are read before they are there");
            }
        }
        Ok(())
    }

    /// The rows that the window of a recurrence has beside those of a segment.
    fn window(&self, member: usize) -> Halo {
        let early = self.early.get(&member).copied().unwrap_or_default();
        let late = self.late.get(&member).copied().unwrap_or_default();
        Halo { before: early.before.max(late.before), after: late.after }
    }
}

/// These members and all that they read; what recurrences that run forward read only if `through`.
fn closure(found: &Found, start: BTreeSet<usize>, through: bool) -> BTreeSet<usize> {
    let mut all = start;
    loop {
        let more: Vec<usize> = found
            .reads
            .iter()
            .filter(|read| match read.reader {
                Reader::Member(reader) => {
                    let ends = found.members[reader].role == Role::Forward && !through;
                    all.contains(&reader) && !ends
                }
                Reader::Sum(_) => false,
            })
            .map(|read| read.member)
            .filter(|member| !all.contains(member))
            .collect();
        if more.is_empty() {
            return all;
        }
        all.extend(more);
    }
}

/// The rows of members that a pass looks at, beside those of the segment.
fn rows(found: &Found, active: &BTreeSet<usize>, late: bool) -> BTreeMap<usize, Halo> {
    let mut halos: BTreeMap<usize, Halo> =
        active.iter().map(|at| (*at, Halo::default())).collect();
    for read in &found.reads {
        if let Reader::Sum(sum) = read.reader
            && found.sums[sum].late == late
            && let Some(halo) = halos.get_mut(&read.member)
        {
            halo.widen(Halo::default(), read.offset);
        }
    }
    // Readers come after what they read.
    for at in active.iter().rev() {
        let plain = found.members[*at].role == Role::Plain;
        let own = if plain { halos[at] } else { Halo::default() };
        let reads = found.reads.iter().filter(|read| read.reader == Reader::Member(*at));
        for read in reads {
            if let Some(halo) = halos.get_mut(&read.member) {
                halo.widen(own, read.offset);
            }
        }
    }
    halos
}

struct Builder<'a> {
    points: &'a mut Points,
    found: &'a Found,
    segments: Segments,
    number: Ix,
    needs: Needs,
    /// The windows of recurrences.
    windows: BTreeMap<usize, Arr>,
    /// Where single steps of members are kept.
    singles: BTreeMap<(usize, i64), Arr>,
    /// Where sums are gathered.
    totals: Vec<Arr>,
}

impl Builder<'_> {
    /// Arrays for what outlives a segment.
    fn places(&mut self) {
        for (at, member) in self.found.members.iter().enumerate() {
            if member.role != Role::Plain {
                let Halo { before, after } = self.needs.window(at);
                let arr = self.like(member, before + self.segments.longest() + after);
                self.windows.insert(at, arr);
            }
        }
        for (at, step) in &self.found.singles {
            let member = &self.found.members[*at];
            let mut info = self.points.arrs[member.arr].clone();
            info.shape.remove(member.axis);
            info.source = Source::Defined(usize::MAX);
            let arr = self.points.arrs.push(info);
            self.singles.insert((*at, *step), arr);
        }
        for sum in &self.found.sums {
            let shape = self.shape(sum);
            let name = self.points.arrs[self.points.defs[sum.def].arr].name;
            let source = Source::Defined(usize::MAX);
            let total = ArrInfo { name, ty: ScalarType::F64, shape, source };
            self.totals.push(self.points.arrs.push(total));
        }
    }

    /// A new array like that of a member, with another number of steps.
    fn like(&mut self, member: &Member, rows: i64) -> Arr {
        let mut info = self.points.arrs[member.arr].clone();
        info.shape[member.axis] = rows;
        self.points.arrs.push(info)
    }

    fn shape(&self, sum: &Sum) -> Vec<i64> {
        sum.free.iter().map(|ix| (self.points.ixs[*ix].range.1 + 1) as i64).collect()
    }

    fn stage(&mut self, part: Part) -> Result<Stage, Why> {
        let len = match part {
            Part::First | Part::Between => self.segments.grain,
            Part::Last => self.segments.steps - self.segments.last(),
        };
        let mut stage =
            Stage { part, len, core: Vec::new(), early: Pass::default(), late: Pass::default() };
        let early = self.kept_rows(&stage, false);
        for (at, halo) in self.needs.early.clone() {
            let def = self.member(&stage, (at, halo), &early)?;
            if self.needs.core.contains(&at) {
                stage.core.push(def);
            } else {
                stage.early.defs.push(def);
            }
        }
        let late = self.kept_rows(&stage, true);
        for (at, halo) in self.needs.late.clone() {
            if self.found.members[at].role != Role::Forward {
                let def = self.member(&stage, (at, halo), &late)?;
                stage.late.defs.push(def);
            }
        }
        for (at, step) in self.found.singles.clone() {
            let is_late = self.found.members[at].late;
            let windows = if is_late { &late } else { &early };
            let single = self.single(&stage, at, step, windows);
            let pass = if is_late { &mut stage.late } else { &mut stage.early };
            pass.singles.extend(single);
        }
        for (at, sum) in self.found.sums.iter().enumerate() {
            let windows = if sum.late { &late } else { &early };
            let part = self.part_of_sum(&stage, sum, windows)?;
            let pass = if sum.late { &mut stage.late } else { &mut stage.early };
            if let Some((def, arr)) = part {
                pass.defs.push(def);
                pass.sums.push((arr, self.totals[at]));
            }
        }
        for (windows, pass) in [(&early, &mut stage.early), (&late, &mut stage.late)] {
            for member in self.found.members.iter().filter(|member| member.wanted) {
                if let Some(Window { axis, rows: Some((arr, _)), .. }) = windows.get(&member.arr) {
                    pass.results.push((*arr, *axis, member.arr));
                }
            }
        }
        Ok(stage)
    }

    /// The first step of a segment.
    fn base(&mut self, part: Part) -> Node {
        match part {
            Part::First => self.points.int(0),
            Part::Last => self.points.int(self.segments.last()),
            Part::Between => {
                let number = self.points.index(self.number);
                let grain = self.points.int(self.segments.grain);
                self.points.binary(BinaryOp::Mul, number, grain, None)
            }
        }
    }

    /// The rows of a plain member that are computed, from the first step of the segment.
    fn reach(&self, stage: &Stage, halo: Halo) -> (i64, i64) {
        let before = if stage.part == Part::First { 0 } else { halo.before };
        let after = if stage.part == Part::Last { 0 } else { halo.after };
        (-before, stage.len + after)
    }

    /// What is kept of each member in a segment.
    fn kept_rows(&mut self, stage: &Stage, late: bool) -> FxHashMap<Arr, Window> {
        let base = self.base(stage.part);
        let active = if late { self.needs.late.clone() } else { self.needs.early.clone() };
        let mut windows = FxHashMap::default();
        for (at, halo) in active {
            let member = &self.found.members[at];
            let (arr, from) = match self.windows.get(&at) {
                Some(arr) => (*arr, -self.needs.window(at).before),
                None => {
                    let (from, to) = self.reach(stage, halo);
                    (self.like(member, to - from), from)
                }
            };
            let from = self.points.int(from);
            let origin = self.points.binary(BinaryOp::Add, base, from, None);
            let single = match late && !member.late {
                true => self.singles_of(at),
                false => FxHashMap::default(),
            };
            let (axis, rows) = (member.axis, Some((arr, origin)));
            windows.insert(member.arr, Window { axis, rows, single });
        }
        if late {
            // What is read only at single steps.
            for (at, member) in self.found.members.iter().enumerate() {
                let single = self.singles_of(at);
                windows.entry(member.arr).or_insert(Window { axis: member.axis, rows: None, single });
            }
        }
        windows
    }

    fn singles_of(&self, member: usize) -> FxHashMap<i64, Arr> {
        let of = self.singles.iter().filter(|((at, _), _)| *at == member);
        of.map(|((_, step), arr)| (*step, *arr)).collect()
    }

    /// Which of the rows `from..to` of a segment the steps `lo..hi` are; `None` if they are not the
    /// same in all segments of a kind.
    fn clip(&self, part: Part, (from, to): (i64, i64), (lo, hi): (i64, i64)) -> Option<(i64, i64)> {
        let Segments { grain, count, .. } = self.segments;
        let base = match part {
            Part::First => 0,
            Part::Last => self.segments.last(),
            Part::Between => {
                let (first, last) = (grain + from, (count - 2) * grain + to);
                let apart = hi <= first || last <= lo;
                let covers = lo <= first && last <= hi;
                return match (apart, covers) {
                    (true, _) => Some((from, from)),
                    (_, true) => Some((from, to)),
                    _ => None,
                };
            }
        };
        Some(((lo - base).max(from), (hi - base).min(to)))
    }

    /// The definition of a member in a segment, by number.
    fn member(
        &mut self,
        stage: &Stage,
        (at, halo): (usize, Halo),
        windows: &FxHashMap<Arr, Window>,
    ) -> Result<usize, Why> {
        let member = &self.found.members[at];
        let def = self.points.defs[member.def].clone();
        let (arr, origin) = rows_of(windows, member.arr)?;
        let (reach, skipped) = match member.role {
            Role::Plain => {
                let reach = self.reach(stage, halo);
                (reach, -reach.0)
            }
            Role::Forward | Role::Backward => ((0, stage.len), self.needs.window(at).before),
        };
        let Body::Clauses(clauses, steps) = &def.body else { return Err("it has no clauses") };
        let mut new = Vec::new();
        for clause in clauses {
            let slot = clause.slots[member.axis];
            let bounds = (self.int(slot.lo)?, self.int(slot.hi)?);
            let (lo, hi) = self
                .clip(stage.part, reach, bounds)
                .ok_or("a clause begins or ends in the middle of its steps")?;
            if lo < hi {
                let rows = (lo + skipped, hi + skipped);
                new.push(self.clause(clause, member.axis, rows, origin, windows)?);
            }
        }
        let body = Body::Clauses(new, steps.clone());
        Ok(self.push(Def { arr, body, ..def }))
    }

    /// How many steps after the first of a segment between a row is.
    fn offset_of(&mut self, origin: Node) -> i64 {
        let base = self.base(Part::Between);
        self.points.linear(origin).minus(&self.points.linear(base)).offset
    }

    fn int(&self, node: Node) -> Result<i64, Why> {
        self.points.as_int(node).ok_or("the bounds of an index are not known")
    }

    fn push(&mut self, def: Def) -> usize {
        let number = self.points.defs.len();
        self.points.arrs[def.arr].source = Source::Defined(number);
        self.points.defs.push(def);
        number
    }

    /// A clause over rows of a window.
    fn clause(
        &mut self,
        clause: &Clause,
        axis: usize,
        rows: (i64, i64),
        origin: Node,
        windows: &FxHashMap<Arr, Window>,
    ) -> Result<Clause, Why> {
        let old = clause.slots[axis].ix;
        let (ix, slot) = self.rows(self.points.ixs[old].name, rows);
        let row = self.points.index(ix);
        let step = self.points.binary(BinaryOp::Add, origin, row, None);
        let mut subst = Subst::windows([(old, step)], windows.clone());
        let mut new = clause.clone();
        new.slots[axis] = slot;
        new.value = subst.apply(self.points, clause.value);
        new.guard = clause.guard.map(|guard| subst.apply(self.points, guard));
        new.otherwise = clause.otherwise.map(|other| subst.apply(self.points, other));
        match subst.left_a_window() {
            true => Err("its steps are read outside the segment"),
            false => Ok(new),
        }
    }

    /// An index over rows.
    fn rows(&mut self, name: Symbol, (lo, hi): (i64, i64)) -> (Ix, Slot) {
        let ix = self.points.fresh(name, (i128::from(lo), i128::from(hi - 1)));
        (ix, Slot { ix, lo: self.points.int(lo), hi: self.points.int(hi) })
    }

    /// Where a single step comes from, if it is in segments of this kind.
    fn single(
        &mut self,
        stage: &Stage,
        at: usize,
        step: i64,
        windows: &FxHashMap<Arr, Window>,
    ) -> Option<Single> {
        let Segments { grain, count, .. } = self.segments;
        let segment = (step / grain).min(count - 1);
        let part = match segment {
            0 => Part::First,
            _ if segment == count - 1 => Part::Last,
            _ => Part::Between,
        };
        let member = &self.found.members[at];
        let (arr, origin) = rows_of(windows, member.arr).ok()?;
        let first = match part {
            Part::Between => segment * grain + self.offset_of(origin),
            Part::First | Part::Last => self.points.as_int(origin)?,
        };
        let kept = self.singles[&(at, step)];
        let single = Single { arr: kept, from: (arr, step - first), axis: member.axis, segment };
        (part == stage.part).then_some(single)
    }

    /// The part of a sum in a segment: its definition and its array.
    fn part_of_sum(
        &mut self,
        stage: &Stage,
        sum: &Sum,
        windows: &FxHashMap<Arr, Window>,
    ) -> Result<Option<(usize, Arr)>, Why> {
        let Kind::Reduce(reduction) = self.points.nodes[sum.node].kind.clone() else {
            return Ok(None);
        };
        let (time, lo, hi) = reduction.binders[sum.binder];
        let (lo, hi) = self
            .clip(stage.part, (0, stage.len), (self.int(lo)?, self.int(hi)?))
            .ok_or("a sum begins or ends in the middle of its steps")?;
        if lo >= hi {
            return Ok(None);
        }
        let base = self.base(stage.part);
        let (ix, slot) = self.rows(self.points.ixs[time].name, (lo, hi));
        let row = self.points.index(ix);
        let step = self.points.binary(BinaryOp::Add, base, row, None);
        let mut subst = Subst::windows([(time, step)], windows.clone());
        let body = subst.apply(self.points, reduction.body);
        let guard = reduction.guard.map(|guard| subst.apply(self.points, guard));
        if subst.left_a_window() {
            return Err("its steps are read outside the segment");
        }
        let mut binders = reduction.binders.clone();
        binders[sum.binder] = (ix, slot.lo, slot.hi);
        let ty = self.points.nodes[sum.node].ty;
        let value = Reduction { op: ReduceOp::Sum, binders, guard, body };
        let value = self.points.reduce(value, ty);
        let slots = self.slots(sum);
        let def = &self.points.defs[sum.def];
        let (span, name) = (def.span, self.points.arrs[def.arr].name);
        let (shape, source) = (self.shape(sum), Source::Defined(usize::MAX));
        let arr = self.points.arrs.push(ArrInfo { name, ty, shape, source });
        let clause = Clause { slots, guard: None, value, otherwise: None };
        let body = Body::Clauses(vec![clause], None);
        Ok(Some((self.push(Def { arr, span, body, adjoint: false }), arr)))
    }

    /// The slots of the indices that a sum depends on.
    fn slots(&mut self, sum: &Sum) -> Vec<Slot> {
        let slot = |ix: &Ix| {
            let (lo, hi) = self.points.ixs[*ix].range;
            Slot { ix: *ix, lo: self.points.int(lo as i64), hi: self.points.int(hi as i64 + 1) }
        };
        sum.free.iter().map(slot).collect()
    }

    /// Definitions outside read totals and single steps.
    fn outside(&mut self) -> Result<(), Why> {
        let found = self.found;
        let windows: FxHashMap<Arr, Window> = found
            .members
            .iter()
            .enumerate()
            .filter(|(_, member)| !member.wanted)
            .map(|(at, member)| {
                (member.arr, Window { axis: member.axis, rows: None, single: self.singles_of(at) })
            })
            .collect();
        for def in found.outside.keys().copied() {
            let mut totals = FxHashMap::default();
            for (at, sum) in found.sums.iter().enumerate().filter(|(_, sum)| sum.def == def) {
                let total = self.total(sum, self.totals[at]);
                totals.insert(sum.node, total);
            }
            let mut body = self.points.defs[def].body.clone();
            let Body::Clauses(clauses, _) = &mut body else { continue };
            for clause in clauses {
                let mut gathered = Subst::nodes(totals.clone());
                let mut kept = Subst::windows([], windows.clone());
                let mut apply = |points: &mut Points, node: Node| {
                    let node = gathered.apply(points, node);
                    kept.apply(points, node)
                };
                clause.value = apply(self.points, clause.value);
                clause.guard = clause.guard.map(|guard| apply(self.points, guard));
                clause.otherwise = clause.otherwise.map(|other| apply(self.points, other));
                let reads = self.points.loads(&clause_roots(clause));
                let left = |arr: &Arr| windows.contains_key(arr);
                if kept.left_a_window() || reads.iter().any(|(arr, _)| left(arr)) {
                    return Err("its history is read other than step by step");
                }
            }
            self.points.defs[def].body = body;
        }
        Ok(())
    }

    /// What a sum is when it is complete.
    fn total(&mut self, sum: &Sum, total: Arr) -> Node {
        let at: Vec<Node> = sum.free.iter().map(|ix| self.points.index(*ix)).collect();
        let mut value = self.points.load(total, &at);
        if let Kind::Reduce(reduction) = &self.points.nodes[sum.node].kind
            && reduction.op == ReduceOp::Mean
        {
            let bounds = reduction.binders.iter();
            let extent = |(lo, hi): (Node, Node)| {
                self.points.as_int(hi).unwrap_or(0) - self.points.as_int(lo).unwrap_or(0)
            };
            let count: i64 = bounds.map(|(_, lo, hi)| extent((*lo, *hi)).max(0)).product();
            let count = self.points.constant(Scalar::F64(count as f64));
            value = self.points.binary(BinaryOp::Div, value, count, None);
        }
        let ty = self.points.nodes[sum.node].ty;
        self.points.cast(value, ty)
    }
}

fn rows_of(windows: &FxHashMap<Arr, Window>, arr: Arr) -> Result<(Arr, Node), Why> {
    windows.get(&arr).and_then(|window| window.rows).ok_or("its steps are not kept")
}
