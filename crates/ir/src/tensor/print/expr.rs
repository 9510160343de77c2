//! Statements and expressions as text.

use super::{Printer, scalar};
use crate::tensor::infer::infer;
use crate::tensor::names::host_name;
use crate::tensor::{
    Bounds, CompClause, Derivative, Expr, ExprKind, HostOp, IndexArg, Stmt, StmtKind,
};
use crate::text::write_string;
use ein_scalar::{Align, BinaryOp, Spec, UnaryOp};
use std::fmt::Write;

/// How tightly what is never put in parentheses binds.
const PRIMARY: u8 = 9;

/// The sign and the strength of an operation that stands between its operands.
pub fn infix(op: BinaryOp) -> Option<(&'static str, u8)> {
    match op {
        BinaryOp::Eq => Some(("==", 3)),
        BinaryOp::Ne => Some(("!=", 3)),
        BinaryOp::Lt => Some(("<", 3)),
        BinaryOp::Le => Some(("<=", 3)),
        BinaryOp::Gt => Some((">", 3)),
        BinaryOp::Ge => Some((">=", 3)),
        BinaryOp::Add => Some(("+", 4)),
        BinaryOp::Sub => Some(("-", 4)),
        BinaryOp::Mul => Some(("*", 5)),
        BinaryOp::Div => Some(("/", 5)),
        BinaryOp::Rem => Some(("%", 5)),
        BinaryOp::Pow => Some(("**", 8)),
        BinaryOp::Min | BinaryOp::Max | BinaryOp::Atan2 => None,
        BinaryOp::And | BinaryOp::Or | BinaryOp::FloorDiv | BinaryOp::FloorMod => None,
    }
}

