//! Sines, cosines and tangents of `f64` in vector loops.
//!
//! To take the quarter turns out of a large number takes a branch, and with a branch there are no
//! vectors. So a loop that may be run twice computes as if no number were large, notes whether one was,
//! and then is run once more without vectors.

use ein_ir::loops::lanes::Reduction;
use ein_ir::loops::{For, Operand, Reg};
use ein_scalar::UnaryOp;

use crate::emit::Function;
use crate::op;

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
