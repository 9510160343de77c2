//! Histories that are too large to be kept: of some recurrences only the steps before each segment
//! are stored, and a segment that is read is computed again.
//!
//! Which ones, is said by [`candidates`]: recurrences that derivatives have made, and those that they
//! read; all reads of them are reads of single steps. Every point is computed by the same code as
//! ever, from the same values, so nothing of the results depends on it. Two segments are held at a
//! time, so that reads across their border do not compute both again and again.

use ein_base::Span;
use ein_ir::tensor::walk::{any, each_child, each_in_stmt};
use ein_ir::tensor::{
    ClauseSlot, Expr, ExprKind, IndexArg, Program, Stmt, StmtKind, Tensor as Definition, Type,
    VarId,
};
use ein_runtime::Tensor;
use std::collections::BTreeSet;

use crate::array::{count, unravel};
use crate::keep::Scope;
use crate::machine::Machine;
use crate::stop::{MarkKind, Stop};
use crate::value::Value;

/// Fewer steps are always kept.
const LEAST_STEPS: usize = 16;

/// What a clause covers, along each axis.
type Domains = Vec<(i64, i64)>;

/// A recurrence of which not all steps are kept.
pub(crate) struct History<'p> {
    tensor: &'p Definition,
    span: Span,
    /// The extents.
    outer: Vec<usize>,
    /// The axis of its steps, and whether they run downward.
    axis: usize,
    backward: bool,
    /// How many steps a step looks back.
    lookback: usize,
    /// The steps of a segment.
    pub(crate) every: usize,
    /// The cells of a step.
    row: usize,
    /// What each clause covers.
    domains: Vec<Domains>,
    /// The steps before each segment.
    checkpoints: Tensor,
    /// How many segments can be computed: the steps before them are known.
    ready: usize,
    windows: [Window; 2],
    /// The frame in which the definition stands.
    base: usize,
    slots: usize,
}

/// The steps of a segment, and those before it.
struct Window {
    segment: Option<usize>,
    cells: Tensor,
    states: Vec<State>,
    /// Whether it is being filled.
    busy: bool,
    /// Whether it was read later than the other one.
    recent: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Unset,
    UnderWay,
    Done,
}

/// A cell of a window.
#[derive(Clone, Copy)]
struct Place {
    window: usize,
    /// The number of the step in the order of the recurrence.
    step: usize,
    /// The cell in the step.
    cell: usize,
}

impl History<'_> {
    /// The extents.
    pub(crate) fn shape(&self) -> &[usize] {
        &self.outer
    }

    fn steps(&self) -> usize {
        self.outer[self.axis]
    }

    /// The number of a step in the order of the recurrence, and the cell in it.
    fn place(&self, at: &[usize]) -> (usize, usize) {
        let mut cell = 0;
        for (axis, (at, extent)) in at.iter().zip(&self.outer).enumerate() {
            if axis != self.axis {
                cell = cell * extent + at;
            }
        }
        let step = at[self.axis];
        (if self.backward { self.steps() - 1 - step } else { step }, cell)
    }

    /// The index of a cell of a step.
    fn index(&self, step: usize, mut cell: usize) -> Vec<i64> {
        let mut at = vec![0; self.outer.len()];
        for (axis, extent) in self.outer.iter().enumerate().rev() {
            if axis != self.axis {
                at[axis] = (cell % extent) as i64;
                cell /= extent;
            }
        }
        at[self.axis] = if self.backward { self.steps() - 1 - step } else { step } as i64;
        at
    }

    /// The window that holds a step.
    fn holding(&self, step: usize) -> Option<usize> {
        self.windows.iter().position(|window| {
            window.segment.is_some_and(|segment| {
                let first = segment * self.every;
                step + self.lookback >= first && step < first + self.every
            })
        })
    }

    /// Where a cell lies in its window.
    fn offset(&self, at: Place) -> usize {
        let first = self.windows[at.window].segment.unwrap_or(0) * self.every;
        (at.step + self.lookback - first) * self.row + at.cell
    }

    /// The state of a cell; those of steps before the segment are done.
    fn state(&mut self, at: Place) -> Option<&mut State> {
        let offset = self.offset(at).checked_sub(self.lookback * self.row)?;
        self.windows[at.window].states.get_mut(offset)
    }
}

