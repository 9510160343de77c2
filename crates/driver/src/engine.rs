//! Engines: parts of a program as kernels, compiled when their shapes are known.
//!
//! The evaluator runs the program and offers its statements and definitions; what can be lowered
//! becomes a kernel for exactly these shapes, compiled once and kept. Everything else, and whatever
//! traps, is left to the evaluator, and listed with its reason ([`Evaluated`]) for `--time` and
//! `bench`. A compiler that is missing or fails ends the run (E0810), unless the engine was ours to
//! choose: then the JIT takes its place.

mod call;
mod choice;
pub(crate) mod large;
mod part;
pub(crate) mod plan;
mod progress;
mod region;
mod watch;
pub(crate) mod whole;

use crate::run::{Engine, RunOptions};
use call::{Call, hold, outcome, part};
use choice::{Choice, choose};
use ein_base::{Diagnostic, Span};
use ein_emit_c::Compiler;
use ein_interp::{Accelerator, Answer, Environment, Part, Value};
use ein_ir::cost::Cost;
use ein_ir::loops::verify;
use ein_ir::tensor::{Clause, Expr, FuncId, Program, Stmt, VarId};
use ein_runtime::Pool;
use ein_scalar::Scalar;
use ein_transform::flatten::{self, Declined, Flattened, Given, World};
use ein_transform::points::{Arithmetic, Input};
use ein_transform::schedule::{self, Lowered, Use};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A definition is compiled for at most so many shapes; further ones are evaluated.
const MAX_SHAPES: usize = 16;

/// So many statements at most become one kernel.
const LARGEST_REGION: usize = 400;

/// Why a kernel that ran gave no result.
const TRAPPED: &str = "a check failed in the kernel, or there was no memory for it";

/// A run that shall end learns of it within this time.
const SOON: Duration = Duration::from_millis(500);

/// More work than this may take so long that the user wants to interrupt it.
const LONG: f64 = 1e9;

/// What compiles kernels.
pub(crate) struct Kernels<P> {
    /// A reference of some kind: what is compiled is known by the address of its code.
    program: P,
    engine: Engine,
    /// Whether even little work is compiled: it comes again and again.
    always: bool,
    /// Code is compiled for at most so many shapes.
    shapes: usize,
    arithmetic: Arithmetic,
    /// How loops are made.
    settings: schedule::Settings,
    pool: Arc<Pool>,
    /// Which kernels are not trusted.
    watch: watch::Watch,
    /// The system's compiler, once it was looked for.
    compiler: Option<Result<Compiler, String>>,
    /// What was compiled, by the address of the code it stands for.
    compiled: FxHashMap<usize, Vec<Compiled>>,
    /// Code that cannot be lowered, by address.
    declined: FxHashMap<usize, usize>,
    /// Statements (by address) after the first one of a kernel that has failed: they are evaluated
    /// with it.
    evaluating_with: Vec<Range<usize>>,
    /// Statements (by address) with which no kernel can begin.
    plain: FxHashSet<usize>,
    /// Whether a kernel has failed whose statements are being run one by one.
    searching: bool,
    /// How long compiling took.
    pub(crate) compile_time: Duration,
    /// What was left to the evaluator although there is work in it.
    pub(crate) evaluated: Vec<Evaluated>,
    /// Which of these is being evaluated.
    evaluating: Option<usize>,
}

/// Code with work in it that was evaluated, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluated {
    /// Where it stands.
    pub span: Span,
    /// The reason.
    pub why: String,
    /// About how many steps of loops it took, in thousands.
    pub steps: u64,
}

/// Why there is no code.
enum NoCode {
    /// The evaluator does it.
    Evaluate(String),
    /// The engine that was asked for cannot work.
    Fail(String),
}

