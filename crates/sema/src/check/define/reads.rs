//! What the reads of a clause say about extents.
//!
//! `let y[0] = x[0]; let y[t in 1..?n] = …;` covers `max(n, 1)` points, and if there is none in `x`
//! the read of `x[0]` fails before there is a `y`. So wherever there is a `y`, it has `n` points.

use super::Draft;
use crate::check::Cx;
use crate::check::state::Index;
use ein_ir::size;
use ein_ir::tensor::{Clause, Expr, ExprKind, Item, Stmt, StmtKind};

/// Runs with the extents known that clauses cannot do without. They are known only as far as
/// the extents of the definition itself go: nothing says that it is ever computed.
pub(super) fn with_reads<'d, T>(
    cx: &mut Cx,
    drafts: impl Iterator<Item = &'d Draft>,
    run: impl FnOnce(&mut Cx) -> T,
) -> T {
    let known = cx.ix.f.facts.len();
    for draft in drafts {
        if !is_guarded(&draft.clause) {
            each_certain(&draft.clause.value, &mut |e| reads_need(&mut cx.ix, e));
        }
    }
    let result = run(cx);
    cx.ix.f.facts.truncate(known);
    result
}

/// A read at a literal position needs an extent.
fn reads_need(ix: &mut Index, e: &Expr) {
    let ExprKind::Index { base, indices } = &*e.kind else { return };
    for (index, axis) in indices.iter().zip(base.ty.axes()) {
        let ExprKind::Const(at) = &*index.value.kind else { continue };
        let Some(at) = at.as_i64() else { continue };
        // A negative one counts from the end.
        let least = if at < 0 { -at } else { at + 1 };
        if axis.size.as_constant().is_none() {
            ix.f.facts.le(&size::Expr::constant(least), &axis.size);
        }
    }
}

fn is_guarded(clause: &Clause) -> bool {
    clause.items.iter().any(|item| matches!(item, Item::Guard(_)))
}

/// The parts of a value that are computed whenever it is.
fn each_certain(e: &Expr, f: &mut dyn FnMut(&Expr)) {
    f(e);
    match &*e.kind {
        ExprKind::Unary(_, a) | ExprKind::Cast(a) => each_certain(a, f),
        ExprKind::TupleGet(a, _) | ExprKind::FieldGet(a, _) => each_certain(a, f),
        ExprKind::Binary(_, a, b) => {
            each_certain(a, f);
            each_certain(b, f);
        }
        ExprKind::And(first, _) | ExprKind::Or(first, _) => each_certain(first, f),
        ExprKind::If { cond, .. } => each_certain(cond, f),
        ExprKind::Match { value, .. } => each_certain(value, f),
        ExprKind::Index { base, indices } => {
            each_certain(base, f);
            indices.iter().for_each(|index| each_certain(&index.value, f));
        }
        ExprKind::Call { args, .. } | ExprKind::CallValue { args, .. } => {
            args.iter().for_each(|arg| each_certain(arg, f));
        }
        ExprKind::Tuple(items) | ExprKind::Array(items) => {
            items.iter().for_each(|item| each_certain(item, f));
        }
        ExprKind::Block { stmts, value } => {
            stmts.iter().for_each(|stmt| each_in(stmt, f));
            each_certain(value, f);
        }
        // Perhaps without a point, or not looked into.
        _ => {}
    }
}

fn each_in(stmt: &Stmt, f: &mut dyn FnMut(&Expr)) {
    match &stmt.kind {
        StmtKind::Let(_, value) | StmtKind::Destructure(_, value) | StmtKind::Expr(value) => {
            each_certain(value, f);
        }
        StmtKind::Require(_) => {}
    }
}
