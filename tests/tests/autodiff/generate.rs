//! Random programs that compute one number from parameters, written so that their derivatives can
//! be judged: smooth almost everywhere, with values of moderate size.
//!
//! The program is written three times under other names: at the parameters, and a little to either
//! side along a random direction. The gradient of the first must agree with a tangent along that
//! direction, and with the difference of the other two.

mod bound;
mod calls;
mod crossed;
mod descents;
mod nested;
mod repeats;
mod within;

use std::fmt::Write;

/// Random numbers that depend on the seed only: SplitMix64.
pub struct Rng(u64);

impl Rng {
    /// The numbers of a seed.
    pub fn new(seed: u64) -> Rng {
        Rng(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D_4C95_7F2D)
    }

    /// From 0 up to but not including `end`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % end.max(1) as u64) as usize
    }

    /// Whether something of this chance happens.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }
}

/// How far to either side.
pub const STEP: f64 = 2e-6;

/// An array, or a number, that the program has defined; `~` in a text is where a name of a copy
/// gets its suffix.
#[derive(Clone)]
struct Value {
    name: String,
    shape: Vec<usize>,
}

struct Gen {
    rng: Rng,
    values: Vec<Value>,
    /// Without a suffix: the same for all copies.
    shared: String,
    body: String,
    next: usize,
    funcs: Vec<(String, usize)>,
    tables: Vec<(String, usize, usize)>,
    /// Functions of whole arrays.
    wholes: Vec<calls::Whole>,
}

/// A generated program, and what to look at.
pub struct Program {
    /// The source.
    pub text: String,
    /// The names of the parameters.
    pub params: Vec<String>,
    /// The step of the differences.
    pub step: f64,
    /// Whether it computes in a function whose extents are open, so that equal ones may not be known to be.
    pub within: bool,
}

/// The program with this number; with `second`, of the gradient by the first parameter as well.
pub fn program(seed: u64, second: bool, step: f64) -> Program {
    let mut it = Gen {
        rng: Rng::new(seed ^ 0xD1FF),
        values: Vec::new(),
        shared: String::from("use std::math::{exp, ln, sin, cos, tanh, sqrt, min, max, clamp};\n"),
        body: String::new(),
        next: 0,
        funcs: Vec::new(),
        tables: Vec::new(),
        wholes: Vec::new(),
    };
    let mut params = Vec::new();
    let shapes: Vec<Vec<usize>> = match it.rng.below(4) {
        0 => vec![vec![3], vec![]],
        1 => vec![vec![4], vec![3, 4]],
        2 => vec![vec![3], vec![3, 3], vec![]],
        _ => vec![vec![4], vec![2]],
    };
    let mut text = String::new();
    let mut sides = [String::new(), String::new(), String::new()];
    for shape in shapes {
        let name = it.fresh("x");
        let ty = kind(&shape);
        let count = shape.iter().product::<usize>();
        let value: Vec<f64> = (0..count).map(|_| it.number()).collect();
        let direction: Vec<f64> = (0..count).map(|_| it.number()).collect();
        let _ = writeln!(text, "let d{name}: {ty} = {};", literal(&direction, &shape));
        for (side, sign) in sides.iter_mut().zip([0.0, 1.0, -1.0]) {
            let suffix = ["", "_p", "_m"][sign_index(sign)];
            let moved: Vec<f64> =
                value.iter().zip(&direction).map(|(x, d)| x + sign * step * d).collect();
            let _ = writeln!(side, "let {name}{suffix}: {ty} = {};", literal(&moved, &shape));
        }
        it.values.push(Value { name: name.clone(), shape });
        params.push(name);
    }
    if it.rng.one_in(2) {
        it.function();
    }
    it.table();
    for _ in 0..2 + it.rng.below(4) {
        it.statement();
    }
    it.loss();
    // Two of five stand in a function, whose extents are open.
    let within = (it.rng.below(5) < 2).then(|| it.within(&params));
    text.insert_str(0, &it.shared);
    for (side, suffix) in sides.iter().zip(["", "_p", "_m"]) {
        text.push_str(side);
        match &within {
            Some(within) => {
                let _ = writeln!(text, "let loss{suffix} = {};", within.loss(suffix));
            }
            None => text.push_str(&it.body.replace('~', suffix)),
        }
    }
    let gradient = |suffix: &str, name: &str| match &within {
        Some(within) if name == params[0] => within.gradient(suffix, name),
        _ => format!("@loss{suffix} / @{name}{suffix}"),
    };
    for name in &params {
        let _ = writeln!(text, "let g_{name} = {};", gradient("", name));
        let _ = writeln!(text, "let f_{name} = jvp(loss, {name}, d{name});");
    }
    if second {
        let name = &params[0];
        for suffix in ["_p", "_m"] {
            let _ = writeln!(text, "let g{suffix}_{name} = {};", gradient(suffix, name));
        }
        let _ = writeln!(text, "let hessian_{name} = @g_{name} / @{name};");
        for other in &params[1..] {
            let _ = writeln!(text, "let mixed_{other} = jvp(g_{name}, {other}, d{other});");
        }
        // Back through what went back: how the slope along the direction changes with all of them.
        let _ = writeln!(text, "let slope = sum[i](g_{name}[i] * d{name}[i]);");
        for name in &params {
            let _ = writeln!(text, "let twice_{name} = @slope / @{name};");
        }
    }
    let within = within.is_some();
    Program { text, params, step, within }
}

