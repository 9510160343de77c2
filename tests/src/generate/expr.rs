//! Scalar expressions.

use super::{Ctx, E, Gen, Index, S, Var, ceiling, limit};

impl E {
    pub(super) fn size(&self) -> f64 {
        self.lo.abs().max(self.hi.abs())
    }
}

impl Gen {
    /// A literal that has its type by itself.
    pub(super) fn literal(&mut self, ty: S) -> E {
        let suffix = if matches!(ty, S::I32 | S::F32) { "" } else { ty.name() };
        self.literal_with(ty, suffix)
    }

    fn literal_with(&mut self, ty: S, suffix: &str) -> E {
        if ty.is_bool() {
            let text = if self.rng.one_in(2) { "true" } else { "false" };
            return E { text: text.into(), lo: 0.0, hi: 1.0 };
        }
        let lowest = if ty.is_signed() { -9 } else { 0 };
        let value = self.rng.between(lowest, 9);
        let (value, text) = if ty.is_float() {
            let value = value as f64 + self.rng.between(0, 3) as f64 * 0.25;
            (value, format!("{:?}{suffix}", value.abs()))
        } else {
            (value as f64, format!("{}{suffix}", value.abs()))
        };
        let text = if value < 0.0 { format!("(-{text})") } else { text };
        E { text, lo: value, hi: value }
    }

    /// The same value, brought into an interval that the type bears.
    pub(super) fn clamp(&mut self, e: E, ty: S, most: f64) -> E {
        if ty.is_bool() || e.size() <= most {
            return e;
        }
        let suffix = if matches!(ty, S::I32 | S::F32) { "" } else { ty.name() };
        if ty.is_float() {
            let bound = most.min(8.0);
            let text = format!("max(min({}, {bound:?}{suffix}), -{bound:?}{suffix})", e.text);
            return E { text, lo: -bound, hi: bound };
        }
        let modulus = (most.floor() + 1.0).min(self.rng.between(5, 40) as f64).max(2.0);
        let (lo, hi) = (if e.lo < 0.0 { 1.0 - modulus } else { 0.0 }, modulus - 1.0);
        E { text: format!("({} % {modulus}{suffix})", e.text), lo, hi }
    }

    /// A scalar of this type.
    pub(super) fn scalar(&mut self, ty: S, depth: usize, ctx: &Ctx) -> E {
        if ty.is_bool() {
            return self.truth(depth, ctx);
        }
        if depth == 0 {
            return self.leaf(ty, ctx);
        }
        let e = match self.rng.below(20) {
            0..=8 => self.binary(ty, depth, ctx),
            9 => self.choice(ty, depth, ctx),
            10 => self.by_match(ty, depth, ctx),
            11 => self.block(ty, depth, ctx),
            12 | 13 => self.reduction(ty, depth, ctx).unwrap_or_else(|| self.leaf(ty, ctx)),
            14 => self.converted(ty, depth, ctx),
            15 => self.protected_read(ty, ctx).unwrap_or_else(|| self.leaf(ty, ctx)),
            16 => self.scalar_call(ty, depth, ctx).unwrap_or_else(|| self.leaf(ty, ctx)),
            17 if ty.is_float() => self.function_of_float(ty, depth, ctx),
            18 if ty.is_signed() => {
                let a = self.scalar(ty, depth - 1, ctx);
                E { text: format!("(-{})", a.text), lo: -a.hi, hi: -a.lo }
            }
            _ => self.leaf(ty, ctx),
        };
        self.clamp(e, ty, limit(ty))
    }

    fn leaf(&mut self, ty: S, ctx: &Ctx) -> E {
        let own: Vec<E> = ctx.own.iter().filter(|it| it.0 == ty).map(|it| it.1.clone()).collect();
        if !own.is_empty() && self.rng.one_in(2) {
            return self.rng.pick(&own).cloned().unwrap_or_else(|| self.literal(ty));
        }
        let found = match self.rng.below(6) {
            0..=2 => self.read(ty, ctx),
            3 => {
                let scalars: Vec<Var> = self
                    .vars
                    .iter()
                    .filter(|var| var.ty == ty && var.shape.is_empty())
                    .cloned()
                    .collect();
                self.rng.pick(&scalars).map(|var| E {
                    text: var.text.clone(),
                    lo: var.lo,
                    hi: var.hi,
                })
            }
            4 if !ty.is_bool() => self.rng.pick(&ctx.indices).cloned().and_then(|index| {
                let (lo, hi) = (index.lo as f64, (index.hi - 1) as f64);
                let text = match ty {
                    S::I32 => index.name,
                    _ => format!("({} as {})", index.name, ty.name()),
                };
                (lo >= 0.0 && hi >= lo).then_some(E { text, lo, hi })
            }),
            _ => None,
        };
        found.unwrap_or_else(|| self.literal(ty))
    }

