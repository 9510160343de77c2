//! Numbers in tuples and generic structs: each part is a number of its own.

use super::{DEPTH, Number, Numbers, calls, number, stmt_number, type_of_local};
use crate::check::literal::Class;
use crate::check::state::{Index, Infer};
use crate::check::widen::holds;
use crate::check::{data, define, function};
use crate::hir::{self, DefId, DefKind, ExprId, ExprKind as H, LocalId, PatKind, TypeKind};
use ein_base::Symbol;
use ein_ir::tensor::Type;
use ein_scalar::ScalarType as S;

/// What is asked of the tuples that a recurrence begins with, or of the type arguments of its structs, which
/// come with the struct: numbers as wide as what its clauses make of them, and of the other names of a
/// system that are floats.
pub(in crate::check) fn record_elements(
    infer: &Infer,
    ix: &Index,
    definition: &hir::Definition,
    recursive: &[bool],
    others: &[(LocalId, Option<S>)],
) -> Option<(Option<DefId>, Vec<Type>)> {
    let mut plain = definition.clauses.iter().zip(recursive).filter(|(_, recursive)| !**recursive);
    let (record, count) = plain.find_map(|(clause, _)| form_of(infer.hir, clause.body))?;
    let numbers = numbers_of_parts(infer, ix, definition, (record, count), others);
    let float = |number: Option<S>| match number.filter(|number| number.is_float()) {
        Some(number) => Type::Scalar(number),
        None => Type::Error,
    };
    (!numbers.is_empty()).then(|| (record, numbers.into_iter().map(float).collect()))
}

/// How many parts a tuple that is written here has, or which struct it is and how many type arguments that
/// has.
fn form_of(hir: &hir::Program, id: ExprId) -> Option<(Option<DefId>, usize)> {
    match &hir.exprs[id].kind {
        H::Tuple(items) => Some((None, items.len())),
        H::Struct { def, variant: None, .. } => match hir.defs[*def].kind.generics().len() {
            0 => None,
            count => Some((Some(*def), count)),
        },
        H::Block { tail: Some(tail), .. } => form_of(hir, *tail),
        H::Where { body, .. } => form_of(hir, *body),
        H::If { then, .. } => form_of(hir, *then),
        H::Match { arms, .. } => arms.first().and_then(|arm| form_of(hir, arm.body)),
        _ => None,
    }
}

/// Which type argument of a struct the numbers of a field are.
fn argument_of(hir: &hir::Program, def: DefId, name: Symbol) -> Option<usize> {
    let declared = data::declared(hir, def, 0)?;
    let field = &declared.fields[declared.position(name)?];
    let generic = calls::generic_or_declared(&field.ty).ok()?;
    hir.defs[def].kind.generics().iter().position(|own| *own == generic)
}

/// The numbers that the parts of so many tuples are; nothing if there are too many of them.
fn numbers_of_parts(
    infer: &Infer,
    ix: &Index,
    definition: &hir::Definition,
    (record, count): (Option<DefId>, usize),
    others: &[(LocalId, Option<S>)],
) -> Vec<Option<S>> {
    if count > 64 {
        return Vec::new();
    }
    let mut numbers = Numbers {
        tuple: Some(definition.local),
        record,
        values: vec![Number::default(); count],
        ..Numbers::new(infer, ix)
    };
    for (other, _) in others.iter().filter(|it| it.1.is_some_and(S::is_float)) {
        let float = Number { class: Some(Class::Float), ..Number::default() };
        numbers.locals.insert(*other, float);
    }
    for clause in &definition.clauses {
        let made = parts(clause.body, &mut numbers);
        for (at, made) in made.into_iter().enumerate().take(count) {
            numbers.values[at] = numbers.values[at].join(made);
        }
    }
    numbers.settle();
    (0..count).map(|at| numbers.element(at)).collect()
}

/// The elements of a recurrence that begins with these: as wide as what its clauses make of them.
pub(in crate::check) fn widened(ty: &Type, number: Option<S>) -> Type {
    match (ty.scalar(), number) {
        (Some(own), Some(number)) if holds(number, own) => define::with_scalar(ty, number),
        _ => ty.clone(),
    }
}

/// What is known of a part of a value: its type, or how that is declared.
pub(super) enum Part<'h> {
    Of(Type),
    Declared(&'h hir::Type),
}

