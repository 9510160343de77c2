//! Pulls a cotangent back through an expression, construct by construct: choices, calls and reads
//! here, arithmetic in `slope`, what binds names in `bind`, variants in `variant`.

mod bind;
mod slope;
mod variant;

use super::{Done, Reverse, Seed, Step, unsupported, weight};
use crate::autodiff::let_stmt;
use crate::autodiff::tangent::moves;
use ein_ir::tensor::{Expr, ExprKind, HostOp, Type};
use ein_scalar::{BinaryOp, Scalar, UnaryOp};

/// Beyond this many nodes a cotangent that is used twice gets a name.
const LONG: usize = 16;

impl Reverse<'_, '_> {
    /// Any value. `own` reads the value itself where that is cheap.
    pub(super) fn pull_value(&mut self, e: &Expr, seed: Seed, own: Option<Expr>) -> Done {
        if !self.depends(e) {
            return Ok(());
        }
        match seed {
            Seed::Value(seed) if e.ty.is_array() => self.pull_array_owned(e, seed, own),
            Seed::Value(seed) => self.pull(e, seed, own),
            Seed::Parts(parts) => self.pull_parts(e, parts),
        }
    }

    /// A number.
    pub(super) fn pull(&mut self, e: &Expr, seed: Expr, own: Option<Expr>) -> Done {
        if !self.depends(e) || !moves(&e.ty) {
            return Ok(());
        }
        if !self.pass.may_go_on(1, e.span) {
            return unsupported("a derivative that is too large");
        }
        let mark = self.path.len();
        let done = self.pull_node(e, seed, own);
        self.path.truncate(mark);
        done
    }

    fn pull_node(&mut self, e: &Expr, seed: Expr, own: Option<Expr>) -> Done {
        let span = e.span;
        match &*e.kind {
            ExprKind::Var(var) => {
                if e.ty.is_array() || !matches!(e.ty, Type::Scalar(_)) {
                    return unsupported("a value of this type");
                }
                self.contribute(*var, &[], Vec::new(), seed);
                Ok(())
            }
            ExprKind::Index { base, indices } => self.pull_read(base, indices, seed, span),
            ExprKind::Unary(op, a) => {
                let value = self.prim(a);
                let Some(seed) = self.slope(*op, value, own, seed) else { return Ok(()) };
                self.pull(a, seed, None)
            }
            ExprKind::Binary(op, a, b) => self.pull_binary(*op, a, b, seed, own),
            ExprKind::Cast(a) => {
                if !moves(&a.ty) {
                    return Ok(());
                }
                let seed = Expr::new(ExprKind::Cast(seed), a.ty.clone(), span);
                self.pull(a, seed, None)
            }
            ExprKind::If { cond, then, otherwise } => {
                let seed = self.shared(seed, &[e]);
                let (yes, no) = self.branches(cond);
                let mark = self.path.len();
                self.push(Step::Guard(yes));
                self.pull(then, seed.clone(), own.clone())?;
                self.path.truncate(mark);
                self.push(Step::Guard(no));
                self.pull(otherwise, seed, own)?;
                self.path.truncate(mark);
                Ok(())
            }
            ExprKind::Block { stmts, value } => {
                self.pull_block(stmts, value, Seed::Value(seed), own)
            }
            ExprKind::Match { value, arms } => {
                self.pull_match(value, arms, &Seed::Value(seed), own.as_ref())
            }
            ExprKind::Reduce(reduce) => self.pull_reduce(reduce, e, seed),
            ExprKind::Call { .. } | ExprKind::CallValue { .. } => {
                self.pull_call(e, Seed::Value(seed), own)
            }
            ExprKind::TupleGet(base, at) | ExprKind::FieldGet(base, at) => {
                self.pull_value(base, Seed::Parts(vec![(*at, Seed::Value(seed))]), None)
            }
            ExprKind::Assert { value, .. } => self.pull(value, seed, own),
            ExprKind::Host(HostOp::Convert, args) => match args.as_slice() {
                [a] if matches!(a.ty, Type::Scalar(_)) => {
                    let seed = Expr::new(ExprKind::Cast(seed), a.ty.clone(), span);
                    self.pull(a, seed, None)
                }
                _ => unsupported("a conversion"),
            },
            ExprKind::Host(..) => unsupported("an operation of the run-time library"),
            ExprKind::Try(_) => unsupported("`try`"),
            ExprKind::Const(_)
            | ExprKind::Str(_)
            | ExprKind::Unit
            | ExprKind::Size(_)
            | ExprKind::And(..)
            | ExprKind::Or(..)
            | ExprKind::Range(..)
            | ExprKind::Error => Ok(()),
            // A definition of no axes, as packs that stand for none make them.
            ExprKind::Tensor(tensor) => self.pull_tensor(tensor, e, seed, own),
            ExprKind::Scatter(_)
            | ExprKind::Slice { .. }
            | ExprKind::Gather { .. }
            | ExprKind::Permute { .. }
            | ExprKind::Join { .. }
            | ExprKind::Array(_)
            | ExprKind::Comprehension { .. }
            | ExprKind::Tuple(_)
            | ExprKind::Make { .. }
            | ExprKind::Closure { .. }
            | ExprKind::Specialise { .. }
            | ExprKind::Derivative(_) => unsupported("a value that is not a number"),
        }
    }

