//! Expressions as written.

use super::{BinaryOp, ExprId, Param, PatId, PipeOp, StmtId, TypeId, UnaryOp};
use ein_base::{Name, Span, Symbol};
use thin_vec::ThinVec;

/// An expression. A long program is mostly these.
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
    Str(ThinVec<StrPart>),
    /// `x`, `a::b::c`; the roots `crate self super std python` are ordinary first segments.
    Path(Path),
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
        args: ThinVec<Arg>,
    },
    /// `f[c](x)`: a reduction, a coordinate call, or a call of an element of an array.
    BracketCall {
        /// What stands before the bracket.
        callee: ExprId,
        /// What stands in the bracket.
        slots: ThinVec<Slot>,
        /// The arguments.
        args: ThinVec<Arg>,
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
    /// `(a, b)`, and `()`
    Tuple(ThinVec<ExprId>),
    /// `[e | x in xs, cond, z = x]`
    Comprehension {
        /// The element.
        body: ExprId,
        /// Generators, conditions and bindings, left to right.
        clauses: ThinVec<CompClause>,
    },
    /// `P { x: 1.0, y }`; `y` alone is `y: y`.
    Struct {
        /// The struct or variant.
        path: Box<Path>,
        /// Its fields in the order written.
        fields: ThinVec<(Name, ExprId)>,
    },
    /// `{ …; e }`
    Block {
        /// The statements.
        stmts: ThinVec<StmtId>,
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
        arms: ThinVec<Arm>,
    },
    /// `|x, y| e`
    Closure {
        /// Its parameters.
        params: ThinVec<Param>,
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
        items: ThinVec<WhereItem>,
        /// The value where a guard fails.
        otherwise: Option<ExprId>,
    },
    /// Something that could not be parsed; it was reported.
    Error,
}

/// `a::b::c`: a slice of names, of which there is at least one. Most paths are one name, which needs
/// no allocation of its own.
#[derive(Clone, Debug)]
pub enum Path {
    /// `a`
    One([Name; 1]),
    /// `a::b`
    Many(ThinVec<Name>),
}

impl From<Name> for Path {
    fn from(name: Name) -> Self {
        Path::One([name])
    }
}

impl From<Vec<Name>> for Path {
    fn from(names: Vec<Name>) -> Self {
        match names[..] {
            [name] => Path::One([name]),
            _ => Path::Many(names.into()),
        }
    }
}

impl FromIterator<Name> for Path {
    fn from_iter<I: IntoIterator<Item = Name>>(names: I) -> Self {
        names.into_iter().collect::<Vec<Name>>().into()
    }
}

impl std::ops::Deref for Path {
    type Target = [Name];
    fn deref(&self) -> &[Name] {
        match self {
            Path::One(name) => name,
            Path::Many(names) => names,
        }
    }
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
    /// `lo..hi; step`: every so many positions of a range.
    Stepped {
        /// The range.
        range: ExprId,
        /// How far the next position is.
        step: ExprId,
    },
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
    Group(ThinVec<Name>),
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
