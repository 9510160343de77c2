//! Recurrences of several values, as names, tuples and structs, with and without a condition that
//! ends them: every way of writing gives what a few lines of Rust give, on every engine.
//!
//! `EINLANG_PROGRAMS=2000` runs more programs, `EINLANG_SEED=7` begins at another number,
//! `EINLANG_NATIVE=200` builds more of them with the system's compiler.

use ein_driver::Engine;
use ein_tests::engines::{Setting, run};
use ein_tests::generate::{Form, several};
use ein_tests::seeds;

fn check(count: u64, engine: Engine) {
    seeds::run(count, |seed| {
        for form in [Form::Names, Form::Tuple, Form::Struct] {
            let program = several(seed, form);
            let ran = match run(&program.text, &Setting::new(engine)) {
                Ok(ran) => ran,
                Err(why) => {
                    panic!("program {seed} as {form:?} is rejected: {why}\n{}", program.text)
                }
            };
            let printed: Vec<&str> = ran.printed.lines().collect();
            assert_eq!(
                printed, program.printed,
                "program {seed} as {form:?} on {engine:?} ({:?})\n{}",
                ran.failure, program.text
            );
        }
    });
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
