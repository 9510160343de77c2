//! The order of a system: the axes along which it runs, and its names within a step.
//!
//! Reads have a distance along each axis, as in a recurrence of one name. The names share axes: the first
//! axis of one and that of another, or, where no order is found so, others of them (`D[j]` runs along the
//! second axis of `L[i, j]`). Axes are taken as there;
//! as soon as the reads that are left lead from name to name without a ring, the names are ordered
//! by them and nothing else is to be done. So within a step the whole of one name comes before the
//! whole of another, and only where that is not possible another axis orders their points. If no axis
//! does, because a name reads its own points of this step (a row of `L` in `L D Lᵀ`) while the others
//! read it whole, the names are ordered first and the points of each by the axes that follow.
//!
//! Refuses (E0605): a ring of reads that no axis breaks.

use super::{Member, early};
use crate::check::causality::{Collector, SelfRead, standings};
use crate::check::paths::Path;
use crate::check::state::{Build, Index, Report};
use crate::check::{causality, error, paths};
use ein_base::{Code, Diagnostic};
use ein_ir::size;
use ein_ir::tensor::{Clause, RecurrenceAxis, Tensor};

/// How a system runs.
pub(super) struct Order {
    pub(super) axes: Vec<RecurrenceAxis>,
    pub(super) lookback: Option<u32>,
    /// The names in the order in which a step computes them.
    pub(super) names: Vec<usize>,
    /// After how many of the axes the names are ordered, if one reads another at the same point of those.
    pub(super) within: Option<usize>,
    /// For each name in the order of the members, the shared axes that its own are.
    pub(super) places: Vec<Vec<usize>>,
}

/// How many ways to share axes are tried.
const WAYS: usize = 64;

/// A read of one name by another.
#[derive(Clone)]
struct Edge {
    from: usize,
    to: usize,
    read: SelfRead,
    /// The point that is being defined.
    point: Vec<size::Expr>,
}

impl Edge {
    /// Measures the distance along the axes that the names share.
    fn place(&mut self, places: &[Vec<usize>], rank: usize) {
        let along = |own: &[size::Expr], places: &[usize], axis: usize| {
            let own = places.iter().position(|place| *place == axis).map(|at| own[at].clone());
            own.unwrap_or(size::Expr::zero())
        };
        let (from, to) = (&places[self.from], &places[self.to]);
        self.read.distance = (0..rank)
            .map(|axis| along(&self.read.at, to, axis).sub(&along(&self.point, from, axis)))
            .collect();
    }
}

/// Finds the order of a system, or says that there is none.
pub(super) fn order_system(
    ix: &mut Index,
    build: &Build,
    report: &mut Report,
    members: &mut Vec<Member>,
) -> Option<Order> {
    let ring = match in_some_way(ix, build, members) {
        Ok(order) => return Some(order),
        Err(ring) => ring?,
    };
    // A name that waits for itself may do so in another clause.
    for at in (0..members.len()).filter(|at| members[*at].tensor.clauses.len() > 1) {
        for clause in 0..members[at].tensor.clauses.len() {
            if let Some(mut apart) = early::with_early(ix, build, members, at, clause)
                && let Ok(order) = in_some_way(ix, build, &mut apart)
            {
                *members = apart;
                return Some(order);
            }
        }
    }
    let d = self::ring(ix, members, &ring);
    report.report_at(d);
    None
}

/// An order in which the names share axes in one of the ways there are, or the reads that no order serves.
fn in_some_way(
    ix: &mut Index,
    build: &Build,
    members: &mut [Member],
) -> Result<Order, Option<Vec<Edge>>> {
    let rank = members.iter().map(|it| it.tensor.shape.len()).max().unwrap_or(0);
    let mut edges = system_reads(ix, build, members, rank).ok_or(None)?;
    let mut first_ring = None;
    for places in ways(ix, members, rank) {
        edges.iter_mut().for_each(|edge| edge.place(&places, rank));
        match order_of(ix, members, &edges, rank) {
            Ok((axes, names, within)) => {
                let reads: Vec<SelfRead> = edges.into_iter().map(|edge| edge.read).collect();
                let lookback = axes.first().and_then(|first| causality::lookback(&reads, *first));
                return Ok(Order { axes, lookback, names, within, places });
            }
            Err(ring) => {
                let ring = || ring.into_iter().cloned().collect::<Vec<Edge>>();
                first_ring.get_or_insert_with(ring);
            }
        }
    }
    Err(first_ring)
}

