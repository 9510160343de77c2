//! Parts of what failed as a kernel: where the failure is, is found in halves.

use super::watch::Watch;
use super::{Code, Compiled, Kernels, Known, Ran};
use ein_interp::{Answer, Environment, Part};
use ein_ir::tensor::Program;
use ein_transform::points::Arithmetic;
use ein_transform::{flatten, schedule};
use std::ops::Deref;
use std::sync::Arc;
use std::time::Instant;

/// The evaluator has done as many operations in the time that a kernel takes to be made.
const FEW: f64 = 300_000.0;

/// So few are left to it where kernels are not trusted, so that small programs have parts.
const FEW_WATCHED: f64 = 40.0;

impl<P: Deref<Target = Program>> Kernels<P> {
    /// The value of a part. What is made is made once, so it is not kept, and by the engine that
    /// compiles fastest.
    pub(super) fn some_part(&mut self, part: &Part<'_>, env: &mut dyn Environment) -> Answer {
        if env.interrupted() {
            return Answer::Evaluate;
        }
        let Some(var) = super::region::any_var(&self.program) else { return Answer::Evaluate };
        let started = Instant::now();
        let known = Known { env, program: &self.program };
        let arithmetic = Arithmetic { careful: true, ..self.arithmetic };
        let flat = match *part {
            Part::Value(e, rows) => {
                let flat = flatten::expression(&self.program, e, var, &known, arithmetic);
                flat.map(|flat| flatten::Flattened { rows, ..flat })
            }
            Part::Turns(func, most) => {
                flatten::turns(&self.program, func, Some(most), var, &known, arithmetic)
            }
        };
        let Some(flat) = flat.ok() else { return Answer::Evaluate };
        let lowered = schedule::lower(flat, self.settings);
        let few = if self.watch == Watch::None { FEW } else { FEW_WATCHED };
        if lowered.work < few && matches!(part, Part::Value(..)) {
            return Answer::Evaluate;
        }
        let Ok(code) = ein_jit::compile(&lowered.kernel) else { return Answer::Evaluate };
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
        match self.execute(&compiled, env) {
            Ran::Made(values) => super::only(values),
            Ran::Trapped => Answer::Failed,
            Ran::Not => Answer::Evaluate,
        }
    }
}
