//! The loops that fill an array: their order, what runs in vectors and what in parallel.
//!
//! * Without a reduction inside: the index along which the result is contiguous is innermost and
//!   runs in vectors. A last axis of a few cells is written out first.
//! * With reductions that run along contiguous memory: one cell after another, four at a time, so
//!   that the accumulators of neighbours hide each other's latency.
//! * With reductions across contiguous memory (`max(i) x[i, j]`): a row of accumulators over a tile
//!   of the innermost axis, which runs in vectors inside the reduction.

use super::emit::{AxisPlace, Emit, Place, Use};
use super::reduce::neutral;
use super::{PARALLEL_WORK, node_cost};
use crate::points::{Arr, ArrInfo, Ix, Kind, Node, Source, Subst};
use ein_base::Symbol;
use ein_ir::loops::{BufferKind, ForKind, Op, Operand, Stmt};
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};

/// A last axis of at most so many cells is written out.
const FEW: i64 = 4;

/// Cells of a row of accumulators.
const TILE: i64 = 1024;

/// Neighbouring cells whose reductions run together.
const JAM: i64 = 4;

/// Neighbouring rows of accumulators that are filled together.
const ROWS: i64 = 4;

/// Terms that are added to a row of accumulators in one go.
const TERMS: i64 = 4;

/// An index to loop over, with its bounds.
pub(crate) type Loop = (Ix, Node, Node);

/// A row of accumulators, its reduction and the operation.
type Row = (Arr, Node, BinaryOp);

/// A cell and its value.
pub(crate) type Cell = (Vec<Node>, Node);

impl Emit {
    /// Fills cells of an array for all values of the indices.
    pub(crate) fn nest(&mut self, arr: Arr, mut loops: Vec<Loop>, mut cells: Vec<Cell>) {
        while let Some((ix, lo, hi)) = loops.last().copied()
            && let Some(extent) = self.constant_extent(lo, hi)
            && (extent == 1 || (extent <= FEW && self.worth_writing_out(arr, &loops, &cells)))
            && cells.len() as i64 * extent <= 16
        {
            cells = self.written_out(ix, lo, extent, &cells);
            loops.pop();
        }
        let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
        let inner: Vec<Node> = self.reductions_over(&values, &loops);
        if loops.is_empty() {
            self.body(arr, &cells);
        } else if inner.is_empty() {
            self.plain(arr, loops, &cells);
        } else if let Some(row) = self.across(&loops, &inner) {
            let (loops, cells) = self.several_rows(loops, cells);
            let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
            let inner = self.reductions_over(&values, &loops);
            self.rows(arr, loops, row, &cells, &inner);
        } else if self.worth_a_row(&loops, &cells, &inner) {
            self.with_rows(arr, loops, &cells, &inner);
        } else {
            self.jammed(arr, loops, &cells);
        }
    }

    /// Whether what is done with the reductions is worth a vector loop of its own.
    fn worth_a_row(&self, loops: &[Loop], cells: &[Cell], inner: &[Node]) -> bool {
        let (_, lo, hi) = loops[loops.len() - 1];
        let reduced: f64 = inner.iter().map(|node| node_cost(&self.points, *node)).sum();
        let rest = match cells {
            [(_, value)] => node_cost(&self.points, *value) - reduced,
            _ => 0.0,
        };
        rest >= 8.0 && self.constant_extent(lo, hi).is_some_and(|n| (8..=TILE).contains(&n))
    }

