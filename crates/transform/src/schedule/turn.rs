//! Turned copies: a small array that is read across memory again and again is copied once with its
//! axes in another order, so that loops can read it in vectors.

use super::def_cost;
use super::emit::{AxisPlace, Emit, Place};
use super::home;
use super::view::View;
use crate::points::{Arr, ArrInfo, Body, Clause, Def, Ix, Kind, Node, Source, Step, Subst};
use ein_base::Symbol;
use rustc_hash::FxHashMap;

impl Emit {
    /// A definition without recurrence that reads turned copies where that pays. `unfinished` are
    /// not complete yet.
    pub(crate) fn with_turned_reads(&mut self, def: &Def, unfinished: &[Arr]) -> Def {
        let mut def = def.clone();
        let work = def_cost(&self.points, &def);
        let Body::Clauses(clauses, None) = &mut def.body else { return def };
        for clause in clauses {
            let mut vectors: Vec<Ix> =
                clause.slots.last().map(|slot| slot.ix).into_iter().collect();
            let nodes = self.points.below(&[clause.value]);
            for node in &nodes {
                if let Kind::Reduce(reduction) = &self.points.nodes[*node].kind {
                    vectors.extend(reduction.binders.last().map(|binder| binder.0));
                }
            }
            let mut turned = FxHashMap::default();
            let last = clause.slots.last().map(|slot| slot.ix);
            for (of, at) in self.points.loads(&[clause.value]) {
                // Rows of accumulators read it along memory as it is.
                if last.is_some_and(|ix| self.stride(of, &at, ix) == Some(1)) {
                    continue;
                }
                let found =
                    vectors.iter().find_map(|ix| across_memory(&self.view(), of, &at, *ix, work));
                if let Some(axis) = found
                    && !unfinished.contains(&of)
                    && !turned.contains_key(&of)
                {
                    let cell = self.turn(of, axis);
                    turned.insert(of, cell);
                }
            }
            if !turned.is_empty() {
                clause.value = Subst::cells(turned).apply(&mut self.points, clause.value);
            }
        }
        def
    }

    /// A clause whose reductions run along memory that no step changes reads a turned copy of it,
    /// so that neighbouring cells can be computed in vectors.
    pub(crate) fn with_turned_arrays(
        &mut self,
        arr: Arr,
        clause: &Clause,
        steps: &[Step],
    ) -> Clause {
        let count: i64 = steps
            .iter()
            .map(|step| {
                let (lo, hi) = self.points.ixs[clause.slots[step.axis].ix].range;
                (hi - lo + 1) as i64
            })
            .product();
        let is_step = |axis: usize| steps.iter().any(|step| step.axis == axis);
        let last = (0..clause.slots.len()).rev().find(|axis| !is_step(*axis));
        let Some(along) = last.map(|axis| clause.slots[axis].ix).filter(|_| count >= 16) else {
            return clause.clone();
        };
        let mut turned = FxHashMap::default();
        for node in self.points.below(&[clause.value]) {
            let Kind::Reduce(reduction) = self.points.nodes[node].kind.clone() else { continue };
            let Some((inner, ..)) = reduction.binders.last().copied() else { continue };
            for (of, at) in self.points.loads(&[reduction.body]) {
                let Some(axis) = turning(&self.view(), of, &at, along, inner) else { continue };
                if of != arr && !turned.contains_key(&of) {
                    let cell = self.turn(of, axis);
                    turned.insert(of, cell);
                }
            }
        }
        // What the cells of a step read across memory.
        let (lo, hi) = self.points.ixs[along].range;
        let work = count as f64 * (hi - lo + 1) as f64;
        // Threads would write into one copy.
        let alone = !self.any_parallel();
        for (of, at) in self.points.loads(&[clause.value]) {
            if alone
                && of != arr
                && !turned.contains_key(&of)
                && let Some(axis) = across_memory(&self.view(), of, &at, along, work)
            {
                let cell = self.turn(of, axis);
                turned.insert(of, cell);
            }
        }
        let mut clause = clause.clone();
        if !turned.is_empty() {
            clause.value = Subst::cells(turned).apply(&mut self.points, clause.value);
        }
        clause
    }

