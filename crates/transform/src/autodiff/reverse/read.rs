//! Reads: views and array-valued expressions are looked through until a variable is read.

use super::{Done, Reverse, Seed, Step, compress, element, proved, unsupported};
use ein_base::Span;
use ein_ir::size;
use ein_ir::tensor::{Arm, Axis, Bounds, Expr, ExprKind, HostOp, IndexArg, Stmt, StmtKind, Type};
use ein_scalar::BinaryOp;

impl Reverse<'_, '_> {
    /// `base[indices]`, a number.
    pub(super) fn pull_read(
        &mut self,
        base: &Expr,
        indices: &[IndexArg],
        seed: Expr,
        span: Span,
    ) -> Done {
        if let ExprKind::Var(var) = &*base.kind {
            if base.ty.rank() != indices.len() {
                return unsupported("a part of an array");
            }
            let extents: Vec<size::Expr> =
                base.ty.axes().iter().map(|axis| axis.size.clone()).collect();
            let mut cell = Vec::new();
            for (index, extent) in indices.iter().zip(extents) {
                let value = self.prim(&index.value);
                // A negative literal counts from the end.
                let value = match &*value.kind {
                    ExprKind::Const(at) => match at.as_i64() {
                        Some(at) if at < 0 => Expr::size(extent.offset(at), span),
                        _ => value,
                    },
                    _ => value,
                };
                cell.push(IndexArg { value, bounds: index.bounds });
            }
            self.contribute(*var, &[], cell, seed);
            return Ok(());
        }
        if let Some((var, part)) = component(base) {
            let mut cell = Vec::new();
            for index in indices {
                cell.push(IndexArg { value: self.prim(&index.value), bounds: index.bounds });
            }
            self.contribute(var, &part, cell, seed);
            return Ok(());
        }
        let read = self.indexed(base, indices.to_vec(), span)?;
        self.pull(&read, seed, None)
    }

