//! Passes over the intermediate representations: program in, program out.
//!
//! Does not know: source text, which engine will run.

pub mod autodiff;
pub mod flatten;
pub mod guards;
pub mod points;
pub mod schedule;
pub mod sound;
pub mod storage;
