//! The code of a wide loop: its registers, its operands and the loop itself.

use super::asm::{Asm, Gpr, Ins, Jump, Map, Pp, R11, RAX, RCX, RDI, RDX, RSI, Rm, Under};
use super::avx2::RESERVED;
use super::operands::{constant, is_base, lane_size};
use crate::ops::is_wide;
use ein_ir::loops::{Addr, Kernel, Op, Operand, Reg, Stmt, captures};
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use rustc_hash::FxHashMap;

/// General registers for the addresses of buffers; those from the fourth on belong to the caller.
pub(super) const BASES: [Gpr; 9] =
    [Gpr(8), Gpr(9), Gpr(10), Gpr(3), Gpr(5), Gpr(12), Gpr(13), Gpr(14), Gpr(15)];
/// How many of them may be changed.
const FREE_BASES: usize = 3;
/// The lanes of the last iterations.
pub(super) const TAIL: u8 = 1;
/// The lanes that trapped.
const TRAPPED: u8 = 2;

/// A loop, or a stage of one.
pub(super) struct Shape<'k> {
    pub(super) kernel: &'k Kernel,
    pub(super) counter: Reg,
    /// The bytes of a vector.
    pub(super) width: usize,
    /// How many iterations a vector does.
    pub(super) lanes: usize,
    pub(super) items: Vec<&'k Stmt>,
    /// What comes from tiles.
    pub(super) reads: Vec<Reg>,
    /// What goes to tiles.
    pub(super) writes: Vec<Reg>,
    pub(super) accumulators: Vec<Accumulator>,
    pub(super) traps: bool,
    pub(super) trip: Option<i64>,
}

/// A variable that the loop reduces.
pub(super) struct Accumulator {
    pub(super) reg: Reg,
    pub(super) op: BinaryOp,
    /// What changes nothing.
    pub(super) identity: Scalar,
    /// Where it is among the results, in bytes.
    pub(super) place: i32,
}

/// What the caller passes in a block of eight bytes each.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Slot {
    /// An address, at counter 0.
    Base(Addr),
    /// The address of the tile of a register, at counter 0.
    Tile(Reg),
    /// A value.
    Splat(Reg),
    /// The address of the results of the accumulators.
    Results,
}

/// The code of a loop, and what it is called with.
pub(super) struct Code {
    pub(super) bytes: Vec<u8>,
    pub(super) slots: Vec<Slot>,
}

/// A value that does not change in the loop.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Uniform {
    /// Bits of an element and its size.
    Const(u64, usize),
    Splat(Reg),
    /// Multiples of a step, and the size of an element.
    Steps(i64, usize),
}

/// Where a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Loc {
    /// In a vector register.
    Vector(u8),
    /// In a mask register.
    Mask(u8),
}

/// Code under construction.
pub(super) struct Emitter<'s, 'k> {
    pub(super) shape: &'s Shape<'k>,
    pub(super) asm: Asm,
    pub(super) slots: Vec<Slot>,
    pub(super) hoisted: FxHashMap<Uniform, u8>,
    /// How often values that do not change are used from memory.
    pub(super) wanted: FxHashMap<Uniform, u32>,
    free_vectors: u64,
    most_vectors: u32,
    free_masks: u8,
    pub(super) values: FxHashMap<Reg, Loc>,
    /// In use until the end of the statement.
    temporary: Vec<Loc>,
    /// The statement that uses a register last.
    last_use: FxHashMap<Reg, usize>,
    /// Registers that only become the value of an accumulator.
    set_only: FxHashMap<Reg, Reg>,
    /// The first of the iterations, after the counter.
    pub(super) ahead: i64,
    /// Whether these are the last iterations, not all of them real.
    pub(super) tail: bool,
    /// The number of the statement.
    at: usize,
}

pub(super) const fn float(ty: ScalarType, opcode: u8) -> Ins {
    match ty {
        ScalarType::F64 => Ins::new(Map::A, Pp::P66, true, opcode),
        _ => Ins::new(Map::A, Pp::None, false, opcode),
    }
}

