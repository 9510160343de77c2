//! A node of the graph as the operators see it.

use crate::data::Stored;
use crate::proto::{AttributeProto, GraphProto};
use crate::value::Value;

/// Why a node cannot be imported.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The attribute or input it is about.
    pub attribute: Option<String>,
    /// What is wrong, in a few words.
    pub why: String,
}

/// What an operator says.
pub type Done<T = ()> = Result<T, Refusal>;

/// A refusal about the whole node.
pub fn refuse<T>(why: impl Into<String>) -> Done<T> {
    Err(Refusal { attribute: None, why: why.into() })
}

/// A refusal about an attribute or input.
pub fn refuse_at<T>(attribute: &str, why: impl Into<String>) -> Done<T> {
    Err(Refusal { attribute: Some(attribute.into()), why: why.into() })
}

/// A node with its inputs.
#[derive(Debug)]
pub struct Node<'a> {
    /// The operator.
    pub op: &'a str,
    /// Its inputs; those left out are `None`.
    pub inputs: Vec<Option<Value>>,
    /// The names of its outputs in the graph; those left out are empty.
    pub outputs: &'a [String],
    /// Its attributes.
    pub attributes: &'a [AttributeProto],
    /// The version of the operators.
    pub opset: i64,
}

impl Node<'_> {
    /// An input that must be there.
    pub fn input(&self, at: usize) -> Done<Value> {
        match self.optional(at) {
            Some(value) => Ok(value),
            None => refuse(format!("its input {at} is missing")),
        }
    }

    /// An input that may be left out.
    pub fn optional(&self, at: usize) -> Option<Value> {
        self.inputs.get(at).cloned().flatten()
    }

    /// All inputs that are there.
    pub fn all(&self) -> Vec<Value> {
        self.inputs.iter().flatten().cloned().collect()
    }

    /// The name of an output; empty if it is left out.
    pub fn out(&self, at: usize) -> &str {
        self.outputs.get(at).map_or("", String::as_str)
    }

    /// Whether an output is asked for.
    pub fn has_out(&self, at: usize) -> bool {
        !self.out(at).is_empty()
    }

    /// An attribute.
    pub fn attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.attributes.iter().find(|it| it.name == name)
    }

    /// An integer attribute.
    pub fn int(&self, name: &str, default: i64) -> i64 {
        self.attribute(name).map_or(default, |it| it.i)
    }

    /// A float attribute.
    pub fn float(&self, name: &str, default: f64) -> f64 {
        self.attribute(name).map_or(default, |it| f64::from(it.f))
    }

    /// A text attribute.
    pub fn string(&self, name: &str, default: &str) -> String {
        self.attribute(name)
            .map_or_else(|| default.to_owned(), |it| String::from_utf8_lossy(&it.s).into_owned())
    }

    /// A list of integers.
    pub fn ints(&self, name: &str) -> Option<Vec<i64>> {
        self.attribute(name).map(|it| it.ints.clone())
    }

    /// A list of texts.
    pub fn strings(&self, name: &str) -> Option<Vec<String>> {
        let strings = &self.attribute(name)?.strings;
        Some(strings.iter().map(|it| String::from_utf8_lossy(it).into_owned()).collect())
    }

    /// A graph.
    pub fn graph(&self, name: &str) -> Done<&GraphProto> {
        match self.attribute(name).and_then(|it| it.g.as_ref()) {
            Some(graph) => Ok(graph),
            None => refuse_at(name, "is missing"),
        }
    }

    /// A tensor.
    pub fn tensor(&self, name: &str) -> Done<Option<Stored>> {
        let Some(proto) = self.attribute(name).and_then(|it| it.t.as_ref()) else {
            return Ok(None);
        };
        match Stored::read(proto, std::path::Path::new("")) {
            Ok(stored) => Ok(Some(stored)),
            Err(why) => refuse_at(name, why),
        }
    }

    /// Integers that an attribute says, or from some version on an input.
    pub fn known_ints(&self, attribute: &str, at: usize) -> Done<Option<Vec<i64>>> {
        if let Some(ints) = self.ints(attribute) {
            return Ok(Some(ints));
        }
        match self.optional(at) {
            None => Ok(None),
            Some(value) => match value.ints() {
                Some(ints) => Ok(Some(ints)),
                None => refuse_at(attribute, MUST_BE_KNOWN),
            },
        }
    }
}

/// The reason for refusing an input whose value decides a shape.
pub const MUST_BE_KNOWN: &str =
    "must be constant, since the shape of the result depends on it (give it with `--constant`)";

/// An axis counted from the end if it is negative.
pub fn axis(value: i64, rank: usize) -> Done<usize> {
    let rank = rank as i64;
    let at = if value < 0 { value + rank } else { value };
    if (0..rank).contains(&at) {
        Ok(at as usize)
    } else {
        refuse_at("axis", format!("{value} is no axis of {rank}"))
    }
}
