//! Calls: contracts, attempts, functions inside functions, definitions inside loops.

use super::super::{Gen, S};
use super::EXTENTS;

impl Gen {
    /// Coordinates by name: reductions, functions with brackets, layouts.
    pub(super) fn contract(&mut self) {
        let ty = self.float();
        let x = self.tensor(ty, 2, 1e3);
        let (r, c) = (self.fresh("row"), self.fresh("col"));
        let (y, name, f) = (self.fresh("y"), self.fresh("t"), self.fresh("f"));
        let (n, m) = (x.shape[0], x.shape[1]);
        let t = ty.name();
        self.statements.push(format!("let {y}: [{t}; {r}: {n}, {c}: {m}] = {};", x.text));
        let most = x.size() * n.max(m) as f64 * 2.0 + 1.0;
        let (text, shape) = match self.rng.below(6) {
            0 => (format!("let {name} = sum[{r}]({y});"), vec![m]),
            1 => (
                format!("let {name}[{c}, {r}] = {y}[{r}, {c}] - mean[{c}]({y}[{r}, {c}]);"),
                vec![m, n],
            ),
            2 => (
                format!(
                    "fn {f}[q](x: [{t}; q]) -> [{t}; q] {{ let s = sum[q](x[q]); x[q] - s }}\nlet {name} = {f}[{c}]({y});"
                ),
                vec![n, m],
            ),
            3 => (
                format!(
                    "fn {f}[q](x: [{t}; q]) -> {t} {{ max[q](x[q]) }}\nlet {name} = {f}[{r}]({y});"
                ),
                vec![m],
            ),
            4 => (format!("let {name}: [{t}; {c}, {r}] = std::array::transpose({y});"), vec![m, n]),
            _ => (
                format!(
                    "let {f} = max[{r}]({y});\nlet {name}[{r}, {c}] = {y}[{r}, {c}] - {f}[{c}];"
                ),
                vec![n, m],
            ),
        };
        self.statements.push(text);
        self.by_position(&name, ty, &shape, most);
    }

    /// Failures that are caught.
    pub(super) fn attempts(&mut self) {
        let x = self.tensor(S::I32, 1, 1e3);
        let (name, f, k, y) = (self.fresh("t"), self.fresh("f"), self.fresh("k"), self.fresh("x"));
        let text = match self.rng.below(3) {
            0 => {
                let d = self.rng.between(0, 2);
                format!(
                    "fn {f}({y}) {{ sum[{k}]({x}[{k}] / ({y} - 1)) }}\nlet {name} = (try {f}({d})) catch |_m| -1;",
                    x = x.text
                )
            }
            1 => format!(
                "fn {f}({y}) {{ {x}[{y}] }}\nlet {name} = (try {f}({})) catch |_m| -1;",
                self.rng.below(50),
                x = x.text
            ),
            _ => format!(
                "fn {f}({y}) {{ prod[{k}]({x}[{k}] * {y}) }}\nlet {name} = (try {f}({})) catch |_m| -1;",
                self.rng.between(0, 90),
                x = x.text
            ),
        };
        self.statements.push(text);
    }

