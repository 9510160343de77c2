//! Rectangular arrays of anything: scalars lie in a tensor, everything else in a vector of values.

use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::Type;
use ein_runtime::{MemoryError, Tensor};
use ein_scalar::{Scalar, ScalarType};

use crate::machine::Machine;
use crate::stop::{Stop, show_shape};
use crate::value::Value;

/// The elements of an array that is being made, by their row-major number.
pub(crate) enum Cells {
    /// In a tensor of rank 1.
    Scalars(Tensor),
    /// One by one.
    Objects(Vec<Value>),
}

impl Cells {
    /// Writes an element; gives it back if it is of another type.
    #[inline]
    pub(crate) fn set(&mut self, at: usize, value: Value) -> Result<(), Value> {
        match (self, value) {
            (Cells::Scalars(tensor), Value::Scalar(scalar)) => {
                tensor.set(&[at], scalar).map_err(|_| Value::Scalar(scalar))
            }
            (Cells::Scalars(_), value) => Err(value),
            (Cells::Objects(items), value) => {
                items[at] = value;
                Ok(())
            }
        }
    }

    /// Writes the elements of an array from a place on at once, if they are numbers of this type.
    pub(crate) fn set_row(&mut self, at: usize, row: &Value) -> bool {
        match (self, row) {
            (Cells::Scalars(tensor), Value::Tensor(row)) => tensor.write_row(at, row),
            (Cells::Scalars(_) | Cells::Objects(_), _) => false,
        }
    }

    /// A copy of these elements, if they are numbers.
    pub(crate) fn rows(&self, lo: usize, hi: usize) -> Option<Tensor> {
        match self {
            Cells::Scalars(tensor) => Tensor::concat(0, &[tensor.slice(0, lo, hi).ok()?]).ok(),
            Cells::Objects(_) => None,
        }
    }

    /// Reads an element.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> Value {
        match self {
            Cells::Scalars(tensor) => tensor.get(&[at]).map_or(Value::Unit, Value::Scalar),
            Cells::Objects(items) => items[at].clone(),
        }
    }

    /// The array of this shape, which must have as many elements.
    pub(crate) fn finish(self, shape: Vec<usize>) -> Value {
        match self {
            // Elements in order take any shape of their number without a copy.
            Cells::Scalars(tensor) => tensor.reshape(&shape).map_or(Value::Unit, Value::tensor),
            Cells::Objects(items) => Value::objects(shape, items),
        }
    }
}

