//! Short rows of extremes with their addresses, as if all terms were numbers.
//!
//! Before:  `better = !(x <= best) & best is a number`, `best = better ? x : best`: a chain of two
//!          comparisons and a choice for every term
//! After:   `better = x > best`, `best = better ? x : best`, which is one instruction, and the sum of the
//!          terms beside it; if one of the sums is no number, or an extreme that is asked for is zero,
//!          all of it again as before
//!
//! Needs: floats, in rows that stay in registers: in longer ones nothing waits for a comparison.
//!
//! Failures: terms fail in the first pass as they would in the second. A sum is no number wherever a
//! term is none, and it may be none for other reasons: then the second pass is made in vain.

use super::{Row, clear_rows, settle_zeros};
use crate::points::{Arr, Ix, Node, Subst};
use crate::schedule::emit::{AxisPlace, Emit};
use crate::schedule::nest::Loop;
use ein_ir::loops::{ForKind, Op, Operand, Reg, Stmt};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

/// Rows of at most so many bytes stay in registers, with their addresses and sums.
const BYTES: i64 = 512;

/// What some rows of accumulators have in common.
pub(super) struct OfRows<'a> {
    /// The indices of the terms.
    pub(super) binders: &'a [Loop],
    /// The loop over the cells of the rows, and its index.
    pub(super) rest: Loop,
    pub(super) place: Node,
    /// The first address.
    pub(super) start: i32,
}

/// Takes all terms into rows of accumulators.
pub(super) fn fill(emit: &mut Emit, accs: &[Row], of: &OfRows<'_>, (size, origin): (i64, Reg)) {
    let bytes = |arr: Arr, emit: &Emit| size * emit.points.arrs[arr].ty.size_bytes() as i64;
    let fits = accs.iter().all(|row| {
        let float = emit.points.arrs[row.acc].ty.is_float();
        row.places.is_some() && float && bytes(row.acc, emit) <= BYTES
    });
    if !fits || emit.points.careful {
        return as_they_are(emit, accs, of);
    }
    let with_sums = |row: &Row| {
        let ty = emit.points.arrs[row.acc].ty;
        Row { sums: Some(emit.row(ty, size, AxisPlace::From(1, origin))), ..*row }
    };
    let quick: Vec<Row> = accs.iter().map(with_sums).collect();
    clear_rows(emit, &quick, of.rest, of.place, of.start);
    emit.row_loop(of.rest, |emit| {
        for row in &quick {
            let zero = Scalar::zero(emit.points.arrs[row.acc].ty);
            row.sums.into_iter().for_each(|sums| {
                emit.store(sums, &[of.place], Operand::Const(zero));
            });
        }
    });
    emit.fill_rows(&quick, of.binders, of.rest, of.place);
    let again = has_doubts(emit, &quick, of);
    emit.open_block();
    as_they_are(emit, accs, of);
    let block = emit.close_block();
    emit.push(Stmt::If(again, block, Vec::new()));
}

/// The same with a comparison that knows what is no number.
fn as_they_are(emit: &mut Emit, accs: &[Row], of: &OfRows<'_>) {
    clear_rows(emit, accs, of.rest, of.place, of.start);
    emit.fill_rows(accs, of.binders, of.rest, of.place);
    settle_zeros(emit, accs, of.binders, of.rest, of.place);
}

/// Takes terms into a row of extremes with their addresses: the first of equal ones stays.
pub(super) fn compare(
    emit: &mut Emit,
    row: &Row,
    place: Node,
    (ix, terms): (Ix, &[Node]),
    (mut best, mut at): (Operand, Operand),
) {
    let (Some(places), Some(sums)) = (row.places, row.sums) else { return };
    let ty = emit.points.arrs[row.acc].ty;
    let (addr, _) = emit.address(sums, &[place]);
    let mut sum = emit.let_here(ty, Op::Load(addr));
    let better = if row.op == BinaryOp::Max { BinaryOp::Gt } else { BinaryOp::Lt };
    for term in terms {
        let body = Subst::one(ix, *term).apply(&mut emit.points, row.body);
        let (value, here) = (emit.value(body), emit.value(*term));
        let is_better = emit.let_here(ScalarType::Bool, Op::Binary(better, value, best));
        best = emit.let_here(ty, Op::Select(is_better, value, best));
        at = emit.let_here(ScalarType::I32, Op::Select(is_better, here, at));
        sum = emit.let_here(ty, Op::Binary(BinaryOp::Add, sum, value));
    }
    emit.store(row.acc, &[place], best);
    emit.store(places, &[place], at);
    emit.store(sums, &[place], sum);
}

/// Whether one of the terms may be no number, or an extreme that is asked for is zero: to an address
/// zeros of both signs are equal.
fn has_doubts(emit: &mut Emit, rows: &[Row], of: &OfRows<'_>) -> Operand {
    let bool = ScalarType::Bool;
    let some = emit.reg(bool);
    emit.push(Stmt::Var(some, Operand::Const(Scalar::Bool(false))));
    let (lo, hi) = (emit.bound_value(of.rest.1), emit.bound_value(of.rest.2));
    emit.open(of.rest.0, lo, hi, ForKind::Vector { reductions: vec![(some, BinaryOp::Or)] });
    let mut doubts = Vec::new();
    for row in rows {
        let ty = emit.points.arrs[row.acc].ty;
        if row.both {
            let (addr, _) = emit.address(row.acc, &[of.place]);
            let held = emit.let_here(ty, Op::Load(addr));
            let zero = Op::Binary(BinaryOp::Eq, held, Operand::Const(Scalar::zero(ty)));
            doubts.push(emit.let_here(bool, zero));
        }
        if let Some(sums) = row.sums {
            let (addr, _) = emit.address(sums, &[of.place]);
            let sum = emit.let_here(ty, Op::Load(addr));
            doubts.push(emit.let_here(bool, Op::Unary(UnaryOp::IsNan, sum)));
        }
    }
    let either = |emit: &mut Emit, a, b| emit.let_here(bool, Op::Binary(BinaryOp::Or, a, b));
    let doubt = doubts.into_iter().reduce(|a, b| either(emit, a, b));
    let doubt = doubt.unwrap_or(Operand::Const(Scalar::Bool(false)));
    let any = either(emit, Operand::Reg(some), doubt);
    emit.push(Stmt::Set(some, any));
    emit.close();
    Operand::Reg(some)
}
