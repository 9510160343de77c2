//! Integer nodes as sums of multiples of others.

use super::{Ix, Kind, Node, Points, Range};
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use rustc_hash::FxHashSet;

/// The factors and offsets of sums stay below this, so that two of them can be added.
const LARGE: i64 = 1 << 60;

/// A number that may stand in a sum.
fn small(number: i64) -> Option<i64> {
    (-LARGE < number && number < LARGE).then_some(number)
}

/// `offset + Σ factor × node`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linear {
    /// Nodes that are not sums themselves, each once, with factors that are not zero.
    pub terms: Vec<(Node, i64)>,
    /// What is added.
    pub offset: i64,
}

impl Linear {
    /// Adds a multiple of another sum.
    pub fn add(&mut self, other: &Linear, factor: i64) {
        for (node, times) in &other.terms {
            self.add_term(*node, times * factor);
        }
        self.offset += other.offset * factor;
    }

    /// What is left after another sum is taken away.
    pub fn minus(&self, other: &Linear) -> Linear {
        let mut difference = self.clone();
        difference.add(other, -1);
        difference
    }

    /// Adds a multiple of a node that is no sum itself.
    pub fn add_term(&mut self, node: Node, factor: i64) {
        match self.terms.iter().position(|(other, _)| *other == node) {
            Some(at) => {
                self.terms[at].1 += factor;
                if self.terms[at].1 == 0 {
                    self.terms.remove(at);
                }
            }
            None if factor != 0 => self.terms.push((node, factor)),
            None => {}
        }
    }
}

/// Whether something below these nodes may fail that is not below the others.
pub fn loses_a_trap(points: &Points, nodes: &[Node], kept: &[Node]) -> bool {
    let kept: FxHashSet<Node> = points.below(kept).into_iter().collect();
    let fails = |node: &Node| {
        let info = &points.nodes[*node];
        match &info.kind {
            Kind::Checked(..) | Kind::Clamp { traps: true, .. } => true,
            Kind::Reduce(_) => info.traps,
            _ => false,
        }
    };
    points.below(nodes).iter().any(|node| fails(node) && !kept.contains(node))
}

impl Points {
    /// The sum that an integer node is. It is the node's value whatever the values of its terms are,
    /// also where one of them has failed: only operations that were proved to fit are looked into.
    pub fn linear(&self, node: Node) -> Linear {
        let mut sum = Linear::default();
        match self.collect(node, 1, &mut sum) {
            Some(()) => sum,
            None => Linear { terms: vec![(node, 1)], offset: 0 },
        }
    }

    /// Adds a multiple of a node; `None` if the numbers of the sum grow out of hand.
    fn collect(&self, node: Node, factor: i64, sum: &mut Linear) -> Option<()> {
        match &self.nodes[node].kind {
            Kind::Const(value) if value.as_i64().is_some() => {
                let more = factor.checked_mul(value.as_i64()?)?;
                sum.offset = small(sum.offset.checked_add(more)?)?;
            }
            Kind::Binary(BinaryOp::Add, a, b) => {
                self.collect(*a, factor, sum)?;
                self.collect(*b, factor, sum)?;
            }
            Kind::Binary(BinaryOp::Sub, a, b) => {
                self.collect(*a, factor, sum)?;
                self.collect(*b, -factor, sum)?;
            }
            Kind::Binary(BinaryOp::Mul, a, b) => match (self.as_int(*a), self.as_int(*b)) {
                (Some(times), _) => self.collect(*b, small(factor.checked_mul(times)?)?, sum)?,
                (_, Some(times)) => self.collect(*a, small(factor.checked_mul(times)?)?, sum)?,
                _ => sum.add_term(node, factor),
            },
            Kind::Cast(a) if self.keeps_value(*a, node) => self.collect(*a, factor, sum)?,
            _ => sum.add_term(node, factor),
        }
        sum.terms.iter().all(|(_, factor)| small(*factor).is_some()).then_some(())
    }

    /// Whether something in a node may fail that the sum it is does not mention: terms may cancel.
    pub fn loses_a_trap(&self, node: Node, sum: &Linear) -> bool {
        if !self.nodes[node].traps {
            return false;
        }
        let terms: Vec<Node> = sum.terms.iter().map(|(term, _)| *term).collect();
        loses_a_trap(self, &[node], &terms)
    }

