//! Arrays of which only a part is defined and read are as large as that part.
//!
//! Before:  `r[t in 1..200, i] = sum(k) a[i, k] x[t - 1, k]` of an array of 200 rows, read at `r[t]` for `t` from 1
//! After:   `s[t in 0..199, i] = sum(k) a[i, k] x[t, k]`, and what read `r[t]` reads `s[t - 1]`
//!
//! What a step of a recurrence computes, asked for once more by its derivative, is defined from the first
//! step on, and passes that look for whole arrays (contractions, definitions that are the same) did not
//! see it.
//!
//! Needs: one clause without a condition, whose bounds are constants.
//! Refuses: results, arrays of which somebody may read a cell that is not defined, and so zero, and addresses
//! of extremes, which are found in the steps of a recurrence that has the extremes (`beside`).
//!
//! Failures: the same operations fail at the same points.

use super::before::Before;
use super::contract::covers;
use super::same::{inside, instead, is_cheap, plain_clause};
use crate::points::{Arr, Clause, Ix, Kind, Node, Points};
use ein_ir::tensor::ReduceOp;
use rustc_hash::FxHashSet;

/// Makes arrays as large as what is defined of them.
pub(crate) fn run(points: &mut Points, wanted: &FxHashSet<Arr>) {
    let mut at = 0;
    while at < points.defs.len() {
        if let Some(clause) = part(points, at, wanted) {
            let ixs: Vec<Ix> = clause.slots.iter().map(|slot| slot.ix).collect();
            let mut before = Before::new(&points.defs[at]);
            let read = before.stored(points, clause.value, &ixs);
            instead(points, at, &clause, read);
            for def in before.take() {
                points.defs.insert(at, def);
                at += 1;
            }
            points.renumber();
        }
        at += 1;
    }
}

/// The clause of a definition that covers a part of its array, if nothing else of it is read.
fn part(points: &Points, at: usize, wanted: &FxHashSet<Arr>) -> Option<Clause> {
    let def = &points.defs[at];
    let clause = plain_clause(points, &def.body)?;
    let whole = covers(points, &clause.slots, &points.arrs[def.arr].shape);
    let is_empty = clause.slots.iter().any(|slot| {
        let (lo, hi) = points.ixs[slot.ix].range;
        hi < lo
    });
    if whole || is_empty || wanted.contains(&def.arr) || is_cheap(points, clause.value) {
        return None;
    }
    let addresses = |node: &Node| match &points.nodes[*node].kind {
        Kind::Reduce(reduction) => matches!(reduction.op, ReduceOp::Argmax | ReduceOp::Argmin),
        _ => false,
    };
    if points.below(&[clause.value]).iter().any(addresses) {
        return None;
    }
    let mut found = false;
    for reader in &points.defs[at + 1..] {
        for (of, place) in points.loads(&points.roots(reader)) {
            if of == def.arr {
                found = true;
                if !inside(points, &clause, &place) {
                    return None;
                }
            }
        }
    }
    found.then_some(clause)
}
