//! What is known on the way to an expression.
//!
//! A walk over tensor IR that carries the facts of its path: domains of index variables, guards,
//! conditions of `if`, `match`, `&&` and `||`, assertions, and sizes that were compared before.
//! `causality` and `bounds` look at reads through it.
//!
//! Integers that the symbolic algebra cannot speak about (`parent[n]`, a call, a choice) become
//! opaque atoms, one for each different expression on the path, so that `if parent[n] < n` says
//! something about the index `parent[n]`.

use super::state::{Build, Index};
use ein_base::{Span, Symbol};
use ein_ir::size::{self, Atom, Facts};
use ein_ir::tensor::{AtomDef, Expr, ExprKind, IndexArg, Tensor, Type, VarId};
use ein_scalar::{BinaryOp, UnaryOp};
use opaque::Opaque;

pub(in crate::check) mod opaque;
pub(in crate::check) mod patterns;
pub(in crate::check) mod text;
pub(in crate::check) mod walk;

/// The domain of an index variable on the path.
#[derive(Clone, Debug)]
pub(super) struct Domain {
    pub atom: Atom,
    pub lo: size::Expr,
    pub hi: size::Expr,
    /// Where the variable was introduced.
    pub span: Span,
}

/// What is known on the way to an expression.
#[derive(Clone, Debug)]
pub(super) struct Path {
    pub facts: Facts,
    /// Whether the facts say everything that decides whether the expression is reached.
    pub exact: bool,
    pub domains: Vec<Domain>,
    /// Expressions that the algebra cannot speak about, and the atoms that stand for them.
    opaque: Opaque,
    /// Conditions that have a name, and integers that have one and no symbolic value of their own.
    named: Vec<(VarId, Expr)>,
}

/// A place on a path to go back to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    facts: usize,
    exact: bool,
    domains: usize,
    opaque: usize,
    named: usize,
}

/// What looks at the reads of a program.
pub(super) trait Visit {
    /// A read; its indices have been walked.
    fn read(
        &mut self,
        _ix: &mut Index,
        _build: &Build,
        base: &mut Expr,
        indices: &mut [IndexArg],
        span: Span,
        path: &mut Path,
    );
    /// A variable that is not the base of a read.
    fn var(&mut self, _ix: &mut Index, _build: &Build, _var: VarId, _span: Span, _path: &mut Path) {
    }
    /// A definition, before its clauses.
    fn tensor(&mut self, _ix: &mut Index, _build: &Build, _tensor: &Tensor) {}
    /// A binding, after its value.
    fn bound(&mut self, _ix: &mut Index, _build: &Build, _var: VarId, _value: &Expr) {}
}

impl Path {
    pub(super) fn new(facts: Facts) -> Self {
        Path {
            facts,
            exact: true,
            domains: Vec::new(),
            opaque: Opaque::default(),
            named: Vec::new(),
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            facts: self.facts.len(),
            exact: self.exact,
            domains: self.domains.len(),
            opaque: self.opaque.len(),
            named: self.named.len(),
        }
    }

    pub(super) fn reset(&mut self, mark: Mark) {
        self.facts.truncate(mark.facts);
        self.exact = mark.exact;
        self.domains.truncate(mark.domains);
        self.opaque.truncate(mark.opaque);
        self.named.truncate(mark.named);
    }

    /// The expression that an opaque atom stands for.
    pub(super) fn opaque(&self, atom: Atom) -> Option<&Expr> {
        self.opaque.expr(atom)
    }

    /// An atom in a size that a choice decides.
    pub(super) fn choice(&self, size: &size::Expr) -> Option<(Atom, Expr)> {
        let (e, atom) = self
            .opaque
            .iter()
            .find(|(e, atom)| matches!(&*e.kind, ExprKind::If { .. }) && size.mentions(*atom))?;
        Some((atom, e.clone()))
    }

    fn named(&self, var: VarId) -> Option<Expr> {
        self.named.iter().rev().find(|(own, _)| *own == var).map(|(_, e)| e.clone())
    }
}

// ---------------------------------------------------------------- questions