    /// Whether a conversion between integers changes nothing.
    fn keeps_value(&self, from: Node, to: Node) -> bool {
        match (self.nodes[from].range, self.nodes[to].ty.int_range()) {
            (Some((lo, hi)), Some((least, most))) => {
                let fits = |(lo, hi): Range| least <= lo && hi <= most;
                // What index variables say of each other is asked only of sums.
                let sum = matches!(
                    self.nodes[from].kind,
                    Kind::Binary(BinaryOp::Add | BinaryOp::Sub, ..)
                );
                fits((lo, hi)) || sum && self.reach(&self.linear(from)).is_some_and(fits)
            }
            _ => false,
        }
    }

    /// The values that a sum can have, with what the bounds of its index variables say.
    pub fn reach(&self, sum: &Linear) -> Option<Range> {
        let end = |upper: bool| {
            let end = self.end(sum, upper, None)?;
            end.terms.is_empty().then_some(i128::from(end.offset))
        };
        Some((end(false)?, end(true)?))
    }

    /// The least or greatest value of a sum for all index variables but one, which stays.
    pub fn end(&self, sum: &Linear, upper: bool, keep: Option<Ix>) -> Option<Linear> {
        let mut sum = sum.clone();
        let index = |node: Node| match self.nodes[node].kind {
            Kind::Index(ix) if Some(ix) != keep => Some(ix),
            _ => None,
        };
        // Variables whose bounds mention others go first: they are younger than these.
        while let Some((ix, (lo, hi), node)) = sum
            .terms
            .iter()
            .filter_map(|(node, _)| {
                let ix = index(*node)?;
                Some((ix, self.ixs[ix].bounds?, *node))
            })
            .max_by_key(|(ix, ..)| *ix)
        {
            let factor = sum.terms.iter().find(|(term, _)| *term == node)?.1;
            sum.add_term(node, -factor);
            let above = (factor > 0) == upper;
            let bound = if above { hi } else { lo };
            // What is above the greater of two is above either of them: the better one tells more.
            let (op, mut sides) = (if above { BinaryOp::Min } else { BinaryOp::Max }, Vec::new());
            sides_of(self, op, bound, &mut sides);
            let mut best: Option<Linear> = None;
            for side in &sides {
                let mut bound = self.linear(*side);
                bound.offset -= i64::from(above);
                let mut numbers = bound.terms.iter().map(|(_, times)| *times).chain([bound.offset]);
                if !numbers.all(|number| number.checked_mul(factor).and_then(small).is_some())
                    || bound
                        .terms
                        .iter()
                        .any(|(term, _)| index(*term).is_some_and(|other| other >= ix))
                {
                    continue;
                }
                let mut rest = sum.clone();
                rest.add(&bound, factor);
                if sides.len() == 1 {
                    best = Some(rest);
                    break;
                }
                let Some(end) = self.end(&rest, upper, keep) else { continue };
                let better = best.as_ref().is_none_or(|best| {
                    let less = end.offset < best.offset;
                    best.terms == end.terms && less == upper && end.offset != best.offset
                });
                if better {
                    best = Some(end);
                }
            }
            sum = best?;
            if sides.len() > 1 {
                return Some(sum);
            }
        }
        let mut end = Linear { terms: Vec::new(), offset: sum.offset };
        for (node, factor) in sum.terms {
            if keep.is_some_and(|ix| self.nodes[node].kind == Kind::Index(ix)) {
                end.add_term(node, factor);
                continue;
            }
            let (lo, hi) = self.nodes[node].range?;
            let most = if (factor > 0) == upper { hi } else { lo };
            let total = i128::from(end.offset).checked_add(most.checked_mul(factor.into())?)?;
            end.offset = i64::try_from(total).ok()?;
        }
        Some(end)
    }

