//! Passes over the intermediate representations: program in, program out.
//!
//! * Tensor IR to tensor IR: derivatives ([`autodiff`]), states of several parts as arrays
//!   ([`unzip`]), guards that partition ([`guards`]), the last steps of recurrences for what is evaluated
//!   ([`tails`]), what is left of a program with mistakes ([`sound`]).
//! * Tensor IR to points ([`flatten`], [`points`]), points to points ([`pipeline`]), points to loops
//!   ([`schedule`]).
//! * Reports: how bindings are stored ([`storage`]), what kernels take ([`counts`]).
//!
//! Does not know: source text, which engine will run.

#![forbid(unsafe_code)]

pub mod autodiff;
pub mod counts;
mod fields;
pub mod flatten;
pub mod guards;
pub mod lists;
pub mod pipeline;
pub mod points;
mod records;
pub mod schedule;
pub mod sound;
pub mod storage;
pub mod tails;
pub mod unzip;

/// What follows from which outputs are looked at: nothing has to be kept for the others.
pub fn observed(program: &mut ein_ir::tensor::Program) {
    unzip::forget(program);
    tails::run(program);
}
