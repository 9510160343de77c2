//! Positions that follow an index variable, but for some of its values: they wrap around, or stop at
//! an edge.

use super::{Ix, Kind, Linear, Node, Points, Range};
use ein_scalar::{BinaryOp, ScalarType};

/// A position that wraps around more often than this is not looked at.
const WRAPS: i128 = 4;

/// An operation on integers that is one sum below some values of another sum, and a second one
/// from there on.
#[derive(Clone, Debug)]
pub struct Bend {
    /// The other sum.
    pub of: Linear,
    /// The values from which on it is another one.
    pub from: Vec<i64>,
    /// Whether both are the same at these values.
    pub ties: bool,
}

impl Points {
    /// What bends a node, if it does.
    pub fn bend(&self, node: Node) -> Option<Bend> {
        match &self.nodes[node].kind {
            Kind::Clamp { at, extent, .. } => {
                Some(Bend { of: self.linear(*at), from: vec![0, *extent], ties: false })
            }
            Kind::Binary(BinaryOp::Min | BinaryOp::Max, a, b) if self.nodes[node].ty.is_int() => {
                Some(Bend {
                    of: self.linear(*a).minus(&self.linear(*b)),
                    from: vec![0],
                    ties: true,
                })
            }
            Kind::Binary(op @ (BinaryOp::FloorMod | BinaryOp::Rem), a, b) => {
                let (of, n) = (self.linear(*a), self.as_int(*b).filter(|n| *n > 0)?);
                let (first, last) = self.periods(&of, *op, n)?;
                let wraps = (first + 1..=last).map(|wrap| i64::try_from(wrap * i128::from(n)));
                let from = wraps.collect::<Result<_, _>>().ok()?;
                Some(Bend { of, from, ties: false })
            }
            _ => None,
        }
    }

    /// The first and last multiple of `n` that values of a sum are at or after, if they are few.
    fn periods(&self, of: &Linear, op: BinaryOp, n: i64) -> Option<Range> {
        let (lo, hi) = self.reach(of)?;
        let n = i128::from(n);
        let (first, last) = (lo.div_euclid(n), hi.div_euclid(n));
        let counts = last - first <= WRAPS && (op == BinaryOp::FloorMod || lo >= 0);
        counts.then_some((first, last))
    }

    /// The factor of an index variable in an integer node, as `factor` gives it, for values at which
    /// nothing bends.
    pub fn slope(&self, node: Node, ix: Ix) -> Option<i64> {
        let mut slope = 0;
        for (term, times) in self.linear(node).terms {
            if !self.depends(term, ix) {
                continue;
            }
            slope += times
                * match self.nodes[term].kind {
                    Kind::Index(_) => 1,
                    Kind::Clamp { at, .. } => self.slope(at, ix)?,
                    Kind::Binary(BinaryOp::FloorMod | BinaryOp::Rem, a, _) => {
                        self.bend(term)?;
                        self.slope(a, ix)?
                    }
                    Kind::Binary(BinaryOp::Min | BinaryOp::Max, a, b) => {
                        let (a, b) = (self.slope(a, ix)?, self.slope(b, ix)?);
                        if a == 0 { b } else { a }
                    }
                    _ => return None,
                };
        }
        Some(slope)
    }

    /// An operation that bends, where it does not.
    pub(super) fn straight(
        &mut self,
        op: BinaryOp,
        a: Node,
        b: Node,
        ty: ScalarType,
    ) -> Option<Node> {
        match op {
            BinaryOp::Min | BinaryOp::Max => {
                // Where they are equal either will do.
                let above = self.compare(BinaryOp::Ge, a, b) == Some(true);
                let below = if above { false } else { self.compare(BinaryOp::Le, a, b)? };
                let (kept, other) = if below == (op == BinaryOp::Min) { (a, b) } else { (b, a) };
                (!self.nodes[other].traps).then_some(kept)
            }
            BinaryOp::FloorMod | BinaryOp::Rem => {
                let n = self.as_int(b).filter(|n| *n > 0)?;
                let (first, last) = self.periods(&self.linear(a), op, n)?;
                let skip = i64::try_from(first * i128::from(n)).ok()?;
                if first != last {
                    return None;
                }
                let skip = self.int(skip);
                let inside = self.binary(BinaryOp::Sub, a, skip, None);
                Some(self.cast(inside, ty))
            }
            _ => None,
        }
    }
}
