//! The ends that a command has: time and memory.
//!
//! A program that runs looks at both itself, and stops with a place and with its outputs. This is for
//! everything else, a phase of the compiler or a program of the system that it waits for: a thread
//! ends the process a little after the time, the allocator at a little more than the memory.

use crate::exit::Exit;
use crate::output;
use ein_driver::heap::{self, Exhausted};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the work has to stop by itself when its time is over.
pub const GRACE: Duration = Duration::from_millis(600);

/// How long results may still be written when the time of the work is over.
pub const WRITING: Duration = Duration::from_secs(1);

/// How long the last words may take.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// What the compiler may take beside the memory that a program is allowed.
const OWN_MEMORY: u64 = 512 << 20;

/// The limit of this command.
static TIME: OnceLock<Duration> = OnceLock::new();

/// Whether the work is done and only its results are being written.
static DONE: AtomicBool = AtomicBool::new(false);

/// Sets the limits of the command.
pub fn begin(time: Option<Duration>) {
    let memory = ein_driver::free_memory().unwrap_or(u64::MAX);
    heap::set_ceiling(memory, exhausted);
    let Some(time) = time else { return };
    // It is set once: a command begins once.
    let _ = TIME.set(time);
    let watch = move || {
        std::thread::sleep(time);
        ein_driver::stop_compilers();
        std::thread::sleep(GRACE);
        if DONE.load(Ordering::Relaxed) {
            // What there is is being written, perhaps for somebody who does not read it.
            std::thread::sleep(WRITING);
        }
        // Somebody may hold the stream, and wait for a reader.
        let leave = || std::process::exit(Exit::Failed.code());
        let _ = std::thread::Builder::new().spawn(move || {
            std::thread::sleep(LAST_WORDS);
            leave()
        });
        output::last_words(&format!(
            "error[E0812]: the time limit of {} s has passed\n",
            time.as_secs_f64()
        ));
        leave()
    };
    // Without a thread only the program itself looks at the time.
    let _ = std::thread::Builder::new().name("time".into()).spawn(watch);
}

/// The time that a run has.
pub fn time() -> Option<Duration> {
    TIME.get().copied()
}

/// Lowers what the process may take to what a program is allowed, and what the compiler needs.
pub fn allow_memory(bytes: Option<u64>) {
    if let Some(bytes) = bytes {
        heap::move_ceiling(bytes.saturating_add(OWN_MEMORY));
    }
}

/// The work is done: what is written from now on has a second more.
pub fn done() {
    DONE.store(true, Ordering::Relaxed);
}

/// Whether only results are being written.
pub fn is_done() -> bool {
    DONE.load(Ordering::Relaxed)
}

/// Says that there is no more memory, and ends the process.
fn exhausted(why: Exhausted) -> ! {
    let reason = match why {
        Exhausted::Ceiling(bytes) => {
            format!("more than {} MiB would be in use, with what the compiler needs", bytes >> 20)
        }
        Exhausted::System(bytes) => format!("the system has no more: {bytes} bytes were refused"),
    };
    output::last_words(&format!("error[E0805]: out of memory: {reason}\n"));
    std::process::exit(Exit::Failed.code())
}
