//! What a value reaches of the parameter, construct by construct.
//!
//! An element of an array is asked for at a position, a symbolic integer for each axis; the answer
//! is a list of reads of the parameter. What has a name is asked once, at positions that stand for
//! any, and its windows are kept.

use super::{Leaf, Structure, window};
use crate::autodiff::Pass;
use crate::autodiff::pattern::bound_by;
use crate::autodiff::tangent::moves;
use ein_ir::size::{self, Facts};
use ein_ir::tensor::{
    Arm, AtomDef, Binder, Clause, ClauseSlot, Expr, ExprKind, FuncId, HostOp, IndexArg, Item,
    Pattern, Reduce, Stmt, StmtKind, Tensor, Type, VarId,
};
use ein_scalar::{BinaryOp, UnaryOp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// More reads than this are everything.
const READS: usize = 64;

/// Larger programs than this are not looked through.
const NODES: usize = 40_000;

/// What a value reaches.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// Nothing: it does not move.
    Still,
    /// A number or an array: these windows at every position.
    Array(Structure),
    /// Components.
    Parts(Vec<Value>),
    /// Perhaps everything.
    Anything,
}

/// A position along an axis; `None` if it is data.
type Position = Option<size::Expr>;

/// The state of one analysis.
pub(super) struct Reach<'a, 'p> {
    pass: &'a mut Pass<'p>,
    /// How many axes the parameter has.
    rank: usize,
    values: FxHashMap<VarId, Value>,
    /// What integer variables are equal to; those that are not here stand for themselves.
    ints: FxHashMap<VarId, Position>,
    /// The extents of arrays that have names.
    extents: FxHashMap<VarId, Vec<size::Expr>>,
    /// What is bound inside functions: another value in each call.
    inner: FxHashSet<VarId>,
    facts: Facts,
    /// The same, as the last read saw it.
    seen: Option<Rc<Facts>>,
    /// Variables that stand for positions, and how many of them are in use.
    pool: Vec<VarId>,
    used: usize,
    /// The functions that are open.
    open: Vec<FuncId>,
    /// How many expressions may still be looked at.
    left: usize,
}

impl<'a, 'p> Reach<'a, 'p> {
    /// An analysis in which only the parameter moves.
    pub fn new(pass: &'a mut Pass<'p>, x: VarId) -> Self {
        let rank = pass.program.vars[x].ty.rank();
        let mut reach = Self {
            pass,
            rank,
            values: FxHashMap::default(),
            ints: FxHashMap::default(),
            extents: FxHashMap::default(),
            inner: FxHashSet::default(),
            facts: Facts::new(),
            seen: None,
            pool: Vec::new(),
            used: 0,
            open: Vec::new(),
            left: NODES,
        };
        let whole = reach.pass.var(x, reach.pass.program.vars[x].span);
        let at = reach.positions_of(&whole);
        reach.used = 0;
        let windows = at
            .iter()
            .map(|var| {
                let lo = size::Expr::atom(reach.pass.atom_of(*var));
                Some(super::Window { lo, width: 1 })
            })
            .collect();
        reach.values.insert(x, Value::Array(Structure { at, windows }));
        reach
    }

    /// What a variable reaches, all bindings before it done.
    pub fn finished(mut self, var: VarId) -> Value {
        self.values.remove(&var).unwrap_or(Value::Still)
    }

    /// Notes what a variable is bound to.
    pub fn bind(&mut self, var: VarId, value: &Expr) {
        if is_int(&value.ty) {
            // One that is data stands for itself: it is there at the request.
            if let Some(known) = self.int(value) {
                self.ints.insert(var, Some(known));
            }
            return;
        }
        self.extents_of(var, value);
        let value = self.value(value);
        self.values.insert(var, value);
    }

    fn extents_of(&mut self, var: VarId, value: &Expr) {
        if !self.open.is_empty() {
            self.inner.insert(var);
        }
        if value.ty.is_array() {
            let sizes = value.ty.axes().iter().map(|axis| self.resolved(&axis.size)).collect();
            self.extents.insert(var, sizes);
        }
    }

