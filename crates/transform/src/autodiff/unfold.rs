//! A call as the statements that bind its parameters, and the body of what it calls.

use super::rename::Renaming;
use super::{Frame, Pass, let_stmt, positions};
use ein_base::Span;
use ein_ir::size;
use ein_ir::tensor::{AtomDef, Axis, Expr, ExprKind, FuncId, Stmt};

/// The parts of a call.
pub(super) struct Call {
    pub func: FuncId,
    pub sizes: Vec<size::Expr>,
    pub captures: Vec<Expr>,
    pub args: Vec<Expr>,
}

/// What a call computes, in variables of its own; nothing if it is not a call of this function. A captured
/// variable is itself, so that what is derived by it is derived by the one outside.
pub(super) fn unfolded(pass: &mut Pass<'_>, call: &Call, span: Span) -> Option<(Vec<Stmt>, Expr)> {
    let callee = &pass.program.funcs[call.func];
    let (size_vars, capture_vars, params, mut body) =
        (callee.sizes.clone(), callee.captures.clone(), callee.params.clone(), callee.body.clone());
    if capture_vars.len() != call.captures.len() || size_vars.len() != call.sizes.len() {
        return None;
    }
    positions::narrow(&mut body);
    let mut names = Renaming::default();
    let mut stmts: Vec<Stmt> = Vec::new();
    for (var, size) in size_vars.iter().zip(&call.sizes) {
        if lasts(pass, size) {
            names.sizes.insert(*var, size.clone());
            continue;
        }
        let new = pass.fresh(*var, &mut names);
        let ty = pass.program.vars[new].ty.clone();
        stmts.push(let_stmt(new, Expr::new(ExprKind::Size(size.clone()), ty, span)));
    }
    let captured = capture_vars.iter().zip(&call.captures).map(|pair| (pair, true));
    for ((var, value), is_captured) in
        captured.chain(params.iter().zip(&call.args).map(|pair| (pair, false)))
    {
        for (axis, Axis { size, .. }) in value.ty.axes().iter().enumerate() {
            if lasts(pass, size) {
                names.extents.insert((*var, axis), size.clone());
            }
        }
        if is_captured && let ExprKind::Var(outside) = &*value.kind {
            names.vars.insert(*var, *outside);
            continue;
        }
        let new = pass.fresh(*var, &mut names);
        stmts.push(let_stmt(new, value.clone()));
    }
    let body = pass.freshened(&body, &mut names);
    Some((stmts, body))
}

/// Whether a size means the same wherever adjoints may stand: it is a number, or comes with the
/// parameters of the function that is being changed. Then it needs no name, which would have to be
/// bound wherever a type mentions it.
fn lasts(pass: &Pass<'_>, size: &size::Expr) -> bool {
    let program = &*pass.program;
    let func = match pass.frame {
        Frame::Top => None,
        Frame::Func(func) => Some(&program.funcs[func]),
    };
    size.atoms().iter().all(|atom| match program.atoms[*atom].def {
        AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var) => {
            func.is_some_and(|it| it.sizes.contains(&var) || it.params.contains(&var))
        }
        AtomDef::Unknown => false,
    })
}
