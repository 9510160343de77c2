//! The commands, one file each.

mod bench;
mod build;
mod check;
mod doc;
mod dump;
mod explain;
mod fmt;
mod import;
mod new;
mod repl;
mod run;
mod test;
mod translate;

use crate::args::{Cli, Command};
use crate::exit::Exit;
use crate::output;
use clap::CommandFactory as _;
use ein_driver::{Diagnostic, Evaluated, Input, Session};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Does what the command says.
pub fn run(command: Command) -> Exit {
    match command {
        Command::Run(args) => run::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::Build(args) => build::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Fmt(args) => fmt::run(&args),
        Command::Doc(args) => doc::run(&args),
        Command::New { path } => new::run(&path),
        Command::Explain(args) => explain::run(&args),
        Command::Dump(args) => dump::run(&args),
        Command::Repl => repl::run(),
        Command::Translate { file } => translate::run(&file),
        Command::Import(args) => import::run(&args),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "einlang", &mut script);
            output::out(&String::from_utf8_lossy(&script))
        }
    }
}

/// The program that an argument names; `-` is standard input.
fn input(path: &Path) -> Result<Input, Exit> {
    if path.as_os_str() != "-" {
        return Ok(Input::File(path.to_owned()));
    }
    Ok(Input::Text { name: "<stdin>".into(), text: standard_input()? })
}

fn standard_input() -> Result<Arc<str>, Exit> {
    ein_driver::read_stream(io::stdin().lock()).map_err(|error| {
        output::message("error", &format!("standard input cannot be read: {error}"));
        Exit::Rejected
    })
}

/// Says on standard error what was left to the evaluator, and why.
fn show_evaluated(session: &Session, evaluated: &[Evaluated]) {
    for one in evaluated {
        output::err(&format!("evaluated {}\n", session.describe_evaluated(one)));
    }
}

/// Shows diagnostics to a person, with a line that counts them.
fn show(session: &Session, diagnostics: &[Diagnostic]) {
    if diagnostics.is_empty() {
        return;
    }
    output::err(&session.render(diagnostics, output::style()));
    let errors: Vec<&Diagnostic> = diagnostics.iter().filter(|it| it.is_error()).collect();
    let mut counts = Vec::new();
    if !errors.is_empty() {
        counts.push(counted(errors.len(), "error"));
    }
    if diagnostics.len() > errors.len() {
        counts.push(counted(diagnostics.len() - errors.len(), "warning"));
    }
    let more = errors.first().copied().or(diagnostics.first()).map(|first| first.code);
    let more = more.map(|code| format!("; `einlang explain {code}` says more"));
    output::err(&format!("\n{}{}\n", counts.join(", "), more.unwrap_or_default()));
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
