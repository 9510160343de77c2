//! Recurrences that end when a condition holds: step by step, with room that grows.

use ein_base::Code;
use ein_ir::tensor::{Binder, Clause, ClauseSlot, Expr, Tensor};

use crate::array::count;
use crate::machine::Machine;
use crate::recurrence::{Rows, order};
use crate::stop::Stop;
use crate::value::Value;

/// The steps that there is room for at first.
const FIRST: usize = 64;

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
        let build = self.build(tensor, e, shape.clone())?;
        let mut states = vec![0; count(&shape)];
        self.claim_all(tensor, Rows { axis, limit, from: 0 }, &shape, &mut states)?;
        let id = self.begin(tensor, build, states);
        let steps = order(tensor.recurrence.as_deref(), &shape);
        let mut end = None;
        for at in 0..limit {
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
                self.claim_all(tensor, Rows { axis, limit, from }, &shape, &mut states)?;
                self.pending[id].states = states;
            }
            let stride = steps.first().map_or(1, |step| step.stride);
            self.run_order(id, steps.get(1..).unwrap_or_default(), at * stride)?;
            if self.asked(binder, at)? && self.ends(&until.cond)? {
                end = Some(at + 1);
                break;
            }
        }
        if let Some(var) = tensor.self_var {
            self.bind(var, Value::Unit);
        }
        let Some(pending) = self.pending.pop() else {
            return Err(self.malformed(e.span, "a recurrence was lost"));
        };
        if let (None, Some(message)) = (end, &until.otherwise) {
            let text = self.eval(message)?;
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
