//! Makes explicit what stands where a guard fails.
//!
//! Before:  `u[i: 0..n] = a`, `u[i: 0..n] = b where g(i)`: where `g` fails the first clause counts
//! After:   `u[i: 0..n] = b where g(i) else a`: every clause defines all points of its domain
//!
//! In a checked program a clause with a guard and without `else` defines only the points where the
//! guard holds. Here it gets the earlier clauses as its `else`, in copies that mention its own
//! indices, each under a test for its domain unless that holds anyway. An earlier clause whose
//! domain lies in it is then never asked, and goes. Points that no clause defines are zero.
//!
//! Needs: a checked program. After: the last clause whose domain holds a point defines it, so no
//! later pass and no engine has to know of any other clause.
//!
//! Failures: an earlier clause stands behind the guard of the later one, so it is evaluated, and
//! fails, only where that guard does not hold.

use crate::autodiff::Pass;
use crate::autodiff::rename::Renaming;
use ein_base::Span;
use ein_ir::size::{self, Facts};
use ein_ir::tensor::walk::{any, each_child_mut, each_in_stmt};
use ein_ir::tensor::{
    Binder, Clause, ClauseSlot, Expr, ExprKind, Item, Program, Stmt, StmtKind, Tensor, Type, VarId,
};
use ein_scalar::{BinaryOp, Scalar, ScalarType};
use rustc_hash::FxHashMap;

/// Gives every clause that leaves points to earlier ones an `else`.
pub fn complete(program: &mut Program) {
    if !asks(program) {
        return;
    }
    let mut pass = Pass::new(program);
    pass.each_body(&mut |pass, e| complete_in(pass, e));
}

/// Whether there is anything to do; in most programs there is not.
fn asks(program: &Program) -> bool {
    let partial = |e: &Expr| {
        any(e, &mut |e| match &*e.kind {
            ExprKind::Tensor(tensor) => is_partial(tensor),
            _ => false,
        })
    };
    let mut found = program.funcs.iter().any(|func| partial(&func.body));
    for stmt in &program.top {
        each_in_stmt(stmt, &mut |e| found = found || partial(e));
    }
    found
}

fn is_partial(tensor: &Tensor) -> bool {
    tensor.clauses.iter().skip(1).any(leaves_points)
}

/// Whether a clause leaves points of its domain to those before it.
fn leaves_points(clause: &Clause) -> bool {
    clause.otherwise.is_none() && clause.items.iter().any(|item| matches!(item, Item::Guard(_)))
}

fn complete_in(pass: &mut Pass<'_>, e: &mut Expr) {
    each_child_mut(e, &mut |child| complete_in(pass, child));
    if let ExprKind::Tensor(tensor) = &mut *e.kind
        && is_partial(tensor)
    {
        let inner = e.ty.axes().iter().skip(tensor.shape.len()).cloned().collect();
        let value = Type::array(e.ty.elem().clone(), inner);
        complete_tensor(pass, tensor, &value);
    }
}

/// Completes the clauses of one definition, whose values have the given type.
fn complete_tensor(pass: &mut Pass<'_>, tensor: &mut Tensor, value: &Type) {
    let written = tensor.clauses.clone();
    let mut hidden = vec![false; written.len()];
    for (at, clause) in written.iter().enumerate().skip(1) {
        if !leaves_points(clause) {
            continue;
        }
        let mut fallback = Fallback { value, parts: Vec::new() };
        for (number, earlier) in written[..at].iter().enumerate().rev() {
            let Some(part) = fallback.part(pass, earlier, clause) else { continue };
            let whole = part.tests.is_empty();
            hidden[number] |= earlier.until.is_none() && within(pass, earlier, clause);
            fallback.parts.push(part);
            if whole && !leaves_points(earlier) {
                break;
            }
        }
        tensor.clauses[at].otherwise = fallback.chain(pass, clause.span);
    }
    // What a completed clause takes over entirely is never asked again.
    let mut hidden = hidden.into_iter();
    tensor.clauses.retain(|_| !hidden.next().unwrap_or(false));
}

