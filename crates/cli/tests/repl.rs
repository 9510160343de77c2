//! The REPL through a pipe: entries in, answers out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

/// What standard output and standard error say to these entries.
fn answers(entries: impl AsRef<[u8]>) -> (String, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_einlang"))
        .arg("repl")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(entries.as_ref()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn values_of_expressions_are_shown() {
    let (out, err) = answers("1 + 2\nlet x = [1.0, 2.5];\nx\n\"text\"\nx[0] > 1.0;\n(1, \"a\")");
    assert_eq!((out.as_str(), err.as_str()), ("3\n[1.0, 2.5]\ntext\nfalse\n(1, \"a\")\n", ""));
}

#[test]
fn nothing_is_shown_twice() {
    let (out, _) =
        answers("print(\"once\")\nlet x = { print(\"made\"); 7 };\nx\nx + 1\nprint(x)\n");
    assert_eq!(out, "once\nmade\n7\n8\n7\n");
    let (out, _) = answers("let a = { print(\"one\"); 1 }; print(\"two\")\na\n");
    assert_eq!(out, "one\ntwo\n1\n");
}

#[test]
fn entries_run_once() {
    let directory = std::env::temp_dir().join(format!("ein-repl-once-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("there");
    std::fs::write(&file, "").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_einlang"))
        .arg("repl")
        .current_dir(&directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut entries = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut ask = |entry: &str| {
        writeln!(entries, "{entry}").unwrap();
        answers.next().unwrap().unwrap()
    };
    assert_eq!(ask("let seen = std::io::file_exists(\"there\"); seen"), "true");
    assert_eq!(ask("fn f(x) { if seen { x } else { 0 } }\nf(1)"), "1");
    std::fs::remove_file(&file).unwrap();
    // What was seen stays seen, also for functions,
    assert_eq!(ask("seen"), "true");
    assert_eq!(ask("let more = [seen, seen];\nf(2)"), "2");
    assert_eq!(ask("more"), "[true, true]");
    // until what was entered before means something else.
    assert_eq!(ask("fn f(x) { if seen { x } else { 5 } }\nseen"), "false");
    assert_eq!(ask("f(2)"), "5");
    drop(entries);
    assert!(child.wait().unwrap().success());
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn values_of_every_kind_are_kept() {
    let (out, err) = answers(
        "struct P { x: i32, y: [f32; 2] }\nlet p = P { x: 1, y: [1.5, 2.5] };\n\
         let f = |x| x + 1;\nlet (a, b) = (f(1), \"b\");\nenum E { A, B(i32) }\n\
         let e = E::B(7);\np.y[1]\nf(a)\nb\ne\nlet q = P { x: p.x + 1, y: p.y };\nq.x\n\
         let rows: jagged[i32] = [[1], [2, 3]];\nuse std::math::sqrt;\n\
         let o = Some(sqrt(4.0));\no\nrows\n(p.x, e)\n\
         let z = a as f32;\nlet cube = z * z * z;\n@cube / @z\n",
    );
    let expected =
        ["2.5", "3", "b", "B(7)", "2", "Some(2.0)", "[[1],", " [2, 3]]", "(1, B(7))", "12.0"];
    assert_eq!((out.lines().collect::<Vec<_>>(), err.as_str()), (expected.to_vec(), ""));
}

#[test]
fn plans_are_shown() {
    let (out, err) = answers(
        "let a[i in 0..64, k in 0..64] = (i + k) as f32;\n\
         :plan let c[i, j] = sum[k](a[i, k] * a[k, j]);\n:plan 1 + 1\n:plan nope\n:plan\n:type c\n",
    );
    assert!(out.contains("gemm") || out.contains("for "), "{out}");
    assert!(out.contains("no loops"), "{out}");
    assert!(err.contains("`:plan` needs") && err.matches("error[E0201]").count() == 2, "{err}");
}

#[test]
fn an_open_bracket_goes_on_in_the_next_line() {
    let (out, err) =
        answers("fn f(x) {\n    let y = [\n        x,\n    ];\n    y[0] + 1\n}\nf(\n1\n)\n");
    assert_eq!((out.as_str(), err.as_str()), ("2\n", ""));
    // An empty line ends it, and so does the end of the input.
    let (out, err) = answers("f(1,\n\n1 + 1\n[1, 2");
    assert_eq!(out, "2\n");
    assert_eq!(err.matches("error[E01").count(), 2, "{err}");
}

#[test]
fn the_last_semicolon_may_be_left_out() {
    let entries = "let x = 3\nx + 1 // c\nlet y[i in 0..3] = i * x // why\ny\nlet z =\n4\nz +\n1\n\
                   use std::math::sqrt\nsqrt(4.0)\nconst K: i32 = 3\nK\n";
    let (out, err) = answers(entries);
    assert_eq!((out.as_str(), err.as_str()), ("4\n[0, 3, 6]\n5\n2.0\n3\n", ""));
    assert!(answers("let x = 1\nx y\n").1.contains("E0101"));
}

#[test]
fn mistakes_leave_everything_as_it_was() {
    let (out, err) =
        answers("let x = 1;\nlet x = nope;\nx\nlet y = 1 / 0;\nlet x = 5; let z = 1 / 0;\nx\ny\n");
    assert_eq!(out, "1\n1\n");
    assert_eq!(err.matches("error[E0201]").count(), 2, "{err}");
    assert_eq!(err.matches("error[E08").count(), 2, "{err}");
}

#[test]
fn clauses_grow_and_items_are_replaced() {
    let (out, _) = answers("let h[0] = 1;\nlet h[t in 1..4] = 2 * h[t - 1];\nh\n");
    assert_eq!(out, "[1, 2, 4, 8]\n");
    let (out, err) = answers("fn f(x) { x + 1 }\nlet a = f(1);\nfn f(x) { x + 10 }\nf(1)\na\n");
    assert_eq!((out.as_str(), err.as_str()), ("11\n11\n", ""));
}

#[test]
fn types_layouts_and_times_are_told() {
    let (out, err) = answers(
        "let m[row in 0..2, col in 0..3] = 1.5;\n:type m\n:type 1 + 1\n:layout m\n:layout none\n\
         :type nope\n:time sum[row, col](m[row, col])\n:time\n:nonsense\n:help\n",
    );
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[..4], ["[f32; row: 2, col: 3]", "i32", "row: 2, col: 3", "9.0"], "{out}");
    assert!(lines[4].starts_with("check ") && lines[4].contains("ms, run "), "{out}");
    assert!(out.contains(":load FILE"), "{out}");
    for text in ["no binding `none`", "error[E0201]", "`:time` needs", "no command `:nonsense`"] {
        assert!(err.contains(text), "{text}: {err}");
    }
}

#[test]
fn files_are_loaded() {
    let path = std::env::temp_dir().join(format!("ein-repl-{}.ein", std::process::id()));
    std::fs::write(&path, "let loaded = 40;\nfn two() { 2 }\nprint(\"hello\");\n").unwrap();
    let shown = path.display();
    let (out, err) =
        answers(format!(":load {shown}\nloaded + two()\n:load no-such-file.ein\n:quit\n1"));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(out, "hello\n42\n");
    assert!(err.contains("`no-such-file.ein` cannot be read"), "{err}");
}

#[test]
fn no_input_breaks_it() {
    let entries: &[&[u8]] = &[
        b"\xff\xfe\n1\n",
        b")\n]\n}\n",
        b"let\nlet =\nlet x\n= 1\n",
        b"\"{\n\"{x\n\n",
        b"/* open\nstill */ 1\n",
        b":\n: \n:type )\n:time let x = 1;\n:layout 1\n",
        b"fn f() { f() }\nf()\n",
        b"where\nx where\n1;;2\n;\n",
        b"let __value__ = 3;\n__value__\n",
        b"mod m;\nuse nope::*;\ntest \"t\" { }\n",
        b"\0\n\r\n\t\n",
        b"",
    ];
    for entry in entries {
        let (_, err) = answers(entry);
        let shown = String::from_utf8_lossy(entry);
        assert!(!err.contains("internal error") && !err.contains("panicked"), "{shown}: {err}");
    }
    let deep = format!("{}1{}\n", "(".repeat(5000), ")".repeat(5000));
    assert!(!answers(deep).1.contains("internal error"));
}
