//! Which definitions run in one nest.
//!
//! A definition joins the group before it if it reads one of its members and, along the outer
//! indices that the group shares, only at its own position; or if both read the same large array,
//! which then comes from memory once. Contractions join with a tile of rows, and only where that
//! saves writing a large array.
//!
//! A group is decided with the loops that its members share and the places of their arrays before any
//! of them is written ([`write`](mod@write)).
//!
//! Failures: none is moved: definitions share loops, and each of their points is computed once.

mod write;

use super::contract::only_clause;
use super::demand;
use super::home::{self, Home, Order};
use super::plan::{self, How, What, Why};
use super::tidy::as_contraction;
use super::{def_cost, recur};
use crate::points::{Arr, Body, Clause, Def, Ix, Kind, Node, Points, Slot};
use rustc_hash::FxHashSet;

/// Neighbours that read the same array of so many cells, in rows of so many, run together.
const NEIGHBOURS: (i64, i64) = (1 << 18, 64);

/// From so many values on an index that runs along memory is not taken out of a reduction.
const ACROSS: i128 = 16;

/// Rows of a tile with contractions.
const ROWS: i64 = 60;

/// Cells of a tile of a recurrence.
const LANES: i64 = 64;

/// Cells of recurrences that take no longer than this gain nothing from vectors that wait for memory:
/// elementary functions do.
const LITTLE: f64 = 20.0;

/// Definitions that share their outer loops.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    members: Vec<Member>,
    /// The extents of the shared loops.
    extents: Vec<i64>,
    /// How many values of the last shared index are handled together.
    tile: i64,
    /// Why the last of them joined, or did not join the group before.
    why: Why,
    /// How the shared loops run, and why.
    loops: Vec<(How, Why)>,
    /// Whether the shared loops are all loops, and the last one runs in vectors.
    flat: bool,
}

#[derive(Clone, Debug)]
struct Member {
    def: usize,
    /// The axes that the shared loops run over.
    axes: Vec<usize>,
    kind: MemberKind,
    /// Whether its steps run along memory, and whether therefore one cell after another is filled.
    steps_along: bool,
    along: bool,
    /// Whether it matters outside.
    wanted: bool,
    /// The place that it gets here, if it has none before.
    home: Option<Home>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberKind {
    Plain,
    Contraction,
    Recurrence,
    Other,
}

/// Which arrays have their places: in groups that share loops, and by themselves; and those of which steps
/// are copied as they are.
pub(crate) type Has<'a> = [&'a dyn Fn(Arr) -> bool; 3];

/// Forms groups of these definitions and decides how their loops run and where their arrays are, as far
/// as they have no places.
pub(crate) fn plan(
    points: &Points,
    defs: &[usize],
    wanted: &FxHashSet<Arr>,
    placed: Has<'_>,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for at in defs {
        let member = candidate(points, *at, wanted);
        match groups.last_mut().map(|group| group.join(points, &member)) {
            None => groups.push(Group::of(points, member, Why::Only)),
            Some(Err(why)) => groups.push(Group::of(points, member, why)),
            Some(Ok(())) => {}
        }
    }
    for group in &mut groups {
        group.flat = group.is_fused() && group.is_flat(points);
        group.loops = group.shared_loops(points);
        let homes: Vec<Option<Home>> =
            group.members.iter().map(|member| group.home_of(points, member, placed)).collect();
        for (member, home) in group.members.iter_mut().zip(homes) {
            member.home = home;
        }
    }
    groups
}

