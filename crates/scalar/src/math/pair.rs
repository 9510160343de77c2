//! Pairs of doubles: a value as a head and a much smaller tail, about 100 bits together.
//!
//! Only what the elementary functions need. Products and quotients are exact to about 2^-100 as
//! long as nothing leaves the range 2^-900 to 2^900; the callers see to that.

/// The value `head + tail`.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub head: f64,
    pub tail: f64,
}

impl Pair {
    /// `a + b` exactly, for any `a` and `b`.
    pub fn sum(a: f64, b: f64) -> Pair {
        let head = a + b;
        let from_b = head - a;
        Pair { head, tail: (a - (head - from_b)) + (b - from_b) }
    }

    /// `a + b` exactly, where `|a| >= |b|` or `a` is 0.
    pub fn ordered_sum(a: f64, b: f64) -> Pair {
        let head = a + b;
        Pair { head, tail: b - (head - a) }
    }

    /// `a * b` exactly.
    pub fn product(a: f64, b: f64) -> Pair {
        let head = a * b;
        let ((a1, a2), (b1, b2)) = (halves(a), halves(b));
        Pair { head, tail: ((a1 * b1 - head) + a1 * b2 + a2 * b1) + a2 * b2 }
    }

    /// `self + other`.
    pub fn plus(self, other: Pair) -> Pair {
        let heads = Pair::sum(self.head, other.head);
        Pair::ordered_sum(heads.head, heads.tail + (self.tail + other.tail))
    }

    /// `self + x`.
    pub fn plus_one(self, x: f64) -> Pair {
        let heads = Pair::sum(self.head, x);
        Pair::ordered_sum(heads.head, heads.tail + self.tail)
    }

    /// `self * other`.
    pub fn times(self, other: Pair) -> Pair {
        let heads = Pair::product(self.head, other.head);
        let cross = self.head * other.tail + self.tail * other.head;
        Pair::ordered_sum(heads.head, heads.tail + cross)
    }

    /// `self / other`.
    pub fn over(self, other: Pair) -> Pair {
        let quotient = self.head / other.head;
        let back = Pair::product(quotient, other.head);
        let rest = (self.head - back.head) - back.tail + self.tail - quotient * other.tail;
        Pair::ordered_sum(quotient, rest / other.head)
    }

    /// The square root.
    pub fn sqrt(self) -> Pair {
        if self.head == 0.0 {
            return self;
        }
        let root = self.head.sqrt();
        let back = Pair::product(root, root);
        let rest = (self.head - back.head) - back.tail + self.tail;
        Pair::ordered_sum(root, rest / (2.0 * root))
    }

    /// `self` times a power of two.
    pub fn scaled(self, factor: f64) -> Pair {
        Pair { head: self.head * factor, tail: self.tail * factor }
    }

    /// The nearest double.
    pub fn value(self) -> f64 {
        self.head + self.tail
    }
}

/// `x` as a sum of two doubles of at most 26 bits each.
fn halves(x: f64) -> (f64, f64) {
    let spread = 134_217_729.0 * x;
    let high = spread - (spread - x);
    (high, x - high)
}
