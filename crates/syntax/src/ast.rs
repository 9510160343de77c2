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

use ein_base::{FileId, IndexVec, Name, Span, Symbol, id};

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
    /// All statements.
    pub stmt: IndexVec<StmtId, Stmt>,
    /// All expressions.
    pub expr: IndexVec<ExprId, Expr>,
    /// All types.
    pub ty: IndexVec<TypeId, Type>,
    /// All patterns.
    pub pat: IndexVec<PatId, Pat>,
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
    pub docs: Vec<Doc>,
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
    Fn(Function),
    /// `@fn f(…) { … }`
    Rule(Function),
    /// `use …;`
    Use(Use),
    /// `mod m;` and `mod m { … }`
    Mod(Module),
    /// `struct S { … }`
    Struct(Struct),
    /// `enum E { … }`
    Enum(Enum),
    /// `test "name" { … }`
    Test(Test),
    /// An expression for its effect.
    Expr(ExprId),
    /// Something that could not be parsed; it was reported.
    Error,
}

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
    pub slots: Vec<LeftSlot>,
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
    pub generics: Vec<Name>,
    /// `[c, ..s]`; `None` without brackets, which is not the same as empty ones.
    pub coords: Option<Vec<CoordParam>>,
    /// Its parameters.
    pub params: Vec<Param>,
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
    pub prefix: Vec<Name>,
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
    Group(Vec<UseTree>),
}

/// `mod m;` or `mod m { … }`
#[derive(Clone, Debug)]
pub struct Module {
    /// Exported?
    pub public: bool,
    /// Its name.
    pub name: Name,
    /// Its statements if it is written inline.
    pub body: Option<Vec<StmtId>>,
}

/// `struct S<T> { x: T }`
#[derive(Clone, Debug)]
pub struct Struct {
    /// Exported?
    pub public: bool,
    /// Its name.
    pub name: Name,
    /// `<T, U>`
    pub generics: Vec<Name>,
    /// Its fields.
    pub fields: Vec<Field>,
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
    pub generics: Vec<Name>,
    /// Its variants.
    pub variants: Vec<Variant>,
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
    Tuple(Vec<TypeId>),
    /// `{ x: T }`
    Struct(Vec<Field>),
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

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands, parentheses not included.
    pub span: Span,
}

