//! The command by itself; the library beside it is the same inside Python.

#![forbid(unsafe_code)]

use ein_driver::heap::Counted;
use std::process::ExitCode;

/// A program is many small lists, and checking it makes and drops many more.
///
/// It is counted, so that `--memory-limit` holds for all that a program can cause.
#[global_allocator]
static ALLOCATOR: Counted<mimalloc::MiMalloc> = Counted(mimalloc::MiMalloc);

fn main() -> ExitCode {
    ExitCode::from(ein_cli::main(std::env::args_os().collect()))
}
