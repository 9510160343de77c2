//! Programs at the edges: values at the limits of every type, positions that repeat or stop at an end,
//! operations that fail in one element, extents of nothing and of one, what is computed and not used.
//!
//! They may fail. What they mean is said by [`crate::edges`], which knows them as trees and shares with
//! engines only the meaning of scalars.

use super::rng::Rng;
use crate::edges::{Array, Def, Edges, SHAPES, WRONG_SHAPES, X};
use ein_scalar::{BinaryOp as B, Scalar, ScalarType as S, UnaryOp as U};

/// The integers.
const INTS: [S; 8] = [S::I8, S::I16, S::I32, S::I64, S::U8, S::U16, S::U32, S::U64];

/// The floats.
const FLOATS: [S; 4] = [S::F16, S::BF16, S::F32, S::F64];

/// A program at the edges.
pub fn edges(seed: u64) -> Edges {
    let mut rng = Rng::new(seed ^ 0xED6E);
    let sized = rng.one_in(12).then(|| [0, 1, 3, 300, 46341][rng.below(5)]);
    let favourite = rng.one_in(3).then(|| FLOATS[rng.below(4)]);
    let sizes = sized.is_some();
    let mut gen_ = Gen { rng, arrays: Vec::new(), indices: 0, sized: sizes, favourite };
    let mut defs = Vec::new();
    for _ in 0..1 + gen_.rng.below(3) {
        let array = gen_.given();
        gen_.arrays.push(array);
    }
    for _ in 0..1 + gen_.rng.below(2) {
        let ty = gen_.any_type();
        let extent = gen_.extent();
        gen_.indices = 1;
        let value = gen_.value(ty, 3);
        defs.push(Def { extent, ty, value });
    }
    Edges { given: gen_.arrays, defs, sized }
}

struct Gen {
    rng: Rng,
    arrays: Vec<Array>,
    /// How many indices there are: the one of the definition, and those of reductions.
    indices: usize,
    /// Whether there is a size.
    sized: bool,
    /// The type that half of all values have.
    favourite: Option<S>,
}

impl Gen {
    fn any_type(&mut self) -> S {
        if let Some(favourite) = self.favourite.filter(|_| self.rng.one_in(2)) {
            return favourite;
        }
        match self.rng.below(8) {
            0..=3 => S::I32,
            4 | 5 => INTS[self.rng.below(8)],
            _ => FLOATS[self.rng.below(4)],
        }
    }

    fn extent(&mut self) -> i64 {
        [0, 1, 2, 3, 5, 8, 9, 17, 33, 70][self.rng.below(10)]
    }

    /// An array whose elements are written down.
    fn given(&mut self) -> Array {
        let ty = self.any_type();
        let count = if self.rng.one_in(4) { 17 } else { 1 + self.rng.below(9) };
        let full = match ty {
            S::F16 => 2048.0,
            S::BF16 => 256.0,
            _ => 16777216.0,
        };
        if ty.is_float() && self.rng.one_in(2) {
            // Ones are lost one by one beside a number that has no digit left for them.
            let one = |at| ein_scalar::cast(Scalar::F64(if at == 0 { full } else { 1.0 }), ty);
            return Array { ty, cells: (0..count).map(one).collect() };
        }
        Array { ty, cells: (0..count).map(|_| self.literal(ty)).collect() }
    }

    fn literal(&mut self, ty: S) -> Scalar {
        let Some((least, most)) = ty.int_range() else {
            let values = [
                0.0,
                -0.0,
                1.0,
                -1.5,
                2.0,
                0.25,
                3.0,
                1e30,
                f64::NAN,
                f64::INFINITY,
                16777216.0,
                2048.0,
                65504.0,
            ];
            let most = if self.rng.one_in(3) { 13 } else { 7 };
            return ein_scalar::cast(Scalar::F64(values[self.rng.below(most)]), ty);
        };
        let value = match self.rng.below(12) {
            0 => least,
            1 => most,
            2 => most - 1,
            3 => most / 2 + 1,
            4 => least + 1,
            _ => i128::from(self.rng.between(-3, 9)).max(least),
        };
        Scalar::from_i128(value, ty).unwrap_or(Scalar::zero(ty))
    }