/// The kinds of expression.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// `42`, `0xff`, `1i64`
    Int {
        /// The value; larger ones are reported by the lexer.
        value: u64,
        /// The type suffix.
        suffix: Option<Symbol>,
    },
    /// `2.5`, `1e-5`, `2.5f64`
    Float {
        /// The digits as written, without `_` and suffix.
        text: Symbol,
        /// The type suffix.
        suffix: Option<Symbol>,
    },
    /// `true` and `false`
    Bool(bool),
    /// `"…{x:.2f}…"`
    Str(Vec<StrPart>),
    /// `x`, `a::b::c`; the roots `crate self super std python` are ordinary first segments.
    Path(Vec<Name>),
    /// `?n`: a size as a value, and in a type.
    Size(Name),
    /// `?`: an unknown extent; only in types.
    Hole,
    /// `-x`, `!x`
    Unary(UnaryOp, ExprId),
    /// `a + b`
    Binary(BinaryOp, ExprId, ExprId),
    /// `a..b`, `..=b`, `a..`
    Range {
        /// The first value.
        lo: Option<ExprId>,
        /// The last value, or one past it.
        hi: Option<ExprId>,
        /// `..=`
        inclusive: bool,
    },
    /// `e as T`
    Cast(ExprId, TypeId),
    /// `@e`
    At(ExprId),
    /// `f(x, q = 2.0)`
    Call {
        /// What is called.
        callee: ExprId,
        /// The arguments.
        args: Vec<Arg>,
    },
    /// `f[c](x)`: a reduction, a coordinate call, or a call of an element of an array.
    BracketCall {
        /// What stands before the bracket.
        callee: ExprId,
        /// What stands in the bracket.
        slots: Vec<Slot>,
        /// The arguments.
        args: Vec<Arg>,
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
    /// `(a, b)`, and `()`
    Tuple(Vec<ExprId>),
    /// `[e | x in xs, cond, z = x]`
    Comprehension {
        /// The element.
        body: ExprId,
        /// Generators, conditions and bindings, left to right.
        clauses: Vec<CompClause>,
    },
    /// `P { x: 1.0, y }`; `y` alone is `y: y`.
    Struct {
        /// The struct or variant.
        path: Vec<Name>,
        /// Its fields in the order written.
        fields: Vec<(Name, ExprId)>,
    },
    /// `{ …; e }`
    Block {
        /// The statements.
        stmts: Vec<StmtId>,
        /// The value.
        tail: Option<ExprId>,
    },
    /// `if c { a } else { b }`
    If {
        /// The condition.
        cond: ExprId,
        /// A block.
        then: ExprId,
        /// A block or another `if`.
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
    },
    /// `x |> f`, `x ?> f`, `x !> f`; the right side is a function or a call that lacks its first
    /// argument.
    Pipe(PipeOp, ExprId, ExprId),
    /// `e else d`, after a pipeline.
    OrElse(ExprId, ExprId),
    /// `e catch |err| d`, after a pipeline.
    Catch {
        /// What may fail.
        value: ExprId,
        /// The name of the message.
        param: Name,
        /// The value otherwise.
        handler: ExprId,
    },
    /// `try e`
    Try(ExprId),
    /// `e where a = …, cond else d`
    Where {
        /// What is qualified.
        body: ExprId,
        /// Bindings and guards, in order.
        items: Vec<WhereItem>,
        /// The value where a guard fails.
        otherwise: Option<ExprId>,
    },
    /// Something that could not be parsed; it was reported.
    Error,
}

/// A part of a string.
#[derive(Clone, Debug)]
pub enum StrPart {
    /// Text with escapes and doubled braces resolved.
    Text(Symbol),
    /// `{e:spec}`
    Value {
        /// What is inserted.
        expr: ExprId,
        /// How.
        spec: Option<FormatSpec>,
    },
}

/// `[[fill]align][sign][0][width][.precision][type]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FormatSpec {
    /// What fills up to the width; a space if absent.
    pub fill: Option<char>,
    /// Where the value stands in the width.
    pub align: Option<Align>,
    /// `+`: a sign also before positive numbers.
    pub plus: bool,
    /// `0`: zeros between sign and digits.
    pub zero: bool,
    /// The least number of characters.
    pub width: Option<u32>,
    /// Digits after the point.
    pub precision: Option<u32>,
    /// `f`, `e`, `d`, `x`, `b`, `s`, `g`, `%`
    pub kind: Option<char>,
}

/// Where a value stands in a wider field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// `<`
    Left,
    /// `^`
    Centre,
    /// `>`
    Right,
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub struct Arg {
    /// `q = …`
    pub name: Option<Name>,
    /// The value.
    pub value: ExprId,
}

/// What stands in a bracket after an expression.
#[derive(Clone, Debug)]
pub struct Slot {
    /// What it is.
    pub kind: SlotKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of slot.
#[derive(Clone, Debug)]
pub enum SlotKind {
    /// An index, a range, an array of indices, or the name of a coordinate.
    Expr(ExprId),
    /// `k in domain`
    Domain {
        /// The index variable.
        name: Name,
        /// A range, or the name of a coordinate.
        domain: ExprId,
    },
    /// `..rest`; a slice up to `rest` where that is a value.
    Pack(Name),
    /// `(height, width)`: the coordinates that one pack parameter takes.
    Group(Vec<Name>),
    /// `n = 3`: a size argument.
    Named {
        /// The size.
        name: Name,
        /// Its value.
        value: ExprId,
    },
    /// `#0`: an axis by position.
    Axis(u32),
}

/// A part of a comprehension.
#[derive(Clone, Debug)]
pub enum CompClause {
    /// `x in xs`
    Generator(PatId, ExprId),
    /// A condition.
    Condition(ExprId),
    /// `z = e`
    Binding(Name, ExprId),
}

/// An arm of a match.
#[derive(Clone, Debug)]
pub struct Arm {
    /// What it matches.
    pub pat: PatId,
    /// `where cond`
    pub guard: Option<ExprId>,
    /// Its value.
    pub body: ExprId,
    /// Where it stands.
    pub span: Span,
}

/// An item of a `where`.
#[derive(Clone, Debug)]
pub enum WhereItem {
    /// `z = e`
    Binding(Name, ExprId),
    /// A condition.
    Guard(ExprId),
}

/// Prefix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    /// `-`
    Neg,
    /// `!`
    Not,
}

