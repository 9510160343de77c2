//! Sums for each value of a key, in one pass over the points.
//!
//! Before:  `h[b] = count(i) t[i] == b`, which compares every point with every key
//! After:   `h[b] = 0`, then `h[t[i]] += 1` for every point whose key is one of `h`
//!
//! With several keys each point has one cell of them all. Where the points are many more than the
//! cells, eight parts of them have cells of their own, so that threads share the points; the parts
//! are added in order, and how many there are does not depend on the threads.
//!
//! It is the same for sums with `t[i] == b` among their conditions, or of `if t[i] == b { v } else
//! { 0 }`, and for greatest and least floats. Terms of `f32` are added as `f64`. The greatest of `if t[i] == b
//! { v } else { c }` is that of `v` for the key, and of `c` unless all points have this key.
//!
//! What the keys do not mention is summed first: `h[b] = sum(i, j) x[i, j] where t[i] == b` adds
//! `sum(j) x[i, j]` once for each `i`, and so is a term that is a reduction.
//!
//! In a recurrence the sums of a step are made before its cells ([`super::recur`]).
//!
//! Needs: axes of the result that begin at zero and are compared with an `i32`.
//! Refuses: few keys, which vectors compare faster than memory is written; sums of integers that
//! may not fit; keys and conditions that are reductions.
//!
//! Failures: terms are computed once for each point, also where its key is none of the result: an
//! alarm at most. A sum that may leave its type is refused.

use super::before::{self, Before};
use super::contract::only_clause;
use super::nest::Loop;
use super::reduce::{neutral, operation};
use crate::points::{
    ArrInfo, Body, Clause, Def, Ix, Kind, Node, Points, Reduction, Scatter, Slot, Source, Subst,
    magnitude,
};
use ein_base::Symbol;
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, ScalarType};
use rustc_hash::FxHashMap;

/// From so many keys on it is done: several threads compare as many in the time of one pass.
const KEYS: f64 = 64.0;

/// A term of so many operations, computed once for each key, is as much as a key more.
const OPERATIONS: f64 = 8.0;

/// Up to so many cells of each key are looked for together, and are as much as keys more.
const OTHERS: f64 = 8.0;

/// What is computed from one place is made for all places from so many points for each of them on, and
/// if it costs so much.
const FEWER: i128 = 2;
const COMPUTED: f64 = 4.0;

/// Parts of the points that have cells of their own.
const PARTS: i64 = 8;

/// The least number of points for each cell of all parts together.
const POINTS: i64 = 4;

/// A sum for each value of some keys.
struct Bins {
    /// The axes of the keys, and the keys of a point.
    keys: Vec<(usize, Node)>,
    /// What else must hold.
    guard: Option<Node>,
    /// What is added, in the type in which it is.
    value: Node,
    /// What an extreme is of as well, if some point has another key.
    otherwise: Option<Node>,
}

/// Replaces sums for each value of a key.
pub(crate) fn run(points: &mut Points) {
    if points.exact {
        return;
    }
    before::rewrite(points, |points, before, clause| {
        let whole =
            |node: Node, slots: &[Slot]| node == clause.value && slots.len() == clause.slots.len();
        stored(points, before, clause, &[], whole)
    });
    let defs = std::mem::take(&mut points.defs);
    points.defs = in_one_pass(points, defs);
}

/// The value of a clause of a recurrence with sums for each value of a key as definitions, which are
/// filled before the cells of each step; `steps` are the indices of the step.
pub(crate) fn of_step(
    points: &mut Points,
    before: &mut Before,
    clause: &Clause,
    steps: &[Ix],
) -> Node {
    stored(points, before, clause, steps, |_, _| false)
}

/// Parts of a step of a recurrence, with sums for each value of a key in one pass.
pub(crate) fn of_parts(points: &mut Points, parts: Vec<Def>, steps: &[Ix]) -> Vec<Def> {
    let mut defs = Vec::with_capacity(parts.len());
    for mut def in parts {
        let shape = points.arrs[def.arr].shape.clone();
        if let Some(clause) = only_clause(points, &def.body, &shape).cloned() {
            let mut before = Before::new(&def);
            let whole = |node: Node, _: &[Slot]| node == clause.value;
            let value = stored(points, &mut before, &clause, steps, whole);
            defs.append(&mut before.take());
            def.body = Body::Clauses(vec![Clause { value, ..clause }], None);
        }
        defs.push(def);
    }
    in_one_pass(points, defs)
}