fn sign_index(sign: f64) -> usize {
    if sign == 0.0 {
        0
    } else if sign > 0.0 {
        1
    } else {
        2
    }
}

fn kind(shape: &[usize]) -> String {
    if shape.is_empty() {
        return "f64".into();
    }
    let extents: Vec<String> = shape.iter().map(ToString::to_string).collect();
    format!("[f64; {}]", extents.join(", "))
}

fn literal(values: &[f64], shape: &[usize]) -> String {
    match shape {
        [] => format!("{:?}", values[0]),
        [_] => {
            let items: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
            format!("[{}]", items.join(", "))
        }
        [_, rest @ ..] => {
            let block = rest.iter().product::<usize>();
            let rows: Vec<String> =
                values.chunks(block).map(|chunk| literal(chunk, rest)).collect();
            format!("[{}]", rows.join(", "))
        }
    }
}

impl Gen {
    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    /// A number between 0.2 and 1.5, of either sign.
    fn number(&mut self) -> f64 {
        let size = 0.2 + self.rng.below(1_300_000) as f64 / 1e6;
        if self.rng.one_in(2) { -size } else { size }
    }

    fn constant(&mut self) -> String {
        format!("{:.3}f64", self.number().abs())
    }

    fn function(&mut self) {
        let name = self.fresh("f");
        let body = match self.rng.below(6) {
            0 => "{ let u = a * b; u * u + sin(u) }".to_string(),
            1 => "{ if a > b { a * a } else { tanh(b) * a } }".to_string(),
            2 => "{ let (u, w) = (a * a, cos(b)); u * w + u }".to_string(),
            3 => "{ let p[k in 0..3] = a * b ** k; sum[k](p[k] * p[k]) }".to_string(),
            4 => nested::ROLLOUT.to_string(),
            _ => "{ exp(-a * a) / (1.0 + b * b) }".to_string(),
        };
        let _ = writeln!(self.shared, "fn {name}(a: f64, b: f64) -> f64 {body}");
        self.funcs.push((name, 2));
    }

    /// Positions that are data.
    fn table(&mut self) {
        let name = self.fresh("t");
        let (length, bound) = (3 + self.rng.below(3), 2 + self.rng.below(2));
        let items: Vec<String> = (0..length).map(|_| self.rng.below(bound).to_string()).collect();
        let _ = writeln!(self.shared, "let {name} = [{}];", items.join(", "));
        self.tables.push((name, length, bound));
    }

