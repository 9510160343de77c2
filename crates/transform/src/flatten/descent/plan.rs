//! Where the arguments and the results of all depths are.
//!
//! The cell `x` of an argument at depth `d` is the cell `x + shift × d` of an array that all depths
//! share, and the same holds for results. Shifts are chosen so that a cell stays where it is: if
//! `S[i, j]` is computed from `A[i + 1, j + 1]`, the next depth begins one cell further.

use super::super::array::{Array, ArrayKind};
use super::super::extent::Extent;
use super::super::{Flat, Flatten, Val, declined};
use super::{Call, Level, stored};
use crate::points::{Arr, Ix, Kind, Node};
use ein_base::Span;
use ein_scalar::ScalarType;
use std::rc::Rc;

/// What the first evaluation of the body works on.
pub(super) struct Unknown {
    pub(super) params: Vec<Val>,
    /// The arrays that stand for parameters, where these change.
    pub(super) arrs: Vec<Option<Arr>>,
    /// The shapes of array parameters.
    pub(super) shapes: Vec<Vec<Extent>>,
    /// The result of the recursive call, and the array that stands for it.
    pub(super) inner: Val,
    pub(super) inner_arr: Arr,
    pub(super) ty: ScalarType,
    /// The shape of the result.
    pub(super) shape: Vec<Extent>,
}

/// What becomes of an argument from depth to depth.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fate {
    /// It is the same.
    Kept,
    /// It is a part of what it was: this much further along each axis.
    View(Vec<i64>),
    /// It is computed anew, and placed this much further along each axis.
    Computed(Vec<i64>),
}

/// Where everything is.
pub(super) struct Plan {
    pub(super) fates: Vec<Fate>,
    /// How much further the inner result is along each axis.
    pub(super) shift: Vec<i64>,
    /// Whether nothing but the inner result is written in its place.
    pub(super) apart: bool,
    /// The argument that is overwritten with the result.
    pub(super) shared: Option<usize>,
}

/// A part of a result: an array at an offset. Along some axes of the result it is a single slice.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// For each axis of the result whether the array extends along it, and where it begins.
    pub(super) axes: Vec<(bool, Extent)>,
    pub(super) array: Rc<Array>,
}

