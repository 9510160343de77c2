//! The type of the elements of a recurrence, where no clause that stands for itself says it.

use crate::check::expr::branch;
use crate::check::state::{Index, Report};
use crate::check::{Binding, Cx, coerce, data, error, infer, literal, look, widen};
use crate::hir::{self, LocalId};
use ein_base::{Code, Diagnostic};
use ein_ir::tensor::{Type, VarId};
use ein_scalar::ScalarType as S;

/// How often elements that become wider are looked at again.
pub(in crate::check) const ROUNDS: u32 = 4;

/// What is asked of the clauses that a recurrence begins with, where the others say it: numbers as
/// wide as theirs, which literals in them take.
pub(in crate::check) fn wanted(
    ix: &Index,
    definition: &hir::Definition,
    recursive: &[bool],
    number: Option<S>,
) -> Option<Type> {
    let clauses = &definition.clauses;
    let mut plain = clauses.iter().zip(recursive).filter(|(_, recursive)| !**recursive);
    let all = plain.all(|(clause, _)| literal::literal_class(ix.hir, clause.body).is_some());
    match number {
        // Integers that are no literals may be extents.
        Some(number) if all || number.is_float() => Some(Type::Scalar(number)),
        _ => None,
    }
}

fn is_record(elem: &Type) -> bool {
    matches!(elem.elem(), Type::Tuple(_) | Type::Data(..))
}

/// What clauses make of elements that are known so far, without reporting anything. In more than one round
/// only of tuples and data, as they are known or begin with literals: numbers in them are as wide as what
/// the clauses make of them.
pub(in crate::check) fn looked_at(
    cx: &mut Cx,
    definitions: &[hir::Definition],
    recursive: &[Vec<bool>],
    mut elems: Vec<Option<Type>>,
    rounds: u32,
) -> Vec<Option<Type>> {
    let begins = |(definition, recursive): (&hir::Definition, &Vec<bool>)| {
        let mut clauses = definition.clauses.iter().zip(recursive);
        clauses.any(|(clause, own)| !own && branch::is_open_record(cx.hir, clause.body))
    };
    if rounds > 1
        && !elems.iter().flatten().any(is_record)
        && !definitions.iter().zip(recursive).any(begins)
    {
        return elems;
    }
    let extents = cx.ix.f.extents.len();
    // Says whether an element became wider, and whether something was wrong with a clause.
    let look = |cx: &mut Cx, elems: &mut [Option<Type>], which: bool, hints: &[Option<Type>]| {
        let (mut wider, mut failed) = (false, false);
        let mut vars = Vec::new();
        for (definition, elem) in definitions.iter().zip(&*elems).filter(|_| which) {
            let elem = elem.clone().unwrap_or(Type::Error);
            let var = super::self_variable(cx, definition, &[], elem);
            cx.ix.f.env.insert(definition.local, Binding::Var(var));
            vars.push(var);
        }
        for (at, elem) in elems.iter_mut().enumerate() {
            for (clause, own) in definitions[at].clauses.iter().zip(&recursive[at]) {
                if *own != which || rounds == 1 && elem.is_some() {
                    continue;
                }
                let want = elem.as_ref().or(hints.get(at).and_then(Option::as_ref));
                let made = super::clause(cx, clause, want, vars.get(at).copied());
                let made = made.map(|it| it.clause.value.ty).filter(|made| !made.has_error());
                failed |= made.is_none();
                let Some(made) = made else { continue };
                let wide = match elem.as_ref() {
                    Some(elem) => widen::wider_type(elem, &made),
                    None => Some(made),
                };
                wider |= wide.is_some() && wide != *elem;
                *elem = wide.or(elem.take());
            }
        }
        (wider, failed)
    };
    let elems = look::quietly(cx, |cx| {
        cx.build.f.pending.push(Vec::new());
        if rounds > 1 && elems.iter().all(Option::is_none) {
            // Digits without a point may stand for floats.
            let numbers = infer::infer_elements(&cx.infer, &cx.ix, definitions);
            let others: Vec<_> = definitions.iter().map(|it| it.local).zip(numbers).collect();
            let record = |(it, own): (&hir::Definition, &Vec<bool>)| {
                let (def, numbers) = infer::record_elements(&cx.infer, &cx.ix, it, own, &others)?;
                Some(match def {
                    Some(def) => {
                        Type::Data(data::data_id(&mut cx.infer, &mut cx.ix, def)?, numbers.into())
                    }
                    None => Type::Tuple(numbers.into()),
                })
            };
            let hints: Vec<_> = definitions.iter().zip(recursive).map(record).collect();
            look(cx, &mut elems, false, &hints);
        }
        let mut made = (true, false);
        for _ in 0..rounds {
            made = if made.0 { look(cx, &mut elems, true, &[]) } else { made };
        }
        // What steps do not take may have to be wider than literals are by themselves.
        for wide in [&[S::F64][..], &[S::I64], &[S::F64, S::I64]] {
            if made.1 && rounds > 1 && elems.iter().flatten().any(is_record) {
                let wide = |elem: &Type| match is_record(elem) {
                    true => with_wide(elem, wide),
                    false => elem.clone(),
                };
                let mut tried: Vec<_> = elems.iter().map(|it| it.as_ref().map(wide)).collect();
                made = look(cx, &mut tried, true, &[]);
                elems = if made.1 { elems } else { tried };
            }
        }
        cx.build.f.pending.pop();
        elems
    });
    cx.ix.f.extents.truncate(extents);
    elems
}

