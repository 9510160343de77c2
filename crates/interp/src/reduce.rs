//! Reductions.
//!
//! * Integer sums and products are exact; only the result has to fit.
//! * Float sums go over `ein-scalar`'s fixed tree in doubles and are rounded once. A `mean` is that
//!   sum divided by the number of points, in doubles, then rounded once. A float product is taken
//!   from left to right in doubles and rounded once.
//! * `max` and `min` propagate NaN; for `argmax` and `argmin` the first NaN is the extreme.
//! * With one index `argmax` gives its value; with several the position of the point in the order
//!   in which the domain is run through, points that a guard skips included.

use ein_base::{Code, Span};
use ein_ir::tensor::{Binder, Expr, Item, Reduce, ReduceOp};
use ein_scalar::{BinaryOp, FloatSum, IntProd, IntSum, Scalar, ScalarType, apply_binary};

use crate::accelerate::Answer;
use crate::machine::Machine;
use crate::parts::terms_in_parts;
use crate::stop::{MarkKind, Stop};
use crate::value::Value;

/// What a reduction has gathered so far.
pub(crate) enum Gathered {
    IntSum(IntSum),
    IntProd(IntProd),
    FloatSum(Box<FloatSum>),
    FloatProd(f64),
    Extreme(Option<Scalar>),
    /// The best value and its address.
    Arg(Option<(Scalar, i64)>),
    Truth(bool),
    Count(i64),
}

/// A reduction under way.
pub(crate) struct Running {
    pub(crate) gathered: Gathered,
    /// Points that no guard skipped.
    pub(crate) points: u64,
    /// Points, skipped ones included.
    position: i64,
    /// Whether its loops are what the meter counts.
    metered: bool,
    /// Which values of the first index are run through now.
    part: (i64, i64),
    /// Whether nothing can change it any more.
    settled: bool,
    /// Whether it failed as a kernel.
    failed: bool,
}

impl Running {
    /// Nothing gathered yet; none of what is not a number.
    pub(crate) fn of(reduce: &Reduce) -> Option<Running> {
        let ty = reduce.value.ty.scalar()?;
        let gathered = match reduce.op {
            ReduceOp::Sum if ty.is_int() => Gathered::IntSum(IntSum::new()),
            ReduceOp::Prod if ty.is_int() => Gathered::IntProd(IntProd::new()),
            ReduceOp::Sum | ReduceOp::Mean => Gathered::FloatSum(Box::default()),
            ReduceOp::Prod => Gathered::FloatProd(1.0),
            ReduceOp::Max | ReduceOp::Min => Gathered::Extreme(None),
            ReduceOp::Argmax | ReduceOp::Argmin => Gathered::Arg(None),
            ReduceOp::Any => Gathered::Truth(false),
            ReduceOp::All => Gathered::Truth(true),
            ReduceOp::Count => Gathered::Count(0),
        };
        let part = (i64::MIN, i64::MAX);
        let (settled, failed) = (false, false);
        Some(Running { gathered, points: 0, position: 0, metered: false, part, settled, failed })
    }
}

impl<'p> Machine<'p> {
    /// The value of a reduction, which may be known.
    #[inline(never)]
    pub(crate) fn kept_reduce(&mut self, reduce: &'p Reduce, e: &'p Expr) -> Result<Scalar, Stop> {
        let value = match self.scope_of_reduction(reduce) {
            Some(scope) => return self.within(scope, |machine| machine.reduce(reduce, e)).0,
            None => self.kept(e, |machine| machine.reduce(reduce, e).map(Value::Scalar))?,
        };
        match value {
            Value::Scalar(value) => Ok(value),
            other => Err(self.expected(e.span, "a number", &other)),
        }
    }

    fn reduce(&mut self, reduce: &'p Reduce, e: &'p Expr) -> Result<Scalar, Stop> {
        let failed = match self.accelerate(e)? {
            Answer::Made(Value::Scalar(value)) => return Ok(value),
            Answer::Failed => true,
            Answer::Made(_) | Answer::Evaluate => false,
        };
        let known = self.gathered.iter().find(|(known, _)| std::ptr::eq(*known, reduce));
        if let Some((_, Some(value))) = known {
            return Ok(*value);
        }
        for require in &reduce.requires {
            self.require(require)?;
        }
        let Some(mut running) = Running::of(reduce) else {
            return Err(self.malformed(e.span, "a reduction of something that is not a number"));
        };
        let metered = self.meter.take();
        running.metered = metered;
        running.failed = failed;
        let marks = self.marks.len();
        self.run_binders(reduce, 0, &mut running)?;
        self.marks.truncate(marks);
        self.meter.give_back(metered);
        self.finish_reduce(reduce, running, e.span)
    }

