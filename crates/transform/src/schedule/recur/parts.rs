//! Parts of a step: what its cells would compute again and again, sums for each value of a key, and
//! products of matrices.
//!
//! Before:  `h[t, n, j] = tanh(sum(k) h[t - 1, n, k] * w[j, k])`, a sum for every cell
//! After:   in every step `p[n, j] = sum(k) h[t - 1, n, k] * w[j, k]` as one product, which reads each
//!          weight once for a tile of cells; then `h[t, n, j] = tanh(p[n, j])` in vectors
//!
//! Factors that are no arrays (in adjoints: what flows back, times derivatives) are stored for the
//! step first ([`factor`]). Those over the same indices are cells of one array, so that what they
//! have in common is computed once.
//!
//! Needs: a step that is filled by itself, by one thread.
//! Refuses: products of fewer multiplications than a call is worth.
//!
//! Failures: sums of products of floats do not fail. A factor is computed for every cell of the
//! step, also where a condition would not have asked for it: an alarm at most.

use crate::points::{
    Arr, ArrInfo, Body, Clause, Def, Ix, Kind, Node, Points, Slot, Source, Step, Subst,
};
use crate::schedule::before::Before;
use crate::schedule::bins;
use crate::schedule::contract;
use crate::schedule::emit::Emit;
use crate::schedule::factor;
use crate::schedule::hoist::{self, loops_of, store_repeated};
use crate::schedule::home;
use crate::schedule::plan::Why;
use crate::schedule::tidy::as_contraction;
use ein_ir::loops::BufferKind;
use ein_ir::tensor::ReduceOp;
use rustc_hash::FxHashMap;

/// A product of fewer multiplications in a step is left to its cells.
const LEAST_PRODUCT: f64 = 16384.0;

/// Whether the cells of a step of a recurrence share parts, so that all of them are filled together.
pub(crate) fn has_parts(points: &Points, clause: &Clause, steps: &[Step]) -> bool {
    hoist::repeats_in_step(points, clause, steps)
        || has_products(points, clause, steps)
        || bins::has_some(points, clause, &loops_of(clause, steps).1)
        || (!points.exact && sums_over_several(points, clause))
}

fn has_products(points: &Points, clause: &Clause, steps: &[Step]) -> bool {
    let (loops, ordered) = loops_of(clause, steps);
    let inner = &loops[ordered.len()..];
    clause.guard.is_none()
        && points.below(&[clause.value]).into_iter().any(|node| {
            let Kind::Reduce(reduction) = &points.nodes[node].kind else { return false };
            reduction.op == ReduceOp::Sum
                && reduction.guard.is_none()
                && points.nodes[node].ty.is_float()
                && product_work(points, node, inner) >= LEAST_PRODUCT
                && factor::may_be_product(points, reduction, inner)
        })
}

/// How many multiplications a sum takes for all cells of a step.
fn product_work(points: &Points, node: Node, inner: &[Ix]) -> f64 {
    let Kind::Reduce(reduction) = &points.nodes[node].kind else { return 0.0 };
    let extent = |ix: &Ix| (points.ixs[*ix].range.1 - points.ixs[*ix].range.0 + 1) as f64;
    let cells: f64 =
        points.nodes[node].free.iter().filter(|ix| inner.contains(ix)).map(extent).product();
    let terms: f64 =
        reduction.binders.iter().map(|(_, lo, hi)| points.trip_count(*lo, *hi)).product();
    cells * terms
}

/// Whether a clause has a sum over several indices of which one can be summed over before the others are
/// there.
fn sums_over_several(points: &Points, clause: &Clause) -> bool {
    let several = |node: &Node| match &points.nodes[*node].kind {
        Kind::Reduce(reduction) if reduction.op == ReduceOp::Sum => {
            reduction.binders.len() > 1 && factor::may_be_apart(points, reduction)
        }
        _ => false,
    };
    clause.guard.is_none() && points.below(&[clause.value]).iter().any(several)
}

