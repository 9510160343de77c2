//! `einlang translate`: a program in another notation as Einlang.

use crate::exit::Exit;
use crate::output;
use ein_driver::{FileSources, Options, Session};
use std::path::Path;

/// Runs the command. Of a program with syntax errors nothing is printed but these.
pub fn run(file: &Path) -> Exit {
    let input = match super::input(file) {
        Ok(input) => input,
        Err(exit) => return exit,
    };
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    match session.translate(&input) {
        Ok((text, report)) => {
            super::show(&session, &report.diagnostics);
            if report.has_errors() { Exit::Rejected } else { output::out(&text) }
        }
        Err(bug) => output::internal_error(&bug),
    }
}
