//! Cells of a system that wait for none of their own row: they are filled before the row, in vectors.
//!
//! Before:  `for i { for j { m[i, j] = f(m[i - 1, j - 1], y[i - 1, j - 1]); y[i, j] = g(m[i, j - 1], y[i, j - 1]) } }`
//! After:   `for i { for j in vectors { m[i, j] = … }; for j { y[i, j] = … } }`
//!
//! Needs: two axes of steps at least, and clauses that read what earlier steps of the outer ones have filled
//! and nothing else of the recurrence.
//! Refuses: short rows, and those in which no clause or every clause is of that kind.
//!
//! Failures: the same cells in another order; each is computed once.

use super::super::beside;
use super::super::emit::Emit;
use super::super::nest::VECTOR;
use super::super::view::View;
use super::At;
use crate::points::Clause;
use crate::points::reduction::without_only_points;

/// Rows of fewer vectors are not worth a loop of their own.
const VECTORS: i64 = 2;

/// Fills the cells that wait for no other of these steps along the last axis of steps; the clauses that
/// do wait are left.
pub(super) fn fill(
    emit: &mut Emit,
    at: &mut At<'_>,
    active: &[Clause],
    depth: usize,
    (lo, hi): (i64, i64),
) -> Option<Vec<Clause>> {
    let plain = emit.ends.is_none()
        && !emit.mirrors.contains_key(&at.arr)
        && !beside::has(emit, at.arr)
        && !emit.points.exact
        && at.shared.is_empty();
    let last = depth > 0 && depth + 1 == at.steps.len();
    if !plain || !last || hi - lo < VECTORS * VECTOR {
        return None;
    }
    let (free, rest): (Vec<Clause>, Vec<Clause>) =
        active.iter().cloned().partition(|clause| waits_for_none(&emit.view(), at, clause, depth));
    if free.is_empty() || rest.is_empty() {
        return None;
    }
    for clause in &free {
        let value = without_only_points(&mut emit.points, clause.value, true);
        let clause = Clause { value, ..clause.clone() };
        let mut loops = Vec::new();
        for (axis, slot) in clause.slots.iter().enumerate() {
            let outer = at.steps[..depth].iter().any(|step| step.axis == axis);
            if axis == at.steps[depth].axis {
                loops.push((slot.ix, emit.points.int(lo), emit.points.int(hi)));
            } else if !outer {
                loops.push((slot.ix, slot.lo, slot.hi));
            }
        }
        let cell = emit.cell(&clause, at.arr);
        emit.nest(at.arr, loops, vec![cell]);
    }
    at.filled = free;
    Some(rest)
}

/// Whether all that a clause reads of its own array was filled by other steps of the axes outside of this
/// one.
fn waits_for_none(view: &View<'_>, at: &At<'_>, clause: &Clause, depth: usize) -> bool {
    let axis = at.steps[depth].axis;
    let points = view.points;
    let constant = |node| points.as_int(node).is_some();
    let roots = [Some(clause.value), clause.guard, clause.otherwise];
    let roots: Vec<_> = roots.into_iter().flatten().collect();
    constant(clause.slots[axis].lo)
        && constant(clause.slots[axis].hi)
        && points.loads(&roots).iter().all(|(arr, place)| {
            let before = |axis: usize| {
                let offset = points.offset_from(place[axis], clause.slots[axis].ix);
                offset.is_some_and(|offset| offset != 0)
            };
            *arr != at.arr || at.steps[..depth].iter().any(|step| before(step.axis))
        })
}
