//! Recurrences that ended early: derivatives go back through the steps that were made.

use super::Pass;
use ein_ir::size;
use ein_ir::tensor::{AtomDef, AtomInfo, Binder, ClauseSlot, Expr, ExprKind, Tensor, Type, VarId};
use ein_scalar::BinaryOp;

impl Pass<'_> {
    /// A recurrence that may end early as one over the steps that `var` holds; `None` if it is not
    /// one.
    pub(super) fn made(&mut self, tensor: &Tensor, var: VarId) -> Option<Tensor> {
        let until = tensor.clauses.iter().find(|clause| clause.until.is_some())?;
        let axis = tensor.recurrence.as_ref()?.axes.first()?.axis;
        let first = match until.slots.get(axis) {
            Some(ClauseSlot::Loop(binder)) => self.size_of(&binder.lo),
            Some(ClauseSlot::Point(_)) | None => None,
        };
        let first = first.and_then(|lo| lo.as_constant()).unwrap_or(0);
        let end = self.extent_of(var, axis)?;
        let mut made = tensor.clone();
        *made.shape.get_mut(axis)? = Some(end.clone());
        for clause in &mut made.clauses {
            clause.until = None;
            let span = clause.span;
            let slot = clause.slots.get_mut(axis)?;
            match slot {
                ClauseSlot::Loop(binder) => binder.hi = self.smaller(&binder.hi, &end),
                ClauseSlot::Point(at) if *at > first => {
                    // Perhaps after the last step.
                    let own = self.local("$i", Type::I32, span);
                    let hi = self.smaller(&Expr::int(*at + 1, span), &end);
                    *slot = ClauseSlot::Loop(Binder { var: own, lo: Expr::int(*at, span), hi });
                }
                ClauseSlot::Point(_) => {}
            }
        }
        Some(made)
    }

    /// The extent of a variable along an axis.
    fn extent_of(&mut self, var: VarId, axis: usize) -> Option<size::Expr> {
        let size = self.program.vars[var].ty.axes().get(axis)?.size.clone();
        let atoms = size.atoms();
        let known = |atom: &size::Atom| self.program.atoms[*atom].def != AtomDef::Unknown;
        if atoms.iter().all(known) {
            return Some(size);
        }
        let name = self.program.vars[var].name;
        let info = AtomInfo { name, def: AtomDef::Extent(var, axis), external: false };
        Some(size::Expr::atom(self.program.atoms.push(info)))
    }

    fn smaller(&mut self, hi: &Expr, end: &size::Expr) -> Expr {
        let span = hi.span;
        if let Some(hi) = self.size_of(hi) {
            return Expr::size(hi.min(end), span);
        }
        let end = Expr::size(end.clone(), span);
        let less = ExprKind::Binary(BinaryOp::Lt, hi.clone(), end.clone());
        let cond = Expr::new(less, Type::BOOL, span);
        let kind = ExprKind::If { cond, then: hi.clone(), otherwise: end };
        Expr::new(kind, Type::I32, span)
    }
}
