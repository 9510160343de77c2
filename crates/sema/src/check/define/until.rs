//! Recurrences that end before their limit: `… until cond else error("…")`.
//!
//! The condition is asked after every step, and the first step for which it holds is the last one.
//! So it sees the index of the step and all points of it, and the extent along the steps is known
//! only when they have been made: a hidden one.
//!
//! Refuses (E0606): a condition about single points of a step, one that reads later steps, a second
//! condition, and steps that run downward, which cannot leave out the first points.

use crate::check::state::{Build, Index, Report};
use crate::check::{Cx, causality, error, expr, vars};
use crate::hir;
use ein_base::{Code, Diagnostic};
use ein_ir::size;
use ein_ir::tensor::{ClauseSlot, Expr, ExprKind, RecurrenceAxis, Tensor, Type, Until, VarId};
use std::sync::Arc;

/// Where steps may end.
pub(in crate::check) struct End {
    axis: usize,
    /// The extent is at least this.
    least: size::Expr,
    /// And at most this.
    limit: size::Expr,
}

/// What ends the steps of a clause.
pub(super) fn until(cx: &mut Cx, until: &hir::Until) -> Until {
    let cond =
        vars::scoped(cx, |cx| expr::condition(cx, until.cond, "the condition after `until`"));
    let otherwise = until.otherwise.map(|message| {
        let message = vars::scoped(cx, |cx| expr::expr(cx, message, Some(&Type::Str)));
        if message.ty == Type::Str || message.ty.has_error() {
            return message;
        }
        let found = cx.ix.show(&message.ty);
        let d = error(
            Code::E0504,
            message.span,
            format!("a message is a `str`, but this is `{found}`"),
        )
        .here("not a text")
        .help("write a text: `error(\"no convergence\")`");
        cx.report.fail(d)
    });
    Until { cond, otherwise }
}

/// The value of a definition, whose extent along the steps is hidden if they may end early.
pub(in crate::check) fn ended(
    ix: &mut Index,
    build: &Build,
    report: &mut Report,
    value: Expr,
) -> Expr {
    let Expr { mut kind, ty, span } = value;
    let ExprKind::Tensor(tensor) = &mut *kind else { return Expr { kind, ty, span } };
    if tensor.clauses.iter().all(|clause| clause.until.is_none()) {
        return Expr { kind, ty, span };
    }
    if let Err(d) = end_of_steps(ix, tensor) {
        report.report_at(*d);
        return Expr::error(span);
    }
    let axis = tensor.recurrence.as_ref().and_then(|it| it.axes.first()).map(|it| it.axis);
    if let Some(axis) = axis
        && let Some((at, read)) = causality::later_read(ix, build, tensor, axis)
    {
        let steps = tensor.clauses.iter().find(|clause| clause.until.is_some());
        let step = steps.and_then(|clause| match clause.slots.get(axis) {
            Some(ClauseSlot::Loop(binder)) => Some(ix.vars[binder.var].name.to_string()),
            Some(ClauseSlot::Point(_)) | None => None,
        });
        let (step, read) = (step.unwrap_or_else(|| "the step".into()), ix.show_size(&read));
        let message =
            format!("this condition reads a step that has not been made when `{step}` is the last");
        let here = match read.as_str() {
            "_" | "?" => "all steps, and later ones too".to_string(),
            read => format!("nothing says that `{read}` is at most `{step}`"),
        };
        let d = error(Code::E0606, at, message)
            .here(here)
            .help(format!("read `{step}` itself or earlier steps: `x[{step}]`, `x[{step} - 1]`"));
        report.report_at(d);
        return Expr::error(span);
    }
    let ty = match (axis, ty) {
        (Some(axis), Type::Array(mut array)) if axis < array.axes.len() => {
            let hidden = ix.unknown_size(false);
            Arc::make_mut(&mut array).axes[axis].size = hidden;
            Type::Array(array)
        }
        (_, ty) => ty,
    };
    Expr { kind, ty, span }
}

/// Where the steps of a definition may end, if that is before their limit.
pub(in crate::check) fn end_of(ix: &Index, value: &Expr) -> Option<End> {
    let ExprKind::Tensor(tensor) = &*value.kind else { return None };
    let clause = tensor.clauses.iter().find(|clause| clause.until.is_some())?;
    let axis = tensor.recurrence.as_ref()?.axes.first()?.axis;
    let Some(ClauseSlot::Loop(binder)) = clause.slots.get(axis) else { return None };
    let limit = tensor.shape.get(axis)?.clone()?;
    // After the first step at the earliest, unless there is none.
    let first = ix.to_size(&binder.lo)?.offset(1);
    let least = ix.smaller(&first, &limit);
    Some(End { axis, least, limit })
}

/// Notes what is known of an extent that only the run tells.
pub(in crate::check) fn note_end(ix: &mut Index, var: VarId, end: Option<End>) {
    let Some(End { axis, least, limit }) = end else { return };
    let size = ix.vars[var].ty.axes().get(axis).map(|axis| axis.size.clone());
    if let Some(size) = size {
        ix.f.facts.le(&least, &size);
        ix.f.facts.le(&size, &limit);
    }
}

/// Whether the steps can end early, and along which axis they run.
fn end_of_steps(ix: &Index, tensor: &mut Tensor) -> Result<(), Box<Diagnostic>> {
    let mut ends = tensor.clauses.iter().filter(|clause| clause.until.is_some());
    let (Some(clause), second) = (ends.next(), ends.next()) else { return Ok(()) };
    let Some(until) = &clause.until else { return Ok(()) };
    let at = until.cond.span;
    if let Some(other) = second.and_then(|clause| clause.until.as_ref()) {
        let d = error(Code::E0606, other.cond.span, "the steps have two conditions that end them")
            .here("the second one")
            .label(at, "the first one")
            .help("write one `until`, with both conditions in it: `until a || b`");
        return Err(Box::new(d));
    }
    let Some(recurrence) = &mut tensor.recurrence else { return Ok(()) };
    let first = clause.slots.iter().position(|slot| matches!(slot, ClauseSlot::Loop(_)));
    if recurrence.axes.is_empty()
        && let Some(axis) = first
    {
        recurrence.axes.push(RecurrenceAxis { axis, backward: false });
        recurrence.lookback = Some(0);
    }
    let Some(RecurrenceAxis { axis, backward }) = recurrence.axes.first().copied() else {
        return Ok(());
    };
    if backward {
        let d = error(Code::E0606, at, "these steps run downward, so they cannot end early")
            .here("the points before the last step would be missing")
            .help("count the steps upward: `let x[n in 1..N] = … x[n - 1] …`");
        return Err(Box::new(d));
    }
    let Some(ClauseSlot::Loop(step)) = clause.slots.get(axis) else {
        let d = error(Code::E0606, at, "this clause has no steps that could end")
            .here("one point only")
            .help("write `until` after the clause with the steps");
        return Err(Box::new(d));
    };
    let other = clause
        .indices()
        .find(|(_, binder)| binder.var != step.var && ix.mentions_index(&until.cond, binder.var));
    if let Some((_, binder)) = other {
        let (index, step) = (ix.vars[binder.var].name, ix.vars[step.var].name);
        let message =
            format!("this condition depends on `{index}`, and steps `{step}` end as a whole");
        let d = error(Code::E0606, at, message)
            .here(format!("one answer for each `{index}`"))
            .label(ix.vars[binder.var].span, format!("`{index}` runs within a step"))
            .help(format!(
                "ask for all of them: `until all[{index}](…)`, or for one: `until any[{index}](…)`"
            ));
        return Err(Box::new(d));
    }
    Ok(())
}
