//! Running reductions: a sum over `0..i + 1` for every `i` takes one pass, not one for each cell.
//!
//! Before:  `c[i] = sum(k in 0..i + 1) x[k]`
//! After:   `c[0] = x[0]`, `c[i] = c[i - 1] + x[i]`, a recurrence
//!
//! The same from the other end (`k in i..n`), for products, extremes, truths, counts and means, for
//! each value of other indices, and inside larger expressions: then the running values are a definition
//! of their own.
//!
//! Where another index moves the other end, the values begin anew when they reach it:
//!
//! Before:  `w[i, j] = sum(k in i..j + 1) p[k]`, over a triangle
//! After:   `w[i, j] = if i < j + 1 { w[i + 1, j] + p[i] } else { 0 }`, over the square around it
//!
//! Needs: one end that moves with an index by constant steps, and nothing else that mentions the index.
//! Refuses: sums of short floats (they are added in wider ones), few cells; where domains may be empty
//! beyond the first cell, means, terms that may fail and triangles of few of the cells around them.
//!
//! Failures: each term is computed once instead of once for every cell that contains it, so what
//! fails still fails. Under a guard, terms that may fail are left where they are.

use super::contract::only_clause;
use super::reduce::neutral;
use crate::points::subst::in_loops;
use crate::points::{
    Arr, ArrInfo, Body, Clause, Def, Ix, Kind, Node, Points, Reduction, Slot, Source, Step, Subst,
    in_turn,
};
use ein_base::Span;
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use rustc_hash::{FxHashMap, FxHashSet};

/// Fewer cells than this are reduced one by one.
const MANY: i64 = 16;

/// The most cells that are stored beside a definition.
const CELLS: i128 = 1 << 26;

/// The same where cells of other domains begin anew.
const ANEW: i128 = 1 << 22;

/// Of so many cells of a rectangle at least one is wanted.
const SPARE: f64 = 4.0;

/// The most running reductions of one clause.
const PARTS: usize = 32;

/// How a reduction runs along an index of the cell.
struct Running {
    /// The index, and which of the binders it moves.
    ix: Ix,
    binder: usize,
    /// The term that a cell has beyond its neighbour is at the index plus this.
    offset: i64,
    backward: bool,
    op: BinaryOp,
    /// The other end of the domain, if cells after the first may not have reached it.
    anew: Option<Node>,
}

/// Makes recurrences of running reductions.
pub(crate) fn run(points: &mut Points) {
    let mut defs = Vec::with_capacity(points.defs.len());
    let mut left: Vec<Def> = std::mem::take(&mut points.defs);
    left.reverse();
    while let Some(mut def) = left.pop() {
        let shape = points.arrs[def.arr].shape.clone();
        if let Some(inner) = rows_first(points, &mut def, &shape) {
            left.extend([def, inner]);
            continue;
        }
        let whole = only_clause(points, &def.body, &shape);
        let whole = whole.or_else(|| triangle(points, &def.body, &shape)).cloned();
        if let Some(clause) = whole
            && let Kind::Reduce(reduction) = points.nodes[clause.value].kind.clone()
            && reduction.op != ReduceOp::Mean
            && let Some(running) = running(points, clause.value, &reduction, &clause.slots)
        {
            // The definition itself is what runs.
            def.body =
                recurrence(points, def.arr, clause.value, &reduction, &running, &clause.slots);
        }
        let of = (def.arr, def.span);
        if let Body::Clauses(clauses, _) = &mut def.body {
            for clause in clauses {
                for _ in 0..PARTS {
                    let Some(it) = found(points, def.arr, clause) else { break };
                    let (made, read) = beside(points, of, &it);
                    defs.push(made);
                    let mut subst = Subst::nodes(FxHashMap::from_iter([(it.node, read)]));
                    clause.value = subst.apply(points, clause.value);
                    clause.otherwise = clause.otherwise.map(|it| subst.apply(points, it));
                    clause.guard = clause.guard.map(|it| subst.apply(points, it));
                }
            }
        }
        defs.push(def);
    }
    points.defs = defs;
}

