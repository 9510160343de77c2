//! Running a whole program with values of the caller as its inputs.

use super::evaluate::{Outside, Surroundings};
use super::{Failure, Program, Told};
use crate::engine::Kernels;
use crate::execute::{ad_memory, memory};
use crate::guard::watched;
use crate::run::{InputValue, RunOptions};
use crate::{Diagnostic, named};
use ein_base::Symbol;
use ein_interp::{Outcome, Value};
use ein_ir::tensor::Type;
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// A binding of the top level after a run.
#[derive(Clone, Debug)]
pub struct Output {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// The coordinates of its axes.
    pub dims: Vec<Option<String>>,
    /// What `print` shows of it.
    pub text: String,
    /// The names of the fields, if it is a struct.
    pub fields: Vec<String>,
}

impl Program {
    /// Checks and runs it; gives its outputs, or those that were asked for.
    pub fn run(
        &self,
        inputs: &[(String, Value)],
        observe: Option<&[String]>,
        around: &dyn Surroundings,
    ) -> Result<Vec<Output>, Failure> {
        let (mut session, input) = self.open("");
        let names: FxHashSet<Symbol> = inputs.iter().map(|(it, _)| Symbol::intern(it)).collect();
        let mut diagnostics = Vec::new();
        let compiled =
            crate::guarded(|| session.compile(&input, &names, &mut diagnostics)).flatten()?;
        diagnostics.retain(Diagnostic::is_error);
        let Some(mut compiled) = compiled.filter(|_| diagnostics.is_empty()) else {
            return Err(Failure::Rejected(Told::all(&session, &diagnostics)));
        };
        let placeholder =
            |(name, _): &(String, Value)| (name.clone(), InputValue::Scalar("".into()));
        let options = RunOptions {
            inputs: inputs.iter().map(placeholder).collect(),
            observe: observe.map(<[String]>::to_vec),
            ..self.options.clone()
        };
        if let Err(unknown) = named::settle(&mut compiled.program, &options) {
            return Err(Failure::Rejected(Told::all(&session, &[*unknown])));
        }
        ein_transform::observed(&mut compiled.program);
        let memory = memory(&options);
        let interrupted = Arc::new(AtomicBool::new(false));
        let work = || -> Outcome {
            let flag = Arc::clone(&interrupted);
            let mut settings = session.settings(&compiled, &options, memory.clone(), flag);
            settings.deadline = options.time_limit.and_then(|it| Instant::now().checked_add(it));
            let mut host = Outside { around, inputs, silent: false };
            let histories = ad_memory(options.ad_memory, &memory);
            let mut kernels = Kernels::new(&compiled.program, &options, histories);
            crate::execute::execute(&compiled.program, &settings, &mut host, kernels.as_mut())
        };
        let look = || {
            if around.interrupted() {
                interrupted.store(true, Ordering::Relaxed);
            }
        };
        let outcome = watched(work, look)?;
        if outcome.interrupted {
            return Err(Failure::Interrupted);
        }
        if let Some(error) = outcome.error {
            return Err(Failure::Stopped(Told::all(&session, &[error])));
        }
        let program = &compiled.program;
        let output = |(var, value): (_, Value)| {
            let ty = &program.vars[var].ty;
            Output {
                name: program.vars[var].name.to_string(),
                dims: dims(ty),
                text: ein_interp::display(&value, program),
                fields: fields(program, &value),
                value,
            }
        };
        Ok(outcome.outputs.into_iter().map(output).collect())
    }
}

/// The names of the fields of a struct.
pub(crate) fn fields(program: &ein_ir::tensor::Program, value: &Value) -> Vec<String> {
    match value {
        Value::Data(data) => {
            let variant = program.data[data.data].variants.get(data.variant);
            variant.map_or_else(Vec::new, |it| it.fields.iter().map(ToString::to_string).collect())
        }
        _ => Vec::new(),
    }
}

/// The coordinates of the axes of a type.
pub(crate) fn dims(ty: &Type) -> Vec<Option<String>> {
    ty.axes().iter().map(|axis| axis.coord.map(|it| it.name.to_string())).collect()
}
