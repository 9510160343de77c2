//! The `einlang` command: arguments, exit codes, and one file per command.
//!
//! Does not know: anything below the driver.

#![forbid(unsafe_code)]

mod args;
mod command;
mod exit;
mod interrupt;
mod limits;
mod output;
mod progress;

use clap::{CommandFactory as _, FromArgMatches as _};
use ein_driver::heap::Counted;
use exit::Exit;
use std::ffi::OsString;
use std::process::ExitCode;

/// A program is many small lists, and checking it makes and drops many more.
///
/// It is counted, so that `--memory-limit` holds for all that a program can cause.
#[global_allocator]
static ALLOCATOR: Counted<mimalloc::MiMalloc> = Counted(mimalloc::MiMalloc);

fn main() -> ExitCode {
    interrupt::listen();
    let exit = ein_driver::guarded(|| run(std::env::args_os().collect()))
        .unwrap_or_else(|bug| output::internal_error(&bug));
    ExitCode::from(exit)
}

fn run(arguments: Vec<OsString>) -> Exit {
    let arguments = args::with_command(arguments);
    let parsed = args::Cli::command()
        .try_get_matches_from(arguments)
        .and_then(|matches| args::Cli::from_arg_matches(&matches));
    match parsed {
        Ok(cli) => {
            limits::begin(cli.time_limit);
            command::run(cli.command)
        }
        Err(error) => {
            // Help and version were asked for; everything else is wrong use.
            let exit = if error.use_stderr() { Exit::WrongUse } else { Exit::Success };
            let _ = error.print();
            exit
        }
    }
}
