//! The text of a derivative: what `print(@y / @x)` shows of a request that has no name.
//!
//! A number by a number is one expression over the names of the program. Anything else is the
//! definitions that compute it, each on a line, as they could be written in the source; `d_v` is
//! the adjoint of `v`.

use super::reverse::{constant, replace_vars};
use super::{Pass, named};
use ein_base::Span;
use ein_ir::tensor::print::infix;
use ein_ir::tensor::walk::each_child_mut;
use ein_ir::tensor::{
    AtomDef, Binder, ClauseSlot, Derivative, Expr, ExprKind, Item, Stmt, StmtKind, Tensor, Type,
    VarId,
};
use ein_scalar::{BinaryOp, Scalar, UnaryOp};
use rustc_hash::FxHashMap;
use std::fmt::Write;

impl Pass<'_> {
    /// The text of a request, if the expression is one.
    pub(super) fn symbolic(&mut self, e: &Expr) -> Option<Expr> {
        let ExprKind::Derivative(Derivative::Quotient { target, parameter }) = &*e.kind else {
            return None;
        };
        let ((y, y_at), (x, x_at)) = (named(target)?, named(parameter)?);
        if !x_at.is_empty() || self.program.vars[y].ty.rank() != y_at.len() {
            return None;
        }
        let text = self.derivative_text(y, y_at, x, e.span)?;
        let text = ein_base::Symbol::intern(&text);
        Some(Expr::new(ExprKind::Str(text), Type::Str, e.span))
    }

    fn derivative_text(
        &mut self,
        y: VarId,
        y_at: &[ein_ir::tensor::IndexArg],
        x: VarId,
        span: Span,
    ) -> Option<String> {
        let ty = self.program.vars[y].ty.clone();
        let one = self.number(&ty, 1.0, span);
        if y == x {
            return Some("1.0".into());
        }
        let Some(adjoints) = self.adjoints(y, y_at, one, &[x]).ok()? else {
            return Some("0.0".into());
        };
        let value = adjoints.of.into_iter().next().flatten();
        let Some(mut value) = value else { return Some("0.0".into()) };
        // Numbers stand where they are used; arrays are definitions.
        let mut numbers: FxHashMap<VarId, Expr> = FxHashMap::default();
        let mut arrays: Vec<(VarId, Expr)> = Vec::new();
        for Stmt { kind, .. } in adjoints.stmts {
            let StmtKind::Let(var, mut bound) = kind else { continue };
            replace_vars(&mut bound, &numbers);
            if bound.ty.is_array() {
                arrays.push((var, bound));
            } else {
                numbers.insert(var, bound);
            }
        }
        replace_vars(&mut value, &numbers);
        let mut text = Text { pass: self, names: FxHashMap::default(), out: String::new() };
        if arrays.is_empty() {
            text.simplify(&mut value);
            text.expr(&value, 0);
            return Some(text.out);
        }
        for (at, (var, bound)) in arrays.iter().enumerate() {
            let name = text.name_of(*var);
            let name = format!("d_{}", name.trim_end_matches('\''));
            let taken = arrays[..at].iter().any(|(other, _)| text.names.get(other) == Some(&name));
            let name = if taken { format!("{name}_{at}") } else { name };
            text.names.insert(*var, name);
            let mut bound = bound.clone();
            text.simplify(&mut bound);
            text.definition(*var, &bound)?;
        }
        Some(text.out.trim_end().to_string())
    }
}

/// Source text under way.
struct Text<'a, 'p> {
    pass: &'a mut Pass<'p>,
    names: FxHashMap<VarId, String>,
    out: String,
}

impl Text<'_, '_> {
    fn name_of(&mut self, var: VarId) -> String {
        if let Some(name) = self.names.get(&var) {
            return name.clone();
        }
        let name = self.pass.program.vars[var].name;
        let plain = name.as_str().trim_start_matches('$').to_string();
        if plain == name.as_str() && !plain.ends_with('\'') {
            return plain;
        }
        // Index variables that the compiler made up get letters of their own.
        if plain == "i" || plain == "p" {
            let taken: Vec<&String> = self.names.values().collect();
            let letters = ["i", "j", "k", "l", "m", "n"];
            let free = letters.iter().find(|letter| !taken.iter().any(|own| own == *letter));
            let name = free.map_or_else(|| format!("i{}", taken.len()), |it| (*it).to_string());
            self.names.insert(var, name.clone());
            return name;
        }
        plain
    }

