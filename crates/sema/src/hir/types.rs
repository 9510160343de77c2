//! Patterns and types.

use super::{DefId, ExprId, LocalId};
use ein_base::{Name, Span};
use ein_scalar::ScalarType;
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
    /// `x`, `x: T`
    Bind(LocalId, Option<Box<Type>>),
    /// A literal, perhaps negated.
    Literal(ExprId),
    /// `1..=5`
    Range {
        /// The first value.
        lo: Option<ExprId>,
        /// The last value, or one past it.
        hi: Option<ExprId>,
        /// `..=`
        inclusive: bool,
    },
    /// A constant.
    Const(DefId),
    /// `(a, b)`
    Tuple(ThinVec<Pat>),
    /// `[a, ..rest, b]`
    Array {
        /// Before the rest.
        before: ThinVec<Pat>,
        /// The rest: `Some(None)` is `..` without a name.
        rest: Option<Option<LocalId>>,
        /// After the rest.
        after: ThinVec<Pat>,
    },
    /// A struct or variant. Fields that are not named match anything only if `rest`.
    Data {
        /// The struct or enum.
        def: DefId,
        /// The variant, for an enum.
        variant: Option<usize>,
        /// Field name and pattern; for `V(a, b)` the names are `0`, `1`.
        fields: ThinVec<(Name, Pat)>,
        /// `..`
        rest: bool,
    },
    /// `a | b`: alternatives bind the same names, to the same ids.
    Or(ThinVec<Pat>),
    /// `n @ p`
    At(LocalId, Box<Pat>),
    /// Broken; it was reported.
    Error,
}

impl Pat {
    /// Calls `f` with every name that it binds.
    pub(crate) fn each_local(&self, f: &mut dyn FnMut(LocalId)) {
        match &self.kind {
            PatKind::Bind(local, _) => f(*local),
            PatKind::Wild
            | PatKind::Literal(_)
            | PatKind::Range { .. }
            | PatKind::Const(_)
            | PatKind::Error => {}
            PatKind::Tuple(items) | PatKind::Or(items) => {
                items.iter().for_each(|item| item.each_local(f));
            }
            PatKind::Array { before, rest, after } => {
                before.iter().chain(after).for_each(|item| item.each_local(f));
                rest.iter().flatten().for_each(|local| f(*local));
            }
            PatKind::Data { fields, .. } => {
                fields.iter().for_each(|(_, item)| item.each_local(f));
            }
            PatKind::At(local, inner) => {
                f(*local);
                inner.each_local(f);
            }
        }
    }
}

/// A type.
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
    /// `f32`
    Scalar(ScalarType),
    /// `str`
    Str,
    /// A struct or enum with its arguments.
    Data(DefId, ThinVec<Type>),
    /// A type parameter.
    Param(LocalId),
    /// `[T]` is one dimension of unknown size.
    Array {
        /// The elements.
        elem: Box<Type>,
        /// One entry per axis or pack.
        dims: ThinVec<Dim>,
        /// A trailing `!`.
        no_broadcast: bool,
    },
    /// `[T; *]`
    AnyRank(Box<Type>),
    /// `jagged[T]`
    Jagged(Box<Type>, u32),
    /// `(T, U)`, `()`
    Tuple(ThinVec<Type>),
    /// `(T) -> R`
    Function(ThinVec<Type>, Box<Type>),
    /// `some k. T`
    Some(ThinVec<LocalId>, Box<Type>),
    /// Broken; it was reported.
    Error,
}

/// An axis or pack.
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
    /// `?`
    Unknown,
    /// An anonymous axis: an expression over literals, constants and sizes.
    Size(ExprId),
    /// A coordinate.
    Coord {
        /// Its name.
        name: Name,
        /// Its extent, if stated; `?` is none.
        extent: Option<ExprId>,
        /// The coordinate it is a role of.
        over: Option<Name>,
    },
    /// `..s`
    Pack(LocalId),
}
