//! Arithmetic: what flows back to an operand is what flows to the result, times a slope.

use super::{constant, negation};
use crate::autodiff::reverse::{Done, Reverse, Step};
use crate::autodiff::tangent::moves;
use ein_ir::tensor::{Expr, ExprKind, Type};
use ein_scalar::{BinaryOp, UnaryOp};

impl Reverse<'_, '_> {
    /// An operation on two numbers.
    pub(super) fn pull_binary(
        &mut self,
        op: BinaryOp,
        a: &Expr,
        b: &Expr,
        seed: Expr,
        own: Option<Expr>,
    ) -> Done {
        let (left, right) = (self.depends(a) && moves(&a.ty), self.depends(b) && moves(&b.ty));
        let seed = if left && right { self.shared(seed, &[a, b]) } else { seed };
        match op {
            BinaryOp::Add => {
                if left {
                    self.pull(a, seed.clone(), None)?;
                }
                if right { self.pull(b, seed, None) } else { Ok(()) }
            }
            BinaryOp::Sub => {
                if left {
                    self.pull(a, seed.clone(), None)?;
                }
                if !right {
                    return Ok(());
                }
                let seed = self.negative(seed);
                self.pull(b, seed, None)
            }
            BinaryOp::Mul if left && same(a, b) => {
                let factor = self.prim(a);
                let two = self.pass.number(&a.ty, 2.0, a.span);
                let slope = self.product(two, factor);
                let seed = self.product(seed, slope);
                self.pull(a, seed, None)
            }
            BinaryOp::Mul => {
                if left {
                    let factor = self.prim(b);
                    let seed = self.product(seed.clone(), factor);
                    self.pull(a, seed, None)?;
                }
                if !right {
                    return Ok(());
                }
                let factor = self.prim(a);
                let seed = self.product(seed, factor);
                self.pull(b, seed, None)
            }
            BinaryOp::Div => {
                let below = self.prim(b);
                if left {
                    let seed = self.quotient(seed.clone(), below.clone());
                    self.pull(a, seed, None)?;
                }
                if !right {
                    return Ok(());
                }
                let value = match own {
                    Some(own) => own,
                    None => {
                        let above = self.prim(a);
                        self.quotient(above, below.clone())
                    }
                };
                let slope = self.quotient(value, below);
                let seed = self.product(seed, slope);
                let seed = self.negative(seed);
                self.pull(b, seed, None)
            }
            BinaryOp::Min | BinaryOp::Max => {
                let test = if op == BinaryOp::Min { BinaryOp::Le } else { BinaryOp::Ge };
                let (x, y) = (self.prim(a), self.prim(b));
                let span = a.span;
                let first = Expr::new(ExprKind::Binary(test, x, y), Type::BOOL, span);
                let second = negation(&first);
                let mark = self.path.len();
                self.push(Step::Guard(first));
                self.pull(a, seed.clone(), None)?;
                self.path.truncate(mark);
                self.push(Step::Guard(second));
                self.pull(b, seed, None)
            }
            BinaryOp::Pow => {
                if left {
                    let seed = self.power_slope(a, b, seed.clone());
                    self.pull(a, seed, None)?;
                }
                if !right {
                    return Ok(());
                }
                let (x, y) = (self.prim(a), self.prim(b));
                let slope = self.pass.binary_tangent(op, x, y, None, Some(seed), a.span);
                slope.map_or(Ok(()), |seed| self.pull(b, seed, None))
            }
            BinaryOp::Rem | BinaryOp::FloorMod | BinaryOp::Atan2 => {
                let (x, y) = (self.prim(a), self.prim(b));
                if left {
                    let (x, y) = (x.clone(), y.clone());
                    let slope =
                        self.pass.binary_tangent(op, x, y, Some(seed.clone()), None, a.span);
                    if let Some(seed) = slope {
                        self.pull(a, seed, None)?;
                    }
                }
                if !right {
                    return Ok(());
                }
                let slope = self.pass.binary_tangent(op, x, y, None, Some(seed), a.span);
                slope.map_or(Ok(()), |seed| self.pull(b, seed, None))
            }
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::FloorDiv => Ok(()),
        }
    }

