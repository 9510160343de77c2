//! Where cells are: positions as registers, and addresses in buffers.

use super::{AxisPlace, Emit, Scope};
use crate::points::{Arr, Ix, Kind, Linear, Node};
use ein_ir::loops::{Addr, Op, Operand, Reg, Stmt};
use ein_scalar::{BinaryOp, Scalar, ScalarType};

impl Emit {
    /// An integer node as an `i64` register.
    pub(crate) fn position(&mut self, node: Node) -> (Reg, usize) {
        if let Kind::Index(ix) = self.points.nodes[node].kind
            && let Some((level, reg)) = self.bound(ix)
        {
            return (reg, level);
        }
        for (level, scope) in self.scopes.iter().enumerate().rev() {
            if let Some(reg) = scope.positions.get(&node) {
                return (*reg, level);
            }
        }
        let (reg, level) = match self.points.nodes[node].kind.clone() {
            Kind::Clamp { at, extent, traps, when } => self.clamp(at, extent, traps, when),
            _ => {
                let (value, level) = self.valued(node);
                let reg = self.reg(ScalarType::I64);
                self.push_at(level, Stmt::Let(reg, Op::Cast(value)));
                (reg, level)
            }
        };
        self.scopes[level].positions.insert(node, reg);
        (reg, level)
    }

    /// The sum that a node is; what may fail in it and cancels out of the sum is computed as well.
    fn whole_sum(&mut self, node: Node) -> Linear {
        whole_sum_at(self, node).0
    }

    fn clamp(&mut self, at: Node, extent: i64, traps: bool, when: Option<Node>) -> (Reg, usize) {
        // The position is known there only: elsewhere what may fail has to be computed again.
        let (sum, looked) = whole_sum_at(self, at);
        // What is an `i32` is compared as one: vectors have twice as many of them.
        let narrow = i32::try_from(extent).is_ok() && self.points.nodes[at].ty == ScalarType::I32;
        let plain = sum.offset == 0 && matches!(sum.terms.as_slice(), [(term, 1)] if *term == at);
        let ty = if narrow && plain { ScalarType::I32 } else { ScalarType::I64 };
        let (at, mut level) = match ty {
            ScalarType::I32 => self.valued(at),
            _ => self.sum(&sum),
        };
        level = level.max(looked);
        if traps {
            level = level.max(super::unsure(self));
        }
        let int = |value: i64| match ty {
            ScalarType::I32 => Operand::Const(Scalar::I32(value as i32)),
            _ => Operand::Const(Scalar::I64(value)),
        };
        if traps {
            let bool = ScalarType::Bool;
            let below = self.let_at(level, bool, Op::Binary(BinaryOp::Lt, at, int(0)));
            let above = self.let_at(level, bool, Op::Binary(BinaryOp::Ge, at, int(extent)));
            let outside = self.let_at(level, bool, Op::Binary(BinaryOp::Or, below, above));
            self.trap(outside, level, when);
        }
        // The nearest position inside, and not just any: what is known of the range of the sum then
        // holds for the position too, and other positions are proved by it.
        let low = self.let_at(level, ty, Op::Binary(BinaryOp::Max, at, int(0)));
        let op = Op::Binary(BinaryOp::Min, low, int((extent - 1).max(0)));
        let reg = self.reg(ScalarType::I64);
        let op = match ty {
            ScalarType::I32 => Op::Cast(self.let_at(level, ty, op)),
            _ => op,
        };
        self.push_at(level, Stmt::Let(reg, op));
        (reg, level)
    }

    /// A sum as an `i64`.
    pub(crate) fn sum(&mut self, sum: &Linear) -> (Operand, usize) {
        let i64 = ScalarType::I64;
        let mut total = Operand::Const(Scalar::I64(sum.offset));
        let mut level = 0;
        for (node, factor) in &sum.terms {
            let (reg, at) = self.position(*node);
            level = level.max(at);
            let mut term = Operand::Reg(reg);
            if *factor != 1 {
                let factor = Operand::Const(Scalar::I64(*factor));
                term = self.let_at(level, i64, Op::Binary(BinaryOp::Mul, term, factor));
            }
            total = if total == Operand::Const(Scalar::I64(0)) {
                term
            } else {
                self.let_at(level, i64, Op::Binary(BinaryOp::Add, total, term))
            };
        }
        (total, level)
    }

    /// A bound of a loop.
    pub(crate) fn bound_value(&mut self, node: Node) -> Operand {
        match self.points.as_int(node) {
            Some(value) => Operand::Const(Scalar::I64(value)),
            None => {
                let sum = self.whole_sum(node);
                self.sum(&sum).0
            }
        }
    }

