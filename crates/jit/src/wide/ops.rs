//! The operations of wide loops.

use super::asm::{Ins, Map, Pp, Rm, Under};
use super::code::{Emitter, Loc, Uniform, float};
use super::divide;
use super::operands::{constant, lane_size};
use super::signs;
use crate::ops::{is_half, is_wide};
use ein_ir::loops::abilities::{shift, short_exponent};
use ein_ir::loops::{Op, Operand, Reg};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

/// Operations on masks.
const KAND: u8 = 0x41;
const KANDN: u8 = 0x42;
const KNOT: u8 = 0x44;
pub(super) const KOR: u8 = 0x45;
const KXNOR: u8 = 0x46;
const KXOR: u8 = 0x47;

/// An instruction on integers in lanes.
pub(super) const fn int(map: Map, ty: ScalarType, opcode: u8) -> Ins {
    Ins::new(
        map,
        Pp::P66,
        matches!(ty, ScalarType::I64 | ScalarType::U64 | ScalarType::F64),
        opcode,
    )
}

impl Emitter<'_, '_> {
    pub(super) fn operation(&mut self, op: &Op, reg: Reg, ty: ScalarType) -> Option<Loc> {
        match op {
            Op::Copy(a) => self.copied(*a, reg, ty),
            Op::Load(addr) => self.read(addr),
            Op::Unary(op, a) => self.unary(*op, *a, reg),
            Op::Binary(BinaryOp::Pow, a, n) if short_exponent(*n).is_some() && ty.is_float() => {
                self.short_power(ty, *a, short_exponent(*n)?)
            }
            Op::Binary(op, a, b) if let Some(shift) = shift(*op, *b) => {
                self.shifted(*op, ty, *a, shift)
            }
            Op::Binary(op, a, b) if let Some(by) = divide::divisor(*op, ty, *b) => {
                divide::divided(self, *op, *a, by)
            }
            Op::Binary(op, a, b) => self.binary(*op, *a, *b, reg),
            Op::MulAdd(a, b, c) => self.mul_add(ty, [*a, *b, *c], reg),
            Op::NearRsqrt(a) => {
                let (x, to) = (self.source(*a)?, self.new_vector());
                self.apply(int(Map::B, ScalarType::F32, 0x4e), ScalarType::F32, [to, 0], x, None);
                Some(Loc::Vector(to))
            }
            Op::Overflows(op, a, b) => self.overflows(*op, *a, *b),
            Op::Cast(a) => self.cast(*a, ty),
            Op::Select(a, b, c) => self.select(ty, *a, *b, *c),
        }
    }

    /// An instruction on all lanes of a type.
    pub(super) fn apply(
        &mut self,
        ins: Ins,
        ty: ScalarType,
        regs: [u8; 2],
        rm: Rm,
        imm: Option<u8>,
    ) {
        self.asm.vector(ins, self.bytes(ty), Under::All, regs, rm, imm);
    }

    fn copied(&mut self, a: Operand, reg: Reg, ty: ScalarType) -> Option<Loc> {
        if ty.is_bool() {
            let (from, to) = (self.mask(a)?, self.new_mask()?);
            self.asm.mask(KOR, to, Some(from), from);
            return Some(Loc::Mask(to));
        }
        let from = self.vector(a)?;
        let to = self.target(reg);
        self.copy(to, from);
        Some(Loc::Vector(to))
    }

    fn unary(&mut self, op: UnaryOp, a: Operand, reg: Reg) -> Option<Loc> {
        let ty = self.type_of(a);
        if ty.is_bool() {
            let (from, to) = (self.mask(a)?, self.new_mask()?);
            (op == UnaryOp::Not).then(|| self.asm.mask(KNOT, to, None, from))?;
            return Some(Loc::Mask(to));
        }
        if is_half(ty) || op.is_elementary() {
            return None;
        }
        if ty.is_float() { self.float_unary(op, ty, a, reg) } else { self.int_unary(op, ty, a) }
    }

