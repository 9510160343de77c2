//! Which indices of a contraction become the dimensions of matrices, which ones loops around the
//! products, and which operands are copied first.
//!
//! The indices of a role are one dimension where they follow one another in memory, in both of the
//! matrices that have them. A copy of an operand follows whatever order is wanted, so it takes a
//! matrix out of that condition. Of all ways to copy operands or not the cheapest one is taken.

use crate::points::Ix;
use crate::schedule::plan::Product;

/// The dimensions of matrices are not cut below this.
const LEAST_PART: i64 = 256;

/// An index of a contraction: first value, extent, and strides in A, B and C.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dim {
    pub(super) ix: Ix,
    pub(super) lo: i64,
    pub(super) extent: i64,
    pub(super) a: i64,
    pub(super) b: i64,
    pub(super) c: i64,
}

/// The indices of a role.
#[derive(Clone, Debug, Default)]
pub(super) struct Split {
    /// Loops around the products.
    pub(super) loops: Vec<Dim>,
    /// Together the dimension of a matrix.
    pub(super) inner: Vec<Dim>,
}

/// How an operand is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copied {
    /// As it lies in memory.
    Not,
    /// From a copy in which the indices that are summed over come first.
    DepthFirst,
    /// From a copy in which they come last.
    DepthLast,
}

/// How a contraction is computed.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) m: Split,
    pub(super) n: Split,
    pub(super) k: Split,
    /// The left operand.
    pub(super) a: Copied,
    /// The right operand.
    pub(super) b: Copied,
    /// Whether the result is computed in a matrix of its own, the other way round, and then copied.
    pub(super) turned: bool,
}

/// What there is to plan.
pub(super) struct Roles<'a> {
    pub(super) m: &'a [Dim],
    pub(super) n: &'a [Dim],
    pub(super) k: &'a [Dim],
    /// An index of which only a part is computed: it is a dimension of its own.
    pub(super) tiled: Option<Ix>,
    /// Elements of a matrix that are copied at a time, at most.
    pub(super) part: i64,
}

impl Plan {
    /// The cheapest way; operands are copied only if they may be.
    pub(super) fn best(roles: &Roles, may_copy: bool) -> Plan {
        let mut best = Plan::of(roles, Copied::Not, Copied::Not, false);
        if !may_copy {
            return best;
        }
        let ways = [Copied::Not, Copied::DepthFirst, Copied::DepthLast];
        for (a, b) in ways.iter().flat_map(|a| ways.iter().map(move |b| (*a, *b))) {
            for turned in [false, true] {
                let other = Plan::of(roles, a, b, turned);
                if other.cost() < best.cost() {
                    best = other;
                }
            }
        }
        best
    }

    fn of(roles: &Roles, a: Copied, b: Copied, turned: bool) -> Plan {
        let follows = |before: i64, here: &Dim, stride: i64| before == stride * here.extent;
        let in_a = |x: &Dim, y: &Dim| a != Copied::Not || follows(x.a, y, y.a);
        let in_b = |x: &Dim, y: &Dim| b != Copied::Not || follows(x.b, y, y.b);
        let in_c = |x: &Dim, y: &Dim| turned || follows(x.c, y, y.c);
        let m = Split::of(roles.m, roles.tiled, |x, y| in_a(x, y) && in_c(x, y));
        let n = Split::of(roles.n, roles.tiled, |x, y| in_b(x, y) && in_c(x, y));
        let k = Split::of(roles.k, None, |x, y| in_a(x, y) && in_b(x, y));
        let mut plan = Plan { m, n, k, a, b, turned };
        plan.cut(roles.part);
        plan
    }

    /// Turns outer indices into loops until what is copied at a time fits into a cache.
    fn cut(&mut self, limit: i64) {
        while self.a != Copied::Not && self.m.size() * self.k.size() > limit {
            if !self.m.cut() && !self.k.cut() {
                break;
            }
        }
        while self.b != Copied::Not && self.n.size() * self.k.size() > limit {
            if !self.n.cut() && !self.k.cut() {
                break;
            }
        }
    }