/// Whether a clause of a recurrence has sums for each value of a key.
pub(crate) fn has_some(points: &Points, clause: &Clause, steps: &[Ix]) -> bool {
    !points.exact
        && points.below(&[clause.value]).into_iter().any(|node| {
            let Kind::Reduce(reduction) = &points.nodes[node].kind else { return false };
            is_one(points, clause, (node, reduction), steps)
        })
}

/// Whether a reduction in a clause is a sum for each value of a key.
pub(crate) fn is_one(
    points: &Points,
    clause: &Clause,
    (node, reduction): (Node, &Reduction),
    steps: &[Ix],
) -> bool {
    let slots = own_slots(points, clause, node, steps);
    slots.is_some_and(|slots| parts_of(points, &slots, reduction).is_some())
}

/// Definitions that are sums for each value of a key, in one pass over the points, after those that
/// these need.
pub(crate) fn in_one_pass(points: &mut Points, all: Vec<Def>) -> Vec<Def> {
    let mut defs = Vec::with_capacity(all.len());
    for mut def in all {
        let shape = points.arrs[def.arr].shape.clone();
        if let Some(clause) = only_clause(points, &def.body, &shape).cloned()
            && let Kind::Reduce(reduction) = points.nodes[clause.value].kind.clone()
            && let Some(bins) = find(points, &clause.slots, &reduction)
            && bins.otherwise.is_none()
        {
            def.body = binned(points, &mut defs, &def, clause, &reduction, &bins);
        }
        defs.push(def);
    }
    defs
}

/// The value of a clause with sums for each value of a key as definitions of their own, but for those
/// that are to stay.
fn stored(
    points: &mut Points,
    before: &mut Before,
    clause: &Clause,
    steps: &[Ix],
    stays: impl Fn(Node, &[Slot]) -> bool,
) -> Node {
    let mut instead = FxHashMap::default();
    for node in points.below(&[clause.value]) {
        let Kind::Reduce(reduction) = points.nodes[node].kind.clone() else { continue };
        let Some(slots) = own_slots(points, clause, node, steps) else { continue };
        let Some(bins) = find(points, &slots, &reduction) else { continue };
        let ixs: Vec<Ix> = slots.iter().map(|slot| slot.ix).collect();
        if let Some(other) = bins.otherwise {
            let (of_key, others) = with_others(points, &slots, (&reduction, &bins), other);
            let of_key = before.stored(points, of_key, &ixs);
            let op = operation(reduction.op);
            instead.insert(node, points.binary(op, of_key, others, None));
        } else if !stays(node, &slots) {
            instead.insert(node, before.stored(points, node, &ixs));
        }
    }
    if instead.is_empty() {
        return clause.value;
    }
    Subst::nodes(instead).apply(points, clause.value)
}

/// The extreme of the points of a key alone, and what else it is of: of `other` if a point has another key.
fn with_others(
    points: &mut Points,
    slots: &[Slot],
    (reduction, bins): (&Reduction, &Bins),
    other: Node,
) -> (Node, Node) {
    let ty = points.nodes[other].ty;
    let nothing = points.constant(neutral(operation(reduction.op), ty));
    let mut alone = reduction.clone();
    if let Kind::Select(condition, value, _) = points.nodes[reduction.body].kind {
        alone.body = points.select(condition, value, nothing);
    }
    let mut some = points.truth(false);
    let first: Vec<(Ix, Node)> = reduction.binders.iter().map(|(ix, lo, _)| (*ix, *lo)).collect();
    for (axis, key) in &bins.keys {
        let own = points.index(slots[*axis].ix);
        let first = Subst::new(first.iter().copied()).apply(points, *key);
        let body = points.binary(BinaryOp::Ne, *key, first, None);
        let any = Reduction { op: ReduceOp::Any, body, ..reduction.clone() };
        let differ = points.reduce(any, ScalarType::Bool);
        let is_other = points.binary(BinaryOp::Ne, first, own, None);
        let one = points.binary(BinaryOp::Or, differ, is_other, None);
        some = points.binary(BinaryOp::Or, some, one, None);
    }
    (points.reduce(alone, ty), points.select(some, other, nothing))
}