    fn float_unary(&mut self, op: UnaryOp, ty: ScalarType, a: Operand, reg: Reg) -> Option<Loc> {
        let wide = is_wide(ty);
        let sign = if wide { 1 << 63 } else { 1 << 31 };
        let size = lane_size(ty);
        match op {
            UnaryOp::Neg | UnaryOp::Abs => {
                let from = self.vector(a)?;
                let (bits, opcode) =
                    if op == UnaryOp::Neg { (sign, 0xef) } else { (sign - 1, 0xdb) };
                let bits = self.uniform_vector(Uniform::Const(bits, size));
                let to = self.target(reg);
                self.apply(int(Map::A, ty, opcode), ty, [to, from], Rm::Reg(bits), None);
                Some(Loc::Vector(to))
            }
            UnaryOp::Sqrt => {
                let (x, to) = (self.source(a)?, self.new_vector());
                self.apply(float(ty, 0x51), ty, [to, 0], x, None);
                Some(Loc::Vector(to))
            }
            UnaryOp::Rsqrt => {
                let (x, to) = (self.source(a)?, self.new_vector());
                self.apply(float(ty, 0x51), ty, [to, 0], x, None);
                self.inverse(ty, to);
                Some(Loc::Vector(to))
            }
            UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc => {
                let mode = match op {
                    UnaryOp::Floor => 9,
                    UnaryOp::Ceil => 10,
                    UnaryOp::Trunc => 11,
                    _ => 8,
                };
                let (x, to) = (self.source(a)?, self.new_vector());
                let ins = int(Map::C, ty, if wide { 9 } else { 8 });
                self.apply(ins, ty, [to, 0], x, Some(mode));
                Some(Loc::Vector(to))
            }
            UnaryOp::IsNan => {
                let (x, to) = (self.vector(a)?, self.new_mask()?);
                self.apply(float(ty, 0xc2), ty, [to, x], Rm::Reg(x), Some(3));
                Some(Loc::Mask(to))
            }
            UnaryOp::IsInf | UnaryOp::IsFinite => {
                let (x, to) = (self.vector(a)?, self.new_mask()?);
                let bits = self.uniform_vector(Uniform::Const(sign - 1, size));
                let infinity = self.uniform_vector(constant(Scalar::from_f64(f64::INFINITY, ty)?));
                let magnitude = self.temporary();
                self.apply(int(Map::A, ty, 0xdb), ty, [magnitude, x], Rm::Reg(bits), None);
                let test = if op == UnaryOp::IsInf { 0 } else { 0x11 };
                self.apply(float(ty, 0xc2), ty, [to, magnitude], Rm::Reg(infinity), Some(test));
                Some(Loc::Mask(to))
            }
            UnaryOp::Sign => {
                // NaN stays what it is, and -0 becomes +0.
                let (x, zero) = (self.vector(a)?, self.uniform_vector(constant(Scalar::zero(ty))));
                let still = self.temporary();
                self.apply(float(ty, 0x58), ty, [still, x], Rm::Reg(zero), None);
                signs::of(self, ty, x, still)
            }
            _ => None,
        }
    }

    /// `x = 1 / x`.
    fn inverse(&mut self, ty: ScalarType, x: u8) {
        let one = self.uniform_vector(constant(Scalar::one(ty)));
        self.apply(float(ty, 0x5e), ty, [x, one], Rm::Reg(x), None);
    }

    fn int_unary(&mut self, op: UnaryOp, ty: ScalarType, a: Operand) -> Option<Loc> {
        let wide = is_wide(ty);
        match op {
            UnaryOp::Neg => {
                let (zero, x) = (self.uniform_vector(constant(Scalar::zero(ty))), self.source(a)?);
                let to = self.new_vector();
                self.apply(difference(ty), ty, [to, zero], x, None);
                self.normal(ty, to);
                Some(Loc::Vector(to))
            }
            UnaryOp::Abs if ty.is_signed() => {
                let (x, to) = (self.source(a)?, self.new_vector());
                let ins = int(Map::B, ty, if wide { 0x1f } else { 0x1e });
                self.apply(ins, ty, [to, 0], x, None);
                self.normal(ty, to);
                Some(Loc::Vector(to))
            }
            UnaryOp::Abs => {
                let (from, to) = (self.vector(a)?, self.new_vector());
                self.copy(to, from);
                Some(Loc::Vector(to))
            }
            UnaryOp::Sign => {
                let (x, zero) = (self.vector(a)?, self.uniform_vector(constant(Scalar::zero(ty))));
                signs::of(self, ty, x, zero)
            }
            _ => None,
        }
    }

