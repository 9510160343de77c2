//! Expressions.

use super::array::{Array, ArrayKind, Row};
use super::extent::{Extent, fixed_shape};
use super::{Flat, Flatten, Val, again, declined, element_type};
use crate::points::{Kind, Node, Source};
use ein_base::Span;
use ein_ir::tensor::tail::put_together_again;
use ein_ir::tensor::{Expr, ExprKind, HostOp, IndexArg};
use ein_scalar::{BinaryOp, Scalar, UnaryOp};
use std::rc::Rc;

/// An array literal with more elements is left to the host.
const MAX_LITERAL: usize = 16;

impl<'p> Flatten<'p> {
    /// The value of an expression.
    pub(crate) fn expr(&mut self, e: &'p Expr) -> Flat<Val> {
        match &*e.kind {
            ExprKind::Const(value) => Ok(Val::Scalar(self.points.constant(*value))),
            ExprKind::Unit => Ok(Val::Unit),
            ExprKind::Var(var) => self.var(*var, e.span),
            ExprKind::Size(size) => {
                let node = self.size(size, e.span)?;
                let ty = element_type(&e.ty, e.span)?;
                // A cast would wrap; the evaluator says that it does not fit.
                let value = self.points.as_int(node).map(i128::from);
                if let (Some(value), Some((least, most))) = (value, ty.int_range())
                    && !(least..=most).contains(&value)
                {
                    return Err(declined("a size that does not fit its type", e.span));
                }
                Ok(Val::Scalar(self.points.narrow(node, ty, self.when)))
            }
            ExprKind::Unary(op, a) => {
                let a = self.scalar(a)?;
                Ok(Val::Scalar(self.points.unary(*op, a, self.when)))
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.scalar(a)?, self.scalar(b)?);
                if *op == BinaryOp::Pow && self.points.nodes[a].ty.is_int() {
                    return self.integer_power(a, b, e.span);
                }
                Ok(Val::Scalar(self.points.binary(*op, a, b, self.when)))
            }
            ExprKind::And(a, b) => self.short_circuit(a, b, true),
            ExprKind::Or(a, b) => self.short_circuit(a, b, false),
            ExprKind::Cast(a) => {
                let ty = element_type(&e.ty, e.span)?;
                let a = self.scalar(a)?;
                Ok(Val::Scalar(self.points.cast(a, ty)))
            }
            ExprKind::If { cond, then, otherwise } => self.choice(cond, then, otherwise, e.span),
            ExprKind::Block { stmts, value } => {
                if let Some(whole) = put_together_again(stmts, value) {
                    return self.expr(whole);
                }
                for stmt in stmts {
                    self.stmt(stmt)?;
                }
                self.expr(value)
            }
            ExprKind::Match { value, arms } => self.match_arms(value, arms, e.span),
            ExprKind::Tensor(tensor) => self.tensor(tensor, e),
            ExprKind::Reduce(reduce) => Ok(Val::Scalar(self.reduce(reduce, e)?)),
            ExprKind::Scatter(scatter) => self.scatter(scatter, e),
            ExprKind::Index { base, indices } => self.index(base, indices, e.span),
            ExprKind::Slice { base, axis, lo, hi } => {
                self.slice(base, *axis, lo.as_ref(), hi.as_ref(), e.span)
            }
            ExprKind::Gather { base, axis, indices, .. } => {
                let base = self.array_expr(base)?;
                let positions = self.array_expr(indices)?;
                if *axis >= base.shape.len() || positions.shape.len() != 1 {
                    return Err(declined("a gather of unknown shape", e.span));
                }
                self.constants(&base.shape, e.span)?;
                if base.shape[*axis].first == 0 {
                    return Err(declined("a read of an empty array", e.span));
                }
                let mut shape = base.shape.clone();
                shape[*axis] = positions.shape[0];
                let kind = ArrayKind::Gather(base.clone(), *axis, positions);
                // All positions are looked at, also if some elements are not.
                let gathered = Array { ty: base.ty, shape: shape.clone(), kind };
                let clause = self.cells(&gathered);
                self.place(None, base.ty, shape, vec![clause], e.span)
            }
            ExprKind::Permute { base, order } => {
                let base = self.array_expr(base)?;
                let shape = order.iter().map(|axis| base.shape[*axis]).collect();
                Ok(array(base.ty, shape, ArrayKind::Permute(base, order.clone())))
            }
            ExprKind::Join { axis, left, right } => self.join(*axis, left, right, e),
            ExprKind::Array(items) => self.literal(items, e),
            ExprKind::Tuple(items) => {
                let items: Flat<Vec<Val>> = items.iter().map(|item| self.expr(item)).collect();
                Ok(Val::Tuple(items?.into()))
            }
            ExprKind::TupleGet(tuple, at) => {
                let tuple = self.strict(tuple)?;
                match tuple {
                    Val::Tuple(items) => Ok(items[*at].clone()),
                    _ => Err(declined("a tuple that data decides", e.span)),
                }
            }
            ExprKind::Make { data, variant, fields } => {
                let fields: Flat<Vec<Val>> = fields.iter().map(|field| self.expr(field)).collect();
                Ok(Val::Data((*data, *variant), fields?.into()))
            }
            ExprKind::FieldGet(value, at) => {
                let value = self.strict(value)?;
                match value {
                    Val::Data(_, fields) => Ok(fields[*at].clone()),
                    _ => Err(declined("a struct that data decides", e.span)),
                }
            }
            ExprKind::Call { func, sizes, closure, args } => {
                self.call(*func, sizes, closure.as_ref(), args, e.span)
            }
            ExprKind::CallValue { callee, args } => self.call_value(callee, args, e.span),
            ExprKind::Closure { func, captures } => {
                let captures: Flat<Vec<Val>> = captures.iter().map(|c| self.expr(c)).collect();
                Ok(Val::Fn(*func, captures?.into()))
            }
            ExprKind::Specialise { value, func } => match self.expr(value)? {
                Val::Fn(_, captures) => Ok(Val::Fn(Some(*func), captures)),
                _ => Err(declined("a function that data decides", e.span)),
            },
            ExprKind::Range(..) => Err(declined("a range as a value", e.span)),
            ExprKind::Assert { value, extents, .. } => {
                let value = self.expr(value)?;
                let Val::Array(array) = &value else {
                    return Ok(value);
                };
                for (axis, extent) in extents.iter().enumerate() {
                    if let Some(extent) = extent
                        && self.extent(extent, e.span)? != array.shape[axis]
                    {
                        return Err(declined("an extent that is not the stated one", e.span));
                    }
                }
                if e.ty.scalar() != Some(array.ty) || e.ty.rank() != array.shape.len() {
                    return Err(declined("a conversion that the run decides", e.span));
                }
                Ok(value)
            }
            ExprKind::Host(op, args) => self.host(op, args, e),
            ExprKind::Str(text) => Ok(Val::Text(*text)),
            ExprKind::Comprehension { .. } => Err(declined("a comprehension", e.span)),
            ExprKind::Try(_) => Err(declined("`try`", e.span)),
            ExprKind::Derivative(_) => Err(declined("a derivative request", e.span)),
            ExprKind::Error => Err(declined("an error", e.span)),
        }
    }

    /// A number.
    pub(crate) fn scalar(&mut self, e: &'p Expr) -> Flat<Node> {
        let value = self.expr(e)?;
        self.number(value, e.span)
    }

    pub(crate) fn number(&mut self, value: Val, span: Span) -> Flat<Node> {
        match value {
            Val::Scalar(node) => Ok(node),
            Val::Array(array) if array.shape.is_empty() => Ok(self.element(&array, &[])),
            _ => Err(declined("something that is not a number", span)),
        }
    }

    /// An array.
    pub(crate) fn array_expr(&mut self, e: &'p Expr) -> Flat<Rc<Array>> {
        let value = self.expr(e)?;
        self.array(value, e.span)
    }

    pub(crate) fn array(&mut self, value: Val, span: Span) -> Flat<Rc<Array>> {
        match value {
            Val::Array(array) => Ok(array),
            Val::Scalar(node) => {
                let (ty, kind) = (self.points.nodes[node].ty, ArrayKind::Same(node));
                Ok(Rc::new(Array { ty, shape: Vec::new(), kind }))
            }
            _ => Err(declined("something that is not an array", span)),
        }
    }

    fn short_circuit(&mut self, a: &'p Expr, b: &'p Expr, and: bool) -> Flat<Val> {
        let a = self.scalar(a)?;
        if self.known_truth(a) == Some(!and) {
            return Ok(Val::Scalar(a));
        }
        let before = self.when;
        let reached = if and { a } else { self.points.unary(UnaryOp::Not, a, None) };
        self.when = self.points.both(before, Some(reached));
        let b = self.scalar(b);
        self.when = before;
        let op = if and { BinaryOp::And } else { BinaryOp::Or };
        Ok(Val::Scalar(self.points.binary(op, a, b?, None)))
    }

    fn choice(&mut self, cond: &'p Expr, then: &'p Expr, other: &'p Expr, span: Span) -> Flat<Val> {
        let mut cond = self.scalar(cond)?;
        // What decides between statements has to be known now, if it can be.
        if self.loops.is_empty() {
            cond = self.settle(cond);
        }
        match self.known_truth(cond) {
            Some(true) => return self.expr(then),
            Some(false) => return self.expr(other),
            None => {}
        }
        if let Some(side) = self.side_that_goes_on(cond, then, other) {
            return self.expr(side);
        }
        let before = self.when;
        self.when = self.points.both(before, Some(cond));
        let a = self.expr(then)?;
        let not = self.points.unary(UnaryOp::Not, cond, None);
        self.when = self.points.both(before, Some(not));
        let b = self.expr(other)?;
        self.when = before;
        self.merge(cond, a, b, span)
    }

    /// A condition over integers of outside, with their values taken as constants.
    fn settle(&mut self, cond: Node) -> Node {
        let fails = |node: &Node| matches!(self.points.nodes[*node].kind, Kind::Checked(..));
        if self.points.below(&[cond]).iter().any(fails) {
            return cond;
        }
        self.with_known_integers(cond).unwrap_or(cond)
    }

    /// A value over integers of outside, with their values taken as constants.
    pub(crate) fn with_known_integers(&mut self, of: Node) -> Option<Node> {
        let nodes = self.points.below(&[of]);
        let only_ints = nodes.iter().all(|node| match &self.points.nodes[*node].kind {
            Kind::Load(arr, at) => {
                let info = &self.points.arrs[*arr];
                at.is_empty()
                    && matches!(info.source, Source::Input(..))
                    && (info.ty.is_int() || info.ty.is_bool())
            }
            Kind::Reduce(_) | Kind::Clamp { .. } => false,
            _ => true,
        });
        if !only_ints {
            return None;
        }
        let mut values = rustc_hash::FxHashMap::default();
        for node in nodes {
            let value = match self.points.nodes[node].kind.clone() {
                Kind::Load(arr, _) => {
                    let value = self.assumed_value(arr)?;
                    self.points.constant(value)
                }
                Kind::Checked(op, a, b, when) => {
                    let when = when.map(|when| values[&when]);
                    self.points.binary(op, values[&a], values[&b], when)
                }
                Kind::Unary(op, a) => self.points.unary(op, values[&a], None),
                Kind::Binary(op, a, b) => self.points.binary(op, values[&a], values[&b], None),
                Kind::Cast(a) => {
                    let ty = self.points.nodes[node].ty;
                    self.points.cast(values[&a], ty)
                }
                Kind::Select(c, a, b) => self.points.select(values[&c], values[&a], values[&b]),
                _ => node,
            };
            values.insert(node, value);
        }
        values.get(&of).copied()
    }

    /// One value or another.
    pub(crate) fn merge(&mut self, cond: Node, a: Val, b: Val, span: Span) -> Flat<Val> {
        match (a, b) {
            (Val::Scalar(a), Val::Scalar(b)) => Ok(Val::Scalar(self.points.select(cond, a, b))),
            (Val::Unit, Val::Unit) => Ok(Val::Unit),
            (a @ Val::Turn(_), b) | (a, b @ Val::Turn(_)) => {
                again::merge_turns(self, cond, a, b, span)
            }
            (Val::Array(a), Val::Array(b)) if a.shape == b.shape && a.ty == b.ty => {
                let (ty, shape) = (a.ty, a.shape.clone());
                Ok(array(ty, shape, ArrayKind::Select(cond, a, b)))
            }
            (Val::Tuple(a), Val::Tuple(b)) if a.len() == b.len() => {
                let pairs = a.iter().zip(b.iter());
                let items: Flat<Vec<Val>> =
                    pairs.map(|(a, b)| self.merge(cond, a.clone(), b.clone(), span)).collect();
                Ok(Val::Tuple(items?.into()))
            }
            (Val::Data(v, a), Val::Data(w, b)) if v == w && a.len() == b.len() => {
                let pairs = a.iter().zip(b.iter());
                let items: Flat<Vec<Val>> =
                    pairs.map(|(a, b)| self.merge(cond, a.clone(), b.clone(), span)).collect();
                Ok(Val::Data(v, items?.into()))
            }
            _ => Err(declined("a choice between values of different shapes", span)),
        }
    }

    fn index(&mut self, base: &'p Expr, indices: &'p [IndexArg], span: Span) -> Flat<Val> {
        let base = self.array_expr(base)?;
        if indices.len() > base.shape.len() {
            return Err(declined("more indices than axes", span));
        }
        let at = self.positions(indices, &base.shape)?;
        if !matches!(base.kind, ArrayKind::Stored(..)) {
            // What is no array in memory may be the same at every position.
            for at in &at {
                self.oblige(&Val::Scalar(*at), span)?;
            }
        }
        if at.len() == base.shape.len() {
            return Ok(Val::Scalar(self.element(&base, &at)));
        }
        let shape = base.shape[at.len()..].to_vec();
        Ok(array(base.ty, shape, ArrayKind::Partial(base, at)))
    }

    fn slice(
        &mut self,
        base: &'p Expr,
        axis: usize,
        lo: Option<&'p Expr>,
        hi: Option<&'p Expr>,
        span: Span,
    ) -> Flat<Val> {
        let base = self.array_expr(base)?;
        let Some(extent) = base.shape.get(axis).copied() else {
            return Err(declined("an axis that is not there", span));
        };
        let mut bound = |bound: Option<&'p Expr>, absent: Extent| match bound {
            None => Ok(absent),
            Some(e) => {
                let node = self.scalar(e)?;
                let at = self.as_extent(node, e.span)?;
                let literal = matches!(&*e.kind, ExprKind::Const(_));
                Ok(if literal && at.first < 0 { at.plus(extent) } else { at })
            }
        };
        let (lo, hi) = (bound(lo, Extent::fixed(0))?, bound(hi, extent)?);
        if [lo, hi, extent].iter().any(|extent| extent.counted.is_some()) {
            return Err(declined("a part of steps that end when a condition holds", span));
        }
        let negative = |extent: Extent| self.span_of(extent).0 < 0;
        if [lo, hi, extent.minus(lo), extent.minus(hi)].into_iter().any(negative) {
            return Err(declined("a slice that is out of bounds", span));
        }
        let mut shape = base.shape.clone();
        shape[axis] = match hi.minus(lo) {
            length if !negative(length) => length,
            _ => return Err(declined("a slice whose end may be before its start", span)),
        };
        let lo = self.extent_node(lo);
        Ok(array(base.ty, shape, ArrayKind::Slice(base, axis, lo)))
    }

    fn join(&mut self, axis: usize, left: &'p Expr, right: &'p Expr, e: &'p Expr) -> Flat<Val> {
        let (a, b) = (self.array_expr(left)?, self.array_expr(right)?);
        let rank = e.ty.rank();
        let wide = |array: &Array| {
            let mut shape = array.shape.clone();
            if shape.len() + 1 == rank && axis <= shape.len() {
                shape.insert(axis, Extent::fixed(1));
            }
            shape
        };
        let (mut shape, other) = (wide(&a), wide(&b));
        let fits = shape.len() == rank
            && other.len() == rank
            && axis < rank
            && (0..rank).all(|at| at == axis || shape[at] == other[at])
            && a.ty == b.ty;
        if [shape.get(axis), other.get(axis)].into_iter().flatten().any(|it| it.counted.is_some()) {
            return Err(declined("steps that end when a condition holds, joined", e.span));
        }
        if !fits {
            return Err(declined("a join of arrays that do not fit", e.span));
        }
        shape[axis] = shape[axis].plus(other[axis]);
        Ok(array(a.ty, shape, ArrayKind::Join(axis, a, b)))
    }

    fn literal(&mut self, items: &'p [Expr], e: &'p Expr) -> Flat<Val> {
        let ty = element_type(&e.ty, e.span)?;
        if items.is_empty() || items.len() > MAX_LITERAL {
            return Err(declined("an array literal", e.span));
        }
        let mut rows = Vec::new();
        let mut inner: Option<Vec<Extent>> = None;
        for item in items {
            let value = self.expr(item)?;
            self.oblige(&value, item.span)?;
            let row = match value {
                Val::Scalar(node) => Row::Number(node),
                Val::Array(array) => Row::Array(array),
                _ => return Err(declined("an array of something else", item.span)),
            };
            let shape = match &row {
                Row::Number(_) => Vec::new(),
                Row::Array(array) => array.shape.clone(),
            };
            if inner.as_ref().is_some_and(|inner| *inner != shape) {
                return Err(declined("rows of different shapes", item.span));
            }
            inner = Some(shape);
            rows.push(row);
        }
        let mut shape = vec![Extent::fixed(rows.len() as i64)];
        shape.extend(inner.unwrap_or_default());
        Ok(array(ty, shape, ArrayKind::Rows(rows.into())))
    }

    fn host(&mut self, op: &'p HostOp, args: &'p [Expr], e: &'p Expr) -> Flat<Val> {
        match op {
            HostOp::Len => match self.strict(&args[0])? {
                Val::Array(array) if !array.shape.is_empty() => {
                    Ok(Val::Scalar(self.extent_node(array.shape[0])))
                }
                Val::Tuple(items) => Ok(Val::Scalar(self.points.int(items.len() as i64))),
                _ => Err(declined("the length of a value", e.span)),
            },
            HostOp::Equal => match (self.expr(&args[0])?, self.expr(&args[1])?) {
                (Val::Text(a), Val::Text(b)) => {
                    Ok(Val::Scalar(self.points.constant(Scalar::Bool(a == b))))
                }
                _ => Err(declined("a comparison of texts or structures", e.span)),
            },
            HostOp::ZerosLike => {
                let value = self.strict(&args[0])?;
                self.zeros_like(&value, e.span)
            }
            HostOp::Iota => {
                let n = self.scalar(&args[0])?;
                let n = self.constant_int(n, e.span)?;
                if n < 0 {
                    return Err(declined("a count that is negative", e.span));
                }
                let shape = vec![Extent::fixed(n)];
                Ok(array(element_type(&e.ty, e.span)?, shape, ArrayKind::Iota))
            }
            HostOp::Reshape => {
                let base = self.array_expr(&args[0])?;
                let wanted = self.array_expr(&args[1])?;
                let count = self.constants(&wanted.shape, e.span)?;
                if count.len() != 1 {
                    return Err(declined("a shape that is no list of extents", e.span));
                }
                let old = self.constants(&base.shape, e.span)?;
                let mut shape = Vec::new();
                for at in 0..count.first().copied().unwrap_or(0) {
                    let place = self.points.int(at);
                    let extent = self.element(&wanted, &[place]);
                    shape.push(self.constant_int(extent, e.span)?);
                }
                let elements = |shape: &[i64]| {
                    shape.iter().try_fold(1i64, |all, extent| all.checked_mul(*extent))
                };
                if elements(&shape).is_none()
                    || elements(&shape) != elements(&old)
                    || shape.iter().any(|extent| *extent < 0)
                {
                    return Err(declined("a shape with another number of elements", e.span));
                }
                Ok(array(base.ty, fixed_shape(&shape), ArrayKind::Reshape(base)))
            }
            // What holds for these shapes is no question; whatever else is the evaluator's to say.
            HostOp::Assert => match self.expr(&args[0])? {
                Val::Scalar(holds) if self.known_truth(holds) == Some(true) => Ok(Val::Unit),
                _ => Err(declined("an assertion", e.span)),
            },
            HostOp::Convert => {
                let ty = element_type(&e.ty, e.span)?;
                match self.expr(&args[0])? {
                    Val::Scalar(node) if e.ty.rank() == 0 => {
                        Ok(Val::Scalar(self.points.cast(node, ty)))
                    }
                    Val::Array(base) if e.ty.rank() == base.shape.len() => {
                        Ok(array(ty, base.shape.clone(), ArrayKind::Cast(base)))
                    }
                    _ => Err(declined("a conversion", e.span)),
                }
            }
            _ => Err(declined("a function of the run-time library", e.span)),
        }
    }

    fn zeros_like(&mut self, value: &Val, span: Span) -> Flat<Val> {
        match value {
            Val::Scalar(node) => {
                let ty = self.points.nodes[*node].ty;
                Ok(Val::Scalar(self.points.constant(Scalar::zero(ty))))
            }
            Val::Array(base) => {
                let zero = self.points.constant(Scalar::zero(base.ty));
                Ok(array(base.ty, base.shape.clone(), ArrayKind::Same(zero)))
            }
            Val::Tuple(items) => {
                let items: Flat<Vec<Val>> =
                    items.iter().map(|item| self.zeros_like(item, span)).collect();
                Ok(Val::Tuple(items?.into()))
            }
            Val::Data(made, items) => {
                let items: Flat<Vec<Val>> =
                    items.iter().map(|item| self.zeros_like(item, span)).collect();
                Ok(Val::Data(*made, items?.into()))
            }
            Val::Unit | Val::Text(_) | Val::Fn(..) | Val::Turn(_) => {
                Err(declined("zeros of a value", span))
            }
        }
    }
}

fn array(ty: ein_scalar::ScalarType, shape: Vec<Extent>, kind: ArrayKind) -> Val {
    Val::Array(Rc::new(Array { ty, shape, kind }))
}
