//! Recurrences of rows whose steps are made of definitions, and what they compute.
//!
//! A definition reads the step before and the definitions above it, at several positions: beside its own,
//! around the ends, mirrored, or anywhere. Some are in functions, some hold under a condition, some are
//! recurrences themselves that read another definition in each of their steps. What a program prints is
//! computed here as well.

use super::rng::Rng;
use super::system::Several;
use std::fmt::Write;

/// Numbers stay below this.
const MODULUS: i64 = 97;

/// Where a row is read for the cell at `i`.
#[derive(Clone, Copy)]
enum Place {
    Own,
    Around(i64),
    Below,
    Above,
    Mirrored,
    Strided(i64),
}

/// A multiple of a cell of a row: of the step before, or of a definition.
struct Term {
    factor: i64,
    row: usize,
    place: Place,
}

/// A row of a step.
struct Row {
    terms: Vec<Term>,
    plus: i64,
    /// The cell that has another value, and which.
    hole: Option<(i64, i64)>,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Named in the step.
    Named,
    /// The result of a function of the rows that it reads.
    Called,
    /// The last of so many steps, each of which adds the terms again.
    Recurrent(i64),
}

/// A program.
struct Body {
    ty: &'static str,
    width: i64,
    steps: i64,
    rows: Vec<Row>,
    in_function: bool,
}

/// The program with this number.
pub fn bodies(seed: u64) -> Several {
    let mut rng = Rng::new(seed);
    let width = [1, 5, 32, 33, 48, 65][rng.below(6)];
    let count = 1 + rng.below(4);
    let rows = (0..=count).map(|at| row(&mut rng, at, at == count, width)).collect();
    let ty = ["i64", "i32", "f64", "f32"][rng.below(4)];
    let (steps, in_function) = (rng.between(2, 7), rng.one_in(2));
    let body = Body { ty, width, steps, rows, in_function };
    Several { text: text(&body), printed: vec![printed(&body)] }
}

fn row(rng: &mut Rng, at: usize, last: bool, width: i64) -> Row {
    let count = rng.between(1, 4);
    let terms = (0..count)
        .map(|_| {
            let place = match rng.below(8) {
                0 | 1 => Place::Own,
                2 | 3 => Place::Around(rng.between(1, 70)),
                4 => Place::Below,
                5 => Place::Above,
                6 => Place::Mirrored,
                _ => Place::Strided(rng.between(2, 5)),
            };
            // Most rows read the one above them.
            let row = if rng.one_in(2) { at } else { rng.below(at + 1) };
            Term { factor: rng.between(-3, 4), row, place }
        })
        .collect();
    let hole = rng.one_in(5).then(|| (rng.between(0, width - 1), rng.between(0, 9)));
    let kind = match rng.below(6) {
        _ if last => Kind::Named,
        0 => Kind::Recurrent(rng.between(1, 4)),
        1 | 2 => Kind::Called,
        _ => Kind::Named,
    };
    Row { terms, plus: rng.between(0, 9), hole, kind }
}

impl Place {
    fn of(self, i: i64, width: i64) -> i64 {
        match self {
            Place::Own => i,
            Place::Around(by) => (i + by) % width,
            Place::Below => (i - 1).max(0),
            Place::Above => (i + 1).min(width - 1),
            Place::Mirrored => width - 1 - i,
            Place::Strided(by) => (i * by + 1) % width,
        }
    }

    fn text(self, width: i64) -> String {
        match self {
            Place::Own => "i".into(),
            Place::Around(by) => format!("(i + {by}) % {width}"),
            Place::Below => "max(i - 1, 0)".into(),
            Place::Above => format!("min(i + 1, {})", width - 1),
            Place::Mirrored => format!("{} - i", width - 1),
            Place::Strided(by) => format!("(i * {by} + 1) % {width}"),
        }
    }
}

// ---------------------------------------------------------------- what it computes

