//! Operations on scalars, applied to whole arrays point by point.
//!
//! Before:  `a + b` with `a`, `b`: `[f32; n, m]`
//! After:   a definition over generated indices: `t[i, j] = a[i, j] + b[i, j]`

use super::state::{Build, Index, Report};
use super::symbolic::SizeRelation;
use super::{
    Cx, Declared, binary, coerce, error, expr, layouts, literal, ragged, show, vars, widen,
};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::{
    AtomDef, Axis, Binder, Bounds, Clause, ClauseSlot, Expr, ExprKind, Tensor, Type, VarId,
};

/// `==` on whole arrays: lengths that only the data knows are compared at run time.
pub(super) fn pointwise_equality(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    args: Vec<Expr>,
    span: Span,
    point: impl FnOnce(&Index, Vec<Expr>) -> Expr,
) -> Expr {
    let args: Vec<_> = args.into_iter().map(|arg| expr::settle_expr(ix, build, arg)).collect();
    if let [a, b] = args.as_slice()
        && a.ty.rank() == b.ty.rank()
    {
        for (p, q) in a.ty.axes().iter().zip(b.ty.axes()) {
            let hidden = |atom| matches!(ix.atoms[atom].def, AtomDef::Extent(..));
            if p.size.sub(&q.size).atoms().into_iter().any(hidden)
                && ix.compare_sizes(&p.size, &q.size) == SizeRelation::Different
            {
                let what = "the lengths of two arrays that are compared".to_string();
                coerce::require(ix, build, p.size.clone(), q.size.clone(), what, span);
            }
        }
    }
    pointwise(ix, build, report, args, span, point)
}

/// Applies a scalar operation to values that are scalars or arrays of one shape.
pub(super) fn pointwise(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    args: Vec<Expr>,
    span: Span,
    point: impl FnOnce(&Index, Vec<Expr>) -> Expr,
) -> Expr {
    if args.iter().any(|arg| arg.ty.is_broken()) {
        return Expr::error(span);
    }
    if args.iter().all(|arg| !arg.ty.is_array()) {
        return point(ix, args);
    }
    let args: Vec<_> = args.into_iter().map(|arg| expr::settle_expr(ix, build, arg)).collect();
    let Some(axes) = common_axes(ix, build, report, &args, span) else {
        return Expr::error(span);
    };
    let args: Vec<_> = args.into_iter().map(|arg| vars::atomise(ix, build, arg)).collect();
    tabulate(ix, build, axes, span, |ix, _, indices| {
        let points = args
            .into_iter()
            .map(|arg| {
                if arg.ty.is_array() {
                    expr::read(arg, indices.to_vec(), Bounds::Proved, span)
                } else {
                    arg
                }
            })
            .collect();
        point(ix, points)
    })
}

/// A tensor over generated indices, one per axis; rows of a jagged array if its cells vary.
pub(super) fn tabulate(
    ix: &mut Index,
    build: &mut Build,
    axes: Vec<Axis>,
    span: Span,
    cell: impl FnOnce(&mut Index, &mut Build, &[Expr]) -> Expr,
) -> Expr {
    let (table, indices) = open_table(ix, build, axes, span);
    let value = cell(ix, build, &indices);
    close_table(ix, build, table, value, span)
}

/// A tensor over generated indices whose cells are being made.
pub(super) struct Table {
    axes: Vec<Axis>,
    frame: Vec<Binder>,
    scope: vars::Scope,
}

/// Begins a tensor over generated indices, and gives them.
pub(super) fn open_table(
    ix: &mut Index,
    build: &mut Build,
    axes: Vec<Axis>,
    span: Span,
) -> (Table, Vec<Expr>) {
    let mut frame = Vec::new();
    let mut indices = Vec::new();
    for (position, axis) in axes.iter().enumerate() {
        let name =
            axis.coord.map_or_else(|| Symbol::intern(&format!("${position}")), |coord| coord.name);
        let index = ix.new_index(Name { sym: name, span }, Declared::Any);
        frame.push(full_binder(ix.indices[index].var, &axis.size, span));
        indices.push(ix.index_expr(index, span));
    }
    ix.f.loops += 1;
    let scope = vars::open_scope(ix, build);
    (Table { axes, frame, scope }, indices)
}

/// The tensor, with its cell.
pub(super) fn close_table(
    ix: &mut Index,
    build: &mut Build,
    table: Table,
    cell: Expr,
    span: Span,
) -> Expr {
    let Table { mut axes, frame, scope } = table;
    let mut value = vars::close_scope(ix, build, scope, cell);
    ix.f.loops -= 1;
    let bound: Vec<VarId> = frame.iter().map(|binder| binder.var).collect();
    if ragged::varies(ix, &value, &bound) || matches!(value.ty, Type::Jagged(..)) {
        return ragged::ragged_frame(frame, value, span);
    }
    let mut slots: Vec<ClauseSlot> = frame.into_iter().map(ClauseSlot::Loop).collect();
    // A frame over a frame is one frame.
    while let Some((inner, cell)) = one_clause(&value) {
        axes.extend_from_slice(&value.ty.axes()[..inner.len()]);
        slots.extend(inner);
        value = cell;
    }
    tensor(ix, None, axes, vec![(slots, value)], span)
}