    fn binary(&mut self, ty: S, depth: usize, ctx: &Ctx) -> E {
        let a = self.scalar(ty, depth - 1, ctx);
        match self.rng.below(10) {
            0..=6 => {
                let b = if self.rng.one_in(4) {
                    self.literal_with(ty, "")
                } else {
                    self.scalar(ty, depth - 1, ctx)
                };
                let op = match self.rng.below(if ty.is_signed() { 8 } else { 5 }) {
                    0..=2 => '+',
                    3 | 4 => '*',
                    _ => '-',
                };
                self.arithmetic(op, a, b, ty)
            }
            7 => {
                let which = if self.rng.one_in(2) { "max" } else { "min" };
                let b = self.scalar(ty, depth - 1, ctx);
                let text = format!("{which}({}, {})", a.text, b.text);
                E { text, lo: a.lo.min(b.lo), hi: a.hi.max(b.hi) }
            }
            8 if ty.is_float() => {
                let divisor = self.rng.between(1, 8);
                let text = format!("({} / {divisor}.0)", a.text);
                E { text, lo: a.lo.min(0.0), hi: a.hi.max(0.0) }
            }
            8 => {
                let divisor = self.rng.between(1, 5);
                let op = if self.rng.one_in(2) { '/' } else { '%' };
                let text = format!("({} {op} {divisor})", a.text);
                E { text, lo: a.lo.min(0.0), hi: a.hi.max(0.0) }
            }
            _ => {
                let most = ceiling(ty).min(1e6).cbrt().floor();
                let a = self.clamp(a, ty, most);
                let exponent = self.rng.between(2, 3);
                let most = a.size().powi(exponent as i32);
                let lo = if a.lo < 0.0 { -most } else { 0.0 };
                E { text: format!("({} ** {exponent})", a.text), lo, hi: most }
            }
        }
    }

    fn arithmetic(&mut self, op: char, a: E, b: E, ty: S) -> E {
        let (mut a, mut b) = (a, b);
        for _ in 0..2 {
            let bounds = match op {
                '+' => [a.lo + b.lo, a.hi + b.hi, 0.0, 0.0],
                '-' => [a.lo - b.hi, a.hi - b.lo, 0.0, 0.0],
                _ => [a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi],
            };
            let bounds = if op == '*' { &bounds[..] } else { &bounds[..2] };
            let lo = bounds.iter().copied().fold(f64::INFINITY, f64::min);
            let hi = bounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if lo.abs().max(hi.abs()) < ceiling(ty) {
                return E { text: format!("({} {op} {})", a.text, b.text), lo, hi };
            }
            let most = if op == '*' { ceiling(ty).sqrt().floor() } else { ceiling(ty) / 2.0 - 1.0 };
            a = self.clamp(a, ty, most);
            b = self.clamp(b, ty, most);
        }
        a
    }

    fn choice(&mut self, ty: S, depth: usize, ctx: &Ctx) -> E {
        let condition = self.truth(depth - 1, ctx);
        let a = self.scalar(ty, depth - 1, ctx);
        let b = self.scalar(ty, depth - 1, ctx);
        let text = format!("(if {} {{ {} }} else {{ {} }})", condition.text, a.text, b.text);
        E { text, lo: a.lo.min(b.lo), hi: a.hi.max(b.hi) }
    }

    fn by_match(&mut self, ty: S, depth: usize, ctx: &Ctx) -> E {
        let scrutinee = self.scalar(S::I32, depth - 1, ctx);
        let mut arms = Vec::new();
        let (mut lo, mut hi) = (f64::INFINITY, f64::NEG_INFINITY);
        for _ in 0..1 + self.rng.below(3) {
            let low = self.rng.between(-5, 5);
            let name = self.fresh("m");
            let (pattern, named) = match self.rng.below(5) {
                0 => (low.to_string(), None),
                1 => (format!("{low} | {}", low + 2), None),
                2 => (format!("{low}..={}", low + 3), None),
                3 => (format!("{name} @ {low}..{}", low + 4), Some((low, low + 3))),
                _ => (format!("{name} where {name} > {low}"), None),
            };
            let mut inner = ctx.clone();
            if let Some((low, high)) = named {
                inner.own.push((S::I32, E { text: name, lo: low as f64, hi: high as f64 }));
            }
            let value = self.scalar(ty, depth - 1, &inner);
            (lo, hi) = (lo.min(value.lo), hi.max(value.hi));
            arms.push(format!("{pattern} => {}", value.text));
        }
        let value = self.scalar(ty, depth - 1, ctx);
        arms.push(format!("_ => {}", value.text));
        let text = format!("(match {} {{ {} }})", scrutinee.text, arms.join(", "));
        E { text, lo: lo.min(value.lo), hi: hi.max(value.hi) }
    }

