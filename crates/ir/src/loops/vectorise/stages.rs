//! Cuts the body of a vector loop into what is done once, stages, and elementary functions between them.

use crate::cost::Cost;
use crate::loops::abilities::{
    has_binary, has_cast, has_overflow, has_unary, is_half, is_wide, shift, short_exponent,
};
use crate::loops::stages::{Access, Call, Kept, Source, Stages, defined, stored};
use crate::loops::{Addr, Buf, For, Kernel, Op, Operand, Reg, Stmt, captures};
use ein_scalar::{BinaryOp, ScalarType};
use rustc_hash::{FxHashMap, FxHashSet};

/// The shortest loops that have lanes: those of one vector of 128 bits.
const SHORTEST: i64 = 4;

/// How many instructions the call of a loop over the longest vectors takes, with what is passed and
/// comes back.
const CALL: i64 = 24;

/// The lengths of tiles.
const TILES: [i64; 5] = [256, 128, 64, 32, 16];

/// The shape of a loop while its stages are found.
struct Planner<'k> {
    kernel: &'k Kernel,
    inner: &'k For,
    varying: FxHashSet<Reg>,
    stored: FxHashSet<Buf>,
    /// The stage from which on a register is known.
    stage: FxHashMap<Reg, usize>,
    /// Loads that may be repeated in any stage, with their statements.
    repeatable: FxHashMap<Reg, usize>,
    stages: Stages,
}

/// The stages of a loop, if lanes pay where most vectors are short.
pub(super) fn find(
    kernel: &Kernel,
    inner: &For,
    reductions: &[(Reg, BinaryOp)],
    cost: Cost,
) -> Option<Stages> {
    let extent = inner.extent();
    if extent.is_some_and(|extent| extent < SHORTEST) {
        return None;
    }
    let mut planner = Planner {
        kernel,
        inner,
        varying: reductions.iter().map(|(reg, _)| *reg).chain([inner.var]).collect(),
        stored: inner.body.iter().filter_map(stored).collect(),
        stage: FxHashMap::default(),
        repeatable: FxHashMap::default(),
        stages: Stages::default(),
    };
    planner.sort()?;
    planner.direct();
    planner.repeat();
    let kept = planner.stages.kept(inner, |reg| kernel.regs[reg].is_float());
    planner.share(&kept);
    planner.weigh(reductions)?;
    planner.lengths(&kept, extent, cost);
    Some(planner.stages)
}

