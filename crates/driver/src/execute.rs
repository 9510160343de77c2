//! Running a checked program: inputs in, printed lines and outputs out.

use crate::engine::{Evaluated, Kernels};
use crate::engine::{large, plan};
use crate::guard::stack_bytes;
use crate::run::{InputValue, RunOptions};
use crate::{CheckReport, Compiled, InternalError, Session, guarded, json, named};
use ein_base::{Code, Diagnostic, Span, Symbol, Work};
use ein_interp::{Host, InputError, Outcome, Value};
use ein_ir::cost::Cost;
use ein_ir::tensor::{Program, Type, VarId};
use ein_runtime::Memory;
use ein_runtime::format::{self, FileError, FileErrorKind};
use ein_scalar::{Scalar, ScalarType, parse_float, parse_int};
use ein_transform::schedule::Settings;
use ein_transform::storage::Kind;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What came of a run.
#[derive(Debug, Default)]
#[must_use]
pub struct RunReport {
    /// What the checker said; with an error among it nothing ran.
    pub checked: CheckReport,
    /// What stopped the run.
    pub failure: Option<Diagnostic>,
    /// Whether it was interrupted from outside.
    pub interrupted: bool,
    /// The outputs that were computed, as JSON: name and value, in source order.
    pub outputs: Vec<(String, String)>,
    /// How each binding is stored, as JSON: name and description, in source order.
    pub storage: Vec<(String, String)>,
    /// What an engine left to the evaluator although there is work in it.
    pub evaluated: Vec<Evaluated>,
    /// How long each phase took.
    pub phases: Vec<(&'static str, Duration)>,
}

impl Session {
    /// Checks and runs a program. `print` gets each line that the program prints.
    pub fn run(
        &mut self,
        input: &crate::Input,
        options: &RunOptions,
        interrupted: Arc<AtomicBool>,
        print: &mut (dyn FnMut(&str) + Send),
    ) -> Result<RunReport, InternalError> {
        guarded(|| {
            let started = Instant::now();
            let begun = started;
            let mut report = RunReport::default();
            let names: FxHashSet<Symbol> =
                options.inputs.iter().map(|(name, _)| Symbol::intern(name)).collect();
            let compiled = self.compile(input, &names, &mut report.checked.diagnostics)?;
            report.phases.push(("check", started.elapsed()));
            let Some(mut compiled) = compiled else { return Ok(report) };
            if report.checked.has_errors() {
                return Ok(report);
            }
            if let Err(unknown) = named::settle(&mut compiled.program, options) {
                report.failure = Some(*unknown);
                return Ok(report);
            }
            let memory = memory(options);
            let ad_memory = ad_memory(options.ad_memory, &memory);
            if options.report_storage {
                report.storage = storage(&compiled.program, &options.inputs, ad_memory);
            }
            if !options.report_outputs && options.save.is_none() {
                // Nobody looks at them, so nothing has to be kept for them.
                compiled.program.outputs.clear();
            }
            ein_transform::observed(&mut compiled.program);
            let started = Instant::now();
            let mut settings = self.settings(&compiled, options, memory.clone(), interrupted);
            settings.deadline = options.time_limit.and_then(|limit| begun.checked_add(limit));
            let mut host = Outside::new(print, options, memory);
            let mut kernels = Kernels::new(&compiled.program, options, ad_memory);
            let outcome = execute(&compiled.program, &settings, &mut host, kernels.as_mut());
            let compiling = kernels.as_ref().map_or(Duration::ZERO, |it| it.compile_time);
            if !compiling.is_zero() {
                report.phases.push(("compile", compiling));
            }
            report.phases.push(("run", started.elapsed().saturating_sub(compiling)));
            self.finish(&compiled.program, options, &settings, outcome, &mut report);
            report.evaluated = kernels.map_or_else(Vec::new, |kernels| kernels.evaluated);
            let failed = report.failure.is_some();
            report.checked.diagnostics.extend(large::warnings(&report.evaluated, failed));
            Ok(report)
        })
        .flatten()
    }

    pub(crate) fn settings(
        &self,
        compiled: &Compiled,
        options: &RunOptions,
        memory: Memory,
        interrupted: Arc<AtomicBool>,
    ) -> ein_interp::Options {
        let script_dir = compiled.directory.clone();
        ein_interp::Options {
            wrapping: options.wrapping,
            ad_memory: ad_memory(options.ad_memory, &memory),
            script_dir,
            sandbox: options.access.sandbox,
            allow_read: options.access.read.clone(),
            allow_write: options.access.write.clone(),
            interrupted,
            stack_bytes: Some(stack_bytes()),
            ..ein_interp::Options::new(memory)
        }
    }