    /// A condition and its opposite.
    pub(super) fn branches(&mut self, cond: &Expr) -> (Expr, Expr) {
        let mut yes = self.prim(cond);
        if asks_for_text(self, &yes) {
            // It cannot fail, and reads nothing that is bound on the way to here.
            let var = self.pass.local("$chosen", Type::BOOL, cond.span);
            self.out.push(let_stmt(var, yes));
            yes = self.pass.var(var, cond.span);
        }
        let no = negation(&yes);
        (yes, no)
    }

    /// A cotangent that several parts are about to use, or are part of what is about to.
    pub(super) fn shared(&mut self, seed: Expr, parts: &[&Expr]) -> Expr {
        if !plain(&seed) && parts.iter().any(|part| self.has_reduction(part)) {
            return self.lift_seed(seed);
        }
        if weight(&seed, LONG) >= LONG { self.bind("$s", seed) } else { seed }
    }
}

/// Whether a condition is a comparison of texts that are known before all points: there are none
/// in kernels, so it is not asked at each point.
fn asks_for_text(reverse: &Reverse<'_, '_>, cond: &Expr) -> bool {
    let ExprKind::Host(HostOp::Equal, args) = &*cond.kind else { return false };
    args.iter().all(|arg| match *arg.kind {
        ExprKind::Str(_) => true,
        ExprKind::Var(var) => !reverse.path.iter().any(|at| match &reverse.steps[*at] {
            Step::Loop(binder) => binder.var == var,
            Step::Let(bound, _) => *bound == var,
            Step::Guard(_) => false,
        }),
        _ => false,
    })
}

/// The opposite of a condition. A comparison of floats is not turned around: NaN fails both.
pub(super) fn negation(cond: &Expr) -> Expr {
    match &*cond.kind {
        ExprKind::Unary(UnaryOp::Not, inner) => inner.clone(),
        ExprKind::Const(Scalar::Bool(truth)) => {
            Expr::new(ExprKind::Const(Scalar::Bool(!truth)), Type::BOOL, cond.span)
        }
        _ => Expr::new(ExprKind::Unary(UnaryOp::Not, cond.clone()), Type::BOOL, cond.span),
    }
}

/// The value of a float constant.
pub(in crate::autodiff) fn constant(e: &Expr) -> Option<f64> {
    match &*e.kind {
        ExprKind::Const(value) if value.ty().is_float() => Some(value.as_f64()),
        _ => None,
    }
}

/// Whether a cotangent is as good as a read.
pub(super) fn plain(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Const(_) | ExprKind::Var(_) => true,
        ExprKind::Index { base, .. } => matches!(&*base.kind, ExprKind::Var(_)),
        ExprKind::Unary(UnaryOp::Neg, a) => plain(a),
        ExprKind::Binary(BinaryOp::Mul, a, b) => {
            constant(a).is_some() && plain(b) || constant(b).is_some() && plain(a)
        }
        _ => false,
    }
}

/// Whether a value is a name, a constant, or a read at such positions.
pub(super) fn is_name(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Const(_) | ExprKind::Var(_) => true,
        ExprKind::Index { base, indices } => {
            matches!(&*base.kind, ExprKind::Var(_))
                && indices.iter().all(|index| match &*index.value.kind {
                    ExprKind::Binary(_, a, b) => is_name(a) && is_name(b),
                    _ => is_name(&index.value),
                })
        }
        _ => false,
    }
}
