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

use super::Keeps;
use super::plan::{Making, Name, What, Why};
use crate::points::{Arr, Points};
use build::{Built, Segments};
use find::Found;
use rustc_hash::FxHashSet;
use std::collections::BTreeSet;

/// A sweep and what runs between its passes.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    built: Built,
    /// What runs between the passes.
    pub(crate) between: Vec<usize>,
    /// What is kept of the histories.
    keeps: Keeps,
    /// The bytes that they may take, if that is limited.
    limit: Option<u64>,
}

/// What is computed, one after another.
#[derive(Clone, Debug)]
pub(crate) enum Item {
    /// Definitions, by number.
    Definitions(Vec<usize>),
    /// A sweep.
    Sweep(Box<Sweep>),
}

/// Finds the sweeps among the definitions, whose histories may take so many bytes.
pub(crate) fn run(
    points: &mut Points,
    wanted: &FxHashSet<Arr>,
    limit: Option<u64>,
    plan: &mut Making,
) -> Vec<Item> {
    let mut items = Vec::new();
    let defs: Vec<usize> = (0..points.defs.len()).collect();
    split(points, defs, (wanted, limit), &mut items, plan);
    items
}

fn split(
    points: &mut Points,
    defs: Vec<usize>,
    (wanted, limit): (&FxHashSet<Arr>, Option<u64>),
    items: &mut Vec<Item>,
    plan: &mut Making,
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
                split(points, order.before, (wanted, limit), items, plan);
                let keeps = keeps(points, &built, limit);
                let sweep = Sweep { built, between: order.between, keeps, limit };
                items.push(Item::Sweep(Box::new(sweep)));
                split(points, order.after, (wanted, limit), items, plan);
                return;
            }
            Err(why) if adjoint => plan.note(What::WholeHistory, Why::Told(why.to_string())),
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

/// How the histories are kept: whole, if they fit into what derivatives may take.
fn keeps(points: &Points, built: &Built, limit: Option<u64>) -> Keeps {
    if built.backward.is_empty() {
        return Keeps::Segment;
    }
    match limit.is_some_and(|limit| bytes(points, built) > limit) {
        true => Keeps::Checkpoints,
        false => Keeps::All,
    }
}

impl Sweep {
    /// The arrays that it leaves for others.
    pub(crate) fn computes(&self, points: &Points) -> Vec<Arr> {
        let passes = self.built.stages.iter().flat_map(|stage| [&stage.early, &stage.late]);
        let results = passes.flat_map(|pass| pass.results.iter().map(|(_, _, result)| *result));
        let complete = self.built.complete.iter();
        let sums = complete.flat_map(|def| Points::filled(&points.defs[*def]));
        results.chain(sums).collect()
    }

    /// The decision that it is.
    fn decided(&self, points: &Points) -> (What, Why) {
        let names: Vec<Name> =
            self.built.forward.iter().map(|kept| points.arrs[kept.member.arr].name).collect();
        let Segments { grain: every, steps, .. } = self.built.segments;
        let bytes = bytes(points, &self.built);
        let why = match self.keeps {
            Keeps::All => Why::Told(format!("{bytes} bytes")),
            Keeps::Checkpoints => Why::Told(format!(
                "the history would take {bytes} bytes of {}",
                self.limit.unwrap_or(0)
            )),
            Keeps::Segment => Why::Only,
        };
        (What::Sweep { names, every, steps, keeps: self.keeps }, why)
    }
}
