//! Reductions outside all loops, in parts that threads share.

use super::{Acc, STREAMS, in_vectors, start};
use crate::points::{Ix, Kind, Node, Subst};
use crate::schedule::emit::{Emit, Use};
use ein_base::Symbol;
use ein_ir::loops::{Addr, BufferKind, ForKind, Op, Operand, Stmt};
use ein_scalar::{BinaryOp, Scalar, ScalarType};

impl Emit {
    /// A reduction outside all loops, in parts that threads share.
    pub(super) fn reduce_in_parts(&mut self, group: &[Node]) -> Vec<Operand> {
        let Kind::Reduce(reduction) = self.points.nodes[group[0]].kind.clone() else {
            return Vec::new();
        };
        let i64 = ScalarType::I64;
        let int = |value: i64| Operand::Const(Scalar::I64(value));
        let (_, lo, hi) = reduction.binders[0];
        let (lo, hi) = (self.bound_value(lo), self.bound_value(hi));
        let length = self.let_here(i64, Op::Binary(BinaryOp::Sub, hi, lo));
        let parts = self.points.cost.reduction_parts();
        let up = self.let_here(i64, Op::Binary(BinaryOp::Add, length, int(parts - 1)));
        let share = self.let_here(i64, Op::Binary(BinaryOp::Div, up, int(parts)));
        let part = self.points.fresh(Symbol::intern("part"), (0, i128::from(parts - 1)));
        let mut partials = Vec::new();
        for node in group {
            let Kind::Reduce(reduction) = self.points.nodes[*node].kind.clone() else { continue };
            let (ty, _) = start(&self.view(), &reduction);
            let kind = BufferKind::Scratch;
            partials.push(self.buffer("parts".into(), ty, parts, kind, Use::Scratch));
        }
        let at = self.open(part, int(0), int(parts), ForKind::Parallel { grain: 1 });
        let skip = self.let_here(i64, Op::Binary(BinaryOp::Mul, Operand::Reg(at), share));
        let first = self.let_here(i64, Op::Binary(BinaryOp::Add, lo, skip));
        let first = self.let_here(i64, Op::Binary(BinaryOp::Min, first, hi));
        let end = self.let_here(i64, Op::Binary(BinaryOp::Add, first, share));
        let end = self.let_here(i64, Op::Binary(BinaryOp::Min, end, hi));
        let accs = match self.four_streams(group, part) {
            Some(accs) => accs,
            None => {
                let accs: Vec<Acc> = group.iter().map(|node| self.accumulator(*node)).collect();
                self.part_loops(&accs, first, end);
                accs
            }
        };
        for (acc, partial) in accs.iter().zip(&partials) {
            let addr = Addr { buf: *partial, terms: vec![(at, 1)], offset: 0 };
            self.push(Stmt::Store(addr, Operand::Reg(acc.var)));
        }
        self.close();
        // The parts are put together in order.
        let accs: Vec<Acc> = group.iter().map(|node| self.accumulator(*node)).collect();
        let at = self.open(part, int(0), int(parts), ForKind::Serial);
        for (acc, partial) in accs.iter().zip(&partials) {
            let ty = self.kernel.regs[acc.var];
            let addr = Addr { buf: *partial, terms: vec![(at, 1)], offset: 0 };
            let value = self.let_here(ty, Op::Load(addr));
            if ty.is_int() && matches!(acc.op(), BinaryOp::Add | BinaryOp::Mul) {
                let op = Op::Overflows(acc.op(), Operand::Reg(acc.var), value);
                let overflows = self.let_here(ScalarType::Bool, op);
                self.push(Stmt::Trap(overflows));
            }
            let both = self.let_here(ty, Op::Binary(acc.op(), Operand::Reg(acc.var), value));
            self.push(Stmt::Set(acc.var, both));
        }
        self.close();
        accs.iter().map(|acc| self.finish_acc(acc)).collect()
    }

    /// A part as four streams with accumulators of their own, which hide each other's latency.
    fn four_streams(&mut self, group: &[Node], part: Ix) -> Option<Vec<Acc>> {
        let Kind::Reduce(reduction) = self.points.nodes[group[0]].kind.clone() else { return None };
        let [(ix, lo, hi)] = *reduction.binders.as_slice() else { return None };
        let (lo, hi) = (self.points.as_int(lo)?, self.points.as_int(hi)?);
        let parts = self.points.cost.reduction_parts();
        let share = (hi - lo) / (parts * STREAMS);
        if group.len() > 2 || share * parts * STREAMS != hi - lo {
            return None;
        }
        let inside = self.points.fresh(Symbol::intern("i"), (0, i128::from(share - 1).max(0)));
        let mut streams = Vec::new();
        for stream in 0..STREAMS {
            let size = self.points.int(share * STREAMS);
            let place = self.points.index(part);
            let place = self.points.binary(BinaryOp::Mul, place, size, None);
            let skip = self.points.int(lo + stream * share);
            let place = self.points.binary(BinaryOp::Add, place, skip, None);
            let within = self.points.index(inside);
            let place = self.points.binary(BinaryOp::Add, place, within, None);
            for node in group {
                let mut acc = self.accumulator(*node);
                let mut subst = Subst::one(ix, place);
                acc.reduction.body = subst.apply(&mut self.points, acc.reduction.body);
                acc.reduction.guard =
                    acc.reduction.guard.map(|guard| subst.apply(&mut self.points, guard));
                streams.push(acc);
            }
        }
        let int = |value: i64| Operand::Const(Scalar::I64(value));
        if self.joins(&streams, inside) {
            let rest = streams.split_off(group.len());
            for (at, other) in rest.iter().enumerate() {
                let body = &mut streams[at % group.len()].reduction.body;
                *body = self.points.binary(BinaryOp::Add, *body, other.reduction.body, None);
            }
            self.terms(&streams, inside, int(0), int(share), true);
            return Some(streams);
        }
        self.innermost(&streams, inside, int(0), int(share));
        let rest = streams.split_off(group.len());
        for (at, other) in rest.iter().enumerate() {
            let acc = &streams[at % group.len()];
            let (var, op, ty) = (acc.var, acc.op(), self.kernel.regs[acc.var]);
            let value = Operand::Reg(other.var);
            if ty.is_int() && matches!(op, BinaryOp::Add | BinaryOp::Mul) {
                let overflows = Op::Overflows(op, Operand::Reg(var), value);
                let overflows = self.let_here(ScalarType::Bool, overflows);
                self.push(Stmt::Trap(overflows));
            }
            let both = self.let_here(ty, Op::Binary(op, Operand::Reg(var), value));
            self.push(Stmt::Set(var, both));
        }
        Some(streams)
    }

    /// Whether streams are added to each other before their sum is widened: one conversion instead
    /// of one for each, and only a few terms are added in the narrow type.
    fn joins(&self, streams: &[Acc], ix: Ix) -> bool {
        !self.points.exact
            && in_vectors(&self.view(), streams, ix)
            && streams.iter().all(|acc| {
                acc.op() == BinaryOp::Add
                    && acc.body_ty == ScalarType::F32
                    && self.kernel.regs[acc.var] == ScalarType::F64
                    && acc.reduction.guard.is_none()
            })
    }

    fn part_loops(&mut self, accs: &[Acc], first: Operand, end: Operand) {
        let binders = accs[0].reduction.binders.clone();
        let ((ix, ..), inner) = (binders[0], &binders[1..]);
        if inner.is_empty() {
            return self.innermost(accs, ix, first, end);
        }
        self.open(ix, first, end, ForKind::Serial);
        self.accumulate(accs, inner);
        self.close();
    }
}
