//! Generated programs, the examples and the programs of the suite, on every engine.
//!
//! `EINLANG_PROGRAMS=20000` runs more of them, `EINLANG_SEED=7` begins at another number,
//! `EINLANG_NATIVE=500` builds more of them with the system's compiler.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ein_driver::Engine;
use ein_tests::engines::{Agreement, Setting, compare, shrink};
use ein_tests::{generate, seeds};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// What was found so far.
#[derive(Default)]
struct Tally {
    same: u64,
    compiled: u64,
    both_fail: u64,
    rejected: BTreeMap<String, Vec<u64>>,
    different: Vec<(u64, String)>,
}

/// The names that a program binds at top level to arrays or numbers.
fn names(statements: &[String]) -> Vec<String> {
    let mut names = Vec::new();
    for line in statements.iter().flat_map(|it| it.lines()) {
        if let Some(rest) = line.strip_prefix("let ") {
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
            if !name.is_empty() && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// How a program is run on an engine.
type Settings = fn(Engine, u64, &[String]) -> Vec<Setting>;

/// Everything observed on one thread; a few names on two.
fn all_and_some(engine: Engine, seed: u64, statements: &[String]) -> Vec<Setting> {
    let names = names(statements);
    let last = names.last().cloned();
    let some = names.iter().enumerate().filter(|(at, _)| (*at as u64 + seed).is_multiple_of(3));
    let some = some.map(|(_, name)| name.clone()).chain(last).collect();
    vec![Setting::new(engine), Setting { threads: 2, observe: Some(some), ..Setting::new(engine) }]
}

/// The same bits, on any number of threads.
fn to_the_bit(engine: Engine, _: u64, _: &[String]) -> Vec<Setting> {
    vec![Setting { threads: 2, deterministic: true, ..Setting::new(engine) }]
}

/// Compares programs on an engine with the evaluator.
fn differential(engine: Engine, generate: fn(u64) -> Vec<String>, settings: Settings, count: u64) {
    let tally = Mutex::new(Tally::default());
    seeds::run(count, |seed| {
        let statements = generate(seed);
        if count == 1 {
            println!("{}", statements.join("\n"));
        }
        let agreement = compare(&statements.join("\n"), &settings(engine, seed, &statements));
        let mut tally = tally.lock().expect("no worker panics with the lock");
        match agreement {
            Agreement::Same(compiled) => {
                tally.same += 1;
                tally.compiled += u64::from(compiled);
            }
            Agreement::BothFail => tally.both_fail += 1,
            Agreement::Rejected(why) => {
                let mut lines = why.lines().filter(|line| line.starts_with("error"));
                let why = lines.next().unwrap_or(&why).to_owned();
                tally.rejected.entry(why).or_default().push(seed);
            }
            Agreement::Endless => {}
            Agreement::Differs(why) => tally.different.push((seed, why)),
        }
    });
    let mut tally = tally.into_inner().expect("no worker panics with the lock");
    tally.different.sort();
    let rejected: usize = tally.rejected.values().map(Vec::len).sum();
    println!(
        "{count} programs on {}: {} same ({} of them compiled), {} fail in both, {rejected} rejected, {} differ",
        engine.as_str(),
        tally.same,
        tally.compiled,
        tally.both_fail,
        tally.different.len()
    );
    for (why, seeds) in &tally.rejected {
        println!("  rejected {} times (as {}): {why}", seeds.len(), seeds[0]);
    }
    let most = seeds::setting("EINLANG_SHOWN", 3) as usize;
    for (seed, _) in tally.different.iter().take(most) {
        let statements = generate(*seed);
        let (statements, why) = shrink(&statements, &settings(engine, *seed, &statements));
        println!("--- program {seed}\n{}\n--- {why}\n", statements.join("\n"));
    }
    let seeds: Vec<u64> = tally.different.iter().map(|it| it.0).collect();
    assert!(seeds.is_empty(), "programs that differ: {seeds:?}");
    // The generator must not drift into programs that say nothing.
    assert!(tally.compiled >= count * 5 / 10, "only {} of {count} are compiled", tally.compiled);
}

#[test]
fn small_programs_agree_on_jit() {
    differential(
        Engine::Jit,
        generate::program,
        all_and_some,
        seeds::setting("EINLANG_PROGRAMS", 300),
    );
}

#[test]
fn kernels_agree_on_jit() {
    differential(
        Engine::Jit,
        generate::kernels,
        all_and_some,
        seeds::setting("EINLANG_PROGRAMS", 400),
    );
}

#[test]
fn recursion_agrees_on_jit() {
    differential(
        Engine::Jit,
        generate::recursive,
        all_and_some,
        seeds::setting("EINLANG_PROGRAMS", 150),
    );
}

#[test]
fn recursion_agrees_on_native() {
    differential(
        Engine::Native,
        generate::recursive,
        all_and_some,
        seeds::setting("EINLANG_NATIVE", 6),
    );
}

#[test]
fn kernels_agree_on_native() {
    differential(
        Engine::Native,
        generate::kernels,
        all_and_some,
        seeds::setting("EINLANG_NATIVE", 12),
    );
}

#[test]
fn deterministic_kernels_are_equal_to_the_bit() {
    differential(
        Engine::Jit,
        generate::kernels,
        to_the_bit,
        seeds::setting("EINLANG_PROGRAMS", 100),
    );
}
