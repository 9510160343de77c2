//! Intervals: what the register of a node can hold, from what those of its operands can.

use super::{Arr, Fact, Kind, Node, Points, Range, Reduction};
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, ScalarType};

impl Points {
    /// The interval of a node of an integer type that is made of these operands.
    pub(super) fn interval(&self, kind: &Kind, ty: ScalarType) -> Option<Range> {
        let limits = ty.int_range()?;
        let of = |node: Node| self.nodes[node].range;
        let known = match kind {
            Kind::Const(value) => value.as_i128().map(|value| (value, value)),
            Kind::Index(ix) => Some(self.ixs[*ix].range),
            Kind::Load(arr, at) => self.known_cells(*arr, at),
            Kind::Clamp { at, extent, .. } => {
                let most = i128::from(extent - 1).max(0);
                let (lo, hi) = of(*at).unwrap_or((0, most));
                Some((lo.clamp(0, most), hi.clamp(0, most)))
            }
            Kind::Binary(op, a, b) => of(*a).zip(of(*b)).and_then(|(a, b)| result_range(*op, a, b)),
            Kind::Cast(a) => of(*a).filter(|(lo, hi)| limits.0 <= *lo && *hi <= limits.1),
            Kind::Select(_, a, b) => {
                of(*a).zip(of(*b)).map(|((lo, hi), (least, most))| (lo.min(least), hi.max(most)))
            }
            Kind::Reduce(reduction) => self.reduced_range(reduction, ty),
            // Where a checked operation fails its register holds some number of its type.
            Kind::Unary(..) | Kind::Checked(..) | Kind::Wrapping(..) => None,
        };
        Some(known.unwrap_or(limits))
    }

    /// The type and the interval of a node that follow from what it is made of; a conversion is to
    /// the type `to`.
    pub(super) fn plain(&self, kind: &Kind, to: ScalarType) -> Option<(ScalarType, Option<Range>)> {
        let of = |node: Node| self.nodes[node].ty;
        let ty = match kind {
            Kind::Const(value) => value.ty(),
            Kind::Index(_) => ScalarType::I32,
            Kind::Load(arr, _) => self.arrs[*arr].ty,
            Kind::Clamp { at, .. } => of(*at),
            Kind::Unary(op, a) => op.result_type(of(*a))?,
            Kind::Binary(op, a, b) | Kind::Checked(op, a, b, _) | Kind::Wrapping(op, a, b) => {
                op.result_type(of(*a), of(*b))?
            }
            Kind::Cast(_) => to,
            Kind::Select(_, a, _) => of(*a),
            Kind::Reduce(reduction) => match reduction.op {
                ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Max | ReduceOp::Min | ReduceOp::Mean => {
                    of(reduction.body)
                }
                ReduceOp::Any | ReduceOp::All => ScalarType::Bool,
                ReduceOp::Argmax | ReduceOp::Argmin | ReduceOp::Count => ScalarType::I32,
            },
        };
        Some((ty, self.interval(kind, ty)))
    }

    /// The interval of the cells at some positions. A position that had to be brought inside may be
    /// one that nothing has been written to yet.
    fn known_cells(&self, arr: Arr, at: &[Node]) -> Option<Range> {
        let facts = self.facts.get(&arr)?;
        let brought = |node: Node| matches!(self.nodes[node].kind, Kind::Clamp { .. });
        if self.below(at).into_iter().any(brought) {
            return None;
        }
        let holds = |fact: &&Fact| {
            let (lo, hi) = fact.steps;
            let place = at.get(fact.axis).and_then(|at| self.nodes[*at].range);
            place.is_some_and(|(first, end)| lo <= first && end <= hi)
        };
        facts.iter().find(holds).map(|fact| fact.range)
    }

    fn reduced_range(&self, reduction: &Reduction, ty: ScalarType) -> Option<Range> {
        let body = self.nodes[reduction.body].range;
        match reduction.op {
            // Of no points it is what the accumulator begins with.
            _ if self.may_lack_points(reduction) => ty.int_range(),
            ReduceOp::Max | ReduceOp::Min => body,
            ReduceOp::Count if self.may_overflow(reduction, ty) => ty.int_range(),
            ReduceOp::Count => Some((0, i128::from(i32::MAX))),
            ReduceOp::Argmax | ReduceOp::Argmin => match reduction.binders.as_slice() {
                [(ix, ..)] => Some(self.ixs[*ix].range),
                _ => Some((0, i128::from(i32::MAX))),
            },
            ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Mean => ty.int_range(),
            ReduceOp::Any | ReduceOp::All => None,
        }
    }
}

/// The results of an operation on values of two intervals; of a comparison 0 for no and 1 for yes.
/// `None` if nothing is known or it may fail.
pub(super) fn result_range(op: BinaryOp, a: Range, b: Range) -> Option<Range> {
    let corners = |f: &dyn Fn(i128, i128) -> Option<i128>| {
        let all = [f(a.0, b.0)?, f(a.0, b.1)?, f(a.1, b.0)?, f(a.1, b.1)?];
        Some((*all.iter().min()?, *all.iter().max()?))
    };
    let known = |yes: bool, no: bool| match (yes, no) {
        (true, _) => Some((1, 1)),
        (_, true) => Some((0, 0)),
        _ => Some((0, 1)),
    };
    match op {
        BinaryOp::Add => Some((a.0 + b.0, a.1 + b.1)),
        BinaryOp::Sub => Some((a.0 - b.1, a.1 - b.0)),
        BinaryOp::Mul => corners(&i128::checked_mul),
        BinaryOp::Div if b.0 > 0 || b.1 < 0 => corners(&i128::checked_div),
        BinaryOp::FloorDiv if b.0 > 0 => corners(&i128::checked_div_euclid),
        BinaryOp::FloorMod if b.0 > 0 => {
            if a.0 >= 0 && a.1 < b.0 {
                Some(a)
            } else {
                Some((0, b.1 - 1))
            }
        }
        BinaryOp::Rem if b.0 > 0 => {
            let most = b.1 - 1;
            let hi = a.1.clamp(0, most);
            let lo = a.0.clamp(-most, 0);
            if a.0 >= 0 && a.1 < b.0 { Some(a) } else { Some((lo, hi)) }
        }
        BinaryOp::Min => Some((a.0.min(b.0), a.1.min(b.1))),
        BinaryOp::Max => Some((a.0.max(b.0), a.1.max(b.1))),
        BinaryOp::Lt => known(a.1 < b.0, a.0 >= b.1),
        BinaryOp::Le => known(a.1 <= b.0, a.0 > b.1),
        BinaryOp::Gt => known(a.0 > b.1, a.1 <= b.0),
        BinaryOp::Ge => known(a.0 >= b.1, a.1 < b.0),
        BinaryOp::Eq => known(a.0 == a.1 && a == b, a.1 < b.0 || b.1 < a.0),
        BinaryOp::Ne => known(a.1 < b.0 || b.1 < a.0, a.0 == a.1 && a == b),
        BinaryOp::Div | BinaryOp::Rem | BinaryOp::FloorDiv | BinaryOp::FloorMod => None,
        BinaryOp::Pow | BinaryOp::And | BinaryOp::Or | BinaryOp::Atan2 => None,
    }
}
