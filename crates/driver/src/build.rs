//! A program ahead of time: C, an object file, a library or a command that does without us.
//!
//! The whole program becomes one kernel, made for the shapes that its inputs declare. What the host
//! would have to do, and what only a run can know, is refused with its place and the reason.

mod lower;

use crate::execute::root_file;
use crate::run::RunOptions;
use crate::{CheckReport, Compiled, Input, InternalError, Session, guarded, named};
use ein_base::{Code, Diagnostic, Span};
use ein_emit_c::ahead::Files;
use ein_emit_c::{BuildError, Compiler, Unavailable};
use rustc_hash::FxHashSet;
use std::path::{Path, PathBuf};

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
    /// The most bytes that histories which derivatives read may take, if that is limited.
    pub ad_memory: Option<u64>,
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
            ein_transform::unzip::forget(&mut compiled.program);
            let (name, made_from) = names(input);
            match lower::lower(&compiled.program, options) {
                Err(refused) => report.checked.diagnostics.push(*refused),
                Ok(lowered) => {
                    let files = ein_emit_c::ahead::files(&lowered.program(&name, &made_from));
                    match write(&compiled, options, &name, &files, &mut report.files) {
                        Ok(()) => {}
                        Err(failure) => report.failure = Some(*failure),
                    }
                }
            }
            Ok(report)
        })
        .flatten()
    }
}

/// The name of the function, and what it is made from.
fn names(input: &Input) -> (String, String) {
    match input {
        Input::Text { name, .. } => ("program".into(), name.clone()),
        Input::File(path) => {
            let text = |part: Option<&std::ffi::OsStr>| {
                part.map_or_else(String::new, |it| it.to_string_lossy().into_owned())
            };
            let name = ein_emit_c::ahead::identifier(&text(path.file_stem()));
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
        let folder = Scratch::new(name).map_err(|(path, error)| unwritable(span, &path, &error))?;
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

/// A folder of our own, gone at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Result<Scratch, (PathBuf, std::io::Error)> {
        let folder =
            std::env::temp_dir().join(format!("einlang-build-{}-{name}", std::process::id()));
        match std::fs::create_dir_all(&folder) {
            Ok(()) => Ok(Scratch(folder)),
            Err(error) => Err((folder, error)),
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What stays is small, and lies where such things are removed.
        let _ = std::fs::remove_dir_all(&self.0);
    }
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
fn compile(emit: Emit, name: &str, files: &Files, folder: &Scratch) -> Result<PathBuf, Failure> {
    let compiler = Compiler::find().map_err(Failure::NoCompiler)?;
    let object = folder.0.join(format!("{name}.o"));
    match emit {
        Emit::C | Emit::Object => {
            compiler.object(&files.source, &object).map_err(Failure::Build)?;
            Ok(object)
        }
        Emit::Library => {
            let archive = folder.0.join(format!("lib{name}.a"));
            compiler
                .object(&files.source, &object)
                .and_then(|()| compiler.archive(&object, &archive))
                .map_err(Failure::Build)?;
            Ok(archive)
        }
        Emit::Command => {
            let command = folder.0.join(name);
            let source = format!("{}{}", files.source, files.command);
            compiler.program(&source, &command).map_err(Failure::Build)?;
            Ok(command)
        }
    }
}