impl Machine<'_> {
    /// Room for an array, all zero.
    pub(crate) fn cells(
        &self,
        elem: &Type,
        shape: &[usize],
        name: Option<Symbol>,
        span: Span,
    ) -> Result<Cells, Stop> {
        let memory = &self.options.memory;
        // An object takes sixteen bytes at least.
        let (ty, parts): (ScalarType, &[usize]) = match elem {
            Type::Scalar(ty) => (*ty, &[]),
            _ => (ScalarType::U64, &[2]),
        };
        let refused = |error| self.out_of_memory(error, name, shape, span);
        memory.check(ty, &[shape, parts].concat()).map_err(refused)?;
        let count = self::count(shape);
        match elem {
            Type::Scalar(ty) => memory.zeros(*ty, &[count]).map(Cells::Scalars).map_err(refused),
            other => {
                let mut items = Vec::new();
                if items.try_reserve_exact(count).is_err() {
                    let wanted = count as u128 * size_of::<Value>() as u128;
                    return Err(refused(MemoryError { wanted, limit: None, used: memory.used() }));
                }
                items.resize(count, zero(other));
                Ok(Cells::Objects(items))
            }
        }
    }

    #[cold]
    pub(crate) fn out_of_memory(
        &self,
        error: MemoryError,
        name: Option<Symbol>,
        shape: &[usize],
        span: Span,
    ) -> Stop {
        let whose = name.map_or_else(|| "an array".to_owned(), |name| format!("`{name}`"));
        let (shape, bytes) = (show_shape(shape), error.wanted);
        let message = format!("{whose} of shape {shape} does not fit: it takes {bytes} bytes");
        match self.fail(Code::E0805, span, message) {
            Stop::Error(it) => it.note(error.to_string()).into(),
            Stop::Interrupted => Stop::Interrupted,
        }
    }

    /// An array of these elements, in row-major order.
    pub(crate) fn array_of(
        &self,
        elem: &Type,
        shape: Vec<usize>,
        items: impl IntoIterator<Item = Value>,
        span: Span,
    ) -> Result<Value, Stop> {
        let mut cells = self.cells(elem, &shape, None, span)?;
        let (wanted, mut count): (usize, usize) = (self::count(&shape), 0);
        for (at, item) in items.into_iter().enumerate() {
            count = at + 1;
            if count > wanted {
                break;
            }
            if let Err(item) = cells.set(at, item) {
                return Err(self.expected(span, "an element of the array", &item));
            }
        }
        if count != wanted {
            let shape = show_shape(&shape);
            return Err(self.malformed(span, format_args!("{count} elements for shape {shape}")));
        }
        Ok(cells.finish(shape))
    }

    /// An array of `i32`.
    pub(crate) fn ints(
        &self,
        values: impl ExactSizeIterator<Item = i64>,
        span: Span,
    ) -> Result<Value, Stop> {
        let shape = vec![values.len()];
        let mut items = Vec::with_capacity(values.len());
        for value in values {
            items.push(self.index_value(value, span)?);
        }
        self.array_of(&Type::I32, shape, items, span)
    }
}

/// The number of elements of a shape; saturates, for shapes that are about to be refused.
pub(crate) fn count(shape: &[usize]) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    shape.iter().fold(1, |count, extent| count.saturating_mul(*extent))
}

/// Zero, false, the empty text, and tuples of those.
pub(crate) fn zero(ty: &Type) -> Value {
    match ty {
        Type::Scalar(ty) => Value::Scalar(Scalar::zero(*ty)),
        Type::Str => Value::str(""),
        Type::Tuple(items) => Value::tuple(items.iter().map(zero).collect()),
        Type::Jagged(..) => Value::Jagged(Default::default()),
        Type::Unit | Type::Array(_) | Type::AnyRank(_) | Type::Data(..) => Value::Unit,
        Type::Template(..) | Type::Signature(_) | Type::Range | Type::Error => Value::Unit,
    }
}

/// The type of the elements of an array, as far as storage needs it.
pub(crate) fn elem_type(value: &Value) -> Type {
    match value {
        Value::Tensor(tensor) => Type::Scalar(tensor.ty()),
        Value::Scalar(scalar) => Type::Scalar(scalar.ty()),
        Value::Str(_) => Type::Str,
        Value::Unit | Value::Objects(_) | Value::Jagged(_) | Value::Tuple(_) => Type::Unit,
        Value::Data(_) | Value::Closure(_) | Value::Range(_) => Type::Unit,
        Value::Pending(_) | Value::History(_) => Type::Unit,
    }
}

/// The element with this row-major number; of anything but an array the value itself.
pub(crate) fn flat(value: &Value, at: usize) -> Value {
    match value {
        Value::Objects(objects) => objects.items.get(at).cloned().unwrap_or_default(),
        Value::Tensor(tensor) => {
            let index = unravel(at, tensor.shape());
            tensor.get(&index).map_or(Value::Unit, Value::Scalar)
        }
        other => other.clone(),
    }
}

/// The index of the element with this row-major number.
pub(crate) fn unravel(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (place, extent) in index.iter_mut().zip(shape).rev() {
        *place = at % extent;
        at /= extent;
    }
    index
}

/// The elements in row-major order; anything but an array is one element.
pub(crate) fn elements(value: &Value) -> Vec<Value> {
    match value {
        Value::Tensor(tensor) => tensor.iter().map(Value::Scalar).collect(),
        Value::Objects(objects) => objects.items.clone(),
        other => vec![other.clone()],
    }
}
