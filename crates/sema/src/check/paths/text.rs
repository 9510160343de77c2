//! Expressions as text, for messages.

use crate::check::Cx;
use ein_ir::tensor::{Expr, ExprKind};
use ein_scalar::{BinaryOp, UnaryOp};

impl Cx<'_> {
    /// An expression roughly as it was written.
    pub(in crate::check) fn show_expr(&self, e: &Expr) -> String {
        match &*e.kind {
            ExprKind::Const(value) => value.to_string(),
            ExprKind::Size(size) => self.show_size(size),
            ExprKind::Var(var) => self.out.vars[*var].name.to_string(),
            ExprKind::Unary(UnaryOp::Neg, a) => format!("-{}", self.show_expr(a)),
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.show_expr(a), self.show_expr(b));
                let sign = match op {
                    BinaryOp::Add => "+",
                    BinaryOp::Sub => "-",
                    BinaryOp::Mul => "*",
                    BinaryOp::Div => "/",
                    BinaryOp::Rem => "%",
                    _ => return format!("{}({a}, {b})", op.as_str()),
                };
                format!("({a} {sign} {b})")
            }
            ExprKind::Index { base, indices } => {
                let indices: Vec<_> =
                    indices.iter().map(|index| self.show_expr(&index.value)).collect();
                let indices: Vec<_> = indices.iter().map(|text| bare(text)).collect();
                format!("{}[{}]", self.show_expr(base), indices.join(", "))
            }
            ExprKind::Call { func, args, .. } => {
                let args: Vec<_> = args.iter().map(|arg| self.show_expr(arg)).collect();
                match self.out.funcs.get(*func) {
                    Some(func) => format!("{}({})", func.name, args.join(", ")),
                    None => "…".into(),
                }
            }
            ExprKind::Cast(inner) => self.show_expr(inner),
            ExprKind::Block { value, .. } => self.show_expr(value),
            ExprKind::TupleGet(a, at) => format!("{}.{at}", self.show_expr(a)),
            ExprKind::If { cond: _, then, otherwise } => {
                format!(
                    "if … {{ {} }} else {{ {} }}",
                    self.show_expr(then),
                    self.show_expr(otherwise)
                )
            }
            ExprKind::Reduce(reduce) => format!("{}[…](…)", reduce.op.as_str()),
            _ => "…".into(),
        }
    }
}

/// Without the parentheses around everything.
fn bare(text: &str) -> &str {
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    match inner {
        Some(inner) if !inner.contains(['(', ')']) => inner,
        _ => text,
    }
}
