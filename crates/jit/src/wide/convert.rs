//! Conversions in wide loops.

use super::asm::{Ins, Map, Pp, Rm, Under};
use super::code::{Emitter, Loc, float};
use super::operands::constant;
use super::ops::KOR;
use crate::ops::{is_half, is_wide};
use ein_ir::loops::Operand;
use ein_scalar::{BinaryOp, Scalar, ScalarType};

impl Emitter<'_, '_> {
    /// A value as one of another type.
    pub(super) fn cast(&mut self, a: Operand, to: ScalarType) -> Option<Loc> {
        let from = self.type_of(a);
        if is_half(from) || is_half(to) {
            return None;
        }
        if a == Operand::Reg(self.shape.counter) && (to.is_float() || !is_wide(to)) {
            if to.is_bool() {
                return None;
            }
            let counter = self.counter(ScalarType::I32);
            return self.convert(ScalarType::I32, to, counter).map(Loc::Vector);
        }
        if from.is_bool() && to.is_bool() {
            let (x, copy) = (self.mask(a)?, self.new_mask()?);
            self.asm.mask(KOR, copy, Some(x), x);
            return Some(Loc::Mask(copy));
        }
        if from.is_bool() {
            let condition = self.mask(a)?;
            let (one, result) = (self.uniform_vector(constant(Scalar::one(to))), self.new_vector());
            let same = if is_wide(to) { ScalarType::F64 } else { ScalarType::F32 };
            let bytes = self.bytes(to);
            let under = Under::Zero(condition);
            self.asm.vector(float(same, 0x28), bytes, under, [result, 0], Rm::Reg(one), None);
            return Some(Loc::Vector(result));
        }
        let x = self.vector(a)?;
        if to.is_bool() {
            let (zero, truth) =
                (self.uniform_vector(constant(Scalar::zero(from))), self.new_mask()?);
            self.compare(BinaryOp::Ne, from, truth, x, Rm::Reg(zero));
            return Some(Loc::Mask(truth));
        }
        self.convert(from, to, x).map(Loc::Vector)
    }

    fn convert(&mut self, from: ScalarType, to: ScalarType, x: u8) -> Option<u8> {
        if from.is_float() && to.is_int() {
            return self.truncate(from, to, x);
        }
        let result = self.new_vector();
        let larger = if is_wide(from) { from } else { to };
        let unsigned = from == ScalarType::U32 || from == ScalarType::U64;
        let ins = match (from.is_float(), to.is_float(), is_wide(from), is_wide(to)) {
            (true, true, false, true) => Ins::new(Map::A, Pp::None, false, 0x5a),
            (true, true, true, false) => Ins::new(Map::A, Pp::P66, true, 0x5a),
            (false, true, false, false) if unsigned => Ins::new(Map::A, Pp::F2, false, 0x7a),
            (false, true, false, false) => Ins::new(Map::A, Pp::None, false, 0x5b),
            (false, true, false, true) if unsigned => Ins::new(Map::A, Pp::F3, false, 0x7a),
            (false, true, false, true) => Ins::new(Map::A, Pp::F3, false, 0xe6),
            (false, true, true, true) if unsigned => Ins::new(Map::A, Pp::F3, true, 0x7a),
            (false, true, true, true) => Ins::new(Map::A, Pp::F3, true, 0xe6),
            (false, true, true, false) if unsigned => Ins::new(Map::A, Pp::F2, true, 0x7a),
            (false, true, true, false) => Ins::new(Map::A, Pp::None, true, 0x5b),
            (false, false, false, true) if from.is_signed() => {
                Ins::new(Map::B, Pp::P66, false, 0x25)
            }
            (false, false, false, true) => Ins::new(Map::B, Pp::P66, false, 0x35),
            (false, false, true, false) => {
                let narrow = Ins::new(Map::B, Pp::F3, false, 0x35);
                self.apply(narrow, from, [x, 0], Rm::Reg(result), None);
                self.normal(to, result);
                return Some(result);
            }
            _ => {
                self.copy(result, x);
                if to.is_int() {
                    self.normal(to, result);
                }
                return Some(result);
            }
        };
        self.apply(ins, larger, [result, 0], Rm::Reg(x), None);
        Some(result)
    }

    /// A float as an integer of 32 bits, at least or at most what there is, and zero for NaN.
    fn truncate(&mut self, from: ScalarType, to: ScalarType, x: u8) -> Option<u8> {
        if to != ScalarType::I32 {
            return None;
        }
        let (result, test) = (self.new_vector(), self.temporary_mask()?);
        // What is too large becomes the least number.
        let ins = match from {
            ScalarType::F64 => Ins::new(Map::A, Pp::P66, true, 0xe6),
            _ => Ins::new(Map::A, Pp::F3, false, 0x5b),
        };
        self.apply(ins, from, [result, 0], Rm::Reg(x), None);
        let limit = constant(Scalar::from_f64(2_147_483_648.0, from)?);
        let limit = self.uniform_vector(limit);
        self.compare(BinaryOp::Ge, from, test, x, Rm::Reg(limit));
        let greatest = self.uniform_vector(constant(Scalar::highest(to)));
        let (bytes, copy) = (self.bytes(to), float(ScalarType::F32, 0x28));
        self.asm.vector(copy, bytes, Under::Merge(test), [result, 0], Rm::Reg(greatest), None);
        self.apply(float(from, 0xc2), from, [test, x], Rm::Reg(x), Some(7));
        self.asm.vector(copy, bytes, Under::Zero(test), [result, 0], Rm::Reg(result), None);
        Some(result)
    }
}
