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
use exit::Exit;
use std::ffi::OsString;

/// Does what the arguments say, the name of the command among them; gives the exit code.
pub fn main(arguments: Vec<OsString>) -> u8 {
    ein_driver::long_files_are_errors();
    interrupt::listen();
    let exit =
        ein_driver::guarded(|| run(arguments)).unwrap_or_else(|bug| output::internal_error(&bug));
    // Every code fits in a byte.
    exit.code() as u8
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