/// A definition with the axes that outer loops could run over.
fn candidate(points: &Points, at: usize, wanted: &FxHashSet<Arr>) -> Member {
    let def = &points.defs[at];
    let shape = &points.arrs[def.arr].shape;
    let kept = wanted.contains(&def.arr);
    let member = |kind: MemberKind, axes: Vec<usize>| {
        let (steps_along, along) = (false, false);
        Member { def: at, axes, kind, steps_along, along, wanted: kept, home: None }
    };
    let bytes = shape.iter().product::<i64>() * points.arrs[def.arr].ty.size_bytes() as i64;
    if let Some(found) = as_contraction(points, def) {
        let mut axes = found.batch.clone();
        axes.extend(found.m.first());
        // Only leading axes in order, so that a tile of the result is one block.
        let leading = axes.iter().enumerate().all(|(at, axis)| at == *axis);
        let saves = bytes > points.cost.whole_result_bytes() && !kept;
        let reads_large = points.defs[..at].iter().any(|other| {
            other.arr == found.a.0
                && size_bytes(points, other.arr) > points.cost.whole_result_bytes()
        });
        let axes = if leading && (saves || reads_large) { axes } else { Vec::new() };
        return member(MemberKind::Contraction, axes);
    }
    if let Some(clause) = only_clause(points, &def.body, shape) {
        let rank = shape.len() - usize::from(reduces_across(points, clause));
        return member(MemberKind::Plain, (0..rank).collect());
    }
    if let Some(whole) = demand::is_partial(points, def, wanted) {
        return member(MemberKind::Plain, (0..whole).collect());
    }
    match &def.body {
        Body::Clauses(_, Some(steps)) => {
            let mut axes = still_axes(points, def);
            let steps_along = steps.iter().any(|step| step.axis + 1 == shape.len());
            let along = steps_along && (kept || has_clashes(points, def, axes.last().copied()));
            // What is stored whole is written along memory, step by step where these run along it.
            if kept && axes.last().is_some_and(|axis| axis + 1 == shape.len()) {
                axes.clear();
            }
            Member { steps_along, along, ..member(MemberKind::Recurrence, axes) }
        }
        _ => member(MemberKind::Other, Vec::new()),
    }
}

/// Whether the last index of a clause runs along memory and a reduction inside across it
/// (`sum(i) x[i, j]`), or along it in a short window (`sum(b) x[j + b]`): then it stays inside the
/// reduction, and runs in vectors.
pub(crate) fn reduces_across(points: &Points, clause: &Clause) -> bool {
    let Some(slot) = clause.slots.last() else { return false };
    let (lo, hi) = points.ixs[slot.ix].range;
    let runs_across = |node: Node| {
        let Kind::Reduce(reduction) = &points.nodes[node].kind else { return false };
        points.loads(&[reduction.body]).iter().any(|(_, at)| {
            let depends = |ix: Ix| at.last().is_some_and(|last| points.depends(*last, ix));
            let elsewhere = |ix: Ix| at.iter().any(|node| points.depends(*node, ix));
            let binders = &reduction.binders;
            let mut along = binders.iter().filter(|(ix, ..)| depends(*ix));
            let short = |(ix, ..): &(Ix, Node, Node)| {
                let (lo, hi) = points.ixs[*ix].range;
                hi - lo < ACROSS
            };
            depends(slot.ix) && along.all(short) && binders.iter().any(|(ix, ..)| elsewhere(*ix))
        })
    };
    hi - lo >= ACROSS && points.below(&[clause.value]).into_iter().any(runs_across)
}

fn size_bytes(points: &Points, arr: Arr) -> i64 {
    points.arrs[arr].shape.iter().product::<i64>() * points.arrs[arr].ty.size_bytes() as i64
}

/// The axes of a recurrence along which every cell depends only on its own position.
pub(crate) fn still_axes(points: &Points, def: &Def) -> Vec<usize> {
    let Body::Clauses(clauses, Some(steps)) = &def.body else { return Vec::new() };
    // What the cells of a step share is stored for the step, so all of them are filled together.
    if clauses.iter().any(|clause| recur::has_parts(points, clause, steps)) {
        return Vec::new();
    }
    let shape = &points.arrs[def.arr].shape;
    let mut axes = Vec::new();
    for axis in 0..shape.len() {
        let steps_here = steps.iter().any(|step| step.axis == axis);
        let still = !steps_here
            && shape[axis] >= 8
            && clauses.iter().all(|clause| {
                let slot = clause.slots[axis];
                let whole = points.as_int(slot.lo) == Some(0)
                    && points.as_int(slot.hi) == Some(shape[axis]);
                let roots: Vec<Node> = [clause.value]
                    .into_iter()
                    .chain(clause.guard)
                    .chain(clause.otherwise)
                    .collect();
                whole
                    && points.loads(&roots).iter().all(|(arr, at)| {
                        *arr != def.arr || points.nodes[at[axis]].kind == Kind::Index(slot.ix)
                    })
            });
        if still {
            axes.push(axis);
        }
    }
    axes
}