/// What earlier clauses say at the points of a later one.
struct Fallback<'t> {
    /// The type of the value of a clause.
    value: &'t Type,
    /// The latest first.
    parts: Vec<Part>,
}

/// An earlier clause in terms of the indices of a later one.
struct Part {
    /// When the point lies in its domain.
    tests: Vec<Expr>,
    clause: Clause,
}

impl Fallback<'_> {
    /// An earlier clause at the points of a later one; `None` if they have no point in common.
    fn part(&self, pass: &mut Pass<'_>, earlier: &Clause, later: &Clause) -> Option<Part> {
        let mut names = Renaming::default();
        let mut values: FxHashMap<VarId, size::Expr> = FxHashMap::default();
        let mut tests = Vec::new();
        for (own, slot) in earlier.slots.iter().zip(&later.slots) {
            match (own, slot) {
                (ClauseSlot::Point(a), ClauseSlot::Point(b)) => {
                    if a != b {
                        return None;
                    }
                }
                (ClauseSlot::Point(at), ClauseSlot::Loop(binder)) => {
                    if outside(pass, *at, binder) {
                        return None;
                    }
                    let span = earlier.span;
                    let at = Expr::int(*at, span);
                    tests.push(compare(BinaryOp::Eq, pass.variable(binder.var, span), at));
                }
                (ClauseSlot::Loop(own), slot) => {
                    let (mut lo, mut hi) = (own.lo.clone(), own.hi.clone());
                    for bound in [&mut lo, &mut hi] {
                        pass.freshen(bound, &mut names);
                        pass.replace_indices(bound, &values);
                    }
                    let at = match slot {
                        ClauseSlot::Point(at) => {
                            if outside(pass, *at, own) {
                                return None;
                            }
                            values.insert(own.var, size::Expr::constant(*at));
                            Expr::int(*at, own.lo.span)
                        }
                        ClauseSlot::Loop(binder) => {
                            if apart(pass, own, binder) {
                                return None;
                            }
                            names.vars.insert(own.var, binder.var);
                            pass.variable(binder.var, own.lo.span)
                        }
                    };
                    let (first, last) = match slot {
                        ClauseSlot::Point(at) => {
                            (Some(size::Expr::constant(*at)), Some(size::Expr::constant(*at)))
                        }
                        ClauseSlot::Loop(binder) => {
                            let last = pass.size_of(&binder.hi).map(|hi| hi.offset(-1));
                            (pass.size_of(&binder.lo), last)
                        }
                    };
                    if !at_most(pass.size_of(&lo), first) {
                        tests.push(compare(BinaryOp::Le, lo, at.clone()));
                    }
                    if !at_most(last.map(|last| last.offset(1)), pass.size_of(&hi)) {
                        tests.push(compare(BinaryOp::Lt, at, hi));
                    }
                }
            }
        }
        let mut clause = Clause { until: None, ..earlier.clone() };
        pass.freshen_items(&mut clause.items, &mut names);
        pass.freshen(&mut clause.value, &mut names);
        clause.otherwise.iter_mut().for_each(|e| pass.freshen(e, &mut names));
        ein_ir::tensor::walk::each_in_clause_mut(&mut clause, &mut |e| {
            pass.replace_indices(e, &values);
        });
        clause.slots.clear();
        Some(Part { tests, clause })
    }

    /// All of them as one value; `None` if there is nothing but zero.
    fn chain(self, pass: &mut Pass<'_>, span: Span) -> Option<Expr> {
        if self.parts.is_empty() {
            return None;
        }
        let mut rest = self.zero(pass, span);
        for Part { tests, clause } in self.parts.into_iter().rev() {
            let Clause { items, value, otherwise, .. } = clause;
            let value = fill(pass, value, self.value);
            let otherwise = otherwise.map(|e| fill(pass, e, self.value));
            rest = match (condition(pass, &items), otherwise) {
                (Some(guards), None) => {
                    let cond = tests.into_iter().rev().fold(guards, |all, test| and(test, all));
                    choose(cond, bind(&items, value), rest)
                }
                (guards, otherwise) => {
                    let inner = match (guards, otherwise) {
                        (Some(guards), Some(otherwise)) => {
                            choose(guards, bind(&items, value), otherwise)
                        }
                        _ => bind(&items, value),
                    };
                    match tests.into_iter().rev().reduce(|all, test| and(test, all)) {
                        Some(cond) => choose(cond, inner, rest),
                        None => inner,
                    }
                }
            };
        }
        Some(rest)
    }

    fn zero(&self, pass: &mut Pass<'_>, span: Span) -> Expr {
        let elem = zero_of(self.value.elem(), span);
        fill(pass, elem, self.value)
    }
}