    /// What a comparison of integers says, if the bounds of index variables tell.
    pub(super) fn compare(&self, op: BinaryOp, a: Node, b: Node) -> Option<bool> {
        let (lo, hi) = self.reach(&self.linear(a).minus(&self.linear(b)))?;
        match op {
            BinaryOp::Lt if hi < 0 => Some(true),
            BinaryOp::Lt if lo >= 0 => Some(false),
            BinaryOp::Le if hi <= 0 => Some(true),
            BinaryOp::Le if lo > 0 => Some(false),
            BinaryOp::Gt if lo > 0 => Some(true),
            BinaryOp::Gt if hi <= 0 => Some(false),
            BinaryOp::Ge if lo >= 0 => Some(true),
            BinaryOp::Ge if hi < 0 => Some(false),
            BinaryOp::Eq if lo == 0 && hi == 0 => Some(true),
            BinaryOp::Eq if lo > 0 || hi < 0 => Some(false),
            BinaryOp::Ne if lo > 0 || hi < 0 => Some(true),
            BinaryOp::Ne if lo == 0 && hi == 0 => Some(false),
            _ => None,
        }
    }

    /// A quotient or remainder by a constant that is seen in a sum: `3 * x + y` with `y` in `0..3`
    /// is `x` and `y`. Positions in arrays that are reshaped are of this kind.
    pub(super) fn whole_and_rest(&mut self, op: BinaryOp, a: Node, b: Node) -> Option<Node> {
        let divisor = self.as_int(b).filter(|divisor| *divisor > 1)?;
        let info = &self.nodes[a];
        let ty = info.ty;
        if info.traps || !ty.is_int() || info.range.is_none_or(|(lo, _)| lo < 0) {
            return None;
        }
        let mut whole = Linear::default();
        let mut rest = Linear::default();
        let sum = self.linear(a);
        for (term, factor) in sum.terms {
            match factor % divisor {
                0 => whole.add_term(term, factor / divisor),
                _ => rest.add_term(term, factor),
            }
        }
        whole.offset = sum.offset.div_euclid(divisor);
        rest.offset = sum.offset.rem_euclid(divisor);
        let (lo, hi) = self.reach(&rest)?;
        if whole.terms.is_empty() || lo < 0 || hi >= i128::from(divisor) {
            return None;
        }
        let result = self.sum_node(if op == BinaryOp::Div { &whole } else { &rest });
        Some(self.cast(result, ty))
    }

    /// A sum as a node.
    pub fn sum_node(&mut self, sum: &Linear) -> Node {
        let wide = is_wide(self, sum);
        let mut total = None;
        for (node, factor) in &sum.terms {
            let node = if wide { self.cast(*node, ScalarType::I64) } else { *node };
            let term = match factor {
                1 => node,
                _ => {
                    let factor = self.int(*factor);
                    self.binary(BinaryOp::Mul, node, factor, None)
                }
            };
            total = Some(match total {
                None => term,
                Some(total) => self.binary(BinaryOp::Add, total, term, None),
            });
        }
        let offset = self.int(sum.offset);
        total.map_or(offset, |total| self.binary(BinaryOp::Add, total, offset, None))
    }

    /// The addition of a negative constant as the subtraction of a positive one, and the other way
    /// round.
    pub(super) fn without_sign(&mut self, op: BinaryOp, b: Node) -> Option<(BinaryOp, Node)> {
        let op = match op {
            BinaryOp::Add => BinaryOp::Sub,
            BinaryOp::Sub => BinaryOp::Add,
            _ => return None,
        };
        let ty = self.nodes[b].ty;
        let number = self.as_int(b).filter(|number| *number < 0)?.checked_neg()?;
        ty.int_range().filter(|(_, most)| i128::from(number) <= *most)?;
        let number = self.constant(Scalar::I64(number));
        Some((op, self.cast(number, ty)))
    }

    /// A sum or difference of which one term and a constant are left: `i + 1 - 1` is `i`.
    pub(super) fn shorter(
        &mut self,
        op: BinaryOp,
        a: Node,
        b: Node,
        ty: ScalarType,
    ) -> Option<Node> {
        let factor = match op {
            BinaryOp::Add => 1,
            BinaryOp::Sub => -1,
            _ => return None,
        };
        if self.nodes[a].traps || self.nodes[b].traps {
            return None;
        }
        let (left, right) = (self.linear(a), self.linear(b));
        let parts = |sum: &Linear| sum.terms.len() + usize::from(sum.offset != 0);
        let mut sum = left.clone();
        sum.add(&right, factor);
        if parts(&sum) >= parts(&left) + parts(&right) {
            return None;
        }
        let offset = |points: &mut Points, by: i64| {
            let by = points.int(by);
            points.cast(by, ty)
        };
        match sum.terms.as_slice() {
            [] => Some(offset(self, sum.offset)),
            [(term, 1)] => {
                let term = self.cast(*term, ty);
                let by = offset(self, sum.offset);
                let node = self.binary(BinaryOp::Add, term, by, None);
                (!self.nodes[node].traps).then_some(node)
            }
            _ => None,
        }
    }

