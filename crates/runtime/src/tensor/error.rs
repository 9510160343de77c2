//! What can be wrong with a request to a tensor.

use std::fmt;

use ein_scalar::ScalarType;

use crate::MemoryError;

/// Why there is no such tensor or element.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TensorError {
    /// There is not enough memory.
    Memory(MemoryError),
    /// An axis that the tensor does not have.
    Axis {
        /// The axis asked for.
        axis: usize,
        /// The number of axes there are.
        rank: usize,
    },
    /// Another number of indices than axes.
    Rank {
        /// The number given.
        given: usize,
        /// The number of axes.
        rank: usize,
    },
    /// An index outside its axis.
    Bounds {
        /// The axis.
        axis: usize,
        /// The index.
        index: usize,
        /// The extent of the axis.
        extent: usize,
    },
    /// A number of elements that does not fill the shape.
    Count {
        /// The number given.
        given: usize,
        /// The shape to be filled.
        shape: Vec<usize>,
    },
    /// Two shapes that should agree and do not.
    Shape {
        /// The first.
        left: Vec<usize>,
        /// The second.
        right: Vec<usize>,
    },
    /// Another element type than expected.
    Type {
        /// The type given.
        given: ScalarType,
        /// The type expected.
        expected: ScalarType,
    },
}

impl fmt::Display for TensorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TensorError::Memory(error) => error.fmt(f),
            TensorError::Axis { axis, rank } => {
                write!(f, "no axis {axis} in an array of rank {rank}")
            }
            TensorError::Rank { given, rank } => {
                write!(f, "{given} indices into an array of rank {rank}")
            }
            TensorError::Bounds { axis, index, extent } => {
                write!(f, "index {index} on axis {axis}, which runs over 0..{extent}")
            }
            TensorError::Count { given, shape } => {
                write!(f, "{given} elements do not fill the shape {shape:?}")
            }
            TensorError::Shape { left, right } => {
                write!(f, "the shapes {left:?} and {right:?} do not agree")
            }
            TensorError::Type { given, expected } => {
                write!(f, "elements of type {given} where {expected} is expected")
            }
        }
    }
}

impl std::error::Error for TensorError {}

impl From<MemoryError> for TensorError {
    fn from(error: MemoryError) -> TensorError {
        TensorError::Memory(error)
    }
}
