//! Where the extremes of a step of a recurrence are, found with the extremes themselves.
//!
//! Before:  `v[t, s] = max(p) (v[t - 1, p] + c[p, s]) + e[t, s]`, and after all steps
//!          `back[t, s] = argmax(p) (v[t - 1, p] + c[p, s])`: the same terms in a second pass
//! After:   every step keeps its rows of extremes with their addresses, and writes both
//!
//! Needs: reductions across memory, which rows of accumulators hold ([`super::rows`]).
//! Refuses: conditions, clauses for other steps or cells, steps in a sweep.
//!
//! Failures: the address is asked for the terms that the step looks at in any case.

use super::emit::Emit;
use super::group::reduces_across;
use super::home;
use super::nest::{Cell, Loop};
use super::plan::Why;
use super::rows::has_addresses;
use crate::points::{Arr, Body, Clause, Def, Ix, Kind, Node, Points, Slot, Subst};
use ein_ir::loops::BufferKind;
use ein_ir::tensor::ReduceOp;
use ein_scalar::ScalarType;
use rustc_hash::FxHashSet;

/// Addresses that are written beside the steps of a recurrence.
#[derive(Clone, Debug)]
pub(crate) struct Beside {
    /// The recurrence.
    pub(crate) of: Arr,
    /// The definition of the addresses.
    pub(crate) def: usize,
    /// The addresses, over the indices of the clause of the steps.
    clause: Clause,
}

/// A reduction whose row of extremes keeps addresses as well, and the cells that these go to.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) node: Node,
    pub(crate) arr: Arr,
    pub(crate) at: Vec<Node>,
}

/// The definitions among these that are written beside steps of others, one for each recurrence.
pub(crate) fn find(points: &mut Points, defs: &[usize]) -> Vec<Beside> {
    let mut found: Vec<Beside> = Vec::new();
    for at in defs {
        let Some((clause, op)) = addresses(points, &points.defs[*at]) else { continue };
        for other in defs.iter().filter(|other| *other < at) {
            let of = points.defs[*other].arr;
            let free = found.iter().all(|beside| beside.of != of);
            if free && let Some(clause) = of_step(points, *other, &clause, op) {
                found.push(Beside { of, def: *at, clause });
                break;
            }
        }
    }
    found
}

/// The only clause of a definition of addresses, and which extreme they are of.
fn addresses(points: &Points, def: &Def) -> Option<(Clause, ReduceOp)> {
    let Body::Clauses(clauses, None) = &def.body else { return None };
    let [clause] = clauses.as_slice() else { return None };
    let Kind::Reduce(reduction) = &points.nodes[clause.value].kind else { return None };
    let op = match reduction.op {
        ReduceOp::Argmax => ReduceOp::Max,
        ReduceOp::Argmin => ReduceOp::Min,
        _ => return None,
    };
    let plain = clause.guard.is_none() && points.arrs[def.arr].ty == ScalarType::I32;
    (plain && reduces_across(points, clause)).then(|| (clause.clone(), op))
}

/// The addresses over the indices of a clause of a recurrence that takes the extremes of the same terms
/// for the same cells.
fn of_step(points: &mut Points, def: usize, clause: &Clause, op: ReduceOp) -> Option<Clause> {
    let Body::Clauses(clauses, Some(steps)) = points.defs[def].body.clone() else { return None };
    // Rows run along the last axis.
    if steps.iter().any(|step| step.axis + 1 == clause.slots.len()) {
        return None;
    }
    let known = |points: &Points, slot: &Slot| points.ixs[slot.ix].bounds.is_none();
    clauses.into_iter().find_map(|of| {
        let pairs = || clause.slots.iter().zip(&of.slots);
        let range = |slot: &Slot| points.ixs[slot.ix].range;
        let alike = of.guard.is_none()
            && of.slots.len() == clause.slots.len()
            && pairs().all(|(a, b)| range(a) == range(b) && known(points, a) && known(points, b));
        if !alike {
            return None;
        }
        let names: Vec<(Ix, Ix)> = pairs().map(|(own, name)| (own.ix, name.ix)).collect();
        let names: Vec<(Ix, Node)> =
            names.into_iter().map(|(own, name)| (own, points.index(name))).collect();
        let value = Subst::new(names).apply(points, clause.value);
        let Kind::Reduce(asked) = points.nodes[value].kind.clone() else { return None };
        let same = points.below(&[of.value]).into_iter().any(|node| {
            let Kind::Reduce(own) = &points.nodes[node].kind else { return false };
            own.op == op
                && (own.body, own.guard) == (asked.body, asked.guard)
                && own.binders == asked.binders
        });
        same.then(|| Clause { slots: of.slots.clone(), value, ..clause.clone() })
    })
}

/// Gives the definitions that are written beside others room.
pub(crate) fn place(emit: &mut Emit, found: Vec<Beside>, wanted: &FxHashSet<Arr>) {
    for beside in &found {
        let def = emit.points.defs[beside.def].clone();
        if !wanted.contains(&def.arr) {
            let why = Why::Since("the steps of a recurrence write it with their extremes");
            home::give(emit, def.arr, BufferKind::Scratch, why);
        }
        super::clear_left_out(emit, &def);
    }
    emit.beside.extend(found);
}

/// Whether addresses are written beside the steps of an array.
pub(crate) fn has(emit: &Emit, arr: Arr) -> bool {
    emit.beside.iter().any(|beside| beside.of == arr)
}

/// The cells of a step, and the addresses that are written beside them.
pub(crate) fn nest_of_step(
    emit: &mut Emit,
    arr: Arr,
    clause: &Clause,
    loops: Vec<Loop>,
    cell: Cell,
) {
    let beside = emit.beside.iter().find(|it| it.of == arr && it.clause.slots == clause.slots);
    let Some(Beside { def, clause: addresses, .. }) = beside.cloned() else {
        return emit.nest(arr, loops, vec![cell]);
    };
    let to = emit.points.defs[def].arr;
    let (at, value) = emit.cell(&addresses, to);
    emit.kept =
        extreme(emit, clause.value, value).map(|node| Kept { node, arr: to, at: at.clone() });
    let asked = emit.kept.is_some();
    emit.nest(arr, loops.clone(), vec![cell]);
    let left = emit.kept.take().is_some();
    if left || !asked {
        emit.nest(to, loops, vec![(at, value)]);
    }
}

/// The only extreme in the value of a cell whose address this can be. Arrays that it reads may have
/// been turned since.
fn extreme(emit: &Emit, value: Node, address: Node) -> Option<Node> {
    let Kind::Reduce(asked) = &emit.points.nodes[address].kind else { return None };
    let op = if asked.op == ReduceOp::Argmax { ReduceOp::Max } else { ReduceOp::Min };
    let below = emit.points.below(&[value]);
    // A choice may be written as branches, each with rows of its own.
    if below.iter().any(|node| matches!(emit.points.nodes[*node].kind, Kind::Select(..))) {
        return None;
    }
    let mut found = below.into_iter().filter(|node| match &emit.points.nodes[*node].kind {
        Kind::Reduce(own) => own.op == op,
        _ => false,
    });
    let (node, None) = (found.next()?, found.next()) else { return None };
    let Kind::Reduce(own) = &emit.points.nodes[node].kind else { return None };
    (own.binders == asked.binders && has_addresses(&emit.view(), own)).then_some(node)
}
