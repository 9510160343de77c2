//! Recursion on shrinking vectors and matrices, in many forms.
//!
//! A function takes one end of each axis away, computes what is left from what it took (or hands
//! it on as it is), calls itself, and puts the parts together. Factors are small, so that values
//! stay of one size at any depth.

use super::rng::Rng;

/// The extents of arguments: bases of the recursion, small ones, and some that are worth blocks.
const EXTENTS: [i64; 8] = [1, 2, 3, 5, 9, 33, 40, 47];

/// The statements of the program with this number.
pub fn recursive(seed: u64) -> Vec<String> {
    let mut it = Recursive { rng: Rng::new(seed ^ 0x7265_6375) };
    let extent = *it.rng.pick(&EXTENTS).unwrap_or(&3);
    let mut statements = vec![
        format!("let v[i in 0..{extent}] = ((i * 7) % 11) as f64 * 0.3 - 1.0;"),
        format!("let w[i in 0..{extent}] = ((i * 5) % 13) as f64 * 0.2 - 0.9;"),
        format!(
            "let m[i in 0..{extent}, j in 0..{extent}] = ((i * 7 + j * 3) % 11) as f64 * 0.2 - 1.0;"
        ),
    ];
    for at in 0..2 {
        let name = format!("f{at}");
        let (function, call) = match it.rng.below(3) {
            0 => it.vector(&name),
            1 => it.number(&name),
            _ => it.matrix(&name),
        };
        statements.push(function);
        statements.push(format!("let r{at} = {call};"));
    }
    statements
}

/// Which end of an axis is taken away.
#[derive(Clone, Copy)]
struct End {
    taken: &'static str,
    left: &'static str,
    /// Whether the part that is taken comes first again in the result.
    first: bool,
}

struct Recursive {
    rng: Rng,
}

impl Recursive {
    fn one_of(&mut self, texts: &[&str]) -> String {
        self.rng.pick(texts).copied().unwrap_or_default().to_owned()
    }

    fn end(&mut self) -> End {
        let first = self.rng.one_in(2);
        match self.rng.below(3) {
            0 => End { taken: "last", left: "init", first },
            _ => End { taken: "first", left: "rest", first },
        }
    }

    /// Vectors to a vector.
    fn vector(&mut self, name: &str) -> (String, String) {
        let end = self.end();
        let (taken, left) = (end.taken, end.left);
        let next = self.one_of(&["t", "s", "s"]);
        let body = self.one_of(&[
            "0.5 * t[i] + 0.25 * h",
            "t[i] - 0.1 * h * g",
            "0.9 * t[i] + 0.1 * t[0]",
            "t[i] * a + 0.1 * y[i]",
            "if i == 0 { t[i] + 0.2 * h } else { t[i] }",
            "0.5 * y[i] + 0.1 * a",
        ]);
        let other = self.one_of(&["rest[#0](y)", "init[#0](y)", "y2"]);
        let number = self.one_of(&["a", "0.5 * a + 0.1 * h", "a"]);
        let head = self.one_of(&["h", "0.5 * h + a", "h - 0.1 * inner[0]", "g"]);
        let inside = self.one_of(&["inner", "inner", "moved"]);
        let joined = match end.first {
            true => format!("join[#0](head, {inside})"),
            false => format!("join[#0]({inside}, head)"),
        };
        let base = self.one_of(&["x", "y", "{ let b[i] = 0.5 * x[i] + a; b }"]);
        let function = format!(
            "fn {name}(x: [f64; ?n], y: [f64; ?n], a: f64) -> [f64; ?n] {{
    if len(x) <= 1 {{ {base} }} else {{
        let h = {taken}[#0](x);
        let g = {taken}[#0](y);
        let t = {left}[#0](x);
        let s[i in 0..len(t)] = {body};
        let y2[i in 0..len(t)] = 0.5 * y[i] + 0.3 * h;
        let inner = {name}({next}, {other}, {number});
        let moved[i] = 0.5 * inner[i] + 0.2 * h;
        let head = {head};
        {joined}
    }}
}}"
        );
        (function, format!("{name}(v, w, 0.5)"))
    }

    /// Vectors to a number.
    fn number(&mut self, name: &str) -> (String, String) {
        let End { taken, left, .. } = self.end();
        let next = self.one_of(&["t", "s"]);
        let least = self.rng.below(2);
        let number = self.one_of(&["a", "0.5 * a + 0.3 * h", "h"]);
        let result = self.one_of(&[
            "inner",
            "0.4 * inner + h",
            "a - 0.2 * inner * h",
            "inner + sum[i](t[i]) * 0.01",
        ]);
        let base = self.one_of(&["a", "0.25", "0.5 * a + 1.0"]);
        let function = format!(
            "fn {name}(x: [f64; ?n], a: f64) -> f64 {{
    if len(x) <= {least} {{ {base} }} else {{
        let h = {taken}[#0](x);
        let t = {left}[#0](x);
        let s[i] = 0.5 * t[i] + 0.1 * h;
        let inner = {name}({next}, {number});
        {result}
    }}
}}"
        );
        (function, format!("{name}(v, 0.75)"))
    }

    /// A square matrix to another one.
    fn matrix(&mut self, name: &str) -> (String, String) {
        let (rows, cols) = (self.end(), self.end());
        let body = self.one_of(&[
            "body[i, j] - 0.1 * column[i] * across[j]",
            "body[i, j] - f[i] * across[j]",
            "body[i, j] - f[i] * across[j]",
            "0.5 * body[j, i] + 0.1 * column[i]",
            "body[i, j] - 0.1 * f[i] * column[j] + 0.05 * pivot",
            "0.9 * body[i, j] + 0.05 * sum[k](body[i, k] * across[k]) * 0.1",
        ]);
        let side = self.one_of(&["f", "column", "f"]);
        let top = self.one_of(&["top", "top", "other"]);
        let inner = format!("{name}(s)");
        let under = match cols.first {
            true => format!("join[#1]({side}, {inner})"),
            false => format!("join[#1]({inner}, {side})"),
        };
        let joined = match rows.first {
            true => format!("join[#0]({top}, {under})"),
            false => format!("join[#0]({under}, {top})"),
        };
        let least = self.rng.below(2);
        let (row, rest) = (rows.taken, rows.left);
        let (col, right) = (cols.taken, cols.left);
        let function = format!(
            "fn {name}(x: [f64; ?n, ?n]) -> [f64; ?n, ?n] {{
    if len(x) <= {least} {{ x }} else {{
        let top = {row}[#0](x);
        let other[j] = 0.5 * top[j];
        let under = {rest}[#0](x);
        let pivot = {col}[#0](top);
        let across = {right}[#0](top);
        let column = {col}[#1](under);
        let body = {right}[#1](under);
        let f[i] = column[i] / (3.0 + pivot * pivot);
        let s[i, j] = {body};
        {joined}
    }}
}}"
        );
        (function, format!("{name}(m)"))
    }
}
