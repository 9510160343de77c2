//! The last steps of recurrences for statements that no kernel computes.
//!
//! Before:  `let h[t] = …; print(h[T - 1, 3]);`
//! After:   `let h[t] = …; let h'[c in 0..1] = h[T - 1 + c]; print(h'[0, 3]);`
//!
//! What prints, formats or stops a program is evaluated, and would hold the whole history of the
//! recurrence for the few steps that it looks at. The last steps beside it are computed by the kernel of
//! the recurrence, which then keeps a window of the history ([`crate::storage`] says so of the binding).
//! Every read after the recurrence is of the last steps from here on, so that it does not matter which
//! statements become a kernel together (live-out contraction).
//!
//! A call inside of such a statement is named before it, where it computes numbers by a recurrence and is made
//! whatever else happens: so the call is a kernel as well, and what it keeps of the recurrence is its own.
//!
//! Before:  `print(solve(b)[3]);`
//! After:   `let c = solve(b); print(c[3]);`
//!
//! Needs: a program whose outputs are chosen, with arrays of numbers for states ([`crate::unzip`]).
//! Refuses: outputs, recurrences that a condition ends, reads that are not a constant number of steps
//! from the end, reads in functions of what the top level binds, reads that were not proved.

use crate::records::{Frame, beside, settle};
use ein_ir::size;
use ein_ir::tensor::symbolic::to_size;
use ein_ir::tensor::walk::{any, each_child, each_child_mut, each_in_stmt, each_in_stmt_mut};
use ein_ir::tensor::{
    AtomDef, Axis, Binder, Bounds, Clause, ClauseSlot, Expr, ExprKind, FuncId, HostOp, IndexArg,
    Item, Program, Stmt, StmtKind, Tensor, Type, VarId,
};
use ein_scalar::BinaryOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// So many steps at most are copied.
const MOST: i64 = 64;

/// The steps of a recurrence.
#[derive(Clone)]
struct Steps {
    /// Its variable.
    var: VarId,
    /// The axis along which they run.
    axis: usize,
    /// Whether they run downward.
    backward: bool,
    /// The extent of the axis.
    extent: size::Expr,
}

/// What stands after a recurrence.
struct After<'p> {
    program: &'p Program,
    /// The integers that the statements bind.
    sizes: FxHashMap<VarId, size::Expr>,
}

/// Gives statements that are evaluated the last steps of the recurrences that they look at the end of.
pub fn run(program: &mut Program) {
    let mut top = std::mem::take(&mut program.top);
    in_statements(program, Frame::Top, &mut top, None);
    let mut inside = |e: &mut Expr| in_blocks(program, Frame::Top, e);
    top.iter_mut().for_each(|stmt| each_in_stmt_mut(stmt, &mut inside));
    program.top = top;
    let funcs: Vec<FuncId> = program.funcs.ids().collect();
    for func in funcs {
        // Most functions bind no recurrence.
        if !any(&program.funcs[func].body, &mut is_recurrence) {
            continue;
        }
        let span = program.funcs[func].span;
        let mut body = std::mem::replace(&mut program.funcs[func].body, Expr::error(span));
        in_blocks(program, Frame::Func(func), &mut body);
        program.funcs[func].body = body;
    }
}

/// Blocks that are evaluated statement by statement: not those at the points of loops.
fn in_blocks(program: &mut Program, frame: Frame, e: &mut Expr) {
    match &mut *e.kind {
        ExprKind::Tensor(_)
        | ExprKind::Reduce(_)
        | ExprKind::Scatter(_)
        | ExprKind::Comprehension { .. } => return,
        ExprKind::Block { stmts, value } => in_statements(program, frame, stmts, Some(value)),
        _ => {}
    }
    each_child_mut(e, &mut |child| in_blocks(program, frame, child));
}

