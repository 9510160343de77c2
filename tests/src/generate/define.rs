//! Bindings, tensor literals and indexed definitions without recurrence.

use super::{Ctx, E, Gen, Index, S, Var, limit};

impl Gen {
    pub(super) fn shape(&mut self, most: usize) -> Vec<usize> {
        if self.large {
            return self.large_shape(most);
        }
        let rank = 1 + self.rng.below(most);
        (0..rank).map(|_| 1 + self.rng.below(if rank == 3 { 3 } else { 5 })).collect()
    }

    /// An element type: a number or, now and then, a truth value.
    pub(super) fn element_type(&mut self) -> S {
        if self.rng.one_in(8) { S::Bool } else { self.number_type() }
    }

    /// `let a = [[…], […]];`
    pub(super) fn literal_tensor(&mut self) {
        if self.large && !self.rng.one_in(4) {
            return self.formula();
        }
        let small = std::mem::replace(&mut self.large, false);
        self.small_literal_tensor();
        self.large = small;
    }

    fn small_literal_tensor(&mut self) {
        let ty = self.element_type();
        let shape = self.shape(3);
        // Small numbers from zero up serve as indices.
        let route = ty == S::I32 && self.rng.one_in(2);
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        let text = self.nested(&shape, &mut |this| {
            let e = if route {
                let value = this.rng.between(0, 2) as f64;
                E { text: format!("{value}"), lo: value, hi: value }
            } else {
                this.literal(ty)
            };
            (lo, hi) = (lo.min(e.lo), hi.max(e.hi));
            e.text
        });
        let name = self.fresh("a");
        let annotation = match self.rng.below(4) {
            0 => format!(": [{}; {}]", ty.name(), join(&shape, ", ")),
            1 => format!(": [{}; {}]", ty.name(), vec!["?"; shape.len()].join(", ")),
            _ => String::new(),
        };
        self.statements.push(format!("let {name}{annotation} = {text};"));
        self.bind(name, ty, shape, lo, hi);
    }

    fn nested(&mut self, shape: &[usize], item: &mut dyn FnMut(&mut Gen) -> String) -> String {
        match shape.split_first() {
            None => item(self),
            Some((extent, rest)) => {
                let items: Vec<String> = (0..*extent).map(|_| self.nested(rest, item)).collect();
                format!("[{}]", items.join(", "))
            }
        }
    }

    /// `let x = e;`
    pub(super) fn scalar_let(&mut self) {
        let ty = self.element_type();
        let e = self.scalar(ty, 3, &Ctx::default());
        let name = self.fresh("s");
        let annotation =
            if self.rng.one_in(2) { format!(": {}", ty.name()) } else { String::new() };
        self.statements.push(format!("let {name}{annotation} = {};", e.text));
        self.bind(name, ty, Vec::new(), e.lo, e.hi);
    }

    /// Fresh index variables with written ranges for a shape.
    fn written(&mut self, shape: &[usize]) -> (Vec<Index>, Vec<String>) {
        let mut indices = Vec::new();
        let mut slots = Vec::new();
        for extent in shape {
            let name = self.fresh("i");
            let hi = *extent as i64;
            let lo = if self.rng.one_in(8) { self.rng.between(0, hi - 1) } else { 0 };
            let inclusive = self.rng.one_in(8);
            slots.push(if inclusive {
                format!("{name} in {lo}..={}", hi - 1)
            } else {
                format!("{name} in {lo}..{hi}")
            });
            indices.push(Index { name, lo, hi, inferred: false, lonely: false });
        }
        (indices, slots)
    }

