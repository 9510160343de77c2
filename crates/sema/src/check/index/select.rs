//! Reads of many positions: every so many of a range (`a[0..8; 2]`), and those at which an array of
//! truths holds (`a[a > 0.0]`).

use super::Part;
use crate::check::state::{Build, Index, Report};
use crate::check::{Cx, anonymous, builtin, coerce, error, expr, layouts, pointwise, vars};
use crate::hir::ExprId;
use ein_base::{Code, Span};
use ein_ir::size;
use ein_ir::tensor::{AtomDef, Axis, Bounds, Expr, ExprKind, Type};
use ein_scalar::BinaryOp;

/// `lo..hi; step`
pub(super) fn stepped_part(
    cx: &mut Cx,
    base: &Expr,
    position: usize,
    range: ExprId,
    step: ExprId,
) -> Option<Part> {
    let slice = super::part(cx, base, position, range)?;
    let step = expr::integer(cx, step, "the step of a slice");
    if step.ty.has_error() {
        return None;
    }
    match slice {
        Part::Slice(lo, hi) => Some(Part::Stepped(lo, hi, step)),
        Part::Point(_) | Part::Stepped(..) | Part::Gather(_) | Part::Mask(_) => None,
    }
}

/// Every so many positions of an axis: from the first for a positive step, from the last for a
/// negative one.
pub(super) fn every(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    value: Expr,
    axis: usize,
    step: Expr,
    span: Span,
) -> Expr {
    if value.ty.has_error() {
        return value;
    }
    let value = expr::settle_expr(ix, build, value);
    let extent = value.ty.axes()[axis].size.clone();
    let known = ix.to_size(&step).and_then(|step| step.as_constant());
    if known == Some(0) {
        let message = format!("the step of a slice of {} is 0", ix.quote(&value));
        let d = error(Code::E0403, step.span, message)
            .here("the next position would be the same one")
            .help("take a step of 1 or more, or a negative one to go backward");
        return report.fail(d);
    }
    let value = vars::atomise(ix, build, value);
    let (count, step) = match known {
        Some(step) => {
            let width = size::Expr::constant(step.saturating_abs());
            let count = extent.add(&width).offset(-1).div_floor(&width);
            (count, Step::Known(step))
        }
        None => run_time_step(ix, build, &extent, step, span),
    };
    let mut axes: Vec<Axis> = value.ty.axes().to_vec();
    axes[axis].size = count;
    let last = extent.offset(-1);
    pointwise::tabulate(ix, build, axes, span, |_, _, indices| {
        let mut at = indices.to_vec();
        at[axis] = stepped_index(at[axis].clone(), &step, last, span);
        expr::read(value, at, Bounds::Checked, span)
    })
}

/// The number of positions where only the run knows the step. A step of zero divides by zero.
fn run_time_step(
    ix: &mut Index,
    build: &mut Build,
    extent: &size::Expr,
    step: Expr,
    span: Span,
) -> (size::Expr, Step) {
    let step = crate::check::widen::cast(step, ein_scalar::ScalarType::I64);
    let step = vars::atomise(ix, build, step);
    let ty = step.ty.clone();
    let long = |value: i64| Expr::new(ExprKind::Const(value.into()), ty.clone(), span);
    let binary = |op, a, b| Expr::new(ExprKind::Binary(op, a, b), ty.clone(), span);
    let forward =
        Expr::new(ExprKind::Binary(BinaryOp::Gt, step.clone(), long(0)), Type::BOOL, span);
    let width = Expr::new(
        ExprKind::If {
            cond: forward.clone(),
            then: step.clone(),
            otherwise: binary(BinaryOp::Sub, long(0), step.clone()),
        },
        ty.clone(),
        span,
    );
    let width = vars::atomise(ix, build, width);
    let extent = Expr::new(ExprKind::Cast(Expr::size(extent.clone(), span)), ty.clone(), span);
    let reach = binary(BinaryOp::Sub, binary(BinaryOp::Add, extent, width.clone()), long(1));
    let count = binary(BinaryOp::Div, reach, width);
    let count = Expr::new(ExprKind::Cast(count), Type::I32, span);
    let var = vars::bind(ix, build, ein_base::Symbol::intern("count"), count);
    let atom = ix.new_atom(ein_base::Symbol::intern("count"), AtomDef::Var(var), false);
    let size = size::Expr::atom(atom);
    ix.var_sizes.insert(var, size.clone());
    ix.f.facts.ge0(size.clone());
    (size, Step::Computed { step, forward })
}

fn stepped_index(at: Expr, step: &Step, last: size::Expr, span: Span) -> Expr {
    let binary = |op, a, b| Expr::new(ExprKind::Binary(op, a, b), Type::I32, span);
    match step {
        Step::Known(step) if *step > 0 => match step {
            1 => at,
            _ => binary(BinaryOp::Mul, Expr::int(*step, span), at),
        },
        Step::Known(step) => {
            let back = binary(BinaryOp::Mul, Expr::int(step.saturating_neg(), span), at);
            binary(BinaryOp::Sub, Expr::size(last, span), back)
        }
        Step::Computed { step, forward } => {
            let step = Expr::new(ExprKind::Cast(step.clone()), Type::I32, span);
            let moved = binary(BinaryOp::Mul, step, at);
            let from = Expr::new(
                ExprKind::If {
                    cond: forward.clone(),
                    then: Expr::int(0, span),
                    otherwise: Expr::size(last, span),
                },
                Type::I32,
                span,
            );
            binary(BinaryOp::Add, from, moved)
        }
    }
}

