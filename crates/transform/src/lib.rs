//! Passes over the intermediate representations: program in, program out.
//!
//! Does not know: source text, which engine will run.

pub mod autodiff;
pub mod storage;
