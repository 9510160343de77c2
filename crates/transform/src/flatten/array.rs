//! Arrays under symbolic evaluation: what their elements are.

use super::Flatten;
use super::define::stored::is_read;
use super::extent::Extent;
use crate::points::reduction::element_at;
use crate::points::{Arr, Clause, Ix, Kind, Node, Slot, Subst};
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use std::ops::Range;
use std::rc::Rc;

/// Operations from which the elements of an array of a step are stored, where they are read at positions
/// that are computed.
const STORED: f64 = 64.0;

/// An array of known shape.
#[derive(Clone, Debug)]
pub(crate) struct Array {
    pub(crate) ty: ScalarType,
    pub(crate) shape: Vec<Extent>,
    pub(crate) kind: ArrayKind,
}

/// Where its elements come from.
#[derive(Clone, Debug)]
pub(crate) enum ArrayKind {
    /// From an array of points, after these leading positions.
    Stored(Arr, Vec<Node>),
    /// From clauses; the last one that covers a cell counts. The number is that of a definition inside of a
    /// step.
    Clauses(Rc<Vec<Clause>>, Option<usize>),
    /// A part along an axis.
    Slice(Rc<Array>, usize, Node),
    /// The axes in another order.
    Permute(Rc<Array>, Vec<usize>),
    /// What is left after leading positions.
    Partial(Rc<Array>, Vec<Node>),
    /// Two arrays end to end along an axis. An operand with one axis less is one slice.
    Join(usize, Rc<Array>, Rc<Array>),
    /// Numbers, or rows of one shape.
    Rows(Rc<[Row]>),
    /// The positions that the second array names, along an axis.
    Gather(Rc<Array>, usize, Rc<Array>),
    /// A choice.
    Select(Node, Rc<Array>, Rc<Array>),
    /// The same number everywhere.
    Same(Node),
    /// The position along the only axis.
    Iota,
    /// The same elements in order, in another shape.
    Reshape(Rc<Array>),
    /// Elements of another type.
    Cast(Rc<Array>),
}

/// A part of an array literal.
#[derive(Clone, Debug)]
pub(crate) enum Row {
    Number(Node),
    Array(Rc<Array>),
}

