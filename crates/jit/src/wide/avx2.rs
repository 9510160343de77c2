//! The instructions of wide loops on machines with vectors of 256 bits.
//!
//! Loops are written once, in terms of AVX-512. Here each of its instructions becomes one or a few of
//! AVX2: masks are vectors of ones and zeros, with lanes as long as the longest of the loop; what an
//! instruction does under a mask is done for all lanes, and blended. What has no short equivalent
//! (scatters, some conversions of long integers) is noted as missing.

use super::asm::{Asm, Gpr, Ins, Jump, Map, Pp, RCX, RDX, RSI, Rm, Under};

/// Registers that belong to this file.
const FIRST: u8 = 0;
const SECOND: u8 = 3;

/// The registers that values may not have: ours, and the masks of the last iterations and of traps.
pub(super) const RESERVED: u64 = 0b1111;

const fn plain(map: Map, pp: Pp, opcode: u8) -> Ins {
    Ins::new(map, pp, false, opcode)
}

const AND: Ins = plain(Map::A, Pp::P66, 0xdb);
const AND_NOT: Ins = plain(Map::A, Pp::P66, 0xdf);
const OR: Ins = plain(Map::A, Pp::P66, 0xeb);
const XOR: Ins = plain(Map::A, Pp::P66, 0xef);
const MOVE: Ins = plain(Map::A, Pp::None, 0x28);
const BLEND: Ins = plain(Map::C, Pp::P66, 0x4a);
const EQUAL: [Ins; 2] = [plain(Map::A, Pp::P66, 0x76), plain(Map::B, Pp::P66, 0x29)];
const GREATER: [Ins; 2] = [plain(Map::A, Pp::P66, 0x66), plain(Map::B, Pp::P66, 0x37)];
const WIDEN: Ins = plain(Map::B, Pp::P66, 0x25);
const UPPER: Ins = plain(Map::C, Pp::P66, 0x39);
const SHUFFLE: Ins = plain(Map::A, Pp::None, 0xc6);
const SHIFT: Ins = plain(Map::A, Pp::P66, 0x73);
const PRODUCT: Ins = plain(Map::A, Pp::P66, 0xf4);
const SUM: Ins = plain(Map::A, Pp::P66, 0xd4);

impl Asm {
    /// Whether lanes have eight bytes.
    fn is_long(&self) -> bool {
        self.lanes == 4
    }

    /// An instruction on three registers of 32 bytes.
    fn three(&mut self, ins: Ins, to: u8, a: u8, b: u8) {
        self.vex(ins, 32, [to, a], Rm::Reg(b), None);
    }