/// Clauses of one step, over the same indices of steps where these have the same range: what they share
/// is the same node.
pub(super) fn over_the_same_steps(
    points: &mut Points,
    clauses: &[Clause],
    steps: &[Step],
) -> Vec<Clause> {
    let Some(first) = clauses.first() else { return Vec::new() };
    let own = |points: &mut Points, clause: &Clause| {
        let mut clause = clause.clone();
        for step in steps {
            let (slot, other) = (clause.slots[step.axis], first.slots[step.axis]);
            let plain = |ix: Ix| (points.ixs[ix].range, points.ixs[ix].bounds);
            if slot.ix == other.ix
                || plain(slot.ix) != plain(other.ix)
                || plain(slot.ix).1.is_some()
            {
                continue;
            }
            let index = points.index(other.ix);
            let mut renamed = Subst::new([(slot.ix, index)]);
            let mut apply = |node: Node| renamed.apply(points, node);
            clause.value = apply(clause.value);
            clause.guard = clause.guard.map(&mut apply);
            clause.otherwise = clause.otherwise.map(&mut apply);
            for slot in &mut clause.slots {
                (slot.lo, slot.hi) = (apply(slot.lo), apply(slot.hi));
            }
            clause.slots[step.axis].ix = other.ix;
        }
        clause
    };
    clauses.iter().map(|clause| own(points, clause)).collect()
}

impl Emit {
    /// Fills the parts of a step: the clause that reads them. What clauses of the same step have stored
    /// before is read again.
    pub(super) fn parts_of_step(
        &mut self,
        arr: Arr,
        clause: &Clause,
        steps: &[Step],
        shared: &mut Option<Before>,
    ) -> Clause {
        let mut clause = clause.clone();
        let (loops, ordered) = loops_of(&clause, steps);
        let def = self.points.def_of(arr).map(|def| self.points.defs[def].clone());
        let Some(def) = def.filter(|_| clause.slots.len() > steps.len()) else { return clause };
        let inner = &loops[ordered.len()..];
        let before = shared.get_or_insert_with(|| Before::new(&def));
        hoist::read_stored(&mut self.points, before, &mut clause, &ordered);
        store_repeated(&mut self.points, before, &mut clause, (inner, &ordered), |_, _| true);
        hoist::read_stored(&mut self.points, before, &mut clause, &ordered);
        let parts = match self.points.exact {
            true => before.take_new(),
            false => bins::of_parts(&mut self.points, before.take_new(), &ordered),
        };
        self.fill_parts(parts);
        if bins::has_some(&self.points, &clause, &ordered) {
            let mut before = Before::new(&def);
            clause.value = bins::of_step(&mut self.points, &mut before, &clause, &ordered);
            let sums = bins::in_one_pass(&mut self.points, before.take());
            self.fill_parts(sums);
        }
        let products = has_products(&self.points, &clause, steps);
        if !self.points.exact && (products || sums_over_several(&self.points, &clause)) {
            let mut before = Before::new(&def);
            clause.value = factor::in_clause(&mut self.points, &mut before, &clause, &ordered);
            let factors = self.together(before.take(), &mut clause);
            self.fill_parts(factors);
        }
        if products {
            let mut before = Before::new(&def);
            self.store_products(&mut before, &mut clause, inner);
            self.fill_parts(before.take());
        }
        clause
    }

    /// Stores the products of a clause.
    fn store_products(&mut self, before: &mut Before, clause: &mut Clause, inner: &[Ix]) {
        let mut instead = FxHashMap::default();
        for node in self.points.below(&[clause.value]) {
            let free = self.points.nodes[node].free.clone();
            let is_own = |slot: &&Slot| inner.contains(&slot.ix) && free.contains(&slot.ix);
            let slots: Vec<Slot> = clause.slots.iter().filter(is_own).copied().collect();
            if product_work(&self.points, node, inner) < LEAST_PRODUCT
                || contract::contraction(&self.points, node, &slots).is_none()
            {
                continue;
            }
            let ixs: Vec<Ix> = slots.iter().map(|slot| slot.ix).collect();
            instead.insert(node, before.stored(&mut self.points, node, &ixs));
        }
        clause.value = Subst::nodes(instead).apply(&mut self.points, clause.value);
    }