    /// The element of an array-valued expression, as a number.
    pub(super) fn indexed(&mut self, e: &Expr, at: Vec<IndexArg>, span: Span) -> Done<Expr> {
        let ty =
            Type::array(e.ty.elem().clone(), e.ty.axes().get(at.len()..).unwrap_or(&[]).to_vec());
        if at.is_empty() {
            return Ok(e.clone());
        }
        Ok(match &*e.kind {
            ExprKind::Var(_) => {
                Expr::new(ExprKind::Index { base: e.clone(), indices: at }, ty, span)
            }
            ExprKind::Index { base, indices } => {
                let all = indices.iter().cloned().chain(at).collect();
                self.indexed(base, all, span)?
            }
            ExprKind::Slice { base, axis, lo, .. } => {
                let mut at = at;
                let Some(index) = at.get_mut(*axis) else {
                    return unsupported("a part of a slice");
                };
                if let Some(lo) = lo {
                    let extent = base.ty.axes().get(*axis).map(|axis| axis.size.clone());
                    let lo = match &*lo.kind {
                        ExprKind::Const(value) if value.as_i64().is_some_and(|at| at < 0) => {
                            let at = value.as_i64().unwrap_or(0);
                            match extent {
                                Some(extent) => Expr::size(extent.offset(at), span),
                                None => return unsupported("a slice"),
                            }
                        }
                        _ => lo.clone(),
                    };
                    let lo = if lo.ty == Type::I32 {
                        lo
                    } else {
                        Expr::new(ExprKind::Cast(lo), Type::I32, span)
                    };
                    index.value = self.pass.arith(BinaryOp::Add, index.value.clone(), lo);
                }
                self.indexed(base, at, span)?
            }
            ExprKind::Permute { base, order } => {
                if at.len() != order.len() {
                    return unsupported("a part of a permuted array");
                }
                let mut moved = at.clone();
                for (index, axis) in at.into_iter().zip(order) {
                    moved[*axis] = index;
                }
                self.indexed(base, moved, span)?
            }
            ExprKind::Gather { base, axis, indices, .. } => {
                let mut at = at;
                let Some(index) = at.get_mut(*axis) else {
                    return unsupported("a part of a gather");
                };
                let place = self.indexed(indices, vec![proved(index.value.clone())], span)?;
                *index = IndexArg { value: place, bounds: Bounds::Checked };
                self.indexed(base, at, span)?
            }
            ExprKind::Join { axis, left, right } => {
                self.indexed_join(*axis, left, right, at, ty, span)?
            }
            ExprKind::Array(items) => self.indexed_array(items, at, ty, span)?,
            ExprKind::If { cond, then, otherwise } => {
                let then = self.indexed(then, at.clone(), span)?;
                let otherwise = self.indexed(otherwise, at, span)?;
                Expr::new(ExprKind::If { cond: cond.clone(), then, otherwise }, ty, span)
            }
            ExprKind::Block { stmts, value } => {
                let value = self.indexed(value, at, span)?;
                Expr::new(ExprKind::Block { stmts: stmts.clone(), value }, ty, span)
            }
            ExprKind::Match { value, arms } => {
                let mut read = Vec::new();
                for arm in arms {
                    let value = self.indexed(&arm.value, at.clone(), span)?;
                    read.push(Arm {
                        pattern: arm.pattern.clone(),
                        guard: arm.guard.clone(),
                        value,
                    });
                }
                Expr::new(ExprKind::Match { value: value.clone(), arms: read }, ty, span)
            }
            ExprKind::Assert { value, .. } => self.indexed(value, at, span)?,
            ExprKind::Host(HostOp::Convert, args) => match args.as_slice() {
                [inner] if inner.ty.is_array() && inner.ty.rank() == e.ty.rank() => {
                    let inner = self.indexed(inner, at, span)?;
                    Expr::new(ExprKind::Cast(inner), ty, span)
                }
                _ => return unsupported("a conversion"),
            },
            ExprKind::Host(HostOp::Reshape, args) => match args.as_slice() {
                [inner, _] if inner.ty.is_array() && e.ty.is_array() => {
                    self.indexed_reshape(inner, e, &at, span)?
                }
                _ => return unsupported("a reshape of unknown rank"),
            },
            // A value of its own: bound, then read.
            ExprKind::Tensor(_)
            | ExprKind::Scatter(_)
            | ExprKind::Comprehension { .. }
            | ExprKind::Call { .. }
            | ExprKind::CallValue { .. } => {
                let var = self.pass.local("$v", e.ty.clone(), span);
                let bound = Stmt { kind: StmtKind::Let(var, e.clone()), span };
                let base = self.pass.var(var, span);
                let value = Expr::new(ExprKind::Index { base, indices: at }, ty.clone(), span);
                Expr::new(ExprKind::Block { stmts: vec![bound], value }, ty, span)
            }
            ExprKind::TupleGet(..) | ExprKind::FieldGet(..) if component(e).is_some() => {
                Expr::new(ExprKind::Index { base: e.clone(), indices: at }, ty, span)
            }
            ExprKind::TupleGet(base, part) | ExprKind::FieldGet(base, part)
                if let Some(taken) = taken(base, *part, e) =>
            {
                self.indexed(&taken, at, span)?
            }
            // A part of a value of its own: that is bound, then its part is read.
            ExprKind::TupleGet(..) | ExprKind::FieldGet(..) => {
                let (bound, base) = self.bound_whole(e);
                let value = Expr::new(ExprKind::Index { base, indices: at }, ty.clone(), span);
                Expr::new(ExprKind::Block { stmts: vec![bound], value }, ty, span)
            }
            _ => return unsupported("a read of this value"),
        })
    }