    // ---------------------------------------------------------------- values with names

    fn value(&mut self, e: &Expr) -> Value {
        match &e.ty {
            Type::Tuple(_) | Type::Data(..) => self.parts(e),
            Type::Scalar(_) | Type::Array(_) => self.summary(e),
            _ if self.depends(e) => Value::Anything,
            _ => Value::Still,
        }
    }

    fn parts(&mut self, e: &Expr) -> Value {
        match &*e.kind {
            ExprKind::Tuple(items) | ExprKind::Make { fields: items, .. } => {
                Value::Parts(items.iter().map(|item| self.value(item)).collect())
            }
            ExprKind::Var(var) => self.values.get(var).cloned().unwrap_or(Value::Still),
            ExprKind::TupleGet(base, at) | ExprKind::FieldGet(base, at) => {
                component(self.value(base), *at)
            }
            ExprKind::Block { stmts, value } => {
                self.stmts(stmts);
                self.parts(value)
            }
            ExprKind::Call { .. } => match self.enter_call(e) {
                Some(body) => {
                    let value = self.parts(&body);
                    self.open.pop();
                    value
                }
                None => self.unknown(e),
            },
            _ => self.unknown(e),
        }
    }

    fn unknown(&self, e: &Expr) -> Value {
        if self.depends(e) { Value::Anything } else { Value::Still }
    }

    /// The windows of a number or an array at any position.
    fn summary(&mut self, e: &Expr) -> Value {
        if !moves(&e.ty) {
            return Value::Still;
        }
        if let ExprKind::Tensor(tensor) = &*e.kind
            && let Some(self_var) = tensor.self_var
        {
            return self.recurrence(self_var, e, tensor);
        }
        self.at_any_position(e, |reach, at| reach.reach(e, at))
    }

    fn at_any_position(
        &mut self,
        e: &Expr,
        reads: impl FnOnce(&mut Self, &[Position]) -> Vec<Leaf>,
    ) -> Value {
        let (used, known) = (self.used, self.facts.len());
        let vars = self.positions_of(e);
        let at: Vec<Position> = vars.iter().map(|var| Some(self.atom(*var))).collect();
        for (at, axis) in at.iter().flatten().zip(e.ty.axes()) {
            let extent = self.resolved(&axis.size);
            self.assume_range(at, &Some(size::Expr::zero()), &Some(extent));
        }
        let leaves = reads(self, &at);
        self.forget(known);
        self.used = used;
        if leaves.is_empty() {
            return Value::Still;
        }
        let at: Vec<size::Expr> = at.into_iter().flatten().collect();
        let windows = (0..self.rank).map(|axis| {
            window(&leaves, axis, &at).filter(|window| self.means_one_thing(&window.lo))
        });
        let windows = windows.collect();
        Value::Array(Structure { at: vars, windows })
    }

    /// Whether a size is the same in every call of a function.
    fn means_one_thing(&self, size: &size::Expr) -> bool {
        size.atoms().iter().all(|atom| match self.pass.program.atoms[*atom].def {
            AtomDef::Var(_) => true,
            AtomDef::Extent(var, _) | AtomDef::Length(var) => !self.inner.contains(&var),
            AtomDef::Unknown => self.open.is_empty(),
        })
    }

    /// A recurrence reaches what its clauses reach, itself among it: windows that do not change when
    /// it is read once more.
    fn recurrence(&mut self, self_var: VarId, e: &Expr, tensor: &Tensor) -> Value {
        self.extents_of(self_var, e);
        let mut before = Value::Still;
        for _ in 0..self.rank + 3 {
            self.values.insert(self_var, before.clone());
            let now = self.at_any_position(e, |reach, at| reach.clauses(tensor, at));
            let next = match (&before, now) {
                (_, Value::Still) => return Value::Still,
                (Value::Array(old), Value::Array(mut new)) => {
                    if old.windows == new.windows {
                        return Value::Array(new);
                    }
                    for (old, new) in old.windows.iter().zip(&mut new.windows) {
                        if old != new {
                            *new = None;
                        }
                    }
                    Value::Array(new)
                }
                (_, now) => now,
            };
            before = next;
        }
        Value::Anything
    }