/// Of a reduction that runs along two indices, what runs along the second one as a definition of its own,
/// which the other one reduces: every cell takes one term of each.
fn rows_first(points: &mut Points, def: &mut Def, shape: &[i64]) -> Option<Def> {
    let clause = only_clause(points, &def.body, shape)?.clone();
    let Kind::Reduce(reduction) = points.nodes[clause.value].kind.clone() else { return None };
    let adds = matches!(
        reduction.op,
        ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min | ReduceOp::Count
    );
    if !adds || reduction.binders.len() < 2 {
        return None;
    }
    let ty = points.nodes[clause.value].ty;
    let outer = running(points, clause.value, &reduction, &clause.slots)?;
    let (own, lo, hi) = reduction.binders[outer.binder];
    let (first, last) = points.ixs[outer.ix].range;
    // Each cell takes one term of the inner one, the first cell as well.
    let alone = match outer.backward {
        false => points.as_int(lo).map(i128::from) == Some(first + i128::from(outer.offset)),
        true => points.as_int(hi).map(i128::from) == Some(last + i128::from(outer.offset) + 1),
    };
    if !alone || outer.anew.is_some() {
        return None;
    }
    let axis = clause.slots.iter().position(|slot| slot.ix == outer.ix)?;
    let (slots, mut names) = renewed(points, &clause.slots, axis, (first, last));
    let here = points.index(slots[axis].ix);
    let offset = points.int(outer.offset);
    let place = points.binary(BinaryOp::Add, here, offset, None);
    let term = term(points, &reduction, &outer, place, ty);
    let value = names.apply(points, term);
    let Kind::Reduce(inner) = points.nodes[value].kind.clone() else { return None };
    running(points, value, &inner, &slots)?;
    let info = points.arrs[def.arr].clone();
    let arr = points.arrs.push(ArrInfo { source: Source::Defined(usize::MAX), ..info });
    let mut at: Vec<Node> = clause.slots.iter().map(|slot| points.index(slot.ix)).collect();
    let (own_place, back) = (points.index(own), points.int(-outer.offset));
    at[axis] = points.binary(BinaryOp::Add, own_place, back, None);
    let body = points.load(arr, &at);
    let op = if reduction.op == ReduceOp::Count { ReduceOp::Sum } else { reduction.op };
    let sum = Reduction { op, binders: vec![(own, lo, hi)], guard: None, body };
    let value_of = points.reduce(sum, ty);
    def.body = Body::Clauses(vec![Clause { value: value_of, ..clause }], None);
    let clause = Clause { slots, guard: None, value, otherwise: None };
    Some(Def { arr, span: def.span, body: Body::Clauses(vec![clause], None), adjoint: def.adjoint })
}

/// A running reduction, and the indices that its cells have.
struct Found {
    node: Node,
    reduction: Reduction,
    running: Running,
    slots: Vec<Slot>,
}

/// A running reduction inside a clause, perhaps inside other reductions.
fn found(points: &Points, arr: Arr, clause: &Clause) -> Option<Found> {
    let roots = [clause.value].into_iter().chain(clause.otherwise).chain(clause.guard);
    let below = points.below(&roots.collect::<Vec<_>>());
    let mut slots = clause.slots.clone();
    let mut guarded = clause.guard.is_some();
    for node in &below {
        if let Kind::Reduce(reduction) = &points.nodes[*node].kind {
            slots.extend(reduction.binders.iter().map(|(ix, lo, hi)| Slot {
                ix: *ix,
                lo: *lo,
                hi: *hi,
            }));
            guarded |= reduction.guard.is_some();
        }
    }
    // Reductions share their indices.
    let mut seen = FxHashSet::default();
    slots.retain(|slot| seen.insert(slot.ix));
    below.into_iter().find_map(|node| {
        let Kind::Reduce(reduction) = &points.nodes[node].kind else { return None };
        // What may fail is computed where the program computes it, and no cell is read before it is
        // there.
        if guarded && points.nodes[node].traps
            || points.loads(&[node]).iter().any(|(of, _)| *of == arr)
        {
            return None;
        }
        let running = running(points, node, reduction, &slots)?;
        let free = &points.nodes[node].free;
        let own: Vec<Slot> = slots.iter().copied().filter(|slot| free.contains(&slot.ix)).collect();
        let cells: i128 = own.iter().map(|slot| points.ixs[slot.ix].range.1 + 1).product();
        let reduction = (**reduction).clone();
        let most = if running.anew.is_some() { ANEW } else { CELLS };
        (cells <= most).then_some(Found { node, reduction, running, slots: own })
    })
}

