//! Errors of what is tried and taken back, and of what is checked once only.
//!
//! A recurrence or a recursive function is looked at once to find its type and then again, and what
//! was reported the first time is taken back. A constant or an instance of a function that was met
//! on the way is not looked at again, so its errors stay.

use super::Cx;
use super::instance::Instances;
use super::state::{Index, Report};
use ein_ir::tensor::Type;
use std::ops::Range;

/// Which diagnostics stay when a try is taken back: ranges of their numbers, apart and in order.
#[derive(Default)]
pub(super) struct Lasting(Vec<Range<usize>>);

/// How far the check had come before a try that may be rolled back.
pub(super) struct Mark {
    pub diagnostics: usize,
    funcs: usize,
    instances: usize,
    consts: usize,
    const_stmts: usize,
    vars: usize,
    widenings: usize,
}

pub(super) fn mark(cx: &Cx) -> Mark {
    Mark {
        diagnostics: cx.report.diagnostics.len(),
        funcs: cx.build.out.funcs.len(),
        instances: cx.infer.instances.items.len(),
        consts: cx.infer.const_order.len(),
        const_stmts: cx.build.const_stmts.len(),
        vars: cx.ix.vars.len(),
        widenings: cx.report.widenings.len(),
    }
}

/// Forgets a try: what it reported, and what it would have remembered.
pub(super) fn roll_back(cx: &mut Cx, to: &Mark) {
    cx.report.take_back_all(to.diagnostics);
    cx.build.out.funcs.truncate(to.funcs);
    cx.ix.formulas.retain(|func, _| ein_base::Idx::index(*func) < to.funcs);
    cx.report.widenings.truncate(to.widenings);
    cx.infer.instances.items.truncate(to.instances);
    let Instances { table, counts, .. } = &mut cx.infer.instances;
    table.retain(|key, at| {
        let stays = *at < to.instances;
        if !stays && let Some(count) = counts.get_mut(&key.source) {
            *count -= 1;
        }
        stays
    });
    for def in cx.infer.const_order.split_off(to.consts) {
        cx.infer.consts.remove(&def);
    }
    cx.build.const_stmts.truncate(to.const_stmts);
    forget_types(&mut cx.ix, to.vars);
}

/// What a try bound is part of no program, so errors among it concern nobody.
pub(super) fn forget_types(ix: &mut Index, since: usize) {
    for tried in ix.vars.ids().skip(since) {
        if ix.vars[tried].ty.has_error() {
            ix.vars[tried].ty = Type::Unit;
        }
    }
}

/// Runs a check whose result is remembered, so that it will not run again.
pub(super) fn lasting<R>(cx: &mut Cx, check: impl FnOnce(&mut Cx) -> R) -> R {
    let start = cx.report.diagnostics.len();
    let result = check(cx);
    let end = cx.report.diagnostics.len();
    cx.report.lasting.0.retain(|range| range.start < start);
    if start < end {
        cx.report.lasting.0.push(start..end);
    }
    result
}

impl Report {
    /// Takes back what was reported since a number, but for what lasts.
    pub(super) fn take_back(&mut self, since: usize) {
        let tried = self.diagnostics.split_off(since);
        let first = self.lasting.0.partition_point(|range| range.start < since);
        let ranges = self.lasting.0.split_off(first);
        let stays = |at: usize| ranges.iter().any(|range| range.contains(&at));
        let stay = tried.into_iter().enumerate().filter(|(at, _)| stays(since + at));
        self.diagnostics.extend(stay.map(|(_, diagnostic)| diagnostic));
        if since < self.diagnostics.len() {
            self.lasting.0.push(since..self.diagnostics.len());
        }
    }

    /// Takes back everything that was reported since a number, where all of it runs again.
    pub(super) fn take_back_all(&mut self, since: usize) {
        self.diagnostics.truncate(since);
        self.lasting.0.retain(|range| range.start < since);
    }
}