impl<'p> Machine<'p> {
    /// The history of a recurrence, if it is too large to be kept.
    pub(crate) fn history(
        &mut self,
        tensor: &'p Definition,
        e: &'p Expr,
    ) -> Result<Option<Value>, Stop> {
        let (Some(limit), Some(recurrence)) = (self.options.ad_memory, &tensor.recurrence) else {
            return Ok(None);
        };
        let ([step], Some(lookback), Some(elem)) =
            (recurrence.axes.as_slice(), recurrence.lookback, e.ty.elem().scalar())
        else {
            return Ok(None);
        };
        for require in &tensor.requires {
            self.require(require)?;
        }
        let outer = self.outer_shape(tensor, e.span)?;
        let (axis, backward, lookback) = (step.axis, step.backward, lookback as usize);
        let steps = outer[axis];
        let row = count(&outer) / steps.max(1);
        let bytes = (count(&outer) as u64).saturating_mul(elem.size_bytes() as u64);
        let every = (steps as f64).sqrt().ceil() as usize;
        let domains = self.domains(tensor, &outer)?;
        let (Some(domains), true) = (domains, bytes > limit) else { return Ok(None) };
        if steps < LEAST_STEPS || lookback > every || row == 0 {
            return Ok(None);
        }
        let room = |rows: usize| {
            let cells = self.options.memory.zeros(elem, &[rows * row]);
            cells.map_err(|error| self.out_of_memory(error, tensor.name, &[rows, row], e.span))
        };
        let window = |_| -> Result<Window, Stop> {
            let states = vec![State::Unset; every * row];
            let cells = room(lookback + every)?;
            Ok(Window { segment: None, cells, states, busy: false, recent: false })
        };
        let history = History {
            tensor,
            span: e.span,
            axis,
            backward,
            lookback,
            every,
            row,
            domains,
            checkpoints: room(steps.div_ceil(every) * lookback)?,
            ready: 1,
            windows: [window(0)?, window(1)?],
            base: self.base,
            slots: self.slots,
            outer,
        };
        self.histories.push(history);
        let id = self.histories.len() - 1;
        if let Some(var) = tensor.self_var {
            self.bind(var, Value::History(id as u32));
        }
        for segment in 0..steps.div_ceil(every) {
            self.load(id, segment % 2, segment)?;
            self.keep_last(id, segment)?;
        }
        Ok(Some(Value::History(id as u32)))
    }

    /// What each clause covers, unless that depends on its own indices.
    fn domains(
        &mut self,
        tensor: &'p Definition,
        outer: &[usize],
    ) -> Result<Option<Vec<Domains>>, Stop> {
        let mut all = Vec::new();
        for clause in &tensor.clauses {
            self.check_slots(clause, outer.len())?;
            let mut domains = Vec::new();
            for (axis, slot) in clause.slots.iter().enumerate() {
                if !self.is_rectangular(slot, clause) {
                    return Ok(None);
                }
                domains.push(self.slot_domain(slot, axis, outer[axis], clause)?);
            }
            all.push(domains);
        }
        Ok(Some(all))
    }

    /// Keeps the last steps of a segment for the next one.
    fn keep_last(&mut self, id: usize, segment: usize) -> Result<(), Stop> {
        let span = self.histories[id].span;
        let history = &mut self.histories[id];
        history.ready = segment + 2;
        let (every, row, lookback) = (history.every, history.row, history.lookback);
        let window = &history.windows[segment % 2];
        let last = (segment + 1) * every >= history.outer[history.axis];
        for at in 0..if last { 0 } else { lookback * row } {
            let kept = (segment + 1) * lookback * row + at;
            let moved = window
                .cells
                .get(&[every * row + at])
                .and_then(|cell| history.checkpoints.set(&[kept], cell));
            if moved.is_err() {
                return Err(self.malformed(span, "a checkpoint outside its array"));
            }
        }
        Ok(())
    }

    /// Computes a segment.
    fn load(&mut self, id: usize, window: usize, segment: usize) -> Result<(), Stop> {
        let history = &mut self.histories[id];
        let (every, row, span) = (history.every, history.row, history.span);
        let kept = history.lookback * row;
        let zero = ein_scalar::Scalar::zero(history.checkpoints.ty());
        let place = &mut history.windows[window];
        place.segment = Some(segment);
        place.states.fill(State::Unset);
        let mut done = true;
        for at in 0..kept + every * row {
            let before = history.checkpoints.get(&[segment * kept + at]);
            let cell = if at < kept { before.unwrap_or(zero) } else { zero };
            done &= place.cells.set(&[at], cell).is_ok();
        }
        if !done {
            return Err(self.malformed(span, "a segment outside its array"));
        }
        self.histories[id].windows[window].busy = true;
        let filled = self.in_frame_of(id, span, |machine| {
            let steps = segment * every..((segment + 1) * every).min(machine.histories[id].steps());
            for step in steps {
                for cell in 0..row {
                    machine.tick()?;
                    machine.compute_cell(id, Place { window, step, cell })?;
                }
            }
            Ok(())
        });
        self.histories[id].windows[window].busy = false;
        filled
    }

