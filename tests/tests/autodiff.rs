//! Derivatives of generated programs: adjoints against tangents against central differences, second
//! derivatives against differences of first ones; and of every function of the library.
//!
//! `EINLANG_PROGRAMS=50000` runs more of them, `EINLANG_SEED=7` begins at another number.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ein_driver::render::Style;
use ein_driver::{Engine, FileSources, Input, Options, RunOptions, Session};
use ein_tests::seeds;
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

#[path = "autodiff/bands.rs"]
mod bands;
#[path = "autodiff/generate.rs"]
mod derivatives;

use derivatives::{Rng, STEP};

/// The outputs of a program, as flat lists of numbers.
fn outputs(text: &str) -> Result<BTreeMap<String, Vec<f64>>, String> {
    outputs_within(text, 1 << 30)
}

/// The same with so many bytes for arrays.
fn outputs_within(text: &str, bytes: u64) -> Result<BTreeMap<String, Vec<f64>>, String> {
    outputs_on(Engine::Eval, text, bytes)
}

/// The same on another engine.
fn outputs_on(
    engine: Engine,
    text: &str,
    bytes: u64,
) -> Result<BTreeMap<String, Vec<f64>>, String> {
    let mut session = Session::new(Options::default(), FileSources::in_memory());
    let input = Input::Text { name: "generated.ein".into(), text: text.into() };
    let options = RunOptions {
        memory_limit: Some(bytes),
        report_outputs: true,
        engine,
        ..RunOptions::default()
    };
    let report = session
        .run(&input, &options, Default::default(), &mut |_| {})
        .map_err(|bug| format!("{bug}: {}", bug.detail))?;
    if report.checked.has_errors() {
        let errors: Vec<_> =
            report.checked.diagnostics.into_iter().filter(|it| it.is_error()).collect();
        return Err(format!("rejected: {}", session.render(&errors, Style::Plain)));
    }
    if let Some(failure) = report.failure {
        return Err(format!("stopped: {}", session.render(&[failure], Style::Plain)));
    }
    let mut found = BTreeMap::new();
    for (name, json) in report.outputs {
        let json: Json = serde_json::from_str(&json).map_err(|error| error.to_string())?;
        let mut flat = Vec::new();
        flatten(&json["data"], &mut flat);
        found.insert(name, flat);
    }
    Ok(found)
}

fn flatten(json: &Json, flat: &mut Vec<f64>) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| flatten(item, flat)),
        other => flat.push(other.as_f64().unwrap_or(f64::NAN)),
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Whether two numbers agree as far as differences can tell.
fn close(a: f64, b: f64, scale: f64) -> bool {
    (a - b).abs() <= 1e-6 * scale.max(1.0).max(a.abs())
}

