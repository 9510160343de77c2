//! Comprehensions that leave nothing out are definitions.
//!
//! Before:  `[f(v) | v in a]`, a list that is made element by element
//! After:   `def _[i: 0..n] = f(v) where v = a[i]`, which engines compile and derivatives pass through
//!
//! Before:  `let layers = [Layer { w: w[l], b: b[l] } | l in 0..n]`, and `layers[k - 1]` in a recurrence
//! After:   `Layer { w: w[k - 1], b: b[k - 1] }` there: engines know no arrays of structs
//!
//! Needs: a checked program. A list is one over a range or over the rows of a variable, whose length the
//! checker knows.
//! Refuses: conditions and several generators, patterns that take elements apart, and elements that do
//! anything but compute: print, read, ask or fail by themselves.
//!
//! Failures: an element that fails does so as a cell of the definition, the first one first.

use crate::autodiff::Pass;
use crate::autodiff::rename::Renaming;
use ein_base::Span;
use ein_ir::size;
use ein_ir::tensor::walk::{any, each_child_mut, each_in_stmt};
use ein_ir::tensor::{
    AtomDef, Binder, Bounds, Clause, ClauseSlot, CompClause, Expr, ExprKind, FuncId, HostOp,
    IndexArg, Item, Pattern, Place, Program, Stmt, StmtKind, Tensor, Type, VarId,
};
use ein_scalar::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// Makes definitions of comprehensions, and reads what the elements of lists of structs are made of.
pub fn define(program: &mut Program) {
    let is_list = |e: &Expr| any(e, &mut |e| matches!(&*e.kind, ExprKind::Comprehension { .. }));
    let mut found = program.funcs.iter().any(|func| is_list(&func.body));
    for stmt in &program.top {
        each_in_stmt(stmt, &mut |e| found = found || is_list(e));
    }
    if found {
        Pass::new(program).each_body(&mut |pass, e| define_in(pass, e));
    }
    let lists = lists_of_states(program);
    if !lists.is_empty() {
        Pass::new(program).each_body(&mut |pass, e| read_in(pass, &lists, e));
    }
}

/// The lists of structs or tuples that only put together what is there.
fn lists_of_states(program: &Program) -> FxHashMap<VarId, Clause> {
    let mut found = FxHashMap::default();
    let mut note = |stmt: &Stmt| state_list(stmt, &mut found);
    program.top.iter().for_each(&mut note);
    // Functions read these as well, and know nothing of the frame of the top level.
    found.retain(|_, clause| is_global(program, clause));
    let mut note = |stmt: &Stmt| state_list(stmt, &mut found);
    for func in program.funcs.iter() {
        any(&func.body, &mut |e| {
            if let ExprKind::Block { stmts, .. } = &*e.kind {
                stmts.iter().for_each(&mut note);
            }
            false
        });
    }
    found
}

/// Keeps the list of structs or tuples that a statement binds, if it only puts together what is there.
fn state_list(stmt: &Stmt, found: &mut FxHashMap<VarId, Clause>) {
    if let StmtKind::Let(var, value) = &stmt.kind
        && let ExprKind::Tensor(tensor) = &*value.kind
        && let [clause] = tensor.clauses.as_slice()
        && matches!(value.ty.elem(), Type::Tuple(_) | Type::Data(..))
        && tensor.self_var.is_none()
        && tensor.inner_rank == 0
        && tensor.requires.is_empty()
        && clause.slots.iter().all(|slot| matches!(slot, ClauseSlot::Loop(_)))
        && clause.items.iter().all(|item| match item {
            Item::Let(_, value) => puts_together(value),
            Item::Guard(_) => false,
        })
        && puts_together(&clause.value)
    {
        found.insert(*var, clause.clone());
    }
}

/// Whether everything that a clause mentions, and does not bind, is known to all functions.
fn is_global(program: &Program, clause: &Clause) -> bool {
    let mut bound: FxHashSet<VarId> = clause.indices().map(|(_, binder)| binder.var).collect();
    let mut values = vec![&clause.value];
    for item in &clause.items {
        if let Item::Let(var, value) = item {
            bound.insert(*var);
            values.push(value);
        }
    }
    let local = |e: &Expr| match &*e.kind {
        ExprKind::Var(var) => {
            !bound.contains(var) && !matches!(program.vars[*var].place, Place::Global(_))
        }
        _ => false,
    };
    !values.into_iter().any(|value| any(value, &mut |e| local(e)))
}

/// Whether a value is made of others without any work, and cannot fail.
fn puts_together(value: &Expr) -> bool {
    !any(value, &mut |e| match &*e.kind {
        ExprKind::Index { indices, .. } => {
            indices.iter().any(|index| index.bounds != Bounds::Proved)
        }
        ExprKind::Make { .. }
        | ExprKind::Tuple(_)
        | ExprKind::TupleGet(..)
        | ExprKind::FieldGet(..)
        | ExprKind::Var(_)
        | ExprKind::Const(_)
        | ExprKind::Size(_) => false,
        // An index plus the first of a range.
        ExprKind::Binary(BinaryOp::Add, ..) => e.ty != Type::I32,
        _ => true,
    })
}