    /// `let d_x[i in 0..3] = …;`
    fn definition(&mut self, var: VarId, e: &Expr) -> Option<()> {
        let name = self.name_of(var);
        let ExprKind::Tensor(tensor) = &*e.kind else {
            let _ = write!(self.out, "let {name} = ");
            self.expr(e, 0);
            self.out.push_str(";\n");
            return Some(());
        };
        let Tensor { self_var, clauses, .. } = tensor;
        if let Some(own) = self_var {
            self.names.insert(*own, name.clone());
        }
        for clause in clauses {
            let before = self.names.clone();
            let _ = write!(self.out, "let {name}[");
            for (at, slot) in clause.slots.iter().enumerate() {
                if at > 0 {
                    self.out.push_str(", ");
                }
                match slot {
                    ClauseSlot::Point(at) => {
                        let _ = write!(self.out, "{at}");
                    }
                    ClauseSlot::Loop(binder) => self.binder(binder),
                }
            }
            self.out.push_str("] = ");
            self.expr(&clause.value, 0);
            self.items(&clause.items);
            self.out.push_str(";\n");
            self.names = before;
        }
        Some(())
    }

    fn binder(&mut self, binder: &Binder) {
        let name = self.name_of(binder.var);
        let _ = write!(self.out, "{name} in ");
        self.expr(&binder.lo, 5);
        self.out.push_str("..");
        self.expr(&binder.hi, 5);
    }

    fn items(&mut self, items: &[Item]) {
        for (at, item) in items.iter().enumerate() {
            self.out.push_str(if at == 0 { " where " } else { ", " });
            match item {
                Item::Let(var, value) => {
                    let name = self.name_of(*var);
                    let _ = write!(self.out, "{name} = ");
                    self.expr(value, 0);
                }
                Item::Guard(cond) => self.expr(cond, 0),
            }
        }
    }

    fn expr(&mut self, e: &Expr, least: u8) {
        let strength = match &*e.kind {
            ExprKind::Or(..) => 1,
            ExprKind::And(..) => 2,
            ExprKind::Binary(op, ..) => infix(*op).map_or(9, |(_, strength)| strength),
            ExprKind::Cast(_) => 6,
            ExprKind::Unary(UnaryOp::Neg | UnaryOp::Not, _) => 7,
            _ => 9,
        };
        if strength < least {
            self.out.push('(');
        }
        self.bare(e, strength);
        if strength < least {
            self.out.push(')');
        }
    }

