//! The text of the program: what is not needed left out, in the canonical format.

use std::collections::{BTreeSet, HashSet};

use crate::cx::{Cx, Line, type_text};
use crate::dims::Dim;
use crate::node::{Done, refuse};
use crate::value::Value;

/// The lines on which the results depend.
pub fn needed<'a>(lines: &'a [Line], results: &[String]) -> Vec<&'a Line> {
    let mut wanted: HashSet<String> = results.iter().flat_map(|it| words(it)).collect();
    let mut kept = Vec::new();
    for line in lines.iter().rev() {
        // An assertion binds nothing, and is wanted by itself.
        if line.binds.is_empty() || line.binds.iter().any(|name| wanted.contains(name)) {
            wanted.extend(words(&line.text));
            kept.push(line);
        }
    }
    kept.reverse();
    kept
}

/// The identifiers in a text.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// An input or output of the program.
#[derive(Clone, Debug)]
pub struct Port {
    /// Its name in the graph.
    pub graph: String,
    /// Its name in the program.
    pub name: String,
    /// Its type as program text.
    pub ty: String,
}

/// Writes the program of a graph.
pub fn write(
    cx: &mut Cx<'_>,
    title: &str,
    function: &str,
    inputs: &[Port],
    outputs: &[(String, String, Value)],
) -> Done<String> {
    let results: Vec<String> = outputs.iter().map(|(_, _, value)| cx.name_of(value)).collect();
    let body: Vec<Line> = cx.loads.iter().chain(&cx.lines).cloned().collect();
    let kept = needed(&body, &results);
    let mut text = format!("//! {title}\n\n");
    let used: HashSet<String> = kept.iter().flat_map(|line| words(&line.text)).collect();
    let mut helpers = String::new();
    let mut called = used.clone();
    // Helpers may call one another: those that are called, and what these call.
    let mut round = true;
    let mut chosen: HashSet<&str> = HashSet::new();
    while round {
        round = false;
        for (name, source) in &cx.helpers {
            if called.contains(name) && chosen.insert(name) {
                called.extend(words(source));
                round = true;
            }
        }
    }
    for (name, source) in &cx.helpers {
        if chosen.contains(name.as_str()) {
            helpers.push_str(source);
            helpers.push('\n');
        }
    }
    if called.contains("load_safetensors") {
        text.push_str("use std::io::load_safetensors;\n");
    }
    let imports: Vec<&str> = MATH.iter().copied().filter(|it| called.contains(*it)).collect();
    match imports.as_slice() {
        [] => {}
        [one] => text.push_str(&format!("use std::math::{one};\n")),
        many => text.push_str(&format!("use std::math::{{{}}};\n", many.join(", "))),
    }
    text.push('\n');
    text.push_str(&helpers);
    let parameters: Vec<String> =
        inputs.iter().map(|it| format!("{}: {}", it.name, it.ty)).collect();
    let plain = outputs
        .iter()
        .all(|(_, _, v)| v.shape.iter().all(|it| it.is_plain() || it.hidden().is_some()));
    let types: Vec<String> = outputs.iter().map(|(_, _, v)| result_text(v)).collect();
    let result_type = match types.as_slice() {
        _ if !plain => String::new(),
        [one] => format!(" -> {one}"),
        many => format!(" -> ({})", many.join(", ")),
    };
    text.push_str(&format!("fn {function}({}){result_type} {{\n", parameters.join(", ")));
    for line in &kept {
        text.push_str(&line.text);
        text.push('\n');
    }
    match results.as_slice() {
        [one] => text.push_str(&format!("{one}\n}}\n\n")),
        many => text.push_str(&format!("({})\n}}\n\n", many.join(", "))),
    }
    for input in inputs {
        text.push_str(&format!("let {}: {} = input();\n", input.name, input.ty));
    }
    let names: Vec<&str> = outputs.iter().map(|(_, name, _)| name.as_str()).collect();
    let pattern = match names.as_slice() {
        [one] => (*one).to_owned(),
        many => format!("({})", many.join(", ")),
    };
    let arguments: Vec<&str> = inputs.iter().map(|it| it.name.as_str()).collect();
    text.push_str(&format!("let {pattern} = {function}({});\n", arguments.join(", ")));
    match ein_syntax::format(&text) {
        Ok(text) => Ok(text),
        Err(_) => refuse(format!("the program that was written cannot be parsed:\n{text}")),
    }
}

/// The type of a result: sizes that only the program finds are hidden by `some`.
fn result_text(value: &Value) -> String {
    let hidden: BTreeSet<&str> = value.shape.iter().filter_map(Dim::hidden).collect();
    if hidden.is_empty() {
        return type_text(value.elem, &value.shape);
    }
    let dims: Vec<String> = value
        .shape
        .iter()
        .map(|dim| dim.hidden().map_or_else(|| dim.to_string(), str::to_owned))
        .collect();
    let names: Vec<&str> = hidden.into_iter().collect();
    format!("some {}. [{}; {}]", names.join(", "), value.elem.lang(), dims.join(", "))
}

/// The functions of `std::math` that generated text may call.
const MATH: [&str; 29] = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "div_floor",
    "erf",
    "exp",
    "floor",
    "fmod",
    "log",
    "log1p",
    "round",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "sign",
    "expm1",
    "log10",
    "log2",
    "atan2",
];
