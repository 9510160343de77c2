//! Cells of a step that no clause defines: they are zero.

use super::super::beside;
use super::super::emit::{AxisPlace, Emit, Place};
use super::super::packed::Packed;
use super::At;
use crate::points::{Arr, Body, Clause, Ix, Node, Points, Step};
use ein_base::Symbol;
use ein_ir::loops::{BufferKind, Op, Operand, Stmt};
use ein_scalar::{BinaryOp, Scalar, ScalarType};

/// So many zeros are worth a look at what is read.
const MANY: i64 = 256;

impl Emit {
    /// Zeros where no clause of the step has a cell.
    pub(super) fn uncovered(&mut self, at: &At<'_>, clauses: &[Clause]) {
        let shape = self.points.arrs[at.arr].shape.clone();
        let open: Vec<usize> = (0..shape.len())
            .filter(|axis| at.place[*axis].is_none())
            .filter(|axis| !at.shared.iter().any(|(shared, _)| shared == axis))
            .collect();
        let whole: Vec<(i64, i64)> = open.iter().map(|axis| (0, shape[*axis])).collect();
        let mut boxes = match self.places.get(&at.arr).and_then(Place::packed) {
            Some(packed) => boxes_of_parts(&self.points, at, &open, packed),
            None => vec![whole],
        };
        let mut fixed = true;
        for clause in clauses.iter().chain(&at.filled) {
            let constant = |axis: &usize| {
                let slot = clause.slots[*axis];
                self.points.as_int(slot.lo).is_some() && self.points.as_int(slot.hi).is_some()
            };
            // A clause with dependent bounds may leave cells out.
            if !open.iter().all(constant) {
                fixed = false;
                continue;
            }
            let cut: Vec<(i64, i64)> = open
                .iter()
                .map(|axis| {
                    let (lo, hi) = self.points.ixs[clause.slots[*axis].ix].range;
                    (lo as i64, hi as i64 + 1)
                })
                .collect();
            boxes = boxes.into_iter().flat_map(|it| without(&it, &cut)).collect();
        }
        let boxes = read_boxes(self, at, &open, boxes);
        let fresh = if fixed && !boxes.is_empty() { self.fresh_slot(at) } else { None };
        if fresh.is_some() {
            self.open_block();
        }
        for region in boxes {
            self.zero_box(at, &open, &region);
        }
        if let Some(fresh) = fresh {
            let zeros = self.close_block();
            self.push(Stmt::If(fresh, zeros, Vec::new()));
        }
    }

    /// Whether this step is the first of its run in its place of a ring: what no clause of the run
    /// fills stays as it is until the run ends. `None` if every step has its own place, or is the
    /// first.
    fn fresh_slot(&mut self, at: &At<'_>) -> Option<Operand> {
        let ([Step { axis, .. }], Some(run)) = (at.steps, at.run) else { return None };
        let Some(AxisPlace::Ring(_, len)) = self.places.get(&at.arr)?.axis(*axis) else {
            return None;
        };
        if run.steps <= len {
            return None;
        }
        let (op, limit) = match run.backward {
            false => (BinaryOp::Lt, run.first + len),
            true => (BinaryOp::Gt, run.first - len),
        };
        let step = Operand::Reg(self.bound(run.ix)?.1);
        let limit = Operand::Const(Scalar::I64(limit));
        Some(self.let_here(ScalarType::Bool, Op::Binary(op, step, limit)))
    }

    fn zero_box(&mut self, at: &At<'_>, open: &[usize], region: &[(i64, i64)]) {
        let rank = at.place.len();
        let ty = self.points.arrs[at.arr].ty;
        let value = self.points.constant(Scalar::zero(ty));
        let mut loops = Vec::new();
        let mut place = Vec::new();
        for axis in 0..rank {
            let tiled = at.shared.iter().find(|(shared, _)| *shared == axis);
            if let Some(node) = at.place[axis] {
                place.push(node);
            } else if let Some(at) = open.iter().position(|other| *other == axis) {
                let (lo, hi) = region[at];
                let range = (i128::from(lo), i128::from(hi - 1));
                let ix = self.points.fresh(Symbol::intern("z"), range);
                loops.push((ix, self.points.int(lo), self.points.int(hi)));
                place.push(self.points.index(ix));
            } else if let Some((_, Some((lo, hi)))) = tiled {
                let extent = i128::from(self.points.arrs[at.arr].shape[axis]);
                let ix = self.points.fresh(Symbol::intern("z"), (0, extent - 1));
                loops.push((ix, *lo, *hi));
                place.push(self.points.index(ix));
            } else {
                // That of the shared loops, which does not count in a local buffer.
                let ix = shared_index(&self.points, at.arr, axis);
                place.push(match ix {
                    Some(ix) => self.points.index(ix),
                    None => self.points.int(0),
                });
            }
        }
        self.nest(at.arr, loops, vec![(place, value)]);
    }
}

