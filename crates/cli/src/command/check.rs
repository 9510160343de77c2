//! `einlang check`: every diagnostic of every program; nothing is executed.

use crate::args::{CheckArgs, MessageFormat};
use crate::exit::Exit;
use crate::output;
use ein_driver::render::Style;
use ein_driver::{FileSources, Input, Options, Session};

/// Runs the command.
pub fn run(args: &CheckArgs) -> Exit {
    let inputs: Result<Vec<Input>, Exit> =
        args.files.iter().map(|path| super::input(path)).collect();
    let inputs = match inputs {
        Ok(inputs) => inputs,
        Err(exit) => return exit,
    };
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let report = match session.check(&inputs) {
        Ok(report) => report,
        Err(bug) => return output::internal_error(&bug),
    };
    let written = match args.message_format {
        MessageFormat::Human => {
            super::show(&session, &report.diagnostics);
            Exit::Success
        }
        MessageFormat::Json => output::out(&session.render(&report.diagnostics, Style::Json)),
    };
    if report.has_errors() { Exit::Rejected } else { written }
}
