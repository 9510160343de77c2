//! The state of an evaluation: frames, sizes, statements and the top level.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use ein_base::{Code, Idx, Span};
use ein_ir::size::{self, Atom};
use ein_ir::tensor::{
    AtomDef, Expr, ExprKind, FuncId, Pattern, Place, Program, Require, Stmt, StmtKind, Type, VarId,
};
use ein_runtime::format::Archive;
use ein_scalar::{Overflow, Scalar};

use crate::gather::Gathered;
use crate::history::{self, History};
use crate::keep::{Scope, Surveys};
use crate::meter::Meter;
use crate::recurrence::Pending;
use crate::stack;
use crate::stop::{Mark, MarkKind, Stop};
use crate::value::Value;
use crate::{Accelerator, Host, Options};

/// How many steps of loops pass between two looks at the interrupt flag.
const POLL: u32 = 1 << 12;

/// An evaluation under way. On failure the stacks are left as they are: the message is made before
/// anything is unwound, and `try` cuts them back.
pub(crate) struct Machine<'p> {
    pub(crate) program: &'p Program,
    pub(crate) options: &'p Options,
    pub(crate) host: &'p mut dyn Host,
    /// What may compute in place of this; absent while it is asked.
    pub(crate) accelerator: Option<&'p mut (dyn Accelerator + 'p)>,
    pub(crate) overflow: Overflow,
    /// Where each variable lives.
    places: Vec<Place>,
    globals: Vec<Value>,
    /// The frames, one above the other.
    pub(crate) locals: Vec<Value>,
    /// Where the current frame starts.
    pub(crate) base: usize,
    /// How many slots it has.
    pub(crate) slots: usize,
    /// How many calls and demanded points are under way.
    pub(crate) depth: usize,
    /// What is under way, for messages.
    pub(crate) marks: Vec<Mark>,
    /// The recurrences under way.
    pub(crate) pending: Vec<Pending<'p>>,
    /// The recurrences of which not all steps are kept.
    pub(crate) histories: Vec<History<'p>>,
    /// Reductions whose values are known at the point that is being computed.
    pub(crate) gathered: Gathered<'p>,
    /// How many attempts are under way at what need not be done, and may fail.
    pub(crate) attempts: u32,
    /// What the loops under way keep.
    pub(crate) scope: Scope<'p>,
    pub(crate) surveys: Surveys<'p>,
    /// The variables whose histories may be too large to be kept.
    large: BTreeSet<VarId>,
    /// Up to here the loops that are under way are steps of recurrences.
    pub(crate) ordered: usize,
    /// Up to here the loops that are under way are at one position each, at which a check failed.
    pub(crate) alone: usize,
    /// What was computed before the part that the accelerator is asked for.
    pub(crate) seed: Value,
    /// Which variables of the top level have been bound.
    bound: Vec<bool>,
    stack_floor: usize,
    /// About where the stack began.
    pub(crate) stack_top: usize,
    ticks: u32,
    /// How far the outermost loops are.
    pub(crate) meter: Meter,
    /// The file of weights that was read last, as the program names it.
    pub(crate) weights: Option<(String, Archive)>,
}

/// How far the stacks reach: what `try` goes back to.
pub(crate) struct Checkpoint {
    locals: usize,
    base: usize,
    slots: usize,
    depth: usize,
    marks: usize,
    pending: usize,
    metered: bool,
}

