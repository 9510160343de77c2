//! The square matrix test: see `src/mutants.rs`.

use ein_tests::mutants;

/// How many of a hundred mutants must be rejected, those with a reason not counted.
const SHARE: f64 = 98.0;

#[test]
fn a_coordinate_in_a_wrong_place_is_an_error() {
    let programs = mutants::written().expect("the programs can be read");
    let total = judge(programs);
    assert!(total >= 1000, "only {total} mutants");
}

#[test]
fn so_it_is_in_examples_and_library() {
    let programs = mutants::others().expect("the programs can be read");
    let total = judge(programs);
    assert!(total >= 50, "only {total} mutants");
}

/// Mutates programs and compares what survives with the exceptions; how many mutants there were.
fn judge(programs: Vec<(String, String)>) -> usize {
    let names: Vec<String> = programs.iter().map(|(name, _)| format!("{name}:")).collect();
    let outcome = mutants::run(programs).expect("the mutants can be checked");
    let exceptions = mutants::exceptions(&mutants::folder()).expect("the exceptions can be read");
    for (operator, count) in &outcome.made {
        println!("{count:5} {operator}");
    }
    let mut wrong = outcome.broken.clone();
    let mut excused = 0;
    for (id, shown) in &outcome.survivors {
        if exceptions.iter().any(|(it, _)| it == id) {
            excused += 1;
        } else {
            wrong.push(format!("not rejected: {id}\n{shown}"));
        }
    }
    let total = outcome.total();
    let rejected = total - outcome.survivors.len();
    let share = 100.0 * rejected as f64 / (total - excused).max(1) as f64;
    println!("{rejected} of {total} mutants are rejected, {excused} have a reason: {share:.2} %");

    for (id, _) in exceptions.iter().filter(|(id, _)| names.iter().any(|it| id.starts_with(it))) {
        if !outcome.survivors.iter().any(|(it, _)| it == id) {
            wrong.push(format!("an exception that is none: {id}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(share >= SHARE, "{share:.2} % of the mutants are rejected");
    total
}
