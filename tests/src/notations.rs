//! The programs in the other notations: each gives the outputs that stand beside it, on the
//! evaluator and compiled, also when it is translated to Einlang first; or it is rejected.

use crate::{Case, repository};
use ein_driver::render::Style;
use ein_driver::{Engine, FileSources, Input, Options, RunOptions, Session};
use serde_json::Value as Json;
use std::path::Path;

/// How far a float may be from what is expected.
const TOLERANCE: f64 = 1e-5;

/// What every program runs on.
const ENGINES: [Engine; 2] = [Engine::Eval, Engine::Jit];

/// One test for each program.
pub fn cases() -> Result<Vec<Case>, String> {
    let folder = repository().join("tests/notations");
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|it| it == "rem" || it == "svx") {
            paths.push(path);
        }
    }
    paths.sort();
    let case = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Case { name: format!("notations/{name}"), run: Box::new(move || program(&path)) }
    };
    Ok(paths.into_iter().map(case).collect())
}

fn program(path: &Path) -> Result<(), String> {
    let text = std::fs::read_to_string(path.with_extension("json"))
        .map_err(|error| format!("there are no expectations beside it: {error}"))?;
    let expected: Json = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let input = Input::File(path.to_owned());
    if let Some(codes) = expected["rejected"].as_array() {
        return rejected(&input, codes);
    }
    for engine in ENGINES {
        matches(&expected["outputs"], &outputs(&input, engine)?)?;
    }

    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let (source, report) =
        session.translate(&input).map_err(|bug| format!("{bug}: {}", bug.detail))?;
    if report.has_errors() {
        return Err(session.render(&report.diagnostics, Style::Plain));
    }
    let translated = Input::Text { name: "translated.ein".into(), text: source.as_str().into() };
    for engine in ENGINES {
        let found = outputs(&translated, engine)
            .map_err(|why| format!("{why}\n\nof this text:\n{source}"))?;
        matches(&expected["outputs"], &found)
            .map_err(|why| format!("translated: {why}\n{source}"))?;
    }
    Ok(())
}

/// Holds if exactly these errors are reported, each as often as it is named.
fn rejected(input: &Input, codes: &[Json]) -> Result<(), String> {
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let report = session
        .check(std::slice::from_ref(input))
        .map_err(|bug| format!("{bug}: {}", bug.detail))?;
    let found: Vec<Json> =
        report.diagnostics.iter().map(|it| Json::String(it.code.to_string())).collect();
    if found == codes {
        return Ok(());
    }
    Err(session.render(&report.diagnostics, Style::Plain))
}

/// All outputs of a program about which the checker has nothing to say.
fn outputs(input: &Input, engine: Engine) -> Result<Vec<(String, Json)>, String> {
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let report = session
        .run(
            input,
            &RunOptions { engine, report_outputs: true, ..RunOptions::default() },
            Default::default(),
            &mut |_| {},
        )
        .map_err(|bug| format!("{bug}: {}", bug.detail))?;
    let mut diagnostics = report.checked.diagnostics;
    diagnostics.extend(report.failure);
    if !diagnostics.is_empty() {
        return Err(session.render(&diagnostics, Style::Plain));
    }
    let parsed = report.outputs.into_iter().map(|(name, json)| {
        serde_json::from_str(&json).map(|json| (name, json)).map_err(|error| error.to_string())
    });
    parsed.collect()
}

fn matches(expected: &Json, found: &[(String, Json)]) -> Result<(), String> {
    let expected = expected.as_object().ok_or("the expectations name no outputs")?;
    for (name, value) in expected {
        let Some((_, given)) = found.iter().find(|it| it.0 == *name) else {
            return Err(format!("there is no output `{name}`"));
        };
        for key in ["dtype", "shape", "data"] {
            if !value[key].is_null() && !close(&value[key], &given[key]) {
                return Err(format!("`{name}` is {given}, expected {value}"));
            }
        }
    }
    Ok(())
}

fn close(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b))
        }
        (Json::Number(x), Json::Number(y)) => match (x.as_f64(), y.as_f64()) {
            (Some(x), Some(y)) => (x - y).abs() <= TOLERANCE * (1.0 + x.abs()),
            _ => false,
        },
        _ => a == b,
    }
}
