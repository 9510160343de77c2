//! Calls: what numbers alone go into reaches what they reach; other functions are looked into.

use super::{Position, Reach, Value};
use ein_ir::size;
use ein_ir::tensor::{Expr, ExprKind, FuncId, Type, VarId};
use rustc_hash::FxHashSet;

impl Reach<'_, '_> {
    /// Whether a call computes from numbers alone, so that it reaches what they reach.
    pub(super) fn is_of_numbers(&self, func: FuncId, args: &[Expr]) -> bool {
        let mut read = FxHashSet::default();
        self.pass.reads(func, &mut read, &mut FxHashSet::default());
        args.iter().all(|arg| matches!(arg.ty, Type::Scalar(_)))
            && !read.iter().any(|var| self.moves(*var))
    }

    pub(super) fn moves(&self, var: VarId) -> bool {
        !matches!(self.values.get(&var), None | Some(Value::Still))
    }

    /// Binds the parameters of a known function, and gives what is to be looked at in place of the
    /// call: its body, or its rule with the tangents in the place of what moves.
    pub(super) fn enter_call(&mut self, e: &Expr) -> Option<Expr> {
        let ExprKind::Call { func, sizes, closure, args } = &*e.kind else { return None };
        if self.open.contains(func) {
            return None;
        }
        self.pass.clean_function(*func);
        let values: Vec<Value> = args.iter().map(|arg| self.value(arg)).collect();
        let ints: Vec<Position> = args.iter().map(|arg| self.int(arg)).collect();
        let sizes: Vec<size::Expr> = sizes.iter().map(|size| self.resolved(size)).collect();
        let captured = closure.as_ref().map(|closure| match &*closure.kind {
            ExprKind::Closure { captures, .. } => {
                captures.iter().map(|capture| (self.value(capture), self.int(capture))).collect()
            }
            _ => vec![(self.unknown(closure), None)],
        });
        let rule = self.pass.program.funcs[*func].rule;
        let code = rule.unwrap_or(*func);
        self.pass.clean_function(code);
        let callee = &self.pass.program.funcs[code];
        let (params, captures) = (callee.params.clone(), callee.captures.clone());
        let (size_vars, body) = (callee.sizes.clone(), callee.body.clone());
        for (var, size) in size_vars.into_iter().zip(sizes) {
            self.ints.insert(var, Some(size));
        }
        let captured: Vec<(Value, Position)> = captured.unwrap_or_default();
        for (number, var) in captures.into_iter().enumerate() {
            let one = captured.get(number).or(captured.first()).cloned();
            let (value, int) = one.unwrap_or((Value::Anything, None));
            self.values.insert(var, value);
            self.ints.insert(var, int);
        }
        let still = if rule.is_some() { args.len() } else { 0 };
        for (number, var) in params.into_iter().enumerate() {
            let from = number.checked_sub(still).unwrap_or(number);
            let (Some(value), Some(arg)) = (values.get(from), args.get(from)) else { return None };
            let value = if number < still { Value::Still } else { value.clone() };
            self.extents_of(var, arg);
            self.ints.insert(var, ints[from].clone());
            self.values.insert(var, value);
        }
        self.open.push(*func);
        Some(body)
    }
}
