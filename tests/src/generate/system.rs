//! Recurrences of several values, written in several ways, and what they compute.
//!
//! The values read each other at earlier steps, and at the same step in an order that is there but
//! not that of the text; some are rows, of which some go on from cell to cell within a step. Every program prints a number for each of them, which is
//! computed here as well, so the ways of writing are compared with something else than themselves.

use super::rng::Rng;
use std::fmt::Write;

/// A program and what it prints.
#[derive(Clone, Debug)]
pub struct Several {
    /// Its text.
    pub text: String,
    /// What it prints, line by line.
    pub printed: Vec<String>,
}

/// How the values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Each under a name of its own.
    Names,
    /// The same, with steps that run downward. No condition ends them.
    Downward,
    /// As the parts of a tuple.
    Tuple,
    /// As the fields of a struct.
    Struct,
}

/// Numbers stay below this.
const MODULUS: i64 = 997;

/// What is added up in a step.
struct Term {
    factor: i64,
    /// Which value, how many steps back, and where in its row: at the own place, or at a fixed one.
    value: usize,
    back: usize,
    place: Option<usize>,
}

struct Value {
    /// The length of its row; 0 for a number.
    width: usize,
    first: i64,
    terms: Vec<Term>,
    /// What the cell before in its row counts for, in the same step.
    chain: Option<i64>,
}

struct Model {
    values: Vec<Value>,
    /// The order within a step.
    order: Vec<usize>,
    steps: usize,
    /// Which value ends the steps, if its first number has this remainder.
    until: Option<(usize, i64, i64)>,
}

/// The program with this number, in this form.
pub fn several(seed: u64, form: Form) -> Several {
    let mut rng = Rng::new(seed);
    let mut model = Model::new(&mut rng);
    if form == Form::Downward {
        model.until = None;
    }
    let text = model.text(&mut rng, form);
    Several { text, printed: model.printed() }
}

fn name(value: usize) -> char {
    (b'a' + value as u8) as char
}

impl Model {
    fn new(rng: &mut Rng) -> Model {
        let count = 2 + rng.below(3);
        let mut order: Vec<usize> = (0..count).collect();
        for at in (1..count).rev() {
            order.swap(at, rng.below(at + 1));
        }
        let alike = rng.one_in(2);
        let width = rng.below(4);
        let widths: Vec<usize> =
            (0..count).map(|_| if alike { width } else { rng.below(4) }).collect();
        let mut values = Vec::new();
        for at in 0..count {
            let mut terms = Vec::new();
            for number in 0..1 + rng.below(3) {
                // The first one closes the ring, so that all of them are one system.
                let value = if number == 0 { (at + 1) % count } else { rng.below(count) };
                let rank = |value: usize| order.iter().position(|own| *own == value);
                let same_step = rank(value) < rank(at);
                let back = if same_step && number > 0 { rng.below(3) } else { 1 + rng.below(2) };
                let place = match widths[value] {
                    0 => None,
                    wide if wide >= widths[at] && widths[at] > 0 && rng.one_in(2) => None,
                    wide => Some(rng.below(wide)),
                };
                let factor = rng.between(1, 9);
                terms.push(Term { factor, value, back, place });
            }
            values.push(Value { width: widths[at], first: rng.between(0, 50), terms, chain: None });
        }
        if rng.one_in(3) {
            for value in values.iter_mut().filter(|value| value.width > 0) {
                value.chain = rng.one_in(2).then(|| rng.between(1, 9));
            }
        }
        let until = rng.one_in(3).then(|| {
            let modulus = rng.between(3, 11);
            (rng.below(count), modulus, rng.between(0, modulus - 1))
        });
        Model { values, order, steps: 4 + rng.below(30), until }
    }

    // ---------------------------------------------------------------- what it computes

