//! Definitions: each region by its own clause. What a later clause replaces flows nowhere.

use super::{Done, Reverse, Step, element, proved};
use crate::autodiff::rename::Renaming;
use ein_ir::size::{self, Facts, prove_le};
use ein_ir::tensor::{
    Axis, Binder, Bounds, Clause, ClauseSlot, Expr, ExprKind, IndexArg, Item, Tensor, Type, VarId,
};
use ein_scalar::{BinaryOp, Scalar};

impl Reverse<'_, '_> {
    /// A definition that does not read itself.
    pub(super) fn pull_tensor(
        &mut self,
        tensor: &Tensor,
        e: &Expr,
        bar: Expr,
        own: Option<Expr>,
    ) -> Done {
        if tensor.self_var.is_some() {
            // A recurrence without a name of its own.
            let var = self.pass.local("$v", e.ty.clone(), e.span);
            let mut names = Renaming::default();
            let copy = self.pass.freshened(e, &mut names);
            let value = self.prim(&copy);
            self.keep(var, value);
            self.active.insert(var, Vec::new());
            let array = self.pass.var(var, e.span);
            self.pull_array(&array, bar)?;
            return self.settle(var, &copy);
        }
        if let Some(merged) = super::apart::merged(tensor) {
            let e = Expr::new(ExprKind::Tensor(merged.clone()), e.ty.clone(), e.span);
            return self.pull_tensor(&merged, &e, bar, own);
        }
        if let Some(block) = self.apart(tensor, e)
            && let ExprKind::Block { stmts, value } = &*block.kind
        {
            let mark = self.path.len();
            let done = self.pull_block(stmts, value, super::Seed::Value(bar), own);
            self.path.truncate(mark);
            return done;
        }
        for at in 0..tensor.clauses.len() {
            self.pull_clause(tensor, at, e, &bar, own.as_ref(), &Renaming::default())?;
        }
        Ok(())
    }

    /// One point of a definition that does not read itself.
    pub(super) fn pull_point(
        &mut self,
        var: VarId,
        tensor: &Tensor,
        e: &Expr,
        indices: &[IndexArg],
        seed: Expr,
    ) -> Done {
        let span = e.span;
        let at: Vec<Expr> = indices.iter().map(|index| index.value.clone()).collect();
        let own = element(self.pass.var(var, span), &at, span);
        let mark = self.path.len();
        for number in 0..tensor.clauses.len() {
            let clause = &tensor.clauses[number];
            let mut names = Renaming::default();
            let mut coords = Vec::new();
            for ((slot, place), axis) in clause.slots.iter().zip(&at).zip(0..) {
                let test = |op, a: Expr, b: Expr| {
                    Step::Guard(Expr::new(ExprKind::Binary(op, a, b), Type::BOOL, span))
                };
                match slot {
                    ClauseSlot::Point(point) => {
                        let here = Expr::int(*point, span);
                        self.push(test(BinaryOp::Eq, place.clone(), here.clone()));
                        coords.push(here);
                    }
                    ClauseSlot::Loop(binder) => {
                        let mut binder = binder.clone();
                        self.pass.freshen_binder(&mut binder, &mut names);
                        self.push(Step::Let(binder.var, place.clone()));
                        let here = self.pass.var(binder.var, span);
                        if !self.whole_axis(&binder, &e.ty.axes()[axis], &indices[axis]) {
                            self.push(test(BinaryOp::Le, binder.lo, here.clone()));
                            self.push(test(BinaryOp::Lt, here.clone(), binder.hi));
                        }
                        coords.push(here);
                    }
                }
            }
            self.shadows(&tensor.clauses[number + 1..], &coords, &names);
            let mut items = clause.items.clone();
            self.pass.freshen_items(&mut items, &mut names);
            let value = self.pass.freshened(&clause.value, &mut names);
            let before = self.path.len();
            let mut bound = Vec::new();
            self.items(&items, &mut bound);
            self.pull(&value, seed.clone(), Some(own.clone()))?;
            self.settle_all(&bound)?;
            self.path.truncate(before);
            self.pull_otherwise(clause, &items, &mut names, |it, otherwise| {
                it.pull(otherwise, seed.clone(), Some(own.clone()))
            })?;
            self.path.truncate(mark);
        }
        Ok(())
    }

    /// Whether a clause covers every position that an index is known to have.
    fn whole_axis(&mut self, binder: &Binder, axis: &Axis, index: &IndexArg) -> bool {
        let (lo, hi) = (self.pass.size_of(&binder.lo), self.pass.size_of(&binder.hi));
        index.bounds == Bounds::Proved
            && lo.is_some_and(|lo| lo.as_constant() == Some(0))
            && hi.is_some_and(|hi| hi.sub(&axis.size).as_constant() == Some(0))
    }

