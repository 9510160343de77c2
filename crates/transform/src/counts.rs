//! What a kernel takes, counted from its loops: operations, bytes, memory and passes.
//!
//! Nothing is measured, so the numbers are the same on every machine and may be compared in tests: two
//! programs that mean the same should cost the same. A bound that other counters decide counts as
//! the mean of some places in their ranges, and a branch as the mean of its sides.
//!
//! Does not know: caches, threads; of vectors only that they are several times as fast.

use ein_ir::loops::{Addr, BufferKind, For, ForKind, Kernel, Op, Operand, Reg, Stmt};
use ein_scalar::{BinaryOp, UnaryOp};
use rustc_hash::FxHashMap;

/// Places of an outer counter at which inner bounds are looked at.
const SAMPLES: f64 = 9.0;

/// What a loop in vectors takes of the same one after another: between four and sixteen elements are done
/// at a time, less what is not arithmetic.
const IN_VECTORS: f64 = 1.0 / 6.0;

/// Steps that are expected of a loop which a condition ends: its limit is there to be safe, and rarely met.
const STEPS_UNTIL: f64 = 100.0;

/// What kernels take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Scalar operations; an elementary function is several.
    pub operations: f64,
    /// Bytes that loads and stores move.
    pub bytes: f64,
    /// Bytes of results and intermediate arrays.
    pub memory: f64,
    /// Loops and matrix products that are not inside others.
    pub passes: f64,
    /// Operations, loads and stores one after another: in vectors they count as a part, and matrix
    /// products, which all engines take from one library, not at all.
    pub pace: f64,
}

impl std::ops::Add for Counts {
    type Output = Counts;

    fn add(self, other: Counts) -> Counts {
        Counts {
            operations: self.operations + other.operations,
            bytes: self.bytes + other.bytes,
            memory: self.memory + other.memory,
            passes: self.passes + other.passes,
            pace: self.pace + other.pace,
        }
    }
}

/// Counts what a kernel takes.
pub fn counts(kernel: &Kernel) -> Counts {
    let size = |ty: ein_scalar::ScalarType| ty.size_bytes() as f64;
    let memory = kernel.bufs.iter().map(|buf| match buf.kind {
        BufferKind::Input => 0.0,
        BufferKind::Output | BufferKind::Scratch | BufferKind::Local => {
            buf.len as f64 * size(buf.ty)
        }
    });
    let memory = memory.sum();
    let total = Counts::default();
    let mut count = Count { kernel, values: FxHashMap::default(), share: 1.0, total };
    count.block(&kernel.body, 1.0, true);
    Counts { memory, ..count.total }
}

struct Count<'k> {
    kernel: &'k Kernel,
    /// What integer registers hold at the place that is looked at, as far as it is known.
    values: FxHashMap<Reg, f64>,
    /// What of the operations counts as one after another.
    share: f64,
    total: Counts,
}

