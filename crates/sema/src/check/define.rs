//! Indexed definitions: clauses, their layout, shape and type.

use super::reduce::Bound;
use super::{Binding, Cx, IndexId, error};
use crate::hir::{self, ExprId, ExprKind as H, LeftSlotKind, LocalId};
use ein_base::{Code, Name, Span, Symbol};
use ein_ir::size;
use ein_ir::tensor::walk::{each_child_mut, each_in_clause_mut};
use ein_ir::tensor::{
    Axis, Clause, ClauseSlot, Coord, Expr, ExprKind, Item, Require, Tensor, Type, VarId,
};
use std::sync::Arc;

mod element;
mod reads;
mod until;

pub(super) use element::with_scalar;

/// The clauses of a definition, as far as they were checked.
pub(super) type Drafts = Vec<Option<Draft>>;

/// A clause after checking, with the index variables of its slots.
pub(super) struct Draft {
    pub(super) clause: Clause,
    indices: Vec<Option<IndexId>>,
    requires: Vec<Require>,
}

impl Cx<'_> {
    pub(super) fn define(&mut self, definition: &hir::Definition) {
        let local = definition.local;
        let name = self.hir.locals[local].name;
        let clauses = &definition.clauses;
        let extents = self.f.extents.len();
        let span = clauses.iter().map(|clause| clause.span).reduce(Span::to).unwrap_or(name.span);
        let recursive: Vec<bool> =
            clauses.iter().map(|clause| self.reads_any(clause, &[local])).collect();
        if clauses
            .iter()
            .any(|clause| clause.slots.iter().any(|slot| matches!(slot.kind, LeftSlotKind::Error)))
        {
            self.bind_local(local, Expr::error(span));
            return;
        }
        if let Some(d) = self.base_apart(definition, &recursive) {
            self.report_at(d);
            self.bind_local(local, Expr::error(span));
            return;
        }
        let mut drafts: Drafts = clauses.iter().map(|_| None).collect();
        let mut self_var = None;
        if recursive.contains(&true) {
            self_var = Some(self.recurrence(definition, &recursive, &mut drafts));
        } else {
            self.plain_clauses(clauses, &recursive, None, &mut drafts);
        }
        let drafts: Option<Vec<Draft>> = drafts.into_iter().collect();
        let Some(drafts) = drafts else {
            let value = self.broken_definition(definition, span);
            self.bind_local(local, value);
            return;
        };
        if !self.equal_ranks(name.sym, &drafts) {
            self.bind_local(local, Expr::error(span));
            return;
        }
        let mut value = self.finish_definition(name.sym, drafts, self_var, span);
        if let ExprKind::Tensor(tensor) = &mut *value.kind
            && self_var.is_some()
        {
            self.order_recurrence(tensor, name.sym, span);
        }
        let value = self.ended(value);
        let end = self.end_of(&value);
        if end.is_some() {
            self.f.extents.truncate(extents);
        }
        let var = self.bind_local(local, value);
        self.note_end(var, end);
    }

    /// Checks the clauses of a recurrence; gives the variable that they read it by.
    fn recurrence(
        &mut self,
        definition: &hir::Definition,
        recursive: &[bool],
        drafts: &mut Drafts,
    ) -> VarId {
        let clauses = &definition.clauses;
        let before = self.before_trial();
        let number = self.infer_elements(std::slice::from_ref(definition)).pop().flatten();
        // What does not read the tensor itself tells its type; literals take that of the others.
        let literal = number.filter(|_| self.only_literals(clauses, recursive)).map(Type::Scalar);
        let elem = match self.plain_clauses(clauses, recursive, literal.as_ref(), drafts) {
            Some(elem) => elem,
            None => self.guess_element(definition, recursive, number),
        };
        let var = self.recurrent_clauses(definition, recursive, &elem, drafts);
        match self.wider_element(drafts, &elem) {
            // What the steps make is wider than what it begins with.
            Some(wide) => {
                self.take_back_trial(&before);
                self.plain_clauses(clauses, recursive, Some(&wide), drafts);
                self.recurrent_clauses(definition, recursive, &wide, drafts)
            }
            None => var,
        }
    }

    /// Whether a clause reads one of these, or asks for them at its end.
    pub(super) fn reads_any(&self, clause: &hir::Clause, locals: &[LocalId]) -> bool {
        // What ends has an order, whatever it reads.
        clause.until.is_some() || self.mentions(clause.body, locals)
    }

    /// Whether all clauses have as many axes; where there are packs, their slots do not tell.
    fn equal_ranks(&mut self, name: Symbol, drafts: &[Draft]) -> bool {
        let rank = |draft: &Draft| draft.clause.slots.len();
        let first = &drafts[0];
        let Some(other) = drafts.iter().find(|draft| rank(draft) != rank(first)) else {
            return true;
        };
        let (a, b) = (rank(first), rank(other));
        let d = error(
            Code::E0417,
            other.clause.span,
            format!("the clauses of `{name}` have different ranks: {a} and {b}"),
        )
        .here(format!("of rank {b}"))
        .label(first.clause.span, format!("of rank {a}"))
        .help(format!("write all clauses of `{name}` with the same number of indices"));
        self.report_at(d);
        false
    }

    /// What a definition with a mistake in it still says: its layout, and extents where they are
    /// written. Its elements are of no type, so nothing is said of what is done with them.
    fn broken_definition(&mut self, definition: &hir::Definition, span: Span) -> Expr {
        if definition.clauses.iter().any(|clause| clause.slots.iter().any(is_pack)) {
            return Expr::error(span);
        }
        let rank = definition.clauses[0].slots.len();
        let axes: Vec<Axis> = (0..rank).map(|axis| self.self_axis(definition, &[], axis)).collect();
        let array = ein_ir::tensor::ArrayType { elem: Type::Error, axes };
        Expr::new(ExprKind::Error, Type::Array(Arc::new(array)), span)
    }

    /// Checks the clauses that do not read the tensor itself, which are to be of this type; gives the
    /// type of its elements.
    pub(super) fn plain_clauses(
        &mut self,
        clauses: &[hir::Clause],
        recursive: &[bool],
        want: Option<&Type>,
        drafts: &mut Drafts,
    ) -> Option<Type> {
        let mut elem = None;
        for at in self.by_literals(clauses, recursive, false) {
            let draft = self.clause(&clauses[at], want.or(elem.as_ref()), None);
            if let Some(draft) = &draft
                && elem.is_none()
                && !draft.clause.value.ty.has_error()
            {
                elem = Some(draft.clause.value.ty.clone());
            }
            drafts[at] = draft;
        }
        elem
    }

    /// Checks the clauses that read the tensor itself, whose elements have the given type; gives
    /// the variable that they read.
    fn recurrent_clauses(
        &mut self,
        definition: &hir::Definition,
        recursive: &[bool],
        elem: &Type,
        drafts: &mut Drafts,
    ) -> VarId {
        let clauses = &definition.clauses;
        let var = self.self_variable(definition, drafts, elem.clone());
        self.f.env.insert(definition.local, Binding::Var(var));
        for at in self.by_literals(clauses, recursive, true) {
            drafts[at] = self.clause(&clauses[at], Some(elem), Some(var));
        }
        var
    }

    /// The clauses that do (or do not) read the tensor itself, those made of literals last, so that
    /// they take the type of the others.
    pub(super) fn by_literals(
        &self,
        clauses: &[hir::Clause],
        recursive: &[bool],
        which: bool,
    ) -> Vec<usize> {
        let mut order: Vec<usize> =
            (0..clauses.len()).filter(|at| recursive[*at] == which).collect();
        order.sort_by_key(|at| self.literal_class(clauses[*at].body).is_some());
        order
    }

    fn mentions(&self, id: ExprId, locals: &[LocalId]) -> bool {
        if matches!(&self.hir.exprs[id].kind, H::Local(other) if locals.contains(other)) {
            return true;
        }
        let mut found = false;
        crate::visit::each_child(self.hir, id, &mut |child| {
            found = found || self.mentions(child, locals);
        });
        found
    }

    /// What the clauses of a recurrence read: a variable of the type known so far.
    pub(super) fn self_variable(
        &mut self,
        definition: &hir::Definition,
        drafts: &[Option<Draft>],
        elem: Type,
    ) -> VarId {
        let name = self.hir.locals[definition.local].name;
        let rank = drafts
            .iter()
            .flatten()
            .map(|draft| draft.indices.len())
            .next()
            .unwrap_or(definition.clauses[0].slots.len());
        let axes = self.with_reads(drafts.iter().flatten(), |cx| {
            (0..rank).map(|axis| cx.self_axis(definition, drafts, axis)).collect()
        });
        let var = self.new_var(name.sym, name.span, Type::Error);
        let ty = match elem {
            Type::Error => Type::Array(Arc::new(ein_ir::tensor::ArrayType { elem, axes })),
            elem => Type::array(elem, axes),
        };
        self.settle_type(var, ty.clone());
        let ty = self.out.vars[var].ty.clone();
        self.declare_extents(name.sym, name.span, &ty);
        var
    }

    /// One axis of a recurrence before all clauses are known.
    pub(super) fn self_axis(
        &mut self,
        definition: &hir::Definition,
        drafts: &[Option<Draft>],
        axis: usize,
    ) -> Axis {
        let mut size: Option<size::Expr> = None;
        let mut coord: Option<Coord> = None;
        let mut complete = true;
        for draft in drafts.iter().flatten() {
            if let Some(Some(index)) = draft.indices.get(axis) {
                coord = coord.or(Some(self.index_coord(*index)));
            }
            let extent = match draft.clause.slots.get(axis) {
                Some(ClauseSlot::Point(at)) => Some(size::Expr::constant(at + 1)),
                Some(ClauseSlot::Loop(binder)) => {
                    self.to_size(&binder.hi).and_then(|hi| self.largest(&hi))
                }
                None => None,
            };
            size = self.join_extent(size, extent, &mut complete);
        }
        for (at, clause) in definition.clauses.iter().enumerate() {
            if drafts.get(at).is_some_and(Option::is_some) || clause.slots.iter().any(is_pack) {
                continue;
            }
            match clause.slots.get(axis).map(|slot| &slot.kind) {
                Some(LeftSlotKind::Literal(at)) => {
                    let extent = Some(size::Expr::constant(at + 1));
                    size = self.join_extent(size, extent, &mut complete);
                }
                Some(LeftSlotKind::Index(binder)) => {
                    coord = coord.or(Some(Coord {
                        name: binder.name.sym,
                        over: None,
                        contract: false,
                    }));
                    if let Some(hir::Domain::Range { hi, inclusive, .. }) = &binder.domain {
                        let extent = self.quiet_size(*hi, *inclusive);
                        size = self.join_extent(size, extent, &mut complete);
                    }
                }
                Some(LeftSlotKind::Point(point)) => {
                    let extent = self.quiet_size(*point, true);
                    size = self.join_extent(size, extent, &mut complete);
                }
                Some(LeftSlotKind::Error) | None => {}
            }
        }
        let size = match size {
            Some(size) if complete => size,
            _ => self.unknown_size(true),
        };
        Axis { coord, size }
    }

    fn join_extent(
        &self,
        size: Option<size::Expr>,
        extent: Option<size::Expr>,
        complete: &mut bool,
    ) -> Option<size::Expr> {
        match (size, extent) {
            (Some(a), Some(b)) => Some(self.greater(&a, &b)),
            (None, Some(b)) => Some(b),
            (size, None) => {
                *complete = false;
                size
            }
        }
    }

    /// The value of a bound that does not depend on index variables, without reporting anything.
    fn quiet_size(&mut self, id: ExprId, inclusive: bool) -> Option<size::Expr> {
        let reported = self.diagnostics.len();
        let value = self.scoped(|cx| cx.expr(id, Some(&Type::I32)));
        self.take_back(reported);
        let size = self.to_size(&value)?;
        let size = if inclusive { size.offset(1) } else { size };
        self.largest(&size)
    }

    /// Checks one clause.
    pub(super) fn clause(
        &mut self,
        clause: &hir::Clause,
        elem: Option<&Type>,
        self_var: Option<VarId>,
    ) -> Option<Draft> {
        let saved_packs = self.f.packs.clone();
        let facts = self.f.facts.len();
        let extents = self.f.extents.len();
        let packs = clause.slots.iter().filter_map(|slot| match &slot.kind {
            LeftSlotKind::Index(binder) if binder.pack => Some((binder.local, binder.name)),
            _ => None,
        });
        self.solve_packs(packs.collect::<Vec<_>>().into_iter(), &[clause.body]);
        self.f.opens.push(None);
        self.f.loops += 1;
        let mut slots = Vec::new();
        let mut indices = Vec::new();
        for slot in &clause.slots {
            match &slot.kind {
                LeftSlotKind::Index(binder) => {
                    for bound in self.bind_indices(binder) {
                        self.assume_domain(&bound);
                        indices.push(Some(bound.index));
                        slots.push(ClauseSlot::Loop(self.binder(bound)));
                    }
                }
                LeftSlotKind::Literal(at) => {
                    indices.push(None);
                    slots.push(ClauseSlot::Point(*at));
                }
                LeftSlotKind::Point(point) => {
                    indices.push(None);
                    slots.push(self.point_slot(*point, slot.span));
                }
                LeftSlotKind::Error => {}
            }
        }
        let waiting = self.f.computed.len();
        let (items, value, otherwise) = self.clause_body(clause.body, elem);
        let until = clause.until.as_deref().map(|until| Box::new(self.until(until)));
        self.check_waiting(waiting);
        self.f.opens.pop();
        self.f.loops -= 1;
        self.f.packs = saved_packs;
        let broken = value.ty.has_error() && elem.is_some();
        let draft = if value.ty.has_error() && (broken || self_var.is_none()) {
            None
        } else {
            let mut clause = Clause { slots, items, value, otherwise, until, span: clause.span };
            let requires = self.solve_clause(&mut clause, self_var);
            Some(Draft { clause, indices, requires })
        };
        self.f.facts.truncate(facts);
        self.f.extents.truncate(extents);
        draft
    }

    /// A point that a constant expression gives; one that only a size knows is a domain of one
    /// point.
    fn point_slot(&mut self, point: ExprId, span: Span) -> ClauseSlot {
        let value = self.integer(point, "a slot");
        let size = self.to_size(&value);
        if let Some(at) = size.as_ref().and_then(size::Expr::as_constant) {
            return ClauseSlot::Point(at);
        }
        let settled = size.filter(|size| self.unsettled(size).is_none());
        let Some(size) = settled else {
            if !value.ty.has_error() {
                let d =
                    error(Code::E0113, span, "the point that this clause defines is no constant")
                        .here("known only when the program runs")
                        .help("use literals, constants and sizes here, or an index with a domain");
                self.report_at(d);
            }
            return ClauseSlot::Point(0);
        };
        let name = Name { sym: Symbol::intern("$point"), span };
        let index = self.new_index(name, super::Declared::Any);
        let var = self.indices[index].var;
        let (lo, hi) = (Expr::size(size.clone(), span), Expr::size(size.offset(1), span));
        ClauseSlot::Loop(ein_ir::tensor::Binder { var, lo, hi })
    }

    /// Takes an explicit domain for granted in the body.
    fn assume_domain(&mut self, bound: &Bound) {
        if let Some((lo, hi)) = &bound.domain
            && let (Some(lo), Some(hi)) = (self.to_size(lo), self.to_size(hi))
        {
            let atom = self.indices[bound.index].atom;
            self.f.facts.with_range(atom, &lo, &hi);
        }
    }

    /// The body of a clause with its `where`.
    fn clause_body(
        &mut self,
        body: ExprId,
        elem: Option<&Type>,
    ) -> (Vec<Item>, Expr, Option<Expr>) {
        let hir = self.hir;
        match &hir.exprs[body].kind {
            H::Where { body, items, otherwise } => {
                let before = self.f.facts.len();
                let mut items = self.where_items(items);
                let (more, value, inner) = self.clause_body(*body, elem);
                self.f.facts.truncate(before);
                items.extend(more);
                let otherwise = otherwise.map(|id| self.else_value(id, &value));
                (items, value, otherwise.or(inner))
            }
            _ => (Vec::new(), self.scoped(|cx| cx.expr(body, elem)), None),
        }
    }

    /// Puts the clauses together: layout, shape, type and order.
    pub(super) fn finish_definition(
        &mut self,
        name: Symbol,
        drafts: Vec<Draft>,
        self_var: Option<VarId>,
        span: Span,
    ) -> Expr {
        let rank = drafts[0].indices.len();
        let mut drafts = drafts;
        self.widen_clauses(&mut drafts);
        let Some(inner) = self.common_value_type(name, &drafts) else {
            return Expr::error(span);
        };
        for draft in &drafts {
            let coords: Vec<Coord> =
                draft.indices.iter().flatten().map(|index| self.index_coord(*index)).collect();
            if self.carried_twice(&coords, &draft.clause.value) {
                return Expr::error(span);
            }
        }
        let mut axes = Vec::new();
        let mut shape = Vec::new();
        for axis in 0..rank {
            let coord = drafts
                .iter()
                .filter_map(|draft| draft.indices.get(axis).copied().flatten())
                .map(|index| self.index_coord(index))
                .max_by_key(|coord| coord.contract);
            let extent = self.with_reads(drafts.iter(), |cx| cx.axis_extent(&drafts, axis));
            let size = match &extent {
                Some(size) => size.clone(),
                None => self.unknown_size(true),
            };
            axes.push(Axis { coord: coord.filter(|coord| !is_generated(coord.name)), size });
            shape.push(extent);
        }
        let bound: Vec<VarId> = drafts
            .iter()
            .flat_map(|draft| draft.indices.iter().flatten())
            .map(|index| self.indices[*index].var)
            .collect();
        if drafts.iter().any(|draft| self.ragged_cells(Some(name), &draft.clause.value, &bound)) {
            return Expr::error(span);
        }
        let inner = self.forget_vars(inner, &|var| bound.contains(&var));
        let ty = Type::array(inner.clone(), axes);
        let mut requires = Vec::new();
        let mut clauses = Vec::new();
        for draft in drafts {
            requires.extend(draft.requires);
            clauses.push(draft.clause);
        }
        if let Some(self_var) = self_var {
            let old = self.out.vars[self_var].ty.clone();
            for (old, new) in old.axes().iter().zip(ty.axes()) {
                self.f.facts.eq(&old.size, &new.size);
            }
            let settled = self.settle_type(self_var, ty.clone());
            for clause in &mut clauses {
                each_in_clause_mut(clause, &mut |e| retype(e, self_var, &settled));
            }
        }
        let tensor = Tensor {
            name: Some(name),
            self_var,
            shape,
            inner_rank: inner.rank(),
            clauses,
            recurrence: None,
            requires,
        };
        self.check_regions(&tensor, name);
        Expr::new(ExprKind::Tensor(tensor), ty, span)
    }

    /// Widens the values of clauses to the widest of their types.
    fn widen_clauses(&mut self, drafts: &mut [Draft]) {
        let mut values: Vec<Expr> = drafts
            .iter_mut()
            .map(|draft| {
                let span = draft.clause.value.span;
                std::mem::replace(&mut draft.clause.value, Expr::error(span))
            })
            .collect();
        self.widen_all(&mut values);
        for (draft, value) in drafts.iter_mut().zip(values) {
            let clause = &mut draft.clause;
            if let Some(otherwise) = clause.otherwise.take() {
                clause.otherwise = Some(self.scoped_widening(otherwise, &value.ty));
            }
            clause.value = value;
        }
    }

    /// A type of element that the clauses of a recurrence widen theirs to.
    fn wider_element(&self, drafts: &Drafts, elem: &Type) -> Option<Type> {
        let mut wide = elem.clone();
        for draft in drafts.iter().flatten() {
            wide = self.wider_type(&wide, &draft.clause.value.ty)?;
        }
        (!self.same_kind(&wide, elem)).then_some(wide)
    }

    /// The type of the values of all clauses.
    fn common_value_type(&mut self, name: Symbol, drafts: &[Draft]) -> Option<Type> {
        let values: Vec<Expr> = drafts.iter().map(|draft| draft.clause.value.clone()).collect();
        if !self.all_agree_in_layout(&values, &format!("the values of the clauses of `{name}`")) {
            return None;
        }
        let first = &drafts[0].clause.value;
        let mut ty = first.ty.clone();
        for draft in &drafts[1..] {
            let value = &draft.clause.value;
            match self.join_types(&ty, &value.ty) {
                Some(joined) => ty = joined,
                None => {
                    let (a, b) = (self.show(&ty), self.show(&value.ty));
                    let d = error(
                        Code::E0505,
                        value.span,
                        format!("the clauses of `{name}` disagree: `{a}` and `{b}`"),
                    )
                    .here(format!("this is `{b}`"))
                    .label(first.span, format!("this is `{a}`"))
                    .help("give all clauses values of one type");
                    let d = self.numeric_help(d, first, value);
                    self.report_at(d);
                    return None;
                }
            }
        }
        if ty.has_error() { None } else { Some(ty) }
    }

    /// The extent of an axis: one past the largest position that a clause covers; `None` if only
    /// the run knows.
    fn axis_extent(&mut self, drafts: &[Draft], axis: usize) -> Option<size::Expr> {
        let mut extent: Option<size::Expr> = None;
        for draft in drafts {
            let hi = match &draft.clause.slots[axis] {
                ClauseSlot::Point(at) => size::Expr::constant(at + 1),
                ClauseSlot::Loop(binder) => {
                    let hi = self.to_size(&binder.hi)?;
                    self.largest(&hi)?
                }
            };
            extent = Some(match extent {
                None => hi,
                Some(extent) => self.greater(&extent, &hi),
            });
        }
        let extent = extent?;
        if self.non_negative(&extent) {
            Some(extent)
        } else {
            Some(self.greater(&size::Expr::zero(), &extent))
        }
    }

    /// The largest value of a bound over the ranges of the index variables in it.
    pub(super) fn largest(&self, bound: &size::Expr) -> Option<size::Expr> {
        let mut bound = bound.clone();
        for _ in 0..16 {
            let atom = bound.atoms().into_iter().find(|atom| self.index_atoms.contains_key(atom));
            let Some(atom) = atom else { return Some(bound) };
            let (coefficient, rest) = bound.affine_in(atom)?;
            let (lo, hi) = self.ranges.get(&atom)?;
            let extreme = if coefficient > 0 { hi.offset(-1) } else { lo.clone() };
            bound = rest.add(&extreme.scale(coefficient));
        }
        None
    }
}

fn is_pack(slot: &hir::LeftSlot) -> bool {
    matches!(&slot.kind, LeftSlotKind::Index(binder) if binder.pack)
}

/// Names that the compiler made for members of packs, unless they met a coordinate.
fn is_generated(name: Symbol) -> bool {
    name.as_str().contains(['.', '$'])
}

/// Gives reads of the tensor itself its final type.
pub(super) fn retype(e: &mut Expr, var: VarId, ty: &Type) {
    if matches!(&*e.kind, ExprKind::Var(other) if *other == var) {
        e.ty = ty.clone();
    }
    each_child_mut(e, &mut |child| retype(child, var, ty));
}
