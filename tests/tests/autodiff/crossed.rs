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