/// A kernel for one set of shapes.
struct Compiled {
    /// The values it was made for, without their elements.
    inputs: Vec<(Input, Given)>,
    assumed: Vec<(Input, Scalar)>,
    /// How many statements it stands for.
    count: usize,
    lowered: Lowered,
    code: Code,
    /// How often it was watched.
    watched: std::sync::atomic::AtomicU32,
    /// How often it was wanted while it was not worth compiling.
    skipped: f64,
}

/// What came of a run of a kernel.
enum Ran {
    /// The values of its outputs.
    Made(Vec<(VarId, Value)>),
    /// A check failed.
    Trapped,
    /// There was no memory for it, or no time.
    Not,
}

/// The value of the only output of a kernel.
fn only(values: Vec<(VarId, Value)>) -> Answer {
    values.into_iter().next().map_or(Answer::Evaluate, |(_, value)| Answer::Made(value))
}

#[derive(Clone)]
enum Code {
    Jit(Arc<ein_jit::Compiled>),
    Native(Arc<ein_emit_c::Compiled>),
    /// Too little work.
    None,
    /// Nothing is left to compute.
    Empty,
}

/// The host's values as lowering sees them.
struct Known<'a> {
    env: &'a dyn Environment,
    program: &'a Program,
}

impl Known<'_> {
    fn of(&self, value: &Value) -> Given {
        let all = |parts: &[Value]| parts.iter().map(|part| self.of(part)).collect();
        match value {
            Value::Scalar(value) => Given::Scalar(*value),
            Value::Tensor(tensor) => Given::Array {
                ty: tensor.ty(),
                shape: tensor.shape().iter().map(|extent| *extent as i64).collect(),
                strides: tensor.strides().iter().map(|stride| *stride as i64).collect(),
            },
            Value::Tuple(items) => Given::Record(None, all(items)),
            // A kernel is made for one variant, and another one may come.
            Value::Data(data) if !self.program.data[data.data].is_enum => {
                Given::Record(Some((data.data, data.variant)), all(&data.fields))
            }
            Value::Data(_)
            | Value::Unit
            | Value::Str(_)
            | Value::Objects(_)
            | Value::Jagged(_)
            | Value::Closure(_)
            | Value::Range(_)
            | Value::Pending(_)
            | Value::History(_) => Given::Other,
        }
    }

    /// What an input of a kernel is.
    fn input(&self, input: &Input) -> Given {
        part(self.env.get(input.var), &input.parts).map_or(Given::Other, |value| self.of(&value))
    }
}

impl World for Known<'_> {
    fn has_host(&self) -> bool {
        true
    }

    fn given(&self, var: VarId) -> Given {
        self.of(&self.env.get(var))
    }
}

impl<P: Deref<Target = Program>> Kernels<P> {
    /// Nothing compiled yet; none for the evaluator alone.
    pub(crate) fn new(
        program: P,
        options: &RunOptions,
        ad_memory: Option<u64>,
    ) -> Option<Kernels<P>> {
        if options.engine == Engine::Eval {
            return None;
        }
        let available = std::thread::available_parallelism().map_or(1, |count| count.get());
        let pool = Arc::new(Pool::new(options.threads.unwrap_or(available)));
        Some(Kernels::on(pool, program, options, ad_memory, false, MAX_SHAPES))
    }

    /// The same on threads that are there already, with other limits.
    pub(crate) fn on(
        pool: Arc<Pool>,
        program: P,
        options: &RunOptions,
        ad_memory: Option<u64>,
        always: bool,
        shapes: usize,
    ) -> Kernels<P> {
        Kernels {
            program,
            always,
            shapes,
            // The same bits on every engine: the one whose scalar code is that of the oracle.
            engine: if options.deterministic { Engine::Jit } else { options.engine },
            arithmetic: Arithmetic {
                wrapping: options.wrapping,
                exact: options.deterministic,
                careful: false,
            },
            settings: schedule::Settings { ad_memory, passes: options.passes, cost: Cost::host() },
            pool,
            watch: watch::Watch::new(options.paranoid),
            compiler: None,
            compiled: FxHashMap::default(),
            declined: FxHashMap::default(),
            evaluating_with: Vec::new(),
            plain: FxHashSet::default(),
            searching: false,
            compile_time: Duration::ZERO,
            evaluated: Vec::new(),
            evaluating: None,
        }
    }