    /// A body with what may stand behind it: bindings, a guard, the value otherwise. Returns the
    /// text and the interval, the zero of failed guards and uncovered points included.
    fn body(&mut self, ty: S, ctx: &Ctx) -> E {
        let mut inner = ctx.clone();
        let mut items = Vec::new();
        if self.rng.one_in(4) {
            let name = self.fresh("w");
            let bound = self.number_type();
            let value = self.scalar(bound, 2, ctx);
            items.push(format!("{name} = {}", value.text));
            inner.own.push((bound, E { text: name, lo: value.lo, hi: value.hi }));
        }
        let value = self.scalar(ty, 3, &inner);
        let (mut lo, mut hi) = (value.lo.min(0.0), value.hi.max(0.0));
        let mut text = value.text;
        if self.rng.one_in(4) {
            items.push(self.truth(2, &inner).text);
        }
        if !items.is_empty() {
            text = format!("{text} where {}", items.join(", "));
            if self.rng.one_in(2) {
                let otherwise = self.literal(ty);
                text = format!("{text} else {}", otherwise.text);
                (lo, hi) = (lo.min(otherwise.lo), hi.max(otherwise.hi));
            }
        }
        E { text, lo, hi }
    }

    /// `let a[i in 0..3, j in 0..2] = body;`
    pub(super) fn explicit(&mut self) {
        let ty = self.element_type();
        let mut shape = self.shape(3);
        let (indices, slots) = self.written(&shape);
        let ctx = Ctx { indices, own: Vec::new() };
        let name = self.fresh("t");
        let e = if self.rng.one_in(8) && shape.len() < 3 {
            // An array as body: its axes come last.
            let (a, b) = (self.scalar(ty, 2, &ctx), self.scalar(ty, 2, &ctx));
            shape.push(2);
            let text = format!("[{}, {}]", a.text, b.text);
            E { text, lo: a.lo.min(b.lo).min(0.0), hi: a.hi.max(b.hi).max(0.0) }
        } else {
            self.body(ty, &ctx)
        };
        self.statements.push(format!("let {name}[{}] = {};", slots.join(", "), e.text));
        self.bind(name, ty, shape, e.lo, e.hi);
    }

    /// `let a[i, j] = x[i, j] + body;`: bare reads give the ranges.
    pub(super) fn direct(&mut self) {
        let numeric: Vec<Var> = self
            .vars
            .iter()
            .filter(|var| !var.shape.is_empty() && !var.ty.is_bool())
            .cloned()
            .collect();
        let Some(var) = self.rng.pick(&numeric).cloned() else { return self.literal_tensor() };
        let names: Vec<String> = var.shape.iter().map(|_| self.fresh("i")).collect();
        let mut order: Vec<usize> = (0..names.len()).collect();
        if self.rng.one_in(2) {
            order.reverse();
        }
        let mut indices: Vec<Index> = Vec::new();
        for (name, extent) in names.iter().zip(&var.shape) {
            let hi = *extent as i64;
            indices.push(Index { name: name.clone(), lo: 0, hi, inferred: true, lonely: false });
        }
        let ctx = Ctx { indices, own: Vec::new() };
        let anchor =
            E { text: format!("{}[{}]", var.text, names.join(", ")), lo: var.lo, hi: var.hi };
        let (ty, e) = if self.rng.one_in(6) {
            let other = self.scalar(var.ty, 2, &ctx);
            (S::Bool, E { text: format!("({} < {})", anchor.text, other.text), lo: 0.0, hi: 1.0 })
        } else {
            let other = self.body(var.ty, &ctx);
            let safe = anchor.size() + other.size() < super::ceiling(var.ty);
            let text = match safe && !var.ty.is_bool() {
                true => format!("{} + {}", anchor.text, other.text),
                false => anchor.text.clone(),
            };
            let (lo, hi) = (anchor.lo + other.lo, anchor.hi + other.hi);
            (
                var.ty,
                E {
                    text,
                    lo: lo.min(anchor.lo).min(other.lo),
                    hi: hi.max(anchor.hi).max(other.hi),
                },
            )
        };
        if e.size() > limit(ty) * 2.0 {
            return self.literal_tensor();
        }
        let name = self.fresh("t");
        let left: Vec<String> = order.iter().map(|at| names[*at].clone()).collect();
        let shape = order.iter().map(|at| var.shape[*at]).collect();
        self.statements.push(format!("let {name}[{}] = {};", left.join(", "), e.text));
        self.bind(name, ty, shape, e.lo, e.hi);
    }

