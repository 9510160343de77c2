//! Values: what expressions evaluate to.

use std::sync::Arc;

use ein_ir::tensor::{DataId, FuncId};
use ein_runtime::Tensor;
use ein_scalar::Scalar;

/// A value. Sixteen bytes; a copy shares what is behind the pointer.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// `()`
    #[default]
    Unit,
    /// A number or truth value.
    Scalar(Scalar),
    /// A text.
    Str(Arc<String>),
    /// A rectangular array of scalars, of rank 1 or more.
    Tensor(Arc<Tensor>),
    /// A rectangular array of anything else.
    Objects(Arc<Objects>),
    /// Rows of unequal lengths.
    Jagged(Arc<Vec<Value>>),
    /// A tuple.
    Tuple(Arc<Vec<Value>>),
    /// A struct or variant.
    Data(Arc<DataValue>),
    /// A function value.
    Closure(Arc<Closure>),
    /// `lo..hi`
    Range(Arc<(i64, i64)>),
    /// A definition that is being computed, as its own clauses see it. Never leaves the evaluator.
    Pending(u32),
    /// A recurrence of which not all steps are kept. Never leaves the evaluator.
    History(u32),
}

/// A rectangular array of values that are not scalars, in row-major order.
#[derive(Clone, Debug)]
pub struct Objects {
    /// The extents.
    pub shape: Vec<usize>,
    /// The elements; as many as the product of the extents.
    pub items: Vec<Value>,
}

/// A struct or variant.
#[derive(Clone, Debug)]
pub struct DataValue {
    /// Its type.
    pub data: DataId,
    /// Which variant; 0 for a struct.
    pub variant: usize,
    /// Its fields, in order of declaration.
    pub fields: Vec<Value>,
}

/// A function value.
#[derive(Clone, Debug)]
pub struct Closure {
    /// Its code, if that is already chosen.
    pub func: Option<FuncId>,
    /// What it captured.
    pub captures: Vec<Value>,
}

impl Value {
    /// A text.
    pub fn str(text: impl Into<String>) -> Value {
        Value::Str(Arc::new(text.into()))
    }

    /// An array of scalars; one of rank 0 is the scalar itself.
    pub fn tensor(tensor: Tensor) -> Value {
        match tensor.get(&[]) {
            Ok(only) => Value::Scalar(only),
            Err(_) => Value::Tensor(Arc::new(tensor)),
        }
    }

    /// An array of anything; one of rank 0 is the element itself.
    pub fn objects(shape: Vec<usize>, mut items: Vec<Value>) -> Value {
        match items.pop() {
            Some(only) if shape.is_empty() => return only,
            Some(last) => items.push(last),
            None => {}
        }
        Value::Objects(Arc::new(Objects { shape, items }))
    }

    /// A tuple.
    pub fn tuple(items: Vec<Value>) -> Value {
        Value::Tuple(Arc::new(items))
    }

    /// The scalar, if it is one.
    pub fn as_scalar(&self) -> Option<Scalar> {
        if let Value::Scalar(scalar) = self { Some(*scalar) } else { None }
    }

    /// The text, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        if let Value::Str(text) = self { Some(text) } else { None }
    }

    /// The extents of a rectangular array; none of anything else.
    pub fn shape(&self) -> &[usize] {
        match self {
            Value::Tensor(tensor) => tensor.shape(),
            Value::Objects(objects) => &objects.shape,
            Value::Unit | Value::Scalar(_) | Value::Str(_) | Value::Jagged(_) => &[],
            Value::Tuple(_) | Value::Data(_) | Value::Closure(_) | Value::Range(_) => &[],
            Value::Pending(_) | Value::History(_) => &[],
        }
    }

    /// What it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Unit => "()",
            Value::Scalar(scalar) => scalar.ty().name(),
            Value::Str(_) => "a text",
            Value::Tensor(_) | Value::Objects(_) => "an array",
            Value::Jagged(_) => "a jagged array",
            Value::Tuple(_) => "a tuple",
            Value::Data(_) => "a struct or enum",
            Value::Closure(_) => "a function",
            Value::Range(_) => "a range",
            Value::Pending(_) => "a definition that is being computed",
            Value::History(_) => "a recurrence of which not all steps are kept",
        }
    }
}

impl From<Scalar> for Value {
    fn from(scalar: Scalar) -> Value {
        Value::Scalar(scalar)
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Scalar(Scalar::Bool(truth))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_small() {
        assert_eq!(size_of::<Value>(), 16);
        assert_eq!(size_of::<Result<Value, crate::stop::Stop>>(), 16);
        assert_eq!(size_of::<Result<Scalar, crate::stop::Stop>>(), 16);
    }

    #[test]
    fn values_travel_between_threads() {
        fn sent<T: Send + Sync>() {}
        sent::<Value>();
    }
}
