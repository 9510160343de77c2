//! Tensor IR: the program after checking.
//!
//! * **Resolved**: ids only; names are kept for people.
//! * **Specialised** in element type, rank, packs and layout; **symbolic in extents**.
//! * **Explicit**: every index variable has its domain, every read its bounds verdict, every value
//!   its type with layout and sizes. Whole-array operators, lifted calls and packs have become
//!   definitions over generated indices.
//! * **Structured**: clauses, guards, reductions, recurrences and calls are still visible.
//!
//! Every node carries the span of the source construct that it came from.

use crate::size::{self, Atom};
use ein_base::{FileId, IndexVec, Span, Symbol, id};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

mod define;
mod host;
pub mod infer;
mod lex;
mod names;
pub mod parse;
pub mod print;
pub mod spans;
pub mod symbolic;
pub mod tail;
pub mod types;
pub mod verify;
pub mod walk;
pub use define::{
    Binder, Clause, ClauseSlot, Item, Recurrence, RecurrenceAxis, Reduce, ReduceOp, Scatter,
    Tensor, Until,
};
pub use host::{ArrayOp, FormatSpec, HostOp, IoOp, PlainOp};
pub use types::{ArrayType, Axis, Coord, Signature, Type};

id!(
    /// A specialised function.
    FuncId,
    "f"
);
id!(
    /// A variable: global, local, parameter or index.
    VarId,
    "v"
);
id!(
    /// A struct or enum.
    DataId,
    "data"
);

/// A whole checked program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// All specialised functions that anything calls.
    pub funcs: IndexVec<FuncId, Func>,
    /// All variables of all functions and of the top level.
    pub vars: IndexVec<VarId, Var>,
    /// What every symbolic integer stands for.
    pub atoms: IndexVec<Atom, AtomInfo>,
    /// Structs and enums.
    pub data: IndexVec<DataId, Data>,
    /// The top level: statements in the order in which they run.
    pub top: Vec<Stmt>,
    /// How many global slots there are.
    pub global_slots: u32,
    /// How many local slots the top level itself needs.
    pub top_slots: u32,
    /// The outputs: top-level data bindings of the root in source order; of a name bound twice the
    /// last one.
    pub outputs: Vec<VarId>,
    /// `main`, if it is to be called after the top level.
    pub main: Option<FuncId>,
    /// `test` blocks: name, span, and a function without parameters.
    pub tests: Vec<(Symbol, Span, FuncId)>,
    /// The files of the library: what fails in one of them is told at the call that led there. No
    /// part of the text.
    pub library: Vec<FileId>,
}

/// A specialised function.
#[derive(Clone, Debug)]
pub struct Func {
    /// The name in the source; closures are called `closure`.
    pub name: Symbol,
    /// Where it is declared.
    pub span: Span,
    /// The sizes it is called with, as `i64` variables.
    pub sizes: Vec<VarId>,
    /// What it captured, for closures.
    pub captures: Vec<VarId>,
    /// Its parameters.
    pub params: Vec<VarId>,
    /// The type of its result.
    pub ret: Type,
    /// Its body.
    pub body: Expr,
    /// How many local slots it needs.
    pub slots: u32,
    /// What computes its tangent, if its author wrote a rule: takes the parameters, then their
    /// tangents.
    pub rule: Option<FuncId>,
    /// What of the host computes it as well, and faster where it is large. The body says what it means.
    pub by: Option<ArrayOp>,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct Var {
    /// Its name in the source, or one made up by the compiler.
    pub name: Symbol,
    /// Where it was bound.
    pub span: Span,
    /// Its type.
    pub ty: Type,
    /// Where it lives.
    pub place: Place,
}

/// Where a variable lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In the frame of the program.
    Global(u32),
    /// In the frame of its function.
    Local(u32),
}

