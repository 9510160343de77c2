//! Numbers of a kind that a function of the library does not take, told of its arguments.
//!
//! Before:  `inv([[1, 2], [2, 5]])`: the annotation of `one` is `i32`, but the value is `f32`
//! After:   `inv` takes floats, but `A` is made of `i32`
//!
//! What the body says of its own names is no help to who only called it.

use super::infer;
use super::state::{Infer, Report};
use crate::hir::{Function, LocalId};
use ein_base::{Code, Diagnostic, Span, Symbol};
use ein_ir::tensor::Type;
use ein_scalar::ScalarType as S;

/// Where an error stands among what was told: set aside for whoever looks, or not.
#[derive(Clone, Copy)]
pub(super) struct Told {
    kept: bool,
    at: usize,
    /// How many there were before in the other list.
    other: usize,
}

/// The first error that an instance of a function of the library, at `place`, brought to a call outside
/// of it since so many were reported and kept, if it is about types.
pub(super) fn first_of_types(
    report: &Report,
    place: Span,
    (reported, kept): (usize, usize),
    call: Span,
) -> Option<Told> {
    if !report.in_library(place) || report.in_library(call) {
        return None;
    }
    let first = |list: &[Diagnostic], since: usize| {
        Some(since + list.get(since..)?.iter().position(|d| is_of_types(d, call))?)
    };
    match first(&report.diagnostics, reported) {
        Some(at) => Some(Told { kept: false, at, other: kept }),
        None => Some(Told { kept: true, at: first(&report.kept, kept)?, other: reported }),
    }
}

/// Says of such an error which argument is at fault, where that is the kind of its numbers. `fits` are the
/// numbers that the function takes.
pub(super) fn told_of_arguments(
    infer: &mut Infer,
    report: &mut Report,
    (function, types, instance): (&Function, &[Type], usize),
    fits: &[S],
    (first, call): (Told, (Symbol, Span)),
) {
    let Some((message, help)) = fault(function, types, fits, call.0) else { return };
    let drop_after = |list: &mut Vec<Diagnostic>, last: usize| {
        let mut at = 0;
        list.retain(|d| {
            at += 1;
            at <= last || !is_of_types(d, call.1)
        });
    };
    let (list, other) = match first.kept {
        true => (&mut report.kept, &mut report.diagnostics),
        false => (&mut report.diagnostics, &mut report.kept),
    };
    drop_after(list, first.at + 1);
    drop_after(other, first.other);
    let told = &mut list[first.at];
    told.message = message;
    told.helps.clear();
    *told = told.clone().help(help);
    infer.instances.items[instance].broken = Some(Box::new(told.clone()));
}

/// Whether it is about types in the library, at this call.
fn is_of_types(d: &Diagnostic, call: Span) -> bool {
    let types = [Code::E0501, Code::E0502, Code::E0503, Code::E0505, Code::E0506];
    types.contains(&d.code) && d.primary.span == call && !d.labels.is_empty()
}

/// Which kind of numbers is wanted, which argument is of another, and what to do about it.
fn fault(
    function: &Function,
    types: &[Type],
    fits: &[S],
    name: Symbol,
) -> Option<(String, String)> {
    let wrong = |ty: &Type| match ty {
        Type::Scalar(given) if fits.iter().all(|it| kind(*it) != kind(*given)) => Some(*given),
        _ => None,
    };
    let mut pairs = function.generics.iter().zip(types);
    let (generic, given) = pairs.find_map(|(local, ty)| Some((*local, wrong(ty)?)))?;
    let argument = argument_of(function, generic)?;
    let wanted = match *fits {
        [only] => kind(only),
        [S::F32, S::I32] => "numbers",
        _ => return None,
    };
    let help = match given.is_float() {
        false => format!("convert it where it is passed: `… as {}`", fits[0]),
        true => format!("pass {wanted}, such as `{}`", fits[0]),
    };
    Some((format!("`{name}` takes {wanted}, but `{argument}` is made of `{given}`"), help))
}

fn kind(number: S) -> &'static str {
    if number.is_float() {
        "floats"
    } else if number.is_bool() {
        "truths"
    } else {
        "integers"
    }
}

/// The first parameter whose numbers are of a type parameter.
fn argument_of(function: &Function, generic: LocalId) -> Option<Symbol> {
    let of = |ty| infer::calls::generic_or_declared(ty).ok() == Some(generic);
    let mut params = function.params.iter();
    params.find(|param| param.ty.as_deref().is_some_and(of))?.name.map(|name| name.sym)
}
