//! Steps of a recurrence that failed as a kernel.
//!
//! A part goes on from the steps before it: they are given to it as an array, and clauses of it read them
//! from there. Steps are taken in the order that the checker derived, as kernels do.

use ein_base::Idx;
use ein_ir::tensor::{
    Binder, Bounds, Clause, ClauseSlot, Expr, ExprKind, IndexArg, Tensor, Type, VarId,
};
use ein_scalar::Scalar;

use super::{Came, Limits, Way, constant, in_parts, limited, part_of};
use crate::accelerate::{Answer, Part, before_part};
use crate::machine::Machine;
use crate::recurrence::Step;
use crate::stop::Stop;
use crate::value::Value;

/// Computes the points of a recurrence that failed as a kernel, from the loop `level` of its order
/// inward; `at` are the positions of those around it, `point` numbers the first point.
pub(crate) fn steps_in_parts<'p>(
    machine: &mut Machine<'p>,
    id: usize,
    definition: (&'p Tensor, &'p Expr),
    (order, level): (&[Step], usize),
    at: &mut Limits,
    point: usize,
) -> Result<(), Stop> {
    let Some(step) = order.get(level) else { return machine.compute(id, point, Way::Alone) };
    in_parts(machine, (0, step.extent as i64), &mut |machine, way, (lo, hi)| {
        let here = step.positions(lo, hi);
        match way {
            Way::Ask => {
                let mut limits = at.clone();
                limits.push((step.axis, here));
                Ok(ask_for_steps(machine, id, definition, order, limits).0)
            }
            Way::Alone => {
                let first = here.0 as usize;
                if level == 0 {
                    claim_row(machine, id, first)?;
                }
                at.push((step.axis, here));
                let point = point + first * step.stride;
                steps_in_parts(machine, id, definition, (order, level + 1), at, point)?;
                at.pop();
                Ok(Came::Done)
            }
            Way::Evaluate => {
                for turn in lo..hi {
                    let at = step.positions(turn, turn + 1).0 as usize;
                    if level == 0 {
                        claim_row(machine, id, at)?;
                    }
                    machine.run_order(id, &order[level + 1..], point + at * step.stride)?;
                }
                Ok(Came::Done)
            }
        }
    })?;
    Ok(())
}

/// Asks the accelerator for the points of a recurrence at these positions along the first axes of
/// its order, and takes them; where those that a condition ends have ended.
pub(crate) fn ask_for_steps<'p>(
    machine: &mut Machine<'p>,
    id: usize,
    (tensor, e): (&'p Tensor, &'p Expr),
    order: &[Step],
    mut limits: Limits,
) -> (Came, usize) {
    let outer = machine.pending[id].build.outer.clone();
    let mut clauses = clauses_before(machine, tensor, e, (order, &limits), &outer);
    clauses.extend(tensor.clauses.iter().filter_map(|clause| limited(clause, &limits)));
    for until in clauses.iter_mut().filter_map(|clause| clause.until.as_mut()) {
        // That it does not end in this part is no failure.
        until.otherwise = None;
    }
    let Some((axis, here)) = limits.first().copied() else { return (Came::Declined, 0) };
    let ends = tensor.clauses.iter().any(|clause| clause.until.is_some());
    let mut shape = outer;
    if ends {
        shape[axis] = here.1 as usize;
    }
    let part = part_of(tensor, e, &shape, clauses);
    let before = computed(machine, id as u32);
    let rows = order.first().map(|step| {
        let (first, last) = before_step(step, here, lookback(tensor));
        (axis, (first.min(here.0), last.max(here.1)))
    });
    let value = match machine.accelerate_part(Part::Value(&part, rows), before) {
        Answer::Made(value) => value,
        Answer::Failed => return (Came::Failed, 0),
        Answer::Evaluate => return (Came::Declined, 0),
    };
    let end = match value.shape().get(axis) {
        Some(end) if ends => (*end as i64).clamp(here.0, here.1),
        Some(_) | None => here.1,
    };
    limits[0].1.1 = end;
    if !machine.pending[id].build.take(&value, &limits) {
        return (Came::Declined, 0);
    }
    if limits.len() == 1 {
        machine.pending[id].claimed((here.0, end));
    }
    (Came::Done, end as usize)
}

