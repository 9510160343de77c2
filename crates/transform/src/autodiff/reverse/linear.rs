//! Functions of the host that are linear ([`ein_ir::tensor::Func::by`]): what flows back through one goes
//! through a function of the host as well.
//!
//! Before:  `y = of_row(z)`, a Fourier transform of the pair of rows `z`
//! After:   `z'[c, i] = of_row(y'[1 - c, i])[1 - c, i]`
//!
//! The matrix of the transform is symmetric as one of complex numbers. As one of pairs its transpose is
//! therefore the conjugate, which is the transform of the parts in the other order.

use super::{Done, Reverse, element};
use crate::autodiff::tensor::defined;
use ein_ir::tensor::{ArrayOp, Binder, ClauseSlot, Expr, ExprKind, FuncId, Type};
use ein_scalar::BinaryOp;

/// Whether a call of a function is pulled back by [`pull`].
pub(super) fn is_linear(it: &Reverse<'_, '_>, func: FuncId) -> bool {
    matches!(it.pass.program.funcs[func].by, Some(ArrayOp::Fourier))
}

/// A call of a linear function of the host with one argument.
pub(super) fn pull(it: &mut Reverse<'_, '_>, call: &Expr, bar: Expr) -> Done {
    let ExprKind::Call { func, sizes, closure, args } = &*call.kind else {
        return super::unsupported("a call");
    };
    let [arg] = args.as_slice() else { return super::unsupported("a call") };
    let turned = exchanged(it, &bar, call);
    let turned = lifted_array(it, turned);
    let kind = ExprKind::Call {
        func: *func,
        sizes: sizes.clone(),
        closure: closure.clone(),
        args: vec![turned],
    };
    let made = lifted_array(it, Expr::new(kind, call.ty.clone(), call.span));
    let back = exchanged(it, &made, call);
    let back = lifted_array(it, back);
    it.pull_array(arg, back)
}

/// A pair of rows with its parts exchanged.
fn exchanged(it: &mut Reverse<'_, '_>, pair: &Expr, like: &Expr) -> Expr {
    let span = like.span;
    let mut slots = Vec::new();
    let mut at = Vec::new();
    for axis in like.ty.axes() {
        let var = it.pass.local("$i", Type::I32, span);
        let hi = Expr::size(axis.size.clone(), span);
        slots.push(ClauseSlot::Loop(Binder { var, lo: Expr::int(0, span), hi }));
        at.push(it.pass.var(var, span));
    }
    if let Some(part) = at.first_mut() {
        *part = it.pass.arith(BinaryOp::Sub, Expr::int(1, span), part.clone());
    }
    defined(slots, element(pair.clone(), &at, span), like.ty.clone(), span)
}

/// An array by a name: of a definition for all points on the way, or bound here.
fn lifted_array(it: &mut Reverse<'_, '_>, e: Expr) -> Expr {
    if it.path.is_empty() {
        return it.bind("$b", e);
    }
    match it.definition("$b", &e) {
        Some(read) => read,
        None => it.bind("$b", e),
    }
}
