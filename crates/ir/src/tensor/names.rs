//! Names as the text of tensor IR writes them: of ids, of strings, and of the run-time library.

use super::{HostOp, IoOp, PlainOp};
use crate::text::write_string;
use ein_base::{Idx, Symbol};

/// The operations of the run-time library that carry nothing.
pub(super) const HOST: [(&str, HostOp); 18] = [
    ("print", HostOp::Print),
    ("assert", HostOp::Assert),
    ("len", HostOp::Len),
    ("shape", HostOp::Shape),
    ("equal", HostOp::Equal),
    ("compare", HostOp::Compare),
    ("concat", HostOp::Concat),
    ("repeat", HostOp::Repeat),
    ("char_at", HostOp::CharAt),
    ("contains", HostOp::Contains),
    ("append", HostOp::ArrayAppend),
    ("element_at", HostOp::ElementAt),
    ("reshape", HostOp::Reshape),
    ("compress", HostOp::Compress),
    ("iota", HostOp::Iota),
    ("convert", HostOp::Convert),
    ("zeros_like", HostOp::ZerosLike),
    ("merge_closures", HostOp::MergeClosures),
];

/// The name of an operation of the run-time library, without what it carries.
pub(super) fn host_name(op: &HostOp) -> String {
    match op {
        HostOp::Format(_) => "format".into(),
        HostOp::Input(_) => "input".into(),
        HostOp::Python(_) => "python".into(),
        HostOp::Io(io) => {
            let name =
                IoOp::NAMES.iter().find(|(_, other)| other == io).map_or("?", |(name, _)| name);
            format!("io.{name}")
        }
        HostOp::Plain(op) => {
            let name =
                PlainOp::NAMES.iter().find(|(_, other)| other == op).map_or("?", |(name, _)| name);
            format!("plain.{name}")
        }
        HostOp::Print
        | HostOp::Assert
        | HostOp::Len
        | HostOp::Shape
        | HostOp::Equal
        | HostOp::Compare
        | HostOp::Concat
        | HostOp::Repeat
        | HostOp::CharAt
        | HostOp::Contains
        | HostOp::ArrayAppend
        | HostOp::ElementAt
        | HostOp::Reshape
        | HostOp::Compress
        | HostOp::Iota
        | HostOp::Convert
        | HostOp::ZerosLike
        | HostOp::MergeClosures => {
            HOST.iter().find(|(_, other)| other == op).map_or("?", |(name, _)| name).into()
        }
    }
}

/// Whether a character can start a word.
pub(super) fn starts_word(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

/// Whether a character can stand inside a word.
pub(super) fn in_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Whether a text is a word that can stand for a name.
pub(super) fn is_word(text: &str) -> bool {
    let mut chars = text.chars();
    text != "_" && chars.next().is_some_and(starts_word) && chars.all(in_word)
}

/// The readable part of an id: what of the name can stand in a word.
pub(super) fn readable(name: Symbol) -> String {
    let text: String = name.as_str().chars().filter(|c| in_word(*c)).collect();
    if text.chars().next().is_some_and(starts_word) { text } else { String::new() }
}

/// An id with its readable part: `x_3`, `_7`.
pub(super) fn id_text(name: Symbol, id: impl Idx) -> String {
    format!("{}_{}", readable(name), id.index())
}

/// A name: a word, or a string where it is none.
pub(super) fn write_name(out: &mut String, name: Symbol) {
    if is_word(name.as_str()) {
        out.push_str(name.as_str());
    } else {
        write_string(out, name.as_str());
    }
}
