//! What does not change along a loop of a definition.
//!
//! Before:  `w[t, p] = w[t - 1, p] - g[p] where g = gradient(w[t - 1])`, `g` at every point
//! After:   `g` once for every `t`
//!
//! A binding takes effect at the outermost place where all its names are known, so its value is kept
//! while the indices that it depends on stay the same. A binding that depends on nothing but the
//! steps of a recurrence is also offered to the accelerator: there are few steps, and one after
//! another, so a kernel for each is a gain where the whole recurrence could not be one.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use ein_ir::size;
use ein_ir::tensor::walk::each_child;
use ein_ir::tensor::{
    AtomDef, Clause, ClauseSlot, Expr, ExprKind, Item, Program, Recurrence, Stmt, StmtKind, VarId,
};

use crate::machine::Machine;
use crate::stop::{MarkKind, Stop};
use crate::value::Value;

/// Values of bindings with those of the indices that they were computed for, by the address of the
/// binding.
#[derive(Default)]
pub(crate) struct Held(BTreeMap<usize, (Vec<Value>, Value)>);

/// For each binding of a clause that some loop of it does not change: the indices that do, by the
/// address of the value.
pub(crate) type Steady = Rc<BTreeMap<usize, Vec<VarId>>>;

impl<'p> Machine<'p> {
    /// The value of a clause at a point, with what does not change kept in `held`. In a recurrence,
    /// `order` says which axes are its steps.
    pub(crate) fn steady_value(
        &mut self,
        clause: &'p Clause,
        held: &mut Held,
        order: Option<&'p Recurrence>,
    ) -> Result<Option<Value>, Stop> {
        let binds =
            !clause.items.is_empty() || matches!(*clause.value.kind, ExprKind::Block { .. });
        let steady = if binds { self.steady(clause) } else { Steady::default() };
        if steady.is_empty() {
            return self.clause_value(clause);
        }
        for item in &clause.items {
            match item {
                Item::Let(var, value) => match steady.get(&address(value)) {
                    Some(along) => self.keep(*var, value, along, held, steps(clause, order))?,
                    None => {
                        let value = self.eval(value)?;
                        self.bind(*var, value);
                    }
                },
                Item::Guard(guard) => {
                    if !self.truth(guard)? {
                        let otherwise = clause.otherwise.as_ref();
                        return otherwise.map(|value| self.eval(value)).transpose();
                    }
                }
            }
        }
        let ExprKind::Block { stmts, value } = &*clause.value.kind else {
            return self.eval(&clause.value).map(Some);
        };
        for stmt in stmts {
            match bound_in(stmt).and_then(|(var, e)| Some((var, e, steady.get(&address(e))?))) {
                Some((var, value, along)) => {
                    let marks = self.marks.len();
                    self.push_mark(MarkKind::Let(var));
                    self.keep(var, value, along, held, steps(clause, order))?;
                    self.marks.truncate(marks);
                }
                None => self.stmt(stmt)?,
            }
        }
        self.eval(value).map(Some)
    }

    /// Binds a variable to what is held, or to its value for the indices `along`.
    fn keep(
        &mut self,
        var: VarId,
        e: &'p Expr,
        along: &[VarId],
        held: &mut Held,
        steps: Vec<VarId>,
    ) -> Result<(), Stop> {
        let at: Vec<Value> =
            along.iter().filter_map(|index| self.var_if_bound(*index).cloned()).collect();
        let known = held.0.get(&address(e)).filter(|(before, _)| same(before, &at));
        let value = match known {
            Some((_, value)) => value.clone(),
            None => {
                let ordered = !steps.is_empty() && along.iter().all(|index| steps.contains(index));
                let value = self.at_step(e, ordered)?;
                held.0.insert(address(e), (at, value.clone()));
                value
            }
        };
        self.bind(var, value);
        Ok(())
    }

    /// A value that is computed once in a step of a recurrence, if `ordered`.
    pub(crate) fn at_step(&mut self, e: &'p Expr, ordered: bool) -> Result<Value, Stop> {
        let before = self.ordered;
        if ordered && self.in_order() {
            self.ordered = self.marks.len();
        }
        let value = match self.accelerate_in_step(e) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => self.eval(e),
            Err(stop) => Err(stop),
        };
        self.ordered = before;
        value
    }

    /// What the loops of a clause do not change, found once for each clause.
    fn steady(&mut self, clause: &'p Clause) -> Steady {
        let key = std::ptr::from_ref(clause) as usize;
        if let Some(known) = self.steady.get(&key) {
            return Rc::clone(known);
        }
        let found = Rc::new(find(self.program, clause));
        self.steady.insert(key, Rc::clone(&found));
        found
    }
}

