//! The points that read a cell: the index map of a read, solved for the loops.
//!
//! `x[i + r]` read over `i` and `r` gives to `x'[p]` the sum over `r` at `i = p - r`, with `r` bounded
//! so that `i` is inside its own domain. What is bounded by the domain of the cell anyway is proved
//! and not tested.

use super::{Reverse, Step, Term};
use crate::autodiff::Pass;
use ein_base::Span;
use ein_ir::size::{self, Atom, Facts, prove_le};
use ein_ir::tensor::{AtomDef, Binder, Expr, ExprKind, Type, VarId};
use ein_scalar::{BinaryOp, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};

/// A coordinate of the cell.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// Every value of a loop.
    Loop(Binder),
    /// One position; below this extent, if it is known to be inside.
    At(size::Expr, Option<size::Expr>),
}

/// A system being solved.
struct System {
    /// The loops that are left, with where they stood.
    loops: Vec<(usize, Binder)>,
    /// What loops that are gone are equal to.
    solved: FxHashMap<VarId, size::Expr>,
    /// `a + distance <= b`
    bounds: Vec<(size::Expr, i64, size::Expr)>,
    /// What else must hold, where loops that are gone stood: their domains are no sizes.
    inside: FxHashMap<VarId, [Expr; 2]>,
    tests: Vec<Expr>,
}

/// How hard an equation may be to solve for a loop, the simplest first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effort {
    /// An index by itself.
    Index,
    /// With a unit coefficient.
    Unit,
    /// With any coefficient: whole multiples are tested.
    Multiple,
    /// With a unit coefficient, and a domain that only the run knows: it is tested.
    Tested,
}

const EFFORTS: [Effort; 4] = [Effort::Index, Effort::Unit, Effort::Multiple, Effort::Tested];