/// The only clause of a definition, if it is a sum over a part of the cells of which nothing is in the sums
/// of the others.
fn triangle<'a>(points: &Points, body: &'a Body, shape: &[i64]) -> Option<&'a Clause> {
    let Body::Clauses(clauses, None) = body else { return None };
    let [clause] = clauses.as_slice() else { return None };
    let Kind::Reduce(reduction) = &points.nodes[clause.value].kind else { return None };
    let adds = matches!(reduction.op, ReduceOp::Sum | ReduceOp::Count);
    let all = clause
        .slots
        .iter()
        .zip(shape)
        .all(|(slot, extent)| points.ixs[slot.ix].range == (0, i128::from(*extent) - 1));
    let mut cut = clause.slots.iter().filter(|slot| points.ixs[slot.ix].bounds.is_some());
    let (slot, None) = (cut.next()?, cut.next()) else { return None };
    // Beyond an end of the slot the domain of one of the indices has nothing.
    let without = |end: Node, by: i64, sign: i64| {
        reduction.binders.iter().any(|(_, lo, hi)| {
            let mut count = points.linear(*hi).minus(&points.linear(*lo));
            let own = |node: Node| points.nodes[node].kind == Kind::Index(slot.ix);
            let Some(at) = count.terms.iter().position(|(term, _)| own(*term)) else {
                return false;
            };
            let (_, factor) = count.terms.remove(at);
            let mut place = points.linear(end);
            place.offset += by;
            count.add(&place, factor);
            factor.signum() == sign && points.reach(&count).is_some_and(|(_, most)| most <= 0)
        })
    };
    let fixed = |node: Node| points.as_int(node).is_some();
    let below = fixed(slot.lo) || without(slot.lo, -1, 1);
    let above = fixed(slot.hi) || without(slot.hi, 0, -1);
    (adds && all && below && above && clause.guard.is_none()).then_some(clause)
}

/// Whether a reduction runs along one of the indices of a cell.
fn running(points: &Points, node: Node, reduction: &Reduction, slots: &[Slot]) -> Option<Running> {
    let ty = points.nodes[node].ty;
    let wide = ty.is_int() || matches!(ty, ScalarType::F32 | ScalarType::F64);
    let op = match reduction.op {
        ReduceOp::Sum | ReduceOp::Count if wide && ty != ScalarType::U64 => BinaryOp::Add,
        ReduceOp::Mean if wide && ty.is_float() && reduction.guard.is_none() => BinaryOp::Add,
        ReduceOp::Prod if wide && ty != ScalarType::U64 => BinaryOp::Mul,
        ReduceOp::Max if ty != ScalarType::U64 => BinaryOp::Max,
        ReduceOp::Min if ty != ScalarType::U64 => BinaryOp::Min,
        ReduceOp::Any if !in_turn(points, reduction) => BinaryOp::Or,
        ReduceOp::All if !in_turn(points, reduction) => BinaryOp::And,
        ReduceOp::Sum | ReduceOp::Count | ReduceOp::Mean | ReduceOp::Prod => return None,
        ReduceOp::Max | ReduceOp::Min | ReduceOp::Argmax | ReduceOp::Argmin => return None,
        ReduceOp::Any | ReduceOp::All => return None,
    };
    // In exact mode sums have an order of their own.
    if points.exact && ty.is_float() {
        return None;
    }
    // All indices that it mentions are those of the cell, over ranges that are known.
    let free = &points.nodes[node].free;
    let (traps, mean) = (points.nodes[node].traps, reduction.op == ReduceOp::Mean);
    let known = |slot: &&Slot| {
        let (first, last) = points.ixs[slot.ix].range;
        let fixed = points.as_int(slot.lo).is_some() && points.as_int(slot.hi).is_some();
        let most = points.trip_count(slot.lo, slot.hi) * SPARE >= (last - first + 1) as f64;
        match points.ixs[slot.ix].bounds {
            None => fixed,
            // All cells of the rectangle around it have a value, which may not fail.
            Some(_) => most && !traps && !mean,
        }
    };
    let mentioned = slots.iter().filter(|slot| free.contains(&slot.ix));
    if mentioned.clone().count() != free.len() || !mentioned.clone().all(|slot| known(&slot)) {
        return None;
    }
    let mut mentioned = mentioned;
    mentioned.find_map(|slot| {
        let ix = slot.ix;
        let (first, last) = points.ixs[ix].range;
        if last - first + 1 < i128::from(MANY) {
            return None;
        }
        let mut moved = None;
        for (at, (_, lo, hi)) in reduction.binders.iter().enumerate() {
            let (low, high) = (points.depends(*lo, ix), points.depends(*hi, ix));
            let at = match (low, high) {
                (false, false) => continue,
                (false, true) => (at, points.offset_from(*hi, ix)? - 1, false),
                (true, false) => (at, points.offset_from(*lo, ix)?, true),
                (true, true) => return None,
            };
            if moved.replace(at).is_some() {
                return None;
            }
        }
        let (binder, offset, backward) = moved?;
        let (own, lo, hi) = reduction.binders[binder];
        let rest = &reduction.binders[binder + 1..];
        // Every step adds one value of the index: the other end is not beyond the first cell.
        // A mean has a point in its first cell, too.
        let least = i128::from(reduction.op == ReduceOp::Mean);
        let steps = match backward {
            false => points.nodes[lo].range?.1 + least <= first + i128::from(offset) + 1,
            true => points.nodes[hi].range?.0 - least >= last + i128::from(offset),
        };
        let mut others = reduction.binders.iter().enumerate().filter(|(at, _)| *at != binder);
        let filled = |(_, (_, lo, hi)): (usize, &(Ix, Node, Node))| {
            points.as_int(*lo).zip(points.as_int(*hi)).is_some_and(|(lo, hi)| lo < hi)
        };
        let other = if backward { hi } else { lo };
        // Cells that have not reached it have a term all the same, where there may be no divisor.
        let divides = |node: Node| match points.nodes[node].kind {
            Kind::Binary(BinaryOp::Div | BinaryOp::Rem, _, by) => {
                points.nodes[by].ty.is_int() && points.depends(by, own)
            }
            _ => false,
        };
        let divided = points.below(&[reduction.body]).into_iter().any(divides);
        let anew = !steps && !mean && !traps && !divided && points.loads(&[other]).is_empty();
        let steps = (steps || anew) && (least == 0 || others.all(filled));
        let apart =
            !rest.iter().any(|(_, lo, hi)| [*lo, *hi].iter().any(|end| points.depends(*end, own)));
        let inside = [reduction.body].into_iter().chain(reduction.guard);
        let free = !inside.into_iter().any(|node| points.depends(node, ix));
        let anew = anew.then_some(other);
        (steps && apart && free).then_some(Running { ix, binder, offset, backward, op, anew })
    })
}

