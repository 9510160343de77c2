//! Bindings and items as written.

use super::{ExprId, PatId, StmtId, TypeId};
use ein_base::{Name, Span, Symbol};
use thin_vec::ThinVec;

/// `let p: T = e;`
#[derive(Clone, Debug)]
pub struct Let {
    /// What is bound.
    pub pat: PatId,
    /// The annotation.
    pub ty: Option<TypeId>,
    /// The value; a trailing `where` is an [`ExprKind::Where`].
    pub value: ExprId,
}

/// `let A[i in 0..n, 0, ..rest] = e;`
#[derive(Clone, Debug)]
pub struct Clause {
    /// The tensor defined.
    pub name: Name,
    /// The slots on the left.
    pub slots: ThinVec<LeftSlot>,
    /// The body; a trailing `where` is an [`ExprKind::Where`].
    pub value: ExprId,
}

/// A slot on the left of an indexed definition.
#[derive(Clone, Debug)]
pub struct LeftSlot {
    /// What it is.
    pub kind: LeftSlotKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of slot on the left.
#[derive(Clone, Debug)]
pub enum LeftSlotKind {
    /// `i` or `i in domain`.
    Index {
        /// The index variable.
        name: Name,
        /// A range, or the name of a coordinate.
        domain: Option<ExprId>,
    },
    /// A literal point.
    Literal(i64),
    /// A point that a constant expression gives: `T - 1`.
    Point(ExprId),
    /// `..batch`
    Pack(Name),
    /// Something that may not stand here; it was reported.
    Error,
}

/// `const N: T = e;`
#[derive(Clone, Debug)]
pub struct Const {
    /// Exported?
    pub public: bool,
    /// Its name.
    pub name: Name,
    /// The annotation.
    pub ty: Option<TypeId>,
    /// The value.
    pub value: ExprId,
}

/// A function, or the tangent rule of one.
#[derive(Clone, Debug)]
pub struct Function {
    /// Exported?
    pub public: bool,
    /// Its name.
    pub name: Name,
    /// `<T, U>`
    pub generics: ThinVec<Name>,
    /// `[c, ..s]`; `None` without brackets, which is not the same as empty ones.
    pub coords: Option<ThinVec<CoordParam>>,
    /// Its parameters.
    pub params: ThinVec<Param>,
    /// The declared result.
    pub ret: Option<TypeId>,
    /// The body, a block.
    pub body: ExprId,
}

/// A coordinate parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoordParam {
    /// Its name.
    pub name: Name,
    /// `..s`: stands for any number of coordinates.
    pub pack: bool,
    /// `..s = ()`: for none, where the call does not say.
    pub empty: bool,
}

/// A parameter of a function or closure.
#[derive(Clone, Debug)]
pub struct Param {
    /// What it binds: a name for functions, a name or tuple for closures.
    pub pat: PatId,
    /// The annotation.
    pub ty: Option<TypeId>,
    /// The default.
    pub default: Option<ExprId>,
    /// Where it stands.
    pub span: Span,
}

/// `use a::b::{c, d as e};`, flattened: one entry per imported name.
#[derive(Clone, Debug)]
pub struct Use {
    /// Re-exported?
    pub public: bool,
    /// The tree after `use`.
    pub tree: UseTree,
}

/// A path with what follows it in a `use`.
#[derive(Clone, Debug)]
pub struct UseTree {
    /// `a::b`; empty for a bare `{…}`.
    pub prefix: ThinVec<Name>,
    /// What is taken from there.
    pub kind: UseKind,
    /// Where it stands.
    pub span: Span,
}

/// What a `use` takes from its prefix.
#[derive(Clone, Debug)]
pub enum UseKind {
    /// The last segment itself, perhaps under another name.
    Name(Option<Name>),
    /// `*`
    Glob,
    /// `{…}`
    Group(ThinVec<UseTree>),
}

/// `mod m;` or `mod m { … }`
#[derive(Clone, Debug)]
pub struct Module {
    /// Exported?
    pub public: bool,
    /// Its name.
    pub name: Name,
    /// Its statements if it is written inline.
    pub body: Option<ThinVec<StmtId>>,
}

/// `struct S<T> { x: T }`
#[derive(Clone, Debug)]
pub struct Struct {
    /// Exported?
    pub public: bool,
    /// Its name.
    pub name: Name,
    /// `<T, U>`
    pub generics: ThinVec<Name>,
    /// Its fields.
    pub fields: ThinVec<Field>,
}

/// A field of a struct or of a variant.
#[derive(Clone, Debug)]
pub struct Field {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: TypeId,
}

/// `enum E<T> { A, B(T), C { x: T } }`
#[derive(Clone, Debug)]
pub struct Enum {
    /// Exported?
    pub public: bool,
    /// Its name.
    pub name: Name,
    /// `<T, U>`
    pub generics: ThinVec<Name>,
    /// Its variants.
    pub variants: ThinVec<Variant>,
}

/// A variant of an enum.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name.
    pub name: Name,
    /// What it carries.
    pub data: VariantData,
}

/// What a variant carries.
#[derive(Clone, Debug)]
pub enum VariantData {
    /// Nothing.
    Unit,
    /// `(T, U)`
    Tuple(ThinVec<TypeId>),
    /// `{ x: T }`
    Struct(ThinVec<Field>),
}

/// `test "name" { … }`
#[derive(Clone, Debug)]
pub struct Test {
    /// The text between the quotes.
    pub name: Symbol,
    /// Where the name stands.
    pub name_span: Span,
    /// The body, a block.
    pub body: ExprId,
}
