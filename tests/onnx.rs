//! Some of ONNX's own conformance tests, written out beforehand by `tests/onnx/write_out.py`: each is
//! imported, checked, run on two engines and compared. `tests/onnx/run` runs all of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ein_driver::import::{ImportError, import};
use ein_driver::{Access, Engine, FileSources, Input, InputValue, Options, RunOptions, Session};
use serde_json::Value;

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("onnx/cases")
}

/// A new empty directory for one test.
fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("einlang-onnx-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).expect("as it was written out");
    path
}

/// Runs a program with inputs of one file and gives its outputs as JSON.
fn run(
    program: &Path,
    inputs: &[(String, PathBuf)],
    observe: Vec<String>,
    engine: Engine,
) -> Value {
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let options = RunOptions {
        inputs: inputs.iter().map(|(n, f)| (n.clone(), InputValue::File(f.clone()))).collect(),
        observe: Some(observe),
        report_outputs: true,
        engine,
        ..RunOptions::default()
    };
    let input = Input::File(program.to_owned());
    let report = session
        .run(&input, &options, Arc::new(AtomicBool::new(false)), &mut |_| {})
        .expect("as it was written out");
    assert!(
        !report.checked.has_errors(),
        "{}: {:?}",
        program.display(),
        report.checked.diagnostics
    );
    assert!(report.failure.is_none(), "{}: {:?}", program.display(), report.failure);
    let outputs = report
        .outputs
        .iter()
        .map(|(n, v)| (n.clone(), serde_json::from_str(v).expect("as it was written out")));
    Value::Object(outputs.collect())
}

/// Numbers in order; text stands for those that are not finite.
fn flat(value: &Value, out: &mut Vec<f64>) {
    match value {
        Value::Array(items) => items.iter().for_each(|it| flat(it, out)),
        Value::Bool(truth) => out.push(f64::from(u8::from(*truth))),
        Value::String(text) => out.push(text.parse().expect("as it was written out")),
        Value::Number(number) => out.push(number.as_f64().expect("as it was written out")),
        Value::Null | Value::Object(_) => panic!("no number: {value}"),
    }
}

/// One array of a file as a file of its own.
fn renamed(data: &Path, name: &str, to: &Path) -> PathBuf {
    let source = format!(
        "use std::io::{{load_safetensors, save_npy}};\nsave_npy({to:?}, load_safetensors({data:?}, {name:?}));\n"
    );
    let program = to.with_extension("ein");
    std::fs::write(&program, source).expect("as it was written out");
    let mut session = Session::new(Options::default(), FileSources::on_disk());
    let folder = |path: &Path| path.parent().expect("as it was written out").to_owned();
    let access = Access { read: vec![folder(data)], write: vec![folder(to)], sandbox: false };
    let options = RunOptions { access, engine: Engine::Eval, ..RunOptions::default() };
    let input = Input::File(program);
    let report = session
        .run(&input, &options, Arc::new(AtomicBool::new(false)), &mut |_| {})
        .expect("as it was written out");
    assert!(report.failure.is_none() && !report.checked.has_errors(), "{report:?}");
    to.to_owned()
}

