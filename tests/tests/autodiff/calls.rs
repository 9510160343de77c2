//! Functions of whole arrays, called where one cell of their result is wanted: in bodies, sums and
//! steps, several functions deep, with sizes that two parameters must share, and with structs and
//! tuples on the way in and out.
//!
//! What a call needs of the indices around it decides how it is swept back: once for all cells, once
//! for those of some indices, or once for each. The arguments here are of every kind.

use super::{Gen, Value};
use std::fmt::Write;

/// How the result of an array function is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Door {
    /// `f(v, w)[i]`
    Plain,
    /// `f(v, w).0[i] * f(v, w).1`
    Tuple,
    /// `f(P { u: v, w: w }).u[i]`
    Struct,
}

/// A function of two vectors of one length, whose result has a vector of that length.
#[derive(Clone)]
pub(super) struct Whole {
    name: String,
    door: Door,
    /// The struct that it takes and gives, where it does.
    ty: String,
}

impl Whole {
    /// The vector that it makes of two.
    fn vector(&self, v: &str, w: &str) -> String {
        let Whole { name, door, ty } = self;
        match door {
            Door::Plain => format!("{name}({v}, {w})"),
            Door::Tuple => format!("{name}({v}, {w}).0"),
            Door::Struct => format!("{name}({ty} {{ u: {v}, w: {w} }}).u"),
        }
    }
}

impl Gen {
    /// The functions of a program: one to three, each of which may call those before it.
    fn wholes(&mut self) -> Vec<Whole> {
        if !self.wholes.is_empty() {
            return self.wholes.clone();
        }
        for _ in 0..1 + self.rng.below(3) {
            let door = [Door::Plain, Door::Tuple, Door::Struct][self.rng.below(3)];
            let (name, ty) = (self.fresh("f"), self.fresh("P"));
            let sizes = ["?n", "?"][self.rng.below(2)];
            let (v, w) = match door {
                Door::Plain | Door::Tuple => ("v", "w"),
                Door::Struct => ("p.u", "p.w"),
            };
            let mut body = String::new();
            // Said by the types, or by an assertion that the derivative has to keep or to drop.
            if sizes == "?" || self.rng.one_in(3) {
                let _ = write!(body, "assert(len({v}) == len({w}), \"one length\"); ");
            }
            let inner = self.wholes.last().cloned();
            let at = match self.rng.below(12) {
                0 => format!("let s[i] = {v}[i] * sin({w}[i]);"),
                1 => format!("let s[i] = 0.5 * {v}[i] * {w}[max(i - 1, 0)];"),
                2 => format!(
                    "let s[0] = {v}[0]; let s[i in 1..len({v})] = tanh(0.5 * s[i - 1] + {v}[i] * {w}[i - 1]);"
                ),
                // Of earlier steps that are computed, so that several steps read one.
                8 => format!(
                    "let s[0] = {v}[0]; let s[i in 1..len({v})] = tanh(s[i / 2] * {w}[i] + 0.5 * s[i - 1]);"
                ),
                9 => format!(
                    "let s[0] = {w}[0]; let s[i in 1..len({v})] = sin(s[(i + 1) / 3] + {v}[i]) * {w}[i / 2];"
                ),
                10 => format!(
                    "let s[0] = {w}[0]; let s[i in 1..len({v})] = 0.5 * s[(i * 7) % i] * {v}[i] + {w}[i];"
                ),
                3 => format!(
                    "let e[i] = exp(sin({v}[i])); let z = sum[i](e[i]); let s[i] = e[i] / z + {w}[i];"
                ),
                4 => format!("let s[i] = sum[k in 0..i + 1]({v}[k] * {w}[i - k]);"),
                5 => format!("let s[i in 0..len({v})] = {v}[len({v}) - 1 - i] + {w}[i] * {w}[0];"),
                6 => format!("let s = {v} * {w} + sin({v});"),
                7 => format!(
                    "let s[i in 0..len({v})] = {w}[i] where {v}[i] > 0.1 else {v}[i] * {w}[0];"
                ),
                _ => match &inner {
                    Some(inner) => {
                        let read = self.cell(inner, v, w, "i");
                        format!("let s[i in 0..len({v})] = tanh({read}) * {v}[i];")
                    }
                    None => format!("let s[i] = cos({v}[i]) * {w}[i];"),
                },
            };
            let _ = write!(body, "{at} ");
            let head = match door {
                Door::Plain => format!("fn {name}(v: [f64; {sizes}], w: [f64; {sizes}])"),
                Door::Tuple => format!("fn {name}(v: [f64; {sizes}], w: [f64; {sizes}])"),
                Door::Struct => {
                    let _ = writeln!(
                        self.shared,
                        "struct {ty} {{ u: [f64; {sizes}], w: [f64; {sizes}] }}"
                    );
                    format!("fn {name}(p: {ty})")
                }
            };
            let result = match door {
                Door::Plain => "s".to_owned(),
                Door::Tuple => format!("(s, tanh(sum[i](s[i] * {w}[i])))"),
                Door::Struct => format!("{ty} {{ u: s, w: {w} * 0.5 }}"),
            };
            let _ = writeln!(self.shared, "{head} {{ {body}{result} }}");
            self.wholes.push(Whole { name, door, ty });
        }
        self.wholes.clone()
    }

