//! The walk: every expression with the facts of its path.

use super::{Domain, Path, Visit, is_integer, peel};
use crate::check::paths;
use crate::check::state::{Build, Index};
use ein_ir::size;
use ein_ir::tensor::walk::each_child_mut;
use ein_ir::tensor::{
    AtomDef, Binder, Clause, ClauseSlot, CompClause, Expr, ExprKind, HostOp, Item, Pattern,
    Require, Stmt, StmtKind, Type, VarId,
};

/// Walks an expression.
pub(in crate::check) fn walk_on(
    ix: &mut Index,
    build: &Build,
    e: &mut Expr,
    path: &mut Path,
    visit: &mut dyn Visit,
) {
    let span = e.span;
    match &mut *e.kind {
        ExprKind::Var(var) => visit.var(ix, build, *var, span, path),
        ExprKind::Index { base, indices } => {
            for index in indices.iter_mut() {
                walk_on(ix, build, &mut index.value, path, visit);
            }
            visit.read(ix, build, base, indices, span, path);
            if !matches!(&*base.kind, ExprKind::Var(_)) {
                walk_on(ix, build, base, path, visit);
            }
        }
        ExprKind::If { cond, then, otherwise } => {
            walk_on(ix, build, cond, path, visit);
            let mark = path.mark();
            super::enter(ix, build, cond, true, path);
            walk_on(ix, build, then, path, visit);
            path.reset(mark);
            super::enter(ix, build, cond, false, path);
            walk_on(ix, build, otherwise, path, visit);
            path.reset(mark);
        }
        ExprKind::And(a, b) => walk_after(ix, build, a, true, b, path, visit),
        ExprKind::Or(a, b) => walk_after(ix, build, a, false, b, path, visit),
        ExprKind::Block { stmts, value } => {
            let mark = path.mark();
            for stmt in stmts {
                walk_stmt(ix, build, stmt, path, visit);
            }
            walk_on(ix, build, value, path, visit);
            path.reset(mark);
        }
        ExprKind::Match { value, arms } => {
            walk_on(ix, build, value, path, visit);
            let all = path.mark();
            for arm in arms {
                let mark = path.mark();
                path.exact &= paths::patterns::matches_on(ix, build, &arm.pattern, value, path);
                if let Some(guard) = &mut arm.guard {
                    walk_on(ix, build, guard, path, visit);
                    super::enter(ix, build, guard, true, path);
                }
                walk_on(ix, build, &mut arm.value, path, visit);
                path.reset(mark);
                let said = arm.guard.is_none()
                    && paths::patterns::differs_on(ix, build, &arm.pattern, value, path);
                path.exact &= said;
            }
            path.reset(all);
        }
        ExprKind::Comprehension { clauses, body } => {
            let mark = path.mark();
            for clause in clauses {
                match clause {
                    CompClause::Generator(pattern, e) => {
                        walk_on(ix, build, e, path, visit);
                        generate(ix, build, pattern, e, path);
                    }
                    CompClause::Condition(e) => {
                        walk_on(ix, build, e, path, visit);
                        super::enter(ix, build, e, true, path);
                    }
                    CompClause::Binding(var, e) => walk_let(ix, build, *var, e, path, visit),
                }
            }
            walk_on(ix, build, body, path, visit);
            path.reset(mark);
        }
        ExprKind::Tensor(tensor) => {
            visit.tensor(ix, build, tensor);
            let mark = path.mark();
            require_on(&tensor.requires, path);
            for clause in &mut tensor.clauses {
                walk_clause(ix, build, clause, path, visit);
            }
            path.reset(mark);
        }
        ExprKind::Reduce(reduce) => {
            let mark = path.mark();
            require_on(&reduce.requires, path);
            for binder in &mut reduce.binders {
                walk_binder(ix, build, binder, path, visit);
            }
            walk_items(ix, build, &mut reduce.items, path, visit);
            walk_on(ix, build, &mut reduce.value, path, visit);
            path.reset(mark);
        }
        ExprKind::Try(inner) => {
            // What goes wrong inside is caught.
            let mark = path.mark();
            path.exact = false;
            walk_on(ix, build, inner, path, visit);
            path.reset(mark);
        }
        _ => each_child_mut(e, &mut |child| walk_on(ix, build, child, path, visit)),
    }
}

fn walk_after(
    ix: &mut Index,
    build: &Build,
    first: &mut Expr,
    holds: bool,
    second: &mut Expr,
    path: &mut Path,
    visit: &mut dyn Visit,
) {
    walk_on(ix, build, first, path, visit);
    let mark = path.mark();
    super::enter(ix, build, first, holds, path);
    walk_on(ix, build, second, path, visit);
    path.reset(mark);
}