    /// The clauses of a recurrence that fills one cell after another, where reductions read its own
    /// cells across memory: they read a turned copy, which every store writes as well.
    pub(crate) fn with_mirror(
        &mut self,
        arr: Arr,
        clauses: &[Clause],
        steps: &[Step],
    ) -> Vec<Clause> {
        let info = self.points.arrs[arr].clone();
        let whole = match self.places.get(&arr) {
            Some(Place::Buffer(_, axes)) => {
                axes.iter().all(|axis| matches!(axis, AxisPlace::Strided(_)))
            }
            _ => false,
        };
        let partly = self.filled.contains_key(&arr) || self.samples.contains_key(&arr);
        let size: i64 = info.shape.iter().product();
        if steps.len() != info.shape.len()
            || !whole
            || partly
            || size > self.points.cost.turned_elements()
        {
            return clauses.to_vec();
        }
        let mut found = Vec::new();
        for clause in clauses {
            for node in self.points.below(&[clause.value]) {
                let Kind::Reduce(reduction) = &self.points.nodes[node].kind else { continue };
                let Some((ix, ..)) = reduction.binders.last().copied() else { continue };
                let loads = self.points.loads(&[reduction.body]);
                let own = loads.into_iter().filter(|(of, _)| *of == arr);
                found.extend(own.filter_map(|(_, at)| own_across(&self.view(), arr, &at, ix)));
            }
        }
        let Some(axis) = found.first().copied() else { return clauses.to_vec() };
        let mut shape = info.shape.clone();
        let moved = shape.remove(axis);
        shape.push(moved);
        let source = Source::Defined(usize::MAX);
        let mirror = self.points.arrs.push(ArrInfo { shape, source, ..info });
        let home = home::turned(&self.points, mirror, axis);
        home::settle(self, &home, None);
        self.mirrors.insert(arr, (mirror, axis));
        let mut read = FxHashMap::default();
        for node in self.points.below(&clauses.iter().map(|it| it.value).collect::<Vec<Node>>()) {
            let Kind::Reduce(reduction) = self.points.nodes[node].kind.clone() else { continue };
            let Some((ix, ..)) = reduction.binders.last().copied() else { continue };
            for inner in self.points.below(&[reduction.body]) {
                let Kind::Load(of, at) = self.points.nodes[inner].kind.clone() else { continue };
                if of == arr && own_across(&self.view(), arr, &at, ix) == Some(axis) {
                    let mut at = at.to_vec();
                    let moved = at.remove(axis);
                    at.push(moved);
                    read.insert(inner, self.points.load(mirror, &at));
                }
            }
        }
        let mut subst = Subst::nodes(read);
        let turned = |clause: &Clause| Clause {
            value: subst.apply(&mut self.points, clause.value),
            ..clause.clone()
        };
        clauses.iter().map(turned).collect()
    }

    /// A copy of an array with one axis last: what its cells are.
    fn turn(&mut self, of: Arr, axis: usize) -> (Vec<Ix>, Node) {
        if let Some(cell) = self.turned.get(&(of, axis)) {
            return cell.clone();
        }
        // In the segments of a sweep it would be made again and again.
        if self.sweeping && self.here() > 0 {
            let inner = self.scopes.split_off(1);
            let parallel = std::mem::take(&mut self.in_parallel);
            let cell = self.turn(of, axis);
            self.in_parallel = parallel;
            self.scopes.extend(inner);
            return cell;
        }
        let info = self.points.arrs[of].clone();
        let mut order: Vec<usize> = (0..info.shape.len()).collect();
        order.retain(|other| *other != axis);
        order.push(axis);
        let shape: Vec<i64> = order.iter().map(|axis| info.shape[*axis]).collect();
        let source = Source::Defined(usize::MAX);
        let new = self.points.arrs.push(ArrInfo { name: info.name, ty: info.ty, shape, source });
        let home = home::turned(&self.points, new, axis);
        home::settle(self, &home, None);
        let here = self.here();
        self.floors.insert(new, here);
        let mut ixs = Vec::new();
        for extent in &info.shape {
            let range = (0, i128::from(extent - 1).max(0));
            ixs.push(self.points.fresh(Symbol::intern("i"), range));
        }
        let from: Vec<Node> = ixs.iter().map(|ix| self.points.index(*ix)).collect();
        let to: Vec<Node> = order.iter().map(|axis| from[*axis]).collect();
        let value = self.points.load(of, &from);
        let loops = order
            .iter()
            .map(|axis| (ixs[*axis], self.points.int(0), self.points.int(info.shape[*axis])))
            .collect();
        self.nest(new, loops, vec![(to.clone(), value)]);
        let cell = (ixs, self.points.load(new, &to));
        // Outside all loops the copy stays.
        if here == 0 {
            self.turned.insert((of, axis), cell.clone());
        }
        cell
    }
}

/// The axis along which a read jumps over memory for each value of an index.
fn across_memory(view: &View<'_>, of: Arr, at: &[Node], ix: Ix, work: f64) -> Option<usize> {
    let size: i64 = view.points.arrs[of].shape.iter().product();
    let jumps = view.stride(of, at, ix).is_some_and(|stride| (2..=64).contains(&stride));
    let pays = size <= view.points.cost.turned_elements()
        && work >= view.points.cost.reads_of_a_copy() * size as f64;
    let axis = at.iter().position(|node| view.points.nodes[*node].kind == Kind::Index(ix));
    axis.filter(|_| jumps && pays && view.can_be_copied(of))
}

/// The axis that has to come last so that a read runs along memory for one index and not for
/// another, if it is the other way round and the array is small.
fn turning(view: &View<'_>, of: Arr, at: &[Node], along: Ix, inner: Ix) -> Option<usize> {
    let plain =
        |node: &Node| matches!(view.points.nodes[*node].kind, Kind::Index(_) | Kind::Const(_));
    let plain = at.iter().all(plain);
    let size: i64 = view.points.arrs[of].shape.iter().product();
    let wrong = view.stride(of, at, inner) == Some(1)
        && view.stride(of, at, along).is_some_and(|stride| stride > 1);
    let axis = at.iter().position(|node| view.points.nodes[*node].kind == Kind::Index(along));
    axis.filter(|_| {
        plain && wrong && size <= view.points.cost.turned_elements() && view.can_be_copied(of)
    })
}

/// The one axis along which an index moves a read of a recurrence's own cells, if that jumps
/// over memory.
fn own_across(view: &View<'_>, arr: Arr, at: &[Node], ix: Ix) -> Option<usize> {
    let mut moved = (0..at.len()).filter(|axis| view.points.depends(at[*axis], ix));
    let (axis, rest) = (moved.next()?, moved.next());
    let jumps = view.stride(arr, at, ix).is_some_and(|stride| stride > 1);
    (rest.is_none() && jumps && view.points.factor(at[axis], ix) == Some(1)).then_some(axis)
}
