//! Conversions of whole values, and the checks where a value of unknown shape gets a type.

use ein_base::{Code, Span};
use ein_ir::size;
use ein_ir::tensor::{Expr, Type};
use ein_runtime::TensorError;
use ein_scalar::{ScalarType, cast};

use crate::array::elements;
use crate::machine::Machine;
use crate::stop::{Stop, show_shape};
use crate::value::Value;

impl<'p> Machine<'p> {
    /// A value at the boundary to a type with known rank, element type or extents.
    #[inline(never)]
    pub(crate) fn assert_type(
        &mut self,
        value: Value,
        extents: &'p [Option<size::Expr>],
        what: &str,
        e: &'p Expr,
    ) -> Result<Value, Stop> {
        let value = self.settle(value, e.span)?;
        let value = self.convert(value, &e.ty, what, e.span)?;
        let mut stated = Vec::new();
        for extent in extents {
            stated.push(match extent {
                Some(extent) => Some(self.size(extent, e.span)?),
                None => None,
            });
        }
        let shape = value.shape();
        let fits = stated.is_empty()
            || stated.len() == shape.len()
                && stated.iter().zip(shape).all(|(stated, own)| {
                    stated.is_none_or(|stated| usize::try_from(stated) == Ok(*own))
                });
        if fits {
            return Ok(value);
        }
        let unknown = |extent: &Option<i64>| extent.map_or("?".to_owned(), |n| n.to_string());
        let stated: Vec<String> = stated.iter().map(unknown).collect();
        Err(self.wrong_shape(what, shape, &show_shape(&stated), e.span))
    }

    #[cold]
    fn wrong_shape(&self, what: &str, shape: &[usize], stated: &str, span: Span) -> Stop {
        let own = show_shape(shape);
        let message = format!("{} has shape {own}, not {stated}", subject(what));
        self.fail(Code::E0804, span, message)
    }

    /// A value as a value of another type: elements converted, jagged rows made rectangular.
    #[inline(never)]
    pub(crate) fn convert(
        &mut self,
        value: Value,
        ty: &Type,
        what: &str,
        span: Span,
    ) -> Result<Value, Stop> {
        match (ty, value) {
            (Type::Scalar(ty), Value::Scalar(scalar)) => Ok(Value::Scalar(cast(scalar, *ty))),
            (Type::Scalar(ty), value @ (Value::Tensor(_) | Value::Objects(_))) => {
                Err(self.wrong_shape(what, value.shape(), &format!("one `{ty}`"), span))
            }
            (Type::Array(array), value) => {
                let value = self.rectangular(value, &array.elem, array.axes.len(), span)?;
                if value.shape().len() != array.axes.len() {
                    let stated = format!("{} axes", array.axes.len());
                    return Err(self.wrong_shape(what, value.shape(), &stated, span));
                }
                self.convert_elements(value, &array.elem, span)
            }
            (Type::AnyRank(elem), value) => {
                let value = self.rectangular(value, elem, usize::MAX, span)?;
                self.convert_elements(value, elem, span)
            }
            (Type::Jagged(elem, levels), value) => self.jagged(value, elem, *levels, span),
            (Type::Tuple(types), Value::Tuple(items)) if types.len() == items.len() => {
                let mut converted = Vec::with_capacity(items.len());
                for (ty, item) in types.iter().zip(items.iter()) {
                    converted.push(self.convert(item.clone(), ty, what, span)?);
                }
                Ok(Value::tuple(converted))
            }
            (Type::Str, value @ Value::Str(_)) => Ok(value),
            (Type::Str, value) => Ok(Value::str(crate::display(&value, self.program))),
            (_, value) => Ok(value),
        }
    }

    /// Jagged rows and ranges as rectangular arrays of at most `rank` axes.
    fn rectangular(
        &mut self,
        value: Value,
        elem: &Type,
        rank: usize,
        span: Span,
    ) -> Result<Value, Stop> {
        match value {
            Value::Range(range) => {
                let values: Vec<i64> = (range.0..range.1).collect();
                self.ints(values.into_iter(), span)
            }
            Value::Jagged(rows) => {
                let mut items = Vec::with_capacity(rows.len());
                for row in rows.iter() {
                    items.push(self.rectangular(
                        row.clone(),
                        elem,
                        rank.saturating_sub(1),
                        span,
                    )?);
                }
                let elem = items.first().map_or(elem.clone(), |row| match elem {
                    Type::Scalar(_) => crate::array::elem_type(row),
                    other => other.clone(),
                });
                let rest = vec![0; rank.clamp(1, 16) - 1];
                self.stack(&items, &elem, rest, span)
            }
            value => Ok(value),
        }
    }

