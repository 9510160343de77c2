//! Two evaluations of one program, side by side.

use crate::brute::{self, Stop, V};
use ein_driver::render::Style;
use ein_driver::{Code, FileSources, Input, Options, RunOptions, Session};
use ein_scalar::ScalarType;
use serde_json::Value as Json;

/// What came of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Both give the same.
    Same,
    /// Both fail.
    BothFail,
    /// The brute-force evaluator has no opinion.
    Undecided(String),
    /// They differ: how.
    Differs(String),
}

/// Evaluates a program twice.
pub fn compare(text: &str) -> Verdict {
    let expected = brute::run(text);
    if let Err(Stop::Unknown(why)) = &expected {
        // What the other says must be sound nevertheless.
        return match evaluated(text) {
            Err(Failure::Rejected(shown, _) | Failure::Internal(shown)) => Verdict::Differs(shown),
            _ => Verdict::Undecided(why.clone()),
        };
    }
    match (evaluated(text), expected) {
        // A read that is never reached may well be wrong.
        (Err(Failure::Rejected(_, places)), Ok(meaning))
            if !places.is_empty() && places.iter().all(|at| !meaning.touched.contains(at)) =>
        {
            Verdict::Undecided("a read that is never reached".into())
        }
        (Err(Failure::Rejected(shown, _) | Failure::Internal(shown)), _) => Verdict::Differs(shown),
        (Err(Failure::Stopped(_)), Err(_)) => Verdict::BothFail,
        (Err(Failure::Stopped(shown)), Ok(_)) => Verdict::Differs(shown),
        (Ok(_), Err(stop)) => Verdict::Differs(format!("brute force stops: {stop:?}")),
        (Ok(found), Ok(expected)) => outputs(&found, &expected.bindings),
    }
}

/// Why there are no outputs.
enum Failure {
    /// What was said, and, if that is only about reads out of bounds, where they stand.
    Rejected(String, Vec<u32>),
    Stopped(String),
    Internal(String),
}

fn evaluated(text: &str) -> Result<Vec<(String, Json)>, Failure> {
    let mut session = Session::new(Options::default(), FileSources::in_memory());
    let input = Input::Text { name: "generated.ein".into(), text: text.into() };
    let options =
        RunOptions { memory_limit: Some(1 << 30), report_outputs: true, ..RunOptions::default() };
    let report = session
        .run(&input, &options, Default::default(), &mut |_| {})
        .map_err(|bug| Failure::Internal(format!("{bug}: {}", bug.detail)))?;
    if report.checked.has_errors() {
        let errors: Vec<_> =
            report.checked.diagnostics.into_iter().filter(|it| it.is_error()).collect();
        let reads = errors.iter().all(|error| error.code == Code::E0403);
        let places = errors.iter().filter(|_| reads).map(|error| error.primary.span.lo()).collect();
        return Err(Failure::Rejected(session.render(&errors, Style::Plain), places));
    }
    if let Some(failure) = report.failure {
        return Err(Failure::Stopped(session.render(&[failure], Style::Plain)));
    }
    let mut out = Vec::new();
    for (name, json) in report.outputs {
        let json = serde_json::from_str(&json)
            .map_err(|error| Failure::Internal(format!("`{name}` is not JSON: {error}: {json}")))?;
        out.push((name, json));
    }
    Ok(out)
}

fn outputs(found: &[(String, Json)], expected: &[(String, V)]) -> Verdict {
    for (name, value) in expected {
        // Of a name bound twice the last value counts.
        let Some((_, json)) = found.iter().rev().find(|(known, _)| known == name) else {
            return Verdict::Differs(format!("there is no output `{name}`, which is {value:?}"));
        };
        if let Err(why) = same(json, value) {
            return Verdict::Differs(format!(
                "`{name}`: {why}\n  the evaluator gives {json}\n  brute force gives {}",
                show(value)
            ));
        }
    }
    Verdict::Same
}

