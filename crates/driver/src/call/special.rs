//! A request for arguments of certain kinds: compiled once, called again and again.

use super::evaluate::{Outside, Values};
use super::signature::Structs;
use super::{Failure, Request, Surroundings, Told};
use crate::engine::plan::Form;
use crate::engine::{Kernels, whole};
use crate::execute::ad_memory;
use crate::guard::{caught, stack_bytes, watched};
use crate::run::RunOptions;
use crate::{Diagnostic, Engine, Input, Session};
use ein_base::FileId;
use ein_interp::{Accelerator, Outcome, Value, bound_by};
use ein_ir::tensor::{Expr, ExprKind, HostOp, Place, Program, Stmt, StmtKind, Type, Var, VarId};
use ein_runtime::{Memory, Pool};
use rustc_hash::FxHashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Instant;

/// A function is compiled for at most so many lists of extents at a time.
const SHAPES: usize = 64;

/// What a request is compiled with.
pub(super) struct Base<'a> {
    /// The length of the module's text, without what the request adds.
    pub(super) length: usize,
    pub(super) options: &'a RunOptions,
    pub(super) memory: &'a Memory,
    pub(super) pool: &'a Arc<Pool>,
    pub(super) structs: &'a Arc<Structs>,
    /// Whether what the module's top level prints is not shown.
    pub(super) silent: bool,
}

/// A request for arguments of certain kinds.
pub struct Special {
    session: Session,
    /// The statements of the request; those of the module have run.
    program: Arc<Program>,
    /// Where the values of the arguments go.
    inputs: Vec<VarId>,
    /// What the module's top level bound.
    known: Vec<(VarId, Value)>,
    leaves: Vec<Leaf>,
    outputs: Vec<Tree>,
    structs: Arc<Structs>,
    options: RunOptions,
    directory: PathBuf,
    memory: Memory,
    /// Whether all of it may be one kernel.
    whole: AtomicBool,
    kernels: Option<RwLock<Kernels<Arc<Program>>>>,
}

impl std::fmt::Debug for Special {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Special").field("leaves", &self.leaves).finish_non_exhaustive()
    }
}

/// A number, an array or something else that an output consists of.
#[derive(Clone, Debug)]
pub struct Leaf {
    var: VarId,
    /// The coordinates of its axes.
    pub dims: Vec<Option<String>>,
    /// The type of its numbers, if it is a number or an array of numbers.
    pub ty: Option<ein_scalar::ScalarType>,
}

/// A field of a struct.
#[derive(Clone, Debug, Default)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its coordinates as they are declared: `..lead`, `query`, `?` for one without a name.
    pub layout: Vec<String>,
}

/// How an output is made of leaves.
#[derive(Clone, Debug)]
pub enum Tree {
    /// The leaf with this number.
    Leaf(usize),
    /// A tuple.
    Tuple(Vec<Tree>),
    /// A struct: its name and its fields.
    Record(String, Vec<(String, Tree)>),
}

impl Special {
    pub(super) fn new(
        mut session: Session,
        input: &Input,
        request: &Request,
        inputs: &[String],
        base: &Base<'_>,
        around: &dyn Surroundings,
    ) -> Result<Special, Failure> {
        let mut diagnostics = Vec::new();
        let compiled =
            crate::guarded(|| session.compile(input, &FxHashSet::default(), &mut diagnostics))
                .flatten()?;
        diagnostics.retain(Diagnostic::is_error);
        let Some(compiled) = compiled.filter(|_| diagnostics.is_empty()) else {
            return Err(Failure::Rejected(Told::all(&session, &diagnostics)));
        };
        let mut program = compiled.program;
        // The first file of a session is its program.
        let root = <FileId as ein_base::Idx>::from_usize(0);
        let mut parts = Parts::of(&mut program, root, base.length);
        let mut leaves = Leaves { program: &mut program, list: Vec::new(), stmts: Vec::new() };
        let outputs: Vec<Tree> = request.outputs.iter().map(|name| leaves.output(name)).collect();
        let (leaves, more) = (leaves.list, leaves.stmts);
        parts.rest.extend(more);
        let inputs = inputs
            .iter()
            .filter_map(|name| parts.inputs.iter().find(|(it, _)| it == name).map(|(_, var)| *var))
            .collect();
        program.main = None;
        program.tests.clear();
        let mut special = Special {
            session,
            program: Arc::default(),
            inputs,
            known: Vec::new(),
            leaves,
            outputs,
            structs: Arc::clone(base.structs),
            options: base.options.clone(),
            directory: compiled.directory,
            memory: base.memory.clone(),
            whole: AtomicBool::new(false),
            kernels: None,
        };
        let histories = ad_memory(base.options.ad_memory, base.memory);
        let kernels = |program: &Arc<Program>, always| {
            let (pool, program) = (Arc::clone(base.pool), Arc::clone(program));
            let on = || Kernels::on(pool, program, base.options, histories, always, SHAPES);
            (base.options.engine != Engine::Eval).then(on)
        };
        if !parts.old.is_empty() {
            program.outputs = parts.old.iter().flat_map(bound_by).collect();
            program.top = parts.old;
            let old = Arc::new(program);
            let mut kernels = kernels(&old, false);
            let outcome = special.run(&old, Vec::new(), base.silent, around, kernels.as_mut())?;
            special.known = outcome.outputs;
            drop(kernels);
            program = Arc::unwrap_or_clone(old);
        }
        program.outputs = special.leaves.iter().map(|leaf| leaf.var).collect();
        program.top = parts.rest;
        ein_transform::observed(&mut program);
        let may_be_whole = whole::is_candidate(&program, &program.top);
        special.whole.store(may_be_whole, Ordering::Relaxed);
        special.program = Arc::new(program);
        special.kernels = kernels(&special.program, true).map(RwLock::new);
        Ok(special)
    }

