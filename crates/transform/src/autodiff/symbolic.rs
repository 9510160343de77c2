//! The text of a derivative: what `print(@y / @x)` shows of a request that has no name.
//!
//! Before:  `print(@y / @x);`, where `y[i] = x[i] * x[i]`
//! After:   `print("let d_x[i in 0..3, j in 0..3] = if j == i { 2.0 * x[i] } else { 0.0 };");`
//!
//! A number by a number is one expression over the names of the program. Anything else is the
//! definitions that compute it, each on a line, as they could be written in the source; `d_v` is
//! the adjoint of `v`, for each element of the target where that is an array. The last one is the
//! derivative.
//!
//! Where there are no adjoints, the text is that of the tangents.

use super::reverse::{Adjoints, replace_vars};
use super::{Named, Pass, named};
use ein_base::Span;
use ein_ir::tensor::walk::{any, each_child};
use ein_ir::tensor::{
    AtomDef, Binder, Bounds, Clause, ClauseSlot, Derivative, Expr, ExprKind, IndexArg, Stmt,
    StmtKind, Tensor, Type, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};
use text::{Text, made_up};

mod forms;
mod names;
mod simplify;
mod text;

/// Numbers of at most this many nodes stand where they are used, however often that is.
const SHORT: usize = 12;

/// What computes a derivative.
struct Computation {
    definitions: Vec<(VarId, Expr)>,
    /// The derivative itself.
    value: Expr,
}

impl Pass<'_> {
    /// The text of a request, if the expression is one.
    pub(super) fn symbolic(&mut self, e: &Expr) -> Option<Expr> {
        let ExprKind::Derivative(Derivative::Quotient { target, parameter }) = &*e.kind else {
            return None;
        };
        let ((y, y_at), (x, x_at)) = (named(target)?, named(parameter)?);
        let span = e.span;
        let mut at = self.positions(y, y_at);
        let x_at = self.positions(x, x_at);
        let mut family = Vec::new();
        let free = self.program.vars[y].ty.axes()[at.len()..].to_vec();
        for axis in free {
            let var = self.local("$i", Type::I32, span);
            let hi = Expr::size(axis.size, span);
            family.push(Binder { var, lo: Expr::int(0, span), hi });
            at.push(IndexArg { value: self.var(var, span), bounds: Bounds::Proved });
        }
        self.as_text = true;
        let made = self.computation((y, &at), (x, &x_at), span);
        self.as_text = false;
        let mut made = made;
        let given = self.temporaries(&mut made);
        let text = self.computation_text(made, given, family, x);
        let text = ein_base::Symbol::intern(&text);
        Some(Expr::new(ExprKind::Str(text), Type::Str, span))
    }

    /// The derivative of one element of the target.
    fn computation(&mut self, (y, at): Named, (x, x_at): Named, span: Span) -> Computation {
        let one = self.number(&self.program.vars[y].ty.clone(), 1.0, span);
        let mut stmts = Vec::new();
        let value = if y == x {
            self.spread(x, at, &one, &mut stmts)
        } else {
            match self.adjoints((y, at), one, &[x]) {
                Ok(made) => {
                    let made = made.unwrap_or(Adjoints { stmts: Vec::new(), of: Vec::new() });
                    stmts = made.stmts;
                    match made.of.into_iter().next().flatten() {
                        Some(value) => value,
                        None => {
                            let like = self.var(x, span);
                            self.constant_like(&like, 0.0, span)
                        }
                    }
                }
                Err(_) => {
                    let x_ty = self.program.vars[x].ty.clone();
                    let axes = x_ty.axes()[x_at.len()..].to_vec();
                    let ty = Type::array(x_ty.elem().clone(), axes);
                    let value = self.columns((y, at), (x, x_at), ty, span);
                    return Computation { definitions: Vec::new(), value };
                }
            }
        };
        let mut made = self.inlined(stmts, value);
        made.take_part(self, x_at);
        made
    }

    /// The lines of a computation, or its one expression.
    fn computation_text(
        &mut self,
        made: Computation,
        given: Vec<(VarId, Expr)>,
        family: Vec<Binder>,
        x: VarId,
    ) -> String {
        let Computation { definitions, mut value } = made;
        let mut text = Text::new(self);
        for e in given.iter().chain(&definitions).map(|(_, e)| e).chain([&value]) {
            text.reserve(e);
        }
        for (var, e) in &given {
            text.definition(*var, e);
        }
        let plain =
            given.is_empty() && definitions.is_empty() && family.is_empty() && !value.ty.is_array();
        if plain {
            text.simplify(&mut value);
            return text.finished(&value);
        }
        text.family(family, definitions.iter().map(|(var, _)| *var));
        let mut last = None;
        for (var, bound) in definitions {
            let mut bound = bound;
            text.simplify(&mut bound);
            let result = matches!(&*value.kind, ExprKind::Var(own) if *own == var);
            text.name_adjoint(var, result.then_some(x));
            text.definition(var, &bound);
            last = Some(var);
        }
        // The last definition may be the derivative already.
        if !matches!(&*value.kind, ExprKind::Var(var) if last == Some(*var)) {
            text.simplify(&mut value);
            text.result(x, &value);
        }
        text.into_text()
    }
}

