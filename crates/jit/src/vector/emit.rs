//! Four iterations of a stage at once.

use super::Lanes;
use crate::function::Function;
use crate::memory::memory;
use crate::ops::{Val, is_half, is_wide, machine_four};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ein_ir::loops::abilities::{shift, short_exponent};
use ein_ir::loops::stages::Access;
use ein_ir::loops::{Addr, Op, Operand, Reg, Stmt};
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};
use rustc_hash::FxHashMap;

/// Where the four iterations are, and what they have computed.
struct Place {
    /// The counter of the first copy of the body.
    index: Value,
    /// The first of the four after it.
    ahead: i64,
    values: FxHashMap<Reg, Val>,
}

impl<'k> Function<'_, '_, 'k> {
    /// Four iterations of a stage, the ones of a copy of the body.
    pub(super) fn four(&mut self, lanes: &mut Lanes<'k>, stage: usize, index: Value, copy: usize) {
        self.define(lanes.counter, index);
        let mut place = Place { index, ahead: 4 * copy as i64, values: FxHashMap::default() };
        for accumulator in &lanes.accumulators {
            let ty = self.unit.kernel.regs[accumulator.reg];
            let value = self.accumulator(ty, &accumulator.copies[copy]);
            place.values.insert(accumulator.reg, value);
        }
        for reg in lanes.plan.reads(stage) {
            let ty = self.unit.kernel.regs[reg];
            let (address, offset) = self.tile(lanes, &place, reg);
            let part = machine_four(ty);
            let low = self.ops.b.ins().load(part, memory(), address, offset);
            let mut value = if is_wide(ty) {
                Val::pair(low, self.ops.b.ins().load(part, memory(), address, offset + 16))
            } else {
                Val::one(low)
            };
            if is_half(ty) && lanes.plan.is_call(reg) {
                value = self.ops.map(value, |ops, x| ops.round_half(ty, x));
            }
            place.values.insert(reg, value);
        }
        for stmt in lanes.plan.items(stage) {
            self.four_stmt(lanes, &mut place, stmt, copy);
        }
        for reg in lanes.plan.writes(stage) {
            let mut value = self.four_operand(lanes, &place, Operand::Reg(reg));
            if self.unit.kernel.regs[reg].is_bool() {
                value = self.ops.narrow_mask(value);
            }
            let (address, offset) = self.tile(lanes, &place, reg);
            for (n, part) in value.parts().iter().enumerate() {
                self.ops.b.ins().store(memory(), *part, address, offset + 16 * n as i32);
            }
        }
    }

    /// The place of four elements in a tile.
    fn tile(&mut self, lanes: &Lanes<'k>, place: &Place, reg: Reg) -> (Value, i32) {
        let size = if is_wide(self.unit.kernel.regs[reg]) { 8 } else { 4 };
        let bytes = self.ops.b.ins().ishl_imm_u(place.index, if size == 8 { 3 } else { 2 });
        (self.ops.b.ins().iadd(lanes.tiles[&reg], bytes), (place.ahead * size) as i32)
    }

    fn four_stmt(&mut self, lanes: &Lanes<'k>, place: &mut Place, stmt: &'k Stmt, copy: usize) {
        match stmt {
            Stmt::Let(reg, op) => {
                let value = self.four_op(lanes, place, op, self.unit.kernel.regs[*reg]);
                place.values.insert(*reg, value);
            }
            Stmt::Set(reg, value) => {
                let mut value = self.four_operand(lanes, place, *value);
                if self.unit.kernel.regs[*reg].is_bool() {
                    value = self.ops.narrow_mask(value);
                }
                let accumulator = lanes.accumulators.iter().find(|it| it.reg == *reg);
                let accumulator = accumulator.expect("only reductions are assigned");
                for (variable, part) in accumulator.copies[copy].iter().zip(value.parts()) {
                    self.ops.b.def_var(*variable, *part);
                }
            }
            Stmt::Store(addr, value) => {
                let value = self.four_operand(lanes, place, *value);
                self.four_store(lanes, place, addr, value);
            }
            Stmt::Trap(condition) => {
                let mask = self.four_operand(lanes, place, *condition);
                let mask = self.ops.narrow_mask(mask).first();
                if let Some(trap) = lanes.trap {
                    let bits = self.ops.b.use_var(trap);
                    let bits = self.ops.b.ins().bor(bits, mask);
                    self.ops.b.def_var(trap, bits);
                }
            }
            Stmt::Var(..) | Stmt::For(_) | Stmt::If(..) | Stmt::Gemm(_) => {
                unreachable!("not in the body of a vector loop")
            }
        }
    }

    fn four_operand(&mut self, lanes: &Lanes<'k>, place: &Place, operand: Operand) -> Val {
        let reg = match operand {
            Operand::Const(value) => return self.ops.constant_four(value),
            Operand::Reg(reg) => reg,
        };
        if let Some(value) = place.values.get(&reg).or_else(|| lanes.splats.get(&reg)) {
            *value
        } else if reg == lanes.counter {
            let all = self.ops.b.ins().splat(types::I64X2, place.index);
            let ahead = |it: &mut Self, first: i64| {
                let bytes = [place.ahead + first, place.ahead + first + 1].map(i64::to_le_bytes);
                let steps = it.ops.lanes_const(types::I64X2, bytes.as_flattened());
                it.ops.b.ins().iadd(all, steps)
            };
            let low = ahead(self, 0);
            Val::pair(low, ahead(self, 2))
        } else {
            let value = self.reg(reg);
            self.ops.splat(self.unit.kernel.regs[reg], value)
        }
    }

