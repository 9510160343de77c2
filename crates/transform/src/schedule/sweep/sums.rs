//! Sums over time: their parts in each segment, and what reads them when they are complete.

use super::build::{Builder, Stage};
use super::find::{Sum, Why, clause_roots};
use crate::points::{
    Arr, Body, Clause, Def, Ix, Kind, Node, Points, Reduction, Slot, Subst, Window,
};
use crate::schedule::contract::only_clause;
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use rustc_hash::FxHashMap;

impl Builder<'_> {
    /// Whether a definition is a sum and nothing else.
    pub(super) fn is_all_of(&self, sum: &Sum) -> bool {
        let def = &self.points.defs[sum.def];
        let clause = only_clause(self.points, &def.body, &self.points.arrs[def.arr].shape);
        let Kind::Reduce(reduction) = &self.points.nodes[sum.node].kind else { return false };
        clause.is_some_and(|clause| {
            let slots = clause.slots.iter().map(|slot| slot.ix);
            clause.value == sum.node && slots.eq(sum.free.iter().copied())
        }) && reduction.op == ReduceOp::Sum
    }

    /// The definition of the part of a sum in a segment, if there is one.
    pub(super) fn part_of_sum(
        &mut self,
        stage: &Stage,
        (at, sum): (usize, &Sum),
        windows: &FxHashMap<Arr, Window>,
    ) -> Result<Option<usize>, Why> {
        let Kind::Reduce(reduction) = self.points.nodes[sum.node].kind.clone() else {
            return Ok(None);
        };
        let (time, lo, hi) = reduction.binders[sum.binder];
        let (lo, hi) = self
            .clip(stage.part, (0, stage.len), (self.int(lo)?, self.int(hi)?))
            .ok_or("a sum begins or ends in the middle of its steps")?;
        if lo >= hi {
            return Ok(None);
        }
        let base = self.base(stage.part);
        let (ix, slot) = self.rows(self.points.ixs[time].name, (lo, hi));
        let row = self.points.index(ix);
        let step = self.points.binary(BinaryOp::Add, base, row, None);
        let mut subst = Subst::windows([(time, step)], windows.clone());
        let body = subst.apply(self.points, reduction.body);
        let guard = reduction.guard.map(|guard| subst.apply(self.points, guard));
        if subst.left_a_window() {
            return Err("its steps are read outside the segment");
        }
        let mut binders = reduction.binders.clone();
        binders[sum.binder] = (ix, slot.lo, slot.hi);
        let ty = self.points.nodes[sum.node].ty;
        let value = Reduction { op: ReduceOp::Sum, binders, guard, body };
        let value = self.points.reduce(value, ty);
        let slots = self.slots(sum);
        let (arr, span) = (self.parts[at], self.points.defs[sum.def].span);
        let clause = Clause { slots, guard: None, value, otherwise: None };
        let body = Body::Clauses(vec![clause], None);
        Ok(Some(self.push(Def { arr, span, body, adjoint: false })))
    }

    /// The slots of the indices that a sum depends on.
    fn slots(&mut self, sum: &Sum) -> Vec<Slot> {
        let slot = |ix: &Ix| {
            let (lo, hi) = self.points.ixs[*ix].range;
            Slot { ix: *ix, lo: self.points.int(lo as i64), hi: self.points.int(hi as i64 + 1) }
        };
        sum.free.iter().map(slot).collect()
    }

    /// Definitions outside read totals and single steps.
    pub(super) fn outside(&mut self) -> Result<(), Why> {
        let found = self.found;
        let windows: FxHashMap<Arr, Window> = found
            .members
            .iter()
            .enumerate()
            .filter(|(_, member)| !member.wanted)
            .map(|(at, member)| {
                (member.arr, Window { axis: member.axis, rows: None, single: self.singles_of(at) })
            })
            .collect();
        for def in found.outside.keys().copied() {
            if self.complete.contains(&def) {
                continue;
            }
            let mut totals = FxHashMap::default();
            for (at, sum) in found.sums.iter().enumerate().filter(|(_, sum)| sum.def == def) {
                let total = self.total(sum, self.totals[at]);
                totals.insert(sum.node, total);
            }
            let mut body = self.points.defs[def].body.clone();
            let Body::Clauses(clauses, _) = &mut body else { continue };
            for clause in clauses {
                let mut gathered = Subst::nodes(totals.clone());
                let mut kept = Subst::windows([], windows.clone());
                let mut apply = |points: &mut Points, node: Node| {
                    let node = gathered.apply(points, node);
                    kept.apply(points, node)
                };
                clause.value = apply(self.points, clause.value);
                clause.guard = clause.guard.map(|guard| apply(self.points, guard));
                clause.otherwise = clause.otherwise.map(|other| apply(self.points, other));
                let reads = self.points.loads(&clause_roots(clause));
                let left = |arr: &Arr| windows.contains_key(arr);
                if kept.left_a_window() || reads.iter().any(|(arr, _)| left(arr)) {
                    return Err("its history is read other than step by step");
                }
            }
            self.points.defs[def].body = body;
        }
        Ok(())
    }

    /// What a sum is when it is complete.
    fn total(&mut self, sum: &Sum, total: Arr) -> Node {
        let at: Vec<Node> = sum.free.iter().map(|ix| self.points.index(*ix)).collect();
        let mut value = self.points.load(total, &at);
        if let Kind::Reduce(reduction) = &self.points.nodes[sum.node].kind
            && reduction.op == ReduceOp::Mean
        {
            let bounds = reduction.binders.iter();
            let extent = |(lo, hi): (Node, Node)| {
                self.points.as_int(hi).unwrap_or(0) - self.points.as_int(lo).unwrap_or(0)
            };
            let count: i64 = bounds.map(|(_, lo, hi)| extent((*lo, *hi)).max(0)).product();
            value = self.points.cast(value, ScalarType::F64);
            let count = self.points.constant(Scalar::F64(count as f64));
            value = self.points.binary(BinaryOp::Div, value, count, None);
        }
        let ty = self.points.nodes[sum.node].ty;
        self.points.cast(value, ty)
    }
}
