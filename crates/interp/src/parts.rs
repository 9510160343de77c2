//! What failed as a kernel, part by part.
//!
//! A kernel that meets a failure gives no result and does not say where it was, so the message comes from
//! here. To evaluate everything for the sake of one point would take a thousand times as long: the
//! positions of the outermost loop are gone through in order, in halves. Each part is a definition or a
//! reduction of its own, which the accelerator is asked for; where it gives a value nothing has failed,
//! and the value is taken. What is left is one position at which a check fails. It stands *alone*: its
//! inner loops are gone through in the same way, and what it computes on the way is asked for like a
//! statement of the top level, until there is so little left that it is evaluated. So the first failure
//! in the order of the program is the one that is told, and it costs a few runs of the kernel. If nothing
//! fails here the alarm was false, and nothing is lost.
//!
//! * rows of a definition: this file;
//! * steps of a recurrence, which go on from those before them: [`steps`];
//! * terms of a reduction, which are gathered: [`terms`];
//! * turns of a function that ends by calling itself, of which nobody knows how many there are:
//!   [`turns`].

mod steps;
mod terms;
mod turns;

pub(crate) use steps::{ask_for_steps, claim_row, computed, steps_in_parts};
pub(crate) use terms::{add_part, terms_in_parts};
pub(crate) use turns::skip_turns;

use ein_base::Span;
use ein_ir::size;
use ein_ir::tensor::{Binder, Clause, ClauseSlot, Expr, ExprKind, Tensor, Type};
use ein_scalar::{BinaryOp, Scalar};

use crate::accelerate::{Answer, Part};
use crate::array::{count, unravel};
use crate::definition::Build;
use crate::machine::Machine;
use crate::stop::Stop;
use crate::value::Value;

/// So many parts may fail before the evaluator is left to do the rest. One failure takes a part for each
/// time that the positions can be halved.
pub(crate) const ALARMS: u32 = 128;

/// How positions are gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The accelerator is asked for them.
    Ask,
    /// The evaluator does them.
    Evaluate,
    /// The evaluator does the only one, at which a check has failed.
    Alone,
}

/// What came of some positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// They are done.
    Done,
    /// They are done, and those after them need not be.
    Settled,
    /// The accelerator met a failure.
    Failed,
    /// The accelerator leaves them to the evaluator.
    Declined,
}

/// Positions that are left, among which a failure was met if `fails`.
#[derive(Clone, Copy)]
struct Rest {
    at: (i64, i64),
    fails: bool,
    /// Whether they are the first half of some in which a failure was met.
    first: bool,
}

/// Positions along some axes: those of a part.
pub(crate) type Limits = Vec<(usize, (i64, i64))>;

/// What is done with some positions.
type Run<'f, 'p> = &'f mut dyn FnMut(&mut Machine<'p>, Way, (i64, i64)) -> Result<Came, Stop>;