    /// An instruction of AVX-512, as [`Asm::vector`] takes it.
    pub(super) fn halved(
        &mut self,
        ins: Ins,
        bytes: usize,
        under: Under,
        [to, a]: [u8; 2],
        rm: Rm,
        imm: Option<u8>,
    ) {
        let rm = self.spread(ins, bytes, rm);
        let w = usize::from(ins.w);
        match (ins.map, ins.pp, ins.opcode, rm) {
            (Map::A, _, 0xc2, _) => {
                self.vex(ins, bytes, [to, a], rm, imm);
                self.widen(ins, to);
            }
            (Map::C, _, 0x1e | 0x1f, Rm::Reg(b)) => {
                self.compare_ints(ins, bytes, to, [a, b], imm.unwrap_or_default());
                self.widen(ins, to);
            }
            (Map::B, Pp::P66, 0x27, _) => {
                self.vex(AND, bytes, [SECOND, a], rm, None);
                self.three(XOR, FIRST, FIRST, FIRST);
                self.vex(EQUAL[w], bytes, [to, SECOND], Rm::Reg(FIRST), None);
                self.not(to, to);
                self.widen(ins, to);
            }
            (Map::B, Pp::F3, 0x38, Rm::Reg(mask)) => {
                let mask = self.mask_for(ins, mask);
                self.three(MOVE, to, 0, mask);
            }
            (Map::B, Pp::F3, 0x39, Rm::Reg(signs)) if ins.w => {
                self.three(XOR, FIRST, FIRST, FIRST);
                self.three(GREATER[1], to, FIRST, signs);
            }
            (Map::B, Pp::F3, 0x39, _) => {
                self.vex(plain(Map::A, Pp::P66, 0x72), bytes, [4, to], rm, Some(31));
                self.widen(ins, to);
            }
            (Map::B, Pp::P66, 0x65, _) => {
                let Under::Merge(mask) = under else { return self.missing() };
                let mask = self.mask_for(ins, mask);
                self.vex(BLEND, bytes, [to, a], rm, Some(mask << 4));
            }
            (Map::C, _, 0x50, Rm::Reg(b)) => {
                // Of two zeros each order gives the second: together they give the right one.
                let (extreme, both) = if imm == Some(5) { (0x5f, 0x54) } else { (0x5d, 0x56) };
                let pp = if ins.w { Pp::P66 } else { Pp::None };
                let extreme = plain(Map::A, pp, extreme);
                self.three(extreme, FIRST, a, b);
                self.three(extreme, SECOND, b, a);
                self.three(plain(Map::A, Pp::None, both), to, FIRST, SECOND);
            }
            (Map::B, Pp::P66, 0x4e, _) => {
                self.vex(plain(Map::A, Pp::None, 0x52), bytes, [to, 0], rm, None);
            }
            (Map::C, Pp::P66, 0x23, _) => {
                self.vex(plain(Map::C, Pp::P66, 0x46), 32, [to, a], rm, Some(1));
            }
            (Map::B, Pp::P66, 0x7c, Rm::Gpr(from)) => self.spread_general(ins.w, bytes, to, from),
            (Map::B, Pp::P66, 0x18 | 0x19, _) => {
                self.vex(plain(ins.map, ins.pp, ins.opcode), bytes, [to, 0], rm, None);
            }
            (Map::B, Pp::F3, 0x35, Rm::Reg(narrow)) => self.narrow(narrow, to),
            (Map::B, Pp::F3, 0x31 | 0x33, Rm::Mem { .. }) => {
                let size = if ins.opcode == 0x33 { 2 } else { 1 };
                self.store_narrow(size, to, rm, matches!(under, Under::Merge(_)));
            }
            (Map::B, Pp::P66, 0x21 | 0x23 | 0x31 | 0x33, _) => {
                let size = if matches!(ins.opcode, 0x23 | 0x33) { 2 } else { 1 };
                let rm = match under {
                    Under::All => rm,
                    Under::Merge(_) | Under::Zero(_) => {
                        self.three(XOR, FIRST, FIRST, FIRST);
                        let insert = if size == 2 { (Map::A, 0xc4) } else { (Map::C, 0x20) };
                        self.each_real(insert, [FIRST, FIRST], rm, size);
                        Rm::Reg(FIRST)
                    }
                };
                self.vex(ins, bytes, [to, 0], rm, None);
            }
            (Map::B, Pp::P66, 0x92 | 0x93, _) => {
                let Under::Merge(mask) = under else { return self.missing() };
                if self.is_long() && !ins.w {
                    self.narrow(mask, mask);
                }
                self.vex(ins, bytes, [to, mask], rm, None);
            }
            (Map::B, Pp::P66, 0x40, Rm::Reg(b)) if ins.w => self.long_product(to, a, b),
            (Map::B, Pp::P66, 0x39 | 0x3d, Rm::Reg(b)) if ins.w => {
                self.three(GREATER[1], SECOND, a, b);
                let [less, more] = if ins.opcode == 0x39 { [a, b] } else { [b, a] };
                self.vex(BLEND, 32, [to, less], Rm::Reg(more), Some(SECOND << 4));
            }
            (Map::B, Pp::P66, 0x1f, Rm::Reg(x)) => {
                self.three(XOR, SECOND, SECOND, SECOND);
                self.three(GREATER[1], SECOND, SECOND, x);
                self.three(XOR, FIRST, x, SECOND);
                self.three(plain(Map::A, Pp::P66, 0xfb), to, FIRST, SECOND);
            }
            (Map::A, Pp::P66, 0x72, Rm::Reg(x)) if ins.w && to == 4 => {
                // What a shift with the sign brings in are ones where the number is negative.
                let by = imm.unwrap_or_default();
                self.three(XOR, SECOND, SECOND, SECOND);
                self.three(GREATER[1], SECOND, SECOND, x);
                self.vex(SHIFT, 32, [6, SECOND], Rm::Reg(SECOND), Some(64 - by));
                self.vex(SHIFT, 32, [2, a], Rm::Reg(x), Some(by));
                self.three(OR, a, a, SECOND);
            }
            (Map::B, Pp::P66, 0xa2 | 0xa3 | 0x3b | 0x3f, _) if ins.w || ins.opcode >= 0xa2 => {
                self.missing();
            }
            (Map::A, _, 0x7a, _) | (Map::A, Pp::F3, 0xe6, _) | (Map::A, Pp::None, 0x5b, _)
                if ins.w || ins.opcode == 0x7a =>
            {
                self.missing();
            }
            _ => self.under(ins, bytes, under, [to, a], rm, imm),
        }
    }

