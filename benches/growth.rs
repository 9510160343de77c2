//! How time grows with extents: programs whose work is linear, at an extent and at twice that, with
//! all sizes measured in turns so that a slow moment of the machine falls on each of them alike.
//!
//! `cargo bench -p ein-benches --bench growth` prints, for each program and compiling engine, the
//! least time at each extent, what doubling multiplies it by (the bar is 2.0 within 20 %), and the
//! time to compile, which must not depend on the extent (on the jit it is below 50 ms).

#![allow(clippy::print_stdout, reason = "the table is what this command is for")]

use ein_driver::{Engine, FileSources, Input, Options, RunOptions, Session};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Doublings of the extent, and how often each extent is measured.
const SIZES: usize = 3;
const ROUNDS: usize = 5;

/// A program in which `N` stands for an extent, what is observed of it, and the least extent: all
/// are larger than caches that belong to one core.
struct Growing {
    name: &'static str,
    text: &'static str,
    observed: &'static str,
    least: usize,
}

const PROGRAMS: [Growing; 6] = [
    Growing {
        name: "map and sum",
        text: "let x[i in 0..N] = (i % 1000) as f32 / 1000.0;\n\
               let total = sum[i](x[i] * x[i] + 1.0);\n",
        observed: "x,total",
        least: 4 << 20,
    },
    Growing {
        name: "softmax of rows",
        text: "use std::math::exp;\n\
               let x[i in 0..N, j in 0..512] = ((i * 7 + j) % 1000) as f32 / 1000.0;\n\
               let top[i] = max[j](x[i, j]);\n\
               let e[i, j] = exp(x[i, j] - top[i]);\n\
               let s[i, j] = e[i, j] / sum[k](e[i, k]);\n",
        observed: "s",
        least: 8 << 10,
    },
    Growing {
        name: "running sum",
        text: "let s[0] = 0.0;\n\
               let s[t in 1..N] = s[t - 1] * 0.5 + (t % 1000) as f64;\n",
        observed: "s",
        least: 2 << 20,
    },
    Growing {
        name: "steps of a vector",
        text: "let u[0, i in 0..1024] = i as f32;\n\
               let u[t in 1..N, i in 1..1023] = \
                   0.25 * u[t - 1, i - 1] + 0.5 * u[t - 1, i] + 0.25 * u[t - 1, i + 1];\n\
               let last = u[N - 1];\n",
        observed: "last",
        least: 16 << 10,
    },
    Growing {
        name: "sums by key",
        text: "let key[i in 0..N] = i % 7919 % 64;\n\
               let count[k in 0..64] = sum[i in 0..N](if key[i] == k { 1 } else { 0 });\n",
        observed: "key,count",
        least: 2 << 20,
    },
    Growing {
        name: "windows",
        text: "let x[i in 0..N] = (i % 1000) as f32;\n\
               let y[i in 0..N - 8] = max[k in 0..9](x[i + k]) - min[k in 0..9](x[i + k]);\n",
        observed: "x,y",
        least: 2 << 20,
    },
];

/// The least milliseconds of compiling and of running.
#[derive(Clone, Copy)]
struct Least {
    compile: f64,
    run: f64,
}

fn measure(program: &Growing, extent: usize, engine: Engine) -> Least {
    let text = program.text.replace('N', &extent.to_string()).into();
    let input = Input::Text { name: format!("{}.ein", program.name), text };
    let observe = program.observed.split(',').map(str::to_owned).collect();
    let options =
        RunOptions { engine, threads: Some(1), observe: Some(observe), ..RunOptions::default() };
    let mut session = Session::new(Options::default(), FileSources::in_memory());
    let report = session.bench(&input, &options, Some(3), Arc::new(AtomicBool::new(false)));
    let report = match report {
        Ok(report) if !report.runs.is_empty() && report.failure.is_none() => report,
        other => panic!("{} does not run: {other:?}", program.name),
    };
    let run = report.runs.iter().min().map_or(0.0, |run| run.as_secs_f64() * 1e3);
    Least { compile: report.compile.as_secs_f64() * 1e3, run }
}

fn main() {
    println!("| program | engine | extents | least ms | doubling takes | compile ms |");
    println!("|---|---|---|---|---|---|");
    for program in &PROGRAMS {
        let extents: Vec<usize> = (0..SIZES).map(|size| program.least << size).collect();
        for engine in [Engine::Jit, Engine::Native] {
            let mut least = [Least { compile: f64::INFINITY, run: f64::INFINITY }; SIZES];
            for _ in 0..ROUNDS {
                for (least, extent) in least.iter_mut().zip(&extents) {
                    let found = measure(program, *extent, engine);
                    least.compile = least.compile.min(found.compile);
                    least.run = least.run.min(found.run);
                }
            }
            let growth = least.windows(2).map(|two| format!("{:.2}", two[1].run / two[0].run));
            let growth: Vec<String> = growth.collect();
            let show = |of: fn(&Least) -> f64| {
                let all: Vec<String> = least.iter().map(|it| format!("{:.2}", of(it))).collect();
                all.join(", ")
            };
            println!(
                "| {} | {} | {extents:?} | {} | {} | {} |",
                program.name,
                engine.as_str(),
                show(|least| least.run),
                growth.join(", "),
                show(|least| least.compile),
            );
        }
    }
}