impl Reverse<'_, '_> {
    /// What a term adds to the cell at the places: a sum over the points that read it. `None` if the
    /// cell is data, unless `forced`: then all points are tested.
    pub(super) fn at_cell(&mut self, term: &Term, places: &[Place], forced: bool) -> Option<Expr> {
        let span = term.value.span;
        let cells: Vec<&Expr> = term.cell.iter().map(|index| &index.value).collect();
        let steps = self.relative(term);
        let steps = self.needed(steps, &term.value, &cells);
        let mut cells: Vec<Expr> = cells.into_iter().cloned().collect();
        let (mut steps, mut value) = self.without_integers(steps, term.value.clone(), &mut cells);
        let mut system = System {
            loops: Vec::new(),
            solved: FxHashMap::default(),
            bounds: Vec::new(),
            inside: FxHashMap::default(),
            tests: Vec::new(),
        };
        for (at, step) in steps.iter().enumerate() {
            if let Step::Loop(binder) = step {
                system.loops.push((at, binder.clone()));
            }
        }
        let mut goals: Vec<size::Expr> = Vec::new();
        let mut facts = Facts::new();
        for place in places {
            goals.push(match place {
                Place::At(at, extent) => {
                    if let Some(extent) = extent {
                        facts.le(&size::Expr::zero(), at);
                        facts.lt(at, extent);
                    }
                    at.clone()
                }
                Place::Loop(binder) => {
                    self.loop_facts(binder, &mut facts);
                    size::Expr::atom(self.pass.atom_of(binder.var))
                }
            });
        }
        let sizes: Vec<Option<size::Expr>> =
            cells.iter().map(|cell| self.pass.size_of(cell)).collect();
        let mut open: Vec<usize> = (0..cells.len()).collect();
        for effort in EFFORTS {
            loop {
                let found = open.iter().position(|axis| {
                    let Some(cell) = sizes[*axis].clone() else { return false };
                    self.solve_one(&mut system, &steps, (&cell, &goals[*axis]), effort)
                });
                let Some(found) = found else { break };
                open.remove(found);
            }
        }
        let moving = moving(self, &steps);
        for axis in open {
            let goal = self.pass.size_expr(&goals[axis], span);
            let mut cell = cells[axis].clone();
            let decided = match &sizes[axis] {
                Some(size) => {
                    let size = self.pass.replaced_size(size, &system.solved);
                    let loops = self.atoms(&system);
                    let moves = |atom: &Atom| match self.pass.program.atoms[*atom].def {
                        AtomDef::Var(var) => moving.contains(&var),
                        _ => false,
                    };
                    let still =
                        !size.atoms().iter().any(|atom| loops.contains(atom) || moves(atom));
                    if still {
                        // The same position for all points, or never the same.
                        match size.sub(&goals[axis]).as_constant() {
                            Some(0) => continue,
                            Some(_) => return Some(super::lift::zero_of(&value.ty, span)),
                            None => {}
                        }
                        let goal = &goals[axis];
                        if prove_le(&facts, &size.offset(1), goal).is_proved()
                            || prove_le(&facts, &goal.offset(1), &size).is_proved()
                        {
                            return Some(super::lift::zero_of(&value.ty, span));
                        }
                        cell = self.pass.size_expr(&size, span);
                    }
                    still
                }
                None => {
                    let mut used = FxHashSet::default();
                    self.variables(&cell, &mut used);
                    let bound = steps.iter().any(|step| match step {
                        Step::Loop(binder) => used.contains(&binder.var),
                        Step::Let(var, _) => used.contains(var),
                        Step::Guard(_) => false,
                    });
                    !bound
                }
            };
            if !decided && !forced {
                return None;
            }
            self.pass.replace_indices(&mut cell, &system.solved);
            let goal = if goal.ty == cell.ty {
                goal
            } else {
                Expr::new(ExprKind::Cast(goal), cell.ty.clone(), span)
            };
            let test = ExprKind::Binary(BinaryOp::Eq, goal, cell);
            system.tests.push(Expr::new(test, Type::BOOL, span));
        }
        // What is left, in terms of the cell.
        let solved = std::mem::take(&mut system.solved);
        for step in &mut steps {
            match step {
                Step::Loop(binder) => {
                    self.pass.replace_indices(&mut binder.lo, &solved);
                    self.pass.replace_indices(&mut binder.hi, &solved);
                }
                Step::Let(_, e) | Step::Guard(e) => self.pass.replace_indices(e, &solved),
            }
        }
        self.pass.replace_indices(&mut value, &solved);
        let gone: FxHashSet<VarId> = solved.keys().copied().collect();
        let mut left: Vec<Step> = Vec::new();
        for step in steps {
            match &step {
                Step::Loop(binder) if gone.contains(&binder.var) => {
                    for mut test in system.inside.remove(&binder.var).into_iter().flatten() {
                        self.pass.replace_indices(&mut test, &solved);
                        left.push(Step::Guard(test));
                    }
                }
                Step::Loop(_) | Step::Let(..) | Step::Guard(_) => left.push(step),
            }
        }
        let mut left = self.in_order(left);
        let outer = facts.clone();
        // A loop says nothing of places before it: what may fail there is asked for where it has no
        // points, too.
        for step in &left {
            match step {
                Step::Loop(binder) => self.loop_facts(binder, &mut facts),
                Step::Let(_, e) | Step::Guard(e) if self.never_fails(e, &facts) => {}
                Step::Let(..) | Step::Guard(_) => break,
            }
        }
        let mut guards = Vec::new();
        let (whole, mut open) = (left.clone(), Vec::new());
        let tested = !system.tests.is_empty();
        for (a, distance, b) in std::mem::take(&mut system.bounds) {
            let least = a.offset(distance);
            if prove_le(&facts, &least, &b).is_proved() {
                continue;
            }
            if prove_le(&facts, &b.offset(1), &least).is_proved() {
                return Some(super::lift::zero_of(&value.ty, span));
            }
            open.push(b.sub(&least));
            if self.tighten(&mut left, &least, &b, span) {
                continue;
            }
            let op = if distance == 0 { BinaryOp::Le } else { BinaryOp::Lt };
            let (a, b) = (self.pass.size_expr(&a, span), self.pass.size_expr(&b, span));
            guards.push(Expr::new(ExprKind::Binary(op, a, b), Type::BOOL, span));
        }
        if !tested
            && guards.is_empty()
            && let Some(padded) = self.padded((&whole, &left), &value, &open, (places, &outer))
        {
            return Some(padded);
        }
        self.without_single_steps(
            (&mut left, &mut value),
            (&mut guards, &mut system.tests),
            &outer,
        );
        let mut left = self.with_guards(left, guards);
        // A position that is data is looked at where there is a point that reads it.
        let mut used = FxHashSet::default();
        system.tests.iter().for_each(|test| self.variables(test, &mut used));
        let last = left.iter().rposition(|step| match step {
            Step::Let(var, _) => used.contains(var),
            Step::Loop(_) | Step::Guard(_) => true,
        });
        let at = last.map_or(0, |last| last + 1);
        // One that cannot fail stands before what is bound: that may read cells of the adjoint which
        // come after this one, and is asked for only where the test holds.
        let first = left.iter().position(|step| matches!(step, Step::Let(..))).unwrap_or(at);
        let before: FxHashSet<VarId> = left[first..].iter().filter_map(bound_by).collect();
        let (early, late): (Vec<Expr>, Vec<Expr>) = system.tests.into_iter().partition(|test| {
            let mut used = FxHashSet::default();
            self.variables(test, &mut used);
            used.is_disjoint(&before) && self.never_fails(test, &outer)
        });
        let late: Vec<Step> = late.into_iter().map(Step::Guard).collect();
        if !late.is_empty() {
            let after = left.split_off(at);
            let bound = behind(self, &mut left, &late);
            left.extend(late.into_iter().chain(bound).chain(after));
        }
        let first = first.min(at);
        left.splice(first..first, early.into_iter().map(Step::Guard));
        Some(self.sum_over(left, value, &outer))
    }

