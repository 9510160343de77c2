//! What the run-time library does: conversions are linear, the rest does not move or is refused.

use super::Pass;
use super::tangent::Tangents;
use ein_ir::tensor::{Expr, ExprKind, HostOp};

impl Pass<'_> {
    pub(super) fn host_tangent(
        &mut self,
        op: &HostOp,
        args: &[Expr],
        e: &Expr,
        t: &mut Tangents,
    ) -> Option<Expr> {
        let span = e.span;
        match op {
            // Linear in the first argument.
            HostOp::Reshape | HostOp::Compress | HostOp::Convert | HostOp::ElementAt => {
                let (first, rest) = args.split_first()?;
                let mut all = vec![self.tangent(first, t)?];
                all.extend(rest.iter().map(|arg| self.primal(arg, t)));
                Some(Expr::new(ExprKind::Host(op.clone(), all), e.ty.clone(), span))
            }
            HostOp::ArrayAppend => {
                let all = self.all_tangents(args, t)?;
                Some(Expr::new(ExprKind::Host(op.clone(), all), e.ty.clone(), span))
            }
            HostOp::MergeClosures => {
                let all = self.all_tangents(args, t)?;
                Some(Expr::new(ExprKind::Host(op.clone(), all), e.ty.clone(), span))
            }
            HostOp::Input(_) | HostOp::ZerosLike | HostOp::Iota => None,
            HostOp::Io(_) => {
                let moving = args.iter().any(|arg| self.tangent(arg, t).is_some());
                moving.then(|| self.refuse(span, "reading and writing files has no derivative"))
            }
            HostOp::Plain(_) => {
                let moving = args.iter().any(|arg| self.tangent(arg, t).is_some());
                moving.then(|| self.refuse(span, "texts and pictures have no derivative"))
            }
            HostOp::Python(path) => {
                let moving = args.iter().any(|arg| self.tangent(arg, t).is_some());
                let what = format!("`{path}` of Python has no derivative: give one with `@fn`");
                moving.then(|| self.refuse(span, &what))
            }
            HostOp::Print
            | HostOp::Assert
            | HostOp::Format(_)
            | HostOp::Len
            | HostOp::Shape
            | HostOp::Equal
            | HostOp::Compare
            | HostOp::Concat
            | HostOp::Repeat
            | HostOp::CharAt
            | HostOp::Contains => None,
        }
    }
}
