//! What is there without being defined: built-in functions, scalar types, intrinsics.

use crate::hir::{ArrayOp, Builtin, IoOp, PlainOp, ReduceOp};
use ein_base::Symbol;
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};
use rustc_hash::FxHashMap;

/// A built-in name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// A function.
    Builtin(Builtin),
    /// `extent`, whose argument is the name of a coordinate.
    Extent,
}

const FUNCTIONS: &[(&str, Builtin)] = &[
    ("print", Builtin::Print),
    ("assert", Builtin::Assert),
    ("len", Builtin::Len),
    ("shape", Builtin::Shape),
    ("typeof", Builtin::Typeof),
    ("array_append", Builtin::ArrayAppend),
    ("input", Builtin::Input),
    ("rerank", Builtin::Rerank),
    ("reduce", Builtin::Reduce),
    ("scan", Builtin::Scan),
    ("append", Builtin::Append),
    ("rotate", Builtin::Rotate),
    ("reverse", Builtin::Reverse),
    ("reshape", Builtin::Reshape),
    ("filter", Builtin::Filter),
    ("iota", Builtin::Iota),
    ("first", Builtin::First),
    ("last", Builtin::Last),
    ("rest", Builtin::Rest),
    ("init", Builtin::Init),
    ("take", Builtin::Take),
    ("drop", Builtin::Drop),
    ("join", Builtin::Join),
    ("blocks", Builtin::Blocks),
    ("unblocks", Builtin::Unblocks),
    ("jvp", Builtin::Jvp),
    ("vjp", Builtin::Vjp),
    ("hessian", Builtin::Hessian),
];

/// How a built-in is written.
pub(crate) fn builtin_name(builtin: Builtin) -> &'static str {
    match builtin {
        Builtin::Reduction(op) => op.as_str(),
        Builtin::Unary(op) => op.as_str(),
        Builtin::Binary(op) => op.as_str(),
        Builtin::Python(path) => path.as_str(),
        Builtin::Einsum => "einsum",
        Builtin::Total => "total",
        Builtin::Io(io) => IoOp::NAMES
            .iter()
            .find(|(_, known)| *known == io)
            .map_or("this file function", |it| it.0),
        Builtin::Plain(op) => {
            PlainOp::NAMES.iter().find(|(_, known)| *known == op).map_or("this function", |it| it.0)
        }
        Builtin::By(op) => op.name(),
        _ => {
            FUNCTIONS.iter().find(|(_, known)| *known == builtin).map_or("this built-in", |it| it.0)
        }
    }
}

/// Tables of the built-in names, and the words that paths treat specially.
#[derive(Debug)]
pub(super) struct Builtins {
    /// Functions by name.
    pub(super) functions: FxHashMap<Symbol, Known>,
    /// Their names in a fixed order, for suggestions.
    pub(super) function_names: Vec<Symbol>,
    /// Scalar types by name.
    pub(super) scalars: FxHashMap<Symbol, ScalarType>,
    /// Their names in a fixed order, for suggestions.
    pub(super) scalar_names: Vec<Symbol>,
    /// `std::intrinsics`
    pub(super) intrinsics: FxHashMap<Symbol, Builtin>,
    /// Its names in a fixed order, for suggestions.
    pub(super) intrinsic_names: Vec<Symbol>,
    /// The words with a meaning of their own.
    pub(super) words: Words,
}

/// Words that paths and types treat specially.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) krate: Symbol,
    pub(super) itself: Symbol,
    pub(super) parent: Symbol,
    pub(super) std: Symbol,
    pub(super) python: Symbol,
    pub(super) intrinsics: Symbol,
    pub(super) str: Symbol,
    pub(super) main: Symbol,
    pub(super) piped: Symbol,
    pub(super) extent: Symbol,
}

impl Builtins {
    /// The tables.
    pub(super) fn new() -> Self {
        let functions: Vec<(Symbol, Known)> =
            FUNCTIONS
                .iter()
                .map(|(name, builtin)| (Symbol::intern(name), Known::Builtin(*builtin)))
                .chain(ReduceOp::ALL.iter().map(|op| {
                    (Symbol::intern(op.as_str()), Known::Builtin(Builtin::Reduction(*op)))
                }))
                .chain([(Symbol::intern("extent"), Known::Extent)])
                .collect();
        let scalars: Vec<(Symbol, ScalarType)> =
            ScalarType::ALL.into_iter().map(|ty| (Symbol::intern(ty.name()), ty)).collect();
        let intrinsics: Vec<(Symbol, Builtin)> = BinaryOp::ALL
            .iter()
            .map(|op| (Symbol::intern(op.as_str()), Builtin::Binary(*op)))
            .chain(UnaryOp::ALL.iter().map(|op| (Symbol::intern(op.as_str()), Builtin::Unary(*op))))
            .chain([
                (Symbol::intern("einsum"), Builtin::Einsum),
                (Symbol::intern("total"), Builtin::Total),
            ])
            .chain(IoOp::NAMES.iter().map(|(name, io)| (Symbol::intern(name), Builtin::Io(*io))))
            .chain(
                PlainOp::NAMES.iter().map(|(name, op)| (Symbol::intern(name), Builtin::Plain(*op))),
            )
            .chain(ArrayOp::NAMES.iter().map(|(name, op)| (Symbol::intern(name), Builtin::By(*op))))
            .collect();
        Self {
            function_names: functions.iter().map(|(name, _)| *name).collect(),
            functions: functions.into_iter().collect(),
            scalar_names: scalars.iter().map(|(name, _)| *name).collect(),
            scalars: scalars.into_iter().collect(),
            intrinsic_names: intrinsics.iter().map(|(name, _)| *name).collect(),
            intrinsics: intrinsics.into_iter().collect(),
            words: Words {
                krate: Symbol::intern("crate"),
                itself: Symbol::intern("self"),
                parent: Symbol::intern("super"),
                std: Symbol::intern("std"),
                python: Symbol::intern("python"),
                intrinsics: Symbol::intern("intrinsics"),
                str: Symbol::intern("str"),
                main: Symbol::intern("main"),
                piped: Symbol::intern("it"),
                extent: Symbol::intern("extent"),
            },
        }
    }
}