    /// Bounds of loops that others imply go, and so do loops with one step: a window that has no part
    /// in common with the next one holds a cell once.
    fn without_single_steps(
        &mut self,
        (steps, value): (&mut Vec<Step>, &mut Expr),
        (guards, tests): (&mut [Expr], &mut [Expr]),
        facts: &Facts,
    ) {
        let mut at = 0;
        while let Some(step) = steps.get_mut(at) {
            at += 1;
            let Step::Loop(binder) = step else { continue };
            self.simplest_bound(&mut binder.lo, facts);
            self.simplest_bound(&mut binder.hi, facts);
            let domain = self.pass.size_of(&binder.lo).zip(self.pass.size_of(&binder.hi));
            let Some((lo, hi)) = domain else { continue };
            let next = lo.offset(1);
            if !prove_le(facts, &next, &hi).is_proved() || !prove_le(facts, &hi, &next).is_proved()
            {
                continue;
            }
            let mut only = FxHashMap::default();
            only.insert(binder.var, lo);
            at -= 1;
            steps.remove(at);
            for step in steps.iter_mut() {
                match step {
                    Step::Loop(binder) => {
                        self.pass.replace_indices(&mut binder.lo, &only);
                        self.pass.replace_indices(&mut binder.hi, &only);
                    }
                    Step::Let(_, e) | Step::Guard(e) => self.pass.replace_indices(e, &only),
                }
            }
            for e in guards.iter_mut().chain(tests.iter_mut()) {
                self.pass.replace_indices(e, &only);
            }
            self.pass.replace_indices(value, &only);
        }
    }

