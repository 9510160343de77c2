//! The loops of a group.

use super::{Group, Member, MemberKind};
use crate::points::{Arr, Body, Def, Ix, Node, Subst};
use crate::schedule::emit::{AxisPlace, Emit, Place, Use};
use crate::schedule::nest::{Loop, TILE};
use crate::schedule::tidy::as_contraction;
use crate::schedule::{def_cost, row_major};
use ein_base::Symbol;
use ein_ir::loops::{BufferKind, ForKind, Operand, Reg};
use ein_scalar::Scalar;
use rustc_hash::FxHashSet;

impl Emit {
    /// Writes the loops of a group.
    pub(crate) fn group(&mut self, group: &Group, wanted: &FxHashSet<Arr>) {
        let defs: Vec<Def> =
            group.members.iter().map(|member| self.points.defs[member.def].clone()).collect();
        // Contractions have their own ways with strides.
        let own: Vec<Arr> = defs.iter().map(|def| def.arr).collect();
        let turned = |emit: &mut Emit, (member, def): (&Member, &Def)| match member.kind {
            MemberKind::Plain => emit.with_turned_reads(def, &own),
            MemberKind::Contraction | MemberKind::Recurrence | MemberKind::Other => def.clone(),
        };
        let mut defs: Vec<Def> =
            group.members.iter().zip(&defs).map(|pair| turned(self, pair)).collect();
        if group.is_fused() {
            self.name_alike(group, &mut defs);
        }
        if !group.is_fused() {
            for def in &defs {
                // States that change until a condition holds find their places by themselves.
                let itself = matches!(def.body, Body::Again(_));
                if !itself && !self.places.contains_key(&def.arr) {
                    self.storage(def);
                }
                self.alone(def);
            }
            return self.filled_once(group);
        }
        let work: f64 = defs.iter().map(|def| def_cost(&self.points, def)).sum();
        let int = |value: i64| Operand::Const(Scalar::I64(value));
        let last = group.extents.len() - 1;
        // Threads share the first loop with more than one turn.
        let across = group.extents.iter().position(|extent| *extent > 1).unwrap_or(0);
        let tile = if last == across { group.tile as f64 } else { 1.0 };
        let first = group.extents[across] as f64 / tile;
        let (flat, around) = (group.is_flat(&self.points), self.here());
        let mut bounds = None;
        let outside: Vec<bool> =
            defs.iter().map(|def| self.read_elsewhere(group, def.arr)).collect();
        for (def, outside) in defs.iter().zip(&outside) {
            if *outside && !wanted.contains(&def.arr) {
                self.storage(def);
            }
        }
        for (at, extent) in group.extents.iter().enumerate() {
            let kind = if at == across && !self.in_parallel && work > self.points.cost.thread_work()
            {
                let each = (work / first.max(1.0)).max(1.0);
                ForKind::Parallel {
                    grain: ((self.points.cost.thread_work() / 2.0 / each).ceil() as i64).max(1),
                }
            } else {
                ForKind::Serial
            };
            let range = (0, i128::from(extent - 1).max(0));
            let shared = self.points.fresh(Symbol::intern("shared"), range);
            let (zero, end) = (self.points.int(0), self.points.int(*extent));
            if at == last && flat {
                let var = self.open_flat((shared, zero, end), kind);
                for (member, def) in group.members.iter().zip(&defs) {
                    self.share(def, member.axes[at], var);
                }
                continue;
            }
            if at == last && group.tile > 1 {
                let (tile, inner) = self.tiles((shared, zero, end), group.tile);
                let (lo, hi) = (self.bound_value(tile.1), self.bound_value(tile.2));
                self.open(tile.0, lo, hi, kind);
                let origin = self.bound_value(inner.1);
                let origin = self.as_register(origin);
                bounds = Some((inner.1, inner.2, origin));
                continue;
            }
            let var = self.open(shared, int(0), int(*extent), kind);
            for (member, def) in group.members.iter().zip(&defs) {
                self.share(def, member.axes[at], var);
            }
        }
        for ((member, def), outside) in group.members.iter().zip(&defs).zip(outside) {
            if !outside && !wanted.contains(&def.arr) {
                self.local(group, member, def, bounds.map(|bounds| bounds.2));
            }
            self.member(group, member, def, bounds.map(|(lo, hi, _)| (lo, hi)));
            if flat {
                self.remember_cell(def);
            }
        }
        if flat {
            self.close_vector();
        }
        while self.here() > around {
            self.close();
        }
        self.filled_once(group);
    }

