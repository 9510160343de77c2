//! Which definitions run in one nest.
//!
//! A definition joins the group before it if it reads one of its members and, along the outer
//! indices that the group shares, only at its own position; or if both read the same large array,
//! which then comes from memory once. Contractions join with a tile of rows, and only where that
//! saves writing a large array.
//!
//! Failures: none is moved: definitions share loops, and each of their points is computed once.

mod write;

use super::contract::only_clause;
use super::recur;
use super::tidy::as_contraction;
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

/// Definitions that share their outer loops.
#[derive(Clone, Debug, Default)]
pub(crate) struct Group {
    members: Vec<Member>,
    /// The extents of the shared loops.
    extents: Vec<i64>,
    /// How many values of the last shared index are handled together.
    tile: i64,
}

#[derive(Clone, Debug)]
struct Member {
    def: usize,
    /// The axes that the shared loops run over.
    axes: Vec<usize>,
    kind: MemberKind,
    /// Whether its steps run along memory, so that one cell after another is filled.
    along: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MemberKind {
    Plain,
    Contraction,
    Recurrence,
    Other,
}

/// Forms groups of these definitions.
pub(crate) fn run(points: &Points, defs: &[usize], wanted: &FxHashSet<Arr>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for at in defs {
        let member = candidate(points, *at, wanted);
        let joined = groups.last_mut().is_some_and(|group| group.join(points, &member));
        if !joined {
            groups.push(Group::of(points, member));
        }
    }
    groups
}

/// A definition with the axes that outer loops could run over.
fn candidate(points: &Points, at: usize, wanted: &FxHashSet<Arr>) -> Member {
    let def = &points.defs[at];
    let shape = &points.arrs[def.arr].shape;
    let bytes = shape.iter().product::<i64>() * points.arrs[def.arr].ty.size_bytes() as i64;
    if let Some(found) = as_contraction(points, def) {
        let mut axes = found.batch.clone();
        axes.extend(found.m.first());
        // Only leading axes in order, so that a tile of the result is one block.
        let leading = axes.iter().enumerate().all(|(at, axis)| at == *axis);
        let saves = bytes > points.cost.whole_result_bytes() && !wanted.contains(&def.arr);
        let reads_large = points.defs[..at].iter().any(|other| {
            other.arr == found.a.0
                && size_bytes(points, other.arr) > points.cost.whole_result_bytes()
        });
        let axes = if leading && (saves || reads_large) { axes } else { Vec::new() };
        return Member { def: at, axes, kind: MemberKind::Contraction, along: false };
    }
    if let Some(clause) = only_clause(points, &def.body, shape) {
        let rank = shape.len() - usize::from(reduces_across(points, clause));
        return Member {
            def: at,
            axes: (0..rank).collect(),
            kind: MemberKind::Plain,
            along: false,
        };
    }
    match &def.body {
        Body::Clauses(_, Some(steps)) => {
            let mut axes = still_axes(points, def);
            let along =
                wanted.contains(&def.arr) && steps.iter().any(|step| step.axis + 1 == shape.len());
            // What is stored whole is written along memory, step by step where these run along it.
            if wanted.contains(&def.arr) && axes.last().is_some_and(|axis| axis + 1 == shape.len())
            {
                axes.clear();
            }
            Member { def: at, axes, kind: MemberKind::Recurrence, along }
        }
        _ => Member { def: at, axes: Vec::new(), kind: MemberKind::Other, along: false },
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
fn still_axes(points: &Points, def: &Def) -> Vec<usize> {
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

impl Group {
    fn of(points: &Points, mut member: Member) -> Group {
        let most = shareable(points, &member);
        member.axes.truncate(most);
        let shape = &points.arrs[points.defs[member.def].arr].shape;
        let extents = member.axes.iter().map(|axis| shape[*axis]).collect();
        let tile = tile_of(&member);
        Group { members: vec![member], extents, tile }
    }

    /// Adds a definition if it fits.
    fn join(&mut self, points: &Points, member: &Member) -> bool {
        let closed = |kind: MemberKind| matches!(kind, MemberKind::Other | MemberKind::Recurrence);
        if closed(member.kind) || self.members.iter().any(|m| m.kind == MemberKind::Other) {
            return false;
        }
        let def = &points.defs[member.def];
        let reads: Vec<(Arr, Box<[Node]>)> = points
            .loads(&points.roots(def))
            .into_iter()
            .filter(|(arr, _)| self.member_of(points, *arr).is_some())
            .collect();
        if reads.is_empty() && !self.reads_the_same(points, member) {
            return false;
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
            return false;
        };
        let mut joined = self.clone();
        joined.extents.truncate(depth);
        joined.members.push(member.clone());
        joined.members.iter_mut().for_each(|member| member.axes.truncate(depth));
        joined.tile = joined.members.iter().map(tile_of).max().unwrap_or(1);
        if joined.local_bytes(points) > points.cost.local_bytes() {
            return false;
        }
        *self = joined;
        true
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
            let shared: i64 = self.extents.iter().product();
            let cells = info.shape.iter().product::<i64>() / shared.max(1) * self.tile;
            // Of a recurrence only a window is kept; this is decided later.
            let cells = if member.kind == MemberKind::Recurrence { 0 } else { cells };
            cells * info.ty.size_bytes() as i64
        };
        self.members[..self.members.len() - 1].iter().map(of).sum()
    }

    /// Whether the members really share loops.
    fn is_fused(&self) -> bool {
        let recurs = self.members.iter().any(|m| m.kind == MemberKind::Recurrence);
        !self.extents.is_empty() && (self.members.len() > 1 || recurs)
    }

    /// One line for people.
    pub(crate) fn describe(&self, points: &Points) -> String {
        let name = |member: &Member| {
            let arr = points.defs[member.def].arr;
            let how = match member.kind {
                MemberKind::Plain => "loops",
                MemberKind::Contraction => "contraction",
                MemberKind::Recurrence => "ordered",
                MemberKind::Other => match points.defs[member.def].body {
                    Body::InPlace(_) => "in place",
                    Body::Again(_) => "step by step until a condition holds",
                    Body::Until(_) => "ordered, until a condition holds",
                    Body::Clauses(..) | Body::Scatter(_) => "loops",
                },
            };
            let name = points.arrs[arr].name.map_or("_".to_owned(), |name| name.to_string());
            format!("{name} ({how})")
        };
        let names: Vec<String> = self.members.iter().map(name).collect();
        let names = names.join(", ");
        match self.is_fused() {
            true if self.tile > 1 => {
                format!("fused over {:?}, {} at a time: {names}", self.extents, self.tile)
            }
            true => format!("fused over {:?}: {names}", self.extents),
            false => names,
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