/// Makes the code of a loop, unless there is something in it that has none.
pub(super) fn build(shape: &Shape<'_>) -> Option<Code> {
    let vectors = if shape.width == 64 { 32 } else { 16 };
    let mut survey = Emitter::new(shape);
    survey.start(1)?;
    survey.body(0, false)?;
    survey.body(0, true)?;
    let mut uniforms: Vec<(Uniform, u32)> = survey.wanted.iter().map(|(u, n)| (*u, *n)).collect();
    uniforms.sort_by_key(|(uniform, count)| (std::cmp::Reverse(*count), format!("{uniform:?}")));
    // In a loop that runs once, values are as good in memory.
    if shape.trip.is_some_and(|trip| trip <= shape.lanes as i64) {
        uniforms.clear();
    }
    let most = match (shape.items.len(), shape.accumulators.is_empty()) {
        (0..=12, _) | (0..=16, false) => 4,
        (0..=32, _) => 2,
        _ => 1,
    };
    [4, 2, 1].into_iter().filter(|copies| *copies <= most).find_map(|copies| {
        let short = shape.trip.is_some_and(|trip| trip < (copies * shape.lanes) as i64);
        if short && copies > 1 {
            return None;
        }
        let more = shape.accumulators.len() * (copies - 1);
        let used = survey.most_vectors as usize + more;
        let spare = (vectors as usize).checked_sub(used)?.min(uniforms.len());
        let mut emitter = Emitter::new(shape);
        emitter.slots.clone_from(&survey.slots);
        emitter.all(copies, &uniforms[..spare])?;
        (emitter.most_vectors <= vectors && emitter.asm.complete)
            .then(|| Code { bytes: emitter.asm.finish(), slots: emitter.slots })
    })
}

impl<'s, 'k> Emitter<'s, 'k> {
    fn new(shape: &'s Shape<'k>) -> Self {
        let mut last_use = FxHashMap::default();
        let mut uses: FxHashMap<Reg, usize> = FxHashMap::default();
        for (n, stmt) in shape.items.iter().enumerate() {
            for reg in captures(std::slice::from_ref(*stmt)).regs {
                last_use.insert(reg, n);
                *uses.entry(reg).or_default() += 1;
            }
        }
        for reg in &shape.writes {
            last_use.insert(*reg, usize::MAX);
            *uses.entry(*reg).or_default() += 1;
        }
        let set_only = shape.items.iter().filter_map(|stmt| match stmt {
            Stmt::Set(to, Operand::Reg(reg)) if uses[reg] == 1 => Some((*reg, *to)),
            _ => None,
        });
        let trapped = if shape.traps { 0 } else { 1 << TRAPPED };
        let halved = shape.width == 32;
        Emitter {
            shape,
            asm: Asm::new(shape.width, shape.lanes),
            slots: Vec::new(),
            hoisted: FxHashMap::default(),
            wanted: FxHashMap::default(),
            free_vectors: if halved { !RESERVED | trapped } else { u64::MAX },
            most_vectors: 0,
            free_masks: 0b1111_1000 | trapped as u8,
            values: FxHashMap::default(),
            temporary: Vec::new(),
            last_use,
            set_only: set_only.collect(),
            ahead: 0,
            tail: false,
            at: 0,
        }
    }

    /// The function: its beginning, the loops and its end.
    fn all(&mut self, copies: usize, hoisted: &[(Uniform, u32)]) -> Option<()> {
        let saved = self.bases().min(BASES.len()).saturating_sub(FREE_BASES);
        let saved = &BASES[FREE_BASES..FREE_BASES + saved];
        saved.iter().for_each(|reg| self.asm.push(*reg));
        for (slot, base) in self.slots.clone().iter().enumerate() {
            if let Some(base) = self.base_register(slot).filter(|_| is_base(base)) {
                self.asm.load(base, RDI, 8 * slot as i32);
            }
        }
        let accumulators = self.start(copies)?;
        for (uniform, _) in hoisted {
            let to = self.new_vector();
            self.fetch(*uniform, to);
            self.hoisted.insert(*uniform, to);
        }
        let lanes = self.shape.lanes as i64;
        let whole = self.shape.trip.is_some_and(|trip| trip % (lanes * copies as i64) == 0);
        self.repeat(copies, &accumulators)?;
        if copies > 1 && !whole {
            self.repeat(1, &accumulators)?;
        }
        if self.shape.trip.is_none_or(|trip| trip % lanes != 0) {
            self.rest(&accumulators)?;
        }
        self.end(&accumulators)?;
        saved.iter().rev().for_each(|reg| self.asm.pop(*reg));
        self.asm.leave();
        Some(())
    }

