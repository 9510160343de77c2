//! Values of which only a few points flow back.
//!
//! Before:  `h[k] = x[k] * x[k]`, and `s` flows to `h[i]` alone
//! After:   `2 * x[i] * s` flows to `x[i]` alone
//!
//! A read without a loop on the way names one cell. While there are few of them, the definition is
//! pulled back at these points instead of everywhere: what a derivative is asked for at its
//! diagonal, or in a band around it, costs as much as the band.

use super::solve::Place;
use super::{Done, Reverse, Step, Term, lift, unsupported};
use ein_base::Span;
use ein_ir::tensor::{Bounds, Expr, IndexArg, Tensor, Type, VarId};

/// More points than this are pulled back all at once.
const FEW: usize = 8;

impl Reverse<'_, '_> {
    /// Pulls a definition back at the points that something flows to, if they are few. Returns
    /// whether it did.
    pub(super) fn settle_points(&mut self, var: VarId, tensor: &Tensor, e: &Expr) -> Done<bool> {
        let terms = self.active.get(&var).cloned().unwrap_or_default();
        let few = self.path.is_empty()
            && tensor.inner_rank == 0
            && terms.len() <= FEW
            && terms.iter().all(|term| self.is_point(term))
            && !fewer_cells(e, terms.len());
        if !few {
            return Ok(false);
        }
        for term in terms {
            self.path = term.path.clone();
            let done = self.pull_point(var, tensor, e, &term.cell, term.value);
            self.path.clear();
            done?;
        }
        Ok(true)
    }

    /// Whether a term is one cell.
    fn is_point(&self, term: &Term) -> bool {
        term.part.is_empty()
            && term.cell.iter().all(|index| index.value.ty == Type::I32)
            && !term.path.iter().any(|at| matches!(self.steps[*at], Step::Loop(_)))
    }

    /// What flows back to one element of a variable; `None` for nothing.
    pub(super) fn entry_of(
        &mut self,
        var: VarId,
        at: &[IndexArg],
        span: Span,
    ) -> Done<Option<Expr>> {
        if at.is_empty() {
            return self.adjoint_of(var, &[]);
        }
        let terms = self.active.get(&var).cloned().unwrap_or_default();
        let axes = self.pass.program.vars[var].ty.axes().to_vec();
        let mut places = Vec::new();
        for (index, axis) in at.iter().zip(axes) {
            let place = match self.pass.size_of(&index.value) {
                Some(place) => place,
                None => {
                    let named = self.bind("$p", index.value.clone());
                    match self.pass.size_of(&named) {
                        Some(place) => place,
                        None => return unsupported("an index of this type"),
                    }
                }
            };
            let inside = (index.bounds == Bounds::Proved).then_some(axis.size);
            places.push(Place::At(place, inside));
        }
        let mut total: Option<Expr> = None;
        for term in &terms {
            if !term.part.is_empty() {
                return unsupported("a component of a parameter");
            }
            let Some(value) = self.at_cell(term, &places, true) else {
                return unsupported("a read at this position");
            };
            if super::pull::constant(&value) == Some(0.0) {
                continue;
            }
            total = Some(self.plus(total, value));
        }
        let zero = terms.first().map(|term| lift::zero_of(&term.value.ty, span));
        Ok(total.or(zero))
    }
}

/// Whether a definition is known to have no more cells than this.
fn fewer_cells(e: &Expr, count: usize) -> bool {
    let cells = e.ty.axes().iter().try_fold(1i64, |total, axis| {
        axis.size.as_constant().and_then(|extent| total.checked_mul(extent))
    });
    cells.is_some_and(|cells| cells <= count as i64)
}