    /// How many threads kernels use.
    pub(crate) fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// Starts anew after a run, with everything compiled kept.
    pub(crate) fn rewind(&mut self) {
        self.evaluating_with.clear();
    }

    /// The kernel for code at this address with the values that are there now.
    fn find(&self, key: usize, env: &dyn Environment) -> Option<usize> {
        let known = Known { env, program: &self.program };
        self.compiled.get(&key)?.iter().position(|compiled| {
            let same = |(input, given): &(Input, Given)| match (known.input(input), given) {
                (Given::Scalar(a), Given::Scalar(b)) => a.ty() == b.ty(),
                (a, b) => a == *b,
            };
            compiled.inputs.iter().all(same)
                && compiled
                    .assumed
                    .iter()
                    .all(|(input, value)| known.input(input) == Given::Scalar(*value))
        })
    }

    /// Lowers and compiles; the number of the kernel, none if the evaluator has to do it.
    fn add(
        &mut self,
        key: usize,
        (count, span): (usize, Span),
        flat: Flattened,
        env: &dyn Environment,
    ) -> Result<Option<usize>, Box<Diagnostic>> {
        let assumed = flat.assumed.clone();
        let known = Known { env, program: &self.program };
        let lowered = schedule::lower(flat, self.settings);
        debug_assert_eq!(verify::verify(&lowered.kernel), Vec::<String>::new());
        let inputs = lowered
            .uses
            .iter()
            .filter_map(|used| match used {
                Use::Input(input) => Some((input.clone(), known.input(input))),
                Use::Output(_) | Use::Scratch | Use::Local => None,
            })
            .collect();
        let code = match self.compile(&lowered, 1.0) {
            Ok(code) => code,
            Err(NoCode::Evaluate(why)) => {
                self.decline(key, span, why);
                return Ok(None);
            }
            Err(NoCode::Fail(message)) => return Err(self.failure(span, &message, env)),
        };
        let list = self.compiled.entry(key).or_default();
        let (watched, skipped) = (Default::default(), 0.0);
        list.push(Compiled { inputs, assumed, count, lowered, code, watched, skipped });
        Ok(Some(list.len() - 1))
    }

    /// Compiles a kernel that is to run so often.
    fn compile(&mut self, lowered: &Lowered, runs: f64) -> Result<Code, NoCode> {
        if lowered.kernel.body.is_empty() {
            return Ok(Code::Empty);
        }
        let native = match self.engine {
            // It runs once, to find out what failed in another one.
            _ if lowered.careful => false,
            Engine::Native => true,
            Engine::Jit | Engine::Eval => false,
            Engine::Auto => match choose(&lowered.kernel, lowered.work, runs) {
                Choice::Evaluate if !self.always => return Ok(Code::None),
                Choice::Evaluate | Choice::Jit => false,
                Choice::Native => true,
            },
        };
        if native {
            let built = match self.compiler() {
                Ok(compiler) => {
                    compiler.compile(&lowered.kernel).map_err(|error| error.to_string())
                }
                Err(error) => Err(error.clone()),
            };
            match built {
                Ok(code) => return Ok(Code::Native(Arc::new(code))),
                Err(error) if self.engine == Engine::Native => return Err(NoCode::Fail(error)),
                // The choice was ours, and the other engine needs no compiler.
                Err(_) => {}
            }
        }
        match ein_jit::compile(&lowered.kernel) {
            Ok(code) => Ok(Code::Jit(Arc::new(code))),
            Err(error) => Err(NoCode::Evaluate(error.to_string())),
        }
    }

