//! Warnings about work that is evaluated although there is much of it.

use super::{Evaluated, TRAPPED};
use ein_base::{Code, Diagnostic};

/// From so many thousand steps on it is said.
const LARGE: u64 = 1000;

/// What is said of parts that were evaluated, if they were large. A check that failed is not worth a
/// warning if the run has failed as well.
pub(crate) fn warnings(evaluated: &[Evaluated], failed: bool) -> Vec<Diagnostic> {
    let told = |it: &&Evaluated| it.steps >= LARGE && !(failed && it.why == TRAPPED);
    evaluated.iter().filter(told).map(warning).collect()
}

fn warning(evaluated: &Evaluated) -> Diagnostic {
    let Evaluated { span, why, steps } = evaluated;
    let text = format!("about {} of steps are evaluated here, not compiled", number(*steps));
    let here = match why.as_str() {
        TRAPPED => "a check failed, or there was no memory".to_owned(),
        why => format!("in the way: {why}"),
    };
    Diagnostic::new(Code::W0501, *span, text).here(here).help(instead(why))
}

fn number(thousands: u64) -> String {
    match thousands / 1000 {
        0 | 1 => "a million".to_owned(),
        millions if millions < 1000 => format!("{millions} millions"),
        millions => format!("{} billions", millions / 1000),
    }
}

/// What to write instead.
fn instead(why: &str) -> &'static str {
    match why {
        TRAPPED => "where that is no mistake, say what holds with a condition before it is read",
        "a reduction of `u64`" => "use `i64`, which is compiled",
        "the address of an extreme over several indices" => {
            "ask for the extreme of each row first, then for the address among the rows"
        }
        "a recurrence inside a loop" => {
            "give the recurrence the index of the loop around it as an axis of its own"
        }
        "steps that a condition ends, inside a step of a recurrence" => {
            "make a fixed number of steps, which keep their value where the condition holds"
        }
        "a sum in a fixed order" => "without `--deterministic` it is compiled",
        "a size that depends on data" => {
            "use the largest size that there can be, and a condition for what is in use"
        }
        "a definition inside a loop that may fail" => {
            "define it before the loop, over the index of the loop as well"
        }
        _ => "write it with definitions, reductions and recurrences over arrays of known shape",
    }
}
