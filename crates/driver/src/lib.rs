//! The façade of the compiler: loads sources, runs one compilation at a time on a thread of its
//! own, and renders what the compiler says.
//!
//! What is checked is the body of `Session::analyse`, what is run that of [`Session::run`]
//! (`execute.rs`); each step takes a whole program and gives a whole program, and diagnostics beside
//! it. Kernels are made while a program runs (`engine.rs`).
//!
//! Unsafe: the one call of a kernel with the addresses of its buffers (`engine/call.rs`).
//!
//! Does not know: command-line arguments, protocols.

mod allowed;
pub mod bench;
mod build;
pub mod call;
pub mod doc;
mod engine;
mod examples;
mod execute;
pub mod explain;
mod facts;
mod fmt;
mod guard;
pub mod import;
pub mod interactive;
pub mod json;
pub mod library;
mod named;
mod order;
pub mod render;
mod run;
mod sources;
mod testing;

pub use bench::BenchReport;
pub use build::{BuildOptions, BuildReport, Emit};
pub use ein_base::{
    Code, Diagnostic, Progress, Severity, SourceError, SourceMap, Stage, Symbol, Work,
};
pub use ein_emit_c::stop_compilers;
pub use ein_runtime::{heap, long_files_are_errors};
pub use ein_transform::pipeline::{PASSES, Passes};
pub use engine::Evaluated;
pub use engine::plan::{Form, Planned, Show};
pub use execute::{RunReport, free_memory};
pub use facts::FileFacts;
pub use fmt::{Formatted, format_file, format_text, program_files};
pub use guard::{InternalError, THREAD_NAME, guarded};
pub use run::{Access, DumpOptions, Engine, InputValue, RunOptions};
pub use sources::{FileSources, decode, read_file, read_stream};
pub use testing::TestResult;

use ein_base::{FileId, Sources, Span};
use ein_ir::tensor;
use ein_syntax::Notation;
use ein_transform::autodiff::Decision;
use rustc_hash::FxHashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A program to compile.
#[derive(Clone, Debug)]
pub enum Input {
    /// The file at a path.
    File(PathBuf),
    /// A text that lies nowhere.
    Text {
        /// What diagnostics call it: `<stdin>`, `<command line>`.
        name: String,
        /// The text.
        text: Arc<str>,
    },
}

/// What the compiler is asked for besides diagnostics.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Warnings that are not to be shown.
    pub allow: Vec<Code>,
}

/// One compilation: files, options, and where text comes from.
#[derive(Debug)]
pub struct Session {
    files: SourceMap,
    options: Options,
    sources: FileSources,
}

/// A checked program, ready to run.
#[derive(Debug)]
struct Compiled {
    program: tensor::Program,
    /// How its derivative requests are computed.
    derivatives: Vec<Decision>,
    /// Where the program lies: relative paths start here.
    directory: PathBuf,
}

/// What checking found.
#[derive(Debug, Default)]
#[must_use]
pub struct CheckReport {
    /// In the order in which they are shown.
    pub diagnostics: Vec<Diagnostic>,
    /// What is known of each program that could be read, in the order in which they were given.
    pub facts: Vec<FileFacts>,
}

impl From<Vec<Diagnostic>> for CheckReport {
    fn from(diagnostics: Vec<Diagnostic>) -> Self {
        Self { diagnostics, facts: Vec::new() }
    }
}

impl CheckReport {
    /// Whether the program is rejected.
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }

    /// How many errors and warnings there are.
    pub fn counts(&self) -> (usize, usize) {
        let errors = self.diagnostics.iter().filter(|it| it.is_error()).count();
        (errors, self.diagnostics.len() - errors)
    }
}

impl Session {
    /// A compilation that has not begun.
    pub fn new(options: Options, sources: FileSources) -> Self {
        Self { files: SourceMap::default(), options, sources }
    }

    /// All files read so far.
    pub fn files(&self) -> &SourceMap {
        &self.files
    }