/// The axes of a clause beside its steps that a value mentions, if it mentions nothing else.
fn own_slots(points: &Points, clause: &Clause, node: Node, steps: &[Ix]) -> Option<Vec<Slot>> {
    let free = &points.nodes[node].free;
    let is_own = |slot: &Slot| free.contains(&slot.ix) && !steps.contains(&slot.ix);
    let slots: Vec<Slot> = clause.slots.iter().copied().filter(is_own).collect();
    let of_steps = steps.iter().filter(|ix| free.contains(ix)).count();
    (slots.len() + of_steps == free.len()).then_some(slots)
}

/// The conditions of a reduction that has enough keys to be a sum for each value of them.
struct Parts {
    /// The axes of the keys, and the keys of a point.
    keys: Vec<(usize, Node)>,
    /// The conditions that compare them.
    equal: Vec<Node>,
    /// The other conditions.
    others: Vec<Node>,
    /// What is added; nothing where points are counted.
    value: Option<Node>,
    /// What an extreme is of as well, if some point has another key.
    otherwise: Option<Node>,
}

/// What a reduction compares with axes, if these are keys.
fn parts_of(points: &Points, slots: &[Slot], reduction: &Reduction) -> Option<Parts> {
    let body = reduction.body;
    let ty = points.nodes[body].ty;
    let mut conditions: Vec<Node> = reduction.guard.into_iter().collect();
    let mut count = 1_i64;
    for (_, lo, hi) in &reduction.binders {
        count = count.checked_mul((points.as_int(*hi)? - points.as_int(*lo)?).max(0))?;
    }
    let fits = |value: Node| {
        let fits = |it| magnitude(it).saturating_mul(i128::from(count)) < 1 << 31;
        ty == ScalarType::I32 && points.nodes[value].range.is_some_and(fits)
    };
    let mut otherwise = None;
    let value = match (reduction.op, &points.nodes[body].kind) {
        (ReduceOp::Count, _) if count < 1 << 31 => {
            conditions.push(body);
            None
        }
        (ReduceOp::Sum, Kind::Select(condition, value, other))
            if ty.is_float() && is_zero(points, *other) =>
        {
            conditions.push(*condition);
            Some(*value)
        }
        (ReduceOp::Sum, Kind::Select(condition, value, other))
            if points.as_int(*other) == Some(0) && fits(*value) =>
        {
            conditions.push(*condition);
            Some(*value)
        }
        (ReduceOp::Max | ReduceOp::Min, Kind::Select(condition, value, other))
            if count > 0 && is_fixed(points, reduction, *other) =>
        {
            conditions.push(*condition);
            let nothing = Kind::Const(neutral(operation(reduction.op), ty));
            otherwise = Some(*other).filter(|other| points.nodes[*other].kind != nothing);
            Some(*value)
        }
        (ReduceOp::Sum, _) if fits(body) => Some(body),
        (ReduceOp::Sum | ReduceOp::Max | ReduceOp::Min, _) if ty.is_float() => Some(body),
        _ => return None,
    };
    let mut others = Vec::new();
    while let Some(condition) = conditions.pop() {
        match points.nodes[condition].kind {
            Kind::Binary(BinaryOp::And, a, b) => conditions.extend([a, b]),
            _ => others.push(condition),
        }
    }
    let mut keys: Vec<(usize, Node)> = Vec::new();
    let mut equal = Vec::new();
    others.retain(|part| match key_of(points, slots, reduction, *part) {
        Some((axis, key)) if !keys.iter().any(|(other, _)| *other == axis) => {
            keys.push((axis, key));
            equal.push(*part);
            false
        }
        _ => true,
    });
    let count = |(axis, _): &(usize, Node)| points.as_int(slots[*axis].hi);
    let cells = keys.iter().map(count).product::<Option<i64>>()? as f64;
    let beside = slots.iter().enumerate().filter(|(at, _)| !keys.iter().any(|(it, _)| it == at));
    let beside: f64 = beside.map(|(_, slot)| points.trip_count(slot.lo, slot.hi)).product();
    let each = (points.nodes[body].cost / OPERATIONS).max(1.0);
    let many = cells * each * beside.clamp(1.0, OTHERS) >= KEYS;
    // Only of keys is it known whether a point has another one.
    let known = otherwise.is_none() || others.is_empty() && reduction.guard.is_none();
    let found = many && known && !keys.is_empty();
    found.then_some(Parts { keys, equal, others, value, otherwise })
}