impl Pass<'_> {
    /// Numbers stand where they are used, if that is once or they are short; arrays are
    /// definitions.
    fn inlined(&mut self, stmts: Vec<Stmt>, value: Expr) -> Computation {
        let mut value = value;
        let mut bound: Vec<(VarId, Expr)> = Vec::new();
        for Stmt { kind, .. } in stmts {
            if let StmtKind::Let(var, e) = kind {
                bound.push((var, e));
            }
        }
        let mut definitions: Vec<(VarId, Expr)> = Vec::new();
        for at in 0..bound.len() {
            let (var, e) = bound[at].clone();
            let short = super::reverse::weight(&e, SHORT) < SHORT;
            let repeated = || {
                let later = bound[at + 1..].iter().map(|(_, e)| e).chain([&value]);
                later.map(|e| uses_of(e, var)).sum::<usize>() > 1
            };
            if e.ty.is_array() || !short && repeated() {
                definitions.push((var, e));
                continue;
            }
            for (_, later) in &mut bound[at + 1..] {
                self.put(later, var, &e);
            }
            self.put(&mut value, var, &e);
        }
        Computation { definitions, value }
    }

    /// Values that have no name in the source: numbers stand where they are used, arrays are
    /// definitions before all others.
    fn temporaries(&mut self, made: &mut Computation) -> Vec<(VarId, Expr)> {
        let mut given: Vec<(VarId, Expr)> = Vec::new();
        for at in (0..self.scope.len()).rev() {
            let var = self.scope[at].var;
            if !made_up(self.program.vars[var].name.as_str()) {
                continue;
            }
            let Computation { definitions, value } = made;
            let all = given.iter_mut().chain(definitions).map(|(_, e)| e).chain([value]);
            let all: Vec<&mut Expr> = all.filter(|e| self.mentions(e, var)).collect();
            if all.is_empty() {
                continue;
            }
            let bound = (*self.scope[at].value).clone();
            if bound.ty.is_array() {
                given.push((var, bound));
            } else {
                for e in all {
                    self.put(e, var, &bound);
                }
            }
        }
        given.reverse();
        given
    }

    /// Whether a variable, or an extent of it, occurs.
    fn mentions(&self, e: &Expr, var: VarId) -> bool {
        any(e, &mut |e| {
            match &*e.kind {
            ExprKind::Var(own) => *own == var,
            ExprKind::Size(size) => size.atoms().into_iter().any(|atom| {
                matches!(self.program.atoms[atom].def, AtomDef::Extent(own, _) if own == var)
            }),
            _ => false,
        }
        })
    }

    /// Puts a value in the place of a variable, in sizes as well.
    fn put(&mut self, e: &mut Expr, var: VarId, value: &Expr) {
        // The sizes of functions that were called are `i64`.
        if value.ty.scalar().is_some_and(|ty| ty.is_int())
            && let Some(size) = self.size_of(value)
        {
            let mut with = FxHashMap::default();
            with.insert(var, size);
            self.replace_indices(e, &with);
            return;
        }
        let mut with = FxHashMap::default();
        with.insert(var, value.clone());
        replace_vars(e, &with);
    }
}