/// The type of a part of a value that is bound outside.
pub(super) fn part_of<'h>(id: ExprId, numbers: &Numbers<'_, 'h>) -> Option<Part<'h>> {
    let elem = |ty: &'h hir::Type| match &ty.kind {
        TypeKind::Array { elem, .. } => elem,
        _ => ty,
    };
    match &numbers.infer.hir.exprs[id].kind {
        H::Local(local) if !numbers.locals.contains_key(local) => {
            type_of_local(numbers.ix, *local).cloned().map(Part::Of)
        }
        H::Index { base, .. } => Some(match part_of(*base, numbers)? {
            Part::Of(ty) => Part::Of(ty.elem().clone()),
            Part::Declared(ty) => Part::Declared(elem(ty)),
        }),
        H::TupleField(base, at, _) => match part_of(*base, numbers)? {
            Part::Of(Type::Tuple(items)) => items.get(*at as usize).cloned().map(Part::Of),
            Part::Declared(hir::Type { kind: TypeKind::Tuple(items), .. }) => {
                items.get(*at as usize).map(Part::Declared)
            }
            Part::Of(_) | Part::Declared(_) => None,
        },
        H::Field(base, name) => {
            let (def, args, derived) = match part_of(*base, numbers)? {
                Part::Of(ty) => match ty.elem() {
                    Type::Data(data, args) => {
                        let derived = numbers.infer.derived.contains_key(data);
                        (numbers.infer.data_def(*data)?, args.to_vec(), derived)
                    }
                    _ => return None,
                },
                Part::Declared(ty) => match &elem(ty).kind {
                    TypeKind::Data(def, _) => (*def, Vec::new(), false),
                    _ => return None,
                },
            };
            let DefKind::Struct(of) = &numbers.infer.hir.defs[def].kind else { return None };
            let at = of.fields.iter().position(|field| field.name.sym == name.sym)?;
            let field = &of.fields[at];
            match &field.ty.kind {
                // The fields of a form are its type arguments.
                _ if derived => args.get(at).cloned().map(Part::Of),
                TypeKind::Param(local) => {
                    let at = of.generics.iter().position(|generic| generic == local)?;
                    args.get(at).cloned().map(Part::Of)
                }
                _ => Some(Part::Declared(&field.ty)),
            }
        }
        _ => None,
    }
}

/// The number that a part of a tuple is, or a field of the structs that a recurrence holds.
pub(super) fn part(id: ExprId, numbers: &mut Numbers) -> Number {
    let hir = numbers.infer.hir;
    let (base, at) = match &hir.exprs[id].kind {
        H::TupleField(base, at, _) => (*base, Some(*at as usize)),
        H::Field(base, name) => {
            (*base, numbers.record.and_then(|def| argument_of(hir, def, name.sym)))
        }
        _ => return Number::default(),
    };
    let parts = parts(base, numbers);
    at.and_then(|at| parts.get(at).copied()).unwrap_or_default()
}

/// What a pattern is compared with: its number, how it is declared, the expression that it is.
#[derive(Clone, Copy, Default)]
struct Matched<'h> {
    number: Number,
    declared: Option<&'h hir::Type>,
    value: Option<ExprId>,
}

/// The names in a pattern stand for parts of a value that is this number.
pub(super) fn bind_value<'h>(
    pat: &'h hir::Pat,
    number: Number,
    value: ExprId,
    numbers: &mut Numbers<'_, 'h>,
) {
    bind_pattern(pat, Matched { number, declared: None, value: Some(value) }, numbers);
}

/// The names of an arm stand for parts of what is matched; its guard is looked at.
pub(super) fn bind_arm<'h>(scrutinee: ExprId, arm: &'h hir::Arm, numbers: &mut Numbers<'_, 'h>) {
    let matched = number(scrutinee, numbers);
    bind_value(&arm.pat, matched, scrutinee, numbers);
    if let Some(guard) = arm.guard {
        let guard = number(guard, numbers);
        numbers.takes(guard, S::is_bool);
    }
}

