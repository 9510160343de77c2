//! `einlang run`: checks a program and runs it.

use crate::args::RunArgs;
use crate::exit::Exit;
use crate::progress::Watch;
use crate::{interrupt, limits, output};
use ein_driver::{FileSources, Input, Options, RunReport, Session};
use std::path::Path;

/// Runs the command.
pub fn run(args: &RunArgs) -> Exit {
    let input = match input(args) {
        Ok(input) => input,
        Err(exit) => return exit,
    };
    let mut session = Session::new(Options { allow: args.allow.clone() }, FileSources::on_disk());
    let interrupted = interrupt::begin();
    let mut written = Exit::Success;
    let mut print = |line: &str| {
        written = written.max(output::out(&format!("{line}\n")));
    };
    let options = args.options();
    limits::allow_memory(options.memory_limit);
    let watch = Watch::begin(&options.progress);
    let report = session.run(&input, &options, interrupted, &mut print);
    drop(watch);
    interrupt::end();
    limits::done();
    let report = match report {
        Ok(report) => report,
        Err(bug) => return output::internal_error(&bug),
    };
    finish(&session, args, report).max(written)
}

/// The program that the arguments name.
pub fn input(args: &RunArgs) -> Result<Input, Exit> {
    match (&args.code, &args.file) {
        (Some(code), _) => {
            Ok(Input::Text { name: "<command line>".into(), text: code.as_str().into() })
        }
        (None, file) => super::input(file.as_deref().unwrap_or(Path::new("-"))),
    }
}

fn finish(session: &Session, args: &RunArgs, report: RunReport) -> Exit {
    super::show(session, &report.checked.diagnostics);
    if report.checked.has_errors() {
        return Exit::Rejected;
    }
    let mut exit = Exit::Success;
    if args.outputs.is_some() {
        exit = exit.max(output::out(&json_line("outputs", &report.outputs)));
    }
    if let Some(failure) = report.failure {
        super::show(session, &[failure]);
        exit = exit.max(Exit::Failed);
    }
    if args.time {
        for (phase, time) in &report.phases {
            output::err(&format!("{phase:>8} {:9.3} ms\n", time.as_secs_f64() * 1e3));
        }
        super::show_evaluated(session, &report.evaluated);
    }
    if args.explain_storage.is_some() {
        output::err(&json_line("storage", &report.storage));
    }
    if report.interrupted { Exit::Interrupted } else { exit }
}

/// `{"outputs": {name: value}}` and its like.
fn json_line(key: &str, entries: &[(String, String)]) -> String {
    let mut line = format!("{{\"{key}\": {{");
    for (position, (name, value)) in entries.iter().enumerate() {
        if position > 0 {
            line.push_str(", ");
        }
        ein_driver::json::write_text(&mut line, name);
        line.push_str(": ");
        line.push_str(value);
    }
    line.push_str("}}\n");
    line
}