/// Goes through positions, of which it is known that a check fails among them; whether those after
/// them need not be done.
pub(crate) fn in_parts<'p>(
    machine: &mut Machine<'p>,
    whole: (i64, i64),
    run: Run<'_, 'p>,
) -> Result<bool, Stop> {
    let mut alarms = 0;
    let mut rest = vec![Rest { at: whole, fails: true, first: false }];
    while let Some(Rest { at: (lo, hi), fails, first }) = rest.pop() {
        if lo >= hi {
            continue;
        }
        let mut came = match fails {
            _ if alarms >= ALARMS => Came::Declined,
            true => Came::Failed,
            false => run(machine, Way::Ask, (lo, hi))?,
        };
        if came == Came::Failed && hi - lo > 1 {
            alarms += 1;
            let middle = lo + (hi - lo) / 2;
            rest.push(Rest { at: (middle, hi), fails: false, first: false });
            rest.push(Rest { at: (lo, middle), fails: false, first: true });
            continue;
        }
        if came == Came::Done
            && first
            && let Some(second) = rest.last_mut()
        {
            // It was not the first half, so it is the other one.
            second.fails = true;
        }
        came = match came {
            Came::Done | Came::Settled => came,
            Came::Failed => run(machine, Way::Alone, (lo, hi))?,
            Came::Declined => run(machine, Way::Evaluate, (lo, hi))?,
        };
        if came == Came::Settled {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Fills what a clause covers at some positions along an axis, of a definition that failed as a
/// kernel. `row` numbers the first point of it.
pub(crate) fn fill_in_parts<'p>(
    machine: &mut Machine<'p>,
    (tensor, e): (&'p Tensor, &'p Expr),
    clause: &'p Clause,
    (axis, row): (usize, usize),
    (binder, lo, hi): (&'p Binder, i64, i64),
    (build, done): (&mut Build<'p>, &mut [bool]),
) -> Result<(), Stop> {
    let outer = build.outer.clone();
    let first = tensor.clauses.iter().position(|it| std::ptr::eq(it, clause)).unwrap_or(0);
    let around = unravel(row / outer[axis].max(1), &outer[..axis]);
    let fixed: Limits =
        around.iter().map(|at| *at as i64).map(|at| (at, at + 1)).enumerate().collect();
    let alike = clause.slots.iter().all(|slot| machine.is_rectangular(slot, clause));
    in_parts(machine, (lo, hi), &mut |machine, way, (lo, hi)| {
        if way != Way::Ask {
            let at = (binder, lo, hi);
            machine.fill_positions(clause, (axis, row), at, (&mut *build, &mut *done), way)?;
            return Ok(Came::Done);
        }
        if !done.is_empty() && !alike {
            return Ok(Came::Declined);
        }
        let mut limits = fixed.clone();
        limits.push((axis, (lo, hi)));
        // Later clauses have been filled, so that the cells which they cover do not fail.
        let clauses = tensor.clauses[first..].iter();
        let clauses = clauses.filter_map(|clause| limited(clause, &limits)).collect();
        let part = part_of(tensor, e, &outer, clauses);
        let part = Part::Value(&part, limits.first().copied());
        match machine.accelerate_part(part, Value::Unit) {
            Answer::Made(value) if build.take(&value, &limits) => {
                if !done.is_empty() {
                    mark(machine, clause, (axis, row), (lo, hi), &outer, done)?;
                }
                if build.metered && done.is_empty() {
                    (lo..hi).for_each(|_| machine.meter.step(axis));
                }
                Ok(Came::Done)
            }
            Answer::Failed => Ok(Came::Failed),
            Answer::Made(_) | Answer::Evaluate => Ok(Came::Declined),
        }
    })?;
    Ok(())
}

/// Notes that what a clause covers at some positions along an axis has been computed.
fn mark<'p>(
    machine: &mut Machine<'p>,
    clause: &'p Clause,
    (axis, row): (usize, usize),
    (lo, hi): (i64, i64),
    outer: &[usize],
    done: &mut [bool],
) -> Result<(), Stop> {
    let Some(slot) = clause.slots.get(axis + 1) else {
        done[row + lo as usize..row + hi as usize].fill(true);
        return Ok(());
    };
    let inner = machine.slot_domain(slot, axis + 1, outer[axis + 1], clause)?;
    for at in lo..if inner.0 < inner.1 { hi } else { lo } {
        let row = (row + at as usize) * outer[axis + 1];
        mark(machine, clause, (axis + 1, row), inner, outer, done)?;
    }
    Ok(())
}

impl Machine<'_> {
    /// Does something at the position of the loops under way, at which a check has failed.
    pub(crate) fn alone<T>(&mut self, way: Way, f: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.alone;
        if way == Way::Alone {
            self.alone = self.marks.len();
        }
        let value = f(self);
        self.alone = before;
        value
    }
}

impl Build<'_> {
    /// Takes the cells of a part from an array of the whole shape, or of one that ends with the part;
    /// whether it is one.
    pub(crate) fn take(&mut self, value: &Value, limits: &Limits) -> bool {
        let shape = self.shape.clone();
        let mut ranges: Vec<(usize, usize)> = shape.iter().map(|extent| (0, *extent)).collect();
        for (axis, (lo, hi)) in limits {
            ranges[*axis] = (*lo as usize, *hi as usize);
        }
        let Value::Tensor(value) = value else { return false };
        let is_whole = value.rank() == shape.len()
            && value.shape().iter().zip(&ranges).all(|(extent, (_, hi))| hi <= extent);
        let flat = value.reshape(&[value.len()]);
        let (true, Ok(flat), Some(cells)) = (is_whole, flat, self.numbers()) else { return false };
        // From here inward all cells are taken, so they lie one after another.
        let ends = ranges.iter().zip(shape.iter().zip(value.shape()));
        let part = |((lo, hi), (extent, other)): (&(usize, usize), (&usize, &usize))| {
            (*lo, *hi) != (0, *extent) || extent != other
        };
        let inner = ends.clone().rposition(part).unwrap_or(0);
        let mut rows = vec![(0, 0)];
        for ((lo, hi), (to, from)) in ends.take(inner) {
            let all = |(a, b): &(usize, usize)| {
                let (a, b) = (a * to, b * from);
                (*lo..*hi).map(move |at| (a + at, b + at))
            };
            rows = rows.iter().flat_map(all).collect();
        }
        let row = count(shape.get(inner + 1..).unwrap_or_default());
        let (lo, hi) = ranges.get(inner).copied().unwrap_or((0, 1));
        let extent = |shape: &[usize]| shape.get(inner).copied().unwrap_or(1);
        let (to, from) = (extent(&shape), extent(value.shape()));
        rows.into_iter().all(|(a, b)| {
            let place = (a * to + lo) * row;
            let part = flat.slice(0, (b * from + lo) * row, (b * from + hi) * row);
            part.is_ok_and(|part| cells.set_row(place, &Value::tensor(part)))
        })
    }
}

/// A clause at some positions only; none if it covers none of them.
fn limited(clause: &Clause, limits: &Limits) -> Option<Clause> {
    let mut clause = clause.clone();
    for (axis, (lo, hi)) in limits {
        match &mut clause.slots[*axis] {
            ClauseSlot::Point(at) if *lo <= *at && *at < *hi => {}
            ClauseSlot::Point(_) => return None,
            ClauseSlot::Loop(binder) => limit(binder, (*lo, *hi))?,
        }
    }
    Some(clause)
}

/// Leaves an index some of its positions only; none if it has none of them.
fn limit(binder: &mut Binder, (lo, hi): (i64, i64)) -> Option<()> {
    bounded(&mut binder.lo, BinaryOp::Max, lo);
    bounded(&mut binder.hi, BinaryOp::Min, hi);
    match (&*binder.lo.kind, &*binder.hi.kind) {
        (ExprKind::Const(lo), ExprKind::Const(hi)) => (lo.as_i128() < hi.as_i128()).then_some(()),
        _ => Some(()),
    }
}

fn bounded(bound: &mut Expr, op: BinaryOp, at: i64) {
    let ty = bound.ty.scalar().and_then(|ty| Scalar::from_i128(i128::from(at), ty));
    // A limit that the type of a bound does not hold is none.
    let Some(limit) = ty else { return };
    if let ExprKind::Const(value) = &*bound.kind {
        let nearer = match op {
            BinaryOp::Max => value.as_i128() >= limit.as_i128(),
            _ => value.as_i128() <= limit.as_i128(),
        };
        *bound = constant(if nearer { *value } else { limit }, bound.span);
        return;
    }
    let (span, ty) = (bound.span, bound.ty.clone());
    let old = std::mem::replace(bound, constant(limit, span));
    *bound = Expr::new(ExprKind::Binary(op, old, constant(limit, span)), ty, span);
}

fn constant(value: Scalar, span: Span) -> Expr {
    Expr::new(ExprKind::Const(value), Type::Scalar(value.ty()), span)
}

/// A definition of the same shape with other clauses.
fn part_of(tensor: &Tensor, e: &Expr, outer: &[usize], clauses: Vec<Clause>) -> Expr {
    let shape = outer.iter().map(|extent| Some(size::Expr::constant(*extent as i64))).collect();
    let part = Tensor {
        name: tensor.name,
        self_var: tensor.self_var,
        shape,
        inner_rank: tensor.inner_rank,
        clauses,
        recurrence: tensor.recurrence.clone(),
        requires: Vec::new(),
    };
    Expr::new(ExprKind::Tensor(part), e.ty.clone(), e.span)
}