    fn block(&mut self, ty: S, depth: usize, ctx: &Ctx) -> E {
        let name = self.fresh("b");
        let inner_type = if self.rng.one_in(3) { self.number_type() } else { ty };
        let value = self.scalar(inner_type, depth - 1, ctx);
        let mut inner = ctx.clone();
        inner.own.push((inner_type, E { text: name.clone(), lo: value.lo, hi: value.hi }));
        let body = self.scalar(ty, depth - 1, &inner);
        E { text: format!("{{ let {name} = {}; {} }}", value.text, body.text), ..body }
    }

    fn converted(&mut self, ty: S, depth: usize, ctx: &Ctx) -> E {
        let from = self.number_type();
        let a = self.scalar(from, depth - 1, ctx);
        let mut a = self.clamp(a, from, limit(ty).min(limit(from)));
        if a.lo < 0.0 && !ty.is_signed() {
            let other = if from.is_float() { "0.0" } else { "0" };
            let suffix = if matches!(from, S::I32 | S::F32) { "" } else { from.name() };
            let text = format!("max({}, {other}{suffix})", a.text);
            a = E { text, lo: 0.0, hi: a.hi.max(0.0) };
        }
        // Truncation moves toward zero, rounding by less than one.
        let text = format!("({} as {})", a.text, ty.name());
        E { text, lo: a.lo.floor(), hi: a.hi.ceil() }
    }

    fn function_of_float(&mut self, ty: S, depth: usize, ctx: &Ctx) -> E {
        let a = self.scalar(ty, depth - 1, ctx);
        match self.rng.below(4) {
            0 => E { text: format!("std::math::abs({})", a.text), lo: 0.0, hi: a.size() },
            1 => {
                let text = format!("std::math::sqrt(std::math::abs({}))", a.text);
                E { text, lo: 0.0, hi: a.size().max(1.0) }
            }
            2 => E { text: format!("std::math::sin({})", a.text), lo: -1.0, hi: 1.0 },
            _ => {
                let a = self.clamp(a, ty, 8.0);
                E { text: format!("std::math::exp({})", a.text), lo: 0.0, hi: 3000.0 }
            }
        }
    }

    /// A truth value.
    pub(super) fn truth(&mut self, depth: usize, ctx: &Ctx) -> E {
        let text = match self.rng.below(if depth == 0 { 3 } else { 9 }) {
            0 => {
                let own = self.leaf(S::Bool, ctx);
                own.text
            }
            1 | 2 => {
                let ty = self.number_type();
                let (a, b) = (self.leaf(ty, ctx), self.leaf(ty, ctx));
                let op = ["<", "<=", ">", ">=", "==", "!="][self.rng.below(6)];
                format!("({} {op} {})", a.text, b.text)
            }
            3 | 4 => {
                let ty = self.number_type();
                let (a, b) = (self.scalar(ty, depth - 1, ctx), self.scalar(ty, depth - 1, ctx));
                let op = ["<", "<=", ">", ">="][self.rng.below(4)];
                format!("({} {op} {})", a.text, b.text)
            }
            5 => {
                let (a, b) = (self.truth(depth - 1, ctx), self.truth(depth - 1, ctx));
                let op = if self.rng.one_in(2) { "&&" } else { "||" };
                format!("({} {op} {})", a.text, b.text)
            }
            6 => format!("!{}", self.truth(depth - 1, ctx).text),
            7 => {
                let a = self.scalar(S::I32, depth - 1, ctx);
                let low = self.rng.between(-4, 4);
                // A bare index there would be a range in the wrong place.
                let sign = if ctx.indices.iter().any(|it| it.name == a.text) { "0 + " } else { "" };
                format!("({sign}{} in {low}..{})", a.text, low + 5)
            }
            _ => match self.reduction(S::Bool, depth, ctx) {
                Some(e) => e.text,
                None => self.leaf(S::Bool, ctx).text,
            },
        };
        E { text, lo: 0.0, hi: 1.0 }
    }

