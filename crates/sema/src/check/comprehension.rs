//! Comprehensions: loops that collect.

use super::state::Index;
use super::{Cx, error, expr, host, literal, pattern, ragged, stmt, vars};
use crate::hir::{self, ExprId};
use ein_base::{Code, Span};
use ein_ir::size;
use ein_ir::tensor::{Axis, CompClause, Expr, ExprKind, Pattern, Type, VarId};

/// The state of a comprehension being checked.
struct Draft {
    /// What its clauses bind.
    bound: Vec<VarId>,
    /// How many elements there are, as long as that can be said before it runs.
    count: Option<size::Expr>,
    broken: bool,
}

/// `[e | x in xs, cond, z = x * y]`
pub(super) fn comprehension(
    cx: &mut Cx,
    body: ExprId,
    clauses: &[hir::CompClause],
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let facts = cx.ix.f.facts.len();
    let extents = cx.ix.f.extents.len();
    let mut draft = Draft { bound: Vec::new(), count: Some(size::Expr::one()), broken: false };
    let mut checked = Vec::new();
    for clause in clauses {
        let clause = match clause {
            hir::CompClause::Generator(pat, source) => {
                generator(cx, pat, *source, want, &mut draft)
            }
            hir::CompClause::Condition(cond) => {
                draft.count = None;
                let cond = vars::scoped(cx, |cx| {
                    expr::condition(cx, *cond, "a condition of a comprehension")
                });
                cx.ix.assume_here(&cond, true);
                CompClause::Condition(cond)
            }
            hir::CompClause::Binding(local, value) => {
                let want = literal::wanted_of_name(cx.hir, *value, want);
                let value = vars::scoped(cx, |cx| expr::expr(cx, *value, want.as_ref()));
                let name = cx.hir.locals[*local].name;
                let var = cx.ix.new_var(name.sym, name.span, value.ty.clone());
                let ty = cx.ix.settle_type(var, value.ty.clone());
                cx.ix.size_variable(var, Some(&value), true);
                cx.ix.note_address(var, &value);
                let deps = cx.ix.index_deps(&value);
                cx.ix.var_deps.insert(var, deps);
                stmt::declare(cx, *local, var, &ty);
                draft.bound.push(var);
                CompClause::Binding(var, value)
            }
        };
        checked.push(clause);
    }
    let row = want.map(host::wanted_row);
    let body = vars::scoped(cx, |cx| expr::expr(cx, body, row.as_ref()));
    cx.ix.f.facts.truncate(facts);
    cx.ix.f.extents.truncate(extents);
    if body.ty == Type::Error || draft.broken {
        return Expr::error(span);
    }
    let (body, ty) = collected(&mut cx.ix, body, &draft, want);
    Expr::new(ExprKind::Comprehension { clauses: checked, body }, ty, span)
}

/// `x in xs`
fn generator(
    cx: &mut Cx,
    pat: &hir::Pat,
    source: ExprId,
    want: Option<&Type>,
    draft: &mut Draft,
) -> CompClause {
    let want = literal::wanted_of_name(cx.hir, source, want);
    let source = if draft.bound.is_empty() {
        // It is evaluated once, so its extents may be those of a variable.
        let source = expr::expr(cx, source, want.as_ref());
        expr::settle_expr(&mut cx.ix, &mut cx.build, source)
    } else {
        vars::scoped(cx, |cx| expr::expr(cx, source, want.as_ref()))
    };
    let Some(row) = pattern::row_type(&mut cx.ix, &source.ty) else {
        let have = cx.ix.show(&source.ty);
        let d = error(Code::E0520, source.span, format!("`{have}` cannot be iterated"))
            .here("not a range, an array or a text");
        let d = match &source.ty {
            Type::Scalar(ty) if ty.is_int() => {
                d.fix("count up to it: `0..n`", source.span.start(), "0..")
            }
            Type::AnyRank(_) => d.help("give it a rank: `… as [f32; ?]`"),
            Type::Tuple(_) => d.help("write an array instead of a tuple: `[a, b]`"),
            _ => d.help("a comprehension runs over ranges, arrays and texts: `x in 0..n`"),
        };
        cx.report.report_at(d);
        draft.broken = true;
        return CompClause::Generator(Pattern::Wild, source);
    };
    draft.broken |= row == Type::Error;
    let length =
        generated(&cx.ix, &source).filter(|length| !ragged::depends(&cx.ix, length, &draft.bound));
    draft.count = draft.count.take().zip(length).map(|(count, length)| count.mul(&length));
    let matched = pattern::match_pattern(cx, pat, &row, None);
    let deps = cx.ix.index_deps(&source);
    if !deps.is_empty() {
        for var in &matched.bound {
            cx.ix.var_deps.insert(*var, deps.clone());
        }
    }
    if let Pattern::Bind(var) = matched.pattern {
        cx.ix.note_address(var, &source);
        assume_generated(&mut cx.ix, var, &source);
    }
    draft.bound.extend(&matched.bound);
    CompClause::Generator(matched.pattern, source)
}

/// How many elements a generator gives.
fn generated(ix: &Index, source: &Expr) -> Option<size::Expr> {
    if let ExprKind::Range(lo, hi) = &*source.kind {
        let length = ix.to_size(hi)?.sub(&ix.to_size(lo)?);
        return Some(ix.greater(&length, &size::Expr::zero()));
    }
    let length = source.ty.axes().first()?.size.clone();
    ix.unsettled(&length).is_none().then_some(length)
}

/// The values of a range are in it.
fn assume_generated(ix: &mut Index, var: VarId, source: &Expr) {
    let ExprKind::Range(lo, hi) = &*source.kind else { return };
    let Some(value) = ix.var_sizes.get(&var).cloned() else { return };
    if let Some(lo) = ix.to_size(lo) {
        ix.f.facts.le(&lo, &value);
    }
    if let Some(hi) = ix.to_size(hi) {
        ix.f.facts.lt(&value, &hi);
    }
}

/// The body and the type of the whole: an array, or a jagged one if the bodies differ in
/// shape.
fn collected(ix: &mut Index, body: Expr, draft: &Draft, want: Option<&Type>) -> (Expr, Type) {
    let jagged = matches!(want, Some(Type::Jagged(..))) && body.ty.is_array();
    if jagged || matches!(body.ty, Type::Jagged(..)) || ragged::varies(ix, &body, &draft.bound) {
        return ragged::ragged_row(body);
    }
    let row = ix.forget_vars(body.ty.clone(), &|var| draft.bound.contains(&var));
    if let Type::AnyRank(elem) = row {
        return (body, Type::AnyRank(elem));
    }
    let size = match &draft.count {
        Some(count) => count.clone(),
        None => ix.unknown_size(false),
    };
    (body, Type::array(row, vec![Axis::anonymous(size)]))
}
