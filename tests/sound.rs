//! What passes `check` does not stop on a shape, and what is wrong is rejected at its line.
//!
//! `EINLANG_PROGRAMS=50000` runs more programs, `EINLANG_SEED=7` begins at another number,
//! `EINLANG_NATIVE=200` builds more of them with the system's compiler.

use ein_driver::{Engine, FileSources, Input, Options, Session};
use ein_tests::engines::{Agreement, Setting, agree, run};
use ein_tests::generate::{Sound, sound};
use ein_tests::seeds;
use std::sync::Mutex;

/// The lines of the errors that `check` reports.
fn rejected(text: &str) -> Vec<usize> {
    let input = Input::Text { name: "program.ein".into(), text: text.into() };
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let checked = session.check(std::slice::from_ref(&input)).expect("the compiler does not break");
    let errors = checked.diagnostics.iter().filter(|d| d.is_error());
    let line = |at: u32| text[..at as usize].matches('\n').count() + 1;
    errors.map(|d| line(d.primary.span.lo())).collect()
}

/// Whether a program passes; `Err` if it should not, or stops.
fn judge(program: &Sound, engine: Engine) -> Result<bool, String> {
    let text = program.lines.join("\n");
    if let Some(wrong) = program.wrong {
        let lines = rejected(&text);
        return match lines.contains(&wrong) {
            true => Ok(false),
            false => Err(format!("line {wrong} is wrong, rejected are {lines:?}")),
        };
    }
    let evaluated = run(&text, &Setting::new(Engine::Eval))?;
    if let Some((_, why)) = &evaluated.failure {
        return Err(why.clone());
    }
    for (name, shape) in &program.shapes {
        let output = evaluated.outputs.iter().find(|it| it.0 == *name);
        let found = output.map_or_else(String::new, |it| it.1["shape"].to_string());
        let wanted = format!("{shape:?}").replace(' ', "");
        if found != wanted {
            return Err(format!("`{name}` is {found}, not {wanted}"));
        }
    }
    match agree(&evaluated, run(&text, &Setting::new(engine)), 1.0) {
        Agreement::Same(_) => Ok(true),
        other => Err(format!("{engine:?}: {other:?}")),
    }
}

fn check(count: u64, engine: Engine) {
    let found = Mutex::new((0, 0, Vec::new()));
    seeds::run(count, |seed| {
        let verdict = judge(&sound(seed), engine);
        let mut found = found.lock().expect("no worker panics with the lock");
        match verdict {
            Ok(true) => found.0 += 1,
            Ok(false) => found.1 += 1,
            Err(why) => found.2.push((seed, why)),
        }
    });
    let (passed, wrong, mut mistakes) = found.into_inner().expect("no worker panics with the lock");
    mistakes.sort();
    println!("{count} programs: {passed} pass, {wrong} are rejected, {} err", mistakes.len());
    for (seed, why) in mistakes.iter().take(seeds::setting("EINLANG_SHOWN", 3) as usize) {
        println!("--- program {seed}\n{}\n--- {why}\n", sound(*seed).lines.join("\n"));
    }
    let seeds: Vec<u64> = mistakes.iter().map(|it| it.0).collect();
    assert!(seeds.is_empty(), "programs that are judged otherwise: {seeds:?}");
}

#[test]
fn what_passes_does_not_stop_on_a_shape() {
    check(seeds::setting("EINLANG_PROGRAMS", 150), Engine::Jit);
}

#[test]
fn native_code_does_not_either() {
    check(seeds::setting("EINLANG_NATIVE", 2), Engine::Native);
}
