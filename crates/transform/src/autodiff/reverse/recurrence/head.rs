//! The factor that is common to all that flows back out of a clause, and the recurrence over it.

use super::super::solve::Place;
use super::super::{Done, Reverse, Step, Term, element, mentions, unsupported};
use super::{Running, Stretch, coordinates, count, first_axis, place_at, replace_reads};
use crate::autodiff::rename::Renaming;
use ein_ir::size;
use ein_ir::tensor::{Clause, ClauseSlot, Expr, ExprKind, Item, Tensor, VarId};
use rustc_hash::FxHashMap;

/// The factor of one clause.
#[derive(Clone, Debug)]
pub(super) struct Head {
    clause: usize,
    /// The steps of the clause up to here.
    steps: Vec<Step>,
    /// What flows back, in terms of the adjoint at the point.
    value: Expr,
}

impl Reverse<'_, '_> {
    /// The same for what flows out of a clause that reads no other step: with it, nobody reads the
    /// adjoint itself, and it need not be computed beside the factor.
    pub(in super::super) fn initial_head(&mut self, value: Expr) -> Expr {
        match self.running.last().is_some_and(|running| running.initial) {
            true => self.lift_head(&value).unwrap_or(value),
            false => value,
        }
    }

    /// A read of the common factor in place of a cotangent, if this is where it is taken out.
    pub(in super::super) fn lift_head(&mut self, seed: &Expr) -> Option<Expr> {
        let start = self.running.last()?.start;
        let steps: Vec<Step> =
            self.path[start..].iter().map(|at| self.steps[*at].clone()).collect();
        let running = self.running.last_mut()?;
        if !running.allowed || !mentions(seed, running.bar) || mentions(seed, running.head) {
            return None;
        }
        let coords = coordinates(seed, running.bar)?;
        // Only the loops of the clause itself stand between.
        let loops = steps.iter().filter(|step| matches!(step, Step::Loop(_))).count();
        let own = coords.iter().filter(|at| matches!(&*at.kind, ExprKind::Var(_))).count();
        if loops != own || running.heads.iter().any(|head| head.clause == running.clause) {
            return None;
        }
        let (clause, head) = (running.clause, running.head);
        let read = element(self.pass.var(head, seed.span), &coords, seed.span);
        // What flows into a conversion is no longer of the type that the recurrence holds.
        if read.ty != seed.ty {
            return None;
        }
        let running = self.running.last_mut()?;
        running.heads.push(Head { clause, steps, value: seed.clone() });
        Some(read)
    }

    /// The recurrence over the common factors.
    pub(super) fn emit_heads(
        &mut self,
        tensor: &Tensor,
        e: &Expr,
        before: &[Term],
        own: &[Term],
        running: &Running,
    ) -> Done {
        let self_var = self.pass.local("$s", e.ty.clone(), e.span);
        let mut clauses = Vec::new();
        for head in &running.heads {
            let slot =
                first_axis(tensor).and_then(|axis| tensor.clauses[head.clause].slots.get(axis));
            let stretches = match slot {
                Some(ClauseSlot::Loop(binder)) => self.stretches(tensor, binder),
                Some(ClauseSlot::Point(_)) | None => vec![Stretch::All],
            };
            for stretch in stretches {
                let flows = (before, own, (running.head, self_var));
                clauses.push(self.head_clause(tensor, head, stretch, flows, running.bar)?);
            }
        }
        let value = self.reversed(tensor, e, self_var, clauses);
        self.emit(running.head, value);
        Ok(())
    }

    /// The clause of a factor, on a stretch of the steps.
    fn head_clause(
        &mut self,
        tensor: &Tensor,
        head: &Head,
        stretch: Stretch,
        (before, own, vars): (&[Term], &[Term], (VarId, VarId)),
        bar: VarId,
    ) -> Done<Clause> {
        let source = &tensor.clauses[head.clause];
        let span = source.span;
        let mut names = Renaming::default();
        let mut items = Vec::new();
        let mut loops = Vec::new();
        let steps = self.needed(head.steps.clone(), &head.value, &[]);
        for step in &steps {
            match step {
                Step::Loop(binder) => {
                    let mut binder = binder.clone();
                    self.pass.freshen_binder(&mut binder, &mut names);
                    loops.push(binder);
                }
                Step::Let(var, value) => {
                    let value = self.pass.freshened(value, &mut names);
                    items.push(Item::Let(self.pass.fresh(*var, &mut names), value));
                }
                Step::Guard(cond) => {
                    items.push(Item::Guard(self.pass.freshened(cond, &mut names)));
                }
            }
        }
        let mut loops = loops.into_iter();
        let mut slots = Vec::new();
        let mut places = Vec::new();
        let mut fixed = FxHashMap::default();
        for (axis, slot) in source.slots.iter().enumerate() {
            match slot {
                ClauseSlot::Point(at) => place_at(*at, &mut slots, &mut places),
                ClauseSlot::Loop(_) => {
                    let Some(mut binder) = loops.next() else { return unsupported("a clause") };
                    let ordered = first_axis(tensor) == Some(axis);
                    match stretch {
                        Stretch::At(at) if ordered => {
                            fixed.insert(binder.var, size::Expr::constant(at));
                            place_at(at, &mut slots, &mut places);
                            continue;
                        }
                        Stretch::Between(lo, hi) if ordered => {
                            binder.lo = Expr::int(lo, span);
                            binder.hi = Expr::int(hi, span);
                        }
                        Stretch::All | Stretch::At(_) | Stretch::Between(..) => {}
                    }
                    slots.push(ClauseSlot::Loop(binder.clone()));
                    places.push(Place::Loop(binder));
                }
            }
        }
        if tensor.inner_rank > 0 {
            for binder in loops {
                slots.push(ClauseSlot::Loop(binder.clone()));
                places.push(Place::Loop(binder));
            }
        }
        let mut value = self.pass.freshened(&head.value, &mut names);
        self.pass.replace_indices(&mut value, &fixed);
        for item in &mut items {
            match item {
                Item::Let(_, e) | Item::Guard(e) => self.pass.replace_indices(e, &fixed),
            }
        }
        let flow = self.flow_at(before, own, &places, vars, span)?;
        let flow = if count(&value, bar) > 1 {
            let var = self.pass.local("$h", flow.ty.clone(), span);
            items.push(Item::Let(var, flow));
            self.pass.var(var, span)
        } else {
            flow
        };
        replace_reads(&mut value, bar, &flow);
        Ok(Clause { slots, items, value, otherwise: None, until: None, span })
    }
}
