//! Sums that are scattered by strides as sums that every cell gathers.
//!
//! Before:  `scatter x by add [i, p] at 2 i + p: y[i] w[p]`, one addition into memory after another
//! After:   `x[c]` reads `z[c mod 2, c / 2]` with `z[r, u] = sum(k) y[u - k] w[r + 2 k]`: what is left is
//!          a convolution for each remainder, which runs in vectors, or as a matrix product
//!
//! What flows back through a window is scattered where only the run knows its stride (a parameter of a
//! library function); here the stride is a number. `y` gets zeros around it and `w` after it, so that
//! no term has a condition. Zero times an infinity is no zero: where anything is not finite, the terms
//! are asked whether they are there.
//!
//! Needs: positions that are sums of at most two indices of their own with constant factors, one of
//! the factors being one; floats of 32 or 64 bits, whose sums may be in another order.
//! Refuses: strides together with dilations, positions that are data, guards, values with reductions.
//!
//! Failures: what may fail is left as it is.

use crate::points::{
    Arr, ArrInfo, Body, Clause, Def, Ix, Kind, Linear, Node, Points, Reduction, Scatter, Slot,
    Source, Subst,
};
use ein_base::Symbol;
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, Scalar, ScalarType};

/// The length of a domain above which positions are not reckoned with.
const LONG: i64 = 1 << 30;

/// Replaces what is scattered by strides.
pub(crate) fn run(points: &mut Points) {
    if points.exact || points.careful {
        return;
    }
    let mut defs = Vec::new();
    for mut def in std::mem::take(&mut points.defs) {
        if let Body::Scatter(scatter) = &def.body
            && let Some(body) = gathered(points, &mut defs, &def, scatter)
        {
            def.body = body;
        }
        defs.push(def);
    }
    points.defs = defs;
}

/// An index of the scatter, with its domain.
#[derive(Clone, Copy, Debug)]
struct Walk {
    ix: Ix,
    lo: i64,
    len: i64,
}

/// What the position along an axis is made of.
#[derive(Clone, Copy, Debug)]
enum Axis {
    /// One cell.
    Fixed(i64),
    /// A cell for each value of an index, from this one on.
    Each(Walk, i64),
    /// `factor × at + far × tap`, from this cell on.
    Window(Window),
}

/// Windows that overlap, or leave cells out.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// The windows.
    at: Walk,
    /// How far they are apart.
    stride: i64,
    /// The places of one, if it has several.
    tap: Option<Walk>,
    /// How far these are apart; one where windows are further apart than that.
    far: i64,
    /// The first cell.
    first: i64,
}

impl Window {
    /// The places of a window that fall on one cell's remainder, at most.
    fn terms(&self) -> i64 {
        let taps = self.tap.map_or(1, |tap| tap.len);
        (taps + self.stride - 1) / self.stride
    }

    /// The cells that are reached, from the first to the last.
    fn cells(&self) -> i64 {
        let taps = self.tap.map_or(1, |tap| tap.len);
        self.stride * (self.at.len - 1) + self.far * (taps - 1) + 1
    }

    /// How many cells have the same remainder.
    fn rows(&self) -> i64 {
        (self.cells() + self.stride - 1) / self.stride
    }
}

fn walk(points: &Points, binder: &(Ix, Node, Node)) -> Option<Walk> {
    let (lo, hi) = (points.as_int(binder.1)?, points.as_int(binder.2)?);
    let len = hi.checked_sub(lo)?;
    ((1..LONG).contains(&len) && lo.abs() < LONG).then_some(Walk { ix: binder.0, lo, len })
}

