//! Indexed definitions that do not read themselves, and what all definitions share: the shape, the
//! cells, the value of a clause at a point.

use ein_base::{Code, Span, Symbol};
use ein_ir::tensor::{AtomDef, Binder, Clause, ClauseSlot, Expr, ExprKind, Tensor, Type, VarId};
use ein_scalar::ScalarType;

use crate::accelerate::Answer;
use crate::array::{Cells, count};
use crate::machine::Machine;
use crate::parts::{Way, fill_in_parts};
use crate::stop::{MarkKind, Stop, show_shape};
use crate::value::Value;

/// A definition being filled.
pub(crate) struct Build<'p> {
    pub(crate) name: Option<Symbol>,
    pub(crate) span: Span,
    /// The element type.
    elem: &'p Type,
    /// The declared extents.
    pub(crate) outer: Vec<usize>,
    /// The extents that array-valued bodies append; `None` until a value tells them.
    inner: Option<Vec<usize>>,
    /// Whether `inner` comes from sizes of the type that are not literals, and no value has
    /// confirmed it.
    assumed: bool,
    /// Both together, as far as known.
    pub(crate) shape: Vec<usize>,
    cells: Option<Cells>,
    /// Whether its points are what the meter counts.
    pub(crate) metered: bool,
    /// The definition, if it failed as a kernel.
    pub(crate) failed: Option<(&'p Tensor, &'p Expr)>,
}

impl<'p> Machine<'p> {
    /// The value of an indexed definition.
    #[inline(never)]
    pub(crate) fn definition(&mut self, tensor: &'p Tensor, e: &'p Expr) -> Result<Value, Stop> {
        let failed = match self.accelerate(e)? {
            Answer::Made(value) => return Ok(value),
            Answer::Failed => true,
            Answer::Evaluate => false,
        };
        for require in &tensor.requires {
            self.require(require)?;
        }
        let marks = self.marks.len();
        self.push_mark(MarkKind::Definition(tensor.name));
        let outer = self.outer_shape(tensor, e.span)?;
        if let Some(clause) = tensor.clauses.iter().find(|clause| clause.until.is_some()) {
            let value = self.until(tensor, clause, e, outer)?;
            self.marks.truncate(marks);
            return Ok(value);
        }
        // Nobody could say how long it is, with or without the memory for it.
        if let Some(extent) = outer.iter().find(|extent| i32::try_from(**extent).is_err()) {
            return Err(self.too_large(e.span, *extent as i128, "i32"));
        }
        let mut build = self.build(tensor, e, outer)?;
        let metered = self.meter.take();
        build.metered = metered;
        build.failed = (failed && build.numbers().is_some()).then_some((tensor, e));
        if tensor.self_var.is_some() || tensor.recurrence.is_some() {
            build = self.recurrence(tensor, build)?;
        } else {
            self.fill_all(tensor, &mut build)?;
        }
        self.meter.give_back(metered);
        let value = self.finish_build(build, e)?;
        self.marks.truncate(marks);
        Ok(value)
    }

    /// The extents of the declared axes.
    pub(crate) fn outer_shape(
        &mut self,
        tensor: &'p Tensor,
        span: Span,
    ) -> Result<Vec<usize>, Stop> {
        let mut shape = vec![0i64; tensor.shape.len()];
        if let Some(last) = tensor.shape.iter().rposition(Option::is_none) {
            for clause in &tensor.clauses {
                self.bounding_box(clause, 0, last, &mut shape)?;
            }
        }
        let mut extents = Vec::with_capacity(shape.len());
        for (stated, seen) in tensor.shape.iter().zip(shape) {
            extents.push(match stated {
                Some(size) => self.extent(size, span)?,
                None => seen.max(0) as usize,
            });
        }
        Ok(extents)
    }

    /// Widens `shape` by what the clause covers along the axes `level` to `last`.
    fn bounding_box(
        &mut self,
        clause: &'p Clause,
        level: usize,
        last: usize,
        shape: &mut [i64],
    ) -> Result<(), Stop> {
        let Some(slot) = clause.slots.get(level).filter(|_| level <= last) else { return Ok(()) };
        match slot {
            ClauseSlot::Point(at) => {
                shape[level] = shape[level].max(at + 1);
                self.bounding_box(clause, level + 1, last, shape)
            }
            ClauseSlot::Loop(binder) => {
                let (lo, hi) = self.domain(binder)?;
                if lo >= hi {
                    return Ok(());
                }
                shape[level] = shape[level].max(hi);
                let inner = &clause.slots[level + 1..(last + 1).min(clause.slots.len())];
                let all_alike = inner.iter().all(|slot| self.is_rectangular(slot, clause));
                let hi = if all_alike { lo + 1 } else { hi };
                for at in lo..hi {
                    self.tick()?;
                    let index = self.index_value(at, binder.lo.span)?;
                    self.bind(binder.var, index);
                    self.bounding_box(clause, level + 1, last, shape)?;
                }
                Ok(())
            }
        }
    }