    /// About how many nanoseconds it takes.
    fn cost(&self) -> f64 {
        let size = |split: &Split| split.size() as f64;
        let (m, n, k) = (size(&self.m), size(&self.n), size(&self.k));
        let count =
            |split: &Split| split.loops.iter().map(|dim| dim.extent as f64).product::<f64>();
        let (m_loops, n_loops, k_loops) = (count(&self.m), count(&self.n), count(&self.k));
        let mut total = m_loops * n_loops * k_loops * self.product();
        total += self.a.cost(&self.m, &self.k, |dim| dim.a) * m_loops * k_loops * m * k;
        total += self.b.cost(&self.n, &self.k, |dim| dim.b) * n_loops * k_loops * n * k;
        if self.turned {
            total += 0.5 * m_loops * n_loops * m * n;
        }
        total
    }

    /// The decision that it is.
    pub(super) fn decided(&self, parallel: bool) -> Product {
        let loops = [&self.m, &self.n, &self.k].iter().map(|split| split.loops.len()).sum();
        let size = [self.m.size(), self.n.size(), self.k.size()];
        let copied = [self.a != Copied::Not, self.b != Copied::Not, self.turned];
        Product { size, loops, copied, parallel }
    }

    /// Whether neighbours in a row of the result are neighbours in memory.
    pub(super) fn by_rows(&self) -> bool {
        let last = |split: &Split| split.inner.last().map_or(1, |dim| dim.c.abs());
        (last(&self.n) < last(&self.m)) != self.turned
    }

    /// The same for one product. The library makes panels of rows of the side along which the
    /// result is contiguous, and reads the other side along `k`.
    fn product(&self) -> f64 {
        let last = |split: &Split, of: fn(&Dim) -> i64| split.inner.last().map_or(1, of);
        let a = self.a.strides(last(&self.m, |dim| dim.a), last(&self.k, |dim| dim.a));
        let b = self.b.strides(last(&self.n, |dim| dim.b), last(&self.k, |dim| dim.b));
        let by_rows = self.by_rows();
        let (m, n, k) = (self.m.size(), self.n.size(), self.k.size());
        let (rows, columns) = if by_rows { (n, m) } else { (m, n) };
        let ((row, _), (_, depth)) = if by_rows { (b, a) } else { (a, b) };
        let left = match (row, rows % 16) {
            (1, 0) => 0.0,
            (1, _) => 0.2,
            _ => 0.35,
        };
        let right = if depth != 1 { 0.3 } else { 0.0 };
        let again = if self.accumulates() { 0.6 } else { 0.3 };
        let at_least = |size: i64, least: i64| size.max(least) as f64;
        let multiply = at_least(m, 8) * at_least(n, 8) * at_least(k, 4) / 60.0;
        let panels = left * (rows * k) as f64 + right * (columns * k) as f64;
        200.0 + multiply + panels + again * (m * n) as f64
    }

    /// Whether the sum over `k` takes several products.
    pub(super) fn accumulates(&self) -> bool {
        !self.k.loops.is_empty()
    }
}

impl Copied {
    /// The cost of copying an element.
    fn cost(self, other: &Split, k: &Split, stride: impl Fn(&Dim) -> i64) -> f64 {
        let along = |split: &Split| {
            split.inner.last().is_some_and(|dim| stride(dim) == 1 && dim.extent >= 8)
        };
        let inner = match self {
            Copied::Not => return 0.0,
            Copied::DepthFirst => other,
            Copied::DepthLast => k,
        };
        if along(inner) { 0.15 } else { 0.45 }
    }

    /// The strides of rows and along `k`: those that an operand has, or those of its copy.
    fn strides(self, row: i64, depth: i64) -> (i64, i64) {
        // Only whether a stride is one matters.
        match self {
            Copied::Not => (row, depth),
            Copied::DepthFirst => (1, 2),
            Copied::DepthLast => (2, 1),
        }
    }
}

