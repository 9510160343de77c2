//! What the run-time library does for a program: printing, assertions, texts, shapes, inputs.
//!
//! Arguments: `Contains(item, container)`, `Repeat(text, times)`, `CharAt(text, index)`,
//! `ElementAt(array, index)`, `ArrayAppend(array, element)`, `Reshape(array, shape)`,
//! `Compress(array, mask)`, `Iota(n)` or `Iota(shape)`.

use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::{Expr, HostOp, Type};
use ein_scalar::Scalar;

use crate::array::{elem_type, elements, unravel};
use crate::machine::Machine;
use crate::stop::{BadRead, Stop, show_shape};
use crate::text::equal;
use crate::value::{Closure, Value};

impl<'p> Machine<'p> {
    /// Evaluates the arguments and does it.
    #[inline(never)]
    pub(crate) fn host_op(
        &mut self,
        op: &'p HostOp,
        args: &'p [Expr],
        e: &'p Expr,
    ) -> Result<Value, Stop> {
        if let (HostOp::Assert, [condition, message @ ..]) = (op, args) {
            return self.assertion(condition, message.first(), e.span);
        }
        let mut values = self.eval_all(args)?;
        for (value, arg) in values.iter_mut().zip(args) {
            let shape_is_enough = matches!(op, HostOp::Len | HostOp::Shape);
            if let (Value::Pending(_), false) = (&*value, shape_is_enough) {
                *value = self.settle(value.clone(), arg.span)?;
            }
        }
        let span = e.span;
        match (op, values.as_slice()) {
            (HostOp::Print, values) => {
                let parts: Vec<String> =
                    values.iter().map(|value| crate::display(value, self.program)).collect();
                self.host.print(&parts.join(" "));
                Ok(Value::Unit)
            }
            (HostOp::Format(specs), values) => self.format_all(values, specs, span),
            (HostOp::Len, [value]) => match self.length(value) {
                Some(length) => self.index_value(length, span),
                None => Err(self.expected(span, "something that has a length", value)),
            },
            (HostOp::Shape, [value]) => {
                let shape = match value {
                    Value::Pending(id) => {
                        let pending = self.pending.get(*id as usize);
                        pending.map(|it| it.full_shape().to_vec()).unwrap_or_default()
                    }
                    Value::Jagged(rows) => vec![rows.len()],
                    value => value.shape().to_vec(),
                };
                self.ints(shape.into_iter().map(|extent| extent as i64), span)
            }
            (HostOp::Equal, [a, b]) => Ok(equal(a, b).into()),
            (HostOp::Compare, [Value::Str(a), Value::Str(b)]) => {
                Ok(Value::Scalar(Scalar::I32(a.cmp(b) as i32)))
            }
            (HostOp::Concat, values) => self.format_all(values, &[], span),
            (HostOp::Repeat, [Value::Str(text), times]) => {
                let times = self.count_of(times, span)?;
                self.repeat(text, times, span)
            }
            (HostOp::CharAt | HostOp::ElementAt, [value, index]) => {
                self.element_at(value, index, args, span)
            }
            (HostOp::Contains, [item, container]) => {
                Ok(self.contains(item, container, span)?.into())
            }
            (HostOp::ArrayAppend, [array, item]) => self.array_append(array, item, e),
            (HostOp::Input(name), _) => self.input(*name, e),
            (HostOp::Reshape, [value, shape]) => self.reshape(value, shape, span),
            (HostOp::Compress, [value, mask]) => self.compress(value, mask, span),
            (HostOp::Iota, [count]) => self.iota(count, span),
            (HostOp::Convert, [value]) => {
                let name = self.name_of(&args[0]).map_or(String::new(), |name| format!("`{name}`"));
                self.convert(value.clone(), &e.ty, &name, span)
            }
            (HostOp::ZerosLike, [value]) => Ok(self.zeros_like(value, span)?),
            (HostOp::MergeClosures, [Value::Closure(a), Value::Closure(b)]) => {
                let captures = a.captures.iter().chain(&b.captures).cloned().collect();
                Ok(Value::Closure(std::sync::Arc::new(Closure { func: a.func, captures })))
            }
            (HostOp::Io(op), values) => self.file_op(*op, values, e),
            (HostOp::Plain(op), values) => self.plain_op(*op, values, e),
            (HostOp::Python(path), values) => self.python(*path, values, e),
            (op, values) => {
                let kinds: Vec<&str> = values.iter().map(Value::kind).collect();
                Err(self.malformed(span, format_args!("{op:?} of {}", kinds.join(", "))))
            }
        }
    }

    /// `assert`; the message is computed only if it is needed.
    fn assertion(
        &mut self,
        condition: &'p Expr,
        message: Option<&'p Expr>,
        span: Span,
    ) -> Result<Value, Stop> {
        let value = self.eval(condition)?;
        let value = self.settle(value, condition.span)?;
        if self.holds(&value, condition.span)? {
            return Ok(Value::Unit);
        }
        let mut text = "assertion failed".to_owned();
        if let Some(message) = message {
            let message = self.eval(message)?;
            text = format!("{text}: {}", crate::display(&message, self.program));
        }
        let stop = self.fail(Code::E0806, span, text);
        let Stop::Error(mut diagnostic) = stop else { return Err(stop) };
        let fails = |item: &Value| item.as_scalar() == Some(Scalar::Bool(false));
        if !value.shape().is_empty()
            && let Some(at) = elements(&value).iter().position(fails)
        {
            let index = unravel(at, value.shape());
            diagnostic.notes.push(format!("it does not hold at {}", show_shape(&index)));
        }
        Err(Stop::Error(diagnostic))
    }

