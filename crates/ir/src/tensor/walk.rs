//! The one way to reach the parts of an expression: direct children, in evaluation order, the
//! domains of binders included. Passes that need more context match on the kinds they care about
//! and leave the rest to these.

use super::{
    Binder, Clause, ClauseSlot, CompClause, Derivative, Expr, ExprKind, Item, Require, Stmt,
    StmtKind, Type,
};
use crate::size;

/// Calls `f` on every direct child of an expression.
pub fn each_child<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a Expr)) {
    match &*e.kind {
        ExprKind::Const(_)
        | ExprKind::Str(_)
        | ExprKind::Unit
        | ExprKind::Var(_)
        | ExprKind::Size(_)
        | ExprKind::Error => {}
        ExprKind::Unary(_, a)
        | ExprKind::Cast(a)
        | ExprKind::TupleGet(a, _)
        | ExprKind::FieldGet(a, _)
        | ExprKind::Try(a)
        | ExprKind::Permute { base: a, .. }
        | ExprKind::Specialise { value: a, .. }
        | ExprKind::Assert { value: a, .. }
        | ExprKind::Derivative(Derivative::Tangent(a)) => f(a),
        ExprKind::Binary(_, a, b)
        | ExprKind::And(a, b)
        | ExprKind::Or(a, b)
        | ExprKind::Range(a, b)
        | ExprKind::Join { left: a, right: b, .. }
        | ExprKind::Gather { base: a, indices: b, .. }
        | ExprKind::Derivative(Derivative::Quotient { target: a, parameter: b }) => {
            f(a);
            f(b);
        }
        ExprKind::Derivative(Derivative::Product { target, parameter, direction, .. }) => {
            f(target);
            f(parameter);
            f(direction);
        }
        ExprKind::If { cond, then, otherwise } => {
            f(cond);
            f(then);
            f(otherwise);
        }
        ExprKind::Block { stmts, value } => {
            stmts.iter().for_each(|stmt| each_in_stmt(stmt, f));
            f(value);
        }
        ExprKind::Match { value, arms } => {
            f(value);
            for arm in arms {
                arm.guard.iter().for_each(&mut *f);
                f(&arm.value);
            }
        }
        ExprKind::Tensor(tensor) => {
            tensor.clauses.iter().for_each(|clause| each_in_clause(clause, f));
        }
        ExprKind::Reduce(reduce) => {
            reduce.binders.iter().for_each(|binder| each_in_binder(binder, f));
            reduce.items.iter().for_each(|item| each_in_item(item, f));
            f(&reduce.value);
        }
        ExprKind::Scatter(scatter) => {
            scatter.binders.iter().for_each(|binder| each_in_binder(binder, f));
            scatter.items.iter().for_each(|item| each_in_item(item, f));
            scatter.indices.iter().for_each(|index| f(&index.value));
            f(&scatter.value);
        }
        ExprKind::Index { base, indices } => {
            f(base);
            indices.iter().for_each(|index| f(&index.value));
        }
        ExprKind::Slice { base, lo, hi, .. } => {
            f(base);
            lo.iter().chain(hi).for_each(f);
        }
        ExprKind::Array(items)
        | ExprKind::Tuple(items)
        | ExprKind::Make { fields: items, .. }
        | ExprKind::Closure { captures: items, .. }
        | ExprKind::Host(_, items) => items.iter().for_each(f),
        ExprKind::Comprehension { clauses, body } => {
            for clause in clauses {
                match clause {
                    CompClause::Generator(_, e)
                    | CompClause::Condition(e)
                    | CompClause::Binding(_, e) => f(e),
                }
            }
            f(body);
        }
        ExprKind::Call { closure, args, .. } => {
            closure.iter().for_each(&mut *f);
            args.iter().for_each(f);
        }
        ExprKind::CallValue { callee, args } => {
            f(callee);
            args.iter().for_each(f);
        }
    }
}