impl Split {
    /// The largest run of indices of which each follows the one before it is the dimension of the
    /// matrix; the others are loops. A tiled one stays alone.
    fn of(dims: &[Dim], tiled: Option<Ix>, follows: impl Fn(&Dim, &Dim) -> bool) -> Split {
        let dims: Vec<Dim> = dims.iter().copied().filter(|dim| dim.extent > 1).collect();
        let mut best = (0, 0, 0i64);
        for start in 0..dims.len() {
            let mut size = 1i64;
            for end in start..dims.len() {
                if end > start {
                    let (before, here) = (&dims[end - 1], &dims[end]);
                    let alone = Some(here.ix) == tiled || Some(before.ix) == tiled;
                    if alone || !follows(before, here) {
                        break;
                    }
                }
                size *= dims[end].extent;
                if size > best.2 {
                    best = (start, end + 1, size);
                }
            }
        }
        let inner = dims[best.0..best.1].to_vec();
        let loops = dims[..best.0].iter().chain(&dims[best.1..]).copied().collect();
        Split { loops, inner }
    }

    fn size(&self) -> i64 {
        self.inner.iter().map(|dim| dim.extent).product()
    }

    /// Makes the outermost index of the dimension a loop, if enough is left.
    fn cut(&mut self) -> bool {
        let enough =
            self.inner.first().is_some_and(|first| self.size() / first.extent >= LEAST_PART);
        if enough {
            let first = self.inner.remove(0);
            self.loops.push(first);
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ein_base::Idx;

    /// Indices with their extents and strides in A, B and C.
    fn dims(first: usize, list: &[(i64, i64, i64, i64)]) -> Vec<Dim> {
        let dim = |(at, (extent, a, b, c)): (usize, &(i64, i64, i64, i64))| Dim {
            ix: Ix::from_usize(first + at),
            lo: 0,
            extent: *extent,
            a: *a,
            b: *b,
            c: *c,
        };
        list.iter().enumerate().map(dim).collect()
    }

    fn best(m: &[Dim], n: &[Dim], k: &[Dim]) -> Plan {
        Plan::best(&Roles { m, n, k, tiled: None, part: 1 << 18 }, true)
    }

    #[test]
    fn matrices_are_read_as_they_are() {
        let m = dims(0, &[(64, 128, 0, 64)]);
        for (along, across) in [(1, 128), (64, 1)] {
            let n = dims(1, &[(64, 0, across, 1)]);
            let k = dims(2, &[(128, 1, along, 0)]);
            let plan = best(&m, &n, &k);
            assert_eq!((plan.a, plan.b, plan.turned), (Copied::Not, Copied::Not, false));
        }
    }

    #[test]
    fn a_convolution_is_copied_image_by_image() {
        let m = dims(0, &[(16, 16384, 0, 28800), (30, 32, 0, 30), (30, 1, 0, 1)]);
        let n = dims(3, &[(32, 0, 144, 900)]);
        let k = dims(4, &[(16, 1024, 9, 0), (3, 32, 3, 0), (3, 1, 1, 0)]);
        let plan = best(&m, &n, &k);
        assert_eq!((plan.a, plan.b), (Copied::DepthFirst, Copied::Not));
        assert_eq!((plan.m.loops.len(), plan.m.size(), plan.k.size()), (1, 900, 144));
        // By the kernel: the sum runs over positions, image by image.
        let m = dims(0, &[(32, 900, 0, 144)]);
        let n = dims(1, &[(16, 0, 1024, 9), (3, 0, 32, 3), (3, 0, 1, 1)]);
        let k = dims(4, &[(16, 28800, 16384, 0), (30, 30, 32, 0), (30, 1, 1, 0)]);
        let plan = best(&m, &n, &k);
        assert_eq!((plan.a, plan.b, plan.turned), (Copied::Not, Copied::DepthLast, true));
        assert_eq!((plan.k.loops.len(), plan.k.size(), plan.n.size()), (1, 900, 144));
        assert!(plan.accumulates());
    }
}