    /// One side of a `max` or `min` that is known to be the other one's bound.
    fn simplest_bound(&mut self, bound: &mut Expr, facts: &Facts) {
        while let ExprKind::Binary(op @ (BinaryOp::Max | BinaryOp::Min), a, b) = &*bound.kind {
            let Some((x, y)) = self.pass.size_of(a).zip(self.pass.size_of(b)) else { return };
            let (least, most) = if *op == BinaryOp::Max { (&x, &y) } else { (&y, &x) };
            let kept = if prove_le(facts, least, most).is_proved() {
                b.clone()
            } else if prove_le(facts, most, least).is_proved() {
                a.clone()
            } else {
                return;
            };
            *bound = kept;
        }
    }

    fn atoms(&mut self, system: &System) -> Vec<Atom> {
        system.loops.iter().map(|(_, binder)| self.pass.atom_of(binder.var)).collect()
    }

    /// Solves `cell == goal` for one loop, if that is possible at this effort.
    fn solve_one(
        &mut self,
        system: &mut System,
        steps: &[Step],
        (cell, goal): (&size::Expr, &size::Expr),
        effort: Effort,
    ) -> bool {
        let cell = self.pass.replaced_size(cell, &system.solved);
        // Of two loops the longer one goes: what is left of a convolution is its kernel.
        let mut order: Vec<usize> = (0..system.loops.len()).rev().collect();
        order.sort_by_key(|number| std::cmp::Reverse(self.length(&system.loops[*number].1)));
        for number in order {
            let binder = system.loops[number].1.clone();
            let atom = self.pass.atom_of(binder.var);
            let Some((coefficient, rest)) = cell.affine_in(atom) else { continue };
            let fits = match effort {
                Effort::Index => coefficient == 1 && rest.as_constant() == Some(0),
                Effort::Unit | Effort::Tested => coefficient.abs() == 1,
                Effort::Multiple => coefficient != 0,
            };
            if !fits {
                continue;
            }
            let domain = self.pass.size_of(&binder.lo).zip(self.pass.size_of(&binder.hi));
            if domain.is_none() && effort != Effort::Tested {
                continue;
            }
            let distance = goal.sub(&rest);
            let value = match coefficient {
                1 => distance.clone(),
                -1 => distance.neg(),
                _ => {
                    // Whole multiples only; the other loops must not be in the way of a division.
                    let loops = self.atoms(system);
                    if distance.atoms().iter().any(|other| loops.contains(other)) {
                        continue;
                    }
                    distance.div_floor(&size::Expr::constant(coefficient))
                }
            };
            let taken = system.loops.remove(number);
            system.solved.insert(binder.var, value.clone());
            let known = self.domains_known(steps, &system.loops, &system.solved);
            system.solved.remove(&binder.var);
            if !known {
                system.loops.insert(number, taken);
                continue;
            }
            if coefficient.abs() != 1 {
                let back = value.mul(&size::Expr::constant(coefficient));
                system.bounds.push((back.clone(), 0, distance.clone()));
                system.bounds.push((distance, 0, back));
            }
            let mut replacement = FxHashMap::default();
            replacement.insert(binder.var, value.clone());
            for old in system.solved.values_mut() {
                *old = self.pass.replaced_size(old, &replacement);
            }
            for (a, _, b) in &mut system.bounds {
                *a = self.pass.replaced_size(a, &replacement);
                *b = self.pass.replaced_size(b, &replacement);
            }
            for (_, other) in &mut system.loops {
                self.pass.replace_indices(&mut other.lo, &replacement);
                self.pass.replace_indices(&mut other.hi, &replacement);
            }
            match domain {
                Some((lo, hi)) => {
                    let lo = self.pass.replaced_size(&lo, &system.solved);
                    let hi = self.pass.replaced_size(&hi, &system.solved);
                    system.bounds.push((lo, 0, value.clone()));
                    system.bounds.push((value.clone(), 1, hi));
                }
                None => {
                    let at = self.pass.size_expr(&value, binder.lo.span);
                    let test = |op, a, b| {
                        Expr::new(ExprKind::Binary(op, a, b), Type::BOOL, binder.lo.span)
                    };
                    let least = test(BinaryOp::Le, binder.lo.clone(), at.clone());
                    let most = test(BinaryOp::Lt, at, binder.hi.clone());
                    system.inside.insert(binder.var, [least, most]);
                }
            }
            system.solved.insert(binder.var, value);
            return true;
        }
        false
    }

