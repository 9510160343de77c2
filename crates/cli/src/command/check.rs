//! `einlang check`: every diagnostic of every program, and what else is asked for; nothing is
//! executed.

use crate::args::{CheckArgs, FactsFormat, MessageFormat};
use crate::exit::Exit;
use crate::output;
use ein_driver::render::Style;
use ein_driver::{FileFacts, FileSources, Input, Options, Session};

/// Runs the command.
pub fn run(args: &CheckArgs) -> Exit {
    let inputs: Result<Vec<Input>, Exit> =
        args.files.iter().map(|path| super::input(path)).collect();
    let inputs = match inputs {
        Ok(inputs) => inputs,
        Err(exit) => return exit,
    };
    let mut session = Session::new(Options { allow: args.allow.clone() }, FileSources::on_disk());
    let report = match session.check(&inputs) {
        Ok(report) => report,
        Err(bug) => return output::internal_error(&bug),
    };
    let mut written = match args.message_format {
        MessageFormat::Human => {
            super::show(&session, &report.diagnostics);
            Exit::Success
        }
        MessageFormat::Json => output::out(&session.render(&report.diagnostics, Style::Json)),
    };
    for facts in &report.facts {
        written = written.max(output::out(&asked(&session, args, facts)));
    }
    if report.has_errors() { Exit::Rejected } else { written }
}

/// What else was asked for about a program.
fn asked(session: &Session, args: &CheckArgs, facts: &FileFacts) -> String {
    let json = args.message_format == MessageFormat::Json;
    let mut out = String::new();
    if let Some(FactsFormat::Json) = args.facts {
        out.push_str(&session.facts_json(facts));
    }
    match (args.bounds, json) {
        (true, true) => out.push_str(&session.bounds_json(facts)),
        (true, false) => out.push_str(&session.bounds_text(facts)),
        (false, _) => {}
    }
    match (args.broadcasts, json) {
        (true, true) => out.push_str(&session.broadcasts_json(facts)),
        (true, false) => out.push_str(&session.broadcasts_text(facts)),
        (false, _) => {}
    }
    match (args.widenings, json) {
        (true, true) => out.push_str(&session.widenings_json(facts)),
        (true, false) => out.push_str(&session.widenings_text(facts)),
        (false, _) => {}
    }
    out
}
