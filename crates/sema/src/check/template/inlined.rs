//! Closures that read a tensor whose clauses are being checked.
//!
//! Before:  `let s[t in 1..4] = (|c| s[t - 1] + c)(t);`
//! After:   `let s[t in 1..4] = { let c = t; s[t - 1] + c };`
//!
//! Such a tensor is no value yet that could be taken along: only the points that the body reads are
//! there. So the body is checked where it is called, where `causality` and `bounds` see its reads.

use super::Template;
use crate::check::state::{Index, Infer};
use crate::check::{Cx, close, define, error, stmt};
use crate::hir::{self, ExprId, ExprKind as H};
use ein_base::Code;
use ein_ir::tensor::{Expr, Stmt, StmtKind, Type};

/// Whether a closure, or one among what it captured, reads a tensor that is being defined.
pub(super) fn is_inlined(infer: &Infer, ix: &Index, closure: ExprId, captures: &[Type]) -> bool {
    if ix.defining.is_empty() {
        return false;
    }
    let inner = |ty: &Type| match ty {
        Type::Template(id, captures) => match infer.templates.get(*id as usize) {
            Some(Template::Closure(inner)) => is_inlined(infer, ix, *inner, captures),
            _ => false,
        },
        _ => false,
    };
    define::mentions(infer.hir, closure, &ix.defining) || captures.iter().any(inner)
}

/// A call of one: its parameters are bound here, and its body is checked here.
pub(super) fn call(cx: &mut Cx, closure: ExprId, args: Vec<Expr>, span: ein_base::Span) -> Expr {
    let hir = cx.hir;
    let node = &hir.exprs[closure];
    let H::Closure { params, body, captures } = &node.kind else { return Expr::error(span) };
    let here = captures.iter().all(|local| {
        hir.locals[*local].kind == hir::LocalKind::Size || cx.ix.f.env.contains_key(local)
    });
    let open = cx.ix.defining.iter().copied().find(|it| define::mentions(hir, closure, &[*it]));
    let known = open.is_none_or(|local| cx.ix.f.env.contains_key(&local));
    if !here || !known {
        let name =
            open.map_or_else(|| "a tensor".into(), |it| format!("`{}`", hir.locals[it].name));
        let message =
            format!("this closure reads {name}, which is being defined, and is called elsewhere");
        let d = error(Code::E0601, node.span, message)
            .here("is called outside of the clause that it stands in")
            .help("bind what it reads before it: `let before = s[t - 1];`");
        return cx.report.fail(d);
    }
    let outer = cx.ix.f.env.clone();
    for (param, arg) in params.iter().zip(args) {
        match &param.pat.kind {
            hir::PatKind::Bind(local, _) => {
                stmt::bind_local(cx, *local, arg);
            }
            _ => {
                let pattern = stmt::binding_pattern(cx, &param.pat, &arg.ty, param.span);
                let kind = StmtKind::Destructure(pattern, arg);
                cx.build.emit(Stmt { kind, span: param.span });
            }
        }
    }
    let value = close::open_value(cx, *body, None, None);
    cx.ix.f.env = outer;
    value
}
