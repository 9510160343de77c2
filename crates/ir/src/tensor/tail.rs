//! Calls that are the last action of a function.

use super::walk::each_child;
use super::{Expr, ExprKind, FuncId, Stmt, StmtKind, Type, VarId};

/// What a block only names, or takes apart only to put it together again, as functions do with results
/// that are arrays or have some among their parts: the checker names these for their sizes. So what is
/// inside is the last action.
pub fn put_together_again<'p>(stmts: &'p [Stmt], value: &'p Expr) -> Option<&'p Expr> {
    let (Stmt { kind: StmtKind::Let(name, whole), .. }, parts) = stmts.split_first()? else {
        return None;
    };
    if parts.is_empty() && matches!(&*value.kind, ExprKind::Var(var) if var == name) {
        return Some(whole);
    }
    let ExprKind::Tuple(items) = &*value.kind else { return None };
    let Type::Tuple(types) = &whole.ty else { return None };
    let part_of = |e: &Expr| match &*e.kind {
        ExprKind::TupleGet(base, at) => match &*base.kind {
            ExprKind::Var(var) if var == name => Some(*at),
            _ => None,
        },
        _ => None,
    };
    let named: Option<Vec<(VarId, usize)>> = parts
        .iter()
        .map(|stmt| match &stmt.kind {
            StmtKind::Let(var, part) => Some((*var, part_of(part)?)),
            StmtKind::Destructure(..) | StmtKind::Expr(_) | StmtKind::Require(_) => None,
        })
        .collect();
    let named = named?;
    let is_own = |(at, item): (usize, &Expr)| match &*item.kind {
        ExprKind::Var(var) => named.contains(&(*var, at)),
        _ => part_of(item) == Some(at),
    };
    let all = items.len() == types.len() && items.iter().enumerate().all(is_own);
    all.then_some(whole)
}

/// The calls that a function makes of itself, if each of them is its last action: with their arguments.
/// None if it makes no such call, or another one.
pub fn last_calls(body: &Expr, func: FuncId) -> Option<Vec<&[Expr]>> {
    let mut last = Vec::new();
    endings(body, &mut |e| {
        if let ExprKind::Call { func: called, args, .. } = &*e.kind
            && *called == func
        {
            last.push(args.as_slice());
        }
    });
    (!last.is_empty() && last.len() == mentions(body, func)).then_some(last)
}

/// Which parameters a function passes on as they are in all these calls of itself.
pub fn kept(params: &[VarId], calls: &[&[Expr]]) -> Vec<bool> {
    let passed = |(at, param): (usize, &VarId)| {
        calls.iter().all(|args| match args.get(at).map(|arg| &*arg.kind) {
            Some(ExprKind::Var(var)) => var == param,
            Some(_) | None => false,
        })
    };
    params.iter().enumerate().map(passed).collect()
}

/// Calls `f` with each expression that can be the last one that is evaluated.
fn endings<'p>(e: &'p Expr, f: &mut dyn FnMut(&'p Expr)) {
    match &*e.kind {
        ExprKind::If { then, otherwise, .. } => {
            endings(then, f);
            endings(otherwise, f);
        }
        ExprKind::Block { stmts, value } => {
            endings(put_together_again(stmts, value).unwrap_or(value), f);
        }
        ExprKind::Match { arms, .. } => arms.iter().for_each(|arm| endings(&arm.value, f)),
        _ => f(e),
    }
}

/// How often a function is called, or made a value, in an expression.
fn mentions(e: &Expr, func: FuncId) -> usize {
    let below = |e: &Expr| {
        let mut count = 0;
        each_child(e, &mut |child| count += mentions(child, func));
        count
    };
    match &*e.kind {
        // What a nested function captured is made a value again where it calls itself.
        ExprKind::Call { func: called, closure, args, .. } if *called == func => {
            let captured = closure.as_ref().map_or(0, below);
            1 + captured + args.iter().map(|arg| mentions(arg, func)).sum::<usize>()
        }
        ExprKind::Specialise { func: made, .. } => usize::from(*made == func) + below(e),
        ExprKind::Closure { func: made, .. } => usize::from(*made == Some(func)) + below(e),
        _ => below(e),
    }
}
