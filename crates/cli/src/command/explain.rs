//! `einlang explain`: the page of a code, or the list of all codes.

use crate::args::ExplainArgs;
use crate::exit::Exit;
use crate::output;
use ein_driver::explain;

/// Runs the command.
pub fn run(args: &ExplainArgs) -> Exit {
    let Some(code) = &args.code else { return output::out(&explain::list()) };
    match explain::page(code) {
        Ok(page) => output::out(&page),
        Err(unknown) => {
            output::message("error", &format!("there is no diagnostic `{code}`"));
            let nearest: Vec<String> = unknown
                .nearest
                .iter()
                .map(|code| format!("  {code}  {}\n", code.title()))
                .collect();
            if nearest.is_empty() {
                output::message("help", "`einlang explain --list` lists all of them");
            } else {
                output::message(
                    "help",
                    &format!("these come near it:\n{}", nearest.concat().trim_end()),
                );
            }
            Exit::WrongUse
        }
    }
}
