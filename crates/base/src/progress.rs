//! How far a run has come: what is computed right now, and which part of it is done.
//!
//! Whoever computes says it now and then; nobody here reads a clock. Whoever shows it looks from
//! another thread, as often as it likes.

use crate::Symbol;
use std::sync::{Mutex, PoisonError};

/// What is computed right now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Which piece of work of the run this is: fractions of one number belong together.
    pub number: u64,
    /// The definition, or the definitions, that are computed.
    pub name: Symbol,
    /// Which part is done, from 0 to 1; absent where nobody can say.
    pub fraction: Option<f64>,
}

/// The work of a run as of the last report.
#[derive(Debug, Default)]
pub struct Progress(Mutex<Option<Work>>);

impl Progress {
    /// Says what is computed; nothing once the run has ended.
    pub fn report(&self, work: Option<Work>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = work;
    }

    /// What was said last.
    pub fn now(&self) -> Option<Work> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