    /// Goes on with a reduction, for a part of the values of its first index.
    pub(crate) fn reduce_part(
        &mut self,
        reduce: &'p Reduce,
        part: (i64, i64),
        running: &mut Running,
    ) -> Result<(), Stop> {
        if !running.settled {
            for require in &reduce.requires {
                self.require(require)?;
            }
            running.part = part;
            let marks = self.marks.len();
            running.settled = self.run_binders(reduce, 0, running)?;
            self.marks.truncate(marks);
        }
        Ok(())
    }

    /// Runs the loops from `level` inward; whether the result is settled.
    pub(crate) fn run_binders(
        &mut self,
        reduce: &'p Reduce,
        level: usize,
        running: &mut Running,
    ) -> Result<bool, Stop> {
        let Some(binder) = reduce.binders.get(level) else {
            return self.one_point(reduce, running);
        };
        let (mut lo, mut hi) = self.domain(binder)?;
        if level == 0 {
            (lo, hi) = (lo.max(running.part.0), hi.min(running.part.1));
        }
        if running.metered {
            self.meter.enter(level, hi.saturating_sub(lo).max(0) as u64);
        }
        if running.failed && !self.in_a_loop() {
            return terms_in_parts(self, reduce, level, (lo, hi), running);
        }
        self.push_mark(MarkKind::Index(binder.var));
        for at in lo..hi {
            self.tick()?;
            let index = self.index_value(at, binder.lo.span)?;
            self.bind(binder.var, index);
            if self.run_binders(reduce, level + 1, running)? {
                return Ok(true);
            }
            if running.metered {
                self.meter.step(level);
            }
        }
        self.marks.pop();
        Ok(false)
    }

    /// The domain of an index; empty if it ends before it starts.
    #[inline]
    pub(crate) fn domain(&mut self, binder: &'p Binder) -> Result<(i64, i64), Stop> {
        self.limits(&binder.lo, &binder.hi)
    }

    /// Where a range begins and where it ends.
    #[inline]
    pub(crate) fn limits(&mut self, lo: &'p Expr, hi: &'p Expr) -> Result<(i64, i64), Stop> {
        let (first, end) = (self.int(lo)?, self.int(hi)?);
        if first == i64::MAX {
            return self.beyond_all(lo, hi);
        }
        Ok((first, end))
    }

    /// A range that begins where no index can be: nothing, or an overflow.
    #[cold]
    fn beyond_all(&mut self, lo: &'p Expr, hi: &'p Expr) -> Result<(i64, i64), Stop> {
        let (first, end) = (self.scalar(lo)?.as_i128(), self.scalar(hi)?.as_i128());
        match (first, end) {
            (Some(first), Some(end)) if first < end => Err(self.too_large(lo.span, first, "i32")),
            _ => Ok((0, 0)),
        }
    }

    /// Binds and tests; whether all guards hold.
    #[inline]
    pub(crate) fn items(&mut self, items: &'p [Item]) -> Result<bool, Stop> {
        for item in items {
            match item {
                Item::Let(var, value) => {
                    let value = self.kept(value, |machine| machine.eval(value))?;
                    self.bind(*var, value);
                }
                Item::Guard(guard) => {
                    if !self.truth(guard)? {
                        return Ok(false);
                    }
                }
            }
        }
        Ok(true)
    }

    pub(crate) fn one_point(
        &mut self,
        reduce: &'p Reduce,
        running: &mut Running,
    ) -> Result<bool, Stop> {
        let position = running.position;
        running.position += 1;
        if !self.items(&reduce.items)? {
            return Ok(false);
        }
        running.points += 1;
        let value = self.scalar(&reduce.value)?;
        match &mut running.gathered {
            Gathered::FloatSum(sum) => sum.add(value.as_f64()),
            Gathered::FloatProd(product) => *product *= value.as_f64(),
            Gathered::IntSum(sum) => sum.add(value.as_i128().unwrap_or(0)),
            Gathered::IntProd(product) => product.mul(value.as_i128().unwrap_or(1)),
            Gathered::Count(count) => *count += i64::from(value.as_bool() == Some(true)),
            Gathered::Truth(truth) => {
                let stops = reduce.op == ReduceOp::Any;
                if value.as_bool() == Some(stops) {
                    *truth = stops;
                    return Ok(true);
                }
            }
            Gathered::Extreme(best) => {
                let op = if reduce.op == ReduceOp::Max { BinaryOp::Max } else { BinaryOp::Min };
                *best = Some(match *best {
                    None => value,
                    Some(best) => self.binary(op, best, value, reduce.value.span)?,
                });
            }
            Gathered::Arg(best) => {
                let better = match *best {
                    None => true,
                    Some((best, _)) => is_better(reduce.op, value, best),
                };
                if better {
                    let address = match reduce.binders.as_slice() {
                        [binder] => self.var(binder.var).as_scalar().and_then(Scalar::as_i64),
                        _ => Some(position),
                    };
                    *best = Some((value, address.unwrap_or(position)));
                }
            }
        }
        Ok(false)
    }