    /// First the reductions of a row of cells, then what is done with them, in vectors.
    fn with_rows(&mut self, arr: Arr, mut loops: Vec<Loop>, cells: &[Cell], inner: &[Node]) {
        let kind = self.outer_kind(&loops, cells);
        let Some(along) = loops.pop() else { return };
        for (at, (ix, lo, hi)) in loops.iter().enumerate() {
            let (lo, hi) = (self.bound_value(*lo), self.bound_value(*hi));
            self.open(*ix, lo, hi, if at == 0 { kind.clone() } else { ForKind::Serial });
        }
        let size = self.points.as_int(along.2).unwrap_or(0);
        let place = self.points.index(along.0);
        let mut rows = Vec::new();
        for node in inner {
            let ty = self.points.nodes[*node].ty;
            let row = self.row(ty, size, AxisPlace::Strided(1));
            let here = self.here();
            self.floors.insert(row, here);
            self.jammed(row, vec![along], &[(vec![place], *node)]);
            rows.push((row, *node));
        }
        self.row_loop(along, |emit| {
            for (row, node) in rows {
                let ty = emit.points.nodes[node].ty;
                let (addr, _) = emit.address(row, &[place]);
                let value = emit.let_here(ty, Op::Load(addr));
                emit.remember(node, value);
            }
            emit.body(arr, cells);
        });
        loops.iter().for_each(|_| self.close());
    }

    /// A local array of one axis.
    pub(crate) fn row(&mut self, ty: ScalarType, size: i64, place: AxisPlace) -> Arr {
        let source = Source::Defined(usize::MAX);
        let arr = self.points.arrs.push(ArrInfo { name: None, ty, shape: vec![size], source });
        let buf = self.buffer("row".into(), ty, size, BufferKind::Local, Use::Local);
        self.places.insert(arr, Place::Buffer(buf, vec![place]));
        arr
    }

    fn constant_extent(&self, lo: Node, hi: Node) -> Option<i64> {
        Some(self.points.as_int(hi)? - self.points.as_int(lo)?)
    }

    /// Whether the loop before a short last one can run in vectors instead.
    fn worth_writing_out(&self, arr: Arr, loops: &[Loop], cells: &[Cell]) -> bool {
        let (ix, ..) = loops[loops.len() - 1];
        let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
        let reduces = values.iter().any(|value| self.points.nodes[*value].reduces);
        let stored = self.stride(arr, &cells[0].0, ix);
        loops.len() == 1 || reduces || stored != Some(1) || self.points.below(&values).iter().any(|n| {
            matches!(self.points.nodes[*n].kind, Kind::Select(c, ..) if self.points.depends(c, ix))
        })
    }

    /// The cells for each value of an index.
    fn written_out(&mut self, ix: Ix, lo: Node, extent: i64, cells: &[Cell]) -> Vec<Cell> {
        let lo = self.points.as_int(lo).unwrap_or(0);
        let mut all = Vec::new();
        for at in lo..lo + extent {
            let at = self.points.int(at);
            all.extend(self.replaced(ix, at, cells));
        }
        all
    }

    fn replaced(&mut self, ix: Ix, by: Node, cells: &[Cell]) -> Vec<Cell> {
        let mut subst = Subst::one(ix, by);
        let points = &mut self.points;
        cells
            .iter()
            .map(|(at, value)| {
                let at = at.iter().map(|node| subst.apply(points, *node)).collect();
                (at, subst.apply(points, *value))
            })
            .collect()
    }

    /// The outermost reductions that depend on these loops.
    fn reductions_over(&self, values: &[Node], loops: &[Loop]) -> Vec<Node> {
        let nodes = self.points.below(values);
        let is = |node: &Node| matches!(self.points.nodes[*node].kind, Kind::Reduce(_));
        let over = |node: &Node| loops.iter().any(|(ix, ..)| self.points.depends(*node, *ix));
        let found: Vec<Node> = nodes.into_iter().filter(|node| is(node) && over(node)).collect();
        let nested = |node: &Node| {
            found.iter().any(|other| other != node && self.points.below(&[*other]).contains(node))
        };
        found.iter().copied().filter(|node| !nested(node)).collect()
    }

    /// Computes and stores cells.
    fn body(&mut self, arr: Arr, cells: &[Cell]) {
        let roots: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
        let wanted = self
            .points
            .below(&roots)
            .into_iter()
            .filter(|node| matches!(self.points.nodes[*node].kind, Kind::Reduce(_)))
            .collect();
        let before = std::mem::replace(&mut self.wanted, wanted);
        let values: Vec<Operand> = cells.iter().map(|(_, value)| self.value(*value)).collect();
        self.wanted = before;
        match self.places.get(&arr) {
            Some(Place::Register(_)) | None => {
                self.places.insert(arr, Place::Register(values[0]));
            }
            Some(Place::Buffer(..)) => {
                for ((at, _), value) in cells.iter().zip(values) {
                    self.store(arr, at, value);
                }
            }
        }
    }

