//! Definitions that are made for another one and stand before it.

use super::contract::only_clause;
use crate::points::{Arr, ArrInfo, Body, Clause, Def, Ix, Node, Points, Slot, Source, Subst};
use ein_base::{Span, Symbol};
use ein_scalar::BinaryOp;
use rustc_hash::FxHashMap;

/// Gives every definition of one clause that covers all cells another value, which may need
/// definitions before it.
pub(crate) fn rewrite(
    points: &mut Points,
    mut value: impl FnMut(&mut Points, &mut Before, &Clause) -> Node,
) {
    let mut defs = Vec::with_capacity(points.defs.len());
    for mut def in std::mem::take(&mut points.defs) {
        let shape = points.arrs[def.arr].shape.clone();
        if let Some(clause) = only_clause(points, &def.body, &shape) {
            let mut before = Before::new(&def);
            let value = value(points, &mut before, clause);
            defs.append(&mut before.take());
            if let Body::Clauses(clauses, _) = &mut def.body {
                clauses.iter_mut().for_each(|clause| clause.value = value);
            }
        }
        defs.push(def);
    }
    points.defs = defs;
}

/// Gives every clause that has no condition, of every definition that reads nothing of itself, another
/// value, which may need definitions before it. Their cells are those of constant bounds.
pub(crate) fn rewrite_clauses(
    points: &mut Points,
    mut value: impl FnMut(&mut Points, &mut Before, &Clause) -> Node,
) {
    let mut defs = Vec::with_capacity(points.defs.len());
    for mut def in std::mem::take(&mut points.defs) {
        let mut before = Before::new(&def);
        if let Body::Clauses(clauses, None) = &mut def.body {
            for clause in clauses.iter_mut().filter(|clause| clause.guard.is_none()) {
                let known = |slot: &Slot| points.ixs[slot.ix].bounds.is_none();
                if clause.slots.iter().all(known) {
                    clause.value = value(points, &mut before, clause);
                }
            }
        }
        defs.append(&mut before.take());
        defs.push(def);
    }
    points.defs = defs;
}

/// Values over so many indices are looked for in any order of these.
const AXES: usize = 3;

/// A value as a definition has it, and the cell of it that is meant where it was found.
struct Based {
    shape: Vec<i64>,
    slots: Vec<Slot>,
    value: Node,
    here: Vec<Node>,
}

/// Definitions that have to stand before another one.
pub(crate) struct Before {
    /// What the other one defines.
    pub(crate) of: Arr,
    span: Span,
    made: Vec<Def>,
    /// What they define, by extents and value.
    same: FxHashMap<(Vec<i64>, Node), Arr>,
    /// The indices of their axes, by number and extent.
    axes: FxHashMap<(usize, i64), Ix>,
}

impl Before {
    pub(crate) fn new(def: &Def) -> Before {
        Before {
            of: def.arr,
            span: def.span,
            made: Vec::new(),
            same: FxHashMap::default(),
            axes: FxHashMap::default(),
        }
    }

    /// The definitions, in an order in which they can stand.
    pub(crate) fn take(self) -> Vec<Def> {
        self.made
    }

    /// The same of those that were made since the last time; they are read by what is made later as well.
    pub(crate) fn take_new(&mut self) -> Vec<Def> {
        std::mem::take(&mut self.made)
    }

    /// What reads a value that is stored for all values of these indices, in any order, if one is.
    pub(crate) fn known(&mut self, points: &mut Points, node: Node, ixs: &[Ix]) -> Option<Node> {
        let plain = ixs.len() <= AXES && ixs.iter().all(|ix| points.ixs[*ix].bounds.is_none());
        let extent = |ix: &Ix| {
            let (lo, hi) = points.ixs[*ix].range;
            (hi - lo + 1) as i64
        };
        let mut extents: Vec<i64> = ixs.iter().map(extent).collect();
        extents.sort_unstable();
        let alike = |shape: &Vec<i64>| {
            let mut shape = shape.clone();
            shape.sort_unstable();
            shape == extents
        };
        if !plain || !self.same.keys().any(|(shape, _)| alike(shape)) {
            return None;
        }
        orders(ixs).into_iter().find_map(|ixs| {
            let based = self.based(points, node, &ixs);
            let arr = self.same.get(&(based.shape, based.value)).copied()?;
            Some(points.load(arr, &based.here))
        })
    }