    /// What its outputs consist of.
    pub fn leaves(&self) -> &[Leaf] {
        &self.leaves
    }

    /// How its outputs are made of leaves.
    pub fn outputs(&self) -> &[Tree] {
        &self.outputs
    }

    /// The name of a struct or variant, and its fields: their names and declared coordinates.
    pub fn names_of(&self, value: &Value) -> Option<(String, Vec<Field>)> {
        let Value::Data(data) = value else { return None };
        let info = &self.program.data[data.data];
        let name = info.variants.get(data.variant).map_or(info.name, |variant| variant.name);
        let name = name.to_string();
        let declared = self.structs.get(&name).map_or(&[][..], Vec::as_slice);
        let layout = |field: &String| declared.iter().find(|(name, _)| name == field);
        let field = |field: String| Field {
            layout: layout(&field).map_or_else(Vec::new, |(_, layout)| layout.clone()),
            name: field,
        };
        let fields = super::fields(&self.program, value).into_iter().map(field).collect();
        Some((name, fields))
    }

    /// How many operations a call with these values takes, if its kernel is there.
    pub fn work(&self, args: &[Value], around: &dyn Surroundings) -> Option<f64> {
        let kernels = self.kernels.as_ref()?.read().unwrap_or_else(PoisonError::into_inner);
        let at = kernels.find_whole(&self.program.top, &self.values(args, around))?;
        Some(kernels.cost_of_whole(&self.program.top, at).0)
    }