/// Whether neighbours along an axis of a recurrence lie in memory so that a tile of them finds no room in
/// the nearest cache, and there is little to do with what was waited for: at distances that are a high
/// power of two they exclude each other.
fn has_clashes(points: &Points, def: &Def, axis: Option<usize>) -> bool {
    let (Some(axis), Body::Clauses(clauses, _)) = (axis, &def.body) else { return false };
    let cells: i64 = points.arrs[def.arr].shape.iter().product();
    if def_cost(points, def) > LITTLE * cells as f64 {
        return false;
    }
    let mut lines = 0;
    for clause in clauses {
        let ix = clause.slots[axis].ix;
        let mut own = 0;
        let mut seen = Vec::new();
        let roots = [Some(clause.value), clause.guard, clause.otherwise];
        for (arr, at) in points.loads(&roots.into_iter().flatten().collect::<Vec<Node>>()) {
            if seen.contains(&arr) {
                continue;
            }
            seen.push(arr);
            let (info, mut stride) = (&points.arrs[arr], 0);
            let mut inner = info.ty.size_bytes() as i64;
            for (node, extent) in at.iter().zip(&info.shape).rev() {
                stride += points.factor(*node, ix).unwrap_or(0) * inner;
                inner *= *extent;
            }
            own += points.cost.lines_of_a_set(stride, LANES);
        }
        lines = lines.max(own);
    }
    lines > 2 * points.cost.lines_in_a_set()
}

impl Group {
    fn of(points: &Points, mut member: Member, why: Why) -> Group {
        let most = shareable(points, &member);
        member.axes.truncate(most);
        let shape = &points.arrs[points.defs[member.def].arr].shape;
        let extents = member.axes.iter().map(|axis| shape[*axis]).collect();
        let tile = tile_of(&member);
        Group { members: vec![member], extents, tile, why, loops: Vec::new(), flat: false }
    }

    /// Adds a definition if it fits; otherwise says why not.
    fn join(&mut self, points: &Points, member: &Member) -> Result<(), Why> {
        let closed = |kind: MemberKind| matches!(kind, MemberKind::Other | MemberKind::Recurrence);
        if closed(member.kind) {
            return Err(Why::Since("it has an order of its own"));
        }
        if self.members.iter().any(|m| m.kind == MemberKind::Other) {
            return Err(Why::Since("what is before it has an order of its own"));
        }
        let def = &points.defs[member.def];
        let reads: Vec<(Arr, Box<[Node]>)> = points
            .loads(&points.roots(def))
            .into_iter()
            .filter(|(arr, _)| self.member_of(points, *arr).is_some())
            .collect();
        if reads.is_empty() && !self.reads_the_same(points, member) {
            return Err(Why::Since("it reads nothing of what is before it"));
        }
        let slots = slots_of(def);
        let shape = &points.arrs[def.arr].shape;
        let fits = |depth: usize| {
            let same = (0..depth).all(|at| shape[member.axes[at]] == self.extents[at]);
            same && reads.iter().all(|(arr, at)| {
                let Some(other) = self.member_of(points, *arr) else { return false };
                (0..depth).all(|loop_at| {
                    let here = slots[member.axes[loop_at]].ix;
                    points.nodes[at[other.axes[loop_at]]].kind == Kind::Index(here)
                })
            })
        };
        // A tile leaves a loop to run in vectors; otherwise the last axis has to.
        let own = if self.tile > 1 { member.axes.len() } else { shareable(points, member) };
        let most = self.extents.len().min(own);
        // A recurrence or a contraction is not taken apart again once it is tiled.
        let fixed = self.members.iter().any(|m| m.kind != MemberKind::Plain);
        let least = if fixed { self.extents.len() } else { 1 };
        let Some(depth) = (least.max(1)..=most).rev().find(|depth| fits(*depth)) else {
            return Err(Why::Since("it reads what is before it at other positions"));
        };
        let mut joined = self.clone();
        joined.extents.truncate(depth);
        joined.members.push(member.clone());
        joined.members.iter_mut().for_each(|member| member.axes.truncate(depth));
        joined.tile = joined.members.iter().map(tile_of).max().unwrap_or(1);
        let (mut size, limit) = (joined.local_bytes(points), points.cost.local_bytes());
        if size <= limit && joined.steps_bytes(points) > limit {
            // Rows of all steps by themselves, where those lie along memory.
            joined.members.iter_mut().for_each(|member| member.along |= member.steps_along);
            joined.tile = joined.members.iter().map(tile_of).max().unwrap_or(1);
            size = joined.local_bytes(points);
        }
        if size > limit {
            return Err(Why::TooLarge { size, limit, of: "bytes are kept at a time" });
        }
        joined.why = match reads.is_empty() {
            true => Why::Since("they read the same large array"),
            false => Why::Fits { size, limit, of: "bytes are kept at a time" },
        };
        *self = joined;
        Ok(())
    }

