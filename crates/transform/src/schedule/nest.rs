//! The loops that fill an array: their order, what runs in vectors and what in parallel.
//!
//! * Without a reduction inside: the index along which the result is contiguous is innermost and
//!   runs in vectors. A last axis of a few cells is written out first.
//! * With reductions that run along contiguous memory: one cell after another, four at a time, so
//!   that the accumulators of neighbours hide each other's latency.
//! * With reductions across contiguous memory (`max(i) x[i, j]`): a row of accumulators over a tile
//!   of the innermost axis, which runs in vectors inside the reduction; a few terms are written out.
//!
//! Failures: the order of loops and the lanes of vectors do not matter to a flag: that something
//! failed is known at the end, and the evaluator says what. Addresses never depend on it.

use super::emit::{Emit, Place};
use super::node_cost;
use crate::points::{Arr, Ix, Kind, Node, Subst};
use ein_base::Symbol;
use ein_ir::loops::{ForKind, Op, Operand, Stmt};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};
use rustc_hash::FxHashSet;

/// A last axis of at most so many cells is written out.
pub(crate) const FEW: i64 = 4;

/// Cells of a row of accumulators.
pub(crate) const TILE: i64 = 1024;

/// Neighbouring cells whose reductions run together.
const JAM: i64 = 4;

/// Copies of a body (unrolling) have at most so many nodes together: the time of compilation grows with
/// the code, and what a short loop costs does not matter beside a long body.
const COPIED_NODES: usize = 2000;

/// An index to loop over, with its bounds.
pub(crate) type Loop = (Ix, Node, Node);

/// A cell and its value.
pub(crate) type Cell = (Vec<Node>, Node);

impl Emit {
    /// Fills cells of an array for all values of the indices.
    pub(crate) fn nest(&mut self, arr: Arr, loops: Vec<Loop>, cells: Vec<Cell>) {
        let empty = |(_, lo, hi): &Loop| self.constant_extent(*lo, *hi).is_some_and(|n| n <= 0);
        if !loops.iter().any(empty) && !self.chosen(arr, &loops, &cells) {
            self.nest_of_all(arr, loops, cells);
        }
    }

    /// The same, with both sides of every choice.
    pub(crate) fn nest_of_all(&mut self, arr: Arr, mut loops: Vec<Loop>, mut cells: Vec<Cell>) {
        self.without_single_turns(&mut loops, &mut cells);
        while let Some((ix, lo, hi)) = loops.last().copied()
            && let Some(extent) = self.constant_extent(lo, hi)
            && extent <= FEW
            && self.worth_writing_out(arr, &loops, &cells)
            && cells.len() as i64 * extent <= 16
            && (extent == 1 || self.may_be_copied(&cells, extent))
        {
            cells = self.written_out(ix, lo, extent, &cells);
            loops.pop();
        }
        while let Some((at, extent)) = self.decided_by_few(&loops, &cells) {
            let (ix, lo, _) = loops.remove(at);
            cells = self.written_out(ix, lo, extent, &cells);
        }
        let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
        let inner: Vec<Node> = self.reductions_over(&values, &loops);
        let over = |(ix, ..): &Loop| inner.iter().any(|node| self.points.depends(*node, *ix));
        let reduced = loops.iter().rposition(over).map_or(loops.len(), |last| last + 1);
        if loops.is_empty() {
            self.body(arr, &cells);
        } else if reduced < loops.len() {
            // The reductions are the same for all values of the last indices.
            let kind = self.outer_kind(&loops, &cells);
            let rest = loops.split_off(reduced);
            for (at, (ix, lo, hi)) in loops.iter().enumerate() {
                let (lo, hi) = (self.bound_value(*lo), self.bound_value(*hi));
                self.open(*ix, lo, hi, if at == 0 { kind.clone() } else { ForKind::Serial });
            }
            self.nest(arr, rest, cells);
            loops.iter().for_each(|_| self.close());
        } else if inner.is_empty() || self.have_few_terms(&loops, &inner) {
            self.plain(arr, loops, &cells);
        } else if let Some(row) = self.across(&loops, &inner) {
            // Extremes with their addresses take two rows each.
            let (loops, cells) = match self.finds_addresses(&inner) {
                true => (loops, cells),
                false => self.several_rows(loops, cells, &inner),
            };
            let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
            let inner = self.reductions_over(&values, &loops);
            self.rows(arr, loops, row, &cells, &inner);
        } else if self.worth_a_row(&loops, &cells, &inner) {
            let (loops, cells) = self.in_even_tiles(loops, cells);
            let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
            let inner = self.reductions_over(&values, &loops);
            self.with_rows(arr, loops, &cells, &inner);
        } else {
            self.jammed(arr, loops, &cells);
        }
    }