impl Planner<'_> {
    /// Sorts the statements into what is done once, the stages and the calls.
    fn sort(&mut self) -> Option<()> {
        let mut touched: FxHashMap<Buf, usize> = FxHashMap::default();
        for (n, stmt) in self.inner.body.iter().enumerate() {
            let used = captures(std::slice::from_ref(stmt));
            let known = used.regs.iter().filter_map(|reg| self.stage.get(reg));
            let mut stage = known.copied().max().unwrap_or(0);
            match stmt {
                Stmt::Let(reg, op) => {
                    let own = used.bufs.iter().any(|buf| self.stored.contains(buf));
                    if !own && !used.regs.iter().any(|reg| self.varying.contains(reg)) {
                        self.stages.once.push(n);
                        continue;
                    }
                    self.varying.insert(*reg);
                    if let Op::Load(addr) = op {
                        if own {
                            stage = stage.max(touched.get(&addr.buf).copied().unwrap_or(0));
                            touched.insert(addr.buf, stage);
                        } else if self.access(addr) == Access::Contiguous {
                            self.repeatable.insert(*reg, n);
                            continue;
                        }
                    }
                    if let Some(operands) = self.arguments(op, self.kernel.regs[*reg]) {
                        let inputs = operands.into_iter().map(|it| self.input(it)).collect();
                        let output = Source::Tile(*reg);
                        self.stages.calls.push(Call { stage, stmt: n, inputs, output });
                        self.stage.insert(*reg, stage + 1);
                        continue;
                    }
                    self.stage.insert(*reg, stage);
                }
                Stmt::Trap(operand) => {
                    if !as_reg(*operand).is_some_and(|reg| self.varying.contains(&reg)) {
                        self.stages.once.push(n);
                        continue;
                    }
                }
                Stmt::Store(addr, _) => {
                    stage = stage.max(touched.get(&addr.buf).copied().unwrap_or(0));
                    touched.insert(addr.buf, stage);
                }
                Stmt::Set(..) => {}
                Stmt::Var(..) | Stmt::For(_) | Stmt::If(..) | Stmt::Gemm(_) => return None,
            }
            self.stages.work.push((stage, n));
        }
        Some(())
    }

    /// Lets calls leave their results where they are stored, if nothing else is there.
    fn direct(&mut self) {
        let body = &self.inner.body;
        for i in 0..self.stages.calls.len() {
            let Source::Tile(result) = self.stages.calls[i].output else { continue };
            let ty = self.kernel.regs[result];
            let used = |stmt: &Stmt| captures(std::slice::from_ref(stmt));
            let users: Vec<usize> =
                (0..body.len()).filter(|n| used(&body[*n]).regs.contains(&result)).collect();
            let [user] = users[..] else { continue };
            let Stmt::Store(addr, Operand::Reg(stored)) = &body[user] else { continue };
            let alone = body.iter().filter(|stmt| used(stmt).bufs.contains(&addr.buf)).count() == 1;
            if *stored == result
                && alone
                && !is_half(ty)
                && self.kernel.bufs[addr.buf].ty == ty
                && self.access(addr) == Access::Contiguous
            {
                self.stages.calls[i].output = Source::Memory(user);
                self.stages.work.retain(|(_, n)| *n != user);
            }
        }
    }

    /// Repeats loads where they are used.
    fn repeat(&mut self) {
        let mut loads: Vec<(usize, usize)> = Vec::new();
        for (stage, n) in &self.stages.work {
            let used = captures(std::slice::from_ref(&self.inner.body[*n])).regs;
            let repeated = used.iter().filter_map(|reg| self.repeatable.get(reg));
            loads.extend(repeated.map(|load| (*stage, *load)));
        }
        for call in &self.stages.calls {
            for input in &call.inputs {
                if let Source::Tile(reg) = input
                    && let Some(load) = self.repeatable.get(reg)
                {
                    loads.push((call.stage, *load));
                }
            }
        }
        self.stages.work.extend(loads);
        self.stages.work.sort_unstable();
        self.stages.work.dedup();
    }

    /// Lets the result of a function take the place of its first argument, if that was the last
    /// use of it.
    fn share(&mut self, kept: &Kept) {
        let calls = &self.stages.calls;
        for call in calls {
            let (Source::Tile(result), Some(Source::Tile(input))) =
                (&call.output, call.inputs.first())
            else {
                continue;
            };
            let uses = calls.iter().flat_map(|call| &call.inputs);
            let uses = uses.filter(|it| matches!(it, Source::Tile(reg) if reg == input)).count();
            let later = kept.reads.iter().any(|(stage, reg)| reg == input && *stage > call.stage);
            if uses == 1 && !later {
                self.stages.shared.push((*result, *input));
            }
        }
    }

    /// Decides whether lanes pay, and how many copies of the body there are.
    fn weigh(&mut self, reductions: &[(Reg, BinaryOp)]) -> Option<()> {
        let (mut apart, mut together, mut wide) = (0, 0, false);
        for (_, n) in &self.stages.work {
            let stmt = &self.inner.body[*n];
            wide |= defined(stmt).is_some_and(|reg| is_wide(self.kernel.regs[reg]));
            if self.has_lanes(stmt) { together += 1 } else { apart += 1 }
        }
        if self.stages.calls.is_empty() && apart >= together {
            return None;
        }
        let per_stage = self.stages.work.len() / (self.stages.last() + 1);
        let copies = match (per_stage, reductions.is_empty()) {
            (0..=4, false) => 8,
            (0..=6, _) | (0..=16, false) => 4,
            (0..=20, true) | (0..=40, false) => 2,
            _ => 1,
        };
        self.stages.copies = if wide && copies > 1 { copies / 2 } else { copies };
        Some(())
    }

    /// Decides how long tiles are, and whether a loop over the longest vectors is called.
    fn lengths(&mut self, kept: &Kept, extent: Option<i64>, cost: Cost) {
        let size = |reg: &Reg| if is_wide(self.kernel.regs[*reg]) { 8 } else { 4 };
        if !self.stages.calls.is_empty() {
            let per_element: i64 = kept.tiles.iter().map(size).sum();
            let fits = |length: &i64| length * per_element <= cost.tile_bytes();
            self.stages.tile = TILES.into_iter().find(fits).unwrap_or(TILES[TILES.len() - 1]);
        }
        let small = |operand: Operand| match operand {
            Operand::Const(value) => value.as_i64().is_some_and(|it| i32::try_from(it).is_ok()),
            Operand::Reg(_) => false,
        };
        let counted = !kept.counts || small(self.inner.lo) && small(self.inner.hi);
        let longer = cost.vector_bytes() / 16;
        let lanes = cost.vector_bytes() / self.longest();
        if counted && longer > 1 && extent.is_none_or(|it| self.pays(it, lanes, longer)) {
            self.stages.lanes = lanes as usize;
        }
    }

    /// The bytes of a lane: 8 if the loop has elements or values of as many besides its counter.
    fn longest(&self) -> i64 {
        let (regs, bufs) = (&self.kernel.regs, &self.kernel.bufs);
        let long = self.inner.body.iter().any(|stmt| match stmt {
            Stmt::Let(reg, Op::Cast(Operand::Reg(from))) if *from == self.inner.var => {
                is_wide(regs[*reg])
            }
            Stmt::Let(reg, Op::Load(_)) => is_wide(regs[*reg]),
            Stmt::Let(reg, _) => {
                let uses = captures(std::slice::from_ref(stmt)).regs;
                is_wide(regs[*reg]) || uses.iter().any(|used| is_wide(regs[*used]))
            }
            Stmt::Store(addr, _) => is_wide(bufs[addr.buf].ty),
            Stmt::Set(reg, _) => is_wide(regs[*reg]),
            Stmt::Var(..) | Stmt::For(_) | Stmt::If(..) | Stmt::Gemm(_) | Stmt::Trap(_) => false,
        });
        if long { 8 } else { 4 }
    }

    /// Whether vectors of 16 bytes would take more instructions than a call does: they take as many
    /// times as many as longer ones as they are shorter, and some for each piece of a tile.
    fn pays(&self, extent: i64, lanes: i64, longer: i64) -> bool {
        let weight = |(_, n): &(usize, usize)| match &self.inner.body[*n] {
            Stmt::Let(reg, Op::Binary(BinaryOp::Min | BinaryOp::Max, ..))
                if self.kernel.regs[*reg].is_float() =>
            {
                8
            }
            _ => 1,
        };
        let weight: i64 = self.stages.work.iter().map(weight).sum();
        let saved = weight.saturating_mul(extent / lanes).saturating_mul(longer - 1);
        extent >= lanes && (!self.stages.calls.is_empty() || saved >= CALL)
    }

    fn access(&self, addr: &Addr) -> Access {
        addr.access(self.inner.var, |reg| self.varying.contains(&reg))
    }

    /// The operands of an operation that is computed on tiles.
    fn arguments(&self, op: &Op, ty: ScalarType) -> Option<Vec<Operand>> {
        match op {
            Op::Unary(op, a) if ty.is_float() && op.is_elementary() => Some(vec![*a]),
            Op::Binary(op @ (BinaryOp::Pow | BinaryOp::Atan2), a, b)
                if ty.is_float() && !(*op == BinaryOp::Pow && short_exponent(*b).is_some()) =>
            {
                // An exponent that is an integer takes another way.
                (self.operand_type(*b) == ty).then(|| vec![*a, *b])
            }
            _ => None,
        }
    }

    fn operand_type(&self, operand: Operand) -> ScalarType {
        match operand {
            Operand::Reg(reg) => self.kernel.regs[reg],
            Operand::Const(value) => value.ty(),
        }
    }

    fn input(&self, operand: Operand) -> Source {
        let Some(reg) = as_reg(operand).filter(|reg| self.varying.contains(reg)) else {
            return Source::Fill(operand);
        };
        match self.repeatable.get(&reg) {
            Some(load) if !is_half(self.kernel.regs[reg]) => Source::Memory(*load),
            _ => Source::Tile(reg),
        }
    }

    /// Whether a statement has vector instructions.
    fn has_lanes(&self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Let(_, Op::Load(addr)) | Stmt::Store(addr, _) => {
                self.access(addr) != Access::Apart
            }
            Stmt::Let(_, Op::Unary(op, a)) => has_unary(*op, self.operand_type(*a)),
            Stmt::Let(_, Op::Binary(op, a, b)) => {
                has_binary(*op, self.operand_type(*a))
                    || shift(*op, *b).is_some()
                    || *op == BinaryOp::Pow
                        && self.operand_type(*a).is_float()
                        && short_exponent(*b).is_some()
            }
            Stmt::Let(_, Op::Overflows(op, a, _)) => has_overflow(*op, self.operand_type(*a)),
            Stmt::Let(reg, Op::Cast(a)) => {
                as_reg(*a) == Some(self.inner.var)
                    || has_cast(self.operand_type(*a), self.kernel.regs[*reg])
            }
            Stmt::Let(_, Op::Copy(_) | Op::MulAdd(..) | Op::NearRsqrt(_) | Op::Select(..)) => true,
            Stmt::Set(..) | Stmt::Trap(_) => true,
            Stmt::Var(..) | Stmt::For(_) | Stmt::If(..) | Stmt::Gemm(_) => false,
        }
    }
}

/// The operand as a register.
fn as_reg(operand: Operand) -> Option<Reg> {
    match operand {
        Operand::Reg(reg) => Some(reg),
        Operand::Const(_) => None,
    }
}
