//! The loops that fill an array: their order, what runs in vectors and what in parallel.
//!
//! * Without a reduction inside: the index along which the result is contiguous is innermost and
//!   runs in vectors. A last axis of a few cells is written out first.
//! * With reductions that run along contiguous memory: one cell after another, four at a time, so
//!   that the accumulators of neighbours hide each other's latency.
//! * With reductions across contiguous memory (`max(i) x[i, j]`): a row of accumulators over a tile
//!   of the innermost axis, which runs in vectors inside the reduction; a few terms are written out.
//!   Reductions that these read, as the greatest term before a sum of exponentials, have their rows
//!   first ([`inside`]).
//!
//! Failures: the order of loops and the lanes of vectors do not matter to a flag: that something
//! failed is known at the end, and the evaluator says what. Addresses never depend on it.

mod form;
mod inside;

pub(crate) use form::{inner_how, may_be_copied, outer_how};

use super::emit::{Emit, Place};
use super::plan::{Change, Form, How, What, Why, looped};
use crate::points::{Arr, Ix, Kind, Node, Subst};
use ein_base::Symbol;
use ein_ir::loops::{Op, Operand, Stmt};
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};
use form::{Cut, reductions_over};

/// A last axis of at most so many cells is written out.
pub(crate) const FEW: i64 = 4;

