//! Recurrences inside steps of recurrences, and what they compute.
//!
//! A chain of functions, each of which is a recurrence that calls the next one in its steps: of
//! numbers or rows, upward or downward, looking one or two steps back, read at their end, in their middle
//! or all over. What a program prints is computed here as well.

use super::rng::Rng;
use std::fmt::Write;

use super::system::Several;

/// Numbers stay below this.
const MODULUS: i64 = 997;

/// A recurrence, in a function of two numbers.
struct Level {
    /// The type of its cells.
    ty: &'static str,
    steps: i64,
    /// The length of its rows; 0 for numbers.
    width: i64,
    downward: bool,
    back: i64,
    factors: (i64, i64, i64),
    /// How the next level is called.
    call: Call,
    result: Outcome,
}

/// How the next level is called in a step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Call {
    Always,
    /// Where the number of the step is even.
    Sometimes,
    /// For two arguments, one after the other.
    Twice,
    /// For each of three numbers, added up.
    Summed,
}

/// What a function gives back.
#[derive(Clone, Copy)]
enum Outcome {
    Last,
    Middle,
    All,
}

/// The program with this number.
pub fn within(seed: u64) -> Several {
    let mut rng = Rng::new(seed);
    let count = 2 + rng.below(2);
    // A number of 53 bits is not one of 64.
    let types: &[&str] =
        if rng.one_in(2) { &["i64", "i64", "i32"] } else { &["i32", "f64", "f32"] };
    let levels: Vec<Level> = (0..count).map(|at| Level::new(&mut rng, at == 0, types)).collect();
    Several { text: text(&levels), printed: printed(&levels) }
}