    /// `op[k in 0..n](body)`, perhaps with the range left out.
    pub(super) fn reduction(&mut self, ty: S, depth: usize, ctx: &Ctx) -> Option<E> {
        let op = match ty {
            S::Bool => *self.rng.pick(&["any", "all"])?,
            S::I32 => *self
                .rng
                .pick(&["sum", "sum", "prod", "max", "min", "count", "argmax", "argmin"])?,
            ty if ty.is_float() => *self.rng.pick(&["sum", "sum", "prod", "max", "min", "mean"])?,
            _ => *self.rng.pick(&["sum", "max", "min"])?,
        };
        let body_type = match op {
            "count" => S::Bool,
            "argmax" | "argmin" => self.number_type(),
            _ => ty,
        };
        let single = op.starts_with("arg");
        let mut inner = ctx.clone();
        let mut slots = Vec::new();
        let mut anchor = None;
        let mut points = 1.0;
        if self.rng.one_in(3) {
            // The range comes from a bare read.
            let fits = |var: &&Var| var.ty == body_type && !var.shape.is_empty();
            let tensors: Vec<Var> = self.vars.iter().filter(fits).cloned().collect();
            let var = self.rng.pick(&tensors)?.clone();
            let axis = self.rng.below(var.shape.len());
            let name = self.fresh("k");
            let extent = var.shape[axis] as i64;
            let lonely = var.symbolic;
            let over = Index { name: name.clone(), lo: 0, hi: extent, inferred: true, lonely };
            inner.indices.push(over);
            anchor = Some(self.read_of(&var, &inner, Some((axis, &name))));
            slots.push(name);
            points *= extent as f64;
        } else {
            for _ in 0..if single { 1 } else { 1 + self.rng.below(2) } {
                let name = self.fresh("k");
                let outer = self.rng.pick(&ctx.indices).cloned();
                let (text, hi) = match outer {
                    Some(index)
                        if self.rng.one_in(3)
                            && index.lo >= 0
                            && index.hi <= 64
                            && !index.inferred =>
                    {
                        (format!("{name} in 0..{} + 1", index.name), index.hi)
                    }
                    _ => {
                        let hi = self.rng.between(1, 4);
                        let low = self.rng.between(0, 1).min(hi - 1);
                        match self.rng.below(6) {
                            0 => (format!("{name} in 0..={}", hi - 1), hi),
                            1 => (format!("{name} in {low}..{hi}"), hi),
                            _ => (format!("{name} in 0..{hi}"), hi),
                        }
                    }
                };
                inner.indices.push(Index { name, lo: 0, hi, inferred: false, lonely: false });
                slots.push(text);
                points *= hi as f64;
            }
        }
        let mut body = self.scalar(body_type, depth - 1, &inner);
        if let Some(anchor) = anchor {
            body = match body_type {
                S::Bool => E { text: format!("({} != {})", anchor.text, body.text), ..body },
                _ => self.arithmetic('+', anchor, body, body_type),
            };
        }
        let most = match op {
            "sum" => limit(body_type) / points,
            "prod" => limit(body_type).powf(1.0 / points).floor(),
            _ => limit(body_type),
        };
        let body = self.clamp(body, body_type, most.max(1.0));
        if body.size() > most.max(1.0) {
            return None;
        }
        let guard = if matches!(op, "sum" | "prod" | "count" | "any" | "all") && self.rng.one_in(4)
        {
            format!(" where {}", self.truth(depth - 1, &inner).text)
        } else {
            String::new()
        };
        let text = format!("{op}[{}]({}{guard})", slots.join(", "), body.text);
        let last = inner.indices.last().map_or(0, |index| index.hi - 1) as f64;
        let (lo, hi) = match op {
            "sum" => ((body.lo * points).min(0.0), (body.hi * points).max(0.0)),
            "prod" => {
                let most = body.size().powf(points).max(1.0);
                (if body.lo < 0.0 { -most } else { 0.0 }, most)
            }
            "count" => (0.0, points),
            "argmax" | "argmin" => (0.0, last),
            "any" | "all" => (0.0, 1.0),
            _ => (body.lo, body.hi),
        };
        Some(E { text, lo, hi })
    }
}
