//! Reads of a derivative that is a band, and sums over them.
//!
//! Before:  `sum[i, j](J[i, j] * J[i, j])`
//! After:   `sum[i, j in i - 1 .. i + 2](band[j % 3, i] * band[j % 3, i])`, within the axis
//!
//! A sum whose summand is a product with an entry has nothing outside the window of the entry, so
//! its innermost index runs over the window only, and the entry need not ask.

use super::Band;
use crate::autodiff::Pass;
use crate::autodiff::reverse::mentions;
use ein_ir::size;
use ein_ir::tensor::walk::each_child_mut;
use ein_ir::tensor::{
    Axis, Bounds, Derivative, Expr, ExprKind, IndexArg, Item, Reduce, ReduceOp, VarId,
};
use ein_scalar::{BinaryOp, UnaryOp};

/// An entry that a sum reads inside its windows only.
pub(super) struct Inside {
    at: Vec<size::Expr>,
    /// Along which axes of the parameter.
    axes: Vec<bool>,
}

impl Pass<'_> {
    /// Reads the band instead of the derivative, where the indices are known to be legal.
    pub(super) fn read_band(
        &mut self,
        e: &mut Expr,
        var: VarId,
        band: &Band,
        inside: &mut Vec<Inside>,
    ) {
        match &mut *e.kind {
            // What is differentiated must have a name.
            ExprKind::Derivative(request) => {
                if let Derivative::Product { direction, .. } = request {
                    self.read_band(direction, var, band, inside);
                }
                return;
            }
            ExprKind::Reduce(reduce) => {
                let known = inside.len();
                inside.extend(self.within_window(reduce, var, band));
                each_child_mut(e, &mut |child| self.read_band(child, var, band, inside));
                inside.truncate(known);
                return;
            }
            _ => each_child_mut(e, &mut |child| self.read_band(child, var, band, inside)),
        }
        let Some((indices, sizes)) = self.legal_read(e, var, band) else { return };
        let span = e.span;
        let new = if indices.len() == band.ty.rank() {
            let known = inside.iter().rev().find(|one| one.at == sizes);
            let axes = known.map_or(&[][..], |one| &one.axes);
            self.entry_of_band(band, &indices, &sizes, axes, span)
        } else {
            self.filled(band, &indices, span)
        };
        *e = Expr { ty: e.ty.clone(), ..new };
    }

    /// The indices of a read of the derivative, if they are inside it whatever happens.
    fn legal_read(
        &mut self,
        e: &Expr,
        var: VarId,
        band: &Band,
    ) -> Option<(Vec<IndexArg>, Vec<size::Expr>)> {
        let ExprKind::Index { base, indices } = &*e.kind else { return None };
        if !matches!(&*base.kind, ExprKind::Var(own) if *own == var) {
            return None;
        }
        let legal = |(index, axis): (&IndexArg, &Axis)| match &*index.value.kind {
            ExprKind::Const(at) => at.as_i64().is_some_and(|at| {
                let below = axis.size.as_constant().is_some_and(|extent| at < extent);
                at >= 0 && (below || index.bounds == Bounds::Proved)
            }),
            _ => index.bounds == Bounds::Proved,
        };
        if !indices.iter().zip(band.ty.axes()).all(legal) {
            return None;
        }
        let sizes: Option<Vec<size::Expr>> =
            indices.iter().map(|index| self.size_of(&index.value)).collect();
        Some((indices.clone(), sizes?))
    }

    /// Narrows the indices of a sum to the windows of an entry that all of it is multiplied by.
    fn within_window(&mut self, reduce: &mut Reduce, var: VarId, band: &Band) -> Option<Inside> {
        if reduce.op != ReduceOp::Sum {
            return None;
        }
        let entry = factor(&reduce.value, var, band.ty.rank())?.clone();
        let (indices, at) = self.legal_read(&entry, var, band)?;
        // What a binding inside the sum says is not there before it.
        let bound_inside = reduce.items.iter().any(|item| match item {
            Item::Let(own, _) => indices.iter().any(|index| mentions(&index.value, *own)),
            Item::Guard(_) => false,
        });
        if bound_inside {
            return None;
        }
        let mut axes = Vec::new();
        for (axis, window) in band.structure.windows.iter().enumerate() {
            let narrow = window.as_ref().is_some_and(|window| {
                let lo = self.placed(band, window, &at);
                let place = at[band.rows + axis].clone();
                let after = place.sub(&lo);
                let before = lo.offset(window.width - 1).sub(&place);
                self.at_least_zero(reduce, &after) && self.at_least_zero(reduce, &before)
            });
            axes.push(narrow);
        }
        Some(Inside { at, axes })
    }

    /// Narrows the innermost index of a sum that is mentioned, so that the size is never below zero.
    fn at_least_zero(&mut self, reduce: &mut Reduce, size: &size::Expr) -> bool {
        for binder in reduce.binders.iter_mut().rev() {
            let atom = self.atom_of(binder.var);
            if size.mentions(atom) {
                let span = binder.lo.span;
                return self.narrow(binder, atom, size, span);
            }
        }
        false
    }
}

/// An entry of the derivative where the expression is zero if the entry is.
fn factor(e: &Expr, var: VarId, rank: usize) -> Option<&Expr> {
    match &*e.kind {
        ExprKind::Index { base, indices } => {
            let own = matches!(&*base.kind, ExprKind::Var(own) if *own == var);
            (own && indices.len() == rank).then_some(e)
        }
        ExprKind::Binary(BinaryOp::Mul, a, b) => factor(a, var, rank).or(factor(b, var, rank)),
        ExprKind::Binary(BinaryOp::Div, a, b) if constant(b).is_some_and(|b| b != 0.0) => {
            factor(a, var, rank)
        }
        ExprKind::Binary(BinaryOp::Pow, a, b) if constant(b).is_some_and(|b| b > 0.0) => {
            factor(a, var, rank)
        }
        ExprKind::Unary(UnaryOp::Neg | UnaryOp::Abs, a) | ExprKind::Cast(a) => factor(a, var, rank),
        ExprKind::Block { stmts, value } if stmts.is_empty() => factor(value, var, rank),
        _ => None,
    }
}

/// The value of a constant, converted or not.
fn constant(e: &Expr) -> Option<f64> {
    match &*e.kind {
        ExprKind::Const(value) => Some(value.as_f64()),
        ExprKind::Cast(inner) => constant(inner),
        _ => None,
    }
}
