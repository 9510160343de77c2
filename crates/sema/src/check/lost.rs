//! Nothing is lost in silence.

use super::error;
use ein_base::{Code, Diagnostic, Span};
use ein_ir::tensor::walk::{any, each_in_stmt};
use ein_ir::tensor::{Expr, ExprKind, Program};

/// What is wrong with a program in which no mistake was found, and yet something came to nothing:
/// a value whose type arguments nothing gives was used where they matter.
pub fn lost(program: &Program) -> Option<Diagnostic> {
    let mut found = None;
    for stmt in &program.top {
        each_in_stmt(stmt, &mut |e| found = found.or_else(|| lost_in(e)));
    }
    let mut bodies = program.funcs.iter().map(|func| &func.body);
    let span = found.or_else(|| bodies.find_map(lost_in))?;
    let message = "the type of a value that is used here is not known";
    let d = error(Code::E0516, span, message)
        .here("something here has type arguments that nothing gives")
        .help("write the type of the value: `let x: Option<f32> = Option::None;`");
    Some(d)
}

/// The first part of an expression that came to nothing.
fn lost_in(e: &Expr) -> Option<Span> {
    let mut found = None;
    any(e, &mut |e| {
        if matches!(*e.kind, ExprKind::Error) || e.ty.is_broken() {
            found = Some(e.span);
        }
        found.is_some()
    });
    found
}
