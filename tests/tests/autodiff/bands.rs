//! Whole derivatives of programs that tie positions to positions: against their rows, their columns
//! and central differences, and what is read of them against what is filled in.

use super::{Rng, dot, outputs, outputs_on, outputs_within};
use ein_driver::{DumpOptions, Engine, FileSources, Form, Input, Options, Session, Show};
use ein_tests::seeds;
use std::fmt::Write;
use std::sync::Mutex;

/// How far to either side.
const STEP: f64 = 2e-6;

/// A generated body of a function of `x`, and the shapes of `x` and of its result `y`.
struct Body {
    text: String,
    x: Vec<usize>,
    y: Vec<usize>,
}

/// A vector that the body has defined.
struct Vector {
    name: String,
    length: usize,
}

/// Definitions of vectors from `x`, most of them with few reads near each other.
fn vectors(rng: &mut Rng, batch: Option<usize>) -> Body {
    let length = 5 + rng.below(5);
    let mut known = vec![Vector { name: "x".into(), length }];
    let mut text = String::new();
    for number in 0..1 + rng.below(4) {
        let from = &known[rng.below(known.len())];
        let (v, n) = (from.name.as_str(), from.length);
        // With a batch, everything has another axis before.
        let (b, bi) = if batch.is_some() { ("b, ", "b, ") } else { ("", "") };
        let over = batch.map_or(String::new(), |batch| format!("b in 0..{batch}, "));
        let last = n - 1;
        let to = match number {
            0 => "h0".to_owned(),
            number => format!("h{number}"),
        };
        let other = known.iter().filter(|it| it.length == n).count();
        let w = known.iter().filter(|it| it.length == n).nth(rng.below(other));
        let w = w.map_or("x", |w| w.name.as_str());
        let mut length = n;
        let definition = match rng.below(if batch.is_some() { 16 } else { 32 }) {
            0 => format!("let {to}[{over}i in 0..{n}] = sin({v}[{bi}i]) * {w}[{bi}i];"),
            1 => format!(
                "let {to}[{over}i in 0..{n}] = {v}[{bi}i] * {w}[{bi}i] + (if i > 0 {{ {v}[{bi}i - 1] }} else {{ 0.5 }});"
            ),
            2 => {
                length = n - 2;
                format!(
                    "let {to}[{over}i in 0..{length}] = {v}[{bi}i] * {v}[{bi}i + 2] - 2.0 * {w}[{bi}i + 1];"
                )
            }
            3 => {
                length = n - 2;
                format!(
                    "let {to}[{over}i in 0..{length}] = sum[k in 0..3]({v}[{bi}i + k] * {v}[{bi}i + k] * (k + 1) as f64);"
                )
            }
            4 => format!(
                "let {to}[{over}i in 0..{n}] = {v}[{bi}max(i - 1, 0)] * {w}[{bi}min(i + 1, {last})] + {v}[{bi}i];"
            ),
            5 => format!("let {to}[{over}i in 0..{n}] = {v}[{bi}{last} - i] * 0.5 + 1.0;"),
            6 => {
                length = n.div_ceil(2);
                format!("let {to}[{over}i in 0..{length}] = {v}[{bi}2 * i] * {w}[{bi}2 * i];")
            }
            7 => {
                length = n - 1;
                format!("let {to}[{over}i in 0..{length}] = {v}[{bi}i / 2] * {w}[{bi}i / 2 + 1];")
            }
            8 => format!(
                "let {to}[{b}0] = {v}[{bi}1] * 2.0;\nlet {to}[{over}i in 1..{n}] = {v}[{bi}i] * {w}[{bi}i - 1];",
                b = if batch.is_some() { over.as_str() } else { b }
            ),
            9 => format!(
                "let {to}[{b}0] = {v}[{bi}0];\nlet {to}[{over}i in 1..{n}] = 0.5 * {to}[{bi}i - 1] * {v}[{bi}i] + {w}[{bi}i];",
                b = if batch.is_some() { over.as_str() } else { b }
            ),
            10 => format!(
                "let {to}[{over}i in 0..{n}] = {v}[{bi}i] * {w}[{bi}i] where {v}[{bi}i] > 0.0;"
            ),
            11 => format!("let {to}[{over}i in 0..{n}] = pair({v}[{bi}i], {w}[{bi}i]);"),
            12 if batch.is_none() => format!("let {to} = smooth({v});"),
            13 => {
                let (c, d) = (rng.below(3), 1 + rng.below(2));
                format!(
                    "let {to}[{over}i in 0..{n}] = sum[k in 0..{d}]((if i + k < {n} {{ {v}[{bi}i + k] ** 2 }} else {{ {c}.0 }}));"
                )
            }
            14 if rng.one_in(2) => {
                format!("let {to}[{over}i in 0..{n}] = {v}[{bi}i] * sum[k in 0..{n}]({w}[{bi}k]);")
            }
            15 if rng.one_in(2) => {
                format!("let {to}[{over}i in 0..{n}] = {v}[{bi}(i * 3 + 1) % {n}] + {w}[{bi}i];")
            }
            _ => format!(
                "let {to}[{over}i in 0..{n}] = (if i == {last} {{ {v}[{bi}{last}] }} else {{ {v}[{bi}i + 1] * {v}[{bi}i] }}) + {w}[{bi}i] ** 2;"
            ),
        };
        text += &definition;
        text.push('\n');
        known.push(Vector { name: to, length });
        if length < 4 {
            break;
        }
    }
    let Vector { name, length: end } = &known[known.len() - 1];
    let leading: Vec<usize> = batch.into_iter().collect();
    let y = if batch.is_some() && rng.one_in(3) {
        // One number for each row, or a few.
        let _ = match rng.below(2) {
            0 => writeln!(text, "let y[b] = sum[i]({name}[b, i] * {name}[b, i]);"),
            _ => writeln!(
                text,
                "let y[b, o in 0..2] = sum[i]({name}[b, i] * {name}[b, i] * (i + o) as f64);"
            ),
        };
        if text.contains("y[b, o") { [&leading[..], &[2]].concat() } else { leading.clone() }
    } else {
        let _ = writeln!(text, "let y = {name};");
        [&leading[..], &[*end]].concat()
    };
    Body { text, x: [&leading[..], &[length]].concat(), y }
}