    /// A value over the indices of axes, which follow from the extents, so that equal arrays are seen.
    fn based(&mut self, points: &mut Points, node: Node, ixs: &[Ix]) -> Based {
        let ranges: Vec<(i128, i128)> = ixs.iter().map(|ix| points.ixs[*ix].range).collect();
        let shape: Vec<i64> = ranges.iter().map(|(lo, hi)| (hi - lo + 1) as i64).collect();
        let here = ixs.iter().zip(&ranges).map(|(ix, (lo, _))| shifted(points, *ix, -lo)).collect();
        let axes = shape.iter().enumerate();
        let slots: Vec<Slot> = axes.map(|(at, extent)| self.slot(points, at, *extent)).collect();
        let places: Vec<Node> = slots
            .iter()
            .zip(&ranges)
            .map(|(slot, (lo, _))| shifted(points, slot.ix, *lo))
            .collect();
        let value = Subst::new(ixs.iter().copied().zip(places)).apply(points, node);
        Based { shape, slots, value, here }
    }

    /// Stores a value for all values of the indices that it mentions: what reads it for these.
    pub(crate) fn stored(&mut self, points: &mut Points, node: Node, ixs: &[Ix]) -> Node {
        let Based { shape, slots, value, here } = self.based(points, node, ixs);
        let known = self.same.get(&(shape.clone(), value)).copied();
        let arr = known.unwrap_or_else(|| {
            let (name, ty) = (points.arrs[self.of].name, points.nodes[node].ty);
            let source = Source::Defined(usize::MAX);
            let arr = points.arrs.push(ArrInfo { name, ty, shape: shape.clone(), source });
            let clause = Clause { slots, guard: None, value, otherwise: None };
            let body = Body::Clauses(vec![clause], None);
            self.made.push(Def { arr, span: self.span, body, adjoint: false });
            self.same.insert((shape, value), arr);
            arr
        });
        points.load(arr, &here)
    }

    /// The same for values of which the indices may have bounds of their own, which are known wherever
    /// this is stored: no more is computed than what lies between them.
    pub(crate) fn stored_between(&mut self, points: &mut Points, node: Node, ixs: &[Ix]) -> Node {
        if ixs.iter().all(|ix| points.ixs[*ix].bounds.is_none()) {
            return self.stored(points, node, ixs);
        }
        let shape = ixs.iter().map(|ix| (points.ixs[*ix].range.1 + 1) as i64).collect();
        let mut slots = Vec::new();
        for ix in ixs {
            let info = points.ixs[*ix].clone();
            let bounds = info.bounds.unwrap_or_else(|| {
                (points.int(info.range.0 as i64), points.int(info.range.1 as i64 + 1))
            });
            let own = points.fresh_between(info.name, info.range, bounds.0, bounds.1);
            slots.push(Slot { ix: own, lo: bounds.0, hi: bounds.1 });
        }
        let places: Vec<Node> = slots.iter().map(|slot| points.index(slot.ix)).collect();
        let value = Subst::new(ixs.iter().copied().zip(places)).apply(points, node);
        let (name, ty) = (points.arrs[self.of].name, points.nodes[node].ty);
        let arr =
            points.arrs.push(ArrInfo { name, ty, shape, source: Source::Defined(usize::MAX) });
        let clause = Clause { slots, guard: None, value, otherwise: None };
        let body = Body::Clauses(vec![clause], None);
        self.made.push(Def { arr, span: self.span, body, adjoint: false });
        let here: Vec<Node> = ixs.iter().map(|ix| points.index(*ix)).collect();
        points.load(arr, &here)
    }

    fn slot(&mut self, points: &mut Points, axis: usize, extent: i64) -> Slot {
        let fresh = || points.fresh(Symbol::intern("i"), (0, i128::from(extent - 1)));
        let ix = *self.axes.entry((axis, extent)).or_insert_with(fresh);
        Slot { ix, lo: points.int(0), hi: points.int(extent) }
    }
}

/// Indices in every order, beginning with the one in which they stand.
fn orders(ixs: &[Ix]) -> Vec<Vec<Ix>> {
    if ixs.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in ixs.iter().enumerate() {
        let rest: Vec<Ix> =
            ixs.iter().enumerate().filter(|(o, _)| *o != at).map(|(_, ix)| *ix).collect();
        all.extend(orders(&rest).into_iter().map(|rest| [vec![*first], rest].concat()));
    }
    all
}

/// An index plus a constant.
fn shifted(points: &mut Points, ix: Ix, by: i128) -> Node {
    let (index, by) = (points.index(ix), points.int(by as i64));
    points.binary(BinaryOp::Add, index, by, None)
}
