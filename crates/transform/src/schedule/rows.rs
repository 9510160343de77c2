//! Rows: reductions that fill a row of accumulators, and rows of reductions that vector loops read.
//!
//! [`quick`]: short rows of extremes with their addresses. [`slanted`]: sums whose ends the cell says.
//!
//! Failures: as in `nest`. Rows of accumulators are computed for whole tiles of points that exist.

mod quick;
mod slanted;

use super::emit::{AxisPlace, Emit, Place, Use};
use super::nest::{Cell, Loop, TILE, may_be_copied, outer_how};
use super::node_cost;
use super::plan::{Change, How, What, Why};
use super::reduce::{fits_a_row, neutral, operation, row_type};
use super::view::View;
use crate::points::{Arr, ArrInfo, Ix, Kind, Node, Reduction, Source, Subst};
use ein_base::Symbol;
use ein_ir::loops::{BufferKind, ForKind, Op, Operand, Stmt};
use ein_ir::tensor::ReduceOp;
use ein_scalar::{BinaryOp, Scalar, ScalarType, UnaryOp};
use std::collections::BTreeSet;

/// Neighbouring rows of accumulators that are filled together.
const ROWS: i64 = 4;

/// Terms that are added to a row of accumulators in one go.
const TERMS: i64 = 4;

/// Windows shorter than this are less than a vector.
const SHORT_WINDOW: i64 = 16;

/// The longest tile that so many cells are some of: all of them if they are few.
pub(super) fn even_tile(extent: i64) -> Option<i64> {
    if extent <= TILE {
        return Some(extent);
    }
    (TILE / 8..=TILE).rev().find(|size| extent % size == 0)
}

/// A row of accumulators.
#[derive(Clone, Copy)]
struct Row {
    acc: Arr,
    /// Its reduction.
    node: Node,
    /// Its terms, and where they count.
    body: Node,
    guard: Option<Node>,
    op: BinaryOp,
    /// Where the extremes are, if that is asked for.
    places: Option<Arr>,
    /// Whether the extremes are asked for as well.
    both: bool,
    /// The sums of the terms, which tell whether one of them is no number ([`quick`]).
    sums: Option<Arr>,
}

impl Emit {
    /// The same cells with a last loop that is not longer than a tile of this size.
    pub(crate) fn in_even_tiles(
        &mut self,
        mut loops: Vec<Loop>,
        cells: Vec<Cell>,
        size: i64,
    ) -> (Vec<Loop>, Vec<Cell>) {
        let Some((ix, lo, hi)) = loops.last().copied() else { return (loops, cells) };
        let extent = self.constant_extent(lo, hi).unwrap_or(0);
        if size >= extent {
            return (loops, cells);
        }
        let range = |count: i64| (0, i128::from(count - 1));
        let tile = self.points.fresh(Symbol::intern("tile"), range(extent / size));
        let inside = self.points.fresh(self.points.ixs[ix].name, range(size));
        let (mut place, step) = (self.points.index(tile), self.points.int(size));
        place = self.points.binary(BinaryOp::Mul, place, step, None);
        for more in [lo, self.points.index(inside)] {
            place = self.points.binary(BinaryOp::Add, place, more, None);
        }
        let (zero, tiles) = (self.points.int(0), self.points.int(extent / size));
        loops.pop();
        loops.extend([(tile, zero, tiles), (inside, zero, step)]);
        (loops, self.replaced(ix, place, &cells))
    }