    /// Full vectors, some at a time.
    fn repeat(&mut self, copies: usize, accumulators: &[Vec<Loc>]) -> Option<()> {
        let step = (self.shape.lanes * copies) as i32;
        self.asm.lea(R11, RDX, 1 - step);
        self.asm.compare(RSI, R11);
        let skip = self.asm.jump(Jump::NotLess, None);
        let top = self.asm.here();
        for (copy, accumulators) in accumulators.iter().enumerate().take(copies) {
            self.adopt(accumulators);
            self.body(copy, false)?;
        }
        self.asm.lea(RSI, RSI, step);
        self.asm.compare(RSI, R11);
        self.asm.jump(Jump::Less, Some(top));
        self.asm.land(skip);
        Some(())
    }

    /// The iterations that do not fill a vector.
    fn rest(&mut self, accumulators: &[Vec<Loc>]) -> Option<()> {
        self.asm.copy(RCX, RDX);
        self.asm.subtract(RCX, RSI);
        self.asm.compare(RSI, RDX);
        let skip = self.asm.jump(Jump::NotLess, None);
        self.asm.tail(TAIL);
        self.adopt(&accumulators[0]);
        self.body(0, true)?;
        self.asm.land(skip);
        Some(())
    }

    /// Brings the copies of the accumulators together, and leaves them and the traps.
    fn end(&mut self, accumulators: &[Vec<Loc>]) -> Option<()> {
        let shape = self.shape;
        for (n, accumulator) in shape.accumulators.iter().enumerate() {
            let ty = shape.kernel.regs[accumulator.reg];
            let first = accumulators[0][n];
            for copy in &accumulators[1..] {
                let total = self.combine(accumulator.op, ty, first, copy[n])?;
                if total != first {
                    self.take(first, total);
                    self.release(total);
                }
                self.settle();
            }
            self.leave_result(accumulator, ty, first)?;
            self.settle();
        }
        if shape.traps {
            self.asm.bits_of(RAX, TRAPPED);
            self.asm.keep_bits((1 << shape.lanes) - 1);
        } else {
            self.asm.clear_result();
        }
        Some(())
    }

    /// Gives the accumulators their registers and first values.
    fn start(&mut self, copies: usize) -> Option<Vec<Vec<Loc>>> {
        let shape = self.shape;
        if shape.traps {
            self.asm.mask(0x47, TRAPPED, Some(TRAPPED), TRAPPED);
        }
        let mut all = Vec::new();
        for _ in 0..copies {
            let mut locs = Vec::new();
            for accumulator in &shape.accumulators {
                let ty = shape.kernel.regs[accumulator.reg];
                let loc = self.new_loc(ty)?;
                match loc {
                    Loc::Vector(to) => self.fetch(constant(accumulator.identity), to),
                    Loc::Mask(to) => {
                        let truth = accumulator.identity == Scalar::Bool(true);
                        self.asm.mask(if truth { 0x46 } else { 0x47 }, to, Some(to), to);
                    }
                }
                locs.push(loc);
                self.settle();
            }
            all.push(locs);
        }
        if !shape.accumulators.is_empty() {
            self.slot(&Slot::Results);
        }
        self.adopt(&all[0]);
        Some(all)
    }

    /// Brings the lanes of an accumulator together and leaves it; of a condition, its bits.
    fn leave_result(&mut self, accumulator: &Accumulator, ty: ScalarType, loc: Loc) -> Option<()> {
        let Loc::Vector(all) = loc else {
            let Loc::Mask(bits) = loc else { return None };
            let base = self.base(&Slot::Results);
            self.asm.bits_of(RCX, bits);
            self.asm.store_short(RCX, base, accumulator.place);
            return Some(());
        };
        let halves = Ins::new(Map::C, Pp::P66, true, 0x23);
        let short = Ins::new(Map::A, Pp::P66, false, 0x70);
        // Swaps halves, quarters, then what is in a quarter; unused lanes are combined in vain.
        let swaps = [(halves, 0x4e, 64), (halves, 0xb1, 32), (short, 0x4e, 16), (short, 0xb1, 8)];
        for (ins, order, span) in swaps {
            if span > self.bytes(ty) || span < 2 * lane_size(ty) {
                continue;
            }
            let other = self.temporary();
            let operands = if span > 16 { [other, all] } else { [other, 0] };
            self.asm.vector(ins, self.shape.width, Under::All, operands, Rm::Reg(all), Some(order));
            let total = self.combine(accumulator.op, ty, loc, Loc::Vector(other))?;
            if total != loc {
                self.take(loc, total);
                self.release(total);
            }
        }
        let place = self.result(accumulator);
        let ins = float(ScalarType::F32, 0x11);
        self.asm.vector(ins, 16, Under::All, [all, 0], place, None);
        Some(())
    }

