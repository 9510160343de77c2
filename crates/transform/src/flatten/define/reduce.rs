//! Reductions and accumulations.

use super::super::array::{Array, ArrayKind};
use super::super::{Flat, Flatten, Val, declined, element_type};
use crate::points::{Body, Ix, Kind, Node, Points, Reduction, Subst, in_turn};
use ein_base::Span;
use ein_ir::tensor::{Expr, Reduce, ReduceOp, Scatter};
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use std::rc::Rc;

/// A reduction of at most so many terms is written out.
const FEW: i64 = 4;

impl<'p> Flatten<'p> {
    /// A reduction.
    pub(crate) fn reduce(&mut self, reduce: &'p Reduce, e: &'p Expr) -> Flat<Node> {
        for require in &reduce.requires {
            self.require(require)?;
        }
        let ty = element_type(&e.ty, e.span)?;
        let scope = self.enter();
        let mut binders = Vec::new();
        let mut empty = false;
        for binder in &reduce.binders {
            match self.open(binder)? {
                Some(binder) => binders.push(binder),
                None => empty = true,
            }
            if empty {
                break;
            }
        }
        if empty {
            self.leave(&scope);
            return self.empty_reduction(reduce.op, ty, e.span);
        }
        let mut guard = self.items(&reduce.items)?;
        let mut body = self.scalar(&reduce.value)?;
        let bounds = binders.iter().flat_map(|(_, lo, hi)| [*lo, *hi]);
        let others: Vec<Node> = bounds.chain([body]).chain(guard).collect();
        let asked = guard.as_mut().unwrap_or(&mut body);
        *asked = self.discharge(scope.obliged, *asked, &others);
        self.leave(&scope);
        let adds = matches!(reduce.op, ReduceOp::Sum | ReduceOp::Mean | ReduceOp::Prod);
        if self.points.exact && adds && self.points.nodes[body].ty.is_float() {
            return Err(declined("a sum in a fixed order", e.span));
        }
        if self.points.nodes[body].ty == ScalarType::U64 {
            return Err(declined("a reduction of `u64`", e.span));
        }
        let addressed = matches!(reduce.op, ReduceOp::Argmax | ReduceOp::Argmin);
        if addressed && binders.len() > 1 {
            return Err(declined("the address of an extreme over several indices", e.span));
        }
        let guard = self.narrowed(&mut binders, guard, body);
        let body = self.without_zeros(reduce.op, &mut binders, body);
        let (guard, body) = without_single(&mut self.points, &mut binders, guard, body);
        if binders.is_empty() {
            // Over no index there is one point, which the loops of a reduction have to pass.
            let ix = self.points.fresh(ein_base::Symbol::intern("_"), (0, 0));
            binders.push((ix, self.points.int(0), self.points.int(1)));
        }
        let reduction = Reduction { op: reduce.op, binders, guard, body };
        Ok(match self.written_out(&reduction) {
            Some(node) => node,
            None => self.points.reduce(reduction, ty),
        })
    }

    /// What a sum adds, if all that it has beside zeros is what its indices end with.
    fn without_zeros(
        &mut self,
        op: ReduceOp,
        binders: &mut Vec<(Ix, Node, Node)>,
        body: Node,
    ) -> Node {
        let Kind::Select(cond, value, zero) = self.points.nodes[body].kind else { return body };
        let Kind::Const(zero) = self.points.nodes[zero].kind else { return body };
        if op != ReduceOp::Sum || zero != Scalar::zero(zero.ty()) || self.points.exact {
            return body;
        }
        let mut narrow = binders.clone();
        match self.narrowed(&mut narrow, Some(cond), value) {
            None => {
                *binders = narrow;
                value
            }
            Some(_) => body,
        }
    }

    /// A reduction of a few terms as these terms.
    fn written_out(&mut self, reduction: &Reduction) -> Option<Node> {
        let op = match reduction.op {
            ReduceOp::Sum => BinaryOp::Add,
            ReduceOp::Prod => BinaryOp::Mul,
            ReduceOp::Max => BinaryOp::Max,
            ReduceOp::Min => BinaryOp::Min,
            ReduceOp::All => BinaryOp::And,
            ReduceOp::Any => BinaryOp::Or,
            ReduceOp::Mean | ReduceOp::Argmax | ReduceOp::Argmin | ReduceOp::Count => return None,
        };
        let [(ix, lo, hi)] = *reduction.binders.as_slice() else { return None };
        let (lo, hi) = (self.points.as_int(lo)?, self.points.as_int(hi)?);
        let in_turn = in_turn(&self.points, reduction);
        if reduction.guard.is_some() || hi - lo > FEW || self.points.exact || in_turn {
            return None;
        }
        let mut term = |at: i64| {
            let at = self.points.int(at);
            Subst::one(ix, at).apply(&mut self.points, reduction.body)
        };
        let mut terms: Vec<Node> = (lo..hi).map(&mut term).collect();
        let short = self.points.nodes[reduction.body].ty;
        let adds = matches!(op, BinaryOp::Add | BinaryOp::Mul);
        if adds && matches!(short, ScalarType::F16 | ScalarType::BF16) {
            // Half floats are added as `f32` and rounded once.
            for term in &mut terms {
                *term = self.points.cast(*term, ScalarType::F32);
            }
        }
        let total = self.total(op, &terms)?;
        Some(self.points.cast(total, short))
    }