/// A type with the numbers in tuples and type arguments that these hold.
fn with_wide(ty: &Type, wide: &[S]) -> Type {
    let all = |items: &[Type]| items.iter().map(|item| with_wide(item, wide)).collect();
    match ty {
        Type::Tuple(items) => Type::Tuple(all(items)),
        Type::Data(data, args) => Type::Data(*data, all(args)),
        Type::Array(array) => Type::array(with_wide(&array.elem, wide), array.axes.clone()),
        Type::Scalar(own) => {
            let wider = wide
                .iter()
                .find(|wide| matches!(own, S::F32 | S::I32) && widen::holds(**wide, *own));
            Type::Scalar(wider.copied().unwrap_or(*own))
        }
        other => other.clone(),
    }
}

/// Whether the clauses of a definition leave no room for a base before their first points: each index
/// starts at 0, or at a place that an index before it decides (a triangle), or where what is read says,
/// if that cannot have been meant to be a tensor of the same name above.
pub(in crate::check) fn starts_at_zero(cx: &mut Cx, definition: &hir::Definition) -> bool {
    let first = bound_above(&cx.ix, definition).is_none();
    definition.clauses.iter().all(|clause| {
        let mut before: Vec<LocalId> = Vec::new();
        clause.slots.iter().all(|slot| {
            let hir::LeftSlotKind::Index(binder) = &slot.kind else { return false };
            let starts = match &binder.domain {
                Some(hir::Domain::Range { lo, .. }) => {
                    super::mentions(cx.hir, *lo, &before)
                        || super::quiet_size(cx, *lo, false)
                            .is_some_and(|lo| lo.as_constant() == Some(0))
                }
                Some(hir::Domain::Coord(_)) => true,
                Some(hir::Domain::Other(_)) => false,
                None => first,
            };
            before.push(binder.local);
            starts
        })
    })
}

/// The type of an element when every clause reads the tensor itself: what the branches that do
/// not read it say, of the numbers that its clauses make; or those numbers.
pub(super) fn guess_element(
    cx: &mut Cx,
    definition: &hir::Definition,
    recursive: &[bool],
    number: Option<S>,
) -> Type {
    let one = std::slice::from_ref(definition);
    let elem = looked_at(cx, one, &[recursive.to_vec()], vec![None], 1).pop().flatten();
    let elem = elem.unwrap_or(Type::Error);
    let complete = !recursive.contains(&false) && starts_at_zero(cx, definition);
    match (elem.has_error(), number) {
        (false, Some(number)) if elem.scalar().is_some() => with_scalar(&elem, number),
        (true, Some(number)) if complete => Type::Scalar(number),
        (false, _) => elem,
        (true, _) => {
            // What is wrong with a clause that stands for itself was said there.
            if !recursive.contains(&false) {
                no_element(&cx.ix, &mut cx.report, definition);
            }
            elem
        }
    }
}