    /// Definitions of one shape as one, with an axis more; what reads them reads that.
    fn together(&mut self, parts: Vec<Def>, clause: &mut Clause) -> Vec<Def> {
        let of = |emit: &Emit, def: &Def| {
            let info = &emit.points.arrs[def.arr];
            (info.ty, info.shape.clone())
        };
        let over = |def: &Def| match &def.body {
            Body::Clauses(of, _) => of.iter().flat_map(|clause| clause.slots.clone()).collect(),
            _ => Vec::new(),
        };
        let alike = parts
            .windows(2)
            .all(|two| of(self, &two[0]) == of(self, &two[1]) && over(&two[0]) == over(&two[1]));
        let reads_another = |emit: &Emit, def: &Def| {
            let loads = emit.points.loads(&emit.points.roots(def));
            loads.iter().any(|(arr, _)| parts.iter().any(|other| other.arr == *arr))
        };
        if parts.len() < 2 || !alike || parts.iter().any(|def| reads_another(self, def)) {
            return parts;
        }
        let info = self.points.arrs[parts[0].arr].clone();
        let count = parts.len() as i64;
        let shape = std::iter::once(count).chain(info.shape.iter().copied()).collect();
        let source = Source::Defined(usize::MAX);
        let all = self.points.arrs.push(ArrInfo { shape, source, ..info });
        let mut cells = FxHashMap::default();
        let mut clauses = Vec::new();
        for (at, part) in parts.iter().enumerate() {
            let Body::Clauses(of, _) = &part.body else { return parts };
            let [only] = of.as_slice() else { return parts };
            let at = self.points.int(at as i64);
            let ixs: Vec<Ix> = only.slots.iter().map(|slot| slot.ix).collect();
            let place = ixs.iter().map(|ix| self.points.index(*ix));
            let place: Vec<Node> = std::iter::once(at).chain(place).collect();
            let read = self.points.load(all, &place);
            cells.insert(part.arr, (ixs, read));
            let after = self.points.int(1);
            let end = self.points.binary(ein_scalar::BinaryOp::Add, at, after, None);
            let fixed = self.points.as_int(at).unwrap_or(0);
            let ix =
                self.points.fresh(ein_base::Symbol::intern("part"), (fixed.into(), fixed.into()));
            let slot = Slot { ix, lo: at, hi: end };
            let slots = std::iter::once(slot).chain(only.slots.iter().copied()).collect();
            clauses.push(Clause { slots, ..only.clone() });
        }
        clause.value = Subst::cells(cells).apply(&mut self.points, clause.value);
        let body = Body::Clauses(clauses, None);
        vec![Def { arr: all, span: parts[0].span, body, adjoint: parts[0].adjoint }]
    }

    fn fill_parts(&mut self, parts: Vec<Def>) {
        for part in parts {
            let part = with_turned_inputs(self, part);
            let why = Why::Since("the cells of a step share it");
            home::give(self, part.arr, BufferKind::Scratch, why);
            let here = self.here();
            if let Some(found) = as_contraction(&self.points, &part) {
                self.contraction(part.arr, &found, None);
            } else {
                match &part.body {
                    Body::Clauses(clauses, _) => self.fill_part(part.arr, clauses),
                    Body::Scatter(sums) => self.scatter(part.arr, sums),
                    Body::InPlace(_) | Body::Until(_) | Body::Again(_) => {
                        unreachable!("parts of a step are cells and sums")
                    }
                }
            }
            self.floors.insert(part.arr, here);
        }
    }

    /// The cells of all clauses in one nest: they differ in their first position alone.
    fn fill_part(&mut self, arr: Arr, clauses: &[Clause]) {
        let Some(first) = clauses.first() else { return };
        let skip = usize::from(clauses.len() > 1);
        let loops = first.slots[skip..].iter().map(|slot| (slot.ix, slot.lo, slot.hi)).collect();
        let mut cells = Vec::new();
        for clause in clauses {
            let (mut at, value) = self.cell(clause, arr);
            if skip == 1 {
                at[0] = clause.slots[0].lo;
            }
            cells.push((at, value));
        }
        self.nest(arr, loops, cells);
    }
}

/// A part that reads inputs along memory, from copies that are made before all steps.
fn with_turned_inputs(emit: &mut Emit, part: Def) -> Def {
    if emit.any_parallel() || as_contraction(&emit.points, &part).is_some() {
        return part;
    }
    let loads = emit.points.loads(&emit.points.roots(&part));
    let is_input = |arr: &Arr| matches!(emit.points.arrs[*arr].source, Source::Input(..));
    let others: Vec<Arr> = loads.iter().map(|(arr, _)| *arr).filter(|arr| !is_input(arr)).collect();
    let sweeping = std::mem::replace(&mut emit.sweeping, true);
    let part = emit.with_turned_reads(&part, &others);
    emit.sweeping = sweeping;
    part
}
