//! What a vector loop does before, in and between its stages.

use super::{as_reg, power};
use crate::arith::{has_vector_binary, has_vector_unary};
use crate::convert::has_vector_cast;
use crate::integer::{self, has_vector_overflow};
use crate::ops::{is_half, is_wide};
use crate::tiles::TileFn;
use ein_ir::loops::{Addr, Buf, Captures, For, Kernel, Op, Operand, Reg, Stmt, captures};
use ein_scalar::{BinaryOp, ScalarType};
use rustc_hash::{FxHashMap, FxHashSet};

/// How the lanes of an access lie.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// One after another.
    Contiguous,
    /// All at one place.
    Same,
    /// Anywhere.
    Apart,
}

/// Where a function finds or leaves a tile.
#[derive(Clone)]
pub(crate) enum Source<'k> {
    /// In the tile of a register.
    Tile(Reg),
    /// In a buffer, one element after another.
    Memory(&'k Addr),
    /// In a tile of one value.
    Fill(Operand),
}

/// A function on tiles, called after a stage.
#[derive(Clone)]
pub(crate) struct Call<'k> {
    pub(super) stage: usize,
    pub(super) function: TileFn,
    pub(super) double: bool,
    pub(super) inputs: Vec<Source<'k>>,
    pub(super) output: Source<'k>,
}

/// The plan of a loop.
pub(crate) struct Plan<'k> {
    body: &'k [Stmt],
    /// What is done once.
    pub(super) uniform: Vec<&'k Stmt>,
    /// What is done for each element: the stage and the number of the statement, in order.
    work: Vec<(usize, usize)>,
    pub(crate) calls: Vec<Call<'k>>,
    /// What calls give.
    results: FxHashSet<Reg>,
    /// Registers kept in tiles, in order of definition.
    pub(super) tiles: Vec<Reg>,
    /// Tiles that take the place of another, which is of no use any more.
    pub(super) shared: FxHashMap<Reg, Reg>,
    reads: Vec<(usize, Reg)>,
    writes: Vec<(usize, Reg)>,
    /// Registers of outside that are used in lanes.
    pub(super) splats: Vec<Reg>,
    /// Whether something may trap.
    pub(super) traps: bool,
    /// Whether the counter becomes a float.
    pub(super) counts: bool,
    /// How many copies of the body there are in the loop over lanes.
    pub(super) copies: usize,
    worthwhile: bool,
}

/// The shape of a loop while its plan is made.
struct Planner<'k> {
    kernel: &'k Kernel,
    counter: Reg,
    varying: FxHashSet<Reg>,
    stored: FxHashSet<Buf>,
    /// The stage from which on a register is known.
    stage: FxHashMap<Reg, usize>,
    /// Loads that may be repeated in any stage, with their statements.
    repeatable: FxHashMap<Reg, (usize, &'k Addr)>,
}

impl<'k> Plan<'k> {
    pub(crate) fn of(kernel: &'k Kernel, inner: &'k For, reductions: &[(Reg, BinaryOp)]) -> Self {
        let mut planner = Planner {
            kernel,
            counter: inner.var,
            varying: reductions.iter().map(|(reg, _)| *reg).chain([inner.var]).collect(),
            stored: inner.body.iter().filter_map(stored_buffer).collect(),
            stage: FxHashMap::default(),
            repeatable: FxHashMap::default(),
        };
        let mut plan = Plan {
            body: &inner.body,
            uniform: Vec::new(),
            work: Vec::new(),
            calls: Vec::new(),
            results: FxHashSet::default(),
            tiles: Vec::new(),
            shared: FxHashMap::default(),
            reads: Vec::new(),
            writes: Vec::new(),
            splats: Vec::new(),
            traps: false,
            counts: false,
            copies: 1,
            worthwhile: true,
        };
        plan.schedule(&mut planner);
        plan.keep(&planner, reductions);
        plan.weigh(&planner, reductions);
        plan
    }