    /// Whether a definition goes over the same cells as the group and reads a large array that it
    /// reads as well.
    fn reads_the_same(&self, points: &Points, member: &Member) -> bool {
        let shape = &points.arrs[points.defs[member.def].arr].shape;
        let (cells, row) = (shape.iter().product::<i64>(), shape.last().copied().unwrap_or(1));
        let alike = |other: &Member| {
            is_pointwise(points, other) && points.arrs[points.defs[other.def].arr].shape == *shape
        };
        let large = cells >= NEIGHBOURS.0 && row >= NEIGHBOURS.1;
        let reads = |of: &Member| points.loads(&points.roots(&points.defs[of.def]));
        let ours: Vec<Arr> = self.members.iter().flat_map(reads).map(|(arr, _)| arr).collect();
        let shared =
            |(arr, _): &(Arr, Box<[Node]>)| points.arrs[*arr].shape == *shape && ours.contains(arr);
        large
            && is_pointwise(points, member)
            && self.members.iter().all(alike)
            && reads(member).iter().any(shared)
    }

    /// Whether the shared loops are all loops, and the innermost one can run in vectors.
    fn is_flat(&self, points: &Points) -> bool {
        let rank = |member: &Member| points.arrs[points.defs[member.def].arr].shape.len();
        let flat =
            |member: &Member| is_pointwise(points, member) && member.axes.len() == rank(member);
        self.tile == 1 && self.members.iter().all(flat)
    }

    fn member_of(&self, points: &Points, arr: Arr) -> Option<&Member> {
        self.members.iter().find(|member| points.defs[member.def].arr == arr)
    }

    /// What the intermediate arrays of one step of the shared loops take.
    fn local_bytes(&self, points: &Points) -> i64 {
        let of = |member: &Member| {
            let info = &points.arrs[points.defs[member.def].arr];
            // Of a recurrence only a window is kept; this is decided later.
            match member.kind {
                MemberKind::Recurrence => 0,
                _ => {
                    member.cells_of_turn(points, &self.extents, self.tile)
                        * info.ty.size_bytes() as i64
                }
            }
        };
        self.members[..self.members.len() - 1].iter().map(of).sum()
    }

    /// What the steps of its recurrences take of which one turn of the shared loops keeps all.
    fn steps_bytes(&self, points: &Points) -> i64 {
        let of = |member: &Member| {
            let def = &points.defs[member.def];
            let info = &points.arrs[def.arr];
            let kept = !member.wanted && !self.is_read_elsewhere(points, def.arr);
            match member.kind == MemberKind::Recurrence && kept && points.window(def).is_err() {
                true => {
                    member.cells_of_turn(points, &self.extents, self.tile)
                        * info.ty.size_bytes() as i64
                }
                false => 0,
            }
        };
        self.members.iter().map(of).sum()
    }

    /// Whether the members really share loops.
    pub(crate) fn is_fused(&self) -> bool {
        let recurs = self.members.iter().any(|m| m.kind == MemberKind::Recurrence);
        !self.extents.is_empty() && (self.members.len() > 1 || recurs)
    }

    /// How each shared loop runs: threads share the first one with more than one turn, if that pays.
    fn shared_loops(&self, points: &Points) -> Vec<(How, Why)> {
        if !self.is_fused() {
            return Vec::new();
        }
        let work: f64 =
            self.members.iter().map(|member| def_cost(points, &points.defs[member.def])).sum();
        let last = self.extents.len() - 1;
        let across = self.extents.iter().position(|extent| *extent > 1).unwrap_or(0);
        let tile = if last == across { self.tile as f64 } else { 1.0 };
        let (turns, least) = (self.extents[across] as f64 / tile, points.cost.thread_work());
        let run = |at: usize| match at == across {
            true if work > least => {
                let each = (work / turns.max(1.0)).max(1.0);
                let grain = ((least / 2.0 / each).ceil() as i64).max(1);
                (How::Parallel { grain }, Why::Work { work, turns, least })
            }
            true => (How::Serial, Why::LittleWork { work, least }),
            false => (How::Serial, Why::Only),
        };
        (0..self.extents.len()).map(run).collect()
    }

