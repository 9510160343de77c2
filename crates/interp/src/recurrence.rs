//! Definitions that read themselves: points are computed in the order that the checker derived, and
//! a point that is read before its turn is computed on demand.
//!
//! Each point is unset, under way, or done. A point that needs itself is an error. A demanded point
//! is computed in a copy of the frame in which the definition stands, so that the indices of the
//! point that asked keep their values.

use ein_base::{Code, Span};
use ein_ir::tensor::{Clause, ClauseSlot, Expr, IndexArg, Recurrence, Tensor};

use crate::array::count;
use crate::definition::Build;
use crate::keep::{Scope, steps};
use crate::machine::Machine;
use crate::parts::{Way, claim_row, steps_in_parts};
use crate::rows::fill_row;
use crate::stop::{MarkKind, Stop};
use crate::value::Value;

/// A recurrence under way.
pub(crate) struct Pending<'p> {
    pub(crate) tensor: &'p Tensor,
    pub(crate) build: Build<'p>,
    /// For each point: 0 if no clause covers it, the number of its clause plus one, `UNDER_WAY`,
    /// or `DONE`.
    pub(crate) states: Vec<u32>,
    /// Of a recurrence that failed as a kernel: the rows that are known to `states`, or computed.
    claimed: Option<Claimed>,
    /// What the points of each clause share; taken by the point that is being computed.
    pub(crate) scopes: Vec<Scope<'p>>,
    /// The frame in which the definition stands.
    base: usize,
    slots: usize,
}

/// Which rows of a recurrence have been looked at.
struct Claimed {
    /// Along which axis.
    axis: usize,
    /// The extent that clauses may cover.
    limit: usize,
    rows: Vec<bool>,
}

/// The rows of a recurrence whose points are claimed: those from `from` on that there is room for.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    /// Along which axis.
    pub(crate) axis: usize,
    /// The extent that clauses may cover.
    pub(crate) limit: usize,
    /// The first row.
    pub(crate) from: usize,
    /// Where they end.
    pub(crate) to: usize,
}

pub(crate) const DONE: u32 = u32::MAX;
pub(crate) const UNDER_WAY: u32 = u32::MAX - 1;

impl Pending<'_> {
    /// What to look at to know which clauses cover a row, if that is not known.
    pub(crate) fn unclaimed(&self, at: usize) -> Option<Rows> {
        let Claimed { axis, limit, rows } = self.claimed.as_ref()?;
        (!rows.get(at)?).then_some(Rows { axis: *axis, limit: *limit, from: at, to: at + 1 })
    }

    /// Notes that clauses need not be looked for in these rows any more.
    pub(crate) fn claimed(&mut self, (lo, hi): (i64, i64)) {
        if let Some(claimed) = &mut self.claimed {
            claimed.rows[lo as usize..hi as usize].fill(true);
        }
    }

    /// Lets the clauses of rows be looked for when they are needed; there are so many now.
    pub(crate) fn claim_later(&mut self, axis: usize, limit: usize, rows: usize) {
        let limits = Claimed { axis, limit, rows: Vec::new() };
        self.claimed.get_or_insert(limits).rows.resize(rows, false);
    }

    /// The row of a point, if no clause has been looked for there.
    fn unclaimed_row(&self, point: usize) -> Option<usize> {
        let Claimed { axis, .. } = self.claimed.as_ref()?;
        let outer = &self.build.outer;
        let row = point / count(&outer[axis + 1..]).max(1) % outer[*axis].max(1);
        self.unclaimed(row).map(|_| row)
    }

    /// The extents, those of array-valued bodies as far as known.
    pub(crate) fn full_shape(&self) -> &[usize] {
        &self.build.shape
    }

    /// The number of the point at this index, if it is one.
    fn point(&self, at: &[i64]) -> Option<usize> {
        let outer = &self.build.outer;
        if at.len() != outer.len() {
            return None;
        }
        at.iter().zip(outer).try_fold(0, |point, (at, extent)| {
            let at = usize::try_from(*at).ok().filter(|at| at < extent)?;
            Some(point * extent + at)
        })
    }
}

