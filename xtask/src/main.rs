//! Chores of the repository: `cargo xtask tidy`, `parts`, `bless`, `campaign`, `fuzz` and `sabotage`.

#![forbid(unsafe_code)]

mod campaign;
mod layers;
mod sabotage;
mod state;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let chore = std::env::args().nth(1);
    match chore.as_deref() {
        Some("tidy") => report(&[tidy::check(&root()), sabotage::check(&root())].concat()),
        Some("parts") => {
            print!("{}", state::table(&root()));
            ExitCode::SUCCESS
        }
        Some("bless") => bless(&root()),
        Some("campaign") => campaign::run(&root(), &std::env::args().skip(2).collect::<Vec<_>>()),
        Some("fuzz") => fuzz(&root(), &std::env::args().skip(2).collect::<Vec<_>>()),
        Some("sabotage") => sabotage::run(&root(), &std::env::args().skip(2).collect::<Vec<_>>()),
        _ => {
            eprintln!(
                "usage: cargo xtask tidy | parts | bless | campaign PROGRAMS [SEED] | \
                 fuzz SECONDS [TARGET…] | sabotage [NAME…]"
            );
            eprintln!("  tidy    check layers, headers, file sizes, forbidden words and patches");
            eprintln!(
                "  parts   count the functions that can touch each part of the checker's state"
            );
            eprintln!("  bless   accept what golden files would now say");
            eprintln!("  campaign  run so many generated programs through all generators");
            eprintln!(
                "  fuzz    try changed programs and files on every fuzz target for that time"
            );
            eprintln!("  sabotage  take repairs out, and expect the generators to find it");
            ExitCode::from(3)
        }
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

fn report(problems: &[String]) -> ExitCode {
    for problem in problems {
        eprintln!("{problem}");
    }
    if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs the suite with golden files being written.
fn bless(root: &Path) -> ExitCode {
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["test", "--quiet", "--package", "ein-tests", "--test", "suite"])
        .env("EINLANG_BLESS", "1")
        .current_dir(root)
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => report(&[format!("cargo could not be started: {error}")]),
    }
}

/// Runs the fuzz targets.
fn fuzz(root: &Path, arguments: &[String]) -> ExitCode {
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--quiet", "--package", "ein-fuzz", "--"])
        .args(arguments)
        .current_dir(root)
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => report(&[format!("cargo could not be started: {error}")]),
    }
}
