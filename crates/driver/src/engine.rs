//! Engines: parts of a program as kernels, compiled when their shapes are known.
//!
//! The evaluator runs the program and offers its statements and definitions; what can be lowered
//! becomes a kernel for exactly these shapes, compiled once and kept. Everything else, and whatever
//! traps, is left to the evaluator.

pub(crate) mod plan;
mod region;

use crate::run::{Engine, RunOptions};
use ein_emit_c::Compiler;
use ein_interp::{Accelerator, Environment, Value};
use ein_ir::loops::{BufferKind, verify};
use ein_ir::tensor::{Expr, Program, Stmt, VarId};
use ein_runtime::kernel::Interface;
use ein_runtime::{Memory, Pool, Tensor};
use ein_scalar::Scalar;
use ein_transform::flatten::{self, Given, World};
use ein_transform::points::Arithmetic;
use ein_transform::schedule::{self, Lowered, Result as Computed, Use};
use rustc_hash::FxHashMap;
use std::sync::Arc;
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// A definition is compiled for at most so many shapes; further ones are evaluated.
const MAX_SHAPES: usize = 4;

/// Less work than this (in operations) is evaluated, unless an engine was asked for.
const WORTH_A_KERNEL: f64 = 20_000.0;

/// More work than this may take so long that the user wants to interrupt it.
const LONG: f64 = 1e9;

/// The stack of a thread that runs a kernel: local buffers live there.
const KERNEL_STACK: usize = 64 << 20;

/// More work than this is worth the system's compiler.
const WORTH_A_COMPILER: f64 = 3e8;

/// What compiles kernels.
pub(crate) struct Kernels<'p> {
    program: &'p Program,
    engine: Engine,
    arithmetic: Arithmetic,
    pool: Arc<Pool>,
    /// The system's compiler, once it was looked for.
    compiler: Option<Result<Compiler, String>>,
    /// What was compiled, by the address of the code it stands for.
    compiled: FxHashMap<usize, Vec<Compiled>>,
    /// Code that cannot be lowered, by address.
    declined: FxHashMap<usize, usize>,
    /// Statements up to here (by address) have failed as a kernel and are being evaluated.
    evaluating_until: usize,
    /// How long compiling took.
    pub(crate) compile_time: Duration,
    /// A failure of the engine itself: a compiler that does not compile.
    pub(crate) failure: Option<String>,
}

/// A kernel for one set of shapes.
struct Compiled {
    /// The values it was made for, without their elements.
    inputs: Vec<(VarId, Given)>,
    assumed: Vec<(VarId, Scalar)>,
    /// How many statements it stands for.
    count: usize,
    lowered: Lowered,
    code: Code,
}

#[derive(Clone)]
enum Code {
    Jit(Arc<ein_jit::Compiled>),
    Native(Arc<ein_emit_c::Compiled>),
    /// Too little work.
    None,
}

/// The host's values as lowering sees them.
struct Known<'a>(&'a dyn Environment);

impl World for Known<'_> {
    fn given(&self, var: VarId) -> Given {
        match self.0.get(var) {
            Value::Scalar(value) => Given::Scalar(value),
            Value::Tensor(tensor) => Given::Array {
                ty: tensor.ty(),
                shape: tensor.shape().iter().map(|extent| *extent as i64).collect(),
                strides: tensor.strides().iter().map(|stride| *stride as i64).collect(),
            },
            _ => Given::Other,
        }
    }
}

