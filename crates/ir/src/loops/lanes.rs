//! How vector loops run: decisions as data, made by [`vectorise`](super::vectorise).
//!
//! None of them changes what a loop computes, but for the order in which a sum is taken. An engine that
//! has no instruction for a request to memory leaves it out; otherwise it does as is said here.

use super::stages::Stages;
use super::{Addr, For, Op, Operand, Reg, Stmt};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

/// A vector loop of which everything is decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lanes {
    /// The variables that it reduces, with their operations, as in [`ForKind::Vector`](super::ForKind).
    pub reductions: Vec<(Reg, BinaryOp)>,
    /// How variables are reduced that have an accumulator for each lane; without it the engine gives
    /// each vector register one.
    pub sums: Option<Sums>,
    /// The loops that it is cut into, each of whole vectors, ever shorter ones; none if it is one.
    pub pieces: Vec<(i64, i64)>,
    /// What it asks memory for while it runs.
    pub asks: Option<Asks>,
    /// Whether it takes no argument of [`far_call`] for large, and is run once more if one was.
    pub twice: Twice,
    /// Its stages, where elementary functions are computed on tiles and code is made without a compiler
    /// of loops; nothing if such code runs one iteration after another.
    pub stages: Option<Stages>,
}

/// How a loop with [`far_call`]s does without their branch: it takes no argument for large, notes whether
/// one was, and is then run once more as it stands, from the same variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Twice {
    /// Not at all: the branch is taken in every lane.
    #[default]
    Never,
    /// All of it at once.
    Whole,
    /// So many iterations at a time, which set aside what they store until it is known whether an argument
    /// was large: the loop reads what it writes.
    Parts(i64),
}

/// Accumulators for lanes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    /// The lanes of a vector.
    pub lanes: i64,
    /// The vectors of accumulators that each variable has.
    pub vectors: i64,
    /// The loops over whole vectors: the iterations of a turn, and how many turns are written out, if
    /// they are.
    pub turns: Vec<(i64, Option<i64>)>,
    /// What is done with iterations that fill no vector.
    pub tail: Tail,
}

impl Sums {
    /// Whether the loops over whole vectors leave nothing of so many iterations.
    pub fn covers(&self, iterations: i64) -> bool {
        self.turns.iter().fold(iterations, |left, (count, _)| left % (*count).max(1)) <= 0
    }
}

/// What is done with the last iterations of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// There are none.
    None,
    /// One more vector, in which lanes behind the end do nothing.
    Masked,
    /// One after the other: a vector of elements that were just written one by one would wait until all
    /// are in memory.
    Single,
}

/// Requests to memory for what is read later.
#[derive(Clone, Debug, PartialEq)]
pub struct Asks {
    /// The iterations between two series of them.
    pub every: i64,
    /// From one request of a series to the next, in iterations: the elements of a line.
    pub step: i64,
    /// The elements, for each iteration; they may be outside of their buffers.
    pub addrs: Vec<Addr>,
}

/// A variable that a loop reduces, and what an iteration does to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduction {
    /// The variable.
    pub var: Reg,
    /// The operation.
    pub op: BinaryOp,
    /// The register of the new value, which nothing else uses.
    pub result: Reg,
    /// What an iteration adds.
    pub update: Update,
}

/// What an iteration adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Update {
    /// A value.
    Value(Operand),
    /// A product.
    Product(Operand, Operand),
    /// One or zero by whether a number of `f32` is outside of bounds, which are positive.
    Outside(Operand, f32, f32),
}

impl For {
    /// How the body reduces each of these variables, or `None` if it does not say so in the usual form.
    pub fn reduced(&self, reductions: &[(Reg, BinaryOp)]) -> Option<Vec<Reduction>> {
        reductions.iter().map(|&(var, op)| reduction(&self.body, var, op)).collect()
    }

    /// Whether the body reads a buffer that it writes.
    pub fn reads_what_it_writes(&self) -> bool {
        let writes = |buf| self.stores().any(|(_, addr, _)| addr.buf == buf);
        self.body
            .iter()
            .any(|stmt| matches!(stmt, Stmt::Let(_, Op::Load(addr)) if writes(addr.buf)))
    }

