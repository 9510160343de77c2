//! Reductions over a few terms, as windows of images are, written out.
//!
//! Before:  `y[i, j] = sum(a in 0..3, b in 0..3) x[i + a, j + b]`, with a row of accumulators that is
//!          read and written for every term
//! After:   `y[i, j] = 0 + x[i, j] + x[i, j + 1] + …`, which runs in vectors without one
//!
//! Needs: constant bounds, memory in which neighbours of the row are a few cells apart between its edges.
//! Refuses: sums of integers that do not surely fit 64 bits, costly terms.
//!
//! Failures: the terms that are written out are those of the window; none is computed outside of
//! it.

use super::emit::Emit;
use super::nest::Loop;
use super::reduce::{is_accumulated, operation, start};
use super::view::View;
use crate::points::{Kind, Node, Reduction, Subst};
use ein_ir::loops::Operand;
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use rustc_hash::FxHashMap;

/// So many terms are few.
const TERMS: i64 = 32;

/// More than so many terms are never written out.
const MOST: i64 = 256;

/// A row has at least so many cells.
const LEAST: i64 = 8;

/// Neighbours in a row read cells at most so far apart: windows that move by several cells, as those of
/// strided convolutions and pools do. Vectors are taken out of a few whole ones.
const APART: i64 = 4;

/// The most that all terms together may cost.
const COST: f64 = 320.0;

impl Emit {
    /// A power as products.
    fn by_products(&mut self, base: Node, exponent: i64) -> Node {
        let ty = self.points.nodes[base].ty;
        let mut power = self.points.constant(Scalar::one(ty));
        for _ in 0..exponent {
            power = self.points.binary(BinaryOp::Mul, power, base, None);
        }
        power
    }

    /// The value of a reduction in a vector loop, where no loop can stand.
    pub(crate) fn written_out_terms(&mut self, node: Node) -> Operand {
        let Kind::Reduce(reduction) = self.points.nodes[node].kind.clone() else {
            return self.value(node);
        };
        let op = operation(reduction.op);
        let (ty, first) = start(&self.view(), &reduction);
        let held = self.all_terms(&reduction).into_iter().enumerate().fold(
            Operand::Const(first),
            |held, (at, (term, guard))| match (at, guard) {
                // What the others are compared with need not be compared itself.
                (0, None) if matches!(op, BinaryOp::Max | BinaryOp::Min) => self.value(term),
                _ => self.add_term(held, term, guard, op, ty),
            },
        );
        self.finish_row(node, (held, ty))
    }

    /// A term in which powers of these have constant exponents, with products instead.
    fn without_powers(&mut self, term: Node, powers: &[(Node, Node)]) -> Node {
        let mut instead = FxHashMap::default();
        for node in self.points.below(&[term]) {
            if let Kind::Binary(BinaryOp::Pow, base, exponent) = self.points.nodes[node].kind
                && powers.iter().any(|(_, of)| *of == base)
                && let Kind::Const(n) = self.points.nodes[exponent].kind
            {
                instead.insert(node, self.by_products(base, n.as_f64() as i64));
            }
        }
        Subst::nodes(instead).apply(&mut self.points, term)
    }

    /// The terms and the conditions under which they count.
    fn all_terms(&mut self, reduction: &Reduction) -> Vec<(Node, Option<Node>)> {
        let count = self.points.point_count(reduction).unwrap_or(0);
        let powers = rising_powers(&self.view(), reduction, count);
        let mut terms = vec![(reduction.body, reduction.guard)];
        for (ix, lo, hi) in &reduction.binders {
            let constant = "terms that are written out have bounds that are numbers";
            let lo = self.points.as_int(*lo).expect(constant);
            let hi = self.points.as_int(*hi).expect(constant);
            let mut more = Vec::new();
            for (term, guard) in terms {
                for at in lo..hi {
                    let mut subst = Subst::one(*ix, self.points.int(at));
                    let guard = guard.map(|guard| subst.apply(&mut self.points, guard));
                    more.push((subst.apply(&mut self.points, term), guard));
                }
            }
            terms = more;
        }
        if !powers.is_empty() {
            terms.iter_mut().for_each(|(term, _)| *term = self.without_powers(*term, &powers));
        }
        terms
    }
}

