//! Clauses that overlap, apart.
//!
//! Before:  `L[0, j] = 0`, `L[i, 0] = 0`, of which the second replaces a cell of the first
//! After:   `L[0, j in 1..n] = 0`, `L[i, 0] = 0`
//!
//! Before:  `d[i, j] = f where j <= i`, `d[i, j] = g where j > i`
//! After:   `d[i, j] = if j > i { g } else { f } where j > i || j <= i`
//!
//! Needs: constant bounds. (Those of steps are, and where several clauses cover steps so are those
//! of their other indices: what they depend on is a condition, under which all reads are safe.)
//! Leaves: clauses that meet no other as they are.
//! Failures: a value that may fail is only merged with one that surely has other cells.

use ein_scalar::{BinaryOp, Scalar, UnaryOp};

use super::narrow::conjuncts;
use crate::points::{Clause, Kind, Linear, Node, Points, Range, Slot, Subst};

/// A clause is cut into at most so many pieces.
const PIECES: usize = 16;

/// The same cells by clauses that do not overlap; a later clause replaces cells of earlier ones.
pub(super) fn apart(points: &mut Points, clauses: Vec<Clause>) -> Vec<Clause> {
    Apart { points }.clauses(clauses)
}

/// Whether clauses may have a cell in common.
pub(super) fn meet(points: &Points, a: &Clause, b: &Clause) -> bool {
    let reached = |slot: &Slot| points.ixs[slot.ix].range;
    let mut axes = a.slots.iter().map(reached).zip(b.slots.iter().map(reached));
    axes.all(|(a, b)| a.0 <= b.1 && b.0 <= a.1)
}

pub(super) fn is_zero(points: &Points, node: Node) -> bool {
    match points.nodes[node].kind {
        Kind::Const(value) => value == Scalar::zero(value.ty()),
        _ => false,
    }
}

struct Apart<'a> {
    points: &'a mut Points,
}

