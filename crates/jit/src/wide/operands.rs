//! What the instructions of a wide loop work on: values in registers or memory, and addresses.

use super::asm::{Gpr, Ins, Map, Pp, RAX, RCX, RDI, RSI, Rm, Under};
use super::code::{BASES, Emitter, Loc, Slot, TAIL, Uniform, float};
use crate::ops::is_wide;
use ein_ir::loops::{Addr, Operand, Reg};
use ein_scalar::{Scalar, ScalarType};

/// Displacements are smaller than this.
const FAR: i64 = 1 << 29;

impl Emitter<'_, '_> {
    /// The size of a vector.
    pub(super) fn bytes(&self, ty: ScalarType) -> usize {
        self.shape.lanes * lane_size(ty)
    }

    /// The lanes to change in memory.
    pub(super) fn real(&self) -> Under {
        if self.tail { Under::Merge(TAIL) } else { Under::All }
    }

    /// The lanes to read.
    pub(super) fn real_or_zero(&self) -> Under {
        if self.tail { Under::Zero(TAIL) } else { Under::All }
    }

    /// A mask of the lanes to change, that an instruction may destroy.
    pub(super) fn real_mask(&mut self) -> Option<u8> {
        let mask = self.temporary_mask()?;
        if self.tail {
            self.asm.mask(0x90, mask, None, TAIL);
        } else {
            self.asm.mask(0x46, mask, Some(mask), mask);
        }
        Some(mask)
    }

    pub(super) fn type_of(&self, operand: Operand) -> ScalarType {
        match operand {
            Operand::Reg(reg) => self.shape.kernel.regs[reg],
            Operand::Const(value) => value.ty(),
        }
    }

    pub(super) fn value(&self, reg: Reg) -> Option<Loc> {
        self.values.get(&reg).copied()
    }

    /// A value, wherever it is.
    pub(super) fn loc(&mut self, operand: Operand, ty: ScalarType) -> Option<Loc> {
        if ty.is_bool() {
            self.mask(operand).map(Loc::Mask)
        } else {
            self.vector(operand).map(Loc::Vector)
        }
    }

    /// A value as the last operand of an instruction.
    pub(super) fn source(&mut self, operand: Operand) -> Option<Rm> {
        match self.uniform(operand) {
            Some(uniform) if !self.hoisted.contains_key(&uniform) => Some(self.in_memory(uniform)),
            _ => self.vector(operand).map(Rm::Reg),
        }
    }

    /// A value in a register.
    pub(super) fn vector(&mut self, operand: Operand) -> Option<u8> {
        if let Some(uniform) = self.uniform(operand) {
            return Some(self.uniform_vector(uniform));
        }
        let Operand::Reg(reg) = operand else { return None };
        if reg == self.shape.counter {
            return Some(self.counter(ScalarType::I64));
        }
        match self.values.get(&reg)? {
            Loc::Vector(n) => Some(*n),
            Loc::Mask(_) => None,
        }
    }

    pub(super) fn uniform_vector(&mut self, uniform: Uniform) -> u8 {
        if let Some(known) = self.hoisted.get(&uniform) {
            return *known;
        }
        let to = self.temporary();
        self.fetch(uniform, to);
        to
    }

    /// A condition in a mask register.
    pub(super) fn mask(&mut self, operand: Operand) -> Option<u8> {
        let known = match operand {
            Operand::Reg(reg) => self.values.get(&reg).copied(),
            Operand::Const(_) => None,
        };
        match (known, self.uniform(operand)) {
            (Some(Loc::Mask(n)), _) => Some(n),
            (None, Some(uniform)) => {
                let (lanes, to) = (self.uniform_vector(uniform), self.temporary_mask()?);
                self.test(ScalarType::I32, to, lanes, Under::All);
                Some(to)
            }
            _ => None,
        }
    }

    /// The lanes that are not zero.
    pub(super) fn test(&mut self, ty: ScalarType, to: u8, lanes: u8, under: Under) {
        let ins = Ins::new(Map::B, Pp::P66, lane_size(ty) == 8, 0x27);
        self.asm.vector(ins, self.bytes(ty), under, [to, lanes], Rm::Reg(lanes), None);
    }

    pub(super) fn uniform(&self, operand: Operand) -> Option<Uniform> {
        match operand {
            Operand::Const(value) => Some(constant(value)),
            Operand::Reg(reg) if reg == self.shape.counter || self.values.contains_key(&reg) => {
                None
            }
            Operand::Reg(reg) => Some(Uniform::Splat(reg)),
        }
    }