    /// The work of one iteration of the first of these loops.
    fn work_inside(&self, loops: &[Loop], cells: &[Cell]) -> f64 {
        let inner: f64 =
            loops[1..].iter().map(|(_, lo, hi)| self.points.trip_count(*lo, *hi)).product();
        let each: f64 = cells.iter().map(|(_, value)| node_cost(&self.points, *value) + 1.0).sum();
        inner * each
    }

    /// How the first of these loops runs, if the loop after it can wait.
    fn outer_kind(&self, loops: &[Loop], cells: &[Cell]) -> ForKind {
        let each = self.work_inside(loops, cells).max(1.0);
        let count = self.points.trip_count(loops[0].1, loops[0].2);
        // Inside a loop the threads meet again and again.
        let least = if self.here() == 0 { PARALLEL_WORK } else { 8.0 * PARALLEL_WORK };
        if self.in_parallel || each * count < least || count < 2.0 {
            return ForKind::Serial;
        }
        ForKind::Parallel { grain: ((least / 2.0 / each).ceil() as i64).max(1) }
    }

    /// Opens loops; the first in parallel if that pays.
    fn open_all(&mut self, loops: &[Loop], cells: &[Cell]) {
        for (at, (ix, lo, hi)) in loops.iter().enumerate() {
            let kind = if at == 0 { self.outer_kind(loops, cells) } else { ForKind::Serial };
            let (lo, hi) = (self.bound_value(*lo), self.bound_value(*hi));
            self.open(*ix, lo, hi, kind);
        }
    }

    /// Loops without a reduction inside.
    fn plain(&mut self, arr: Arr, mut loops: Vec<Loop>, cells: &[Cell]) {
        let last = loops.len() - 1;
        let contiguous = |ix: Ix| self.stride(arr, &cells[0].0, ix) == Some(1);
        if !contiguous(loops[last].0) && self.is_rectangular(&loops) {
            let best = loops.iter().position(|(ix, lo, hi)| {
                contiguous(*ix) && self.constant_extent(*lo, *hi).is_some_and(|n| n >= 8)
            });
            if let Some(best) = best {
                let moved = loops.remove(best);
                loops.push(moved);
            }
        }
        let Some(inner) = loops.pop() else { return };
        if loops.is_empty() && self.is_rectangular(&[inner]) {
            if let ForKind::Parallel { grain } = self.outer_kind(&[inner], cells) {
                let (tile, rest) = self.tiles(inner, grain.max(TILE));
                let (lo, hi) = (self.bound_value(tile.1), self.bound_value(tile.2));
                self.open(tile.0, lo, hi, ForKind::Parallel { grain: 1 });
                self.vector(arr, rest, cells);
                self.close();
                return;
            }
        }
        let mut all = loops.clone();
        all.push(inner);
        let kind = self.outer_kind(&all, cells);
        for (at, (ix, lo, hi)) in loops.iter().enumerate() {
            let (lo, hi) = (self.bound_value(*lo), self.bound_value(*hi));
            let kind = if at == 0 { kind.clone() } else { ForKind::Serial };
            self.open(*ix, lo, hi, kind);
        }
        self.vector(arr, inner, cells);
        loops.iter().for_each(|_| self.close());
    }

    fn is_rectangular(&self, loops: &[Loop]) -> bool {
        loops.iter().all(|(_, lo, hi)| self.constant_extent(*lo, *hi).is_some())
    }

