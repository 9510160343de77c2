//! The tangent of an expression: dispatch by construct.

use super::{Pass, let_stmt};
use ein_ir::tensor::walk::each_child_mut;
use ein_ir::tensor::{CompClause, Expr, ExprKind, Item, Pattern, Stmt, StmtKind, Type, VarId};
use ein_scalar::{BinaryOp, ScalarType};
use rustc_hash::FxHashMap;

/// Which variables have tangents, and where they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Tangents {
    map: FxHashMap<VarId, VarId>,
    /// A recurrence seen from inside itself, and the finished tensor to read instead.
    finished: FxHashMap<VarId, VarId>,
}

impl Tangents {
    pub fn get(&self, var: VarId) -> Option<VarId> {
        self.map.get(&var).copied()
    }
    pub fn set(&mut self, var: VarId, tangent: VarId) {
        self.map.insert(var, tangent);
    }
    /// The variable is bound again, and does not move.
    pub fn forget(&mut self, var: VarId) {
        self.map.remove(&var);
    }
    pub fn finish(&mut self, self_var: VarId, var: VarId) {
        self.finished.insert(self_var, var);
    }
    /// All variables with tangents, in a fixed order.
    pub fn active(&self) -> Vec<VarId> {
        let mut active: Vec<VarId> = self.map.keys().copied().collect();
        active.sort();
        active
    }
}

