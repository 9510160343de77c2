//! The oracle: a plain, obviously correct evaluator of tensor IR.
//!
//! It walks the tree, keeps every value whole (but for histories that would be too large), checks
//! every read (also those that were proved), and computes recurrences on demand with a memo, so that
//! no order has to be trusted. What does not change along a loop is kept (`keep`), so that it repeats
//! nothing that grows. Every other engine is judged by it. It shares with them what a scalar operation
//! means (`ein-scalar`) and how arrays are stored (`ein-runtime`), and nothing else.
//!
//! * [`run`] and [`run_tests`] evaluate a program, [`resume`] one of which a part has been evaluated;
//!   [`Outcome`] holds what came of it.
//! * [`Options`] are the limits and permissions, [`Host`] is the world outside.
//! * An [`Accelerator`] may compute parts of a program in place of the evaluator, and hears how much is
//!   left to it.
//! * [`Value`] is what expressions evaluate to; [`display`] shows it as `print` does.
//! * [`with_big_stack`] runs work on a thread on which deep recursion fits.
//!
//! Needs: checked programs without derivative requests, in which everything bound inside an
//! expression (index variables, `where` bindings, blocks, patterns) lives in a local slot.
//!
//! Does not know: loop IR, any optimisation but that one, the checker, terminals.

#![forbid(unsafe_code)]

mod accelerate;
mod array;
mod assemble;
mod call;
mod convert;
mod definition;
mod display;
mod eval;
mod files;
mod gather;
mod history;
mod host;
mod hosted;
mod index;
mod keep;
mod machine;
mod meter;
mod numeric;
mod parts;
mod pattern;
mod plain;
mod python;
mod recurrence;
mod reduce;
mod room;
mod rows;
mod scatter;
mod stack;
mod stop;
mod survey;
mod tail;
mod text;
mod until;
mod value;
mod zeros;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use ein_base::{Code, Diagnostic, Symbol, Work};
use ein_ir::tensor::{FuncId, Program, Type, VarId};
use ein_runtime::Memory;

pub use accelerate::{Accelerator, Answer, Environment, Part};
pub use display::display;
pub use machine::bound_by;
pub use stack::{BIG_STACK_BYTES, with_big_stack};
pub use value::{Closure, DataValue, Objects, Value};

use keep::Scope;
use machine::Machine;
use stop::Stop;

/// The limits and permissions of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether integers wrap instead of failing on overflow.
    pub wrapping: bool,
    /// Where arrays are allocated, with its limit.
    pub memory: Memory,
    /// The most bytes that a history which derivatives read may take; what is larger is computed
    /// again from checkpoints.
    pub ad_memory: Option<u64>,
    /// The directory of the program: readable, and where relative paths start.
    pub script_dir: PathBuf,
    /// Whether not even `script_dir` may be read.
    pub sandbox: bool,
    /// Further directories that may be read.
    pub allow_read: Vec<PathBuf>,
    /// The directories that may be written.
    pub allow_write: Vec<PathBuf>,
    /// Set from outside to end the run.
    pub interrupted: Arc<AtomicBool>,
    /// When the run shall end in any case: E0812.
    pub deadline: Option<Instant>,
    /// How many calls (and recurrence points computed on demand) may be under way at once.
    pub max_depth: usize,
    /// The stack of the thread that calls [`run`], in bytes; what [`with_big_stack`] gave it, or
    /// one mebibyte, if absent. Recursion that comes near its end is E0808.
    pub stack_bytes: Option<usize>,
}

impl Options {
    /// The usual limits: no file access, trapping integers, twenty thousand calls.
    pub fn new(memory: Memory) -> Options {
        Options {
            wrapping: false,
            memory,
            ad_memory: None,
            script_dir: PathBuf::from("."),
            sandbox: false,
            allow_read: Vec::new(),
            allow_write: Vec::new(),
            interrupted: Arc::default(),
            deadline: None,
            max_depth: 20_000,
            stack_bytes: None,
        }
    }
}

/// The world outside the program.
pub trait Host {
    /// Writes a line of output; the newline is not in it.
    fn print(&mut self, line: &str);

    /// The value given from outside for a top-level name of type `ty`. What comes back is checked
    /// against the type by the evaluator (E0904, E0905).
    fn input(&mut self, name: Symbol, ty: &Type) -> Result<Value, InputError>;

