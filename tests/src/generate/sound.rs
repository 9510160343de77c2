//! Programs in which arrays pass through every kind of door: contracts of sizes, packs, branches,
//! recursion, structs, closures, generics, pipelines, folds, directions, `try`, recurrences with and
//! without an end.
//!
//! The shape of every value is known here, so a program is right by construction, or wrong in one place
//! that is known: one operand, size or coordinate is another one than the contract allows.

use super::rng::Rng;

/// A program and what is known of it.
#[derive(Debug)]
pub struct Sound {
    /// Its lines.
    pub lines: Vec<String>,
    /// The shapes of its outputs.
    pub shapes: Vec<(String, Vec<usize>)>,
    /// The line that is wrong, from 1.
    pub wrong: Option<usize>,
}

/// What the values pass through.
const DOORS: &str = "use std::math::abs;
fn same(x: [f64; ?n], y: [f64; ?n]) -> [f64; ?n] { x + y }
fn mat(m: [f64; ?a, ?b], v: [f64; ?b]) -> [f64; ?a] { let r[i] = sum[j](m[i, j] * v[j]); r }
fn turn(m: [f64; row, col]) -> [f64; col, row] { let r[col, row] = m[row, col]; r }
fn part[j](x: [f64; ..l, j, ..r]) -> [f64; ..l, j, ..r] { let t[..l, ..r] = sum[j](abs(x[..l, j, ..r])); x[..l, j, ..r] / (1.0 + t[..l, ..r]) }
fn joined(x: [f64; ?a], y: [f64; ?b]) -> [f64; ?a + ?b] { join(x, y) }
fn pairs(x: [f64; ?n]) -> [f64; 2 * ?n] { join(x, x) }
fn halved(x: [f64; 2 * ?n]) -> [f64; ?n] { let r[i in 0..?n] = x[2 * i]; r }
fn rec(x: [f64; ?n], k: i32) -> [f64; ?n] { if k == 0 { x } else { rec(0.5 * x, k - 1) } }
fn apply(f, x) { f(x) }
fn scaled(x: [f64; ?n], by: f64 = 2.0) -> [f64; ?n] { by * x }
fn pick<T>(first: bool, a: T, b: T) -> T { if first { a } else { b } }
fn made(rows: i32) -> [f64; rows] { let r[i in 0..rows] = i as f64; r }
fn settle(x: [f64; ?n]) -> [f64; ?n] {
    let s[0, i in 0..?n] = x[i];
    let s[t in 1..40] = rec(s[t - 1], 1) until max[i](abs(s[t, i])) < 0.5;
    last[t](s)
}
fn paired(p: ([f64; ?n], [f64; ?n])) -> [f64; ?n] { p.0 + p.1 }
fn front(p: ([f64; ?n], i32)) -> [f64; ?n] { let r[i in 0..?n] = p.0[i]; r }
fn held(p: [([f64; ?n], i32); 2]) -> [f64; ?n] { p[0].0 + p[1].0 }
struct Two<T> { a: T, b: T }
fn inside(p: Two<[f64; ?n]>, x: [f64; ?n]) -> [f64; ?n] { p.a + p.b + x }
fn around[j](x: [f64; ..l, j, ..r], y: [f64; ..l, j, ..r]) -> [f64; ..l, j, ..r] {
    let f = |k: f64| { let t[..l, j, ..r] = k * x[..l, j, ..r] + y[..l, j, ..r]; t };
    f(2.0)
}
fn or<T>(o: Option<T>, x: T) -> T { match o { Option::Some(v) => v, Option::None => x } }
fn through<A, B>(f: (A) -> B, x: A) -> B { f(x) }
let square: [f64; row: 3, col: 3] = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]];
let turned: [f64; col: 3, row: 3] = turn(square);";

/// Where two arrays of one layout meet: `A` is one of them, `B` the other, `K` a number.
const MEETINGS: [&str; 23] = [
    "if K > 1 { A } else { B }",
    "match K { 0 => A, _ => B }",
    "{ let z = if K > 1 { (A, 1) } else { (B, 2) }; z.0 }",
    "{ let (z, _n) = match K { 0 => (B, 0), 1 => (A, 1), _ => (B, 2) }; z }",
    "(if K > 1 { Option::Some(A) } else { Option::Some(B) }) ?> |m| m else A",
    "{ let o = if K > 1 { Option::Some(A) } else { Option::None }; o ?> |m| m else B }",
    "{ let z = Two { a: A, b: B }; z.a + z.b }",
    "{ let z = if K > 1 { Two { a: A, b: A } } else { Two { a: B, b: B } }; z.b }",
    "{ let z = [(A, 1), (B, 2)]; z[1].0 }",
    "{ let z = [if i == 0 { A } else { B } | i in 0..2]; z[0] }",
    "{ let z[0] = (A, 1); let z[t in 1..3] = (0.5 * B, t); z[2].0 }",
    "{ let z[0] = (A, 0); let z[t in 1..3] = if t > K { (B, t) } else { z[t - 1] }; z[2].0 }",
    "(try { assert(K > 1); A }) catch |_e| B",
    "or(Option::Some(A), B)",
    "pick(K > 1, A, B)",
    "{ let f = if K > 1 { |x: f64| x * A } else { |x: f64| x * B }; f(2.0) }",
    "sum(A[B > 4.0]) * A",
    "through(|m: [f64; row, col]| m + A, B)",
    "reduce(|_s, m| m, A, [B, B])",
    "{ let z = scan(|s, m| s + m, A, [B, B]); z[1] }",
    "{ let z[i in 0..2] = A where i > 0 else B; z[1] }",
    "{ let z = 2.0 * A; jvp(z, A, B) }",
    "around[row](A, B)",
];