impl Pass<'_> {
    /// The tangent of what a variable is bound to; `None` if it does not move.
    pub(super) fn bound_tangent(
        &mut self,
        var: VarId,
        value: &Expr,
        t: &mut Tangents,
    ) -> Option<Expr> {
        match &*value.kind {
            ExprKind::Tensor(tensor) => self.tensor_tangent(tensor, Some(var), value, t),
            _ => self.tangent(value, t),
        }
    }

    /// The tangent of an expression; `None` if it does not move.
    pub(super) fn tangent(&mut self, e: &Expr, t: &mut Tangents) -> Option<Expr> {
        if !moves(&e.ty) {
            return None;
        }
        let span = e.span;
        if !self.may_go_on(1, span) {
            return Some(Expr::error(span));
        }
        match &*e.kind {
            ExprKind::Const(_)
            | ExprKind::Str(_)
            | ExprKind::Unit
            | ExprKind::Size(_)
            | ExprKind::Error
            | ExprKind::Range(..)
            | ExprKind::And(..)
            | ExprKind::Or(..) => None,
            ExprKind::Var(var) => t.get(*var).map(|tangent| self.var(tangent, span)),
            ExprKind::Unary(op, a) => {
                let da = self.tangent(a, t)?;
                self.unary_tangent(*op, self.primal(a, t), da, span)
            }
            ExprKind::Binary(op, a, b) => {
                let (da, db) = (self.tangent(a, t), self.tangent(b, t));
                if da.is_none() && db.is_none() {
                    return None;
                }
                let (a, b) = (self.primal(a, t), self.primal(b, t));
                self.binary_tangent(*op, a, b, da, db, span)
            }
            ExprKind::Cast(a) => {
                let da = self.tangent(a, t)?;
                Some(Expr::new(ExprKind::Cast(da), e.ty.clone(), span))
            }
            ExprKind::If { cond, then, otherwise } => {
                let (a, b) = (self.tangent(then, t), self.tangent(otherwise, t));
                if a.is_none() && b.is_none() {
                    return None;
                }
                let a = a.unwrap_or_else(|| self.zeros_like(self.primal(then, t)));
                let b = b.unwrap_or_else(|| self.zeros_like(self.primal(otherwise, t)));
                let cond = self.primal(cond, t);
                let kind = ExprKind::If { cond, then: a, otherwise: b };
                Some(Expr::new(kind, e.ty.clone(), span))
            }
            ExprKind::Block { stmts, value } => {
                let t = &mut t.clone();
                let mut stmts = self.stmts_tangent(stmts, t);
                let value = self.tangent(value, t)?;
                let types = |var: VarId| self.program.vars[var].ty.clone();
                super::share::drop_unread(&mut stmts, &value, &types);
                Some(Expr::new(ExprKind::Block { stmts, value }, e.ty.clone(), span))
            }
            ExprKind::Match { value, arms } => self.match_tangent(value, arms, e, t),
            ExprKind::Tensor(tensor) => self.tensor_tangent(tensor, None, e, t),
            ExprKind::Reduce(reduce) => self.reduce_tangent(reduce, e, t),
            ExprKind::Scatter(scatter) => self.scatter_tangent(scatter, e, t),
            ExprKind::Index { base, indices } => {
                let base = self.tangent(base, t)?;
                let mut indices = super::proved(indices);
                for index in &mut indices {
                    index.value = self.primal(&index.value, t);
                }
                Some(Expr::new(ExprKind::Index { base, indices }, e.ty.clone(), span))
            }
            ExprKind::Slice { base, axis, lo, hi } => {
                let base = self.tangent(base, t)?;
                let lo = lo.as_ref().map(|lo| self.primal(lo, t));
                let hi = hi.as_ref().map(|hi| self.primal(hi, t));
                let kind = ExprKind::Slice { base, axis: *axis, lo, hi };
                Some(Expr::new(kind, e.ty.clone(), span))
            }
            ExprKind::Gather { base, axis, indices, name } => {
                let base = self.tangent(base, t)?;
                let indices = self.primal(indices, t);
                let kind = ExprKind::Gather { base, axis: *axis, indices, name: *name };
                Some(Expr::new(kind, e.ty.clone(), span))
            }
            ExprKind::Permute { base, order } => {
                let base = self.tangent(base, t)?;
                let kind = ExprKind::Permute { base, order: order.clone() };
                Some(Expr::new(kind, e.ty.clone(), span))
            }
            ExprKind::Join { axis, left, right } => {
                let (a, b) = (self.tangent(left, t), self.tangent(right, t));
                if a.is_none() && b.is_none() {
                    return None;
                }
                let left = a.unwrap_or_else(|| self.zeros_like(self.primal(left, t)));
                let right = b.unwrap_or_else(|| self.zeros_like(self.primal(right, t)));
                Some(Expr::new(ExprKind::Join { axis: *axis, left, right }, e.ty.clone(), span))
            }
            ExprKind::Array(items) => {
                let items = self.all_tangents(items, t)?;
                Some(Expr::new(ExprKind::Array(items), e.ty.clone(), span))
            }
            ExprKind::Tuple(items) => {
                let items = self.all_tangents(items, t)?;
                Some(Expr::new(ExprKind::Tuple(items), e.ty.clone(), span))
            }
            ExprKind::Make { data, variant, fields } => {
                let fields = self.all_tangents(fields, t)?;
                let kind = ExprKind::Make { data: *data, variant: *variant, fields };
                Some(Expr::new(kind, e.ty.clone(), span))
            }
            ExprKind::TupleGet(a, at) => {
                let da = self.tangent(a, t)?;
                Some(Expr::new(ExprKind::TupleGet(da, *at), e.ty.clone(), span))
            }
            ExprKind::FieldGet(a, at) => {
                let da = self.tangent(a, t)?;
                Some(Expr::new(ExprKind::FieldGet(da, *at), e.ty.clone(), span))
            }
            ExprKind::Comprehension { clauses, body } => {
                self.comprehension_tangent(clauses, body, e, t)
            }
            ExprKind::Call { .. }
            | ExprKind::CallValue { .. }
            | ExprKind::Closure { .. }
            | ExprKind::Specialise { .. } => self.call_tangent(e, t),
            ExprKind::Host(op, args) => self.host_tangent(op, args, e, t),
            ExprKind::Assert { value, extents, what } => {
                let value = self.tangent(value, t)?;
                let kind = ExprKind::Assert { value, extents: extents.clone(), what: what.clone() };
                Some(Expr::new(kind, e.ty.clone(), span))
            }
            ExprKind::Try(inner) => {
                self.tangent(inner, t)?;
                Some(self.refuse(span, "`try` has no derivative"))
            }
            ExprKind::Derivative(_) => Some(self.refuse(span, "a derivative request is left")),
        }
    }

    /// The tangents of several values, zeros where one does not move; `None` if none moves.
    pub(super) fn all_tangents(&mut self, items: &[Expr], t: &mut Tangents) -> Option<Vec<Expr>> {
        let tangents: Vec<Option<Expr>> = items.iter().map(|item| self.tangent(item, t)).collect();
        if tangents.iter().all(Option::is_none) {
            return None;
        }
        let filled = tangents.into_iter().zip(items).map(|(tangent, item)| {
            tangent.unwrap_or_else(|| self.zeros_like(self.primal(item, t)))
        });
        Some(filled.collect())
    }

    /// The primal value as it can be read beside its tangent: reads of an unfinished recurrence go
    /// to the finished one.
    pub(super) fn primal(&self, e: &Expr, t: &Tangents) -> Expr {
        self.count_copy(e);
        let mut copy = e.clone();
        if !t.finished.is_empty() {
            redirect(&mut copy, &t.finished);
        }
        copy
    }

    /// Statements with the tangents of what they bind.
    pub(super) fn stmts_tangent(&mut self, stmts: &[Stmt], t: &mut Tangents) -> Vec<Stmt> {
        let mut result = Vec::new();
        for stmt in stmts {
            match &stmt.kind {
                StmtKind::Let(var, value) => {
                    result.push(let_stmt(*var, self.primal(value, t)));
                    if let Some(tangent) = self.bound_tangent(*var, value, t) {
                        let tv = self.local("$t", tangent.ty.clone(), tangent.span);
                        result.push(let_stmt(tv, tangent));
                        t.set(*var, tv);
                    } else {
                        t.forget(*var);
                    }
                }
                StmtKind::Destructure(pattern, value) => {
                    let kind = StmtKind::Destructure(pattern.clone(), self.primal(value, t));
                    result.push(Stmt { kind, span: stmt.span });
                    if let Some(tangent) = self.tangent(value, t) {
                        let pattern = self.tangent_pattern(pattern, t);
                        let kind = StmtKind::Destructure(pattern, tangent);
                        result.push(Stmt { kind, span: stmt.span });
                    }
                }
                // Effects happen once, in the primal.
                StmtKind::Expr(_) => {}
                StmtKind::Require(_) => result.push(stmt.clone()),
            }
        }
        result
    }

    /// Bindings and guards with the tangents of what they bind.
    pub(super) fn items_tangent(&mut self, items: &[Item], t: &mut Tangents) -> Vec<Item> {
        let mut result = Vec::new();
        for item in items {
            match item {
                Item::Let(var, value) => {
                    result.push(Item::Let(*var, self.primal(value, t)));
                    if let Some(tangent) = self.bound_tangent(*var, value, t) {
                        let tv = self.local("$t", tangent.ty.clone(), tangent.span);
                        result.push(Item::Let(tv, tangent));
                        t.set(*var, tv);
                    } else {
                        t.forget(*var);
                    }
                }
                Item::Guard(cond) => result.push(Item::Guard(self.primal(cond, t))),
            }
        }
        result
    }

    fn comprehension_tangent(
        &mut self,
        clauses: &[CompClause],
        body: &Expr,
        e: &Expr,
        t: &mut Tangents,
    ) -> Option<Expr> {
        let t = &mut t.clone();
        let mut result = Vec::new();
        for clause in clauses {
            match clause {
                CompClause::Generator(pattern, over) => {
                    let moving = self.tangent(over, t);
                    let (Some(moving), Pattern::Bind(var)) = (moving, pattern) else {
                        result.push(CompClause::Generator(pattern.clone(), self.primal(over, t)));
                        continue;
                    };
                    // Runs over positions instead, so that the tangent is read beside the value.
                    let span = over.span;
                    let at = self.local("$i", Type::I32, span);
                    let length = Expr::new(
                        ExprKind::Host(ein_ir::tensor::HostOp::Len, vec![self.primal(over, t)]),
                        Type::I32,
                        span,
                    );
                    let range =
                        Expr::new(ExprKind::Range(Expr::int(0, span), length), Type::Range, span);
                    result.push(CompClause::Generator(Pattern::Bind(at), range));
                    let item = self.program.vars[*var].ty.clone();
                    let read = |pass: &Self, base: Expr| {
                        let index = ein_ir::tensor::IndexArg {
                            value: pass.var(at, span),
                            bounds: ein_ir::tensor::Bounds::Checked,
                        };
                        let kind = ExprKind::Index { base, indices: vec![index] };
                        Expr::new(kind, item.clone(), span)
                    };
                    result.push(CompClause::Binding(*var, read(self, self.primal(over, t))));
                    let tv = self.local("$t", item.clone(), span);
                    result.push(CompClause::Binding(tv, read(self, moving)));
                    t.set(*var, tv);
                }
                CompClause::Condition(cond) => {
                    result.push(CompClause::Condition(self.primal(cond, t)));
                }
                CompClause::Binding(var, value) => {
                    result.push(CompClause::Binding(*var, self.primal(value, t)));
                    if let Some(tangent) = self.tangent(value, t) {
                        let tv = self.local("$t", tangent.ty.clone(), tangent.span);
                        result.push(CompClause::Binding(tv, tangent));
                        t.set(*var, tv);
                    }
                }
            }
        }
        let body = self.tangent(body, t)?;
        let kind = ExprKind::Comprehension { clauses: result, body };
        Some(Expr::new(kind, e.ty.clone(), e.span))
    }

    /// `a * b`
    pub(super) fn times(&self, a: Expr, b: Expr) -> Expr {
        let one = |e: &Expr| matches!(&*e.kind, ExprKind::Const(value) if value.ty().is_float() && value.as_f64() == 1.0);
        if one(&a) {
            return b;
        }
        if one(&b) {
            return a;
        }
        self.arith(BinaryOp::Mul, a, b)
    }

    /// A scalar operation on two values of one type, or on positions: those that a program computes
    /// may be of any type of integer.
    pub(super) fn arith(&self, op: BinaryOp, a: Expr, b: Expr) -> Expr {
        let whole = |e: &Expr| matches!(e.ty, Type::Scalar(ty) if ty.is_int());
        let (a, b) =
            if a.ty != b.ty && whole(&a) && whole(&b) { (wide(a), wide(b)) } else { (a, b) };
        let (ty, span) = (a.ty.clone(), a.span);
        Expr::new(ExprKind::Binary(op, a, b), ty, span)
    }
}

/// An integer in the type that holds every position.
fn wide(e: Expr) -> Expr {
    let span = e.span;
    Expr::new(ExprKind::Cast(e), Type::Scalar(ScalarType::I64), span)
}

/// Whether values of a type can have a tangent.
pub(super) fn moves(ty: &Type) -> bool {
    match ty {
        Type::Scalar(scalar) => scalar.is_float(),
        Type::Array(array) => moves(&array.elem),
        Type::AnyRank(elem) | Type::Jagged(elem, _) => moves(elem),
        Type::Tuple(items) => items.iter().any(moves),
        // What is inside a struct or behind a function is looked at where it is used.
        Type::Data(..) | Type::Template(..) | Type::Signature(_) => true,
        Type::Unit | Type::Str | Type::Range | Type::Error => false,
    }
}

fn redirect(e: &mut Expr, finished: &FxHashMap<VarId, VarId>) {
    if let ExprKind::Var(var) = &mut *e.kind
        && let Some(done) = finished.get(var)
    {
        *var = *done;
    }
    each_child_mut(e, &mut |child| redirect(child, finished));
}
