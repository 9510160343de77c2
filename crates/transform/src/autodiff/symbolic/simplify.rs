//! Folds constants, decided conditions and equal terms, so that a derivative reads as it would be
//! written by hand.

use super::super::rename::Renaming;
use super::super::reverse::constant;
use super::super::truth::truth;
use super::text::{Text, made_up};
use ein_ir::tensor::walk::{any, each_child_mut};
use ein_ir::tensor::{Expr, ExprKind, FuncId, StmtKind, Type, VarId};
use ein_scalar::{BinaryOp, Scalar};

impl Text<'_, '_> {
    /// Folds constants and collects equal terms.
    pub(super) fn simplify(&mut self, e: &mut Expr) {
        each_child_mut(e, &mut |child| self.simplify(child));
        if let Some(plain) = self.without_names(e) {
            *e = plain;
            return self.simplify(e);
        }
        if let Some(decided) = decided(e) {
            *e = decided;
            return;
        }
        if let Some(body) = self.written_out(e) {
            *e = body;
            return self.simplify(e);
        }
        let ExprKind::Binary(op, a, b) = &*e.kind else { return };
        let (ty, span) = (e.ty.clone(), e.span);
        let number = |it: &Self, value: f64| it.pass.number(&ty, value, span);
        let new = match (op, constant(a), constant(b)) {
            (BinaryOp::Mul, Some(x), Some(y)) => number(self, x * y),
            (BinaryOp::Mul, Some(1.0), _) => b.clone(),
            (BinaryOp::Mul, _, Some(1.0)) => a.clone(),
            (BinaryOp::Mul, None, Some(_)) => {
                let mut turned = self.pass.arith(BinaryOp::Mul, b.clone(), a.clone());
                self.simplify(&mut turned);
                turned
            }
            (BinaryOp::Mul, Some(x), None) => match &*b.kind {
                ExprKind::Binary(BinaryOp::Mul, c, d) => match constant(c) {
                    Some(y) => {
                        let factor = number(self, x * y);
                        self.pass.arith(BinaryOp::Mul, factor, d.clone())
                    }
                    None => return,
                },
                _ => return,
            },
            (BinaryOp::Add, Some(0.0), _) => b.clone(),
            (BinaryOp::Add | BinaryOp::Sub, _, Some(0.0)) => a.clone(),
            (BinaryOp::Add, Some(x), Some(y)) => number(self, x + y),
            (BinaryOp::Add, None, None) => {
                let ((x, p), (y, q)) = (self.scaled(a), self.scaled(b));
                if self.shown(&p) != self.shown(&q) {
                    return;
                }
                let factor = number(self, x + y);
                self.pass.arith(BinaryOp::Mul, factor, p)
            }
            (BinaryOp::Add, Some(_), None) => self.pass.arith(BinaryOp::Add, b.clone(), a.clone()),
            (BinaryOp::Div, _, Some(1.0)) => a.clone(),
            _ => return,
        };
        *e = new;
    }

    /// What is left of a block that only gives other names to names and numbers.
    fn without_names(&mut self, e: &Expr) -> Option<Expr> {
        let ExprKind::Block { stmts, value } = &*e.kind else { return None };
        let mut value = value.clone();
        for stmt in stmts.iter().rev() {
            let StmtKind::Let(var, bound) = &stmt.kind else { return None };
            if !matches!(&*bound.kind, ExprKind::Var(_) | ExprKind::Const(_) | ExprKind::Size(_)) {
                return None;
            }
            self.pass.put(&mut value, *var, bound);
        }
        Some(value)
    }

    /// The body of a function that the compiler made: the source has no name for it.
    fn written_out(&mut self, e: &Expr) -> Option<Expr> {
        let ExprKind::Call { func, sizes, closure: None, args } = &*e.kind else { return None };
        let callee = &self.pass.program.funcs[*func];
        let numbers = sizes.is_empty()
            && args.iter().all(|arg| arg.ty.scalar().is_some() && !arg.ty.is_array());
        if !made_up(callee.name.as_str()) || !numbers || self.calls(*func, *func, &mut Vec::new()) {
            return None;
        }
        let (params, body) = (callee.params.clone(), callee.body.clone());
        let mut names = Renaming::default();
        let params: Vec<VarId> =
            params.iter().map(|param| self.pass.fresh(*param, &mut names)).collect();
        let mut body = self.pass.freshened(&body, &mut names);
        for (param, arg) in params.into_iter().zip(args) {
            self.pass.put(&mut body, param, arg);
        }
        Some(body)
    }

    /// Whether a function calls another one, perhaps through others.
    fn calls(&self, from: FuncId, to: FuncId, seen: &mut Vec<FuncId>) -> bool {
        any(&self.pass.program.funcs[from].body, &mut |e| {
            let ExprKind::Call { func, .. } = &*e.kind else { return false };
            if *func == to {
                return true;
            }
            let new = !seen.contains(func);
            if new {
                seen.push(*func);
            }
            new && self.calls(*func, to, seen)
        })
    }

    /// A factor and what it stands before.
    fn scaled(&self, e: &Expr) -> (f64, Expr) {
        match &*e.kind {
            ExprKind::Binary(BinaryOp::Mul, a, b) => match constant(a) {
                Some(factor) => (factor, b.clone()),
                None => (1.0, e.clone()),
            },
            _ => (1.0, e.clone()),
        }
    }
}

/// What is left of a condition or a choice once it is decided.
fn decided(e: &Expr) -> Option<Expr> {
    match &*e.kind {
        ExprKind::Binary(..) => {
            let holds = ExprKind::Const(Scalar::Bool(truth(e)?));
            Some(Expr::new(holds, Type::BOOL, e.span))
        }
        ExprKind::If { cond, then, otherwise } => match truth(cond)? {
            true => Some(then.clone()),
            false => Some(otherwise.clone()),
        },
        ExprKind::And(a, b) => match (truth(a), truth(b)) {
            (Some(true), _) => Some(b.clone()),
            (Some(false), _) | (_, Some(true)) => Some(a.clone()),
            (None, Some(false) | None) => None,
        },
        _ => None,
    }
}