/// A symbolic integer.
#[derive(Clone, Copy, Debug)]
pub struct AtomInfo {
    /// How people know it: the name of an index variable, `n` for `?n`, `x.0` for an extent.
    pub name: Symbol,
    /// What it stands for.
    pub def: AtomDef,
    /// Whether its value comes from outside the program, so that it may be compared at run time.
    pub external: bool,
}

/// What a symbolic integer stands for at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtomDef {
    /// The value of an integer variable.
    Var(VarId),
    /// The extent of an axis of an array variable.
    Extent(VarId, usize),
    /// The number of elements of a variable that is not an array (`len` of a string or jagged
    /// array).
    Length(VarId),
    /// Nothing at run time: an unknown of a function that is only checked.
    Unknown,
}

/// A struct or enum.
#[derive(Clone, Debug)]
pub struct Data {
    /// Its name.
    pub name: Symbol,
    /// Its variants; a struct has one, of its own name.
    pub variants: Vec<DataVariant>,
    /// Whether it is an enum.
    pub is_enum: bool,
}

/// A variant.
#[derive(Clone, Debug)]
pub struct DataVariant {
    /// Its name.
    pub name: Symbol,
    /// The names of its fields; `0`, `1` for positional ones.
    pub fields: Vec<Symbol>,
    /// Whether it is written `V(…)`.
    pub positional: bool,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of statement.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Binds one variable.
    Let(VarId, Expr),
    /// Takes a tuple, struct or array apart; the pattern always matches.
    Destructure(Pattern, Expr),
    /// Evaluates for the effect.
    Expr(Expr),
    /// Compares two sizes that only the run knows.
    Require(Box<Require>),
}

/// Two sizes that must be equal, compared at run time, once.
#[derive(Clone, Debug)]
pub struct Require {
    /// One size.
    pub left: size::Expr,
    /// The other.
    pub right: size::Expr,
    /// What they are the extents of, for the message: ``index `k`: `a` and `b` ``.
    pub what: String,
    /// Where it matters.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: Box<ExprKind>,
    /// Its type.
    pub ty: Type,
    /// Where it came from.
    pub span: Span,
}

