//! The pullback of a convolution as a convolution: zeros around the cotangent instead of bounds that
//! change from cell to cell.
//!
//! Before:  `x'[p] = sum[k: max(0, p - n + 1)..min(3, p + 1)](y'[p - k] * w[k])`
//! After:   `pad[q] = if 2 <= q && q < n + 2 { y'[q - 2] } else { 0 };`
//!          `full[p] = sum[k: 0..3](pad[p - k + 2] * w[k]);`, which is a matrix product,
//!          `x'[p] = if all(w is finite) { full[p] } else { 0 } + sum[k: …](y'[p - k] * w[k])`
//!
//! Zero times a number is zero, but not zero times an infinity or NaN: with one of those in `w` the
//! sum with its own bounds is computed, so that what no point reads never reaches a gradient. The
//! bounds of that sum are empty otherwise: engines may compute both sides of a choice.
//!
//! Refuses: anything but a product of two reads, domains that are not constant, places that are not
//! whole axes, sums inside definitions.

use super::solve::Place;
use super::{Reverse, Step, element};
use crate::autodiff::rename::Renaming;
use crate::autodiff::tensor::defined;
use ein_base::Span;
use ein_ir::size;
use ein_ir::tensor::{Axis, Binder, ClauseSlot, Expr, ExprKind, Reduce, ReduceOp, Type, VarId};
use ein_scalar::BinaryOp;
use rustc_hash::FxHashSet;

/// An index with constant bounds.
struct Range {
    var: VarId,
    lo: i64,
    hi: i64,
}

/// A read of an array at affine positions.
struct Read {
    base: Expr,
    at: Vec<size::Expr>,
    /// How far the positions reach below and above each axis.
    beyond: Vec<(i64, i64)>,
}

impl Reverse<'_, '_> {
    /// The sum over the loops that are left, if it is one read that reaches beyond its array times
    /// another one that does not. `open` holds what is not known to be at least zero, `narrow` the
    /// same loops with bounds that see to it.
    pub(super) fn padded(
        &mut self,
        (left, narrow): (&[Step], &[Step]),
        value: &Expr,
        open: &[size::Expr],
        places: &[Place],
    ) -> Option<Expr> {
        let here = self.path.is_empty() && self.running.is_none() && !self.pass.as_text;
        if !here || open.is_empty() || left.is_empty() {
            return None;
        }
        let mut ranges = Vec::new();
        let mut at = Vec::new();
        for place in places {
            let Place::Loop(binder) = place else { return None };
            ranges.push(self.range(binder)?);
            at.push(binder.clone());
        }
        let mut loops = Vec::new();
        for step in left {
            let Step::Loop(binder) = step else { return None };
            ranges.push(self.range(binder)?);
            if self.range(binder)?.lo < 0 {
                return None;
            }
            loops.push(binder.clone());
        }
        let ExprKind::Binary(BinaryOp::Mul, a, b) = &*value.kind else { return None };
        let (a, b) = (self.read(a, &ranges)?, self.read(b, &ranges)?);
        let (outside, inside) = match (a.reaches_beyond(), b.reaches_beyond()) {
            (true, false) => (a, b),
            (false, true) => (b, a),
            (true, true) | (false, false) => return None,
        };
        // Every bound says that the read is inside: where it fails there is a zero.
        let covered = open.iter().all(|bound| {
            outside.at.iter().zip(outside.base.ty.axes()).any(|(at, axis)| {
                let below = bound.sub(at).as_constant() == Some(0);
                let above = axis.size.offset(-1).sub(at).sub(bound).as_constant() == Some(0);
                below || above
            })
        });
        if !covered {
            return None;
        }
        let span = value.span;
        let switch = self.switch(left, narrow)?;
        let pad = self.surrounded(&outside, span)?;
        let finite = self.finite(&inside.base, span);
        let moved: Vec<size::Expr> = outside
            .at
            .iter()
            .zip(&outside.beyond)
            .map(|(at, (below, _))| at.offset(*below))
            .collect();
        let (x, y) =
            (self.read_at(&pad, &moved, span), self.read_at(&inside.base, &inside.at, span));
        let product = self.pass.times(x, y);
        let full = self.full_sum(&at, &loops, product, span)?;
        let coords: Vec<Expr> = at.iter().map(|binder| self.pass.var(binder.var, span)).collect();
        let then = element(full, &coords, span);
        let otherwise = super::lift::zero_of(&value.ty, span);
        let kind = ExprKind::If { cond: finite.clone(), then, otherwise };
        let full = Expr::new(kind, value.ty.clone(), span);
        let plain = self.unless(finite, narrow, switch, value);
        Some(self.pass.arith(BinaryOp::Add, full, plain))
    }