/// The facts that have to do with some expressions, and that extents are not negative.
pub(super) fn relevant_facts(ix: &Index, path: &Path, goals: &[&size::Expr]) -> Facts {
    let mut atoms: Vec<Atom> = goals.iter().flat_map(|goal| goal.atoms()).collect();
    atoms.sort_unstable();
    atoms.dedup();
    loop {
        let before = atoms.len();
        for fact in path.facts.iter() {
            let own = fact.atoms();
            if own.iter().any(|atom| atoms.contains(atom)) {
                for atom in own {
                    if !atoms.contains(&atom) {
                        atoms.push(atom);
                    }
                }
            }
        }
        if atoms.len() == before {
            break;
        }
    }
    let mut facts = path.facts.clone();
    facts.retain(&|fact| {
        let own = fact.atoms();
        own.is_empty() || own.iter().any(|atom| atoms.contains(atom))
    });
    for atom in atoms {
        let extent = match ix.atoms[atom].def {
            AtomDef::Extent(..) | AtomDef::Length(_) => true,
            AtomDef::Unknown => path.opaque(atom).is_none(),
            AtomDef::Var(_) => false,
        };
        if extent {
            facts.ge0(size::Expr::atom(atom));
        }
    }
    facts
}

/// Whether a size is zero or more on the path; choices in it are followed both ways.
pub(super) fn holds_ge0(
    ix: &mut Index,
    build: &Build,
    goal: &size::Expr,
    path: &mut Path,
    splits: u32,
) -> bool {
    if let Some(value) = goal.as_constant()
        && value >= 0
    {
        return true;
    }
    let facts = relevant_facts(ix, path, &[goal]);
    if size::prove_ge0(&facts, goal).is_proved() {
        return true;
    }
    if splits == 0 {
        return false;
    }
    let Some((atom, choice)) = path.choice(goal) else { return false };
    let ExprKind::If { cond, then, otherwise } = &*choice.kind else { return false };
    [(then, true), (otherwise, false)].into_iter().all(|(value, holds)| {
        let mark = path.mark();
        assume_on(ix, build, cond, holds, path);
        let value = size_on(ix, build, value, path);
        path.facts.eq(&size::Expr::atom(atom), &value);
        let goal = goal.substitute(&|own| (own == atom).then(|| value.clone()));
        let held = holds_ge0(ix, build, &goal, path, splits - 1);
        path.reset(mark);
        held
    })
}

// ---------------------------------------------------------------- translation

/// The value of an integer expression, with opaque atoms where the algebra has no words.
pub(super) fn size_on(ix: &mut Index, build: &Build, e: &Expr, path: &mut Path) -> size::Expr {
    match &*e.kind {
        ExprKind::Const(value) => {
            if let Some(value) = value.as_i64() {
                return size::Expr::constant(value);
            }
        }
        ExprKind::Size(size) => return size.clone(),
        ExprKind::Var(var) => {
            if let Some(size) = ix.var_sizes.get(var) {
                return size.clone();
            }
            if let Some(value) = path.named(*var) {
                return size_on(ix, build, &value, path);
            }
        }
        ExprKind::Unary(UnaryOp::Neg, a) => return size_on(ix, build, a, path).neg(),
        ExprKind::Unary(UnaryOp::Abs, a) => {
            let a = size_on(ix, build, a, path);
            return a.max(&a.neg());
        }
        ExprKind::Binary(op, a, b) => {
            let combine: Option<fn(&size::Expr, &size::Expr) -> size::Expr> = match op {
                BinaryOp::Add => Some(size::Expr::add),
                BinaryOp::Sub => Some(size::Expr::sub),
                BinaryOp::Mul => Some(size::Expr::mul),
                BinaryOp::Div => Some(size::Expr::div_trunc),
                BinaryOp::Rem => Some(size::Expr::rem),
                BinaryOp::FloorDiv => Some(size::Expr::div_floor),
                BinaryOp::FloorMod => Some(size::Expr::mod_floor),
                BinaryOp::Min => Some(size::Expr::min),
                BinaryOp::Max => Some(size::Expr::max),
                _ => None,
            };
            if let Some(combine) = combine {
                let (a, b) = (size_on(ix, build, a, path), size_on(ix, build, b, path));
                return combine(&a, &b);
            }
        }
        ExprKind::Cast(inner) => {
            if is_integer(&inner.ty)
                && let Some(size) = ix.to_size(e)
            {
                return size;
            }
        }
        ExprKind::Block { stmts, value } if stmts.is_empty() => {
            return size_on(ix, build, value, path);
        }
        ExprKind::Block { .. } => {
            if let Some(value) = ix.inlined(e) {
                return size_on(ix, build, &value, path);
            }
        }
        ExprKind::Call { .. } => {
            if let Some(body) = opened_on(ix, build, e, path) {
                return size_on(ix, build, &body, path);
            }
        }
        _ => {}
    }
    opaque_on(ix, build, e, path)
}