/// An order for names that share axes, or the reads that no order serves.
fn order_of<'e>(
    ix: &Index,
    members: &[Member],
    edges: &'e [Edge],
    rank: usize,
) -> Result<Run, Vec<&'e Edge>> {
    let all: Vec<&Edge> = edges.iter().collect();
    let count = members.len();
    find(&all, count, rank, false).or_else(|_| {
        // What no clause that reads the system defines is there before the first step.
        let bound: Vec<&Edge> = edges
            .iter()
            .filter(|edge| {
                let target = &members[edge.to];
                let reading =
                    |at: usize| edges.iter().any(|e| e.from == edge.to && e.read.clause == at);
                let clauses: Vec<&Clause> = target
                    .tensor
                    .clauses
                    .iter()
                    .enumerate()
                    .filter(|(at, _)| reading(*at))
                    .map(|(_, clause)| clause)
                    .collect();
                !clauses.iter().all(|clause| causality::is_outside(ix, &edge.read, clause))
            })
            .collect();
        find(&bound, count, rank, false).or_else(|ring| {
            let between = find(&all, count, rank, true);
            between.or_else(|_| find(&bound, count, rank, true)).map_err(|_| ring)
        })
    })
}

/// The ways in which names can share axes, by their positions first. The axes of the first name with the
/// most of them are those that are shared.
fn ways(ix: &Index, members: &[Member], rank: usize) -> Vec<Vec<Vec<usize>>> {
    let widest = members.iter().position(|it| it.tensor.shape.len() == rank);
    let mut ways: Vec<Vec<Vec<usize>>> = vec![Vec::new()];
    for (at, member) in members.iter().enumerate() {
        let mut own = injections(member.tensor.shape.len(), rank);
        own.retain(|places| keeps_domains(ix, &member.tensor, places));
        if Some(at) == widest {
            own.truncate(1);
        }
        let longer = |places: &Vec<usize>| {
            let with =
                |way: &Vec<Vec<usize>>| [way.as_slice(), std::slice::from_ref(places)].concat();
            ways.iter().map(with).collect::<Vec<_>>()
        };
        ways = own.iter().flat_map(longer).take(WAYS).collect();
    }
    ways
}

/// All ways to give each of some axes one of `rank`, in order of the axes.
fn injections(axes: usize, rank: usize) -> Vec<Vec<usize>> {
    let mut ways: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..axes {
        let longer = |way: &Vec<usize>| {
            let free = (0..rank).filter(|axis| !way.contains(axis));
            free.map(|axis| [way.as_slice(), &[axis]].concat()).collect::<Vec<_>>()
        };
        ways = ways.iter().flat_map(longer).take(WAYS).collect();
    }
    ways
}

/// Whether domains that depend on an index still stand behind it.
fn keeps_domains(ix: &Index, tensor: &Tensor, places: &[usize]) -> bool {
    tensor.clauses.iter().all(|clause| {
        clause.indices().all(|(own, binder)| {
            clause.indices().all(|(other, outer)| {
                let mentioned = |end| ix.mentions_index(end, outer.var);
                places[other] < places[own] || !(mentioned(&binder.lo) || mentioned(&binder.hi))
            })
        })
    })
}

/// All reads of names of the system by clauses of the system.
fn system_reads(
    ix: &mut Index,
    build: &Build,
    members: &mut [Member],
    rank: usize,
) -> Option<Vec<Edge>> {
    let targets: Vec<_> =
        members.iter().map(|it| (it.var, it.name, it.tensor.shape.clone())).collect();
    let mut edges = Vec::new();
    for (from, member) in members.iter_mut().enumerate() {
        let mut path = Path::new(ix.f.facts.clone());
        for require in &member.tensor.requires {
            path.facts.eq(&require.left, &require.right);
        }
        for (number, clause) in member.tensor.clauses.iter_mut().enumerate() {
            let mut point = causality::point_of(ix, clause)?;
            point.resize(rank, size::Expr::zero());
            let until = clause.until.take();
            for (to, (var, name, shape)) in targets.iter().enumerate() {
                let mut collector = Collector::new(*var, *name, shape);
                collector.enter(number, point.clone());
                paths::walk::walk_clause(ix, build, clause, &mut path, &mut collector);
                let edge = |read| Edge { from, to, read, point: point.clone() };
                edges.extend(collector.into_reads().into_iter().map(edge));
            }
            clause.until = until;
        }
    }
    Some(edges)
}