/// Why the derivatives of a program are wrong, if they are.
fn judge(program: &derivatives::Program, second: bool) -> Result<(), String> {
    let found = outputs(&program.text)?;
    let get = |name: &str| found.get(name).cloned().unwrap_or_default();
    let mut total = 0.0;
    let mut size = 0.0f64;
    for name in &program.params {
        let (gradient, direction) = (get(&format!("g_{name}")), get(&format!("d{name}")));
        let (reverse, forward) = (dot(&gradient, &direction), get(&format!("f_{name}"))[0]);
        let scale = gradient.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        if (reverse - forward).abs() > 1e-9 * scale.max(1.0) {
            return Err(format!("by {name}: adjoint {reverse}, tangent {forward}"));
        }
        total += reverse;
        size = size.max(scale);
    }
    // Differences say nothing about what is steep.
    if size > 300.0 {
        return Ok(());
    }
    let differences = (get("loss_p")[0] - get("loss_m")[0]) / (2.0 * program.step);
    if !close(total, differences, size) {
        return Err(format!("adjoint {total}, differences {differences}"));
    }
    if second {
        let name = &program.params[0];
        let (hessian, direction) = (get(&format!("hessian_{name}")), get(&format!("d{name}")));
        let n = direction.len();
        let (plus, minus) = (get(&format!("g_p_{name}")), get(&format!("g_m_{name}")));
        let most = hessian.iter().fold(1.0f64, |most, x| most.max(x.abs()));
        for i in 0..n {
            for j in 0..i {
                let (a, b) = (hessian[i * n + j], hessian[j * n + i]);
                if (a - b).abs() > 1e-8 * most {
                    return Err(format!("hessian[{i}, {j}] is {a}, the other way {b}"));
                }
            }
            let mut along = dot(&hessian[i * n..(i + 1) * n], &direction);
            for other in &program.params[1..] {
                along += get(&format!("mixed_{other}"))[i];
            }
            let differences = (plus[i] - minus[i]) / (2.0 * program.step);
            if !close(along, differences, most) {
                return Err(format!("hessian row {i}: {along}, differences {differences}"));
            }
        }
        let slope = |gradient: &[f64]| dot(gradient, &direction);
        let differences = (slope(&plus) - slope(&minus)) / (2.0 * program.step);
        let each = program.params.iter();
        let along: f64 =
            each.map(|it| dot(&get(&format!("twice_{it}")), &get(&format!("d{it}")))).sum();
        if !close(along, differences, most * n as f64) {
            return Err(format!("of the slope: {along}, differences {differences}"));
        }
    }
    Ok(())
}

/// Whether kernels compute what the evaluator does, as far as the order of sums allows.
fn compiled_agree(text: &str) -> Result<(), String> {
    let (eval, jit) = (outputs(text)?, outputs_on(Engine::Jit, text, 1 << 30)?);
    for (name, expected) in &eval {
        let found = jit.get(name).map(Vec::as_slice).unwrap_or_default();
        let scale = expected.iter().fold(1.0f64, |most, x| most.max(x.abs()));
        let agree =
            |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * scale || a.is_nan() && b.is_nan();
        if found.len() != expected.len() || !expected.iter().zip(found).all(agree) {
            return Err(format!("{name}: eval {expected:?}, jit {found:?}"));
        }
    }
    Ok(())
}

/// How extents are refused that may differ.
const UNEQUAL: [&str; 3] = ["E0403", "E0405", "E0411"];

/// Whether second derivatives of a program are looked at.
fn twice(seed: u64) -> bool {
    seed.is_multiple_of(5)
}

#[test]
fn generated_programs_have_the_right_derivatives() {
    let count = seeds::setting("EINLANG_PROGRAMS", 2400);
    let most = seeds::setting("EINLANG_SHOWN", 3) as usize;
    let (wrong, unequal) = (Mutex::new(Vec::new()), AtomicU64::new(0));
    seeds::run(count, |seed| {
        let second = twice(seed);
        let program = derivatives::program(seed, second, STEP);
        let mut judged = judge(&program, second);
        if judged.is_err() {
            // Where it is steep, differences are right only over a short way.
            judged = judge(&derivatives::program(seed, second, STEP / 10.0), second);
        }
        if judged.is_ok() && seed % 4 == 1 {
            judged = compiled_agree(&program.text);
        }
        if program.within
            && let Err(why) = &judged
            && UNEQUAL.iter().any(|code| why.starts_with(&format!("rejected: error[{code}]")))
        {
            unequal.fetch_add(1, Ordering::Relaxed);
            return;
        }
        if let Err(why) = judged {
            wrong.lock().expect("no worker panics with the lock").push((seed, why));
        }
    });
    let mut wrong = wrong.into_inner().expect("no worker panics with the lock");
    wrong.sort_by_key(|(seed, _)| *seed);
    let unequal = unequal.into_inner();
    println!("{count} programs: {} wrong, {unequal} of extents that may differ", wrong.len());
    assert!(count < 100 || unequal * 20 < count, "{unequal} of {count} programs say nothing");
    for (seed, why) in wrong.iter().take(most) {
        println!(
            "--- program {seed}\n{}\n--- {why}\n",
            derivatives::program(*seed, twice(*seed), STEP).text
        );
    }
    let seeds: Vec<u64> = wrong.iter().map(|(seed, _)| *seed).collect();
    assert!(wrong.is_empty(), "programs with wrong derivatives: {seeds:?}");
}

