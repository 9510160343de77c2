//! The stages of a vector loop whose elementary functions are computed on tiles.
//!
//! Such a loop is cut into tiles, and its body into stages: each stage runs over the tile, and between
//! two stages the functions do. What a later stage needs is kept in a tile. A loop without such functions
//! has one stage.

use super::{Addr, Buf, For, Op, Operand, Reg, Stmt, captures};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeSet;

/// How a loop runs in stages. Statements are given by their numbers in the body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stages {
    /// The copies of the body in a loop over vectors of 128 bits.
    pub copies: usize,
    /// The lanes of the longest vectors of the machine, if it pays to call a loop over those.
    pub lanes: usize,
    /// The elements of a tile; zero if there are none.
    pub tile: i64,
    /// What is done once, before all iterations.
    pub once: Vec<usize>,
    /// What is done for each element: the stage and the statement, in order. A load may be done in
    /// several stages.
    pub work: Vec<(usize, usize)>,
    /// Elementary functions on tiles.
    pub calls: Vec<Call>,
    /// Tiles that take the place of another one, which is of no use any more.
    pub shared: Vec<(Reg, Reg)>,
}

/// A function on tiles, called after a stage.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The stage.
    pub stage: usize,
    /// The statement that says which function it is.
    pub stmt: usize,
    /// Where its arguments are.
    pub inputs: Vec<Source>,
    /// Where its result goes.
    pub output: Source,
}

/// Where a function finds or leaves a tile.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// In the tile of a register.
    Tile(Reg),
    /// Where a statement loads or stores its elements, one after another.
    Memory(usize),
    /// In a tile of one value.
    Fill(Operand),
}

/// How the lanes of an access lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// One after another.
    Contiguous,
    /// All at one place.
    Same,
    /// Anywhere.
    Apart,
}

/// What follows from stages.
#[derive(Clone, Debug, Default)]
pub struct Kept {
    /// What calls give.
    pub results: FxHashSet<Reg>,
    /// Registers kept in tiles, in order of definition.
    pub tiles: Vec<Reg>,
    /// The registers that a stage reads from tiles.
    pub reads: BTreeSet<(usize, Reg)>,
    /// The registers that a stage writes to tiles.
    pub writes: BTreeSet<(usize, Reg)>,
    /// Registers of outside that are used in lanes.
    pub splats: BTreeSet<Reg>,
    /// Whether something may trap in a lane.
    pub traps: bool,
    /// Whether the counter becomes a float.
    pub counts: bool,
}

impl Stages {
    /// The number of the last stage.
    pub fn last(&self) -> usize {
        let work = self.work.iter().map(|(stage, _)| *stage);
        work.chain(self.calls.iter().map(|call| call.stage)).max().unwrap_or(0)
    }

    /// The statements of a stage.
    pub fn items(&self, stage: usize) -> impl Iterator<Item = usize> {
        self.work.iter().filter(move |(it, _)| *it == stage).map(|(_, n)| *n)
    }

