//! Elements in memory, one or four at a time.

use crate::ops::{Ops, Val, is_half, machine, machine_four};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use ein_scalar::ScalarType;

/// Memory that is there; of no particular alignment, since vectors start at any element.
pub(crate) fn memory() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

impl Ops<'_> {
    /// The bits of a half, in 32 bits, as the `f32` of the same value.
    fn widen_half(&mut self, ty: ScalarType, bits: Value) -> Value {
        let int = self.type_of(bits);
        let float = if int.is_vector() { types::F32X4 } else { types::F32 };
        if ty == ScalarType::BF16 {
            let up = self.b.ins().ishl_imm_u(bits, 16);
            return self.bits(float, up);
        }
        let [sign_bit, rest, top, exponent] =
            [0x8000, 0x7fff, 0x7c00, 0x7f80_0000].map(|value| self.int(int, value));
        let sign = self.b.ins().band(bits, sign_bit);
        let sign = self.b.ins().ishl_imm_u(sign, 16);
        let rest = self.b.ins().band(bits, rest);
        let mantissa = self.b.ins().ishl_imm_u(rest, 13);
        // Right but for the bias of the exponent, which a factor of 2^112 repairs.
        let small = self.bits(float, mantissa);
        let factor = self.float(float, 2f64.powi(112));
        let scaled = self.b.ins().fmul(small, factor);
        let scaled = self.bits(int, scaled);
        let special = self.b.ins().bor(mantissa, exponent);
        let is_special = self.b.ins().icmp(IntCC::SignedGreaterThanOrEqual, rest, top);
        let magnitude = self.choose(is_special, special, scaled);
        let all = self.b.ins().bor(magnitude, sign);
        self.bits(float, all)
    }

    /// The bits of a half, in 32 bits, of an `f32` that has its value.
    fn half_bits(&mut self, ty: ScalarType, x: Value) -> Value {
        let float = self.type_of(x);
        let int = float.as_int();
        let bits = self.bits(int, x);
        if ty == ScalarType::BF16 {
            return self.b.ins().ushr_imm_u(bits, 16);
        }
        let sign = self.b.ins().ushr_imm_u(bits, 16);
        let sign_bit = self.int(int, 0x8000);
        let sign = self.b.ins().band(sign, sign_bit);
        let magnitude = self.b.ins().fabs(x);
        let shift = self.float(float, 0.5);
        let sum = self.b.ins().fadd(magnitude, shift);
        let sum = self.bits(int, sum);
        let magnitude = self.bits(int, magnitude);
        let [bias, half, normal, top, infinity, nan] =
            [112 << 23, 0x3f00_0000, 0x3880_0000, 0x7f80_0000, 0x7c00, 0x7e00]
                .map(|value| self.int(int, value));
        let small = self.b.ins().isub(sum, half);
        let unbiased = self.b.ins().isub(magnitude, bias);
        let large = self.b.ins().ushr_imm_u(unbiased, 13);
        let is_small = self.b.ins().icmp(IntCC::SignedLessThan, magnitude, normal);
        let is_infinite = self.b.ins().icmp(IntCC::Equal, magnitude, top);
        let is_nan = self.b.ins().icmp(IntCC::SignedGreaterThan, magnitude, top);
        let value = self.choose(is_small, small, large);
        let value = self.choose(is_infinite, infinity, value);
        let value = self.choose(is_nan, nan, value);
        self.b.ins().bor(value, sign)
    }

    /// Reads an element.
    pub(crate) fn load(&mut self, ty: ScalarType, address: Value, offset: i32) -> Value {
        if is_half(ty) {
            let bits = self.b.ins().uload16(types::I32, memory(), address, offset);
            return self.widen_half(ty, bits);
        }
        self.b.ins().load(machine(ty), memory(), address, offset)
    }

    /// Writes an element.
    pub(crate) fn store(&mut self, ty: ScalarType, x: Value, address: Value, offset: i32) {
        if is_half(ty) {
            let bits = self.half_bits(ty, x);
            self.b.ins().istore16(memory(), bits, address, offset);
        } else {
            self.b.ins().store(memory(), x, address, offset);
        }
    }

    /// Reads four elements that follow one another.
    pub(crate) fn load_four(&mut self, ty: ScalarType, address: Value, offset: i32) -> Val {
        match ty.size_bytes() {
            8 => {
                let part = machine_four(ty);
                let low = self.b.ins().load(part, memory(), address, offset);
                Val::pair(low, self.b.ins().load(part, memory(), address, offset + 16))
            }
            4 => Val::one(self.b.ins().load(machine_four(ty), memory(), address, offset)),
            2 => {
                let all = self.b.ins().load(types::I64, memory(), address, offset);
                let vector = self.b.ins().scalar_to_vector(types::I64X2, all);
                let halves = self.bits(types::I16X8, vector);
                let signed = ty == ScalarType::I16;
                let ints = if signed {
                    self.b.ins().swiden_low(halves)
                } else {
                    self.b.ins().uwiden_low(halves)
                };
                Val::one(if is_half(ty) { self.widen_half(ty, ints) } else { ints })
            }
            _ => {
                let all = self.b.ins().load(types::I32, memory(), address, offset);
                let vector = self.b.ins().scalar_to_vector(types::I32X4, all);
                let bytes = self.bits(types::I8X16, vector);
                let ints = if ty == ScalarType::I8 {
                    let halves = self.b.ins().swiden_low(bytes);
                    self.b.ins().swiden_low(halves)
                } else {
                    let halves = self.b.ins().uwiden_low(bytes);
                    self.b.ins().uwiden_low(halves)
                };
                if ty.is_bool() {
                    let zero = self.int(types::I32X4, 0);
                    return Val::one(self.b.ins().icmp(IntCC::NotEqual, ints, zero));
                }
                Val::one(ints)
            }
        }
    }

    /// Writes four elements that follow one another.
    pub(crate) fn store_four(&mut self, ty: ScalarType, x: Val, address: Value, offset: i32) {
        match ty.size_bytes() {
            8 | 4 => {
                for (n, part) in x.parts().iter().enumerate() {
                    self.b.ins().store(memory(), *part, address, offset + 16 * n as i32);
                }
            }
            2 => {
                let ints = if is_half(ty) { self.half_bits(ty, x.first()) } else { x.first() };
                let halves = if ty == ScalarType::I16 {
                    self.b.ins().snarrow(ints, ints)
                } else {
                    self.b.ins().unarrow(ints, ints)
                };
                let vector = self.bits(types::I64X2, halves);
                let all = self.b.ins().extractlane(vector, 0);
                self.b.ins().store(memory(), all, address, offset);
            }
            _ => {
                let ints = if ty.is_bool() {
                    let mask = self.narrow_mask(x);
                    let one = self.int(types::I32X4, 1);
                    self.b.ins().band(mask.first(), one)
                } else {
                    x.first()
                };
                let halves = self.b.ins().snarrow(ints, ints);
                let bytes = if ty == ScalarType::I8 {
                    self.b.ins().snarrow(halves, halves)
                } else {
                    self.b.ins().unarrow(halves, halves)
                };
                let vector = self.bits(types::I32X4, bytes);
                let all = self.b.ins().extractlane(vector, 0);
                self.b.ins().store(memory(), all, address, offset);
            }
        }
    }
}
