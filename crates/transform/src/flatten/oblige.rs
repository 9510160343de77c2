//! What may fail fails, also if nobody looks at its value.
//!
//! Before:  `let unused = 1 / x[i]; 5`, inside a loop over `i`
//! After:   `if 1 / x[i] == 0 { 5 } else { 5 }`
//!
//! Values are symbolic here, so what is bound and not used would vanish with its traps. Outside of
//! loops it is given a cell, which is computed because it may fail; inside of a loop the body is made
//! to contain it. Of an array that a body binds all cells are computed: those that the body reads at
//! its own position, or all of them beside it.

use super::array::{Array, ArrayKind, Row};
use super::{Flat, Flatten, Val};
use crate::points::{Arr, Clause, Ix, Kind, Node, Points, Reduction, Source, Subst, loses_a_trap};
use ein_base::Span;
use ein_ir::tensor::{Expr, ExprKind, ReduceOp};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};
use rustc_hash::{FxHashMap, FxHashSet};

impl<'p> Flatten<'p> {
    /// The value of an expression of which only a part may be used.
    pub(crate) fn strict(&mut self, e: &'p Expr) -> Flat<Val> {
        let value = self.expr(e)?;
        // What has a name was computed when it got it.
        if !matches!(&*e.kind, ExprKind::Var(_)) {
            self.oblige(&value, e.span)?;
        }
        Ok(value)
    }

    /// Notes that a value is computed, used or not.
    pub(crate) fn oblige(&mut self, value: &Val, span: Span) -> Flat<()> {
        let mut nodes = Vec::new();
        nodes_of(value, &mut nodes);
        nodes.retain(|node| self.points.nodes[*node].traps);
        for node in nodes {
            if self.loops.is_empty() {
                self.store_scalar(node, None, span);
            } else {
                self.obliged.push(node);
            }
        }
        Ok(())
    }

    /// What a loop computes, so that all fails in it that was noted since and that neither this nor
    /// the `others` contain.
    pub(crate) fn discharge(&mut self, from: usize, value: Node, others: &[Node]) -> Node {
        if self.obliged.len() <= from {
            return value;
        }
        let mut roots = vec![value];
        roots.extend(others);
        let defined: FxHashSet<Arr> = self.points.defs.iter().map(|def| def.arr).collect();
        roots.extend(self.settled.iter().filter(|it| defined.contains(&it.0)).map(|it| it.1));
        let below = self.points.below(&roots);
        let mut lost = self.obliged.split_off(from);
        lost.retain(|node| !below.contains(node));
        if lost.is_empty() {
            return value;
        }
        // Numbers of outside may have become constants since, with which it is the same or fits.
        let mut known = Subst::nodes(self.constants_of_outside());
        let roots: Vec<Node> = roots.iter().map(|it| known.apply(&mut self.points, *it)).collect();
        let mut kept = value;
        for node in lost {
            let node = known.apply(&mut self.points, node);
            if !self.fails_in(node, &roots) {
                let asked = question(&mut self.points, node);
                kept = self.points.select(asked, kept, kept);
            }
        }
        kept
    }

    /// Whether all that may fail in a node does in others. What chooses between values may have become
    /// a choice of what is computed from them; all cells of a definition are those at the positions of
    /// the loops around.
    fn fails_in(&mut self, node: Node, others: &[Node]) -> bool {
        if !loses_a_trap(&self.points, &[node], others) {
            return true;
        }
        let Kind::Reduce(cells) = self.points.nodes[node].kind.clone() else { return false };
        if cells.op != ReduceOp::Any || cells.guard.is_some() {
            return false;
        }
        let mut places: Vec<(Ix, Node)> = Vec::new();
        let mut loops = self.loops.clone();
        for (ix, lo, hi) in &cells.binders {
            let ends = self.points.as_int(*lo).zip(self.points.as_int(*hi));
            let all = |it: &Ix| {
                let info = &self.points.ixs[*it];
                let (first, last) = info.range;
                let own = (i64::try_from(first).ok(), i64::try_from(last + 1).ok());
                info.bounds.is_none() && ends.is_some_and(|(lo, hi)| own == (Some(lo), Some(hi)))
            };
            // The loops of the definition that reads it are the innermost ones, in its order.
            let Some(at) = loops.iter().rposition(all) else { return false };
            places.push((*ix, self.points.index(loops.remove(at))));
        }
        let here = Subst::new(places).apply(&mut self.points, cells.body);
        !loses_a_trap(&self.points, &[here], others)
    }

