//! Programs of the suite, the examples and the book, changed at a few places: engines still agree.
//!
//! `EINLANG_PROGRAMS=20000` runs more of them, `EINLANG_SEED=7` begins at another number.

use ein_driver::Engine;
use ein_tests::changed;
use ein_tests::engines::{Agreement, Setting, compare, shrink};
use ein_tests::seeds;
use std::sync::Mutex;
use std::time::Duration;

/// With the same bits on two threads; or as fast as it gets, where only gross differences are told from
/// rounding: what is changed at random may cancel all but the last digits. Pivots, extremes and vectors of
/// eigenvalues that are equal turn on the last digit, so those are always to have the same bits.
fn settings(seed: u64, text: &str) -> Vec<Setting> {
    let turns =
        ["linalg", "max", "min", "sort", "top_k", "median"].iter().any(|it| text.contains(it));
    let limit = Some(Duration::from_secs(3));
    let exact = Setting { threads: 2, deterministic: true, limit, ..Setting::new(Engine::Jit) };
    let fast = Setting { slack: 1e3, limit, ..Setting::new(Engine::Jit) };
    if turns || seed.is_multiple_of(2) { vec![exact] } else { vec![fast] }
}

#[test]
fn changed_programs_agree_on_jit() {
    let count = seeds::setting("EINLANG_PROGRAMS", 400);
    let found = Mutex::new((0u64, 0u64, 0u64, 0u64, Vec::new()));
    seeds::run(count, |seed| {
        let statements = changed::program(seed);
        if count == 1 {
            println!("{}", statements.join("\n"));
        }
        let text = statements.join("\n");
        let agreement = compare(&text, &settings(seed, &text));
        let mut found = found.lock().expect("no worker panics with the lock");
        match agreement {
            Agreement::Same(compiled) => {
                found.0 += 1;
                found.1 += u64::from(compiled);
            }
            Agreement::BothFail => found.2 += 1,
            Agreement::Rejected(why) if !why.contains("error[E") => found.4.push(seed),
            Agreement::Rejected(_) | Agreement::Endless => found.3 += 1,
            Agreement::Differs(_) => found.4.push(seed),
        }
    });
    let (same, compiled, fail, rejected, mut wrong) =
        found.into_inner().expect("no worker panics with the lock");
    wrong.sort_unstable();
    println!(
        "{count} programs: {same} same ({compiled} of them compiled), {fail} fail in both, \
         {rejected} rejected or too long, {} differ",
        wrong.len()
    );
    for seed in wrong.iter().take(seeds::setting("EINLANG_SHOWN", 3) as usize) {
        let statements = changed::program(*seed);
        let settings = settings(*seed, &statements.join("\n"));
        let (statements, why) = shrink(&statements, &settings);
        println!("--- program {seed}\n{}\n--- {why}\n", statements.join("\n"));
    }
    assert!(wrong.is_empty(), "programs that differ: {wrong:?}");
    // The changes must not drift into programs that say nothing.
    assert!(compiled >= count / 8, "only {compiled} of {count} are compiled");
}
