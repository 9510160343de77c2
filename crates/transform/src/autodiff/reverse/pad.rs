//! The pullback of a convolution as a convolution: zeros around the cotangent instead of bounds that
//! change from cell to cell.
//!
//! Before:  `x'[p] = sum[k: max(0, p - n + 1)..min(3, p + 1)](y'[p - k] * w[k])`
//! After:   `pad[q: 2..n + 2] = y'[q - 2];`, zero elsewhere,
//!          `full[p] = sum[k: 0..3](pad[p - k + 2] * w[k]);`, which is a matrix product,
//!          `x'[p] = if all(w is finite) { full[p] } else { sum[k: …](y'[p - k] * w[k]) }`
//!
//! A convolution in strides of `s` is `s` convolutions without, one for each remainder `r` of the
//! position (`phases`).
//!
//! Zero times a number is zero, but not zero times an infinity or NaN: with one of those in `w` the
//! sum with its own bounds is computed, so that what no point reads never reaches a gradient.
//!
//! Refuses: anything but a product of two reads, domains that are not constant, places that are not
//! whole axes, sums inside definitions, arrays that would be mostly zeros.

mod phases;

use super::read::component;
use super::solve::Place;
use super::{Reverse, Step, element};
use crate::autodiff::rename::Renaming;
use crate::autodiff::tensor::defined;
use ein_base::Span;
use ein_ir::size;
use ein_ir::tensor::{Axis, Binder, ClauseSlot, Expr, ExprKind, Reduce, ReduceOp, Type, VarId};
use ein_scalar::BinaryOp;

/// A padded array has at most so many times the elements of what it is made from.
const MOST: i64 = 8;

/// An index with constant bounds, or one from zero to a size that the run knows.
#[derive(Clone, Debug)]
struct Range {
    var: VarId,
    lo: i64,
    hi: size::Expr,
}

impl Range {
    /// The values of the index.
    fn known(&self) -> Option<(i64, i64)> {
        self.hi.as_constant().map(|hi| (self.lo, hi))
    }
}

/// A read of an array at affine positions.
#[derive(Clone, Debug)]
struct Read {
    base: Expr,
    at: Vec<size::Expr>,
    /// How far the positions reach below and above each axis.
    beyond: Vec<(i64, i64)>,
}

