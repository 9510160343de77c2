//! Contractions as matrix products.
//!
//! The indices of each role that follow one another in memory are merged; those that cannot be
//! merged become loops around the product. An operand whose indices cannot be merged although its
//! matrix is large (a convolution) is copied into a matrix first.

use super::contract::Contraction;
use super::emit::{AxisPlace, Emit, Place, Use};
use super::nest::Loop;
use crate::points::{Arr, ArrInfo, Ix, Node, Source};
use ein_ir::loops::{BufferKind, ForKind, Gemm, Matrix, Operand, Stmt};
use ein_scalar::Scalar;

/// Products of fewer multiplications run one per thread.
const SHARED_WORK: f64 = 200_000.0;

/// An index of a contraction: first value, extent, and strides in A, B and C.
#[derive(Clone, Copy, Debug)]
struct Dim {
    ix: Ix,
    lo: i64,
    extent: i64,
    a: i64,
    b: i64,
    c: i64,
}

impl Emit {
    /// Writes a contraction as matrix products. `tile` bounds one axis of the result.
    pub(crate) fn contraction(
        &mut self,
        arr: Arr,
        found: &Contraction,
        tile: Option<(usize, Loop)>,
    ) {
        let at_c: Vec<Node> = found.slots.iter().map(|slot| self.points.index(slot.ix)).collect();
        let mut found = found.clone();
        let depth: i64 = found.k.iter().map(|(_, lo, hi)| hi - lo).product();
        let columns: i64 = found.n.iter().map(|axis| found.extent(&self.points, *axis)).product();
        let rows: i64 = found.m.iter().map(|axis| found.extent(&self.points, *axis)).product();
        let batch = self.axis_dims(&found, &found.batch);
        let outer: Vec<Dim> =
            batch.into_iter().filter(|dim| dim.extent > 1 && !self.is_bound(dim.ix)).collect();
        let parallel = !self.in_parallel;
        let work = rows as f64 * columns as f64 * depth as f64;
        let small = work < SHARED_WORK && outer.iter().map(|dim| dim.extent).product::<i64>() > 1;
        for (at, dim) in outer.iter().enumerate() {
            let kind = if at == 0 && parallel && small {
                let grain = ((SHARED_WORK / work).ceil() as i64).max(1);
                ForKind::Parallel { grain }
            } else {
                ForKind::Serial
            };
            let int = |value: i64| Operand::Const(Scalar::I64(value));
            self.open(dim.ix, int(dim.lo), int(dim.lo + dim.extent), kind);
        }
        let k_dims = self.k_dims(&found);
        let m_dims = self.axis_dims(&found, &found.m);
        let n_dims = self.axis_dims(&found, &found.n);
        if !small && self.must_pack(&n_dims, &k_dims, |dim| dim.b) {
            found.b = self.pack(&found.b.clone(), &k_dims, &n_dims);
        }
        if !small && self.must_pack(&m_dims, &k_dims, |dim| dim.a) {
            found.a = self.pack(&found.a.clone(), &k_dims, &m_dims);
        }
        self.products(arr, &found, &at_c, tile, small);
        outer.iter().for_each(|_| self.close());
    }

    fn dim(
        &self,
        found: &Contraction,
        at_c: Option<&[Node]>,
        arr: Arr,
        ix: Ix,
        lo: i64,
        extent: i64,
    ) -> Dim {
        let of = |(arr, at): &(Arr, Box<[Node]>)| self.stride(*arr, at, ix).unwrap_or(0);
        let c = at_c.map_or(0, |at| self.stride(arr, at, ix).unwrap_or(0));
        Dim { ix, lo, extent, a: of(&found.a), b: of(&found.b), c }
    }

    fn axis_dims(&self, found: &Contraction, axes: &[usize]) -> Vec<Dim> {
        axes.iter()
            .map(|axis| {
                let ix = found.slots[*axis].ix;
                let (lo, hi) = self.points.ixs[ix].range;
                self.dim(found, None, found.a.0, ix, lo as i64, (hi - lo + 1) as i64)
            })
            .collect()
    }

    fn k_dims(&self, found: &Contraction) -> Vec<Dim> {
        let dims = found.k.iter();
        dims.map(|(ix, lo, hi)| self.dim(found, None, found.a.0, *ix, *lo, hi - lo)).collect()
    }

    /// Whether an operand is no matrix as it lies in memory, and worth copying.
    fn must_pack(&self, outer: &[Dim], k: &[Dim], stride: impl Fn(&Dim) -> i64) -> bool {
        let merged = |dims: &[Dim]| {
            let pairs = dims.iter().filter(|dim| dim.extent > 1).collect::<Vec<_>>();
            pairs.windows(2).all(|two| stride(two[0]) == stride(two[1]) * two[1].extent)
        };
        !(merged(outer) && merged(k))
    }