    fn value(&mut self, ty: S, depth: usize) -> X {
        if depth == 0 || self.rng.one_in(6) {
            return self.leaf(ty);
        }
        let next = depth - 1;
        match self.rng.below(16) {
            0..=5 => {
                let op = self.operation(ty);
                self.two(op, ty, next)
            }
            6 if ty == S::I32 && self.rng.one_in(6) => {
                // Few, and sometimes fewer than none.
                let count = self.rng.between(-2, 9);
                let at = Box::new(self.position(count.max(1), next));
                let at = if self.rng.one_in(2) { Some(at) } else { None };
                X::Count(Box::new(X::Literal(Scalar::I32(count as i32))), at)
            }
            6 | 7 => self.read(ty, next),
            8 if !ty.is_int() || ty.is_signed() => {
                let op = if self.rng.one_in(2) { U::Neg } else { U::Abs };
                X::Unary(op, Box::new(self.value(ty, next)))
            }
            8 | 9 => {
                let from = self.any_type();
                // A float of too many digits is another thing.
                let from = if ty.is_float() || from.is_float() { ty } else { from };
                X::Cast(ty, Box::new(self.value(from, next)))
            }
            10 | 11 => {
                let cond = Box::new(self.condition(next));
                X::If(cond, Box::new(self.value(ty, next)), Box::new(self.value(ty, next)))
            }
            12 | 13 if self.indices < 3 => self.reduction(ty, next),
            14 if self.rng.one_in(4) => {
                let wrong = self.rng.one_in(6);
                let way = if wrong {
                    SHAPES + self.rng.below(WRONG_SHAPES)
                } else {
                    self.rng.below(SHAPES)
                };
                X::Shaped(way, Box::new(self.value(ty, next)))
            }
            _ => {
                let other = self.any_type();
                let way = self.rng.below(6);
                X::First(way, Box::new(self.value(ty, next)), Box::new(self.value(other, next)))
            }
        }
    }

    fn two(&mut self, op: B, ty: S, depth: usize) -> X {
        X::Binary(op, Box::new(self.value(ty, depth)), Box::new(self.value(ty, depth)))
    }

    fn operation(&mut self, ty: S) -> B {
        let ops = [B::Add, B::Sub, B::Mul, B::Min, B::Max, B::Div, B::Rem];
        // Remainders of floats and extremes of not-a-numbers have tests of their own.
        ops[self.rng.below(if ty.is_float() { 3 } else { 7 })]
    }

    fn leaf(&mut self, ty: S) -> X {
        match self.rng.below(4) {
            0 if ty == S::I32 && self.sized => match self.rng.below(2) {
                0 => X::Size,
                _ => X::Binary(B::Mul, Box::new(X::Size), Box::new(X::Size)),
            },
            0 | 1 if ty == S::I32 => X::Index(self.rng.below(self.indices)),
            2 => self.read(ty, 0),
            _ => X::Literal(self.literal(ty)),
        }
    }

    fn read(&mut self, ty: S, depth: usize) -> X {
        let fits = |(_, array): &(usize, &Array)| array.ty == ty;
        let fitting: Vec<usize> =
            self.arrays.iter().enumerate().filter(fits).map(|(at, _)| at).collect();
        let Some(array) = self.rng.pick(&fitting).copied() else {
            return X::Literal(self.literal(ty));
        };
        let extent = self.arrays[array].cells.len() as i64;
        let at = self.position(extent, depth);
        X::Read(array, Box::new(at))
    }

    /// A position, most often inside.
    fn position(&mut self, extent: i64, depth: usize) -> X {
        let int = |value: i64| Box::new(X::Literal(Scalar::I32(value as i32)));
        let bin = |op, a, b| Box::new(X::Binary(op, a, b));
        let ix = Box::new(X::Index(self.rng.below(self.indices)));
        let large = [2147483647, 2000000000, 1073741824, 65536][self.rng.below(4)];
        let some = Box::new(self.value(S::I32, depth));
        *match self.rng.below(11) {
            0 => bin(B::Min, int(extent - 1), bin(B::Max, int(0), some)),
            1 => bin(B::Max, bin(B::Min, bin(B::Sub, ix, int(1)), int(extent - 1)), int(0)),
            2 => bin(B::Min, int(extent - 1), bin(B::Mul, ix, int(large))),
            3 => bin(B::Sub, bin(B::Add, ix, int(large)), int(large)),
            4 => bin(B::Rem, bin(B::Mul, ix, int(large)), int(extent)),
            5 => bin(B::Rem, bin(B::Max, some, int(0)), int(extent)),
            6 => bin(B::Rem, ix, int(extent)),
            7 => bin(B::Min, ix, int(extent - 1)),
            8 => some,
            // What fails cancels out of the position, and fails all the same.
            9 => {
                let few = bin(B::Min, int(5), bin(B::Max, int(0), some));
                bin(B::Add, bin(B::Sub, few.clone(), few), bin(B::Min, ix, int(extent - 1)))
            }
            _ => int(self.rng.between(0, extent - 1)),
        }
    }

