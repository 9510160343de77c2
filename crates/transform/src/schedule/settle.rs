//! Intervals of recurrences on integers, by induction.
//!
//! Before:  `c[0] = start`, `c[t in 1..51, i] = if … sum(d) c[t - 1, i + d] … { 1 } else { 0 }`: the
//!          cells of `start` may be anything, so every sum is checked
//! After:   the same for `t in 1..2`; for `t in 2..51` what is read is 0 or 1, and nothing can fail
//!
//! A clause gives values of a known interval whatever it reads. Its steps that read only steps of the
//! same clause know that of what they read; the first ones, which read others, are peeled off.
//!
//! Needs: steps forward, reads a few steps back.
//! Refuses: conditions, domains that depend on the step, intervals that say nothing.
//!
//! Failures: operations that the interval proves to fit lose their check. The interval holds
//! whatever the clause has read, also where an operation before it has failed.

use crate::points::{Arr, Body, Clause, Def, Fact, Kind, Points, Range, Step};

/// The most steps that are peeled off.
const MOST_STEPS: i128 = 4;

/// Uses what clauses of recurrences say about the steps before.
pub(crate) fn run(points: &mut Points) {
    for at in 0..points.defs.len() {
        let def = points.defs[at].clone();
        if let Some(clauses) = settled(points, &def)
            && let Body::Clauses(old, _) = &mut points.defs[at].body
        {
            *old = clauses;
        }
    }
}

/// The clauses of a recurrence with the first steps of one of them apart.
fn settled(points: &mut Points, def: &Def) -> Option<Vec<Clause>> {
    let Body::Clauses(clauses, Some(steps)) = &def.body else { return None };
    let Step { axis, backward } = *steps.first()?;
    if backward || !points.arrs[def.arr].ty.is_int() {
        return None;
    }
    let last = clauses.len().checked_sub(1)?;
    let clause = &clauses[last];
    let (lo, hi) = points.ixs[clause.slots[axis].ix].range;
    let overlaps = |other: &Clause| {
        let (first, end) = points.ixs[other.slots[axis].ix].range;
        first <= hi && lo <= end
    };
    let known = clause.slots.iter().all(|slot| points.ixs[slot.ix].bounds.is_none());
    if !known || clause.guard.is_some() || clauses[..last].iter().any(overlaps) {
        return None;
    }
    // Where no clause says anything there are zeros.
    let (least, most) = points.nodes[clause.value].range?;
    let range = (least.min(0), most.max(0));
    let back = steps_back(points, def.arr, clause, axis, range)?;
    if back > MOST_STEPS || lo + back > hi {
        return None;
    }
    points.facts.entry(def.arr).or_default().push(Fact { axis, steps: (lo, hi), range });
    let mut all = clauses[..last].to_vec();
    if back > 0 {
        all.push(points.restricted(clause, axis, (lo, lo + back - 1)));
    }
    all.push(points.restricted(clause, axis, (lo + back, hi)));
    Some(all)
}

/// How many steps back a clause reads, if that is known of every read and one of them would gain.
fn steps_back(
    points: &Points,
    arr: Arr,
    clause: &Clause,
    axis: usize,
    range: Range,
) -> Option<i128> {
    let step = clause.slots[axis].ix;
    let (mut back, mut gains) = (0, false);
    for node in points.below(&[clause.value]) {
        let Kind::Load(of, at) = &points.nodes[node].kind else { continue };
        if *of != arr {
            continue;
        }
        let offset = points.offset_from(at[axis], step)?;
        back = back.max(-i128::from(offset));
        let (lo, hi) = points.nodes[node].range?;
        gains |= lo < range.0 || range.1 < hi;
    }
    gains.then_some(back)
}
