//! Progress on a terminal, and its absence elsewhere. The terminal is that of `script`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output, Stdio};

const PROGRAM: &str = "let seen = 1;\n\
    let slow = sum[i in 0..COUNT]((3 * i) % 7);\n\
    print(slow > 0);";

fn program(count: u64) -> String {
    PROGRAM.replace("COUNT", &count.to_string())
}

/// A count for which the evaluator takes about five seconds on this machine, as busy as it is now.
fn long() -> u64 {
    let started = std::time::Instant::now();
    let quick = Command::new(env!("CARGO_BIN_EXE_einlang"))
        .args(["run", "--engine", "eval", "-c", &program(4_000_000)])
        .output()
        .unwrap();
    assert!(quick.status.success());
    (5.0 / started.elapsed().as_secs_f64() * 4e6) as u64
}

fn on_terminal(directory: &std::path::Path, program: &str) -> Option<Output> {
    let file = directory.join("slow.ein");
    std::fs::write(&file, program).unwrap();
    let run = format!("'{}' run --engine eval '{}'", env!("CARGO_BIN_EXE_einlang"), file.display());
    let mut script = Command::new("script");
    script.args(["-qec", &run, "/dev/null"]).env("TERM", "xterm").stdin(Stdio::null());
    match script.output() {
        Ok(output) => Some(output),
        // A system without it has no terminal to offer.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_long_run_draws_a_line_and_wipes_it() {
    let directory = std::env::temp_dir().join(format!("ein-progress-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let Some(output) = on_terminal(&directory, &program(long())) else { return };
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(output.status.success(), "{shown}");
    let frames: Vec<&str> = shown.split("\r\u{1b}[K").collect();
    // Nothing before the first line, and something in between.
    assert_eq!(frames[0], "", "{shown:?}");
    assert!(frames.len() > 3, "{shown:?}");
    assert!(
        frames.iter().any(|it| it.starts_with("slow: ") && it.contains(" %, 0:0")),
        "{shown:?}"
    );
    assert!(frames.iter().any(|it| it.contains(" left")), "{shown:?}");
    // What is on the screen in the end: the answer alone. A line may have been drawn below it and wiped.
    let left = |line: &'_ str| line.rsplit("\r\u{1b}[K").next().unwrap_or("").to_owned();
    let screen: Vec<String> = shown.split("\r\n").map(left).collect();
    assert_eq!(screen, ["true", ""], "{shown:?}");
}

#[test]
fn nothing_is_drawn_elsewhere() {
    let output = Command::new(env!("CARGO_BIN_EXE_einlang"))
        .args(["run", "--engine", "eval", "-c", &program(long() / 2)])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "true\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
