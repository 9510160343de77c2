//! Timing a program: compiled once, run many times.

use crate::engine::{Evaluated, Kernels};
use crate::execute::{Outside, ad_memory, execute, memory};
use crate::run::{Engine, RunOptions};
use crate::{CheckReport, InternalError, Session, guarded, named};
use ein_base::{Diagnostic, Symbol};
use rustc_hash::FxHashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What timing found.
#[derive(Debug, Default)]
#[must_use]
pub struct BenchReport {
    /// What the checker said; with an error among it nothing ran.
    pub checked: CheckReport,
    /// What stopped a run.
    pub failure: Option<Diagnostic>,
    /// Whether it was interrupted from outside.
    pub interrupted: bool,
    /// From source text to code, input reading not counted.
    pub compile: Duration,
    /// How long each run took, in the order of the runs.
    pub runs: Vec<Duration>,
    /// The most bytes that arrays took at one time.
    pub peak_bytes: u64,
    /// What an engine left to the evaluator although there is work in it.
    pub evaluated: Vec<Evaluated>,
    /// How many threads kernels used.
    pub threads: usize,
    /// What executed the program.
    pub engine: Engine,
}

/// Without a number of runs, as many as fit into this time.
const ENOUGH: Duration = Duration::from_millis(1500);

/// Without a number of runs, those in the first of this time warm up: it takes a processor that long to
/// reach its speed.
const WARM: Duration = Duration::from_millis(300);

impl Session {
    /// Checks and compiles a program, then runs it `runs` times after one run to warm up; without a
    /// number, warms up and runs it for a while.
    pub fn bench(
        &mut self,
        input: &crate::Input,
        options: &RunOptions,
        runs: Option<usize>,
        interrupted: Arc<AtomicBool>,
    ) -> Result<BenchReport, InternalError> {
        guarded(|| {
            let mut report = BenchReport { engine: options.engine, ..BenchReport::default() };
            let started = Instant::now();
            let names: FxHashSet<Symbol> =
                options.inputs.iter().map(|(name, _)| Symbol::intern(name)).collect();
            let compiled = self.compile(input, &names, &mut report.checked.diagnostics)?;
            report.compile = started.elapsed();
            let Some(mut compiled) = compiled else { return Ok(report) };
            if report.checked.has_errors() {
                return Ok(report);
            }
            if let Err(unknown) = named::settle(&mut compiled.program, options) {
                report.failure = Some(*unknown);
                return Ok(report);
            }
            ein_transform::observed(&mut compiled.program);
            let memory = memory(options);
            let mut settings = self.settings(&compiled, options, memory.clone(), interrupted);
            settings.deadline = options.time_limit.and_then(|limit| started.checked_add(limit));
            let mut silent = |_: &str| {};
            let mut host = Outside::new(&mut silent, options, memory.clone());
            let ad_memory = ad_memory(options.ad_memory, &memory);
            let mut kernels = Kernels::new(&compiled.program, options, ad_memory);
            report.threads = kernels.as_ref().map_or(1, Kernels::threads);
            // The first run reads inputs, compiles kernels and warms caches; it does not count.
            let wanted = runs.unwrap_or(usize::MAX).max(1);
            let mut warming = 1;
            let mut spent = Duration::ZERO;
            while report.runs.len() < wanted.saturating_add(1) {
                memory.reset_peak();
                let started = Instant::now();
                let outcome = execute(&compiled.program, &settings, &mut host, kernels.as_mut());
                let took = started.elapsed();
                report.runs.push(took);
                report.peak_bytes = report.peak_bytes.max(memory.peak());
                report.interrupted = outcome.interrupted;
                report.failure = outcome.error;
                if report.failure.is_some() || report.interrupted {
                    return Ok(report);
                }
                if let Some(kernels) = &mut kernels {
                    kernels.rewind();
                }
                spent += took;
                if runs.is_none() && report.runs.len() > warming + 4 && spent > WARM + ENOUGH {
                    break;
                }
                if runs.is_none() && spent < WARM {
                    warming = report.runs.len();
                }
            }
            report.runs.drain(..warming);
            if let Some(kernels) = kernels {
                report.compile += kernels.compile_time;
                report.evaluated = kernels.evaluated;
            }
            Ok(report)
        })
        .flatten()
    }
}
