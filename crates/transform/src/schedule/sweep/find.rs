//! Which definitions a sweep is made of.
//!
//! The *members* have an axis of time: the recurrences, what they read at their own step, and what
//! reads them so. Everything else that reads members does it in sums over all steps or at steps
//! that are constants; it stands *outside*, between the two passes or after them.

use crate::points::{Arr, Body, Clause, Ix, Kind, Node, Points};
use rustc_hash::FxHashSet;
use std::collections::{BTreeMap, BTreeSet};

/// Members read each other at most so many steps away.
pub(super) const FARTHEST: i64 = 4;

/// What a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A recurrence that runs forward: its history is what the adjoint reads.
    Forward,
    /// A recurrence that runs back.
    Backward,
    /// No recurrence.
    Plain,
}

/// A definition with an axis of time.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// Its number.
    pub def: usize,
    /// What it defines.
    pub arr: Arr,
    /// The axis.
    pub axis: usize,
    /// What it is.
    pub role: Role,
    /// Whether it belongs to the pass that runs back.
    pub late: bool,
    /// Whether it matters outside.
    pub wanted: bool,
    /// Whether it may fail, so that it must be computed even if nobody reads it.
    pub traps: bool,
}

/// A sum over time, in a definition outside.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    /// The number of the definition.
    pub def: usize,
    /// The sum.
    pub node: Node,
    /// Which of its indices is time.
    pub binder: usize,
    /// The indices of the definition that it depends on.
    pub free: Vec<Ix>,
    /// Whether it reads what the pass that runs back computes.
    pub late: bool,
}

/// Who reads a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// A member, by its number here.
    Member(usize),
    /// A sum, by its number here.
    Sum(usize),
}

/// A read of a member at a distance from the step of the reader.
#[derive(Clone, Copy, Debug)]
pub(super) struct Read {
    /// Who reads.
    pub reader: Reader,
    /// Which member.
    pub member: usize,
    /// How many steps later.
    pub offset: i64,
}

/// The parts of a sweep.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// How many steps there are.
    pub steps: i64,
    /// The members, each after those of its step that it reads.
    pub members: Vec<Member>,
    /// The sums.
    pub sums: Vec<Sum>,
    /// The reads of members by members and sums.
    pub reads: Vec<Read>,
    /// Steps of members that are read by themselves: the member and the step.
    pub singles: BTreeSet<(usize, i64)>,
    /// Those of them that members and sums read.
    inner_singles: Vec<(Reader, usize)>,
    /// Definitions outside, and whether each waits for the pass that runs back.
    pub outside: BTreeMap<usize, bool>,
}

impl Found {
    /// What the histories take if they are stored, in bytes.
    pub(super) fn bytes(&self, points: &Points) -> u64 {
        let forward = self.members.iter().filter(|member| member.role == Role::Forward);
        forward.map(|member| bytes(points, member)).sum()
    }

    /// Whether something reads a single step in the pass that computes it.
    fn reads_single_too_early(&self) -> bool {
        self.inner_singles.iter().any(|(reader, member)| {
            let late = match reader {
                Reader::Member(number) => self.members[*number].late,
                Reader::Sum(number) => self.sums[*number].late,
            };
            !late || self.members[*member].late
        })
    }
}

/// Why there is no sweep.
pub(super) type Why = &'static str;

/// How a position along the axis of time is meant.
enum At {
    /// So many steps after the one of the reader.
    Offset(i64),
    /// A constant.
    Step(i64),
    /// Anything else.
    Other,
}

/// The sweep around a recurrence.
pub(super) fn around(
    points: &Points,
    defs: &[usize],
    wanted: &FxHashSet<Arr>,
    start: usize,
) -> Result<Found, Why> {
    let axis = match ordered(points, start) {
        Some((_, Role::Forward)) if points.defs[start].adjoint => {
            return Err("its steps run down");
        }
        Some((axis, _)) => axis,
        None => return Err("its steps run along several axes"),
    };
    let steps = points.arrs[points.defs[start].arr].shape[axis];
    let mut banned = BTreeSet::new();
    loop {
        let axes = BTreeMap::from([(start, axis)]);
        let mut search = Search { points, defs, wanted, steps, axes, banned: &banned };
        search.grow();
        match search.check() {
            Ok(found) => return Ok(found),
            Err(Refusal::Without(def)) => {
                banned.insert(def);
            }
            Err(Refusal::Why(why)) => return Err(why),
        }
    }
}

/// The axis of a recurrence along one axis, and which way it runs.
pub(super) fn ordered(points: &Points, def: usize) -> Option<(usize, Role)> {
    let Body::Clauses(_, Some(steps)) = &points.defs[def].body else { return None };
    match steps.as_slice() {
        [step] if step.backward => Some((step.axis, Role::Backward)),
        [step] => Some((step.axis, Role::Forward)),
        _ => None,
    }
}

/// Why members do not make a sweep.
pub(super) enum Refusal {
    /// Possible without this member.
    Without(usize),
    /// Not possible.
    Why(Why),
}

