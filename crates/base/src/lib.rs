//! What every other crate of the compiler stands on: files and spans, symbols, typed ids and
//! arenas, diagnostics as data, the progress of a run, and the trait through which source text arrives.
//!
//! Does not know: syntax, terminals, the file system.

#![forbid(unsafe_code)]

mod arena;
pub mod code;
mod diagnostic;
mod nodes;
mod progress;
mod source;
mod span;
mod symbol;

pub use arena::{Idx, IndexVec};
pub use code::{Code, Stage};
pub use diagnostic::{Diagnostic, Help, Label, Severity};
pub use nodes::Nodes;
pub use progress::{Progress, Work};
pub use source::{FileId, LineIndex, SourceError, SourceFile, SourceMap, Sources};
pub use span::Span;
pub use symbol::{Name, Symbol};

/// The tables of all names and spans, locked until it is dropped: a process that is forked while
/// another thread has a lock never gets it.
pub fn locked_tables() -> impl Sized {
    (symbol::locked(), span::locked())
}
