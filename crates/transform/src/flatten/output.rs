//! What comes of statements: their points, and what the variables that matter outside are.

use super::Made;
use crate::points::{Arr, Body, Input, Points, Slot};
use ein_ir::tensor::VarId;
use ein_scalar::Scalar;
use rustc_hash::FxHashSet;

/// What statements compute.
#[derive(Clone, Debug)]
pub struct Flattened {
    /// The definitions.
    pub points: Points,
    /// What the variables that matter outside are.
    pub outputs: Vec<(VarId, Output)>,
    /// Scalars that were taken as constants.
    pub assumed: Vec<(Input, Scalar)>,
}

impl Flattened {
    /// The arrays that matter outside.
    pub fn wanted(&self) -> FxHashSet<Arr> {
        self.outputs.iter().flat_map(|(_, output)| output.arrays()).collect()
    }

    /// Leaves only some rows of the one array that matters to be computed; whether that is possible.
    pub fn only_rows(&mut self, rows: std::ops::Range<i64>) -> bool {
        let [(_, Output::Array(arr))] = self.outputs.as_slice() else { return false };
        let Some(at) = self.points.def_of(*arr) else { return false };
        let Body::Clauses(clauses, None) = self.points.defs[at].body.clone() else { return false };
        let points = &mut self.points;
        let mut kept = Vec::new();
        for clause in &clauses {
            let known = |slot: &Slot| points.as_int(slot.lo).zip(points.as_int(slot.hi));
            if !clause.slots.iter().all(|slot| known(slot).is_some()) {
                return false;
            }
            let Some((lo, hi)) = clause.slots.first().and_then(known) else { return false };
            let (lo, hi) = (lo.max(rows.start), hi.min(rows.end));
            if lo < hi {
                kept.push(points.restricted(clause, 0, (i128::from(lo), i128::from(hi) - 1)));
            }
        }
        points.defs[at].body = Body::Clauses(kept, None);
        true
    }
}

/// What a variable is.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// A whole array.
    Array(Arr),
    /// The first positions of an array along some axes: as many as the only cell of another array
    /// without axes says.
    Part(Arr, Vec<(usize, Arr)>),
    /// The only cell of an array without axes.
    Scalar(Arr),
    /// A constant.
    Constant(Scalar),
    /// What was given.
    Same(Input),
    /// A tuple, or a struct or variant.
    Record(Option<Made>, Vec<Output>),
}

impl Output {
    /// The arrays that it is made of.
    pub(crate) fn arrays(&self) -> Vec<Arr> {
        match self {
            Output::Array(arr) | Output::Scalar(arr) => vec![*arr],
            Output::Part(arr, ends) => {
                [*arr].into_iter().chain(ends.iter().map(|(_, end)| *end)).collect()
            }
            Output::Constant(_) | Output::Same(_) => Vec::new(),
            Output::Record(_, parts) => parts.iter().flat_map(Output::arrays).collect(),
        }
    }
}