    pub(super) fn uniform_size(&self, uniform: Uniform) -> usize {
        match uniform {
            Uniform::Const(_, size) | Uniform::Steps(_, size) => size,
            Uniform::Splat(reg) => lane_size(self.shape.kernel.regs[reg]),
        }
    }

    pub(super) fn in_memory(&mut self, uniform: Uniform) -> Rm {
        *self.wanted.entry(uniform).or_default() += 1;
        match uniform {
            Uniform::Const(bits, size) => {
                let entry = self.asm.constant(&bits.to_le_bytes()[..size]);
                Rm::Pool { entry, broadcast: true }
            }
            Uniform::Splat(reg) => {
                let disp = 8 * self.slot(&Slot::Splat(reg)) as i32;
                Rm::Mem { base: RDI, index: None, disp, broadcast: true }
            }
            Uniform::Steps(step, size) => {
                let all = (0..self.shape.lanes as i64).map(|n| n.wrapping_mul(step).to_le_bytes());
                let all: Vec<u8> = all.flat_map(|bytes| bytes[..size].to_vec()).collect();
                Rm::Pool { entry: self.asm.constant(&all), broadcast: false }
            }
        }
    }

    /// Reads a value that does not change into a register.
    pub(super) fn fetch(&mut self, uniform: Uniform, to: u8) {
        let size = self.uniform_size(uniform);
        let bytes = self.shape.lanes * size;
        let place = match self.in_memory(uniform) {
            Rm::Mem { base, index, disp, .. } => Rm::Mem { base, index, disp, broadcast: false },
            Rm::Pool { entry, .. } => Rm::Pool { entry, broadcast: false },
            other => other,
        };
        let wide = size == 8;
        let ins = match uniform {
            Uniform::Steps(..) if wide => float(ScalarType::F64, 0x10),
            Uniform::Steps(..) => float(ScalarType::F32, 0x10),
            _ => Ins::new(Map::B, Pp::P66, wide, if wide { 0x19 } else { 0x18 }),
        };
        self.asm.vector(ins, bytes, Under::All, [to, 0], place, None);
    }

    /// The counters.
    pub(super) fn counter(&mut self, ty: ScalarType) -> u8 {
        let (to, wide) = (self.temporary(), is_wide(ty));
        let bytes = self.bytes(ty);
        let broadcast = Ins::new(Map::B, Pp::P66, wide, 0x7c);
        self.asm.vector(broadcast, bytes, Under::All, [to, 0], Rm::Gpr(RSI), None);
        let add = Ins::new(Map::A, Pp::P66, wide, if wide { 0xd4 } else { 0xfe });
        let steps = self.uniform_vector(Uniform::Steps(1, lane_size(ty)));
        self.asm.vector(add, bytes, Under::All, [to, to], Rm::Reg(steps), None);
        if self.ahead != 0 {
            let ahead = self.uniform_vector(Uniform::Const(self.ahead as u64, lane_size(ty)));
            self.asm.vector(add, bytes, Under::All, [to, to], Rm::Reg(ahead), None);
        }
        to
    }

    pub(super) fn slot(&mut self, slot: &Slot) -> usize {
        if let Some(n) = self.slots.iter().position(|it| it == slot) {
            return n;
        }
        self.slots.push(slot.clone());
        self.slots.len() - 1
    }

    pub(super) fn bases(&self) -> usize {
        self.slots.iter().filter(|slot| is_base(slot)).count()
    }

    /// The register that holds an address all the time, if there is one.
    pub(super) fn base_register(&self, slot: usize) -> Option<Gpr> {
        let before = self.slots[..slot].iter().filter(|slot| is_base(slot)).count();
        BASES.get(before).copied()
    }

    /// An address in a general register.
    pub(super) fn base(&mut self, slot: &Slot) -> Gpr {
        let n = self.slot(slot);
        self.base_register(n).filter(|_| is_base(slot)).unwrap_or_else(|| {
            self.asm.load(RAX, RDI, 8 * n as i32);
            RAX
        })
    }

    pub(super) fn tile(&mut self, reg: Reg) -> Rm {
        let size = lane_size(self.shape.kernel.regs[reg]);
        let base = self.base(&Slot::Tile(reg));
        let disp = (self.ahead * size as i64) as i32;
        Rm::Mem { base, index: Some((RSI, size as u8)), disp, broadcast: false }
    }