    // ---------------------------------------------------------------- reads

    /// What an element reaches.
    fn reach(&mut self, e: &Expr, at: &[Position]) -> Vec<Leaf> {
        if matches!(&*e.kind, ExprKind::Error) || self.left == 0 {
            return vec![self.everything()];
        }
        self.left -= 1;
        if !moves(&e.ty) {
            return Vec::new();
        }
        match &*e.kind {
            ExprKind::Const(_)
            | ExprKind::Str(_)
            | ExprKind::Unit
            | ExprKind::Size(_)
            | ExprKind::Range(..)
            | ExprKind::And(..)
            | ExprKind::Or(..) => Vec::new(),
            ExprKind::Var(var) => {
                let value = self.values.get(var).cloned().unwrap_or(Value::Still);
                self.read(&value, at)
            }
            ExprKind::TupleGet(..) | ExprKind::FieldGet(..) => {
                let value = self.parts(e);
                self.read(&value, at)
            }
            ExprKind::Unary(_, a) | ExprKind::Cast(a) => self.reach(a, at),
            ExprKind::Assert { value, .. } => self.reach(value, at),
            ExprKind::Binary(_, a, b) => {
                let leaves = self.reach(a, at);
                let more = self.reach(b, at);
                self.both(leaves, more)
            }
            ExprKind::If { cond, then, otherwise } => {
                let known = self.facts.len();
                self.assume(cond, true);
                let leaves = self.reach(then, at);
                self.forget(known);
                self.assume(cond, false);
                let more = self.reach(otherwise, at);
                self.forget(known);
                self.both(leaves, more)
            }
            ExprKind::Block { stmts, value } => {
                let known = self.facts.len();
                self.stmts(stmts);
                let leaves = self.reach(value, at);
                self.forget(known);
                leaves
            }
            ExprKind::Match { value, arms } => self.arms(value, arms, at),
            ExprKind::Tensor(tensor) => match tensor.self_var {
                None => self.clauses(tensor, at),
                Some(self_var) => {
                    let value = self.recurrence(self_var, e, tensor);
                    self.read(&value, at)
                }
            },
            ExprKind::Reduce(reduce) => self.reduce(reduce),
            ExprKind::Index { base, indices } => {
                let mut all = self.indices(base, indices);
                all.extend_from_slice(at);
                self.reach(base, &all)
            }
            ExprKind::Slice { base, axis, lo, .. } => {
                let mut at = at.to_vec();
                if let Some(lo) = lo {
                    let lo = self.from_the_end(lo, &base.ty.axes()[*axis].size);
                    at[*axis] = at[*axis].as_ref().zip(lo).map(|(at, lo)| at.add(&lo));
                }
                self.reach(base, &at)
            }
            ExprKind::Gather { base, axis, .. } => {
                let mut at = at.to_vec();
                at[*axis] = None;
                self.reach(base, &at)
            }
            ExprKind::Permute { base, order } => {
                let mut there = vec![None; at.len()];
                for (at, axis) in at.iter().zip(order) {
                    there[*axis] = at.clone();
                }
                self.reach(base, &there)
            }
            ExprKind::Join { axis, left, right } => self.join(*axis, left, right, at),
            ExprKind::Array(items) => self.literal(items, at),
            ExprKind::Call { func, closure: None, args, .. } if self.is_of_numbers(*func, args) => {
                let mut leaves = Vec::new();
                for arg in args {
                    let more = self.reach(arg, &[]);
                    leaves = self.both(leaves, more);
                }
                leaves
            }
            ExprKind::Call { .. } => match self.enter_call(e) {
                Some(body) => {
                    let known = self.facts.len();
                    let leaves = self.reach(&body, at);
                    self.forget(known);
                    self.open.pop();
                    leaves
                }
                None => self.anything(e),
            },
            ExprKind::Host(HostOp::ZerosLike, _) => Vec::new(),
            ExprKind::Host(HostOp::Convert, args)
                if args.len() == 1 && args[0].ty.rank() == at.len() =>
            {
                self.reach(&args[0], at)
            }
            ExprKind::Scatter(_)
            | ExprKind::Comprehension { .. }
            | ExprKind::Tuple(_)
            | ExprKind::Make { .. }
            | ExprKind::CallValue { .. }
            | ExprKind::Closure { .. }
            | ExprKind::Specialise { .. }
            | ExprKind::Host(..)
            | ExprKind::Try(_)
            | ExprKind::Derivative(_)
            | ExprKind::Error => self.anything(e),
        }
    }

