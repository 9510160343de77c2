//! What may fail where less stands around it than in the program.
//!
//! A read in a loop is proved to be in bounds at the points of the loop. An adjoint that leaves the loop
//! out, because the value does not mention it, asks for the value where the loop has no points as well:
//! there the proof does not hold (loop-invariant code motion out of a loop that may run zero times). So
//! what is moved either cannot fail, or stays behind a condition that says when the loop has points.

use super::{Reverse, Step};
use ein_ir::size::{self, Facts, prove_le};
use ein_ir::tensor::walk::each_child;
use ein_ir::tensor::{
    Binder, Bounds, ClauseSlot, Expr, ExprKind, FuncId, Item, Reduce, ReduceOp, StmtKind, Tensor,
    Type,
};
use ein_scalar::{BinaryOp, ScalarType};
use rustc_hash::FxHashSet;

/// How surely a step of a way has points.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    /// At every point of the loops before it.
    Surely,
    /// At all points of the loops before it or at none: its ends do not mention them.
    Alike,
    /// At some of them perhaps.
    Perhaps,
}

impl Runs {
    /// Of a loop in a loop.
    pub(super) fn and(self, inner: Runs) -> Runs {
        match (self, inner) {
            (Runs::Surely, runs) | (runs, Runs::Surely) => runs,
            (Runs::Alike, Runs::Alike) => Runs::Alike,
            (Runs::Perhaps, _) | (_, Runs::Perhaps) => Runs::Perhaps,
        }
    }
}

impl Reverse<'_, '_> {
    /// Whether an expression has a value whatever stands around it but these facts, so that it may be
    /// asked for where there is no point at all.
    pub(super) fn never_fails(&mut self, e: &Expr, facts: &Facts) -> bool {
        if self.pass.size_of(e).is_some() {
            return true;
        }
        match &*e.kind {
            ExprKind::Const(_) | ExprKind::Str(_) | ExprKind::Unit | ExprKind::Var(_) => true,
            ExprKind::Size(_) => true,
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                self.never_fails(a, facts) && self.never_fails(b, facts)
            }
            ExprKind::Binary(_, a, b) => {
                !operation_fails(e) && self.never_fails(a, facts) && self.never_fails(b, facts)
            }
            ExprKind::Unary(_, a) => !operation_fails(e) && self.never_fails(a, facts),
            ExprKind::If { cond, then, otherwise } => {
                [cond, then, otherwise].into_iter().all(|part| self.never_fails(part, facts))
            }
            ExprKind::Index { base, indices } => {
                self.never_fails(base, facts)
                    && indices.iter().zip(base.ty.axes()).all(|(index, axis)| {
                        self.pass.size_of(&index.value).is_some_and(|at| {
                            prove_le(facts, &size::Expr::zero(), &at).is_proved()
                                && prove_le(facts, &at.offset(1), &axis.size).is_proved()
                        })
                    })
            }
            ExprKind::Tuple(parts) | ExprKind::Array(parts) => {
                parts.iter().all(|part| self.never_fails(part, facts))
            }
            ExprKind::Make { fields, .. } => {
                fields.iter().all(|part| self.never_fails(part, facts))
            }
            // Conversions saturate or wrap.
            ExprKind::Cast(part)
            | ExprKind::TupleGet(part, _)
            | ExprKind::FieldGet(part, _)
            | ExprKind::Permute { base: part, .. } => self.never_fails(part, facts),
            ExprKind::Join { left, right, .. } => {
                self.never_fails(left, facts) && self.never_fails(right, facts)
            }
            ExprKind::Block { stmts, value } => {
                stmts.iter().all(|stmt| match &stmt.kind {
                    StmtKind::Let(_, value) => self.never_fails(value, facts),
                    StmtKind::Destructure(..) | StmtKind::Expr(_) | StmtKind::Require(_) => false,
                }) && self.never_fails(value, facts)
            }
            ExprKind::Tensor(tensor) => definition_never_fails(self, tensor, facts),
            ExprKind::Reduce(reduce) => reduction_never_fails(self, reduce, facts),
            ExprKind::Call { func, closure, args, .. } => {
                closure.iter().chain(args).all(|part| self.never_fails(part, facts))
                    && body_never_fails(self, *func)
            }
            ExprKind::Closure { captures, .. } => {
                captures.iter().all(|part| self.never_fails(part, facts))
            }
            ExprKind::Specialise { value, .. } => self.never_fails(value, facts),
            ExprKind::Match { .. }
            | ExprKind::Scatter(_)
            | ExprKind::Slice { .. }
            | ExprKind::Gather { .. }
            | ExprKind::Comprehension { .. }
            | ExprKind::CallValue { .. }
            | ExprKind::Range(..)
            | ExprKind::Try(_)
            | ExprKind::Host(..)
            | ExprKind::Assert { .. }
            | ExprKind::Derivative(_)
            | ExprKind::Error => false,
        }
    }
}