    /// An index with one value is no loop, and not the one that threads share: a batch of one image has
    /// many rows.
    fn without_single_turns(&mut self, loops: &mut Vec<Loop>, cells: &mut Vec<Cell>) {
        let single = |emit: &Emit, (_, lo, hi): &Loop| emit.constant_extent(*lo, *hi) == Some(1);
        while let Some(at) = loops.iter().position(|it| single(self, it)) {
            let (ix, only, _) = loops.remove(at);
            *cells = self.replaced(ix, only, cells);
            let mut subst = Subst::one(ix, only);
            for (_, lo, hi) in loops.iter_mut() {
                *lo = subst.apply(&mut self.points, *lo);
                *hi = subst.apply(&mut self.points, *hi);
            }
        }
    }

    /// An outer loop of a few turns that decides choices among the values, and how many: each turn
    /// by itself needs no choice, and all of them share what is common to the sides.
    fn decided_by_few(&self, loops: &[Loop], cells: &[Cell]) -> Option<(usize, i64)> {
        let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
        if values.iter().any(|value| self.points.nodes[*value].reduces) {
            return None;
        }
        let below = self.points.below(&values);
        let decides = |(ix, ..): &Loop| {
            below.iter().any(|node| match self.points.nodes[*node].kind {
                Kind::Select(cond, ..) => *self.points.nodes[cond].free == [*ix],
                _ => false,
            })
        };
        let alone = |(ix, ..): &Loop| {
            let bounds = |(_, lo, hi): &Loop| {
                !self.points.depends(*lo, *ix) && !self.points.depends(*hi, *ix)
            };
            loops.iter().all(bounds)
        };
        let (_, outer) = loops.split_last()?;
        let mut outer = outer.iter().enumerate().filter(|(_, it)| decides(it) && alone(it));
        outer.find_map(|(at, (_, lo, hi))| {
            let extent = self.constant_extent(*lo, *hi)?;
            let few = extent <= 2 * FEW && cells.len() as i64 * extent <= 16;
            (few && self.may_be_copied(cells, extent)).then_some((at, extent))
        })
    }

    /// Whether so many copies of the cells are still little code.
    pub(crate) fn may_be_copied(&self, cells: &[Cell], copies: i64) -> bool {
        let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
        let copies = usize::try_from(copies).unwrap_or(usize::MAX);
        self.points.below(&values).len().saturating_mul(copies) <= COPIED_NODES
    }

