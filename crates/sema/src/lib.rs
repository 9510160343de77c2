//! From trees to checked programs: names, coordinates, ranges, sizes, shapes and types, and the
//! elaboration of what was checked to tensor IR.
//!
//! Does not know: loop IR, engines, input and output.

#![forbid(unsafe_code)]

pub mod check;
pub mod hir;
pub mod resolve;
mod suggest;
mod visit;
