//! Reductions: `sum` passes to all, `prod` by exclusive products, `max` and `min` to the first
//! extremal element, `mean` divides as the primal does.

use super::Pass;
use super::tangent::Tangents;
use ein_base::Span;
use ein_ir::tensor::walk::each_child_mut;
use ein_ir::tensor::{Binder, Expr, ExprKind, Item, Reduce, ReduceOp, Scatter, Type, VarId};
use ein_scalar::{BinaryOp, Scalar, UnaryOp};
use rustc_hash::FxHashMap;

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
        // The others: the same product over fresh variables, without this point.
        let mut renamed: FxHashMap<VarId, VarId> = FxHashMap::default();
        for binder in &reduce.binders {
            let ty = self.program.vars[binder.var].ty.clone();
            renamed.insert(binder.var, self.local("$j", ty, span));
        }
        for item in &reduce.items {
            if let Item::Let(var, _) = item {
                let ty = self.program.vars[*var].ty.clone();
                renamed.insert(*var, self.local("$j", ty, span));
            }
        }
        let here = self.same_point(&reduce.binders, &renamed, span);
        let elsewhere = Expr::new(ExprKind::Unary(UnaryOp::Not, here), Type::BOOL, span);
        let mut other_items = vec![Item::Guard(elsewhere)];
        for item in &reduce.items {
            other_items.push(match item {
                Item::Let(var, value) => {
                    Item::Let(renamed[var], self.renamed(&self.primal(value, t), &renamed))
                }
                Item::Guard(cond) => Item::Guard(self.renamed(&self.primal(cond, t), &renamed)),
            });
        }
        let others = Reduce {
            op: ReduceOp::Prod,
            binders: reduce
                .binders
                .iter()
                .map(|binder| Binder {
                    var: renamed[&binder.var],
                    lo: self.renamed(&binder.lo, &renamed),
                    hi: self.renamed(&binder.hi, &renamed),
                })
                .collect(),
            items: other_items,
            value: self.renamed(&self.primal(&reduce.value, t), &renamed),
            requires: Vec::new(),
        };
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

    /// Whether the renamed variables stand at the same point.
    fn same_point(
        &self,
        binders: &[Binder],
        renamed: &FxHashMap<VarId, VarId>,
        span: Span,
    ) -> Expr {
        let mut same: Option<Expr> = None;
        for binder in binders {
            let (a, b) = (self.var(binder.var, span), self.var(renamed[&binder.var], span));
            let equal = Expr::new(ExprKind::Binary(BinaryOp::Eq, a, b), Type::BOOL, span);
            same = Some(match same {
                None => equal,
                Some(same) => Expr::new(ExprKind::And(same, equal), Type::BOOL, span),
            });
        }
        same.unwrap_or_else(|| Expr::new(ExprKind::Const(Scalar::Bool(true)), Type::BOOL, span))
    }

    /// The expression with other variables, in sizes as well.
    fn renamed(&self, e: &Expr, renamed: &FxHashMap<VarId, VarId>) -> Expr {
        let mut copy = e.clone();
        self.rename(&mut copy, renamed);
        copy
    }

    fn rename(&self, e: &mut Expr, renamed: &FxHashMap<VarId, VarId>) {
        if let ExprKind::Var(var) = &mut *e.kind
            && let Some(new) = renamed.get(var)
        {
            *var = *new;
        }
        if let ExprKind::Size(size) = &*e.kind
            && let Some(split) = self.size_with(size, renamed, e.span)
        {
            *e = split;
            return;
        }
        each_child_mut(e, &mut |child| self.rename(child, renamed));
    }

    /// A size that mentions renamed index variables, as arithmetic on the new ones.
    fn size_with(
        &self,
        size: &ein_ir::size::Expr,
        renamed: &FxHashMap<VarId, VarId>,
        span: Span,
    ) -> Option<Expr> {
        use ein_ir::tensor::AtomDef;
        let atom = size.atoms().into_iter().find(|atom| {
            matches!(self.program.atoms[*atom].def, AtomDef::Var(var) if renamed.contains_key(&var))
        })?;
        let AtomDef::Var(var) = self.program.atoms[atom].def else { return None };
        let (coefficient, rest) = size.affine_in(atom)?;
        let new = self.var(renamed[&var], span);
        let scaled = self.arith(BinaryOp::Mul, Expr::int(coefficient, span), new);
        let rest = match self.size_with(&rest, renamed, span) {
            Some(rest) => rest,
            None => Expr::size(rest, span),
        };
        Some(self.arith(BinaryOp::Add, scaled, rest))
    }

    /// The tangent at the first extremal element; zero if there is none.
    fn extremum_tangent(&mut self, reduce: &Reduce, e: &Expr, t: &mut Tangents) -> Option<Expr> {
        let mut inner = t.clone();
        let items = self.items_tangent(&reduce.items, &mut inner);
        let tangent = self.tangent(&reduce.value, &mut inner)?;
        let span = e.span;
        let binder = reduce.binders.first()?;
        let primal_items: Vec<Item> = reduce
            .items
            .iter()
            .map(|item| match item {
                Item::Let(var, value) => Item::Let(*var, self.primal(value, t)),
                Item::Guard(cond) => Item::Guard(self.primal(cond, t)),
            })
            .collect();
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
