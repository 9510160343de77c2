//! The two streams. A reader that went away is no failure, and colours appear only on terminals. A
//! line that was drawn is wiped before anything else is written.

use crate::exit::Exit;
use anstream::{AutoStream, ColorChoice};
use ein_driver::InternalError;
use ein_driver::render::{Style, clean_text};
use std::io::{self, ErrorKind, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The line that is drawn on the terminal; empty if none is.
static DRAWN: Mutex<String> = Mutex::new(String::new());

/// Back to the first column, and nothing from there on.
const WIPE: &[u8] = b"\r\x1b[K";

/// Draws a line over the one that is drawn.
pub fn draw(line: &str) {
    let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    if *drawn != line {
        let _ = io::stderr().lock().write_all(&[WIPE, line.as_bytes()].concat());
        *drawn = line.to_owned();
    }
}

/// Wipes what is drawn.
pub fn wipe() {
    drop(wiped());
}

/// Wipes what is drawn unless somebody is writing, for whoever must not wait: a reader may have
/// stopped reading for good.
pub fn wipe_at_once() {
    if let Ok(drawn) = DRAWN.try_lock()
        && !drawn.is_empty()
    {
        let _ = io::stderr().lock().write_all(WIPE);
    }
}

/// Writes to standard error what is said at the very end, when nobody may be waited for.
pub fn last_words(text: &str) {
    wipe_at_once();
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Wipes what is drawn; nothing is drawn while this is held.
fn wiped() -> MutexGuard<'static, String> {
    let mut drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner);
    if !drawn.is_empty() {
        let _ = io::stderr().lock().write_all(WIPE);
        drawn.clear();
    }
    drawn
}

/// Writes to standard output. Somebody who stops reading (`| head`) has seen enough; any other
/// failure is reported.
pub fn out(text: &str) -> Exit {
    let written = {
        let _nothing_drawn = wiped();
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
    };
    match written {
        Ok(()) => Exit::Success,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Success,
        Err(error) => {
            // A program may go on printing; once is enough.
            static SAID: AtomicBool = AtomicBool::new(false);
            if !SAID.swap(true, Ordering::Relaxed) {
                message("error", &format!("standard output cannot be written: {error}"));
            }
            Exit::Failed
        }
    }
}

/// Writes to standard error. There is nowhere to report that this failed.
pub fn err(text: &str) {
    let _nothing_drawn = wiped();
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// One line to standard error: `error: text`.
pub fn message(kind: &str, text: &str) {
    err(&format!("{kind}: {}\n", clean_text(text)));
}

/// How diagnostics look on standard error: coloured where a terminal shows it and nothing
/// (`NO_COLOR`) forbids it.
pub fn style() -> Style {
    match AutoStream::choice(&io::stderr()) {
        ColorChoice::Never => Style::Plain,
        ColorChoice::Auto | ColorChoice::AlwaysAnsi | ColorChoice::Always => Style::Coloured,
    }
}

/// Reports a bug of ours. What exactly broke means nothing to a user and is shown only where
/// `EINLANG_DEBUG` is set.
pub fn internal_error(bug: &InternalError) -> Exit {
    if bug.no_memory {
        err(&format!("error[E0805]: out of memory: {bug}\n"));
        return Exit::Failed;
    }
    message("error", &bug.to_string());
    err("  This is a bug in einlang, not in your program.\n");
    err("  Please report it, with the program that shows it.\n");
    // Whoever asked for a search wants to know what was found.
    let asked = bug.detail.starts_with("paranoid: ");
    if asked || std::env::var_os("EINLANG_DEBUG").is_some() {
        err(&format!("  {}\n", bug.detail));
    }
    Exit::Failed
}