/// Whether a value is the same for all points of a reduction, and cannot fail.
fn is_fixed(points: &Points, reduction: &Reduction, node: Node) -> bool {
    let info = &points.nodes[node];
    let moves = reduction.binders.iter().any(|(ix, ..)| points.depends(node, *ix));
    !moves && !info.traps && !info.reduces
}

/// The key of a reduction, if it is a sum for each value of one.
fn find(points: &mut Points, slots: &[Slot], reduction: &Reduction) -> Option<Bins> {
    let Parts { keys, equal, mut others, value, otherwise } = parts_of(points, slots, reduction)?;
    let value = value.unwrap_or_else(|| points.int(1));
    let mut known = Known::new(points, slots, &keys, &equal);
    let value = known.apply(points, value);
    others.iter_mut().for_each(|part| *part = known.apply(points, *part));
    let all = others.iter().chain(keys.iter().map(|(_, key)| key));
    let plain = all.clone().all(|node| !points.nodes[*node].reduces);
    let free = plain
        && all
            .chain([&value])
            .all(|node| keys.iter().all(|(axis, _)| !points.depends(*node, slots[*axis].ix)));
    let mut guard = None;
    for part in others {
        guard = points.both(guard, Some(part));
    }
    free.then_some(Bins { keys, guard, value, otherwise })
}

/// What is known at a point of the cell that it is added to: the index of the axis is the key, and
/// the key is one of the axis.
struct Known {
    inside: Subst,
    keys: Subst,
}

impl Known {
    fn new(points: &mut Points, slots: &[Slot], keys: &[(usize, Node)], equal: &[Node]) -> Known {
        let mut inside = FxHashMap::default();
        for ((axis, key), equal) in keys.iter().zip(equal) {
            inside.insert(*equal, is_inside(points, *key, slots[*axis].hi));
        }
        let keys = Subst::new(keys.iter().map(|(axis, key)| (slots[*axis].ix, *key)));
        Known { inside: Subst::nodes(inside), keys }
    }

    fn apply(&mut self, points: &mut Points, node: Node) -> Node {
        let node = self.inside.apply(points, node);
        self.keys.apply(points, node)
    }
}

/// Whether a key is one of an axis.
fn is_inside(points: &mut Points, key: Node, end: Node) -> Node {
    let zero = points.int(0);
    let above = points.binary(BinaryOp::Ge, key, zero, None);
    let below = points.binary(BinaryOp::Lt, key, end, None);
    points.binary(BinaryOp::And, above, below, None)
}

/// The axis that a condition compares with a key of a point, and the key.
fn key_of(
    points: &Points,
    slots: &[Slot],
    reduction: &Reduction,
    condition: Node,
) -> Option<(usize, Node)> {
    let Kind::Binary(BinaryOp::Eq, a, b) = points.nodes[condition].kind else { return None };
    let of = |index: Node, key: Node| {
        let Kind::Index(ix) = points.nodes[index].kind else { return None };
        let axis = slots.iter().position(|slot| slot.ix == ix)?;
        let from_zero = points.as_int(slots[axis].lo) == Some(0);
        let plain = from_zero && points.nodes[key].ty == ScalarType::I32;
        // Where no two points have a key in common there is nothing to gain.
        let moves = reduction.binders.iter().any(|(it, ..)| points.depends(key, *it));
        (plain && moves).then_some((axis, key))
    };
    of(a, b).or_else(|| of(b, a))
}

fn is_zero(points: &Points, node: Node) -> bool {
    match points.nodes[node].kind {
        Kind::Const(value) => value.ty().is_float() && value.as_f64() == 0.0,
        _ => false,
    }
}