    /// The value of a reduction of which all points have been seen.
    pub(crate) fn finish_reduce(
        &self,
        reduce: &Reduce,
        running: Running,
        span: Span,
    ) -> Result<Scalar, Stop> {
        let ty = reduce.value.ty.scalar().unwrap_or(ScalarType::Bool);
        let op = reduce.op.as_str();
        let overflow = |error| {
            let text = format!("the {op} does not fit `{ty}`");
            self.arithmetic(error, span, &text)
        };
        let float = |value| {
            Scalar::from_f64(value, ty)
                .ok_or_else(|| self.malformed(span, format_args!("`{op}` of `{ty}`")))
        };
        match running.gathered {
            Gathered::FloatSum(sum) if reduce.op == ReduceOp::Mean => {
                if running.points == 0 {
                    return Err(self.of_nothing(reduce, span));
                }
                float(sum.total() / running.points as f64)
            }
            Gathered::FloatSum(sum) => float(sum.total()),
            Gathered::FloatProd(product) => float(product),
            Gathered::IntSum(sum) => sum.finish(ty, self.overflow).map_err(overflow),
            Gathered::IntProd(product) => product.finish(ty, self.overflow).map_err(overflow),
            Gathered::Truth(truth) => Ok(Scalar::Bool(truth)),
            Gathered::Count(count) => match i32::try_from(count) {
                Ok(count) => Ok(Scalar::I32(count)),
                Err(_) => Err(self.too_large(span, count, "i32")),
            },
            Gathered::Extreme(Some(best)) => Ok(best),
            Gathered::Extreme(None) if ty.is_int() => Err(self.of_nothing(reduce, span)),
            Gathered::Extreme(None) if reduce.op == ReduceOp::Max => Ok(Scalar::lowest(ty)),
            Gathered::Extreme(None) => Ok(Scalar::highest(ty)),
            Gathered::Arg(None) => Err(self.of_nothing(reduce, span)),
            Gathered::Arg(Some((_, address))) => match i32::try_from(address) {
                Ok(address) => Ok(Scalar::I32(address)),
                Err(_) => Err(self.too_large(span, address, "i32")),
            },
        }
    }

    #[cold]
    fn of_nothing(&self, reduce: &Reduce, span: Span) -> Stop {
        let what = format!("`{}` of nothing", reduce.op.as_str());
        let vars = reduce.binders.iter().map(|binder| self.program.vars[binder.var].name);
        let written = vars.filter(|name| crate::stop::is_written(name.as_str()));
        let names: Vec<String> = written.map(|name| format!("`{name}`")).collect();
        let none = match names.is_empty() {
            true => "no element".to_string(),
            false => format!("no point of {}", names.join(", ")),
        };
        let stop = self.fail_in(Code::E0807, span, &what, "");
        match stop {
            Stop::Error(it) => it.here(none).into(),
            Stop::Interrupted => stop,
        }
    }

    /// Whether every element of a truth value or an array of them holds.
    pub(crate) fn holds(&self, value: &Value, span: Span) -> Result<bool, Stop> {
        match value {
            Value::Scalar(Scalar::Bool(truth)) => Ok(*truth),
            Value::Tensor(tensor) => Ok(tensor.iter().all(|x| x.as_bool() == Some(true))),
            Value::Objects(objects) => {
                for item in &objects.items {
                    if !self.holds(item, span)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Value::Jagged(items) => {
                for item in items.iter() {
                    if !self.holds(item, span)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            other => Err(self.expected(span, "a truth value", other)),
        }
    }
}

/// Whether `value` takes the place of `best`, which came first.
fn is_better(op: ReduceOp, value: Scalar, best: Scalar) -> bool {
    if best.is_nan() || value.is_nan() {
        return !best.is_nan();
    }
    let compare = if op == ReduceOp::Argmax { BinaryOp::Gt } else { BinaryOp::Lt };
    let result = apply_binary(compare, value, best, ein_scalar::Overflow::Wrap);
    result == Ok(Scalar::Bool(true))
}
