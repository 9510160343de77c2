//! Clauses of a name that a step computes before the others.
//!
//! Before:  `R[j, k] = … where j < k`, `R[j, k] = … V[i, k] … where j == k`, `V[i, k] = … R[j, k] …`
//! After:   `E[j, k] = …`, `R[j, k] = E[j, k] where j < k`, `R[…] = … V …`, `V[i, k] = … E[j, k] …`
//!
//! One name of a system waits for itself if only some of its clauses read what others read of it. So
//! a clause becomes a name of its own, which all reads take that certainly mean its points.

use super::Member;
use crate::check::expr;
use crate::check::paths::{self, Path, Visit};
use crate::check::regions::guards;
use crate::check::state::{Build, Index};
use ein_base::Span;
use ein_ir::tensor::{
    Bounds, Clause, ClauseSlot, Expr, ExprKind, IndexArg, Item, Tensor, Type, VarId,
};

/// The same system with one clause of one of its names as a name of its own; nothing if nobody reads it.
pub(super) fn with_early(
    ix: &mut Index,
    build: &Build,
    members: &[Member],
    at: usize,
    clause: usize,
) -> Option<Vec<Member>> {
    let own = &members[at];
    let early = own.tensor.clauses[clause].clone();
    if early.until.is_some() || own.tensor.shape.iter().any(Option::is_none) {
        return None;
    }
    let var = ix.new_var(own.name, own.span, Type::Error);
    let ty = ix.settle_type(var, own.ty.clone());
    let later = own.tensor.clauses[clause + 1..].to_vec();
    let mut reads = Reads { of: own.var, early: var, clause: &early, later: &later, any: false };
    let mut members = members.to_vec();
    for (_, other) in members.iter_mut().enumerate().filter(|(other, _)| *other != at) {
        let mut path = Path::new(ix.f.facts.clone());
        other.tensor.requires.iter().for_each(|it| path.facts.eq(&it.left, &it.right));
        for clause in &mut other.tensor.clauses {
            paths::walk::walk_clause(ix, build, clause, &mut path, &mut reads);
        }
    }
    if !reads.any {
        return None;
    }
    let kept = &mut members[at].tensor.clauses[clause];
    let point = kept.slots.iter().map(|slot| match slot {
        ClauseSlot::Point(at) => Expr::int(*at, kept.span),
        ClauseSlot::Loop(it) => Expr::new(ExprKind::Var(it.var), Type::I32, kept.span),
    });
    let base = Expr::new(ExprKind::Var(var), ty.clone(), kept.span);
    kept.value = expr::read(base, point.collect(), Bounds::Proved, kept.span);
    if kept.otherwise.take().is_some() {
        kept.items.retain(|item| matches!(item, Item::Let(..)));
    }
    let Member { name, span, .. } = members[at];
    let (clauses, requires) = (vec![early], Vec::new());
    let whole = members[at].tensor.clone();
    let tensor = Tensor { self_var: Some(var), clauses, requires, ..whole };
    members.push(Member { local: None, name, var, tensor, ty, span });
    Some(members)
}

/// Sends reads of a name to one of its clauses, where they certainly mean that.
struct Reads<'c> {
    of: VarId,
    early: VarId,
    clause: &'c Clause,
    later: &'c [Clause],
    any: bool,
}

impl Visit for Reads<'_> {
    fn read(
        &mut self,
        ix: &mut Index,
        _build: &Build,
        base: &mut Expr,
        indices: &mut [IndexArg],
        _span: Span,
        path: &mut Path,
    ) {
        let rank = self.clause.slots.len();
        let at = indices.iter().take(rank).map(|index| ix.to_size(&index.value));
        if matches!(&*base.kind, ExprKind::Var(var) if *var == self.of)
            && let Some(at) = at.collect::<Option<Vec<_>>>().filter(|at| at.len() == rank)
            && guards::is_inside(ix, self.clause, &at, &path.facts)
            && self.later.iter().all(|it| guards::is_outside(ix, it, &at, &path.facts))
        {
            *base.kind = ExprKind::Var(self.early);
            self.any = true;
        }
    }
}