/// Expressions in `u` that use every differentiable function of the library once.
const LIBRARY: &[&str] = &[
    "sinh(u)",
    "cosh(u)",
    "tanh(u)",
    "asinh(u)",
    "acosh(1.5 + u)",
    "atanh(0.5 * u)",
    "abs(u)",
    "sqrt(u)",
    "min(u, 0.7)",
    "max(u, 0.4)",
    "fmod(3.0 * u, 1.1)",
    "mod(-3.0 * u, 1.1)",
    "square(u)",
    "neg(u)",
    "reciprocal(u)",
    "log(u)",
    "ln(u)",
    "log10(u)",
    "log2(u)",
    "log1p(u)",
    "exp(u)",
    "expm1(u)",
    "rsqrt(u)",
    "sin(u)",
    "cos(u)",
    "tan(u)",
    "asin(u)",
    "acos(u)",
    "atan(u)",
    "atan2(u, 0.3)",
    "atan2(0.3, u)",
    "clamp(u, 0.1, 0.9)",
    "clip(2.0 * u, 0.1, 0.9)",
    "clamp_min(u, 0.3)",
    "clamp_max(u, 0.4)",
    "saturate(u)",
    "erf(u)",
    "deg_to_rad(u)",
    "rad_to_deg(u)",
    "u ** 2.5",
    "u ** 3",
    "u ** -2",
    "2.0f64 ** u",
    "u ** u",
    "u % 0.3",
    "1.0 / u",
    "-u * u",
    "(u as f32) as f64",
    "std::ops::add(u, 2.0 * u)",
    "std::ops::sub(2.0, u)",
    "std::ops::mul(u, u)",
    "std::ops::div(1.5, u)",
    "std::ops::rem(u, 0.3)",
    "std::ops::pow(u, 3)",
    "std::ops::min(u, 0.7)",
    "std::ops::max(u, 0.4)",
    "std::ops::neg(u)",
];

/// The same for functions of arrays: vectors computed from the vector `v` of six numbers.
const ARRAYS: &[&str] = &[
    "let m[i in 0..2, j in 0..3] = v[3 * i + j]; let r = std::array::flatten(m);",
    "let m[i in 0..2, j in 0..3] = v[3 * i + j]; let t = std::array::transpose(m); \
     let r[k in 0..6] = t[k / 2, k % 2];",
    "let m[i in 0..2, j in 0..3] = v[3 * i + j] * v[j]; let r = std::array::sum(m);",
    "let r = std::array::concatenate(v, v);",
    "let r = std::array::topk_extract(v, 3);",
    "let s = std::math::sum(v); let r = [s, s * s];",
];

/// Functions of the library that are constant, whole-valued or not about numbers.
const WITHOUT: &[&str] = &[
    "sign",
    "floor",
    "ceil",
    "trunc",
    "round",
    "div_floor",
    "gcd",
    "lcm",
    "factorial",
    "doublings",
    "listed",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
    "and",
    "or",
    "not",
    "argmax",
    "argmin",
    "argmax_all",
    "argmin_all",
    "partition",
    "partition_2d",
    "topk_with_indices_extract",
];

