//! The type that a node has by its parts alone.
//!
//! The text of tensor IR leaves a type out where this gives it, and states it everywhere else.

use super::{Axis, Expr, ExprKind, FuncId, HostOp, Reduce, ReduceOp, Type, VarId};
use crate::size;
use ein_scalar::ScalarType;

/// The types that nodes refer to by id.
pub(crate) trait Types {
    /// The type of a variable.
    fn var(&self, var: VarId) -> Option<&Type>;
    /// The result of a function.
    fn ret(&self, func: FuncId) -> Option<&Type>;
}

impl Types for super::Program {
    fn var(&self, var: VarId) -> Option<&Type> {
        self.vars.get(var).map(|var| &var.ty)
    }
    fn ret(&self, func: FuncId) -> Option<&Type> {
        self.funcs.get(func).map(|func| &func.ret)
    }
}

/// The type, if the parts tell.
pub(crate) fn infer(kind: &ExprKind, types: &dyn Types) -> Option<Type> {
    match kind {
        ExprKind::Const(value) => Some(Type::Scalar(value.ty())),
        ExprKind::Str(_) => Some(Type::Str),
        ExprKind::Unit => Some(Type::Unit),
        ExprKind::Var(var) => types.var(*var).cloned(),
        ExprKind::Size(_) => Some(Type::I32),
        ExprKind::Unary(op, a) => op.result_type(plain(a)?).map(Type::Scalar),
        ExprKind::Binary(op, a, b) => op.result_type(plain(a)?, plain(b)?).map(Type::Scalar),
        ExprKind::And(..) | ExprKind::Or(..) => Some(Type::BOOL),
        ExprKind::If { then, .. } => Some(then.ty.clone()),
        ExprKind::Block { value, .. } => Some(value.ty.clone()),
        ExprKind::Match { arms, .. } => arms.first().map(|arm| arm.value.ty.clone()),
        ExprKind::Reduce(reduce) => Some(reduced(reduce)),
        ExprKind::Index { base, indices } => match &base.ty {
            Type::Array(array) if indices.len() <= array.axes.len() => {
                Some(Type::array(array.elem.clone(), array.axes[indices.len()..].to_vec()))
            }
            _ => None,
        },
        ExprKind::Permute { base, order } => {
            let axes = base.ty.axes();
            let moved: Option<Vec<Axis>> = order.iter().map(|at| axes.get(*at).cloned()).collect();
            moved.map(|moved| Type::array(base.ty.elem().clone(), moved))
        }
        ExprKind::Array(items) => {
            let first = items.first()?;
            let extent = size::Expr::constant(i64::try_from(items.len()).ok()?);
            Some(Type::array(first.ty.clone(), vec![Axis::anonymous(extent)]))
        }
        ExprKind::Tuple(items) => {
            Some(Type::Tuple(items.iter().map(|item| item.ty.clone()).collect()))
        }
        ExprKind::TupleGet(tuple, at) => match &tuple.ty {
            Type::Tuple(items) => items.get(*at).cloned(),
            _ => None,
        },
        ExprKind::Call { func, .. } => types.ret(*func).cloned(),
        ExprKind::Range(..) => Some(Type::Range),
        ExprKind::Host(op, _) => host(op),
        ExprKind::Error => Some(Type::Error),
        ExprKind::Cast(_)
        | ExprKind::Tensor(_)
        | ExprKind::Scatter(_)
        | ExprKind::Slice { .. }
        | ExprKind::Gather { .. }
        | ExprKind::Join { .. }
        | ExprKind::Comprehension { .. }
        | ExprKind::Make { .. }
        | ExprKind::FieldGet(..)
        | ExprKind::CallValue { .. }
        | ExprKind::Closure { .. }
        | ExprKind::Specialise { .. }
        | ExprKind::Try(_)
        | ExprKind::Assert { .. }
        | ExprKind::Derivative(_) => None,
    }
}

/// The type of a scalar.
fn plain(e: &Expr) -> Option<ScalarType> {
    match e.ty {
        Type::Scalar(ty) => Some(ty),
        _ => None,
    }
}

/// The type of a reduction.
pub(crate) fn reduced(reduce: &Reduce) -> Type {
    match reduce.op {
        ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min | ReduceOp::Mean => {
            reduce.value.ty.clone()
        }
        ReduceOp::Any | ReduceOp::All => Type::BOOL,
        ReduceOp::Argmax | ReduceOp::Argmin | ReduceOp::Count => Type::I32,
    }
}

/// The type of what the run-time library gives, where it is always the same.
fn host(op: &HostOp) -> Option<Type> {
    match op {
        HostOp::Print | HostOp::Assert => Some(Type::Unit),
        HostOp::Format(_) | HostOp::Concat | HostOp::Repeat | HostOp::CharAt => Some(Type::Str),
        HostOp::Len | HostOp::Compare => Some(Type::I32),
        HostOp::Equal | HostOp::Contains => Some(Type::BOOL),
        HostOp::Shape
        | HostOp::ArrayAppend
        | HostOp::ElementAt
        | HostOp::Input(_)
        | HostOp::Reshape
        | HostOp::Compress
        | HostOp::Iota
        | HostOp::Convert
        | HostOp::ZerosLike
        | HostOp::MergeClosures
        | HostOp::Io(_)
        | HostOp::Plain(_)
        | HostOp::Python(_) => None,
    }
}
