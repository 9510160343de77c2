//! One program on several engines, side by side: all of them must agree with the evaluator.
//!
//! Integers and truth values are equal to the bit. Floats may differ by what another order of
//! additions inside a reduction does: by 1e-5 (`f32`) or 1e-12 (`f64`) of the largest number in
//! the array, or of one; by nothing where a setting is deterministic. Failures have the same
//! code, place and text, and what was computed before is the same.

use ein_driver::render::Style;
use ein_driver::{Engine, FileSources, Input, Options, Passes, RunOptions, Session};
use serde_json::Value as Json;
use std::time::{Duration, Instant};

/// How a program is run.
#[derive(Clone, Debug)]
pub struct Setting {
    /// By what.
    pub engine: Engine,
    /// On how many threads.
    pub threads: usize,
    /// With the same order of additions everywhere.
    pub deterministic: bool,
    /// With these outputs only; with all if absent.
    pub observe: Option<Vec<String>>,
    /// With these passes of the compiler.
    pub passes: Passes,
    /// How many times as far as usual floats may be from those of the evaluator.
    pub slack: f64,
    /// For so long at most.
    pub limit: Option<Duration>,
}

impl Setting {
    /// An engine on one thread.
    pub fn new(engine: Engine) -> Setting {
        Setting {
            engine,
            threads: 1,
            deterministic: false,
            observe: None,
            passes: Passes::default(),
            slack: 1.0,
            limit: None,
        }
    }
}

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    /// The outputs.
    pub outputs: Vec<(String, Json)>,
    /// What was printed.
    pub printed: String,
    /// The code of what stopped it, and its text.
    pub failure: Option<(String, String)>,
    /// Whether something was compiled.
    pub compiled: bool,
    /// What was evaluated although there was work in it: why, and how many thousand steps.
    pub evaluated: Vec<(String, u64)>,
    /// How long it took.
    pub seconds: f64,
}

/// What came of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// The same, and whether something was compiled for it.
    Same(bool),
    /// Both fail, in the same way.
    BothFail,
    /// The program is rejected: why.
    Rejected(String),
    /// One of them takes longer than it may, or more memory.
    Endless,
    /// They differ: how.
    Differs(String),
}

/// Runs a program; `Err` if it is rejected or the compiler breaks.
pub fn run(text: &str, setting: &Setting) -> Result<Ran, String> {
    let mut sources = FileSources::in_memory();
    sources.insert("generated.ein", text);
    run_input(
        Session::new(Options::default(), sources),
        Input::File("generated.ein".into()),
        setting,
    )
}

/// Runs a program that would take the evaluator millions of steps, which ends with this code or none, and
/// holds the thousands of steps that are evaluated all the same to a bound.
pub fn few_steps(text: &str, code: Option<&str>, most: u64) {
    let ran = run(text, &Setting::new(Engine::Jit)).expect("a program that runs");
    assert_eq!(ran.failure.as_ref().map(|it| it.0.as_str()), code, "{:?}\n{text}", ran.failure);
    let steps: u64 = ran.evaluated.iter().map(|(_, steps)| steps).sum();
    assert!(steps <= most, "{steps} thousand steps of {text}\n{:?}", ran.evaluated);
}