    /// An instruction that is one here as well, in the lanes of a mask.
    fn under(
        &mut self,
        ins: Ins,
        bytes: usize,
        under: Under,
        [to, a]: [u8; 2],
        rm: Rm,
        imm: Option<u8>,
    ) {
        let in_memory = matches!(rm, Rm::Mem { .. });
        match under {
            Under::All => self.vex(ins, bytes, [to, a], rm, imm),
            Under::Zero(mask) | Under::Merge(mask)
                if in_memory && matches!((ins.map, ins.opcode), (Map::A, 0x10 | 0x11)) =>
            {
                let mask = self.mask_for(ins, mask);
                let masked = if ins.opcode == 0x10 { 0x2c } else { 0x2e };
                self.vex(plain(Map::B, Pp::P66, masked), bytes, [to, mask], rm, None);
            }
            Under::Merge(mask) => {
                self.vex(ins, bytes, [FIRST, a], rm, imm);
                let mask = self.mask_for(ins, mask);
                self.vex(BLEND, bytes, [to, to], Rm::Reg(FIRST), Some(mask << 4));
            }
            Under::Zero(mask) => {
                self.vex(ins, bytes, [FIRST, a], rm, imm);
                let mask = self.mask_for(ins, mask);
                self.vex(AND, bytes, [to, FIRST], Rm::Reg(mask), None);
            }
        }
    }

    /// One element in all lanes of a register, if an operand is that.
    fn spread(&mut self, ins: Ins, bytes: usize, rm: Rm) -> Rm {
        let place = match rm {
            Rm::Mem { base, index, disp, broadcast: true } => {
                Rm::Mem { base, index, disp, broadcast: false }
            }
            Rm::Pool { entry, broadcast: true } => Rm::Pool { entry, broadcast: false },
            other => return other,
        };
        let opcode = if ins.w { 0x19 } else { 0x18 };
        self.vex(plain(Map::B, Pp::P66, opcode), bytes, [FIRST, 0], place, None);
        Rm::Reg(FIRST)
    }

    fn spread_general(&mut self, wide: bool, bytes: usize, to: u8, from: Gpr) {
        self.vex(Ins::new(Map::A, Pp::P66, wide, 0x6e), 16, [to, 0], Rm::Gpr(from), None);
        let spread = plain(Map::B, Pp::P66, if wide { 0x59 } else { 0x58 });
        self.vex(spread, bytes, [to, 0], Rm::Reg(to), None);
    }

    /// A mask with lanes as long as those of an instruction.
    fn mask_for(&mut self, ins: Ins, mask: u8) -> u8 {
        if !self.is_long() || ins.w {
            return mask;
        }
        self.narrow(SECOND, mask);
        SECOND
    }

    /// Every other four bytes.
    fn narrow(&mut self, to: u8, from: u8) {
        self.vex(UPPER, 32, [from, 0], Rm::Reg(SECOND), Some(1));
        self.vex(SHUFFLE, 16, [to, from], Rm::Reg(SECOND), Some(0x88));
    }

    /// Makes the lanes of a mask as long as those of the loop.
    fn widen(&mut self, ins: Ins, mask: u8) {
        if self.is_long() && !ins.w {
            self.vex(WIDEN, 32, [mask, 0], Rm::Reg(mask), None);
        }
    }

    fn not(&mut self, to: u8, from: u8) {
        self.three(EQUAL[0], FIRST, FIRST, FIRST);
        self.three(XOR, to, from, FIRST);
    }

    fn compare_ints(&mut self, ins: Ins, bytes: usize, to: u8, [a, b]: [u8; 2], test: u8) {
        let w = usize::from(ins.w);
        let is_order = !matches!(test, 0 | 4);
        let [a, b] = if ins.opcode == 0x1e && is_order {
            // Without its highest bit turned over, a large number is a negative one.
            let lane =
                if ins.w { (1_u64 << 63).to_le_bytes().to_vec() } else { vec![0, 0, 0, 0x80] };
            let entry = self.constant(&lane.repeat(32 / lane.len()));
            let turned = Rm::Pool { entry, broadcast: false };
            self.vex(XOR, 32, [FIRST, b], turned, None);
            self.vex(XOR, 32, [SECOND, a], turned, None);
            [SECOND, FIRST]
        } else {
            [a, b]
        };
        let (test, [a, b], turned) = match test {
            0 => (EQUAL[w], [a, b], false),
            4 => (EQUAL[w], [a, b], true),
            1 => (GREATER[w], [b, a], false),
            2 => (GREATER[w], [a, b], true),
            5 => (GREATER[w], [b, a], true),
            _ => (GREATER[w], [a, b], false),
        };
        self.vex(test, bytes, [to, a], Rm::Reg(b), None);
        if turned {
            self.not(to, to);
        }
    }