    fn finish(
        &self,
        program: &Program,
        options: &RunOptions,
        settings: &ein_interp::Options,
        outcome: Outcome,
        report: &mut RunReport,
    ) {
        report.interrupted = outcome.interrupted;
        report.failure = outcome.error;
        // As text they are larger than as files, and take longer.
        let reported = if options.report_outputs { outcome.outputs.as_slice() } else { &[] };
        // What was computed before a failure is told all the same, if that does not take long.
        let afterwards = Instant::now() + AFTERWARDS;
        let deadline = match report.failure {
            _ if report.interrupted => Some(afterwards),
            Some(_) => settings.deadline.map(|it| it.max(afterwards)),
            None => settings.deadline,
        };
        let late = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
        let ended = || settings.interrupted.load(Ordering::Relaxed);
        let stopped = report.interrupted;
        let mut written = 0;
        for (var, value) in reported {
            let var = &program.vars[*var];
            let name = var.name.to_string();
            // A text that grows is moved.
            let fits = |bytes: usize| settings.memory.check_bytes((written + 2 * bytes) as u128);
            let go_on = |bytes: usize| fits(bytes).is_ok() && !late() && (stopped || !ended());
            match json::value(value, &var.ty, program, &go_on) {
                Some(Ok(text)) => {
                    written += text.len();
                    report.outputs.push((name, text));
                }
                Some(Err(json::Stopped)) => {
                    report.interrupted |= ended();
                    if !report.interrupted && report.failure.is_none() {
                        report.failure = Some(unwritten(&name, var.span, late()));
                    }
                    break;
                }
                None => {}
            }
        }
        if let Some(directory) = &options.save
            && report.failure.is_none()
            && !report.interrupted
        {
            report.failure = save(directory, program, &outcome.outputs);
        }
    }
}

/// For so long results are written after a failure, whatever the time limit is.
const AFTERWARDS: Duration = Duration::from_millis(500);

/// Why an output is not written.
fn unwritten(name: &str, span: Span, late: bool) -> Diagnostic {
    if late {
        let message = format!("the time limit has passed while `{name}` was written");
        return Diagnostic::new(Code::E0812, span, message)
            .help("allow more with `--time-limit SECONDS`, or save it with `--save DIR`");
    }
    Diagnostic::new(Code::E0805, span, format!("`{name}` does not fit in memory as text"))
        .help("save it with `--save DIR`, or observe less with `--observe`")
}

/// What the process may take if nobody says how much, in bytes; unknown on some systems.
pub fn free_memory() -> Option<u64> {
    Memory::default().limit()
}

/// Runs a program, with kernels if there are any.
pub(crate) fn execute(
    program: &Program,
    settings: &ein_interp::Options,
    host: &mut dyn Host,
    kernels: Option<&mut Kernels<&Program>>,
) -> Outcome {
    match kernels {
        Some(kernels) => ein_interp::run_with(program, settings, host, kernels),
        None => ein_interp::run(program, settings, host),
    }
}

/// The storage plan as JSON.
fn storage(
    program: &Program,
    inputs: &[(String, InputValue)],
    ad_memory: Option<u64>,
) -> Vec<(String, String)> {
    let settings = Settings { ad_memory, cost: Cost::host(), ..Settings::default() };
    let histories = plan::histories(program, inputs, settings);
    ein_transform::storage::plan(program, &histories)
        .into_iter()
        .map(|storage| {
            let mut text = format!("{{\"kind\": \"{}\"", storage.kind.as_str());
            if let Kind::Ring(steps) | Kind::Checkpointed(steps) = storage.kind {
                text.push_str(&format!(", \"steps\": {steps}"));
            }
            text.push_str(", \"why\": ");
            json::write_text(&mut text, &storage.why);
            text.push('}');
            (storage.name.to_string(), text)
        })
        .collect()
}

pub(crate) fn root_file(program: &Program) -> ein_base::FileId {
    program
        .top
        .first()
        .map_or_else(|| <ein_base::FileId as ein_base::Idx>::from_usize(0), |stmt| stmt.span.file())
}

pub(crate) fn memory(options: &RunOptions) -> Memory {
    match options.memory_limit {
        Some(limit) => Memory::new(Some(limit)),
        None => Memory::default(),
    }
}

/// What histories that derivatives read may take: as asked, or a quarter of the limit.
pub(crate) fn ad_memory(asked: Option<u64>, memory: &Memory) -> Option<u64> {
    asked.or_else(|| memory.limit().map(|limit| limit / 4))
}

/// Writes each output as `.npy`.
fn save(directory: &Path, program: &Program, outputs: &[(VarId, Value)]) -> Option<Diagnostic> {
    for (var, value) in outputs {
        let info = &program.vars[*var];
        let tensor = match value {
            Value::Tensor(tensor) => tensor.as_ref().clone(),
            Value::Scalar(scalar) => ein_runtime::Tensor::scalar(*scalar),
            _ => continue,
        };
        let path = directory.join(format!("{}.npy", info.name));
        if let Err(error) = std::fs::create_dir_all(directory) {
            return Some(
                Diagnostic::new(
                    Code::E0907,
                    info.span,
                    format!("`{}` cannot be made: {error}", directory.display()),
                )
                .help("choose a directory that can be written"),
            );
        }
        if let Err(error) = format::write(&path, &[("", &tensor)]) {
            return Some(
                Diagnostic::new(
                    Code::E0907,
                    info.span,
                    format!("output `{}` cannot be saved: {error}", info.name),
                )
                .help(match error.kind {
                    FileErrorKind::UnsupportedType => {
                        "leave it out: name the others with `--observe`"
                    }
                    FileErrorKind::Missing
                    | FileErrorKind::Unreadable
                    | FileErrorKind::Malformed
                    | FileErrorKind::NoSuchArray
                    | FileErrorKind::TooLarge => "choose a directory that can be written",
                }),
            );
        }
    }
    None
}

/// The world outside a program.
pub(crate) struct Outside<'a> {
    print: &'a mut (dyn FnMut(&str) + Send),
    options: &'a RunOptions,
    memory: Memory,
    /// Inputs that were read; a second run gets the same arrays.
    read: FxHashMap<Symbol, Value>,
}