#[test]
fn conformance_tests_pass() {
    let text = std::fs::read_to_string(cases().join("cases.json")).expect("as it was written out");
    let cases_json: Value = serde_json::from_str(&text).expect("as it was written out");
    let mut count = 0;
    for case in cases_json.as_array().expect("as it was written out") {
        let name = case["name"].as_str().expect("as it was written out");
        let here = folder(name);
        let data = cases().join(format!("{name}.safetensors"));
        let fixed: Vec<(String, PathBuf)> = case["constants"]
            .as_array()
            .expect("as it was written out")
            .iter()
            .map(|it| (it.as_str().expect("as it was written out").to_owned(), data.clone()))
            .collect();
        let summary = import(&cases().join(format!("{name}.onnx")), &here, &fixed, &[])
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        let mut inputs = Vec::new();
        let mut outputs = Vec::new();
        for line in summary.lines().map(str::trim) {
            if let Some(rest) = line.strip_prefix("input ") {
                let name = rest.split(':').next().expect("as it was written out").to_owned();
                // The array has the name of the graph, and the input that of the program.
                let source = line.rsplit('`').nth(1).expect("as it was written out");
                inputs.push((
                    name.clone(),
                    renamed(&data, source, &here.join(format!("{name}.npy"))),
                ));
            } else if let Some(rest) = line.strip_prefix("output ") {
                outputs.push(rest.split(':').next().expect("as it was written out").to_owned());
            }
        }
        for engine in [Engine::Eval, Engine::Jit] {
            let got = run(&here.join("model.ein"), &inputs, outputs.clone(), engine);
            for (out, expected) in
                outputs.iter().zip(case["outputs"].as_array().expect("as it was written out"))
            {
                let got = &got[out];
                assert_eq!(got["shape"], expected["shape"], "{name}: {out}");
                let (mut a, mut b) = (Vec::new(), Vec::new());
                flat(&got["data"], &mut a);
                flat(&expected["data"], &mut b);
                assert_eq!(a.len(), b.len(), "{name}: {out}");
                for (x, y) in a.iter().zip(&b) {
                    let near = x == y
                        || x.is_nan() && y.is_nan()
                        || (x - y).abs() <= 1e-6 + 1e-3 * y.abs();
                    assert!(near, "{name}, {engine:?}: {out} is {x} instead of {y}");
                }
            }
        }
        std::fs::remove_dir_all(&here).expect("as it was written out");
        count += 1;
    }
    assert!(count >= 30, "only {count} tests were found");
}

#[test]
fn what_cannot_be_imported_is_said_before_anything_is_written() {
    let here = folder("refused");
    let model = cases().join("refused.onnx");
    let Err(ImportError::Rejected(problems)) = import(&model, &here, &[], &[]) else {
        panic!("it was imported");
    };
    assert!(problems.iter().any(|it| it.contains("Frobnicate")), "{problems:?}");
    assert!(problems.iter().any(|it| it.contains("blocksize")), "{problems:?}");
    assert_eq!(std::fs::read_dir(&here).expect("as it was written out").count(), 0);
    std::fs::remove_dir_all(&here).expect("as it was written out");
}

#[test]
fn names_of_a_model_are_shown_and_not_obeyed() {
    let here = folder("obeyed");
    let mut bytes = std::fs::read(cases().join("test_add_bcast.onnx")).expect("as it was written");
    // A text of one letter, wherever it stands: the input `x`.
    for at in 0..bytes.len() - 2 {
        if bytes[at..].starts_with(b"\x0a\x01x") {
            bytes[at + 2] = 0x1b;
        }
    }
    let path = here.join("x.onnx");
    std::fs::write(&path, &bytes).expect("as it was written out");
    let summary = import(&path, &here, &[], &[]).expect("only a name has changed");
    assert!(summary.contains("\\u{1b}") && !summary.contains('\u{1b}'), "{summary:?}");
    std::fs::remove_dir_all(&here).expect("as it was written out");
}

#[test]
fn broken_files_are_refused() {
    let here = folder("broken");
    let whole = std::fs::read(cases().join("test_conv_with_strides_padding.onnx"))
        .expect("as it was written out");
    let path = here.join("x.onnx");
    for end in 0..whole.len() {
        std::fs::write(&path, &whole[..end]).expect("as it was written out");
        if let Err(ImportError::Bug(bug)) = import(&path, &here, &[], &[]) {
            panic!("cut off after {end} bytes: {bug:?}");
        }
    }
    // Each byte in turn is another one.
    for at in 0..whole.len() {
        for change in [1, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            std::fs::write(&path, &bytes).expect("as it was written out");
            if let Err(ImportError::Bug(bug)) = import(&path, &here, &[], &[]) {
                panic!("byte {at} changed by {change}: {bug:?}");
            }
        }
    }
    for (name, part) in [
        ("cycle", "circle"),
        ("huge", "bytes of data"),
        ("outside", "outside the model's folder"),
        ("twice", "two weights are called `w`"),
        ("mixed", "its inputs are of `f32` and of `i8`"),
        ("far", "has the extent 2199023255552"),
        ("wide", "it has 3000 inputs"),
    ] {
        let Err(ImportError::Rejected(problems)) =
            import(&cases().join(format!("{name}.onnx")), &here, &[], &[])
        else {
            panic!("{name} was imported");
        };
        assert!(problems.iter().any(|it| it.contains(part)), "{name}: {problems:?}");
    }
    std::fs::remove_dir_all(&here).expect("as it was written out");
}
