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
use crate::points::Node;
use ein_base::Span;
use ein_ir::tensor::Expr;

impl<'p> Flatten<'p> {
    /// The value of an expression of which only a part may be used.
    pub(crate) fn strict(&mut self, e: &'p Expr) -> Flat<Val> {
        let value = self.expr(e)?;
        self.oblige(&value, e.span)?;
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
        let lost = self.obliged.split_off(from).into_iter().any(|node| !below.contains(&node));
        if lost {
            return Err(declined("a value that is not used and may fail", span));
        }
        Ok(())
    }
}

/// The scalars that a value is made of.
fn nodes_of(value: &Val, nodes: &mut Vec<Node>) {
    match value {
        Val::Unit => {}
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
