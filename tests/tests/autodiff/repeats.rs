//! Reductions whose points read one cell several times, products with zeros among their factors,
//! structs and closures on the way.
//!
//! Which factor a product leaves out, and which element attains a maximum, is a matter of points and
//! not of cells: clamped, halved and looked-up positions tell the two apart.

use super::{Gen, Value};
use std::fmt::Write;

impl Gen {
    /// A position in an axis of this extent that several values of an index share.
    pub(super) fn clamped(&mut self, extent: usize, name: &str) -> String {
        let last = extent - 1;
        let shift = 1 + self.rng.below(2);
        match self.rng.below(8) {
            0 => format!("clamp({name} - {shift}, 0, {last})"),
            1 => format!("min(max({name} - {shift}, 0), {last})"),
            2 => format!("min({name} + {shift}, {last})"),
            3 => format!("max({last} - {name}, 0)"),
            4 => format!("min({name}, {last}) / 2"),
            5 => format!("({name} * {name}) % {extent}"),
            6 => format!("(if {name} > {shift} {{ {last} }} else {{ 0 }})"),
            _ => format!("min({name}, max({last} - {name}, 0))"),
        }
    }

    /// A reduction over one to three indices, with conditions, names and repeated positions.
    pub(super) fn repeated(&mut self, name: String) {
        let i = self.fresh("i");
        let n = 2 + self.rng.below(2);
        let mut indices = vec![(i.clone(), n)];
        let mut over = Vec::new();
        let count = 1 + self.rng.below(3);
        for place in 0..count {
            let k = self.fresh("k");
            // Long ones are differentiated in another way.
            let range = if count == 1 { 2 + self.rng.below(8) } else { 2 + self.rng.below(2) };
            let from = match indices.get(place) {
                Some((outer, _)) if place > 0 && self.rng.one_in(3) => outer.clone(),
                _ => "0".to_string(),
            };
            over.push(format!("{k} in {from}..{range}"));
            indices.push((k, range));
        }
        let factor = self.factor(&indices);
        let k = indices.last().map_or_else(|| i.clone(), |(k, _)| k.clone());
        let body = match self.rng.below(6) {
            // A factor, or two of them, that is zero.
            0 => format!("({factor}) * ({k} - 1) as f64"),
            1 => format!("({factor}) * (max({k} - 2, 0) + {i}) as f64"),
            2 => format!("0.5 + max({k} - 1, 0) as f64 * ({factor})"),
            3 => {
                let z = self.fresh("z");
                format!("{z} + 0.5 * {z} * {z} where {z} = {factor}")
            }
            4 => format!("{factor} where max({k} - 1, 0) % 2 == 0"),
            _ => factor,
        };
        let op = ["prod", "prod", "prod", "sum"][self.rng.below(4)];
        let _ = writeln!(
            self.body,
            "let {name}~[{i} in 0..{n}] = tanh({op}[{}]({body}));",
            over.join(", ")
        );
        self.values.push(Value { name, shape: vec![n] });
    }

    /// What a product multiplies: near one, so that no product is out of all proportion.
    fn factor(&mut self, indices: &[(String, usize)]) -> String {
        let e = self.expr(1, indices);
        format!("0.4 + sin({e})")
    }

    /// An extremum over repeated positions: the first of the equal ones is one of the same cell.
    pub(super) fn extremum(&mut self, name: String) {
        let vectors: Vec<Value> =
            self.values.iter().filter(|it| it.shape.len() == 1).cloned().collect();
        let Some(a) = self.rng.pick(&vectors).cloned() else { return };
        let (i, k, l) = (self.fresh("i"), self.fresh("k"), self.fresh("l"));
        let n = 2 + self.rng.below(2);
        let at = self.clamped(a.shape[0], &k);
        let op = ["max", "min"][self.rng.below(2)];
        let over = match self.rng.below(2) {
            0 => format!("{k} in 0..4"),
            _ => format!("{k} in 0..4, {l} in 0..2"),
        };
        let _ = writeln!(
            self.body,
            "let {name}~[{i} in 0..{n}] = {op}[{over}](sin({}~[{at}]) * ({i} + 1) as f64);",
            a.name
        );
        self.values.push(Value { name, shape: vec![n] });
    }

    /// Values that travel in a struct, a tuple or a closure.
    pub(super) fn carried(&mut self, name: String) {
        let i = self.fresh("i");
        let n = 2 + self.rng.below(2);
        let one = [(i.clone(), n)];
        let (a, b) = (self.expr(1, &one), self.expr(1, &one));
        let (c, d) = (self.expr(1, &[]), self.constant());
        let value = match self.rng.below(4) {
            0 => {
                let ty = self.fresh("S");
                let _ = writeln!(self.shared, "struct {ty} {{ u: f64, v: f64 }}");
                format!("{{ let s = {ty} {{ u: {a}, v: {b} }}; s.u * s.v + sin(s.u) }}")
            }
            1 => format!("{{ let h = |t| t * {a} + sin(t); h({b}) * h({d}) }}"),
            2 => format!("{{ let p = ({a}, ({b}, {d})); p.0 * p.1.0 + p.1.1 * sin(p.0) }}"),
            _ => {
                let (ty, s) = (self.fresh("S"), self.fresh("q"));
                let _ = writeln!(self.shared, "struct {ty} {{ u: f64, w: [f64; 3] }}");
                let k = self.fresh("k");
                let row = self.expr(1, &[(k.clone(), 3)]);
                let _ = writeln!(self.body, "let {s}_w~[{k} in 0..3] = {row};");
                let _ = writeln!(self.body, "let {s}~ = {ty} {{ u: {c}, w: {s}_w~ }};");
                let at = self.clamped(3, &i);
                format!("{s}~.u * {s}~.w[{at}] + {a} * prod[{k} in 0..4]({s}~.w[max({k} - 1, 0)])")
            }
        };
        let _ = writeln!(self.body, "let {name}~[{i} in 0..{n}] = tanh({value});");
        self.values.push(Value { name, shape: vec![n] });
    }
}
