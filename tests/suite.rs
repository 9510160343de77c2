//! Runs the file-driven suite: one test per section, one per page about a diagnostic.

use libtest_mimic::{Arguments, Failed, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let cases = match ein_tests::all() {
        Ok(cases) => cases,
        Err(why) => {
            eprintln!("the suite cannot be read: {why}");
            return ExitCode::FAILURE;
        }
    };
    let trials = cases
        .into_iter()
        .map(|case| Trial::test(case.name, move || (case.run)().map_err(Failed::from)))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
