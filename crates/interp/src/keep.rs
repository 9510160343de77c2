//! What does not change from point to point is computed once: values that the loops of a clause, or
//! of a reduction, would repeat are kept, by the indices on which they depend.
//!
//! They are computed when they are first needed, so what no point needs does not fail either.

use std::rc::Rc;

use ein_ir::tensor::{Clause, Expr, Reduce, Scatter, Tensor, VarId};
use rustc_hash::FxHashMap;

use crate::accelerate::Answer;
use crate::machine::Machine;
use crate::parts::Way;
use crate::stop::Stop;
use crate::survey::{KEYS, Repeated, Survey, acting};
use crate::value::Value;

/// The most numbers that are kept of an expression; of arrays one.
const MOST: usize = 1 << 16;

/// The values of an expression so far.
struct Kept<'p> {
    e: &'p Expr,
    keys: Vec<VarId>,
    /// Whether nothing but the step of a recurrence changes it.
    in_step: bool,
    values: FxHashMap<[i64; KEYS], Value>,
}

/// What the loops that are under way keep; `None` where there are none, so that a reduction would be
/// the outermost one.
#[derive(Default)]
pub(crate) struct Scope<'p> {
    kept: Option<Vec<Kept<'p>>>,
    /// Whether all loops around the clause are steps of recurrences.
    in_order: bool,
}

impl Scope<'_> {
    /// Whether all loops around the clause are steps of recurrences.
    pub(crate) fn in_order(&self) -> bool {
        self.in_order
    }

    /// Whether a value is kept, and nothing but the step of a recurrence changes it.
    pub(crate) fn is_of_step(&self, e: &Expr) -> bool {
        let kept = self.kept.as_deref().unwrap_or_default();
        kept.iter().any(|it| it.in_step && std::ptr::eq(it.e, e))
    }
}

/// The indices of a clause that are steps of its recurrence.
pub(crate) fn steps(tensor: &Tensor, clause: &Clause) -> Vec<VarId> {
    let Some(order) = &tensor.recurrence else { return Vec::new() };
    let is_step = |axis: usize| order.axes.iter().any(|step| step.axis == axis);
    clause.indices().filter(|(axis, _)| is_step(*axis)).map(|(_, binder)| binder.var).collect()
}

/// What is known about the code.
#[derive(Default)]
pub(crate) struct Surveys<'p> {
    /// The repeated expressions of clauses and reductions, by where these are.
    repeated: FxHashMap<*const (), Rc<[Repeated<'p>]>>,
    acting: Option<Rc<[bool]>>,
}

impl<'p> Machine<'p> {
    /// Room for what the points of a clause share.
    pub(crate) fn scope_of_clause(&mut self, tensor: &'p Tensor, clause: &'p Clause) -> Scope<'p> {
        let acting = self.acting();
        let program = self.program;
        let survey = || Survey::clause(program, &acting, clause);
        self.scope(std::ptr::from_ref(clause).cast(), &steps(tensor, clause), survey)
    }

    /// Room for what the points of a reduction share, if it is not part of something that has it.
    pub(crate) fn scope_of_reduction(&mut self, reduce: &'p Reduce) -> Option<Scope<'p>> {
        if self.scope.kept.is_some() {
            return None;
        }
        let acting = self.acting();
        let program = self.program;
        let survey = || Survey::reduction(program, &acting, reduce);
        Some(self.scope(std::ptr::from_ref(reduce).cast(), &[], survey))
    }

    /// Room for what the points of an accumulation share, if it is not part of something that has it.
    pub(crate) fn scope_of_scatter(&mut self, scatter: &'p Scatter) -> Option<Scope<'p>> {
        if self.scope.kept.is_some() {
            return None;
        }
        let acting = self.acting();
        let program = self.program;
        let survey = || Survey::accumulation(program, &acting, scatter);
        Some(self.scope(std::ptr::from_ref(scatter).cast(), &[], survey))
    }

    fn acting(&mut self) -> Rc<[bool]> {
        let program = self.program;
        Rc::clone(self.surveys.acting.get_or_insert_with(|| acting(program).into()))
    }

    fn scope(
        &mut self,
        of: *const (),
        steps: &[VarId],
        survey: impl FnOnce() -> Vec<Repeated<'p>>,
    ) -> Scope<'p> {
        let repeated = self.surveys.repeated.entry(of).or_insert_with(|| survey().into());
        let kept = repeated.iter().map(|it| Kept {
            e: it.e,
            keys: it.keys.clone(),
            in_step: it.keys.iter().all(|key| steps.contains(key)),
            values: FxHashMap::default(),
        });
        let kept = Some(kept.collect());
        Scope { kept, in_order: self.in_order() }
    }

    /// Does something in another scope, which is given back.
    pub(crate) fn within<T>(
        &mut self,
        scope: Scope<'p>,
        f: impl FnOnce(&mut Self) -> T,
    ) -> (T, Scope<'p>) {
        let around = std::mem::replace(&mut self.scope, scope);
        let result = f(self);
        (result, std::mem::replace(&mut self.scope, around))
    }

    /// The value of an expression: the one that was kept, or the one that `f` computes.
    #[inline]
    pub(crate) fn kept(
        &mut self,
        e: &'p Expr,
        f: impl FnOnce(&mut Self) -> Result<Value, Stop>,
    ) -> Result<Value, Stop> {
        let kept = self.scope.kept.as_deref().unwrap_or_default();
        let Some(at) = kept.iter().position(|it| std::ptr::eq(it.e, e)) else { return f(self) };
        let mut key = [0; KEYS];
        for (key, var) in key.iter_mut().zip(&kept[at].keys) {
            match self.var(*var) {
                Value::Scalar(value) => *key = value.as_i64().unwrap_or(0),
                other => return Err(self.expected(e.span, "an index", other)),
            }
        }
        if let Some(value) = kept[at].values.get(&key) {
            return Ok(value.clone());
        }
        let value = match kept[at].in_step && self.scope.in_order {
            true => self.at_step(e, f)?,
            false => f(self)?,
        };
        if let Some(kept) = self.scope.kept.as_mut().and_then(|kept| kept.get_mut(at)) {
            let most = if matches!(value, Value::Scalar(_)) { MOST } else { 1 };
            if kept.values.len() >= most {
                kept.values.clear();
            }
            kept.values.insert(key, value.clone());
        }
        Ok(value)
    }

    /// A value that is computed once in a step of a recurrence, or once in all: there are few steps,
    /// and one after another, so a kernel for each is a gain where the whole could not be one.
    #[inline(never)]
    fn at_step(
        &mut self,
        e: &'p Expr,
        f: impl FnOnce(&mut Self) -> Result<Value, Stop>,
    ) -> Result<Value, Stop> {
        let before = std::mem::replace(&mut self.ordered, self.marks.len());
        let value = match self.accelerate_in_step(e) {
            Ok(Answer::Made(value)) => Ok(value),
            Ok(Answer::Failed) => self.alone(Way::Alone, f),
            Ok(Answer::Evaluate) => f(self),
            Err(stop) => Err(stop),
        };
        self.ordered = before;
        value
    }
}
