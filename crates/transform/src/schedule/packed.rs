//! Arrays whose parts have shapes of their own: the names of a system of recurrences, the fields of a state,
//! a recurrence and those inside of its steps.
//!
//! Points have one array for all of them, with an axis whose position says which part is meant and a box
//! around each. In memory the parts lie one after another, each with its own extents and all of its steps
//! (structure of arrays): a row beside a matrix runs along memory, so does one cell of each step, and no
//! cell outside of a part takes room or is zeroed.
//!
//! An array is packed along an axis if what clauses fill and reads can be at falls apart along it, and if a box
//! would be noticeably larger. Nothing is read or written outside of a part: it is as large as all that
//! meets it.

use super::emit::AxisPlace;
use super::row_major;
use crate::points::{Body, Def, Node, Points};

/// The parts of an array, and the axis that tells them apart.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    axis: usize,
    parts: Vec<Part>,
    cells: i64,
}

/// A part: where it begins and ends along each axis, how far its cells are from each other, and where that
/// at position zero would be.
#[derive(Clone, Debug)]
struct Part {
    reach: Reach,
    room: Vec<i64>,
    strides: Vec<i64>,
    offset: i64,
}

/// The first position along each axis, and one past the last.
type Reach = Vec<(i64, i64)>;

/// The room of a box along each axis, with whether it is that of every part, and the axes in the order in
/// which they lie.
type Boxed<'a> = (&'a [(i64, bool)], &'a [usize]);

impl Packed {
    /// The parts of a recurrence, if they are worth it.
    pub(crate) fn of(points: &Points, def: &Def, boxed: Boxed<'_>) -> Option<Packed> {
        let Body::Clauses(clauses, Some(_)) = &def.body else { return None };
        let shape = &points.arrs[def.arr].shape;
        let mut reached: Vec<Reach> = Vec::new();
        for clause in clauses {
            let slots = clause.slots.iter().map(|slot| points.ixs[slot.ix].range);
            reached.push(slots.map(|(lo, hi)| (lo as i64, hi as i64 + 1)).collect());
        }
        for other in &points.defs {
            let loads = points.loads(&points.roots(other));
            let own = loads.iter().filter(|(arr, _)| *arr == def.arr);
            let reach = |node: &Node, extent: &i64| match points.nodes[*node].range {
                Some((lo, hi)) => (lo.max(0) as i64, hi.min(i128::from(extent - 1)) as i64 + 1),
                None => (0, *extent),
            };
            reached.extend(own.map(|(_, at)| {
                at.iter().zip(shape).map(|(node, extent)| reach(node, extent)).collect::<Reach>()
            }));
        }
        let mut own = (0..shape.len()).filter(|axis| !boxed.0[*axis].1);
        own.find_map(|axis| along(axis, &reached, boxed))
    }

    /// The axis that tells parts apart.
    pub(crate) fn axis(&self) -> usize {
        self.axis
    }

    /// How many cells are kept of all parts.
    pub(crate) fn cells(&self) -> i64 {
        self.cells
    }

    /// Where the parts are along each axis.
    pub(crate) fn reaches(&self) -> impl Iterator<Item = &[(i64, i64)]> {
        self.parts.iter().map(|part| part.reach.as_slice())
    }

    /// The room that each part has along the axes.
    pub(crate) fn rooms(&self) -> impl Iterator<Item = &[i64]> {
        self.parts.iter().map(|part| part.room.as_slice())
    }

    /// How positions count in the part that is meant, and what is added; `each` is how they would if cells
    /// were next to each other along every axis.
    pub(crate) fn places(
        &self,
        points: &Points,
        each: &[AxisPlace],
        at: &[Node],
    ) -> (Vec<AxisPlace>, i64) {
        let inside = |part: &&Part| {
            let (from, end) = part.reach[self.axis];
            let range = points.nodes[at[self.axis]].range;
            range.is_some_and(|(lo, hi)| i128::from(from) <= lo && hi < i128::from(end))
        };
        let part = self.parts.iter().find(inside);
        let part = part.expect("every position in a packed array is in one part");
        let axes = each.iter().zip(&part.strides).map(|(axis, stride)| axis.times(*stride));
        (axes.collect(), part.offset)
    }
}

/// How far apart the places along each axis are where the axes lie in this order.
pub(crate) fn strides(room: &[i64], order: &[usize]) -> Vec<i64> {
    let ordered: Vec<i64> = order.iter().map(|at| room[*at]).collect();
    let mut strides = vec![0; room.len()];
    for (at, stride) in order.iter().zip(row_major(&ordered)) {
        strides[*at] = stride;
    }
    strides
}

/// The parts that an axis tells apart.
fn along(axis: usize, reached: &[Reach], (boxed, order): Boxed<'_>) -> Option<Packed> {
    let mut parts: Vec<Reach> = Vec::new();
    let some = |reach: &&Reach| reach.iter().all(|(lo, hi)| lo < hi);
    let mut all: Vec<&Reach> = reached.iter().filter(some).collect();
    all.sort_by_key(|reach| reach[axis]);
    for reach in all {
        match parts.last_mut() {
            Some(part) if reach[axis].0 < part[axis].1 => {
                for (own, (lo, hi)) in part.iter_mut().zip(reach) {
                    *own = (own.0.min(*lo), own.1.max(*hi));
                }
            }
            Some(_) | None => parts.push(reach.clone()),
        }
    }
    if parts.len() < 2 {
        return None;
    }
    let (mut packed, mut cells) = (Vec::new(), 0i64);
    for reach in parts {
        let own = |at: usize| (reach[at].1 - reach[at].0).max(0);
        let room = boxed.iter().enumerate();
        let room: Vec<i64> =
            room.map(|(at, (room, same))| if *same { *room } else { own(at) }).collect();
        let strides = strides(&room, order);
        let from = (0..room.len()).filter(|at| !boxed[*at].1);
        let offset = cells - from.map(|at| reach[at].0 * strides[at]).sum::<i64>();
        let size = room.iter().try_fold(1i64, |all, it| all.checked_mul(*it))?;
        cells = cells.checked_add(size)?;
        packed.push(Part { reach, room, strides, offset });
    }
    let whole = boxed.iter().try_fold(1i64, |all, (it, _)| all.checked_mul(*it))?;
    // Less than a fifth is not worth parts that do not lie alike.
    (cells > 0 && cells.checked_mul(5)? < whole.checked_mul(4)?).then_some(Packed {
        axis,
        parts: packed,
        cells,
    })
}