fn in_statements(
    program: &mut Program,
    frame: Frame,
    stmts: &mut Vec<Stmt>,
    mut value: Option<&mut Expr>,
) {
    name_calls(program, frame, stmts);
    let mut at = 0;
    while at < stmts.len() {
        at += 1;
        let (before, after) = stmts.split_at(at);
        let looks = |stmt: &Stmt, var| is_evaluated(program, stmt) && reads(stmt, var);
        let Some(steps) = before.last().and_then(|stmt| steps_of(program, before, stmt)) else {
            continue;
        };
        if program.outputs.contains(&steps.var) || !after.iter().any(|it| looks(it, steps.var)) {
            continue;
        }
        let Some(count) = furthest(program, before, after, value.as_deref(), &steps) else {
            continue;
        };
        let sizes = integers(program, before, after);
        let span = program.vars[steps.var].span;
        let (name, ty) = (program.vars[steps.var].name, program.vars[steps.var].ty.clone());
        let axes = ty.axes().iter().enumerate().map(|(axis, it)| match axis == steps.axis {
            true => Axis { size: size::Expr::constant(count), ..it.clone() },
            false => it.clone(),
        });
        let own = Type::array(ty.elem().clone(), axes.collect());
        let tail = beside(program, frame, Some(steps.var), name.as_str(), own.clone(), span);
        let definition = last_steps(program, frame, &steps, count, own);
        let reader = After { program, sizes };
        let mut replace = |e: &mut Expr| reader.replace(e, &steps, (tail, count));
        stmts[at..].iter_mut().for_each(|stmt| each_in_stmt_mut(stmt, &mut replace));
        if let Some(value) = value.as_deref_mut() {
            replace(value);
        }
        let kind = StmtKind::Let(tail, definition);
        stmts.insert(at, Stmt { kind, span });
        at += 1;
    }
}

/// Names the calls in statements that are evaluated.
fn name_calls(program: &mut Program, frame: Frame, stmts: &mut Vec<Stmt>) {
    let mut at = 0;
    while at < stmts.len() {
        let mut calls = Vec::new();
        if is_evaluated(program, &stmts[at]) {
            match &mut stmts[at].kind {
                StmtKind::Expr(e) | StmtKind::Let(_, e) => {
                    name_calls_in(program, frame, e, &mut calls);
                }
                StmtKind::Destructure(..) | StmtKind::Require(_) => {}
            }
        }
        let count = calls.len();
        stmts.splice(at..at, calls);
        at += count + 1;
    }
}

/// Takes out the calls that are made before anything acts, in their order. Returns whether nothing has
/// acted yet.
fn name_calls_in(program: &mut Program, frame: Frame, e: &mut Expr, calls: &mut Vec<Stmt>) -> bool {
    let quiet = !acts(program, e, &mut FxHashSet::default());
    match &mut *e.kind {
        ExprKind::Call { closure: None, func, .. } if quiet && recurs(program, *func) => {
            if matches!(e.ty.elem(), Type::Scalar(_)) {
                let span = e.span;
                let var = beside(program, frame, None, "$c", e.ty.clone(), span);
                settle(program, var);
                let read = Expr::new(ExprKind::Var(var), e.ty.clone(), span);
                let call = std::mem::replace(e, read);
                calls.push(Stmt { kind: StmtKind::Let(var, call), span });
            }
            true
        }
        // What is chosen, repeated or caught may not be made.
        ExprKind::If { cond: first, .. }
        | ExprKind::Match { value: first, .. }
        | ExprKind::And(first, _)
        | ExprKind::Or(first, _) => name_calls_in(program, frame, first, calls) && quiet,
        // A message is made when the assertion fails.
        ExprKind::Host(HostOp::Assert, parts) => match parts.first_mut() {
            Some(first) => name_calls_in(program, frame, first, calls),
            None => true,
        },
        ExprKind::Tensor(_)
        | ExprKind::Reduce(_)
        | ExprKind::Scatter(_)
        | ExprKind::Comprehension { .. }
        | ExprKind::Closure { .. }
        | ExprKind::Block { .. }
        | ExprKind::Try(_) => quiet,
        _ => {
            let mut open = true;
            each_child_mut(e, &mut |child| {
                open = open && name_calls_in(program, frame, child, calls);
            });
            let formats = matches!(&*e.kind, ExprKind::Host(HostOp::Format(_), _));
            let own = matches!(
                &*e.kind,
                ExprKind::Host(..) | ExprKind::Call { .. } | ExprKind::CallValue { .. }
            );
            open && (!own || formats || quiet)
        }
    }
}