/// The positions along an axis at which an array of truths holds.
pub(super) fn mask(cx: &mut Cx, value: Expr, axis: usize, mask: Expr, span: Span) -> Expr {
    if mask.ty.rank() != 1 {
        let have = cx.ix.show(&mask.ty);
        let d = error(
            Code::E0404,
            mask.span,
            format!("a mask for one axis has one axis, but this is `{have}`"),
        )
        .here(format!("this is `{have}`"))
        .help("a mask of several axes stands alone in the brackets: `a[mask]`");
        return cx.report.fail(d);
    }
    let value = expr::settle_expr(&mut cx.ix, &mut cx.build, value);
    let mask = expr::settle_expr(&mut cx.ix, &mut cx.build, mask);
    let rank = value.ty.rank();
    let front = super::permute_front(value, &[axis], span);
    let chosen = builtin::arrays::filter(cx, mask, front, span);
    if chosen.ty.has_error() {
        return chosen;
    }
    // The axis goes back to its place.
    let order = (0..rank).map(|at| match at.cmp(&axis) {
        std::cmp::Ordering::Less => at + 1,
        std::cmp::Ordering::Equal => 0,
        std::cmp::Ordering::Greater => at,
    });
    super::permute(chosen, order.collect(), span)
}

/// A mask over several leading axes: the elements (or rows) at which it holds, in order.
pub(super) fn mask_of_rank(cx: &mut Cx, value: Expr, mask: Expr, span: Span) -> Expr {
    let depth = mask.ty.rank();
    if depth > value.ty.rank() {
        let (have, of) = (cx.ix.show(&mask.ty), cx.ix.show(&value.ty));
        let d = error(
            Code::E0404,
            mask.span,
            format!("a mask has at most the axes of what it chooses from: `{have}` of `{of}`"),
        )
        .here(format!("this is `{have}`"))
        .help("compare the array itself: `a[a > 0.0]`");
        return cx.report.fail(d);
    }
    let value = expr::settle_expr(&mut cx.ix, &mut cx.build, value);
    let value = vars::atomise(&mut cx.ix, &mut cx.build, value);
    let mask = expr::settle_expr(&mut cx.ix, &mut cx.build, mask);
    let mask = vars::atomise(&mut cx.ix, &mut cx.build, mask);
    let leading: Vec<Axis> = value.ty.axes()[..depth].to_vec();
    if !fits_mask(&mut cx.ix, &mut cx.build, &mut cx.report, &value, &mask) {
        return Expr::error(span);
    }
    let value = flattened(&mut cx.ix, &mut cx.build, value, &leading, span);
    let mask = flattened(&mut cx.ix, &mut cx.build, mask, &leading, span);
    builtin::arrays::filter(cx, mask, value, span)
}

/// Whether a mask has the coordinates and the extents of the leading axes of what it chooses from.
pub(in crate::check) fn fits_mask(
    ix: &mut Index,
    build: &mut Build,
    report: &mut Report,
    value: &Expr,
    mask: &Expr,
) -> bool {
    let leading = value.ty.axes()[..mask.ty.rank()].to_vec();
    let chosen = Expr { ty: Type::array(Type::BOOL, leading), ..value.clone() };
    let reported = report.diagnostics.len();
    let what = "a mask and what it chooses from";
    layouts::agree_in_layout(ix, report, &chosen, mask, what) && {
        coerce::expect_sizes(ix, build, report, mask, &chosen.ty, "what it chooses from");
        report.diagnostics.len() == reported
    }
}

/// The leading axes of an array as one.
fn flattened(ix: &mut Index, build: &mut Build, value: Expr, leading: &[Axis], span: Span) -> Expr {
    let total = leading.iter().fold(size::Expr::one(), |all, axis| all.mul(&axis.size));
    let extents: Vec<size::Expr> = leading.iter().map(|axis| axis.size.clone()).collect();
    let mut axes = vec![anonymous(total)];
    axes.extend(value.ty.axes()[leading.len()..].iter().cloned());
    pointwise::tabulate(ix, build, axes, span, |_, _, indices| {
        let binary = |op, a, b| Expr::new(ExprKind::Binary(op, a, b), Type::I32, span);
        let mut rest = indices[0].clone();
        let mut at = Vec::new();
        for extent in extents.iter().skip(1).rev() {
            let extent = Expr::size(extent.clone(), span);
            at.push(binary(BinaryOp::Rem, rest.clone(), extent.clone()));
            rest = binary(BinaryOp::Div, rest, extent);
        }
        at.push(rest);
        at.reverse();
        at.extend(indices[1..].iter().cloned());
        expr::read(value, at, Bounds::Checked, span)
    })
}

/// How far the next position is.
enum Step {
    Known(i64),
    /// Known only to the run, with whether it goes forward.
    Computed {
        step: Expr,
        forward: Expr,
    },
}