impl Printer<'_> {
    pub(super) fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Let(var, value) => {
                let _ = write!(self.out, "let {} = ", self.var(*var));
                self.expr(value, 0);
            }
            StmtKind::Destructure(pattern, value) => {
                self.put("destructure ");
                self.pattern(pattern);
                self.put(" = ");
                self.expr(value, 0);
            }
            StmtKind::Expr(value) => self.expr(value, 0),
            StmtKind::Require(require) => {
                self.put("require ");
                self.require(require);
            }
        }
        self.put(";");
    }

    /// An expression, in parentheses if it binds less tightly than `least`.
    pub(super) fn expr(&mut self, e: &Expr, least: u8) {
        let states_type = matches!(&*e.kind, ExprKind::Tensor(_) | ExprKind::Cast(_));
        if !states_type && infer(&e.kind, self.program).as_ref() != Some(&e.ty) {
            self.put("(");
            self.kind(e, 0);
            self.put(" : ");
            self.ty(&e.ty);
            self.put(")");
        } else {
            self.kind(e, least);
        }
    }

    fn kind(&mut self, e: &Expr, least: u8) {
        let strength = match &*e.kind {
            ExprKind::Or(..) => 1,
            ExprKind::And(..) => 2,
            ExprKind::Binary(op, ..) => infix(*op).map_or(PRIMARY, |(_, strength)| strength),
            ExprKind::Cast(_) => 6,
            ExprKind::Unary(UnaryOp::Neg | UnaryOp::Not, _) => 7,
            _ => PRIMARY,
        };
        if strength < least {
            self.put("(");
        }
        self.bare(e, strength);
        if strength < least {
            self.put(")");
        }
    }

    fn bare(&mut self, e: &Expr, strength: u8) {
        match &*e.kind {
            ExprKind::Const(value) => self.put(&scalar(*value)),
            ExprKind::Str(text) => write_string(&mut self.out, text.as_str()),
            ExprKind::Unit => self.put("()"),
            ExprKind::Var(var) => self.put(&self.var(*var)),
            ExprKind::Size(size) => {
                let atom = size.as_atom().is_some();
                self.put(if atom { "$" } else { "$(" });
                self.size(size);
                self.put(if atom { "" } else { ")" });
            }
            ExprKind::Unary(op @ (UnaryOp::Neg | UnaryOp::Not), a) => {
                self.put(if *op == UnaryOp::Neg { "-" } else { "!" });
                let start = self.out.len();
                self.expr(a, strength);
                // `-5` is a constant.
                if self.out[start..].starts_with(|c: char| c.is_ascii_digit()) {
                    self.out.insert(start, '(');
                    self.put(")");
                }
            }
            ExprKind::Unary(op, a) => self.call(op.as_str(), &[a]),
            ExprKind::Binary(op, a, b) => match infix(*op) {
                Some((sign, _)) => {
                    let left = if op.is_comparison() { strength + 1 } else { strength };
                    self.between(a, left, sign, b, strength + 1);
                }
                None => self.call(op.as_str(), &[a, b]),
            },
            ExprKind::And(a, b) => self.between(a, strength, "&&", b, strength + 1),
            ExprKind::Or(a, b) => self.between(a, strength, "||", b, strength + 1),
            ExprKind::Cast(a) => {
                self.expr(a, strength);
                self.put(" as ");
                self.ty(&e.ty);
            }
            ExprKind::Tensor(tensor) => self.tensor(tensor, e),
            ExprKind::Reduce(reduce) => self.reduce(reduce),
            ExprKind::Scatter(scatter) => self.scatter(scatter),
            ExprKind::If { .. }
            | ExprKind::Block { .. }
            | ExprKind::Match { .. }
            | ExprKind::Comprehension { .. } => self.control(e),
            ExprKind::Index { .. }
            | ExprKind::Slice { .. }
            | ExprKind::Gather { .. }
            | ExprKind::Permute { .. }
            | ExprKind::Join { .. } => self.array(e),
            ExprKind::Array(items) => self.exprs("[", items, "]"),
            ExprKind::Tuple(items) => {
                self.exprs("(", items, if items.len() < 2 { ",)" } else { ")" });
            }
            ExprKind::TupleGet(tuple, at) => {
                self.expr(tuple, PRIMARY);
                let _ = write!(self.out, ".{at}");
            }
            ExprKind::FieldGet(value, at) => {
                self.expr(value, PRIMARY);
                let _ = write!(self.out, ".f{at}");
            }
            ExprKind::Make { data, variant, fields } => {
                let _ = write!(self.out, "make {}.{variant}", self.data_name(*data));
                self.exprs("(", fields, ")");
            }
            ExprKind::Call { .. }
            | ExprKind::CallValue { .. }
            | ExprKind::Closure { .. }
            | ExprKind::Specialise { .. } => self.calls(e),
            ExprKind::Range(lo, hi) => self.call("range", &[lo, hi]),
            ExprKind::Try(inner) => self.call("try", &[inner]),
            ExprKind::Host(op, args) => self.host(op, args),
            ExprKind::Assert { value, extents, what } => {
                self.put("check(");
                self.expr(value, 0);
                self.put(", [");
                self.list(extents, |it, extent| it.optional_size(extent.as_ref()));
                self.put("], ");
                write_string(&mut self.out, what);
                self.put(")");
            }
            ExprKind::Derivative(Derivative::Quotient { target, parameter }) => {
                self.call("derivative", &[target, parameter]);
            }
            ExprKind::Derivative(Derivative::Tangent(a)) => self.call("tangent", &[a]),
            ExprKind::Derivative(Derivative::Product { target, parameter, direction, forward }) => {
                let word = if *forward { "jvp" } else { "vjp" };
                self.call(word, &[target, parameter, direction]);
            }
            ExprKind::Error => self.put("error"),
        }
    }

    fn between(&mut self, a: &Expr, left: u8, sign: &str, b: &Expr, right: u8) {
        self.expr(a, left);
        let _ = write!(self.out, " {sign} ");
        self.expr(b, right);
    }

    fn call(&mut self, name: &str, args: &[&Expr]) {
        self.put(name);
        self.put("(");
        self.list(args, |it, arg| it.expr(arg, 0));
        self.put(")");
    }

    fn exprs(&mut self, open: &str, items: &[Expr], close: &str) {
        self.put(open);
        self.list(items, |it, item| it.expr(item, 0));
        self.put(close);
    }

    fn control(&mut self, e: &Expr) {
        match &*e.kind {
            ExprKind::If { cond, then, otherwise } => {
                self.put("if ");
                self.expr(cond, 0);
                self.put(" { ");
                self.expr(then, 0);
                self.put(" } else { ");
                self.expr(otherwise, 0);
                self.put(" }");
            }
            ExprKind::Block { stmts, value } => {
                self.put("{");
                self.indent += 1;
                for stmt in stmts {
                    self.line();
                    self.stmt(stmt);
                }
                self.line();
                self.expr(value, 0);
                self.indent -= 1;
                self.line();
                self.put("}");
            }
            ExprKind::Match { value, arms } => {
                self.put("match ");
                self.expr(value, 0);
                self.put(" {");
                self.indent += 1;
                for arm in arms {
                    self.line();
                    self.pattern(&arm.pattern);
                    if let Some(guard) = &arm.guard {
                        self.put(" if ");
                        self.expr(guard, 0);
                    }
                    self.put(" => ");
                    self.expr(&arm.value, 0);
                    self.put(",");
                }
                self.indent -= 1;
                self.line();
                self.put("}");
            }
            ExprKind::Comprehension { clauses, body } => {
                self.put("[");
                self.expr(body, 0);
                self.put(" | ");
                self.list(clauses, |it, clause| match clause {
                    CompClause::Generator(pattern, source) => {
                        it.put("for ");
                        it.pattern(pattern);
                        it.put(" in ");
                        it.expr(source, 0);
                    }
                    CompClause::Condition(cond) => {
                        it.put("if ");
                        it.expr(cond, 0);
                    }
                    CompClause::Binding(var, value) => {
                        let _ = write!(it.out, "let {} = ", it.var(*var));
                        it.expr(value, 0);
                    }
                });
                self.put("]");
            }
            _ => {}
        }
    }

    fn array(&mut self, e: &Expr) {
        match &*e.kind {
            ExprKind::Index { base, indices } => {
                self.expr(base, PRIMARY);
                self.indices(indices);
            }
            ExprKind::Slice { base, axis, lo, hi } => {
                self.call_open("slice(", base, *axis);
                for end in [lo, hi] {
                    self.put(", ");
                    match end {
                        Some(end) => self.expr(end, 0),
                        None => self.put("_"),
                    }
                }
                self.put(")");
            }
            ExprKind::Gather { base, axis, indices, name } => {
                self.call_open("gather(", base, *axis);
                self.put(", ");
                self.expr(indices, 0);
                if let Some(name) = name {
                    self.put(", ");
                    write_string(&mut self.out, name.as_str());
                }
                self.put(")");
            }
            ExprKind::Permute { base, order } => {
                self.put("permute(");
                self.expr(base, 0);
                for axis in order {
                    let _ = write!(self.out, ", {axis}");
                }
                self.put(")");
            }
            ExprKind::Join { axis, left, right } => {
                self.call_open("join(", left, *axis);
                self.put(", ");
                self.expr(right, 0);
                self.put(")");
            }
            _ => {}
        }
    }

    /// `[i, j?]`, a question mark where the run has to check.
    pub(super) fn indices(&mut self, indices: &[IndexArg]) {
        self.put("[");
        self.list(indices, |it, index| {
            it.expr(&index.value, 0);
            it.put(if index.bounds == Bounds::Checked { "?" } else { "" });
        });
        self.put("]");
    }

    fn call_open(&mut self, open: &str, base: &Expr, axis: usize) {
        self.put(open);
        self.expr(base, 0);
        let _ = write!(self.out, ", {axis}");
    }

    fn calls(&mut self, e: &Expr) {
        match &*e.kind {
            ExprKind::Call { func, sizes, closure, args } => {
                self.put(&self.func(*func));
                if !sizes.is_empty() {
                    self.put("<");
                    self.list(sizes, |it, size| it.size(size));
                    self.put(">");
                }
                if let Some(closure) = closure {
                    self.put("{");
                    self.expr(closure, 0);
                    self.put("}");
                }
                self.exprs("(", args, ")");
            }
            ExprKind::CallValue { callee, args } => {
                let all: Vec<&Expr> = std::iter::once(callee).chain(args).collect();
                self.call("apply", &all);
            }
            ExprKind::Closure { func, captures } => {
                let code = func.map_or("_".into(), |func| self.func(func));
                let _ = write!(self.out, "closure {code} ");
                self.exprs("{", captures, "}");
            }
            ExprKind::Specialise { value, func } => {
                self.put("specialise(");
                self.expr(value, 0);
                let _ = write!(self.out, ", {})", self.func(*func));
            }
            _ => {}
        }
    }

    fn host(&mut self, op: &HostOp, args: &[Expr]) {
        let _ = write!(self.out, "host {}", host_name(op));
        match op {
            HostOp::Format(specs) => {
                self.put("[");
                self.list(specs, |it, spec| match spec {
                    Some(spec) => it.spec(spec),
                    None => it.put("_"),
                });
                self.put("]");
            }
            HostOp::Input(name) | HostOp::Python(name) => {
                self.put("[");
                write_string(&mut self.out, name.as_str());
                self.put("]");
            }
            _ => {}
        }
        self.exprs("(", args, ")");
    }

    /// A format specification, by its parts.
    fn spec(&mut self, spec: &Spec) {
        self.put("spec(");
        let mut parts: Vec<String> = Vec::new();
        let quoted = |c: char| {
            let mut text = String::new();
            write_string(&mut text, c.encode_utf8(&mut [0; 4]));
            text
        };
        parts.extend(spec.fill.map(|c| format!("fill {}", quoted(c))));
        parts.extend(spec.align.map(|align| {
            let word = match align {
                Align::Left => "left",
                Align::Right => "right",
                Align::Center => "center",
                Align::AfterSign => "after_sign",
            };
            word.to_string()
        }));
        parts.extend(spec.plus.then(|| "plus".to_string()));
        parts.extend(spec.zero.then(|| "zero".to_string()));
        parts.extend(spec.width.map(|width| format!("width {width}")));
        parts.extend(spec.precision.map(|precision| format!("precision {precision}")));
        parts.extend(spec.kind.map(|kind| format!("kind {}", quoted(kind))));
        self.put(&parts.join(" "));
        self.put(")");
    }
}