    /// Where the array of a member is: with all its cells if others read it, or a window of its steps;
    /// with those of one step of the shared loops if only the group does.
    fn home_of(
        &self,
        points: &Points,
        member: &Member,
        [fused, alone, copied]: Has<'_>,
    ) -> Option<Home> {
        let def = &points.defs[member.def];
        let placed = if self.is_fused() { fused(def.arr) } else { alone(def.arr) };
        // States that change until a condition holds find their places by themselves.
        if placed || matches!(def.body, Body::Again(_)) {
            return None;
        }
        Some(match self.is_fused() && !self.is_read_elsewhere(points, def.arr) {
            true => home::of_turn(points, def, (&member.axes, self.tile), member.order()),
            false => home::of_definition(points, def, copied(def.arr)),
        })
    }

    /// Whether a definition outside the group reads an array.
    fn is_read_elsewhere(&self, points: &Points, arr: Arr) -> bool {
        let inside = |at: usize| self.members.iter().any(|member| member.def == at);
        points.defs.iter().enumerate().any(|(at, def)| {
            let loads = || points.loads(&points.roots(def));
            !inside(at) && loads().iter().any(|(other, _)| *other == arr)
        })
    }

    /// Its definitions, with the axes of each that the shared loops run over.
    pub(crate) fn defs(&self) -> Vec<(usize, Vec<usize>)> {
        self.members.iter().map(|member| (member.def, member.axes.clone())).collect()
    }

    /// The places that it makes.
    pub(crate) fn placed(&self) -> impl Iterator<Item = &plan::Placed> {
        self.members.iter().filter_map(|member| member.home.as_ref()).map(Home::placed)
    }

    /// The decision that it is.
    fn decided(&self, points: &Points) -> What {
        let member = |member: &Member| {
            let def = &points.defs[member.def];
            let kind = match (member.kind, &def.body) {
                (MemberKind::Plain, _) => plan::Member::Loops,
                (MemberKind::Contraction, _) => plan::Member::Contraction,
                (MemberKind::Recurrence, _) => plan::Member::Ordered,
                (MemberKind::Other, Body::InPlace(_)) => plan::Member::InPlace,
                (MemberKind::Other, Body::Again(_)) => plan::Member::Again,
                (MemberKind::Other, Body::Until(_)) => plan::Member::OrderedUntil,
                (MemberKind::Other, Body::Clauses(..) | Body::Scatter(_)) => plan::Member::Loops,
            };
            (points.arrs[def.arr].name, kind)
        };
        let shared = if self.is_fused() { self.extents.clone() } else { Vec::new() };
        let members = self.members.iter().map(member).collect();
        What::Group { members, shared, tile: self.tile }
    }
}

impl Member {
    /// The cells of a turn of loops with these extents, the last of them in tiles.
    fn cells_of_turn(&self, points: &Points, extents: &[i64], tile: i64) -> i64 {
        let shared: i64 = extents.iter().product();
        points.arrs[points.defs[self.def].arr].shape.iter().product::<i64>() / shared.max(1) * tile
    }

    /// In which order the axes of a turn lie in memory.
    fn order(&self) -> Order {
        match self.kind {
            MemberKind::Recurrence => Order::TileLast,
            MemberKind::Plain => Order::LongLast,
            MemberKind::Contraction | MemberKind::Other => Order::AsItIs,
        }
    }
}

/// How many axes loops around a definition may take so that a vector loop is left inside.
fn shareable(points: &Points, member: &Member) -> usize {
    let count = member.axes.len();
    if is_pointwise(points, member) && count > 1 { count - 1 } else { count }
}

/// Whether a definition has no loops but those over its cells.
fn is_pointwise(points: &Points, member: &Member) -> bool {
    let reduces = match &points.defs[member.def].body {
        Body::Clauses(clauses, None) => clauses.iter().any(|c| points.nodes[c.value].reduces),
        _ => true,
    };
    member.kind == MemberKind::Plain && !reduces
}

fn tile_of(member: &Member) -> i64 {
    match member.kind {
        MemberKind::Recurrence if member.along => 1,
        MemberKind::Plain | MemberKind::Other => 1,
        MemberKind::Contraction => ROWS,
        MemberKind::Recurrence => LANES,
    }
}

/// The slots of the first clause.
fn slots_of(def: &Def) -> &[Slot] {
    match &def.body {
        Body::Clauses(clauses, _) => clauses.first().map_or(&[], |clause| &clause.slots),
        Body::Scatter(_) | Body::InPlace(_) | Body::Until(_) | Body::Again(_) => &[],
    }
}
