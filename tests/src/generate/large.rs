//! Programs for engines: arrays that fill vectors, tiles and threads, and the constructs that
//! lowering has to take apart.

use super::{Ctx, Gen, Index, S, Var};

/// Extents around the widths that engines care about.
const EXTENTS: [usize; 16] = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 31, 33, 40];

/// At most so many cells.
const CELLS: usize = 700;

/// All types of numbers.
const NUMBERS: [S; 12] =
    [S::I8, S::I16, S::I32, S::I64, S::U8, S::U16, S::U32, S::U64, S::F16, S::BF16, S::F32, S::F64];

impl Gen {
    pub(super) fn large_shape(&mut self, most: usize) -> Vec<usize> {
        if most > 0 && self.rng.one_in(24) {
            return vec![[130, 260, 1030][self.rng.below(3)]];
        }
        let mut cells = 1;
        let mut shape = Vec::new();
        for _ in 0..1 + self.rng.below(most) {
            let extent = EXTENTS[self.rng.below(EXTENTS.len())];
            let extent = if cells * extent > CELLS { 1 + self.rng.below(3) } else { extent };
            cells *= extent;
            shape.push(extent);
        }
        shape
    }

    /// `let a[i in 0..20, j in 0..9] = ((i * 7 + j * 3) % 11 - 5) as f32;`
    pub(super) fn formula(&mut self) {
        let ty = self.element_type();
        let shape = self.shape(3);
        self.formula_of(ty, shape);
    }

    fn formula_of(&mut self, ty: S, shape: Vec<usize>) -> Var {
        let name = self.fresh("a");
        let mut slots = Vec::new();
        let mut sum = Vec::new();
        for extent in &shape {
            let i = self.fresh("i");
            sum.push(format!("{i} * {}", self.rng.between(1, 13)));
            slots.push(format!("{i} in 0..{extent}"));
        }
        let modulus = self.rng.between(2, 11);
        // Small numbers from zero up serve as indices.
        let low = if ty.is_signed() && !self.rng.one_in(3) { self.rng.between(0, 6) } else { 0 };
        let (lo, hi) = (-low as f64, (modulus - 1 - low) as f64);
        let whole = format!("(({}) % {modulus} - {low})", sum.join(" + "));
        let (text, lo, hi) = match ty {
            S::Bool => (format!("{whole} > 1"), 0.0, 1.0),
            S::I32 => (whole, lo, hi),
            ty if ty.is_float() => {
                let suffix = if ty == S::F32 { "" } else { ty.name() };
                (format!("{whole} as {} * 0.5{suffix}", ty.name()), lo * 0.5, hi * 0.5)
            }
            ty => (format!("{whole} as {}", ty.name()), lo, hi),
        };
        self.statements.push(format!("let {name}[{}] = {text};", slots.join(", ")));
        self.bind(name, ty, shape, lo, hi);
        self.vars[self.vars.len() - 1].clone()
    }

    pub(super) fn large_statement(&mut self) {
        match self.rng.below(24) {
            0..=2 => self.contraction(),
            3 => self.normalised(),
            4 | 5 => self.reductions(),
            6 => self.long_recurrence(),
            7 => self.grid(),
            8 => self.waves(),
            9 => self.contract(),
            10 => self.pieces(),
            11 => self.guarded_gather(),
            12 => self.attempts(),
            13 => self.empty(),
            14 => self.prefixes(),
            15 => self.nested_calls(),
            16 => self.jagged(),
            17 => self.failing(),
            18 => self.chain(),
            19 => self.views(),
            20 => self.overlapping(),
            21 => self.matrix_steps(),
            22 => self.inner_definition(),
            _ => self.bound_by_data(),
        }
    }

    /// A tensor of this type and rank, made if there is none.
    fn tensor(&mut self, ty: S, rank: usize, most: f64) -> Var {
        let fits = |var: &&Var| {
            var.ty == ty && var.shape.len() == rank && var.lo.abs().max(var.hi.abs()) <= most
        };
        let vars: Vec<Var> = self.vars.iter().filter(fits).cloned().collect();
        match self.rng.pick(&vars) {
            Some(var) if !self.rng.one_in(3) => var.clone(),
            _ => {
                let shape = (0..rank).map(|_| EXTENTS[self.rng.below(13)]).collect();
                self.formula_of(ty, shape)
            }
        }
    }

    fn float(&mut self) -> S {
        if self.rng.one_in(3) { S::F64 } else { S::F32 }
    }

