//! Generated programs, evaluated twice: by the evaluator through the whole pipeline, and by brute
//! force over the syntax tree.
//!
//! `EINLANG_PROGRAMS=50000` runs more of them, `EINLANG_SEED=7` begins at another number.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ein_tests::compare::{Verdict, compare, shrink};
use ein_tests::{generate, seeds};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// What was found so far.
#[derive(Default)]
struct Tally {
    same: u64,
    both_fail: u64,
    undecided: BTreeMap<String, Vec<u64>>,
    different: Vec<u64>,
}

#[test]
fn generated_programs_mean_the_same_twice() {
    let count = seeds::setting("EINLANG_PROGRAMS", 1500);
    let most = seeds::setting("EINLANG_SHOWN", 3) as usize;
    let tally = Mutex::new(Tally::default());
    seeds::run(count, |seed| {
        let verdict = compare(&generate::program(seed).join("\n"));
        let mut tally = tally.lock().expect("no worker panics with the lock");
        match verdict {
            Verdict::Same => tally.same += 1,
            Verdict::BothFail => tally.both_fail += 1,
            Verdict::Undecided(why) => tally.undecided.entry(why).or_default().push(seed),
            Verdict::Differs(_) => tally.different.push(seed),
        }
    });
    let mut tally = tally.into_inner().expect("no worker panics with the lock");
    tally.different.sort_unstable();
    let undecided: usize = tally.undecided.values().map(Vec::len).sum();
    println!(
        "{count} programs: {} same, {} fail in both, {undecided} undecided, {} differ",
        tally.same,
        tally.both_fail,
        tally.different.len()
    );
    for (why, seeds) in &tally.undecided {
        println!("  undecided {} times (as {}): {why}", seeds.len(), seeds[0]);
    }
    for seed in tally.different.iter().take(most) {
        let (statements, why) = shrink(&generate::program(*seed));
        println!("--- program {seed}\n{}\n--- {why}\n", statements.join("\n"));
    }
    assert!(tally.different.is_empty(), "programs that differ: {:?}", tally.different);
    // The generator must not drift into programs that say nothing.
    assert!(tally.same >= count * 8 / 10, "only {} of {count} say something", tally.same);
}