    /// Whether it is plain that the domain of a slot depends on no index of the clause.
    pub(crate) fn is_rectangular(&self, slot: &ClauseSlot, clause: &Clause) -> bool {
        let is_index = |var: VarId| {
            clause.slots.iter().any(|slot| match slot {
                ClauseSlot::Loop(binder) => binder.var == var,
                ClauseSlot::Point(_) => false,
            })
        };
        let is_fixed = |e: &Expr| match &*e.kind {
            ExprKind::Const(_) => true,
            ExprKind::Var(var) => !is_index(*var),
            ExprKind::Size(size) => {
                size.atoms().into_iter().all(|atom| match self.program.atoms[atom].def {
                    AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var) => {
                        !is_index(var)
                    }
                    AtomDef::Unknown => false,
                })
            }
            _ => false,
        };
        match slot {
            ClauseSlot::Point(_) => true,
            ClauseSlot::Loop(Binder { lo, hi, .. }) => is_fixed(lo) && is_fixed(hi),
        }
    }

    /// Room for a definition, all zero. The memory limit speaks here.
    pub(crate) fn build(
        &mut self,
        tensor: &'p Tensor,
        e: &'p Expr,
        outer: Vec<usize>,
    ) -> Result<Build<'p>, Stop> {
        let known = self.static_extents(&e.ty);
        let inner = match tensor.inner_rank {
            0 => Some(Vec::new()),
            rank if rank <= known.len() => known[known.len() - rank..].iter().copied().collect(),
            _ => None,
        };
        let elem = match &e.ty {
            Type::AnyRank(elem) => elem,
            ty => ty.elem(),
        };
        let shape = outer.clone();
        let (name, span) = (tensor.name, e.span);
        // Points without elements cost nothing, but they are counted.
        if let Err(error) =
            self.options.memory.check(elem.scalar().unwrap_or(ScalarType::Bool), &outer)
        {
            return Err(self.out_of_memory(error, name, &outer, span));
        }
        let axes = e.ty.axes();
        let appended = &axes[axes.len().saturating_sub(tensor.inner_rank)..];
        let assumed = appended.iter().any(|axis| axis.size.as_constant().is_none());
        let mut build = Build {
            name,
            span,
            elem,
            outer,
            inner: None,
            assumed,
            shape,
            cells: None,
            metered: false,
            failed: None,
        };
        if let Some(inner) = inner {
            self.set_inner(&mut build, inner)?;
        }
        Ok(build)
    }

    /// The same definition with room for more points along its first axis.
    pub(crate) fn grown(
        &mut self,
        tensor: &'p Tensor,
        e: &'p Expr,
        old: Build<'p>,
        rows: usize,
    ) -> Result<Build<'p>, Stop> {
        let mut outer = old.outer.clone();
        if let Some(first) = outer.first_mut() {
            *first = rows;
        }
        let mut build = self.build(tensor, e, outer)?;
        if let (Some(inner), Some(cells)) = (old.inner, old.cells) {
            if build.inner.as_ref() != Some(&inner) {
                self.set_inner(&mut build, inner)?;
            }
            build.assumed = old.assumed;
            if let Some(new) = &mut build.cells
                && !matches!(&cells, Cells::Scalars(old) if new.set_row(0, &Value::tensor(old.clone())))
            {
                for at in 0..count(&old.shape) {
                    if let Err(value) = new.set(at, cells.get(at)) {
                        return Err(self.expected(e.span, "an element of the definition", &value));
                    }
                }
            }
        }
        Ok(build)
    }

    fn set_inner(&self, build: &mut Build<'p>, inner: Vec<usize>) -> Result<(), Stop> {
        build.shape = [build.outer.as_slice(), &inner].concat();
        build.inner = Some(inner);
        build.cells = Some(self.cells(build.elem, &build.shape, build.name, build.span)?);
        Ok(())
    }

    /// Writes the value of the point with this number.
    pub(crate) fn write(
        &self,
        build: &mut Build<'p>,
        point: usize,
        value: Value,
        span: Span,
    ) -> Result<(), Stop> {
        let is_array = matches!(value, Value::Tensor(_) | Value::Objects(_));
        if is_array && (build.assumed || build.inner.is_none()) {
            build.assumed = false;
            if build.inner.as_deref() != Some(value.shape()) {
                self.set_inner(build, value.shape().to_vec())?;
            }
        }
        let (Some(inner), Some(cells)) = (&build.inner, &mut build.cells) else {
            return Err(self.malformed(span, "a definition without cells"));
        };
        if inner.is_empty() && !is_array {
            return match cells.set(point, value) {
                Ok(()) => Ok(()),
                Err(value) => Err(self.expected(span, "an element of the definition", &value)),
            };
        }
        let count = count(inner);
        if is_array && value.shape() != inner {
            let (left, right) = (show_shape(value.shape()), show_shape(inner));
            let message = format!("a row of shape {left} where the definition has {right}");
            return Err(self.fail(Code::E0804, span, message));
        }
        if cells.set_row(point * count, &value) {
            return Ok(());
        }
        for at in 0..count {
            let element = if is_array { crate::array::flat(&value, at) } else { value.clone() };
            if let Err(value) = cells.set(point * count + at, element) {
                return Err(self.expected(span, "an element of the definition", &value));
            }
        }
        Ok(())
    }

    pub(crate) fn finish_build(&self, mut build: Build<'p>, e: &'p Expr) -> Result<Value, Stop> {
        if build.inner.is_none() {
            // No point ever told: take what the type says.
            let known = self.static_extents(&e.ty);
            let inner = known[build.outer.len().min(known.len())..].iter();
            let inner = inner.map(|extent| extent.unwrap_or(0)).collect();
            self.set_inner(&mut build, inner)?;
        }
        match build.cells {
            Some(cells) => Ok(cells.finish(build.shape)),
            None => Err(self.malformed(e.span, "a definition without cells")),
        }
    }

    /// Fills a definition that does not read itself: the last clause first, so that what a later
    /// clause covers is never computed by an earlier one.
    fn fill_all(&mut self, tensor: &'p Tensor, build: &mut Build<'p>) -> Result<(), Stop> {
        if !self.histories.is_empty() && self.fill_gathering(tensor, build)? {
            return Ok(());
        }
        let points = count(&build.outer);
        let mut done = if tensor.clauses.len() > 1 { vec![false; points] } else { Vec::new() };
        if build.metered && !done.is_empty() {
            // Clauses cover very different numbers of points, so points are counted.
            self.meter.enter(0, points as u64);
        }
        for clause in tensor.clauses.iter().rev() {
            self.check_slots(clause, build.outer.len())?;
            let scope = self.scope_of_clause(tensor, clause);
            self.within(scope, |machine| machine.fill(clause, 0, 0, build, &mut done)).0?;
        }
        Ok(())
    }

    /// Fills what the clause covers along the axes from `axis` on; `point` numbers the ones before.
    pub(crate) fn fill(
        &mut self,
        clause: &'p Clause,
        axis: usize,
        point: usize,
        build: &mut Build<'p>,
        done: &mut [bool],
    ) -> Result<(), Stop> {
        let Some(slot) = clause.slots.get(axis) else {
            if let Some(done) = done.get_mut(point) {
                if *done {
                    return Ok(());
                }
                *done = true;
                if build.metered {
                    self.meter.step(0);
                }
            }
            return match self.clause_value(clause)? {
                Some(value) => self.write(build, point, value, clause.span),
                None => Ok(()),
            };
        };
        let (lo, hi) = self.slot_domain(slot, axis, build.outer[axis], clause)?;
        let alike = |slot| self.is_rectangular(slot, clause);
        if lo >= hi || axis == 0 && build.outer.contains(&0) && clause.slots.iter().all(alike) {
            // No cell at all, however many rows there would be.
            return Ok(());
        }
        let row = point * build.outer[axis];
        let ClauseSlot::Loop(binder) = slot else {
            if build.metered && done.is_empty() {
                self.meter.enter(axis, 1);
            }
            return self.fill(clause, axis + 1, row + lo as usize, build, done);
        };
        let counts = build.metered && done.is_empty();
        if counts {
            self.meter.enter(axis, (hi - lo) as u64);
        }
        let at = (binder, lo, hi);
        match build.failed {
            Some(failed) if !self.in_a_loop() => {
                fill_in_parts(self, failed, clause, (axis, row), at, (build, done))
            }
            Some(_) | None => {
                self.fill_positions(clause, (axis, row), at, (build, done), Way::Evaluate)
            }
        }
    }

    /// Fills what the clause covers at some positions along an axis; `row` numbers the first point of
    /// it.
    pub(crate) fn fill_positions(
        &mut self,
        clause: &'p Clause,
        (axis, row): (usize, usize),
        (binder, lo, hi): (&'p Binder, i64, i64),
        (build, done): (&mut Build<'p>, &mut [bool]),
        way: Way,
    ) -> Result<(), Stop> {
        let counts = build.metered && done.is_empty();
        self.push_mark(MarkKind::Index(binder.var));
        self.alone(way, |machine| -> Result<(), Stop> {
            for at in lo..hi {
                machine.tick()?;
                let index = machine.index_value(at, binder.lo.span)?;
                machine.bind(binder.var, index);
                machine.fill(clause, axis + 1, row + at as usize, build, done)?;
                if counts {
                    machine.meter.step(axis);
                }
            }
            Ok(())
        })?;
        self.marks.pop();
        Ok(())
    }

    pub(crate) fn check_slots(&self, clause: &Clause, rank: usize) -> Result<(), Stop> {
        if clause.slots.len() == rank {
            return Ok(());
        }
        let what = format!("a clause of {} slots, not {rank}", clause.slots.len());
        Err(self.malformed(clause.span, what))
    }

    /// The positions that a slot covers, which must be inside the definition.
    pub(crate) fn slot_domain(
        &mut self,
        slot: &'p ClauseSlot,
        axis: usize,
        extent: usize,
        clause: &'p Clause,
    ) -> Result<(i64, i64), Stop> {
        let (lo, hi) = match slot {
            ClauseSlot::Point(at) => (*at, at + 1),
            ClauseSlot::Loop(binder) => self.domain(binder)?,
        };
        if lo >= hi || (lo >= 0 && hi <= extent as i64) {
            return Ok((lo, hi));
        }
        if lo < 0 {
            let message = format!("axis {axis} of a definition cannot start at {lo}");
            return Err(self.fail(Code::E0809, clause.span, message));
        }
        self.beyond(clause, axis, extent)
    }

    /// A clause beyond an extent needs something that is not there either, or covers nothing.
    fn beyond(
        &mut self,
        clause: &'p Clause,
        axis: usize,
        extent: usize,
    ) -> Result<(i64, i64), Stop> {
        for slot in &clause.slots[axis..] {
            if let ClauseSlot::Loop(binder) = slot {
                let (lo, hi) = self.domain(binder)?;
                if lo >= hi {
                    return Ok((0, 0));
                }
                let index = self.index_value(lo, binder.lo.span)?;
                self.bind(binder.var, index);
            }
        }
        self.clause_value(clause)?;
        let what = format!("a clause leaves axis {axis} with extent {extent}");
        Err(self.malformed(clause.span, what))
    }

    /// The value of a clause at the point to which its indices are bound; `None` for zero.
    pub(crate) fn clause_value(&mut self, clause: &'p Clause) -> Result<Option<Value>, Stop> {
        if self.items(&clause.items)? {
            return self.eval(&clause.value).map(Some);
        }
        match &clause.otherwise {
            Some(otherwise) => self.eval(otherwise).map(Some),
            None => Ok(None),
        }
    }
}

impl Build<'_> {
    /// Nothing at all.
    pub(crate) fn nothing(span: Span) -> Build<'static> {
        let (outer, shape) = (Vec::new(), Vec::new());
        Build {
            name: None,
            span,
            elem: &Type::Unit,
            outer,
            inner: None,
            assumed: false,
            shape,
            cells: None,
            metered: false,
            failed: None,
        }
    }

    /// The cells, if every point is one scalar.
    pub(crate) fn scalars(&mut self) -> Option<&mut Cells> {
        match (&self.inner, &mut self.cells) {
            (Some(inner), Some(cells @ Cells::Scalars(_))) if inner.is_empty() => Some(cells),
            _ => None,
        }
    }

    /// The cells, if they are numbers.
    pub(crate) fn numbers(&mut self) -> Option<&mut Cells> {
        self.cells.as_mut().filter(|cells| matches!(cells, Cells::Scalars(_)))
    }

    /// What has been computed so far, as an array of numbers.
    pub(crate) fn so_far(&self) -> Option<Value> {
        match &self.cells {
            Some(Cells::Scalars(cells)) => cells.reshape(&self.shape).ok().map(Value::tensor),
            Some(Cells::Objects(_)) | None => None,
        }
    }

    /// How many elements a point has.
    fn count(&self) -> usize {
        self.inner.as_deref().map_or(0, count)
    }

    /// The elements of a point, in order.
    pub(crate) fn elements(&self, point: usize) -> impl Iterator<Item = Value> + '_ {
        let count = self.count();
        let cells = self.cells.as_ref();
        (point * count..(point + 1) * count).filter_map(move |at| cells.map(|cells| cells.get(at)))
    }

    /// A copy of the elements of points that follow each other, if they are numbers.
    pub(crate) fn rows(&self, points: &[usize]) -> Option<ein_runtime::Tensor> {
        let (first, last) = (points.first()?, points.last()?);
        if last + 1 - first != points.len() {
            return None;
        }
        let count = self.count();
        self.cells.as_ref()?.rows(first * count, (last + 1) * count)
    }

    /// The only element of a point.
    #[inline]
    pub(crate) fn element(&self, point: usize) -> Option<Value> {
        match (&self.inner, &self.cells) {
            (Some(inner), Some(cells)) if inner.is_empty() => Some(cells.get(point)),
            _ => None,
        }
    }

    /// The element type.
    pub(crate) fn elem(&self) -> &Type {
        self.elem
    }
}
