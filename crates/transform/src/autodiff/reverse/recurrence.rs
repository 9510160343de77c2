//! Recurrences: the adjoint is a recurrence in the opposite direction over the stored history.
//!
//! Before:  `h[t, j] = tanh(sum[k](R[j, k] * h[t - 1, k]) + x[t, j])`
//! After:   `s[t, j] = (… + sum[i](s[t + 1, i] * R[i, j])) * (1 - h[t, j] * h[t, j])`
//!
//! What flows back through the outermost operations of a clause is the same for all its reads. If
//! the reads of earlier steps all stand behind such a factor, the recurrence runs over the product
//! (`head`), and the sums in it are plain; otherwise over the adjoint itself (`bar`).

mod head;

use super::solve::Place;
use super::{Done, Reverse, Step, Term, mentions, unsupported};
use crate::autodiff::let_stmt;
use crate::autodiff::rename::Renaming;
use ein_ir::size;
use ein_ir::tensor::walk::each_child_mut;
use ein_ir::tensor::{
    Binder, Clause, ClauseSlot, Expr, ExprKind, Item, Recurrence, RecurrenceAxis, Tensor, Type,
    VarId,
};
use head::Head;

/// The recurrence whose clauses are being pulled back.
#[derive(Clone, Debug)]
pub(super) struct Running {
    /// Reads of its adjoint.
    pub bar: VarId,
    /// Reads of the common factor.
    pub head: VarId,
    /// Where its clause begins on the path, and the coordinates of the point.
    start: usize,
    /// Which of the loops from there on are over steps.
    over_steps: Vec<usize>,
    /// The clause, and the coordinates in it.
    clause: usize,
    heads: Vec<Head>,
    allowed: bool,
    /// Whether the clause reads no other step.
    initial: bool,
}

impl Running {
    /// How many steps of a way stand before its clause, and which of those after them are loops over
    /// its steps: what flows back in a step is known in that step only.
    pub(super) fn kept(&self) -> (usize, impl Iterator<Item = usize>) {
        (self.start, self.over_steps.iter().map(|at| self.start + at))
    }

    /// Whether a common factor may be taken out from here on; says whether it could be before.
    pub(super) fn allow(&mut self, allowed: bool) -> bool {
        std::mem::replace(&mut self.allowed, allowed)
    }
}

/// Which of the loops of a clause are over the steps of a recurrence.
fn loops_over_steps(tensor: &Tensor, clause: &Clause) -> Vec<usize> {
    let axes = tensor.recurrence.iter().flat_map(|recurrence| &recurrence.axes);
    let axes: Vec<usize> = axes.map(|axis| axis.axis).collect();
    let loops = clause.slots.iter().enumerate().filter_map(|(axis, slot)| match slot {
        ClauseSlot::Loop(_) => Some(axis),
        ClauseSlot::Point(_) => None,
    });
    loops.enumerate().filter(|(_, axis)| axes.contains(axis)).map(|(at, _)| at).collect()
}

/// Some steps of a recurrence.
#[derive(Clone, Copy, Debug)]
enum Stretch {
    /// Those of the clause.
    All,
    /// One of them.
    At(i64),
    /// From here to before there.
    Between(i64, i64),
}

/// Recurrences that read deeper than this are not split.
const DEEPEST: u32 = 4;

/// The only axis along which the steps of a recurrence depend on each other.
fn first_axis(tensor: &Tensor) -> Option<usize> {
    match tensor.recurrence.as_ref()?.axes.as_slice() {
        [only] => Some(only.axis),
        _ => None,
    }
}

fn place_at(at: i64, slots: &mut Vec<ClauseSlot>, places: &mut Vec<Place>) {
    slots.push(ClauseSlot::Point(at));
    places.push(Place::At(size::Expr::constant(at), None));
}

