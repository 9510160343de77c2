//! Items.

use super::{ExprId, LocalId, ModuleId, Pat, Type};
use ein_base::{Name, Span};
use thin_vec::ThinVec;

/// An item.
#[derive(Debug)]
pub struct Def {
    /// Its name.
    pub name: Name,
    /// The module it stands in.
    pub module: ModuleId,
    /// Exported?
    pub public: bool,
    /// What it is.
    pub kind: DefKind,
}

/// The kinds of item.
#[derive(Debug)]
pub enum DefKind {
    /// A function.
    Fn(Box<Function>),
    /// A constant.
    Const(Const),
    /// A struct.
    Struct(Struct),
    /// An enum.
    Enum(Enum),
    /// An item whose text was broken; uses of it are not reported again.
    Error,
}

impl DefKind {
    /// The type parameters of a struct or enum.
    pub(crate) fn generics(&self) -> &[LocalId] {
        match self {
            DefKind::Struct(data) => &data.generics,
            DefKind::Enum(data) => &data.generics,
            DefKind::Fn(_) | DefKind::Const(_) | DefKind::Error => &[],
        }
    }

    /// The fields of a struct, or of each variant of an enum.
    pub(crate) fn forms(&self) -> Vec<&[Field]> {
        match self {
            DefKind::Struct(data) => vec![&data.fields],
            DefKind::Enum(data) => data.variants.iter().map(|it| it.fields.as_slice()).collect(),
            DefKind::Fn(_) | DefKind::Const(_) | DefKind::Error => Vec::new(),
        }
    }
}

/// A constant.
#[derive(Debug)]
pub struct Const {
    /// The annotation.
    pub ty: Option<Box<Type>>,
    /// The value.
    pub value: ExprId,
}

/// A function.
#[derive(Debug)]
pub struct Function {
    /// `<T, U>`: each is a [`LocalKind::TypeParam`].
    pub generics: ThinVec<LocalId>,
    /// `[c, ..s]`; `None` without brackets.
    pub coords: Option<ThinVec<CoordParam>>,
    /// Its parameters.
    pub params: ThinVec<Param>,
    /// The declared result.
    pub ret: Option<Type>,
    /// Its body.
    pub body: ExprId,
    /// Its size names `?n`, in order of first appearance in the signature.
    pub sizes: ThinVec<LocalId>,
    /// Its packs, in order of first appearance in brackets and signature.
    pub packs: ThinVec<LocalId>,
    /// The values of the bodies around it that a nested function reads.
    pub captures: ThinVec<LocalId>,
    /// The `@fn` that belongs to it.
    pub rule: Option<Rule>,
    /// The header, from `fn` to the result type, for messages.
    pub header: Span,
}

/// The tangent rule of a function.
#[derive(Debug)]
pub struct Rule {
    /// Its parameters, in the order of the function's.
    pub params: ThinVec<Param>,
    /// The tangent of the result.
    pub body: ExprId,
    /// Where it stands.
    pub span: Span,
}

/// A coordinate parameter.
#[derive(Clone, Copy, Debug)]
pub struct CoordParam {
    /// Its name.
    pub name: Name,
    /// The pack it declares, if it is one.
    pub pack: Option<LocalId>,
    /// A pack that is empty where the call does not say what it stands for.
    pub empty: bool,
}

/// A parameter of a function or closure.
#[derive(Clone, Debug)]
pub struct Param {
    /// What it binds.
    pub pat: Pat,
    /// Its name, unless it is a pattern.
    pub name: Option<Name>,
    /// The annotation.
    pub ty: Option<Box<Type>>,
    /// The default.
    pub default: Option<ExprId>,
    /// Where it stands.
    pub span: Span,
}

/// A struct.
#[derive(Debug)]
pub struct Struct {
    /// `<T>`
    pub generics: ThinVec<LocalId>,
    /// Its fields.
    pub fields: ThinVec<Field>,
}

/// A field of a struct or variant.
#[derive(Debug)]
pub struct Field {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: Type,
}

/// An enum.
#[derive(Debug)]
pub struct Enum {
    /// `<T>`
    pub generics: ThinVec<LocalId>,
    /// Its variants.
    pub variants: ThinVec<Variant>,
}

/// A variant.
#[derive(Debug)]
pub struct Variant {
    /// Its name.
    pub name: Name,
    /// Its fields; those of `V(T, U)` are named `0`, `1`.
    pub fields: ThinVec<Field>,
    /// How it is written.
    pub shape: VariantShape,
}

/// How a variant is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariantShape {
    /// `V`
    Unit,
    /// `V(…)`
    Tuple,
    /// `V { … }`
    Struct,
}