impl<'p> Machine<'p> {
    /// Fills a definition that reads itself.
    pub(crate) fn recurrence(
        &mut self,
        tensor: &'p Tensor,
        build: Build<'p>,
    ) -> Result<Build<'p>, Stop> {
        let (outer, span) = (build.outer.clone(), build.span);
        let extent = outer.first().copied().unwrap_or(0);
        let rows = Rows { axis: 0, limit: extent, from: 0, to: extent };
        let mut states = vec![0; count(&outer)];
        let order = order(tensor.recurrence.as_deref(), &outer);
        let failed = build.failed.filter(|_| !self.in_a_loop() && !order.is_empty());
        let row_by_row = failed.is_some() && self.domains_stand(tensor, &outer)?;
        if !row_by_row {
            self.claim_all(tensor, rows, &outer, &mut states)?;
        }
        let id = self.begin(tensor, build, states);
        if let (true, Some(step)) = (row_by_row, order.first()) {
            self.pending[id].claim_later(step.axis, step.extent, step.extent);
        }
        if self.pending[id].build.metered {
            self.meter.enter(0, count(&outer) as u64);
        }
        match failed {
            Some(failed) => steps_in_parts(self, id, failed, (&order, 0), &mut Vec::new(), 0)?,
            None => self.run_order(id, &order, 0)?,
        }
        if let Some(var) = tensor.self_var {
            self.bind(var, Value::Unit);
        }
        match self.pending.pop() {
            Some(pending) => Ok(pending.build),
            None => Err(self.malformed(span, "a recurrence was lost")),
        }
    }

    /// Whether no domain of a clause depends on an index, so that all of them are known now.
    pub(crate) fn domains_stand(
        &mut self,
        tensor: &'p Tensor,
        outer: &[usize],
    ) -> Result<bool, Stop> {
        for clause in &tensor.clauses {
            self.check_slots(clause, outer.len())?;
            for (axis, slot) in clause.slots.iter().enumerate() {
                if !self.is_rectangular(slot, clause) {
                    return Ok(false);
                }
                let (lo, hi) = self.slot_domain(slot, axis, outer[axis], clause)?;
                if lo >= hi {
                    break;
                }
            }
        }
        Ok(true)
    }

    /// Puts a recurrence under way.
    pub(crate) fn begin(
        &mut self,
        tensor: &'p Tensor,
        build: Build<'p>,
        states: Vec<u32>,
    ) -> usize {
        let id = self.pending.len();
        let (base, slots) = (self.base, self.slots);
        let scopes = tensor.clauses.iter().map(|it| self.scope_of_clause(tensor, it)).collect();
        let claimed = None;
        self.pending.push(Pending { tensor, build, states, claimed, scopes, base, slots });
        if let Some(var) = tensor.self_var {
            self.bind(var, Value::Pending(id as u32));
        }
        id
    }

    /// Notes which clause covers each point of some rows.
    pub(crate) fn claim_all(
        &mut self,
        tensor: &'p Tensor,
        rows: Rows,
        outer: &[usize],
        states: &mut [u32],
    ) -> Result<(), Stop> {
        for (number, clause) in tensor.clauses.iter().enumerate() {
            self.check_slots(clause, outer.len())?;
            self.claim(clause, 0, 0, (outer, rows), number as u32 + 1, states)?;
        }
        Ok(())
    }

    /// Notes which points a clause covers.
    fn claim(
        &mut self,
        clause: &'p Clause,
        axis: usize,
        point: usize,
        (outer, rows): (&[usize], Rows),
        owner: u32,
        states: &mut [u32],
    ) -> Result<(), Stop> {
        let Some(slot) = clause.slots.get(axis) else {
            states[point] = owner;
            return Ok(());
        };
        let (lo, hi) = if axis == rows.axis {
            let (lo, hi) = self.slot_domain(slot, axis, rows.limit, clause)?;
            (lo.max(rows.from as i64), hi.min(rows.to as i64))
        } else {
            self.slot_domain(slot, axis, outer[axis], clause)?
        };
        for at in lo..hi {
            self.tick()?;
            if let ClauseSlot::Loop(binder) = slot {
                let index = self.index_value(at, binder.lo.span)?;
                self.bind(binder.var, index);
            }
            let row = point * outer[axis] + at as usize;
            self.claim(clause, axis + 1, row, (outer, rows), owner, states)?;
        }
        Ok(())
    }

    /// Computes the points in order.
    pub(crate) fn run_order(
        &mut self,
        id: usize,
        order: &[Step],
        point: usize,
    ) -> Result<(), Stop> {
        let Some((step, rest)) = order.split_first() else {
            self.tick()?;
            self.compute(id, point, Way::Evaluate)?;
            if self.pending[id].build.metered {
                self.meter.step(0);
            }
            return Ok(());
        };
        if is_row(&self.pending[id], order) && fill_row(self, id, point)? {
            return Ok(());
        }
        for at in 0..step.extent {
            let at = if step.backward { step.extent - 1 - at } else { at };
            self.run_order(id, rest, point + at * step.stride)?;
        }
        Ok(())
    }

    /// Computes a point in the current frame, unless that has happened.
    pub(crate) fn compute(&mut self, id: usize, point: usize, way: Way) -> Result<(), Stop> {
        let state = self.pending[id].states[point];
        if matches!(state, 0 | DONE | UNDER_WAY) {
            return Ok(());
        }
        let tensor = self.pending[id].tensor;
        let number = state as usize - 1;
        let clause = &tensor.clauses[number];
        let marks = self.marks.len();
        let mut rest = point;
        for (axis, slot) in clause.slots.iter().enumerate().rev() {
            let extent = self.pending[id].build.outer[axis];
            let at = rest % extent;
            rest /= extent;
            if let ClauseSlot::Loop(binder) = slot {
                let index = self.index_value(at as i64, binder.lo.span)?;
                self.bind(binder.var, index);
            }
        }
        for slot in &clause.slots {
            if let ClauseSlot::Loop(binder) = slot {
                self.push_mark(MarkKind::Index(binder.var));
            }
        }
        self.pending[id].states[point] = UNDER_WAY;
        let value = match self.alone(way, |machine| machine.value_at_point(id, number)) {
            Ok(value) => value,
            Err(stop) => {
                // A `try` may go on, and ask again.
                self.pending[id].states[point] = state;
                return Err(stop);
            }
        };
        if let Some(value) = value {
            self.write_pending(id, point, value, clause.span)?;
        }
        self.pending[id].states[point] = DONE;
        self.marks.truncate(marks);
        Ok(())
    }

    /// The value of a clause at the point whose indices are bound.
    fn value_at_point(&mut self, id: usize, number: usize) -> Result<Option<Value>, Stop> {
        let tensor = self.pending[id].tensor;
        let clause = &tensor.clauses[number];
        // Taken out and put back: what is read may ask for other points.
        let scope = std::mem::take(&mut self.pending[id].scopes[number]);
        let before = self.ordered;
        if scope.in_order() && clause.indices().count() == steps(tensor, clause).len() {
            self.ordered = self.marks.len();
        }
        let (value, scope) = self.within(scope, |machine| machine.clause_value(clause));
        self.ordered = before;
        if let Some(pending) = self.pending.get_mut(id) {
            pending.scopes[number] = scope;
        }
        value
    }

    fn write_pending(
        &mut self,
        id: usize,
        point: usize,
        value: Value,
        span: Span,
    ) -> Result<(), Stop> {
        if let (Value::Scalar(_), Some(cells)) = (&value, self.pending[id].build.scalars()) {
            return match cells.set(point, value) {
                Ok(()) => Ok(()),
                Err(value) => Err(self.expected(span, "an element of the definition", &value)),
            };
        }
        // Taken out and put back: writing an array needs the machine.
        let mut build = std::mem::replace(&mut self.pending[id].build, Build::nothing(span));
        let result = self.write(&mut build, point, value, span);
        self.pending[id].build = build;
        result
    }

    /// Makes sure that a point has its value.
    fn demand(&mut self, id: usize, point: usize, span: Span) -> Result<(), Stop> {
        let unclaimed = self.pending[id].unclaimed_row(point);
        match self.pending[id].states[point] {
            0 | DONE if unclaimed.is_none() => return Ok(()),
            UNDER_WAY => return Err(self.cycle(id, point, span)),
            _ => {}
        }
        self.descend(span)?;
        let (from, count) = (self.pending[id].base, self.pending[id].slots);
        let (base, slots, start) = (self.base, self.slots, self.locals.len());
        self.locals.extend_from_within(from..from + count);
        self.base = start;
        self.slots = count;
        self.push_mark(MarkKind::Definition(self.pending[id].tensor.name));
        unclaimed.map_or(Ok(()), |row| claim_row(self, id, row))?;
        self.compute(id, point, Way::Evaluate)?;
        self.marks.pop();
        self.locals.truncate(start);
        self.base = base;
        self.slots = slots;
        self.depth -= 1;
        Ok(())
    }

    #[cold]
    fn cycle(&self, id: usize, point: usize, span: Span) -> Stop {
        let build = &self.pending[id].build;
        let mut rest = point;
        let mut at: Vec<String> = Vec::new();
        for extent in build.outer.iter().rev() {
            at.push((rest % extent).to_string());
            rest /= extent;
        }
        at.reverse();
        let name = build.name.map_or("the definition".to_owned(), |name| name.to_string());
        let message = format!("`{name}[{}]` depends on itself", at.join(", "));
        let help = "read points that are computed earlier, and give the first ones a base clause";
        self.fail(Code::E0601, span, message).explained("needs the point being computed", help)
    }

    /// A read of a definition from inside itself.
    #[inline(never)]
    pub(crate) fn pending_index(
        &mut self,
        id: u32,
        at: &[i64],
        indices: &'p [IndexArg],
        base: &'p Expr,
        e: &'p Expr,
    ) -> Result<Value, Stop> {
        let id = self.still_pending(id, e.span)?;
        if let Some(point) = self.pending[id].point(at) {
            self.demand(id, point, e.span)?;
            if let Some(element) = self.pending[id].build.element(point) {
                return Ok(element);
            }
        }
        let outer = self.pending[id].build.outer.clone();
        let mut ranges: Vec<(usize, usize)> = outer.iter().map(|extent| (0, *extent)).collect();
        let declared = at.len().min(outer.len());
        for axis in 0..declared {
            let here = self.in_bounds(at[axis], outer[axis], axis, indices, base, e.span)?;
            ranges[axis] = (here, here + 1);
        }
        let part = self.pending_part(id, &ranges, declared, e.span)?;
        self.index_rest(part, &at[declared..], declared, indices, base, e.span)
    }

    /// The sub-array of these ranges, without the first `dropped` axes: a copy, whose points have
    /// all been computed.
    fn pending_part(
        &mut self,
        id: usize,
        ranges: &[(usize, usize)],
        dropped: usize,
        span: Span,
    ) -> Result<Value, Stop> {
        let outer = self.pending[id].build.outer.clone();
        let mut points = vec![0];
        for (extent, (lo, hi)) in outer.iter().zip(ranges) {
            let rows = points.iter().flat_map(|row| (*lo..*hi).map(move |at| row * extent + at));
            points = rows.collect();
        }
        for point in &points {
            self.demand(id, *point, span)?;
        }
        let build = &self.pending[id].build;
        let mut shape: Vec<usize> = ranges[dropped..].iter().map(|(lo, hi)| hi - lo).collect();
        shape.extend_from_slice(&build.shape[outer.len()..]);
        if let Some(rows) = build.rows(&points)
            && let Ok(rows) = rows.reshape(&shape)
        {
            return Ok(Value::tensor(rows));
        }
        let mut cells = self.cells(build.elem(), &shape, build.name, span)?;
        let elements = points.iter().flat_map(|point| build.elements(*point));
        for (at, element) in elements.enumerate() {
            if let Err(value) = cells.set(at, element) {
                return Err(self.expected(span, "an element of the definition", &value));
            }
        }
        Ok(cells.finish(shape))
    }

    /// A value that is not under way: a definition seen from inside itself is computed whole.
    #[inline]
    pub(crate) fn settle(&mut self, value: Value, span: Span) -> Result<Value, Stop> {
        match value {
            Value::Pending(id) => {
                let id = self.still_pending(id, span)?;
                let outer = &self.pending[id].build.outer;
                let ranges: Vec<(usize, usize)> = outer.iter().map(|n| (0, *n)).collect();
                self.pending_part(id, &ranges, 0, span)
            }
            value => Ok(value),
        }
    }

    /// A slice of a definition from inside itself.
    pub(crate) fn pending_slice(
        &mut self,
        id: u32,
        axis: usize,
        lo: usize,
        hi: usize,
        span: Span,
    ) -> Result<Value, Stop> {
        let id = self.still_pending(id, span)?;
        let outer = &self.pending[id].build.outer;
        let mut ranges: Vec<(usize, usize)> = outer.iter().map(|n| (0, *n)).collect();
        match ranges.get_mut(axis) {
            Some(range) => *range = (lo, hi.max(lo)),
            None => return Err(self.malformed(span, "a slice of an axis that is not declared")),
        }
        self.pending_part(id, &ranges, 0, span)
    }

    /// The number of a recurrence, if it is under way: a closure may have carried it away.
    fn still_pending(&self, id: u32, span: Span) -> Result<usize, Stop> {
        let id = id as usize;
        if id < self.pending.len() {
            return Ok(id);
        }
        Err(self.malformed(span, "a read of a definition from inside itself, after its end"))
    }
}

