//! Calls: the body takes the place of the call, with variables of its own. A rule is transposed: it
//! is linear in the tangents, so what flows back through it to them is what flows to the arguments.

use super::{Done, Reverse, Seed, linear, unsupported};
use crate::autodiff::let_stmt;
use crate::autodiff::pattern::bound_by;
use crate::autodiff::positions;
use crate::autodiff::rename::Renaming;
use crate::autodiff::unfold::{Call, unfolded};
use ein_base::Span;
use ein_ir::tensor::walk::{any, each_child};
use ein_ir::tensor::{Expr, ExprKind, FuncId, HostOp, Item, Stmt, StmtKind, VarId};
use rustc_hash::FxHashSet;

/// Calls inside calls, at most.
const DEEP: usize = 200;

impl Reverse<'_, '_> {
    pub(super) fn pull_call(&mut self, e: &Expr, seed: Seed, own: Option<Expr>) -> Done {
        if let ExprKind::Call { func, .. } = &*e.kind
            && let Seed::Value(bar) = &seed
            && linear::is_linear(self, *func)
        {
            return linear::pull(self, e, bar.clone());
        }
        let call = self.called(e)?;
        self.inlining += 1;
        // A rule that sends tangents through the function itself says that it is linear: then its own
        // steps are transposed.
        let within = self.rules.contains(&call.func);
        let done = match self.pass.program.funcs[call.func].rule.filter(|_| !within) {
            Some(rule) => self.pull_rule(rule, &call, seed),
            None => written_out(self, &call, e.span)
                .and_then(|(stmts, body)| self.pull_block(&stmts, &body, seed, own)),
        };
        self.inlining -= 1;
        done
    }

    /// What is called, if it can be looked into.
    fn called(&mut self, e: &Expr) -> Done<Call> {
        let call = match &*e.kind {
            ExprKind::Call { func, sizes, closure, args } => {
                let captures = match closure {
                    Some(closure) => self.captures(closure)?,
                    None => Vec::new(),
                };
                Call { func: *func, sizes: sizes.clone(), captures, args: args.clone() }
            }
            ExprKind::CallValue { callee, args } => {
                let Some(func) = self.code(callee) else {
                    return unsupported("a function value that is not known");
                };
                let captures = self.captures(callee)?;
                Call { func, sizes: Vec::new(), captures, args: args.clone() }
            }
            _ => return unsupported("a call"),
        };
        if self.inlining >= DEEP || self.is_recursive(call.func) {
            return unsupported("a recursive function");
        }
        self.pass.clean_function(call.func);
        Ok(call)
    }

    /// Whether pulling back through a function comes back to it, perhaps through others.
    fn is_recursive(&mut self, func: FuncId) -> bool {
        if let Some(known) = self.recursive.get(&func) {
            return *known;
        }
        let mut seen = FxHashSet::default();
        let mut open = vec![func];
        let mut found = false;
        while let Some(next) = open.pop() {
            let callee = &self.pass.program.funcs[next];
            let mut called = Vec::new();
            match callee.rule.map(|rule| &self.pass.program.funcs[rule]) {
                // Only what the tangents go through is pulled back: `@fn exp(x) { exp(x) * @x }`
                // does not come back to itself.
                Some(rule) => {
                    let still = rule.params.len() / 2;
                    moving_calls(&rule.body, &rule.params[still..], &mut called);
                    // `@fn f(x) { f(@x) }`: within the rule the function is what it computes.
                    if called.contains(&next) {
                        called.retain(|it| *it != next);
                        calls(&callee.body, &mut called);
                    }
                }
                None => calls(&callee.body, &mut called),
            }
            found |= called.contains(&func);
            open.extend(called.into_iter().filter(|it| seen.insert(*it)));
        }
        self.recursive.insert(func, found);
        found
    }

    /// A call of a function without a rule as a block.
    pub(super) fn as_block(&mut self, e: &Expr) -> Done<(Vec<Stmt>, Expr)> {
        let call = self.called(e)?;
        if self.pass.program.funcs[call.func].rule.is_some() {
            return unsupported("a rule");
        }
        written_out(self, &call, e.span)
    }