/// What a position is made of.
fn axis(points: &Points, walks: &[Walk], at: Node) -> Option<Axis> {
    let sum = points.linear(at);
    let mut terms = Vec::new();
    for (node, factor) in &sum.terms {
        let Kind::Index(ix) = points.nodes[*node].kind else { return None };
        let walk = walks.iter().find(|walk| walk.ix == ix)?;
        if !(1..LONG).contains(factor) {
            return None;
        }
        terms.push((*walk, *factor));
    }
    // From the first values of the indices on.
    let mut first = sum.offset;
    for (walk, factor) in &terms {
        first = first.checked_add(walk.lo.checked_mul(*factor)?)?;
    }
    // What is kept are the places of a window, which are fewer than the windows.
    terms.sort_by_key(|(walk, _)| std::cmp::Reverse(walk.len));
    let window = |at: Walk, stride, tap, far| Axis::Window(Window { at, stride, tap, far, first });
    let axis = match terms[..] {
        [] => Axis::Fixed(first),
        [(at, 1)] => Axis::Each(at, first),
        [(at, stride)] => window(at, stride, None, 1),
        [(at, stride), (tap, far)] if stride == 1 || far == 1 => window(at, stride, Some(tap), far),
        _ => return None,
    };
    if let Axis::Window(it) = axis {
        let taps = it.tap.map_or(1, |tap| tap.len);
        let reach = it.stride.checked_mul(it.at.len)?.checked_add(it.far.checked_mul(taps)?)?;
        return (reach < LONG).then_some(axis);
    }
    Some(axis)
}

/// The same as definitions that gather.
fn gathered(
    points: &mut Points,
    defs: &mut Vec<Def>,
    def: &Def,
    scatter: &Scatter,
) -> Option<Body> {
    let (shape, ty) = (points.arrs[def.arr].shape.clone(), points.arrs[def.arr].ty);
    let fits = scatter.op == BinaryOp::Add && matches!(ty, ScalarType::F32 | ScalarType::F64);
    let zero = points.constant(Scalar::zero(ty));
    match scatter.guard.map(|guard| points.nodes[guard].kind.clone()) {
        None | Some(Kind::Const(Scalar::Bool(true))) => {}
        Some(Kind::Const(Scalar::Bool(false))) if fits => {
            return Some(Body::Clauses(vec![whole(points, &shape, zero)], None));
        }
        Some(_) => return None,
    }
    let value = &points.nodes[scatter.value];
    let fails = scatter.at.iter().any(|at| points.nodes[*at].traps);
    if !fits || fails || value.traps || value.reduces {
        return None;
    }
    let walks: Vec<Walk> =
        scatter.binders.iter().map(|it| walk(points, it)).collect::<Option<_>>()?;
    let axes: Vec<Axis> =
        scatter.at.iter().map(|at| axis(points, &walks, *at)).collect::<Option<_>>()?;
    let mut used: Vec<Ix> = Vec::new();
    for axis in &axes {
        let of: Vec<Ix> = match axis {
            Axis::Fixed(_) => Vec::new(),
            Axis::Each(at, _) => vec![at.ix],
            Axis::Window(it) => {
                [Some(it.at.ix), it.tap.map(|tap| tap.ix)].into_iter().flatten().collect()
            }
        };
        if of.iter().any(|ix| used.contains(ix)) {
            return None;
        }
        used.extend(of);
    }
    let others = walks.iter().filter(|walk| !used.contains(&walk.ix)).copied().collect();
    let gather = Gather { walks, axes, others, value: scatter.value, ty };
    Some(gather.body(points, defs, def))
}

/// A clause for all cells.
fn whole(points: &mut Points, shape: &[i64], value: Node) -> Clause {
    let slots = shape.iter().map(|len| slot(points, 0, *len)).collect();
    Clause { slots, guard: None, value, otherwise: None }
}

/// A new index over these positions.
fn slot(points: &mut Points, lo: i64, len: i64) -> Slot {
    let range = (i128::from(lo), i128::from(lo) + i128::from(len.max(1)) - 1);
    let ix = points.fresh(Symbol::intern("$i"), range);
    Slot { ix, lo: points.int(lo), hi: points.int(lo + len) }
}