/// What stands where nothing is defined.
fn zero_of(ty: &Type, span: Span) -> Expr {
    let kind = match ty {
        Type::Scalar(scalar) => ExprKind::Const(Scalar::zero(*scalar)),
        Type::Str => ExprKind::Str(ein_base::Symbol::intern("")),
        Type::Tuple(items) => {
            ExprKind::Tuple(items.iter().map(|item| zero_of(item, span)).collect())
        }
        Type::Unit
        | Type::Array(_)
        | Type::AnyRank(_)
        | Type::Jagged(..)
        | Type::Data(..)
        | Type::Template(..)
        | Type::Signature(_)
        | Type::Range
        | Type::Error => ExprKind::Unit,
    };
    Expr::new(kind, ty.clone(), span)
}

/// A scalar that fills the inner axes of a definition, as an array.
fn fill(pass: &mut Pass<'_>, value: Expr, ty: &Type) -> Expr {
    if ty.rank() == 0 || value.ty.rank() == ty.rank() {
        return value;
    }
    let span = value.span;
    let mut slots = Vec::new();
    let mut shape = Vec::new();
    for axis in ty.axes() {
        let var = pass.index_variable(span);
        let (lo, hi) = (Expr::int(0, span), Expr::size(axis.size.clone(), span));
        slots.push(ClauseSlot::Loop(Binder { var, lo, hi }));
        shape.push(Some(axis.size.clone()));
    }
    let items = Vec::new();
    let clause = Clause { slots, items, value, otherwise: None, until: None, span };
    let tensor = Tensor {
        name: None,
        self_var: None,
        shape,
        inner_rank: 0,
        clauses: vec![clause],
        recurrence: None,
        requires: Vec::new(),
    };
    Expr::new(ExprKind::Tensor(tensor), ty.clone(), span)
}

/// The guards of a clause as one condition, with the bindings that they need.
fn condition(pass: &mut Pass<'_>, items: &[Item]) -> Option<Expr> {
    let last = items.iter().rposition(|item| matches!(item, Item::Guard(_)))?;
    let mut items = items[..=last].to_vec();
    // The value has the same bindings; these are copies.
    pass.freshen_items(&mut items, &mut Renaming::default());
    let mut cond: Option<Expr> = None;
    for item in items.into_iter().rev() {
        cond = match (item, cond) {
            (Item::Guard(guard), None) => Some(guard),
            (Item::Guard(guard), Some(rest)) => Some(and(guard, rest)),
            (Item::Let(var, value), Some(rest)) => Some(block(vec![(var, value)], rest)),
            (Item::Let(..), None) => None,
        };
    }
    cond
}

/// A value with the bindings before it.
fn bind(items: &[Item], value: Expr) -> Expr {
    let lets: Vec<(VarId, Expr)> = items
        .iter()
        .filter_map(|item| match item {
            Item::Let(var, value) => Some((*var, value.clone())),
            Item::Guard(_) => None,
        })
        .collect();
    if lets.is_empty() { value } else { block(lets, value) }
}