#[test]
fn no_function_of_the_library_is_forgotten() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../library");
    let mut forgotten = Vec::new();
    let math = std::fs::read_dir(folder.join("math")).unwrap().map(|entry| entry.unwrap().path());
    let files = math.chain([folder.join("ops.ein"), folder.join("array.ein")]);
    for file in files.filter(|file| file.extension().is_some_and(|it| it == "ein")) {
        let text = std::fs::read_to_string(&file).unwrap();
        for line in text.lines().filter_map(|line| line.strip_prefix("pub fn ")) {
            let name: String =
                line.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            let call = format!("{name}(");
            let tested = LIBRARY.iter().chain(ARRAYS).any(|it| it.contains(&call));
            if !tested && !WITHOUT.contains(&name.as_str()) {
                forgotten.push(name);
            }
        }
    }
    assert!(forgotten.is_empty(), "without a test of their derivative: {forgotten:?}");
}

#[test]
fn every_function_of_arrays_has_its_derivative() {
    let step = 1e-5;
    for function in ARRAYS {
        let text = format!(
            "fn f(v: [f64; 6]) -> f64 {{ {function} sum[i](r[i] * r[i] * (i + 1) as f64) }}\n\
             let v: [f64; 6] = [0.3, 0.8, 0.1, 0.6, 0.9, 0.45];\n\
             let d: [f64; 6] = [1.0, -0.5, 2.0, 0.7, -1.3, 0.4];\n\
             let y = f(v);\nlet g = @y / @v;\nlet t = jvp(y, v, d);\n\
             let p[i] = v[i] + {step:?} * d[i];\nlet m[i] = v[i] - {step:?} * d[i];\n\
             let yp = f(p);\nlet ym = f(m);\n"
        );
        let found = outputs(&text).unwrap_or_else(|why| panic!("{function}\n{why}"));
        let expected = (found["yp"][0] - found["ym"][0]) / (2.0 * step);
        let along = dot(&found["g"], &found["d"]);
        assert!((along - expected).abs() < 1e-6 * expected.abs().max(1.0), "{function}: {along}");
        assert!((along - found["t"][0]).abs() < 1e-9 * along.abs().max(1.0), "{function}");
    }
}

#[test]
fn every_function_of_the_library_has_its_derivative() {
    let mut text = String::from(
        "use std::math::{sinh, cosh, tanh, asinh, acosh, atanh, abs, sqrt, min, max, fmod, mod, \
         square, neg, reciprocal, log, ln, log10, log2, log1p, exp, expm1, rsqrt, sin, cos, tan, \
         asin, acos, atan, atan2, clamp, clip, clamp_min, clamp_max, saturate, erf, deg_to_rad, \
         rad_to_deg};\nlet v: [f64; 3] = [0.21, 0.55, 0.83];\n",
    );
    let step = 1e-5;
    for (number, function) in LIBRARY.iter().enumerate() {
        let at = |u: &str| {
            let letters: Vec<char> = function.chars().collect();
            let mut out = String::new();
            for (place, letter) in letters.iter().enumerate() {
                let word = |c: Option<&char>| c.is_some_and(|c| c.is_alphanumeric() || *c == '_');
                let alone = *letter == 'u'
                    && !word(place.checked_sub(1).and_then(|p| letters.get(p)))
                    && !word(letters.get(place + 1));
                if alone { out.push_str(u) } else { out.push(*letter) }
            }
            out
        };
        text += &format!(
            "let y{number} = sum[i](({}) * (i + 1) as f64);\nlet g{number} = @y{number} / @v;\n\
             let f{number} = jvp(y{number}, v, [1.0, 1.0, 1.0]);\n\
             let p{number}[i in 0..3] = ({});\nlet m{number}[i in 0..3] = ({});\n",
            at("v[i]"),
            at(&format!("(v[i] + {step:?})")),
            at(&format!("(v[i] - {step:?})")),
        );
    }
    let found = outputs(&text).unwrap();
    for (number, function) in LIBRARY.iter().enumerate() {
        let get = |letter: &str| found[&format!("{letter}{number}")].clone();
        let (gradient, plus, minus) = (get("g"), get("p"), get("m"));
        for i in 0..3 {
            let expected = (plus[i] - minus[i]) / (2.0 * step) * (i + 1) as f64;
            let tolerance =
                if function.contains("f32") { 1e-1 } else { 1e-6 * expected.abs().max(1.0) };
            assert!(
                (gradient[i] - expected).abs() < tolerance,
                "{function} at {i}: {} and not {expected}",
                gradient[i]
            );
        }
        let sum: f64 = gradient.iter().sum();
        assert!((sum - get("f")[0]).abs() < 1e-9 * sum.abs().max(1.0), "{function}: {sum}");
    }
}

