//! Clauses of a recurrence that others read before its steps come to them.
//!
//! `g[0] = 1`, `g[8] = 0`, `g[t in 1..8] = (g[t + 1] + g[0]) / 2` goes downward, and has an order: `g[0]` is
//! computed first. Kernels take steps one after another, so they would read it before it is computed.
//!
//! Failures: it only looks; what it refuses is evaluated.

use crate::points::{Arr, Clause, Ix, Kind, Node, Points, Step};

/// Whether a clause may read a cell that comes after the one that it computes. Of source text the checker has
/// shown that a clause does not read what it computes itself later; of adjoints (`derived`) nobody has.
pub(super) fn reads_later(
    points: &Points,
    arr: Arr,
    clauses: &[Clause],
    steps: &[Step],
    derived: bool,
) -> bool {
    clauses.iter().enumerate().any(|(own, clause)| {
        let roots = [clause.value].into_iter().chain(clause.guard).chain(clause.otherwise);
        let roots: Vec<Node> = roots.collect();
        let loads = points.loads(&roots);
        // An adjoint of a system is one clause over its names, which conditions tell apart.
        let is_name = |step: &&Step| {
            let mut own = loads.iter().filter(|(read, _)| *read == arr);
            own.all(|(_, at)| points.as_int(at[step.axis]).is_some())
        };
        let along: Vec<Step> = steps.iter().filter(|step| !is_name(step)).copied().collect();
        let own_place = |at: &[Node]| comes_later(points, at, &roots, (clause, clause), &along);
        loads.iter().any(|(read, at)| {
            let others = clauses.iter().enumerate().filter(|(other, _)| *other != own);
            *read == arr
                && (derived && touches(points, at, clause) && own_place(at)
                    || others.into_iter().any(|(_, other)| {
                        touches(points, at, other)
                            && comes_later(points, at, &roots, (clause, other), steps)
                    }))
        })
    })
}

/// Where an index or a position may be.
type Ends = (i128, i128);

fn range_of(points: &Points, ix: Ix) -> Ends {
    points.ixs[ix].range
}

/// Whether a read may be of a cell of a clause.
fn touches(points: &Points, at: &[Node], clause: &Clause) -> bool {
    at.iter().zip(&clause.slots).all(|(node, slot)| {
        let (lo, hi) = range_of(points, slot.ix);
        points.nodes[*node].range.is_none_or(|read| read.0 <= hi && lo <= read.1)
    })
}

/// Whether a cell of `other` that `clause` reads may come after the cell that is being computed.
fn comes_later(
    points: &Points,
    at: &[Node],
    roots: &[Node],
    (clause, other): (&Clause, &Clause),
    steps: &[Step],
) -> bool {
    for Step { axis, backward } in steps {
        let slot = clause.slots[*axis].ix;
        let known = farthest(points, at[*axis], slot, *backward, roots);
        let ahead = known.unwrap_or_else(|| {
            // The read is somewhere in the other clause, the cell somewhere in its own.
            let (here, there) = (range_of(points, slot), range_of(points, other.slots[*axis].ix));
            let read = points.nodes[at[*axis]].range.unwrap_or(there);
            match backward {
                true => here.1 - read.0.max(there.0),
                false => read.1.min(there.1) - here.0,
            }
        });
        match ahead {
            1.. => return true,
            0 => {}
            // Surely before: what the axes after it say does not matter.
            _ => return false,
        }
    }
    false
}

/// How far after an index a position is at most, or before it where steps go backward; `None` if it does not
/// move with the index. An index of a reduction is between the ends of its domain.
fn farthest(
    points: &Points,
    mut node: Node,
    ix: Ix,
    backward: bool,
    roots: &[Node],
) -> Option<i128> {
    // Outside, the read has failed.
    while let Kind::Clamp { at, .. } = points.nodes[node].kind {
        node = at;
    }
    let sum = points.linear(node);
    let sign = if backward { -1 } else { 1 };
    let is_own = |term: Node| points.nodes[term].kind == Kind::Index(ix);
    let mut moves = sum.terms.iter().any(|(term, factor)| is_own(*term) && *factor == 1);
    let mut total = sign * i128::from(sum.offset);
    for (term, factor) in &sum.terms {
        if is_own(*term) && *factor == 1 {
            continue;
        }
        let factor = sign * i128::from(*factor);
        if let (false, 1 | -1, Kind::Index(inner)) = (moves, factor, &points.nodes[*term].kind)
            && let Some((lo, hi)) = domain(points, *inner, roots)
        {
            // Only as far as the position grows with it in the direction that is asked for.
            let grows = factor * sign == 1;
            let (end, past) = if backward { (lo, 0) } else { (hi, 1) };
            if grows && let Some(at_most) = farthest(points, end, ix, backward, &[]) {
                moves = true;
                total = total.checked_add(at_most - past)?;
                continue;
            }
        }
        let (lo, hi) = points.nodes[*term].range?;
        let (a, b) = (lo.checked_mul(factor)?, hi.checked_mul(factor)?);
        total = total.checked_add(a.max(b))?;
    }
    moves.then_some(total)
}

/// The ends of the domain of an index of a reduction.
fn domain(points: &Points, ix: Ix, roots: &[Node]) -> Option<(Node, Node)> {
    points.below(roots).into_iter().find_map(|node| match &points.nodes[node].kind {
        Kind::Reduce(reduction) => {
            let own = reduction.binders.iter().find(|(own, ..)| *own == ix);
            own.map(|(_, lo, hi)| (*lo, *hi))
        }
        _ => None,
    })
}
