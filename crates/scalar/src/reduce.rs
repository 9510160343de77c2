//! Accumulators of reductions: exact for integers, in a fixed order for floats.

use crate::{ArithError, Overflow, Scalar, ScalarType};

/// An exact sum of integers.
///
/// Only the result has to fit its type; 2^63 terms of 64 bits fit the accumulator.
#[derive(Clone, Copy, Debug, Default)]
pub struct IntSum {
    total: i128,
}

impl IntSum {
    /// The empty sum, 0.
    pub fn new() -> IntSum {
        IntSum::default()
    }

    /// Adds one term.
    pub fn add(&mut self, term: i128) {
        self.total = self.total.wrapping_add(term);
    }

    /// Adds the terms of another sum: parts may be summed apart and in any order.
    pub fn merge(&mut self, other: IntSum) {
        self.add(other.total);
    }

    /// The sum in type `ty`.
    pub fn finish(self, ty: ScalarType, overflow: Overflow) -> Result<Scalar, ArithError> {
        finish_int(self.total, ty, overflow)
    }
}

/// An exact product of integers, of which only the result has to fit its type.
///
/// A factor other than 0 never makes a product smaller, so one that has passed 2^64 is too large
/// for good unless a later factor is 0.
#[derive(Clone, Copy, Debug)]
pub struct IntProd {
    /// The product in 128 bits while it is no larger than 2^64; then only its low bits matter.
    product: i128,
    too_large: bool,
    zero: bool,
}

impl Default for IntProd {
    fn default() -> IntProd {
        IntProd { product: 1, too_large: false, zero: false }
    }
}

impl IntProd {
    /// The empty product, 1.
    pub fn new() -> IntProd {
        IntProd::default()
    }

    /// Multiplies by one factor, a value of an integer type of at most 64 bits.
    pub fn mul(&mut self, factor: i128) {
        self.zero |= factor == 0;
        let (product, wrapped) = self.product.overflowing_mul(factor);
        self.too_large |= wrapped || product.unsigned_abs() > 1 << 64;
        // Sixty-four low bits are enough from then on, and keep the next product in range.
        self.product = if self.too_large { i128::from(product as i64) } else { product };
    }

    /// Whether nothing but a factor of 0 can change it: it is 0, or too large for every type.
    pub fn is_settled(&self) -> bool {
        self.zero || self.too_large
    }

    /// Multiplies by the factors of another product.
    pub fn merge(&mut self, other: IntProd) {
        let too_large = self.too_large | other.too_large;
        let zero = self.zero | other.zero;
        self.mul(other.product);
        self.too_large |= too_large;
        self.zero = zero;
    }

    /// The product in type `ty`.
    pub fn finish(self, ty: ScalarType, overflow: Overflow) -> Result<Scalar, ArithError> {
        match (self.zero, self.too_large, overflow) {
            (true, _, _) => finish_int(0, ty, overflow),
            (false, true, Overflow::Trap) => Err(ArithError::Overflow),
            (false, _, _) => finish_int(self.product, ty, overflow),
        }
    }
}

fn finish_int(value: i128, ty: ScalarType, overflow: Overflow) -> Result<Scalar, ArithError> {
    match overflow {
        _ if !ty.is_int() => Err(ArithError::Operands),
        Overflow::Trap => Scalar::from_i128(value, ty).ok_or(ArithError::Overflow),
        Overflow::Wrap => Ok(Scalar::wrap_i128(value, ty)),
    }
}

/// The number of interleaved partial sums in a leaf.
const LANES: usize = 8;

/// The number of consecutive terms in a leaf.
const LEAF: usize = 128;

/// A sum of floats, computed in doubles over a fixed tree and rounded to its type once.
///
/// The tree depends on the number of terms alone, not on how many threads or lanes compute it:
///
/// * A *leaf* is 128 consecutive terms. It keeps eight lanes; term `i` is added to lane `i % 8`, in
///   order. Its value is `((l0 + l4) + (l2 + l6)) + ((l1 + l5) + (l3 + l7))`, which halves a vector
///   three times.
/// * Two neighbouring leaves make a node of level 1, two neighbouring nodes of level `n` one of
///   level `n + 1`, left plus right.
/// * What is left over at the end (a last, shorter leaf and at most one node of each level) is
///   added from the right: shorter leaf first, then the levels upward, each as `node + rest`.
///
/// The error of a double sum grows with the logarithm of the number of terms.
#[derive(Clone, Debug)]
pub struct FloatSum {
    lanes: [f64; LANES],
    filled: usize,
    /// The pending node of each level; bit `n` of `leaves` says whether there is one.
    nodes: [f64; 64],
    leaves: u64,
}

impl Default for FloatSum {
    fn default() -> FloatSum {
        FloatSum { lanes: [0.0; LANES], filled: 0, nodes: [0.0; 64], leaves: 0 }
    }
}

impl FloatSum {
    /// The empty sum, 0.
    pub fn new() -> FloatSum {
        FloatSum::default()
    }

    /// Adds one term.
    pub fn add(&mut self, term: f64) {
        self.lanes[self.filled % LANES] += term;
        self.filled += 1;
        if self.filled == LEAF {
            self.push_leaf();
        }
    }

