//! Sums: contractions, convolutions, what is divided by a sum, reductions of every kind.

use super::super::{Gen, S};
use super::NUMBERS;

impl Gen {
    /// Matrix products in any order of indices, with batches, strides and what follows them.
    pub(super) fn contraction(&mut self) {
        let ty = if self.rng.one_in(6) { S::I32 } else { self.float() };
        let size = |this: &mut Gen| [3, 4, 5, 8, 13, 16, 17, 20, 33][this.rng.below(9)];
        let (m, n, k, b) = (size(self), size(self), size(self), 1 + self.rng.below(3));
        let batched = self.rng.one_in(3);
        let (ta, tb) = (self.rng.one_in(3), self.rng.one_in(3));
        let lead = |shape: Vec<usize>| if batched { [vec![b], shape].concat() } else { shape };
        let of_a = lead(if ta { vec![k, m] } else { vec![m, k] });
        let of_b = lead(if tb { vec![n, k] } else { vec![k, n] });
        let (x, y) = (self.formula_of(ty, of_a), self.formula_of(ty, of_b));
        let bias = self.formula_of(ty, vec![n]);
        let (i, j, s, l, name) =
            (self.fresh("i"), self.fresh("i"), self.fresh("k"), self.fresh("i"), self.fresh("t"));
        let batch = if batched { format!("{l}, ") } else { String::new() };
        let at_x = if ta { format!("{s}, {i}") } else { format!("{i}, {s}") };
        let at_y = if tb { format!("{j}, {s}") } else { format!("{s}, {j}") };
        let product = format!("sum[{s}]({}[{batch}{at_x}] * {}[{batch}{at_y}])", x.text, y.text);
        let zero = if ty == S::I32 {
            "0"
        } else if ty == S::F32 {
            "0.0"
        } else {
            "0.0f64"
        };
        let body = match self.rng.below(5) {
            0 => format!("{product} + {}[{j}]", bias.text),
            1 => format!("max({product} + {}[{j}], {zero})", bias.text),
            2 => format!("{product} * {product} - {}[{j}]", bias.text),
            _ => product,
        };
        let turned = self.rng.one_in(4);
        let left = if turned { format!("{batch}{j}, {i}") } else { format!("{batch}{i}, {j}") };
        self.statements.push(format!("let {name}[{left}] = {body};"));
        let most = x.size() * y.size() * k as f64;
        let most = most * most + bias.size();
        let shape = lead(if turned { vec![n, m] } else { vec![m, n] });
        self.bind(name, ty, shape, -most, most);
        if self.rng.one_in(4) {
            self.convolution_2d();
        }
    }

    fn convolution_2d(&mut self) {
        let ty = self.float();
        let (c, f) = (1 + self.rng.below(3), 1 + self.rng.below(5));
        let (h, w) = (5 + self.rng.below(8), 5 + self.rng.below(12));
        let (kh, kw) = (1 + self.rng.below(3), 1 + self.rng.below(3));
        let stride = 1 + self.rng.below(2);
        let x = self.formula_of(ty, vec![c, h, w]);
        let filter = self.formula_of(ty, vec![f, c, kh, kw]);
        let (o, y, z, a, b, d, name) = (
            self.fresh("i"),
            self.fresh("i"),
            self.fresh("i"),
            self.fresh("k"),
            self.fresh("k"),
            self.fresh("k"),
            self.fresh("t"),
        );
        let (oh, ow) = ((h - kh) / stride + 1, (w - kw) / stride + 1);
        self.statements.push(format!(
            "let {name}[{o}, {y} in 0..{oh}, {z} in 0..{ow}] = sum[{d}, {a}, {b}]({}[{d}, {stride} * {y} + {a}, {stride} * {z} + {b}] * {}[{o}, {d}, {a}, {b}]);",
            x.text, filter.text
        ));
        let most = x.size() * filter.size() * (c * kh * kw) as f64;
        self.bind(name, ty, vec![f, oh, ow], -most, most);
    }