impl Flatten<'_> {
    /// Parameters and result about which nothing is known but their shapes.
    pub(super) fn unknown(&mut self, call: &Call<'_>) -> Flat<Unknown> {
        let info = &self.program.funcs[call.func];
        let (mut params, mut arrs, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
        for ((param, arg), kept) in info.params.iter().zip(call.args).zip(&call.kept) {
            let (value, arr, shape) = match arg {
                _ if *kept => (arg.clone(), None, Vec::new()),
                Val::Scalar(node) => {
                    let arr = self.unknown_array(self.points.nodes[*node].ty, &[]);
                    (Val::Scalar(self.points.load(arr, &[])), Some(arr), Vec::new())
                }
                Val::Array(array) => {
                    let ty = self.program.vars[*param].ty.clone();
                    let shape = self.typed_shape(call, &ty)?;
                    let first = shape.iter().map(|extent| Extent::fixed(extent.first));
                    if first.collect::<Vec<_>>() != array.shape {
                        return Err(declined("an argument of another shape", call.span));
                    }
                    let arr = self.unknown_array(array.ty, &shape);
                    (Val::Array(stored(array.ty, shape.clone(), arr)), Some(arr), shape)
                }
                _ => return Err(declined("an argument that is no array and changes", call.span)),
            };
            params.push(value);
            arrs.push(arr);
            shapes.push(shape);
        }
        let ret = info.ret.clone();
        let ty = ret.scalar().filter(|_| ret.rank() == 0 || ret.is_array());
        let ty = ty.ok_or_else(|| declined("a result that is no array", call.span))?;
        let shape = self.typed_shape(call, &ret)?;
        let inner_arr = self.unknown_array(ty, &shape);
        let inner = if ret.rank() == 0 {
            Val::Scalar(self.points.load(inner_arr, &[]))
        } else {
            let later = shape.iter().map(|extent| extent.later()).collect();
            Val::Array(stored(ty, later, inner_arr))
        };
        Ok(Unknown { params, arrs, shapes, inner, inner_arr, ty, shape })
    }

    /// Where the arguments and results of all depths are.
    pub(super) fn plan(&mut self, call: &Call<'_>, unknown: &Unknown, level: &Level) -> Flat<Plan> {
        let mut fates = Vec::new();
        for (at, arr) in unknown.arrs.iter().enumerate() {
            fates.push(match arr {
                None => Fate::Kept,
                Some(arr) => self.fate(*arr, &unknown.shapes[at], &level.args[at], call.span)?,
            });
        }
        let (shift, apart) = self.inner_place(unknown, &level.result, call.span)?;
        let shares = |at: &usize| {
            let ty = unknown.arrs[*at].map(|arr| self.points.arrs[arr].ty);
            apart
                && ty == Some(unknown.ty)
                && unknown.shapes[*at] == unknown.shape
                && fates[*at] == Fate::Computed(shift.clone())
        };
        let shared = (0..fates.len()).find(shares);
        Ok(Plan { fates, shift, apart, shared })
    }

    fn fate(&mut self, arr: Arr, shape: &[Extent], next: &Val, span: Span) -> Flat<Fate> {
        let array = match next {
            Val::Scalar(node) => {
                let same = self.points.nodes[*node].kind == Kind::Load(arr, Box::new([]));
                return Ok(if same { Fate::Kept } else { Fate::Computed(Vec::new()) });
            }
            Val::Array(array) => array,
            _ => return Err(declined("an argument that is no array and changes", span)),
        };
        let later: Vec<Extent> = shape.iter().map(|extent| extent.later()).collect();
        if array.shape != later {
            return Err(declined("an argument whose shape is not known", span));
        }
        let (loops, at) = self.points_of(&later);
        let cell = self.element(array, &at);
        let fits = |shift: &Vec<i64>| {
            shift.iter().zip(shape).all(|(by, extent)| (0..=extent.fall).contains(by))
        };
        if let Kind::Load(from, place) = &self.points.nodes[cell].kind
            && *from == arr
            && let Some(shift) = self.distance(place, &at).filter(fits)
        {
            return Ok(Fate::View(shift));
        }
        debug_assert_eq!(loops.len(), shape.len(), "a loop for each axis");
        let loads = self.points.loads(&[cell]);
        let own = loads.iter().filter(|(from, _)| *from == arr);
        let shift = own.filter_map(|(_, place)| self.distance(place, &at)).find(fits);
        Ok(Fate::Computed(shift.unwrap_or_else(|| vec![0; shape.len()])))
    }

    /// How far the inner result is from the outer one, and whether nothing else is in its place.
    fn inner_place(
        &mut self,
        unknown: &Unknown,
        result: &Val,
        span: Span,
    ) -> Flat<(Vec<i64>, bool)> {
        let Val::Array(array) = result else { return Ok((Vec::new(), false)) };
        if array.shape != unknown.shape {
            return Err(declined("a result whose shape is not known", span));
        }
        let pieces = pieces(array);
        let inner: Vec<&Piece> =
            pieces.iter().filter(|piece| piece.is(unknown.inner_arr)).collect();
        let fits = |shift: &Vec<i64>| {
            let mut axes = shift.iter().zip(&unknown.shape);
            axes.all(|(by, extent)| (0..=extent.fall).contains(by))
        };
        if let [piece] = inner.as_slice() {
            let along = piece.axes.iter().map(|(along, at)| at.constant().filter(|_| *along));
            let shift: Option<Vec<i64>> = along.collect();
            let shift = shift.filter(fits);
            let shift = shift.ok_or_else(|| declined("a result that moves", span))?;
            return Ok((shift, true));
        }
        let mut shifts = Vec::new();
        for piece in &pieces {
            let (_, place) = self.points_of(&piece.array.shape);
            let cell = self.element(&piece.array, &place);
            let at = self.piece_place(piece, &place);
            let loads = self.points.loads(&[cell]);
            let own = loads.iter().filter(|(from, _)| *from == unknown.inner_arr);
            shifts.extend(own.filter_map(|(_, place)| self.distance(&at, place)).find(fits));
        }
        let nowhere = vec![0; unknown.shape.len()];
        Ok((shifts.into_iter().next().unwrap_or(nowhere), false))
    }

    /// Where the cell of a piece is in the result.
    fn piece_place(&mut self, piece: &Piece, place: &[Node]) -> Vec<Node> {
        let mut place = place.iter();
        let mut at = Vec::new();
        for (along, offset) in &piece.axes {
            let offset = self.extent_node(*offset);
            let mut sum = self.points.linear(offset);
            if *along && let Some(place) = place.next() {
                sum.add(&self.points.linear(*place), 1);
            }
            at.push(self.points.sum_node(&sum));
        }
        at
    }

    /// Loops over all positions of a shape, and these positions.
    pub(super) fn points_of(&mut self, shape: &[Extent]) -> (Vec<(Ix, Node, Node)>, Vec<Node>) {
        let slots: Vec<_> = shape.iter().map(|extent| self.whole_axis(*extent, "i")).collect();
        let at = slots.iter().map(|slot| self.points.index(slot.ix)).collect();
        (slots.into_iter().map(|slot| (slot.ix, slot.lo, slot.hi)).collect(), at)
    }

    /// How far one place is from another along each axis, if that is the same everywhere.
    fn distance(&self, to: &[Node], from: &[Node]) -> Option<Vec<i64>> {
        let axes = to.iter().zip(from).map(|(to, from)| {
            let difference = self.points.linear(*to).minus(&self.points.linear(*from));
            difference.terms.is_empty().then_some(difference.offset)
        });
        axes.collect()
    }
}

impl Piece {
    /// Whether it is all of an array.
    pub(super) fn is(&self, arr: Arr) -> bool {
        matches!(&self.array.kind, ArrayKind::Stored(own, leading) if *own == arr && leading.is_empty())
    }
}

/// The parts that a result was joined from.
pub(super) fn pieces(array: &Rc<Array>) -> Vec<Piece> {
    let axes = vec![(true, Extent::fixed(0)); array.shape.len()];
    let mut found = Vec::new();
    split(Piece { axes, array: array.clone() }, &mut found);
    found
}

fn split(piece: Piece, found: &mut Vec<Piece>) {
    let ArrayKind::Join(axis, left, right) = &piece.array.kind else {
        found.push(piece);
        return;
    };
    let rank = piece.array.shape.len();
    let mut along = piece.axes.iter().enumerate().filter(|(_, (along, _))| *along);
    let Some(at) = along.nth(*axis).map(|(at, _)| at) else { return };
    let side = |array: &Rc<Array>, skip: Extent| {
        let mut axes = piece.axes.clone();
        axes[at] = (array.shape.len() == rank, axes[at].1.plus(skip));
        Piece { axes, array: array.clone() }
    };
    let width = if left.shape.len() == rank { left.shape[*axis] } else { Extent::fixed(1) };
    split(side(left, Extent::fixed(0)), found);
    split(side(right, width), found);
}
