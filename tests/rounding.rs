//! Sums of short floats are added in longer ones and rounded once, in whatever form they are written: they
//! are what integers give, rounded.
//!
//! Terms are small integers, so their products and all sums on the way are exact in `f32`, and far too
//! large for what `f16` and `bf16` hold. `EINLANG_PROGRAMS=2000` runs more programs, `EINLANG_SEED=7`
//! begins at another number, `EINLANG_NATIVE=200` builds more of them with the system's compiler.

use ein_driver::Engine;
use ein_fuzz::Rng;
use ein_scalar::{Scalar, ScalarType};
use ein_tests::engines::{Setting, run};
use ein_tests::seeds;
use std::sync::Mutex;

/// The arrays that are summed: `x[rows, columns]`, `z[columns, rows]`, `w[rows]`, `v[columns]`.
struct Data {
    rows: i64,
    columns: i64,
    /// Terms are `(place * factor + offset) % size - middle`.
    terms: [i64; 4],
    ty: ScalarType,
}

impl Data {
    fn new(rng: &mut Rng) -> Data {
        let below = |rng: &mut Rng, end| rng.below(end) as i64;
        let size = 2 + below(rng, 9);
        // Long sums of one sign, and such that cancel.
        let middle = [0, 0, size / 2, size - 1][rng.below(4)];
        let extents = [1, 2, 3, 7, 8, 16, 17, 31, 33, 64, 90, 200, 257];
        let pick = |rng: &mut Rng| rng.pick(&extents).copied().unwrap_or(1);
        let (rows, columns) = (pick(rng), pick(rng));
        let terms = [1 + below(rng, 40), below(rng, 50), size, middle];
        let ty = [ScalarType::F16, ScalarType::BF16][rng.below(2)];
        Data { rows, columns, terms, ty }
    }

    fn term(&self, place: i64) -> i64 {
        let [factor, offset, size, middle] = self.terms;
        (place * factor + offset) % size - middle
    }

    fn x(&self, r: i64, c: i64) -> i64 {
        self.term(r * self.columns + c)
    }

    fn z(&self, c: i64, r: i64) -> i64 {
        self.term(c * self.rows + r + 3)
    }

    fn w(&self, r: i64) -> i64 {
        self.term(r * 5 + 1)
    }

    fn declared(&self) -> String {
        let Data { rows, columns, terms: [factor, offset, size, middle], ty } = self;
        let ty = ty.name();
        let term = |place: &str| {
            format!("((({place}) * {factor} + {offset}) % {size} - {middle}) as {ty}")
        };
        format!(
            "let x[r in 0..{rows}, c in 0..{columns}] = {};\n\
             let z[c in 0..{columns}, r in 0..{rows}] = {};\n\
             let w[r in 0..{rows}] = {};\n",
            term(&format!("r * {columns} + c")),
            term(&format!("c * {rows} + r + 3")),
            term("r * 5 + 1"),
        )
    }

    /// A sum as it has to come out.
    fn rounded(&self, exact: i64) -> f64 {
        ein_scalar::cast(Scalar::F64(exact as f64), self.ty).as_f64()
    }
}

/// A sum in some form: the definition of `y`, and the cells that it has to have.
type Form = fn(&Data) -> (String, Vec<i64>);

fn cells(count: i64, cell: impl Fn(i64) -> i64) -> Vec<i64> {
    (0..count).map(cell).collect()
}