/// Whether the rest of an order is all of a step, whose points lie one after another.
fn is_row(pending: &Pending<'_>, rest: &[Step]) -> bool {
    let steps = pending.tensor.recurrence.as_ref().map_or(0, |order| order.axes.len());
    let outer = pending.build.outer.len();
    steps > 0 && rest.len() + steps == outer && rest.iter().all(|step| step.axis >= steps)
}

/// One loop of the order.
pub(crate) struct Step {
    pub(crate) axis: usize,
    pub(crate) extent: usize,
    pub(crate) stride: usize,
    pub(crate) backward: bool,
}

impl Step {
    /// The positions of the turns from `lo` to before `hi`.
    pub(crate) fn positions(&self, lo: i64, hi: i64) -> (i64, i64) {
        let last = self.extent as i64;
        if self.backward { (last - hi, last - lo) } else { (lo, hi) }
    }
}

/// The recurrence axes outermost, then the others.
pub(crate) fn order(recurrence: Option<&Recurrence>, outer: &[usize]) -> Vec<Step> {
    let axes = recurrence.map(|recurrence| recurrence.axes.as_slice()).unwrap_or_default();
    let first = axes.iter().map(|axis| (axis.axis, axis.backward));
    let others = (0..outer.len()).filter(|axis| axes.iter().all(|step| step.axis != *axis));
    first
        .chain(others.map(|axis| (axis, false)))
        .filter(|(axis, _)| *axis < outer.len())
        .map(|(axis, backward)| {
            let stride = count(&outer[axis + 1..]);
            Step { axis, extent: outer[axis], stride, backward }
        })
        .collect()
}