    fn bare(&mut self, e: &Expr, strength: u8) {
        match &*e.kind {
            ExprKind::Const(value) => match value {
                Scalar::Bool(truth) => {
                    let _ = write!(self.out, "{truth}");
                }
                value if value.ty().is_float() => {
                    let _ = write!(self.out, "{:?}", value.as_f64());
                }
                value => {
                    let _ = write!(self.out, "{}", value.as_i64().unwrap_or(0));
                }
            },
            ExprKind::Var(var) => {
                let name = self.name_of(*var);
                self.out.push_str(&name);
            }
            ExprKind::Size(size) => {
                let plain = self.pass.size_expr(size, e.span);
                if let ExprKind::Size(size) = &*plain.kind {
                    let atoms = &self.pass.program.atoms;
                    let text = size.display(&|atom| match atoms[atom].def {
                        AtomDef::Var(_)
                        | AtomDef::Extent(..)
                        | AtomDef::Length(_)
                        | AtomDef::Unknown => atoms[atom].name.to_string(),
                    });
                    let _ = write!(self.out, "{text}");
                } else {
                    self.expr(&plain, strength);
                }
            }
            ExprKind::Unary(UnaryOp::Neg, a) => {
                self.out.push('-');
                self.expr(a, strength);
            }
            ExprKind::Unary(UnaryOp::Not, a) => {
                self.out.push('!');
                self.expr(a, strength);
            }
            ExprKind::Unary(op, a) => self.call(source_name(*op), std::slice::from_ref(a)),
            ExprKind::Binary(op, a, b) => match infix(*op) {
                Some((sign, _)) => {
                    self.expr(a, strength);
                    let _ = write!(self.out, " {sign} ");
                    self.expr(b, strength + 1);
                }
                None => self.call(op.as_str(), &[a.clone(), b.clone()]),
            },
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                self.expr(a, strength);
                self.out.push_str(if strength == 2 { " && " } else { " || " });
                self.expr(b, strength + 1);
            }
            ExprKind::Cast(a) => {
                self.expr(a, strength);
                let name = e.ty.scalar().map_or("f64", |ty| ty.name());
                let _ = write!(self.out, " as {name}");
            }
            ExprKind::If { cond, then, otherwise } => {
                self.out.push_str("if ");
                self.expr(cond, 0);
                self.out.push_str(" { ");
                self.expr(then, 0);
                self.out.push_str(" } else { ");
                self.expr(otherwise, 0);
                self.out.push_str(" }");
            }
            ExprKind::Index { base, indices } => {
                self.expr(base, 9);
                self.out.push('[');
                for (at, index) in indices.iter().enumerate() {
                    if at > 0 {
                        self.out.push_str(", ");
                    }
                    self.expr(&index.value, 0);
                }
                self.out.push(']');
            }
            ExprKind::Reduce(reduce) => {
                let before = self.names.clone();
                self.out.push_str(reduce.op.as_str());
                self.out.push('[');
                for (at, binder) in reduce.binders.iter().enumerate() {
                    if at > 0 {
                        self.out.push_str(", ");
                    }
                    self.binder(binder);
                }
                self.out.push_str("](");
                self.expr(&reduce.value, 0);
                self.items(&reduce.items);
                self.out.push(')');
                self.names = before;
            }
            ExprKind::Block { stmts, value } => {
                self.out.push_str("{ ");
                for stmt in stmts {
                    if let StmtKind::Let(var, bound) = &stmt.kind {
                        let name = self.name_of(*var);
                        let _ = write!(self.out, "let {name} = ");
                        self.expr(bound, 0);
                        self.out.push_str("; ");
                    }
                }
                self.expr(value, 0);
                self.out.push_str(" }");
            }
            ExprKind::Call { func, args, .. } => {
                let name = self.pass.program.funcs[*func].name;
                self.call(name.as_str(), args);
            }
            // What has no form of its own in the source.
            _ => self.out.push('…'),
        }
    }

    fn call(&mut self, name: &str, args: &[Expr]) {
        self.out.push_str(name);
        self.out.push('(');
        for (at, arg) in args.iter().enumerate() {
            if at > 0 {
                self.out.push_str(", ");
            }
            self.expr(arg, 0);
        }
        self.out.push(')');
    }

    // ---------------------------------------------------------------- simplification

    /// Folds constants and collects equal terms.
    fn simplify(&mut self, e: &mut Expr) {
        each_child_mut(e, &mut |child| self.simplify(child));
        let ExprKind::Binary(op, a, b) = &*e.kind else { return };
        let (ty, span) = (e.ty.clone(), e.span);
        let number = |it: &Self, value: f64| it.pass.number(&ty, value, span);
        let new = match (op, constant(a), constant(b)) {
            (BinaryOp::Mul, Some(x), Some(y)) => number(self, x * y),
            (BinaryOp::Mul, Some(1.0), _) => b.clone(),
            (BinaryOp::Mul, _, Some(1.0)) => a.clone(),
            (BinaryOp::Mul, None, Some(_)) => {
                let mut turned = self.pass.arith(BinaryOp::Mul, b.clone(), a.clone());
                self.simplify(&mut turned);
                turned
            }
            (BinaryOp::Mul, Some(x), None) => match &*b.kind {
                ExprKind::Binary(BinaryOp::Mul, c, d) => match constant(c) {
                    Some(y) => {
                        let factor = number(self, x * y);
                        self.pass.arith(BinaryOp::Mul, factor, d.clone())
                    }
                    None => return,
                },
                _ => return,
            },
            (BinaryOp::Add, Some(0.0), _) => b.clone(),
            (BinaryOp::Add | BinaryOp::Sub, _, Some(0.0)) => a.clone(),
            (BinaryOp::Add, Some(x), Some(y)) => number(self, x + y),
            (BinaryOp::Add, None, None) => {
                let ((x, p), (y, q)) = (self.scaled(a), self.scaled(b));
                if self.shown(&p) != self.shown(&q) {
                    return;
                }
                let factor = number(self, x + y);
                self.pass.arith(BinaryOp::Mul, factor, p)
            }
            (BinaryOp::Add, Some(_), None) => self.pass.arith(BinaryOp::Add, b.clone(), a.clone()),
            (BinaryOp::Div, _, Some(1.0)) => a.clone(),
            _ => return,
        };
        *e = new;
    }

    /// A factor and what it stands before.
    fn scaled(&self, e: &Expr) -> (f64, Expr) {
        match &*e.kind {
            ExprKind::Binary(BinaryOp::Mul, a, b) => match constant(a) {
                Some(factor) => (factor, b.clone()),
                None => (1.0, e.clone()),
            },
            _ => (1.0, e.clone()),
        }
    }

    fn shown(&mut self, e: &Expr) -> String {
        let before = std::mem::take(&mut self.out);
        self.expr(e, 0);
        std::mem::replace(&mut self.out, before)
    }
}

/// The name of a function in the library.
fn source_name(op: UnaryOp) -> &'static str {
    match op {
        UnaryOp::Log => "ln",
        other => other.as_str(),
    }
}
