//! Values as JSON, in the shape that `--outputs json` promises.

use ein_interp::Value;
use ein_ir::tensor::{Program, Type};
use ein_runtime::Tensor;
use ein_scalar::Scalar;
use std::fmt::{self, Write};

/// How many bytes are written before it is asked again whether to go on.
const STEP: usize = 1 << 20;

/// Text that is being written, as long as it may grow.
struct Text<'a> {
    text: String,
    go_on: &'a dyn Fn(usize) -> bool,
    /// From which length on it is asked again.
    ask: usize,
    stopped: bool,
}

/// The text was not to become so long, or there is no time left for it.
#[derive(Clone, Copy, Debug)]
pub struct Stopped;

impl Text<'_> {
    fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }

    fn push_str(&mut self, text: &str) {
        if self.stopped {
            return;
        }
        self.text.push_str(text);
        if self.text.len() >= self.ask {
            self.ask = self.text.len() + STEP;
            self.stopped = !(self.go_on)(self.text.len());
        }
    }
}

impl Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

/// A value with its element type and shape; `None` for what is not data (functions, the unit). It is asked
/// now and then whether a text of so many bytes may go on.
pub fn value(
    value: &Value,
    ty: &Type,
    program: &Program,
    go_on: &dyn Fn(usize) -> bool,
) -> Option<Result<String, Stopped>> {
    match value {
        Value::Unit
        | Value::Closure(_)
        | Value::Range(..)
        | Value::Pending(_)
        | Value::History(_) => None,
        Value::Scalar(_)
        | Value::Str(_)
        | Value::Tensor(_)
        | Value::Objects(_)
        | Value::Jagged(_)
        | Value::Tuple(_)
        | Value::Data(_) => {
            let mut out = Text { text: String::new(), go_on, ask: STEP, stopped: false };
            write_value(&mut out, value, ty, program);
            Some(if out.stopped { Err(Stopped) } else { Ok(out.text) })
        }
    }
}

fn write_value(out: &mut Text<'_>, value: &Value, ty: &Type, program: &Program) {
    match value {
        Value::Scalar(scalar) => {
            let _ =
                write!(out, "{{\"dtype\": \"{}\", \"shape\": [], \"data\": ", scalar.ty().name());
            write_scalar(out, *scalar);
            out.push('}');
        }
        Value::Str(text) => {
            out.push_str("{\"dtype\": \"str\", \"shape\": [], \"data\": ");
            write_text(out, text);
            out.push('}');
        }
        Value::Tensor(tensor) => {
            let _ = write!(
                out,
                "{{\"dtype\": \"{}\", \"shape\": {:?}, \"data\": ",
                tensor.ty().name(),
                tensor.shape()
            );
            write_tensor(out, tensor);
            out.push('}');
        }
        Value::Objects(objects) => {
            let elem = ty.elem();
            let _ = write!(
                out,
                "{{\"dtype\": \"{}\", \"shape\": {:?}, \"data\": ",
                kind_name(objects.items.first(), elem, program),
                objects.shape
            );
            let mut items = objects.items.iter();
            nest(out, &objects.shape, &mut |out| {
                if let Some(item) = items.next() {
                    write_plain(out, item, elem, program);
                }
            });
            out.push('}');
        }
        Value::Jagged(rows) => {
            let elem = match ty {
                Type::Jagged(elem, _) => elem,
                other => other,
            };
            let _ = write!(
                out,
                "{{\"dtype\": \"jagged\", \"elem\": \"{}\", \"shape\": [{}], \"data\": ",
                elem.scalar().map_or("any", |ty| ty.name()),
                rows.len()
            );
            write_list(out, rows.iter(), |out, row| write_plain(out, row, elem, program));
            out.push('}');
        }
        Value::Tuple(items) => {
            out.push_str("{\"dtype\": \"tuple\", \"items\": ");
            let types: &[Type] = match ty {
                Type::Tuple(types) => types,
                _ => &[],
            };
            let mut position = 0;
            write_list(out, items.iter(), |out, item| {
                let ty = types.get(position).unwrap_or(&Type::Error);
                position += 1;
                write_value(out, item, ty, program);
            });
            out.push('}');
        }
        Value::Data(data) => {
            let info = &program.data[data.data];
            let variant = &info.variants[data.variant];
            let _ = write!(out, "{{\"dtype\": \"{}\"", info.name);
            if info.is_enum {
                let _ = write!(out, ", \"variant\": \"{}\"", variant.name);
            }
            out.push_str(", \"fields\": {");
            for (position, (name, field)) in variant.fields.iter().zip(&data.fields).enumerate() {
                if position > 0 {
                    out.push_str(", ");
                }
                write_text(out, name.as_str());
                out.push_str(": ");
                write_value(out, field, &Type::Error, program);
            }
            out.push_str("}}");
        }
        // Not data, but the parts around it are, and a list keeps its positions.
        Value::Unit => out.push_str("{\"dtype\": \"()\", \"shape\": [], \"data\": null}"),
        Value::Closure(_) => out.push_str("{\"dtype\": \"function\"}"),
        Value::Range(..) => out.push_str("{\"dtype\": \"range\"}"),
        Value::Pending(_) | Value::History(_) => out.push_str("null"),
    }
}