/// Whether a function computes by a recurrence, itself or in what it calls.
fn recurs(program: &Program, func: FuncId) -> bool {
    fn inside(program: &Program, func: FuncId, seen: &mut FxHashSet<FuncId>) -> bool {
        seen.insert(func)
            && any(&program.funcs[func].body, &mut |part| match &*part.kind {
                ExprKind::Call { func, .. } => inside(program, *func, seen),
                _ => is_recurrence(part),
            })
    }
    inside(program, func, &mut FxHashSet::default())
}

/// The recurrence that a statement binds, whole or as one name of a system.
fn steps_of(program: &Program, before: &[Stmt], stmt: &Stmt) -> Option<Steps> {
    let StmtKind::Let(var, value) = &stmt.kind else { return None };
    let (recurrence, axis) = match &*value.kind {
        ExprKind::Tensor(tensor) => (tensor, tensor.recurrence.as_ref()?.axes.first()?.axis),
        _ => {
            let root = viewed(value)?;
            let tensor = before.iter().find_map(|stmt| match &stmt.kind {
                StmtKind::Let(own, value) if *own == root => match &*value.kind {
                    ExprKind::Tensor(tensor) => Some(tensor),
                    _ => None,
                },
                _ => None,
            })?;
            let steps = tensor.recurrence.as_ref()?.axes.first()?.axis;
            (tensor, axis_in(value, steps)?)
        }
    };
    let order = recurrence.recurrence.as_ref()?;
    order.lookback?;
    if recurrence.self_var.is_none() || recurrence.clauses.iter().any(|it| it.until.is_some()) {
        return None;
    }
    let ty = &program.vars[*var].ty;
    let numbers = matches!(ty.elem(), Type::Scalar(_));
    let extent = ty.axes().get(axis).filter(|_| numbers)?.size.clone();
    // Extents that are those of the array itself cannot be asked for without it.
    let own = |size: &size::Expr| {
        size.atoms().iter().any(|atom| match program.atoms[*atom].def {
            AtomDef::Extent(of, _) | AtomDef::Length(of) => of == *var,
            AtomDef::Unknown => true,
            AtomDef::Var(_) => false,
        })
    };
    if ty.axes().iter().any(|axis| own(&axis.size)) {
        return None;
    }
    Some(Steps { var: *var, axis, backward: order.axes.first()?.backward, extent })
}

/// The array that a value is a part of.
fn viewed(value: &Expr) -> Option<VarId> {
    match &*value.kind {
        ExprKind::Var(var) => Some(*var),
        ExprKind::Slice { base, .. }
        | ExprKind::Permute { base, .. }
        | ExprKind::Index { base, .. } => viewed(base),
        _ => None,
    }
}

/// Which axis of a view is this one of the array, if all of it is there.
fn axis_in(value: &Expr, axis: usize) -> Option<usize> {
    match &*value.kind {
        ExprKind::Var(_) => Some(axis),
        ExprKind::Slice { base, axis: along, .. } => {
            axis_in(base, axis).filter(|axis| axis != along)
        }
        ExprKind::Permute { base, order } => {
            let inner = axis_in(base, axis)?;
            order.iter().position(|from| *from == inner)
        }
        ExprKind::Index { base, indices } => axis_in(base, axis)?.checked_sub(indices.len()),
        _ => None,
    }
}

/// How many steps before the end the furthest read is; `None` if that is not known of one.
fn furthest(
    program: &Program,
    before: &[Stmt],
    after: &[Stmt],
    value: Option<&Expr>,
    steps: &Steps,
) -> Option<i64> {
    let global = program.funcs.iter().any(|func| any(&func.body, &mut |e| is_var(e, steps.var)));
    let named = |size: &size::Expr| {
        size.atoms().iter().any(|atom| match program.atoms[*atom].def {
            AtomDef::Extent(of, _) | AtomDef::Length(of) => of == steps.var,
            AtomDef::Var(_) | AtomDef::Unknown => false,
        })
    };
    if global || program.atoms.ids().any(|atom| named(&size::Expr::atom(atom))) {
        return None;
    }
    let reader = After { program, sizes: integers(program, before, after) };
    let mut found = Some(0);
    let mut look = |e: &Expr| found = found.and_then(|most| reader.furthest(e, steps, most));
    after.iter().for_each(|stmt| each_in_stmt(stmt, &mut look));
    value.into_iter().for_each(&mut look);
    found.filter(|count| (1..=MOST).contains(count))
}

