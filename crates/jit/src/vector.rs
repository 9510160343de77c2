//! Vector loops: four lanes at a time, with a remainder one at a time.
//!
//! What does not change in the loop is computed before it. Elementary functions are not spelled
//! out: they are precompiled for whole tiles, with the widest vectors of the machine. A loop that
//! has some is cut into tiles, and its body into stages: each stage runs over the tile, and between
//! two stages the functions do. What a later stage needs is kept in a tile on the stack. What is in which
//! stage, how long tiles are and how many copies of the body there are has been decided
//! ([`ein_ir::loops::stages`]).

mod emit;
pub(crate) mod plan;
mod power;

use crate::Unsupported;
use crate::function::{Binding, Function};
use crate::ops::{Val, is_wide, machine_four};
use crate::tiles;
use crate::wide::Wide;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use cranelift_frontend::Variable;
use ein_base::Idx;
use ein_ir::loops::abilities::short_exponent;
use ein_ir::loops::stages::Source;
use ein_ir::loops::{For, Op, Operand, Reg, Stmt};
use ein_scalar::{BinaryOp, Scalar};
use plan::Plan;
use rustc_hash::FxHashMap;

/// A variable of a reduction in lanes, once for each copy of the body.
struct Accumulator {
    reg: Reg,
    op: BinaryOp,
    copies: Vec<[Variable; 2]>,
}

/// What a vector loop keeps while it is emitted; in wide vectors, only its tiles.
struct Lanes<'k> {
    plan: Plan<'k>,
    counter: Reg,
    accumulators: Vec<Accumulator>,
    /// Bits of the conditions that trap.
    trap: Option<Variable>,
    /// Values that do not change, in all lanes.
    splats: FxHashMap<Reg, Val>,
    /// For each register in a tile, the address of what would be the element of counter 0.
    tiles: FxHashMap<Reg, Value>,
    /// Whether the counter fits 32 bits; none if it is known to.
    fits: Option<Value>,
    /// The stages in wide vectors, if they run in those.
    wide: Option<Wide>,
}

impl<'k> Function<'_, '_, 'k> {
    /// Translates a vector loop.
    pub(crate) fn vector(
        &mut self,
        inner: &'k For,
        decided: &'k ein_ir::loops::lanes::Lanes,
    ) -> Result<(), Unsupported> {
        let (lo, hi) = (self.operand(inner.lo), self.operand(inner.hi));
        let Some(stages) = &decided.stages else { return self.serial(inner, lo, hi) };
        let trip = match (self.known(inner.lo), self.known(inner.hi)) {
            (Some(lo), Some(hi)) => Some(hi.saturating_sub(lo)),
            _ => None,
        };
        let plan = Plan::of(self.unit.kernel, inner, stages);
        let reductions = &decided.reductions;
        // Nothing may be computed, let alone read, for a loop that does not run.
        let [start, end] = [(); 2].map(|()| self.ops.b.create_block());
        let some = self.ops.b.ins().icmp(IntCC::SignedLessThan, lo, hi);
        self.ops.b.ins().brif(some, start, &[], end, &[]);
        self.ops.b.switch_to_block(start);
        self.ops.b.seal_block(start);
        for stmt in plan.once() {
            self.stmt(stmt)?;
        }
        self.depth += 1;
        let mut lanes = self.prepare(inner, reductions, plan, lo, hi, trip)?;
        if stages.calls.is_empty() {
            self.span(&mut lanes, 0, lo, hi, trip)?;
        } else {
            self.tiled(&mut lanes, lo, hi)?;
        }
        self.depth -= 1;
        self.reduce(&lanes);
        self.ops.b.ins().jump(end, &[]);
        self.ops.b.switch_to_block(end);
        self.ops.b.seal_block(end);
        Ok(())
    }

