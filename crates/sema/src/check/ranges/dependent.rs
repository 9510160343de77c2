//! Ranges through dependent domains.
//!
//! Before:  `c[i: ?] = sum(k: 0..i + 1) x[k]`
//! After:   `c[i: 0..len(x)] = …`: the largest `k` is `i`, and `x[i]` must be there
//!
//! An index whose domain mentions the one that is sought is replaced by the end of its domain that
//! makes the position largest, and by the one that makes it smallest; so are, after it, the others
//! in it, innermost first. Two inequalities are left, each with one unknown.

use super::Read;
use crate::check::state::Index;
use ein_ir::size::{self, Atom};

/// Domains inside each other beyond this number are not followed.
const MAX_DEPTH: usize = 16;

/// What one read allows: a start and an end, each if it says something of them.
pub(super) type Ends = (Option<size::Expr>, Option<size::Expr>);

/// The index variables in a position, with those that their domains mention.
pub(super) fn through(ix: &Index, index: &size::Expr) -> Vec<Atom> {
    let mut atoms: Vec<Atom> =
        index.atoms().into_iter().filter(|atom| super::is_index(ix, *atom)).collect();
    let mut at = 0;
    while at < atoms.len() {
        if let Some((lo, hi)) = ix.ranges.get(&atoms[at]) {
            for inner in lo.atoms().into_iter().chain(hi.atoms()) {
                if super::is_index(ix, inner) && !atoms.contains(&inner) {
                    atoms.push(inner);
                }
            }
        }
        at += 1;
    }
    atoms
}

/// Whether a position depends on a variable through the domain of another one.
pub(super) fn depends_through(ix: &Index, index: &size::Expr, atom: Atom) -> bool {
    through(ix, index).into_iter().any(|other| {
        other != atom
            && ix.ranges.get(&other).is_some_and(|(lo, hi)| lo.mentions(atom) || hi.mentions(atom))
    })
}

/// What a read whose position depends on a variable through domains allows for it.
pub(super) fn allowed_through(ix: &Index, read: &Read, atom: Atom) -> Option<Ends> {
    let largest = extreme(ix, &read.index, atom, true)?;
    let smallest = extreme(ix, &read.index, atom, false)?;
    // Where one of them waits for another variable, the other one is a position all the same.
    let below = largest.as_ref().or(smallest.as_ref())?;
    let above = smallest.as_ref().or(largest.as_ref())?;
    let (mut lo, mut hi) = (None, None);
    let mut meet = |start: Option<size::Expr>, end: Option<size::Expr>| {
        if let Some(start) = start {
            lo = Some(lo.as_ref().map_or(start.clone(), |lo| ix.greater(lo, &start)));
        }
        if let Some(end) = end {
            hi = Some(hi.as_ref().map_or(end.clone(), |hi| ix.smaller(hi, &end)));
        }
    };
    // c * i + rest < extent
    let (c, rest) = below.affine_in(atom)?;
    let room = read.extent.sub(&rest);
    if c > 0 {
        meet(None, Some(room.offset(c - 1).div_floor(&size::Expr::constant(c))));
    } else if c < 0 {
        meet(Some(room.neg().div_floor(&size::Expr::constant(-c)).offset(1)), None);
    }
    // c * i + rest >= 0
    let (c, rest) = above.affine_in(atom)?;
    if c > 0 {
        let start = rest.neg().offset(c - 1).div_floor(&size::Expr::constant(c));
        meet(Some(start), None);
    } else if c < 0 {
        meet(None, Some(rest.div_floor(&size::Expr::constant(-c)).offset(1)));
    }
    Some((lo, hi))
}

/// The largest (or smallest) value of a position in terms of one variable; nothing inside if it
/// depends on another one instead, whose range is not known yet.
fn extreme(
    ix: &Index,
    index: &size::Expr,
    atom: Atom,
    largest: bool,
) -> Option<Option<size::Expr>> {
    let mut value = index.clone();
    for _ in 0..MAX_DEPTH {
        let open: Vec<Atom> = value
            .atoms()
            .into_iter()
            .filter(|other| *other != atom && super::is_index(ix, *other))
            .collect();
        // One that no other domain mentions is innermost.
        let inner = open.iter().copied().find(|inner| {
            open.iter().all(|other| {
                other == inner || !through(ix, &size::Expr::atom(*other)).contains(inner)
            })
        });
        let Some(inner) = inner else { return open.is_empty().then_some(Some(value)) };
        let (coefficient, rest) = value.affine_in(inner)?;
        let Some((lo, hi)) = ix.ranges.get(&inner) else {
            return (!value.mentions(atom)).then_some(None);
        };
        let end = if (coefficient > 0) == largest { hi.offset(-1) } else { lo.clone() };
        value = rest.add(&end.scale(coefficient));
    }
    None
}
