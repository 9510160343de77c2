//! Engines that cannot work, and what they leave to the evaluator: nothing happens in silence.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

fn einlang(arguments: &[&str], compiler: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_einlang"));
    command.args(arguments);
    if let Some(compiler) = compiler {
        command.env("CC", compiler);
    }
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const PROGRAM: &str = "print(\"begin\");\nlet x[i in 0..1000] = i as f64;\n\
                       let s = sum[i](x[i] * x[i]);\nprint(s);";

#[test]
fn a_missing_compiler_ends_a_run_where_it_is_needed() {
    let run = einlang(&["run", "--engine", "native", "-c", PROGRAM], Some("no-such-compiler"));
    assert_eq!(run.status.code(), Some(2));
    assert_eq!(text(&run.stdout), "begin\n");
    let err = text(&run.stderr);
    assert!(err.contains("error[E0810]") && err.contains("<command line>:2:1"), "{err}");
}

#[test]
fn a_missing_compiler_gives_no_figures() {
    let arguments = ["bench", "--engine", "native", "--json", "--runs", "1", "-c", PROGRAM];
    let bench = einlang(&arguments, Some("no-such-compiler"));
    assert_eq!(bench.status.code(), Some(2), "{}", text(&bench.stdout));
    assert_eq!(text(&bench.stdout), "");
    assert!(text(&bench.stderr).contains("error[E0810]"));
}

/// Much work by the look of it, so that the system's compiler is chosen: no two cells are equal, which only
/// a run knows.
const MUCH: &str = "\
let a[i in 0..10000] = (i * 2) % 1000;
let b[i in 0..10000] = (i * 2 + 1) % 1000;
let s = sum[i](if a[i] == b[i] { max[j in 0..3000000]((i * 3 + j) % 1000) } else { 1 });
print(s);
";

#[test]
fn without_a_compiler_auto_takes_the_other_engine() {
    let run = einlang(&["run", "-c", MUCH], Some("no-such-compiler"));
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    assert_eq!(text(&run.stdout), "10000\n");
}

/// How many libraries a run with `auto` has built.
fn built(arguments: &[&str], folder: &str) -> usize {
    let cache = std::env::temp_dir().join(format!("ein-built-{folder}-{}", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_einlang"));
    command.arg("run").args(arguments).env("EINLANG_CACHE", &cache);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{arguments:?}\n{}", text(&output.stderr));
    let count = std::fs::read_dir(&cache).map_or(0, Iterator::count);
    let _ = std::fs::remove_dir_all(&cache);
    count
}

/// These take a fraction of a second, which is less than the compiler takes.
#[test]
fn auto_takes_the_compiler_for_long_work_alone() {
    if Command::new("cc").arg("--version").output().is_err() {
        eprintln!("skipped: there is no C compiler");
        return;
    }
    assert_eq!(built(&["-c", MUCH], "much"), 1);
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");
    for name in ["options", "conjugate_gradients", "hmc", "ising", "kalman", "wave"] {
        assert_eq!(built(&[&format!("{examples}/{name}.ein")], name), 0, "{name}");
    }
}

#[test]
fn what_is_evaluated_is_listed_with_its_reason() {
    // A number decides how deep the recursion goes.
    let program = "fn down(n: i32, v: [f32; ?m]) -> f32 {\n\
                   if n <= 1 { v[0] } else { down(n - 1, v) + sum[i](v[i]) }\n}\n\
                   let v[i in 0..200] = i as f32;\nlet d = down(200, v);\nprint(d);";
    let run = einlang(&["run", "--engine", "jit", "--time", "-c", program], None);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
    let err = text(&run.stderr);
    let listed: Vec<&str> = err.lines().filter(|line| line.starts_with("evaluated ")).collect();
    assert!(!listed.is_empty(), "{err}");
    assert!(listed.iter().all(|line| line.contains("<command line>:")), "{err}");
}

#[test]
fn a_kernel_is_used_only_for_the_shapes_it_was_made_for() {
    // The array is not read, only its length; each call has another.
    let program = "fn triangle(v: [f32; ?n]) -> i32 { sum[i in 0..len(v)](i) }\n\
                   fn main() {\n\
                   let a[i in 0..10] = 1.0;\n\
                   let b[i in 0..20] = 1.0;\n\
                   print(triangle(a), triangle(b), triangle(a));\n}";
    for engine in ["eval", "jit", "native"] {
        let run = einlang(&["run", "--engine", engine, "-c", program], None);
        assert_eq!(text(&run.stdout), "45 190 45\n", "{engine}: {}", text(&run.stderr));
    }
}