impl After<'_> {
    fn size(&self, e: &Expr) -> Option<size::Expr> {
        size_of(&self.sizes, e)
    }

    /// How many steps before the end a position is: one for the last.
    fn distance(&self, at: &Expr, steps: &Steps) -> Option<i64> {
        let at = self.size(at)?;
        let distance = if steps.backward { at.offset(1) } else { steps.extent.sub(&at) };
        distance.as_constant()
    }

    fn furthest(&self, e: &Expr, steps: &Steps, most: i64) -> Option<i64> {
        let mut most = most;
        match &*e.kind {
            ExprKind::Var(var) if *var == steps.var => return None,
            ExprKind::Index { base, indices } if is_var(base, steps.var) => {
                let step = indices.get(steps.axis)?;
                let distance = self.distance(&step.value, steps).filter(|it| *it >= 1)?;
                let inside = steps.extent.as_constant().is_some_and(|extent| distance <= extent);
                if !inside && step.bounds != Bounds::Proved {
                    return None;
                }
                for index in indices {
                    most = self.furthest(&index.value, steps, most)?;
                }
                return Some(most.max(distance));
            }
            ExprKind::Slice { base, axis, lo, hi }
                if is_var(base, steps.var) && *axis == steps.axis =>
            {
                let (first, last) = self.ends(lo.as_ref(), hi.as_ref(), steps)?;
                let inside = steps.extent.as_constant().is_some_and(|extent| first <= extent);
                return (inside && (0..=first).contains(&last)).then_some(most.max(first));
            }
            _ => {}
        }
        let mut found = Some(most);
        each_child(e, &mut |child| {
            found = found.and_then(|most| self.furthest(child, steps, most));
        });
        found
    }

    /// How far from the end of the recurrence a slice begins and ends, the further one first.
    fn ends(&self, lo: Option<&Expr>, hi: Option<&Expr>, steps: &Steps) -> Option<(i64, i64)> {
        let place = |at: &Expr| {
            let at = self.size(at)?;
            if steps.backward { at } else { steps.extent.sub(&at) }.as_constant()
        };
        let (far, near) = if steps.backward { (hi, lo) } else { (lo, hi) };
        Some((place(far?)?, near.map_or(Some(0), place)?))
    }

    /// Reads the last steps where the recurrence was read.
    fn replace(&self, e: &mut Expr, steps: &Steps, (tail, count): (VarId, i64)) {
        each_child_mut(e, &mut |child| self.replace(child, steps, (tail, count)));
        match &mut *e.kind {
            ExprKind::Index { base, indices } if is_var(base, steps.var) => {
                let Some(step) = indices.get_mut(steps.axis) else { return };
                let Some(distance) = self.distance(&step.value, steps) else { return };
                let at = if steps.backward { distance - 1 } else { count - distance };
                *step = IndexArg { value: Expr::int(at, step.value.span), bounds: Bounds::Proved };
                *base = self.whole(tail, base);
            }
            ExprKind::Slice { base, axis, lo, hi }
                if is_var(base, steps.var) && *axis == steps.axis =>
            {
                let Some((first, last)) = self.ends(lo.as_ref(), hi.as_ref(), steps) else {
                    return;
                };
                if !steps.backward {
                    *lo = Some(Expr::int(count - first, base.span));
                    *hi = Some(Expr::int(count - last, base.span));
                }
                *base = self.whole(tail, base);
            }
            _ => {}
        }
    }

    fn whole(&self, tail: VarId, like: &Expr) -> Expr {
        Expr::new(ExprKind::Var(tail), self.program.vars[tail].ty.clone(), like.span)
    }
}