    fn vector(&mut self, least: usize) -> Option<Var> {
        let fits = |var: &&Var| {
            var.shape.len() == 1 && var.shape[0] >= least && !var.ty.is_bool() && var.ty.is_signed()
        };
        let vectors: Vec<Var> = self.vars.iter().filter(fits).cloned().collect();
        self.rng.pick(&vectors).cloned()
    }

    /// Shifted reads narrow the range.
    pub(super) fn narrowed(&mut self) {
        let Some(var) = self.vector(3) else { return self.literal_tensor() };
        if var.lo.abs().max(var.hi.abs()) * 2.0 > limit(var.ty) {
            return self.literal_tensor();
        }
        let n = var.shape[0];
        let (i, name, x) = (self.fresh("i"), self.fresh("t"), &var.text);
        let (body, extent) = match self.rng.below(7) {
            0 => (format!("{x}[{i} + 1] - {x}[{i}]"), n - 1),
            1 => (format!("{x}[{i} - 1] + {x}[{i}]"), n),
            2 => (format!("{x}[{i} + 2] - {x}[{i} + 1]"), n - 1),
            3 => (format!("{x}[2 * {i}]"), n.div_ceil(2)),
            4 => (format!("{x}[2 * {i} + 1] + {x}[2 * {i}]"), n / 2),
            5 => (format!("{x}[{} - {i}] - {x}[{i}]", n - 1), n),
            _ => (format!("{x}[{i} - 1]"), n + 1),
        };
        // `x[i + 2]` starts at 0 though `x[i + 1]` would allow -1.
        let extent = if body.contains("+ 2]") { n - 2 } else { extent };
        let (lo, hi) =
            (-2.0 * var.lo.abs().max(var.hi.abs()), 2.0 * var.lo.abs().max(var.hi.abs()));
        if extent == 0 {
            return self.literal_tensor();
        }
        self.statements.push(format!("let {name}[{i}] = {body};"));
        self.bind(name, var.ty, vec![extent], lo, hi);
    }

    /// `sum[k](x[i + k] * w[k])`, also with the index bound by `where`.
    pub(super) fn convolution(&mut self) {
        let (Some(x), Some(w)) = (self.vector(2), self.vector(1)) else {
            return self.literal_tensor();
        };
        let (n, m) = (x.shape[0], w.shape[0]);
        let most = x.lo.abs().max(x.hi.abs()) * w.lo.abs().max(w.hi.abs()) * m as f64;
        if x.ty != w.ty || m > n || most > limit(x.ty) {
            return self.literal_tensor();
        }
        let (i, k, name) = (self.fresh("i"), self.fresh("k"), self.fresh("t"));
        let text = match self.rng.below(3) {
            0 => {
                let p = self.fresh("w");
                format!(
                    "let {name}[{i}] = sum[{k}]({}[{p}] * {}[{k}]) where {p} = {i} + {k};",
                    x.text, w.text
                )
            }
            1 => format!(
                "let {name}[{i}] = sum[{k}]({}[{i} + {k}] * {}[{k}] where {k} != 1);",
                x.text, w.text
            ),
            _ => format!("let {name}[{i}] = sum[{k}]({}[{i} + {k}] * {}[{k}]);", x.text, w.text),
        };
        if text.contains(" != 1") && self.rng.one_in(2) {
            return self.literal_tensor();
        }
        self.statements.push(text);
        self.bind(name, x.ty, vec![n - m + 1], -most, most);
    }

