//! The tree of one file.
//!
//! * **Arena-based**: nodes refer to each other by typed ids; dropping a tree never recurses, and
//!   facts about nodes live in side tables keyed by these ids.
//! * **Faithful**: it says what was written, not what it means. `f[c](x)` is one shape of node
//!   whether `f` is a reduction, a function or an array of functions; resolution decides.
//! * **Complete**: where something could not be parsed there is an `Error` node, so that the rest
//!   of the file can still be checked.
//! * **Bounded in depth**: the parser refuses trees deeper than [`MAX_DEPTH`], so that whoever
//!   walks them may recurse.

mod expr;
mod op;
mod stmt;
mod types;

use ein_base::{FileId, Nodes, Span, Symbol, id};

pub use expr::{
    Align, Arg, Arm, CompClause, Expr, ExprKind, FormatSpec, Path, Slot, SlotKind, StrPart,
    WhereItem,
};
pub use op::{BinaryOp, PipeOp, UnaryOp};
pub use stmt::{
    Clause, Const, CoordParam, Enum, Field, Function, LeftSlot, LeftSlotKind, Let, Module, Param,
    Struct, Test, Until, Use, UseKind, UseTree, Variant, VariantData,
};
use thin_vec::ThinVec;
pub use types::{Dim, DimKind, Pat, PatKind, RestPat, Type, TypeKind};

/// How deep a tree may be. Deeper input is reported as E0115.
pub const MAX_DEPTH: u32 = 512;

id!(
    /// An expression of a file.
    ExprId,
    "e"
);
id!(
    /// A statement or item of a file.
    StmtId,
    "s"
);
id!(
    /// A type as written.
    TypeId,
    "t"
);
id!(
    /// A pattern.
    PatId,
    "p"
);

/// A parsed file.
#[derive(Debug)]
pub struct Ast {
    /// The file it came from.
    pub file: FileId,
    /// Documentation of the file itself (`//!`).
    pub docs: Vec<Doc>,
    /// The statements at top level, in source order.
    pub stmts: Vec<StmtId>,
    /// For each of them, how many expressions there were when it ended: its own lie between two of
    /// these. Empty if the expressions of statements may be shared.
    pub ends: Vec<u32>,
    /// All statements.
    pub stmt: Nodes<StmtId, Stmt>,
    /// All expressions.
    pub expr: Nodes<ExprId, Expr>,
    /// All types.
    pub ty: Nodes<TypeId, Type>,
    /// All patterns.
    pub pat: Nodes<PatId, Pat>,
}

impl Ast {
    /// The tree of an empty file.
    pub fn new(file: FileId) -> Self {
        Self {
            file,
            docs: Vec::new(),
            stmts: Vec::new(),
            ends: Vec::new(),
            stmt: Nodes::new(),
            expr: Nodes::new(),
            ty: Nodes::new(),
            pat: Nodes::new(),
        }
    }

    /// Gives back the expressions of the first `stmts` statements at top level, where these have
    /// expressions of their own. Nobody may ask for one of them again.
    pub fn forget(&mut self, stmts: usize) {
        if let Some(end) = stmts.checked_sub(1).and_then(|last| self.ends.get(last)) {
            self.expr.forget_before(*end as usize);
        }
    }
}

/// A line of documentation, without its marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doc {
    /// The text after `///` or `//!`, one leading space removed.
    pub text: Symbol,
    /// Where it stands.
    pub span: Span,
}

/// A statement or item.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// From its first token to its last, a closing `;` included.
    pub span: Span,
    /// Documentation in front of it.
    pub docs: ThinVec<Doc>,
}

/// The kinds of statement.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `let p: T = e;`
    Let(Let),
    /// `let A[i, j] = e;`: one clause of an indexed definition.
    Clause(Clause),
    /// `const N: i32 = 10;`
    Const(Const),
    /// `fn f(…) { … }`
    Fn(Box<Function>),
    /// `@fn f(…) { … }`
    Rule(Box<Function>),
    /// `use …;`
    Use(Box<Use>),
    /// `mod m;` and `mod m { … }`
    Mod(Box<Module>),
    /// `struct S { … }`
    Struct(Box<Struct>),
    /// `enum E { … }`
    Enum(Box<Enum>),
    /// `test "name" { … }`
    Test(Test),
    /// An expression for its effect.
    Expr(ExprId),
    /// Something that could not be parsed; it was reported.
    Error,
}

// Most of the memory that a tree takes.
const _: () = assert!(size_of::<Expr>() <= 32 && size_of::<Stmt>() <= 56 && size_of::<Pat>() <= 40);
