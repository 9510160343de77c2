//! Decides how vector loops run, once for every engine.
//!
//! Before:  `vector(add r1) for r2 in 0..1024 { … }`: may run in vectors
//! After:   the same with [`Lanes`]: how many accumulators there are and what the last iterations do,
//!          what is asked of memory, what is run twice, what is a scan
//!
//! The schedule says which loops may run in vectors; what pays on the machine is asked of
//! [`Cost`]. A vector loop that this pass has not seen runs one iteration after another.

mod requests;
mod stages;
mod sums;

use super::lanes::{Lanes, Twice, far_call};
use super::scan;
use super::{Buf, For, ForKind, Kernel, Reg, Stmt};
use crate::cost::Cost;
use ein_scalar::BinaryOp;
use requests::Rows;
use std::collections::BTreeSet;

/// Iterations whose stores are set aside: some vectors, and little memory.
const PART: i64 = 64;

/// Decides for all loops of a kernel; those that are decided stay as they are.
pub fn run(kernel: &mut Kernel, cost: Cost) {
    let mut body = std::mem::take(&mut kernel.body);
    let mut single = BTreeSet::new();
    written_single(&body, &mut single);
    let mut pass = Pass { kernel, cost, single, rows: Rows::default() };
    pass.block(&mut body);
    kernel.body = body;
}

/// What is known on the way through a kernel.
struct Pass<'k> {
    /// The kernel without its code.
    kernel: &'k Kernel,
    cost: Cost,
    /// The buffers whose elements are written outside of vector loops.
    single: BTreeSet<Buf>,
    /// What vector loops have read in the loop around.
    rows: Rows,
}

impl Pass<'_> {
    fn block(&mut self, block: &mut [Stmt]) {
        for stmt in block {
            match stmt {
                Stmt::For(inner) => self.for_loop(inner),
                Stmt::If(_, yes, no) => {
                    self.block(yes);
                    self.block(no);
                }
                Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Store(..) => {}
                Stmt::Gemm(_) | Stmt::Trap(_) => {}
            }
        }
    }

    fn for_loop(&mut self, inner: &mut For) {
        match &inner.kind {
            ForKind::Vector { reductions } => {
                let reductions = reductions.clone();
                if let Some(lanes) = self.lanes(inner, reductions) {
                    inner.kind = ForKind::Lanes(Box::new(lanes));
                }
            }
            ForKind::Lanes(_) | ForKind::Scan(_) => {}
            ForKind::Serial => match scan::find(self.kernel, inner, self.cost) {
                Some(scan) => inner.kind = ForKind::Scan(scan),
                None => self.around(inner, Rows::around(inner.var)),
            },
            ForKind::Until(_) | ForKind::Parallel { .. } | ForKind::Flushed | ForKind::Apart => {
                self.around(inner, Rows::around(inner.var));
            }
            ForKind::Backward => self.around(inner, Rows::default()),
            ForKind::Unrolled => self.block(&mut inner.body),
        }
    }

    /// The body of a loop that chooses the rows that vector loops in it read.
    fn around(&mut self, inner: &mut For, rows: Rows) {
        let outer = std::mem::replace(&mut self.rows, rows);
        self.block(&mut inner.body);
        self.rows = outer;
    }

    /// How a vector loop runs; nothing if its body reduces in no form that is known.
    fn lanes(&mut self, inner: &For, reductions: Vec<(Reg, BinaryOp)>) -> Option<Lanes> {
        let reduced = inner.reduced(&reductions)?;
        let twice = self.twice(inner);
        let whole = !matches!(twice, Twice::Parts(_));
        let asks = self.rows.pass(self.kernel, inner, self.cost, !reduced.is_empty());
        let asks = asks.filter(|_| whole);
        let pieces = match whole && asks.is_none() && reduced.is_empty() {
            true => sums::pieces(self.kernel, inner, self.cost).unwrap_or_default(),
            false => Vec::new(),
        };
        let sums = match twice {
            Twice::Whole | Twice::Parts(_) => None,
            Twice::Never => sums::find(self.kernel, inner, &reduced, self.cost, &self.single),
        };
        let stages = stages::find(self.kernel, inner, &reductions, self.cost);
        Some(Lanes { reductions, sums, pieces, asks, twice, stages })
    }

    /// How a loop does without the branch that some functions take for large numbers, if it has any.
    fn twice(&self, inner: &For) -> Twice {
        let far = |stmt: &Stmt| far_call(stmt, |reg| self.kernel.regs[reg]).is_some();
        match inner.body.iter().any(far) {
            false => Twice::Never,
            true if !inner.reads_what_it_writes() => Twice::Whole,
            true if inner.may_set_aside() => Twice::Parts(PART),
            true => Twice::Never,
        }
    }
}

/// Adds the buffers whose elements are written outside of vector loops.
fn written_single(block: &[Stmt], found: &mut BTreeSet<Buf>) {
    for stmt in block {
        match stmt {
            Stmt::Store(addr, _) => {
                found.insert(addr.buf);
            }
            Stmt::For(inner) => match inner.kind {
                ForKind::Vector { .. } | ForKind::Lanes(_) => {}
                _ => written_single(&inner.body, found),
            },
            Stmt::If(_, yes, no) => {
                written_single(yes, found);
                written_single(no, found);
            }
            Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Gemm(_) | Stmt::Trap(_) => {}
        }
    }
}
