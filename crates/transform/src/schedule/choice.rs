//! Choices that are the same for all cells are made outside the loops.
//!
//! Before:  `x[i] = if whole { full[i] } else { sum(k) … }`, both sides computed for every `i`
//! After:   `if whole { loop over i: full[i] } else { loop over i: sum(k) … }`
//!
//! Needs: a condition that is known before the loops, and a reduction on one of the sides: other
//! things are computed faster than jumped over.
//! Limit: of several choices the code has two versions, one where each takes the side without
//! reductions, and one with all sides.
//!
//! Failures: the condition is evaluated before the loops, also if they have no points: an alarm at
//! most. The sides keep theirs.

use super::emit::{Emit, Place};
use super::nest::{Cell, Loop};
use super::plan::{Change, What, Why};
use super::view::View;
use crate::points::{Arr, Kind, Node, Subst};
use ein_ir::loops::{Op, Operand, Stmt};
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};
use rustc_hash::FxHashSet;

/// A node that chooses.
#[derive(Clone, Copy, Debug)]
struct Choice {
    node: Node,
    cond: Node,
    yes: Node,
    no: Node,
}

impl Emit {
    /// Fills cells of an array with the choices among their values made first, if there are any.
    pub(crate) fn chosen(&mut self, arr: Arr, loops: &[Loop], cells: &[Cell]) -> bool {
        // What lives in a register cannot leave a branch.
        if loops.is_empty() || self.places.get(&arr).and_then(Place::buffer).is_none() {
            return false;
        }
        let choices = outer_choices(&self.view(), loops, cells);
        if let Some(choice) = choices.iter().find(|choice| choice.yes == choice.no) {
            // Asked because it may fail: no side is left out.
            self.value(choice.cond);
            let mut subst = Subst::nodes([(choice.node, choice.yes)].into_iter().collect());
            let points = &mut self.points;
            let cells = cells.iter().map(|(at, value)| (at.clone(), subst.apply(points, *value)));
            let cells = cells.collect();
            self.nest(arr, loops.to_vec(), cells);
            return true;
        }
        let why = Why::Since("the loops do not change the condition, and a side has reductions");
        let note = What::Change(Change::Chosen(choices.len()));
        if let [choice] = choices.as_slice() {
            self.plan.note(note, why);
            let cond = self.value(choice.cond);
            let yes = self.branch(arr, loops, cells, &[(choice.node, choice.yes)]);
            let no = self.branch(arr, loops, cells, &[(choice.node, choice.no)]);
            self.push(Stmt::If(cond, yes, no));
            return true;
        }
        let mut all: Option<Operand> = None;
        let mut taken = Vec::new();
        for choice in choices {
            let reduces = |node: Node| self.points.nodes[node].reduces;
            let side = match (reduces(choice.yes), reduces(choice.no)) {
                (false, _) => choice.yes,
                (_, false) => choice.no,
                (true, true) => continue,
            };
            taken.push((choice.node, side));
            let mut test = self.value(choice.cond);
            if side == choice.no {
                test = self.let_here(ScalarType::Bool, Op::Unary(UnaryOp::Not, test));
            }
            all = Some(match all {
                None => test,
                Some(all) => self.let_here(ScalarType::Bool, Op::Binary(BinaryOp::And, all, test)),
            });
        }
        let Some(all) = all else { return false };
        self.plan.note(note, why);
        let yes = self.branch(arr, loops, cells, &taken);
        self.open_block();
        self.nest_of_all(arr, loops.to_vec(), cells.to_vec());
        let no = self.close_block();
        self.push(Stmt::If(all, yes, no));
        true
    }

    /// The loops with some nodes replaced by others.
    fn branch(
        &mut self,
        arr: Arr,
        loops: &[Loop],
        cells: &[Cell],
        taken: &[(Node, Node)],
    ) -> Vec<Stmt> {
        let mut subst = Subst::nodes(taken.iter().copied().collect());
        let points = &mut self.points;
        let cells = cells.iter().map(|(at, value)| (at.clone(), subst.apply(points, *value)));
        let cells = cells.collect();
        self.open_block();
        self.nest(arr, loops.to_vec(), cells);
        self.close_block()
    }
}

/// The outermost choices that the loops do not change, where they change a reduction in them.
fn outer_choices(view: &View<'_>, loops: &[Loop], cells: &[Cell]) -> Vec<Choice> {
    let mut found = Vec::new();
    let mut seen = FxHashSet::default();
    for (_, value) in cells {
        choices_in(view, *value, loops, &mut seen, &mut found);
    }
    found
}

fn choices_in(
    view: &View<'_>,
    node: Node,
    loops: &[Loop],
    seen: &mut FxHashSet<Node>,
    found: &mut Vec<Choice>,
) {
    let points = &view.points;
    let varies = |node: Node| loops.iter().any(|(ix, ..)| points.depends(node, *ix));
    let info = &points.nodes[node];
    if !info.reduces || !varies(node) || !seen.insert(node) {
        return;
    }
    if let Kind::Select(cond, yes, no) = info.kind
        && !varies(cond)
        && points.nodes[cond].free.iter().all(|ix| view.is_bound(*ix))
    {
        found.push(Choice { node, cond, yes, no });
        return;
    }
    points.each_child(node, &mut |child| choices_in(view, child, loops, seen, found));
}
