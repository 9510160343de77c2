//! Terms of a reduction, or points of an accumulation, that failed as a kernel.
//!
//! Of a part the accelerator is asked for what the reduction gathers of it, in a form that does not fail
//! because of the result: a sum of integers in halves, an extreme only where there is a point. So what
//! fails is a term, or it is found when all terms have been gathered.

use ein_ir::tensor::{Binder, Expr, ExprKind, Reduce, ReduceOp, Scatter, Type};
use ein_scalar::{BinaryOp, Scalar, ScalarType};

use super::{Came, Way, constant, in_parts, limit};
use crate::accelerate::{Answer, Part};
use crate::array::Cells;
use crate::machine::Machine;
use crate::reduce::{Gathered, Running};
use crate::stop::{MarkKind, Stop};
use crate::value::Value;

/// What a unit of the upper half of an integer is worth.
const UNIT: i64 = 1 << 32;

/// Why a number of a part is not there.
struct Missing(Came);

/// Runs the loops of a reduction that failed as a kernel from `level` inward; whether the result is
/// settled.
pub(crate) fn terms_in_parts<'p>(
    machine: &mut Machine<'p>,
    reduce: &'p Reduce,
    level: usize,
    (lo, hi): (i64, i64),
    running: &mut Running,
) -> Result<bool, Stop> {
    let binder = &reduce.binders[level];
    machine.push_mark(MarkKind::Index(binder.var));
    let settled = in_parts(machine, (lo, hi), &mut |machine, way, at| match way {
        Way::Ask => gather_part(machine, reduce, level, at, running),
        Way::Evaluate | Way::Alone => machine.alone(way, |machine| {
            for at in at.0..at.1 {
                machine.tick()?;
                let index = machine.index_value(at, binder.lo.span)?;
                machine.bind(binder.var, index);
                if machine.run_binders(reduce, level + 1, running)? {
                    return Ok(Came::Settled);
                }
            }
            Ok(Came::Done)
        }),
    })?;
    machine.marks.pop();
    Ok(settled)
}

/// Gathers the terms at some positions of the index `level`, if the accelerator has what it takes.
fn gather_part<'p>(
    machine: &mut Machine<'p>,
    reduce: &'p Reduce,
    level: usize,
    at: (i64, i64),
    running: &mut Running,
) -> Result<Came, Stop> {
    // The indices around have values.
    let mut binders = reduce.binders[level..].to_vec();
    if limit(&mut binders[0], at).is_none() {
        return Ok(Came::Done);
    }
    match gathered_of(machine, reduce, &binders, running) {
        Ok(came) => Ok(came),
        Err(Ok(Missing(came))) => Ok(came),
        Err(Err(stop)) => Err(stop),
    }
}

