//! Programs at the edges of types, domains and positions, on every engine, against trees of scalars.
//!
//! `EINLANG_PROGRAMS=20000` runs more of them, `EINLANG_SEED=7` begins at another number,
//! `EINLANG_NATIVE=500` builds more of them with the system's compiler.

use ein_driver::Engine;
use ein_tests::edges::{Verdict, judge};
use ein_tests::engines::Setting;
use ein_tests::{generate, seeds};
use std::sync::Mutex;

fn all(engine: Engine, count: u64) {
    let found = Mutex::new((0u64, 0u64, 0u64, 0u64, Vec::new()));
    seeds::run(count, |seed| {
        let program = generate::edges(seed);
        if count == 1 {
            println!("{}", program.text());
        }
        let setting = Setting { threads: 1 + (seed % 2) as usize, ..Setting::new(engine) };
        let verdict = judge(&program, &setting);
        let mut found = found.lock().expect("no worker panics with the lock");
        match verdict {
            Verdict::Right(compiled) => {
                found.0 += 1;
                found.1 += u64::from(compiled);
            }
            Verdict::Fails => found.2 += 1,
            Verdict::Rejected | Verdict::Endless => found.3 += 1,
            Verdict::Wrong(why) => found.4.push((seed, why)),
        }
    });
    let (right, compiled, fail, other, mut wrong) =
        found.into_inner().expect("no worker panics with the lock");
    wrong.sort();
    println!(
        "{count} programs on {}: {right} right ({compiled} compiled), {fail} fail as they should, \
         {other} rejected or too long, {} wrong",
        engine.as_str(),
        wrong.len()
    );
    for (seed, why) in wrong.iter().take(seeds::setting("EINLANG_SHOWN", 3) as usize) {
        println!("--- program {seed}\n{}\n--- {why}\n", generate::edges(*seed).text());
    }
    let seeds: Vec<u64> = wrong.iter().map(|it| it.0).collect();
    assert!(seeds.is_empty(), "programs that are wrong: {seeds:?}");
    // The generator must not drift into programs that say nothing.
    assert!(right >= count / 6 && fail >= count / 12, "too few say something");
}

#[test]
fn edges_on_eval() {
    all(Engine::Eval, seeds::setting("EINLANG_PROGRAMS", 600));
}

#[test]
fn edges_on_jit() {
    all(Engine::Jit, seeds::setting("EINLANG_PROGRAMS", 600));
}

#[test]
fn edges_on_native() {
    all(Engine::Native, seeds::setting("EINLANG_NATIVE", 8));
}

/// Elementary functions of an engine, in units in the last place of the evaluator's.
fn functions_are_near(engine: Engine) {
    let functions = [
        "exp", "log", "sin", "cos", "tan", "tanh", "sinh", "cosh", "atan", "asin", "acos", "sqrt",
        "log2", "log10", "erf",
    ];
    let mut lines = Vec::new();
    for (ty, suffix) in [("f32", ""), ("f64", "f64")] {
        lines.push(format!("let x{ty}[i in 0..997] = (i - 400) as {ty} / 32.0{suffix};"));
        for name in functions {
            lines.push(format!("let y_{name}_{ty}[i] = std::math::{name}(x{ty}[i]);"));
        }
        lines.push(format!("let y_pow_{ty}[i] = (x{ty}[i] * x{ty}[i]) ** 1.7{suffix};"));
    }
    let text = lines.join("\n");
    let ran = |engine| {
        ein_tests::engines::run(&text, &Setting::new(engine)).expect("a program that runs")
    };
    let (expected, found) = (ran(Engine::Eval), ran(engine));
    assert!(found.compiled, "nothing was compiled");
    let number = |json: &serde_json::Value| match json {
        serde_json::Value::String(text) => text.parse().expect("a number"),
        json => json.as_f64().expect("a number"),
    };
    for ((name, wanted), (_, found)) in expected.outputs.iter().zip(&found.outputs) {
        let digits = if name.ends_with("f32") { 23 } else { 52 };
        let most = if name.contains("pow") { 10.0 } else { 4.0 };
        let cells = |json: &serde_json::Value| -> Vec<f64> {
            json["data"].as_array().expect("an array").iter().map(number).collect()
        };
        for (at, (wanted, found)) in cells(wanted).into_iter().zip(cells(found)).enumerate() {
            let same = wanted == found || wanted.is_nan() && found.is_nan();
            let unit = 2f64.powi(wanted.abs().max(1e-300).log2().floor() as i32 - digits);
            let far = (wanted - found).abs() / unit;
            assert!(same || far <= most, "{name}[{at}]: {found}, not {wanted}: {far} units");
        }
    }
}

#[test]
fn functions_are_near_on_jit() {
    functions_are_near(Engine::Jit);
}

#[test]
fn functions_are_near_on_native() {
    functions_are_near(Engine::Native);
}

/// Writes programs into the folder `EINLANG_WRITE`, for whoever runs them in another way.
#[test]
#[ignore = "writes files"]
fn write_programs() {
    let folder = std::env::var("EINLANG_WRITE").expect("the folder in EINLANG_WRITE");
    for seed in 0..seeds::setting("EINLANG_PROGRAMS", 40) {
        let write = |name: String, text: String| {
            std::fs::write(format!("{folder}/{name}"), text).expect("a file that can be written");
        };
        write(format!("edges{seed}.ein"), generate::edges(seed).text());
        write(format!("kernels{seed}.ein"), generate::kernels(seed).join("\n"));
    }
}
