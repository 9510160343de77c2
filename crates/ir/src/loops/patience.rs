//! After how many turns of a loop an engine asks whether the run is to be left.
//!
//! A loop that a condition ends may never end, and one of many steps in order takes as long as it takes:
//! the user may not want to wait, and where something has failed there is nothing to wait for. An engine
//! runs such a loop so many turns at a time and asks in between, so what is asked costs nothing beside
//! the turns, and an answer is had within milliseconds. A run that is left has no result: what the loop
//! would have stored may hold anything, so the kernel returns at once and says that it has failed.

use super::{For, ForKind, Operand, Stmt};

/// About so many operations run between two questions.
const BETWEEN: u64 = 1 << 22;

/// At most so many turns.
const TURNS: u64 = 1 << 16;

/// A loop of fewer operations is not asked for.
const LONG: u64 = 1 << 25;

/// How often a loop runs of which nobody knows.
const USUAL: u64 = 16;

/// What a product of unknown matrices takes.
const PRODUCT: u64 = 1 << 20;

impl For {
    /// After so many turns of this loop the engine asks; nothing if it need not.
    pub fn asks_after(&self) -> Option<i64> {
        let trip = self.trip();
        let wanted = match self.kind {
            ForKind::Serial => trip?,
            ForKind::Until(_) => trip.unwrap_or(u64::MAX),
            ForKind::Backward | ForKind::Parallel { .. } | ForKind::Vector { .. } => return None,
            ForKind::Lanes(_) | ForKind::Scan(_) => return None,
            ForKind::Flushed | ForKind::Apart | ForKind::Unrolled => return None,
        };
        let each = operations(&self.body).saturating_add(1);
        let turns = (BETWEEN / each).clamp(1, TURNS);
        (wanted > turns && wanted.saturating_mul(each) >= LONG).then_some(turns as i64)
    }

    /// Whether there is a loop in this one at which an engine asks: where something has failed before it,
    /// it need not begin.
    pub fn has_long_loops(&self) -> bool {
        has_long_loops(&self.body)
    }

    /// How often it runs at most, if that is known.
    fn trip(&self) -> Option<u64> {
        let bound = |operand: Operand| match operand {
            Operand::Const(value) => value.as_i64(),
            Operand::Reg(_) => None,
        };
        let (lo, hi) = (bound(self.lo)?, bound(self.hi)?);
        Some(u64::try_from(i128::from(hi) - i128::from(lo)).unwrap_or(0))
    }
}

fn has_long_loops(block: &[Stmt]) -> bool {
    block.iter().any(|stmt| match stmt {
        Stmt::For(inner) => inner.asks_after().is_some() || has_long_loops(&inner.body),
        Stmt::If(_, yes, no) => has_long_loops(yes) || has_long_loops(no),
        Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Store(..) => false,
        Stmt::Gemm(_) | Stmt::Trap(_) => false,
    })
}

/// About how many operations a block takes.
fn operations(block: &[Stmt]) -> u64 {
    let of = |stmt: &Stmt| match stmt {
        Stmt::For(inner) => {
            let known = inner.trip().unwrap_or(USUAL);
            let trip = match inner.kind {
                ForKind::Until(_) => known.min(USUAL),
                _ => known,
            };
            trip.saturating_mul(operations(&inner.body).saturating_add(1))
        }
        Stmt::If(_, yes, no) => operations(yes).max(operations(no)).saturating_add(1),
        Stmt::Gemm(gemm) => {
            let extent = |operand: Operand| match operand {
                Operand::Const(value) => value.as_i64().and_then(|it| u64::try_from(it).ok()),
                Operand::Reg(_) => None,
            };
            let extents = [gemm.m, gemm.n, gemm.k].map(extent);
            let all = extents.into_iter().try_fold(1u64, |all, it| Some(all.saturating_mul(it?)));
            all.unwrap_or(PRODUCT)
        }
        Stmt::Let(..) | Stmt::Var(..) | Stmt::Set(..) | Stmt::Store(..) | Stmt::Trap(_) => 1,
    };
    block.iter().map(of).fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loops::Reg;
    use ein_base::Idx;
    use ein_scalar::Scalar;

    fn repeat(kind: ForKind, trip: i64, body: Vec<Stmt>) -> For {
        let int = |value| Operand::Const(Scalar::I64(value));
        For { var: Reg::from_usize(0), lo: int(0), hi: int(trip), kind, body }
    }

    #[test]
    fn long_loops_in_order_ask_now_and_then() {
        let nothing = || vec![Stmt::Trap(Operand::Const(Scalar::Bool(false)))];
        let ends = ForKind::Until(Reg::from_usize(1));
        assert_eq!(repeat(ends.clone(), i64::MAX, nothing()).asks_after(), Some(1 << 16));
        assert_eq!(repeat(ends.clone(), 1000, nothing()).asks_after(), None);
        assert_eq!(repeat(ForKind::Serial, 2_000_000_000, nothing()).asks_after(), Some(1 << 16));
        assert_eq!(repeat(ForKind::Serial, 1 << 20, nothing()).asks_after(), None);
        let inner = || vec![Stmt::For(repeat(ForKind::Serial, 1 << 20, nothing()).into())];
        assert_eq!(repeat(ForKind::Serial, 100, inner()).asks_after(), Some(1));
        assert_eq!(repeat(ForKind::Parallel { grain: 1 }, 100, inner()).asks_after(), None);
        assert!(!repeat(ForKind::Parallel { grain: 1 }, 100, inner()).has_long_loops());
        let endless = vec![Stmt::For(repeat(ends, i64::MAX, nothing()).into())];
        assert!(repeat(ForKind::Parallel { grain: 1 }, 100, endless).has_long_loops());
    }
}
