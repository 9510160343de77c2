//! The intermediate representations, the algebra of symbolic integers, and the machine that code is for.
//!
//! Does not know: trees, the checker's tables, engines, passes other than the one that decides how vector
//! loops run.

#![forbid(unsafe_code)]

pub mod cost;
pub mod loops;
pub mod size;
pub mod target;
pub mod tensor;
pub mod text;
