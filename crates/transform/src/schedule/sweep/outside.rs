//! What definitions outside a sweep may read of its members: sums over all steps, and single steps.

use super::find::{Found, Reader, Refusal, Search, Sum, clause_roots};
use crate::points::{Ix, Kind, Node, Reduction};
use ein_ir::tensor::ReduceOp;
use rustc_hash::FxHashSet;

impl Search<'_> {
    /// A definition outside reads sums over time and single steps only.
    pub(super) fn check_outside(&self, def: usize, found: &mut Found) -> Result<(), Refusal> {
        let why = Refusal::Why("its history is read other than step by step");
        let clauses = self.clauses(def);
        if clauses.is_empty() {
            return Err(why);
        }
        for clause in clauses {
            let mut sums = Vec::new();
            let mut seen = FxHashSet::default();
            for root in clause_roots(&clause) {
                self.outer_reads(root, &mut seen, &mut sums, found)?;
            }
            for (node, binder) in sums {
                if found.sums.iter().any(|sum| sum.def == def && sum.node == node) {
                    continue;
                }
                let needed = &self.points.nodes[node].free;
                let slots = clause.slots.iter().map(|slot| slot.ix);
                let free: Vec<Ix> = slots.filter(|ix| needed.contains(ix)).collect();
                if free.len() != needed.len() {
                    return Err(why);
                }
                let Kind::Reduce(reduction) = &self.points.nodes[node].kind else {
                    return Err(why);
                };
                if !self.is_sum(node, reduction) {
                    return Err(Refusal::Why("something other than a sum runs over its history"));
                }
                let reader = Reader::Sum(found.sums.len());
                let roots: Vec<Node> =
                    [reduction.body].into_iter().chain(reduction.guard).collect();
                for read in self.points.loads(&roots) {
                    self.check_read(&read, reduction.binders[binder].0, reader, found)?;
                }
                found.sums.push(Sum { def, node, binder, free, late: false });
            }
        }
        Ok(())
    }

    /// Finds the sums over time, and the single steps that are read outside them.
    fn outer_reads(
        &self,
        node: Node,
        seen: &mut FxHashSet<Node>,
        sums: &mut Vec<(Node, usize)>,
        found: &mut Found,
    ) -> Result<(), Refusal> {
        if !seen.insert(node) {
            return Ok(());
        }
        match &self.points.nodes[node].kind {
            Kind::Reduce(reduction) => {
                if let Some(binder) = self.over_time(reduction) {
                    sums.push((node, binder));
                    return Ok(());
                }
            }
            Kind::Load(arr, at) => {
                if let Some(time) = self.time_of(*arr, at) {
                    let member = found.members.iter().position(|member| member.arr == *arr);
                    let step = self.points.as_int(time);
                    match (member, step) {
                        (Some(member), Some(step)) => {
                            found.singles.insert((member, step));
                        }
                        (Some(member), None) => {
                            let def = found.members[member].def;
                            let why = "its history is read other than step by step";
                            return Err(self.without(def, why));
                        }
                        (None, _) => {}
                    }
                }
            }
            _ => {}
        }
        let mut children = Vec::new();
        self.points.each_child(node, &mut |child| children.push(child));
        children.into_iter().try_for_each(|child| self.outer_reads(child, seen, sums, found))
    }

    /// The index of a reduction that is time.
    pub(super) fn over_time(&self, reduction: &Reduction) -> Option<usize> {
        let roots: Vec<Node> = [reduction.body].into_iter().chain(reduction.guard).collect();
        let times: Vec<Node> = self
            .points
            .loads(&roots)
            .iter()
            .filter_map(|(arr, at)| self.time_of(*arr, at))
            .collect();
        let is_time = |ix: Ix| times.iter().any(|node| self.moves_with(*node, ix));
        reduction.binders.iter().position(|(ix, ..)| is_time(*ix))
    }

    /// Whether a reduction is a sum or mean of floats over constant bounds.
    fn is_sum(&self, node: Node, reduction: &Reduction) -> bool {
        let constant = |node| self.points.as_int(node).is_some();
        let adds = match reduction.op {
            ReduceOp::Sum => true,
            ReduceOp::Mean => reduction.guard.is_none(),
            ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min | ReduceOp::Argmax => false,
            ReduceOp::Argmin | ReduceOp::Any | ReduceOp::All | ReduceOp::Count => false,
        };
        adds && self.points.nodes[node].ty.is_float()
            && reduction.binders.iter().all(|(_, lo, hi)| constant(*lo) && constant(*hi))
    }
}
