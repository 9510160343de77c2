//! Keeps derivatives of derivatives short.
//!
//! Before:  the tangent of `sin(u)` is a call `sin'(u, du)`, its tangent `sin''(u, du, dv, dudv)`, and
//!          each order repeats the bindings of the one before it
//! After:   `cos(u) * du`: functions that are one short formula are differentiated in place, and
//!          bindings that nobody reads are dropped
//!
//! What is long all the same ends at a budget: every order multiplies, and no machine has room for
//! what a line of a program can ask for.

use super::Pass;
use ein_base::{Code, Diagnostic, Span};
use ein_ir::tensor::walk::{each_child, each_child_mut};
use ein_ir::tensor::{Expr, ExprKind, FuncId, Stmt, StmtKind, Type, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Formulas of at most this many nodes are differentiated in place.
const SHORT: usize = 12;

/// Derivatives of one program take at most so many steps; that is about a second.
pub(super) const BUDGET: u64 = 12_000_000;

/// How many looks at a node take as long as a step.
const LOOKS: u64 = 4;

/// Counts what was looked at: a look takes a small part of a step.
pub(super) fn count_looks(pass: &Pass, looked: u64) {
    pass.work.set(pass.work.get().saturating_add(looked / LOOKS));
}

impl Pass<'_> {
    /// Counts steps of the work; whether there may be more. Says so once if not.
    pub(super) fn may_go_on(&mut self, steps: u64, span: Span) -> bool {
        let before = self.work.get();
        self.work.set(before.saturating_add(steps));
        if self.work.get() <= BUDGET {
            return true;
        }
        let told = before > BUDGET && self.diagnostics.iter().any(|it| it.code == Code::E0703);
        if !told && !self.rejected {
            self.work.set(BUDGET + 1);
            self.diagnostics.push(
                Diagnostic::new(
                    Code::E0703,
                    span,
                    "this derivative is too large to be written out",
                )
                .here("each order multiplies the operations of the one before it")
                .note("the derivatives of a program may take twelve million steps to derive")
                .help("write the tangent yourself: `@fn f(x) { … * @x }`"),
            );
        }
        false
    }

    /// Counts the steps that a copy takes.
    pub(super) fn count_copy(&self, e: &Expr) {
        if self.work.get() <= BUDGET {
            self.work.set(self.work.get() + nodes(e, usize::MAX) as u64);
        }
    }

    /// A call as the formula that its function is, if that is short and of numbers only.
    pub(super) fn formula(&mut self, func: FuncId, args: &[Expr], span: Span) -> Option<Expr> {
        let code = &self.program.funcs[func];
        let plain = code.rule.is_none() && code.sizes.is_empty() && code.captures.is_empty();
        if !plain || code.params.len() != args.len() || nodes(&code.body, SHORT) > SHORT {
            return None;
        }
        let mut uses: FxHashMap<VarId, usize> = code.params.iter().map(|var| (*var, 0)).collect();
        if !is_formula(&code.body, &mut uses) {
            return None;
        }
        let (params, body) = (code.params.clone(), code.body.clone());
        let mut with = FxHashMap::default();
        let mut stmts = Vec::new();
        for (param, arg) in params.iter().zip(args) {
            let atomic = matches!(*arg.kind, ExprKind::Var(_) | ExprKind::Const(_));
            let value = if atomic || uses.get(param) == Some(&1) {
                arg.clone()
            } else {
                let var = self.local("$a", arg.ty.clone(), span);
                stmts.push(super::let_stmt(var, arg.clone()));
                self.var(var, span)
            };
            with.insert(*param, value);
        }
        let mut value = body;
        replace(&mut value, &with);
        if stmts.is_empty() {
            return Some(value);
        }
        let ty = value.ty.clone();
        Some(Expr::new(ExprKind::Block { stmts, value }, ty, span))
    }
}

/// Whether an expression is arithmetic on parameters, each of which is used; how often.
fn is_formula(e: &Expr, uses: &mut FxHashMap<VarId, usize>) -> bool {
    if !matches!(e.ty, Type::Scalar(_)) {
        return false;
    }
    match &*e.kind {
        ExprKind::Const(_) => true,
        ExprKind::Var(var) => match uses.get_mut(var) {
            Some(count) => {
                *count += 1;
                true
            }
            None => false,
        },
        ExprKind::Unary(_, a) | ExprKind::Cast(a) => is_formula(a, uses),
        ExprKind::Binary(_, a, b) => is_formula(a, uses) && is_formula(b, uses),
        _ => false,
    }
}

fn replace(e: &mut Expr, with: &FxHashMap<VarId, Expr>) {
    if let ExprKind::Var(var) = &*e.kind
        && let Some(value) = with.get(var)
    {
        *e = value.clone();
        return;
    }
    each_child_mut(e, &mut |child| replace(child, with));
}

/// How many nodes an expression has; beyond `most` the count may stop.
fn nodes(e: &Expr, most: usize) -> usize {
    let mut count = 1;
    each_child(e, &mut |child| {
        if count <= most {
            count += nodes(child, most);
        }
    });
    count
}

/// Drops bindings of float numbers that are read nowhere. Other kinds may stand in sizes.
pub(super) fn drop_unread(stmts: &mut Vec<Stmt>, value: &Expr, vars: &dyn Fn(VarId) -> Type) {
    let mut read = FxHashSet::default();
    reads(value, &mut read);
    let mut kept = Vec::with_capacity(stmts.len());
    for stmt in stmts.drain(..).rev() {
        if let StmtKind::Let(var, _) = &stmt.kind
            && !read.contains(var)
            && matches!(vars(*var), Type::Scalar(ty) if ty.is_float())
        {
            continue;
        }
        ein_ir::tensor::walk::each_in_stmt(&stmt, &mut |e| reads(e, &mut read));
        kept.push(stmt);
    }
    kept.reverse();
    *stmts = kept;
}

fn reads(e: &Expr, found: &mut FxHashSet<VarId>) {
    if let ExprKind::Var(var) = &*e.kind {
        found.insert(*var);
    }
    each_child(e, &mut |child| reads(child, found));
}
