//! The loops of a sweep: forward over the segments, then back.

use super::Sweep;
use super::build::{Built, Kept, Part, Pass, Single, Stage};
use super::needs::Halo;
use crate::points::{Arr, ArrInfo, Node, Source};
use crate::schedule::emit::{AxisPlace, Emit, Place, Use};
use crate::schedule::group::Group;
use crate::schedule::nest::Loop;
use crate::schedule::plan::Why;
use crate::schedule::{Keeps, group, home, row_major};
use ein_base::Symbol;
use ein_ir::loops::{Buf, BufferKind, ForKind, Op, Operand, Reg, Stmt};
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use rustc_hash::FxHashSet;

/// A sweep being written.
struct Writer<'a> {
    built: &'a Built,
    keeps: Keeps,
    /// The arrays that matter outside.
    wanted: &'a FxHashSet<Arr>,
    /// Those, and the ones that have their places here.
    placed: FxHashSet<Arr>,
    /// What changes from segment to segment.
    changing: Vec<Arr>,
    /// The histories: buffers of all steps, or the checkpoints.
    kept: Vec<Store>,
}

/// Where the history of a recurrence is.
struct Store {
    /// The buffer: of all steps, or of those of a segment.
    buf: Buf,
    strides: Vec<i64>,
    /// The array of the steps before each segment, if not all are kept.
    checkpoints: Option<Arr>,
}

impl Emit {
    /// Writes a sweep, with these groups between its passes.
    pub(crate) fn sweep(&mut self, sweep: &Sweep, groups: &[Group], wanted: &FxHashSet<Arr>) {
        let built = &sweep.built;
        let (what, why) = sweep.decided(&self.points);
        self.plan.begin(what, why);
        let mut writer = Writer {
            built,
            keeps: sweep.keeps,
            wanted,
            placed: wanted.clone(),
            changing: Vec::new(),
            kept: Vec::new(),
        };
        writer.places(self);
        let [first, between, last] = &built.stages;
        writer.clear(self, &built.early_sums);
        writer.forward(self, first);
        writer.each_between(self, ForKind::Serial, |writer, emit| writer.forward(emit, between));
        writer.forward(self, last);
        writer.leave(self);
        groups.iter().for_each(|group| self.group(group));
        if writer.keeps == Keeps::Segment {
            return self.plan.end();
        }
        writer.clear(self, &built.late_sums);
        writer.back(self, last);
        writer.each_between(self, ForKind::Backward, |writer, emit| writer.back(emit, between));
        writer.back(self, first);
        writer.leave(self);
        self.plan.end();
    }

    /// Loops over a shape, and the place that they are at.
    fn loops_over(&mut self, shape: &[i64]) -> (Vec<Loop>, Vec<Node>) {
        let mut loops = Vec::new();
        let mut at = Vec::new();
        for extent in shape {
            let range = (0, i128::from(extent - 1).max(0));
            let ix = self.points.fresh(Symbol::intern("i"), range);
            loops.push((ix, self.points.int(0), self.points.int(*extent)));
            at.push(self.points.index(ix));
        }
        (loops, at)
    }

    /// Adds an array to one of the same shape.
    fn add_to(&mut self, total: Arr, part: Arr) {
        let shape = self.points.arrs[total].shape.clone();
        let (loops, at) = self.loops_over(&shape);
        let (held, more) = (self.points.load(total, &at), self.points.load(part, &at));
        let more = self.points.cast(more, self.points.arrs[total].ty);
        let sum = self.points.binary(BinaryOp::Add, held, more, None);
        self.nest(total, loops, vec![(at, sum)]);
    }

    /// A register with a value, in this scope.
    fn own_register(&mut self, value: i64) -> Reg {
        let reg = self.reg(ScalarType::I64);
        self.push(Stmt::Let(reg, Op::Copy(Operand::Const(Scalar::I64(value)))));
        reg
    }