/// A loop over all positions of an axis.
pub(super) fn full_binder(var: VarId, size: &size::Expr, span: Span) -> Binder {
    Binder { var, lo: Expr::int(0, span), hi: Expr::size(size.clone(), span) }
}

/// A tensor of the given axes from clauses without guards; array values append their axes.
pub(super) fn tensor(
    ix: &mut Index,
    name: Option<Symbol>,
    axes: Vec<Axis>,
    clauses: Vec<(Vec<ClauseSlot>, Expr)>,
    span: Span,
) -> Expr {
    let value_ty = clauses.first().map_or(Type::Error, |(_, value)| value.ty.clone());
    if value_ty.is_broken() {
        return Expr::error(span);
    }
    let bound: Vec<VarId> = clauses
        .iter()
        .flat_map(|(slots, _)| slots)
        .filter_map(|slot| match slot {
            ClauseSlot::Loop(binder) => Some(binder.var),
            ClauseSlot::Point(_) => None,
        })
        .collect();
    let inner = ix.forget_vars(value_ty, &|var| bound.contains(&var));
    let shape = axes.iter().map(|axis| Some(axis.size.clone())).collect();
    let tensor = Tensor {
        name,
        self_var: None,
        shape,
        inner_rank: inner.rank(),
        clauses: clauses
            .into_iter()
            .map(|(slots, value)| Clause {
                slots,
                items: Vec::new(),
                value,
                otherwise: None,
                until: None,
                span,
            })
            .collect(),
        recurrence: None,
        requires: Vec::new(),
    };
    Expr::new(ExprKind::Tensor(tensor), Type::array(inner, axes), span)
}

/// The axes that all array operands share.
fn common_axes(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    args: &[Expr],
    span: Span,
) -> Option<Vec<Axis>> {
    let arrays: Vec<&Expr> = args.iter().filter(|arg| arg.ty.is_array()).collect();
    let first = arrays.first()?;
    let mut axes = first.ty.axes().to_vec();
    for other in &arrays[1..] {
        if other.ty.rank() != axes.len() {
            different_ranks(ix, report, first, other, span);
            return None;
        }
        if !same_names(ix, report, first, other, span) {
            return None;
        }
        for (position, axis) in other.ty.axes().iter().enumerate() {
            match ix.compare_sizes(&axes[position].size, &axis.size) {
                SizeRelation::Equal => {}
                SizeRelation::AtRunTime => {
                    let what =
                        format!("axis {position} of {} and {}", ix.quote(first), ix.quote(other));
                    let (own, other) = (axes[position].size.clone(), axis.size.clone());
                    coerce::require(ix, build, own, other, what, span);
                }
                SizeRelation::Different => {
                    different_shapes(ix, report, first, other, position, span);
                    return None;
                }
            }
            if axes[position].coord.is_none() {
                axes[position].coord = axis.coord;
            }
        }
    }
    Some(axes)
}

/// Whole-array operators compare names as well as extents.
fn same_names(ix: &Index, report: &mut Report, a: &Expr, b: &Expr, span: Span) -> bool {
    if layouts::clashing_axis(ix, a.ty.axes(), b.ty.axes()).is_none() {
        return true;
    }
    let (x, y) = (show::show_coords(a.ty.axes()), show::show_coords(b.ty.axes()));
    let names: Vec<_> =
        a.ty.axes().iter().filter_map(|axis| axis.coord.map(|c| c.name.to_string())).collect();
    let others: Vec<_> =
        b.ty.axes().iter().filter_map(|axis| axis.coord.map(|c| c.name.to_string())).collect();
    let d = error(
        Code::E0311,
        span,
        format!("{} has the layout {x}, {} has {y}", ix.quote(a), ix.quote(b)),
    )
    .here("whole arrays are combined axis by axis, and these axes differ")
    .label(a.span, format!("layout {x}"))
    .label(b.span, format!("layout {y}"))
    .help(format!(
        "index both by name: `let r[{}] = {}[{}] … {}[{}];`",
        names.join(", "),
        ix.show_name(a).map_or("a".into(), |n| n.to_string()),
        names.join(", "),
        ix.show_name(b).map_or("b".into(), |n| n.to_string()),
        others.join(", "),
    ));
    report.report_at(d);
    false
}

