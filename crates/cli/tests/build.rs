//! `einlang build`: what it makes can be compiled, linked and called, and gives what a run gives.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A directory of its own for a test, removed at the end.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("ein-build-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.0.join(name), bytes).unwrap();
    }

    fn has(&self, name: &str) -> bool {
        self.0.join(name).is_file()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.0.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Runs a program here: its status, and both of its streams.
    fn run(&self, program: impl AsRef<Path>, arguments: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(program.as_ref());
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn einlang(&self, arguments: &[&str]) -> (i32, String, String) {
        self.run(env!("CARGO_BIN_EXE_einlang"), arguments)
    }

    /// Runs `einlang`, which has nothing to say.
    fn silently(&self, arguments: &[&str]) {
        assert_eq!(self.einlang(arguments), (0, String::new(), String::new()), "{arguments:?}");
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The C compiler that `einlang` would find; without one a test says that it did nothing.
fn compiler() -> Option<&'static str> {
    let works = |program: &&str| {
        let mut command = Command::new(program);
        command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let found = ["cc", "gcc", "clang"].into_iter().find(|it| works(it));
    if found.is_none() {
        eprintln!("skipped: there is no C compiler (cc, gcc, clang)");
    }
    found
}

/// An array as a `.npy` file.
fn npy(descr: &str, shape: &str, elements: &[u8]) -> Vec<u8> {
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.extend(elements);
    bytes
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    values.into_iter().flat_map(f32::to_le_bytes).collect()
}

/// Numbers without a pattern that a mistake could keep.
fn some(count: usize, seed: u32) -> Vec<u8> {
    let mut state = seed;
    floats((0..count).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    }))
}

/// Compares two `.npy` files of `f32`: the same header, and elements that agree.
fn close(found: &[u8], expected: &[u8], what: &str) {
    let start = 10 + usize::from(u16::from_le_bytes([expected[8], expected[9]]));
    let text = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..start]).into_owned();
    assert_eq!(text(found), text(expected), "{what}");
    assert_eq!(found.len(), expected.len(), "{what}");
    let numbers = |bytes: &[u8]| -> Vec<f32> {
        let groups = bytes[start..].as_chunks::<4>().0;
        groups.iter().map(|it| f32::from_le_bytes(*it)).collect()
    };
    for (at, (x, y)) in numbers(found).iter().zip(numbers(expected)).enumerate() {
        assert!((x - y).abs() <= 1e-5 * (1.0 + y.abs()), "{what}[{at}]: {x} instead of {y}");
    }
}

/// The example as its README builds it, and the output that stands there.
#[test]
fn the_example_links_a_library() {
    let Some(cc) = compiler() else { return };
    let place = Place::new("embed");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/embed");
    for file in ["classify.ein", "main.c"] {
        place.file(file, fs::read(example.join(file)).unwrap());
    }
    place.silently(&["build", "classify.ein", "--emit", "lib", "--observe", "probability,loss"]);
    let flags = ["-Wall", "-Wextra", "-Werror", "main.c", "-L.", "-lclassify", "-lm", "-o", "main"];
    assert_eq!(place.run(cc, &flags), (0, String::new(), String::new()));
    let readme = fs::read_to_string(example.join("README.md")).unwrap();
    let shown = readme.split("```text\n").nth(1).and_then(|it| it.split("```").next()).unwrap();
    let (code, out, err) = place.run(place.0.join("main"), &[]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, shown, ""));
}

/// The C file stands alone, also with threads, and C++ understands the header.
#[test]
fn c_needs_nothing_else() {
    let Some(cc) = compiler() else { return };
    let place = Place::new("alone");
    place.file("two-layers.ein", LAYERS);
    place.silently(&["build", "two-layers.ein", "--emit", "c"]);
    place.silently(&["build", "two-layers.ein", "--emit", "obj", "-o", "other.o"]);
    assert!(place.has("two_layers.c") && place.has("two_layers.h") && place.has("other.o"));
    let strict = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-O1", "-c"];
    let strict = [&strict[..], &["-Wno-unused-parameter"]].concat();
    for more in [&["two_layers.c"][..], &["-DEIN_THREADS=3", "-pthread", "two_layers.c"]] {
        let found = place.run(cc, &[&strict[..], more].concat());
        assert_eq!(found, (0, String::new(), String::new()));
    }
    let header = String::from_utf8(place.read("two_layers.h")).unwrap();
    assert!(header.contains("x        float[70][33]"), "{header}");
    assert!(header.contains("scale    float, one number"), "{header}");
    assert!(
        header.contains("int two_layers(const float *x,\n               const float *w,"),
        "{header}"
    );
}

