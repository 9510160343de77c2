//! Recurrences: steps in order, windows of storage, a cell carried from step to step.
//!
//! Failures: the steps are those of the program in an order of the program; none is left out, also
//! if its storage is used again before anybody reads it.

use super::beside;
use super::emit::{Emit, Place};
use super::plan::{Stepped, What, Why};
use super::sample::RowAxis;
use super::until::Ends;
use super::view::View;
use crate::points::reduction::without_only_points;
use crate::points::{Arr, Body, Clause, Ix, Kind, Node, Step};
use ein_base::Symbol;
use ein_ir::loops::{ForKind, Operand};
use ein_scalar::Scalar;

mod apart;
mod carried;
mod parts;
mod skew;
mod state;
mod uncovered;
mod window;

pub(crate) use carried::PASS;
pub(crate) use carried::independent;
use carried::only_waits_for;
pub(crate) use parts::has_parts;

/// An axis that loops around run over, with the bounds of the tile if there is one.
type Shared = (usize, Option<(Node, Node)>);

/// Where a step of a recurrence is.
struct At<'a> {
    arr: Arr,
    steps: &'a [Step],
    shared: &'a [Shared],
    /// The position along each axis, as far as it is chosen.
    place: Vec<Option<Node>>,
    /// Along each axis of steps, from where to where the steps go whose loop this is in.
    within: Vec<Option<(i64, i64)>>,
    /// The run of steps that is being filled.
    run: Option<Run>,
    /// The clauses whose cells in it are filled already.
    filled: Vec<Clause>,
}

/// Steps with the same clauses.
#[derive(Clone, Copy)]
struct Run {
    ix: Ix,
    /// The first of them, in the order in which they are filled.
    first: i64,
    steps: i64,
    backward: bool,
}

impl Emit {
    /// Fills a recurrence, step by step.
    pub(crate) fn recurrence(
        &mut self,
        arr: Arr,
        clauses: &[Clause],
        steps: &[Step],
        shared: &[Shared],
    ) {
        let alone = shared.is_empty();
        let clauses = if alone && self.ends.is_none() {
            self.with_mirror(arr, clauses, steps)
        } else {
            clauses.to_vec()
        };
        let clauses: Vec<Clause> =
            clauses.iter().map(|clause| self.with_turned_arrays(arr, clause, steps)).collect();
        let ordered = in_order(&self.view(), arr, &clauses, steps);
        let rank = self.points.arrs[arr].shape.len();
        let mut place = vec![None; rank];
        if let Some(Body::Until(body)) =
            self.points.def_of(arr).map(|def| &self.points.defs[def].body)
        {
            // Loops around are at one point of these axes.
            for (axis, ix) in body.around.clone().into_iter().enumerate() {
                place[axis] = Some(self.points.index(ix));
            }
        }
        let mut at = At {
            arr,
            steps,
            shared,
            place,
            within: vec![None; rank],
            run: None,
            filled: Vec::new(),
        };
        let floor = self.floors.get(&arr).copied();
        self.flushing(decays(&self.view(), arr), |emit| {
            let mirrored = emit.mirrors.contains_key(&arr);
            let whole = alone && emit.ends.is_none() && !mirrored && !beside::has(emit, arr);
            if !whole || !emit.wavefront(arr, &ordered, steps) {
                emit.step(&mut at, &ordered, 0);
            }
        });
        match floor {
            Some(floor) => self.floors.insert(arr, floor),
            None => self.floors.remove(&arr),
        };
    }

    /// What `code` emits, with subnormal numbers flushed to zero if so wished.
    pub(crate) fn flushing(&mut self, wished: bool, code: impl FnOnce(&mut Self)) {
        if !wished {
            return code(self);
        }
        let once = self.points.fresh(Symbol::intern("once"), (0, 0));
        let int = |value: i64| Operand::Const(Scalar::I64(value));
        self.open(once, int(0), int(1), ForKind::Flushed);
        code(self);
        self.close();
    }

