//! `einlang test`: the tests of programs, and the examples in their documentation.

use crate::args::TestArgs;
use crate::exit::Exit;
use crate::output;
use crate::progress::Watch;
use ein_driver::{FileSources, Input, Options, RunOptions, Session, program_files};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// How many tests passed and failed.
#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
}

/// Runs the command: every file is tried, and the worst outcome is the command's.
pub fn run(args: &TestArgs) -> Exit {
    let mut tally = Tally::default();
    let mut exit = Exit::Success;
    let mut seen = HashSet::new();
    for path in &args.paths {
        match program_files(path) {
            Ok(files) => {
                // A file that is named twice, or in a directory that is named too, is tested once.
                let known = |file: &PathBuf| file.canonicalize().unwrap_or_else(|_| file.clone());
                for file in files.iter().filter(|file| seen.insert(known(file))) {
                    exit = exit.max(one_file(file, args.paranoid, &mut tally));
                }
            }
            Err(error) => {
                let text = format!("`{}` cannot be searched: {error}", path.display());
                output::message("error", &text);
                exit = exit.max(Exit::Rejected);
            }
        }
    }
    exit.max(output::out(&format!("{} passed, {} failed\n", tally.passed, tally.failed)))
}

fn one_file(path: &Path, paranoid: bool, tally: &mut Tally) -> Exit {
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    // What tests print is shown only where one of them fails.
    let mut printed = String::new();
    let mut print = |line: &str| {
        printed.push_str(line);
        printed.push('\n');
    };
    let input = Input::File(path.to_owned());
    let options = RunOptions { paranoid, ..RunOptions::default() };
    let watch = Watch::begin(&options.progress);
    let report = session.test(&input, &options, &mut print);
    drop(watch);
    let (checked, results) = match report {
        Ok(report) => report,
        Err(bug) => return output::internal_error(&bug),
    };
    if checked.has_errors() {
        super::show(&session, &checked.diagnostics);
        return Exit::Rejected;
    }
    let mut exit = Exit::Success;
    for result in &results {
        let word = if result.failure.is_none() { "ok    " } else { "FAILED" };
        let line = format!("{word} {}: {}\n", path.display(), result.name);
        exit = exit.max(output::out(&line));
        match &result.failure {
            None => tally.passed += 1,
            Some(failure) => {
                tally.failed += 1;
                output::err(&session.render(std::slice::from_ref(failure), output::style()));
                exit = exit.max(Exit::Failed);
            }
        }
    }
    if exit == Exit::Failed && !printed.is_empty() {
        output::err(&format!("what the tests of {} printed:\n{printed}", path.display()));
    }
    exit
}
