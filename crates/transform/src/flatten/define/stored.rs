//! Definitions inside of a step that are stored in every step.
//!
//! Before:  `s[t, i] = a[i - 1] + a[i + 1]`, where `a[j] = f(s[t - 1, j])` is made anew in every step
//! After:   `u[0, t, j] = f(u[1, t - 1, j])`, `u[1, t, i] = u[0, t, i - 1] + u[0, t, i + 1]`
//!
//! A definition that reads a step being computed has no array of its own, so its cells are written out
//! where they are read. Where that is at several places, or in a loop inside of the step, each cell is
//! computed as often (the opposite of materialisation). How often is known when everything is written
//! out: then the statements are evaluated once more, and what costs more than a store and a load is a part
//! of the recurrence around ([`super::within`]), as a recurrence inside of the step would be.
//!
//! Needs: definitions of one clause over constant extents, of the type of the recurrence around.
//! Refuses: reductions, which the schedule stores for the step ([`crate::schedule::hoist`]), and what may
//! fail under a condition. If the second evaluation is declined, the first one stands.
//!
//! Failures: every cell of the definition is computed in every step, also one that no cell of the step
//! reads: an alarm at most.

use super::within::Within;
use crate::flatten::array::ArrayKind;
use crate::flatten::extent::Extent;
use crate::flatten::{Flatten, Val};
use crate::points::{Clause, Ix};
use ein_base::{Span, Symbol};
use ein_scalar::ScalarType;
use rustc_hash::FxHashSet;

/// The least number of operations of a cell.
const LEAST: f64 = 6.0;

/// So many operations at least are saved for a cell that is stored.
const SAVED: f64 = 64.0;

/// Steps of fewer cells are carried in registers.
const FEW: f64 = 32.0;

/// So many times the cells of a step are stored at most: they are kept in its window.
const MOST: f64 = 4.0;

/// What is known of the definitions inside of steps, in the order in which they are met.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    /// Those that are to be stored, by their numbers.
    asked: FxHashSet<usize>,
    met: Vec<Met>,
}

/// A definition inside of a step.
#[derive(Debug)]
pub(super) struct Met {
    /// The loops around it.
    around: Vec<Ix>,
    cells: f64,
    cost: f64,
    /// How often its cells are read, all together.
    reads: f64,
}

impl Stored {
    /// An evaluation in which these are stored.
    pub(crate) fn of(asked: FxHashSet<usize>) -> Stored {
        Stored { asked, met: Vec::new() }
    }

    /// The number of a definition, and whether it is to be stored.
    pub(super) fn meets(&mut self, met: Met) -> (usize, bool) {
        let number = self.met.len();
        self.met.push(met);
        (number, self.asked.contains(&number))
    }

    /// The definitions that are worth a store.
    pub(crate) fn wanted(&self) -> FxHashSet<usize> {
        let worth = |met: &Met| {
            met.cells >= FEW
                && met.cost >= LEAST
                && (met.reads / met.cells - 1.0) * met.cost >= SAVED
        };
        self.met.iter().enumerate().filter(|(_, met)| worth(met)).map(|(at, _)| at).collect()
    }
}

/// Whether a definition inside of loops may be stored in the step that it belongs to.
pub(super) fn may_be_stored(
    it: &Flatten<'_>,
    ty: ScalarType,
    shape: &[Extent],
    clauses: &[Clause],
    around: &[Ix],
) -> bool {
    let [clause] = clauses else { return false };
    let known = |ix: &Ix| it.points.ixs[*ix].bounds.is_none() && it.points.ixs[*ix].range.0 >= 0;
    let nodes = [Some(clause.value), clause.guard, clause.otherwise];
    let mut nodes = nodes.into_iter().flatten();
    let alone = it.turns.is_none() && it.descent.is_none();
    alone
        && !shape.is_empty()
        && shape.iter().all(|extent| extent.constant().is_some())
        && around.iter().all(known)
        && it.pending.iter().all(|arr| it.points.arrs[*arr].ty == ty)
        && cells_of(shape) <= MOST * cells_of_step(it, around)
        && nodes.all(|node| {
            let info = &it.points.nodes[node];
            !info.reduces && (!info.traps || it.when.is_none())
        })
}

/// What is known of a definition inside of a step.
pub(super) fn met(it: &Flatten<'_>, shape: &[Extent], clauses: &[Clause]) -> Met {
    let cells = cells_of(shape);
    let cost = clauses.iter().map(|clause| it.points.nodes[clause.value].cost).sum();
    Met { around: it.loops.clone(), cells, cost, reads: 0.0 }
}

fn cells_of(shape: &[Extent]) -> f64 {
    shape.iter().map(|extent| extent.first as f64).product()
}

/// The cells of a step of the largest recurrence around.
fn cells_of_step(it: &Flatten<'_>, around: &[Ix]) -> f64 {
    let loops: f64 = around.iter().map(|ix| (it.points.ixs[*ix].range.1 + 1) as f64).product();
    let cells = it.pending.iter().map(|arr| {
        let shape = &it.points.arrs[*arr].shape;
        shape.iter().map(|extent| *extent as f64).product::<f64>() / loops
    });
    cells.fold(0.0, f64::max)
}

/// A definition inside of a step as a part of the step.
pub(super) fn in_step(
    it: &mut Flatten<'_>,
    name: Option<Symbol>,
    (ty, shape): (ScalarType, Vec<Extent>),
    clauses: Vec<Clause>,
    around: &[Ix],
    span: Span,
) -> Val {
    let value = it.lift(name, ty, shape, clauses, around, span);
    if let Val::Array(array) = &value
        && let ArrayKind::Stored(arr, _) = &array.kind
    {
        it.pending.insert(*arr);
        it.within.push(Within::new(*arr, 0, around));
    }
    value
}

/// Notes a read of a definition inside of a step.
pub(crate) fn is_read(it: &mut Flatten<'_>, number: usize) {
    let Some(met) = it.stored.met.get_mut(number) else { return };
    let extent = |ix: &Ix| {
        let (lo, hi) = it.points.ixs[*ix].range;
        (hi - lo + 1).max(1) as f64
    };
    let inside = it.loops.iter().filter(|ix| !met.around.contains(ix));
    met.reads += inside.map(extent).product::<f64>();
}
