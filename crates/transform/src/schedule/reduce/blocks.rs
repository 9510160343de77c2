//! The innermost loop of a reduction, cut so that it runs in full vectors and does not wait.
//!
//! Before:  `for j in 0..4096 { s += f(x[j]) }`, with `s` of `f64` and `x` of `f32`
//! After:   `for b in 0..4 { t = 0; for j in 0..1024 { t += f(x[1024 b + j]) } s += t }`
//!
//! Before:  `for j in 0..768 { s += x[j] }`
//! After:   `for j in 0..192 { s += x[j]; t += x[192 + j]; … } s += t; …`
//!
//! * A long sum of costly `f32` is added in blocks: the terms of a block as `f32`, the blocks as
//!   `f64`. Cheap terms are added as `f64`: they wait for memory, so the better sum costs nothing.
//! * A sum of cheap terms waits for itself at every step. A few streams with accumulators of their
//!   own hide that.
//!
//! Needs: constant bounds, terms that run in vectors.
//! Refuses: streams of more than two reductions at once.

use super::{Acc, LONG_SUM, STREAMS, neutral};
use crate::points::{Ix, Node, Subst};
use crate::schedule::emit::Emit;
use crate::schedule::node_cost;
use crate::schedule::plan::Why;
use crate::schedule::view::View;
use ein_base::Symbol;
use ein_ir::loops::{ForKind, Op, Operand, Stmt};
use ein_scalar::{BinaryOp, Scalar, ScalarType};

/// A stream has at least so many terms.
const STREAM: i64 = 128;

/// Terms of at most this cost are cheap.
const CHEAP: f64 = 12.0;

impl Emit {
    /// The terms of a block and its streams, if blocks and streams help.
    pub(super) fn blocks(&self, accs: &[Acc], length: i64) -> Option<((i64, i64), Why)> {
        let long = accs.iter().any(|acc| self.is_wide(acc));
        let size = if long { LONG_SUM.min(length) } else { length };
        let streams = streams(&self.view(), accs, size);
        if self.points.exact || length < STREAM || (!long && streams == 1) {
            return None;
        }
        let why = match long {
            true => Why::Count(length, "costly terms, which are added in the wider type by blocks"),
            false => Why::Count(length, "cheap terms, of which a sum would wait for itself"),
        };
        Some(((size, streams), why))
    }

    /// Runs the innermost loop in blocks of so many terms and so many streams.
    pub(super) fn in_blocks(
        &mut self,
        accs: &[Acc],
        ix: Ix,
        (lo, hi): (i64, i64),
        (size, streams): (i64, i64),
    ) {
        let length = hi - lo;
        let int = |value: i64| Operand::Const(Scalar::I64(value));
        let blocks = length / size;
        let block = self.points.fresh(Symbol::intern("block"), (0, i128::from(blocks - 1)));
        let mut start = self.points.int(lo);
        if blocks > 1 {
            self.open(block, int(0), int(blocks), ForKind::Serial);
            let (at, size) = (self.points.index(block), self.points.int(size));
            let skip = self.points.binary(BinaryOp::Mul, at, size, None);
            start = self.points.binary(BinaryOp::Add, start, skip, None);
        }
        let narrow = self.narrow_accs(accs);
        self.in_streams(&narrow, ix, start, size, streams);
        self.widen_accs(accs, &narrow);
        if blocks > 1 {
            self.close();
        }
        let rest = lo + blocks * size;
        if rest < hi {
            let narrow = self.narrow_accs(accs);
            self.terms(&narrow, ix, int(rest), int(hi), true);
            self.widen_accs(accs, &narrow);
        }
    }

    /// Whether a sum of costly terms is kept in a wider type than they have.
    fn is_wide(&self, acc: &Acc) -> bool {
        acc.body_ty == ScalarType::F32
            && self.kernel.regs[acc.var] == ScalarType::F64
            && node_cost(&self.points, acc.reduction.body) > CHEAP
    }

    /// Accumulators for one block: those of long sums begin anew in the type of the terms.
    fn narrow_accs(&mut self, accs: &[Acc]) -> Vec<Acc> {
        accs.iter()
            .map(|acc| if self.is_wide(acc) { self.anew(acc, acc.body_ty) } else { acc.clone() })
            .collect()
    }

    /// Adds what the accumulators of a block hold.
    fn widen_accs(&mut self, accs: &[Acc], narrow: &[Acc]) {
        for (acc, part) in accs.iter().zip(narrow) {
            if self.is_wide(acc) {
                let held = Operand::Reg(part.var);
                let value = self.let_here(ScalarType::F64, Op::Cast(held));
                self.take_in(acc, value);
            }
        }
    }

    /// An accumulator of its own for some of the terms.
    pub(super) fn anew(&mut self, acc: &Acc, ty: ScalarType) -> Acc {
        let var = self.reg(ty);
        self.push(Stmt::Var(var, Operand::Const(neutral(acc.op(), ty))));
        Acc { var, ..acc.clone() }
    }

    pub(super) fn take_in(&mut self, acc: &Acc, value: Operand) {
        let ty = self.kernel.regs[acc.var];
        let both = self.let_here(ty, Op::Binary(acc.op(), Operand::Reg(acc.var), value));
        self.push(Stmt::Set(acc.var, both));
    }

    /// The terms from `start` on, in streams of the same length.
    fn in_streams(&mut self, accs: &[Acc], ix: Ix, start: Node, size: i64, streams: i64) {
        let share = size / streams;
        let inside = self.points.fresh(Symbol::intern("i"), (0, i128::from(share - 1)));
        let within = self.points.index(inside);
        let mut all = Vec::new();
        for stream in 0..streams {
            let skip = self.points.int(stream * share);
            let place = self.points.binary(BinaryOp::Add, start, skip, None);
            let place = self.points.binary(BinaryOp::Add, place, within, None);
            let mut subst = Subst::one(ix, place);
            for acc in accs {
                let ty = self.kernel.regs[acc.var];
                let mut acc = if stream == 0 { acc.clone() } else { self.anew(acc, ty) };
                let reduction = &mut acc.reduction;
                reduction.body = subst.apply(&mut self.points, reduction.body);
                reduction.guard = reduction.guard.map(|it| subst.apply(&mut self.points, it));
                all.push(acc);
            }
        }
        let int = |value: i64| Operand::Const(Scalar::I64(value));
        self.terms(&all, inside, int(0), int(share), true);
        let (first, others) = all.split_at(accs.len());
        for (at, other) in others.iter().enumerate() {
            self.take_in(&first[at % first.len()], Operand::Reg(other.var));
        }
    }
}

/// How many streams a block is worth.
fn streams(view: &View<'_>, accs: &[Acc], size: i64) -> i64 {
    let waits = |acc: &Acc| {
        // Streams would share the number of points.
        acc.extra.is_none()
            && matches!(acc.op(), BinaryOp::Add | BinaryOp::Mul)
            && acc.body_ty.is_float()
            && node_cost(view.points, acc.reduction.body) <= CHEAP
    };
    let fits = |count: &i64| size % count == 0 && size / count >= STREAM;
    match accs.len() <= 2 && accs.iter().all(waits) {
        true => [STREAMS, 2].into_iter().find(fits).unwrap_or(1),
        false => 1,
    }
}