    /// The place of an accumulator among the results.
    fn result(&mut self, accumulator: &Accumulator) -> Rm {
        let base = self.base(&Slot::Results);
        Rm::Mem { base, index: None, disp: accumulator.place, broadcast: false }
    }

    fn adopt(&mut self, accumulators: &[Loc]) {
        for (accumulator, loc) in self.shape.accumulators.iter().zip(accumulators) {
            self.values.insert(accumulator.reg, *loc);
        }
    }

    /// The body for a vector of iterations.
    fn body(&mut self, copy: usize, tail: bool) -> Option<()> {
        let shape = self.shape;
        self.ahead = (copy * shape.lanes) as i64;
        self.tail = tail;
        for reg in &shape.reads {
            let ty = shape.kernel.regs[*reg];
            let loc = self.new_loc(ty)?;
            let place = self.tile(*reg);
            self.restore(ty, loc, place, self.real_or_zero());
            self.values.insert(*reg, loc);
            self.settle();
        }
        for (n, stmt) in shape.items.iter().enumerate() {
            self.at = n;
            self.stmt(stmt)?;
            self.settle();
            for reg in captures(std::slice::from_ref(*stmt)).regs {
                let pinned = shape.accumulators.iter().any(|it| it.reg == reg);
                if self.last_use.get(&reg) == Some(&n) && !pinned {
                    self.drop_value(reg);
                }
            }
        }
        for reg in &shape.writes {
            let loc = *self.values.get(reg)?;
            let place = self.tile(*reg);
            self.keep(shape.kernel.regs[*reg], loc, place, self.real());
            self.settle();
        }
        let left: Vec<Reg> = self.values.keys().copied().collect();
        for reg in left {
            if !shape.accumulators.iter().any(|it| it.reg == reg) {
                self.drop_value(reg);
            }
        }
        Some(())
    }

    fn stmt(&mut self, stmt: &Stmt) -> Option<()> {
        match stmt {
            Stmt::Let(reg, op) => {
                let loc = self.op(op, *reg)?;
                self.values.insert(*reg, loc);
                if !self.last_use.contains_key(reg) {
                    self.drop_value(*reg);
                }
            }
            Stmt::Set(reg, value) => {
                let accumulator = *self.values.get(reg)?;
                let value = self.loc(*value, self.shape.kernel.regs[*reg])?;
                self.take_real(accumulator, value)?;
            }
            Stmt::Store(addr, value) => self.store(addr, *value)?,
            Stmt::Trap(condition) => {
                let mut trapped = self.mask(*condition)?;
                if self.tail {
                    let real = self.temporary_mask()?;
                    self.asm.mask(0x41, real, Some(trapped), TAIL);
                    trapped = real;
                }
                self.asm.mask(0x45, TRAPPED, Some(TRAPPED), trapped);
            }
            Stmt::Var(..) | Stmt::For(_) | Stmt::If(..) | Stmt::Gemm(_) => return None,
        }
        Some(())
    }

    /// The register in which a value should be computed: that of the accumulator it becomes, if
    /// all lanes are real.
    pub(super) fn target(&mut self, reg: Reg) -> u8 {
        let accumulator = self.set_only.get(&reg).and_then(|to| self.values.get(to));
        match accumulator {
            Some(Loc::Vector(to)) if !self.tail => *to,
            _ => self.new_vector(),
        }
    }

    // Registers.

    pub(super) fn new_vector(&mut self) -> u8 {
        let n = self.free_vectors.trailing_zeros().min(63);
        self.free_vectors &= !(1 << n);
        self.most_vectors = self.most_vectors.max(self.free_vectors.count_zeros());
        n as u8
    }