fn gathered_of<'p>(
    machine: &mut Machine<'p>,
    reduce: &'p Reduce,
    binders: &[Binder],
    running: &mut Running,
) -> Result<Came, Result<Missing, Stop>> {
    let span = reduce.value.span;
    let mut number = |op: ReduceOp, value: Expr| {
        let part = Reduce {
            op,
            binders: binders.to_vec(),
            items: reduce.items.clone(),
            value,
            requires: Vec::new(),
        };
        let ty = match op {
            ReduceOp::Argmax | ReduceOp::Argmin => Type::I32,
            _ => part.value.ty.clone(),
        };
        let part = Expr::new(ExprKind::Reduce(part), ty, span);
        match machine.accelerate_part(Part::Value(&part, None), Value::Unit) {
            Answer::Made(Value::Scalar(value)) => Ok(value),
            Answer::Failed => Err(Ok(Missing(Came::Failed))),
            Answer::Made(_) | Answer::Evaluate => Err(Ok(Missing(Came::Declined))),
        }
    };
    let term = || reduce.value.clone();
    let long = || cast(term(), ScalarType::I64);
    let int = |value: i64| constant(Scalar::I64(value), span);
    let whole = |value: Scalar| value.as_i128().unwrap_or(0);
    let ty = reduce.value.ty.scalar().unwrap_or(ScalarType::Bool);
    match &mut running.gathered {
        Gathered::IntSum(sum) if ty.size_bytes() < 8 => {
            sum.add(whole(number(ReduceOp::Sum, long())?));
        }
        Gathered::IntSum(sum) => {
            let half = |op| binary(op, long(), int(UNIT));
            let upper = whole(number(ReduceOp::Sum, half(BinaryOp::FloorDiv))?);
            let lower = whole(number(ReduceOp::Sum, half(BinaryOp::FloorMod))?);
            sum.add(upper * i128::from(UNIT) + lower);
        }
        Gathered::IntProd(product) if product.is_settled() => {
            // Only a zero can change it now.
            let is_zero = binary(BinaryOp::Eq, long(), int(0));
            let zeros = number(ReduceOp::Sum, cast(is_zero, ScalarType::I64))?;
            if whole(zeros) > 0 {
                product.mul(0);
            }
        }
        Gathered::IntProd(product) => product.mul(whole(number(ReduceOp::Prod, long())?)),
        Gathered::FloatSum(sum) => {
            let part = number(ReduceOp::Sum, cast(term(), ScalarType::F64))?;
            if reduce.op == ReduceOp::Mean {
                running.points += whole(number(ReduceOp::Sum, int(1))?) as u64;
            }
            sum.add(part.as_f64());
        }
        Gathered::FloatProd(product) => {
            let part = number(ReduceOp::Prod, cast(term(), ScalarType::F64))?;
            *product *= part.as_f64();
        }
        Gathered::Truth(truth) => {
            let stops = reduce.op == ReduceOp::Any;
            if number(reduce.op, term())?.as_bool() == Some(stops) {
                *truth = stops;
                return Ok(Came::Settled);
            }
        }
        Gathered::Count(count) => {
            *count += whole(number(ReduceOp::Sum, long())?) as i64;
        }
        Gathered::Extreme(best) => {
            if ty.is_int() && whole(number(ReduceOp::Sum, int(1))?) == 0 {
                return Ok(Came::Done);
            }
            let value = number(reduce.op, term())?;
            let op = if reduce.op == ReduceOp::Max { BinaryOp::Max } else { BinaryOp::Min };
            *best = Some(match *best {
                None => value,
                Some(best) => machine.binary(op, best, value, span).map_err(Err)?,
            });
        }
        Gathered::Arg(_) => {
            if whole(number(ReduceOp::Sum, int(1))?) == 0 {
                return Ok(Came::Done);
            }
            let [binder] = binders else { return Ok(Came::Declined) };
            let at = whole(number(reduce.op, term())?) as i64;
            // The term that counts is a term like any other.
            let index = machine.index_value(at, binder.lo.span).map_err(Err)?;
            machine.bind(binder.var, index);
            machine.one_point(reduce, running).map_err(Err)?;
        }
    }
    Ok(Came::Done)
}

/// Adds the points at some positions of the index `level` of an accumulation of floats, if the
/// accelerator has their sums.
pub(crate) fn add_part<'p>(
    machine: &mut Machine<'p>,
    scatter: &'p Scatter,
    level: usize,
    at: (i64, i64),
    cells: &mut Cells,
    e: &'p Expr,
) -> Came {
    // A sum of integers may fail on the way, which the sum of a part does not tell.
    if !e.ty.elem().scalar().is_some_and(ScalarType::is_float) {
        return Came::Declined;
    }
    let mut binders = scatter.binders[level..].to_vec();
    if limit(&mut binders[0], at).is_none() {
        return Came::Done;
    }
    let part = Scatter { binders, ..scatter.clone() };
    let part = Expr::new(ExprKind::Scatter(Box::new(part)), e.ty.clone(), e.span);
    let sums = match machine.accelerate_part(Part::Value(&part, None), Value::Unit) {
        Answer::Made(Value::Tensor(sums)) => sums,
        Answer::Failed => return Came::Failed,
        Answer::Made(_) | Answer::Evaluate => return Came::Declined,
    };
    for (at, sum) in sums.iter().enumerate() {
        let before = cells.get(at).as_scalar().unwrap_or(Scalar::zero(sum.ty()));
        if let Ok(sum) = machine.binary(BinaryOp::Add, before, sum, e.span) {
            // An element of the type that the array has.
            let _ = cells.set(at, Value::Scalar(sum));
        }
    }
    Came::Done
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let ty = match op {
        BinaryOp::Eq => Type::Scalar(ScalarType::Bool),
        _ => a.ty.clone(),
    };
    let span = a.span;
    Expr::new(ExprKind::Binary(op, a, b), ty, span)
}

fn cast(e: Expr, ty: ScalarType) -> Expr {
    let span = e.span;
    Expr::new(ExprKind::Cast(e), Type::Scalar(ty), span)
}
