//! Lifting: a call on arguments with extra axes happens once for each point of the frame.
//!
//! Before:  `dot(v, M)` with cells of rank 1, `v`: `[n]`, `M`: `[m, n]`
//! After:   a definition over the frame: `t[f] = dot(v, M[f])`

use super::matching::Cell;
use super::state::{Build, Index, Report};
use super::symbolic::SizeRelation;
use super::{Cx, coerce, error, expr, index, pointwise, vars};
use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::{Axis, Bounds, Expr, ExprKind};

/// Applies `build` to the cells of the arguments, over the frame that they share.
pub(super) fn lift(
    cx: &mut Cx,
    function: Symbol,
    args: Vec<Expr>,
    cells: &[Cell],
    span: Span,
    build: impl FnOnce(&mut Cx, Vec<Expr>) -> Expr,
) -> Expr {
    let Some(frame) =
        common_frame(&mut cx.ix, &mut cx.build, &mut cx.report, function, &args, cells, span)
    else {
        return Expr::error(span);
    };
    if frame.is_empty() {
        let args = args
            .into_iter()
            .zip(cells)
            .map(|(arg, cell)| index::permute(arg, cell.cell.clone(), span))
            .collect();
        return build(cx, args);
    }
    let args: Vec<(Expr, usize)> = args
        .into_iter()
        .zip(cells)
        .map(|(arg, cell)| {
            let arg =
                if is_cell(&arg) { arg } else { vars::atomise(&mut cx.ix, &mut cx.build, arg) };
            let mut order = cell.frame.clone();
            order.extend(&cell.cell);
            (index::permute(arg, order, span), cell.frame.len())
        })
        .collect();
    let (table, indices) = pointwise::open_table(&mut cx.ix, &mut cx.build, frame, span);
    let cells = args
        .into_iter()
        .map(|(arg, depth)| match depth {
            0 => arg,
            _ => read_cell(arg, &indices[..depth], span),
        })
        .collect();
    let value = build(cx, cells);
    pointwise::close_table(&mut cx.ix, &mut cx.build, table, value, span)
}

/// The cell of an argument at a point of the frame; a cell of a cell is one of the whole.
fn read_cell(arg: Expr, at: &[Expr], span: Span) -> Expr {
    let read = expr::read(arg.clone(), at.to_vec(), Bounds::Proved, span);
    match (*arg.kind, *read.kind) {
        (ExprKind::Index { base, mut indices }, ExprKind::Index { indices: more, .. }) => {
            indices.extend(more);
            Expr::new(ExprKind::Index { base, indices }, read.ty, span)
        }
        (_, kind) => Expr::new(kind, read.ty, span),
    }
}

/// The frame of which every argument's frame is a prefix.
fn common_frame(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    function: Symbol,
    args: &[Expr],
    cells: &[Cell],
    span: Span,
) -> Option<Vec<Axis>> {
    let axes_of = |at: usize| -> Vec<Axis> {
        cells[at].frame.iter().map(|axis| args[at].ty.axes()[*axis].clone()).collect()
    };
    if args.is_empty() {
        return Some(Vec::new());
    }
    let longest = (0..args.len()).max_by_key(|at| (cells[*at].frame.len(), usize::MAX - at))?;
    let mut frame = axes_of(longest);
    for at in 0..args.len() {
        if at == longest {
            continue;
        }
        for (position, axis) in axes_of(at).into_iter().enumerate() {
            let known = frame[position].clone();
            if let (Some(a), Some(b)) = (known.coord, axis.coord)
                && a.contract
                && b.contract
                && a.root() != b.root()
                && a.name != b.name
            {
                let d = error(
                    Code::E0409,
                    span,
                    format!(
                        "`{function}` is lifted over `{}` in one argument and over `{}` in another",
                        a.name, b.name
                    ),
                )
                .here("one call, one frame")
                .label(args[longest].span, format!("extra axis `{}`", a.name))
                .label(args[at].span, format!("extra axis `{}`", b.name))
                .help("the extra leading axes of all arguments must be the same");
                report.report_at(d);
                return None;
            }
            match ix.compare_sizes(&known.size, &axis.size) {
                SizeRelation::Equal => {}
                SizeRelation::AtRunTime => {
                    let what = format!("axis {position} of the frame of `{function}`");
                    coerce::require(ix, build, known.size.clone(), axis.size.clone(), what, span);
                }
                SizeRelation::Different => {
                    let (p, q) = (ix.show_size(&known.size), ix.show_size(&axis.size));
                    let d = error(
                            Code::E0409,
                            span,
                            format!(
                                "`{function}` is lifted over {p} positions in one argument and over {q} in another"
                            ),
                        )
                        .here("one call, one frame")
                        .label(args[longest].span, format!("extra axes of `{}`", ix.show(&args[longest].ty)))
                        .label(args[at].span, format!("extra axes of `{}`", ix.show(&args[at].ty)))
                        .help("one frame must be a prefix of the other: compare the leading axes");
                    report.report_at(d);
                    return None;
                }
            }
            if frame[position].coord.is_none() {
                frame[position].coord = axis.coord;
            }
        }
    }
    Some(frame)
}

/// Whether a value is a cell of a variable at a point of a frame: reading it again costs nothing.
fn is_cell(e: &Expr) -> bool {
    let ExprKind::Index { base, indices } = &*e.kind else { return false };
    matches!(*base.kind, ExprKind::Var(_))
        && indices.iter().all(|index| {
            index.bounds == Bounds::Proved && matches!(*index.value.kind, ExprKind::Var(_))
        })
}
