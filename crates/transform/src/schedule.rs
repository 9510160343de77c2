//! From points to loops: which definitions run together, in which order, and where they live.
//!
//! Before:  definitions over index variables
//! After:   a [`Plan`] of them, and one [`Kernel`] with loops, buffers and matrix products
//!
//! Sweeps, groups, the loops that they share and the places of their arrays are decided for all of the
//! kernel and verified; then they are written one after another. What depends on the loops around is
//! decided for a nest, a reduction, a run of steps or a product before any of its own loops is written,
//! by functions that see a [`View`]. All that is decided is in the plan, with its reason.
//!
//! * [`plan`]: the decisions as data, their text and their rules; [`view`](mod@view): what they may look at;
//!   [`home`](mod@home): where arrays are; [`packed`](mod@packed): parts of unequal shapes one after another.
//! * [`address`](mod@address): addresses of extremes, in vectors.
//! * [`halves`](mod@halves): sums of long integers as sums of their halves.
//! * [`factor`](mod@factor): sums of products of several factors become sums of products of two.
//! * [`same`](mod@same): what several definitions compute is computed once.
//! * [`settle`](mod@settle): intervals of recurrences on integers, by induction.
//! * [`scan`](mod@scan): running reductions take one pass.
//! * [`terms`](mod@terms): sums of several products as several sums, means as sums and counts.
//! * [`tidy`](mod@tidy): contractions apart, cheap definitions inlined, unread ones dropped.
//! * [`peel`](mod@peel): reductions over all of what the kernel makes go row by row.
//! * [`delay`](mod@delay): updates in place of several steps in one pass.
//! * [`demand`](mod@demand): arrays between the bounds of those that read them.
//! * [`sweep`](mod@sweep): recurrences and the ones back over their histories, in segments.
//! * [`group`]: definitions that agree on their outer indices run in one nest; what only they read
//!   is kept for one point (or tile) of these indices.
//! * [`nest`](mod@nest), [`edges`](mod@edges), [`cross`](mod@cross), [`choice`](mod@choice), [`rows`](mod@rows), [`turn`](mod@turn), [`reduce`](mod@reduce), [`gemm`](mod@gemm),
//!   [`again`](mod@again), [`recur`](mod@recur), [`sample`](mod@sample), [`wavefront`](mod@wavefront), [`in_place`](mod@in_place): the loops of
//!   one definition.
//! * [`reuse`](mod@reuse): buffers that are not in use at the same time become one, and results
//!   take the place of operands that end with them.
//!
//! Needs: positions inside their arrays, definitions after what they read.
//! Refuses: nothing; what cannot be fused is computed whole.

pub(crate) mod address;
mod again;
mod before;
mod beside;
pub(crate) mod bins;
pub(crate) mod cases;
mod choice;
mod columns;
mod contract;
mod cross;
pub(crate) mod delay;
pub(crate) mod demand;
mod edges;
mod emit;
pub(crate) mod ends;
pub(crate) mod factor;
pub(crate) mod gather;
mod gemm;
mod group;
pub(crate) mod halves;
pub(crate) mod hoist;
mod home;
mod in_place;
pub(crate) mod means;
mod nest;
mod packed;
pub(crate) mod peel;
pub mod plan;
mod recur;
mod reduce;
mod reuse;
mod rows;
pub(crate) mod same;
mod sample;
pub(crate) mod scan;
mod scatter;
pub(crate) mod settle;
mod sweep;
pub(crate) mod terms;
pub(crate) mod tidy;
pub(crate) mod trim;
mod turn;
mod until;
mod view;
mod wavefront;
mod windows;

use crate::flatten::{Flattened, Made, Output};
use crate::pipeline::{self, Passes};
use crate::points::print::print;
use crate::points::{Arr, Body, Clause, Def, Input, Kind, Node, Points, Slot, Source};
use ein_base::Symbol;
use ein_ir::cost::Cost;
use ein_ir::loops::{Buf, BufferKind, ForKind, Kernel, Op, Operand, Stmt, vectorise};
use ein_ir::tensor::VarId;
use ein_scalar::Scalar;
use emit::{AxisPlace, Emit, Place};
use group::Group;
use plan::{Making, Plan, Why, verify};
use rustc_hash::{FxHashMap, FxHashSet};
use sweep::{Item, Sweep};
use view::View;

pub use emit::Use;
pub(crate) use gemm::row_major;

