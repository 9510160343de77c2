//! Replacing index variables by expressions, and reads of arrays by what they read.

use super::{Arr, Clause, Ix, Kind, Node, Points, Range, Reduction, Slot};
use ein_scalar::BinaryOp;
use rustc_hash::FxHashMap;

/// A replacement of index variables, applied to many nodes.
#[derive(Clone, Debug, Default)]
pub struct Subst {
    map: FxHashMap<Ix, Node>,
    /// What a cell of an array is, over these indices.
    cells: FxHashMap<Arr, (Vec<Ix>, Node)>,
    /// What stands for nodes.
    nodes: FxHashMap<Node, Node>,
    /// What is kept of arrays.
    windows: FxHashMap<Arr, Window>,
    /// Whether something was read that no window keeps.
    outside: bool,
    done: FxHashMap<Node, Node>,
}

/// What is kept of an array along one of its axes.
#[derive(Clone, Debug, Default)]
pub struct Window {
    /// The axis.
    pub axis: usize,
    /// An array of some rows, and where in the whole array its first row is.
    pub rows: Option<(Arr, Node)>,
    /// Single rows, by their position; the arrays lack the axis.
    pub single: FxHashMap<i64, Arr>,
}

impl Points {
    /// A clause for some positions along an axis, with indices of its own. No bound of it depends on an
    /// index.
    pub fn restricted(&mut self, clause: &Clause, axis: usize, positions: Range) -> Clause {
        let mut names: Vec<(Ix, Node)> = Vec::new();
        let mut slots = Vec::new();
        for (at, slot) in clause.slots.iter().enumerate() {
            let info = self.ixs[slot.ix].clone();
            let ix = self.fresh(info.name, if at == axis { positions } else { info.range });
            names.push((slot.ix, self.index(ix)));
            let (lo, hi) = match at == axis {
                true => (self.int(positions.0 as i64), self.int(positions.1 as i64 + 1)),
                false => (slot.lo, slot.hi),
            };
            slots.push(Slot { ix, lo, hi });
        }
        let mut renamed = Subst::new(names);
        let guard = clause.guard.map(|guard| renamed.apply(self, guard));
        let value = renamed.apply(self, clause.value);
        let otherwise = clause.otherwise.map(|otherwise| renamed.apply(self, otherwise));
        Clause { slots, guard, value, otherwise }
    }
}

/// Replaces variables in the ends of loops, the outer ones first. A loop whose ends change gets another
/// index: what was inside of an array for the old ones may be outside for the new ones. Gives the
/// replacement for what is in the loops.
pub(crate) fn in_loops<'a>(
    points: &mut Points,
    mut names: Vec<(Ix, Node)>,
    loops: impl IntoIterator<Item = (&'a mut Ix, &'a mut Node, &'a mut Node)>,
) -> Subst {
    for (ix, lo, hi) in loops {
        let mut renamed = Subst::new(names.iter().copied());
        let ends = (renamed.apply(points, *lo), renamed.apply(points, *hi));
        if ends == (*lo, *hi) {
            continue;
        }
        (*lo, *hi) = ends;
        let mut info = points.ixs[*ix].clone();
        if let (Some((first, _)), Some((_, end))) =
            (points.nodes[*lo].range, points.nodes[*hi].range)
        {
            info.range = (first, (end - 1).max(first));
        }
        let fresh = points.fresh_between(info.name, info.range, *lo, *hi);
        names.push((*ix, points.index(fresh)));
        *ix = fresh;
    }
    Subst::new(names)
}

impl Subst {
    /// Replaces one variable.
    pub fn one(ix: Ix, by: Node) -> Subst {
        Subst::new([(ix, by)])
    }

    /// Replaces several variables at once.
    pub fn new(pairs: impl IntoIterator<Item = (Ix, Node)>) -> Subst {
        Subst { map: pairs.into_iter().collect(), ..Subst::default() }
    }

    /// Replaces the reads of arrays by what their cells are.
    pub fn cells(cells: FxHashMap<Arr, (Vec<Ix>, Node)>) -> Subst {
        Subst { cells, ..Subst::default() }
    }

    /// Replaces nodes by others.
    pub fn nodes(nodes: FxHashMap<Node, Node>) -> Subst {
        Subst { nodes, ..Subst::default() }
    }

    /// Replaces variables, and the reads of arrays by reads of what is kept of them.
    pub fn windows(
        pairs: impl IntoIterator<Item = (Ix, Node)>,
        windows: FxHashMap<Arr, Window>,
    ) -> Subst {
        Subst { map: pairs.into_iter().collect(), windows, ..Subst::default() }
    }

    /// Whether something was read that no window keeps; what was made then is of no use.
    pub fn left_a_window(&self) -> bool {
        self.outside
    }

    /// The node with the variables replaced.
    pub fn apply(&mut self, points: &mut Points, node: Node) -> Node {
        let touched = points.nodes[node].free.iter().any(|ix| self.map.contains_key(ix));
        let reads = !(self.cells.is_empty() && self.nodes.is_empty() && self.windows.is_empty());
        if !touched && !reads {
            return node;
        }
        if let Some(done) = self.done.get(&node) {
            return *done;
        }
        let result = match self.nodes.get(&node).copied() {
            // What stands for it may mention indices of reductions around it, which have new names.
            Some(other) => Subst { map: self.map.clone(), ..Subst::default() }.apply(points, other),
            None => self.rebuild(points, node),
        };
        self.done.insert(node, result);
        result
    }

