//! Reverse mode: adjoints as definitions.
//!
//! Before:  `z[n, h] = sum[k](X[n, k] * W[k, h]); …; loss = …;` and `@loss / @W`
//! After:   `z'[n, h] = …; W'[k, h] = sum[n](z'[n, h] * X[n, k]);`, where `v'` is the adjoint of `v`
//!
//! The bindings between the parameters and the target are visited from the last to the first. Every
//! read of a value that moves is a *term*: the loops, guards and bindings on the way to it (`Step`),
//! the cell that it reads, and what flows back. When a binding's turn comes, all its terms are there,
//! and its adjoint is their sum (`gather`): loops that the cell determines are solved for, the others
//! become sums, and a cell that is data becomes a scatter. Then its own definition is pulled back
//! (`pull`, one construct at a time).
//!
//! * Of a value that is read at a few fixed places only those points are pulled back (`points`), so an
//!   entry of the derivative of an elementwise map costs one point, and a row of a stencil a few.
//! * Values that the adjoint needs again and that are costly (reductions inside expressions) become
//!   definitions of their own (`lift`), as do cotangents that a reduction is about to share.
//! * The adjoint of a recurrence is a recurrence in the opposite direction (`recurrence`).
//! * Calls are inlined, closures and tuples looked through. What is not understood is refused as
//!   [`Unsupported`]; the request then falls back on columns.

use super::{Bound, Named, Pass, let_stmt};
use ein_base::Span;
use ein_ir::tensor::walk::{any, each_child, each_in_stmt};
use ein_ir::tensor::{
    AtomDef, Binder, Bounds, Expr, ExprKind, FuncId, IndexArg, Stmt, StmtKind, Type, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};

mod apart;
mod comprehension;
mod compress;
mod fails;
mod gather;
mod inline;
mod lift;
mod linear;
mod order;
mod outside;
mod pad;
mod points;
mod product;
mod pull;
mod read;
mod recurrence;
mod reduce;
mod solve;
mod sums;
mod tensor;

pub(super) use lift::replace_vars;
pub(super) use pull::constant;

/// Why a program has no adjoint here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unsupported {
    /// What is in the way.
    pub why: &'static str,
}

pub(super) type Done<T = ()> = Result<T, Unsupported>;

pub(super) fn unsupported<T>(why: &'static str) -> Done<T> {
    Err(Unsupported { why })
}

/// Something on the way to a point.
#[derive(Clone, Debug)]
enum Step {
    /// For every value of an index.
    Loop(Binder),
    /// With this value.
    Let(VarId, Expr),
    /// If it holds.
    Guard(Expr),
}

/// What flows back to one cell of a variable from the points of its steps.
#[derive(Clone, Debug)]
struct Term {
    /// Which component of a tuple or struct.
    part: Vec<usize>,
    path: Vec<usize>,
    cell: Vec<IndexArg>,
    value: Expr,
}

/// What flows back to a value: a number, an array in a variable, or components.
#[derive(Clone, Debug)]
enum Seed {
    Value(Expr),
    Parts(Vec<(usize, Seed)>),
}

/// The adjoints of one target.
pub(super) struct Reverse<'a, 'p> {
    pass: &'a mut Pass<'p>,
    /// All steps ever taken; paths name them by number.
    steps: Vec<Step>,
    path: Vec<usize>,
    /// The variables that move, with what has flown back to them.
    active: FxHashMap<VarId, Vec<Term>>,
    /// What has been made, in order.
    out: Vec<Stmt>,
    /// What closures, tuples and structs are bound to.
    known: FxHashMap<VarId, Expr>,
    /// How many calls are open.
    inlining: usize,
    /// The functions whose rules are being pulled back.
    rules: Vec<FuncId>,
    /// Whether functions call themselves.
    recursive: FxHashMap<FuncId, bool>,
    /// The recurrences whose adjoints are being made, each inside the one before it.
    running: Vec<recurrence::Running>,
    /// Values that have definitions of their own.
    lifted: FxHashMap<String, Expr>,
    /// Names for what is a name, a constant or a read already.
    aliases: FxHashMap<VarId, Expr>,
    /// Other names for whole arrays that move.
    same: FxHashMap<VarId, VarId>,
}

