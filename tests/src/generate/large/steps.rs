//! Steps: recurrences along one axis and several.

use super::super::{Ctx, Gen, Index, S};
use super::EXTENTS;

impl Gen {
    /// A recurrence over a state, of which perhaps only the last step is looked at.
    pub(super) fn long_recurrence(&mut self) {
        let ty = self.float();
        let suffix = if ty == S::F32 { "" } else { "f64" };
        let (steps, width) = (3 + self.rng.below(20), EXTENTS[self.rng.below(14)]);
        let (h, t, j, l, k) =
            (self.fresh("h"), self.fresh("i"), self.fresh("i"), self.fresh("i"), self.fresh("k"));
        let x = self.formula_of(ty, vec![steps, width]).text;
        let w = self.formula_of(ty, vec![width, width]).text;
        let back = 1 + self.rng.below(2);
        let step = match self.rng.below(4) {
            0 => format!(
                "std::math::tanh({x}[{t}, {j}] + 0.125{suffix} * sum[{k}]({w}[{j}, {k}] * {h}[{t} - 1, {k}]))"
            ),
            1 => format!("0.5{suffix} * {h}[{t} - {back}, {j}] + {x}[{t}, {j}]"),
            2 => format!(
                "0.25{suffix} * ({h}[{t} - 1, {j}] + {h}[{t} - {back}, {} - {j}]) + {x}[{t} - 1, {j}]",
                width - 1
            ),
            _ => format!(
                "(if {j} > 0 {{ {h}[{t} - 1, {j} - 1] }} else {{ 1.0{suffix} }}) * 0.5{suffix} + {x}[{t}, {j}]"
            ),
        };
        let mut clauses: Vec<String> = (0..back)
            .map(|at| format!("let {h}[{at}, {l} in 0..{width}] = {x}[{at}, {l}];"))
            .collect();
        clauses.push(format!("let {h}[{t} in {back}..{steps}, {j} in 0..{width}] = {step};"));
        self.statements.push(clauses.join("\n"));
        match self.rng.below(5) {
            0 => self.bind(h, ty, vec![steps, width], -30.0, 30.0),
            4 => {
                let (some, every, from) =
                    (self.fresh("t"), 2 + self.rng.below(4), self.rng.below(steps));
                let count = (steps - 1 - from) / every + 1;
                let place = match self.rng.one_in(2) {
                    true => format!("{from} + {every} * {k}"),
                    false => format!("{} - {every} * {k}", from + every * (count - 1)),
                };
                self.statements.push(format!(
                    "let {some}[{k} in 0..{count}, {l} in 0..{width}] = {h}[{place}, {l}];"
                ));
                self.bind(some, ty, vec![count, width], -30.0, 30.0);
            }
            1 => {
                let last = self.fresh("t");
                self.statements.push(format!("let {last}[{l}] = {h}[{}, {l}];", steps - 1));
                self.bind(last, ty, vec![width], -30.0, 30.0);
            }
            2 => {
                let sums = self.fresh("t");
                self.statements.push(format!("let {sums}[{t}] = sum[{k}]({h}[{t}, {k}]);"));
                self.bind(sums, ty, vec![steps], -1e3, 1e3);
            }
            _ => {
                let (last, from) = (self.fresh("t"), self.rng.below(steps));
                self.statements.push(format!(
                    "let {last} = sum[{t} in {from}..{steps}, {k} in 0..{width}]({h}[{t}, {k}]);"
                ));
                self.bind(last, ty, Vec::new(), -1e4, 1e4);
            }
        }
    }

    /// Two-dimensional dynamic programs, also backwards.
    pub(super) fn grid(&mut self) {
        let (n, m) = (2 + self.rng.below(20), 2 + self.rng.below(20));
        let (d, i, j, name) = (self.fresh("d"), self.fresh("i"), self.fresh("i"), self.fresh("t"));
        let a = self.formula_of(S::I32, vec![n]).text;
        let b = self.formula_of(S::I32, vec![m]).text;
        let cost = format!("(if {a}[{i} - 1] == {b}[{j} - 1] {{ 0 }} else {{ 1 }})");
        let text = match self.rng.below(4) {
            0 => format!(
                "let {d}[0, {j} in 0..{}] = {j};\nlet {d}[{i} in 1..{}, 0] = {i};\n\
                 let {d}[{i} in 1..{}, {j} in 1..{}] = min(min({d}[{i} - 1, {j}] + 1, {d}[{i}, {j} - 1] + 1), {d}[{i} - 1, {j} - 1] + {cost});",
                m + 1,
                n + 1,
                n + 1,
                m + 1
            ),
            1 => format!(
                "let {d}[{n}, {j} in 0..{}] = 0;\nlet {d}[{i} in 0..{n}, {m}] = 0;\n\
                 let {d}[{i} in 0..{n}, {j} in 0..{m}] = if {a}[{i}] == {b}[{j}] {{ {d}[{i} + 1, {j} + 1] + 1 }} else {{ max({d}[{i} + 1, {j}], {d}[{i}, {j} + 1]) }};",
                m + 1
            ),
            2 => format!(
                "let {d}[{i} in 0..{}, 0] = {i};\nlet {d}[0, {j} in 1..{}] = 0;\n\
                 let {d}[{i} in 1..{}, {j} in 1..{}] = max({d}[{i}, {j} - 1] - 1, {d}[{i} - 1, {j} - 1] + {a}[{i} - 1] * {b}[{j} - 1]);",
                n + 1,
                m + 1,
                n + 1,
                m + 1
            ),
            _ => format!(
                "let {d}[0, {j} in 0..{}] = {j} * {j};\n\
                 let {d}[{i} in 1..{}, {j} in 0..{}] = {d}[{i} - 1, {m} - {j}] % 50 + {i};",
                m + 1,
                n + 1,
                m + 1
            ),
        };
        self.statements.push(text);
        let whole = self.rng.one_in(2);
        let end = match self.rng.below(3) {
            0 => format!("let {name} = {d}[{n}, {m}];"),
            1 => format!("let {name} = {d}[0, 0];"),
            _ => format!("let {name}[{i}] = {d}[{i}, {m}];"),
        };
        self.statements.push(end);
        if whole {
            self.bind(d, S::I32, vec![n + 1, m + 1], -1e4, 1e4);
        }
    }

