//! A checked text, and what was compiled of it.

use super::request::{self, Kind, Request};
use super::signature::{self, Declared, Signature, Structs};
use super::special::Special;
use super::{Failure, Surroundings, Told};
use crate::run::RunOptions;
use crate::{CheckReport, FileSources, Input, InternalError, Options, Session, guarded};
use ein_runtime::{Memory, Pool};
use ein_syntax::ast::StmtKind;
use rustc_hash::{FxHashMap, FxHashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A text, where it lies, and how it is run.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// What diagnostics call it.
    pub name: String,
    /// The file it was read from, if it was; its modules lie beside it.
    pub path: Option<PathBuf>,
    /// The text.
    pub text: String,
    /// How it is run.
    pub options: RunOptions,
    /// Whether it may call functions of Python: [`Surroundings::python`] does.
    pub python: bool,
}

/// What was compiled, by what was asked for and the kinds of the arguments.
type Compiled = FxHashMap<(Request, Vec<Kind>), Arc<Special>>;

/// Threads by their number.
pub(super) type Pools = Vec<(usize, Weak<Pool>)>;

/// A text that was accepted.
pub struct Module {
    program: Program,
    functions: Vec<Signature>,
    structs: Arc<Structs>,
    /// What its top level names.
    names: FxHashSet<String>,
    warnings: Vec<Told>,
    memory: Memory,
    pool: Arc<Pool>,
    compiled: Mutex<Compiled>,
    /// Whether what the top level prints has been shown.
    printed: AtomicBool,
}

impl std::fmt::Debug for Module {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Module").field("name", &self.program.name).finish_non_exhaustive()
    }
}

impl Program {
    /// A session and the input it is to read, with `more` behind the text.
    pub(super) fn open(&self, more: &str) -> (Session, Input) {
        let mut sources = FileSources::on_disk();
        if self.python {
            sources.inside_python();
        }
        let text = match more.is_empty() {
            true => self.text.clone(),
            false => format!("{}\n{more}", self.text),
        };
        let input = match &self.path {
            Some(path) => {
                sources.insert(path, text);
                Input::File(path.clone())
            }
            None => Input::Text { name: self.name.clone(), text: text.into() },
        };
        (Session::new(Options::default(), sources), input)
    }

    /// What the text declares the binding of this name to be, and its coordinates as in
    /// [`Argument::layout`](super::Argument::layout); none if it is no array.
    pub fn declared(&self, name: &str) -> Option<(Declared, Vec<String>)> {
        crate::guarded(|| {
            let file = <ein_base::FileId as ein_base::Idx>::from_usize(0);
            let parsed = ein_syntax::parse(file, &self.text);
            signature::binding(&parsed.ast, &self.text, name)
        })
        .ok()
        .flatten()
    }

    /// Everything that the checker has to say.
    pub fn check(&self) -> Result<Vec<Told>, InternalError> {
        let (mut session, input) = self.open("");
        let report: CheckReport = session.check(std::slice::from_ref(&input))?;
        Ok(Told::all(&session, &report.diagnostics))
    }
}

impl Module {
    /// Checks a text.
    pub fn new(program: Program) -> Result<Module, Failure> {
        let (errors, warnings): (Vec<Told>, Vec<Told>) =
            program.check()?.into_iter().partition(|told| told.is_error);
        if !errors.is_empty() {
            return Err(Failure::Rejected(errors));
        }
        let (functions, structs, names) = guarded(|| declared(&program.text))?;
        let memory = crate::execute::memory(&program.options);
        let pool = pool(program.options.threads);
        Ok(Module {
            program,
            functions,
            structs: Arc::new(structs),
            names,
            warnings,
            memory,
            pool,
            compiled: Mutex::default(),
            printed: AtomicBool::new(false),
        })
    }

    /// The same text, with nothing compiled: for a process in which this one cannot be used.
    pub fn again(&self) -> Module {
        Module {
            program: self.program.clone(),
            functions: self.functions.clone(),
            structs: Arc::clone(&self.structs),
            names: self.names.clone(),
            warnings: self.warnings.clone(),
            memory: crate::execute::memory(&self.program.options),
            pool: pool(self.program.options.threads),
            compiled: Mutex::default(),
            printed: AtomicBool::new(self.printed.load(Ordering::Relaxed)),
        }
    }

