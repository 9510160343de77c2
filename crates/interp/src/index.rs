//! Reads, slices, gathers, permutations and joins.
//!
//! Every read is checked, also those that were proved.

use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::{Bounds, Expr, ExprKind, IndexArg, Type};
use ein_runtime::{Memory, Tensor};
use ein_scalar::{Scalar, cast};

use crate::array::{count, elem_type, elements};
use crate::machine::Machine;
use crate::stop::{BadRead, Stop, show_shape};
use crate::value::Value;

/// So many indices are kept on the stack.
const SHORT: usize = 4;

impl<'p> Machine<'p> {
    /// A read that gives an element.
    #[inline(never)]
    pub(crate) fn index_scalar(
        &mut self,
        e: &'p Expr,
        base: &'p Expr,
        indices: &'p [IndexArg],
    ) -> Result<Scalar, Stop> {
        if let ExprKind::Var(var) = &*base.kind
            && indices.len() <= SHORT
        {
            let mut at = [0; SHORT];
            for (at, arg) in at.iter_mut().zip(indices) {
                *at = self.int(&arg.value)?;
            }
            if let (Value::Tensor(tensor), Type::Array(_)) = (self.var(*var), &base.ty) {
                // A negative index becomes one that is too large.
                let place = at.map(|at| at as usize);
                if let Ok(element) = tensor.get(&place[..indices.len()]) {
                    return Ok(element);
                }
            }
            let value = self.var(*var).clone();
            let value = self.index_at(value, &at[..indices.len()], indices, base, e)?;
            return self.only_scalar(value, e.span);
        }
        let value = self.index(e, base, indices)?;
        self.only_scalar(value, e.span)
    }

    fn only_scalar(&self, value: Value, span: Span) -> Result<Scalar, Stop> {
        match value {
            Value::Scalar(element) => Ok(element),
            other => Err(self.expected(span, "a number", &other)),
        }
    }

    /// A read.
    #[inline(never)]
    pub(crate) fn index(
        &mut self,
        e: &'p Expr,
        base: &'p Expr,
        indices: &'p [IndexArg],
    ) -> Result<Value, Stop> {
        let value = self.eval(base)?;
        let mut at = Vec::with_capacity(indices.len());
        for arg in indices {
            at.push(self.int(&arg.value)?);
        }
        self.index_at(value, &at, indices, base, e)
    }

    #[inline(never)]
    fn index_at(
        &mut self,
        value: Value,
        at: &[i64],
        indices: &'p [IndexArg],
        base: &'p Expr,
        e: &'p Expr,
    ) -> Result<Value, Stop> {
        if let Value::Pending(id) = value {
            return self.pending_index(id, at, indices, base, e);
        }
        if let Value::History(id) = value {
            return self.history_index(id, at, indices, base, e);
        }
        let value = self.index_rest(value, at, 0, indices, base, e.span)?;
        match (value, &base.ty, e.ty.scalar()) {
            // The file that a value of any rank came from may have had another element type.
            (Value::Scalar(element), Type::AnyRank(_), Some(ty)) => {
                Ok(Value::Scalar(cast(element, ty)))
            }
            (value, _, _) => Ok(value),
        }
    }

    /// Reads along the leading axes of `value`, which are the axes of `base` from `first` on.
    pub(crate) fn index_rest(
        &self,
        mut value: Value,
        at: &[i64],
        first: usize,
        indices: &'p [IndexArg],
        base: &'p Expr,
        span: Span,
    ) -> Result<Value, Stop> {
        for (axis, at) in (first..).zip(at) {
            let Some(extent) = self.length(&value) else {
                let rank = axis;
                let message = format!(
                    "{} indices into an array of rank {rank}",
                    first + at_len(indices, first)
                );
                return Err(self.fail(Code::E0804, span, message));
            };
            let place = self.in_bounds(*at, extent as usize, axis, indices, base, span)?;
            value = self.nth(&value, place as i64, span)?;
        }
        Ok(value)
    }