    /// Binds what a part of parts is taken from; the binding, and the part of the variable.
    fn bound_whole(&mut self, e: &Expr) -> (Stmt, Expr) {
        let span = e.span;
        let (base, at, tuple) = match &*e.kind {
            ExprKind::TupleGet(base, at) => (base, *at, true),
            ExprKind::FieldGet(base, at) => (base, *at, false),
            _ => {
                let var = self.pass.local("$v", e.ty.clone(), span);
                let bound = Stmt { kind: StmtKind::Let(var, e.clone()), span };
                return (bound, self.pass.var(var, span));
            }
        };
        let (bound, base) = self.bound_whole(base);
        let kind = match tuple {
            true => ExprKind::TupleGet(base, at),
            false => ExprKind::FieldGet(base, at),
        };
        (bound, Expr::new(kind, e.ty.clone(), span))
    }

    fn indexed_join(
        &mut self,
        axis: usize,
        left: &Expr,
        right: &Expr,
        at: Vec<IndexArg>,
        ty: Type,
        span: Span,
    ) -> Done<Expr> {
        let Some(index) = at.get(axis).cloned() else { return unsupported("a part of a join") };
        let rank = at.len();
        // An operand with one axis less counts as one slice.
        let extent = if left.ty.rank() == rank {
            left.ty.axes()[axis].size.clone()
        } else {
            size::Expr::one()
        };
        let extent = Expr::size(extent, span);
        let pick = |it: &mut Self, operand: &Expr, place: Expr| {
            let mut at = at.clone();
            if operand.ty.rank() == rank {
                at[axis].value = place;
            } else {
                at.remove(axis);
            }
            it.indexed(operand, at, span)
        };
        let then = pick(self, left, index.value.clone())?;
        let place = self.pass.arith(BinaryOp::Sub, index.value.clone(), extent.clone());
        let otherwise = pick(self, right, place)?;
        let cond = Expr::new(ExprKind::Binary(BinaryOp::Lt, index.value, extent), Type::BOOL, span);
        Ok(Expr::new(ExprKind::If { cond, then, otherwise }, ty, span))
    }

    /// An element of an array that is written out: a choice between its items.
    fn indexed_array(
        &mut self,
        items: &[Expr],
        at: Vec<IndexArg>,
        ty: Type,
        span: Span,
    ) -> Done<Expr> {
        let Some((first, rest)) = at.split_first() else { return unsupported("a read") };
        if let ExprKind::Const(place) = &*first.value.kind
            && let Some(place) = place.as_i64()
        {
            let place = if place < 0 { place + items.len() as i64 } else { place };
            let item = usize::try_from(place).ok().and_then(|place| items.get(place));
            return match item {
                Some(item) => self.indexed(item, rest.to_vec(), span),
                None => unsupported("a read outside"),
            };
        }
        let mut result: Option<Expr> = None;
        for (place, item) in items.iter().enumerate().rev() {
            let item = self.indexed(item, rest.to_vec(), span)?;
            result = Some(match result {
                None => item,
                Some(otherwise) => {
                    let here = Expr::int(place as i64, span);
                    let test = ExprKind::Binary(BinaryOp::Eq, first.value.clone(), here);
                    let cond = Expr::new(test, Type::BOOL, span);
                    Expr::new(ExprKind::If { cond, then: item, otherwise }, ty.clone(), span)
                }
            });
        }
        match result {
            Some(result) => Ok(result),
            None => unsupported("an element of nothing"),
        }
    }

    /// The same element in the order of elements.
    fn indexed_reshape(
        &mut self,
        inner: &Expr,
        e: &Expr,
        at: &[IndexArg],
        span: Span,
    ) -> Done<Expr> {
        if at.len() != e.ty.rank() {
            return unsupported("a part of a reshape");
        }
        let mut place: Option<Expr> = None;
        for (index, axis) in at.iter().zip(e.ty.axes()) {
            place = Some(match place {
                None => index.value.clone(),
                Some(before) => {
                    let extent = Expr::size(axis.size.clone(), span);
                    let before = self.pass.arith(BinaryOp::Mul, before, extent);
                    self.pass.arith(BinaryOp::Add, before, index.value.clone())
                }
            });
        }
        let Some(mut place) = place else { return unsupported("a reshape") };
        let mut indices = Vec::new();
        let axes = inner.ty.axes().to_vec();
        for (number, axis) in axes.iter().enumerate().rev() {
            let extent = Expr::size(axis.size.clone(), span);
            let index = if number == 0 {
                place.clone()
            } else {
                self.pass.arith(BinaryOp::Rem, place.clone(), extent.clone())
            };
            indices.insert(0, proved(index));
            place = self.pass.arith(BinaryOp::Div, place, extent);
        }
        self.indexed(inner, indices, span)
    }