/// A value inside a list: numbers and texts bare, everything else with its kind.
fn write_plain(out: &mut Text<'_>, value: &Value, ty: &Type, program: &Program) {
    match value {
        Value::Scalar(scalar) => write_scalar(out, *scalar),
        Value::Str(text) => write_text(out, text),
        Value::Tensor(tensor) => write_tensor(out, tensor),
        Value::Jagged(rows) => {
            write_list(out, rows.iter(), |out, row| write_plain(out, row, ty, program));
        }
        other => write_value(out, other, ty, program),
    }
}

fn kind_name(first: Option<&Value>, elem: &Type, program: &Program) -> String {
    match (first, elem) {
        (Some(Value::Str(_)), _) | (None, Type::Str) => "str".into(),
        (Some(Value::Tuple(_)), _) | (None, Type::Tuple(_)) => "tuple".into(),
        (Some(Value::Data(data)), _) => program.data[data.data].name.to_string(),
        (Some(Value::Scalar(scalar)), _) => scalar.ty().name().into(),
        _ => "any".into(),
    }
}

fn write_list<'a>(
    out: &mut Text<'_>,
    items: impl Iterator<Item = &'a Value>,
    mut write: impl FnMut(&mut Text<'_>, &'a Value),
) {
    out.push('[');
    for (position, item) in items.enumerate() {
        if out.stopped {
            return;
        }
        if position > 0 {
            out.push_str(", ");
        }
        write(out, item);
    }
    out.push(']');
}

fn write_tensor(out: &mut Text<'_>, tensor: &Tensor) {
    let mut items = tensor.iter();
    nest(out, tensor.shape(), &mut |out| {
        if let Some(item) = items.next() {
            write_scalar(out, item);
        }
    });
}

/// The most rows of an array without elements that are written out.
const EMPTY_ROWS: usize = 1 << 16;

/// Nested lists of the given shape. Of an array without elements that has very many rows, the shape
/// beside it says enough.
fn nest(out: &mut Text<'_>, shape: &[usize], item: &mut dyn FnMut(&mut Text<'_>)) {
    let rows = shape.iter().take_while(|extent| **extent > 0);
    let rows = rows.fold(1usize, |all, extent| all.saturating_mul(*extent));
    if shape.contains(&0) && rows > EMPTY_ROWS {
        out.push_str("[]");
        return;
    }
    lists(out, shape, item);
}

fn lists(out: &mut Text<'_>, shape: &[usize], item: &mut dyn FnMut(&mut Text<'_>)) {
    match shape.split_first() {
        None => item(out),
        Some((extent, rest)) => {
            out.push('[');
            for position in 0..*extent {
                if out.stopped {
                    return;
                }
                if position > 0 {
                    out.push_str(", ");
                }
                lists(out, rest, item);
            }
            out.push(']');
        }
    }
}

fn write_scalar(out: &mut Text<'_>, scalar: Scalar) {
    let text = ein_scalar::display(scalar);
    if scalar.ty().is_float() && !scalar.as_f64().is_finite() {
        let _ = write!(out, "\"{text}\"");
    } else {
        out.push_str(&text);
    }
}

/// A text as a JSON string.
pub fn write_text(out: &mut impl Write, text: &str) {
    let _ = out.write_str(&crate::render::clean_json(serde_json::Value::from(text).to_string()));
}