    fn vector(&mut self, arr: Arr, (ix, lo, hi): Loop, cells: &[Cell]) {
        let (lo, hi) = (self.bound_value(lo), self.bound_value(hi));
        let divisors = self.divisors(ix, cells);
        let run = |emit: &mut Emit| {
            emit.open(ix, lo, hi, ForKind::Vector { reductions: Vec::new() });
            emit.body(arr, cells);
            emit.close();
        };
        if divisors.is_empty() {
            return run(self);
        }
        // Division is slow; by a divisor of ordinary size a multiplication does it.
        let mut ordinary: Option<Operand> = None;
        let mut known = Vec::new();
        for divisor in divisors {
            let (fits, reciprocal) = self.reciprocal(divisor);
            ordinary = Some(match ordinary {
                None => fits,
                Some(all) => self.let_here(ScalarType::Bool, Op::Binary(BinaryOp::And, all, fits)),
            });
            known.push((divisor, reciprocal));
        }
        let Some(ordinary) = ordinary else { return };
        self.open_block();
        self.reciprocals.extend(known);
        run(self);
        self.reciprocals.clear();
        let fast = self.close_block();
        self.open_block();
        run(self);
        let exact = self.close_block();
        self.push(Stmt::If(ordinary, fast, exact));
    }

    /// Divisors that do not change in a loop, of what does.
    fn divisors(&self, ix: Ix, cells: &[Cell]) -> Vec<Node> {
        if self.points.exact {
            return Vec::new();
        }
        let roots: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
        let mut found = Vec::new();
        for node in self.points.below(&roots) {
            let info = &self.points.nodes[node];
            let Kind::Binary(BinaryOp::Div, a, b) = info.kind else { continue };
            let wide = matches!(info.ty, ScalarType::F32 | ScalarType::F64);
            let constant = matches!(self.points.nodes[b].kind, Kind::Const(_));
            let varies = self.points.depends(a, ix) && !self.points.depends(b, ix);
            if wide && !constant && varies && !found.contains(&b) {
                found.push(b);
            }
        }
        found
    }

    /// Whether a divisor has an exact enough reciprocal, and the reciprocal.
    fn reciprocal(&mut self, divisor: Node) -> (Operand, Operand) {
        let ty = self.points.nodes[divisor].ty;
        let number = |value: f64| match ty {
            ScalarType::F32 => Operand::Const(Scalar::F32(value as f32)),
            _ => Operand::Const(Scalar::F64(value)),
        };
        let value = self.value(divisor);
        let size = self.let_here(ty, Op::Unary(UnaryOp::Abs, value));
        let bool = ScalarType::Bool;
        let above = self.let_here(bool, Op::Binary(BinaryOp::Gt, size, number(1e-30)));
        let below = self.let_here(bool, Op::Binary(BinaryOp::Lt, size, number(1e30)));
        let fits = self.let_here(bool, Op::Binary(BinaryOp::And, above, below));
        let reciprocal = self.let_here(ty, Op::Binary(BinaryOp::Div, number(1.0), value));
        (fits, reciprocal)
    }

    /// A loop as a loop over tiles and one inside a tile.
    pub(crate) fn tiles(&mut self, (ix, lo, hi): Loop, size: i64) -> (Loop, Loop) {
        let count = self.points.trip_count(lo, hi);
        let tiles = (count / size as f64).ceil().max(1.0) as i64;
        let tile = self.points.fresh(Symbol::intern("tile"), (0, i128::from(tiles - 1)));
        let (zero, end) = (self.points.int(0), self.points.int(tiles));
        let node = self.points.index(tile);
        let size = self.points.int(size);
        let skip = self.points.binary(BinaryOp::Mul, node, size, None);
        let first = self.points.binary(BinaryOp::Add, lo, skip, None);
        let after = self.points.binary(BinaryOp::Add, first, size, None);
        let after = self.points.binary(BinaryOp::Min, after, hi, None);
        ((tile, zero, end), (ix, first, after))
    }