/// What of these boxes something may read, if all that reads the array is known: what nobody reads need not
/// be zero.
fn read_boxes(
    emit: &Emit,
    at: &At<'_>,
    open: &[usize],
    boxes: Vec<Vec<(i64, i64)>>,
) -> Vec<Vec<(i64, i64)>> {
    let cells = |region: &Vec<(i64, i64)>| region.iter().map(|(lo, hi)| hi - lo).product::<i64>();
    let buffer = emit.places.get(&at.arr).and_then(Place::buffer);
    let kind = buffer.map(|buffer| emit.kernel.bufs[buffer].kind);
    let known = matches!(kind, Some(BufferKind::Scratch))
        && emit.ends.is_none()
        && !emit.filled.contains_key(&at.arr)
        && !emit.mirrors.contains_key(&at.arr)
        && !emit.samples.contains_key(&at.arr)
        && !beside::has(emit, at.arr);
    if !known || boxes.iter().map(cells).sum::<i64>() < MANY {
        return boxes;
    }
    let points = &emit.points;
    let defs = points.defs.iter().flat_map(|def| points.loads(&points.roots(def)));
    let reads: Vec<_> = defs.filter(|(arr, _)| *arr == at.arr).map(|(_, place)| place).collect();
    let read = |region: Vec<(i64, i64)>| {
        // Where the step is along each axis, and the box along those that it leaves open.
        let whole = |axis: usize| {
            let part = open.iter().position(|other| *other == axis).map(|at| region[at]);
            // What is written into a place of a ring stays there for later steps.
            let place = emit.places.get(&at.arr).and_then(|place| place.axis(axis));
            let stays = matches!(place, Some(AxisPlace::Ring(..)));
            let within = at.within[axis].filter(|_| !stays);
            part.or(within).unwrap_or((0, points.arrs[at.arr].shape[axis]))
        };
        let own: Vec<(i64, i64)> = (0..at.place.len()).map(whole).collect();
        let common = |place: &[Node]| {
            let along = |(node, (lo, hi)): (&Node, &(i64, i64))| {
                let (first, last) = points.nodes[*node].range.unwrap_or((i128::MIN, i128::MAX - 1));
                let lo = i128::from(*lo).max(first);
                let hi = i128::from(*hi).min(last + 1);
                (lo < hi).then_some((lo as i64, hi as i64))
            };
            place.iter().zip(&own).map(along).collect::<Option<Vec<_>>>()
        };
        let met: Vec<Vec<(i64, i64)>> = reads.iter().filter_map(|place| common(place)).collect();
        let hull = |axis: &usize| {
            let lo = met.iter().map(|it| it[*axis].0).min()?;
            Some((lo, met.iter().map(|it| it[*axis].1).max()?))
        };
        open.iter().map(hull).collect::<Option<Vec<_>>>()
    };
    boxes.into_iter().filter_map(read).collect()
}

/// The cells of the parts that the step has, along these axes.
fn boxes_of_parts(
    points: &Points,
    at: &At<'_>,
    open: &[usize],
    packed: &Packed,
) -> Vec<Vec<(i64, i64)>> {
    // The part that is meant, and a step that all of it begins before and ends after.
    let chosen = at.place[packed.axis()].and_then(|node| points.nodes[node].range);
    let here = |own: &[(i64, i64)]| {
        let (from, end) = own[packed.axis()];
        let meant = chosen.is_none_or(|(lo, hi)| i128::from(from) <= lo && hi < i128::from(end));
        let steps = at.within.iter().zip(own);
        let meets = |(step, own): (&Option<(i64, i64)>, &(i64, i64))| {
            step.is_none_or(|(lo, hi)| own.0 < hi && lo < own.1)
        };
        meant && steps.into_iter().all(meets)
    };
    let parts = packed.reaches().filter(|own| here(own));
    let along = |own: &[(i64, i64)]| open.iter().map(|axis| own[*axis]).collect::<Vec<_>>();
    let some = |region: &Vec<(i64, i64)>| region.iter().all(|(lo, hi)| lo < hi);
    parts.map(along).filter(some).collect()
}

/// The index of the loops around along an axis that a group shares: that of any clause.
fn shared_index(points: &Points, arr: Arr, axis: usize) -> Option<Ix> {
    match &points.defs[points.def_of(arr)?].body {
        Body::Clauses(clauses, _) => Some(clauses.first()?.slots[axis].ix),
        Body::Until(_) | Body::Scatter(_) | Body::InPlace(_) | Body::Again(_) => None,
    }
}

/// The parts of a box outside another.
fn without(of: &[(i64, i64)], cut: &[(i64, i64)]) -> Vec<Vec<(i64, i64)>> {
    let disjoint = of.iter().zip(cut).any(|(a, b)| a.1 <= b.0 || b.1 <= a.0);
    if disjoint {
        return vec![of.to_vec()];
    }
    let mut parts = Vec::new();
    let mut rest = of.to_vec();
    for axis in 0..of.len() {
        let (lo, hi) = rest[axis];
        let (first, last) = cut[axis];
        for (a, b) in [(lo, first.min(hi)), (last.max(lo), hi)] {
            if a < b {
                let mut part = rest.clone();
                part[axis] = (a, b);
                parts.push(part);
            }
        }
        rest[axis] = (lo.max(first), hi.min(last));
    }
    parts
}
