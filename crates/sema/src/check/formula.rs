//! Functions that are formulas of their arguments, such as `max(x, 0)` of the library or `|t| t - 1`.
//!
//! To the algebra of sizes a call of such a function is what its body says, so that a position that
//! it gives is as provable as one that is written out. The program itself keeps the call.
//!
//! Before:  `r[larger(t - 3, 0)]` with `fn larger(a, b) { max(a, b) }`
//! Seen as: `r[max(t - 3, 0)]`

use super::state::{Build, Index};
use ein_ir::size;
use ein_ir::tensor::{AtomDef, Expr, ExprKind, FuncId, Stmt, StmtKind, Type, VarId};
use rustc_hash::FxHashMap;

/// How many parts a formula, or a call of one with its arguments put in, may have.
const PARTS: usize = 256;

/// What a function computes from its parameters, without statements, calls and captures.
#[derive(Clone, Debug)]
pub(super) struct Formula {
    params: Vec<VarId>,
    body: Expr,
}

/// Remembers a function that is checked, if it is a formula.
pub(super) fn note(ix: &mut Index, build: &Build, func: FuncId) {
    let function = &build.out.funcs[func];
    if !is_plain(&function.ret) || !function.sizes.is_empty() {
        return;
    }
    let mut values = Values::default();
    for param in &function.params {
        let own = ix.var_expr(*param, ix.vars[*param].span);
        values.put(ix, *param, own);
    }
    if let Some(body) = values.put_into(ix, &function.body) {
        let params = function.params.clone();
        ix.formulas.insert(func, Formula { params, body });
    }
}

impl Index<'_> {
    /// The body of the formula that a call is of, with the arguments in it; `sizes` are the values
    /// of those that are integers.
    pub(super) fn opened(&self, e: &Expr, sizes: &[Option<size::Expr>]) -> Option<Expr> {
        let ExprKind::Call { func, args, .. } = &*e.kind else { return None };
        let formula = self.formulas.get(func)?;
        let mut values = Values { open: true, ..Values::default() };
        for ((param, arg), size) in formula.params.iter().zip(args).zip(sizes) {
            let value = match size {
                Some(size) => {
                    Expr::new(ExprKind::Size(size.clone()), self.vars[*param].ty.clone(), arg.span)
                }
                None => arg.clone(),
            };
            values.put(self, *param, value);
        }
        values.put_into(self, &formula.body)
    }

    /// The same where all that is known of the arguments is what the algebra says by itself.
    pub(super) fn opened_call(&self, e: &Expr) -> Option<Expr> {
        let ExprKind::Call { func, args, .. } = &*e.kind else { return None };
        if !self.formulas.contains_key(func) {
            return None;
        }
        let sizes: Vec<Option<size::Expr>> = args.iter().map(|arg| self.to_size(arg)).collect();
        self.opened(e, &sizes)
    }

    /// A block with what its statements bind put into its value.
    pub(super) fn inlined(&self, block: &Expr) -> Option<Expr> {
        Values { open: true, ..Values::default() }.put_into(self, block)
    }
}

/// What variables stand for.
#[derive(Default)]
struct Values {
    exprs: FxHashMap<VarId, Expr>,
    /// The symbolic values of those that are integers.
    sizes: FxHashMap<VarId, size::Expr>,
    /// Whether anything else may stand in the formula, for itself.
    open: bool,
    parts: usize,
}

impl Values {
    fn put(&mut self, ix: &Index, var: VarId, value: Expr) {
        if let Some(size) = ix.to_size(&value) {
            self.sizes.insert(var, size);
        }
        self.exprs.insert(var, value);
    }

    /// A formula with these values in it.
    fn put_into(&mut self, ix: &Index, e: &Expr) -> Option<Expr> {
        self.parts += 1;
        if self.parts > PARTS || !is_plain(&e.ty) {
            return None;
        }
        let kind = match &*e.kind {
            ExprKind::Const(value) => ExprKind::Const(*value),
            ExprKind::Var(var) => {
                return self.exprs.get(var).or(self.open.then_some(e)).cloned();
            }
            ExprKind::Size(size) => ExprKind::Size(self.put_into_size(ix, size)?),
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, self.put_into(ix, a)?),
            ExprKind::Binary(op, a, b) => {
                ExprKind::Binary(*op, self.put_into(ix, a)?, self.put_into(ix, b)?)
            }
            ExprKind::And(a, b) => ExprKind::And(self.put_into(ix, a)?, self.put_into(ix, b)?),
            ExprKind::Or(a, b) => ExprKind::Or(self.put_into(ix, a)?, self.put_into(ix, b)?),
            ExprKind::Cast(a) => ExprKind::Cast(self.put_into(ix, a)?),
            ExprKind::If { cond, then, otherwise } => ExprKind::If {
                cond: self.put_into(ix, cond)?,
                then: self.put_into(ix, then)?,
                otherwise: self.put_into(ix, otherwise)?,
            },
            ExprKind::Block { stmts, value } => {
                for Stmt { kind, .. } in stmts {
                    let StmtKind::Let(var, bound) = kind else { return None };
                    let bound = self.put_into(ix, bound)?;
                    self.put(ix, *var, bound);
                }
                return self.put_into(ix, value);
            }
            ExprKind::Call { .. } => return self.put_into(ix, &ix.opened_call(e)?),
            _ => return self.open.then(|| e.clone()),
        };
        Some(Expr::new(kind, e.ty.clone(), e.span))
    }

    /// The same of a symbolic value; nothing if it speaks of anything else, or of what stands for an integer
    /// without one.
    fn put_into_size(&self, ix: &Index, size: &size::Expr) -> Option<size::Expr> {
        let known = |atom: size::Atom| match ix.atoms[atom].def {
            AtomDef::Var(var) => self.sizes.get(&var).cloned(),
            AtomDef::Extent(..) | AtomDef::Length(_) | AtomDef::Unknown => None,
        };
        let stays = |atom: size::Atom| match ix.atoms[atom].def {
            AtomDef::Var(var) => !self.exprs.contains_key(&var),
            AtomDef::Extent(..) | AtomDef::Length(_) | AtomDef::Unknown => true,
        };
        let fits = |atom: size::Atom| known(atom).is_some() || (self.open && stays(atom));
        let all = size.atoms().into_iter().all(fits);
        all.then(|| size.substitute(&known))
    }
}

/// Whether a value is one integer or truth, which the algebra can speak of.
fn is_plain(ty: &Type) -> bool {
    matches!(ty, Type::Scalar(ty) if ty.is_int() || ty.is_bool())
}