    /// Brings lanes of 32 bits back into a narrower type.
    pub(super) fn normal(&mut self, ty: ScalarType, x: u8) {
        let bits = 8 * ty.size_bytes() as u8;
        if bits >= 32 {
            return;
        }
        if ty.is_signed() {
            self.shift(6, ScalarType::I32, x, x, 32 - bits);
            self.shift(4, ScalarType::I32, x, x, 32 - bits);
        } else {
            let mask = self.uniform_vector(Uniform::Const((1 << bits) - 1, 4));
            self.apply(int(Map::A, ScalarType::I32, 0xdb), ty, [x, x], Rm::Reg(mask), None);
        }
    }

    /// Shifts lanes: 2 right, 4 right with the sign, 6 left.
    fn shift(&mut self, kind: u8, ty: ScalarType, to: u8, from: u8, by: u8) {
        let opcode = if is_wide(ty) && kind != 4 { 0x73 } else { 0x72 };
        self.apply(int(Map::A, ty, opcode), ty, [kind, to], Rm::Reg(from), Some(by));
    }

    fn shifted(&mut self, op: BinaryOp, ty: ScalarType, a: Operand, by: u32) -> Option<Loc> {
        let from = self.vector(a)?;
        let to = self.new_vector();
        if op == BinaryOp::FloorDiv {
            self.shift(if ty.is_signed() { 4 } else { 2 }, ty, to, from, by as u8);
        } else {
            let mask = self.uniform_vector(Uniform::Const((1 << by) - 1, lane_size(ty)));
            self.apply(int(Map::A, ty, 0xdb), ty, [to, from], Rm::Reg(mask), None);
        }
        Some(Loc::Vector(to))
    }

    fn binary(&mut self, op: BinaryOp, a: Operand, b: Operand, reg: Reg) -> Option<Loc> {
        let ty = self.type_of(a);
        if is_half(ty) || self.type_of(b) != ty {
            return None;
        }
        if ty.is_bool() {
            let (a, b) = (self.mask(a)?, self.mask(b)?);
            return self.bool_binary(op, a, b).map(Loc::Mask);
        }
        if op.is_comparison() {
            let (x, y, to) = (self.vector(a)?, self.source(b)?, self.new_mask()?);
            self.compare(op, ty, to, x, y);
            return Some(Loc::Mask(to));
        }
        if ty.is_float() && matches!(op, BinaryOp::Min | BinaryOp::Max) {
            let (x, y) = (self.vector(a)?, self.vector(b)?);
            return self.extreme(op, ty, x, y).map(Loc::Vector);
        }
        let ins = arithmetic(op, ty)?;
        // What can be read from memory is better last.
        let (a, b) = if self.is_uniform(a) && is_symmetric(op) { (b, a) } else { (a, b) };
        let (x, y) = (self.vector(a)?, self.source(b)?);
        let to = self.target(reg);
        self.apply(ins, ty, [to, x], y, None);
        if !ty.is_float() {
            self.normal(ty, to);
        }
        Some(Loc::Vector(to))
    }

    fn is_uniform(&self, operand: Operand) -> bool {
        match operand {
            Operand::Reg(reg) => self.value(reg).is_none() && reg != self.shape.counter,
            Operand::Const(_) => true,
        }
    }

    fn bool_binary(&mut self, op: BinaryOp, a: u8, b: u8) -> Option<u8> {
        let to = self.new_mask()?;
        match op {
            BinaryOp::And | BinaryOp::Min => self.asm.mask(KAND, to, Some(a), b),
            BinaryOp::Or | BinaryOp::Max => self.asm.mask(KOR, to, Some(a), b),
            BinaryOp::Eq => self.asm.mask(KXNOR, to, Some(a), b),
            BinaryOp::Ne => self.asm.mask(KXOR, to, Some(a), b),
            BinaryOp::Lt => self.asm.mask(KANDN, to, Some(a), b),
            BinaryOp::Gt => self.asm.mask(KANDN, to, Some(b), a),
            _ => return None,
        }
        Some(to)
    }