/// Runs what a session can load.
pub fn run_input(mut session: Session, input: Input, setting: &Setting) -> Result<Ran, String> {
    let options = RunOptions {
        engine: setting.engine,
        threads: Some(setting.threads),
        deterministic: setting.deterministic,
        observe: setting.observe.clone(),
        passes: setting.passes,
        memory_limit: Some(1 << 30),
        time_limit: setting.limit,
        report_outputs: true,
        ..RunOptions::default()
    };
    let started = Instant::now();
    let mut printed = String::new();
    let mut print = |line: &str| {
        printed.push_str(line);
        printed.push('\n');
    };
    let report = session
        .run(&input, &options, Default::default(), &mut print)
        .map_err(|bug| format!("{bug}: {}", bug.detail))?;
    let seconds = started.elapsed().as_secs_f64();
    if report.checked.has_errors() {
        return Err(session.render(&report.checked.diagnostics, Style::Plain));
    }
    let failure = report.failure.map(|failure| {
        let code = failure.code.as_str().to_owned();
        (code, session.render(&[failure], Style::Plain))
    });
    let mut outputs = Vec::new();
    for (name, json) in report.outputs {
        let json = serde_json::from_str(&json).map_err(|error| format!("`{name}`: {error}"))?;
        outputs.push((name, json));
    }
    let compiled = report.phases.iter().any(|(phase, _)| *phase == "compile");
    let evaluated = report.evaluated.into_iter().map(|it| (it.why, it.steps)).collect();
    Ok(Ran { outputs, printed, failure, compiled, evaluated, seconds })
}

/// Whether a run ended because of a limit.
fn limited(ran: &Ran) -> bool {
    ran.failure.as_ref().is_some_and(|(code, _)| code == "E0812" || code == "E0805")
}

/// Compares a run with one of the evaluator that observed at least as much; floats may be so many times
/// as far from each other as usual.
pub fn agree(expected: &Ran, found: Result<Ran, String>, slack: f64) -> Agreement {
    let found = match found {
        Ok(found) => found,
        Err(why) => return Agreement::Differs(why),
    };
    if expected.failure != found.failure {
        let shown = |ran: &Ran| ran.failure.clone().map_or("no failure".to_owned(), |it| it.1);
        let (expected, found) = (shown(expected), shown(&found));
        return Agreement::Differs(format!("expected {expected}\nfound {found}"));
    }
    for (name, value) in &found.outputs {
        let Some((_, wanted)) = expected.outputs.iter().rev().find(|(known, _)| known == name)
        else {
            return Agreement::Differs(format!("there is no output `{name}`"));
        };
        if let Err(why) = same(wanted, value, slack) {
            return Agreement::Differs(format!("`{name}`: {why}"));
        }
    }
    match found.failure.is_some() {
        true => Agreement::BothFail,
        false
            if found.printed != expected.printed
                && !near_text(&expected.printed, &found.printed) =>
        {
            Agreement::Differs(format!("prints\n{}\nnot\n{}", found.printed, expected.printed))
        }
        false => Agreement::Same(found.compiled),
    }
}

/// Runs a program by the evaluator and as each setting says.
pub fn compare(text: &str, settings: &[Setting]) -> Agreement {
    let limit = settings.iter().find_map(|it| it.limit);
    let expected = match run(text, &Setting { limit, ..Setting::new(Engine::Eval) }) {
        Ok(expected) => expected,
        Err(why) => return Agreement::Rejected(why),
    };
    if limit.is_some() && limited(&expected) {
        return Agreement::Endless;
    }
    let mut result = Agreement::Same(false);
    for setting in settings {
        // Only what there is can be observed.
        let mut setting = setting.clone();
        if let Some(names) = &mut setting.observe {
            names.retain(|name| expected.outputs.iter().any(|(known, _)| known == name));
            if names.is_empty() {
                continue;
            }
        }
        let found = run(text, &setting);
        if limit.is_some() && found.as_ref().is_ok_and(limited) {
            return Agreement::Endless;
        }
        let slack = if setting.deterministic { 0.0 } else { setting.slack };
        match agree(&expected, found, slack) {
            Agreement::Differs(why) => {
                let Setting { engine, threads, .. } = &setting;
                let watched = match &setting.observe {
                    Some(names) => format!(", observing {}", names.join(", ")),
                    None => String::new(),
                };
                let engine = engine.as_str();
                return Agreement::Differs(format!("{engine} on {threads}{watched}: {why}"));
            }
            Agreement::Same(compiled) => {
                result = Agreement::Same(compiled || result == Agreement::Same(true));
            }
            other => result = other,
        }
    }
    result
}