/// A kernel with what is needed to run it.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The code.
    pub kernel: Kernel,
    /// What each buffer is.
    pub uses: Vec<Use>,
    /// What the variables are that matter outside.
    pub outputs: Vec<(VarId, Result)>,
    /// About how many operations it takes.
    pub work: f64,
    /// How each definition is computed, where its array is, and why.
    pub plan: Plan,
    /// Whether nothing fails in it that the program does not compute, as far as passes can help it.
    pub careful: bool,
}

/// The history of a recurrence that others run over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The recurrence.
    pub name: Symbol,
    /// The steps of a segment.
    pub every: i64,
    /// What is kept of it.
    pub keeps: Keeps,
}

/// What is kept of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// Every step.
    All,
    /// The steps before each segment; the others are computed again on the way back.
    Checkpoints,
    /// The steps of one segment: there is no way back.
    Segment,
}

/// What a variable is after the kernel.
#[derive(Clone, Debug, PartialEq)]
pub enum Result {
    /// All of a buffer.
    Array(Buf),
    /// The first positions of a buffer along some axes: as many as the only element of another buffer
    /// says.
    Part(Buf, Vec<(usize, Buf)>),
    /// The only element of a buffer.
    Scalar(Buf),
    /// A constant.
    Constant(Scalar),
    /// What was given.
    Same(Input),
    /// A tuple, or a struct or variant.
    Record(Option<Made>, Vec<Result>),
}

/// How loops are made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// The bytes that histories which derivatives read may take, if that is limited.
    pub ad_memory: Option<u64>,
    /// The passes that run before.
    pub passes: Passes,
    /// What pays on the machine that they are for.
    pub cost: Cost,
}

/// The points of a region after some passes, as text.
pub fn points_text(flat: Flattened, passes: Passes) -> String {
    let wanted = flat.wanted();
    let mut points = flat.points;
    pipeline::run(&mut points, &wanted, passes);
    print(&points, &wanted)
}

/// Plans a region and writes its loops.
pub fn lower(flat: Flattened, settings: Settings) -> Lowered {
    let Settings { ad_memory, passes, cost } = settings;
    let wanted = flat.wanted();
    let Flattened { mut points, outputs, rows, .. } = flat;
    let careful = points.careful;
    points.cost = cost;
    pipeline::run(&mut points, &wanted, passes);
    let work = points.defs.iter().map(|def| def_cost(&points, def)).sum();
    let only = |emit: &mut Emit| {
        if let (Some(rows), [(_, output)]) = (rows, outputs.as_slice()) {
            only_rows(emit, output, rows);
        }
    };
    let Written { mut kernel, uses, plan, bufs } = write(points, &wanted, ad_memory, only);
    vectorise::run(&mut kernel, cost);
    let outputs =
        outputs.into_iter().map(|(var, output)| (var, result(output, &|arr| bufs[&arr]))).collect();
    Lowered { kernel, uses, outputs, work, plan, careful }
}

/// The plan of points that have been through their passes, and the loops that it gives.
pub fn planned(points: Points, wanted: &FxHashSet<Arr>) -> (Plan, Kernel) {
    let Written { kernel, plan, .. } = write(points, wanted, None, |_| ());
    (plan, kernel)
}

/// A kernel as it was planned and written.
struct Written {
    kernel: Kernel,
    uses: Vec<Use>,
    plan: Plan,
    /// The buffers of what is wanted.
    bufs: FxHashMap<Arr, Buf>,
}

/// Decides on all parts, then writes one after another.
fn write(
    mut points: Points,
    wanted: &FxHashSet<Arr>,
    ad_memory: Option<u64>,
    only: impl FnOnce(&mut Emit),
) -> Written {
    let name = kernel_name(&points);
    let mut making = Making::default();
    let items = sweep::run(&mut points, wanted, ad_memory, &mut making);
    let mut emit = Emit::new(points);
    emit.plan = making;
    emit.kernel.name = name;
    emit.inputs();
    let bufs = emit.outputs(wanted);
    emit.partial = partial(&emit.points, wanted);
    only(&mut emit);
    for item in &items {
        if let Item::Definitions(defs) = item {
            emit.find_samples(defs, wanted);
        }
    }
    let parts: Vec<Part> = items.into_iter().map(|item| part(&mut emit, item, wanted)).collect();
    debug_assert_eq!(verify::parts(&emit.points, &parts), Vec::<String>::new());
    for part in parts {
        match part {
            Part::Groups(found, groups) => {
                beside::place(&mut emit, found, wanted);
                groups.iter().for_each(|group| emit.group(group));
            }
            Part::Sweep(sweep, between) => emit.sweep(&sweep, &between, wanted),
        }
    }
    let once = std::mem::take(&mut emit.once);
    let (mut kernel, mut uses, mut making) = emit.finish();
    let now = reuse::run(&mut kernel, &mut uses, &once, &mut making);
    let bufs = bufs.into_iter().map(|(arr, buf)| (arr, now[buf])).collect();
    Written { kernel, uses, plan: making.finish(), bufs }
}

