//! What may fail fails, also if nobody looks at its value.
//!
//! Before:  `let unused = 1 / x[i]; 5`, inside a loop over `i`
//! After:   refused: the clause does not mention the division
//!
//! Values are symbolic here, so what is bound and not used would vanish with its traps. Outside of
//! loops it is given a cell, which is computed because it may fail; inside of a loop the body has
//! to contain it.

use super::array::{Array, ArrayKind, Row};
use super::{Flat, Flatten, Val, declined};
use crate::points::{Arr, Clause, Node, Source, Subst, loses_a_trap};
use ein_base::Span;
use ein_ir::tensor::{Expr, ExprKind};
use ein_scalar::Scalar;
use rustc_hash::FxHashMap;

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

    /// Refuses a loop in which something may fail that these nodes do not contain.
    pub(crate) fn discharge(&mut self, from: usize, roots: &[Node], span: Span) -> Flat<()> {
        if self.obliged.len() <= from {
            return Ok(());
        }
        let below = self.points.below(roots);
        let mut lost = self.obliged.split_off(from);
        lost.retain(|node| !below.contains(node));
        if lost.is_empty() {
            return Ok(());
        }
        // Numbers of outside may have become constants since, with which it is the same or fits.
        let mut known = Subst::nodes(self.constants_of_outside());
        let roots: Vec<Node> = roots.iter().map(|it| known.apply(&mut self.points, *it)).collect();
        let below = self.points.below(&roots);
        for node in lost {
            let node = known.apply(&mut self.points, node);
            if self.points.nodes[node].traps && !below.contains(&node) {
                return Err(declined("a value that is not used and may fail", span));
            }
        }
        Ok(())
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

/// The scalars that a value is made of.
fn nodes_of(value: &Val, nodes: &mut Vec<Node>) {
    match value {
        // What a turn ends with stands in what it is merged into.
        Val::Unit | Val::Turn(_) => {}
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
        ArrayKind::Clauses(_) | ArrayKind::Iota => {}
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
