//! What stands below an expression, and which names it mentions.

use ein_base::Symbol;
use ein_syntax::ast::{
    Arg, Ast, CompClause, ExprId, ExprKind, LeftSlotKind, Slot, SlotKind, StmtKind, StrPart,
    WhereItem,
};
use std::collections::HashSet;

/// The expressions directly below one.
pub(super) fn children(ast: &Ast, e: ExprId) -> Vec<ExprId> {
    let args = |args: &[Arg]| args.iter().map(|arg| arg.value).collect::<Vec<_>>();
    match &ast.expr[e].kind {
        ExprKind::Str(parts) => parts
            .iter()
            .filter_map(|part| match part {
                StrPart::Value { expr, .. } => Some(*expr),
                StrPart::Text(_) => None,
            })
            .collect(),
        ExprKind::Unary(_, a)
        | ExprKind::Cast(a, _)
        | ExprKind::At(a)
        | ExprKind::Field(a, _)
        | ExprKind::TupleField(a, ..)
        | ExprKind::Try(a) => vec![*a],
        ExprKind::Binary(_, a, b) | ExprKind::Pipe(_, a, b) | ExprKind::OrElse(a, b) => {
            vec![*a, *b]
        }
        ExprKind::Range { lo, hi, .. } => lo.iter().chain(hi).copied().collect(),
        ExprKind::Call { callee, args: given } => [vec![*callee], args(given)].concat(),
        ExprKind::BracketCall { callee, slots: inside, args: given } => {
            [vec![*callee], slots(inside), args(given)].concat()
        }
        ExprKind::Index { base, slots: inside } => [vec![*base], slots(inside)].concat(),
        ExprKind::Array(items) | ExprKind::Tuple(items) => items.to_vec(),
        ExprKind::Comprehension { body, clauses } => {
            let parts = clauses.iter().map(|clause| match clause {
                CompClause::Generator(_, e) | CompClause::Condition(e) => *e,
                CompClause::Binding(_, e) => *e,
            });
            parts.chain([*body]).collect()
        }
        ExprKind::Struct { fields, .. } => fields.iter().map(|(_, value)| *value).collect(),
        ExprKind::Block { stmts, tail } => {
            let mut out = Vec::new();
            for stmt in stmts {
                match &ast.stmt[*stmt].kind {
                    StmtKind::Let(it) => out.push(it.value),
                    StmtKind::Clause(it) => {
                        out.extend(it.slots.iter().filter_map(|slot| match slot.kind {
                            LeftSlotKind::Index { domain, .. } => domain,
                            _ => None,
                        }));
                        out.push(it.value);
                    }
                    StmtKind::Expr(e) => out.push(*e),
                    _ => {}
                }
            }
            out.extend(tail);
            out
        }
        ExprKind::If { cond, then, otherwise } => {
            [*cond, *then].into_iter().chain(*otherwise).collect()
        }
        ExprKind::Match { scrutinee, arms } => {
            let arms = arms.iter().flat_map(|arm| arm.guard.into_iter().chain([arm.body]));
            [*scrutinee].into_iter().chain(arms).collect()
        }
        ExprKind::Closure { body, .. } => vec![*body],
        ExprKind::Catch { value, handler, .. } => vec![*value, *handler],
        ExprKind::Where { body, items, otherwise } => {
            let items = items.iter().map(|item| match item {
                WhereItem::Binding(_, e) | WhereItem::Guard(e) => *e,
            });
            items.chain([*body]).chain(*otherwise).collect()
        }
        ExprKind::Int { .. }
        | ExprKind::Float { .. }
        | ExprKind::Bool(_)
        | ExprKind::Path(_)
        | ExprKind::Size(_)
        | ExprKind::Hole
        | ExprKind::Error => Vec::new(),
    }
}

fn slots(slots: &[Slot]) -> Vec<ExprId> {
    let inside = slots.iter().flat_map(|slot| match slot.kind {
        SlotKind::Expr(e)
        | SlotKind::Domain { domain: e, .. }
        | SlotKind::Named { value: e, .. } => [Some(e), None],
        SlotKind::Stepped { range, step } => [Some(range), Some(step)],
        SlotKind::Pack(_) | SlotKind::Group(_) | SlotKind::Axis(_) => [None, None],
    });
    inside.flatten().collect()
}

/// The name that an expression is, if it is one.
pub(super) fn name(ast: &Ast, e: ExprId) -> Option<Symbol> {
    match &ast.expr[e].kind {
        ExprKind::Path(path) if path.len() == 1 => Some(path[0].sym),
        _ => None,
    }
}

/// Every single name in an expression.
pub(super) fn mentioned(ast: &Ast, e: ExprId) -> HashSet<Symbol> {
    let mut names = HashSet::new();
    let mut work = vec![e];
    while let Some(e) = work.pop() {
        names.extend(name(ast, e));
        work.extend(children(ast, e));
    }
    names
}
