//! Conversions between scalar types, and elements in memory.

use crate::ops::{Ops, Val, is_half, is_wide, machine, machine_four};
use crate::shims;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use ein_scalar::ScalarType;

/// Memory that is there; of no particular alignment, since vectors start at any element.
pub(crate) fn memory() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

impl Ops<'_> {
    /// A conversion as `ein_scalar::cast` defines it.
    pub(crate) fn cast(&mut self, from: ScalarType, to: ScalarType, x: Val) -> Val {
        if from == to {
            x
        } else if !self.is_four(x) {
            Val::one(self.cast_one(from, to, x.first()))
        } else if has_vector_cast(from, to) {
            self.cast_four(from, to, x)
        } else {
            self.by_lane([(from, x)], to, |it, [x]| it.cast(from, to, x))
        }
    }

    fn cast_one(&mut self, from: ScalarType, to: ScalarType, x: Value) -> Value {
        let (target, bits) = (machine(to), to.size_bytes() * 8);
        if to.is_bool() {
            return self.truth(from, x);
        }
        match (from.is_float(), to.is_float()) {
            (true, true) => {
                let double = from == ScalarType::F64;
                match to {
                    ScalarType::F64 => self.b.ins().fpromote(types::F64, x),
                    ScalarType::F32 if double => self.b.ins().fdemote(types::F32, x),
                    ScalarType::F32 => x,
                    _ if double => self
                        .call(shims::to_half(from, to), Some(types::F32), &[x])
                        .expect("a signature with a result gives one"),
                    _ => self.round_half(to, x),
                }
            }
            (true, false) if bits < 32 => {
                let wide = self.b.ins().fcvt_to_sint_sat(types::I32, x);
                let fitted = self.clamp(to, wide);
                self.b.ins().ireduce(target, fitted)
            }
            (true, false) if to.is_signed() => self.b.ins().fcvt_to_sint_sat(target, x),
            (true, false) => self.b.ins().fcvt_to_uint_sat(target, x),
            (false, true) => self.int_to_float(from, to, x),
            (false, false) => {
                let (have, want) = (self.type_of(x).bits() as usize, bits);
                match have.cmp(&want) {
                    std::cmp::Ordering::Equal => x,
                    std::cmp::Ordering::Greater => self.b.ins().ireduce(target, x),
                    std::cmp::Ordering::Less if from.is_signed() => self.b.ins().sextend(target, x),
                    std::cmp::Ordering::Less => self.b.ins().uextend(target, x),
                }
            }
        }
    }

    /// Whether a number is not zero.
    fn truth(&mut self, from: ScalarType, x: Value) -> Value {
        let ty = self.type_of(x);
        if from.is_float() {
            let zero = self.float(ty, 0.0);
            self.b.ins().fcmp(FloatCC::NotEqual, x, zero)
        } else {
            let zero = self.int(ty, 0);
            self.b.ins().icmp(IntCC::NotEqual, x, zero)
        }
    }

    /// Brings integers of 32 bits into the range of a narrower type.
    fn clamp(&mut self, to: ScalarType, x: Value) -> Value {
        let ty = self.type_of(x);
        let (least, greatest) = to.int_range().unwrap_or_default();
        let (least, greatest) = (self.int(ty, least as i64), self.int(ty, greatest as i64));
        let low = self.b.ins().smax(x, least);
        self.b.ins().smin(low, greatest)
    }

    fn int_to_float(&mut self, from: ScalarType, to: ScalarType, x: Value) -> Value {
        let exact = matches!(from.size_bytes(), 1 | 2);
        if to == ScalarType::BF16 && !exact {
            // Through `f32` it would round twice.
            let (wide, call) = if from.size_bytes() == 8 {
                (x, from)
            } else {
                let double = self.int_to_float(from, ScalarType::F64, x);
                (double, ScalarType::F64)
            };
            return self
                .call(shims::to_half(call, to), Some(types::F32), &[wide])
                .expect("a signature with a result gives one");
        }
        let wide = match from {
            ScalarType::I64 | ScalarType::U64 | ScalarType::I32 => x,
            ScalarType::U32 => self.b.ins().uextend(types::I64, x),
            _ => self.widen32(from, x),
        };
        let float = if from == ScalarType::U64 {
            self.b.ins().fcvt_from_uint(machine(to), wide)
        } else {
            self.b.ins().fcvt_from_sint(machine(to), wide)
        };
        // What `f32` rounds is beyond the range of `f16`.
        if is_half(to) { self.round_half(to, float) } else { float }
    }

    fn cast_four(&mut self, from: ScalarType, to: ScalarType, x: Val) -> Val {
        let target = machine_four(to);
        if from.is_bool() {
            let mask = if is_wide(to) { self.widen_mask(x) } else { self.narrow_mask(x) };
            let one = self.constant_four(ein_scalar::Scalar::one(to));
            return self.map2(mask, one, |it, mask, one| {
                let one = it.bits(it.type_of(mask), one);
                let bits = it.b.ins().band(mask, one);
                it.bits(target, bits)
            });
        }
        if to.is_bool() {
            return self.map(x, |it, x| it.truth(from, x));
        }
        let high_half = [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7];
        let low_halves = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23];
        let even = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27];
        match (from.is_float(), to.is_float(), is_wide(from), is_wide(to)) {
            (true, true, false, true) => {
                let part = x.first();
                let high = self.shuffle(part, part, high_half, types::F32X4);
                let low = self.b.ins().fvpromote_low(part);
                Val::pair(low, self.b.ins().fvpromote_low(high))
            }
            (true, true, true, _) => {
                let halves = self.map(x, |it, x| it.b.ins().fvdemote(x));
                let (low, high) = (halves.parts()[0], halves.parts()[1]);
                Val::one(self.shuffle(low, high, low_halves, types::F32X4))
            }
            (true, true, false, false) => {
                if is_half(to) {
                    self.map(x, |it, x| it.round_half(to, x))
                } else {
                    x
                }
            }
            (true, false, _, _) => self.map(x, |it, x| {
                if to == ScalarType::U32 {
                    return it.b.ins().fcvt_to_uint_sat(types::I32X4, x);
                }
                let ints = it.b.ins().fcvt_to_sint_sat(types::I32X4, x);
                if to == ScalarType::I32 { ints } else { it.clamp(to, ints) }
            }),
            (false, true, _, false) => self.map(x, |it, x| {
                let float = if from == ScalarType::U32 {
                    it.b.ins().fcvt_from_uint(types::F32X4, x)
                } else {
                    it.b.ins().fcvt_from_sint(types::F32X4, x)
                };
                if is_half(to) { it.round_half(to, float) } else { float }
            }),
            (false, true, _, true) => {
                let part = x.first();
                let high = self.shuffle(part, part, high_half, types::I32X4);
                let mut convert = |part| {
                    if from == ScalarType::U32 {
                        let wide = self.b.ins().uwiden_low(part);
                        self.b.ins().fcvt_from_uint(types::F64X2, wide)
                    } else {
                        let wide = self.b.ins().swiden_low(part);
                        self.b.ins().fcvt_from_sint(types::F64X2, wide)
                    }
                };
                let low = convert(part);
                Val::pair(low, convert(high))
            }
            (false, false, false, true) => {
                let part = x.first();
                if from.is_signed() {
                    let low = self.b.ins().swiden_low(part);
                    Val::pair(low, self.b.ins().swiden_high(part))
                } else {
                    let low = self.b.ins().uwiden_low(part);
                    Val::pair(low, self.b.ins().uwiden_high(part))
                }
            }
            (false, false, true, false) => {
                let (low, high) = (x.parts()[0], x.parts()[1]);
                let ints = self.shuffle(low, high, even, types::I32X4);
                Val::one(self.normal(to, ints))
            }
            (false, false, true, true) => x,
            (false, false, false, false) => self.map(x, |it, x| it.normal(to, x)),
        }
    }

    /// Rounds an `f32` to a value of a half-width type, to nearest even; NaN stays NaN.
    pub(crate) fn round_half(&mut self, ty: ScalarType, x: Value) -> Value {
        let float = self.type_of(x);
        let int = float.as_int();
        let bits = self.bits(int, x);
        let cut = if ty == ScalarType::BF16 { 16 } else { 13 };
        let odd = self.b.ins().ushr_imm_u(bits, cut);
        let (one, half) = (self.int(int, 1), self.int(int, (1 << (cut - 1)) - 1));
        let odd = self.b.ins().band(odd, one);
        let raised = self.b.ins().iadd(bits, half);
        let raised = self.b.ins().iadd(raised, odd);
        let keep = self.int(int, -1 << cut);
        let kept = self.b.ins().band(raised, keep);
        let mut rounded = self.bits(float, kept);
        if ty == ScalarType::F16 {
            let magnitude = self.b.ins().fabs(x);
            let [limit, normal, shift, infinity] = [65520.0, 6.103515625e-05, 0.5, f64::INFINITY]
                .map(|value| self.float(float, value));
            // Below the normal numbers the last bit is 2^-24, as it is of floats from 0.5 to 1.
            let sum = self.b.ins().fadd(magnitude, shift);
            let small = self.b.ins().fsub(sum, shift);
            let small = self.signed_as(small, x);
            let beyond = self.signed_as(infinity, x);
            let is_small = self.b.ins().fcmp(FloatCC::LessThan, magnitude, normal);
            let is_beyond = self.b.ins().fcmp(FloatCC::GreaterThanOrEqual, magnitude, limit);
            rounded = self.choose(is_small, small, rounded);
            rounded = self.choose(is_beyond, beyond, rounded);
        }
        let nan = self.float(float, f64::NAN);
        let is_nan = self.b.ins().fcmp(FloatCC::Unordered, x, x);
        self.choose(is_nan, nan, rounded)
    }

    /// A float that is not negative with the sign of another.
    fn signed_as(&mut self, magnitude: Value, x: Value) -> Value {
        let float = self.type_of(x);
        let int = float.as_int();
        let sign_bit = self.int(int, i64::from(i32::MIN));
        let bits = self.bits(int, x);
        let sign = self.b.ins().band(bits, sign_bit);
        let magnitude = self.bits(int, magnitude);
        let all = self.b.ins().bor(magnitude, sign);
        self.bits(float, all)
    }

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

/// Whether there are vector instructions for a conversion.
pub(crate) fn has_vector_cast(from: ScalarType, to: ScalarType) -> bool {
    if from == to || from.is_bool() || to.is_bool() {
        return true;
    }
    match (from.is_float(), to.is_float()) {
        (true, true) => !(from == ScalarType::F64 && is_half(to)),
        (true, false) => !is_wide(from) && !is_wide(to),
        (false, true) => !is_wide(from) && (to != ScalarType::BF16 || from.size_bytes() < 4),
        (false, false) => true,
    }
}
