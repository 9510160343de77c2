//! The loops of a group.

use super::{Group, Member, MemberKind};
use crate::points::{Arr, Body, Def, Ix, Node, Slot, Subst};
use crate::schedule::emit::{Emit, Place};
use crate::schedule::home;
use crate::schedule::nest::{Loop, TILE};
use crate::schedule::plan::{Turns, What};
use crate::schedule::tidy::as_contraction;
use ein_base::Symbol;
use ein_ir::loops::{ForKind, Operand, Reg};
use ein_scalar::Scalar;

impl Emit {
    /// Writes the loops of a group.
    pub(crate) fn group(&mut self, group: &Group) {
        self.plan.begin(group.decided(&self.points), group.why.clone());
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
        match group.is_fused() {
            true => {
                self.name_alike(group, &mut defs);
                self.fused(group, &defs);
            }
            false => {
                for (member, def) in group.members.iter().zip(&defs) {
                    member.home.iter().for_each(|home| {
                        home::settle(self, home, None);
                    });
                    self.alone(def);
                }
            }
        }
        self.filled_once(group);
        self.plan.end();
    }

    /// The shared loops, and in them one member after another.
    fn fused(&mut self, group: &Group, defs: &[Def]) {
        let int = |value: i64| Operand::Const(Scalar::I64(value));
        let (last, around) = (group.extents.len() - 1, self.here());
        let mut bounds = None;
        for home in group.members.iter().filter_map(|member| member.home.as_ref()) {
            if !home.is_inside() {
                home::settle(self, home, None);
            }
        }
        for (at, (extent, (how, why))) in group.extents.iter().zip(&group.loops).enumerate() {
            let range = (0, i128::from(extent - 1).max(0));
            let shared = self.points.fresh(Symbol::intern("shared"), range);
            let (zero, end) = (self.points.int(0), self.points.int(*extent));
            let turns = Turns::Exactly(*extent);
            let what = What::Loop { index: Symbol::intern("shared"), turns, how: *how };
            self.plan.note(what, why.clone());
            let kind = how.kind();
            if at == last && group.flat {
                let var = self.open_flat((shared, zero, end), kind);
                for (member, def) in group.members.iter().zip(defs) {
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
            for (member, def) in group.members.iter().zip(defs) {
                self.share(def, member.axes[at], var);
            }
        }
        for (member, def) in group.members.iter().zip(defs) {
            if let Some(home) = member.home.as_ref().filter(|home| home.is_inside()) {
                let here = self.here();
                self.floors.insert(def.arr, here);
                home::settle(self, home, bounds.map(|bounds| bounds.2));
            }
            self.member(group, member, def, bounds.map(|(lo, hi, _)| (lo, hi)));
            if group.flat {
                self.remember_cell(def);
            }
        }
        if group.flat {
            self.close_vector();
        }
        while self.here() > around {
            self.close();
        }
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
            // Indices of its other axes must stay apart from those, and bounds mention their own.
            let bounds = |slot: &Slot| self.points.ixs[slot.ix].bounds.is_some();
            let clashes = clause.slots.iter().any(|slot| names.contains(&slot.ix) || bounds(slot));
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
            self.once.extend(self.places.get(&arr).and_then(Place::buffer));
        }
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
