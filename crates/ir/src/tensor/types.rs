//! Types of values: element type, layout and sizes.

use super::DataId;
use crate::size;
use ein_base::Symbol;
use ein_scalar::ScalarType;
use std::sync::Arc;
use thin_vec::ThinVec;

/// The type of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// `()`
    Unit,
    /// A number or truth value.
    Scalar(ScalarType),
    /// A text.
    Str,
    /// A rectangular array; many values have the same.
    Array(Arc<ArrayType>),
    /// An array whose rank only the run knows.
    AnyRank(Box<Type>),
    /// Nested arrays of unequal lengths: the element and how many levels.
    Jagged(Box<Type>, u32),
    /// A tuple.
    Tuple(ThinVec<Type>),
    /// A struct or enum.
    Data(DataId, ThinVec<Type>),
    /// A function value whose code is chosen per call: the number of the checker's template, and
    /// the types of what it captured.
    Template(u32, ThinVec<Type>),
    /// A function value whose code is chosen; parameters and result are fixed.
    Signature(Arc<Signature>),
    /// `lo..hi` as a value.
    Range,
    /// What an error left; agrees with everything.
    Error,
}

/// What a function value takes and gives. The tangent of such a value has the type of the value, as
/// all tangents do, and takes the arguments followed by their tangents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Signature {
    /// Its parameters.
    pub params: Vec<Type>,
    /// Its result.
    pub ret: Type,
}

// Every expression has one.
const _: () = assert!(size_of::<Type>() <= 16);

/// A rectangular array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArrayType {
    /// The type of an element; never an array.
    pub elem: Type,
    /// The axes.
    pub axes: Vec<Axis>,
}

/// An axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axis {
    /// Its coordinate, if it has one.
    pub coord: Option<Coord>,
    /// Its extent.
    pub size: size::Expr,
}

/// A coordinate on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Coord {
    /// Its name.
    pub name: Symbol,
    /// The coordinate that it is a role of.
    pub over: Option<Symbol>,
    /// Whether indices at this axis are held to its name.
    pub contract: bool,
}

impl Coord {
    /// The coordinate that counts when two are compared: the one it is a role of, or itself.
    pub fn root(self) -> Symbol {
        self.over.unwrap_or(self.name)
    }
}

impl Axis {
    /// An axis without a name.
    pub fn anonymous(size: size::Expr) -> Self {
        Self { coord: None, size }
    }
}

impl Type {
    /// An array, or the element itself if there are no axes.
    pub fn array(elem: Type, axes: Vec<Axis>) -> Type {
        if axes.is_empty() {
            return elem;
        }
        match elem {
            Type::Array(inner) => {
                let mut axes = axes;
                let inner = Arc::unwrap_or_clone(inner);
                axes.extend(inner.axes);
                Type::Array(Arc::new(ArrayType { elem: inner.elem, axes }))
            }
            elem => Type::Array(Arc::new(ArrayType { elem, axes })),
        }
    }
    /// Functions that take `params` and give `ret`.
    pub fn signature(params: Vec<Type>, ret: Type) -> Type {
        Type::Signature(Arc::new(Signature { params, ret }))
    }
    /// Whether it is a function value.
    pub fn is_fn(&self) -> bool {
        matches!(self, Type::Template(..) | Type::Signature(_))
    }
    /// The axes; none for anything but a rectangular array.
    pub fn axes(&self) -> &[Axis] {
        match self {
            Type::Array(array) => &array.axes,
            _ => &[],
        }
    }
    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.axes().len()
    }
    /// The type of an element; of anything but an array the type itself.
    pub fn elem(&self) -> &Type {
        match self {
            Type::Array(array) => &array.elem,
            other => other,
        }
    }
    /// The scalar type of an element, if it is one.
    pub fn scalar(&self) -> Option<ScalarType> {
        match self.elem() {
            Type::Scalar(ty) => Some(*ty),
            _ => None,
        }
    }
    /// Whether it is a rectangular array.
    pub fn is_array(&self) -> bool {
        matches!(self, Type::Array(_))
    }
    /// Whether an error is in it.
    pub fn has_error(&self) -> bool {
        match self {
            Type::Error => true,
            Type::Array(array) => array.elem.has_error(),
            Type::AnyRank(elem) | Type::Jagged(elem, _) => elem.has_error(),
            Type::Tuple(items) | Type::Data(_, items) => items.iter().any(Type::has_error),
            Type::Unit
            | Type::Scalar(_)
            | Type::Str
            | Type::Template(..)
            | Type::Signature(_)
            | Type::Range => false,
        }
    }
    /// Whether it follows from a mistake that was reported. Type arguments that nothing gives yet
    /// (`Option::None`) do not count: such a value can be stored, printed and passed on.
    pub fn is_broken(&self) -> bool {
        match self {
            Type::Error => true,
            Type::Array(array) => array.elem.is_broken(),
            Type::AnyRank(elem) | Type::Jagged(elem, _) => elem.is_broken(),
            Type::Tuple(items) => items.iter().any(Type::is_broken),
            Type::Unit
            | Type::Scalar(_)
            | Type::Str
            | Type::Data(..)
            | Type::Template(..)
            | Type::Signature(_)
            | Type::Range => false,
        }
    }
    /// The boolean type.
    pub const BOOL: Type = Type::Scalar(ScalarType::Bool);
    /// The type of indices and sizes.
    pub const I32: Type = Type::Scalar(ScalarType::I32);
    /// The type of float literals.
    pub const F32: Type = Type::Scalar(ScalarType::F32);
}