/// Whether a loop has points.
pub(super) fn has_points(binder: &Binder, span: ein_base::Span) -> Expr {
    let some = ExprKind::Binary(BinaryOp::Lt, binder.lo.clone(), binder.hi.clone());
    Expr::new(some, Type::BOOL, span)
}

/// Whether a scalar operation that is no arithmetic of sizes may fail.
fn operation_fails(e: &Expr) -> bool {
    e.ty.scalar().is_none_or(|ty| ty != ScalarType::Bool && !ty.is_float())
}

/// Whether a reduction has a value if all its points have: one of nothing may have none, and the sum
/// of integers may be too large.
fn never_fails_itself(reduce: &Reduce) -> bool {
    match reduce.op {
        ReduceOp::Max | ReduceOp::Min | ReduceOp::Argmax | ReduceOp::Argmin => false,
        ReduceOp::Sum | ReduceOp::Prod => {
            reduce.value.ty.scalar().is_some_and(ScalarType::is_float)
        }
        ReduceOp::Mean | ReduceOp::Any | ReduceOp::All | ReduceOp::Count => true,
    }
}

fn definition_never_fails(it: &mut Reverse<'_, '_>, tensor: &Tensor, facts: &Facts) -> bool {
    if tensor.self_var.is_some() || !tensor.requires.is_empty() {
        return false;
    }
    tensor.clauses.iter().all(|clause| {
        let mut facts = facts.clone();
        clause.until.is_none()
            && clause.slots.iter().all(|slot| match slot {
                ClauseSlot::Point(_) => true,
                ClauseSlot::Loop(binder) => has_ends(it, binder, &mut facts),
            })
            && items_never_fail(it, &clause.items, &facts)
            && [Some(&clause.value), clause.otherwise.as_ref()]
                .into_iter()
                .flatten()
                .all(|value| it.never_fails(value, &facts))
    })
}

fn reduction_never_fails(it: &mut Reverse<'_, '_>, reduce: &Reduce, facts: &Facts) -> bool {
    let mut facts = facts.clone();
    never_fails_itself(reduce)
        && reduce.requires.is_empty()
        && reduce.binders.iter().all(|binder| has_ends(it, binder, &mut facts))
        && items_never_fail(it, &reduce.items, &facts)
        && it.never_fails(&reduce.value, &facts)
}

fn items_never_fail(it: &mut Reverse<'_, '_>, items: &[Item], facts: &Facts) -> bool {
    items.iter().all(|item| match item {
        Item::Let(_, e) | Item::Guard(e) => it.never_fails(e, facts),
    })
}

/// Whether the ends of a loop are sizes; what it says about its index is a fact from here on.
fn has_ends(it: &mut Reverse<'_, '_>, binder: &Binder, facts: &mut Facts) -> bool {
    let known = it.pass.size_of(&binder.lo).is_some() && it.pass.size_of(&binder.hi).is_some();
    it.loop_facts(binder, facts);
    known
}