    /// The address of a cell, and the scope in which it is known.
    pub(crate) fn address(&mut self, arr: Arr, at: &[Node]) -> (Addr, usize) {
        let Some(place) = self.places.get(&arr) else {
            // Not reached: every array has a place before it is read.
            return (Addr { buf: ein_base::Idx::from_usize(0), terms: Vec::new(), offset: 0 }, 0);
        };
        let buf = place.buffer().unwrap_or_else(|| ein_base::Idx::from_usize(0));
        let (axes, offset) = place.axes(&self.points, at);
        let axes = axes.into_owned();
        let mut addr = Addr { buf, terms: Vec::new(), offset };
        let mut level = 0;
        for (node, axis) in at.iter().zip(axes) {
            let (stride, origin) = match axis {
                AxisPlace::Fixed => continue,
                AxisPlace::Strided(stride) => (stride, None),
                AxisPlace::From(stride, origin) => (stride, Some(origin)),
                AxisPlace::Ring(stride, len) => {
                    let (reg, at) = self.ring(*node, len);
                    level = level.max(at);
                    match reg {
                        Operand::Reg(reg) => add_term(&mut addr, reg, stride),
                        Operand::Const(at) => addr.offset += stride * at.as_i64().unwrap_or(0),
                    }
                    continue;
                }
            };
            let sum = self.whole_sum(*node);
            addr.offset += sum.offset * stride;
            for (term, factor) in sum.terms {
                let (reg, at) = self.position(term);
                level = level.max(at);
                add_term(&mut addr, reg, factor * stride);
            }
            if let Some(origin) = origin {
                add_term(&mut addr, origin, -stride);
                level = level.max(self.scope_of(origin));
            }
        }
        (addr, level)
    }

    /// The scope whose counter is this register.
    fn scope_of(&self, counter: Reg) -> usize {
        let here = |scope: &Scope| {
            scope.ixs.iter().any(|(_, reg)| *reg == counter)
                || scope
                    .stmts
                    .iter()
                    .any(|stmt| matches!(stmt, Stmt::Let(reg, _) if *reg == counter))
        };
        self.scopes.iter().rposition(here).unwrap_or(0)
    }

    /// A position modulo the number of steps kept.
    fn ring(&mut self, node: Node, len: i64) -> (Operand, usize) {
        let sum = self.whole_sum(node);
        if sum.terms.is_empty() || len == 1 {
            // Where it is does not matter then, but whether it is inside does.
            let level = if self.points.nodes[node].traps { self.sum(&sum).1 } else { 0 };
            return (Operand::Const(Scalar::I64(sum.offset.rem_euclid(len))), level);
        }
        let key = (sum.terms.clone(), sum.offset, len);
        for (level, scope) in self.scopes.iter().enumerate().rev() {
            if let Some(reg) = scope.rings.get(&key) {
                return (Operand::Reg(*reg), level);
            }
        }
        let (total, level) = self.sum(&sum);
        let reg = self.reg(ScalarType::I64);
        let len = Operand::Const(Scalar::I64(len));
        self.push_at(level, Stmt::Let(reg, Op::Binary(BinaryOp::Rem, total, len)));
        self.scopes[level].rings.insert(key, reg);
        (Operand::Reg(reg), level)
    }

    /// How far apart in memory the cells are that a read reaches for two neighbouring values of an
    /// index; `None` if that varies.
    pub(crate) fn stride(&self, arr: Arr, at: &[Node], ix: Ix) -> Option<i64> {
        self.view().stride(arr, at, ix)
    }

    /// The same where positions do not wrap around or meet an edge.
    pub(crate) fn stride_between_edges(&self, arr: Arr, at: &[Node], ix: Ix) -> Option<i64> {
        self.view().stride_between_edges(arr, at, ix)
    }

    /// Writes a cell.
    pub(crate) fn store(&mut self, arr: Arr, at: &[Node], value: Operand) {
        let (addr, _) = self.address(arr, at);
        self.push(Stmt::Store(addr, value));
        if let Some((mirror, last)) = self.mirrors.get(&arr).copied() {
            let mut at = at.to_vec();
            let moved = at.remove(last);
            at.push(moved);
            self.store(mirror, &at, value);
        }
    }
}

fn add_term(addr: &mut Addr, reg: Reg, factor: i64) {
    match addr.terms.iter_mut().find(|(other, _)| *other == reg) {
        Some((_, times)) => *times += factor,
        None => addr.terms.push((reg, factor)),
    }
    addr.terms.retain(|(_, times)| *times != 0);
}

/// The sum that a node is, and the scope in which what cancels out of it and may fail is computed.
fn whole_sum_at(emit: &mut Emit, node: Node) -> (Linear, usize) {
    let sum = emit.points.linear(node);
    let level = match emit.points.loses_a_trap(node, &sum) {
        true => emit.valued(node).1,
        false => 0,
    };
    (sum, level)
}
