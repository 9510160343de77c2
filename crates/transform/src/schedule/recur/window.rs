//! Windows: how many steps of a recurrence have to be kept.

use super::super::plan::{Kept, Why};
use crate::points::{Body, Clause, Def, End, Kind, Node, Points, Step, Until};

/// A ring that saves less than this part of what it keeps saves nothing.
const LITTLE: i64 = 8;

impl Points {
    /// How many steps of a recurrence are ever looked at together, along the first axis of its steps;
    /// or why all of it is kept.
    pub(crate) fn window(&self, def: &Def) -> Result<(usize, Kept), Why> {
        let (clauses, steps, ended) = match &def.body {
            Body::Clauses(clauses, Some(steps)) => (clauses, steps, None),
            Body::Until(body) => (&body.clauses, &body.steps, Some(body)),
            Body::Clauses(_, None) | Body::Scatter(_) | Body::InPlace(_) | Body::Again(_) => {
                return Err(Why::Since("others read all of it"));
            }
        };
        let unordered = Why::Since("no axis orders its steps");
        let Step { axis, backward } = *steps.first().ok_or(unordered)?;
        let extent = self.arrs[def.arr].shape[axis];
        let varies = Why::Since("it reads itself at a distance that is not constant");
        let mut kept = match ended {
            Some(body) => self.asked_window(def, body).ok_or(varies.clone())?,
            None => Kept::default(),
        };
        for clause in clauses {
            kept = own_reads(self, def, clause, (axis, backward), kept).ok_or(varies.clone())?;
        }
        let unknown = Why::Since("it is observed at steps that are not known relative to the end");
        for other in self.defs.iter().filter(|other| other.arr != def.arr) {
            for (arr, at) in self.loads(&self.roots(other)) {
                if arr == def.arr
                    && !backward
                    && let Some(body) = ended
                {
                    let before = self.before_last(body, &at).ok_or(unknown.clone())?;
                    kept.tail = kept.tail.max(before + 1);
                } else if arr == def.arr {
                    let (lo, hi) = self.nodes[at[axis]].range.ok_or(unknown.clone())?;
                    let seen = if backward { hi as i64 + 1 } else { extent - lo as i64 };
                    kept.tail = kept.tail.max(seen);
                }
            }
        }
        // What a ring saves must be worth the remainders of all positions.
        match extent - kept.steps() {
            ..=0 => Err(Why::Since("all of its steps are looked at together")),
            saved if saved < kept.steps() / LITTLE => {
                Err(Why::Count(kept.steps(), "steps are nearly all"))
            }
            _ => Ok((axis, kept)),
        }
    }

    /// Whether a position is that of the cell of a clause, but for one axis.
    fn is_own_place(&self, at: &[Node], clause: &Clause, axis: usize) -> bool {
        at.iter().zip(&clause.slots).enumerate().all(|(other, (node, slot))| {
            other == axis || self.offset_from(*node, slot.ix) == Some(0)
        })
    }

    /// How many steps of a recurrence the condition that ends it looks at.
    fn asked_window(&self, def: &Def, body: &Until) -> Option<Kept> {
        let mut kept = Kept::default();
        let End::Asked { ix, cond, .. } = body.end else { return Some(kept) };
        let axis = body.axis();
        for (arr, at) in self.loads(&[cond]) {
            if arr == def.arr {
                let back = -self.offset_from(at[axis], ix)?;
                kept = (back >= 0).then(|| kept.with(back, false))?;
            }
        }
        Some(kept)
    }

    /// How many steps before the last one a position is.
    fn before_last(&self, body: &Until, at: &[Node]) -> Option<i64> {
        let points = self;
        let mut place = at[body.axis()];
        if let Kind::Clamp { at, .. } = points.nodes[place].kind
            && !self.is_last(body, place)
        {
            place = at;
        }
        let sum = points.linear(place);
        match sum.terms.as_slice() {
            [(term, 1)] if self.is_last(body, *term) && sum.offset <= 0 => {
                let Kind::Clamp { at: read, .. } = points.nodes[*term].kind else {
                    return None;
                };
                let Kind::Load(_, own) = &points.nodes[read].kind else {
                    return None;
                };
                points.same_place(own, &at[..own.len()]).then_some(-sum.offset)
            }
            _ => None,
        }
    }

    fn is_last(&self, body: &Until, node: Node) -> bool {
        let Kind::Clamp { at, .. } = self.nodes[node].kind else {
            return false;
        };
        matches!(self.nodes[at].kind, Kind::Load(arr, _) if arr == body.last)
    }
}

/// What the steps of a clause look at, with what others look at; `None` if that varies.
fn own_reads(
    points: &Points,
    def: &Def,
    clause: &Clause,
    (axis, backward): (usize, bool),
    mut kept: Kept,
) -> Option<Kept> {
    let slot = clause.slots[axis];
    let here = points.ixs[slot.ix].range;
    let roots: Vec<Node> =
        [clause.value].into_iter().chain(clause.guard).chain(clause.otherwise).collect();
    for (arr, at) in points.loads(&roots) {
        if arr != def.arr {
            continue;
        }
        let back = match points.offset_from(at[axis], slot.ix) {
            Some(offset) => -offset,
            None if here.0 == here.1 => here.0 as i64 - points.as_int(at[axis])?,
            None => return None,
        };
        let back = if backward { -back } else { back };
        // What is read only where it is about to be written may be overwritten.
        let in_place = back > 0 && points.is_own_place(&at, clause, axis);
        kept = (back >= 0).then(|| kept.with(back, in_place))?;
    }
    Some(kept)
}