/// A part of a kernel as it was decided, before any of its loops is written.
pub(crate) enum Part {
    /// What is written beside recurrences, and groups one after another.
    Groups(Vec<beside::Beside>, Vec<Group>),
    /// A sweep, and the groups between its passes.
    Sweep(Box<Sweep>, Vec<Group>),
}

fn part(emit: &mut Emit, item: Item, wanted: &FxHashSet<Arr>) -> Part {
    let groups = |emit: &Emit, defs: &[usize]| {
        let (fused, alone) =
            (|arr: Arr| wanted.contains(&arr), |arr: Arr| emit.places.contains_key(&arr));
        let copied = |arr: Arr| emit.samples.contains_key(&arr);
        group::plan(&emit.points, defs, wanted, [&fused, &alone, &copied])
    };
    match item {
        Item::Definitions(mut defs) => {
            let found = beside::find(&mut emit.points, &defs);
            defs.retain(|def| found.iter().all(|beside| beside.def != *def));
            let groups = groups(emit, &defs);
            Part::Groups(found, groups)
        }
        Item::Sweep(sweep) => {
            let between = groups(emit, &sweep.between);
            Part::Sweep(sweep, between)
        }
    }
}

/// What a variable is, in terms of buffers.
fn result(output: Output, buf: &dyn Fn(Arr) -> Buf) -> Result {
    match output {
        Output::Array(arr) => Result::Array(buf(arr)),
        Output::Scalar(arr) => Result::Scalar(buf(arr)),
        Output::Part(arr, ends) => {
            let end = |(axis, end): (usize, Arr)| (axis, buf(end));
            Result::Part(buf(arr), ends.into_iter().map(end).collect())
        }
        Output::Constant(value) => Result::Constant(value),
        Output::Same(other) => Result::Same(other),
        Output::Record(made, parts) => {
            Result::Record(made, parts.into_iter().map(|part| result(part, buf)).collect())
        }
    }
}

fn kernel_name(points: &Points) -> String {
    let names = points.defs.iter().filter_map(|def| points.arrs[def.arr].name);
    let names: Vec<String> = names.map(|name| name.to_string()).collect();
    names.join("_")
}

/// About how many operations a definition takes.
pub(crate) fn def_cost(points: &Points, def: &Def) -> f64 {
    match &def.body {
        Body::Clauses(clauses, _) => clauses_cost(points, clauses),
        Body::Scatter(scatter) => {
            let binders = scatter.binders.iter();
            let cells: f64 = binders.map(|(_, lo, hi)| points.trip_count(*lo, *hi)).product();
            cells * (node_cost(points, scatter.value) + 4.0)
        }
        Body::InPlace(body) => in_place::cost(points, body),
        Body::Again(body) => again::cost(points, body),
        Body::Until(body) => {
            let steps = points.arrs[def.arr].shape[body.axis()] as f64;
            clauses_cost(points, &body.clauses) + steps * node_cost(points, body.end.node())
        }
    }
}

fn clauses_cost(points: &Points, clauses: &[Clause]) -> f64 {
    let of = |clause: &Clause| {
        let slots = clause.slots.iter();
        let cells: f64 = slots.map(|slot| points.trip_count(slot.lo, slot.hi)).product();
        cells * (node_cost(points, clause.value) + 1.0)
    };
    clauses.iter().map(of).sum()
}

/// The cost of a node, each shared part counted once and nothing beyond reason.
pub(crate) fn node_cost(points: &Points, node: Node) -> f64 {
    points.nodes[node].cost.min(1e15)
}

/// The arrays of which nobody reads what their definitions leave out.
fn partial(points: &Points, wanted: &FxHashSet<Arr>) -> FxHashSet<Arr> {
    let defs = points.defs.iter();
    let found = defs.filter(|def| demand::is_partial(points, def, wanted).is_some());
    found.map(|def| def.arr).collect()
}