impl<'p> Machine<'p> {
    pub(crate) fn new(
        program: &'p Program,
        options: &'p Options,
        host: &'p mut dyn Host,
        accelerator: Option<&'p mut (dyn Accelerator + 'p)>,
    ) -> Self {
        options.memory.begin();
        let slots = program.top_slots as usize;
        // Kernels have their own ways with histories, and cannot read these.
        let large = match (options.ad_memory, &accelerator) {
            (Some(_), None) => history::candidates(program),
            (Some(_) | None, _) => BTreeSet::new(),
        };
        Machine {
            program,
            options,
            host,
            accelerator,
            overflow: if options.wrapping { Overflow::Wrap } else { Overflow::Trap },
            places: program.vars.iter().map(|var| var.place).collect(),
            globals: vec![Value::Unit; program.global_slots as usize],
            locals: vec![Value::Unit; slots],
            base: 0,
            slots,
            depth: 0,
            marks: Vec::new(),
            pending: Vec::new(),
            histories: Vec::new(),
            gathered: Vec::new(),
            attempts: 0,
            scope: Scope::default(),
            surveys: Surveys::default(),
            large,
            ordered: 0,
            alone: 0,
            seed: Value::Unit,
            bound: vec![false; program.vars.len()],
            stack_floor: stack::floor(options.stack_bytes),
            stack_top: stack::here(),
            ticks: POLL,
            meter: Meter::default(),
            weights: None,
        }
    }

    /// Runs the statements of the top level.
    pub(crate) fn top_level(&mut self) -> Result<(), Stop> {
        let program = self.program;
        let mut rest = program.top.as_slice();
        while let Some((stmt, after)) = rest.split_first() {
            self.poll()?;
            let done = self.accelerate_statements(rest, None)?.min(rest.len());
            if done > 0 {
                rest[..done].iter().for_each(|stmt| self.note_bound(stmt));
                rest = &rest[done..];
                continue;
            }
            self.stmt(stmt)?;
            self.note_bound(stmt);
            rest = after;
        }
        Ok(())
    }

    /// Notes what a statement of the top level has bound.
    fn note_bound(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Let(var, _) => self.bound[var.index()] = true,
            StmtKind::Destructure(..) => {
                bound_by(stmt).into_iter().for_each(|var| self.bound[var.index()] = true);
            }
            StmtKind::Expr(_) | StmtKind::Require(_) => {}
        }
    }

    /// Binds a variable of the top level that was computed before.
    pub(crate) fn bind_known(&mut self, var: VarId, value: Value) {
        self.bind(var, value);
        self.bound[var.index()] = true;
    }

    /// The outputs that have been computed.
    pub(crate) fn outputs(&self) -> Vec<(VarId, Value)> {
        let outputs = self.program.outputs.iter().copied();
        outputs
            .filter(|var| self.bound[var.index()])
            .map(|var| (var, self.var_at(var, 0).clone()))
            .collect()
    }

    /// Calls a function without parameters.
    pub(crate) fn enter(&mut self, func: FuncId) -> Result<Value, Stop> {
        let start = self.locals.len();
        self.call(func, start, self.program.funcs[func].span)
    }

    /// The value of a variable.
    #[inline]
    pub(crate) fn var(&self, var: VarId) -> &Value {
        self.var_at(var, self.base)
    }

    /// The value of a variable as the frame at `base` sees it.
    #[inline]
    pub(crate) fn var_at(&self, var: VarId, base: usize) -> &Value {
        match self.places[var.index()] {
            Place::Local(slot) => &self.locals[base + slot as usize],
            Place::Global(slot) => &self.globals[slot as usize],
        }
    }

    /// The value of a variable, if it has a slot here.
    pub(crate) fn var_if_bound(&self, var: VarId) -> Option<&Value> {
        match *self.places.get(var.index())? {
            Place::Local(slot) => self.locals.get(self.base + slot as usize),
            Place::Global(slot) => self.globals.get(slot as usize),
        }
    }

    /// Binds a variable.
    #[inline]
    pub(crate) fn bind(&mut self, var: VarId, value: Value) {
        match self.places[var.index()] {
            Place::Local(slot) => self.locals[self.base + slot as usize] = value,
            Place::Global(slot) => self.globals[slot as usize] = value,
        }
    }

    /// Counts a step of a loop; now and then looks whether the user gave up, and says how far it is.
    #[inline]
    pub(crate) fn tick(&mut self) -> Result<(), Stop> {
        self.ticks -= 1;
        if self.ticks == 0 { self.poll() } else { Ok(()) }
    }

    #[inline(never)]
    pub(crate) fn poll(&mut self) -> Result<(), Stop> {
        self.ticks = POLL;
        if self.options.interrupted.load(Ordering::Relaxed) {
            return Err(Stop::Interrupted);
        }
        self.within_limit()?;
        self.within_time()?;
        // What was computed since a page was lost is worth nothing.
        if self.options.memory.torn() {
            crate::room::unchanged_files(self)?;
        }
        if let Some(accelerator) = &mut self.accelerator {
            accelerator.evaluated();
        }
        self.report_progress();
        Ok(())
    }

    /// Goes one level deeper; whoever calls this comes back with `depth -= 1`.
    #[inline]
    pub(crate) fn descend(&mut self, span: Span) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth > self.options.max_depth || stack::here() < self.stack_floor {
            return Err(self.too_deep(span));
        }
        self.tick()
    }

    #[cold]
    #[inline(never)]
    fn too_deep(&self, span: Span) -> Stop {
        let name = self.marks.iter().rev().find_map(|mark| match mark.kind {
            MarkKind::Call(func, _) => Some(self.program.funcs[func].name),
            MarkKind::Definition(name) => name,
            MarkKind::Let(_) | MarkKind::Index(_) => None,
        });
        let whose = name.map(|name| format!(" in `{name}`")).unwrap_or_default();
        let message =
            format!("the recursion{whose} is too deep: {} calls are under way", self.depth);
        ein_base::Diagnostic::new(Code::E0808, span, message)
            .help("does it reach its base case? A recurrence (`let h[t in 1..n] = …`) has no such limit")
            .into()
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            locals: self.locals.len(),
            base: self.base,
            slots: self.slots,
            depth: self.depth,
            marks: self.marks.len(),
            pending: self.pending.len(),
            metered: self.meter.taken,
        }
    }

    pub(crate) fn go_back(&mut self, to: &Checkpoint) {
        self.locals.truncate(to.locals);
        self.base = to.base;
        self.slots = to.slots;
        self.depth = to.depth;
        self.marks.truncate(to.marks);
        self.ordered = self.ordered.min(to.marks);
        self.alone = self.alone.min(to.marks);
        self.pending.truncate(to.pending);
        self.meter.give_back(self.meter.taken && !to.metered);
    }

    /// Runs a statement.
    pub(crate) fn stmt(&mut self, stmt: &'p Stmt) -> Result<(), Stop> {
        match &stmt.kind {
            StmtKind::Let(var, value) => {
                let marks = self.marks.len();
                self.push_mark(MarkKind::Let(*var));
                let history = match &*value.kind {
                    ExprKind::Tensor(tensor) if self.large.contains(var) => {
                        self.history(tensor, value)?
                    }
                    _ => None,
                };
                let value = match history {
                    Some(history) => history,
                    None => self.eval(value)?,
                };
                self.marks.truncate(marks);
                self.bind(*var, value);
                Ok(())
            }
            StmtKind::Destructure(pattern, value) => {
                let (span, value) = (value.span, self.eval(value)?);
                if self.matches(pattern, &value, span)? {
                    return Ok(());
                }
                let shown = crate::display(&value, self.program);
                let message = format!("the pattern does not match the value {shown}");
                Err(self.fail(Code::E0804, span, message))
            }
            StmtKind::Expr(value) => self.eval(value).map(|_| ()),
            StmtKind::Require(require) => self.require(require),
        }
    }

    /// Compares two sizes.
    pub(crate) fn require(&self, require: &Require) -> Result<(), Stop> {
        let left = self.size(&require.left, require.span)?;
        let right = self.size(&require.right, require.span)?;
        if left == right {
            return Ok(());
        }
        let message =
            format!("extents that must be equal are {left} and {right}: {}", require.what);
        Err(self.fail(Code::E0804, require.span, message))
    }

    /// The value of a size.
    pub(crate) fn size(&self, size: &size::Expr, span: Span) -> Result<i64, Stop> {
        if let Some(value) = size.as_constant() {
            return Ok(value);
        }
        match self.try_size(size) {
            Some(value) => Ok(value),
            None => Err(self.size_unknown(size, span)),
        }
    }

    #[cold]
    #[inline(never)]
    fn size_unknown(&self, size: &size::Expr, span: Span) -> Stop {
        for atom in size.atoms() {
            if self.atom(atom).is_none() {
                let info = &self.program.atoms[atom];
                let what = format!("the size `{}` ({:?}) has no value", info.name, info.def);
                return self.malformed(span, what);
            }
        }
        let what = "a size that divides by zero or leaves 64 bits";
        self.fail_in(Code::E0809, span, what, "")
    }

    /// The value of a size, if everything in it is known.
    pub(crate) fn try_size(&self, size: &size::Expr) -> Option<i64> {
        match size.as_atom() {
            Some(atom) => self.atom(atom),
            None => size.eval(&|atom| self.atom(atom)),
        }
    }

    fn atom(&self, atom: Atom) -> Option<i64> {
        match self.program.atoms.get(atom)?.def {
            AtomDef::Var(var) => self.var(var).as_scalar()?.as_i64(),
            AtomDef::Extent(var, axis) => match self.var(var) {
                Value::Pending(id) => {
                    self.pending.get(*id as usize)?.full_shape().get(axis).map(|n| *n as i64)
                }
                Value::History(id) => {
                    self.histories.get(*id as usize)?.shape().get(axis).map(|n| *n as i64)
                }
                value => value.shape().get(axis).map(|extent| *extent as i64),
            },
            AtomDef::Length(var) => self.length(self.var(var)),
            AtomDef::Unknown => None,
        }
    }

    /// `len`: elements, characters or components.
    pub(crate) fn length(&self, value: &Value) -> Option<i64> {
        let length = match value {
            Value::Tensor(_) | Value::Objects(_) => *value.shape().first()?,
            Value::Str(text) => text.chars().count(),
            Value::Jagged(items) | Value::Tuple(items) => items.len(),
            Value::Range(range) => return Some((range.1 - range.0).max(0)),
            Value::Pending(id) => *self.pending.get(*id as usize)?.full_shape().first()?,
            Value::History(id) => *self.histories.get(*id as usize)?.shape().first()?,
            Value::Unit | Value::Scalar(_) | Value::Data(_) | Value::Closure(_) => return None,
        };
        i64::try_from(length).ok()
    }

    /// A size as an extent: never negative.
    pub(crate) fn extent(&self, size: &size::Expr, span: Span) -> Result<usize, Stop> {
        let value = self.size(size, span)?.max(0);
        usize::try_from(value).map_err(|_| self.too_large(span, value, "usize"))
    }

    /// An integer as an index variable.
    #[inline]
    pub(crate) fn index_value(&self, value: i64, span: Span) -> Result<Value, Stop> {
        match i32::try_from(value) {
            Ok(value) => Ok(Value::Scalar(Scalar::I32(value))),
            Err(_) => Err(self.too_large(span, value, "i32")),
        }
    }

    /// The value of an integer expression.
    #[inline]
    pub(crate) fn int(&mut self, e: &'p Expr) -> Result<i64, Stop> {
        if let ExprKind::Var(var) = &*e.kind
            && let Value::Scalar(Scalar::I32(value)) = self.var(*var)
        {
            return Ok(i64::from(*value));
        }
        match self.scalar(e)? {
            Scalar::I32(value) => Ok(i64::from(value)),
            Scalar::I64(value) => Ok(value),
            value => self.as_int(value, e.span),
        }
    }

    #[inline(never)]
    fn as_int(&self, value: Scalar, span: Span) -> Result<i64, Stop> {
        match (value.as_i64(), value) {
            (Some(value), _) => Ok(value),
            // Larger than any extent either way.
            (None, Scalar::U64(_)) => Ok(i64::MAX),
            (None, other) => Err(self.expected(span, "an integer", &Value::Scalar(other))),
        }
    }

    /// The extents that a type states, where they can be known here.
    pub(crate) fn static_extents(&self, ty: &Type) -> Vec<Option<usize>> {
        let known = |size| self.try_size(size).and_then(|n| usize::try_from(n.max(0)).ok());
        ty.axes().iter().map(|axis| known(&axis.size)).collect()
    }
}

/// The variables that a statement binds.
pub fn bound_by(stmt: &Stmt) -> Vec<VarId> {
    let mut vars = Vec::new();
    match &stmt.kind {
        StmtKind::Let(var, _) => vars.push(*var),
        StmtKind::Destructure(pattern, _) => pattern_vars(pattern, &mut vars),
        StmtKind::Expr(_) | StmtKind::Require(_) => {}
    }
    vars
}

/// The variables that a pattern binds.
fn pattern_vars(pattern: &Pattern, vars: &mut Vec<VarId>) {
    match pattern {
        Pattern::Wild | Pattern::Literal(_) | Pattern::Str(_) | Pattern::Range { .. } => {}
        Pattern::Bind(var) => vars.push(*var),
        Pattern::At(var, inner) => {
            vars.push(*var);
            pattern_vars(inner, vars);
        }
        Pattern::Tuple(items) | Pattern::Or(items) | Pattern::Data { fields: items, .. } => {
            items.iter().for_each(|item| pattern_vars(item, vars));
        }
        Pattern::Array { before, rest, after } => {
            before.iter().chain(after).for_each(|item| pattern_vars(item, vars));
            vars.extend(rest.iter().flatten());
        }
    }
}