    /// Whether the stores of an iteration can wait until all others are computed: none is read again, and
    /// where they go is known without the body.
    pub fn may_set_aside(&self) -> bool {
        let first = self.stores().next().map_or(self.body.len(), |(n, ..)| n);
        let writes = |buf| self.stores().any(|(_, addr, _)| addr.buf == buf);
        let defined: Vec<Reg> = self
            .body
            .iter()
            .filter_map(|stmt| match stmt {
                Stmt::Let(reg, _) | Stmt::Var(reg, _) => Some(*reg),
                _ => None,
            })
            .collect();
        let plain = |stmt: &Stmt| !matches!(stmt, Stmt::For(_) | Stmt::If(..) | Stmt::Gemm(_));
        let again = |stmt: &Stmt| matches!(stmt, Stmt::Let(_, Op::Load(addr)) if writes(addr.buf));
        let known = |addr: &Addr| addr.terms.iter().all(|(reg, _)| !defined.contains(reg));
        self.body.iter().all(plain)
            && !self.body[first..].iter().any(again)
            && self.stores().all(|(_, addr, _)| known(addr))
    }

    /// The stores of the body: their numbers in it, the places and the values.
    pub fn stores(&self) -> impl Iterator<Item = (usize, &Addr, Operand)> {
        self.body.iter().enumerate().filter_map(|(n, stmt)| match stmt {
            Stmt::Store(addr, value) => Some((n, addr, *value)),
            _ => None,
        })
    }

    /// How many iterations it has, if its bounds say.
    pub fn extent(&self) -> Option<i64> {
        let (Operand::Const(lo), Operand::Const(hi)) = (self.lo, self.hi) else { return None };
        hi.as_i64()?.checked_sub(lo.as_i64()?)
    }
}

/// `t = op(v, x); v = t` or `t = muladd(a, b, v); v = t` of a body.
fn reduction(body: &[Stmt], var: Reg, op: BinaryOp) -> Option<Reduction> {
    let result = body.iter().find_map(|stmt| match stmt {
        Stmt::Set(reg, Operand::Reg(value)) if *reg == var => Some(*value),
        _ => None,
    })?;
    let update = match definition(body, Operand::Reg(result))? {
        Op::Binary(it, a, b) if *it == op => {
            let own = Operand::Reg(var);
            let other = if *a == own { *b } else { *a };
            let outside = if op == BinaryOp::Max { outside(body, other) } else { None };
            (*a == own || *b == own).then_some(outside.unwrap_or(Update::Value(other)))
        }
        Op::MulAdd(a, b, c) if *c == Operand::Reg(var) && op == BinaryOp::Add => {
            Some(Update::Product(*a, *b))
        }
        _ => None,
    }?;
    Some(Reduction { var, op, result, update })
}

/// The operation that gives an operand in a body.
fn definition(body: &[Stmt], operand: Operand) -> Option<&Op> {
    body.iter().find_map(|stmt| match stmt {
        Stmt::Let(reg, op) if Operand::Reg(*reg) == operand => Some(op),
        _ => None,
    })
}

/// A value as one or zero by whether a number is not between two.
fn outside(body: &[Stmt], value: Operand) -> Option<Update> {
    let of = |operand: Operand| definition(body, operand);
    let Op::Cast(value) = of(value)? else { return None };
    let Op::Unary(UnaryOp::Not, value) = of(*value)? else { return None };
    let Op::Binary(BinaryOp::And, above, below) = of(*value)? else { return None };
    let Op::Binary(BinaryOp::Ge, x, Operand::Const(Scalar::F32(low))) = of(*above)? else {
        return None;
    };
    let Op::Binary(BinaryOp::Le, y, Operand::Const(Scalar::F32(high))) = of(*below)? else {
        return None;
    };
    let ordered = 0.0 < *low && low <= high && high.is_finite();
    (x == y && ordered).then_some(Update::Outside(*x, *low, *high))
}

/// Where a statement computes a sine, cosine or tangent of an `f64`: what it defines, the function and
/// the argument. To take the quarter turns out of a large number takes a branch, and with a branch there
/// are no vectors.
pub fn far_call(stmt: &Stmt, ty: impl Fn(Reg) -> ScalarType) -> Option<(Reg, UnaryOp, Operand)> {
    match stmt {
        Stmt::Let(reg, Op::Unary(op @ (UnaryOp::Sin | UnaryOp::Cos | UnaryOp::Tan), x))
            if ty(*reg) == ScalarType::F64 =>
        {
            Some((*reg, *op, *x))
        }
        _ => None,
    }
}