impl Reverse<'_, '_> {
    /// A recurrence to which something flows.
    pub(super) fn pull_recurrence(&mut self, var: VarId, tensor: &Tensor, e: &Expr) -> Done {
        let Some(self_var) = tensor.self_var else { return unsupported("a recurrence") };
        if let Some(made) = self.pass.made(tensor, var) {
            let ty = self.pass.program.vars[var].ty.clone();
            let e = Expr::new(ExprKind::Tensor(made.clone()), ty, e.span);
            return self.pull_recurrence(var, &made, &e);
        }
        let before = self.active.get(&var).cloned().unwrap_or_default();
        let others: Vec<(VarId, usize)> =
            self.active.iter().map(|(var, terms)| (*var, terms.len())).collect();
        for allowed in [true, false] {
            let head = self.reserved("$s", e);
            let bar = self.reserved(&self.bar_name(var), e);
            self.running.push(Running {
                bar,
                head,
                start: self.path.len(),
                over_steps: Vec::new(),
                clause: 0,
                heads: Vec::new(),
                allowed,
                initial: false,
            });
            self.active.insert(var, Vec::new());
            let done = self.pull_clauses(var, self_var, tensor, e, bar);
            let running = self.running.pop();
            done?;
            let Some(running) = running else { return unsupported("a recurrence") };
            let own = self.active.get(&var).cloned().unwrap_or_default();
            let mixed = own.iter().any(|term| self.term_mentions(term, bar));
            let useful = !running.heads.is_empty() && !mixed;
            if allowed && !running.heads.is_empty() && !useful {
                // Once more, without the common factor.
                for (other, count) in &others {
                    if let Some(terms) = self.active.get_mut(other) {
                        terms.truncate(*count);
                    }
                }
                self.release(&[head, bar]);
                continue;
            }
            if useful {
                self.emit_heads(tensor, e, &before, &own, &running)?;
                let wanted = others.iter().map(|(var, _)| *var).collect::<Vec<_>>();
                let read = wanted.iter().any(|other| {
                    *other != var
                        && self
                            .active
                            .get(other)
                            .is_some_and(|terms| terms.iter().any(|t| self.term_mentions(t, bar)))
                });
                if read {
                    self.emit_bar(tensor, e, &before, &own, bar, None)?;
                }
            } else {
                self.emit_bar(tensor, e, &before, &own, bar, Some(self_var))?;
            }
            self.release(&[head, bar]);
            return Ok(());
        }
        unsupported("a recurrence")
    }

    /// A name for what is made when all its terms are known. On the way to a point it has its step
    /// from now on, since the terms in between read it.
    fn reserved(&mut self, name: &str, e: &Expr) -> VarId {
        let var = self.pass.local(name, e.ty.clone(), e.span);
        if !self.path.is_empty() {
            self.push(Step::Let(var, Expr::error(e.span)));
        }
        var
    }

    fn pull_clauses(
        &mut self,
        var: VarId,
        self_var: VarId,
        tensor: &Tensor,
        e: &Expr,
        bar: VarId,
    ) -> Done {
        // Inside, the finished history is read.
        let mut names = Renaming::default();
        names.vars.insert(self_var, var);
        let own = self.pass.var(var, e.span);
        let bar = self.pass.var(bar, e.span);
        for at in 0..tensor.clauses.len() {
            // A step of its own, so that nothing that reads the adjoint is put before it.
            let mark = self.path.len();
            let truth = ExprKind::Const(ein_scalar::Scalar::Bool(true));
            self.push(Step::Guard(Expr::new(truth, Type::BOOL, e.span)));
            if let Some(running) = self.running.last_mut() {
                running.clause = at;
                running.start = mark + 1;
                let clause = &tensor.clauses[at];
                running.over_steps = loops_over_steps(tensor, clause);
                let parts = [&clause.value].into_iter().chain(&clause.otherwise);
                running.initial = !parts.chain(items_of(clause)).any(|e| mentions(e, self_var));
            }
            self.pull_clause(tensor, at, e, &bar, Some(&own), &names)?;
            self.path.truncate(mark);
        }
        Ok(())
    }

    fn term_mentions(&self, term: &Term, var: VarId) -> bool {
        mentions(&term.value, var)
            || term.cell.iter().any(|index| mentions(&index.value, var))
            || self.relative(term).iter().any(|step| match step {
                Step::Let(_, e) | Step::Guard(e) => mentions(e, var),
                Step::Loop(_) => false,
            })
    }