    /// An element of a value with a name.
    fn read(&mut self, value: &Value, at: &[Position]) -> Vec<Leaf> {
        let structure = match value {
            Value::Still => return Vec::new(),
            Value::Array(structure) if structure.at.len() == at.len() => structure,
            Value::Array(_) | Value::Parts(_) | Value::Anything => {
                return vec![self.everything()];
            }
        };
        let atoms: Vec<size::Atom> =
            structure.at.iter().map(|var| self.pass.atom_of(*var)).collect();
        let place = |size: &size::Expr| -> Position {
            for (atom, at) in atoms.iter().zip(at) {
                if at.is_none() && size.mentions(*atom) {
                    return None;
                }
            }
            Some(size.substitute(&|atom| {
                let axis = atoms.iter().position(|own| *own == atom)?;
                at[axis].clone()
            }))
        };
        let spans = structure.windows.iter().map(|window| {
            let window = window.as_ref()?;
            let lo = place(&window.lo)?;
            let hi = lo.offset(window.width - 1);
            Some((lo, hi))
        });
        let spans = spans.collect();
        vec![Leaf { spans, facts: self.known() }]
    }

    fn clauses(&mut self, tensor: &Tensor, at: &[Position]) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        for clause in &tensor.clauses {
            let more = self.clause(clause, at);
            leaves = self.both(leaves, more);
        }
        leaves
    }

    fn clause(&mut self, clause: &Clause, at: &[Position]) -> Vec<Leaf> {
        let known = self.facts.len();
        for (slot, at) in clause.slots.iter().zip(at) {
            match slot {
                ClauseSlot::Point(point) => {
                    if let Some(at) = at
                        && *point >= 0
                    {
                        self.facts.eq(at, &size::Expr::constant(*point));
                        self.seen = None;
                    }
                }
                ClauseSlot::Loop(binder) => {
                    let (lo, hi) = (self.int(&binder.lo), self.int(&binder.hi));
                    self.ints.insert(binder.var, at.clone());
                    if let Some(at) = at {
                        self.assume_range(at, &lo, &hi);
                    }
                }
            }
        }
        let rest = at.get(clause.slots.len()..).unwrap_or(&[]);
        let inside = self.facts.len();
        self.items(&clause.items);
        let mut leaves = self.reach(&clause.value, rest);
        self.forget(inside);
        if let Some(otherwise) = &clause.otherwise {
            let more = self.reach(otherwise, rest);
            leaves = self.both(leaves, more);
        }
        self.forget(known);
        leaves
    }

    fn items(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Let(var, value) => self.bind_inside(*var, value),
                Item::Guard(cond) => self.assume(cond, true),
            }
        }
    }

    fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            match &stmt.kind {
                StmtKind::Let(var, value) => self.bind_inside(*var, value),
                StmtKind::Destructure(pattern, value) => {
                    let value = self.value(value);
                    self.take_apart(pattern, &value);
                }
                StmtKind::Expr(_) | StmtKind::Require(_) => {}
            }
        }
    }

    /// The same as `bind` where a variable that is data has another value each time.
    fn bind_inside(&mut self, var: VarId, value: &Expr) {
        if is_int(&value.ty) {
            let known = self.int(value);
            self.ints.insert(var, known);
        } else {
            self.bind(var, value);
        }
    }

    fn take_apart(&mut self, pattern: &Pattern, value: &Value) {
        if let (Pattern::Tuple(items), Value::Parts(parts)) = (pattern, value) {
            for (item, part) in items.iter().zip(parts) {
                self.take_apart(item, part);
            }
            return;
        }
        let mut bound = Vec::new();
        bound_by(pattern, &mut bound);
        for var in bound {
            let value = match (pattern, value) {
                (Pattern::Bind(_), value) => value.clone(),
                (_, Value::Still) => Value::Still,
                _ => Value::Anything,
            };
            self.ints.insert(var, None);
            self.values.insert(var, value);
        }
    }

    fn arms(&mut self, value: &Expr, arms: &[Arm], at: &[Position]) -> Vec<Leaf> {
        let value = self.value(value);
        let mut leaves = Vec::new();
        for arm in arms {
            self.take_apart(&arm.pattern, &value);
            let more = self.reach(&arm.value, at);
            leaves = self.both(leaves, more);
        }
        leaves
    }

    fn reduce(&mut self, reduce: &Reduce) -> Vec<Leaf> {
        let known = self.facts.len();
        let mut ends = Vec::new();
        for Binder { var, lo, hi } in &reduce.binders {
            let (lo, hi) = (self.int(lo), self.int(hi));
            self.ints.remove(var);
            let at = self.atom(*var);
            self.assume_range(&at, &lo, &hi);
            ends.push((self.pass.atom_of(*var), lo, hi));
        }
        self.items(&reduce.items);
        let mut leaves = self.reach(&reduce.value, &[]);
        self.forget(known);
        for (atom, lo, hi) in ends.into_iter().rev() {
            let last = hi.map(|hi| hi.offset(-1));
            for span in leaves.iter_mut().flat_map(|leaf| &mut leaf.spans) {
                let Some((first, end)) = span else { continue };
                let first = extreme(first, atom, lo.as_ref(), last.as_ref());
                let end = extreme(end, atom, last.as_ref(), lo.as_ref());
                *span = first.zip(end);
            }
        }
        leaves
    }

    fn join(&mut self, axis: usize, left: &Expr, right: &Expr, at: &[Position]) -> Vec<Leaf> {
        let length = if left.ty.rank() == at.len() {
            self.resolved(&left.ty.axes()[axis].size)
        } else {
            size::Expr::one()
        };
        let there = |e: &Expr, position: Position| {
            let mut at = at.to_vec();
            at[axis] = position;
            if e.ty.rank() < at.len() {
                at.remove(axis);
            }
            at
        };
        let known = self.facts.len();
        if let Some(at) = &at[axis] {
            self.assume_range(at, &None, &Some(length.clone()));
        }
        let leaves = self.reach(left, &there(left, at[axis].clone()));
        self.forget(known);
        if let Some(at) = &at[axis] {
            self.assume_range(at, &Some(length.clone()), &None);
        }
        let moved = at[axis].as_ref().map(|at| at.sub(&length));
        let more = self.reach(right, &there(right, moved));
        self.forget(known);
        self.both(leaves, more)
    }

    fn literal(&mut self, items: &[Expr], at: &[Position]) -> Vec<Leaf> {
        let Some((first, rest)) = at.split_first() else { return vec![self.everything()] };
        let mut leaves = Vec::new();
        for (number, item) in items.iter().enumerate() {
            let known = self.facts.len();
            if let Some(first) = first {
                self.facts.eq(first, &size::Expr::constant(number as i64));
                self.seen = None;
            }
            let more = self.reach(item, rest);
            self.forget(known);
            leaves = self.both(leaves, more);
        }
        leaves
    }

    // ---------------------------------------------------------------- calls

    /// Whether a call computes from numbers alone, so that it reaches what they reach.
    fn is_of_numbers(&self, func: FuncId, args: &[Expr]) -> bool {
        let mut read = FxHashSet::default();
        self.pass.reads(func, &mut read, &mut FxHashSet::default());
        args.iter().all(|arg| matches!(arg.ty, Type::Scalar(_)))
            && !read.iter().any(|var| self.moves(*var))
    }

    fn moves(&self, var: VarId) -> bool {
        !matches!(self.values.get(&var), None | Some(Value::Still))
    }

    /// Binds the parameters of a known function, and gives what is to be looked at in place of the
    /// call: its body, or its rule with the tangents in the place of what moves.
    fn enter_call(&mut self, e: &Expr) -> Option<Expr> {
        let ExprKind::Call { func, sizes, closure, args } = &*e.kind else { return None };
        if self.open.contains(func) {
            return None;
        }
        self.pass.clean_function(*func);
        let values: Vec<Value> = args.iter().map(|arg| self.value(arg)).collect();
        let ints: Vec<Position> = args.iter().map(|arg| self.int(arg)).collect();
        let sizes: Vec<size::Expr> = sizes.iter().map(|size| self.resolved(size)).collect();
        let captured = closure.as_ref().map(|closure| match &*closure.kind {
            ExprKind::Closure { captures, .. } => {
                captures.iter().map(|capture| (self.value(capture), self.int(capture))).collect()
            }
            _ => vec![(self.unknown(closure), None)],
        });
        let rule = self.pass.program.funcs[*func].rule;
        let code = rule.unwrap_or(*func);
        self.pass.clean_function(code);
        let callee = &self.pass.program.funcs[code];
        let (params, captures) = (callee.params.clone(), callee.captures.clone());
        let (size_vars, body) = (callee.sizes.clone(), callee.body.clone());
        for (var, size) in size_vars.into_iter().zip(sizes) {
            self.ints.insert(var, Some(size));
        }
        let captured: Vec<(Value, Position)> = captured.unwrap_or_default();
        for (number, var) in captures.into_iter().enumerate() {
            let one = captured.get(number).or(captured.first()).cloned();
            let (value, int) = one.unwrap_or((Value::Anything, None));
            self.values.insert(var, value);
            self.ints.insert(var, int);
        }
        let still = if rule.is_some() { args.len() } else { 0 };
        for (number, var) in params.into_iter().enumerate() {
            let from = number.checked_sub(still).unwrap_or(number);
            let (Some(value), Some(arg)) = (values.get(from), args.get(from)) else { return None };
            let value = if number < still { Value::Still } else { value.clone() };
            self.extents_of(var, arg);
            self.ints.insert(var, ints[from].clone());
            self.values.insert(var, value);
        }
        self.open.push(*func);
        Some(body)
    }

    // ---------------------------------------------------------------- integers

    /// The position that an integer expression is.
    fn int(&mut self, e: &Expr) -> Position {
        if !is_int(&e.ty) {
            return None;
        }
        let size = self.pass.size_of(e)?;
        let data = size.atoms().iter().any(|atom| match self.pass.program.atoms[*atom].def {
            AtomDef::Var(var) => matches!(self.ints.get(&var), Some(None)),
            AtomDef::Extent(..) | AtomDef::Length(_) | AtomDef::Unknown => false,
        });
        (!data).then(|| self.resolved(&size))
    }

    /// A size in terms of positions and of what is there at the request.
    fn resolved(&self, size: &size::Expr) -> size::Expr {
        let atoms = &self.pass.program.atoms;
        size.substitute(&|atom| match atoms[atom].def {
            AtomDef::Var(var) => self.ints.get(&var).cloned().flatten(),
            AtomDef::Extent(var, axis) => self.extents.get(&var)?.get(axis).cloned(),
            AtomDef::Length(_) | AtomDef::Unknown => None,
        })
    }

    /// The positions of a read; literals below zero count from the end.
    fn indices(&mut self, base: &Expr, indices: &[IndexArg]) -> Vec<Position> {
        let mut all = Vec::new();
        for (index, axis) in indices.iter().zip(base.ty.axes()) {
            all.push(self.from_the_end(&index.value, &axis.size));
        }
        all
    }

    fn from_the_end(&mut self, e: &Expr, extent: &size::Expr) -> Position {
        let at = self.int(e);
        match at.as_ref().and_then(size::Expr::as_constant) {
            Some(back) if back < 0 => Some(self.resolved(extent).offset(back)),
            Some(_) | None => at,
        }
    }

    fn atom(&mut self, var: VarId) -> size::Expr {
        size::Expr::atom(self.pass.atom_of(var))
    }

    /// Variables for the positions in a value that are in use by nobody.
    fn positions_of(&mut self, e: &Expr) -> Vec<VarId> {
        let span = e.span;
        let rank = e.ty.rank();
        while self.pool.len() < self.used + rank {
            let var = self.pass.local("$at", Type::I32, span);
            self.pool.push(var);
        }
        self.used += rank;
        self.pool[self.used - rank..self.used].to_vec()
    }

    // ---------------------------------------------------------------- what is known

    fn assume_range(&mut self, at: &size::Expr, lo: &Position, hi: &Position) {
        if let Some(lo) = lo {
            self.facts.le(lo, at);
        }
        if let Some(hi) = hi {
            self.facts.lt(at, hi);
        }
        self.seen = None;
    }

    fn forget(&mut self, known: usize) {
        self.facts.truncate(known);
        self.seen = None;
    }

    fn known(&mut self) -> Rc<Facts> {
        self.seen.get_or_insert_with(|| Rc::new(self.facts.clone())).clone()
    }

    /// Adds what a condition says about positions.
    fn assume(&mut self, cond: &Expr, holds: bool) {
        match &*cond.kind {
            ExprKind::And(a, b) if holds => {
                self.assume(a, true);
                self.assume(b, true);
            }
            ExprKind::Or(a, b) if !holds => {
                self.assume(a, false);
                self.assume(b, false);
            }
            ExprKind::Unary(UnaryOp::Not, a) => self.assume(a, !holds),
            ExprKind::Binary(op, a, b) => {
                let (Some(a), Some(b)) = (self.int(a), self.int(b)) else { return };
                match (op, holds) {
                    (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => self.facts.eq(&a, &b),
                    (BinaryOp::Eq, false) | (BinaryOp::Ne, true) => self.facts.ne0(a.sub(&b)),
                    (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => self.facts.lt(&a, &b),
                    (BinaryOp::Le, true) | (BinaryOp::Gt, false) => self.facts.le(&a, &b),
                    (BinaryOp::Gt, true) | (BinaryOp::Le, false) => self.facts.lt(&b, &a),
                    (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => self.facts.le(&b, &a),
                    _ => {}
                }
                self.seen = None;
            }
            _ => {}
        }
    }

    // ---------------------------------------------------------------- reads together

    fn everything(&mut self) -> Leaf {
        Leaf { spans: vec![None; self.rank], facts: self.known() }
    }

    fn anything(&mut self, e: &Expr) -> Vec<Leaf> {
        if self.depends(e) { vec![self.everything()] } else { Vec::new() }
    }

    fn both(&mut self, mut leaves: Vec<Leaf>, more: Vec<Leaf>) -> Vec<Leaf> {
        for leaf in more {
            let known = |old: &Leaf| old.spans == leaf.spans && Rc::ptr_eq(&old.facts, &leaf.facts);
            if !leaves.iter().any(known) {
                leaves.push(leaf);
            }
        }
        if leaves.len() > READS {
            return vec![self.everything()];
        }
        leaves
    }

    /// Whether anything that moves is mentioned, here or in a function that is called.
    fn depends(&self, e: &Expr) -> bool {
        let mut read = FxHashSet::default();
        self.pass.reads_in(e, &mut read, &mut FxHashSet::default());
        read.iter().any(|var| self.moves(*var))
    }
}

fn component(value: Value, at: usize) -> Value {
    match value {
        Value::Still => Value::Still,
        Value::Parts(mut parts) if at < parts.len() => parts.swap_remove(at),
        Value::Parts(_) | Value::Array(_) | Value::Anything => Value::Anything,
    }
}

/// The end of a span when an index runs from `low` to `high`: the least value if these are its ends
/// in order, the greatest if they are turned around. `None` if it is not affine in the index.
fn extreme(
    size: &size::Expr,
    index: size::Atom,
    low: Option<&size::Expr>,
    high: Option<&size::Expr>,
) -> Position {
    let (coefficient, rest) = size.affine_in(index)?;
    match coefficient {
        0 => Some(rest),
        positive if positive > 0 => Some(rest.add(&low?.scale(positive))),
        negative => Some(rest.add(&high?.scale(negative))),
    }
}

fn is_int(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(scalar) if scalar.is_int())
}