    fn printed(&self) -> Vec<String> {
        let mut steps: Vec<Vec<Vec<i64>>> = Vec::new();
        for t in 0..self.steps {
            let mut now: Vec<Vec<i64>> = vec![Vec::new(); self.values.len()];
            for at in &self.order {
                let value = &self.values[*at];
                let cells = value.width.max(1);
                let mut row: Vec<i64> = Vec::with_capacity(cells);
                for i in 0..cells {
                    let before = value.chain.zip(row.last()).map_or(0, |(factor, it)| factor * it);
                    let read = |term: &Term| {
                        let from = if term.back == 0 { &now } else { &steps[t - term.back] };
                        let row = &from[term.value];
                        let place = term.place.unwrap_or(if row.len() > 1 { i } else { 0 });
                        term.factor * row[place]
                    };
                    row.push(match t {
                        0 | 1 => value.first + (t * 3 + i) as i64,
                        _ => {
                            let sum: i64 = value.terms.iter().map(read).sum();
                            (sum + before + i as i64) % MODULUS
                        }
                    });
                }
                now[*at] = row;
            }
            let ends = |&(value, modulus, rest): &(usize, i64, i64)| {
                t >= 2 && now[value][0] % modulus == rest
            };
            let last = self.until.as_ref().is_some_and(ends);
            steps.push(now);
            if last {
                break;
            }
        }
        let mut printed = Vec::new();
        for (at, value) in self.values.iter().enumerate() {
            let mut sum = 0;
            for (t, step) in steps.iter().enumerate() {
                for (i, cell) in step[at].iter().enumerate() {
                    let weight = 31 * t as i64 + 7 * if value.width > 0 { i as i64 } else { 0 } + 1;
                    sum += weight * cell;
                }
            }
            printed.push(format!("{} {sum}", steps.len()));
        }
        printed
    }

    // ---------------------------------------------------------------- how it is written

    fn text(&self, rng: &mut Rng, form: Form) -> String {
        let mut text = match form {
            Form::Names | Form::Downward => self.names(rng, form == Form::Downward),
            Form::Tuple | Form::Struct => self.states(form),
        };
        for (at, value) in self.values.iter().enumerate() {
            let n = format!("n{at}");
            let (read, length) = match form {
                Form::Names => (format!("{}[t", name(at)), name(at).to_string()),
                Form::Downward => (format!("{}[{n} - 1 - t", name(at)), name(at).to_string()),
                Form::Tuple | Form::Struct => (format!("s[t]{}", part(form, at)), "s".into()),
            };
            let _ = writeln!(text, "let {n} = len({length});");
            let cell = match (form, value.width) {
                (Form::Names | Form::Downward, 0) => format!("{read}]"),
                (Form::Names | Form::Downward, _) => format!("{read}, i]"),
                (_, 0) => read,
                (..) => format!("{read}[i]"),
            };
            let indices = match value.width {
                0 => format!("t in 0..{n}"),
                width => format!("t in 0..{n}, i in 0..{width}"),
            };
            let inside = if value.width > 0 { " + 7 * i" } else { "" };
            let _ = writeln!(
                text,
                "print({n}, sum[{indices}](((31 * t{inside} + 1) as i64) * {cell}));"
            );
        }
        text
    }

    fn sum(&self, at: usize, read: &dyn Fn(&Term, &str) -> String) -> String {
        let value = &self.values[at];
        let terms: Vec<String> = value
            .terms
            .iter()
            .map(|term| {
                let place = match (self.values[term.value].width, term.place) {
                    (0, _) => String::new(),
                    (_, Some(place)) => place.to_string(),
                    (_, None) => "i".to_owned(),
                };
                format!("{}i64 * {}", term.factor, read(term, &place))
            })
            .collect();
        let own = if value.width > 0 { " + (i as i64)" } else { "" };
        let chain = value.chain.map_or(String::new(), |factor| {
            let before = Term { factor, value: at, back: 0, place: None };
            format!(" + (if i > 0 {{ {factor}i64 * {} }} else {{ 0i64 }})", read(&before, "i - 1"))
        });
        format!("({}{own}{chain}) % {MODULUS}i64", terms.join(" + "))
    }

    fn until(&self, at: usize, read: &str) -> String {
        match self.until {
            Some((value, modulus, rest)) if value == at => {
                format!(" until {read} % {modulus}i64 == {rest}i64")
            }
            _ => String::new(),
        }
    }