    /// Two steps back, neighbours, borders of their own; perhaps in two dimensions.
    pub(super) fn waves(&mut self) {
        let ty = self.float();
        let suffix = if ty == S::F32 { "" } else { "f64" };
        let (steps, n) = (3 + self.rng.below(12), [3, 5, 9, 18, 34, 70][self.rng.below(6)]);
        let (u, t, x, l, name) =
            (self.fresh("u"), self.fresh("i"), self.fresh("i"), self.fresh("i"), self.fresh("t"));
        let start = self.formula_of(ty, vec![n]).text;
        let last = n - 1;
        let text = match self.rng.below(3) {
            0 => format!(
                "let {u}[{t} in 0..2, {l} in 0..{n}] = {start}[{l}];\n\
                 let {u}[{t} in 2..{steps}, 0] = 0.0{suffix};\nlet {u}[{t} in 2..{steps}, {last}] = 0.0{suffix};\n\
                 let {u}[{t} in 2..{steps}, {x} in 1..{last}] = 0.5{suffix} * ({u}[{t} - 1, {x} - 1] + {u}[{t} - 1, {x} + 1]) - 0.25{suffix} * {u}[{t} - 2, {x}];"
            ),
            1 => format!(
                "let {u}[0, {l} in 0..{n}] = {start}[{l}];\n\
                 let {u}[{t} in 1..{steps}, {x} in 0..{n}] = 0.25{suffix} * {u}[{t} - 1, if {x} > 0 {{ {x} - 1 }} else {{ {last} }}] + 0.5{suffix} * {u}[{t} - 1, {x}] + 0.25{suffix} * {u}[{t} - 1, ({x} + 1) % {n}];"
            ),
            _ => format!(
                "let {u}[{}, {l} in 0..{n}] = {start}[{l}];\n\
                 let {u}[{t} in 0..{}, {x} in 0..{n}] = 0.5{suffix} * {u}[{t} + 1, {last} - {x}] + {start}[{x}];",
                steps - 1,
                steps - 1
            ),
        };
        self.statements.push(text);
        match self.rng.below(3) {
            0 => self.bind(u, ty, vec![steps, n], -40.0, 40.0),
            1 => {
                self.statements.push(format!("let {name}[{x}] = {u}[{}, {x}];", steps - 1));
                self.bind(name, ty, vec![n], -40.0, 40.0);
            }
            _ => {
                self.statements.push(format!("let {name}[{x}] = {u}[0, {x}] + {u}[1, {x}];"));
                self.bind(name, ty, vec![n], -80.0, 80.0);
            }
        }
    }

    /// Ranges that depend on an index around them.
    pub(super) fn prefixes(&mut self) {
        let ty = self.number_type();
        let x = self.tensor(ty, 1, 20.0);
        let n = x.shape[0].min(40);
        let (name, i, j, k) = (self.fresh("t"), self.fresh("i"), self.fresh("i"), self.fresh("k"));
        let v = &x.text;
        let text = match self.rng.below(7) {
            0 => format!("let {name}[{i} in 0..{n}] = sum[{k} in 0..{i} + 1]({v}[{k}]);"),
            1 => format!("let {name}[{i} in 0..{n}] = max[{k} in {i}..{n}]({v}[{k}]);"),
            2 => format!("let {name}[{i} in 0..{n}, {j} in 0..{i} + 1] = {v}[{j}] + {v}[{i}];"),
            3 => format!(
                "let {name}[{i} in 0..{n}, {j} in {i}..{n}] = sum[{k} in {i}..{j} + 1]({v}[{k}]);"
            ),
            4 => format!("let {name}[{i} in 0..{n}] = argmin[{k} in 0..{i} + 1]({v}[{k}]);"),
            5 => format!("let {name}[{i} in 0..{n}] = count[{k} in 0..{i}]({v}[{k}] < {v}[{i}]);"),
            _ => format!(
                "let {name}[{i} in 0..{n}] = sum[{k} in 0..{n}, {j} in 0..{k} + 1]({v}[{j}] where {j} <= {i}, {k} != {i});"
            ),
        };
        self.statements.push(text);
    }