/// Walks a statement; what it says stays known.
pub(in crate::check) fn walk_stmt(
    ix: &mut Index,
    build: &Build,
    stmt: &mut Stmt,
    path: &mut Path,
    visit: &mut dyn Visit,
) {
    match &mut stmt.kind {
        StmtKind::Let(var, e) => walk_let(ix, build, *var, e, path, visit),
        StmtKind::Destructure(_, e) => walk_on(ix, build, e, path, visit),
        StmtKind::Expr(e) => {
            walk_on(ix, build, e, path, visit);
            if let ExprKind::Host(HostOp::Assert, args) = &*e.kind
                && let Some(cond) = args.first()
            {
                super::assume_on(ix, build, cond, true, path);
            }
        }
        StmtKind::Require(require) => require_on(std::slice::from_ref(require), path),
    }
}

fn require_on(requires: &[Require], path: &mut Path) {
    for require in requires {
        path.facts.eq(&require.left, &require.right);
    }
}

/// Walks a clause of a definition.
pub(in crate::check) fn walk_clause(
    ix: &mut Index,
    build: &Build,
    clause: &mut Clause,
    path: &mut Path,
    visit: &mut dyn Visit,
) {
    let mark = path.mark();
    for slot in &mut clause.slots {
        if let ClauseSlot::Loop(binder) = slot {
            walk_binder(ix, build, binder, path, visit);
        }
    }
    let inside = path.mark();
    walk_items(ix, build, &mut clause.items, path, visit);
    walk_on(ix, build, &mut clause.value, path, visit);
    path.reset(inside);
    if let Some(otherwise) = &mut clause.otherwise {
        let mut guards = clause.items.iter().filter_map(|item| match item {
            Item::Guard(cond) => Some(cond),
            Item::Let(..) => None,
        });
        match (guards.next(), guards.next()) {
            (Some(guard), None) => super::enter(ix, build, guard, false, path),
            _ => path.exact = false,
        }
        walk_on(ix, build, otherwise, path, visit);
    }
    path.reset(inside);
    if let Some(until) = &mut clause.until {
        walk_on(ix, build, &mut until.cond, path, visit);
        until.otherwise.iter_mut().for_each(|message| walk_on(ix, build, message, path, visit));
    }
    path.reset(mark);
}

fn walk_binder(
    ix: &mut Index,
    build: &Build,
    binder: &mut Binder,
    path: &mut Path,
    visit: &mut dyn Visit,
) {
    walk_on(ix, build, &mut binder.lo, path, visit);
    walk_on(ix, build, &mut binder.hi, path, visit);
    bind_on(ix, build, binder.var, &binder.lo, &binder.hi, path);
}

/// Lets a variable run from `lo` to `hi`.
fn bind_on(ix: &mut Index, build: &Build, var: VarId, lo: &Expr, hi: &Expr, path: &mut Path) {
    let (lo, hi) = (super::size_on(ix, build, lo, path), super::size_on(ix, build, hi, path));
    path.exact &= !super::is_opaque(&lo, path) && !super::is_opaque(&hi, path);
    if let Some(atom) = ix.var_sizes.get(&var).and_then(size::Expr::as_atom) {
        path.facts.with_range(atom, &lo, &hi);
        let span = ix.vars[var].span;
        path.domains.push(Domain { atom, lo, hi, span });
    }
}

fn walk_items(
    ix: &mut Index,
    build: &Build,
    items: &mut [Item],
    path: &mut Path,
    visit: &mut dyn Visit,
) {
    for item in items {
        match item {
            Item::Let(var, e) => walk_let(ix, build, *var, e, path, visit),
            Item::Guard(e) => {
                walk_on(ix, build, e, path, visit);
                super::enter(ix, build, e, true, path);
            }
        }
    }
}

fn walk_let(
    ix: &mut Index,
    build: &Build,
    var: VarId,
    e: &mut Expr,
    path: &mut Path,
    visit: &mut dyn Visit,
) {
    walk_on(ix, build, e, path, visit);
    visit.bound(ix, build, var, e);
    if e.ty == Type::BOOL || is_integer(&e.ty) && !ix.var_sizes.contains_key(&var) {
        path.named.push((var, e.clone()));
    }
    // The variable and what it is bound to are one atom.
    if is_integer(&e.ty)
        && let Some(atom) = ix.var_sizes.get(&var).and_then(size::Expr::as_atom)
        && ix.atoms[atom].def == AtomDef::Var(var)
    {
        let value = peel(e);
        let own = size::Expr::atom(atom);
        match path.opaque.atom(value) {
            Some(other) => path.facts.eq(&own, &size::Expr::atom(other)),
            None => path.opaque.push(value.clone(), atom),
        }
    }
}

fn generate(ix: &mut Index, build: &Build, pattern: &Pattern, e: &Expr, path: &mut Path) {
    match (pattern, &*e.kind) {
        (Pattern::Bind(var), ExprKind::Range(lo, hi)) => bind_on(ix, build, *var, lo, hi, path),
        _ => path.exact = false,
    }
}
