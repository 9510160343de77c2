//! Processes that were forked: what threads of the parent had in hand is left where it is.
//!
//! A fork takes over the memory of all threads, but of the threads only the one that asked for it. Locks
//! that others had stay locked, and nobody is there to be joined.

use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many forks lie between this process and the first.
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// Notes that this process is the child of a fork.
pub fn note_fork() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

fn forks() -> usize {
    FORKS.load(Ordering::Relaxed)
}

/// The process that this is called in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Here(usize);

impl Here {
    /// This one.
    pub fn now() -> Here {
        Here(forks())
    }
}

/// Something with locks or threads. In a child of the process that made it, it can be looked at, but is
/// neither used nor dropped.
#[derive(Debug)]
pub struct Own<T> {
    made: Here,
    value: std::mem::ManuallyDrop<T>,
}

impl<T> Own<T> {
    /// Made here.
    pub fn new(value: T) -> Own<T> {
        Own { made: Here::now(), value: std::mem::ManuallyDrop::new(value) }
    }

    /// Whether it was made in this process.
    pub fn is_here(&self) -> bool {
        self.made == Here::now()
    }
}

impl<T> Deref for Own<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if self.is_here() {
            // SAFETY: it is dropped here and nowhere else.
            unsafe { std::mem::ManuallyDrop::drop(&mut self.value) };
        }
    }
}
