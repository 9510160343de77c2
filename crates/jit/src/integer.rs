//! Operations that only integers have: divisions, powers, and whether something overflows.

use crate::ops::{Ops, Val, machine};
use crate::shims;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};
use ein_ir::loops::abilities::has_overflow;
use ein_scalar::{BinaryOp, ScalarType};

impl Ops<'_> {
    pub(crate) fn int_power(&mut self, types: [ScalarType; 2], a: Value, n: Value) -> Value {
        // The low bits of a power depend only on the low bits of its base.
        let (base, exponent) = (self.extend(types[0], a), self.extend(types[1], n));
        let power = self.call_like(shims::int_power(types[1].is_signed()), &[base, exponent]);
        self.reduce(types[0], power)
    }

    /// Divisions and remainders. Zero and −1 as divisors must not reach the machine's division,
    /// which would stop the process: the first cannot happen but in code whose result is thrown
    /// away, the second overflows for the least number.
    pub(crate) fn divide(&mut self, op: BinaryOp, ty: ScalarType, a: Value, b: Value) -> Value {
        let small = ty.size_bytes() < 4;
        let (a, b) = if small { (self.widen32(ty, a), self.widen32(ty, b)) } else { (a, b) };
        let wide = self.type_of(a);
        let (zero, one) = (self.int(wide, 0), self.int(wide, 1));
        let result = if ty.is_signed() {
            let above = self.b.ins().iadd(b, one);
            // −1 and 0 are 0 and 1 above it.
            let special = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, above, one);
            let divisor = self.b.ins().select(special, one, b);
            let quotient = self.b.ins().sdiv(a, divisor);
            let minus = self.b.ins().icmp(IntCC::SignedLessThan, b, zero);
            let negate = self.b.ins().band(special, minus);
            let product = self.b.ins().imul(quotient, divisor);
            let rest = self.b.ins().isub(a, product);
            let opposite = self.b.ins().bxor(rest, b);
            let uneven = self.b.ins().icmp(IntCC::NotEqual, rest, zero);
            let opposite = self.b.ins().icmp(IntCC::SignedLessThan, opposite, zero);
            let adjust = self.b.ins().band(uneven, opposite);
            match op {
                BinaryOp::Rem => rest,
                BinaryOp::FloorMod => {
                    let up = self.b.ins().iadd(rest, b);
                    self.b.ins().select(adjust, up, rest)
                }
                op => {
                    let negated = self.b.ins().ineg(a);
                    let quotient = self.b.ins().select(negate, negated, quotient);
                    if op == BinaryOp::Div {
                        quotient
                    } else {
                        let down = self.b.ins().isub(quotient, one);
                        self.b.ins().select(adjust, down, quotient)
                    }
                }
            }
        } else {
            let is_zero = self.b.ins().icmp(IntCC::Equal, b, zero);
            let divisor = self.b.ins().select(is_zero, one, b);
            let quotient = self.b.ins().udiv(a, divisor);
            if matches!(op, BinaryOp::Div | BinaryOp::FloorDiv) {
                quotient
            } else {
                let product = self.b.ins().imul(quotient, divisor);
                self.b.ins().isub(a, product)
            }
        };
        if small { self.b.ins().ireduce(machine(ty), result) } else { result }
    }

    /// A division by a power of two that rounds down, or what it leaves.
    pub(crate) fn shifted(&mut self, op: BinaryOp, ty: ScalarType, x: Val, shift: u32) -> Val {
        self.map(x, |it, x| match op {
            BinaryOp::FloorDiv if ty.is_signed() => it.b.ins().sshr_imm_u(x, i64::from(shift)),
            BinaryOp::FloorDiv => it.b.ins().ushr_imm_u(x, i64::from(shift)),
            _ => {
                let mask = it.int(it.type_of(x), (1 << shift) - 1);
                it.b.ins().band(x, mask)
            }
        })
    }

    /// Extends an integer to 64 bits.
    pub(crate) fn extend(&mut self, ty: ScalarType, x: Value) -> Value {
        if ty.size_bytes() == 8 {
            x
        } else if ty.is_signed() {
            self.b.ins().sextend(types::I64, x)
        } else {
            self.b.ins().uextend(types::I64, x)
        }
    }

    fn reduce(&mut self, ty: ScalarType, x: Value) -> Value {
        if ty.size_bytes() == 8 { x } else { self.b.ins().ireduce(machine(ty), x) }
    }

    /// Extends an integer of 8 or 16 bits to 32.
    pub(crate) fn widen32(&mut self, ty: ScalarType, x: Value) -> Value {
        if ty.is_signed() {
            self.b.ins().sextend(types::I32, x)
        } else {
            self.b.ins().uextend(types::I32, x)
        }
    }

    /// Whether `a op b` leaves its type; a `bool`.
    pub(crate) fn overflows(
        &mut self,
        op: BinaryOp,
        types: [ScalarType; 2],
        a: Val,
        b: Val,
    ) -> Val {
        let ty = types[0];
        if self.is_four(a) && !has_overflow(op, ty) {
            let operands = [(types[0], a), (types[1], b)];
            return self
                .by_lane(operands, ScalarType::Bool, |it, [a, b]| it.overflows(op, types, a, b));
        }
        match op {
            BinaryOp::Pow => {
                let [base, exponent] =
                    [(types[0], a), (types[1], b)].map(|(ty, x)| self.extend(ty, x.first()));
                let function = shims::power_overflows(types);
                let answer = self.call(function, Some(types::I32), &[base, exponent]);
                let answer = answer.expect("a signature with a result gives one");
                Val::one(self.b.ins().icmp_imm_u(IntCC::NotEqual, answer, 0))
            }
            BinaryOp::Mul if self.is_four(a) && ty.size_bytes() == 4 => {
                self.product_overflows(ty, a.first(), b.first())
            }
            op => self.map2(a, b, |it, a, b| it.overflow(op, ty, a, b)),
        }
    }

    /// Whether products of four lanes of 32 bits differ from those in 64 bits.
    fn product_overflows(&mut self, ty: ScalarType, a: Value, b: Value) -> Val {
        let wrapped = self.b.ins().imul(a, b);
        let signed = ty.is_signed();
        let [low, high] = [false, true].map(|high| {
            let [a, b, wrapped] = [a, b, wrapped].map(|x| match (signed, high) {
                (true, false) => self.b.ins().swiden_low(x),
                (true, true) => self.b.ins().swiden_high(x),
                (false, false) => self.b.ins().uwiden_low(x),
                (false, true) => self.b.ins().uwiden_high(x),
            });
            let exact = self.b.ins().imul(a, b);
            self.b.ins().icmp(IntCC::NotEqual, exact, wrapped)
        });
        Val::pair(low, high)
    }

    fn overflow(&mut self, op: BinaryOp, ty: ScalarType, a: Value, b: Value) -> Value {
        let four = self.type_of(a).is_vector();
        let small = ty.size_bytes() < 4;
        let (a, b) =
            if small && !four { (self.widen32(ty, a), self.widen32(ty, b)) } else { (a, b) };
        let wide = self.type_of(a);
        let zero = self.int(wide, 0);
        match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul if small => {
                let exact = match op {
                    BinaryOp::Add => self.b.ins().iadd(a, b),
                    BinaryOp::Sub => self.b.ins().isub(a, b),
                    _ => self.b.ins().imul(a, b),
                };
                let fitted = if four {
                    self.normal(ty, exact)
                } else {
                    let low = self.b.ins().ireduce(machine(ty), exact);
                    self.widen32(ty, low)
                };
                self.b.ins().icmp(IntCC::NotEqual, exact, fitted)
            }
            BinaryOp::Add | BinaryOp::Sub if ty.is_signed() => {
                // The sign of the result is wrong: it differs from those of both terms.
                let (left, right) = if op == BinaryOp::Add {
                    let sum = self.b.ins().iadd(a, b);
                    (self.b.ins().bxor(a, sum), self.b.ins().bxor(b, sum))
                } else {
                    let difference = self.b.ins().isub(a, b);
                    (self.b.ins().bxor(a, difference), self.b.ins().bxor(a, b))
                };
                let both = self.b.ins().band(left, right);
                self.b.ins().icmp(IntCC::SignedLessThan, both, zero)
            }
            BinaryOp::Add => {
                let sum = self.b.ins().iadd(a, b);
                self.b.ins().icmp(IntCC::UnsignedLessThan, sum, a)
            }
            BinaryOp::Sub => self.b.ins().icmp(IntCC::UnsignedLessThan, a, b),
            BinaryOp::Mul => {
                let low = self.b.ins().imul(a, b);
                if ty.is_signed() {
                    let high = self.b.ins().smulhi(a, b);
                    let sign = self.b.ins().sshr_imm_u(low, i64::from(wide.lane_bits()) - 1);
                    self.b.ins().icmp(IntCC::NotEqual, high, sign)
                } else {
                    let high = self.b.ins().umulhi(a, b);
                    self.b.ins().icmp(IntCC::NotEqual, high, zero)
                }
            }
            BinaryOp::Div | BinaryOp::FloorDiv if ty.is_signed() => {
                let least = ty.int_range().map_or(0, |(least, _)| least as i64);
                let (least, minus) = (self.int(wide, least), self.int(wide, -1));
                let at_least = self.b.ins().icmp(IntCC::Equal, a, least);
                let by_minus = self.b.ins().icmp(IntCC::Equal, b, minus);
                self.b.ins().band(at_least, by_minus)
            }
            _ => self.b.ins().icmp(IntCC::NotEqual, a, a),
        }
    }
}