    /// Notes that a kernel is wanted which was not worth compiling. What is wanted again and again is
    /// compiled as soon as evaluating it has taken as long.
    fn wanted_again(
        &mut self,
        (key, at): (usize, usize),
        span: Span,
        env: &dyn Environment,
    ) -> Result<(), Box<Diagnostic>> {
        let Some(compiled) = self.compiled.get_mut(&key).and_then(|list| list.get_mut(at)) else {
            return Ok(());
        };
        if !matches!(compiled.code, Code::None) {
            return Ok(());
        }
        compiled.skipped += 1.0;
        let (runs, lowered) = (compiled.skipped, &compiled.lowered);
        if choose(&lowered.kernel, lowered.work, runs) == Choice::Evaluate {
            return Ok(());
        }
        let started = Instant::now();
        let lowered = lowered.clone();
        let code = match self.compile(&lowered, runs) {
            Ok(code) => code,
            // The evaluator goes on.
            Err(NoCode::Evaluate(_)) => Code::None,
            Err(NoCode::Fail(message)) => return Err(self.failure(span, &message, env)),
        };
        self.compile_time += started.elapsed();
        if let Some(compiled) = self.compiled.get_mut(&key).and_then(|list| list.get_mut(at)) {
            compiled.code = code;
        }
        Ok(())
    }

    /// An engine that was asked for and cannot work.
    fn failure(&self, span: Span, message: &str, env: &dyn Environment) -> Box<Diagnostic> {
        // A compiler that was ended has not failed: the run is about to learn that it shall end.
        let asked = Instant::now();
        while ein_emit_c::compilers_are_stopped() && !env.interrupted() && asked.elapsed() < SOON {
            std::thread::sleep(Duration::from_millis(1));
        }
        let engine = self.engine.as_str();
        let text = format!("the engine `{engine}` cannot compile this: {message}");
        let help = "use `--engine jit`, which needs no compiler, or `--engine eval`";
        Box::new(Diagnostic::new(ein_base::Code::E0810, span, text).help(help))
    }

    fn compiler(&mut self) -> &Result<Compiler, String> {
        self.compiler.get_or_insert_with(|| Compiler::find().map_err(|it| it.to_string()))
    }

    /// Runs a kernel.
    fn execute(&self, compiled: &Compiled, env: &mut dyn Environment) -> Ran {
        let lowered = &compiled.lowered;
        let bufs = lowered.uses.iter().zip(lowered.kernel.bufs.iter());
        // What nobody defines is nothing to compare.
        let clean = self.watch != watch::Watch::None;
        let held = bufs.map(|(used, buffer)| hold(used, buffer, env, clean));
        let held = held.collect::<Option<Vec<_>>>();
        let Some(held) = held else { return Ran::Not };
        let expected = match compiled.code {
            Code::Jit(_) | Code::Native(_) => {
                watch::expect(self.watch, &lowered.kernel, &held, &compiled.watched)
            }
            Code::None | Code::Empty => None,
        };
        let call = Call { held, code: compiled.code.clone(), pool: Arc::clone(&self.pool) };
        let ran = match lowered.work < LONG {
            true => call.run(&|| env.interrupted()),
            false => call.run_aside(&lowered.kernel, env),
        };
        let Some((held, trapped)) = ran else { return Ran::Not };
        if let Some(expected) = expected {
            watch::compare(&expected, &lowered.kernel, &held, trapped);
        }
        if trapped != 0 {
            return Ran::Trapped;
        }
        let outputs = lowered.outputs.iter();
        let values = outputs.map(|(var, it)| Some((*var, outcome(it, &held, env)?)));
        values.collect::<Option<_>>().map_or(Ran::Not, Ran::Made)
    }

    /// Notes that code at this address was declined.
    fn decline(&mut self, key: usize, span: Span, why: String) {
        *self.declined.entry(key).or_default() += 1;
        self.note(span, why);
    }

