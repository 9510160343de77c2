//! What binds names: blocks, patterns and matches. The values of names are at hand from where they are
//! bound; what flows back to them is collected on the way, and pulled back at the end.

use crate::autodiff::let_stmt;
use crate::autodiff::pattern::{bound_by, single};
use crate::autodiff::rename::Renaming;
use crate::autodiff::reverse::fails::{Runs, has_points, runs};
use crate::autodiff::reverse::lift::needs_no_loop;
use crate::autodiff::reverse::pull::is_name;
use crate::autodiff::reverse::recurrence::Running;
use crate::autodiff::reverse::{Done, Reverse, Seed, Step, element, unsupported};
use ein_ir::tensor::walk::each_in_stmt;
use ein_ir::tensor::{Arm, Expr, ExprKind, Pattern, Stmt, StmtKind, Type, VarId};
use ein_scalar::Scalar;
use rustc_hash::FxHashSet;

/// The steps of a way that a value needs, and the others.
#[derive(Default)]
struct Apart {
    around: Vec<usize>,
    inside: Vec<usize>,
}

impl Reverse<'_, '_> {
    /// Statements, then a value.
    pub(in crate::autodiff::reverse) fn pull_block(
        &mut self,
        stmts: &[Stmt],
        value: &Expr,
        seed: Seed,
        own: Option<Expr>,
    ) -> Done {
        let Some(apart) = apart_from_loops(self, stmts, value) else {
            return pull_statements(self, stmts, value, (seed, own), &[]);
        };
        let path = std::mem::replace(&mut self.path, apart.around);
        let allowed = self.running.last_mut().map(|running| running.allow(false));
        let done = pull_statements(self, stmts, value, (seed, own), &apart.inside);
        if let (Some(running), Some(allowed)) = (self.running.last_mut(), allowed) {
            running.allow(allowed);
        }
        self.path = path;
        done
    }

    /// A binding on the way: its value is at hand from here on.
    pub(in crate::autodiff::reverse) fn local(
        &mut self,
        var: VarId,
        value: &Expr,
        bound: &mut Vec<(VarId, Expr)>,
    ) {
        self.enter(var, value.clone(), bound);
        let value = self.prim(value);
        if value.ty.is_fn() {
            // Nothing flows back to it, but what is computed again may call it.
            return self.keep(var, value);
        }
        if !value.ty.is_array() && is_name(&value) {
            self.aliases.insert(var, value.clone());
        }
        if let ExprKind::Var(other) = &*value.kind
            && value.ty.is_array()
            && self.active.contains_key(other)
        {
            let other = self.same.get(other).copied().unwrap_or(*other);
            self.same.insert(var, other);
        }
        self.keep(var, value);
    }

    /// Binds a name here. A recurrence on the way to a point is computed for all points at once.
    pub(in crate::autodiff::reverse) fn keep(&mut self, var: VarId, value: Expr) {
        if self.path.is_empty() {
            return self.out.push(let_stmt(var, value));
        }
        let recurs = matches!(&*value.kind, ExprKind::Tensor(tensor) if tensor.self_var.is_some());
        let whole = if recurs { self.definition("$r", &value) } else { None };
        self.push(Step::Let(var, whole.unwrap_or(value)));
    }

    /// The names of a pattern as parts of a value.
    fn take_apart(
        &mut self,
        pattern: &Pattern,
        value: Expr,
        bound: &mut Vec<(VarId, Expr)>,
    ) -> Done {
        let span = value.span;
        match pattern {
            Pattern::Wild => Ok(()),
            Pattern::Bind(var) => {
                self.local(*var, &value, bound);
                Ok(())
            }
            Pattern::At(var, inner) => {
                self.local(*var, &value, bound);
                self.take_apart(inner, value, bound)
            }
            Pattern::Tuple(items) => {
                let Type::Tuple(types) = value.ty.clone() else {
                    return unsupported("a pattern");
                };
                for (at, (item, ty)) in items.iter().zip(types).enumerate() {
                    let part = Expr::new(ExprKind::TupleGet(value.clone(), at), ty, span);
                    self.take_apart(item, part, bound)?;
                }
                Ok(())
            }
            Pattern::Array { before, rest: None, after } if after.is_empty() => {
                for (at, item) in before.iter().enumerate() {
                    let part = element(value.clone(), &[Expr::int(at as i64, span)], span);
                    self.take_apart(item, part, bound)?;
                }
                Ok(())
            }
            Pattern::Data { fields, variant: 0 } => {
                let Type::Data(data, _) = value.ty else { return unsupported("a pattern") };
                if self.pass.program.data[data].is_enum {
                    return unsupported("a variant");
                }
                for (at, field) in fields.iter().enumerate() {
                    let mut names = Vec::new();
                    bound_by(field, &mut names);
                    let [var] = names.as_slice() else {
                        if names.is_empty() {
                            continue;
                        }
                        return unsupported("a pattern inside a struct");
                    };
                    if !matches!(field, Pattern::Bind(_)) {
                        return unsupported("a pattern inside a struct");
                    }
                    let ty = self.pass.program.vars[*var].ty.clone();
                    let part = Expr::new(ExprKind::FieldGet(value.clone(), at), ty, span);
                    self.take_apart(field, part, bound)?;
                }
                Ok(())
            }
            Pattern::Literal(_)
            | Pattern::Str(_)
            | Pattern::Range { .. }
            | Pattern::Array { .. }
            | Pattern::Data { .. }
            | Pattern::Or(_) => unsupported("a pattern"),
        }
    }

