//! Expressions.

use super::{
    BinaryOp, Binder, Builtin, CoordRef, DefId, ExprId, FormatSpec, LocalId, Param, Pat, ReduceOp,
    Stmt, Type, UnaryOp,
};
use ein_base::{Name, Span, Symbol};
use ein_scalar::ScalarType;
use thin_vec::ThinVec;

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
    Str(ThinVec<StrPart>),
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
    Cast(ExprId, Box<Type>),
    /// `@e`
    At(ExprId),
    /// `f(x, q = 2.0)`; pipelines `|>` are calls already.
    Call {
        /// What is called.
        callee: ExprId,
        /// The arguments.
        args: ThinVec<Arg>,
    },
    /// `f[c](x)` of a function or of a built-in that takes coordinates.
    CoordCall {
        /// What is called: [`ExprKind::Fn`], [`ExprKind::Builtin`] or a local function.
        callee: ExprId,
        /// The coordinate arguments.
        coords: ThinVec<CoordArg>,
        /// The arguments.
        args: ThinVec<Arg>,
    },
    /// `sum[k in 0..n](e)`
    Reduce {
        /// The operation.
        op: ReduceOp,
        /// Where the operation's name stands.
        op_span: Span,
        /// The indices, in scope in the body.
        binders: ThinVec<Binder>,
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
        slots: ThinVec<Slot>,
    },
    /// `p.x`
    Field(ExprId, Name),
    /// `t.0`
    TupleField(ExprId, u32, Span),
    /// `[a, b]`
    Array(ThinVec<ExprId>),
    /// `(a, b)`, `()`
    Tuple(ThinVec<ExprId>),
    /// `[e | x in xs, cond, z = x]`
    Comprehension {
        /// The element.
        body: ExprId,
        /// Generators, conditions and bindings.
        clauses: ThinVec<CompClause>,
    },
    /// `P { x: 1.0 }` and `E::V { x: 1.0 }`
    Struct {
        /// The struct or enum.
        def: DefId,
        /// The number of the variant, for an enum.
        variant: Option<u32>,
        /// The fields as written.
        fields: ThinVec<(Name, ExprId)>,
    },
    /// `{ …; e }`
    Block {
        /// The statements.
        stmts: ThinVec<Stmt>,
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
        arms: ThinVec<Arm>,
    },
    /// `|x, y| e`
    Closure {
        /// Its parameters.
        params: ThinVec<Param>,
        /// Its body.
        body: ExprId,
        /// The locals of the enclosing bodies that it reads, each once, in order of first use.
        captures: ThinVec<LocalId>,
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
        items: ThinVec<WhereItem>,
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
    Group(ThinVec<CoordRef>, Span),
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
    /// `lo..hi; step`: a range and how far the next position is.
    Stepped(ExprId, ExprId),
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
