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
        (vec!["--help"], "  run "),
        (vec!["--help"], "  test "),
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

#[test]
fn dump_ir_shows_programs_that_are_accepted() {
    let place = Place::new("ir");
    place
        .file("good.ein", "let a = [1, 2];\nlet b[i] = a[i] * 2;\n")
        .file("bad.ein", "let x = y;\n");
    let (code, out, err) = place.run(&["dump", "ir", "good.ein"]);
    assert_eq!((code, err.as_str()), (0, ""));
    assert!(out.contains("def b shape(2) : [i32; i: 2] {"), "{out}");
    let (code, out, err) = place.run(&["dump", "ir", "bad.ein"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(err.contains("E0201"), "{err}");
}

#[test]
fn check_lists_facts_bounds_and_broadcasts() {
    let place = Place::new("facts");
    let text = "let a = [1.0, 2.0];\nlet w = [[1.0, 2.0]];\nlet k = 1;\n\
                let b[i, j] = w[i, j] * a[j];\nlet c = a[k];\n";
    place.file("p.ein", text);
    let (code, out, err) = place.run(&["check", "p.ein", "--facts", "json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let start = r#"{"facts":{"bindings":{"a":{"type":"[f32; 2]","layout":[null],"shape":[2]}"#;
    assert!(out.starts_with(start) && out.lines().count() == 1, "{out}");
    let read = r#"{"tensor":"a","file":"p.ein","line":4,"column":27,"axis":0,"verdict":"proved"}"#;
    assert!(out.contains(read), "{out}");

    let (_, out, _) = place.run(&["check", "p.ein", "--bounds"]);
    assert!(out.contains("proved   p.ein:4:27: axis 0 of `a`\n"), "{out}");
    assert!(out.contains(" proved, ") && out.contains(" refuted\n"), "{out}");
    let (_, out, _) = place.run(&["check", "p.ein", "--bounds", "--message-format", "json"]);
    assert!(out.starts_with(r#"{"bounds":[{"tensor":"#), "{out}");

    let (_, out, _) = place.run(&["check", "p.ein", "--broadcasts"]);
    assert!(out.contains("`a` is repeated along `i`"), "{out}");
    let json = ["check", "p.ein", "--broadcasts", "--message-format", "json"];
    let (_, out, _) = place.run(&json);
    assert!(out.starts_with(r#"{"broadcasts":[{"operand":"a","along":["i"]"#), "{out}");
}

#[test]
fn facts_say_why_recursion_ends() {
    let place = Place::new("recursion");
    let text = "fn total(v: [f32; ?n]) -> f32 {\n    \
                if ?n == 0 { 0.0 } else { first[#0](v) + total(rest[#0](v)) }\n}\n\
                fn halves(v: [f32; ?n]) -> f32 {\n    \
                if ?n <= 1 { 0.0 } else { halves(take[#0](v, ?n / 2)) + halves(drop[#0](v, ?n / 2)) }\n}\n\
                fn merged(a: [f32; ?m], b: [f32; ?n]) -> f32 {\n    \
                if ?m == 0 || ?n == 0 { 0.0 }\n    \
                else if a[0] < b[0] { a[0] + merged(rest[#0](a), b) }\n    \
                else { b[0] + merged(a, rest[#0](b)) }\n}\n\
                fn power(b: i32, n: i32) -> i32 { if n <= 0 { 1 } else { b * power(b, n - 1) } }\n\
                let x = [1.0, 2.0];\nlet y = total(x) + halves(x) + merged(x, x);\nlet z = power(2, 3);\n";
    place.file("p.ein", text);
    let (code, out, err) = place.run(&["check", "p.ein", "--facts", "json"]);
    assert_eq!((code, err.as_str()), (0, ""));
    for (name, why) in [
        ("total", "`n` falls by 1 at every call"),
        ("halves", "`n` falls at every call"),
        ("merged", "`m + n` falls by 1 or more at every call"),
    ] {
        let fact = format!(r#""{name}":{{"recursion":"{why}"}}"#);
        assert!(out.contains(&fact), "{name}: {out}");
    }
    assert!(!out.contains(r#""power":"#), "{out}");
}

#[test]
fn test_runs_blocks_and_examples() {
    let place = Place::new("test");
    let good = "//! ```einlang\n//! use good::twice;\n//! assert(twice(2) == 4);\n//! ```\n\
                pub fn twice(x: i32) -> i32 { 2 * x }\n\
                test \"doubles\" { print(\"quiet\"); assert(twice(3) == 6); }\n";
    place.file("good.ein", good);
    let (code, out, err) = place.run(&["test", "good.ein"]);
    let lines =
        "ok     good.ein: doubles\nok     good.ein: example at line 2\n2 passed, 0 failed\n";
    assert_eq!((code, out.as_str(), err.as_str()), (0, lines, ""));

    let bad = "test \"fails\" { print(\"loud\"); assert(1 == 2); }\n\
               /// ```einlang\n/// let x = 1 / 0;\n/// ```\nfn f() { 1 }\n";
    place.file("bad.ein", bad);
    let (code, out, err) = place.run(&["test"]);
    assert_eq!(code, 2, "{out}{err}");
    assert!(out.contains("FAILED ./bad.ein: fails\n"), "{out}");
    assert!(out.contains("FAILED ./bad.ein: example at line 3\n"), "{out}");
    assert!(out.ends_with("2 passed, 2 failed\n"), "{out}");
    assert!(err.contains("loud") && !err.contains("quiet"), "{err}");
    assert!(err.contains("bad.ein:3:"), "{err}");

    let program = "use good::twice;\nprint(\"once\");\nlet four = twice(2);\n\
                   /// Before.\n/// ```einlang\n/// let four = secret(four);\n\
                   /// assert(four == 5);\n/// ```\n/// After.\nfn secret(x: i32) -> i32 { x + 1 }\n\
                   /// ```einlang\n/// assert(secrt(1) == 2);\n/// ```\nconst K: i32 = 1;\n\
                   test \"first\" { assert(four == 5); }\ntest \"second\" { assert(four == 4); }\n";
    place.file("program.ein", program);
    let (code, out, err) = place.run(&["test", "program.ein", "./program.ein", "program.ein"]);
    let lines = "ok     program.ein: example at line 6\nFAILED program.ein: first\n\
                 ok     program.ein: second\nFAILED program.ein: example at line 12\n\
                 2 passed, 2 failed\n";
    assert_eq!((code, out.as_str()), (2, lines), "{err}");
    assert_eq!(err.matches("once").count(), 1, "{err}");
    assert!(err.contains("program.ein:12:12") && err.contains("did you mean `secret`?"), "{err}");

    place.file("wrong.ein", "let x = y;\n");
    assert_eq!(place.run(&["test", "wrong.ein"]).0, 1);
    assert_eq!(place.run(&["test", "gone.ein"]).0, 1);
}

#[test]
fn a_new_project_checks_tests_and_runs() {
    let place = Place::new("new");
    let (code, out, err) = place.run(&["new", "fit"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    assert_eq!(
        place.run(&["check", "fit/main.ein", "fit/line.ein"]),
        (0, String::new(), String::new())
    );
    assert_eq!(place.run(&["fmt", "--check", "fit"]).0, 0);
    let (code, out, _) = place.run(&["run", "fit/main.ein"]);
    assert!(code == 0 && out.starts_with("slope 1.990, offset 1.040\n"), "{out}");
    let points = ["run", "fit/main.ein", "--input", "points=fit/data/points.csv"];
    assert!(place.run(&points).1.starts_with("slope -0.4"), "{out}");
    let (code, out, _) = place.run(&["test", "fit"]);
    assert!(code == 0 && out.ends_with("2 passed, 0 failed\n"), "{out}");
    let (code, _, err) = place.run(&["new", "fit"]);
    assert!(code == 1 && err.contains("is there already"), "{err}");
}

#[test]
fn warnings_can_be_allowed() {
    let place = Place::new("allow");
    place.file("w.ein", "use std::math::{cos, exp, sin};\nprint(sin(0.0));\n");
    let (code, _, err) = place.run(&["check", "w.ein"]);
    assert!(code == 0 && err.contains("`cos` and `exp` are imported and never used"), "{err}");
    assert!(err.contains("1 warning;"), "{err}");
    let none = (0, String::new(), String::new());
    assert_eq!(place.run(&["check", "w.ein", "--allow", "W0102"]), none);
    assert_eq!(
        place.run(&["run", "w.ein", "--allow", "W0102"]),
        (0, "0.0\n".into(), String::new())
    );
    assert_eq!(place.run(&["check", "w.ein", "--allow", "E0201"]).0, 3);
    assert_eq!(place.run(&["check", "w.ein", "--allow", "W9999"]).0, 3);
    place.file("w.ein", "// allow W0102\nuse std::math::{cos, exp, sin};\nprint(sin(0.0));\n");
    assert_eq!(place.run(&["check", "w.ein"]), none);
}

#[test]
fn doc_writes_pages() {
    let place = Place::new("doc");
    place.file("shapes.ein", "/// The area.\npub fn area(a: f32, b: f32) -> f32 { a * b }\n");
    let (code, out, err) = place.run(&["doc", "shapes.ein", "-o", "pages"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    let page = fs::read_to_string(place.0.join("pages/shapes.html")).expect("a page");
    assert!(page.contains("The area."), "{page}");
    place.file("wrong.ein", "fn (");
    assert_eq!(place.run(&["doc", "wrong.ein", "-o", "pages"]).0, 1);
    assert_eq!(place.run(&["doc", "-o", "library"]).0, 0);
}

#[test]
fn outputs_are_json_whatever_a_tuple_holds() {
    let place = Place::new("parts");
    let program = "let t = (1, (), |x| x + 1);\nlet f = |x| x + 1;\nlet u = [((), 2)];\n";
    place.file("parts.ein", program);
    let (code, out, err) = place.run(&["run", "parts.ein", "--outputs", "json"]);
    let one = r#"{"dtype": "i32", "shape": [], "data": 1}"#;
    let two = r#"{"dtype": "i32", "shape": [], "data": 2}"#;
    let unit = r#"{"dtype": "()", "shape": [], "data": null}"#;
    let function = r#"{"dtype": "function"}"#;
    let t = format!(r#"{{"dtype": "tuple", "items": [{one}, {unit}, {function}]}}"#);
    let item = format!(r#"{{"dtype": "tuple", "items": [{unit}, {two}]}}"#);
    let u = format!(r#"{{"dtype": "tuple", "shape": [1], "data": [{item}]}}"#);
    let line = format!("{{\"outputs\": {{\"t\": {t}, \"u\": {u}}}}}\n");
    assert_eq!((code, out, err.as_str()), (0, line, ""));
}

#[test]
fn names_given_with_the_command_must_be_known() {
    let place = Place::new("unknown-names");
    place.file("p.ein", "let rate: f32 = input();\nlet power = 2.0;\nlet x[i in 0..2] = rate;\n");
    let fails = |arguments: &[&str], expected: &[&str]| {
        let given = [&["run", "p.ein", "--input", "rate=1.5"], arguments].concat();
        let (code, _, err) = place.run(&given);
        assert_eq!(code, 2, "{err}");
        for text in expected {
            assert!(err.contains(text), "{err}");
        }
    };
    fails(&["--input", "pwer=3.0"], &["E0901", "no input `pwer`", "did you mean `power`?"]);
    fails(&["--input", "x=x.npy"], &["E0901", "no input `x`", "`let x: TYPE = input();`"]);
    fails(&["--input", "zebra=1"], &["its inputs are rate", "declare it"]);
    fails(&["--observe", "powr"], &["no output `powr`", "did you mean `power`?"]);
    let good =
        ["run", "p.ein", "--input", "rate=1.5", "--input", "power=3.0", "--observe", "power"];
    assert_eq!(place.run(&good).0, 0);
}
