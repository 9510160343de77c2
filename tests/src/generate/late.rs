//! Programs in which an operation fails late: near the end of a reduction, in a late step of a recurrence,
//! in a cell of a step, in a recurrence inside of it. Some have two such places, of which only the
//! first in the order of the program may be told, and in some nothing fails although it looks so.

use super::rng::Rng;

/// A program under way.
struct Late {
    rng: Rng,
    statements: Vec<String>,
    next: usize,
}

/// The statements of the program with this number.
pub fn late(seed: u64) -> Vec<String> {
    let mut it = Late { rng: Rng::new(seed ^ 0x6c61_7465), statements: Vec::new(), next: 0 };
    it.push("let table[q in 0..10] = q % 4;".to_owned());
    it.push("let zero = len([1]) - 1;".to_owned());
    for _ in 0..1 + it.rng.below(3) {
        it.statement();
    }
    it.statements
}

impl Late {
    fn push(&mut self, statement: String) {
        self.statements.push(statement);
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.next += 1;
        format!("{prefix}{}", self.next)
    }

    fn extent(&mut self) -> i64 {
        [7, 16, 33, 60, 129, 257, 500][self.rng.below(7)]
    }

    /// A place near the end, sometimes one that is not there.
    fn place(&mut self, extent: i64) -> i64 {
        match self.rng.below(6) {
            0 => extent + 3,
            1 => self.rng.between(1, extent - 1),
            _ => extent - 1 - self.rng.between(0, (extent / 5).max(1)).min(extent - 1),
        }
    }

    /// A small integer that cannot be computed where an index has this value.
    fn bad(&mut self, i: &str, at: i64) -> String {
        match self.rng.below(11) {
            0 => format!("(7 / ({i} - {at}))"),
            1 => format!("(40 % (if {i} == {at} {{ zero }} else {{ 7 }}))"),
            2 => format!("table[if {i} == {at} {{ 10 }} else {{ {i} % 10 }}]"),
            3 => format!("table[if {i} == {at} {{ zero - 1 }} else {{ 3 }}]"),
            4 => format!("((2147483640 + (if {i} == {at} {{ 9 }} else {{ zero }})) % 5)"),
            5 => format!("max[q in 0..if {i} == {at} {{ zero }} else {{ 3 }}](q)"),
            6 => format!("sum[q in 0..9]((q + 1) / (if {i} == {at} {{ 4 - q }} else {{ 2 }}))"),
            7 => format!("(if {i} == {at} {{ sum[q in 0..90](q / (70 - q)) }} else {{ 1 }})"),
            8 => format!(
                "(if any[q in 0..20](60 / (15 - q) > (if {i} == {at} {{ 99 }} else {{ 8 }})) {{ 1 }} else {{ 2 }})"
            ),
            // These never fail.
            9 => format!("(if {i} != {at} {{ 9 / ({i} - {at}) }} else {{ 3 }})"),
            _ => format!("({i} % 3)"),
        }
    }

    fn statement(&mut self) {
        match self.rng.below(20) {
            0..=2 => self.reduction(),
            3 => self.rows(),
            4 => self.clauses(),
            5 => self.table(),
            6..=8 => self.steps(),
            9 => self.rows_of_steps(),
            10 => self.wavefront(),
            11 => self.system(),
            12 => self.state(),
            13 => self.until(),
            14 => self.nested(),
            15 => self.called(),
            16 => self.by_key(),
            17 | 18 => self.turns(),
            _ => self.gradient(),
        }
    }

    fn reduction(&mut self) {
        let (name, i, extent) = (self.fresh("r"), self.fresh("i"), self.extent());
        let at = self.place(extent);
        let bad = self.bad(&i, at);
        let guard = if self.rng.one_in(3) { format!(" where {i} % 4 != 1") } else { String::new() };
        let text = match self.rng.below(11) {
            0 => format!("sum[{i} in 0..{extent}]({bad}{guard})"),
            1 => format!("sum[{i} in 0..{extent}](({bad} * {}) as i64{guard})", i32::MAX / 64),
            2 => format!("sum[{i} in 0..{extent}]({bad} * 20000000{guard})"),
            3 => format!("max[{i} in 0..{extent}]({bad} - {i}{guard})"),
            4 => format!("argmin[{i} in 0..{extent}]({bad} + {i} % 7{guard})"),
            5 => format!("count[{i} in 0..{extent}]({bad} > 1{guard})"),
            6 => format!("mean[{i} in 0..{extent}](({bad}) as f64{guard})"),
            7 => format!("prod[{i} in 0..{extent}]({bad} % 2 * 2 - 1{guard})"),
            8 => format!("prod[{i} in 0..{extent}]({bad} % 3 + {}{guard})", self.rng.between(0, 2)),
            9 => {
                let j = self.fresh("j");
                format!("sum[{j} in 0..5, {i} in 0..{extent}]({bad} + {j}{guard})")
            }
            _ => format!("any[{i} in 0..{extent}]({bad} > {}{guard})", self.rng.between(3, 60)),
        };
        self.push(format!("let {name} = {text};"));
    }

