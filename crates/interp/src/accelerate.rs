//! The door to faster engines.
//!
//! Before the evaluator computes statements or a definition itself, it asks an [`Accelerator`]
//! whether it can. What that does is judged elsewhere. What it declines is evaluated here, also
//! where the program itself fails, so every message about a program comes from one place. An
//! accelerator that cannot work at all ends the run.

use std::sync::atomic::Ordering;
use std::time::Instant;

use ein_base::{Diagnostic, Idx, Symbol, Work};
use ein_ir::tensor::{Clause, Expr, FuncId, Program, Stmt, VarId};
use ein_runtime::Memory;

use crate::machine::Machine;
use crate::parts::computed;
use crate::stop::{MarkKind, Stop};
use crate::value::Value;

/// Something that computes parts of a program faster.
pub trait Accelerator {
    /// Runs as many of these statements as it can, from the first one on, and binds what they
    /// bind and what is read later; how many that were. Of those it gives up on nothing may be bound.
    /// They end the top level, or a block with this value.
    fn statements(
        &mut self,
        stmts: &[Stmt],
        value: Option<&Expr>,
        env: &mut dyn Environment,
    ) -> Result<usize, Box<Diagnostic>>;

    /// The value of an indexed definition, a reduction or an accumulation.
    fn expression(
        &mut self,
        e: &Expr,
        env: &mut dyn Environment,
    ) -> Result<Answer, Box<Diagnostic>>;

    /// The value of a function whose last action is to call itself, with the values that its parameters
    /// have: it has done so often by now.
    fn turns(&mut self, _: FuncId, _: &mut dyn Environment) -> Result<Answer, Box<Diagnostic>> {
        Ok(Answer::Evaluate)
    }

    /// The value of a clause of a recurrence at the steps whose indices have values: the array over its
    /// other indices, which `row` makes a definition of.
    fn row(
        &mut self,
        _: &Clause,
        _row: &dyn Fn() -> Expr,
        _: &mut dyn Environment,
    ) -> Result<Answer, Box<Diagnostic>> {
        Ok(Answer::Evaluate)
    }

    /// The value of a part of something in which a check failed.
    fn part(&mut self, _: &Part<'_>, _: &mut dyn Environment) -> Answer {
        Answer::Evaluate
    }

    /// Some thousand steps have been evaluated since it was told so last.
    fn evaluated(&mut self) {}
}

/// A part of something in which a check failed, which is asked for once.
#[derive(Debug)]
pub enum Part<'a> {
    /// A definition or a reduction that was made for this. It may read and bind the variables after the
    /// last of the program ([`Environment::get`]). Of a definition, nobody looks at other positions than
    /// these along this axis.
    Value(&'a Expr, Option<(usize, (i64, i64))>),
    /// At most so many turns of a function whose last action is to call itself, with the values that its
    /// parameters have: a tuple of those that change, after these turns or before the last one.
    Turns(FuncId, i64),
}

/// What an accelerator says when it is asked for a value.
#[derive(Debug)]
pub enum Answer {
    /// The value.
    Made(Value),
    /// A check failed on the way, which may be a mistake of the program or a false alarm.
    Failed,
    /// It is left to the evaluator.
    Evaluate,
}

/// The variables of an evaluation under way.
pub trait Environment {
    /// The value of a variable; nothing useful if it is not bound yet. The variable after the last of
    /// the program is what was computed before a part.
    fn get(&self, var: VarId) -> Value;

    /// Binds a variable.
    fn set(&mut self, var: VarId, value: Value);

    /// Where arrays are allocated.
    fn memory(&self) -> &Memory;

    /// Whether the user wants it to end.
    fn interrupted(&self) -> bool;

    /// A new piece of work begins; its number.
    fn start_work(&mut self) -> u64;

    /// Says how far a piece of work is; without a fraction if nobody can say.
    fn progress(&mut self, number: u64, name: Symbol, fraction: Option<f64>);
}

impl Environment for Machine<'_> {
    fn get(&self, var: VarId) -> Value {
        if var == before_part(self.program) {
            return self.seed.clone();
        }
        match self.var_if_bound(var) {
            // A step that failed reads steps before it, which are there.
            Some(Value::Pending(id)) if self.alone > 0 => computed(self, *id),
            Some(value) => value.clone(),
            None => Value::Unit,
        }
    }

    fn set(&mut self, var: VarId, value: Value) {
        self.bind(var, value);
    }

    fn memory(&self) -> &Memory {
        &self.options.memory
    }

    fn interrupted(&self) -> bool {
        self.options.interrupted.load(Ordering::Relaxed)
            || self.options.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn start_work(&mut self) -> u64 {
        self.meter.start()
    }

    fn progress(&mut self, number: u64, name: Symbol, fraction: Option<f64>) {
        self.host.progress(Work { number, name, fraction });
    }
}