    /// An index into an axis of this extent, from index variables with their ranges.
    fn place(&mut self, extent: usize, indices: &[(String, usize)]) -> String {
        let fits: Vec<(String, usize)> =
            indices.iter().filter(|(_, range)| *range <= extent).cloned().collect();
        let choice = self.rng.below(8);
        if self.rng.one_in(6)
            && let Some((name, _)) = self.rng.pick(indices).cloned()
        {
            return self.clamped(extent, &name);
        }
        if let Some((name, range)) = self.rng.pick(&fits).cloned() {
            let room = extent - range;
            return match choice {
                0 if room > 0 => format!("{name} + {}", 1 + self.rng.below(room)),
                1 => format!("{} - {name}", extent - 1),
                2 if 2 * (range - 1) < extent => format!("2 * {name}"),
                3 => format!("{name} / 2"),
                4 => {
                    let tables: Vec<(String, usize, usize)> = self
                        .tables
                        .iter()
                        .filter(|(_, length, bound)| *length >= range && *bound <= extent)
                        .cloned()
                        .collect();
                    match self.rng.pick(&tables) {
                        Some((table, _, _)) => format!("{table}[{name}]"),
                        None => name,
                    }
                }
                _ => name,
            };
        }
        match self.rng.pick(indices).cloned() {
            Some((name, _)) if choice < 4 => format!("{name} % {extent}"),
            _ => self.rng.below(extent).to_string(),
        }
    }

    fn read(&mut self, indices: &[(String, usize)]) -> String {
        let values = self.values.clone();
        let Some(value) = self.rng.pick(&values).cloned() else { return "1.0".into() };
        if value.shape.is_empty() {
            return format!("{}~", value.name);
        }
        let at: Vec<String> =
            value.shape.iter().map(|extent| self.place(*extent, indices)).collect();
        format!("{}~[{}]", value.name, at.join(", "))
    }

    /// A number of moderate size.
    fn expr(&mut self, depth: usize, indices: &[(String, usize)]) -> String {
        if depth == 0 {
            return match self.rng.below(6) {
                0 => self.constant(),
                _ => self.read(indices),
            };
        }
        let a = self.expr(depth - 1, indices);
        match self.rng.below(17) {
            0 | 1 => format!("({a} + {})", self.expr(depth - 1, indices)),
            2 => format!("({a} - {})", self.expr(depth - 1, indices)),
            3 | 4 => format!("{a} * {}", self.expr(depth - 1, indices)),
            5 => format!("{a} / (1.5 + sin({}))", self.expr(depth - 1, indices)),
            6 => format!("sin({a})"),
            7 => format!("tanh({a})"),
            8 => format!("exp(-({a}) * ({a}))"),
            9 => format!("sqrt(1.0 + ({a}) ** 2)"),
            10 => format!("ln(2.0 + cos({a}))"),
            11 => {
                let (b, c) = (self.expr(depth - 1, indices), self.expr(depth - 1, indices));
                let bound = self.constant();
                format!("if {a} > {bound} {{ {b} }} else {{ {c} }}")
            }
            12 => match self.rng.pick(&self.funcs.clone()) {
                Some((name, _)) => {
                    let b = self.expr(depth - 1, indices);
                    format!("{name}({a}, {b})")
                }
                None => format!("({a}) ** 3"),
            },
            13 => {
                let k = self.fresh("k");
                let range = 2 + self.rng.below(2);
                let mut inner = indices.to_vec();
                inner.push((k.clone(), range));
                let body = self.expr(depth - 1, &inner);
                let op = ["sum", "mean", "max", "min", "prod", "sum"][self.rng.below(6)];
                format!("{op}[{k} in 0..{range}]({body})")
            }
            14 => {
                let k = self.fresh("k");
                let z = self.fresh("z");
                let range = 2 + self.rng.below(3);
                let mut inner = indices.to_vec();
                inner.push((k.clone(), range));
                let body = self.expr(depth - 1, &inner);
                let least = self.rng.below(2);
                format!("sum[{k} in 0..{range}]({z} * {z} where {z} = {body}, {k} >= {least})")
            }
            15 => match indices.first() {
                Some((name, _)) => {
                    let b = self.expr(depth - 1, indices);
                    format!("match {name} % 3 {{ 0 => {a}, 1 => {b}, _ => 0.5f64 }}")
                }
                None => format!("{{ let u = {a}; u * u + u }}"),
            },
            _ => a,
        }
    }

