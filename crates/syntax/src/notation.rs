//! The notations a program may be written in, and what their translators share.
//!
//! Remora and svexp are read by parsers of their own that give Einlang trees with spans in the
//! original text. Everything after parsing is shared.

pub(crate) mod build;
pub(crate) mod calls;
pub(crate) mod names;
pub(crate) mod size;

use crate::{Parsed, parser, remora, svexp};
use ein_base::FileId;
use std::path::Path;

/// How deep the trees of the other notations may be. One level may become several of an Einlang
/// tree, which then stays below [`crate::ast::MAX_DEPTH`].
pub(crate) const MAX_NESTING: u32 = 96;
/// How many functions a translation may make: one for each combination of element types and ranks
/// a function is used with.
pub(crate) const MAX_INSTANCES: usize = 500;
/// How many functions may wait for one that they call.
pub(crate) const MAX_CALLS: usize = 100;

/// A notation, chosen by the extension of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notation {
    /// Einlang itself: `.ein` and everything unknown.
    #[default]
    Einlang,
    /// Remora, `.rem`: s-expressions with ranks.
    Remora,
    /// svexp, `.svx`: functions on matrices by splitting and joining.
    Svexp,
}

impl Notation {
    /// The notation of the file at a path; text that lies nowhere is Einlang.
    pub fn of(path: Option<&Path>) -> Self {
        match path.and_then(Path::extension).and_then(|it| it.to_str()) {
            Some("rem") => Notation::Remora,
            Some("svx") => Notation::Svexp,
            _ => Notation::Einlang,
        }
    }
}

/// Parses the text of a file in some notation.
pub fn parse_as(notation: Notation, file: FileId, text: &str) -> Parsed {
    match notation {
        Notation::Einlang => parser::parse(file, text),
        Notation::Remora => remora::parse(file, text),
        Notation::Svexp => svexp::parse(file, text),
    }
}

/// What the elements of an array are, as far as a translator must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Elem {
    /// `i32`
    Int,
    /// `f32`
    Float,
    /// `bool`
    Bool,
    /// Not known (yet): the result of a recursive call, an empty array.
    Unknown,
}

impl Elem {
    /// What an operation gives that meets both.
    pub(crate) fn meet(self, other: Elem) -> Elem {
        match (self, other) {
            (Elem::Unknown, it) | (it, Elem::Unknown) => it,
            (Elem::Float, Elem::Int) | (Elem::Int, Elem::Float) => Elem::Float,
            (it, _) => it,
        }
    }

    /// The Einlang type.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Elem::Int => "i32",
            Elem::Float | Elem::Unknown => "f32",
            Elem::Bool => "bool",
        }
    }
}
