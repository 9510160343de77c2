//! Derivatives of recurrences in little memory: the same bits as with all of it, and a history that
//! grows with the root of the number of steps.
//!
//! `EINLANG_PROGRAMS=2000` runs more programs, `EINLANG_SEED=7` begins at another number,
//! `EINLANG_NATIVE=200` builds more of them with the system's compiler.

use ein_driver::{Engine, FileSources, Input, Options, RunOptions, Session};
use ein_tests::{generate, seeds};
use std::sync::Mutex;

/// What a program prints and leaves, or why it does not run.
fn run(
    text: &str,
    engine: Engine,
    ad_memory: Option<u64>,
) -> Result<Vec<(String, String)>, String> {
    let mut session = Session::new(Options::default(), FileSources::in_memory());
    let input = Input::Text { name: "generated.ein".into(), text: text.into() };
    let names = ["g", "gr", "gx", "loss"].iter();
    let bound = names.filter(|name| text.contains(&format!("let {name} ")));
    let options = RunOptions {
        engine,
        ad_memory,
        observe: Some(bound.map(|name| (*name).to_owned()).collect()),
        memory_limit: Some(1 << 30),
        report_outputs: true,
        ..RunOptions::default()
    };
    let report = session
        .run(&input, &options, Default::default(), &mut |_| {})
        .map_err(|bug| format!("{bug}: {}", bug.detail))?;
    let failure =
        report.checked.diagnostics.into_iter().find(|it| it.is_error()).or(report.failure);
    match failure {
        Some(failure) => Err(failure.message),
        None => Ok(report.outputs),
    }
}

fn check(count: u64, engine: Engine) {
    let different = Mutex::new(Vec::new());
    seeds::run(count, |seed| {
        let text = generate::history(seed);
        let whole = run(&text, engine, None);
        let again = run(&text, engine, Some(1));
        if whole.is_err() || whole != again {
            different
                .lock()
                .expect("no test panics with it")
                .push(format!("{seed}:\n{text}{whole:?}\n{again:?}"));
        }
    });
    let different = different.into_inner().expect("no test panics with it");
    assert!(different.is_empty(), "{} differ\n{}", different.len(), different[0]);
}

#[test]
fn the_evaluator_gives_the_same_bits_from_checkpoints() {
    check(seeds::setting("EINLANG_PROGRAMS", 40), Engine::Eval);
}

#[test]
fn kernels_give_the_same_bits_from_checkpoints() {
    check(seeds::setting("EINLANG_PROGRAMS", 120), Engine::Jit);
}

#[test]
fn the_systems_compiler_gives_the_same_bits_from_checkpoints() {
    check(seeds::setting("EINLANG_NATIVE", 12), Engine::Native);
}

#[test]
fn steps_may_be_calls_on_rows() {
    let text = "use std::math::sin;
         fn step(y: [f64; 2], p: [f64; 3]) -> [f64; 2] {
             let push = (0.01 as f64) * p[2] * y[1];
             [y[0] + (0.01 as f64) * y[1] * p[0], y[1] - (0.01 as f64) * sin(y[0]) * p[1] - push]
         }
         let p[i in 0..3] = (1.0 as f64) / ((i + 1) as f64);
         let y[0, i in 0..2] = p[i];
         let y[t in 1..500, i in 0..2] = step(y[t - 1], p)[i];
         let loss = y[499, 0];
         let g = @loss / @p;";
    for engine in [Engine::Eval, Engine::Jit] {
        let whole = run(text, engine, None);
        assert!(whole.is_ok(), "{whole:?}");
        assert_eq!(whole, run(text, engine, Some(1)));
    }
}

#[test]
fn sums_of_steps_under_a_condition_are_attempted_without_it() {
    let text = "let R[i in 0..2, k in 0..2] = 0.3 + (i * 7 + k * 3) as f32 * 0.1;
         let x[t in 0..17, j in 0..2] = 0.1 * (t % 5) as f32;
         let y[0, j in 0..2] = 0.5;
         let y[t in 1..17, j in 0..2] = sum[k in 0..2](R[j, k] * y[t - 1, k]) / 2.0 + x[t, j];
         let loss = sum[t, j](y[t, j] * y[t, j]);
         let gx = @loss / @x;";
    for engine in [Engine::Eval, Engine::Jit] {
        let whole = run(text, engine, None);
        assert!(whole.is_ok(), "{whole:?}");
        assert_eq!(whole, run(text, engine, Some(1)));
    }
}

/// The gradient of a recurrence of so many steps, forced by this.
fn program(steps: usize, forcing: &str) -> String {
    let last = steps - 1;
    format!(
        "use std::math::{{sin, tanh}};
         let R[j in 0..8, k in 0..8] = 0.05 * sin((j * 3 + k) as f32);
         let x[t in 0..{steps}, j in 0..8] = sin((t + j) as f32);
         let h[0, j in 0..8] = 0.1;
         let h[t in 1..{steps}, j in 0..8] = tanh(sum[k](R[j, k] * h[t - 1, k]) + {forcing});
         let loss = sum[j](h[{last}, j] * h[{last}, j]);
         let g = @loss / @R;"
    )
}

/// The most bytes that arrays take.
fn peak(text: &str, engine: Engine, ad_memory: Option<u64>) -> u64 {
    let mut session = Session::new(Options::default(), FileSources::in_memory());
    let input = Input::Text { name: "generated.ein".into(), text: text.into() };
    let observe = Some(vec!["g".to_owned()]);
    let options = RunOptions { engine, ad_memory, observe, ..RunOptions::default() };
    let report = session.bench(&input, &options, Some(1), Default::default());
    let report = report.expect("the compiler does not break");
    assert!(report.failure.is_none(), "{:?}", report.failure);
    report.peak_bytes
}

#[test]
fn kernels_need_the_root_of_the_steps() {
    let (few, many) = (program(1000, "x[t, j]"), program(100_000, "x[t, j]"));
    let (least, most) = (peak(&few, Engine::Jit, Some(1)), peak(&many, Engine::Jit, Some(1)));
    assert!(most <= 11 * least, "{least} and {most}");
    // Whole, only the history itself is kept: 8 numbers for each step.
    let whole = peak(&many, Engine::Jit, None);
    assert!((3_200_000..3_400_000).contains(&whole), "{whole}");
}

#[test]
fn the_evaluator_needs_the_root_of_the_steps() {
    // It keeps everything whole but histories.
    let text = |steps: usize| {
        let text = program(steps, "0.3");
        text.lines().filter(|line| !line.contains("let x[")).collect::<Vec<_>>().join("\n")
    };
    let (few, many) = (text(64), text(6400));
    let (least, most) = (peak(&few, Engine::Eval, Some(1)), peak(&many, Engine::Eval, Some(1)));
    assert!(most <= 11 * least, "{least} and {most}");
}