    /// What a function of Python gives for these arguments; numbers are to be of the type `ty` if
    /// they have none of their own.
    fn python(
        &mut self,
        path: &str,
        args: &[Value],
        ty: Option<ein_scalar::ScalarType>,
    ) -> Result<Value, String> {
        let _ = (args, ty);
        Err(format!("there is no Python here to call `{path}`"))
    }

    /// Hears now and then what is computed and how far it is: after some thousand steps, and from
    /// kernels some times a second.
    fn progress(&mut self, work: Work) {
        let _ = work;
    }
}

/// Why there is no input.
#[derive(Clone, Debug)]
pub struct InputError {
    /// E0901 if it was not given, E0902 or E0903 if its file cannot be read.
    pub code: Code,
    /// One plain sentence.
    pub message: String,
}

/// What came of a run.
#[derive(Debug)]
pub struct Outcome {
    /// The outputs that were computed, in the order of `program.outputs`.
    pub outputs: Vec<(VarId, Value)>,
    /// Why it ended early.
    pub error: Option<Diagnostic>,
    /// Whether it ended because [`Options::interrupted`] was set.
    pub interrupted: bool,
    /// The value of `main`.
    pub result: Option<Value>,
}

/// Evaluates the top level, then `main` if the program has one to call.
pub fn run(program: &Program, options: &Options, host: &mut dyn Host) -> Outcome {
    run_then(program, options, host, None, Vec::new(), program.main)
}

/// The same with the help of an accelerator.
pub fn run_with(
    program: &Program,
    options: &Options,
    host: &mut dyn Host,
    accelerator: &mut dyn Accelerator,
) -> Outcome {
    run_then(program, options, host, Some(accelerator), Vec::new(), program.main)
}

/// Evaluates the top level of a program, and no `main`. The variables in `known` have been bound by
/// statements that ran before and are not in the program any more.
pub fn resume<'a>(
    program: &'a Program,
    options: &'a Options,
    host: &'a mut dyn Host,
    accelerator: Option<&'a mut (dyn Accelerator + 'a)>,
    known: Vec<(VarId, Value)>,
) -> Outcome {
    run_then(program, options, host, accelerator, known, None)
}

/// Evaluates the top level, then these test blocks, each as if the others had not run. Gives what
/// stopped the top level, and each test if the top level came to its end.
pub fn run_tests<'a>(
    program: &'a Program,
    options: &'a Options,
    host: &'a mut dyn Host,
    accelerator: Option<&'a mut (dyn Accelerator + 'a)>,
    tests: &[usize],
) -> (Option<Diagnostic>, Vec<Option<Diagnostic>>) {
    let mut machine = Machine::new(program, options, host, accelerator);
    let mut failures = Vec::with_capacity(tests.len());
    match machine.top_level() {
        Ok(()) => {}
        Err(Stop::Error(diagnostic)) => return (Some(machine.told(*diagnostic)), failures),
        Err(Stop::Interrupted) => return (None, failures),
    }
    let clean = machine.checkpoint();
    for (_, _, func) in tests.iter().filter_map(|test| program.tests.get(*test)) {
        let result = machine.within(Scope::default(), |machine| machine.enter(*func)).0;
        match room::unchanged_files(&machine).and(result) {
            Ok(_) => failures.push(None),
            Err(Stop::Error(diagnostic)) => failures.push(Some(machine.told(*diagnostic))),
            Err(Stop::Interrupted) => break,
        }
        machine.go_back(&clean);
    }
    (None, failures)
}

fn run_then<'a>(
    program: &'a Program,
    options: &'a Options,
    host: &'a mut dyn Host,
    accelerator: Option<&'a mut (dyn Accelerator + 'a)>,
    known: Vec<(VarId, Value)>,
    entry: Option<FuncId>,
) -> Outcome {
    let mut machine = Machine::new(program, options, host, accelerator);
    known.into_iter().for_each(|(var, value)| machine.bind_known(var, value));
    let result = machine.top_level().and_then(|()| match entry {
        Some(func) => machine.enter(func).map(Some),
        None => Ok(None),
    });
    // Also where something else stopped it: that may follow from what was read.
    let result = room::unchanged_files(&machine).and(result);
    let outputs = machine.outputs();
    let (result, error, interrupted) = match result {
        Ok(value) => (value, None, false),
        Err(Stop::Error(diagnostic)) => (None, Some(machine.told(*diagnostic)), false),
        Err(Stop::Interrupted) => (None, None, true),
    };
    Outcome { outputs, error, interrupted, result }
}
