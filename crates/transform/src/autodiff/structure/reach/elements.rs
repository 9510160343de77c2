//! What an element of an expression reaches, construct by construct.

use super::{Position, Reach, Value, is_int};
use crate::autodiff::pattern::bound_by;
use crate::autodiff::structure::Leaf;
use crate::autodiff::tangent::moves;
use ein_ir::size;
use ein_ir::tensor::{
    Arm, Binder, Clause, ClauseSlot, Expr, ExprKind, HostOp, Item, Pattern, Reduce, Stmt, StmtKind,
    Tensor, VarId,
};

impl Reach<'_, '_> {
    /// What an element reaches.
    pub(super) fn reach(&mut self, e: &Expr, at: &[Position]) -> Vec<Leaf> {
        if matches!(&*e.kind, ExprKind::Error) || self.left == 0 {
            return vec![self.everything()];
        }
        self.left -= 1;
        if !moves(&e.ty) {
            return Vec::new();
        }
        match &*e.kind {
            ExprKind::Const(_)
            | ExprKind::Str(_)
            | ExprKind::Unit
            | ExprKind::Size(_)
            | ExprKind::Range(..)
            | ExprKind::And(..)
            | ExprKind::Or(..) => Vec::new(),
            ExprKind::Var(var) => {
                let value = self.values.get(var).cloned().unwrap_or(Value::Still);
                self.read(&value, at)
            }
            ExprKind::TupleGet(..) | ExprKind::FieldGet(..) => {
                let value = self.parts(e);
                self.read(&value, at)
            }
            ExprKind::Unary(_, a) | ExprKind::Cast(a) => self.reach(a, at),
            ExprKind::Assert { value, .. } => self.reach(value, at),
            ExprKind::Binary(_, a, b) => {
                let leaves = self.reach(a, at);
                let more = self.reach(b, at);
                self.both(leaves, more)
            }
            ExprKind::If { cond, then, otherwise } => {
                let known = self.facts.len();
                self.assume(cond, true);
                let leaves = self.reach(then, at);
                self.forget(known);
                self.assume(cond, false);
                let more = self.reach(otherwise, at);
                self.forget(known);
                self.both(leaves, more)
            }
            ExprKind::Block { stmts, value } => {
                let known = self.facts.len();
                self.stmts(stmts);
                let leaves = self.reach(value, at);
                self.forget(known);
                leaves
            }
            ExprKind::Match { value, arms } => self.arms(value, arms, at),
            ExprKind::Tensor(tensor) => match tensor.self_var {
                None => self.clauses(tensor, at),
                Some(self_var) => {
                    let value = self.recurrence(self_var, e, tensor);
                    self.read(&value, at)
                }
            },
            ExprKind::Reduce(reduce) => self.reduce(reduce),
            ExprKind::Index { base, indices } => {
                let mut all = self.indices(base, indices);
                all.extend_from_slice(at);
                self.reach(base, &all)
            }
            ExprKind::Slice { base, axis, lo, .. } => {
                let mut at = at.to_vec();
                if let Some(lo) = lo {
                    let lo = self.index(lo, &base.ty.axes()[*axis].size);
                    at[*axis] = at[*axis].as_ref().zip(lo).map(|(at, lo)| at.add(&lo));
                }
                self.reach(base, &at)
            }
            ExprKind::Gather { base, axis, .. } => {
                let mut at = at.to_vec();
                at[*axis] = None;
                self.reach(base, &at)
            }
            ExprKind::Permute { base, order } => {
                let mut there = vec![None; at.len()];
                for (at, axis) in at.iter().zip(order) {
                    there[*axis] = at.clone();
                }
                self.reach(base, &there)
            }
            ExprKind::Join { axis, left, right } => self.join(*axis, left, right, at),
            ExprKind::Array(items) => self.literal(items, at),
            ExprKind::Call { func, closure: None, args, .. } if self.is_of_numbers(*func, args) => {
                let mut leaves = Vec::new();
                for arg in args {
                    let more = self.reach(arg, &[]);
                    leaves = self.both(leaves, more);
                }
                leaves
            }
            ExprKind::Call { .. } => match self.enter_call(e) {
                Some(body) => {
                    let known = self.facts.len();
                    let leaves = self.reach(&body, at);
                    self.forget(known);
                    self.open.pop();
                    leaves
                }
                None => self.anything(e),
            },
            ExprKind::Host(HostOp::ZerosLike, _) => Vec::new(),
            ExprKind::Host(HostOp::Convert, args)
                if args.len() == 1 && args[0].ty.rank() == at.len() =>
            {
                self.reach(&args[0], at)
            }
            ExprKind::Scatter(_)
            | ExprKind::Comprehension { .. }
            | ExprKind::Tuple(_)
            | ExprKind::Make { .. }
            | ExprKind::CallValue { .. }
            | ExprKind::Closure { .. }
            | ExprKind::Specialise { .. }
            | ExprKind::Host(..)
            | ExprKind::Try(_)
            | ExprKind::Derivative(_)
            | ExprKind::Error => self.anything(e),
        }
    }