    /// Matrix products in any order of indices, with batches, strides and what follows them.
    fn contraction(&mut self) {
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
    fn normalised(&mut self) {
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
    fn reductions(&mut self) {
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

    /// A recurrence over a state, of which perhaps only the last step is looked at.
    fn long_recurrence(&mut self) {
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
        match self.rng.below(4) {
            0 => self.bind(h, ty, vec![steps, width], -30.0, 30.0),
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
    fn grid(&mut self) {
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
    fn waves(&mut self) {
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

    /// Coordinates by name: reductions, functions with brackets, layouts.
    fn contract(&mut self) {
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

    /// A copy of an array without the names of its coordinates, to be read by what follows.
    fn by_position(&mut self, of: &str, ty: S, shape: &[usize], most: f64) {
        let name = self.fresh("t");
        let holes = vec!["?"; shape.len()].join(", ");
        self.statements.push(format!("let {name} = {of} as [{}; {holes}];", ty.name()));
        self.bind(name, ty, shape.to_vec(), -most, most);
    }

    /// Pieces by coordinate, joined again.
    fn pieces(&mut self) {
        let ty = self.number_type();
        let x = self.tensor(ty, 2, 1e3);
        let (n, m) = (x.shape[0], x.shape[1]);
        let (y, name) = (self.fresh("y"), self.fresh("t"));
        let (r, c) = (self.fresh("row"), self.fresh("col"));
        self.statements.push(format!("let {y}: [{}; {r}: {n}, {c}: {m}] = {};", ty.name(), x.text));
        let k = self.rng.below(n + 1);
        let text = match self.rng.below(7) {
            0 => format!("first[{r}]({y})"),
            1 => format!("last[{c}]({y})"),
            2 => format!("take[{r}]({y}, {k})"),
            3 => format!("drop[{r}]({y}, {k})"),
            4 => format!("join[{r}](drop[{r}]({y}, {k}), take[{r}]({y}, {k}))"),
            5 => format!("join[{c}](last[{c}]({y}), {y})"),
            _ => format!("join[{r}]({y}, {y})"),
        };
        self.statements.push(format!("let {name} = {text};"));
    }

    /// Reads at places that data says, some of them outside unless a guard is there.
    fn guarded_gather(&mut self) {
        let ty = self.number_type();
        let x = self.tensor(ty, 1, 1e3);
        let n = x.shape[0];
        let extent = EXTENTS[self.rng.below(14)];
        let route = self.formula_of(S::I32, vec![extent]);
        let (i, k, name) = (self.fresh("i"), self.fresh("k"), self.fresh("t"));
        let (r, v) = (&route.text, &x.text);
        let inside = format!("{r}[{i}] >= 0 && {r}[{i}] < {n}");
        let text = match self.rng.below(6) {
            0 => format!("let {name}[{i}] = {v}[{r}[{i}]] where {inside};"),
            1 => {
                let other = self.literal(ty).text;
                format!("let {name}[{i}] = if {inside} {{ {v}[{r}[{i}]] }} else {{ {other} }};")
            }
            2 => format!("let {name} = sum[{k}]({v}[{r}[{k}]] where {r}[{k}] in 0..{n});"),
            3 => format!("let {name}[{i}] = {v}[{r}[{i}]];"),
            4 => format!("let {name} = {v}[{r}];"),
            _ => format!("let {name}[{i}] = {v}[max(min({r}[{i}], {}), 0)];", n - 1),
        };
        self.statements.push(text);
    }

    /// Failures that are caught.
    fn attempts(&mut self) {
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

    /// Arrays and domains with nothing in them.
    fn empty(&mut self) {
        let ty = self.number_type();
        let x = self.tensor(ty, 1, 1e3);
        let (z, name, i, k) = (self.fresh("z"), self.fresh("t"), self.fresh("i"), self.fresh("k"));
        let n = self.rng.below(x.shape[0] + 1);
        let op = ["sum", "prod", "max", "min", "argmax"][self.rng.below(5)];
        let op = if self.rng.one_in(3) { op } else { "sum" };
        let text = match self.rng.below(5) {
            0 => format!("let {z} = {}[{n}..{n}];\nlet {name} = {op}({z});", x.text),
            1 => format!(
                "let {z}[{i} in 0..0] = {}[{i}];\nlet {name} = {op}[{k}]({z}[{k}]);",
                x.text
            ),
            2 => format!(
                "let {name}[{i} in 0..5] = sum[{k} in 0..{i}]({}[{k} % {}]);",
                x.text, x.shape[0]
            ),
            3 => format!("let {name}[{i} in 0..4, {k} in 0..0] = {}[0];", x.text),
            _ => format!("let {z}[{i} in 3..3] = 1;\nlet {name}[{i}] = {z}[{i}] + 1;"),
        };
        self.statements.push(text);
    }

    /// Ranges that depend on an index around them.
    fn prefixes(&mut self) {
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

    /// Functions of arrays that call one another.
    fn nested_calls(&mut self) {
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

    /// Rows of different lengths.
    fn jagged(&mut self) {
        let (z, name, i, k) = (self.fresh("z"), self.fresh("t"), self.fresh("i"), self.fresh("k"));
        let rows: Vec<String> = (0..1 + self.rng.below(4))
            .map(|_| {
                let items: Vec<String> =
                    (0..self.rng.below(5)).map(|_| self.rng.between(0, 9).to_string()).collect();
                format!("[{}]", items.join(", "))
            })
            .collect();
        let n = rows.len();
        self.statements.push(format!("let {z}: jagged[i32; 2d] = [{}];", rows.join(", ")));
        let text = match self.rng.below(3) {
            0 => {
                format!("let {name}[{i} in 0..{n}] = sum[{k} in 0..len({z}[{i}])]({z}[{i}][{k}]);")
            }
            1 => format!(
                "let {name}[{i} in 0..{n}] = max[{k} in 0..len({z}[{i}])]({z}[{i}][{k}] * {i});"
            ),
            _ => format!("let {name} = [len(r) | r in {z}];"),
        };
        self.statements.push(text);
    }

    /// What stops a program.
    fn failing(&mut self) {
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

    /// Pointwise definitions that read one another, shifted and turned.
    fn chain(&mut self) {
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

    /// Views of views.
    fn views(&mut self) {
        let ty = self.element_type();
        let x = self.tensor(ty, 2, 1e3);
        let (n, m) = (x.shape[0], x.shape[1]);
        let (name, s, i) = (self.fresh("t"), self.fresh("t"), self.fresh("i"));
        let from = self.rng.below(n);
        let v = &x.text;
        let (text, shape) = match self.rng.below(6) {
            0 => (format!("transpose({v})"), vec![m, n]),
            1 => (format!("{v}[{from}..{n}]"), vec![n - from, m]),
            2 => (format!("reshape({v}, [{m}, {n}])"), vec![m, n]),
            3 => (format!("reverse(transpose({v}))"), vec![m, n]),
            4 => (format!("concatenate(transpose({v}), transpose({v}))"), vec![2 * m, n]),
            _ => (format!("reshape({v}[{from}..{n}], [{}])", (n - from) * m), vec![(n - from) * m]),
        };
        let text = text
            .replace("transpose", "std::array::transpose")
            .replace("concatenate", "std::array::concatenate");
        self.statements.push(format!("let {name} = {text};"));
        if shape.len() == 2 {
            self.statements.push(format!("let {s}[{i}] = {name}[{i}, {}];", shape[1] - 1));
        }
        self.bind(name, ty, shape, x.lo, x.hi);
    }

    /// Clauses of which a later one replaces cells of an earlier one.
    fn overlapping(&mut self) {
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
    fn matrix_steps(&mut self) {
        let ty = self.float();
        let suffix = if ty == S::F32 { "" } else { "f64" };
        let (steps, b, n) =
            (2 + self.rng.below(5), 1 + self.rng.below(9), [3, 8, 16, 17][self.rng.below(4)]);
        let w = self.formula_of(ty, vec![n, n]).text;
        let x = self.formula_of(ty, vec![steps, b, n]).text;
        let (h, z, t, i, j, k) = (
            self.fresh("h"),
            self.fresh("t"),
            self.fresh("i"),
            self.fresh("i"),
            self.fresh("i"),
            self.fresh("k"),
        );
        self.statements.push(format!(
            "let {h}[0, {i} in 0..{b}, {j} in 0..{n}] = 0.0{suffix};\n\
             let {h}[{t} in 1..{steps}, {i} in 0..{b}, {j} in 0..{n}] = std::math::tanh({x}[{t}, {i}, {j}] + sum[{k}]({w}[{k}, {j}] * {h}[{t} - 1, {i}, {k}]));"
        ));
        self.statements
            .push(format!("let {z}[{i}, {j}] = {h}[{}, {i}, {j}] * 2.0{suffix};", steps - 1));
        self.bind(z, ty, vec![b, n], -2.0, 2.0);
    }

    /// A definition inside the body of another.
    fn inner_definition(&mut self) {
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
        let body = match self.rng.below(3) {
            0 => format!(
                "let {w}[{j}] = {x}[{i}, {j}] - {x}[{i}, 0]; sum[{k}]({w}[{k}] * {w}[{k}])",
                x = x.text
            ),
            1 => format!(
                "let {w}[{j}] = sum[{k}]({x}[{i}, {k}] * {x}[{j}, {k}]); max[{k}]({w}[{k}])",
                x = x.text
            ),
            _ => {
                self.statements.push(format!(
                    "fn {f}(v: [{t}; ?n]) -> {t} {{ let s[0] = v[0]; let s[{k} in 1..len(v)] = s[{k} - 1] + v[{k}]; s[len(v) - 1] }}",
                    t = ty.name()
                ));
                format!("{f}({x}[{i}])", x = x.text)
            }
        };
        self.statements.push(format!("let {name}[{i} in 0..{}] = {{ {body} }};", x.shape[0]));
    }

    /// A range that a number of the program decides.
    fn bound_by_data(&mut self) {
        let ty = self.number_type();
        let x = self.tensor(ty, 1, 20.0);
        let n = 1 + self.rng.below(x.shape[0]);
        let (s, name, i, k) = (self.fresh("s"), self.fresh("t"), self.fresh("i"), self.fresh("k"));
        self.statements.push(format!("let {s} = {n};"));
        let v = &x.text;
        self.statements.push(match self.rng.below(3) {
            0 => format!("let {name}[{i} in 0..{s}] = {v}[{i}];"),
            1 => format!("let {name} = sum[{k} in 0..{s}]({v}[{k}]);"),
            _ => format!("let {name}[{i} in 0..{s}] = max[{k} in 0..{s}](if {k} < {i} {{ {v}[{k}] }} else {{ {v}[{i}] }});"),
        });
    }
}

impl Var {
    fn size(&self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }
}