    /// Sorts the statements into what is done once, the stages and the calls.
    fn schedule(&mut self, planner: &mut Planner<'k>) {
        let mut touched: FxHashMap<Buf, usize> = FxHashMap::default();
        for (n, stmt) in self.body.iter().enumerate() {
            let used = used(stmt);
            let mut stage = used
                .regs
                .iter()
                .filter_map(|reg| planner.stage.get(reg))
                .copied()
                .max()
                .unwrap_or(0);
            match stmt {
                Stmt::Let(reg, op) => {
                    let own = used.bufs.iter().any(|buf| planner.stored.contains(buf));
                    if !own && !used.regs.iter().any(|reg| planner.varying.contains(reg)) {
                        self.uniform.push(stmt);
                        continue;
                    }
                    planner.varying.insert(*reg);
                    if let Op::Load(addr) = op {
                        if own {
                            stage = stage.max(touched.get(&addr.buf).copied().unwrap_or(0));
                            touched.insert(addr.buf, stage);
                        } else if planner.access(addr) == Access::Contiguous {
                            planner.repeatable.insert(*reg, (n, addr));
                            continue;
                        }
                    }
                    if let Some((function, operands)) = planner.call(op, planner.kernel.regs[*reg])
                    {
                        let double = planner.kernel.regs[*reg] == ScalarType::F64;
                        let inputs =
                            operands.into_iter().map(|operand| planner.input(operand)).collect();
                        self.calls.push(Call {
                            stage,
                            function,
                            double,
                            inputs,
                            output: Source::Tile(*reg),
                        });
                        self.results.insert(*reg);
                        planner.stage.insert(*reg, stage + 1);
                        continue;
                    }
                    if let Op::Cast(operand) = op
                        && as_reg(*operand) == Some(planner.counter)
                    {
                        self.counts |= planner.kernel.regs[*reg].is_float();
                    }
                    planner.stage.insert(*reg, stage);
                }
                Stmt::Trap(operand) => {
                    if !as_reg(*operand).is_some_and(|reg| planner.varying.contains(&reg)) {
                        self.uniform.push(stmt);
                        continue;
                    }
                    self.traps = true;
                }
                Stmt::Store(addr, _) => {
                    stage = stage.max(touched.get(&addr.buf).copied().unwrap_or(0));
                    touched.insert(addr.buf, stage);
                }
                Stmt::Set(..) => {}
                Stmt::Var(..) | Stmt::For(_) | Stmt::If(..) | Stmt::Gemm(_) => {
                    // Not in the body of a vector loop; run such a body as it stands.
                    self.worthwhile = false;
                }
            }
            self.work.push((stage, n));
        }
        self.direct(planner);
    }

    /// Lets calls leave their results where they are stored, if nothing else is there.
    fn direct(&mut self, planner: &Planner<'k>) {
        for call in &mut self.calls {
            let Source::Tile(result) = call.output else { continue };
            let ty = planner.kernel.regs[result];
            let users: Vec<usize> = (0..self.body.len())
                .filter(|n| used(&self.body[*n]).regs.contains(&result))
                .collect();
            let [user] = users[..] else { continue };
            let Stmt::Store(addr, Operand::Reg(stored)) = &self.body[user] else { continue };
            let alone =
                self.body.iter().filter(|stmt| used(stmt).bufs.contains(&addr.buf)).count() == 1;
            if *stored == result
                && alone
                && !is_half(ty)
                && planner.kernel.bufs[addr.buf].ty == ty
                && planner.access(addr) == Access::Contiguous
            {
                call.output = Source::Memory(addr);
                self.work.retain(|(_, n)| *n != user);
            }
        }
    }

