//! Reads at positions that several loops decide together, where the loops depend on each other: by
//! their domains, by conditions and by bindings between them.

use super::{Gen, Value};
use std::fmt::Write;

impl Gen {
    /// `y[i] = sum[k in LO..HI](x[i + k] * e where b = …, k != …) where c = …, even(i)`
    pub(super) fn crossed(&mut self, name: String) {
        let long: Vec<Value> = self
            .values
            .iter()
            .filter(|it| it.shape.first().is_some_and(|extent| *extent >= 3))
            .cloned()
            .collect();
        let Some(read) = self.rng.pick(&long).cloned() else { return };
        let (i, k, l) = (self.fresh("i"), self.fresh("k"), self.fresh("k"));
        let (n, m) = (2, 2);
        let three = self.rng.one_in(4) && read.shape[0] >= 4;
        let place = match self.rng.below(if three { 2 } else { 5 }) {
            0 if three => format!("{i} + {k} + {l}"),
            1 if three => format!("{i} + 1 + {k} - {l}"),
            0 | 1 => format!("{i} + {k}"),
            2 => format!("{i} - {k} + 1"),
            3 => format!("{k} - {i} + 1"),
            _ => format!("2 - {i} - {k}"),
        };
        let inner = [(i.clone(), n), (k.clone(), m)];
        let mut at = vec![place];
        for extent in &read.shape[1..] {
            at.push(self.place(*extent, &inner));
        }
        let domain = self.domain(&i, m);
        let more = match three {
            true => format!(", {l} in {}", self.domain(&k, m)),
            false => String::new(),
        };
        let (e, b, c) =
            (self.expr(1, &inner), self.expr(1, &inner), self.expr(1, &[(i.clone(), n)]));
        let (u, v) = (self.fresh("u"), self.fresh("v"));
        let inside = match self.rng.below(4) {
            0 => format!(" * {u} where {u} = {b}, {k} != {i}"),
            1 => format!(" * {u} where {u} = {b}"),
            2 => format!(" where {k} + {i} > 0"),
            _ => String::new(),
        };
        let outside = match self.rng.below(5) {
            0 => format!(" * {v} where {v} = {c}, {i} % 2 == 0"),
            1 => format!(" * {v} where {v} = {c}"),
            2 => format!(" where {i} > 0"),
            3 => format!(" * {v} where {i} % 2 == 1, {v} = {c}"),
            _ => String::new(),
        };
        let _ = writeln!(
            self.body,
            "let {name}~[{i} in 0..{n}] = sum[{k} in {domain}{more}]({}~[{}] * tanh({e}){inside}){outside};",
            read.name,
            at.join(", ")
        );
        self.values.push(Value { name, shape: vec![n] });
    }

    /// Steps that read their neighbours at the step before, with conditions and bindings.
    pub(super) fn crossed_steps(&mut self, name: String) {
        let (t, j, k) = (self.fresh("s"), self.fresh("j"), self.fresh("k"));
        let (steps, m) = (3, 3);
        let index = [(t.clone(), steps), (j.clone(), m)];
        let (first, e, c) = (
            self.expr(1, &[(j.clone(), m)]),
            self.expr(1, &[(j.clone(), m)]),
            self.expr(1, &index),
        );
        let v = self.fresh("v");
        let (place, domain) = match self.rng.below(5) {
            0 => (
                format!("{j} + {k} - 1"),
                format!("(if {j} > 0 {{ 0 }} else {{ 1 }})..min(3, {} - {j})", m + 1),
            ),
            1 => (format!("{j} - {k}"), format!("0..{j} + 1")),
            2 => (format!("{j} + {k}"), format!("0..min(2, {m} - {j})")),
            3 => (format!("({j} + {k}) % {m}"), "0..2".to_string()),
            _ => (format!("{} - {j} - {k}", m - 1), format!("0..{m} - {j}")),
        };
        let sum = format!("sum[{k} in {domain}]({name}~[{t} - 1, {place}] * sin({e}))");
        let clause = match self.rng.below(4) {
            0 => format!("tanh({sum}) * {v} where {v} = {c}, {j} % 2 == 0"),
            1 => format!("tanh({sum} + {v}) where {v} = {c}"),
            2 => format!("tanh({sum}) where {t} + {j} > 1 else 0.5 * {name}~[{t} - 1, {j}]"),
            _ => format!("tanh({sum} - {c})"),
        };
        let _ = writeln!(self.body, "let {name}~[0, {j} in 0..{m}] = {first};");
        let _ = writeln!(self.body, "let {name}~[{t} in 1..{steps}, {j} in 0..{m}] = {clause};");
        self.values.push(Value { name, shape: vec![steps, m] });
    }

    /// Two indices on the left, one of which decides how far the other goes.
    pub(super) fn crossed_rows(&mut self, name: String) {
        let (i, j, k) = (self.fresh("i"), self.fresh("j"), self.fresh("k"));
        let index = [(i.clone(), 2), (j.clone(), 2), (k.clone(), 2)];
        let tall: Vec<Value> = self
            .values
            .iter()
            .filter(|it| it.shape.first().is_some_and(|extent| *extent >= 3))
            .cloned()
            .collect();
        let Some(read) = self.rng.pick(&tall).cloned() else { return };
        let mut at = vec![match self.rng.below(4) {
            0 => format!("{i} + {k}"),
            1 => format!("{i} + 1 - {k}"),
            2 => format!("{j} + {k}"),
            _ => format!("{i} + {j} - {i} * {j}"),
        }];
        for extent in &read.shape[1..] {
            at.push(self.place(*extent, &index));
        }
        let e = self.expr(1, &index);
        let op = ["sum", "max", "prod", "mean", "sum"][self.rng.below(5)];
        let (left, domain) = match self.rng.below(3) {
            0 => (format!("{j} in 0..{i} + 1"), format!("{j}..{i} + 1")),
            1 => (format!("{j} in {i}..2"), format!("0..{j} + 1")),
            _ => (format!("{j} in 0..2"), format!("0..(if {i} > {j} {{ 1 }} else {{ 2 }})")),
        };
        let guard = ["", " where #i != #j", " where #i + #j > 0"][self.rng.below(3)]
            .replace("#i", &i)
            .replace("#j", &j);
        let _ = writeln!(
            self.body,
            "let {name}~[{i} in 0..2, {left}] = {op}[{k} in {domain}](sin({}~[{}] * ({e}))){guard};",
            read.name,
            at.join(", ")
        );
        self.values.push(Value { name, shape: vec![2, 2] });
    }

    /// A domain within `0..extent` that an index of at most two positions decides, or data, or
    /// nothing.
    fn domain(&mut self, index: &str, extent: usize) -> String {
        let tables: Vec<(String, usize, usize)> =
            self.tables.iter().filter(|(_, _, bound)| *bound <= extent).cloned().collect();
        match self.rng.below(8) {
            0 => format!("{index}..{extent}"),
            1 => format!("0..{index} + 1"),
            2 => format!("0..(if {index} < 1 {{ 1 }} else {{ {extent} }})"),
            3 => format!("(if {index} > 0 {{ 1 }} else {{ 0 }})..{extent}"),
            4 => format!("0..max(1, min({extent}, 2 * {index}))"),
            5 => format!("({index} / 2)..{extent} - {index} % 2"),
            6 => match self.rng.pick(&tables) {
                Some((table, _, _)) => format!("{table}[{index}]..{extent}"),
                None => format!("0..{extent}"),
            },
            _ => format!("0..{extent}"),
        }
    }
}
