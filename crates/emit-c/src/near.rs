//! Sines, cosines and tangents of `f64` in vector loops.
//!
//! To take the quarter turns out of a large number takes a branch, and with a branch there are no
//! vectors. So the loop computes as if no number were large, notes whether one was, and then is run
//! once more without vectors. That needs a loop that may be run twice: one that reads nothing of
//! what it writes.

use ein_ir::loops::{For, Kernel, Op, Operand, Reg, Stmt};
use ein_scalar::{ScalarType, UnaryOp};
use std::collections::BTreeSet;

use crate::emit::Function;
use crate::op;
use crate::vector::Reduction;

/// What a statement defines, the function and the argument, if it computes one of these functions.
pub(crate) fn call(kernel: &Kernel, stmt: &Stmt) -> Option<(Reg, UnaryOp, Operand)> {
    match stmt {
        Stmt::Let(reg, Op::Unary(op @ (UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan), x))
            if kernel.regs[*reg] == ScalarType::F64 =>
        {
            Some((*reg, *op, *x))
        }
        _ => None,
    }
}

/// Whether a loop has such functions and may be run twice.
pub(crate) fn applies(kernel: &Kernel, inner: &For) -> bool {
    let stored = inner.body.iter().filter_map(|stmt| match stmt {
        Stmt::Store(addr, _) => Some(addr.buf),
        _ => None,
    });
    let written: BTreeSet<_> = stored.collect();
    let reads_written = inner
        .body
        .iter()
        .any(|stmt| matches!(stmt, Stmt::Let(_, Op::Load(addr)) if written.contains(&addr.buf)));
    !reads_written && inner.body.iter().any(|stmt| call(kernel, stmt).is_some())
}

impl Function<'_> {
    /// A loop that takes no number for large, and once more if one was.
    pub fn near(&mut self, inner: &For, plan: &[Reduction], head: &str) {
        self.line("{");
        self.depth += 1;
        self.line("uint64_t far = 0;");
        for reduction in plan {
            let (var, ty) = (reduction.var, op::register_type(self.kernel.regs[reduction.var]));
            self.line(&format!("const {ty} {var}_first = {var};"));
        }
        self.lanes(inner, plan, head, true);
        self.line("if (far) {");
        self.depth += 1;
        for reduction in plan {
            let var = reduction.var;
            self.line(&format!("{var} = {var}_first;"));
        }
        self.nested(head, &inner.body, "}");
        self.depth -= 1;
        self.line("}");
        self.depth -= 1;
        self.line("}");
    }

    /// One of these functions of a number that is not large.
    pub fn near_call(&mut self, reg: Reg, op: UnaryOp, x: Operand) {
        let x = self.operand(x);
        self.line(&format!("far |= ein_is_far_f64({x});"));
        self.line(&format!("const double {reg} = ein_{op}_near_f64({x});"));
    }
}
