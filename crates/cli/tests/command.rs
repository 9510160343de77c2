//! The command as a user meets it: what it prints where, and how it ends.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A directory of its own for a test, removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("ein-command-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn file(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        fs::write(self.0.join(name), text).unwrap();
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_einlang"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        answer(self.command(arguments).output().unwrap())
    }

    fn run_with(&self, arguments: &[&str], input: &str) -> (i32, String, String) {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        answer(child.wait_with_output().unwrap())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn answer(output: Output) -> (i32, String, String) {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn check_says_nothing_about_a_good_program() {
    let place = Place::new("good");
    place.file("good.ein", "let x = 1 + 2;\n");
    assert_eq!(place.run(&["check", "good.ein"]), (0, String::new(), String::new()));
    let json = place.run(&["check", "good.ein", "--message-format", "json"]);
    assert_eq!(json, (0, String::new(), String::new()));
    assert_eq!(place.run_with(&["check", "-"], "let x = 1;").0, 0);
}

#[test]
fn check_rejects_a_bad_program() {
    let place = Place::new("bad");
    place.file("bad.ein", "let x = ;\n").file("good.ein", "let x = 1;\n");
    let (code, out, err) = place.run(&["check", "good.ein", "bad.ein"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("error[E01") && err.contains("--> bad.ein:1:"), "{err}");
    assert!(err.contains("\n1 error; `einlang explain E01"), "{err}");
    assert!(!err.contains('\u{1b}'), "no colours in a pipe");

    let (code, out, err) = place.run(&["check", "bad.ein", "--message-format", "json"]);
    assert_eq!((code, err.as_str()), (1, ""));
    assert!(out.starts_with(r#"{"severity":"error","code":"E01"#), "{out}");
}

#[test]
fn sources_that_cannot_be_read_are_diagnostics() {
    let place = Place::new("unreadable");
    place.file("latin.ein", b"let x = \"\xe9\";");
    for (path, why) in [("gone.ein", "no such file"), (".", "directory"), ("latin.ein", "UTF-8")] {
        let (code, _, err) = place.run(&["check", path]);
        assert_eq!(code, 1, "{err}");
        assert!(err.contains("error[E0210]") && err.contains(why) && err.contains(path), "{err}");
    }
}

#[test]
fn wrong_use_is_exit_code_3() {
    let place = Place::new("wrong");
    let wrong: [&[&str]; 7] = [
        &[],
        &["check"],
        &["check", "a.ein", "--nope"],
        &["check", "a.ein", "--message-format", "xml"],
        &["explain", "E9999"],
        &["explain"],
        &["chek", "a.ein"],
    ];
    for arguments in wrong {
        let (code, out, err) = place.run(arguments);
        assert_eq!((code, out.as_str()), (3, ""), "{arguments:?}");
        assert!(!err.is_empty());
    }
    assert!(place.run(&["chek", "a.ein"]).2.contains("'check'"));
    assert!(place.run(&["explain", "E0299"]).2.contains("E0201"));
}

#[test]
fn help_version_pages_and_completions_go_to_standard_output() {
    let place = Place::new("help");
    for (arguments, expected) in [
        (vec!["--help"], "Usage"),
        (vec!["--version"], "einlang "),
        (vec!["check", "--help"], "FILE"),
        (vec!["explain", "e0201"], "E0201: unknown name"),
        (vec!["explain", "--list"], "E0104  a bracket is not closed"),
        (vec!["completions", "bash"], "complete -F"),
    ] {
        let (code, out, err) = place.run(&arguments);
        assert_eq!((code, err.as_str()), (0, ""), "{arguments:?}");
        assert!(out.contains(expected), "{arguments:?}: {out}");
    }
}

#[test]
fn fmt_formats_lists_and_leaves_alone() {
    let place = Place::new("fmt");
    place.file("a.ein", "let  x=1 ;\n").file("b.ein", "let y = 2;\n").file("notes.txt", "x  y");
    let (code, out, _) = place.run(&["fmt", "--check", "."]);
    assert_eq!((code, out.trim_end().trim_start_matches("./")), (1, "a.ein"));
    assert_eq!(fs::read_to_string(place.0.join("a.ein")).unwrap(), "let  x=1 ;\n");

    assert_eq!(place.run(&["fmt", "."]), (0, String::new(), String::new()));
    assert_eq!(fs::read_to_string(place.0.join("a.ein")).unwrap(), "let x = 1;\n");
    assert_eq!(fs::read_dir(&place.0).unwrap().count(), 3);
    assert_eq!(place.run(&["fmt", "--check", "."]).0, 0);

    let formatted = place.run_with(&["fmt", "-"], "let  z=3;");
    assert_eq!(formatted, (0, "let z = 3;\n".into(), String::new()));
    assert_eq!(place.run_with(&["fmt", "-"], "let = ;").0, 1);
    assert_eq!(place.run(&["fmt", "gone.ein"]).0, 1);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let place = Place::new("pipe");
    let mut child = place.command(&["explain", "--list"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
