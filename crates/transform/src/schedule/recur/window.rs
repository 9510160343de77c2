//! Windows: how many steps of a recurrence have to be kept.

use crate::points::{Body, Clause, Def, End, Kind, Node, Points, Step, Until};

impl Points {
    /// How many steps of a recurrence are ever looked at together: the axis and the number, if it
    /// is less than all.
    pub(crate) fn window(&self, def: &Def) -> Option<(usize, i64)> {
        let (clauses, steps, ended) = match &def.body {
            Body::Clauses(clauses, Some(steps)) => (clauses, steps, None),
            Body::Until(body) => (&body.clauses, &body.steps, Some(body)),
            Body::Clauses(_, None) | Body::Scatter(_) | Body::InPlace(_) | Body::Again(_) => {
                return None;
            }
        };
        let Step { axis, backward } = *steps.first()?;
        let extent = self.arrs[def.arr].shape[axis];
        let mut kept = match ended {
            Some(body) => self.asked_window(def, body)?,
            None => 1,
        };
        for clause in clauses {
            let slot = clause.slots[axis];
            let here = self.ixs[slot.ix].range;
            let roots: Vec<Node> =
                [clause.value].into_iter().chain(clause.guard).chain(clause.otherwise).collect();
            for (arr, at) in self.loads(&roots) {
                if arr != def.arr {
                    continue;
                }
                let back = match self.offset_from(at[axis], slot.ix) {
                    Some(offset) => -offset,
                    None if here.0 == here.1 => here.0 as i64 - self.as_int(at[axis])?,
                    None => return None,
                };
                let back = if backward { -back } else { back };
                if back < 0 {
                    return None;
                }
                // What is read only where it is about to be written may be overwritten.
                let in_place = back > 0 && self.is_own_place(&at, clause, axis);
                kept = kept.max(if in_place { back } else { back + 1 });
            }
        }
        for other in self.defs.iter().filter(|other| other.arr != def.arr) {
            for (arr, at) in self.loads(&self.roots(other)) {
                if arr == def.arr
                    && !backward
                    && let Some(body) = ended
                {
                    kept = kept.max(self.before_last(body, &at)? + 1);
                } else if arr == def.arr {
                    let (lo, hi) = self.nodes[at[axis]].range?;
                    let seen = if backward { hi as i64 + 1 } else { extent - lo as i64 };
                    kept = kept.max(seen);
                }
            }
        }
        (kept < extent).then_some((axis, kept))
    }

    /// Whether a position is that of the cell of a clause, but for one axis.
    fn is_own_place(&self, at: &[Node], clause: &Clause, axis: usize) -> bool {
        at.iter().zip(&clause.slots).enumerate().all(|(other, (node, slot))| {
            other == axis || self.offset_from(*node, slot.ix) == Some(0)
        })
    }

    /// How many steps of a recurrence the condition that ends it looks at.
    fn asked_window(&self, def: &Def, body: &Until) -> Option<i64> {
        let End::Asked { ix, cond, .. } = body.end else { return Some(1) };
        let axis = body.axis();
        let mut kept = 1;
        for (arr, at) in self.loads(&[cond]) {
            if arr == def.arr {
                let back = -self.offset_from(at[axis], ix)?;
                kept = (back >= 0).then_some(kept.max(back + 1))?;
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