fn printed(body: &Body) -> String {
    let width = body.width;
    let mut step: Vec<i64> = (0..width).map(|i| (i * 7 + 3) % MODULUS).collect();
    for _ in 1..body.steps {
        let mut rows = vec![step];
        for row in &body.rows {
            let added = |i: i64| -> i64 {
                row.terms
                    .iter()
                    .map(|it| it.factor * rows[it.row][it.place.of(i, width) as usize])
                    .sum()
            };
            let own = |i: i64| match row.hole {
                Some((hole, value)) if hole == i => value,
                _ => (added(i) + row.plus) % MODULUS,
            };
            let made = match row.kind {
                Kind::Named | Kind::Called => (0..width).map(own).collect(),
                Kind::Recurrent(count) => {
                    let mut before: Vec<i64> = (0..width).collect();
                    for _ in 0..count {
                        let turned = |i: i64| before[((i + 1) % width) as usize];
                        before = (0..width).map(|i| (turned(i) + own(i)) % MODULUS).collect();
                    }
                    before
                }
            };
            rows.push(made);
        }
        step = rows.pop().unwrap_or_default();
    }
    (0..).zip(&step).map(|(i, cell): (i64, &i64)| (i + 1) * cell).sum::<i64>().to_string()
}

// ---------------------------------------------------------------- how it is written

fn name(row: usize) -> String {
    if row == 0 { "v".into() } else { format!("d{row}") }
}

fn text(body: &Body) -> String {
    let Body { ty, width, steps, .. } = body;
    let mut functions = String::new();
    let mut lines = String::new();
    for (at, row) in body.rows.iter().enumerate() {
        let own = name(at + 1);
        let value = value(row, *width);
        match row.kind {
            Kind::Named => {
                let _ = writeln!(lines, "    let {own}[i in 0..{width}] = {};", cast(&value, ty));
            }
            Kind::Called => {
                let mut reads: Vec<usize> = row.terms.iter().map(|it| it.row).collect();
                reads.sort_unstable();
                reads.dedup();
                let names: Vec<String> = reads.iter().map(|row| name(*row)).collect();
                let params: Vec<String> =
                    names.iter().map(|name| format!("{name}: [{ty}; {width}]")).collect();
                let _ = writeln!(
                    functions,
                    "fn f{at}({}) -> [{ty}; {width}] {{\n    let o[i in 0..{width}] = {};\n    o\n}}",
                    params.join(", "),
                    cast(&value, ty)
                );
                let _ = writeln!(lines, "    let {own} = f{at}({});", names.join(", "));
            }
            Kind::Recurrent(count) => {
                let first = cast("(i as i64)", ty);
                let next =
                    format!("((r{at}[q - 1, (i + 1) % {width}] as i64) + ({value})) % {MODULUS}");
                let _ = writeln!(lines, "    let r{at}[0, i in 0..{width}] = {first};");
                let _ = writeln!(
                    lines,
                    "    let r{at}[q in 1..{}, i in 0..{width}] = {};",
                    count + 1,
                    cast(&next, ty)
                );
                let _ = writeln!(lines, "    let {own} = r{at}[{count}];");
            }
        }
    }
    let last = name(body.rows.len());
    let start = cast(&format!("((i * 7 + 3) % {MODULUS}) as i64"), ty);
    let mut text = format!("{functions}let first[i in 0..{width}] = {start};\nlet u[0] = first;\n");
    if body.in_function {
        let _ = writeln!(
            text,
            "fn step(v: [{ty}; {width}]) -> [{ty}; {width}] {{\n{lines}    {last}\n}}"
        );
        let _ = writeln!(text, "let u[t in 1..{steps}] = step(u[t - 1]);");
    } else {
        let _ = writeln!(
            text,
            "let u[t in 1..{steps}] = {{\n    let v = u[t - 1];\n{lines}    {last}\n}};"
        );
    }
    let _ = writeln!(text, "print(sum[i]((i + 1) as i64 * (u[{}, i] as i64)));", steps - 1);
    text
}

/// The value of a row as a number of 64 bits.
fn value(row: &Row, width: i64) -> String {
    let terms = row
        .terms
        .iter()
        .map(|it| format!("({}) * ({}[{}] as i64)", it.factor, name(it.row), it.place.text(width)));
    let terms: Vec<String> = terms.collect();
    let sum = format!("({} + {}) % {MODULUS}", terms.join(" + "), row.plus);
    match row.hole {
        Some((hole, value)) => format!("(if i == {hole} {{ {value}i64 }} else {{ {sum} }})"),
        None => sum,
    }
}

fn cast(value: &str, ty: &str) -> String {
    format!("({value}) as {ty}")
}
