//! Recurrences inside loops: one for all of their points at once.
//!
//! Before:  `y[r] = last(scan(x[r]))`, a function with a recurrence, called for every row
//! After:   `s[r, t] = …, s[r, t - 1], …`, a recurrence over the rows as well, and `y[r] = s[r, n - 1]`
//!
//! Needs: loops of constant bounds. Refuses: recurrences that would not fit. What reads a step that is
//! being computed becomes a part of that recurrence ([`super::within`]).
//!
//! Failures: the recurrence of every point of the loops is computed, also where the program reads
//! none of its steps under a condition; what fails there is an alarm that the evaluator looks into.

use super::super::array::{Array, ArrayKind, Row};
use super::super::{Flat, Flatten, Val, declined};
use crate::points::{Clause, Ix, Node, Points, Slot};
use ein_ir::tensor::walk::each_child;
use ein_ir::tensor::{Expr, ExprKind};
use rustc_hash::FxHashSet;

/// The most cells of a recurrence for all points of the loops around it.
pub(super) const CELLS: i64 = 1 << 24;

impl<'p> Flatten<'p> {
    /// The indices of the loops around a recurrence that it depends on.
    pub(super) fn loops_of(&mut self, e: &'p Expr) -> Flat<Vec<Ix>> {
        if self.loops.is_empty() {
            return Ok(Vec::new());
        }
        let why = "a recurrence inside a loop";
        if self.descent.is_some() {
            return Err(declined(why, e.span));
        }
        let mut used = FxHashSet::default();
        let mut vars = FxHashSet::default();
        mentioned(e, &mut vars);
        for var in vars {
            let inner = self.frame_value(var);
            if let Some(value) = inner {
                self.indices_in(&value, &mut used);
            }
        }
        // What holds here decides what may fail.
        if let Some(when) = self.when {
            used.extend(self.points.nodes[when].free.iter().copied());
        }
        let around: Vec<Ix> = self.loops.iter().copied().filter(|ix| used.contains(ix)).collect();
        let known = |ix: &Ix| {
            let info = &self.points.ixs[*ix];
            info.bounds.is_none() && info.range.0 >= 0
        };
        match around.iter().all(known) {
            true => Ok(around),
            false => Err(declined(why, e.span)),
        }
    }

    /// The slots of loops around a clause, and how they are read.
    pub(super) fn leading(&mut self, around: &[Ix]) -> (Vec<Slot>, Vec<Node>) {
        let slots = around.iter().map(|ix| self.slot_of(*ix)).collect();
        let at = around.iter().map(|ix| self.points.index(*ix)).collect();
        (slots, at)
    }

    /// Whether a recurrence inside a loop reads no step which is being computed. Refuses one that
    /// depends on other loops than these.
    pub(super) fn stands_alone(&self, clauses: &[Clause], around: &[Ix], e: &Expr) -> Flat<bool> {
        match self.indices_around(clauses).iter().all(|ix| around.contains(ix)) {
            true => Ok(!self.reads_pending(clauses)),
            false => Err(declined("a recurrence inside a loop", e.span)),
        }
    }

    fn indices_in(&self, value: &Val, used: &mut FxHashSet<Ix>) {
        match value {
            Val::Unit | Val::Text(_) | Val::Turn(_) => {}
            Val::Scalar(node) => used.extend(self.points.nodes[*node].free.iter().copied()),
            Val::Tuple(items) | Val::Data(_, items) | Val::Fn(_, items) => {
                items.iter().for_each(|item| self.indices_in(item, used));
            }
            Val::Array(array) => self.indices_in_array(array, used),
        }
    }

    fn indices_in_array(&self, array: &Array, used: &mut FxHashSet<Ix>) {
        let node = |node: Node, used: &mut FxHashSet<Ix>| {
            used.extend(self.points.nodes[node].free.iter().copied());
        };
        match &array.kind {
            ArrayKind::Stored(_, at) => at.iter().for_each(|it| node(*it, used)),
            ArrayKind::Clauses(clauses, _) => {
                used.extend(self.indices_around(clauses));
            }
            ArrayKind::Slice(base, _, lo) => {
                self.indices_in_array(base, used);
                node(*lo, used);
            }
            ArrayKind::Permute(base, _) | ArrayKind::Reshape(base) | ArrayKind::Cast(base) => {
                self.indices_in_array(base, used);
            }
            ArrayKind::Partial(base, at) => {
                self.indices_in_array(base, used);
                at.iter().for_each(|it| node(*it, used));
            }
            ArrayKind::Join(_, a, b) | ArrayKind::Gather(a, _, b) => {
                self.indices_in_array(a, used);
                self.indices_in_array(b, used);
            }
            ArrayKind::Rows(rows) => {
                for row in rows.iter() {
                    match row {
                        Row::Number(it) => node(*it, used),
                        Row::Array(array) => self.indices_in_array(array, used),
                    }
                }
            }
            ArrayKind::Select(cond, a, b) => {
                node(*cond, used);
                self.indices_in_array(a, used);
                self.indices_in_array(b, used);
            }
            ArrayKind::Same(it) => node(*it, used),
            ArrayKind::Iota => {}
        }
    }
}

/// The variables that an expression mentions itself; what it calls sees only its arguments and what no
/// loop binds.
pub(super) fn mentioned(e: &Expr, vars: &mut FxHashSet<ein_ir::tensor::VarId>) {
    if let ExprKind::Var(var) = &*e.kind {
        vars.insert(*var);
    }
    each_child(e, &mut |child| mentioned(child, vars));
}

/// Refuses a recurrence for all points of the loops around it that has too many cells.
pub(super) fn fits(points: &Points, around: &[Ix], cells: &[i64], e: &Expr) -> Flat<()> {
    let extents = around.iter().map(|ix| (points.ixs[*ix].range.1 + 1) as i64);
    match extents.chain(cells.iter().copied()).try_fold(1i64, i64::checked_mul) {
        Some(cells) if cells <= CELLS || around.is_empty() => Ok(()),
        Some(_) | None => Err(declined("a recurrence inside a loop", e.span)),
    }
}