    fn names(&self, rng: &mut Rng, downward: bool) -> String {
        let mut clauses = Vec::new();
        for (at, value) in self.values.iter().enumerate() {
            let own = name(at);
            let (slot, index) = match value.width {
                0 => (String::new(), String::new()),
                width => (format!(", i in 0..{width}"), " + (i as i64)".to_owned()),
            };
            let place = |t: usize| if downward { self.steps - 1 - t } else { t };
            for t in 0..2 {
                let first = value.first + 3 * t as i64;
                let mut clause = format!("{first}i64{index}");
                if t == 1 && rng.one_in(3) {
                    // Three more than at the step before, by way of a definition.
                    let row = if value.width > 0 { ", i" } else { "" };
                    let before = format!("{own}[{}{row}]", place(0));
                    clause = format!(
                        "{{ let w[k in 0..5] = sum[m in 0..2]({before} + ((m + k) as i64)); (w[1] + 3i64) / 2i64 }}"
                    );
                }
                clauses.push(format!("let {own}[{}{slot}] = {clause};", place(t)));
            }
            let sum = self.sum(at, &|term, place| {
                let of = name(term.value);
                let sign = if downward { '+' } else { '-' };
                let t = if term.back == 0 { "t".into() } else { format!("t {sign} {}", term.back) };
                match place {
                    "" => format!("{of}[{t}]"),
                    place => format!("{of}[{t}, {place}]"),
                }
            });
            let first = if value.width > 0 { format!("{own}[t, 0]") } else { format!("{own}[t]") };
            let until = self.until(at, &first);
            let (lo, hi) = if downward { (0, self.steps - 2) } else { (2, self.steps) };
            clauses.push(format!("let {own}[t in {lo}..{hi}{slot}] = {sum}{until};"));
        }
        for at in (1..clauses.len()).rev() {
            clauses.swap(at, rng.below(at + 1));
        }
        clauses.join("\n") + "\n"
    }

    fn states(&self, form: Form) -> String {
        let mut text = String::new();
        if form == Form::Struct {
            let fields: Vec<String> = self
                .values
                .iter()
                .enumerate()
                .map(|(at, value)| match value.width {
                    0 => format!("{}: i64", name(at)),
                    width => format!("{}: [i64; {width}]", name(at)),
                })
                .collect();
            let _ = writeln!(text, "struct State {{ {} }}", fields.join(", "));
        }
        let put = |values: Vec<String>| match form {
            Form::Struct => {
                let fields: Vec<String> = values
                    .into_iter()
                    .enumerate()
                    .map(|(at, value)| format!("{}: {value}", name(at)))
                    .collect();
                format!("State {{ {} }}", fields.join(", "))
            }
            Form::Names | Form::Downward | Form::Tuple => format!("({})", values.join(", ")),
        };
        for t in 0..2 {
            let values = self.values.iter().map(|value| match value.width {
                0 => format!("{}i64", value.first + 3 * t),
                width => {
                    let cells: Vec<String> = (0..width as i64)
                        .map(|i| format!("{}i64", value.first + 3 * t + i))
                        .collect();
                    format!("[{}]", cells.join(", "))
                }
            });
            let _ = writeln!(text, "let s[{t}] = {};", put(values.collect()));
        }
        let _ = writeln!(text, "let s[t in 2..{}] = {{", self.steps);
        for at in &self.order {
            let sum = self.sum(*at, &|term, place| {
                let of = match term.back {
                    0 => format!("now_{}", name(term.value)),
                    back => format!("s[t - {back}]{}", part(form, term.value)),
                };
                match place {
                    "" => of,
                    place => format!("{of}[{place}]"),
                }
            });
            let own = name(*at);
            let slot = match self.values[*at].width {
                0 => String::new(),
                width => format!("[i in 0..{width}]"),
            };
            let _ = writeln!(text, "    let now_{own}{slot} = {sum};");
        }
        let values = (0..self.values.len()).map(|at| format!("now_{}", name(at))).collect();
        let until = match self.until {
            Some((at, ..)) => {
                let place = if self.values[at].width > 0 { "[0]" } else { "" };
                self.until(at, &format!("s[t]{}{place}", part(form, at)))
            }
            None => String::new(),
        };
        let _ = writeln!(text, "    {}\n}}{until};", put(values));
        text
    }
}

fn part(form: Form, at: usize) -> String {
    match form {
        Form::Struct => format!(".{}", name(at)),
        Form::Names | Form::Downward | Form::Tuple => format!(".{at}"),
    }
}