fn different_ranks(ix: &Index, report: &mut Report, a: &Expr, b: &Expr, span: Span) {
    let (x, y) = (ix.quote(a), ix.quote(b));
    let letters = ["i", "j", "k", "l", "m", "n"];
    let index = |rank: usize, from: usize| {
        letters[..letters.len().min(from + rank)][from.min(letters.len())..].join(", ")
    };
    let (long, short) = if a.ty.rank() > b.ty.rank() { (a, b) } else { (b, a) };
    let d = error(
        Code::E0408,
        span,
        format!("{x} has rank {}, {y} has rank {}", a.ty.rank(), b.ty.rank()),
    )
    .here("an operator on whole arrays needs equal shapes")
    .label(a.span, format!("this is `{}`", ix.show(&a.ty)))
    .label(b.span, format!("this is `{}`", ix.show(&b.ty)))
    .help(format!(
        "say which axes belong together: `let r[{full}] = {long}[{full}] … {short}[{part}];`",
        full = index(long.ty.rank(), 0),
        part = index(short.ty.rank(), long.ty.rank() - short.ty.rank()),
        long = ix.show_name(long).map_or("a".into(), |n| n.to_string()),
        short = ix.show_name(short).map_or("b".into(), |n| n.to_string()),
    ));
    report.report_at(d);
}

fn different_shapes(
    ix: &Index,
    report: &mut Report,
    a: &Expr,
    b: &Expr,
    position: usize,
    span: Span,
) {
    let p = ix.show_size(&a.ty.axes()[position].size);
    let q = ix.show_size(&b.ty.axes()[position].size);
    let d = error(
        Code::E0408,
        span,
        format!("axis {position} of {} has extent {p}, of {} it has {q}", ix.quote(a), ix.quote(b)),
    )
    .here("an operator on whole arrays needs equal shapes")
    .label(a.span, format!("this is `{}`", ix.show(&a.ty)))
    .label(b.span, format!("this is `{}`", ix.show(&b.ty)))
    .help("index the arrays to say which elements belong together");
    report.report_at(d);
}

/// `if` with an array of `bool`: a choice point by point.
pub(super) fn select(
    cx: &mut Cx,
    cond: Expr,
    then: crate::hir::ExprId,
    otherwise: Option<crate::hir::ExprId>,
    want: Option<&Type>,
    span: Span,
) -> Expr {
    let Some(otherwise) = otherwise else {
        return cx.report.fail(
            error(Code::E0505, span, "an `if` on an array of `bool` needs an `else`")
                .here("selects element by element")
                .help("write the value for the other elements: `else { … }`"),
        );
    };
    let (x, y) = (literal::literal_class(cx.hir, then), literal::literal_class(cx.hir, otherwise));
    let (a, b) = match (x, y) {
        (Some(p), Some(q)) => {
            let ty = Type::Scalar(literal::literal_type(p.max(q), want));
            (expr::expr(cx, then, Some(&ty)), expr::expr(cx, otherwise, Some(&ty)))
        }
        (Some(_), None) => {
            let b = expr::expr(cx, otherwise, want);
            let hint = expr::branch::literal_hint(x, &b, want);
            (expr::expr(cx, then, hint.as_ref()), b)
        }
        (None, _) => {
            let a = expr::expr(cx, then, want);
            let hint = expr::branch::literal_hint(y, &a, want);
            (a, expr::expr(cx, otherwise, hint.as_ref().or(want)))
        }
    };
    if a.ty.has_error() || b.ty.has_error() {
        return Expr::error(span);
    }
    let meet = widen::meet(&cx.ix, &cx.build, &mut cx.report, &a, &b);
    if meet.is_none() && !coerce::same_kind(a.ty.elem(), b.ty.elem()) {
        let (p, q) = (cx.ix.show(&a.ty), cx.ix.show(&b.ty));
        let d = error(
            Code::E0505,
            b.span,
            format!("the branches of this `if` disagree: `{p}` and `{q}`"),
        )
        .here(format!("this is `{q}`"))
        .label(a.span, format!("this is `{p}`"))
        .help("make both branches values of one element type");
        let d = binary::numeric_help(&cx.ix, d, &a, &b);
        return cx.report.fail(d);
    }
    let elem = meet.map_or_else(|| a.ty.elem().clone(), Type::Scalar);
    pointwise(&mut cx.ix, &mut cx.build, &mut cx.report, vec![cond, a, b], span, |_, mut args| {
        let otherwise = args.pop().unwrap_or_else(|| Expr::error(span));
        let then = args.pop().unwrap_or_else(|| Expr::error(span));
        let cond = args.pop().unwrap_or_else(|| Expr::error(span));
        let (then, otherwise) = match meet {
            Some(to) => (super::widen::cast(then, to), super::widen::cast(otherwise, to)),
            None => (then, otherwise),
        };
        Expr::new(ExprKind::If { cond, then, otherwise }, elem, span)
    })
}

/// The loops and the value of a tensor that is one plain clause.
fn one_clause(value: &Expr) -> Option<(Vec<ClauseSlot>, Expr)> {
    let ExprKind::Tensor(tensor) = &*value.kind else { return None };
    let [clause] = tensor.clauses.as_slice() else { return None };
    let plain = tensor.self_var.is_none()
        && tensor.requires.is_empty()
        && clause.items.is_empty()
        && clause.otherwise.is_none()
        && clause.slots.iter().all(|slot| matches!(slot, ClauseSlot::Loop(_)));
    plain.then(|| (clause.slots.clone(), clause.value.clone()))
}