    /// A comparison into a mask.
    pub(super) fn compare(&mut self, op: BinaryOp, ty: ScalarType, to: u8, x: u8, y: Rm) {
        if ty.is_float() {
            let test = match op {
                BinaryOp::Ne => 4,
                BinaryOp::Lt => 0x11,
                BinaryOp::Le => 0x12,
                BinaryOp::Gt => 0x1e,
                BinaryOp::Ge => 0x1d,
                _ => 0,
            };
            self.apply(float(ty, 0xc2), ty, [to, x], y, Some(test));
        } else {
            let test = match op {
                BinaryOp::Ne => 4,
                BinaryOp::Lt => 1,
                BinaryOp::Le => 2,
                BinaryOp::Gt => 6,
                BinaryOp::Ge => 5,
                _ => 0,
            };
            let opcode = if ty.is_signed() { 0x1f } else { 0x1e };
            self.apply(int(Map::C, ty, opcode), ty, [to, x], y, Some(test));
        }
    }

    /// The greater or smaller, NaN if either is; zeros have an order.
    fn extreme(&mut self, op: BinaryOp, ty: ScalarType, x: u8, y: u8) -> Option<u8> {
        let (nan, to) = (self.temporary_mask()?, self.new_vector());
        self.apply(float(ty, 0xc2), ty, [nan, x], Rm::Reg(y), Some(3));
        let which = if op == BinaryOp::Max { 5 } else { 4 };
        self.apply(int(Map::C, ty, 0x50), ty, [to, x], Rm::Reg(y), Some(which));
        let bytes = self.bytes(ty);
        self.asm.vector(float(ty, 0x58), bytes, Under::Merge(nan), [to, x], Rm::Reg(y), None);
        Some(to)
    }

    /// Brings two copies of an accumulator together.
    pub(super) fn combine(&mut self, op: BinaryOp, ty: ScalarType, a: Loc, b: Loc) -> Option<Loc> {
        match (a, b) {
            (Loc::Mask(a), Loc::Mask(b)) => self.bool_binary(op, a, b).map(Loc::Mask),
            (Loc::Vector(a), Loc::Vector(b)) => {
                if ty.is_float() && matches!(op, BinaryOp::Min | BinaryOp::Max) {
                    return self.extreme(op, ty, a, b).map(Loc::Vector);
                }
                self.apply(arithmetic(op, ty)?, ty, [a, a], Rm::Reg(b), None);
                self.normal(ty, a);
                Some(Loc::Vector(a))
            }
            _ => None,
        }
    }

    fn mul_add(&mut self, ty: ScalarType, [a, b, c]: [Operand; 3], reg: Reg) -> Option<Loc> {
        if is_half(ty) {
            return None;
        }
        let (a, b) = if self.is_uniform(a) { (b, a) } else { (a, b) };
        let (x, y) = (self.vector(a)?, self.source(b)?);
        let z = self.vector(c)?;
        let to = match self.inherit(c) {
            Some(to) => to,
            None => {
                let to = self.target(reg);
                self.copy(to, z);
                to
            }
        };
        self.apply(int(Map::B, ty, 0xb8), ty, [to, x], y, None);
        Some(Loc::Vector(to))
    }

    fn overflows(&mut self, op: BinaryOp, a: Operand, b: Operand) -> Option<Loc> {
        let ty = self.type_of(a);
        if op == BinaryOp::Mul && ty == ScalarType::I32 {
            return divide::product_overflows(self, a, b);
        }
        if !matches!(op, BinaryOp::Add | BinaryOp::Sub) || ty.size_bytes() < 4 {
            return None;
        }
        let (x, y, to) = (self.vector(a)?, self.vector(b)?, self.new_mask()?);
        let result = self.temporary();
        self.apply(arithmetic(op, ty)?, ty, [result, x], Rm::Reg(y), None);
        match (op, ty.is_signed()) {
            (BinaryOp::Add, false) => self.compare(BinaryOp::Lt, ty, to, result, Rm::Reg(x)),
            (_, false) => self.compare(BinaryOp::Lt, ty, to, x, Rm::Reg(y)),
            (op, true) => {
                // The sign of the result differs from those of both terms.
                let (xor, other) = (int(Map::A, ty, 0xef), self.temporary());
                let term = if op == BinaryOp::Add { result } else { x };
                self.apply(xor, ty, [other, y], Rm::Reg(term), None);
                self.apply(xor, ty, [result, result], Rm::Reg(x), None);
                self.apply(int(Map::A, ty, 0xdb), ty, [result, result], Rm::Reg(other), None);
                let signs = Ins::new(Map::B, Pp::F3, is_wide(ty), 0x39);
                self.apply(signs, ty, [to, 0], Rm::Reg(result), None);
            }
        }
        Some(Loc::Mask(to))
    }

