//! Calls over sizes and frames: what passes `check` has the shape that the rules say and never
//! stops on a shape, on any engine; what breaks the rules is rejected.
//!
//! `EINLANG_PROGRAMS=20000` runs more of them, `EINLANG_SEED=7` begins at another number.

use ein_driver::Engine;
use ein_tests::engines::{Agreement, Ran, Setting, agree, run};
use ein_tests::generate::{Ranked, ranked};
use ein_tests::seeds;
use std::sync::Mutex;

/// What was found so far.
#[derive(Default)]
struct Tally {
    passed: u64,
    rejected: u64,
    mistakes: Vec<(u64, String)>,
}

/// Whether a program passes; `Err` if that is not what the rules say.
fn judge(program: &Ranked) -> Result<bool, String> {
    let text = program.statements.join("\n");
    let evaluated = match (run(&text, &Setting::new(Engine::Eval)), program.wrong) {
        (Ok(ran), false) => ran,
        (Err(why), true) if why.starts_with("error[E0") => return Ok(false),
        (Ok(_), true) => return Err("a wrong call passes".into()),
        (Err(why), _) => return Err(why),
    };
    if let Some((_, why)) = &evaluated.failure {
        return Err(why.clone());
    }
    for (name, shape) in &program.shapes {
        shaped(&evaluated, name, shape)?;
    }
    match agree(&evaluated, run(&text, &Setting::new(Engine::Jit)), 1.0) {
        Agreement::Same(_) => Ok(true),
        other => Err(format!("compiled: {other:?}")),
    }
}

/// Holds if an output has this shape.
fn shaped(ran: &Ran, name: &str, shape: &[usize]) -> Result<(), String> {
    let output = ran.outputs.iter().find(|it| it.0 == name);
    let (_, value) = output.ok_or_else(|| format!("there is no output `{name}`"))?;
    let found = value["shape"].to_string().replace(',', ", ");
    let wanted = format!("{shape:?}");
    if found == wanted { Ok(()) } else { Err(format!("`{name}` is {found}, not {wanted}")) }
}

#[test]
fn calls_that_pass_have_the_shapes_of_the_rules() {
    let count = seeds::setting("EINLANG_PROGRAMS", 400);
    let tally = Mutex::new(Tally::default());
    seeds::run(count, |seed| {
        let verdict = judge(&ranked(seed));
        let mut tally = tally.lock().expect("no worker panics with the lock");
        match verdict {
            Ok(true) => tally.passed += 1,
            Ok(false) => tally.rejected += 1,
            Err(why) => tally.mistakes.push((seed, why)),
        }
    });
    let mut tally = tally.into_inner().expect("no worker panics with the lock");
    tally.mistakes.sort();
    let Tally { passed, rejected, mistakes } = tally;
    println!("{count} programs: {passed} pass, {rejected} are rejected, {} err", mistakes.len());
    for (seed, why) in mistakes.iter().take(seeds::setting("EINLANG_SHOWN", 3) as usize) {
        println!("--- program {seed}\n{}\n--- {why}\n", ranked(*seed).statements.join("\n"));
    }
    let seeds: Vec<u64> = mistakes.iter().map(|it| it.0).collect();
    assert!(seeds.is_empty(), "programs that the rules judge otherwise: {seeds:?}");
    // The generator must not drift into programs that say nothing.
    assert!(passed >= count * 6 / 10, "only {passed} of {count} pass");
    assert!(rejected >= count / 10, "only {rejected} of {count} are rejected");
}