impl<'p> Kernels<'p> {
    /// Nothing compiled yet; none for the evaluator alone.
    pub(crate) fn new(program: &'p Program, options: &RunOptions) -> Option<Kernels<'p>> {
        if options.engine == Engine::Eval {
            return None;
        }
        let available = std::thread::available_parallelism().map_or(1, |count| count.get());
        Some(Kernels {
            program,
            // The same bits on every engine: the one whose scalar code is that of the oracle.
            engine: if options.deterministic { Engine::Jit } else { options.engine },
            arithmetic: Arithmetic { wrapping: options.wrapping, exact: options.deterministic },
            pool: Arc::new(Pool::new(options.threads.unwrap_or(available))),
            compiler: None,
            compiled: FxHashMap::default(),
            declined: FxHashMap::default(),
            evaluating_until: 0,
            compile_time: Duration::ZERO,
            failure: None,
        })
    }

    /// How many threads kernels use.
    pub(crate) fn threads(&self) -> usize {
        self.pool.threads()
    }

    /// Starts anew after a run, with everything compiled kept.
    pub(crate) fn rewind(&mut self) {
        self.evaluating_until = 0;
    }

    /// The kernel for code at this address with the values that are there now.
    fn find(&self, key: usize, env: &dyn Environment) -> Option<usize> {
        let known = Known(env);
        self.compiled.get(&key)?.iter().position(|compiled| {
            let same = |(var, given): &(VarId, Given)| match (known.given(*var), given) {
                (Given::Scalar(a), Given::Scalar(b)) => a.ty() == b.ty(),
                (a, b) => a == *b,
            };
            compiled.inputs.iter().all(same)
                && compiled
                    .assumed
                    .iter()
                    .all(|(var, value)| known.given(*var) == Given::Scalar(*value))
        })
    }

    /// Lowers and compiles.
    fn add(
        &mut self,
        key: usize,
        count: usize,
        flat: flatten::Flattened,
        env: &dyn Environment,
    ) -> Option<usize> {
        let assumed = flat.assumed.clone();
        let known = Known(env);
        let lowered = schedule::lower(flat);
        debug_assert_eq!(verify::verify(&lowered.kernel), Vec::<String>::new());
        let inputs = lowered
            .uses
            .iter()
            .filter_map(|used| match used {
                Use::Input(var) => Some((*var, known.given(*var))),
                Use::Output(_) | Use::Scratch | Use::Local => None,
            })
            .collect();
        let code = self.compile(&lowered)?;
        let list = self.compiled.entry(key).or_default();
        list.push(Compiled { inputs, assumed, count, lowered, code });
        Some(list.len() - 1)
    }

    fn compile(&mut self, lowered: &Lowered) -> Option<Code> {
        let native = match self.engine {
            Engine::Native => true,
            Engine::Jit | Engine::Eval => false,
            Engine::Auto if lowered.work < WORTH_A_KERNEL => return Some(Code::None),
            Engine::Auto => lowered.work > WORTH_A_COMPILER && self.compiler().is_ok(),
        };
        if native {
            let built = match self.compiler() {
                Ok(compiler) => {
                    compiler.compile(&lowered.kernel).map_err(|error| error.to_string())
                }
                Err(error) => Err(error.clone()),
            };
            return match built {
                Ok(code) => Some(Code::Native(Arc::new(code))),
                Err(error) => {
                    self.failure = Some(error);
                    None
                }
            };
        }
        match ein_jit::compile(&lowered.kernel) {
            Ok(code) => Some(Code::Jit(Arc::new(code))),
            // What this engine cannot do the evaluator does.
            Err(_) => None,
        }
    }

    fn compiler(&mut self) -> &Result<Compiler, String> {
        self.compiler.get_or_insert_with(|| Compiler::find().map_err(|it| it.to_string()))
    }

    /// Runs a kernel; the values of its outputs, unless it trapped or there is no memory.
    fn execute(&self, compiled: &Compiled, env: &dyn Environment) -> Option<Vec<(VarId, Value)>> {
        let lowered = &compiled.lowered;
        let held: Vec<Held> = lowered
            .uses
            .iter()
            .zip(lowered.kernel.bufs.iter())
            .map(|(used, buffer)| hold(used, buffer, env))
            .collect::<Option<_>>()?;
        let call = Call { held, code: compiled.code.clone(), pool: Arc::clone(&self.pool) };
        let (held, trapped) = if lowered.work < LONG { call.run() } else { call.run_aside(env)? };
        if trapped != 0 {
            return None;
        }
        let mut values = Vec::with_capacity(lowered.outputs.len());
        for (var, computed) in &lowered.outputs {
            let value = match computed {
                Computed::Array(buf) => Value::tensor(held[index(*buf)].tensor()?.clone()),
                Computed::Scalar(buf) => Value::Scalar(held[index(*buf)].tensor()?.get(&[]).ok()?),
                Computed::Constant(value) => Value::Scalar(*value),
                Computed::Same(other) => env.get(*other),
            };
            values.push((*var, value));
        }
        Some(values)
    }

    /// Notes that code at this address was declined.
    fn decline(&mut self, key: usize) {
        *self.declined.entry(key).or_default() += 1;
    }

    fn is_declined(&self, key: usize) -> bool {
        let shapes = self.compiled.get(&key).map_or(0, Vec::len);
        self.declined.get(&key).is_some_and(|times| *times >= 2) || shapes >= MAX_SHAPES
    }
}

/// A run of a kernel, with all that has to live as long.
struct Call {
    held: Vec<Held>,
    code: Code,
    pool: Arc<Pool>,
}

impl Call {
    /// The buffers after the run, and whether something trapped.
    fn run(mut self) -> (Vec<Held>, u32) {
        let pointers: Vec<*mut u8> = self.held.iter_mut().map(Held::pointer).collect();
        let interface: Interface = self.pool.interface();
        // SAFETY: each pointer is that of a buffer of the type and length that the kernel states,
        // outputs and scratch are held by nobody else, and all live until the call returns.
        let trapped = unsafe {
            match &self.code {
                Code::Jit(code) => code.run(&pointers, &interface),
                Code::Native(code) => code.run(&pointers, &interface),
                // Nothing was computed, which is what a trap says.
                Code::None => 1,
            }
        };
        (self.held, trapped)
    }