    /// A choice by pattern: each arm under the condition that it is the one.
    pub(in crate::autodiff::reverse) fn pull_match(
        &mut self,
        value: &Expr,
        arms: &[Arm],
        seed: &Seed,
        own: Option<&Expr>,
    ) -> Done {
        let span = value.span;
        let truth = |holds| Expr::new(ExprKind::Const(Scalar::Bool(holds)), Type::BOOL, span);
        let subject = self.prim(value);
        let moving = self.depends(value);
        let arms = &single(arms);
        if moving && self.is_enum(&value.ty) {
            return self.pull_variant(value, arms, seed, own);
        }
        for (at, arm) in arms.iter().enumerate() {
            let mark = self.path.len();
            let mut tests: Vec<Arm> = arms[..=at].to_vec();
            for (number, test) in tests.iter_mut().enumerate() {
                test.value = truth(number == at);
            }
            let always = at + 1 == arms.len() && arm.guard.is_none() && arms.len() == 1;
            if !always {
                tests.push(Arm { pattern: Pattern::Wild, guard: None, value: truth(false) });
                let kind = ExprKind::Match { value: subject.clone(), arms: tests };
                let test = Expr::new(kind, Type::BOOL, span);
                let mut names = Renaming::default();
                let test = self.pass.freshened(&test, &mut names);
                self.push(Step::Guard(test));
            }
            let mut names = Vec::new();
            bound_by(&arm.pattern, &mut names);
            let mut bound = Vec::new();
            if !names.is_empty() {
                if moving {
                    let whole = self.pass.local("$v", value.ty.clone(), span);
                    self.local(whole, value, &mut bound);
                    let whole = self.pass.var(whole, span);
                    self.take_apart(&arm.pattern, whole, &mut bound)?;
                } else {
                    return unsupported("a pattern that binds");
                }
            }
            self.pull_value(&arm.value, seed.clone(), own.cloned())?;
            for (var, value) in bound.iter().rev() {
                self.settle(*var, value)?;
            }
            self.path.truncate(mark);
        }
        Ok(())
    }
}

/// Statements at this point of the way, then a value at all points of further steps.
fn pull_statements(
    it: &mut Reverse<'_, '_>,
    stmts: &[Stmt],
    value: &Expr,
    (seed, own): (Seed, Option<Expr>),
    inside: &[usize],
) -> Done {
    // A copy, because what the block binds is bound here a second time.
    let copy;
    let (mut stmts, mut value) = (stmts, value);
    if it.path.is_empty() {
        let kind = ExprKind::Block { stmts: stmts.to_vec(), value: value.clone() };
        let block = Expr::new(kind, value.ty.clone(), value.span);
        copy = it.pass.freshened(&block, &mut Renaming::default());
        if let ExprKind::Block { stmts: own, value: last } = &*copy.kind {
            (stmts, value) = (own, last);
        }
    }
    let mut bound = Vec::new();
    for stmt in stmts {
        match &stmt.kind {
            StmtKind::Let(var, value) => it.local(*var, value, &mut bound),
            StmtKind::Destructure(pattern, value) => {
                let whole = it.pass.local("$v", value.ty.clone(), value.span);
                it.local(whole, value, &mut bound);
                let whole = it.pass.var(whole, value.span);
                it.take_apart(pattern, whole, &mut bound)?;
            }
            // A rule has no primal in which its extents were compared.
            StmtKind::Require(_) if !it.rules.is_empty() && it.path.is_empty() => {
                it.out.push(stmt.clone());
            }
            StmtKind::Require(_) if !it.rules.is_empty() => {
                return unsupported("extents of a rule that are compared at each point");
            }
            // Effects happen once, in the primal.
            StmtKind::Expr(_) | StmtKind::Require(_) => {}
        }
    }
    let here = it.path.len();
    it.path.extend(inside);
    it.pull_value(value, seed, own)?;
    if !inside.is_empty() {
        it.path.truncate(here);
    }
    for (var, value) in bound.iter().rev() {
        it.settle(*var, value)?;
    }
    Ok(())
}

