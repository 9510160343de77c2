//! The edge at which our own bugs stop: work runs on a thread with a deep stack, and a panic in
//! it becomes an [`InternalError`] instead of Rust's panic text.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Mutex, Once};
use std::thread;
use std::time::Duration;

/// The compiler recurses over trees of bounded depth; this is far more than they need. The system
/// only reserves it: memory is used when it is touched.
const STACK_BYTES: usize = 256 << 20;

/// Where the system has no room for that (`ulimit -v`), down to this.
const LEAST_STACK_BYTES: usize = 64 << 20;

/// Threads of ours have names that start with this; their panics are not printed.
pub const THREAD_NAME: &str = "einlang";

/// A bug of ours: the work ended in a panic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InternalError {
    /// The line of our source that gave up, as `file.rs:12`.
    pub place: String,
    /// What it said. For developers: it means nothing to a user.
    pub detail: String,
    /// Whether it is none: the system had no memory to begin with.
    pub no_memory: bool,
}

impl fmt::Display for InternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.no_memory {
            true => write!(f, "{}", self.detail),
            false => write!(f, "internal error at {}", self.place),
        }
    }
}

thread_local! {
    // Where and why this thread panicked.
    static LAST: RefCell<Option<InternalError>> = const { RefCell::new(None) };
    // Whether this thread does our work just now, although it is not ours.
    static OURS: Cell<bool> = const { Cell::new(false) };
    // The stack that this thread was given.
    static STACK: Cell<usize> = const { Cell::new(LEAST_STACK_BYTES) };
}

/// Does the work on this thread, which need not be ours.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, InternalError> {
    keep_panics_quiet();
    let before = OURS.replace(true);
    // As in `guarded`.
    let result = panic::catch_unwind(panic::AssertUnwindSafe(work));
    OURS.set(before);
    result.map_err(|_| LAST.take().unwrap_or_else(|| unknown("a panic without a trace")))
}

/// Does the work on a thread with a deep stack; meanwhile this thread looks around now and then.
pub(crate) fn watched<T: Send>(
    work: impl FnOnce() -> T + Send,
    mut look: impl FnMut(),
) -> Result<T, InternalError> {
    let (send, receive) = std::sync::mpsc::channel::<()>();
    let noted = move || {
        let result = guarded(work);
        // Whoever waits wakes at once.
        drop(send);
        result
    };
    thread::scope(|scope| {
        let builder = thread::Builder::new().name(THREAD_NAME.into());
        match builder.spawn_scoped(scope, noted) {
            Ok(handle) => {
                let pause = Duration::from_millis(20);
                while receive.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                    look();
                }
                handle.join().unwrap_or_else(|_| Err(unknown("a thread was lost")))
            }
            Err(error) => {
                let detail = format!("the system has no memory for a thread: {error}");
                Err(InternalError { no_memory: true, ..unknown(&detail) })
            }
        }
    })
}

/// Does the work on a thread with a deep stack and returns what it returns.
pub fn guarded<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, InternalError> {
    keep_panics_quiet();
    let work = Mutex::new(Some(work));
    let caught = |bytes: usize| {
        STACK.set(bytes);
        let taken = work.lock().ok().and_then(|mut work| work.take());
        let work = taken.ok_or_else(|| unknown("the work was done before"))?;
        // The work owns or borrows everything it changes, and the caller drops all of it on error.
        panic::catch_unwind(panic::AssertUnwindSafe(work))
            .map_err(|_| LAST.take().unwrap_or_else(|| unknown("a panic without a trace")))
    };
    thread::scope(|scope| {
        let mut bytes = STACK_BYTES;
        loop {
            let builder = thread::Builder::new().name(THREAD_NAME.into()).stack_size(bytes);
            let caught = &caught;
            match builder.spawn_scoped(scope, move || caught(bytes)) {
                Ok(handle) => {
                    return handle.join().unwrap_or_else(|_| Err(unknown("a thread was lost")));
                }
                Err(_) if bytes > LEAST_STACK_BYTES => bytes /= 2,
                Err(error) => {
                    let detail = format!("the system has no memory for a thread: {error}");
                    return Err(InternalError { no_memory: true, ..unknown(&detail) });
                }
            }
        }
    })
}

/// The stack of the thread that [`guarded`] made and this runs on.
pub(crate) fn stack_bytes() -> usize {
    STACK.get()
}

fn unknown(detail: &str) -> InternalError {
    InternalError { place: "an unknown place".into(), detail: detail.into(), no_memory: false }
}

/// Makes panics of our threads leave a trace instead of a text on standard error.
fn keep_panics_quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let named = |name: &str| name.starts_with(THREAD_NAME);
            let ours = OURS.get() || thread::current().name().is_some_and(named);
            if !ours {
                return previous(info);
            }
            let place = info.location().map_or_else(
                || "an unknown place".into(),
                |at| format!("{}:{}", short_path(at.file()), at.line()),
            );
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            let detail = text.unwrap_or("a panic without a text").to_owned();
            LAST.set(Some(InternalError { place, detail, no_memory: false }));
        }));
    });
}

/// The last three parts of a path: enough to find the line, and nothing of the machine that
/// built the compiler.
fn short_path(path: &str) -> String {
    let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    parts[parts.len().saturating_sub(3)..].join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_returns_its_value() {
        assert_eq!(guarded(|| 1 + 1), Ok(2));
    }

    #[test]
    fn a_panic_becomes_an_internal_error() {
        let error = guarded(|| -> u32 { panic!("the {} broke", "thing") }).unwrap_err();
        assert_eq!(error.detail, "the thing broke");
        assert!(error.place.contains("src/guard.rs:"), "{}", error.place);
        assert!(!error.to_string().contains("broke"));
    }

    #[test]
    fn work_on_this_thread_is_caught_too() {
        let error = caught(|| -> u32 { panic!("quietly") }).unwrap_err();
        assert_eq!(error.detail, "quietly");
        let mut looked = 0;
        let slow = || thread::sleep(Duration::from_millis(70));
        assert_eq!(watched(slow, || looked += 1), Ok(()));
        assert!(looked > 0);
    }

    #[test]
    fn deep_recursion_fits() {
        fn depth(n: u64) -> u64 {
            let pad = std::hint::black_box([n; 64]);
            if n == 0 { 0 } else { depth(n - 1) + pad[0] - n + 1 }
        }
        assert_eq!(guarded(|| depth(100_000)), Ok(100_000));
    }
}