    /// The factor of an index variable in an integer node that depends on it only through a
    /// multiple; `Some(0)` if it does not depend on it.
    pub fn factor(&self, node: Node, ix: Ix) -> Option<i64> {
        if !self.depends(node, ix) {
            return Some(0);
        }
        let mut factor = 0;
        for (term, times) in self.linear(node).terms {
            match self.nodes[term].kind {
                Kind::Index(other) if other == ix => factor = times,
                _ if self.depends(term, ix) => return None,
                _ => {}
            }
        }
        Some(factor)
    }

    /// Whether a node is this index variable plus a constant; the constant.
    pub fn offset_from(&self, node: Node, ix: Ix) -> Option<i64> {
        let sum = self.linear(node);
        match sum.terms.as_slice() {
            [(term, 1)] if self.nodes[*term].kind == Kind::Index(ix) => Some(sum.offset),
            _ => None,
        }
    }

    /// Whether a node depends on an index variable.
    pub fn depends(&self, node: Node, ix: Ix) -> bool {
        self.nodes[node].free.binary_search(&ix).is_ok()
    }
}

/// Whether a sum leaves the numbers of 32 bits on the way: with them an operation would have to look
/// whether it failed, which no sum does.
fn is_wide(points: &Points, sum: &Linear) -> bool {
    let mut reached = (0i128, 0i128);
    let ends = sum.terms.iter().filter_map(|(node, factor)| {
        let ((lo, hi), factor) = (points.nodes[*node].range?, i128::from(*factor));
        Some([lo.checked_mul(factor)?, hi.checked_mul(factor)?])
    });
    let offset = i128::from(sum.offset);
    ends.chain([[offset, offset]]).any(|[a, b]| {
        reached = (reached.0.saturating_add(a.min(b)), reached.1.saturating_add(a.max(b)));
        let narrow = |end: i128| i32::try_from(end).is_ok();
        ![a, b, reached.0, reached.1].into_iter().all(narrow)
    })
}

/// The values that a sum can have where a condition holds: what comparisons with the same sum say.
pub(super) fn reach_under(points: &Points, sum: &Linear, when: Node) -> Option<Range> {
    let (mut lo, mut hi) = points.reach(sum)?;
    let mut conditions = vec![when];
    while let Some(condition) = conditions.pop() {
        let Kind::Binary(op, a, b) = points.nodes[condition].kind else { continue };
        if op == BinaryOp::And {
            conditions.extend([a, b]);
            continue;
        }
        let compares = matches!(op, BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge);
        if !compares || !points.nodes[a].ty.is_int() {
            continue;
        }
        // The greater side less the other one, which is at least zero, or one.
        let up = matches!(op, BinaryOp::Gt | BinaryOp::Ge);
        let (more, less) = if up { (a, b) } else { (b, a) };
        let least = i128::from(matches!(op, BinaryOp::Lt | BinaryOp::Gt));
        let between = points.linear(more).minus(&points.linear(less));
        let constant = |sum: Linear| sum.terms.is_empty().then_some(i128::from(sum.offset));
        let mut both = sum.clone();
        both.add(&between, 1);
        if let Some(offset) = constant(sum.minus(&between)) {
            lo = lo.max(least + offset);
        } else if let Some(offset) = constant(both) {
            hi = hi.min(offset - least);
        }
    }
    Some((lo, hi))
}

/// The operands of nested minima or maxima.
fn sides_of(points: &Points, op: BinaryOp, node: Node, into: &mut Vec<Node>) {
    match points.nodes[node].kind {
        Kind::Binary(own, a, b) if own == op && !points.nodes[node].traps && into.len() < 4 => {
            sides_of(points, op, a, into);
            sides_of(points, op, b, into);
        }
        _ => into.push(node),
    }
}
