//! Changes of calls: of their arguments and of their coordinates.

use super::{Maker, Place};
use crate::mutants::layouts::{Layout, Matched, coord_args, matched};
use crate::mutants::walk::bare;
use ein_base::{Span, Symbol};
use ein_syntax::ast::{Arg, ExprId, Slot};

impl Maker<'_> {
    /// Mutants of a call with whole arguments.
    pub(super) fn call(
        &mut self,
        id: ExprId,
        callee: ExprId,
        slots: &[Slot],
        args: &[Arg],
        place: &Place,
    ) {
        let ast = self.ast;
        let Some(function) = bare(ast, callee) else { return };
        let Some(signature) = self.scope.function(function).cloned() else { return };
        let Some(coords) = coord_args(ast, slots) else { return };
        let layouts: Vec<Option<Layout>> =
            args.iter().map(|arg| self.scope.of_value(ast, arg.value)).collect();
        let before = matched(&signature, &coords, &layouts);
        if !matches!(before, Matched::Result(_)) {
            return;
        }
        let span = ast.expr[id].span;
        for i in 0..args.len() {
            for j in i + 1..args.len() {
                let same = |a: &Option<Layout>, b: &Option<Layout>| match (a, b) {
                    (Some(a), Some(b)) => a.len() == b.len(),
                    _ => false,
                };
                if !same(&layouts[i], &layouts[j]) {
                    continue;
                }
                let mut swapped = layouts.clone();
                swapped.swap(i, j);
                let after = matched(&signature, &coords, &swapped);
                let (a, b) = (ast.expr[args[i].value].span, ast.expr[args[j].value].span);
                let edits = [(a, self.source(b).to_owned()), (b, self.source(a).to_owned())];
                self.called("swap-arguments", span, &edits, &before, after, &layouts, place);
            }
        }
        for i in 0..coords.len() {
            for j in i + 1..coords.len() {
                let mut swapped = coords.clone();
                swapped.swap(i, j);
                let after = matched(&signature, &swapped, &layouts);
                let edits = [
                    (slots[i].span, coords[j].to_string()),
                    (slots[j].span, coords[i].to_string()),
                ];
                self.called("swap-coordinates", span, &edits, &before, after, &layouts, place);
            }
            for other in names(&layouts) {
                if coords.contains(&other) {
                    continue;
                }
                let mut changed = coords.clone();
                changed[i] = other;
                let after = matched(&signature, &changed, &layouts);
                let edits = [(slots[i].span, other.to_string())];
                self.called("other-coordinate", span, &edits, &before, after, &layouts, place);
            }
        }
    }

    /// A changed call is wrong if its arguments do not fit, or if its result has other coordinates
    /// than those declared for it.
    #[allow(clippy::too_many_arguments, reason = "one step of `call`")]
    fn called(
        &mut self,
        operator: &'static str,
        span: Span,
        edits: &[(Span, String)],
        before: &Matched,
        after: Matched,
        layouts: &[Option<Layout>],
        place: &Place,
    ) {
        let wrong = match &after {
            Matched::Conflict => true,
            Matched::Result(_) => after != *before && place.fixed,
            Matched::Unknown => false,
        };
        if wrong {
            self.make(operator, span, edits, Some(place.span), names(layouts));
        }
    }
}

/// The coordinates of some layouts, each once.
fn names(layouts: &[Option<Layout>]) -> Vec<Symbol> {
    let mut found = Vec::new();
    for name in layouts.iter().flatten().flatten().filter_map(|axis| axis.name) {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}