fn literal(values: &[f64], shape: &[usize]) -> String {
    let Some((first, rest)) = shape.split_first() else { return format!("{:?}", values[0]) };
    let part = values.len() / first;
    let parts: Vec<String> = values.chunks(part).map(|part| literal(part, rest)).collect();
    format!("[{}]", parts.join(", "))
}

/// Every position of a shape.
fn positions(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![Vec::new()], |all, extent| {
        let more = all.iter().flat_map(|at| (0..*extent).map(move |i| [&at[..], &[i]].concat()));
        more.collect()
    })
}

fn indices(at: &[usize]) -> String {
    at.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn product(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// The program with this number.
fn program(seed: u64) -> (String, Body) {
    let mut rng = Rng::new(seed ^ 0xBA2D);
    let batch = rng.one_in(3).then_some(3);
    let body = vectors(&mut rng, batch);
    let numbers = |rng: &mut Rng, count: usize| -> Vec<f64> {
        (0..count).map(|_| 0.25 + rng.below(1000) as f64 / 900.0).collect()
    };
    let (x, d) = (numbers(&mut rng, product(&body.x)), numbers(&mut rng, product(&body.x)));
    let signed: Vec<f64> =
        x.iter().enumerate().map(|(i, x)| if i % 3 == 1 { -x } else { *x }).collect();
    let ty = |shape: &[usize]| format!("[f64; {}]", indices(shape));
    let mut text = format!(
        "use std::math::{{sin, min, max}};\nuse std::array::{{concatenate, transpose}};\n\
         struct Pair {{ a: [f64; ?n], b: [f64; ?n] }}\nfn pair(a: f64, b: f64) -> f64 {{ a * b + a }}\n\
         fn ruled(a: f64, b: f64) -> f64 {{ a * b }}\n@fn ruled(a, b) {{ b * @a + a * @b }}\n\
         fn both(v, w) {{ let p[i] = v[i] * w[i]; let q[i] = v[i] + 1.0; (p, q) }}\n\
         fn smooth(v: [f64; ?n]) -> [f64; ?n] {{ let s[i] = 0.5 * v[i] * v[max(i - 1, 0)]; s }}\n\
         fn f(x: {}) -> {} {{\n{}y\n}}\n",
        ty(&body.x),
        ty(&body.y),
        body.text
    );
    let side = |sign: f64| -> Vec<f64> {
        signed.iter().zip(&d).map(|(x, d)| x + sign * STEP * d).collect()
    };
    for (name, values) in [("x", &signed), ("d", &d), ("xp", &side(1.0)), ("xm", &side(-1.0))] {
        let _ = writeln!(text, "let {name}: {} = {};", ty(&body.x), literal(values, &body.x));
    }
    // In one program the definitions are there, in another one they are behind a call.
    if rng.one_in(3) {
        text += "let y = f(x);\n";
    } else {
        text += &body.text;
    }
    text += "let yp = f(xp);\nlet ym = f(xm);\nlet whole = @y / @x;\nlet lazy = @y / @x;\n";
    let (rows, columns) = (body.y.len(), body.x.len());
    let names: Vec<String> = (0..rows + columns).map(|axis| format!("a{axis}")).collect();
    let all = names.join(", ");
    let turned: Vec<String> = names[rows..].iter().chain(&names[..rows]).cloned().collect();
    let turned = turned.join(", ");
    let _ = writeln!(text, "let twice[{all}] = 2.0 * lazy[{all}];");
    let _ = writeln!(text, "let squares = sum[{all}](lazy[{all}] ** 2);");
    let _ = writeln!(
        text,
        "let back = sum[{turned}](-3.0 * lazy[{all}] * d[{}]);",
        names[rows..].join(", ")
    );
    let _ = writeln!(text, "let most = max[{all}](lazy[{all}]);");
    for at in positions(&body.y) {
        let name = at.iter().map(ToString::to_string).collect::<Vec<_>>().join("_");
        let _ = writeln!(text, "let row_{name} = @y[{}] / @x;", indices(&at));
    }
    for at in positions(&body.x) {
        let name = at.iter().map(ToString::to_string).collect::<Vec<_>>().join("_");
        let _ = writeln!(text, "let column_{name} = @y / @x[{}];", indices(&at));
    }
    (text, body)
}

/// Why the whole derivative of a program is wrong, if it is.
fn judge(seed: u64) -> Result<(), String> {
    let (text, body) = program(seed);
    let found = outputs(&text)?;
    let whole = &found["whole"];
    let (m, n) = (product(&body.y), product(&body.x));
    let most = whole.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    let same = |name: &str, a: f64, b: f64| {
        let near = (a - b).abs() <= 1e-10 * most * most;
        near.then_some(()).ok_or_else(|| format!("{name}: {a} and {b}"))
    };
    let name = |prefix: &str, at: &[usize]| {
        format!("{prefix}_{}", at.iter().map(ToString::to_string).collect::<Vec<_>>().join("_"))
    };
    for (i, at) in positions(&body.y).iter().enumerate() {
        let row = &found[&name("row", at)];
        for j in 0..n {
            same(&format!("row {at:?} at {j}"), whole[i * n + j], row[j])?;
        }
    }
    for (j, at) in positions(&body.x).iter().enumerate() {
        let column = &found[&name("column", at)];
        for i in 0..m {
            same(&format!("column {at:?} at {i}"), whole[i * n + j], column[i])?;
        }
    }
    let d = &found["d"];
    let mut back = 0.0;
    for i in 0..m {
        let along = dot(&whole[i * n..(i + 1) * n], d);
        let differences = (found["yp"][i] - found["ym"][i]) / (2.0 * STEP);
        if most < 300.0 && (along - differences).abs() > 1e-6 * most * n as f64 {
            return Err(format!("row {i} along d: {along}, differences {differences}"));
        }
        back += -3.0 * along;
    }
    same("back", found["back"][0], back)?;
    same("squares", found["squares"][0], whole.iter().map(|x| x * x).sum())?;
    same("most", found["most"][0], whole.iter().copied().fold(f64::NEG_INFINITY, f64::max))?;
    for (a, b) in found["twice"].iter().zip(whole) {
        same("twice", *a, 2.0 * b)?;
    }
    if seed.is_multiple_of(10) {
        let compiled = outputs_on(Engine::Jit, &text, 1 << 30)?;
        for name in ["whole", "twice", "squares", "back", "most"] {
            for (a, b) in compiled[name].iter().zip(&found[name]) {
                same(&format!("{name}, compiled"), *a, *b)?;
            }
        }
    }
    Ok(())
}

#[test]
fn whole_derivatives_are_their_rows_and_columns() {
    let count = seeds::setting("EINLANG_PROGRAMS", 600);
    let wrong = Mutex::new(Vec::new());
    seeds::run(count, |seed| {
        if let Err(why) = judge(seed) {
            wrong.lock().expect("no worker panics with the lock").push((seed, why));
        }
    });
    let mut wrong = wrong.into_inner().expect("no worker panics with the lock");
    wrong.sort_by_key(|(seed, _)| *seed);
    for (seed, why) in wrong.iter().take(2) {
        println!("--- program {seed}\n{}\n--- {why}\n", program(*seed).0);
    }
    let seeds: Vec<u64> = wrong.iter().map(|(seed, _)| *seed).take(20).collect();
    assert!(wrong.is_empty(), "{} programs with wrong derivatives: {seeds:?}", wrong.len());
}

/// The first line of the plan of `let J = @y / @x`, after these definitions.
fn decision(definitions: &str) -> String {
    let text = format!("{definitions}\nlet J = @y / @x;");
    let input = Input::Text { name: "program.ein".into(), text: text.into() };
    let mut session = Session::new(Options::default(), FileSources::in_memory());
    let (plan, report) =
        session.dump_plan(&input, &DumpOptions::default(), Show::Loops(Form::Plan)).unwrap();
    assert!(!report.has_errors(), "{definitions}\n{:?}", report.diagnostics);
    let line = plan.lines().next().unwrap_or("");
    line.trim_start_matches("# derivative @y / @x: ").to_owned()
}

#[test]
fn structure_is_found_through_definitions_and_calls() {
    let x = "let x: [f64; 100] = input();";
    let cases = [
        ("let y[i] = x[i] * x[i];", "diagonal: one tangent"),
        ("let h[i] = 2.0 * x[i]; let y = h * h + x;", "diagonal: one tangent"),
        ("fn f(t: f64) -> f64 { t * t } let y = f(f(x));", "diagonal: one tangent"),
        (
            "fn f(n: i32, v: f64) -> f64 { if n <= 0 { v } else { 2.0 * f(n - 1, v) } }
             let y[i in 0..100] = f(i % 3, x[i]);",
            "diagonal: one tangent",
        ),
        ("let s: f64 = input(); let y[i] = s * x[99 - i];", "banded 99..99 around -i: one tangent"),
        ("let y[i in 1..99] = x[i - 1] - 2.0 * x[i] + x[i + 1];", "banded -1..1: 3 tangents"),
        (
            "let h[i in 1..99] = x[i - 1] + x[i + 1]; let y[i in 2..98] = h[i - 1] + h[i + 1];",
            "banded -2..2: 5 tangents",
        ),
        ("let y[i in 0..100] = x[max(i - 1, 0)] + x[min(i + 1, 99)];", "banded -1..1: 3 tangents"),
        ("let y[0] = x[0]; let y[i in 1..100] = x[i] - x[i - 1];", "banded -1..0: 2 tangents"),
        (
            "let h[i in 0..100] = x[std::math::max(i - 9, 0)]; let y[i in 0..100] = h[i] * x[i];",
            "banded -9..0: 10 tangents",
        ),
        (
            "let k: [f64; 3] = input(); let y[i in 0..98] = sum[j](k[j] * x[i + j]);",
            "banded 0..2: 3 tangents",
        ),
        (
            "let y[i in 0..49] = sum[j in 0..3](x[2 * i + j] ** 2);",
            "banded 0..2 around 2 * i: 2 reverse sweeps; reads x",
        ),
        ("let y[i in 0..200] = x[i / 2] ** 2;", "banded 0..0 around i / 2: one tangent"),
        ("let y[i in 0..100] = x[3] * i as f64;", "banded 3..3 around 0: one tangent"),
    ];
    for (definitions, expected) in cases {
        let found = decision(&format!("{x}\n{definitions}"));
        assert_eq!(found, format!("all of it, {expected}"), "{definitions}");
    }
    let batches = "let x: [f64; 20, 30] = input();";
    let cases = [
        ("let y[b] = sum[i](x[b, i] ** 2);", "diagonal in axis 0: one reverse sweep; reads x"),
        (
            "let w: [f64; 30, 4] = input(); let y[b, o] = sum[i](w[i, o] * x[b, i]);",
            "diagonal in axis 0: 4 reverse sweeps; reads w",
        ),
        (
            "let y[i in 0..30, b in 0..20] = x[b, i] ** 2;",
            "diagonal in axis 0 along axis 1 of the target, diagonal in axis 1 along axis 0 of the \
             target: one tangent",
        ),
        (
            "let y[b, i in 1..29] = x[b, i + 1] - x[b, i - 1];",
            "diagonal in axis 0, banded -1..1 in axis 1: 3 tangents",
        ),
        (
            "let y[b, 0] = x[b, 0]; let y[b, t in 1..30] = 0.5 * y[b, t - 1] + x[b, t];",
            "diagonal in axis 0: 30 tangents",
        ),
    ];
    for (definitions, expected) in cases {
        let found = decision(&format!("{batches}\n{definitions}"));
        assert_eq!(found, format!("all of it, {expected}"), "{definitions}");
    }
}

#[test]
fn what_ties_nothing_is_dense() {
    let x = "let x: [f64; 10] = input();";
    let columns = "all of it, by columns: a tangent for each element of the parameter";
    for definitions in [
        "let s = sum[k](x[k]); let y[i] = x[i] * s;",
        "let t: [i32; 10] = input(); let y[i] = x[t[i]];",
        "let y[i in 0..10] = x[i] * x[9 - i];",
        "let y[0] = x[0]; let y[i in 1..10] = y[i - 1] * x[i];",
        "let y[i in 0..10] = sum[k in 0..10](x[k] where k <= i);",
        "let y[i in 0..10] = x[(i + 1) % 10] * x[i];",
        "fn f(n: i32, v: [f64; ?k]) -> f64 { if n <= 0 { v[0] } else { 2.0 * f(n - 1, v) } }
         let y[i in 0..10] = f(i, x);",
    ] {
        let found = decision(&format!("{x}\n{definitions}"));
        assert!(found.starts_with(columns), "{definitions}\n{found}");
    }
}

#[test]
fn a_band_that_is_read_is_never_a_matrix() {
    // 300 by 300 numbers take 720,000 bytes.
    let program = |read: &str| {
        format!(
            "fn look(x: [f64; 300]) -> f64 {{\n    let h[i] = x[i] ** 2;\n    \
             let y[i in 0..300] = h[i] + (if i > 0 {{ h[i - 1] }} else {{ 0.0 }});\n    \
             let jacobian = @y / @x;\n    {read}\n}}\n\
             let x[i in 0..300] = (i + 1) as f64 / 300.0;\nlet it = look(x);\n"
        )
    };
    let x = |i: usize| (i + 1) as f64 / 300.0;
    let slope = |i: usize| 2.0 * x(i);
    let check = |read: &str, expected: f64| {
        let found = outputs_within(&program(read), 100_000).unwrap()["it"][0];
        assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{read}: {found}");
    };
    let squares: f64 = (0..300).map(|i| slope(i).powi(2) * if i < 299 { 2.0 } else { 1.0 }).sum();
    check("sum[i, j](jacobian[i, j] ** 2)", squares);
    check("sum[j, i](jacobian[i, j] * jacobian[i, j])", squares);
    check("max[i, j](jacobian[i, j])", slope(299));
    check("let k[i in 0..9, j in 0..300] = 2.0 * jacobian[i, j]; k[8, 7]", 2.0 * slope(7));
    check("let r[i] = sum[j](jacobian[i, j]); max[i](r[i])", slope(298) + slope(299));
    check(
        "let a = sum[i, j](jacobian[i, j] ** 2); let b = sum[i](jacobian[i, i]); a + b",
        squares + (0..300).map(slope).sum::<f64>(),
    );
    let whole = outputs_within(&program("let k = jacobian; k[1, 1] + sum[i, j](k[i, j])"), 100_000);
    assert!(whole.is_err_and(|why| why.contains("E0805")), "the whole does not fit");
}