fn ring(ix: &Index, members: &[Member], ring: &[Edge]) -> Diagnostic {
    let mut names: Vec<String> = Vec::new();
    for edge in ring {
        let name = format!("`{}`", members[edge.from].name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let point = |edge: &Edge| {
        let member = &members[edge.from];
        causality::explain::show_point(ix, &member.tensor, member.name, edge.read.clause)
    };
    let names = match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.join(""),
    };
    let message = match ring {
        [only] => format!("`{}` waits for `{}`, and that for it", point(only), only.read.text),
        _ => format!("{names} wait for each other"),
    };
    let first = &ring[0];
    let mut d = error(Code::E0605, first.read.span, message).here(format!(
        "`{}` needs `{}`",
        point(first),
        first.read.text
    ));
    for edge in &ring[1..] {
        let text = format!("`{}` needs `{}`", point(edge), edge.read.text);
        d = d.label(edge.read.span, text);
    }
    let steps: Vec<String> =
        ring.iter().map(|edge| format!("`{}` needs `{}`", point(edge), edge.read.text)).collect();
    d.note(format!("the cycle: {}", steps.join(", ")))
        .help("read one of them at an earlier step: `… [t - 1]`")
}

type Run = (Vec<RecurrenceAxis>, Vec<usize>, Option<usize>);

/// An order in which every read is of an earlier point; or a ring of reads. With `between`, names that
/// read only themselves in a ring are ordered as soon as there is a step, and the axes left order the
/// points of each.
fn find<'e>(
    edges: &[&'e Edge],
    members: usize,
    rank: usize,
    between: bool,
) -> Result<Run, Vec<&'e Edge>> {
    let mut open: Vec<(&Edge, size::Facts)> =
        edges.iter().map(|edge| (*edge, edge.read.facts.clone())).collect();
    let mut axes: Vec<RecurrenceAxis> = Vec::new();
    let mut ordered: Option<(Vec<usize>, usize)> = None;
    loop {
        if let Some((names, at)) = ordered.as_ref().filter(|_| open.is_empty()) {
            return Ok((axes, names.clone(), Some(*at)));
        }
        if between && ordered.is_none() && !axes.is_empty() {
            let others = open.iter().filter(|(edge, _)| edge.from != edge.to);
            let links: Vec<(usize, usize)> = others.map(|(e, _)| (e.from, e.to)).collect();
            if let Some(names) = topological(&links, members) {
                open.retain(|(edge, _)| edge.from == edge.to);
                ordered = Some((names, axes.len()));
                continue;
            }
        }
        let links: Vec<(usize, usize)> = open.iter().map(|(e, _)| (e.from, e.to)).collect();
        if let Some(names) = topological(&links, members) {
            // The first axis is what a system runs along, also if the names alone would do.
            if !axes.is_empty() || edges.is_empty() {
                let within = (!links.is_empty()).then_some(axes.len());
                return Ok((axes, names, within));
            }
        }
        let reads: Vec<(&SelfRead, &size::Facts)> =
            open.iter().map(|(edge, facts)| (&edge.read, facts)).collect();
        let Some((step, before)) = standings(&reads, rank, &axes) else {
            if let Some(names) = topological(&links, members) {
                let within = (!links.is_empty()).then_some(axes.len());
                return Ok((axes, names, within));
            }
            let astray = astray(&reads, rank).map(|at| open[at].0);
            let open: Vec<&Edge> = open.into_iter().map(|(edge, _)| edge).collect();
            return Err(match astray {
                Some(edge) if edge.from == edge.to => vec![edge],
                Some(_) | None => ring_of(&open, members),
            });
        };
        let mut left = Vec::new();
        for ((edge, mut facts), before) in open.into_iter().zip(before) {
            if !before {
                facts.eq0(edge.read.distance[step.axis].clone());
                left.push((edge, facts));
            }
        }
        open = left;
        axes.push(step);
    }
}

/// The read that goes the other way along an axis than most do: the one that is in the way.
fn astray(reads: &[(&SelfRead, &size::Facts)], rank: usize) -> Option<usize> {
    let ways: Vec<Option<RecurrenceAxis>> =
        reads.iter().map(|read| standings(&[*read], rank, &[]).map(|(step, _)| step)).collect();
    let opposite =
        |a: &RecurrenceAxis, b: &RecurrenceAxis| a.axis == b.axis && a.backward != b.backward;
    let count = |way: &RecurrenceAxis| ways.iter().flatten().filter(|it| *it == way).count();
    ways.iter().position(|way| {
        way.as_ref().is_some_and(|way| {
            ways.iter().flatten().any(|other| opposite(way, other) && count(other) > count(way))
        })
    })
}

/// The names, each after those that it reads; nothing if they form a ring.
fn topological(links: &[(usize, usize)], members: usize) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < members {
        let ready = (0..members).find(|at| {
            !order.contains(at) && links.iter().all(|(from, to)| from != at || order.contains(to))
        })?;
        order.push(ready);
    }
    Some(order)
}

/// The shortest ring of reads.
fn ring_of<'e>(open: &[&'e Edge], members: usize) -> Vec<&'e Edge> {
    let mut best: Vec<&Edge> = Vec::new();
    for start in 0..members {
        // Breadth first from each name back to itself.
        let mut reached: Vec<Option<&Edge>> = vec![None; members];
        let mut wave = vec![start];
        'search: while !wave.is_empty() {
            let mut next = Vec::new();
            for at in wave {
                for edge in open.iter().filter(|edge| edge.from == at) {
                    if edge.to == start {
                        let mut ring = vec![*edge];
                        let mut back = at;
                        while back != start {
                            let Some(before) = reached[back] else { break };
                            ring.push(before);
                            back = before.from;
                        }
                        ring.reverse();
                        if best.is_empty() || ring.len() < best.len() {
                            best = ring;
                        }
                        break 'search;
                    }
                    if reached[edge.to].is_none() {
                        reached[edge.to] = Some(edge);
                        next.push(edge.to);
                    }
                }
            }
            wave = next;
        }
    }
    if best.is_empty() { open.to_vec() } else { best }
}