impl<'p> Machine<'p> {
    /// Statements that the accelerator has run, of the top level or of a block with this value.
    pub(crate) fn accelerate_statements(
        &mut self,
        stmts: &'p [Stmt],
        value: Option<&'p Expr>,
    ) -> Result<usize, Stop> {
        let Some(accelerator) = self.accelerator.take() else { return Ok(0) };
        let done = accelerator.statements(stmts, value, self);
        self.accelerator = Some(accelerator);
        done.map_err(|failure| self.given_up(failure))
    }

    /// Runs the statements of a block with this value: what the accelerator takes of them at once, unless
    /// a loop of the evaluator is under way. Steps of a recurrence are no such loop: there are few, one
    /// after another, and a block is run once in each.
    pub(crate) fn block(&mut self, stmts: &'p [Stmt], value: &'p Expr) -> Result<(), Stop> {
        let mut rest = stmts;
        while let Some((stmt, after)) = rest.split_first() {
            let mut done = 0;
            if self.accelerator.is_some() && !self.in_a_loop() {
                done = self.accelerate_statements(rest, Some(value))?.min(rest.len());
            }
            if done == 0 {
                self.stmt(stmt)?;
                rest = after;
            } else {
                rest = &rest[done..];
            }
        }
        Ok(())
    }

    /// The value of an expression if the accelerator has it. Inside a loop of the evaluator it is
    /// not asked: a kernel per point is no gain.
    #[inline]
    pub(crate) fn accelerate(&mut self, e: &'p Expr) -> Result<Answer, Stop> {
        if self.accelerator.is_none() {
            return Ok(Answer::Evaluate);
        }
        if self.in_a_loop() {
            return Ok(Answer::Evaluate);
        }
        self.offer(e)
    }

    /// Whether an index has a value here that is neither a step of a recurrence nor alone.
    pub(crate) fn in_a_loop(&self) -> bool {
        let inner = self.marks.get(self.alone.max(self.ordered)..).unwrap_or_default();
        inner.iter().any(|mark| matches!(mark.kind, MarkKind::Index(_)))
    }

    /// The value of a part of what the accelerator was asked for in vain. It may read what was
    /// computed before.
    pub(crate) fn accelerate_part(&mut self, part: Part<'_>, before: Value) -> Answer {
        let Some(accelerator) = self.accelerator.take() else { return Answer::Evaluate };
        self.seed = before;
        let answer = accelerator.part(&part, self);
        self.seed = Value::Unit;
        self.accelerator = Some(accelerator);
        answer
    }

    /// Whether all loops that are under way are steps of recurrences.
    pub(crate) fn in_order(&self) -> bool {
        self.in_order_before(0)
    }

    /// The same without the last so many marks.
    pub(crate) fn in_order_before(&self, last: usize) -> bool {
        let end = self.marks.len().saturating_sub(last);
        let inner = self.marks.get(self.ordered.min(end)..end).unwrap_or_default();
        !inner.iter().any(|mark| matches!(mark.kind, MarkKind::Index(_)))
    }

    /// The value of an array that a step of a recurrence computes once, if the accelerator has it.
    pub(crate) fn accelerate_in_step(&mut self, e: &'p Expr) -> Result<Answer, Stop> {
        if self.accelerator.is_none() || self.ordered == 0 || !e.ty.is_array() || !self.in_order() {
            return Ok(Answer::Evaluate);
        }
        self.offer(e)
    }

    fn offer(&mut self, e: &'p Expr) -> Result<Answer, Stop> {
        let Some(accelerator) = self.accelerator.take() else { return Ok(Answer::Evaluate) };
        let value = accelerator.expression(e, self);
        self.accelerator = Some(accelerator);
        value.map_err(|failure| self.given_up(failure))
    }

    /// What a failure of the accelerator comes to: a compiler that was ended because the user or the
    /// time is at its end has not failed.
    fn given_up(&self, failure: Box<Diagnostic>) -> Stop {
        if self.options.interrupted.load(Ordering::Relaxed) {
            return Stop::Interrupted;
        }
        match self.within_time() {
            Ok(()) => Stop::Error(failure),
            Err(stop) => stop,
        }
    }
}

/// The value of a function that has called itself often, if the accelerator has it.
pub(crate) fn accelerate_turns(machine: &mut Machine<'_>, func: FuncId) -> Result<Answer, Stop> {
    let Some(accelerator) = machine.accelerator.take() else { return Ok(Answer::Evaluate) };
    let value = accelerator.turns(func, machine);
    machine.accelerator = Some(accelerator);
    value.map_err(|failure| machine.given_up(failure))
}

/// The value of a clause at the steps whose indices are bound, if the accelerator has it.
pub(crate) fn accelerate_row(
    machine: &mut Machine<'_>,
    clause: &Clause,
    row: &dyn Fn() -> Expr,
) -> Result<Answer, Stop> {
    let Some(accelerator) = machine.accelerator.take() else { return Ok(Answer::Evaluate) };
    let value = accelerator.row(clause, row, machine);
    machine.accelerator = Some(accelerator);
    value.map_err(|failure| machine.given_up(failure))
}

/// The variable that stands for what was computed before a part: the one after the last of a program.
pub(crate) fn before_part(program: &Program) -> VarId {
    VarId::from_usize(program.vars.len())
}
