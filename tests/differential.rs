//! Generated programs, evaluated twice: by the evaluator through the whole pipeline, and by brute
//! force over the syntax tree.
//!
//! `EINLANG_PROGRAMS=50000` runs more of them, `EINLANG_SEED=7` begins at another number.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ein_tests::compare::{Verdict, compare, shrink};
use ein_tests::generate;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

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
    let (first, count) = (number("EINLANG_SEED", 0), number("EINLANG_PROGRAMS", 1500));
    let most = number("EINLANG_SHOWN", 3) as usize;
    let next = AtomicU64::new(first);
    let tally = Mutex::new(Tally::default());
    let workers = std::thread::available_parallelism().map_or(1, |n| n.get());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            // Brute force recurses as deep as the program.
            let work = || {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        return;
                    }
                    let verdict = compare(&generate::program(seed).join("\n"));
                    let mut tally = tally.lock().expect("no worker panics with the lock");
                    match verdict {
                        Verdict::Same => tally.same += 1,
                        Verdict::BothFail => tally.both_fail += 1,
                        Verdict::Undecided(why) => {
                            tally.undecided.entry(why).or_default().push(seed)
                        }
                        Verdict::Differs(_) => tally.different.push(seed),
                    }
                }
            };
            std::thread::Builder::new()
                .stack_size(64 << 20)
                .spawn_scoped(scope, work)
                .expect("a test may start threads");
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
