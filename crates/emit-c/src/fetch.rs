//! Vector loops that ask for what is read later.

use ein_ir::loops::For;
use ein_ir::loops::lanes::{Asks, Lanes};

use crate::emit::Function;

impl Function<'_> {
    /// A loop in vectors without reductions that asks for what is read later, strip by strip.
    pub fn fetching(&mut self, inner: &For, lanes: &Lanes, asks: &Asks) {
        let (var, Asks { every, step, addrs }) = (inner.var, asks);
        let (lo, hi) = (self.operand(inner.lo), self.operand(inner.hi));
        let strip = format!("{var}_strip");
        self.line(&format!("int64_t {strip} = {lo};"));
        self.line(&format!("for (; {strip} + {every} <= {hi}; {strip} += {every}) {{"));
        self.depth += 1;
        let head = format!("for (int64_t {var} = {strip}; {var} < {strip} + {every}; {var}");
        self.line(&format!("{head} += {step}) {{"));
        for addr in addrs {
            let place = self.place(addr);
            self.line(&format!("    __builtin_prefetch(&{place});"));
        }
        self.line("}");
        self.vector(inner, lanes, &[], &format!("{head}++) {{"));
        self.depth -= 1;
        self.line("}");
        let rest = format!("for (int64_t {var} = {strip}; {var} < {hi}; {var}++) {{");
        self.vector(inner, lanes, &[], &rest);
    }
}
