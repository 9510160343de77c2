//! What the pool shares between threads: of the standard library, or of a model of it.
//!
//! With the feature `loom`, the pool runs on a model in which every order of steps of its threads that
//! the memory model allows is tried, one after another (`model.rs`). The model has no clock, so idle
//! threads sleep at once there.

#[cfg(not(feature = "loom"))]
pub(super) use std::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    sync::{Condvar, Mutex},
    thread::{Builder, JoinHandle, yield_now},
};

#[cfg(feature = "loom")]
pub(super) use loom::{
    hint::spin_loop,
    sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering},
    sync::{Condvar, Mutex},
    thread::{Builder, JoinHandle, yield_now},
};

use std::cell::Cell;

#[cfg(not(feature = "loom"))]
thread_local! {
    /// Whether this thread is inside a region.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

#[cfg(feature = "loom")]
loom::thread_local! {
    static INSIDE: Cell<bool> = Cell::new(false);
}

/// Whether this thread is inside a region.
pub(super) fn inside() -> bool {
    INSIDE.with(Cell::get)
}

/// Notes that this thread is inside a region, or no longer.
pub(super) fn set_inside(inside: bool) {
    INSIDE.with(|it| it.set(inside));
}

/// A value that its users take care of: none writes it while another one reads or writes.
#[derive(Debug)]
pub(super) struct Slot<T>(
    #[cfg(not(feature = "loom"))] std::cell::UnsafeCell<T>,
    #[cfg(feature = "loom")] loom::cell::UnsafeCell<T>,
);

impl<T: Copy> Slot<T> {
    #[cfg(not(feature = "loom"))]
    pub(super) fn new(value: T) -> Slot<T> {
        Slot(std::cell::UnsafeCell::new(value))
    }

    #[cfg(feature = "loom")]
    pub(super) fn new(value: T) -> Slot<T> {
        Slot(loom::cell::UnsafeCell::new(value))
    }

    /// The value.
    ///
    /// # Safety
    ///
    /// Nobody writes it meanwhile.
    pub(super) unsafe fn get(&self) -> T {
        // SAFETY: as the caller promises; the model looks whether it is so.
        #[cfg(not(feature = "loom"))]
        return unsafe { *self.0.get() };
        #[cfg(feature = "loom")]
        return self.0.with(|value| unsafe { *value });
    }

    /// Another value.
    ///
    /// # Safety
    ///
    /// Nobody reads or writes it meanwhile.
    pub(super) unsafe fn set(&self, to: T) {
        // SAFETY: as the caller promises; the model looks whether it is so.
        #[cfg(not(feature = "loom"))]
        unsafe {
            *self.0.get() = to;
        }
        #[cfg(feature = "loom")]
        self.0.with_mut(|value| unsafe { *value = to });
    }
}

/// How long a worker has been idle.
pub(super) struct Idle {
    #[cfg(not(feature = "loom"))]
    since: std::time::Instant,
}

/// What an idle worker does next.
#[cfg_attr(feature = "loom", expect(dead_code, reason = "it sleeps at once"))]
pub(super) enum Next {
    /// Look again at once.
    Look,
    /// Let others run, and look again.
    Yield,
    /// Sleep until somebody rings.
    Sleep,
}

impl Idle {
    /// From now on.
    pub(super) fn now() -> Idle {
        Idle {
            #[cfg(not(feature = "loom"))]
            since: std::time::Instant::now(),
        }
    }

    /// What to do after a look that found nothing.
    #[cfg(not(feature = "loom"))]
    pub(super) fn next(&self) -> Next {
        match self.since.elapsed() {
            waited if waited > super::LINGER => Next::Sleep,
            waited if waited > super::WATCH => Next::Yield,
            _ => Next::Look,
        }
    }

    /// What to do after a look that found nothing.
    #[cfg(feature = "loom")]
    pub(super) fn next(&self) -> Next {
        Next::Sleep
    }
}
