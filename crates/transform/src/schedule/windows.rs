//! Reductions over a few terms, as windows of images are, written out.
//!
//! Before:  `y[i, j] = sum(a in 0..3, b in 0..3) x[i + a, j + b]`, with a row of accumulators that is
//!          read and written for every term
//! After:   `y[i, j] = 0 + x[i, j] + x[i, j + 1] + …`, which runs in vectors without one
//!
//! Needs: constant bounds, memory that is contiguous along the row.
//! Refuses: conditions, sums of integers that do not surely fit their type, costly terms.

use super::emit::Emit;
use super::nest::{Cell, Loop};
use super::reduce::operation;
use crate::points::{Kind, Node, Reduction, Subst};
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use rustc_hash::FxHashMap;

/// So many terms are few.
const TERMS: i64 = 32;

/// A row has at least so many cells.
const LEAST: i64 = 8;

/// The most that all terms together may cost.
const COST: f64 = 200.0;

impl Emit {
    /// The cells without these reductions, if each has few terms and they are read in vectors.
    pub(crate) fn written_out_terms(
        &mut self,
        loops: &[Loop],
        cells: &[Cell],
        inner: &[Node],
    ) -> Option<Vec<Cell>> {
        let (ix, lo, hi) = *loops.last()?;
        let loads = self.points.loads(inner);
        let strides: Vec<_> = loads.iter().map(|(arr, at)| self.stride(*arr, at, ix)).collect();
        let in_vectors = strides.iter().all(|it| matches!(it, Some(0 | 1)));
        if !in_vectors || !strides.contains(&Some(1)) || self.constant_extent(lo, hi)? < LEAST {
            return None;
        }
        let mut instead = FxHashMap::default();
        for node in inner {
            let Kind::Reduce(reduction) = self.points.nodes[*node].kind.clone() else {
                return None;
            };
            let ty = self.points.nodes[*node].ty;
            if !self.has_few_terms(&reduction, ty) {
                return None;
            }
            let value = self.all_terms(&reduction, ty);
            instead.insert(*node, value);
        }
        let mut subst = Subst::nodes(instead);
        let points = &mut self.points;
        Some(cells.iter().map(|(at, value)| (at.clone(), subst.apply(points, *value))).collect())
    }

    fn has_few_terms(&self, reduction: &Reduction, ty: ScalarType) -> bool {
        let body = &self.points.nodes[reduction.body];
        let plain = match (reduction.op, ty) {
            (ReduceOp::Sum | ReduceOp::Mean, ScalarType::F32 | ScalarType::F64) => {
                body.ty == ty && !self.points.exact
            }
            (ReduceOp::Max | ReduceOp::Min, _) => body.ty == ty,
            _ => false,
        };
        let count = self.points.point_count(reduction).unwrap_or(0);
        plain
            && reduction.guard.is_none()
            && !body.reduces
            && (1..=TERMS).contains(&count)
            && body.cost * count as f64 <= COST
    }

    fn all_terms(&mut self, reduction: &Reduction, ty: ScalarType) -> Node {
        let op = operation(reduction.op);
        let mut terms = vec![reduction.body];
        for (ix, lo, hi) in &reduction.binders {
            let (lo, hi) = (self.points.as_int(*lo), self.points.as_int(*hi));
            let mut more = Vec::new();
            for term in terms {
                for at in lo.unwrap_or(0)..hi.unwrap_or(0) {
                    let at = self.points.int(at);
                    more.push(Subst::one(*ix, at).apply(&mut self.points, term));
                }
            }
            terms = more;
        }
        let count = terms.len() as f64;
        let mut terms = terms.into_iter();
        // A sum begins with zero: it is never the negative one.
        let first = match op {
            BinaryOp::Add => Some(self.points.constant(Scalar::zero(ty))),
            _ => terms.next(),
        };
        let first = first.unwrap_or(reduction.body);
        let all = terms.fold(first, |all, term| self.points.binary(op, all, term, None));
        match (reduction.op, Scalar::from_f64(count, ty)) {
            (ReduceOp::Mean, Some(count)) => {
                let count = self.points.constant(count);
                self.points.binary(BinaryOp::Div, all, count, None)
            }
            _ => all,
        }
    }
}