/// A value, with its kind, against its JSON.
fn same(json: &Json, value: &V) -> Result<(), String> {
    match value {
        V::Tuple(items) => {
            let given = json["items"].as_array().ok_or("not a tuple")?;
            if given.len() != items.len() {
                return Err("tuples of different length".into());
            }
            given.iter().zip(items.iter()).try_for_each(|(json, item)| same(json, item))
        }
        V::Data(which, fields) => {
            let named = json["variant"].as_str().or(json["dtype"].as_str());
            if named != Some(which.as_str()) {
                return Err(format!("not `{which}`"));
            }
            fields.iter().try_for_each(|(name, value)| same(&json["fields"][name.as_str()], value))
        }
        _ => {
            let (dtype, data) = (&json["dtype"], &json["data"]);
            if let Some(ty) = element_type(value)
                && dtype.as_str() != Some(ty)
            {
                return Err(format!("not of type {ty}"));
            }
            elements(data, value)
        }
    }
}

fn element_type(value: &V) -> Option<&'static str> {
    match value {
        V::Int(_, ty, false) | V::Float(_, ty, None) => Some(ty.name()),
        V::Bool(_) => Some("bool"),
        V::Str(_) => Some("str"),
        V::Arr(items) => items.iter().find_map(element_type),
        _ => None,
    }
}

fn elements(json: &Json, value: &V) -> Result<(), String> {
    let equal = match value {
        V::Arr(items) => {
            let given = json.as_array().ok_or("not an array")?;
            if given.len() != items.len() {
                return Err(format!("{} elements, not {}", given.len(), items.len()));
            }
            return given
                .iter()
                .zip(items.iter())
                .try_for_each(|(json, item)| elements(json, item));
        }
        V::Bool(value) => json.as_bool() == Some(*value),
        V::Str(value) => json.as_str() == Some(value),
        V::Int(value, ..) => json.as_i64().map(i128::from) == Some(*value),
        V::Float(value, ty, _) => {
            let given = match json {
                Json::String(text) => text.parse::<f64>().ok(),
                json => json.as_f64(),
            };
            given.is_some_and(|given| near(given, *value, *ty))
        }
        V::Zero => {
            return match json {
                Json::Array(items) => items.iter().try_for_each(|item| elements(item, value)),
                Json::Bool(false) => Ok(()),
                Json::Number(number) if number.as_f64() == Some(0.0) => Ok(()),
                Json::String(text) if text.is_empty() => Ok(()),
                other => Err(format!("{other} is not zero")),
            };
        }
        other => return Err(format!("unexpected {other:?}")),
    };
    if equal { Ok(()) } else { Err(format!("{json} is not {}", show(value))) }
}

fn near(a: f64, b: f64, ty: ScalarType) -> bool {
    let tolerance = if ty == ScalarType::F64 { 1e-10 } else { 1e-5 };
    a == b
        || (a.is_nan() && b.is_nan())
        || (a - b).abs() <= tolerance * a.abs().max(b.abs()).max(1.0)
}

/// A value as a person reads it.
fn show(value: &V) -> String {
    match value {
        V::Int(value, ..) => value.to_string(),
        V::Float(value, ..) => format!("{value:?}"),
        V::Bool(value) => value.to_string(),
        V::Arr(items) => format!("[{}]", items.iter().map(show).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

/// The fewest statements that still differ in the same way, with how.
pub fn shrink(statements: &[String]) -> (Vec<String>, String) {
    let differs = |statements: &[String]| match compare(&statements.join("\n")) {
        Verdict::Differs(why) => Some(why),
        _ => None,
    };
    // The code of a diagnostic; all different values are of one kind.
    let kind = |why: &str| match why.starts_with("error[") {
        true => why.chars().take(11).collect::<String>(),
        false => String::new(),
    };
    let same = |still: &str, why: &str| {
        kind(still) == kind(why) && still.contains("error[E02") == why.contains("error[E02")
    };
    fewest(statements, differs, same)
}

/// The fewest statements that still differ, with how, where two ways to differ count as the same.
pub fn fewest<T: Clone>(
    statements: &[T],
    differs: impl Fn(&[T]) -> Option<String>,
    same: impl Fn(&str, &str) -> bool,
) -> (Vec<T>, String) {
    let mut kept = statements.to_vec();
    let mut why = differs(&kept).unwrap_or_default();
    loop {
        let before = kept.len();
        for at in (0..kept.len()).rev() {
            let mut fewer = kept.clone();
            fewer.remove(at);
            if let Some(still) = differs(&fewer).filter(|still| same(still, &why)) {
                (kept, why) = (fewer, still);
            }
        }
        if kept.len() == before {
            return (kept, why);
        }
    }
}