    /// The steps along the recurrence axis with this number, then those inside.
    fn step(&mut self, at: &mut At<'_>, clauses: &[Clause], depth: usize) {
        let Some(Step { axis, backward }) = at.steps.get(depth).copied() else {
            return self.points_of_step(at, clauses);
        };
        let extent = self.points.arrs[at.arr].shape[axis];
        let (first, end) = match self.filled.get(&at.arr) {
            Some(rows) if depth == 0 => *rows,
            Some(_) | None => (0, extent),
        };
        let mut cuts = vec![first, end];
        if let Some(Ends::Asked(it)) = self.ends.filter(|_| depth == 0) {
            cuts.extend([it.asked.0, it.asked.1]);
        }
        for clause in clauses {
            let (lo, hi) = self.points.ixs[clause.slots[axis].ix].range;
            cuts.extend([lo as i64, hi as i64 + 1]);
        }
        // Parts lie in places of their own, also where no clause defines their cells.
        let packed = self.places.get(&at.arr).and_then(Place::packed);
        for own in packed.iter().flat_map(|packed| packed.reaches()) {
            let (from, to) = own[axis];
            cuts.extend([from, to].iter().filter(|at| (first..end).contains(at)));
        }
        cuts.sort_unstable();
        cuts.dedup();
        let mut segments: Vec<(i64, i64)> = cuts.windows(2).map(|two| (two[0], two[1])).collect();
        if backward {
            segments.reverse();
        }
        for (lo, hi) in segments {
            let active: Vec<Clause> = clauses
                .iter()
                .filter(|clause| {
                    let (first, last) = self.points.ixs[clause.slots[axis].ix].range;
                    first as i64 <= lo && hi <= last as i64 + 1
                })
                .cloned()
                .collect();
            let skew = match self.ends {
                None if !beside::has(self, at.arr) => self.skew(at, &active, (lo, hi)),
                None | Some(_) => None,
            };
            match skew {
                Some(skew) => {
                    // The first steps, one in each place of the ring, fill what no clause does.
                    self.segment(at, &active, depth, (lo, lo + skew.kept), backward);
                    let how = Stepped::Skewed { rows: skew.width, steps: skew.block };
                    self.plan.begin(self.steps(at, (lo + skew.kept, hi), how), skew.why());
                    self.skewed(at, &active, (lo + skew.kept, hi), skew);
                    self.plan.end();
                }
                None => self.segment(at, &active, depth, (lo, hi), backward),
            }
        }
    }

    fn segment(
        &mut self,
        at: &mut At<'_>,
        active: &[Clause],
        depth: usize,
        (lo, hi): (i64, i64),
        backward: bool,
    ) {
        let int = |value: i64| Operand::Const(Scalar::I64(value));
        let axis = at.steps[depth].axis;
        let rest = apart::fill(self, at, active, depth, (lo, hi));
        let active = rest.as_deref().unwrap_or(active);
        let ix = match active.first() {
            Some(clause) => clause.slots[axis].ix,
            None => {
                let range = (i128::from(lo), i128::from(hi - 1));
                self.points.fresh(Symbol::intern("s"), range)
            }
        };
        let state = self.state(at, active, depth, ix);
        let mut carried = match &state {
            Some(cells) => self.carry_cells(at, cells, (axis, ix), (lo, hi), backward),
            None => self.carry(at, active, depth, (lo, hi), backward),
        };
        let late: Vec<Clause>;
        let active = match (carried.as_mut_slice(), active) {
            ([only], [clause]) if state.is_none() => {
                only.value = self.with_cell_last(clause.value, only.cell);
                late = vec![Clause { value: only.value, ..clause.clone() }];
                late.as_slice()
            }
            _ => active,
        };
        if let ([only], [clause], None) = (carried.as_slice(), active, &state) {
            let rest = independent(&self.view(), clause.value, only.cell, ix);
            let ahead = only_waits_for(&self.view(), at, clause, only.cell, axis);
            let whole = !self.samples.contains_key(&at.arr);
            let whole = whole && self.ends.is_none();
            if whole && ahead && !backward && !rest.is_empty() && hi - lo >= 64 {
                let cell = (only.cell, only.var);
                let why = Why::Count(rest.len() as i64, "parts of a cell wait for no other");
                self.plan.note(self.steps(at, (lo, hi), Stepped::TwoPasses(PASS)), why);
                self.in_two_passes(at, clause, axis, (lo, hi), cell, &rest);
                return at.filled.clear();
            }
        }
        let (how, why) = match (&state, carried.len()) {
            (Some(cells), _) => (
                Stepped::State(cells.len()),
                Why::Since("a step has few cells, which are written out"),
            ),
            (None, 0) => (Stepped::InOrder, Why::Since("each step reads those before it")),
            (None, _) => (Stepped::Carried, Why::Since("the next step reads a single cell again")),
        };
        self.plan.begin(self.steps(at, (lo, hi), how), why);
        let asked = if depth == 0 { self.asked_after((lo, hi)) } else { None };
        let kind = match asked {
            Some(asked) => ForKind::Until(asked.done),
            None if backward => ForKind::Backward,
            None => ForKind::Serial,
        };
        let end = if depth == 0 { self.end_of_steps((lo, hi)) } else { int(hi) };
        let var = self.open(ix, int(lo), end, kind);
        for clause in active.iter().skip(1) {
            self.alias(clause.slots[axis].ix, var);
        }
        let here = self.here();
        self.floors.insert(at.arr, here);
        if let Some((mirror, _)) = self.mirrors.get(&at.arr) {
            self.floors.insert(*mirror, here);
        }
        let before = at.place[axis].replace(self.points.index(ix));
        let outside = at.within[axis].replace((lo, hi));
        let first = if backward { hi - 1 } else { lo };
        // How many there are decides which of those that run downward is the first.
        let known = !backward || self.ends.is_none();
        at.run = known.then_some(Run { ix, first, steps: hi - lo, backward });
        for it in &carried {
            self.remember(it.cell, Operand::Reg(it.var));
        }
        let outer = self.step.replace(ix);
        match state {
            Some(cells) => {
                self.uncovered(at, active);
                self.body(at.arr, &cells);
            }
            None => self.step(at, active, depth + 1),
        }
        self.step = outer;
        if let Some(asked) = asked {
            self.asks(asked, var);
        }
        self.pass_on(&carried);
        if depth == 0 {
            let row = self.axes_of_step(at, active.first());
            self.copy_sample(at.arr, axis, ix, &row);
        }
        (at.place[axis], at.within[axis]) = (before, outside);
        at.filled.clear();
        self.close();
        self.plan.end();
        match here {
            1 => self.floors.remove(&at.arr),
            _ => self.floors.insert(at.arr, here - 1),
        };
    }

