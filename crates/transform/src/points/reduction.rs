//! What is known of reductions before they run.

use super::{Ix, Kind, Node, Points, Range, Reduction, Subst};
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, Scalar, ScalarType};

/// Rows of so many integers that are constants are known by cell, and reductions of as many.
pub(crate) const SHORT: i64 = 16;

/// Whether the terms of a reduction have to come in turn: those after the one that decides it are not
/// evaluated, and could fail.
pub(crate) fn in_turn(points: &Points, reduction: &Reduction) -> bool {
    let bounds = reduction.binders.iter().flat_map(|(_, lo, hi)| [*lo, *hi]);
    let mut nodes = bounds.chain([reduction.body]).chain(reduction.guard);
    let decides = matches!(reduction.op, ReduceOp::Any | ReduceOp::All);
    points.careful && decides && nodes.any(|node| points.nodes[node].traps)
}

impl Points {
    /// What a reduction of one truth value is: whether there is a point, or all of none hold.
    pub(super) fn known_truth(&mut self, reduction: &Reduction) -> Option<Node> {
        let Kind::Const(Scalar::Bool(value)) = self.nodes[reduction.body].kind else { return None };
        let known = match reduction.op {
            ReduceOp::Any => !value || self.surely_has_points(reduction),
            ReduceOp::All => value || self.surely_has_points(reduction),
            ReduceOp::Sum
            | ReduceOp::Prod
            | ReduceOp::Max
            | ReduceOp::Min
            | ReduceOp::Mean
            | ReduceOp::Argmax
            | ReduceOp::Argmin
            | ReduceOp::Count => false,
        };
        known.then(|| self.truth(value))
    }

    /// A reduction of reductions of the same kind as one over the indices of both. Sums are added in
    /// another order then; those of integers may fail elsewhere and stay as they are.
    pub(crate) fn in_one(&self, reduction: Reduction, ty: ScalarType) -> Reduction {
        let known = matches!(reduction.op, ReduceOp::Sum | ReduceOp::Max | ReduceOp::Min);
        if !known || !ty.is_float() || self.exact || reduction.guard.is_some() {
            return reduction;
        }
        match &self.nodes[reduction.body].kind {
            Kind::Reduce(inner) if inner.op == reduction.op && inner.guard.is_none() => {
                let binders = reduction.binders.into_iter().chain(inner.binders.iter().copied());
                Reduction { binders: binders.collect(), body: inner.body, ..reduction }
            }
            _ => reduction,
        }
    }

    /// Whether a reduction has a point for all values of what its bounds depend on.
    fn surely_has_points(&self, reduction: &Reduction) -> bool {
        if only_point(self, reduction).is_some() {
            return true;
        }
        reduction.guard.is_none()
            && reduction.binders.iter().all(|(_, lo, hi)| {
                match (self.nodes[*lo].range, self.nodes[*hi].range) {
                    (Some((_, lo)), Some((hi, _))) => lo < hi,
                    _ => false,
                }
            })
    }

    /// Whether a reduction that needs a point may have none.
    pub(crate) fn may_lack_points(&self, reduction: &Reduction) -> bool {
        let needs = match reduction.op {
            ReduceOp::Max | ReduceOp::Min => self.nodes[reduction.body].ty.is_int(),
            ReduceOp::Argmax | ReduceOp::Argmin | ReduceOp::Mean => true,
            ReduceOp::Sum | ReduceOp::Prod => self.nodes[reduction.body].ty.is_int(),
            ReduceOp::Any | ReduceOp::All | ReduceOp::Count => false,
        };
        needs && !self.surely_has_points(reduction)
    }

    /// The number of points, if it is known.
    pub fn point_count(&self, reduction: &Reduction) -> Option<i64> {
        let mut count = 1i64;
        for (_, lo, hi) in &reduction.binders {
            let extent = self.as_int(*hi)?.checked_sub(self.as_int(*lo)?)?.max(0);
            count = i64::checked_mul(count, extent)?;
        }
        Some(count)
    }

    /// What the number of points cannot exceed.
    fn points_at_most(&self, reduction: &Reduction) -> i128 {
        let extent = |(_, lo, hi): &(_, _, _)| {
            let (lo, hi) = (self.nodes[*lo].range, self.nodes[*hi].range);
            lo.zip(hi).map_or(i128::from(i64::MAX), |((lo, _), (_, hi))| (hi - lo).max(0))
        };
        reduction.binders.iter().map(extent).fold(1, i128::saturating_mul)
    }

