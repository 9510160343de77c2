//! Gradients inside of what is differentiated: steps that go down a slope, whose state is an array or
//! a struct, and whose gradient is asked for in a function or in a `where`.

use super::{Gen, Value};
use std::fmt::Write;

impl Gen {
    /// `y[t] = q - 0.1 * g where q = y[t - 1], l = f(q, c), g = @l / @q`
    pub(super) fn descent(&mut self, name: String) {
        let (t, j, k) = (self.fresh("s"), self.fresh("j"), self.fresh("k"));
        let (f, c) = (self.fresh("f"), self.fresh("c"));
        let (steps, m) = (3, 2 + self.rng.below(2));
        let (first, weight) = (self.expr(1, &[(j.clone(), m)]), self.expr(1, &[(j.clone(), m)]));
        let open = if self.rng.one_in(2) { "?".to_string() } else { m.to_string() };
        let body = match self.rng.below(3) {
            0 => "sum[i](sin(#[i]) * c[i])".to_string(),
            1 => format!("sum[i in 0..{m}](#[i] * #[i] * c[i]) + sin(#[0] * c[1])"),
            _ => format!("exp(-sum[i in 0..{m}](#[i] * #[i])) * c[0] + sum[i](#[i] * c[i])"),
        };
        let _ = writeln!(self.body, "let {c}~[{j} in 0..{m}] = {weight};");
        if self.rng.one_in(2) {
            let ty = self.fresh("S");
            let first = format!("{c}_first~");
            let start = self.expr(1, &[(k.clone(), m)]);
            let _ = writeln!(self.shared, "struct {ty} {{ w: [f64; {open}], b: f64 }}");
            let _ = writeln!(
                self.shared,
                "fn {f}(p: {ty}, c: [f64; ?]) -> f64 {{ {} + p.b * p.b * c[0] }}",
                body.replace('#', "p.w")
            );
            let _ = writeln!(self.body, "let {first}[{k} in 0..{m}] = {start};");
            let _ = writeln!(self.body, "let {name}_s~[0] = {ty} {{ w: {first}, b: 0.5 }};");
            let step = format!("{ty} {{ w: q.w - 0.1 * g.w, b: q.b - 0.1 * g.b }}");
            match self.rng.below(2) {
                0 => {
                    let _ = writeln!(
                        self.body,
                        "let {name}_s~[{t} in 1..{steps}] = {step} where q = {name}_s~[{t} - 1], l = {f}(q, {c}~), g = @l / @q;"
                    );
                }
                _ => {
                    let _ = writeln!(
                        self.shared,
                        "fn {f}_step(q: {ty}, c: [f64; ?]) -> {ty} {{ let l = {f}(q, c); let g = @l / @q; {step} }}"
                    );
                    let _ = writeln!(
                        self.body,
                        "let {name}_s~[{t} in 1..{steps}] = {f}_step({name}_s~[{t} - 1], {c}~);"
                    );
                }
            }
            let last = steps - 1;
            let _ = writeln!(
                self.body,
                "let {name}~[{j} in 0..{m}] = {name}_s~[{last}].w[{j}] + {name}_s~[{last}].b;"
            );
            self.values.push(Value { name, shape: vec![m] });
            return;
        }
        let _ = writeln!(
            self.shared,
            "fn {f}(p: [f64; {open}], c: [f64; ?]) -> f64 {{ {} }}",
            body.replace('#', "p")
        );
        let _ = writeln!(self.body, "let {name}~[0, {j} in 0..{m}] = {first};");
        let _ = writeln!(
            self.body,
            "let {name}~[{t} in 1..{steps}, {j} in 0..{m}] = q[{j}] - 0.1 * g[{j}] where q = {name}~[{t} - 1], l = {f}(q, {c}~), g = @l / @q;"
        );
        self.values.push(Value { name, shape: vec![steps, m] });
    }
}