    /// An index as a position, if it is inside the extent.
    pub(crate) fn in_bounds(
        &self,
        at: i64,
        extent: usize,
        axis: usize,
        indices: &'p [IndexArg],
        base: &'p Expr,
        span: Span,
    ) -> Result<usize, Stop> {
        if at >= 0 && (at as u64) < extent as u64 {
            return Ok(at as usize);
        }
        Err(self.out_of_bounds(&BadRead {
            name: self.name_of(base),
            coord: base.ty.axes().get(axis).and_then(|axis| axis.coord).map(|coord| coord.name),
            axis,
            index: i128::from(at),
            extent,
            span,
            proved: indices.get(axis).is_some_and(|arg| arg.bounds == Bounds::Proved),
        }))
    }

    /// What the reader calls an array; nothing for what the compiler named itself.
    pub(crate) fn name_of(&self, e: &Expr) -> Option<Symbol> {
        match &*e.kind {
            ExprKind::Var(var) => {
                Some(self.program.vars[*var].name).filter(|name| !name.as_str().starts_with('$'))
            }
            ExprKind::Index { base, .. }
            | ExprKind::Slice { base, .. }
            | ExprKind::Permute { base, .. } => self.name_of(base),
            _ => None,
        }
    }

    /// The element or row with this number, which is in bounds.
    pub(crate) fn nth(&self, value: &Value, at: i64, span: Span) -> Result<Value, Stop> {
        let place = at.max(0) as usize;
        match value {
            Value::Tensor(tensor) => match tensor.index(0, place) {
                Ok(row) => Ok(Value::tensor(row)),
                Err(error) => Err(self.malformed(span, error)),
            },
            Value::Objects(objects) => {
                let shape = objects.shape[1..].to_vec();
                let count = count(&shape);
                Ok(Value::objects(shape, objects.items[place * count..][..count].to_vec()))
            }
            Value::Jagged(items) | Value::Tuple(items) if place < items.len() => {
                Ok(items[place].clone())
            }
            Value::Str(text) => match text.chars().nth(place) {
                Some(letter) => Ok(Value::str(letter)),
                None => Err(self.malformed(span, "a character that is not there")),
            },
            Value::Range(range) => self.index_value(range.0 + at, span),
            other => Err(self.expected(span, "an array", other)),
        }
    }

    /// A range along one axis.
    #[inline(never)]
    pub(crate) fn slice(
        &mut self,
        e: &'p Expr,
        base: &'p Expr,
        axis: usize,
        lo: Option<&'p Expr>,
        hi: Option<&'p Expr>,
    ) -> Result<Value, Stop> {
        let value = self.eval(base)?;
        let extent = match &value {
            Value::Pending(id) => {
                let pending = self.pending.get(*id as usize);
                pending.and_then(|pending| pending.full_shape().get(axis).copied())
            }
            Value::Str(_) | Value::Jagged(_) if axis == 0 => {
                self.length(&value).map(|n| n as usize)
            }
            value => value.shape().get(axis).copied(),
        };
        let Some(extent) = extent else {
            return Err(self.fail(
                Code::E0804,
                e.span,
                format!("there is no axis {axis} to slice"),
            ));
        };
        let lo = match lo {
            Some(lo) => self.int(lo)?,
            None => 0,
        };
        let hi = match hi {
            Some(hi) => self.int(hi)?,
            None => extent as i64,
        };
        if lo < 0 || hi < 0 || lo > extent as i64 || hi > extent as i64 {
            let whose =
                self.name_of(base).map_or("the array".to_owned(), |name| format!("`{name}`"));
            let message = format!(
                "the slice {lo}..{hi} is out of bounds for {whose}: axis {axis} has extent {extent}"
            );
            return Err(self.fail(Code::E0801, e.span, message));
        }
        // Its extent is the difference, which its type says.
        if hi < lo {
            let message = format!("the slice {lo}..{hi} ends before it begins");
            return Err(self.fail(Code::E0801, e.span, message));
        }
        let (lo, hi) = (lo as usize, hi as usize);
        match value {
            Value::Pending(id) => self.pending_slice(id, axis, lo, hi, e.span),
            value => self.cut(&value, axis, lo, hi, e.span),
        }
    }