/// How many terms of a reduction are written out in a vector loop, if they can be: none is counted or
/// looked at by itself, and the code for them is not out of hand. (A careful kernel keeps reductions that may
/// fail inside of loops for which nobody has asked this.)
pub(super) fn to_write_out(view: &View<'_>, node: Node) -> Option<i64> {
    let Kind::Reduce(reduction) = &view.points.nodes[node].kind else { return Some(1) };
    let terms = view.points.point_count(reduction)?;
    (is_accumulated(view, reduction) && terms <= MOST).then_some(terms)
}

/// Whether these reductions have few terms each, which are read in vectors.
pub(crate) fn have_few_terms(view: &View<'_>, loops: &[Loop], inner: &[Node]) -> bool {
    let Some((ix, lo, hi)) = loops.last().copied() else { return false };
    let loads = view.points.loads(inner);
    let strides: Vec<_> =
        loads.iter().map(|(arr, at)| view.stride_between_edges(*arr, at, ix)).collect();
    let in_vectors = strides.iter().all(|it| it.is_some_and(|it| (0..=APART).contains(&it)));
    // Of rows that only the run knows the length of, about so many.
    let about = || view.points.trip_count(lo, hi) >= LEAST as f64;
    let long = view.constant_extent(lo, hi).map_or_else(about, |extent| extent >= LEAST);
    let few = |node: &Node| match &view.points.nodes[*node].kind {
        Kind::Reduce(reduction) => has_few_terms(view, reduction),
        _ => false,
    };
    let some = strides.iter().any(|it| *it != Some(0));
    long && in_vectors && some && inner.iter().all(few)
}

fn has_few_terms(view: &View<'_>, reduction: &Reduction) -> bool {
    let body = &view.points.nodes[reduction.body];
    let half = matches!(body.ty, ScalarType::F16 | ScalarType::BF16);
    let count = view.points.point_count(reduction).unwrap_or(0);
    // Without vectors there is nothing to gain.
    !view.points.exact
        && is_accumulated(view, reduction)
        && !half
        && !body.reduces
        && reduction.guard.is_none_or(|guard| !view.points.nodes[guard].reduces)
        && (1..=TERMS).contains(&count)
        && term_cost(view, reduction, count) * count as f64 <= COST
}

/// What a term costs; powers of a sum of powers are products with the one before.
fn term_cost(view: &View<'_>, reduction: &Reduction, count: i64) -> f64 {
    let cost = |node: &Node| view.points.nodes[*node].cost;
    let powers = rising_powers(view, reduction, count);
    let saved = powers.iter().map(|(power, base)| cost(power) - cost(base) - 1.0);
    cost(&reduction.body) - saved.sum::<f64>()
}

/// The powers in a sum whose exponents are its indices and less than the number of its terms,
/// with what they are of. Products give these as well as the sum is: each is as far from the
/// power as a partial sum may be from what it stands for.
fn rising_powers(view: &View<'_>, reduction: &Reduction, count: i64) -> Vec<(Node, Node)> {
    let Reduction { op: ReduceOp::Sum | ReduceOp::Mean, binders, body, .. } = reduction else {
        return Vec::new();
    };
    let own = |node: Node| binders.iter().any(|(ix, ..)| view.points.depends(node, *ix));
    let rising = |node: Node| match view.points.nodes[node].kind {
        Kind::Binary(BinaryOp::Pow, base, exponent) if !own(base) => {
            // An exponent of floats is an integer that was converted.
            let n = match view.points.nodes[exponent].kind {
                Kind::Cast(n) => n,
                _ => exponent,
            };
            let range = view.points.nodes[n].range?;
            let own = own(n) && range.0 >= 0 && range.1 < i128::from(count);
            (own && view.points.nodes[node].ty.is_float()).then_some((node, base))
        }
        _ => None,
    };
    view.points.below(&[*body]).into_iter().filter_map(rising).collect()
}