impl Apart<'_> {
    fn clauses(&mut self, clauses: Vec<Clause>) -> Vec<Clause> {
        let mut apart: Vec<Clause> = Vec::new();
        for clause in clauses {
            let mut left = vec![clause];
            while let Some(clause) = left.pop() {
                let met = apart.iter().position(|other| meet(self.points, other, &clause));
                let known = |it: &Clause| self.is_constant(it) && 2 * it.slots.len() <= PIECES;
                let met = met.filter(|at| known(&apart[*at]) && known(&clause));
                let Some(at) = met else {
                    apart.push(clause);
                    continue;
                };
                let other = self.plain(&apart[at]);
                let clause = self.plain(&clause);
                let (cells, others) = (self.reached(&clause), self.reached(&other));
                if clause.guard.is_none() {
                    apart.remove(at);
                    apart.extend(self.without(&other, &cells));
                    left.push(clause);
                    continue;
                }
                let both: Vec<Range> =
                    cells.iter().zip(&others).map(|(a, b)| (a.0.max(b.0), a.1.min(b.1))).collect();
                let (in_other, in_clause) = (self.piece(&other, &both), self.piece(&clause, &both));
                let Some(merged) = self.merged(in_other, in_clause) else {
                    // Both stay, and overlap.
                    apart.push(clause);
                    continue;
                };
                apart.remove(at);
                apart.extend(self.without(&other, &cells));
                left.extend(self.without(&clause, &others));
                apart.push(merged);
            }
        }
        apart
    }

    /// The cells that a clause can have, axis by axis.
    fn reached(&self, clause: &Clause) -> Vec<Range> {
        clause.slots.iter().map(|slot| self.points.ixs[slot.ix].range).collect()
    }

    fn is_constant(&self, clause: &Clause) -> bool {
        let constant = |node: Node| self.points.as_int(node).is_some();
        clause.slots.iter().all(|slot| constant(slot.lo) && constant(slot.hi))
    }

    /// A clause without `otherwise`.
    fn plain(&mut self, clause: &Clause) -> Clause {
        let (value, guard) = match (clause.guard, clause.otherwise) {
            (Some(guard), Some(otherwise)) => {
                (self.points.select(guard, clause.value, otherwise), None)
            }
            (guard, _) => (clause.value, guard),
        };
        Clause { slots: clause.slots.clone(), guard, value, otherwise: None }
    }

    /// A clause without some cells, in pieces.
    fn without(&mut self, clause: &Clause, gone: &[Range]) -> Vec<Clause> {
        let mut left = self.reached(clause);
        let mut pieces = Vec::new();
        for axis in 0..left.len() {
            let ((lo, hi), (first, last)) = (left[axis], gone[axis]);
            for side in [(lo, first - 1), (last + 1, hi)] {
                if side.0 <= side.1 {
                    left[axis] = side;
                    pieces.push(self.piece(clause, &left));
                }
            }
            left[axis] = (lo.max(first), hi.min(last));
        }
        pieces
    }

    /// One clause for the cells of two, of which the second replaces the first; none if a failure
    /// of the first could be told where the second replaces it.
    fn merged(&mut self, first: Clause, second: Clause) -> Option<Clause> {
        let replaced = second.guard?;
        let pairs = second.slots.iter().zip(&first.slots);
        let pairs: Vec<_> = pairs.map(|(from, to)| (from.ix, self.points.index(to.ix))).collect();
        let mut subst = Subst::new(pairs);
        let replaced = subst.apply(self.points, replaced);
        let value = subst.apply(self.points, second.value);
        let exclude = first.guard.is_some_and(|guard| self.exclude(guard, replaced));
        let traps = |node: &Node| self.points.nodes[*node].traps;
        if first.guard.iter().chain([&replaced]).any(traps) || (traps(&first.value) && !exclude) {
            return None;
        }
        // A cell that no clause has is zero.
        let (guard, value) = if is_zero(self.points, first.value) {
            (Some(replaced), value)
        } else if is_zero(self.points, value) {
            let not = self.points.unary(UnaryOp::Not, replaced, None);
            let rest = if exclude { None } else { Some(not) };
            (self.points.both(first.guard, rest), first.value)
        } else {
            let either = first.guard.filter(|guard| !self.complete(*guard, replaced));
            let either =
                either.map(|guard| self.points.binary(BinaryOp::Or, guard, replaced, None));
            (either, self.points.select(replaced, value, first.value))
        };
        Some(Clause { slots: first.slots, guard, value, otherwise: None })
    }

    /// Whether two conditions surely never hold together.
    fn exclude(&self, a: Node, b: Node) -> bool {
        let (a, b) = (self.inequalities(a), self.inequalities(b));
        a.iter().flatten().any(|a| {
            b.iter().flatten().any(|b| {
                let mut sum = a.clone();
                sum.add(b, 1);
                self.points.reach(&sum).is_some_and(|(_, most)| most < 0)
            })
        })
    }

    /// Whether one of two conditions that exclude each other surely holds.
    fn complete(&self, a: Node, b: Node) -> bool {
        match (self.inequalities(a).as_slice(), self.inequalities(b).as_slice()) {
            ([Some(a)], [Some(b)]) => {
                let mut sum = a.clone();
                sum.add(b, 1);
                sum.terms.is_empty() && sum.offset == -1
            }
            _ => false,
        }
    }

    /// Sums that are not negative where a condition holds: for each part of it one, if it compares
    /// integers.
    fn inequalities(&self, condition: Node) -> Vec<Option<Linear>> {
        let mut parts = Vec::new();
        conjuncts(self.points, condition, &mut parts);
        let inequality = |part: Node| {
            let Kind::Binary(op, a, b) = self.points.nodes[part].kind else { return None };
            self.points.nodes[a].range?;
            let (a, b) = (self.points.linear(a), self.points.linear(b));
            let (mut sum, less) = match op {
                BinaryOp::Lt => (b.minus(&a), 1),
                BinaryOp::Le => (b.minus(&a), 0),
                BinaryOp::Gt => (a.minus(&b), 1),
                BinaryOp::Ge => (a.minus(&b), 0),
                _ => return None,
            };
            sum.offset -= less;
            Some(sum)
        };
        parts.into_iter().map(inequality).collect()
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
        let mut apply = |node| subst.apply(self.points, node);
        Clause {
            slots,
            guard: clause.guard.map(&mut apply),
            value: apply(clause.value),
            otherwise: clause.otherwise.map(&mut apply),
        }
    }
}
