//! The resolved program: the tree after every name has become an id.
//!
//! * **Resolved**: no path and no string lookup is left; two `i`s in two definitions are two ids.
//!   Coordinates are identified by their symbol, because a coordinate *is* its name within one
//!   scope.
//! * **Decided**: brackets have their meaning (reduction, coordinate call, index), pipelines and
//!   struct shorthands are gone, the clauses of one definition stand together.
//! * **Untyped**: nothing here knows an element type, a rank, a layout or a size.
//! * **One arena**: all expressions of all modules lie in [`Program::exprs`].

use ein_base::{FileId, IndexVec, Name, Span, Symbol, id};
pub use ein_ir::tensor::{IoOp, ReduceOp};
use ein_scalar::{BinaryOp as ScalarBinary, ScalarType, UnaryOp as ScalarUnary};
pub use ein_syntax::ast::{Align, BinaryOp, FormatSpec, UnaryOp};

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
    pub exprs: IndexVec<ExprId, Expr>,
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
    Fn(Function),
    /// A constant.
    Const(Const),
    /// A struct.
    Struct(Struct),
    /// An enum.
    Enum(Enum),
    /// An item whose text was broken; uses of it are not reported again.
    Error,
}

/// A constant.
#[derive(Debug)]
pub struct Const {
    /// The annotation.
    pub ty: Option<Type>,
    /// The value.
    pub value: ExprId,
}

/// A function.
#[derive(Debug)]
pub struct Function {
    /// `<T, U>`: each is a [`LocalKind::TypeParam`].
    pub generics: Vec<LocalId>,
    /// `[c, ..s]`; `None` without brackets.
    pub coords: Option<Vec<CoordParam>>,
    /// Its parameters.
    pub params: Vec<Param>,
    /// The declared result.
    pub ret: Option<Type>,
    /// Its body.
    pub body: ExprId,
    /// Its size names `?n`, in order of first appearance in the signature.
    pub sizes: Vec<LocalId>,
    /// Its packs, in order of first appearance in brackets and signature.
    pub packs: Vec<LocalId>,
    /// The `@fn` that belongs to it.
    pub rule: Option<Rule>,
    /// The header, from `fn` to the result type, for messages.
    pub header: Span,
}

/// The tangent rule of a function.
#[derive(Debug)]
pub struct Rule {
    /// Its parameters, in the order of the function's.
    pub params: Vec<Param>,
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
}

/// A parameter of a function or closure.
#[derive(Clone, Debug)]
pub struct Param {
    /// What it binds.
    pub pat: Pat,
    /// Its name, unless it is a pattern.
    pub name: Option<Name>,
    /// The annotation.
    pub ty: Option<Type>,
    /// The default.
    pub default: Option<ExprId>,
    /// Where it stands.
    pub span: Span,
}

/// A struct.
#[derive(Debug)]
pub struct Struct {
    /// `<T>`
    pub generics: Vec<LocalId>,
    /// Its fields.
    pub fields: Vec<Field>,
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
    pub generics: Vec<LocalId>,
    /// Its variants.
    pub variants: Vec<Variant>,
}

