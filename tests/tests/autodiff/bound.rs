//! Arrays that bodies bind under guards and inside of steps, recurrences that go down, clauses at one
//! point that read earlier ones through definitions, loops without points, systems of unequal parts.

use super::{Gen, Value};
use std::fmt::Write;

impl Gen {
    /// A block that binds an array and reads one of its elements.
    fn bound(&mut self, depth: usize, indices: &[(String, usize)], own: Option<&str>) -> String {
        let (l, k, n) = (self.fresh("b"), self.fresh("k"), 1 + self.rng.below(3));
        let mut inner = indices.to_vec();
        inner.push((k.clone(), n));
        let e = self.expr(depth, &inner);
        let e = own.map_or_else(|| e.clone(), |own| format!("0.5 * {own} + 0.5 * ({e})"));
        let (at, more) = (self.rng.below(n), self.expr(1, indices));
        // A loop that has no points for some of the indices.
        let sum = match indices.first() {
            Some((index, range)) if *range <= n => format!("sum[q in 0..{index}]({l}[q])"),
            _ => format!("sum[q]({l}[q])"),
        };
        format!("{{ let {l}[{k} in 0..{n}] = {e}; {l}[{at}] * {more} + {sum} }}")
    }

    /// Arrays bound on both sides of a guard, with a name that `where` binds.
    pub(super) fn guarded_blocks(&mut self, name: String) {
        let (i, n, w) = (self.fresh("i"), 2 + self.rng.below(3), self.fresh("w"));
        let one = [(i.clone(), n)];
        let (a, b) = (self.bound(1, &one, Some(&w)), self.bound(1, &one, Some(&w)));
        let (value, bound) = (self.expr(1, &one), self.constant());
        let guard = match self.rng.below(3) {
            0 => format!("{i} >= {}", self.rng.below(n + 1)),
            1 => format!("{w} > {bound}"),
            _ => format!("{i} % 2 == 0"),
        };
        let _ = writeln!(
            self.body,
            "let {name}~[{i} in 0..{n}] = (sin({a}) where {w} = {value}, {guard} else cos({b}));"
        );
        self.values.push(Value { name, shape: vec![n] });
    }

    /// A recurrence, up or down, one of whose clauses is a block at one point.
    pub(super) fn bound_steps(&mut self, name: String) {
        let (t, steps) = (self.fresh("s"), 3 + self.rng.below(3));
        let down = self.rng.one_in(2);
        let (first, second) = if down { (steps - 1, steps - 2) } else { (0, 1) };
        let (back, range) = match down {
            true => (format!("{name}~[{t} + 1]"), format!("0..{second}")),
            false => (format!("{name}~[{t} - 1]"), format!("2..{steps}")),
        };
        let base = self.expr(1, &[]);
        let point = self.bound(1, &[], Some(&format!("{name}~[{first}]")));
        let index = [(t.clone(), steps)];
        let step = match self.rng.below(3) {
            0 => self.bound(1, &index, Some(&back)),
            1 => format!("(|c: f64| c * {back})({})", self.expr(1, &index)),
            _ => format!("{back} * {}", self.expr(1, &index)),
        };
        let _ = writeln!(self.body, "let {name}~[{first}] = {base};");
        let _ = writeln!(self.body, "let {name}~[{second}] = tanh({point});");
        let _ = writeln!(self.body, "let {name}~[{t} in {range}] = tanh({step});");
        self.values.push(Value { name, shape: vec![steps] });
    }

    /// Two names that read each other, one with an axis more than the other.
    pub(super) fn unequal_parts(&mut self, name: String) {
        let (other, t, j) = (self.fresh("y"), self.fresh("s"), self.fresh("j"));
        let (steps, m) = (3 + self.rng.below(3), 1 + self.rng.below(3));
        let (base, row) = (self.expr(1, &[]), self.expr(1, &[(j.clone(), m)]));
        let index = [(t.clone(), steps)];
        let both = [(t.clone(), steps), (j.clone(), m)];
        let (e, at) = (self.expr(1, &both), self.rng.below(m));
        // The second part reads this step of the first one, or what came before.
        let read = match self.rng.below(3) {
            0 => format!("{other}~[{t} - 1, {at}]"),
            1 => format!("sum[q in 0..{m}]({other}~[{t}, q])"),
            _ => format!("{other}~[{t}, {at}]"),
        };
        let step = self.bound(1, &index, Some(&read));
        let _ = writeln!(self.body, "let {name}~[0] = {base};");
        let _ = writeln!(self.body, "let {other}~[0, {j} in 0..{m}] = {row};");
        let _ = writeln!(
            self.body,
            "let {other}~[{t} in 1..{steps}, {j} in 0..{m}] = \
             tanh({name}~[{t} - 1] * {e} + {other}~[{t} - 1, {j}]);"
        );
        let _ = writeln!(self.body, "let {name}~[{t} in 1..{steps}] = tanh({step});");
        self.values.push(Value { name, shape: vec![steps] });
        self.values.push(Value { name: other, shape: vec![steps, m] });
    }
}
