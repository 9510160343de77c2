//! Comprehensions, tuples, structs, enums, closures, texts and whole arrays.

use super::{Ctx, E, Gen, Index, S, Var, limit};

impl Gen {
    fn small(&mut self, least_rank: usize, most_rank: usize) -> Option<Var> {
        let fits = |var: &&Var| {
            (least_rank..=most_rank).contains(&var.shape.len())
                && !var.ty.is_bool()
                && var.lo.abs().max(var.hi.abs()) * 3.0 < limit(var.ty)
        };
        let vars: Vec<Var> = self.vars.iter().filter(fits).cloned().collect();
        self.rng.pick(&vars).cloned()
    }

    /// `[e | x in xs, cond]`
    pub(super) fn comprehension(&mut self) {
        let name = self.fresh("c");
        let x = self.fresh("x");
        let ty = self.number_type();
        let (generator, element, count) = match self.small(1, 1) {
            Some(var) if self.rng.one_in(2) => {
                let element = Var { text: x.clone(), shape: Vec::new(), ..var.clone() };
                (format!("{x} in {}", var.text), element, var.shape[0])
            }
            _ => {
                let n = 1 + self.rng.below(5);
                let (text, shape) = (x.clone(), Vec::new());
                let element =
                    Var { text, ty: S::I32, shape, lo: 0.0, hi: n as f64 - 1.0, symbolic: false };
                (format!("{x} in 0..{n}"), element, n)
            }
        };
        let outside = self.vars.len();
        self.vars.extend([element.clone(), element.clone(), element]);
        let body = self.scalar(ty, 2, &Ctx::default());
        let filter = self.rng.one_in(3);
        let condition = self.truth(1, &Ctx::default());
        self.vars.truncate(outside);
        let mut clauses = generator;
        if filter {
            clauses = format!("{clauses}, {}", condition.text);
        }
        self.statements.push(format!("let {name} = [{} | {clauses}];", body.text));
        if !filter {
            self.bind(name, ty, vec![count], body.lo, body.hi);
        }
    }

    /// A tuple, taken apart by fields or by a pattern.
    pub(super) fn tuple(&mut self) {
        let name = self.fresh("u");
        let (s, t) = (self.number_type(), self.element_type());
        let (a, b) = (self.scalar(s, 2, &Ctx::default()), self.scalar(t, 2, &Ctx::default()));
        self.statements.push(format!("let {name} = ({}, {});", a.text, b.text));
        if self.rng.one_in(2) {
            let (x, y) = (self.fresh("s"), self.fresh("s"));
            self.statements.push(format!("let ({x}, {y}) = {name};"));
            self.bind(x, s, Vec::new(), a.lo, a.hi);
            self.bind(y, t, Vec::new(), b.lo, b.hi);
        } else {
            self.bind(format!("{name}.0"), s, Vec::new(), a.lo, a.hi);
            self.bind(format!("{name}.1"), t, Vec::new(), b.lo, b.hi);
        }
    }

    /// A struct with a scalar and an array, or an enum that is matched.
    pub(super) fn data(&mut self) {
        let ty = self.number_type();
        let a = self.scalar(ty, 2, &Ctx::default());
        if self.rng.one_in(2) {
            let Some(var) = self.small(1, 2) else { return self.literal_tensor() };
            let (kind, name) = (self.fresh("P"), self.fresh("p"));
            let holes = vec!["?"; var.shape.len()].join(", ");
            self.statements.push(format!(
                "struct {kind} {{ one: {}, many: [{}; {holes}] }}",
                ty.name(),
                var.ty.name()
            ));
            self.statements
                .push(format!("let {name} = {kind} {{ one: {}, many: {} }};", a.text, var.text));
            self.bind(format!("{name}.one"), ty, Vec::new(), a.lo, a.hi);
            self.bind(format!("{name}.many"), var.ty, var.shape, var.lo, var.hi);
            return;
        }
        let (kind, name, x) = (self.fresh("E"), self.fresh("e"), self.fresh("x"));
        self.statements.push(format!(
            "enum {kind} {{ A, B({}), C {{ v: {} }} }}",
            ty.name(),
            ty.name()
        ));
        let value = match self.rng.below(3) {
            0 => format!("{kind}::A"),
            1 => format!("{kind}::B({})", a.text),
            _ => format!("{kind}::C {{ v: {} }}", a.text),
        };
        let (b, out) = (self.literal(ty), self.fresh("s"));
        self.statements.push(format!("let {name} = {value};"));
        self.statements.push(format!(
            "let {out} = match {name} {{ {kind}::A => {}, {kind}::B({x}) => {x}, {kind}::C {{ v }} => v }};",
            b.text
        ));
        self.bind(out, ty, Vec::new(), a.lo.min(b.lo), a.hi.max(b.hi));
    }

