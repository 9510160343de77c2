//! Sums over histories that are computed again from checkpoints, for all cells of a definition at
//! once: one segment after another, so that each is computed once and not once for every cell.
//!
//! The terms of each sum come in the order in which they always come, so its value is the same.

use ein_ir::tensor::walk::any;
use ein_ir::tensor::{Clause, ClauseSlot, Expr, ExprKind, Reduce, Tensor};
use ein_scalar::Scalar;

use crate::array::count;
use crate::definition::Build;
use crate::keep::Scope;
use crate::machine::Machine;
use crate::reduce::Running;
use crate::stop::{MarkKind, Stop};
use crate::value::Value;

/// Values of reductions at the point that is being computed.
pub(crate) type Gathered<'p> = Vec<(&'p Reduce, Option<Scalar>)>;

/// What is done at a point, which has this number.
type AtPoint<'f, 'p> = &'f mut dyn FnMut(&mut Machine<'p>, usize) -> Result<(), Stop>;

impl<'p> Machine<'p> {
    /// Fills a definition of one clause in which sums run over histories; whether it is one.
    pub(crate) fn fill_gathering(
        &mut self,
        tensor: &'p Tensor,
        build: &mut Build<'p>,
    ) -> Result<bool, Stop> {
        let [clause] = tensor.clauses.as_slice() else { return Ok(false) };
        let mut sums = Vec::new();
        self.sums_over_histories(&clause.value, &mut sums);
        let every = self.histories.iter().map(|history| history.every as i64).min();
        let (Some(every), false) = (every, sums.is_empty()) else { return Ok(false) };
        self.check_slots(clause, build.outer.len())?;
        let outer = build.outer.clone();
        let mut running: Vec<Option<Running>> = Vec::new();
        for _ in 0..count(&outer) {
            running.extend(sums.iter().map(|(sum, _)| Running::of(sum)));
        }
        let (mut lo, mut hi) = (i64::MAX, i64::MIN);
        self.each_point(clause, (0, 0), &outer, &mut |machine, _| {
            for (sum, _) in &sums {
                if let Some(binder) = sum.binders.first()
                    && let Some((first, end)) = machine.attempt(|it| it.domain(binder))?
                {
                    (lo, hi) = (lo.min(first), hi.max(end));
                }
            }
            Ok(())
        })?;
        let mut start = lo.div_euclid(every) * every;
        while lo < hi && start < hi {
            let part = (start, start + every);
            self.each_point(clause, (0, 0), &outer, &mut |machine, point| {
                for (at, (sum, _)) in sums.iter().enumerate() {
                    let here = &mut running[point * sums.len() + at];
                    let Some(mut state) = here.take() else { continue };
                    let done = machine.attempt(|it| it.reduce_part(sum, part, &mut state))?;
                    *here = done.map(|()| state);
                }
                Ok(())
            })?;
            start += every;
        }
        self.each_point(clause, (0, 0), &outer, &mut |machine, point| {
            let mut values = Vec::with_capacity(sums.len());
            for (at, (sum, e)) in sums.iter().enumerate() {
                let value = match running[point * sums.len() + at].take() {
                    Some(state) => machine.attempt(|it| it.finish_reduce(sum, state, e.span))?,
                    None => None,
                };
                values.push((*sum, value));
            }
            let around = std::mem::replace(&mut machine.gathered, values);
            let (value, _) = machine.within(Scope::default(), |it| it.clause_value(clause));
            machine.gathered = around;
            match value? {
                Some(value) => machine.write(build, point, value, clause.span),
                None => Ok(()),
            }
        })?;
        Ok(true)
    }

    /// The reductions in an expression that read histories, and that nothing but the indices of
    /// the definition stands around.
    fn sums_over_histories(&self, e: &'p Expr, found: &mut Vec<(&'p Reduce, &'p Expr)>) {
        match &*e.kind {
            ExprKind::Reduce(reduce) if !reduce.binders.is_empty() && self.reads_history(e) => {
                found.push((reduce, e));
            }
            ExprKind::Unary(_, a) | ExprKind::Cast(a) => self.sums_over_histories(a, found),
            ExprKind::Binary(_, a, b) => {
                self.sums_over_histories(a, found);
                self.sums_over_histories(b, found);
            }
            ExprKind::If { then, otherwise, .. } => {
                self.sums_over_histories(then, found);
                self.sums_over_histories(otherwise, found);
            }
            _ => {}
        }
    }

    fn reads_history(&self, e: &Expr) -> bool {
        any(e, &mut |e| match &*e.kind {
            ExprKind::Var(var) => matches!(self.var_if_bound(*var), Some(Value::History(_))),
            _ => false,
        })
    }

    /// Does something at every point of a clause at which its guards hold.
    fn each_point(
        &mut self,
        clause: &'p Clause,
        (axis, point): (usize, usize),
        outer: &[usize],
        f: AtPoint<'_, 'p>,
    ) -> Result<(), Stop> {
        let Some(slot) = clause.slots.get(axis) else {
            return if self.items(&clause.items)? { f(self, point) } else { Ok(()) };
        };
        let (lo, hi) = self.slot_domain(slot, axis, outer[axis], clause)?;
        let marks = self.marks.len();
        if let ClauseSlot::Loop(binder) = slot {
            self.push_mark(MarkKind::Index(binder.var));
        }
        for at in lo..hi {
            self.tick()?;
            if let ClauseSlot::Loop(binder) = slot {
                let index = self.index_value(at, binder.lo.span)?;
                self.bind(binder.var, index);
            }
            self.each_point(clause, (axis + 1, point * outer[axis] + at as usize), outer, f)?;
        }
        self.marks.truncate(marks);
        Ok(())
    }

    /// Does something that need not be done: what fails will fail again where it is needed.
    fn attempt<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<Option<T>, Stop> {
        let before = self.checkpoint();
        self.attempts += 1;
        let (done, _) = self.within(Scope::default(), f);
        self.attempts -= 1;
        match done {
            Ok(value) => Ok(Some(value)),
            Err(Stop::Error(_)) => {
                self.go_back(&before);
                Ok(None)
            }
            Err(Stop::Interrupted) => Err(Stop::Interrupted),
        }
    }
}