    /// Pointwise definitions that read one another, shifted and turned.
    pub(super) fn chain(&mut self) {
        let ty = self.number_type();
        let x = self.tensor(ty, 2, 20.0);
        let (n, m) = (x.shape[0], x.shape[1]);
        let (a, b, c) = (self.fresh("t"), self.fresh("t"), self.fresh("t"));
        let (i, j) = (self.fresh("i"), self.fresh("i"));
        let v = &x.text;
        self.statements.push(format!("let {a}[{i}, {j}] = {v}[{i}, {j}] + {v}[{i}, {}];", m - 1));
        self.statements.push(format!(
            "let {b}[{i} in 0..{m}, {j} in 0..{n}] = {a}[{j}, {i}] + {a}[{} - {j}, ({i} + 1) % {m}];",
            n - 1
        ));
        self.statements.push(format!(
            "let {c}[{i} in 0..{n}, {j} in 0..{m}] = {b}[{j}, {i}] where ({i} + {j}) % 3 != 1;"
        ));
        self.bind(c, ty, vec![n, m], -4.0 * x.size(), 4.0 * x.size());
    }

    /// Clauses of which a later one replaces cells of an earlier one.
    pub(super) fn overlapping(&mut self) {
        let ty = self.number_type();
        let (n, m) = (3 + self.rng.below(20), 3 + self.rng.below(20));
        let (a, b) = (self.rng.below(n), self.rng.below(m));
        let name = self.fresh("t");
        let mut clauses = Vec::new();
        let (mut lo, mut hi) = (0.0f64, 0.0f64);
        for (rows, cols) in
            [((0, n), (0, m)), ((a, n), (0, m)), ((0, n), (b, m)), ((a, a + 1), (b, b + 1))]
        {
            let (i, j) = (self.fresh("i"), self.fresh("i"));
            let over = |name: &String, (lo, hi): (usize, usize)| Index {
                name: name.clone(),
                lo: lo as i64,
                hi: hi as i64,
                inferred: false,
                lonely: false,
            };
            let ctx = Ctx { indices: vec![over(&i, rows), over(&j, cols)], own: Vec::new() };
            let e = self.scalar(ty, 2, &ctx);
            (lo, hi) = (lo.min(e.lo), hi.max(e.hi));
            let point = rows.1 - rows.0 == 1 && cols.1 - cols.0 == 1 && self.rng.one_in(2);
            let slots = match point {
                true => {
                    let e = self.literal(ty);
                    (lo, hi) = (lo.min(e.lo), hi.max(e.hi));
                    clauses.push(format!("let {name}[{a}, {b}] = {};", e.text));
                    continue;
                }
                false => format!("{i} in {}..{}, {j} in {}..{}", rows.0, rows.1, cols.0, cols.1),
            };
            clauses.push(format!("let {name}[{slots}] = {};", e.text));
        }
        if self.rng.one_in(3) {
            clauses.remove(0);
        }
        self.statements.push(clauses.join("\n"));
        if clauses.len() == 4 {
            self.bind(name, ty, vec![n, m], lo, hi);
        }
    }

    /// A matrix product in each step.
    pub(super) fn matrix_steps(&mut self) {
        let ty = self.float();
        let suffix = if ty == S::F32 { "" } else { "f64" };
        let (steps, b, n) =
            (2 + self.rng.below(5), 1 + self.rng.below(9), [3, 8, 16, 17][self.rng.below(4)]);
        let whole = self.formula_of(ty, vec![n, n]).text;
        let x = self.formula_of(ty, vec![steps, b, n]).text;
        let (w, h, z, t, i, j, k) = (
            self.fresh("t"),
            self.fresh("h"),
            self.fresh("t"),
            self.fresh("i"),
            self.fresh("i"),
            self.fresh("i"),
            self.fresh("k"),
        );
        // Steps that make differences larger would tell the order of sums apart.
        self.statements.push(format!("let {w}[{i}, {j}] = {whole}[{i}, {j}] * 0.015625{suffix};"));
        self.statements.push(format!(
            "let {h}[0, {i} in 0..{b}, {j} in 0..{n}] = 0.0{suffix};\n\
             let {h}[{t} in 1..{steps}, {i} in 0..{b}, {j} in 0..{n}] = std::math::tanh({x}[{t}, {i}, {j}] + sum[{k}]({w}[{k}, {j}] * {h}[{t} - 1, {i}, {k}]));"
        ));
        self.statements
            .push(format!("let {z}[{i}, {j}] = {h}[{}, {i}, {j}] * 2.0{suffix};", steps - 1));
        self.bind(z, ty, vec![b, n], -2.0, 2.0);
    }
}