    /// The same on a thread of its own, so that the user can stop waiting for it: then it is left
    /// to itself, with its buffers, until the process ends.
    fn run_aside(self, env: &dyn Environment) -> Option<(Vec<Held>, u32)> {
        let (send, receive) = std::sync::mpsc::channel();
        let work = move || {
            // Nobody listens any more if the user gave up.
            let _ = send.send(self.run());
        };
        std::thread::Builder::new().stack_size(KERNEL_STACK).spawn(work).ok()?;
        loop {
            match receive.recv_timeout(Duration::from_millis(20)) {
                Ok(result) => return Some(result),
                Err(RecvTimeoutError::Timeout) if env.interrupted() => return None,
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

fn index(buf: ein_ir::loops::Buf) -> usize {
    ein_base::Idx::index(buf)
}

/// The elements behind a buffer.
enum Held {
    Shared(Value, Box<u64>),
    Own(Tensor),
    Nothing,
}

impl Held {
    fn pointer(&mut self) -> *mut u8 {
        match self {
            Held::Shared(Value::Tensor(tensor), _) => tensor.as_ptr().cast_mut(),
            Held::Shared(_, bits) => std::ptr::from_mut(&mut **bits).cast(),
            // Made a moment ago and not shared, so this copies nothing.
            Held::Own(tensor) => tensor.as_mut_ptr().unwrap_or(std::ptr::null_mut()),
            Held::Nothing => std::ptr::null_mut(),
        }
    }

    fn tensor(&self) -> Option<&Tensor> {
        match self {
            Held::Own(tensor) => Some(tensor),
            Held::Shared(..) | Held::Nothing => None,
        }
    }
}

fn hold(used: &Use, buffer: &ein_ir::loops::Buffer, env: &dyn Environment) -> Option<Held> {
    let memory: &Memory = env.memory();
    match used {
        Use::Input(var) => {
            let value = env.get(*var);
            let bits = match &value {
                Value::Scalar(scalar) => scalar.to_bits(),
                _ => 0,
            };
            Some(Held::Shared(value, Box::new(bits)))
        }
        Use::Output(shape) => {
            let shape: Vec<usize> = shape.iter().map(|extent| *extent as usize).collect();
            memory.room(buffer.ty, &shape).ok().map(Held::Own)
        }
        Use::Scratch => {
            debug_assert_eq!(buffer.kind, BufferKind::Scratch, "what it was lowered to");
            memory.room(buffer.ty, &[buffer.len.max(1) as usize]).ok().map(Held::Own)
        }
        Use::Local => Some(Held::Nothing),
    }
}

impl Accelerator for Kernels<'_> {
    fn statements(&mut self, stmts: &[Stmt], env: &mut dyn Environment) -> usize {
        let key = stmts.as_ptr() as usize;
        if key < self.evaluating_until || self.failure.is_some() {
            return 0;
        }
        let count = region::eligible(self.program, stmts);
        if count == 0 || self.is_declined(key) {
            return 0;
        }
        let at = match self.find(key, env) {
            Some(at) => Some(at),
            None => {
                let started = Instant::now();
                let at = self.lower_statements(key, &stmts[..count], env);
                self.compile_time += started.elapsed();
                at
            }
        };
        let Some(at) = at else { return 0 };
        let compiled = &self.compiled[&key][at];
        let count = compiled.count;
        if matches!(compiled.code, Code::None) {
            self.evaluating_until = (&raw const stmts[count - 1]) as usize + 1;
            return 0;
        }
        match self.execute(compiled, env) {
            Some(values) => {
                values.into_iter().for_each(|(var, value)| env.set(var, value));
                count
            }
            None => {
                self.evaluating_until = (&raw const stmts[count - 1]) as usize + 1;
                0
            }
        }
    }

    fn expression(&mut self, e: &Expr, env: &mut dyn Environment) -> Option<Value> {
        let key = (&raw const *e) as usize;
        if self.failure.is_some() {
            return None;
        }
        let at = match self.find(key, env) {
            Some(at) => Some(at),
            None if self.is_declined(key) => None,
            None => {
                let started = Instant::now();
                let at = self.lower_expression(key, e, env);
                self.compile_time += started.elapsed();
                at
            }
        }?;
        let compiled = &self.compiled[&key][at];
        let values = self.execute(compiled, env)?;
        values.into_iter().next().map(|(_, value)| value)
    }
}

impl Kernels<'_> {
    fn lower_statements(
        &mut self,
        key: usize,
        stmts: &[Stmt],
        env: &dyn Environment,
    ) -> Option<usize> {
        let program = self.program;
        let mut count = stmts.len();
        loop {
            let wanted = region::needed_after(program, &stmts[..count]);
            let known = Known(env);
            let run = &stmts[..count];
            let wants = |var| wanted.contains(&var);
            match flatten::statements(program, run, &known, &wants, self.arithmetic) {
                Ok(flat) => return self.add(key, count, flat, env),
                Err((at, _)) => {
                    if at == 0 || !region::has_work(program, &stmts[..at]) {
                        self.decline(key);
                        return None;
                    }
                    count = at;
                }
            }
        }
    }

    fn lower_expression(&mut self, key: usize, e: &Expr, env: &dyn Environment) -> Option<usize> {
        // Any variable will do as the name of the result: nothing is bound to it.
        let var = region::any_var(self.program)?;
        let flat = flatten::expression(self.program, e, var, &Known(env), self.arithmetic);
        match flat {
            Ok(flat) => self.add(key, 1, flat, env),
            Err(_) => {
                self.decline(key);
                None
            }
        }
    }
}