const LAYERS: &str = "\
use std::math::tanh;
let x: [f32; 70, 33] = input();
let w: [f32; 33, 41] = input();
let v: [f32; 41, 5] = input();
let scale: f32 = input();
let offsets = [0.5, -1.0, 2.0, 0.0, 1.5, 1.0, -2.0, 3.0, 0.5, 1.0, -1.0, 2.0, 0.0, 1.5, 1.0, -2.0, 3.0];
let hidden[i, j] = tanh(sum[k](x[i, k] * w[k, j]) * scale);
let y[i, j] = sum[k](hidden[i, k] * v[k, j]);
let rows[i] = max[j](y[i, j]);
let total = sum[i](rows[i]) + sum[i](offsets[i]);
let run[0] = x[0, 0];
let run[t in 1..70] = 0.5 * run[t - 1] + x[t, 0];
let again = rows;
let half = 0.5;
";

/// A command gives what the evaluator gives.
#[test]
fn a_command_computes_what_a_run_computes() {
    if compiler().is_none() {
        return;
    }
    let place = Place::new("command");
    place.file("two-layers.ein", LAYERS);
    place.file("x.npy", npy("<f4", "70, 33", &some(70 * 33, 1)));
    place.file("w.npy", npy("<f4", "33, 41", &some(33 * 41, 2)));
    place.file("v.npy", npy("<f4", "41, 5", &some(41 * 5, 3)));
    place.file("scale.npy", npy("<f4", "", &floats([0.25])));
    let inputs = ["x.npy", "w.npy", "v.npy", "scale.npy"];

    let mut run = vec!["run", "two-layers.ein", "--engine", "eval", "--save", "expected"];
    run.extend(["--input", "x=x.npy", "--input", "w=w.npy", "--input", "v=v.npy"]);
    run.extend(["--input", "scale=scale.npy"]);
    place.silently(&run);

    place.silently(&["build", "two-layers.ein", "--emit", "exe", "-o", "layers"]);
    fs::create_dir(place.0.join("found")).unwrap();
    let arguments = [&inputs[..], &["-o", "found"]].concat();
    let done = place.run(place.0.join("layers"), &arguments);
    assert_eq!(done, (0, String::new(), String::new()));
    let names = ["offsets", "hidden", "y", "rows", "total", "run", "again", "half"];
    for name in names {
        let file = |folder: &str| place.read(&format!("{folder}/{name}.npy"));
        close(&file("found"), &file("expected"), name);
    }
    assert!(!place.has("found/x.npy"), "inputs are no outputs");

    // What it is given wrongly it refuses.
    place.file("short.npy", npy("<f4", "69, 33", &some(69 * 33, 1)));
    place.file("wide.npy", npy("<f8", "70, 33", &[0; 70 * 33 * 8]));
    place.file("cut.npy", npy("<f4", "70, 33", &some(70, 1)));
    for (file, message) in [
        ("short.npy", "it has another shape"),
        ("wide.npy", "its elements have another type"),
        ("cut.npy", "it ends early"),
        ("two-layers.ein", "it is not a .npy file"),
        ("none.npy", "it cannot be opened"),
    ] {
        let (code, out, err) = place.run(place.0.join("layers"), &[&[file], &inputs[1..]].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{file}");
        assert!(err.starts_with(&format!("two_layers: {file}: {message}\n")), "{err}");
    }
    let (code, _, err) = place.run(place.0.join("layers"), &inputs[1..]);
    assert_eq!(code, 3);
    assert!(err.starts_with("Usage: two_layers x.npy w.npy v.npy scale.npy [-o DIR]\n"), "{err}");
}

/// Threads give what one thread gives.
#[test]
fn threads_change_nothing() {
    let Some(cc) = compiler() else { return };
    let place = Place::new("threads");
    let program = "\
let x: [f64; 150, 70] = input();
let w: [f64; 70, 90] = input();
let y[i, j] = sum[k](x[i, k] * w[k, j]);
let z[i, j] = y[i, j] * y[i, j] / (1.0 + y[i, j] * y[i, j]);
";
    place.file("both.ein", program);
    place.file("main.c", THREADS);
    place.silently(&["build", "both.ein", "--emit", "c"]);
    let source = String::from_utf8(place.read("both.c")).unwrap();
    assert!(source.contains("rt->parallel(") && source.contains("rt->gemm_f64("), "{source}");
    let done = (0, String::new(), String::new());
    let many = ["-DEIN_THREADS=3", "-Dboth=many", "-O2", "-c", "both.c", "-o", "many.o"];
    assert_eq!(place.run(cc, &many), done);
    let all = ["-O2", "main.c", "both.c", "many.o", "-pthread", "-lm", "-o", "main"];
    assert_eq!(place.run(cc, &all), done);
    assert_eq!(place.run(place.0.join("main"), &[]), done);
}

const THREADS: &str = "
#include \"both.h\"
int many(const double *x, const double *w, double *y, double *z);
static double x[150 * 70], w[70 * 90], y[2][150 * 90], z[2][150 * 90];
int main(void) {
    for (int i = 0; i < 150 * 70; i++) x[i] = i * 37 % 101 - 50;
    for (int i = 0; i < 70 * 90; i++) w[i] = i * 53 % 97 - 48;
    if (both(x, w, y[0], z[0]) || many(x, w, y[1], z[1])) return 1;
    for (int i = 0; i < 150 * 90; i++) {
        double sum = 0;
        for (int k = 0; k < 70; k++) sum += x[i / 90 * 70 + k] * w[k * 90 + i % 90];
        if (y[0][i] != sum || y[1][i] != sum || z[0][i] != z[1][i]) return 2;
    }
    return 0;
}
";

/// A check that fails is reported, and nothing is written.
#[test]
fn a_failed_check_is_no_result() {
    if compiler().is_none() {
        return;
    }
    let place = Place::new("check");
    let program =
        "let at: [i32; 2] = input();\nlet table = [10, 20, 30];\nlet y[i] = table[at[i]];\n";
    place.file("pick.ein", program);
    let bytes = |values: [i32; 2]| values.map(i32::to_le_bytes).concat();
    place.file("good.npy", npy("<i4", "2,", &bytes([2, 0])));
    place.file("bad.npy", npy("<i4", "2,", &bytes([2, 3])));
    place.silently(&["build", "pick.ein", "--emit", "exe", "--observe", "y"]);
    let pick = place.0.join("pick");
    let (code, out, err) = place.run(&pick, &["bad.npy"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(err.contains("a check failed"), "{err}");
    assert!(!place.has("y.npy"));
    assert_eq!(place.run(&pick, &["good.npy"]), (0, String::new(), String::new()));
    assert_eq!(place.read("y.npy"), npy("<i4", "2,", &bytes([30, 10])));
}

/// Public functions are functions of C, beside the program or without it; their parameters and results
/// are taken apart.
#[test]
fn public_functions_are_built() {
    let Some(cc) = compiler() else { return };
    let place = Place::new("functions");
    place.file("model.ein", FUNCTIONS);
    place.file("call.c", CALLS);
    place.silently(&["build", "model.ein", "--emit", "c"]);
    let header = String::from_utf8(place.read("model.h")).unwrap();
    let layer =
        "int model_layer(const float *p_w, const float *p_b, const float *x, float *result);";
    assert!(header.contains(layer) && !header.contains("int model("), "{header}");
    for open in ["open", "hidden"] {
        assert!(!header.contains(open), "{header}");
    }
    let strict = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", "-O1"];
    let strict = [&strict[..], &["-Wno-unused-parameter", "call.c", "model.c", "-lm"]].concat();
    let made = place.run(cc, &[&strict[..], &["-o", "call"]].concat());
    assert_eq!(made, (0, String::new(), String::new()));
    let (code, out, _) = place.run(place.0.join("call"), &[]);
    let expected = "0 0.9 2.8\n0 3.25 -0.2 3.6\n0 1.414213562\n1\n";
    assert_eq!((code, out.as_str()), (0, expected));

    place.silently(&["build", "model.ein", "--emit", "obj", "--functions", "root,hidden"]);
    let header = String::from_utf8(place.read("model.h")).unwrap();
    assert!(header.contains("int model_root(") && header.contains("int model_hidden("), "{header}");
    assert!(!header.contains("int model_layer("), "{header}");
    place.file("both.ein", format!("{FUNCTIONS}let one[i in 0..3] = i;\n"));
    place.silently(&["build", "both.ein", "--emit", "c"]);
    let header = String::from_utf8(place.read("both.h")).unwrap();
    assert!(header.contains("int both(int32_t *one);"), "{header}");
    assert!(header.contains("int both_layer("), "{header}");
    let refused = |function: &str, parts: &[&str]| {
        let arguments = ["build", "model.ein", "--emit", "c", "--functions", function];
        let (code, _, err) = place.einlang(&arguments);
        assert_eq!(code, 1, "{err}");
        for part in parts {
            assert!(err.contains(part), "{part}\n{err}");
        }
    };
    refused("open", &["error[E0811]", "the shape of input `x` is not known", "model.ein:11:8"]);
    refused("nowhere", &["error[E0811]", "no function `nowhere`"]);
    place.file("says.ein", "pub fn says(x: f32) -> f32 {\n    print(x);\n    x\n}\n");
    let (code, _, err) = place.einlang(&["build", "says.ein", "--emit", "c"]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("says.ein:2:5") && err.contains("--functions"), "{err}");
}

const FUNCTIONS: &str = "\
struct P { w: [f32; out: 2, in: 3], b: [f32; out: 2] }
pub fn layer(p: P, x: [f32; in: 3]) -> [f32; out: 2] {
    let y[out] = max(0.0, sum[in](p.w[out, in] * x[in]) + p.b[out]);
    y
}
pub fn train(p: P, x: [f32; in: 3], t: [f32; out: 2]) -> (f32, P) {
    let y = layer(p, x);
    let loss = sum[out]((y[out] - t[out]) ** 2);
    (loss, @loss / @p)
}
pub fn open(x: [f32; ?n]) -> f32 { sum(x) }
fn hidden(n: i32, model: f64) -> f64 { model * n as f64 }
pub fn root(a: f64, result: f64) -> f64 {
    let x[0] = result;
    let x[n in 1..50] = 0.5 * (x[n - 1] + a / x[n - 1]) until x[n] == x[n - 1];
    x[extent(n) - 1]
}
pub fn quotient(pair: (i32, i32)) -> i32 { pair.0 / pair.1 }
";

const CALLS: &str = "\
#include \"model.h\"
#include <stdio.h>
int main(void) {
    float w[6] = {0.0f, 0.1f, 0.2f, 0.3f, 0.4f, 0.5f}, b[2] = {0.1f, 0.2f}, x[3] = {1, 2, 3};
    float y[2], t[2] = {1, 1}, loss, gw[6], gb[2];
    int code = model_layer(w, b, x, y);
    printf(\"%d %g %g\\n\", code, y[0], y[1]);
    code = model_train(w, b, x, t, &loss, gw, gb);
    printf(\"%d %g %g %g\\n\", code, loss, gw[0], gb[1]);
    double a = 2, start = 1, root;
    code = model_root(&a, &start, &root);
    printf(\"%d %.10g\\n\", code, root);
    int32_t over = 1, under = 0, quotient;
    printf(\"%d\\n\", model_quotient(&over, &under, &quotient));
    return 0;
}
";

/// What cannot be built is refused with its place.
#[test]
fn what_needs_a_run_is_refused() {
    let place = Place::new("refused");
    let check = |program: &str, more: &[&str], code: i32, parts: &[&str]| {
        place.file("p.ein", program);
        let arguments = [&["build", "p.ein", "--emit", "c"][..], more].concat();
        let (found, out, err) = place.einlang(&arguments);
        assert_eq!((found, out.as_str()), (code, ""), "{program}{err}");
        for part in parts {
            assert!(err.contains(part), "{program}{part}\n{err}");
        }
        assert!(!place.has("p.c") && !place.has("p.h"));
    };
    let open = "let x: [f32; ?] = input();\nlet y[i] = x[i] + 1.0;\n";
    check(open, &[], 1, &["error[E0811]", "the shape of input `x` is not known", "p.ein:1:8"]);
    let print = "let x: [f32; 4] = input();\nlet s = sum[i](x[i]);\nprint(s);\n";
    check(print, &[], 1, &["error[E0811]", "p.ein:3:1"]);
    let size = "let n: i32 = input();\nlet y[i in 0..n] = i;\n";
    check(size, &[], 1, &["error[E0811]", "a size that depends on data"]);
    let text = "let x: [f32; 4] = input();\nlet t = \"text\";\n";
    check(text, &[], 1, &["error[E0811]"]);
    check("let x: [f32; 4] = input();\n", &[], 1, &["error[E0811]", "no outputs"]);
    check("let x = ;\n", &[], 1, &["error[E01"]);
    let good = "let x: [f32; 4] = input();\nlet y[i] = x[i] + 1.0;\n";
    check(good, &["--observe", "z"], 2, &["error[E0901]", "no output `z`"]);
    check(good, &["-o", "nowhere/p.c"], 2, &["error[E0907]", "nowhere/p.c"]);
    let (code, _, err) = place.einlang(&["build", "p.ein"]);
    assert_eq!(code, 3, "{err}");
    let (code, _, err) = place.einlang(&["build", "p.ein", "--emit", "wasm"]);
    assert_eq!(code, 3, "{err}");
}