    /// Finds what goes from stage to stage, and repeats loads where they are used.
    fn keep(&mut self, planner: &Planner<'k>, reductions: &[(Reg, BinaryOp)]) {
        let mut loads: FxHashSet<(usize, usize)> = FxHashSet::default();
        let mut reads: FxHashSet<(usize, Reg)> = FxHashSet::default();
        let mut writes: FxHashSet<(usize, Reg)> = FxHashSet::default();
        let mut splats: FxHashSet<Reg> = FxHashSet::default();
        for (stage, n) in &self.work {
            for reg in used(&self.body[*n]).regs {
                if let Some((load, _)) = planner.repeatable.get(&reg) {
                    loads.insert((*stage, *load));
                } else if let Some(known) = planner.stage.get(&reg) {
                    let result = self.results.contains(&reg);
                    if result || known < stage {
                        reads.insert((*stage, reg));
                        if !result {
                            writes.insert((*known, reg));
                        }
                    }
                }
            }
            splats.extend(
                operands(&self.body[*n]).into_iter().filter(|reg| !planner.varying.contains(reg)),
            );
        }
        for call in &self.calls {
            for input in &call.inputs {
                let Source::Tile(reg) = input else { continue };
                if let Some((load, _)) = planner.repeatable.get(reg) {
                    loads.insert((call.stage, *load));
                    writes.insert((call.stage, *reg));
                } else if !self.results.contains(reg) {
                    writes.insert((planner.stage.get(reg).copied().unwrap_or(0), *reg));
                }
            }
        }
        self.work.extend(loads);
        self.work.sort_unstable();
        self.work.dedup();
        self.reads = reads.into_iter().collect();
        self.reads.sort_unstable();
        self.writes = writes.into_iter().collect();
        self.writes.sort_unstable();
        self.splats = splats.into_iter().collect();
        self.splats.sort_unstable();
        self.splats.retain(|reg| !reductions.iter().any(|(it, _)| it == reg));
        let mut kept: FxHashSet<Reg> = self.writes.iter().map(|(_, reg)| *reg).collect();
        kept.extend(self.calls.iter().filter_map(|call| match call.output {
            Source::Tile(reg) => Some(reg),
            Source::Memory(_) | Source::Fill(_) => None,
        }));
        self.tiles =
            self.body.iter().filter_map(defined).filter(|reg| kept.contains(reg)).collect();
        self.share();
    }

    /// Lets the result of a function take the place of its first argument, if that was the last
    /// use of it.
    fn share(&mut self) {
        for call in &self.calls {
            let (Source::Tile(result), Some(Source::Tile(input))) =
                (&call.output, call.inputs.first())
            else {
                continue;
            };
            let uses = self.calls.iter().flat_map(|call| &call.inputs);
            let calls = uses.filter(|it| matches!(it, Source::Tile(reg) if reg == input)).count();
            let later = self.reads.iter().any(|(stage, reg)| reg == input && *stage > call.stage);
            if calls == 1 && !later {
                self.shared.insert(*result, *input);
            }
        }
    }

    /// Decides whether lanes pay, and how many copies of the body there are.
    fn weigh(&mut self, planner: &Planner<'k>, reductions: &[(Reg, BinaryOp)]) {
        let (mut apart, mut together, mut wide) = (0, 0, false);
        for (_, n) in &self.work {
            let stmt = &self.body[*n];
            wide |= defined(stmt).is_some_and(|reg| is_wide(planner.kernel.regs[reg]));
            if planner.has_lanes(stmt) { together += 1 } else { apart += 1 }
        }
        if self.calls.is_empty() && apart >= together {
            self.worthwhile = false;
        }
        let per_stage = self.work.len() / (self.last_stage() + 1);
        let copies = match (per_stage, reductions.is_empty()) {
            (0..=4, false) => 8,
            (0..=6, _) | (0..=16, false) => 4,
            (0..=20, true) | (0..=40, false) => 2,
            _ => 1,
        };
        self.copies = if wide && copies > 1 { copies / 2 } else { copies };
    }

    /// Whether the loop should run in lanes.
    pub(super) fn is_worthwhile(&self) -> bool {
        self.worthwhile
    }

    /// The number of the last stage.
    pub(crate) fn last_stage(&self) -> usize {
        let work = self.work.iter().map(|(stage, _)| *stage);
        work.chain(self.calls.iter().map(|call| call.stage)).max().unwrap_or(0)
    }

    /// Whether there is anything to do in a stage.
    pub(super) fn has_work(&self, stage: usize) -> bool {
        self.work.iter().any(|(it, _)| *it == stage)
    }

    /// The numbers of the statements of a stage.
    pub(crate) fn items(&self, stage: usize) -> Vec<usize> {
        self.work.iter().filter(|(it, _)| *it == stage).map(|(_, n)| *n).collect()
    }

    /// A statement.
    pub(crate) fn stmt(&self, n: usize) -> &'k Stmt {
        &self.body[n]
    }

    /// The registers that a stage reads from tiles.
    pub(crate) fn reads(&self, stage: usize) -> Vec<Reg> {
        self.reads.iter().filter(|(it, _)| *it == stage).map(|(_, reg)| *reg).collect()
    }

    /// The registers that a stage writes to tiles.
    pub(crate) fn writes(&self, stage: usize) -> Vec<Reg> {
        self.writes.iter().filter(|(it, _)| *it == stage).map(|(_, reg)| *reg).collect()
    }

    /// Whether a register is what a call gives.
    pub(super) fn is_call(&self, reg: Reg) -> bool {
        self.results.contains(&reg)
    }

    /// How the lanes of an access lie.
    pub(super) fn access(addr: &Addr, counter: Reg, varies: impl Fn(Reg) -> bool) -> Access {
        let mut access = Access::Same;
        for (reg, factor) in &addr.terms {
            if *reg == counter {
                access = if *factor == 1 { Access::Contiguous } else { return Access::Apart };
            } else if varies(*reg) {
                return Access::Apart;
            }
        }
        access
    }
}

