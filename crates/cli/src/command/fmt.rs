//! `einlang fmt`: the canonical format.

use crate::args::FmtArgs;
use crate::exit::Exit;
use crate::output;
use ein_driver::{Formatted, InternalError, format_file, format_text, program_files, render};
use std::path::Path;

/// Runs the command: every file is tried, and the worst outcome is the command's.
pub fn run(args: &FmtArgs) -> Exit {
    let mut exit = Exit::Success;
    for path in &args.files {
        let one = if path.as_os_str() == "-" {
            standard_input(args.check)
        } else {
            match program_files(path) {
                Ok(files) => files.iter().try_fold(Exit::Success, |worst, file| {
                    one_file(file, args.check).map(|exit| worst.max(exit))
                }),
                Err(error) => {
                    let text = format!("`{}` cannot be searched: {error}", path.display());
                    output::message("error", &text);
                    Ok(Exit::Rejected)
                }
            }
        };
        exit = exit.max(one.unwrap_or_else(|bug| output::internal_error(&bug)));
    }
    exit
}

fn one_file(path: &Path, check: bool) -> Result<Exit, InternalError> {
    Ok(match format_file(path, !check)? {
        Ok(Formatted::Same) => Exit::Success,
        Ok(Formatted::Changed(_)) if check => {
            output::out(&format!("{}\n", path.display())).max(Exit::Rejected)
        }
        Ok(Formatted::Changed(_)) => Exit::Success,
        Ok(Formatted::Rejected(files, diagnostics)) => {
            output::err(&render::render(&files, &diagnostics, output::style()));
            Exit::Rejected
        }
        Err(error) => {
            let text = format!("`{}` cannot be written: {error}", path.display());
            output::message("error", &text);
            Exit::Failed
        }
    })
}

fn standard_input(check: bool) -> Result<Exit, InternalError> {
    let text = match super::standard_input() {
        Ok(text) => text,
        Err(exit) => return Ok(exit),
    };
    Ok(match format_text("<stdin>", &text)? {
        Formatted::Same if check => Exit::Success,
        Formatted::Changed(_) if check => output::out("<stdin>\n").max(Exit::Rejected),
        Formatted::Same => output::out(&text),
        Formatted::Changed(formatted) => output::out(&formatted),
        Formatted::Rejected(files, diagnostics) => {
            output::err(&render::render(&files, &diagnostics, output::style()));
            Exit::Rejected
        }
    })
}