    /// One cell of what a function makes of two vectors.
    fn cell(&mut self, f: &Whole, v: &str, w: &str, at: &str) -> String {
        let Whole { name, door, ty } = f;
        let vector = f.vector(v, w);
        match door {
            Door::Tuple if self.rng.one_in(2) => format!("({vector}[{at}] * {name}({v}, {w}).1)"),
            Door::Struct if self.rng.one_in(2) => {
                format!("({{ let q = {name}({ty} {{ u: {v}, w: {w} }}); q.u[{at}] * q.w[0] }})")
            }
            Door::Plain | Door::Tuple | Door::Struct => format!("{vector}[{at}]"),
        }
    }

    /// A vector of this length that may depend on the indices around: what a call is given.
    fn vector(&mut self, length: usize, indices: &[(String, usize)]) -> String {
        let alike = |value: &&Value| value.shape == [length];
        let vectors: Vec<Value> = self.values.iter().filter(alike).cloned().collect();
        let matrices: Vec<Value> = self
            .values
            .iter()
            .filter(|it| it.shape.len() == 2 && it.shape[1] == length)
            .cloned()
            .collect();
        let choice = self.rng.below(6);
        if choice == 0
            && let Some(matrix) = self.rng.pick(&matrices).cloned()
        {
            let row = self.place(matrix.shape[0], indices);
            return format!("{}~[{row}]", matrix.name);
        }
        let Some(vector) = self.rng.pick(&vectors).cloned() else {
            let k = self.fresh("k");
            let mut inner = indices.to_vec();
            inner.push((k.clone(), length));
            let e = self.expr(1, &inner);
            return format!("[{e} | {k} in 0..{length}]");
        };
        match choice {
            1 => format!("({}~ * ({}))", vector.name, self.expr(1, indices)),
            2 => format!("sin({}~)", vector.name),
            _ => format!("{}~", vector.name),
        }
    }

    /// A definition, sum or recurrence whose body calls functions of whole arrays.
    pub(super) fn called(&mut self, name: String) {
        let wholes = self.wholes();
        let Some(f) = self.rng.pick(&wholes).cloned() else { return };
        let lengths: Vec<usize> =
            self.values.iter().filter(|it| it.shape.len() == 1).map(|it| it.shape[0]).collect();
        let Some(&length) = self.rng.pick(&lengths) else { return };
        let (i, k) = (self.fresh("i"), self.fresh("k"));
        let n = 2 + self.rng.below(3);
        let one = vec![(i.clone(), n)];
        let (v, w) = (self.vector(length, &one), self.vector(length, &one));
        let e = self.expr(1, &one);
        let shape = match self.rng.below(7) {
            0 | 1 => {
                let at = self.place(length, &one);
                let cell = self.cell(&f, &v, &w, &at);
                let _ = writeln!(self.body, "let {name}~[{i} in 0..{n}] = tanh({cell} * ({e}));");
                vec![n]
            }
            2 => {
                let both = [(i.clone(), n), (k.clone(), length)];
                let (v, w) = (self.vector(length, &both), self.vector(length, &both));
                let cell = self.cell(&f, &v, &w, &k);
                let e = self.expr(1, &both);
                let op = ["sum", "sum", "mean", "max", "prod"][self.rng.below(5)];
                let _ = writeln!(
                    self.body,
                    "let {name}~[{i} in 0..{n}] = tanh({op}[{k} in 0..{length}]({cell} * ({e})));"
                );
                vec![n]
            }
            3 => {
                // In the steps, of what does not change with them or does.
                let first = self.expr(1, &[]);
                let at = self.place(length, &one);
                let cell = self.cell(&f, &v, &w, &at);
                let _ = writeln!(self.body, "let {name}~[0] = {first};");
                let _ = writeln!(
                    self.body,
                    "let {name}~[{i} in 1..{n}] = tanh({name}~[{i} - 1] * {cell} + {e});"
                );
                vec![n]
            }
            4 => {
                // Of the state itself.
                let first = self.expr(1, &[(k.clone(), length)]);
                let before = format!("{name}~[{i} - 1]");
                let (v, w) = if self.rng.one_in(2) { (before, w) } else { (v, before) };
                let cell = self.cell(&f, &v, &w, &k);
                let _ = writeln!(self.body, "let {name}~[0, {k} in 0..{length}] = {first};");
                let _ = writeln!(
                    self.body,
                    "let {name}~[{i} in 1..{n}, {k} in 0..{length}] = tanh({cell}) + 0.3 * ({e});"
                );
                vec![n, length]
            }
            5 => {
                // Named once, read at several places.
                let (q, at) = (self.fresh("q"), self.place(length, &one));
                let (v, w) = (self.vector(length, &[]), self.vector(length, &[]));
                let (made, last) = (f.vector(&v, &w), length - 1);
                let _ = match self.rng.below(2) {
                    0 => writeln!(
                        self.body,
                        "let {name}~[{i} in 0..{n}] = tanh({q}[{at}] * {q}[{last}] * ({e})) where {q} = {made};"
                    ),
                    _ => writeln!(
                        self.body,
                        "let {name}~[{i} in 0..{n}] = {{ let {q} = {made}; tanh({q}[{at}] * ({e})) + {q}[{last}] }};"
                    ),
                };
                vec![n]
            }
            _ => {
                // Behind a closure that holds one of the arrays.
                let (h, u) = (self.fresh("h"), self.fresh("u"));
                let at = self.place(length, &one);
                let held = self.vector(length, &[]);
                let cell = self.cell(&f, &u, &held, &at);
                let _ = writeln!(
                    self.body,
                    "let {name}~[{i} in 0..{n}] = {{ let {h} = |{u}| {cell}; tanh({h}({v}) + {e}) }};"
                );
                vec![n]
            }
        };
        self.values.push(Value { name, shape });
    }
}