    /// What flows back through a rule to the tangents flows to the arguments.
    fn pull_rule(&mut self, rule: FuncId, call: &Call, seed: Seed) -> Done {
        let args = &call.args;
        self.pass.clean_function(rule);
        let callee = &self.pass.program.funcs[rule];
        if !callee.sizes.is_empty() || !callee.captures.is_empty() {
            return unsupported("a rule with sizes");
        }
        let (params, mut body) = (callee.params.clone(), callee.body.clone());
        if params.len() != 2 * args.len() {
            return unsupported("a rule");
        }
        positions::narrow_unseen(&mut body);
        let mark = self.path.len();
        let mut names = Renaming::default();
        // The arguments themselves do not move here, only the tangents do.
        for (var, value) in params.iter().zip(args) {
            let new = self.pass.fresh(*var, &mut names);
            self.stand_for(new, value);
        }
        let mut tangents: Vec<VarId> = Vec::new();
        for (var, arg) in params[args.len()..].iter().zip(args) {
            let new = self.pass.fresh(*var, &mut names);
            if arg.ty.is_array() {
                // A linear rule computes nothing from the values of tangents, but perhaps extents.
                self.stand_for(new, arg);
            }
            self.active.insert(new, Vec::new());
            tangents.push(new);
        }
        let body = self.pass.freshened(&body, &mut names);
        self.rules.push(call.func);
        let done = self.pull_value(&body, seed, None);
        self.rules.pop();
        done?;
        for (tangent, arg) in tangents.into_iter().zip(args) {
            if !self.depends(arg) {
                continue;
            }
            let seed = self.seed_of(tangent)?;
            if let Some(seed) = seed {
                self.pull_value(arg, seed, None)?;
            }
        }
        self.path.truncate(mark);
        Ok(())
    }

    /// Binds a parameter of a rule to the value of an argument.
    fn stand_for(&mut self, var: VarId, arg: &Expr) {
        let value = self.prim(arg);
        if self.path.is_empty() {
            self.out.push(let_stmt(var, value));
        } else {
            self.push(super::Step::Let(var, value));
        }
    }

    /// What a function value captured.
    fn captures(&self, value: &Expr) -> Done<Vec<Expr>> {
        match &*value.kind {
            ExprKind::Closure { captures, .. } => Ok(captures.clone()),
            ExprKind::Specialise { value, .. } => self.captures(value),
            ExprKind::Var(var) => match self.binding(*var) {
                Some(value) => self.captures(&value),
                None => unsupported("a function value that is not known"),
            },
            ExprKind::Host(HostOp::MergeClosures, args) => {
                let mut all = Vec::new();
                for arg in args {
                    all.extend(self.captures(arg)?);
                }
                Ok(all)
            }
            _ => unsupported("a function value that is not known"),
        }
    }

    /// The code of a function value.
    fn code(&self, value: &Expr) -> Option<FuncId> {
        match &*value.kind {
            ExprKind::Closure { func, .. } => *func,
            ExprKind::Specialise { func, .. } => Some(*func),
            ExprKind::Var(var) => self.code(&self.binding(*var)?),
            _ => None,
        }
    }

    /// What a variable is bound to.
    fn binding(&self, var: VarId) -> Option<Expr> {
        let value = self.known.get(&var).cloned().or_else(|| {
            self.pass.scope.iter().rev().find(|it| it.var == var).map(|it| (*it.value).clone())
        })?;
        // A name for itself would be looked up without end.
        match &*value.kind {
            ExprKind::Var(own) if *own == var => None,
            _ => Some(value),
        }
    }

    /// Tuples and structs, by components.
    pub(super) fn pull_parts(&mut self, e: &Expr, parts: Vec<(usize, Seed)>) -> Done {
        let mark = self.path.len();
        match &*e.kind {
            ExprKind::Tuple(items) | ExprKind::Make { fields: items, .. } => {
                for (at, seed) in parts {
                    let Some(item) = items.get(at) else { return unsupported("a component") };
                    self.pull_value(item, seed, None)?;
                }
            }
            ExprKind::Var(var) => self.flow(*var, &[], &parts)?,
            ExprKind::TupleGet(base, at) | ExprKind::FieldGet(base, at) => {
                self.pull_parts(base, vec![(*at, Seed::Parts(parts))])?;
            }
            ExprKind::Block { stmts, value } => {
                self.pull_block(stmts, value, Seed::Parts(parts), None)?;
            }
            ExprKind::Call { .. } | ExprKind::CallValue { .. } => {
                self.pull_call(e, Seed::Parts(parts), None)?;
            }
            ExprKind::If { cond, then, otherwise } => {
                let (yes, no) = self.branches(cond);
                self.push(super::Step::Guard(yes));
                self.pull_value(then, Seed::Parts(parts.clone()), None)?;
                self.path.truncate(mark);
                self.push(super::Step::Guard(no));
                self.pull_value(otherwise, Seed::Parts(parts), None)?;
            }
            ExprKind::Match { value, arms } => {
                self.pull_match(value, arms, &Seed::Parts(parts), None)?;
            }
            _ => return unsupported("a tuple or struct"),
        }
        self.path.truncate(mark);
        Ok(())
    }

