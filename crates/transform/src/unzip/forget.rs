//! What is left of arrays of states once their numbers are read.

use ein_ir::tensor::walk::any;
use ein_ir::tensor::{AtomDef, Bounds, Expr, ExprKind, Program, StmtKind, Type, VarId};
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
    program.top.retain(|stmt| match &stmt.kind {
        StmtKind::Let(var, value) => read.contains(var) || !puts_together(value),
        StmtKind::Destructure(..) | StmtKind::Expr(_) | StmtKind::Require(_) => true,
    });
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
