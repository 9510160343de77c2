//! Ctrl-C. While a program runs, the first one asks it to stop, so that its outputs so far are
//! kept; if it does not within a second, or anything else is being done, the process ends.

use crate::exit::Exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What the program that runs looks at.
static RUNNING: Mutex<Option<Arc<AtomicBool>>> = Mutex::new(None);

/// Begins to listen.
pub fn listen() {
    // Without the handler Ctrl-C still ends the process, only with the system's own status.
    let _ = ctrlc::set_handler(|| {
        let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // First the flag: whoever waits for a compiler looks at it when that ends.
        let again = running.as_ref().is_some_and(|flag| flag.swap(true, Ordering::Relaxed));
        ein_driver::stop_compilers();
        let Some(flag) = running.filter(|_| !again) else { leave() };
        // A phase that looks at no flag is left.
        let wait = move || {
            std::thread::sleep(crate::limits::GRACE);
            let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if running.is_some_and(|running| Arc::ptr_eq(&running, &flag)) {
                leave();
            }
            // It came just before the end: what is being written may have no reader.
            if crate::limits::is_done() {
                std::thread::sleep(crate::limits::WRITING);
                leave();
            }
        };
        if std::thread::Builder::new().name("interrupt".into()).spawn(wait).is_err() {
            leave();
        }
    });
}

/// Ends the process.
fn leave() -> ! {
    crate::output::wipe_at_once();
    std::process::exit(Exit::Interrupted.code());
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
