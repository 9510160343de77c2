//! Bindings inside a definition that do not need all its indices, as definitions beside it.
//!
//! Before:  `p[r, c] = { let e[k] = exp(x[r, k]); let s = sum[k](e[k]); e[c] / s }`
//! After:   `e[r][k] = exp(x[r, k]); s[r] = sum[k](e[r][k]); p[r, c] = e[r][c] / s[r]`
//!
//! What flows back to a binding inside would be collected for every point of the definition, though
//! the points that share the binding could share what flows back to it as well: an array for each
//! point instead of one, in time and in memory. The last expression of a function after its `let`s is
//! such a definition.
//!
//! Failures: a binding leaves indices that have no points beside some points of the others only if it
//! cannot fail.

use super::Reverse;
use super::fails::{Runs, runs_beside};
use super::lift::replace_vars;
use crate::autodiff::let_stmt;
use crate::autodiff::rename::Renaming;
use ein_ir::tensor::walk::{any, each_child_mut, each_in_stmt};
use ein_ir::tensor::{
    Axis, Binder, Bounds, Clause, ClauseSlot, Expr, ExprKind, IndexArg, Stmt, StmtKind, Tensor,
    Type, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};

impl Reverse<'_, '_> {
    /// A definition as a block that begins with the bindings it need not repeat, if there are any.
    pub(super) fn apart(&mut self, tensor: &Tensor, e: &Expr) -> Option<Expr> {
        let [clause] = tensor.clauses.as_slice() else { return None };
        if tensor.self_var.is_some() || !clause.items.is_empty() || clause.otherwise.is_some() {
            return None;
        }
        let stmts = match &*clause.value.kind {
            ExprKind::Block { stmts, .. } => stmts.as_slice(),
            _ => &[],
        };
        let worth =
            |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Let(_, value) if self.shareable(value));
        let some = stmts.iter().any(worth);
        let copy = self.pass.freshened(e, &mut Renaming::default());
        let ExprKind::Tensor(mut tensor) = *copy.kind else { return None };
        let clause = tensor.clauses.first_mut()?;
        if !self.name_calls(clause) && !some {
            return None;
        }
        let mut before = Vec::new();
        // What the rest of the block mentions under a new name.
        let mut moved: FxHashMap<VarId, Expr> = FxHashMap::default();
        // What each binding that stays needs of the indices.
        let mut needs: FxHashMap<VarId, FxHashSet<VarId>> = FxHashMap::default();
        let mut kept = Vec::new();
        let (mut stmts, mut value) =
            flat(std::mem::replace(&mut clause.value, Expr::error(e.span)));
        let sized = self.sized(&stmts, &value);
        for mut stmt in std::mem::take(&mut stmts) {
            ein_ir::tensor::walk::each_in_stmt_mut(&mut stmt, &mut |e| replaced(e, &moved));
            let (var, whole) = match stmt.kind {
                StmtKind::Let(var, whole) => (var, whole),
                StmtKind::Destructure(..) | StmtKind::Expr(_) | StmtKind::Require(_) => {
                    let all = clause.indices().map(|(_, binder)| binder.var).collect();
                    if let StmtKind::Destructure(pattern, _) = &stmt.kind {
                        let set = |var: VarId| (var, FxHashSet::clone(&all));
                        needs.extend(pattern.variables().into_iter().map(set));
                    }
                    kept.push(stmt);
                    continue;
                }
            };
            let mut mentioned = FxHashSet::default();
            self.variables(&whole, &mut mentioned);
            for axis in whole.ty.axes() {
                self.size_variables(&axis.size, &mut mentioned);
            }
            let used = |binder: &Binder| {
                mentioned.contains(&binder.var)
                    || mentioned
                        .iter()
                        .any(|var| needs.get(var).is_some_and(|it| it.contains(&binder.var)))
            };
            let stays = mentioned.iter().any(|var| needs.contains_key(var));
            let over: Vec<(usize, Binder)> = clause
                .indices()
                .filter(|(_, binder)| used(binder))
                .map(|(axis, binder)| (axis, binder.clone()))
                .collect();
            let all = over.len() == clause.indices().count();
            let leaves = !stays
                && !all
                && !sized.contains(&var)
                && self.shareable(&whole)
                && may_leave_indices(self, &whole, clause, &over);
            let made = if leaves {
                self.beside(var, &whole, &over, &tensor.shape, clause.span)
            } else {
                None
            };
            match made {
                Some((stmt, read)) => {
                    before.push(stmt);
                    moved.insert(var, read);
                }
                None => {
                    needs.insert(var, over.iter().map(|(_, binder)| binder.var).collect());
                    kept.push(Stmt { kind: StmtKind::Let(var, whole), span: stmt.span });
                }
            }
        }
        if before.is_empty() {
            return None;
        }
        replaced(&mut value, &moved);
        clause.value = match kept.is_empty() {
            true => value,
            false => {
                let (ty, span) = (value.ty.clone(), value.span);
                Expr::new(ExprKind::Block { stmts: kept, value }, ty, span)
            }
        };
        let rest = Expr::new(ExprKind::Tensor(tensor), copy.ty.clone(), copy.span);
        let kind = ExprKind::Block { stmts: before, value: rest };
        Some(Expr::new(kind, copy.ty, copy.span))
    }

    /// Whether something flows back to a value that takes more than a few operations, or is an array.
    fn shareable(&self, value: &Expr) -> bool {
        let loops = any(value, &mut |part| {
            matches!(&*part.kind, ExprKind::Reduce(_) | ExprKind::Tensor(_) | ExprKind::Scatter(_))
        });
        let numbers = matches!(value.ty.elem(), Type::Scalar(_));
        let call = || any(value, &mut |part| matches!(&*part.kind, ExprKind::Call { .. }));
        numbers && (loops || value.ty.is_array() && call()) && self.depends_somehow(value)
    }

    /// Whether a value moves, or reads a name that is bound beside it and may.
    fn depends_somehow(&self, value: &Expr) -> bool {
        let local =
            |part: &Expr| matches!(&*part.kind, ExprKind::Var(_)) && part.ty.elem() != &Type::I32;
        self.depends(value) || any(value, &mut |part| local(part))
    }

    /// Variables whose extents are mentioned: a size cannot read another name.
    fn sized(&self, stmts: &[Stmt], value: &Expr) -> FxHashSet<VarId> {
        let mut found = FxHashSet::default();
        let mut visit = |e: &Expr| {
            any(e, &mut |part| {
                for axis in part.ty.axes() {
                    self.size_variables(&axis.size, &mut found);
                }
                match &*part.kind {
                    ExprKind::Size(size) => self.size_variables(size, &mut found),
                    ExprKind::Tensor(tensor) => {
                        tensor
                            .shape
                            .iter()
                            .flatten()
                            .for_each(|it| self.size_variables(it, &mut found));
                    }
                    ExprKind::Scatter(scatter) => {
                        scatter.shape.iter().for_each(|it| self.size_variables(it, &mut found));
                    }
                    ExprKind::Call { sizes, .. } => {
                        sizes.iter().for_each(|it| self.size_variables(it, &mut found));
                    }
                    _ => {}
                }
                false
            });
        };
        for stmt in stmts {
            each_in_stmt(stmt, &mut visit);
        }
        visit(value);
        found
    }

    /// A binding as a definition over some of the indices around it, and how it is read there.
    fn beside(
        &mut self,
        var: VarId,
        whole: &Expr,
        over: &[(usize, Binder)],
        shape: &[Option<ein_ir::size::Expr>],
        span: ein_base::Span,
    ) -> Option<(Stmt, Expr)> {
        if over.is_empty() {
            let read = self.pass.var(var, whole.span);
            return Some((let_stmt(var, whole.clone()), read));
        }
        // The domains of these indices must not mention the others, nor the extents of the value any.
        let mut mentioned = FxHashSet::default();
        for axis in whole.ty.axes() {
            self.size_variables(&axis.size, &mut mentioned);
        }
        if over.iter().any(|(_, binder)| mentioned.contains(&binder.var)) {
            return None;
        }
        let mut ends = FxHashSet::default();
        for (_, binder) in over {
            self.variables(&binder.lo, &mut ends);
            self.variables(&binder.hi, &mut ends);
        }
        let index = |found: &VarId| over.iter().any(|(_, binder)| binder.var == *found);
        let outside =
            |found: &VarId| self.pass.program.vars[*found].ty == Type::I32 && !index(found);
        if ends.iter().any(outside) {
            return None;
        }
        let sizes: Option<Vec<_>> =
            over.iter().map(|(axis, _)| shape.get(*axis)?.clone()).collect();
        let axes = sizes?.into_iter().map(|size| Axis { coord: None, size });
        let axes: Vec<Axis> = axes.chain(whole.ty.axes().iter().cloned()).collect();
        let ty = Type::array(whole.ty.elem().clone(), axes);
        let name = self.pass.program.vars[var].name;
        let tensor = Tensor {
            name: Some(name),
            self_var: None,
            shape: over.iter().map(|(axis, _)| shape[*axis].clone()).collect(),
            inner_rank: whole.ty.rank(),
            clauses: vec![Clause {
                slots: over.iter().map(|(_, binder)| ClauseSlot::Loop(binder.clone())).collect(),
                items: Vec::new(),
                value: whole.clone(),
                otherwise: None,
                until: None,
                span,
            }],
            recurrence: None,
            requires: Vec::new(),
        };
        let tensor = merged(&tensor).unwrap_or(tensor);
        let definition = Expr::new(ExprKind::Tensor(tensor), ty.clone(), whole.span);
        // A copy: its indices are bound once more by what is left.
        let definition = self.pass.freshened(&definition, &mut Renaming::default());
        let stored = self.pass.local(name.as_str(), ty, whole.span);
        let at = |(_, binder): &(usize, Binder)| IndexArg {
            value: self.pass.var(binder.var, span),
            bounds: Bounds::Proved,
        };
        let base = self.pass.var(stored, span);
        let indices = over.iter().map(at).collect();
        let read = Expr::new(ExprKind::Index { base, indices }, whole.ty.clone(), span);
        Some((let_stmt(stored, definition), read))
    }
}