/// The clauses of the running values, as a definition of `arr` over these slots.
fn recurrence(
    points: &mut Points,
    arr: Arr,
    node: Node,
    reduction: &Reduction,
    running: &Running,
    slots: &[Slot],
) -> Body {
    let axis = slots.iter().position(|slot| slot.ix == running.ix);
    let axis = axis.expect("the index is one of the cell's");
    let (first, last) = points.ixs[running.ix].range;
    let (start, next) = match running.backward {
        false => (first, (first + 1, last)),
        true => (last, (first, last - 1)),
    };
    // The first cell is reduced as it is.
    let begin = renewed(points, slots, axis, (start, start));
    let mut value = begin.1.clone().apply(points, node);
    if let Kind::Reduce(first) = &points.nodes[value].kind
        && running.anew.is_some()
        && points.point_count(first) == Some(0)
    {
        value = points.constant(neutral(running.op, points.nodes[node].ty));
    }
    let begin = Clause { slots: begin.0, guard: None, value, otherwise: None };
    // The others have one more term than their neighbour.
    let (step_slots, mut names) = renewed(points, slots, axis, next);
    let here: Vec<Node> = step_slots.iter().map(|slot| points.index(slot.ix)).collect();
    let mut before = here.clone();
    let by = points.int(if running.backward { 1 } else { -1 });
    before[axis] = points.binary(BinaryOp::Add, here[axis], by, None);
    let before = points.load(arr, &before);
    let offset = points.int(running.offset);
    let place = points.binary(BinaryOp::Add, here[axis], offset, None);
    let term = term(points, reduction, running, place, points.nodes[node].ty);
    let term = names.apply(points, term);
    let mut value = points.binary(running.op, before, term, None);
    if let Some(other) = running.anew {
        let other = names.apply(points, other);
        let nothing = points.constant(neutral(running.op, points.nodes[node].ty));
        let compares = if running.backward { BinaryOp::Lt } else { BinaryOp::Ge };
        let reached = points.binary(compares, place, other, None);
        value = points.select(reached, value, nothing);
    }
    let step = Clause { slots: step_slots, guard: None, value, otherwise: None };
    let steps = vec![Step { axis, backward: running.backward }];
    Body::Clauses(vec![begin, step], Some(steps))
}

