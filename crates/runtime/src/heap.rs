//! All memory of the process, counted where it is allocated.
//!
//! A command makes [`Counted`] its global allocator. Then everything that a program can cause is
//! under the limit: texts, lists, tuples, closures, the compiler itself. [`crate::Memory`] looks at the
//! count where an evaluation can still end with a message; the ceiling set here is for what never
//! comes to such a place, and ends the process.
//!
//! Without [`Counted`] the count stays zero and nothing is limited.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, Ordering};

/// Threads add up so many bytes of their own before they tell the others.
const BATCH: i64 = 64 << 10;

/// The bytes in use, but for what threads have not told yet.
static USED: AtomicI64 = AtomicI64::new(0);

/// Beyond this the process ends.
static CEILING: AtomicU64 = AtomicU64::new(u64::MAX);

/// What is called then: a function of type [`AtCeiling`].
static AT_CEILING: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Whether it has been called: whoever reports the end may allocate.
static ENDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// What this thread has not told yet.
    static OWN: Cell<i64> = const { Cell::new(0) };
    /// Whether the allocation under way may be refused.
    static MAY_FAIL: Cell<bool> = const { Cell::new(false) };
}

/// Why there is no more memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exhausted {
    /// The ceiling in bytes.
    Ceiling(u64),
    /// The system refused so many bytes.
    System(u64),
}

/// Reports that memory is exhausted, and ends the process.
pub type AtCeiling = fn(Exhausted) -> !;

/// An allocator that counts what another one gives.
pub struct Counted<A>(pub A);

impl<A> Counted<A> {
    /// Counts bytes that are wanted; they may be too many.
    #[inline]
    fn add(&self, bytes: usize) {
        let own = OWN.get() + bytes as i64;
        if own < BATCH {
            OWN.set(own);
        } else {
            OWN.set(0);
            told(own);
        }
    }

    #[inline]
    fn take(&self, bytes: usize) {
        let own = OWN.get() - bytes as i64;
        if own > -BATCH {
            OWN.set(own);
        } else {
            OWN.set(0);
            USED.fetch_add(own, Ordering::Relaxed);
        }
    }
}

/// Adds to what all threads know, and looks at the ceiling.
#[cold]
fn told(bytes: i64) {
    let used = USED.fetch_add(bytes, Ordering::Relaxed) + bytes;
    let ceiling = CEILING.load(Ordering::Relaxed);
    if used > 0 && used as u64 > ceiling && !MAY_FAIL.get() {
        end(Exhausted::Ceiling(ceiling));
    }
}

/// Ends the process, if somebody said how; once.
fn end(why: Exhausted) {
    let report = AT_CEILING.load(Ordering::Acquire);
    if report.is_null() || ENDING.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: only `set_ceiling` writes here, and it writes a function of this type.
    let report: AtCeiling = unsafe { std::mem::transmute::<*mut (), AtCeiling>(report) };
    report(why);
}

// SAFETY: all memory comes from the allocator inside, with the layouts it was asked for.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Counted<A> {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: the caller's promise about the layout.
        let start = unsafe { self.0.alloc(layout) };
        if start.is_null() {
            self.refused(layout.size());
        }
        start
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.add(layout.size());
        // SAFETY: the caller's promise about the layout.
        let start = unsafe { self.0.alloc_zeroed(layout) };
        if start.is_null() {
            self.refused(layout.size());
        }
        start
    }

    #[inline]
    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        self.take(layout.size());
        // SAFETY: the caller's promise about the start and the layout.
        unsafe { self.0.dealloc(start, layout) };
    }

    #[inline]
    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.add(size);
        // SAFETY: the caller's promise about the start, the layout and the size.
        let new = unsafe { self.0.realloc(start, layout, size) };
        if new.is_null() {
            self.refused(size);
        } else {
            self.take(layout.size());
        }
        new
    }
}

impl<A> Counted<A> {
    /// The system has no more. Whoever can do without has said so; all others would be aborted.
    #[cold]
    fn refused(&self, bytes: usize) {
        self.take(bytes);
        if !MAY_FAIL.get() {
            end(Exhausted::System(bytes as u64));
        }
    }
}

/// The bytes in use by the whole process; 0 if nobody counts.
pub fn in_use() -> u64 {
    (USED.load(Ordering::Relaxed) + OWN.get()).max(0) as u64
}

/// Ends the process with `report` when more than this many bytes are in use, or when the system
/// has no more. The report may allocate, but must not wait for another thread.
pub fn set_ceiling(bytes: u64, report: AtCeiling) {
    CEILING.store(bytes, Ordering::Relaxed);
    AT_CEILING.store(report as *mut (), Ordering::Release);
}

/// Another ceiling, with the same report.
pub fn move_ceiling(bytes: u64) {
    CEILING.store(bytes, Ordering::Relaxed);
}

/// Does something whose allocations may be refused: it looks at what it gets.
pub(crate) fn may_fail<T>(work: impl FnOnce() -> T) -> T {
    let before = MAY_FAIL.replace(true);
    let result = work();
    MAY_FAIL.set(before);
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::alloc::System;

    #[test]
    fn bytes_are_counted_and_given_back() {
        let heap = Counted(System);
        let layout = Layout::from_size_align(1 << 20, 64).unwrap();
        let before = in_use();
        // SAFETY: the size is not zero, and every block is given back with its layout.
        unsafe {
            let start = heap.alloc(layout);
            assert_eq!(in_use() - before, 1 << 20);
            let start = heap.realloc(start, layout, 3 << 20);
            assert_eq!(in_use() - before, 3 << 20);
            heap.dealloc(start, Layout::from_size_align(3 << 20, 64).unwrap());
        }
        assert_eq!(in_use(), before);
    }
}