#[test]
fn a_derivative_that_is_read_in_part_is_never_whole() {
    // 300 by 300 numbers take 720,000 bytes.
    let program = |read: &str| {
        format!(
            "fn look(x: [f64; 300]) -> f64 {{\n    let s = sum[i](x[i]);\n    \
             let y[i] = x[i] * s + x[i] ** 3;\n    let jacobian = @y / @x;\n    {read}\n}}\n\
             let x[i in 0..300] = (i + 1) as f64 / 300.0;\nlet it = look(x);\n"
        )
    };
    let (limit, n) = (200_000, 300.0);
    let x = |i: usize| (i + 1) as f64 / n;
    let total: f64 = (0..300).map(x).sum();
    let check = |read: &str, expected: f64| {
        let found = outputs_within(&program(read), limit).unwrap()["it"][0];
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{read}: {found}");
    };
    check("jacobian[2, 5]", x(2));
    check("let row = jacobian[7]; row[7] + row[8]", total + 3.0 * x(7) * x(7) + 2.0 * x(7));
    check("sum[i](jacobian[i, 4])", total + 3.0 * x(4) * x(4) + total);
    let diagonal: f64 = (0..300).map(|i| total + x(i) + 3.0 * x(i) * x(i)).sum();
    check("let d[i] = jacobian[i, i]; sum[i](d[i])", diagonal);
    check("let d[i in 0..300] = @y[i] / @x[i]; sum[i](d[i])", diagonal);
    let above: f64 = (0..299).map(x).sum();
    check("sum[i in 0..299](jacobian[i, i + 1])", above);
    let along = 2.0 * x(1) * total + 3.0 * x(1).powi(3);
    check("let g[i] = sum[j](jacobian[i, j] * x[j]); g[1]", along);
    let back = x(1) * total + 3.0 * x(1).powi(3) + (0..300).map(|i| x(i) * x(i)).sum::<f64>();
    check("let g[j] = sum[i](x[i] * jacobian[i, j]); g[1]", back);
    check("let g = jvp(y, x, x); g[1]", 2.0 * x(1) * total + 3.0 * x(1).powi(3));
    let whole = outputs_within(&program("sum[i, j](jacobian[i, j])"), limit);
    assert!(whole.is_err_and(|why| why.contains("E0805")), "the whole does not fit");
}

/// Definitions of `y` over `x`, both of length 5, with different structure.
const TARGETS: &[&str] = &[
    "let y[i in 0..5] = sin(x[i]) * x[i];",
    "let h[i in 0..5] = x[i] * x[i];\nlet y[i in 0..5] = h[i] + (if i > 0 { h[i - 1] } else { 0.0 });",
    "let y[0] = x[0];\nlet y[i in 1..5] = y[i - 1] * x[i];",
    "let s = sum[k](x[k] * x[k]);\nlet y[i in 0..5] = x[4 - i] * s;",
    "let y[0] = 2.0 * x[1];\nlet y[1] = x[0] * x[0];\nlet y[i in 2..5] = x[i] * x[i - 2];",
    "let t = [3, 0, 3, 1, 2];\nlet y[i in 0..5] = x[t[i]] * x[i];",
    "let m[i in 0..5, j in 0..5] = (i * 3 + j) as f64 / 7.0;\nlet h[i in 0..5] = sum[j](m[i, j] * x[j]);\n\
     let y[i in 0..5] = sin(h[i]) + h[4 - i];",
    "let y[i in 0..5] = max[j in 0..3](x[(i + j) % 5] * (j + 1) as f64) where x[i] > -0.5;",
    "let a[i in 0..5] = x[i] + 1.0;\nlet b[i in 0..5] = a[i] * a[4 - i];\n\
     let c[i in 0..5] = b[i] * a[i] + b[4 - i];\nlet y[i in 0..5] = c[i] * b[i] * c[4 - i];",
];

