//! Reductions: `sum` passes to all, `prod` by exclusive products, `max` and `min` to the first
//! extremal element, `mean` divides as the primal does.

use super::Pass;
use super::rename::Renaming;
use super::tangent::Tangents;
use ein_base::Span;
use ein_ir::tensor::{Binder, Expr, ExprKind, Item, Reduce, ReduceOp, Scatter, Type};
use ein_scalar::{BinaryOp, Scalar, UnaryOp};

impl Pass<'_> {
    pub(super) fn reduce_tangent(
        &mut self,
        reduce: &Reduce,
        e: &Expr,
        t: &mut Tangents,
    ) -> Option<Expr> {
        match reduce.op {
            ReduceOp::Sum | ReduceOp::Mean => {
                let mut inner = t.clone();
                let items = self.items_tangent(&reduce.items, &mut inner);
                let value = self.tangent(&reduce.value, &mut inner)?;
                let reduce = Reduce {
                    op: reduce.op,
                    binders: reduce.binders.clone(),
                    items,
                    value,
                    requires: reduce.requires.clone(),
                };
                Some(Expr::new(ExprKind::Reduce(reduce), e.ty.clone(), e.span))
            }
            ReduceOp::Prod => self.prod_tangent(reduce, e, t),
            ReduceOp::Max | ReduceOp::Min => match reduce.binders.as_slice() {
                [_] => self.extremum_tangent(reduce, e, t),
                _ => self.nested_extremum(reduce, e, t),
            },
            ReduceOp::Any
            | ReduceOp::All
            | ReduceOp::Argmax
            | ReduceOp::Argmin
            | ReduceOp::Count => None,
        }
    }

    /// Adds up the tangents where the primal adds up the values.
    pub(super) fn scatter_tangent(
        &mut self,
        scatter: &Scatter,
        e: &Expr,
        t: &mut Tangents,
    ) -> Option<Expr> {
        let mut inner = t.clone();
        let items = self.items_tangent(&scatter.items, &mut inner);
        let value = self.tangent(&scatter.value, &mut inner)?;
        let mut indices = scatter.indices.clone();
        for index in &mut indices {
            index.value = self.primal(&index.value, t);
        }
        let (shape, binders) = (scatter.shape.clone(), scatter.binders.clone());
        let scatter = Scatter { shape, binders, items, indices, value };
        Some(Expr::new(ExprKind::Scatter(Box::new(scatter)), e.ty.clone(), e.span))
    }

    /// `Σ_k dv(k) · Π_{j ≠ k} v(j)`: right also where factors are zero.
    fn prod_tangent(&mut self, reduce: &Reduce, e: &Expr, t: &mut Tangents) -> Option<Expr> {
        let mut inner = t.clone();
        let items = self.items_tangent(&reduce.items, &mut inner);
        let tangent = self.tangent(&reduce.value, &mut inner)?;
        let span = e.span;
        let others = Reduce {
            op: ReduceOp::Prod,
            binders: reduce.binders.clone(),
            items: self.primal_items(&reduce.items, t),
            value: self.primal(&reduce.value, t),
            requires: Vec::new(),
        };
        let others = self.without_this_point(others, &reduce.binders, span);
        let others = Expr::new(ExprKind::Reduce(others), e.ty.clone(), span);
        let value = self.times(tangent, others);
        let sum = Reduce {
            op: ReduceOp::Sum,
            binders: reduce.binders.clone(),
            items,
            value,
            requires: reduce.requires.clone(),
        };
        Some(Expr::new(ExprKind::Reduce(sum), e.ty.clone(), span))
    }

    /// The same reduction over fresh variables, without the point at which `binders` stand.
    ///
    /// All that is inside follows the new variables, positions included: whether a factor is the one
    /// to leave out is decided by the point, never by what it reads, because points may read one
    /// cell (`x[max(k - 1, 0)]`).
    pub(super) fn without_this_point(
        &mut self,
        mut others: Reduce,
        binders: &[Binder],
        span: Span,
    ) -> Reduce {
        let mut names = Renaming::default();
        self.freshen_reduce(&mut others, &mut names);
        let mut same: Option<Expr> = None;
        for (here, there) in binders.iter().zip(&others.binders) {
            let (a, b) = (self.var(here.var, span), self.var(there.var, span));
            let equal = Expr::new(ExprKind::Binary(BinaryOp::Eq, a, b), Type::BOOL, span);
            same = Some(match same {
                None => equal,
                Some(same) => Expr::new(ExprKind::And(same, equal), Type::BOOL, span),
            });
        }
        let elsewhere = match same {
            Some(same) => Expr::new(ExprKind::Unary(UnaryOp::Not, same), Type::BOOL, span),
            None => Expr::new(ExprKind::Const(Scalar::Bool(false)), Type::BOOL, span),
        };
        others.items.insert(0, Item::Guard(elsewhere));
        others
    }

    /// The items of a reduction as the primal has them.
    fn primal_items(&self, items: &[Item], t: &Tangents) -> Vec<Item> {
        let primal = |item: &Item| match item {
            Item::Let(var, value) => Item::Let(*var, self.primal(value, t)),
            Item::Guard(cond) => Item::Guard(self.primal(cond, t)),
        };
        items.iter().map(primal).collect()
    }

    /// The tangent at the first extremal element; zero if there is none.
    fn extremum_tangent(&mut self, reduce: &Reduce, e: &Expr, t: &mut Tangents) -> Option<Expr> {
        let mut inner = t.clone();
        let items = self.items_tangent(&reduce.items, &mut inner);
        let tangent = self.tangent(&reduce.value, &mut inner)?;
        let span = e.span;
        let binder = reduce.binders.first()?;
        let primal_items = self.primal_items(&reduce.items, t);
        let over = |op, value, ty| {
            let reduce = Reduce {
                op,
                binders: reduce.binders.clone(),
                items: primal_items.clone(),
                value,
                requires: Vec::new(),
            };
            Expr::new(ExprKind::Reduce(reduce), ty, span)
        };
        let op = if reduce.op == ReduceOp::Max { ReduceOp::Argmax } else { ReduceOp::Argmin };
        let at = over(op, self.primal(&reduce.value, t), Type::I32);
        let truth = Expr::new(ExprKind::Const(Scalar::Bool(true)), Type::BOOL, span);
        let exists = over(ReduceOp::Any, truth, Type::BOOL);
        let mut stmts = vec![super::let_stmt(binder.var, at)];
        for item in items {
            if let Item::Let(var, value) = item {
                stmts.push(super::let_stmt(var, value));
            }
        }
        let ty = e.ty.clone();
        let then = Expr::new(ExprKind::Block { stmts, value: tangent }, ty.clone(), span);
        let otherwise = self.number(&ty, 0.0, span);
        Some(Expr::new(ExprKind::If { cond: exists, then, otherwise }, ty, span))
    }

    /// Over several indices: the extremum of the extrema, which finds the same first element.
    fn nested_extremum(&mut self, reduce: &Reduce, e: &Expr, t: &mut Tangents) -> Option<Expr> {
        let (first, rest) = reduce.binders.split_first()?;
        let inner = Reduce {
            op: reduce.op,
            binders: rest.to_vec(),
            items: reduce.items.clone(),
            value: reduce.value.clone(),
            requires: Vec::new(),
        };
        let value = Expr::new(ExprKind::Reduce(inner), e.ty.clone(), e.span);
        let outer = Reduce {
            op: reduce.op,
            binders: vec![first.clone()],
            items: Vec::new(),
            value,
            requires: reduce.requires.clone(),
        };
        self.reduce_tangent(&outer, e, t)
    }
}
