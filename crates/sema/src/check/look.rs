//! Looking ahead: what is checked before all that it takes is known, and told only if it holds.
//!
//! The type of a recurrence, or of a function that calls itself, may show only when its body is looked
//! at. What is told on the way is set aside, and whoever looks decides whether it is told. Constants
//! and instances of functions are not looked at again, so what is told of them is kept.

use super::Cx;
use super::state::{Index, Report};
use ein_base::Diagnostic;
use ein_ir::tensor::Type;

/// Runs a check, and gives what it would tell beside its result.
pub(super) fn look<R>(cx: &mut Cx, check: impl FnOnce(&mut Cx) -> R) -> (R, Vec<Diagnostic>) {
    let outer = std::mem::take(&mut cx.report.diagnostics);
    cx.report.looking += 1;
    let result = check(cx);
    cx.report.looking -= 1;
    let told = std::mem::replace(&mut cx.report.diagnostics, outer);
    if cx.report.looking == 0 {
        let kept = std::mem::take(&mut cx.report.kept);
        cx.report.tell(kept);
    }
    (result, told)
}

/// Runs a check of which nothing is told: all of it is checked again.
pub(super) fn quietly<R>(cx: &mut Cx, check: impl FnOnce(&mut Cx) -> R) -> R {
    let (facts, vars) = (cx.ix.f.facts.len(), cx.ix.vars.len());
    let (result, _) = look(cx, check);
    cx.ix.f.facts.truncate(facts);
    forget_types(&mut cx.ix, vars);
    result
}

/// What was only looked at is part of no program, so errors among it concern nobody.
pub(super) fn forget_types(ix: &mut Index, since: usize) {
    for tried in ix.vars.ids().skip(since) {
        if ix.vars[tried].ty.has_error() {
            ix.vars[tried].ty = Type::Unit;
        }
    }
}

impl Report {
    /// Tells what was set aside, each thing once.
    pub(super) fn tell(&mut self, told: Vec<Diagnostic>) {
        for diagnostic in told {
            self.push_once(diagnostic);
        }
    }

    /// Tells it whatever becomes of those that look now.
    pub(super) fn keep(&mut self, told: Vec<Diagnostic>) {
        match self.looking {
            0 => self.tell(told),
            _ => self.kept.extend(told),
        }
    }

    /// How much was told so far.
    pub(super) fn count(&self) -> usize {
        self.diagnostics.len() + self.kept.len()
    }
}