#[test]
fn parts_are_those_of_the_whole() {
    for target in TARGETS {
        let text = format!(
            "use std::math::sin;\nlet x: [f64; 5] = [0.3, -0.7, 1.1, 0.4, -0.2];\n\
             let v: [f64; 5] = [1.0, -2.0, 0.5, 3.0, -1.5];\n{target}\nlet whole = @y / @x;\n\
             let diagonal[i in 0..5] = @y[i] / @x[i];\nlet turned[i in 0..5] = @y[i] / @x[4 - i];\n\
             let below[i in 1..5] = @y[i] / @x[i - 1];\nlet row[j in 0..5] = @y[3] / @x[j];\n\
             let column[i in 0..5] = @y[i] / @x[2];\nlet entry = @y[1] / @x[3];\n\
             let all[i in 0..5, j in 0..5] = @y[i] / @x[j];\nlet lazy = @y / @x;\n\
             let right[i in 0..5] = sum[j in 0..5](lazy[i, j] * v[j]);\n\
             let left[j in 0..5] = sum[i in 0..5](2.0 * v[i] * lazy[i, j]);\n\
             let trace = sum[i in 0..5](lazy[i, i]);\n"
        );
        let found = outputs(&text).unwrap_or_else(|why| panic!("{target}\n{why}"));
        let whole = &found["whole"];
        let v = &found["v"];
        let at = |i: usize, j: usize| whole[i * 5 + j];
        let check = |name: &str, expected: Vec<f64>| {
            for (i, (a, b)) in found[name].iter().zip(&expected).enumerate() {
                assert!((a - b).abs() < 1e-12, "{target}\n{name}[{i}] is {a}, not {b}");
            }
            assert_eq!(found[name].len(), expected.len(), "{target}\n{name}");
        };
        let all = 0..5usize;
        check("diagonal", all.clone().map(|i| at(i, i)).collect());
        check("turned", all.clone().map(|i| at(i, 4 - i)).collect());
        check("below", [0.0].into_iter().chain((1..5).map(|i| at(i, i - 1))).collect());
        check("row", all.clone().map(|j| at(3, j)).collect());
        check("column", all.clone().map(|i| at(i, 2)).collect());
        check("entry", vec![at(1, 3)]);
        check("all", whole.clone());
        let right = |i: usize| all.clone().map(|j| at(i, j) * v[j]).sum::<f64>();
        let left = |j: usize| all.clone().map(|i| 2.0 * at(i, j) * v[i]).sum::<f64>();
        check("right", all.clone().map(right).collect());
        check("left", all.clone().map(left).collect());
        check("trace", vec![all.clone().map(|i| at(i, i)).sum()]);
        assert!(whole.iter().any(|entry| *entry != 0.0), "{target}");
    }
}

/// What running a program takes at most, in bytes, on the engine of this process.
fn peak(text: &str, observe: &str) -> u64 {
    let mut session = Session::new(Options::default(), FileSources::in_memory());
    let input = Input::Text { name: "program.ein".into(), text: text.into() };
    let options = RunOptions {
        engine: Engine::Jit,
        observe: Some(vec![observe.into()]),
        ..RunOptions::default()
    };
    let report = session.bench(&input, &options, Some(1), Default::default()).unwrap();
    assert!(!report.checked.has_errors() && report.failure.is_none(), "{:?}", report.failure);
    report.peak_bytes
}