    /// An element of a value with a name.
    pub(super) fn read(&mut self, value: &Value, at: &[Position]) -> Vec<Leaf> {
        let structure = match value {
            Value::Still => return Vec::new(),
            Value::Array(structure) if structure.at.len() == at.len() => structure,
            Value::Array(_) | Value::Parts(_) | Value::Anything => {
                return vec![self.everything()];
            }
        };
        let atoms: Vec<size::Atom> =
            structure.at.iter().map(|var| self.pass.atom_of(*var)).collect();
        let place = |size: &size::Expr| -> Position {
            for (atom, at) in atoms.iter().zip(at) {
                if at.is_none() && size.mentions(*atom) {
                    return None;
                }
            }
            Some(size.substitute(&|atom| {
                let axis = atoms.iter().position(|own| *own == atom)?;
                at[axis].clone()
            }))
        };
        let spans = structure.windows.iter().map(|window| {
            let window = window.as_ref()?;
            let lo = place(&window.lo)?;
            let hi = lo.offset(window.width - 1);
            Some((lo, hi))
        });
        let spans = spans.collect();
        vec![Leaf { spans, facts: self.known() }]
    }

    pub(super) fn clauses(&mut self, tensor: &Tensor, at: &[Position]) -> Vec<Leaf> {
        let mut leaves = Vec::new();
        for clause in &tensor.clauses {
            let more = self.clause(clause, at);
            leaves = self.both(leaves, more);
        }
        leaves
    }

    pub(super) fn clause(&mut self, clause: &Clause, at: &[Position]) -> Vec<Leaf> {
        let known = self.facts.len();
        for (slot, at) in clause.slots.iter().zip(at) {
            match slot {
                ClauseSlot::Point(point) => {
                    if let Some(at) = at
                        && *point >= 0
                    {
                        self.facts.eq(at, &size::Expr::constant(*point));
                        self.seen = None;
                    }
                }
                ClauseSlot::Loop(binder) => {
                    let (lo, hi) = (self.int(&binder.lo), self.int(&binder.hi));
                    self.ints.insert(binder.var, at.clone());
                    if let Some(at) = at {
                        self.assume_range(at, &lo, &hi);
                    }
                }
            }
        }
        let rest = at.get(clause.slots.len()..).unwrap_or(&[]);
        let inside = self.facts.len();
        self.items(&clause.items);
        let mut leaves = self.reach(&clause.value, rest);
        self.forget(inside);
        if let Some(otherwise) = &clause.otherwise {
            let more = self.reach(otherwise, rest);
            leaves = self.both(leaves, more);
        }
        self.forget(known);
        leaves
    }