/// A definition whose values are definitions as one over the indices of both: what flows back to a
/// cell flows to that cell, and not to an array of which all other cells are zero.
pub(super) fn merged(tensor: &Tensor) -> Option<Tensor> {
    let [outer] = tensor.clauses.as_slice() else { return None };
    let ExprKind::Tensor(own) = &*outer.value.kind else { return None };
    let [inner] = own.clauses.as_slice() else { return None };
    let plain = |tensor: &Tensor| {
        tensor.self_var.is_none() && tensor.clauses.iter().all(|clause| clause.until.is_none())
    };
    let alone = outer.items.is_empty() && outer.otherwise.is_none() && own.requires.is_empty();
    if !alone || !plain(tensor) || !plain(own) {
        return None;
    }
    let clause = Clause {
        slots: outer.slots.iter().chain(&inner.slots).cloned().collect(),
        span: outer.span,
        ..inner.clone()
    };
    Some(Tensor {
        name: tensor.name,
        self_var: None,
        shape: tensor.shape.iter().chain(&own.shape).cloned().collect(),
        inner_rank: own.inner_rank,
        clauses: vec![clause],
        recurrence: None,
        requires: tensor.requires.clone(),
    })
}

/// A block in a block as one.
fn flat(e: Expr) -> (Vec<Stmt>, Expr) {
    let Expr { kind, ty, span } = e;
    match *kind {
        ExprKind::Block { mut stmts, value } => {
            let (more, value) = flat(value);
            stmts.extend(more);
            (stmts, value)
        }
        kind => (Vec::new(), Expr::new(kind, ty, span)),
    }
}

