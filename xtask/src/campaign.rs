//! Many generated programs through all generators, with their counts written down.
//!
//! Each generator has its share of the programs, more where a program takes little, and works on a part of
//! it at a time. `cargo xtask campaign 1000000 7` begins every generator at the number 7; a find stops
//! nothing and is shown at once, so that a campaign that is ended early loses none.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Test, name, and the share of a thousand programs.
const SHARES: &[(&str, &str, u64)] = &[
    ("edges", "edges_on_eval", 320),
    ("edges", "edges_on_jit", 170),
    ("differential", "generated_programs_mean_the_same_twice", 230),
    ("ranks", "calls_that_pass_have_the_shapes_of_the_rules", 60),
    ("systems", "several_values_are_what_they_are_by_hand", 30),
    ("systems", "kernels_agree", 10),
    ("systems", "inner_recurrences_are_what_they_are_by_hand", 5),
    ("systems", "inner_recurrences_agree_in_kernels", 5),
    ("systems", "last_calls_agree_in_kernels", 5),
    ("systems", "definitions_inside_steps_agree_in_kernels", 5),
    ("rounding", "sums_of_short_floats_are_rounded_once_on_eval", 5),
    ("rounding", "sums_of_short_floats_are_rounded_once_on_jit", 15),
    ("changed", "changed_programs_agree_on_jit", 30),
    ("rewritten", "programs_in_other_words_give_the_same", 10),
    ("engines", "small_programs_agree_on_jit", 45),
    ("engines", "kernels_agree_on_jit", 15),
    ("engines", "deterministic_kernels_are_equal_to_the_bit", 5),
    ("engines", "recursion_agrees_on_jit", 4),
    ("autodiff", "generated_programs_have_the_right_derivatives", 20),
    ("sound", "what_passes_does_not_stop_on_a_shape", 14),
    ("histories", "kernels_give_the_same_bits_from_checkpoints", 1),
    ("histories", "the_evaluator_gives_the_same_bits_from_checkpoints", 1),
];

/// The most programs of one run, so that a find is soon known.
const PART: u64 = 20_000;

/// Runs so many programs, from a number on.
pub fn run(root: &Path, arguments: &[String]) -> ExitCode {
    let number = |at: usize| arguments.get(at).and_then(|text| text.parse::<u64>().ok());
    let Some(programs) = number(0) else {
        return crate::report(&["how many programs? cargo xtask campaign PROGRAMS [SEED]".into()]);
    };
    let first = number(1).unwrap_or(1);
    let (begun, mut total, mut problems) = (Instant::now(), 0, Vec::new());
    for (test, name, share) in SHARES {
        let count = (programs * share).div_ceil(1000);
        let mut at = first;
        while at < first + count {
            let part = PART.min(first + count - at);
            if let Err(why) = part_of(root, [test, name], at, part) {
                let place = format!("{test} {name}, {part} programs from {at}");
                println!("{place}:\n{why}");
                problems.push(place);
            }
            at += part;
        }
        total += count;
        let (seconds, finds) = (begun.elapsed().as_secs(), problems.len());
        println!("{test:>12} {name}: {count} programs from {first} ({seconds} s, {finds} finds)");
    }
    println!("{:>12} {total} programs in {} s", "all", begun.elapsed().as_secs());
    crate::report(&problems)
}

/// Runs a part of one generator's programs; what it says, if it fails.
fn part_of(root: &Path, [test, name]: [&str; 2], first: u64, count: u64) -> Result<(), String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["test", "--quiet", "--package", "ein-tests", "--test", test])
        .args(["--", "--exact", name, "--nocapture"])
        .env("EINLANG_SEED", first.to_string())
        .env("EINLANG_PROGRAMS", count.to_string())
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo could not be started: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}