/// Reads of elements of such lists become what these are.
fn read_in(pass: &mut Pass<'_>, lists: &FxHashMap<VarId, Clause>, e: &mut Expr) {
    each_child_mut(e, &mut |child| read_in(pass, lists, child));
    let ExprKind::Index { base, indices } = &*e.kind else { return };
    let ExprKind::Var(list) = &*base.kind else { return };
    let Some(clause) = lists.get(list) else { return };
    let proved =
        indices.iter().all(|index| index.bounds == Bounds::Proved && index.value.ty == Type::I32);
    if !proved || indices.len() != clause.slots.len() {
        return;
    }
    let bind =
        |var: VarId, value: &Expr| Stmt { kind: StmtKind::Let(var, value.clone()), span: e.span };
    let places = clause.indices().zip(indices);
    let mut stmts: Vec<Stmt> =
        places.map(|((_, binder), index)| bind(binder.var, &index.value)).collect();
    for item in &clause.items {
        match item {
            Item::Let(var, value) => stmts.push(bind(*var, value)),
            Item::Guard(_) => return,
        }
    }
    let value = clause.value.clone();
    let ty = value.ty.clone();
    let element = Expr::new(ExprKind::Block { stmts, value }, ty, e.span);
    *e = pass.freshened(&element, &mut Renaming::default());
}

fn define_in(pass: &mut Pass<'_>, e: &mut Expr) {
    each_child_mut(e, &mut |child| define_in(pass, child));
    if let Some(tensor) = definition(pass, e) {
        *e.kind = ExprKind::Tensor(tensor);
    }
}

/// The definition that a comprehension is.
fn definition(pass: &mut Pass<'_>, e: &Expr) -> Option<Tensor> {
    let ExprKind::Comprehension { clauses, body } = &*e.kind else { return None };
    let Type::Array(list) = &e.ty else { return None };
    let inner_rank = match &body.ty {
        Type::Array(inner) => inner.axes.len(),
        Type::Scalar(_) | Type::Tuple(_) | Type::Data(..) => 0,
        _ => return None,
    };
    let length = &list.axes.first()?.size;
    if list.axes.len() != 1 + inner_rank || !is_known(pass.program(), length) {
        return None;
    }
    let (CompClause::Generator(pattern, source), bindings) = clauses.split_first()? else {
        return None;
    };
    let name = match pattern {
        Pattern::Bind(var) => Some(*var),
        Pattern::Wild => None,
        _ => return None,
    };
    let mut items = Vec::new();
    let mut seen = FxHashSet::default();
    let mut plain = computes(pass.program(), body, &mut seen);
    for clause in bindings {
        let CompClause::Binding(var, value) = clause else { return None };
        plain = plain && computes(pass.program(), value, &mut seen);
        items.push(Item::Let(*var, value.clone()));
    }
    if !plain {
        return None;
    }
    let index = pass.index_variable(e.span);
    let element = element(pass, source, (index, length), e.span)?;
    if let Some(var) = name {
        items.insert(0, Item::Let(var, element));
    }
    let (lo, hi) =
        (Expr::size(size::Expr::constant(0), e.span), Expr::size(length.clone(), e.span));
    let clause = Clause {
        slots: vec![ClauseSlot::Loop(Binder { var: index, lo, hi })],
        items,
        value: body.clone(),
        otherwise: None,
        until: None,
        span: e.span,
    };
    Some(Tensor {
        name: None,
        self_var: None,
        shape: vec![Some(length.clone())],
        inner_rank,
        clauses: vec![clause],
        recurrence: None,
        requires: Vec::new(),
    })
}

/// The element of a range or of an array at an index.
fn element(
    pass: &Pass<'_>,
    source: &Expr,
    (index, length): (VarId, &size::Expr),
    span: Span,
) -> Option<Expr> {
    let here = pass.variable(index, span);
    match &*source.kind {
        ExprKind::Range(lo, _) => match &*lo.kind {
            ExprKind::Const(first) if first.as_i64() == Some(0) && lo.ty == Type::I32 => Some(here),
            ExprKind::Const(_) if lo.ty == Type::I32 => {
                let sum = ExprKind::Binary(BinaryOp::Add, lo.clone(), here);
                Some(Expr::new(sum, Type::I32, span))
            }
            _ => None,
        },
        ExprKind::Var(_) => {
            let Type::Array(rows) = &source.ty else { return None };
            let (first, rest) = rows.axes.split_first()?;
            if first.size != *length {
                return None;
            }
            let ty = Type::array(rows.elem.clone(), rest.to_vec());
            let indices = vec![IndexArg { value: here, bounds: Bounds::Proved }];
            Some(Expr::new(ExprKind::Index { base: source.clone(), indices }, ty, span))
        }
        _ => None,
    }
}

/// Whether the run knows a size before it makes what has it.
fn is_known(program: &Program, size: &size::Expr) -> bool {
    let known = |atom| !matches!(program.atoms[atom].def, AtomDef::Unknown);
    size.atoms().into_iter().all(known)
}

/// Whether an expression does nothing but compute.
fn computes(program: &Program, e: &Expr, seen: &mut FxHashSet<FuncId>) -> bool {
    !any(e, &mut |part| match &*part.kind {
        ExprKind::Host(op, _) => !matches!(
            op,
            HostOp::Len | HostOp::ZerosLike | HostOp::Iota | HostOp::Reshape | HostOp::Convert
        ),
        ExprKind::Call { func, .. } => {
            seen.insert(*func) && !computes(program, &program.funcs[*func].body, seen)
        }
        ExprKind::Str(_)
        | ExprKind::Try(_)
        | ExprKind::CallValue { .. }
        | ExprKind::Comprehension { .. }
        | ExprKind::Derivative(_)
        | ExprKind::Error => true,
        _ => false,
    })
}
