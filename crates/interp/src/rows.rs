//! Steps of a recurrence that is no kernel, a row at a time.
//!
//! Before:  for each `l`, for each `t`, `m`: `x[l, t, m] = layer(x[l - 1], layers[l - 1])[t, m]`
//! After:   for each `l`: `x[l] = layer(x[l - 1], layers[l - 1])`
//!
//! The evaluator has a recurrence where something in it is no number, as the layers of a network are. Its
//! steps are few, and each of them is an array over the other indices. Where one clause covers all of it,
//! it is asked for as such; where the clause reads a value that its step computes once, at the very point,
//! it is that value.
//!
//! Failures: what fails here is computed again point by point, and says at which of them it failed.

use ein_ir::tensor::{Axis, Clause, ClauseSlot, Expr, ExprKind, Tensor, Type};

use crate::accelerate::{Answer, accelerate_row};
use crate::array::count;
use crate::machine::Machine;
use crate::recurrence::{DONE, UNDER_WAY};
use crate::stop::{MarkKind, Stop};
use crate::value::Value;

/// So few points are computed one by one before anybody has been asked.
const FEW: usize = 16;

/// Computes all points of a step, of which `point` is the first, at once; whether that could be done.
pub(crate) fn fill_row(machine: &mut Machine<'_>, id: usize, point: usize) -> Result<bool, Stop> {
    let pending = &machine.pending[id];
    let tensor = pending.tensor;
    let Some(steps) = tensor.recurrence.as_ref().map(|order| order.axes.len()) else {
        return Ok(false);
    };
    let outer = pending.build.outer.clone();
    let row = point..point + count(&outer[steps..]);
    let owner = pending.states.get(point).copied().unwrap_or(0);
    let of_one = pending.states.get(row.clone()).is_some_and(|it| it.iter().all(|it| *it == owner));
    if !of_one || matches!(owner, 0 | DONE | UNDER_WAY) || row.len() < FEW {
        return Ok(false);
    }
    let clause = &tensor.clauses[owner as usize - 1];
    if tensor.inner_rank != 0 || clause.until.is_some() {
        return Ok(false);
    }
    let marks = machine.marks.len();
    let mut rest = point / row.len();
    for (axis, slot) in clause.slots[..steps].iter().enumerate().rev() {
        let at = rest % outer[axis];
        rest /= outer[axis];
        if let ClauseSlot::Loop(binder) = slot {
            let index = machine.index_value(at as i64, binder.lo.span)?;
            machine.bind(binder.var, index);
            machine.push_mark(MarkKind::Index(binder.var));
        }
    }
    machine.pending[id].states[row.clone()].fill(UNDER_WAY);
    let value = value_of(machine, id, owner as usize - 1, steps);
    machine.marks.truncate(marks);
    let value = match value {
        // It is found again, and said where.
        Err(Stop::Error(_)) => None,
        Err(Stop::Interrupted) => return Err(Stop::Interrupted),
        Ok(value) => value,
    };
    let build = &mut machine.pending[id].build;
    let made = value.is_some_and(|value| {
        let fits = matches!(&value, Value::Tensor(it) if it.shape() == &outer[steps..]);
        fits && build.scalars().is_some_and(|cells| cells.set_row(point, &value))
    });
    machine.pending[id].states[row.clone()].fill(if made { DONE } else { owner });
    if made && machine.pending[id].build.metered {
        row.for_each(|_| machine.meter.step(0));
    }
    Ok(made)
}

/// The value of a clause at the steps whose indices are bound, if it can be had at once.
fn value_of(
    machine: &mut Machine<'_>,
    id: usize,
    number: usize,
    steps: usize,
) -> Result<Option<Value>, Stop> {
    let tensor = machine.pending[id].tensor;
    let clause = &tensor.clauses[number];
    let scope = std::mem::take(&mut machine.pending[id].scopes[number]);
    let (before, in_order) = (machine.ordered, scope.in_order());
    if in_order {
        machine.ordered = machine.marks.len();
    }
    let whole = whole(clause, steps).filter(|base| scope.is_of_step(base));
    let (value, scope) = machine.within(scope, |machine| match whole {
        Some(base) => machine.eval(base).map(Some),
        None if in_order => asked(machine, tensor, clause, steps),
        None => Ok(None),
    });
    machine.ordered = before;
    if let Some(pending) = machine.pending.get_mut(id) {
        pending.scopes[number] = scope;
    }
    value
}

/// What a clause reads at its very point: `f(x)` of `y[t, i, j] = f(x)[i, j]`.
fn whole(clause: &Clause, steps: usize) -> Option<&Expr> {
    let ExprKind::Index { base, indices } = &*clause.value.kind else { return None };
    let slots = clause.slots.get(steps..)?;
    let same = indices.len() == slots.len()
        && slots.iter().zip(indices).all(|(slot, index)| match (slot, &*index.value.kind) {
            (ClauseSlot::Loop(binder), ExprKind::Var(var)) => binder.var == *var,
            _ => false,
        });
    (same && clause.items.is_empty() && clause.otherwise.is_none()).then_some(base)
}

/// The value of a clause at the steps whose indices are bound, if the accelerator has it.
fn asked<'p>(
    machine: &mut Machine<'p>,
    tensor: &'p Tensor,
    clause: &'p Clause,
    steps: usize,
) -> Result<Option<Value>, Stop> {
    let shape = tensor.shape.get(steps..).unwrap_or_default();
    let elem = clause.value.ty.clone();
    let is_number = matches!(elem, Type::Scalar(_));
    if !is_number || shape.iter().any(Option::is_none) || machine.in_a_loop() {
        return Ok(None);
    }
    let row = || {
        let axes = shape.iter().flatten().map(|size| Axis { coord: None, size: size.clone() });
        let part = Tensor {
            name: tensor.name,
            self_var: None,
            shape: shape.to_vec(),
            inner_rank: 0,
            clauses: vec![Clause { slots: clause.slots[steps..].to_vec(), ..clause.clone() }],
            recurrence: None,
            requires: Vec::new(),
        };
        let ty = Type::array(elem.clone(), axes.collect());
        Expr::new(ExprKind::Tensor(part), ty, clause.span)
    };
    Ok(match accelerate_row(machine, clause, &row)? {
        Answer::Made(value) => Some(value),
        Answer::Failed | Answer::Evaluate => None,
    })
}
