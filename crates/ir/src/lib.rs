//! The intermediate representations, the algebra of symbolic integers, and the machine that code is for.
//!
//! Does not know: trees, the checker's tables, passes, engines.

#![forbid(unsafe_code)]

pub mod cost;
pub mod loops;
pub mod size;
pub mod target;
pub mod tensor;
pub mod text;
