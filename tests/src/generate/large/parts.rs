//! Parts: pieces, gathers, views, empty and jagged arrays, bounds from data.

use super::super::{Gen, S};
use super::EXTENTS;

impl Gen {
    /// Pieces by coordinate, joined again.
    pub(super) fn pieces(&mut self) {
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
    pub(super) fn guarded_gather(&mut self) {
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

    /// Arrays and domains with nothing in them.
    pub(super) fn empty(&mut self) {
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

    /// Rows of different lengths.
    pub(super) fn jagged(&mut self) {
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

    /// Views of views.
    pub(super) fn views(&mut self) {
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

    /// Short rows whose sums run over other terms in each row: below a diagonal, beside it, and over what
    /// belongs to the row (a sparse matrix in rows).
    pub(super) fn short_rows(&mut self) {
        let ty = self.number_type();
        let x = self.tensor(ty, 2, 5.0);
        let (n, width) = (x.shape[0].min(24), x.shape[1].min(20));
        let (name, i, j, k) = (self.fresh("t"), self.fresh("i"), self.fresh("i"), self.fresh("k"));
        let v = &x.text;
        let head = format!("let {name}[{i} in 0..{n}, {j} in 0..{width}]");
        let text = match self.rng.below(4) {
            0 => format!("{head} = sum[{k} in 0..{i} + 1]({v}[{k}, {j}]);"),
            1 => format!("{head} = max[{k} in {i}..{n}]({v}[{k}, {j}]);"),
            2 => {
                let last = n - 1;
                format!(
                    "{head} = sum[{k} in max({i} - 2, 0)..min({i} + 2, {last}) + 1]({v}[{k}, {j}]);"
                )
            }
            _ => {
                let (starts, r) = (self.fresh("s"), self.fresh("i"));
                let each = self.rng.between(1, 3);
                self.statements.push(format!(
                    "let {starts}[{r} in 0..{}] = min({r} * {each} / 2, {n});",
                    n + 1
                ));
                format!("{head} = sum[{k} in {starts}[{i}]..{starts}[{i} + 1]]({v}[{k}, {j}]);")
            }
        };
        self.statements.push(text);
    }

    /// A range that a number of the program decides.
    pub(super) fn bound_by_data(&mut self) {
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
