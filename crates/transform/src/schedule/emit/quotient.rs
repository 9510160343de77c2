//! Quotients in vectors: by a reciprocal that is known, and of integers.

use super::Emit;
use crate::points::{Kind, Node};
use ein_ir::loops::{Op, Operand};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

impl Emit {
    /// A quotient by a number whose reciprocal `r` is known: `x r`, corrected by what it misses. A
    /// quotient that is infinite or not a number is right without the correction. What is hoisted
    /// out of the scope in which `r` is known is divided.
    pub(super) fn divided(&mut self, a: Node, b: Node, ty: ScalarType) -> (Operand, usize) {
        let ((x, la), (d, lb)) = (self.valued(a), self.valued(b));
        let level = la.max(lb);
        let (r, known) = self.reciprocals[&b];
        if level <= known {
            return (self.let_at(level, ty, Op::Binary(BinaryOp::Div, x, d)), level);
        }
        let q = self.let_at(level, ty, Op::Binary(BinaryOp::Mul, x, r));
        let minus = self.let_at(level, ty, Op::Unary(UnaryOp::Neg, q));
        let missing = self.let_at(level, ty, Op::MulAdd(minus, d, x));
        let better = self.let_at(level, ty, Op::MulAdd(missing, r, q));
        let is_number = Op::Binary(BinaryOp::Eq, better, better);
        let is_number = self.let_at(level, ScalarType::Bool, is_number);
        (self.let_at(level, ty, Op::Select(is_number, better, q)), level)
    }

    /// The reciprocal of a constant of ordinary size, and what it lacks, if it is not exact: the sum
    /// of a product with each is the quotient, also of infinities, because both have one sign.
    pub(super) fn inverse_of(&self, divisor: Node) -> Option<(Operand, Option<Operand>)> {
        let Kind::Const(value) = self.points.nodes[divisor].kind else { return None };
        let ordinary = |value: f64| (1e-30..1e30).contains(&value.abs());
        let (first, more) = match value {
            Scalar::F32(value) if ordinary(value.into()) => {
                let inverse = 1.0 / f64::from(value);
                let near = inverse as f32;
                let less = f64::from(near).abs() <= inverse.abs();
                let first = if less { near } else { f32::from_bits(near.to_bits() - 1) };
                let more = (inverse - f64::from(first)) as f32;
                (Scalar::F32(first), (more != 0.0).then_some(Scalar::F32(more)))
            }
            Scalar::F64(value) if ordinary(value) => {
                let lacks = |near: f64| (-value).mul_add(near, 1.0) / value;
                let near = 1.0 / value;
                let less = lacks(near) * near >= 0.0;
                let first = if less { near } else { f64::from_bits(near.to_bits() - 1) };
                let more = lacks(first);
                (Scalar::F64(first), (more != 0.0).then_some(Scalar::F64(more)))
            }
            _ => return None,
        };
        Some((Operand::Const(first), more.map(Operand::Const)))
    }
}

/// An operation whose result is in range. There is no division of integers in vectors: those of 32 bits are
/// divided as `f64`, where a quotient that is no integer is farther from the next one than it is rounded.
pub(super) fn in_range(
    emit: &mut Emit,
    op: BinaryOp,
    [x, y]: [Operand; 2],
    (ty, level): (ScalarType, usize),
) -> Operand {
    let divides = matches!(op, BinaryOp::Div | BinaryOp::Rem) && ty == ScalarType::I32;
    if !divides || matches!(y, Operand::Const(_)) || !emit.is_vector(level) {
        return emit.let_at(level, ty, Op::Binary(op, x, y));
    }
    let [a, b] = [x, y].map(|it| emit.let_at(level, ScalarType::F64, Op::Cast(it)));
    let whole = emit.let_at(level, ScalarType::F64, Op::Binary(BinaryOp::Div, a, b));
    let whole = emit.let_at(level, ty, Op::Cast(whole));
    if op == BinaryOp::Div {
        return whole;
    }
    let product = emit.let_at(level, ty, Op::Binary(BinaryOp::Mul, whole, y));
    emit.let_at(level, ty, Op::Binary(BinaryOp::Sub, x, product))
}