/// The sums, or what narrows those that are made before.
fn binned(
    points: &mut Points,
    defs: &mut Vec<Def>,
    def: &Def,
    clause: Clause,
    reduction: &Reduction,
    bins: &Bins,
) -> Body {
    let ty = points.nodes[clause.value].ty;
    let wide = match ty {
        _ if reduction.op == ReduceOp::Max || reduction.op == ReduceOp::Min => ty,
        ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 => ScalarType::F64,
        ty => ty,
    };
    let shape = points.arrs[def.arr].shape.clone();
    let value = of_places(points, defs, def, (&clause.slots, reduction), bins.value);
    let value = points.cast(value, wide);
    let mut guard = bins.guard;
    let here: Vec<Node> = clause.slots.iter().map(|slot| points.index(slot.ix)).collect();
    let mut at = here.clone();
    for (axis, key) in &bins.keys {
        let inside = is_inside(points, *key, clause.slots[*axis].hi);
        guard = points.both(Some(inside), guard);
        at[*axis] = points.position(*key, shape[*axis], false, None);
    }
    let is_key = |at: usize| bins.keys.iter().any(|(axis, _)| *axis == at);
    let others = clause.slots.iter().enumerate().filter(|(at, _)| !is_key(*at));
    let others: Vec<Loop> = others.map(|(_, slot)| (slot.ix, slot.lo, slot.hi)).collect();
    // The cells of one key are filled together.
    let (outer, inner): (Vec<_>, Vec<_>) = others
        .into_iter()
        .partition(|(ix, ..)| bins.keys.iter().any(|(_, key)| points.depends(*key, *ix)));
    let (of_points, value) =
        one_of_each_point(points, defs, def, (&clause.slots, reduction, bins), value);
    let parted = of_points.first().copied();
    let binders = outer.into_iter().chain(of_points).chain(inner).collect();
    let op = operation(reduction.op);
    let sums = Scatter { binders, guard, at, value, op };
    let parts = in_parts(points, &shape, parted, &sums);
    if wide == ty && parts.is_none() {
        return Body::Scatter(sums);
    }
    let (sums, part) = parts.map_or((sums, None), |(sums, part)| (sums, Some(part)));
    let of_part: Vec<i64> = part.iter().map(|_| PARTS).chain(shape).collect();
    let (name, source) = (points.arrs[def.arr].name, Source::Defined(usize::MAX));
    let arr = points.arrs.push(ArrInfo { name, ty: wide, shape: of_part, source });
    defs.push(Def { arr, span: def.span, body: Body::Scatter(sums), adjoint: false });
    let cell: Vec<Node> = part.iter().map(|(ix, ..)| points.index(*ix)).chain(here).collect();
    let mut sum = points.load(arr, &cell);
    if let Some(part) = part {
        let op = if op == BinaryOp::Add { ReduceOp::Sum } else { reduction.op };
        let total = Reduction { op, binders: vec![part], guard: None, body: sum };
        sum = points.reduce(total, wide);
    }
    let value = points.cast(sum, ty);
    Body::Clauses(vec![Clause { value, ..clause }], None)
}

/// The value of a point that is computed from what lies at one place of other arrays, with that made once
/// for each place if these are fewer than the points: `sum(e) r[from[e]] / n[from[e]]` divides once for
/// each of the places and not for each `e`.
fn of_places(
    points: &mut Points,
    defs: &mut Vec<Def>,
    def: &Def,
    (slots, reduction): (&[Slot], &Reduction),
    value: Node,
) -> Node {
    let moves = |points: &Points, node: Node| {
        reduction.binders.iter().any(|(ix, ..)| points.depends(node, *ix))
    };
    let Some(count) = points.point_count(reduction).map(i128::from) else { return value };
    let range = |place: Node| {
        let range = points.nodes[place].range.filter(|range| range.0 >= 0)?;
        // What is known of the places must not follow from the index of the point.
        let alone = points.linear(place).terms == [(place, 1)];
        (alone && moves(points, place) && count >= (range.1 + 1) * FEWER).then_some((place, range))
    };
    let loads = points.loads(&[value]);
    let Some((place, range)) = loads.iter().flat_map(|(_, at)| at.iter()).find_map(|at| range(*at))
    else {
        return value;
    };
    let ix = points.fresh(Symbol::intern("place"), range);
    let there = points.index(ix);
    let instead = FxHashMap::from_iter([(place, there)]);
    let made = Subst::nodes(instead).apply(points, value);
    let info = &points.nodes[made];
    let own = |ix: &Ix| slots.iter().any(|slot| slot.ix == *ix);
    let dear = info.cost >= points.nodes[there].cost + COMPUTED;
    if info.traps || info.reduces || moves(points, made) || info.free.iter().any(own) || !dear {
        return value;
    }
    let mut before = Before::new(def);
    let read = before.stored(points, made, &[ix]);
    let read = Subst::new([(ix, place)]).apply(points, read);
    defs.append(&mut before.take());
    read
}

