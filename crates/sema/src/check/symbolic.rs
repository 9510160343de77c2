//! From IR to the symbolic algebra: the value of an integer expression as a size, and what a
//! condition says about sizes.

use super::state::Index;
use ein_ir::size::{self, Facts};
use ein_ir::tensor::walk::any;
use ein_ir::tensor::{AtomDef, Expr, ExprKind, Type, VarId};
use ein_scalar::{BinaryOp, UnaryOp};

impl Index<'_> {
    /// The value of an integer expression in the symbolic algebra, where it has one. Arithmetic of
    /// the language traps on overflow, so a value that exists equals the mathematical one.
    pub(super) fn to_size(&self, e: &Expr) -> Option<size::Expr> {
        ein_ir::tensor::symbolic::to_size(e, &|leaf| match &*leaf.kind {
            ExprKind::Var(var) => self.var_sizes.get(var).cloned(),
            _ => self.to_size(&self.opened_call(leaf)?),
        })
    }

    /// The symbolic value of an operation on two `i32`, if the algebra may take its place: it does not
    /// know failures, so neither operand may have one, and the operation only that of leaving its type,
    /// which its value shows.
    pub(super) fn as_one_size(&self, e: &Expr) -> Option<size::Expr> {
        let ExprKind::Binary(op, a, b) = &*e.kind else { return None };
        let divides =
            matches!(op, BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod);
        if divides && self.to_size(b)?.as_constant().is_none_or(|divisor| divisor == 0) {
            return None;
        }
        self.unfailing(a)?;
        self.unfailing(b)?;
        self.to_size(e)
    }

    /// The values that an integer expression can have, if nothing in it can fail.
    fn unfailing(&self, e: &Expr) -> Option<(i128, i128)> {
        let (least, most) = e.ty.scalar()?.int_range()?;
        let (lo, hi) = match &*e.kind {
            ExprKind::Const(value) => {
                let value = value.as_i128()?;
                (value, value)
            }
            ExprKind::Var(_) => (least, most),
            ExprKind::Size(size) => self.unfailing_size(size, (least, most))?,
            ExprKind::Unary(UnaryOp::Neg, a) => {
                let (lo, hi) = self.unfailing(a)?;
                (-hi, -lo)
            }
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.unfailing(a)?, self.unfailing(b)?);
                match op {
                    BinaryOp::Add => (a.0 + b.0, a.1 + b.1),
                    BinaryOp::Sub => (a.0 - b.1, a.1 - b.0),
                    BinaryOp::Min => (a.0.min(b.0), a.1.min(b.1)),
                    BinaryOp::Max => (a.0.max(b.0), a.1.max(b.1)),
                    _ => return None,
                }
            }
            ExprKind::Block { stmts, value } if stmts.is_empty() => self.unfailing(value)?,
            _ => return None,
        };
        (least <= lo && hi <= most).then_some((lo, hi))
    }

    /// The same for a symbolic value that is linear.
    fn unfailing_size(&self, size: &size::Expr, whole: (i128, i128)) -> Option<(i128, i128)> {
        if let Some(value) = size.as_constant() {
            return Some((value.into(), value.into()));
        }
        let atom = *size.atoms().first()?;
        let (factor, rest) = size.affine_in(atom)?;
        let lo = match self.atoms[atom].def {
            AtomDef::Extent(..) | AtomDef::Length(_) => 0,
            AtomDef::Var(_) | AtomDef::Unknown => whole.0,
        };
        let ends = [lo * i128::from(factor), whole.1 * i128::from(factor)];
        let (least, most) = self.unfailing_size(&rest, whole)?;
        Some((ends[0].min(ends[1]) + least, ends[0].max(ends[1]) + most))
    }

    /// Whether the value of an expression is made of an index.
    pub(super) fn mentions_index(&self, e: &Expr, index: VarId) -> bool {
        any(e, &mut |e| match &*e.kind {
            ExprKind::Var(var) => *var == index,
            ExprKind::Size(size) => {
                let own = self.var_sizes.get(&index).and_then(|size| size.as_atom());
                own.is_some_and(|atom| size.mentions(atom))
            }
            _ => false,
        })
    }

    /// Gives an integer variable a symbolic value: the one of what it is bound to, or an unknown
    /// of its own.
    pub(super) fn size_variable(&mut self, var: VarId, value: Option<&Expr>, external: bool) {
        let info = &self.vars[var];
        match info.ty {
            Type::Scalar(ty) if ty.is_int() => {}
            _ => return,
        }
        let name = info.name;
        let size = match value.and_then(|value| self.to_size(value)) {
            Some(size) => size,
            None => size::Expr::atom(self.new_atom(name, AtomDef::Var(var), external)),
        };
        self.var_sizes.insert(var, size);
    }

    /// Adds what a condition says when it holds (or when it does not) to what is known here.
    pub(super) fn assume_here(&mut self, cond: &Expr, holds: bool) {
        let mut facts = std::mem::take(&mut self.f.facts);
        self.assume(cond, holds, &mut facts);
        self.f.facts = facts;
    }

    /// The same to other facts. Returns whether it said everything.
    pub(super) fn assume(&self, cond: &Expr, holds: bool, facts: &mut Facts) -> bool {
        match &*cond.kind {
            ExprKind::Const(value) => value.as_bool() == Some(holds),
            ExprKind::And(a, b) if holds => {
                let left = self.assume(a, true, facts);
                self.assume(b, true, facts) && left
            }
            ExprKind::Or(a, b) if !holds => {
                let left = self.assume(a, false, facts);
                self.assume(b, false, facts) && left
            }
            ExprKind::Unary(UnaryOp::Not, a) => self.assume(a, !holds, facts),
            ExprKind::Block { stmts, value } if stmts.is_empty() => {
                self.assume(value, holds, facts)
            }
            ExprKind::Call { .. } => {
                self.opened_call(cond).is_some_and(|cond| self.assume(&cond, holds, facts))
            }
            ExprKind::Binary(op, a, b) => {
                let (Some(a), Some(b)) = (self.to_size(a), self.to_size(b)) else { return false };
                match (op, holds) {
                    (BinaryOp::Lt, true) | (BinaryOp::Ge, false) => facts.lt(&a, &b),
                    (BinaryOp::Le, true) | (BinaryOp::Gt, false) => facts.le(&a, &b),
                    (BinaryOp::Gt, true) | (BinaryOp::Le, false) => facts.lt(&b, &a),
                    (BinaryOp::Ge, true) | (BinaryOp::Lt, false) => facts.le(&b, &a),
                    (BinaryOp::Eq, true) | (BinaryOp::Ne, false) => facts.eq(&a, &b),
                    (BinaryOp::Ne, true) | (BinaryOp::Eq, false) => facts.ne0(a.sub(&b)),
                    _ => return false,
                }
                true
            }
            _ => false,
        }
    }

    /// Whether a size is known to be zero or more on the path to here.
    pub(super) fn non_negative(&self, size: &size::Expr) -> bool {
        match size.as_constant() {
            Some(value) => value >= 0,
            None => size::prove_ge0(&self.f.facts, size).is_proved(),
        }
    }

    /// Compares two sizes that must be equal.
    pub(super) fn compare_sizes(&self, a: &size::Expr, b: &size::Expr) -> SizeRelation {
        let difference = a.sub(b);
        if let Some(value) = difference.as_constant() {
            return if value == 0 { SizeRelation::Equal } else { SizeRelation::Different };
        }
        if size::prove_eq(&self.f.facts, a, b).is_proved() {
            return SizeRelation::Equal;
        }
        if size::prove_ne(&self.f.facts, a, b).is_proved() {
            return SizeRelation::Different;
        }
        let external = difference.atoms().into_iter().any(|atom| self.atoms[atom].external);
        if external { SizeRelation::AtRunTime } else { SizeRelation::Different }
    }

    /// The smaller of two sizes, decided where it can be.
    pub(super) fn smaller(&self, a: &size::Expr, b: &size::Expr) -> size::Expr {
        if size::prove_le(&self.f.facts, a, b).is_proved() {
            a.clone()
        } else if size::prove_le(&self.f.facts, b, a).is_proved() {
            b.clone()
        } else {
            a.min(b)
        }
    }

    /// The greater of two sizes, decided where it can be.
    pub(super) fn greater(&self, a: &size::Expr, b: &size::Expr) -> size::Expr {
        if size::prove_le(&self.f.facts, a, b).is_proved() {
            b.clone()
        } else if size::prove_le(&self.f.facts, b, a).is_proved() {
            a.clone()
        } else {
            a.max(b)
        }
    }
}

/// How two sizes that must be equal relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SizeRelation {
    /// Equal for all values of what they mention.
    Equal,
    /// Different, or equal only by chance.
    Different,
    /// They come from outside: compared once, at run time.
    AtRunTime,
}