    // ---------------------------------------------------------------- arrays

    /// An array, with the cotangent of all of it in a variable.
    pub(super) fn pull_array(&mut self, e: &Expr, bar: Expr) -> Done {
        self.pull_array_owned(e, bar, None)
    }

    pub(super) fn pull_array_owned(&mut self, e: &Expr, bar: Expr, own: Option<Expr>) -> Done {
        if !self.depends(e) {
            return Ok(());
        }
        let mark = self.path.len();
        let done = self.pull_array_node(e, bar, own);
        self.path.truncate(mark);
        done
    }

    fn pull_array_node(&mut self, e: &Expr, bar: Expr, own: Option<Expr>) -> Done {
        let span = e.span;
        if matches!(&*e.kind, ExprKind::Tensor(_) | ExprKind::Comprehension { .. })
            && self.pull_outside(e, &Seed::Value(bar.clone()), own.as_ref())?
        {
            return Ok(());
        }
        match &*e.kind {
            ExprKind::Block { stmts, value } => {
                self.pull_block(stmts, value, Seed::Value(bar), own)
            }
            ExprKind::Call { .. } | ExprKind::CallValue { .. } => {
                self.pull_call(e, Seed::Value(bar), own)
            }
            ExprKind::If { cond, then, otherwise } => {
                let (yes, no) = self.branches(cond);
                let mark = self.path.len();
                self.push(Step::Guard(yes));
                self.pull_array_owned(then, bar.clone(), own.clone())?;
                self.path.truncate(mark);
                self.push(Step::Guard(no));
                self.pull_array_owned(otherwise, bar, own)
            }
            ExprKind::Match { value, arms } => {
                self.pull_match(value, arms, &Seed::Value(bar), own.as_ref())
            }
            ExprKind::Assert { value, .. } => self.pull_array_owned(value, bar, own),
            ExprKind::Tensor(tensor) => self.pull_tensor(tensor, e, bar, own),
            ExprKind::Comprehension { .. } => self.pull_comprehension(e, &bar),
            ExprKind::TupleGet(base, at) | ExprKind::FieldGet(base, at) => {
                self.pull_value(base, Seed::Parts(vec![(*at, Seed::Value(bar))]), None)
            }
            ExprKind::Scatter(_) => {
                let mut names = crate::autodiff::rename::Renaming::default();
                let copy = self.pass.freshened(e, &mut names);
                let ExprKind::Scatter(scatter) = *copy.kind else {
                    return unsupported("a scatter");
                };
                let mut bound = Vec::new();
                scatter.binders.into_iter().for_each(|binder| self.push(Step::Loop(binder)));
                self.items(&scatter.items, &mut bound);
                let indices = scatter.indices;
                let ty = bar.ty.elem().clone();
                let seed = Expr::new(ExprKind::Index { base: bar, indices }, ty, span);
                self.pull(&scatter.value, seed, None)?;
                self.settle_all(&bound)
            }
            ExprKind::Host(HostOp::Reshape, args)
                if self.path.is_empty()
                    && let [inner, _] = args.as_slice()
                    && inner.ty.is_array()
                    && !inner.ty.axes().iter().any(|axis| self.is_open(&axis.size)) =>
            {
                // What flows back has the shape of what was reshaped.
                let var = self.pass.local("$bar", inner.ty.clone(), span);
                let kind = StmtKind::Let(var, reshaped_as(bar, inner, span));
                self.out.push(Stmt { kind, span });
                let bar = self.pass.var(var, span);
                self.pull_array(inner, bar)
            }
            ExprKind::Host(HostOp::Compress, args)
                if self.path.is_empty()
                    && let [inner, mask] = args.as_slice()
                    && inner.ty.is_array()
                    && !inner.ty.axes().iter().any(|axis| self.is_open(&axis.size)) =>
            {
                let bar = compress::spread(self, inner, mask, bar, span)?;
                self.pull_array(inner, bar)
            }
            _ => {
                if !e.ty.is_array() {
                    return unsupported("an array whose rank is not known");
                }
                let mut at = Vec::new();
                for (axis, flowing) in e.ty.axes().iter().zip(bar.ty.axes()) {
                    // What flows back has extents that are known here.
                    let extent = if self.is_open(&axis.size) { &flowing.size } else { &axis.size };
                    at.push(self.full_loop(extent, span));
                }
                let read = self.indexed(e, at.iter().cloned().map(proved).collect(), span)?;
                let own = own.map(|own| element(own, &at, span));
                self.pull(&read, element(bar, &at, span), own)
            }
        }
    }
}