    pub(super) fn items(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Let(var, value) => self.bind_inside(*var, value),
                Item::Guard(cond) => self.assume(cond, true),
            }
        }
    }

    pub(super) fn stmts(&mut self, stmts: &[Stmt]) {
        for stmt in stmts {
            match &stmt.kind {
                StmtKind::Let(var, value) => self.bind_inside(*var, value),
                StmtKind::Destructure(pattern, value) => {
                    let value = self.value(value);
                    self.take_apart(pattern, &value);
                }
                StmtKind::Expr(_) | StmtKind::Require(_) => {}
            }
        }
    }

    /// The same as `bind` where a variable that is data has another value each time.
    pub(super) fn bind_inside(&mut self, var: VarId, value: &Expr) {
        if is_int(&value.ty) {
            let known = self.int(value);
            self.ints.insert(var, known);
        } else {
            self.bind(var, value);
        }
    }

    pub(super) fn take_apart(&mut self, pattern: &Pattern, value: &Value) {
        if let (Pattern::Tuple(items), Value::Parts(parts)) = (pattern, value) {
            for (item, part) in items.iter().zip(parts) {
                self.take_apart(item, part);
            }
            return;
        }
        let mut bound = Vec::new();
        bound_by(pattern, &mut bound);
        for var in bound {
            let value = match (pattern, value) {
                (Pattern::Bind(_), value) => value.clone(),
                (_, Value::Still) => Value::Still,
                _ => Value::Anything,
            };
            self.ints.insert(var, None);
            self.values.insert(var, value);
        }
    }

    pub(super) fn arms(&mut self, value: &Expr, arms: &[Arm], at: &[Position]) -> Vec<Leaf> {
        let value = self.value(value);
        let mut leaves = Vec::new();
        for arm in arms {
            self.take_apart(&arm.pattern, &value);
            let more = self.reach(&arm.value, at);
            leaves = self.both(leaves, more);
        }
        leaves
    }

    pub(super) fn reduce(&mut self, reduce: &Reduce) -> Vec<Leaf> {
        let known = self.facts.len();
        let mut ends = Vec::new();
        for Binder { var, lo, hi } in &reduce.binders {
            let (lo, hi) = (self.int(lo), self.int(hi));
            self.ints.remove(var);
            let at = self.atom(*var);
            self.assume_range(&at, &lo, &hi);
            ends.push((self.pass.atom_of(*var), lo, hi));
        }
        self.items(&reduce.items);
        let mut leaves = self.reach(&reduce.value, &[]);
        self.forget(known);
        for (atom, lo, hi) in ends.into_iter().rev() {
            let last = hi.map(|hi| hi.offset(-1));
            for span in leaves.iter_mut().flat_map(|leaf| &mut leaf.spans) {
                let Some((first, end)) = span else { continue };
                let first = extreme(first, atom, lo.as_ref(), last.as_ref());
                let end = extreme(end, atom, last.as_ref(), lo.as_ref());
                *span = first.zip(end);
            }
        }
        leaves
    }

    pub(super) fn join(
        &mut self,
        axis: usize,
        left: &Expr,
        right: &Expr,
        at: &[Position],
    ) -> Vec<Leaf> {
        let length = if left.ty.rank() == at.len() {
            self.resolved(&left.ty.axes()[axis].size)
        } else {
            size::Expr::one()
        };
        let there = |e: &Expr, position: Position| {
            let mut at = at.to_vec();
            at[axis] = position;
            if e.ty.rank() < at.len() {
                at.remove(axis);
            }
            at
        };
        let known = self.facts.len();
        if let Some(at) = &at[axis] {
            self.assume_range(at, &None, &Some(length.clone()));
        }
        let leaves = self.reach(left, &there(left, at[axis].clone()));
        self.forget(known);
        if let Some(at) = &at[axis] {
            self.assume_range(at, &Some(length.clone()), &None);
        }
        let moved = at[axis].as_ref().map(|at| at.sub(&length));
        let more = self.reach(right, &there(right, moved));
        self.forget(known);
        self.both(leaves, more)
    }

    pub(super) fn literal(&mut self, items: &[Expr], at: &[Position]) -> Vec<Leaf> {
        let Some((first, rest)) = at.split_first() else { return vec![self.everything()] };
        let mut leaves = Vec::new();
        for (number, item) in items.iter().enumerate() {
            let known = self.facts.len();
            if let Some(first) = first {
                self.facts.eq(first, &size::Expr::constant(number as i64));
                self.seen = None;
            }
            let more = self.reach(item, rest);
            self.forget(known);
            leaves = self.both(leaves, more);
        }
        leaves
    }
}

/// The end of a span when an index runs from `low` to `high`: the least value if these are its ends
/// in order, the greatest if they are turned around. `None` if it is not affine in the index.
fn extreme(
    size: &size::Expr,
    index: size::Atom,
    low: Option<&size::Expr>,
    high: Option<&size::Expr>,
) -> Position {
    let (coefficient, rest) = size.affine_in(index)?;
    match coefficient {
        0 => Some(rest),
        positive if positive > 0 => Some(rest.add(&low?.scale(positive))),
        negative => Some(rest.add(&high?.scale(negative))),
    }
}
