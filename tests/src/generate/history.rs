//! Gradients of recurrences with enough steps to be cut into segments: scalar, vector and matrix
//! states, reads of one to three steps back, one or two layers, forced or not, and losses of one step,
//! of several and of all.

use super::rng::Rng;

/// The program with this number; its outputs are `g` and `loss`, and where there are such `gr`, the
/// gradient by a matrix, and `gx`, that by what forces the recurrence.
pub fn history(seed: u64) -> String {
    let mut rng = Rng::new(seed ^ 0x1157_0127);
    let state = State::new(&mut rng);
    let mut text = "use std::math::{exp, sin, sqrt, tanh};\n".to_owned();
    text.push_str(&format!(
        "let p[q in 0..4] = {} * sin({});\n",
        state.num("0.3"),
        state.num("q + 1")
    ));
    if let Some((_, columns)) = state.shape {
        let value = format!("{} * sin({})", state.num("0.3"), state.num("i * 7 + k * 3"));
        text.push_str(&format!("let R[i in 0..{columns}, k in 0..{columns}] = {value};\n"));
    }
    let forcing = rng.below(3);
    if forcing == 1 {
        let (steps, domain) = (state.steps, state.domain());
        let value = format!("{} * sin({})", state.num("0.1"), state.num("t * 3"));
        text.push_str(&format!("let x[t in 0..{steps}{domain}] = {value};\n"));
    }
    text.push_str(&state.recurrence(&mut rng, forcing));
    let mut loss = state.loss(&mut rng);
    if rng.below(3) == 0 {
        text.push_str(&state.second_layer());
        loss = loss.replace("y[", "z[");
    }
    text.push_str(&format!("let loss = {loss};\n"));
    text.push_str("let g = @loss / @p;\n");
    if state.shape.is_some() && rng.below(2) == 0 {
        text.push_str("let gr = @loss / @R;\n");
    }
    if forcing == 1 && rng.below(2) == 0 {
        text.push_str("let gx = @loss / @x;\n");
    }
    text
}

/// The state of a recurrence.
struct State {
    ty: &'static str,
    steps: i64,
    /// How many steps back it reads.
    depth: i64,
    /// Rows, if there are any, and columns.
    shape: Option<(usize, usize)>,
}

impl State {
    fn new(rng: &mut Rng) -> State {
        let ty = if rng.below(3) == 0 { "f64" } else { "f32" };
        let steps = *rng.pick(&[64, 65, 79, 100, 127, 128, 129, 160, 333]).unwrap_or(&100);
        let depth = rng.between(1, 3);
        let columns = *rng.pick(&[1, 2, 3, 5, 8, 17, 33]).unwrap_or(&3);
        let rows = if rng.below(3) == 0 { 3 } else { 0 };
        let shape = (rng.below(4) > 0).then_some((rows, columns));
        State { ty, steps, depth, shape }
    }

    fn num(&self, text: &str) -> String {
        format!("(({text}) as {})", self.ty)
    }

    /// The loops over a state, each with a comma before it.
    fn domain(&self) -> String {
        match self.shape {
            None => String::new(),
            Some((0, columns)) => format!(", j in 0..{columns}"),
            Some((rows, columns)) => format!(", b in 0..{rows}, j in 0..{columns}"),
        }
    }

    /// A cell of the state, each index with a comma before it.
    fn cell(&self, column: &str) -> String {
        match self.shape {
            None => String::new(),
            Some((0, _)) => format!(", {column}"),
            Some(_) => format!(", b, {column}"),
        }
    }

    fn recurrence(&self, rng: &mut Rng, forcing: usize) -> String {
        let (domain, mut text) = (self.domain(), String::new());
        for step in 0..self.depth {
            let first = match rng.below(2) {
                0 => self.num("0.5"),
                _ => format!("p[{}]", rng.below(4)),
            };
            text.push_str(&format!("let y[{step}{domain}] = {first};\n"));
        }
        let mut terms: Vec<String> = (1..=self.depth).map(|back| self.term(rng, back)).collect();
        match forcing {
            1 => terms.push(format!("x[t{}]", self.cell("j"))),
            2 => terms.push(format!("{} * sin({})", self.num("0.1"), self.num("t"))),
            _ => {}
        }
        let sum = terms.join(" + ");
        let value = if rng.below(3) == 0 { format!("tanh({sum})") } else { sum };
        text.push_str(&format!("let y[t in {}..{}{domain}] = {value};\n", self.depth, self.steps));
        text
    }

    /// A recurrence over the steps of the first one.
    fn second_layer(&self) -> String {
        let (domain, cell, steps) = (self.domain(), self.cell("j"), self.steps);
        let value = format!("tanh(p[3] * z[t - 1{cell}] + y[t{cell}])");
        let first = self.num("0.2");
        format!("let z[0{domain}] = {first};\nlet z[t in 1..{steps}{domain}] = {value};\n")
    }

    /// What an earlier step adds.
    fn term(&self, rng: &mut Rng, back: i64) -> String {
        let before = format!("y[t - {back}{}]", self.cell("j"));
        let weight = format!("p[{}]", rng.below(4));
        match (rng.below(5), self.shape) {
            (0, _) => format!("{weight} * {before}"),
            (1, _) => format!("{} * {weight} * sin({before})", self.num("0.2")),
            (2, _) => format!("{} * exp(-{before} * {before}) * {weight}", self.num("0.1")),
            (3, Some((_, columns))) => {
                let other = format!("y[t - {back}{}]", self.cell("k"));
                format!(
                    "sum[k in 0..{columns}](R[j, k] * {other}) / {}",
                    self.num(&columns.to_string())
                )
            }
            _ => format!(
                "{} * {before} - {} * {before} * {before} * {weight}",
                self.num("0.4"),
                self.num("0.1")
            ),
        }
    }

    fn loss(&self, rng: &mut Rng) -> String {
        let cell = self.cell("j");
        let last = self.steps - 1;
        let over = |time: &str| {
            let state = match self.shape {
                None => "",
                Some((0, _)) => "j",
                Some(_) => "b, j",
            };
            [time, state].into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(", ")
        };
        let sum = |time: &str, body: String| match over(time).as_str() {
            "" => body,
            indices => format!("sum[{indices}]({body})"),
        };
        let all = sum("t", format!("y[t{cell}] * y[t{cell}]"));
        match rng.below(5) {
            0 => sum("", format!("y[{last}{cell}] * y[{last}{cell}]")),
            1 => all,
            2 => format!("sqrt({all})"),
            3 => {
                let other = *rng.pick(&[0, 1, last / 2, last - 1]).unwrap_or(&0);
                sum("", format!("y[{last}{cell}] * y[{other}{cell}]"))
            }
            _ => sum(&format!("t in 5..{}", last - 3), format!("y[t{cell}] * {}", self.num("t"))),
        }
    }
}
