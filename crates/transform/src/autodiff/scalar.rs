//! The derivative of every scalar operation.

use super::Pass;
use ein_base::Span;
use ein_ir::tensor::{Expr, ExprKind, Type};
use ein_scalar::{BinaryOp, Scalar, UnaryOp};

impl Pass<'_> {
    /// `f'(a) · da`
    pub(super) fn unary_tangent(
        &mut self,
        op: UnaryOp,
        a: Expr,
        da: Expr,
        span: Span,
    ) -> Option<Expr> {
        let ty = a.ty.clone();
        let number = |pass: &Self, value| pass.number(&ty, value, span);
        let apply = |op, a: &Expr| Expr::new(ExprKind::Unary(op, a.clone()), ty.clone(), span);
        let square = |pass: &Self, a: &Expr| pass.times(a.clone(), a.clone());
        Some(match op {
            UnaryOp::Neg => Expr::new(ExprKind::Unary(UnaryOp::Neg, da), ty, span),
            UnaryOp::Abs => self.times(apply(UnaryOp::Sign, &a), da),
            UnaryOp::Sqrt => {
                let twice = self.times(number(self, 2.0), apply(UnaryOp::Sqrt, &a));
                self.arith(BinaryOp::Div, da, twice)
            }
            UnaryOp::Rsqrt => {
                let slope = self.times(number(self, -0.5), apply(UnaryOp::Rsqrt, &a));
                let slope = self.arith(BinaryOp::Div, slope, a);
                self.times(slope, da)
            }
            UnaryOp::Exp => self.times(apply(UnaryOp::Exp, &a), da),
            UnaryOp::Expm1 => self.times(apply(UnaryOp::Exp, &a), da),
            UnaryOp::Exp2 => {
                let slope =
                    self.times(number(self, std::f64::consts::LN_2), apply(UnaryOp::Exp2, &a));
                self.times(slope, da)
            }
            UnaryOp::Log => self.arith(BinaryOp::Div, da, a),
            UnaryOp::Log1p => {
                let below = self.arith(BinaryOp::Add, number(self, 1.0), a);
                self.arith(BinaryOp::Div, da, below)
            }
            UnaryOp::Log2 => {
                let below = self.times(a, number(self, std::f64::consts::LN_2));
                self.arith(BinaryOp::Div, da, below)
            }
            UnaryOp::Log10 => {
                let below = self.times(a, number(self, std::f64::consts::LN_10));
                self.arith(BinaryOp::Div, da, below)
            }
            UnaryOp::Sin => self.times(apply(UnaryOp::Cos, &a), da),
            UnaryOp::Cos => {
                let slope = apply(UnaryOp::Sin, &a);
                let slope = Expr::new(ExprKind::Unary(UnaryOp::Neg, slope), ty, span);
                self.times(slope, da)
            }
            UnaryOp::Tan => {
                let tan = apply(UnaryOp::Tan, &a);
                let slope = self.arith(BinaryOp::Add, number(self, 1.0), square(self, &tan));
                self.times(slope, da)
            }
            UnaryOp::Asin | UnaryOp::Acos => {
                let inside = self.arith(BinaryOp::Sub, number(self, 1.0), square(self, &a));
                let root = apply(UnaryOp::Sqrt, &inside);
                let slope = self.arith(BinaryOp::Div, da, root);
                match op {
                    UnaryOp::Acos => Expr::new(ExprKind::Unary(UnaryOp::Neg, slope), ty, span),
                    _ => slope,
                }
            }
            UnaryOp::Atan => {
                let below = self.arith(BinaryOp::Add, number(self, 1.0), square(self, &a));
                self.arith(BinaryOp::Div, da, below)
            }
            UnaryOp::Sinh => self.times(apply(UnaryOp::Cosh, &a), da),
            UnaryOp::Cosh => self.times(apply(UnaryOp::Sinh, &a), da),
            UnaryOp::Tanh => {
                let tanh = apply(UnaryOp::Tanh, &a);
                let slope = self.arith(BinaryOp::Sub, number(self, 1.0), square(self, &tanh));
                self.times(slope, da)
            }
            UnaryOp::Asinh => {
                let inside = self.arith(BinaryOp::Add, square(self, &a), number(self, 1.0));
                self.arith(BinaryOp::Div, da, apply(UnaryOp::Sqrt, &inside))
            }
            UnaryOp::Acosh => {
                let inside = self.arith(BinaryOp::Sub, square(self, &a), number(self, 1.0));
                self.arith(BinaryOp::Div, da, apply(UnaryOp::Sqrt, &inside))
            }
            UnaryOp::Atanh => {
                let below = self.arith(BinaryOp::Sub, number(self, 1.0), square(self, &a));
                self.arith(BinaryOp::Div, da, below)
            }
            UnaryOp::Erf => {
                let inside = square(self, &a);
                let inside = Expr::new(ExprKind::Unary(UnaryOp::Neg, inside), ty.clone(), span);
                let bell = apply(UnaryOp::Exp, &inside);
                let slope = self.times(number(self, std::f64::consts::FRAC_2_SQRT_PI), bell);
                self.times(slope, da)
            }
            UnaryOp::Not
            | UnaryOp::Sign
            | UnaryOp::Floor
            | UnaryOp::Ceil
            | UnaryOp::Round
            | UnaryOp::Trunc
            | UnaryOp::IsNan
            | UnaryOp::IsInf
            | UnaryOp::IsFinite => return None,
        })
    }

    /// `∂f/∂a · da + ∂f/∂b · db`
    pub(super) fn binary_tangent(
        &mut self,
        op: BinaryOp,
        a: Expr,
        b: Expr,
        da: Option<Expr>,
        db: Option<Expr>,
        span: Span,
    ) -> Option<Expr> {
        let ty = a.ty.clone();
        match op {
            BinaryOp::Add => self.plus(da, db),
            BinaryOp::Sub => {
                let db = db.map(|db| self.negated(db));
                self.plus(da, db)
            }
            BinaryOp::Mul => {
                let left = da.map(|da| self.times(da, b.clone()));
                let right = db.map(|db| self.times(a.clone(), db));
                self.plus(left, right)
            }
            BinaryOp::Div => {
                // (da - (a / b) · db) / b
                let quotient = self.arith(BinaryOp::Div, a, b.clone());
                let right = db.map(|db| {
                    let product = self.times(quotient, db);
                    self.negated(product)
                });
                let sum = self.plus(da, right)?;
                Some(self.arith(BinaryOp::Div, sum, b))
            }
            BinaryOp::Rem | BinaryOp::FloorMod => {
                let round = if op == BinaryOp::Rem { UnaryOp::Trunc } else { UnaryOp::Floor };
                let quotient = self.arith(BinaryOp::Div, a, b);
                let whole = Expr::new(ExprKind::Unary(round, quotient), ty, span);
                let right = db.map(|db| {
                    let product = self.times(whole, db);
                    self.negated(product)
                });
                self.plus(da, right)
            }
            BinaryOp::Pow => self.power_tangent(a, b, da, db, span),
            BinaryOp::Min | BinaryOp::Max => {
                let test = if op == BinaryOp::Min { BinaryOp::Le } else { BinaryOp::Ge };
                let cond =
                    Expr::new(ExprKind::Binary(test, a.clone(), b.clone()), Type::BOOL, span);
                let then = da.unwrap_or_else(|| self.number(&ty, 0.0, span));
                let otherwise = db.unwrap_or_else(|| self.number(&ty, 0.0, span));
                Some(Expr::new(ExprKind::If { cond, then, otherwise }, ty, span))
            }
            BinaryOp::Atan2 => {
                // (b · da - a · db) / (a² + b²)
                let left = da.map(|da| self.times(b.clone(), da));
                let right = db.map(|db| {
                    let product = self.times(a.clone(), db);
                    self.negated(product)
                });
                let sum = self.plus(left, right)?;
                let below = self.arith(
                    BinaryOp::Add,
                    self.times(a.clone(), a.clone()),
                    self.times(b.clone(), b),
                );
                Some(self.arith(BinaryOp::Div, sum, below))
            }
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge
            | BinaryOp::And
            | BinaryOp::Or
            | BinaryOp::FloorDiv => None,
        }
    }

    /// `b · a^(b - 1) · da + ln(a) · a^b · db`, with the limits at zero.
    fn power_tangent(
        &mut self,
        a: Expr,
        b: Expr,
        da: Option<Expr>,
        db: Option<Expr>,
        span: Span,
    ) -> Option<Expr> {
        let ty = a.ty.clone();
        let exponent_ty = b.ty.clone();
        let zero = self.number(&ty, 0.0, span);
        if let (Some(da), None, Some((n, lower))) = (&da, &db, lowered(&b)) {
            // The exponent is known: n · a^(n - 1) · da
            if n == 0.0 {
                return None;
            }
            let lower = Expr::new(ExprKind::Const(lower), exponent_ty, span);
            let power = Expr::new(ExprKind::Binary(BinaryOp::Pow, a, lower), ty.clone(), span);
            let slope = self.times(self.number(&ty, n, span), power);
            return Some(self.times(slope, da.clone()));
        }
        let left = da.map(|da| {
            let one = match exponent_ty.scalar() {
                Some(scalar) => Expr::new(
                    ExprKind::Const(ein_scalar::Scalar::one(scalar)),
                    exponent_ty.clone(),
                    span,
                ),
                None => Expr::error(span),
            };
            let lower = self.arith(BinaryOp::Sub, b.clone(), one);
            let power =
                Expr::new(ExprKind::Binary(BinaryOp::Pow, a.clone(), lower), ty.clone(), span);
            let factor = if exponent_ty == ty {
                b.clone()
            } else {
                Expr::new(ExprKind::Cast(b.clone()), ty.clone(), span)
            };
            let slope = self.times(factor, power);
            let value = self.times(slope, da);
            // x ** 0 is constant, also at zero.
            let none = match exponent_ty.scalar() {
                Some(scalar) => Expr::new(
                    ExprKind::Const(ein_scalar::Scalar::zero(scalar)),
                    exponent_ty.clone(),
                    span,
                ),
                None => Expr::error(span),
            };
            let cond = Expr::new(ExprKind::Binary(BinaryOp::Eq, b.clone(), none), Type::BOOL, span);
            let kind = ExprKind::If { cond, then: zero.clone(), otherwise: value };
            Expr::new(kind, ty.clone(), span)
        });
        let right = db.map(|db| {
            let log = Expr::new(ExprKind::Unary(UnaryOp::Log, a.clone()), ty.clone(), span);
            let power =
                Expr::new(ExprKind::Binary(BinaryOp::Pow, a.clone(), b.clone()), ty.clone(), span);
            let slope = self.times(log, power);
            let value = self.times(slope, db);
            let cond = Expr::new(
                ExprKind::Binary(BinaryOp::Eq, a.clone(), zero.clone()),
                Type::BOOL,
                span,
            );
            let kind = ExprKind::If { cond, then: zero.clone(), otherwise: value };
            Expr::new(kind, ty.clone(), span)
        });
        self.plus(left, right)
    }

    fn plus(&self, a: Option<Expr>, b: Option<Expr>) -> Option<Expr> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.arith(BinaryOp::Add, a, b)),
            (a, b) => a.or(b),
        }
    }

    fn negated(&self, a: Expr) -> Expr {
        let (ty, span) = (a.ty.clone(), a.span);
        Expr::new(ExprKind::Unary(UnaryOp::Neg, a), ty, span)
    }
}

/// The value of a constant exponent, and the exponent that is one less.
pub(super) fn lowered(e: &Expr) -> Option<(f64, Scalar)> {
    let ExprKind::Const(exponent) = &*e.kind else { return None };
    let n = exponent.as_f64();
    let lower = match exponent.as_i64() {
        Some(n) if exponent.ty().is_int() => Scalar::from_i128(i128::from(n) - 1, exponent.ty()),
        _ => Scalar::from_f64(n - 1.0, exponent.ty()),
    };
    lower.map(|lower| (n, lower))
}