    fn values<'a>(&'a self, args: &'a [Value], around: &'a dyn Surroundings) -> Values<'a> {
        Values {
            inputs: &self.inputs,
            args,
            known: &self.known,
            memory: &self.memory,
            around,
            ended: std::cell::Cell::new(false),
        }
    }

    /// The values of the leaves for these arguments, one for each leaf of their kinds.
    pub fn call(&self, args: &[Value], around: &dyn Surroundings) -> Result<Vec<Value>, Failure> {
        if self.whole.load(Ordering::Relaxed)
            && let Some(values) = self.kernel(args, around)?
        {
            return Ok(values);
        }
        self.evaluate(args, around)
    }

    /// The same if all of it is a kernel that does not trap.
    fn kernel(
        &self,
        args: &[Value],
        around: &dyn Surroundings,
    ) -> Result<Option<Vec<Value>>, Failure> {
        let Some(kernels) = &self.kernels else { return Ok(None) };
        if let Some(result) = self.run_kernel(kernels, args, around)? {
            return Ok(result);
        }
        let added = {
            let mut kernels = kernels.write().unwrap_or_else(PoisonError::into_inner);
            let kernels = &mut *kernels;
            crate::guarded(|| kernels.add_whole(&self.program.top, &self.values(args, &Quiet)))?
        };
        let told = |failed: Box<Diagnostic>| Told::all(&self.session, &[*failed]);
        if added.map_err(|failed| Failure::Stopped(told(failed)))?.is_none() {
            self.whole.store(false, Ordering::Relaxed);
            return Ok(None);
        }
        // Another thread may have made room for its own; then the evaluator does it.
        Ok(self.run_kernel(kernels, args, around)?.flatten())
    }

    /// Runs the kernel for these arguments if there is one; nothing in it if it trapped.
    fn run_kernel(
        &self,
        kernels: &RwLock<Kernels<Arc<Program>>>,
        args: &[Value],
        around: &dyn Surroundings,
    ) -> Result<Option<Option<Vec<Value>>>, Failure> {
        let kernels = kernels.read().unwrap_or_else(PoisonError::into_inner);
        let mut env = self.values(args, around);
        let Some(at) = kernels.find_whole(&self.program.top, &env) else { return Ok(None) };
        let result = match kernels.cost_of_whole(&self.program.top, at).1 {
            false => caught(|| kernels.run_whole(&self.program.top, at, &mut env))?,
            true => self.on_deep_stack(args, around, &kernels, at)?,
        };
        if env.ended.get() {
            return Err(Failure::Interrupted);
        }
        // The evaluator says what happened to the file.
        let whole = !self.memory.torn();
        Ok(Some(result.filter(|_| whole).and_then(|values| self.in_order(values))))
    }

    fn on_deep_stack(
        &self,
        args: &[Value],
        around: &dyn Surroundings,
        kernels: &Kernels<Arc<Program>>,
        at: usize,
    ) -> Result<Option<Vec<(VarId, Value)>>, Failure> {
        let ended = AtomicBool::new(false);
        let work = || {
            let flag = Flag(&ended, around);
            kernels.run_whole(&self.program.top, at, &mut self.values(args, &flag))
        };
        let look = || {
            if around.interrupted() {
                ended.store(true, Ordering::Relaxed);
            }
        };
        let result = watched(work, look)?;
        if ended.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted);
        }
        Ok(result)
    }

    fn in_order(&self, values: Vec<(VarId, Value)>) -> Option<Vec<Value>> {
        let value = |leaf: &Leaf| {
            values.iter().find(|(var, _)| *var == leaf.var).map(|(_, value)| value.clone())
        };
        self.leaves.iter().map(value).collect()
    }

    /// By the evaluator, with kernels for what can be one.
    fn evaluate(&self, args: &[Value], around: &dyn Surroundings) -> Result<Vec<Value>, Failure> {
        let mut known = self.known.clone();
        known.extend(self.inputs.iter().copied().zip(args.iter().cloned()));
        let outcome = match self.kernels.as_ref().map(|kernels| kernels.try_write()) {
            Some(Ok(mut kernels)) => {
                kernels.rewind();
                self.run(&self.program, known, false, around, Some(&mut *kernels))?
            }
            Some(Err(_)) | None => self.run(&self.program, known, false, around, None)?,
        };
        self.in_order(outcome.outputs).ok_or_else(|| {
            let detail = "an output was not computed".to_owned();
            Failure::Internal(crate::InternalError {
                place: "driver/call".into(),
                detail,
                no_memory: false,
            })
        })
    }

    fn run(
        &self,
        program: &Program,
        known: Vec<(VarId, Value)>,
        silent: bool,
        around: &dyn Surroundings,
        kernels: Option<&mut Kernels<Arc<Program>>>,
    ) -> Result<Outcome, Failure> {
        let interrupted = Arc::new(AtomicBool::new(false));
        let mut settings = ein_interp::Options {
            wrapping: self.options.wrapping,
            ad_memory: ad_memory(self.options.ad_memory, &self.memory),
            script_dir: self.directory.clone(),
            sandbox: self.options.access.sandbox,
            allow_read: self.options.access.read.clone(),
            allow_write: self.options.access.write.clone(),
            interrupted: Arc::clone(&interrupted),
            ..ein_interp::Options::new(self.memory.clone())
        };
        settings.deadline = self.options.time_limit.and_then(|it| Instant::now().checked_add(it));
        let work = || {
            settings.stack_bytes = Some(stack_bytes());
            let mut host = Outside { around, inputs: &[], silent };
            let kernels = kernels.map(|kernels| kernels as &mut dyn Accelerator);
            ein_interp::resume(program, &settings, &mut host, kernels, known)
        };
        let look = || {
            if around.interrupted() {
                interrupted.store(true, Ordering::Relaxed);
            }
        };
        let outcome = watched(work, look)?;
        if outcome.interrupted {
            return Err(Failure::Interrupted);
        }
        match &outcome.error {
            Some(error) => {
                Err(Failure::Stopped(Told::all(&self.session, std::slice::from_ref(error))))
            }
            None => Ok(outcome),
        }
    }

    /// How a call with these arguments is computed: its loops, or why there are none.
    pub fn plan(&self, args: &[Value], c: bool) -> Result<String, Failure> {
        let show = if c { Form::C } else { Form::Plan };
        if let Some(kernels) = &self.kernels
            && self.whole.load(Ordering::Relaxed)
        {
            let mut kernels = kernels.write().unwrap_or_else(PoisonError::into_inner);
            let (kernels, stmts) = (&mut *kernels, &self.program.top);
            let planned = crate::guarded(|| {
                let env = self.values(args, &Quiet);
                let found = kernels.find_whole(stmts, &env);
                let at = match found {
                    Some(at) => Some(at),
                    None => kernels.add_whole(stmts, &env).ok().flatten(),
                };
                at.map(|at| kernels.text_of_whole(stmts, at, show))
            })?;
            if let Some(text) = planned {
                return Ok(text);
            }
        }
        let mut text = String::new();
        if let Some(kernels) = &self.kernels {
            let kernels = kernels.read().unwrap_or_else(PoisonError::into_inner);
            for why in kernels.reasons() {
                text.push_str(&format!("# not one kernel: {why}\n"));
            }
        }
        text.push_str("# evaluated, with kernels for the parts that can be\n");
        Ok(text)
    }
}