    /// Copies an operand into a matrix with a row per `k` and a column per `other`.
    fn pack(&mut self, from: &(Arr, Box<[Node]>), k: &[Dim], other: &[Dim]) -> (Arr, Box<[Node]>) {
        let ty = self.points.arrs[from.0].ty;
        let dims: Vec<Dim> = k.iter().chain(other).copied().collect();
        let shape: Vec<i64> = dims.iter().map(|dim| dim.lo + dim.extent).collect();
        let len = shape.iter().product();
        let source = Source::Defined(usize::MAX);
        let arr = self.points.arrs.push(ArrInfo { name: None, ty, shape: shape.clone(), source });
        let buf = self.buffer("matrix".into(), ty, len, BufferKind::Scratch, Use::Scratch);
        let strides = row_major(&shape);
        let axes = strides.into_iter().map(AxisPlace::Strided).collect();
        self.places.insert(arr, Place::Buffer(buf, axes));
        let here = self.here();
        self.floors.insert(arr, here);
        let at: Vec<Node> = dims.iter().map(|dim| self.points.index(dim.ix)).collect();
        let value = self.points.load(from.0, &from.1);
        let loops: Vec<Loop> = dims
            .iter()
            .map(|dim| (dim.ix, self.points.int(dim.lo), self.points.int(dim.lo + dim.extent)))
            .collect();
        self.nest(arr, loops, vec![(at.clone(), value)]);
        (arr, at.into())
    }

    fn products(
        &mut self,
        arr: Arr,
        found: &Contraction,
        at_c: &[Node],
        tile: Option<(usize, Loop)>,
        small: bool,
    ) {
        let dims = |emit: &Emit, axes: &[usize]| -> Vec<Dim> {
            let mut dims = Vec::new();
            for axis in axes {
                let ix = found.slots[*axis].ix;
                if emit.is_bound(ix) {
                    continue;
                }
                let (lo, hi) = emit.points.ixs[ix].range;
                dims.push(emit.dim(found, Some(at_c), arr, ix, lo as i64, (hi - lo + 1) as i64));
            }
            dims
        };
        let k: Vec<Dim> = found
            .k
            .iter()
            .map(|(ix, lo, hi)| self.dim(found, None, arr, *ix, *lo, hi - lo))
            .collect();
        let (m, n) = (dims(self, &found.m), dims(self, &found.n));
        let tiled = tile.map(|(axis, bounds)| (found.slots[axis].ix, bounds));
        let (m_loops, m) = merge(&m, |dim| (dim.a, dim.c), tiled.map(|(ix, _)| ix));
        let (n_loops, n) = merge(&n, |dim| (dim.b, dim.c), tiled.map(|(ix, _)| ix));
        let (k_loops, k) = merge(&k, |dim| (dim.a, dim.b), None);
        let int = |value: i64| Operand::Const(Scalar::I64(value));
        let loops: Vec<Dim> = m_loops.into_iter().chain(n_loops).collect();
        for dim in &loops {
            let (lo, hi) = match tiled {
                Some((ix, (_, lo, hi))) if ix == dim.ix => {
                    (self.bound_value(lo), self.bound_value(hi))
                }
                _ => (int(dim.lo), int(dim.lo + dim.extent)),
            };
            self.open(dim.ix, lo, hi, ForKind::Serial);
        }
        // Products after the first one along a dimension of `k` add to what is there.
        if !k_loops.is_empty() {
            let first: Vec<Dim> = k_loops.iter().map(|dim| Dim { extent: 1, ..*dim }).collect();
            self.product_loops(arr, found, at_c, &first, (&m, &n, &k), tiled, false, small);
            self.remaining_products(arr, found, at_c, &k_loops, (&m, &n, &k), tiled, small);
        } else {
            self.product(arr, found, at_c, (&m, &n, &k), tiled, false, small);
        }
        loops.iter().for_each(|_| self.close());
    }