    /// Whether the reductions run across contiguous memory: the loop to run in vectors.
    fn across(&self, loops: &[Loop], inner: &[Node]) -> Option<usize> {
        let first = match &self.points.nodes[inner[0]].kind {
            Kind::Reduce(reduction) => reduction.clone(),
            _ => return None,
        };
        let mut bodies = Vec::new();
        for node in inner {
            let Kind::Reduce(reduction) = &self.points.nodes[*node].kind else { return None };
            let simple = matches!(reduction.op, ReduceOp::Sum | ReduceOp::Max | ReduceOp::Min)
                && self.points.nodes[*node].ty.is_float()
                && reduction.binders == first.binders
                && !self.points.nodes[reduction.body].reduces;
            if !simple {
                return None;
            }
            bodies.push(reduction.body);
        }
        let last = loops.len() - 1;
        let (ix, lo, hi) = loops[last];
        let (extent, along) = (self.constant_extent(lo, hi)?, first.binders.last()?.0);
        let independent = first
            .binders
            .iter()
            .all(|(_, lo, hi)| !self.points.depends(*lo, ix) && !self.points.depends(*hi, ix));
        let loads = self.points.loads(&bodies);
        let stride = |(arr, at): &(Arr, Box<[Node]>), ix: Ix| self.stride(*arr, at, ix);
        let rows =
            loads.iter().any(|load| stride(load, ix) == Some(1) && stride(load, along) != Some(1));
        let dots =
            loads.iter().any(|load| stride(load, along) == Some(1) && stride(load, ix) != Some(0));
        (extent >= 8 && independent && rows && !dots).then_some(last)
    }

    /// Short rows are handled several at a time.
    fn several_rows(&mut self, mut loops: Vec<Loop>, cells: Vec<Cell>) -> (Vec<Loop>, Vec<Cell>) {
        let count = loops.len();
        if count < 2 || cells.len() > 1 {
            return (loops, cells);
        }
        let (_, lo, hi) = loops[count - 1];
        let (ix, first, end) = loops[count - 2];
        let (Some(width), Some(extent)) =
            (self.constant_extent(lo, hi), self.constant_extent(first, end))
        else {
            return (loops, cells);
        };
        if width > 64 || extent % ROWS != 0 {
            return (loops, cells);
        }
        let (group, together) = self.jam(ix, first, extent, &cells, ROWS);
        loops[count - 2] = group;
        (loops, together)
    }

    /// Cells for groups of neighbouring values of an index.
    fn jam(
        &mut self,
        ix: Ix,
        lo: Node,
        extent: i64,
        cells: &[Cell],
        size: i64,
    ) -> (Loop, Vec<Cell>) {
        let start = self.points.as_int(lo).unwrap_or(0);
        let groups = extent / size;
        let group = self.points.fresh(Symbol::intern("group"), (0, i128::from(groups - 1)));
        let node = self.points.index(group);
        let factor = self.points.int(size);
        let first = self.points.binary(BinaryOp::Mul, node, factor, None);
        let mut together = Vec::new();
        for at in 0..size {
            let at = self.points.int(start + at);
            let place = self.points.binary(BinaryOp::Add, first, at, None);
            together.extend(self.replaced(ix, place, cells));
        }
        let (zero, end) = (self.points.int(0), self.points.int(groups));
        ((group, zero, end), together)
    }

