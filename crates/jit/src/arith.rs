//! Arithmetic and comparisons.

use crate::ops::{Ops, Val, is_half};
use crate::shims;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ein_ir::loops::abilities::{has_binary, has_unary};
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};

impl Ops<'_> {
    /// `op x`.
    pub(crate) fn unary(&mut self, op: UnaryOp, ty: ScalarType, x: Val) -> Val {
        let result = op.result_type(ty).unwrap_or(ty);
        if self.is_four(x) && !has_unary(op, ty) {
            return self.by_lane([(ty, x)], result, |it, [x]| it.unary(op, ty, x));
        }
        if ty.is_bool() {
            return self.map(x, |it, x| {
                if it.type_of(x).is_vector() {
                    it.b.ins().bnot(x)
                } else {
                    it.b.ins().bxor_imm_u(x, 1)
                }
            });
        }
        if ty.is_float() {
            let exact = self.map(x, |it, x| it.float_unary(op, ty, x));
            return if is_half(ty) && rounds(op) {
                self.map(exact, |it, x| it.round_half(ty, x))
            } else {
                exact
            };
        }
        self.map(x, |it, x| it.int_unary(op, ty, x))
    }

    fn float_unary(&mut self, op: UnaryOp, ty: ScalarType, x: Value) -> Value {
        let machine = self.type_of(x);
        match op {
            UnaryOp::Neg => self.b.ins().fneg(x),
            UnaryOp::Abs => self.b.ins().fabs(x),
            UnaryOp::Sqrt => self.b.ins().sqrt(x),
            UnaryOp::Rsqrt => {
                let (one, root) = (self.float(machine, 1.0), self.b.ins().sqrt(x));
                self.b.ins().fdiv(one, root)
            }
            UnaryOp::Floor => self.b.ins().floor(x),
            UnaryOp::Ceil => self.b.ins().ceil(x),
            UnaryOp::Round => self.b.ins().nearest(x),
            UnaryOp::Trunc => self.b.ins().trunc(x),
            UnaryOp::IsNan => self.b.ins().fcmp(FloatCC::Unordered, x, x),
            UnaryOp::IsInf | UnaryOp::IsFinite => {
                let (magnitude, infinity) =
                    (self.b.ins().fabs(x), self.float(machine, f64::INFINITY));
                let test = if op == UnaryOp::IsInf { FloatCC::Equal } else { FloatCC::LessThan };
                self.b.ins().fcmp(test, magnitude, infinity)
            }
            UnaryOp::Sign => {
                let [zero, one, minus] = [0.0, 1.0, -1.0].map(|value| self.float(machine, value));
                let positive = self.b.ins().fcmp(FloatCC::GreaterThan, x, zero);
                let negative = self.b.ins().fcmp(FloatCC::LessThan, x, zero);
                let nan = self.b.ins().fcmp(FloatCC::Unordered, x, x);
                let flat = self.choose(nan, x, zero);
                let below = self.choose(negative, minus, flat);
                self.choose(positive, one, below)
            }
            op => self.call_like(shims::unary(op, ty == ScalarType::F64), &[x]),
        }
    }

    fn int_unary(&mut self, op: UnaryOp, ty: ScalarType, x: Value) -> Value {
        let machine = self.type_of(x);
        let result = match op {
            UnaryOp::Neg => self.b.ins().ineg(x),
            UnaryOp::Abs if !ty.is_signed() => x,
            UnaryOp::Abs => {
                let (zero, negated) = (self.int(machine, 0), self.b.ins().ineg(x));
                let negative = self.b.ins().icmp(IntCC::SignedLessThan, x, zero);
                self.choose(negative, negated, x)
            }
            UnaryOp::Sign => {
                let [zero, one, minus] = [0, 1, -1].map(|value| self.int(machine, value));
                let nonzero = self.b.ins().icmp(IntCC::NotEqual, x, zero);
                let up = self.choose(nonzero, one, zero);
                if !ty.is_signed() {
                    return up;
                }
                let negative = self.b.ins().icmp(IntCC::SignedLessThan, x, zero);
                return self.choose(negative, minus, up);
            }
            UnaryOp::IsNan | UnaryOp::IsInf => {
                return self.b.ins().icmp(IntCC::NotEqual, x, x);
            }
            UnaryOp::IsFinite => return self.b.ins().icmp(IntCC::Equal, x, x),
            // Rounding: an integer is round. The others take no integers.
            _ => return x,
        };
        self.normal(ty, result)
    }

    /// Brings lanes of 32 bits back into a narrower type.
    pub(crate) fn normal(&mut self, ty: ScalarType, x: Value) -> Value {
        let bits = 8 * ty.size_bytes() as i64;
        if bits >= 32 || !self.type_of(x).is_vector() {
            return x;
        }
        if ty.is_signed() {
            let up = self.b.ins().ishl_imm_u(x, 32 - bits);
            self.b.ins().sshr_imm_u(up, 32 - bits)
        } else {
            let mask = self.int(types::I32X4, (1 << bits) - 1);
            self.b.ins().band(x, mask)
        }
    }

    /// `a op b`, where both are of a type but for the exponents of powers.
    pub(crate) fn binary(&mut self, op: BinaryOp, types: [ScalarType; 2], a: Val, b: Val) -> Val {
        let ty = types[0];
        let result = op.result_type(types[0], types[1]).unwrap_or(ty);
        let four = self.is_four(a);
        if four && !has_binary(op, ty) {
            let operands = [(types[0], a), (types[1], b)];
            return self.by_lane(operands, result, |it, [a, b]| it.binary(op, types, a, b));
        }
        if ty.is_bool() {
            let (a, b) = if four && a.pair != b.pair {
                (self.narrow_mask(a), self.narrow_mask(b))
            } else {
                (a, b)
            };
            return self.map2(a, b, |it, a, b| it.bool_binary(op, a, b));
        }
        if !ty.is_float() {
            if op == BinaryOp::Pow {
                return Val::one(self.int_power(types, a.first(), b.first()));
            }
            return self.map2(a, b, |it, a, b| it.int_binary(op, ty, a, b));
        }
        if op == BinaryOp::Pow && types[1].is_int() {
            let exponent = self.extend(types[1], b.first());
            let (double, signed) = (ty == ScalarType::F64, types[1].is_signed());
            let power = self.call_like(shims::power(double, signed), &[a.first(), exponent]);
            return Val::one(if is_half(ty) { self.round_half(ty, power) } else { power });
        }
        let exact = self.map2(a, b, |it, a, b| it.float_binary(op, ty, a, b));
        if is_half(ty) && !op.is_comparison() {
            self.map(exact, |it, x| it.round_half(ty, x))
        } else {
            exact
        }
    }

    fn bool_binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        match op {
            BinaryOp::And | BinaryOp::Min => self.b.ins().band(a, b),
            BinaryOp::Or | BinaryOp::Max => self.b.ins().bor(a, b),
            op => {
                // The truth of a mask is −1: the order is the other way round.
                let four = self.type_of(a).is_vector();
                let (a, b) = if four { (b, a) } else { (a, b) };
                self.b.ins().icmp(int_condition(op, four), a, b)
            }
        }
    }

    fn float_binary(&mut self, op: BinaryOp, ty: ScalarType, a: Value, b: Value) -> Value {
        match op {
            BinaryOp::Add => self.b.ins().fadd(a, b),
            BinaryOp::Sub => self.b.ins().fsub(a, b),
            BinaryOp::Mul => self.b.ins().fmul(a, b),
            BinaryOp::Div => self.b.ins().fdiv(a, b),
            BinaryOp::Min => self.b.ins().fmin(a, b),
            BinaryOp::Max => self.b.ins().fmax(a, b),
            BinaryOp::Eq => self.b.ins().fcmp(FloatCC::Equal, a, b),
            BinaryOp::Ne => self.b.ins().fcmp(FloatCC::NotEqual, a, b),
            BinaryOp::Lt => self.b.ins().fcmp(FloatCC::LessThan, a, b),
            BinaryOp::Le => self.b.ins().fcmp(FloatCC::LessThanOrEqual, a, b),
            BinaryOp::Gt => self.b.ins().fcmp(FloatCC::GreaterThan, a, b),
            BinaryOp::Ge => self.b.ins().fcmp(FloatCC::GreaterThanOrEqual, a, b),
            op => self.call_like(shims::binary(op, ty == ScalarType::F64), &[a, b]),
        }
    }

    fn int_binary(&mut self, op: BinaryOp, ty: ScalarType, a: Value, b: Value) -> Value {
        let signed = ty.is_signed();
        let result = match op {
            BinaryOp::Add => self.b.ins().iadd(a, b),
            BinaryOp::Sub => self.b.ins().isub(a, b),
            BinaryOp::Mul => self.b.ins().imul(a, b),
            BinaryOp::Min | BinaryOp::Max => {
                let op = if op == BinaryOp::Min { BinaryOp::Lt } else { BinaryOp::Gt };
                let first = self.b.ins().icmp(int_condition(op, signed), a, b);
                return self.choose(first, a, b);
            }
            BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod => {
                return self.divide(op, ty, a, b);
            }
            op => return self.b.ins().icmp(int_condition(op, signed), a, b),
        };
        self.normal(ty, result)
    }

    /// `a * b + c` of floats.
    pub(crate) fn mul_add(&mut self, ty: ScalarType, a: Val, b: Val, c: Val) -> Val {
        let fused = self.host.has_fma;
        let one = |it: &mut Self, n: usize| {
            let (a, b, c) = (a.parts[n], b.parts[n], c.parts[n]);
            let sum = if fused {
                it.b.ins().fma(a, b, c)
            } else {
                let product = it.b.ins().fmul(a, b);
                it.b.ins().fadd(product, c)
            };
            if is_half(ty) { it.round_half(ty, sum) } else { sum }
        };
        let low = one(self, 0);
        if a.pair { Val::pair(low, one(self, 1)) } else { Val::one(low) }
    }
}

fn int_condition(op: BinaryOp, signed: bool) -> IntCC {
    match (op, signed) {
        (BinaryOp::Ne, _) => IntCC::NotEqual,
        (BinaryOp::Lt, true) => IntCC::SignedLessThan,
        (BinaryOp::Le, true) => IntCC::SignedLessThanOrEqual,
        (BinaryOp::Gt, true) => IntCC::SignedGreaterThan,
        (BinaryOp::Ge, true) => IntCC::SignedGreaterThanOrEqual,
        (BinaryOp::Lt, false) => IntCC::UnsignedLessThan,
        (BinaryOp::Le, false) => IntCC::UnsignedLessThanOrEqual,
        (BinaryOp::Gt, false) => IntCC::UnsignedGreaterThan,
        (BinaryOp::Ge, false) => IntCC::UnsignedGreaterThanOrEqual,
        // `Eq`; operations that are no comparisons never come here.
        (_, _) => IntCC::Equal,
    }
}

/// Whether the result of the operation on a half may need rounding.
fn rounds(op: UnaryOp) -> bool {
    op.is_elementary() || matches!(op, UnaryOp::Sqrt | UnaryOp::Rsqrt)
}
