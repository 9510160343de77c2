//! Patterns and types as written.

use super::{ExprId, PatId, Path, TypeId};
use ein_base::{Name, Span};
use thin_vec::ThinVec;

/// A pattern.
#[derive(Clone, Debug)]
pub struct Pat {
    /// What it is.
    pub kind: PatKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of pattern.
#[derive(Clone, Debug)]
pub enum PatKind {
    /// `_`
    Wild,
    /// `x`; in a `let` tuple perhaps with a type.
    Bind {
        /// The name.
        name: Name,
        /// `b: f32`
        ty: Option<TypeId>,
    },
    /// `-1`, `2.5`, `true`, `"a"`: a literal expression, perhaps negated.
    Literal(ExprId),
    /// `1..=5`, `1..5`, `..5`, `5..`
    Range {
        /// The first value.
        lo: Option<ExprId>,
        /// The last value, or one past it.
        hi: Option<ExprId>,
        /// `..=`
        inclusive: bool,
    },
    /// `(a, b)`
    Tuple(ThinVec<PatId>),
    /// `[first, ..rest, last]`: elements before and after one rest.
    Array {
        /// Before the rest; all of them if there is none.
        before: ThinVec<PatId>,
        /// `..` or `..rest`
        rest: Option<Box<RestPat>>,
        /// After the rest.
        after: ThinVec<PatId>,
    },
    /// `Shape::Dot`: a path of two or more segments without data.
    Path(Path),
    /// `Shape::Circle(r)`
    Variant {
        /// The variant.
        path: Path,
        /// Its data.
        args: ThinVec<PatId>,
    },
    /// `Point { x, y: 0.0 }`
    Struct {
        /// The struct or variant.
        path: Path,
        /// Its fields; `x` alone binds `x`.
        fields: ThinVec<(Name, PatId)>,
        /// `..` at the end: other fields may hold anything.
        rest: bool,
    },
    /// `a | b`
    Or(ThinVec<PatId>),
    /// `n @ 1..=9`
    At(Name, PatId),
    /// Something that could not be parsed; it was reported.
    Error,
}

/// The rest of an array pattern.
#[derive(Clone, Copy, Debug)]
pub struct RestPat {
    /// Its name, if it has one.
    pub name: Option<Name>,
    /// Where it stands.
    pub span: Span,
}

/// A type as written.
#[derive(Clone, Debug)]
pub struct Type {
    /// What it is.
    pub kind: TypeKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of type.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// `f32`, `Point`, `Option<i32>`
    Path {
        /// The name.
        path: Path,
        /// Its type arguments.
        args: ThinVec<TypeId>,
    },
    /// `[T]` (no dimensions written) and `[T; 2, n: ?m, ..s]`
    Array {
        /// The elements.
        elem: TypeId,
        /// One entry per axis or pack; `None` for `[T]`.
        dims: Option<ThinVec<Dim>>,
        /// A trailing `!`: must not broadcast.
        no_broadcast: bool,
    },
    /// `[T; *]`
    AnyRank(TypeId),
    /// `jagged[T]` and `jagged[T; 2d]`
    Jagged {
        /// The elements.
        elem: TypeId,
        /// How many levels; 2 if not written.
        depth: Option<u32>,
    },
    /// `(T, U)`, and `()`
    Tuple(ThinVec<TypeId>),
    /// `(T, U) -> R`
    Function {
        /// The parameters.
        params: ThinVec<TypeId>,
        /// The result.
        ret: TypeId,
    },
    /// `some n m. T`
    Some {
        /// The hidden sizes.
        sizes: ThinVec<Name>,
        /// What they are hidden in.
        body: TypeId,
    },
    /// Something that could not be parsed; it was reported.
    Error,
}

/// An axis, or a pack of axes, in an array type.
#[derive(Clone, Debug)]
pub struct Dim {
    /// What it is.
    pub kind: DimKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of axis.
#[derive(Clone, Debug)]
pub enum DimKind {
    /// `?`, `?n`, `3`, `?m + 1`: an anonymous axis of this extent.
    Size(ExprId),
    /// `batch`, `batch: 32`, `query in seq`. A bare name that is a constant or a hidden size in
    /// scope is an extent; resolution decides.
    Coord {
        /// The coordinate, or the role.
        name: Name,
        /// The stated extent.
        extent: Option<ExprId>,
        /// The coordinate that this one is a role of.
        over: Option<Name>,
    },
    /// `..s`
    Pack(Name),
}