/// The names in a pattern stand for parts of what it is compared with.
fn bind_pattern<'h>(pat: &'h hir::Pat, matched: Matched<'h>, numbers: &mut Numbers<'_, 'h>) {
    match &pat.kind {
        PatKind::Bind(local, ty) => {
            let own = ty.as_deref().map(|ty| numbers.declared_number(ty));
            numbers.locals.insert(*local, own.unwrap_or(matched.number));
        }
        PatKind::At(local, inner) => {
            numbers.locals.insert(*local, matched.number);
            bind_pattern(inner, matched, numbers);
        }
        PatKind::Or(items) => items.iter().for_each(|item| bind_pattern(item, matched, numbers)),
        PatKind::Array { before, rest, after } => {
            let inside = Matched { number: matched.number, ..Matched::default() };
            before.iter().chain(after).for_each(|item| bind_pattern(item, inside, numbers));
            if let Some(Some(rest)) = rest {
                numbers.locals.insert(*rest, matched.number);
            }
        }
        PatKind::Tuple(items) => {
            let made = matched.value.map(|value| parts(value, numbers)).unwrap_or_default();
            let declared = match matched.declared.map(|ty| &ty.kind) {
                Some(TypeKind::Tuple(items)) => items.iter().map(Some).collect(),
                _ => Vec::new(),
            };
            for (at, item) in items.iter().enumerate() {
                let declared = declared.get(at).copied().flatten();
                let number = declared.map(|ty| numbers.declared_number(ty));
                let number = number.or_else(|| made.get(at).copied()).unwrap_or_default();
                bind_pattern(item, Matched { number, declared, value: None }, numbers);
            }
        }
        PatKind::Data { def, variant, fields, .. } => {
            let (generics, of): (&[LocalId], &[hir::Field]) =
                match (&numbers.infer.hir.defs[*def].kind, variant) {
                    (DefKind::Struct(of), _) => (&of.generics, &of.fields),
                    (DefKind::Enum(of), Some(at)) => (&of.generics, &of.variants[*at].fields),
                    _ => (&[], &[]),
                };
            let args: Vec<Number> = match matched.value.and_then(|it| part_of(it, numbers)) {
                Some(Part::Of(ty)) => match ty.elem() {
                    Type::Data(_, args) => {
                        let number = |ty: &Type| ty.scalar().map(Number::of).unwrap_or_default();
                        args.iter().map(number).collect()
                    }
                    _ => Vec::new(),
                },
                Some(Part::Declared(hir::Type { kind: TypeKind::Data(_, args), .. })) => {
                    args.iter().map(|ty| numbers.declared_number(ty)).collect()
                }
                _ => Vec::new(),
            };
            let given = |local: &LocalId| {
                let at = generics.iter().position(|generic| generic == local)?;
                args.get(at).copied()
            };
            for (name, item) in fields {
                let field = of.iter().find(|field| field.name.sym == name.sym);
                let number = match field.map(|field| &field.ty.kind) {
                    // What an optional holds counts for the optional.
                    Some(TypeKind::Param(local)) => given(local).unwrap_or(matched.number),
                    _ => field.map(|it| numbers.declared_number(&it.ty)).unwrap_or_default(),
                };
                let declared = field.map(|field| &field.ty);
                bind_pattern(item, Matched { number, declared, value: None }, numbers);
            }
        }
        PatKind::Wild
        | PatKind::Literal(_)
        | PatKind::Range { .. }
        | PatKind::Const(_)
        | PatKind::Error => {}
    }
}

/// The numbers of the parts of a tuple, or of the type arguments of the structs that are looked at; none if
/// they are not known.
fn parts(id: ExprId, numbers: &mut Numbers) -> Vec<Number> {
    let hir = numbers.infer.hir;
    match &hir.exprs[id].kind {
        H::Tuple(items) => items.iter().map(|item| number(*item, numbers)).collect(),
        H::Struct { def, fields, .. } if numbers.record == Some(*def) => {
            let mut made = vec![Number::default(); hir.defs[*def].kind.generics().len()];
            for (name, value) in fields {
                if name.sym.as_str() == ".." {
                    made = joined(made, parts(*value, numbers));
                    continue;
                }
                let value = number(*value, numbers);
                if let Some(at) = argument_of(hir, *def, name.sym) {
                    made[at] = numbers.meet(made[at], value);
                }
            }
            made
        }
        H::Block { stmts, tail: Some(tail) } => {
            stmts.iter().for_each(|stmt| stmt_number(stmt, numbers));
            parts(*tail, numbers)
        }
        H::Where { body, .. } => parts(*body, numbers),
        H::If { then, otherwise: Some(otherwise), .. } => {
            let then = parts(*then, numbers);
            let otherwise = parts(*otherwise, numbers);
            joined(then, otherwise)
        }
        H::Match { scrutinee, arms } => arms.iter().fold(Vec::new(), |all, arm| {
            bind_arm(*scrutinee, arm, numbers);
            joined(all, parts(arm.body, numbers))
        }),
        H::Index { base, .. } => match &hir.exprs[*base].kind {
            H::Local(local) if numbers.tuple == Some(*local) => {
                let open = |at| Number { open: 1u64 << at, ..Number::default() };
                (0..numbers.values.len()).map(open).collect()
            }
            _ => parts(*base, numbers),
        },
        H::Local(local) if numbers.tuples.contains_key(local) => numbers.tuples[local].clone(),
        H::Local(local) => match type_of_local(numbers.ix, *local).map(Type::elem) {
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
                    calls::call_number(*callee, args, numbers);
                    items.iter().map(|item| numbers.declared_number(item)).collect()
                }
                None if numbers.depth < DEPTH => {
                    for (param, arg) in function.params.iter().zip(args) {
                        let given = number(arg.value, numbers);
                        if let PatKind::Bind(local, _) = &param.pat.kind {
                            numbers.locals.insert(*local, given);
                        }
                    }
                    numbers.depth += 1;
                    let made = parts(function.body, numbers);
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