/// The kinds of expression.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number or truth value.
    Const(Scalar),
    /// A text.
    Str(Symbol),
    /// `()`
    Unit,
    /// A variable; index variables are `i32`.
    Var(VarId),
    /// A size as an `i32` value.
    Size(size::Expr),
    /// A scalar operation.
    Unary(UnaryOp, Expr),
    /// A scalar operation on two operands of one type.
    Binary(BinaryOp, Expr, Expr),
    /// `&&`: the right side only if the left holds.
    And(Expr, Expr),
    /// `||`: the right side only if the left does not hold.
    Or(Expr, Expr),
    /// A scalar conversion to the node's type.
    Cast(Expr),
    /// A choice between values.
    If {
        /// The condition, a `bool`.
        cond: Expr,
        /// If it holds.
        then: Expr,
        /// If not.
        otherwise: Expr,
    },
    /// Statements, then a value.
    Block {
        /// The statements.
        stmts: Vec<Stmt>,
        /// The value.
        value: Expr,
    },
    /// A choice by pattern.
    Match {
        /// What is matched.
        value: Expr,
        /// The arms, tried in order; one of them matches.
        arms: Vec<Arm>,
    },
    /// An indexed definition, or a pointwise operation on whole arrays.
    Tensor(Tensor),
    /// A reduction to a scalar.
    Reduce(Reduce),
    /// An array of sums, each over the points that name its cell.
    Scatter(Box<Scatter>),
    /// A read: as many indices as axes give an element, fewer the sub-array of the rest.
    Index {
        /// The array.
        base: Expr,
        /// The indices, for the leading axes.
        indices: Vec<IndexArg>,
    },
    /// A range along one axis: a view.
    Slice {
        /// The array.
        base: Expr,
        /// The axis.
        axis: usize,
        /// The first position; 0 if absent.
        lo: Option<Expr>,
        /// One past the last; the extent if absent.
        hi: Option<Expr>,
    },
    /// The positions `indices` (rank 1) along one axis.
    Gather {
        /// The array.
        base: Expr,
        /// The axis.
        axis: usize,
        /// The positions.
        indices: Expr,
        /// What the array is called, for messages.
        name: Option<Symbol>,
    },
    /// The axes in another order: axis `k` of the result is axis `order[k]` of the base.
    Permute {
        /// The array.
        base: Expr,
        /// The order.
        order: Vec<usize>,
    },
    /// Two arrays end to end along one axis. An operand with one axis less counts as one slice.
    Join {
        /// The axis of the result.
        axis: usize,
        /// The first.
        left: Expr,
        /// The second.
        right: Expr,
    },
    /// An array of the given elements or rows.
    Array(Vec<Expr>),
    /// `[e | …]`: a loop that collects.
    Comprehension {
        /// Generators, conditions and bindings.
        clauses: Vec<CompClause>,
        /// The element.
        body: Expr,
    },
    /// A tuple.
    Tuple(Vec<Expr>),
    /// A component of a tuple.
    TupleGet(Expr, usize),
    /// A struct or variant.
    Make {
        /// The type.
        data: DataId,
        /// The variant; 0 for a struct.
        variant: usize,
        /// Its fields, in order of declaration.
        fields: Vec<Expr>,
    },
    /// A field of a struct.
    FieldGet(Expr, usize),
    /// A call of a known function.
    Call {
        /// The function.
        func: FuncId,
        /// Its sizes.
        sizes: Vec<size::Expr>,
        /// What provides its captures: a function value.
        closure: Option<Expr>,
        /// Its arguments.
        args: Vec<Expr>,
    },
    /// A call of a function value.
    CallValue {
        /// The function.
        callee: Expr,
        /// Its arguments.
        args: Vec<Expr>,
    },
    /// A function value with what it captured. The code is chosen where it is called, unless
    /// `func` says so already.
    Closure {
        /// The code, where it is known from the type that is asked for.
        func: Option<FuncId>,
        /// The captured values.
        captures: Vec<Expr>,
    },
    /// The same function value with its code chosen.
    Specialise {
        /// The function value.
        value: Expr,
        /// The code.
        func: FuncId,
    },
    /// `lo..hi` as a value: what comprehensions and `in` run over. `hi` is exclusive.
    Range(Expr, Expr),
    /// `try e`: the node's type is `Result`.
    Try(Expr),
    /// What the run-time library does.
    Host(HostOp, Vec<Expr>),
    /// A run-time conversion of a value to a type with known rank, element type or extents: checked
    /// at this boundary. Names the value for messages.
    Assert {
        /// The value.
        value: Expr,
        /// The extents that are stated, by axis.
        extents: Vec<Option<size::Expr>>,
        /// What it is, for messages.
        what: String,
    },
    /// A derivative request; none is left after `autodiff`.
    Derivative(Derivative),
    /// A place after an error; programs with one never run.
    Error,
}

// Most of the memory that a checked program takes.
const _: () = assert!(size_of::<Expr>() <= 32 && size_of::<ExprKind>() <= 120);

/// A derivative request.
#[derive(Clone, Debug)]
pub enum Derivative {
    /// `@y / @x`
    Quotient {
        /// What is differentiated.
        target: Expr,
        /// With respect to what.
        parameter: Expr,
    },
    /// `@x`
    Tangent(Expr),
    /// `jvp(y, x, dx)` or `vjp(y, x, dy)`: the derivative times a direction, without the derivative.
    Product {
        /// What is differentiated.
        target: Expr,
        /// With respect to what.
        parameter: Expr,
        /// In the shape of the parameter if `forward`, of the target if not.
        direction: Expr,
        /// Whether the parameter moves along the direction; otherwise it flows back from the
        /// target.
        forward: bool,
    },
}

/// An index of a read.
#[derive(Clone, Debug)]
pub struct IndexArg {
    /// The position, an integer.
    pub value: Expr,
    /// Whether it was proved to be in bounds.
    pub bounds: Bounds,
}