/// The points, and the value of each: where the keys mention only some of the indices, the sum over
/// the others is made first, in vectors, and each key is looked at once.
fn one_of_each_point(
    points: &mut Points,
    defs: &mut Vec<Def>,
    def: &Def,
    (slots, reduction, bins): (&[Slot], &Reduction, &Bins),
    value: Node,
) -> (Vec<Loop>, Node) {
    let chosen = |ix: Ix| {
        let mut deciding = bins.keys.iter().map(|(_, key)| *key).chain(bins.guard);
        deciding.any(|node| points.depends(node, ix))
    };
    let (outer, inner): (Vec<Loop>, Vec<Loop>) =
        reduction.binders.iter().copied().partition(|(ix, ..)| chosen(*ix));
    if inner.is_empty() && !points.nodes[value].reduces {
        return (outer, value);
    }
    let op = if reduction.op == ReduceOp::Count { ReduceOp::Sum } else { reduction.op };
    let ty = points.nodes[value].ty;
    // Reductions share their indices: those that stay get others while some are summed over.
    let fresh = |points: &mut Points, (ix, ..): &Loop| {
        let info = &points.ixs[*ix];
        points.fresh(info.name, info.range)
    };
    let own: Vec<Ix> = outer.iter().map(|it| fresh(points, it)).collect();
    let there: Vec<Node> = own.iter().map(|ix| points.index(*ix)).collect();
    let back: Vec<Node> = outer.iter().map(|(ix, ..)| points.index(*ix)).collect();
    let renamed = outer.iter().map(|(ix, ..)| *ix).zip(there);
    let value = Subst::new(renamed).apply(points, value);
    let summed = match inner.is_empty() {
        true => value,
        false => points.reduce(Reduction { op, binders: inner, guard: None, body: value }, ty),
    };
    let stays = |ix: &Ix| slots.iter().any(|slot| slot.ix == *ix) || own.contains(ix);
    let ixs: Vec<Ix> = points.nodes[summed].free.iter().copied().filter(stays).collect();
    let mut before = Before::new(def);
    let read = before.stored(points, summed, &ixs);
    let read = Subst::new(own.into_iter().zip(back)).apply(points, read);
    defs.append(&mut before.take());
    (outer, read)
}

/// The same sums for each part of the points, and the index of the part, if that pays.
fn in_parts(
    points: &mut Points,
    shape: &[i64],
    parted: Option<Loop>,
    sums: &Scatter,
) -> Option<(Scatter, Loop)> {
    let (ix, lo, hi) = parted.filter(|it| sums.binders.first() == Some(it))?;
    let (first, end) = (points.as_int(lo)?, points.as_int(hi)?);
    let cells = shape.iter().product::<i64>();
    if (end - first) / POINTS / PARTS < cells {
        return None;
    }
    let share = (end - first + PARTS - 1) / PARTS;
    let part = points.fresh(Symbol::intern("part"), (0, i128::from(PARTS - 1)));
    let here = points.index(part);
    let skip = points.int(share);
    let skip = points.binary(BinaryOp::Mul, here, skip, None);
    let from = points.binary(BinaryOp::Add, lo, skip, None);
    let share = points.int(share);
    let to = points.binary(BinaryOp::Add, from, share, None);
    let to = points.binary(BinaryOp::Min, to, hi, None);
    let mut sums = sums.clone();
    sums.binders[0] = (ix, from, to);
    let part = (part, points.int(0), points.int(PARTS));
    sums.binders.insert(0, part);
    sums.at.insert(0, here);
    Some((sums, part))
}