    /// What was asked for.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Everything there is to say about some programs; nothing is executed.
    pub fn check(&mut self, inputs: &[Input]) -> Result<CheckReport, InternalError> {
        guarded(|| {
            let mut report = CheckReport::default();
            for input in inputs {
                self.check_one(input, &mut report)?;
            }
            self.arrange(&mut report.diagnostics);
            Ok(report)
        })
        .flatten()
    }

    fn check_one(&mut self, input: &Input, report: &mut CheckReport) -> Result<(), InternalError> {
        let root = match self.load(input) {
            Ok(root) => root,
            Err(unreadable) => {
                report.diagnostics.push(*unreadable);
                return Ok(());
            }
        };
        let (checked, _) = self.analyse(root, &FxHashSet::default(), &mut report.diagnostics)?;
        report.facts.push(FileFacts { file: root, report: checked.report });
        Ok(())
    }

    /// Resolves and checks a program whose file is loaded; gives what came of it, and how its
    /// derivative requests are computed.
    fn analyse(
        &mut self,
        root: FileId,
        inputs: &FxHashSet<Symbol>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<(ein_sema::check::Checked, Vec<Decision>), InternalError> {
        let before = diagnostics.len();
        let resolved = ein_sema::resolve::resolve(&mut self.files, root, &self.sources);
        diagnostics.extend(resolved.diagnostics);
        let mut checked = ein_sema::check::check(&resolved.program, inputs);
        // From here on there is tensor IR only; a long program need not be in memory twice.
        drop(resolved.program);
        diagnostics.append(&mut checked.diagnostics);
        let mut derivatives = Vec::new();
        let rejected = |found: &[Diagnostic]| found[before..].iter().any(Diagnostic::is_error);
        if !rejected(diagnostics) {
            diagnostics.extend(ein_sema::check::lost(&checked.program));
        }
        if rejected(diagnostics) {
            // A bug that what is left of a broken program brings to light must not hide what was
            // found in it.
            let survey = || ein_transform::autodiff::survey(&mut checked.program);
            diagnostics.extend(guarded(survey).unwrap_or_default());
        } else {
            verified(&checked.program, tensor::verify::verify)?;
            ein_transform::lists::define(&mut checked.program);
            ein_transform::guards::complete(&mut checked.program);
            ein_transform::unzip::run(&mut checked.program);
            let outcome = ein_transform::autodiff::run(&mut checked.program);
            diagnostics.extend(outcome.diagnostics);
            derivatives = outcome.decisions;
        }
        if !rejected(diagnostics) {
            verified(&checked.program, tensor::verify::verify_differentiated)?;
        }
        Ok((checked, derivatives))
    }

    /// Loads, resolves and checks a program; `None` if its file cannot be read. `inputs` names the
    /// bindings that values from outside will replace.
    fn compile(
        &mut self,
        input: &Input,
        inputs: &FxHashSet<Symbol>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Option<Compiled>, InternalError> {
        let root = match self.load(input) {
            Ok(root) => root,
            Err(unreadable) => {
                diagnostics.push(*unreadable);
                return Ok(None);
            }
        };
        self.compile_file(root, inputs, diagnostics).map(Some)
    }

    /// Resolves and checks a program whose file is loaded.
    fn compile_file(
        &mut self,
        root: FileId,
        inputs: &FxHashSet<Symbol>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Result<Compiled, InternalError> {
        let (checked, derivatives) = self.analyse(root, inputs, diagnostics)?;
        self.arrange(diagnostics);
        let directory = match &self.files.file(root).path {
            Some(path) => match path.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
                _ => PathBuf::from("."),
            },
            None => PathBuf::from("."),
        };
        Ok(Compiled { program: checked.program, derivatives, directory })
    }

    /// Puts diagnostics in order, and drops the warnings that were allowed.
    fn arrange(&self, diagnostics: &mut Vec<Diagnostic>) {
        order::sort(&self.files, diagnostics);
        allowed::drop_allowed(&self.files, &self.options.allow, diagnostics);
    }

    /// The tree of a file, as text, with what the parser had to say.
    pub fn dump_ast(&mut self, input: &Input) -> Result<(String, CheckReport), InternalError> {
        guarded(|| match self.load(input) {
            Err(unreadable) => (String::new(), CheckReport::from(vec![*unreadable])),
            Ok(root) => {
                let (ast, report) = self.parse(root);
                (ein_syntax::dump(&ast), report)
            }
        })
    }

    /// A program in another notation as Einlang source, with what its parser had to say.
    pub fn translate(&mut self, input: &Input) -> Result<(String, CheckReport), InternalError> {
        guarded(|| match self.load(input) {
            Err(unreadable) => (String::new(), CheckReport::from(vec![*unreadable])),
            Ok(root) => {
                let source = self.files.file(root);
                if Notation::of(source.path.as_deref()) == Notation::Einlang {
                    return (source.text.to_string(), CheckReport::default());
                }
                let (ast, report) = self.parse(root);
                (ein_syntax::unparse(&ast), report)
            }
        })
    }

    /// The tree of a loaded file.
    fn parse(&self, file: FileId) -> (ein_syntax::ast::Ast, CheckReport) {
        let source = self.files.file(file);
        let notation = Notation::of(source.path.as_deref());
        let parsed = ein_syntax::parse_as(notation, file, &source.text);
        let mut report = CheckReport::from(parsed.diagnostics);
        order::sort(&self.files, &mut report.diagnostics);
        (parsed.ast, report)
    }

    /// The tensor IR of a program, as text; none if it is rejected.
    pub fn dump_ir(&mut self, input: &Input) -> Result<(String, CheckReport), InternalError> {
        guarded(|| {
            let mut report = CheckReport::default();
            let compiled = self.compile(input, &FxHashSet::default(), &mut report.diagnostics)?;
            let text = match compiled {
                Some(compiled) if !report.has_errors() => tensor::print::print(&compiled.program),
                Some(_) | None => String::new(),
            };
            Ok((text, report))
        })
        .flatten()
    }

    /// A line for people about something that was evaluated.
    pub fn describe_evaluated(&self, evaluated: &Evaluated) -> String {
        let (line, _) = self.files.position(evaluated.span);
        let name = &self.files.file(evaluated.span.file()).name;
        format!("{name}:{line}: {}", evaluated.why)
    }

    /// Renders diagnostics of this session.
    pub fn render(&self, diagnostics: &[Diagnostic], style: render::Style) -> String {
        render::render(&self.files, diagnostics, style)
    }

    /// Adds a program's file; one that cannot be read is added empty, so that the diagnostic about
    /// it has a place.
    fn load(&mut self, input: &Input) -> Result<FileId, Box<Diagnostic>> {
        match input {
            Input::Text { name, text } => Ok(self.files.add(name.clone(), None, text.clone())),
            Input::File(path) => {
                let name = path.display().to_string();
                match self.sources.read(path) {
                    Ok(text) => Ok(self.files.add(name, Some(path.clone()), text)),
                    Err(error) => {
                        let file = self.files.add(name, Some(path.clone()), Arc::from(""));
                        Err(Box::new(unreadable(file, path, &error)))
                    }
                }
            }
        }
    }
}

/// Holds the checker and the passes to the rules of tensor IR, in debug builds and tests.
fn verified(
    program: &tensor::Program,
    verify: fn(&tensor::Program) -> Result<(), Vec<tensor::verify::Violation>>,
) -> Result<(), InternalError> {
    if !cfg!(debug_assertions) {
        return Ok(());
    }
    verify(program).map_err(|violations| {
        let lines: Vec<String> = violations.iter().map(ToString::to_string).collect();
        let first = lines.first().cloned().unwrap_or_default();
        InternalError {
            place: format!("tensor IR, {first}"),
            detail: lines.join("\n  "),
            no_memory: false,
        }
    })
}

/// A program that cannot be read.
fn unreadable(file: FileId, path: &Path, error: &SourceError) -> Diagnostic {
    let message = format!("`{}` cannot be read: {error}", path.display());
    Diagnostic::new(Code::E0210, Span::new(file, 0, 0), message).help(error.remedy())
}
