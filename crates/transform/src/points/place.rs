//! Places: which cells positions reach at a step, and whether two sets of cells meet.

use super::{Ix, Linear, Node, Points};

/// The first and last position that each axis reaches at a step, as sums over the step; `None`
/// where that is not known.
pub type Region = Vec<Option<(Linear, Linear)>>;

impl Points {
    /// Whether two places are the same for all index variables.
    pub fn same_place(&self, a: &[Node], b: &[Node]) -> bool {
        let equal =
            |(a, b): (&Node, &Node)| self.linear(*a).minus(&self.linear(*b)) == Linear::default();
        a.len() == b.len() && a.iter().zip(b).all(equal)
    }

    /// What positions reach at a step, for all other index variables.
    pub fn region(&self, at: &[Node], step: Option<Ix>) -> Region {
        let axis = |node: &Node| {
            let sum = self.linear(*node);
            Some((self.end(&sum, false, step)?, self.end(&sum, true, step)?))
        };
        at.iter().map(axis).collect()
    }

    /// Whether two sets of places have nothing in common at any one step.
    pub fn apart(&self, a: &[Node], b: &[Node], step: Option<Ix>) -> bool {
        self.regions_apart(&self.region(a, step), &self.region(b, step))
    }

    /// Whether two regions have nothing in common at any one step.
    pub fn regions_apart(&self, a: &Region, b: &Region) -> bool {
        let before = |last: &Linear, first: &Linear| {
            self.reach(&last.minus(first)).is_some_and(|(_, most)| most < 0)
        };
        a.iter().zip(b).any(|axes| match axes {
            (Some((first_a, last_a)), Some((first_b, last_b))) => {
                before(last_a, first_b) || before(last_b, first_a)
            }
            _ => false,
        })
    }
}
