//! The rules of plans, which builds with debug assertions hold.
//!
//! * What a definition reads is given, or was computed before it, or is computed with it.
//! * A ring holds every step that is read while it is there.
//! * What definitions in the same loops read of each other is at their own position along these loops, so
//!   that no turn of them waits for another one, whether threads share them or not.
//! * Buffers that share memory are not in use at the same time.
//!
//! That parallel loops and loops in vectors carry nothing in registers is a rule of the loops themselves
//! ([`ein_ir::loops::verify`](mod@ein_ir::loops::verify)).

use super::Where;
use crate::points::{Arr, Body, Clause, Def, Kind, Node, Points};
use crate::schedule::Part;
use crate::schedule::group::Group;
use crate::schedule::reuse::dies_into;
use ein_ir::loops::{Buf, BufferKind, Kernel, captures};
use rustc_hash::FxHashSet;
use std::collections::BTreeMap;

/// What is wrong with the parts of a kernel.
pub(crate) fn parts(points: &Points, parts: &[Part]) -> Vec<String> {
    // Inputs, and copies that parts make for themselves.
    let defined: FxHashSet<Arr> = points.defs.iter().flat_map(Points::filled).collect();
    let mut known: FxHashSet<Arr> =
        points.arrs.ids().filter(|arr| !defined.contains(arr)).collect();
    let mut problems = Vec::new();
    for part in parts {
        match part {
            Part::Groups(beside, groups) => {
                // They are written with the steps of a recurrence among the groups.
                known.extend(beside.iter().map(|it| points.defs[it.def].arr));
                groups.iter().for_each(|it| of_group(points, it, &mut known, &mut problems));
            }
            Part::Sweep(sweep, groups) => {
                known.extend(sweep.computes(points));
                groups.iter().for_each(|it| of_group(points, it, &mut known, &mut problems));
            }
        }
    }
    problems
}

fn of_group(
    points: &Points,
    group: &Group,
    known: &mut FxHashSet<Arr>,
    problems: &mut Vec<String>,
) {
    let name = |arr: Arr| points.arrs[arr].name.map_or("_".to_owned(), |name| name.to_string());
    let members = group.defs();
    for (def, axes) in &members {
        let def = &points.defs[*def];
        // What fills several arrays reads some of them.
        known.extend(Points::filled(def));
        for (arr, at) in points.loads(&points.roots(def)) {
            if !known.contains(&arr) {
                problems.push(format!("{} reads {} before it", name(def.arr), name(arr)));
            }
            let other = members.iter().find(|(other, _)| points.defs[*other].arr == arr);
            let Some((_, others)) = other.filter(|_| group.is_fused()) else { continue };
            if !stays(points, def, (axes, others), &at) {
                let (def, arr) = (name(def.arr), name(arr));
                problems.push(format!("{def} reads {arr} at another turn of shared loops"));
            }
        }
    }
    for placed in group.placed() {
        if let Where::Ring { axis, steps, .. } = placed.place
            && let Some(def) = points.def_of(placed.arr)
            && let Some(missed) = outside_ring(points, &points.defs[def], axis, steps)
        {
            problems.push(format!("a ring of {steps} of {}: {missed}", name(placed.arr)));
        }
    }
}

/// Whether a read is at the position of the cell along the axes of shared loops.
fn stays(points: &Points, def: &Def, (own, others): (&[usize], &[usize]), at: &[Node]) -> bool {
    let Body::Clauses(clauses, _) = &def.body else { return false };
    let own_index = |node: Node, axis: usize| {
        let is = |clause: &Clause| points.nodes[node].kind == Kind::Index(clause.slots[axis].ix);
        clauses.iter().any(is)
    };
    own.iter().zip(others).all(|(axis, other)| own_index(at[*other], *axis))
}

/// A read that a ring of so many steps does not hold.
fn outside_ring(points: &Points, def: &Def, axis: usize, steps: i64) -> Option<String> {
    let (clauses, order, ended) = match &def.body {
        Body::Clauses(clauses, Some(order)) => (clauses, order, false),
        Body::Until(body) => (&body.clauses, &body.steps, true),
        _ => return Some("it has no steps".to_owned()),
    };
    let backward = order.iter().any(|step| step.axis == axis && step.backward);
    for clause in clauses {
        let slot = clause.slots[axis].ix;
        let (first, last) = points.ixs[slot].range;
        for (_, at) in points.loads(&[clause.value]).iter().filter(|(arr, _)| *arr == def.arr) {
            let away = match points.offset_from(at[axis], slot) {
                Some(away) => i128::from(away),
                None if first == last => {
                    points.nodes[at[axis]].range.map_or(i128::MIN, |r| r.0) - first
                }
                None => return Some("a step reads others that vary".to_owned()),
            };
            let back = if backward { away } else { -away };
            let own = at.iter().zip(&clause.slots).enumerate().all(|(other, (node, slot))| {
                other == axis || points.offset_from(*node, slot.ix) == Some(0)
            });
            // The place of a step as old as the ring is that of the one being made.
            let held = back < i128::from(steps) || back == i128::from(steps) && own;
            if back < 0 || !held {
                return Some(format!("a step reads {back} steps back"));
            }
        }
    }
    let extent = i128::from(points.arrs[def.arr].shape[axis]);
    for other in points.defs.iter().filter(|other| other.arr != def.arr && !ended) {
        let loads = points.loads(&points.roots(other));
        for (_, at) in loads.iter().filter(|(arr, _)| *arr == def.arr) {
            let range = points.nodes[at[axis]].range;
            let seen = range.map_or(extent, |(lo, hi)| if backward { hi + 1 } else { extent - lo });
            if seen > i128::from(steps) {
                return Some(format!("the last {seen} are read"));
            }
        }
    }
    None
}

/// What is wrong with buffers that move into others.
pub(crate) fn sharing(
    kernel: &Kernel,
    moved: &BTreeMap<Buf, Buf>,
    once: &FxHashSet<Buf>,
) -> Vec<String> {
    let mut uses: BTreeMap<Buf, (usize, usize)> = BTreeMap::new();
    for (at, stmt) in kernel.body.iter().enumerate() {
        for buf in captures(std::slice::from_ref(stmt)).bufs {
            uses.entry(buf).or_insert((at, at)).1 = at;
        }
    }
    let home = |buf: Buf| moved.get(&buf).copied().unwrap_or(buf);
    let mut problems = Vec::new();
    for (one, (first, last)) in &uses {
        for (other, (begin, _)) in uses.iter().filter(|(other, _)| *other != one) {
            // The one that is used first, and one that begins after it.
            let ordered = (first, one) < (begin, other);
            if !ordered || home(*one) != home(*other) {
                continue;
            }
            let ends = kernel.bufs[*one].kind != BufferKind::Output && last < begin;
            let dies = last == begin
                && once.contains(other)
                && dies_into(&kernel.body[*begin], *one, *other);
            if !ends && !dies {
                let [one, other] = [*one, *other].map(|it| kernel.bufs[it].name.clone());
                problems.push(format!("{one} and {other} share memory and are in use together"));
            }
        }
    }
    problems
}