/// Reads what was moved at its new place; a read of a row of it is one read.
fn replaced(e: &mut Expr, moved: &FxHashMap<VarId, Expr>) {
    replace_vars(e, moved);
    merge_reads(e);
}

fn merge_reads(e: &mut Expr) {
    each_child_mut(e, &mut merge_reads);
    let ExprKind::Index { base, indices } = &mut *e.kind else { return };
    let ExprKind::Index { base: inner, indices: first } = &mut *base.kind else { return };
    let mut all = std::mem::take(first);
    all.append(indices);
    *indices = all;
    let span = inner.span;
    *base = std::mem::replace(inner, Expr::error(span));
}

/// Whether a binding may be computed wherever these indices of a clause have points, though the
/// others may have none there.
fn may_leave_indices(
    it: &mut Reverse<'_, '_>,
    whole: &Expr,
    clause: &Clause,
    over: &[(usize, Binder)],
) -> bool {
    let (mut facts, mut before) = (it.path_facts(), FxHashSet::default());
    let mut surely = true;
    for (axis, binder) in clause.indices() {
        if over.iter().all(|(kept, _)| *kept != axis) {
            surely &= runs_beside(it, binder, &before, &facts) != Runs::Perhaps;
        }
        before.insert(binder.var);
        it.loop_facts(binder, &mut facts);
    }
    if surely {
        return true;
    }
    let mut facts = it.path_facts();
    over.iter().for_each(|(_, binder)| it.loop_facts(binder, &mut facts));
    it.never_fails(whole, &facts)
}