impl Count<'_> {
    fn block(&mut self, stmts: &[Stmt], times: f64, outside: bool) {
        for stmt in stmts {
            match stmt {
                Stmt::Let(reg, op) => self.define(*reg, op, times),
                Stmt::Var(reg, value) => {
                    if let Some(value) = self.value(*value) {
                        self.values.insert(*reg, value);
                    }
                }
                Stmt::Set(..) | Stmt::Trap(_) => {}
                Stmt::Store(addr, _) => self.moved(addr, times),
                Stmt::For(inner) => self.repeated(inner, times, outside),
                Stmt::If(_, yes, no) => {
                    self.block(yes, times / 2.0, outside);
                    self.block(no, times / 2.0, outside);
                }
                Stmt::Gemm(gemm) => {
                    let [m, n, k] =
                        [gemm.m, gemm.n, gemm.k].map(|it| self.value(it).unwrap_or(1.0));
                    let ty = self.kernel.bufs[gemm.c.addr.buf].ty.size_bytes() as f64;
                    // A multiplication and an addition, of which a matrix product does many at once.
                    self.total.operations += times * m * n * k / 4.0;
                    self.total.bytes += times * ty * (m * k + k * n + m * n);
                    self.total.passes += f64::from(u8::from(outside));
                }
            }
        }
    }

    fn repeated(&mut self, inner: &For, times: f64, outside: bool) {
        let (lo, hi) = (self.value(inner.lo), self.value(inner.hi));
        let (lo, hi) = (lo.unwrap_or(0.0), hi.unwrap_or(1.0));
        let trips = (hi - lo).max(0.0);
        self.total.passes += f64::from(u8::from(outside && trips > 1.0));
        // A loop of one step is no loop: what is inside of it counts.
        let outside = outside && trips <= 1.0;
        // Bounds inside that depend on the counter are looked at in several places.
        let samples = if has_moving_bounds(&inner.body) { trips.clamp(1.0, SAMPLES) } else { 1.0 };
        let share = self.share;
        self.share *= match &inner.kind {
            ForKind::Lanes(_) | ForKind::Vector { .. } | ForKind::Scan(_) => IN_VECTORS,
            ForKind::Until(_) => (STEPS_UNTIL / trips.max(1.0)).min(1.0),
            ForKind::Serial
            | ForKind::Backward
            | ForKind::Parallel { .. }
            | ForKind::Flushed
            | ForKind::Apart
            | ForKind::Unrolled => 1.0,
        };
        let mut at = 0.5;
        while at < samples {
            let counter = lo + (at * trips / samples).floor();
            self.values.insert(inner.var, counter);
            self.block(&inner.body, times * trips / samples, outside);
            at += 1.0;
        }
        self.share = share;
    }

    fn define(&mut self, reg: Reg, op: &Op, times: f64) {
        let known = match op {
            Op::Copy(a) | Op::Cast(a) => self.value(*a),
            Op::Binary(op, a, b) => match (self.value(*a), self.value(*b)) {
                (Some(a), Some(b)) => middle(*op, a, b),
                _ => None,
            },
            _ => None,
        };
        if let Some(known) = known {
            self.values.insert(reg, known);
        }
        // Arithmetic on positions is not what a program is about.
        let position = known.is_some();
        let cost = match op {
            Op::Load(addr) => {
                self.moved(addr, times);
                0.0
            }
            Op::Copy(_) => 0.0,
            Op::Cast(_) | Op::Select(..) | Op::Overflows(..) | Op::NearRsqrt(_) => 1.0,
            Op::MulAdd(..) => 2.0,
            Op::Unary(op, _) => unary(*op),
            Op::Binary(op, ..) => binary(*op),
        };
        if !position {
            self.total.operations += times * cost;
            self.total.pace += times * cost * self.share;
        }
    }

    fn moved(&mut self, addr: &Addr, times: f64) {
        self.total.bytes += times * self.kernel.bufs[addr.buf].ty.size_bytes() as f64;
        self.total.pace += times * self.share;
    }

    fn value(&self, operand: Operand) -> Option<f64> {
        match operand {
            Operand::Reg(reg) => self.values.get(&reg).copied(),
            Operand::Const(value) => value.ty().is_int().then(|| value.as_f64()),
        }
    }
}

/// Whether a loop in here has bounds that are not constants.
fn has_moving_bounds(stmts: &[Stmt]) -> bool {
    stmts.iter().any(|stmt| match stmt {
        Stmt::For(inner) => {
            matches!((inner.lo, inner.hi), (Operand::Reg(_), _) | (_, Operand::Reg(_)))
                || has_moving_bounds(&inner.body)
        }
        Stmt::If(_, yes, no) => has_moving_bounds(yes) || has_moving_bounds(no),
        Stmt::Let(..)
        | Stmt::Var(..)
        | Stmt::Set(..)
        | Stmt::Store(..)
        | Stmt::Gemm(_)
        | Stmt::Trap(_) => false,
    })
}

fn middle(op: BinaryOp, a: f64, b: f64) -> Option<f64> {
    match op {
        BinaryOp::Add => Some(a + b),
        BinaryOp::Sub => Some(a - b),
        BinaryOp::Mul => Some(a * b),
        BinaryOp::Min => Some(a.min(b)),
        BinaryOp::Max => Some(a.max(b)),
        BinaryOp::Div if b != 0.0 => Some((a / b).trunc()),
        _ => None,
    }
}

fn unary(op: UnaryOp) -> f64 {
    match op {
        UnaryOp::Neg | UnaryOp::Not | UnaryOp::Abs | UnaryOp::Sign => 1.0,
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => 1.0,
        UnaryOp::IsNan | UnaryOp::IsInf | UnaryOp::IsFinite => 1.0,
        UnaryOp::Sqrt | UnaryOp::Rsqrt => 4.0,
        _ => 20.0,
    }
}

fn binary(op: BinaryOp) -> f64 {
    match op {
        BinaryOp::Pow | BinaryOp::Atan2 => 30.0,
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod => 4.0,
        _ => 1.0,
    }
}
