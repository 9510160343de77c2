//! What is left of arrays of states once their numbers are read.

use ein_ir::tensor::walk::{any, each_child_mut, each_in_stmt_mut};
use ein_ir::tensor::{AtomDef, Bounds, Expr, ExprKind, Program, Stmt, StmtKind, Type, VarId};
use ein_scalar::BinaryOp;
use rustc_hash::FxHashSet;

/// Drops arrays of states that nobody looks at: what was read of them is read of their numbers.
pub fn forget(program: &mut Program) {
    let mut read: FxHashSet<VarId> = program.outputs.iter().copied().collect();
    let mut note = |e: &Expr| {
        any(e, &mut |e| {
            if let ExprKind::Var(var) = &*e.kind {
                read.insert(*var);
            }
            false
        });
    };
    program.funcs.iter().for_each(|func| note(&func.body));
    for stmt in &program.top {
        ein_ir::tensor::walk::each_in_stmt(stmt, &mut note);
    }
    for atom in program.atoms.iter() {
        if let AtomDef::Extent(var, _) = atom.def {
            read.insert(var);
        }
    }
    program.funcs.iter_mut().for_each(|func| inside(&mut func.body, &read));
    program.top.iter_mut().for_each(|stmt| each_in_stmt_mut(stmt, &mut |e| inside(e, &read)));
    program.top.retain(|stmt| is_kept(stmt, &read));
}

fn inside(e: &mut Expr, read: &FxHashSet<VarId>) {
    if let ExprKind::Block { stmts, .. } = &mut *e.kind {
        stmts.retain(|stmt| is_kept(stmt, read));
    }
    each_child_mut(e, &mut |child| inside(child, read));
}

fn is_kept(stmt: &Stmt, read: &FxHashSet<VarId>) -> bool {
    match &stmt.kind {
        StmtKind::Let(var, value) => read.contains(var) || !puts_together(value),
        StmtKind::Destructure(..) | StmtKind::Expr(_) | StmtKind::Require(_) => true,
    }
}

/// Whether a value is an array of states made of numbers, as [`super::run`] leaves it.
fn puts_together(value: &Expr) -> bool {
    let ExprKind::Tensor(tensor) = &*value.kind else { return false };
    let state = matches!(value.ty.elem(), Type::Tuple(_) | Type::Data(..));
    let [clause] = tensor.clauses.as_slice() else { return false };
    state
        && tensor.self_var.is_none()
        && !any(&clause.value, &mut |e| match &*e.kind {
            ExprKind::Index { indices, .. } => {
                indices.iter().any(|index| index.bounds != Bounds::Proved)
            }
            ExprKind::Make { .. }
            | ExprKind::Tuple(_)
            | ExprKind::Var(_)
            | ExprKind::Const(_)
            | ExprKind::Size(_)
            | ExprKind::Cast(_)
            | ExprKind::If { .. }
            | ExprKind::Binary(BinaryOp::Ne, ..)
            | ExprKind::Slice { .. }
            | ExprKind::Permute { .. }
            | ExprKind::Tensor(_) => false,
            _ => true,
        })
}
