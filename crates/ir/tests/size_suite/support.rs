//! Atoms, random numbers and random expressions.

use ein_base::Idx;
use ein_ir::size::{Atom, Expr};

/// The atom with this number.
pub fn a(number: usize) -> Atom {
    Atom::from_usize(number)
}

/// The atom with this number, as an expression.
pub fn x(number: usize) -> Expr {
    Expr::atom(a(number))
}

/// A literal.
pub fn c(value: i64) -> Expr {
    Expr::constant(value)
}

/// Names as tests write them: a single letter for each of the first atoms.
pub fn name(atom: Atom) -> String {
    ["i", "j", "k", "n", "m", "H", "D"]
        .get(atom.index())
        .map_or(atom.to_string(), ToString::to_string)
}

/// A small deterministic generator (xorshift).
pub struct Random(u64);

impl Random {
    /// The generator with this seed.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Any number.
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16
    }

    /// A number from `lo` to `hi`, both included.
    pub fn within(&mut self, lo: i64, hi: i64) -> i64 {
        lo + (self.next() % (hi - lo + 1) as u64) as i64
    }

    /// True once in so many times.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }

    /// An affine expression over the first `atoms` atoms.
    pub fn affine(&mut self, atoms: usize, most: i64) -> Expr {
        let mut e = c(self.within(-6, 6));
        for atom in 0..atoms {
            if !self.once_in(3) {
                e = e.add(&x(atom).scale(self.within(-most, most)));
            }
        }
        e
    }

    /// Any expression over the first `atoms` atoms, together with a function that evaluates it
    /// without the algebra.
    pub fn tree(&mut self, atoms: usize, depth: usize) -> Tree {
        if depth == 0 || self.once_in(6) {
            return if self.once_in(3) {
                Tree::Literal(self.within(-5, 5))
            } else {
                Tree::Atom(self.within(0, atoms as i64 - 1) as usize)
            };
        }
        let sums = [Op::Add, Op::Add, Op::Sub, Op::Sub, Op::Mul, Op::Min, Op::Max];
        let quotients = [Op::DivTrunc, Op::Rem, Op::DivFloor, Op::ModFloor];
        let op = match self.within(0, 10) as usize {
            place @ 0..7 => sums[place],
            place => quotients[place - 7],
        };
        let left = self.tree(atoms, depth - 1);
        let right = match op {
            Op::DivTrunc | Op::Rem | Op::DivFloor | Op::ModFloor if !self.once_in(5) => {
                let by = self.within(-4, 6);
                Tree::Literal(if by == 0 { 2 } else { by })
            }
            _ => self.tree(atoms, depth - 1),
        };
        Tree::Node(op, Box::new((left, right)))
    }
}

/// The operations of the algebra.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Add,
    Sub,
    Mul,
    Min,
    Max,
    DivTrunc,
    Rem,
    DivFloor,
    ModFloor,
}

/// An expression that was not simplified.
#[derive(Clone, Debug)]
pub enum Tree {
    Literal(i64),
    Atom(usize),
    Node(Op, Box<(Tree, Tree)>),
}

impl Tree {
    /// The normal form.
    pub fn build(&self) -> Expr {
        match self {
            Tree::Literal(value) => c(*value),
            Tree::Atom(number) => x(*number),
            Tree::Node(op, operands) => {
                let (l, r) = (operands.0.build(), operands.1.build());
                match op {
                    Op::Add => l.add(&r),
                    Op::Sub => l.sub(&r),
                    Op::Mul => l.mul(&r),
                    Op::Min => l.min(&r),
                    Op::Max => l.max(&r),
                    Op::DivTrunc => l.div_trunc(&r),
                    Op::Rem => l.rem(&r),
                    Op::DivFloor => l.div_floor(&r),
                    Op::ModFloor => l.mod_floor(&r),
                }
            }
        }
    }

    /// The value at a point, by the meaning of the operations.
    pub fn eval(&self, point: &[i64]) -> Option<i64> {
        Some(match self {
            Tree::Literal(value) => *value,
            Tree::Atom(number) => point[*number],
            Tree::Node(op, operands) => {
                let (l, r) = (operands.0.eval(point)?, operands.1.eval(point)?);
                match op {
                    Op::Add => l.checked_add(r)?,
                    Op::Sub => l.checked_sub(r)?,
                    Op::Mul => l.checked_mul(r)?,
                    Op::Min => l.min(r),
                    Op::Max => l.max(r),
                    Op::DivTrunc => l.checked_div(r)?,
                    Op::Rem => l.checked_rem(r)?,
                    Op::DivFloor => l.checked_div(r)? - i64::from(l % r != 0 && (l < 0) != (r < 0)),
                    Op::ModFloor => {
                        let quotient =
                            l.checked_div(r)? - i64::from(l % r != 0 && (l < 0) != (r < 0));
                        l.checked_sub(quotient.checked_mul(r)?)?
                    }
                }
            }
        })
    }
}

/// The value of an expression at a point.
pub fn at(e: &Expr, point: &[i64]) -> Option<i64> {
    e.eval(&|atom| point.get(atom.index()).copied())
}

/// All points of a cube.
pub fn cube(dimensions: usize, lo: i64, hi: i64) -> Vec<Vec<i64>> {
    let mut points = vec![Vec::new()];
    for _ in 0..dimensions {
        points = points
            .into_iter()
            .flat_map(|point| {
                (lo..=hi).map(move |value| {
                    let mut point: Vec<i64> = point.clone();
                    point.push(value);
                    point
                })
            })
            .collect();
    }
    points
}
