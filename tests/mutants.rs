//! The square matrix test: see `src/mutants.rs`.

use ein_tests::mutants;

/// How many of a hundred mutants must be rejected, those with a reason not counted.
const SHARE: f64 = 98.0;

#[test]
fn a_coordinate_in_a_wrong_place_is_an_error() {
    let folder = mutants::folder();
    let outcome = mutants::run(&folder).expect("the programs can be read");
    let exceptions = mutants::exceptions(&folder).expect("the exceptions can be read");
    for (operator, count) in &outcome.made {
        println!("{count:5} {operator}");
    }
    let total = outcome.total();
    let rejected = total - outcome.survivors.len();
    let share = 100.0 * rejected as f64 / total.max(1) as f64;
    println!("{rejected} of {total} mutants are rejected: {share:.2} %");

    let mut wrong = outcome.broken.clone();
    for (id, shown) in &outcome.survivors {
        if !exceptions.iter().any(|(it, _)| it == id) {
            wrong.push(format!("not rejected: {id}\n{shown}"));
        }
    }
    for (id, _) in &exceptions {
        if !outcome.survivors.iter().any(|(it, _)| it == id) {
            wrong.push(format!("an exception that is none: {id}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(total >= 1000, "only {total} mutants");
    assert!(share >= SHARE, "{share:.2} % of the mutants are rejected");
}
