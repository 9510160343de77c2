//! What is known of a value of the graph while its program is written.

use std::rc::Rc;

use crate::data::{Data, Stored};
use crate::dims::Dim;
use crate::elem::Elem;

/// A value of the graph.
#[derive(Clone, Debug)]
pub struct Value {
    /// The element type.
    pub elem: Elem,
    /// The extents.
    pub shape: Vec<Dim>,
    /// What the axes are called where it was defined.
    pub axes: Vec<String>,
    /// Its elements, if they are constant.
    pub known: Option<Rc<Data>>,
    /// Where its elements come from when the program runs.
    pub source: Source,
}

/// Where the elements of a value come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A name of the program.
    Bound(String),
    /// A constant that stands nowhere yet; the number tells it from others.
    Constant(u32),
    /// A weight that has not been loaded yet.
    Weight(u32, Rc<Stored>, Rc<str>),
}

impl Value {
    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The only element of a constant.
    pub fn single(&self) -> Option<&Data> {
        self.known.as_deref().filter(|data| data.len() == 1)
    }

    /// The only element of a constant as a float.
    pub fn float(&self) -> Option<f64> {
        self.single()?.as_floats()?.first().copied()
    }

    /// The only element of a constant as an integer.
    pub fn int(&self) -> Option<i64> {
        self.single()?.as_ints()?.first().copied()
    }

    /// The elements of a constant of integers.
    pub fn ints(&self) -> Option<Vec<i64>> {
        self.known.as_deref()?.as_ints()
    }
}