    /// Does something in a copy of the frame in which a history stands, so that the indices of
    /// whoever reads it keep their values.
    fn in_frame_of(
        &mut self,
        id: usize,
        span: Span,
        f: impl FnOnce(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.descend(span)?;
        let (from, count) = (self.histories[id].base, self.histories[id].slots);
        let (base, slots, start) = (self.base, self.slots, self.locals.len());
        self.locals.extend_from_within(from..from + count);
        (self.base, self.slots) = (start, count);
        let marks = self.marks.len();
        self.push_mark(MarkKind::Definition(self.histories[id].tensor.name));
        f(self)?;
        self.marks.truncate(marks);
        self.locals.truncate(start);
        (self.base, self.slots) = (base, slots);
        self.depth -= 1;
        Ok(())
    }

    /// Computes a cell in the current frame, unless that has happened.
    fn compute_cell(&mut self, id: usize, at: Place) -> Result<(), Stop> {
        let history = &mut self.histories[id];
        let index = history.index(at.step, at.cell);
        let (tensor, span) = (history.tensor, history.span);
        let covers =
            |domains: &Domains| index.iter().zip(domains).all(|(at, (lo, hi))| lo <= at && at < hi);
        let clause = history.domains.iter().rposition(covers);
        match history.state(at) {
            Some(state @ State::Unset) => *state = State::UnderWay,
            Some(State::UnderWay | State::Done) | None => return Ok(()),
        }
        if let Some(clause) = clause.and_then(|clause| tensor.clauses.get(clause)) {
            let marks = self.marks.len();
            for (slot, at) in clause.slots.iter().zip(&index) {
                if let ClauseSlot::Loop(binder) = slot {
                    let value = self.index_value(*at, binder.lo.span)?;
                    self.bind(binder.var, value);
                    self.push_mark(MarkKind::Index(binder.var));
                }
            }
            let (value, _) = self.within(Scope::default(), |machine| machine.clause_value(clause));
            if let Some(value) = value? {
                let history = &mut self.histories[id];
                let offset = history.offset(at);
                let value = value.as_scalar();
                let cells = &mut history.windows[at.window].cells;
                if value.is_none_or(|value| cells.set(&[offset], value).is_err()) {
                    return Err(self.malformed(span, "a cell that is no element"));
                }
            }
            self.marks.truncate(marks);
        }
        if let Some(state) = self.histories[id].state(at) {
            *state = State::Done;
        }
        Ok(())
    }

    /// A read of an element, or of a part of a step.
    #[inline(never)]
    pub(crate) fn history_index(
        &mut self,
        id: u32,
        at: &[i64],
        indices: &'p [IndexArg],
        base: &'p Expr,
        e: &'p Expr,
    ) -> Result<Value, Stop> {
        let id = id as usize;
        let (outer, elem) = match self.histories.get(id) {
            Some(history) if history.axis < at.len() && at.len() <= history.outer.len() => {
                (history.outer.clone(), history.checkpoints.ty())
            }
            Some(_) | None => return Err(self.malformed(e.span, "a read of several steps")),
        };
        let mut place = Vec::with_capacity(outer.len());
        for (axis, at) in at.iter().enumerate() {
            place.push(self.in_bounds(*at, outer[axis], axis, indices, base, e.span)?);
        }
        if place.len() == outer.len() {
            return self.element(id, &place, e.span);
        }
        let rest = outer[place.len()..].to_vec();
        let mut elements = Vec::with_capacity(count(&rest));
        for cell in 0..count(&rest) {
            let at = [place.as_slice(), &unravel(cell, &rest)].concat();
            elements.push(self.element(id, &at, e.span)?);
        }
        self.array_of(&Type::Scalar(elem), rest, elements, e.span)
    }

    /// The element at an index that is inside.
    fn element(&mut self, id: usize, at: &[usize], span: Span) -> Result<Value, Stop> {
        let (step, cell) = self.histories[id].place(at);
        let window = self.held(id, step, span)?;
        let at = Place { window, step, cell };
        match self.histories[id].state(at) {
            Some(State::UnderWay) => return Err(self.malformed(span, "a step that needs itself")),
            Some(State::Unset) => {
                self.in_frame_of(id, span, |machine| machine.compute_cell(id, at))?;
            }
            Some(State::Done) | None => {}
        }
        let history = &self.histories[id];
        let element = history.windows[window].cells.get(&[history.offset(at)]);
        element.map(Value::Scalar).map_err(|_| self.malformed(span, "a read outside a history"))
    }

    /// The window that holds a step, filled if need be.
    fn held(&mut self, id: usize, step: usize, span: Span) -> Result<usize, Stop> {
        let history = &self.histories[id];
        let segment = step / history.every;
        let window = match history.holding(step) {
            Some(window) => window,
            None => {
                let [first, second] = &history.windows;
                let window = if first.busy || (first.recent && !second.busy) { 1 } else { 0 };
                if history.windows[window].busy || segment >= history.ready {
                    return Err(self.malformed(span, "a read of a step that is not there yet"));
                }
                self.load(id, window, segment)?;
                window
            }
        };
        let windows = &mut self.histories[id].windows;
        windows[window].recent = true;
        windows[1 - window].recent = false;
        Ok(window)
    }
}

/// The recurrences of the top level whose history need not be kept whole: those that derivatives have
/// made and those that they read, if only single steps of them are read.
pub(crate) fn candidates(program: &Program) -> BTreeSet<VarId> {
    let mut recurrences = Vec::new();
    each_binding(&program.top, &mut |var, value| {
        if let ExprKind::Tensor(tensor) = &*value.kind
            && let Some(recurrence) = &tensor.recurrence
            && let ([step], Some(own)) = (recurrence.axes.as_slice(), tensor.self_var)
            && tensor.inner_rank == 0
        {
            // Names that no program can write are those of tangents.
            let made = recurrence.adjoint || program.vars[var].name.as_str().starts_with('$');
            recurrences.push(Candidate { vars: [var, own], axis: step.axis, value, made });
        }
    });
    let read_back = |var: VarId| {
        let reads = |e: &Expr| matches!(&*e.kind, ExprKind::Var(read) if *read == var);
        recurrences.iter().any(|other| other.made && any(other.value, &mut |e| reads(e)))
    };
    let wanted = recurrences.iter().filter(|it| {
        let [var, _] = it.vars;
        (it.made || read_back(var)) && !program.outputs.contains(&var)
    });
    let single = wanted.filter(|it| it.vars.iter().all(|var| only_steps(program, *var, it.axis)));
    single.map(|it| it.vars[0]).collect()
}

/// A recurrence of the top level.
struct Candidate<'a> {
    /// What it is bound to, and what its clauses call it.
    vars: [VarId; 2],
    /// The axis of its steps.
    axis: usize,
    value: &'a Expr,
    /// Whether a derivative is what made it.
    made: bool,
}

