//! Walking over syntax trees.

use ein_base::Symbol;
use ein_syntax::ast::{Ast, BinaryOp, CompClause, ExprId, ExprKind, SlotKind, StrPart, WhereItem};

/// The reductions of the language.
const REDUCTIONS: &[&str] =
    &["sum", "prod", "max", "min", "mean", "any", "all", "argmax", "argmin", "count"];

/// The expressions directly inside one, in source order; those of statements not included.
pub fn children(ast: &Ast, id: ExprId) -> Vec<ExprId> {
    let mut found = Vec::new();
    match &ast.expr[id].kind {
        ExprKind::Int { .. }
        | ExprKind::Float { .. }
        | ExprKind::Bool(_)
        | ExprKind::Path(_)
        | ExprKind::Size(_)
        | ExprKind::Hole
        | ExprKind::Error => {}
        ExprKind::Str(parts) => found.extend(parts.iter().filter_map(|part| match part {
            StrPart::Value { expr, .. } => Some(*expr),
            StrPart::Text(_) => None,
        })),
        ExprKind::Unary(_, e)
        | ExprKind::Cast(e, _)
        | ExprKind::At(e)
        | ExprKind::Field(e, _)
        | ExprKind::TupleField(e, ..)
        | ExprKind::Closure { body: e, .. }
        | ExprKind::Try(e) => found.push(*e),
        ExprKind::Binary(_, a, b) | ExprKind::Pipe(_, a, b) | ExprKind::OrElse(a, b) => {
            found.extend([*a, *b]);
        }
        ExprKind::Catch { value, handler, .. } => found.extend([*value, *handler]),
        ExprKind::Range { lo, hi, .. } => found.extend(lo.iter().chain(hi)),
        ExprKind::Call { callee, args } => {
            found.push(*callee);
            found.extend(args.iter().map(|arg| arg.value));
        }
        ExprKind::BracketCall { slots, args, .. } => {
            found.extend(slots.iter().filter_map(|slot| slot_expr(&slot.kind)));
            found.extend(args.iter().map(|arg| arg.value));
        }
        ExprKind::Index { base, slots } => {
            found.push(*base);
            found.extend(slots.iter().filter_map(|slot| slot_expr(&slot.kind)));
        }
        ExprKind::Array(items) | ExprKind::Tuple(items) => found.extend(items),
        ExprKind::Comprehension { body, clauses } => {
            found.push(*body);
            found.extend(clauses.iter().map(|clause| match clause {
                CompClause::Generator(_, e)
                | CompClause::Condition(e)
                | CompClause::Binding(_, e) => *e,
            }));
        }
        ExprKind::Struct { fields, .. } => found.extend(fields.iter().map(|(_, e)| *e)),
        ExprKind::Block { tail, .. } => found.extend(tail),
        ExprKind::If { cond, then, otherwise } => {
            found.extend([*cond, *then]);
            found.extend(otherwise);
        }
        ExprKind::Match { scrutinee, arms } => {
            found.push(*scrutinee);
            for arm in arms {
                found.extend(arm.guard);
                found.push(arm.body);
            }
        }
        ExprKind::Where { body, items, otherwise } => {
            found.push(*body);
            found.extend(items.iter().map(|item| match item {
                WhereItem::Binding(_, e) | WhereItem::Guard(e) => *e,
            }));
            found.extend(otherwise);
        }
    }
    found
}

fn slot_expr(slot: &SlotKind) -> Option<ExprId> {
    match slot {
        SlotKind::Expr(e) | SlotKind::Stepped { range: e, .. } => Some(*e),
        SlotKind::Domain { domain, .. } => Some(*domain),
        SlotKind::Named { value, .. } => Some(*value),
        SlotKind::Pack(_) | SlotKind::Group(_) | SlotKind::Axis(_) => None,
    }
}

/// An expression and everything in it, statements of blocks not included.
pub fn all(ast: &Ast, id: ExprId) -> Vec<ExprId> {
    let mut found = vec![id];
    let mut next = 0;
    while let Some(id) = found.get(next).copied() {
        found.extend(children(ast, id));
        next += 1;
    }
    found
}

/// A name alone.
pub fn bare(ast: &Ast, id: ExprId) -> Option<Symbol> {
    match &ast.expr[id].kind {
        ExprKind::Path(path) => match path[..] {
            [name] => Some(name.sym),
            _ => None,
        },
        _ => None,
    }
}

/// A name alone, or shifted by a literal.
pub fn shifted(ast: &Ast, id: ExprId) -> Option<Symbol> {
    match &ast.expr[id].kind {
        ExprKind::Binary(BinaryOp::Add | BinaryOp::Sub, a, b)
            if matches!(ast.expr[*b].kind, ExprKind::Int { .. }) =>
        {
            bare(ast, *a)
        }
        _ => bare(ast, id),
    }
}

/// Whether an expression is a reduction: `sum[…](…)`.
pub fn is_reduction(ast: &Ast, callee: ExprId) -> bool {
    bare(ast, callee).is_some_and(|name| REDUCTIONS.contains(&name.as_str()))
}

/// How often a name stands in an expression where no reduction in it binds the name.
pub fn free(ast: &Ast, id: ExprId, name: Symbol) -> usize {
    if bare(ast, id) == Some(name) {
        return 1;
    }
    if let ExprKind::BracketCall { callee, slots, .. } = &ast.expr[id].kind
        && is_reduction(ast, *callee)
        && slots.iter().any(|slot| binder(ast, &slot.kind) == Some(name))
    {
        return 0;
    }
    children(ast, id).into_iter().map(|child| free(ast, child, name)).sum()
}

/// The name that a slot of a reduction binds.
pub fn binder(ast: &Ast, slot: &SlotKind) -> Option<Symbol> {
    match slot {
        SlotKind::Expr(e) => bare(ast, *e),
        SlotKind::Domain { name, .. } => Some(name.sym),
        SlotKind::Pack(_)
        | SlotKind::Group(_)
        | SlotKind::Named { .. }
        | SlotKind::Axis(_)
        | SlotKind::Stepped { .. } => None,
    }
}
