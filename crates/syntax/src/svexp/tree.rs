//! Programs in svexp as trees.

use ein_base::{Name, Span, Symbol};

/// A program.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) functions: Vec<Def>,
    pub(super) body: Option<Node>,
}

/// `f x y = expr`
#[derive(Debug)]
pub(super) struct Def {
    pub(super) name: Name,
    pub(super) params: Vec<Name>,
    pub(super) body: Node,
    pub(super) span: Span,
}

/// An expression.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) span: Span,
}

/// The kinds of expression.
#[derive(Debug)]
pub(super) enum Kind {
    Int(i64),
    /// The digits as written.
    Float(String),
    Bool(bool),
    Name(Symbol),
    Array(Vec<Node>),
    /// A function by its place in the program.
    Call(usize, Vec<Node>),
    Binary(Op, Box<[Node; 2]>),
    If(Box<[Node; 3]>),
    Let(Vec<(Name, Node)>, Box<Node>),
    /// `Typ inner outer e`
    Typ(u32, u32, Box<Node>),
    /// `Proj outer inner e`
    Proj(u32, u32, Box<Node>),
    /// `Extr00` and its like, with the function of Einlang.
    Extr(&'static str, u32, Box<Node>),
    Join(u32, Box<[Node; 2]>),
    Red(Op, u32, Box<Node>),
    /// `Part0` and `Part1`, with the function of Einlang.
    Part(&'static str, u32, Box<[Node; 2]>),
    /// `NumOf e axis k`
    NumOf(u32, Box<[Node; 2]>),
    /// It was reported.
    Error,
}

/// The operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    Div,
    Lt,
    Gt,
    Le,
    Ge,
    Eq,
    And,
    Or,
    Min,
    Max,
}
