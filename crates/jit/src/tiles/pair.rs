//! Numbers as sums of two doubles, on a machine with a fused multiply-add.

/// A number as a sum of two doubles, of which the second is much smaller.
#[derive(Clone, Copy)]
pub(super) struct Pair(pub(super) f64, pub(super) f64);

impl Pair {
    /// A sum of which the first term is not less than the second.
    #[inline(always)]
    pub(super) fn ordered(a: f64, b: f64) -> Pair {
        let sum = a + b;
        Pair(sum, b - (sum - a))
    }

    /// A sum of any two terms.
    #[inline(always)]
    pub(super) fn sum(a: f64, b: f64) -> Pair {
        let sum = a + b;
        let right = sum - a;
        Pair(sum, (a - (sum - right)) + (b - right))
    }

    #[inline(always)]
    pub(super) fn product(a: f64, b: f64) -> Pair {
        let product = a * b;
        Pair(product, a.mul_add(b, -product))
    }

    #[inline(always)]
    pub(super) fn times(self, other: Pair) -> Pair {
        let Pair(head, tail) = Pair::product(self.0, other.0);
        Pair::ordered(head, tail + (self.0 * other.1 + self.1 * other.0))
    }

    #[inline(always)]
    pub(super) fn plus(self, other: Pair) -> Pair {
        let Pair(sum, lost) = Pair::sum(self.0, other.0);
        Pair::ordered(sum, lost + self.1 + other.1)
    }

    #[inline(always)]
    pub(super) fn over(self, other: Pair) -> Pair {
        let quotient = self.0 / other.0;
        let rest = (-quotient).mul_add(other.0, self.0) + self.1 - quotient * other.1;
        Pair::ordered(quotient, rest / other.0)
    }

    #[inline(always)]
    pub(super) fn root(self) -> Pair {
        let root = self.0.sqrt();
        let rest = (-root).mul_add(root, self.0) + self.1;
        let Pair(head, tail) = Pair::ordered(root, rest / (2.0 * root));
        if root == 0.0 { Pair(root, 0.0) } else { Pair(head, tail) }
    }

    #[inline(always)]
    pub(super) fn scaled(self, factor: f64) -> Pair {
        Pair(self.0 * factor, self.1 * factor)
    }

    #[inline(always)]
    pub(super) fn value(self) -> f64 {
        self.0 + self.1
    }
}
