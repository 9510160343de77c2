//! Rows of unequal lengths: a frame over cells whose sizes only the data decides.
//!
//! Before:  `each(m)` with `fn each(row: [f32; ?n]) -> some k. [f32; k]`, `m`: `[4, n]`
//! After:   `[each(m[i]) | i in 0..4]`, a jagged array of four rows
//!
//! Needs: a cell that is checked, and the index variables around it.
//! Limit: a call runs over the rows of one ragged argument; the others are the same for all rows.

use super::state::{Index, Report};
use super::symbolic::SizeRelation;
use super::{Cx, call, error, pointwise, vars};
use crate::hir::{self, CoordArg, DefId, DimKind, Function, TypeKind};
use ein_base::{Code, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::walk::any;
use ein_ir::tensor::{
    AtomDef, Axis, Binder, CompClause, Expr, ExprKind, HostOp, Pattern, ReduceOp, StmtKind, Type,
    VarId,
};

/// Whether a value differs in shape from one step of a loop to the next.
pub(super) fn varies(ix: &Index, value: &Expr, bound: &[VarId]) -> bool {
    value
        .ty
        .axes()
        .iter()
        .any(|axis| depends(ix, &axis.size, bound) || ix.unsettled(&axis.size) == Some(false))
        || unequal_choice(ix, value, &mut bound.to_vec()).is_some()
}

/// Two values of unequal shapes between which each step of a loop chooses anew. What is the
/// same for all steps may choose between any shapes.
fn unequal_choice<'e>(
    ix: &Index,
    value: &'e Expr,
    bound: &mut Vec<VarId>,
) -> Option<(&'e Expr, &'e Expr)> {
    if value.ty.rank() == 0 {
        return None;
    }
    match &*value.kind {
        ExprKind::Block { stmts, value } => {
            for stmt in stmts {
                match &stmt.kind {
                    StmtKind::Let(var, _) => bound.push(*var),
                    StmtKind::Destructure(pattern, _) => bound.extend(pattern.variables()),
                    StmtKind::Expr(_) | StmtKind::Require(_) => {}
                }
            }
            unequal_choice(ix, value, bound)
        }
        ExprKind::If { cond, then, otherwise } => {
            let anew = mentions_bound(ix, cond, bound);
            let differ = anew && differ_in_shape(ix, then, otherwise);
            differ
                .then_some((then, otherwise))
                .or_else(|| unequal_choice(ix, then, bound))
                .or_else(|| unequal_choice(ix, otherwise, bound))
        }
        ExprKind::Match { value, arms } => {
            let anew = mentions_bound(ix, value, bound);
            let (first, others) = arms.split_first()?;
            let other = others.iter().find(|it| differ_in_shape(ix, &first.value, &it.value));
            match other.filter(|_| anew) {
                Some(other) => Some((&first.value, &other.value)),
                None => arms.iter().find_map(|arm| unequal_choice(ix, &arm.value, bound)),
            }
        }
        _ => None,
    }
}

/// Whether a value reads what a loop binds.
fn mentions_bound(ix: &Index, value: &Expr, bound: &[VarId]) -> bool {
    any(value, &mut |e| match &*e.kind {
        ExprKind::Var(var) => bound.contains(var),
        ExprKind::Size(size) => depends(ix, size, bound),
        _ => false,
    })
}

fn differ_in_shape(ix: &Index, a: &Expr, b: &Expr) -> bool {
    let mut axes = a.ty.axes().iter().zip(b.ty.axes());
    axes.any(|(p, q)| ix.compare_sizes(&p.size, &q.size) == SizeRelation::Different)
}

/// Whether a size mentions what a loop binds.
pub(super) fn depends(ix: &Index, size: &size::Expr, bound: &[VarId]) -> bool {
    size.atoms().into_iter().any(|atom| match ix.atoms[atom].def {
        AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var) => bound.contains(&var),
        AtomDef::Unknown => false,
    })
}

/// A value as a row of a jagged array, and the type of the array.
pub(super) fn ragged_row(row: Expr) -> (Expr, Type) {
    if let Type::Jagged(elem, depth) = &row.ty {
        let ty = Type::Jagged(elem.clone(), depth + 1);
        return (row, ty);
    }
    let elem = Box::new(row.ty.elem().clone());
    let rank = row.ty.rank() as u32;
    let ty = Type::Jagged(elem.clone(), rank + 1);
    if rank == 1 {
        return (row, ty);
    }
    // The rows of a jagged array are jagged themselves.
    let span = row.span;
    let jagged = Type::Jagged(elem, rank);
    (Expr::new(ExprKind::Host(HostOp::Convert, vec![row]), jagged, span), ty)
}