/// Loops of fewer turns are less than a vector.
pub(crate) const VECTOR: i64 = 16;

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
        let mut changes = Vec::new();
        while let Some((extent, why)) = form::short_last(&self.view(), arr, &loops, &cells)
            && let Some((ix, lo, _)) = loops.pop()
        {
            changes.push((Change::WrittenOut(self.points.ixs[ix].name, extent), why));
            cells = self.written_out(ix, lo, extent, &cells);
        }
        while let Some((at, extent)) = form::decided_by_few(&self.view(), &loops, &cells) {
            let (ix, lo, _) = loops.remove(at);
            let why = Why::Since("each of its values decides a choice");
            changes.push((Change::WrittenOut(self.points.ixs[ix].name, extent), why));
            cells = self.written_out(ix, lo, extent, &cells);
        }
        let inner = self.inner_reductions(&loops, &cells);
        if let Some(best) = form::row_loop(&self.view(), &loops, &inner) {
            let moved = loops.remove(best);
            let why = Why::Since("its reductions run across contiguous memory");
            changes.push((Change::Moved(self.points.ixs[moved.0].name), why));
            loops.push(moved);
        }
        let (form, why) = form::of(&self.view(), &loops, &cells, &inner);
        self.plan.begin(What::Nest(self.points.arrs[arr].name, form), why);
        for (change, why) in changes {
            self.plan.note(What::Change(change), why);
        }
        match form {
            Form::Point => self.body(arr, &cells),
            Form::Around(reduced) => {
                let how = outer_how(&self.view(), &loops, &cells);
                let rest = loops.split_off(reduced);
                self.open_loops(&loops, how);
                self.nest(arr, rest, cells);
                loops.iter().for_each(|_| self.close());
            }
            Form::Plain => self.plain(arr, loops, &cells),
            Form::Rows(size) => {
                // Extremes with their addresses take two rows each.
                let (loops, cells) = match self.finds_addresses(&inner) {
                    true => (loops, cells),
                    false => self.several_rows(loops, cells, &inner),
                };
                let inner = self.inner_reductions(&loops, &cells);
                self.rows(arr, (loops, size), &cells, &inner);
            }
            Form::ThenRow(size) => {
                let (loops, cells) = self.in_even_tiles(loops, cells, size);
                let inner = self.inner_reductions(&loops, &cells);
                self.with_rows(arr, loops, &cells, &inner);
            }
            Form::AfterRows(size) => {
                let (loops, cells) = self.in_even_tiles(loops, cells, size);
                inside::fill(self, arr, loops, cells);
            }
            Form::Jammed(_) | Form::OneByOne => self.cells_of_form(arr, loops, &cells, form),
        }
        self.plan.end();
    }

    /// The outermost reductions in cells that depend on these loops.
    fn inner_reductions(&self, loops: &[Loop], cells: &[Cell]) -> Vec<Node> {
        let values: Vec<Node> = cells.iter().map(|(_, value)| *value).collect();
        reductions_over(&self.view(), &values, loops)
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

    pub(crate) fn constant_extent(&self, lo: Node, hi: Node) -> Option<i64> {
        self.view().constant_extent(lo, hi)
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
            Some(Place::Buffer(..) | Place::Packed(..)) => {
                for ((at, _), value) in cells.iter().zip(values) {
                    self.store(arr, at, value);
                }
            }
        }
    }

    /// Opens loops; the first of them runs as was decided.
    pub(crate) fn open_loops(&mut self, loops: &[Loop], (how, why): (How, Why)) {
        for (at, (ix, lo, hi)) in loops.iter().enumerate() {
            let (how, why) = if at == 0 { (how, why.clone()) } else { (How::Serial, Why::Only) };
            self.plan.note(looped(&self.points, (*ix, *lo, *hi), how), why);
            let (lo, hi) = (self.bound_value(*lo), self.bound_value(*hi));
            self.open(*ix, lo, hi, how.kind());
        }
    }

    /// Cells one after another, in these loops.
    fn one_by_one(&mut self, arr: Arr, loops: &[Loop], cells: &[Cell]) {
        if !loops.is_empty() {
            let how = outer_how(&self.view(), loops, cells);
            self.open_loops(loops, how);
        }
        self.body(arr, cells);
        loops.iter().for_each(|_| self.close());
    }

    /// Loops without a reduction inside, or with reductions that are written out.
    fn plain(&mut self, arr: Arr, mut loops: Vec<Loop>, cells: &[Cell]) {
        if let Some(best) = form::contiguous(&self.view(), arr, &loops, cells) {
            let moved = loops.remove(best);
            let change = Change::Moved(self.points.ixs[moved.0].name);
            self.plan.note(What::Change(change), Why::Since("the result is contiguous along it"));
            loops.push(moved);
        }
        let inner = loops.last().map(|(ix, ..)| (*ix, self.points.ixs[*ix].range));
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
        if let Some((ix, range)) = inner {
            self.points.ixs[ix].range = range;
        }
    }

    /// Merges the last loops as far as everything lies in memory as if they were one. The indices
    /// that are no loops any more, with the value that they keep.
    fn merge_loops(&mut self, arr: Arr, loops: &mut Vec<Loop>, cells: &[Cell]) -> Vec<(Ix, Node)> {
        let mut merged = Vec::new();
        while let Some((rows, width)) = form::merges(&self.view(), arr, loops, cells)
            && let [.., (outer, lo, _), (inner, first, _)] = *loops.as_slice()
        {
            let start = self.points.as_int(first).unwrap_or(0);
            let end = self.points.int(start + rows * width);
            // Until they end: rows that are made beside the loop are as long as it.
            self.points.ixs[inner].range = (start.into(), (start + rows * width - 1).into());
            loops.truncate(loops.len() - 2);
            loops.push((inner, first, end));
            merged.push((outer, lo));
        }
        if !merged.is_empty() {
            let why = Why::Since("all that they read and write lies in memory as one row");
            self.plan.note(What::Change(Change::Merged(merged.len() + 1)), why);
        }
        merged
    }

    fn plain_loops(&mut self, arr: Arr, mut loops: Vec<Loop>, cells: &[Cell]) {
        let (how, why) = match form::cut(&self.view(), &loops, cells) {
            Cut::Crossed(along) => return self.crossed_loops(arr, loops, along, cells),
            Cut::Tiled(size, why) => {
                let (tile, rest) = self.tiles(loops[0], size);
                self.open_loops(&[tile], (How::Parallel { grain: 1 }, why));
                self.vector(arr, rest, cells);
                return self.close();
            }
            Cut::Not(how, why) => (how, why),
        };
        let Some(inner) = loops.pop() else { return };
        let mut cells = cells.to_vec();
        for (at, it) in loops.iter().enumerate() {
            // What a loop between alone decides is made once as well.
            for between in at + 1..loops.len() {
                cells = self.with_columns(&loops[at..between], loops[between], cells);
            }
            cells = self.with_columns(&loops[at..], inner, cells);
            let how = if at == 0 { (how, why.clone()) } else { (How::Serial, Why::Only) };
            self.open_loops(&[*it], how);
        }
        self.vector(arr, inner, &cells);
        loops.iter().for_each(|_| self.close());
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
        let (how, why) = inner_how(&self.view());
        self.plan.note(looped(&self.points, (ix, lo, hi), how), why);
        let (lo, hi) = (self.bound_value(lo), self.bound_value(hi));
        let divisors = form::divisors(&self.view(), ix, cells);
        let run = |emit: &mut Emit| {
            emit.open(ix, lo, hi, how.kind());
            emit.body(arr, cells);
            emit.close();
        };
        if divisors.is_empty() {
            return run(self);
        }
        let change = Change::Reciprocals(divisors.len());
        self.plan.note(What::Change(change), Why::Since("no turn of the loop changes them"));
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
        let most = self.view().most_values(lo, hi).map(|count| count as f64);
        let count = most.unwrap_or_else(|| self.points.trip_count(lo, hi));
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

    /// Cells with reductions of their own, several neighbours at a time if that helps.
    pub(crate) fn jammed(&mut self, arr: Arr, loops: Vec<Loop>, cells: &[Cell]) {
        let (form, why) = form::jam(&self.view(), &loops, cells);
        self.plan.begin(What::Nest(self.points.arrs[arr].name, form), why);
        self.cells_of_form(arr, loops, cells, form);
        self.plan.end();
    }

    fn cells_of_form(&mut self, arr: Arr, mut loops: Vec<Loop>, cells: &[Cell], form: Form) {
        let Form::Jammed(count) = form else { return self.one_by_one(arr, &loops, cells) };
        let Some((ix, lo, hi)) = loops.pop() else { return };
        let extent = self.constant_extent(lo, hi).unwrap_or(0);
        let (group, together) = self.jam(ix, lo, extent, cells, count);
        let (start, groups) = (self.points.as_int(lo).unwrap_or(0), extent / count);
        loops.push(group);
        self.one_by_one(arr, &loops, &together);
        if groups * count < extent {
            let from = self.points.int(start + groups * count);
            loops.pop();
            loops.push((ix, from, hi));
            self.one_by_one(arr, &loops, cells);
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
