//! `einlang import`: an ONNX model as a program.

use crate::args::ImportArgs;
use crate::exit::Exit;
use crate::output;
use ein_driver::import::{ImportError, import};
use std::path::PathBuf;

/// Runs the command. Nothing is written unless everything can be imported.
pub fn run(args: &ImportArgs) -> Exit {
    let mut constants = Vec::new();
    for given in &args.constant {
        let Some((name, file)) = given.rsplit_once('=') else {
            output::message("error", &format!("`--constant {given}` is not of the form NAME=FILE"));
            return Exit::WrongUse;
        };
        constants.push((name.to_owned(), PathBuf::from(file)));
    }
    match import(&args.model, &args.output, &constants) {
        Ok(text) => output::out(&text),
        Err(ImportError::Rejected(problems)) => {
            for problem in &problems {
                output::message("error", problem);
            }
            Exit::Rejected
        }
        Err(ImportError::Unwritable(problem)) => {
            output::message("error", &problem);
            Exit::Failed
        }
        Err(ImportError::Bug(bug)) => output::internal_error(&bug),
    }
}