    /// Reductions with a row of accumulators.
    fn rows(&mut self, arr: Arr, mut loops: Vec<Loop>, row: usize, cells: &[Cell], inner: &[Node]) {
        let work = self.outer_kind(&loops, cells);
        let along = loops.remove(row);
        let size = self.points.trip_count(along.1, along.2).min(TILE as f64) as i64;
        let (tile, rest) = self.tiles(along, size);
        loops.push(tile);
        for (at, (ix, lo, hi)) in loops.iter().enumerate() {
            let (lo, hi) = (self.bound_value(*lo), self.bound_value(*hi));
            let kind = match &work {
                ForKind::Parallel { .. } if at == 0 && loops.len() == 1 => {
                    ForKind::Parallel { grain: 1 }
                }
                kind if at == 0 => kind.clone(),
                _ => ForKind::Serial,
            };
            self.open(*ix, lo, hi, kind);
        }
        let origin = self.bound_value(rest.1);
        let origin = match origin {
            Operand::Reg(reg) => reg,
            constant => {
                let reg = self.reg(ScalarType::I64);
                self.push(Stmt::Let(reg, Op::Copy(constant)));
                reg
            }
        };
        let place = self.points.index(rest.0);
        let mut accs = Vec::new();
        for node in inner {
            accs.push(self.row_of(*node, size, origin));
        }
        self.row_loop(rest, |emit| {
            for (acc, _, op) in &accs {
                let ty = emit.points.arrs[*acc].ty;
                emit.store(*acc, &[place], Operand::Const(neutral(*op, ty)));
            }
        });
        let Kind::Reduce(first) = self.points.nodes[inner[0]].kind.clone() else { return };
        self.fill_rows(&accs, &first.binders, rest, place);
        self.row_loop(rest, |emit| {
            for (acc, node, _) in &accs {
                let (ty, wide) = (emit.points.nodes[*node].ty, emit.points.arrs[*acc].ty);
                let (addr, _) = emit.address(*acc, &[place]);
                let mut value = emit.let_here(wide, Op::Load(addr));
                if ty != wide {
                    value = emit.let_here(ty, Op::Cast(value));
                }
                emit.remember(*node, value);
            }
            emit.body(arr, cells);
        });
        loops.iter().for_each(|_| self.close());
    }

    fn row_loop(&mut self, (ix, lo, hi): Loop, body: impl FnOnce(&mut Emit)) {
        let (lo, hi) = (self.bound_value(lo), self.bound_value(hi));
        self.open(ix, lo, hi, ForKind::Vector { reductions: Vec::new() });
        body(self);
        self.close();
    }

    /// A local row of accumulators of a reduction.
    fn row_of(
        &mut self,
        node: Node,
        size: i64,
        origin: ein_ir::loops::Reg,
    ) -> (Arr, Node, BinaryOp) {
        let Kind::Reduce(reduction) = self.points.nodes[node].kind.clone() else {
            unreachable!("only reductions have rows")
        };
        let (ty, op) = match reduction.op {
            ReduceOp::Max => (self.points.nodes[node].ty, BinaryOp::Max),
            ReduceOp::Min => (self.points.nodes[node].ty, BinaryOp::Min),
            _ => {
                let ty = self.points.nodes[node].ty;
                let long = self.long_sum(&reduction, ty);
                (if long { ScalarType::F64 } else { ty }, BinaryOp::Add)
            }
        };
        (self.row(ty, size, AxisPlace::From(1, origin)), node, op)
    }

    /// Adds all terms to rows of accumulators, several at a time.
    fn fill_rows(&mut self, accs: &[Row], binders: &[Loop], rest: Loop, place: Node) {
        let Some(((ix, lo, hi), outer)) = binders.split_last() else { return };
        for (ix, lo, hi) in outer {
            let (lo, hi) = (self.bound_value(*lo), self.bound_value(*hi));
            self.open(*ix, lo, hi, ForKind::Serial);
        }
        let extent = self.constant_extent(*lo, *hi).unwrap_or(0);
        let several = extent / TERMS;
        if several > 0 {
            let cells: Vec<Cell> = vec![(vec![self.points.index(*ix)], *lo)];
            let (group, places) = self.jam(*ix, *lo, several * TERMS, &cells, TERMS);
            let places: Vec<Node> = places.into_iter().map(|(at, _)| at[0]).collect();
            let (from, to) = (self.bound_value(group.1), self.bound_value(group.2));
            self.open(group.0, from, to, ForKind::Serial);
            self.row_loop(rest, |emit| {
                for row in accs {
                    emit.accumulate_row(row, place, *ix, &places);
                }
            });
            self.close();
        }
        if several == 0 || several * TERMS < extent {
            let start = match several {
                0 => *lo,
                _ => {
                    let start = self.points.as_int(*lo).unwrap_or(0) + several * TERMS;
                    self.points.int(start)
                }
            };
            let (from, to) = (self.bound_value(start), self.bound_value(*hi));
            self.open(*ix, from, to, ForKind::Serial);
            let here = self.points.index(*ix);
            self.row_loop(rest, |emit| {
                for row in accs {
                    emit.accumulate_row(row, place, *ix, &[here]);
                }
            });
            self.close();
        }
        outer.iter().for_each(|_| self.close());
    }

