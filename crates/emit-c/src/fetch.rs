//! Rows that the next iteration of a loop reads, asked for while there is time.
//!
//! The processor sees by itself what comes next in a long row. Where a loop over rows passes over
//! each of them more than once, it has to wait at the start of each row, and waits for nothing while
//! it passes again. So a loop that reads a row again, with no sums that would have to be interrupted,
//! asks for the same part of the next row, some lines of the cache at a time.

use ein_ir::loops::{Addr, For, Kernel, Op, Operand, Reg, Stmt};

/// The iterations between two requests.
pub(crate) const STRIP: i64 = 128;
/// The bytes of a line of the cache.
const LINE: i64 = 64;
/// The longest rows, in bytes: the next one must find room in the first cache.
const LONGEST: i64 = 8 << 10;
/// The smallest arrays, in bytes: others are in a cache anyway.
const SMALLEST: i64 = 1 << 20;

/// The rows that vector loops have read so far in one iteration of the loop around them.
#[derive(Default)]
pub(crate) struct Rows {
    /// The variable of that loop.
    around: Option<Reg>,
    /// Where their first elements are.
    read: Vec<Addr>,
    /// Those whose successors have been asked for.
    fetched: Vec<Addr>,
}

/// What a vector loop is to ask for.
pub(crate) struct Fetch {
    /// The elements that the next iteration around reads at this one.
    pub addrs: Vec<Addr>,
    /// How many elements a line has.
    pub step: i64,
    /// The bounds of the loop.
    pub lo: i64,
    pub hi: i64,
}

impl Rows {
    /// None so far, in a loop with this variable.
    pub fn around(var: Reg) -> Rows {
        Rows { around: Some(var), ..Rows::default() }
    }

    /// Notes what a vector loop reads, and says what it is to ask for.
    pub fn pass(&mut self, kernel: &Kernel, inner: &For, reduces: bool) -> Option<Fetch> {
        let around = self.around?;
        let (Operand::Const(lo), Operand::Const(hi)) = (inner.lo, inner.hi) else { return None };
        let (lo, hi) = (lo.as_i64()?, hi.as_i64()?);
        let (mut addrs, mut size) = (Vec::new(), LINE);
        for addr in loads(&inner.body) {
            let Some((row, stride)) = row(addr, inner, around) else { continue };
            let buffer = &kernel.bufs[addr.buf];
            let bytes = buffer.ty.size_bytes() as i64;
            let next_is_other = stride.checked_abs().is_some_and(|stride| stride >= hi - lo);
            let long = hi - lo >= 2 * STRIP && (hi - lo).saturating_mul(bytes) <= LONGEST;
            let far = buffer.len.saturating_mul(bytes) >= SMALLEST;
            if !next_is_other || !long || !far {
                continue;
            }
            if !self.read.contains(&row) {
                self.read.push(row);
            } else if !reduces && !self.fetched.contains(&row) {
                self.fetched.push(row);
                size = size.min(bytes);
                addrs.push(Addr { offset: addr.offset.checked_add(stride)?, ..addr.clone() });
            }
        }
        (!addrs.is_empty()).then_some(Fetch { addrs, step: LINE / size, lo, hi })
    }
}

fn loads(body: &[Stmt]) -> impl Iterator<Item = &Addr> {
    body.iter().filter_map(|stmt| match stmt {
        Stmt::Let(_, Op::Load(addr)) => Some(addr),
        _ => None,
    })
}

/// The row that a loop reads element by element, if the loop around chooses it: where it starts, and
/// how far the next one is.
fn row(addr: &Addr, inner: &For, around: Reg) -> Option<(Addr, i64)> {
    let inside = |reg: Reg| {
        inner
            .body
            .iter()
            .any(|stmt| matches!(stmt, Stmt::Let(it, _) | Stmt::Var(it, _) if *it == reg))
    };
    let factor = |reg: Reg| addr.terms.iter().find(|term| term.0 == reg).map(|term| term.1);
    if factor(inner.var) != Some(1) || addr.terms.iter().any(|term| inside(term.0)) {
        return None;
    }
    let terms = addr.terms.iter().filter(|term| term.0 != inner.var).copied().collect();
    Some((Addr { terms, ..addr.clone() }, factor(around)?))
}
