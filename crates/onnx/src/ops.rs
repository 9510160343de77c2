//! What each operator means, as program text.

mod attention;
mod cast;
mod control;
mod conv;
mod deform;
mod elementwise;
mod gather;
mod generate;
mod linear;
mod loss;
mod norm;
mod pad;
mod pool;
mod quant;
mod recurrent;
mod reduce;
mod regions;
mod resize;
mod scatter;
mod select;
pub mod shape;
mod signal;
mod softmax;
mod spatial;

use crate::cx::{Cx, indices};
use crate::dims::Dim;
use crate::elem::Elem;
use crate::node::{Done, Node, refuse};
use crate::value::Value;

/// Writes a node of a domain.
pub fn write(cx: &mut Cx<'_>, domain: &str, node: &Node<'_>) -> Done {
    match domain {
        "" => {}
        "ai.onnx.preview.training" => return refuse("operators of training are not supported"),
        other => return refuse(format!("the operators of `{other}` are not known")),
    }
    let families: [fn(&mut Cx<'_>, &Node<'_>) -> Option<Done>; 23] = [
        elementwise::write,
        cast::write,
        shape::write,
        reduce::write,
        softmax::write,
        linear::write,
        conv::write,
        deform::write,
        pool::write,
        norm::write,
        gather::write,
        scatter::write,
        select::write,
        pad::write,
        resize::write,
        spatial::write,
        regions::write,
        generate::write,
        quant::write,
        loss::write,
        recurrent::write,
        attention::write,
        signal::write,
    ];
    for family in families {
        if let Some(done) = family(cx, node) {
            return done;
        }
    }
    if let Some(done) = control::write(cx, node) {
        return done;
    }
    if node.op.starts_with("Sequence")
        || node.op.ends_with("Sequence") && node.op != "ReverseSequence"
    {
        return refuse("sequences are not supported");
    }
    if node.op.starts_with("Optional") {
        return refuse("optional values are not supported");
    }
    if node.op.starts_with("String") || matches!(node.op, "RegexFullMatch" | "TfIdfVectorizer") {
        return refuse("operators on strings are not supported");
    }
    refuse("the operator is not known")
}

/// The shape to which shapes are repeated, by the rules of the format.
pub fn broadcast(shapes: &[&[Dim]]) -> Done<Vec<Dim>> {
    let rank = shapes.iter().map(|it| it.len()).max().unwrap_or(0);
    let mut out = vec![Dim::from(1); rank];
    for shape in shapes {
        let lead = rank - shape.len();
        for (i, dim) in shape.iter().enumerate() {
            let own = &mut out[lead + i];
            match (own.known(), dim.known()) {
                (Some(1), _) => *own = dim.clone(),
                (_, Some(1)) => {}
                (Some(a), Some(b)) if a != b => {
                    return refuse(format!("the extents {a} and {b} do not agree"));
                }
                // What is known is believed; the program compares when it runs.
                (None, Some(_)) => *own = dim.clone(),
                _ => {}
            }
        }
    }
    Ok(out)
}

/// The axes' names of a result: those of the operand of that rank, if it has any.
pub fn axes_of(values: &[&Value], rank: usize) -> Vec<String> {
    let named = values.iter().find(|it| it.rank() == rank && it.axes.len() == rank);
    indices(named.map_or(&[], |it| &it.axes), rank)
}

/// A definition point by point: `body` takes the elements of the operands.
pub fn pointwise(
    cx: &mut Cx<'_>,
    out: &str,
    values: &[Value],
    elem: Elem,
    body: impl FnOnce(&[String]) -> String,
) -> Done<Value> {
    let shapes: Vec<&[Dim]> = values.iter().map(|it| it.shape.as_slice()).collect();
    let shape = broadcast(&shapes)?;
    let refs: Vec<&Value> = values.iter().collect();
    let axes = axes_of(&refs, shape.len());
    let mut covered = vec![false; shape.len()];
    let mut parts = Vec::new();
    let constant = values.iter().all(|it| it.single().is_some());
    for value in values {
        // Among constants alone a literal would have no type.
        let (text, own) = if constant {
            let name = cx.name_of(value);
            (name + &vec!["0"; value.rank()].join(", ").pipe_index(), vec![false; shape.len()])
        } else {
            cx.read_repeated(value, &axes, &shape)
        };
        covered.iter_mut().zip(own).for_each(|(a, b)| *a |= b);
        parts.push(text);
    }
    let body = body(&parts);
    Ok(cx.define(out, elem, shape, &axes, &covered, &body))
}

/// Brackets around indices, if there are any.
trait PipeIndex {
    fn pipe_index(&self) -> String;
}

impl PipeIndex for String {
    fn pipe_index(&self) -> String {
        if self.is_empty() { String::new() } else { format!("[{self}]") }
    }
}

/// Zero of a type.
pub fn zero(elem: Elem) -> &'static str {
    if elem == Elem::Bool {
        "false"
    } else if elem.is_float() {
        "0.0"
    } else {
        "0"
    }
}

/// One of a type.
pub fn one(elem: Elem) -> &'static str {
    if elem == Elem::Bool {
        "true"
    } else if elem.is_float() {
        "1.0"
    } else {
        "1"
    }
}

/// A float attribute as text of a type.
pub fn number(value: f64, elem: Elem) -> String {
    let text = crate::data::float_text(value, elem);
    if text.starts_with('-') { format!("({text})") } else { text }
}

/// `{base} + {offset}` without what is zero.
pub fn shifted(base: &str, offset: &Dim) -> String {
    match offset.known() {
        Some(0) => base.to_owned(),
        Some(n) if n < 0 => format!("{base} - {}", n.unsigned_abs()),
        _ => format!("{base} + {offset}"),
    }
}

/// `{factor} * {name}` without a factor of one.
pub fn scaled(factor: i64, name: &str) -> String {
    if factor == 1 { name.to_owned() } else { format!("{factor} * {name}") }
}
