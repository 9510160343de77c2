//! `einlang dump`: what the compiler makes of a program.

use crate::args::{DumpArgs, DumpKind};
use crate::exit::Exit;
use crate::output;
use ein_driver::{DumpOptions, FileSources, Form, Options, Session, Show};

/// Runs the command. Of a program with errors the tree is shown as far as it goes.
pub fn run(args: &DumpArgs) -> Exit {
    let input = match super::input(&args.file) {
        Ok(input) => input,
        Err(exit) => return exit,
    };
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let options = DumpOptions {
        inputs: args.input.clone(),
        observe: args.observe.clone(),
        ad_memory: args.ad_memory,
        passes: args.passes(),
    };
    let dumped = match args.what {
        DumpKind::Ast => session.dump_ast(&input),
        DumpKind::Ir => session.dump_ir(&input),
        DumpKind::Points => session.dump_plan(&input, &options, Show::Points),
        DumpKind::Plan => session.dump_plan(&input, &options, Show::Loops(Form::Plan)),
        DumpKind::C => session.dump_plan(&input, &options, Show::Loops(Form::C)),
        DumpKind::Storage => session.dump_storage(&input, &options),
    };
    match dumped {
        Ok((text, report)) => {
            super::show(&session, &report.diagnostics);
            let written = output::out(&text);
            if report.has_errors() { Exit::Rejected } else { written }
        }
        Err(bug) => output::internal_error(&bug),
    }
}
