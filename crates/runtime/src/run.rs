//! One run of a kernel, as the functions that it calls see it: its pool, and whether it is to be left.
//!
//! A kernel asks in its long loops ([`Interface::leaves`]). It is to be left where a part of it that runs on
//! another thread has failed, since then it has no result, and where whoever started it wants it to end: he
//! is asked on his own thread, now and then.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use crate::kernel::{Interface, LEFT};
use crate::pool::{Pool, Shared};
use crate::{float, matrix};

/// He is asked again after this time.
const AGAIN: Duration = Duration::from_millis(10);

/// A run of a kernel.
pub struct Run<'a> {
    shared: &'a Shared,
    /// Whether a part has failed: then long loops are left.
    failed: AtomicBool,
    /// Whether it is left: then parts that have not begun do not begin.
    left: AtomicBool,
    home: Home<'a>,
}

/// Where a run was started, and how to ask there.
struct Home<'a> {
    thread: ThreadId,
    ends: &'a dyn Fn() -> bool,
    asked: Cell<Instant>,
    /// Whether the answer was that it shall end.
    ended: Cell<bool>,
}

impl<'a> Run<'a> {
    /// A run on a pool that starts on this thread, and on it `ends` says whether it shall end.
    pub fn new(pool: &'a Pool, ends: &'a dyn Fn() -> bool) -> Run<'a> {
        let thread = std::thread::current().id();
        let (asked, ended) = (Cell::new(Instant::now()), Cell::new(false));
        let home = Home { thread, ends, asked, ended };
        let [failed, left] = [(); 2].map(|()| AtomicBool::new(false));
        Run { shared: pool.shared(), failed, left, home }
    }

    /// What the kernel calls, as long as this is there.
    pub fn interface(&self) -> Interface {
        Interface {
            parallel: crate::pool::parallel,
            gemm_f32: matrix::gemm_f32,
            gemm_f64: matrix::gemm_f64,
            context: std::ptr::from_ref(self).cast(),
            flushed: float::flushed,
            leaves,
        }
    }

    /// Whether whoever started it wanted it to end.
    pub fn was_ended(&self) -> bool {
        self.home.ended.get()
    }

    pub(crate) fn shared(&self) -> &'a Shared {
        self.shared
    }

    /// A part has failed: the long loops of others need not go on.
    pub(crate) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    /// A part was left, so all of it is.
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Relaxed);
    }

    /// Whether it is left.
    pub(crate) fn is_left(&self) -> bool {
        self.left.load(Ordering::Relaxed)
    }

    /// Whether a long loop of it is to be left.
    pub(crate) fn looks(&self) -> bool {
        if self.is_left() || self.failed.load(Ordering::Relaxed) {
            return true;
        }
        // The rest of it belongs to the thread that started it.
        if std::thread::current().id() != self.home.thread {
            return false;
        }
        let now = Instant::now();
        if now.saturating_duration_since(self.home.asked.get()) < AGAIN {
            return false;
        }
        self.home.asked.set(now);
        let ends = (self.home.ends)();
        if ends {
            self.home.ended.set(true);
            self.leave();
        }
        ends
    }
}

/// [`Interface::leaves`].
unsafe extern "C" fn leaves(context: *const c_void) -> u32 {
    // SAFETY: the context is that of the interface of a run that is still there; on other threads than
    // its own only what is atomic is looked at.
    let run = unsafe { &*context.cast::<Run<'_>>() };
    if run.looks() { LEFT } else { 0 }
}
