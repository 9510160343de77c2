//! What comes of statements: their points, and what the variables that matter outside are.

use super::Made;
use crate::points::{Arr, Input, Points};
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
    /// If nobody looks at all of an output: the positions along an axis that matter.
    pub rows: Option<(usize, (i64, i64))>,
}

impl Flattened {
    /// The arrays that matter outside.
    pub fn wanted(&self) -> FxHashSet<Arr> {
        self.outputs.iter().flat_map(|(_, output)| output.arrays()).collect()
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
