//! Sums of products of several factors become sums of products of two.
//!
//! Before:  `d[i, l] = sum(j, k) a[i, j] * b[j, k] * c[k, l]`
//! After:   `t[i, k] = sum(j) a[i, j] * b[j, k]`, `d[i, l] = sum(k) t[i, k] * c[k, l]`
//!
//! Before:  `c[j, k] = sum(i) (x[i, j] - m[j]) * (x[i, k] - m[k])`
//! After:   `t[i, j] = x[i, j] - m[j]`, `c[j, k] = sum(i) t[i, j] * t[i, k]`
//!
//! Before:  `d[p] = sum(s, q) e[q, s] where p == key[s]`
//! After:   `t[s] = sum(q) e[q, s]`, `d[p] = sum(s) t[s] where p == key[s]`
//!
//! An index is summed over as soon as few factors mention it: that order is chosen in which the next
//! intermediate result costs least. A factor that mentions no more indices than another one is
//! multiplied into it. The results are those of another order of the same additions, but for
//! rounding.
//!
//! Needs: constant bounds, floats.
//! Refuses: what would not take half the work, or intermediate results much larger than the rest.
//!
//! Failures: factors that may fail are refused.

use super::before::{self, Before};
use crate::points::{Clause, Ix, Kind, Node, Points, Reduction, Subst};
use ein_ir::tensor::ReduceOp;
use ein_scalar::BinaryOp;
use rustc_hash::FxHashMap;

/// Sums of less work are left alone.
const LEAST_WORK: f64 = 1e5;

/// Intermediate results may be so many times larger than the largest factor or result.
const GROWTH: f64 = 16.0;

/// The most factors that are looked at.
const MOST: usize = 8;

/// Takes sums of products apart.
pub(crate) fn run(points: &mut Points) {
    if points.exact {
        return;
    }
    before::rewrite(points, |points, before, clause| in_clause(points, before, clause, &[]));
}

/// The value of a clause with its sums taken apart; some indices are `given` wherever it is computed.
pub(crate) fn in_clause(
    points: &mut Points,
    before: &mut Before,
    clause: &Clause,
    given: &[Ix],
) -> Node {
    Pass { points, defs: before, given }.value(clause)
}

/// Whether taking a sum in a clause apart may leave a product of matrices: two factors that share
/// what is summed over, each with indices of the clause that the other one does not have.
pub(crate) fn may_be_product(points: &Points, reduction: &Reduction, slots: &[Ix]) -> bool {
    let binders = &reduction.binders;
    let known = |ix: &Ix| slots.contains(ix) || binders.iter().any(|b| b.0 == *ix);
    let Some(sets) = mentioned(points, reduction.body, known) else { return false };
    let [left, right] = merged(sets).try_into().unwrap_or_default();
    let own = |one: &[Ix], other: &[Ix]| -> i128 {
        let own = one.iter().filter(|ix| slots.contains(ix) && !other.contains(ix));
        own.map(|ix| points.ixs[*ix].range.1 - points.ixs[*ix].range.0 + 1).product()
    };
    own(&left, &right) >= 4 && own(&right, &left) >= 4
}

/// Whether the factors of a sum that mention one of its indices mention fewer others than all of them do:
/// then it may be summed over first.
pub(crate) fn may_be_apart(points: &Points, reduction: &Reduction) -> bool {
    let Some(sets) = mentioned(points, reduction.body, |_| true) else { return false };
    let all = union(&sets).len();
    reduction.binders.iter().any(|(ix, ..)| {
        let of_this: Vec<Vec<Ix>> = sets.iter().filter(|set| set.contains(ix)).cloned().collect();
        union(&of_this).len() < all
    })
}

/// The indices that each factor of a product mentions, if there are not too many.
fn mentioned(points: &Points, product: Node, known: impl Fn(&Ix) -> bool) -> Option<Vec<Vec<Ix>>> {
    let mut sets: Vec<Vec<Ix>> = Vec::new();
    let mut nodes = vec![product];
    while let Some(node) = nodes.pop() {
        match points.nodes[node].kind {
            Kind::Binary(BinaryOp::Mul, a, b) => nodes.extend([b, a]),
            _ => sets.push(points.nodes[node].free.iter().copied().filter(&known).collect()),
        }
        if sets.len() > MOST {
            return None;
        }
    }
    Some(sets)
}