    fn rows(&mut self) {
        let (name, i, extent) = (self.fresh("a"), self.fresh("i"), self.extent());
        let at = self.place(extent);
        let bad = self.bad(&i, at);
        self.push(format!("let {name}[{i} in 0..{extent}] = {bad} + {i} % 5;"));
    }

    /// Two clauses, both of which may fail.
    fn clauses(&mut self) {
        let (name, i, extent) = (self.fresh("a"), self.fresh("i"), self.extent());
        let (first, second) = (self.place(extent), self.place(extent / 2));
        let (first, second) = (self.bad(&i, first), self.bad(&i, second));
        self.push(format!(
            "let {name}[{i} in 0..{extent}] = {first};\nlet {name}[{i} in 0..{}] = {second} + 1;",
            extent / 2
        ));
    }

    /// Two axes.
    fn table(&mut self) {
        let (name, i, j) = (self.fresh("a"), self.fresh("i"), self.fresh("j"));
        let (rows, cols) = (self.extent(), 1 + self.extent() / 8);
        let (row, col) = (self.place(rows), self.place(cols.max(2)));
        let bad = self.bad(&j, col);
        self.push(format!(
            "let {name}[{i} in 0..{rows}, {j} in 0..{cols}] = {i} % 3 + (if {i} == {row} {{ {bad} }} else {{ 2 }});"
        ));
    }

    fn steps(&mut self) {
        let (name, t, extent) = (self.fresh("s"), self.fresh("t"), self.extent());
        let at = self.place(extent);
        let bad = self.bad(&t, at);
        let text = match self.rng.below(6) {
            0 => format!(
                "let {name}[0] = 1;\nlet {name}[{t} in 1..{extent}] = {name}[{t} - 1] + {bad};"
            ),
            1 => format!(
                "let {name}[0] = 1;\nlet {name}[1] = 2;\nlet {name}[{t} in 2..{extent}] = ({name}[{t} - 1] + {name}[{t} - 2] + {bad}) % 1000;"
            ),
            // It overflows by itself.
            2 => format!(
                "let {name}[0] = 1;\nlet {name}[{t} in 1..{extent}] = {name}[{t} - 1] + {};",
                i64::from(i32::MAX) / (extent - self.rng.between(1, 5).min(extent - 2))
            ),
            3 => format!(
                "let {name}[{}] = 1;\nlet {name}[{t} in 0..{}] = {name}[{t} + 1] % 100 + {bad};",
                extent - 1,
                extent - 1
            ),
            4 => format!(
                "let {name}[0] = 1;\nlet {name}[{t} in 1..{extent}] = sum[p in 0..{t}]({name}[p]) % 50 + {bad};"
            ),
            _ => format!(
                "let {name}[{t} in 0..{extent}] = if {t} == 0 {{ 3 }} else {{ {name}[{t} - 1] * 3 % 101 + {bad} }};"
            ),
        };
        self.push(text);
        if self.rng.one_in(2) {
            self.push(format!("print({name}[{}]);", extent - 1));
        }
    }

    /// A row in each step.
    fn rows_of_steps(&mut self) {
        let (name, t, i) = (self.fresh("u"), self.fresh("t"), self.fresh("i"));
        let (steps, cells) = (self.extent(), 2 + self.extent() / 8);
        let (step, cell) = (self.place(steps), self.place(cells));
        let bad = self.bad(&i, cell);
        let first = self.rng.one_in(2);
        let at = |t: &str, i: &str| if first { format!("{t}, {i}") } else { format!("{i}, {t}") };
        let neighbour = format!("({i} + 1) % {cells}");
        let back = format!("{t} - 1");
        self.push(format!(
            "let {name}[{}] = {i} % 7;\nlet {name}[{}] = ({name}[{}] + {name}[{}]) % 90 + (if {t} == {step} {{ {bad} }} else {{ 1 }});",
            at("0", &format!("{i} in 0..{cells}")),
            at(&format!("{t} in 1..{steps}"), &format!("{i} in 0..{cells}")),
            at(&back, &i),
            at(&back, &neighbour)
        ));
    }

    fn wavefront(&mut self) {
        let (name, i, j) = (self.fresh("d"), self.fresh("i"), self.fresh("j"));
        let (rows, cols) = (self.extent().min(70), self.extent().min(60));
        let (row, col) = (self.place(rows), self.place(cols));
        let bad = self.bad(&j, col);
        self.push(format!(
            "let {name}[0, {j} in 0..{cols}] = {j};\nlet {name}[{i} in 1..{rows}, 0] = {i};\n\
             let {name}[{i} in 1..{rows}, {j} in 1..{cols}] = max({name}[{i} - 1, {j}], {name}[{i}, {j} - 1]) + (if {i} == {row} {{ {bad} }} else {{ {name}[{i} - 1, {j} - 1] % 2 }});"
        ));
    }