fn block(lets: Vec<(VarId, Expr)>, value: Expr) -> Expr {
    let (ty, span) = (value.ty.clone(), value.span);
    let stmts = lets
        .into_iter()
        .map(|(var, value)| {
            let span = value.span;
            Stmt { kind: StmtKind::Let(var, value), span }
        })
        .collect();
    Expr::new(ExprKind::Block { stmts, value }, ty, span)
}

fn choose(cond: Expr, then: Expr, otherwise: Expr) -> Expr {
    let (ty, span) = (then.ty.clone(), then.span);
    Expr::new(ExprKind::If { cond, then, otherwise }, ty, span)
}

fn and(a: Expr, b: Expr) -> Expr {
    let span = a.span;
    Expr::new(ExprKind::And(a, b), Type::BOOL, span)
}

/// An index beside a bound, which may be of any type of integers.
fn compare(op: BinaryOp, mut a: Expr, mut b: Expr) -> Expr {
    let span = a.span;
    if a.ty != b.ty {
        [&mut a, &mut b].into_iter().for_each(widen);
    }
    Expr::new(ExprKind::Binary(op, a, b), Type::BOOL, span)
}

fn widen(e: &mut Expr) {
    let wide = Type::Scalar(ScalarType::I64);
    if e.ty != wide {
        let narrow = std::mem::replace(e, Expr::error(e.span));
        let span = narrow.span;
        *e = Expr::new(ExprKind::Cast(narrow), wide, span);
    }
}

// -------------------------------------------------------------------- domains

/// Whether `a <= b` for all sizes.
fn at_most(a: Option<size::Expr>, b: Option<size::Expr>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a == b || size::prove_le(&Facts::new(), &a, &b).is_proved(),
        _ => false,
    }
}

/// Whether a point lies outside a domain for all sizes.
fn outside(pass: &mut Pass<'_>, at: i64, binder: &Binder) -> bool {
    let (lo, hi) = (pass.size_of(&binder.lo), pass.size_of(&binder.hi));
    at_most(Some(size::Expr::constant(at + 1)), lo) || at_most(hi, Some(size::Expr::constant(at)))
}

/// Whether two domains of constant ends have no point in common.
fn apart(pass: &mut Pass<'_>, a: &Binder, b: &Binder) -> bool {
    let mut ends = |binder: &Binder| {
        Some((pass.size_of(&binder.lo)?.as_constant()?, pass.size_of(&binder.hi)?.as_constant()?))
    };
    match (ends(a), ends(b)) {
        (Some((a_lo, a_hi)), Some((b_lo, b_hi))) => a_hi <= b_lo || b_hi <= a_lo,
        _ => false,
    }
}

/// Whether the domain of one clause surely lies in that of another.
fn within(pass: &mut Pass<'_>, inner: &Clause, outer: &Clause) -> bool {
    let mut names = Renaming::default();
    inner.slots.iter().zip(&outer.slots).all(|(inner, outer)| match (inner, outer) {
        (ClauseSlot::Point(a), ClauseSlot::Point(b)) => a == b,
        (ClauseSlot::Loop(_), ClauseSlot::Point(_)) => false,
        (ClauseSlot::Point(at), ClauseSlot::Loop(binder)) => {
            let (lo, hi) = (pass.size_of(&binder.lo), pass.size_of(&binder.hi));
            at_most(lo, Some(size::Expr::constant(*at)))
                && at_most(Some(size::Expr::constant(at + 1)), hi)
        }
        (ClauseSlot::Loop(own), ClauseSlot::Loop(binder)) => {
            let mut ends = [pass.size_of(&own.lo), pass.size_of(&own.hi)];
            for end in ends.iter_mut().flatten() {
                *end = pass.renamed_size(end, &names);
            }
            let [lo, hi] = ends;
            names.vars.insert(own.var, binder.var);
            let (first, last) = (pass.size_of(&binder.lo), pass.size_of(&binder.hi));
            at_most(first, lo) && at_most(hi, last)
        }
    })
}
