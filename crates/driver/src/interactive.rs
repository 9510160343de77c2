//! A program that is written entry by entry, as the REPL does.
//!
//! * The state is the text of the entries that were accepted, and the values of what they bind. Each
//!   new entry is compiled behind that text, and only its own statements run.
//! * An entry that changes what the text before it means (it declares a function again, or adds a
//!   clause to a definition) makes all of it run again, without showing once more what it prints.
//! * An entry that is rejected or fails leaves the state as it was.
//! * An expression is shown and forgotten: whatever it does happens once.
//! * A function, constant or type that is declared again takes the place of the old one.
//!
//! Does not know: terminals, commands.

mod names;
mod values;

use crate::call::Surroundings;
use crate::engine::Kernels;
use crate::engine::plan::{Form, Show};
use crate::guard::stack_bytes;
use crate::{
    Diagnostic, DumpOptions, FileSources, Input, InternalError, Options, RunOptions, Session,
    guarded,
};
use ein_base::{Code, FileId, Idx as _, Progress, Symbol, Work};
use ein_interp::{Host, InputError, Outcome, Value, bound_by};
use ein_ir::tensor::{Program, Stmt, Type, VarId};
use ein_runtime::Memory;
use ein_scalar::ScalarType;
use ein_syntax::ast::{Ast, StmtId, StmtKind};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use values::{Parts, Values};

pub(crate) use names::declared;
pub use names::words;

/// The hidden name of an expression's value.
const VALUE: &str = "__value__";

/// The accepted entries of a session.
#[derive(Debug, Default)]
pub struct Interactive {
    entries: Vec<Entry>,
    values: Values,
    /// Where values live, with the limit for all of them.
    memory: Memory,
    progress: Arc<Progress>,
    /// Whether entries may call functions of Python.
    python: bool,
}

/// An accepted entry.
#[derive(Debug)]
struct Entry {
    text: String,
    /// The items it declares, if it declares nothing else.
    items: Vec<Symbol>,
}

/// What came of an entry.
#[derive(Debug)]
#[must_use]
pub struct Answer {
    /// Where the diagnostics lie.
    pub session: Session,
    /// What the checker said about it, and what stopped it.
    pub diagnostics: Vec<Diagnostic>,
    /// The value, if it was an expression that has one.
    pub value: Option<String>,
    /// The same as data, with the names of its axes.
    pub shown: Option<crate::call::Output>,
    /// Whether it was interrupted from outside.
    pub interrupted: bool,
    /// How long it took to check everything, and to run this entry.
    pub times: (Duration, Duration),
}