    fn push_leaf(&mut self) {
        let mut node = leaf_value(self.lanes);
        let mut level = 0;
        while self.leaves >> level & 1 == 1 {
            node += self.nodes[level];
            level += 1;
        }
        self.nodes[level] = node;
        self.leaves += 1;
        self.lanes = [0.0; LANES];
        self.filled = 0;
    }

    /// The sum as a double.
    pub fn total(&self) -> f64 {
        let mut rest = leaf_value(self.lanes);
        for (level, node) in self.nodes.iter().enumerate() {
            if self.leaves >> level & 1 == 1 {
                rest += node;
            }
        }
        rest
    }

    /// The sum in the float type `ty`.
    pub fn finish(&self, ty: ScalarType) -> Result<Scalar, ArithError> {
        Scalar::from_f64(self.total(), ty).ok_or(ArithError::Operands)
    }
}

fn leaf_value(l: [f64; LANES]) -> f64 {
    ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(terms: &[i128], ty: ScalarType, overflow: Overflow) -> Result<Scalar, ArithError> {
        let mut acc = IntSum::new();
        terms.iter().for_each(|&x| acc.add(x));
        acc.finish(ty, overflow)
    }

    fn prod(factors: &[i128], ty: ScalarType, overflow: Overflow) -> Result<Scalar, ArithError> {
        let mut acc = IntProd::new();
        factors.iter().for_each(|&x| acc.mul(x));
        acc.finish(ty, overflow)
    }

    #[test]
    fn only_the_result_must_fit() {
        let (trap, wrap) = (Overflow::Trap, Overflow::Wrap);
        assert_eq!(sum(&[100, 100, -100], ScalarType::I8, trap), Ok(Scalar::I8(100)));
        assert_eq!(sum(&[100, 100], ScalarType::I8, trap), Err(ArithError::Overflow));
        assert_eq!(sum(&[100, 100], ScalarType::I8, wrap), Ok(Scalar::I8(-56)));
        let big = i128::from(u64::MAX);
        assert_eq!(prod(&[big, big, big, 0], ScalarType::U64, trap), Ok(Scalar::U64(0)));
        assert_eq!(prod(&[big, big, big], ScalarType::U64, trap), Err(ArithError::Overflow));
        assert_eq!(prod(&[big, big, big], ScalarType::U64, wrap), Ok(Scalar::U64(u64::MAX)));
        assert_eq!(prod(&[0, big, big], ScalarType::U64, trap), Ok(Scalar::U64(0)));
        assert_eq!(prod(&[-2; 63], ScalarType::I64, trap), Ok(Scalar::I64(i64::MIN)));
        assert_eq!(prod(&[-2; 64], ScalarType::I64, trap), Err(ArithError::Overflow));
        assert_eq!(prod(&[-1; 1001], ScalarType::I8, trap), Ok(Scalar::I8(-1)));
        assert_eq!(prod(&[], ScalarType::I8, trap), Ok(Scalar::I8(1)));
        assert_eq!(prod(&[1 << 40, 1 << 40, 3], ScalarType::I64, wrap), Ok(Scalar::I64(0)));
        assert_eq!(prod(&[3; 100], ScalarType::I32, wrap), Ok(Scalar::I32(-818_408_495)));
    }

    #[test]
    fn products_merge() {
        let mut left = IntProd::new();
        left.mul(1 << 62);
        left.mul(1 << 62);
        let mut right = IntProd::new();
        right.mul(0);
        let mut both = left;
        both.merge(right);
        assert_eq!(both.finish(ScalarType::I64, Overflow::Trap), Ok(Scalar::I64(0)));
        left.merge(IntProd::new());
        assert_eq!(left.finish(ScalarType::I64, Overflow::Trap), Err(ArithError::Overflow));
    }

    #[test]
    fn float_sums_are_accurate() {
        let mut acc = FloatSum::new();
        for _ in 0..1_000_000 {
            acc.add(f64::from(0.1f32));
        }
        assert_eq!(acc.finish(ScalarType::F32), Ok(Scalar::F32((1e6 * f64::from(0.1f32)) as f32)));
        let mut acc = FloatSum::new();
        (0..10_000_000).for_each(|_| acc.add(0.1));
        assert!((acc.total() - 1e6).abs() < 1e-8, "{}", acc.total());
        assert_eq!(FloatSum::new().finish(ScalarType::F64), Ok(Scalar::F64(0.0)));
    }

    #[test]
    fn the_tree_is_the_documented_one() {
        let terms: Vec<f64> = (0..1000).map(|i| 1.0 / f64::from(i + 1)).collect();
        let leaf = |terms: &[f64]| {
            let mut lanes = [0.0; LANES];
            terms.iter().enumerate().for_each(|(i, x)| lanes[i % LANES] += x);
            leaf_value(lanes)
        };
        let l: Vec<f64> = terms.chunks(LEAF).map(leaf).collect();
        let expected = ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]));
        let mut acc = FloatSum::new();
        terms.iter().for_each(|&x| acc.add(x));
        assert_eq!(acc.total(), expected);
    }
}