    /// Several clauses, some of them points.
    pub(super) fn piecewise(&mut self) {
        let ty = self.element_type();
        let name = self.fresh("t");
        let (a, b) = (self.rng.between(1, 3), self.rng.between(1, 3));
        let width = self.rng.between(1, 3);
        let flat = self.rng.one_in(2);
        let (mut lo, mut hi) = (0.0f64, 0.0f64);
        let mut clauses = Vec::new();
        for (from, to) in [(0, a), (a, a + b)] {
            let (i, j) = (self.fresh("i"), self.fresh("i"));
            let mut indices =
                vec![Index { name: i.clone(), lo: from, hi: to, inferred: false, lonely: false }];
            let mut slots = format!("{i} in {from}..{to}");
            if !flat {
                slots = format!("{slots}, {j} in 0..{width}");
                indices.push(Index { name: j, lo: 0, hi: width, inferred: false, lonely: false });
            }
            let e = self.scalar(ty, 2, &Ctx { indices, own: Vec::new() });
            (lo, hi) = (lo.min(e.lo), hi.max(e.hi));
            clauses.push(format!("let {name}[{slots}] = {};", e.text));
        }
        if self.rng.one_in(2) {
            let at = self.rng.between(0, a + b);
            let e = self.literal(ty);
            (lo, hi) = (lo.min(e.lo), hi.max(e.hi));
            let slots = if flat { at.to_string() } else { format!("{at}, 0") };
            clauses.push(format!("let {name}[{slots}] = {};", e.text));
            if at == a + b {
                self.statements.push(clauses.join("\n"));
                let shape = if flat {
                    vec![at as usize + 1]
                } else {
                    vec![at as usize + 1, width as usize]
                };
                return self.bind(name, ty, shape, lo, hi);
            }
        }
        if self.rng.one_in(3) {
            clauses.reverse();
        }
        self.statements.push(clauses.join("\n"));
        let n = (a + b) as usize;
        self.bind(name, ty, if flat { vec![n] } else { vec![n, width as usize] }, lo, hi);
    }

    /// A range on the left that depends on the index before it.
    pub(super) fn triangle(&mut self) {
        let ty = self.number_type();
        let (i, j, name) = (self.fresh("i"), self.fresh("i"), self.fresh("t"));
        let n = self.rng.between(1, 4);
        let (domain, width) = match self.rng.below(3) {
            0 => (format!("0..{i} + 1"), n),
            1 => (format!("0..{n} - {i}"), n),
            _ => (format!("{i}..{n}"), n),
        };
        let indices = vec![
            Index { name: i.clone(), lo: 0, hi: n, inferred: false, lonely: false },
            Index { name: j.clone(), lo: 0, hi: width, inferred: false, lonely: false },
        ];
        let e = self.scalar(ty, 2, &Ctx { indices, own: Vec::new() });
        self.statements.push(format!("let {name}[{i} in 0..{n}, {j} in {domain}] = {};", e.text));
        self.bind(name, ty, vec![n as usize, width as usize], e.lo.min(0.0), e.hi.max(0.0));
    }

    /// `let y[..b] = x[..b] * e;` and a reduction of the last axis.
    pub(super) fn pack(&mut self) {
        let fits = |var: &&Var| !var.shape.is_empty() && !var.ty.is_bool() && var.ty.is_signed();
        let tensors: Vec<Var> = self.vars.iter().filter(fits).cloned().collect();
        let Some(var) = self.rng.pick(&tensors).cloned() else { return self.literal_tensor() };
        let (pack, k, name) = (self.fresh("p"), self.fresh("k"), self.fresh("t"));
        let most = var.lo.abs().max(var.hi.abs());
        let last = var.shape[var.shape.len() - 1];
        match self.rng.below(3) {
            0 => {
                let other = self.literal(var.ty);
                let text =
                    format!("let {name}[..{pack}] = {}[..{pack}] + {};", var.text, other.text);
                self.statements.push(text);
                self.bind(name, var.ty, var.shape, var.lo - 9.0, var.hi + 9.0);
            }
            1 if var.shape.len() > 1 && most * last as f64 <= limit(var.ty) => {
                let text = format!("let {name}[..{pack}] = sum[{k}]({}[..{pack}, {k}]);", var.text);
                self.statements.push(text);
                let shape = var.shape[..var.shape.len() - 1].to_vec();
                self.bind(name, var.ty, shape, -most * last as f64, most * last as f64);
            }
            _ => {
                // The last axis first.
                let text = format!("let {name}[{k}, ..{pack}] = {}[..{pack}, {k}];", var.text);
                self.statements.push(text);
                let mut shape = var.shape.clone();
                shape.rotate_right(1);
                self.bind(name, var.ty, shape, var.lo, var.hi);
            }
        }
    }
}

fn join(items: &[usize], separator: &str) -> String {
    items.iter().map(usize::to_string).collect::<Vec<_>>().join(separator)
}
