//! Expressions as text, for messages.

use crate::check::state::{Build, Index};
use ein_ir::tensor::{Expr, ExprKind};
use ein_scalar::{BinaryOp, UnaryOp};

/// An expression roughly as it was written.
pub(in crate::check) fn show_expr(ix: &Index, build: &Build, e: &Expr) -> String {
    match &*e.kind {
        ExprKind::Const(value) => value.to_string(),
        ExprKind::Size(size) => ix.show_size(size),
        ExprKind::Var(var) => ix.vars[*var].name.to_string(),
        ExprKind::Unary(UnaryOp::Neg, a) => format!("-{}", show_expr(ix, build, a)),
        ExprKind::Binary(op, a, b) => {
            let (a, b) = (show_expr(ix, build, a), show_expr(ix, build, b));
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
                indices.iter().map(|index| show_expr(ix, build, &index.value)).collect();
            let indices: Vec<_> = indices.iter().map(|text| bare(text)).collect();
            format!("{}[{}]", show_expr(ix, build, base), indices.join(", "))
        }
        ExprKind::Call { func, args, .. } => {
            let args: Vec<_> = args.iter().map(|arg| show_expr(ix, build, arg)).collect();
            match build.out.funcs.get(*func) {
                Some(func) => format!("{}({})", func.name, args.join(", ")),
                None => "…".into(),
            }
        }
        ExprKind::Cast(inner) => show_expr(ix, build, inner),
        ExprKind::Block { value, .. } => show_expr(ix, build, value),
        ExprKind::TupleGet(a, at) => format!("{}.{at}", show_expr(ix, build, a)),
        ExprKind::If { cond: _, then, otherwise } => {
            format!(
                "if … {{ {} }} else {{ {} }}",
                show_expr(ix, build, then),
                show_expr(ix, build, otherwise)
            )
        }
        ExprKind::Reduce(reduce) => format!("{}[…](…)", reduce.op.as_str()),
        _ => "…".into(),
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
