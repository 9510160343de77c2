//! Powers of integers.
//!
//! Before:  `10 ** n`
//! After:   the product of `10`, `100`, `10000` and `100000000` where the binary digits of `n` are set
//!
//! Needs: a small constant exponent, or a constant base.
//!
//! Failures: an exponent that is negative, or whose power leaves the type, is a position outside of
//! the powers that there are: the evaluator says what is wrong.

use super::{Flat, Flatten, Val, declined};
use crate::points::Node;
use ein_base::Span;
use ein_scalar::{BinaryOp, Scalar, ScalarType};

impl Flatten<'_> {
    /// A power of an integer.
    pub(super) fn integer_power(&mut self, a: Node, b: Node, span: Span) -> Flat<Val> {
        let when = self.when;
        if let Some(exponent) = self.points.as_int(b).filter(|it| (1..=4).contains(it)) {
            let product = |this: &mut Self, x, y| this.points.binary(BinaryOp::Mul, x, y, when);
            let power = (1..exponent).fold(a, |power, _| product(self, power, a));
            return Ok(Val::Scalar(power));
        }
        let ty = self.points.nodes[a].ty;
        match self.points.as_int(a).filter(|base| base.abs() >= 2) {
            Some(base) if ty.is_signed() && !self.points.wrapping => {
                Ok(Val::Scalar(self.power_of(base, b, ty)))
            }
            _ => Err(declined("a power of integers", span)),
        }
    }

    /// A power of a constant.
    fn power_of(&mut self, base: i64, exponent: Node, ty: ScalarType) -> Node {
        let (least, most) = ty.int_range().unwrap_or((0, 0));
        let fits = |power: &i128| (least..=most).contains(power);
        let power = |n: i64| i128::from(base).checked_pow(u32::try_from(n).ok()?).filter(fits);
        let count = (0..).take_while(|n| power(*n).is_some()).count() as i64;
        let at = self.points.given_position(exponent, count, true, self.when);
        let of = |this: &mut Self, value: i128| {
            this.points.constant(Scalar::I64(i64::try_from(value).unwrap_or(i64::MAX)))
        };
        let mut result = of(self, 1);
        let mut digit = 1;
        while let Some(factor) = power(digit) {
            let (size, two, one) = (self.points.int(digit), self.points.int(2), self.points.int(1));
            let rest = self.points.binary(BinaryOp::Div, at, size, None);
            let rest = self.points.binary(BinaryOp::Rem, rest, two, None);
            let set = self.points.binary(BinaryOp::Eq, rest, one, None);
            let (factor, without) = (of(self, factor), of(self, 1));
            let factor = self.points.select(set, factor, without);
            result = self.points.binary(BinaryOp::Mul, result, factor, None);
            digit *= 2;
        }
        for (op, bound) in [(BinaryOp::Max, least), (BinaryOp::Min, most)] {
            let bound = of(self, bound);
            result = self.points.binary(op, result, bound, None);
        }
        self.points.cast(result, ty)
    }
}
