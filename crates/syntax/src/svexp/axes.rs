//! Values and their axes.

use crate::ast::ExprId;
use crate::notation::Elem;
use crate::notation::size::Size;
use ein_base::Name;

/// A value of the notation.
#[derive(Clone, Debug)]
pub(super) struct Val {
    pub(super) code: Code,
    pub(super) elem: Elem,
    /// The axes of its array in order, which is the order of their numbers.
    pub(super) inner: Vec<(u32, Size)>,
    /// The axes it is typical along, each an index variable, with what limits them.
    pub(super) outer: Vec<(u32, Vec<Limit>)>,
    /// The result of a function that is still translated.
    pub(super) unknown: bool,
}

/// How a value is computed.
#[derive(Clone, Debug)]
pub(super) enum Code {
    /// By an expression.
    Plain(ExprId),
    /// By an indexed definition that is not written yet: its inner axes, and the scalar body.
    Projected(Vec<Projected>, ExprId),
}

/// An inner axis that an outer one became.
#[derive(Clone, Debug)]
pub(super) struct Projected {
    pub(super) axis: u32,
    pub(super) index: Name,
    pub(super) domain: Option<ExprId>,
}

/// What an outer axis must not exceed.
#[derive(Clone, Debug)]
pub(super) struct Limit {
    pub(super) size: Size,
    /// The extent as an expression, where the size does not say it.
    pub(super) code: ExprId,
}

impl Val {
    pub(super) fn scalar(code: ExprId, elem: Elem) -> Self {
        let (inner, outer) = (Vec::new(), Vec::new());
        Self { code: Code::Plain(code), elem, inner, outer, unknown: false }
    }

    /// Where an inner axis stands.
    pub(super) fn position(&self, axis: u32) -> Option<usize> {
        self.inner.iter().position(|it| it.0 == axis)
    }

    /// Whether two values have the same inner axes, leaving one out.
    pub(super) fn same_axes(&self, other: &Val, but: Option<u32>) -> bool {
        let axes = |it: &Val| -> Vec<u32> {
            it.inner.iter().map(|it| it.0).filter(|it| Some(*it) != but).collect()
        };
        self.unknown || other.unknown || axes(self) == axes(other)
    }
}

/// The outer axes of several values together.
pub(super) fn merged(values: &[&Val]) -> Vec<(u32, Vec<Limit>)> {
    let mut out: Vec<(u32, Vec<Limit>)> = Vec::new();
    for (axis, limits) in values.iter().flat_map(|it| &it.outer) {
        match out.iter_mut().find(|it| it.0 == *axis) {
            Some(known) => add_limits(&mut known.1, limits),
            None => out.push((*axis, limits.clone())),
        }
    }
    out
}

/// Adds limits that are not there yet.
pub(super) fn add_limits(known: &mut Vec<Limit>, more: &[Limit]) {
    for limit in more {
        let same = |it: &Limit| it.size == limit.size && it.size != Size::Opaque;
        if !known.iter().any(|it| same(it) || it.code == limit.code) {
            known.push(limit.clone());
        }
    }
}

/// The axes as a reader names them.
pub(super) fn described(value: &Val) -> String {
    let names: Vec<String> = value.inner.iter().map(|it| it.0.to_string()).collect();
    match names.len() {
        0 => "it is a scalar".into(),
        1 => format!("it has axis {}", names.concat()),
        _ => format!("it has axes {}", names.join(", ")),
    }
}
