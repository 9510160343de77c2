//! Structs and enums of which no value can be made, because each contains another one (E0521).
//!
//! A value ends if it is of a number, an array or a function, or of a struct whose fields all end, or of an
//! enum with a variant that does. What ends is found from the bottom, together with whether it still does
//! where a type parameter stands for something that does not: `Option<A>` ends whatever `A` is. Arrays
//! end: they may be empty.

use crate::hir::{self, DefId, LocalId, Program, TypeKind};
use ein_base::{Code, Diagnostic};
use rustc_hash::FxHashSet;

/// What ends, although a type parameter may stand for what does not.
type Ends = FxHashSet<(DefId, Option<LocalId>)>;

/// Reports each ring of structs and enums without an end once.
pub(super) fn check(program: &Program) -> Vec<Diagnostic> {
    let types: Vec<DefId> =
        program.defs.ids().filter(|def| !program.defs[*def].kind.forms().is_empty()).collect();
    let mut ends = Ends::default();
    loop {
        let before = ends.len();
        for def in types.iter().chain(types.iter().rev()) {
            let params = program.defs[*def].kind.generics().iter().copied().map(Some);
            for missing in [None].into_iter().chain(params) {
                let all = |fields: &[hir::Field]| {
                    fields.iter().all(|field| does_end(program, &field.ty, missing, &ends))
                };
                if program.defs[*def].kind.forms().into_iter().any(all) {
                    ends.insert((*def, missing));
                }
            }
        }
        if ends.len() == before {
            break;
        }
    }
    let mut told: FxHashSet<DefId> = FxHashSet::default();
    let endless = types.iter().filter(|def| !ends.contains(&(**def, None)));
    let rings = endless.filter_map(|def| {
        // What only leads to the ring has nothing wrong with it.
        let mut way = vec![*def];
        loop {
            let next = endless_field(program, *way.last()?, &ends)?.1;
            if let Some(first) = way.iter().position(|known| *known == next) {
                let ring = way.split_off(first);
                return told.insert(*ring.iter().min()?).then_some(ring);
            }
            way.push(next);
        }
    });
    rings.filter_map(|ring| message(program, &ring, &ends)).collect()
}

fn message(program: &Program, ring: &[DefId], ends: &Ends) -> Option<Diagnostic> {
    let name = program.defs[*ring.first()?].name;
    let text = format!("`{name}` is too large: each value of it contains another one");
    let mut d = Diagnostic::new(Code::E0521, name.span, text).here("it never ends");
    for def in ring {
        let (field, inner) = endless_field(program, *def, ends)?;
        d = d.label(field.ty.span, format!("contains a `{}`", program.defs[inner].name));
    }
    Some(
        d.help(format!(
            "leave it out somewhere: `Option<{name}>`, or an array, which may be empty"
        )),
    )
}

/// A field that does not end, and the struct or enum in it that does not.
fn endless_field<'p>(
    program: &'p Program,
    def: DefId,
    ends: &Ends,
) -> Option<(&'p hir::Field, DefId)> {
    let mut fields = program.defs[def].kind.forms().into_iter().flatten();
    fields.find_map(|field| Some((field, endless_type(&field.ty, program, ends)?)))
}

fn endless_type(ty: &hir::Type, program: &Program, ends: &Ends) -> Option<DefId> {
    match &ty.kind {
        TypeKind::Data(def, _) if !ends.contains(&(*def, None)) => Some(*def),
        TypeKind::Data(_, parts) | TypeKind::Tuple(parts) => {
            let mut endless = parts.iter().filter(|part| !does_end(program, part, None, ends));
            endless.find_map(|part| endless_type(part, program, ends))
        }
        _ => None,
    }
}

fn does_end(program: &Program, ty: &hir::Type, missing: Option<LocalId>, ends: &Ends) -> bool {
    match &ty.kind {
        TypeKind::Param(local) => missing != Some(*local),
        TypeKind::Tuple(items) => items.iter().all(|it| does_end(program, it, missing, ends)),
        TypeKind::Data(def, args) => {
            let params = program.defs[*def].kind.generics().iter().zip(args);
            program.defs[*def].kind.forms().is_empty()
                || ends.contains(&(*def, None))
                    && params.into_iter().all(|(param, arg)| {
                        ends.contains(&(*def, Some(*param)))
                            || does_end(program, arg, missing, ends)
                    })
        }
        TypeKind::Scalar(_)
        | TypeKind::Str
        | TypeKind::Array { .. }
        | TypeKind::AnyRank(_)
        | TypeKind::Jagged(..)
        | TypeKind::Function(..)
        | TypeKind::Some(..)
        | TypeKind::Error => true,
    }
}