/// Zeros where the clauses of a definition may leave cells out.
fn clear_left_out(emit: &mut Emit, def: &Def) {
    let Body::Clauses(clauses, None) = &def.body else { return };
    let shape = emit.points.arrs[def.arr].shape.clone();
    let single = contract::only_clause(&emit.points, &def.body, &shape).is_some();
    if !single && !emit.partial.contains(&def.arr) && shape.iter().all(|extent| *extent > 0) {
        for mut region in left_out(&emit.view(), clauses, &shape) {
            if let Some((lo, hi)) = emit.filled.get(&def.arr) {
                region[0] = (region[0].0.max(*lo), region[0].1.min(*hi));
            }
            if region.iter().all(|(lo, hi)| lo < hi) {
                emit.zeros(def.arr, &region);
            }
        }
    }
}

/// Leaves the cells of an output outside of some rows as they are: those of the first axis, or of
/// the first that the steps of a recurrence run along.
fn only_rows(emit: &mut Emit, output: &Output, (axis, rows): (usize, (i64, i64))) {
    let (Output::Array(arr) | Output::Part(arr, _)) = output else { return };
    let Some(def) = emit.points.def_of(*arr) else { return };
    let first = match &emit.points.defs[def].body {
        Body::Clauses(_, None) => Some(0),
        Body::Clauses(_, Some(steps)) => steps.first().map(|step| step.axis),
        Body::Until(_) | Body::Again(_) | Body::Scatter(_) | Body::InPlace(_) => None,
    };
    let within = emit.points.arrs[*arr].shape.get(axis).is_some_and(|end| rows.1 <= *end);
    if first == Some(axis) && within {
        emit.filled.insert(*arr, rows);
    }
}

impl Emit {
    /// Gives every input a buffer.
    fn inputs(&mut self) {
        let mut seen: FxHashMap<Input, Buf> = FxHashMap::default();
        let inputs: Vec<Arr> = self.points.arrs.ids().collect();
        for arr in inputs {
            let info = self.points.arrs[arr].clone();
            let Source::Input(input, strides) = info.source else { continue };
            let buf = match seen.get(&input) {
                Some(buf) => *buf,
                None => {
                    let reach = info.shape.iter().zip(&strides);
                    let forward = strides.iter().all(|stride| *stride >= 0);
                    let len = reach.map(|(n, stride)| (n - 1).max(0) * stride).sum::<i64>() + 1;
                    let name = info.name.map_or_else(String::new, |name| name.to_string());
                    let len = if forward { len } else { 0 };
                    self.buffer(name, info.ty, len, BufferKind::Input, Use::Input(input.clone()))
                }
            };
            seen.insert(input, buf);
            let axes = strides.into_iter().map(AxisPlace::Strided).collect();
            self.places.insert(arr, Place::Buffer(buf, axes));
        }
    }

    /// Gives every array that matters outside a buffer.
    fn outputs(&mut self, wanted: &FxHashSet<Arr>) -> FxHashMap<Arr, Buf> {
        let mut bufs = FxHashMap::default();
        let defs: Vec<Arr> = self.points.defs.iter().flat_map(Points::filled).collect();
        for arr in defs.into_iter().filter(|arr| wanted.contains(arr)) {
            let home = home::whole(&self.points, arr, BufferKind::Output, Why::Only);
            bufs.extend(home::settle(self, &home, None).map(|buf| (arr, buf)));
        }
        bufs
    }

    /// One definition by itself.
    fn alone(&mut self, def: &Def) {
        match &def.body {
            Body::Scatter(scatter) => self.scatter(def.arr, scatter),
            Body::InPlace(body) => self.in_place(def.arr, body),
            Body::Again(body) => again::again(self, def, body),
            Body::Until(body) => self.until(def, body),
            Body::Clauses(clauses, Some(steps)) => {
                self.recurrence(def.arr, clauses, steps, &[]);
            }
            Body::Clauses(clauses, None) => {
                if let Some(found) = tidy::as_contraction(&self.points, def) {
                    // A product with what has decayed is a product with nothing.
                    let decays =
                        [found.a.0, found.b.0].iter().any(|arr| recur::decays(&self.view(), *arr));
                    return self.flushing(decays, |emit| emit.contraction(def.arr, &found, None));
                }
                clear_left_out(self, def);
                for clause in clauses {
                    if let Some(found) = contract::of_clause(&self.points, clause) {
                        self.contraction(def.arr, &found, None);
                        continue;
                    }
                    let loops = clause.slots.iter().map(|slot| (slot.ix, slot.lo, slot.hi));
                    let loops = loops.collect();
                    let cell = self.cell(clause, def.arr);
                    self.nest(def.arr, loops, vec![cell]);
                }
            }
        }
    }