impl<'a> Outside<'a> {
    pub(crate) fn new(
        print: &'a mut (dyn FnMut(&str) + Send),
        options: &'a RunOptions,
        memory: Memory,
    ) -> Outside<'a> {
        Outside { print, options, memory, read: FxHashMap::default() }
    }
}

impl Host for Outside<'_> {
    fn print(&mut self, line: &str) {
        (self.print)(line);
    }

    fn input(&mut self, name: Symbol, ty: &Type) -> Result<Value, InputError> {
        let given = self.options.inputs.iter().rev().find(|(given, _)| given == name.as_str());
        match given {
            // A text is what was written, also where it could be the name of a file.
            Some((_, InputValue::File(path))) if matches!(ty, Type::Str) => {
                Ok(Value::str(path.to_string_lossy()))
            }
            Some((_, InputValue::File(path))) => {
                if let Some(value) = self.read.get(&name) {
                    return Ok(value.clone());
                }
                let value = self.read(name, path, ty)?;
                self.read.insert(name, value.clone());
                Ok(value)
            }
            Some((_, InputValue::Scalar(text))) => scalar(name, text, ty),
            None => Err(InputError {
                code: Code::E0901,
                message: format!("input `{name}` is missing: pass it with `--input {name}=FILE`"),
            }),
        }
    }

    fn progress(&mut self, work: Work) {
        self.options.progress.report(Some(work));
    }
}

impl Outside<'_> {
    fn read(&self, name: Symbol, path: &Path, ty: &Type) -> Result<Value, InputError> {
        let is_csv = path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("csv"));
        let wanted = ty.scalar().unwrap_or(ScalarType::F32);
        let read = if is_csv {
            format::read_csv(path, wanted, &self.memory)
        } else {
            format::read(path, Some(name.as_str()), &self.memory)
        };
        match read {
            Ok(tensor) if ty.rank() == 0 && tensor.shape().is_empty() => {
                Ok(tensor.get(&[]).map_or(Value::Unit, Value::Scalar))
            }
            Ok(tensor) => Ok(Value::tensor(tensor)),
            Err(error) => Err(file_error(name, &error)),
        }
    }
}

fn file_error(name: Symbol, error: &FileError) -> InputError {
    let code = match error.kind {
        FileErrorKind::Missing | FileErrorKind::Unreadable => Code::E0902,
        FileErrorKind::TooLarge => Code::E0805,
        _ => Code::E0903,
    };
    InputError { code, message: format!("input `{name}` cannot be read: {error}") }
}

/// A scalar as it was written on the command line.
/// A scalar that is given from outside, if it is one of the declared type.
pub(crate) fn given_scalar(name: Symbol, text: &str, ty: &Type) -> Option<Scalar> {
    scalar(name, text, ty).ok().and_then(|value| value.as_scalar())
}

fn scalar(name: Symbol, text: &str, ty: &Type) -> Result<Value, InputError> {
    let value = match ty {
        Type::Str => Some(Value::str(text)),
        Type::Scalar(ScalarType::Bool) => text.parse().ok().map(|v| Value::Scalar(Scalar::Bool(v))),
        Type::Scalar(scalar) if scalar.is_int() => {
            parse_int(text).and_then(|value| Scalar::from_i128(value, *scalar)).map(Value::Scalar)
        }
        Type::Scalar(scalar) => parse_float(text, *scalar).map(Value::Scalar),
        _ => None,
    };
    value.ok_or_else(|| InputError {
        code: Code::E0904,
        message: format!("input `{name}`: `{text}` is not a value of the declared type"),
    })
}