    /// The most points that there can be, if that is known.
    pub fn most_points(&self, reduction: &Reduction) -> Option<i64> {
        let mut count: i64 = 1;
        for (_, lo, hi) in &reduction.binders {
            let (lo, hi) = (self.nodes[*lo].range?.0, self.nodes[*hi].range?.1);
            count = count.checked_mul(i64::try_from((hi - lo).max(0)).ok()?)?;
        }
        Some(count)
    }

    /// What the magnitude of a sum of integers, or a number of points, cannot exceed.
    pub fn greatest_sum(&self, reduction: &Reduction) -> Option<i128> {
        let body = &self.nodes[reduction.body];
        let term = if body.ty.is_bool() { 1 } else { magnitude(body.range?) };
        Some(term * i128::from(self.point_count(reduction)?))
    }

    /// Whether a sum or product of integers may not fit its type.
    pub(super) fn may_overflow(&self, reduction: &Reduction, ty: ScalarType) -> bool {
        let Some((lowest, highest)) = ty.int_range().filter(|_| !self.wrapping) else {
            return false;
        };
        let body = &self.nodes[reduction.body];
        let sum_fits = || {
            let count = i128::from(self.point_count(reduction)?);
            let (least, most) = if body.ty.is_bool() { (0, 1) } else { body.range? };
            Some(least.min(0) * count >= lowest && most.max(0) * count <= highest)
        };
        match reduction.op {
            ReduceOp::Sum => sum_fits() != Some(true),
            ReduceOp::Count => self.points_at_most(reduction) > highest,
            ReduceOp::Prod => body.range.is_none_or(|it| magnitude(it) > 1),
            _ => false,
        }
    }
}

/// The element at one position of all that a value has for an index, as the greatest of those at this
/// position: what does not mention the position may be stored for all values of the index before it is
/// taken ([`only_point`]).
pub(crate) fn element_at(
    points: &mut Points,
    value: Node,
    (ix, extent): (Ix, i64),
    at: Node,
) -> Node {
    let (lo, hi, here) = (points.int(0), points.int(extent), points.index(ix));
    let guard = points.binary(BinaryOp::Eq, here, at, None);
    let ty = points.nodes[value].ty;
    let binders = vec![(ix, lo, hi)];
    let one = Reduction { op: ReduceOp::Max, binders, guard: Some(guard), body: value };
    points.reduce(one, ty)
}

/// The index of a reduction and the only position for which its condition holds, if that surely is one of
/// its points: the reduction is the value there.
pub(crate) fn only_point(points: &Points, reduction: &Reduction) -> Option<(Ix, Node)> {
    let [(ix, lo, hi)] = *reduction.binders.as_slice() else { return None };
    let Kind::Binary(BinaryOp::Eq, a, b) = points.nodes[reduction.guard?].kind else {
        return None;
    };
    let is_index = |node: Node| points.nodes[node].kind == Kind::Index(ix);
    let at = if is_index(a) { b } else { a };
    let (lo, hi) = (points.as_int(lo)?, points.as_int(hi)?);
    let (first, last) = points.nodes[at].range?;
    let inside = i128::from(lo) <= first && last < i128::from(hi);
    let one = (is_index(a) || is_index(b)) && !points.depends(at, ix) && inside;
    let extreme = matches!(reduction.op, ReduceOp::Max | ReduceOp::Min);
    (extreme && one).then_some((ix, at))
}

/// A value in which reductions of one point are what they are there; only those that hold no others, if
/// not `all`.
pub(crate) fn without_only_points(points: &mut Points, value: Node, all: bool) -> Node {
    let mut value = value;
    loop {
        let below = points.below(&[value]);
        let found = below.into_iter().find_map(|node| {
            let Kind::Reduce(reduction) = &points.nodes[node].kind else { return None };
            let fits = all || !points.nodes[reduction.body].reduces;
            let (ix, at) = only_point(points, reduction).filter(|_| fits)?;
            Some((node, reduction.body, ix, at))
        });
        let Some((node, body, ix, at)) = found else { return value };
        let there = Subst::one(ix, at).apply(points, body);
        let instead = [(node, there)].into_iter().collect();
        value = Subst::nodes(instead).apply(points, value);
    }
}