    /// `f'(a)` times the cotangent, by way of the value where that is simpler.
    pub(super) fn slope(
        &mut self,
        op: UnaryOp,
        a: Expr,
        own: Option<Expr>,
        seed: Expr,
    ) -> Option<Expr> {
        let (ty, span) = (a.ty.clone(), a.span);
        let number = |it: &Self, value| it.pass.number(&ty, value, span);
        if let Some(own) = own {
            match op {
                UnaryOp::Tanh => {
                    let square = self.product(own.clone(), own);
                    let slope = self.pass.arith(BinaryOp::Sub, number(self, 1.0), square);
                    return Some(self.product(seed, slope));
                }
                UnaryOp::Exp => return Some(self.product(seed, own)),
                UnaryOp::Sqrt => {
                    let twice = self.product(number(self, 2.0), own);
                    return Some(self.quotient(seed, twice));
                }
                _ => {}
            }
        }
        if op == UnaryOp::Neg {
            return Some(self.negative(seed));
        }
        self.pass.unary_tangent(op, a, seed, span)
    }

    /// `b · a^(b - 1)` times the cotangent; a constant exponent is simplified.
    fn power_slope(&mut self, a: &Expr, b: &Expr, seed: Expr) -> Expr {
        let (ty, span) = (a.ty.clone(), a.span);
        let x = self.prim(a);
        if let Some((n, lower)) = crate::autodiff::scalar::lowered(b) {
            let factor = self.pass.number(&ty, n, span);
            if n == 1.0 {
                return seed;
            }
            if n == 2.0 {
                let slope = self.product(factor, x);
                return self.product(seed, slope);
            }
            if n != 0.0 {
                let lower = Expr::new(ExprKind::Const(lower), b.ty.clone(), span);
                let power = Expr::new(ExprKind::Binary(BinaryOp::Pow, x, lower), ty, span);
                let slope = self.product(factor, power);
                return self.product(seed, slope);
            }
        }
        let y = self.prim(b);
        let zero = self.pass.number(&ty, 0.0, span);
        let slope = self.pass.binary_tangent(BinaryOp::Pow, x, y, Some(seed), None, span);
        slope.unwrap_or(zero)
    }

    pub(in crate::autodiff::reverse) fn product(&self, a: Expr, b: Expr) -> Expr {
        match (constant(&a), constant(&b)) {
            (Some(x), Some(y)) => self.pass.number(&a.ty, x * y, a.span),
            (Some(1.0), _) => b,
            (_, Some(1.0)) => a,
            (Some(-1.0), _) => self.negative(b),
            (_, Some(-1.0)) => self.negative(a),
            _ => self.pass.times(a, b),
        }
    }

    pub(in crate::autodiff::reverse) fn quotient(&self, a: Expr, b: Expr) -> Expr {
        match (constant(&a), constant(&b)) {
            (_, Some(1.0)) => a,
            (Some(x), Some(y)) => self.pass.number(&a.ty, x / y, a.span),
            _ => self.pass.arith(BinaryOp::Div, a, b),
        }
    }

    pub(in crate::autodiff::reverse) fn negative(&self, a: Expr) -> Expr {
        match *a.kind {
            ExprKind::Unary(UnaryOp::Neg, inner) => inner,
            ExprKind::Const(_) => match constant(&a) {
                Some(value) => self.pass.number(&a.ty, -value, a.span),
                None => a,
            },
            _ => {
                let (ty, span) = (a.ty.clone(), a.span);
                Expr::new(ExprKind::Unary(UnaryOp::Neg, a), ty, span)
            }
        }
    }
}

/// Whether two reads are the same.
fn same(a: &Expr, b: &Expr) -> bool {
    match (&*a.kind, &*b.kind) {
        (ExprKind::Var(a), ExprKind::Var(b)) => a == b,
        (ExprKind::Const(a), ExprKind::Const(b)) => format!("{a:?}") == format!("{b:?}"),
        (ExprKind::Binary(p, a, b), ExprKind::Binary(q, c, d)) => {
            p == q && same(a, c) && same(b, d)
        }
        (ExprKind::Index { base: a, indices: i }, ExprKind::Index { base: b, indices: j }) => {
            same(a, b)
                && i.len() == j.len()
                && i.iter().zip(j).all(|(i, j)| same(&i.value, &j.value))
        }
        _ => false,
    }
}
