//! What binds names: blocks, patterns and matches. The values of names are at hand from where they are
//! bound; what flows back to them is collected on the way, and pulled back at the end.

use crate::autodiff::let_stmt;
use crate::autodiff::pattern::{bound_by, single};
use crate::autodiff::rename::Renaming;
use crate::autodiff::reverse::pull::is_name;
use crate::autodiff::reverse::{Done, Reverse, Seed, Step, element, unsupported};
use ein_ir::tensor::{Arm, Expr, ExprKind, Pattern, Stmt, StmtKind, Type, VarId};
use ein_scalar::Scalar;

impl Reverse<'_, '_> {
    /// Statements, then a value.
    pub(in crate::autodiff::reverse) fn pull_block(
        &mut self,
        stmts: &[Stmt],
        value: &Expr,
        seed: Seed,
        own: Option<Expr>,
    ) -> Done {
        // A copy, because what the block binds is bound here a second time.
        let copy;
        let (mut stmts, mut value) = (stmts, value);
        if self.path.is_empty() {
            let kind = ExprKind::Block { stmts: stmts.to_vec(), value: value.clone() };
            let block = Expr::new(kind, value.ty.clone(), value.span);
            copy = self.pass.freshened(&block, &mut Renaming::default());
            if let ExprKind::Block { stmts: own, value: last } = &*copy.kind {
                (stmts, value) = (own, last);
            }
        }
        let mut bound = Vec::new();
        for stmt in stmts {
            match &stmt.kind {
                StmtKind::Let(var, value) => self.local(*var, value, &mut bound),
                StmtKind::Destructure(pattern, value) => {
                    let whole = self.pass.local("$v", value.ty.clone(), value.span);
                    self.local(whole, value, &mut bound);
                    let whole = self.pass.var(whole, value.span);
                    self.take_apart(pattern, whole, &mut bound)?;
                }
                // A rule has no primal in which its extents were compared.
                StmtKind::Require(_) if self.in_rule && self.path.is_empty() => {
                    self.out.push(stmt.clone());
                }
                StmtKind::Require(_) if self.in_rule => {
                    return unsupported("extents of a rule that are compared at each point");
                }
                // Effects happen once, in the primal.
                StmtKind::Expr(_) | StmtKind::Require(_) => {}
            }
        }
        self.pull_value(value, seed, own)?;
        for (var, value) in bound.iter().rev() {
            self.settle(*var, value)?;
        }
        Ok(())
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