/// The program of a number.
pub fn sound(seed: u64) -> Sound {
    let mut rng = Rng::new(seed);
    let lines = DOORS.lines().map(str::to_owned).collect();
    let mut made = Maker { rng: &mut rng, lines, values: Vec::new(), breaks: false, broke: None };
    for _ in 0..4 {
        made.fresh();
    }
    let steps = made.rng.between(3, 9) as usize;
    let wrong = made.rng.one_in(3).then(|| made.rng.below(steps));
    for step in 0..steps {
        made.breaks = wrong == Some(step);
        made.step();
        made.breaks = false;
    }
    let Maker { lines, values, broke, .. } = made;
    Sound { lines, shapes: values, wrong: broke }
}

struct Maker<'r> {
    rng: &'r mut Rng,
    lines: Vec<String>,
    values: Vec<(String, Vec<usize>)>,
    /// Whether the next operand that has to fit shall not.
    breaks: bool,
    broke: Option<usize>,
}

impl Maker<'_> {
    fn name(&self) -> String {
        format!("v{}", self.values.len())
    }

    fn bind(&mut self, text: String, shape: Vec<usize>) {
        let name = self.name();
        self.lines.push(text);
        self.values.push((name, shape));
    }

    /// A new array of a random shape.
    fn fresh(&mut self) {
        let rank = if self.rng.one_in(3) { 2 } else { 1 };
        let shape: Vec<usize> = (0..rank).map(|_| self.rng.between(2, 5) as usize).collect();
        self.of(shape);
    }

    fn of(&mut self, shape: Vec<usize>) -> String {
        let name = self.name();
        let by = self.rng.between(1, 4);
        let text = match shape.as_slice() {
            [n] if self.rng.one_in(3) => format!("let {name} = made({n});"),
            [n] => format!("let {name}[i in 0..{n}] = (i as f64) - {by}.0;"),
            [a, b] => format!("let {name}[i in 0..{a}, j in 0..{b}] = (i * j) as f64 + {by}.5;"),
            _ => format!("let {name} = {by}.0f64;"),
        };
        self.bind(text, shape);
        name
    }

    /// A value of this rank.
    fn any(&mut self, rank: usize) -> (String, Vec<usize>) {
        let fits: Vec<_> = self.values.iter().filter(|it| it.1.len() == rank).cloned().collect();
        if let Some(found) = self.rng.pick(&fits) {
            return found.clone();
        }
        let shape: Vec<usize> = (0..rank).map(|_| self.rng.between(2, 5) as usize).collect();
        (self.of(shape.clone()), shape)
    }

    /// A value of this shape; of another one if that is to be the mistake.
    fn fitting(&mut self, shape: &[usize]) -> String {
        let mut shape = shape.to_vec();
        if self.breaks {
            let axis = self.rng.below(shape.len());
            shape[axis] += 1 + self.rng.below(2);
            self.mistake();
        }
        let fits: Vec<_> = self.values.iter().filter(|it| it.1 == shape).cloned().collect();
        match self.rng.pick(&fits) {
            Some((name, _)) if !self.rng.one_in(4) => name.clone(),
            Some(_) | None => self.of(shape),
        }
    }

    /// The statement that comes is the wrong one.
    fn mistake(&mut self) {
        self.breaks = false;
        self.broke = Some(0);
    }

    /// One more statement, through one of the doors.
    fn step(&mut self) {
        let (x, n) = {
            let (x, shape) = self.any(1);
            (x, shape[0])
        };
        let k = self.rng.between(0, 3);
        let (text, shape) = match self.rng.below(27) {
            0 => (format!("same({x}, {})", self.fitting(&[n])), vec![n]),
            1 => {
                let (m, shape) = self.any(2);
                (format!("mat({m}, {})", self.fitting(&shape[1..])), vec![shape[0]])
            }
            2 => {
                let (m, shape) = self.any(2);
                // Names of its own, which the next call may take for any others.
                (format!("{{ let z[p, q] = turn({m})[p, q]; z }}"), vec![shape[1], shape[0]])
            }
            3 => {
                let (y, shape) = self.any(1);
                (format!("joined({x}, {y})"), vec![n + shape[0]])
            }
            4 => (format!("pairs({x})"), vec![2 * n]),
            5 => {
                let half = self.rng.between(1, 3) as usize;
                let odd = usize::from(self.breaks);
                if self.breaks {
                    self.mistake();
                }
                let long = self.of(vec![2 * half + odd]);
                (format!("halved({long})"), vec![half])
            }
            6 => (format!("rec({x}, {k})"), vec![n]),
            7 => {
                // Without a contract the extent of a choice is a hidden one.
                let y = self.fitting(&[n]);
                let choice = format!("if sum({x}) > {k}.0 {{ {x} }} else {{ {y} }}");
                (format!("{{ let c: [f64; {n}] = {choice}; c }}"), vec![n])
            }
            8 => (format!("apply(|t| same(t, {}), {x})", self.fitting(&[n])), vec![n]),
            9 => (format!("{x} |> same({}) |> rec(2)", self.fitting(&[n])), vec![n]),
            10 => {
                let y = self.fitting(&[n]);
                (format!("{{ let s = Two {{ a: {x}, b: {y} }}; s.a + s.b }}"), vec![n])
            }
            11 => (format!("try same({x}, {}) catch |_e| {x}", self.fitting(&[n])), vec![n]),
            12 => {
                let y = self.fitting(&[n]);
                (format!("{{ let (p, q) = ({x}, {y}); p + q }}"), vec![n])
            }
            13 => (format!("pick(len({x}) > {k}, {x}, {})", self.fitting(&[n])), vec![n]),
            14 => {
                let y = self.fitting(&[n]);
                let choice = format!("match {k} {{ 0 => {x}, _ => {y} }}");
                (format!("{{ let c: [f64; {n}] = {choice}; c }}"), vec![n])
            }
            15 => (format!("settle({x})"), vec![n]),
            16 => (format!("scaled({x}, by = {k}.5)"), vec![n]),
            17 => {
                let (m, shape) = self.any(2);
                let axis = if self.rng.one_in(2) { "p" } else { "q" };
                let wrong = if self.breaks { "w" } else { axis };
                if self.breaks {
                    self.mistake();
                }
                (format!("{{ let z[p, q] = {m}[p, q]; part[{wrong}](z) }}"), shape)
            }
            18 => {
                let (m, shape) = self.any(2);
                let y = self.fitting(&shape[1..]);
                (format!("{{ let z[i] = same({m}[i], {y}); z }}"), shape)
            }
            19 => (format!("paired(({x}, {}))", self.fitting(&[n])), vec![n]),
            20 => (format!("{{ let t = ({x}, {k}); front(t) }}"), vec![n]),
            21 => {
                let y = self.fitting(&[n]);
                (format!("held([({x}, {k}), ({y}, 1)])"), vec![n])
            }
            22 | 23 => {
                let mut sides = ["square", "square"];
                if self.breaks {
                    sides[self.rng.below(2)] = "turned";
                    self.mistake();
                }
                let [a, b] = sides;
                let meeting = MEETINGS[self.rng.below(MEETINGS.len())];
                let meeting = meeting.replace('A', a).replace('B', b).replace('K', &k.to_string());
                (format!("{{ let q = {meeting}; q[0, 1] * made(3) }}"), vec![3])
            }
            24 => {
                let empty = "{ let (e, _n) = if len(";
                (
                    format!("{empty}{x}) > {k} {{ ({x}, 1) }} else {{ ([], 0) }}; sum(e) * {x} }}"),
                    vec![n],
                )
            }
            25 => {
                let y = self.fitting(&[n]);
                (format!("inside(Two {{ a: {x}, b: {x} }}, {y})"), vec![n])
            }
            _ => {
                let y = self.fitting(&[n]);
                let h = "let h[t in 1..4] = same(h[t - 1], ";
                (format!("{{ let h[0, i in 0..{n}] = {x}[i]; {h}{y}); h[3] }}"), vec![n])
            }
        };
        let name = self.name();
        if self.breaks && self.broke.is_none() {
            // Nothing in it has to fit: its type says something else.
            self.mistake();
            let mut other: Vec<String> = shape.iter().map(usize::to_string).collect();
            other[0] = (shape[0] + 1).to_string();
            let other = other.join(", ");
            self.bind(format!("let {name}: [f64; {other}] = {text};"), shape);
        } else {
            self.bind(format!("let {name} = {text};"), shape);
        }
        if self.broke == Some(0) {
            self.broke = Some(self.lines.len());
        }
    }
}
