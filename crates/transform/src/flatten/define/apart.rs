//! Clauses that overlap, apart.
//!
//! Before:  `L[0, j] = 0`, `L[i, 0] = 0`, of which the second replaces a cell of the first
//! After:   `L[0, j in 1..n] = 0`, `L[i, 0] = 0`
//!
//! Needs: constant bounds, and no condition on the clause that replaces.
//! Leaves: other clauses as they are.

use super::super::Flatten;
use crate::points::{Clause, Range, Slot, Subst};

/// A clause is cut into at most so many pieces.
const PIECES: usize = 16;

impl Flatten<'_> {
    /// The same cells by clauses that do not overlap.
    pub(super) fn apart(&mut self, clauses: Vec<Clause>) -> Vec<Clause> {
        let mut apart: Vec<Clause> = Vec::new();
        for clause in clauses {
            if let Some(covered) = self.covered(&clause).filter(|_| clause.guard.is_none()) {
                let before = std::mem::take(&mut apart);
                for other in before {
                    apart.extend(self.without(other, &covered));
                }
            }
            apart.push(clause);
        }
        apart
    }

    /// The cells of a clause, if their bounds are constants.
    fn covered(&self, clause: &Clause) -> Option<Vec<Range>> {
        let range = |slot: &Slot| {
            let (lo, hi) = (self.points.as_int(slot.lo)?, self.points.as_int(slot.hi)?);
            Some((i128::from(lo), i128::from(hi) - 1))
        };
        clause.slots.iter().map(range).collect()
    }

    /// A clause without some cells, in pieces.
    fn without(&mut self, clause: Clause, gone: &[Range]) -> Vec<Clause> {
        let Some(mut left) = self.covered(&clause) else { return vec![clause] };
        let meets = |(a, b): (&Range, &Range)| a.0 <= b.1 && b.0 <= a.1;
        if !left.iter().zip(gone).all(meets) || 2 * left.len() > PIECES {
            return vec![clause];
        }
        let mut pieces = Vec::new();
        for axis in 0..left.len() {
            let ((lo, hi), (first, last)) = (left[axis], gone[axis]);
            for side in [(lo, first - 1), (last + 1, hi)] {
                if side.0 <= side.1 {
                    left[axis] = side;
                    pieces.push(self.piece(&clause, &left));
                }
            }
            left[axis] = (lo.max(first), hi.min(last));
        }
        pieces
    }

    /// A clause for some of its cells.
    fn piece(&mut self, clause: &Clause, cells: &[Range]) -> Clause {
        let mut pairs = Vec::new();
        let mut slots = Vec::new();
        for (slot, (lo, hi)) in clause.slots.iter().zip(cells) {
            let name = self.points.ixs[slot.ix].name;
            let ix = self.points.fresh(name, (*lo, *hi));
            pairs.push((slot.ix, self.points.index(ix)));
            let (lo, hi) = (self.points.int(*lo as i64), self.points.int(*hi as i64 + 1));
            slots.push(Slot { ix, lo, hi });
        }
        let mut subst = Subst::new(pairs);
        let mut apply = |node| subst.apply(&mut self.points, node);
        Clause {
            slots,
            guard: clause.guard.map(&mut apply),
            value: apply(clause.value),
            otherwise: clause.otherwise.map(&mut apply),
        }
    }
}