    /// The decision on a run of steps.
    fn steps(&self, at: &At<'_>, range: (i64, i64), how: Stepped) -> What {
        What::Steps { of: self.points.arrs[at.arr].name, range, how }
    }

    /// The axes of a step: what loops around run over, and what is inside.
    fn axes_of_step(&mut self, at: &At<'_>, clause: Option<&Clause>) -> Vec<RowAxis> {
        let shape = self.points.arrs[at.arr].shape.clone();
        let over = |emit: &mut Emit, extent: i64, bounds: (Node, Node)| {
            let range = (0, i128::from(extent - 1).max(0));
            let ix = emit.points.fresh(Symbol::intern("i"), range);
            RowAxis::Over((ix, bounds.0, bounds.1))
        };
        let mut axes = Vec::new();
        for (axis, extent) in shape.into_iter().enumerate() {
            let whole = (self.points.int(0), self.points.int(extent));
            let shared = at.shared.iter().find(|(shared, _)| *shared == axis);
            axes.push(match (shared, clause) {
                (Some((_, Some(tile))), _) => over(self, extent, *tile),
                (Some((_, None)), Some(clause)) => {
                    RowAxis::At(self.points.index(clause.slots[axis].ix))
                }
                _ => over(self, extent, whole),
            });
        }
        axes
    }

    /// All cells of one step.
    fn points_of_step(&mut self, at: &mut At<'_>, clauses: &[Clause]) {
        self.uncovered(at, clauses);
        let mut stored = None;
        for clause in parts::over_the_same_steps(&mut self.points, clauses, at.steps) {
            let alone = at.shared.is_empty() && !self.in_parallel;
            let clause = match alone {
                true => self.parts_of_step(at.arr, &clause, at.steps, &mut stored),
                false => clause,
            };
            let value = without_only_points(&mut self.points, clause.value, true);
            let clause = Clause { value, ..clause };
            let mut loops = Vec::new();
            for (axis, slot) in clause.slots.iter().enumerate() {
                if at.steps.iter().any(|step| step.axis == axis) {
                    continue;
                }
                match at.shared.iter().find(|(shared, _)| *shared == axis) {
                    Some((_, Some((lo, hi)))) => loops.push((slot.ix, *lo, *hi)),
                    Some((_, None)) => {}
                    None => loops.push((slot.ix, slot.lo, slot.hi)),
                }
            }
            // The tile runs in vectors; short axes beside it are written out.
            loops.sort_by_key(|(_, lo, hi)| self.points.trip_count(*lo, *hi) <= 4.0);
            let cell = self.cell(&clause, at.arr);
            beside::nest_of_step(self, at.arr, &clause, loops, cell);
        }
    }
}

/// Whether an array is likely to end in subnormal numbers that nobody wants: what flows back
/// through many steps. Programs never ask for these arrays themselves.
pub(crate) fn decays(view: &View<'_>, arr: Arr) -> bool {
    let def = view.points.def_of(arr).map(|def| &view.points.defs[def]);
    def.is_some_and(|def| def.adjoint) && view.points.arrs[arr].ty.is_float() && !view.points.exact
}

/// Clauses in an order in which those that read others of the same step come after them.
fn in_order(view: &View<'_>, arr: Arr, clauses: &[Clause], steps: &[Step]) -> Vec<Clause> {
    let reads_same_step = |clause: &Clause, other: &Clause| {
        view.points.loads(&[clause.value]).iter().any(|(read, at)| {
            *read == arr
                && steps.iter().all(|step| {
                    let slot = clause.slots[step.axis];
                    view.points.nodes[at[step.axis]].kind == Kind::Index(slot.ix)
                        || view.points.nodes[at[step.axis]].range
                            == Some(view.points.ixs[slot.ix].range)
                })
                && at.iter().zip(&other.slots).all(|(node, slot)| {
                    let (lo, hi) = view.points.ixs[slot.ix].range;
                    let read = view.points.nodes[*node].range.unwrap_or((lo, hi));
                    read.0 <= hi && lo <= read.1
                })
        })
    };
    let mut left: Vec<usize> = (0..clauses.len()).collect();
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let ready = left.iter().position(|at| {
            left.iter().all(|o| o == at || !reads_same_step(&clauses[*at], &clauses[*o]))
        });
        // The checker has refused cycles; if bounds are too coarse to see it, source order.
        let next = left.remove(ready.unwrap_or(0));
        ordered.push(clauses[next].clone());
    }
    ordered
}
