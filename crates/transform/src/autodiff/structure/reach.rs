//! What values reach of the parameter.
//!
//! An element of an array is asked for at a position, a symbolic integer for each axis; the answer
//! is a list of reads of the parameter. What has a name is asked once, at positions that stand for
//! any, and its windows are kept.

use super::{Leaf, Structure, window};
use crate::autodiff::Pass;
use crate::autodiff::tangent::moves;
use ein_ir::size::{self, Facts};
use ein_ir::tensor::{AtomDef, Expr, ExprKind, FuncId, Tensor, Type, VarId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

mod calls;
mod elements;
mod known;

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
    /// Variables that stand for integers which functions compute, and how many are in use.
    names: Vec<VarId>,
    named: usize,
    /// The functions that are open.
    open: Vec<FuncId>,
    /// How many expressions may still be looked at.
    left: usize,
    /// How many steps questions may still take.
    steps: u64,
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
            names: Vec::new(),
            named: 0,
            open: Vec::new(),
            left: NODES,
            steps: super::ALL_STEPS,
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
        let mut windows = Vec::new();
        for axis in 0..self.rank {
            let window = window(&leaves, axis, &at, &mut self.steps);
            windows.push(window.filter(|window| self.means_one_thing(&window.lo)));
        }
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

fn is_int(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(scalar) if scalar.is_int())
}
