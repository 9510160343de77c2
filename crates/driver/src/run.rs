//! What a run is asked to do.

use ein_base::Progress;
use ein_transform::pipeline::Passes;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How a program is run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Values for top-level names, in the order given; a later one replaces an earlier one.
    pub inputs: Vec<(String, InputValue)>,
    /// Only these bindings are outputs; all of them if absent.
    pub observe: Option<Vec<String>>,
    /// Whether anybody looks at the outputs besides `save`.
    pub report_outputs: bool,
    /// Where outputs are written as `.npy` files.
    pub save: Option<PathBuf>,
    /// What executes the program.
    pub engine: Engine,
    /// How many threads it may use; as many as the machine has if absent.
    pub threads: Option<usize>,
    /// Whether results must not depend on the number of threads.
    pub deterministic: bool,
    /// The most bytes that arrays may take together.
    pub memory_limit: Option<u64>,
    /// How long it may take, from reading its text on.
    pub time_limit: Option<Duration>,
    /// The most bytes that histories which derivatives read may take; a quarter of what arrays may
    /// take together if absent.
    pub ad_memory: Option<u64>,
    /// Whether anybody looks at how bindings are stored.
    pub report_storage: bool,
    /// Whether integer overflow wraps instead of being an error.
    pub wrapping: bool,
    /// The passes that run before loops are written.
    pub passes: Passes,
    /// Whether every run of every kernel is compared with what its loop IR means.
    pub paranoid: bool,
    /// What the program may do with files.
    pub access: Access,
    /// Where the run says how far it is, for whoever watches it.
    pub progress: Arc<Progress>,
}

/// What is shown of a program.
#[derive(Clone, Debug, Default)]
pub struct DumpOptions {
    /// As [`RunOptions::inputs`]: the scalars among them decide shapes.
    pub inputs: Vec<(String, InputValue)>,
    /// Only these bindings are outputs; all of them if absent.
    pub observe: Option<Vec<String>>,
    /// As [`RunOptions::ad_memory`].
    pub ad_memory: Option<u64>,
    /// As [`RunOptions::passes`].
    pub passes: Passes,
}

/// What a program may do with files.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Directories it may read from besides its own.
    pub read: Vec<PathBuf>,
    /// Directories it may write to.
    pub write: Vec<PathBuf>,
    /// Whether it may do neither anywhere.
    pub sandbox: bool,
}

/// The value of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputValue {
    /// The array in a file.
    File(PathBuf),
    /// A scalar as it was written: `3.5`, `true`, `word`.
    Scalar(String),
}

/// What executes programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// The best one there is.
    #[default]
    Auto,
    /// The evaluator of tensor IR: slow and obvious.
    Eval,
    /// Kernels in machine code made in this process.
    Jit,
    /// Kernels in C, built by the system's compiler.
    Native,
}

impl Engine {
    /// Its name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Engine::Auto => "auto",
            Engine::Eval => "eval",
            Engine::Jit => "jit",
            Engine::Native => "native",
        }
    }
}