const FORMS: &[Form] = &[
    |d| {
        let cell = |c| (0..d.rows).map(|r| d.x(r, c) * d.w(r)).sum();
        ("let y[c] = sum[r](x[r, c] * w[r]);".into(), cells(d.columns, cell))
    },
    |d| {
        let cell = |r| (0..d.columns).map(|c| d.x(r, c) * d.z(c, 0)).sum();
        ("let y[r] = sum[c](x[r, c] * z[c, 0]);".into(), cells(d.rows, cell))
    },
    |d| {
        let n = d.rows.min(20);
        let cell = |at| (0..d.columns).map(|c| d.x(at / n, c) * d.z(c, at % n)).sum();
        let text = format!("let y[i in 0..{n}, j in 0..{n}] = sum[c](x[i, c] * z[c, j]);");
        (text, cells(n * n, cell))
    },
    |d| {
        let all = (0..d.rows * d.columns).map(|at| d.term(at)).sum();
        ("let y[q in 0..1] = sum[r, c](x[r, c]);".into(), vec![all])
    },
    |d| {
        let cell = |c| (0..d.rows).map(|r| d.x(r, c)).sum();
        ("let y[c] = sum[r](x[r, c]);".into(), cells(d.columns, cell))
    },
    |d| {
        let cell = |at| (0..at / d.columns + 1).map(|r| d.x(r, at % d.columns)).sum();
        (
            "let y[i in 0..len(w), c] = sum[r in 0..i + 1](x[r, c]);".into(),
            cells(d.rows * d.columns, cell),
        )
    },
    |d| {
        let cell = |i| (0..i + 1).map(|r| d.w(r)).sum();
        ("let y[i in 0..len(w)] = sum[r in 0..i + 1](w[r]);".into(), cells(d.rows, cell))
    },
    |d| {
        let half = d.rows / 2;
        let piece = |i, c| {
            let (lo, hi) = if i == 0 { (0, half) } else { (half, d.rows) };
            (lo..hi).map(|r| d.x(r, c)).sum()
        };
        let text = format!(
            "let ends: [i32; 3] = [0, {half}, {}];\n\
             let y[i in 0..2, c] = sum[r in ends[i]..ends[i + 1]](x[r, c]);",
            d.rows
        );
        (text, cells(2 * d.columns, |at| piece(at / d.columns, at % d.columns)))
    },
    |d| {
        let cell = |b| (0..d.rows).filter(|r| r * 7 % 5 == b).map(|r| d.w(r)).sum();
        let text = "let key[r in 0..len(w)] = r * 7 % 5;\n\
                    let y[b in 0..5] = sum[r](w[r] where key[r] == b);";
        (text.into(), cells(5, cell))
    },
    |d| {
        let taken = |r: &i64| d.w(*r) > 0;
        let cell = |c| (0..d.rows).filter(taken).map(|r| d.x(r, c)).sum();
        ("let y[c] = sum[r](x[r, c] where w[r] > 0.0);".into(), cells(d.columns, cell))
    },
    |d| {
        let wide = (d.rows / 2).max(1);
        let cell = |i| (0..wide).map(|k| d.w(i + k) * d.w(k)).sum();
        let n = d.rows - wide + 1;
        let text = format!("let y[i in 0..{n}] = sum[k in 0..{wide}](w[i + k] * w[k]);");
        (text, cells(n, cell))
    },
    |d| {
        let cell = |c| (0..d.rows).map(|r| d.x(r, c) * d.w(r)).sum();
        let text = "fn dot(a, b) { sum[k](a[k] * b[k]) }\nlet y[c] = dot(x[.., c], w);";
        (text.into(), cells(d.columns, cell))
    },
    |d| {
        // The state is a zero that the compiler does not know.
        let cell = |c| (0..d.rows).map(|r| d.x(r, c) * d.w(r)).sum();
        let text = "let s[0, c in 0..len(x[0])] = x[0, c] * 0.0;\n\
                    let s[t in 1..4, c in 0..len(x[0])] = sum[r](x[r, c] * w[r] + s[t - 1, c] * 0.0);\n\
                    let y[c] = s[3, c];";
        (text.into(), cells(d.columns, cell))
    },
    |d| {
        let part = |r: i64| (0..d.columns).map(|c| d.x(r, c)).sum::<i64>() * d.w(r);
        let text = "let y[q in 0..1] = sum[r](sum[c](x[r, c] * w[r]));";
        // Each inner sum is rounded by itself; only what is exact there is told.
        let exact = (0..d.rows).all(|r| d.rounded(part(r)) == part(r) as f64);
        let all = (0..d.rows).map(part).sum();
        (text.into(), if exact { vec![all] } else { Vec::new() })
    },
];

fn all(engine: Engine, count: u64) {
    let found = Mutex::new((0u64, Vec::new()));
    seeds::run(count, |seed| {
        let mut rng = Rng::new(seed);
        let data = Data::new(&mut rng);
        let form = FORMS[rng.below(FORMS.len())];
        let (definition, exact) = form(&data);
        let text = format!("{}{definition}\n", data.declared());
        let setting = Setting {
            threads: 1 + rng.below(2),
            observe: rng.below(2).eq(&0).then(|| vec!["y".to_owned()]),
            ..Setting::new(engine)
        };
        let wrong = judge(&data, &exact, run(&text, &setting)).err();
        let mut found = found.lock().expect("no worker panics with the lock");
        found.0 += u64::from(!exact.is_empty());
        found.1.extend(wrong.map(|why| (seed, format!("{text}--- {why}"))));
    });
    let (told, mut wrong) = found.into_inner().expect("no worker panics with the lock");
    wrong.sort();
    println!("{count} sums on {}: {told} are told, {} wrong", engine.as_str(), wrong.len());
    for (seed, why) in wrong.iter().take(seeds::setting("EINLANG_SHOWN", 3) as usize) {
        println!("--- program {seed}\n{why}\n");
    }
    let seeds: Vec<u64> = wrong.iter().map(|it| it.0).collect();
    assert!(seeds.is_empty(), "programs that are wrong: {seeds:?}");
    assert!(told * 10 >= count * 9, "too few say something");
}

/// Compares the cells of `y` with what integers give.
fn judge(
    data: &Data,
    exact: &[i64],
    ran: Result<ein_tests::engines::Ran, String>,
) -> Result<(), String> {
    let ran = ran?;
    if let Some((_, why)) = ran.failure {
        return Err(why);
    }
    let y = ran.outputs.iter().rev().find(|(name, _)| name == "y").ok_or("there is no y")?;
    if y.1["dtype"] != data.ty.name() {
        return Err(format!("y is of type {}", y.1["dtype"]));
    }
    let mut given = Vec::new();
    flatten(&y.1["data"], &mut given);
    for (at, exact) in exact.iter().enumerate() {
        // Printed are the fewest digits that read back.
        let read = |it: &f64| ein_scalar::cast(Scalar::F64(*it), data.ty).as_f64();
        let (given, wanted) = (given.get(at).map(read), data.rounded(*exact));
        if given != Some(wanted) {
            return Err(format!("y[{at}] is {given:?}, not {wanted} ({exact})"));
        }
    }
    Ok(())
}

fn flatten(json: &serde_json::Value, into: &mut Vec<f64>) {
    match json {
        serde_json::Value::Array(items) => items.iter().for_each(|it| flatten(it, into)),
        serde_json::Value::String(text) => into.extend(text.parse::<f64>()),
        number => into.extend(number.as_f64()),
    }
}

#[test]
fn sums_of_short_floats_are_rounded_once_on_eval() {
    all(Engine::Eval, seeds::setting("EINLANG_PROGRAMS", 150));
}

#[test]
fn sums_of_short_floats_are_rounded_once_on_jit() {
    all(Engine::Jit, seeds::setting("EINLANG_PROGRAMS", 300));
}

#[test]
fn sums_of_short_floats_are_rounded_once_on_native() {
    all(Engine::Native, seeds::setting("EINLANG_NATIVE", 12));
}
