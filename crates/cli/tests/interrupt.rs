//! Ctrl-C while a program runs: it stops, what it computed is kept, and the exit code says so.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn an_interrupted_program_keeps_its_outputs() {
    let program = "let a = [1, 2];\n\
        print(\"started\");\n\
        let s = sum[i in 0..2000000000]((3 * i) % 7);";
    let mut child = Command::new(env!("CARGO_BIN_EXE_einlang"))
        .args(["run", "--outputs", "json", "--time", "-c", program])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, "started\n");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{err}");
    let kept = r#"{"outputs": {"a": {"dtype": "i32", "shape": [2], "data": [1, 2]}}}"#;
    assert_eq!(rest.trim_end(), kept);
    assert!(err.contains("check ") && err.contains("run "), "{err}");
}

/// A loop that never ends, one that another thread of the kernel runs, and steps in order.
const LONG: [&str; 3] = [
    "fn go(n: i32) -> i32 { if n == 0 { 1 } else { go(n % 7 + 1) } }\nprint(go(3));",
    "fn go(n: i32) -> i32 { if n == 0 { 1 } else { go(n % 7 + 1) } }\n\
     let a[i in 0..1000] = go(i); print(a[0]);",
    "let x[0] = 1.0; let x[t in 1..200000000] = std::math::sin(x[t - 1]) + 0.5;\n\
     print(x[199999999]);",
];

#[test]
fn every_engine_ends_long_loops_when_it_is_asked() {
    for (program, engine) in LONG.iter().flat_map(|it| ["eval", "jit", "native"].map(|e| (it, e))) {
        let program = format!("let a0 = [1, 2];\nprint(\"started\");\n{program}");
        let mut child = Command::new(env!("CARGO_BIN_EXE_einlang"))
            .args(["run", "--engine", engine, "-c", &program])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut String::new()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        let asked = Instant::now();
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{engine}\n{program}");
        // A second, and what a loaded machine takes.
        assert!(asked.elapsed() < Duration::from_secs(5), "{engine}\n{program}");
    }
}