/// The way to statements that bind an array, without the loops that they do not mention: what flows
/// back to the array from all points of these is one array, not one for each point.
///
/// Names of the way that something flows back to, from the statements or from the value after them,
/// stay where they are, with all that is before them: it is collected at each point of the loops
/// around them.
fn apart_from_loops(it: &mut Reverse<'_, '_>, stmts: &[Stmt], value: &Expr) -> Option<Apart> {
    let is_array = |stmt: &Stmt| match &stmt.kind {
        StmtKind::Let(_, value) => value.ty.is_array() && !matches!(&*value.kind, ExprKind::Var(_)),
        StmtKind::Destructure(..) | StmtKind::Expr(_) | StmtKind::Require(_) => false,
    };
    if !stmts.iter().any(is_array) {
        return None;
    }
    let mut wanted = FxHashSet::default();
    for stmt in stmts {
        each_in_stmt(stmt, &mut |e| needs(it, e, &mut wanted));
    }
    let mut reached = FxHashSet::default();
    needs(it, value, &mut reached);
    // What decides whether they are computed stays around them.
    for step in it.path.iter().map(|at| &it.steps[*at]) {
        if let Step::Guard(cond) = step {
            needs(it, cond, &mut wanted);
        }
    }
    let apart = divided(it, (&wanted, &reached), &[]);
    let path: Vec<Step> = it.path.iter().map(|at| it.steps[*at].clone()).collect();
    let left = |at: &usize| apart.inside.contains(at) && matches!(it.steps[*at], Step::Loop(_));
    let left: Vec<bool> = it.path.iter().map(left).collect();
    if !left.contains(&true) {
        return None;
    }
    // Where a loop has no points, what is in it is not computed, and need not succeed.
    let runs = runs(it, &path);
    let mut open: Vec<usize> = (0..path.len()).collect();
    open.retain(|at| left[*at] && runs[*at] != Runs::Surely);
    if open.is_empty() {
        return Some(apart);
    }
    let around: Vec<bool> = it.path.iter().map(|at| apart.around.contains(at)).collect();
    let fails = stmts.iter().any(|stmt| match &stmt.kind {
        StmtKind::Let(_, value) => !needs_no_loop(it, &path, &around, value),
        StmtKind::Destructure(..) | StmtKind::Expr(_) | StmtKind::Require(_) => true,
    });
    if !fails {
        return Some(apart);
    }
    for at in &open {
        if let Step::Loop(binder) = &path[*at] {
            needs(it, &binder.lo, &mut wanted);
            needs(it, &binder.hi, &mut wanted);
        }
    }
    let apart = divided(it, (&wanted, &reached), &open);
    apart.inside.iter().any(|at| matches!(it.steps[*at], Step::Loop(_))).then_some(apart)
}

/// The steps of the way that stay around what needs these variables, and those that do not; of the
/// loops at the places that are `open` it stays around whether they have points.
fn divided(
    it: &mut Reverse<'_, '_>,
    (wanted, reached): (&FxHashSet<VarId>, &FxHashSet<VarId>),
    open: &[usize],
) -> Apart {
    let mut wanted = wanted.clone();
    let (mut start, over_steps) = match it.running.last().map(Running::kept) {
        Some((start, steps)) => (start, steps.collect()),
        None => (0, Vec::new()),
    };
    let mut apart = Apart::default();
    for (place, at) in it.path.clone().into_iter().enumerate().rev() {
        let around = match &it.steps[at] {
            _ if place < start => true,
            Step::Guard(_) => true,
            Step::Let(var, value) => {
                let needed = wanted.contains(var);
                if needed {
                    needs(it, value, &mut wanted);
                }
                let stays = it.active.contains_key(var) && (needed || reached.contains(var));
                if stays {
                    start = place;
                }
                needed || stays
            }
            Step::Loop(binder) => {
                let needed = wanted.contains(&binder.var) || over_steps.contains(&place);
                if needed {
                    needs(it, &binder.lo, &mut wanted);
                    needs(it, &binder.hi, &mut wanted);
                } else if open.contains(&place) {
                    let cond = has_points(binder, binder.lo.span);
                    apart.around.push(it.steps.len());
                    it.steps.push(Step::Guard(cond));
                }
                needed
            }
        };
        if around { apart.around.push(at) } else { apart.inside.push(at) }
    }
    apart.around.reverse();
    apart.inside.reverse();
    apart
}

/// The variables that a value needs, also those that others stand for.
fn needs(it: &Reverse<'_, '_>, e: &Expr, wanted: &mut FxHashSet<VarId>) {
    let mut found = FxHashSet::default();
    it.variables(e, &mut found);
    for var in found {
        if wanted.insert(var)
            && let Some(alias) = it.aliases.get(&var)
        {
            needs(it, alias, wanted);
        }
    }
}