/// Whether the body of a function has a value whatever its arguments are: its reads are proved by
/// what stands around them in the body.
fn body_never_fails(it: &mut Reverse<'_, '_>, func: FuncId) -> bool {
    let mut seen = FxHashSet::default();
    let mut open = vec![func];
    while let Some(func) = open.pop() {
        if !seen.insert(func) {
            // A function that calls itself may do so without end.
            return false;
        }
        let body = it.pass.program.funcs[func].body.clone();
        if !part_never_fails(it, &body, &mut open) {
            return false;
        }
    }
    true
}

fn part_never_fails(it: &mut Reverse<'_, '_>, e: &Expr, calls: &mut Vec<FuncId>) -> bool {
    if it.pass.size_of(e).is_some() {
        return true;
    }
    let own = match &*e.kind {
        ExprKind::Binary(..) | ExprKind::Unary(..) => !operation_fails(e),
        ExprKind::Index { indices, .. } => {
            indices.iter().all(|index| index.bounds == Bounds::Proved)
        }
        ExprKind::Tensor(tensor) => {
            tensor.requires.is_empty() && tensor.clauses.iter().all(|it| it.until.is_none())
        }
        ExprKind::Reduce(reduce) => reduce.requires.is_empty() && never_fails_itself(reduce),
        ExprKind::Block { stmts, .. } => {
            stmts.iter().all(|stmt| matches!(stmt.kind, StmtKind::Let(..)))
        }
        ExprKind::Call { func, closure, .. } => {
            calls.push(*func);
            closure.is_none()
        }
        ExprKind::Slice { .. }
        | ExprKind::Gather { .. }
        | ExprKind::Scatter(_)
        | ExprKind::Comprehension { .. }
        | ExprKind::CallValue { .. }
        | ExprKind::Closure { .. }
        | ExprKind::Specialise { .. }
        | ExprKind::Range(..)
        | ExprKind::Host(..)
        | ExprKind::Assert { .. }
        | ExprKind::Derivative(_)
        | ExprKind::Error => false,
        ExprKind::Const(_)
        | ExprKind::Str(_)
        | ExprKind::Unit
        | ExprKind::Var(_)
        | ExprKind::Size(_)
        | ExprKind::Cast(_)
        | ExprKind::And(..)
        | ExprKind::Or(..)
        | ExprKind::If { .. }
        | ExprKind::Match { .. }
        | ExprKind::Permute { .. }
        | ExprKind::Join { .. }
        | ExprKind::Array(_)
        | ExprKind::Tuple(_)
        | ExprKind::TupleGet(..)
        | ExprKind::Make { .. }
        | ExprKind::FieldGet(..)
        | ExprKind::Try(_) => true,
    };
    let mut parts = own;
    if own {
        each_child(e, &mut |child| parts = parts && part_never_fails(it, child, calls));
    }
    parts
}

/// Of each step of a way, how surely it has points, as far as the loops before it decide that.
pub(super) fn runs(it: &mut Reverse<'_, '_>, path: &[Step]) -> Vec<Runs> {
    let (mut facts, mut before) = (Facts::new(), FxHashSet::default());
    let mut runs = Vec::with_capacity(path.len());
    for step in path {
        let Step::Loop(binder) = step else {
            runs.push(Runs::Surely);
            continue;
        };
        runs.push(runs_beside(it, binder, &before, &facts));
        before.insert(binder.var);
        it.loop_facts(binder, &mut facts);
    }
    runs
}

/// How surely a loop has points beside loops over these indices.
pub(super) fn runs_beside(
    it: &mut Reverse<'_, '_>,
    binder: &Binder,
    before: &FxHashSet<ein_ir::tensor::VarId>,
    facts: &Facts,
) -> Runs {
    let ends = it.pass.size_of(&binder.lo).zip(it.pass.size_of(&binder.hi));
    if ends.is_some_and(|(lo, hi)| prove_le(facts, &lo.offset(1), &hi).is_proved()) {
        return Runs::Surely;
    }
    let mut used = FxHashSet::default();
    it.variables(&binder.lo, &mut used);
    it.variables(&binder.hi, &mut used);
    if used.is_disjoint(before) { Runs::Alike } else { Runs::Perhaps }
}
