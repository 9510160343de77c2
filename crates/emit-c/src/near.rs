//! Sines, cosines and tangents of `f64` in vector loops.
//!
//! To take the quarter turns out of a large number takes a branch, and with a branch there are no
//! vectors. So a loop that may be run twice computes as if no number were large, notes whether one was,
//! and then is run once more without vectors. A loop that reads what it writes does so in parts, whose
//! stores wait until it is known.

use ein_ir::loops::lanes::{Reduction, far_call};
use ein_ir::loops::{For, Operand, Reg, Stmt};
use ein_scalar::UnaryOp;

use crate::emit::Function;
use crate::op;

/// What the body of a loop does about numbers that are large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Far {
    /// It takes the branch.
    Taken,
    /// It notes whether there was one.
    Noted,
    /// The same, and sets aside what it stores.
    Aside,
}

impl Function<'_> {
    /// A loop that takes no number for large, and once more if one was.
    pub fn near(&mut self, inner: &For, plan: &[Reduction], head: &str) {
        self.line("{");
        self.depth += 1;
        self.attempt(inner, plan, head, Far::Noted);
        self.line("}");
        self.depth -= 1;
        self.line("}");
    }

    /// The same in parts of so many iterations, which store what they have computed when no number was
    /// large.
    pub fn near_in_parts(&mut self, inner: &For, plan: &[Reduction], size: i64) {
        let (lo, hi) = (self.operand(inner.lo), self.operand(inner.hi));
        let (var, part) = (inner.var, format!("{}_part", inner.var));
        self.line(&format!("for (int64_t {part} = {lo}; {part} < {hi}; {part} += {size}) {{"));
        self.depth += 1;
        self.line(&format!(
            "const int64_t {part}_end = {hi} - {part} < {size} ? {hi} : {part} + {size};"
        ));
        for (n, _, value) in inner.stores() {
            if let Operand::Reg(reg) = value {
                let ty = op::register_type(self.kernel.regs[reg]);
                self.line(&format!("{ty} {part}_{n}[{size}];"));
            }
        }
        let head = format!("for (int64_t {var} = {part}; {var} < {part}_end; {var}++) {{");
        self.attempt(inner, plan, &head, Far::Aside);
        self.line("} else {");
        self.depth += 1;
        self.line("#pragma omp simd");
        self.line(&head);
        self.depth += 1;
        for (n, addr, value) in inner.stores() {
            let value = match value {
                Operand::Reg(_) => aside(inner, n),
                constant => self.operand(constant),
            };
            self.store(addr, &value);
        }
        for _ in 0..2 {
            self.depth -= 1;
            self.line("}");
        }
        self.depth -= 1;
        self.line("}");
    }

    /// A loop that notes whether a number was large; if one was, all of it once more, in a block that is
    /// still open.
    fn attempt(&mut self, inner: &For, plan: &[Reduction], head: &str, far: Far) {
        self.line("uint64_t far = 0;");
        for reduction in plan {
            let (var, ty) = (reduction.var, op::register_type(self.kernel.regs[reduction.var]));
            self.line(&format!("const {ty} {var}_first = {var};"));
        }
        self.lanes(inner, plan, head, far);
        self.line("if (far) {");
        self.depth += 1;
        for reduction in plan {
            let var = reduction.var;
            self.line(&format!("{var} = {var}_first;"));
        }
        self.nested(head, &inner.body, "}");
        self.depth -= 1;
    }

    /// A statement of a loop that may only note large numbers.
    pub fn noting(&mut self, inner: &For, (n, stmt): (usize, &Stmt), far: Far) {
        match (far, stmt) {
            (Far::Taken, _) => self.stmt(stmt),
            (Far::Aside, Stmt::Store(_, value)) => {
                if let Operand::Reg(_) = value {
                    let value = self.operand(*value);
                    self.line(&format!("{} = {value};", aside(inner, n)));
                }
            }
            (Far::Noted | Far::Aside, _) => match far_call(stmt, |reg| self.kernel.regs[reg]) {
                Some((reg, op, x)) => self.near_call(reg, op, x),
                None => self.stmt(stmt),
            },
        }
    }

    /// One of these functions of a number that is not large.
    fn near_call(&mut self, reg: Reg, op: UnaryOp, x: Operand) {
        let x = self.operand(x);
        self.line(&format!("far |= ein_is_beyond_f64({x});"));
        self.line(&format!("const double {reg} = ein_{op}_near_f64({x});"));
    }
}

/// Where the value of a store waits in an iteration of a part.
fn aside(inner: &For, n: usize) -> String {
    let var = inner.var;
    format!("{var}_part_{n}[{var} - {var}_part]")
}