    fn note(&mut self, span: Span, why: String) {
        let known = self.evaluated.iter().position(|it| it.span == span && it.why == why);
        if known.is_none() {
            self.evaluated.push(Evaluated { span, why, steps: 0 });
        }
        self.evaluating = Some(known.unwrap_or(self.evaluated.len() - 1));
    }

    /// Whether code at this address is not worth another attempt.
    fn is_declined(&mut self, key: usize, span: Span) -> bool {
        let shapes = self.compiled.get(&key).map_or(0, Vec::len);
        if shapes >= self.shapes {
            self.note(span, format!("it has been compiled for {shapes} shapes already"));
            return true;
        }
        self.declined.get(&key).is_some_and(|times| *times >= 2)
    }
}

/// What a kernel for one value computes, told to flattening: the program, the name of the value, what is
/// there, and how numbers are computed.
type Told<'a> = dyn Fn(&Program, VarId, &Known<'_>, Arithmetic) -> Result<Flattened, Declined> + 'a;

impl<P: Deref<Target = Program>> Accelerator for Kernels<P> {
    fn statements(
        &mut self,
        stmts: &[Stmt],
        value: Option<&Expr>,
        env: &mut dyn Environment,
    ) -> Result<usize, Box<Diagnostic>> {
        // Not the address of an expression, which may be the first thing in a statement.
        let key = stmts.as_ptr() as usize | 1;
        let evaluating = |range: &Range<usize>| range.contains(&key);
        if self.plain.contains(&key) || self.evaluating_with.iter().any(evaluating) {
            return Ok(0);
        }
        let Some(span) = stmts.first().map(|stmt| stmt.span) else { return Ok(0) };
        self.searching = false;
        let at = match self.find(key, env) {
            Some(at) => Some(at),
            None if self.is_declined(key, span) => None,
            None => {
                // Passes look at all of a region, and some at all pairs of what is in it.
                let count = region::eligible(&self.program, stmts).min(LARGEST_REGION);
                if count == 0 {
                    self.plain.insert(key);
                    return Ok(0);
                }
                self.lower_statements(key, stmts, (count, value), env)?
            }
        };
        let Some(at) = at else { return Ok(0) };
        self.wanted_again((key, at), span, env)?;
        let compiled = &self.compiled[&key][at];
        let count = compiled.count;
        if !matches!(compiled.code, Code::None) {
            if let Ran::Made(values) = self.execute(compiled, env) {
                values.into_iter().for_each(|(var, value)| env.set(var, value));
                self.evaluating = None;
                return Ok(count);
            }
            self.note(span, TRAPPED.to_owned());
            self.searching = true;
        }
        let range = stmts[..count].as_ptr_range();
        let with = key + 1..range.end as usize;
        if !self.evaluating_with.contains(&with) {
            self.evaluating_with.push(with);
        }
        Ok(0)
    }

    fn expression(
        &mut self,
        e: &Expr,
        env: &mut dyn Environment,
    ) -> Result<Answer, Box<Diagnostic>> {
        self.value((&raw const *e) as usize, e.span, env, &|program, var, known, arithmetic| {
            flatten::expression(program, e, var, known, arithmetic)
        })
    }

    fn turns(
        &mut self,
        func: FuncId,
        env: &mut dyn Environment,
    ) -> Result<Answer, Box<Diagnostic>> {
        let info = &self.program.funcs[func];
        // Not the address of its body, which may have been asked for by itself.
        let (key, span) = ((&raw const info.body) as usize | 2, info.span);
        self.value(key, span, env, &|program, var, known, arithmetic| {
            flatten::turns(program, func, None, var, known, arithmetic)
        })
    }

    fn row(
        &mut self,
        clause: &Clause,
        row: &dyn Fn() -> Expr,
        env: &mut dyn Environment,
    ) -> Result<Answer, Box<Diagnostic>> {
        // Not the address of what it begins with.
        let key = (&raw const *clause) as usize | 3;
        self.value(key, clause.span, env, &|program, var, known, arithmetic| {
            flatten::expression(program, &row(), var, known, arithmetic)
        })
    }