    /// First the reductions of a row of cells, then what is done with them, in vectors.
    pub(crate) fn with_rows(
        &mut self,
        arr: Arr,
        mut loops: Vec<Loop>,
        cells: &[Cell],
        inner: &[Node],
    ) {
        let how = outer_how(&self.view(), &loops, cells);
        let Some(along) = loops.pop() else { return };
        self.open_loops(&loops, how);
        let size = self.points.as_int(along.2).unwrap_or(0);
        let place = self.points.index(along.0);
        let mut rows = Vec::new();
        for node in inner {
            let ty = self.points.nodes[*node].ty;
            let row = self.row(ty, size, AxisPlace::Strided(1));
            if !self.in_parallel {
                // Threads may share the reductions.
                self.share_row(row);
            }
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

    /// Makes a row one that all threads see.
    pub(crate) fn share_row(&mut self, row: Arr) {
        if let Some(Place::Buffer(buf, _)) = self.places.get(&row) {
            self.kernel.bufs[*buf].kind = BufferKind::Scratch;
            self.uses[ein_base::Idx::index(*buf)] = Use::Scratch;
        }
    }

    /// Short rows are handled several at a time, if their reductions run over the same points.
    pub(crate) fn several_rows(
        &mut self,
        mut loops: Vec<Loop>,
        cells: Vec<Cell>,
        inner: &[Node],
    ) -> (Vec<Loop>, Vec<Cell>) {
        let count = loops.len();
        if count < 2 || cells.len() > 1 {
            return (loops, cells);
        }
        let (_, lo, hi) = loops[count - 1];
        let (ix, first, end) = loops[count - 2];
        let moves =
            |(_, lo, hi): &Loop| self.points.depends(*lo, ix) || self.points.depends(*hi, ix);
        let apart = inner.iter().any(|node| match &self.points.nodes[*node].kind {
            Kind::Reduce(reduction) => reduction.binders.iter().any(moves),
            _ => false,
        });
        if apart {
            return (loops, cells);
        }
        let (Some(width), Some(extent)) =
            (self.constant_extent(lo, hi), self.constant_extent(first, end))
        else {
            return (loops, cells);
        };
        if width > 64 || extent % ROWS != 0 || !may_be_copied(&self.view(), &cells, ROWS) {
            return (loops, cells);
        }
        let why = Why::Since("short rows share what they read");
        self.plan.note(What::Change(Change::Together(ROWS)), why);
        let (group, together) = self.jam(ix, first, extent, &cells, ROWS);
        loops[count - 2] = group;
        (loops, together)
    }

    /// Reductions with a row of so many accumulators.
    pub(crate) fn rows(
        &mut self,
        arr: Arr,
        (mut loops, size): (Vec<Loop>, i64),
        cells: &[Cell],
        inner: &[Node],
    ) {
        let (how, why) = outer_how(&self.view(), &loops, cells);
        let Some(along) = loops.pop() else { return };
        // Of a tile as many as it has are a row.
        let rest = match self.constant_extent(along.1, along.2) {
            None => along,
            Some(_) => {
                let (tile, rest) = self.tiles(along, size);
                loops.push(tile);
                rest
            }
        };
        let how = match how {
            How::Parallel { .. } if loops.len() == 1 => How::Parallel { grain: 1 },
            how => how,
        };
        self.open_loops(&loops, (how, why));
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
        let Kind::Reduce(first) = self.points.nodes[inner[0]].kind.clone() else { return };
        let start = first.binders.last().and_then(|(_, lo, _)| self.points.as_int(*lo));
        let start = start.and_then(|lo| i32::try_from(lo).ok()).unwrap_or(0);
        let kept = self.kept.take_if(|kept| inner.contains(&kept.node));
        let mut accs = Vec::new();
        for node in inner {
            let both = kept.as_ref().is_some_and(|kept| kept.node == *node);
            accs.push(self.row_of(*node, size, origin, both));
        }
        match slanted::of(&self.view(), &first, rest.0) {
            Some(slant) => slanted::fill(self, &accs, &slant, rest, place),
            None => {
                let of_rows = quick::OfRows { binders: &first.binders, rest, place, start };
                quick::fill(self, &accs, &of_rows, (size, origin));
            }
        }
        self.row_loop(rest, |emit| {
            for Row { acc, node, places, both, .. } in &accs {
                if let (Some(kept), Some(places), true) = (&kept, places, both) {
                    let (addr, _) = emit.address(*places, &[place]);
                    let found = emit.let_here(ScalarType::I32, Op::Load(addr));
                    emit.store(kept.arr, &kept.at, found);
                }
                let held = places.filter(|_| !both).unwrap_or(*acc);
                let wide = emit.points.arrs[held].ty;
                let (addr, _) = emit.address(held, &[place]);
                let held = emit.let_here(wide, Op::Load(addr));
                let value = emit.finish_row(*node, (held, wide));
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

    /// A local row of accumulators of a reduction; of extremes and where they are, if both are asked for.
    fn row_of(&mut self, node: Node, size: i64, origin: ein_ir::loops::Reg, both: bool) -> Row {
        let Kind::Reduce(reduction) = self.points.nodes[node].kind.clone() else {
            unreachable!("only reductions have rows")
        };
        let op = operation(reduction.op);
        let held = AxisPlace::From(1, origin);
        if both || is_address(&self.view(), &reduction) {
            let acc = self.row(self.points.nodes[reduction.body].ty, size, held);
            let places = Some(self.row(ScalarType::I32, size, held));
            return Row {
                acc,
                node,
                body: reduction.body,
                guard: None,
                op,
                places,
                both,
                sums: None,
            };
        }
        let ty = row_type(&self.view(), &reduction, self.points.nodes[node].ty);
        let acc = self.row(ty, size, held);
        let (body, guard) = (reduction.body, reduction.guard);
        Row { acc, node, body, guard, op, places: None, both, sums: None }
    }

    /// Whether one of some reductions asks for the address of an extreme.
    pub(crate) fn finds_addresses(&self, nodes: &[Node]) -> bool {
        self.kept.as_ref().is_some_and(|kept| nodes.contains(&kept.node))
            || nodes.iter().any(|node| match &self.points.nodes[*node].kind {
                Kind::Reduce(reduction) => is_address(&self.view(), reduction),
                _ => false,
            })
    }

    /// Takes terms into a row of extremes with their addresses: the first of equal ones stays, and
    /// the first that is no number.
    fn compare_row(&mut self, row: &Row, place: Node, (ix, terms): (Ix, &[Node])) {
        let Some(places) = row.places else { return };
        let (bool, ty) = (ScalarType::Bool, self.points.arrs[row.acc].ty);
        let (addr, _) = self.address(row.acc, &[place]);
        let mut best = self.let_here(ty, Op::Load(addr));
        let (addr, _) = self.address(places, &[place]);
        let mut at = self.let_here(ScalarType::I32, Op::Load(addr));
        if row.sums.is_some() {
            return quick::compare(self, row, place, (ix, terms), (best, at));
        }
        // What is not less or equal is greater, or no number.
        let worse = if row.op == BinaryOp::Max { BinaryOp::Le } else { BinaryOp::Ge };
        for term in terms {
            let body = Subst::one(ix, *term).apply(&mut self.points, row.body);
            let (value, here) = (self.value(body), self.value(*term));
            let worse = self.let_here(bool, Op::Binary(worse, value, best));
            let mut better = self.let_here(bool, Op::Unary(UnaryOp::Not, worse));
            if ty.is_float() {
                let nan = self.let_here(bool, Op::Unary(UnaryOp::IsNan, best));
                let number = self.let_here(bool, Op::Unary(UnaryOp::Not, nan));
                better = self.let_here(bool, Op::Binary(BinaryOp::And, better, number));
            }
            best = self.let_here(ty, Op::Select(better, value, best));
            at = self.let_here(ScalarType::I32, Op::Select(better, here, at));
        }
        self.store(row.acc, &[place], best);
        self.store(places, &[place], at);
    }

    /// Adds all terms to rows of accumulators, several at a time.
    fn fill_rows(&mut self, accs: &[Row], binders: &[Loop], rest: Loop, place: Node) {
        let Some(((ix, lo, hi), outer)) = binders.split_last() else { return };
        for (ix, lo, hi) in outer {
            let (lo, hi) = (self.bound_value(*lo), self.bound_value(*hi));
            self.open(*ix, lo, hi, ForKind::Serial);
        }
        let extent = self.constant_extent(*lo, *hi).unwrap_or(0);
        let bodies: Vec<Node> = accs.iter().map(|row| row.body).collect();
        let instead = self.columns(&bodies, (*ix, *lo, *hi), &[rest.0]);
        let mut subst = Subst::nodes(instead);
        let accs: Vec<Row> = accs
            .iter()
            .map(|row| Row { body: subst.apply(&mut self.points, row.body), ..*row })
            .collect();
        let accs = accs.as_slice();
        // A chain of comparisons would be made one of jumps.
        let compared = accs.iter().any(|row| row.places.is_some());
        let several = if compared { 0 } else { extent / TERMS };
        if several > 0 {
            let cells: Vec<Cell> = vec![(vec![self.points.index(*ix)], *lo)];
            let (group, places) = self.jam(*ix, *lo, several * TERMS, &cells, TERMS);
            let places: Vec<Node> = places.into_iter().map(|(at, _)| at[0]).collect();
            self.open_to_and_fro(accs, group);
            self.row_loop(rest, |emit| {
                for row in accs {
                    emit.accumulate_row(row, place, *ix, &places);
                }
            });
            self.close();
        }
        if several == 0 || several * TERMS < extent {
            let many = self.points.trip_count(*lo, *hi) >= (4 * TERMS) as f64;
            let known = self.constant_extent(*lo, *hi).is_some();
            let from = match several {
                0 if !compared && !known && many => {
                    fill_in_groups(self, accs, (*ix, *lo, *hi), rest, place)
                }
                0 => self.bound_value(*lo),
                _ => {
                    let start = self.points.as_int(*lo).unwrap_or(0) + several * TERMS;
                    let start = self.points.int(start);
                    self.bound_value(start)
                }
            };
            let to = self.bound_value(*hi);
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

    /// Opens the loop over the terms of a reduction. Where every step of a recurrence reads more than
    /// the nearest cache holds, odd steps run through it backwards: they begin with what the step
    /// before has read last, and which is still there.
    fn open_to_and_fro(&mut self, accs: &[Row], (ix, lo, hi): Loop) {
        let (from, to) = (self.bound_value(lo), self.bound_value(hi));
        let step = self.step.filter(|step| reads_much_again(&self.view(), accs, *step));
        let (Some((_, step)), Some(first), Some(end)) =
            (step.and_then(|ix| self.bound(ix)), self.points.as_int(lo), self.points.as_int(hi))
        else {
            self.open(ix, from, to, ForKind::Serial);
            return;
        };
        let (bool_, int) = (ScalarType::Bool, ScalarType::I64);
        let constant = |value: i64| Operand::Const(Scalar::I64(value));
        let half = Op::Binary(BinaryOp::Rem, Operand::Reg(step), constant(2));
        let half = self.let_here(int, half);
        let odd = self.let_here(bool_, Op::Binary(BinaryOp::Ne, half, constant(0)));
        let start = self.let_here(int, Op::Select(odd, constant(first + end - 1), constant(0)));
        let sign = self.let_here(int, Op::Select(odd, constant(-1), constant(1)));
        let range = self.points.ixs[ix].range;
        let count = self.points.fresh(Symbol::intern("count"), range);
        let var = Operand::Reg(self.open(count, from, to, ForKind::Serial));
        let along = self.let_here(int, Op::Binary(BinaryOp::Mul, var, sign));
        let here = self.let_here(int, Op::Binary(BinaryOp::Add, start, along));
        self.bind(ix, here);
    }

    /// Adds the terms for these values of an index to a row of accumulators.
    fn accumulate_row(&mut self, row: &Row, place: Node, ix: Ix, terms: &[Node]) {
        if row.places.is_some() {
            return self.compare_row(row, place, (ix, terms));
        }
        let Row { acc, body, guard, op, .. } = *row;
        let ty = self.points.arrs[acc].ty;
        let (addr, _) = self.address(acc, &[place]);
        let mut sum = self.let_here(ty, Op::Load(addr));
        for term in terms {
            let mut subst = Subst::one(ix, *term);
            let body = subst.apply(&mut self.points, body);
            let guard = guard.map(|guard| subst.apply(&mut self.points, guard));
            sum = self.add_term(sum, body, guard, op, ty);
        }
        self.store(acc, &[place], sum);
    }

    /// Takes a term in, where its condition holds.
    pub(crate) fn add_term(
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
            && ty.is_float()
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
}

/// Begins rows of accumulators.
fn clear_rows(emit: &mut Emit, accs: &[Row], rest: Loop, place: Node, start: i32) {
    emit.row_loop(rest, |emit| {
        for Row { acc, op, places, .. } in accs {
            let ty = emit.points.arrs[*acc].ty;
            emit.store(*acc, &[place], Operand::Const(neutral(*op, ty)));
            if let Some(places) = places {
                emit.store(*places, &[place], Operand::Const(Scalar::I32(start)));
            }
        }
    });
}

/// To an address zeros of both signs are equal, to an extreme they are not: where one of these is
/// zero, which is rare, they are taken again by themselves.
fn settle_zeros(emit: &mut Emit, accs: &[Row], binders: &[Loop], rest: Loop, place: Node) {
    let own = |row: &&Row| row.both && emit.points.arrs[row.acc].ty.is_float();
    let rows: Vec<Row> = accs.iter().filter(own).map(|row| Row { places: None, ..*row }).collect();
    for row in rows {
        let ty = emit.points.arrs[row.acc].ty;
        let some = emit.reg(ScalarType::Bool);
        emit.push(Stmt::Var(some, Operand::Const(Scalar::Bool(false))));
        let (lo, hi) = (emit.bound_value(rest.1), emit.bound_value(rest.2));
        emit.open(rest.0, lo, hi, ForKind::Vector { reductions: vec![(some, BinaryOp::Or)] });
        let (addr, _) = emit.address(row.acc, &[place]);
        let held = emit.let_here(ty, Op::Load(addr));
        let zero = Op::Binary(BinaryOp::Eq, held, Operand::Const(Scalar::zero(ty)));
        let zero = emit.let_here(ScalarType::Bool, zero);
        let any = Op::Binary(BinaryOp::Or, Operand::Reg(some), zero);
        let any = emit.let_here(ScalarType::Bool, any);
        emit.push(Stmt::Set(some, any));
        emit.close();
        emit.open_block();
        clear_rows(emit, &[row], rest, place, 0);
        emit.fill_rows(&[row], binders, rest, place);
        let again = emit.close_block();
        emit.push(Stmt::If(Operand::Reg(some), again, Vec::new()));
    }
}

/// Whether rows can tell where the extremes of the terms of a reduction are.
pub(crate) fn has_addresses(view: &View<'_>, reduction: &Reduction) -> bool {
    let [(_, lo, hi)] = *reduction.binders.as_slice() else { return false };
    let body = view.points.nodes[reduction.body].ty;
    matches!(body, ScalarType::F32 | ScalarType::F64 | ScalarType::I32)
        && reduction.guard.is_none()
        && view.constant_extent(lo, hi).is_some_and(|n| n > 0)
}

/// Adds terms to rows of accumulators, several at a time, where only the run tells how many there are:
/// the first one that is left.
fn fill_in_groups(
    emit: &mut Emit,
    accs: &[Row],
    (ix, lo, hi): Loop,
    rest: Loop,
    place: Node,
) -> Operand {
    let int = ScalarType::I64;
    let constant = |value: i64| Operand::Const(Scalar::I64(value));
    let (lo, hi) = (emit.bound_value(lo), emit.bound_value(hi));
    let count = emit.let_here(int, Op::Binary(BinaryOp::Sub, hi, lo));
    let count = emit.let_here(int, Op::Binary(BinaryOp::Max, count, constant(0)));
    let groups = emit.let_here(int, Op::Binary(BinaryOp::Div, count, constant(TERMS)));
    let info = emit.points.ixs[ix].clone();
    let group = emit.points.fresh(Symbol::intern("group"), info.range);
    let var = Operand::Reg(emit.open(group, constant(0), groups, ForKind::Serial));
    let first = emit.let_here(int, Op::Binary(BinaryOp::Mul, var, constant(TERMS)));
    let first = emit.let_here(int, Op::Binary(BinaryOp::Add, first, lo));
    // Each term has an index of its own with the range of the first, in which all of them are.
    let mut terms = Vec::new();
    for at in 0..TERMS {
        let term = emit.points.fresh(info.name, info.range);
        let here = emit.let_here(int, Op::Binary(BinaryOp::Add, first, constant(at)));
        emit.bind(term, here);
        terms.push(emit.points.index(term));
    }
    emit.row_loop(rest, |emit| {
        for row in accs {
            emit.accumulate_row(row, place, ix, &terms);
        }
    });
    emit.close();
    let taken = emit.let_here(int, Op::Binary(BinaryOp::Mul, groups, constant(TERMS)));
    emit.let_here(int, Op::Binary(BinaryOp::Add, lo, taken))
}

/// Whether what is done with the reductions is worth a vector loop of its own.
pub(crate) fn worth_a_row(view: &View<'_>, loops: &[Loop], cells: &[Cell], inner: &[Node]) -> bool {
    let (_, lo, hi) = loops[loops.len() - 1];
    let reduced: f64 = inner.iter().map(|node| node_cost(view.points, *node)).sum();
    let rest = match cells {
        [(_, value)] => node_cost(view.points, *value) - reduced,
        _ => 0.0,
    };
    rest >= 8.0 && view.constant_extent(lo, hi).is_some_and(|n| n >= 8 && even_tile(n).is_some())
}

/// Whether the reductions run across contiguous memory: the loop to run in vectors.
///
/// Reductions in `known` are values: they are computed before.
pub(crate) fn across(
    view: &View<'_>,
    loops: &[Loop],
    inner: &[Node],
    known: &[Node],
) -> Option<usize> {
    runs_across(view, loops, inner, known, false)
}

/// The same for sums that the cell says the first or the last term of.
pub(crate) fn slants_across(view: &View<'_>, loops: &[Loop], inner: &[Node]) -> Option<usize> {
    runs_across(view, loops, inner, &[], true)
}

fn runs_across(
    view: &View<'_>,
    loops: &[Loop],
    inner: &[Node],
    known: &[Node],
    slants: bool,
) -> Option<usize> {
    let first = match &view.points.nodes[inner[0]].kind {
        Kind::Reduce(reduction) => reduction.clone(),
        _ => return None,
    };
    let mut bodies = Vec::new();
    for node in inner {
        let Kind::Reduce(reduction) = &view.points.nodes[*node].kind else { return None };
        // What is inside of the loop in vectors has no loops of its own.
        let mut inside = [Some(reduction.body), reduction.guard].into_iter().flatten();
        let simple = (fits_a_row(view, reduction) || is_address(view, reduction))
            && reduction.binders == first.binders
            && !inside.any(|node| reduces_beside(view, node, known));
        if !simple {
            return None;
        }
        bodies.push(reduction.body);
    }
    let last = loops.len() - 1;
    let (ix, lo, hi) = loops[last];
    let (extent, along) = (view.most_values(lo, hi)?, first.binders.last()?.0);
    let fits = extent <= TILE || view.constant_extent(lo, hi).is_some();
    let independent = match slants {
        true => slanted::of(view, &first, ix).is_some(),
        false => first
            .binders
            .iter()
            .all(|(_, lo, hi)| !view.points.depends(*lo, ix) && !view.points.depends(*hi, ix)),
    };
    let loads = view.points.loads(&bodies);
    let stride = |(arr, at): &(Arr, Box<[Node]>), ix: Ix| view.stride(*arr, at, ix);
    let rows =
        loads.iter().any(|load| stride(load, ix) == Some(1) && stride(load, along) != Some(1));
    // Where nothing moves with both indices, sums in registers are as good as any.
    let moves = |load, ix| stride(load, ix) != Some(0);
    let both = loads.iter().any(|load| moves(load, ix) && moves(load, along));
    // A short window runs along memory with the row: lanes would be left idle.
    let (_, first_at, end_at) = *first.binders.last()?;
    let short = view.constant_extent(first_at, end_at).is_some_and(|n| n < SHORT_WINDOW);
    let slides = |load| stride(load, ix) == Some(1) && stride(load, along) == Some(1);
    let dots = loads.iter().any(|load| {
        stride(load, along) == Some(1) && (moves(load, ix) || !both) && !(short && slides(load))
    });
    let rows = rows || short && loads.iter().any(slides);
    (extent >= 8 && fits && independent && rows && !dots).then_some(last)
}

/// Whether a value has reductions inside other than these.
fn reduces_beside(view: &View<'_>, node: Node, known: &[Node]) -> bool {
    let info = &view.points.nodes[node];
    if !info.reduces || known.contains(&node) {
        return false;
    }
    let mut children = Vec::new();
    view.points.each_child(node, &mut |child| children.push(child));
    matches!(info.kind, Kind::Reduce(_))
        || children.into_iter().any(|child| reduces_beside(view, child, known))
}

/// Whether a reduction asks for the address of an extreme in a way that rows can tell: each keeps
/// the extremes so far and where they are.
fn is_address(view: &View<'_>, reduction: &Reduction) -> bool {
    matches!(reduction.op, ReduceOp::Argmax | ReduceOp::Argmin) && has_addresses(view, reduction)
}

/// Whether the reductions of these rows read more at every step of a recurrence than the nearest
/// cache holds, and the same at each.
fn reads_much_again(view: &View<'_>, accs: &[Row], step: Ix) -> bool {
    let bodies: Vec<Node> = accs.iter().map(|row| row.body).collect();
    let loads = view.points.loads(&bodies);
    let again = loads.iter().filter(|(_, at)| !at.iter().any(|i| view.points.depends(*i, step)));
    let arrs: BTreeSet<Arr> = again.map(|(arr, _)| *arr).collect();
    let bytes = arrs.into_iter().map(|arr| {
        let info = &view.points.arrs[arr];
        info.shape.iter().product::<i64>() * info.ty.size_bytes() as i64
    });
    bytes.sum::<i64>() > view.points.cost.near_bytes()
}
