//! Programs without their spans: what the text of tensor IR keeps.

use super::{Clause, Expr, ExprKind, Program, Require, Stmt, StmtKind, walk};
use ein_base::{FileId, Idx, Span};

/// The span of what came from no source.
pub fn nowhere() -> Span {
    Span::new(FileId::from_usize(0), 0, 0)
}

/// Whether two programs are equal up to the spans of their parts.
pub fn equal_without_spans(a: &Program, b: &Program) -> bool {
    let bare = |program: &Program| {
        let mut program = program.clone();
        erase_spans(&mut program);
        // Derived by the compiler from the structure itself, so that nothing can be forgotten.
        format!("{program:?}")
    };
    bare(a) == bare(b)
}

/// Makes every span empty, and forgets which files they pointed into.
pub fn erase_spans(program: &mut Program) {
    program.library.clear();
    program.vars.iter_mut().for_each(|var| var.span = nowhere());
    program.tests.iter_mut().for_each(|(_, span, _)| *span = nowhere());
    program.top.iter_mut().for_each(erase_stmt);
    for func in program.funcs.iter_mut() {
        func.span = nowhere();
        erase_expr(&mut func.body);
    }
}

fn erase_expr(e: &mut Expr) {
    e.span = nowhere();
    walk::each_child_mut(e, &mut erase_expr);
    match &mut *e.kind {
        ExprKind::Block { stmts, .. } => stmts.iter_mut().for_each(erase_stmt_own),
        ExprKind::Tensor(tensor) => {
            tensor.clauses.iter_mut().for_each(erase_clause);
            tensor.requires.iter_mut().for_each(erase_require);
        }
        ExprKind::Reduce(reduce) => reduce.requires.iter_mut().for_each(erase_require),
        _ => {}
    }
}

fn erase_clause(clause: &mut Clause) {
    clause.span = nowhere();
}

fn erase_require(require: &mut Require) {
    require.span = nowhere();
}

fn erase_stmt(stmt: &mut Stmt) {
    erase_stmt_own(stmt);
    walk::each_in_stmt_mut(stmt, &mut erase_expr);
}

/// The spans of a statement whose expressions are done already.
fn erase_stmt_own(stmt: &mut Stmt) {
    stmt.span = nowhere();
    if let StmtKind::Require(require) = &mut stmt.kind {
        erase_require(require);
    }
}