    /// An array with its elements converted.
    fn convert_elements(&mut self, value: Value, elem: &Type, span: Span) -> Result<Value, Stop> {
        match (&value, elem) {
            (Value::Tensor(tensor), Type::Scalar(ty)) if tensor.ty() != *ty => {
                self.cast_tensor(tensor, *ty, span)
            }
            (Value::Tensor(tensor), Type::Scalar(_)) => Ok(Value::Tensor(tensor.clone())),
            (Value::Scalar(scalar), Type::Scalar(ty)) => Ok(Value::Scalar(cast(*scalar, *ty))),
            (Value::Objects(objects), Type::Scalar(_)) => {
                // An empty array whose elements had no type yet.
                self.array_of(elem, objects.shape.clone(), objects.items.clone(), span)
            }
            (Value::Tensor(tensor), _) if tensor.is_empty() => {
                self.array_of(elem, tensor.shape().to_vec(), [], span)
            }
            _ => Ok(value),
        }
    }

    fn cast_tensor(
        &self,
        tensor: &ein_runtime::Tensor,
        ty: ScalarType,
        span: Span,
    ) -> Result<Value, Stop> {
        match tensor.cast(ty) {
            Ok(tensor) => Ok(Value::tensor(tensor)),
            Err(error) => Err(self.tensor_error(error, span)),
        }
    }

    /// What the run-time library refused.
    #[cold]
    pub(crate) fn tensor_error(&self, error: TensorError, span: Span) -> Stop {
        match error {
            TensorError::Memory(error) => self.fail(Code::E0805, span, error.to_string()),
            error => self.malformed(span, error),
        }
    }

    /// Rows as a jagged array of so many levels; the innermost level is an ordinary array.
    fn jagged(
        &mut self,
        value: Value,
        elem: &Type,
        levels: u32,
        span: Span,
    ) -> Result<Value, Stop> {
        if levels <= 1 {
            return self.convert_elements(value, elem, span);
        }
        let rows: Vec<Value> = match &value {
            Value::Jagged(rows) => rows.to_vec(),
            Value::Tensor(_) | Value::Objects(_) => {
                let mut rows = Vec::new();
                for at in 0..value.shape()[0] {
                    rows.push(self.nth(&value, at as i64, span)?);
                }
                rows
            }
            other => return Err(self.expected(span, "an array", other)),
        };
        let mut converted = Vec::with_capacity(rows.len());
        for row in rows {
            converted.push(self.jagged(row, elem, levels - 1, span)?);
        }
        Ok(Value::Jagged(converted.into()))
    }

    /// The same elements in another shape.
    pub(crate) fn reshape(
        &mut self,
        value: &Value,
        shape: &Value,
        span: Span,
    ) -> Result<Value, Stop> {
        let mut extents = Vec::new();
        for extent in elements(shape) {
            let Some(extent) = extent.as_scalar().and_then(ein_scalar::Scalar::as_i64) else {
                return Err(self.expected(span, "an extent", &extent));
            };
            let Ok(extent) = usize::try_from(extent) else {
                return Err(self.fail(
                    Code::E0809,
                    span,
                    format!("the extent {extent} is negative"),
                ));
            };
            extents.push(extent);
        }
        let count = crate::array::count(value.shape());
        if extents.iter().try_fold(1usize, |count, n| count.checked_mul(*n)) != Some(count) {
            let (from, to) = (show_shape(value.shape()), show_shape(&extents));
            let message = format!("{count} elements of shape {from} do not fill shape {to}");
            return Err(self.fail(Code::E0804, span, message));
        }
        match value {
            Value::Tensor(tensor) => match tensor.reshape(&extents) {
                Ok(tensor) => Ok(Value::tensor(tensor)),
                Err(error) => Err(self.tensor_error(error, span)),
            },
            value => self.array_of(&crate::array::elem_type(value), extents, elements(value), span),
        }
    }
}

/// What a message is about.
fn subject(what: &str) -> &str {
    if what.is_empty() { "the value" } else { what }
}