/// A sum of products over a box.
#[derive(Clone, Debug)]
struct Full {
    /// The coordinates of the result.
    places: Vec<Range>,
    /// What is summed over.
    loops: Vec<Range>,
    factors: [Read; 2],
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
        (places, facts): (&[Place], &size::Facts),
    ) -> Option<Expr> {
        let here = self.path.is_empty() && self.running.is_empty() && !self.pass.as_text;
        if !here || open.is_empty() || left.is_empty() {
            return None;
        }
        let full = self.product_over(left, value, places)?;
        let [a, b] = &full.factors;
        let outside = match (a.reaches_beyond(), b.reaches_beyond()) {
            (true, false) => a,
            (false, true) => b,
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
        let coords: Vec<Expr> =
            full.places.iter().map(|place| self.pass.var(place.var, span)).collect();
        let phased = self.in_phases(&full, &coords, span);
        let (full, coords) = match phased {
            Some((phased, coords)) if phased.points() < full.points() => (phased, coords),
            _ => (full, coords),
        };
        if !full.factors.iter().all(Read::stays_small) {
            return None;
        }
        let (finite, array) = self.full_sum(&full, value, span)?;
        let then = element(array, &coords, span);
        let Some(finite) = finite else { return Some(then) };
        let otherwise = self.sum_over(narrow.to_vec(), value.clone(), facts);
        let kind = ExprKind::If { cond: finite, then, otherwise };
        Some(Expr::new(kind, value.ty.clone(), span))
    }

    /// A product of two reads, summed over loops with constant bounds.
    fn product_over(&mut self, left: &[Step], value: &Expr, places: &[Place]) -> Option<Full> {
        let mut full_places = Vec::new();
        for place in places {
            let Place::Loop(binder) = place else { return None };
            full_places.push(self.range(binder)?);
        }
        let mut loops = Vec::new();
        for step in left {
            let Step::Loop(binder) = step else { return None };
            loops.push(self.range(binder).filter(|range| range.lo >= 0)?);
        }
        let ExprKind::Binary(BinaryOp::Mul, a, b) = &*value.kind else { return None };
        let ranges = [full_places.as_slice(), &loops].concat();
        let factors = [self.read(a, &ranges)?, self.read(b, &ranges)?];
        Some(Full { places: full_places, loops, factors })
    }

    fn range(&mut self, binder: &Binder) -> Option<Range> {
        let lo = self.pass.size_of(&binder.lo)?.as_constant()?;
        let hi = self.pass.size_of(&binder.hi)?;
        let usable = match hi.as_constant() {
            Some(hi) => lo < hi,
            None => lo == 0,
        };
        usable.then_some(Range { var: binder.var, lo, hi })
    }

    /// A read whose positions are affine in the indices.
    fn read(&mut self, e: &Expr, ranges: &[Range]) -> Option<Read> {
        let ExprKind::Index { base, indices } = &*e.kind else { return None };
        let stored = matches!(&*base.kind, ExprKind::Var(_)) || component(base).is_some();
        if !stored || base.ty.rank() != indices.len() {
            return None;
        }
        let mut at = Vec::new();
        for index in indices {
            at.push(self.pass.size_of(&index.value)?);
        }
        self.read_over(base.clone(), at, ranges)
    }

    /// A read at these positions.
    fn read_over(&mut self, base: Expr, at: Vec<size::Expr>, ranges: &[Range]) -> Option<Read> {
        let mut beyond = Vec::new();
        for (place, axis) in at.iter().zip(base.ty.axes()) {
            if self.is_all_of(place, &axis.size, ranges) {
                beyond.push((0, 0));
                continue;
            }
            let (least, most) = self.reach(place, ranges)?;
            let extent = axis.size.as_constant()?;
            beyond.push(((-least).max(0), (most - extent + 1).max(0)));
        }
        Some(Read { base, at, beyond })
    }

    /// Whether a position is an index that runs over the whole of an axis.
    fn is_all_of(&mut self, place: &size::Expr, extent: &size::Expr, ranges: &[Range]) -> bool {
        ranges.iter().any(|range| {
            let whole = range.lo == 0 && range.hi.sub(extent).as_constant() == Some(0);
            whole && *place == size::Expr::atom(self.pass.atom_of(range.var))
        })
    }

    /// The least and the greatest value of an affine position.
    fn reach(&mut self, place: &size::Expr, ranges: &[Range]) -> Option<(i64, i64)> {
        let (mut least, mut most) = (0i64, 0i64);
        let mut rest = place.clone();
        for range in ranges {
            let atom = self.pass.atom_of(range.var);
            let (coefficient, without) = rest.affine_in(atom)?;
            if coefficient == 0 {
                continue;
            }
            let (lo, hi) = range.known()?;
            let ends = [coefficient.checked_mul(lo)?, coefficient.checked_mul(hi - 1)?];
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
        for (axis, (below, above)) in read.base.ty.axes().iter().zip(&read.beyond) {
            let var = self.pass.local("$i", Type::I32, span);
            let end = axis.size.offset(*below);
            let (lo, hi) = (Expr::int(*below, span), self.pass.size_expr(&end, span));
            slots.push(ClauseSlot::Loop(Binder { var, lo, hi }));
            axes.push(Axis::anonymous(end.offset(*above)));
            let here = self.pass.var(var, span);
            at.push(match below {
                0 => here,
                _ => self.pass.arith(BinaryOp::Sub, here, Expr::int(*below, span)),
            });
        }
        let value = element(read.base.clone(), &at, span);
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

    /// The sum over all of the loops, as a definition over the places, and where there are zeros
    /// whether it holds.
    fn full_sum(&mut self, full: &Full, value: &Expr, span: Span) -> Option<(Option<Expr>, Expr)> {
        let elem = value.ty.clone();
        let [a, b] = &full.factors;
        let (mut finite, mut reads) = (None, Vec::new());
        for (read, other) in [(a, b), (b, a)] {
            if !read.reaches_beyond() {
                reads.push(self.read_at(&read.base, &read.at, span));
                continue;
            }
            let pad = self.surrounded(read, span)?;
            let moved = read.at.iter().zip(&read.beyond).map(|(at, (below, _))| at.offset(*below));
            let moved: Vec<size::Expr> = moved.collect();
            reads.push(self.read_at(&pad, &moved, span));
            let test = self.finite(&other.base, span);
            finite = Some(match finite {
                None => test,
                Some(all) => Expr::new(ExprKind::And(all, test), Type::BOOL, span),
            });
        }
        let mut reads = reads.into_iter();
        let value = self.pass.times(reads.next()?, reads.next()?);
        let mut names = Renaming::default();
        let mut fresh = |range: &Range| {
            let (lo, hi) = (Expr::int(range.lo, span), self.pass.size_expr(&range.hi, span));
            let mut binder = Binder { var: range.var, lo, hi };
            self.pass.freshen_binder(&mut binder, &mut names);
            binder
        };
        let slots: Vec<Binder> = full.places.iter().map(&mut fresh).collect();
        let binders: Vec<Binder> = full.loops.iter().map(&mut fresh).collect();
        let value = self.pass.freshened(&value, &mut names);
        let sum =
            Reduce { op: ReduceOp::Sum, binders, items: Vec::new(), value, requires: Vec::new() };
        let value = Expr::new(ExprKind::Reduce(sum), elem.clone(), span);
        let axes = full.places.iter().map(|place| place.hi.clone());
        let ty = Type::array(elem, axes.map(Axis::anonymous).collect());
        let slots = slots.into_iter().map(ClauseSlot::Loop).collect();
        Some((finite, self.defined("$full", slots, ty, value, span)))
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

impl Full {
    /// How many products are summed, for each value of indices whose end only the run knows.
    fn points(&self) -> f64 {
        let ranges = self.places.iter().chain(&self.loops).filter_map(Range::known);
        ranges.map(|(lo, hi)| (hi - lo) as f64).product()
    }
}

impl Read {
    fn reaches_beyond(&self) -> bool {
        self.beyond.iter().any(|(below, above)| below + above > 0)
    }

    /// Whether the array with zeros around it is not much larger.
    fn stays_small(&self) -> bool {
        let extents = self.base.ty.axes().iter().map(|axis| axis.size.as_constant());
        let sizes = extents.zip(&self.beyond).try_fold((1, 1), |(own, all), (extent, beyond)| {
            if *beyond == (0, 0) {
                return Some((own, all));
            }
            let extent = extent?;
            let total = i64::checked_add(extent, beyond.0)?.checked_add(beyond.1)?;
            Some((i64::checked_mul(own, extent)?, i64::checked_mul(all, total)?))
        });
        sizes.is_some_and(|(own, all)| all / MOST <= own)
    }
}