    /// Terms taken together.
    fn total(&mut self, op: BinaryOp, terms: &[Node]) -> Option<Node> {
        let total = self.folded(op, terms)?;
        let ty = self.points.nodes[total].ty;
        if op == BinaryOp::Add && ty.is_float() && self.points.may_be_negative_zero(total) {
            // A sum begins with 0.0, so it is not -0.0. With a product that is one instruction, and
            // none that the other terms wait for.
            let zero = self.points.constant(Scalar::zero(ty));
            let mut terms = terms.to_vec();
            terms[0] = self.points.binary(op, terms[0], zero, None);
            return self.folded(op, &terms);
        }
        Some(total)
    }

    /// Terms taken together: plain floats in pairs, and others, products to which a term is added in
    /// one go among them, the first ones first.
    fn folded(&mut self, op: BinaryOp, terms: &[Node]) -> Option<Node> {
        let product =
            |node: &Node| matches!(self.points.nodes[*node].kind, Kind::Binary(BinaryOp::Mul, ..));
        let float = terms.iter().all(|term| self.points.nodes[*term].ty.is_float());
        if let [a, b, c, d] = *terms
            && float
            && !terms.iter().any(product)
        {
            let halves = [self.folded(op, &[a, b])?, self.folded(op, &[c, d])?];
            return self.folded(op, &halves);
        }
        let (first, rest) = terms.split_first()?;
        Some(rest.iter().fold(*first, |all, term| self.points.binary(op, all, *term, self.when)))
    }

    fn empty_reduction(&mut self, op: ReduceOp, ty: ScalarType, span: Span) -> Flat<Node> {
        let value = match op {
            ReduceOp::Sum | ReduceOp::Count => Scalar::zero(ty),
            ReduceOp::Prod => Scalar::one(ty),
            ReduceOp::Any => Scalar::Bool(false),
            ReduceOp::All => Scalar::Bool(true),
            ReduceOp::Max if ty.is_float() => Scalar::lowest(ty),
            ReduceOp::Min if ty.is_float() => Scalar::highest(ty),
            _ => return Err(declined("an extreme or mean of nothing", span)),
        };
        Ok(self.points.constant(value))
    }

    /// An accumulation; inside of a loop an array of sums.
    pub(crate) fn scatter(&mut self, scatter: &'p Scatter, e: &'p Expr) -> Flat<Val> {
        let ty = element_type(&e.ty, e.span)?;
        let inside = !self.loops.is_empty();
        if inside && matches!(ty, ScalarType::F16 | ScalarType::BF16 | ScalarType::U64) {
            return Err(declined("an accumulation inside a loop", e.span));
        }
        let mut shape = Vec::new();
        for size in &scatter.shape {
            shape.push(self.extent(size, e.span)?);
        }
        let extents = self.constants(&shape, e.span)?;
        let scope = self.enter();
        let mut binders = Vec::new();
        for binder in &scatter.binders {
            match self.open(binder)? {
                Some(binder) => binders.push(binder),
                None => {
                    self.leave(&scope);
                    let zero = self.points.constant(Scalar::zero(ty));
                    let kind = ArrayKind::Same(zero);
                    return Ok(Val::Array(Rc::new(Array { ty, shape, kind })));
                }
            }
        }
        let mut guard = self.items(&scatter.items)?;
        let at = self.positions(&scatter.indices, &shape)?;
        let mut value = self.scalar(&scatter.value)?;
        let bounds = binders.iter().flat_map(|(_, lo, hi)| [*lo, *hi]);
        let others = bounds.chain([value]).chain(guard).chain(at.iter().copied());
        let others: Vec<Node> = others.collect();
        let asked = guard.as_mut().unwrap_or(&mut value);
        *asked = self.discharge(scope.obliged, *asked, &others);
        self.leave(&scope);
        let points = crate::points::Scatter { binders, guard, at, value, op: BinaryOp::Add };
        if inside {
            return self.sums(points, ty, shape, e.span);
        }
        let body = Body::Scatter(points);
        let arr = self.define(None, ty, extents, e.span, body);
        let kind = ArrayKind::Stored(arr, Vec::new());
        Ok(Val::Array(Rc::new(Array { ty, shape, kind })))
    }
}

/// Takes away indices that have one position, unless none would be left.
fn without_single(
    points: &mut Points,
    binders: &mut Vec<(Ix, Node, Node)>,
    mut guard: Option<Node>,
    mut body: Node,
) -> (Option<Node>, Node) {
    let mut at = 0;
    while at < binders.len() && binders.len() > 1 {
        let (ix, lo, hi) = binders[at];
        let ends = points.as_int(lo).zip(points.as_int(hi));
        if ends.is_none_or(|(lo, hi)| lo.checked_add(1) != Some(hi)) {
            at += 1;
            continue;
        }
        binders.remove(at);
        let mut only = Subst::one(ix, lo);
        for (_, lo, hi) in &mut binders[at..] {
            *lo = only.apply(points, *lo);
            *hi = only.apply(points, *hi);
        }
        guard = guard.map(|guard| only.apply(points, guard));
        body = only.apply(points, body);
    }
    (guard, body)
}