    /// The counters in 32 bits.
    fn short_counter(&mut self, place: &Place) -> Val {
        let low = self.ops.b.ins().ireduce(types::I32, place.index);
        let all = self.ops.b.ins().splat(types::I32X4, low);
        let bytes = [0, 1, 2, 3].map(|n| ((place.ahead + n) as i32).to_le_bytes());
        let steps = self.ops.lanes_const(types::I32X4, bytes.as_flattened());
        Val::one(self.ops.b.ins().iadd(all, steps))
    }

    fn four_op(&mut self, lanes: &Lanes<'k>, place: &Place, op: &'k Op, ty: ScalarType) -> Val {
        let types = |it: &Self, a, b| [it.operand_type(a), it.operand_type(b)];
        match op {
            Op::Copy(a) => self.four_operand(lanes, place, *a),
            Op::Load(addr) => self.four_load(lanes, place, addr),
            Op::Unary(op, a) => {
                let x = self.four_operand(lanes, place, *a);
                self.ops.unary(*op, self.operand_type(*a), x)
            }
            Op::Binary(BinaryOp::Pow, a, n)
                if ty.is_float()
                    && let Some(exponent) = short_exponent(*n) =>
            {
                let x = self.four_operand(lanes, place, *a);
                self.short_power(ty, x, exponent)
            }
            Op::Binary(op, a, b) if let Some(shift) = shift(*op, *b) => {
                let x = self.four_operand(lanes, place, *a);
                self.ops.shifted(*op, ty, x, shift)
            }
            Op::Binary(op, a, b) => {
                let (x, y) =
                    (self.four_operand(lanes, place, *a), self.four_operand(lanes, place, *b));
                self.ops.binary(*op, types(self, *a, *b), x, y)
            }
            Op::Overflows(op, a, b) => {
                let (x, y) =
                    (self.four_operand(lanes, place, *a), self.four_operand(lanes, place, *b));
                self.ops.overflows(*op, types(self, *a, *b), x, y)
            }
            Op::NearRsqrt(a) => {
                let x = self.four_operand(lanes, place, *a);
                self.ops.unary(UnaryOp::Rsqrt, ScalarType::F32, x)
            }
            Op::MulAdd(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|operand| self.four_operand(lanes, place, *operand));
                self.ops.mul_add(ty, a, b, c)
            }
            Op::Cast(a)
                if *a == Operand::Reg(lanes.counter)
                    && ty != ScalarType::BF16
                    && !ty.is_bool()
                    && (ty.is_float() || !is_wide(ty)) =>
            {
                let counter = self.short_counter(place);
                self.ops.cast(ScalarType::I32, ty, counter)
            }
            Op::Cast(a) => {
                let x = self.four_operand(lanes, place, *a);
                self.ops.cast(self.operand_type(*a), ty, x)
            }
            Op::Select(a, b, c) => {
                let [a, b, c] = [a, b, c].map(|operand| self.four_operand(lanes, place, *operand));
                self.ops.select(ty, a, b, c)
            }
        }
    }

    /// The addresses of four elements, each for itself.
    fn four_addresses(
        &mut self,
        lanes: &Lanes<'k>,
        place: &Place,
        addr: &Addr,
    ) -> [(Value, i32); 4] {
        let step = addr.terms.iter().find(|(reg, _)| *reg == lanes.counter).map_or(0, |it| it.1);
        [0, 1, 2, 3].map(|n: i64| {
            self.address_with(addr, step.wrapping_mul(place.ahead + n), |it, reg| {
                match place.values.get(&reg) {
                    Some(value) => {
                        let part = value.parts()[(n / 2) as usize];
                        it.ops.b.ins().extractlane(part, (n % 2) as u8)
                    }
                    None => it.reg(reg),
                }
            })
        })
    }

    fn four_access(&self, lanes: &Lanes<'k>, place: &Place, addr: &Addr) -> Access {
        addr.access(lanes.counter, |reg| place.values.contains_key(&reg))
    }

    fn four_load(&mut self, lanes: &Lanes<'k>, place: &Place, addr: &Addr) -> Val {
        let ty = self.unit.kernel.bufs[addr.buf].ty;
        match self.four_access(lanes, place, addr) {
            Access::Contiguous => {
                let (address, offset) = self.address_with(addr, place.ahead, |it, reg| it.reg(reg));
                self.ops.load_four(ty, address, offset)
            }
            Access::Same => {
                let (address, offset) = self.address(addr);
                let value = self.ops.load(ty, address, offset);
                self.ops.splat(ty, value)
            }
            Access::Apart => {
                let addresses = self.four_addresses(lanes, place, addr);
                let elements =
                    addresses.map(|(address, offset)| self.ops.load(ty, address, offset));
                self.ops.joined(ty, elements)
            }
        }
    }

    fn four_store(&mut self, lanes: &Lanes<'k>, place: &Place, addr: &Addr, value: Val) {
        let ty = self.unit.kernel.bufs[addr.buf].ty;
        if self.four_access(lanes, place, addr) == Access::Contiguous {
            let (address, offset) = self.address_with(addr, place.ahead, |it, reg| it.reg(reg));
            self.ops.store_four(ty, value, address, offset);
            return;
        }
        let elements = self.ops.lanes(ty, value);
        let addresses = self.four_addresses(lanes, place, addr);
        for (element, (address, offset)) in elements.into_iter().zip(addresses) {
            self.ops.store(ty, element, address, offset);
        }
    }
}
