//! Extents of states that their types leave open: those of the first state, if every step keeps them.
//!
//! `struct P { w: [f32; ?, ?] }` says nothing of the extents of `w`. What a step gives is followed
//! through calls, blocks and fields, with the extents of the state that it starts from; where those of
//! its result are the same, all states have the extents of the first one.

use super::Leaf;
use ein_ir::size::{self, Facts};
use ein_ir::tensor::{
    AtomDef, Clause, ClauseSlot, Derivative, Expr, ExprKind, FuncId, Item, Pattern, Place, Program,
    Require, Stmt, StmtKind, Type, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};

/// Expressions that are looked at for one recurrence.
const EFFORT: usize = 100_000;

/// The extents of a value.
#[derive(Clone)]
pub(super) enum Form {
    /// A number, or an array of them.
    Array(Vec<size::Expr>),
    /// A tuple or struct.
    Record(Vec<Form>),
}

impl Form {
    /// The state that is made of parts.
    pub(super) fn of(leaves: &[Leaf]) -> Form {
        Self::level(leaves, 0)
    }

    fn level(leaves: &[Leaf], depth: usize) -> Form {
        if let [leaf] = leaves
            && leaf.path.len() == depth
        {
            return Form::Array(leaf.shape.clone());
        }
        let parts = leaves.chunk_by(|a, b| a.path[depth].0 == b.path[depth].0);
        Form::Record(parts.map(|part| Self::level(part, depth + 1)).collect())
    }

    /// The extents of a part.
    pub(super) fn at(&self, path: &[(usize, Type)]) -> Option<&[size::Expr]> {
        match (self, path) {
            (Form::Array(shape), []) => Some(shape),
            (Form::Record(parts), [(at, _), rest @ ..]) => parts.get(*at)?.at(rest),
            (Form::Array(_), _) | (Form::Record(_), []) => None,
        }
    }
}

/// What is known where an expression stands.
pub(super) struct Shapes<'p> {
    program: &'p Program,
    /// What variables hold; `None` if nothing is known of it.
    held: FxHashMap<VarId, Option<Form>>,
    /// The sizes that functions were called with.
    sizes: FxHashMap<VarId, Option<size::Expr>>,
    /// What is compared on the way, and holds from there on.
    facts: Facts,
    /// The functions that were entered.
    inside: Vec<FuncId>,
    /// Index variables of the clause.
    own: FxHashSet<VarId>,
    /// What reads of the recurrence give.
    state: Option<(VarId, Form)>,
    left: usize,
}

