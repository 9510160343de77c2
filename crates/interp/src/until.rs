//! Recurrences that end when a condition holds: step by step, with room that grows.

use ein_base::Code;
use ein_ir::tensor::{Binder, Clause, ClauseSlot, Expr, Tensor};

use crate::array::count;
use crate::machine::Machine;
use crate::parts::{ALARMS, Came, ask_for_steps, claim_row, steps_in_parts};
use crate::recurrence::{Rows, order};
use crate::stop::{MarkKind, Stop};
use crate::value::Value;

/// The steps that there is room for at first.
const FIRST: usize = 64;

/// The steps of a recurrence that is no kernel, or failed as one: how many there are is not known, so parts
/// grow as long as they do not fail.
struct Parts {
    /// How many are asked for next.
    size: usize,
    /// So many parts may still fail.
    left: u32,
    /// The steps before this one are evaluated.
    until: usize,
}

/// What is done next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    /// The accelerator is asked for so many steps.
    Ask(usize),
    /// A step is evaluated.
    Evaluate,
    /// A step in which a check has failed is evaluated.
    Alone,
}

impl Parts {
    fn next(&mut self, at: usize) -> Next {
        if self.left == 0 || at < self.until {
            return Next::Evaluate;
        }
        if self.size == 0 {
            self.size = 1;
            return Next::Alone;
        }
        Next::Ask(self.size)
    }

    /// Notes what came of some steps; whether they are done.
    fn came(&mut self, came: Came, (at, to): (usize, usize)) -> bool {
        match came {
            Came::Done | Came::Settled => self.size = self.size.saturating_mul(2),
            Came::Failed => {
                self.size = (to - at) / 2;
                self.left -= 1;
            }
            Came::Declined => {
                self.size = self.size.saturating_mul(2);
                self.until = to;
            }
        }
        matches!(came, Came::Done | Came::Settled)
    }
}

impl<'p> Machine<'p> {
    /// The points of a recurrence up to the first step for which the condition of a clause holds;
    /// `outer` is the limit.
    pub(crate) fn until(
        &mut self,
        tensor: &'p Tensor,
        clause: &'p Clause,
        e: &'p Expr,
        outer: Vec<usize>,
    ) -> Result<Value, Stop> {
        let axes = tensor.recurrence.as_ref().map(|it| it.axes.as_slice()).unwrap_or_default();
        let (Some(until), Some(step)) = (&clause.until, axes.first()) else {
            return Err(self.malformed(e.span, "steps that end without an order"));
        };
        let axis = step.axis;
        let Some(ClauseSlot::Loop(binder)) = clause.slots.get(axis) else {
            return Err(self.malformed(e.span, "a condition without steps"));
        };
        let limit = outer[axis];
        // Only rows of the first axis lie one after another.
        let fixed = tensor.clauses.iter().filter_map(|clause| match clause.slots.get(axis) {
            Some(ClauseSlot::Point(at)) => usize::try_from(*at + 1).ok(),
            Some(ClauseSlot::Loop(_)) | None => None,
        });
        let least = fixed.max().unwrap_or(0).max(FIRST);
        let mut rows = if axis == 0 { least.min(limit) } else { limit };
        let mut shape = outer.clone();
        shape[axis] = rows;
        let mut build = self.build(tensor, e, shape.clone())?;
        // How far it goes is not known, so all of it may be more than there is room for in a kernel.
        let in_parts = self.accelerator.is_some()
            && build.numbers().is_some()
            && !self.in_a_loop()
            && self.domains_stand(tensor, &outer)?;
        let mut states = vec![0; count(&shape)];
        if !in_parts {
            self.claim_all(tensor, Rows { axis, limit, from: 0, to: rows }, &shape, &mut states)?;
        }
        let id = self.begin(tensor, build, states);
        let steps = order(tensor.recurrence.as_deref(), &shape);
        let mut end = None;
        let mut parts = Parts { size: FIRST, left: if in_parts { ALARMS } else { 0 }, until: 0 };
        let mut at = 0;
        while at < limit {
            if at >= rows {
                let from = rows;
                rows = rows.saturating_mul(2).min(limit);
                shape[axis] = rows;
                let old = std::mem::replace(
                    &mut self.pending[id].build,
                    crate::definition::Build::nothing(e.span),
                );
                let grown = self.grown(tensor, e, old, rows)?;
                self.pending[id].build = grown;
                let mut states = std::mem::take(&mut self.pending[id].states);
                states.resize(count(&shape), 0);
                if !in_parts {
                    let rows = Rows { axis, limit, from, to: rows };
                    self.claim_all(tensor, rows, &shape, &mut states)?;
                }
                self.pending[id].states = states;
            }
            if in_parts {
                self.pending[id].claim_later(axis, limit, rows);
            }
            match parts.next(at) {
                Next::Ask(size) => {
                    let to = at.saturating_add(size).min(rows);
                    let limits = vec![(axis, (at as i64, to as i64))];
                    let (came, made) = ask_for_steps(self, id, (tensor, e), &steps, limits);
                    if !parts.came(came, (at, to)) || made <= at {
                        continue;
                    }
                    // Whether it has ended is asked of the last step.
                    at = made - 1;
                }
                next @ (Next::Evaluate | Next::Alone) => {
                    claim_row(self, id, at)?;
                    let point = at * steps.first().map_or(1, |step| step.stride);
                    if next == Next::Alone {
                        let mut here = vec![(axis, (at as i64, at as i64 + 1))];
                        steps_in_parts(self, id, (tensor, e), (&steps, 1), &mut here, point)?;
                    } else {
                        self.run_order(id, steps.get(1..).unwrap_or_default(), point)?;
                    }
                }
            }
            if self.asked(binder, at)? {
                // What fails in the condition fails at this step.
                self.push_mark(MarkKind::Index(binder.var));
                let ends = self.ends(&until.cond)?;
                self.marks.pop();
                if ends {
                    end = Some(at + 1);
                    break;
                }
            }
            at += 1;
        }
        // The message may read the steps that were made.
        let text = match (end, &until.otherwise) {
            (None, Some(message)) => Some(self.eval(message)?),
            (Some(_), _) | (None, None) => None,
        };
        if let Some(var) = tensor.self_var {
            self.bind(var, Value::Unit);
        }
        let Some(pending) = self.pending.pop() else {
            return Err(self.malformed(e.span, "a recurrence was lost"));
        };
        if let Some(text) = text {
            let text = crate::display(&text, self.program);
            let stop = self.fail(Code::E0806, until.cond.span, text);
            let here = format!("does not hold after the last of {limit} points");
            return Err(stop.explained(&here, "allow more steps, or a coarser result"));
        }
        let whole = self.finish_build(pending.build, e)?;
        self.cut(&whole, axis, 0, end.unwrap_or(limit), e.span)
    }

    /// Whether a step is one of the clause with the condition; binds its index.
    fn asked(&mut self, binder: &'p Binder, at: usize) -> Result<bool, Stop> {
        let (lo, hi) = self.domain(binder)?;
        let index = self.index_value(at as i64, binder.lo.span)?;
        self.bind(binder.var, index);
        Ok(lo <= at as i64 && (at as i64) < hi)
    }

    fn ends(&mut self, cond: &'p Expr) -> Result<bool, Stop> {
        let value = self.eval(cond)?;
        let value = self.settle(value, cond.span)?;
        self.holds(&value, cond.span)
    }
}