/// Calls `f` on every size in an expression, in its type and in what is inside of it.
pub fn each_size<'a>(e: &'a Expr, f: &mut dyn FnMut(&'a size::Expr)) {
    let compared = |requires: &'a [Require], f: &mut dyn FnMut(&'a size::Expr)| {
        requires.iter().flat_map(|it| [&it.left, &it.right]).for_each(f);
    };
    match &*e.kind {
        ExprKind::Size(size) => f(size),
        ExprKind::Call { sizes, .. } => sizes.iter().for_each(&mut *f),
        ExprKind::Assert { extents, .. } => extents.iter().flatten().for_each(&mut *f),
        ExprKind::Tensor(tensor) => {
            tensor.shape.iter().flatten().for_each(&mut *f);
            compared(&tensor.requires, f);
        }
        ExprKind::Reduce(reduce) => compared(&reduce.requires, f),
        ExprKind::Scatter(scatter) => scatter.shape.iter().for_each(&mut *f),
        ExprKind::Block { stmts, .. } => {
            for stmt in stmts {
                if let StmtKind::Require(require) = &stmt.kind {
                    [&require.left, &require.right].into_iter().for_each(&mut *f);
                }
            }
        }
        ExprKind::Const(_)
        | ExprKind::Str(_)
        | ExprKind::Unit
        | ExprKind::Var(_)
        | ExprKind::Error
        | ExprKind::Unary(..)
        | ExprKind::Cast(_)
        | ExprKind::TupleGet(..)
        | ExprKind::FieldGet(..)
        | ExprKind::Try(_)
        | ExprKind::Permute { .. }
        | ExprKind::Specialise { .. }
        | ExprKind::Derivative(_)
        | ExprKind::Binary(..)
        | ExprKind::And(..)
        | ExprKind::Or(..)
        | ExprKind::Range(..)
        | ExprKind::Join { .. }
        | ExprKind::Gather { .. }
        | ExprKind::If { .. }
        | ExprKind::Match { .. }
        | ExprKind::Index { .. }
        | ExprKind::Slice { .. }
        | ExprKind::Array(_)
        | ExprKind::Tuple(_)
        | ExprKind::Make { .. }
        | ExprKind::Closure { .. }
        | ExprKind::Host(..)
        | ExprKind::Comprehension { .. }
        | ExprKind::CallValue { .. } => {}
    }
    each_size_of_type(&e.ty, f);
    each_child(e, &mut |child| each_size(child, f));
}

/// Calls `f` on every size in a type.
fn each_size_of_type<'a>(ty: &'a Type, f: &mut dyn FnMut(&'a size::Expr)) {
    match ty {
        Type::Unit | Type::Scalar(_) | Type::Str | Type::Range | Type::Error => {}
        Type::Array(array) => {
            array.axes.iter().for_each(|axis| f(&axis.size));
            each_size_of_type(&array.elem, f);
        }
        Type::AnyRank(elem) | Type::Jagged(elem, _) => each_size_of_type(elem, f),
        Type::Tuple(parts) | Type::Data(_, parts) | Type::Template(_, parts) => {
            parts.iter().for_each(|part| each_size_of_type(part, f));
        }
        Type::Signature(signature) => {
            let parts = signature.params.iter().chain([&signature.ret]);
            parts.for_each(|part| each_size_of_type(part, f));
        }
    }
}

/// Calls `f` on every expression of a statement.
pub fn each_in_stmt<'a>(stmt: &'a Stmt, f: &mut dyn FnMut(&'a Expr)) {
    match &stmt.kind {
        StmtKind::Let(_, e) | StmtKind::Destructure(_, e) | StmtKind::Expr(e) => f(e),
        StmtKind::Require(_) => {}
    }
}

/// Calls `f` on every expression of a clause.
pub fn each_in_clause<'a>(clause: &'a Clause, f: &mut dyn FnMut(&'a Expr)) {
    for slot in &clause.slots {
        if let ClauseSlot::Loop(binder) = slot {
            each_in_binder(binder, f);
        }
    }
    clause.items.iter().for_each(|item| each_in_item(item, f));
    f(&clause.value);
    clause.otherwise.iter().for_each(&mut *f);
    if let Some(until) = &clause.until {
        f(&until.cond);
        until.otherwise.iter().for_each(f);
    }
}

fn each_in_binder<'a>(binder: &'a Binder, f: &mut dyn FnMut(&'a Expr)) {
    f(&binder.lo);
    f(&binder.hi);
}

fn each_in_item<'a>(item: &'a Item, f: &mut dyn FnMut(&'a Expr)) {
    match item {
        Item::Let(_, e) | Item::Guard(e) => f(e),
    }
}

