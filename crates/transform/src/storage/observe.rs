//! What is read of a recurrence from outside it.

use super::{Planner, is_var};
use ein_ir::size::{self, gcd};
use ein_ir::tensor::walk::each_child;
use ein_ir::tensor::{Binder, ClauseSlot, Expr, ExprKind, Tensor, VarId};

/// A read of a recurrence from outside it.
pub(super) enum Observation {
    /// So many steps before the end.
    FromEnd(i64),
    /// At multiples of a number, from a place on.
    Every(i64, size::Expr),
    /// All of it.
    Whole,
    /// At a place that is not known relative to the end.
    Unknown,
}

/// The steps of a recurrence.
pub(super) struct Steps<'t> {
    /// Its definition.
    pub tensor: &'t Tensor,
    /// The axis of the steps.
    pub axis: usize,
    /// Whether they run downward.
    pub backward: bool,
    /// The extent along them, if a condition ends them.
    pub end: Option<size::Expr>,
}

impl Planner<'_> {
    /// Finds the reads of a recurrence in an expression.
    pub(super) fn observe(
        &mut self,
        e: &Expr,
        var: VarId,
        steps: &Steps<'_>,
        found: &mut Vec<Observation>,
    ) {
        let Steps { axis, backward, .. } = *steps;
        self.note_domains(e);
        match &*e.kind {
            ExprKind::Var(read) if *read == var => found.push(Observation::Whole),
            ExprKind::Index { base, indices } if is_var(base, var) => {
                found.push(match indices.get(axis) {
                    Some(index) => match self.size(&index.value) {
                        Some(index) => {
                            self.multiples(&index).unwrap_or_else(|| self.distance(&index, steps))
                        }
                        None => Observation::Unknown,
                    },
                    None => Observation::Whole,
                });
                for index in indices {
                    self.observe(&index.value, var, steps, found);
                }
            }
            ExprKind::Slice { base, axis: along, lo, hi }
                if is_var(base, var) && *along == axis =>
            {
                // The position that is furthest from the end of the recurrence.
                let first = match (backward, lo, hi) {
                    (false, Some(lo), _) => self.size(lo),
                    (true, _, Some(hi)) => self.size(hi).map(|hi| hi.offset(-1)),
                    (false, None, _) | (true, _, None) => {
                        found.push(Observation::Whole);
                        return;
                    }
                };
                found.push(match first {
                    Some(first) => self.distance(&first, steps),
                    None => Observation::Unknown,
                });
            }
            _ => {
                let mut children = Vec::new();
                each_child(e, &mut |child| children.push(child));
                for child in children {
                    self.observe(child, var, steps, found);
                }
            }
        }
    }

    fn note_domains(&mut self, e: &Expr) {
        let mut binders: Vec<&Binder> = Vec::new();
        match &*e.kind {
            ExprKind::Tensor(tensor) => {
                for slot in tensor.clauses.iter().flat_map(|clause| &clause.slots) {
                    if let ClauseSlot::Loop(binder) = slot {
                        binders.push(binder);
                    }
                }
            }
            ExprKind::Reduce(reduce) => binders.extend(&reduce.binders),
            ExprKind::Scatter(scatter) => binders.extend(&scatter.binders),
            _ => {}
        }
        for binder in binders {
            let atom = self.sizes.get(&binder.var).and_then(size::Expr::as_atom);
            if let (Some(lo), Some(hi), Some(atom)) =
                (self.size(&binder.lo), self.size(&binder.hi), atom)
            {
                self.ranges.insert(atom, (lo, hi));
            }
        }
    }

    /// A read at multiples of a number greater than one.
    fn multiples(&self, index: &size::Expr) -> Option<Observation> {
        let (mut every, mut rest) = (0, index.clone());
        for atom in index.atoms() {
            if self.ranges.contains_key(&atom) {
                let (factor, others) = rest.affine_in(atom)?;
                (every, rest) = (gcd(every, factor), others);
            }
        }
        (every > 1).then_some(Observation::Every(every, rest))
    }

    /// How far from the end of the recurrence a read can be.
    fn distance(&self, index: &size::Expr, steps: &Steps<'_>) -> Observation {
        let Steps { tensor, axis, backward, .. } = *steps;
        if let Some(end) = &steps.end {
            // Only the run knows where it ends, so only what counts from there is known.
            return match end.sub(index).as_constant() {
                Some(distance) => Observation::FromEnd(distance),
                None => Observation::Unknown,
            };
        }
        // The end is where the recurrent clauses stop.
        let mut furthest: Option<i64> = None;
        for clause in &tensor.clauses {
            let Some(ClauseSlot::Loop(binder)) = clause.slots.get(axis) else { continue };
            let distance = if backward {
                self.size(&binder.lo).map(|lo| index.sub(&lo).offset(1))
            } else {
                self.size(&binder.hi).map(|hi| hi.sub(index))
            };
            let constant = |distance: size::Expr| self.largest(&distance)?.as_constant();
            // With a base clause the extent is at least 1, however few steps there are.
            let extent = tensor.shape.get(axis).and_then(|extent| extent.as_ref());
            let from_extent = || match backward {
                false => extent.and_then(|extent| constant(extent.sub(index))),
                true => None,
            };
            match distance.and_then(constant).or_else(from_extent) {
                Some(distance) => furthest = Some(furthest.map_or(distance, |f| f.max(distance))),
                None => {
                    let loops = index.atoms().iter().any(|atom| self.ranges.contains_key(atom));
                    return if loops { Observation::Whole } else { Observation::Unknown };
                }
            }
        }
        match furthest {
            // A read of everything looks like a distance as long as the recurrence itself.
            Some(distance) if !self.covers_all(distance, tensor, axis) => {
                Observation::FromEnd(distance)
            }
            Some(_) => Observation::Whole,
            None => Observation::Unknown,
        }
    }

    fn covers_all(&self, distance: i64, tensor: &Tensor, axis: usize) -> bool {
        let extent = tensor.shape.get(axis).and_then(|size| size.as_ref()?.as_constant());
        extent.is_some_and(|extent| distance >= extent && extent > 1)
    }

    /// The largest value over the domains of the index variables in it.
    fn largest(&self, bound: &size::Expr) -> Option<size::Expr> {
        let mut bound = bound.clone();
        for _ in 0..16 {
            let atom = bound.atoms().into_iter().find(|atom| self.ranges.contains_key(atom));
            let Some(atom) = atom else { return Some(bound) };
            let (coefficient, rest) = bound.affine_in(atom)?;
            let (lo, hi) = &self.ranges[&atom];
            let extreme = if coefficient > 0 { hi.offset(-1) } else { lo.clone() };
            bound = rest.add(&extreme.scale(coefficient));
        }
        None
    }
}

/// What two reads at multiples of numbers have in common, if it is more than every step.
pub(super) fn common(
    other: Option<(i64, size::Expr)>,
    every: i64,
    from: size::Expr,
) -> Option<(i64, size::Expr)> {
    let every = match &other {
        Some((other, start)) => gcd(gcd(*other, every), from.sub(start).as_constant()?),
        None => every,
    };
    let from = other.map_or(from, |(_, start)| start);
    (every > 1).then_some((every, from))
}