/// Infix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `||`
    Or,
    /// `&&`
    And,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `>`
    Gt,
    /// `<=`
    Le,
    /// `>=`
    Ge,
    /// `in`
    In,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `**`
    Pow,
}

impl BinaryOp {
    /// The operator as written.
    pub fn as_str(self) -> &'static str {
        match self {
            BinaryOp::Or => "||",
            BinaryOp::And => "&&",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Gt => ">",
            BinaryOp::Le => "<=",
            BinaryOp::Ge => ">=",
            BinaryOp::In => "in",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::Rem => "%",
            BinaryOp::Pow => "**",
        }
    }
    /// Its level in the table of language.md, section 3: higher binds tighter.
    pub fn level(self) -> u8 {
        match self {
            BinaryOp::Or => 2,
            BinaryOp::And => 3,
            BinaryOp::Eq | BinaryOp::Ne => 4,
            BinaryOp::Lt | BinaryOp::Gt | BinaryOp::Le | BinaryOp::Ge | BinaryOp::In => 5,
            BinaryOp::Add | BinaryOp::Sub => 7,
            BinaryOp::Mul | BinaryOp::Div | BinaryOp::Rem => 8,
            BinaryOp::Pow => 9,
        }
    }
}

/// The pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PipeOp {
    /// `|>`
    Plain,
    /// `?>`: past an absent value.
    Option,
    /// `!>`: past an error.
    Result,
}

impl PipeOp {
    /// The operator as written.
    pub fn as_str(self) -> &'static str {
        match self {
            PipeOp::Plain => "|>",
            PipeOp::Option => "?>",
            PipeOp::Result => "!>",
        }
    }
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
    Tuple(Vec<PatId>),
    /// `[first, ..rest, last]`: elements before and after one rest.
    Array {
        /// Before the rest; all of them if there is none.
        before: Vec<PatId>,
        /// `..` or `..rest`
        rest: Option<RestPat>,
        /// After the rest.
        after: Vec<PatId>,
    },
    /// `Shape::Dot`: a path of two or more segments without data.
    Path(Vec<Name>),
    /// `Shape::Circle(r)`
    Variant {
        /// The variant.
        path: Vec<Name>,
        /// Its data.
        args: Vec<PatId>,
    },
    /// `Point { x, y: 0.0 }`
    Struct {
        /// The struct or variant.
        path: Vec<Name>,
        /// Its fields; `x` alone binds `x`.
        fields: Vec<(Name, PatId)>,
        /// `..` at the end: other fields may hold anything.
        rest: bool,
    },
    /// `a | b`
    Or(Vec<PatId>),
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
        path: Vec<Name>,
        /// Its type arguments.
        args: Vec<TypeId>,
    },
    /// `[T]` (no dimensions written) and `[T; 2, n: ?m, ..s]`
    Array {
        /// The elements.
        elem: TypeId,
        /// One entry per axis or pack; `None` for `[T]`.
        dims: Option<Vec<Dim>>,
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
    Tuple(Vec<TypeId>),
    /// `(T, U) -> R`
    Function {
        /// The parameters.
        params: Vec<TypeId>,
        /// The result.
        ret: TypeId,
    },
    /// `some n m. T`
    Some {
        /// The hidden sizes.
        sizes: Vec<Name>,
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
