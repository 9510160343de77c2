//! What vector loops are going to read, asked for while they compute.
//!
//! The processor sees by itself what comes next in an array, but not beyond a page, and not early
//! enough where little is read and much computed. So a loop asks for some lines of the cache at a
//! time:
//!
//! * for the next row, where a loop over rows passes over each of them more than once, and this is
//!   not the first time. At the start of a row it would have to wait; now it would not.
//! * for what follows in the array, where it computes elementary functions.
//!
//! Loops that only read would lose: they keep memory busy as it is. Sums would be interrupted.

use crate::cost::Cost;
use crate::loops::lanes::Asks;
use crate::loops::{Addr, Buf, BufferKind, For, Kernel, Op, Reg, Stmt};
use ein_scalar::BinaryOp;

/// The iterations between two requests.
const EVERY: i64 = 128;
/// How far ahead in an array requests are, in bytes.
const AHEAD: i64 = 2048;

/// The rows that vector loops have read so far in one iteration of the loop around them.
#[derive(Default)]
pub(super) struct Rows {
    /// The variable of that loop.
    around: Option<Reg>,
    /// Where their first elements are.
    read: Vec<Addr>,
    /// Those whose successors have been asked for.
    asked: Vec<Addr>,
}

impl Rows {
    /// None so far, in a loop with this variable.
    pub(super) fn around(var: Reg) -> Rows {
        Rows { around: Some(var), ..Rows::default() }
    }

    /// Notes what a vector loop reads, and says what it is to ask for.
    pub(super) fn pass(
        &mut self,
        kernel: &Kernel,
        inner: &For,
        cost: Cost,
        reduces: bool,
    ) -> Option<Asks> {
        let length = inner.extent();
        if length.is_some_and(|length| length < 2 * EVERY) {
            return None;
        }
        let costly = inner.body.iter().any(is_costly);
        let mut arrays: Vec<Buf> = Vec::new();
        let (mut addrs, mut size) = (Vec::new(), cost.line_bytes());
        for addr in loads(&inner.body) {
            let buffer = &kernel.bufs[addr.buf];
            let bytes = buffer.ty.size_bytes() as i64;
            let far = buffer.len.saturating_mul(bytes) >= cost.distant_bytes();
            if buffer.kind == BufferKind::Local || !far || !is_stream(addr, inner) {
                continue;
            }
            let row = self.row(addr, inner.var, length);
            let again = row.as_ref().is_some_and(|(row, _)| self.read.contains(row));
            let ahead = match row {
                Some((row, stride)) if again => {
                    let short = length
                        .is_some_and(|it| it.saturating_mul(bytes) <= cost.fetched_row_bytes());
                    let new = !reduces && short && !self.asked.contains(&row);
                    if new {
                        self.asked.push(row);
                    }
                    new.then_some(stride)
                }
                row => {
                    self.read.extend(row.map(|(row, _)| row));
                    let new = costly && !reduces && !arrays.contains(&addr.buf);
                    arrays.push(addr.buf);
                    new.then_some(AHEAD / bytes)
                }
            };
            if let Some(ahead) = ahead {
                size = size.min(bytes);
                addrs.push(Addr { offset: addr.offset.checked_add(ahead)?, ..addr.clone() });
            }
        }
        let step = cost.line_bytes() / size;
        (!addrs.is_empty()).then_some(Asks { every: EVERY, step, addrs })
    }

    /// The row that a loop of this length reads, if the loop around chooses it: where it starts, and
    /// how far the next one is.
    fn row(&self, addr: &Addr, var: Reg, length: Option<i64>) -> Option<(Addr, i64)> {
        let stride = addr.terms.iter().find(|term| Some(term.0) == self.around)?.1;
        let terms = addr.terms.iter().filter(|term| term.0 != var).copied().collect();
        let next_is_other = stride.unsigned_abs() >= length?.unsigned_abs();
        next_is_other.then_some((Addr { terms, ..addr.clone() }, stride))
    }
}

fn loads(body: &[Stmt]) -> impl Iterator<Item = &Addr> {
    body.iter().filter_map(|stmt| match stmt {
        Stmt::Let(_, Op::Load(addr)) => Some(addr),
        _ => None,
    })
}

/// Whether a loop reads an array element by element.
fn is_stream(addr: &Addr, inner: &For) -> bool {
    let is_inside = |reg: Reg| {
        let sets = |stmt: &Stmt| matches!(stmt, Stmt::Let(it, _) | Stmt::Var(it, _) if *it == reg);
        inner.body.iter().any(sets)
    };
    addr.terms.contains(&(inner.var, 1)) && !addr.terms.iter().any(|term| is_inside(term.0))
}

/// Whether a statement computes an elementary function.
fn is_costly(stmt: &Stmt) -> bool {
    match stmt {
        Stmt::Let(_, Op::Unary(op, _)) => op.is_elementary(),
        Stmt::Let(_, Op::Binary(op, ..)) => matches!(op, BinaryOp::Pow | BinaryOp::Atan2),
        _ => false,
    }
}
