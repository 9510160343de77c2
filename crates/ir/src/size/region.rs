//! Regions of piecewise clauses: boxes, half-open along each axis, with symbolic sides.

use ein_base::Idx;

use super::{Atom, Expr, Facts, is_empty, prove_lt, simplify};

/// Pieces of a box beyond this number are not followed.
const MAX_PIECES: usize = 64;

/// Whether two boxes share a point.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Overlap {
    /// For no sizes do they share a point.
    Disjoint,
    /// For all sizes for which neither is empty they share this box, which is not empty.
    Shared(Vec<(Expr, Expr)>),
    /// Neither was proved.
    Unknown,
}

/// Whether some boxes fill another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// For all sizes every point is in one of them.
    Covered,
    /// For all sizes for which the box is not empty, this part of it is not empty and in none of them.
    Missing(Vec<(Expr, Expr)>),
    /// Neither was proved.
    Unknown,
}

/// Whether two boxes share a point; their sides are in terms of sizes.
pub fn overlap(a: &[(Expr, Expr)], b: &[(Expr, Expr)], facts: &Facts) -> Overlap {
    overlap_along(&own_axes(a.len()), a, b, facts)
}

/// [`overlap`] of boxes whose sides may also mention the atoms of earlier axes.
pub fn overlap_along(
    axes: &[Atom],
    a: &[(Expr, Expr)],
    b: &[(Expr, Expr)],
    facts: &Facts,
) -> Overlap {
    if a.len() != b.len() || a.len() != axes.len() {
        return Overlap::Unknown;
    }
    let mut within = facts.clone();
    for (axis, sides) in axes.iter().zip(a).chain(axes.iter().zip(b)) {
        within.with_range(*axis, &sides.0, &sides.1);
    }
    let both = is_empty(&within);
    if both.is_proved() {
        return Overlap::Disjoint;
    }
    // Neither is empty, and the point is in the shared box along the earlier axes.
    let mut known = facts.clone();
    for (lo, hi) in a.iter().chain(b) {
        known.lt(lo, hi);
    }
    let mut shared = Vec::with_capacity(a.len());
    for ((axis, a), b) in axes.iter().zip(a).zip(b) {
        let lo = simplify(&known, &a.0.max(&b.0));
        let hi = simplify(&known, &a.1.min(&b.1));
        if !prove_lt(&known, &lo, &hi).is_proved() {
            return Overlap::Unknown;
        }
        known.with_range(*axis, &lo, &hi);
        shared.push((lo, hi));
    }
    if both.is_refuted() { Overlap::Shared(shared) } else { Overlap::Unknown }
}

/// Whether the regions fill the box; all sides are in terms of sizes.
pub fn covers(regions: &[Vec<(Expr, Expr)>], whole: &[(Expr, Expr)], facts: &Facts) -> Coverage {
    let mut known = facts.clone();
    for (lo, hi) in whole {
        known.lt(lo, hi);
    }
    match is_empty(&known) {
        super::Truth::Proved => return Coverage::Covered,
        super::Truth::Refuted(_) => {}
        super::Truth::Unknown => return Coverage::Unknown,
    }
    let mut pieces = vec![whole.to_vec()];
    for region in regions {
        if region.len() != whole.len() {
            return Coverage::Unknown;
        }
        let mut left = Vec::new();
        for piece in pieces {
            subtract(piece, region, &known, &mut left);
        }
        if left.len() > MAX_PIECES {
            return Coverage::Unknown;
        }
        pieces = left;
    }
    if pieces.is_empty() {
        return Coverage::Covered;
    }
    let certain = |piece: &Vec<(Expr, Expr)>| {
        piece.iter().all(|(lo, hi)| prove_lt(&known, lo, hi).is_proved())
    };
    pieces.into_iter().find(certain).map_or(Coverage::Unknown, Coverage::Missing)
}

/// What of a piece lies outside a region: a slab below and one above it along each axis.
fn subtract(
    mut piece: Vec<(Expr, Expr)>,
    region: &[(Expr, Expr)],
    known: &Facts,
    left: &mut Vec<Vec<(Expr, Expr)>>,
) {
    for (axis, (lo, hi)) in region.iter().enumerate() {
        let (low, high) = piece[axis].clone();
        let below = (low.clone(), high.min(lo));
        let above = (low.max(hi), high.clone());
        for side in [below, above] {
            let mut slab = piece.clone();
            slab[axis] = (simplify(known, &side.0), simplify(known, &side.1));
            if !is_void(&slab, known) {
                left.push(slab);
            }
        }
        piece[axis] = (simplify(known, &low.max(lo)), simplify(known, &high.min(hi)));
        if is_void(&piece, known) {
            return;
        }
    }
}

/// Whether a box is empty for all sizes.
fn is_void(sides: &[(Expr, Expr)], known: &Facts) -> bool {
    let mut within = known.clone();
    for (axis, (lo, hi)) in own_axes(sides.len()).into_iter().zip(sides) {
        within.with_range(axis, lo, hi);
    }
    is_empty(&within).is_proved()
}

/// Atoms for the axes of a box, from the end of the numbers where clients do not go.
fn own_axes(rank: usize) -> Vec<Atom> {
    (0..rank).map(|axis| Atom::from_usize(u32::MAX as usize - 1 - axis)).collect()
}