    fn statement(&mut self) {
        let name = self.fresh("y");
        let (i, j) = (self.fresh("i"), self.fresh("j"));
        let (n, m) = (2 + self.rng.below(3), 2 + self.rng.below(3));
        let depth = 1 + self.rng.below(2);
        let one = [(i.clone(), n)];
        let two = [(i.clone(), n), (j.clone(), m)];
        match self.rng.below(40) {
            34 | 35 => self.guarded_blocks(name),
            36 | 37 => self.bound_steps(name),
            38 | 39 => self.unequal_parts(name),
            28..=33 => self.called(name),
            27 => self.descent(name),
            20..=22 => self.crossed(name),
            23 | 24 => self.crossed_steps(name),
            25 | 26 => self.crossed_rows(name),
            16 | 17 => self.repeated(name),
            18 => self.extremum(name),
            19 => self.carried(name),
            12 => self.comprehension(name),
            13 => self.convolution(name),
            14 => self.steps_of_steps(name),
            15 => self.variants(name),
            0 => {
                let e = self.expr(depth + 1, &[]);
                let _ = writeln!(self.body, "let {name}~ = 2.0 * tanh(0.5 * ({e}));");
                self.values.push(Value { name, shape: Vec::new() });
            }
            1 | 2 => {
                let e = self.expr(depth, &one);
                let _ = writeln!(self.body, "let {name}~[{i} in 0..{n}] = sin({e});");
                self.values.push(Value { name, shape: vec![n] });
            }
            3 => {
                let e = self.expr(depth, &two);
                let _ = writeln!(self.body, "let {name}~[{i} in 0..{n}, {j} in 0..{m}] = {e};");
                self.values.push(Value { name, shape: vec![n, m] });
            }
            4 => {
                // A matrix product under a function.
                let (a, b) = (self.read(&two), self.read(&two));
                let e = self.expr(1, &one);
                let _ = writeln!(
                    self.body,
                    "let {name}~[{i} in 0..{n}] = tanh(sum[{j} in 0..{m}]({a} * {b})) + {e};"
                );
                self.values.push(Value { name, shape: vec![n] });
            }
            5 => {
                let (e, c) = (self.expr(depth, &one), self.expr(1, &one));
                let bound = self.constant();
                let otherwise = if self.rng.one_in(2) {
                    format!(" else {}", self.expr(1, &one))
                } else {
                    String::new()
                };
                let _ = writeln!(
                    self.body,
                    "let {name}~[{i} in 0..{n}] = {e} where {c} < {bound}{otherwise};"
                );
                self.values.push(Value { name, shape: vec![n] });
            }
            6 => {
                let (first, rest) = (self.expr(depth, &[]), self.expr(depth, &one));
                if self.rng.one_in(2) {
                    let _ = writeln!(self.body, "let {name}~[0] = {first};");
                    let _ = writeln!(self.body, "let {name}~[{i} in 1..{n}] = cos({rest});");
                } else {
                    // The second clause replaces a point of the first.
                    let at = self.rng.below(n);
                    let _ = writeln!(self.body, "let {name}~[{i} in 0..{n}] = {rest};");
                    let _ = writeln!(self.body, "let {name}~[{at}] = {first};");
                }
                self.values.push(Value { name, shape: vec![n] });
            }
            7 => {
                let t = self.fresh("s");
                let (first, e) = (self.expr(1, &[]), self.expr(1, &[(t.clone(), n)]));
                let c = self.constant();
                let _ = writeln!(self.body, "let {name}~[0] = {first};");
                let _ = writeln!(
                    self.body,
                    "let {name}~[{t} in 1..{n}] = tanh({c} * {name}~[{t} - 1] + {e}) * {name}~[{t} - 1];"
                );
                self.values.push(Value { name, shape: vec![n] });
            }
            8 => {
                let t = self.fresh("s");
                let k = self.fresh("k");
                let steps = 3 + self.rng.below(2);
                let index = [(t.clone(), steps), (j.clone(), m)];
                let (first, e) = (self.expr(1, &[(j.clone(), m)]), self.expr(1, &index));
                let w = self.read(&[(j.clone(), m), (k.clone(), m)]);
                let _ = writeln!(self.body, "let {name}~[0, {j} in 0..{m}] = {first};");
                let _ = writeln!(
                    self.body,
                    "let {name}~[{t} in 1..{steps}, {j} in 0..{m}] = tanh(sum[{k} in 0..{m}]({w} * {name}~[{t} - 1, {k}]) + {e});"
                );
                self.values.push(Value { name, shape: vec![steps, m] });
            }
            9 => {
                // Two steps back.
                let t = self.fresh("s");
                let steps = 4;
                let e = self.expr(1, &[(t.clone(), steps)]);
                let (a, b) = (self.expr(1, &[]), self.expr(1, &[]));
                let _ = writeln!(self.body, "let {name}~[0] = {a};\nlet {name}~[1] = {b};");
                let _ = writeln!(
                    self.body,
                    "let {name}~[{t} in 2..{steps}] = 0.5 * {name}~[{t} - 1] - {e} * sin({name}~[{t} - 2]);"
                );
                self.values.push(Value { name, shape: vec![steps] });
            }
            10 => {
                // Whole arrays.
                let vectors: Vec<Value> =
                    self.values.iter().filter(|it| it.shape.len() == 1).cloned().collect();
                let Some(a) = self.rng.pick(&vectors).cloned() else { return };
                let n = a.shape[0];
                let e = match self.rng.below(4) {
                    0 => format!("{0}~ * {0}~ + 1.0", a.name),
                    1 => format!("sin({}~) * 2.0", a.name),
                    2 if n > 2 => format!("{}~[1..{n}] * 0.5", a.name),
                    _ => format!("{0}~ - {0}~ * 0.3", a.name),
                };
                let cut = e.contains("..");
                let _ = writeln!(self.body, "let {name}~ = {e};");
                self.values.push(Value { name, shape: vec![if cut { n - 1 } else { n }] });
            }
            _ => {
                // Softmax.
                let k = self.fresh("k");
                let a = self.read(&one);
                let b = self.read(&[(k.clone(), m)]);
                let _ = writeln!(
                    self.body,
                    "let {name}~[{i} in 0..{n}] = exp(sin({a})) / sum[{k} in 0..{m}](exp(sin({b})));"
                );
                self.values.push(Value { name, shape: vec![n] });
            }
        }
    }

    /// One number from the last values.
    fn loss(&mut self) {
        let mut parts = Vec::new();
        let last: Vec<Value> = self.values.iter().rev().take(3).cloned().collect();
        for value in last {
            let names: Vec<String> = value.shape.iter().map(|_| self.fresh("l")).collect();
            if names.is_empty() {
                parts.push(format!("sin({}~)", value.name));
                continue;
            }
            let weights: Vec<String> =
                names.iter().map(|name| format!("({name} + 1) as f64")).collect();
            parts.push(format!(
                "sum[{at}](sin({}~[{at}]) * {})",
                value.name,
                weights.join(" * "),
                at = names.join(", ")
            ));
        }
        let _ = writeln!(self.body, "let loss~ = {};", parts.join(" + "));
    }
}
