//! Extents: constants, or constants that fall from step to step of a recursion.

use super::{Flat, Flatten, declined};
use crate::points::{Kind, Node};
use ein_base::Span;
use ein_ir::size;
use ein_scalar::BinaryOp;
use rustc_hash::FxHashMap;

/// How many positions an axis has: `first - fall × step`, where the step is that of the recursion
/// that is being turned into a loop; or a number that only the run knows, `first` at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) first: i64,
    pub(crate) fall: i64,
    /// The number, where steps that ended by themselves tell.
    pub(crate) counted: Option<Node>,
}

impl Extent {
    /// The same at every step.
    pub(crate) fn fixed(extent: i64) -> Extent {
        Extent { first: extent, fall: 0, counted: None }
    }

    /// The number, if it is the same at every step.
    pub(crate) fn constant(self) -> Option<i64> {
        (self.fall == 0 && self.counted.is_none()).then_some(self.first)
    }

    /// The number at a step.
    pub(crate) fn at(self, step: i64) -> i64 {
        self.first - self.fall * step
    }

    /// The extent one step later.
    pub(crate) fn later(self) -> Extent {
        Extent { first: self.first - self.fall, ..self }
    }

    /// The sum of two that no run has to tell.
    pub(crate) fn plus(self, other: Extent) -> Extent {
        let (first, fall) = (self.first + other.first, self.fall + other.fall);
        Extent { first, fall, counted: None }
    }

    /// The difference of two that no run has to tell.
    pub(crate) fn minus(self, other: Extent) -> Extent {
        let (first, fall) = (self.first - other.first, self.fall - other.fall);
        Extent { first, fall, counted: None }
    }
}

/// A shape that does not change.
pub(crate) fn fixed_shape(shape: &[i64]) -> Vec<Extent> {
    shape.iter().copied().map(Extent::fixed).collect()
}

/// Refuses a shape that has more positions along an axis than integers can count: the evaluator says
/// so, whether or not anybody asks for the cells.
pub(crate) fn countable(shape: &[Extent], span: Span) -> Flat<()> {
    match shape.iter().all(|extent| i32::try_from(extent.first).is_ok()) {
        true => Ok(()),
        false => Err(declined("a size that does not fit its type", span)),
    }
}

impl Flatten<'_> {
    /// Whether only steps that end by themselves tell what a number is.
    pub(crate) fn is_counted(&self, node: Node) -> bool {
        let loads = if self.counts.is_empty() { Vec::new() } else { self.points.loads(&[node]) };
        !loads.is_empty() && loads.iter().all(|(arr, _)| self.counts.contains(arr))
    }

    /// Such a number as an extent.
    fn counted_extent(&self, node: Node, span: Span) -> Flat<Extent> {
        match self.points.nodes[node].range.map(|(lo, hi)| (lo, i64::try_from(hi))) {
            Some((lo, Ok(first))) if lo >= 0 => Ok(Extent { first, fall: 0, counted: Some(node) }),
            _ => Err(declined("a size that depends on data", span)),
        }
    }

    /// The most that the extents of a shape can be.
    pub(crate) fn room(&self, shape: &[Extent], span: Span) -> Flat<Vec<i64>> {
        let most = |extent: &Extent| match extent.counted {
            Some(_) => Ok(extent.first),
            None => extent
                .constant()
                .ok_or_else(|| declined("a shape that shrinks with the depth", span)),
        };
        shape.iter().map(most).collect()
    }

    /// The extents of a shape that may not change from step to step.
    pub(crate) fn constants(&self, shape: &[Extent], span: Span) -> Flat<Vec<i64>> {
        let constant = |extent: &Extent| {
            extent.constant().ok_or_else(|| declined("a shape that shrinks with the depth", span))
        };
        shape.iter().map(constant).collect()
    }

    /// The least and the greatest number that an extent is at the steps that are looked at.
    pub(crate) fn span_of(&self, extent: Extent) -> (i64, i64) {
        let last = self.descent.as_ref().map_or(0, |descent| descent.last);
        let (a, b) = (extent.at(0), extent.at(last));
        (a.min(b), a.max(b))
    }

    /// An extent as a node.
    pub(crate) fn extent_node(&mut self, extent: Extent) -> Node {
        if let Some(node) = extent.counted {
            return node;
        }
        let first = self.points.int(extent.first);
        let Some(step) = self.descent.as_ref().map(|d| d.step).filter(|_| extent.fall != 0) else {
            return first;
        };
        let step = self.points.index(step);
        let fall = self.points.int(extent.fall);
        let fallen = self.points.binary(BinaryOp::Mul, step, fall, None);
        self.points.binary(BinaryOp::Sub, first, fallen, None)
    }

    /// The extent that an integer is; one of outside is taken as a constant.
    pub(crate) fn as_extent(&mut self, node: Node, span: Span) -> Flat<Extent> {
        if let Some(step) = self.descent.as_ref().map(|descent| descent.step) {
            let sum = self.points.linear(node);
            if let [(term, factor)] = sum.terms.as_slice()
                && self.points.nodes[*term].kind == Kind::Index(step)
            {
                return Ok(Extent { first: sum.offset, fall: -factor, counted: None });
            }
            if sum.terms.is_empty() {
                return Ok(Extent::fixed(sum.offset));
            }
        }
        if self.is_counted(node) {
            return self.counted_extent(node, span);
        }
        self.constant_int(node, span).map(Extent::fixed)
    }

    /// The extent that a size is.
    pub(crate) fn extent(&mut self, size: &size::Expr, span: Span) -> Flat<Extent> {
        if let Some(value) = size.as_constant() {
            return Ok(Extent::fixed(value));
        }
        let mut values = FxHashMap::default();
        let mut linear = true;
        for atom in size.atoms() {
            let node = self.atom(atom, span)?;
            let extent = self.as_extent(node, span)?;
            if extent.counted.is_some() {
                let node = self.size(size, span)?;
                return self.counted_extent(node, span);
            }
            linear &= extent.fall == 0 || size.affine_in(atom).is_some();
            values.insert(atom, extent);
        }
        let at = |step: i64| size.eval(&|atom| values.get(&atom).map(|extent| extent.at(step)));
        let (Some(first), Some(second)) = (at(0), at(1)) else {
            return Err(declined("a size without a value", span));
        };
        if !linear {
            return Err(declined("a size that does not fall evenly", span));
        }
        Ok(Extent { first, fall: first - second, counted: None })
    }
}