/// The members found so far.
pub(super) struct Search<'a> {
    pub(super) points: &'a Points,
    defs: &'a [usize],
    wanted: &'a FxHashSet<Arr>,
    steps: i64,
    /// The members, with their axes of time.
    axes: BTreeMap<usize, usize>,
    banned: &'a BTreeSet<usize>,
}

impl Search<'_> {
    /// Finds the members.
    fn grow(&mut self) {
        loop {
            let before = self.axes.len();
            for def in self.defs {
                match self.axes.get(def) {
                    Some(axis) => self.add_operands(*def, *axis),
                    None => {
                        self.add_reader(*def);
                        self.add_summed(*def);
                    }
                }
            }
            if self.axes.len() == before {
                return;
            }
        }
    }

    /// Adds what a member reads at its own step.
    fn add_operands(&mut self, def: usize, axis: usize) {
        for clause in self.clauses(def) {
            self.add_read(&clause_roots(&clause), clause.slots[axis].ix);
        }
    }

    /// Adds what is read beside a member in a sum over time.
    fn add_summed(&mut self, def: usize) {
        if self.axes.contains_key(&def) {
            return;
        }
        for node in self.points.below(&self.points.roots(&self.points.defs[def])) {
            if let Kind::Reduce(reduction) = &self.points.nodes[node].kind
                && let Some(binder) = self.over_time(reduction)
            {
                self.add_read(&[reduction.body], reduction.binders[binder].0);
            }
        }
    }

    /// Adds what is read at a constant number of steps from an index.
    fn add_read(&mut self, roots: &[Node], time: Ix) {
        for (arr, at) in self.points.loads(roots) {
            let place = at.iter().position(|node| self.moves_with(*node, time));
            if let (Some(place), Some(other)) = (place, self.points.def_of(arr))
                && !self.wanted.contains(&arr)
            {
                self.add(other, place);
            }
        }
    }

    /// Adds a definition that reads a member at its own step.
    fn add_reader(&mut self, def: usize) {
        for clause in self.clauses(def) {
            for (arr, at) in self.points.loads(&clause_roots(&clause)) {
                let Some(node) = self.time_of(arr, &at) else { continue };
                let axis = clause.slots.iter().position(|slot| self.moves_with(node, slot.ix));
                if let Some(axis) = axis {
                    return self.add(def, axis);
                }
            }
        }
    }

    fn add(&mut self, def: usize, axis: usize) {
        let shape = &self.points.arrs[self.points.defs[def].arr].shape;
        let plain = matches!(self.points.defs[def].body, Body::Clauses(_, None));
        let fits = plain || ordered(self.points, def).is_some_and(|(along, _)| along == axis);
        if fits
            && shape.get(axis) == Some(&self.steps)
            && self.defs.contains(&def)
            && !self.banned.contains(&def)
        {
            self.axes.entry(def).or_insert(axis);
        }
    }

    pub(super) fn clauses(&self, def: usize) -> Vec<Clause> {
        match &self.points.defs[def].body {
            Body::Clauses(clauses, _) => clauses.clone(),
            Body::Scatter(_) | Body::InPlace(_) | Body::Until(_) | Body::Again(_) => Vec::new(),
        }
    }

    /// The position along the axis of time, if an array is a member.
    pub(super) fn time_of(&self, arr: Arr, at: &[Node]) -> Option<Node> {
        let axis = self.axes.get(&self.points.def_of(arr)?)?;
        at.get(*axis).copied()
    }

    /// Whether a position is a constant number of steps from an index that varies.
    pub(super) fn moves_with(&self, node: Node, ix: Ix) -> bool {
        self.points.depends(node, ix) && matches!(self.at(node, ix), At::Offset(_))
    }

    fn at(&self, node: Node, time: Ix) -> At {
        if let Some(step) = self.points.as_int(node) {
            let (lo, hi) = self.points.ixs[time].range;
            let offset = step - lo as i64;
            let near = lo == hi && offset.abs() <= FARTHEST;
            return if near { At::Offset(offset) } else { At::Step(step) };
        }
        let inside = match self.points.nodes[node].kind {
            Kind::Clamp { at, .. } => at,
            _ => node,
        };
        self.points.offset_from(inside, time).map_or(At::Other, At::Offset)
    }

    /// Looks at every read of every member.
    fn check(&self) -> Result<Found, Refusal> {
        let mut found = Found { steps: self.steps, ..Found::default() };
        let number = |def: usize| self.axes.keys().position(|other| *other == def);
        for (def, axis) in &self.axes {
            found.members.push(self.member(*def, *axis)?);
        }
        let mut late = BTreeSet::new();
        for def in self.defs.iter().copied() {
            let roots = self.points.roots(&self.points.defs[def]);
            let loads = self.points.loads(&roots);
            let source = |arr: &Arr| self.points.def_of(*arr);
            let derived = loads
                .iter()
                .any(|(arr, _)| source(arr).is_some_and(|it| found.outside.contains_key(&it)));
            let waits =
                loads.iter().any(|(arr, _)| source(arr).is_some_and(|it| late.contains(&it)));
            let Some(at) = number(def) else {
                let reads = loads.iter().any(|(arr, at)| self.time_of(*arr, at).is_some());
                if reads {
                    self.check_outside(def, &mut found)?;
                }
                if reads || derived {
                    found.outside.insert(def, waits);
                }
                if waits {
                    late.insert(def);
                }
                continue;
            };
            let apart = self.check_member(at, &mut found)?;
            let member = &mut found.members[at];
            member.late = member.role == Role::Backward || waits || derived || apart;
            if member.late {
                late.insert(def);
                if member.role == Role::Forward {
                    return Err(Refusal::Why("a recurrence that runs forward waits for it"));
                }
            }
        }
        for sum in &mut found.sums {
            let loads = self.points.loads(&[sum.node]);
            sum.late = loads
                .iter()
                .any(|(arr, _)| self.points.def_of(*arr).is_some_and(|it| late.contains(&it)));
        }
        if !found.members.iter().any(|member| member.role == Role::Forward) {
            return Err(Refusal::Why("it is an output, or there is none to read"));
        }
        match found.reads_single_too_early() {
            true => Err(Refusal::Why("a single step of its history is read before it is there")),
            false => Ok(found),
        }
    }

    fn member(&self, def: usize, axis: usize) -> Result<Member, Refusal> {
        let arr = self.points.defs[def].arr;
        let role = ordered(self.points, def).map_or(Role::Plain, |(_, role)| role);
        let wanted = self.wanted.contains(&arr);
        if wanted && role != Role::Plain {
            return Err(Refusal::Why("a recurrence that runs back is an output"));
        }
        for clause in self.clauses(def) {
            for slot in &clause.slots {
                let constant = |node| self.points.as_int(node).is_some();
                if !constant(slot.lo)
                    || !constant(slot.hi)
                    || self.points.ixs[slot.ix].bounds.is_some()
                {
                    return Err(self.without(def, "the bounds of an index depend on others"));
                }
            }
        }
        let roots = self.points.roots(&self.points.defs[def]);
        let traps = roots.iter().any(|root| self.points.nodes[*root].traps);
        Ok(Member { def, arr, axis, role, late: false, wanted, traps })
    }

    /// A refusal of a member that need not be one, or of the sweep.
    pub(super) fn without(&self, def: usize, why: Why) -> Refusal {
        if self.is_alone(def) { Refusal::Without(def) } else { Refusal::Why(why) }
    }

    /// Whether a definition reads no member.
    fn is_alone(&self, def: usize) -> bool {
        let roots = self.points.roots(&self.points.defs[def]);
        self.points.loads(&roots).iter().all(|(arr, at)| self.time_of(*arr, at).is_none())
    }

    /// Notes the reads of a member; whether single steps are among them.
    fn check_member(&self, number: usize, found: &mut Found) -> Result<bool, Refusal> {
        let Member { def, axis, .. } = found.members[number];
        for clause in self.clauses(def) {
            let time = clause.slots[axis].ix;
            for (arr, at) in self.points.loads(&clause_roots(&clause)) {
                let reader = Reader::Member(number);
                self.check_read(&(arr, at), time, reader, found)?;
            }
        }
        Ok(found.inner_singles.iter().any(|(reader, _)| *reader == Reader::Member(number)))
    }

    /// Notes a read, if it is one of a member.
    pub(super) fn check_read(
        &self,
        (arr, at): &(Arr, Box<[Node]>),
        time: Ix,
        reader: Reader,
        found: &mut Found,
    ) -> Result<(), Refusal> {
        let Some(node) = self.time_of(*arr, at) else { return Ok(()) };
        let Some(member) = found.members.iter().position(|member| member.arr == *arr) else {
            return Ok(());
        };
        let def = found.members[member].def;
        let own = reader == Reader::Member(member);
        match self.at(node, time) {
            At::Offset(offset) if offset.abs() <= FARTHEST => {
                found.reads.push(Read { reader, member, offset });
                Ok(())
            }
            At::Step(step) if !own && !self.is_alone(def) => {
                found.singles.insert((member, step));
                found.inner_singles.push((reader, member));
                Ok(())
            }
            At::Offset(_) | At::Step(_) | At::Other => {
                Err(self.without(def, "its history is read at steps that are not near"))
            }
        }
    }
}

/// What all steps of a member take, in bytes.
pub(super) fn bytes(points: &Points, member: &Member) -> u64 {
    let info = &points.arrs[member.arr];
    info.shape.iter().product::<i64>() as u64 * info.ty.size_bytes() as u64
}

/// The nodes of a clause that compute.
pub(super) fn clause_roots(clause: &Clause) -> Vec<Node> {
    [clause.value].into_iter().chain(clause.guard).chain(clause.otherwise).collect()
}
