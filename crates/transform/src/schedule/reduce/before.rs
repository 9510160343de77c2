//! Positions that are checked before a loop instead of in every turn of it.
//!
//! Before:  `for p in lo..hi { trap p < 0 || p >= n; s += x[clamp p] }`
//! After:   `trap lo < hi && (lo < 0 || hi > n); for p in max(lo, 0)..min(hi, n) { s += x[p] }`
//!
//! Needs: bounds that are not constant, and reads that every turn makes.
//! Refuses: conditions.

use super::Acc;
use crate::points::{Ix, Kind, Node, Subst};
use crate::schedule::emit::Emit;
use crate::schedule::nest::Loop;
use ein_ir::loops::{Op, Operand, Stmt};
use ein_scalar::{BinaryOp, Scalar, ScalarType};

/// Accumulators, their index and its bounds.
type Checked = (Vec<Acc>, Ix, (Operand, Operand));

impl Emit {
    /// The accumulators of a loop over positions that are surely inside, with the check before it.
    pub(super) fn checked_before(&mut self, accs: &[Acc], (ix, lo, hi): Loop) -> Option<Checked> {
        if self.constant_extent(lo, hi).is_some() {
            return None;
        }
        let extent = accs.iter().map(|acc| self.least_extent(acc, ix)).min()??;
        let (lo, hi) = (self.bound_value(lo), self.bound_value(hi));
        let (int, bool) = (ScalarType::I64, ScalarType::Bool);
        let constant = |value: i64| Operand::Const(Scalar::I64(value));
        let first = self.let_here(int, Op::Binary(BinaryOp::Max, lo, constant(0)));
        let end = self.let_here(int, Op::Binary(BinaryOp::Min, hi, constant(extent)));
        let below = self.let_here(bool, Op::Binary(BinaryOp::Lt, lo, constant(0)));
        let above = self.let_here(bool, Op::Binary(BinaryOp::Gt, hi, constant(extent)));
        let outside = self.let_here(bool, Op::Binary(BinaryOp::Or, below, above));
        let some = self.let_here(bool, Op::Binary(BinaryOp::Lt, lo, hi));
        let outside = self.let_here(bool, Op::Binary(BinaryOp::And, outside, some));
        self.push(Stmt::Trap(outside));
        let name = self.points.ixs[ix].name;
        let inside = self.points.fresh(name, (0, i128::from(extent - 1)));
        let mut subst = Subst::one(ix, self.points.index(inside));
        let mut checked = accs.to_vec();
        for acc in &mut checked {
            acc.reduction.body = subst.apply(&mut self.points, acc.reduction.body);
        }
        Some((checked, inside, (first, end)))
    }

    /// The least extent that an index has to be inside of in every turn.
    fn least_extent(&self, acc: &Acc, ix: Ix) -> Option<i64> {
        if acc.reduction.guard.is_some() || acc.addresses() {
            return None;
        }
        let own = |node: Node| self.points.nodes[node].kind == Kind::Index(ix);
        let extents = self.points.below(&[acc.reduction.body]).into_iter().filter_map(|node| {
            match self.points.nodes[node].kind {
                Kind::Clamp { at, extent, traps: true, when: None } if own(at) => Some(extent),
                _ => None,
            }
        });
        extents.min().filter(|extent| *extent > 1)
    }
}
