//! Conversions between scalar types.

use crate::ops::{Ops, Val, is_half, is_wide, machine, machine_four};
use crate::shims;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ein_ir::loops::abilities::has_cast;
use ein_scalar::ScalarType;

impl Ops<'_> {
    /// A conversion as `ein_scalar::cast` defines it.
    pub(crate) fn cast(&mut self, from: ScalarType, to: ScalarType, x: Val) -> Val {
        if from == to {
            x
        } else if !self.is_four(x) {
            Val::one(self.cast_one(from, to, x.first()))
        } else if has_cast(from, to) {
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
}