    /// Gives the shared loops the same indices in all plain members, so that what these have in
    /// common is seen and computed once.
    fn name_alike(&mut self, group: &Group, defs: &mut [Def]) {
        let is_plain = |member: &Member| member.kind == MemberKind::Plain;
        let mut first: Option<Vec<Ix>> = None;
        for (member, def) in group.members.iter().zip(defs).filter(|(member, _)| is_plain(member)) {
            let Body::Clauses(clauses, None) = &mut def.body else { continue };
            let [clause] = clauses.as_mut_slice() else { continue };
            let own: Vec<Ix> = member.axes.iter().map(|axis| clause.slots[*axis].ix).collect();
            let Some(names) = &first else {
                first = Some(own);
                continue;
            };
            let apart = own.iter().zip(names).filter(|(own, name)| own != name);
            let apart: Vec<(Ix, Node)> =
                apart.map(|(own, name)| (*own, self.points.index(*name))).collect();
            // Indices of its other axes must stay apart from those.
            let clashes = clause.slots.iter().any(|slot| names.contains(&slot.ix));
            if apart.is_empty() || clashes {
                continue;
            }
            let mut subst = Subst::new(apart);
            clause.value = subst.apply(&mut self.points, clause.value);
            for (axis, name) in member.axes.iter().zip(names) {
                clause.slots[*axis].ix = *name;
            }
        }
    }

    /// What a plain member has just stored need not be read again in the same turn of the loop.
    fn remember_cell(&mut self, def: &Def) {
        let Body::Clauses(clauses, None) = &def.body else { return };
        let [clause] = clauses.as_slice() else { return };
        let info = &self.points.nodes[clause.value];
        if info.ty != self.points.arrs[def.arr].ty || info.traps {
            return;
        }
        let at: Vec<Node> = clause.slots.iter().map(|slot| self.points.index(slot.ix)).collect();
        let (cell, value) = (self.points.load(def.arr, &at), self.value(clause.value));
        self.remember(cell, value);
    }

    /// Opens a loop in which nothing but values is computed: in tiles, if threads share it.
    fn open_flat(&mut self, (ix, lo, hi): Loop, kind: ForKind) -> Reg {
        let (mut lo, mut hi) = (lo, hi);
        if let ForKind::Parallel { grain } = kind {
            let (tile, inner) = self.tiles((ix, lo, hi), grain.max(TILE));
            let (first, after) = (self.bound_value(tile.1), self.bound_value(tile.2));
            self.open(tile.0, first, after, ForKind::Parallel { grain: 1 });
            (lo, hi) = (inner.1, inner.2);
        }
        let (lo, hi) = (self.bound_value(lo), self.bound_value(hi));
        self.open(ix, lo, hi, ForKind::Vector { reductions: Vec::new() })
    }

    /// Notes the buffers of which a group outside all loops has filled each cell once.
    fn filled_once(&mut self, group: &Group) {
        if self.here() > 0 {
            return;
        }
        for member in group.members.iter().filter(|member| member.kind == MemberKind::Plain) {
            let arr = self.points.defs[member.def].arr;
            if let Some(Place::Buffer(buf, _)) = self.places.get(&arr) {
                self.once.insert(*buf);
            }
        }
    }

    /// Whether a definition outside the group reads an array.
    fn read_elsewhere(&self, group: &Group, arr: Arr) -> bool {
        let inside = |at: usize| group.members.iter().any(|member| member.def == at);
        self.points.defs.iter().enumerate().any(|(at, def)| {
            !inside(at)
                && self.points.loads(&self.points.roots(def)).iter().any(|(other, _)| *other == arr)
        })
    }