    /// The register and displacement of an address without the terms of lanes.
    pub(super) fn base_of(&mut self, addr: &Addr, size: i64, step: i64) -> (Gpr, i32) {
        let terms = addr.terms.iter().copied();
        let terms =
            terms.filter(|(reg, _)| *reg != self.shape.counter && !self.values.contains_key(reg));
        let mut key = Addr { buf: addr.buf, terms: terms.collect(), offset: 0 };
        let mut disp = addr.offset.wrapping_mul(size);
        if disp.unsigned_abs() >= FAR as u64 {
            key.offset = addr.offset;
            disp = 0;
        }
        let base = self.base(&Slot::Base(key));
        (base, (disp + self.ahead * step * size) as i32)
    }

    /// The factor of the counter in an address.
    pub(super) fn step(&self, addr: &Addr) -> i64 {
        addr.terms.iter().find(|(reg, _)| *reg == self.shape.counter).map_or(0, |it| it.1)
    }

    /// The place of elements that follow one another, or are one.
    pub(super) fn place(&mut self, addr: &Addr) -> Rm {
        let size = self.shape.kernel.bufs[addr.buf].ty.size_bytes() as i64;
        let step = self.step(addr);
        let (base, disp) = self.base_of(addr, size, step);
        let index = (step == 1).then_some((RSI, size as u8));
        Rm::Mem { base, index, disp, broadcast: false }
    }

    /// The places of elements anywhere, and whether they are numbered in 64 bits.
    pub(super) fn places(&mut self, addr: &Addr) -> Option<(Rm, bool)> {
        let size = self.shape.kernel.bufs[addr.buf].ty.size_bytes() as i64;
        let step = self.step(addr);
        let bytes = i32::try_from(step.checked_mul(size)?).ok()?;
        i32::try_from(step.checked_mul(64 * size)?).ok()?;
        let moving: Vec<(Reg, i64)> =
            addr.terms.iter().filter(|(reg, _)| self.values.contains_key(reg)).copied().collect();
        let long = !moving.is_empty();
        let index = if long {
            self.numbers(&moving, step)?
        } else {
            self.uniform_vector(Uniform::Steps(step, 4))
        };
        let (mut base, disp) = self.base_of(addr, size, step);
        if step != 0 {
            if base == RAX {
                self.asm.copy(RCX, RAX);
                base = RCX;
            }
            self.asm.multiply(RAX, RSI, bytes);
            self.asm.add(RAX, base);
            base = RAX;
        }
        Some((Rm::Lanes { base, index, scale: size as u8, disp }, long))
    }

    /// The sum of registers with factors.
    pub(super) fn numbers(&mut self, terms: &[(Reg, i64)], step: i64) -> Option<u8> {
        let mut sum = (step != 0).then(|| self.uniform_vector(Uniform::Steps(step, 8)));
        for (reg, factor) in terms {
            let mut lanes = self.vector(Operand::Reg(*reg))?;
            if *factor != 1 {
                let factor = self.uniform_vector(Uniform::Const(*factor as u64, 8));
                let to = self.temporary();
                let multiply = Ins::new(Map::B, Pp::P66, true, 0x40);
                self.asm.vector(
                    multiply,
                    self.shape.width,
                    Under::All,
                    [to, lanes],
                    Rm::Reg(factor),
                    None,
                );
                lanes = to;
            }
            if let Some(before) = sum {
                let (to, add) = (self.temporary(), Ins::new(Map::A, Pp::P66, true, 0xd4));
                self.asm.vector(
                    add,
                    self.shape.width,
                    Under::All,
                    [to, before],
                    Rm::Reg(lanes),
                    None,
                );
                lanes = to;
            }
            sum = Some(lanes);
        }
        sum
    }
}

/// Whether it is an address.
pub(super) fn is_base(slot: &Slot) -> bool {
    !matches!(slot, Slot::Splat(_))
}

/// How many bytes a lane takes in a register.
pub(super) fn lane_size(ty: ScalarType) -> usize {
    if is_wide(ty) { 8 } else { 4 }
}

/// A constant as it stands in a lane.
pub(super) fn constant(value: Scalar) -> Uniform {
    let ty = value.ty();
    let bits = match value {
        Scalar::Bool(truth) => {
            if truth {
                u64::from(u32::MAX)
            } else {
                0
            }
        }
        Scalar::U64(x) => x,
        _ if ty == ScalarType::F64 => value.as_f64().to_bits(),
        _ if ty.is_float() => u64::from((value.as_f64() as f32).to_bits()),
        value => value.as_i64().unwrap_or_default() as u64,
    };
    let size = lane_size(ty);
    Uniform::Const(if size == 4 { bits & u64::from(u32::MAX) } else { bits }, size)
}
