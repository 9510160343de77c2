//! Room for deep recursion, and how much of it is left.

use std::cell::Cell;
use std::io;
use std::thread;

/// The stack that [`with_big_stack`] reserves. Memory is only used when it is touched.
pub const BIG_STACK_BYTES: usize = 1 << 30;

/// What a thread is taken to have when nobody says: half of what Rust gives its own.
const SMALL_STACK_BYTES: usize = 1 << 20;

/// What must be left for the deepest expression between two checks.
const MARGIN_BYTES: usize = 256 << 10;

thread_local! {
    static OWN_BYTES: Cell<usize> = const { Cell::new(SMALL_STACK_BYTES) };
}

/// Does the work on a thread with a very deep stack; the error says why there is no such thread.
/// Panics go on in the caller.
pub fn with_big_stack<T: Send>(work: impl FnOnce() -> T + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("einlang-run".into()).stack_size(BIG_STACK_BYTES);
        let body = || {
            OWN_BYTES.set(BIG_STACK_BYTES);
            work()
        };
        match builder.spawn_scoped(scope, body)?.join() {
            Ok(result) => Ok(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// The address below which the stack must not grow, for a run that starts here.
pub(crate) fn floor(bytes: Option<usize>) -> usize {
    let bytes = bytes.unwrap_or_else(|| OWN_BYTES.get());
    // The thread has used a little already; the margin covers that as well.
    here().saturating_sub(bytes.saturating_sub(MARGIN_BYTES.min(bytes / 2)))
}

/// About where the stack ends now.
#[inline(always)]
pub(crate) fn here() -> usize {
    let mark = 0u8;
    std::ptr::from_ref(&mark) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_deep() {
        fn depth(n: u64) -> u64 {
            let pad = std::hint::black_box([n; 64]);
            if n == 0 { 0 } else { depth(n - 1) + pad[0] - n + 1 }
        }
        assert_eq!(with_big_stack(|| depth(500_000)).unwrap(), 500_000);
    }

    #[test]
    fn the_floor_is_below() {
        assert!(floor(Some(1 << 20)) < here());
        assert!(floor(None) > here() - SMALL_STACK_BYTES);
    }
}