    /// The steps of a clause in stretches on which the same reads exist: the last ones that later
    /// steps read from are points of their own, so that no condition stands in the others.
    fn stretches(&mut self, tensor: &Tensor, binder: &Binder) -> Vec<Stretch> {
        let (Some(recurrence), Some(lo), Some(hi)) = (
            &tensor.recurrence,
            self.pass.size_of(&binder.lo).and_then(|lo| lo.as_constant()),
            self.pass.size_of(&binder.hi).and_then(|hi| hi.as_constant()),
        ) else {
            return vec![Stretch::All];
        };
        let back = match recurrence.lookback {
            Some(back) if back <= DEEPEST && hi - lo > 2 * i64::from(back) => i64::from(back),
            Some(_) | None => return vec![Stretch::All],
        };
        if recurrence.axes.first().is_some_and(|axis| axis.backward) {
            let ends = (lo..lo + back).map(Stretch::At);
            return ends.chain([Stretch::Between(lo + back, hi)]).collect();
        }
        let ends = (hi - back..hi).map(Stretch::At);
        [Stretch::Between(lo, hi - back)].into_iter().chain(ends).collect()
    }

    /// The adjoint itself; `recurrent` if it reads itself.
    fn emit_bar(
        &mut self,
        tensor: &Tensor,
        e: &Expr,
        before: &[Term],
        own: &[Term],
        bar: VarId,
        recurrent: Option<VarId>,
    ) -> Done {
        let span = e.span;
        let self_var = self.pass.local("$s", e.ty.clone(), span);
        let mut binders = Vec::new();
        for axis in e.ty.axes().to_vec() {
            let var = self.pass.local("$i", Type::I32, span);
            let hi = Expr::size(axis.size.clone(), span);
            binders.push(Binder { var, lo: Expr::int(0, span), hi });
        }
        let axis = first_axis(tensor).filter(|_| recurrent.is_some());
        let stretches = match axis.and_then(|axis| binders.get(axis).cloned()) {
            Some(binder) => self.stretches(tensor, &binder),
            None => vec![Stretch::All],
        };
        let mut clauses = Vec::new();
        for stretch in stretches {
            let (mut slots, mut places) = (Vec::new(), Vec::new());
            for (number, binder) in binders.iter().enumerate() {
                let mut binder = binder.clone();
                self.pass.freshen_binder(&mut binder, &mut Renaming::default());
                match stretch {
                    Stretch::At(at) if axis == Some(number) => {
                        place_at(at, &mut slots, &mut places);
                        continue;
                    }
                    Stretch::Between(lo, hi) if axis == Some(number) => {
                        binder.lo = Expr::int(lo, span);
                        binder.hi = Expr::int(hi, span);
                    }
                    Stretch::All | Stretch::At(_) | Stretch::Between(..) => {}
                }
                slots.push(ClauseSlot::Loop(binder.clone()));
                places.push(Place::Loop(binder));
            }
            let value = self.flow_at(before, own, &places, (bar, self_var), span)?;
            clauses.push(Clause {
                slots,
                items: Vec::new(),
                value,
                otherwise: None,
                until: None,
                span,
            });
        }
        let value = match recurrent {
            Some(_) => self.reversed(tensor, e, self_var, clauses),
            None => {
                let axes = e.ty.axes();
                let tensor = Tensor {
                    name: None,
                    self_var: None,
                    shape: axes.iter().map(|axis| Some(axis.size.clone())).collect(),
                    inner_rank: 0,
                    clauses,
                    recurrence: None,
                    requires: Vec::new(),
                };
                Expr::new(ExprKind::Tensor(tensor), e.ty.clone(), span)
            }
        };
        self.emit(bar, value);
        Ok(())
    }

    /// The value of a reserved name; where no other recurrence is under way, for all points at once.
    fn emit(&mut self, var: VarId, value: Expr) {
        let Some(at) = self.path.iter().copied().find(|at| self.binds(*at, var)) else {
            return self.out.push(let_stmt(var, value));
        };
        let value = self.definition("$r", &value).unwrap_or(value);
        // It is made of the same terms that read it, under loops over the same variables, and what is
        // bound twice on one way is lost.
        let value = self.pass.freshened(&value, &mut Renaming::default());
        self.steps[at] = Step::Let(var, value);
    }

