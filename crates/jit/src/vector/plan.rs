//! What a vector loop does before, in and between its stages, as is decided about it.

use crate::tiles::TileFn;
use ein_ir::loops::stages::{Call, Kept, Source, Stages};
use ein_ir::loops::{Addr, For, Kernel, Op, Reg, Stmt};
use ein_scalar::ScalarType;

/// The stages of a loop, with its statements.
pub(crate) struct Plan<'k> {
    kernel: &'k Kernel,
    body: &'k [Stmt],
    pub(crate) stages: &'k Stages,
    pub(crate) kept: Kept,
}

impl<'k> Plan<'k> {
    pub(crate) fn of(kernel: &'k Kernel, inner: &'k For, stages: &'k Stages) -> Self {
        let kept = stages.kept(inner, |reg| kernel.regs[reg].is_float());
        Plan { kernel, body: &inner.body, stages, kept }
    }

    /// What is done once.
    pub(super) fn once(&self) -> impl Iterator<Item = &'k Stmt> {
        let (stages, body) = (self.stages, self.body);
        stages.once.iter().map(|n| &body[*n])
    }

    /// The statements of a stage.
    pub(crate) fn items(&self, stage: usize) -> impl Iterator<Item = &'k Stmt> {
        let (stages, body) = (self.stages, self.body);
        stages.items(stage).map(|n| &body[n])
    }

    /// The registers that a stage reads from tiles.
    pub(crate) fn reads(&self, stage: usize) -> Vec<Reg> {
        self.kept.reads.iter().filter(|(it, _)| *it == stage).map(|(_, reg)| *reg).collect()
    }

    /// The registers that a stage writes to tiles.
    pub(crate) fn writes(&self, stage: usize) -> Vec<Reg> {
        self.kept.writes.iter().filter(|(it, _)| *it == stage).map(|(_, reg)| *reg).collect()
    }

    /// Whether a register is what a call gives.
    pub(super) fn is_call(&self, reg: Reg) -> bool {
        self.kept.results.contains(&reg)
    }

    /// The tile whose place the one of a register takes.
    pub(super) fn shared(&self, reg: Reg) -> Option<Reg> {
        self.stages.shared.iter().find(|(tile, _)| *tile == reg).map(|(_, other)| *other)
    }

    /// The function that a call calls, and whether it is one of `f64`.
    pub(super) fn function(&self, call: &Call) -> Option<(TileFn, bool)> {
        match &self.body[call.stmt] {
            Stmt::Let(reg, Op::Unary(op, _)) => Some((TileFn::Unary(*op), self.is_double(*reg))),
            Stmt::Let(reg, Op::Binary(op, ..)) => Some((TileFn::Binary(*op), self.is_double(*reg))),
            _ => None,
        }
    }

    fn is_double(&self, reg: Reg) -> bool {
        self.kernel.regs[reg] == ScalarType::F64
    }

    /// The elements that a source is, if it is in memory.
    pub(super) fn elements(&self, source: &Source) -> Option<&'k Addr> {
        let Source::Memory(n) = source else { return None };
        match &self.body[*n] {
            Stmt::Let(_, Op::Load(addr)) | Stmt::Store(addr, _) => Some(addr),
            _ => None,
        }
    }
}
