//! Definitions: every clause by its own tangent, guards and order kept.

use super::Pass;
use super::rename::Renaming;
use super::tangent::Tangents;
use ein_base::Span;
use ein_ir::tensor::walk::each_in_clause_mut;
use ein_ir::tensor::{Clause, ClauseSlot, Expr, ExprKind, Tensor, Type, VarId};

impl Pass<'_> {
    /// The tangent of a definition. `bound` is the variable that holds the finished tensor, if
    /// there is one.
    pub(super) fn tensor_tangent(
        &mut self,
        tensor: &Tensor,
        bound: Option<VarId>,
        e: &Expr,
        t: &mut Tangents,
    ) -> Option<Expr> {
        let Some(self_var) = tensor.self_var else {
            let mut inner = t.clone();
            let (clauses, moving) = self.clauses_tangent(tensor, &mut inner);
            return moving.then(|| self.with_clauses(tensor, None, clauses, e));
        };
        // A recurrence: its own tangent runs along, and the primal steps are read where they are
        // finished.
        let mut inner = t.clone();
        let self_tangent = self.local("$t", self.program.vars[self_var].ty.clone(), e.span);
        let (finished, first) = match bound {
            Some(var) => (var, None),
            None => {
                let var = self.local("$v", e.ty.clone(), e.span);
                (var, Some(super::let_stmt(var, self.primal(e, t))))
            }
        };
        inner.finish(self_var, finished);
        let mut own = self.made(tensor, finished).unwrap_or_else(|| tensor.clone());
        if own.shape.iter().any(Option::is_none) {
            // The extents that it finds out itself are those of the finished one.
            let mut names = Renaming::default();
            names.vars.insert(self_var, finished);
            let parts = own.clauses.iter_mut();
            parts
                .for_each(|part| each_in_clause_mut(part, &mut |e| self.rename_extents(e, &names)));
        }
        let tensor = &own;
        // First without the tangent of itself: if nothing else moves, nothing does.
        let mut probe = inner.clone();
        let (_, moving) = self.clauses_tangent(tensor, &mut probe);
        if !moving {
            return None;
        }
        inner.set(self_var, self_tangent);
        let (clauses, _) = self.clauses_tangent(tensor, &mut inner);
        let value = self.with_clauses(tensor, Some(self_tangent), clauses, e);
        match first {
            None => Some(value),
            Some(first) => {
                let ty = value.ty.clone();
                let kind = ExprKind::Block { stmts: vec![first], value };
                Some(Expr::new(kind, ty, e.span))
            }
        }
    }

    fn with_clauses(
        &self,
        tensor: &Tensor,
        self_var: Option<VarId>,
        clauses: Vec<Clause>,
        e: &Expr,
    ) -> Expr {
        let tensor = Tensor {
            name: tensor.name,
            self_var,
            shape: tensor.shape.clone(),
            inner_rank: tensor.inner_rank,
            clauses,
            recurrence: tensor.recurrence.clone(),
            requires: tensor.requires.clone(),
        };
        Expr::new(ExprKind::Tensor(tensor), e.ty.clone(), e.span)
    }

    /// The clauses of the tangent, and whether any of them moves.
    fn clauses_tangent(&mut self, tensor: &Tensor, t: &mut Tangents) -> (Vec<Clause>, bool) {
        let mut moving = false;
        let mut clauses = Vec::new();
        for clause in &tensor.clauses {
            let mut inner = t.clone();
            let items = self.items_tangent(&clause.items, &mut inner);
            let value = self.tangent(&clause.value, &mut inner);
            let otherwise = clause.otherwise.as_ref().map(|e| (e, self.tangent(e, &mut inner)));
            moving |= value.is_some() || matches!(otherwise, Some((_, Some(_))));
            let value = match value {
                Some(value) => value,
                None => self.zeros_like(self.primal(&clause.value, &inner)),
            };
            let otherwise = otherwise.map(|(e, tangent)| match tangent {
                Some(tangent) => tangent,
                None => self.zeros_like(self.primal(e, &inner)),
            });
            clauses.push(Clause {
                slots: clause.slots.clone(),
                items,
                value,
                otherwise,
                until: None,
                span: clause.span,
            });
        }
        (clauses, moving)
    }
}

/// A definition with one clause.
pub(super) fn defined(slots: Vec<ClauseSlot>, value: Expr, ty: Type, span: Span) -> Expr {
    let tensor = Tensor {
        name: None,
        self_var: None,
        shape: ty.axes().iter().map(|axis| Some(axis.size.clone())).collect(),
        inner_rank: 0,
        clauses: vec![Clause {
            slots,
            items: Vec::new(),
            value,
            otherwise: None,
            until: None,
            span,
        }],
        recurrence: None,
        requires: Vec::new(),
    };
    Expr::new(ExprKind::Tensor(tensor), ty, span)
}
