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
    let mut sizes = Vec::new();
    for given in &args.size {
        let size =
            given.rsplit_once('=').and_then(|(name, size)| Some((name, size.parse::<u32>().ok()?)));
        let Some((name, size)) = size else {
            output::message("error", &format!("`--size {given}` is not of the form NAME=N"));
            return Exit::WrongUse;
        };
        sizes.push((name.to_owned(), i64::from(size)));
    }
    match import(&args.model, &args.output, &constants, &sizes) {
        Ok(text) => output::out(&text),
        Err(ImportError::Rejected(problems)) => {
            for problem in &problems {
                output::message("error[E0903]", problem);
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