    /// The cell of a clause, with its guard as a choice.
    pub(crate) fn cell(&mut self, clause: &Clause, arr: Arr) -> nest::Cell {
        let at: Vec<Node> = clause.slots.iter().map(|slot| self.points.index(slot.ix)).collect();
        let value = match clause.guard {
            None => clause.value,
            Some(guard) => {
                let ty = self.points.arrs[arr].ty;
                let zero = self.points.constant(Scalar::zero(ty));
                self.points.select(guard, clause.value, clause.otherwise.unwrap_or(zero))
            }
        };
        (at, value)
    }

    /// Zeros, then additions in the order of the points; or the extremes of nothing, then those of the
    /// points.
    pub(crate) fn scatter(&mut self, arr: Arr, scatter: &crate::points::Scatter) {
        let shape = self.points.arrs[arr].shape.clone();
        let region: Vec<(i64, i64)> = shape.iter().map(|n| (0, *n)).collect();
        let ty = self.points.arrs[arr].ty;
        self.constants(arr, &region, reduce::neutral(scatter.op, ty));
        let last = scatter.binders.len().wrapping_sub(1);
        let trips = scatter.binders.iter().map(|(_, lo, hi)| self.points.trip_count(*lo, *hi));
        let work = trips.product::<f64>() * (node_cost(&self.points, scatter.value) + 4.0);
        let threads =
            work > 2.0 * self.points.cost.thread_work() && !self.in_parallel && self.here() == 0;
        let ahead = scatter::ahead(&self.view(), scatter);
        for (at, (ix, lo, hi)) in scatter.binders.iter().enumerate() {
            let kind = match scatters_apart(&self.view(), scatter, *ix) {
                true if at == last => ForKind::Vector { reductions: Vec::new() },
                true if at == 0 && threads => ForKind::Parallel { grain: 1 },
                _ => ForKind::Serial,
            };
            if at == last && !ahead.is_empty() {
                scatter::in_two_passes(self, arr, scatter, &ahead);
                continue;
            }
            let (lo, hi) = (self.bound_value(*lo), self.bound_value(*hi));
            self.open(*ix, lo, hi, kind);
        }
        let mut open = scatter.binders.len();
        match ahead.is_empty() {
            true => scatter::add(self, arr, scatter),
            false => open -= 1,
        }
        (0..open).for_each(|_| self.close());
    }

    /// A bound as a register or constant, for tests of equality.
    pub(crate) fn as_register(&mut self, value: Operand) -> ein_ir::loops::Reg {
        match value {
            Operand::Reg(reg) => reg,
            constant @ Operand::Const(_) => {
                let reg = self.reg(ein_scalar::ScalarType::I64);
                self.push(Stmt::Let(reg, Op::Copy(constant)));
                reg
            }
        }
    }
}

/// The cells of an array that clauses may not fill: before and behind those of the only clause along
/// the first axis, or all of them.
fn left_out(view: &View<'_>, clauses: &[Clause], shape: &[i64]) -> Vec<Vec<(i64, i64)>> {
    let whole: Vec<(i64, i64)> = shape.iter().map(|extent| (0, *extent)).collect();
    let ends = |slot: &Slot| view.points.as_int(slot.lo).zip(view.points.as_int(slot.hi));
    let [clause] = clauses else { return vec![whole] };
    let Some((first, rest)) = clause.slots.split_first() else { return vec![whole] };
    let Some((lo, hi)) = ends(first) else { return vec![whole] };
    let full = rest.iter().zip(&whole[1..]).all(|(slot, all)| ends(slot) == Some(*all));
    if !full
        || lo >= hi
        || clause.slots.iter().any(|slot| view.points.ixs[slot.ix].bounds.is_some())
    {
        return vec![whole];
    }
    [(0, lo), (hi, shape[0])]
        .into_iter()
        .filter(|(from, to)| from < to)
        .map(|rows| [rows].into_iter().chain(whole[1..].iter().copied()).collect())
        .collect()
}

/// Whether no two values of an index add to one cell: then they may do so together.
fn scatters_apart(
    view: &View<'_>,
    scatter: &crate::points::Scatter,
    ix: crate::points::Ix,
) -> bool {
    let nodes = scatter.at.iter().chain(&scatter.guard).chain([&scatter.value]);
    let reduces = nodes.into_iter().any(|node| view.points.nodes[*node].reduces);
    let is_index = |node: &Node| view.points.nodes[*node].kind == Kind::Index(ix);
    !reduces && scatter.at.iter().any(is_index)
}