/// Nobody to talk to.
struct Quiet;

impl Surroundings for Quiet {
    fn print(&self, _: &str) {}

    fn interrupted(&self) -> bool {
        false
    }
}

/// Surroundings whose caller is asked by somebody else.
struct Flag<'a>(&'a AtomicBool, &'a dyn Surroundings);

impl Surroundings for Flag<'_> {
    fn print(&self, line: &str) {
        self.1.print(line);
    }

    fn interrupted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn progress(&self, work: ein_base::Work) {
        self.1.progress(work);
    }

    fn python(
        &self,
        path: &str,
        args: &[Value],
        ty: Option<ein_scalar::ScalarType>,
    ) -> Result<Value, String> {
        self.1.python(path, args, ty)
    }
}

/// The statements of a program: those of the module, and those of the request.
struct Parts {
    old: Vec<Stmt>,
    /// Those of the request that do not just take an input.
    rest: Vec<Stmt>,
    /// The inputs by name, and the variables that take them.
    inputs: Vec<(String, VarId)>,
}

impl Parts {
    fn of(program: &mut Program, root: FileId, length: usize) -> Parts {
        let mut parts = Parts { old: Vec::new(), rest: Vec::new(), inputs: Vec::new() };
        // Statements run in order, so those of the request are the last. What derivatives made of
        // the module's functions is among them, with the places of these functions.
        let mut begun = false;
        for stmt in std::mem::take(&mut program.top) {
            begun = begun || (stmt.span.file() == root && stmt.span.lo() as usize >= length);
            if !begun {
                parts.old.push(stmt);
                continue;
            }
            match &stmt.kind {
                StmtKind::Let(var, value) if let Some(name) = input_name(value) => {
                    parts.inputs.push((name, *var));
                }
                _ => parts.rest.push(stmt),
            }
        }
        parts
    }
}

/// The name of the input that a binding is.
fn input_name(value: &Expr) -> Option<String> {
    match &*value.kind {
        ExprKind::Host(HostOp::Input(name), _) => Some(name.to_string()),
        ExprKind::Assert { value, .. } => input_name(value),
        _ => None,
    }
}

/// Takes outputs apart.
struct Leaves<'a> {
    program: &'a mut Program,
    list: Vec<Leaf>,
    stmts: Vec<Stmt>,
}

impl Leaves<'_> {
    fn output(&mut self, name: &str) -> Tree {
        let named = |var: &&VarId| self.program.vars[**var].name.as_str() == name;
        match self.program.outputs.iter().rev().find(named) {
            Some(var) => self.apart(*var),
            None => Tree::Tuple(Vec::new()),
        }
    }

    fn apart(&mut self, var: VarId) -> Tree {
        let Var { ty, span, .. } = self.program.vars[var].clone();
        let itself = Expr::new(ExprKind::Var(var), ty.clone(), span);
        match &ty {
            Type::Tuple(items) => {
                let part = |(at, ty): (usize, &Type)| {
                    let get = ExprKind::TupleGet(itself.clone(), at);
                    self.part(Expr::new(get, ty.clone(), span))
                };
                Tree::Tuple(items.iter().enumerate().map(part).collect())
            }
            Type::Unit => Tree::Tuple(Vec::new()),
            _ => {
                self.list.push(Leaf { var, dims: super::dims(&ty), ty: ty.scalar() });
                Tree::Leaf(self.list.len() - 1)
            }
        }
    }

    /// A part of an output as a variable of its own.
    fn part(&mut self, value: Expr) -> Tree {
        let place = Place::Global(self.program.global_slots);
        self.program.global_slots += 1;
        let (ty, span) = (value.ty.clone(), value.span);
        let name = ein_base::Symbol::intern("part");
        let var = self.program.vars.push(Var { name, span, ty, place });
        self.stmts.push(Stmt { kind: StmtKind::Let(var, value), span });
        self.apart(var)
    }
}