    /// Softmax and layer norm, in steps.
    pub(super) fn normalised(&mut self) {
        let ty = self.float();
        let x = self.tensor(ty, 2, 20.0).text;
        let shape = self.shape_of(&x);
        let [m, e, s, p] = ["t"; 4].map(|prefix| self.fresh(prefix));
        let (i, j, k) = (self.fresh("i"), self.fresh("i"), self.fresh("k"));
        let one = if ty == S::F32 { "1.0" } else { "1.0f64" };
        let texts = match self.rng.below(3) {
            0 => vec![
                format!("let {m}[{i}] = max[{k}]({x}[{i}, {k}]);"),
                format!("let {e}[{i}, {j}] = std::math::exp({x}[{i}, {j}] - {m}[{i}]);"),
                format!("let {s}[{i}] = sum[{k}]({e}[{i}, {k}]);"),
                format!("let {p}[{i}, {j}] = {e}[{i}, {j}] / {s}[{i}];"),
            ],
            1 => vec![
                format!("let {m}[{i}] = mean[{k}]({x}[{i}, {k}]);"),
                format!("let {e}[{i}, {j}] = {x}[{i}, {j}] - {m}[{i}];"),
                format!("let {s}[{i}] = mean[{k}]({e}[{i}, {k}] ** 2);"),
                format!("let {p}[{i}, {j}] = {e}[{i}, {j}] / std::math::sqrt({s}[{i}] + {one});"),
            ],
            _ => vec![
                format!("let {m}[{j}] = max[{k}]({x}[{k}, {j}]);"),
                format!("let {e}[{j}, {i}] = std::math::exp({x}[{i}, {j}] - {m}[{j}]);"),
                format!("let {s}[{j}] = sum[{k}]({e}[{j}, {k}]);"),
                format!("let {p}[{i}, {j}] = {e}[{j}, {i}] / {s}[{j}];"),
            ],
        };
        self.statements.extend(texts);
        self.bind(p, ty, shape, -20.0, 20.0);
    }

    fn shape_of(&self, text: &str) -> Vec<usize> {
        self.vars.iter().find(|var| var.text == text).map_or(Vec::new(), |var| var.shape.clone())
    }

    /// Every reduction over every type, along rows, columns and all.
    pub(super) fn reductions(&mut self) {
        let ty = NUMBERS[self.rng.below(NUMBERS.len())];
        let x = match self.rng.below(4) {
            0 => {
                let n = [1, 5, 40, 700, 3000, 5000][self.rng.below(6)];
                self.formula_of(ty, vec![n])
            }
            1 => {
                let (n, m) = (1 + self.rng.below(40), 1 + self.rng.below(40));
                self.formula_of(ty, vec![n, m])
            }
            _ => self.tensor(ty, 2, 12.0),
        };
        let (i, k, l, name) = (self.fresh("i"), self.fresh("k"), self.fresh("k"), self.fresh("t"));
        let ops: &[&str] = match ty {
            ty if ty.is_float() => &["sum", "max", "min", "mean", "argmax", "argmin", "prod"],
            _ => &["sum", "max", "min", "argmax", "argmin"],
        };
        let op = ops[self.rng.below(ops.len())];
        let index = op.starts_with("arg");
        let shape = x.shape.clone();
        let zero = if ty.is_float() { "0.0" } else { "0" };
        let guard = match self.rng.below(4) {
            0 => format!(
                " where {{}} > {zero}{}",
                if ty == S::I32 || ty == S::F32 { "" } else { ty.name() }
            ),
            _ => String::new(),
        };
        let body = |at: &str| {
            let read = format!("{}[{at}]", x.text);
            let read = if op == "prod" {
                format!("({read} * {}{})", "0.125", if ty == S::F32 { "" } else { ty.name() })
            } else {
                read
            };
            format!("{read}{}", guard.replace("{}", &format!("{}[{at}]", x.text)))
        };
        let out = if index { S::I32 } else { ty };
        let (text, shape) = match (shape.as_slice(), self.rng.below(4)) {
            ([_], _) => (format!("{op}[{k}]({})", body(&k)), vec![]),
            ([m, n], 0) if !index => (
                format!("{op}[{k} in 0..{m}, {l} in 0..{n}]({})", body(&format!("{k}, {l}"))),
                vec![],
            ),
            ([m, _], 1) => (format!("{op}[{k}]({})", body(&format!("{i}, {k}"))), vec![*m]),
            (shape, _) => (format!("{op}[{k}]({})", body(&format!("{k}, {i}"))), vec![shape[1]]),
        };
        let left = if shape.is_empty() { String::new() } else { format!("[{i}]") };
        self.statements.push(format!("let {name}{left} = {text};"));
        let most = x.size().max(1.0) * x.shape.iter().product::<usize>() as f64;
        if index {
            self.bind(name, out, shape, 0.0, most);
        } else if !matches!(ty, S::F16 | S::BF16) {
            self.bind(name, out, shape, -most, most);
        }
        if self.rng.one_in(2) {
            let (name, op) = (self.fresh("t"), ["any", "all", "count"][self.rng.below(3)]);
            let at = if x.shape.len() == 1 { k.clone() } else { format!("{i}, {k}") };
            let left = if x.shape.len() == 1 { String::new() } else { format!("[{i}]") };
            self.statements.push(format!(
                "let {name}{left} = {op}[{k}]({}[{at}] > {}[{}]);",
                x.text,
                x.text,
                at.replace(&k, "0")
            ));
        }
    }
}