impl<'p> Shapes<'p> {
    pub(super) fn new(program: &'p Program) -> Shapes<'p> {
        Shapes {
            program,
            held: FxHashMap::default(),
            sizes: FxHashMap::default(),
            facts: Facts::new(),
            inside: Vec::new(),
            own: FxHashSet::default(),
            state: None,
            left: EFFORT,
        }
    }

    /// Whether a clause gives states of the same extents as those that it reads.
    pub(super) fn keeps(mut self, clause: &Clause, state: VarId, form: &Form) -> bool {
        self.state = Some((state, form.clone()));
        self.own.extend(clause.slots.iter().filter_map(|slot| match slot {
            ClauseSlot::Loop(binder) => Some(binder.var),
            ClauseSlot::Point(_) => None,
        }));
        for item in &clause.items {
            match item {
                Item::Let(var, value) => {
                    let form = self.form(value);
                    self.held.insert(*var, form);
                }
                Item::Guard(_) => {}
            }
        }
        // What fails in a cell that no guard lets in compares nothing.
        if clause.otherwise.is_some() {
            self.facts = Facts::new();
        }
        let values: Vec<&Expr> = [&clause.value].into_iter().chain(&clause.otherwise).collect();
        values.into_iter().all(|value| {
            let known = self.facts.len();
            let made = self.form(value);
            let same = made.is_some_and(|made| self.same(&made, form));
            self.facts.truncate(known);
            same
        })
    }

    /// The extents of a value.
    pub(super) fn form(&mut self, e: &Expr) -> Option<Form> {
        self.left = self.left.checked_sub(1)?;
        let built = self.built(e);
        if built.is_some() {
            return built;
        }
        // What its type says, in terms that are known outside.
        match &e.ty {
            Type::Scalar(_) => Some(Form::Array(Vec::new())),
            Type::Array(array) if matches!(array.elem, Type::Scalar(_)) => {
                let shape: Option<Vec<_>> =
                    array.axes.iter().map(|axis| self.outside(&axis.size)).collect();
                shape.map(Form::Array)
            }
            _ => None,
        }
    }

    /// The extents of a value by the way it is made.
    fn built(&mut self, e: &Expr) -> Option<Form> {
        match &*e.kind {
            ExprKind::Var(var) => self.held.get(var).cloned().flatten(),
            ExprKind::Block { stmts, value } => {
                stmts.iter().for_each(|stmt| self.stmt(stmt));
                self.form(value)
            }
            ExprKind::If { then, otherwise, .. } => {
                let known = self.facts.len();
                let then = self.form(then);
                self.facts.truncate(known);
                let otherwise = self.form(otherwise);
                self.facts.truncate(known);
                let (then, otherwise) = (then?, otherwise?);
                self.same(&then, &otherwise).then_some(then)
            }
            ExprKind::Tuple(items) | ExprKind::Make { fields: items, variant: 0, .. } => {
                items.iter().map(|item| self.form(item)).collect::<Option<_>>().map(Form::Record)
            }
            ExprKind::TupleGet(base, at) | ExprKind::FieldGet(base, at) => {
                match self.form(base)? {
                    Form::Record(parts) => parts.into_iter().nth(*at),
                    Form::Array(_) => None,
                }
            }
            ExprKind::Index { base, indices } => {
                if let (ExprKind::Var(var), Some((state, form))) = (&*base.kind, &self.state)
                    && var == state
                {
                    return Some(form.clone());
                }
                match self.form(base)? {
                    Form::Array(shape) => Some(Form::Array(shape.get(indices.len()..)?.to_vec())),
                    Form::Record(_) => None,
                }
            }
            ExprKind::Permute { base, order } => match self.form(base)? {
                Form::Array(shape) => {
                    let turned = order.iter().map(|axis| shape.get(*axis).cloned());
                    turned.collect::<Option<_>>().map(Form::Array)
                }
                Form::Record(_) => None,
            },
            ExprKind::Assert { value, .. } => self.form(value),
            ExprKind::Tensor(tensor) => {
                tensor.requires.iter().for_each(|require| self.compared(require));
                None
            }
            ExprKind::Call { func, sizes, closure: None, args } => self.called(*func, sizes, args),
            ExprKind::Derivative(Derivative::Quotient { target, parameter }) => match target.ty {
                Type::Scalar(_) => self.form(parameter),
                _ => None,
            },
            ExprKind::Derivative(Derivative::Product { target, parameter, forward, .. }) => {
                self.form(if *forward { target } else { parameter })
            }
            ExprKind::Derivative(Derivative::Tangent(of)) => self.form(of),
            ExprKind::Const(_)
            | ExprKind::Str(_)
            | ExprKind::Unit
            | ExprKind::Size(_)
            | ExprKind::Unary(..)
            | ExprKind::Binary(..)
            | ExprKind::And(..)
            | ExprKind::Or(..)
            | ExprKind::Cast(_)
            | ExprKind::Match { .. }
            | ExprKind::Reduce(_)
            | ExprKind::Scatter(_)
            | ExprKind::Slice { .. }
            | ExprKind::Gather { .. }
            | ExprKind::Join { .. }
            | ExprKind::Array(_)
            | ExprKind::Comprehension { .. }
            | ExprKind::Make { .. }
            | ExprKind::Call { .. }
            | ExprKind::CallValue { .. }
            | ExprKind::Closure { .. }
            | ExprKind::Specialise { .. }
            | ExprKind::Range(..)
            | ExprKind::Try(_)
            | ExprKind::Host(..)
            | ExprKind::Error => None,
        }
    }

    fn called(&mut self, func: FuncId, sizes: &[size::Expr], args: &[Expr]) -> Option<Form> {
        let args: Vec<Option<Form>> = args.iter().map(|arg| self.form(arg)).collect();
        let sizes: Vec<Option<size::Expr>> = sizes.iter().map(|size| self.outside(size)).collect();
        let code = self.program.funcs.get(func)?;
        if self.inside.contains(&func) {
            return None;
        }
        self.inside.push(func);
        self.held.extend(code.params.iter().copied().zip(args));
        self.sizes.extend(code.sizes.iter().copied().zip(sizes));
        let form = self.form(&code.body);
        self.inside.pop();
        form
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Let(var, value) => {
                let form = self.form(value);
                self.held.insert(*var, form);
            }
            StmtKind::Destructure(pattern, value) => {
                let form = self.form(value);
                self.matched(pattern, form);
            }
            StmtKind::Require(require) => self.compared(require),
            StmtKind::Expr(_) => {}
        }
    }

