//! Sweeps: a recurrence, and the recurrence back over its history that reverse mode has made.
//!
//! Before:  `h[t] = f(h[t - 1])`, `s[t] = s[t + 1] * f'(h[t])`, `g = sum(t) s[t] * h[t - 1]`
//! After:   the steps in segments; forward over them, then back, with `s` and the parts of `g` one
//!          segment at a time
//!
//! The history of `h` is stored, and nothing else. If it does not fit into what derivatives may take,
//! only the steps before each segment are, and a segment is computed again on the way back: with `√T`
//! segments of `√T` steps that is a history of about `2√T` steps for one more evaluation. What is
//! computed in a segment, and in which order, is the same both ways, and so is every bit of the
//! results.
//!
//! The same is done with recurrences that run forward over each other's steps, where that saves
//! memory: tangents are such. Then there is no way back, and no more than a segment is ever kept.
//!
//! * [`find`], [`outside`]: which definitions belong to it, and which read what it leaves.
//! * [`needs`]: what each pass computes of them.
//! * [`build`], [`sums`]: their definitions over the rows of a segment.
//! * [`write`]: the loops.
//!
//! Refuses: histories that are results themselves, reads of steps far away, sums that are not sums.
//! What is refused is stored whole.
//!
//! Failures: members that may fail are computed in the pass forward, wanted or not. What is
//! computed again on the way back fails again, which changes nothing.

mod build;
mod find;
mod needs;
mod outside;
mod sums;
mod write;

use super::{History, Keeps};
use crate::points::{Arr, Points};
use build::{Built, Segments};
use find::Found;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// A sweep and what runs between its passes.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    built: Built,
    between: Vec<usize>,
}

/// What is computed, one after another.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// Definitions, by number.
    Definitions(Vec<usize>),
    /// A sweep.
    Sweep(Box<Sweep>),
}

/// Finds the sweeps among the definitions. Adds notes on those that are none.
pub(crate) fn run(
    points: &mut Points,
    wanted: &FxHashSet<Arr>,
    notes: &mut Vec<String>,
) -> Vec<Item> {
    let mut items = Vec::new();
    let defs: Vec<usize> = (0..points.defs.len()).collect();
    split(points, defs, wanted, &mut items, notes);
    items
}

fn split(
    points: &mut Points,
    defs: Vec<usize>,
    wanted: &FxHashSet<Arr>,
    items: &mut Vec<Item>,
    notes: &mut Vec<String>,
) {
    for start in starts(points, &defs) {
        let mut changed = points.clone();
        let made = find::around(points, &defs, wanted, start).and_then(|found| {
            let built = build::build(&mut changed, &found)?;
            Ok((built, found))
        });
        let adjoint = points.defs[start].adjoint;
        match made {
            Ok((built, found)) if adjoint || is_worth_it(points, &built) => {
                let rest = defs.iter().copied().filter(|def| !built.complete.contains(def));
                let order = Order::of(points, &rest.collect::<Vec<_>>(), &found);
                *points = changed;
                split(points, order.before, wanted, items, notes);
                items.push(Item::Sweep(Box::new(Sweep { built, between: order.between })));
                split(points, order.after, wanted, items, notes);
                return;
            }
            Err(why) if adjoint => notes.push(format!("a history is stored whole: {why}")),
            Ok(_) | Err(_) => {}
        }
    }
    items.push(Item::Definitions(defs));
}

/// Recurrences that sweeps may be around: those that run back, then those that run forward and read
/// others.
fn starts(points: &Points, defs: &[usize]) -> Vec<usize> {
    let long = |def: &usize| {
        let axis = find::ordered(points, *def).map(|(axis, _)| axis);
        let shape = &points.arrs[points.defs[*def].arr].shape;
        axis.is_some_and(|axis| Segments::of(shape[axis], u64::MAX, points.cost).is_some())
    };
    let reads_others = |def: &usize| {
        let own = points.defs[*def].arr;
        let loads = points.loads(&points.roots(&points.defs[*def]));
        let mut others = loads.iter().filter(|(arr, _)| *arr != own);
        others.any(|(arr, _)| points.def_of(*arr).is_some_and(|other| long(&other)))
    };
    let (back, forward): (Vec<usize>, Vec<usize>) =
        defs.iter().copied().filter(long).partition(|def| points.defs[*def].adjoint);
    back.into_iter().chain(forward.into_iter().filter(reads_others)).collect()
}

