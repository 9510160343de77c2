//! `einlang bench`: times a program.

use crate::args::BenchArgs;
use crate::exit::Exit;
use crate::progress::Watch;
use crate::{interrupt, limits, output};
use ein_driver::{BenchReport, FileSources, Options, Session};
use std::time::Duration;

/// Runs the command.
pub fn run(args: &BenchArgs) -> Exit {
    let input = match super::run::input(&args.run) {
        Ok(input) => input,
        Err(exit) => return exit,
    };
    let mut session =
        Session::new(Options { allow: args.run.allow.clone() }, FileSources::on_disk());
    let interrupted = interrupt::begin();
    let runs = args.runs.map(std::num::NonZeroUsize::get);
    let options = args.run.options();
    limits::allow_memory(options.memory_limit);
    let watch = Watch::begin(&options.progress);
    let report = session.bench(&input, &options, runs, interrupted);
    drop(watch);
    interrupt::end();
    limits::done();
    let report = match report {
        Ok(report) => report,
        Err(bug) => return output::internal_error(&bug),
    };
    super::show(&session, &report.checked.diagnostics);
    if report.checked.has_errors() {
        return Exit::Rejected;
    }
    if let Some(failure) = &report.failure {
        super::show(&session, std::slice::from_ref(failure));
        return Exit::Failed;
    }
    if report.interrupted {
        return Exit::Interrupted;
    }
    super::show_evaluated(&session, &report.evaluated);
    output::out(&if args.json { json(&report) } else { text(&report) })
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The shortest and the middle run.
fn figures(report: &BenchReport) -> (f64, f64) {
    let mut runs = report.runs.clone();
    runs.sort_unstable();
    let least = runs.first().copied().unwrap_or_default();
    let middle = runs.get(runs.len() / 2).copied().unwrap_or_default();
    (milliseconds(least), milliseconds(middle))
}

fn json(report: &BenchReport) -> String {
    let (least, middle) = figures(report);
    format!(
        "{{\"compile_ms\": {:.3}, \"runs\": {}, \"min_ms\": {least:.6}, \"median_ms\": {middle:.6}, \
         \"peak_bytes\": {}, \"engine\": \"{}\", \"threads\": {}}}\n",
        milliseconds(report.compile),
        report.runs.len(),
        report.peak_bytes,
        report.engine.as_str(),
        report.threads,
    )
}

fn text(report: &BenchReport) -> String {
    let (least, middle) = figures(report);
    format!(
        "compiled in {:.1} ms; {} runs: {middle:.3} ms median, {least:.3} ms at best; \
         peak {} bytes; engine {}, {} threads\n",
        milliseconds(report.compile),
        report.runs.len(),
        report.peak_bytes,
        report.engine.as_str(),
        report.threads,
    )
}
