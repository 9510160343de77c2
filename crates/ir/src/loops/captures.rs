//! What a piece of code takes from outside: what an engine hands to a function that it makes of a
//! loop body.

use std::collections::BTreeSet;

use super::{Addr, Buf, For, ForKind, Gemm, Op, Operand, Reg, Stmt};

/// What a piece of code uses but does not define.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    /// The registers, in order.
    pub regs: BTreeSet<Reg>,
    /// The buffers, in order: all that it uses, local ones as well.
    pub bufs: BTreeSet<Buf>,
    /// The registers in the order of their first use: the same for equal code, whatever their numbers.
    pub regs_by_use: Vec<Reg>,
    /// The buffers in that order.
    pub bufs_by_use: Vec<Buf>,
    /// Whether it calls functions of the interface: matrix products and loops that run by
    /// themselves.
    pub interface: bool,
}

impl For {
    /// What the body takes from outside, its counter and bounds excepted.
    pub fn captures(&self) -> Captures {
        let mut walk = Walk { defined: BTreeSet::from([self.var]), found: Captures::default() };
        walk.block(&self.body);
        walk.found
    }
}

/// What a block takes from outside.
pub fn captures(block: &[Stmt]) -> Captures {
    let mut walk = Walk { defined: BTreeSet::new(), found: Captures::default() };
    walk.block(block);
    walk.found
}

impl Op {
    /// Calls a function with every operand, those of an address excepted.
    pub fn operands(&self, mut f: impl FnMut(Operand)) {
        match self {
            Op::Load(_) => {}
            Op::Copy(a) | Op::Unary(_, a) | Op::Cast(a) | Op::NearRsqrt(a) => f(*a),
            Op::Binary(_, a, b) | Op::Overflows(_, a, b) => {
                f(*a);
                f(*b);
            }
            Op::MulAdd(a, b, c) | Op::Select(a, b, c) => {
                f(*a);
                f(*b);
                f(*c);
            }
        }
    }
}

struct Walk {
    defined: BTreeSet<Reg>,
    found: Captures,
}

impl Walk {
    fn block(&mut self, block: &[Stmt]) {
        for stmt in block {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(reg, op) => {
                op.operands(|it| self.operand(it));
                if let Op::Load(addr) = op {
                    self.addr(addr);
                }
                self.defined.insert(*reg);
            }
            Stmt::Var(reg, value) => {
                self.operand(*value);
                self.defined.insert(*reg);
            }
            Stmt::Set(reg, value) => {
                self.reg(*reg);
                self.operand(*value);
            }
            Stmt::Store(addr, value) => {
                self.addr(addr);
                self.operand(*value);
            }
            Stmt::For(inner) => {
                self.operand(inner.lo);
                self.operand(inner.hi);
                self.found.interface |=
                    matches!(inner.kind, ForKind::Parallel { .. } | ForKind::Flushed)
                        || inner.asks_after().is_some();
                if let ForKind::Until(ends) = inner.kind {
                    self.reg(ends);
                }
                self.defined.insert(inner.var);
                self.block(&inner.body);
                if let ForKind::Lanes(lanes) = &inner.kind {
                    let asked = lanes.asks.iter().flat_map(|asks| &asks.addrs);
                    asked.for_each(|addr| self.addr(addr));
                }
            }
            Stmt::If(condition, yes, no) => {
                self.operand(*condition);
                self.block(yes);
                self.block(no);
            }
            Stmt::Gemm(gemm) => {
                self.found.interface = true;
                let Gemm { m, n, k, a, b, c, accumulate: _, parallel: _ } = &**gemm;
                [m, n, k].into_iter().for_each(|it| self.operand(*it));
                [a, b, c].into_iter().for_each(|it| self.addr(&it.addr));
            }
            Stmt::Trap(condition) => self.operand(*condition),
        }
    }

    fn addr(&mut self, addr: &Addr) {
        if self.found.bufs.insert(addr.buf) {
            self.found.bufs_by_use.push(addr.buf);
        }
        for &(reg, _) in &addr.terms {
            self.reg(reg);
        }
    }

    fn operand(&mut self, operand: Operand) {
        if let Operand::Reg(reg) = operand {
            self.reg(reg);
        }
    }

    fn reg(&mut self, reg: Reg) {
        if !self.defined.contains(&reg) && self.found.regs.insert(reg) {
            self.found.regs_by_use.push(reg);
        }
    }
}