/// What is known of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bounds {
    /// In bounds for all points.
    Proved,
    /// To be checked at run time.
    Checked,
}

/// A part of a comprehension.
#[derive(Clone, Debug)]
pub enum CompClause {
    /// Runs over a range, an array (its rows), a jagged array or a string; elements that do not
    /// match the pattern are an error of the checker.
    Generator(Pattern, Expr),
    /// Skips unless it holds.
    Condition(Expr),
    /// Binds a variable.
    Binding(VarId, Expr),
}

/// An arm of a match.
#[derive(Clone, Debug)]
pub struct Arm {
    /// What it matches.
    pub pattern: Pattern,
    /// A further condition.
    pub guard: Option<Expr>,
    /// Its value.
    pub value: Expr,
}

/// A pattern.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Anything.
    Wild,
    /// Anything, bound.
    Bind(VarId),
    /// A literal of the scrutinee's type.
    Literal(Scalar),
    /// A text.
    Str(Symbol),
    /// `lo <= x < hi`, or `<= hi` if `inclusive`.
    Range {
        /// The first value.
        lo: Option<Scalar>,
        /// The last value, or one past it.
        hi: Option<Scalar>,
        /// Whether `hi` belongs to it.
        inclusive: bool,
    },
    /// A tuple.
    Tuple(Vec<Pattern>),
    /// An array of at least, or without a rest of exactly, these elements.
    Array {
        /// From the front.
        before: Vec<Pattern>,
        /// The rest, perhaps bound.
        rest: Option<Option<VarId>>,
        /// From the back.
        after: Vec<Pattern>,
    },
    /// A struct or variant.
    Data {
        /// The variant; 0 for a struct.
        variant: usize,
        /// A pattern for every field.
        fields: Vec<Pattern>,
    },
    /// Any of these.
    Or(Vec<Pattern>),
    /// Bound as a whole.
    At(VarId, Box<Pattern>),
}

impl Pattern {
    /// The variables that it binds; of alternatives those of the first, which bind the same.
    pub fn variables(&self) -> Vec<VarId> {
        match self {
            Pattern::Wild | Pattern::Literal(_) | Pattern::Str(_) | Pattern::Range { .. } => {
                Vec::new()
            }
            Pattern::Bind(var) => vec![*var],
            Pattern::At(var, inner) => {
                let mut vars = inner.variables();
                vars.push(*var);
                vars
            }
            Pattern::Tuple(items) | Pattern::Data { fields: items, .. } => {
                items.iter().flat_map(Pattern::variables).collect()
            }
            Pattern::Or(items) => items.first().map(Pattern::variables).unwrap_or_default(),
            Pattern::Array { before, rest, after } => {
                let items = before.iter().chain(after);
                let mut vars: Vec<VarId> = items.flat_map(Pattern::variables).collect();
                vars.extend(rest.iter().flatten());
                vars
            }
        }
    }
}

impl Expr {
    /// An expression.
    pub fn new(kind: ExprKind, ty: Type, span: Span) -> Self {
        Self { kind: Box::new(kind), ty, span }
    }
    /// An `i32` constant.
    pub fn int(value: i64, span: Span) -> Self {
        let kind = match i32::try_from(value) {
            Ok(value) => ExprKind::Const(Scalar::I32(value)),
            Err(_) => ExprKind::Size(size::Expr::constant(value)),
        };
        Self::new(kind, Type::Scalar(ScalarType::I32), span)
    }
    /// A size as a value.
    pub fn size(value: size::Expr, span: Span) -> Self {
        match value.as_constant() {
            Some(value) => Self::int(value, span),
            None => Self::new(ExprKind::Size(value), Type::Scalar(ScalarType::I32), span),
        }
    }
    /// The place of an error.
    pub fn error(span: Span) -> Self {
        Self::new(ExprKind::Error, Type::Error, span)
    }
}