impl Answer {
    /// Whether the entry did what it should.
    pub fn is_good(&self) -> bool {
        !self.interrupted && !self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Whether a text ends inside a bracket or a comment, or after an operator, so that more must follow.
pub fn is_unfinished(text: &str) -> bool {
    let end = text.trim_end().len();
    let at_end = |span: ein_base::Span| span.lo() as usize >= end;
    let unfinished = guarded(|| {
        let parsed = ein_syntax::parse(FileId::from_usize(0), text);
        parsed.diagnostics.iter().any(|found| match found.code {
            Code::E0103 => true,
            Code::E0104 => found.labels.iter().any(|label| at_end(label.span)),
            Code::E0101 => {
                at_end(found.primary.span) && (has_open_bracket(text) || ends_in_operator(text))
            }
            _ => false,
        })
    });
    unfinished.unwrap_or(false)
}

/// Whether the last thing in a text asks for an operand.
fn ends_in_operator(text: &str) -> bool {
    let text = text.trim_end();
    ["=", "+", "-", "*", "/", "%", "&&", "||", "|>", "<", ","].iter().any(|it| text.ends_with(it))
}

/// The text of an entry; what lacks nothing but a `;` at its end gets one.
fn completed(text: &str) -> String {
    let is_whole =
        |text: &str| ein_syntax::parse(FileId::from_usize(0), text).diagnostics.is_empty();
    // On a line of its own: a comment may end the text.
    let ended = format!("{}\n;\n", text.trim_end());
    if !is_whole(text) && is_whole(&ended) { ended } else { text.to_string() }
}

/// Whether a word means something by itself, so that nothing can have it as its name.
pub fn is_keyword(word: &str) -> bool {
    !ein_syntax::is_name(word)
}

/// Whether more brackets open than close, outside of texts and comments.
fn has_open_bracket(text: &str) -> bool {
    let mut depth = 0i64;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '/' if rest.peek() == Some(&'/') => while rest.next_if(|c| *c != '\n').is_some() {},
            '"' => {
                while let Some(inside) = rest.next() {
                    match inside {
                        '\\' => drop(rest.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    depth > 0
}

impl Interactive {
    /// A session without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same where entries may call functions of Python: [`Surroundings::python`] does.
    pub fn inside_python() -> Self {
        Self { python: true, ..Self::default() }
    }

    fn sources(&self) -> FileSources {
        let mut sources = FileSources::on_disk();
        if self.python {
            sources.inside_python();
        }
        sources
    }

    /// Where an entry says how far it is while it runs.
    pub fn progress(&self) -> &Arc<Progress> {
        &self.progress
    }

    /// Runs an entry behind those accepted so far, and accepts it if all went well. It ends when
    /// `interrupted` is set, not when the surroundings say so: nobody asks them.
    pub fn enter(
        &mut self,
        text: &str,
        interrupted: Arc<AtomicBool>,
        around: &dyn Surroundings,
    ) -> Result<Answer, InternalError> {
        let parsed = Parsed::of(text)?;
        let earlier = self.bound();
        let replaced = self.entries.iter().any(|entry| parsed.replaces(entry));
        let changes = replaced || parsed.clauses.iter().any(|name| earlier.contains(name));
        let before = self.before(&parsed);
        let attempt = Attempt { before: &before, parsed: &parsed, changes, state: self };
        let (answer, accepted) = guarded(|| attempt.run(interrupted, around)).flatten()?;
        if let Some(values) = accepted.filter(|_| !parsed.kept.is_empty()) {
            self.values = values;
            self.entries.retain(|entry| !parsed.replaces(entry));
            self.entries.push(Entry { text: parsed.kept, items: parsed.items });
        }
        Ok(answer)
    }

    /// The accepted text, without what an entry replaces. That printed nothing: it declared items
    /// only.
    fn before(&self, parsed: &Parsed) -> String {
        let kept = self.entries.iter().filter(|entry| !parsed.replaces(entry));
        kept.map(|entry| entry.text.as_str()).collect()
    }

    /// The type of an expression, or what is wrong with it; nothing runs.
    pub fn type_of(&self, text: &str) -> Result<Result<String, Answer>, InternalError> {
        let (session, report) = self.checked(&wrap(text))?;
        let bindings = report.facts.iter().flat_map(|facts| &facts.report.bindings);
        let found = bindings.rev().find(|binding| binding.name.as_str() == VALUE);
        let ty = found.map_or_else(|| "()".into(), |binding| binding.ty.clone());
        let mut diagnostics = report.diagnostics;
        diagnostics.retain(Diagnostic::is_error);
        if diagnostics.is_empty() {
            return Ok(Ok(ty));
        }
        let times = (Duration::ZERO, Duration::ZERO);
        Ok(Err(Answer {
            session,
            diagnostics,
            value: None,
            shown: None,
            interrupted: false,
            times,
        }))
    }

    fn checked(&self, entry: &str) -> Result<(Session, crate::CheckReport), InternalError> {
        let before: String = self.entries.iter().map(|entry| entry.text.as_str()).collect();
        let mut session = Session::new(Options::default(), self.sources());
        let input = Input::Text { name: "<repl>".into(), text: format!("{before}{entry}").into() };
        let report = session.check(&[input])?;
        Ok((session, report))
    }

    /// The coordinates and extents of a binding, as `row: 2, col: 3`; `None` if there is no
    /// binding of that name.
    pub fn layout_of(&self, name: &str) -> Result<Option<String>, InternalError> {
        let (_, report) = self.checked("")?;
        let bindings = report.facts.iter().flat_map(|facts| &facts.report.bindings);
        let found = bindings.rev().find(|binding| binding.name.as_str() == name);
        Ok(found.map(|binding| {
            let axes =
                binding.layout.iter().zip(&binding.shape).map(|(coord, extent)| match coord {
                    Some(coord) => format!("{coord}: {extent}"),
                    None => extent.clone(),
                });
            match axes.collect::<Vec<_>>().join(", ") {
                none if none.is_empty() => "no axes".into(),
                axes => axes,
            }
        }))
    }

    /// How an entry would be computed: its regions and their loops, or what is wrong with it;
    /// nothing runs.
    pub fn plan_of(&self, text: &str) -> Result<Result<String, Answer>, InternalError> {
        let parsed = Parsed::of(text)?;
        let before = self.before(&parsed);
        guarded(|| {
            let (mut answer, program) = compile(&before, &parsed.wrapped, self.sources())?;
            let Some((mut program, root)) = program else {
                answer.diagnostics.retain(Diagnostic::is_error);
                return Ok(Err(answer));
            };
            let parts = Parts::of(&mut program, root, before.len(), usize::MAX);
            program.outputs = parts.new.iter().flat_map(bound_by).collect();
            program.top = parts.new;
            Ok(Ok(DumpOptions::default().text(&program, Show::Loops(Form::Plan))))
        })
        .flatten()
    }

    /// How a function, type or constant of the entries is declared, and what is said of it; of the
    /// library, by its path.
    pub fn described(&self, name: &str) -> Result<Option<String>, InternalError> {
        let text: String = self.entries.iter().map(|entry| entry.text.as_str()).collect();
        guarded(|| crate::doc::described(&text, name))
    }

    /// The names that entries have bound.
    pub fn bound(&self) -> Vec<String> {
        let text: String = self.entries.iter().map(|entry| entry.text.as_str()).collect();
        guarded(|| names::declared(&ein_syntax::parse(FileId::from_usize(0), &text).ast))
            .unwrap_or_default()
    }
}

/// An entry taken apart.
struct Parsed {
    /// What runs: the entry with its last expression bound to a hidden name.
    wrapped: String,
    /// What stays: the entry without that expression.
    kept: String,
    /// The items it declares, if it declares nothing else.
    items: Vec<Symbol>,
    /// The definitions it has clauses of.
    clauses: Vec<String>,
}

impl Parsed {
    fn of(text: &str) -> Result<Parsed, InternalError> {
        guarded(|| {
            let text = &completed(text);
            let parsed = ein_syntax::parse(FileId::from_usize(0), text);
            let ast = &parsed.ast;
            let last = ast.stmts.last().copied();
            let value = last.filter(|last| is_value(ast, *last, text));
            let clauses = clauses(ast);
            if !parsed.diagnostics.is_empty() || value.is_none() {
                let all = format!("{text}\n");
                return Parsed { wrapped: all.clone(), kept: all, items: items(ast), clauses };
            }
            let at = value.map_or(text.len(), |last| ast.stmt[last].span.lo() as usize);
            let (kept, expression) = text.split_at(at);
            let wrapped = format!("{kept}{}", wrap(expression));
            let kept = match kept.trim().is_empty() {
                true => String::new(),
                false => format!("{kept}\n"),
            };
            Parsed { wrapped, kept, items: Vec::new(), clauses }
        })
    }

    /// Where the expression at the end begins, of which only the value is shown.
    fn shown_from(&self) -> usize {
        if self.wrapped == self.kept { usize::MAX } else { self.kept.trim_end().len() }
    }

    fn replaces(&self, entry: &Entry) -> bool {
        !entry.items.is_empty() && entry.items.iter().all(|item| self.items.contains(item))
    }
}

/// An expression bound to the hidden name, on lines of its own.
fn wrap(expression: &str) -> String {
    let expression = expression.trim_end();
    let expression = expression.strip_suffix(';').unwrap_or(expression);
    format!("let {VALUE} = (\n{expression}\n);\n")
}

/// Whether a statement is an expression whose value is to be shown.
fn is_value(ast: &Ast, stmt: StmtId, text: &str) -> bool {
    let span = ast.stmt[stmt].span;
    let fits = text.is_char_boundary(span.lo() as usize);
    fits && matches!(ast.stmt[stmt].kind, StmtKind::Expr(_))
}

/// The items that a tree consists of; none if there is anything else.
fn items(ast: &Ast) -> Vec<Symbol> {
    let name = |stmt: &StmtId| match &ast.stmt[*stmt].kind {
        StmtKind::Fn(it) => Some(it.name.sym),
        StmtKind::Const(it) => Some(it.name.sym),
        StmtKind::Struct(it) => Some(it.name.sym),
        StmtKind::Enum(it) => Some(it.name.sym),
        StmtKind::Mod(it) => Some(it.name.sym),
        _ => None,
    };
    ast.stmts.iter().map(name).collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// The names of the definitions that a tree has clauses of.
fn clauses(ast: &Ast) -> Vec<String> {
    let name = |stmt: &StmtId| match &ast.stmt[*stmt].kind {
        StmtKind::Clause(it) => Some(it.name.to_string()),
        _ => None,
    };
    ast.stmts.iter().filter_map(name).collect()
}

/// Compiles an entry behind a text: the program and its file, unless it is rejected.
fn compile(
    before: &str,
    entry: &str,
    sources: FileSources,
) -> Result<(Answer, Option<(Program, FileId)>), InternalError> {
    let mut session = Session::new(Options::default(), sources);
    let started = Instant::now();
    let text = format!("{before}{entry}").into();
    let root = session.files.add("<repl>".into(), None, text);
    let mut diagnostics = Vec::new();
    let compiled = session.compile_file(root, &FxHashSet::default(), &mut diagnostics)?;
    // Warnings about earlier entries were shown with them, and what is not used yet may be later.
    let is_of_interest = |found: &Diagnostic| {
        let is_new = found.primary.span.lo() as usize >= before.len();
        found.is_error() || (is_new && !matches!(found.code, Code::W0101 | Code::W0102))
    };
    diagnostics.retain(is_of_interest);
    let times = (started.elapsed(), Duration::ZERO);
    let answer =
        Answer { session, diagnostics, value: None, shown: None, interrupted: false, times };
    let program = answer.is_good().then_some((compiled.program, root));
    Ok((answer, program))
}

/// An entry about to run.
struct Attempt<'a> {
    before: &'a str,
    parsed: &'a Parsed,
    /// Whether the text before it does not mean any more what it meant.
    changes: bool,
    state: &'a Interactive,
}

impl Attempt<'_> {
    fn run(
        &self,
        interrupted: Arc<AtomicBool>,
        around: &dyn Surroundings,
    ) -> Result<(Answer, Option<Values>), InternalError> {
        let sources = self.state.sources();
        let (mut answer, program) = compile(self.before, &self.parsed.wrapped, sources)?;
        let Some((mut program, root)) = program else { return Ok((answer, None)) };
        let shown_from = self.before.len().saturating_add(self.parsed.shown_from());
        let parts = Parts::of(&mut program, root, self.before.len(), shown_from);
        let progress = &*self.state.progress;
        let mut running = Running {
            program,
            known: Vec::new(),
            settings: settings(self.state.memory.clone(), interrupted),
            host: Lines { around, silent: true, progress },
        };
        let old = self.state.values.recall(&running.program, root, &parts.old);
        match old.filter(|_| !self.changes) {
            Some(old) => {
                running.known = old.known;
                running.part(&old.again, &mut answer);
            }
            None => running.part(&parts.old, &mut answer),
        }
        running.host.silent = false;
        let started = Instant::now();
        running.part(&parts.new, &mut answer);
        let stmts = parts.old.iter().chain(&parts.new);
        let values = Values::keep(&running.program, root, stmts, &running.known);
        running.part(&parts.shown, &mut answer);
        answer.times.1 = started.elapsed();
        answer.shown = running.shown_value();
        answer.value = answer.shown.as_ref().map(|shown| shown.text.clone());
        progress.report(None);
        let accepted = answer.is_good().then_some(values);
        Ok((answer, accepted))
    }
}

fn settings(memory: Memory, interrupted: Arc<AtomicBool>) -> ein_interp::Options {
    ein_interp::Options {
        interrupted,
        stack_bytes: Some(stack_bytes()),
        ..ein_interp::Options::new(memory)
    }
}

/// A program that runs part by part.
struct Running<'a> {
    program: Program,
    /// What has been bound so far.
    known: Vec<(VarId, Value)>,
    settings: ein_interp::Options,
    host: Lines<'a>,
}

impl Running<'_> {
    /// Runs some statements, unless something went wrong before.
    fn part(&mut self, stmts: &[Stmt], answer: &mut Answer) {
        if stmts.is_empty() || !answer.is_good() {
            return;
        }
        self.program.top = stmts.to_vec();
        self.program.outputs = stmts.iter().flat_map(bound_by).collect();
        let mut kernels = Kernels::new(&self.program, &RunOptions::default(), None);
        let kernels = kernels.as_mut().map(|kernels| kernels as &mut dyn ein_interp::Accelerator);
        let known = self.known.clone();
        let outcome: Outcome =
            ein_interp::resume(&self.program, &self.settings, &mut self.host, kernels, known);
        self.known.extend(outcome.outputs);
        answer.interrupted = outcome.interrupted;
        answer.diagnostics.extend(outcome.error);
    }

    /// What is to be shown of the expression at the end.
    fn shown_value(&self) -> Option<crate::call::Output> {
        let is_shown = |(var, value): &&(VarId, Value)| {
            self.program.vars[*var].name.as_str() == VALUE && !matches!(value, Value::Unit)
        };
        let (var, value) = self.known.iter().rev().find(is_shown)?;
        Some(crate::call::Output {
            name: VALUE.to_owned(),
            value: value.clone(),
            dims: crate::call::dims(&self.program.vars[*var].ty),
            text: ein_interp::display(value, &self.program),
            fields: crate::call::fields(&self.program, value),
        })
    }
}

/// The world outside.
struct Lines<'a> {
    around: &'a dyn Surroundings,
    /// While what ran before runs again, its lines are not shown again.
    silent: bool,
    progress: &'a Progress,
}

impl Host for Lines<'_> {
    fn print(&mut self, line: &str) {
        if !self.silent {
            self.around.print(line);
        }
    }

    fn input(&mut self, name: Symbol, _: &Type) -> Result<Value, InputError> {
        Err(InputError {
            code: Code::E0901,
            message: format!("input `{name}` is missing: nothing gives inputs here"),
        })
    }

    fn progress(&mut self, work: Work) {
        self.progress.report(Some(work));
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
