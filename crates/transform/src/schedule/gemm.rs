//! Contractions as matrix products.
//!
//! The indices of each role that follow one another in memory are merged; those that cannot be
//! merged become loops around the product. An operand whose indices cannot be merged although its
//! matrix is large (a convolution) is copied into a matrix first, a part of it at a time ([`plan`]).
//!
//! Failures: operands are cells of arrays, which have been computed before; products of floats do
//! not fail.

mod plan;

use super::contract::Contraction;
use super::emit::{AxisPlace, Emit, Place, Use};
use super::nest::Loop;
use super::plan::{How, Turns, What, Why};
use super::view::View;
use crate::points::{Arr, ArrInfo, Ix, Node, Source};
use ein_ir::loops::{BufferKind, ForKind, Gemm, Matrix, Operand, Stmt};
use ein_scalar::{Scalar, ScalarType};
use plan::{Copied, Dim, Plan, Roles};

/// A contraction being written.
struct Product {
    /// The result.
    arr: Arr,
    /// Its cell.
    at: Vec<Node>,
    /// What it is computed from; copies take the place of operands.
    found: Contraction,
    /// An index with bounds of its own.
    tiled: Option<(Ix, Loop)>,
}

impl Emit {
    /// Writes a contraction as matrix products. `tile` bounds one axis of the result.
    pub(crate) fn contraction(
        &mut self,
        arr: Arr,
        found: &Contraction,
        tile: Option<(usize, Loop)>,
    ) {
        let at: Vec<Node> = found.slots.iter().map(|slot| self.points.index(slot.ix)).collect();
        let tiled = tile.map(|(axis, bounds)| (found.slots[axis].ix, bounds));
        let mut product = Product { arr, at, found: found.clone(), tiled };
        let batch = axis_dims(&self.view(), &product, &found.batch);
        let outer: Vec<Dim> = batch.into_iter().filter(|dim| dim.extent > 1).collect();
        let m = axis_dims(&self.view(), &product, &found.m);
        let n = axis_dims(&self.view(), &product, &found.n);
        let k: Vec<Dim> = found
            .k
            .iter()
            .map(|(ix, lo, hi)| dim(&self.view(), &product, *ix, *lo, hi - lo))
            .collect();
        let size = |dims: &[Dim]| dims.iter().map(|dim| dim.extent as f64).product::<f64>();
        let work = size(&m) * size(&n) * size(&k);
        let least = self.points.cost.shared_product_work();
        let small = work < least && size(&outer) > 1.0;
        for (at, dim) in outer.iter().enumerate() {
            let how = if at == 0 && !self.in_parallel && small {
                How::Parallel { grain: ((least / work).ceil() as i64).max(1) }
            } else {
                How::Serial
            };
            let why = match how {
                How::Parallel { .. } => {
                    Why::Work { work: work * size(&outer), turns: dim.extent as f64, least }
                }
                How::Serial | How::Vector => Why::Only,
            };
            let (index, turns) = (self.points.ixs[dim.ix].name, Turns::Exactly(dim.extent));
            self.plan.note(What::Loop { index, turns, how }, why);
            self.open(dim.ix, int(dim.lo), int(dim.lo + dim.extent), how.kind());
        }
        let part = self.points.cost.part_bytes() / self.points.arrs[arr].ty.size_bytes() as i64;
        let roles = Roles { m: &m, n: &n, k: &k, tiled: tiled.map(|(ix, _)| ix), part };
        // Threads would write into one copy.
        let plan = Plan::best(&roles, !small && !self.any_parallel());
        let parallel = !self.in_parallel && !small;
        let why = match (self.in_parallel, small) {
            (true, _) => Why::Since("threads share a loop around it"),
            (false, true) => Why::LittleWork { work, least },
            (false, false) => Why::Work { work, turns: 1.0, least },
        };
        self.plan.begin(What::Product(plan.decided(parallel)), why);
        self.products(&mut product, &plan, small);
        self.plan.end();
        outer.iter().for_each(|_| self.close());
    }