/// A scatter that is understood.
struct Gather {
    walks: Vec<Walk>,
    axes: Vec<Axis>,
    /// The indices that no position mentions: they are summed over.
    others: Vec<Walk>,
    value: Node,
    ty: ScalarType,
}

/// Where a sum is asked for: along each axis the remainder and the row of a cell, or the index of
/// one that is no window.
type Cell = Vec<(Node, Node)>;

/// An index of a sum, with its bounds.
type Loop = (Ix, Node, Node);

/// An array of factors: the walks that are its axes, with the zeros before each.
struct Factor {
    arr: Arr,
    axes: Vec<(Walk, i64)>,
    /// Whether all its numbers are finite.
    finite: Arr,
}

impl Gather {
    fn windows(&self) -> impl Iterator<Item = (usize, &Window)> {
        self.axes.iter().enumerate().filter_map(|(at, axis)| match axis {
            Axis::Window(window) => Some((at, window)),
            Axis::Fixed(_) | Axis::Each(..) => None,
        })
    }

    fn body(&self, points: &mut Points, defs: &mut Vec<Def>, def: &Def) -> Body {
        // For every remainder a sum without them.
        let mut slots: Vec<Slot> = Vec::new();
        let mut extents: Vec<i64> = Vec::new();
        let mut cell: Cell = Vec::new();
        let zero = points.int(0);
        let mut add = |points: &mut Points, extent: i64| {
            let slot = slot(points, 0, extent);
            slots.push(slot);
            extents.push(extent);
            points.index(slot.ix)
        };
        for axis in &self.axes {
            cell.push(match axis {
                Axis::Fixed(_) => (zero, zero),
                Axis::Each(at, _) => (zero, add(points, at.len)),
                Axis::Window(it) if it.stride > 1 => (add(points, it.stride), zero),
                Axis::Window(_) => (zero, zero),
            });
        }
        for (at, window) in self.windows() {
            cell[at].1 = add(points, window.rows());
        }
        let factors = self.factors(points, defs, def);
        let value = match &factors {
            Some((a, b)) => self.product(points, &cell, a, b),
            None => self.guarded(points, &cell),
        };
        let clause = Clause { slots, guard: None, value, otherwise: None };
        let sums = defined(points, defs, def, extents, self.ty, vec![clause]);
        // Where a cell is.
        let mut slots: Vec<Slot> = Vec::new();
        let mut cell: Cell = Vec::new();
        for axis in &self.axes {
            let (first, cells) = match axis {
                Axis::Fixed(at) => (*at, 1),
                Axis::Each(at, first) => (*first, at.len),
                Axis::Window(it) => (it.first, it.cells()),
            };
            let slot = slot(points, first, cells);
            slots.push(slot);
            let here = points.index(slot.ix);
            let here = sum(points, &[(here, 1)], -first);
            cell.push(match axis {
                Axis::Window(it) if it.stride > 1 => {
                    let stride = points.int(it.stride);
                    let rest = points.binary(BinaryOp::FloorMod, here, stride, None);
                    (rest, points.binary(BinaryOp::FloorDiv, here, stride, None))
                }
                _ => (zero, here),
            });
        }
        let mut at: Vec<Node> = Vec::new();
        for (axis, (rest, row)) in self.axes.iter().zip(&cell) {
            match axis {
                Axis::Fixed(_) => {}
                Axis::Each(..) => at.push(*row),
                Axis::Window(it) if it.stride > 1 => at.push(*rest),
                Axis::Window(_) => {}
            }
        }
        at.extend(self.windows().map(|(axis, _)| cell[axis].1));
        let mut value = points.load(sums, &at);
        if let Some((a, b)) = factors {
            let asked = self.guarded(points, &cell);
            let (a, b) = (points.load(a.finite, &[]), points.load(b.finite, &[]));
            let finite = points.binary(BinaryOp::And, a, b, None);
            value = points.select(finite, value, asked);
        }
        Body::Clauses(vec![Clause { slots, guard: None, value, otherwise: None }], None)
    }

