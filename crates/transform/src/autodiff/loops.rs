//! Requests inside loops: as much of a derivative as the loops read, computed before them.
//!
//! Before:  `let c[i] = @y[i] / @x[2];`  `let p[i] = sum[j]((@y[i] / @x[j]) * v[j]);`
//! After:   `let column = @y / @x[2]; let c[i] = column[i];`  `let q = jvp(y, x, v); let p[i] = q[i];`
//!
//! * Indices of the parameter that no loop changes make a column, those of the target a row.
//! * A sum over all of one side, times something that the other side does not change, is a product.
//! * Indices that change together (`@y[i] / @x[i]`, `@y[i] / @x[i + k]`) are entries, each by itself.
//! * Indices that change independently read all of it: it is computed as a whole, once.

use super::tensor::defined;
use super::{Pass, let_stmt, modes, named};
use ein_ir::tensor::walk::{any, each_child, each_child_mut, each_in_stmt, each_in_stmt_mut};
use ein_ir::tensor::{
    Axis, Binder, Bounds, ClauseSlot, CompClause, Derivative, Expr, ExprKind, IndexArg, Item,
    Reduce, ReduceOp, Stmt, StmtKind, Type, VarId,
};
use ein_scalar::BinaryOp;
use rustc_hash::FxHashSet;

/// What is taken out of one statement.
#[derive(Default)]
struct Taken {
    /// What the statement binds inside itself.
    inner: FxHashSet<VarId>,
    /// New statements, with the text of their requests.
    made: Vec<(String, VarId, Expr)>,
    /// How many loops are open.
    loops: usize,
    /// Whether a whole derivative is among them.
    whole: bool,
}

/// The two sides of a quotient, each a variable with its indices.
struct Sides<'a> {
    y: VarId,
    y_at: &'a [IndexArg],
    x: VarId,
    x_at: &'a [IndexArg],
}