impl Level {
    fn new(rng: &mut Rng, outermost: bool, types: &[&'static str]) -> Level {
        let ty = types[rng.below(types.len())];
        let back = rng.between(1, 2);
        let steps =
            back + rng.between(if outermost { 2 } else { 0 }, if outermost { 25 } else { 6 });
        let call = match rng.below(6) {
            0 => Call::Sometimes,
            1 => Call::Twice,
            2 => Call::Summed,
            _ => Call::Always,
        };
        let result = match rng.below(4) {
            0 => Outcome::Middle,
            1 => Outcome::All,
            _ => Outcome::Last,
        };
        let factors = (rng.between(0, 9), rng.between(1, 9), rng.between(0, 5));
        let width = if rng.one_in(2) { rng.between(1, 4) } else { 0 };
        Level { ty, steps, width, downward: rng.one_in(3), back, factors, call, result }
    }

    fn cells(&self) -> i64 {
        self.width.max(1)
    }
}

// ---------------------------------------------------------------- what it computes

/// The cells of all steps of a level, in the order in which they are computed.
fn computed(levels: &[Level], a: i64, b: i64) -> Vec<Vec<i64>> {
    let (level, inner) = (&levels[0], &levels[1..]);
    let mut steps: Vec<Vec<i64>> = Vec::new();
    for k in 0..level.steps {
        let mut row = Vec::new();
        for i in 0..level.cells() {
            if k < level.back {
                row.push((a + 3 * k + i) % MODULUS);
                continue;
            }
            let before = &steps[k as usize - 1];
            let far = &steps[(k - level.back) as usize];
            let (x, y) = (before[i as usize], far[(level.cells() - 1 - i) as usize]);
            let called = match inner.is_empty() {
                true => 0,
                false => called(level, inner, x, k, i),
            };
            let (f, g, h) = level.factors;
            row.push((f * x + g * y + h * b + called + k) % MODULUS);
        }
        steps.push(row);
    }
    steps
}

fn called(level: &Level, inner: &[Level], x: i64, k: i64, i: i64) -> i64 {
    match level.call {
        Call::Always => value(inner, x, k + i),
        Call::Sometimes if k % 2 == 0 => value(inner, x, k + i),
        Call::Sometimes => x,
        Call::Twice => value(inner, value(inner, x, k), i),
        Call::Summed => (0..3).map(|m| value(inner, x + m, k + i)).sum(),
    }
}

fn value(levels: &[Level], a: i64, b: i64) -> i64 {
    let level = &levels[0];
    let steps = computed(levels, a, b);
    match level.result {
        Outcome::Last => steps[steps.len() - 1][0],
        Outcome::Middle => steps[steps.len() / 2][level.cells() as usize - 1],
        Outcome::All => steps.iter().flatten().sum::<i64>() % MODULUS,
    }
}

fn printed(levels: &[Level]) -> Vec<String> {
    let steps = computed(levels, 5, 7);
    let all: i64 = (1..).zip(&steps).map(|(k, row)| k * row.iter().sum::<i64>()).sum();
    vec![format!("{} {all}", value(levels, 5, 7))]
}

// ---------------------------------------------------------------- how it is written

fn text(levels: &[Level]) -> String {
    let mut text = String::new();
    for (at, level) in levels.iter().enumerate().skip(1).rev() {
        let _ = writeln!(text, "fn f{at}(a: i64, b: i64) -> i64 {{");
        clauses(&mut text, level, at + 1 < levels.len(), at);
        let _ = writeln!(text, "    {}\n}}", outcome(level));
    }
    let level = &levels[0];
    let _ = writeln!(text, "let a: i64 = 5;\nlet b: i64 = 7;");
    clauses(&mut text, level, levels.len() > 1, 0);
    let last = level.steps - 1;
    let number = if level.downward { format!("{last} - k") } else { "k".into() };
    let cell = if level.width > 0 { "sum[i](r[k, i] as i64)" } else { "(r[k] as i64)" };
    let all = format!("sum[k in 0..{}](({number} + 1) as i64 * {cell})", level.steps);
    let _ = writeln!(text, "print({}, {all});", outcome(level));
    text
}

fn clauses(text: &mut String, level: &Level, calls: bool, at: usize) {
    let (inside, i) = match level.width {
        0 => (String::new(), "0"),
        width => (format!(", i in 0..{width}"), "i"),
    };
    let last = level.steps - 1;
    // A step by how many were made before it, and how a step says that.
    let step = |k: i64| if level.downward { last - k } else { k };
    let number = if level.downward { format!("({last} - k)") } else { "k".into() };
    let comma = |place: &str| if level.width > 0 { format!(", {place}") } else { String::new() };
    for k in 0..level.back {
        let _ = writeln!(
            text,
            "    let r[{}{inside}] = ((a + {} + {i}) % {MODULUS}) as {};",
            step(k),
            3 * k,
            level.ty
        );
    }
    if level.steps == level.back {
        return;
    }
    let (lo, hi) = match level.downward {
        true => (0, level.steps - level.back),
        false => (level.back, level.steps),
    };
    let before = |back: i64| match level.downward {
        true => format!("k + {back}"),
        false => format!("k - {back}"),
    };
    let x = format!("(r[{}{}] as i64)", before(1), comma("i"));
    let far = comma(&format!("{} - i", level.width - 1));
    let y = format!("(r[{}{far}] as i64)", before(level.back));
    let f = format!("f{}", at + 1);
    let (k, place) = (format!("({number} as i64)"), format!("({i} as i64)"));
    let called = match (calls, level.call) {
        (false, _) => "0".into(),
        (true, Call::Always) => format!("{f}({x}, {k} + {place})"),
        (true, Call::Sometimes) => {
            format!("(if {number} % 2 == 0 {{ {f}({x}, {k} + {place}) }} else {{ {x} }})")
        }
        (true, Call::Twice) => format!("{f}({f}({x}, {k}), {place})"),
        (true, Call::Summed) => {
            format!("sum[m in 0..3]({f}({x} + (m as i64), {k} + {place}))")
        }
    };
    let (f, g, h) = level.factors;
    let _ = writeln!(
        text,
        "    let r[k in {lo}..{hi}{inside}] = (({f} * {x} + {g} * {y} + {h} * b + {called} + {k}) % {MODULUS}) as {};",
        level.ty
    );
}

fn outcome(level: &Level) -> String {
    let last = level.steps - 1;
    let step = |k: i64| if level.downward { last - k } else { k };
    let wide = level.width > 0;
    match level.result {
        Outcome::Last if wide => format!("(r[{}, 0] as i64)", step(last)),
        Outcome::Last => format!("(r[{}] as i64)", step(last)),
        Outcome::Middle if wide => {
            format!("(r[{}, {}] as i64)", step(level.steps / 2), level.width - 1)
        }
        Outcome::Middle => format!("(r[{}] as i64)", step(level.steps / 2)),
        Outcome::All if wide => format!("sum[k, i](r[k, i] as i64) % {MODULUS}"),
        Outcome::All => format!("sum[k](r[k] as i64) % {MODULUS}"),
    }
}