    /// Gives up the steps of reserved names to which no value was given.
    fn release(&mut self, vars: &[VarId]) {
        for at in self.path.clone() {
            if let Step::Let(var, value) = &self.steps[at]
                && vars.contains(var)
                && matches!(&*value.kind, ExprKind::Error)
            {
                let truth = ExprKind::Const(ein_scalar::Scalar::Bool(true));
                self.steps[at] = Step::Guard(Expr::new(truth, Type::BOOL, value.span));
            }
        }
    }

    fn binds(&self, step: usize, var: VarId) -> bool {
        matches!(&self.steps[step], Step::Let(own, _) if *own == var)
    }

    /// Everything that flows to a cell, from outside and from other steps.
    fn flow_at(
        &mut self,
        before: &[Term],
        own: &[Term],
        places: &[Place],
        (read, self_var): (VarId, VarId),
        span: ein_base::Span,
    ) -> Done<Expr> {
        let mut total: Option<Expr> = None;
        for (number, term) in before.iter().chain(own).enumerate() {
            let Some(mut value) = self.at_cell(term, places, true) else {
                return unsupported("a read of an earlier step");
            };
            if number >= before.len() {
                rename_var(&mut value, read, self_var);
            }
            if super::pull::constant(&value) == Some(0.0) {
                continue;
            }
            total = Some(self.plus(total, value));
        }
        match (total, before.first().or(own.first())) {
            (Some(total), _) => Ok(total),
            (None, Some(term)) => Ok(super::lift::zero_of(&term.value.ty, span)),
            (None, None) => unsupported("a recurrence to which nothing flows"),
        }
    }

    /// A recurrence that runs the other way.
    fn reversed(
        &mut self,
        tensor: &Tensor,
        e: &Expr,
        self_var: VarId,
        clauses: Vec<Clause>,
    ) -> Expr {
        let recurrence = tensor.recurrence.as_ref().map(|recurrence| Recurrence {
            axes: recurrence
                .axes
                .iter()
                .map(|axis| RecurrenceAxis { axis: axis.axis, backward: !axis.backward })
                .collect(),
            lookback: recurrence.lookback,
            adjoint: true,
        });
        let axes = e.ty.axes();
        let tensor = Tensor {
            name: None,
            self_var: Some(self_var),
            shape: axes.iter().map(|axis| Some(axis.size.clone())).collect(),
            inner_rank: 0,
            clauses,
            recurrence: recurrence.map(Box::new),
            requires: Vec::new(),
        };
        Expr::new(ExprKind::Tensor(tensor), e.ty.clone(), e.span)
    }
}

/// The indices at which a variable is read in an expression, if it is read at one place only.
fn coordinates(e: &Expr, var: VarId) -> Option<Vec<Expr>> {
    if let ExprKind::Index { base, indices } = &*e.kind
        && matches!(&*base.kind, ExprKind::Var(own) if *own == var)
    {
        return Some(indices.iter().map(|index| index.value.clone()).collect());
    }
    let mut found = None;
    ein_ir::tensor::walk::each_child(e, &mut |child| {
        if found.is_none() {
            found = coordinates(child, var);
        }
    });
    found
}

/// What the bindings and guards of a clause compute.
fn items_of(clause: &Clause) -> impl Iterator<Item = &Expr> {
    clause.items.iter().map(|item| match item {
        Item::Let(_, e) | Item::Guard(e) => e,
    })
}

/// How often a variable is read.
pub(super) fn count(e: &Expr, var: VarId) -> usize {
    let mut total = usize::from(matches!(&*e.kind, ExprKind::Var(own) if *own == var));
    ein_ir::tensor::walk::each_child(e, &mut |child| total += count(child, var));
    total
}

/// Puts a value in place of every read of a variable.
fn replace_reads(e: &mut Expr, var: VarId, value: &Expr) {
    let read = matches!(&*e.kind, ExprKind::Index { base, .. }
        if matches!(&*base.kind, ExprKind::Var(own) if *own == var));
    if read {
        *e = value.clone();
        return;
    }
    each_child_mut(e, &mut |child| replace_reads(child, var, value));
}

fn rename_var(e: &mut Expr, from: VarId, to: VarId) {
    if let ExprKind::Var(var) = &mut *e.kind
        && *var == from
    {
        *var = to;
    }
    each_child_mut(e, &mut |child| rename_var(child, from, to));
}
