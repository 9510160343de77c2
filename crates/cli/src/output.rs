//! The two streams. A reader that went away is no failure, and colours appear only on terminals.

use crate::exit::Exit;
use anstream::{AutoStream, ColorChoice};
use ein_driver::{InternalError, render::Style};
use std::io::{self, ErrorKind, Write as _};

/// Writes to standard output. Somebody who stops reading (`| head`) has seen enough; any other
/// failure is reported.
pub fn out(text: &str) -> Exit {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Ok(()) => Exit::Success,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Exit::Success,
        Err(error) => {
            message("error", &format!("standard output cannot be written: {error}"));
            Exit::Failed
        }
    }
}

/// Writes to standard error. There is nowhere to report that this failed.
pub fn err(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// One line to standard error: `error: text`.
pub fn message(kind: &str, text: &str) {
    err(&format!("{kind}: {text}\n"));
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
    message("error", &bug.to_string());
    err("  This is a bug in einlang, not in your program.\n");
    err("  Please report it, with the program that shows it.\n");
    if std::env::var_os("EINLANG_DEBUG").is_some() {
        err(&format!("  {}\n", bug.detail));
    }
    Exit::Failed
}
