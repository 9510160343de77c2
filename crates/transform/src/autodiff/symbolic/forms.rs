//! The rest of the printer: data, patterns, parts of arrays and function values.

use super::text::Text;
use ein_base::Symbol;
use ein_ir::tensor::{
    Arm, Binder, Bounds, Clause, ClauseSlot, CompClause, Expr, ExprKind, FuncId, HostOp, IndexArg,
    Pattern, Tensor, Type,
};
use ein_scalar::Scalar;
use std::fmt::Write;

impl Text<'_, '_> {
    /// `open a, b close`
    pub(super) fn list(&mut self, open: &str, items: &[Expr], close: &str) {
        self.out.push_str(open);
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.expr(item, 0);
        }
        self.out.push_str(close);
    }

    pub(super) fn quoted(&mut self, text: Symbol) {
        let text = format!("{:?}", text.as_str());
        self.out.push_str(&text.replace('{', "{{").replace('}', "}}"));
    }

    pub(super) fn number(&mut self, value: Scalar) {
        match value {
            Scalar::Bool(truth) => {
                let _ = write!(self.out, "{truth}");
            }
            value if value.ty().is_float() => {
                let suffix = self.suffix.map_or("", |ty| ty.name());
                let _ = write!(self.out, "{:?}{suffix}", value.as_f64());
            }
            value => {
                let _ = write!(self.out, "{}", value.as_i64().unwrap_or(0));
            }
        }
    }

    pub(super) fn matching(&mut self, value: &Expr, arms: &[Arm]) {
        self.out.push_str("match ");
        self.expr(value, 0);
        self.out.push_str(" { ");
        for (at, arm) in arms.iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.pattern(&arm.pattern, &value.ty);
            if let Some(guard) = &arm.guard {
                self.out.push_str(" where ");
                self.expr(guard, 0);
            }
            self.out.push_str(" => ");
            self.expr(&arm.value, 0);
        }
        self.out.push_str(" }");
    }

    fn pattern(&mut self, pattern: &Pattern, ty: &Type) {
        match pattern {
            Pattern::Wild => self.out.push('_'),
            Pattern::Bind(var) => {
                let name = self.name_of(*var);
                self.out.push_str(&name);
            }
            Pattern::Literal(value) => self.number(*value),
            Pattern::Str(text) => self.quoted(*text),
            Pattern::Range { lo, hi, inclusive } => {
                lo.iter().for_each(|lo| self.number(*lo));
                self.out.push_str(if *inclusive { "..=" } else { ".." });
                hi.iter().for_each(|hi| self.number(*hi));
            }
            Pattern::Tuple(items) => {
                let types: &[Type] = if let Type::Tuple(types) = ty { types } else { &[] };
                self.patterns("(", items, types, ")");
            }
            Pattern::Array { before, rest, after } => {
                let types = vec![ty.elem().clone(); before.len().max(after.len())];
                self.patterns("[", before, &types, "");
                if let Some(rest) = rest {
                    self.out.push_str(if before.is_empty() { ".." } else { ", .." });
                    if let Some(var) = rest {
                        let name = self.name_of(*var);
                        self.out.push_str(&name);
                    }
                }
                let open = if after.is_empty() { "" } else { ", " };
                self.patterns(open, after, &types, "]");
            }
            Pattern::Data { variant, fields } => {
                let Type::Data(data, _) = ty else { return self.out.push('_') };
                let variant = self.variant(*data, *variant);
                for (at, field) in fields.iter().enumerate() {
                    self.before_field(&variant, at);
                    self.pattern(field, &Type::Unit);
                }
                self.after_fields(&variant);
            }
            Pattern::Or(any) => {
                for (at, one) in any.iter().enumerate() {
                    if at > 0 {
                        self.out.push_str(" | ");
                    }
                    self.pattern(one, ty);
                }
            }
            Pattern::At(var, inner) => {
                let name = self.name_of(*var);
                let _ = write!(self.out, "{name} @ ");
                self.pattern(inner, ty);
            }
        }
    }

    fn patterns(&mut self, open: &str, items: &[Pattern], types: &[Type], close: &str) {
        self.out.push_str(open);
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.pattern(item, types.get(at).unwrap_or(&Type::Unit));
        }
        self.out.push_str(close);
    }

    /// Writes the name of a variant, and gives how its fields are written.
    fn variant(&mut self, data: ein_ir::tensor::DataId, variant: usize) -> Fields {
        let data = &self.pass.program.data[data];
        let one = &data.variants[variant];
        if data.is_enum {
            let _ = write!(self.out, "{}::", data.name);
        }
        let _ = write!(self.out, "{}", one.name);
        Fields { names: one.fields.clone(), positional: one.positional }
    }

    fn before_field(&mut self, fields: &Fields, at: usize) {
        self.out.push_str(match (at, fields.positional) {
            (0, true) => "(",
            (0, false) => " { ",
            _ => ", ",
        });
        if let (false, Some(name)) = (fields.positional, fields.names.get(at)) {
            let _ = write!(self.out, "{name}: ");
        }
    }

    fn after_fields(&mut self, fields: &Fields) {
        if !fields.names.is_empty() {
            self.out.push_str(if fields.positional { ")" } else { " }" });
        }
    }

    pub(super) fn make(&mut self, data: ein_ir::tensor::DataId, variant: usize, values: &[Expr]) {
        let fields = self.variant(data, variant);
        for (at, value) in values.iter().enumerate() {
            self.before_field(&fields, at);
            self.expr(value, 0);
        }
        self.after_fields(&fields);
    }

    pub(super) fn field(&mut self, base: &Expr, at: usize) {
        self.expr(base, 9);
        let name = match &base.ty {
            Type::Data(data, _) => {
                self.pass.program.data[*data].variants[0].fields.get(at).copied()
            }
            _ => None,
        };
        let _ = match name {
            Some(name) => write!(self.out, ".{name}"),
            None => write!(self.out, ".{at}"),
        };
    }

    /// A range along one axis.
    pub(super) fn slice(&mut self, base: &Expr, axis: usize, lo: Option<&Expr>, hi: Option<&Expr>) {
        if axis == 0 {
            self.expr(base, 9);
            self.out.push('[');
            lo.into_iter().for_each(|lo| self.expr(lo, 5));
            self.out.push_str("..");
            hi.into_iter().for_each(|hi| self.expr(hi, 5));
            return self.out.push(']');
        }
        if lo.is_some() {
            let _ = write!(self.out, "drop[#{axis}](");
        }
        if hi.is_some() {
            let _ = write!(self.out, "take[#{axis}](");
        }
        self.expr(base, 0);
        for end in hi.into_iter().chain(lo) {
            self.out.push_str(", ");
            self.expr(end, 0);
            self.out.push(')');
        }
    }

    pub(super) fn gather(&mut self, base: &Expr, axis: usize, indices: &Expr) {
        if axis == 0 {
            self.expr(base, 9);
            return self.list("[", std::slice::from_ref(indices), "]");
        }
        self.out.push_str("gather(");
        self.expr(base, 0);
        self.out.push_str(", ");
        self.expr(indices, 0);
        let _ = write!(self.out, ", {axis})");
    }

    /// The axes in another order, as a definition.
    pub(super) fn permute(&mut self, e: &Expr, base: &Expr, order: &[usize]) {
        let span = e.span;
        let mut slots = Vec::new();
        let mut at = vec![None; order.len()];
        for (axis, from) in e.ty.axes().iter().zip(order) {
            let var = self.pass.local("$i", Type::I32, span);
            let hi = Expr::size(axis.size.clone(), span);
            slots.push(ClauseSlot::Loop(Binder { var, lo: Expr::int(0, span), hi }));
            let value = self.pass.var(var, span);
            at[*from] = Some(IndexArg { value, bounds: Bounds::Proved });
        }
        let indices = at.into_iter().flatten().collect();
        let kind = ExprKind::Index { base: base.clone(), indices };
        let value = Expr::new(kind, e.ty.elem().clone(), span);
        let tensor = Tensor {
            name: None,
            self_var: None,
            shape: e.ty.axes().iter().map(|axis| Some(axis.size.clone())).collect(),
            inner_rank: 0,
            clauses: vec![Clause {
                slots,
                items: Vec::new(),
                value,
                otherwise: None,
                until: None,
                span,
            }],
            recurrence: None,
            requires: Vec::new(),
        };
        self.defined(&Expr::new(ExprKind::Tensor(tensor), e.ty.clone(), span));
    }

    /// An array that is defined where it is used.
    pub(super) fn defined(&mut self, e: &Expr) {
        let before = self.names.mark();
        let outer = std::mem::replace(&mut self.inside, true);
        let name = self.names.numbered("t");
        let var = self.pass.local("$t", e.ty.clone(), e.span);
        self.names.insert(var, name.clone());
        self.out.push_str("{ ");
        self.clauses(&name, e);
        let _ = write!(self.out, " {name} }}");
        self.inside = outer;
        self.names.reset(before);
    }

    pub(super) fn comprehension(&mut self, clauses: &[CompClause], body: &Expr) {
        self.out.push('[');
        self.expr(body, 0);
        for (at, clause) in clauses.iter().enumerate() {
            self.out.push_str(if at == 0 { " | " } else { ", " });
            match clause {
                CompClause::Generator(pattern, from) => {
                    self.pattern(pattern, &Type::Unit);
                    self.out.push_str(" in ");
                    self.expr(from, 0);
                }
                CompClause::Condition(cond) => self.expr(cond, 0),
                CompClause::Binding(var, value) => {
                    let name = self.name_of(*var);
                    let _ = write!(self.out, "{name} = ");
                    self.expr(value, 0);
                }
            }
        }
        self.out.push(']');
    }

    /// A function without a name, as it would be written.
    pub(super) fn closure(&mut self, func: FuncId) {
        let code = &self.pass.program.funcs[func];
        let (params, body) = (code.params.clone(), code.body.clone());
        let names: Vec<String> = params.iter().map(|param| self.name_of(*param)).collect();
        let _ = write!(self.out, "|{}| ", names.join(", "));
        self.expr(&body, 0);
    }

    /// A call by name, or of a function that has none.
    pub(super) fn called(&mut self, func: FuncId, args: &[Expr]) {
        let name = self.pass.program.funcs[func].name;
        let plain = name.as_str().strip_suffix('\'');
        if plain.unwrap_or(name.as_str()) == "closure" {
            self.out.push('(');
            self.closure(func);
            return self.list(")(", args, ")");
        }
        let name = match plain {
            Some(plain) => format!("d_{plain}"),
            None => name.to_string(),
        };
        self.call(&name, args);
    }

    /// What the run-time library does.
    pub(super) fn host(&mut self, op: &HostOp, args: &[Expr]) {
        let name = match op {
            HostOp::Equal | HostOp::Concat | HostOp::Repeat | HostOp::Contains => {
                let sign = match op {
                    HostOp::Equal => " == ",
                    HostOp::Concat => " + ",
                    HostOp::Repeat => " * ",
                    _ => " in ",
                };
                self.out.push('(');
                for (at, arg) in args.iter().enumerate() {
                    if at > 0 {
                        self.out.push_str(sign);
                    }
                    self.expr(arg, 7);
                }
                return self.out.push(')');
            }
            HostOp::CharAt | HostOp::ElementAt => {
                if let [base, at @ ..] = args {
                    self.expr(base, 9);
                    self.list("[", at, "]");
                }
                return;
            }
            HostOp::Convert | HostOp::MergeClosures => return self.list("", args, ""),
            HostOp::Print => "print",
            HostOp::Assert => "assert",
            HostOp::Len => "len",
            HostOp::Shape => "shape",
            HostOp::Compare => "compare",
            HostOp::ArrayAppend => "array_append",
            HostOp::Reshape => "reshape",
            HostOp::Compress => "filter",
            HostOp::Iota => "iota",
            HostOp::ZerosLike => "zeros_like",
            HostOp::Format(_) => "format",
            HostOp::Input(_) => "input",
            HostOp::Io(_) => "io",
            HostOp::Plain(_) => "plain",
            HostOp::Python(_) => "python",
        };
        self.call(name, args);
    }
}

/// How the fields of a variant are written.
struct Fields {
    names: Vec<Symbol>,
    positional: bool,
}