    /// Components that flow to a variable as they are.
    fn flow(&mut self, var: VarId, part: &[usize], seeds: &[(usize, Seed)]) -> Done {
        for (at, seed) in seeds {
            let path = [part, &[*at]].concat();
            match seed {
                Seed::Parts(inner) => self.flow(var, &path, inner)?,
                Seed::Value(value) if value.ty.is_array() => {
                    let mark = self.path.len();
                    let span = value.span;
                    let axes = value.ty.axes().to_vec();
                    let at: Vec<Expr> =
                        axes.iter().map(|axis| self.full_loop(&axis.size, span)).collect();
                    let cell = at.iter().cloned().map(super::proved).collect();
                    let value = super::element(value.clone(), &at, span);
                    self.contribute(var, &path, cell, value);
                    self.path.truncate(mark);
                }
                Seed::Value(value) => self.contribute(var, &path, Vec::new(), value.clone()),
            }
        }
        Ok(())
    }
}

/// A call as statements and a value.
fn written_out(it: &mut Reverse<'_, '_>, call: &Call, span: Span) -> Done<(Vec<Stmt>, Expr)> {
    match unfolded(it.pass, call, span) {
        Some(found) => Ok(found),
        None => unsupported("a function value"),
    }
}

/// The functions that an expression names.
fn calls(e: &Expr, found: &mut Vec<FuncId>) {
    match &*e.kind {
        ExprKind::Call { func, .. }
        | ExprKind::Specialise { func, .. }
        | ExprKind::Closure { func: Some(func), .. } => found.push(*func),
        _ => {}
    }
    each_child(e, &mut |child| calls(child, found));
}

/// The functions whose arguments depend on these variables.
fn moving_calls(body: &Expr, tangents: &[VarId], found: &mut Vec<FuncId>) {
    let mut moving: FxHashSet<VarId> = tangents.iter().copied().collect();
    let reads = |e: &Expr, moving: &FxHashSet<VarId>| {
        any(e, &mut |e| matches!(&*e.kind, ExprKind::Var(var) if moving.contains(var)))
    };
    // Bindings and definitions that read themselves may stand in any order of the walk.
    loop {
        let known = moving.len();
        any(body, &mut |e| {
            match &*e.kind {
                ExprKind::Block { stmts, .. } => {
                    for stmt in stmts {
                        match &stmt.kind {
                            StmtKind::Let(var, value) if reads(value, &moving) => {
                                moving.insert(*var);
                            }
                            StmtKind::Destructure(pattern, value) if reads(value, &moving) => {
                                let mut bound = Vec::new();
                                bound_by(pattern, &mut bound);
                                moving.extend(bound);
                            }
                            StmtKind::Let(..)
                            | StmtKind::Destructure(..)
                            | StmtKind::Expr(_)
                            | StmtKind::Require(_) => {}
                        }
                    }
                }
                ExprKind::Tensor(tensor) => {
                    if let Some(own) = tensor.self_var
                        && reads(e, &moving)
                    {
                        moving.insert(own);
                    }
                    let items = tensor.clauses.iter().flat_map(|clause| &clause.items);
                    moving_items(items, &reads, &mut moving);
                }
                ExprKind::Reduce(reduce) => {
                    moving_items(reduce.items.iter(), &reads, &mut moving);
                }
                _ => {}
            }
            false
        });
        if moving.len() == known {
            break;
        }
    }
    any(body, &mut |e| {
        if let ExprKind::Call { func, .. }
        | ExprKind::Specialise { func, .. }
        | ExprKind::Closure { func: Some(func), .. } = &*e.kind
            && reads(e, &moving)
        {
            found.push(*func);
        }
        false
    });
}

fn moving_items<'e>(
    items: impl Iterator<Item = &'e Item>,
    reads: &dyn Fn(&Expr, &FxHashSet<VarId>) -> bool,
    moving: &mut FxHashSet<VarId>,
) {
    for item in items {
        if let Item::Let(var, value) = item
            && reads(value, moving)
        {
            moving.insert(*var);
        }
    }
}