    pub(crate) fn constant_extent(&self, lo: Node, hi: Node) -> Option<i64> {
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
    pub(crate) fn written_out(
        &mut self,
        ix: Ix,
        lo: Node,
        extent: i64,
        cells: &[Cell],
    ) -> Vec<Cell> {
        let lo = self.points.as_int(lo).unwrap_or(0);
        let mut all = Vec::new();
        for at in lo..lo + extent {
            let at = self.points.int(at);
            all.extend(self.replaced(ix, at, cells));
        }
        all
    }

    pub(crate) fn replaced(&mut self, ix: Ix, by: Node, cells: &[Cell]) -> Vec<Cell> {
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
    pub(crate) fn reductions_over(&self, values: &[Node], loops: &[Loop]) -> Vec<Node> {
        let nodes = self.points.below(values);
        let is = |node: &Node| matches!(self.points.nodes[*node].kind, Kind::Reduce(_));
        let over = |node: &Node| loops.iter().any(|(ix, ..)| self.points.depends(*node, *ix));
        let found: Vec<Node> = nodes.into_iter().filter(|node| is(node) && over(node)).collect();
        // Those that are met without passing through another one: one of them may also stand in the
        // bounds or the condition of another one.
        let (mut met, mut open) = (FxHashSet::default(), values.to_vec());
        while let Some(node) = open.pop() {
            if met.insert(node) && !found.contains(&node) {
                self.points.each_child(node, &mut |child| open.push(child));
            }
        }
        found.into_iter().filter(|node| met.contains(node)).collect()
    }

    /// Computes and stores cells.
    pub(crate) fn body(&mut self, arr: Arr, cells: &[Cell]) {
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
    pub(crate) fn outer_kind(&self, loops: &[Loop], cells: &[Cell]) -> ForKind {
        let each = self.work_inside(loops, cells).max(1.0);
        let count = self.points.trip_count(loops[0].1, loops[0].2);
        // Inside a loop the threads meet again and again.
        let least = self.points.cost.thread_work() * if self.here() == 0 { 1.0 } else { 8.0 };
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

    /// Loops without a reduction inside, or with reductions that are written out.
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
        let merged = self.merge_loops(arr, &mut loops, cells);
        for (ix, lo) in &merged {
            let lo = self.bound_value(*lo);
            self.bind(*ix, lo);
        }
        match *loops.as_slice() {
            // What threads share has no edges.
            [only] => {
                for (piece, cells) in self.between_edges(only, cells) {
                    self.plain_loops(arr, vec![piece], &cells);
                }
            }
            _ => self.plain_loops(arr, loops, cells),
        }
        merged.iter().for_each(|(ix, _)| self.unbind(*ix));
    }

    /// Merges the last loops as far as everything lies in memory as if they were one. The indices
    /// that are no loops any more, with the value that they keep.
    fn merge_loops(&mut self, arr: Arr, loops: &mut Vec<Loop>, cells: &[Cell]) -> Vec<(Ix, Node)> {
        let mut merged = Vec::new();
        let [(place, value)] = cells else { return merged };
        while let [.., (outer, lo, end), (inner, first, hi)] = *loops.as_slice() {
            let (Some(rows), Some(width)) =
                (self.constant_extent(lo, end), self.constant_extent(first, hi))
            else {
                break;
            };
            let one = |arr: Arr, at: &[Node]| {
                let (outer, inner) = (self.stride(arr, at, outer), self.stride(arr, at, inner));
                outer.zip(inner).is_some_and(|(outer, inner)| outer == inner * width)
            };
            let loads = self.points.loads(&[*value]);
            if !one(arr, place)
                || !loads.iter().all(|(arr, at)| one(*arr, at))
                || self.uses_index(*value, &[outer, inner])
            {
                break;
            }
            let start = self.points.as_int(first).unwrap_or(0);
            let end = self.points.int(start + rows * width);
            loops.truncate(loops.len() - 2);
            loops.push((inner, first, end));
            merged.push((outer, lo));
        }
        merged
    }

    /// Whether a value depends on indices other than through the places that it reads.
    fn uses_index(&self, node: Node, ixs: &[Ix]) -> bool {
        match &self.points.nodes[node].kind {
            Kind::Index(ix) => ixs.contains(ix),
            Kind::Load(_, at) => at.iter().any(|node| {
                let terms = self.points.linear(*node).terms;
                terms.iter().any(|(term, _)| {
                    !matches!(self.points.nodes[*term].kind, Kind::Index(_))
                        && ixs.iter().any(|ix| self.points.depends(*term, *ix))
                })
            }),
            _ => {
                let mut children = Vec::new();
                self.points.each_child(node, &mut |child| children.push(child));
                children.into_iter().any(|child| self.uses_index(child, ixs))
            }
        }
    }

    fn plain_loops(&mut self, arr: Arr, mut loops: Vec<Loop>, cells: &[Cell]) {
        if let Some(along) = self.crossed(&loops, cells) {
            return self.crossed_loops(arr, loops, along, cells);
        }
        let Some(inner) = loops.pop() else { return };
        if loops.is_empty()
            && self.is_rectangular(&[inner])
            && let ForKind::Parallel { grain } = self.outer_kind(&[inner], cells)
        {
            let (tile, rest) = self.tiles(inner, grain.max(TILE));
            let (lo, hi) = (self.bound_value(tile.1), self.bound_value(tile.2));
            self.open(tile.0, lo, hi, ForKind::Parallel { grain: 1 });
            self.vector(arr, rest, cells);
            self.close();
            return;
        }
        let mut all = loops.clone();
        all.push(inner);
        let kind = self.outer_kind(&all, cells);
        let mut cells = cells.to_vec();
        for (at, (ix, lo, hi)) in loops.iter().enumerate() {
            cells = self.with_columns(&loops[at..], inner, cells);
            let (lo, hi) = (self.bound_value(*lo), self.bound_value(*hi));
            let kind = if at == 0 { kind.clone() } else { ForKind::Serial };
            self.open(*ix, lo, hi, kind);
        }
        self.vector(arr, inner, &cells);
        loops.iter().for_each(|_| self.close());
    }

    fn is_rectangular(&self, loops: &[Loop]) -> bool {
        loops.iter().all(|(_, lo, hi)| self.constant_extent(*lo, *hi).is_some())
    }

    /// The innermost loop, in vectors between its edges.
    pub(crate) fn vector(&mut self, arr: Arr, inner: Loop, cells: &[Cell]) {
        for (piece, cells) in self.between_edges(inner, cells) {
            match self.constant_extent(piece.1, piece.2) {
                Some(1) => self.body(arr, &cells),
                _ => self.vector_piece(arr, piece, &cells),
            }
        }
    }

    fn vector_piece(&mut self, arr: Arr, (ix, lo, hi): Loop, cells: &[Cell]) {
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
            known.push((divisor, (reciprocal, self.here())));
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
            let here = self.points.nodes[b].free.iter().all(|ix| self.is_bound(*ix));
            let varies = self.points.depends(a, ix) && here;
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

    /// Cells for groups of neighbouring values of an index.
    pub(crate) fn jam(
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

    /// Cells with reductions of their own, several neighbours at a time.
    pub(crate) fn jammed(&mut self, arr: Arr, mut loops: Vec<Loop>, cells: &[Cell]) {
        let Some((ix, lo, hi)) = loops.pop() else { return };
        let extent = self.constant_extent(lo, hi);
        let few = cells.len() as i64 * JAM <= 8 && self.may_be_copied(cells, JAM);
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
        let zero = Scalar::zero(self.points.arrs[arr].ty);
        self.constants(arr, region, zero);
    }

    /// Fills an array, or a part of it, with one number.
    pub(crate) fn constants(&mut self, arr: Arr, region: &[(i64, i64)], value: Scalar) {
        let value = self.points.constant(value);
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