    /// How many steps a loop has; one that is not known counts as long.
    fn length(&mut self, binder: &Binder) -> i64 {
        match (self.pass.size_of(&binder.lo), self.pass.size_of(&binder.hi)) {
            (Some(lo), Some(hi)) => hi.sub(&lo).as_constant().unwrap_or(i64::MAX),
            _ => i64::MAX,
        }
    }

    /// Bindings of integers are looked through, so that index maps are seen.
    fn without_integers(
        &mut self,
        steps: Vec<Step>,
        value: Expr,
        cells: &mut [Expr],
    ) -> (Vec<Step>, Expr) {
        let mut known: FxHashMap<VarId, size::Expr> = FxHashMap::default();
        let mut kept = Vec::new();
        let mut value = value;
        for mut step in steps {
            match &mut step {
                Step::Loop(binder) => {
                    self.pass.replace_indices(&mut binder.lo, &known);
                    self.pass.replace_indices(&mut binder.hi, &known);
                }
                Step::Guard(cond) => self.pass.replace_indices(cond, &known),
                Step::Let(var, value) => {
                    self.pass.replace_indices(value, &known);
                    if value.ty == Type::I32
                        && let Some(size) = self.pass.size_of(value)
                    {
                        known.insert(*var, size);
                        continue;
                    }
                }
            }
            kept.push(step);
        }
        self.pass.replace_indices(&mut value, &known);
        cells.iter_mut().for_each(|cell| self.pass.replace_indices(cell, &known));
        (kept, value)
    }

    /// Narrows the domain of a loop so that `a <= b` holds for all of it.
    fn tighten(&mut self, steps: &mut [Step], a: &size::Expr, b: &size::Expr, span: Span) -> bool {
        let difference = b.sub(a);
        let mut needed = FxHashSet::default();
        self.size_variables(&difference, &mut needed);
        // The innermost loop that is mentioned; the others must be there before it, and so must every
        // array whose extent is.
        for step in steps.iter_mut().rev() {
            match step {
                Step::Loop(binder) if needed.contains(&binder.var) => {
                    let atom = self.pass.atom_of(binder.var);
                    return self.pass.narrow(binder, atom, &difference, span);
                }
                Step::Let(var, _) if needed.contains(var) => return false,
                Step::Loop(_) | Step::Let(..) | Step::Guard(_) => {}
            }
        }
        false
    }

    /// Puts guards as far out as their loops allow, before what was there: the point must exist
    /// before anything is computed at it.
    fn with_guards(&mut self, steps: Vec<Step>, guards: Vec<Expr>) -> Vec<Step> {
        let mut open: Vec<(Expr, FxHashSet<VarId>)> = Vec::new();
        for guard in guards {
            let mut used = FxHashSet::default();
            self.variables(&guard, &mut used);
            open.push((guard, used));
        }
        let mut bound: FxHashSet<VarId> = FxHashSet::default();
        let pending: FxHashSet<VarId> = steps
            .iter()
            .filter_map(|step| match step {
                Step::Loop(binder) => Some(binder.var),
                Step::Let(var, _) => Some(*var),
                Step::Guard(_) => None,
            })
            .collect();
        let mut result = Vec::new();
        let flush = |open: &mut Vec<(Expr, FxHashSet<VarId>)>,
                     bound: &FxHashSet<VarId>,
                     result: &mut Vec<Step>| {
            let mut rest = Vec::new();
            for (guard, used) in open.drain(..) {
                let ready = used.iter().all(|var| !pending.contains(var) || bound.contains(var));
                if ready {
                    if !matches!(&*guard.kind, ExprKind::Const(Scalar::Bool(true))) {
                        result.push(Step::Guard(guard));
                    }
                } else {
                    rest.push((guard, used));
                }
            }
            *open = rest;
        };
        flush(&mut open, &bound, &mut result);
        for step in steps {
            match &step {
                Step::Loop(binder) => {
                    bound.insert(binder.var);
                }
                Step::Let(var, _) => {
                    bound.insert(*var);
                }
                Step::Guard(_) => {}
            }
            result.push(step);
            flush(&mut open, &bound, &mut result);
        }
        result
    }
}

