//! Statements that contain loops of their own: comprehensions, convolutions with strides, and
//! recurrences inside recurrences; and variants.

use super::{Gen, Value};
use std::fmt::Write;

/// The body of a function of `a` and `b` that steps along.
pub(super) const ROLLOUT: &str =
    "{ let h[0] = a; let h[t in 1..4] = sin(b * h[t - 1]) + 0.3 * a; h[3] + h[1] * b }";

impl Gen {
    /// A list of elements in the order of one or two generators.
    pub(super) fn comprehension(&mut self, name: String) {
        let (i, j, z) = (self.fresh("i"), self.fresh("j"), self.fresh("z"));
        let (n, m) = (2 + self.rng.below(2), 2 + self.rng.below(2));
        let vectors: Vec<Value> =
            self.values.iter().filter(|it| it.shape.len() == 1).cloned().collect();
        let source = self.rng.pick(&vectors).cloned();
        let extent = match (self.rng.below(5), source) {
            (0, Some(source)) => {
                let e = self.expr(1, &[(i.clone(), n)]);
                let from = &source.name;
                let _ = writeln!(
                    self.body,
                    "let {name}~ = [sin({z}) * {j} | {i} in 0..{n}, {j} in {from}~, {z} = {j} + {e}];"
                );
                n * source.shape[0]
            }
            (1, _) => {
                let e = self.expr(2, &[(i.clone(), n)]);
                let _ = writeln!(self.body, "let {name}~ = [cos({e}) | {i} in 0..{n}];");
                n
            }
            (2, Some(source)) => {
                // Every second pair.
                let (e, from, length) =
                    (self.expr(1, &[(i.clone(), n)]), &source.name, source.shape[0]);
                let all = self.fresh("c");
                let _ = writeln!(
                    self.body,
                    "let {all}~ = [{from}~[{j}] * {z} | {i} in 0..{n}, {j} in 0..{length}, ({i} + {j}) % 2 == 0, {z} = sin({e})];"
                );
                let extent =
                    (0..n * length).filter(|at| (at / length + at % length) % 2 == 0).count();
                let _ = writeln!(self.body, "let {name}~[{i} in 0..{extent}] = {all}~[{i}];");
                extent
            }
            (3, Some(source)) if source.shape[0] > 1 => {
                // Every pair of two different places.
                let (from, length) = (&source.name, source.shape[0]);
                let all = self.fresh("c");
                let _ = writeln!(
                    self.body,
                    "let {all}~ = [{z} * {from}~[{j}] | {i} in 0..{length}, {z} = tanh({from}~[{i}]), {j} in {i} + 1..{length}];"
                );
                let extent = length * (length - 1) / 2;
                let _ = writeln!(self.body, "let {name}~[{i} in 0..{extent}] = {all}~[{i}];");
                extent
            }
            _ => {
                let e = self.expr(1, &[(i.clone(), n), (j.clone(), m + 1)]);
                let _ = writeln!(
                    self.body,
                    "let {name}~ = [tanh({e}) | {i} in 0..{n}, {j} in 1..{}];",
                    m + 1
                );
                n * m
            }
        };
        self.values.push(Value { name, shape: vec![extent] });
    }

    /// A convolution along one axis, in steps of one or two, with a kernel that may be spread.
    pub(super) fn convolution(&mut self, name: String) {
        let (i, k) = (self.fresh("i"), self.fresh("k"));
        let vectors: Vec<Value> =
            self.values.iter().filter(|it| it.shape.len() == 1).cloned().collect();
        let long: Vec<Value> = vectors.iter().filter(|it| it.shape[0] >= 3).cloned().collect();
        let (Some(x), Some(w)) = (self.rng.pick(&long).cloned(), self.rng.pick(&vectors).cloned())
        else {
            return;
        };
        let taps = w.shape[0].min(2 + self.rng.below(2)).min(x.shape[0] - 1);
        let stride = 1 + self.rng.below(2);
        let spread = if 2 * (taps - 1) < x.shape[0] { 1 + self.rng.below(2) } else { 1 };
        let n = (x.shape[0] - 1 - spread * (taps - 1)) / stride + 1;
        let turned = if self.rng.one_in(3) { format!("{} - {k}", taps - 1) } else { k.clone() };
        let factors = [
            format!("{}~[{stride} * {i} + {spread} * {k}]", x.name),
            format!("{}~[{turned}]", w.name),
        ];
        let [a, b] =
            if self.rng.one_in(2) { factors } else { [factors[1].clone(), factors[0].clone()] };
        let _ =
            writeln!(self.body, "let {name}~[{i} in 0..{n}] = sum[{k} in 0..{taps}]({a} * {b});");
        self.values.push(Value { name, shape: vec![n] });
    }

    /// A recurrence each of whose steps takes several smaller ones.
    pub(super) fn steps_of_steps(&mut self, name: String) {
        let (f, s) = (self.fresh("f"), self.fresh("s"));
        let _ = writeln!(
            self.shared,
            "fn {f}(v, a) {{ let h[0] = a; let h[t in 1..3] = tanh(v[t - 1] * h[t - 1] + v[1]); h[2] - 0.2 * h[1] }}"
        );
        let vectors: Vec<Value> = self
            .values
            .iter()
            .filter(|it| it.shape.len() == 1 && it.shape[0] >= 2)
            .cloned()
            .collect();
        let Some(v) = self.rng.pick(&vectors).cloned() else { return };
        let steps = 3 + self.rng.below(2);
        let (first, e) = (self.expr(1, &[]), self.expr(1, &[(s.clone(), steps)]));
        let _ = writeln!(self.body, "let {name}~[0] = {first};");
        let _ = writeln!(
            self.body,
            "let {name}~[{s} in 1..{steps}] = {f}({}~, {name}~[{s} - 1]) + 0.5 * {e};",
            v.name
        );
        self.values.push(Value { name, shape: vec![steps] });
    }

    /// A variant that carries numbers, made and taken apart again.
    pub(super) fn variants(&mut self, name: String) {
        let (e, i) = (self.fresh("E"), self.fresh("i"));
        let n = 2 + self.rng.below(2);
        let one = [(i.clone(), n)];
        let [a, b, c] = [0, 1, 2].map(|_| self.expr(1, &one));
        let bound = self.constant();
        let _ = writeln!(self.shared, "enum {e} {{ One(f64), Two(f64, f64) }}");
        let made = if self.rng.one_in(2) {
            format!("if {a} > {bound} {{ {e}::One({b}) }} else {{ {e}::Two({c}, {b}) }}")
        } else {
            let f = self.fresh("f");
            let _ = writeln!(
                self.shared,
                "fn {f}(a: f64, b: f64, c: f64) -> {e} {{ if a > {bound} {{ {e}::One(b) }} else {{ {e}::Two(c, b) }} }}"
            );
            format!("{f}({a}, {b}, {c})")
        };
        let taken = format!("{e}::One(u) => sin(u) * u, {e}::Two(u, w) => cos(u) + 0.5 * w");
        let _ = writeln!(
            self.body,
            "let {name}~[{i} in 0..{n}] = {{ let v = {made}; match v {{ {taken} }} }};"
        );
        self.values.push(Value { name, shape: vec![n] });
    }
}