/// A frame of cells that vary: collected one after the other, a level of rows for each axis.
pub(super) fn ragged_frame(frame: Vec<Binder>, cell: Expr, span: Span) -> Expr {
    let mut value = cell;
    for binder in frame.into_iter().rev() {
        let range = Expr::new(ExprKind::Range(binder.lo, binder.hi), Type::Range, span);
        let clauses = vec![CompClause::Generator(Pattern::Bind(binder.var), range)];
        let (body, ty) = ragged_row(value);
        value = Expr::new(ExprKind::Comprehension { clauses, body }, ty, span);
    }
    value
}

/// A definition is rectangular: says so if the values that its indices choose are not.
pub(super) fn ragged_cells(
    ix: &Index,
    report: &mut Report,
    name: Option<Symbol>,
    value: &Expr,
    bound: &[VarId],
) -> bool {
    if !varies(ix, value, bound) {
        return false;
    }
    let what = name.map_or("this definition".into(), |name| format!("`{name}`"));
    if let Some((a, b)) = unequal_choice(ix, value, &mut bound.to_vec()) {
        let (p, q) = (ix.show(&a.ty), ix.show(&b.ty));
        let message = format!("the values of {what} differ in shape: `{p}` and `{q}`");
        let d = error(Code::E0416, b.span, message)
            .here(format!("this is `{q}`"))
            .label(a.span, format!("this is `{p}`"))
            .note("an indexed definition is a rectangular array")
            .help("collect rows of unequal lengths with a comprehension: `[f(i) | i in 0..n]`");
        report.report_at(d);
        return true;
    }
    let d = error(
        Code::E0416,
        value.span,
        format!("the values of {what} have lengths that only the data decides"),
    )
    .here(format!("this is `{}`", ix.show(&value.ty)))
    .note("an indexed definition is a rectangular array")
    .help("collect rows of unequal lengths with a comprehension: `[f(i) | i in 0..n]`");
    report.report_at(d);
    true
}

/// The same for arrays that a reduction takes together.
pub(super) fn ragged_terms(
    ix: &Index,
    report: &mut Report,
    op: ReduceOp,
    value: &Expr,
    bound: &[VarId],
) -> bool {
    if !varies(ix, value, bound) {
        return false;
    }
    let message = format!("`{}` takes arrays of one shape together, and these differ", op.as_str());
    let d = error(Code::E0416, value.span, message)
        .here(format!("this is `{}`, and its index decides how long", ix.show(&value.ty)))
        .help(format!("reduce over the elements, too: `{}[i, k in 0..i](x[k])`", op.as_str()));
    report.report_at(d);
    true
}

/// A call on an array of ragged rows, where the function takes one row: once for each of them.
pub(super) fn apply_to_rows(
    cx: &mut Cx,
    def: DefId,
    function: &Function,
    coords: &[CoordArg],
    args: &[Expr],
    span: Span,
) -> Option<Expr> {
    let takes_row =
        |at: &usize| matches!(args[*at].ty, Type::Jagged(..)) && is_vector(&function.params[*at]);
    let at = (0..args.len()).find(takes_row)?;
    let mut args = args.to_vec();
    for arg in &mut args {
        *arg = vars::atomise(&mut cx.ix, &mut cx.build, arg.clone());
    }
    let ExprKind::Var(rows) = *args[at].kind else { return None };
    let name = Symbol::intern("rows");
    let count = size::Expr::atom(cx.ix.new_atom(name, AtomDef::Length(rows), true));
    cx.ix.f.facts.ge0(count.clone());
    let ty = match &args[at].ty {
        Type::Jagged(elem, 2) => {
            let open = Axis::anonymous(cx.ix.unknown_size(false));
            Type::array((**elem).clone(), vec![open])
        }
        Type::Jagged(elem, depth) => Type::Jagged(elem.clone(), depth - 1),
        _ => return None,
    };
    let axes = vec![Axis::anonymous(count)];
    let (table, indices) = pointwise::open_table(&mut cx.ix, &mut cx.build, axes, span);
    let row = ExprKind::Host(HostOp::ElementAt, vec![args[at].clone(), indices[0].clone()]);
    args[at] = Expr::new(row, ty, span);
    let value = call::apply(cx, def, function, coords, args, span);
    Some(pointwise::close_table(&mut cx.ix, &mut cx.build, table, value, span))
}

/// Whether a parameter is an array of one axis.
fn is_vector(param: &hir::Param) -> bool {
    match param.ty.as_deref() {
        Some(hir::Type { kind: TypeKind::Array { dims, .. }, .. }) => {
            matches!(**dims, [ref dim] if !matches!(dim.kind, DimKind::Pack(_)))
        }
        _ => false,
    }
}