/// Statements that compute adjoints, and where those of the parameters are; `None` for zero.
pub(super) struct Adjoints {
    pub stmts: Vec<Stmt>,
    pub of: Vec<Option<Expr>>,
}

impl Pass<'_> {
    /// The adjoints of `params` when `seed` flows back into `target[at]`. The bindings are those in
    /// scope. `None` if the target depends on none of the parameters.
    pub(super) fn adjoints(
        &mut self,
        target: Named,
        seed: Expr,
        params: &[VarId],
    ) -> Done<Option<Adjoints>> {
        let mut reverse = Reverse::new(self);
        if !reverse.sweep(target, seed, params)? {
            return Ok(None);
        }
        let mut of = Vec::new();
        for param in params {
            of.push(reverse.adjoint_of(*param, &[])?);
        }
        reverse.finished(of).map(Some)
    }

    /// The same for one element of one parameter: `target[at]` by `param[place]`.
    pub(super) fn entry_adjoint(
        &mut self,
        target: Named,
        (param, place): Named,
        span: Span,
    ) -> Done<Option<Adjoints>> {
        let seed = self.number(&self.program.vars[target.0].ty.clone(), 1.0, span);
        let mut reverse = Reverse::new(self);
        if !reverse.sweep(target, seed, &[param])? {
            return Ok(None);
        }
        let of = vec![reverse.entry_of(param, place, span)?];
        reverse.finished(of).map(Some)
    }
}

impl<'a, 'p> Reverse<'a, 'p> {
    fn new(pass: &'a mut Pass<'p>) -> Self {
        Self {
            pass,
            steps: Vec::new(),
            path: Vec::new(),
            active: FxHashMap::default(),
            out: Vec::new(),
            known: FxHashMap::default(),
            inlining: 0,
            rules: Vec::new(),
            recursive: FxHashMap::default(),
            running: Vec::new(),
            lifted: FxHashMap::default(),
            aliases: FxHashMap::default(),
            same: FxHashMap::default(),
        }
    }
}

impl Reverse<'_, '_> {
    /// The results with what they need, if all of it has extents that can be computed here.
    fn finished(&mut self, of: Vec<Option<Expr>>) -> Done<Adjoints> {
        let stmts = self.used(&of);
        let mut unknown = of.iter().flatten().any(|e| self.has_unknown_size(e));
        for stmt in &stmts {
            each_in_stmt(stmt, &mut |e| unknown |= self.has_unknown_size(e));
        }
        if unknown {
            return unsupported("an extent that only the run knows");
        }
        Ok(Adjoints { stmts, of })
    }

    /// Whether nothing says what a size is.
    fn is_open(&self, size: &ein_ir::size::Expr) -> bool {
        size.atoms().iter().any(|atom| self.pass.program.atoms[*atom].def == AtomDef::Unknown)
    }

    fn has_unknown_size(&self, e: &Expr) -> bool {
        let unknown = |size: &ein_ir::size::Expr| self.is_open(size);
        any(e, &mut |part| match &*part.kind {
            ExprKind::Size(size) => unknown(size),
            ExprKind::Tensor(tensor) => tensor.shape.iter().flatten().any(unknown),
            ExprKind::Scatter(scatter) => scatter.shape.iter().any(unknown),
            _ => false,
        })
    }

    /// Visits the bindings from the target back to the parameters. Returns whether the target
    /// depends on them.
    fn sweep(&mut self, target: Named, seed: Expr, params: &[VarId]) -> Done<bool> {
        let scope = self.pass.behind(target.0);
        for param in params {
            self.active.insert(*param, Vec::new());
        }
        let mut bound: Vec<(VarId, Expr)> = Vec::new();
        if !params.contains(&target.0) || params.len() > 1 {
            for Bound { var, value, .. } in scope {
                if !self.active.contains_key(&var) {
                    self.enter(var, (*value).clone(), &mut bound);
                }
            }
        }
        if !self.active.contains_key(&target.0) {
            return Ok(false);
        }
        self.start(target, seed, &bound)?;
        for (var, value) in bound.iter().rev() {
            self.settle(*var, value)?;
        }
        Ok(true)
    }

