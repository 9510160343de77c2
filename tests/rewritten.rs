//! Programs that say the same in other words give the same, on the evaluator and on the default engine.
//!
//! `EINLANG_PROGRAMS=20000` runs more of them, `EINLANG_SEED=7` begins at another number, and
//! `EINLANG_REJECTED=20` shows that many other forms that the checker refuses: contracts may forbid them,
//! so they are no find.

use ein_driver::{DumpOptions, Engine, FileSources, Input, Options, Session};
use ein_tests::compare::fewest;
use ein_tests::engines::{Agreement, Ran, Setting, agree, run};
use ein_tests::{rewritten, seeds};
use std::sync::Mutex;
use std::time::Duration;

/// Failures are told at other places; what remains is their code.
fn without_places(mut ran: Ran) -> Ran {
    ran.failure = ran.failure.map(|(code, _)| (code, String::new()));
    ran
}

/// What came of the two forms.
fn compare(plain: &str, other: &str) -> Agreement {
    let limit = Some(Duration::from_secs(3));
    let eval = Setting { limit, ..Setting::new(Engine::Eval) };
    let expected = match run(plain, &eval) {
        Ok(ran) => without_places(ran),
        Err(why) if why.contains("error[E") => return Agreement::Endless,
        Err(why) => return Agreement::Differs(why),
    };
    let long =
        |ran: &Ran| ran.failure.as_ref().is_some_and(|it| it.0 == "E0812" || it.0 == "E0805");
    if long(&expected) {
        return Agreement::Endless;
    }
    let mut compiled = false;
    // Pivots, vectors of eigenvalues that are equal and what is compared with a small number turn on the last
    // digit.
    let deterministic = ["linalg", "1e-"].iter().any(|it| plain.contains(it));
    let jit = Setting { limit, deterministic, threads: 2, ..Setting::new(Engine::Jit) };
    for setting in [eval, jit] {
        let found = match run(other, &setting) {
            Ok(ran) if long(&ran) => return Agreement::Endless,
            Ok(mut ran) => {
                // The text of a derivative shows the form of what it is of.
                if plain.contains("print(@") {
                    ran.printed.clone_from(&expected.printed);
                }
                // Outputs that only the other form has.
                ran.outputs.retain(|(name, _)| expected.outputs.iter().any(|it| it.0 == *name));
                without_places(ran)
            }
            Err(why) if why.contains("error[E") => return Agreement::Rejected(why),
            Err(why) => return Agreement::Differs(why),
        };
        compiled |= found.compiled;
        // Derivatives may take another way through another form, and be rounded on it.
        match agree(&expected, Ok(found), 1e4) {
            Agreement::Differs(why) => {
                return Agreement::Differs(format!("{}: {why}", setting.engine.as_str()));
            }
            Agreement::BothFail => return Agreement::BothFail,
            _ => {}
        }
    }
    Agreement::Same(compiled)
}

#[test]
fn programs_in_other_words_give_the_same() {
    let count = seeds::setting("EINLANG_PROGRAMS", 400);
    let found = Mutex::new((0u64, 0u64, 0u64, 0u64, Vec::new(), Vec::new()));
    seeds::run(count, |seed| {
        let (plain, other) = rewritten::program(seed);
        let (plain, other) = (plain.join("\n"), other.join("\n"));
        if count == 1 {
            println!("{plain}\n--- or\n{other}");
        }
        let agreement = compare(&plain, &other);
        let mut found = found.lock().expect("no worker panics with the lock");
        match agreement {
            Agreement::Same(compiled) => {
                found.0 += 1;
                found.1 += u64::from(compiled);
            }
            Agreement::BothFail => found.2 += 1,
            Agreement::Endless => found.3 += 1,
            Agreement::Rejected(why) => found.4.push((seed, why)),
            Agreement::Differs(_) => found.5.push(seed),
        }
    });
    let (same, compiled, fail, no_program, rejected, mut wrong) =
        found.into_inner().expect("no worker panics with the lock");
    wrong.sort_unstable();
    println!(
        "{count} programs: {same} same ({compiled} of them compiled), {fail} fail in both forms, \
         {no_program} are none or too long, {} are rejected in the other form, {} differ",
        rejected.len(),
        wrong.len()
    );
    for (seed, why) in rejected.iter().take(seeds::setting("EINLANG_REJECTED", 0) as usize) {
        println!("--- program {seed} is rejected in its other form\n{why}");
    }
    for seed in wrong.iter().take(seeds::setting("EINLANG_SHOWN", 3) as usize) {
        let (plain, other) = rewritten::program(*seed);
        // Helpers stand before; then statement by statement the same, so both are shortened together.
        let helpers: Vec<String> = other[..other.len() - plain.len()].to_vec();
        let pairs: Vec<(String, String)> =
            plain.into_iter().zip(other.into_iter().skip(helpers.len())).collect();
        let texts = |pairs: &[(String, String)]| {
            let plain: Vec<&str> = pairs.iter().map(|it| it.0.as_str()).collect();
            let other: Vec<&str> = pairs.iter().map(|it| it.1.as_str()).collect();
            (plain.join("\n"), format!("{}\n{}", helpers.join("\n"), other.join("\n")))
        };
        let differs = |pairs: &[(String, String)]| {
            let (plain, other) = texts(pairs);
            match compare(&plain, &other) {
                Agreement::Differs(why) => Some(why),
                _ => None,
            }
        };
        let (pairs, why) = fewest(&pairs, differs, |_, _| true);
        let (plain, other) = texts(&pairs);
        println!("--- program {seed}\n{plain}\n--- or\n{other}\n--- {why}\n");
    }
    assert!(wrong.is_empty(), "programs that differ: {wrong:?}");
    // The changes must not drift into programs that say nothing.
    assert!(compiled >= count / 10, "only {compiled} of {count} are compiled");
}

