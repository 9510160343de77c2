//! Texts: formatting, comparison, membership; and structural equality, which they need.

use std::cell::RefCell;

use ein_base::{Code, Span};
use ein_ir::tensor::FormatSpec;
use ein_runtime::print_array;
use ein_scalar::BinaryOp;

use crate::array::{elements, flat};
use crate::display::nested;
use crate::machine::Machine;
use crate::pattern::compare;
use crate::stop::Stop;
use crate::value::Value;

/// No text grows beyond this; it is far more than anybody prints.
const LONGEST: usize = 1 << 30;

impl Machine<'_> {
    /// The text of a value under a format; an array's elements are formatted one by one.
    pub(crate) fn format(
        &self,
        value: &Value,
        spec: Option<&FormatSpec>,
    ) -> Result<String, String> {
        let Some(spec) = spec else { return Ok(crate::display(value, self.program)) };
        match value {
            Value::Scalar(scalar) => ein_scalar::format(*scalar, spec),
            Value::Str(text) => ein_scalar::format_str(text, spec),
            Value::Tensor(_) | Value::Objects(_) => {
                let shape = value.shape();
                let failed = RefCell::new(None);
                let text = print_array(shape, |index| {
                    let place = index.iter().zip(shape).fold(0, |place, (at, n)| place * n + at);
                    self.format(&flat(value, place), Some(spec)).unwrap_or_else(|message| {
                        failed.replace(Some(message));
                        String::new()
                    })
                });
                failed.into_inner().map_or(Ok(text), Err)
            }
            other => ein_scalar::format_str(&nested(other, self.program), spec),
        }
    }

    /// Texts one after another.
    pub(crate) fn format_all(
        &self,
        values: &[Value],
        specs: &[Option<FormatSpec>],
        span: Span,
    ) -> Result<Value, Stop> {
        let mut text = String::new();
        for (at, value) in values.iter().enumerate() {
            let spec = specs.get(at).and_then(Option::as_ref);
            match self.format(value, spec) {
                Ok(part) => {
                    if text.capacity() - text.len() < part.len() {
                        self.room(text.len() + part.len(), "the text", span)?;
                    }
                    text.push_str(&part);
                }
                Err(message) => return Err(self.fail(Code::E0809, span, message)),
            }
        }
        Ok(Value::str(text))
    }

    /// A text, repeated.
    pub(crate) fn repeat(&self, text: &str, times: i64, span: Span) -> Result<Value, Stop> {
        let Ok(count) = usize::try_from(times) else {
            let message = format!("a text cannot be repeated {times} times");
            return Err(self.fail(Code::E0809, span, message));
        };
        match text.len().checked_mul(count) {
            Some(length) if length <= LONGEST => {
                self.room(length, "the text", span)?;
                Ok(Value::str(text.repeat(count)))
            }
            _ => {
                let message = format!("a text of {} bytes repeated {times} times", text.len());
                Err(self.fail(Code::E0805, span, format!("{message} does not fit")))
            }
        }
    }

    /// `item in container`.
    pub(crate) fn contains(
        &mut self,
        item: &Value,
        container: &Value,
        span: Span,
    ) -> Result<bool, Stop> {
        match (item, container) {
            (Value::Str(part), Value::Str(whole)) => Ok(whole.contains(part.as_str())),
            (Value::Scalar(scalar), Value::Range(range)) => match scalar.as_i128() {
                Some(at) => Ok(i128::from(range.0) <= at && at < i128::from(range.1)),
                None => {
                    let at = scalar.as_f64();
                    Ok(range.0 as f64 <= at && at < range.1 as f64)
                }
            },
            (_, Value::Tensor(_) | Value::Objects(_)) if item.shape().is_empty() => {
                Ok(elements(container).iter().any(|element| equal(element, item)))
            }
            (_, Value::Tensor(_) | Value::Objects(_) | Value::Jagged(_)) => {
                let length = self.length(container).unwrap_or(0);
                for at in 0..length {
                    let row = self.nth(container, at, span)?;
                    let inside =
                        matches!(row, Value::Jagged(_)) || row.shape().len() > item.shape().len();
                    if if inside { self.contains(item, &row, span)? } else { equal(&row, item) } {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            (_, other) => Err(self.expected(span, "an array, a range or a text", other)),
        }
    }
}

/// Structural equality; numbers by IEEE 754, functions are never equal.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Unit, Value::Unit) => true,
        (Value::Scalar(a), Value::Scalar(b)) => compare(BinaryOp::Eq, *a, *b),
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::Range(a), Value::Range(b)) => a == b,
        (Value::Tensor(a), Value::Tensor(b)) => {
            a.shape() == b.shape()
                && a.iter().zip(b.iter()).all(|(a, b)| compare(BinaryOp::Eq, a, b))
        }
        (Value::Objects(a), Value::Objects(b)) => {
            a.shape == b.shape && a.items.iter().zip(&b.items).all(|(a, b)| equal(a, b))
        }
        (Value::Jagged(a), Value::Jagged(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| equal(a, b))
        }
        (Value::Data(a), Value::Data(b)) => {
            a.data == b.data
                && a.variant == b.variant
                && a.fields.iter().zip(&b.fields).all(|(a, b)| equal(a, b))
        }
        _ => false,
    }
}