fn address(e: &Expr) -> usize {
    std::ptr::from_ref(e) as usize
}

fn bound_in(stmt: &Stmt) -> Option<(VarId, &Expr)> {
    match &stmt.kind {
        StmtKind::Let(var, value) => Some((*var, value)),
        StmtKind::Destructure(..) | StmtKind::Expr(_) | StmtKind::Require(_) => None,
    }
}

fn same(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.as_scalar() == b.as_scalar())
}

/// The indices of a clause, by axis.
fn indices(clause: &Clause) -> impl Iterator<Item = (usize, VarId)> + '_ {
    clause.slots.iter().enumerate().filter_map(|(axis, slot)| match slot {
        ClauseSlot::Loop(binder) => Some((axis, binder.var)),
        ClauseSlot::Point(_) => None,
    })
}

/// The indices of a clause that are steps of its recurrence.
pub(crate) fn steps(clause: &Clause, order: Option<&Recurrence>) -> Vec<VarId> {
    let Some(order) = order else { return Vec::new() };
    let is_step = |axis: usize| order.axes.iter().any(|step| step.axis == axis);
    indices(clause).filter(|(axis, _)| is_step(*axis)).map(|(_, var)| var).collect()
}

fn find(program: &Program, clause: &Clause) -> BTreeMap<usize, Vec<VarId>> {
    let mut found = BTreeMap::new();
    let own: Vec<VarId> = indices(clause).map(|(_, var)| var).collect();
    let stmts: &[Stmt] = match &*clause.value.kind {
        ExprKind::Block { stmts, .. } => stmts,
        _ => &[],
    };
    let items = clause.items.iter().filter_map(|item| match item {
        Item::Let(var, value) => Some((*var, value)),
        Item::Guard(_) => None,
    });
    // What each binding so far depends on, among the indices.
    let mut known: BTreeMap<VarId, BTreeSet<VarId>> =
        own.iter().map(|var| (*var, BTreeSet::from([*var]))).collect();
    for (var, value) in items.chain(stmts.iter().filter_map(bound_in)) {
        let mut used = BTreeSet::new();
        variables(program, value, &mut used);
        let along: BTreeSet<VarId> =
            used.iter().filter_map(|var| known.get(var)).flatten().copied().collect();
        if along.len() < own.len() {
            let in_order = own.iter().copied().filter(|var| along.contains(var)).collect();
            found.insert(address(value), in_order);
        }
        known.insert(var, along);
    }
    // A pattern binds what it takes apart; nothing above says on what that depends.
    if stmts.iter().any(|stmt| matches!(stmt.kind, StmtKind::Destructure(..))) {
        return BTreeMap::new();
    }
    found
}

/// The variables that a value mentions, in its sizes as well.
fn variables(program: &Program, e: &Expr, used: &mut BTreeSet<VarId>) {
    let mut in_size = |size: &size::Expr| {
        for atom in size.atoms() {
            // Sizes of types that nobody computes may be no atoms of the program.
            match program.atoms.get(atom).map(|atom| atom.def) {
                Some(AtomDef::Var(var) | AtomDef::Extent(var, _) | AtomDef::Length(var)) => {
                    used.insert(var);
                }
                Some(AtomDef::Unknown) | None => {}
            }
        }
    };
    e.ty.axes().iter().for_each(|axis| in_size(&axis.size));
    match &*e.kind {
        ExprKind::Size(size) => in_size(size),
        ExprKind::Call { sizes, .. } => sizes.iter().for_each(in_size),
        ExprKind::Tensor(tensor) => tensor.shape.iter().flatten().for_each(in_size),
        ExprKind::Scatter(scatter) => scatter.shape.iter().for_each(in_size),
        ExprKind::Var(var) => {
            used.insert(*var);
        }
        _ => {}
    }
    each_child(e, &mut |child| variables(program, child, used));
}
