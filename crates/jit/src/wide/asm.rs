//! An assembler for the instructions of wide loops: AVX-512, masks and a little of the rest. For
//! vectors of 256 bits the same instructions become those of AVX2 (`avx2.rs`).
//!
//! Displacements always take four bytes, so that no instruction changes its length.

/// The prefix that selects a table of opcodes.
#[derive(Clone, Copy)]
pub(super) enum Map {
    /// `0F`
    A = 1,
    /// `0F38`
    B = 2,
    /// `0F3A`
    C = 3,
}

/// The prefix that selects a variant of an opcode.
#[derive(Clone, Copy)]
pub(super) enum Pp {
    /// none
    None = 0,
    /// `66`
    P66 = 1,
    /// `F3`
    F3 = 2,
    /// `F2`
    F2 = 3,
}

/// An instruction on vectors.
#[derive(Clone, Copy)]
pub(super) struct Ins {
    pub(super) map: Map,
    pub(super) pp: Pp,
    /// Whether elements have 64 bits.
    pub(super) w: bool,
    pub(super) opcode: u8,
}

impl Ins {
    pub(super) const fn new(map: Map, pp: Pp, w: bool, opcode: u8) -> Ins {
        Ins { map, pp, w, opcode }
    }
}

/// A general register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gpr(pub(super) u8);

pub(super) const RAX: Gpr = Gpr(0);
pub(super) const RCX: Gpr = Gpr(1);
pub(super) const RDX: Gpr = Gpr(2);
pub(super) const RSI: Gpr = Gpr(6);
pub(super) const RDI: Gpr = Gpr(7);
pub(super) const R11: Gpr = Gpr(11);

/// The last operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rm {
    /// A vector or mask register.
    Reg(u8),
    /// A general register.
    Gpr(Gpr),
    /// `[base + index * scale + disp]`, all of it or one element for all lanes.
    Mem { base: Gpr, index: Option<(Gpr, u8)>, disp: i32, broadcast: bool },
    /// `[base + lane * scale + disp]` for each lane of a vector register.
    Lanes { base: Gpr, index: u8, scale: u8, disp: i32 },
    /// A constant behind the code.
    Pool { entry: usize, broadcast: bool },
}

/// Which lanes an instruction changes.
#[derive(Clone, Copy)]
pub(super) enum Under {
    /// All.
    All,
    /// Those of a mask; the others stay.
    Merge(u8),
    /// Those of a mask; the others become zero.
    Zero(u8),
}

/// Conditions of jumps.
#[derive(Clone, Copy)]
pub(super) enum Jump {
    Less = 0x8c,
    NotLess = 0x8d,
    NotMore = 0x8e,
}

/// Code under construction.
pub(super) struct Asm {
    /// The bytes of a vector: 64, or 32 for AVX2.
    width: usize,
    /// How many iterations a vector does.
    pub(super) lanes: usize,
    /// Whether there is an instruction for everything so far.
    pub(super) complete: bool,
    code: Vec<u8>,
    pool: Vec<Vec<u8>>,
    /// Where a displacement to a constant stands, and where its instruction ends.
    fixups: Vec<(usize, usize, usize)>,
}

impl Asm {
    pub(super) fn new(width: usize, lanes: usize) -> Asm {
        Asm { width, lanes, complete: true, code: vec![], pool: vec![], fixups: vec![] }
    }

    /// Notes that something has no instruction.
    pub(super) fn missing(&mut self) {
        self.complete = false;
    }