/// Other words may take so many times as much: a copy, or a pass over the data, but not another kind of
/// growth. `tests/forms` holds what people write to less.
const CLIFF: f64 = 20.0;

/// Forms that do not hold yet: what reads one array under two names stores a slope for each pair.
const KNOWN: [&str; 1] = ["pairs domain, gradient"];

/// What the plan of a program takes: operations, bytes and memory; nothing if it is rejected.
fn planned(text: &str, observe: &str) -> Option<([f64; 3], Vec<String>)> {
    let input = Input::Text { name: "form.ein".into(), text: text.into() };
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let options = DumpOptions { observe: Some(vec![observe.to_owned()]), ..DumpOptions::default() };
    let (planned, report) =
        session.plan_counts(&input, &options).expect("the compiler does not break");
    let counts = [planned.counts.operations, planned.counts.bytes, planned.counts.memory];
    (!report.has_errors()).then_some((counts, planned.evaluated))
}

#[test]
fn forms_in_other_words_cost_the_same() {
    let folder = ein_tests::repository().join("tests/forms");
    let mut forms: Vec<(String, String)> = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|it| it == "forms") {
            let text = std::fs::read_to_string(&path).expect("a file of forms");
            let family = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let (head, rest) = text.split_once("--- ").expect("forms");
            let gradient = head.lines().find_map(|line| line.strip_prefix("// gradient: "));
            for form in rest.split("\n--- ") {
                let (name, program) = form.split_once(" ---\n").expect("a name");
                forms.push((format!("{family} {name}"), program.to_owned()));
                if let Some((loss, by)) = gradient.and_then(|it| it.split_once(' ')) {
                    let ask = format!("\nlet out = @{loss} / @{by};");
                    forms.push((format!("{family} {name}, gradient"), program.to_owned() + &ask));
                }
            }
        }
    }
    forms.sort();
    let found = Mutex::new((0u64, 0u64, Vec::new()));
    seeds::run(seeds::setting("EINLANG_PROGRAMS", 200), |seed| {
        let (name, text) = &forms[(seed % forms.len() as u64) as usize];
        let (plain, other) = rewritten::of_text(text, seed);
        if plain.len() + 2 == other.len() && plain[..] == other[2..] {
            return;
        }
        let observe = "out";
        let Some((before, why_before)) = planned(&plain.join("\n"), observe) else { return };
        let text = other.join("\n");
        let Some((after, why)) = planned(&text, observe) else {
            found.lock().expect("no worker panics with the lock").1 += 1;
            return;
        };
        let mut found = found.lock().expect("no worker panics with the lock");
        found.0 += 1;
        let ratio = before.iter().zip(&after).map(|(a, b)| b / (a + 1000.0)).fold(0.0, f64::max);
        // Elements that are not numbers are evaluated where a function of functions is between.
        let evaluated = why.len() > why_before.len()
            && !plain.iter().any(|it| it.starts_with("struct") || it.contains("= ("));
        if (ratio > CLIFF || evaluated) && !KNOWN.contains(&name.as_str()) {
            found.2.push((
                ratio,
                format!("{name} ({seed}): {before:.0?} {after:.0?} {why:?}\n{text}"),
            ));
        }
    });
    let (same, rejected, mut wrong) = found.into_inner().expect("no worker panics with the lock");
    wrong.sort_by(|a, b| b.0.total_cmp(&a.0));
    println!("{same} forms compared, {rejected} rejected, {} cost more", wrong.len());
    for (ratio, what) in &wrong {
        println!("--- {ratio:.1} {what}");
    }
    assert!(wrong.is_empty());
}