/// Two outputs as JSON.
fn same(expected: &Json, found: &Json, slack: f64) -> Result<(), String> {
    match (expected, found) {
        (Json::Object(a), Json::Object(b)) => {
            let ty = a.get("dtype").and_then(Json::as_str).unwrap_or_default();
            if a.get("dtype") != b.get("dtype") || a.get("shape") != b.get("shape") {
                return Err(format!("{} is not {}", head(found), head(expected)));
            }
            for (key, value) in a {
                let Some(other) = b.get(key) else { return Err(format!("there is no {key}")) };
                match key.as_str() {
                    "data" => {
                        let scale = largest(value).max(1.0);
                        elements(value, other, scale * tolerance(ty) * slack, slack)?;
                    }
                    _ => same(value, other, slack)?,
                }
            }
            Ok(())
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).try_for_each(|(a, b)| same(a, b, slack))
        }
        (a, b) if a == b => Ok(()),
        (a, b) => Err(format!("{} is not {}", head(b), head(a))),
    }
}

fn tolerance(ty: &str) -> f64 {
    match ty {
        "f64" => 1e-12,
        "f32" => 1e-5,
        "f16" => 1e-3,
        "bf16" => 1e-2,
        _ => 0.0,
    }
}

fn head(json: &Json) -> String {
    json.to_string().chars().take(400).collect()
}

fn number(json: &Json) -> Option<f64> {
    match json {
        Json::String(text) => text.parse().ok(),
        json => json.as_f64(),
    }
}

/// The largest finite size in an array.
fn largest(json: &Json) -> f64 {
    match json {
        Json::Array(items) => items.iter().map(largest).fold(0.0, f64::max),
        json => number(json).filter(|it| it.is_finite()).map_or(0.0, f64::abs),
    }
}

/// Two lists of elements; what is no number is an output by itself.
fn elements(expected: &Json, found: &Json, tolerance: f64, slack: f64) -> Result<(), String> {
    match (expected, found) {
        (Json::Array(a), Json::Array(b)) => {
            if a.len() != b.len() {
                return Err(format!("{} elements, not {}", b.len(), a.len()));
            }
            for (at, (a, b)) in a.iter().zip(b).enumerate() {
                elements(a, b, tolerance, slack).map_err(|why| match why.strip_prefix('[') {
                    Some(rest) => format!("[{at}, {rest}"),
                    None => format!("[{at}]: {why}"),
                })?;
            }
            Ok(())
        }
        (Json::Object(_), Json::Object(_)) => same(expected, found, slack),
        (a, b) if a == b => Ok(()),
        (a, b) => match (number(a), number(b)) {
            (Some(x), Some(y)) if x.is_nan() && y.is_nan() => Ok(()),
            (Some(x), Some(y)) if (x - y).abs() <= tolerance => Ok(()),
            _ => Err(format!("{b} is not {a}")),
        },
    }
}

/// Whether two texts are the same up to the last digits of numbers.
fn near_text(a: &str, b: &str) -> bool {
    let pieces = |text: &str| -> Vec<String> {
        let pieces = text.split(|c: char| c.is_whitespace() || "[](),".contains(c));
        // Columns are as wide as their widest number.
        pieces.filter(|it| !it.is_empty()).map(str::to_owned).collect()
    };
    let (a, b) = (pieces(a), pieces(b));
    a.len() == b.len()
        && a.iter().zip(&b).all(|(a, b)| {
            a == b
                || match (a.parse::<f64>(), b.parse::<f64>()) {
                    (Ok(x), Ok(y)) => (x - y).abs() <= 1e-4 * x.abs().max(y.abs()).max(1.0),
                    _ => false,
                }
        })
}

/// The fewest statements on which the engines still differ, with how.
pub fn shrink(statements: &[String], settings: &[Setting]) -> (Vec<String>, String) {
    let differs = |statements: &[String]| match compare(&statements.join("\n"), settings) {
        Agreement::Differs(why) => Some(why),
        _ => None,
    };
    crate::compare::fewest(statements, differs, |_, _| true)
}