    /// The indices of a sum for a cell, and what those of the scatter are there.
    fn terms(&self, points: &mut Points, cell: &Cell) -> (Vec<Loop>, Vec<(Walk, Node)>) {
        let mut binders = Vec::new();
        let mut there = Vec::new();
        for other in &self.others {
            let Slot { ix, lo, hi } = slot(points, 0, other.len);
            binders.push((ix, lo, hi));
            there.push((*other, points.index(ix)));
        }
        for (axis, (rest, row)) in self.axes.iter().zip(cell) {
            match axis {
                Axis::Fixed(_) => {}
                Axis::Each(at, _) => there.push((*at, *row)),
                Axis::Window(it) => {
                    let Slot { ix, lo, hi } = slot(points, 0, it.terms());
                    binders.push((ix, lo, hi));
                    let term = points.index(ix);
                    let far = if it.stride > 1 { 1 } else { it.far };
                    there.push((it.at, sum(points, &[(*row, 1), (term, -far)], 0)));
                    if let Some(tap) = it.tap {
                        there.push((tap, sum(points, &[(*rest, 1), (term, it.stride)], 0)));
                    } else {
                        // A window of one place: it is the one without a rest.
                        let only = Walk { ix, lo: 0, len: 1 };
                        there.push((only, sum(points, &[(*rest, 1), (term, it.stride)], 0)));
                    }
                }
            }
        }
        (binders, there)
    }

    /// The sum at a cell, every term asked whether it is there.
    fn guarded(&self, points: &mut Points, cell: &Cell) -> Node {
        let (binders, there) = self.terms(points, cell);
        let mut guard = None;
        let mut names = Vec::new();
        for (walk, at) in there {
            let (least, most) = (points.int(0), points.int(walk.len));
            let above = points.binary(BinaryOp::Ge, at, least, None);
            let below = points.binary(BinaryOp::Lt, at, most, None);
            guard = points.both(guard, Some(above));
            guard = points.both(guard, Some(below));
            let inside = points.position(at, walk.len, false, None);
            names.push((walk.ix, sum(points, &[(inside, 1)], walk.lo)));
        }
        let own: Vec<Ix> = self.walks.iter().map(|walk| walk.ix).collect();
        names.retain(|(ix, _)| own.contains(ix));
        let body = Subst::new(names).apply(points, self.value);
        total(points, binders, guard, body, self.ty)
    }

    /// The sum at a cell of what is zero where it is not there.
    fn product(&self, points: &mut Points, cell: &Cell, a: &Factor, b: &Factor) -> Node {
        let (binders, there) = self.terms(points, cell);
        let read = |points: &mut Points, factor: &Factor| {
            let extents = points.arrs[factor.arr].shape.clone();
            let mut at = Vec::new();
            for ((walk, before), extent) in factor.axes.iter().zip(extents) {
                let here = there.iter().find(|(it, _)| it.ix == walk.ix);
                let here = here.map_or_else(|| points.int(0), |(_, here)| *here);
                let here = sum(points, &[(here, 1)], *before);
                at.push(points.position(here, extent, false, None));
            }
            points.load(factor.arr, &at)
        };
        let (a, b) = (read(points, a), read(points, b));
        let body = points.binary(BinaryOp::Mul, a, b, None);
        total(points, binders, None, body, self.ty)
    }

