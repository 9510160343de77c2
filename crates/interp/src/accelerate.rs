//! The door to faster engines.
//!
//! Before the evaluator computes statements or a definition itself, it asks an [`Accelerator`]
//! whether it can. What that does is judged elsewhere. What it declines is evaluated here, also
//! where the program itself fails, so every message about a program comes from one place. An
//! accelerator that cannot work at all ends the run.

use std::ops::Range;
use std::sync::atomic::Ordering;
use std::time::Instant;

use ein_base::{Diagnostic, Symbol, Work};
use ein_ir::tensor::{Expr, FuncId, Stmt, VarId};
use ein_runtime::Memory;

use crate::machine::Machine;
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
    ) -> Result<Option<Value>, Box<Diagnostic>>;

    /// The value of a function whose last action is to call itself, with the values that its parameters
    /// have: it has done so often by now.
    fn turns(
        &mut self,
        _: FuncId,
        _: &mut dyn Environment,
    ) -> Result<Option<Value>, Box<Diagnostic>> {
        Ok(None)
    }

    /// Some rows of an indexed definition whose value as a whole it could not give.
    fn rows(&mut self, _: &Expr, _: Range<usize>, _: &mut dyn Environment) -> Rows {
        Rows::Evaluate
    }

    /// Some thousand steps have been evaluated since it was told so last.
    fn evaluated(&mut self) {}
}

/// What an accelerator says of some rows.
#[derive(Debug)]
pub enum Rows {
    /// An array of the shape of the whole one, in which these rows are right.
    Made(Value),
    /// A check failed among them, or there was no memory.
    Failed,
    /// They are left to the evaluator.
    Evaluate,
}

/// The variables of an evaluation under way.
pub trait Environment {
    /// The value of a variable; nothing useful if it is not bound yet.
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
        self.var_if_bound(var).cloned().unwrap_or_default()
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
    /// a loop of the evaluator is under way.
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
    pub(crate) fn accelerate(&mut self, e: &'p Expr) -> Result<Option<Value>, Stop> {
        if self.accelerator.is_none() {
            return Ok(None);
        }
        if self.in_a_loop() {
            return Ok(None);
        }
        self.offer(e)
    }

    /// Whether an index has a value here.
    pub(crate) fn in_a_loop(&self) -> bool {
        self.marks.iter().any(|mark| matches!(mark.kind, MarkKind::Index(_)))
    }

    /// Some rows of a definition that the accelerator was asked for in vain, if it has these.
    pub(crate) fn accelerate_rows(&mut self, e: &'p Expr, rows: Range<usize>) -> Rows {
        let Some(accelerator) = self.accelerator.take() else { return Rows::Evaluate };
        let value = accelerator.rows(e, rows, self);
        self.accelerator = Some(accelerator);
        value
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
    pub(crate) fn accelerate_in_step(&mut self, e: &'p Expr) -> Result<Option<Value>, Stop> {
        if self.accelerator.is_none() || self.ordered == 0 || !e.ty.is_array() || !self.in_order() {
            return Ok(None);
        }
        self.offer(e)
    }

    fn offer(&mut self, e: &'p Expr) -> Result<Option<Value>, Stop> {
        let Some(accelerator) = self.accelerator.take() else { return Ok(None) };
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
pub(crate) fn accelerate_turns(
    machine: &mut Machine<'_>,
    func: FuncId,
) -> Result<Option<Value>, Stop> {
    let Some(accelerator) = machine.accelerator.take() else { return Ok(None) };
    let value = accelerator.turns(func, machine);
    machine.accelerator = Some(accelerator);
    value.map_err(|failure| machine.given_up(failure))
}