    /// A register for a condition: with short vectors it is one of theirs.
    pub(super) fn new_mask(&mut self) -> Option<u8> {
        if self.shape.width == 32 {
            return Some(self.new_vector());
        }
        let n = self.free_masks.trailing_zeros();
        (n < 8).then(|| self.free_masks &= !(1 << n)).map(|()| n as u8)
    }

    fn new_loc(&mut self, ty: ScalarType) -> Option<Loc> {
        if ty.is_bool() {
            self.new_mask().map(Loc::Mask)
        } else {
            Some(Loc::Vector(self.new_vector()))
        }
    }

    pub(super) fn temporary(&mut self) -> u8 {
        let n = self.new_vector();
        self.temporary.push(Loc::Vector(n));
        n
    }

    pub(super) fn temporary_mask(&mut self) -> Option<u8> {
        let n = self.new_mask()?;
        self.temporary.push(Loc::Mask(n));
        Some(n)
    }

    /// Frees what was needed for a statement only.
    fn settle(&mut self) {
        for loc in std::mem::take(&mut self.temporary) {
            self.release(loc);
        }
    }

    /// Frees a register.
    pub(super) fn release(&mut self, loc: Loc) {
        match loc {
            Loc::Vector(n) => self.free_vectors |= 1 << n,
            Loc::Mask(n) if self.shape.width == 32 => self.free_vectors |= 1 << n,
            Loc::Mask(n) => self.free_masks |= 1 << n,
        }
    }

    fn drop_value(&mut self, reg: Reg) {
        let Some(loc) = self.values.remove(&reg) else { return };
        let accumulates =
            self.shape.accumulators.iter().any(|it| self.values.get(&it.reg) == Some(&loc));
        if !accumulates {
            self.release(loc);
        }
    }

    /// Takes over the register of an operand that is used here for the last time.
    pub(super) fn inherit(&mut self, operand: Operand) -> Option<u8> {
        let Operand::Reg(reg) = operand else { return None };
        let Some(Loc::Vector(n)) = self.values.get(&reg).copied() else { return None };
        let accumulates = self.shape.accumulators.iter().any(|it| it.reg == reg);
        (!accumulates && self.last_use.get(&reg) == Some(&self.at)).then(|| {
            self.values.remove(&reg);
            n
        })
    }

    /// Lets an accumulator take a value, in the lanes that are real.
    fn take_real(&mut self, to: Loc, from: Loc) -> Option<()> {
        match (to, from) {
            _ if to == from => {}
            (Loc::Vector(to), Loc::Vector(from)) => {
                // Which lanes there are depends on the size; moves of accumulators are of either.
                self.move_real(to, from);
            }
            (Loc::Mask(to), Loc::Mask(from)) if self.tail => {
                let real = self.temporary_mask()?;
                self.asm.mask(0x41, real, Some(from), TAIL);
                self.asm.mask(0x42, to, Some(TAIL), to);
                self.asm.mask(0x45, to, Some(to), real);
            }
            _ => self.take(to, from),
        }
        Some(())
    }

    fn move_real(&mut self, to: u8, from: u8) {
        let reg = self
            .shape
            .accumulators
            .iter()
            .find(|it| self.values.get(&it.reg) == Some(&Loc::Vector(to)));
        let ty = reg.map_or(ScalarType::F32, |it| self.shape.kernel.regs[it.reg]);
        let ins = float(if is_wide(ty) { ScalarType::F64 } else { ScalarType::F32 }, 0x28);
        self.asm.vector(ins, self.bytes(ty), self.real(), [to, 0], Rm::Reg(from), None);
    }

    /// Copies a register.
    fn take(&mut self, to: Loc, from: Loc) {
        match (to, from) {
            (Loc::Mask(to), Loc::Mask(from)) => self.asm.mask(0x90, to, None, from),
            (Loc::Vector(to), Loc::Vector(from)) => self.copy(to, from),
            _ => {}
        }
    }

    /// Copies a whole vector.
    pub(super) fn copy(&mut self, to: u8, from: u8) {
        if to != from {
            let ins = float(ScalarType::F32, 0x28);
            self.asm.vector(ins, self.shape.width, Under::All, [to, 0], Rm::Reg(from), None);
        }
    }

    fn op(&mut self, op: &Op, reg: Reg) -> Option<Loc> {
        let ty = self.shape.kernel.regs[reg];
        self.operation(op, reg, ty)
    }
}
