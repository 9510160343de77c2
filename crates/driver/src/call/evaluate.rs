//! What a call needs of the caller, and the evaluator in these surroundings.

use ein_base::{Code, Symbol, Work};
use ein_interp::{Environment, Host, InputError, Value};
use ein_ir::tensor::{Type, VarId};
use ein_runtime::Memory;
use ein_scalar::ScalarType;

/// What a call needs of the caller. It may be asked from any thread.
pub trait Surroundings: Sync {
    /// Gets each line that the program prints.
    fn print(&self, line: &str);

    /// Whether the run is to end. Asked some times a second, on the thread that made the call.
    fn interrupted(&self) -> bool;

    /// Hears now and then how far the run is.
    fn progress(&self, _work: Work) {}

    /// What a function of Python gives; numbers without a type of their own are to be of `ty`.
    fn python(
        &self,
        path: &str,
        _args: &[Value],
        _ty: Option<ScalarType>,
    ) -> Result<Value, String> {
        Err(format!("there is no Python here to call `{path}`"))
    }
}

/// The world outside, for the evaluator: the caller, and what it gives values for.
pub(super) struct Outside<'a> {
    pub(super) around: &'a dyn Surroundings,
    pub(super) inputs: &'a [(String, Value)],
    pub(super) silent: bool,
}

impl Host for Outside<'_> {
    fn print(&mut self, line: &str) {
        if !self.silent {
            self.around.print(line);
        }
    }

    fn input(&mut self, name: Symbol, _: &Type) -> Result<Value, InputError> {
        let given = self.inputs.iter().rev().find(|(given, _)| given == name.as_str());
        given.map(|(_, value)| value.clone()).ok_or_else(|| InputError {
            code: Code::E0901,
            message: format!("input `{name}` is missing: give it by its name"),
        })
    }

    fn progress(&mut self, work: Work) {
        self.around.progress(work);
    }

    fn python(
        &mut self,
        path: &str,
        args: &[Value],
        ty: Option<ScalarType>,
    ) -> Result<Value, String> {
        self.around.python(path, args, ty)
    }
}

/// The variables of a call whose statements are all one kernel.
pub(super) struct Values<'a> {
    pub(super) inputs: &'a [VarId],
    pub(super) args: &'a [Value],
    pub(super) known: &'a [(VarId, Value)],
    pub(super) memory: &'a Memory,
    pub(super) around: &'a dyn Surroundings,
    /// Whether it was interrupted.
    pub(super) ended: std::cell::Cell<bool>,
}

impl Environment for Values<'_> {
    fn get(&self, var: VarId) -> Value {
        if let Some(at) = self.inputs.iter().position(|it| *it == var) {
            return self.args.get(at).cloned().unwrap_or_default();
        }
        let known = self.known.iter().find(|(it, _)| *it == var);
        known.map(|(_, value)| value.clone()).unwrap_or_default()
    }

    fn set(&mut self, _: VarId, _: Value) {}

    fn memory(&self) -> &Memory {
        self.memory
    }

    fn interrupted(&self) -> bool {
        let ended = self.ended.get() || self.around.interrupted();
        self.ended.set(ended);
        ended
    }

    fn start_work(&mut self) -> u64 {
        1
    }

    fn progress(&mut self, number: u64, name: Symbol, fraction: Option<f64>) {
        self.around.progress(Work { number, name, fraction });
    }
}