impl Pass<'_> {
    /// Narrows the domain of a loop so that a size that is affine in its index is never below zero.
    /// Returns whether it was.
    pub(in crate::autodiff) fn narrow(
        &mut self,
        binder: &mut Binder,
        index: Atom,
        size: &size::Expr,
        span: Span,
    ) -> bool {
        let Some((coefficient, rest)) = size.affine_in(index) else { return false };
        if coefficient == 0 {
            return false;
        }
        // Plain arithmetic, which engines compute for every row.
        let by = coefficient.abs();
        let limit = match coefficient > 0 {
            // c · k + rest >= 0: k >= -rest / c, rounded up
            true => rest.neg().offset(by - 1),
            // k <= rest / c, and one more is not inside
            false => rest.offset(by),
        };
        let mut limit = self.size_expr(&limit, span);
        if by > 1 {
            limit = self.arith(BinaryOp::FloorDiv, limit, Expr::int(by, span));
        }
        let (op, bound) = match coefficient > 0 {
            true => (BinaryOp::Max, &mut binder.lo),
            false => (BinaryOp::Min, &mut binder.hi),
        };
        *bound = self.arith(op, bound.clone(), limit);
        true
    }
}

/// What is bound on the way to the points and differs from point to point: data, whose name says
/// nothing of where it is.
fn moving(reverse: &Reverse<'_, '_>, steps: &[Step]) -> FxHashSet<VarId> {
    let mut moving: FxHashSet<VarId> = FxHashSet::default();
    let mut bound: FxHashSet<VarId> = FxHashSet::default();
    for step in steps {
        match step {
            Step::Loop(binder) => {
                moving.insert(binder.var);
            }
            Step::Let(var, value) => {
                let mut used = FxHashSet::default();
                reverse.variables(value, &mut used);
                if !used.is_disjoint(&moving) {
                    moving.insert(*var);
                    bound.insert(*var);
                }
            }
            Step::Guard(_) => {}
        }
    }
    bound
}

/// The variable that a step binds.
fn bound_by(step: &Step) -> Option<VarId> {
    match step {
        Step::Loop(Binder { var, .. }) | Step::Let(var, _) => Some(*var),
        Step::Guard(_) => None,
    }
}

/// Takes out what is bound and neither the steps after it nor these need: it comes behind these.
fn behind(reverse: &Reverse<'_, '_>, left: &mut Vec<Step>, late: &[Step]) -> Vec<Step> {
    let mut used = FxHashSet::default();
    let note = |step: &Step, used: &mut FxHashSet<VarId>| match step {
        Step::Loop(Binder { lo, hi, .. }) => {
            reverse.variables(lo, used);
            reverse.variables(hi, used);
        }
        Step::Let(_, e) | Step::Guard(e) => reverse.variables(e, used),
    };
    late.iter().for_each(|step| note(step, &mut used));
    let (mut kept, mut bound) = (Vec::new(), Vec::new());
    for step in std::mem::take(left).into_iter().rev() {
        if matches!(&step, Step::Let(var, _) if !used.contains(var)) {
            bound.push(step);
        } else {
            note(&step, &mut used);
            kept.push(step);
        }
    }
    kept.reverse();
    bound.reverse();
    *left = kept;
    bound
}