/// A factor, and the indices that it mentions.
#[derive(Clone, Debug)]
struct Factor {
    node: Node,
    ixs: Vec<Ix>,
}

struct Pass<'a> {
    points: &'a mut Points,
    defs: &'a mut Before,
    /// Indices that have a value wherever something is stored.
    given: &'a [Ix],
}

impl Pass<'_> {
    /// The value of a clause with its sums taken apart.
    fn value(&mut self, clause: &Clause) -> Node {
        let slots: Vec<Ix> = clause.slots.iter().map(|slot| slot.ix).collect();
        let mut instead = FxHashMap::default();
        for node in self.points.below(&[clause.value]) {
            let Kind::Reduce(reduction) = self.points.nodes[node].kind.clone() else { continue };
            let inside = self.points.nodes[node].free.iter().all(|ix| slots.contains(ix));
            if !inside || !self.is_simple(&reduction) {
                continue;
            }
            let reduction = self.with_own_indices(&reduction);
            if let Some(guard) = reduction.guard {
                if let Some(sum) = self.before_condition(&reduction, guard) {
                    instead.insert(node, sum);
                }
                continue;
            }
            if let Some(factors) = self.factors(reduction.body)
                && let Some(sum) = self.apart(factors, reduction)
            {
                instead.insert(node, sum);
            }
        }
        if instead.is_empty() {
            return clause.value;
        }
        Subst::nodes(instead).apply(self.points, clause.value)
    }

    /// Whether a reduction is a sum of floats that cannot fail.
    fn is_simple(&self, reduction: &Reduction) -> bool {
        let body = &self.points.nodes[reduction.body];
        let known = |(_, lo, hi): &(Ix, Node, Node)| {
            let ends = self.points.as_int(*lo).zip(self.points.as_int(*hi));
            ends.is_some_and(|(lo, hi)| lo < hi)
        };
        reduction.op == ReduceOp::Sum
            && reduction.guard.is_none_or(|guard| !self.points.nodes[guard].traps)
            && body.ty.is_float()
            && !body.reduces
            && !body.traps
            && reduction.binders.iter().all(known)
    }

    /// The same reduction over indices that no other one has: sums over some of them are made, and
    /// reductions share their indices. They begin at zero.
    fn with_own_indices(&mut self, reduction: &Reduction) -> Reduction {
        let mut own = reduction.clone();
        let mut names = Vec::new();
        for binder in &mut own.binders {
            let first = self.points.as_int(binder.1).unwrap_or(0);
            let end = self.points.as_int(binder.2).unwrap_or(first);
            let name = self.points.ixs[binder.0].name;
            let fresh = self.points.fresh(name, (0, i128::from(end - first - 1)));
            let (index, from) = (self.points.index(fresh), self.points.int(first));
            let place = self.points.binary(BinaryOp::Add, index, from, None);
            names.push((binder.0, place));
            *binder = (fresh, self.points.int(0), self.points.int(end - first));
        }
        let mut subst = Subst::new(names);
        own.body = subst.apply(self.points, own.body);
        own.guard = own.guard.map(|guard| subst.apply(self.points, guard));
        own
    }

    /// A sum whose condition does not mention some of its indices, with the sum over those stored:
    /// it is the same for all cells that only the condition tells apart.
    fn before_condition(&mut self, reduction: &Reduction, guard: Node) -> Option<Node> {
        let mentions = |node: Node| -> Vec<Ix> {
            let free = self.points.nodes[node].free.iter().copied();
            free.filter(|ix| !self.given.contains(ix)).collect()
        };
        let (of_guard, of_body) = (mentions(guard), mentions(reduction.body));
        let (outer, inner): (Vec<_>, Vec<_>) =
            reduction.binders.iter().copied().partition(|(ix, ..)| of_guard.contains(ix));
        let stored: Vec<Ix> =
            of_body.iter().copied().filter(|ix| inner.iter().all(|(own, ..)| own != ix)).collect();
        let all = union(&[of_guard.clone(), of_body.clone()]);
        let cost = self.points.nodes[reduction.body].cost + 1.0;
        let naive = self.cells(&all) * (cost + 1.0);
        let after = union(&[of_guard, stored.clone()]);
        let work = self.cells(&of_body) * cost + 2.0 * self.cells(&after);
        if inner.is_empty() || outer.is_empty() || naive < LEAST_WORK || 2.0 * work >= naive {
            return None;
        }
        let ty = self.points.nodes[reduction.body].ty;
        let sum = |binders, guard, body| Reduction { op: ReduceOp::Sum, binders, guard, body };
        let part = self.points.reduce(sum(inner, None, reduction.body), ty);
        let order = self.in_memory_order(part, &stored);
        let part = self.defs.stored(self.points, part, &order);
        Some(self.points.reduce(sum(outer, Some(guard), part), ty))
    }

    /// The factors of what is summed.
    fn factors(&self, body: Node) -> Option<Vec<Factor>> {
        let mut nodes = vec![body];
        let mut factors: Vec<Factor> = Vec::new();
        while let Some(node) = nodes.pop() {
            match self.points.nodes[node].kind {
                Kind::Binary(BinaryOp::Mul, a, b) => nodes.extend([b, a]),
                _ => {
                    let free = self.points.nodes[node].free.iter().copied();
                    let ixs = free.filter(|ix| !self.given.contains(ix)).collect();
                    factors.push(Factor { node, ixs });
                }
            }
            if factors.len() > MOST {
                return None;
            }
        }
        Some(factors)
    }

    /// The same sum over products of two factors, if that is less work.
    fn apart(&mut self, factors: Vec<Factor>, reduction: Reduction) -> Option<Node> {
        let binders: Vec<Ix> = reduction.binders.iter().map(|(ix, ..)| *ix).collect();
        let order = self.order(&factors, &binders)?;
        let ty = self.points.nodes[reduction.body].ty;
        let mut factors = self.absorbed(factors);
        let mut left = reduction.binders;
        for ix in order {
            let (with, without): (Vec<Factor>, Vec<Factor>) =
                factors.into_iter().partition(|factor| factor.ixs.contains(&ix));
            let at = left.iter().position(|binder| binder.0 == ix)?;
            let binder = left.remove(at);
            let sum = self.sum(&with, vec![binder], ty);
            let ixs: Vec<Ix> = indices(&with).into_iter().filter(|other| *other != ix).collect();
            let node = self.defs.stored(self.points, sum, &ixs);
            let stored = Factor { node, ixs };
            factors = without;
            factors.push(stored);
            factors = self.absorbed(factors);
        }
        Some(self.sum(&factors, left, ty))
    }

    /// In which order to sum over indices before the last ones; `None` if all at once is as good.
    fn order(&mut self, factors: &[Factor], binders: &[Ix]) -> Option<Vec<Ix>> {
        let all: f64 = self.cells(&indices(factors));
        let costs: f64 = factors.iter().map(|factor| self.points.nodes[factor.node].cost).sum();
        let product_speed = self.points.cost.product_speed();
        let naive = all * (costs + factors.len() as f64);
        if naive < LEAST_WORK {
            return None;
        }
        let sizes = factors.iter().map(|factor| self.cells(&factor.ixs));
        let shape = &self.points.arrs[self.defs.of].shape;
        let result: f64 = shape.iter().map(|extent| *extent as f64).product();
        let largest = sizes.fold(result, f64::max);
        let mut sets: Vec<Vec<Ix>> = merged(factors.iter().map(|it| it.ixs.clone()).collect());
        let loads = |factor: &Factor| matches!(self.points.nodes[factor.node].kind, Kind::Load(..));
        // A factor that is the same for all terms is none of a matrix product.
        let varies = |factor: &Factor| factor.ixs.iter().any(|ix| binders.contains(ix));
        let product = factors.len() == 2 && factors.iter().all(|it| loads(it) && varies(it));
        if sets.len() < 2 || sets.len() == 2 && product {
            return None;
        }
        // What is no array yet becomes one.
        let mut work: f64 = factors
            .iter()
            .map(|factor| self.cells(&factor.ixs) * (self.points.nodes[factor.node].cost + 1.0))
            .sum();
        let mut left = binders.to_vec();
        let mut order = Vec::new();
        loop {
            let step = |ix: &Ix| {
                let (with, without): (Vec<_>, Vec<_>) =
                    sets.iter().cloned().partition(|set| set.contains(ix));
                let all = union(&with);
                let kept: Vec<Ix> = all.iter().copied().filter(|other| other != ix).collect();
                let speed = if with.len() == 2 { product_speed } else { 1.0 };
                let small = self.cells(&kept) <= GROWTH * largest;
                (!without.is_empty() && !with.is_empty() && small)
                    .then(|| (self.cells(&all) / speed, kept, without))
            };
            let steps = left.iter().filter_map(|ix| Some((*ix, step(ix)?)));
            let Some((ix, (cost, kept, without))) = steps.min_by(|a, b| a.1.0.total_cmp(&b.1.0))
            else {
                break;
            };
            work += cost;
            left.retain(|other| *other != ix);
            order.push(ix);
            sets = without;
            sets.push(kept);
            sets = merged(sets);
        }
        let speed = if sets.len() == 2 { product_speed } else { 1.0 };
        work += self.cells(&union(&sets)) / speed;
        (2.0 * work < naive).then_some(order)
    }

    /// How many values some indices take together.
    fn cells(&self, ixs: &[Ix]) -> f64 {
        ixs.iter().map(|ix| (self.points.ixs[*ix].range.1 + 1) as f64).product()
    }

    /// Factors of which none mentions only what another one does, all of them arrays.
    fn absorbed(&mut self, factors: Vec<Factor>) -> Vec<Factor> {
        let sets = merged(factors.iter().map(|it| it.ixs.clone()).collect());
        let mut groups: Vec<Vec<Factor>> = vec![Vec::new(); sets.len()];
        for factor in factors {
            let fits = |set: &Vec<Ix>| factor.ixs.iter().all(|ix| set.contains(ix));
            if let Some(at) = sets.iter().position(fits) {
                groups[at].push(factor);
            }
        }
        let mut found = Vec::new();
        for (group, ixs) in groups.into_iter().zip(sets) {
            let Some(node) = self.product(&group) else { continue };
            let node = match self.points.nodes[node].kind {
                Kind::Load(..) => node,
                _ => {
                    let order = self.in_memory_order(node, &ixs);
                    self.defs.stored(self.points, node, &order)
                }
            };
            found.push(Factor { node, ixs });
        }
        found
    }

    /// Indices in the order in which a value is best stored: those that its reads have last are last,
    /// so that it is computed along memory.
    fn in_memory_order(&self, node: Node, ixs: &[Ix]) -> Vec<Ix> {
        let loads = self.points.loads(&[node]);
        let from_end = |ix: &Ix| -> f64 {
            let (mut sum, mut count) = (0.0, 0.0);
            for (_, at) in &loads {
                let depends = |node: &Node| self.points.depends(*node, *ix);
                if let Some(axis) = at.iter().rposition(depends) {
                    sum += (at.len() - axis) as f64;
                    count += 1.0;
                }
            }
            if count == 0.0 { 0.0 } else { sum / count }
        };
        let mut order = ixs.to_vec();
        order.sort_by(|a, b| from_end(b).total_cmp(&from_end(a)));
        order
    }

    fn product(&mut self, factors: &[Factor]) -> Option<Node> {
        let mut nodes = factors.iter().map(|factor| factor.node);
        let first = nodes.next()?;
        Some(nodes.fold(first, |a, b| self.points.binary(BinaryOp::Mul, a, b, None)))
    }

    fn sum(
        &mut self,
        factors: &[Factor],
        binders: Vec<(Ix, Node, Node)>,
        ty: ein_scalar::ScalarType,
    ) -> Node {
        let one = ein_scalar::Scalar::one(ty);
        let body = self.product(factors).unwrap_or_else(|| self.points.constant(one));
        if binders.is_empty() {
            return body;
        }
        self.points.reduce(Reduction { op: ReduceOp::Sum, binders, guard: None, body }, ty)
    }
}

/// The indices of factors, each once.
fn indices(factors: &[Factor]) -> Vec<Ix> {
    let sets: Vec<Vec<Ix>> = factors.iter().map(|factor| factor.ixs.clone()).collect();
    union(&sets)
}

fn union(sets: &[Vec<Ix>]) -> Vec<Ix> {
    let mut all: Vec<Ix> = Vec::new();
    for ix in sets.iter().flatten() {
        if !all.contains(ix) {
            all.push(*ix);
        }
    }
    all
}

/// The sets that are not in another one.
fn merged(mut sets: Vec<Vec<Ix>>) -> Vec<Vec<Ix>> {
    sets.sort_by_key(|set| std::cmp::Reverse(set.len()));
    let mut found: Vec<Vec<Ix>> = Vec::new();
    for set in sets {
        if !found.iter().any(|other| set.iter().all(|ix| other.contains(ix))) {
            found.push(set);
        }
    }
    found
}
