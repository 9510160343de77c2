//! Patterns: whether a value fits, and what it binds.

use ein_base::Span;
use ein_ir::tensor::Pattern;
use ein_scalar::{BinaryOp, Overflow, Scalar, apply_binary};

use crate::machine::Machine;
use crate::stop::Stop;
use crate::value::Value;

impl<'p> Machine<'p> {
    /// Whether a value fits a pattern; binds on the way.
    pub(crate) fn matches(
        &mut self,
        pattern: &'p Pattern,
        value: &Value,
        span: Span,
    ) -> Result<bool, Stop> {
        match pattern {
            Pattern::Wild => Ok(true),
            Pattern::Bind(var) => {
                self.bind(*var, value.clone());
                Ok(true)
            }
            Pattern::At(var, inner) => {
                self.bind(*var, value.clone());
                self.matches(inner, value, span)
            }
            Pattern::Literal(literal) => match value {
                Value::Scalar(scalar) => Ok(compare(BinaryOp::Eq, *scalar, *literal)),
                other => Err(self.expected(span, "a number", other)),
            },
            Pattern::Str(literal) => match value {
                Value::Str(text) => Ok(text.as_str() == literal.as_str()),
                other => Err(self.expected(span, "a text", other)),
            },
            Pattern::Range { lo, hi, inclusive } => match value {
                Value::Scalar(scalar) => {
                    let below = if *inclusive { BinaryOp::Le } else { BinaryOp::Lt };
                    Ok(lo.is_none_or(|lo| compare(BinaryOp::Ge, *scalar, lo))
                        && hi.is_none_or(|hi| compare(below, *scalar, hi)))
                }
                other => Err(self.expected(span, "a number", other)),
            },
            Pattern::Tuple(items) => match value {
                Value::Tuple(values) if values.len() == items.len() => {
                    self.all_match(items, values, span)
                }
                other => Err(self.expected(span, "a tuple", other)),
            },
            Pattern::Data { variant, fields } => match value {
                Value::Data(data) if data.variant != *variant => Ok(false),
                Value::Data(data) if data.fields.len() == fields.len() => {
                    self.all_match(fields, &data.fields, span)
                }
                other => Err(self.expected(span, "a struct or enum", other)),
            },
            Pattern::Or(alternatives) => {
                for alternative in alternatives {
                    if self.matches(alternative, value, span)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Pattern::Array { before, rest, after } => {
                let value = self.settle(value.clone(), span)?;
                let Some(length) = self.length(&value) else {
                    return Err(self.expected(span, "an array", &value));
                };
                let (length, least) = (length as usize, before.len() + after.len());
                if length < least || (rest.is_none() && length != least) {
                    return Ok(false);
                }
                let from_back = (length - after.len()..length).zip(after);
                for (at, item) in (0..).zip(before).chain(from_back) {
                    let element = self.nth(&value, at as i64, span)?;
                    if !self.matches(item, &element, span)? {
                        return Ok(false);
                    }
                }
                if let Some(Some(var)) = rest {
                    let part = self.cut(&value, 0, before.len(), length - after.len(), span)?;
                    self.bind(*var, part);
                }
                Ok(true)
            }
        }
    }

    fn all_match(
        &mut self,
        patterns: &'p [Pattern],
        values: &[Value],
        span: Span,
    ) -> Result<bool, Stop> {
        for (pattern, value) in patterns.iter().zip(values) {
            if !self.matches(pattern, value, span)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A comparison by the rules of the language.
pub(crate) fn compare(op: BinaryOp, a: Scalar, b: Scalar) -> bool {
    apply_binary(op, a, b, Overflow::Wrap) == Ok(Scalar::Bool(true))
}