impl Pass<'_> {
    /// Takes requests out of the loops of statements and of the value after them. Returns whether
    /// a derivative is computed as a whole for that.
    pub(super) fn out_of_loops(&mut self, stmts: &mut Vec<Stmt>, value: Option<&mut Expr>) -> bool {
        let mut whole = false;
        let list = std::mem::take(stmts);
        for mut stmt in list {
            let mut taken = Taken::default();
            each_in_stmt(&stmt, &mut |e| bound_in(e, &mut taken.inner));
            each_in_stmt_mut(&mut stmt, &mut |e| self.take_out(e, &mut taken));
            whole |= taken.whole;
            stmts.extend(taken.made.into_iter().map(|(_, var, e)| let_stmt(var, e)));
            stmts.push(stmt);
        }
        if let Some(value) = value {
            let mut taken = Taken::default();
            bound_in(value, &mut taken.inner);
            self.take_out(value, &mut taken);
            whole |= taken.whole;
            stmts.extend(taken.made.into_iter().map(|(_, var, e)| let_stmt(var, e)));
        }
        whole
    }

    fn take_out(&mut self, e: &mut Expr, taken: &mut Taken) {
        if let ExprKind::Reduce(reduce) = &*e.kind
            && let Some(product) = self.contraction(reduce, taken)
        {
            *e = product;
            return;
        }
        let loops = matches!(&*e.kind, ExprKind::Tensor(_) | ExprKind::Reduce(_));
        taken.loops += usize::from(loops);
        each_child_mut(e, &mut |child| self.take_out(child, taken));
        taken.loops -= usize::from(loops);
        if taken.loops > 0
            && let Some(read) = self.before_loops(e, taken)
        {
            *e = read;
        }
    }

    /// A read of a part that is computed before the loops.
    fn before_loops(&mut self, e: &Expr, taken: &mut Taken) -> Option<Expr> {
        let ExprKind::Derivative(Derivative::Quotient { target, parameter }) = &*e.kind else {
            return None;
        };
        let Sides { y, y_at, x, x_at } = self.sides(target, parameter, taken)?;
        let (row, column) = (self.all_axes(y, y_at), self.all_axes(x, x_at));
        let (from_y, from_x) = (changing(y_at, taken), changing(x_at, taken));
        let (y_whole, x_whole) = (self.var(y, e.span), self.var(x, e.span));
        let (y_ty, x_ty) = (y_whole.ty.clone(), x_whole.ty.clone());
        if from_y.is_empty() && from_x.is_empty() {
            return None;
        }
        let sure = |index: &IndexArg| {
            index.bounds == Bounds::Proved || matches!(&*index.value.kind, ExprKind::Const(_))
        };
        // The loops may be empty: a position outside is none of their business then.
        if from_y.is_empty() && row && y_at.iter().all(sure) {
            let ty = Type::array(e.ty.elem().clone(), x_ty.axes().to_vec());
            let part = self.before(target.clone(), x_whole, ty, "$row", taken);
            return Some(modes::part(part, x_at, &e.ty));
        }
        if from_x.is_empty() && column && x_at.iter().all(sure) {
            let ty = Type::array(e.ty.elem().clone(), y_ty.axes().to_vec());
            let part = self.before(y_whole, parameter.clone(), ty, "$column", taken);
            return Some(modes::part(part, y_at, &e.ty));
        }
        if row && !from_y.is_empty() && !from_x.is_empty() && from_y.is_disjoint(&from_x) {
            taken.whole = true;
            let axes = [y_ty.axes(), x_ty.axes()].concat();
            let ty = Type::array(e.ty.elem().clone(), axes);
            let part = self.before(y_whole, x_whole, ty, "$whole", taken);
            let at: Vec<IndexArg> = y_at.iter().chain(x_at).cloned().collect();
            return Some(modes::part(part, &at, &e.ty));
        }
        None
    }

    /// The sides of a quotient whose variables are there before the statement.
    fn sides<'a>(&self, y: &'a Expr, x: &'a Expr, taken: &Taken) -> Option<Sides<'a>> {
        let ((y, y_at), (x, x_at)) = (named(y)?, named(x)?);
        let outside = !taken.inner.contains(&y) && !taken.inner.contains(&x);
        outside.then_some(Sides { y, y_at, x, x_at })
    }

    fn all_axes(&self, var: VarId, at: &[IndexArg]) -> bool {
        self.program.vars[var].ty.rank() == at.len()
    }

    /// A request before the statement, once.
    fn before(&mut self, y: Expr, x: Expr, ty: Type, name: &str, taken: &mut Taken) -> Expr {
        let span = y.span;
        let key = format!("{y:?} / {x:?}");
        if let Some((_, var, _)) = taken.made.iter().find(|(own, ..)| *own == key) {
            return self.var(*var, span);
        }
        let request = Derivative::Quotient { target: y, parameter: x };
        let request = Expr::new(ExprKind::Derivative(request), ty.clone(), span);
        let var = self.local(name, ty, span);
        taken.made.push((key, var, request));
        self.var(var, span)
    }

    // ---------------------------------------------------------------- products

    /// `sum[j]((@y[i] / @x[j]) * v[j])` as a product, or with the target in the place of the
    /// parameter.
    fn contraction(&mut self, reduce: &Reduce, taken: &mut Taken) -> Option<Expr> {
        if reduce.op != ReduceOp::Sum || !reduce.items.is_empty() {
            return None;
        }
        let mut factors = Vec::new();
        flatten(&reduce.value, &mut factors);
        let is_request =
            |e: &Expr| matches!(&*e.kind, ExprKind::Derivative(Derivative::Quotient { .. }));
        let at = factors.iter().position(is_request)?;
        let request = factors.remove(at);
        let rest = factors.into_iter().reduce(|a, b| self.arith(BinaryOp::Mul, a, b))?;
        let ExprKind::Derivative(Derivative::Quotient { target, parameter }) = &*request.kind
        else {
            return None;
        };
        if target.ty.scalar() != parameter.ty.scalar() {
            return None;
        }
        let Sides { y, y_at, x, x_at } = self.sides(target, parameter, taken)?;
        let binders = &reduce.binders;
        let summed: FxHashSet<VarId> = binders.iter().map(|binder| binder.var).collect();
        // Other indices must not change the direction.
        let free = !any(&rest, &mut |part| match &*part.kind {
            ExprKind::Var(var) => taken.inner.contains(var) && !summed.contains(var),
            ExprKind::Derivative(_) => true,
            _ => false,
        });
        if !free {
            return None;
        }
        let forward = self.sums_over(x, x_at, binders) && !mention(y_at, &summed);
        let backward = self.sums_over(y, y_at, binders) && !mention(x_at, &summed);
        if !forward && !backward {
            return None;
        }
        let (own, other, at) = if forward { (x, y, y_at) } else { (y, x, x_at) };
        let other_ty = self.program.vars[other].ty.clone();
        if rest.ty != *self.program.vars[own].ty.elem() {
            return None;
        }
        let direction = self.direction(own, binders, rest);
        let span = request.span;
        let key = format!("{forward} {y:?} {x:?} {direction:?}");
        let product = Derivative::Product {
            target: self.var(y, span),
            parameter: self.var(x, span),
            direction,
            forward,
        };
        let elem = request.ty.elem().clone();
        let ty = Type::array(elem.clone(), other_ty.axes().to_vec());
        let var = self.local("$product", ty.clone(), span);
        taken.made.push((key, var, Expr::new(ExprKind::Derivative(product), ty, span)));
        let rest = other_ty.axes().get(at.len()..).unwrap_or(&[]).to_vec();
        Some(modes::part(self.var(var, span), at, &Type::array(elem, rest)))
    }

    /// Whether the indices are exactly the loops of a sum, over all of the variable.
    fn sums_over(&mut self, var: VarId, at: &[IndexArg], binders: &[Binder]) -> bool {
        let axes: Vec<Axis> = self.program.vars[var].ty.axes().to_vec();
        !axes.is_empty()
            && axes.len() == at.len()
            && axes.len() == binders.len()
            && at.iter().zip(binders).zip(&axes).all(|((index, binder), axis)| {
                let own = matches!(&*index.value.kind, ExprKind::Var(var) if *var == binder.var);
                let (lo, hi) = (self.size_of(&binder.lo), self.size_of(&binder.hi));
                own && lo.is_some_and(|lo| lo.as_constant() == Some(0))
                    && hi.is_some_and(|hi| hi.sub(&axis.size).as_constant() == Some(0))
            })
    }

    /// An array of the factors, or the array that they read.
    fn direction(&mut self, var: VarId, binders: &[Binder], value: Expr) -> Expr {
        let (ty, span) = (self.program.vars[var].ty.clone(), value.span);
        if let Some((own, at)) = named(&value)
            && self.sums_over(own, at, binders)
        {
            return self.var(own, span);
        }
        let slots = binders.iter().cloned().map(ClauseSlot::Loop).collect();
        defined(slots, value, ty, span)
    }
}

