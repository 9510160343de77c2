//! Positions: what integer expressions are, and what is known of them at a place.

use super::{Position, Reach, is_int};
use ein_ir::size::{self, Facts};
use ein_ir::tensor::walk::{any, each_child_mut};
use ein_ir::tensor::{AtomDef, Expr, ExprKind, IndexArg, Type, VarId};
use ein_scalar::{BinaryOp, UnaryOp};
use std::rc::Rc;

impl Reach<'_, '_> {
    /// The position that an integer expression is.
    pub(super) fn int(&mut self, e: &Expr) -> Position {
        if !is_int(&e.ty) {
            return None;
        }
        if any(e, &mut |part| matches!(&*part.kind, ExprKind::Call { .. })) {
            let named = self.named;
            let mut copy = e.clone();
            let at = self.name_calls(&mut copy).and_then(|()| self.int(&copy));
            self.named = named;
            return at;
        }
        let size = self.pass.size_of(e)?;
        let data = size.atoms().iter().any(|atom| match self.pass.program.atoms[*atom].def {
            AtomDef::Var(var) => matches!(self.ints.get(&var), Some(None)),
            AtomDef::Extent(..) | AtomDef::Length(_) | AtomDef::Unknown => false,
        });
        (!data).then(|| self.resolved(&size))
    }

    /// Puts variables in the place of calls of simple functions of integers, as `max` of the library.
    fn name_calls(&mut self, e: &mut Expr) -> Option<()> {
        let ExprKind::Call { func, closure, args, .. } = &*e.kind else {
            let mut done = Some(());
            each_child_mut(e, &mut |child| done = done.and_then(|()| self.name_calls(child)));
            return done;
        };
        if closure.is_some() || e.ty != Type::I32 {
            return None;
        }
        let (params, body) = {
            let callee = &self.pass.program.funcs[*func];
            (callee.params.clone(), callee.body.clone())
        };
        let mut values = Vec::new();
        for arg in args {
            values.push(self.int(arg)?);
        }
        let size = self.pass.size_of(&body)?;
        let atoms: Vec<size::Atom> = params.iter().map(|var| self.pass.atom_of(*var)).collect();
        if size.atoms().iter().any(|atom| !atoms.contains(atom)) {
            return None;
        }
        let size = size.substitute(&|atom| {
            let number = atoms.iter().position(|own| *own == atom)?;
            values.get(number).cloned()
        });
        let var = match self.names.get(self.named) {
            Some(var) => *var,
            None => {
                let var = self.pass.local("$n", Type::I32, e.span);
                self.names.push(var);
                var
            }
        };
        self.named += 1;
        self.ints.insert(var, Some(size));
        *e = self.pass.var(var, e.span);
        Some(())
    }

    /// A size in terms of positions and of what is there at the request.
    pub(super) fn resolved(&self, size: &size::Expr) -> size::Expr {
        let atoms = &self.pass.program.atoms;
        size.substitute(&|atom| match atoms[atom].def {
            AtomDef::Var(var) => self.ints.get(&var).cloned().flatten(),
            AtomDef::Extent(var, axis) => self.extents.get(&var)?.get(axis).cloned(),
            AtomDef::Length(_) | AtomDef::Unknown => None,
        })
    }

    /// The positions of a read; literals below zero count from the end.
    pub(super) fn indices(&mut self, base: &Expr, indices: &[IndexArg]) -> Vec<Position> {
        let mut all = Vec::new();
        for (index, axis) in indices.iter().zip(base.ty.axes()) {
            all.push(self.index(&index.value, &axis.size));
        }
        all
    }

    pub(super) fn index(&mut self, e: &Expr, extent: &size::Expr) -> Position {
        let at = self.int(e);
        match at.as_ref().and_then(size::Expr::as_constant) {
            Some(back) if back < 0 => Some(self.resolved(extent).offset(back)),
            Some(_) | None => at,
        }
    }

    pub(super) fn atom(&mut self, var: VarId) -> size::Expr {
        size::Expr::atom(self.pass.atom_of(var))
    }

    /// Variables for the positions in a value that are in use by nobody.
    pub(super) fn positions_of(&mut self, e: &Expr) -> Vec<VarId> {
        let span = e.span;
        let rank = e.ty.rank();
        while self.pool.len() < self.used + rank {
            let var = self.pass.local("$at", Type::I32, span);
            self.pool.push(var);
        }
        self.used += rank;
        self.pool[self.used - rank..self.used].to_vec()
    }

    pub(super) fn assume_range(&mut self, at: &size::Expr, lo: &Position, hi: &Position) {
        if let Some(lo) = lo {
            self.facts.le(lo, at);
        }
        if let Some(hi) = hi {
            self.facts.lt(at, hi);
        }
        self.seen = None;
    }

    pub(super) fn forget(&mut self, known: usize) {
        self.facts.truncate(known);
        self.seen = None;
    }

    pub(super) fn known(&mut self) -> Rc<Facts> {
        self.seen.get_or_insert_with(|| Rc::new(self.facts.clone())).clone()
    }

    /// Adds what a condition says about positions.
    pub(super) fn assume(&mut self, cond: &Expr, holds: bool) {
        match &*cond.kind {
            ExprKind::And(a, b) if holds => {
                self.assume(a, true);
                self.assume(b, true);
            }
            ExprKind::Or(a, b) if !holds => {
                self.assume(a, false);
                self.assume(b, false);
            }
            ExprKind::Unary(UnaryOp::Not, a) => self.assume(a, !holds),
            ExprKind::Binary(op, a, b) => {
                let (Some(a), Some(b)) = (self.int(a), self.int(b)) else { return };
                match (op, holds) {
                    (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => self.facts.eq(&a, &b),
                    (BinaryOp::Eq, false) | (BinaryOp::Ne, true) => self.facts.ne0(a.sub(&b)),
                    (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => self.facts.lt(&a, &b),
                    (BinaryOp::Le, true) | (BinaryOp::Gt, false) => self.facts.le(&a, &b),
                    (BinaryOp::Gt, true) | (BinaryOp::Le, false) => self.facts.lt(&b, &a),
                    (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => self.facts.le(&b, &a),
                    _ => {}
                }
                self.seen = None;
            }
            _ => {}
        }
    }
}
