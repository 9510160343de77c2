//! The nearest known name, in the messages of name resolution.

use super::Resolver;
pub(super) use crate::suggest::Nearest;
use ein_base::{Diagnostic, Name, Symbol};

/// How many names may be compared in one compilation: a text with very many errors and very many
/// names must not take quadratic time.
pub(super) const BUDGET: usize = 1_000_000;

impl Resolver<'_> {
    /// Adds the nearest of `known` to a diagnostic about `name`, if one is near.
    pub(super) fn suggest_among(
        &mut self,
        diagnostic: Diagnostic,
        name: Name,
        known: &[Symbol],
    ) -> Diagnostic {
        let mut nearest = Nearest::new(name.sym.as_str());
        for sym in known.iter().take(self.budget) {
            nearest.offer(*sym, true);
        }
        self.budget = self.budget.saturating_sub(known.len());
        with_suggestion(diagnostic, name, nearest.best())
    }
}

/// Adds "did you mean" to a diagnostic.
pub(super) fn with_suggestion(
    diagnostic: Diagnostic,
    name: Name,
    suggestion: Option<Symbol>,
) -> Diagnostic {
    match suggestion {
        Some(sym) => diagnostic.fix(format!("did you mean `{sym}`?"), name.span, sym.as_str()),
        None => diagnostic,
    }
}
