//! Arrays whose parts have shapes of their own: the names of a system of recurrences, the fields of a state.
//!
//! Points have one array for all of them, with an axis whose position says which part is meant and a box
//! around each. In memory the parts lie one after another, each with its own extents and all of its steps
//! (structure of arrays): a row beside a matrix runs along memory, so does one cell of each step, and no
//! cell outside of a part takes room or is zeroed.
//!
//! An array is packed if every read and every clause says which part it means, and if a box would be
//! noticeably larger. Nothing is read or written outside of a part: its extents are the most that any
//! position of a clause or a read can be.

use super::emit::AxisPlace;
use super::row_major;
use crate::points::{Body, Def, Node, Points};

/// The parts of an array, and the axis that tells them apart.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    axis: usize,
    parts: Vec<Part>,
    /// The cells of all parts of a step.
    cells: i64,
    /// How many steps are kept.
    steps: i64,
}

/// A part: how many cells of a step come before it, and its extents along the axes after the one that tells parts apart.
#[derive(Clone, Debug)]
struct Part {
    offset: i64,
    shape: Vec<i64>,
}

/// The first and the last position along each axis that a clause fills or a read can be at.
type Reach = Vec<(i64, i64)>;

impl Packed {
    /// The parts of a recurrence after a number of axes, if they are worth it.
    pub(crate) fn of(points: &Points, def: &Def, after: usize) -> Option<Packed> {
        let Body::Clauses(clauses, Some(_)) = &def.body else { return None };
        let shape = &points.arrs[def.arr].shape;
        let mut reached: Vec<Reach> = Vec::new();
        for clause in clauses {
            let slots = clause.slots.iter().map(|slot| points.ixs[slot.ix].range);
            reached.push(slots.map(|(lo, hi)| (lo as i64, hi as i64)).collect());
        }
        for other in &points.defs {
            let loads = points.loads(&points.roots(other));
            let own = loads.iter().filter(|(arr, _)| *arr == def.arr);
            let reach = |node: &Node, extent: &i64| match points.nodes[*node].range {
                Some((lo, hi)) => (lo.max(0) as i64, hi.min(i128::from(extent - 1)) as i64),
                None => (0, extent - 1),
            };
            reached.extend(own.map(|(_, at)| {
                at.iter().zip(shape).map(|(node, extent)| reach(node, extent)).collect::<Reach>()
            }));
        }
        (after..shape.len()).find_map(|axis| along(shape, axis, &reached))
    }

    /// The axis that tells parts apart.
    pub(crate) fn axis(&self) -> usize {
        self.axis
    }

    /// The same for so many steps.
    pub(crate) fn kept(self, steps: i64) -> Packed {
        Packed { steps, ..self }
    }

    /// How many cells a step has.
    pub(crate) fn cells(&self) -> i64 {
        self.cells
    }

    /// The extents of the parts along the axes after the one that tells them apart.
    pub(crate) fn shapes(&self) -> impl Iterator<Item = &[i64]> {
        self.parts.iter().map(|part| part.shape.as_slice())
    }

    /// The part that a position means.
    fn part(&self, points: &Points, at: &[Node]) -> &Part {
        let part = match points.nodes[at[self.axis]].range {
            Some((lo, hi)) if lo == hi => usize::try_from(lo).ok(),
            Some(_) | None => None,
        };
        let part = part.and_then(|at| self.parts.get(at));
        part.expect("every position in a packed array is in one part")
    }

    /// How positions in the part that is meant count, and where it begins; `before` is how they would count
    /// along the axes before the one that tells parts apart if a part were one cell.
    pub(crate) fn places(
        &self,
        points: &Points,
        before: &[AxisPlace],
        at: &[Node],
    ) -> (Vec<AxisPlace>, i64) {
        let part = self.part(points, at);
        let cells: i64 = part.shape.iter().product();
        let mut axes: Vec<AxisPlace> = before.iter().map(|axis| axis.times(cells)).collect();
        axes.push(AxisPlace::Fixed);
        axes.extend(row_major(&part.shape).into_iter().map(AxisPlace::Strided));
        (axes, self.steps * part.offset)
    }
}

/// The parts that an axis tells apart, if each of these means one of them.
fn along(shape: &[i64], axis: usize, reached: &[Reach]) -> Option<Packed> {
    let inner = &shape[axis + 1..];
    if shape[axis] < 2 || !reached.iter().all(|reach| reach[axis].0 == reach[axis].1) {
        return None;
    }
    let (mut parts, mut cells) = (Vec::new(), 0i64);
    for number in 0..shape[axis] {
        let own = || reached.iter().filter(|reach| reach[axis].0 == number);
        let extent = |at: usize| own().map(|reach| reach[axis + 1 + at].1 + 1).max().unwrap_or(0);
        let shape: Vec<i64> = (0..inner.len()).map(|at| extent(at).max(0)).collect();
        let offset = cells;
        cells = cells.checked_add(shape.iter().try_fold(1i64, |all, it| all.checked_mul(*it))?)?;
        parts.push(Part { offset, shape });
    }
    let boxed = inner.iter().try_fold(shape[axis], |all, it| all.checked_mul(*it))?;
    // Less than a fifth is not worth parts that do not lie alike.
    (cells > 0 && cells.checked_mul(5)? < boxed.checked_mul(4)?).then_some(Packed {
        axis,
        parts,
        cells,
        steps: 1,
    })
}