    /// The value where a guard fails.
    fn pull_otherwise(
        &mut self,
        clause: &Clause,
        items: &[Item],
        names: &mut Renaming,
        pull: impl FnOnce(&mut Self, &Expr) -> Done,
    ) -> Done {
        let Some(otherwise) = &clause.otherwise else { return Ok(()) };
        let span = clause.span;
        let otherwise = self.pass.freshened(otherwise, names);
        let mut bound = Vec::new();
        let first = items.iter().position(|item| matches!(item, Item::Guard(_)));
        self.items(&items[..first.unwrap_or(items.len())], &mut bound);
        let rest = &items[first.unwrap_or(items.len())..];
        let held = all_hold(rest, span);
        let held = self.prim(&held);
        self.push(Step::Guard(super::pull::negation(&held)));
        pull(self, &otherwise)?;
        self.settle_all(&bound)
    }

    /// One clause of a definition; `names` renames what the definition binds.
    pub(super) fn pull_clause(
        &mut self,
        tensor: &Tensor,
        at: usize,
        e: &Expr,
        bar: &Expr,
        own: Option<&Expr>,
        names: &Renaming,
    ) -> Done {
        let span = e.span;
        let clause = &tensor.clauses[at];
        // What moves may be bound on the way only.
        let bound = clause.items.iter().filter_map(|item| match item {
            Item::Let(_, value) => Some(value),
            Item::Guard(_) => None,
        });
        let mut parts = bound.chain([&clause.value]).chain(&clause.otherwise);
        let moving = parts.any(|e| self.depends_renamed(e, names));
        if !moving {
            return Ok(());
        }
        let mark = self.path.len();
        let mut names = names.clone();
        let mut coords = Vec::new();
        for slot in &clause.slots {
            match slot {
                ClauseSlot::Point(at) => coords.push(Expr::int(*at, span)),
                ClauseSlot::Loop(binder) => {
                    let mut binder = binder.clone();
                    self.pass.freshen_binder(&mut binder, &mut names);
                    coords.push(self.pass.var(binder.var, span));
                    self.push(Step::Loop(binder));
                }
            }
        }
        self.shadows(&tensor.clauses[at + 1..], &coords, &names);
        let mut items = clause.items.clone();
        self.pass.freshen_items(&mut items, &mut names);
        let value = self.pass.freshened(&clause.value, &mut names);
        let before = self.path.len();
        let mut bound = Vec::new();
        self.items(&items, &mut bound);
        self.clause_value(&value, &coords, bar, own)?;
        self.settle_all(&bound)?;
        self.path.truncate(before);
        self.pull_otherwise(clause, &items, &mut names, |it, otherwise| {
            it.clause_value(otherwise, &coords, bar, own)
        })?;
        self.path.truncate(mark);
        Ok(())
    }

    fn depends_renamed(&self, e: &Expr, names: &Renaming) -> bool {
        self.depends(e)
            || ein_ir::tensor::walk::any(e, &mut |part| match &*part.kind {
                ExprKind::Var(var) => {
                    names.vars.get(var).is_some_and(|new| self.active.contains_key(new))
                }
                _ => false,
            })
    }

    /// The value of a clause; an array-valued one element by element.
    fn clause_value(
        &mut self,
        value: &Expr,
        coords: &[Expr],
        bar: &Expr,
        own: Option<&Expr>,
    ) -> Done {
        let span = value.span;
        let mark = self.path.len();
        // What a call computes on the way to all its elements is pulled back once for all of them.
        if value.ty.is_array()
            && matches!(&*value.kind, ExprKind::Call { .. })
            && !coords.is_empty()
        {
            let row = self.bind("$s", element(bar.clone(), coords, span));
            let own = own.map(|own| element(own.clone(), coords, span));
            self.pull_array_owned(value, row, own)?;
            self.path.truncate(mark);
            return Ok(());
        }
        let mut at = coords.to_vec();
        let inner = bar.ty.axes()[coords.len()..].to_vec();
        for axis in &inner {
            at.push(self.full_loop(&axis.size, span));
        }
        let scalar = match value.ty.is_array() {
            true => {
                let indices = at[coords.len()..].iter().cloned().map(proved).collect();
                self.indexed(value, indices, span)?
            }
            false => value.clone(),
        };
        let seed = element(bar.clone(), &at, span);
        let own = own.map(|own| element(own.clone(), &at, span));
        self.pull(&scalar, seed, own)?;
        self.path.truncate(mark);
        Ok(())
    }

