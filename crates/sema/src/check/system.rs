//! Systems of recurrences: several definitions that read each other, checked as one.
//!
//! Before:  `x[t] = x[t - 1] + v[t]`, `v[t] = v[t - 1] - x[t - 1]`
//! After:   `s[t, 0] = v…`, `s[t, 1] = x…`, a recurrence over both, and `x = s[.., 1]`, `v = s[.., 0]`
//!
//! The names are bound together, so that every clause knows the types of all of them. `order` finds
//! the axes along which the system runs and the order of its names within a step, or the cycle;
//! `stack` makes one definition of it, with an axis for the names, so that everything that follows
//! (bounds, windows, derivatives, engines) knows only recurrences of one name. Names whose elements
//! are not numbers are kept in boxes.

use super::define::{Draft, Drafts, retype};
use super::{Binding, Cx, define, infer, look, ragged, stmt};
use crate::hir::{self, LeftSlotKind, LocalId};
use ein_base::{Diagnostic, Span, Symbol};
use ein_ir::tensor::walk::each_in_clause_mut;
use ein_ir::tensor::{Coord, Expr, ExprKind, Tensor, Type, VarId};
use ein_scalar::ScalarType as S;

pub(in crate::check) mod boxes;
mod early;
pub(in crate::check) mod order;
pub(in crate::check) mod stack;

/// A name of a system after its clauses were checked.
#[derive(Clone)]
pub(super) struct Member {
    /// The name that people wrote.
    local: Option<LocalId>,
    name: Symbol,
    /// What clauses read it by.
    var: VarId,
    tensor: Tensor,
    ty: Type,
    span: Span,
}

/// What was found of the clauses of a system.
struct Found {
    drafts: Vec<Drafts>,
    vars: Vec<VarId>,
}

/// Checks definitions that read each other.
pub(super) fn define_system(cx: &mut Cx, definitions: &[hir::Definition]) {
    let locals: Vec<LocalId> = definitions.iter().map(|it| it.local).collect();
    let broken = definitions
        .iter()
        .flat_map(|it| &it.clauses)
        .any(|clause| clause.slots.iter().any(|slot| matches!(slot.kind, LeftSlotKind::Error)));
    let extents = cx.ix.f.extents.len();
    let reported = cx.report.diagnostics.len();
    let defining = cx.ix.defining.len();
    cx.ix.defining.extend(&locals);
    let members = if broken { None } else { self::members(cx, definitions, &locals) };
    cx.ix.defining.truncate(defining);
    // What is wrong with one name says nothing true of the others.
    let sound = cx.report.diagnostics[reported.min(cx.report.diagnostics.len())..]
        .iter()
        .all(|d| !d.is_error());
    let done = sound && members.is_some_and(|members| stack::bind_system(cx, members, extents));
    if !done {
        for definition in definitions {
            let span = definition.clauses[0].span;
            stmt::bind_local(cx, definition.local, Expr::error(span));
        }
    }
}

/// The names with their clauses; nothing if something is wrong with one.
fn members(
    cx: &mut Cx,
    definitions: &[hir::Definition],
    locals: &[LocalId],
) -> Option<Vec<Member>> {
    let recursive: Vec<Vec<bool>> = definitions
        .iter()
        .map(|it| {
            it.clauses.iter().map(|clause| define::reads_any(cx.hir, clause, locals)).collect()
        })
        .collect();
    let numbers = infer::infer_elements(&cx.infer, &cx.ix, definitions);
    let found = check_clauses(cx, definitions, &recursive, &numbers);
    finish_members(cx, definitions, found)
}