    fn rebuild(&mut self, points: &mut Points, node: Node) -> Node {
        let (kind, ty) = (points.nodes[node].kind.clone(), points.nodes[node].ty);
        let when = |this: &mut Subst, points: &mut Points, when: Option<Node>| {
            when.map(|when| this.apply(points, when))
        };
        match kind {
            Kind::Const(_) => node,
            Kind::Index(ix) => self.map.get(&ix).copied().unwrap_or(node),
            Kind::Load(arr, at) => {
                // What was inside for the old indices may be outside for the new ones; where it is,
                // the value is not used.
                let extents = points.arrs[arr].shape.clone();
                let place = |(at, extent): (&Node, i64)| {
                    let at = self.apply(points, *at);
                    points.position(at, extent, false, None)
                };
                let at: Vec<Node> = at.iter().zip(extents).map(place).collect();
                if let Some(window) = self.windows.get(&arr) {
                    let found = window.read(points, &at);
                    self.outside |= found.is_none();
                    return found.unwrap_or(node);
                }
                // A cell may not mention the position, which then would not be looked at.
                let lost = |(ixs, cell): &(Vec<Ix>, Node), points: &Points| {
                    let mut places = ixs.iter().zip(&at);
                    let free = &points.nodes[*cell].free;
                    places.any(|(ix, at)| points.nodes[*at].traps && !free.contains(ix))
                };
                match self.cells.get(&arr) {
                    Some(it @ (ixs, cell)) if !lost(it, points) => {
                        Subst::new(ixs.iter().copied().zip(at)).apply(points, *cell)
                    }
                    _ => points.load(arr, &at),
                }
            }
            Kind::Clamp { at, extent, traps, when: cond } => {
                let at = self.apply(points, at);
                let cond = when(self, points, cond);
                points.position(at, extent, traps, cond)
            }
            Kind::Unary(op, a) => {
                let a = self.apply(points, a);
                points.unary(op, a, None)
            }
            Kind::Binary(op, a, b) => {
                let (a, b) = (self.apply(points, a), self.apply(points, b));
                points.binary(op, a, b, None)
            }
            Kind::Checked(op, a, b, cond) => {
                let (a, b) = (self.apply(points, a), self.apply(points, b));
                let cond = when(self, points, cond);
                points.binary(op, a, b, cond)
            }
            Kind::Wrapping(op, a, b) => {
                let (a, b) = (self.apply(points, a), self.apply(points, b));
                points.binary(op, a, b, None)
            }
            Kind::Cast(a) => {
                let a = self.apply(points, a);
                points.cast(a, ty)
            }
            Kind::Select(c, a, b) => {
                let c = self.apply(points, c);
                let (a, b) = (self.apply(points, a), self.apply(points, b));
                points.select(c, a, b)
            }
            Kind::Reduce(reduction) => self.reduction(points, *reduction, ty),
        }
    }

    /// Inside a reduction its own indices get new names first, so that no replacement is caught.
    fn reduction(
        &mut self,
        points: &mut Points,
        reduction: Reduction,
        ty: ein_scalar::ScalarType,
    ) -> Node {
        let mut inner = Subst { done: FxHashMap::default(), ..self.clone() };
        let mut binders = Vec::with_capacity(reduction.binders.len());
        for (ix, lo, hi) in reduction.binders {
            let (lo, hi) = (inner.apply(points, lo), inner.apply(points, hi));
            let mut info = points.ixs[ix].clone();
            if let (Some((lo, _)), Some((_, hi))) = (points.nodes[lo].range, points.nodes[hi].range)
            {
                info.range = (lo, (hi - 1).max(lo));
            }
            info.bounds = points.dependent(lo, hi);
            let fresh = points.ixs.push(info);
            let node = points.index(fresh);
            inner.map.insert(ix, node);
            inner.done.clear();
            binders.push((fresh, lo, hi));
        }
        let guard = reduction.guard.map(|guard| inner.apply(points, guard));
        let body = inner.apply(points, reduction.body);
        self.outside |= inner.outside;
        points.reduce(Reduction { op: reduction.op, binders, guard, body }, ty)
    }
}

impl Window {
    /// The element at a position of the whole array, if it is kept.
    fn read(&self, points: &mut Points, at: &[Node]) -> Option<Node> {
        let mut at = at.to_vec();
        if let Some(row) = points.as_int(at[self.axis]).and_then(|row| self.single.get(&row)) {
            at.remove(self.axis);
            return Some(points.load(*row, &at));
        }
        let (arr, origin) = self.rows?;
        let extent = points.arrs[arr].shape[self.axis];
        let from_origin = points.binary(BinaryOp::Sub, at[self.axis], origin, None);
        let place = points.position(from_origin, extent, false, None);
        let clamped =
            matches!(points.nodes[place].kind, Kind::Clamp { at, .. } if at == from_origin);
        if clamped {
            return None;
        }
        at[self.axis] = place;
        Some(points.load(arr, &at))
    }
}
