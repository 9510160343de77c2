//! Statements, and what introduces index variables.

use super::{ExprId, LocalId, Pat, Type};
use ein_base::{Name, Span};
use thin_vec::ThinVec;

/// A statement.
#[derive(Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of statement; items are gone.
#[derive(Debug)]
pub enum StmtKind {
    /// `let p: T = e;`
    Let {
        /// What is bound.
        pat: Pat,
        /// The annotation.
        ty: Option<Box<Type>>,
        /// The value.
        value: ExprId,
    },
    /// All clauses of one indexed definition.
    Define(Definition),
    /// An expression for its effect.
    Expr(ExprId),
}

/// An indexed definition: one or more clauses over one name.
#[derive(Debug)]
pub struct Definition {
    /// What is defined; in scope in its own clauses.
    pub local: LocalId,
    /// Its clauses, in source order.
    pub clauses: Vec<Clause>,
}

/// One clause.
#[derive(Debug)]
pub struct Clause {
    /// The name as written here.
    pub name: Name,
    /// The slots on the left.
    pub slots: ThinVec<LeftSlot>,
    /// The body; a trailing `where` is an [`ExprKind::Where`].
    pub body: ExprId,
    /// The whole clause.
    pub span: Span,
}

/// A slot on the left.
#[derive(Debug)]
pub struct LeftSlot {
    /// What it is.
    pub kind: LeftSlotKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of slot on the left.
#[derive(Debug)]
pub enum LeftSlotKind {
    /// `i`, `i in domain`, `..batch`
    Index(Binder),
    /// A literal point.
    Literal(i64),
    /// A point that a constant expression gives.
    Point(ExprId),
    /// Broken; it was reported.
    Error,
}

/// A place where an index variable or pack is introduced.
#[derive(Clone, Debug)]
pub struct Binder {
    /// The variable, of kind [`LocalKind::Index`] or [`LocalKind::Pack`].
    pub local: LocalId,
    /// Its name.
    pub name: Name,
    /// Whether it is a pack.
    pub pack: bool,
    /// Its domain, if one is written.
    pub domain: Option<Domain>,
}

/// A domain as written.
#[derive(Clone, Debug)]
pub enum Domain {
    /// `lo..hi`, `lo..=hi`
    Range {
        /// The first value.
        lo: ExprId,
        /// One past the last value, or the last.
        hi: ExprId,
        /// `..=`
        inclusive: bool,
        /// Where it stands.
        span: Span,
    },
    /// The domain of a coordinate.
    Coord(CoordRef),
    /// Something else; the checker says what may stand here.
    Other(ExprId),
}

/// The name of a coordinate where it is used as one.
#[derive(Clone, Copy, Debug)]
pub struct CoordRef {
    /// The coordinate.
    pub name: Name,
    /// The index variable of that name that is in scope here, if there is one.
    pub local: Option<LocalId>,
}