/// Checks all clauses, with these types for names that begin with literals.
fn check_clauses(
    cx: &mut Cx,
    definitions: &[hir::Definition],
    recursive: &[Vec<bool>],
    numbers: &[Option<S>],
) -> Found {
    let open = cx.ix.open_names.len();
    let mut drafts: Vec<Drafts> = Vec::new();
    let mut elems: Vec<Option<Type>> = Vec::new();
    let looked = define::element::looked_at(
        cx,
        definitions,
        recursive,
        vec![None; definitions.len()],
        define::element::ROUNDS,
    );
    let all = definitions.iter().zip(recursive).zip(numbers).zip(&looked);
    for (((definition, recursive), number), looked) in all {
        let clauses = &definition.clauses;
        let mut own: Drafts = clauses.iter().map(|_| None).collect();
        let wanted = || define::element::wanted(&cx.ix, definition, recursive, *number);
        let literal = looked.clone().or_else(wanted);
        elems.push(define::plain_clauses(cx, clauses, recursive, literal.as_ref(), &mut own));
        drafts.push(own);
    }
    open_elements(cx, definitions, recursive, numbers, &drafts, &mut elems);
    let all = elems.iter_mut().zip(recursive).zip(numbers);
    for ((elem, recursive), number) in all {
        // A literal in a branch says no more than one in a clause of its own.
        if let (Some(ty), Some(number)) = (elem.as_mut(), number)
            && !recursive.contains(&false)
            && ty.scalar().is_some()
        {
            *ty = super::define::with_scalar(ty, *number);
        }
        // What the first clauses hold may be narrower than what the others make of it.
        *elem = elem.take().map(|ty| infer::widened(&ty, *number));
    }
    let elems =
        define::element::looked_at(cx, definitions, recursive, elems, define::element::ROUNDS);
    let mut vars = Vec::new();
    for ((definition, own), elem) in definitions.iter().zip(&drafts).zip(&elems) {
        let elem = elem.clone().unwrap_or(Type::Error);
        let var = define::self_variable(cx, definition, own, elem);
        cx.ix.f.env.insert(definition.local, Binding::Var(var));
        vars.push(var);
    }
    cx.ix.open_names.extend(&vars);
    let began = cx.report.diagnostics.len();
    let named = cx.ix.system_names.len();
    cx.ix.system_names.extend(vars.iter().map(|var| cx.ix.vars[*var].name));
    let order = by_ranges(cx.hir, definitions, &drafts);
    let checked = |cx: &mut Cx, at: usize, drafts: &mut Drafts| {
        let clauses = &definitions[at].clauses;
        for clause in define::by_literals(cx.hir, clauses, &recursive[at], true) {
            drafts[clause] =
                define::clause(cx, &clauses[clause], elems[at].as_ref(), Some(vars[at]));
        }
    };
    let mut named_since: Vec<usize> = Vec::new();
    for (number, at) in order.iter().copied().enumerate() {
        let reported = cx.report.diagnostics.len();
        checked(cx, at, &mut drafts[at]);
        if cx.report.diagnostics[reported..].iter().all(|d| !d.is_error())
            && extents_found(cx, &definitions[at], &drafts[at], vars[at])
        {
            named_since = order[..=number].to_vec();
        }
    }
    if cx.report.diagnostics[began..].iter().all(|d| !d.is_error()) {
        // Names became contracts after clauses that read them: nothing but mistakes is told of these again.
        let extents = cx.ix.f.extents.len();
        let mut told = Vec::new();
        cx.build.f.pending.push(Vec::new());
        look::quietly(cx, |cx| {
            for at in named_since {
                checked(cx, at, &mut definitions[at].clauses.iter().map(|_| None).collect());
            }
            told = std::mem::take(&mut cx.report.diagnostics);
        });
        cx.build.f.pending.pop();
        cx.ix.f.extents.truncate(extents);
        cx.report.tell(told.into_iter().filter(Diagnostic::is_error).collect());
    }
    cx.ix.open_names.truncate(open);
    cx.ix.system_names.truncate(named);
    Found { drafts, vars }
}

/// The names in an order in which ranges are found: those first whose open indices read something that
/// is known by then, or else a name whose beginning tells its extents.
fn by_ranges(hir: &hir::Program, definitions: &[hir::Definition], drafts: &[Drafts]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < definitions.len() {
        let mut left = (0..definitions.len()).filter(|at| !order.contains(at));
        let begins = |at: &usize| drafts[*at].iter().any(Option::is_some);
        let open: Vec<usize> = left.clone().collect();
        let silent: Vec<usize> = left.clone().filter(|at| !begins(at)).collect();
        let first = [open, silent].into_iter().find_map(|open| {
            let open: Vec<LocalId> = open.into_iter().map(|at| definitions[at].local).collect();
            left.clone().find(|at| has_ranges(hir, &definitions[*at], &open))
        });
        order.extend(first.or_else(|| left.next()));
    }
    order
}

/// Whether every index of a definition, and of the reductions in it, has a domain, or reads a tensor other
/// than these.
fn has_ranges(hir: &hir::Program, definition: &hir::Definition, open: &[LocalId]) -> bool {
    definition.clauses.iter().all(|clause| {
        clause.slots.iter().all(|slot| match &slot.kind {
            LeftSlotKind::Index(hir::Binder { domain: None, local, .. }) => {
                reads_with(hir, clause.body, *local, open)
            }
            LeftSlotKind::Index(_)
            | LeftSlotKind::Literal(_)
            | LeftSlotKind::Point(_)
            | LeftSlotKind::Error => true,
        }) && are_ranged(hir, clause.body, open)
    })
}

/// The same of the reductions in an expression.
fn are_ranged(hir: &hir::Program, id: hir::ExprId, open: &[LocalId]) -> bool {
    let mut ranged = match &hir.exprs[id].kind {
        hir::ExprKind::Reduce { binders, body, .. } => binders.iter().all(|binder| {
            binder.pack || binder.domain.is_some() || reads_with(hir, *body, binder.local, open)
        }),
        _ => true,
    };
    crate::visit::each_child(hir, id, &mut |it| ranged = ranged && are_ranged(hir, it, open));
    ranged
}