/// Calls `f` on every direct child of an expression, for change.
pub fn each_child_mut(e: &mut Expr, f: &mut dyn FnMut(&mut Expr)) {
    match &mut *e.kind {
        ExprKind::Const(_)
        | ExprKind::Str(_)
        | ExprKind::Unit
        | ExprKind::Var(_)
        | ExprKind::Size(_)
        | ExprKind::Error => {}
        ExprKind::Unary(_, a)
        | ExprKind::Cast(a)
        | ExprKind::TupleGet(a, _)
        | ExprKind::FieldGet(a, _)
        | ExprKind::Try(a)
        | ExprKind::Permute { base: a, .. }
        | ExprKind::Specialise { value: a, .. }
        | ExprKind::Assert { value: a, .. }
        | ExprKind::Derivative(Derivative::Tangent(a)) => f(a),
        ExprKind::Binary(_, a, b)
        | ExprKind::And(a, b)
        | ExprKind::Or(a, b)
        | ExprKind::Range(a, b)
        | ExprKind::Join { left: a, right: b, .. }
        | ExprKind::Gather { base: a, indices: b, .. }
        | ExprKind::Derivative(Derivative::Quotient { target: a, parameter: b }) => {
            f(a);
            f(b);
        }
        ExprKind::Derivative(Derivative::Product { target, parameter, direction, .. }) => {
            f(target);
            f(parameter);
            f(direction);
        }
        ExprKind::If { cond, then, otherwise } => {
            f(cond);
            f(then);
            f(otherwise);
        }
        ExprKind::Block { stmts, value } => {
            stmts.iter_mut().for_each(|stmt| each_in_stmt_mut(stmt, f));
            f(value);
        }
        ExprKind::Match { value, arms } => {
            f(value);
            for arm in arms {
                arm.guard.iter_mut().for_each(&mut *f);
                f(&mut arm.value);
            }
        }
        ExprKind::Tensor(tensor) => {
            tensor.clauses.iter_mut().for_each(|clause| each_in_clause_mut(clause, f));
        }
        ExprKind::Reduce(reduce) => {
            for binder in &mut reduce.binders {
                f(&mut binder.lo);
                f(&mut binder.hi);
            }
            reduce.items.iter_mut().for_each(|item| each_in_item_mut(item, f));
            f(&mut reduce.value);
        }
        ExprKind::Scatter(scatter) => {
            for binder in &mut scatter.binders {
                f(&mut binder.lo);
                f(&mut binder.hi);
            }
            scatter.items.iter_mut().for_each(|item| each_in_item_mut(item, f));
            scatter.indices.iter_mut().for_each(|index| f(&mut index.value));
            f(&mut scatter.value);
        }
        ExprKind::Index { base, indices } => {
            f(base);
            indices.iter_mut().for_each(|index| f(&mut index.value));
        }
        ExprKind::Slice { base, lo, hi, .. } => {
            f(base);
            lo.iter_mut().chain(hi).for_each(f);
        }
        ExprKind::Array(items)
        | ExprKind::Tuple(items)
        | ExprKind::Make { fields: items, .. }
        | ExprKind::Closure { captures: items, .. }
        | ExprKind::Host(_, items) => items.iter_mut().for_each(f),
        ExprKind::Comprehension { clauses, body } => {
            for clause in clauses {
                match clause {
                    CompClause::Generator(_, e)
                    | CompClause::Condition(e)
                    | CompClause::Binding(_, e) => f(e),
                }
            }
            f(body);
        }
        ExprKind::Call { closure, args, .. } => {
            closure.iter_mut().for_each(&mut *f);
            args.iter_mut().for_each(f);
        }
        ExprKind::CallValue { callee, args } => {
            f(callee);
            args.iter_mut().for_each(f);
        }
    }
}

/// Calls `f` on every expression of a statement, for change.
pub fn each_in_stmt_mut(stmt: &mut Stmt, f: &mut dyn FnMut(&mut Expr)) {
    match &mut stmt.kind {
        StmtKind::Let(_, e) | StmtKind::Destructure(_, e) | StmtKind::Expr(e) => f(e),
        StmtKind::Require(_) => {}
    }
}

/// Calls `f` on every expression of a clause, for change.
pub fn each_in_clause_mut(clause: &mut Clause, f: &mut dyn FnMut(&mut Expr)) {
    for slot in &mut clause.slots {
        if let ClauseSlot::Loop(binder) = slot {
            f(&mut binder.lo);
            f(&mut binder.hi);
        }
    }
    clause.items.iter_mut().for_each(|item| each_in_item_mut(item, f));
    f(&mut clause.value);
    clause.otherwise.iter_mut().for_each(&mut *f);
    if let Some(until) = &mut clause.until {
        f(&mut until.cond);
        until.otherwise.iter_mut().for_each(f);
    }
}

fn each_in_item_mut(item: &mut Item, f: &mut dyn FnMut(&mut Expr)) {
    match item {
        Item::Let(_, e) | Item::Guard(e) => f(e),
    }
}

/// Whether a test holds for an expression or for one inside it.
pub fn any(e: &Expr, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
    if test(e) {
        return true;
    }
    let mut found = false;
    each_child(e, &mut |child| found = found || any(child, test));
    found
}
