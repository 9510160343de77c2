//! Cells of several axes by operands that lack some of them, and arrays that bodies bind inside of sums
//! over triangles.

use super::super::{Gen, S};

impl Gen {
    /// `t[i, j, k] = a[i, j, k] * tanh(b[j, k])`: axes that lie together are one loop, and what no outer
    /// one changes stands in rows beside it.
    pub(super) fn planes(&mut self) {
        let ty = self.float();
        let rank = 2 + self.rng.below(3);
        let extents = [1, 2, 3, 4, 5, 7, 9, 11];
        let shape: Vec<usize> = (0..rank).map(|_| extents[self.rng.below(8)]).collect();
        let names: Vec<String> = (0..rank).map(|_| self.fresh("i")).collect();
        let all = self.summed(ty, &shape);
        let mut body = format!("{all}[{}]", names.join(", "));
        for _ in 0..1 + self.rng.below(2) {
            let lacking = 1 + self.rng.below(rank - 1);
            // Mostly the first axes, whose loops are around the others.
            let first = if self.rng.one_in(4) { 0 } else { lacking };
            let kept = first..first + rank - lacking;
            let part = self.summed(ty, &shape[kept.clone()]);
            let read = format!("{part}[{}]", names[kept].join(", "));
            let half = if ty == S::F64 { "0.5f64" } else { "0.5" };
            body = match self.rng.below(4) {
                0 => format!("{body} * std::math::tanh({read})"),
                1 => format!("{body} + std::math::sin(std::math::exp(std::math::tanh({read})))"),
                2 => format!("{body} * {read}"),
                _ => format!("{body} - std::math::tanh({read} * {half})"),
            };
        }
        let name = self.fresh("t");
        self.statements.push(format!("let {name}[{}] = {body};", names.join(", ")));
        let most = 1e5;
        self.bind(name, ty, shape, -most, most);
    }

    /// An array of small numbers that is stored, since it is a sum.
    fn summed(&mut self, ty: S, shape: &[usize]) -> String {
        let of = self.formula_of(ty, [shape, &[3]].concat());
        let (name, k) = (self.fresh("t"), self.fresh("k"));
        let names: Vec<String> = shape.iter().map(|_| self.fresh("i")).collect();
        let at = names.join(", ");
        self.statements.push(format!("let {name}[{at}] = sum[{k}]({}[{at}, {k}]);", of.text));
        let most = 3.0 * of.size();
        self.bind(name.clone(), ty, shape.to_vec(), -most, most);
        name
    }

    /// `t[i] = sum[k in i..n]({ let p[j in 0..3] = x[k - i] * y[j]; … })`: what the body binds depends on
    /// indices whose loops begin or end where others are, and only so are its positions inside.
    pub(super) fn triangles(&mut self) {
        let ty = if self.rng.one_in(3) { S::I32 } else { self.float() };
        let n = [2, 3, 5, 8, 13, 17][self.rng.below(6)];
        let m = 1 + self.rng.below(4);
        let x = self.formula_of(ty, vec![n]);
        let y = self.formula_of(ty, vec![m]);
        let places = self.formula_of(S::I32, vec![n]);
        let [i, k, j, l, p, t] = ["i", "k", "j", "l", "p", "t"].map(|prefix| self.fresh(prefix));
        let (domain, distance) = match self.rng.below(3) {
            0 => (format!("{i}..{n}"), format!("{k} - {i}")),
            1 => (format!("0..{i} + 1"), format!("{i} - {k}")),
            _ => (format!("0..{n} - {i}"), format!("{i} + {k}")),
        };
        let read = match self.rng.below(3) {
            0 => format!("{}[{distance}]", x.text),
            1 => format!("{}[{distance}] * {}[{k}]", x.text, x.text),
            // Which cell is read is data that lies where only the triangle reaches.
            _ => format!("{}[max(0, min({}, {}[{distance}]))]", x.text, n - 1, places.text),
        };
        let (inner, bound) = match self.rng.below(3) {
            0 => (format!("{l} in {k}..{n}"), format!("{}[{l} - {k}] * {read}", x.text)),
            1 => (format!("{l} in 0..{m}"), format!("{read} * {}[{l}] ** {l}", y.text)),
            _ => (format!("{l} in 0..{m}"), format!("{}[{l}] + {read}", y.text)),
        };
        let domain_of_bound = inner.replace(&format!("{l} in "), "");
        let value =
            format!("{{ let {p}[{inner}] = {bound}; sum[{j} in {domain_of_bound}]({p}[{j}]) }}");
        let op = ["sum", "sum", "max"][self.rng.below(3)];
        self.statements.push(format!("let {t}[{i} in 0..{n}] = {op}[{k} in {domain}]({value});"));
        let cells = (n * n.max(m)) as f64;
        let most = cells * (1.0 + x.size()).powi(3) * (1.0 + y.size()).powi(4);
        self.bind(t, ty, vec![n], -most, most);
    }
}
