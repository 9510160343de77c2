//! Reductions of floats with an accumulator for each lane, and short loops in pieces.
//!
//! What is left to a compiler of loops it combines one lane after the other, and the last terms
//! it takes in one by one: more than all the rest where a few vectors of terms are reduced. Here the
//! lanes are combined by halves, and the last terms are one more vector, in which lanes behind the end
//! do nothing. There are two vectors of lanes where a few variables would wait for each addition. Where
//! elements may just have been written one by one, a vector of them would wait until all are in memory:
//! there the last terms are taken in one by one.

use crate::cost::Cost;
use crate::loops::lanes::{Reduction, Sums, Tail, Update};
use crate::loops::{Buf, For, Kernel, Op, Operand, Stmt};
use ein_scalar::{BinaryOp, ScalarType};
use std::collections::BTreeSet;

/// At most so many variables, in a body of so many statements, have two vectors of lanes.
const TWICE: (usize, usize) = (4, 24);

/// Loops of so many turns of such bodies are written out.
const UNROLLED: std::ops::RangeInclusive<i64> = 2..=8;

/// The longest loops that are cut into several, and the longest bodies of them.
const PIECES: (i64, usize) = (128, 32);

/// The least bytes of a vector.
const SHORTEST: i64 = 16;

/// The accumulators of a loop that only reduces, if they are numbers of one size that are combined in
/// any order.
pub(super) fn find(
    kernel: &Kernel,
    inner: &For,
    reduced: &[Reduction],
    cost: Cost,
    single: &BTreeSet<Buf>,
) -> Option<Sums> {
    let values = |stmt: &Stmt| matches!(stmt, Stmt::Let(..) | Stmt::Set(..));
    if reduced.is_empty() || !inner.body.iter().all(values) {
        return None;
    }
    let types: Vec<ScalarType> = reduced.iter().map(|it| kernel.regs[it.var]).collect();
    let by_lanes = |it: &Reduction| {
        matches!(it.op, BinaryOp::Add | BinaryOp::Min | BinaryOp::Max)
            && !matches!(it.update, Update::Outside(..))
    };
    let is_float = |ty: &ScalarType| matches!(ty, ScalarType::F32 | ScalarType::F64);
    if !reduced.iter().all(by_lanes)
        || !types.iter().all(is_float)
        || types.iter().any(|ty| *ty != types[0])
    {
        return None;
    }
    let lanes = cost.accumulator_bytes() / types[0].size_bytes() as i64;
    let extent = inner.extent();
    let few = reduced.len() <= TWICE.0 && inner.body.len() <= TWICE.1;
    let long = extent.is_none_or(|extent| extent >= 2 * lanes);
    let vectors = if few && long { 2 } else { 1 };
    let mut turns = Vec::new();
    // What is left for one vector after those of two.
    let mut left = extent;
    for count in if vectors > 1 { vec![2 * lanes, lanes] } else { vec![lanes] } {
        if left.is_none_or(|left| left >= count) {
            let written_out = left.map(|left| left / count);
            turns.push((count, written_out.filter(|turns| few && UNROLLED.contains(turns))));
        }
        left = left.map(|left| left % count);
    }
    let reads_single = inner
        .body
        .iter()
        .any(|stmt| matches!(stmt, Stmt::Let(_, Op::Load(addr)) if single.contains(&addr.buf)));
    let tail = match reads_single {
        _ if extent.is_some_and(|extent| extent % lanes == 0) => Tail::None,
        true => Tail::Single,
        false => Tail::Masked,
    };
    Some(Sums { lanes, vectors, turns, tail })
}

/// The parts of a short loop of which each is whole vectors, ever shorter ones: a compiler of loops
/// makes one length of them, and takes the rest one by one.
pub(super) fn pieces(kernel: &Kernel, inner: &For, cost: Cost) -> Option<Vec<(i64, i64)>> {
    let (Operand::Const(lo), extent) = (inner.lo, inner.extent()?) else { return None };
    let lo = lo.as_i64()?;
    let hi = lo + extent;
    let widths = inner.body.iter().map(|stmt| match stmt {
        Stmt::Let(reg, _) => Some(kernel.regs[*reg].size_bytes()),
        Stmt::Store(addr, _) => Some(kernel.bufs[addr.buf].ty.size_bytes()),
        Stmt::Var(..) | Stmt::Set(..) | Stmt::For(_) | Stmt::If(..) => None,
        Stmt::Gemm(_) | Stmt::Trap(_) => None,
    });
    let widths: Vec<usize> = widths.collect::<Option<_>>()?;
    let width = widths.iter().copied().max().filter(|width| [4, 8].contains(width))? as i64;
    let lanes = cost.vector_bytes() / width;
    if extent > PIECES.0 || inner.body.len() > PIECES.1 || extent % lanes < SHORTEST / width {
        return None;
    }
    let (mut from, mut pieces, mut lanes) = (lo, Vec::new(), lanes);
    while from < hi {
        let to = if lanes * width >= SHORTEST { from + (hi - from) / lanes * lanes } else { hi };
        if from < to {
            pieces.push((from, to));
        }
        (from, lanes) = (to, lanes / 2);
    }
    Some(pieces)
}