impl Flatten<'_> {
    /// The element at positions that are inside the array.
    pub(crate) fn element(&mut self, array: &Array, at: &[Node]) -> Node {
        match &array.kind {
            ArrayKind::Stored(arr, leading) => {
                let mut at: Vec<Node> = leading.iter().chain(at).copied().collect();
                let shape = self.points.arrs[*arr].shape.clone();
                for (at, extent) in at.iter_mut().zip(shape) {
                    *at = self.points.position(*at, extent, false, None);
                }
                self.points.load(*arr, &at)
            }
            ArrayKind::Clauses(clauses, number) => {
                if let Some(number) = number {
                    is_read(self, *number);
                }
                self.clause_element(clauses, array.ty, at)
            }
            ArrayKind::Slice(base, axis, lo) => {
                let mut at = at.to_vec();
                let position = self.points.binary(BinaryOp::Add, at[*axis], *lo, None);
                at[*axis] = self.inside(position, base.shape[*axis]);
                self.element(base, &at)
            }
            ArrayKind::Permute(base, order) => {
                let mut from = at.to_vec();
                order.iter().zip(at).for_each(|(axis, at)| from[*axis] = *at);
                self.element(base, &from)
            }
            ArrayKind::Partial(base, leading) => {
                let at: Vec<Node> = leading.iter().chain(at).copied().collect();
                self.element(base, &at)
            }
            ArrayKind::Join(axis, left, right) => self.joined(array, *axis, left, right, at),
            ArrayKind::Rows(rows) => self.row_element(rows, at),
            ArrayKind::Gather(base, axis, positions) => {
                let mut at = at.to_vec();
                let place = self.element(positions, &[at[*axis]]);
                // Only arrays of fixed shape are gathered from.
                let extent = base.shape[*axis].first;
                at[*axis] = self.points.given_position(place, extent, true, self.when);
                self.element(base, &at)
            }
            ArrayKind::Select(cond, a, b) => {
                let (a, b) = (self.element(a, at), self.element(b, at));
                self.points.select(*cond, a, b)
            }
            ArrayKind::Same(node) => *node,
            ArrayKind::Iota => self.points.cast(at[0], array.ty),
            ArrayKind::Reshape(base) => {
                let at = self.unfold(&array.shape, &base.shape, at);
                self.element(base, &at)
            }
            ArrayKind::Cast(base) => {
                let element = self.element(base, at);
                self.points.cast(element, array.ty)
            }
        }
    }

    /// The element that clauses define, the last of those that cover it.
    pub(crate) fn clause_element(
        &mut self,
        clauses: &[Clause],
        ty: ScalarType,
        at: &[Node],
    ) -> Node {
        if let Some(element) = of_a_step(self, clauses, ty, at) {
            return element;
        }
        let mut result = self.points.constant(Scalar::zero(ty));
        for clause in clauses.iter() {
            let mut subst = Subst::new(clause.slots.iter().map(|slot| slot.ix).zip(at.to_vec()));
            let mut inside = None;
            for (slot, at) in clause.slots.iter().zip(at) {
                let lo = subst.apply(&mut self.points, slot.lo);
                let hi = subst.apply(&mut self.points, slot.hi);
                let above = self.points.binary(BinaryOp::Ge, *at, lo, None);
                let below = self.points.binary(BinaryOp::Lt, *at, hi, None);
                inside = self.points.both(inside, Some(above));
                inside = self.points.both(inside, Some(below));
            }
            let mut value = subst.apply(&mut self.points, clause.value);
            if let Some(guard) = clause.guard {
                let guard = subst.apply(&mut self.points, guard);
                let otherwise = match clause.otherwise {
                    Some(otherwise) => subst.apply(&mut self.points, otherwise),
                    None => self.points.constant(Scalar::zero(ty)),
                };
                value = self.points.select(guard, value, otherwise);
            }
            result = match inside {
                Some(inside) => self.points.select(inside, value, result),
                None => value,
            };
        }
        result
    }

    fn joined(
        &mut self,
        array: &Array,
        axis: usize,
        left: &Rc<Array>,
        right: &Rc<Array>,
        at: &[Node],
    ) -> Node {
        let whole = array.shape.len();
        let one = Extent::fixed(1);
        let split = if left.shape.len() == whole { left.shape[axis] } else { one };
        let split_node = self.extent_node(split);
        let in_left = self.points.binary(BinaryOp::Lt, at[axis], split_node, None);
        let behind = self.points.binary(BinaryOp::Sub, at[axis], split_node, None);
        let part = |this: &mut Self, from: &Rc<Array>, place: Node| {
            let mut at = at.to_vec();
            if from.shape.len() == whole {
                at[axis] = this.inside(place, from.shape[axis]);
            } else {
                at.remove(axis);
            }
            this.element(from, &at)
        };
        // An empty side has no elements to choose.
        if split == Extent::fixed(0) {
            return part(self, right, behind);
        }
        if split == array.shape[axis] {
            return part(self, left, at[axis]);
        }
        let a = part(self, left, at[axis]);
        let b = part(self, right, behind);
        self.points.select(in_left, a, b)
    }

    fn row_element(&mut self, rows: &Rc<[Row]>, at: &[Node]) -> Node {
        let of = |this: &mut Self, row: &Row| match row {
            Row::Number(node) => *node,
            Row::Array(array) => this.element(array, &at[1..]),
        };
        if let Some(place) = self.points.as_int(at[0])
            && let Some(row) = rows.get(place as usize)
        {
            return of(self, row);
        }
        let mut result = of(self, &rows[rows.len() - 1]);
        for (place, row) in rows.iter().enumerate().rev().skip(1) {
            let value = of(self, row);
            let place = self.points.int(place as i64);
            let here = self.points.binary(BinaryOp::Eq, at[0], place, None);
            result = self.points.select(here, value, result);
        }
        result
    }

    /// A position that was proved to be inside an axis, as one that is.
    fn inside(&mut self, at: Node, extent: Extent) -> Node {
        match extent.constant() {
            Some(extent) => self.points.position(at, extent, false, None),
            // Looked at again where the array is read.
            None => at,
        }
    }

    /// The positions in `to` of the element at positions `at` in `from`, counted in order. Only
    /// arrays of fixed shape are reshaped.
    fn unfold(&mut self, from: &[Extent], to: &[Extent], at: &[Node]) -> Vec<Node> {
        let zero = self.points.int(0);
        let mut result = vec![zero; to.len()];
        for (these, those) in aligned(from, to) {
            // One axis that stays one is read where it is.
            let long = |extents: &[Extent], of: &Range<usize>| -> Vec<usize> {
                of.clone().filter(|axis| extents[*axis].first != 1).collect()
            };
            if let ([one], [other]) = (&*long(from, &these), &*long(to, &those)) {
                result[*other] = at[*one];
                continue;
            }
            let mut place = zero;
            for axis in these {
                let extent = self.points.int(from[axis].first);
                place = self.points.binary(BinaryOp::Mul, place, extent, None);
                place = self.points.binary(BinaryOp::Add, place, at[axis], None);
            }
            for axis in those.clone().rev() {
                let extent = self.points.int(to[axis].first.max(1));
                result[axis] = if axis == those.start {
                    place
                } else {
                    self.points.binary(BinaryOp::Rem, place, extent, None)
                };
                place = self.points.binary(BinaryOp::Div, place, extent, None);
            }
        }
        result
    }
}