    /// The statements that the results need.
    fn used(&mut self, results: &[Option<Expr>]) -> Vec<Stmt> {
        let mut wanted = FxHashSet::default();
        results.iter().flatten().for_each(|e| self.variables(e, &mut wanted));
        let mut kept = Vec::new();
        for stmt in std::mem::take(&mut self.out).into_iter().rev() {
            if let StmtKind::Let(var, value) = &stmt.kind {
                if !wanted.contains(var) {
                    continue;
                }
                self.variables(value, &mut wanted);
                // The next derivative asks the variable what its extents are.
                let own = &self.pass.program.vars[*var].ty;
                for axis in value.ty.axes().iter().chain(own.axes()) {
                    self.size_variables(&axis.size, &mut wanted);
                }
            }
            kept.push(stmt);
        }
        kept.reverse();
        kept
    }

    /// What flows back first.
    fn start(&mut self, (target, at): Named, seed: Expr, bound: &[(VarId, Expr)]) -> Done {
        let ty = self.pass.program.vars[target].ty.clone();
        if at.len() == ty.rank() {
            // One point of a definition: only its own clause is looked at.
            if let Some((_, value)) =
                bound.last().filter(|(var, _)| *var == target && !at.is_empty())
                && let ExprKind::Tensor(tensor) = &*value.kind
                && tensor.self_var.is_none()
                && tensor.inner_rank == 0
            {
                return self.pull_point(target, tensor, value, at, seed);
            }
            self.contribute(target, &[], at.to_vec(), seed);
            return Ok(());
        }
        let span = seed.span;
        if !at.is_empty() {
            return unsupported("a part of an array as target");
        }
        let array = self.pass.var(target, span);
        self.pull_array(&array, seed)
    }

    /// Notes a binding: whether it moves, and what it is bound to if that matters.
    fn enter(&mut self, var: VarId, value: Expr, bound: &mut Vec<(VarId, Expr)>) {
        if matches!(
            value.ty,
            Type::Template(..) | Type::Signature(_) | Type::Tuple(_) | Type::Data(..)
        ) {
            self.known.insert(var, value.clone());
        }
        let mut value = value;
        if let Some((calls, rest)) = self.outside(&value) {
            calls.iter().for_each(|(var, call)| self.local(*var, call, bound));
            value = rest;
        }
        if super::tangent::moves(&value.ty) && !value.ty.is_fn() && self.depends(&value) {
            self.active.insert(var, Vec::new());
            bound.push((var, value));
        }
    }

    /// Pulls back through the definition of a variable, if anything flows to it.
    fn settle(&mut self, var: VarId, value: &Expr) -> Done {
        let Some(terms) = self.active.get(&var) else { return Ok(()) };
        if terms.is_empty() {
            return Ok(());
        }
        if let ExprKind::Tensor(tensor) = &*value.kind
            && tensor.self_var.is_some()
        {
            return self.pull_recurrence(var, tensor, value);
        }
        if let ExprKind::Tensor(tensor) = &*value.kind
            && self.settle_points(var, tensor, value)?
        {
            return Ok(());
        }
        let Some(seed) = self.seed_of(var)? else { return Ok(()) };
        let own = match self.aliases.get(&var) {
            Some(own) => own.clone(),
            None => self.pass.var(var, value.span),
        };
        self.pull_value(value, seed, Some(own))
    }

    /// Everything that flows back to a variable, by components.
    fn seed_of(&mut self, var: VarId) -> Done<Option<Seed>> {
        let terms = self.active.get(&var).map(Vec::as_slice).unwrap_or(&[]);
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for term in terms {
            if !parts.contains(&term.part) {
                parts.push(term.part.clone());
            }
        }
        parts.sort();
        let mut root: Option<Seed> = None;
        for part in parts {
            let Some(value) = self.adjoint_of(var, &part)? else { continue };
            let mut seed = Seed::Value(value);
            if part.is_empty() {
                if root.is_some() {
                    return unsupported("a value used both whole and in parts");
                }
                root = Some(seed);
                continue;
            }
            for at in part[1..].iter().rev() {
                seed = Seed::Parts(vec![(*at, seed)]);
            }
            match &mut root {
                None => root = Some(Seed::Parts(vec![(part[0], seed)])),
                Some(Seed::Parts(items)) => items.push((part[0], seed)),
                Some(Seed::Value(_)) => {
                    return unsupported("a value used both whole and in parts");
                }
            }
        }
        Ok(root)
    }