    /// Its text and options.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Its functions, in source order.
    pub fn functions(&self) -> &[Signature] {
        &self.functions
    }

    /// What the checker warned of.
    pub fn warnings(&self) -> &[Told] {
        &self.warnings
    }

    /// Where results are allocated.
    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// A name like this one that the text does not use at its top level.
    pub fn free_name(&self, like: &str) -> String {
        let mut name = like.to_owned();
        while self.names.contains(&name) {
            name.push('_');
        }
        name
    }

    /// A request for arguments of these kinds, compiled at most once.
    pub fn special(
        &self,
        request: &Request,
        kinds: &[Kind],
        around: &dyn Surroundings,
    ) -> Result<Arc<Special>, Failure> {
        let key = (request.clone(), kinds.to_vec());
        let compiled = || self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = compiled().get(&key) {
            return Ok(Arc::clone(found));
        }
        let written = request::write(request, kinds, None);
        let (session, input) = self.program.open(&written.text);
        let silent = self.printed.swap(true, Ordering::Relaxed);
        let base = super::special::Base {
            length: self.program.text.len(),
            options: &self.program.options,
            memory: &self.memory,
            pool: &self.pool,
            structs: &self.structs,
            silent,
        };
        let special = Special::new(session, &input, request, &written.inputs, &base, around)?;
        let special = Arc::new(special);
        compiled().insert(key, Arc::clone(&special));
        Ok(special)
    }

    /// What the checker says when it knows the extents as well; nothing if it accepts them.
    pub fn check_extents(
        &self,
        request: &Request,
        kinds: &[Kind],
        extents: &[Vec<usize>],
    ) -> Result<Vec<Told>, InternalError> {
        let written = request::write(request, kinds, Some(extents));
        let (mut session, input) = self.program.open(&written.text);
        let report = session.check(std::slice::from_ref(&input))?;
        let errors: Vec<_> =
            report.diagnostics.into_iter().filter(crate::Diagnostic::is_error).collect();
        Ok(Told::all(&session, &errors))
    }

    /// Reads a program from a file.
    pub fn read(path: &Path, options: RunOptions) -> Result<Program, String> {
        match crate::read_file(path) {
            Ok(text) => Ok(Program {
                name: path.display().to_string(),
                path: Some(path.to_path_buf()),
                text: text.to_string(),
                options,
                python: false,
            }),
            Err(error) => Err(format!("`{}` cannot be read: {error}", path.display())),
        }
    }
}

/// The functions and structs of a text, and the names of its top level.
fn declared(text: &str) -> (Vec<Signature>, Structs, FxHashSet<String>) {
    let file = <ein_base::FileId as ein_base::Idx>::from_usize(0);
    let parsed = ein_syntax::parse(file, text);
    let line_of = |at: usize| text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
    let functions = signature::of(&parsed.ast, text, &line_of);
    let mut names: FxHashSet<String> =
        crate::interactive::declared(&parsed.ast).into_iter().collect();
    for stmt in &parsed.ast.stmts {
        if let StmtKind::Use(_) = &parsed.ast.stmt[*stmt].kind {
            let span = parsed.ast.stmt[*stmt].span;
            let written = text.get(span.lo() as usize..span.hi() as usize).unwrap_or_default();
            let is_part = |c: char| !(c.is_alphanumeric() || c == '_');
            names.extend(written.split(is_part).filter(|it| !it.is_empty()).map(str::to_owned));
        }
    }
    (functions, signature::structs(&parsed.ast, text), names)
}

/// The pools that somebody uses.
pub(super) fn pools() -> &'static Mutex<Pools> {
    static POOLS: Mutex<Pools> = Mutex::new(Vec::new());
    &POOLS
}

/// Threads for kernels: one pool for each number of them, as long as somebody uses it.
fn pool(threads: Option<usize>) -> Arc<Pool> {
    let available = std::thread::available_parallelism().map_or(1, |count| count.get());
    let count = threads.unwrap_or(available).max(1);
    let mut pools = pools().lock().unwrap_or_else(PoisonError::into_inner);
    pools.retain(|(_, pool)| pool.strong_count() > 0);
    if let Some(pool) = pools.iter().find(|(it, _)| *it == count).and_then(|(_, it)| it.upgrade()) {
        return pool;
    }
    let pool = Arc::new(Pool::new(count));
    pools.push((count, Arc::downgrade(&pool)));
    pool
}