    /// The loops around the products, with the copies where the loops inside do not change them.
    fn products(&mut self, product: &mut Product, plan: &Plan, small: bool) {
        let Plan { m, n, k, .. } = plan;
        let all_k = [k.loops.as_slice(), &k.inner].concat();
        if !m.loops.is_empty() {
            let all_n = [n.loops.as_slice(), &n.inner].concat();
            product.found.b = self.copy(product, plan.b, &product.found.b, &all_k, &all_n);
        }
        self.open_dims(product, &m.loops);
        if !n.loops.is_empty() {
            product.found.a = self.copy(product, plan.a, &product.found.a, &all_k, &m.inner);
        }
        self.open_dims(product, &n.loops);
        let result = (product.arr, product.at.clone());
        let (across, along) = match plan.by_rows() {
            true => (m.inner.as_slice(), n.inner.as_slice()),
            false => (n.inner.as_slice(), m.inner.as_slice()),
        };
        let cells = [across, along].concat();
        if plan.turned {
            let ty = self.points.arrs[product.arr].ty;
            (product.arr, product.at) = self.matrix(ty, &cells);
        }
        if plan.accumulates() {
            let zero = self.points.constant(Scalar::zero(self.points.arrs[product.arr].ty));
            let loops = self.loops(product, &cells);
            self.nest(product.arr, loops, vec![(product.at.clone(), zero)]);
        }
        self.open_dims(product, &k.loops);
        if n.loops.is_empty() {
            product.found.a = self.copy(product, plan.a, &product.found.a, &k.inner, &m.inner);
        }
        if m.loops.is_empty() {
            product.found.b = self.copy(product, plan.b, &product.found.b, &k.inner, &n.inner);
        }
        self.product(product, plan, small);
        k.loops.iter().for_each(|_| self.close());
        if plan.turned {
            let value = self.points.load(product.arr, &product.at);
            let loops = self.loops(product, &[along, across].concat());
            self.nest(result.0, loops, vec![(result.1, value)]);
        }
        m.loops.iter().chain(&n.loops).for_each(|_| self.close());
    }

    fn open_dims(&mut self, product: &Product, dims: &[Dim]) {
        for dim in dims {
            let (lo, hi) = match product.tiled {
                Some((ix, (_, lo, hi))) if ix == dim.ix => {
                    (self.bound_value(lo), self.bound_value(hi))
                }
                _ => (int(dim.lo), int(dim.lo + dim.extent)),
            };
            self.open(dim.ix, lo, hi, ForKind::Serial);
        }
    }

    fn loops(&mut self, product: &Product, dims: &[Dim]) -> Vec<Loop> {
        dims.iter()
            .map(|dim| match product.tiled {
                Some((ix, bounds)) if ix == dim.ix => bounds,
                _ => (dim.ix, self.points.int(dim.lo), self.points.int(dim.lo + dim.extent)),
            })
            .collect()
    }

    /// What an operand is read from: itself, or a matrix that it is copied into.
    fn copy(
        &mut self,
        product: &Product,
        copied: Copied,
        from: &(Arr, Box<[Node]>),
        k: &[Dim],
        other: &[Dim],
    ) -> (Arr, Box<[Node]>) {
        let dims = match copied {
            Copied::Not => return from.clone(),
            Copied::DepthFirst => [k, other].concat(),
            Copied::DepthLast => [other, k].concat(),
        };
        let (arr, at) = self.matrix(self.points.arrs[from.0].ty, &dims);
        let value = self.points.load(from.0, &from.1);
        let loops = self.loops(product, &dims);
        self.nest(arr, loops, vec![(at.clone(), value)]);
        (arr, at.into())
    }

    /// Room for a matrix over these indices, the last of which follow one another, and its cell.
    fn matrix(&mut self, ty: ScalarType, dims: &[Dim]) -> (Arr, Vec<Node>) {
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
        (arr, dims.iter().map(|dim| self.points.index(dim.ix)).collect())
    }

