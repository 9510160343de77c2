//! Ctrl-C while a program runs: it stops, what it computed is kept, and the exit code says so.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

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
