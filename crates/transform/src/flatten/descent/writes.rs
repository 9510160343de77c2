//! The writes of each depth, in an order in which none destroys what another one needs.
//!
//! Arguments that are computed are written on the way down, and so are the parts of the result that
//! do not depend on the inner result; the others are written on the way back up, from the inner
//! result and what was noted on the way down.

use super::super::array::{Array, ArrayKind};
use super::super::extent::Extent;
use super::super::{Flat, Flatten, Val, declined};
use super::plan::{Fate, Piece, Plan, Unknown, pieces};
use super::{Call, stored};
use crate::points::{
    Act, Arr, ArrInfo, Body, InPlace, Ix, Kind, Node, Phase, Source, Steps, Subst, Write,
};
use ein_base::Span;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// The depth, the next depth.
const HERE: Extent = Extent { first: 0, fall: -1, counted: None };
const BELOW: Extent = Extent { first: 1, fall: -1, counted: None };

/// The arrays that are filled.
struct Arrays {
    result: Arr,
    /// Where the arguments are that are computed.
    args: Vec<Option<Arr>>,
    others: Vec<Arr>,
}

impl Flatten<'_> {
    /// Fills the result, depth after depth.
    pub(super) fn fill(
        &mut self,
        call: &Call<'_>,
        unknown: &Unknown,
        plan: &Plan,
        depth: i64,
    ) -> Flat<Val> {
        let name = Some(self.program.funcs[call.func].name);
        let shape: Vec<i64> = unknown.shape.iter().map(|extent| extent.first).collect();
        let body = Body::Clauses(Vec::new(), None);
        let result = self.define(name, unknown.ty, shape, call.span, body);
        let at = self.points.defs.len();
        self.pending.insert(result);
        let mut arrays = Arrays { result, args: Vec::new(), others: Vec::new() };
        self.make_room(unknown, plan, &mut arrays);
        let phases = self.phases(call, unknown, plan, depth, &mut arrays)?;
        // Definitions made meanwhile do not read this one, so they come first.
        let places = self.places(call, plan);
        let body = InPlace { others: arrays.others, phases, places };
        self.points.defs[at - 1].body = Body::InPlace(body);
        if self.points.defs.len() > at {
            self.move_last(at - 1);
        }
        self.pending.remove(&result);
        if unknown.shape.is_empty() {
            return Ok(Val::Scalar(self.points.load(result, &[])));
        }
        let shape = unknown.shape.iter().map(|extent| Extent::fixed(extent.first)).collect();
        Ok(Val::Array(stored(unknown.ty, shape, result)))
    }

    /// Where the arguments are, for people.
    fn places(&self, call: &Call<'_>, plan: &Plan) -> String {
        let params = &self.program.funcs[call.func].params;
        let place = |(at, fate): (usize, &Fate)| {
            let name = self.program.vars[params[at]].name;
            match fate {
                Fate::Kept => format!("`{name}` stays as it is"),
                Fate::View(_) => format!("`{name}` is a view"),
                Fate::Computed(_) if plan.shared == Some(at) => {
                    format!("`{name}` is overwritten with the result")
                }
                Fate::Computed(_) => format!("`{name}` has a buffer of its own"),
            }
        };
        let places: Vec<String> = plan.fates.iter().enumerate().map(place).collect();
        places.join(", ")
    }

    /// Gives the arguments that are computed a place.
    fn make_room(&mut self, unknown: &Unknown, plan: &Plan, arrays: &mut Arrays) {
        for (at, fate) in plan.fates.iter().enumerate() {
            let place = match (fate, unknown.arrs[at]) {
                (Fate::Computed(_), Some(_)) if plan.shared == Some(at) => Some(arrays.result),
                (Fate::Computed(_), Some(like)) => Some(self.another(like, arrays)),
                _ => None,
            };
            arrays.args.push(place);
        }
    }

    /// An array like another one.
    fn another(&mut self, like: Arr, arrays: &mut Arrays) -> Arr {
        let ArrInfo { name, ty, shape, .. } = self.points.arrs[like].clone();
        let source = Source::Defined(self.points.defs.len() - 1);
        let arr = self.points.arrs.push(ArrInfo { name, ty, shape, source });
        self.pending.insert(arr);
        arrays.others.push(arr);
        arr
    }

    fn phases(
        &mut self,
        call: &Call<'_>,
        unknown: &Unknown,
        plan: &Plan,
        depth: i64,
        arrays: &mut Arrays,
    ) -> Flat<Vec<Phase>> {
        let span = call.span;
        let begin = self.beginnings(call, plan, arrays)?;
        let params = self.params(call, unknown, plan, arrays, HERE)?;
        let level = self.level(call, params, unknown.inner.clone())?;
        let mut down = Vec::new();
        for (at, arr) in arrays.args.iter().enumerate() {
            if let (Some(arr), Fate::Computed(shift)) = (arr, &plan.fates[at]) {
                down.push(self.placed_write(*arr, &level.args[at], shift, BELOW, span)?);
            }
        }
        let mut up = Vec::new();
        for write in self.result_writes(
            &level.result,
            plan,
            arrays.result,
            HERE,
            Some(unknown.inner_arr),
            span,
        )? {
            // What deeper results would overwrite is written after them.
            let waits = !plan.apart || self.reads(write.value, &[unknown.inner_arr]);
            if waits { &mut up } else { &mut down }.push(write);
        }
        let up = self.on_the_way_up(up, &mut down, (unknown, plan), arrays, span)?;
        let bottom = self.bottom(call, unknown, plan, depth, arrays)?;
        let step = self.step(span)?;
        let (lo, hi) = (self.points.int(0), self.points.int(depth));
        let steps = |backward| Some(Steps { ix: step, lo, hi, backward });
        let phases = [(None, begin), (steps(false), down), (None, bottom), (steps(true), up)];
        let mut ordered = Vec::new();
        for (steps, writes) in phases {
            if !writes.is_empty() {
                let keep = steps.map(|steps| steps.ix);
                let writes = self.in_order(writes, keep, arrays);
                ordered.push(Phase { steps, acts: writes.into_iter().map(Act::Write).collect() });
            }
        }
        Ok(ordered)
    }

    fn step(&self, span: Span) -> Flat<Ix> {
        let step = self.descent.as_ref().map(|descent| descent.step);
        step.ok_or_else(|| declined("recursion without a depth", span))
    }

    /// The arguments of the outermost call go to their places.
    fn beginnings(&mut self, call: &Call<'_>, plan: &Plan, arrays: &Arrays) -> Flat<Vec<Write>> {
        let mut writes = Vec::new();
        for (at, arr) in arrays.args.iter().enumerate() {
            if let (Some(arr), Fate::Computed(shift)) = (arr, &plan.fates[at]) {
                let none = Extent::fixed(0);
                writes.push(self.placed_write(*arr, &call.args[at], shift, none, call.span)?);
            }
        }
        Ok(writes)
    }

    /// The parameters at a depth, in their places.
    fn params(
        &mut self,
        call: &Call<'_>,
        unknown: &Unknown,
        plan: &Plan,
        arrays: &Arrays,
        depth: Extent,
    ) -> Flat<Vec<Val>> {
        let mut params = Vec::new();
        for (at, fate) in plan.fates.iter().enumerate() {
            let arg = &call.args[at];
            params.push(match (fate, arg, arrays.args[at]) {
                (Fate::View(shift), Val::Array(base), _) => {
                    Val::Array(self.placed(base, &unknown.shapes[at], shift, depth))
                }
                (Fate::Computed(shift), Val::Array(first), Some(arr)) => {
                    let base = stored(first.ty, first.shape.clone(), arr);
                    Val::Array(self.placed(&base, &unknown.shapes[at], shift, depth))
                }
                (Fate::Computed(_), _, Some(arr)) => Val::Scalar(self.points.load(arr, &[])),
                _ => arg.clone(),
            });
        }
        Ok(params)
    }

    /// What an array is at a depth: a part of the place of all depths.
    fn placed(
        &mut self,
        base: &Rc<Array>,
        shape: &[Extent],
        shift: &[i64],
        depth: Extent,
    ) -> Rc<Array> {
        let mut placed = base.clone();
        for (axis, by) in shift.iter().enumerate() {
            let mut part = placed.shape.clone();
            part[axis] = at_depth(shape[axis], depth);
            let lo = self.extent_node(times(depth, *by));
            let kind = ArrayKind::Slice(placed, axis, lo);
            placed = Rc::new(Array { ty: base.ty, shape: part, kind });
        }
        placed
    }

    /// Writes a value into its place at a depth.
    fn placed_write(
        &mut self,
        arr: Arr,
        value: &Val,
        shift: &[i64],
        depth: Extent,
        span: Span,
    ) -> Flat<Write> {
        let array = self.array(value.clone(), span)?;
        let axes = shift.iter().map(|_| (true, Extent::fixed(0))).collect();
        self.piece_write(arr, &Piece { axes, array }, shift, depth, span)
    }

    fn piece_write(
        &mut self,
        arr: Arr,
        piece: &Piece,
        shift: &[i64],
        depth: Extent,
        span: Span,
    ) -> Flat<Write> {
        let (loops, place) = self.points_of(&piece.array.shape);
        let value = self.element(&piece.array, &place);
        let mut place = place.into_iter();
        let extents = self.points.arrs[arr].shape.clone();
        let mut at = Vec::new();
        for (((along, offset), by), extent) in piece.axes.iter().zip(shift).zip(extents) {
            let skip = self.extent_node(offset.plus(times(depth, *by)));
            let mut sum = self.points.linear(skip);
            if *along && let Some(place) = place.next() {
                sum.add(&self.points.linear(place), 1);
            }
            let inside = self.points.reach(&sum);
            if !inside.is_some_and(|(lo, hi)| lo >= 0 && hi < i128::from(extent)) {
                return Err(declined("a result whose place is not known", span));
            }
            at.push(self.points.sum_node(&sum));
        }
        Ok(Write { arr, loops, at, value })
    }

    /// The writes of a result, but for what is there already.
    fn result_writes(
        &mut self,
        result: &Val,
        plan: &Plan,
        arr: Arr,
        depth: Extent,
        inner: Option<Arr>,
        span: Span,
    ) -> Flat<Vec<Write>> {
        let array = self.array(result.clone(), span)?;
        let mut writes = Vec::new();
        for piece in pieces(&array) {
            let empty = piece.array.shape.contains(&Extent::fixed(0));
            if empty || inner.is_some_and(|inner| piece.is(inner)) {
                continue;
            }
            let write = self.piece_write(arr, &piece, &plan.shift, depth, span)?;
            let inner_number = inner.map(|inner| Kind::Load(inner, Box::new([])));
            let kind = &self.points.nodes[write.value].kind;
            let there = matches!(kind, Kind::Load(from, at)
                if *from == arr && self.points.same_place(at, &write.at));
            if !there && Some(kind) != inner_number.as_ref() {
                writes.push(write);
            }
        }
        Ok(writes)
    }

    /// Writes that wait for the inner result; what else they need is noted on the way down.
    fn on_the_way_up(
        &mut self,
        up: Vec<Write>,
        down: &mut Vec<Write>,
        (unknown, plan): (&Unknown, &Plan),
        arrays: &mut Arrays,
        span: Span,
    ) -> Flat<Vec<Write>> {
        let step = self.step(span)?;
        let depth = (self.points.ixs[step].range.1 + 1) as i64;
        let here = self.points.index(step);
        let changing: Vec<Arr> = arrays.args.iter().flatten().copied().collect();
        let mut notes = FxHashMap::default();
        let mut found = Vec::new();
        for write in &up {
            self.to_be_noted(write.value, &changing, unknown.inner_arr, &mut found);
        }
        for node in found {
            if self.points.nodes[node].free.iter().any(|ix| *ix != step) {
                return Err(declined("an array of every depth that is needed afterwards", span));
            }
            let ty = self.points.nodes[node].ty;
            let source = Source::Defined(self.points.defs.len() - 1);
            let info = ArrInfo { name: None, ty, shape: vec![depth], source };
            let arr = self.points.arrs.push(info);
            arrays.others.push(arr);
            down.push(Write { arr, loops: Vec::new(), at: vec![here], value: node });
            notes.insert(node, self.points.load(arr, &[here]));
        }
        let inner = self.inner_cells(unknown, plan, arrays.result);
        let mut noted = Subst::nodes(notes);
        let mut placed = Subst::cells(inner);
        let mut rewrite = |mut write: Write| {
            let value = noted.apply(&mut self.points, write.value);
            write.value = placed.apply(&mut self.points, value);
            write
        };
        Ok(up.into_iter().map(&mut rewrite).collect())
    }

    /// The largest parts of a value that depend on what changes, but not on the inner result.
    fn to_be_noted(&self, node: Node, changing: &[Arr], inner: Arr, found: &mut Vec<Node>) {
        if found.contains(&node) || !self.reads(node, changing) {
            return;
        }
        if !self.reads(node, &[inner]) {
            found.push(node);
            return;
        }
        let mut children = Vec::new();
        self.points.each_child(node, &mut |child| children.push(child));
        children.into_iter().for_each(|child| self.to_be_noted(child, changing, inner, found));
    }

    /// The cells of the inner result, in the place of the result.
    fn inner_cells(
        &mut self,
        unknown: &Unknown,
        plan: &Plan,
        result: Arr,
    ) -> FxHashMap<Arr, (Vec<Ix>, Node)> {
        let later: Vec<Extent> = unknown.shape.iter().map(|extent| extent.later()).collect();
        let (loops, place) = self.points_of(&later);
        let base = stored(
            unknown.ty,
            unknown.shape.iter().map(|extent| Extent::fixed(extent.first)).collect(),
            result,
        );
        let inner = self.placed(&base, &unknown.shape, &plan.shift, BELOW);
        let cell = self.element(&inner, &place);
        let ixs = loops.into_iter().map(|(ix, ..)| ix).collect();
        FxHashMap::from_iter([(unknown.inner_arr, (ixs, cell))])
    }

    /// What the innermost call writes.
    fn bottom(
        &mut self,
        call: &Call<'_>,
        unknown: &Unknown,
        plan: &Plan,
        depth: i64,
        arrays: &Arrays,
    ) -> Flat<Vec<Write>> {
        let depth = Extent::fixed(depth);
        let params = self.params(call, unknown, plan, arrays, depth)?;
        let sizes = call.sizes.iter().map(|size| at_depth(*size, depth).first);
        let sizes: Vec<i64> = sizes.collect();
        let sizes = sizes.into_iter().map(|size| Val::Scalar(self.points.int(size))).collect();
        // Definitions belong to this phase, as if there were a loop around them; there is no
        // further call.
        let step = self.step(call.span)?;
        self.loops.push(step);
        if let Some(descent) = &mut self.descent {
            descent.args = Some(Vec::new());
        }
        let obliged = self.obliged.len();
        let result = self.body(call, sizes, params)?;
        self.loops.pop();
        if self.obliged.len() > obliged {
            return Err(declined("recursion in which something may fail", call.span));
        }
        let expected: Vec<Extent> =
            unknown.shape.iter().map(|extent| at_depth(*extent, depth)).collect();
        if self.array(result.clone(), call.span)?.shape != expected {
            return Err(declined("a result whose shape is not known", call.span));
        }
        self.result_writes(&result, plan, arrays.result, depth, None, call.span)
    }

    // ---------------------------------------------------------------- order

    /// Writes in an order in which none destroys what a later one reads. Where there is none, values
    /// are set aside first.
    fn in_order(
        &mut self,
        mut left: Vec<Write>,
        step: Option<Ix>,
        arrays: &mut Arrays,
    ) -> Vec<Write> {
        let mut ordered = Vec::new();
        while !left.is_empty() {
            let ready = (0..left.len()).find(|at| {
                let write = &left[*at];
                let others = left.iter().enumerate().filter(|(other, _)| other != at);
                let mut readers = others.map(|(_, other)| other);
                self.spares_itself(write, step)
                    && readers.all(|other| !self.destroys(write, other, step))
            });
            match ready {
                Some(at) => ordered.push(left.remove(at)),
                None => {
                    // One that still reads what is written here; when none does, all are ready.
                    let written: Vec<Arr> = left.iter().map(|write| write.arr).collect();
                    let reads = |write: &Write| self.reads(write.value, &written);
                    let at = left.iter().position(reads).unwrap_or(0);
                    let aside = self.another(left[at].arr, arrays);
                    let kept = self.points.load(aside, &left[at].at.clone());
                    ordered.push(Write { arr: aside, ..left[at].clone() });
                    left[at].value = kept;
                }
            }
        }
        ordered
    }

    /// Whether a write reads no cell that it may have written before.
    fn spares_itself(&self, write: &Write, step: Option<Ix>) -> bool {
        let loads = self.points.loads(&[write.value]);
        let mut own = loads.iter().filter(|(arr, _)| *arr == write.arr);
        own.all(|(_, at)| {
            self.points.same_place(at, &write.at) || self.points.apart(at, &write.at, step)
        })
    }

    /// Whether a write may overwrite what another one reads.
    fn destroys(&self, write: &Write, other: &Write, step: Option<Ix>) -> bool {
        let loads = self.points.loads(&[other.value]);
        let mut own = loads.iter().filter(|(arr, _)| *arr == write.arr);
        own.any(|(_, at)| !self.points.apart(at, &write.at, step))
    }

    fn reads(&self, node: Node, arrs: &[Arr]) -> bool {
        self.points.loads(&[node]).iter().any(|(arr, _)| arrs.contains(arr))
    }
}

/// An extent that falls with the depth, at a depth.
fn at_depth(extent: Extent, depth: Extent) -> Extent {
    Extent { first: extent.at(depth.first), fall: -extent.fall * depth.fall, counted: None }
}

fn times(depth: Extent, by: i64) -> Extent {
    Extent { first: depth.first * by, fall: depth.fall * by, counted: None }
}