/// The clauses that read the points before a part.
fn clauses_before(
    machine: &Machine<'_>,
    tensor: &Tensor,
    e: &Expr,
    (order, limits): (&[Step], &Limits),
    outer: &[usize],
) -> Vec<Clause> {
    let mut clauses = Vec::new();
    for (level, (step, (_, here))) in order.iter().zip(limits).enumerate() {
        let mut ranges: Vec<(i64, i64)> = outer.iter().map(|n| (0, *n as i64)).collect();
        for (axis, at) in &limits[..level] {
            ranges[*axis] = *at;
        }
        let lookback = lookback(tensor).filter(|_| level == 0);
        ranges[step.axis] = before_step(step, *here, lookback);
        if ranges.iter().all(|(lo, hi)| lo < hi) {
            clauses.push(clause_before(machine, tensor, e, &ranges));
        }
    }
    clauses
}

/// A clause that reads points from what was computed before.
fn clause_before(
    machine: &Machine<'_>,
    tensor: &Tensor,
    e: &Expr,
    ranges: &[(i64, i64)],
) -> Clause {
    let before = before_part(machine.program);
    let index = |axis: usize| VarId::from_usize(before.index() + 1 + axis);
    let int = |value: i64| constant(Scalar::I64(value), e.span);
    let slots = ranges.iter().enumerate().map(|(axis, (lo, hi))| {
        ClauseSlot::Loop(Binder { var: index(axis), lo: int(*lo), hi: int(*hi) })
    });
    let indices = (0..ranges.len()).map(|axis| IndexArg {
        value: Expr::new(ExprKind::Var(index(axis)), Type::I32, e.span),
        bounds: Bounds::Proved,
    });
    let base = Expr::new(ExprKind::Var(before), e.ty.clone(), e.span);
    let inner = e.ty.axes().iter().skip(ranges.len()).cloned().collect();
    let ty = match tensor.inner_rank {
        0 => e.ty.elem().clone(),
        _ => Type::array(e.ty.elem().clone(), inner),
    };
    let read = ExprKind::Index { base, indices: indices.collect() };
    Clause {
        slots: slots.collect(),
        items: Vec::new(),
        value: Expr::new(read, ty, e.span),
        otherwise: None,
        until: None,
        span: e.span,
    }
}

/// What has been computed of a recurrence, as an array.
pub(crate) fn computed(machine: &Machine<'_>, id: u32) -> Value {
    let Some(pending) = machine.pending.get(id as usize) else { return Value::Unit };
    pending.build.so_far().unwrap_or_default()
}

/// Notes which clauses cover the points at a position of the first axis of the order, unless that
/// has happened.
pub(crate) fn claim_row<'p>(machine: &mut Machine<'p>, id: usize, at: usize) -> Result<(), Stop> {
    let pending = &mut machine.pending[id];
    let Some(rows) = pending.unclaimed(at) else { return Ok(()) };
    pending.claimed((at as i64, at as i64 + 1));
    let (tensor, outer) = (pending.tensor, pending.build.outer.clone());
    let mut states = std::mem::take(&mut pending.states);
    let claimed = machine.claim_all(tensor, rows, &outer, &mut states);
    machine.pending[id].states = states;
    claimed
}

/// How far back steps are read, if that is known.
fn lookback(tensor: &Tensor) -> Option<i64> {
    tensor.recurrence.as_ref()?.lookback.map(i64::from)
}

/// The positions before these that are read there.
fn before_step(step: &Step, (lo, hi): (i64, i64), lookback: Option<i64>) -> (i64, i64) {
    let most = lookback.unwrap_or(i64::MAX);
    match step.backward {
        false => (lo.saturating_sub(most).max(0), lo),
        true => (hi, hi.saturating_add(most).min(step.extent as i64)),
    }
}