/// The element of an array that a step of a recurrence makes with reductions, at positions that are
/// computed: all of its elements are stored for the step, instead of one for each of the positions.
fn of_a_step(
    flatten: &mut Flatten<'_>,
    clauses: &[Clause],
    ty: ScalarType,
    at: &[Node],
) -> Option<Node> {
    let [clause] = clauses else { return None };
    let points = &flatten.points;
    let extent = |slot: &Slot| {
        let end = points.as_int(slot.hi).filter(|_| points.as_int(slot.lo) == Some(0))?;
        (end > 1).then_some(end)
    };
    let extents = clause.slots.iter().map(extent).collect::<Option<Vec<i64>>>()?;
    let computed = |at: &Node| {
        let simple = |node: Node| match points.nodes[node].kind {
            Kind::Index(_) | Kind::Const(_) => true,
            Kind::Binary(op, ..) => matches!(op, BinaryOp::Add | BinaryOp::Sub),
            _ => false,
        };
        !points.below(&[*at]).into_iter().all(simple)
    };
    let info = &points.nodes[clause.value];
    let numbers = matches!(ty, ScalarType::F32 | ScalarType::F64 | ScalarType::I32);
    let dear = numbers && info.ty == ty && info.reduces && info.cost >= STORED;
    let inside_step = !flatten.pending.is_empty() && flatten.turns.is_none();
    let plain = clause.guard.is_none() && inside_step && flatten.descent.is_none();
    if !plain || !dear || !at.iter().any(computed) {
        return None;
    }
    let moved: Vec<bool> = at.iter().map(computed).collect();
    let mut value = clause.value;
    let kept = clause.slots.iter().zip(at).zip(&moved).filter(|(_, moved)| !**moved);
    let kept: Vec<(Ix, Node)> = kept.map(|((slot, at), _)| (slot.ix, *at)).collect();
    let mut names = kept;
    let mut taken = Vec::new();
    for (axis, slot) in clause.slots.iter().enumerate().filter(|(axis, _)| moved[*axis]) {
        let range = (0, i128::from(extents[axis] - 1));
        let own = flatten.points.fresh(flatten.points.ixs[slot.ix].name, range);
        names.push((slot.ix, flatten.points.index(own)));
        let place = flatten.points.position(at[axis], extents[axis], false, None);
        taken.push(((own, extents[axis]), place));
    }
    value = Subst::new(names).apply(&mut flatten.points, value);
    for (along, place) in taken.into_iter().rev() {
        value = element_at(&mut flatten.points, value, along, place);
    }
    Some(value)
}

/// Axes of two shapes of equally many elements, in the smallest pieces that have equally many.
fn aligned(from: &[Extent], to: &[Extent]) -> Vec<(Range<usize>, Range<usize>)> {
    let whole = vec![(0..from.len(), 0..to.len())];
    if from.iter().chain(to).any(|extent| extent.first <= 0) {
        return whole;
    }
    let mut pieces = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < from.len() && j < to.len() {
        let (start, other) = (i, j);
        let (mut these, mut those) = (from[i].first, to[j].first);
        (i, j) = (i + 1, j + 1);
        while these != those {
            let more = if these < those { from.get(i) } else { to.get(j) };
            let Some(more) = more else { return whole };
            let (product, next) =
                if these < those { (&mut these, &mut i) } else { (&mut those, &mut j) };
            let Some(longer) = product.checked_mul(more.first) else { return whole };
            (*product, *next) = (longer, *next + 1);
        }
        pieces.push((start..i, other..j));
    }
    // What is left has extent one, and belongs to the last piece.
    match pieces.last_mut() {
        Some((these, those)) => (these.end, those.end) = (from.len(), to.len()),
        None => return whole,
    }
    pieces
}