    /// The positions `lo..hi` along an axis, which are there.
    pub(crate) fn cut(
        &self,
        value: &Value,
        axis: usize,
        lo: usize,
        hi: usize,
        span: Span,
    ) -> Result<Value, Stop> {
        match value {
            Value::Tensor(tensor) => match tensor.slice(axis, lo, hi) {
                Ok(part) => Ok(Value::tensor(part)),
                Err(error) => Err(self.malformed(span, error)),
            },
            Value::Str(text) => {
                Ok(Value::str(text.chars().skip(lo).take(hi - lo).collect::<String>()))
            }
            Value::Jagged(items) => Ok(Value::Jagged(items[lo..hi].to_vec().into())),
            value => self.take_positions(value, axis, lo..hi, hi - lo, span),
        }
    }

    /// The given positions along an axis, which are there: a copy.
    pub(crate) fn take_positions(
        &self,
        value: &Value,
        axis: usize,
        positions: impl Iterator<Item = usize> + Clone,
        kept: usize,
        span: Span,
    ) -> Result<Value, Stop> {
        let mut shape = value.shape().to_vec();
        if axis >= shape.len() {
            return Err(self.expected(span, "an array", value));
        }
        let (before, extent) = (count(&shape[..axis]), shape[axis]);
        let block = count(&shape[axis + 1..]);
        shape[axis] = kept;
        if count(&shape) == 0 {
            return self.array_of(&elem_type(value), shape, [], span);
        }
        let items = elements(value);
        let rows = (0..before).flat_map(|row| positions.clone().map(move |at| row * extent + at));
        let items = rows.flat_map(|row| items[row * block..(row + 1) * block].iter().cloned());
        self.array_of(&elem_type(value), shape, items, span)
    }

    /// The positions that an array names.
    #[inline(never)]
    pub(crate) fn gather(
        &mut self,
        e: &'p Expr,
        base: &'p Expr,
        axis: usize,
        indices: &'p Expr,
        name: Option<Symbol>,
    ) -> Result<Value, Stop> {
        let value = self.eval(base)?;
        let value = self.settle(value, base.span)?;
        let wanted = self.eval(indices)?;
        let wanted = self.settle(wanted, indices.span)?;
        let Some(extent) = value.shape().get(axis).copied() else {
            return Err(self.fail(
                Code::E0804,
                e.span,
                format!("there is no axis {axis} to gather"),
            ));
        };
        let mut positions = Vec::new();
        for position in elements(&wanted) {
            let Some(index) = position.as_scalar().and_then(Scalar::as_i128) else {
                return Err(self.expected(indices.span, "an integer", &position));
            };
            if index < 0 || index >= extent as i128 {
                let axis_coord = base.ty.axes().get(axis).and_then(|axis| axis.coord);
                return Err(self.out_of_bounds(&BadRead {
                    name: name.or_else(|| self.name_of(base)),
                    coord: axis_coord.map(|coord| coord.name),
                    axis,
                    index,
                    extent,
                    span: e.span,
                    proved: false,
                }));
            }
            positions.push(index as usize);
        }
        let count = positions.len();
        self.take_positions(&value, axis, positions.iter().copied(), count, e.span)
    }