    /// The value as a product of one factor for the windows and one for their places, each stored
    /// with zeros where it is read outside.
    fn factors(
        &self,
        points: &mut Points,
        defs: &mut Vec<Def>,
        def: &Def,
    ) -> Option<(Factor, Factor)> {
        let Kind::Binary(BinaryOp::Mul, a, b) = points.nodes[self.value].kind else { return None };
        let fits = |a: Node, b: Node| {
            self.windows().next().is_some()
                && self.windows().all(|(_, it)| {
                    let tapped = it
                        .tap
                        .is_some_and(|tap| points.depends(b, tap.ix) && !points.depends(a, tap.ix));
                    points.depends(a, it.at.ix) && !points.depends(b, it.at.ix) && tapped
                })
        };
        let (a, b) = match (fits(a, b), fits(b, a)) {
            (true, _) => (a, b),
            (_, true) => (b, a),
            _ => return None,
        };
        let around = |walk: &Walk| {
            for (_, it) in self.windows() {
                if it.at.ix == walk.ix {
                    let far = if it.stride > 1 { 1 } else { it.far };
                    return (far * (it.terms() - 1), (it.rows() - it.at.len).max(0));
                }
                if it.tap.is_some_and(|tap| tap.ix == walk.ix) {
                    return (0, it.stride * it.terms() - walk.len);
                }
            }
            (0, 0)
        };
        let mut stored = |points: &mut Points, value: Node| {
            let mut slots = Vec::new();
            let mut extents = Vec::new();
            let mut axes = Vec::new();
            let mut names = Vec::new();
            let mut binders = Vec::new();
            for walk in &self.walks {
                if !points.depends(value, walk.ix) {
                    continue;
                }
                let (before, after) = around(walk);
                let slot = slot(points, before, walk.len);
                let here = points.index(slot.ix);
                names.push((walk.ix, sum(points, &[(here, 1)], walk.lo - before)));
                slots.push(slot);
                extents.push(before + walk.len + after);
                axes.push((*walk, before));
                binders.push((walk.ix, points.int(walk.lo), points.int(walk.lo + walk.len)));
            }
            let value_here = Subst::new(names).apply(points, value);
            let clause = Clause { slots, guard: None, value: value_here, otherwise: None };
            let arr = defined(points, defs, def, extents, self.ty, vec![clause]);
            // Only what is finite leaves nothing when it is taken from itself.
            let rest = points.binary(BinaryOp::Sub, value, value, None);
            let zero = points.constant(Scalar::zero(self.ty));
            let body = points.binary(BinaryOp::Eq, rest, zero, None);
            let all = Reduction { op: ReduceOp::All, binders, guard: None, body };
            let value = points.reduce(all, ScalarType::Bool);
            let clause = Clause { slots: Vec::new(), guard: None, value, otherwise: None };
            let finite = defined(points, defs, def, Vec::new(), ScalarType::Bool, vec![clause]);
            Factor { arr, axes, finite }
        };
        Some((stored(points, a), stored(points, b)))
    }
}

/// A sum; what has no indices is its only term.
fn total(
    points: &mut Points,
    binders: Vec<Loop>,
    guard: Option<Node>,
    body: Node,
    ty: ScalarType,
) -> Node {
    if !binders.is_empty() {
        return points.reduce(Reduction { op: ReduceOp::Sum, binders, guard, body }, ty);
    }
    let zero = points.constant(Scalar::zero(ty));
    guard.map_or(body, |guard| points.select(guard, body, zero))
}

/// `offset + Σ factor × node`.
fn sum(points: &mut Points, terms: &[(Node, i64)], offset: i64) -> Node {
    let mut sum = Linear { terms: Vec::new(), offset };
    for (node, factor) in terms {
        let of = points.linear(*node);
        sum.add(&of, *factor);
    }
    points.sum_node(&sum)
}

/// A definition of its own.
fn defined(
    points: &mut Points,
    defs: &mut Vec<Def>,
    def: &Def,
    shape: Vec<i64>,
    ty: ScalarType,
    clauses: Vec<Clause>,
) -> Arr {
    let name = points.arrs[def.arr].name;
    let source = Source::Defined(usize::MAX);
    let arr = points.arrs.push(ArrInfo { name, ty, shape, source });
    defs.push(Def { arr, span: def.span, body: Body::Clauses(clauses, None), adjoint: false });
    arr
}