    fn prepare(
        &mut self,
        inner: &'k For,
        reductions: &[(Reg, BinaryOp)],
        plan: Plan<'k>,
        lo: Value,
        hi: Value,
        trip: Option<i64>,
    ) -> Result<Lanes<'k>, Unsupported> {
        let small = |it: &Self, operand| {
            it.known(operand).is_some_and(|value| i32::try_from(value).is_ok())
        };
        let known = small(self, inner.lo) && small(self, inner.hi);
        let wide = self.wide(inner, reductions, &plan, trip)?;
        let mut accumulators = Vec::new();
        let short = wide.is_none();
        for (reg, op) in reductions.iter().filter(|_| short) {
            let ty = self.unit.kernel.regs[*reg];
            let first = self.ops.constant_four(identity(*op, ty));
            let copies = (0..plan.stages.copies)
                .map(|_| {
                    let parts = [(); 2].map(|()| self.ops.b.declare_var(machine_four(ty)));
                    for (variable, part) in parts.iter().zip(first.parts()) {
                        self.ops.b.def_var(*variable, *part);
                    }
                    parts
                })
                .collect();
            accumulators.push(Accumulator { reg: *reg, op: *op, copies });
        }
        let trap = (short && plan.kept.traps).then(|| {
            let variable = self.ops.b.declare_var(types::I32X4);
            let clear = self.ops.int(types::I32X4, 0);
            self.ops.b.def_var(variable, clear);
            variable
        });
        let mut splats = FxHashMap::default();
        for reg in plan.kept.splats.iter().filter(|_| short) {
            let value = self.reg(*reg);
            splats.insert(*reg, self.ops.splat(self.unit.kernel.regs[*reg], value));
        }
        let fits = (plan.kept.counts && !known).then(|| {
            let least = self.ops.b.ins().iconst(types::I64, i64::from(i32::MIN));
            let greatest = self.ops.b.ins().iconst(types::I64, i64::from(i32::MAX));
            let low = self.ops.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, lo, least);
            let high = self.ops.b.ins().icmp(IntCC::SignedLessThanOrEqual, hi, greatest);
            self.ops.b.ins().band(low, high)
        });
        let tiles = FxHashMap::default();
        Ok(Lanes { plan, counter: inner.var, accumulators, trap, splats, tiles, fits, wide })
    }

    /// Runs the stages over tiles, and the functions between them.
    fn tiled(&mut self, lanes: &mut Lanes<'k>, lo: Value, hi: Value) -> Result<(), Unsupported> {
        let kernel = self.unit.kernel;
        let size = |reg: Reg| if is_wide(kernel.regs[reg]) { 8 } else { 4 };
        let length = lanes.plan.stages.tile;
        let mut rooms = FxHashMap::default();
        for reg in lanes.plan.kept.tiles.clone() {
            let room = match lanes.plan.shared(reg) {
                Some(other) => rooms[&other],
                None => self.room((length * size(reg)) as u64)?,
            };
            rooms.insert(reg, room);
        }
        let fills = self.fills(lanes, length)?;
        let start = self.ops.b.declare_var(types::I64);
        self.ops.b.def_var(start, lo);
        let [body, end] = [(); 2].map(|()| self.ops.b.create_block());
        self.ops.b.ins().jump(body, &[]);
        self.ops.b.switch_to_block(body);
        let first = self.ops.b.use_var(start);
        let rest = self.ops.b.ins().isub(hi, first);
        let full = self.ops.b.ins().iconst(types::I64, length);
        let is_last = self.ops.b.ins().icmp(IntCC::SignedLessThan, rest, full);
        let count = self.ops.b.ins().select(is_last, rest, full);
        let last = self.ops.b.ins().iadd(first, count);
        for reg in &lanes.plan.kept.tiles {
            let bytes = self.ops.b.ins().imul_imm_s(first, size(*reg));
            let base = self.ops.b.ins().isub(rooms[reg], bytes);
            lanes.tiles.insert(*reg, base);
        }
        let stages = lanes.plan.stages;
        for stage in 0..=stages.last() {
            if stages.items(stage).next().is_some() {
                self.span(lanes, stage, first, last, None)?;
            }
            for call in stages.calls.iter().filter(|call| call.stage == stage) {
                let place = |it: &mut Self, source: &Source| match source {
                    Source::Tile(reg) => rooms[reg],
                    Source::Fill(operand) => {
                        let filled = fills.iter().find(|(it, _)| it == operand);
                        filled.expect("filled before the loop").1
                    }
                    Source::Memory(_) => {
                        let addr = lanes.plan.elements(source).expect("a load or a store");
                        let counter = lanes.counter;
                        let (address, offset) = it.address_with(addr, 0, |it, reg| {
                            if reg == counter { first } else { it.reg(reg) }
                        });
                        it.ops.b.ins().iadd_imm_s(address, i64::from(offset))
                    }
                };
                let mut arguments: Vec<Value> =
                    call.inputs.iter().map(|input| place(self, input)).collect();
                arguments.push(place(self, &call.output));
                arguments.push(count);
                let (function, double) = lanes.plan.function(call).expect("a function");
                let function = tiles::address(self.unit.vectors, function, double);
                self.ops.call(function, None, &arguments);
            }
        }
        self.ops.b.def_var(start, last);
        let more = self.ops.b.ins().icmp(IntCC::SignedLessThan, last, hi);
        self.ops.b.ins().brif(more, body, &[], end, &[]);
        self.ops.b.seal_block(body);
        self.ops.b.switch_to_block(end);
        self.ops.b.seal_block(end);
        Ok(())
    }

    /// Makes the tiles of one value.
    fn fills(
        &mut self,
        lanes: &Lanes<'k>,
        length: i64,
    ) -> Result<Vec<(Operand, Value)>, Unsupported> {
        let mut fills: Vec<(Operand, Value)> = Vec::new();
        for call in &lanes.plan.stages.calls {
            let double = lanes.plan.function(call).is_some_and(|(_, double)| double);
            for input in &call.inputs {
                let Source::Fill(operand) = input else { continue };
                if fills.iter().any(|(it, _)| it == operand) {
                    continue;
                }
                let room = self.room(length as u64 * if double { 8 } else { 4 })?;
                let value = self.operand(*operand);
                let count = self.ops.b.ins().iconst(types::I64, length);
                self.ops.call(tiles::fill(double), None, &[room, value, count]);
                fills.push((*operand, room));
            }
        }
        Ok(fills)
    }

    /// Runs a stage over a range.
    fn span(
        &mut self,
        lanes: &mut Lanes<'k>,
        stage: usize,
        first: Value,
        last: Value,
        trip: Option<i64>,
    ) -> Result<(), Unsupported> {
        if let Some(wide) = &lanes.wide {
            self.wide_span(wide, stage, |reg| lanes.tiles[&reg], first, last);
            return Ok(());
        }
        let counter = self.ops.b.declare_var(types::I64);
        self.ops.b.def_var(counter, first);
        let wide_last = match lanes.fits {
            Some(fits) => self.ops.b.ins().select(fits, last, first),
            None => last,
        };
        let copies = lanes.plan.stages.copies;
        let mut left = trip;
        for copies in if copies > 1 { vec![copies, 1] } else { vec![1] } {
            let step = 4 * copies as i64;
            if left.is_some_and(|left| left < step) {
                continue;
            }
            let limit = self.ops.b.ins().iadd_imm_s(wide_last, 1 - step);
            self.repeat(counter, limit, step, |it, index| {
                for copy in 0..copies {
                    it.four(lanes, stage, index, copy);
                }
                Ok(())
            })?;
            left = left.filter(|_| lanes.fits.is_none()).map(|left| left % step);
        }
        if left == Some(0) {
            return Ok(());
        }
        self.repeat(counter, last, 1, |it, index| it.one(lanes, stage, index))
    }

    /// Repeats a body while a variable is below a limit.
    fn repeat(
        &mut self,
        counter: Variable,
        limit: Value,
        step: i64,
        mut f: impl FnMut(&mut Self, Value) -> Result<(), Unsupported>,
    ) -> Result<(), Unsupported> {
        let [body, end] = [(); 2].map(|()| self.ops.b.create_block());
        let index = self.ops.b.use_var(counter);
        let some = self.ops.b.ins().icmp(IntCC::SignedLessThan, index, limit);
        self.ops.b.ins().brif(some, body, &[], end, &[]);
        self.ops.b.switch_to_block(body);
        let index = self.ops.b.use_var(counter);
        f(self, index)?;
        let next = self.ops.b.ins().iadd_imm_s(index, step);
        self.ops.b.def_var(counter, next);
        let more = self.ops.b.ins().icmp(IntCC::SignedLessThan, next, limit);
        self.ops.b.ins().brif(more, body, &[], end, &[]);
        self.ops.b.seal_block(body);
        self.ops.b.switch_to_block(end);
        self.ops.b.seal_block(end);
        Ok(())
    }

    /// Brings the lanes of the reductions and traps together.
    fn reduce(&mut self, lanes: &Lanes<'k>) {
        for accumulator in &lanes.accumulators {
            let ty = self.unit.kernel.regs[accumulator.reg];
            let mut values: Vec<Val> =
                accumulator.copies.iter().map(|parts| self.accumulator(ty, parts)).collect();
            let (op, types) = (accumulator.op, [ty, ty]);
            while values.len() > 1 {
                values = values
                    .chunks(2)
                    .map(|pair| match pair {
                        [a, b] => self.ops.binary(op, types, *a, *b),
                        _ => pair[0],
                    })
                    .collect();
            }
            let [a, b, c, d] = self.ops.lanes(ty, values[0]).map(Val::one);
            let (low, high) = (self.ops.binary(op, types, a, b), self.ops.binary(op, types, c, d));
            let total = self.ops.binary(op, types, low, high);
            self.reduce_into(accumulator.reg, op, total);
        }
        if let Some(trap) = lanes.trap {
            let bits = self.ops.b.use_var(trap);
            let any = self.ops.b.ins().vany_true(bits);
            self.trap_if(any);
        }
    }

    /// `v = op(v, x)` of a variable.
    pub(crate) fn reduce_into(&mut self, reg: Reg, op: BinaryOp, x: Val) {
        let Some(Binding::Variable(variable)) = self.regs[reg.index()] else {
            panic!("{reg} is reduced and no variable")
        };
        let ty = self.unit.kernel.regs[reg];
        let before = Val::one(self.ops.b.use_var(variable));
        let after = self.ops.binary(op, [ty, ty], before, x);
        self.ops.b.def_var(variable, after.first());
    }

    fn accumulator(&mut self, ty: ein_scalar::ScalarType, parts: &[Variable; 2]) -> Val {
        let low = self.ops.b.use_var(parts[0]);
        if is_wide(ty) { Val::pair(low, self.ops.b.use_var(parts[1])) } else { Val::one(low) }
    }

    /// One iteration of a stage.
    fn one(
        &mut self,
        lanes: &mut Lanes<'k>,
        stage: usize,
        index: Value,
    ) -> Result<(), Unsupported> {
        self.define(lanes.counter, index);
        for reg in lanes.plan.reads(stage) {
            let ty = self.unit.kernel.regs[reg];
            let base = lanes.tiles[&reg];
            let size = if is_wide(ty) { 8 } else { 4 };
            let bytes = self.ops.b.ins().imul_imm_s(index, size);
            let address = self.ops.b.ins().iadd(base, bytes);
            let lane = self.ops.b.ins().load(
                machine_four(ty).lane_type(),
                crate::memory::memory(),
                address,
                0,
            );
            let mut value = self.ops.scalar_of(ty, lane);
            if crate::ops::is_half(ty) && lanes.plan.is_call(reg) {
                value = self.ops.round_half(ty, value);
            }
            self.define(reg, value);
        }
        for stmt in lanes.plan.items(stage) {
            match stmt {
                Stmt::Let(reg, Op::Binary(BinaryOp::Pow, x, n))
                    if let Some(exponent) = short_exponent(*n) =>
                {
                    let value = Val::one(self.operand(*x));
                    let ty = self.unit.kernel.regs[*reg];
                    let value = self.short_power(ty, value, exponent);
                    self.define(*reg, value.first());
                }
                stmt => self.stmt(stmt)?,
            }
        }
        for reg in lanes.plan.writes(stage) {
            let ty = self.unit.kernel.regs[reg];
            let value = self.reg(reg);
            let lane = self.ops.lane_of(ty, value);
            let size = if is_wide(ty) { 8 } else { 4 };
            let bytes = self.ops.b.ins().imul_imm_s(index, size);
            let address = self.ops.b.ins().iadd(lanes.tiles[&reg], bytes);
            self.ops.b.ins().store(crate::memory::memory(), lane, address, 0);
        }
        Ok(())
    }
}

/// What changes nothing.
pub(crate) fn identity(op: BinaryOp, ty: ein_scalar::ScalarType) -> Scalar {
    match op {
        BinaryOp::Mul => Scalar::one(ty),
        BinaryOp::Min | BinaryOp::And => Scalar::highest(ty),
        BinaryOp::Max | BinaryOp::Or => Scalar::lowest(ty),
        // A sum; −0 changes nothing, +0 would change −0.
        _ if ty.is_float() => Scalar::from_f64(-0.0, ty).unwrap_or(Scalar::zero(ty)),
        _ => Scalar::zero(ty),
    }
}