    /// The lower halves of products: three products of halves, two of them moved up.
    fn long_product(&mut self, to: u8, a: u8, b: u8) {
        let other = if b == FIRST { to } else { FIRST };
        if other == a {
            return self.missing();
        }
        self.vex(SHIFT, 32, [2, SECOND], Rm::Reg(a), Some(32));
        self.three(PRODUCT, SECOND, SECOND, b);
        self.vex(SHIFT, 32, [2, other], Rm::Reg(b), Some(32));
        self.three(PRODUCT, other, other, a);
        self.three(SUM, SECOND, SECOND, other);
        self.vex(SHIFT, 32, [6, SECOND], Rm::Reg(SECOND), Some(32));
        self.three(PRODUCT, to, a, b);
        self.three(SUM, to, to, SECOND);
    }

    /// The lowest bytes of lanes of four, one after another in memory.
    fn store_narrow(&mut self, size: usize, from: u8, place: Rm, tail: bool) {
        let bytes = 4 * self.lanes;
        let lane: &[u8] = if size == 2 { &[255, 255, 0, 0] } else { &[255, 0, 0, 0] };
        let entry = self.constant(&lane.repeat(8));
        self.vex(AND, bytes, [FIRST, from], Rm::Pool { entry, broadcast: false }, None);
        let upper = if self.is_long() {
            FIRST
        } else {
            self.vex(UPPER, 32, [FIRST, 0], Rm::Reg(SECOND), Some(1));
            SECOND
        };
        let pack = |map, opcode| plain(map, Pp::P66, opcode);
        self.vex(pack(Map::B, 0x2b), 16, [FIRST, FIRST], Rm::Reg(upper), None);
        if size == 1 {
            self.vex(pack(Map::A, 0x67), 16, [FIRST, FIRST], Rm::Reg(FIRST), None);
        }
        if tail {
            let extract = if size == 2 { 0x15 } else { 0x14 };
            return self.each_real((Map::C, extract), [FIRST, 0], place, size as i32);
        }
        let store = match self.lanes * size {
            16 => plain(Map::A, Pp::None, 0x11),
            8 => plain(Map::A, Pp::P66, 0xd6),
            _ => plain(Map::A, Pp::P66, 0x7e),
        };
        self.vex(store, 16, [FIRST, 0], place, None);
    }

    /// Moves the elements of the last iterations one by one between memory and a register.
    fn each_real(&mut self, (map, opcode): (Map, u8), regs: [u8; 2], place: Rm, size: i32) {
        self.copy(RCX, RDX);
        self.subtract(RCX, RSI);
        let mut ends = Vec::new();
        for n in 0..self.lanes as u8 {
            let Rm::Mem { base, index, disp, .. } = place else { return self.missing() };
            ends.push(self.jump_unless_more(n));
            let disp = disp + i32::from(n) * size;
            let place = Rm::Mem { base, index, disp, broadcast: false };
            self.vex(plain(map, Pp::P66, opcode), 16, regs, place, Some(n));
        }
        ends.into_iter().for_each(|end| self.land(end));
    }

    /// Jumps unless there are more than so many iterations left.
    fn jump_unless_more(&mut self, than: u8) -> usize {
        self.compare_count(than);
        self.jump(Jump::NotMore, None)
    }

    /// An operation on masks, as [`Asm::mask`] takes it.
    pub(super) fn halved_mask(&mut self, opcode: u8, to: u8, a: u8, b: u8) {
        match opcode {
            0x41 => self.three(AND, to, a, b),
            0x42 => self.three(AND_NOT, to, a, b),
            0x44 => self.not(to, b),
            0x45 => self.three(OR, to, a, b),
            0x46 if a == b => self.three(EQUAL[0], to, a, b),
            0x46 => {
                self.three(XOR, to, a, b);
                self.not(to, to);
            }
            0x47 => self.three(XOR, to, a, b),
            _ => self.three(MOVE, to, 0, b),
        }
    }

    /// The lanes of the iterations that are left: as many as `rcx` says.
    pub(super) fn halved_tail(&mut self, to: u8) {
        let long = self.is_long();
        self.spread_general(long, 32, to, RCX);
        let size = 32 / self.lanes;
        let counts = (0..self.lanes as u64).flat_map(|n| n.to_le_bytes()[..size].to_vec());
        let counts: Vec<u8> = counts.collect();
        let entry = self.constant(&counts);
        let counts = Rm::Pool { entry, broadcast: false };
        self.vex(GREATER[usize::from(long)], 32, [to, to], counts, None);
    }

    /// A bit for each lane of a mask.
    pub(super) fn halved_bits(&mut self, to: Gpr, from: u8) {
        let pp = if self.is_long() { Pp::P66 } else { Pp::None };
        self.vex(plain(Map::A, pp, 0x50), 32, [to.0, 0], Rm::Reg(from), None);
    }
}