/// The factors of a product.
fn flatten(e: &Expr, found: &mut Vec<Expr>) {
    match &*e.kind {
        ExprKind::Binary(BinaryOp::Mul, a, b) => {
            flatten(a, found);
            flatten(b, found);
        }
        _ => found.push(e.clone()),
    }
}

/// The variables of indices that change inside a statement.
fn changing(at: &[IndexArg], taken: &Taken) -> FxHashSet<VarId> {
    let mut found = FxHashSet::default();
    for index in at {
        each_var(&index.value, &mut |var| {
            if taken.inner.contains(&var) {
                found.insert(var);
            }
        });
    }
    found
}

fn mention(at: &[IndexArg], vars: &FxHashSet<VarId>) -> bool {
    let mut found = false;
    for index in at {
        each_var(&index.value, &mut |var| found |= vars.contains(&var));
    }
    found
}

fn each_var(e: &Expr, f: &mut dyn FnMut(VarId)) {
    if let ExprKind::Var(var) = &*e.kind {
        f(*var);
    }
    each_child(e, &mut |child| each_var(child, f));
}

/// The variables that an expression binds.
pub(super) fn bound_in(e: &Expr, found: &mut FxHashSet<VarId>) {
    let items = |items: &[Item], found: &mut FxHashSet<VarId>| {
        found.extend(items.iter().filter_map(|item| match item {
            Item::Let(var, _) => Some(*var),
            Item::Guard(_) => None,
        }));
    };
    let mut patterns = Vec::new();
    match &*e.kind {
        ExprKind::Tensor(tensor) => {
            found.extend(tensor.self_var);
            for clause in &tensor.clauses {
                found.extend(clause.slots.iter().filter_map(|slot| match slot {
                    ClauseSlot::Loop(binder) => Some(binder.var),
                    ClauseSlot::Point(_) => None,
                }));
                items(&clause.items, found);
            }
        }
        ExprKind::Reduce(reduce) => {
            found.extend(reduce.binders.iter().map(|binder| binder.var));
            items(&reduce.items, found);
        }
        ExprKind::Scatter(scatter) => {
            found.extend(scatter.binders.iter().map(|binder| binder.var));
            items(&scatter.items, found);
        }
        ExprKind::Block { stmts, .. } => {
            for stmt in stmts {
                match &stmt.kind {
                    StmtKind::Let(var, _) => patterns.push(*var),
                    StmtKind::Destructure(pattern, _) => {
                        super::pattern::bound_by(pattern, &mut patterns);
                    }
                    StmtKind::Expr(_) | StmtKind::Require(_) => {}
                }
            }
        }
        ExprKind::Match { arms, .. } => {
            arms.iter().for_each(|arm| super::pattern::bound_by(&arm.pattern, &mut patterns));
        }
        ExprKind::Comprehension { clauses, .. } => {
            for clause in clauses {
                match clause {
                    CompClause::Generator(pattern, _) => {
                        super::pattern::bound_by(pattern, &mut patterns);
                    }
                    CompClause::Binding(var, _) => patterns.push(*var),
                    CompClause::Condition(_) => {}
                }
            }
        }
        _ => {}
    }
    found.extend(patterns);
    each_child(e, &mut |child| bound_in(child, found));
}