/// What a call of a formula computes on the path.
fn opened_on(ix: &mut Index, build: &Build, e: &Expr, path: &mut Path) -> Option<Expr> {
    let ExprKind::Call { func, args, .. } = &*e.kind else { return None };
    if !ix.formulas.contains_key(func) {
        return None;
    }
    let size = |arg: &Expr| is_integer(&arg.ty).then(|| size_on(ix, build, arg, path));
    let sizes: Vec<Option<size::Expr>> = args.iter().map(size).collect();
    ix.opened(e, &sizes)
}

/// The atom of an expression that the algebra has no words for.
fn opaque_on(ix: &mut Index, build: &Build, e: &Expr, path: &mut Path) -> size::Expr {
    if let Some(atom) = path.opaque.atom(e) {
        return size::Expr::atom(atom);
    }
    let name = Symbol::intern(&text::show_expr(ix, build, e));
    let atom = ix.new_atom(name, AtomDef::Unknown, false);
    let size = size::Expr::atom(atom);
    if let Type::Scalar(ty) = &e.ty
        && ty.int_range().is_some_and(|(lo, _)| lo == 0)
    {
        path.facts.ge0(size.clone());
    }
    path.opaque.push(e.clone(), atom);
    size
}

/// Adds what a condition says when it holds (or when it does not). Returns whether it said
/// everything, in terms of sizes and index variables.
pub(super) fn assume_on(
    ix: &mut Index,
    build: &Build,
    cond: &Expr,
    holds: bool,
    path: &mut Path,
) -> bool {
    match &*cond.kind {
        ExprKind::Const(value) => match value.as_bool() {
            Some(value) if value == holds => true,
            Some(_) => {
                path.facts.ge0(size::Expr::constant(-1));
                true
            }
            None => false,
        },
        ExprKind::And(a, b) if holds => {
            let left = assume_on(ix, build, a, true, path);
            assume_on(ix, build, b, true, path) && left
        }
        ExprKind::Or(a, b) if !holds => {
            let left = assume_on(ix, build, a, false, path);
            assume_on(ix, build, b, false, path) && left
        }
        ExprKind::Unary(UnaryOp::Not, a) => assume_on(ix, build, a, !holds, path),
        ExprKind::Block { stmts, value } if stmts.is_empty() => {
            assume_on(ix, build, value, holds, path)
        }
        ExprKind::Block { .. } => match ix.inlined(cond) {
            Some(value) => assume_on(ix, build, &value, holds, path),
            None => false,
        },
        ExprKind::Var(var) => match path.named(*var) {
            Some(cond) => assume_on(ix, build, &cond, holds, path),
            None => false,
        },
        ExprKind::Call { .. } => match opened_on(ix, build, cond, path) {
            Some(body) => assume_on(ix, build, &body, holds, path),
            None => false,
        },
        ExprKind::Binary(op, a, b) if is_integer(&a.ty) && is_integer(&b.ty) => {
            let (a, b) = (size_on(ix, build, a, path), size_on(ix, build, b, path));
            match (op, holds) {
                (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => path.facts.lt(&a, &b),
                (BinaryOp::Le, true) | (BinaryOp::Gt, false) => path.facts.le(&a, &b),
                (BinaryOp::Gt, true) | (BinaryOp::Le, false) => path.facts.lt(&b, &a),
                (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => path.facts.le(&b, &a),
                (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => path.facts.eq(&a, &b),
                (BinaryOp::Ne, true) | (BinaryOp::Eq, false) => path.facts.ne0(a.sub(&b)),
                _ => return false,
            }
            !is_opaque(&a, path) && !is_opaque(&b, path)
        }
        _ => false,
    }
}

/// Whether a size depends on something opaque.
pub(super) fn is_opaque(size: &size::Expr, path: &Path) -> bool {
    size.atoms().into_iter().any(|atom| path.opaque(atom).is_some())
}

fn enter(ix: &mut Index, build: &Build, cond: &Expr, holds: bool, path: &mut Path) {
    let complete = assume_on(ix, build, cond, holds, path);
    path.exact &= complete;
}

fn is_integer(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(ty) if ty.is_int())
}

/// The value of blocks without statements.
fn peel(e: &Expr) -> &Expr {
    match &*e.kind {
        ExprKind::Block { stmts, value } if stmts.is_empty() => peel(value),
        _ => e,
    }
}
