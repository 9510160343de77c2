//! Indexed definitions.

mod apart;
mod around;
mod flat;
mod later;
mod narrow;
mod positions;
mod reduce;
pub(crate) mod stored;
mod sums;
mod until;
mod within;

pub(crate) use within::Within;

use super::array::{Array, ArrayKind};
use super::extent::{Extent, countable};
use super::{Flat, Flatten, Val, again, declined, element_type, oblige, steps};
use crate::points::subst::in_loops;
use crate::points::{Body, Clause, Ix, Kind, Node, Points, Slot, Subst};
use ein_base::{Span, Symbol};
use ein_ir::tensor::{Binder, Clause as IrClause, ClauseSlot, Expr, Item, Tensor};
use ein_scalar::{BinaryOp, ScalarType, UnaryOp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The most reductions that a step of a recurrence may be made of; the schedule stores so many.
pub(crate) const MAX_PARTS: usize = 96;

/// Cells of so many operations are stored, if they are many: what reads them decides whether they are
/// computed there ([`crate::schedule`]), wherever in the program they were defined.
const DEAR: f64 = 16.0;

/// A stated extent, and how far the clauses reach.
type Stated = (Option<Extent>, i64);

/// What has to be put back when a loop is left.
struct Scope {
    loops: usize,
    when: Option<Node>,
    obliged: usize,
}

impl<'p> Flatten<'p> {
    fn enter(&self) -> Scope {
        Scope { loops: self.loops.len(), when: self.when, obliged: self.obliged.len() }
    }

    fn leave(&mut self, scope: &Scope) {
        self.loops.truncate(scope.loops);
        self.when = scope.when;
    }

    /// An indexed definition.
    pub(crate) fn tensor(&mut self, tensor: &'p Tensor, e: &'p Expr) -> Flat<Val> {
        for require in &tensor.requires {
            self.require(require)?;
        }
        let ty = element_type(&e.ty, e.span)?;
        if tensor.self_var.is_some() {
            return self.recurrence(tensor, e, ty);
        }
        let mut shape = self.stated_shape(tensor, e.span)?;
        let mut clauses = Vec::new();
        let mut inner = None;
        for clause in &tensor.clauses {
            clauses.extend(self.clause(clause, &[], &mut shape, &mut inner)?);
        }
        let shape = self.whole_shape(tensor, shape, inner, e)?;
        self.not_too_large(e.span)?;
        self.place(tensor.name, ty, shape, clauses, e.span)
    }

    /// Decides where the cells of a definition without self-reads live.
    pub(crate) fn place(
        &mut self,
        name: Option<Symbol>,
        ty: ScalarType,
        shape: Vec<Extent>,
        clauses: Vec<Clause>,
        span: Span,
    ) -> Flat<Val> {
        let rank = shape.len();
        if self.loops.is_empty() {
            if let Some((extents, clause)) = flat::unfolded(&mut self.points, &shape, &clauses) {
                let fixed = extents.iter().map(|extent| Extent::fixed(*extent)).collect();
                let body = Body::Clauses(vec![clause], None);
                let arr = self.define(name, ty, extents, span, body);
                let kind = ArrayKind::Stored(arr, Vec::new());
                let kind = ArrayKind::Reshape(Rc::new(Array { ty, shape: fixed, kind }));
                return Ok(Val::Array(Rc::new(Array { ty, shape, kind })));
            }
            let row = self.constant_row(ty, &shape, &clauses);
            let body = Body::Clauses(clauses, None);
            let extents = self.room(&shape, span)?;
            let arr = self.define(name, ty, extents, span, body);
            self.points.rows.extend(row.map(|row| (arr, row)));
            let kind = ArrayKind::Stored(arr, Vec::new());
            return Ok(Val::Array(Rc::new(Array { ty, shape, kind })));
        }
        let around = self.indices_around(&clauses);
        let mut nodes = clauses.iter().flat_map(nodes_of);
        let reduces = nodes.clone().any(|node| self.points.nodes[node].reduces);
        let dear = nodes.clone().any(|node| self.points.nodes[node].cost >= DEAR);
        let traps = nodes.any(|node| self.points.nodes[node].traps);
        let all = |extents: &mut dyn Iterator<Item = i64>| extents.fold(1, i64::saturating_mul);
        let whole = all(&mut around.iter().map(|ix| (self.points.ixs[*ix].range.1 + 1) as i64));
        let cells = all(&mut shape.iter().map(|extent| extent.first));
        // Positions are those of the loops, so none of them may be before the first cell.
        let starts = around.iter().all(|ix| self.points.ixs[*ix].range.0 >= 0);
        let fits = starts && whole.saturating_mul(cells) <= 1 << 24;
        if (reduces || traps || dear) && rank > 0 && fits && !self.reads_pending(&clauses) {
            return Ok(self.lift(name, ty, shape, clauses, &around, span));
        }
        if (reduces || traps || dear)
            && let Some(part) = again::part_of_turn(self, name, ty, &shape, &clauses)
        {
            return Ok(part);
        }
        let mut number = None;
        if self.reads_pending(&clauses)
            && stored::may_be_stored(self, ty, &shape, &clauses, &around)
        {
            let (met, asked) = self.stored.meets(stored::met(self, &shape, &clauses));
            if asked {
                return Ok(stored::in_step(self, name, (ty, shape), clauses, &around, span));
            }
            number = Some(met);
        }
        if traps && !oblige::is_obliged(self, &clauses) {
            oblige::oblige_cells(self, &clauses);
        }
        let kind = ArrayKind::Clauses(Rc::new(clauses), number);
        Ok(Val::Array(Rc::new(Array { ty, shape, kind })))
    }

    /// The indices of loops around that clauses depend on.
    fn indices_around(&self, clauses: &[Clause]) -> Vec<Ix> {
        let mut used = Vec::new();
        for clause in clauses {
            let bounds = clause.slots.iter().flat_map(|slot| [slot.lo, slot.hi]);
            let nodes = bounds.chain([clause.value]).chain(clause.guard).chain(clause.otherwise);
            for node in nodes {
                used.extend(self.points.nodes[node].free.iter().copied());
            }
        }
        self.loops.iter().copied().filter(|ix| used.contains(ix)).collect()
    }

    fn reads_pending(&self, clauses: &[Clause]) -> bool {
        let roots: Vec<Node> = clauses.iter().flat_map(nodes_of).collect();
        self.points.loads(&roots).iter().any(|(arr, _)| self.pending.contains(arr))
    }

    /// A definition inside loops becomes one over their indices as well.
    fn lift(
        &mut self,
        name: Option<Symbol>,
        ty: ScalarType,
        shape: Vec<Extent>,
        mut clauses: Vec<Clause>,
        around: &[Ix],
        span: Span,
    ) -> Val {
        let leading = leading_cells(self, around, &mut clauses);
        for clause in &mut clauses {
            clause.slots.splice(0..0, leading.iter().copied());
        }
        let ranges = around.iter().map(|ix| (self.points.ixs[*ix].range.1 + 1) as i64);
        let whole: Vec<i64> = ranges.chain(shape.iter().map(|extent| extent.first)).collect();
        let body = Body::Clauses(clauses, None);
        let arr = self.define(name, ty, whole, span, body);
        let at: Vec<Node> = around.iter().map(|ix| self.points.index(*ix)).collect();
        Val::Array(Rc::new(Array { ty, shape, kind: ArrayKind::Stored(arr, at) }))
    }

    /// The slot of an index over all its range.
    fn slot_of(&mut self, ix: Ix) -> Slot {
        let (lo, hi) = self.points.ixs[ix].range;
        Slot { ix, lo: self.points.int(lo as i64), hi: self.points.int(hi as i64 + 1) }
    }

    /// The extents that are stated; `None` where the clauses tell.
    fn stated_shape(&mut self, tensor: &Tensor, span: Span) -> Flat<Vec<Stated>> {
        let mut shape = Vec::new();
        for size in &tensor.shape {
            shape.push(match size {
                Some(size) => (Some(self.extent(size, span)?), 0),
                None => (None, 0),
            });
        }
        Ok(shape)
    }

    fn whole_shape(
        &mut self,
        tensor: &Tensor,
        outer: Vec<Stated>,
        inner: Option<Vec<Extent>>,
        e: &Expr,
    ) -> Flat<Vec<Extent>> {
        let mut shape: Vec<Extent> =
            outer.into_iter().map(|(stated, seen)| stated.unwrap_or(Extent::fixed(seen))).collect();
        if tensor.inner_rank > 0 {
            match inner {
                Some(inner) if inner.len() == tensor.inner_rank => shape.extend(inner),
                _ => return Err(declined("rows of unknown shape", e.span)),
            }
        }
        countable(&shape, e.span)?;
        Ok(shape)
    }

    /// A recurrence: its clauses read the array that they define.
    fn recurrence(&mut self, tensor: &'p Tensor, e: &'p Expr, ty: ScalarType) -> Flat<Val> {
        let (Some(var), Some(recurrence)) = (tensor.self_var, &tensor.recurrence) else {
            return Err(declined("a definition that reads itself in an unknown order", e.span));
        };
        let mut steps = steps(recurrence);
        let until = tensor.clauses.iter().find(|clause| clause.until.is_some());
        let mut shape = Vec::new();
        for (at, axis) in e.ty.axes().iter().enumerate() {
            // How many steps there are at most is what the definition says, not its type.
            let stated = tensor.shape.get(at).and_then(Option::as_ref);
            shape.push(self.extent(stated.unwrap_or(&axis.size), e.span)?);
        }
        if shape.len() != tensor.shape.len() + tensor.inner_rank {
            return Err(declined("a recurrence of unknown shape", e.span));
        }
        if until.is_none() {
            countable(&shape, e.span)?;
        }
        let body = Body::Clauses(Vec::new(), None);
        let room = self.room(&shape, e.span)?;
        let made = steps.first().and_then(|step| shape[step.axis].counted);
        let mut cells = room.clone();
        if let (Some(step), true) = (steps.first(), until.is_some() || made.is_some()) {
            // Mostly a window of the steps is kept.
            cells[step.axis] = 1;
        }
        let around = self.loops_of(e)?;
        let inside = self.within.len();
        let (leading, at_around) = self.leading(&around);
        let extents = leading.iter().map(|slot| self.points.ixs[slot.ix].range.1 as i64 + 1);
        let whole = extents.chain(room).collect();
        let arr = self.define(tensor.name, ty, whole, e.span, body);
        let kind = ArrayKind::Stored(arr, at_around);
        let mut array = Array { ty, shape: shape.clone(), kind };
        self.bind(var, Val::Array(Rc::new(array.clone())));
        self.pending.insert(arr);
        let at = self.points.defs.len();
        let outside = std::mem::replace(&mut self.made, made);
        let mut outer: Vec<Stated> =
            shape[..tensor.shape.len()].iter().map(|extent| (Some(*extent), 0)).collect();
        let mut inner = (tensor.inner_rank > 0).then(|| shape[tensor.shape.len()..].to_vec());
        let mut clauses = Vec::new();
        let square = square_axes(tensor, &steps);
        for clause in &tensor.clauses {
            let before = self.within.len();
            let loops = self.loops.len();
            if loops == 0 && reads(clause, var) {
                // A clause at one point has no loops of its own, and yet what it computes from earlier
                // points cannot be computed before all of them: as in a loop of one turn.
                let once = self.points.fresh(Symbol::intern("once"), (0, 0));
                self.loops.push(once);
            }
            clauses.extend(self.clause(clause, &square, &mut outer, &mut inner)?);
            self.loops.truncate(loops);
            let last = clauses.len().saturating_sub(1);
            self.within[before..].iter_mut().for_each(|it| it.stands_in(last));
        }
        self.made = outside;
        let within = self.within.len();
        let ends = match (until, made) {
            (Some(clause), _) => Some(self.ends(clause, (arr, &around), &steps, e)?),
            (None, Some(count)) => Some(self.as_many(count, &around, e)?),
            (None, None) => None,
        };
        if self.within.len() > within {
            // The condition is no step of a clause.
            return Err(declined("a recurrence inside a step of another one", e.span));
        }
        self.pending.remove(&arr);
        for clause in &mut clauses {
            clause.slots.splice(0..0, leading.iter().copied());
        }
        let indices = |clause: &Clause| clause.slots.iter().map(|slot| slot.ix).collect();
        let own: Vec<Vec<Ix>> = clauses.iter().map(indices).collect();
        let inner = self.within.split_off(inside);
        inner.iter().for_each(|it| it.leave(&mut self.pending));
        steps.iter_mut().for_each(|step| step.axis += leading.len());
        let clauses = apart::apart(&mut self.points, clauses);
        self.check_steps(&clauses, &steps, e.span)?;
        if later::reads_later(&self.points, arr, &clauses, &steps, recurrence.adjoint) {
            return Err(declined("a step that reads a clause of later steps", e.span));
        }
        self.not_too_many_parts(&clauses, e.span)?;
        // Definitions made meanwhile do not read this one, so they come first.
        let waits = |def: &crate::points::Def| {
            self.points.loads(&self.points.roots(def)).iter().any(|(read, _)| *read == arr)
        };
        if inner.is_empty() && self.points.defs[at..].iter().any(waits) {
            return Err(declined("a definition that waits for a step", e.span));
        }
        if self.points.defs.len() > at {
            self.move_last(at - 1);
        }
        if let Some(def) = self.points.def_of(arr) {
            self.points.defs[def].adjoint = recurrence.adjoint;
            self.points.defs[def].body = match ends {
                None => Body::Clauses(clauses, Some(steps)),
                Some(mut body) => {
                    (body.clauses, body.steps) = (clauses, steps);
                    if until.is_some() {
                        // What it filled as well was not known when it moved.
                        self.points.arrs[body.last].source = crate::points::Source::Defined(def);
                        array.shape[body.axis() - leading.len()] = self.counted(&body, arr);
                    }
                    Body::Until(body)
                }
            };
        }
        let mut at = Vec::new();
        let mut whole = arr;
        if !inner.is_empty() {
            (whole, at) = within::joined(&mut self.points, arr, &own, &inner, e.span)?;
            let around = around.iter().map(|ix| self.points.index(*ix));
            let kind = ArrayKind::Stored(whole, at.iter().copied().chain(around).collect());
            let held = self.points.arrs[whole].ty;
            array.kind = match held == ty {
                true => kind,
                false => ArrayKind::Cast(Rc::new(Array { ty: held, kind, ..array.clone() })),
            };
        }
        let body = self.points.def_of(whole).map(|def| &self.points.defs[def].body);
        let (clauses, ended) = match body {
            Some(Body::Clauses(clauses, _)) => (clauses.as_slice(), false),
            Some(Body::Until(body)) => (body.clauses.as_slice(), true),
            Some(Body::Scatter(_) | Body::InPlace(_) | Body::Again(_)) | None => (&[][..], false),
        };
        match (self.loops.is_empty() || self.stands_alone(clauses, &around, e)?, ended) {
            (true, _) => around::fits(&self.points, &around, &cells, e)?,
            (false, false) => {
                self.pending.insert(whole);
                self.within.push(Within::new(whole, at.len(), &around));
            }
            (false, true) => {
                let why = "steps that a condition ends, inside a step of a recurrence";
                return Err(declined(why, e.span));
            }
        }
        Ok(Val::Array(Rc::new(array)))
    }

    /// Refuses recurrences whose steps are not the same for all cells, or whose clauses overlap.
    fn check_steps(
        &self,
        clauses: &[Clause],
        steps: &[crate::points::Step],
        span: Span,
    ) -> Flat<()> {
        let constant = |clause: &Clause| {
            steps.iter().all(|step| {
                let slot = clause.slots[step.axis];
                self.points.as_int(slot.lo).is_some() && self.points.as_int(slot.hi).is_some()
            })
        };
        if !clauses.iter().all(constant) {
            return Err(declined("a recurrence with dependent steps", span));
        }
        let overlap = (0..clauses.len()).any(|at| {
            clauses[at + 1..].iter().any(|other| apart::meet(&self.points, &clauses[at], other))
        });
        if overlap {
            return Err(declined("a recurrence whose clauses overlap", span));
        }
        Ok(())
    }

    /// Refuses steps that are made of more reductions than can be stored apart: what is not stored
    /// is computed again wherever it is read, and that grows with the power of how deep they nest.
    fn not_too_many_parts(&self, clauses: &[Clause], span: Span) -> Flat<()> {
        let many = clauses.iter().any(|clause| {
            let below = self.points.below(&[clause.value]);
            let is_reduction =
                |node: &&Node| matches!(self.points.nodes[**node].kind, Kind::Reduce(_));
            below.iter().filter(is_reduction).count() > MAX_PARTS
        });
        match many {
            true => Err(declined("a step of many reductions", span)),
            false => Ok(()),
        }
    }

    /// Moves a definition behind all others.
    pub(crate) fn move_last(&mut self, def: usize) {
        let moved = self.points.defs.remove(def);
        self.points.defs.push(moved);
        self.points.renumber();
    }

    /// A clause; none if it covers nothing. Widens `shape` where no extent is stated. Its bounds are
    /// constants on the axes that are to be `square`.
    fn clause(
        &mut self,
        clause: &'p IrClause,
        square: &[usize],
        shape: &mut [Stated],
        inner: &mut Option<Vec<Extent>>,
    ) -> Flat<Option<Clause>> {
        let scope = self.enter();
        let mut result = self.clause_in_scope(clause, square, shape, inner);
        if let Ok(Some(clause)) = &mut result {
            let bounds = clause.slots.iter().flat_map(|slot| [slot.lo, slot.hi]);
            let others = bounds.chain([clause.value]).chain(clause.guard).chain(clause.otherwise);
            let others: Vec<Node> = others.collect();
            // The axes of a row are loops of its cells as those of the clause are.
            let rows: Vec<Ix> = clause.slots.iter().map(|slot| slot.ix).collect();
            let rows: Vec<Ix> = rows.into_iter().filter(|ix| !self.loops.contains(ix)).collect();
            self.loops.extend(rows);
            // A condition is asked for all cells.
            let asked = clause.guard.as_mut().unwrap_or(&mut clause.value);
            *asked = self.discharge(scope.obliged, *asked, &others);
        }
        self.leave(&scope);
        result
    }

    fn clause_in_scope(
        &mut self,
        clause: &'p IrClause,
        square: &[usize],
        shape: &mut [Stated],
        inner: &mut Option<Vec<Extent>>,
    ) -> Flat<Option<Clause>> {
        let mut slots = Vec::new();
        // Where a cell is, if the domains of the steps depend on each other.
        let mut within = None;
        for (axis, (slot, (stated, seen))) in clause.slots.iter().zip(shape).enumerate() {
            let slot = match slot {
                ClauseSlot::Point(at) => point(&mut self.points, *at),
                ClauseSlot::Loop(binder) => match self.open(binder)? {
                    Some((ix, lo, hi)) if square.contains(&axis) => {
                        self.squared(binder, Slot { ix, lo, hi }, &mut within)
                    }
                    Some((ix, lo, hi)) => Slot { ix, lo, hi },
                    None => return Ok(None),
                },
            };
            let (first, last) = self.points.ixs[slot.ix].range;
            *seen = (*seen).max(last as i64 + 1);
            if first < 0 || self.reaches_beyond(slot, last, *stated, clause.span)? {
                return Err(declined("a clause outside its definition", clause.span));
            }
            slots.push(slot);
        }
        self.when = self.points.both(self.when, within);
        let outside = self.when;
        let guard = self.items(&clause.items)?;
        let value = self.expr(&clause.value)?;
        let otherwise = match (&clause.otherwise, guard) {
            (Some(otherwise), Some(guard)) => {
                // What the guards allow is not where the other value is asked for: a failure of it
                // counts wherever one of them fails.
                let not = self.points.unary(ein_scalar::UnaryOp::Not, guard, None);
                self.when = self.points.both(outside, Some(not));
                Some(self.expr(otherwise)?)
            }
            _ => None,
        };
        let (value, otherwise) = match value {
            Val::Scalar(value) if inner.is_none() => {
                let otherwise =
                    otherwise.map(|value| self.number(value, clause.span)).transpose()?;
                let under = guard.zip(otherwise);
                (value, under.map(|(guard, side)| self.points.assuming(guard, false, side)))
            }
            value => {
                let array = self.array(value, clause.span)?;
                if inner.as_ref().is_some_and(|inner| *inner != array.shape) {
                    return Err(declined("rows of different shapes", clause.span));
                }
                *inner = Some(array.shape.clone());
                let rest: Vec<Slot> =
                    array.shape.iter().map(|extent| self.whole_axis(*extent, "e")).collect();
                let at: Vec<Node> = rest.iter().map(|slot| self.points.index(slot.ix)).collect();
                slots.extend(rest);
                let element = self.element(&array, &at);
                let otherwise = match otherwise {
                    Some(otherwise) => {
                        let otherwise = self.array(otherwise, clause.span)?;
                        Some(self.element(&otherwise, &at))
                    }
                    None => None,
                };
                (element, otherwise)
            }
        };
        let clause = Clause { slots, guard, value, otherwise };
        Ok(Some(match within {
            None => clause,
            Some(within) => self.only_within(clause, within),
        }))
    }

    /// A step over all positions that it can have, where its domain depends on those around it;
    /// `within` says which of them it has.
    fn squared(&mut self, binder: &'p Binder, slot: Slot, within: &mut Option<Node>) -> Slot {
        let constant = |node: Node| self.points.as_int(node).is_some();
        if constant(slot.lo) && constant(slot.hi) {
            return slot;
        }
        // Steps of which there are as many as of others end there by themselves.
        let made = constant(slot.lo) && self.made == Some(slot.hi);
        let (first, last) = self.points.ixs[slot.ix].range;
        let ix = self.points.fresh(self.points.ixs[slot.ix].name, (first, last));
        let place = self.points.index(ix);
        if let Some(around) = self.loops.last_mut() {
            *around = ix;
        }
        self.bind(binder.var, Val::Scalar(place));
        let (lo, hi) = (self.points.int(first as i64), self.points.int(last as i64 + 1));
        if made {
            return Slot { ix, lo, hi };
        }
        let above = self.points.binary(BinaryOp::Ge, place, slot.lo, None);
        let below = self.points.binary(BinaryOp::Lt, place, slot.hi, None);
        *within = self.points.both(*within, Some(above));
        *within = self.points.both(*within, Some(below));
        Slot { ix, lo, hi }
    }

    /// A clause whose cells are zero where a condition fails.
    fn only_within(&mut self, clause: Clause, within: Node) -> Clause {
        let mut value = match (clause.guard, clause.otherwise) {
            (Some(guard), Some(otherwise)) => self.points.select(guard, clause.value, otherwise),
            _ => clause.value,
        };
        let mut guard = match clause.otherwise {
            Some(_) => Some(within),
            None => self.points.both(Some(within), clause.guard),
        };
        // Where the value is zero as well the condition may fail.
        while let Kind::Select(cond, a, b) = self.points.nodes[value].kind
            && !self.points.nodes[cond].traps
        {
            let (left, kept) =
                match (apart::is_zero(&self.points, a), apart::is_zero(&self.points, b)) {
                    (true, _) => (self.points.unary(UnaryOp::Not, cond, None), b),
                    (false, true) => (cond, a),
                    (false, false) => break,
                };
            guard = self.points.both(guard, Some(left));
            value = kept;
        }
        Clause { slots: clause.slots, guard, value, otherwise: None }
    }

    /// Whether a clause may cover positions outside of a stated extent.
    fn reaches_beyond(
        &mut self,
        slot: Slot,
        last: i128,
        stated: Option<Extent>,
        span: Span,
    ) -> Flat<bool> {
        let Some(stated) = stated else {
            // What the clause covers is the extent, so it may not change.
            return Ok(!self.loops.is_empty() && self.shrinks(slot.hi));
        };
        if let Some(extent) = stated.constant() {
            return Ok(last >= i128::from(extent));
        }
        if let Some(node) = stated.counted {
            let least = self.points.nodes[node].range.map_or(0, |(least, _)| least);
            let whole = slot.hi == node || self.made == Some(node);
            return Ok(!whole && last >= least);
        }
        let end = self.as_extent(slot.hi, span)?;
        Ok(self.span_of(stated.minus(end)).0 < 0)
    }

    /// Whether a node depends on the depth of a recursion.
    fn shrinks(&self, node: Node) -> bool {
        self.descent.as_ref().is_some_and(|descent| self.points.depends(node, descent.step))
    }

    /// Binds an index variable; none if its domain is empty.
    pub(crate) fn open(&mut self, binder: &'p Binder) -> Flat<Option<(Ix, Node, Node)>> {
        let obliged = self.obliged.len();
        let lo = self.scalar(&binder.lo)?;
        let hi = self.scalar(&binder.hi)?;
        let (lo, hi) = (self.bound(lo, &binder.lo)?, self.bound(hi, &binder.hi)?);
        // What bounds compute beside themselves is computed where there is nothing between them, too.
        let lo = self.discharge(obliged, lo, &[hi]);
        let (Some((first, _)), Some((_, end))) =
            (self.points.nodes[lo].range, self.points.nodes[hi].range)
        else {
            return Err(declined("a domain that is not made of integers", binder.lo.span));
        };
        if first >= end {
            if self.points.nodes[lo].traps || self.points.nodes[hi].traps {
                return Err(declined("bounds of nothing that may fail", binder.lo.span));
            }
            return Ok(None);
        }
        if first < i128::from(i32::MIN) || end > i128::from(i32::MAX) {
            return Err(declined("a domain of unknown size", binder.lo.span));
        }
        let name = self.name_of(binder.var);
        let ix = self.points.fresh_between(name, (first, end - 1), lo, hi);
        let node = self.points.index(ix);
        self.bind(binder.var, Val::Scalar(node));
        self.loops.push(ix);
        Ok(Some((ix, lo, hi)))
    }

    /// A bound that no loop changes is a constant, and so are the numbers of outside in one that is
    /// made of multiples of an index: how far windows move, and how wide they are.
    fn bound(&mut self, node: Node, e: &Expr) -> Flat<Node> {
        if self.points.as_int(node).is_some() || self.is_counted(node) {
            return Ok(node);
        }
        if !self.points.nodes[node].free.is_empty() {
            let parts = self.points.below(&[node]);
            if !parts.iter().any(|part| self.is_open_multiple(*part)) {
                return Ok(node);
            }
            let mut known = FxHashMap::default();
            for part in parts {
                let Kind::Load(arr, at) = &self.points.nodes[part].kind else { continue };
                let (arr, single) = (*arr, at.is_empty());
                if single
                    && self.points.nodes[part].ty.is_int()
                    && let Some(value) = self.assumed_value(arr)
                {
                    known.insert(part, self.points.constant(value));
                }
            }
            return Ok(match known.is_empty() {
                true => node,
                false => Subst::nodes(known).apply(&mut self.points, node),
            });
        }
        let value = self.constant_int(node, e.span)?;
        Ok(self.points.int(value))
    }

    /// Whether a node is a product of something that loops change and something that is not known.
    fn is_open_multiple(&self, node: Node) -> bool {
        let (Kind::Binary(BinaryOp::Mul, a, b) | Kind::Checked(BinaryOp::Mul, a, b, _)) =
            self.points.nodes[node].kind
        else {
            return false;
        };
        let moves = |node: Node| !self.points.nodes[node].free.is_empty();
        let open = |node: Node| !moves(node) && self.points.as_int(node).is_none();
        moves(a) && open(b) || moves(b) && open(a)
    }

    /// Bindings and guards; what all guards say together. Leaves `when` as they make it.
    pub(crate) fn items(&mut self, items: &'p [Item]) -> Flat<Option<Node>> {
        let mut guard = None;
        for item in items {
            match item {
                Item::Let(var, e) => {
                    let value = self.expr(e)?;
                    self.oblige(&value, e.span)?;
                    self.bind(*var, value);
                }
                Item::Guard(cond) => {
                    let cond = self.scalar(cond)?;
                    guard = self.points.both(guard, Some(cond));
                    self.when = self.points.both(self.when, Some(cond));
                }
            }
        }
        Ok(guard)
    }

    /// Whether a node is a constant truth value.
    pub(crate) fn known_truth(&self, node: Node) -> Option<bool> {
        match self.points.nodes[node].kind {
            Kind::Const(value) => value.as_bool(),
            _ => None,
        }
    }
}

/// The axes of a recurrence on which the bounds of clauses have to be constants: those of its steps,
/// and all of them where several clauses share steps, so that cells of both are told apart.
fn square_axes(tensor: &Tensor, steps: &[crate::points::Step]) -> Vec<usize> {
    let moves = |clause: &&IrClause| {
        steps.iter().all(|step| matches!(clause.slots[step.axis], ClauseSlot::Loop(_)))
    };
    match tensor.clauses.iter().filter(moves).count() {
        0 | 1 => steps.iter().map(|step| step.axis).collect(),
        _ => (0..tensor.shape.len()).collect(),
    }
}

/// Whether a clause reads a variable.
/// What a clause computes, asks and computes otherwise.
fn nodes_of(clause: &Clause) -> impl Iterator<Item = Node> + Clone + use<> {
    [Some(clause.value), clause.guard, clause.otherwise].into_iter().flatten()
}

fn reads(clause: &IrClause, var: ein_ir::tensor::VarId) -> bool {
    let items = clause.items.iter().map(|item| match item {
        Item::Let(_, e) | Item::Guard(e) => e,
    });
    let mut found = FxHashSet::default();
    items
        .chain([&clause.value])
        .chain(&clause.otherwise)
        .for_each(|e| around::mentioned(e, &mut found));
    found.contains(&var)
}

/// The slot of a literal point.
fn point(points: &mut Points, at: i64) -> Slot {
    let range = (i128::from(at), i128::from(at));
    let ix = points.fresh(Symbol::intern("_"), range);
    Slot { ix, lo: points.int(at), hi: points.int(at + 1) }
}

/// The slots of loops around, for clauses of a definition over all of them.
///
/// Where a loop begins or ends depends on others, its whole range has cells that no point asks for.
/// What may fail is not computed there if these loops are all there; otherwise it is, and positions
/// that only the ends of the loop keep inside are held inside.
fn leading_cells(flatten: &mut Flatten<'_>, around: &[Ix], clauses: &mut [Clause]) -> Vec<Slot> {
    let roots: Vec<Node> = clauses.iter().flat_map(nodes_of).collect();
    let traps = roots.iter().any(|node| flatten.points.nodes[*node].traps);
    let mut names = Vec::new();
    let mut slots = Vec::new();
    for (at, ix) in around.iter().enumerate() {
        let info = flatten.points.ixs[*ix].clone();
        let Some((lo, hi)) = info.bounds else {
            slots.push(flatten.slot_of(*ix));
            continue;
        };
        let free = [lo, hi].map(|end| flatten.points.nodes[end].free.clone());
        let mut free = free.iter().flat_map(|it| it.iter());
        if traps && names.is_empty() && free.all(|it| around[..at].contains(it)) {
            slots.push(Slot { ix: *ix, lo, hi });
            continue;
        }
        let whole = flatten.points.fresh(info.name, info.range);
        names.push((*ix, flatten.points.index(whole)));
        slots.push(flatten.slot_of(whole));
    }
    if names.is_empty() {
        return slots;
    }
    for clause in clauses {
        let loops = clause.slots.iter_mut().map(|slot| (&mut slot.ix, &mut slot.lo, &mut slot.hi));
        let mut renamed = in_loops(&mut flatten.points, names.clone(), loops);
        let rest = clause.guard.iter_mut().chain(&mut clause.otherwise);
        for node in rest.chain([&mut clause.value]) {
            *node = renamed.apply(&mut flatten.points, *node);
        }
    }
    slots
}