/// The cells of a definition with indices of their own, one of which runs over another range.
fn renewed(
    points: &mut Points,
    slots: &[Slot],
    axis: usize,
    range: (i128, i128),
) -> (Vec<Slot>, Subst) {
    let mut pairs = Vec::new();
    let mut new = Vec::new();
    for (at, slot) in slots.iter().enumerate() {
        let name = points.ixs[slot.ix].name;
        let (lo, hi) = if at == axis { range } else { points.ixs[slot.ix].range };
        let ix = points.fresh(name, (lo, hi));
        pairs.push((slot.ix, points.index(ix)));
        let (lo, hi) = (points.int(lo as i64), points.int(hi as i64 + 1));
        new.push(Slot { ix, lo, hi });
    }
    (new, Subst::new(pairs))
}

/// What a step adds: the reduction with one index at its place.
fn term(
    points: &mut Points,
    reduction: &Reduction,
    running: &Running,
    place: Node,
    ty: ScalarType,
) -> Node {
    let own = reduction.binders[running.binder].0;
    let mut binders = reduction.binders.clone();
    binders.remove(running.binder);
    let loops = binders.iter_mut().map(|(ix, lo, hi)| (ix, lo, hi));
    let mut at = in_loops(points, vec![(own, place)], loops);
    let body = at.apply(points, reduction.body);
    let guard = reduction.guard.map(|guard| at.apply(points, guard));
    let op = if reduction.op == ReduceOp::Mean { ReduceOp::Sum } else { reduction.op };
    if !binders.is_empty() {
        return points.reduce(Reduction { op, binders, guard, body }, ty);
    }
    let (body, none) = match op {
        ReduceOp::Count => {
            let one = points.constant(Scalar::one(ty));
            let zero = points.constant(Scalar::zero(ty));
            (points.select(body, one, zero), Scalar::zero(ty))
        }
        ReduceOp::Prod => (body, Scalar::one(ty)),
        ReduceOp::Max => (body, Scalar::lowest(ty)),
        ReduceOp::Min => (body, Scalar::highest(ty)),
        ReduceOp::Any => (body, Scalar::Bool(false)),
        ReduceOp::All => (body, Scalar::Bool(true)),
        ReduceOp::Sum | ReduceOp::Mean | ReduceOp::Argmax | ReduceOp::Argmin => {
            (body, Scalar::zero(ty))
        }
    };
    match guard {
        None => body,
        Some(guard) => {
            let none = points.constant(none);
            points.select(guard, body, none)
        }
    }
}

/// The running values as a definition beside the one that reads them, and how it does.
fn beside(points: &mut Points, (of, span): (Arr, Span), it: &Found) -> (Def, Node) {
    let Found { node, reduction, running, slots } = it;
    let shape = slots.iter().map(|slot| (points.ixs[slot.ix].range.1 + 1) as i64).collect();
    let (name, ty) = (points.arrs[of].name, points.nodes[*node].ty);
    let arr = points.arrs.push(ArrInfo { name, ty, shape, source: Source::Defined(usize::MAX) });
    let means = reduction.op == ReduceOp::Mean;
    let summed = match means {
        true => points.reduce(Reduction { op: ReduceOp::Sum, ..reduction.clone() }, ty),
        false => *node,
    };
    let body = recurrence(points, arr, summed, reduction, running, slots);
    let at: Vec<Node> = slots.iter().map(|slot| points.index(slot.ix)).collect();
    let mut read = points.load(arr, &at);
    if means {
        let count = count(points, reduction, ty);
        read = points.binary(BinaryOp::Div, read, count, None);
    }
    (Def { arr, span, body, adjoint: false }, read)
}

/// The number of points of a reduction without conditions.
fn count(points: &mut Points, reduction: &Reduction, ty: ScalarType) -> Node {
    let mut count = points.constant(Scalar::one(ty));
    for (_, lo, hi) in &reduction.binders {
        let extent = points.binary(BinaryOp::Sub, *hi, *lo, None);
        let extent = points.cast(extent, ty);
        count = points.binary(BinaryOp::Mul, count, extent, None);
    }
    count
}