/// Whether a tensor other than these is read at a position that an index is part of.
fn reads_with(hir: &hir::Program, id: hir::ExprId, index: LocalId, open: &[LocalId]) -> bool {
    if let hir::ExprKind::Index { base, slots } = &hir.exprs[id].kind
        && !define::mentions(hir, *base, open)
        && slots.iter().any(|slot| match slot {
            hir::Slot::Expr(at) => define::mentions(hir, *at, &[index]),
            _ => false,
        })
    {
        return true;
    }
    let mut found = false;
    crate::visit::each_child(hir, id, &mut |child| {
        found = found || reads_with(hir, child, index, open);
    });
    found
}

/// The extents and coordinates of a name whose clauses are all checked say something about the others.
/// Gives whether there are contracts among those that were not known to be.
fn extents_found(cx: &mut Cx, definition: &hir::Definition, drafts: &Drafts, var: VarId) -> bool {
    let mut contracts = false;
    if drafts.iter().any(Option::is_none) {
        return contracts;
    }
    let ty = cx.ix.vars[var].ty.clone();
    let rank = definition.clauses[0].slots.len();
    let mut axes = ty.axes().to_vec();
    let mut known = true;
    for axis in 0..rank.min(axes.len()) {
        let found = define::self_axis(cx, definition, drafts, axis);
        let is_contract = |coord: Option<Coord>| coord.is_some_and(|it| it.contract);
        contracts |= is_contract(found.coord) && !is_contract(axes[axis].coord);
        axes[axis].coord = found.coord;
        known &= cx.ix.unsettled(&found.size).is_none()
            && !ragged::depends(&cx.ix, &found.size, &cx.ix.open_names);
        axes[axis].size = found.size;
    }
    if !known {
        axes.iter_mut().zip(ty.axes()).for_each(|(axis, open)| axis.size = open.size.clone());
    }
    if known || contracts {
        cx.ix.vars[var].ty = Type::array(ty.elem().clone(), axes);
    }
    if known {
        cx.ix.open_names.retain(|open| *open != var);
    }
    contracts
}

/// Names without a clause that tells their type take what their own clauses make of the others.
fn open_elements(
    cx: &mut Cx,
    definitions: &[hir::Definition],
    recursive: &[Vec<bool>],
    numbers: &[Option<S>],
    drafts: &[Drafts],
    elems: &mut [Option<Type>],
) {
    for _ in 0..definitions.len() {
        if elems.iter().all(Option::is_some) {
            return;
        }
        for ((definition, own), elem) in definitions.iter().zip(drafts).zip(elems.iter()) {
            let elem = elem.clone().unwrap_or(Type::Error);
            let var = define::self_variable(cx, definition, own, elem);
            cx.ix.f.env.insert(definition.local, Binding::Var(var));
        }
        for (at, definition) in definitions.iter().enumerate() {
            if elems[at].is_none() {
                let (one, own) = (std::slice::from_ref(definition), &recursive[at..=at]);
                elems[at] = define::element::looked_at(cx, one, own, vec![None], 1).remove(0);
            }
        }
    }
    for (at, definition) in definitions.iter().enumerate() {
        // What is wrong with a clause that stands for itself was said there.
        if elems[at].is_some() || recursive[at].contains(&false) {
            continue;
        }
        match numbers[at].filter(|_| define::element::starts_at_zero(cx, definition)) {
            Some(number) => elems[at] = Some(Type::Scalar(number)),
            None => define::element::no_element(&cx.ix, &mut cx.report, definition),
        }
    }
}

/// Puts the clauses of every name together.
fn finish_members(
    cx: &mut Cx,
    definitions: &[hir::Definition],
    found: Found,
) -> Option<Vec<Member>> {
    let mut members = Vec::new();
    let all = definitions.iter().zip(found.drafts).zip(found.vars);
    for ((definition, drafts), var) in all {
        let drafts: Vec<Draft> = drafts.into_iter().collect::<Option<_>>()?;
        let name = cx.hir.locals[definition.local].name.sym;
        let spans = definition.clauses.iter().map(|clause| clause.span);
        let span = spans.reduce(Span::to)?;
        let value = define::finish_definition(cx, name, drafts, Some(var), span);
        let ExprKind::Tensor(tensor) = *value.kind else { return None };
        members.push(Member {
            local: Some(definition.local),
            name,
            var,
            tensor,
            ty: value.ty,
            span,
        });
    }
    // Every clause knows the final types of all names.
    for at in 0..members.len() {
        let (var, ty) = (members[at].var, cx.ix.vars[members[at].var].ty.clone());
        for member in &mut members {
            for clause in &mut member.tensor.clauses {
                each_in_clause_mut(clause, &mut |e| retype(e, var, &ty));
            }
        }
    }
    Some(members)
}