    fn part(&mut self, part: &Part<'_>, env: &mut dyn Environment) -> Answer {
        self.some_part(part, env)
    }

    fn evaluated(&mut self) {
        if let Some(at) = self.evaluating {
            self.evaluated[at].steps += 4;
        }
    }
}

impl<P: Deref<Target = Program>> Kernels<P> {
    fn lower_statements(
        &mut self,
        key: usize,
        stmts: &[Stmt],
        (mut count, value): (usize, Option<&Expr>),
        env: &dyn Environment,
    ) -> Result<Option<usize>, Box<Diagnostic>> {
        let started = Instant::now();
        let result = loop {
            let wanted = match value {
                None => region::needed_after(&self.program, &stmts[..count]),
                Some(value) => region::needed_in_block(&self.program, &stmts[count..], value),
            };
            let known = Known { env, program: &self.program };
            let run = &stmts[..count];
            let wants = |var| wanted.contains(&var);
            match flatten::statements(&self.program, run, &known, &wants, self.arithmetic) {
                Ok(flat) => break self.add(key, (count, stmts[0].span), flat, env),
                Err((at, declined)) => {
                    if at == 0 || !region::has_work(&self.program, &stmts[..at]) {
                        self.decline(key, declined.span, declined.why);
                        break Ok(None);
                    }
                    count = at;
                }
            }
        };
        self.compile_time += started.elapsed();
        result
    }

    /// One value by a kernel, if there is one for it; `flatten` tells what it computes.
    fn value(
        &mut self,
        key: usize,
        span: Span,
        env: &mut dyn Environment,
        flatten: &Told<'_>,
    ) -> Result<Answer, Box<Diagnostic>> {
        let at = match self.find(key, env) {
            Some(at) => Some(at),
            None if self.is_declined(key, span) => None,
            None => self.lower_value(key, span, self.searching, env, flatten)?,
        };
        let Some(at) = at else { return Ok(Answer::Evaluate) };
        self.wanted_again((key, at), span, env)?;
        let compiled = &self.compiled[&key][at];
        if matches!(compiled.code, Code::None) {
            return Ok(Answer::Evaluate);
        }
        let mut ran = self.execute(compiled, env);
        if matches!(ran, Ran::Trapped) && !compiled.lowered.careful {
            // Perhaps the program does not compute what failed. Next time it is not tried again.
            if let Some(list) = self.compiled.get_mut(&key) {
                list.remove(at);
            }
            let Some(at) = self.lower_value(key, span, true, env, flatten)? else {
                return Ok(Answer::Evaluate);
            };
            ran = self.execute(&self.compiled[&key][at], env);
        }
        if let Ran::Made(values) = ran {
            return Ok(only(values));
        }
        self.note(span, TRAPPED.to_owned());
        Ok(if matches!(ran, Ran::Trapped) { Answer::Failed } else { Answer::Evaluate })
    }

    fn lower_value(
        &mut self,
        key: usize,
        span: Span,
        careful: bool,
        env: &dyn Environment,
        flatten: &Told<'_>,
    ) -> Result<Option<usize>, Box<Diagnostic>> {
        // Any variable will do as the name of the result: nothing is bound to it.
        let Some(var) = region::any_var(&self.program) else { return Ok(None) };
        let started = Instant::now();
        let known = Known { env, program: &self.program };
        let arithmetic = Arithmetic { careful, ..self.arithmetic };
        let flat = flatten(&self.program, var, &known, arithmetic);
        let result = match flat {
            Ok(flat) => self.add(key, (1, span), flat, env),
            Err(declined) => {
                self.decline(key, declined.span, declined.why);
                Ok(None)
            }
        };
        self.compile_time += started.elapsed();
        result
    }
}
