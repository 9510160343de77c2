//! `reduce` and `scan` along the leading axis: a recurrence over its positions.
//!
//! `scan(op, zero, a)` is `s[0] = op(zero, a[0]); s[t in 1..n] = op(s[t - 1], a[t])`, and
//! `reduce(op, zero, a)` its last row, or `zero` if there is none.

use super::{
    Cx, Declared, builtin, call, coerce, error, expr, layouts, pointwise, stmt, vars, widen,
};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{
    Axis, Binder, Bounds, Clause, ClauseSlot, Expr, ExprKind, Recurrence, RecurrenceAxis, Tensor,
    Type,
};

pub(super) fn fold_recurrence(
    cx: &mut Cx,
    keep_all: bool,
    op: Expr,
    zero: Expr,
    array: Expr,
    span: Span,
) -> Expr {
    let name = if keep_all { "scan" } else { "reduce" };
    if !array.ty.is_array() {
        return builtin::arrays::needs_array(&cx.ix, &mut cx.report, name, &array, span);
    }
    match &op.ty {
        Type::Template(..) => {}
        Type::Signature(of) if of.params.len() == 2 => {}
        Type::Signature(of) => {
            let d = error(
                Code::E0508,
                op.span,
                format!("`{name}` needs a function of 2 arguments, not of {}", of.params.len()),
            )
            .here(format!("this is `{}`", cx.ix.show(&op.ty)))
            .help("the first argument is what there is so far, the second the next element");
            return cx.report.fail(d);
        }
        _ => return builtin::arrays::needs_array(&cx.ix, &mut cx.report, name, &op, span),
    }
    let array = expr::settle_expr(&mut cx.ix, &mut cx.build, array);
    let array = vars::atomise(&mut cx.ix, &mut cx.build, array);
    let zero = vars::atomise(&mut cx.ix, &mut cx.build, zero);
    let op = vars::atomise(&mut cx.ix, &mut cx.build, op);
    let length = array.ty.axes()[0].size.clone();
    let cell = stmt::without_axes(&array.ty, 1);
    // One more row than elements: the first one holds `zero`.
    let axis = Axis::anonymous(length.offset(1));
    let ty = Type::array(cell.clone(), vec![axis]);
    let self_var = cx.ix.new_local(Symbol::intern("$fold"), span, ty.clone());
    let index = cx.ix.new_index(Name { sym: Symbol::intern("$0"), span }, Declared::Any);
    let (var, atom) = (cx.ix.indices[index].var, cx.ix.indices[index].atom);
    let before = size::Expr::atom(atom).offset(-1);
    cx.ix.f.loops += 1;
    let step = vars::scoped(cx, |cx| {
        let earlier = cx.ix.var_expr(self_var, span);
        let at = Expr::size(before.clone(), span);
        let state = expr::read(earlier, vec![at.clone()], Bounds::Proved, span);
        let item = expr::read(array.clone(), vec![at], Bounds::Proved, span);
        call::apply_value(cx, op, vec![state, item], span)
    });
    cx.ix.f.loops -= 1;
    if step.ty.has_error() {
        return Expr::error(span);
    }
    let zero = expect_cell(cx, zero, &cell, span);
    let step = coerce::expect_type(cx, step, &cell, "the result of the operation");
    if step.ty.has_error() || zero.ty.has_error() {
        return Expr::error(span);
    }
    let what = format!("a cell of {}", cx.ix.quote(&array));
    let fits = |value| layouts::holds_names(&cx.ix, &mut cx.report, value, cell.axes(), &what);
    if ![&zero, &step].into_iter().all(fits) {
        return Expr::error(span);
    }
    let clause = |slot, value| Clause {
        slots: vec![slot],
        items: Vec::new(),
        value,
        otherwise: None,
        until: None,
        span,
    };
    let binder = Binder { var, lo: Expr::int(1, span), hi: Expr::size(length.offset(1), span) };
    let tensor = Tensor {
        name: None,
        self_var: Some(self_var),
        shape: vec![Some(length.offset(1))],
        inner_rank: cell.rank(),
        clauses: vec![clause(ClauseSlot::Point(0), zero), clause(ClauseSlot::Loop(binder), step)],
        recurrence: Some(Box::new(Recurrence {
            axes: vec![RecurrenceAxis { axis: 0, backward: false }],
            lookback: Some(1),
            adjoint: false,
        })),
        requires: Vec::new(),
    };
    let all = Expr::new(ExprKind::Tensor(tensor), ty, span);
    if !keep_all {
        return expr::read(all, vec![Expr::size(length, span)], Bounds::Proved, span);
    }
    let mut axes = vec![Axis { coord: array.ty.axes()[0].coord, size: length.clone() }];
    axes.extend(cell.axes().iter().cloned());
    let ty = Type::array(cell.elem().clone(), axes);
    let lo = Some(Expr::int(1, span));
    Expr::new(ExprKind::Slice { base: all, axis: 0, lo, hi: None }, ty, span)
}

/// A scalar start value in the shape of a row.
fn expect_cell(cx: &mut Cx, zero: Expr, cell: &Type, span: Span) -> Expr {
    let zero = match (zero.ty.scalar(), cell.scalar()) {
        (Some(from), Some(to)) if super::widen::holds(to, from) => {
            widen::widen(&mut cx.ix, &mut cx.build, &mut cx.report, zero, to)
        }
        _ => zero,
    };
    if zero.ty.rank() == 0 && cell.rank() > 0 && coerce::same_kind(&zero.ty, cell.elem()) {
        let Cx { ix, build, .. } = cx;
        return pointwise::tabulate(ix, build, cell.axes().to_vec(), span, |_, _, _| zero);
    }
    coerce::expect_type(cx, zero, cell, "the start value")
}
