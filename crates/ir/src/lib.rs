//! The intermediate representations and the algebra of symbolic integers.
//!
//! Does not know: trees, the checker's tables, passes, engines.

#![forbid(unsafe_code)]

pub mod loops;
pub mod size;
pub mod tensor;
pub mod text;