/// Nothing says what the elements are.
pub(in crate::check) fn no_element(ix: &Index, report: &mut Report, definition: &hir::Definition) {
    let name = definition.clauses[0].name;
    let message = format!("the type of `{name}` cannot be inferred");
    let d = error(Code::E0516, name.span, message)
        .here("every value of it is made from other values of it");
    let d = match bound_above(ix, definition) {
        Some((_, var)) => d
            .label(ix.vars[var].span, format!("not this `{name}`: a definition reads itself"))
            .help(format!("give one of them another name: `let next[…] = … {name}[…] …;`")),
        None => d.help(format!("add a base clause: `let {name}[0] = …;`")),
    };
    report.report_at(d);
}

/// What is wrong if the clauses make other numbers than those that they read the tensor as.
pub(super) fn taken_otherwise(ix: &Index, own: VarId, made: &Type) -> Option<Diagnostic> {
    let own = &ix.vars[own];
    let (read, made) = (own.ty.elem(), made.elem());
    (!coerce::same_kind(read, made)).then(|| {
        let (read, made) = (ix.show(read), ix.show(made));
        let message = format!("the type of `{}` cannot be inferred", own.name);
        error(Code::E0516, own.span, message)
            .here(format!("its clauses read it as `{read}` and make `{made}` of it"))
            .help("begin it with a value of the type that it holds: `let s[0] = 0.0f64;`")
    })
}

/// The nearest value above a definition that has its name.
fn bound_above(ix: &Index, definition: &hir::Definition) -> Option<(LocalId, VarId)> {
    let name = ix.hir.locals[definition.local].name;
    let before = ix.f.env.keys().chain(ix.globals.keys()).copied().filter(|local| {
        let other = ix.hir.locals[*local].name;
        other.sym == name.sym
            && other.span.file() == name.span.file()
            && other.span.lo() < name.span.lo()
    });
    let before = before.max_by_key(|local| ix.hir.locals[*local].name.span.lo())?;
    match ix.f.env.get(&before) {
        Some(Binding::Var(var)) => Some((before, *var)),
        _ => Some((before, *ix.globals.get(&before)?)),
    }
}

/// A recurrence without a base may have one above it with another number of indices, which is
/// a tensor of its own then.
pub(super) fn base_apart(
    cx: &mut Cx,
    definition: &hir::Definition,
    recursive: &[bool],
) -> Option<Diagnostic> {
    if recursive.contains(&false) || starts_at_zero(cx, definition) {
        return None;
    }
    let name = cx.hir.locals[definition.local].name;
    let rank = definition.clauses[0].slots.len();
    let (before, var) = bound_above(&cx.ix, definition)?;
    // What is read is meant as a tensor of its own.
    if cx.hir.locals[before].used || cx.ix.vars[var].ty.rank() == 0 {
        return None;
    }
    let other = cx.ix.vars[var].ty.rank();
    let apart = "so this is another tensor";
    let (message, here, there) = if other == rank {
        let message = format!("the clauses of `{name}` have different numbers of indices");
        (message, format!("of {rank} indices"), format!("of another number, {apart}"))
    } else {
        let ranks = format!("{other} and {rank}");
        let message = format!("the clauses of `{name}` have different ranks: {ranks}");
        (message, format!("of rank {rank}"), format!("of rank {other}, {apart}"))
    };
    let d = error(Code::E0417, name.span, message)
        .here(here)
        .label(cx.ix.vars[var].span, there)
        .note("clauses with the same number of indices form one definition")
        .help(format!("write all clauses of `{name}` with the same number of indices"));
    Some(d)
}

/// A type with other numbers.
pub(in crate::check) fn with_scalar(ty: &Type, scalar: S) -> Type {
    match ty.axes() {
        [] => Type::Scalar(scalar),
        axes => Type::array(Type::Scalar(scalar), axes.to_vec()),
    }
}
