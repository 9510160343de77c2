//! Numbers in tuples: each part is a number of its own.

use super::{DEPTH, Number, Numbers, number, stmt_number, type_of_local};
use crate::check::widen::holds;
use crate::check::{Cx, define, function};
use crate::hir::{self, ExprId, ExprKind as H, PatKind, TypeKind};
use ein_ir::tensor::Type;
use ein_scalar::ScalarType as S;

/// The elements of a recurrence that begins with these: as wide as what its clauses make of them.
pub(in crate::check) fn widened_elements(
    cx: &mut Cx,
    definition: &hir::Definition,
    elem: Type,
    number: Option<S>,
) -> Type {
    let Type::Tuple(items) = &elem else { return widened(&elem, number) };
    if items.len() > 64 {
        return elem;
    }
    let mut numbers = Numbers {
        tuple: Some(definition.local),
        values: vec![Number::default(); items.len()],
        ..Numbers::default()
    };
    for clause in &definition.clauses {
        let made = parts(cx, clause.body, &mut numbers);
        for (at, made) in made.into_iter().enumerate().take(items.len()) {
            numbers.values[at] = numbers.values[at].join(made);
        }
    }
    numbers.settle();
    Type::Tuple(items.iter().enumerate().map(|(at, it)| widened(it, numbers.element(at))).collect())
}

fn widened(ty: &Type, number: Option<S>) -> Type {
    match (ty.scalar(), number) {
        (Some(own), Some(number)) if holds(number, own) => define::with_scalar(ty, number),
        _ => ty.clone(),
    }
}

/// The number that a part of a tuple is.
pub(super) fn part(cx: &mut Cx, id: ExprId, numbers: &mut Numbers) -> Number {
    let H::TupleField(base, at, _) = &cx.hir.exprs[id].kind else { return Number::default() };
    parts(cx, *base, numbers).get(*at as usize).copied().unwrap_or_default()
}

/// `let (a, b) = …`
pub(super) fn bind_parts(cx: &mut Cx, items: &[hir::Pat], value: ExprId, numbers: &mut Numbers) {
    let parts = parts(cx, value, numbers);
    for (item, part) in items.iter().zip(parts) {
        if let PatKind::Bind(local, None) = &item.kind {
            numbers.locals.insert(*local, part);
        }
    }
}

/// The numbers of the parts of a tuple; none if they are not known.
fn parts(cx: &mut Cx, id: ExprId, numbers: &mut Numbers) -> Vec<Number> {
    let hir = cx.hir;
    match &hir.exprs[id].kind {
        H::Tuple(items) => items.iter().map(|item| number(cx, *item, numbers)).collect(),
        H::Block { stmts, tail: Some(tail) } => {
            stmts.iter().for_each(|stmt| stmt_number(cx, stmt, numbers));
            parts(cx, *tail, numbers)
        }
        H::Where { body, .. } => parts(cx, *body, numbers),
        H::If { then, otherwise: Some(otherwise), .. } => {
            let then = parts(cx, *then, numbers);
            let otherwise = parts(cx, *otherwise, numbers);
            joined(then, otherwise)
        }
        H::Match { arms, .. } => {
            arms.iter().fold(Vec::new(), |all, arm| joined(all, parts(cx, arm.body, numbers)))
        }
        H::Index { base, .. } => match &hir.exprs[*base].kind {
            H::Local(local) if numbers.tuple == Some(*local) => {
                let open = |at| Number { open: 1u64 << at, ..Number::default() };
                (0..numbers.values.len()).map(open).collect()
            }
            _ => parts(cx, *base, numbers),
        },
        H::Local(local) => match type_of_local(&cx.ix, *local).map(Type::elem) {
            Some(Type::Tuple(items)) => {
                let number = |ty: &Type| ty.scalar().map(Number::of).unwrap_or_default();
                items.iter().map(number).collect()
            }
            _ => Vec::new(),
        },
        H::Call { callee, args } => {
            let H::Fn(def) = &hir.exprs[*callee].kind else { return Vec::new() };
            let Some(function) = function::function(hir, *def) else { return Vec::new() };
            match function.ret.as_ref().map(|ret| &ret.kind) {
                Some(TypeKind::Tuple(items)) => {
                    items.iter().map(|item| cx.infer.declared_number(item)).collect()
                }
                None if numbers.depth < DEPTH => {
                    for (param, arg) in function.params.iter().zip(args) {
                        let given = number(cx, arg.value, numbers);
                        if let PatKind::Bind(local, _) = &param.pat.kind {
                            numbers.locals.insert(*local, given);
                        }
                    }
                    numbers.depth += 1;
                    let made = parts(cx, function.body, numbers);
                    numbers.depth -= 1;
                    made
                }
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

/// Tuples of which a value is one.
fn joined(a: Vec<Number>, b: Vec<Number>) -> Vec<Number> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b,
        (_, true) => a,
        (false, false) => a.into_iter().zip(b).map(|(a, b)| a.join(b)).collect(),
    }
}
