//! `einlang build`: a program for use without us.

use crate::args::{BuildArgs, EmitKind};
use crate::exit::Exit;
use crate::output;
use ein_driver::{BuildOptions, Emit, FileSources, Options, Session};

/// Runs the command. It says nothing if all went well.
pub fn run(args: &BuildArgs) -> Exit {
    let input = match super::input(&args.file) {
        Ok(input) => input,
        Err(exit) => return exit,
    };
    let options = BuildOptions {
        emit: match args.emit {
            EmitKind::C => Emit::C,
            EmitKind::Obj => Emit::Object,
            EmitKind::Lib => Emit::Library,
            EmitKind::Exe => Emit::Command,
        },
        to: args.output.clone(),
        observe: args.observe.clone(),
        functions: args.functions.clone(),
        ad_memory: args.ad_memory,
    };
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let report = match session.build(&input, &options) {
        Ok(report) => report,
        Err(bug) => return output::internal_error(&bug),
    };
    super::show(&session, &report.checked.diagnostics);
    if report.checked.has_errors() {
        return Exit::Rejected;
    }
    match report.failure {
        Some(failure) => {
            super::show(&session, &[failure]);
            Exit::Failed
        }
        None => Exit::Success,
    }
}