    /// The loop whose upper bound the places decide alone.
    fn switch(&mut self, left: &[Step], narrow: &[Step]) -> Option<usize> {
        let inner: FxHashSet<VarId> = left
            .iter()
            .filter_map(|step| match step {
                Step::Loop(binder) => Some(binder.var),
                Step::Let(..) | Step::Guard(_) => None,
            })
            .collect();
        left.iter().zip(narrow).position(|(before, after)| match (before, after) {
            (Step::Loop(before), Step::Loop(after)) => {
                let mut used = FxHashSet::default();
                self.variables(&after.lo, &mut used);
                self.variables(&after.hi, &mut used);
                let changed = self.pass.size_of(&before.hi) != self.pass.size_of(&after.hi);
                changed && used.is_disjoint(&inner)
            }
            _ => false,
        })
    }

    /// The sum with its own bounds, over nothing if the condition holds.
    fn unless(&mut self, cond: Expr, narrow: &[Step], switch: usize, value: &Expr) -> Expr {
        let mut steps = narrow.to_vec();
        let mut first = steps.remove(switch);
        if let Step::Loop(binder) = &mut first {
            let (ty, span) = (binder.hi.ty.clone(), value.span);
            let none =
                ExprKind::If { cond, then: Expr::int(0, span), otherwise: binder.hi.clone() };
            binder.hi = Expr::new(none, ty, span);
        }
        steps.insert(0, first);
        self.sum_over(steps, value.clone())
    }

    fn range(&mut self, binder: &Binder) -> Option<Range> {
        let lo = self.pass.size_of(&binder.lo)?.as_constant()?;
        let hi = self.pass.size_of(&binder.hi)?.as_constant()?;
        (lo < hi).then_some(Range { var: binder.var, lo, hi })
    }

    /// A read whose positions are affine in the indices.
    fn read(&mut self, e: &Expr, ranges: &[Range]) -> Option<Read> {
        let ExprKind::Index { base, indices } = &*e.kind else { return None };
        if !matches!(&*base.kind, ExprKind::Var(_)) || base.ty.rank() != indices.len() {
            return None;
        }
        let (mut at, mut beyond) = (Vec::new(), Vec::new());
        for (index, axis) in indices.iter().zip(base.ty.axes()) {
            let place = self.pass.size_of(&index.value)?;
            let (least, most) = self.reach(&place, ranges)?;
            let extent = axis.size.as_constant()?;
            beyond.push(((-least).max(0), (most - extent + 1).max(0)));
            at.push(place);
        }
        Some(Read { base: base.clone(), at, beyond })
    }

    /// The least and the greatest value of an affine position.
    fn reach(&mut self, place: &size::Expr, ranges: &[Range]) -> Option<(i64, i64)> {
        let (mut least, mut most) = (0i64, 0i64);
        let mut rest = place.clone();
        for range in ranges {
            let atom = self.pass.atom_of(range.var);
            let (coefficient, without) = rest.affine_in(atom)?;
            let ends = [coefficient.checked_mul(range.lo)?, coefficient.checked_mul(range.hi - 1)?];
            least = least.checked_add(ends[0].min(ends[1]))?;
            most = most.checked_add(ends[0].max(ends[1]))?;
            rest = without;
        }
        let offset = rest.as_constant()?;
        Some((least.checked_add(offset)?, most.checked_add(offset)?))
    }

