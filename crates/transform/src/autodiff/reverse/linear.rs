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

impl Reverse<'_, '_> {
    /// Whether a call of a function is pulled back by [`Self::pull_linear`].
    pub(super) fn is_linear(&self, func: FuncId) -> bool {
        matches!(self.pass.program.funcs[func].by, Some(ArrayOp::Fourier))
    }

    /// A call of a linear function of the host with one argument.
    pub(super) fn pull_linear(&mut self, call: &Expr, bar: Expr) -> Done {
        let ExprKind::Call { func, sizes, closure, args } = &*call.kind else {
            return super::unsupported("a call");
        };
        let [arg] = args.as_slice() else { return super::unsupported("a call") };
        let turned = self.exchanged(&bar, call);
        let turned = self.lifted_array(turned);
        let kind = ExprKind::Call {
            func: *func,
            sizes: sizes.clone(),
            closure: closure.clone(),
            args: vec![turned],
        };
        let made = self.lifted_array(Expr::new(kind, call.ty.clone(), call.span));
        let back = self.exchanged(&made, call);
        let back = self.lifted_array(back);
        self.pull_array(arg, back)
    }

    /// A pair of rows with its parts exchanged.
    fn exchanged(&mut self, pair: &Expr, like: &Expr) -> Expr {
        let span = like.span;
        let mut slots = Vec::new();
        let mut at = Vec::new();
        for axis in like.ty.axes() {
            let var = self.pass.local("$i", Type::I32, span);
            let hi = Expr::size(axis.size.clone(), span);
            slots.push(ClauseSlot::Loop(Binder { var, lo: Expr::int(0, span), hi }));
            at.push(self.pass.var(var, span));
        }
        if let Some(part) = at.first_mut() {
            *part = self.pass.arith(BinaryOp::Sub, Expr::int(1, span), part.clone());
        }
        defined(slots, element(pair.clone(), &at, span), like.ty.clone(), span)
    }

    /// An array by a name: of a definition for all points on the way, or bound here.
    fn lifted_array(&mut self, e: Expr) -> Expr {
        if self.path.is_empty() {
            return self.bind("$b", e);
        }
        match self.definition("$b", &e) {
            Some(read) => read,
            None => self.bind("$b", e),
        }
    }
}