    /// Adds the terms for these values of an index to a row of accumulators.
    fn accumulate_row(&mut self, row: &Row, place: Node, ix: Ix, terms: &[Node]) {
        let (acc, node, op) = *row;
        let Kind::Reduce(reduction) = self.points.nodes[node].kind.clone() else { return };
        let ty = self.points.arrs[acc].ty;
        let (addr, _) = self.address(acc, &[place]);
        let mut sum = self.let_here(ty, Op::Load(addr));
        for term in terms {
            let mut subst = Subst::one(ix, *term);
            let body = subst.apply(&mut self.points, reduction.body);
            let guard = reduction.guard.map(|guard| subst.apply(&mut self.points, guard));
            sum = self.add_term(sum, body, guard, op, ty);
        }
        self.store(acc, &[place], sum);
    }

    fn add_term(
        &mut self,
        sum: Operand,
        body: Node,
        guard: Option<Node>,
        op: BinaryOp,
        ty: ScalarType,
    ) -> Operand {
        let body_ty = self.points.nodes[body].ty;
        if let Kind::Binary(BinaryOp::Mul, a, b) = self.points.nodes[body].kind
            && op == BinaryOp::Add
            && ty == body_ty
            && guard.is_none()
        {
            let (a, b) = (self.value(a), self.value(b));
            return self.let_here(ty, Op::MulAdd(a, b, sum));
        }
        let mut value = self.value(body);
        if ty != body_ty {
            value = self.let_here(ty, Op::Cast(value));
        }
        if let Some(guard) = guard {
            let guard = self.value(guard);
            let neutral = Operand::Const(neutral(op, ty));
            value = self.let_here(ty, Op::Select(guard, value, neutral));
        }
        self.let_here(ty, Op::Binary(op, sum, value))
    }

    /// Cells with reductions of their own, several neighbours at a time.
    fn jammed(&mut self, arr: Arr, mut loops: Vec<Loop>, cells: &[Cell]) {
        let Some((ix, lo, hi)) = loops.pop() else { return };
        let extent = self.constant_extent(lo, hi);
        let few = cells.len() as i64 * JAM <= 8;
        let (Some(extent), true) = (extent.filter(|extent| *extent >= JAM), few) else {
            loops.push((ix, lo, hi));
            self.open_all(&loops, cells);
            self.body(arr, cells);
            loops.iter().for_each(|_| self.close());
            return;
        };
        let (group, together) = self.jam(ix, lo, extent, cells, JAM);
        let (start, groups) = (self.points.as_int(lo).unwrap_or(0), extent / JAM);
        let mut all = loops.clone();
        all.push(group);
        self.open_all(&all, &together);
        self.body(arr, &together);
        all.iter().for_each(|_| self.close());
        if groups * JAM < extent {
            let from = self.points.int(start + groups * JAM);
            loops.push((ix, from, hi));
            self.open_all(&loops, cells);
            self.body(arr, cells);
            loops.iter().for_each(|_| self.close());
        }
    }

    /// Fills an array, or a part of it, with zeros.
    pub(crate) fn zeros(&mut self, arr: Arr, region: &[(i64, i64)]) {
        let ty = self.points.arrs[arr].ty;
        let value = self.points.constant(Scalar::zero(ty));
        let mut loops = Vec::new();
        let mut at = Vec::new();
        for (lo, hi) in region {
            let range = (i128::from(*lo), i128::from(*hi - 1).max(i128::from(*lo)));
            let ix = self.points.fresh(Symbol::intern("z"), range);
            loops.push((ix, self.points.int(*lo), self.points.int(*hi)));
            at.push(self.points.index(ix));
        }
        self.nest(arr, loops, vec![(at, value)]);
    }
}