    /// An array with zeros around it.
    fn surrounded(&mut self, read: &Read, span: Span) -> Option<Expr> {
        let elem = read.base.ty.elem().clone();
        let (mut slots, mut axes, mut at) = (Vec::new(), Vec::new(), Vec::new());
        let mut cond: Option<Expr> = None;
        for (axis, (below, above)) in read.base.ty.axes().iter().zip(&read.beyond) {
            let extent = axis.size.as_constant()?;
            let var = self.pass.local("$i", Type::I32, span);
            let total = size::Expr::constant(extent + below + above);
            let hi = Expr::size(total.clone(), span);
            slots.push(ClauseSlot::Loop(Binder { var, lo: Expr::int(0, span), hi }));
            axes.push(Axis::anonymous(total));
            let here = self.pass.var(var, span);
            if *below + *above == 0 {
                at.push(here);
                continue;
            }
            for (op, limit) in [(BinaryOp::Ge, *below), (BinaryOp::Lt, extent + below)] {
                let kind = ExprKind::Binary(op, here.clone(), Expr::int(limit, span));
                let test = Expr::new(kind, Type::BOOL, span);
                cond = Some(match cond {
                    None => test,
                    Some(cond) => Expr::new(ExprKind::And(cond, test), Type::BOOL, span),
                });
            }
            at.push(self.pass.arith(BinaryOp::Sub, here, Expr::int(*below, span)));
        }
        let then = element(read.base.clone(), &at, span);
        let otherwise = super::lift::zero_of(&elem, span);
        let value = Expr::new(ExprKind::If { cond: cond?, then, otherwise }, elem.clone(), span);
        Some(self.defined("$pad", slots, Type::array(elem, axes), value, span))
    }

    /// Whether all elements of an array are numbers.
    fn finite(&mut self, array: &Expr, span: Span) -> Expr {
        let (mut binders, mut at) = (Vec::new(), Vec::new());
        for axis in array.ty.axes() {
            let var = self.pass.local("$i", Type::I32, span);
            let hi = Expr::size(axis.size.clone(), span);
            binders.push(Binder { var, lo: Expr::int(0, span), hi });
            at.push(self.pass.var(var, span));
        }
        let item = element(array.clone(), &at, span);
        let nothing = self.pass.arith(BinaryOp::Sub, item.clone(), item);
        let zero = super::lift::zero_of(array.ty.elem(), span);
        let value = Expr::new(ExprKind::Binary(BinaryOp::Eq, nothing, zero), Type::BOOL, span);
        let all =
            Reduce { op: ReduceOp::All, binders, items: Vec::new(), value, requires: Vec::new() };
        self.bind("$finite", Expr::new(ExprKind::Reduce(all), Type::BOOL, span))
    }

    /// The sum over all of the loops, as a definition over the places.
    fn full_sum(
        &mut self,
        places: &[Binder],
        loops: &[Binder],
        value: Expr,
        span: Span,
    ) -> Option<Expr> {
        let elem = value.ty.clone();
        let mut names = Renaming::default();
        let mut fresh = |binder: &Binder| {
            let mut binder = binder.clone();
            self.pass.freshen_binder(&mut binder, &mut names);
            binder
        };
        let slots: Vec<Binder> = places.iter().map(&mut fresh).collect();
        let binders: Vec<Binder> = loops.iter().map(&mut fresh).collect();
        let value = self.pass.freshened(&value, &mut names);
        let sum =
            Reduce { op: ReduceOp::Sum, binders, items: Vec::new(), value, requires: Vec::new() };
        let value = Expr::new(ExprKind::Reduce(sum), elem.clone(), span);
        let mut axes = Vec::new();
        for binder in &slots {
            axes.push(Axis::anonymous(self.pass.size_of(&binder.hi)?));
        }
        let slots = slots.into_iter().map(ClauseSlot::Loop).collect();
        Some(self.defined("$full", slots, Type::array(elem, axes), value, span))
    }

    fn read_at(&mut self, base: &Expr, at: &[size::Expr], span: Span) -> Expr {
        let at: Vec<Expr> = at.iter().map(|at| self.pass.size_expr(at, span)).collect();
        element(base.clone(), &at, span)
    }

    /// A definition of one clause under a name.
    fn defined(
        &mut self,
        name: &str,
        slots: Vec<ClauseSlot>,
        ty: Type,
        value: Expr,
        span: Span,
    ) -> Expr {
        self.bind(name, defined(slots, value, ty, span))
    }
}

impl Read {
    fn reaches_beyond(&self) -> bool {
        self.beyond.iter().any(|(below, above)| below + above > 0)
    }
}