    /// Two names that read each other.
    fn system(&mut self) {
        let (x, y, t, extent) = (self.fresh("x"), self.fresh("y"), self.fresh("t"), self.extent());
        let (first, second) = (self.place(extent), self.place(extent));
        let (first, second) = (self.bad(&t, first), self.bad(&t, second));
        self.push(format!(
            "let {x}[0] = 1;\nlet {y}[0] = 2;\nlet {x}[{t} in 1..{extent}] = ({x}[{t} - 1] + {y}[{t} - 1]) % 77 + {first};\n\
             let {y}[{t} in 1..{extent}] = ({x}[{t} - 1] * 3 + {y}[{t} - 1]) % 55 + {second};"
        ));
    }

    /// A tuple for each step.
    fn state(&mut self) {
        let (name, t, extent) = (self.fresh("s"), self.fresh("t"), self.extent());
        let at = self.place(extent);
        let bad = self.bad(&t, at);
        self.push(format!(
            "let {name}[0] = (1, 2.5);\nlet {name}[{t} in 1..{extent}] = {{\n    let (a, b) = {name}[{t} - 1];\n    (a % 100 + {bad}, b * 0.5 + 1.0)\n}};"
        ));
    }

    fn until(&mut self) {
        let (name, t, extent) = (self.fresh("w"), self.fresh("n"), self.extent());
        let at = self.place(extent);
        let bad = self.bad(&t, at);
        let end = self.rng.between(extent / 2, extent + 40);
        self.push(format!(
            "let {name}[0] = 0;\nlet {name}[{t} in 1..{}] = {name}[{t} - 1] + 1 + 0 * {bad} until {name}[{t}] >= {end};",
            extent * 3
        ));
    }

    /// A recurrence in each step of another one.
    fn nested(&mut self) {
        let (name, t, k) = (self.fresh("s"), self.fresh("t"), self.fresh("k"));
        let (outer, inner) = (self.extent().min(60), self.extent().min(40));
        let (step, at) = (self.place(outer), self.place(inner));
        let bad = self.bad(&k, at);
        self.push(format!(
            "let {name}[0] = 5;\nlet {name}[{t} in 1..{outer}] = {{\n    let z[0] = {name}[{t} - 1];\n    let z[{k} in 1..{inner}] = (z[{k} - 1] * 3 + 1) % 200 + (if {t} == {step} {{ {bad} }} else {{ 2 }});\n    z[{}]\n}};",
            inner - 1
        ));
    }

    /// A function with a recurrence, called for each cell.
    fn called(&mut self) {
        let (name, f, i) = (self.fresh("a"), self.fresh("f"), self.fresh("i"));
        let (cells, steps) = (self.extent().min(60), self.extent().min(60));
        let (cell, step) = (self.place(cells), self.place(steps));
        let bad = self.bad("t", step);
        self.push(format!(
            "fn {f}(n: i32) -> i32 {{\n    let s[0] = n;\n    let s[t in 1..{steps}] = s[t - 1] % 100 + (if n == {cell} {{ {bad} }} else {{ 1 }});\n    s[{}]\n}}\nlet {name}[{i} in 0..{cells}] = {f}({i});",
            steps - 1
        ));
    }

    /// A function that ends by calling itself.
    fn turns(&mut self) {
        let (name, f) = (self.fresh("r"), self.fresh("f"));
        let end = self.extent() * [1, 1, 9][self.rng.below(3)];
        let at = self.place(end);
        let bad = self.bad("n", at);
        self.push(format!(
            "fn {f}(n: i32, acc: i32, by: i32) -> i32 {{\n    if n >= {end} {{ acc }} else {{ {f}(n + by, acc % 1000 + {bad}, by) }}\n}}"
        ));
        match self.rng.one_in(2) {
            true => self.push(format!("let {name} = {f}(0, 3, 1);")),
            false => self.push(format!("let {name}[i in 0..9] = {f}(i, 3, 1);")),
        }
    }

    fn by_key(&mut self) {
        let (name, i, k, extent) =
            (self.fresh("h"), self.fresh("i"), self.fresh("k"), self.extent());
        let at = self.place(extent);
        let bad = self.bad(&i, at);
        self.push(format!(
            "let {name}[{k} in 0..6] = sum[{i} in 0..{extent}]({bad} where {i} * 5 % 8 == {k});"
        ));
    }

    /// The derivative of what reads at places that are computed.
    fn gradient(&mut self) {
        let (x, l, g, s) = (self.fresh("x"), self.fresh("l"), self.fresh("g"), self.fresh("s"));
        let (t, extent) = (self.fresh("t"), self.extent().min(130));
        let at = self.place(extent);
        let bad = self.bad(&t, at);
        self.push(format!(
            "let {x}[q in 0..12] = 0.25 * q as f64;\nlet {s}[0] = 1.0f64;\n\
             let {s}[{t} in 1..{extent}] = {s}[{t} - 1] * 0.5 + {x}[({bad} + 24) % 12] * {x}[{t} % 12];\n\
             let {l} = {s}[{}];\nlet {g} = @{l} / @{x};",
            extent - 1
        ));
    }
}
