//! The nearest known name, in the messages of name resolution.

use super::Resolver;
pub(super) use crate::suggest::Nearest;
use ein_base::{Diagnostic, Name, Span, Symbol};

/// How many names may be compared in one compilation: a text with very many errors and very many
/// names must not take quadratic time.
pub(super) const BUDGET: usize = 1_000_000;

impl Resolver<'_> {
    /// Adds the nearest of `known` to a diagnostic about `name`, or another way out if none is
    /// near.
    pub(super) fn suggest_among(
        &mut self,
        diagnostic: Diagnostic,
        name: Name,
        known: &[Symbol],
        otherwise: impl Into<String>,
    ) -> Diagnostic {
        let mut nearest = Nearest::new(name.sym.as_str());
        for sym in known.iter().take(self.budget) {
            nearest.offer(*sym, true);
        }
        self.budget = self.budget.saturating_sub(known.len());
        match nearest.best() {
            Some(sym) => self.with_suggestion(diagnostic, name, sym),
            None => diagnostic.help(otherwise),
        }
    }

    /// Adds "did you mean" to a diagnostic, and where that name is declared.
    pub(super) fn with_suggestion(
        &mut self,
        diagnostic: Diagnostic,
        name: Name,
        sym: Symbol,
    ) -> Diagnostic {
        let diagnostic = match self.declaration(name, sym) {
            Some(span) => diagnostic.label(span, format!("`{sym}` is declared here")),
            None => diagnostic,
        };
        diagnostic.fix(format!("did you mean `{sym}`?"), name.span, sym.as_str())
    }

    /// Where the file of a misspelt name declares what was probably meant; what stands above it
    /// counts first.
    fn declaration(&mut self, name: Name, sym: Symbol) -> Option<Span> {
        let locals = self.program.locals.iter().map(|local| local.name);
        let items = self.items.iter().map(|item| item.name);
        let modules = self.modules.iter().flat_map(|module| &module.table.mod_names).copied();
        let mut seen = 0;
        let declared = locals
            .chain(items)
            .chain(modules)
            .take(self.budget)
            .inspect(|_| seen += 1)
            .filter(|it| it.sym == sym && it.span.file() == name.span.file() && !it.span.is_empty())
            .map(|it| it.span)
            .min_by_key(|span| (span.lo() > name.span.lo(), span.lo().abs_diff(name.span.lo())));
        self.budget = self.budget.saturating_sub(seen);
        declared
    }
}
