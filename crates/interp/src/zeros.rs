//! Zeros in the shape of a value: what tangents start from.

use std::sync::Arc;

use ein_base::Span;
use ein_scalar::Scalar;

use crate::machine::Machine;
use crate::stop::Stop;
use crate::value::{Closure, DataValue, Objects, Value};

impl Machine<'_> {
    /// Numbers become zero, containers keep their shape, texts stay.
    pub(crate) fn zeros_like(&mut self, value: &Value, span: Span) -> Result<Value, Stop> {
        Ok(match value {
            Value::Scalar(scalar) => Value::Scalar(Scalar::zero(scalar.ty())),
            Value::Tensor(tensor) => {
                let zeros = self.options.memory.zeros(tensor.ty(), tensor.shape());
                match zeros {
                    Ok(zeros) => Value::Tensor(Arc::new(zeros)),
                    Err(_) => return Err(self.malformed(span, "zeros beyond the memory limit")),
                }
            }
            Value::Objects(objects) => {
                let items = self.all_zeros(&objects.items, span)?;
                Value::Objects(Arc::new(Objects { shape: objects.shape.clone(), items }))
            }
            Value::Jagged(rows) => Value::Jagged(Arc::new(self.all_zeros(rows, span)?)),
            Value::Tuple(items) => Value::Tuple(Arc::new(self.all_zeros(items, span)?)),
            Value::Data(data) => Value::Data(Arc::new(DataValue {
                data: data.data,
                variant: data.variant,
                fields: self.all_zeros(&data.fields, span)?,
            })),
            Value::Closure(closure) => Value::Closure(Arc::new(Closure {
                func: closure.func,
                captures: self.all_zeros(&closure.captures, span)?,
            })),
            Value::Unit | Value::Str(_) | Value::Range(_) => value.clone(),
            Value::Pending(_) | Value::History(_) => value.clone(),
        })
    }

    fn all_zeros(&mut self, items: &[Value], span: Span) -> Result<Vec<Value>, Stop> {
        items.iter().map(|item| self.zeros_like(item, span)).collect()
    }
}
