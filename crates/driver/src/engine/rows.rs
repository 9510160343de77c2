//! Some rows of a definition that failed as a kernel: where the failure is, is found in halves.

use super::{Code, Compiled, Kernels, Known};
use ein_interp::{Environment, Rows};
use ein_ir::tensor::{Expr, Program};
use ein_transform::{flatten, schedule};
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::time::Instant;

/// The evaluator has done as many operations in the time that a kernel takes to be made.
const FEW: f64 = 300_000.0;

impl<P: Deref<Target = Program>> Kernels<P> {
    /// Rows of the definition that failed last. What is made is made once, so it is not kept, and by
    /// the engine that compiles fastest.
    pub(super) fn some_rows(
        &mut self,
        e: &Expr,
        rows: Range<usize>,
        env: &mut dyn Environment,
    ) -> Rows {
        if self.failed != Some((&raw const *e) as usize) || env.interrupted() {
            return Rows::Evaluate;
        }
        let Some(var) = super::region::any_var(&self.program) else { return Rows::Evaluate };
        let (Ok(lo), Ok(hi)) = (i64::try_from(rows.start), i64::try_from(rows.end)) else {
            return Rows::Evaluate;
        };
        let started = Instant::now();
        let known = Known { env, program: &self.program };
        let flat = flatten::expression(&self.program, e, var, &known, self.arithmetic);
        let Some(mut flat) = flat.ok() else { return Rows::Evaluate };
        if !flat.only_rows(lo..hi) {
            return Rows::Evaluate;
        }
        let lowered = schedule::lower(flat, self.settings);
        if lowered.work < FEW {
            return Rows::Evaluate;
        }
        let Ok(code) = ein_jit::compile(&lowered.kernel) else { return Rows::Evaluate };
        self.compile_time += started.elapsed();
        let compiled = Compiled {
            inputs: Vec::new(),
            assumed: Vec::new(),
            count: 1,
            lowered,
            code: Code::Jit(Arc::new(code)),
            watched: Default::default(),
            skipped: 0.0,
        };
        match self.execute(&compiled, env).and_then(|values| values.into_iter().next()) {
            Some((_, value)) => Rows::Made(value),
            None => Rows::Failed,
        }
    }
}
