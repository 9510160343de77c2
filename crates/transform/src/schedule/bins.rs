//! Sums for each value of a key, in one pass over the points.
//!
//! Before:  `h[b] = count(i) t[i] == b`, which compares every point with every key
//! After:   `h[b] = 0`, then `h[t[i]] += 1` for every point whose key is one of `h`
//!
//! It is the same for sums with `t[i] == b` among their conditions, or of `if t[i] == b { v } else
//! { 0 }`. Each sum has its terms in the same order; those of `f32` are added as `f64`.
//!
//! Needs: an axis of the result that begins at zero and is compared with an `i32`.
//! Refuses: few keys, which vectors compare faster than memory is written; sums of integers that
//! may not fit; values that mention the key otherwise.

use super::contract::only_clause;
use crate::points::{
    ArrInfo, Body, Clause, Def, Ix, Kind, Node, Points, Reduction, Scatter, Slot, Source,
};
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, ScalarType};

/// From so many keys on it is done: several threads compare as many in the time of one pass.
const KEYS: i64 = 64;

/// A sum for each value of a key.
struct Bins {
    /// The axis of the key, and the key of a point.
    axis: usize,
    key: Node,
    /// What else must hold.
    guard: Option<Node>,
    /// What is added, in the type in which it is.
    value: Node,
}

/// Replaces sums for each value of a key.
pub(crate) fn run(points: &mut Points) {
    if points.exact {
        return;
    }
    let mut defs = Vec::with_capacity(points.defs.len());
    for mut def in std::mem::take(&mut points.defs) {
        let shape = points.arrs[def.arr].shape.clone();
        if let Some(clause) = only_clause(points, &def.body, &shape).cloned()
            && let Kind::Reduce(reduction) = points.nodes[clause.value].kind.clone()
            && let Some(bins) = find(points, &clause.slots, &reduction)
        {
            def.body = binned(points, &mut defs, &def, clause, &reduction, &bins);
        }
        defs.push(def);
    }
    points.defs = defs;
}

/// The key of a reduction, if it is a sum for each value of one.
fn find(points: &mut Points, slots: &[Slot], reduction: &Reduction) -> Option<Bins> {
    let body = reduction.body;
    let ty = points.nodes[body].ty;
    let mut conditions: Vec<Node> = reduction.guard.into_iter().collect();
    let mut count = 1_i64;
    for (_, lo, hi) in &reduction.binders {
        count = count.checked_mul((points.as_int(*hi)? - points.as_int(*lo)?).max(0))?;
    }
    let value = match (reduction.op, &points.nodes[body].kind) {
        (ReduceOp::Count, _) if count < 1 << 31 => {
            conditions.push(body);
            points.int(1)
        }
        (ReduceOp::Sum, Kind::Select(condition, value, other))
            if ty.is_float() && is_zero(points, *other) =>
        {
            conditions.push(*condition);
            *value
        }
        (ReduceOp::Sum, _) if ty.is_float() => body,
        _ => return None,
    };
    let mut parts = Vec::new();
    while let Some(condition) = conditions.pop() {
        match points.nodes[condition].kind {
            Kind::Binary(BinaryOp::And, a, b) => conditions.extend([a, b]),
            _ => parts.push(condition),
        }
    }
    let (at, axis, key) = parts.iter().enumerate().find_map(|(at, part)| {
        let Kind::Binary(BinaryOp::Eq, a, b) = points.nodes[*part].kind else { return None };
        let key_of = |index: Node, key: Node| {
            let Kind::Index(ix) = points.nodes[index].kind else { return None };
            let axis = slots.iter().position(|slot| slot.ix == ix)?;
            let plain = points.nodes[key].ty == ScalarType::I32 && !points.nodes[key].reduces;
            (plain && !points.depends(key, ix)).then_some((at, axis, key))
        };
        key_of(a, b).or_else(|| key_of(b, a))
    })?;
    parts.remove(at);
    let ix = slots[axis].ix;
    let from_zero = points.as_int(slots[axis].lo) == Some(0);
    let many = points.as_int(slots[axis].hi).is_some_and(|keys| keys >= KEYS);
    // Where no two points have a key in common there is nothing to gain.
    let moves = reduction.binders.iter().any(|(it, ..)| points.depends(key, *it));
    let others = parts.iter().chain([&value]);
    let free =
        others.into_iter().all(|node| !points.depends(*node, ix) && !points.nodes[*node].reduces);
    let mut guard = None;
    for part in parts {
        guard = points.both(guard, Some(part));
    }
    (from_zero && many && moves && free).then_some(Bins { axis, key, guard, value })
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
        ScalarType::F16 | ScalarType::BF16 | ScalarType::F32 => ScalarType::F64,
        ty => ty,
    };
    let value = points.cast(bins.value, wide);
    let shape = points.arrs[def.arr].shape.clone();
    let keys = shape[bins.axis];
    let (zero, end) = (points.int(0), points.int(keys));
    let above = points.binary(BinaryOp::Ge, bins.key, zero, None);
    let below = points.binary(BinaryOp::Lt, bins.key, end, None);
    let inside = points.both(Some(above), Some(below));
    let guard = points.both(inside, bins.guard);
    let axis = clause.slots[bins.axis].ix;
    let others = clause.slots.iter().filter(|slot| slot.ix != axis);
    let others: Vec<(Ix, Node, Node)> = others.map(|slot| (slot.ix, slot.lo, slot.hi)).collect();
    // The cells of one key are filled together.
    let (outer, inner): (Vec<_>, Vec<_>) =
        others.into_iter().partition(|(ix, ..)| points.depends(bins.key, *ix));
    let binders = outer.into_iter().chain(reduction.binders.iter().copied()).chain(inner).collect();
    let here: Vec<Node> = clause.slots.iter().map(|slot| points.index(slot.ix)).collect();
    let mut at = here.clone();
    at[bins.axis] = points.position(bins.key, keys, false, None);
    let sums = Body::Scatter(Scatter { binders, guard, at, value });
    if wide == ty {
        return sums;
    }
    let (name, source) = (points.arrs[def.arr].name, Source::Defined(usize::MAX));
    let arr = points.arrs.push(ArrInfo { name, ty: wide, shape, source });
    defs.push(Def { arr, span: def.span, body: sums, adjoint: false });
    let sum = points.load(arr, &here);
    let value = points.cast(sum, ty);
    Body::Clauses(vec![Clause { value, ..clause }], None)
}
