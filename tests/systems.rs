//! Recurrences of several values, as names, tuples and structs, with and without a condition that
//! ends them: every way of writing gives what a few lines of Rust give, on every engine. So do
//! recurrences inside steps of others, definitions inside of steps, and functions whose last action is to call themselves.
//!
//! `EINLANG_PROGRAMS=2000` runs more programs, `EINLANG_SEED=7` begins at another number,
//! `EINLANG_NATIVE=200` builds more of them with the system's compiler.

use ein_driver::Engine;
use ein_tests::engines::{Setting, run};
use ein_tests::generate::{Form, Several, bodies, several, turns, within};
use ein_tests::seeds;

fn check(count: u64, engine: Engine) {
    seeds::run(count, |seed| {
        for form in [Form::Names, Form::Downward, Form::Tuple, Form::Struct] {
            prints(&several(seed, form), &format!("program {seed} as {form:?}"), engine);
        }
    });
}

fn check_within(count: u64, engine: Engine) {
    seeds::run(count, |seed| prints(&within(seed), &format!("program {seed}"), engine));
}

fn check_bodies(count: u64, engine: Engine) {
    seeds::run(count, |seed| prints(&bodies(seed), &format!("program {seed}"), engine));
}

fn check_turns(count: u64, engine: Engine) {
    seeds::run(count, |seed| prints(&turns(seed), &format!("program {seed}"), engine));
}

fn prints(program: &Several, which: &str, engine: Engine) {
    let ran = match run(&program.text, &Setting::new(engine)) {
        Ok(ran) => ran,
        Err(why) => panic!("{which} is rejected: {why}\n{}", program.text),
    };
    let printed: Vec<&str> = ran.printed.lines().collect();
    let failed = &ran.failure;
    assert_eq!(printed, program.printed, "{which} on {engine:?} ({failed:?})\n{}", program.text);
}

#[test]
fn several_values_are_what_they_are_by_hand() {
    check(seeds::setting("EINLANG_PROGRAMS", 60), Engine::Eval);
}

#[test]
fn kernels_agree() {
    check(seeds::setting("EINLANG_PROGRAMS", 60), Engine::Jit);
}

#[test]
fn native_code_agrees() {
    check(seeds::setting("EINLANG_NATIVE", 4), Engine::Native);
}

#[test]
fn inner_recurrences_are_what_they_are_by_hand() {
    check_within(seeds::setting("EINLANG_PROGRAMS", 60), Engine::Eval);
}

#[test]
fn inner_recurrences_agree_in_kernels() {
    check_within(seeds::setting("EINLANG_PROGRAMS", 150), Engine::Jit);
}

#[test]
fn inner_recurrences_agree_in_native_code() {
    check_within(seeds::setting("EINLANG_NATIVE", 6), Engine::Native);
}

#[test]
fn last_calls_are_what_they_are_by_hand() {
    check_turns(seeds::setting("EINLANG_PROGRAMS", 60), Engine::Eval);
}

#[test]
fn last_calls_agree_in_kernels() {
    check_turns(seeds::setting("EINLANG_PROGRAMS", 150), Engine::Jit);
}

#[test]
fn last_calls_agree_in_native_code() {
    check_turns(seeds::setting("EINLANG_NATIVE", 4), Engine::Native);
}

#[test]
fn definitions_inside_steps_are_what_they_are_by_hand() {
    check_bodies(seeds::setting("EINLANG_PROGRAMS", 60), Engine::Eval);
}

#[test]
fn definitions_inside_steps_agree_in_kernels() {
    check_bodies(seeds::setting("EINLANG_PROGRAMS", 200), Engine::Jit);
}

#[test]
fn definitions_inside_steps_agree_in_native_code() {
    check_bodies(seeds::setting("EINLANG_NATIVE", 6), Engine::Native);
}
