//! The programs of the repository: examples print what stands beside them, by the evaluator and
//! compiled, and all programs are formatted and check without a word.

use crate::{Case, repository};
use ein_driver::render::Style;
use ein_driver::{
    Engine, FileSources, Formatted, Input, Options, RunOptions, Session, format_file, program_files,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The folders whose programs are formatted and free of errors and warnings.
const FOLDERS: [&str; 3] = ["examples", "library", "tests/library"];

/// Programs that compute so much that only compiled code is waited for.
const COMPILED: [&str; 9] = [
    "charlm/charlm.ein",
    "digits/cnn.ein",
    "digits/mlp.ein",
    "edges.ein",
    "gaussian_process.ein",
    "ising.ein",
    "neural_ode.ein",
    "shallow_water.ein",
    "vae.ein",
];

/// One test for each program.
pub fn cases() -> Result<Vec<Case>, String> {
    let root = repository();
    let mut cases = Vec::new();
    for folder in FOLDERS {
        let files = program_files(&root.join(folder))
            .map_err(|error| format!("{folder} cannot be searched: {error}"))?;
        for path in files {
            let name = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
            cases.push(Case { name, run: Box::new(move || program(&path)) });
        }
    }
    Ok(cases)
}

fn program(path: &Path) -> Result<(), String> {
    formatted(path)?;
    let expected = path.with_extension("out");
    if !expected.is_file() {
        let input = Input::File(path.to_owned());
        let mut session = Session::new(Options::default(), FileSources::on_disk());
        let report = session
            .check(std::slice::from_ref(&input))
            .map_err(|bug| format!("{bug}: {}", bug.detail))?;
        return match report.diagnostics.is_empty() {
            true => Ok(()),
            false => Err(session.render(&report.diagnostics, Style::Plain)),
        };
    }
    let engines: &[Engine] = match COMPILED.iter().any(|name| path.ends_with(name)) {
        true => &[Engine::Jit],
        false => &[Engine::Eval, Engine::Jit],
    };
    for engine in engines.iter().copied() {
        let printed = run(path, engine)?;
        same(&expected, &printed).map_err(|why| format!("on `{}`: {why}", engine.as_str()))?;
    }
    Ok(())
}

/// What a program prints.
fn run(path: &Path, engine: Engine) -> Result<String, String> {
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let mut printed = String::new();
    let mut print = |line: &str| {
        printed.push_str(line);
        printed.push('\n');
    };
    let interrupted = Arc::new(AtomicBool::new(false));
    let options = RunOptions { engine, ..RunOptions::default() };
    let report = session
        .run(&Input::File(path.to_owned()), &options, interrupted, &mut print)
        .map_err(|bug| format!("{bug}: {}", bug.detail))?;
    let mut diagnostics = report.checked.diagnostics;
    diagnostics.extend(report.failure);
    match diagnostics.is_empty() {
        true => Ok(printed),
        false => Err(session.render(&diagnostics, Style::Plain)),
    }
}

/// Compares what was printed with a golden file, or makes it that.
fn same(expected: &PathBuf, printed: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", expected.display());
    if crate::bless() {
        return std::fs::write(expected, printed).map_err(failed);
    }
    let wanted = std::fs::read_to_string(expected).map_err(failed)?;
    match wanted == printed {
        true => Ok(()),
        false => Err(format!(
            "it does not print what {} says (`cargo xtask bless` accepts it)\n\n\
             expected:\n{wanted}\nfound:\n{printed}",
            expected.display()
        )),
    }
}

fn formatted(path: &Path) -> Result<(), String> {
    match format_file(path, false).map_err(|bug| format!("{bug}: {}", bug.detail))? {
        Ok(Formatted::Same) => Ok(()),
        Ok(Formatted::Changed(_)) => Err("it is not formatted: `einlang fmt` does it".into()),
        Ok(Formatted::Rejected(files, diagnostics)) => {
            Err(ein_driver::render::render(&files, &diagnostics, Style::Plain))
        }
        Err(error) => Err(error.to_string()),
    }
}