    fn matched(&mut self, pattern: &Pattern, form: Option<Form>) {
        match (pattern, form) {
            (Pattern::Bind(var), form) => {
                self.held.insert(*var, form);
            }
            (Pattern::At(var, inner), form) => {
                self.held.insert(*var, form.clone());
                self.matched(inner, form);
            }
            (
                Pattern::Tuple(items) | Pattern::Data { fields: items, .. },
                Some(Form::Record(parts)),
            ) => {
                for (item, part) in items.iter().zip(parts) {
                    self.matched(item, Some(part));
                }
            }
            (pattern, _) => {
                self.held.extend(pattern.variables().into_iter().map(|var| (var, None)));
            }
        }
    }

    /// Sizes that are compared when the program runs are equal from there on.
    fn compared(&mut self, require: &Require) {
        if let (Some(left), Some(right)) =
            (self.outside(&require.left), self.outside(&require.right))
        {
            self.facts.eq(&left, &right);
        }
    }

    /// A size in terms of what is known before the recurrence begins.
    fn outside(&self, size: &size::Expr) -> Option<size::Expr> {
        let of_atom = |atom| -> Option<size::Expr> {
            let local = |var: VarId| {
                let global = matches!(self.program.vars[var].place, Place::Global(_));
                !global && !self.inside.is_empty()
            };
            let own = size::Expr::atom(atom);
            match self.program.atoms[atom].def {
                AtomDef::Var(var) => match self.sizes.get(&var) {
                    Some(size) => size.clone(),
                    None => (!local(var) && !self.own.contains(&var)).then_some(own),
                },
                AtomDef::Extent(var, axis) => match self.held.get(&var) {
                    Some(Some(Form::Array(shape))) => shape.get(axis).cloned(),
                    Some(_) => None,
                    None => (!local(var)).then_some(own),
                },
                AtomDef::Length(var) => {
                    (!local(var) && !self.held.contains_key(&var)).then_some(own)
                }
                AtomDef::Unknown => None,
            }
        };
        let atoms = size.atoms();
        let known: FxHashMap<_, _> =
            atoms.into_iter().map(|atom| Some((atom, of_atom(atom)?))).collect::<Option<_>>()?;
        Some(size.substitute(&|atom| known.get(&atom).cloned()))
    }

    /// Whether two values have the same extents.
    fn same(&self, a: &Form, b: &Form) -> bool {
        match (a, b) {
            (Form::Array(a), Form::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.equal(a, b))
            }
            (Form::Record(a), Form::Record(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same(a, b))
            }
            (Form::Array(_), Form::Record(_)) | (Form::Record(_), Form::Array(_)) => false,
        }
    }

    fn equal(&self, a: &size::Expr, b: &size::Expr) -> bool {
        if a == b {
            return true;
        }
        let mut facts = self.facts.clone();
        let mut atoms = facts.atoms();
        atoms.extend(a.atoms());
        atoms.extend(b.atoms());
        atoms.sort_unstable();
        atoms.dedup();
        for atom in atoms {
            if matches!(self.program.atoms[atom].def, AtomDef::Extent(..) | AtomDef::Length(_)) {
                facts.ge0(size::Expr::atom(atom));
            }
        }
        size::prove_eq(&facts, a, b).is_proved()
    }
}
