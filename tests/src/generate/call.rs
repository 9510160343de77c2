//! Functions and their calls.

use super::{Ctx, E, Func, Gen, Index, S, Var};

impl Gen {
    /// The interval that scalar parameters have.
    fn parameter(&mut self, ty: S) -> Var {
        let text = self.fresh("x");
        let lo = if ty.is_signed() { -9.0 } else { 0.0 };
        Var { text, ty, shape: Vec::new(), lo, hi: 9.0, symbolic: false }
    }

    /// `fn f(x: i32, y: f32) -> i32 { … }` on scalars, with or without types.
    pub(super) fn function(&mut self) {
        let ty = self.number_type();
        let mut params = Vec::new();
        for _ in 0..1 + self.rng.below(3) {
            let kind = if self.rng.one_in(2) { ty } else { self.number_type() };
            params.push(self.parameter(kind));
        }
        let annotated = self.rng.one_in(2);
        let name = self.fresh("f");
        // The body sees the parameters and what is above.
        let outside = self.vars.len();
        self.vars.extend(params.iter().cloned());
        self.vars.extend(params.iter().cloned());
        let mut e = self.scalar(ty, 3, &Ctx::default());
        self.vars.truncate(outside);
        if self.rng.one_in(3) {
            let local = self.fresh("b");
            e.text = format!("let {local} = {}; {local}", e.text);
        }
        let shown: Vec<String> = params
            .iter()
            .map(|param| match annotated {
                true => format!("{}: {}", param.text, param.ty.name()),
                false => param.text.clone(),
            })
            .collect();
        let result = if annotated { format!(" -> {}", ty.name()) } else { String::new() };
        self.statements.push(format!("fn {name}({}){result} {{ {} }}", shown.join(", "), e.text));
        let (lo, hi) = (e.lo, e.hi);
        self.funcs.push(Func { name, params, annotated, ty, shape: Vec::new(), lo, hi });
    }

    /// A call with scalars.
    pub(super) fn scalar_call(&mut self, ty: S, depth: usize, ctx: &Ctx) -> Option<E> {
        let fits = |func: &&Func| func.ty == ty && func.shape.is_empty();
        let funcs: Vec<Func> = self.funcs.iter().filter(fits).cloned().collect();
        let func = self.rng.pick(&funcs)?.clone();
        if func.params.iter().any(|param| !param.shape.is_empty()) {
            return None;
        }
        let mut args = Vec::new();
        for param in &func.params {
            let e = self.scalar(param.ty, depth - 1, ctx);
            let text = self.clamp(e, param.ty, 8.0).text;
            // A literal for a parameter without a type is an `f64` beside others of that type.
            let beside = !func.annotated && func.params.iter().any(|it| it.ty == S::F64);
            args.push(match beside && param.ty == S::F32 {
                true => format!("({text} as f32)"),
                false => text,
            });
        }
        let text = match self.rng.below(6) {
            0 => {
                let first = args.remove(0);
                match args.is_empty() {
                    true => format!("({first} |> {})", func.name),
                    false => format!("({first} |> {}({}))", func.name, args.join(", ")),
                }
            }
            1 => {
                let named: Vec<String> = func
                    .params
                    .iter()
                    .zip(&args)
                    .map(|(param, arg)| format!("{} = {arg}", param.text))
                    .collect();
                format!("{}({})", func.name, named.join(", "))
            }
            _ => format!("{}({})", func.name, args.join(", ")),
        };
        Some(E { text, lo: func.lo, hi: func.hi })
    }

    /// A function on scalars applied to arrays: once for each element.
    pub(super) fn lifted_call(&mut self) {
        let fits =
            |func: &&Func| func.annotated && func.params.iter().all(|it| it.shape.is_empty());
        let funcs: Vec<Func> = self.funcs.iter().filter(fits).cloned().collect();
        let Some(func) = self.rng.pick(&funcs).cloned() else { return self.function() };
        let mut args = Vec::new();
        let mut frame: Vec<usize> = Vec::new();
        for param in &func.params {
            let fits = |var: &&Var| {
                let n = frame.len().min(var.shape.len());
                var.ty == param.ty
                    && var.lo >= param.lo
                    && var.hi <= param.hi
                    && var.shape[..n] == frame[..n]
            };
            let vars: Vec<Var> = self.vars.iter().filter(fits).cloned().collect();
            match self.rng.pick(&vars).cloned() {
                Some(var) => {
                    if var.shape.len() > frame.len() {
                        frame.clone_from(&var.shape);
                    }
                    args.push(var.text);
                }
                None => args.push(self.literal(param.ty).text),
            }
        }
        if frame.is_empty() {
            return self.scalar_let();
        }
        let name = self.fresh("t");
        self.statements.push(format!("let {name} = {}({});", func.name, args.join(", ")));
        self.bind(name, func.ty, frame, func.lo, func.hi);
    }

    /// A function on tensors, and a call of it.
    pub(super) fn tensor_function(&mut self) {
        let fits = |var: &&Var| !var.shape.is_empty() && var.shape.len() < 3 && !var.ty.is_bool();
        let tensors: Vec<Var> = self.vars.iter().filter(fits).cloned().collect();
        let Some(var) = self.rng.pick(&tensors).cloned() else { return self.literal_tensor() };
        let (name, x) = (self.fresh("f"), self.fresh("x"));
        let kind = self.rng.below(3);
        let symbolic = kind == 2;
        let param = Var { text: x.clone(), symbolic, ..var.clone() };
        let typed = match kind {
            0 => x.clone(),
            1 => {
                let dims: Vec<String> = var.shape.iter().map(usize::to_string).collect();
                format!("{x}: [{}; {}]", var.ty.name(), dims.join(", "))
            }
            _ => {
                let dims: Vec<String> =
                    (0..var.shape.len()).map(|axis| format!("?n{axis}")).collect();
                format!("{x}: [{}; {}]", var.ty.name(), dims.join(", "))
            }
        };
        let outside = self.vars.len();
        self.vars.push(param.clone());
        self.vars.push(param.clone());
        let body_type = if self.rng.one_in(2) { var.ty } else { self.number_type() };
        let (body, shape, lo, hi) = if self.rng.one_in(2) {
            let e = self.scalar(body_type, 3, &Ctx::default());
            (e.text, Vec::new(), e.lo, e.hi)
        } else {
            let names: Vec<String> = var.shape.iter().map(|_| self.fresh("i")).collect();
            let indices = names.iter().zip(&var.shape).map(|(name, extent)| Index {
                name: name.clone(),
                lo: 0,
                hi: *extent as i64,
                inferred: true,
                lonely: symbolic,
            });
            let ctx = Ctx { indices: indices.collect(), own: Vec::new() };
            let e = self.scalar(body_type, 2, &ctx);
            let local = self.fresh("b");
            // The condition reads the parameter bare, which gives the ranges.
            let zero = self.literal(body_type);
            let anchor = format!("{x}[{}]", names.join(", "));
            let least = self.literal(var.ty);
            let text = format!(
                "let {local}[{}] = if {anchor} >= {} {{ {} }} else {{ {} }}; {local}",
                names.join(", "),
                least.text,
                e.text,
                zero.text
            );
            (text, var.shape.clone(), e.lo.min(zero.lo), e.hi.max(zero.hi))
        };
        self.vars.truncate(outside);
        self.statements.push(format!("fn {name}({typed}) {{ {body} }}"));
        let out = self.fresh("t");
        self.statements.push(format!("let {out} = {name}({});", var.text));
        self.bind(out, body_type, shape, lo, hi);
    }
}