    /// Operators and reductions on whole arrays.
    pub(super) fn whole_arrays(&mut self) {
        let Some(var) = self.small(1, 3) else { return self.literal_tensor() };
        let same = |other: &&Var| other.ty == var.ty && other.shape == var.shape;
        let others: Vec<Var> = self.vars.iter().filter(same).cloned().collect();
        let other = self.rng.pick(&others).cloned().unwrap_or_else(|| var.clone());
        let most = var.lo.abs().max(var.hi.abs()) + other.lo.abs().max(other.hi.abs());
        let (name, x, y) = (self.fresh("t"), &var.text, &other.text);
        let points = var.shape.iter().product::<usize>() as f64;
        let (text, ty, shape, most) = match self.rng.below(7) {
            0 if most < limit(var.ty) => (format!("{x} + {y}"), var.ty, var.shape.clone(), most),
            1 if most * 2.0 < limit(var.ty) => {
                let two = if var.ty.is_float() { "2.0" } else { "2" };
                (format!("{two} * {x}"), var.ty, var.shape.clone(), most * 2.0)
            }
            2 => (format!("{x} < {y}"), S::Bool, var.shape.clone(), 1.0),
            3 => {
                let text = format!("if {x} < {y} {{ {x} }} else {{ {y} }}");
                (text, var.ty, var.shape.clone(), most)
            }
            4 if most * points < limit(var.ty) => {
                (format!("sum({x})"), var.ty, vec![], most * points)
            }
            5 => (format!("max({x})"), var.ty, vec![], most),
            _ => (format!("min({x}, {y})"), var.ty, var.shape.clone(), most),
        };
        self.statements.push(format!("let {name} = {text};"));
        let lo = if ty.is_bool() || var.lo >= 0.0 && other.lo >= 0.0 { 0.0 } else { -most };
        self.bind(name, ty, shape, lo, most);
    }

    /// Slices, gathers and rows.
    pub(super) fn slices(&mut self) {
        let Some(var) = self.small(1, 3) else { return self.literal_tensor() };
        let (name, x) = (self.fresh("t"), &var.text);
        let n = var.shape[0];
        let rest = var.shape[1..].to_vec();
        let with = |first: usize| [vec![first], rest.clone()].concat();
        let (text, shape) = match self.rng.below(7) {
            0 => {
                let from = self.rng.below(n);
                let to = from + 1 + self.rng.below(n - from);
                (format!("{x}[{from}..{to}]"), with(to - from))
            }
            1 => {
                let places: Vec<usize> =
                    (0..1 + self.rng.below(4)).map(|_| self.rng.below(n)).collect();
                (format!("{x}[{places:?}]"), with(places.len()))
            }
            2 => (format!("{x}[-1]"), rest.clone()),
            3 => (format!("{x}[{}]", self.rng.below(n)), rest.clone()),
            4 => (format!("reverse({x})"), var.shape.clone()),
            5 => (format!("append({x}, {x})"), with(2 * n)),
            _ => (format!("{x}.shape"), vec![var.shape.len()]),
        };
        let shown = text.ends_with("shape");
        self.statements.push(format!("let {name} = {text};"));
        match shown {
            true => self.bind(name, S::I32, shape, 1.0, 8.0),
            false => self.bind(name, var.ty, shape, var.lo, var.hi),
        }
    }

    /// A closure with a call, or a text.
    pub(super) fn closure_or_text(&mut self) {
        if self.rng.one_in(2) {
            let e = self.scalar(S::I32, 2, &Ctx::default());
            let b = self.truth(1, &Ctx::default());
            let name = self.fresh("q");
            self.statements
                .push(format!("let {name} = \"n = {{({})}}, \" + \"{{({})}}!\";", e.text, b.text));
            return;
        }
        let ty = self.number_type();
        let (f, x) = (self.fresh("f"), self.fresh("x"));
        let mut ctx = Ctx::default();
        let lo = if ty.is_signed() { -9.0 } else { 0.0 };
        ctx.own.push((ty, E { text: x.clone(), lo, hi: 9.0 }));
        let body = self.scalar(ty, 2, &ctx);
        self.statements.push(format!("let {f} = |{x}: {}| {};", ty.name(), body.text));
        let (i, out) = (self.fresh("i"), self.fresh("t"));
        let n = 1 + self.rng.below(4);
        let indices =
            vec![Index { name: i.clone(), lo: 0, hi: n as i64, inferred: false, lonely: false }];
        let arg = self.scalar(ty, 1, &Ctx { indices, own: Vec::new() });
        let arg = self.clamp(arg, ty, 8.0);
        self.statements.push(format!("let {out}[{i} in 0..{n}] = {f}({});", arg.text));
        self.bind(out, ty, vec![n], body.lo, body.hi);
    }
}
