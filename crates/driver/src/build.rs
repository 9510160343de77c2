//! A program ahead of time: C, an object file, a library or a command that does without us.
//!
//! The whole program becomes one kernel, made for the shapes that its inputs declare, and so does each of
//! its public functions whose parameters declare theirs. What the host would have to do, and what only a
//! run can know, is refused with its place and the reason.

mod functions;
mod lower;

use crate::execute::root_file;
use crate::run::RunOptions;
use crate::{CheckReport, Compiled, Input, InternalError, Session, guarded, named};
use ein_base::{Code, Diagnostic, Span};
use ein_emit_c::ahead::{Files, Unit, identifier};
use ein_emit_c::{BuildError, Compiler, Passing, Unavailable};
use ein_ir::tensor::Program;
use ein_syntax::Notation;
use functions::{Called, Wanted};
use lower::Whole;
use rustc_hash::FxHashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What can be built, or why it cannot.
type Answer<T> = Result<T, Box<Diagnostic>>;

/// What a program is built into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Emit {
    /// A C file and its header.
    C,
    /// An object file and its header.
    Object,
    /// A static library and its header.
    Library,
    /// A command that reads and writes `.npy` files.
    Command,
}

/// How a program is built.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// What is made.
    pub emit: Emit,
    /// The file to make, or an existing folder to make it in; the current folder if absent.
    pub to: Option<PathBuf>,
    /// Only these bindings are outputs; all of them but the inputs if absent.
    pub observe: Option<Vec<String>>,
    /// Only these functions are built, and not the program; without it the program, if it has outputs,
    /// and the public functions whose parameters declare numbers as extents.
    pub functions: Option<Vec<String>>,
    /// The most bytes that histories which derivatives read may take, if that is limited.
    pub ad_memory: Option<u64>,
}

impl BuildOptions {
    /// The program and its public functions, in the current folder.
    pub fn new(emit: Emit) -> Self {
        Self { emit, to: None, observe: None, functions: None, ad_memory: None }
    }
}

/// What came of a build.
#[derive(Debug, Default)]
#[must_use]
pub struct BuildReport {
    /// What the checker said, and why the program cannot be built.
    pub checked: CheckReport,
    /// What stopped the build: a compiler that is not there, a file that cannot be written.
    pub failure: Option<Diagnostic>,
    /// What was written.
    pub files: Vec<PathBuf>,
}

impl Session {
    /// Builds a program.
    pub fn build(
        &mut self,
        input: &Input,
        options: &BuildOptions,
    ) -> Result<BuildReport, InternalError> {
        guarded(|| {
            let mut report = BuildReport::default();
            let diagnostics = &mut report.checked.diagnostics;
            let compiled = self.compile(input, &FxHashSet::default(), diagnostics)?;
            let Some(mut compiled) = compiled.filter(|_| !report.checked.has_errors()) else {
                return Ok(report);
            };
            let outputs = RunOptions { observe: options.observe.clone(), ..RunOptions::default() };
            if let Err(unknown) = named::settle(&mut compiled.program, &outputs) {
                report.failure = Some(*unknown);
                return Ok(report);
            }
            ein_transform::observed(&mut compiled.program);
            let (name, made_from) = names(input);
            let built = match self.built(input, &compiled.program, &name, options)? {
                Ok(built) => built,
                Err(refused) => {
                    report.checked.diagnostics.push(*refused);
                    return Ok(report);
                }
            };
            let programs = built.iter().map(|(name, whole)| whole.program(name)).collect();
            let unit = Unit { name: &name, made_from: &made_from, programs };
            let files = ein_emit_c::ahead::files(&unit);
            let written = write(&compiled, options, &name, &files, &mut report.files);
            report.failure = written.err().map(|failure| *failure);
            Ok(report)
        })
        .flatten()
    }

    /// The program and its functions, as far as they are asked for, with the names of their functions
    /// in C; or why one of them cannot be built.
    fn built(
        &self,
        input: &Input,
        program: &Program,
        name: &str,
        options: &BuildOptions,
    ) -> Result<Answer<Vec<(String, Whole)>>, InternalError> {
        let text = Arc::clone(&self.files.file(functions::root()).text);
        let is_ours =
            Notation::of(self.files.file(functions::root()).path.as_deref()) == Notation::Einlang;
        // A command has one function: the program, or the one that is named.
        let public = is_ours && (options.emit != Emit::Command || options.functions.is_some());
        let mut wanted = Vec::new();
        if public {
            let (ast, _) = self.parse(functions::root());
            match functions::wanted(&ast, &text, options.functions.as_deref()) {
                Ok(found) => wanted = found,
                Err(missing) => return Ok(Err(no_function(&missing))),
            }
        }
        let mut built = Vec::new();
        for function in &wanted {
            let whole = match self.called(function, input, &text, options)? {
                Ok(whole) => whole,
                Err(refused) => return Ok(Err(refused)),
            };
            let called = identifier(&format!("{name}_{}", function.name));
            built.extend(whole.map(|whole| (called, whole)));
        }
        let outputs = lower::outputs_of(program, options.observe.is_some());
        if options.functions.is_none() && (built.is_empty() || !outputs.is_empty()) {
            match lower::lower(program, &outputs, options) {
                Ok(whole) => built.insert(0, (name.to_owned(), whole)),
                Err(refused) => return Ok(Err(refused)),
            }
        }
        Ok(Ok(built))
    }