/// Whether recurrences that run forward over each other need less memory in segments.
fn is_worth_it(points: &Points, built: &Built) -> bool {
    let no_way_back = built.stages.iter().all(|stage| stage.late.is_empty());
    built.forward.len() > 1
        && no_way_back
        && bytes(points, built) >= points.cost.short_history_bytes()
}

/// What the histories take if they are stored, in bytes.
fn bytes(points: &Points, built: &Built) -> u64 {
    built.forward.iter().map(|kept| find::bytes(points, &kept.member)).sum()
}

/// When the definitions that are no members are computed.
struct Order {
    before: Vec<usize>,
    between: Vec<usize>,
    after: Vec<usize>,
}

impl Order {
    fn of(points: &Points, defs: &[usize], found: &Found) -> Order {
        let members: BTreeSet<usize> = found.members.iter().map(|member| member.def).collect();
        let mut needed: BTreeSet<usize> = members.clone();
        needed.extend(found.outside.keys());
        for def in defs.iter().rev() {
            if needed.contains(def) {
                let loads = points.loads(&points.roots(&points.defs[*def]));
                needed.extend(loads.iter().filter_map(|(arr, _)| points.def_of(*arr)));
            }
        }
        let mut order = Order { before: Vec::new(), between: Vec::new(), after: Vec::new() };
        for def in defs.iter().copied().filter(|def| !members.contains(def)) {
            let list = match found.outside.get(&def) {
                Some(false) => &mut order.between,
                Some(true) => &mut order.after,
                None if needed.contains(&def) => &mut order.before,
                None => &mut order.after,
            };
            list.push(def);
        }
        order
    }
}

impl Sweep {
    /// How the histories are kept.
    pub(crate) fn keeps(&self, points: &Points, ad_memory: Option<u64>) -> Keeps {
        if self.built.backward.is_empty() {
            return Keeps::Segment;
        }
        match ad_memory.is_some_and(|limit| bytes(points, &self.built) > limit) {
            true => Keeps::Checkpoints,
            false => Keeps::All,
        }
    }

    /// The histories, and how they are kept.
    pub(crate) fn histories(&self, points: &Points, ad_memory: Option<u64>) -> Vec<History> {
        let (every, keeps) = (self.built.segments.grain, self.keeps(points, ad_memory));
        let names = self.built.forward.iter().filter_map(|kept| points.arrs[kept.member.arr].name);
        names.map(|name| History { name, every, keeps }).collect()
    }

    /// One line for people.
    pub(crate) fn describe(&self, points: &Points, ad_memory: Option<u64>) -> String {
        let name = |kept: &build::Kept| match points.arrs[kept.member.arr].name {
            Some(name) => name.to_string(),
            None => "_".to_owned(),
        };
        let names: Vec<String> = self.built.forward.iter().map(name).collect();
        let names = names.join(", ");
        let Segments { grain, steps, .. } = self.built.segments;
        let bytes = bytes(points, &self.built);
        match self.keeps(points, ad_memory) {
            Keeps::All => format!(
                "{names} (history of {steps} steps stored, read back in segments of {grain}): \
                 {bytes} bytes"
            ),
            Keeps::Checkpoints => format!(
                "{names} (checkpointed every {grain} of {steps} steps, recomputed on the way back): \
                 the history would take {bytes} bytes of {}",
                ad_memory.unwrap_or(0)
            ),
            Keeps::Segment => {
                format!("{names} (together, {grain} of {steps} steps at a time)")
            }
        }
    }
}