    fn condition(&mut self, depth: usize) -> X {
        let ty = INTS[self.rng.below(8)];
        let ty = if self.rng.one_in(3) { ty } else { S::I32 };
        match self.rng.below(5) {
            0 if depth > 0 => {
                X::And(Box::new(self.condition(depth - 1)), Box::new(self.condition(depth - 1)))
            }
            1 if depth > 0 => {
                X::Or(Box::new(self.condition(depth - 1)), Box::new(self.condition(depth - 1)))
            }
            _ => {
                let op = [B::Lt, B::Le, B::Gt, B::Ge, B::Eq, B::Ne][self.rng.below(6)];
                self.two(op, ty, depth)
            }
        }
    }

    /// Over an index of its own, or over none.
    fn reduction(&mut self, ty: S, depth: usize) -> X {
        use crate::edges::Red;
        let bounds = match self.rng.below(6) {
            0 => None,
            1 => {
                // Few points, also where the program would have failed before them.
                let mut end = |op, most| {
                    let end = Box::new(self.value(S::I32, depth.min(1)));
                    Box::new(X::Binary(op, end, Box::new(X::Literal(Scalar::I32(most)))))
                };
                Some((end(B::Max, 0), end(B::Min, 20)))
            }
            2 => {
                // At the end of the type.
                let end = X::Literal(Scalar::I32(2147483640));
                let more = X::Index(self.rng.below(self.indices));
                let hi = X::Binary(B::Add, Box::new(end.clone()), Box::new(more));
                Some((Box::new(end), Box::new(hi)))
            }
            _ => {
                let hi = X::Literal(Scalar::I32(self.rng.between(0, 11) as i32));
                Some((Box::new(X::Literal(Scalar::I32(0))), Box::new(hi)))
            }
        };
        let outer = self.indices;
        if bounds.is_some() {
            self.indices += 1;
        }
        let guard = self.rng.one_in(3).then(|| {
            let guard = Box::new(self.condition(depth.min(1)));
            if bounds.is_none() || !self.rng.one_in(2) {
                return guard;
            }
            // Where the index ends, behind what may fail for the points that this leaves out.
            let end = Box::new(X::Literal(Scalar::I32(self.rng.between(0, 6) as i32)));
            Box::new(X::And(guard, Box::new(X::Binary(B::Lt, Box::new(X::Index(outer)), end))))
        });
        let guard = if bounds.is_none() && guard.is_none() {
            Some(Box::new(self.condition(1)))
        } else {
            guard
        };
        let x = if ty.is_float() {
            // The order of a sum is free, so its terms are plain.
            let fits = |(_, array): &(usize, &Array)| array.ty == ty;
            let of = self.arrays.iter().enumerate().find(fits).map(|(at, it)| (at, it.cells.len()));
            match (of, bounds.is_some()) {
                (Some((array, count)), true) => {
                    let int = |value: usize| Box::new(X::Literal(Scalar::I32(value as i32)));
                    let index = Box::new(X::Index(outer));
                    let at = Box::new(X::Binary(B::Rem, index, int(count)));
                    let bounds = Some((int(0), int(count)));
                    X::Reduce(Red::Sum, bounds, guard, Box::new(X::Read(array, at)))
                }
                _ => X::Reduce(Red::Sum, bounds, guard, Box::new(self.leaf(ty))),
            }
        } else {
            let op = [Red::Sum, Red::Prod, Red::Max, Red::Min][self.rng.below(4)];
            X::Reduce(op, bounds, guard, Box::new(self.value(ty, depth)))
        };
        self.indices = outer;
        x
    }
}