    fn count_of(&self, value: &Value, span: Span) -> Result<i64, Stop> {
        match value.as_scalar().and_then(Scalar::as_i64) {
            Some(count) => Ok(count),
            // Larger than any extent.
            None => match value.as_scalar().and_then(Scalar::as_i128) {
                Some(count) => Err(self.too_large(span, count, "i32")),
                None => Err(self.expected(span, "an integer", value)),
            },
        }
    }

    fn element_at(
        &mut self,
        value: &Value,
        index: &Value,
        args: &'p [Expr],
        span: Span,
    ) -> Result<Value, Stop> {
        let Some(extent) = self.length(value) else {
            return Err(self.expected(span, "an array or a text", value));
        };
        let at = self.count_of(index, span)?;
        if (0..extent).contains(&at) {
            return self.nth(value, at, span);
        }
        Err(self.out_of_bounds(&BadRead {
            name: self.name_of(&args[0]),
            coord: None,
            axis: 0,
            index: i128::from(at),
            extent: extent as usize,
            span,
            proved: false,
        }))
    }

    /// An array with one more element or row.
    fn array_append(&mut self, array: &Value, item: &Value, e: &'p Expr) -> Result<Value, Stop> {
        if let Value::Jagged(rows) = array {
            let mut rows = rows.to_vec();
            rows.push(item.clone());
            return Ok(Value::Jagged(rows.into()));
        }
        let shape = array.shape();
        let fits = !shape.is_empty() && (shape[0] == 0 || shape[1..] == *item.shape());
        if !fits {
            let (a, b) = (show_shape(shape), show_shape(item.shape()));
            let message = format!("an element of shape {b} cannot be appended to shape {a}");
            return Err(self.fail(Code::E0804, e.span, message));
        }
        let mut longer = vec![shape[0] + 1];
        longer.extend(item.shape());
        let items = elements(array).into_iter().chain(elements(item));
        let elem = match e.ty.elem() {
            Type::Scalar(ty) => Type::Scalar(*ty),
            _ => elem_type(item),
        };
        self.array_of(&elem, longer, items, e.span)
    }

    /// The rows for which the mask holds.
    fn compress(&mut self, value: &Value, mask: &Value, span: Span) -> Result<Value, Stop> {
        let mask = elements(mask);
        let extent = self.length(value).unwrap_or(0) as usize;
        if mask.len() != extent {
            let message = format!("a mask of {} for {extent} elements", mask.len());
            return Err(self.fail(Code::E0804, span, message));
        }
        let holds = |at: &usize| mask[*at].as_scalar() == Some(Scalar::Bool(true));
        let kept: Vec<usize> = (0..extent).filter(holds).collect();
        if let Value::Jagged(rows) = value {
            let rows: Vec<Value> = kept.iter().map(|at| rows[*at].clone()).collect();
            return Ok(Value::Jagged(rows.into()));
        }
        self.take_positions(value, 0, kept.iter().copied(), kept.len(), span)
    }

    /// `0, 1, …`, in a shape if one is given.
    fn iota(&mut self, count: &Value, span: Span) -> Result<Value, Stop> {
        let mut shape = Vec::new();
        for extent in elements(count) {
            let extent = self.count_of(&extent, span)?;
            if extent < 0 {
                let message = format!("`iota` of {extent}: a count cannot be negative");
                return Err(self.fail(Code::E0809, span, message));
            }
            shape.push(extent as usize);
        }
        let mut cells = self.cells(&Type::I32, &shape, None, span)?;
        for at in 0..crate::array::count(&shape) {
            self.tick()?;
            let value = self.index_value(at as i64, span)?;
            if let Err(value) = cells.set(at, value) {
                return Err(self.expected(span, "an integer", &value));
            }
        }
        Ok(cells.finish(shape))
    }

    /// A value from outside, held to the type it was declared with.
    fn input(&mut self, name: Symbol, e: &'p Expr) -> Result<Value, Stop> {
        let value = match self.host.input(name, &e.ty) {
            Ok(value) => value,
            Err(error) => return Err(self.fail(error.code, e.span, error.message)),
        };
        let wanted = match &e.ty {
            Type::AnyRank(elem) => elem,
            ty => ty.elem(),
        };
        let has = elem_type(&value);
        if let Type::Scalar(ty) = wanted
            && has != *wanted
        {
            let has = match has {
                Type::Scalar(has) => format!("`{has}`"),
                _ => value.kind().to_owned(),
            };
            let message = format!("the input `{name}` has elements of type {has}, not `{ty}`");
            return Err(self.fail(Code::E0904, e.span, message));
        }
        if let Type::Str = &e.ty
            && value.as_str().is_none()
        {
            let message = format!("the input `{name}` is {}, not a text", value.kind());
            return Err(self.fail(Code::E0904, e.span, message));
        }
        let known = self.static_extents(&e.ty);
        let shape = value.shape();
        let fits = matches!(e.ty, Type::AnyRank(_))
            || known.len() == shape.len()
                && known.iter().zip(shape).all(|(known, own)| known.is_none_or(|n| n == *own));
        if fits {
            return Ok(value);
        }
        let unknown = |extent: &Option<usize>| extent.map_or("?".to_owned(), |n| n.to_string());
        let known: Vec<String> = known.iter().map(unknown).collect();
        let (own, known) = (show_shape(shape), show_shape(&known));
        let message = format!("the input `{name}` has shape {own}, not {known}");
        Err(self.fail(Code::E0905, e.span, message))
    }
}
