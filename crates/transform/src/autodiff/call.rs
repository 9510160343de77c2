//! Calls: functions are differentiated through, unless a rule says what their tangent is.
//!
//! The tangent of `f(a, b)` is `f'(a, b, da, db)`: a function of its own that computes the primal
//! steps again and the tangents beside them. Globals that move are further parameters. The tangent
//! of a function value is a function value that takes arguments and tangents.

use super::tangent::{Tangents, moves};
use super::{Frame, Pass};
use ein_base::Symbol;
use ein_ir::tensor::walk::each_child;
use ein_ir::tensor::{Expr, ExprKind, Func, FuncId, HostOp, Place, Type, Var, VarId};
use rustc_hash::FxHashSet;

/// What a tangent function is the tangent of: the function and the globals that move.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    func: FuncId,
    globals: Vec<VarId>,
}

impl Pass<'_> {
    pub(super) fn call_tangent(&mut self, e: &Expr, t: &mut Tangents) -> Option<Expr> {
        let span = e.span;
        match &*e.kind {
            ExprKind::Call { func, sizes, closure, args } => {
                // A text for people speaks of the functions that the program has.
                if closure.is_none()
                    && !self.as_text
                    && let Some(formula) = self.formula(*func, args, span)
                {
                    return self.tangent(&formula, t);
                }
                let globals = self.moving_globals(*func, t);
                let tangents: Vec<Option<Expr>> =
                    args.iter().map(|arg| self.tangent(arg, t)).collect();
                let moving_closure = closure.as_ref().and_then(|closure| self.tangent(closure, t));
                // A function has a tangent always, and moves with what it captured.
                let still = tangents.iter().zip(args).all(|(tangent, arg)| {
                    tangent.is_none() || arg.ty.is_fn() && !self.captures_move(Some(arg), t)
                }) && globals.is_empty()
                    && !self.captures_move(closure.as_ref(), t);
                if still || !moves(&e.ty) {
                    return None;
                }
                let mut all: Vec<Expr> = args.iter().map(|arg| self.primal(arg, t)).collect();
                for (tangent, arg) in tangents.into_iter().zip(args) {
                    all.push(tangent.unwrap_or_else(|| self.zeros_like(self.primal(arg, t))));
                }
                if let Some(rule) = self.program.funcs[*func].rule {
                    // It knows the extents of its parameters, and no sizes by name.
                    let kind =
                        ExprKind::Call { func: rule, sizes: Vec::new(), closure: None, args: all };
                    return Some(Expr::new(kind, e.ty.clone(), span));
                }
                for global in &globals {
                    let tangent = t.get(*global)?;
                    all.push(self.var(tangent, span));
                }
                let tangent = self.tangent_function(*func, globals);
                let closure = closure.as_ref().map(|closure| {
                    let primal = self.primal(closure, t);
                    match moving_closure {
                        // The tangent of a value with a signature holds both already.
                        Some(moving) if matches!(closure.ty, Type::Signature(_)) => moving,
                        Some(moving) => self.merge_closures(primal, moving),
                        None => {
                            let still = self.zeros_like(primal.clone());
                            self.merge_closures(primal, still)
                        }
                    }
                });
                let kind =
                    ExprKind::Call { func: tangent, sizes: sizes.clone(), closure, args: all };
                Some(Expr::new(kind, e.ty.clone(), span))
            }
            ExprKind::CallValue { callee, args } => {
                let tangents: Vec<Option<Expr>> =
                    args.iter().map(|arg| self.tangent(arg, t)).collect();
                let moving = self.tangent(callee, t);
                let mut all: Vec<Expr> = args.iter().map(|arg| self.primal(arg, t)).collect();
                for (tangent, arg) in tangents.into_iter().zip(args) {
                    all.push(tangent.unwrap_or_else(|| self.zeros_like(self.primal(arg, t))));
                }
                match moving {
                    Some(callee) => {
                        let kind = ExprKind::CallValue { callee, args: all };
                        Some(Expr::new(kind, e.ty.clone(), span))
                    }
                    None => {
                        let primal = self.primal(e, t);
                        Some(self.unknown_function(primal))
                    }
                }
            }
            // The tangent of a closure holds the tangents of what it captured.
            ExprKind::Closure { func, captures } => {
                let captures = captures
                    .iter()
                    .map(|capture| {
                        let tangent = self.tangent(capture, t);
                        tangent.unwrap_or_else(|| self.zeros_like(self.primal(capture, t)))
                    })
                    .collect();
                let kind = ExprKind::Closure { func: *func, captures };
                Some(Expr::new(kind, e.ty.clone(), span))
            }
            ExprKind::Specialise { value, func } => {
                let globals = self.moving_globals(*func, t);
                if !globals.is_empty() {
                    return Some(self.refuse(
                        span,
                        "a function value that reads moving globals has no derivative",
                    ));
                }
                let moving = self.tangent(value, t);
                let primal = self.primal(value, t);
                let moving = moving.unwrap_or_else(|| self.zeros_like(primal.clone()));
                let value = self.merge_closures(primal, moving);
                let func = match self.program.funcs[*func].rule {
                    Some(rule) => rule,
                    None => self.tangent_function(*func, Vec::new()),
                };
                let kind = ExprKind::Specialise { value, func };
                Some(Expr::new(kind, e.ty.clone(), span))
            }
            _ => None,
        }
    }

    /// Whether a closure holds anything that moves.
    fn captures_move(&mut self, closure: Option<&Expr>, t: &mut Tangents) -> bool {
        let Some(closure) = closure else { return false };
        match &*closure.kind {
            ExprKind::Closure { captures, .. } => {
                let captures = captures.clone();
                captures.iter().any(|capture| self.tangent(capture, t).is_some())
            }
            ExprKind::Specialise { value, .. } => self.captures_move(Some(value), t),
            ExprKind::Var(var) => match &self.program.vars[*var].ty {
                Type::Template(_, captures) => t.get(*var).is_some() && captures.iter().any(moves),
                _ => t.get(*var).is_some(),
            },
            _ => false,
        }
    }

    /// One function value with what both captured.
    fn merge_closures(&self, a: Expr, b: Expr) -> Expr {
        let (ty, span) = (a.ty.clone(), a.span);
        Expr::new(ExprKind::Host(HostOp::MergeClosures, vec![a, b]), ty, span)
    }

    /// The globals that move and that a function, or one that it calls, reads.
    fn moving_globals(&self, func: FuncId, t: &Tangents) -> Vec<VarId> {
        let active: Vec<VarId> = t
            .active()
            .into_iter()
            .filter(|var| matches!(self.program.vars[*var].place, Place::Global(_)))
            .collect();
        if active.is_empty() {
            return Vec::new();
        }
        let mut read = FxHashSet::default();
        let mut seen = FxHashSet::default();
        self.reads(func, &mut read, &mut seen);
        active.into_iter().filter(|var| read.contains(var)).collect()
    }

    pub(super) fn reads(
        &self,
        func: FuncId,
        read: &mut FxHashSet<VarId>,
        seen: &mut FxHashSet<FuncId>,
    ) {
        if seen.insert(func) {
            self.reads_in(&self.program.funcs[func].body, read, seen);
        }
    }

    pub(super) fn reads_in(
        &self,
        e: &Expr,
        read: &mut FxHashSet<VarId>,
        seen: &mut FxHashSet<FuncId>,
    ) {
        match &*e.kind {
            ExprKind::Var(var) => {
                read.insert(*var);
            }
            ExprKind::Call { func, .. }
            | ExprKind::Specialise { func, .. }
            | ExprKind::Closure { func: Some(func), .. } => {
                self.reads(*func, read, seen);
            }
            _ => {}
        }
        each_child(e, &mut |child| self.reads_in(child, read, seen));
    }

    /// The function that computes the tangent of a function's result from its arguments and their
    /// tangents.
    fn tangent_function(&mut self, func: FuncId, globals: Vec<VarId>) -> FuncId {
        self.clean_function(func);
        let key = Key { func, globals: globals.clone() };
        if let Some(known) = self.tangents.get(&key) {
            return *known;
        }
        let source = &self.program.funcs[func];
        let name = Symbol::intern(&format!("{}'", source.name));
        let mut body = source.body.clone();
        super::positions::narrow(&mut body);
        let (span, ret) = (source.span, source.ret.clone());
        let (sizes, captures, params) =
            (source.sizes.clone(), source.captures.clone(), source.params.clone());
        let slots = source.slots;
        let tangent = self.program.funcs.push(Func {
            name,
            span,
            sizes,
            captures: captures.clone(),
            params: params.clone(),
            ret,
            body: Expr::error(span),
            slots,
            rule: None,
            by: None,
        });
        self.tangents.insert(key, tangent);
        self.clean.insert(tangent);
        let frame = std::mem::replace(&mut self.frame, Frame::Func(tangent));
        let scope = std::mem::take(&mut self.scope);
        let mut t = Tangents::default();
        let mut moving_captures = Vec::new();
        for var in &captures {
            moving_captures.push(self.twin(*var, &mut t));
        }
        let mut moving_params = Vec::new();
        for var in &params {
            moving_params.push(self.twin(*var, &mut t));
        }
        for var in &globals {
            moving_params.push(self.twin(*var, &mut t));
        }
        let value = self.tangent(&body, &mut t);
        let value = value.unwrap_or_else(|| self.zeros_like(body));
        self.scope = scope;
        self.frame = frame;
        let func = &mut self.program.funcs[tangent];
        func.captures.extend(moving_captures);
        func.params.extend(moving_params);
        func.body = value;
        tangent
    }

    /// A parameter for the tangent of a variable.
    fn twin(&mut self, var: VarId, t: &mut Tangents) -> VarId {
        let Var { ty, span, .. } = self.program.vars[var].clone();
        let twin = self.local("$t", ty.clone(), span);
        if moves(&ty) {
            t.set(var, twin);
        }
        twin
    }
}
