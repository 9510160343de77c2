//! The definitions of a segment: those of the members, over the rows of windows.
//!
//! There are three kinds of segments, each with definitions of its own: the first, the last, and
//! those between, whose definitions mention the number of the segment. In each the bounds of all
//! loops are constants.

use super::find::{Found, Member, Role, Sum, Why};
use super::needs::{Halo, Needs};
use crate::points::{
    Arr, ArrInfo, Body, Clause, Def, Ix, Node, Points, Slot, Source, Subst, Window,
};
use ein_base::Symbol;
use ein_ir::cost::Cost;
use ein_scalar::{BinaryOp, ScalarType};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

/// The least number of steps of a segment where there are many steps: products of matrices want
/// some.
const MANY: i64 = 32;

/// The least number where there are fewer.
const SOME: i64 = 16;

/// The least number where there are few, but large ones.
const FEW: i64 = 8;

/// Parts of a sum of `f32` are added in `f32` if there are at most so many.
const FEW_PARTS: i64 = 1024;

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
    /// About as many segments as they have steps; none for a few steps of a few bytes. It does not
    /// depend on the memory there is, and so neither do the results.
    pub(super) fn of(steps: i64, bytes: u64, cost: Cost) -> Option<Segments> {
        let least = match steps {
            _ if steps >= 4 * MANY => MANY,
            _ if steps >= 4 * SOME => SOME,
            _ if bytes >= cost.large_history_bytes() => FEW,
            _ => return None,
        };
        let (root, unit) = ((steps as f64).sqrt().ceil() as i64, least.min(SOME));
        let grain = ((root + unit - 1) / unit * unit).max(least);
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

impl Pass {
    /// Whether it does nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.defs.is_empty() && self.singles.is_empty()
    }
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
    /// Definitions that are complete after a pass, since they are sums and nothing else.
    pub complete: BTreeSet<usize>,
    /// Sums that are complete after the pass forward, and after the pass back.
    pub early_sums: Vec<Arr>,
    pub late_sums: Vec<Arr>,
}

/// Makes the definitions. Those outside the sweep are changed so that they read what it leaves.
pub(super) fn build(points: &mut Points, found: &Found) -> Result<Built, Why> {
    let segments =
        Segments::of(found.steps, found.bytes(points), points.cost).ok_or("it has few steps")?;
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
        parts: Vec::new(),
        complete: BTreeSet::new(),
    };
    builder.places();
    let stages =
        [builder.stage(Part::First)?, builder.stage(Part::Between)?, builder.stage(Part::Last)?];
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
        complete: builder.complete.clone(),
        early_sums: totals(false),
        late_sums: totals(true),
    })
}

/// The definitions being made.
pub(super) struct Builder<'a> {
    pub(super) points: &'a mut Points,
    pub(super) found: &'a Found,
    segments: Segments,
    number: Ix,
    needs: Needs,
    /// The windows of recurrences.
    windows: BTreeMap<usize, Arr>,
    /// Where single steps of members are kept.
    singles: BTreeMap<(usize, i64), Arr>,
    /// Where sums are gathered.
    pub(super) totals: Vec<Arr>,
    /// Where the part of a segment is.
    pub(super) parts: Vec<Arr>,
    /// Definitions that are sums and nothing else.
    pub(super) complete: BTreeSet<usize>,
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
            let result = self.points.defs[sum.def].arr;
            let (shape, name) = (self.shape(sum), self.points.arrs[result].name);
            let ty = self.points.nodes[sum.node].ty;
            let source = Source::Defined(usize::MAX);
            let part = ArrInfo { name, ty, shape, source };
            self.parts.push(self.points.arrs.push(part.clone()));
            let many = self.segments.count > FEW_PARTS;
            let total = if !many && self.is_all_of(sum) {
                self.complete.insert(sum.def);
                result
            } else {
                let ty = if many { ScalarType::F64 } else { ty };
                self.points.arrs.push(ArrInfo { ty, ..part })
            };
            self.totals.push(total);
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
            let part = self.part_of_sum(&stage, (at, sum), windows)?;
            let pass = if sum.late { &mut stage.late } else { &mut stage.early };
            if let Some(def) = part {
                pass.defs.push(def);
                pass.sums.push((self.parts[at], self.totals[at]));
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
    pub(super) fn base(&mut self, part: Part) -> Node {
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
                windows.entry(member.arr).or_insert(Window {
                    axis: member.axis,
                    rows: None,
                    single,
                });
            }
        }
        windows
    }

    pub(super) fn singles_of(&self, member: usize) -> FxHashMap<i64, Arr> {
        let of = self.singles.iter().filter(|((at, _), _)| *at == member);
        of.map(|((_, step), arr)| (*step, *arr)).collect()
    }

    /// Which of the rows `from..to` of a segment the steps `lo..hi` are; `None` if they are not the
    /// same in all segments of a kind.
    pub(super) fn clip(
        &self,
        part: Part,
        (from, to): (i64, i64),
        (lo, hi): (i64, i64),
    ) -> Option<(i64, i64)> {
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

    pub(super) fn int(&self, node: Node) -> Result<i64, Why> {
        self.points.as_int(node).ok_or("the bounds of an index are not known")
    }

    pub(super) fn push(&mut self, def: Def) -> usize {
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
    pub(super) fn rows(&mut self, name: Symbol, (lo, hi): (i64, i64)) -> (Ix, Slot) {
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
}

fn rows_of(windows: &FxHashMap<Arr, Window>, arr: Arr) -> Result<(Arr, Node), Why> {
    windows.get(&arr).and_then(|window| window.rows).ok_or("its steps are not kept")
}