/// An array in the shape of another one.
fn reshaped_as(array: Expr, like: &Expr, span: Span) -> Expr {
    let axes = like.ty.axes();
    let sizes: Vec<Expr> = axes.iter().map(|it| Expr::size(it.size.clone(), span)).collect();
    let count = size::Expr::constant(sizes.len() as i64);
    let list = Type::array(Type::I32, vec![Axis { coord: None, size: count }]);
    let list = Expr::new(ExprKind::Array(sizes), list, span);
    Expr::new(ExprKind::Host(HostOp::Reshape, vec![array, list]), like.ty.clone(), span)
}

/// A component of a variable.
pub(super) fn component(e: &Expr) -> Option<(ein_ir::tensor::VarId, Vec<usize>)> {
    match &*e.kind {
        ExprKind::TupleGet(base, at) | ExprKind::FieldGet(base, at) => {
            if let ExprKind::Var(var) = &*base.kind {
                return Some((*var, vec![*at]));
            }
            let (var, mut part) = component(base)?;
            part.push(*at);
            Some((var, part))
        }
        _ => None,
    }
}

/// A part of what is written out beside it: `(x, w).0` is `x`, and `if c { (x, w) } else { (w, x) }.0`
/// is `if c { x } else { w }`. That the other parts can be computed the program itself has shown.
fn taken(whole: &Expr, part: usize, e: &Expr) -> Option<Expr> {
    let of = |inner: &Expr| {
        let base = inner.clone();
        let kind = match &*e.kind {
            ExprKind::FieldGet(..) => ExprKind::FieldGet(base, part),
            _ => ExprKind::TupleGet(base, part),
        };
        Expr::new(kind, e.ty.clone(), e.span)
    };
    let kind = match &*whole.kind {
        ExprKind::Tuple(items) | ExprKind::Make { fields: items, .. } => {
            return items.get(part).cloned();
        }
        ExprKind::Block { stmts, value } => {
            ExprKind::Block { stmts: stmts.clone(), value: of(value) }
        }
        ExprKind::If { cond, then, otherwise } => {
            ExprKind::If { cond: cond.clone(), then: of(then), otherwise: of(otherwise) }
        }
        ExprKind::Match { value, arms } => {
            let arm = |arm: &Arm| Arm { value: of(&arm.value), ..arm.clone() };
            ExprKind::Match { value: value.clone(), arms: arms.iter().map(arm).collect() }
        }
        ExprKind::TupleGet(outer, at) | ExprKind::FieldGet(outer, at) => {
            let outer = taken(outer, *at, whole)?;
            return Some(of(&outer));
        }
        _ => return None,
    };
    Some(Expr::new(kind, e.ty.clone(), e.span))
}
