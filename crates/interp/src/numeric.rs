//! Scalar operations: what is common is done here at once, the rest by `ein-scalar`.

use ein_base::Span;
use ein_scalar::{BinaryOp, Scalar, UnaryOp, apply_binary, apply_unary};

use crate::machine::Machine;
use crate::stop::{Stop, show_binary};

impl Machine<'_> {
    /// `a op b`.
    #[inline]
    pub(crate) fn binary(
        &self,
        op: BinaryOp,
        a: Scalar,
        b: Scalar,
        span: Span,
    ) -> Result<Scalar, Stop> {
        let quick = match (a, b) {
            (Scalar::I32(a), Scalar::I32(b)) => quick_i32(op, a, b),
            (Scalar::F32(a), Scalar::F32(b)) => quick_f32(op, a, b),
            (Scalar::F64(a), Scalar::F64(b)) => quick_f64(op, a, b),
            _ => None,
        };
        match quick {
            Some(value) => Ok(value),
            None => self.any_binary(op, a, b, span),
        }
    }

    #[inline(never)]
    fn any_binary(&self, op: BinaryOp, a: Scalar, b: Scalar, span: Span) -> Result<Scalar, Stop> {
        apply_binary(op, a, b, self.overflow)
            .map_err(|error| self.arithmetic(error, span, &show_binary(op, a, b)))
    }

    /// `op a`.
    pub(crate) fn unary(&self, op: UnaryOp, a: Scalar, span: Span) -> Result<Scalar, Stop> {
        apply_unary(op, a, self.overflow).map_err(|error| {
            let text = match op {
                UnaryOp::Neg => format!("-({a}) in `{}`", a.ty()),
                _ => format!("{op}({a}) in `{}`", a.ty()),
            };
            self.arithmetic(error, span, &text)
        })
    }
}

/// What cannot fail, or does not here.
#[inline]
fn quick_i32(op: BinaryOp, a: i32, b: i32) -> Option<Scalar> {
    match op {
        BinaryOp::Add => a.checked_add(b).map(Scalar::I32),
        BinaryOp::Sub => a.checked_sub(b).map(Scalar::I32),
        BinaryOp::Mul => a.checked_mul(b).map(Scalar::I32),
        BinaryOp::Div => a.checked_div(b).map(Scalar::I32),
        BinaryOp::Rem => a.checked_rem(b).map(Scalar::I32),
        BinaryOp::Eq => Some(Scalar::Bool(a == b)),
        BinaryOp::Ne => Some(Scalar::Bool(a != b)),
        BinaryOp::Lt => Some(Scalar::Bool(a < b)),
        BinaryOp::Le => Some(Scalar::Bool(a <= b)),
        BinaryOp::Gt => Some(Scalar::Bool(a > b)),
        BinaryOp::Ge => Some(Scalar::Bool(a >= b)),
        BinaryOp::Min => Some(Scalar::I32(a.min(b))),
        BinaryOp::Max => Some(Scalar::I32(a.max(b))),
        BinaryOp::Pow | BinaryOp::And | BinaryOp::Or | BinaryOp::Atan2 => None,
        BinaryOp::FloorDiv | BinaryOp::FloorMod => None,
    }
}

macro_rules! quick_float {
    ($name:ident, $float:ident, $variant:ident) => {
        #[inline]
        fn $name(op: BinaryOp, a: $float, b: $float) -> Option<Scalar> {
            match op {
                BinaryOp::Add => Some(Scalar::$variant(a + b)),
                BinaryOp::Sub => Some(Scalar::$variant(a - b)),
                BinaryOp::Mul => Some(Scalar::$variant(a * b)),
                BinaryOp::Div => Some(Scalar::$variant(a / b)),
                BinaryOp::Eq => Some(Scalar::Bool(a == b)),
                BinaryOp::Ne => Some(Scalar::Bool(a != b)),
                BinaryOp::Lt => Some(Scalar::Bool(a < b)),
                BinaryOp::Le => Some(Scalar::Bool(a <= b)),
                BinaryOp::Gt => Some(Scalar::Bool(a > b)),
                BinaryOp::Ge => Some(Scalar::Bool(a >= b)),
                BinaryOp::Rem | BinaryOp::Pow | BinaryOp::Min | BinaryOp::Max => None,
                BinaryOp::And | BinaryOp::Or | BinaryOp::Atan2 => None,
                BinaryOp::FloorDiv | BinaryOp::FloorMod => None,
            }
        }
    };
}

quick_float!(quick_f32, f32, F32);
quick_float!(quick_f64, f64, F64);
