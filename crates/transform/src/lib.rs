//! Passes over the intermediate representations: program in, program out.
//!
//! Does not know: source text, which engine will run.

#![forbid(unsafe_code)]

pub mod autodiff;
pub mod counts;
mod fields;
pub mod flatten;
pub mod guards;
pub mod points;
mod records;
pub mod schedule;
pub mod sound;
pub mod storage;
pub mod unzip;
