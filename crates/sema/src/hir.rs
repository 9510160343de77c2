//! The resolved program: the tree after every name has become an id.
//!
//! * **Resolved**: no path and no string lookup is left; two `i`s in two definitions are two ids.
//!   Coordinates are identified by their symbol, because a coordinate *is* its name within one
//!   scope.
//! * **Decided**: brackets have their meaning (reduction, coordinate call, index), pipelines and
//!   struct shorthands are gone, the clauses of one definition stand together.
//! * **Untyped**: nothing here knows an element type, a rank, a layout or a size.
//! * **One arena**: all expressions of all modules lie in [`Program::exprs`].

mod builtin;
mod expr;
mod item;
mod stmt;
mod types;

use ein_base::{FileId, IndexVec, Name, Nodes, Span, Symbol, id};

pub use builtin::Builtin;
pub use ein_ir::tensor::{ArrayOp, IoOp, PlainOp, ReduceOp};
pub use ein_syntax::ast::{Align, BinaryOp, FormatSpec, UnaryOp};
pub use expr::{Arg, Arm, CompClause, CoordArg, Expr, ExprKind, Slot, StrPart, WhereItem};
pub use item::{
    Const, CoordParam, Def, DefKind, Enum, Field, Function, Param, Rule, Struct, Variant,
    VariantShape,
};
pub use stmt::{
    Binder, Clause, CoordRef, Definition, Domain, LeftSlot, LeftSlotKind, Stmt, StmtKind, Until,
};
pub use types::{Dim, DimKind, Pat, PatKind, Type, TypeKind};

id!(
    /// A module: a file or an inline `mod`.
    ModuleId,
    "m"
);
id!(
    /// An item: function, constant, struct, enum.
    DefId,
    "d"
);
id!(
    /// A local name: binding, parameter, index variable, pack, size.
    LocalId,
    "v"
);
id!(
    /// A resolved expression.
    ExprId,
    "x"
);

/// A whole resolved program: the root file, everything it imports, and what of the library it
/// uses.
#[derive(Debug, Default)]
pub struct Program {
    /// All modules; the root first.
    pub modules: IndexVec<ModuleId, Module>,
    /// All items.
    pub defs: IndexVec<DefId, Def>,
    /// All local names.
    pub locals: IndexVec<LocalId, Local>,
    /// All expressions.
    pub exprs: Nodes<ExprId, Expr>,
    /// The modules whose top-level statements run, in this order; the root comes last.
    pub init_order: Vec<ModuleId>,
    /// `fn main()` of the root, if it has one that the top level does not call itself.
    pub main: Option<DefId>,
    /// `Option` and `Result` of the prelude.
    pub prelude: Prelude,
}

/// The types of the prelude that the language itself makes values of.
#[derive(Clone, Copy, Debug, Default)]
pub struct Prelude {
    /// `enum Option<T> { None, Some(T) }`; present once anything was resolved.
    pub option: Option<DefId>,
    /// `enum Result<T, E> { Ok(T), Err(E) }`
    pub result: Option<DefId>,
}

/// A module.
#[derive(Debug)]
pub struct Module {
    /// Its name; the root's is that of its file.
    pub name: Symbol,
    /// The file its text stands in.
    pub file: FileId,
    /// The module it is part of.
    pub parent: Option<ModuleId>,
    /// Its top-level statements, items taken out.
    pub stmts: Vec<Stmt>,
    /// Its `test` blocks.
    pub tests: Vec<Test>,
    /// Whether it belongs to the embedded library.
    pub library: bool,
}

/// `test "name" { … }`
#[derive(Debug)]
pub struct Test {
    /// The text between the quotes.
    pub name: Symbol,
    /// The whole block.
    pub span: Span,
    /// Its body.
    pub body: ExprId,
}

/// A local name.
#[derive(Clone, Copy, Debug)]
pub struct Local {
    /// Its name.
    pub name: Name,
    /// What it is.
    pub kind: LocalKind,
    /// Whether anything reads it.
    pub used: bool,
}

/// The kinds of local name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalKind {
    /// Bound by `let` (or a pattern, a comprehension, a match arm) inside a body.
    Let,
    /// Bound at the top level of a module: an output of the program when it is the root.
    Global,
    /// A parameter of a function or closure.
    Param,
    /// An index variable of a definition or reduction.
    Index,
    /// A pack.
    Pack,
    /// `?n`
    Size,
    /// A type parameter.
    TypeParam,
    /// Bound in `where`.
    Where,
}

// Most of the memory that a resolved program takes.
const _: () = assert!(size_of::<Expr>() <= 32 && size_of::<Stmt>() <= 72);