/// Calls a function with the bindings of statements, and with those of blocks that are bound.
fn each_binding<'a>(stmts: &'a [Stmt], f: &mut dyn FnMut(VarId, &'a Expr)) {
    for stmt in stmts {
        if let StmtKind::Let(var, value) = &stmt.kind {
            if let ExprKind::Block { stmts, .. } = &*value.kind {
                each_binding(stmts, f);
            }
            f(*var, value);
        }
    }
}

/// Whether all reads of a variable fix its step.
fn only_steps(program: &Program, var: VarId, axis: usize) -> bool {
    let mut whole = false;
    for stmt in &program.top {
        each_in_stmt(stmt, &mut |e| whole |= reads_more(e, var, axis));
    }
    !whole && !program.funcs.iter().any(|func| reads_more(&func.body, var, axis))
}

/// Whether more than single steps of a variable are read.
fn reads_more(e: &Expr, var: VarId, axis: usize) -> bool {
    let is_var = |e: &Expr| matches!(&*e.kind, ExprKind::Var(read) if *read == var);
    if let ExprKind::Index { base, indices } = &*e.kind
        && is_var(base)
        && indices.len() > axis
    {
        return indices.iter().any(|index| reads_more(&index.value, var, axis));
    }
    let mut found = is_var(e);
    each_child(e, &mut |child| found = found || reads_more(child, var, axis));
    found
}