/// The definition of the last steps.
fn last_steps(program: &mut Program, frame: Frame, steps: &Steps, count: i64, ty: Type) -> Expr {
    let span = program.vars[steps.var].span;
    let whole = program.vars[steps.var].ty.clone();
    let (mut slots, mut indices, mut items) = (Vec::new(), Vec::new(), Vec::new());
    for (axis, own) in ty.axes().iter().enumerate() {
        let var = beside(program, frame, None, "$i", Type::I32, span);
        let hi = Expr::size(own.size.clone(), span);
        slots.push(ClauseSlot::Loop(Binder { var, lo: Expr::int(0, span), hi }));
        let mut at = Expr::new(ExprKind::Var(var), Type::I32, span);
        if axis == steps.axis && !steps.backward {
            let before = Expr::size(steps.extent.offset(-count), span);
            at = Expr::new(ExprKind::Binary(BinaryOp::Add, before, at), Type::I32, span);
        }
        if axis == steps.axis && steps.extent.as_constant().is_none_or(|extent| extent < count) {
            // There may be fewer steps.
            let (op, bound) = match steps.backward {
                true => (BinaryOp::Gt, Expr::size(steps.extent.clone(), span)),
                false => (BinaryOp::Le, Expr::int(0, span)),
            };
            let cond = ExprKind::Binary(op, bound, at.clone());
            items.push(Item::Guard(Expr::new(cond, Type::BOOL, span)));
        }
        indices.push(IndexArg { value: at, bounds: Bounds::Proved });
    }
    let base = Expr::new(ExprKind::Var(steps.var), whole, span);
    let value = Expr::new(ExprKind::Index { base, indices }, ty.elem().clone(), span);
    let tensor = Tensor {
        name: Some(program.vars[steps.var].name),
        self_var: None,
        shape: ty.axes().iter().map(|axis| Some(axis.size.clone())).collect(),
        inner_rank: 0,
        clauses: vec![Clause { slots, items, value, otherwise: None, until: None, span }],
        recurrence: None,
        requires: Vec::new(),
    };
    Expr::new(ExprKind::Tensor(tensor), ty, span)
}

/// The integers that statements bind to sizes.
fn integers(program: &Program, before: &[Stmt], after: &[Stmt]) -> FxHashMap<VarId, size::Expr> {
    let mut sizes: FxHashMap<VarId, size::Expr> = FxHashMap::default();
    for (atom, info) in program.atoms.iter_enumerated() {
        if let AtomDef::Var(var) = info.def {
            sizes.entry(var).or_insert_with(|| size::Expr::atom(atom));
        }
    }
    for stmt in before.iter().chain(after) {
        if let StmtKind::Let(var, value) = &stmt.kind
            && let Some(size) = size_of(&sizes, value)
        {
            sizes.insert(*var, size);
        }
    }
    sizes
}

fn size_of(sizes: &FxHashMap<VarId, size::Expr>, e: &Expr) -> Option<size::Expr> {
    to_size(e, &|e| match &*e.kind {
        ExprKind::Var(var) => sizes.get(var).cloned(),
        _ => None,
    })
}

/// Whether a statement is evaluated, since it does more than compute numbers.
fn is_evaluated(program: &Program, stmt: &Stmt) -> bool {
    match &stmt.kind {
        StmtKind::Expr(_) | StmtKind::Destructure(..) => true,
        StmtKind::Require(_) => false,
        StmtKind::Let(_, value) => acts(program, value, &mut FxHashSet::default()),
    }
}

/// Whether a value is made by the host, here or in a function that is called.
fn acts(program: &Program, e: &Expr, seen: &mut FxHashSet<FuncId>) -> bool {
    any(e, &mut |part| match &*part.kind {
        ExprKind::Host(..)
        | ExprKind::Str(_)
        | ExprKind::Try(_)
        | ExprKind::CallValue { .. }
        | ExprKind::Comprehension { .. } => true,
        ExprKind::Call { func, .. } => {
            seen.insert(*func) && acts(program, &program.funcs[*func].body, seen)
        }
        _ => false,
    })
}

fn reads(stmt: &Stmt, var: VarId) -> bool {
    let mut found = false;
    each_in_stmt(stmt, &mut |e| found |= any(e, &mut |part| is_var(part, var)));
    found
}

fn is_var(e: &Expr, var: VarId) -> bool {
    matches!(&*e.kind, ExprKind::Var(read) if *read == var)
}

fn is_recurrence(e: &Expr) -> bool {
    matches!(&*e.kind, ExprKind::Tensor(tensor) if tensor.self_var.is_some())
}
