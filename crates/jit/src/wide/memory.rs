//! Elements in memory, and lanes in tiles.

use super::asm::{Ins, Map, Pp, Rm, Under};
use super::code::{Emitter, Loc, Uniform, float};
use super::ops::int;
use crate::ops::{is_half, is_wide};
use ein_ir::loops::{Addr, Operand};
use ein_scalar::ScalarType;

impl Emitter<'_, '_> {
    /// Reads elements.
    pub(super) fn read(&mut self, addr: &Addr) -> Option<Loc> {
        let ty = self.shape.kernel.bufs[addr.buf].ty;
        if is_half(ty) {
            return None;
        }
        let moving = addr.terms.iter().any(|(reg, _)| self.value(*reg).is_some());
        let under = self.real_or_zero();
        match self.step(addr) {
            _ if moving => self.gather(addr, ty),
            1 => {
                let place = self.place(addr);
                self.read_from(ty, place, under)
            }
            0 if ty.size_bytes() >= 4 => {
                let (to, place) = (self.new_vector(), self.place(addr));
                let ins = int(Map::B, ty, if is_wide(ty) { 0x19 } else { 0x18 });
                self.apply(ins, ty, [to, 0], place, None);
                Some(Loc::Vector(to))
            }
            0 => None,
            _ => self.gather(addr, ty),
        }
    }

    /// Reads elements that follow one another.
    fn read_from(&mut self, ty: ScalarType, place: Rm, under: Under) -> Option<Loc> {
        let to = self.new_vector();
        let ins = match (ty.size_bytes(), ty.is_signed()) {
            (8, _) => float(ScalarType::F64, 0x10),
            (4, _) => float(ScalarType::F32, 0x10),
            (2, true) => Ins::new(Map::B, Pp::P66, false, 0x23),
            (2, false) => Ins::new(Map::B, Pp::P66, false, 0x33),
            (_, true) => Ins::new(Map::B, Pp::P66, false, 0x21),
            (_, false) => Ins::new(Map::B, Pp::P66, false, 0x31),
        };
        let bytes = self.bytes(ty);
        self.asm.vector(ins, bytes, under, [to, 0], place, None);
        if ty.is_bool() {
            let truth = self.new_mask()?;
            self.test(ScalarType::I32, truth, to, Under::All);
            self.release(Loc::Vector(to));
            return Some(Loc::Mask(truth));
        }
        Some(Loc::Vector(to))
    }

    fn gather(&mut self, addr: &Addr, ty: ScalarType) -> Option<Loc> {
        if ty.size_bytes() < 4 {
            return None;
        }
        let (mask, to) = (self.real_mask()?, self.new_vector());
        let (places, long) = self.places(addr)?;
        let ins = int(Map::B, ty, if long { 0x93 } else { 0x92 });
        let bytes = if long { self.shape.width } else { self.bytes(ty) };
        self.asm.vector(ins, bytes, Under::Merge(mask), [to, 0], places, None);
        Some(Loc::Vector(to))
    }

    /// Writes elements.
    pub(super) fn store(&mut self, addr: &Addr, value: Operand) -> Option<()> {
        let ty = self.shape.kernel.bufs[addr.buf].ty;
        let moving = addr.terms.iter().any(|(reg, _)| self.value(*reg).is_some());
        if is_half(ty) {
            return None;
        }
        let from = match self.loc(value, ty)? {
            Loc::Vector(from) => from,
            Loc::Mask(truth) => {
                let (lanes, one) = (self.temporary(), Uniform::Const(1, 4));
                let one = self.uniform_vector(one);
                let (bytes, copy) = (self.bytes(ty), float(ScalarType::F32, 0x28));
                self.asm.vector(copy, bytes, Under::Zero(truth), [lanes, 0], Rm::Reg(one), None);
                lanes
            }
        };
        if !moving && self.step(addr) == 1 {
            let place = self.place(addr);
            let ins = match ty.size_bytes() {
                8 => float(ScalarType::F64, 0x11),
                4 => float(ScalarType::F32, 0x11),
                2 => Ins::new(Map::B, Pp::F3, false, 0x33),
                _ => Ins::new(Map::B, Pp::F3, false, 0x31),
            };
            self.asm.vector(ins, self.bytes(ty), self.real(), [from, 0], place, None);
            return Some(());
        }
        if ty.size_bytes() < 4 || self.step(addr) == 0 && !moving {
            return None;
        }
        let mask = self.real_mask()?;
        let (places, long) = self.places(addr)?;
        let ins = int(Map::B, ty, if long { 0xa3 } else { 0xa2 });
        let bytes = if long { self.shape.width } else { self.bytes(ty) };
        self.asm.vector(ins, bytes, Under::Merge(mask), [from, 0], places, None);
        Some(())
    }

    /// Writes lanes as they are; conditions as masks.
    pub(super) fn keep(&mut self, ty: ScalarType, from: Loc, place: Rm, under: Under) {
        let from = match from {
            Loc::Vector(from) => from,
            Loc::Mask(truth) => {
                let lanes = self.temporary();
                let spread = Ins::new(Map::B, Pp::F3, false, 0x38);
                self.apply(spread, ty, [lanes, 0], Rm::Reg(truth), None);
                lanes
            }
        };
        let ins = float(if is_wide(ty) { ScalarType::F64 } else { ScalarType::F32 }, 0x11);
        self.asm.vector(ins, self.bytes(ty), under, [from, 0], place, None);
    }

    /// Reads what [`keep`](Self::keep) wrote.
    pub(super) fn restore(&mut self, ty: ScalarType, to: Loc, place: Rm, under: Under) {
        let ins = float(if is_wide(ty) { ScalarType::F64 } else { ScalarType::F32 }, 0x10);
        let bytes = self.bytes(ty);
        match to {
            Loc::Vector(to) => self.asm.vector(ins, bytes, under, [to, 0], place, None),
            Loc::Mask(truth) => {
                let lanes = self.temporary();
                self.asm.vector(ins, bytes, under, [lanes, 0], place, None);
                self.test(ScalarType::I32, truth, lanes, Under::All);
            }
        }
    }
}