    /// One product, at the point that the loops are at.
    fn product(&mut self, product: &Product, plan: &Plan, small: bool) {
        let again = |emit: &Emit, dims: &[Dim]| -> Vec<Dim> {
            let of = |it: &Dim| dim(&emit.view(), product, it.ix, it.lo, it.extent);
            dims.iter().map(of).collect()
        };
        let m = again(self, &plan.m.inner);
        let n = again(self, &plan.n.inner);
        let k = again(self, &plan.k.inner);
        // The first values of the merged indices are where the matrices start.
        let mut starts: Vec<(Ix, Operand)> = Vec::new();
        for dim in m.iter().chain(&n).chain(&k) {
            let lo = match product.tiled {
                Some((ix, (_, lo, _))) if ix == dim.ix => self.bound_value(lo),
                _ => int(dim.lo),
            };
            starts.push((dim.ix, lo));
        }
        for (ix, lo) in &starts {
            self.bind(*ix, *lo);
        }
        let extent = |emit: &mut Emit, dims: &[Dim]| match (product.tiled, dims) {
            (Some((ix, (_, lo, hi))), [dim]) if ix == dim.ix => {
                let (lo, hi) = (emit.bound_value(lo), emit.bound_value(hi));
                let op = ein_ir::loops::Op::Binary(ein_scalar::BinaryOp::Sub, hi, lo);
                emit.let_here(ScalarType::I64, op)
            }
            _ => int(dims.iter().map(|dim| dim.extent).product()),
        };
        let (rows, cols, depth) = (extent(self, &m), extent(self, &n), extent(self, &k));
        let last = |dims: &[Dim], of: &dyn Fn(&Dim) -> i64| dims.last().map_or(1, of);
        let Contraction { a, b, .. } = &product.found;
        let a = Matrix {
            addr: self.address(a.0, &a.1).0,
            rows: last(&m, &|dim| dim.a),
            cols: last(&k, &|dim| dim.a),
        };
        let b = Matrix {
            addr: self.address(b.0, &b.1).0,
            rows: last(&k, &|dim| dim.b),
            cols: last(&n, &|dim| dim.b),
        };
        let c = Matrix {
            addr: self.address(product.arr, &product.at).0,
            rows: last(&m, &|dim| dim.c),
            cols: last(&n, &|dim| dim.c),
        };
        let (accumulate, parallel) = (plan.accumulates(), !self.in_parallel && !small);
        let gemm = Gemm { m: rows, n: cols, k: depth, a, b, c, accumulate, parallel };
        self.push(Stmt::Gemm(Box::new(gemm)));
        for (ix, _) in &starts {
            self.unbind(*ix);
        }
    }
}

fn int(value: i64) -> Operand {
    Operand::Const(Scalar::I64(value))
}

pub(crate) fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for at in (0..shape.len().saturating_sub(1)).rev() {
        strides[at] = strides[at + 1] * shape[at + 1].max(1);
    }
    strides
}

fn dim(view: &View<'_>, product: &Product, ix: Ix, lo: i64, extent: i64) -> Dim {
    let of = |(arr, at): &(Arr, Box<[Node]>)| view.stride(*arr, at, ix).unwrap_or(0);
    let (a, b) = (of(&product.found.a), of(&product.found.b));
    let c = view.stride(product.arr, &product.at, ix).unwrap_or(0);
    Dim { ix, lo, extent, a, b, c }
}

/// The axes that no loop runs over yet.
fn axis_dims(view: &View<'_>, product: &Product, axes: &[usize]) -> Vec<Dim> {
    let ixs = axes.iter().map(|axis| product.found.slots[*axis].ix);
    ixs.filter(|ix| !view.is_bound(*ix))
        .map(|ix| {
            let (lo, hi) = view.points.ixs[ix].range;
            dim(view, product, ix, lo as i64, (hi - lo + 1) as i64)
        })
        .collect()
}