impl<'k> Planner<'k> {
    fn access(&self, addr: &Addr) -> Access {
        Plan::access(addr, self.counter, |reg| self.varying.contains(&reg))
    }

    /// The function on tiles that computes an operation, and its operands.
    fn call(&self, op: &Op, ty: ScalarType) -> Option<(TileFn, Vec<Operand>)> {
        match op {
            Op::Unary(op, a) if ty.is_float() && op.is_elementary() => {
                Some((TileFn::Unary(*op), vec![*a]))
            }
            Op::Binary(op @ (BinaryOp::Pow | BinaryOp::Atan2), a, b)
                if ty.is_float() && !(*op == BinaryOp::Pow && power::exponent(*b).is_some()) =>
            {
                // An exponent that is an integer takes another way.
                (self.operand_type(*b) == ty).then(|| (TileFn::Binary(*op), vec![*a, *b]))
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

    fn input(&self, operand: Operand) -> Source<'k> {
        let Some(reg) = as_reg(operand).filter(|reg| self.varying.contains(reg)) else {
            return Source::Fill(operand);
        };
        match self.repeatable.get(&reg) {
            Some((_, addr)) if !is_half(self.kernel.regs[reg]) => Source::Memory(addr),
            _ => Source::Tile(reg),
        }
    }

    /// Whether a statement has vector instructions.
    fn has_lanes(&self, stmt: &Stmt) -> bool {
        match stmt {
            Stmt::Let(_, Op::Load(addr)) | Stmt::Store(addr, _) => {
                self.access(addr) != Access::Apart
            }
            Stmt::Let(_, Op::Unary(op, a)) => has_vector_unary(*op, self.operand_type(*a)),
            Stmt::Let(_, Op::Binary(op, a, b)) => {
                has_vector_binary(*op, self.operand_type(*a))
                    || integer::shift(*op, *b).is_some()
                    || *op == BinaryOp::Pow
                        && self.operand_type(*a).is_float()
                        && power::exponent(*b).is_some()
            }
            Stmt::Let(_, Op::Overflows(op, a, _)) => {
                has_vector_overflow(*op, self.operand_type(*a))
            }
            Stmt::Let(reg, Op::Cast(a)) => {
                as_reg(*a) == Some(self.counter)
                    || has_vector_cast(self.operand_type(*a), self.kernel.regs[*reg])
            }
            Stmt::Let(_, Op::Copy(_) | Op::MulAdd(..) | Op::NearRsqrt(_) | Op::Select(..)) => true,
            Stmt::Set(..) | Stmt::Trap(_) => true,
            Stmt::Var(..) | Stmt::For(_) | Stmt::If(..) | Stmt::Gemm(_) => false,
        }
    }
}

fn used(stmt: &Stmt) -> Captures {
    captures(std::slice::from_ref(stmt))
}

/// The registers used as values, not in addresses.
fn operands(stmt: &Stmt) -> Vec<Reg> {
    match stmt {
        Stmt::Let(_, Op::Load(_)) => Vec::new(),
        Stmt::Store(_, value) => as_reg(*value).into_iter().collect(),
        stmt => used(stmt).regs.into_iter().collect(),
    }
}

fn defined(stmt: &Stmt) -> Option<Reg> {
    match stmt {
        Stmt::Let(reg, _) | Stmt::Var(reg, _) => Some(*reg),
        Stmt::Set(..) | Stmt::Store(..) | Stmt::For(_) | Stmt::If(..) => None,
        Stmt::Gemm(_) | Stmt::Trap(_) => None,
    }
}

fn stored_buffer(stmt: &Stmt) -> Option<Buf> {
    match stmt {
        Stmt::Store(addr, _) => Some(addr.buf),
        Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::For(_) => None,
        Stmt::If(..) | Stmt::Gemm(_) | Stmt::Trap(_) => None,
    }
}