/// A variant.
#[derive(Debug)]
pub struct Variant {
    /// Its name.
    pub name: Name,
    /// Its fields; those of `V(T, U)` are named `0`, `1`.
    pub fields: Vec<Field>,
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
        ty: Option<Type>,
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
    pub slots: Vec<LeftSlot>,
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

/// An expression.
#[derive(Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of expression.
#[derive(Debug)]
pub enum ExprKind {
    /// An integer literal.
    Int(u64, Option<ScalarType>),
    /// A float literal: its digits.
    Float(Symbol, Option<ScalarType>),
    /// A boolean literal.
    Bool(bool),
    /// A string, perhaps with insertions.
    Str(Vec<StrPart>),
    /// A binding, parameter, index variable or `where` name.
    Local(LocalId),
    /// `?n` as a value.
    Size(LocalId),
    /// A function as a value or callee.
    Fn(DefId),
    /// A constant.
    Const(DefId),
    /// A variant: a value if it carries nothing, a function otherwise.
    Variant(DefId, usize),
    /// A built-in as a value or callee.
    Builtin(Builtin),
    /// A bare name in index position that is no value in scope: a free coordinate, if the tensor
    /// has it.
    Coord(Name),
    /// `-x`, `!x`
    Unary(UnaryOp, ExprId),
    /// `a + b`
    Binary(BinaryOp, ExprId, ExprId),
    /// A range as a value (in `in`, comprehensions, slices).
    Range {
        /// The first value.
        lo: Option<ExprId>,
        /// The last value, or one past it.
        hi: Option<ExprId>,
        /// `..=`
        inclusive: bool,
    },
    /// `e as T`
    Cast(ExprId, Type),
    /// `@e`
    At(ExprId),
    /// `f(x, q = 2.0)`; pipelines `|>` are calls already.
    Call {
        /// What is called.
        callee: ExprId,
        /// The arguments.
        args: Vec<Arg>,
    },
    /// `f[c](x)` of a function or of a built-in that takes coordinates.
    CoordCall {
        /// What is called: [`ExprKind::Fn`], [`ExprKind::Builtin`] or a local function.
        callee: ExprId,
        /// The coordinate arguments.
        coords: Vec<CoordArg>,
        /// The arguments.
        args: Vec<Arg>,
    },
    /// `sum[k in 0..n](e)`
    Reduce {
        /// The operation.
        op: ReduceOp,
        /// Where the operation's name stands.
        op_span: Span,
        /// The indices, in scope in the body.
        binders: Vec<Binder>,
        /// The body; a `where` inside the parentheses is an [`ExprKind::Where`].
        body: ExprId,
    },
    /// `extent(c)`, `extent(x, c)`
    Extent {
        /// The tensor, if it is named.
        of: Option<ExprId>,
        /// The coordinate.
        coord: CoordRef,
    },
    /// `a[i, ..rest]`
    Index {
        /// What is indexed.
        base: ExprId,
        /// The indices.
        slots: Vec<Slot>,
    },
    /// `p.x`
    Field(ExprId, Name),
    /// `t.0`
    TupleField(ExprId, u32, Span),
    /// `[a, b]`
    Array(Vec<ExprId>),
    /// `(a, b)`, `()`
    Tuple(Vec<ExprId>),
    /// `[e | x in xs, cond, z = x]`
    Comprehension {
        /// The element.
        body: ExprId,
        /// Generators, conditions and bindings.
        clauses: Vec<CompClause>,
    },
    /// `P { x: 1.0 }` and `E::V { x: 1.0 }`
    Struct {
        /// The struct or enum.
        def: DefId,
        /// The variant, for an enum.
        variant: Option<usize>,
        /// The fields as written.
        fields: Vec<(Name, ExprId)>,
    },
    /// `{ …; e }`
    Block {
        /// The statements.
        stmts: Vec<Stmt>,
        /// The value.
        tail: Option<ExprId>,
    },
    /// `if c { a } else { b }`
    If {
        /// The condition.
        cond: ExprId,
        /// The value if it holds.
        then: ExprId,
        /// The value otherwise.
        otherwise: Option<ExprId>,
    },
    /// `match e { … }`
    Match {
        /// What is matched.
        scrutinee: ExprId,
        /// The arms.
        arms: Vec<Arm>,
    },
    /// `|x, y| e`
    Closure {
        /// Its parameters.
        params: Vec<Param>,
        /// Its body.
        body: ExprId,
        /// The locals of the enclosing bodies that it reads, each once, in order of first use.
        captures: Vec<LocalId>,
    },
    /// `x ?> f` (and `?>` with a call that lacks its first argument): `f` applied to what is in
    /// the optional.
    OptionPipe {
        /// The optional.
        value: ExprId,
        /// Stands for what is in it.
        local: LocalId,
        /// The call, which mentions `local`.
        call: ExprId,
    },
    /// `x !> f`, likewise for results.
    ResultPipe {
        /// The result.
        value: ExprId,
        /// Stands for what is in it.
        local: LocalId,
        /// The call, which mentions `local`.
        call: ExprId,
    },
    /// `e else d`
    OrElse(ExprId, ExprId),
    /// `e catch |err| d`
    Catch {
        /// What may fail.
        value: ExprId,
        /// The message.
        param: LocalId,
        /// The value otherwise.
        handler: ExprId,
    },
    /// `try e`
    Try(ExprId),
    /// `e where …`
    Where {
        /// What is qualified.
        body: ExprId,
        /// Bindings and guards in order. A reduction's indices are in scope here too if the
        /// `where` follows that reduction directly.
        items: Vec<WhereItem>,
        /// The value where a guard fails.
        otherwise: Option<ExprId>,
    },
    /// Something broken; it was reported.
    Error,
}

/// A part of a string.
#[derive(Debug)]
pub enum StrPart {
    /// Text.
    Text(Symbol),
    /// An insertion.
    Value(ExprId, Option<FormatSpec>),
}

/// An argument.
#[derive(Debug)]
pub struct Arg {
    /// `q = …`
    pub name: Option<Name>,
    /// The value.
    pub value: ExprId,
}

/// An argument in the bracket of a coordinate call.
#[derive(Debug)]
pub enum CoordArg {
    /// A coordinate of the caller.
    Coord(CoordRef),
    /// `(height, width)` for one pack.
    Group(Vec<CoordRef>, Span),
    /// `..s`: a pack of the caller.
    Pack(LocalId, Span),
    /// `#0`
    Axis(u32, Span),
    /// `n = 3`
    Size(Name, ExprId),
    /// Something that may not stand here; it was reported.
    Error,
}

/// A slot of an index.
#[derive(Debug)]
pub enum Slot {
    /// An index, a range ([`ExprKind::Range`]) or an array of indices.
    Expr(ExprId),
    /// `..rest`
    Pack(LocalId, Span),
}

/// A part of a comprehension.
#[derive(Debug)]
pub enum CompClause {
    /// `x in xs`
    Generator(Pat, ExprId),
    /// A condition.
    Condition(ExprId),
    /// `z = e`
    Binding(LocalId, ExprId),
}

/// An arm of a match.
#[derive(Debug)]
pub struct Arm {
    /// What it matches.
    pub pat: Pat,
    /// `where cond`
    pub guard: Option<ExprId>,
    /// Its value.
    pub body: ExprId,
    /// Where it stands.
    pub span: Span,
}

/// An item of a `where`.
#[derive(Debug)]
pub enum WhereItem {
    /// `z = e`
    Binding(LocalId, ExprId),
    /// A condition.
    Guard(ExprId),
}

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
    Tuple(Vec<Pat>),
    /// `[a, ..rest, b]`
    Array {
        /// Before the rest.
        before: Vec<Pat>,
        /// The rest: `Some(None)` is `..` without a name.
        rest: Option<Option<LocalId>>,
        /// After the rest.
        after: Vec<Pat>,
    },
    /// A struct or variant. Fields that are not named match anything only if `rest`.
    Data {
        /// The struct or enum.
        def: DefId,
        /// The variant, for an enum.
        variant: Option<usize>,
        /// Field name and pattern; for `V(a, b)` the names are `0`, `1`.
        fields: Vec<(Name, Pat)>,
        /// `..`
        rest: bool,
    },
    /// `a | b`: alternatives bind the same names, to the same ids.
    Or(Vec<Pat>),
    /// `n @ p`
    At(LocalId, Box<Pat>),
    /// Broken; it was reported.
    Error,
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
    Data(DefId, Vec<Type>),
    /// A type parameter.
    Param(LocalId),
    /// `[T]` is one dimension of unknown size.
    Array {
        /// The elements.
        elem: Box<Type>,
        /// One entry per axis or pack.
        dims: Vec<Dim>,
        /// A trailing `!`.
        no_broadcast: bool,
    },
    /// `[T; *]`
    AnyRank(Box<Type>),
    /// `jagged[T]`
    Jagged(Box<Type>, u32),
    /// `(T, U)`, `()`
    Tuple(Vec<Type>),
    /// `(T) -> R`
    Function(Vec<Type>, Box<Type>),
    /// `some k. T`
    Some(Vec<LocalId>, Box<Type>),
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

/// What is there without being defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names of the language")]
pub enum Builtin {
    Print,
    Assert,
    Len,
    Shape,
    Typeof,
    ArrayAppend,
    /// `input()`
    Input,
    /// A reduction called with whole arrays: `sum(a)`, `max(x, y)`.
    Reduction(ReduceOp),
    Rerank,
    Reduce,
    Scan,
    Append,
    Rotate,
    Reverse,
    Reshape,
    Filter,
    Iota,
    First,
    Last,
    Rest,
    Init,
    Take,
    Drop,
    Join,
    Blocks,
    Unblocks,
    Jvp,
    Vjp,
    Hessian,
    /// `std::intrinsics::sqrt` and the like: one scalar.
    Unary(ScalarUnary),
    /// `std::intrinsics::atan2` and the like: two scalars.
    Binary(ScalarBinary),
    /// `std::intrinsics::load_npy` and the like.
    Io(IoOp),
}
