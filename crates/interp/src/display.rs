//! Values as `print` writes them.
//!
//! A text stands without quotes at top level and with quotes inside anything else. A struct is
//! written `Point { x: 1.0, y: 2.0 }`, a variant without the name of its enum: `Circle(2.0)`,
//! `Rect { w: 1.0, h: 2.0 }`, `Dot`. A jagged array has each row on its own line, like a
//! rectangular one. A function is `<function>`, a range `0..5`.

use ein_ir::tensor::Program;
use ein_runtime::print_array;

use crate::value::{DataValue, Value};

/// The text of a value.
pub fn display(value: &Value, program: &Program) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        other => nested(other, program),
    }
}

/// The text of a value inside another one.
pub(crate) fn nested(value: &Value, program: &Program) -> String {
    match value {
        Value::Unit => "()".to_owned(),
        Value::Scalar(scalar) => ein_scalar::display(*scalar),
        Value::Str(text) => quoted(text),
        Value::Tensor(tensor) => tensor.to_string(),
        Value::Objects(objects) => print_array(&objects.shape, |index| {
            let place = index.iter().zip(&objects.shape).fold(0, |place, (at, n)| place * n + at);
            objects.items.get(place).map_or(String::new(), |item| nested(item, program))
        }),
        Value::Jagged(rows) => {
            let is_flat = rows.iter().all(|row| matches!(row, Value::Scalar(_) | Value::Str(_)));
            let rows = rows.iter().map(|row| nested(row, program).replace('\n', "\n "));
            let rows: Vec<String> = rows.collect();
            format!("[{}]", rows.join(if is_flat { ", " } else { ",\n " }))
        }
        Value::Tuple(items) => match items.as_slice() {
            [only] => format!("({},)", nested(only, program)),
            items => format!("({})", list(items, program)),
        },
        Value::Data(data) => display_data(data, program),
        Value::Closure(_) => "<function>".to_owned(),
        Value::Range(range) => format!("{}..{}", range.0, range.1),
        Value::Pending(_) | Value::History(_) => "<being computed>".to_owned(),
    }
}

fn list(items: &[Value], program: &Program) -> String {
    let items: Vec<String> = items.iter().map(|item| nested(item, program)).collect();
    items.join(", ")
}

fn display_data(value: &DataValue, program: &Program) -> String {
    let variant = program.data.get(value.data).and_then(|data| data.variants.get(value.variant));
    let Some(variant) = variant else { return "<unknown>".to_owned() };
    if value.fields.is_empty() {
        return variant.name.to_string();
    }
    if variant.positional {
        return format!("{}({})", variant.name, list(&value.fields, program));
    }
    let fields = variant.fields.iter().zip(&value.fields);
    let fields = fields.map(|(name, field)| format!("{name}: {}", nested(field, program)));
    format!("{} {{ {} }}", variant.name, fields.collect::<Vec<_>>().join(", "))
}

/// A text as a literal.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            letter if letter.is_control() => quoted.extend(letter.escape_unicode()),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
