//! Derivatives by tangents: a request for all entries is a definition over the axes of the
//! parameter, each point one column.

use super::{Named, Pass, let_stmt, tangent};
use ein_base::Span;
use ein_ir::tensor::{Binder, Clause, ClauseSlot, Expr, ExprKind, Tensor, Type, VarId};

impl Pass<'_> {
    /// All entries by tangents, one column at a time.
    pub(super) fn columns(
        &mut self,
        (y, y_at): Named,
        (x, x_at): Named,
        ty: Type,
        span: Span,
    ) -> Expr {
        let x_axes = self.program.vars[x].ty.axes().to_vec();
        // The positions of the parameter: those that are fixed, then one loop for each other axis.
        let mut slots = Vec::new();
        let mut position = Vec::new();
        let mut stmts = Vec::new();
        for index in x_at {
            let var = self.local("$p", Type::I32, span);
            stmts.push(let_stmt(var, index.value.clone()));
            position.push(var);
        }
        for axis in &x_axes[x_at.len()..] {
            let var = self.local("$p", Type::I32, span);
            let binder =
                Binder { var, lo: Expr::int(0, span), hi: Expr::size(axis.size.clone(), span) };
            slots.push(ClauseSlot::Loop(binder));
            position.push(var);
        }
        let loops = slots.len();
        let mut tangents = tangent::Tangents::default();
        let seed = self.seed(x, &position, span);
        let seed_var = self.local("$t", seed.ty.clone(), span);
        stmts.push(let_stmt(seed_var, seed));
        tangents.set(x, seed_var);
        let reached = if y == x { true } else { self.sweep(x, y, &mut tangents, &mut stmts) };
        if !reached {
            self.independent(y, x, span);
        }
        let y_ty = self.program.vars[y].ty.clone();
        let value = match tangents.get(y) {
            Some(var) => self.var(var, span),
            None => self.zeros_of_var(y, span),
        };
        let value = if y_at.is_empty() {
            value
        } else {
            let rest = y_ty.axes().get(y_at.len()..).unwrap_or(&[]).to_vec();
            let ty = Type::array(y_ty.elem().clone(), rest);
            let indices = y_at.to_vec();
            Expr::new(ExprKind::Index { base: value, indices }, ty, span)
        };
        let inner = value.ty.clone();
        let body = Expr::new(ExprKind::Block { stmts, value }, inner.clone(), span);
        if loops == 0 {
            return Expr { ty, ..body };
        }
        // The loops over the parameter come first in the definition, last in the result.
        let y_rank = inner.rank();
        let shape = x_axes[x_at.len()..].iter().map(|axis| Some(axis.size.clone())).collect();
        let clause =
            Clause { slots, items: Vec::new(), value: body, otherwise: None, until: None, span };
        let tensor = Tensor {
            name: None,
            self_var: None,
            shape,
            inner_rank: y_rank,
            clauses: vec![clause],
            recurrence: None,
            requires: Vec::new(),
        };
        let mut axes = x_axes[x_at.len()..].to_vec();
        axes.extend(inner.axes().iter().cloned());
        let columns =
            Expr::new(ExprKind::Tensor(tensor), Type::array(inner.elem().clone(), axes), span);
        if y_rank == 0 {
            return Expr { ty, ..columns };
        }
        let order: Vec<usize> = (loops..loops + y_rank).chain(0..loops).collect();
        Expr::new(ExprKind::Permute { base: columns, order }, ty, span)
    }

    /// The tangent of a target when the parameter moves along a direction; `None` if it does not
    /// depend on it. The statements come before.
    pub(super) fn along(
        &mut self,
        y: VarId,
        x: VarId,
        direction: Expr,
        stmts: &mut Vec<ein_ir::tensor::Stmt>,
    ) -> Option<Expr> {
        let span = direction.span;
        let mut tangents = tangent::Tangents::default();
        let seed = self.local("$t", direction.ty.clone(), span);
        stmts.push(let_stmt(seed, direction));
        tangents.set(x, seed);
        if y != x && !self.sweep(x, y, &mut tangents, stmts) {
            return None;
        }
        tangents.get(y).map(|var| self.var(var, span))
    }
}