impl Computation {
    /// The derivative by a part of the parameter: its last definition at these positions.
    fn take_part(&mut self, pass: &mut Pass<'_>, at: &[IndexArg]) {
        if at.is_empty() {
            return;
        }
        let whole = match &*self.value.kind {
            ExprKind::Var(var) => {
                self.definitions.iter().find(|(own, _)| own == var).map(|(_, e)| e.clone())
            }
            ExprKind::Tensor(_) => Some(self.value.clone()),
            _ => None,
        };
        let part = whole.as_ref().and_then(|whole| part_of(pass, whole, at));
        self.value = part.unwrap_or_else(|| {
            let ty = Type::array(
                self.value.ty.elem().clone(),
                self.value.ty.axes().get(at.len()..).unwrap_or(&[]).to_vec(),
            );
            let kind = ExprKind::Index { base: self.value.clone(), indices: at.to_vec() };
            Expr::new(kind, ty, self.value.span)
        });
        let Computation { definitions, value } = self;
        let mut kept: Vec<(VarId, Expr)> = Vec::new();
        let mut read = FxHashSet::default();
        note_reads(value, &mut read);
        for (var, e) in std::mem::take(definitions).into_iter().rev() {
            if read.contains(&var) {
                note_reads(&e, &mut read);
                kept.push((var, e));
            }
        }
        kept.reverse();
        *definitions = kept;
    }
}

/// A definition of one clause with its first indices fixed.
fn part_of(pass: &mut Pass<'_>, e: &Expr, at: &[IndexArg]) -> Option<Expr> {
    let ExprKind::Tensor(Tensor { self_var: None, clauses, shape, inner_rank: 0, .. }) = &*e.kind
    else {
        return None;
    };
    let [clause] = clauses.as_slice() else { return None };
    if !clause.items.is_empty() || clause.otherwise.is_some() {
        return None;
    }
    let mut fixed = Vec::new();
    let mut value = clause.value.clone();
    for (slot, index) in clause.slots.iter().zip(at) {
        let ClauseSlot::Loop(binder) = slot else { return None };
        pass.put(&mut value, binder.var, &index.value);
        fixed.push(binder.var);
    }
    let mut clause = Clause { value, ..clause.clone() };
    clause.slots.drain(..at.len());
    // A domain that depends on a fixed index would have to be replaced as well.
    let depends = clause.slots.iter().any(|slot| match slot {
        ClauseSlot::Point(_) => false,
        ClauseSlot::Loop(binder) => [&binder.lo, &binder.hi].iter().any(|e| {
            any(e, &mut |e| matches!(&*e.kind, ExprKind::Var(var) if fixed.contains(var)))
        }),
    });
    if depends {
        return None;
    }
    if clause.slots.is_empty() {
        return Some(clause.value);
    }
    let ty = Type::array(e.ty.elem().clone(), e.ty.axes()[at.len()..].to_vec());
    let tensor = Tensor {
        name: None,
        self_var: None,
        shape: shape[at.len()..].to_vec(),
        inner_rank: 0,
        clauses: vec![clause],
        recurrence: None,
        requires: Vec::new(),
    };
    Some(Expr::new(ExprKind::Tensor(tensor), ty, e.span))
}

/// The variables in an expression.
fn note_reads(e: &Expr, read: &mut FxHashSet<VarId>) {
    if let ExprKind::Var(var) = &*e.kind {
        read.insert(*var);
    }
    each_child(e, &mut |child| note_reads(child, read));
}

/// How often a variable occurs.
fn uses_of(e: &Expr, var: VarId) -> usize {
    let mut total = usize::from(matches!(&*e.kind, ExprKind::Var(own) if *own == var));
    each_child(e, &mut |child| total += uses_of(child, var));
    total
}