    /// A function that can be built; none if its parameters leave open what they are and nobody asked
    /// for it by name.
    fn called(
        &self,
        function: &Wanted,
        input: &Input,
        text: &str,
        options: &BuildOptions,
    ) -> Result<Answer<Option<Whole>>, InternalError> {
        let open = |why: Box<Diagnostic>| match options.functions {
            Some(_) => Ok(Err(Box::new(function.told(*why, text)))),
            None => Ok(Ok(None)),
        };
        let mut program = match function.program(&self.sources, input, text)? {
            Called::Open(why) => return open(why),
            Called::Program(program) => program,
        };
        if let Some(why) = lower::open(&program) {
            return open(why);
        }
        ein_transform::observed(&mut program);
        let outputs = lower::outputs_of(&program, true);
        Ok(match lower::lower(&program, &outputs, options) {
            Ok(whole) => Ok(Some(whole)),
            Err(refused) => {
                let told = function.told(*refused, text);
                let why = format!("it is public, so it is built: `{}`", function.name);
                Err(Box::new(match options.functions {
                    Some(_) => told,
                    None => told.note(why).help("say with `--functions` which are to be built"),
                }))
            }
        })
    }
}

fn no_function(name: &str) -> Box<Diagnostic> {
    let span = Span::new(functions::root(), 0, 0);
    let message = format!("there is no function `{name}` at the top level of the program");
    let help = "functions that are imported need one here that calls them";
    Box::new(Diagnostic::new(Code::E0811, span, message).help(help))
}

/// The name of the function, and what it is made from.
fn names(input: &Input) -> (String, String) {
    match input {
        Input::Text { name, .. } => ("program".into(), name.clone()),
        Input::File(path) => {
            let text = |part: Option<&std::ffi::OsStr>| {
                part.map_or_else(String::new, |it| it.to_string_lossy().into_owned())
            };
            let name = identifier(&text(path.file_stem()));
            (name, text(path.file_name()).replace("*/", "* /"))
        }
    }
}

/// Writes what was asked for.
fn write(
    compiled: &Compiled,
    options: &BuildOptions,
    name: &str,
    files: &Files,
    written: &mut Vec<PathBuf>,
) -> Result<(), Box<Diagnostic>> {
    let span = Span::new(root_file(&compiled.program), 0, 0);
    let usual = match options.emit {
        Emit::C => format!("{name}.c"),
        Emit::Object => format!("{name}.o"),
        Emit::Library => format!("lib{name}.a"),
        Emit::Command => name.to_owned(),
    };
    let to = match &options.to {
        None => PathBuf::from(usual),
        Some(path) if path.is_dir() => path.join(usual),
        Some(path) => path.clone(),
    };
    if to.is_dir() {
        let message = format!("`{}` is a directory", to.display());
        let help = "say with `-o` where it is to be written";
        return Err(Box::new(Diagnostic::new(Code::E0907, span, message).help(help)));
    }
    let put = |path: &Path, text: &str| {
        std::fs::write(path, text).map_err(|error| unwritable(span, path, &error))
    };
    if options.emit == Emit::C {
        put(&to, &files.source)?;
    } else {
        let folder =
            Passing::new().map_err(|error| unwritable(span, &std::env::temp_dir(), &error))?;
        let made = compile(options.emit, name, files, &folder).map_err(|it| it.told(span))?;
        std::fs::copy(&made, &to).map_err(|error| unwritable(span, &to, &error))?;
    }
    written.push(to.clone());
    if options.emit != Emit::Command {
        let header = to.with_file_name(format!("{name}.h"));
        put(&header, &files.header)?;
        written.push(header);
    }
    Ok(())
}

fn unwritable(span: Span, path: &Path, error: &std::io::Error) -> Box<Diagnostic> {
    let message = format!("`{}` cannot be written: {error}", path.display());
    Box::new(
        Diagnostic::new(Code::E0907, span, message).help("say with `-o` where it is to be written"),
    )
}

/// Why nothing was compiled.
enum Failure {
    NoCompiler(Unavailable),
    Build(BuildError),
}

impl Failure {
    fn told(self, span: Span) -> Box<Diagnostic> {
        let told = |why: &dyn std::fmt::Display| {
            Diagnostic::new(Code::E0810, span, format!("the program cannot be built: {why}"))
        };
        Box::new(match self {
            Failure::NoCompiler(error) => told(&error).help(
                "name a C compiler in the variable `CC`, or use `--emit c`, which needs none",
            ),
            Failure::Build(error) => {
                let mut diagnostic = told(&error);
                let lines: Vec<&str> = error.log.lines().take(SHOWN_LINES).collect();
                if !lines.is_empty() {
                    diagnostic = diagnostic.note(lines.join("\n"));
                }
                diagnostic.help("use `--emit c` to get the C without building it")
            }
        })
    }
}

/// How much of what a compiler says is shown.
const SHOWN_LINES: usize = 12;

/// Builds what is not C, in a folder of our own, and says where it lies.
fn compile(emit: Emit, name: &str, files: &Files, folder: &Passing) -> Result<PathBuf, Failure> {
    let compiler = Compiler::find().map_err(Failure::NoCompiler)?;
    let object = folder.path().join(format!("{name}.o"));
    match emit {
        Emit::C | Emit::Object => {
            compiler.object(&files.source, &object).map_err(Failure::Build)?;
            Ok(object)
        }
        Emit::Library => {
            let archive = folder.path().join(format!("lib{name}.a"));
            compiler
                .object(&files.source, &object)
                .and_then(|()| compiler.archive(&object, &archive))
                .map_err(Failure::Build)?;
            Ok(archive)
        }
        Emit::Command => {
            let command = folder.path().join(name);
            let source = format!("{}{}", files.source, files.command);
            compiler.program(&source, &command).map_err(Failure::Build)?;
            Ok(command)
        }
    }
}