    /// All products along the outer dimensions of `k` but the very first.
    #[allow(clippy::too_many_arguments, reason = "the parts of one product")]
    fn remaining_products(
        &mut self,
        arr: Arr,
        found: &Contraction,
        at_c: &[Node],
        loops: &[Dim],
        mnk: (&[Dim], &[Dim], &[Dim]),
        tiled: Option<(Ix, Loop)>,
        small: bool,
    ) {
        // Split the box without its first point: along each dimension in turn the rest.
        for at in 0..loops.len() {
            let mut part = loops.to_vec();
            part[..at].iter_mut().for_each(|dim| dim.extent = 1);
            part[at].lo += 1;
            part[at].extent -= 1;
            if part[at].extent > 0 {
                self.product_loops(arr, found, at_c, &part, mnk, tiled, true, small);
            }
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one product")]
    fn product_loops(
        &mut self,
        arr: Arr,
        found: &Contraction,
        at_c: &[Node],
        loops: &[Dim],
        mnk: (&[Dim], &[Dim], &[Dim]),
        tiled: Option<(Ix, Loop)>,
        accumulate: bool,
        small: bool,
    ) {
        let int = |value: i64| Operand::Const(Scalar::I64(value));
        for dim in loops {
            self.open(dim.ix, int(dim.lo), int(dim.lo + dim.extent), ForKind::Serial);
        }
        self.product(arr, found, at_c, mnk, tiled, accumulate, small);
        loops.iter().for_each(|_| self.close());
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one product")]
    fn product(
        &mut self,
        arr: Arr,
        found: &Contraction,
        at_c: &[Node],
        (m, n, k): (&[Dim], &[Dim], &[Dim]),
        tiled: Option<(Ix, Loop)>,
        accumulate: bool,
        small: bool,
    ) {
        let int = |value: i64| Operand::Const(Scalar::I64(value));
        // The first values of the merged indices are where the matrices start.
        for dim in m.iter().chain(n).chain(k) {
            let lo = match tiled {
                Some((ix, (_, lo, _))) if ix == dim.ix => self.bound_value(lo),
                _ => int(dim.lo),
            };
            self.bind(dim.ix, lo);
        }
        let extent = |emit: &mut Emit, dims: &[Dim]| match (tiled, dims) {
            (Some((ix, (_, lo, hi))), [dim]) if ix == dim.ix => {
                let (lo, hi) = (emit.bound_value(lo), emit.bound_value(hi));
                let op = ein_ir::loops::Op::Binary(ein_scalar::BinaryOp::Sub, hi, lo);
                emit.let_here(ein_scalar::ScalarType::I64, op)
            }
            _ => int(dims.iter().map(|dim| dim.extent).product()),
        };
        let (rows, cols, depth) = (extent(self, m), extent(self, n), extent(self, k));
        let last = |dims: &[Dim], of: &dyn Fn(&Dim) -> i64| dims.last().map_or(1, of);
        let a = Matrix {
            addr: self.address(found.a.0, &found.a.1).0,
            rows: last(m, &|dim| dim.a),
            cols: last(k, &|dim| dim.a),
        };
        let b = Matrix {
            addr: self.address(found.b.0, &found.b.1).0,
            rows: last(k, &|dim| dim.b),
            cols: last(n, &|dim| dim.b),
        };
        let c = Matrix {
            addr: self.address(arr, at_c).0,
            rows: last(m, &|dim| dim.c),
            cols: last(n, &|dim| dim.c),
        };
        let parallel = !self.in_parallel && !small;
        let gemm = Gemm { m: rows, n: cols, k: depth, a, b, c, accumulate, parallel };
        self.push(Stmt::Gemm(Box::new(gemm)));
        for dim in m.iter().chain(n).chain(k) {
            self.unbind(dim.ix);
        }
    }
}

/// Splits dimensions into outer ones to loop over and inner ones that are one dimension in both of
/// the matrices that have them. A tiled one is never merged with others.
fn merge(
    dims: &[Dim],
    strides: impl Fn(&Dim) -> (i64, i64),
    tiled: Option<Ix>,
) -> (Vec<Dim>, Vec<Dim>) {
    let dims: Vec<Dim> = dims.iter().copied().filter(|dim| dim.extent > 1).collect();
    // The largest run of dimensions that are one in memory becomes the dimension of the matrix.
    let mut best = (0, 0, 0i64);
    for start in 0..dims.len() {
        let mut size = 1i64;
        for end in start..dims.len() {
            if end > start {
                let (before, here) = (strides(&dims[end - 1]), strides(&dims[end]));
                let extent = dims[end].extent;
                let alone = Some(dims[end].ix) == tiled || Some(dims[end - 1].ix) == tiled;
                if alone || before.0 != here.0 * extent || before.1 != here.1 * extent {
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
    let outer = dims[..best.0].iter().chain(&dims[best.1..]).copied().collect();
    (outer, inner)
}

pub(crate) fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for at in (0..shape.len().saturating_sub(1)).rev() {
        strides[at] = strides[at + 1] * shape[at + 1].max(1);
    }
    strides
}