    /// The axes in another order.
    #[inline(never)]
    pub(crate) fn permute(
        &mut self,
        e: &'p Expr,
        base: &'p Expr,
        order: &'p [usize],
    ) -> Result<Value, Stop> {
        let value = self.eval(base)?;
        let value = self.settle(value, base.span)?;
        let rank = value.shape().len();
        if order.len() != rank || (0..rank).any(|axis| !order.contains(&axis)) {
            return Err(self.malformed(e.span, format_args!("the order {order:?} of {rank} axes")));
        }
        match &value {
            Value::Tensor(tensor) => match tensor.permute(order) {
                Ok(view) => Ok(Value::tensor(view)),
                Err(error) => Err(self.malformed(e.span, error)),
            },
            Value::Objects(objects) => {
                let shape: Vec<usize> = order.iter().map(|axis| objects.shape[*axis]).collect();
                let count = count(&shape);
                let items = (0..count).map(|at| {
                    let index = crate::array::unravel(at, &shape);
                    let mut from = vec![0; rank];
                    order.iter().zip(index).for_each(|(axis, at)| from[*axis] = at);
                    let place =
                        from.iter().zip(&objects.shape).fold(0, |place, (at, n)| place * n + at);
                    objects.items[place].clone()
                });
                Ok(Value::objects(shape.clone(), items.collect()))
            }
            other => Ok(other.clone()),
        }
    }

    /// Two arrays end to end.
    #[inline(never)]
    pub(crate) fn join(
        &mut self,
        e: &'p Expr,
        axis: usize,
        left: &'p Expr,
        right: &'p Expr,
    ) -> Result<Value, Stop> {
        let a = self.eval(left)?;
        let a = self.settle(a, left.span)?;
        let b = self.eval(right)?;
        let b = self.settle(b, right.span)?;
        let rank = match &e.ty {
            Type::Array(array) => array.axes.len(),
            _ => a.shape().len().max(b.shape().len()),
        };
        let wide = |value: &Value| {
            let mut shape = value.shape().to_vec();
            if shape.len() + 1 == rank && axis <= shape.len() {
                shape.insert(axis, 1);
            }
            shape
        };
        let (left_shape, right_shape) = (wide(&a), wide(&b));
        let fits = left_shape.len() == rank
            && right_shape.len() == rank
            && axis < rank
            && (0..rank).all(|other| other == axis || left_shape[other] == right_shape[other]);
        if !fits {
            let (a, b) = (show_shape(a.shape()), show_shape(b.shape()));
            let message =
                format!("arrays of shapes {a} and {b} cannot be joined along axis {axis}");
            return Err(self.fail(Code::E0804, e.span, message));
        }
        let memory = &self.options.memory;
        let (x, y) = (numbers(memory, &a, &left_shape), numbers(memory, &b, &right_shape));
        if let (Some(x), Some(y)) = (x, y)
            && let Ok(joined) = Tensor::concat(axis, &[x, y])
        {
            return Ok(Value::tensor(joined));
        }
        let rows = count(&left_shape[..axis]);
        let (m, n) = (count(&left_shape[axis..]), count(&right_shape[axis..]));
        let mut shape = left_shape;
        shape[axis] += right_shape[axis];
        let (x, y) = (elements(&a), elements(&b));
        let rows = if m + n == 0 { 0 } else { rows };
        let part = |items: &[Value], row: usize, size: usize| items[row * size..][..size].to_vec();
        let items = (0..rows).flat_map(|row| [part(&x, row, m), part(&y, row, n)]).flatten();
        let elem = match e.ty.elem() {
            Type::Scalar(ty) => Type::Scalar(*ty),
            _ => elem_type(if x.is_empty() { &b } else { &a }),
        };
        self.array_of(&elem, shape, items, e.span)
    }
}

/// Numbers in a shape that they fill, to be copied at once.
fn numbers(memory: &Memory, value: &Value, shape: &[usize]) -> Option<Tensor> {
    match value {
        Value::Tensor(tensor) => tensor.reshape(shape).ok(),
        Value::Scalar(scalar) => {
            let mut one = memory.zeros(scalar.ty(), shape).ok()?;
            one.set(&vec![0; shape.len()], *scalar).ok()?;
            Some(one)
        }
        Value::Unit
        | Value::Str(_)
        | Value::Objects(_)
        | Value::Jagged(_)
        | Value::Tuple(_)
        | Value::Data(_)
        | Value::Closure(_)
        | Value::Range(_)
        | Value::Pending(_)
        | Value::History(_) => None,
    }
}

/// How many indices there are from `first` on.
fn at_len(indices: &[IndexArg], first: usize) -> usize {
    indices.len().saturating_sub(first)
}