    /// Gives an array that only its group reads room for one step of the shared loops.
    fn local(&mut self, group: &Group, member: &Member, def: &Def, origin: Option<Reg>) {
        let info = self.points.arrs[def.arr].clone();
        let here = self.here();
        self.floors.insert(def.arr, here);
        let last = member.axes.last().copied();
        let tiled = |axis: usize| group.tile > 1 && last == Some(axis);
        let ring = self.points.window(def);
        let mut shape = Vec::new();
        for (axis, extent) in info.shape.iter().enumerate() {
            shape.push(match ring {
                Some((ring_axis, steps)) if ring_axis == axis => steps,
                _ if tiled(axis) => group.tile,
                _ if member.axes.contains(&axis) => 1,
                _ => *extent,
            });
        }
        if shape.iter().product::<i64>() == 1 && group.tile == 1 && ring.is_none() {
            self.places.remove(&def.arr);
            return;
        }
        // Short axes go first, so that the tile runs along memory.
        let mut order: Vec<usize> = (0..shape.len()).collect();
        if member.kind == MemberKind::Recurrence {
            order.sort_by_key(|axis| (tiled(*axis), *axis));
        }
        let ordered: Vec<i64> = order.iter().map(|axis| shape[*axis]).collect();
        let mut strides = vec![0; shape.len()];
        for (axis, stride) in order.iter().zip(row_major(&ordered)) {
            strides[*axis] = stride;
        }
        let axes = (0..shape.len())
            .map(|axis| match (ring, origin) {
                (Some((ring_axis, steps)), _) if ring_axis == axis => {
                    AxisPlace::Ring(strides[axis], steps)
                }
                (_, Some(origin)) if tiled(axis) => AxisPlace::From(strides[axis], origin),
                _ if member.axes.contains(&axis) => AxisPlace::Fixed,
                _ => AxisPlace::Strided(strides[axis]),
            })
            .collect();
        let name = info.name.map_or_else(|| "t".to_owned(), |name| name.to_string());
        let len = shape.iter().product();
        let buf = self.buffer(name, info.ty, len, BufferKind::Local, Use::Local);
        self.places.insert(def.arr, Place::Buffer(buf, axes));
    }

    /// One definition at one step of the shared loops.
    fn member(&mut self, group: &Group, member: &Member, def: &Def, bounds: Option<(Node, Node)>) {
        let tile_axis = if bounds.is_some() { member.axes.last().copied() } else { None };
        let shared: Vec<usize> =
            member.axes.iter().copied().filter(|axis| Some(*axis) != tile_axis).collect();
        let tile = match (tile_axis, bounds) {
            (Some(axis), Some((lo, hi))) => Some((axis, lo, hi)),
            _ => None,
        };
        debug_assert!(shared.len() <= group.extents.len(), "an axis for each shared loop");
        match &def.body {
            Body::Clauses(clauses, Some(steps)) => {
                let fixed: Vec<(usize, Option<(Node, Node)>)> = member
                    .axes
                    .iter()
                    .map(|axis| {
                        let tiled = tile.filter(|(tiled, ..)| tiled == axis);
                        (*axis, tiled.map(|(_, lo, hi)| (lo, hi)))
                    })
                    .collect();
                self.recurrence(def.arr, clauses, steps, &fixed);
            }
            Body::Clauses(clauses, None) => {
                if let Some(found) = as_contraction(&self.points, def) {
                    let tile = tile.map(|(axis, lo, hi)| (axis, (found.slots[axis].ix, lo, hi)));
                    return self.contraction(def.arr, &found, tile);
                }
                for clause in clauses {
                    let mut loops = Vec::new();
                    for (axis, slot) in clause.slots.iter().enumerate() {
                        match tile {
                            Some((tiled, lo, hi)) if tiled == axis => loops.push((slot.ix, lo, hi)),
                            _ if shared.contains(&axis) => {}
                            _ => loops.push((slot.ix, slot.lo, slot.hi)),
                        }
                    }
                    let cell = self.cell(clause, def.arr);
                    self.nest(def.arr, loops, vec![cell]);
                }
            }
            Body::Scatter(_) | Body::InPlace(_) | Body::Until(_) | Body::Again(_) => {
                self.alone(def);
            }
        }
    }

    /// Makes the index of an axis of a definition the counter of a shared loop.
    fn share(&mut self, def: &Def, axis: usize, var: Reg) {
        if let Body::Clauses(clauses, _) = &def.body {
            for clause in clauses {
                self.alias(clause.slots[axis].ix, var);
            }
        }
    }
}