#[test]
fn training_keeps_two_copies_of_the_weights() {
    let example = include_str!("../../examples/training.ein");
    let steps = |count: usize| {
        let text = example.replace("1..400", &format!("1..{count}"));
        let text = text.replace("w[399]", &format!("w[{}]", count - 1));
        assert_ne!(text, example);
        peak(&text, "last")
    };
    let (few, many) = (steps(40), steps(20_000));
    assert_eq!(few, many);
    // The data take 1280 bytes if all of them are stored, the weights 32 a copy.
    assert!(many < 2_000, "{many} bytes");
}

#[test]
fn loops_inside_loops_are_swept_back() {
    let rollout = "fn f(v, a) { let h[0] = a; let h[t in 1..4] = v[0] * h[t - 1] + v[1]; h[3] }\n\
        let v: [f64; 2] = [0.5, 0.25];\n";
    for body in [
        "let y[i in 0..3] = f(v, i as f64);",
        "let y[0] = 1.0f64; let y[s in 1..3] = f(v, y[s - 1]);",
        "let y = [f(v, i as f64) * v[j] | i in 0..3, j in 0..2];",
        "let y = [z * x | x in v, z = x + v[0]];",
        "let y = [f(v, i as f64) * v[j] | i in 0..3, j in 0..2, i != j];",
        "let y = [z * x | x in v, z = x + v[0], z > 0.8];",
        "let y = [v[i] * v[j] | i in 0..2, j in i..2];",
        "enum E { A(f64), B(f64, f64) }\n\
         fn make(c: f64, d: f64) -> E { let e = if c > d { E::A(d) } else { E::B(c, d) }; e }\n\
         let y[i in 0..2] = match make(v[i], v[0]) { E::A(a) => a * a, E::B(a, b) => a * b };",
        "enum E { A(f64), B(f64, f64) }\n\
         let e = if v[0] > 1.0 { E::A(v[1]) } else { E::B(v[0], v[1]) };\n\
         let y[i in 0..2] = match e { E::A(a) => a * a, E::B(a, b) => a * b * i as f64 };",
    ] {
        let text = format!("{rollout}{body}\nlet s = sum[i](y[i]);\nlet g = @s / @v;");
        let input = Input::Text { name: "program.ein".into(), text: text.as_str().into() };
        let mut session = Session::new(Options::default(), FileSources::in_memory());
        let (plan, report) = session
            .dump_plan(
                &input,
                &ein_driver::DumpOptions::default(),
                ein_driver::Show::Loops(ein_driver::Form::Plan),
            )
            .unwrap();
        assert!(!report.has_errors(), "{text}\n{:?}", report.diagnostics);
        assert!(plan.contains("@s / @v: one reverse sweep"), "{text}\n{plan}");
    }
}

#[test]
fn products_of_many_factors_have_linear_slopes() {
    let text = "let x: [f64; 4, 9] = [[1.0, 2.0, 0.5, -1.0, 3.0, 1.5, 2.5, -0.5, 0.25],
            [1.0, 0.0, 0.5, -1.0, 3.0, 1.5, 2.5, -0.5, 0.25],
            [1.0, 0.0, 0.5, -1.0, 0.0, 1.5, 2.5, -0.5, 0.25],
            [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]];
        let p[i] = prod[k](x[i, k]);
        let s = sum[i](p[i]);
        let g = @s / @x;
        let e[i in 0..4, k in 0..9] = prod[j in 0..9](x[i, j] where j != k);
        let q = prod[k in 1..9](x[3, k] * x[0, k]);
        let h = @q / @x;
        let f[k in 1..9] = x[3, k] * prod[j in 1..9](x[3, j] * x[0, j] where j != k);";
    let found = outputs(text).unwrap();
    for (a, b) in found["g"].iter().zip(&found["e"]) {
        assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} and not {b}");
    }
    for (a, b) in found["h"].iter().take(9).zip(&found["f"]) {
        assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} and not {b}");
    }
}