    // ---------------------------------------------------------------- dependence

    /// Whether a value moves with the parameters.
    fn depends(&self, e: &Expr) -> bool {
        let mut seen = FxHashSet::default();
        let mut looked = 0;
        let depends = self.depends_seen(e, &mut seen, &mut looked);
        crate::autodiff::share::count_looks(self.pass, looked);
        depends
    }

    fn depends_seen(&self, e: &Expr, seen: &mut FxHashSet<FuncId>, looked: &mut u64) -> bool {
        any(e, &mut |part| {
            *looked += 1;
            match &*part.kind {
                ExprKind::Var(var) => {
                    let known = || self.known.get(var);
                    self.active.contains_key(var)
                        || part.ty.is_fn()
                            && known().is_some_and(|value| self.depends_seen(value, seen, looked))
                }
                ExprKind::Call { func, .. }
                | ExprKind::Specialise { func, .. }
                | ExprKind::Closure { func: Some(func), .. } => {
                    let body = &self.pass.program.funcs[*func].body;
                    seen.insert(*func) && self.depends_seen(body, seen, looked)
                }
                _ => false,
            }
        })
    }

    /// Notes what flows back to a cell.
    fn contribute(&mut self, var: VarId, part: &[usize], cell: Vec<IndexArg>, value: Expr) {
        let var = self.same.get(&var).copied().unwrap_or(var);
        let value = self.initial_head(value);
        let path = self.path.clone();
        let cell = cell.into_iter().map(|at| without_outside(self.pass, at)).collect();
        if let Some(terms) = self.active.get_mut(&var) {
            terms.push(Term { part: part.to_vec(), path, cell, value });
        }
    }

    // ---------------------------------------------------------------- steps

    fn push(&mut self, step: Step) {
        self.path.push(self.steps.len());
        self.steps.push(step);
    }

    /// Gives a value a name at this place: a statement, or a binding on the way.
    fn bind(&mut self, name: &str, value: Expr) -> Expr {
        let span = value.span;
        let var = self.pass.local(name, value.ty.clone(), span);
        if self.path.is_empty() {
            self.out.push(let_stmt(var, value));
        } else {
            self.push(Step::Let(var, value));
        }
        self.pass.var(var, span)
    }

    /// A loop over all positions of an axis.
    fn full_loop(&mut self, extent: &ein_ir::size::Expr, span: Span) -> Expr {
        let var = self.pass.local("$i", Type::I32, span);
        let hi = Expr::size(extent.clone(), span);
        self.push(Step::Loop(Binder { var, lo: Expr::int(0, span), hi }));
        self.pass.var(var, span)
    }
}

/// A read at positions that are in bounds.
fn element(base: Expr, at: &[Expr], span: Span) -> Expr {
    if at.is_empty() {
        return base;
    }
    let ty = Type::array(base.ty.elem().clone(), base.ty.axes()[at.len()..].to_vec());
    let indices = at.iter().map(|at| proved(at.clone())).collect();
    Expr::new(ExprKind::Index { base, indices }, ty, span)
}

fn proved(value: Expr) -> IndexArg {
    IndexArg { value, bounds: Bounds::Proved }
}

/// Whether a variable occurs.
pub(super) fn mentions(e: &Expr, var: VarId) -> bool {
    any(e, &mut |part| matches!(&*part.kind, ExprKind::Var(own) if *own == var))
}

/// The number of nodes, at most `limit`.
pub(super) fn weight(e: &Expr, limit: usize) -> usize {
    let mut total = 1;
    each_child(e, &mut |child| {
        if total < limit {
            total += weight(child, limit - total);
        }
    });
    total
}

/// The position where the read did not fail: of `if c { p } else { -1 }` that is `p`, which can be
/// solved for the indices in it.
fn without_outside(pass: &mut Pass<'_>, mut at: IndexArg) -> IndexArg {
    while let ExprKind::If { then, otherwise, .. } = &*at.value.kind {
        let outside = pass.size_of(otherwise).and_then(|it| it.as_constant());
        if outside.is_none_or(|it| it >= 0) {
            break;
        }
        at.value = then.clone();
    }
    at
}