    /// The code with its constants.
    pub(super) fn finish(mut self) -> Vec<u8> {
        let mut places = Vec::with_capacity(self.pool.len());
        for entry in &self.pool {
            let size = entry.len().max(1);
            self.code.resize(self.code.len().next_multiple_of(size), 0xcc);
            places.push(self.code.len());
            self.code.extend_from_slice(entry);
        }
        for (at, end, entry) in self.fixups {
            let distance = (places[entry] - end) as i32;
            self.code[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        self.code
    }

    /// The number of a constant.
    pub(super) fn constant(&mut self, bytes: &[u8]) -> usize {
        if let Some(entry) = self.pool.iter().position(|it| it == bytes) {
            return entry;
        }
        self.pool.push(bytes.to_vec());
        self.pool.len() - 1
    }

    /// Where the next instruction will be.
    pub(super) fn here(&self) -> usize {
        self.code.len()
    }

    /// An instruction on vectors of `bytes` bytes: `reg`, `other` and `rm` are its operands in the
    /// order of the manuals.
    pub(super) fn vector(
        &mut self,
        ins: Ins,
        bytes: usize,
        under: Under,
        [reg, other]: [u8; 2],
        rm: Rm,
        imm: Option<u8>,
    ) {
        if self.width == 32 {
            return self.halved(ins, bytes, under, [reg, other], rm, imm);
        }
        let (x, b, high) = match rm {
            Rm::Reg(r) => (r >> 4 & 1, r >> 3 & 1, 0),
            Rm::Gpr(base) => (0, base.0 >> 3, 0),
            Rm::Mem { base, index, .. } => (index.map_or(0, |(it, _)| it.0 >> 3), base.0 >> 3, 0),
            Rm::Lanes { base, index, .. } => (index >> 3 & 1, base.0 >> 3, index >> 4),
            Rm::Pool { .. } => (0, 0, 0),
        };
        let broadcast =
            matches!(rm, Rm::Mem { broadcast: true, .. } | Rm::Pool { broadcast: true, .. });
        let (mask, zero) = match under {
            Under::All => (0, 0),
            Under::Merge(k) => (k, 0),
            Under::Zero(k) => (k, 1),
        };
        let length = match bytes {
            64 => 2,
            32 => 1,
            _ => 0,
        };
        let not = |bit: u8| (bit & 1) ^ 1;
        self.code.push(0x62);
        self.code.push(
            not(reg >> 3) << 7 | not(x) << 6 | not(b) << 5 | not(reg >> 4) << 4 | ins.map as u8,
        );
        self.code.push(u8::from(ins.w) << 7 | (!other & 15) << 3 | 4 | ins.pp as u8);
        self.code.push(
            zero << 7 | length << 5 | u8::from(broadcast) << 4 | not(other >> 4 | high) << 3 | mask,
        );
        self.code.push(ins.opcode);
        self.operand(reg & 7, rm, usize::from(imm.is_some()));
        self.code.extend(imm);
    }

    /// An instruction of AVX2, or before it.
    pub(super) fn vex(
        &mut self,
        ins: Ins,
        bytes: usize,
        [reg, other]: [u8; 2],
        rm: Rm,
        imm: Option<u8>,
    ) {
        let (x, b) = match rm {
            Rm::Reg(r) => (0, r >> 3 & 1),
            Rm::Gpr(base) => (0, base.0 >> 3),
            Rm::Mem { base, index, .. } => (index.map_or(0, |(it, _)| it.0 >> 3), base.0 >> 3),
            Rm::Lanes { base, index, .. } => (index >> 3 & 1, base.0 >> 3),
            Rm::Pool { .. } => (0, 0),
        };
        // Of the others the opcode says how long elements are.
        let sized = matches!((ins.map, ins.opcode), (Map::B, 0x92 | 0x93 | 0xb8) | (Map::A, 0x6e));
        let not = |bit: u8| (bit & 1) ^ 1;
        self.code.push(0xc4);
        self.code.push(not(reg >> 3) << 7 | not(x) << 6 | not(b) << 5 | ins.map as u8);
        let length = u8::from(bytes == 32);
        self.code
            .push(u8::from(ins.w && sized) << 7 | (!other & 15) << 3 | length << 2 | ins.pp as u8);
        self.code.push(ins.opcode);
        self.operand(reg & 7, rm, usize::from(imm.is_some()));
        self.code.extend(imm);
    }

    fn operand(&mut self, reg: u8, rm: Rm, after: usize) {
        let modrm = |kind: u8, low: u8| kind << 6 | reg << 3 | low;
        let scaled = |scale: u8, index: u8, base: u8| {
            (scale.trailing_zeros() as u8) << 6 | (index & 7) << 3 | (base & 7)
        };
        match rm {
            Rm::Reg(r) => self.code.push(modrm(3, r & 7)),
            Rm::Gpr(r) => self.code.push(modrm(3, r.0 & 7)),
            Rm::Mem { base, index, disp, .. } => {
                let (index, scale) = index.map_or((4, 1), |(it, scale)| (it.0, scale));
                self.code.extend([modrm(2, 4), scaled(scale, index, base.0)]);
                self.code.extend(disp.to_le_bytes());
            }
            Rm::Lanes { base, index, scale, disp } => {
                self.code.extend([modrm(2, 4), scaled(scale, index, base.0)]);
                self.code.extend(disp.to_le_bytes());
            }
            Rm::Pool { entry, .. } => {
                self.code.push(modrm(0, 5));
                let at = self.code.len();
                self.fixups.push((at, at + 4 + after, entry));
                self.code.extend([0; 4]);
            }
        }
    }

    /// An operation on masks, `to = a op b`; those on one mask have no `a`.
    pub(super) fn mask(&mut self, opcode: u8, to: u8, a: Option<u8>, b: u8) {
        if self.width == 32 {
            return self.halved_mask(opcode, to, a.unwrap_or(0), b);
        }
        let first = !a.unwrap_or(0) & 15;
        self.code.extend([
            0xc5,
            0x80 | first << 3 | u8::from(a.is_some()) << 2,
            opcode,
            0xc0 | to << 3 | b,
        ]);
    }

    /// A mask in the lowest bits of a general register.
    pub(super) fn bits_of(&mut self, to: Gpr, from: u8) {
        if self.width == 32 {
            return self.halved_bits(to, from);
        }
        self.code.extend([0xc5, 0xf8, 0x93, 0xc0 | to.0 << 3 | from]);
    }

    /// A mask of as many lanes as `rcx` says.
    pub(super) fn tail(&mut self, to: u8) {
        if self.width == 32 {
            return self.halved_tail(to);
        }
        // mov eax, -1; bzhi eax, eax, ecx; kmovw to, eax
        self.code.extend([0xb8, 0xff, 0xff, 0xff, 0xff, 0xc4, 0xe2, 0x70, 0xf5, 0xc0]);
        self.code.extend([0xc5, 0xf8, 0x92, 0xc0 | to << 3]);
    }

    /// Compares `rcx` with a number for a jump.
    pub(super) fn compare_count(&mut self, number: u8) {
        self.code.extend([0x48, 0x83, 0xf9, number]);
    }

    /// An instruction on general registers of 64 bits.
    fn general(&mut self, opcode: u8, reg: Gpr, rm: Rm) {
        let (x, b) = match rm {
            Rm::Gpr(r) => (0, r.0 >> 3),
            Rm::Mem { base, index, .. } => (index.map_or(0, |(it, _)| it.0 >> 3), base.0 >> 3),
            Rm::Reg(_) | Rm::Lanes { .. } | Rm::Pool { .. } => (0, 0),
        };
        self.code.extend([0x48 | (reg.0 >> 3) << 2 | x << 1 | b, opcode]);
        self.operand(reg.0 & 7, rm, 0);
    }

    /// `to = [base + disp]`.
    pub(super) fn load(&mut self, to: Gpr, base: Gpr, disp: i32) {
        self.general(0x8b, to, Rm::Mem { base, index: None, disp, broadcast: false });
    }

    /// `[base + disp] = from`, the lower half.
    pub(super) fn store_short(&mut self, from: Gpr, base: Gpr, disp: i32) {
        let place = Rm::Mem { base, index: None, disp, broadcast: false };
        self.code.extend([0x40 | (from.0 >> 3) << 2 | base.0 >> 3, 0x89]);
        self.operand(from.0 & 7, place, 0);
    }

    /// `to = base + disp`.
    pub(super) fn lea(&mut self, to: Gpr, base: Gpr, disp: i32) {
        self.general(0x8d, to, Rm::Mem { base, index: None, disp, broadcast: false });
    }

    /// `to = from * factor`.
    pub(super) fn multiply(&mut self, to: Gpr, from: Gpr, factor: i32) {
        self.general(0x69, to, Rm::Gpr(from));
        self.code.extend(factor.to_le_bytes());
    }

    /// `to += from`.
    pub(super) fn add(&mut self, to: Gpr, from: Gpr) {
        self.general(0x03, to, Rm::Gpr(from));
    }

    /// `to -= from`.
    pub(super) fn subtract(&mut self, to: Gpr, from: Gpr) {
        self.general(0x2b, to, Rm::Gpr(from));
    }

    /// `to = from`.
    pub(super) fn copy(&mut self, to: Gpr, from: Gpr) {
        self.general(0x8b, to, Rm::Gpr(from));
    }

    /// Compares for a jump.
    pub(super) fn compare(&mut self, a: Gpr, b: Gpr) {
        self.general(0x3b, a, Rm::Gpr(b));
    }

    /// `eax &= mask`.
    pub(super) fn keep_bits(&mut self, mask: u32) {
        self.code.push(0x25);
        self.code.extend(mask.to_le_bytes());
    }

    /// `eax = 0`.
    pub(super) fn clear_result(&mut self) {
        self.code.extend([0x31, 0xc0]);
    }

    pub(super) fn push(&mut self, reg: Gpr) {
        self.code.extend([0x40 | reg.0 >> 3, 0x50 | reg.0 & 7]);
    }

    pub(super) fn pop(&mut self, reg: Gpr) {
        self.code.extend([0x40 | reg.0 >> 3, 0x58 | reg.0 & 7]);
    }

    /// Returns; other code may then use short vectors at no cost.
    pub(super) fn leave(&mut self) {
        self.code.extend([0xc5, 0xf8, 0x77, 0xc3]);
    }

    /// A jump to a place before, or to one that [`land`](Self::land) will give.
    pub(super) fn jump(&mut self, condition: Jump, to: Option<usize>) -> usize {
        self.code.extend([0x0f, condition as u8]);
        let at = self.code.len();
        let distance = to.map_or(0, |to| to as i64 - (at as i64 + 4));
        self.code.extend((distance as i32).to_le_bytes());
        at
    }

    /// Lets a jump forward end here.
    pub(super) fn land(&mut self, jump: usize) {
        let distance = (self.code.len() - (jump + 4)) as i32;
        self.code[jump..jump + 4].copy_from_slice(&distance.to_le_bytes());
    }
}