    fn select(&mut self, ty: ScalarType, c: Operand, a: Operand, b: Operand) -> Option<Loc> {
        let condition = self.mask(c)?;
        if ty.is_bool() {
            let (a, b, to) = (self.mask(a)?, self.mask(b)?, self.new_mask()?);
            let other = self.temporary_mask()?;
            self.asm.mask(KAND, to, Some(condition), a);
            self.asm.mask(KANDN, other, Some(condition), b);
            self.asm.mask(KOR, to, Some(to), other);
            return Some(Loc::Mask(to));
        }
        if is_half(ty) {
            return None;
        }
        let (y, x) = (self.vector(b)?, self.source(a)?);
        let to = self.new_vector();
        let blend = int(Map::B, ty, 0x65);
        self.asm.vector(blend, self.bytes(ty), Under::Merge(condition), [to, y], x, None);
        Some(Loc::Vector(to))
    }

    /// A power with a short exponent, as [`power`] has it for narrow vectors.
    fn short_power(&mut self, ty: ScalarType, a: Operand, exponent: f64) -> Option<Loc> {
        if is_half(ty) {
            return None;
        }
        let x = self.vector(a)?;
        let to = self.new_vector();
        let multiply = float(ty, 0x59);
        if exponent.fract() == 0.0 {
            match exponent as i64 {
                1 => self.copy(to, x),
                -1 => {
                    self.copy(to, x);
                    self.inverse(ty, to);
                }
                n => {
                    self.apply(multiply, ty, [to, x], Rm::Reg(x), None);
                    let other = if n == 3 { x } else { to };
                    if n > 2 {
                        self.apply(multiply, ty, [to, to], Rm::Reg(other), None);
                    }
                }
            }
            return Some(Loc::Vector(to));
        }
        // −0 is as +0, and −∞ as +∞.
        let [lowest, infinity] = [f64::NEG_INFINITY, f64::INFINITY].map(|value| {
            Scalar::from_f64(value, ty).map(|value| self.uniform_vector(constant(value)))
        });
        let (base, is_lowest) = (self.temporary(), self.temporary_mask()?);
        self.compare(BinaryOp::Eq, ty, is_lowest, x, Rm::Reg(lowest?));
        let blend = int(Map::B, ty, 0x65);
        let bytes = self.bytes(ty);
        self.asm.vector(blend, bytes, Under::Merge(is_lowest), [base, x], Rm::Reg(infinity?), None);
        let zero = self.uniform_vector(constant(Scalar::zero(ty)));
        self.apply(float(ty, 0x58), ty, [base, base], Rm::Reg(zero), None);
        self.apply(float(ty, 0x51), ty, [to, 0], Rm::Reg(base), None);
        if exponent == 1.5 {
            self.apply(multiply, ty, [to, to], Rm::Reg(base), None);
        } else if exponent < 0.0 {
            self.inverse(ty, to);
        }
        Some(Loc::Vector(to))
    }
}

/// The instruction of an operation.
fn arithmetic(op: BinaryOp, ty: ScalarType) -> Option<Ins> {
    let (wide, signed) = (is_wide(ty), ty.is_signed());
    Some(match op {
        BinaryOp::Add if ty.is_float() => float(ty, 0x58),
        BinaryOp::Mul if ty.is_float() => float(ty, 0x59),
        BinaryOp::Sub if ty.is_float() => float(ty, 0x5c),
        BinaryOp::Div if ty.is_float() => float(ty, 0x5e),
        _ if ty.is_float() => return None,
        BinaryOp::Add => int(Map::A, ty, if wide { 0xd4 } else { 0xfe }),
        BinaryOp::Sub => difference(ty),
        BinaryOp::Mul => int(Map::B, ty, 0x40),
        BinaryOp::Min => int(Map::B, ty, if signed { 0x39 } else { 0x3b }),
        BinaryOp::Max => int(Map::B, ty, if signed { 0x3d } else { 0x3f }),
        _ => return None,
    })
}

fn difference(ty: ScalarType) -> Ins {
    int(Map::A, ty, if is_wide(ty) { 0xfb } else { 0xfa })
}

fn is_symmetric(op: BinaryOp) -> bool {
    matches!(op, BinaryOp::Add | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max)
}