    /// Copies rows of a window, or of the checkpoints of one, into others.
    fn copy_rows(&mut self, kept: &Kept, count: i64, to: Rows, from: Rows) {
        let mut shape = self.points.arrs[kept.arr].shape.clone();
        shape[kept.member.axis] = count;
        let (loops, at) = self.loops_over(&shape);
        let mut place = |rows: Rows| {
            let mut at = at.clone();
            let row = &mut at[kept.member.axis];
            match rows {
                Rows::Window(first) => {
                    let first = self.points.int(first);
                    *row = self.points.binary(BinaryOp::Add, *row, first, None);
                    (kept.arr, at)
                }
                Rows::Checkpoint(arr, segment) => {
                    at.insert(0, segment);
                    (arr, at)
                }
            }
        };
        let ((to, to_at), (from, from_at)) = (place(to), place(from));
        let value = self.points.load(from, &from_at);
        self.nest(to, loops, vec![(to_at, value)]);
    }
}

/// Rows to copy.
#[derive(Clone, Copy, Debug)]
enum Rows {
    /// Those of the window from here on.
    Window(i64),
    /// Those that are kept for a segment.
    Checkpoint(Arr, Node),
}

impl Writer<'_> {
    /// Gives everything that outlives a segment its place.
    fn places(&mut self, emit: &mut Emit) {
        let built = self.built;
        for kept in &built.forward {
            let store = self.history(emit, kept);
            self.kept.push(store);
            self.place(kept.arr);
        }
        for kept in &built.backward {
            self.scratch(emit, kept.arr);
        }
        for total in built.early_sums.iter().chain(&built.late_sums) {
            // A result has its place already.
            match emit.places.contains_key(total) {
                true => self.place(*total),
                false => self.scratch(emit, *total),
            }
        }
        for pass in built.stages.iter().flat_map(|stage| [&stage.early, &stage.late]) {
            for (part, _) in &pass.sums {
                if !emit.places.contains_key(part) {
                    self.scratch(emit, *part);
                }
            }
            pass.singles.iter().for_each(|single| self.scratch(emit, single.arr));
            pass.results.iter().for_each(|(rows, ..)| self.place(*rows));
        }
    }

    fn place(&mut self, arr: Arr) {
        self.placed.insert(arr);
        self.changing.push(arr);
    }

    fn scratch(&mut self, emit: &mut Emit, arr: Arr) {
        let why = Why::Since("it outlives a segment");
        home::give(emit, arr, BufferKind::Scratch, why);
        self.place(arr);
    }

    fn history(&mut self, emit: &mut Emit, kept: &Kept) -> Store {
        let axis = kept.member.axis;
        let info = emit.points.arrs[kept.arr].clone();
        let mut shape = info.shape.clone();
        if self.keeps == Keeps::All {
            shape[axis] = kept.halo.before + self.built.segments.steps + kept.halo.after;
        }
        let name = info.name.map_or_else(|| "t".to_owned(), |name| name.to_string());
        let len = shape.iter().product();
        let buf = emit.buffer(name, info.ty, len, BufferKind::Scratch, Use::Scratch);
        let saved = match self.keeps {
            Keeps::All => None,
            Keeps::Checkpoints => Some(self.built.segments.count),
            Keeps::Segment => Some(1),
        };
        let checkpoints = saved.map(|count| {
            let mut shape = info.shape.clone();
            shape[axis] = kept.halo.before;
            shape.insert(0, count);
            let source = Source::Defined(usize::MAX);
            let arr = emit.points.arrs.push(ArrInfo { shape, source, ..info });
            self.scratch(emit, arr);
            arr
        });
        Store { buf, strides: row_major(&shape), checkpoints }
    }

    fn clear(&self, emit: &mut Emit, totals: &[Arr]) {
        for total in totals {
            let shape = emit.points.arrs[*total].shape.clone();
            let region: Vec<(i64, i64)> = shape.iter().map(|extent| (0, *extent)).collect();
            emit.zeros(*total, &region);
        }
    }

    /// Writes what happens in each of the segments between the first and the last.
    fn each_between(
        &mut self,
        emit: &mut Emit,
        kind: ForKind,
        body: impl FnOnce(&mut Self, &mut Emit),
    ) {
        let int = |value: i64| Operand::Const(Scalar::I64(value));
        emit.open(self.built.number, int(1), int(self.built.segments.count - 1), kind);
        body(self, emit);
        self.leave(emit);
        emit.close();
    }

    /// The way forward through a segment.
    fn forward(&mut self, emit: &mut Emit, stage: &Stage) {
        self.enter(emit, stage);
        if stage.part != Part::First {
            self.restore(emit, stage);
        }
        self.core(emit, stage);
        if stage.part != Part::Last {
            self.checkpoint(emit, stage);
        }
        self.pass(emit, stage, &stage.early);
    }

    /// The way back through a segment.
    fn back(&mut self, emit: &mut Emit, stage: &Stage) {
        self.enter(emit, stage);
        if stage.part != Part::Last {
            self.shift(emit, stage);
            if self.keeps == Keeps::Checkpoints {
                if stage.part != Part::First {
                    self.restore(emit, stage);
                }
                self.core(emit, stage);
            }
        }
        self.pass(emit, stage, &stage.late);
    }

    /// Makes what is read and written here that of a segment.
    fn enter(&mut self, emit: &mut Emit, stage: &Stage) {
        self.hold(emit, stage);
        let origin = self.origin(emit, stage);
        // In a register too, so that the code is the same.
        let start = if self.keeps == Keeps::All { origin } else { emit.own_register(0) };
        for (kept, store) in self.built.forward.iter().zip(&self.kept) {
            let place = from_origin(store.buf, &store.strides, kept.member.axis, start);
            emit.places.insert(kept.arr, place);
        }
        for (rows, axis, result) in stage.early.results.iter().chain(&stage.late.results) {
            let Some(Place::Buffer(buf, _)) = emit.places.get(result) else { continue };
            let strides = row_major(&emit.points.arrs[*result].shape);
            let place = from_origin(*buf, &strides, *axis, origin);
            emit.places.insert(*rows, place);
        }
        for kept in self.built.forward.iter().chain(&self.built.backward) {
            let first = kept.halo.before;
            emit.filled.insert(kept.arr, (first, first + stage.len));
        }
    }

    /// What must be subtracted from a row to give the step, as a register.
    fn origin(&self, emit: &mut Emit, stage: &Stage) -> Reg {
        let segment = self.segment(emit, stage);
        let grain = emit.points.int(-self.built.segments.grain);
        let origin = emit.points.binary(BinaryOp::Mul, segment, grain, None);
        let origin = emit.bound_value(origin);
        // A register of its own, so that its scope is this one.
        let reg = emit.reg(ScalarType::I64);
        emit.push(Stmt::Let(reg, Op::Copy(origin)));
        reg
    }

    /// Reads of what changes from segment to segment stay in this scope.
    fn hold(&self, emit: &mut Emit, stage: &Stage) {
        let here = emit.here();
        let all = self.changed_in(emit, stage);
        emit.forget(&all);
        all.into_iter().for_each(|arr| {
            emit.floors.insert(arr, here);
        });
    }

    /// Outside the segments everything is as it is elsewhere.
    fn leave(&self, emit: &mut Emit) {
        for stage in &self.built.stages {
            let all = self.changed_in(emit, stage);
            emit.forget(&all);
            all.iter().for_each(|arr| {
                emit.floors.remove(arr);
            });
        }
    }

    /// The arrays that a segment changes.
    fn changed_in(&self, emit: &Emit, stage: &Stage) -> Vec<Arr> {
        let passes = [&stage.early, &stage.late].into_iter().flat_map(|pass| &pass.defs);
        let defined = stage.core.iter().chain(passes).map(|def| emit.points.defs[*def].arr);
        defined.chain(self.changing.iter().copied()).collect()
    }

    /// The number of a segment.
    fn segment(&self, emit: &mut Emit, stage: &Stage) -> Node {
        match stage.part {
            Part::First => emit.points.int(0),
            Part::Between => emit.points.index(self.built.number),
            Part::Last => emit.points.int(self.built.segments.count - 1),
        }
    }

    /// Where the steps before a segment are kept, or those before one after it.
    fn saved_at(&self, emit: &mut Emit, stage: &Stage, later: i64) -> Node {
        if self.keeps == Keeps::Segment {
            return emit.points.int(0);
        }
        let segment = self.segment(emit, stage);
        let later = emit.points.int(later);
        emit.points.binary(BinaryOp::Add, segment, later, None)
    }

    /// Brings the steps before a segment back.
    fn restore(&self, emit: &mut Emit, stage: &Stage) {
        let segment = self.saved_at(emit, stage, 0);
        for (kept, store) in self.built.forward.iter().zip(&self.kept) {
            let Some(saved) = store.checkpoints else { continue };
            let from = Rows::Checkpoint(saved, segment);
            emit.copy_rows(kept, kept.halo.before, Rows::Window(0), from);
        }
        self.hold(emit, stage);
    }

    /// Keeps the steps before the next segment.
    fn checkpoint(&self, emit: &mut Emit, stage: &Stage) {
        let next = self.saved_at(emit, stage, 1);
        for (kept, store) in self.built.forward.iter().zip(&self.kept) {
            let Some(saved) = store.checkpoints else { continue };
            let to = Rows::Checkpoint(saved, next);
            emit.copy_rows(kept, kept.halo.before, to, Rows::Window(stage.len));
        }
        self.hold(emit, stage);
    }

    /// Moves the first rows of the segment after this one behind the rows of this one.
    fn shift(&self, emit: &mut Emit, stage: &Stage) {
        let again = self.keeps == Keeps::Checkpoints;
        let forward = self.built.forward.iter().filter(|_| again);
        for kept in forward.chain(&self.built.backward) {
            let Halo { before, after } = kept.halo;
            let to = Rows::Window(before + stage.len);
            emit.copy_rows(kept, after, to, Rows::Window(before));
        }
        self.hold(emit, stage);
    }

    /// Writes code apart: its results must not depend on what stands around it, which differs with
    /// the way the history is kept.
    fn apart(&self, emit: &mut Emit, stage: &Stage, body: impl FnOnce(&mut Emit)) {
        let once = emit.points.fresh(Symbol::intern("once"), (0, 0));
        let int = |value: i64| Operand::Const(Scalar::I64(value));
        emit.open(once, int(0), int(1), ForKind::Apart);
        self.hold(emit, stage);
        emit.sweeping = true;
        body(emit);
        emit.sweeping = false;
        emit.close();
        self.hold(emit, stage);
    }

    /// Computes definitions.
    fn run(&self, emit: &mut Emit, stage: &Stage, defs: &[usize]) {
        let fused = |arr: Arr| self.placed.contains(&arr);
        let alone = |arr: Arr| emit.places.contains_key(&arr);
        for group in group::plan(&emit.points, defs, self.wanted, [&fused, &alone, &|_| true]) {
            emit.group(&group);
            self.hold(emit, stage);
        }
    }

    /// Runs the recurrences that run forward.
    fn core(&self, emit: &mut Emit, stage: &Stage) {
        self.apart(emit, stage, |emit| self.run(emit, stage, &stage.core));
    }

    /// What a pass does besides.
    fn pass(&self, emit: &mut Emit, stage: &Stage, pass: &Pass) {
        self.apart(emit, stage, |emit| {
            self.run(emit, stage, &pass.defs);
            for (part, total) in &pass.sums {
                emit.add_to(*total, *part);
                self.hold(emit, stage);
            }
        });
        pass.singles.iter().for_each(|single| self.keep(emit, stage, single));
        self.hold(emit, stage);
    }

    /// Keeps a single step.
    fn keep(&self, emit: &mut Emit, stage: &Stage, single: &Single) {
        let (from, row) = single.from;
        let shape = emit.points.arrs[single.arr].shape.clone();
        let (loops, at) = emit.loops_over(&shape);
        let mut place = at.clone();
        place.insert(single.axis, emit.points.int(row));
        let value = emit.points.load(from, &place);
        if stage.part != Part::Between {
            return emit.nest(single.arr, loops, vec![(at, value)]);
        }
        let number = emit.points.index(self.built.number);
        let here = emit.points.int(single.segment);
        let here = emit.points.binary(BinaryOp::Eq, number, here, None);
        let here = emit.value(here);
        emit.open_block();
        emit.nest(single.arr, loops, vec![(at, value)]);
        let body = emit.close_block();
        emit.push(Stmt::If(here, body, Vec::new()));
    }
}

/// The place of rows in a buffer of all steps.
fn from_origin(buf: Buf, strides: &[i64], axis: usize, origin: Reg) -> Place {
    let axes = strides.iter().enumerate().map(|(at, stride)| {
        if at == axis { AxisPlace::From(*stride, origin) } else { AxisPlace::Strided(*stride) }
    });
    Place::Buffer(buf, axes.collect())
}