    /// What is kept between the stages of a loop that reduces some variables.
    pub fn kept(&self, inner: &For, is_float: impl Fn(Reg) -> bool) -> Kept {
        let body = &inner.body;
        let mut kept = Kept::default();
        let defined = |n: usize| body.get(n).and_then(defined);
        kept.results.extend(self.calls.iter().filter_map(|call| defined(call.stmt)));
        let once: FxHashSet<Reg> = self.once.iter().filter_map(|n| defined(*n)).collect();
        let at: FxHashMap<Reg, usize> =
            (0..body.len()).filter_map(|n| defined(n).map(|reg| (reg, n))).collect();
        let of_stage = |stage: usize, reg: Reg| {
            at.get(&reg).is_some_and(|n| self.work.binary_search(&(stage, *n)).is_ok())
        };
        let home = |reg: Reg| {
            let work = self.work.iter().find(|(_, n)| Some(n) == at.get(&reg));
            work.map_or(0, |(stage, _)| *stage)
        };
        let set: FxHashSet<Reg> = body.iter().filter_map(assigned).collect();
        for (stage, n) in &self.work {
            let Some(stmt) = body.get(*n) else { continue };
            for reg in captures(std::slice::from_ref(stmt)).regs {
                let inside = at.contains_key(&reg) && !once.contains(&reg);
                if inside && !of_stage(*stage, reg) {
                    kept.reads.insert((*stage, reg));
                    if !kept.results.contains(&reg) {
                        kept.writes.insert((home(reg), reg));
                    }
                }
            }
            let outside = |reg: &Reg| {
                *reg != inner.var
                    && (!at.contains_key(reg) || once.contains(reg))
                    && !set.contains(reg)
            };
            kept.splats.extend(values(stmt).into_iter().filter(outside));
            kept.traps |= matches!(stmt, Stmt::Trap(_));
            if let Stmt::Let(reg, Op::Cast(Operand::Reg(from))) = stmt {
                kept.counts |= *from == inner.var && is_float(*reg);
            }
        }
        for call in &self.calls {
            for input in &call.inputs {
                let Source::Tile(reg) = input else { continue };
                if !kept.results.contains(reg) {
                    let here = of_stage(call.stage, *reg);
                    kept.writes.insert((if here { call.stage } else { home(*reg) }, *reg));
                }
            }
        }
        let mut tiles: FxHashSet<Reg> = kept.writes.iter().map(|(_, reg)| *reg).collect();
        tiles.extend(self.calls.iter().filter_map(|call| match call.output {
            Source::Tile(reg) => Some(reg),
            Source::Memory(_) | Source::Fill(_) => None,
        }));
        kept.tiles =
            (0..body.len()).filter_map(defined).filter(|reg| tiles.contains(reg)).collect();
        kept
    }
}

impl Addr {
    /// How the elements of iterations of a loop lie, if these registers differ between them beside its
    /// counter.
    pub fn access(&self, counter: Reg, varies: impl Fn(Reg) -> bool) -> Access {
        let mut access = Access::Same;
        for (reg, factor) in &self.terms {
            if *reg == counter {
                access = if *factor == 1 { Access::Contiguous } else { return Access::Apart };
            } else if varies(*reg) {
                return Access::Apart;
            }
        }
        access
    }
}

/// The registers used as values, not in addresses.
fn values(stmt: &Stmt) -> Vec<Reg> {
    match stmt {
        Stmt::Let(_, Op::Load(_)) | Stmt::Store(_, Operand::Const(_)) => Vec::new(),
        Stmt::Store(_, Operand::Reg(reg)) => vec![*reg],
        stmt => captures(std::slice::from_ref(stmt)).regs.into_iter().collect(),
    }
}

/// The register that a statement defines.
pub(super) fn defined(stmt: &Stmt) -> Option<Reg> {
    match stmt {
        Stmt::Let(reg, _) | Stmt::Var(reg, _) => Some(*reg),
        Stmt::Set(..) | Stmt::Store(..) | Stmt::For(_) | Stmt::If(..) => None,
        Stmt::Gemm(_) | Stmt::Trap(_) => None,
    }
}

fn assigned(stmt: &Stmt) -> Option<Reg> {
    match stmt {
        Stmt::Set(reg, _) => Some(*reg),
        Stmt::Let(..) | Stmt::Var(..) | Stmt::Store(..) | Stmt::For(_) => None,
        Stmt::If(..) | Stmt::Gemm(_) | Stmt::Trap(_) => None,
    }
}

/// The buffer that a statement writes.
pub(super) fn stored(stmt: &Stmt) -> Option<Buf> {
    match stmt {
        Stmt::Store(addr, _) => Some(addr.buf),
        Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::For(_) => None,
        Stmt::If(..) | Stmt::Gemm(_) | Stmt::Trap(_) => None,
    }
}
