//! A program that is written entry by entry, as the REPL does.
//!
//! * The state is the text of the entries that were accepted. Each new entry is checked and run
//!   behind them; what they print is known already and not shown again.
//! * An entry that is rejected or fails leaves the state as it was.
//! * An expression is shown and forgotten: whatever it does happens once.
//! * A function, constant or type that is declared again takes the place of the old one.
//!
//! Does not know: terminals, commands.

mod names;

use crate::guard::STACK_BYTES;
use crate::{Diagnostic, FileSources, Input, InternalError, Options, Session, guarded};
use ein_base::{Code, FileId, Idx as _, Symbol};
use ein_interp::{Host, InputError, Value};
use ein_ir::tensor::Type;
use ein_runtime::Memory;
use ein_syntax::ast::{Ast, StmtId, StmtKind};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

pub use names::words;

/// The hidden name of an expression's value.
const VALUE: &str = "__value__";

/// The accepted entries of a session.
#[derive(Debug, Default)]
pub struct Interactive {
    entries: Vec<Entry>,
    /// How many lines they print,
    printed: usize,
    /// and how long they run.
    took: Duration,
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

/// Whether a text ends inside a bracket or a comment, so that more must follow.
pub fn is_unfinished(text: &str) -> bool {
    let end = text.trim_end().len();
    let at_end = |span: ein_base::Span| span.lo as usize >= end;
    let unfinished = guarded(|| {
        let parsed = ein_syntax::parse(FileId::from_usize(0), text);
        parsed.diagnostics.iter().any(|found| match found.code {
            Code::E0103 => true,
            Code::E0104 => found.labels.iter().any(|label| at_end(label.span)),
            Code::E0101 => at_end(found.primary.span) && has_open_bracket(text),
            _ => false,
        })
    });
    unfinished.unwrap_or(false)
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

    /// Runs an entry behind those accepted so far, and accepts it if all went well. `print` gets
    /// each line that it prints.
    pub fn enter(
        &mut self,
        text: &str,
        interrupted: Arc<AtomicBool>,
        print: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Answer, InternalError> {
        let parsed = Parsed::of(text)?;
        let kept: Vec<&Entry> =
            self.entries.iter().filter(|entry| !parsed.replaces(entry)).collect();
        // What was dropped printed nothing: it declared items only.
        let before: String = kept.iter().map(|entry| entry.text.as_str()).collect();
        let (mut answer, mut printed) =
            attempt(&before, &parsed.wrapped, self.printed, interrupted, print)?;
        let total = answer.times.1;
        answer.times.1 = total.saturating_sub(self.took);
        if answer.is_good() && !parsed.kept.is_empty() {
            if parsed.has_value() {
                // The expression at the end is not kept, so neither are the lines it printed.
                let quiet = &mut |_: &str| {};
                printed = attempt(&before, &parsed.kept, self.printed, Arc::default(), quiet)?.1;
            }
            self.printed += printed;
            self.took = total;
            self.entries.retain(|entry| !parsed.replaces(entry));
            self.entries.push(Entry { text: parsed.kept, items: parsed.items });
        }
        Ok(answer)
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
        Ok(Err(Answer { session, diagnostics, value: None, interrupted: false, times }))
    }

    fn checked(&self, entry: &str) -> Result<(Session, crate::CheckReport), InternalError> {
        let before: String = self.entries.iter().map(|entry| entry.text.as_str()).collect();
        let mut session = Session::new(Options::default(), FileSources::on_disk());
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
}

impl Parsed {
    fn of(text: &str) -> Result<Parsed, InternalError> {
        guarded(|| {
            let parsed = ein_syntax::parse(FileId::from_usize(0), text);
            let ast = &parsed.ast;
            let last = ast.stmts.last().copied();
            let value = last.filter(|last| is_value(ast, *last, text));
            if !parsed.diagnostics.is_empty() || value.is_none() {
                let all = format!("{text}\n");
                return Parsed { wrapped: all.clone(), kept: all, items: items(ast) };
            }
            let at = value.map_or(text.len(), |last| ast.stmt[last].span.lo as usize);
            let (kept, expression) = text.split_at(at);
            let wrapped = format!("{kept}{}", wrap(expression));
            let kept = match kept.trim().is_empty() {
                true => String::new(),
                false => format!("{kept}\n"),
            };
            Parsed { wrapped, kept, items: Vec::new() }
        })
    }

    fn has_value(&self) -> bool {
        self.wrapped != self.kept
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
    let fits = text.is_char_boundary(span.lo as usize);
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

/// Checks an entry behind a text and runs both; `skipped` lines are not shown. Also says how many
/// lines followed them.
fn attempt(
    before: &str,
    entry: &str,
    skipped: usize,
    interrupted: Arc<AtomicBool>,
    print: &mut (dyn FnMut(&str) + Send),
) -> Result<(Answer, usize), InternalError> {
    guarded(|| {
        let mut session = Session::new(Options::default(), FileSources::on_disk());
        let started = Instant::now();
        let input = Input::Text { name: "<repl>".into(), text: format!("{before}{entry}").into() };
        let mut diagnostics = Vec::new();
        let compiled = session.compile(&input, &FxHashSet::default(), &mut diagnostics)?;
        // Warnings about earlier entries were shown with them.
        let is_new =
            |found: &Diagnostic| found.is_error() || found.primary.span.lo as usize >= before.len();
        diagnostics.retain(is_new);
        let mut answer = Answer {
            session,
            diagnostics,
            value: None,
            interrupted: false,
            times: (started.elapsed(), Duration::ZERO),
        };
        let Some(compiled) = compiled.filter(|_| answer.is_good()) else { return Ok((answer, 0)) };
        let program = &compiled.program;
        let memory = Memory::default();
        let options = ein_interp::Options {
            script_dir: compiled.directory.clone(),
            interrupted,
            stack_bytes: Some(STACK_BYTES),
            ..ein_interp::Options::new(memory)
        };
        let mut host = Lines { print, seen: 0, skipped };
        let started = Instant::now();
        let outcome = ein_interp::run(program, &options, &mut host);
        answer.times.1 = started.elapsed();
        answer.interrupted = outcome.interrupted;
        answer.diagnostics.extend(outcome.error);
        let shown = outcome.outputs.iter().rev().find(|(var, value)| {
            program.vars[*var].name.as_str() == VALUE && !matches!(value, Value::Unit)
        });
        answer.value = shown.map(|(_, value)| ein_interp::display(value, program));
        let printed = host.seen.saturating_sub(skipped);
        Ok((answer, printed))
    })
    .flatten()
}

/// The world outside: lines after those that were shown before.
struct Lines<'a> {
    print: &'a mut (dyn FnMut(&str) + Send),
    seen: usize,
    skipped: usize,
}

impl Host for Lines<'_> {
    fn print(&mut self, line: &str) {
        self.seen += 1;
        if self.seen > self.skipped {
            (self.print)(line);
        }
    }

    fn input(&mut self, name: Symbol, _: &Type) -> Result<Value, InputError> {
        Err(InputError {
            code: Code::E0901,
            message: format!("input `{name}` is missing: nothing gives inputs here"),
        })
    }
}