    /// The numbers of outside that were taken as constants, and these.
    fn constants_of_outside(&mut self) -> FxHashMap<Node, Node> {
        let arrs = self.points.arrs.iter_enumerated();
        let assumed = arrs.filter_map(|(arr, info)| {
            let Source::Input(input, _) = &info.source else { return None };
            let value = self.assumed.iter().find(|(other, _)| other == input)?.1;
            Some((arr, value))
        });
        let assumed: Vec<(Arr, Scalar)> = assumed.collect();
        let points = &mut self.points;
        let both = |(arr, value)| (points.load(arr, &[]), points.constant(value));
        assumed.into_iter().map(both).collect()
    }
}

/// Whether everything that may fail in clauses is computed by what is obliged already, whichever of the
/// cells are read.
pub(super) fn is_obliged(flatten: &Flatten<'_>, clauses: &[Clause]) -> bool {
    let roots = clauses.iter().flat_map(|c| [Some(c.value), c.guard, c.otherwise]).flatten();
    !loses_a_trap(&flatten.points, &roots.collect::<Vec<_>>(), &flatten.obliged)
}

/// Notes that all cells of a definition inside of a loop are computed, read or not.
pub(super) fn oblige_cells(flatten: &mut Flatten<'_>, clauses: &[Clause]) {
    for clause in clauses {
        let binders = clause.slots.iter().map(|slot| (slot.ix, slot.lo, slot.hi));
        let binders: Vec<_> = binders.collect();
        for node in [Some(clause.value), clause.guard, clause.otherwise].into_iter().flatten() {
            if !flatten.points.nodes[node].traps {
                continue;
            }
            let body = question(&mut flatten.points, node);
            let all = Reduction { op: ReduceOp::Any, binders: binders.clone(), guard: None, body };
            let all = match binders.is_empty() {
                true => node,
                false => flatten.points.reduce(all, ScalarType::Bool),
            };
            flatten.obliged.push(all);
        }
    }
}

/// A truth that fails where a node does.
fn question(points: &mut Points, node: Node) -> Node {
    let ty = points.nodes[node].ty;
    if ty.is_bool() {
        node
    } else if ty.is_float() {
        points.unary(UnaryOp::IsNan, node, None)
    } else {
        let zero = points.constant(Scalar::zero(ty));
        points.binary(BinaryOp::Eq, node, zero, None)
    }
}

/// The scalars that a value is made of.
fn nodes_of(value: &Val, nodes: &mut Vec<Node>) {
    match value {
        // What a turn ends with stands in what it is merged into.
        Val::Unit | Val::Text(_) | Val::Turn(_) => {}
        Val::Scalar(node) => nodes.push(*node),
        Val::Tuple(items) | Val::Data(_, items) | Val::Fn(_, items) => {
            items.iter().for_each(|item| nodes_of(item, nodes));
        }
        Val::Array(array) => nodes_of_array(array, nodes),
    }
}

fn nodes_of_array(array: &Array, nodes: &mut Vec<Node>) {
    match &array.kind {
        ArrayKind::Stored(_, leading) => nodes.extend(leading),
        // Clauses do not fail, and iota has no parts.
        ArrayKind::Clauses(..) | ArrayKind::Iota => {}
        ArrayKind::Slice(base, ..) | ArrayKind::Permute(base, _) => nodes_of_array(base, nodes),
        ArrayKind::Reshape(base) | ArrayKind::Cast(base) => nodes_of_array(base, nodes),
        ArrayKind::Partial(base, leading) => {
            nodes.extend(leading);
            nodes_of_array(base, nodes);
        }
        ArrayKind::Join(_, a, b) => {
            nodes_of_array(a, nodes);
            nodes_of_array(b, nodes);
        }
        ArrayKind::Rows(rows) => {
            for row in rows.iter() {
                match row {
                    Row::Number(node) => nodes.push(*node),
                    Row::Array(array) => nodes_of_array(array, nodes),
                }
            }
        }
        ArrayKind::Gather(base, _, positions) => {
            nodes_of_array(base, nodes);
            nodes_of_array(positions, nodes);
        }
        ArrayKind::Select(cond, a, b) => {
            nodes.push(*cond);
            nodes_of_array(a, nodes);
            nodes_of_array(b, nodes);
        }
        ArrayKind::Same(node) => nodes.push(*node),
    }
}