/// Where the extreme of a single term is.
pub(super) fn only_address(points: &Points, reduction: &Reduction) -> Option<Node> {
    let [(_, lo, hi)] = *reduction.binders.as_slice() else { return None };
    let one = points.as_int(hi)?.checked_sub(points.as_int(lo)?)? == 1;
    let address = matches!(reduction.op, ReduceOp::Argmax | ReduceOp::Argmin);
    let plain = reduction.guard.is_none() && !points.nodes[reduction.body].traps;
    (one && address && plain).then_some(lo)
}

/// What a reduction of a few integers or truths is which no loop around it and no array changes.
pub(super) fn known_number(
    points: &mut Points,
    reduction: &Reduction,
    ty: ScalarType,
) -> Option<Node> {
    let (op, first) = match reduction.op {
        ReduceOp::Sum => (BinaryOp::Add, Some(Scalar::zero(ty))),
        ReduceOp::Prod => (BinaryOp::Mul, Some(Scalar::one(ty))),
        ReduceOp::Max => (BinaryOp::Max, None),
        ReduceOp::Min => (BinaryOp::Min, None),
        ReduceOp::All => (BinaryOp::And, Some(Scalar::Bool(true))),
        ReduceOp::Any => (BinaryOp::Or, Some(Scalar::Bool(false))),
        ReduceOp::Mean | ReduceOp::Argmax | ReduceOp::Argmin | ReduceOp::Count => return None,
    };
    let own: Vec<Ix> = reduction.binders.iter().map(|(ix, ..)| *ix).collect();
    let parts: Vec<Node> = [reduction.body].into_iter().chain(reduction.guard).collect();
    let free = |part: &Node| points.nodes[*part].free.iter().all(|ix| own.contains(ix));
    let few = points.point_count(reduction).is_some_and(|count| count <= SHORT);
    let plain = ty.is_int() || ty.is_bool();
    let same = points.nodes[reduction.body].ty == ty;
    if !few || !plain || !same || !parts.iter().all(free) || !points.loads(&parts).is_empty() {
        return None;
    }
    let mut places: Vec<Vec<Node>> = vec![Vec::new()];
    for (_, lo, hi) in &reduction.binders {
        let (lo, hi) = (points.as_int(*lo)?, points.as_int(*hi)?);
        let longer = |point: Vec<Node>| (lo..hi).map(move |at| (point.clone(), at));
        let all: Vec<(Vec<Node>, i64)> = places.into_iter().flat_map(longer).collect();
        let extend = |(mut point, at): (Vec<Node>, i64)| {
            point.push(points.int(at));
            point
        };
        places = all.into_iter().map(extend).collect();
    }
    let mut total = first.map(|first| points.constant(first));
    for point in places {
        let mut here = Subst::new(own.iter().copied().zip(point));
        if let Some(guard) = reduction.guard {
            let guard = here.apply(points, guard);
            let Kind::Const(Scalar::Bool(holds)) = points.nodes[guard].kind else { return None };
            if !holds {
                continue;
            }
        }
        let term = here.apply(points, reduction.body);
        total = Some(match total {
            Some(total) => points.binary(op, total, term, None),
            None => term,
        });
    }
    // What may fail is no constant.
    total.filter(|total| matches!(points.nodes[*total].kind, Kind::Const(_)))
}

/// The greatest magnitude of what lies in a range.
pub(crate) fn magnitude(range: Range) -> i128 {
    range.0.abs().max(range.1.abs())
}

/// Whether a reduction reads an index.
pub(super) fn mentions(points: &Points, reduction: &Reduction, ix: Ix) -> bool {
    let ends = reduction.binders.iter().flat_map(|(_, lo, hi)| [*lo, *hi]);
    let mut parts = ends.chain([reduction.body]).chain(reduction.guard);
    parts.any(|node| points.depends(node, ix))
}

/// Gives one of the indices of a reduction a name that nothing in it has.
pub(super) fn rename_binder(points: &mut Points, reduction: &mut Reduction, at: usize, name: Ix) {
    let to = points.index(name);
    let mut renamed = Subst::one(reduction.binders[at].0, to);
    for (_, lo, hi) in &mut reduction.binders[at + 1..] {
        *lo = renamed.apply(points, *lo);
        *hi = renamed.apply(points, *hi);
    }
    reduction.body = renamed.apply(points, reduction.body);
    reduction.guard = reduction.guard.map(|guard| renamed.apply(points, guard));
    reduction.binders[at].0 = name;
}