    /// Functions of arrays that call one another.
    pub(super) fn nested_calls(&mut self) {
        let ty = self.float();
        let t = ty.name();
        let x = self.tensor(ty, 2, 20.0);
        let (f, g, h) = (self.fresh("f"), self.fresh("f"), self.fresh("f"));
        let (name, i, j, k) = (self.fresh("t"), self.fresh("i"), self.fresh("i"), self.fresh("k"));
        let zero = if ty == S::F32 { "0.0" } else { "0.0f64" };
        self.statements.push(format!(
            "fn {f}(v: [{t}; ?n]) {{ let w[{i}] = max(v[{i}], {zero}); w }}\n\
             fn {g}(v: [{t}; ?n], s: {t}) -> {t} {{ sum[{k}]({f}(v)[{k}] * s) }}\n\
             fn {h}(m: [{t}; ?n, ?m], v: [{t}; ?m]) {{ let w[{i}] = sum[{k}](m[{i}, {k}] * {f}(v)[{k}]); w }}"
        ));
        let half = if ty == S::F32 { "0.5" } else { "0.5f64" };
        let (text, shape) = match self.rng.below(4) {
            0 => {
                (format!("let {name}[{i}] = {g}({x}[{i}], {half});", x = x.text), vec![x.shape[0]])
            }
            1 => (format!("let {name} = {h}({x}, {x}[0]);", x = x.text), vec![x.shape[0]]),
            2 => (format!("let {name} = {f}({x});", x = x.text), x.shape.clone()),
            _ => (
                format!("let {name}[{i}, {j}] = {f}({h}({x}, {x}[{i}]))[{j}];", x = x.text),
                vec![x.shape[0], x.shape[0]],
            ),
        };
        self.statements.push(text);
        let most = x.size() * x.size() * 40.0;
        self.bind(name, ty, shape, -most, most);
    }

    /// What stops a program.
    pub(super) fn failing(&mut self) {
        if !self.rng.one_in(3) {
            return self.formula();
        }
        let ty = [S::I8, S::U8, S::I16, S::I32, S::I64][self.rng.below(5)];
        let extent = EXTENTS[self.rng.below(14)];
        let x = self.formula_of(ty, vec![extent]);
        let (name, i, k) = (self.fresh("t"), self.fresh("i"), self.fresh("k"));
        let v = &x.text;
        let text = match self.rng.below(6) {
            0 => format!("let {name}[{i}] = 100 / {v}[{i}];"),
            1 => format!("let {name} = prod[{k}]({v}[{k}] + 2);"),
            2 => format!("let {name}[{i}] = {v}[{i}] * {v}[{i}] * {v}[{i}] * 3;"),
            3 => format!("let {name} = sum[{k}]({v}[{k}] * 9);"),
            4 => format!("let {name}[{i}] = 7 % {v}[{i}] where {v}[{i}] != 0;"),
            _ => format!("let {name} = max[{k}]({v}[{k}] where {v}[{k}] > 8);"),
        };
        self.statements.push(text);
    }

    /// A definition inside the body of another.
    pub(super) fn inner_definition(&mut self) {
        let ty = self.float();
        let x = self.tensor(ty, 2, 20.0);
        let (name, f, w, i, j, k) = (
            self.fresh("t"),
            self.fresh("f"),
            self.fresh("b"),
            self.fresh("i"),
            self.fresh("i"),
            self.fresh("k"),
        );
        // A loop that begins later may read what stands before it.
        let from = if x.shape[0] > 1 { self.rng.below(2) } else { 0 };
        let body = match self.rng.below(4) {
            0 => format!(
                "let {w}[{j}] = {x}[{i}, {j}] - {x}[{i}, 0]; sum[{k}]({w}[{k}] * {w}[{k}])",
                x = x.text
            ),
            1 => format!(
                "let {w}[{j}] = sum[{k}]({x}[{i}, {k}] * {x}[{j}, {k}]); max[{k}]({w}[{k}])",
                x = x.text
            ),
            kind => {
                // The steps may end early, of their own accord.
                let until = if kind == 2 { "" } else { " until s[#] > 30.0" };
                let until = until.replace('#', &k);
                let last = if kind == 2 { "s[len(v) - 1]".into() } else { format!("last[{k}](s)") };
                self.statements.push(format!(
                    "fn {f}(v: [{t}; ?n]) -> {t} {{ let s[0] = v[0]; let s[{k} in 1..len(v)] = s[{k} - 1] + v[{k}]{until}; {last} }}",
                    t = ty.name()
                ));
                format!("{f}({x}[{i} - {from}])", x = x.text)
            }
        };
        let rows = x.shape[0];
        self.statements.push(format!("let {name}[{i} in {from}..{rows}] = {{ {body} }};"));
    }
}
