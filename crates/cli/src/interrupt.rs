//! Ctrl-C. While a program runs, the first one asks it to stop, so that its outputs so far are
//! kept; any other ends the process. A program that does not listen, because it is inside a long
//! kernel, is ended after a while.

use crate::exit::Exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a program may take to notice.
const PATIENCE: Duration = Duration::from_secs(3);

/// What the program that runs looks at.
static RUNNING: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// Begins to listen.
pub fn listen() {
    // Without the handler Ctrl-C still ends the process, only with the system's own status.
    let _ = ctrlc::set_handler(|| {
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let already = running.is_none_or(|flag| flag.swap(true, Ordering::Relaxed));
        if already {
            std::process::exit(Exit::Interrupted.code());
        }
        std::thread::sleep(PATIENCE);
        let asked = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if asked.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            std::process::exit(Exit::Interrupted.code());
        }
    });
}

/// A program begins to run: the flag is set when it shall stop.
pub fn begin() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(flag.clone());
    flag
}

/// It has ended.
pub fn end() {
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = None;
}