    /// Keeps out the points that a later clause covers.
    fn shadows(&mut self, later: &[Clause], coords: &[Expr], names: &Renaming) {
        for clause in later {
            let mut names = names.clone();
            let mut inside: Option<Expr> = None;
            let mut apart = false;
            for (slot, coord) in clause.slots.iter().zip(coords) {
                let span = coord.span;
                let mut test = |op, a: Expr, b: Expr, always: bool| {
                    if always {
                        return;
                    }
                    let one = Expr::new(ExprKind::Binary(op, a, b), Type::BOOL, span);
                    inside = Some(match inside.take() {
                        None => one,
                        Some(before) => Expr::new(ExprKind::And(before, one), Type::BOOL, span),
                    });
                };
                let place = self.pass.size_of(coord);
                let (lo, hi) = match slot {
                    ClauseSlot::Point(at) => {
                        (size::Expr::constant(*at), size::Expr::constant(at + 1))
                    }
                    ClauseSlot::Loop(binder) => {
                        let mut lo = binder.lo.clone();
                        let mut hi = binder.hi.clone();
                        self.pass.freshen(&mut lo, &mut names);
                        self.pass.freshen(&mut hi, &mut names);
                        // Later domains may mention this index.
                        let ExprKind::Var(here) = &*coord.kind else {
                            if let (Some(lo), Some(hi)) =
                                (self.pass.size_of(&lo), self.pass.size_of(&hi))
                            {
                                let facts = self.path_facts();
                                let place = place.clone().unwrap_or(size::Expr::zero());
                                apart |= prove_le(&facts, &hi, &place).is_proved()
                                    || prove_le(&facts, &place.offset(1), &lo).is_proved();
                            }
                            test(BinaryOp::Le, lo, coord.clone(), false);
                            test(BinaryOp::Lt, coord.clone(), hi, false);
                            continue;
                        };
                        names.vars.insert(binder.var, *here);
                        match (self.pass.size_of(&lo), self.pass.size_of(&hi)) {
                            (Some(lo), Some(hi)) => (lo, hi),
                            _ => {
                                test(BinaryOp::Le, lo, coord.clone(), false);
                                test(BinaryOp::Lt, coord.clone(), hi, false);
                                continue;
                            }
                        }
                    }
                };
                let Some(place) = place else { continue };
                let facts = self.path_facts();
                let below = prove_le(&facts, &place.offset(1), &lo).is_proved();
                let above = prove_le(&facts, &hi, &place).is_proved();
                apart |= below || above;
                let after_lo = prove_le(&facts, &lo, &place).is_proved();
                let before_hi = prove_le(&facts, &place.offset(1), &hi).is_proved();
                let lo = self.pass.size_expr(&lo, span);
                let hi = self.pass.size_expr(&hi, span);
                test(BinaryOp::Le, lo, coord.clone(), after_lo);
                test(BinaryOp::Lt, coord.clone(), hi, before_hi);
            }
            if apart {
                continue;
            }
            let guard = match inside {
                Some(inside) => super::pull::negation(&inside),
                None => {
                    let span = clause.span;
                    Expr::new(ExprKind::Const(Scalar::Bool(false)), Type::BOOL, span)
                }
            };
            self.push(Step::Guard(guard));
        }
    }

    /// What the loops on the way say about their indices.
    pub(super) fn path_facts(&mut self) -> Facts {
        let mut facts = Facts::new();
        for at in self.path.clone() {
            if let Step::Loop(binder) = self.steps[at].clone() {
                self.loop_facts(&binder, &mut facts);
            }
        }
        facts
    }

    pub(super) fn loop_facts(&mut self, binder: &Binder, facts: &mut Facts) {
        let atom = self.pass.atom_of(binder.var);
        let place = size::Expr::atom(atom);
        if let Some(lo) = self.pass.size_of(&binder.lo) {
            facts.le(&lo, &place);
        }
        if let Some(hi) = self.pass.size_of(&binder.hi) {
            facts.lt(&place, &hi);
        }
    }

    /// Bindings and guards of a clause or reduction.
    pub(super) fn items(&mut self, items: &[Item], bound: &mut Vec<(VarId, Expr)>) {
        for item in items {
            match item {
                Item::Let(var, value) => self.local(*var, value, bound),
                Item::Guard(cond) => {
                    let cond = self.prim(cond);
                    self.push(Step::Guard(cond));
                }
            }
        }
    }

    pub(super) fn settle_all(&mut self, bound: &[(VarId, Expr)]) -> Done {
        for (var, value) in bound.iter().rev() {
            self.settle(*var, value)?;
        }
        Ok(())
    }
}

/// Whether all guards hold, with the bindings between them.
fn all_hold(items: &[Item], span: ein_base::Span) -> Expr {
    let mut result: Option<Expr> = None;
    for item in items.iter().rev() {
        result = Some(match (item, result) {
            (Item::Guard(cond), None) => cond.clone(),
            (Item::Guard(cond), Some(rest)) => {
                Expr::new(ExprKind::And(cond.clone(), rest), Type::BOOL, span)
            }
            // A binding after the last guard decides nothing.
            (Item::Let(..), None) => {
                result = None;
                continue;
            }
            (Item::Let(var, value), Some(rest)) => {
                let stmts = vec![crate::autodiff::let_stmt(*var, value.clone())];
                Expr::new(ExprKind::Block { stmts, value: rest }, Type::BOOL, span)
            }
        });
    }
    result.unwrap_or_else(|| Expr::new(ExprKind::Const(Scalar::Bool(true)), Type::BOOL, span))
}
